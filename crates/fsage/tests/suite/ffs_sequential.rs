//! Fidelity: the sequential benchmark of Smith and Seltzer on the aged file system of `l01_502_200k`.
//!
//! For each file size 32 MB of new files are made, 25 a directory, scored, and removed again. Expected scores:
//! what the original 4.4BSD code gave for the same procedure (specification of the original, section 21.2).

use flate2::read::GzDecoder;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

const SIZES_KB: [u64; 27] = [
    16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 128, 160, 192, 256, 512, 1024, 4096,
    16384, 32768, 12, 20, 28, 36, 44,
];

/// Size in KB, then the scores of orig, realloc, noswitch, noswitch-seq, smartfrag.
const EXPECTED: [(u64, [&str; 5]); 19] = [
    (
        16,
        ["0.534180", "1.000000", "1.000000", "1.000000", "1.000000"],
    ),
    (
        32,
        ["0.520508", "1.000000", "1.000000", "1.000000", "1.000000"],
    ),
    (
        56,
        ["0.527920", "1.000000", "1.000000", "1.000000", "1.000000"],
    ),
    (
        64,
        ["0.554129", "0.991071", "0.984375", "0.986886", "0.987165"],
    ),
    (
        72,
        ["0.556868", "0.982143", "0.974725", "0.976648", "0.973901"],
    ),
    (
        80,
        ["0.565064", "0.977180", "0.970932", "0.972833", "0.970388"],
    ),
    (
        88,
        ["0.566935", "0.968817", "0.965054", "0.970161", "0.966667"],
    ),
    (
        96,
        ["0.548121", "0.967209", "0.964276", "0.964809", "0.962943"],
    ),
    (
        104,
        ["0.529365", "0.906614", "0.915079", "0.916667", "0.904233"],
    ),
    (
        112,
        ["0.519494", "0.913330", "0.921760", "0.923077", "0.910169"],
    ),
    (
        128,
        ["0.534896", "0.921354", "0.923698", "0.927083", "0.915885"],
    ),
    (
        256,
        ["0.576865", "0.932712", "0.938004", "0.936744", "0.930948"],
    ),
    (
        1024,
        ["0.574803", "0.933071", "0.943406", "0.941929", "0.932087"],
    ),
    (24, ["", "1.000000", "", "", ""]),
    (40, ["", "1.000000", "", "", ""]),
    (
        12,
        ["0.205861", "0.162637", "0.175092", "0.173260", "0.571795"],
    ),
    (
        20,
        ["0.327228", "0.583333", "0.580586", "0.584249", "0.844933"],
    ),
    (
        28,
        ["0.373789", "0.712821", "0.709117", "0.713675", "0.926781"],
    ),
    (
        44,
        ["0.416667", "0.812634", "0.811559", "0.813441", "0.967742"],
    ),
];

const POLICIES: [&str; 5] = ["orig", "realloc", "noswitch", "noswitch-seq", "smartfrag"];

/// The benchmark as a script: ids far above those of the aging script.
fn benchmark() -> String {
    let mut script = String::new();
    let (mut next_file, mut next_dir) = (10_000_000_u64, 10_000_000_u64);
    for kb in SIZES_KB {
        let n = (32_768 / kb).max(1);
        let (first_file, first_dir) = (next_file, next_dir);
        for i in 0..n {
            if i % 25 == 0 {
                let _ = writeln!(script, "mkdir {next_dir}");
                next_dir += 1;
            }
            let _ = writeln!(script, "create {next_file} {} {}", next_dir - 1, kb * 1024);
            next_file += 1;
        }
        let _ = writeln!(script, "layout {first_file} {}", next_file - 1);
        for file in first_file..next_file {
            let _ = writeln!(script, "delete {file}");
        }
        for dir in first_dir..next_dir {
            let _ = writeln!(script, "rmdir {dir}");
        }
    }
    script
}

#[test]
fn new_files_on_the_aged_disk_score_as_the_original_scored_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let aging = root.join("../shared/vectors/ffs/l01_502_200k.ops.gz");
    let Ok(aging) = File::open(aging) else {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no vectors beside the project, so there is no aged disk to test on"
        );
        return;
    };
    let mut script = String::new();
    GzDecoder::new(aging)
        .read_to_string(&mut script)
        .expect("the aging script");
    script.push_str(&benchmark());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("sequential.ops");
    fs::write(&path, script).expect("the script is written");

    std::thread::scope(|scope| {
        for (column, policy) in POLICIES.iter().enumerate() {
            let path = &path;
            scope.spawn(move || check_policy(path, policy, column));
        }
    });
}

fn check_policy(script: &Path, policy: &str, column: usize) {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args([
            "age",
            "--trace",
            "--on",
            &format!("ffs:preset=g502,policy={policy}"),
        ])
        .arg(script)
        .output()
        .expect("fsage runs");
    assert!(run.status.success());
    let output = String::from_utf8(run.stdout).expect("text");
    let scores: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("layout "))
        .map(|line| line.split(' ').nth(6).expect("the score"))
        .collect();
    assert_eq!(scores.len(), SIZES_KB.len());
    for (kb, expected) in EXPECTED {
        let at = SIZES_KB
            .iter()
            .position(|&size| size == kb)
            .expect("a size");
        if !expected[column].is_empty() {
            assert_eq!(scores[at], expected[column], "{policy}, {kb} KB");
        }
    }
}
