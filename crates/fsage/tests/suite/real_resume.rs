//! Interrupted runs on real file systems: whenever the program dies, the run goes on and ends with the same files,
//! sizes and contents as one that was never interrupted.

use crate::real;
use crate::real::{RealFs, fsage, skip};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn spawn(at: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(arguments)
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("fsage starts")
}

/// What a finished run left, which `verify` has compared with the disk byte by byte: every name with its kind, size,
/// content and zeros, as a table's bytes.
fn left_behind(at: &Path, run: &str) -> Vec<u8> {
    fsage(at, &["verify", run]);
    fs::read(real::target_folder(at, run).join("tree.parquet")).expect("a table")
}

/// A folder whose file system is quick to sync, where there is one: a run syncs the whole of it every day.
fn quick_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).expect("a folder");
    }
    tempfile::tempdir().expect("a folder")
}

/// Kills runs at so many moments spread over their length, resumes each, and compares.
fn killed_and_resumed(at: &Path, spec: &str, moments: u32, between: impl Fn()) {
    let age = |run: &'static str| ["age", "w.ops", "--on", spec, "-o", run];
    let began = Instant::now();
    fsage(at, &age("whole"));
    let length = began.elapsed();
    let expected = left_behind(at, "whole");
    between();
    let mut killed = 0;
    for moment in 0..moments {
        let mut child = spawn(at, &age("run"));
        // Not quite regular, so that no two kills meet the same place.
        let part =
            (f64::from(moment) + f64::from(moment * 7919 % 100) / 100.0) / f64::from(moments);
        std::thread::sleep(length.mul_f64(part * 1.05));
        child.kill().expect("it can be killed");
        killed += u32::from(!child.wait().expect("it ends").success());
        if !at.join("run/run.json").exists() || is_incomplete(at) {
            fsage(at, &["age", "w.ops", "--on", spec, "-o", "run", "--resume"]);
        }
        assert!(
            left_behind(at, "run") == expected,
            "{spec}: killed at moment {moment}"
        );
        assert_eq!(real::attached_below(at), Vec::<String>::new());
        assert_eq!(mapped_days(at, "run"), mapped_days(at, "whole"));
        fs::remove_dir_all(at.join("run")).expect("the run goes");
        between();
    }
    assert!(
        killed * 5 > moments,
        "{spec}: only {killed} were killed before their end"
    );
}

/// The days of which a run has a block map, by the header of its file (docs/formats.md).
fn mapped_days(at: &Path, run: &str) -> serde_json::Value {
    let bytes = fs::read(real::target_folder(at, run).join("map.bin")).expect("a map");
    assert_eq!(&bytes[..12], b"fsagemap\x01\0\0\0");
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
    let header: serde_json::Value =
        serde_json::from_slice(&bytes[16..][..length as usize]).expect("a header");
    assert!(
        header["days"]
            .as_array()
            .is_some_and(|days| !days.is_empty())
    );
    header["days"].clone()
}

fn is_incomplete(at: &Path) -> bool {
    fs::read_to_string(at.join("run/run.json")).is_ok_and(|text| text.contains("\"incomplete\""))
}

/// How many kills a test tries; 50 in all. `FSAGE_KILLS` asks for more.
fn moments(default: u32) -> u32 {
    let asked = std::env::var("FSAGE_KILLS").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn killed_in_a_directory() {
    let folder = quick_folder();
    let at = folder.path();
    real::churn(&at.join("w.ops"), 2_000, 30_000);
    fs::create_dir(at.join("target")).expect("a folder");
    killed_and_resumed(at, "dir:target", moments(30), || {
        fs::remove_dir_all(at.join("target")).expect("the tree goes");
        fs::create_dir(at.join("target")).expect("a folder");
    });
}

#[test]
fn killed_on_images() {
    for (name, size) in [("ext4", 96), ("btrfs", 128)] {
        if let Err(why) = RealFs::usable(name) {
            skip("killed_on_images", &why);
            continue;
        }
        let folder = quick_folder();
        real::churn(&folder.path().join("w.ops"), 1_500, 30_000);
        let spec = format!("loop:{name},size={size}M");
        killed_and_resumed(folder.path(), &spec, moments(10), || ());
    }
}

/// The same where directories move all the time, and what is made in them with them.
#[test]
fn killed_amid_moves() {
    let folder = quick_folder();
    let at = folder.path();
    let mut script = String::from("mkdir 1\nmkdir 2 1\nmkdir 3\nday 0\n");
    for step in 0..3_000 {
        if step % 5 == 0 {
            let to = if step % 10 == 0 { 3 } else { 0 };
            let _ = writeln!(script, "renamedir 1 {to} \"n{step}\"");
        }
        let _ = writeln!(script, "create {step} 2 {}", step % 700);
        if step % 7 == 6 {
            let _ = writeln!(script, "rename {} 3\ndelete {}", step - 3, step - 5);
        }
        if step % 500 == 499 {
            let _ = writeln!(script, "day {step}");
        }
    }
    fs::write(at.join("w.ops"), script).expect("a script");
    fs::create_dir(at.join("target")).expect("a folder");
    killed_and_resumed(at, "dir:target", moments(12), || {
        fs::remove_dir_all(at.join("target")).expect("the tree goes");
        fs::create_dir(at.join("target")).expect("a folder");
    });
}

/// A run that dies when all is replayed, and its last day was not ended by a `day`, ends when it is resumed.
#[test]
fn killed_while_it_ends() {
    if let Err(why) = RealFs::usable("ext4") {
        return skip("killed_while_it_ends", &why);
    }
    let folder = quick_folder();
    let at = folder.path();
    real::churn(&at.join("w.ops"), 3_000, 20_000);
    let mut script = fs::read_to_string(at.join("w.ops")).expect("a script");
    script.push_str("create 9000000 1 5000\n");
    fs::write(at.join("w.ops"), script).expect("a script");
    let two = ["loop:ext4,size=64M", "loop:ext2,size=64M"];
    let age = ["age", "w.ops", "--on", two[0], "--on", two[1], "-o", "run"];
    let mut child = spawn(at, &age);
    // The first target is done, or nearly so; the second is not.
    let done = at.join("run/loop_ext4,size=64M/control.parquet");
    let waited = Instant::now();
    while !done.exists() && child.try_wait().expect("it can be asked").is_none() {
        assert!(
            waited.elapsed() < Duration::from_secs(120),
            "it did not end"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    if is_incomplete(at) {
        fsage(at, &[&age[..], &["--resume"]].concat());
    }
    fsage(at, &["verify", "run"]);
    let run = real::fsage_json(at, &["measure", "run", "--json"]);
    let days = |target: usize| {
        run["targets"][target]["days"]
            .as_array()
            .expect("days")
            .len()
    };
    assert_eq!((days(0), days(1)), (31, 31));
}

/// Ctrl-C leaves a run that can be resumed, and says how; a model's run ends with the same bytes.
#[test]
fn interrupted_and_resumed() {
    let folder = quick_folder();
    let at = folder.path();
    real::churn(&at.join("w.ops"), 40_000, 4_000);
    fs::create_dir(at.join("target")).expect("a folder");
    let mut child = spawn(
        at,
        &[
            "age",
            "w.ops",
            "--on",
            "dir:target",
            "--on",
            "ffs",
            "-o",
            "run",
        ],
    );
    let waited = Instant::now();
    while fs::read_dir(at.join("target"))
        .expect("a folder")
        .next()
        .is_none()
    {
        assert!(
            waited.elapsed() < Duration::from_secs(60),
            "nothing was made"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupted.expect("kill runs").success());
    assert!(!child.wait().expect("it ends").success());
    assert!(is_incomplete(at));
    let again = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args([
            "age",
            "w.ops",
            "--on",
            "dir:target",
            "--on",
            "ffs",
            "-o",
            "run",
        ])
        .current_dir(at)
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&again.stderr).contains("--resume"));
    fsage(
        at,
        &[
            "age",
            "w.ops",
            "--on",
            "dir:target",
            "--on",
            "ffs",
            "-o",
            "run",
            "--resume",
        ],
    );
    fsage(at, &["verify", "run"]);
    fsage(at, &["age", "w.ops", "--on", "ffs", "-o", "whole"]);
    for table in ["days.parquet", "final.parquet", "final.free.parquet"] {
        let read = |run: &str| fs::read(at.join(run).join("ffs").join(table)).expect("a table");
        assert_eq!(read("run"), read("whole"), "{table}");
    }
}

/// A file deleted underneath is named; resuming makes it again.
#[test]
fn a_file_deleted_underneath_is_made_again() {
    let folder = quick_folder();
    let at = folder.path();
    fs::create_dir(at.join("target")).expect("a folder");
    let mut script = String::from("mkdir 1\n");
    for file in 0..20_000 {
        let _ = writeln!(script, "create {file} 1 5000");
        if file % 200 == 0 {
            script.push_str("day 1\nappend 0 10\n");
        }
    }
    fs::write(at.join("w.ops"), script).expect("a script");
    let child = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(["age", "w.ops", "--on", "dir:target", "-o", "run"])
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("fsage starts");
    let waited = Instant::now();
    while fs::remove_file(at.join("target/d1/f0")).is_err() {
        assert!(
            waited.elapsed() < Duration::from_secs(60),
            "nothing was made"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = child.wait_with_output().expect("it ends");
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success(), "{message}");
    assert!(
        message.contains("d1/f0") && message.contains("--resume"),
        "{message}"
    );
    fsage(
        at,
        &[
            "age",
            "w.ops",
            "--on",
            "dir:target",
            "-o",
            "run",
            "--resume",
        ],
    );
    fsage(at, &["verify", "run"]);
}
