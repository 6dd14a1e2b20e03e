//! `fsage fleet` through the public commands: which hosts it finds, what it prints and leaves, what it refuses.

use crate::images::{command, fsage};
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind};
use fsage_data::snapshot::{Form, InodeWriter};
use fsage_data::table::{Value, read_table};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Three hosts: two of home directories, and one with a mail spool.
fn hosts(at: &Path) {
    for (host, preset, seed) in [
        ("a", "home-1996", 1),
        ("b", "home-1996", 2),
        ("m", "mail-spool", 1),
    ] {
        let generate =
            format!("generate profile {preset} --days 4 --seed {seed} -o w.parquet --force");
        fsage(at, &generate, 0);
        fsage(
            at,
            "age w.parquet --on ext4:size=1G -o run --snapshots 1 --no-control --force",
            0,
        );
        let folder = at.join("hosts").join(host);
        fs::create_dir_all(&folder).expect("a folder");
        for name in ["snapshots.parquet", "snapshots.snapshots.parquet"] {
            let from = at.join("run/ext4_size-1G").join(name);
            fs::copy(from, folder.join(name)).expect("a snapshot");
        }
    }
}

#[test]
fn hosts_are_compared_and_what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    hosts(at);
    let shown = fsage(at, "fleet hosts -o fleet", 0);
    assert!(shown.contains("3 hosts, 12 snapshots"), "{shown}");
    let json: Json =
        serde_json::from_str(&fs::read_to_string(at.join("fleet/fleet.json")).expect("JSON"))
            .expect("JSON");
    assert_eq!(json["groups"][0]["hosts"], serde_json::json!(["a", "b"]));
    let page = fs::read_to_string(at.join("fleet/fleet.html")).expect("a page");
    assert!(page.contains("2 of 3 hosts are alike"), "the verdict");
    // What a host says is what `inspect` and `diff` say of its snapshots: files that came and went.
    let days = read_table(at.join("fleet/days.parquet")).expect("days");
    let column = |name: &str| days.column(name).expect("a column");
    let number = |row: &[Value], name: &str| match row[column(name)] {
        Value::U64(number) => number,
        ref other => panic!("{name}: {other:?}"),
    };
    for pair in days
        .rows
        .windows(2)
        .filter(|pair| pair[0][column("host")] == pair[1][column("host")])
    {
        let more = number(&pair[1], "created_files") + number(&pair[0], "files");
        assert_eq!(
            more - number(&pair[1], "deleted_files"),
            number(&pair[1], "files")
        );
    }

    let bytes = |name: &str| fs::read(at.join(name)).expect("a file");
    fsage(
        at,
        "fleet hosts/{host}/snapshots.parquet --threads 2 -o again",
        0,
    );
    for name in ["hosts.parquet", "days.parquet", "fleet.json", "fleet.html"] {
        let (first, again) = (format!("fleet/{name}"), format!("again/{name}"));
        assert!(bytes(&first) == bytes(&again), "{name}");
    }

    // A fleet is replaced where that is asked for, and only then.
    let refused = fsage(at, "fleet hosts -o again", 2);
    assert!(refused.contains("again: exists"), "{refused}");
    fsage(at, "fleet hosts -o again --force", 0);
    assert!(bytes("again/hosts.parquet") == bytes("fleet/hosts.parquet"));

    // A host whose copy was cut off is told, and left out.
    let whole = bytes("hosts/a/snapshots.parquet");
    fs::create_dir_all(at.join("hosts/cut")).expect("a folder");
    fs::write(at.join("hosts/cut/1.parquet"), &whole[..1000]).expect("a file");
    let output = fsage(at, "fleet hosts", 0);
    assert!(
        output.contains("cut is left out: ") && output.contains("cut/1.parquet"),
        "{output}"
    );
    assert!(output.contains("3 hosts, 12 snapshots"), "{output}");
}

#[test]
fn what_is_no_fleet_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir_all(at.join("empty")).expect("a folder");
    fs::write(at.join("mine"), "mine").expect("a file");
    for (args, why) in [
        ("fleet nowhere", "nowhere"),
        ("fleet empty", "empty: no snapshot fits it"),
        ("fleet no-*.parquet", "no-*.parquet"),
        ("fleet empty --alike=-1", "expected a number from 0"),
        ("fleet empty --force", "--output"),
        ("fleet", "FOLDER|PATTERN"),
    ] {
        let refused = fsage(at, args, 2);
        assert!(refused.contains(why), "{args}: {refused}");
    }
    let refused = fsage(at, "fleet empty -o empty --force", 2);
    assert!(refused.contains("empty"), "{refused}");
    let run = command(at, env!("CARGO_BIN_EXE_fsage"), "fleet empty -o mine");
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(fs::read_to_string(at.join("mine")).expect("a file"), "mine");
}

/// A host all of whose files change every night, which is the most that a comparison can be asked to look at: memory is
/// that of the inodes once, as the page on fleets says.
#[test]
fn memory_is_that_of_one_snapshot() {
    const INODES: u64 = 200_000;
    const BLOCK: u64 = 4096;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir_all(at.join("hosts/h")).expect("a folder");
    let mut table =
        InodeWriter::create(at.join("hosts/h/nights.parquet"), Form::Full, false).expect("a table");
    for night in 0..3_u32 {
        for n in 0..INODES {
            let mut inode = Inode::new(2 + n, Some(1), FileKind::Regular, BLOCK);
            inode.parent_ino = Some(2);
            inode.path = Some(format!("home/user/project/file-{n}").into());
            let extent = Extent {
                logical_bytes: 0,
                physical_bytes: (n + 1) * BLOCK,
                length_bytes: BLOCK,
                flags: 0,
            };
            inode.extents = Some([extent].into());
            inode.ctime_ns = Some(i64::from(night) * 86_400_000_000_000);
            table.write(night, &inode).expect("a row");
        }
    }
    table.finish().expect("a table");
    let mut child = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(["-q", "fleet", "hosts", "-o", "fleet"])
        .current_dir(at)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program");
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak_kb = peak_kb.max(kb.unwrap_or(0));
        if let Some(ended) = child.try_wait().expect("a child") {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success());
    let days = read_table(at.join("fleet/days.parquet")).expect("days");
    let modified = days.column("modified_files").expect("a column");
    assert_eq!(days.rows[2][modified], Value::U64(INODES));
    // The program itself, and 600 bytes an inode.
    let allowed_kb = (40 << 10) + INODES * 600 / 1024;
    assert!(peak_kb > 10 << 10, "nothing was measured");
    assert!(peak_kb < allowed_kb, "{peak_kb} kB, allowed {allowed_kb}");
}
