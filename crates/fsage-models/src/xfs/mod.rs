//! XFS of Linux 6.18, extent by extent.
//!
//! Source: the XFS driver of Linux 6.18, and `mkfs.xfs` of xfsprogs 6.1 for the fresh layout. With the same operations
//! the model gives the same inode numbers, extents, directory blocks, and trees and lists of free space as that driver,
//! in the regimes that make it deterministic. Rule by rule: `docs/spec/xfs.md`.
//!
//! **Not modeled**: blocks other than 4 KB, stripes, realtime sections, quotas, shared extents, extended attributes
//! other than the security label, direct I/O, `discard`, a log that fills up between two syncs, interior blocks of
//! directories of more than 504 leaves, offsets from 16 TiB on, which the kernel takes and which are too large here.
//!
//! | where | what |
//! |---|---|
//! | [`geometry`] | what `mkfs.xfs` derives |
//! | `btree` | trees with their blocks |
//! | `space`, `counter`, `busy` | free space of AGs and its trees, the counter of free blocks, what waits for the log |
//! | `search`, `allocate` | the search in an AG, and the order of AGs |
//! | `owners` | the tree of owners |
//! | `transaction` | transactions and what they put off |
//! | `chunks` | inodes |
//! | `inode`, `fork` | extents of an inode and their tree |
//! | `data`, `writeback`, `files` | writing, writing back, closing, setting the length, going |
//! | `areas`, `leaf`, `entries`, `directory` | data blocks and leaves of directories, their forms, their operations |
//! | `taken` | which given names are in use |
//! | `layout` | what metrics see |
//! | `clock` | time and processors, where they decide |
//! | `io` | what a host sees |
//! | `image` | images that a kernel mounts |
//! | [`trace`] | every request for blocks, to be held against the kernel's trace |
//! | `check` | the file system check |

mod allocate;
mod areas;
mod btree;
mod busy;
mod check;
mod chunks;
mod clock;
mod counter;
mod data;
mod directory;
mod entries;
mod entry;
mod files;
mod fork;
pub mod geometry;
mod image;
mod inode;
mod io;
mod layout;
mod leaf;
mod owners;
pub mod params;
mod report;
mod search;
mod space;
mod taken;
pub mod trace;
mod transaction;
mod writeback;

pub use entry::ENTRY;
pub use geometry::{Geometry, MkfsError};
pub use inode::{Extent, State};
pub use params::{Features, Params, Regime};
pub use report::{AgReport, InodeChunk, OwnedBlocks, TreeReport};

use crate::changes::{self, Changes};
use crate::log::Log;
use crate::name_table::NameTable;
use crate::names::Names;
use crate::searched;
use chunks::Inodes;
use clock::Clock;
use counter::MadeInodes;
use data::NoSpace;
use directory::Dir;
use fsage_core::io::Emitted;
use fsage_core::operations::{self, DirIds, Model, Namespace, Shortfall};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};
use inode::{Blocks, Inode, Kind};
use space::Space;
use std::collections::BTreeMap;
use taken::Taken;

/// Files have at most so many blocks.
const MOST_FILE_BLOCKS: u64 = u32::MAX as u64;

/// An inode on the list of dirty ones.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    slot: u32,
    /// The generation that it had when it became dirty: its slot may hold another inode by now.
    generation: u32,
    /// When that was.
    since_ns: i64,
}

/// A simulated XFS.
#[derive(Clone, Debug)]
pub struct Xfs {
    params: Params,
    geometry: Geometry,
    space: Space,
    /// Inodes by AG.
    chunks: Vec<Inodes>,
    inodes: Vec<Inode>,
    free_slots: Vec<u32>,
    /// Dirty blocks of files.
    pages: Vec<Blocks>,
    free_pages: Vec<u32>,
    /// Dirty inodes in their order.
    dirty: Vec<Dirty>,
    /// Dirty blocks of all files.
    dirty_blocks: u64,
    /// Files of the day in the order in which they were changed, in the regime `perfile`.
    of_day: Vec<(u32, u32)>,
    /// Files that have asked for more than they needed, by inode.
    tagged: BTreeMap<u64, u32>,
    /// The AG of the next directory, modulo their number.
    rotor: u32,
    names: Names<u32>,
    name_table: NameTable,
    taken: Taken,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_ids: DirIds,
    shortfall: Shortfall,
    clock: Option<Clock>,
    emitted: Emitted,
    log: Log,
    changes: Changes,
}

impl Xfs {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// Parameters that `mkfs.xfs` refuses.
    pub fn new(params: Params) -> Result<Xfs, MkfsError> {
        let geometry = Geometry::mkfs(&params)?;
        let chunks = (0..geometry.ag_count)
            .map(|ag| Inodes::new(&geometry, ag))
            .collect();
        let mut fs = Xfs {
            space: Space::new(&geometry),
            chunks,
            inodes: Vec::new(),
            free_slots: Vec::new(),
            pages: Vec::new(),
            free_pages: Vec::new(),
            dirty: Vec::new(),
            dirty_blocks: 0,
            of_day: Vec::new(),
            tagged: BTreeMap::new(),
            rotor: 0,
            names: Names::default(),
            name_table: NameTable::default(),
            taken: Taken::default(),
            dirs: Vec::new(),
            free_dirs: Vec::new(),
            dir_ids: DirIds::default(),
            shortfall: Shortfall::default(),
            clock: Clock::new(&params, geometry.ag_count),
            emitted: Emitted::default(),
            log: Log::default(),
            changes: Changes::default(),
            params,
            geometry,
        };
        fs.make_root();
        fs.mount();
        Ok(fs)
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Its sizes.
    pub fn sizes(&self) -> &Geometry {
        &self.geometry
    }

    /// Counters and reserves as after mounting.
    fn mount(&mut self) {
        let blocks: Vec<u32> = self.chunks.iter().map(Inodes::blocks_of_free).collect();
        self.space.mount(&blocks);
        let made = self.chunks.iter().map(|inodes| u64::from(inodes.count));
        self.space.made_inodes = MadeInodes::new(made.sum());
        self.have_processors();
    }

    /// `syncfs`: everything is written back, and the log goes to disk.
    fn sync_all(&mut self) {
        self.write_back_all();
        // Meanwhile the disk was waited for.
        self.inactivate_all();
        self.space.log.force();
    }

    /// The end of a day: everything is synced, and but by default the log is emptied by a freeze.
    fn sync_day(&mut self) {
        self.write_back_day();
        self.sync_all();
        if self.params.regime != Regime::Default {
            self.space.freeze();
        }
    }

    fn fits(offset: u64, bytes: u64) -> bool {
        let end = offset.checked_add(bytes);
        end.is_some_and(|end| end <= MOST_FILE_BLOCKS * geometry::BLOCK)
    }

    /// The inode of a file.
    fn inode_of(&self, file: u32) -> u32 {
        self.names.file(file).inode
    }

    /// What metrics saw of a file is kept, before it changes.
    fn touch(&mut self, slot: u32) {
        if self.changes.is_on() {
            let file = self.inodes[slot as usize].file;
            if file != u32::MAX {
                changes::touch_file(self, file);
            }
        }
    }

    /// A file is changed today.
    fn note_of_day(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        if self.params.regime == Regime::PerFile
            && !std::mem::replace(&mut inode.flags.is_of_day, true)
        {
            self.of_day.push((slot, inode.generation));
        }
    }

    /// Runs something on a file that is open meanwhile.
    fn while_open(
        &mut self,
        slot: u32,
        run: impl FnOnce(&mut Xfs) -> Result<(), NoSpace>,
    ) -> Outcome {
        self.note_of_day(slot);
        let result = run(self);
        self.close(slot);
        self.write_back_if_much();
        result.map_or(Outcome::NoSpace, |()| Outcome::Done)
    }
}

impl Namespace for Xfs {
    type File = u32;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<u32> {
        self.names.find(id)
    }

    #[inline]
    fn size_bytes(&self, file: u32) -> u64 {
        self.inodes[self.inode_of(file) as usize].size
    }

    fn links(&self, file: u32) -> u32 {
        self.names.links(file)
    }

    fn place_of(&self, id: FileId, file: u32) -> u32 {
        self.names.place(id, file).0
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs[dir as usize].parent
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].entries.count == 0
    }

    #[inline]
    fn dir_ids(&self) -> &DirIds {
        &self.dir_ids
    }

    #[inline]
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::once(&self.shortfall)
    }
}

impl Model for Xfs {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    /// Time passes with what is done, and not with what is refused.
    fn before(&mut self, op: &Op) {
        self.pass_time();
        if self.emitted.is_on() {
            searched::emit_names(self, op);
        }
    }

    #[inline]
    fn touch_file(&mut self, file: u32) {
        changes::touch_file(self, file);
    }

    #[inline]
    fn touch_directory(&mut self, dir: u32) {
        changes::touch_directory(self, dir);
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        match self.make_file(id, dir, Kind::File, 0) {
            Ok(_) if bytes == 0 => Outcome::Done,
            Ok(slot) if Xfs::fits(0, bytes) => self.while_open(slot, |fs| fs.write(slot, 0, bytes)),
            Ok(_) => Outcome::TooLarge,
            Err(outcome) => outcome,
        }
    }

    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        self.make_symlink(id, dir, bytes)
    }

    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        // Nothing is written anywhere, however far behind.
        let offset = if bytes == 0 { 0 } else { offset };
        if !Xfs::fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        let slot = self.inode_of(file);
        self.while_open(slot, |fs| fs.write(slot, offset, bytes))
    }

    fn fallocate(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        if !Xfs::fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        let slot = self.inode_of(file);
        self.while_open(slot, |fs| fs.allocate_range(slot, offset, bytes))
    }

    fn punch(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        let slot = self.inode_of(file);
        if bytes == 0 {
            return self.while_open(slot, |_| Ok(()));
        }
        self.while_open(slot, |fs| fs.punch_hole(slot, offset, bytes))
    }

    fn rewrite(&mut self, file: u32, bytes: u64) -> Outcome {
        let slot = self.inode_of(file);
        let fits = Xfs::fits(0, bytes);
        let outcome = self.while_open(slot, |fs| {
            fs.truncate(slot, 0);
            if fits {
                fs.write(slot, 0, bytes)
            } else {
                Ok(())
            }
        });
        if fits { outcome } else { Outcome::TooLarge }
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        if !Xfs::fits(0, bytes) {
            return Outcome::TooLarge;
        }
        let slot = self.inode_of(file);
        self.while_open(slot, |fs| {
            fs.truncate(slot, bytes);
            Ok(())
        })
    }

    fn delete(&mut self, id: FileId, file: u32) {
        self.remove_name(id, file);
    }

    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        self.move_name(id, file, to, replaced)
    }

    fn link(&mut self, id: FileId, _existing: FileId, file: u32, dir: u32) -> Outcome {
        let name = self.new_file_name(id, dir);
        let Ok(address) = self.enter_alone(dir, name) else {
            self.name_table.take_back(name);
            return Outcome::NoSpace;
        };
        self.name_table.call(id.0, name);
        self.names.link(id, file, dir, address);
        self.log_change(self.inode_of(file));
        Outcome::Done
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        self.new_directory(id, parent)
    }

    fn remove_directory(&mut self, dir: u32) {
        self.drop_directory(dir);
    }

    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        self.move_dir(dir, to)
    }

    fn fsync(&mut self, file: u32) {
        let slot = self.inode_of(file);
        self.sync_file(slot);
        self.close(slot);
        self.emit_commit();
    }

    fn sync(&mut self) {
        self.sync_all();
        self.log.forget();
    }

    /// Everything goes to disk, files are trimmed, and what memory holds goes.
    fn remount(&mut self) {
        self.sync();
        let mut slots: Vec<(u64, u32)> = Vec::new();
        for (slot, inode) in (0..).zip(&mut self.inodes) {
            inode.flags.was_released = false;
            if inode.kind != Kind::Directory && inode.has_to_be_trimmed() {
                slots.push((inode.ino, slot));
            }
        }
        slots.sort_unstable();
        for (_, slot) in slots {
            self.trim(slot);
        }
        for inodes in &mut self.chunks {
            inodes.forget();
        }
        self.tagged.clear();
        self.rotor = 0;
        self.space.log.force();
        self.mount();
        self.mount_in_time();
    }
}

impl FileSystem for Xfs {
    fn set_time(&mut self, t_ns: i64) {
        if let Some(clock) = &mut self.clock {
            clock.set(t_ns);
        }
    }

    fn name_next(&mut self, name: &[u8]) {
        self.name_table.name_next(name);
    }

    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let outcome = if matches!(op, Op::Day) {
            self.pass_time();
            self.sync_day();
            Ok(Outcome::Done)
        } else {
            operations::apply(self, op)
        };
        self.name_table.end_operation();
        outcome
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        Some(self.size_bytes(self.names.find(file)?))
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let slot = self.inode_of(self.names.find(file)?);
        Some(self.inodes[slot as usize].ino)
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let slot = self.dirs[self.dir_ids.get(dir)? as usize].inode;
        Some(self.inodes[slot as usize].ino)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
