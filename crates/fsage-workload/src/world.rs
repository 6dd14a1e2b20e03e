//! What the operations of a workload have made so far: directories, and in each its files by age and size.
//!
//! What fits is decided by the rules of [`fsage_core::operations`], as wherever a workload is replayed.

mod ordered;

pub(crate) use ordered::{Entry, Ordered};

use fsage_core::operations::{self, Action, Decision, DirIds, Namespace, Shortfall};
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
    names: u32,
    size_bytes: u64,
}

/// The file system that a workload makes.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Every directory that ever was; the root is the first.
    pub dirs: Vec<Dir>,
    dir_ids: DirIds,
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
            dir_ids: DirIds::default(),
            names: FxHashMap::default(),
            shared: Vec::new(),
            births: 0,
            units: 0,
            block_bytes: block_bytes.max(1),
            used_bytes: 0,
        };
        world.push_dir(DirId::ROOT, 0, 0);
        world
    }

    /// Place of a directory by its id.
    pub fn dir(&self, id: DirId) -> Option<usize> {
        self.dir_ids.get(id).map(|slot| slot as usize)
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
        self.dir_ids.len() as u64
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
    pub fn size(&self, name: Name) -> u64 {
        let size = match name.kind {
            Kind::Regular => self.dirs[name.dir].files.size(name.birth),
            Kind::Symlink => self.dirs[name.dir].symlinks.size(name.birth),
            Kind::Shared(inode) => Some(self.shared[inode].size_bytes),
        };
        size.unwrap_or(0)
    }

    /// Takes an operation over, with all the space that it asks for. False if it does not fit: then nothing changes.
    pub fn apply(&mut self, op: &Op) -> bool {
        let Ok(Decision::Do(action)) = operations::decide(self, op) else {
            return false;
        };
        self.dir_ids.used_by(op);
        match action {
            Action::Mkdir { id, parent } => self.make_dir(id, parent as usize),
            Action::Rmdir { id, dir } => {
                self.dir_ids.remove(id);
                let dir = &mut self.dirs[dir as usize];
                dir.alive = false;
                let above = dir.parent;
                self.dirs[above].entries -= 1;
            }
            Action::RenameDir { dir, to, .. } => {
                let above = to as usize;
                let old = std::mem::replace(&mut self.dirs[dir as usize].parent, above);
                self.dirs[old].entries -= 1;
                self.dirs[above].entries += 1;
            }
            Action::Create { id, dir, bytes } => self.make(id, dir, bytes, Kind::Regular),
            Action::Symlink { id, dir, bytes } => self.make(id, dir, bytes, Kind::Symlink),
            Action::Write { file, .. }
            | Action::Rewrite { file, .. }
            | Action::Truncate { file, .. }
            | Action::Fallocate { file, .. } => {
                self.resize(file, |size| operations::planned_length(op, size));
            }
            Action::Delete { id, .. } => self.remove(id),
            Action::Rename {
                id, to, replaced, ..
            } => {
                if let Some((replaced, _)) = replaced {
                    self.remove(replaced);
                }
                let (name, size_bytes) = self.leave(id);
                let dir = to as usize;
                self.enter(id, Name { dir, ..name }, size_bytes);
            }
            Action::Link {
                id,
                existing,
                file,
                dir,
            } => self.link(id, (existing, file), dir as usize),
            Action::Punch { .. }
            | Action::Read { .. }
            | Action::Fsync { .. }
            | Action::Sync
            | Action::Remount
            | Action::Day
            | Action::Nothing => {}
        }
        true
    }

    fn make_dir(&mut self, id: DirId, parent: usize) {
        let unit = if parent == 0 {
            self.units += 1;
            self.units
        } else {
            self.dirs[parent].unit
        };
        self.dirs[parent].entries += 1;
        let slot = u32::try_from(self.dirs.len()).expect("fewer than 2^32 directories");
        self.dir_ids.insert(id, slot);
        self.push_dir(id, parent, unit);
    }

    fn push_dir(&mut self, id: DirId, parent: usize, unit: usize) {
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

    fn make(&mut self, id: FileId, dir: u32, size_bytes: u64, kind: Kind) {
        self.used_bytes += self.blocks(size_bytes);
        let (dir, birth) = (dir as usize, self.next_birth());
        self.enter(id, Name { dir, birth, kind }, size_bytes);
    }

    fn next_birth(&mut self) -> u64 {
        self.births += 1;
        self.births - 1
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

    /// Takes a name that is there out of its directory; gives the size of its file.
    fn leave(&mut self, id: FileId) -> (Name, u64) {
        let name = self.names.remove(&id.0).expect("a name that is there");
        let size_bytes = self.size(name);
        let dir = &mut self.dirs[name.dir];
        dir.entries -= 1;
        match name.kind {
            Kind::Regular => dir.files.remove(name.birth),
            Kind::Symlink => dir.symlinks.remove(name.birth),
            Kind::Shared(_) => None,
        };
        (name, size_bytes)
    }

    fn remove(&mut self, id: FileId) {
        let (name, size_bytes) = self.leave(id);
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
    }

    fn resize(&mut self, name: Name, change: impl FnOnce(u64) -> u64) {
        let before = self.size(name);
        let after = change(before);
        if after == before {
            return;
        }
        let size = match name.kind {
            Kind::Regular => self.dirs[name.dir].files.size_mut(name.birth),
            Kind::Symlink => self.dirs[name.dir].symlinks.size_mut(name.birth),
            Kind::Shared(inode) => Some(&mut self.shared[inode].size_bytes),
        };
        *size.expect("the size of a file that is there") = after;
        self.used_bytes = self.used_bytes - self.blocks(before) + self.blocks(after);
    }

    fn link(&mut self, id: FileId, (existing, name): (FileId, Name), dir: usize) {
        let inode = if let Kind::Shared(inode) = name.kind {
            inode
        } else {
            let (name, size_bytes) = self.leave(existing);
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
        let (birth, kind) = (self.next_birth(), Kind::Shared(inode));
        self.enter(id, Name { dir, birth, kind }, 0);
    }
}

/// A directory's slot is its place.
impl Namespace for World {
    type File = Name;

    fn find_file(&self, id: FileId) -> Option<Name> {
        self.name(id)
    }

    fn size_bytes(&self, file: Name) -> u64 {
        self.size(file)
    }

    fn links(&self, file: Name) -> u32 {
        match file.kind {
            Kind::Regular | Kind::Symlink => 1,
            Kind::Shared(inode) => self.shared[inode].names,
        }
    }

    fn place_of(&self, _id: FileId, file: Name) -> u32 {
        file.dir as u32
    }

    fn dir_ids(&self) -> &DirIds {
        &self.dir_ids
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs[dir as usize].parent as u32
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].entries == 0
    }

    /// A workload is planned for as much space as it asks for.
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::empty()
    }
}

#[cfg(test)]
mod tests;
