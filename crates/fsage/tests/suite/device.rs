//! `fsage device` as it is typed: request files go in, and what comes out can go in again.
//!
//! Expected times: DiskSim's, from the vectors of `fsage-disk`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fsage(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("fsage runs")
}

fn stdout(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fsage-disk/tests/vectors")
        .join(name)
        .canonicalize()
        .expect("a vector")
}

#[test]
fn replay_prints_what_disksim_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let vector = vector("st32430n.seqr64.txt");
    let vector = vector.to_str().expect("a path");
    let printed = stdout(&fsage(
        folder.path(),
        &["device", "replay", "st32430n", vector],
    ));
    let expected = fs::read_to_string(vector).expect("the vector");
    assert_eq!(printed.lines().count(), expected.lines().count());
    for (ours, theirs) in printed.lines().zip(expected.lines()).skip(2) {
        let ours: Vec<&str> = ours.split(' ').collect();
        let theirs: Vec<&str> = theirs.split(' ').collect();
        let ms = |text: &str| text.parse::<f64>().expect("a time");
        assert_eq!((ours.len(), ours[0], ours[3]), (14, theirs[0], theirs[3]));
        assert!((ms(ours[6]) - ms(theirs[6])).abs() < 0.005, "{ours:?}");
        let parts: f64 = ours[7..13].iter().map(|part| ms(part)).sum();
        assert!((parts - ms(ours[6])).abs() < 1e-5, "{ours:?}");
    }
    // What was printed is a vector again, and replays to itself.
    let first = folder.path().join("first.txt");
    fs::write(&first, &printed).expect("a file");
    let again = fsage(
        folder.path(),
        &["device", "replay", "st32430n", "first.txt"],
    );
    assert_eq!(stdout(&again), printed);
}

#[test]
fn a_list_without_answers_and_a_drive_of_ones_own_are_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let toml = fsage_disk::presets::toml_of("st32430n").expect("a preset");
    fs::write(folder.path().join("mine.toml"), toml).expect("a file");
    let list = "# mode=think\n# idx think_ms op lba nsect\n0 0 W 1313824 128\n1 0 W 1313952 128\n";
    fs::write(folder.path().join("list.txt"), list).expect("a file");
    let printed = fsage(
        folder.path(),
        &[
            "device",
            "replay",
            "mine.toml",
            "list.txt",
            "-o",
            "times.txt",
        ],
    );
    assert!(stdout(&printed).is_empty());
    let times = fs::read_to_string(folder.path().join("times.txt")).expect("the times");
    // The worked examples of the model: 30.93 and 55.27 ms.
    assert!(times.contains("W 1313824 128 30.9265"), "{times}");
    assert!(times.contains("W 1313952 128 55.269"), "{times}");
    let again = fsage(
        folder.path(),
        &[
            "device",
            "replay",
            "mine.toml",
            "list.txt",
            "-o",
            "times.txt",
        ],
    );
    assert_eq!(again.status.code(), Some(2));
    let sums = stdout(&fsage(
        folder.path(),
        &["device", "replay", "null", "list.txt", "--json"],
    ));
    assert!(sums.contains("\"written_bytes\": 131072"), "{sums}");
}

#[test]
fn bad_drives_and_requests_are_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let toml = fsage_disk::presets::toml_of("m2694").expect("a preset");
    let bad = toml.replace("sectors = 2109375", "sectors = 99999999");
    fs::write(folder.path().join("bad.toml"), bad).expect("a file");
    fs::write(
        folder.path().join("bad.txt"),
        "# mode=open\nissue_ms op lba nsect\n1 R x 1\n",
    )
    .expect("a file");
    let flash = "# mode=open\n# issue_ms op lba nsect\n";
    for (name, text) in [
        ("beyond.txt", format!("{flash}0 R 0 8\n1 W 7839812 8\n")),
        ("trim.txt", format!("{flash}0 T 7839816 1\n")),
        ("back.txt", format!("{flash}5 R 0 8\n4 R 0 8\n")),
        (
            "pre.txt",
            format!(
                "# mode=open\n#pre seq 7839000 1024 512\n{}0 R 0 8\n",
                "# issue_ms op lba nsect\n"
            ),
        ),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    for (args, words) in [
        (
            ["show", "bad.toml"].as_slice(),
            "bad.toml: partition.sectors: expected",
        ),
        (
            &["show", "nvme_tlc:size=1M"],
            "physical_bytes: expected a superblock at least, a block of each of the 32 dies",
        ),
        (
            &["replay", "emu24", "beyond.txt"],
            "beyond.txt: request 1: 8 sectors from 7839812 on are not on this drive of 7839816 sectors",
        ),
        (
            &["replay", "emu24", "trim.txt"],
            "trim.txt: request 0: 1 sectors from 7839816 on are not on this drive",
        ),
        (
            &["replay", "emu24", "back.txt"],
            "back.txt:4: issued before the request of the line before",
        ),
        (
            &["replay", "emu24", "pre.txt"],
            "pre.txt: preconditioning: 512 sectors from 7839512 on are not on this device",
        ),
        (
            &["show", "nvme_tlc:page_register=maybe"],
            "`page_register=maybe`: expected a whole number, true or false; found maybe",
        ),
        (
            &["show", "nvme_tlc:independent_planes=7"],
            "extensions.independent_planes: expected a divisor of the",
        ),
        (
            &["show", "nvme_tlc:size=100K"],
            "`size=100K`: expected 1M to 7T",
        ),
        (
            &["show", "nvme_tlc:gc_idle_ns=1"],
            "extensions.gc_idle_ns: expected gc_idle_free_superblocks beside it",
        ),
        (
            &["show", "nvme_tlc:read_ahead_bytes=7"],
            "extensions.read_ahead_bytes: expected a multiple of 4096, found 7",
        ),
        (&["show", "nothing"], "no drive is called nothing"),
        (&["show", "nothing.toml"], "nothing.toml"),
        (
            &["replay", "wren4", "bad.txt"],
            "bad.txt:3: expected a whole number, found x",
        ),
        (&["replay", "wren4", "none.txt"], "none.txt"),
        (
            &["replay", "wren4", "bad.txt", "--scheduler", "lifo"],
            "bad.txt:3",
        ),
    ] {
        let all: Vec<&str> = ["device"].iter().chain(args).copied().collect();
        let output = fsage(folder.path(), &all);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn list_and_show_say_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = stdout(&fsage(folder.path(), &["device", "list"]));
    assert!(
        list.contains("st32430n") && list.contains("atlas_III"),
        "{list}"
    );
    let shown = fsage(
        folder.path(),
        &["device", "show", "st32430n", "-o", "chart.svg"],
    );
    assert!(stdout(&shown).contains("average seek 10.99 ms"));
    let chart = fs::read_to_string(folder.path().join("chart.svg")).expect("the chart");
    assert!(chart.contains("distance, cylinders") && chart.ends_with("</svg>\n"));
    let facts = stdout(&fsage(
        folder.path(),
        &["device", "show", "wren4", "--json"],
    ));
    assert!(facts.contains("\"average_seek_ms\""));
}
