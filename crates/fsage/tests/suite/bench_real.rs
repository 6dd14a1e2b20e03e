//! `fsage bench` on real file systems: images of ext4 (root) and directories. The aged file system is left as it was,
//! and nothing stays mounted.
//!
//! Expected values: sizes and counts of the workloads below, by hand; no time is compared.

use crate::real;
use crate::real::{RealFs, attached_below, fsage, fsage_json, skip, target_folder};
use fsage_data::hash_file;
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};

const DAY_S: u64 = 86_400;

/// Forty files in two directories; those with a number divisible by 4 are changed 40 days later, file 8 is then
/// removed, and file 12 has a second name.
fn workload(at: &Path) {
    let mut script = String::from("mkdir 1\nmkdir 2\n");
    let mut line = |text: String| {
        script.push_str(&text);
        script.push('\n');
    };
    for file in 1..=40 {
        line(format!(
            "@{DAY_S} create {file} {} {}",
            1 + file % 2,
            file * 2000
        ));
    }
    line("link 100 12 2".to_owned());
    for file in (4..=40).step_by(4) {
        line(format!("@{} append {file} 1000", 41 * DAY_S));
    }
    line("delete 8\nday 1".to_owned());
    fs::write(at.join("w.ops"), script).expect("a script");
}

/// Files 4, 12, 16, ..., 40 were changed: nine, of 2000 bytes times their number and 1000 more.
const HOT_FILES: u64 = 9;
const HOT_BYTES: u64 = 2000 * (220 - 8) + HOT_FILES * 1000;

/// Names of states, and what is said of the hot files in each.
fn check_hot_files(json: &Json, states: &[&str]) {
    let target = &json["suites"][0]["targets"][0];
    assert_eq!(json["suites"][0]["suite"], "hot-files");
    assert_eq!(
        (&target["device"], &target["host"]),
        (&Json::Null, &Json::Null)
    );
    let measurements = target["measurements"].as_array().expect("rows");
    // Two phases, two repetitions.
    assert_eq!(measurements.len(), 4 * states.len(), "{target}");
    for row in measurements {
        assert!(states.iter().any(|state| row["state"] == *state), "{row}");
        assert_eq!(
            (&row["files"], &row["bytes"]),
            (&HOT_FILES.into(), &HOT_BYTES.into())
        );
    }
}

/// Every file below a folder, with its hash.
fn hashes(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let hash = hash_file(&path).expect("a file");
                found.push((path, hash));
            }
        }
    }
    found.sort();
    found
}

/// Whoever may not drop all caches of the machine hears so before anything is made.
#[test]
fn all_caches_take_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir(at.join("target")).expect("a folder");
    let Some(mut as_nobody) = real::as_nobody(at) else {
        return skip(
            "all_caches_take_root",
            "`setpriv` is needed to stop being root",
        );
    };
    let args = "bench --on dir:target --suite small-file -o out --drop-caches";
    let run = as_nobody.args(args.split(' ')).output().expect("it runs");
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{message}");
    assert!(message.contains("--drop-caches takes root"), "{message}");
    assert!(!at.join("out").exists());
}

#[test]
fn an_image_is_measured_and_left_as_it_was() {
    let fs = match RealFs::usable("ext4") {
        Ok(fs) => fs,
        Err(why) => return skip("an_image_is_measured_and_left_as_it_was", &why),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    fsage(
        at,
        &["age", "w.ops", "--on", "loop:ext4,size=96M", "-o", "run"],
    );
    let target = target_folder(at, "run");
    let before = hashes(&target);
    let suites = "hot-files,sequential,free-space";
    let states = ["aged", "control", "empty"];
    let bench = [
        "bench",
        "run",
        "--suite",
        suites,
        "--state",
        "aged,control,empty",
        "--size",
        "64K",
        "--repetitions",
        "2",
        "--json",
    ];
    let json = fsage_json(at, &bench);
    // The empty one has no hot files, and says so.
    check_hot_files(&json, &states[..2]);
    let left_out = &json["suites"][0]["targets"][0]["left_out"];
    assert_eq!(left_out[0]["state"], "empty");
    for suite in [1, 2] {
        let target = &json["suites"][suite]["targets"][0];
        let caches = target["caches"].as_str().expect("words");
        assert!(caches.contains("mounted again"), "{caches}");
        for phase in target["phases"].as_array().expect("phases") {
            assert_eq!(phase["file_bytes"], 64 << 10);
            for state in states {
                assert_eq!(phase["states"][state]["mb_per_s"]["count"], 2, "{phase}");
            }
        }
    }
    let off = &json["suites"][2]["targets"][0]["free_map_off_percent"];
    for state in ["aged", "control"] {
        assert!(off[state].as_f64().is_some_and(|off| off < 10.0), "{off}");
    }
    let kept: Vec<_> = hashes(&target)
        .into_iter()
        .filter(|(path, _)| !path.starts_with(target.join("bench")))
        .collect();
    assert_eq!(kept, before);
    fs.check(&real::image_of(at, "run"));
    fsage(at, &["verify", "run"]);
    assert_eq!(attached_below(at), Vec::<String>::new());
    let inspected = fsage(
        at,
        &[
            "inspect",
            &target.join("bench/sequential.parquet").to_string_lossy(),
        ],
    );
    assert!(String::from_utf8_lossy(&inspected.stdout).contains("a Parquet table (bench)"));
}

#[test]
fn an_empty_image_is_made_and_removed() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("an_empty_image_is_made_and_removed", &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let bench = [
        "bench",
        "--on",
        "loop:ext4,size=96M",
        "--suite",
        "sequential",
        "--size",
        "1M",
        "--repetitions",
        "1",
        "-o",
        "out",
    ];
    fsage(at, &bench);
    let left: Vec<PathBuf> = hashes(at).into_iter().map(|(path, _)| path).collect();
    let bench = at.join("out/loop_ext4_size-96M/bench");
    assert_eq!(
        left,
        [
            bench.join("sequential.parquet"),
            bench.join("sequential.svg")
        ]
    );
    assert_eq!(attached_below(at), Vec::<String>::new());
}

#[test]
fn a_directory_is_measured_with_its_control_and_left_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    for name in ["aged", "copied"] {
        fs::create_dir(at.join(name)).expect("a folder");
    }
    let spec = "dir:aged,control=copied,reserve=0";
    fsage(at, &["age", "w.ops", "--on", spec, "-o", "run"]);
    let before = (hashes(&at.join("aged")), hashes(&at.join("copied")));
    assert_eq!(
        before.0.len(),
        40,
        "40 files, one of them removed, one with two names"
    );
    let bench = [
        "bench",
        "run",
        "--suite",
        "hot-files,free-space",
        "--repetitions",
        "2",
        "--json",
    ];
    let json = fsage_json(at, &bench);
    check_hot_files(&json, &["aged", "control"]);
    let free_space = &json["suites"][1]["targets"][0];
    assert_eq!(
        free_space["phases"],
        serde_json::json!([]),
        "no free map of its own"
    );
    // Written over with what was in them, by the numbers of the copies in the control.
    assert_eq!(
        (hashes(&at.join("aged")), hashes(&at.join("copied"))),
        before
    );
    fsage(at, &["verify", "run"]);
}

/// A command sees the files of the aged file system and of its control, and an empty directory of its own, which is
/// empty again for the next repetition.
#[test]
fn a_command_runs_on_aged_and_control() {
    let test = "a_command_runs_on_aged_and_control";
    if let Err(why) = RealFs::usable("ext4") {
        return skip(test, &why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    workload(at);
    let age = [
        "age",
        "w.ops",
        "--on",
        "loop:ext4,size=96M",
        "--on",
        "ffs:preset=g1024",
    ];
    fsage(at, &[&age[..], &["-o", "run"]].concat());
    // 39 files, one of them with two names; nothing in the directory but what this makes.
    let count = "cd {dir} && n=$(ls | wc -l) && touch left && \
                 m=$(find {mnt} -type f -not -path '{mnt}/.fsage*' | wc -l) && \
                 echo '{\"files\":' $m ', \"own\":' $((n + 3)) '}'";
    let bench = [
        "bench",
        "run",
        "--exec",
        count,
        "--exec-name",
        "count",
        "--repetitions",
        "2",
    ];
    let values = [
        "--exec-value",
        "files,files",
        "--exec-value",
        "own,lower",
        "--json",
    ];
    let json = fsage_json(at, &[&bench[..], &values].concat());
    let targets = json["suites"][0]["targets"].as_array().expect("targets");
    assert_eq!(
        (&json["suites"][0]["suite"], targets.len()),
        (&"count".into(), 1)
    );
    let phases = targets[0]["phases"].as_array().expect("phases");
    for (phase, name, value, better) in [
        (&phases[0], "files", 40.0, "higher"),
        (&phases[1], "own", 3.0, "lower"),
    ] {
        assert_eq!(phase["phase"], name);
        assert_eq!(phase["value"][1], better);
        for state in ["aged", "control"] {
            assert_eq!(phase["states"][state]["value"]["median"], value, "{phase}");
        }
        assert_eq!(phase["ratio"]["median"], 1.0);
    }
    fsage(at, &["report", "run"]);
    let page = fs::read_to_string(at.join("run/report.html")).expect("a page");
    let page = page.replace("<wbr>", "");
    assert!(page.contains("Benchmark count"));
    assert!(page.contains("--exec-value</span> files,files,higher"));
    assert_eq!(attached_below(at), Vec::<String>::new());
}

/// Directories need no root.
#[test]
fn where_one_target_fails_the_others_are_measured_printed_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for name in ["bad", "good"] {
        fs::create_dir(at.join(name)).expect("a folder");
    }
    fs::write(at.join("good/flag"), "").expect("a file");
    let bench = |out: &str, json: &[&str]| {
        let command = "test -e {mnt}/flag";
        let on = ["--exec-name", "mine", "--on", "dir:bad", "--on", "dir:good"];
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(["bench", "-o", out, "--exec", command])
            .args([&on, json].concat())
            .current_dir(at)
            .output()
            .expect("fsage runs");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains("dir:bad: `test -e"), "{said}");
        assert!(at.join(out).join("dir_good/bench/mine.parquet").is_file());
        assert!(!at.join(out).join("dir_bad/bench").exists());
        String::from_utf8(run.stdout).expect("text")
    };
    let printed = bench("out", &[]);
    assert!(printed.contains("mine on dir:good"), "{printed}");
    assert!(!printed.contains("dir:bad"), "{printed}");
    let json: serde_json::Value = serde_json::from_str(&bench("json", &["--json"])).expect("JSON");
    let targets = json["suites"][0]["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 1);
    assert_eq!(targets[0]["target"], "dir:good");
}

/// Directories need no root.
#[test]
fn a_command_that_fails_or_finds_no_file_system_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir(at.join("a disk")).expect("a folder");
    let bench = |args: &[&str]| {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args([&["bench", "-o", "out", "--exec"], args].concat())
            .current_dir(at)
            .output()
            .expect("fsage runs");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        (run.status.code(), said)
    };
    let dir = "dir:\"a disk\"";
    for (args, word) in [
        (
            &["echo one >&2; exit 3", "--on", dir][..],
            "failed with exit status: 3\n  one",
        ),
        (
            &["echo '{}'", "--on", dir, "--exec-value", "a.b"],
            "it has no a.b; it is empty",
        ),
        (
            &["true", "--on", dir, "--exec-name", "hot-files"],
            "a suite is called `hot-files`",
        ),
        (
            &["true", "--on", "ffs:preset=tiny"],
            "runs on real file systems only",
        ),
    ] {
        let (status, said) = bench(args);
        assert_eq!(status, Some(2), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: no `{word}` in: {said}");
    }
    let (status, said) = bench(&["cp -r /proc/self/status {dir}/x", "--on", dir]);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        fs::read_dir(at.join("a disk"))
            .expect("a folder")
            .next()
            .is_none()
    );
}
