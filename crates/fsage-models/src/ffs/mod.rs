//! 4.4BSD FFS: the fast file system's allocator, equal to the original block for block.
//!
//! The rules are those of 4.4BSD-Lite2 (`ffs_alloc.c` 8.18, `ffs_balloc.c`, `ffs_inode.c`, `ufs_readwrite.c`,
//! `vfs_cluster.c`, `mkfs.c`) with the two modifications of Smith and Seltzer, "File System Aging", 1997, as
//! [`policy`]s. The same operations give the same disk address for every block of every file as that code. Rule by
//! rule they stand in `docs/spec/ffs.md`.
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
//! | [`report`], [`Trace`] | what a microscope may look at, and the microscope |
//! | [`requests`] | every request for space and what served it |

mod alloc;
mod check;
mod cluster;
mod data;
mod directory;
mod entry;
pub mod geometry;
mod groups;
mod inode;
mod io;
mod layout;
mod occupy;
pub mod params;
pub mod policy;
pub mod report;
pub mod requests;
mod rotation;
mod trace;

pub use entry::ENTRY;
pub use geometry::{Geometry, NewfsError};
pub use groups::Totals;
pub use params::{Optim, Params};
pub use trace::Trace;

use alloc::NoSpace;
use groups::Groups;
use inode::{ClusterWindow, Dir, Indirect, Inode};
use io::Kind;

use crate::FAST_SYMLINK;
use crate::block_list::RunPool;
use crate::changes::{self, Changes};
use crate::names::Names;
use crate::searched;
use fsage_core::io::Emitted;
use fsage_core::io::Flush;
use fsage_core::operations::{self, DirIds, Model, Namespace, Shortfall};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};
use rustc_hash::FxHashMap;

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
    dir_ids: DirIds,
    /// `rmdir` is applied as it stands, without looking whether the directory is empty.
    rmdir_as_it_stands: bool,
    shortfall: Shortfall,
    window: ClusterWindow,
    kept_windows: FxHashMap<u64, ClusterWindow>,
    emitted: Emitted,
    changes: Changes,
    occupied: occupy::Occupied,
    /// Requests for space, where they are recorded.
    served: Option<Vec<requests::Served>>,
}

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
            dir_ids: DirIds::default(),
            rmdir_as_it_stands: false,
            shortfall: Shortfall::default(),
            window: ClusterWindow::default(),
            kept_windows: FxHashMap::default(),
            emitted: Emitted::default(),
            changes: Changes::default(),
            occupied: Vec::new(),
            served: None,
        };
        fs.make_root();
        Ok(fs)
    }

    /// Applies `rmdir` to directories that are not empty, as the original FFS driver did: the directory goes,
    /// its files stay and keep their ids.
    pub fn apply_rmdir_as_it_stands(&mut self) {
        self.rmdir_as_it_stands = true;
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
        self.params.keep_clusters || self.emitted.is_hosted()
    }

    /// Removes a name; its entry has been seen to. The inode goes with its last name.
    fn drop_name(&mut self, id: FileId, slot: u32) {
        let ino = self.names.file(slot).inode.ino;
        self.emit_inode(ino, Flush::Delayed);
        if let Some(mut file) = self.names.unlink(id, slot) {
            self.release(&mut file.inode, Kind::File);
            if self.keeps_windows() {
                self.kept_windows.remove(&file.inode.ino);
            }
        }
    }
}

impl Namespace for Ffs {
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
        self.dirs[dir as usize].entries == 0 || self.rmdir_as_it_stands
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

impl Model for Ffs {
    fn dir_ids_mut(&mut self) -> &mut DirIds {
        &mut self.dir_ids
    }

    fn shortfall_mut(&mut self) -> &mut Shortfall {
        &mut self.shortfall
    }

    #[inline]
    fn before(&mut self, op: &Op) {
        if self.is_emitting() {
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
        match self.make_file(id.0, dir, false) {
            Ok(slot) => self.write_at(slot, 0, bytes),
            Err(outcome) => outcome,
        }
    }

    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let slot = match self.make_file(id.0, dir, true) {
            Ok(slot) => slot,
            Err(outcome) => return outcome,
        };
        if bytes < FAST_SYMLINK {
            let inode = &mut self.names.file_mut(slot).inode;
            inode.size = bytes;
            let ino = inode.ino;
            self.emit_inode(ino, Flush::Delayed);
            return Outcome::Done;
        }
        self.change(slot, (0, bytes), |fs, inode| {
            fs.write(inode, 0, bytes, Kind::Symlink)
        })
    }

    #[inline]
    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        self.change(file, (offset, bytes), |fs, inode| {
            fs.write(inode, offset, bytes, Kind::File)
        })
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        self.change(file, (0, bytes), |fs, inode| {
            fs.truncate(inode, bytes, Kind::File)
        })
    }

    fn fsync(&mut self, file: u32) {
        self.emit_inode(self.names.file(file).inode.ino, Flush::Sync);
    }

    fn delete(&mut self, id: FileId, file: u32) {
        let (dir, chunk) = self.names.place(id, file);
        self.leave(dir, chunk);
        self.drop_name(id, file);
    }

    /// 4.4BSD enters the new name first, or rewrites the entry that is replaced, and removes the old one last.
    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let ino = self.names.file(file).inode.ino;
        // Two names for a moment; where one is replaced, the count of names falls by our old one below.
        self.emit_inode(ino, Flush::Sync);
        let chunk = if let Some((other, gone)) = replaced {
            let (_, chunk) = self.names.place(other, gone);
            // The entry stays and is ours now.
            self.emit_chunk(to, chunk);
            self.drop_name(other, gone);
            chunk
        } else {
            match self.enter(to) {
                Ok(chunk) => chunk,
                Err(NoSpace) => return Outcome::NoSpace,
            }
        };
        let (from, old_chunk) = self.names.place(id, file);
        self.names.set_place(id, file, to, chunk);
        self.leave(from, old_chunk);
        self.emit_inode(ino, Flush::Delayed);
        Outcome::Done
    }

    fn link(&mut self, id: FileId, _existing: FileId, file: u32, dir: u32) -> Outcome {
        self.emit_inode(self.names.file(file).inode.ino, Flush::Sync);
        let Ok(chunk) = self.enter(dir) else {
            return Outcome::NoSpace;
        };
        self.names.link(id, file, dir, chunk);
        Outcome::Done
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        self.new_directory(id.0, parent)
    }

    fn remove_directory(&mut self, dir: u32) {
        self.drop_directory(dir);
    }

    /// 4.4BSD enters the new name first. A directory that gets another parent changes its `..` before the old name
    /// goes.
    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        let ino = self.dirs[dir as usize].inode.ino;
        self.emit_inode(ino, Flush::Sync);
        if self.dirs[dir as usize].parent != to {
            let new_parent = self.dirs[to as usize].inode.ino;
            self.emit_inode(new_parent, Flush::Sync);
        }
        let Ok(chunk) = self.enter(to) else {
            return Outcome::NoSpace;
        };
        let moved = &mut self.dirs[dir as usize];
        let (from, old_chunk) = (moved.parent, moved.chunk);
        (moved.parent, moved.chunk) = (to, chunk);
        if from != to {
            // Its `..`.
            self.emit_chunk(dir, 0);
            self.emit_inode(ino, Flush::Sync);
        }
        self.leave(from, old_chunk);
        self.emit_inode(ino, Flush::Delayed);
        Outcome::Done
    }

    /// What is known of files in use goes. No block moves.
    fn remount(&mut self) {
        self.kept_windows.clear();
    }
}

impl FileSystem for Ffs {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        operations::apply(self, op)
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
        let slot = self.dir_ids.get(dir)?;
        let dir = &self.dirs[slot as usize];
        dir.alive.then_some(dir.inode.ino)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        check::check(self)
    }
}
