//! Snapshots on the command line: compared, converted between their forms, inspected; pools of profiles too.

use fsage_core::FileKind;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink, source_flags};
use fsage_data::snapshot::{Form, SnapshotOutput};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fsage(folder: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("fsage runs")
}

fn text(folder: &Path, args: &str) -> String {
    let run = fsage(folder, args);
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "fsage {args}: {message}");
    String::from_utf8_lossy(&run.stdout).into_owned()
}

fn json(folder: &Path, args: &str) -> serde_json::Value {
    serde_json::from_str(&text(folder, args)).expect("JSON")
}

fn file(ino: u64, generation: u32, ctime_s: i64, path: &str) -> Inode {
    Inode {
        ctime_ns: Some(ctime_s * 1_000_000_000),
        path: Some(path.into()),
        parent_ino: Some(2),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(ino, Some(generation), FileKind::Regular, 10 * ino)
    }
}

/// Three nights: 11 is modified, then renamed; 12 is replaced, then gone; 13 is made.
fn nights(folder: &Path) {
    let path = folder.join("n.parquet");
    let mut output = SnapshotOutput::create(path, Form::Full, false).expect("a folder");
    for (snap_id, inodes) in [
        vec![
            file(11, 1, 5, "a"),
            file(12, 1, 5, "b"),
            file(14, 1, 5, "same"),
        ],
        vec![
            file(11, 1, 86_405, "a"),
            file(12, 2, 86_406, "c"),
            file(13, 1, 86_407, "d"),
            file(14, 1, 5, "same"),
        ],
        vec![
            file(11, 1, 172_805, "e"),
            file(13, 1, 86_407, "d"),
            file(14, 1, 5, "same"),
        ],
    ]
    .into_iter()
    .enumerate()
    {
        let info = SnapshotInfo {
            snap_id: snap_id as u32,
            taken_at_ns: (snap_id as i64 + 1) * 86_400_000_000_000,
            source: "walk".to_owned(),
            ..SnapshotInfo::default()
        };
        output.snapshot(info).expect("a snapshot");
        for inode in inodes {
            output.inode(inode).expect("an inode");
        }
    }
    output.finish().expect("a file");
}

fn count(value: &serde_json::Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(serde_json::Value::as_u64);
    found.unwrap_or_else(|| panic!("{pointer} in {value}"))
}

#[test]
fn a_series_and_any_pair_of_it_are_compared() {
    let dir = tempfile::tempdir().expect("a folder");
    nights(dir.path());
    let all = json(dir.path(), "diff n.parquet --json");
    let sum = |key: &str| count(&all, &format!("/total/regular/{key}"));
    assert_eq!(
        [
            "create",
            "delete",
            "replace",
            "modify",
            "rename",
            "maybe_replaced"
        ]
        .map(sum),
        [2, 2, 1, 2, 1, 0]
    );
    assert_eq!(count(&all, "/pairs/1/regular/delete"), 1);
    let pair = json(dir.path(), "diff n.parquet#0 n.parquet#1 --json");
    assert_eq!(pair.pointer("/diff"), all.pointer("/pairs/0"));
    let last = json(dir.path(), "diff n.parquet n.parquet --snap-a 1 --json");
    assert_eq!(last.pointer("/diff"), all.pointer("/pairs/1"));

    let guessed = json(
        dir.path(),
        "diff n.parquet#0 n.parquet#1 --json --identity ino",
    );
    assert_eq!(count(&guessed, "/diff/regular/maybe_replaced"), 2);
    let warning = fsage(dir.path(), "diff n.parquet#0 n.parquet#1 --identity ino").stderr;
    assert!(String::from_utf8_lossy(&warning).contains("2 changed inodes may be other files"));

    let list = text(dir.path(), "diff n.parquet#0 n.parquet#1 --list");
    assert_eq!(
        list,
        "modify:unknown\tf\t11\t110\t110\ta\nreplace\tf\t12\t120\t120\tc\ncreate\tf\t13\t-\t130\td\n"
    );
    let list = text(dir.path(), "diff n.parquet --list");
    assert!(
        list.ends_with(
            "2\tmodify:unknown\tf\t11\t110\t110\te\tfrom a\n2\tdelete\tf\t12\t120\t-\tc\n"
        ),
        "{list}"
    );
    for line in text(dir.path(), "diff n.parquet --list --json").lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON on every line");
    }
}

#[test]
fn the_forms_are_converted_and_inspected() {
    let dir = tempfile::tempdir().expect("a folder");
    nights(dir.path());
    let facts = json(
        dir.path(),
        "convert n.parquet d.parquet --form delta --json",
    );
    // Three files, then 11, 12 gone and 12 new and 13, then 11 and 12 gone.
    assert_eq!(
        (
            count(&facts, "/summary/rows_written"),
            count(&facts, "/summary/tombstones")
        ),
        (9, 2)
    );
    text(dir.path(), "convert d.parquet f.parquet --form full");
    for ending in ["parquet", "snapshots.parquet"] {
        let read =
            |stem: &str| fs::read(dir.path().join(format!("{stem}.{ending}"))).expect("a file");
        assert!(read("f") == read("n"), "{ending}");
    }
    let again = fsage(dir.path(), "convert d.parquet f.parquet --form full");
    assert_eq!(again.status.code(), Some(2));

    let inspected = json(dir.path(), "inspect d.parquet --json");
    assert_eq!(count(&inspected, "/snapshots"), 3);
    assert_eq!(count(&inspected, "/known/generation"), 7);
    assert_eq!(
        count(&inspected, "/last_taken_at_ns"),
        3 * 86_400_000_000_000
    );
    let folder = dir.path().join("one");
    fs::create_dir(&folder).expect("a folder");
    for name in ["d.parquet", "d.snapshots.parquet"] {
        fs::copy(dir.path().join(name), folder.join(name)).expect("a copy");
    }
    let inspected = json(dir.path(), "inspect one --json");
    assert_eq!(
        (
            count(&inspected, "/snapshots"),
            count(&inspected, "/inodes_at_the_end")
        ),
        (3, 3)
    );
    // Both forms of one series are two files of one time.
    let twice = fsage(dir.path(), "inspect .");
    assert_eq!(twice.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&twice.stderr).contains("give each night once"));
}

#[test]
fn a_pool_goes_through_parquet_unchanged() {
    let dir = tempfile::tempdir().expect("a folder");
    let pool = "source,dir,start_s,life_s,bytes,name\n\
                make,0,1.500000,0.250000,4096,\"a,b\"\nmake,1,2.000000,9.000000001,0,\n";
    fs::write(dir.path().join("in.csv"), pool).expect("a file");
    text(dir.path(), "convert in.csv pool.profiles.parquet");
    text(dir.path(), "convert pool.profiles.parquet out.csv");
    assert_eq!(
        fs::read_to_string(dir.path().join("out.csv")).expect("a file"),
        pool
    );
    let inspected = json(dir.path(), "inspect pool.profiles.parquet --json");
    assert_eq!(count(&inspected, "/sources/make/files"), 2);
    assert_eq!(
        count(&inspected, "/sources/make/life_ns/p100"),
        9_000_000_001
    );
}

#[test]
fn what_cannot_be_compared_says_why() {
    let dir = tempfile::tempdir().expect("a folder");
    nights(dir.path());
    for (args, words) in [
        ("diff n.parquet#9 n.parquet", "there is no snapshot 9 in it"),
        ("diff n.parquet#x n.parquet", "no number of a snapshot"),
        ("diff n.parquet#1 n.parquet --snap-a 1", "named twice"),
        ("diff . n.parquet", "is a folder"),
        (
            "diff absent.parquet n.parquet",
            "absent.parquet: cannot open",
        ),
        (
            "diff n.snapshots.parquet n.parquet",
            "is a table of `snapshots`",
        ),
        ("convert n.parquet out.ops", "ends in .parquet"),
        (
            "inspect n.snapshots.parquet --extents",
            "is a table of `snapshots`",
        ),
        (
            "inspect n.parquet --extents",
            "extents of files were not collected",
        ),
    ] {
        let run = fsage(dir.path(), args);
        let message = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args}: {message}");
        assert!(message.contains(words), "{args}: {message}");
    }
}
