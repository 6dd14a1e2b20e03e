//! What the operations of a workload have made so far: directories, and in each its files by age and size.

mod ordered;

pub(crate) use ordered::{Entry, Ordered};

use fsage_core::{DirId, FileId, Op};
use rustc_hash::FxHashMap;

/// A directory, alive or not.
#[derive(Clone, Debug)]
pub(crate) struct Dir {
    pub id: DirId,
    /// Place of the directory it lies in, or lay in.
    pub parent: usize,
    pub alive: bool,
    /// Entries: names of files, and directories.
    pub entries: u64,
    /// Regular files of one name.
    pub files: Ordered,
    /// Symbolic links of one name.
    pub symlinks: Ordered,
    /// What the directory counts as when only a part of the workload is wanted: a directory of the root with
    /// all that was made below it, by its number from 1; files right in the root are 0.
    pub unit: usize,
}

/// A name of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    /// Place of its directory.
    pub dir: usize,
    pub birth: u64,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Regular,
    Symlink,
    /// Has, or had, several names: the inode of that number.
    Shared(usize),
}

#[derive(Clone, Copy, Debug)]
struct Shared {
    names: u64,
    size_bytes: u64,
}

/// The file system that a workload makes.
#[derive(Debug)]
pub(crate) struct World {
    /// Every directory that ever was; the root is the first.
    pub dirs: Vec<Dir>,
    by_id: FxHashMap<u64, usize>,
    names: FxHashMap<u64, Name>,
    shared: Vec<Shared>,
    /// Number of the next file.
    pub births: u64,
    /// Directories made in the root.
    units: usize,
    block_bytes: u64,
    /// Sum of the sizes of all files, each in whole blocks.
    pub used_bytes: u128,
}

impl World {
    /// Nothing but a root.
    pub fn new(block_bytes: u64) -> World {
        let mut world = World {
            dirs: Vec::new(),
            by_id: FxHashMap::default(),
            names: FxHashMap::default(),
            shared: Vec::new(),
            births: 0,
            units: 0,
            block_bytes: block_bytes.max(1),
            used_bytes: 0,
        };
        world.enter_dir(DirId::ROOT, 0, 0);
        world
    }

    /// Place of a directory by its id.
    pub fn dir(&self, id: DirId) -> Option<usize> {
        self.by_id.get(&id.0).copied()
    }

    /// A name by its id.
    pub fn name(&self, id: FileId) -> Option<Name> {
        self.names.get(&id.0).copied()
    }

    /// Files and symbolic links, by names.
    pub fn live_names(&self) -> u64 {
        self.names.len() as u64
    }

    /// Directories, the root included.
    pub fn live_dirs(&self) -> u64 {
        self.by_id.len() as u64
    }

    /// Directories that were ever made in the root.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Size in whole blocks.
    pub fn blocks(&self, size_bytes: u64) -> u128 {
        u128::from(size_bytes.div_ceil(self.block_bytes)) * u128::from(self.block_bytes)
    }

    /// Whether other names have this one's inode.
    pub fn is_linked(&self, name: Name) -> bool {
        matches!(name.kind, Kind::Shared(inode) if self.shared[inode].names > 1)
    }

    /// Size of the file of a name.
    pub fn size(&mut self, name: Name) -> u64 {
        self.size_mut(name).map_or(0, |size| *size)
    }

    fn size_mut(&mut self, name: Name) -> Option<&mut u64> {
        match name.kind {
            Kind::Regular => self.dirs[name.dir].files.size_mut(name.birth),
            Kind::Symlink => self.dirs[name.dir].symlinks.size_mut(name.birth),
            Kind::Shared(inode) => Some(&mut self.shared[inode].size_bytes),
        }
    }

    /// Takes an operation over. False if it does not fit: then nothing changes.
    pub fn apply(&mut self, op: &Op) -> bool {
        self.try_apply(op).is_some()
    }

    fn try_apply(&mut self, op: &Op) -> Option<()> {
        match *op {
            Op::Mkdir { dir, parent } => {
                let above = self.dir(parent.unwrap_or(DirId::ROOT))?;
                let is_free = self.dir(dir).is_none_or(|at| at == 0);
                is_free.then(|| self.make_dir(dir, above))
            }
            Op::Rmdir { dir } => {
                let at = self.dir(dir).filter(|at| *at != 0)?;
                (self.dirs[at].entries == 0).then_some(())?;
                self.by_id.remove(&dir.0);
                self.dirs[at].alive = false;
                let above = self.dirs[at].parent;
                self.dirs[above].entries -= 1;
                Some(())
            }
            Op::RenameDir { dir, parent } => {
                let at = self.dir(dir).filter(|at| *at != 0)?;
                let above = self.dir(parent)?;
                (!self.is_below(above, at)).then_some(())?;
                let old = std::mem::replace(&mut self.dirs[at].parent, above);
                self.dirs[old].entries -= 1;
                self.dirs[above].entries += 1;
                Some(())
            }
            Op::Create { file, dir, bytes } => self.make(file, dir, bytes, Kind::Regular),
            Op::Symlink { file, dir, bytes } => self.make(file, dir, bytes, Kind::Symlink),
            Op::Append { file, bytes } => self.resize(file, |size| size.saturating_add(bytes)),
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            } => self.resize(file, |size| {
                let end = if bytes == 0 {
                    0
                } else {
                    offset.saturating_add(bytes)
                };
                size.max(end)
            }),
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                self.resize(file, |_| bytes)
            }
            Op::Delete { file } => self.remove(file),
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
            Op::Overwrite { file, .. }
            | Op::Punch { file, .. }
            | Op::Read { file, .. }
            | Op::Fsync { file } => self.name(file).map(|_| ()),
            Op::Sync
            | Op::Remount
            | Op::Day
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => Some(()),
        }
    }

    fn is_below(&self, mut at: usize, above: usize) -> bool {
        while at != above && at != 0 {
            at = self.dirs[at].parent;
        }
        at == above
    }

    fn make_dir(&mut self, id: DirId, parent: usize) {
        let unit = if parent == 0 {
            self.units += 1;
            self.units
        } else {
            self.dirs[parent].unit
        };
        self.dirs[parent].entries += 1;
        self.enter_dir(id, parent, unit);
    }

    fn enter_dir(&mut self, id: DirId, parent: usize, unit: usize) {
        self.by_id.insert(id.0, self.dirs.len());
        self.dirs.push(Dir {
            id,
            parent,
            alive: true,
            entries: 0,
            files: Ordered::default(),
            symlinks: Ordered::default(),
            unit,
        });
    }

    fn make(&mut self, file: FileId, dir: DirId, size_bytes: u64, kind: Kind) -> Option<()> {
        let dir = self.dir(dir)?;
        self.name(file).is_none().then_some(())?;
        self.used_bytes += self.blocks(size_bytes);
        let birth = self.births;
        self.births += 1;
        self.enter(file, Name { dir, birth, kind }, size_bytes);
        Some(())
    }

    fn enter(&mut self, id: FileId, name: Name, size_bytes: u64) {
        let dir = &mut self.dirs[name.dir];
        dir.entries += 1;
        let entry = Entry {
            birth: name.birth,
            id: id.0,
            size_bytes,
        };
        match name.kind {
            Kind::Regular => dir.files.insert(entry),
            Kind::Symlink => dir.symlinks.insert(entry),
            Kind::Shared(_) => {}
        }
        self.names.insert(id.0, name);
    }

    /// Takes a name out of its directory; gives the size of its file.
    fn leave(&mut self, id: FileId) -> Option<(Name, u64)> {
        let name = self.names.remove(&id.0)?;
        let size_bytes = self.size(name);
        let dir = &mut self.dirs[name.dir];
        dir.entries -= 1;
        match name.kind {
            Kind::Regular => dir.files.remove(name.birth),
            Kind::Symlink => dir.symlinks.remove(name.birth),
            Kind::Shared(_) => None,
        };
        Some((name, size_bytes))
    }

    fn remove(&mut self, id: FileId) -> Option<()> {
        let (name, size_bytes) = self.leave(id)?;
        let left = match name.kind {
            Kind::Shared(inode) => {
                self.shared[inode].names -= 1;
                self.shared[inode].names
            }
            Kind::Regular | Kind::Symlink => 0,
        };
        if left == 0 {
            self.used_bytes -= self.blocks(size_bytes);
        }
        Some(())
    }

    fn resize(&mut self, id: FileId, change: impl FnOnce(u64) -> u64) -> Option<()> {
        let name = self.name(id)?;
        let size = self.size_mut(name)?;
        let before = *size;
        *size = change(before);
        let after = *size;
        self.used_bytes = self.used_bytes - self.blocks(before) + self.blocks(after);
        Some(())
    }

    fn rename(&mut self, file: FileId, dir: DirId, replaced: Option<FileId>) -> Option<()> {
        let dir = self.dir(dir)?;
        self.name(file)?;
        if let Some(replaced) = replaced {
            (replaced != file && self.name(replaced)?.dir == dir).then_some(())?;
            self.remove(replaced)?;
        }
        let (name, size_bytes) = self.leave(file)?;
        self.enter(file, Name { dir, ..name }, size_bytes);
        Some(())
    }

    fn link(&mut self, file: FileId, existing: FileId, dir: DirId) -> Option<()> {
        let dir = self.dir(dir)?;
        self.name(file).is_none().then_some(())?;
        let name = self.name(existing)?;
        let inode = if let Kind::Shared(inode) = name.kind {
            inode
        } else {
            let (name, size_bytes) = self.leave(existing)?;
            let inode = self.shared.len();
            self.shared.push(Shared {
                names: 1,
                size_bytes,
            });
            let kind = Kind::Shared(inode);
            self.enter(existing, Name { kind, ..name }, size_bytes);
            inode
        };
        self.shared[inode].names += 1;
        let birth = self.births;
        self.births += 1;
        let kind = Kind::Shared(inode);
        self.enter(file, Name { dir, birth, kind }, 0);
        Some(())
    }
}
