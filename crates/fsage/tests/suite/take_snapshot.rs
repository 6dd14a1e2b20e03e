//! `fsage snapshot` on the command line.

use fsage_core::FileKind;
use fsage_core::snapshot::{Inode, SnapshotRow};
use fsage_data::snapshot::{InodeReader, read_snapshot_table};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fsage(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("fsage runs")
}

fn text(folder: &Path, args: &[&str]) -> String {
    let run = fsage(folder, args);
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {args:?}: {message}");
    String::from_utf8_lossy(&run.stdout).into_owned()
}

fn inodes(path: &Path) -> Vec<Inode> {
    let mut reader = InodeReader::open(path).expect("an inode table");
    let mut inodes = Vec::new();
    while let Some((_, row)) = reader.next_row().expect("a row") {
        match row {
            SnapshotRow::Present(inode) => inodes.push(inode),
            SnapshotRow::Gone { .. } => panic!("a tombstone"),
        }
    }
    inodes
}

/// A tree with a hard link, three directories and 12,345 bytes.
fn tree(folder: &Path) {
    fs::create_dir_all(folder.join("tree/dir/sub")).unwrap();
    fs::write(folder.join("tree/dir/file.txt"), vec![1; 12_345]).unwrap();
    fs::hard_link(folder.join("tree/dir/file.txt"), folder.join("tree/link")).unwrap();
}

#[test]
fn a_directory_becomes_a_snapshot_that_the_other_commands_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tree(folder);
    let summary = text(folder, &["snapshot", "tree", "-o", "s.parquet", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["inodes"], 4);
    assert_eq!(summary["further_names"], 1);
    assert_eq!(summary["bytes"], 12_345);
    assert_eq!(summary["unreadable"], 0);
    let rows = inodes(&folder.join("s.parquet"));
    let mut paths: Vec<_> = rows.iter().filter_map(|row| row.path.as_deref()).collect();
    paths.sort_unstable();
    assert_eq!(paths, [".", "dir", "dir/file.txt", "dir/sub"]);
    let info = &read_snapshot_table(folder.join("s.snapshots.parquet")).unwrap()[0];
    assert_eq!((info.snap_id, &*info.source), (0, "walk"));
    assert!(info.walk_ns.is_some() && info.host.is_some() && info.taken_at_ns > 0);
    assert!(folder.join("s.names.parquet").exists());
    text(folder, &["inspect", "s.parquet"]);

    // It is not written over by itself, and what cannot be walked leaves nothing.
    assert_eq!(
        fsage(folder, &["snapshot", "tree", "-o", "s.parquet"])
            .status
            .code(),
        Some(2)
    );
    text(
        folder,
        &[
            "snapshot",
            "tree",
            "-o",
            "s.parquet",
            "--force",
            "--threads",
            "3",
        ],
    );
    for missing in ["nothing", "tree/link"] {
        let run = fsage(folder, &["snapshot", missing, "-o", "t.parquet"]);
        assert_eq!(run.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&run.stderr).contains(missing));
    }
    fs::write(folder.join("tree/new"), "1").unwrap();
    text(folder, &["snapshot", "tree", "-o", "later.parquet"]);
    let changes = text(folder, &["diff", "s.parquet", "later.parquet", "--list"]);
    assert!(changes.contains("new"), "{changes}");
    let mut left: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.retain(|name| !name.to_string_lossy().ends_with(".parquet"));
    assert_eq!(left, ["tree"]);
}

/// Root: `link` and `dir`; `dir`: `file.txt` and `sub`; `sub`: nothing. The file has 12,345 bytes and two names, in two
/// directories.
#[test]
fn the_directories_of_a_snapshot_and_of_a_path_have_the_same_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tree(folder);
    text(folder, &["snapshot", "tree", "-o", "s.parquet"]);
    let json = |path: &str| -> serde_json::Value {
        let json = text(folder, &["measure", path, "--directories", "--json"]);
        serde_json::from_str(&json).expect("JSON")
    };
    let (mut of_path, of_snapshot) = (json("tree"), json("s.parquet"));
    assert_eq!(
        of_path["directories_by_entries"],
        serde_json::json!({"0": 1, "2": 2})
    );
    assert_eq!(
        of_path["files_by_size_below"],
        serde_json::json!({"16384": 1})
    );
    assert_eq!(of_path["share_linked_across_directories"], 1.0);
    assert_eq!(of_path["share_that_fits_one_block"], 1.0);
    // Only a path has the order in which the entries are listed.
    assert!(of_path["listed"].is_object());
    of_path["listed"] = serde_json::Value::Null;
    assert_eq!(of_path, of_snapshot);
    let table = text(folder, &["measure", "tree", "--directories"]);
    assert!(
        table.contains("names to an inode block") && table.contains("79 %"),
        "{table}"
    );
}

#[test]
fn anonymized_snapshots_of_one_folder_hash_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tree(folder);
    // Which of its two names a file is met by first is for the threads of the walk to say.
    fs::remove_file(folder.join("tree/link")).unwrap();
    fs::create_dir(folder.join("other")).unwrap();
    let take = |to: &str, options: &[&str]| {
        let args = [&["snapshot", "tree", "-o", to, "--anonymize"][..], options].concat();
        text(folder, &args);
        inodes(&folder.join(to))
    };
    let first = take("a.parquet", &[]);
    assert_eq!(take("b.parquet", &[]), first);
    let other = take("other/a.parquet", &[]);
    let path = |rows: &[Inode]| {
        let file = rows.iter().find(|row| row.kind == FileKind::Regular);
        file.and_then(|row| row.path.clone())
            .expect("a path")
            .into_string()
    };
    assert_eq!(path(&first).len(), 16 + 1 + 16);
    assert_ne!(path(&first), path(&other));
    let kept = take("c.parquet", &["--keep-extensions"]);
    assert_eq!(path(&kept), format!("{}.txt", path(&first)));
    for row in &first {
        assert_eq!((row.uid, row.gid), (None, None));
        assert!(!row.path.as_deref().unwrap_or_default().contains("file"));
    }
    let info = &read_snapshot_table(folder.join("a.snapshots.parquet")).unwrap()[0];
    assert_eq!(info.host, None);
}

#[test]
fn the_timer_is_printed_and_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = [
        "snapshot",
        "tree",
        "-o",
        "nights",
        "--install-timer",
        "--anonymize",
    ];
    let units = text(folder, &args);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    let nights = folder.join("nights");
    for line in [
        "Persistent=true",
        "Nice=19",
        "ProtectSystem=strict",
        "[Timer]",
        &format!("ReadWritePaths=\"{}\"", nights.display()),
    ] {
        assert!(units.lines().any(|found| found == line), "{line}: {units}");
    }

    // What systemd runs, with its escapes undone: a snapshot whose name is the time.
    tree(folder);
    fs::create_dir(&nights).unwrap();
    let command = units
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))
        .unwrap();
    let command = command.replace("$$", "$").replace("%%", "%");
    let run = Command::new("/bin/sh")
        .arg("-c")
        .arg(&command)
        .status()
        .unwrap();
    assert!(run.success(), "{command}");
    let names = fs::read_dir(&nights)
        .unwrap()
        .map(|e| e.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(
        names
            .iter()
            .any(|name| name.len() == "2026-11-21T023000Z.parquet".len()),
        "{names:?}"
    );
    assert!(names.contains(&"fsage-anonymize.salt".to_owned()));
}

/// The output is a file; a folder of nights is where it goes.
#[test]
fn a_folder_is_no_name_of_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("nights")).unwrap();
    let run = fsage(folder.path(), &["snapshot", ".", "-o", "nights/"]);
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{message}");
    assert!(
        message.contains("nights: a folder") && message.contains("-o nights/monday.parquet"),
        "{message}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
