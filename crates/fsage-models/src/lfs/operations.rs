//! Operations of a workload on files and directories by id.

use super::directory::Entry;
use super::disk::Child;
use super::inode::Kind;
use super::params::Variant;
use super::{Lfs, NoSpace};
use crate::FAST_SYMLINK;
use crate::changes;
use crate::searched;
use fsage_core::operations::{self, DirIds, Model, Namespace, Shortfall};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};

/// A name of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    /// Slot of the inode.
    pub slot: u32,
    /// The directory it stands in.
    pub dir: u32,
    pub entry: Entry,
}

fn outcome(result: Result<(), NoSpace>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(NoSpace) => Outcome::NoSpace,
    }
}

/// Whether an operation that ended so was one to the file system: what is skipped moves no clock, and lets nobody work.
fn takes_time(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Absent | Outcome::Ignored)
}

impl Lfs {
    /// The next name that is made is this one; others are as long as the parameters say.
    pub fn call_next(&mut self, name: &str) {
        self.next_entry = Some(super::directory::entry_bytes(name));
    }

    fn entry_bytes(&mut self) -> u16 {
        self.next_entry.take().unwrap_or(self.params.dirent_bytes)
    }

    /// Whether the pointers of an inode reach so far.
    fn fits(&self, end: u64) -> bool {
        end.div_ceil(u64::from(self.geometry.block_bytes)) <= self.geometry.max_blocks()
    }

    /// A new file or symbolic link without data yet; gives its slot.
    fn make_file(&mut self, id: FileId, dir: u32, kind: Kind) -> Result<u32, NoSpace> {
        let bytes = self.entry_bytes();
        let (slot, entry) = self.make_entry(dir, kind, bytes)?;
        self.names.insert(id.0, Name { slot, dir, entry });
        self.changes.new_file(slot);
        self.record_name(dir, entry, Child::File(id.0), slot);
        self.inodes[slot as usize].parent = dir;
        Ok(slot)
    }

    /// The names of a file as they were found on disk: ids with directory and place, ascending.
    pub(super) fn adopt_names(&mut self, slot: u32, found: &[(u64, u32, Entry)]) {
        for &(id, dir, entry) in found {
            self.names.insert(id, Name { slot, dir, entry });
        }
        self.inodes[slot as usize].parent = found[0].1;
        if found.len() > 1 {
            let ids = found.iter().map(|&(id, ..)| id);
            self.linked.insert(slot, ids.collect());
        }
    }

    /// Removes a name whose entry has been seen to. The inode goes with its last name.
    fn drop_name(&mut self, id: FileId, name: Name) {
        self.names.remove(&id.0);
        self.record_unnamed(name.dir, name.entry, id.0);
        let Some(ids) = self.linked.get_mut(&name.slot) else {
            self.remove(name.slot, name.dir);
            return;
        };
        ids.retain(|&other| other != id.0);
        let first = ids[0];
        if ids.len() == 1 {
            self.linked.remove(&name.slot);
        }
        self.inodes[name.slot as usize].parent = self.names[&first].dir;
        self.mark_names([name.dir], name.slot);
    }

    /// A directory operation that makes and removes no inode.
    fn mark_names<const N: usize>(&mut self, dirs: [u32; N], slot: u32) {
        for dir in dirs {
            self.mark(self.dirs[dir as usize].slot);
        }
        self.mark(slot);
    }

    /// Applies an operation without letting the cleaner of `netbsd` look whether it has to work.
    ///
    /// # Errors
    /// As [`FileSystem::apply`].
    pub fn step(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let applied = operations::apply(self, op);
        self.next_entry = None;
        if applied.is_ok_and(takes_time) {
            self.now += 1;
        }
        applied
    }

    /// Flushes a file between two operations.
    ///
    /// # Errors
    /// No such file.
    pub fn flush_file(&mut self, file: FileId) -> Result<(), StateError> {
        let slot = self.find_file(file).ok_or(StateError::NoFile(file))?;
        self.flush_one(slot);
        Ok(())
    }
}

impl Namespace for Lfs {
    type File = u32;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<u32> {
        self.names.get(&id.0).map(|name| name.slot)
    }

    fn size_bytes(&self, file: u32) -> u64 {
        self.inodes[file as usize].size
    }

    fn links(&self, file: u32) -> u32 {
        self.linked.get(&file).map_or(1, |ids| ids.len() as u32)
    }

    fn place_of(&self, id: FileId, _file: u32) -> u32 {
        self.names[&id.0].dir
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs[dir as usize].parent
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].entries == 0
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

impl Model for Lfs {
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
    }

    fn touch_directory(&mut self, dir: u32) {
        changes::touch_directory(self, dir);
    }

    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        match self.make_file(id, dir, Kind::File) {
            Ok(slot) => self.write_at(slot, 0, bytes),
            Err(NoSpace) => Outcome::NoSpace,
        }
    }

    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        match self.make_file(id, dir, Kind::Symlink) {
            Ok(slot) if bytes < FAST_SYMLINK => {
                self.inodes[slot as usize].size = bytes;
                Outcome::Done
            }
            Ok(slot) => self.write_at(slot, 0, bytes),
            Err(NoSpace) => Outcome::NoSpace,
        }
    }

    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        match offset.checked_add(bytes) {
            Some(end) if self.fits(end) => outcome(self.write(file, offset, bytes)),
            _ => Outcome::TooLarge,
        }
    }

    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome {
        if self.fits(bytes) {
            outcome(self.change_length(file, bytes))
        } else {
            Outcome::TooLarge
        }
    }

    fn delete(&mut self, id: FileId, _file: u32) {
        let name = self.names[&id.0];
        self.leave(name.dir, name.entry);
        self.drop_name(id, name);
    }

    /// The new name is entered first, or the entry that is replaced is rewritten; the old one goes last.
    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let name = self.names[&id.0];
        let entry = if let Some((other, _)) = replaced {
            let gone = self.names[&other.0];
            let slot = self.dirs[to as usize].slot;
            self.dirty(slot, self.block_of(gone.entry.chunk as usize));
            self.drop_name(other, gone);
            gone.entry
        } else {
            match self.enter(to, name.entry.bytes) {
                Ok(entry) => entry,
                Err(NoSpace) => return Outcome::NoSpace,
            }
        };
        let renamed = Name {
            slot: file,
            dir: to,
            entry,
        };
        self.names.insert(id.0, renamed);
        self.record_unnamed(name.dir, name.entry, id.0);
        self.record_name(to, entry, Child::File(id.0), file);
        let first = self.linked.get(&file).map_or(id.0, |ids| ids[0]);
        self.inodes[file as usize].parent = self.names[&first].dir;
        self.leave(name.dir, name.entry);
        self.mark_names([name.dir, to], file);
        Outcome::Done
    }

    fn link(&mut self, id: FileId, existing: FileId, file: u32, dir: u32) -> Outcome {
        let bytes = self.entry_bytes();
        let Ok(entry) = self.enter(dir, bytes) else {
            return Outcome::NoSpace;
        };
        let name = Name {
            slot: file,
            dir,
            entry,
        };
        self.names.insert(id.0, name);
        self.record_name(dir, entry, Child::File(id.0), file);
        let ids = self.linked.entry(file).or_insert_with(|| vec![existing.0]);
        ids.push(id.0);
        self.mark_names([dir], file);
        Outcome::Done
    }

    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        let bytes = self.entry_bytes();
        let made = self.make_entry(parent, Kind::Directory, bytes);
        let (slot, entry) = made.map_err(|NoSpace| Outcome::NoSpace)?;
        self.record_name(parent, entry, Child::Directory(id.0), slot);
        Ok(self.add_directory(slot, parent, entry))
    }

    fn remove_directory(&mut self, dir: u32) {
        let removed = &mut self.dirs[dir as usize];
        removed.alive = false;
        let (slot, parent, entry) = (removed.slot, removed.parent, removed.entry);
        self.leave(parent, entry);
        self.record_unnamed_directory(parent, entry, slot);
        self.remove(slot, parent);
        self.free_dirs.push(dir);
    }

    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome {
        let moved = &self.dirs[dir as usize];
        let (slot, from, old) = (moved.slot, moved.parent, moved.entry);
        let Ok(entry) = self.enter(to, old.bytes) else {
            return Outcome::NoSpace;
        };
        let moved = &mut self.dirs[dir as usize];
        (moved.parent, moved.entry) = (to, entry);
        if from != to {
            // Its `..`.
            self.dirty(slot, 0);
        }
        self.leave(from, old);
        if let Some(child) = self.record_unnamed_directory(from, old, slot) {
            self.record_name(to, entry, child, slot);
        }
        self.mark_names([from, to], slot);
        Outcome::Done
    }

    fn fsync(&mut self, file: u32) {
        self.flush_one(file);
    }

    fn sync(&mut self) {
        self.checkpoint();
    }
}

impl FileSystem for Lfs {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let outcome = self.step(op)?;
        if !takes_time(outcome) {
            return Ok(outcome);
        }
        let sync_every = self.params.sync_every;
        if sync_every > 0 && self.now.is_multiple_of(sync_every) {
            self.checkpoint();
        }
        let every = self.params.poll_operations;
        if self.params.variant == Variant::NetBsd && every > 0 && self.now.is_multiple_of(every) {
            self.poll_cleaner();
        }
        Ok(outcome)
    }

    fn set_time(&mut self, t_ns: i64) {
        self.clean_until(t_ns);
    }

    fn file_size(&self, file: FileId) -> Option<u64> {
        let name = self.names.get(&file.0)?;
        Some(self.inodes[name.slot as usize].size)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let name = self.names.get(&file.0)?;
        Some(u64::from(self.inodes[name.slot as usize].ino))
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let number = self.dir_ids.get(dir)?;
        let slot = self.dirs[number as usize].slot;
        Some(u64::from(self.inodes[slot as usize].ino))
    }

    fn check(&self) -> Result<(), Inconsistency> {
        super::check::check(self)
    }
}
