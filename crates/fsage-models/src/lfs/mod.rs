//! BSD LFS: the log-structured file system of 4.4BSD-Lite2 with its cleaner, and that of NetBSD.
//!
//! The rules are those of `lfs_segment.c`, `lfs_bio.c`, `lfs_inode.c`, `lfs_cleanerd` and `newlfs` (Seltzer et al. 1993
//! and 1995), and for the variant `netbsd` those of NetBSD of August 2016, whose partial segments and choices of the
//! cleaner come out exactly. Rule by rule: `docs/spec/lfs.md`.
//!
//! **Not modeled**: quotas, times of access, memory pressure other than the threshold of dirty blocks, log wrap
//! control, values of checksums.
//!
//! | where | what |
//! |---|---|
//! | [`geometry`] | segments, superblocks, names of indirect blocks, blocks of the ifile |
//! | [`params`] | the two variants, and what can be chosen |
//! | `usage` | the segment usage table |
//! | `segments` | the summaries in the segments |
//! | `inode` | inodes, addresses of blocks, what is dirty |
//! | `writer` | partial segments |
//! | `checkpoint` | segment writes, checkpoints, fsync |
//! | `data` | writing and truncating files |
//! | `directory` | entries, files and directories that come and go |
//! | `ifile` | inode numbers |
//! | `operations` | what a workload does |
//! | `layout` | what metrics see |
//! | `io` | what a host sees |
//! | `recorder`, [`Disk`] | what was written with its contents, if that is asked for |
//! | [`Recovery`] | what is found on a disk after a crash: checkpoint and roll-forward |
//! | `check` | the file system check |
//! | `memory` | what all this takes |
//! | [`cleaner`] | choosing and cleaning segments; one file a policy |
//! | [`costs`] | what the log and its cleaner take, where there is no disk to ask |
//! | [`report`], [`Trace`] | what a microscope may look at, and the microscope |

mod check;
mod checkpoint;
pub mod cleaner;
pub mod costs;
mod data;
mod directory;
mod disk;
mod entry;
pub mod geometry;
mod ifile;
mod inode;
mod io;
mod layout;
mod memory;
mod operations;
pub mod params;
mod recorder;
mod recovery;
pub mod report;
mod segments;
mod trace;
mod usage;
mod writer;

pub use disk::{Disk, Write};
pub use entry::ENTRY;
pub use geometry::{Geometry, NewfsError};
pub use params::{AgeRule, Params, Variant};
pub use recovery::{Recovery, Unrecoverable};
pub use trace::Trace;

use cleaner::Candidates;
use directory::Directory;
use ifile::{FreeInodes, MapEntry};
use inode::{Block, Inode, Kind};
use operations::Name;
use recorder::Recorder;
use report::{Counters, Event};
use segments::{Log, sectors};
use usage::UsageTable;
use writer::Open;

use crate::changes::Changes;
use fsage_core::io::Emitted;
use fsage_core::operations::{DirIds, Shortfall};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Slot and inode of the ifile.
const IFILE: u32 = 0;

/// Why a run has ended: a result, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum End {
    /// A writer waits for the cleaner, and no segment qualifies, even after a checkpoint.
    #[error("the cleaner cannot progress: no segment can be cleaned")]
    NoCandidate,
    /// A writer waits for the cleaner, and the last cleaned segments were no net gain.
    #[error("the cleaner cannot progress: the last segments that it cleaned were no gain")]
    NoProgress,
    /// The log needs a segment, and there is none.
    #[error("the log needs a segment, and none is clean")]
    NoCleanSegment,
}

/// A simulated LFS.
#[derive(Clone, Debug)]
pub struct Lfs {
    params: Params,
    geometry: Geometry,
    usage: UsageTable,
    /// What was written into each segment.
    logs: Vec<Log>,
    /// Segments that may be cleaned, but for what changed since they were last asked for.
    candidates: Candidates,
    /// Segments that hold nothing live, likewise.
    empty: BTreeSet<u32>,
    age_rule: AgeRule,
    /// The segment that is being written.
    current: u32,
    /// The one after it, chosen when this one was begun.
    next: Option<u32>,
    /// Sector at which the next partial segment starts.
    offset: u32,
    /// Segments begun since the last checkpoint.
    active: u32,
    /// Segments begun in all.
    switches: u64,
    serial: u64,
    open: Open,
    inodes: Vec<Inode>,
    free_slots: Vec<u32>,
    /// Slots of inodes that were freed and may still be listed.
    gone: Vec<u32>,
    map: Vec<MapEntry>,
    free_inodes: FreeInodes,
    /// Inodes that may have something to write.
    listed: Vec<u32>,
    /// Inodes marked by directory operations, in the order of marking.
    marked: Vec<u32>,
    vnodes: u64,
    /// Sectors that hold nothing useful, known or promised.
    bfree: i64,
    dirty_sectors: u64,
    /// Dirty data blocks, those of the ifile apart.
    dirty_data: u64,
    dirty_pointers: u64,
    /// Operations so far: what ages are measured in.
    now: u64,
    /// Which of the two superblocks is written next.
    active_superblock: u32,
    /// `lite2`: the next segment write also writes the ifile, since there was a directory operation.
    ifile_due: bool,
    /// The cleaner works.
    cleaning: bool,
    ended: Option<End>,
    /// When the last operation was, nanoseconds from the workload's 0.
    idle_since_ns: Option<i64>,
    /// Directories; the root is the first.
    dirs: Vec<Directory>,
    free_dirs: Vec<u32>,
    names: FxHashMap<u64, Name>,
    /// Names of inodes that have several, by slot, the oldest first.
    linked: BTreeMap<u32, Vec<u64>>,
    dir_ids: DirIds,
    /// Bytes of the entry of the next name.
    next_entry: Option<u16>,
    shortfall: Shortfall,
    counters: Counters,
    events: Option<Vec<Event>>,
    emitted: Emitted,
    recorder: Option<Box<Recorder>>,
    changes: Changes,
    /// The segment that was being written, and how far, when metrics last looked.
    seen_end: (u32, u32),
}

/// There is no space for what was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoSpace;

impl Lfs {
    /// A block becomes dirty, unless it is so already or part of the open partial segment.
    fn dirty(&mut self, slot: u32, lbn: i32) {
        self.dirty_for(slot, lbn, Inode::MODIFIED);
    }

    /// The same, with what that makes of the inode.
    fn dirty_for(&mut self, slot: u32, lbn: i32, flag: u8) {
        let inode = &mut self.inodes[slot as usize];
        let bytes = inode.block_bytes(&self.geometry, lbn);
        let block = inode.block_mut(&self.geometry, lbn);
        if block.is(Block::DIRTY | Block::GATHERED) {
            return;
        }
        let fresh = !block.is(Block::THERE);
        block.set(Block::DIRTY | Block::THERE, true);
        self.dirty_sectors += u64::from(sectors(bytes));
        let pending = inode.pending_mut();
        if lbn < 0 {
            pending.pointers.push(lbn);
            self.dirty_pointers += 1;
        } else {
            pending.data.push(lbn);
            self.dirty_data += u64::from(slot != IFILE);
        }
        self.flag(slot, flag);
        self.emit_changed(slot, lbn, fresh);
    }

    /// An inode changes.
    fn inode_changed(&mut self, slot: u32) {
        self.flag(slot, Inode::MODIFIED);
    }

    fn flag(&mut self, slot: u32, flag: u8) {
        let inode = &mut self.inodes[slot as usize];
        inode.set(flag, true);
        if !inode.is(Inode::LISTED) {
            inode.set(Inode::LISTED, true);
            self.listed.push(slot);
        }
    }

    /// Sectors that can be written now: clean segments and the rest of this one, less the reserve and dirty blocks. The
    /// reserve counts twice, as `newlfs` has it; the summary of each clean segment is paid for.
    fn avail(&self) -> i64 {
        let g = &self.geometry;
        let clean = i64::from(self.usage.clean()) * i64::from(g.segment_sectors - 1);
        let rest = g.segment_sectors - (self.offset - g.segment_start(self.current));
        let reserve = 2 * i64::from(self.params.reserve_segments) * i64::from(g.segment_sectors);
        clean + i64::from(rest) - reserve - self.dirty_sectors as i64
    }

    /// Makes an inode in memory; gives its slot.
    fn new_inode(&mut self, ino: u32, kind: Kind) -> u32 {
        self.vnodes += 1;
        let inode = Inode::new(ino, kind, self.vnodes);
        let slot = if let Some(slot) = self.free_slots.pop() {
            self.inodes[slot as usize] = inode;
            slot
        } else {
            self.inodes.push(inode);
            self.inodes.len() as u32 - 1
        };
        self.map[ino as usize].slot = slot;
        slot
    }
}
