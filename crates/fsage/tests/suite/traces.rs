//! Traces through the program: the workload replays strictly, and the pool has the published rows.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fsage(folder: &Path, args: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("fsage runs");
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{args:?}: {message}");
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn strace_samples_replay_and_their_pools_have_the_published_rows() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/strace");
    let Ok(rows) = fs::read_to_string(data.join("profiles.csv")) else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            data.display()
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for source in ["pip", "gitcheckout"] {
        let log = data.join(format!("{source}.strace.zst"));
        let log = log.to_string_lossy();
        let (pool, workload) = (format!("{source}.csv"), format!("{source}.parquet"));
        let common = ["--window", "trace", "--profiles", &pool, "-o", &workload];
        fsage(
            folder.path(),
            &[&["generate", "strace", &log][..], &common].concat(),
        );
        let found = fs::read_to_string(folder.path().join(&pool)).expect("a pool");
        let found: Vec<&str> = found.lines().skip(1).collect();
        let prefix = format!("{source},");
        let expected: Vec<&str> = rows.lines().filter(|r| r.starts_with(&prefix)).collect();
        assert_eq!(found, expected);
        // A state error would stop it.
        fsage(
            folder.path(),
            &["age", &workload, "--on", "ffs:preset=g1024", "-o", source],
        );
    }
}
