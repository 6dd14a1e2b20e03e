//! Ext3 of Linux 2.6.18: its allocator with reservation windows, its journal as far as it moves blocks, and with
//! `mode=ext2` the ext2 driver of Linux 6.1, block for block.
//!
//! Source: `balloc.c`, `ialloc.c`, `inode.c`, `namei.c` of `fs/ext3` (2.6.18) and `fs/ext2` (6.1), `mke2fs` of
//! e2fsprogs 1.38 and 1.39. In mode ext2 the same operations give the same address for every block as that driver.
//! Rule by rule: `docs/spec/ext3.md`, sections 1 to 15.
//!
//! **Not modeled**: hashed directories (`dir_index`): entries are searched in order; extended attributes; quotas; the
//! eviction of inodes from memory, except by `remount`; writers that take turns within one call; crash states; a log
//! that has to wait for its own space.
//!
//! **Beyond the original**: `fallocate` writes what is missing, as the C library does where a file system cannot
//! preallocate; `punch` is ignored. Names are `f1` and `d1` for the ids 1, as on a real file system.
//!
//! | where | what |
//! |---|---|
//! | [`geometry`] | what `mke2fs` derives |
//! | `groups` | bitmaps, counts and the searches in one bitmap |
//! | `window` | the set of reservation windows |
//! | `alloc` | blocks in a window, in a group, over all groups |
//! | `data` | pointers, goals, writing, truncating |
//! | `directory`, `entries` | groups for inodes, directories and what is in them |
//! | `journal` | the running transaction |
//! | `layout` | what metrics see |
//! | `io` | what a host sees |
//! | `check` | the file system check |

mod alloc;
mod check;
mod data;
mod directory;
mod entries;
mod entry;
pub mod geometry;
mod groups;
mod inode;
mod io;
mod journal;
mod layout;
pub mod params;
mod window;

pub use entry::ENTRY;
pub use geometry::{Geometry, MkfsError};
pub use groups::Totals;
pub use params::{Mode, Params};

use crate::FAST_SYMLINK;
use crate::block_list::RunPool;
use crate::changes::{self, Changes};
use crate::names::Names;
use crate::pointers::Indirect;
use crate::searched;
use alloc::NoSpace;
use fsage_core::io::Emitted;
use fsage_core::operations::{self, DirIds, Model, Namespace, Shortfall};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, Rng, StateError};
use groups::Groups;
use inode::{Dir, Inode, Kind};
use journal::Journal;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use window::{Window, Windows};

/// A file that is open, with its window and the blocks it took from it.
#[derive(Clone, Copy, Debug)]
struct OpenFile {
    ino: u32,
    window: Window,
    hits: u32,
}

/// A simulated Ext3.
#[derive(Clone, Debug)]
pub struct Ext3 {
    params: Params,
    geometry: Geometry,
    groups: Groups,
    names: Names<Inode>,
    pool: RunPool,
    indirect: FxHashMap<u32, Indirect>,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_ids: DirIds,
    directories_made: u64,
    random: Rng,
    shortfall: Shortfall,
    windows: Windows,
    /// The window of the file that is being written, and the blocks it took from it.
    window: Window,
    window_hits: u32,
    /// Other files that are open, the last one first.
    open: VecDeque<OpenFile>,
    journal: Journal,
    now_ns: Option<i64>,
    emitted: Emitted,
    changes: Changes,
    /// Blocks of `lost+found`, which no directory of a workload is.
    lost_found: Range<u32>,
    resize_block: Option<u32>,
}

impl Ext3 {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// Parameters that `mke2fs` refuses.
    pub fn new(params: Params) -> Result<Ext3, MkfsError> {
        let geometry = Geometry::mke2fs(&params)?;
        let journaled = params.mode == Mode::Ext3;
        let mut fs = Ext3 {
            groups: Groups::new(&geometry, params.mode, journaled && params.journal_rule),
            names: Names::default(),
            pool: RunPool::default(),
            indirect: FxHashMap::default(),
            dirs: Vec::new(),
            free_dirs: Vec::new(),
            dir_ids: DirIds::default(),
            directories_made: 0,
            random: Rng::new(params.seed),
            shortfall: Shortfall::default(),
            windows: Windows::default(),
            window: Window::default(),
            window_hits: 0,
            open: VecDeque::new(),
            journal: Journal::new(&geometry, journaled),
            now_ns: None,
            emitted: Emitted::default(),
            changes: Changes::default(),
            lost_found: 0..0,
            resize_block: None,
            params,
            geometry,
        };
        fs.make_first_inodes();
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

    /// Free space, inodes and directories of the whole file system.
    pub fn totals(&self) -> Totals {
        self.groups.totals
    }

    /// Free space, inodes and directories of a group.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn group_totals(&self, group: u32) -> Totals {
        let g = group as usize;
        Totals {
            free_blocks: self.groups.free_blocks[g].into(),
            free_inodes: self.groups.free_inodes[g].into(),
            directories: self.groups.directories[g].into(),
        }
    }

    /// Syncs: the journal commits, if there is one and something has changed.
    pub fn sync(&mut self) {
        self.commit();
    }

    /// Times that the journal was committed.
    pub fn commits(&self) -> u64 {
        self.journal.commits
    }

    /// Files that stay open when an operation ends. Under a host a process has one file open until it writes another.
    fn most_open(&self) -> usize {
        let kept = usize::try_from(self.params.open_files).unwrap_or(usize::MAX);
        kept.max(usize::from(self.emitted.is_hosted()))
    }

    /// Closes a file: its window goes.
    fn close(&mut self, ino: u32) {
        if let Some(i) = self.open.iter().position(|file| file.ino == ino)
            && let Some(file) = self.open.remove(i)
        {
            self.windows.remove(file.window);
        }
    }

    /// Runs one operation on the data of a file while it is open.
    #[inline]
    fn change(
        &mut self,
        slot: u32,
        operation: impl FnOnce(&mut Ext3, &mut Inode) -> Result<(), NoSpace>,
    ) -> Outcome {
        let mut inode = self.names.file(slot).inode;
        if let Some(i) = self.open.iter().position(|file| file.ino == inode.ino)
            && let Some(file) = self.open.remove(i)
        {
            (self.window, self.window_hits) = (file.window, file.hits);
        }
        let result = operation(self, &mut inode);
        self.names.file_mut(slot).inode = inode;
        let most = self.most_open();
        if most == 0 {
            self.drop_window();
        } else {
            self.open.push_front(OpenFile {
                ino: inode.ino,
                window: std::mem::take(&mut self.window),
                hits: std::mem::take(&mut self.window_hits),
            });
        }
        while self.open.len() > most {
            if let Some(file) = self.open.pop_back() {
                self.windows.remove(file.window);
            }
        }
        match result {
            Ok(()) => Outcome::Done,
            Err(NoSpace) => Outcome::NoSpace,
        }
    }

    /// Removes a name; its entry has been seen to. The inode goes with its last name.
    fn drop_name(&mut self, id: FileId, slot: u32) {
        let ino = self.names.file(slot).inode.ino;
        self.changed_inode(ino);
        if let Some(mut file) = self.names.unlink(id, slot) {
            self.release(&mut file.inode);
        }
    }
}

impl Namespace for Ext3 {
    type File = u32;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<u32> {
        self.names.find(id)
    }

    fn size_bytes(&self, file: u32) -> u64 {
        self.names.file(file).inode.size
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

impl Model for Ext3 {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    fn before(&mut self, op: &Op) {
        self.commit_if_due();
        if self.emitted.is_on() {
            searched::emit_names(self, op);
        }
    }

    #[inline]
    fn touch_file(&mut self, file: u32) {
        changes::touch_file(self, file);
    }

    fn touch_directory(&mut self, dir: u32) {
        changes::touch_directory(self, dir);
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        match self.make_file(id.0, dir, Kind::File) {
            Ok(slot) => self.write_at(slot, 0, bytes),
            Err(outcome) => outcome,
        }
    }

    /// A target that does not lie in the inode has a block of its own, in which it ends with a zero byte.
    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let slot = match self.make_file(id.0, dir, Kind::Symlink) {
            Ok(slot) => slot,
            Err(outcome) => return outcome,
        };
        if bytes < FAST_SYMLINK {
            self.names.file_mut(slot).inode.size = bytes;
            return Outcome::Done;
        }
        if bytes >= self.geometry.block_bytes {
            return Outcome::TooLarge;
        }
        let mut inode = self.names.file(slot).inode;
        let result = self.write(&mut inode, 0, bytes);
        self.names.file_mut(slot).inode = inode;
        result.map_or(Outcome::NoSpace, |()| Outcome::Done)
    }

    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        if !self.fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        self.change(file, |fs, inode| fs.write(inode, offset, bytes))
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        if !self.fits(0, bytes) {
            return Outcome::TooLarge;
        }
        self.change(file, |fs, inode| {
            fs.drop_window();
            fs.truncate(inode, bytes);
            Ok(())
        })
    }

    fn delete(&mut self, id: FileId, file: u32) {
        let (dir, at) = self.names.place(id, file);
        self.leave(dir, at);
        self.drop_name(id, file);
    }

    /// Linux enters the new name first, or lets the entry that is replaced lead to the file; the old name goes last.
    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let ino = self.names.file(file).inode.ino;
        let at = if let Some((other, gone)) = replaced {
            // The entry stays, with the name it has.
            let (_, at) = self.names.place(other, gone);
            self.changed_entry(to, at);
            self.drop_name(other, gone);
            at
        } else {
            match self.enter(to, id.0) {
                Ok(at) => at,
                Err(NoSpace) => return Outcome::NoSpace,
            }
        };
        let (from, old) = self.names.place(id, file);
        self.names.set_place(id, file, to, at);
        self.leave(from, old);
        self.changed_inode(ino);
        Outcome::Done
    }

    fn link(&mut self, id: FileId, _existing: FileId, file: u32, dir: u32) -> Outcome {
        let Ok(at) = self.enter(dir, id.0) else {
            return Outcome::NoSpace;
        };
        self.changed_inode(self.names.file(file).inode.ino);
        self.names.link(id, file, dir, at);
        Outcome::Done
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        self.new_directory(id.0, parent)
    }

    fn remove_directory(&mut self, dir: u32) {
        self.drop_directory(dir);
    }

    /// Linux enters the new name first, then the old one goes.
    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        let id = self.dirs[dir as usize].id;
        let Ok(at) = self.enter(to, id) else {
            return Outcome::NoSpace;
        };
        let moved = &mut self.dirs[dir as usize];
        let (from, old) = (moved.parent, moved.at);
        (moved.parent, moved.at) = (to, at);
        self.leave(from, old);
        if from != to {
            // Its `..`, and the counts of links of both parents.
            self.changed_entry(dir, 0);
            self.changed_inode(self.dirs[to as usize].inode.ino);
        }
        Outcome::Done
    }

    fn fsync(&mut self, _file: u32) {
        self.commit();
    }

    fn sync(&mut self) {
        self.commit();
    }

    /// Inodes leave memory: with them goes what was remembered of their files.
    fn remount(&mut self) {
        while let Some(file) = self.open.pop_back() {
            self.windows.remove(file.window);
        }
        let window_blocks = self.params.window_blocks;
        for inode in self.names.iter_mut().map(|file| &mut file.inode) {
            if inode.kind == Kind::File {
                (inode.last_logical, inode.last_physical) = (0, 0);
                inode.window_blocks = window_blocks;
            }
        }
        self.commit();
    }
}

impl FileSystem for Ext3 {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        operations::apply(self, op)
    }

    fn set_time(&mut self, t_ns: i64) {
        self.now_ns = Some(t_ns);
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.size)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.ino.into())
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let slot = self.dir_ids.get(dir)?;
        Some(self.dirs[slot as usize].inode.ino.into())
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
