//! Ext3 of Linux 2.6.18: its allocator with reservation windows, its journal as far as it moves blocks, and with
//! `mode=ext2` the ext2 driver of Linux 6.1, block for block.
//!
//! Source: `balloc.c`, `ialloc.c`, `inode.c`, `namei.c` of `fs/ext3` (2.6.18) and `fs/ext2` (6.1), `mke2fs` of
//! e2fsprogs 1.38 and 1.39. In mode ext2 the same operations give the same address for every block as that driver.
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
pub mod geometry;
mod groups;
mod inode;
mod io;
mod journal;
mod layout;
pub mod params;
mod window;

pub use geometry::{Geometry, MkfsError};
pub use groups::Totals;
pub use params::{Mode, Params};

use crate::block_list::RunPool;
use crate::names::Names;
use crate::shortfall::{NewIds, Shortfall};
use alloc::NoSpace;
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, Rng, StateError};
use groups::Groups;
use inode::{Dir, Indirect, Inode, Kind};
use io::Told;
use journal::Journal;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use window::{Window, Windows};

/// Targets of symbolic links below this length lie in the inode.
const FAST_SYMLINK: u64 = 60;

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
    dir_slots: FxHashMap<u64, u32>,
    /// An operation has named directory 0 while it is the root.
    root_named: bool,
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
    told: Told,
    /// Blocks of `lost+found`, which no directory of a workload is.
    lost_found: Range<u32>,
    resize_block: Option<u32>,
}

/// What an operation that may end in an outcome other than [`Outcome::Done`] gives.
type Applied = Result<Outcome, StateError>;

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
            dir_slots: FxHashMap::default(),
            root_named: false,
            directories_made: 0,
            random: Rng::new(params.seed),
            shortfall: Shortfall::default(),
            windows: Windows::default(),
            window: Window::default(),
            window_hits: 0,
            open: VecDeque::new(),
            journal: Journal::new(&geometry, journaled),
            now_ns: None,
            told: Told::default(),
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

    fn file(&self, id: FileId) -> Result<u32, StateError> {
        self.names.find(id).ok_or(StateError::NoFile(id))
    }

    fn new_file(&self, id: FileId) -> Result<(), StateError> {
        match self.names.find(id) {
            Some(_) => Err(StateError::FileExists(id)),
            None => Ok(()),
        }
    }

    /// The number 0 may be given to an ordinary directory before anything has used it for the root.
    fn new_dir(&self, id: DirId) -> Result<(), StateError> {
        match self.dir_slots.get(&id.0) {
            Some(0) if self.root_named => Err(StateError::RootInUse),
            Some(0) | None => Ok(()),
            Some(_) => Err(StateError::DirectoryExists(id)),
        }
    }

    fn dir(&mut self, id: DirId) -> Result<u32, StateError> {
        let slot = *self
            .dir_slots
            .get(&id.0)
            .ok_or(StateError::NoDirectory(id))?;
        self.root_named |= slot == 0;
        Ok(slot)
    }

    /// A directory that may be removed or moved.
    fn movable_dir(&mut self, id: DirId) -> Result<u32, StateError> {
        match self.dir(id)? {
            0 => Err(StateError::Root(id)),
            slot => Ok(slot),
        }
    }

    /// Files that stay open when an operation ends. Under a host a process has one file open until it writes another.
    fn most_open(&self) -> usize {
        let kept = usize::try_from(self.params.open_files).unwrap_or(usize::MAX);
        kept.max(usize::from(self.told.is_on()))
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

    fn write_at(&mut self, slot: u32, offset: u64, bytes: u64) -> Outcome {
        if !self.fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        self.change(slot, |fs, inode| fs.write(inode, offset, bytes))
    }

    fn truncate_file(&mut self, slot: u32, bytes: u64) -> Outcome {
        if !self.fits(0, bytes) {
            return Outcome::TooLarge;
        }
        self.change(slot, |fs, inode| {
            fs.drop_window();
            fs.truncate(inode, bytes);
            Ok(())
        })
    }

    fn mkdir(&mut self, id: DirId, parent: Option<DirId>) -> Applied {
        self.new_dir(id)?;
        let parent = match parent {
            Some(parent) => self.dir(parent)?,
            None => 0,
        };
        Ok(self.make_directory(id.0, parent))
    }

    fn rmdir(&mut self, id: DirId) -> Applied {
        let slot = self.movable_dir(id)?;
        if self.dirs[slot as usize].entries.count > 0 {
            return Err(StateError::NotEmpty(id));
        }
        self.remove_directory(slot);
        Ok(Outcome::Done)
    }

    /// Linux enters the new name first, then the old one goes.
    fn rename_dir(&mut self, id: DirId, parent: DirId) -> Applied {
        let slot = self.movable_dir(id)?;
        let to = self.dir(parent)?;
        let mut above = to;
        while above != 0 {
            if above == slot {
                return Err(StateError::IntoItself(id));
            }
            above = self.dirs[above as usize].parent;
        }
        let Ok(at) = self.enter(to, id.0) else {
            return Ok(Outcome::NoSpace);
        };
        let dir = &mut self.dirs[slot as usize];
        let (from, old) = (dir.parent, dir.at);
        (dir.parent, dir.at) = (to, at);
        self.leave(from, old);
        if from != to {
            // Its `..`, and the counts of links of both parents.
            self.changed_entry(slot, 0);
            self.changed_inode(self.dirs[to as usize].inode.ino);
        }
        Ok(Outcome::Done)
    }

    /// A new file with its data.
    fn create(&mut self, id: FileId, dir: DirId, bytes: u64) -> Applied {
        self.new_file(id)?;
        let dir = self.dir(dir)?;
        Ok(match self.make_file(id.0, dir, Kind::File) {
            Ok(slot) => self.write_at(slot, 0, bytes),
            Err(outcome) => outcome,
        })
    }

    /// A target that does not lie in the inode has a block of its own, in which it ends with a zero byte.
    fn symlink(&mut self, id: FileId, dir: DirId, bytes: u64) -> Applied {
        self.new_file(id)?;
        let dir = self.dir(dir)?;
        let slot = match self.make_file(id.0, dir, Kind::Symlink) {
            Ok(slot) => slot,
            Err(outcome) => return Ok(outcome),
        };
        if bytes < FAST_SYMLINK {
            self.names.file_mut(slot).inode.size = bytes;
            return Ok(Outcome::Done);
        }
        if bytes >= self.geometry.block_bytes {
            return Ok(Outcome::TooLarge);
        }
        let mut inode = self.names.file(slot).inode;
        let result = self.write(&mut inode, 0, bytes);
        self.names.file_mut(slot).inode = inode;
        Ok(result.map_or(Outcome::NoSpace, |()| Outcome::Done))
    }

    fn overwrite(&mut self, slot: u32, range: Option<(u64, u64)>) -> Applied {
        let size = self.names.file(slot).inode.size;
        let (offset, bytes) = range.unwrap_or((0, size));
        match offset.checked_add(bytes) {
            Some(end) if end <= size => Ok(self.write_at(slot, offset, bytes)),
            Some(_) => Err(StateError::BeyondEnd(size)),
            None => Err(StateError::RangeOverflow),
        }
    }

    /// Two calls, as the system calls are: a file that may not be that long is left empty.
    fn rewrite(&mut self, slot: u32, bytes: u64) -> Outcome {
        match self.truncate_file(slot, 0) {
            Outcome::Done => self.write_at(slot, 0, bytes),
            other => other,
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

    fn delete(&mut self, id: FileId) -> Applied {
        let slot = self.file(id)?;
        let (dir, at) = self.names.place(id, slot);
        self.leave(dir, at);
        self.drop_name(id, slot);
        Ok(Outcome::Done)
    }

    /// Linux enters the new name first, or lets the entry that is replaced lead to the file; the old name goes last.
    fn rename(&mut self, id: FileId, dir: DirId, replaced: Option<FileId>) -> Applied {
        let slot = self.file(id)?;
        let to = self.dir(dir)?;
        let ino = self.names.file(slot).inode.ino;
        let at = match replaced {
            Some(other) if other == id => return Ok(Outcome::Done),
            Some(other) => {
                let gone = self
                    .names
                    .find(other)
                    .ok_or(StateError::NothingToReplace(other))?;
                let (its_dir, its_at) = self.names.place(other, gone);
                if its_dir != to {
                    return Err(StateError::ReplacedElsewhere(other));
                }
                // The entry stays, with the name it has.
                self.changed_entry(to, its_at);
                self.drop_name(other, gone);
                its_at
            }
            None => match self.enter(to, id.0) {
                Ok(at) => at,
                Err(NoSpace) => return Ok(Outcome::NoSpace),
            },
        };
        let (from, old) = self.names.place(id, slot);
        self.names.set_place(id, slot, to, at);
        self.leave(from, old);
        self.changed_inode(ino);
        Ok(Outcome::Done)
    }

    fn link(&mut self, id: FileId, existing: FileId, dir: DirId) -> Applied {
        self.new_file(id)?;
        let slot = self.file(existing)?;
        let dir = self.dir(dir)?;
        let Ok(at) = self.enter(dir, id.0) else {
            return Ok(Outcome::NoSpace);
        };
        self.changed_inode(self.names.file(slot).inode.ino);
        self.names.link(id, slot, dir, at);
        Ok(Outcome::Done)
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

    fn dispatch(&mut self, op: &Op) -> Applied {
        match *op {
            Op::Create { file, dir, bytes } => self.create(file, dir, bytes),
            Op::Symlink { file, dir, bytes } => self.symlink(file, dir, bytes),
            Op::Append { file, bytes } => {
                let slot = self.file(file)?;
                let end = self.names.file(slot).inode.size;
                Ok(self.write_at(slot, end, bytes))
            }
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            } => {
                let slot = self.file(file)?;
                if offset.checked_add(bytes).is_none() {
                    return Err(StateError::RangeOverflow);
                }
                Ok(self.write_at(slot, offset, bytes))
            }
            Op::Overwrite { file, range } => {
                let slot = self.file(file)?;
                self.overwrite(slot, range)
            }
            Op::Rewrite { file, bytes } => {
                let slot = self.file(file)?;
                Ok(self.rewrite(slot, bytes))
            }
            Op::Truncate { file, bytes } => {
                let slot = self.file(file)?;
                Ok(self.truncate_file(slot, bytes))
            }
            Op::Delete { file } => self.delete(file),
            Op::Mkdir { dir, parent } => self.mkdir(dir, parent),
            Op::Rmdir { dir } => self.rmdir(dir),
            Op::RenameDir { dir, parent } => self.rename_dir(dir, parent),
            Op::Rename {
                file,
                dir,
                replaced,
            } => self.rename(file, dir, replaced),
            Op::Link {
                file,
                existing,
                dir,
            } => self.link(file, existing, dir),
            Op::Punch { file, .. } => self.file(file).map(|_| Outcome::Ignored),
            Op::Read { file, .. } => self.file(file).map(|_| Outcome::Done),
            Op::Fsync { file } => {
                self.file(file)?;
                self.commit();
                Ok(Outcome::Done)
            }
            Op::Remount => {
                self.remount();
                Ok(Outcome::Done)
            }
            Op::Sync | Op::Day => {
                self.commit();
                Ok(Outcome::Done)
            }
            Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => Ok(Outcome::Done),
        }
    }
}

impl NewIds for Ext3 {
    fn is_new_file(&self, id: FileId) -> bool {
        self.new_file(id).is_ok()
    }

    fn is_new_dir(&self, id: DirId) -> bool {
        self.new_dir(id).is_ok()
    }
}

impl FileSystem for Ext3 {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let possible = self.shortfall.without_absent_target(op);
        if self.shortfall.is_absent(op, self) {
            self.shortfall.note(op, Outcome::Absent, &self.names);
            return Ok(Outcome::Absent);
        }
        let root_named = self.root_named;
        self.commit_if_due();
        if self.told.is_on() {
            self.tell_names(&possible);
        }
        match self.dispatch(&possible) {
            Ok(outcome) => {
                self.shortfall.note(op, outcome, &self.names);
                Ok(outcome)
            }
            Err(error) => {
                // A line that was refused has not used the root.
                self.root_named = root_named;
                self.shortfall.excuse(op, error, &self.names)
            }
        }
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
        let slot = *self.dir_slots.get(&dir.0)?;
        Some(self.dirs[slot as usize].inode.ino.into())
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
