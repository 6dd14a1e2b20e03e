//! Moving files between both places, and what becomes of a move that a crash interrupts.
//!
//! ```text
//!   copy ---> sync the copy ---> unlink the original ---> sync that
//!   original  original           copy                     copy        what holds the file's contents
//! ```
//!
//! The file is not written between the first step and the last, so that as long as both are there the original is whole
//! and up to date: the one whose inode was changed first. After a crash it stays, and the copy, whole or not, is
//! removed. One that is alone is the file. Nothing is ever in neither place. Without `sync_moves` both syncs are left
//! out, as in the paper: the two file systems may then write their changes in any order.

use super::super::Part;
use super::super::lists::Table;
use super::super::map::Map;
use super::{AdaptiveFiles, Dir, free_bytes};
use fsage_core::io::{Hosted, Io};
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId, Op, Outcome};

/// What a move does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The file is made, and written, in the other place.
    Copy,
    /// The copy goes to the disk.
    SyncCopy,
    /// The original is removed.
    Unlink,
    /// That goes to the disk.
    SyncUnlink,
}

/// A move that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// Slot of the file.
    pub slot: u32,
    /// Where its original is.
    pub from: Part,
    /// What comes next.
    pub step: Step,
}

impl Move {
    /// Where the copy is.
    pub fn to(self) -> Part {
        match self.from {
            Part::Outside => Part::Reserved,
            Part::Reserved => Part::Outside,
        }
    }
}

/// A file stays where it is: it is bound or too large, or there is no space for it. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stays;

impl<F: Hosted> AdaptiveFiles<F> {
    /// `Move_in` for all files that wait for it.
    pub(super) fn move_in_waiting(&mut self) {
        while let Some(slot) = self.waiting.pop_front() {
            if !self.tables.end_wait(slot) || self.stays_near(slot) {
                continue;
            }
            // Where it cannot move it stays, and stays cold.
            if self.first_block(slot).is_some() {
                let _ = self.move_in(slot);
            }
        }
    }

    /// Moves a file into the reserved area, unless it is bound or too large.
    pub(super) fn move_in(&mut self, slot: u32) -> Result<(), Stays> {
        let bytes = self.outside.file_size(self.id_of(slot)).unwrap_or(0);
        if self.is_bound(slot) {
            return Err(Stays);
        }
        if !self.ever_fits(bytes) {
            self.counters.too_large += 1;
            return Err(Stays);
        }
        if !self.make_room_in(self.names.file(slot).dir, bytes) {
            self.counters.no_room += 1;
            return Err(Stays);
        }
        self.move_on(slot)
    }

    /// Moves a file out of the reserved area.
    pub(super) fn move_out(&mut self, slot: u32) -> Result<(), Stays> {
        self.move_on(slot)?;
        let dir = self.names.file(slot).dir;
        self.drop_mirrors(dir);
        Ok(())
    }

    /// Moves a file to the other place.
    fn move_on(&mut self, slot: u32) -> Result<(), Stays> {
        self.begin_move(slot);
        while self.moving.is_some() {
            self.advance()?;
        }
        Ok(())
    }

    /// A file begins to move to the other place.
    pub(super) fn begin_move(&mut self, slot: u32) {
        let from = self.part_of(slot);
        let step = Step::Copy;
        self.moving = Some(Move { slot, from, step });
    }

    /// Does the next step of the move that is under way.
    pub(super) fn advance(&mut self) -> Result<(), Stays> {
        let Some(moving) = self.moving else {
            return Ok(());
        };
        let Move { slot, from, step } = moving;
        let (to, file) = (moving.to(), self.id_of(slot));
        let next = match step {
            Step::Copy => {
                if let Err(stays) = self.copy(slot, from, to) {
                    self.moving = None;
                    return Err(stays);
                }
                Some(if self.settings.sync_moves {
                    Step::SyncCopy
                } else {
                    Step::Unlink
                })
            }
            Step::SyncCopy => {
                self.push(to, file);
                self.apply_to(to, &Op::Fsync { file });
                Some(Step::Unlink)
            }
            Step::Unlink => {
                self.apply_to(from, &Op::Delete { file });
                self.has_moved(slot, to);
                self.settings.sync_moves.then_some(Step::SyncUnlink)
            }
            Step::SyncUnlink => {
                self.apply_to(from, &Op::Sync);
                None
            }
        };
        self.moving = next.map(|step| Move { step, ..moving });
        Ok(())
    }

    /// The tables follow a file that has moved. One that is moved out is not known any more.
    fn has_moved(&mut self, slot: u32, to: Part) {
        let dir = self.names.file(slot).dir as usize;
        if to == Part::Reserved {
            self.tables.add(Table::Hot, slot);
            self.dirs[dir].reserved_entries += 1;
            self.counters.moved_in += 1;
        } else {
            self.tables.remove(slot);
            self.dirs[dir].reserved_entries -= 1;
            self.counters.moved_out += 1;
        }
    }

    /// Makes the copy of a file, or nothing at all.
    fn copy(&mut self, slot: u32, from: Part, to: Part) -> Result<(), Stays> {
        let file = self.id_of(slot);
        let place = self.names.file(slot).dir;
        if to == Part::Reserved && !self.mirror(place) {
            self.counters.no_room += 1;
            return Err(Stays);
        }
        let bytes = self.part(from).file_size(file).unwrap_or(0);
        let runs = self.data_runs(from, file, bytes);
        self.emit_read(from, file, bytes);
        let dir = DirId(self.dirs[place as usize].id);
        let whole = runs == [(0, bytes)];
        let first = if whole { bytes } else { 0 };
        let mut outcome = self.apply_to(
            to,
            &Op::Create {
                file,
                dir,
                bytes: first,
            },
        );
        if !whole {
            for (offset, bytes) in runs {
                if outcome == Outcome::Done {
                    outcome = self.apply_to(
                        to,
                        &Op::Write {
                            file,
                            offset,
                            bytes,
                        },
                    );
                }
            }
            if outcome == Outcome::Done && bytes > 0 {
                outcome = self.apply_to(to, &Op::Truncate { file, bytes });
            }
        }
        if outcome == Outcome::Done {
            self.counters.copied_bytes += bytes;
            return Ok(());
        }
        // Also what was not made is forgotten by that.
        self.apply_to(to, &Op::Delete { file });
        if to == Part::Reserved {
            self.drop_mirrors(place);
        }
        self.counters.no_room += 1;
        Err(Stays)
    }

    /// Ranges of a file that have blocks: offset and length, ascending.
    pub(super) fn data_runs(&self, part: Part, file: FileId, size: u64) -> Vec<(u64, u64)> {
        let block_bytes = self.limits.block_bytes;
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let mut at = 0;
        while at < size {
            let map = self.part(part).block_map(file, (at / block_bytes) as u32);
            let blocks = 1 + u64::from(map.following);
            let end = (at + blocks * block_bytes).min(size);
            if map.buffer.is_some() {
                match runs.last_mut() {
                    Some((start, bytes)) if *start + *bytes == at => *bytes = end - *start,
                    _ => runs.push((at, end - at)),
                }
            }
            at = end;
        }
        runs
    }

    /// Emits that a file is opened and read as a whole.
    fn emit_read(&mut self, part: Part, file: FileId, size: u64) {
        if !self.emitted.is_on() {
            return;
        }
        let mut io = Vec::new();
        let fs = self.part(part);
        fs.look_up(file, &mut io);
        let block_bytes = self.limits.block_bytes;
        let whole_blocks = size / block_bytes;
        for lbn in 0..size.div_ceil(block_bytes) {
            let map = fs.block_map(file, lbn as u32);
            io.extend(map.pointers.into_iter().flatten().map(Io::Need));
            let Some(buffer) = map.buffer else {
                continue;
            };
            // What lies behind it comes along, as read-ahead would have it.
            let run = (u64::from(map.following) + 1).min(whole_blocks.saturating_sub(lbn));
            io.push(if run > 1 {
                Io::NeedGroup(buffer, (buffer.start_bytes, run * block_bytes))
            } else {
                Io::Need(buffer)
            });
            io.push(Io::Copy {
                bytes: buffer.bytes,
            });
        }
        fs.accessed(file, &mut io);
        self.emit_in(part, io);
    }

    /// Emits that the data of a file go out.
    fn push(&mut self, part: Part, file: FileId) {
        let size = self.part(part).file_size(file).unwrap_or(0);
        let Some(last) = size.div_ceil(self.limits.block_bytes).checked_sub(1) else {
            return;
        };
        if let Some(ino) = self.buffers_of_in(part, file) {
            let (first, last) = (0, last as u32);
            self.emitted.emit(Io::Push { ino, first, last });
        }
    }

    /// The number of a file in a host's cache.
    pub(super) fn buffers_of_in(&self, part: Part, file: FileId) -> Option<u64> {
        let ino = self.part(part).buffers_of(file)?;
        Some(match part {
            Part::Outside => self.outside_map.number(ino),
            Part::Reserved => self.reserved_map.number(ino),
        })
    }

    /// Whether a file outside lies so near to the reserved area that it stays; that is counted.
    pub(super) fn stays_near(&mut self, slot: u32) -> bool {
        let near = self
            .first_block(slot)
            .is_some_and(|at| self.distance_blocks(at) <= self.limits.near_blocks);
        self.counters.near_not_moved += u64::from(near);
        near
    }

    /// Address on the disk of the first block of a file outside, if it has one and may fit the reserved area.
    fn first_block(&self, slot: u32) -> Option<u64> {
        let file = self.id_of(slot);
        let size = self.outside.file_size(file)?;
        let blocks = size
            .min(self.limits.capacity_bytes)
            .div_ceil(self.limits.block_bytes);
        let first = (0..blocks).find_map(|lbn| self.outside.block_map(file, lbn as u32).buffer)?;
        Some(self.outside_map.piece(first.start_bytes, 1).0)
    }

    /// Blocks from an address outside to the nearest edge of the reserved area; 1 is next to it.
    pub(super) fn distance_blocks(&self, at: u64) -> u64 {
        let middle = &self.outside_map.middle;
        let bytes = if at < middle.start {
            middle.start - at
        } else {
            at - middle.end + self.limits.block_bytes
        };
        bytes.div_ceil(self.limits.block_bytes)
    }

    /// Whether a file of this size has room in the empty reserved area.
    pub(super) fn ever_fits(&self, bytes: u64) -> bool {
        let wanted = self.wanted(bytes);
        wanted <= self.limits.capacity_bytes
    }

    /// Space that must be free before so many bytes are written: whole blocks, and the margin.
    fn wanted(&self, bytes: u64) -> u64 {
        let blocks = bytes.div_ceil(self.limits.block_bytes);
        blocks
            .saturating_mul(self.limits.block_bytes)
            .saturating_add(self.limits.margin_bytes)
    }

    /// Makes room for a new file in a directory that may not be in the reserved area yet.
    pub(super) fn make_room_in(&mut self, dir: u32, bytes: u64) -> bool {
        let mut blocks = 1;
        let mut at = dir;
        while !self.dirs[at as usize].mirrored {
            blocks += 1;
            at = self.dirs[at as usize].parent;
        }
        let bytes = bytes.saturating_add(blocks * self.limits.block_bytes);
        self.make_room(bytes, true, None)
    }

    /// Makes room in the reserved area for so many bytes, and with `entry` for one more file, by moving out what was
    /// used least recently, but not `keep`. Says whether there is.
    pub(super) fn make_room(&mut self, bytes: u64, entry: bool, keep: Option<u32>) -> bool {
        if !self.ever_fits(bytes) {
            return false;
        }
        let mut swept = false;
        loop {
            let hot = self
                .tables
                .len(Table::Hot)
                .saturating_add(self.settings.hot_margin);
            let inodes = self.reserved.space().unwrap_or_default().free_inodes;
            let full = entry && (hot >= self.limits.hot_entries || inodes == 0);
            if !full && free_bytes(&self.reserved, &self.limits) >= self.wanted(bytes) {
                return true;
            }
            match self
                .tables
                .tail(Table::Hot)
                .filter(|&slot| Some(slot) != keep)
            {
                Some(oldest) => {
                    if self.move_out(oldest).is_err() {
                        return false;
                    }
                }
                None if swept => return false,
                None => {
                    self.sweep();
                    swept = true;
                }
            }
        }
    }

    /// Makes a directory in the reserved area, with those above it. Says whether it is there.
    pub(super) fn mirror(&mut self, dir: u32) -> bool {
        let mut missing = Vec::new();
        let mut at = dir;
        while !self.dirs[at as usize].mirrored {
            missing.push(at);
            at = self.dirs[at as usize].parent;
        }
        for at in missing.into_iter().rev() {
            if self.apply_to(Part::Reserved, &self.mkdir(at)) != Outcome::Done {
                // What was not made is forgotten by that.
                let dir = DirId(self.dirs[at as usize].id);
                self.apply_to(Part::Reserved, &Op::Rmdir { dir });
                let above = self.dirs[at as usize].parent;
                self.drop_mirrors(above);
                return false;
            }
            let above = self.dirs[at as usize].parent as usize;
            self.dirs[at as usize].mirrored = true;
            self.dirs[above].reserved_entries += 1;
        }
        true
    }

    /// Removes a directory from the reserved area if nothing of it is left there, and those above it.
    pub(super) fn drop_mirrors(&mut self, dir: u32) {
        let mut at = dir;
        while at != ROOT {
            let dir = self.dirs[at as usize];
            if !dir.mirrored || dir.reserved_entries > 0 {
                return;
            }
            self.apply_to(Part::Reserved, &Op::Rmdir { dir: DirId(dir.id) });
            self.dirs[at as usize].mirrored = false;
            at = dir.parent;
            self.dirs[at as usize].reserved_entries -= 1;
        }
    }

    /// Removes every directory from the reserved area that nothing is left of.
    fn sweep(&mut self) {
        for dir in 0..self.dirs.len() as u32 {
            if self.dirs[dir as usize].alive {
                self.drop_mirrors(dir);
            }
        }
    }

    /// What a mount finds: of a file in both places the original stays, which is the one whose inode was changed first;
    /// the tables were lost, and every file of the reserved area is hot, in the order of inodes.
    pub(super) fn recover(&mut self) {
        if let Some(moving) = self.moving.take() {
            // `moving` stands for the times of change that show the copy.
            let file = self.id_of(moving.slot);
            let is_in = |part| self.part(part).inode(file).is_some();
            if is_in(Part::Outside) && is_in(Part::Reserved) {
                self.apply_to(moving.to(), &Op::Delete { file });
            }
        }
        self.waiting.clear();
        self.tables.clear();
        for dir in &mut self.dirs {
            dir.reserved_entries = 0;
        }
        for at in 1..self.dirs.len() {
            let Dir {
                parent, mirrored, ..
            } = self.dirs[at];
            self.dirs[parent as usize].reserved_entries += u32::from(mirrored);
        }
        let reserved = &self.reserved;
        let files = self.names.iter().filter_map(|(slot, file)| {
            let ino = reserved.inode(FileId(file.id))?;
            Some((ino, slot, file.dir))
        });
        let mut files: Vec<(u64, u32, u32)> = files.collect();
        files.sort_unstable();
        for (_, slot, dir) in files {
            self.tables.add(Table::Hot, slot);
            self.dirs[dir as usize].reserved_entries += 1;
            self.emit_found(slot);
        }
    }

    /// A mount walks over the reserved area.
    fn emit_found(&mut self, slot: u32) {
        if self.emitted.is_on() {
            let mut io = Vec::new();
            self.reserved.look_up(self.id_of(slot), &mut io);
            self.emit_in(Part::Reserved, io);
        }
    }
}
