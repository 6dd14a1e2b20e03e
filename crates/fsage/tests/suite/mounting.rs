//! `fsage mount` and `fsage umount`: images of a run on directories (root), read-only unless asked, and gone again.

use crate::real::{self, RealFs, UnmountedAtEnd, attached_below, fsage, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs fsage, which must refuse with this status, for a reason with this word.
fn is_refused(at: &Path, args: &str, status: i32, word: &str) {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split(' '))
        .current_dir(at)
        .output()
        .expect("fsage runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(status), "{args}: {said}");
    assert!(said.contains(word), "{args}: no `{word}` in: {said}");
}

#[test]
fn images_of_a_run_are_mounted_and_unmounted() {
    let test = "images_of_a_run_are_mounted_and_unmounted";
    let (target, folder_of_target) = match (RealFs::usable("xfs"), RealFs::usable("ext4")) {
        // Aged and control have one UUID: XFS minds, unless it is told not to.
        (Ok(_), _) => ("loop:xfs,size=320M", "loop_xfs_size-320M"),
        (_, Ok(_)) => ("loop:ext4,size=64M", "loop_ext4_size-64M"),
        (_, Err(why)) => return skip(test, &why),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let _mounts = UnmountedAtEnd(at);
    fs::write(at.join("w.ops"), "mkdir 1\ncreate 1 1 9000\nday 1\n").expect("a script");
    let age = [
        "age",
        "w.ops",
        "--on",
        target,
        "--on",
        "ffs:preset=tiny",
        "-o",
        "run",
    ];
    fsage(at, &age);
    for dir in ["aged", "control", "full"] {
        fs::create_dir(at.join(dir)).expect("a folder");
    }
    fs::write(at.join("full/file"), b"here").expect("a file");
    let of_run = format!("run/{folder_of_target}");

    fsage(at, &["mount", "run", "aged"]);
    fsage(at, &["mount", &of_run, "control", "--control"]);
    let sizes = |dir: &str| {
        let mut sizes = Vec::new();
        for inner in fs::read_dir(at.join(dir)).expect("a root") {
            let path = inner.expect("an entry").path();
            for file in fs::read_dir(path).into_iter().flatten().flatten() {
                sizes.push(file.metadata().expect("a file").len());
            }
        }
        sizes
    };
    assert_eq!((sizes("aged"), sizes("control")), (vec![9000], vec![9000]));
    let refused = fs::write(at.join("aged/new"), b"x").expect_err("it is read-only");
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    is_refused(at, "mount run full", 2, "not empty");
    is_refused(at, "mount run nowhere", 2, "expected an empty directory");
    is_refused(
        at,
        "mount run/ffs_preset-tiny full",
        2,
        "`ffs:preset=tiny` is a model",
    );
    is_refused(at, "umount full", 2, "nothing is mounted there");
    fs::remove_file(at.join("full/file")).expect("a file");
    is_refused(at, "mount run full", 2, "in use");

    fsage(at, &["umount", "aged"]);
    fsage(at, &["umount", "control"]);
    assert_eq!(attached_below(at), Vec::<String>::new());
    fsage(at, &["mount", "run", "aged", "--write"]);
    fs::write(at.join("aged/new"), b"x").expect("it can be written to");
    fsage(at, &["umount", "aged"]);
    fsage(at, &["mount", "run", "aged"]);
    assert_eq!(fs::read(at.join("aged/new")).expect("a file"), b"x");
    fsage(at, &["umount", "aged"]);
    assert_eq!(attached_below(at), Vec::<String>::new());
    is_refused(at, "umount /proc", 2, "no image of a run");

    let Some(mut as_nobody) = real::as_nobody(at) else {
        return skip(test, "`setpriv` is needed to stop being root");
    };
    let run = as_nobody
        .args(["mount", "run", "aged"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert!(said.contains("by hand: sudo mount -t "), "{said}");
}
