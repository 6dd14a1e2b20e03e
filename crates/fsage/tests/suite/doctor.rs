//! `fsage doctor` as root and as nobody: an answer, the right status, and nothing left behind.

use crate::real::attached_below;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Runs a command in `folder`, with a temporary folder of its own below it, which must be empty afterwards.
fn run(mut command: Command, folder: &Path, args: &str) -> Output {
    let temp = folder.join("temp");
    let output = command
        .arg("doctor")
        .args(args.split_whitespace())
        .current_dir(folder)
        .env("TMPDIR", &temp)
        .output()
        .expect("doctor runs");
    let left = fs::read_dir(&temp).expect("a folder").count();
    assert_eq!(left, 0, "something is left in the temporary folder");
    assert_eq!(attached_below(folder), Vec::<String>::new());
    output
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let temp = folder.path().join("temp");
    fs::create_dir(&temp).expect("a folder");
    for path in [folder.path(), &temp] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("permissions");
    }
    folder
}

fn fsage() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
}

/// Whether the check of this name says that it works.
fn works(checks: &Value, name: &str) -> Option<bool> {
    let check = checks
        .as_array()?
        .iter()
        .find(|check| check["name"] == name)?;
    check["works"].as_bool()
}

#[test]
fn every_check_has_an_answer_and_what_fails_has_a_next_step() {
    let folder = folder();
    let output = run(fsage(), folder.path(), "--json");
    assert!(output.status.success());
    let checks: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for name in [
        "root", "loop", "mount", "ext4", "xfs", "btrfs", "fiemap", "git", "memory",
    ] {
        assert!(works(&checks, name).is_some(), "{name}");
    }
    let names = checks
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| check["name"].as_str());
    let different: BTreeSet<_> = names.clone().collect();
    assert_eq!(different.len(), names.count(), "names are different");
    for check in checks.as_array().expect("checks") {
        assert!(
            !check["found"].as_str().expect("text").is_empty(),
            "{check}"
        );
        assert_ne!(
            check["works"].as_bool().expect("an answer"),
            check["next"].is_string()
        );
    }
    if is_root() && works(&checks, "loop") == Some(true) {
        // The kernel's own list says which types there are.
        let kernel = fs::read_to_string("/proc/filesystems").expect("a list");
        for name in ["f2fs", "nilfs2"] {
            if !kernel.contains(name) {
                assert_eq!(works(&checks, name), Some(false), "{name}");
            }
        }
    }
}

#[test]
fn a_need_decides_the_status() {
    let folder = folder();
    let output = run(fsage(), folder.path(), "--need cores");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.lines()
            .any(|line| line.trim_start().starts_with("cores ")),
        "{text}"
    );

    let output = run(fsage(), folder.path(), "--need warp-drive");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("warp-drive") && message.contains("known: root, loop"),
        "{message}"
    );
}

#[test]
fn without_root_it_says_what_is_needed() {
    if !is_root() || !Path::new("/usr/bin/setpriv").exists() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: needs root, to give it away, and setpriv"
        );
        return;
    }
    let folder = folder();
    // Where the tests are built may be out of reach for others.
    let program = folder.path().join("fsage");
    fs::copy(env!("CARGO_BIN_EXE_fsage"), &program).expect("a copy");
    let nobody = || {
        let mut command = Command::new("/usr/bin/setpriv");
        command
            .args([
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "--inh-caps=-all",
            ])
            .arg(&program);
        command
    };
    let output = run(
        nobody(),
        folder.path(),
        "--need loop --need mount --need cores",
    );
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("needed, and not there: loop, mount"),
        "{message}"
    );
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("run fsage with sudo"), "{text}");
}

/// As the loader of shared libraries ends it.
#[test]
fn a_program_that_cannot_start_is_no_program() {
    let folder = folder();
    let script =
        "#!/bin/sh\necho 'error while loading shared libraries: libx.so.1' >&2\nexit 127\n";
    for name in ["mkfs.btrfs", "strace"] {
        let path = folder.path().join(name);
        fs::write(&path, script).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let mut command = fsage();
    let path = std::env::var("PATH").expect("a PATH");
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    let output = run(command, folder.path(), "--json");
    let checks = serde_json::from_slice(&output.stdout).expect("JSON");
    for name in ["btrfs", "strace"] {
        assert_eq!(works(&checks, name), Some(false), "{checks}");
    }
    assert!(
        checks
            .to_string()
            .contains("cannot start: error while loading")
    );
}
