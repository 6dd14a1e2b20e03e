//! The nightly snapshots of a real ext4 on which a known history was replayed: what a workload made from them gets
//! right. Expected values: the truth that was recorded with the snapshots.

use flate2::read::GzDecoder;
use fsage_core::identity::Identity;
use fsage_core::snapshot::SnapshotRow;
use fsage_core::{DirId, Event, FileId, FileKind, Op};
use fsage_data::snapshot::{InodeReader, open_snapshots};
use fsage_workload::from_snapshots::{
    DeleteTimes, FromSnapshots, FromSnapshotsSummary, Growth, Options,
};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

fn data() -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/snapshots");
    if data.is_dir() {
        return Some(data);
    }
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {} is not there, so the snapshots of a real ext4 are not tried",
        data.display()
    );
    None
}

fn generate(data: &Path, options: Options) -> (Vec<Event>, FromSnapshotsSummary) {
    let path = data.join("redis.commit.delta.parquet");
    let mut source = open_snapshots(&[path]).expect("a series");
    let generator = FromSnapshots::begin(source.as_mut(), options, None).expect("a snapshot");
    let mut events = Vec::new();
    let summary = generator.generate(source.as_mut(), &mut events, &mut |_| {});
    (events, summary.expect("a workload"))
}

/// Mean distance in hours of the deletions from their true times, and their number.
fn delete_error(data: &Path, rule: DeleteTimes) -> (f64, usize) {
    let mut truth: HashMap<(u64, u32), f64> = HashMap::new();
    let file = File::open(data.join("redis.commit.events.csv.gz")).expect("the truth");
    for line in BufReader::new(GzDecoder::new(file)).lines().skip(1) {
        let line = line.expect("text");
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<u64>().expect("a number");
        if fields[1] == "delete" {
            truth.insert((number(3), number(4) as u32), number(5) as f64);
        }
    }
    let (events, _) = generate(
        data,
        Options {
            delete_times: rule,
            ..Options::default()
        },
    );
    let errors: Vec<f64> = events
        .iter()
        .filter(|event| matches!(event.op, Op::Delete { .. }))
        .map(|event| {
            let inode = event.src_ino.zip(event.src_gen).expect("an inode");
            (event.t_ns.expect("a time") as f64 / 1e9 - truth[&inode]).abs() / 3600.0
        })
        .collect();
    assert_eq!(errors.len(), truth.len());
    (
        errors.iter().sum::<f64>() / errors.len() as f64,
        errors.len(),
    )
}

#[test]
fn the_evidence_dates_deletions_within_a_tenth_of_an_hour() {
    let Some(data) = data() else { return };
    let [smith96, smith97, reuse] = DeleteTimes::ALL.map(|rule| delete_error(&data, rule));
    assert_eq!(reuse.1, 714);
    assert!(reuse.0 < 0.1, "{} hours", reuse.0);
    assert!(reuse.0 < smith96.0 && reuse.0 < smith97.0);
}

#[test]
fn what_came_changed_and_went_is_the_truth() {
    let Some(data) = data() else { return };
    let (_, with) = generate(&data, Options::default());
    assert_eq!(
        (with.creates, with.deletes, with.modifies),
        (2227, 714, 17_405)
    );
    assert_eq!(with.guessed_same, 0);
    let options = Options {
        identity: Identity::Ino,
        ..Options::default()
    };
    let (_, without) = generate(&data, options);
    assert_eq!(
        (without.creates, without.deletes, without.modifies),
        (1881, 368, 17_751)
    );
    // Each of them might be a replacement: 346 are, and nobody can tell which.
    assert_eq!(without.guessed_same, 17_751);
}

/// Paths and sizes of the regular files of the last snapshot.
fn last_snapshot(data: &Path) -> BTreeMap<String, u64> {
    let mut reader = InodeReader::open(data.join("redis.commit.delta.parquet")).expect("a table");
    let mut inodes = HashMap::new();
    while let Some((_, row)) = reader.next_row().expect("a row") {
        let key = row.key();
        match row {
            SnapshotRow::Present(inode) => inodes.insert(key, inode),
            SnapshotRow::Gone { .. } => inodes.remove(&key),
        };
    }
    let files = inodes.into_values().filter(|i| i.kind == FileKind::Regular);
    files
        .map(|i| (i.path.expect("a path").into(), i.size_bytes))
        .collect()
}

/// Paths and sizes that events leave behind, by the plainest replay there is.
fn replay(events: &[Event]) -> BTreeMap<String, u64> {
    let mut dirs = HashMap::from([(DirId::ROOT, String::new())]);
    let mut files: HashMap<FileId, (String, u64)> = HashMap::new();
    for event in events {
        let path = |dirs: &HashMap<DirId, String>, dir: DirId| {
            let name = String::from_utf8(event.name.as_deref().expect("a name").to_vec());
            format!("{}/{}", dirs[&dir], name.expect("text"))
        };
        match event.op {
            Op::Mkdir { dir, parent } => {
                let path = path(&dirs, parent.expect("a parent"));
                assert_eq!(dirs.insert(dir, path), None);
            }
            Op::Create { file, dir, bytes } => {
                let path = path(&dirs, dir);
                assert_eq!(files.insert(file, (path, bytes)), None);
            }
            Op::Append { file, bytes } => files.get_mut(&file).expect("a file").1 += bytes,
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                files.get_mut(&file).expect("a file").1 = bytes;
            }
            Op::Overwrite { file, range: None } => assert!(files.contains_key(&file)),
            Op::Delete { file } => assert!(files.remove(&file).is_some()),
            Op::Day => {}
            ref other => panic!("{other:?} was not expected"),
        }
    }
    let count = files.len();
    let paths: BTreeMap<String, u64> = files
        .into_values()
        .map(|(path, size)| (path[1..].to_owned(), size))
        .collect();
    assert_eq!(paths.len(), count, "a path twice");
    paths
}

#[test]
fn the_workload_ends_with_the_files_of_the_last_snapshot() {
    let Some(data) = data() else { return };
    let wanted = last_snapshot(&data);
    assert_eq!(wanted.len(), 1623);
    for growth in [Growth::Burst, Growth::STRETCHED] {
        let options = Options {
            growth,
            ..Options::default()
        };
        let (events, _) = generate(&data, options);
        assert_eq!(replay(&events), wanted);
    }
}
