//! A damaged Parquet file, read as a workload, as a snapshot and as a table: no panic and no endless reading.
//!
//! Input that starts like Parquet is taken as the file itself. Any other input is damage to a good file, for
//! no fuzzer comes upon a Parquet footer by chance: the first byte chooses the file, then each 5 bytes are a
//! place and a value, and a rest of 2 to 4 bytes cuts the file short.
//!
//! The Parquet library itself panics on some damaged files. `fsage-data` makes errors of these, and hides them
//! from libFuzzer, which would stop at every panic even if it is caught.

#![no_main]

use fsage_core::snapshot::{Inode, SnapshotRow};
use fsage_core::{Extent, FileKind, WorkloadHeader};
use fsage_data::snapshot::{Form, InodeReader, InodeWriter};
use fsage_data::table::read_table;
use fsage_data::{OpsReader, WorkloadReader, WorkloadWriter, hide_decoder_panics};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A folder for the damaged file, and the good ones.
struct Bench {
    dir: TempDir,
    good: [Vec<u8>; 2],
}

static BENCH: OnceLock<Bench> = OnceLock::new();

fuzz_target!(
    init: hide_decoder_panics(),
    |input: &[u8]| {
        let bench = BENCH.get_or_init(Bench::new);
        let path = bench.dir.path().join("fuzz.parquet");
        fs::write(&path, bench.damaged(input)).expect("a file");
        if let Ok(mut reader) = WorkloadReader::open(&path) {
            while let Ok(Some(_)) = reader.next_event() {}
        }
        if let Ok(mut reader) = InodeReader::open(&path) {
            while let Ok(Some(_)) = reader.next_row() {}
        }
        let _ = read_table(&path);
    }
);

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("good.parquet");
        let good = [workload(path.clone()), snapshot(path)];
        Bench { dir, good }
    }

    fn damaged(&self, input: &[u8]) -> Vec<u8> {
        let (choice, damage) = match input {
            [b'P', b'A', b'R', b'1', ..] => return input.to_vec(),
            [choice, damage @ ..] => (usize::from(*choice), damage),
            [] => (0, input),
        };
        let mut bytes = self.good[choice % self.good.len()].clone();
        let records = damage.chunks_exact(5);
        let cut = records.remainder();
        for record in records {
            let place = u32::from_le_bytes([record[0], record[1], record[2], record[3]]) as usize;
            let place = place % bytes.len();
            bytes[place] = record[4];
        }
        if let [low, high, ..] = cut {
            let length = usize::from(u16::from_le_bytes([*low, *high]));
            bytes.truncate(length % bytes.len());
        }
        bytes
    }
}

const TEXT: &str = "#! epoch 5\n#! seed 9\n@0 mkdir 1\nmkdir 2 1 \"src\"\n\
    @0.5 create 1 2 4096 origin=trace tq=exact hint=3 src=5:6 profile=9 mode=644 x-a=b \"\\xff.c\"\n\
    create 2 0 65536\n@1 append 2 1500\nwrite 2 100000 4096\noverwrite 2\noverwrite 2 0 9\n\
    link 3 1 1 \"main.bak\"\nrename 1 1\nrename 1 1 3\ndelete 2\nsync\n@86399 day 0\n";

fn workload(path: PathBuf) -> Vec<u8> {
    let mut reader = OpsReader::new(TEXT.as_bytes(), "good.ops").expect("good text");
    let mut writer = WorkloadWriter::create(&path, reader.header(), true).expect("a file");
    while let Some(event) = reader.next_event().expect("good text") {
        writer.write(&event).expect("a file");
    }
    writer.finish().expect("a file");
    assert_ne!(reader.header(), &WorkloadHeader::default());
    fs::read(path).expect("a file")
}

fn snapshot(path: PathBuf) -> Vec<u8> {
    let mut writer = InodeWriter::create(&path, Form::Delta, true).expect("a file");
    for ino in 1..20_u64 {
        let extent = |i: u64| Extent {
            logical_bytes: i * 1024,
            physical_bytes: (ino * 7 + i * 3) * 1024,
            length_bytes: 1024,
            flags: 0,
        };
        let inode = Inode {
            path: Some(format!("d/f{ino}").into()),
            extents: (ino % 5 > 0).then(|| (0..ino % 4).map(extent).collect()),
            ..Inode::new(
                ino,
                (ino % 3 > 0).then_some(ino as u32),
                FileKind::Regular,
                ino * 1000,
            )
        };
        writer.write(0, &inode).expect("a file");
    }
    let gone = SnapshotRow::Gone {
        ino: 4,
        generation: Some(4),
    };
    writer.write_row(1, &gone).expect("a file");
    writer.finish().expect("a file");
    fs::read(path).expect("a file")
}
