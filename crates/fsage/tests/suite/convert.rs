//! `fsage convert` on foreign formats, as a user runs it.

use fsage_core::snapshot::SnapshotRow;
use fsage_data::snapshot::{InodeReader, read_snapshot_table};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn fsage(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fsage"))
            .args(args)
            .current_dir(self.0.path())
            .output()
            .expect("fsage runs")
    }

    /// Runs `fsage convert`, which must be done, and gives its JSON.
    fn convert(&self, args: &[&str]) -> serde_json::Value {
        let args = [&["convert", "--json"], args].concat();
        let run = self.fsage(&args);
        let message = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{args:?}: {message}");
        serde_json::from_slice(&run.stdout).expect("JSON")
    }

    fn refused(&self, args: &[&str], words: &[&str]) {
        let run = self.fsage(&[&["convert"], args].concat());
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{args:?}: {message}");
        for word in words {
            assert!(
                message.contains(word),
                "{args:?}: no `{word}` in: {message}"
            );
        }
        assert!(!self.path("out.parquet").exists());
    }
}

fn vector(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/foreign");
    path.join(name).to_string_lossy().into_owned()
}

fn rows(path: &Path) -> Vec<(u32, SnapshotRow)> {
    let mut reader = InodeReader::open(path).expect("an inode table");
    std::iter::from_fn(|| reader.next_row().expect("a row")).collect()
}

#[test]
fn every_format_is_recognized_and_reported_on() {
    let folder = Folder::new();
    // Published with the samples: names, and inodes.
    let table = [
        ("find-printf.ext4.tsv0", "find", 310, 309),
        ("ext4.expected.tsv", "csv", 309, 309),
        ("synthetic-v4-variable.hash.anon", "fs-hasher", 17, 17),
        ("synthetic.gufi.trace", "gufi", 307, 307),
    ];
    for (name, format, read, written) in table {
        let report = folder.convert(&[&vector(name), "out.parquet", "--force"]);
        assert_eq!(report["format"], format);
        assert_eq!(report["summary"]["snapshots"], 1);
        assert_eq!(report["summary"]["rows_read"], read);
        assert_eq!(report["summary"]["rows_written"], written);
        assert_eq!(rows(&folder.path("out.parquet")).len(), written);
    }
}

#[test]
fn several_inputs_are_a_series_in_order_of_time() {
    let folder = Folder::new();
    let record = |ino: u32| format!("{ino}\tf\t0\t0\t1\t644\t0\t0\t5.0\t5.0\t./x\0");
    for (name, ino, time_s) in [("b", 1, 2000), ("a", 2, 3000), ("c", 3, 1000)] {
        fs::write(folder.path(name), record(ino)).expect("a file");
        let file = fs::File::options().write(true).open(folder.path(name));
        let time = UNIX_EPOCH + Duration::from_secs(time_s);
        file.and_then(|f| f.set_modified(time)).expect("a file");
    }
    let report = folder.convert(&["a", "b", "c", "out.parquet", "--form", "delta"]);
    assert_eq!(report["inputs"], serde_json::json!(["c", "b", "a"]));
    assert_eq!(report["summary"]["tombstones"], 2);
    let infos = read_snapshot_table(folder.path("out.snapshots.parquet")).expect("a table");
    let times: Vec<i64> = infos
        .iter()
        .map(|i| i.taken_at_ns / 1_000_000_000)
        .collect();
    assert_eq!(times, [1000, 2000, 3000]);

    folder.convert(&["a", "one.parquet", "--taken-at", "77.5"]);
    let infos = read_snapshot_table(folder.path("one.snapshots.parquet")).expect("a table");
    assert_eq!(infos[0].taken_at_ns, 77_500_000_000);
}

#[test]
fn what_cannot_be_converted_is_refused_with_what_to_do() {
    let folder = Folder::new();
    fs::write(folder.path("letter"), "dear reader\n").expect("a file");
    folder.refused(
        &["letter", "out.parquet"],
        &["none of the formats", "find", "csv", "gufi", "--from"],
    );
    let (find, hasher) = (
        vector("find-printf.ext4.tsv0"),
        vector("synthetic-v5-fixed.hash.anon"),
    );
    folder.refused(
        &[&find, &hasher, "out.parquet"],
        &["format fs-hasher", "find", "one by one"],
    );
    folder.refused(
        &[&hasher, "out.parquet", "--taken-at", "5"],
        &["--taken-at"],
    );
    folder.refused(
        &[&find, &find, "out.parquet", "--taken-at", "5"],
        &["--taken-at"],
    );
    folder.refused(
        &[&find, "out.parquet", "--taken-at", "noon"],
        &["seconds since 1970"],
    );
    folder.refused(&[&find, "out.parquet", "--from", "csv"], &["inode"]);
    folder.refused(&[&find, "-"], &["name a file"]);
    let whole = fs::read(&hasher).expect("a sample");
    fs::write(folder.path("cut.hash.anon"), &whole[..whole.len() * 3 / 4]).expect("a file");
    folder.refused(
        &["cut.hash.anon", "out.parquet"],
        &["cut.hash.anon", "cut short: it ends within record"],
    );
    fs::write(folder.path("there.parquet"), "").expect("a file");
    folder.refused(&[&find, "there.parquet"], &["there.parquet", "--force"]);
}

#[test]
fn unknown_columns_are_ignored_with_one_warning() {
    let folder = Folder::new();
    let text = "inode,type,size,ctime,color,shape\n1,f,2,3,red,round\n2,f,2,3,red,round\n";
    fs::write(folder.path("t.csv"), text).expect("a file");
    let run = folder.fsage(&["convert", "t.csv", "out.parquet"]);
    assert!(run.status.success());
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(message.matches("warning").count(), 1, "{message}");
    assert!(message.contains("\"color\", \"shape\""), "{message}");
}

#[test]
fn playback_comes_in_by_two_ways_and_goes_out() {
    let folder = Folder::new();
    let sample = vector("playback_sample.txt");
    let report = folder.convert(&[&sample, "a.ops"]);
    assert_eq!(report["summary"]["messages"], 1);
    assert_eq!(report["summary"]["deletes_of_unknown"], 1);
    let made = folder.fsage(&["generate", "playback", &sample, "-o", "b.ops"]);
    assert!(made.status.success());
    let [a, b] =
        ["a.ops", "b.ops"].map(|name| fs::read_to_string(folder.path(name)).expect("text"));
    assert_eq!(a, b);
    let lines = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|l| !l.starts_with("#! generator") && !l.starts_with("#! source"));
        lines.map(|l| l.replace(" origin=trace", "")).collect()
    };
    let expected = fs::read_to_string(vector("playback_sample.expected.ops")).expect("a vector");
    assert_eq!(lines(&a), lines(&expected));

    let report = folder.convert(&["a.ops", "a.playback"]);
    assert_eq!(report["left_out"]["mkdir"], 26);
    let out = folder.fsage(&["convert", "a.ops", "-", "--to", "playback"]);
    let text = fs::read(folder.path("a.playback")).expect("text");
    assert_eq!(out.stdout, text);
    folder.refused(
        &["a.ops", "out.playback", "--groups", "2"],
        &["a.ops", "group 2 is not one of 2", "--groups"],
    );
    let few = [
        "a.playback",
        "out.parquet",
        "--groups",
        "2",
        "--inodes-per-group",
        "100",
    ];
    folder.refused(
        &few,
        &[
            "a.playback:2",
            "2 groups of 100 inodes",
            "--inodes-per-group",
        ],
    );
}

/// 2,647 nights of a real ext4: the series in text must become the rows that its own table has.
#[test]
fn a_real_series_of_text_becomes_exactly_the_rows_of_its_table() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/snapshots");
    let series = shared.join("redis.commit.series.csv.zst");
    if !series.exists() {
        // Straight to stderr, which the test runner does not capture.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            series.display()
        );
        return;
    }
    let folder = Folder::new();
    let report = folder.convert(&[&series.to_string_lossy(), "out.parquet"]);
    assert_eq!(report["summary"]["rows_written"], 2_339_884);
    assert!(
        report["found"]
            .as_object()
            .expect("counts")
            .values()
            .all(|n| n == 0)
    );
    assert!(
        report["repairs"]
            .as_object()
            .expect("counts")
            .values()
            .all(|n| n == 0)
    );
    let mut ours = InodeReader::open(folder.path("out.parquet")).expect("ours");
    let mut theirs = InodeReader::open(shared.join("redis.commit.full.parquet")).expect("theirs");
    let mut rows = 0;
    loop {
        let (a, b) = (
            ours.next_row().expect("a row"),
            theirs.next_row().expect("a row"),
        );
        assert_eq!(a, b, "row {rows}");
        if a.is_none() {
            break;
        }
        rows += 1;
    }
    assert_eq!(rows, 2_339_884);
    let ours = read_snapshot_table(folder.path("out.snapshots.parquet")).expect("ours");
    let theirs =
        read_snapshot_table(shared.join("redis.commit.snapshots.parquet")).expect("theirs");
    let times = |infos: Vec<fsage_core::snapshot::SnapshotInfo>| -> Vec<(u32, i64)> {
        infos.iter().map(|i| (i.snap_id, i.taken_at_ns)).collect()
    };
    assert_eq!(times(ours), times(theirs));
}
