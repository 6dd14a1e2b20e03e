//! `fsage check` through the program: runs that became worse, what is missing, rules that are wrong, and every form of
//! the results.

use serde_json::Value as Json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn command(at: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args.split_whitespace())
        .current_dir(at)
        .output()
        .expect("fsage runs")
}

/// It must end with this status; gives what it printed.
fn fsage(at: &Path, args: &str, status: i32) -> String {
    let run = command(at, args);
    let message = String::from_utf8_lossy(&run.stderr);
    let text = String::from_utf8(run.stdout).expect("text");
    assert_eq!(
        run.status.code(),
        Some(status),
        "fsage {args}: {message}{text}"
    );
    assert!(!message.contains("panicked"), "{args}: {message}");
    text
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().to_owned();
    (folder, at)
}

/// Files that come and go on a small file system for some days; the original policy leaves them in more pieces.
fn workload(at: &Path) {
    let days = "generate profile home-1996 --days 12 -o w.parquet";
    fsage(at, days, 0);
}

fn age(at: &Path, targets: &[&str], run: &str) {
    let on = targets.join(" --on ");
    fsage(at, &format!("age w.parquet --on {on} -o {run}"), 0);
}

fn rules(at: &Path, text: &str) {
    fs::write(at.join("rules.toml"), text).expect("a file");
}

/// Layout scores of the days of the only target, as `fsage measure` tells them.
fn scores(at: &Path, run: &str) -> Vec<f64> {
    let json: Json =
        serde_json::from_str(&fsage(at, &format!("measure {run} --json"), 0)).expect("JSON");
    let days = json["targets"][0]["days"].as_array().expect("days").clone();
    days.iter()
        .map(|day| day["layout_score"].as_f64().expect("a score"))
        .collect()
}

fn failures(json: &str) -> Vec<Json> {
    let outcome: Json = serde_json::from_str(json).expect("JSON");
    let verdicts = outcome["verdicts"].as_array().expect("verdicts").clone();
    let failures = verdicts.iter().flat_map(|verdict| {
        let failures = verdict["failures"].as_array().expect("failures").clone();
        failures.into_iter().map(|failure| {
            let mut failure = failure;
            failure["rule"] = verdict["rule"].clone();
            failure["target"] = verdict["target"].clone();
            failure
        })
    });
    failures.collect()
}

/// One policy got worse: the baseline is cluster reallocation, the run is without. The first day and its values are
/// found here from what `fsage measure` prints.
#[test]
fn a_policy_that_got_worse_is_named_with_metric_day_and_values() {
    let (_folder, at) = folder();
    workload(&at);
    age(&at, &["ffs:policy=realloc"], "old");
    age(&at, &["ffs:policy=orig"], "new");
    let (old, new) = (scores(&at, "old"), scores(&at, "new"));
    let limit = 0.01;
    let first = old
        .iter()
        .zip(&new)
        .position(|(old, new)| old - new > limit + 1e-9)
        .expect("it is worse");
    rules(
        &at,
        &format!(
            "match = 'position'\n[[rule]]\nmetric = 'layout_score'\nday = 'every'\nmax_drop = {limit}\n"
        ),
    );
    let json = fsage(
        &at,
        "check new --baseline old --rules rules.toml --format json",
        1,
    );
    let found = failures(&json);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["day"], first as u64 + 1);
    assert_eq!(found[0]["value"], new[first]);
    assert_eq!(found[0]["baseline"], old[first]);
    assert_eq!(found[0]["target"], "ffs:policy=orig");
    let text = fsage(&at, "check new --baseline old --rules rules.toml", 1);
    for word in [
        "FAIL  layout_score, every day".to_owned(),
        format!("day {}", first + 1),
        format!(": {:.4}, baseline {:.4}", new[first], old[first]),
        "1 of 5 checks failed".to_owned(),
    ] {
        assert!(text.contains(&word), "no `{word}` in {text}");
    }
    // Half of what it lacks at the end, from the last day back.
    let lacks = |day: usize| old[day] - new[day];
    let last = old.len() - 1;
    let half = (0..=last)
        .rev()
        .take_while(|&day| lacks(day) * 2.0 >= lacks(last))
        .last()
        .expect("the last day");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let cause = json["causes"][0]["text"].as_str().expect("a cause");
    let by = format!("lacked by day {}: {:.4}", half + 1, new[half]);
    assert_eq!(cause.contains(&by), half < last, "{cause}");
    assert!(cause.contains("of the difference lies in files"), "{cause}");
    assert!(
        text.contains("  why   at the end, beside the baseline: "),
        "{text}"
    );
    // The same by the default rules, and by names that the rules set beside each other.
    fsage(&at, "check new --baseline old --match position", 1);
    rules(
        &at,
        "[targets]\n'*orig' = 'ffs:policy=realloc'\n[[rule]]\nmetric = 'layout_score'\nmax_drop = 0.5\n",
    );
    fsage(&at, "check new --baseline old --rules rules.toml", 0);
    // By name neither finds the other, and the message says how they may.
    let text = fsage(&at, "check new --baseline old", 1);
    for word in [
        "no such target",
        "the run has not: ffs:policy=orig",
        "--match position",
        "[targets]",
    ] {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
    // A run is no worse than itself; the order of the two decides.
    fsage(&at, "check old --baseline old", 0);
    fsage(&at, "check old --baseline new --match position", 0);
}

/// Two targets of one run need neither the same name nor a matching; the other targets are not asked.
#[test]
fn two_targets_of_a_run_are_checked_against_each_other() {
    let (_folder, at) = folder();
    workload(&at);
    let policies = ["orig", "realloc"].map(|policy| format!("ffs:policy={policy}"));
    age(&at, &[&policies[0], "ffs:policy=realloc", "lfs"], "run");
    let better = fsage(
        &at,
        "check run/ffs_policy-realloc --baseline run/ffs_policy-orig",
        0,
    );
    assert!(
        better.contains("(better)") && !better.contains("lfs"),
        "{better}"
    );
    let worse = command(
        &at,
        "check run/ffs_policy-orig --baseline run/ffs_policy-realloc",
    );
    let next = String::from_utf8_lossy(&worse.stderr).into_owned();
    assert_eq!(worse.status.code(), Some(1), "{next}");
    assert!(
        next.contains("Next: `fsage report run` shows both"),
        "{next}"
    );
    let refused = command(&at, "check run/ext4 --baseline run/ffs_policy-orig");
    assert_eq!(refused.status.code(), Some(2), "there is no such target");
}

#[test]
fn what_was_skipped_lost_or_not_finished_fails_unless_it_is_allowed() {
    let (_folder, at) = folder();
    // 8 MB of preset tiny, and 9 MB that want to go there: counted, not done.
    let creates = (1..=9).map(|file| format!("create {file} 0 1000000"));
    let script = creates.chain(["day 1\n".to_owned()]).collect::<Vec<_>>();
    fs::write(at.join("w.ops"), script.join("\n")).expect("a file");
    fsage(&at, "age w.ops --on ffs:preset=tiny --on null -o full", 0);
    rules(&at, "[[rule]]\nmetric = 'operations'\nmin = 1\n");
    let text = fsage(&at, "check full --rules rules.toml", 1);
    assert!(
        text.contains("FAIL  skipped:") && text.contains("FAIL  no_space:"),
        "{text}"
    );
    rules(
        &at,
        "allow = { skipped = 5, no_space = 5 }\n[[rule]]\nmetric = 'operations'\nmin = 1\n",
    );
    fsage(&at, "check full --rules rules.toml", 0);

    fsage(&at, "age w.ops --on null -o less", 0);
    let text = fsage(&at, "check less --baseline full --rules rules.toml", 1);
    assert!(text.contains("ffs:preset=tiny\n  FAIL  target:"), "{text}");
    rules(
        &at,
        "allow.missing_targets = true\n[[rule]]\nmetric = 'operations'\nmin = 1\n",
    );
    fsage(&at, "check less --baseline full --rules rules.toml", 0);

    fs::write(at.join("w.ops"), "create 1 0 5\nday 1\n").expect("a file");
    fsage(&at, "age w.ops --on null -o other", 0);
    let text = fsage(&at, "check other --baseline less --rules rules.toml", 1);
    assert!(
        text.contains("FAIL  workload: not that of the baseline"),
        "{text}"
    );

    let manifest = at.join("less/run.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("\"complete\"", "\"incomplete\"")).expect("a file");
    let text = fsage(&at, "check less --rules rules.toml", 1);
    assert!(
        text.contains("FAIL  complete: the run is not complete"),
        "{text}"
    );
}

/// Benchmarks of a simulated machine are exact: the same run has the same medians, another policy others.
#[test]
fn benchmarks_are_compared_and_missing_ones_are_named() {
    let (_folder, at) = folder();
    workload(&at);
    age(&at, &["ffs:policy=realloc"], "old");
    age(&at, &["ffs:policy=orig"], "new");
    let bench = "--suite sequential --size 64K --repetitions 6 --quiet";
    fsage(&at, &format!("bench old {bench}"), 0);
    let by_position = "check new --baseline old --match position --rules rules.toml";
    rules(&at, "[[rule]]\nmetric = 'files'\nmin = 1\n");
    let text = fsage(&at, by_position, 1);
    let missing = "FAIL  benchmarks: 6 of 6 in the baseline are not in the run, \
                   the first is sequential/create/64K, aged";
    assert!(text.contains(missing), "{text}");
    fsage(&at, &format!("bench new {bench}"), 0);
    fsage(&at, by_position, 0);

    rules(
        &at,
        "[[rule]]\nbench = 'sequential/read/64K'\nmax_drop_percent = 0.01\nstrict = true\n",
    );
    fsage(&at, "check old --baseline old --rules rules.toml", 0);
    let json: Json = serde_json::from_str(&fsage(&at, &format!("{by_position} --format json"), 1))
        .expect("JSON");
    let failed = failures(&json.to_string());
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["bench"], "sequential/read/64K, aged");
    let (value, baseline) = (failed[0]["value"].as_f64(), failed[0]["baseline"].as_f64());
    assert!(value < baseline, "{failed:?}");
    // The reference is what `fsage bench` itself prints for a program.
    fsage(
        &at,
        "check old --baseline new --match position --rules rules.toml",
        0,
    );
    let again = fsage(&at, &format!("bench new {bench} --force --json"), 0);
    let again: Json = serde_json::from_str(&again).expect("JSON");
    let phases = again["suites"][0]["targets"][0]["phases"]
        .as_array()
        .expect("phases")
        .clone();
    let read = phases
        .iter()
        .find(|phase| phase["phase"] == "read")
        .expect("a phase");
    assert_eq!(read["states"]["aged"]["mb_per_s"]["median"].as_f64(), value);

    rules(
        &at,
        "[[rule]]\nbench = 'sequential/*'\nof = 'ratio'\nmax = 0.0001\n",
    );
    let text = fsage(&at, "check new --rules rules.toml", 1);
    assert!(
        text.contains("sequential/create/64K, ratio:")
            && text.contains("sequential/read/64K, ratio:"),
        "{text}"
    );
    rules(&at, "[[rule]]\nbench = 'hot-files'\nmin = 0\n");
    let text = fsage(&at, "check new --rules rules.toml", 1);
    assert!(text.contains("fsage bench RUN --suite hot-files"), "{text}");
}

#[test]
fn wrong_rules_are_refused_with_their_line_and_what_is_known() {
    let (_folder, at) = folder();
    fs::write(at.join("w.ops"), "create 1 0 5\nday 1\n").expect("a file");
    fsage(&at, "age w.ops --on ffs:preset=tiny -o run", 0);
    let rule = "[[rule]]\nmetric = 'layout_score'\n";
    let table: [(String, &[&str]); 16] = [
        (
            "min = 1\n".into(),
            &["rules.toml:1: unknown field `min`", "`rule`"],
        ),
        (
            format!("{rule}mim = 1\n"),
            &["rules.toml:3: unknown field `mim`", "did you mean `min`?"],
        ),
        (
            "[allow]\nskiped = 1\n".into(),
            &["rules.toml:2:", "did you mean `skipped`?"],
        ),
        (
            "match = 'names'\n".into(),
            &["rules.toml:1:", "did you mean `name`?"],
        ),
        (
            "[[rule]]\nmetric = 'layout_scor'\nmin = 1\n".into(),
            &[
                "rules.toml:2: no metric is called `layout_scor`; did you mean `layout_score`?",
                "utilization",
            ],
        ),
        (
            "[[rule]]\nmetric = 'label'\nmin = 1\n".into(),
            &["rules.toml:2: no metric is called `label`"],
        ),
        (
            rule.to_string(),
            &["rules.toml:1: the rule has no limit", "max_drop_percent"],
        ),
        (
            "[[rule]]\nmin = 1\n".into(),
            &["rules.toml:1: expected one of `metric"],
        ),
        (format!("{rule}min = 'x'\n"), &["rules.toml:3:", "f64"]),
        (
            format!("{rule}min = nan\n"),
            &["rules.toml:3: min: expected a finite number"],
        ),
        (
            format!("{rule}max_drop = -1\n"),
            &["rules.toml:3: max_drop: expected a number that is not negative"],
        ),
        (
            format!("{rule}day = 0\nmin = 1\n"),
            &[
                "rules.toml:3: day: expected a number from 1",
                "\"mean of last 30\"",
                "found 0",
            ],
        ),
        (
            format!("{rule}strict = true\nmin = 1\n"),
            &["rules.toml:3: `strict` belongs to rules with `bench`"],
        ),
        (
            "[[rule]]\nbench = 'sequentail/read'\nmin = 1\n".into(),
            &[
                "rules.toml:2: no suite is called `sequentail`; did you mean `sequential`?", // typos: ignore
                "hot-files",
            ],
        ),
        (
            format!("{rule}target = 'ffs:preset=tyny'\nmin = 1\n"),
            &[
                "rules.toml:1: no target is called",
                "did you mean `ffs:preset=tiny`?",
            ],
        ),
        (
            format!("{rule}max_drop = 1\n"),
            &[
                "rules.toml:1:",
                "compares with a baseline; name one with --baseline",
            ],
        ),
    ];
    for (text, words) in table {
        rules(&at, &text);
        let run = command(&at, "check run --rules rules.toml");
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{text}: {message}");
        for word in words {
            assert!(message.contains(word), "{text}: no `{word}` in: {message}");
        }
    }
}

#[test]
fn what_rules_and_folders_lack_is_said() {
    let (_folder, at) = folder();
    fs::write(at.join("w.ops"), "create 1 0 5\nday 1\n").expect("a file");
    fsage(&at, "age w.ops --on ffs:preset=tiny -o run", 0);
    fs::create_dir(at.join("empty")).expect("a folder");
    rules(
        &at,
        "[targets]\n'ext4' = 'xfs'\n[[rule]]\nmetric = 'files'\nmin = 1\n",
    );
    let others = [
        (
            "check run --baseline run --rules rules.toml",
            "[targets]: the run has no target `ext4`",
        ),
        ("check run", "nothing to check by"),
        ("check empty", "empty: expected a run"),
        ("check run --rules regresion", "did you mean `regression`?"), // typos: ignore
        (
            "check run --rules none.toml",
            "none.toml: cannot read the rules",
        ),
        ("check none --rules limits", "none: not a run"),
        ("check run --baseline none", "none: not a run"),
    ];
    for (args, words) in others {
        let run = command(&at, args);
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{args}: {message}");
        assert!(
            message.contains(words),
            "{args}: no `{words}` in: {message}"
        );
    }
}

#[test]
fn results_come_as_junit_and_files_are_not_overwritten() {
    let (_folder, at) = folder();
    fs::write(at.join("w.ops"), "create 1 0 5\nday 1\n").expect("a file");
    fsage(&at, "age w.ops --on ffs:preset=tiny --on null -o run", 0);
    rules(
        &at,
        "[[rule]]\nname = 'a < b & \"c\"'\nmetric = 'files'\nmin = 2\n",
    );
    let check = "check run --rules rules.toml --format junit -o check.xml";
    let text = fsage(&at, check, 1);
    assert!(text.contains("2 of 8 checks failed."), "{text}");
    fsage(&at, check, 2);
    fsage(&at, &format!("{check} --force"), 1);
    // Another reader than the one that the writer's crate brings along.
    let script = "import sys, xml.etree.ElementTree as e\n\
                  r = e.parse('check.xml').getroot()\n\
                  print(r.tag, r.get('tests'), r.get('failures'))\n\
                  cases = [(s, c) for s in r for c in s]\n\
                  why = lambda c: [(f.tag, f.get('message')) for f in c if f.tag == 'failure']\n\
                  for s, c in cases: print(s.tag, s.get('name'), c.tag, c.get('name'), why(c))\n";
    let python = Command::new("python3")
        .args(["-c", script])
        .current_dir(&at)
        .stdin(Stdio::null())
        .output();
    let Ok(python) = python else {
        let _ = writeln!(std::io::stderr(), "skipped: no python3 to read the XML");
        return;
    };
    assert!(
        python.status.success(),
        "{}",
        String::from_utf8_lossy(&python.stderr)
    );
    let read = String::from_utf8(python.stdout).expect("text");
    let lines: Vec<&str> = read.lines().collect();
    assert_eq!(lines.len(), 9, "{read}");
    assert_eq!(lines[0], "testsuites 8 2");
    let failed =
        "testsuite ffs:preset=tiny testcase a < b & \"c\" [('failure', 'day 1: 1; min = 2')]";
    assert!(lines.contains(&failed), "{read}");
}

#[test]
fn rules_that_come_with_fsage_are_shown_and_run() {
    let (_folder, at) = folder();
    workload(&at);
    age(&at, &["ffs:policy=realloc"], "run");
    fsage(
        &at,
        "bench run --suite sequential,hot-files --size 64K --repetitions 2 --quiet",
        0,
    );
    let listed = fsage(&at, "check --list", 0);
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["regression", "limits", "benchmarks", "nights"]);
    for name in names {
        rules(&at, &fsage(&at, &format!("check --show {name}"), 0));
        for rules in [name, "rules.toml"] {
            let run = command(&at, &format!("check run --baseline run --rules {rules}"));
            let message = String::from_utf8_lossy(&run.stderr).into_owned();
            // Twelve days are no month: the rule about the last thirty says so.
            let status = i32::from(name == "limits");
            assert_eq!(run.status.code(), Some(status), "{rules}: {message}");
        }
    }
}

/// Snapshots are checked without a run and without rules of one's own; the limit lies a hair on either side of what
/// `fsage measure` finds in the last one. A night that cannot be read is no night that is fine.
#[test]
fn snapshots_are_checked_and_none_is_passed_over() {
    let (_folder, at) = folder();
    fsage(&at, "generate profile mail-spool --days 3 -o w.parquet", 0);
    fsage(
        &at,
        "age w.parquet --on ext4 --snapshots 1 --no-control -o run",
        0,
    );
    fs::create_dir(at.join("nights")).expect("a folder");
    for name in ["snapshots.parquet", "snapshots.snapshots.parquet"] {
        fs::copy(at.join("run/ext4").join(name), at.join("nights").join(name)).expect("a file");
    }
    let text = fsage(&at, "check nights", 0);
    assert!(text.contains("complete: 3 snapshots"), "{text}");
    assert!(!text.contains("operations"), "{text}");
    let measured: Json =
        serde_json::from_str(&fsage(&at, "measure nights/snapshots.parquet --json", 0))
            .expect("JSON");
    let score = measured["layout_score"].as_f64().expect("a score");
    for (least, status) in [(score - 1e-9, 0), (score + 1e-9, 1)] {
        rules(
            &at,
            &format!("[[rule]]\nmetric = 'layout_score'\nmin = {least}\n"),
        );
        for of in ["nights", "nights/snapshots.parquet"] {
            fsage(&at, &format!("check {of} --rules rules.toml"), status);
        }
    }
    fsage(&at, "export run/ext4 disk.img", 0);
    fsage(&at, "snapshot disk.img -o tonight.parquet", 0);
    let text = fsage(&at, "check tonight.parquet --format markdown", 0);
    for found in ["utilization", "room for 64 KiB extents", "room for inodes"] {
        assert!(text.contains(found), "{found}: {text}");
    }
    fsage(&at, "snapshot nights -o tree.parquet", 0);
    fs::write(
        at.join("rules.toml"),
        "[[rule]]\nmetric = 'files'\nmin = 1\n",
    )
    .expect("a file");
    let text = fsage(&at, "check tree.parquet --rules rules.toml --max-age 1", 0);
    assert!(text.contains("newest: taken 0 minutes ago"), "{text}");
    // The model lived in 1970.
    let text = fsage(&at, "check nights --max-age 400.5", 1);
    assert!(text.contains("days ago; --max-age 400.5"), "{text}");
    fsage(&at, "check run --rules limits --max-age 1", 2);
    fs::write(at.join("nights/tuesday.parquet"), "cut off").expect("a file");
    let json = fsage(&at, "check nights --format json", 1);
    let failures = failures(&json);
    assert_eq!(failures[0]["rule"], "complete", "{json}");
    assert!(
        failures[0]["message"]
            .as_str()
            .is_some_and(|m| m.contains("tuesday.parquet")),
        "{json}"
    );
}

/// Two cells of an experiment: one is complete, one failed. Then both are there, and the baseline is an experiment too.
#[test]
fn every_cell_of_an_experiment_is_checked() {
    let (_folder, at) = folder();
    fs::create_dir_all(at.join("exp/cells")).expect("a folder");
    for (cell, bytes) in [("a", 20_000), ("b", 30_000)] {
        let workload = at.join(format!("{cell}.ops"));
        fs::write(workload, format!("create 1 0 {bytes}\nday 1\n")).expect("a file");
        fsage(
            &at,
            &format!("age {cell}.ops --on ffs:preset=tiny -o exp/cells/{cell}"),
            0,
        );
    }
    let cell = |id: &str, seed: u64, state: &str| {
        serde_json::json!({
            "id": id, "workload": "w", "seed": seed, "repetition": 1, "target": "ffs:preset=tiny",
            "run": format!("cells/{id}"), "state": state, "error": "no room"
        })
    };
    let write = |state: &str| {
        let manifest = serde_json::json!({
            "fsage": "0.1.0", "schema_version": 1, "name": "e", "summary": "", "blake3": "0", "suites": [],
            "cells": [cell("a", 1, "complete"), cell("b", 2, state)]
        });
        fs::write(at.join("exp/experiment.json"), manifest.to_string()).expect("a file");
    };
    rules(&at, "[[rule]]\nmetric = 'files'\nmin = 1\n");
    write("failed");
    let text = fsage(&at, "check exp --rules rules.toml", 1);
    assert!(
        text.contains("ffs:preset=tiny (w, seed 2)\n  FAIL  complete: the cell failed: no room"),
        "{text}"
    );
    assert!(
        text.contains("ffs:preset=tiny (w, seed 1)\n  ok    complete"),
        "{text}"
    );
    write("complete");
    fsage(&at, "check exp --rules rules.toml", 0);
    let over = "[[rule]]\nmetric = 'files'\nover = 'seeds'\nmax = 0\nmax_rise = 0\n";
    rules(&at, over);
    let text = fsage(&at, "check exp --rules rules.toml --baseline exp", 1);
    let failed =
        "\n  FAIL  files, last day: mean 1 (1 to 1), baseline 1, change 0 (0 to 0); max = 0";
    assert!(
        text.contains("ffs:preset=tiny (w, 2 lives)\n  ok    complete: 1 day, in all 2 lives\n"),
        "{text}"
    );
    assert!(text.contains(failed) && !text.contains("seed 1"), "{text}");
    // Programs have every life.
    let json = fsage(
        &at,
        "check exp --rules rules.toml --baseline exp --format json",
        1,
    );
    assert!(
        json.contains("w, seed 1") && json.contains("w, seed 2"),
        "{json}"
    );
    rules(
        &at,
        &format!("other_kernel = true\n{}", over.replace("max = 0\n", "")),
    );
    fsage(&at, "check exp --rules rules.toml --baseline exp", 0);
    fsage(&at, "check exp --baseline exp", 0);
}

/// Two lives of other seeds: they differ, and the mean of two is hardly known.
#[test]
fn what_lives_leave_open_fails_only_where_it_is_to_be_proven() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fsage(
        at,
        "compare --preset home-1996 --days 2 --on ffs --on null --seeds 3 --no-bench -o lives",
        0,
    );
    let rule = "[[rule]]\nname = 'unsure'\ntarget = 'ffs'\nmetric = 'files'\nover = 'seeds'\n";
    rules(at, &format!("{rule}min = 0"));
    let text = fsage(at, "check lives --rules rules.toml", 0);
    let mean = text
        .split_once("  ok    unsure: mean ")
        .expect("the mean")
        .1;
    let mean: f64 = mean
        .split(' ')
        .next()
        .expect("a number")
        .parse()
        .expect("a number");
    let near = format!("{rule}min = {:.1}\n", mean + 0.1);
    rules(at, &near);
    let text = fsage(at, "check lives --rules rules.toml", 0);
    assert!(
        text.contains("\n  open  unsure: mean ") && text.contains("seeds would"),
        "{text}"
    );
    assert!(text.contains("checks failed, 1 is open."), "{text}");
    let text = fsage(at, "check lives --rules rules.toml --format github", 0);
    assert!(text.contains("::warning title=ffs"), "{text}");
    rules(at, &format!("{near}prove = true\n"));
    let text = fsage(at, "check lives --rules rules.toml", 1);
    assert!(
        text.contains("  FAIL  unsure: mean ") && text.contains("not proven: "),
        "{text}"
    );
}

/// The rules of a comparison that come with fsage go by the interval over lives where there are several, and by the
/// value of the one where there is one.
#[test]
fn rules_that_come_with_fsage_go_by_the_mean_of_several_lives() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let compare = "compare --preset home-1996 --days 2 --on ffs --no-bench";
    fsage(at, &format!("{compare} --seeds 3 -o lives"), 0);
    fsage(at, &format!("{compare} -o one"), 0);
    let said = |run: &str| {
        let text = fsage(at, &format!("check {run} --baseline {run}"), 0);
        let pieces = text.lines().filter(|line| line.contains("pieces_per_file"));
        let pieces: Vec<String> = pieces.map(str::to_owned).collect();
        (text, pieces)
    };
    let (text, pieces) = said("lives");
    assert!(text.starts_with("ffs (home-1996, 3 lives)\n"), "{text}");
    assert!(!text.contains("(home-1996, seed"), "{text}");
    assert!(
        pieces.len() == 1 && pieces[0].contains("last day: mean "),
        "{text}"
    );
    let (text, pieces) = said("one");
    assert!(pieces.len() == 1 && !pieces[0].contains("mean"), "{text}");
}

/// A run that fails beside another draw of the same clock may do so by chance, and it is said how to know.
#[test]
fn another_draw_of_a_clock_is_no_proof() {
    let (_folder, at) = folder();
    workload(&at);
    let drawn = |seed| format!("ext4:size=600M,regime=default,seed={seed}");
    age(&at, &[&drawn(1)], "old");
    age(&at, &[&drawn(2)], "new");
    let (old, new) = (scores(&at, "old"), scores(&at, "new"));
    // Either is worse than the other on some day.
    let is_worse = old.iter().zip(&new).any(|(old, new)| new < old);
    let (run, baseline) = if is_worse {
        ("new", "old")
    } else {
        ("old", "new")
    };
    rules(
        &at,
        "match = 'position'\n[[rule]]\nmetric = 'layout_score'\nday = 'every'\nmax_drop = 0.0\n",
    );
    let failed = command(
        &at,
        &format!("check {run} --baseline {baseline} --rules rules.toml"),
    );
    assert_eq!(failed.status.code(), Some(1));
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(message.contains("may be chance"), "{message}");
    assert!(message.contains("fsage compare --seeds 5"), "{message}");
    // Of a model that draws nothing a difference is one.
    age(&at, &["ffs:policy=realloc"], "whole");
    age(&at, &["ffs:policy=orig"], "worse");
    let sure = command(&at, "check worse --baseline whole --rules rules.toml");
    assert_eq!(sure.status.code(), Some(1));
    let message = String::from_utf8_lossy(&sure.stderr);
    assert!(!message.contains("chance"), "{message}");
}

/// What a run in a regime keeps of the kernel that reclaimed memory meanwhile is said, of the baseline too.
#[test]
fn runs_that_saw_memory_reclaimed_are_named() {
    let (_folder, at) = folder();
    workload(&at);
    for run in ["old", "new"] {
        age(&at, &["ffs"], run);
    }
    let said = |at: &Path| {
        let checked = command(at, "check new --baseline old");
        assert_eq!(checked.status.code(), Some(0));
        String::from_utf8_lossy(&checked.stderr).into_owned()
    };
    assert!(!said(&at).contains("reclaimed"), "{}", said(&at));
    let path = at.join("old/run.json");
    let text = fs::read_to_string(&path).expect("a manifest");
    let mut manifest: Json = serde_json::from_str(&text).expect("JSON");
    manifest["targets"][0]["facts"]["memory_reclaimed"] = "while it was mounted".into();
    fs::write(&path, manifest.to_string()).expect("a file");
    let message = said(&at);
    assert!(message.contains("The kernel reclaimed memory"), "{message}");
    assert!(message.contains("ffs of old"), "{message}");
}
