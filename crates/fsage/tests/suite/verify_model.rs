//! `fsage verify-model` and the regimes of a real ext4, as a user calls them.

use serde_json::Value as Json;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

fn fsage(at: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args)
        .current_dir(at)
        .output()
        .expect("fsage runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    let is_root = output.is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        let _ = writeln!(std::io::stderr(), "skipped: mounting needs root");
    }
    is_root
}

/// Settings that a regime changes.
fn settings() -> Vec<String> {
    let paths = [
        "/sys/devices/virtual/workqueue/writeback/cpumask",
        "/proc/sys/vm/dirty_writeback_centisecs",
        "/proc/sys/vm/dirty_background_ratio",
        "/proc/sys/vm/dirty_ratio",
    ];
    paths
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .to_vec()
}

const WORKLOAD: &[&str] = &[
    "generate",
    "profile",
    "home-1996",
    "--days",
    "3",
    "-o",
    "w.parquet",
];

#[test]
fn what_cannot_be_verified_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert!(fsage(at, WORKLOAD).status.success());
    for (model, expected) in [
        ("ffs", "models: ext4, xfs"),
        ("loop:ext4", "name the model, as in ext4:size=1G"),
        ("ext4:root=off", "only root mounts an image"),
        ("ext4:journal=0", "a journal"),
        (
            "ext4:regime=default",
            "can be equal to none. regime=b has the same mount options",
        ),
        (
            "xfs:regime=default",
            "can be equal to none. regime=strict has the same allocator",
        ),
        ("ext5", "did you mean `ext"),
    ] {
        let output = fsage(at, &["verify-model", model, "w.parquet"]);
        let message = said(&output);
        assert!(message.contains(expected), "{model}: {message}");
        assert_eq!(output.status.code(), Some(2), "{model}: {message}");
    }
    for (target, expected) in [
        ("loop:xfs,regime=a", "expected one of strict"),
        ("loop:btrfs,regime=a", "btrfs has no regime"),
        ("loop:ext4,regime=e", "expected one of a, b, c, d"),
        ("loop:ext4,regime=a,threads=2", "one thread only"),
        ("loop:ext4,regime=a,data=hole", "allocates nothing"),
    ] {
        let output = fsage(at, &["age", "w.parquet", "--on", target, "-o", "run"]);
        assert!(
            said(&output).contains(expected),
            "{target}: {}",
            said(&output)
        );
        assert_eq!(output.status.code(), Some(2), "{target}");
    }
}

#[test]
fn a_model_and_the_kernel_agree_and_the_machine_is_as_before() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert!(fsage(at, WORKLOAD).status.success());
    let before = settings();
    let args = [
        "verify-model",
        "ext4:size=1G",
        "w.parquet",
        "--json",
        "--lenient",
    ];
    // Other programs of the machine may sync at any time.
    let mut tries = (0..3).map(|_| fsage(at, &args));
    let output = tries.find(|output| output.status.success());
    let output = output.expect("equal once in three times");
    let verdict: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(verdict["difference"], Json::Null);
    assert!(verdict["inodes"].as_u64() > Some(50), "{verdict}");
    assert_eq!(verdict["facts"]["regime"], "a");
    // Another process may be at work in a regime at the same time, and puts them back later.
    for _ in 0..600 {
        if settings() == before {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(settings(), before);
}

#[test]
fn two_runs_in_a_regime_have_one_layout() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert!(fsage(at, WORKLOAD).status.success());
    let layout = |run: &str, target: &str| -> Vec<String> {
        let aged = fsage(
            at,
            &[
                "age",
                "w.parquet",
                "--on",
                target,
                "-o",
                run,
                "--no-control",
                "--lenient",
            ],
        );
        assert!(aged.status.success(), "{target}: {}", said(&aged));
        let folder = fs::read_dir(at.join(run))
            .expect("a run")
            .find_map(|entry| {
                let path = entry.ok()?.path().join("final.parquet");
                path.exists().then_some(path)
            });
        let table = folder.expect("a final layout");
        let inspected = fsage(at, &["inspect", &table.to_string_lossy(), "--extents"]);
        assert!(inspected.status.success(), "{}", said(&inspected));
        String::from_utf8_lossy(&inspected.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let target = "loop:ext4,size=1G,regime=a";
    let first = layout("one", target);
    assert!(first.len() > 50, "{first:?}");
    let again = ["two", "three", "four"].map(|run| layout(run, target) == first);
    // Other programs of the machine may sync at any time, during one of them.
    assert!(again.contains(&true), "{again:?}");
}
