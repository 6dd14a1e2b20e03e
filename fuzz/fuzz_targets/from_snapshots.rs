//! Any rows as a series of snapshots, contradictions and all: a workload or an error, never a panic.

#![no_main]

use fsage_core::snapshot::{
    FurtherName, Inode, SnapshotChanges, SnapshotInfo, SnapshotRow, SnapshotSource,
};
use fsage_core::{Event, Extent, FileKind, SinkError};
use fsage_workload::from_snapshots::{DeleteTimes, FromSnapshots, Growth, Options};
use libfuzzer_sys::fuzz_target;

const KINDS: [FileKind; 4] = [
    FileKind::Regular,
    FileKind::Directory,
    FileKind::Symlink,
    FileKind::Fifo,
];
const PATHS: [&str; 12] = [
    ".", "a", "a/b", "a/b/c", "a/c", "b", "b/a", "b/a/c", "c", "", "a//b", "../x",
];

struct Nights<'a>(&'a [u8], u32);

impl Nights<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn row(&mut self) -> Option<SnapshotRow> {
        let (key, what, size, time) = (self.byte()?, self.byte()?, self.byte()?, self.byte()?);
        let ino = u64::from(key % 16);
        let generation = (key & 64 != 0).then_some(u32::from(key >> 4 & 3));
        if what & 128 != 0 {
            return Some(SnapshotRow::Gone { ino, generation });
        }
        let kind = KINDS[usize::from(what % 4)];
        let time = i64::from(time) * if time % 16 == 15 { i64::MAX / 255 } else { 1 };
        let length = u64::from(size) * if size == 255 { u64::MAX / 300 } else { 512 };
        let extent = Extent {
            logical_bytes: 0,
            physical_bytes: u64::from(size % 32) * 1024,
            length_bytes: length.min(1 << 20),
            flags: 0,
        };
        Some(SnapshotRow::Present(Inode {
            ctime_ns: (what & 16 != 0).then_some(time),
            mtime_ns: (what & 32 != 0).then_some(time),
            btime_ns: (what & 64 != 0).then_some(time / 2),
            parent_ino: Some(ino / 2),
            alloc_bytes: (time % 3 == 0).then_some(length / 2),
            path: (what & 8 != 0 || key & 128 != 0)
                .then(|| PATHS[usize::from(what >> 2) % PATHS.len()].into()),
            extents: Some([extent].into()),
            source_flags: u32::from(key >> 5 & 1),
            ..Inode::new(ino, generation, kind, length)
        }))
    }
}

impl SnapshotSource for Nights<'_> {
    fn next_changes(&mut self) -> Result<Option<SnapshotChanges>, SinkError> {
        let Some(count) = self.byte() else {
            return Ok(None);
        };
        let mut rows: Vec<SnapshotRow> = (0..count % 16).map_while(|_| self.row()).collect();
        rows.sort_by_key(SnapshotRow::key);
        rows.dedup_by_key(|row| row.key());
        let names = (count & 32 != 0).then(|| {
            vec![FurtherName {
                ino: u64::from(count % 7),
                generation: None,
                parent_ino: u64::from(count % 5),
                name: "n".into(),
            }]
        });
        self.1 += 1;
        let info = SnapshotInfo {
            snap_id: self.1,
            taken_at_ns: i64::from(self.1) * i64::from(count) * 16,
            inodes_per_group: (count & 64 != 0).then_some(4),
            ..SnapshotInfo::default()
        };
        Ok(Some(SnapshotChanges { info, rows, names }))
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let options = Options {
        delete_times: DeleteTimes::ALL[usize::from(choice % 3)],
        growth: if choice & 4 == 0 {
            Growth::Burst
        } else {
            Growth::STRETCHED
        },
        ..Options::default()
    };
    let mut source = Nights(bytes, 0);
    let Ok(generator) = FromSnapshots::begin(&mut source, options, None) else {
        return;
    };
    let mut events: Vec<Event> = Vec::new();
    let made = generator.generate(&mut source, &mut events, &mut |_| {});
    if let Err(error) = made {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
});
