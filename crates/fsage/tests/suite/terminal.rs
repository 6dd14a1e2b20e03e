//! Whatever becomes of the terminal, fsage does not panic: a stream that is closed, full or has no reader. What could
//! not be printed on standard output is an error of the machine; nothing depends on standard error.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// A shell, in which both streams are what a redirection makes of them.
fn status(folder: &Path, args: &str, redirection: &str) -> i32 {
    let script = format!("exec \"$FSAGE\" {args} {redirection}");
    let run = Command::new("bash")
        .args(["-c", &script])
        .env("FSAGE", env!("CARGO_BIN_EXE_fsage"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("bash runs");
    run.code().unwrap_or(-1)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workload = "mkdir 1\ncreate 1 1 9000\nday 0\ncreate 2 1 5000\nday 1\n";
    fs::write(folder.path().join("w.ops"), workload).expect("a file");
    fs::write(folder.path().join("bad.ops"), "creat 1 1 5\n").expect("a file");
    let toml = "targets = [\"ffs:preset=tiny\"]\n[[workload]]\nfile = \"w.ops\"\n";
    fs::write(folder.path().join("e.toml"), toml).expect("a file");
    assert_eq!(
        status(folder.path(), "age w.ops --on ffs:preset=tiny -o run", ""),
        0
    );
    folder
}

/// Verbs that print results, each with its status where all is well.
const PRINTS: [&str; 22] = [
    "--help",
    "--version",
    "age --help",
    "age w.ops --on ffs:preset=tiny -o new --force",
    "measure run",
    "measure run --json",
    "inspect w.ops",
    "inspect w.ops --json",
    "inspect run/ffs_preset-tiny/final.parquet",
    "diff run/ffs_preset-tiny/final.parquet run/ffs_preset-tiny/final.parquet",
    "generate profile --list",
    "generate profile --list --json",
    "generate profile --show home-1996",
    "convert w.ops -",
    "run --list",
    "run --show policies",
    "run e.toml --dry-run",
    "run e.toml -o exp",
    "device list",
    "device show st32430n",
    "completions bash",
    "verify-method --help",
];

#[test]
fn a_result_that_cannot_be_printed_is_an_error_of_the_machine() {
    let folder = folder();
    for args in PRINTS {
        assert_eq!(status(folder.path(), args, ""), 0, "{args}");
        assert_eq!(status(folder.path(), args, ">/dev/full"), 3, "{args}");
        assert_eq!(status(folder.path(), args, ">/dev/full 2>&1"), 3, "{args}");
        assert_eq!(status(folder.path(), args, ">/dev/full 2>&-"), 3, "{args}");
    }
}

#[test]
fn a_reader_that_went_away_and_a_stream_that_was_closed_are_no_errors() {
    let folder = folder();
    for args in PRINTS {
        // `true` reads nothing.
        let script = format!("set -o pipefail; \"$FSAGE\" {args} | true");
        let run = Command::new("bash")
            .args(["-c", &script])
            .env("FSAGE", env!("CARGO_BIN_EXE_fsage"))
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status()
            .expect("bash runs");
        assert_eq!(run.code(), Some(0), "{args}");
        // The system opens /dev/null in place of a stream that is closed.
        assert_eq!(status(folder.path(), args, ">&-"), 0, "{args}");
        assert_eq!(status(folder.path(), args, "<&- >&- 2>&-"), 0, "{args}");
    }
}

#[test]
fn what_becomes_of_standard_error_changes_no_status() {
    let folder = folder();
    let fails = [
        ("age bad.ops --on ffs:preset=tiny -o no", 2),
        ("measure nowhere", 2),
        ("measure --no-such-option", 2),
        ("no-such-verb", 2),
        ("", 2),
    ];
    let all = PRINTS.iter().map(|&args| (args, 0)).chain(fails);
    for (args, expected) in all.chain([("report run", 0)]) {
        for redirection in ["2>/dev/full", "2>&-", "2> >(true)"] {
            let found = status(folder.path(), args, redirection);
            assert_eq!(found, expected, "{args} {redirection}");
        }
    }
}

/// A manifest, a device and a name of a file may hold what moves the cursor, or worse.
#[test]
fn no_control_character_of_a_file_reaches_the_terminal() {
    let folder = folder();
    let esc = "\u{1b}]0;owned\u{7}\u{9b}2J";
    let json = fs::read_to_string(folder.path().join("run/run.json")).expect("a manifest");
    let spec = "ffs:preset=tiny";
    let escaped = "ffs:preset=tiny\\u001b]0;owned\\u0007\\u009b2J";
    let json = json.replace(&format!("\"{spec}\""), &format!("\"{escaped}\""));
    fs::write(folder.path().join("run/run.json"), json).expect("a manifest");
    fs::write(folder.path().join("d.toml"), format!("name = '{esc}'\n")).expect("a file");
    fs::write(folder.path().join("x.ops"), format!("{esc} 1 2\n")).expect("a file");
    fs::write(folder.path().join(format!("{esc}.ops")), "day 0\n").expect("a file");
    let toml = format!("targets = [\"{escaped}\"]\n[[workload]]\nfile = \"w.ops\"\n");
    fs::write(folder.path().join("x.toml"), toml).expect("a file");
    let name = format!("{esc}.ops");
    for args in [
        vec!["measure", "run"],
        vec!["measure", "run", "--json"],
        vec!["bench", "run"],
        vec!["check", "run", "--rules", "limits"],
        vec!["device", "show", "d.toml"],
        vec!["inspect", "x.ops"],
        vec!["inspect", &name],
        vec!["inspect", &name, "--json"],
        vec!["run", "x.toml", "--dry-run"],
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(&args)
            .current_dir(folder.path())
            .output()
            .expect("fsage runs");
        for stream in [&out.stdout, &out.stderr] {
            let text = String::from_utf8_lossy(stream);
            let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            assert!(!text.contains(control), "{args:?}: {text:?}");
        }
        assert_ne!(out.status.code(), Some(101), "{args:?}");
    }
    // The error of a plain file names what is wrong with it, readable.
    let out = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(["inspect", "x.ops"])
        .current_dir(folder.path())
        .stdout(File::create(folder.path().join("out")).expect("a file"))
        .output()
        .expect("fsage runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("owned"), "{said}");
}
