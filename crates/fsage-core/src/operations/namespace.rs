//! What is there: ids of files and directories, and what the rules ask of them.

use super::Shortfall;
use crate::{DirId, FileId, Op, StateError};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Slot of the root among the directories.
pub const ROOT: u32 = 0;

/// What operations are checked against. Directories are named by slots, of which the root has [`ROOT`]; files as the
/// owner likes.
pub trait Namespace {
    /// What a file is found by: a slot, mostly.
    type File: Copy;

    /// The file that has this name.
    fn find_file(&self, id: FileId) -> Option<Self::File>;

    /// Bytes of a file.
    fn size_bytes(&self, file: Self::File) -> u64;

    /// Whether nothing can be written to a file, nor allocated: what is asked for is ignored, wherever it begins and
    /// ends.
    #[inline]
    fn takes_no_data(&self, _file: Self::File) -> bool {
        false
    }

    /// Number of names of a file.
    fn links(&self, file: Self::File) -> u32;

    /// Slot of the directory in which this name of a file stands.
    fn place_of(&self, id: FileId, file: Self::File) -> u32;

    /// Which id names which directory.
    fn dir_ids(&self) -> &DirIds;

    /// Slot of the directory that holds a directory, which is not the root.
    fn parent_of(&self, dir: u32) -> u32;

    /// Whether a directory may be removed as it is: nothing is in it.
    fn is_removable(&self, dir: u32) -> bool;

    /// What lack of space kept from being made, in as many parts as it is kept in; none where there is always space.
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall>;
}

/// Which id names which directory, by its slot.
///
/// The root has number 0 until a workload makes a directory of that number itself, which it may do before anything has
/// named the root by it.
#[derive(Debug)]
pub struct DirIds {
    slots: FxHashMap<u64, u32>,
    /// An operation has named directory 0 while it is the root. Threads that work side by side may find that out.
    root_named: AtomicBool,
}

impl Default for DirIds {
    /// The root alone.
    fn default() -> DirIds {
        DirIds {
            slots: FxHashMap::from_iter([(DirId::ROOT.0, ROOT)]),
            root_named: AtomicBool::new(false),
        }
    }
}

impl Clone for DirIds {
    fn clone(&self) -> DirIds {
        DirIds {
            slots: self.slots.clone(),
            root_named: AtomicBool::new(self.root_named.load(Relaxed)),
        }
    }
}

impl DirIds {
    /// Slot of the directory that has this id.
    #[inline]
    pub fn get(&self, id: DirId) -> Option<u32> {
        self.slots.get(&id.0).copied()
    }

    /// Slot of the directory that has this id.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn find(&self, id: DirId) -> Result<u32, StateError> {
        self.get(id).ok_or(StateError::NoDirectory(id))
    }

    /// Slot of a directory that may be removed or moved.
    ///
    /// # Errors
    /// There is none, or it is the root.
    pub fn find_movable(&self, id: DirId) -> Result<u32, StateError> {
        match self.find(id)? {
            ROOT => Err(StateError::Root(id)),
            slot => Ok(slot),
        }
    }

    /// Whether a new directory may have this id.
    ///
    /// # Errors
    /// A directory has it, or it is that of the root, by which an operation has named it.
    pub fn check_new(&self, id: DirId) -> Result<(), StateError> {
        match self.slots.get(&id.0) {
            Some(&ROOT) if self.root_named.load(Relaxed) => Err(StateError::RootInUse),
            Some(&ROOT) | None => Ok(()),
            Some(_) => Err(StateError::DirectoryExists(id)),
        }
    }

    /// An operation is going to be done: remembers whether it names the root by its number. What is refused or skipped
    /// has not used it.
    #[inline]
    pub fn used_by(&self, op: &Op) {
        if names_zero(op) && self.get(DirId::ROOT) == Some(ROOT) {
            self.root_named.store(true, Relaxed);
        }
    }

    /// A directory gets an id.
    pub fn insert(&mut self, id: DirId, slot: u32) {
        self.slots.insert(id.0, slot);
    }

    /// The directory that has this id is gone.
    pub fn remove(&mut self, id: DirId) {
        self.slots.remove(&id.0);
    }

    /// Number of directories that have an id. The root is one of them until another one has taken its number.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no directory has an id.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// Whether an operation that may be done names directory 0 as one that is there.
#[inline]
fn names_zero(op: &Op) -> bool {
    match *op {
        Op::Create { dir, .. }
        | Op::Symlink { dir, .. }
        | Op::Link { dir, .. }
        | Op::Rename { dir, .. }
        | Op::RenameDir { parent: dir, .. }
        | Op::Mkdir {
            parent: Some(dir), ..
        } => dir == DirId::ROOT,
        _ => false,
    }
}

/// How many names that has which an operation was to make, to replace or to remove: 0 if it is not there.
pub fn names_there<N: Namespace>(namespace: &N, op: &Op) -> u32 {
    match *op {
        Op::Create { file, .. }
        | Op::Symlink { file, .. }
        | Op::Link { file, .. }
        | Op::Delete { file }
        | Op::Rename {
            replaced: Some(file),
            ..
        } => {
            let found = namespace.find_file(file);
            found.map_or(0, |file| namespace.links(file))
        }
        Op::Mkdir { dir, .. } => {
            let is_there = namespace.dir_ids().get(dir).is_some_and(|at| at != ROOT);
            u32::from(is_there)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_in(dir: u64) -> Op {
        Op::Create {
            file: FileId(1),
            dir: DirId(dir),
            bytes: 0,
        }
    }

    /// `docs/spec/workload.md`, section 3.2.
    #[test]
    fn number_0_may_be_taken_from_the_root_until_an_operation_has_named_it() {
        let zero = DirId::ROOT;
        let mut ids = DirIds::default();
        assert_eq!(ids.find_movable(zero), Err(StateError::Root(zero)));
        ids.used_by(&create_in(1));
        assert_eq!(ids.check_new(zero), Ok(()));
        ids.insert(zero, 3);
        ids.used_by(&create_in(0));
        assert_eq!(ids.find_movable(zero), Ok(3));
        assert_eq!(ids.check_new(zero), Err(StateError::DirectoryExists(zero)));
        ids.remove(zero);
        assert_eq!(ids.find(zero), Err(StateError::NoDirectory(zero)));
        assert_eq!(ids.check_new(zero), Ok(()));

        let ids = DirIds::default();
        ids.used_by(&create_in(0));
        assert_eq!(ids.clone().check_new(zero), Err(StateError::RootInUse));
    }
}
