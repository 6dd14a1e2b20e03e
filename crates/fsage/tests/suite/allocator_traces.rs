//! Fidelity: `fsage age SCRIPT --on ext4:... --trace` and the same of XFS print every request for blocks as the trace
//! events of Linux 6.18.44 showed it.
//!
//! Expected: `A_h1.alloc.tsv.gz`, recorded with the other vectors of ext4; `gaps.alloc.tsv.gz`, the events
//! `xfs_alloc_vextent_finish` of `fsage age gaps.ops.gz --on loop:xfs,size=512M,regime=strict`.

use crate::images::fsage;
use flate2::read::GzDecoder;
use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn vector(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("tests/vectors").join(name)
}

/// The fields of the requests that a model serves.
fn traced(script: &str, target: &str) -> Vec<Vec<String>> {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(["age", "--trace", "--on", target])
        .arg(vector(script))
        .output()
        .expect("fsage runs");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
    fields(&String::from_utf8(run.stdout).expect("text"))
}

fn fields(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn recorded(name: &str) -> Vec<Vec<String>> {
    let mut text = String::new();
    let file = File::open(vector(name)).expect("a vector");
    let unpacked = GzDecoder::new(file).read_to_string(&mut text);
    unpacked.expect("gzip over text");
    fields(&text)
}

fn compare(found: &[Vec<String>], expected: &[Vec<String>]) {
    let mut pairs = found.iter().zip(expected).enumerate();
    if let Some((at, (found, wanted))) = pairs.find(|(_, (found, wanted))| found != wanted) {
        panic!("request {}: {found:?}, expected {wanted:?}", at + 1);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn requests_of_ext4() {
    let mut found = traced("ext4/h1.ops.gz", "ext4:size=256M,bsize=4K,regime=a");
    // The recorded file has no name for searches that no criterion ended, which the kernel prints as a number, and
    // shows them as if there had been none.
    for served in found.iter_mut().filter(|served| served[8] == "0x5") {
        served.truncate(7);
        served.extend(["-", "preallocated"].map(str::to_owned));
    }
    let expected = recorded("ext4/A_h1.alloc.tsv.gz");
    assert_eq!(expected.len(), 16_636);
    compare(&found, &expected);
}

/// A table of operations is traced as its text is, and one inode can be looked at alone.
#[test]
fn one_inode_of_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "mkdir 1\ncreate 2 1 24576\ncreate 3 1 3000000\nday 1\nappend 2 8192\nday 2\n";
    fs::write(at.join("w.ops"), text).expect("a workload");
    fsage(at, "convert w.ops w.parquet", 0);
    let target = "--on ext4:size=1G,regime=a --trace";
    let all = fsage(at, &format!("age w.ops {target}"), 0);
    assert_eq!(fsage(at, &format!("age w.parquet {target}"), 0), all);
    let of_one = fsage(at, &format!("age w.parquet {target} --inode 13"), 0);
    let of_one: Vec<&str> = of_one.lines().skip(1).collect();
    let (before, behind) = ("13\tD\t0\t6\t32768", "13\tD\t6\t2\t33286");
    assert!(
        of_one.len() == 4 && of_one[0] == "# day 1" && of_one[2] == "# day 2",
        "{of_one:?}"
    );
    assert!(
        of_one[1].starts_with(before) && of_one[3].starts_with(behind),
        "{of_one:?}"
    );
    let refused = fsage(at, "age w.ops --on lfs --trace --inode 13", 2);
    assert!(refused.contains("ext4, ffs, xfs"), "{refused}");
    // What a file's history says last is that command.
    fsage(at, "age w.parquet --on ext4:size=1G,regime=a -o run", 0);
    let said = fsage(at, "history run --inode 13", 0);
    let next = said.lines().last().expect("a line").trim();
    let (program, args) = next.split_once(' ').expect("a command");
    assert_eq!(program, "fsage");
    let traced = fsage(at, args, 0);
    assert_eq!(traced.lines().skip(1).collect::<Vec<_>>(), of_one, "{args}");
}

/// Exported images can be looked into, as snapshots of them can.
#[test]
fn images_are_looked_into() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "mkdir 1\ncreate 2 1 24576\ncreate 3 1 3000000\nday 1\nappend 2 8192\nday 2\n";
    fs::write(at.join("w.ops"), text).expect("a workload");
    for target in ["ext4:size=64M", "xfs:size=300M"] {
        fsage(
            at,
            &format!("export w.ops disk.img --on {target} --force"),
            0,
        );
        fsage(at, "snapshot disk.img -o s.parquet --force", 0);
        let of_image = fsage(at, "inspect disk.img --extents", 0);
        let of_snapshot = fsage(at, "inspect s.parquet --extents", 0);
        let behind = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(behind(&of_image), behind(&of_snapshot), "{target}");
        assert!(of_image.lines().count() > 3, "{of_image}");
        blocks_are_those_of_the_extents(at, &of_snapshot);
        let said = fsage(at, "inspect disk.img", 0);
        assert!(said.contains("disk.img: snapshots"), "{said}");
    }
}

/// What lies in all blocks: every extent of `--extents` with its inode and its place in the file, and no block twice or
/// not at all.
fn blocks_are_those_of_the_extents(at: &Path, extents: &str) {
    let text = fsage(at, "inspect s.parquet --blocks 0-999999999 --json", 0);
    let of_image = fsage(at, "inspect disk.img --blocks 0-999999999 --json", 0);
    assert_eq!(text, of_image);
    let pieces: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let pieces = pieces.as_array().expect("a list");
    let number = |piece: &serde_json::Value, key: &str| piece[key].as_u64();
    let mut next = 0;
    for piece in pieces {
        assert_eq!(number(piece, "first"), Some(next), "{piece}");
        next = number(piece, "last").expect("a last block") + 1;
    }
    let rows = extents.lines().filter(|line| !line.starts_with('#'));
    let mut found = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let inode = fields[0].parse::<u64>().expect("an inode");
        for extent in fields[3].split(' ').filter(|extent| !extent.is_empty()) {
            let of: Vec<u64> = extent
                .split(':')
                .map(|n| n.parse().expect("a number"))
                .collect();
            let is_it = |piece: &&serde_json::Value| {
                number(piece, "inode") == Some(inode) && number(piece, "logical") == Some(of[0])
            };
            let piece = pieces.iter().find(is_it).expect("the extent");
            assert_eq!(number(piece, "first"), Some(of[1]), "{piece}");
            assert_eq!(number(piece, "last"), Some(of[1] + of[2] - 1), "{piece}");
            assert_eq!(piece["what"], "file");
            found += 1;
        }
    }
    assert!(found >= 2, "{extents}");
    let refused = fsage(at, "inspect s.parquet --blocks 999999999", 2);
    assert!(refused.contains("the file system has"), "{refused}");
}

#[test]
fn requests_of_xfs() {
    // Free lists have events of their own; the recorded events do not say for whom they are, nor how the search went.
    let found: Vec<_> = traced("xfs/gaps.ops.gz", "xfs:size=512M")
        .into_iter()
        .filter(|served| served[1] != "L")
        .map(|served| [&served[3..4], &served[5..]].concat())
        .collect();
    let expected = recorded("xfs/gaps.alloc.tsv.gz");
    assert_eq!(expected.len(), 8112);
    compare(&found, &expected);
}
