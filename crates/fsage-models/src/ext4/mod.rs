//! Ext4 of Linux 6.18, extent by extent.
//!
//! Source: the ext4 driver of Linux 6.18, and `mkfs.ext4` of e2fsprogs 1.47.0 for the fresh layout. With the same
//! operations the model gives the same inode numbers, extents, tree blocks and directory blocks as that driver in the
//! regimes that make it deterministic. Rule by rule: `docs/spec/ext4.md`.
//!
//! **Not modeled**: a journal whose running transaction fills up between two syncs, memory pressure, `data=journal`,
//! bigalloc, inline data, quotas, stripes. A host is not told of holes that are punched.
//!
//! | where | what |
//! |---|---|
//! | [`geometry`] | what `mkfs.ext4` derives |
//! | `groups`, `bits`, `pieces`, `group_set` | bitmaps, buddy pieces, and groups by what is free in them |
//! | `counters` | counters that lag behind |
//! | `alloc` | requests, what is set aside, the search |
//! | `tree` | the extent tree; in it `unwritten`: extents that were never written, and holes |
//! | `cache`, `runs` | pages, delayed blocks; sets of blocks |
//! | `clock` | time and processors, where they decide |
//! | `data` | writing, writing back, setting the length, `fallocate` |
//! | `inodes` | groups of inodes |
//! | `directory`, `entries`, `hash` | directories and their index |
//! | `layout` | what metrics see |
//! | `io` | what a host sees |
//! | [`trace`] | every request for blocks, to be held against the kernel's trace |
//! | `check` | the file system check |
//! | [`image`] | the file system as it lies on a disk |

mod alloc;
mod bits;
mod cache;
mod check;
mod clock;
mod counters;
mod data;
mod directory;
mod entries;
mod entry;
pub mod geometry;
mod group_set;
mod groups;
mod hash;
pub mod image;
mod inodes;
mod io;
mod layout;
pub mod params;
mod pieces;
mod runs;
pub mod trace;
mod tree;

pub use entry::ENTRY;
pub use geometry::{Geometry, MkfsError};
pub use params::{Checksums, Params, Regime, SyncPolicy};
pub use tree::Entry;

use crate::changes::{self, Changes};
use crate::log::Log;
use crate::name_table::Name;
use crate::names::Names;
use crate::searched;
use alloc::{LISTS, Shared};
use cache::Cache;
use clock::Clock;
use counters::{Counter, Counters};
use directory::Dir;
use entries::Format;
use fsage_core::io::Emitted;
use fsage_core::operations::{self, DirIds, Model, Namespace, Shortfall};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};
use geometry::Made;
use groups::Groups;
use hash::Keys;
use std::num::NonZeroU32;
use tree::Tree;

/// Files have at most so many blocks.
const MOST_BLOCKS: u64 = u32::MAX as u64;
/// Names that a file may have; directories may have more links than there is room to count. Source: `EXT4_LINK_MAX`.
const MOST_LINKS: u32 = 65_000;
/// Blocks that are kept free for what counters do not say, a processor.
const WATERMARK: i64 = 4 * 32;

/// Nobody has looked at an inode since the mount.
const COLD: u32 = 0;
/// It was looked at since, and is part of no transaction.
const SEEN: u32 = 1;

/// Slot of the file of what is none.
const NO_FILE: u32 = u32::MAX;

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Symlink,
}

/// An inode.
#[derive(Clone, Debug)]
struct Inode {
    ino: u32,
    kind: Kind,
    /// Slot of its file among the names; `NO_FILE` of a directory.
    file: u32,
    /// All of its pages are cached, if memory holds nothing special of it.
    is_cached: bool,
    /// An operation was to change it since the day began.
    is_of_today: bool,
    /// Where that is kept, from 1.
    cache: Option<NonZeroU32>,
    /// The transaction in which it was changed last, or what is known of it since a mount.
    changed_in: u32,
    size: u64,
    tree: Tree,
}

/// An inode on the dirty list.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    inode: u32,
    /// The stamp that it had when it became dirty; it may be on the list of another time by now, or on none.
    stamp: u64,
    /// When that was.
    since_ns: i64,
}

/// A simulated Ext4.
#[derive(Clone, Debug)]
pub struct Ext4 {
    params: Params,
    geometry: Geometry,
    groups: Groups,
    counters: Counters,
    inodes: Vec<Inode>,
    free_inodes: Vec<u32>,
    cached: Vec<(u32, Cache)>,
    free_caches: Vec<u32>,
    /// Dirty inodes in their order.
    dirty: Vec<Dirty>,
    next_dirty: u64,
    /// Blocks freed since the last commit.
    freed: Vec<(u32, u32)>,
    commits: u64,
    /// The running transaction of the journal, or the one that will run, and whether it does.
    transaction: u32,
    is_running: bool,
    /// A file was opened since the mount.
    is_in_use: bool,
    /// Slots of inodes that an operation was to change since the day began.
    of_today: Vec<u32>,
    /// What small files share, for each processor that allocates; and the one that does now.
    shared: Vec<[Vec<Shared>; LISTS]>,
    cpu: usize,
    /// In the regime that has one.
    clock: Option<Clock>,
    stream_goals: Vec<u32>,
    watermark: i64,
    names: Names<u32>,
    keys: Keys,
    format: Format,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_ids: DirIds,
    shortfall: Shortfall,
    emitted: Emitted,
    log: Log,
    /// Requests for blocks that were served, where they are recorded.
    served: Option<Vec<trace::Served>>,
    changes: Changes,
}

impl Ext4 {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// Parameters that `mkfs.ext4` refuses.
    pub fn new(params: Params) -> Result<Ext4, MkfsError> {
        let made = Made::new(&params)?;
        let mut fs = Ext4::of(params, made);
        fs.make_first_directories();
        fs.count();
        Ok(fs)
    }

    /// One without inodes or directories.
    fn of(params: Params, made: Made) -> Ext4 {
        let groups = Groups::new(&made);
        let geometry = made.geometry;
        let goals = params.cpus.min(geometry.groups.div_ceil(4));
        Ext4 {
            groups,
            counters: Counters::default(),
            inodes: Vec::new(),
            free_inodes: Vec::new(),
            cached: Vec::new(),
            free_caches: Vec::new(),
            dirty: Vec::new(),
            next_dirty: 1,
            freed: Vec::new(),
            commits: 0,
            transaction: 2,
            is_running: false,
            is_in_use: false,
            of_today: Vec::new(),
            shared: match params.regime {
                Regime::Default => vec![Default::default(); params.cpus as usize],
                _ => vec![Default::default()],
            },
            cpu: 0,
            clock: Clock::new(&params),
            stream_goals: vec![0; goals as usize],
            watermark: WATERMARK * i64::from(params.cpus),
            names: Names::default(),
            keys: Keys::new(params.hash_seed),
            format: Format {
                block_bytes: geometry.block_bytes as u32,
                has_sums: params.checksums == Checksums::All,
            },
            dirs: Vec::new(),
            free_dirs: Vec::new(),
            dir_ids: DirIds::default(),
            shortfall: Shortfall::default(),
            emitted: Emitted::default(),
            log: Log::default(),
            served: None,
            changes: Changes::default(),
            params,
            geometry,
        }
    }

    /// Sets the counters to what there is.
    fn count(&mut self) {
        let sum =
            |of: fn(&groups::Sums) -> u32| self.groups.flex.iter().map(|s| u64::from(of(s))).sum();
        let cpus = self.params.cpus;
        self.counters = Counters {
            free_inodes: Counter::new(sum(|sums| sums.free_inodes), cpus),
            free_blocks: Counter::new(sum(|sums| sums.free_blocks), cpus),
            directories: Counter::new(sum(|sums| sums.directories), cpus),
            delayed: Counter::new(0, cpus),
        };
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Its sizes.
    pub fn sizes(&self) -> &Geometry {
        &self.geometry
    }

    /// Times that freed blocks were handed back to the allocator.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Opens a file for writing, and keeps it open. Writes go through this descriptor until it is closed.
    pub fn open(&mut self, file: FileId) {
        if let Some(slot) = self.names.find(file) {
            self.open_for_writing(self.names.file(slot).inode);
        }
    }

    /// Closes a file that [`open`](Ext4::open) opened.
    pub fn close(&mut self, file: FileId) {
        if let Some(slot) = self.names.find(file) {
            let inode = self.names.file(slot).inode;
            if self.cache_of(inode).is_some_and(|cache| cache.writers > 0) {
                self.close_writer(inode);
            }
        }
    }

    /// Extents of a file: first block in the file, first block on disk, length.
    pub fn extents(&self, file: FileId) -> Option<Vec<Entry>> {
        Some(self.extents_of(self.names.file(self.names.find(file)?).inode))
    }

    /// The same of a directory.
    pub fn directory_extents(&self, dir: DirId) -> Option<Vec<Entry>> {
        let slot = self.dir_ids.get(dir)?;
        Some(self.extents_of(self.dirs[slot as usize].inode))
    }

    /// The same of the root.
    pub fn root_extents(&self) -> Vec<Entry> {
        self.extents_of(self.dirs[operations::ROOT as usize].inode)
    }

    fn extents_of(&self, inode: u32) -> Vec<Entry> {
        let mut extents = Vec::new();
        self.inodes[inode as usize]
            .tree
            .visit(&mut |entry| extents.push(*entry));
        extents
    }

    /// Blocks of the tree of a file, those above before those below.
    pub fn tree_blocks(&self, file: FileId) -> Option<Vec<u32>> {
        Some(self.tree_blocks_of(self.names.file(self.names.find(file)?).inode))
    }

    /// The same of a directory.
    pub fn directory_tree_blocks(&self, dir: DirId) -> Option<Vec<u32>> {
        let slot = self.dir_ids.get(dir)?;
        Some(self.tree_blocks_of(self.dirs[slot as usize].inode))
    }

    fn tree_blocks_of(&self, inode: u32) -> Vec<u32> {
        let mut blocks = Vec::new();
        self.inodes[inode as usize]
            .tree
            .visit_blocks(&mut |block| blocks.push(block));
        blocks
    }

    /// Runs of blocks of a group that are free on disk, as positions in it: first, and the one behind.
    pub fn free_blocks(&self, group: u32) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        let all = 0..self.geometry.blocks_in(group);
        self.groups
            .visit_free_on_disk(group, all, |start, end| runs.push((start, end)));
        runs
    }

    /// Runs of free inodes of a group, the same way.
    pub fn free_inode_runs(&self, group: u32) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        self.groups
            .visit_free_inodes(group, |start, end| runs.push((start, end)));
        runs
    }

    /// Directories of a group.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn directories(&self, group: u32) -> u32 {
        self.groups.all[group as usize].directories
    }

    fn fits(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.checked_add(bytes);
        end.is_some_and(|end| end <= MOST_BLOCKS << self.geometry.block_bits)
    }

    /// The inode of a file.
    fn inode_of(&self, file: u32) -> u32 {
        self.names.file(file).inode
    }

    /// What a regime does where data is written to an open file.
    fn put(&mut self, inode: u32, offset: u64, bytes: u64, is_new: bool) -> Outcome {
        let result = if self.params.regime == Regime::D && bytes > 0 {
            self.allocate_range(inode, offset, bytes)
        } else {
            self.write(inode, offset, bytes, is_new)
        };
        self.write_back_if_much();
        result.map_or(Outcome::NoSpace, |()| Outcome::Done)
    }

    /// Runs something on a file that is open meanwhile, and syncs it where that is asked for.
    fn while_open(&mut self, inode: u32, run: impl FnOnce(&mut Ext4) -> Outcome) -> Outcome {
        self.open_for_writing(inode);
        let was_open = self.cache_mut(inode).writers > 1;
        let outcome = run(self);
        if self.params.sync == SyncPolicy::Each && !was_open {
            self.sync_one(inode);
        }
        self.close_writer(inode);
        outcome
    }

    /// `fsync`: the inode keeps its place among the dirty ones.
    fn sync_one(&mut self, inode: u32) {
        if self.cache_of(inode).is_some() {
            self.write_back(inode);
        }
        // A file that is not part of the running transaction has nothing to wait for.
        if self.is_running && self.inodes[inode as usize].changed_in == self.transaction {
            self.commit();
        }
    }

    /// An operation is going to change an inode, if only its time stamps.
    fn change_today(&mut self, inode: u32) {
        let one = &mut self.inodes[inode as usize];
        if !one.is_of_today {
            one.is_of_today = true;
            self.of_today.push(inode);
        }
    }

    /// At the end of a day a replay looks at what was to be changed on it, which opens it, and asks where its extents
    /// are.
    fn day_is_looked_at(&mut self) {
        for inode in std::mem::take(&mut self.of_today) {
            if std::mem::take(&mut self.inodes[inode as usize].is_of_today) {
                self.open_any(inode);
                self.look_for_holes(inode);
            }
        }
    }

    /// Somebody names an inode. One that is read from the disk only now counts as part of the transaction that runs.
    fn look_up(&mut self, inode: u32) {
        let changed_in = &mut self.inodes[inode as usize].changed_in;
        if *changed_in == COLD {
            *changed_in = if self.is_running {
                self.transaction
            } else {
                SEEN
            };
        }
    }

    /// Opens a file, to read it or to write to it. The first one after a mount lets the superblock keep where that was.
    fn open_any(&mut self, inode: u32) {
        self.look_up(inode);
        if !self.is_in_use && self.inodes[inode as usize].kind == Kind::File {
            self.is_in_use = true;
            self.is_running = true;
        }
    }

    /// The running transaction has this inode.
    fn journal(&mut self, inode: u32) {
        self.is_running = true;
        self.inodes[inode as usize].changed_in = self.transaction;
    }

    fn sync_all(&mut self) {
        self.write_back_all();
        self.commit();
    }
}

impl Namespace for Ext4 {
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

impl Model for Ext4 {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    fn before(&mut self, op: &Op) {
        if self.emitted.is_on() {
            searched::emit_names(self, op);
        }
    }

    #[inline]
    fn touch_file(&mut self, file: u32) {
        changes::touch_file(self, file);
        let inode = self.inode_of(file);
        self.look_up(inode);
        self.change_today(inode);
    }

    #[inline]
    fn touch_directory(&mut self, dir: u32) {
        changes::touch_directory(self, dir);
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        match self.make_file(id, dir, Kind::File, |_, _| Ok(())) {
            Ok(inode) if self.fits(0, bytes) => {
                self.while_open(inode, |fs| fs.put(inode, 0, bytes, true))
            }
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
        if !self.fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        let inode = self.inode_of(file);
        self.while_open(inode, |fs| fs.put(inode, offset, bytes, false))
    }

    fn fallocate(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        if !self.fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        let inode = self.inode_of(file);
        self.while_open(inode, |fs| {
            if bytes == 0 {
                return Outcome::Done;
            }
            let result = fs.allocate_range(inode, offset, bytes);
            result.map_or(Outcome::NoSpace, |()| Outcome::Done)
        })
    }

    fn punch(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        let inode = self.inode_of(file);
        if self.inodes[inode as usize].kind != Kind::File {
            return Outcome::Done;
        }
        self.open_for_writing(inode);
        if bytes == 0 {
            self.close_writer(inode);
            return Outcome::Done;
        }
        let result = self.punch_hole(inode, offset, bytes);
        self.close_writer(inode);
        result.map_or(Outcome::NoSpace, |()| Outcome::Done)
    }

    fn rewrite(&mut self, file: u32, bytes: u64) -> Outcome {
        let inode = self.inode_of(file);
        self.while_open(inode, |fs| {
            fs.truncate(inode, 0);
            fs.cache_mut(inode).emptied = true;
            if fs.fits(0, bytes) {
                fs.put(inode, 0, bytes, false)
            } else {
                Outcome::TooLarge
            }
        })
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        if !self.fits(0, bytes) {
            return Outcome::TooLarge;
        }
        let inode = self.inode_of(file);
        self.open_for_writing(inode);
        self.truncate(inode, bytes);
        self.close_writer(inode);
        Outcome::Done
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
        if self.names.links(file) >= MOST_LINKS {
            return Outcome::TooLarge;
        }
        let name = self.new_name(dir, Name::file(id.0));
        let inode = self.inode_of(file);
        if self.enter(dir, name, inode).is_err() {
            self.keys.names.take_back(name);
            return Outcome::NoSpace;
        }
        self.keys.names.call(id.0, name);
        self.journal(inode);
        self.names.link(id, file, dir, 0);
        Outcome::Done
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        self.new_directory(id, parent)
    }

    fn remove_directory(&mut self, dir: u32) {
        self.drop_directory(dir);
    }

    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        let (name, inode, from) = {
            let dir = &self.dirs[dir as usize];
            (dir.name, dir.inode, dir.parent)
        };
        let id = self.dirs[dir as usize].id;
        let Ok(new) = self.move_entry(inode, (from, name), to, Name::directory(id)) else {
            return Outcome::NoSpace;
        };
        if new != name {
            self.dirs[dir as usize].name = new;
            self.keys.names.take_back(name);
        }
        if from != to {
            self.dirs[dir as usize].parent = to;
            self.changed_directory(dir, 0);
        }
        Outcome::Done
    }

    fn read(&mut self, file: u32) {
        let inode = self.inode_of(file);
        if self.inodes[inode as usize].kind == Kind::File {
            self.open_any(inode);
        }
    }

    fn fsync(&mut self, file: u32) {
        let inode = self.inode_of(file);
        self.open_for_writing(inode);
        self.sync_one(inode);
        self.close_writer(inode);
        self.emit_commit();
    }

    fn sync(&mut self) {
        self.sync_all();
        self.log.changed.clear();
    }

    /// What memory holds goes: pages, what is set aside, goals; counters are exact again.
    fn remount(&mut self) {
        let open: Vec<u32> = self.caches().map(|(inode, _)| inode).collect();
        for inode in open {
            while self.cache_of(inode).is_some_and(|cache| cache.writers > 0) {
                self.close_writer(inode);
            }
        }
        self.sync_all();
        self.log = Log::default();
        let cached: Vec<u32> = self.caches().map(|(inode, _)| inode).collect();
        for inode in cached {
            self.drop_own(inode);
            self.forget(inode);
        }
        self.drop_shared();
        for inode in &mut self.inodes {
            inode.is_cached = false;
            inode.changed_in = COLD;
        }
        self.is_in_use = false;
        for dir in &mut self.dirs {
            dir.last_group = None;
        }
        self.stream_goals.fill(0);
        self.counters.settle();
    }
}

impl FileSystem for Ext4 {
    fn set_time(&mut self, t_ns: i64) {
        if let Some(clock) = &mut self.clock {
            clock.set(t_ns);
        }
    }

    fn name_next(&mut self, name: &[u8]) {
        self.keys.names.name_next(name);
    }

    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        self.pass_time();
        let outcome = operations::apply(self, op);
        self.keys.names.end_operation();
        outcome
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        Some(self.size_bytes(self.names.find(file)?))
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let slot = self.inode_of(self.names.find(file)?);
        Some(self.inodes[slot as usize].ino.into())
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let slot = self.dirs[self.dir_ids.get(dir)? as usize].inode;
        Some(self.inodes[slot as usize].ino.into())
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
