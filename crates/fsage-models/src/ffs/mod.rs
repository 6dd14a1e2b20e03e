//! 4.4BSD FFS: the fast file system's allocator, equal to the original block for block.
//!
//! The rules are those of 4.4BSD-Lite2 (`ffs_alloc.c` 8.18, `ffs_balloc.c`, `ffs_inode.c`, `ufs_readwrite.c`,
//! `vfs_cluster.c`, `mkfs.c`) with the two modifications of Smith and Seltzer, "File System Aging", 1997, as
//! [`policy`]s. The same operations give the same disk address for every block of every file as that code.
//!
//! **Not modeled**: quotas, soft updates, concurrent writers within one write call, buffer cache pressure,
//! crash states, the directory slot search by name length, triple indirect blocks.
//!
//! **Beyond the original**: operations that 4.4BSD does not have. `fallocate` writes what is missing, as the C
//! library does where a file system cannot preallocate; `punch` is ignored. Symbolic links under 60 bytes lie
//! in the inode, as in 4.4BSD.
//!
//! | where | what |
//! |---|---|
//! | [`geometry`] | what `newfs` derives |
//! | `groups`, `rotation` | maps, summaries and rotational tables of the cylinder groups |
//! | `alloc` | preference, search, pieces, inodes |
//! | `data` | mapping, writing, truncating |
//! | `cluster` | the cluster window and its reallocation |
//! | `directory` | entries |
//! | `layout` | what metrics see |
//! | `io` | what a host sees |
//! | `occupy` | the free map of another file system |
//! | [`policy`] | what the variants decide |
//! | `check` | the file system check |
//! | [`report`] | what a microscope may look at |

mod alloc;
mod check;
mod cluster;
mod data;
mod directory;
pub mod geometry;
mod groups;
mod inode;
mod io;
mod layout;
mod occupy;
pub mod params;
pub mod policy;
pub mod report;
mod rotation;

pub use geometry::{Geometry, NewfsError};
pub use groups::Totals;
pub use params::{Optim, Params};

use alloc::NoSpace;
use groups::Groups;
use inode::{ClusterWindow, Dir, Indirect, Inode};
use io::{Kind, Told};

use crate::block_list::RunPool;
use crate::names::Names;
use crate::shortfall::{NewIds, Shortfall};
use fsage_core::io::Flush;
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};
use rustc_hash::FxHashMap;

/// Targets of symbolic links below this length lie in the inode.
const FAST_SYMLINK: u64 = 60;

/// A simulated FFS.
#[derive(Clone, Debug)]
pub struct Ffs {
    params: Params,
    geometry: Geometry,
    groups: Groups,
    optim: Optim,
    optim_changes: u64,
    names: Names<Inode>,
    pool: RunPool,
    indirect: FxHashMap<u64, Indirect>,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_slots: FxHashMap<u64, u32>,
    /// An operation has named directory 0 while it is the root.
    root_named: bool,
    /// `rmdir` is applied as it stands, without looking whether the directory is empty.
    rmdir_as_it_stands: bool,
    shortfall: Shortfall,
    window: ClusterWindow,
    kept_windows: FxHashMap<u64, ClusterWindow>,
    told: Told,
    occupied: occupy::Occupied,
}

/// What an operation that may end in an outcome other than [`Outcome::Done`] gives.
type Applied = Result<Outcome, StateError>;

impl Ffs {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// Parameters that `newfs` refuses.
    pub fn new(params: Params) -> Result<Ffs, NewfsError> {
        let geometry = Geometry::newfs(&params)?;
        let groups = Groups::new(&geometry);
        let mut fs = Ffs {
            optim: params.optim,
            params,
            geometry,
            groups,
            optim_changes: 0,
            names: Names::default(),
            pool: RunPool::default(),
            indirect: FxHashMap::default(),
            dirs: Vec::new(),
            free_dirs: Vec::new(),
            dir_slots: FxHashMap::default(),
            root_named: false,
            rmdir_as_it_stands: false,
            shortfall: Shortfall::default(),
            window: ClusterWindow::default(),
            kept_windows: FxHashMap::default(),
            told: Told::default(),
            occupied: Vec::new(),
        };
        fs.make_root();
        Ok(fs)
    }

    /// Applies `rmdir` to directories that are not empty, as the original FFS driver did: the directory goes,
    /// its files stay and keep their ids.
    pub fn apply_rmdir_as_it_stands(&mut self) {
        self.rmdir_as_it_stands = true;
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

    fn note_shortfall(&mut self, op: &Op, outcome: Outcome) {
        self.shortfall.note(op, outcome, &self.names);
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
        if self.dirs[slot as usize].entries > 0 && !self.rmdir_as_it_stands {
            return Err(StateError::NotEmpty(id));
        }
        self.remove_directory(slot);
        Ok(Outcome::Done)
    }

    /// 4.4BSD enters the new name first. A directory that gets another parent changes its `..` before the old name
    /// goes.
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
        let ino = self.dirs[slot as usize].inode.ino;
        self.tell_inode(ino, Flush::Sync);
        if self.dirs[slot as usize].parent != to {
            let new_parent = self.dirs[to as usize].inode.ino;
            self.tell_inode(new_parent, Flush::Sync);
        }
        let Ok(chunk) = self.enter(to) else {
            return Ok(Outcome::NoSpace);
        };
        let dir = &mut self.dirs[slot as usize];
        let (from, old_chunk) = (dir.parent, dir.chunk);
        (dir.parent, dir.chunk) = (to, chunk);
        if from != to {
            // Its `..`.
            self.tell_chunk(slot, 0);
            self.tell_inode(ino, Flush::Sync);
        }
        self.leave(from, old_chunk);
        self.tell_inode(ino, Flush::Delayed);
        Ok(Outcome::Done)
    }

    /// A new file or symbolic link with its data.
    fn create(&mut self, id: FileId, dir: DirId, bytes: u64, symlink: bool) -> Applied {
        self.new_file(id)?;
        let dir = self.dir(dir)?;
        match self.make_file(id.0, dir, symlink) {
            Ok(slot) => {
                if symlink && bytes < FAST_SYMLINK {
                    let inode = &mut self.names.file_mut(slot).inode;
                    inode.size = bytes;
                    let ino = inode.ino;
                    self.tell_inode(ino, Flush::Delayed);
                    return Ok(Outcome::Done);
                }
                let kind = if symlink { Kind::Symlink } else { Kind::File };
                Ok(self.change(slot, (0, bytes), |fs, inode| {
                    fs.write(inode, 0, bytes, kind)
                }))
            }
            Err(outcome) => Ok(outcome),
        }
    }

    /// Runs one operation on the data of a file, if the file may then be that long.
    #[inline]
    fn change(
        &mut self,
        slot: u32,
        (offset, bytes): (u64, u64),
        operation: impl FnOnce(&mut Ffs, &mut Inode) -> Result<(), NoSpace>,
    ) -> Outcome {
        if !self.fits(offset, bytes) {
            return Outcome::TooLarge;
        }
        let mut inode = self.names.file(slot).inode;
        self.window = if self.keeps_windows() {
            self.kept_windows
                .get(&inode.ino)
                .copied()
                .unwrap_or_default()
        } else {
            ClusterWindow::default()
        };
        let result = operation(self, &mut inode);
        if self.keeps_windows() {
            self.kept_windows.insert(inode.ino, self.window);
        }
        self.names.file_mut(slot).inode = inode;
        match result {
            Ok(()) => Outcome::Done,
            Err(NoSpace) => Outcome::NoSpace,
        }
    }

    /// Whether a file's cluster window outlives the operation: under a host files stay open.
    #[inline]
    fn keeps_windows(&self) -> bool {
        self.params.keep_clusters || self.is_told()
    }

    fn write_at(&mut self, slot: u32, offset: u64, bytes: u64) -> Outcome {
        self.change(slot, (offset, bytes), |fs, inode| {
            fs.write(inode, offset, bytes, Kind::File)
        })
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

    fn truncate_file(&mut self, slot: u32, bytes: u64) -> Outcome {
        self.change(slot, (0, bytes), |fs, inode| {
            fs.truncate(inode, bytes, Kind::File)
        })
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
        self.tell_inode(ino, Flush::Delayed);
        if let Some(mut file) = self.names.unlink(id, slot) {
            self.release(&mut file.inode, Kind::File);
            if self.keeps_windows() {
                self.kept_windows.remove(&file.inode.ino);
            }
        }
    }

    fn delete(&mut self, id: FileId) -> Applied {
        let slot = self.file(id)?;
        let (dir, chunk) = self.names.place(id, slot);
        self.leave(dir, chunk);
        self.drop_name(id, slot);
        Ok(Outcome::Done)
    }

    /// 4.4BSD enters the new name first, or rewrites the entry that is replaced, and removes the old one last.
    fn rename(&mut self, id: FileId, dir: DirId, replaced: Option<FileId>) -> Applied {
        let slot = self.file(id)?;
        let to = self.dir(dir)?;
        let ino = self.names.file(slot).inode.ino;
        let chunk = match replaced {
            Some(other) if other == id => return Ok(Outcome::Done),
            Some(other) => {
                let gone = self
                    .names
                    .find(other)
                    .ok_or(StateError::NothingToReplace(other))?;
                let (its_dir, its_chunk) = self.names.place(other, gone);
                if its_dir != to {
                    return Err(StateError::ReplacedElsewhere(other));
                }
                // The entry stays and is ours now; the count of names falls by our old one below.
                self.tell_inode(ino, Flush::Sync);
                self.tell_chunk(to, its_chunk);
                self.drop_name(other, gone);
                its_chunk
            }
            None => {
                // Two names for a moment.
                self.tell_inode(ino, Flush::Sync);
                match self.enter(to) {
                    Ok(chunk) => chunk,
                    Err(NoSpace) => return Ok(Outcome::NoSpace),
                }
            }
        };
        let (from, old_chunk) = self.names.place(id, slot);
        self.names.set_place(id, slot, to, chunk);
        self.leave(from, old_chunk);
        self.tell_inode(ino, Flush::Delayed);
        Ok(Outcome::Done)
    }

    fn link(&mut self, id: FileId, existing: FileId, dir: DirId) -> Applied {
        self.new_file(id)?;
        let slot = self.file(existing)?;
        let dir = self.dir(dir)?;
        self.tell_inode(self.names.file(slot).inode.ino, Flush::Sync);
        let Ok(chunk) = self.enter(dir) else {
            return Ok(Outcome::NoSpace);
        };
        self.names.link(id, slot, dir, chunk);
        Ok(Outcome::Done)
    }

    fn dispatch(&mut self, op: &Op) -> Applied {
        match *op {
            Op::Create { file, dir, bytes } => self.create(file, dir, bytes, false),
            Op::Symlink { file, dir, bytes } => self.create(file, dir, bytes, true),
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
            // They move no block.
            Op::Read { file, .. } | Op::Fsync { file } => self.file(file).map(|_| Outcome::Done),
            Op::Remount => {
                self.kept_windows.clear();
                Ok(Outcome::Done)
            }
            Op::Sync | Op::Day | Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => {
                Ok(Outcome::Done)
            }
        }
    }
}

impl NewIds for Ffs {
    fn is_new_file(&self, id: FileId) -> bool {
        self.new_file(id).is_ok()
    }

    fn is_new_dir(&self, id: DirId) -> bool {
        self.new_dir(id).is_ok()
    }
}

impl FileSystem for Ffs {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let possible = self.shortfall.without_absent_target(op);
        if self.shortfall.is_absent(op, self) {
            self.note_shortfall(op, Outcome::Absent);
            return Ok(Outcome::Absent);
        }
        let root_named = self.root_named;
        if self.is_told() {
            self.tell_names(&possible);
        }
        match self.dispatch(&possible) {
            Ok(outcome) => {
                self.note_shortfall(op, outcome);
                Ok(outcome)
            }
            Err(error) => {
                // A line that was refused has not used the root.
                self.root_named = root_named;
                self.shortfall.excuse(op, error, &self.names)
            }
        }
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.size)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.ino)
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let slot = *self.dir_slots.get(&dir.0)?;
        let dir = &self.dirs[slot as usize];
        dir.alive.then_some(dir.inode.ino)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
