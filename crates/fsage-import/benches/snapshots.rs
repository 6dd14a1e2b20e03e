//! How fast foreign snapshots are read. Budget: 100 MB of text a second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink};
use fsage_import::snapshots::{Format, Importer, Input, Options};
use std::fmt::Write as _;

/// Directories of 50 files each, as `find` visits them.
const DIRECTORIES: u64 = 2000;
const FILES: u64 = 50;

/// Takes rows and adds them up.
#[derive(Default)]
struct Sum(u64);

impl SnapshotSink for Sum {
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        self.0 = self
            .0
            .wrapping_add(inode.ino ^ inode.parent_ino.unwrap_or(0));
        Ok(())
    }
}

fn read(format: Format, mut bytes: &[u8]) -> u64 {
    let mut sum = Sum::default();
    let mut importer = Importer::new(format, Options::default(), &mut sum);
    importer
        .read(&mut Input {
            name: "bench",
            modified_ns: Some(i64::MAX),
            bytes: &mut bytes,
        })
        .unwrap();
    importer.finish().unwrap();
    sum.0
}

/// Kind, inode number and path of every entry.
fn entries() -> impl Iterator<Item = (char, u64, String)> {
    (0..DIRECTORIES).flat_map(|d| {
        let dir = format!("lib/package-{}/module-{d}", d / 20);
        let files = (1..=FILES).map({
            let dir = dir.clone();
            move |f| ('f', d * 100 + f, format!("{dir}/source_file_{f}.rs"))
        });
        std::iter::once(('d', d * 100, dir)).chain(files)
    })
}

fn find() -> Vec<u8> {
    let mut text =
        "1\td\t4096\t8\t5\t755\t0\t0\t1795222680.7881346820\t1795222680.7881346820\t.\0".to_owned();
    for (kind, ino, path) in entries() {
        let t = 1_795_222_680 + ino % 977;
        write!(
            text,
            "{ino}\t{kind}\t{}\t{}\t1\t644\t1000\t1000\t{t}.7881346820\t{t}.1234567890\t./{path}\0",
            ino * 7919 % 300_000,
            ino % 600,
        )
        .unwrap();
    }
    text.into_bytes()
}

/// Ten nights, with generations and extents.
fn series() -> Vec<u8> {
    let mut text =
        "snap_id,taken_at,inode,generation,type,size,blocks512,ctime,extents_kib,path\n".to_owned();
    for night in 0..10 {
        for (kind, ino, path) in entries() {
            let at = ino * 12;
            writeln!(
                text,
                "{night},{},{ino},{},{kind},{},24,{},0:{at}:8;8:{}:4,{path}",
                1_795_222_680 + night * 86_400,
                ino * 7919 + 1,
                ino % 12_288,
                1_795_000_000 + ino % 977,
                at + 1000,
            )
            .unwrap();
        }
    }
    text.into_bytes()
}

fn snapshots(c: &mut Criterion) {
    let mut group = c.benchmark_group("foreign snapshots");
    for (name, format, bytes) in [
        ("find", Format::Find, find()),
        ("csv series", Format::Csv, series()),
    ] {
        group
            .throughput(Throughput::Bytes(bytes.len() as u64))
            .sample_size(10);
        group.bench_function(name, |b| b.iter(|| read(format, &bytes)));
    }
    group.finish();
}

criterion_group!(benches, snapshots);
criterion_main!(benches);
