//! The nightly snapshots of a real ext4 on which a known history was replayed: what a workload made from them
//! gets right.

use flate2::read::GzDecoder;
use fsage_core::snapshot::{SnapshotChanges, SnapshotRow};
use fsage_core::{Event, FileId, Op, SinkError, SnapshotSource};
use fsage_data::snapshot::{InodeReader, read_snapshot_table};
use fsage_workload::from_snapshots::{DeleteTimes, FromSnapshots, Options};
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

struct Deltas {
    infos: std::vec::IntoIter<fsage_core::snapshot::SnapshotInfo>,
    reader: InodeReader,
    next: Option<(u32, SnapshotRow)>,
}

impl SnapshotSource for Deltas {
    fn next_changes(&mut self) -> Result<Option<SnapshotChanges>, SinkError> {
        let Some(info) = self.infos.next() else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        loop {
            if self.next.is_none() {
                self.next = self.reader.next_row()?;
            }
            match self.next.take() {
                Some((id, row)) if id == info.snap_id => rows.push(row),
                other => {
                    self.next = other;
                    break;
                }
            }
        }
        Ok(Some(SnapshotChanges {
            info,
            rows,
            names: None,
        }))
    }
}

fn generate(data: &Path, options: Options) -> Vec<Event> {
    let infos = read_snapshot_table(data.join("redis.commit.snapshots.parquet")).unwrap();
    let mut source = Deltas {
        infos: infos.into_iter(),
        reader: InodeReader::open(data.join("redis.commit.delta.parquet")).unwrap(),
        next: None,
    };
    let generator = FromSnapshots::begin(&mut source, options, None).unwrap();
    let mut events = Vec::new();
    let summary = generator
        .generate(&mut source, &mut events, &mut |_| {})
        .unwrap();
    println!("{summary:#?}");
    events
}

#[test]
fn delete_times_are_near_the_truth() {
    let Some(data) = data() else { return };
    let mut truth: HashMap<(u64, u32), f64> = HashMap::new();
    let file = File::open(data.join("redis.commit.events.csv.gz")).unwrap();
    for line in BufReader::new(GzDecoder::new(file)).lines().skip(1) {
        let line = line.unwrap();
        let f: Vec<&str> = line.split(',').collect();
        if f[1] == "delete" {
            truth.insert(
                (f[3].parse().unwrap(), f[4].parse().unwrap()),
                f[5].parse().unwrap(),
            );
        }
    }
    for rule in DeleteTimes::ALL {
        let events = generate(
            &data,
            Options {
                delete_times: rule,
                ..Options::default()
            },
        );
        let (mut sum, mut n) = (0.0, 0);
        for e in &events {
            if let Op::Delete { .. } = e.op {
                let t = truth[&(e.src_ino.unwrap(), e.src_gen.unwrap())];
                sum += (e.t_ns.unwrap() as f64 / 1e9 - t).abs() / 3600.0;
                n += 1;
            }
        }
        println!("{} {n} {}", rule.as_str(), sum / f64::from(n));
    }
}
