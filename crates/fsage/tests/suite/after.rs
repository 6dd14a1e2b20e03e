//! `fsage compare --after` through the public command: what defragmenting gains, takes, and leaves later, on models and
//! on images (root).

use crate::images::{command, fsage};
use crate::real::{RealFs, attached_below, skip};
use fsage_data::table::{Value, read_table};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Two days that leave a file in pieces. Forty files of 8 KiB with one between each two, which goes; then one of
/// 256 KiB, which has the holes alone as the rest of the disk is full.
fn holes(at: &Path, rest_bytes: u64) {
    let mut text = String::from("@0 mkdir 1\n");
    for file in 1..=80 {
        let _ = writeln!(text, "@{file} create {file} 1 8192");
    }
    let _ = writeln!(
        text,
        "@100 create 100 1 {rest_bytes}\n@86399 day 1970-01-01"
    );
    for file in (2..=80).step_by(2) {
        let _ = writeln!(text, "@86{file:03} delete {file}");
    }
    let _ = writeln!(
        text,
        "@87000 create 200 1 262144\n@87001 delete 100\n@172799 day 1970-01-02"
    );
    fs::write(at.join("w.ops"), text).expect("a workload");
}

fn compared(at: &Path, args: &str) -> Json {
    let args = format!("compare w.ops {args} --json --quiet -o run");
    let run = command(at, env!("CARGO_BIN_EXE_fsage"), &args);
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{args}: {said}");
    serde_json::from_slice(&run.stdout).expect("JSON")
}

fn stage<'a>(outcome: &'a Json, treatment: Option<&str>, lived_on: bool) -> &'a Json {
    let mut stages = outcome["stages"].as_array().expect("stages").iter();
    let found = stages
        .find(|stage| stage["treatment"].as_str() == treatment && stage["lived_on"] == lived_on);
    found.unwrap_or_else(|| panic!("{treatment:?}, {lived_on}: {outcome:#}"))
}

fn score(stage: &Json) -> f64 {
    stage["layout_score"].as_f64().expect("a score")
}

fn number(value: &Json) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn a_model_is_defragmented_in_three_ways_and_its_run_stays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // The disk of 16 MB is filled but for a few hundred KB.
    holes(at, 14_600_000);
    let json = compared(
        at,
        "--on ffs:preset=tiny --no-bench --lenient --after defrag:ideal --after defrag:file --after defrag:free-space",
    );
    let outcome = &json["after"][0];
    let before = stage(outcome, None, false);
    assert_eq!(
        before["layout_score"], json["targets"][0]["layout_end"],
        "{outcome:#}"
    );
    assert!(score(before) < 0.9, "{outcome:#}");
    // A dump that is restored is what the control is: files in the order of the tree on a fresh file system.
    let ideal = stage(outcome, Some("defrag:ideal"), false);
    assert_eq!(ideal["layout_score"], json["targets"][0]["layout_control"]);
    let file = stage(outcome, Some("defrag:file"), false);
    assert!(score(file) > score(before) + 0.05, "{outcome:#}");
    // The file in pieces alone is written anew: 256 KiB are read, and written.
    let cost = &file["cost"];
    assert_eq!(
        (number(&cost["moved_files"]), number(&cost["tried_files"])),
        (1, 1)
    );
    assert_eq!(
        (number(&cost["read_bytes"]), number(&cost["written_bytes"])),
        (262_144, 262_144)
    );
    assert!(cost["seconds"].is_null(), "no disk was asked for");
    // All that is alive: 40 files of 8 KiB, and the one of 256 KiB.
    let all = 40 * 8192 + 262_144;
    assert_eq!(number(&ideal["cost"]["read_bytes"]), all);
    assert_eq!(number(&ideal["cost"]["written_bytes"]), all);
    let free = stage(outcome, Some("defrag:free-space"), false);
    assert!(number(&free["cost"]["tried_files"]) >= number(&free["cost"]["moved_files"]));
    // The run has what it had: the same days, and a page with the answer.
    let days = read_table(at.join("run/ffs_preset-tiny/days.parquet")).expect("days");
    let column = days.column("layout_score").expect("a column");
    let Some(Value::F64(last)) = days.rows.last().map(|row| row[column].clone()) else {
        panic!("a score");
    };
    assert!((last - score(before)).abs() < 1e-12);
    let page = fs::read_to_string(at.join("run/report.html")).expect("a page");
    assert!(page.contains("Does defragmenting pay?") && page.contains("defrag:free-space"));
}

#[test]
fn every_model_is_treated_lives_on_and_is_benchmarked_and_the_same_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fsage(
        at,
        "generate profile home-1996 --days 2 --seed 4 -o w.ops",
        0,
    );
    let args = "--suite hot-files --size 16K --repetitions 2 --after defrag:ideal --after defrag:file --after-again \
                --device st32430n --no-map --no-control";
    let on = "--on ffs --on ext4:size=1200M --on xfs:size=1200M";
    let json = compared(at, &format!("{on} {args}"));
    let outcomes = json["after"].as_array().expect("outcomes");
    assert_eq!(outcomes.len(), 3);
    for outcome in outcomes {
        let target = outcome["target"].as_str().expect("a target");
        assert_eq!(
            outcome["stages"].as_array().map(Vec::len),
            Some(6),
            "{target}"
        );
        let before = stage(outcome, None, false);
        for treatment in ["defrag:ideal", "defrag:file"] {
            let after = stage(outcome, Some(treatment), false);
            // What is restored lies as the control does, which is no better than a young file system in every case.
            let is_better = score(after) >= score(before);
            assert!(
                is_better || treatment == "defrag:ideal",
                "{target}: {outcome:#}"
            );
            let cost = &after["cost"];
            assert_eq!(cost["device"], "st32430n");
            assert!(
                cost["seconds"].as_f64() > Some(0.0),
                "{target}, {treatment}: {cost}"
            );
            let read = after["speeds"].as_array().expect("speeds").iter();
            let read: Vec<&Json> = read.filter(|speed| speed["phase"] == "read").collect();
            assert!(
                read[0]["by_before"]["ratio"].as_f64() > Some(0.0),
                "{after:#}"
            );
            let later = stage(outcome, Some(treatment), true);
            assert_eq!(later["layout_by_day"].as_array().map(Vec::len), Some(2));
            // Whatever ids its files have now, all of the life goes on on them.
            assert_eq!(
                later["skipped"],
                stage(outcome, None, true)["skipped"],
                "{target}, {treatment}"
            );
            assert!(
                later["speeds"][0]["by_untreated"]["ratio"].is_number(),
                "{later:#}"
            );
        }
        assert_eq!(stage(outcome, None, true)["skipped"], 0, "{target}");
    }
    let alone = |how: &str| compared(at, &format!("--on ffs {args} {how}"))["after"].clone();
    let again = alone("--force");
    assert_eq!(again[0], json["after"][0]);
    // What is there is kept.
    assert_eq!(alone("--resume"), again);
}

/// Times of reading what is aged, as a suite left them in a folder.
fn read_times(folder: &Path) -> Vec<Value> {
    let table = read_table(folder.join("bench/hot-files.parquet")).expect("measurements");
    let at = |name: &str| table.column(name).expect("a column");
    let (state, phase, elapsed) = (at("state"), at("phase"), at("elapsed_ns"));
    let wanted = table
        .rows
        .iter()
        .filter(|row| row[state] == Value::from("aged") && row[phase] == Value::from("read"));
    wanted.map(|row| row[elapsed].clone()).collect()
}

/// The pages of a file system that was never treated lie on flash as the life of its run put them, and a treatment goes
/// on with that device.
/// A file of 1 MiB comes each day and stays: 28 days later as much is in use as on the last day, and not as on the mean
/// one, when it was half of that.
#[test]
fn what_lives_on_is_as_full_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let mut text = String::from("@0 mkdir 1\n");
    for day in 0..28 {
        let (file, t) = (10 * day + 1, day * 86_400);
        for n in 0..4 {
            let _ = writeln!(text, "@{} create {} 1 1048576", t + 100 + n, file + n);
        }
        for n in 1..4 {
            let _ = writeln!(text, "@{} delete {}", t + 50_000 + n, file + n);
        }
        let _ = writeln!(text, "@{} day {day}", t + 80_000);
    }
    fs::write(at.join("w.ops"), text).expect("a workload");
    let json = compared(
        at,
        "--on ext4:size=64M --no-bench --after defrag:file --after-again",
    );
    let outcome = &json["after"][0];
    let full = |lived_on| {
        let stage = stage(outcome, None, lived_on);
        stage["file_bytes"].as_f64().expect("bytes") / f64::from(1 << 20)
    };
    assert!((full(false) - 28.0).abs() < 0.1, "{outcome:#}");
    assert!((full(true) - 28.0).abs() <= 1.0, "{outcome:#}");
}

#[test]
fn on_flash_a_treatment_goes_on_with_the_device_that_was_lived_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    holes(at, 14_600_000);
    let args = "--on ffs:preset=tiny --lenient --no-map --device emu24 --suite hot-files --repetitions 1 \
                --after defrag:file --after-again";
    let json = compared(at, args);
    let target = at.join("run/ffs_preset-tiny");
    let aged = read_times(&target);
    assert_eq!(aged.len(), 1);
    assert_eq!(read_times(&target.join("after/0")), aged, "untreated");
    let outcome = &json["after"][0];
    let file = stage(outcome, Some("defrag:file"), false);
    assert_eq!(file["cost"]["device"], "emu24");
    assert!(
        number(&file["cost"]["written_bytes"]) >= 262_144,
        "{file:#}"
    );
    // Of each stage it is known where its pages lie.
    for number in 0..4 {
        let flash = target.join(format!("after/{number}/flash.parquet"));
        let rows = read_table(&flash).expect("what flash made of it").rows;
        assert!(!rows.is_empty(), "{}", flash.display());
    }
}

#[test]
fn what_suits_no_target_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    holes(at, 8192);
    let refused = |args: &str| {
        let said = fsage(at, &format!("compare w.ops -o run {args}"), 2);
        assert!(!at.join("run").exists(), "{args}");
        said
    };
    let said = refused("--on ffs --after ls");
    assert!(said.contains("commands run on images"), "{said}");
    let said = refused("--on ffs --after defrag:all");
    assert!(
        said.contains("expected defrag:ideal, defrag:file or defrag:free-space"),
        "{said}"
    );
    let said = refused("--on ffs --after defrag");
    assert!(said.contains("expected defrag:ideal"), "{said}");
    fs::write(at.join("timeless.ops"), "create 1 0 8192\nday 1\n").expect("a workload");
    let args = "compare timeless.ops -o run --on ffs --after defrag:file --after-again";
    let said = fsage(at, args, 2);
    assert!(
        said.contains("nothing to live on with") && said.contains("no time"),
        "{said}"
    );
    assert!(!at.join("run").exists());
    let said = refused("--on ffs --after-again");
    assert!(said.contains("--after"), "{said}");
}

/// Every life is treated; means are those of the lives, the tables have them, and the same command resumes.
#[test]
fn lives_are_treated_and_give_means() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let args = "compare --preset home-1996 --days 2 --on ffs --on null --seeds 2 --no-bench --after defrag:ideal \
                --after-again -o lives --json";
    let lives = || {
        let run = command(at, env!("CARGO_BIN_EXE_fsage"), args);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(0), "{said}");
        serde_json::from_slice::<Json>(&run.stdout).expect("JSON")
    };
    let json = lives();
    let treated = |row: &&Json| !row["after"].is_null();
    let rows: Vec<&Json> = json["results"]
        .as_array()
        .expect("rows")
        .iter()
        .filter(treated)
        .collect();
    assert_eq!(rows.len(), 1, "nothing suits null: {json:#}");
    let stages = rows[0]["after"].as_array().expect("stages");
    let names: Vec<&str> = stages
        .iter()
        .filter_map(|stage| stage["stage"].as_str())
        .collect();
    let expected = [
        "aged",
        "aged, 2 days more",
        "defrag:ideal",
        "defrag:ideal, 2 days more",
    ];
    assert_eq!(names, expected);
    let table = read_table(at.join("lives/results.parquet")).expect("results");
    let column = |name: &str| {
        let place = table.columns.iter().position(|column| column.name == name);
        place.expect("a column")
    };
    let (metric, value) = (column("metric"), column("value"));
    let scores: Vec<f64> = table
        .rows
        .iter()
        .filter(|row| {
            row[metric] == Value::Text("after.defrag:ideal.again.layout_score".to_owned())
        })
        .map(|row| match row[value] {
            Value::F64(score) => score,
            ref other => panic!("a score: {other:?}"),
        })
        .collect();
    assert_eq!(scores.len(), 2);
    let mean = stages[3]["layout_score"]["mean"].as_f64().expect("a mean");
    assert!(
        (mean - f64::midpoint(scores[0], scores[1])).abs() < 1e-12,
        "{mean}, {scores:?}"
    );
    let interval = stages[3]["layout_score"]["interval"]
        .as_array()
        .expect("an interval");
    assert!(interval[0].as_f64() < Some(mean) && interval[1].as_f64() > Some(mean));
    assert_eq!(lives(), json, "resumed");
    let said = fsage(at, "results lives", 0);
    assert!(
        said.contains("defrag:ideal: the layout score goes from"),
        "{said}"
    );
    // A cell without what treatments made of it is not complete.
    let cells = fs::read_dir(at.join("lives/cells")).expect("cells");
    let found = cells.filter_map(|entry| {
        let file = entry.expect("an entry").path().join("ffs/after.json");
        file.is_file().then_some(file)
    });
    fs::remove_file(found.min().expect("a treated cell")).expect("removed");
    assert_eq!(lives(), json, "treated again");
    let text = "seeds = [1]\ntargets = [\"ffs\"]\n[[workload]]\npreset = \"home-1996\"\ndays = 1\n[after]\n\
                treat = [\"ls\"]\n";
    fs::write(at.join("e.toml"), text).expect("a file");
    let said = fsage(at, "run e.toml", 2);
    assert!(
        said.contains("e.toml:6") && said.contains("commands run on images"),
        "{said}"
    );
}

/// The command sees the files, what it writes is counted, and no copy of the image is left behind.
#[test]
fn a_command_treats_a_copy_of_an_image() {
    let test = "a_command_treats_a_copy_of_an_image";
    if let Err(why) = RealFs::usable("ext4") {
        return skip(test, &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    holes(at, 15_000_000);
    let on = "loop:ext4,size=24M,sync=day";
    fs::write(
        at.join("fill.sh"),
        "set -e\ndd if=/dev/zero of=\"$1/new\" bs=64k count=8 2>/dev/null\nls \"$1\" > seen\n",
    )
    .expect("a script");
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args([
            "compare",
            "w.ops",
            "--on",
            on,
            "--no-bench",
            "--json",
            "--quiet",
            "-o",
            "run",
            "--after-again",
        ])
        .args(["--after", "sh fill.sh {mnt}", "--after", "true {dev}"])
        .current_dir(at)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{said}");
    let json: Json = serde_json::from_slice(&run.stdout).expect("JSON");
    let outcome = &json["after"][0];
    assert_eq!(
        outcome["stages"].as_array().map(Vec::len),
        Some(6),
        "{outcome:#}"
    );
    let before = stage(outcome, None, false);
    assert_eq!(
        before["layout_score"], json["targets"][0]["layout_end"],
        "{outcome:#}"
    );
    let filled = stage(outcome, Some("sh fill.sh {mnt}"), false);
    // 512 KiB were written, and are on the disk when it is over.
    assert!(
        number(&filled["cost"]["written_bytes"]) >= 512 << 10,
        "{filled:#}"
    );
    let seen = fs::read_to_string(at.join("seen")).expect("what it saw");
    assert!(
        seen.contains("new") && seen.contains("lost+found"),
        "{seen}"
    );
    let nothing = stage(outcome, Some("true {dev}"), false);
    assert_eq!(nothing["layout_score"], before["layout_score"]);
    let (with, without) = (
        stage(outcome, Some("true {dev}"), true),
        stage(outcome, None, true),
    );
    assert_eq!(with["layout_by_day"].as_array().map(Vec::len), Some(2));
    assert_eq!(with["skipped"], without["skipped"]);
    assert_eq!(attached_below(at), Vec::<String>::new());
    let left: Vec<_> = walk(&at.join("run"))
        .into_iter()
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "img"))
        .collect();
    assert_eq!(left.len(), 2, "the aged image and its control: {left:?}");
}

/// What another command did stays, the page is made, and the status says that something failed.
#[test]
fn a_command_that_fails_costs_its_own_row() {
    let test = "a_command_that_fails_costs_its_own_row";
    if let Err(why) = RealFs::usable("ext4") {
        return skip(test, &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    holes(at, 15_000_000);
    let on = "loop:ext4,size=24M,sync=day";
    let failed = std::process::Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args([
            "compare",
            "w.ops",
            "--on",
            on,
            "--no-bench",
            "--quiet",
            "-o",
            "failed",
        ])
        .args(["--after", "echo no such thing >&2; exit 3"])
        .args(["--after", "true {dev}"])
        .current_dir(at)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert_ne!(failed.status.code(), Some(0));
    assert!(
        said.contains("exit status: 3") && said.contains("no such thing"),
        "{said}"
    );
    let failed = at.join("failed");
    assert!(failed.join("report.html").is_file());
    let kept = walk(&failed)
        .into_iter()
        .find(|name| name.ends_with("after.json"));
    let kept = fs::read_to_string(kept.expect("what came of it")).expect("it can be read");
    assert!(
        kept.contains("true {dev}") && !kept.contains("exit 3"),
        "{kept}"
    );
    assert_eq!(attached_below(at), Vec::<String>::new());
}

/// Names of all files below a folder.
fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            names.extend(walk(&path));
        } else {
            names.push(path.display().to_string());
        }
    }
    names
}
