//! Images of C-FFS through the program: from a run and from a workload, what is in them, damage and repair.

use crate::images::{command, fsage};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

fn json(at: &Path, args: &str, status: i32) -> Json {
    let run = command(at, env!("CARGO_BIN_EXE_fsage"), args);
    assert_eq!(run.status.code(), Some(status), "fsage {args}");
    serde_json::from_slice(&run.stdout).expect("JSON")
}

/// Directory 1 with 30 small files, one of them with a second name in directory 2.
fn workload(at: &Path) {
    let mut text = String::from("mkdir 1\nmkdir 2\n");
    for file in 10..40 {
        writeln!(text, "create {file} 1 {}", file * 100).expect("a String takes everything");
    }
    text.push_str("link 50 10 2\nday 1\n");
    fs::write(at.join("w.ops"), text).expect("a file");
}

/// A file system of 4 MB has 1024 blocks; 30 files and 3 directories, the root among them, have 33 inodes, of which one
/// is external.
#[test]
fn an_image_comes_from_a_run_or_a_workload_and_tells_what_it_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    fsage(at, "age w.ops --on cffs:size=4M --on ffs -o run", 0);
    fsage(at, "export run/cffs_size-4M of-run.img", 0);
    fsage(at, "export run the-only-one.img", 0);
    fsage(at, "export w.ops of-workload.img --on cffs:size=4M", 0);
    let bytes = fs::read(at.join("of-run.img")).expect("an image");
    assert_eq!(bytes.len(), 4 << 20);
    for other in ["the-only-one.img", "of-workload.img"] {
        assert!(
            bytes == fs::read(at.join(other)).expect("an image"),
            "{other}"
        );
    }
    // Metadata alone: a tenth of it.
    let metadata = fs::metadata(at.join("of-run.img")).expect("an image");
    assert!(
        metadata.blocks() * 512 < 1 << 19,
        "{} blocks",
        metadata.blocks()
    );
    let value = json(at, "inspect of-run.img --json", 0);
    let expected = [
        ("blocks", 1024),
        ("directories", 3),
        ("files", 30),
        ("names", 33),
        ("embedded_inodes", 32),
        ("other_inodes", 1),
        ("findings", 0),
    ];
    for (key, number) in expected {
        assert_eq!(value[key], number, "{key}");
    }
    let text = fsage(at, "inspect of-run.img", 0);
    assert!(text.contains("32 (97.0 %)"), "{text}");
    let extents = fsage(at, "inspect of-run.img --extents", 0);
    // Three lines that tell of image, blocks and columns, then one a file.
    assert_eq!(extents.lines().count(), 3 + 30, "{extents}");
    assert!(extents.contains("\t3900\t0:"), "{extents}");
    let refused = fsage(at, "export run/cffs_size-4M of-run.img", 2);
    assert!(refused.contains("--force replaces it"), "{refused}");
    fsage(at, "export run/cffs_size-4M of-run.img --force", 0);
    let other = fsage(at, "export run/ffs no.img", 2);
    assert!(
        other.contains("images of these models alone: ext4, xfs, cffs"),
        "{other}"
    );
    let other = fsage(at, "age w.ops --on ffs --image -o none", 2);
    assert!(other.contains("there are such images of ext4"), "{other}");
    assert!(!at.join("none").exists());
    let contents = fsage(at, "export run/cffs_size-4M no.img --data noise", 2);
    assert!(
        contents.contains("holds no contents of files"),
        "{contents}"
    );
    let unknown = fsage(at, "export run/nothing no.img", 2);
    assert!(unknown.contains("cffs_size-4M"), "{unknown}");
    let no_run = fsage(at, "export w.ops no.img", 2);
    assert!(no_run.contains("--on SPEC"), "{no_run}");
}

#[test]
fn damage_is_reported_and_repaired_and_the_damaged_image_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    fsage(at, "export w.ops disk.img --on cffs:size=4M", 0);
    let clean = fsage(at, "fsck cffs disk.img", 0);
    assert!(clean.contains("clean, 3 directories, 30 files"), "{clean}");
    let image = fs::read(at.join("disk.img")).expect("an image");
    let mut damaged = image.clone();
    // Block 2 is the bitmap of the only cylinder group.
    damaged[2 * 4096..3 * 4096].fill(0);
    fs::write(at.join("disk.img"), &damaged).expect("a file");
    let output = json(at, "fsck cffs disk.img -n --json", 1);
    assert_eq!(output["clean"], false);
    assert_eq!(output["counts"]["fixed"], 1);
    assert_eq!(fs::read(at.join("disk.img")).expect("an image"), damaged);
    let repaired = fsage(at, "fsck cffs disk.img --repair", 1);
    assert!(repaired.contains("repaired"), "{repaired}");
    assert!(fs::read(at.join("disk.img")).expect("an image") == image);
    assert!(fs::read(at.join("disk.img.damaged")).expect("an image") == damaged);
    fsage(at, "fsck cffs disk.img", 0);
    // The second time there is something in the way.
    fs::write(at.join("disk.img"), &damaged).expect("a file");
    let refused = fsage(at, "fsck cffs disk.img --repair", 2);
    assert!(
        refused.contains("disk.img.damaged: exists already"),
        "{refused}"
    );
    assert!(fs::read(at.join("disk.img")).expect("an image") == damaged);
}

#[test]
fn what_is_no_image_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    for (name, bytes) in [("empty", vec![]), ("zeros", vec![0; 100_000])] {
        fs::write(at.join(name), bytes).expect("a file");
        let text = fsage(at, &format!("fsck cffs {name}"), 2);
        assert!(text.contains("neither block 1 nor its copy"), "{text}");
    }
    fsage(at, "export w.ops disk.img --on cffs:size=4M", 0);
    let image = fs::read(at.join("disk.img")).expect("an image");
    fs::write(at.join("disk.img"), &image[..9000]).expect("a file");
    let cut = fsage(at, "fsck cffs disk.img", 2);
    assert!(cut.contains("2 blocks of 1024"), "{cut}");
    fs::write(at.join("disk.img"), &image[..900_000]).expect("a file");
    let cut = fsage(at, "fsck cffs disk.img", 1);
    assert!(cut.contains("the image ends: 219 blocks of 1024"), "{cut}");
}
