//! Fidelity: `fsage age SCRIPT --on ffs:... --trace` prints, byte for byte, what the original 4.4BSD code did.
//!
//! Expected output: the original's, recorded in `tests/vectors/ffs` (small scripts, part of the project) and in
//! `../shared/vectors/ffs` beside the project (all of them), where that folder is present.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODES: [(&str, &str); 5] = [
    ("orig", "orig"),
    ("realloc", "realloc"),
    ("noswitch", "noswitch"),
    ("noswitchseq", "noswitch-seq"),
    ("smartfrag", "smartfrag"),
];

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The keys of a target for the options of a `.cfg` file.
fn target(config: &str) -> String {
    let mut target = String::from("ffs:");
    let mut words = config.split_whitespace();
    while let Some(option) = words.next() {
        if option == "--root" {
            target.push_str("root,");
            continue;
        }
        let value = words.next().expect("an option has a value");
        let key = match option {
            "-g" => "preset",
            "-n" => "nrpos",
            "-i" => "bytes_per_inode",
            "-o" => "optim",
            "--dirent" => "dirent_bytes",
            "-w" => "write_chunk",
            "-b" => "bsize",
            "-f" => "fsize",
            "-a" => "maxcontig",
            _ => panic!("unknown option {option} in a .cfg file"),
        };
        target.extend([key, "=", value, ","]);
    }
    target
}

/// Runs every vector of a folder under every policy; gives the number of outputs compared.
fn compare_all(vectors: &Path, wanted: impl Fn(&str) -> bool) -> usize {
    let mut compared = 0;
    let mut names: Vec<String> = fs::read_dir(vectors)
        .expect("the folder of vectors")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter_map(|name| name.strip_suffix(".cfg").map(str::to_owned))
        .filter(|name| wanted(name))
        .collect();
    names.sort();
    for name in names {
        let config = fs::read_to_string(vectors.join(format!("{name}.cfg"))).expect("a .cfg");
        let script = ["ops", "ops.gz"]
            .map(|extension| vectors.join(format!("{name}.{extension}")))
            .into_iter()
            .find(|path| path.exists())
            .unwrap_or_else(|| panic!("no script for {name}"));
        for (mode, policy) in MODES {
            let Ok(expected) = fs::read(vectors.join(format!("{name}.{mode}.out"))) else {
                continue;
            };
            let target = format!("{}policy={policy}", target(&config));
            let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
                .args(["age", "--trace", "--on", &target])
                .arg(&script)
                .output()
                .expect("fsage runs");
            assert!(
                run.status.success(),
                "{name} {mode}: {}",
                String::from_utf8_lossy(&run.stderr)
            );
            assert_same(&format!("{name} {mode}"), &run.stdout, &expected);
            compared += 1;
        }
    }
    compared
}

fn assert_same(what: &str, got: &[u8], expected: &[u8]) {
    if got == expected {
        return;
    }
    let (got, expected) = (
        String::from_utf8_lossy(got),
        String::from_utf8_lossy(expected),
    );
    let mut lines = got.lines().zip(expected.lines()).enumerate();
    match lines.find(|(_, (g, e))| g != e) {
        Some((i, (g, e))) => panic!("{what}: line {} differs\n  got {g}\n want {e}", i + 1),
        None => panic!("{what}: {} bytes, want {}", got.len(), expected.len()),
    }
}

#[test]
fn small_scripts_give_the_originals_output() {
    assert_eq!(compare_all(&folder("tests/vectors/ffs"), |_| true), 13 * 5);
}

/// Runs those vectors beside the project whose names begin so.
fn compare_shared(prefix: &str, outputs: usize) {
    let vectors = folder("../shared/vectors/ffs");
    if vectors.is_dir() {
        assert_eq!(
            compare_all(&vectors, |name| name.starts_with(prefix)),
            outputs
        );
    } else {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no vectors beside the project; the small ones run from tests/vectors"
        );
    }
}

#[test]
fn all_short_vectors_give_the_originals_output() {
    compare_shared("t", 10 * 5);
    compare_shared("s", 4 * 5);
    compare_shared("m", 5);
}

#[test]
fn l01_gives_the_originals_output() {
    compare_shared("l01", 5);
}

#[test]
fn l04_gives_the_originals_output() {
    compare_shared("l04", 5);
}

#[test]
fn l06_gives_the_originals_output() {
    compare_shared("l06", 5);
}

#[test]
fn the_check_finds_nothing_on_any_day_of_the_large_scripts() {
    let vectors = folder("../shared/vectors/ffs");
    let into = tempfile::tempdir().expect("a temporary folder");
    for (name, config) in [
        ("m01_32MB", "ffs:preset=small,bytes_per_inode=4096"),
        ("l01_502_200k", "ffs:preset=g502"),
        ("l04_1024_200k", "ffs:preset=g1024,nrpos=1"),
        ("l06_1024_dirent", "ffs:preset=g1024,dirent_bytes=24"),
    ] {
        let script = vectors.join(format!("{name}.ops.gz"));
        if !script.is_file() {
            // Straight to stderr, which the test runner does not capture.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: {name} is not beside the project"
            );
            continue;
        }
        let mut age = Command::new(env!("CARGO_BIN_EXE_fsage"));
        age.arg("age");
        for (_, policy) in MODES {
            age.args(["--on", &format!("{config},policy={policy}")]);
        }
        let run = age
            .args(["--check", "--quiet", "-o"])
            .arg(into.path().join(name))
            .arg(&script)
            .output()
            .expect("fsage runs");
        assert!(
            run.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
}
