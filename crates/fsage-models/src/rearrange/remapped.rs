//! A table between a file system and the disk: what techniques have in common that move blocks and not files.
//!
//! The file system below knows nothing of it. References are counted where files are read and written, with a host or
//! without, so that what moves does not depend on one; blocks of directories, inodes and maps are not counted.

use super::map::{Map, in_order};
use super::settings::Period;
use super::{Counters, Rearranged, access_of};
use crate::findings::Findings;
use crate::registry::AnyModel;
use fsage_core::io::Emitted;
use fsage_core::io::{AnyHosted, BlockMap, Hosted, Io};
use fsage_core::snapshot::FurtherName;
use fsage_core::{
    DirId, FileId, FileSystem, FileView, Geometry, Inconsistency, Layout, Op, Outcome, Run, Space,
    StateError,
};
use std::fmt::Debug;
use std::ops::Range;

/// Where blocks lie, and how that follows from their use.
pub(super) trait Remap: Clone + Debug + Send + Sync + 'static {
    /// As [`Map::piece`].
    fn place(&self, at: u64, bytes: u64) -> (u64, u64);

    /// A range of the file system was read or written.
    fn referenced(&mut self, _at: u64, _bytes: u64, _wrote: bool) {}

    /// A file was read or written, or a part of it.
    fn used(&mut self, _file: FileId) {}

    /// The files of which it must be known where they lie when a period ends.
    fn of_interest(&self) -> Vec<FileId> {
        Vec::new()
    }

    /// Where a file lies at the end of a period, in the order of the file, in addresses of the file system.
    fn lies_at(&mut self, _file: FileId, _ranges: &[Range<u64>]) {}

    /// A period has ended: blocks are placed anew, and that is emitted.
    fn rearrange(&mut self, _io: &mut Vec<Io>, _counters: &mut Counters) {}

    /// Whether the table fits together.
    fn check(&self, _found: &mut Findings) {}
}

impl<R: Remap> Map for R {
    fn piece(&self, at: u64, bytes: u64) -> (u64, u64) {
        self.place(at, bytes)
    }
}

/// Blocks without data that a walk over a file passes before it gives the rest up.
const MOST_HOLES: u32 = 65_536;

/// A file system on a disk whose blocks lie where a table says.
#[derive(Clone, Debug)]
pub(super) struct Remapped<F, R> {
    fs: F,
    remap: R,
    disk_bytes: u64,
    center: Range<u64>,
    period: Period,
    /// Accesses since the period began.
    in_period: u64,
    counters: Counters,
    emitted: Emitted,
}

impl<F: Hosted, R: Remap> Remapped<F, R> {
    pub fn new(fs: F, disk_bytes: u64, center: Range<u64>, period: Period, remap: R) -> Self {
        Remapped {
            fs,
            remap,
            disk_bytes,
            center,
            period,
            in_period: 0,
            counters: Counters::default(),
            emitted: Emitted::default(),
        }
    }

    /// Emits what the file system has emitted.
    fn forward(&mut self) {
        let Remapped {
            fs, remap, emitted, ..
        } = self;
        for io in fs.emitted().drain(..) {
            remap.io(io, emitted.list());
        }
    }

    /// A range of a file was read or written.
    fn access(&mut self, file: FileId, (offset, bytes): (u64, u64), wrote: bool) {
        self.remap.used(file);
        self.counters.accesses += 1;
        self.counters.accessed_bytes += bytes;
        self.in_period += 1;
        let block_bytes = u64::from(self.fs.block_bytes());
        let end = offset + bytes;
        let (mut at, mut holes, mut first) = (offset, 0, true);
        while at < end && holes < MOST_HOLES {
            let in_block = at % block_bytes;
            let map = self.fs.block_map(file, (at / block_bytes) as u32);
            let Some(buffer) = map.buffer else {
                at += block_bytes - in_block;
                holes += 1;
                continue;
            };
            holes = 0;
            let run = (u64::from(map.following) + 1) * block_bytes - in_block;
            let here = run.min(end - at);
            let start = buffer.start_bytes + in_block;
            self.remap.referenced(start, here, wrote);
            for (_, disk, here) in self.remap.pieces(start, here) {
                let from = disk.max(self.center.start);
                let to = (disk + here).min(self.center.end);
                self.counters.center_bytes += to.saturating_sub(from);
                if std::mem::take(&mut first) {
                    self.counters.center_accesses += u64::from(self.center.contains(&disk));
                }
            }
            at += here;
        }
    }

    /// Where the data of a file lie, in its order; none if it is gone.
    fn ranges_of(&self, file: FileId) -> Vec<Range<u64>> {
        let block_bytes = u64::from(self.fs.block_bytes());
        let bytes = self.fs.file_size(file).unwrap_or(0);
        let (mut ranges, mut at, mut holes) = (Vec::new(), 0, 0);
        while at < bytes && holes < MOST_HOLES {
            let map = self.fs.block_map(file, (at / block_bytes) as u32);
            let Some(buffer) = map.buffer else {
                at += block_bytes;
                holes += 1;
                continue;
            };
            holes = 0;
            let run = (u64::from(map.following) + 1) * block_bytes;
            let here = run.min(bytes - at);
            ranges.push(buffer.start_bytes..buffer.start_bytes + here);
            at += run;
        }
        ranges
    }

    /// Ends a period that has had its accesses.
    fn end_period_if_due(&mut self) {
        if matches!(self.period, Period::Accesses(n) if self.in_period >= n) {
            self.end_period();
        }
    }

    fn end_period(&mut self) {
        self.in_period = 0;
        self.counters.periods += 1;
        for file in self.remap.of_interest() {
            let ranges = self.ranges_of(file);
            self.remap.lies_at(file, &ranges);
        }
        let mut io = Vec::new();
        self.remap.rearrange(&mut io, &mut self.counters);
        for io in io {
            self.emitted.emit(io);
        }
    }
}

impl<F: AnyHosted + Clone + Debug + 'static, R: Remap> AnyModel for Remapped<F, R> {
    fn end_day(&mut self) {
        // Its period may end; no model refuses the end of a day.
        let _ = self.apply(&Op::Day);
    }

    fn into_hosted(self: Box<Self>) -> Option<Box<dyn AnyHosted>> {
        Some(self)
    }

    fn as_hosted(&mut self) -> Option<&mut dyn Hosted> {
        Some(self)
    }

    fn as_rearranged(&self) -> Option<&dyn Rearranged> {
        Some(self)
    }
}

impl<F: AnyHosted + Clone + Debug + 'static, R: Remap> Rearranged for Remapped<F, R> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn center(&self) -> Range<u64> {
        self.center.clone()
    }

    fn duplicate(&self) -> Box<dyn Rearranged> {
        Box::new(self.clone())
    }
}

impl<F: Hosted, R: Remap> FileSystem for Remapped<F, R> {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let outcome = self.fs.apply(op)?;
        self.forward();
        if let Some(access) = access_of(op, outcome, |file| self.fs.file_size(file)) {
            self.access(access.file, (access.offset, access.bytes), access.wrote);
            self.end_period_if_due();
        }
        if *op == Op::Day && self.period == Period::Day {
            self.end_period();
        }
        Ok(outcome)
    }

    fn set_time(&mut self, t_ns: i64) {
        self.fs.set_time(t_ns);
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        self.fs.file_size(file)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        self.fs.inode(file)
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        self.fs.directory_inode(dir)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        let mut found = Findings::default();
        found.take("the file system", self.fs.check());
        self.remap.check(&mut found);
        found.result()
    }
}

impl<F: Hosted, R: Remap> Hosted for Remapped<F, R> {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn emit(&mut self, on: bool) {
        self.fs.emit(on);
        self.emitted.turn(on);
    }

    fn emit_to_follower(&mut self) {
        self.fs.emit_to_follower();
        self.emitted.follow();
    }

    fn block_bytes(&self) -> u32 {
        self.fs.block_bytes()
    }

    fn buffers_of(&self, file: FileId) -> Option<u64> {
        self.fs.buffers_of(file)
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        let mut emitted = Vec::new();
        self.fs.look_up(file, &mut emitted);
        self.remap.list(emitted, io);
    }

    fn accessed(&self, file: FileId, io: &mut Vec<Io>) {
        let mut emitted = Vec::new();
        self.fs.accessed(file, &mut emitted);
        self.remap.list(emitted, io);
    }

    fn was_read(&mut self, file: FileId, offset: u64, bytes: u64) {
        if let Some(size) = self.fs.file_size(file) {
            let offset = offset.min(size);
            self.access(file, (offset, bytes.min(size - offset)), false);
            self.end_period_if_due();
        }
    }

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let map = self.fs.block_map(file, lbn);
        self.remap.block_map(map, self.fs.block_bytes())
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        let mut emitted = Vec::new();
        self.fs.superblock(&mut emitted);
        self.remap.list(emitted, io);
    }

    fn reads_tail_alone(&self) -> bool {
        self.fs.reads_tail_alone()
    }
}

impl<F: Hosted, R: Remap> Layout for Remapped<F, R> {
    /// Groups are those of inodes; where a group's blocks lie depends on their use.
    fn geometry(&self) -> Geometry {
        Geometry {
            size_bytes: self.disk_bytes,
            group_bytes: 0,
            ..self.fs.geometry()
        }
    }

    fn space(&self) -> Option<Space> {
        self.fs.space()
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut list = Vec::new();
        self.fs.visit_files(&mut |file| {
            self.remap
                .extents(file.extents.unwrap_or_default(), &mut list);
            visit(&FileView {
                extents: file.extents.map(|_| &list[..]),
                ..*file
            });
        });
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let mut runs = Vec::new();
        self.fs
            .visit_free(&mut |run| self.remap.run(run, &mut runs));
        in_order(&mut runs, visit);
    }

    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        self.fs.visit_further_names(visit);
    }
}

/// What a map does at the end of a period, after which it must be sound.
#[cfg(test)]
pub(super) fn rearranged(map: &mut impl Remap) -> (Vec<Io>, Counters) {
    let (mut io, mut counters) = (Vec::new(), Counters::default());
    map.rearrange(&mut io, &mut counters);
    let mut found = Findings::default();
    map.check(&mut found);
    assert_eq!(found.result(), Ok(()));
    (io, counters)
}
