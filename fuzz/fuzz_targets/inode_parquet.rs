//! Damaged and contradictory snapshots: read as a series, compared, converted, and put into a layout; no panic, no
//! endless reading.
//!
//! The first byte chooses: rows that the other bytes make up, in any order, as tables with or without a snapshot
//! table; or damage to such tables, each 5 bytes a place and a value.

#![no_main]

use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotRow, SnapshotSink};
use fsage_core::{Extent, FileKind};
use fsage_data::snapshot::diff::{Identity, SeriesDiff, SnapshotRef, diff_snapshots};
use fsage_data::snapshot::{
    Form, InodeWriter, SeriesOutput, SnapshotOutput, SnapshotSeries, write_snapshot_table,
};
use fsage_data::{SnapshotFile, hide_decoder_panics};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

static FOLDER: OnceLock<TempDir> = OnceLock::new();

fuzz_target!(
    init: hide_decoder_panics(),
    |input: &[u8]| {
        let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder")).path();
        let (choice, bytes) = input.split_first().unwrap_or((&0, &[]));
        let form = if choice & 1 == 0 { Form::Full } else { Form::Delta };
        let path = folder.join("s.parquet");
        for old in ["s.parquet", "s.snapshots.parquet", "s.names.parquet"] {
            let _ = fs::remove_file(folder.join(old));
        }
        if choice & 2 == 0 {
            sorted_by_us(&path, form, bytes, choice & 4 != 0);
        } else {
            as_they_come(&path, form, bytes, choice & 4 != 0);
        }
        if choice & 8 != 0 {
            damage(&path, bytes);
        }
        if choice & 16 != 0 {
            damage(&folder.join("s.snapshots.parquet"), bytes);
            damage(&folder.join("s.names.parquet"), bytes);
        }
        read(&path, folder);
    }
);

/// 12 bytes a row: small numbers, so that keys come again.
fn rows(bytes: &[u8]) -> impl Iterator<Item = (u32, Inode, bool)> + '_ {
    bytes.chunks_exact(12).take(200).map(|b| {
        let kinds = [FileKind::Regular, FileKind::Directory, FileKind::Symlink];
        let kind = kinds[usize::from(b[2]) % kinds.len()];
        let number = |i: usize| (b[i] > 9).then_some(u64::from(b[i]));
        let extent = |i: usize| Extent {
            logical_bytes: if b[9] == 255 {
                u64::MAX - 5
            } else {
                u64::from(b[9]) * 512 * i as u64
            },
            physical_bytes: u64::from(b[10]) * 512,
            length_bytes: 512,
            flags: u32::from(b[9] & 3) << 30,
        };
        let inode = Inode {
            ctime_ns: number(3).map(|n| if n > 250 { i64::MAX } else { n as i64 }),
            mtime_ns: number(4).map(|n| n as i64),
            btime_ns: number(5).map(|n| n as i64),
            parent_ino: number(6),
            path: number(7).map(|n| format!("d{}/f{}", n % 3, n % 7).into()),
            extents: number(8).map(|n| (0..n as usize % 4).map(extent).collect()),
            source_flags: u32::from(b[11]),
            ..Inode::new(
                u64::from(b[1] % 8),
                number(5).map(|n| n as u32 % 4),
                kind,
                u64::from(b[3]),
            )
        };
        (u32::from(b[0] % 5), inode, b[0] > 200)
    })
}

fn info(snap_id: u32) -> SnapshotInfo {
    SnapshotInfo {
        snap_id,
        taken_at_ns: i64::from(snap_id % 3) * 100,
        source: "walk".to_owned(),
        ..SnapshotInfo::default()
    }
}

/// Rows in any order, which the output sorts, in memory or on disk.
fn sorted_by_us(path: &Path, form: Form, bytes: &[u8], in_memory: bool) {
    let memory = if in_memory { 1 << 20 } else { 300 };
    let mut output = SnapshotOutput::with_memory(path, form, true, memory).expect("a folder");
    let mut last = None;
    for (snap_id, inode, _) in rows(bytes) {
        if last != Some(snap_id) {
            last = Some(snap_id);
            let _ = output.snapshot(info(snap_id));
        }
        let _ = output.inode(inode);
    }
    let _ = output.finish();
}

/// Rows as they are, but for those that a table refuses: deltas that do not fit, snapshots that are in no table.
fn as_they_come(path: &Path, form: Form, bytes: &[u8], table: bool) {
    let mut writer = InodeWriter::create(path, form, true).expect("a folder");
    for (snap_id, inode, gone) in rows(bytes) {
        let (ino, generation) = (inode.ino, inode.generation);
        let row = if gone {
            SnapshotRow::Gone { ino, generation }
        } else {
            SnapshotRow::Present(inode)
        };
        let _ = writer.write_row(snap_id, &row);
    }
    writer.finish().expect("a file");
    if table {
        let table = path.with_file_name("s.snapshots.parquet");
        write_snapshot_table(table, &[info(0), info(1), info(3)], true).expect("a file");
    }
}

fn damage(path: &Path, bytes: &[u8]) {
    let Ok(mut file) = fs::read(path) else {
        return;
    };
    for record in bytes.chunks_exact(5) {
        let place = u32::from_le_bytes([record[0], record[1], record[2], record[3]]) as usize;
        let place = place % file.len();
        file[place] = record[4];
    }
    fs::write(path, file).expect("a file");
}

fn read(path: &Path, folder: &Path) {
    for form in [Form::Full, Form::Delta] {
        let Ok(series) = SnapshotSeries::open(&[path]) else {
            break;
        };
        let mut series = series.with_own_numbers();
        let mut output = SeriesOutput::create(folder.join("out"), form, true).expect("a folder");
        while let Ok(Some(night)) = series.next_night() {
            let _ = output.write(night, &series);
        }
        let _ = output.finish();
    }
    let at = |snap_id| SnapshotRef {
        path: path.to_owned(),
        snap_id,
    };
    for identity in [Identity::Auto, Identity::Birth] {
        let _ = diff_snapshots(&at(Some(0)), &at(None), identity, &mut |_| Ok(()));
        let series =
            SnapshotSeries::open(&[path]).and_then(|series| SeriesDiff::new(series, identity));
        if let Ok(mut diff) = series {
            while let Ok(Some(_)) = diff.next_diff(&mut |_| Ok(())) {}
        }
    }
    let _ = SnapshotFile::open(path);
}
