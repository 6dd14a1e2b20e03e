//! Fidelity of parameters that no recorded output uses: the last day's layout score of `l01_502_200k` under
//! changed parameters. Expected: what the original 4.4BSD code gave (specification of the original, section 22).

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

const EXPECTED: [(&str, &str); 11] = [
    ("policy=orig", "0.4829"),
    ("policy=orig,nrpos=1", "0.5731"),
    ("policy=realloc", "0.8121"),
    ("policy=realloc,nrpos=1", "0.8123"),
    ("policy=realloc,write_chunk=8K", "0.8140"),
    ("policy=realloc,write_chunk=4K", "0.8258"),
    ("policy=realloc,write_chunk=1K", "0.8308"),
    ("policy=realloc,keep_clusters", "0.8172"),
    ("policy=realloc,dirent_bytes=24", "0.8116"),
    ("policy=realloc,rotdelay=4", "0.7732"),
    ("policy=realloc,maxcontig=8", "0.8121"),
];

#[test]
fn changed_parameters_change_the_layout_as_in_the_original() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("../shared/vectors/ffs/l01_502_200k.ops.gz");
    if !script.is_file() {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(std::io::stderr(), "skipped: no vectors beside the project");
        return;
    }
    for (keys, expected) in EXPECTED {
        let run = Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(["age", "--trace", "--on", &format!("ffs:preset=g502,{keys}")])
            .arg(&script)
            .output()
            .expect("fsage runs");
        assert!(run.status.success());
        let output = String::from_utf8(run.stdout).expect("text");
        let last = output
            .lines()
            .rfind(|line| line.starts_with("day "))
            .expect("a last day");
        let layout: f64 = last
            .split(' ')
            .nth(7)
            .expect("a score")
            .parse()
            .expect("a number");
        assert_eq!(format!("{layout:.4}"), expected, "{keys}");
    }
}
