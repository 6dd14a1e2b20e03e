//! Adaptive file rearrangement (Cheng et al.): files that are used often move to a file system of their own in the
//! middle of the disk, the reserved area, and back when others need the room.
//!
//! ```text
//!   | 1: outside                    | 2: reserved area | 3: something else, or the rest of 1 |
//!     a/f1  a/f2  b/f3                a/f4                                                    a file is in one of both
//! ```
//!
//! - The **hot table** has one entry for every file of the reserved area, the **cold table** one for every file outside
//!   that is known, with a count of its uses; both drop what was used least recently. They lie in memory, and a remount
//!   loses them: then every file of the reserved area is hot, and nothing is known of any other.
//! - A file that is written goes to the reserved area if it is there or **hinted**; one that was used more often than
//!   the **threshold** moves there. One that lies **near** stays where it is, hinted or not.
//! - Room is made by moving out the file that was used least recently.
//! - A move copies the file, syncs the copy, then unlinks the original and syncs that: see `moves`.
//!
//! What the paper leaves open, and what holds here:
//!
//! - Directories are made in the reserved area as files need them, and removed when moving out empties them, when the
//!   directory itself is removed, or when nothing else makes room. A directory with hot files is not empty, and
//!   is moved in both places.
//! - A file with several names stays outside: a hot one moves out before it gets the second one. So do symbolic links.
//! - A hot file that grows needs room as a new one does; if there is none it moves out and grows outside. One that
//!   would be larger than the reserved area moves out first.
//! - A rename over a file in the other place is a rename, then an unlink.
//! - Files without a block stay outside, as do those larger than the reserved area.
//! - A file that is rewritten from nothing is cut before it moves: there is nothing to copy.
//! - A move that does not succeed for lack of space leaves the file where it was.

mod check;
mod file_system;
mod layout;
mod model;
mod moves;
#[cfg(test)]
mod tests;

use super::lists::{Lists, Table};
use super::map::{Around, Map, Middle};
use super::settings::Third;
use super::{Counters, LayerError, Part, Rearranged, Settings, access_of};
use crate::names::Names;
use crate::registry::AnyModel;
use fsage_core::io::Emitted;
use fsage_core::io::{AnyHosted, Hosted, Io};
use fsage_core::operations::{DirIds, ROOT, Shortfall};
use fsage_core::{DirId, FileId, FileSystem as _, Layout, Op, Outcome};
use moves::Move;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Range;

/// A directory.
#[derive(Clone, Copy, Debug)]
struct Dir {
    id: u64,
    parent: u32,
    alive: bool,
    /// Names in it, of files and directories.
    entries: u32,
    /// It is in the reserved area as well.
    mirrored: bool,
    /// Those of its names that are there.
    reserved_entries: u32,
}

/// Sizes that the rules go by, in bytes and entries.
#[derive(Clone, Copy, Debug)]
struct Limits {
    block_bytes: u64,
    /// What the files of the reserved area can take, all together.
    capacity_bytes: u64,
    /// What only the superuser may take there.
    reserve_bytes: u64,
    margin_bytes: u64,
    near_blocks: u64,
    hot_entries: u64,
    cold_entries: u64,
}

/// Two file systems on one disk, and the files that move between them.
#[derive(Clone, Debug)]
pub(super) struct AdaptiveFiles<F> {
    settings: Settings,
    limits: Limits,
    disk_bytes: u64,
    outside: F,
    outside_map: Around,
    reserved: F,
    reserved_map: Middle,
    /// Every file and where its names stand; [`Lists`] has the same slots.
    names: Names<()>,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_ids: DirIds,
    shortfall: Shortfall,
    tables: Lists,
    hints: FxHashSet<u64>,
    /// Files that are to move in, in the order in which they got hot.
    waiting: VecDeque<u32>,
    /// The move that is under way.
    moving: Option<Move>,
    counters: Counters,
    now_ns: Option<i64>,
    last_op_ns: Option<i64>,
    emitted: Emitted,
}

impl<F: Hosted> AdaptiveFiles<F> {
    /// Both file systems empty, the reserved one in `middle`.
    pub fn new<E>(
        settings: &Settings,
        disk_bytes: u64,
        middle: Range<u64>,
        make: impl Fn(Part, u64) -> Result<F, LayerError<E>>,
    ) -> Result<AdaptiveFiles<F>, LayerError<E>> {
        let reserved_bytes = middle.end - middle.start;
        let outside = make(
            Part::Outside,
            match settings.third {
                Third::Unused => middle.start,
                Third::Files => disk_bytes - reserved_bytes,
            },
        )?;
        let reserved = make(Part::Reserved, reserved_bytes)?;
        let geometry = reserved.geometry();
        let block_bytes = u64::from(reserved.block_bytes());
        let near_bytes = Settings::part(reserved_bytes, settings.near_ppm);
        let hot_entries = settings.hot_entries.unwrap_or(geometry.inodes_total);
        let mut limits = Limits {
            block_bytes,
            capacity_bytes: 0,
            reserve_bytes: geometry.reserved_bytes,
            margin_bytes: Settings::part(reserved_bytes, settings.margin_ppm),
            near_blocks: near_bytes / block_bytes,
            hot_entries,
            cold_entries: hot_entries.saturating_mul(settings.cold_times),
        };
        limits.capacity_bytes = free_bytes(&reserved, &limits);
        let root = Dir {
            id: DirId::ROOT.0,
            parent: ROOT,
            alive: true,
            entries: 0,
            mirrored: true,
            reserved_entries: 0,
        };
        Ok(AdaptiveFiles {
            settings: settings.clone(),
            limits,
            disk_bytes,
            outside,
            reserved_map: Middle {
                start_bytes: middle.start,
            },
            outside_map: Around { middle },
            reserved,
            names: Names::default(),
            dirs: vec![root],
            free_dirs: Vec::new(),
            dir_ids: DirIds::default(),
            shortfall: Shortfall::default(),
            tables: Lists::default(),
            hints: FxHashSet::default(),
            waiting: VecDeque::new(),
            moving: None,
            counters: Counters::default(),
            now_ns: None,
            last_op_ns: None,
            emitted: Emitted::default(),
        })
    }

    /// Applies an operation, which fits the state, to one of both file systems.
    fn apply_to(&mut self, part: Part, op: &Op) -> Outcome {
        let fs = match part {
            Part::Outside => &mut self.outside,
            Part::Reserved => &mut self.reserved,
        };
        let applied = fs.apply(op);
        if self.emitted.is_on() {
            let io = std::mem::take(fs.emitted());
            self.emit_in(part, io);
        }
        match applied {
            Ok(outcome) => outcome,
            Err(error) => panic!("{part} refuses {op:?}, which was looked at before: {error}"),
        }
    }

    /// Emits what one of both file systems emits.
    fn emit_in(&mut self, part: Part, io: Vec<Io>) {
        let mut emitted = std::mem::take(self.emitted.list());
        self.on_disk(part, io, &mut emitted);
        *self.emitted.list() = emitted;
    }

    /// What one of both file systems emits, in the addresses of the disk.
    fn on_disk(&self, part: Part, io: Vec<Io>, emitted: &mut Vec<Io>) {
        match part {
            Part::Outside => self.outside_map.list(io, emitted),
            Part::Reserved => self.reserved_map.list(io, emitted),
        }
    }

    fn part(&self, part: Part) -> &F {
        match part {
            Part::Outside => &self.outside,
            Part::Reserved => &self.reserved,
        }
    }

    /// Where a file is.
    fn part_of(&self, slot: u32) -> Part {
        if self.tables.is_hot(slot) {
            Part::Reserved
        } else {
            Part::Outside
        }
    }

    /// The first name of a file, under which both file systems know it.
    fn id_of(&self, slot: u32) -> FileId {
        FileId(self.names.file(slot).id)
    }

    /// Whether what is in a directory is hinted.
    fn is_hinted(&self, dir: u32) -> bool {
        if self.hints.is_empty() {
            return false;
        }
        let mut at = dir;
        loop {
            let dir = &self.dirs[at as usize];
            let named = at != ROOT || self.dir_ids.get(DirId::ROOT) == Some(ROOT);
            if named && self.hints.contains(&dir.id) {
                return true;
            }
            if at == ROOT {
                return false;
            }
            at = dir.parent;
        }
    }

    /// Whether a file can never move: it has several names, or is a symbolic link.
    fn is_bound(&self, slot: u32) -> bool {
        let entry = self.names.file(slot).entry;
        entry.is_linked() || entry.is_symlink()
    }

    /// A file was opened and used: counts that, and wakes `Move_in` for a file that got hot.
    fn used(&mut self, slot: u32, bytes: u64, hit: bool) {
        let hot = self.tables.is_hot(slot);
        let counters = &mut self.counters;
        counters.accesses += 1;
        counters.accessed_bytes += bytes;
        if hot {
            counters.hot_hits += u64::from(hit);
            counters.center_accesses += u64::from(bytes > 0);
            counters.center_bytes += bytes;
            self.tables.touch(slot);
        } else if !self.names.file(slot).entry.is_symlink() {
            self.touch_cold(slot);
        }
    }

    fn touch_cold(&mut self, slot: u32) {
        if self.tables.table_of(slot) == Some(Table::Cold) {
            if self.tables.touch(slot) > self.settings.threshold && self.tables.begin_wait(slot) {
                self.waiting.push_back(slot);
            }
            return;
        }
        if self.tables.len(Table::Cold) >= self.limits.cold_entries {
            // `Delete_entry`.
            let Some(oldest) = self.tables.tail(Table::Cold) else {
                return;
            };
            self.tables.remove(oldest);
            self.counters.dropped_cold += 1;
        }
        self.tables.add(Table::Cold, slot);
    }

    /// Counts what an operation that is done has used.
    fn note_use(&mut self, op: &Op, outcome: Outcome) {
        let access = access_of(op, outcome, |file| {
            let slot = self.names.find(file)?;
            self.part(self.part_of(slot)).file_size(self.id_of(slot))
        });
        if let Some(access) = access
            && let Some(slot) = self.names.find(access.file)
        {
            self.used(slot, access.bytes, !matches!(op, Op::Create { .. }));
        }
    }
}

/// Bytes that new files can take in the reserved area.
fn free_bytes(fs: &impl Layout, limits: &Limits) -> u64 {
    let space = fs.space().unwrap_or_default();
    // Fragments are no room for a block.
    let free = space.free_blocks * limits.block_bytes;
    free.saturating_sub(limits.reserve_bytes)
}

impl<F: AnyHosted + Clone + Debug + 'static> AnyModel for AdaptiveFiles<F> {
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

impl<F: AnyHosted + Clone + Debug + 'static> Rearranged for AdaptiveFiles<F> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn center(&self) -> Range<u64> {
        self.outside_map.middle.clone()
    }

    fn duplicate(&self) -> Box<dyn Rearranged> {
        Box::new(self.clone())
    }
}
