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
//! | `groups` | maps and summaries of the cylinder groups |
//! | `alloc` | preference, search, pieces, inodes |
//! | `data` | mapping, writing, truncating |
//! | `cluster` | the cluster window and its reallocation |
//! | `directory`, `names` | entries, ids, links |
//! | [`policy`] | what the variants decide |
//! | `check` | the file system check |
//! | [`report`] | what a microscope may look at |

mod alloc;
mod block_list;
mod check;
mod cluster;
mod data;
mod directory;
pub mod geometry;
mod groups;
mod inode;
mod names;
pub mod params;
pub mod policy;
pub mod report;

pub use geometry::{Geometry, NewfsError};
pub use groups::Totals;
pub use params::{Optim, ParamError, Params};

use alloc::NoSpace;
use block_list::RunPool;
use groups::Groups;
use inode::{ClusterWindow, Dir, Indirect, Inode};
use names::Names;

use fsage_core::{
    DirId, Extent, FileId, FileKind, FileSystem, FileView, Inconsistency, Layout, Op, Outcome, Run,
    Space, StateError,
};
use rustc_hash::{FxHashMap, FxHashSet};

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
    names: Names,
    pool: RunPool,
    indirect: FxHashMap<u64, Indirect>,
    dirs: Vec<Dir>,
    free_dirs: Vec<u32>,
    dir_slots: FxHashMap<u64, u32>,
    /// An operation has named directory 0 while it is the root.
    root_named: bool,
    /// `rmdir` is applied as it stands, without looking whether the directory is empty.
    rmdir_as_it_stands: bool,
    /// Ids that lack of space kept from being made.
    absent_files: FxHashSet<u64>,
    absent_dirs: FxHashSet<u64>,
    window: ClusterWindow,
    kept_windows: FxHashMap<u64, ClusterWindow>,
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
            absent_files: FxHashSet::default(),
            absent_dirs: FxHashSet::default(),
            window: ClusterWindow::default(),
            kept_windows: FxHashMap::default(),
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

    /// Whether the operation names something that was never made for lack of space. What it would have made is
    /// then absent as well, and what it removes no longer is.
    fn is_absent(&mut self, op: &Op) -> bool {
        if self.absent_files.is_empty() && self.absent_dirs.is_empty() {
            return false;
        }
        let file = |id: FileId| self.absent_files.contains(&id.0);
        let dir = |id: DirId| self.absent_dirs.contains(&id.0);
        let absent = match *op {
            Op::Mkdir { dir: new, parent } => parent.is_some_and(dir) && self.new_dir(new).is_ok(),
            Op::Rmdir { dir: d } => dir(d),
            Op::RenameDir { dir: d, parent } => dir(d) || dir(parent),
            Op::Create {
                file: new, dir: d, ..
            }
            | Op::Symlink {
                file: new, dir: d, ..
            } => dir(d) && self.new_file(new).is_ok(),
            Op::Append { file: f, .. }
            | Op::Write { file: f, .. }
            | Op::Overwrite { file: f, .. }
            | Op::Rewrite { file: f, .. }
            | Op::Truncate { file: f, .. }
            | Op::Fallocate { file: f, .. }
            | Op::Punch { file: f, .. }
            | Op::Delete { file: f }
            | Op::Read { file: f, .. }
            | Op::Fsync { file: f } => file(f),
            Op::Rename {
                file: f,
                dir: d,
                replaced,
            } => file(f) || dir(d) || replaced.is_some_and(file),
            Op::Link {
                file: new,
                existing,
                dir: d,
            } => (file(existing) || dir(d)) && self.new_file(new).is_ok(),
            _ => false,
        };
        if absent {
            match *op {
                Op::Mkdir { dir, .. } => self.absent_dirs.insert(dir.0),
                Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                    self.absent_files.insert(file.0)
                }
                Op::Delete { file } => self.absent_files.remove(&file.0),
                Op::Rmdir { dir } => self.absent_dirs.remove(&dir.0),
                _ => false,
            };
        }
        absent
    }

    fn mkdir(&mut self, id: DirId, parent: Option<DirId>) -> Applied {
        self.new_dir(id)?;
        let parent = match parent {
            Some(parent) => self.dir(parent)?,
            None => 0,
        };
        let outcome = self.make_directory(id.0, parent);
        if outcome == Outcome::Done {
            self.absent_dirs.remove(&id.0);
        } else {
            self.absent_dirs.insert(id.0);
        }
        Ok(outcome)
    }

    fn rmdir(&mut self, id: DirId) -> Applied {
        let slot = self.movable_dir(id)?;
        if self.dirs[slot as usize].entries > 0 && !self.rmdir_as_it_stands {
            return Err(StateError::NotEmpty(id));
        }
        self.remove_directory(slot);
        Ok(Outcome::Done)
    }

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
        let Ok(chunk) = self.enter(to) else {
            return Ok(Outcome::NoSpace);
        };
        let dir = &mut self.dirs[slot as usize];
        let (from, old_chunk) = (dir.parent, dir.chunk);
        (dir.parent, dir.chunk) = (to, chunk);
        self.leave(from, old_chunk);
        Ok(Outcome::Done)
    }

    /// A new file or symbolic link with its data.
    fn create(&mut self, id: FileId, dir: DirId, bytes: u64, symlink: bool) -> Applied {
        self.new_file(id)?;
        let dir = self.dir(dir)?;
        match self.make_file(id.0, dir, symlink) {
            Ok(slot) => {
                if !self.absent_files.is_empty() {
                    self.absent_files.remove(&id.0);
                }
                if symlink && bytes < FAST_SYMLINK {
                    self.names.file_mut(slot).inode.size = bytes;
                    return Ok(Outcome::Done);
                }
                Ok(self.change(slot, (0, bytes), |fs, inode| {
                    fs.write(inode, 0, bytes, !symlink)
                }))
            }
            Err(outcome) => {
                self.absent_files.insert(id.0);
                Ok(outcome)
            }
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
        self.window = if self.params.keep_clusters {
            self.kept_windows
                .get(&inode.ino)
                .copied()
                .unwrap_or_default()
        } else {
            ClusterWindow::default()
        };
        let result = operation(self, &mut inode);
        if self.params.keep_clusters {
            self.kept_windows.insert(inode.ino, self.window);
        }
        self.names.file_mut(slot).inode = inode;
        match result {
            Ok(()) => Outcome::Done,
            Err(NoSpace) => Outcome::NoSpace,
        }
    }

    fn write_at(&mut self, slot: u32, offset: u64, bytes: u64) -> Outcome {
        self.change(slot, (offset, bytes), |fs, inode| {
            fs.write(inode, offset, bytes, true)
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
        self.change(slot, (0, bytes), |fs, inode| fs.truncate(inode, bytes))
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
        if let Some(mut file) = self.names.unlink(id, slot) {
            self.release(&mut file.inode, false);
            if self.params.keep_clusters {
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
                self.drop_name(other, gone);
                its_chunk
            }
            None => match self.enter(to) {
                Ok(chunk) => chunk,
                Err(NoSpace) => return Ok(Outcome::NoSpace),
            },
        };
        let (from, old_chunk) = self.names.place(id, slot);
        self.names.set_place(id, slot, to, chunk);
        self.leave(from, old_chunk);
        Ok(Outcome::Done)
    }

    fn link(&mut self, id: FileId, existing: FileId, dir: DirId) -> Applied {
        self.new_file(id)?;
        let slot = self.file(existing)?;
        let dir = self.dir(dir)?;
        let Ok(chunk) = self.enter(dir) else {
            self.absent_files.insert(id.0);
            return Ok(Outcome::NoSpace);
        };
        self.absent_files.remove(&id.0);
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

impl FileSystem for Ffs {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        if self.is_absent(op) {
            return Ok(Outcome::Absent);
        }
        let root_named = self.root_named;
        let applied = self.dispatch(op);
        if applied.is_err() {
            // A line that was refused has not used the root.
            self.root_named = root_named;
        }
        applied
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.size)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        let findings = check::findings(self);
        if findings.is_empty() {
            Ok(())
        } else {
            Err(Inconsistency { findings })
        }
    }
}

impl Layout for Ffs {
    fn geometry(&self) -> fsage_core::Geometry {
        let g = &self.geometry;
        fsage_core::Geometry {
            fs_type: "ffs".to_owned(),
            size_bytes: g.size * g.fsize,
            data_bytes: Some(g.dsize * g.fsize),
            reserved_bytes: g.dsize * g.minfree / 100 * g.fsize,
            block_bytes: g.bsize as u32,
            frag_bytes: g.fsize as u32,
            inodes_total: g.ipg * g.ncg as u64,
            group_count: g.ncg as u32,
            group_bytes: g.fpg * g.fsize,
            inodes_per_group: g.ipg as u32,
            first_ino: 0,
        }
    }

    fn space(&self) -> Space {
        Space {
            free_blocks: self.groups.totals.nbfree,
            free_frags: self.groups.totals.nffree,
            free_inodes: self.groups.totals.nifree,
        }
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        let mut extents = Vec::new();
        for dir in self.dirs.iter().filter(|dir| dir.alive) {
            let parent = &self.dirs[dir.parent as usize];
            let view = self.view(&dir.inode, &mut extents);
            visit(&FileView {
                kind: FileKind::Directory,
                parent_ino: parent.alive.then_some(parent.inode.ino),
                links: 2,
                ..view
            });
        }
        for (slot, file) in self.names.iter() {
            let parent = &self.dirs[file.dir as usize];
            let links = if file.entry.is_linked() {
                self.names.links(slot)
            } else {
                1
            };
            let view = self.view(&file.inode, &mut extents);
            visit(&FileView {
                kind: if file.entry.is_symlink() {
                    FileKind::Symlink
                } else {
                    FileKind::Regular
                },
                parent_ino: parent.alive.then_some(parent.inode.ino),
                links,
                ..view
            });
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        let fsize = self.geometry.fsize;
        let mut open: Option<(u64, u64)> = None;
        self.visit_free_frags(|start, n| match &mut open {
            Some((_, end)) if *end == start => *end += n,
            _ => {
                if let Some((start, end)) = open.replace((start, start + n)) {
                    visit(Run {
                        start_bytes: start * fsize,
                        length_bytes: (end - start) * fsize,
                    });
                }
            }
        });
        if let Some((start, end)) = open {
            visit(Run {
                start_bytes: start * fsize,
                length_bytes: (end - start) * fsize,
            });
        }
    }
}

impl Ffs {
    /// An inode as metrics see it; `extents` is room to put its runs.
    fn view<'a>(&self, inode: &Inode, extents: &'a mut Vec<Extent>) -> FileView<'a> {
        let g = &self.geometry;
        extents.clear();
        let blocks = inode.size.div_ceil(g.bsize) as u32;
        let mut frags = 0;
        for run in inode.blocks.iter(&self.pool) {
            let mut length = u64::from(run.blocks) * g.frag;
            if run.end() == blocks {
                length -= g.frag - self.frags_of(inode.size, blocks - 1) as u64;
            }
            frags += length;
            extents.push(Extent {
                logical_bytes: u64::from(run.lbn) * g.bsize,
                physical_bytes: run.address * g.fsize,
                length_bytes: length * g.fsize,
                flags: 0,
            });
        }
        if let Some(indirect) = self.indirect_of(inode) {
            for address in indirect.addresses() {
                frags += g.frag;
                extents.push(Extent {
                    logical_bytes: Extent::POINTERS_AT,
                    physical_bytes: address * g.fsize,
                    length_bytes: g.bsize,
                    flags: Extent::POINTERS,
                });
            }
        }
        FileView {
            ino: inode.ino,
            generation: None,
            parent_ino: None,
            kind: FileKind::Regular,
            links: 1,
            size_bytes: inode.size,
            alloc_bytes: Some(frags * g.fsize),
            extents: Some(extents),
        }
    }

    /// Indirect blocks of an inode; only files with more than 12 blocks are looked up.
    fn indirect_of(&self, inode: &Inode) -> Option<&Indirect> {
        if inode.size <= u64::from(geometry::DIRECT) * self.geometry.bsize {
            return None;
        }
        self.indirect.get(&inode.ino)
    }

    /// Visits free space as runs of fragments, ascending; neighbors may touch.
    fn visit_free_frags(&self, mut visit: impl FnMut(u64, u64)) {
        let frag = self.groups.frag;
        for c in 0..self.geometry.ncg {
            let base = self.geometry.base(c);
            let mut partial = self.groups.partial[c].iter().peekable();
            let mut free = self.groups.find_block(c, 0);
            loop {
                let next_partial = partial.peek().map(|p| p.block());
                match (free, next_partial) {
                    (Some(block), other) if other.is_none_or(|p| block < p) => {
                        let run = self.groups.free_run(c, block);
                        visit(base + (block * frag) as u64, (run * frag) as u64);
                        free = self.groups.next_block(c, block + run);
                    }
                    (_, Some(block)) => {
                        let mask = partial.next().map_or(0, |p| p.mask());
                        for offset in (0..frag).filter(|o| mask >> o & 1 == 1) {
                            visit(base + (block * frag + offset) as u64, 1);
                        }
                    }
                    (_, None) => break,
                }
            }
        }
    }
}
