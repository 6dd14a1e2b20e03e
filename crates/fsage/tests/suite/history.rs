//! `fsage history`: what was done to a file, and in how many pieces it lay, day by day.

use crate::images::fsage;
use serde_json::Value;
use std::fs;

/// Three days of two files that grow in turn; the numbers below are counted by hand.
const WORKLOAD: &str = "\
mkdir 5
create 1 5 40000
create 2 5 1000
day 1
append 1 8192
append 1 8192
append 2 5000
day 2
day 3
rewrite 1 90000
rename 1 0
day 4
";

fn json(at: &std::path::Path, command: &str) -> Value {
    serde_json::from_str(&fsage(at, command, 0)).expect("JSON")
}

#[test]
fn a_file_is_followed_through_its_days() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), WORKLOAD).expect("a workload");
    fsage(at, "age w.ops --on ext4:size=64M --on ffs -o run", 0);
    for target in ["ext4_size-64M", "ffs"] {
        let found = json(at, &format!("history run/{target} --path /f1 --json"));
        assert_eq!(found["file"], 1, "{target}");
        assert_eq!(found["size_bytes"], 90_000);
        let days = found["days"].as_array().expect("days");
        let done: Vec<String> = days
            .iter()
            .map(|day| format!("{} {}", day["day"], day["operations"]))
            .collect();
        let done_of = |number: u64| {
            let day = days.iter().find(|day| day["day"] == number);
            let operations = day.expect("the day")["operations"].as_array();
            let said =
                |done: &Value| format!("{} {} {}", done["operation"], done["times"], done["bytes"]);
            operations
                .expect("a list")
                .iter()
                .map(said)
                .collect::<Vec<String>>()
        };
        let first = days[0]["day"].as_u64().expect("a number");
        assert_eq!(days[0]["nth"], 1, "it was made on `day 1`");
        assert_eq!(done_of(first), ["\"create\" 1 40000"], "{done:?}");
        assert_eq!(done_of(first + 1), ["\"append\" 2 16384"], "{done:?}");
        assert!(
            days.iter().all(|day| day["day"] != first + 2),
            "nothing was done: {done:?}"
        );
        assert_eq!(
            done_of(first + 3),
            ["\"rewrite\" 1 90000", "\"rename\" 1 0"]
        );
        // Another way to the same: what `inspect` lists of its inode.
        let listed = fsage(
            at,
            &format!("inspect run/{target}/final.parquet --extents"),
            0,
        );
        let inode = found["inode"].to_string();
        let line = listed
            .lines()
            .find(|line| line.split('\t').next() == Some(&inode));
        let line = line.unwrap_or_else(|| panic!("inode {inode} in\n{listed}"));
        assert!(line.contains("90000"), "{line}");
        let bytes: u64 = found["pieces"]
            .as_array()
            .expect("pieces")
            .iter()
            .map(|piece| piece["length_bytes"].as_u64().expect("a length"))
            .sum();
        assert!((90_000..=98_304).contains(&bytes), "{target}: {bytes}");
        let same = json(at, &format!("history run/{target} --inode {inode} --json"));
        assert_eq!(same, found);
        // Its pieces are those of the rewrite on day 4; another way to that day's requests is the trace.
        if target == "ffs" {
            assert_eq!(found["served"], Value::Null, "mballoc is of ext4");
        } else {
            let trace = format!("age w.ops --on ext4:size=64M --trace --inode {inode}");
            let trace = fsage(at, &trace, 0);
            let of_day = trace
                .split("# ")
                .find(|part| part.starts_with("rewrite 1 "));
            let of_day = of_day.unwrap_or_else(|| panic!("{trace}"));
            let asked: Vec<&str> = of_day
                .lines()
                .filter(|line| line.contains("\tD\t"))
                .collect();
            assert_eq!(found["served"]["requests"], asked.len(), "{trace}");
            let first: Vec<&str> = asked[0].split('\t').collect();
            assert_eq!(found["served"]["first_asked"].to_string(), first[3]);
            assert_eq!(found["served"]["first_goal"].to_string(), first[4]);
            assert_eq!(found["served"]["first_got"].to_string(), first[6]);
        }
        // On ext4 the larger of two in one piece each.
        let most = json(at, &format!("history run/{target} --json"));
        assert_eq!(most["path"], "/f1");
        let said = fsage(at, &format!("history run/{target}"), 0);
        // FFS puts its blocks apart.
        let none =
            said.starts_with("No file is in more than one piece at the end; the largest:\n\n/f1");
        assert_eq!(none, target != "ffs", "{said}");
        assert!(said.contains("rewrite"), "{said}");
        let rewritten = said.lines().find(|line| line.contains("rewrite"));
        let number = rewritten.and_then(|line| line.split_whitespace().next());
        assert_eq!(number, Some("4"), "{said}");
    }
    for (command, words) in [
        (
            "history run/ffs --path /none",
            "no regular file /none is there at the end",
        ),
        ("history run/ffs --inode 99999", "file with inode 99999"),
        ("history run", "expected RUN/TARGET"),
        ("inspect run --worst", "expected RUN/TARGET, with one of"),
        ("history w.ops", "w.ops"),
    ] {
        let said = fsage(at, command, 2);
        assert!(said.contains(words), "{command}: {said}");
    }
}

#[test]
fn the_files_in_the_most_pieces_have_paths_where_the_workload_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Two files that grow in turn, synced each day.
    let start = "mkdir 5\nmkdir 6 5\ncreate 1 6 8192\ncreate 2 6 8192\nday 1\n".to_owned();
    let days = (2..30).map(|day| format!("append 1 8192\nappend 2 8192\nday {day}\n"));
    let workload: Vec<String> = std::iter::once(start).chain(days).collect();
    let workload = workload.concat();
    fs::write(at.join("w.ops"), workload).expect("a workload");
    fsage(at, "age w.ops --on ffs:size=64M -o run", 0);
    let target = "run/ffs_size-64M";
    let worst = json(at, &format!("inspect {target} --worst 1 --json"));
    let inode = &worst[0]["inode"];
    let named = json(at, &format!("history {target} --inode {inode} --json"));
    let path = worst[0]["path"].as_str().expect("a path");
    assert_eq!(named["path"], format!("/{path}"));
    assert!(["d5/d6/f1", "d5/d6/f2"].contains(&path), "{worst}");
    let shown = fsage(at, &format!("inspect {target} --worst 1"), 0);
    assert!(shown.contains(path), "{shown}");
    // A run with one target need not name it.
    let of_run = fsage(at, "inspect run --worst 1", 0);
    assert_eq!(of_run, shown);
    for options in ["--groups", "--extents", "--blocks 0-100"] {
        let of_target = fsage(at, &format!("inspect {target} {options}"), 0);
        assert_eq!(fsage(at, &format!("inspect run {options}"), 0), of_target);
    }
    fsage(at, "measure run --directories", 0);
    // Without the workload there is what the run has.
    fs::remove_file(at.join("w.ops")).expect("removed");
    let shown = fsage(at, &format!("inspect {target} --worst 1"), 0);
    assert!(shown.contains("paths are not known"), "{shown}");
    assert!(
        shown.contains("directory") && !shown.contains(path),
        "{shown}"
    );
}

/// Another way to the requests since the rewrite, of which all pieces are, is the trace.
#[test]
fn what_xfs_made_of_a_file_is_what_its_trace_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), WORKLOAD).expect("a workload");
    fsage(at, "age w.ops --on xfs:size=512M -o run", 0);
    let found = json(at, "history run --path /f1 --json");
    let inode = &found["inode"];
    let trace = fsage(
        at,
        &format!("age w.ops --on xfs:size=512M --trace --inode {inode}"),
        0,
    );
    let (_, since) = trace.rsplit_once("# rewrite 1 ").expect("the rewrite");
    let rows: Vec<Vec<&str>> = since
        .lines()
        .filter(|line| line.contains("\tD\t"))
        .map(|line| line.split('\t').collect())
        .collect();
    let served = &found["served"];
    assert_eq!(served["allocator"], "xfs", "{found}");
    assert_eq!(served["requests"], rows.len(), "{trace}");
    let whole = rows.iter().filter(|row| row[5] == row[6]).count();
    assert_eq!(served["whole"], whole, "{trace}");
    let first = &served["first"];
    let row = rows.iter().find(|row| row[4] != row[9]).unwrap_or(&rows[0]);
    for (key, column) in [("ag", 3), ("maxlen", 6), ("agbno", 9), ("len", 10)] {
        assert_eq!(first[key].to_string(), row[column], "{key}: {trace}");
    }
    let ag = served["ag"]["free"].as_u64().expect("blocks");
    assert!((1..512 << 8).contains(&ag), "{served}");
}

/// The file system is nearly empty: each of its groups of 8 MiB could serve 90 kB, so that nothing had to be left out.
#[test]
fn where_long_runs_lay_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("w.ops"), WORKLOAD).expect("a workload");
    fsage(at, "age w.ops --on ext4:size=64M -o run", 0);
    let found = json(at, "history run --path /f1 --json");
    let long = &found["served"]["long_runs"];
    assert_eq!(
        (&long["groups"], &long["have"]),
        (&8.into(), &8.into()),
        "{long}"
    );
    assert!(long["blocks"].as_u64() >= Some(64), "{long}");
}

/// Two files that grow in turn, counted by hand: between the three writes to the first the other is written 4 times,
/// once before the second and three times before the third; it is renamed, too. In the other life a day is one write.
#[test]
fn the_main_cause_comes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let in_turn = "mkdir 5\ncreate 1 5 8192\ncreate 2 5 8192\nappend 1 8192\nappend 2 8192\nappend 2 8192\n\
                   rename 2 0\nappend 2 8192\nappend 1 8192\nappend 2 8192\nday 1\n";
    let days = (1..9).map(|day| format!("append 1 8192\nappend 2 8192\nday {day}\n"));
    let days: String = days.collect();
    let days_apart = format!("mkdir 5\ncreate 1 5 8192\ncreate 2 5 8192\n{days}");
    for (name, text, on) in [
        ("in-turn", in_turn, "ffs"),
        ("days-apart", &days_apart, "lfs"),
    ] {
        fs::write(at.join(format!("{name}.ops")), text).expect("a workload");
        fsage(
            at,
            &format!("age {name}.ops --on {on}:size=64M -o {name}"),
            0,
        );
    }
    let found = json(at, "history in-turn --path /d5/f1 --json");
    assert_eq!(found["days"][0]["others_between"], 4, "{found}");
    let pieces = found["pieces"].as_array().expect("pieces").len();
    let short = format!(
        "In short: all {pieces} pieces came on day 1, by 3 writes, between which others wrote 4 times."
    );
    assert_eq!(found["in_short"], short);
    let said = fsage(at, "history in-turn --path /d5/f1", 0);
    let begun = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        begun.starts_with(&format!(
            "/d5/f1 (inode {}): 24.0 KiB in {pieces} pieces {short}",
            found["inode"]
        )),
        "{said}"
    );
    let found = json(at, "history days-apart --path /d5/f1 --json");
    let short = found["in_short"].as_str().expect("a sentence");
    let pieces = found["pieces"].as_array().expect("pieces").len();
    assert!(pieces > 4, "{found}");
    assert!(
        short.starts_with("In short: it came bit by bit")
            && short.contains(&format!(" of its {pieces} pieces")),
        "{short}"
    );
}
