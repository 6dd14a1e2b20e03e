//! Operations of a workload on files and directories by id.

use super::directory::{Directory, Entry};
use super::inode::Kind;
use super::params::Variant;
use super::{Lfs, NoSpace};
use fsage_core::{DirId, FileId, FileSystem, Inconsistency, Op, Outcome, StateError};

/// Targets of symbolic links below this length lie in the inode.
const FAST_SYMLINK: u64 = 60;

/// A name of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    /// Slot of the inode.
    pub slot: u32,
    /// The directory it stands in.
    pub dir: u32,
    pub entry: Entry,
}

/// What an operation that may end in an outcome other than [`Outcome::Done`] gives.
type Applied = Result<Outcome, StateError>;

fn outcome(result: Result<(), NoSpace>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(NoSpace) => Outcome::NoSpace,
    }
}

impl Lfs {
    /// The next name that is made is this one; others are as long as the parameters say.
    pub fn call_next(&mut self, name: &str) {
        self.next_entry = Some(super::directory::entry_bytes(name));
    }

    fn entry_bytes(&mut self) -> u16 {
        self.next_entry.take().unwrap_or(self.params.dirent_bytes)
    }

    pub(super) fn name(&self, id: FileId) -> Result<Name, StateError> {
        self.names.get(&id.0).copied().ok_or(StateError::NoFile(id))
    }

    fn slot(&self, id: FileId) -> Result<u32, StateError> {
        Ok(self.name(id)?.slot)
    }

    pub(super) fn new_file(&self, id: FileId) -> Result<(), StateError> {
        if self.names.contains_key(&id.0) {
            Err(StateError::FileExists(id))
        } else {
            Ok(())
        }
    }

    /// The number 0 may be given to an ordinary directory before anything has used it for the root.
    pub(super) fn new_dir(&self, id: DirId) -> Result<(), StateError> {
        match self.dir_numbers.get(&id.0) {
            Some(0) if self.root_named => Err(StateError::RootInUse),
            Some(0) | None => Ok(()),
            Some(_) => Err(StateError::DirectoryExists(id)),
        }
    }

    fn dir(&mut self, id: DirId) -> Result<u32, StateError> {
        let number = self.dir_numbers.get(&id.0).copied();
        let number = number.ok_or(StateError::NoDirectory(id))?;
        self.root_named |= number == 0;
        Ok(number)
    }

    /// A directory that may be removed or moved.
    fn movable_dir(&mut self, id: DirId) -> Result<u32, StateError> {
        match self.dir(id)? {
            0 => Err(StateError::Root(id)),
            number => Ok(number),
        }
    }

    fn mkdir(&mut self, id: DirId, parent: Option<DirId>) -> Applied {
        self.new_dir(id)?;
        let parent = match parent {
            Some(parent) => self.dir(parent)?,
            None => 0,
        };
        let bytes = self.entry_bytes();
        let Ok((slot, entry)) = self.make_entry(parent, Kind::Directory, bytes) else {
            return Ok(Outcome::NoSpace);
        };
        let number = self.add_directory(slot, parent, entry);
        self.dir_numbers.insert(id.0, number);
        Ok(Outcome::Done)
    }

    fn rmdir(&mut self, id: DirId) -> Applied {
        let number = self.movable_dir(id)?;
        let Directory {
            slot,
            parent,
            entry,
            entries,
            ..
        } = self.dirs[number as usize];
        if entries > 0 {
            return Err(StateError::NotEmpty(id));
        }
        self.leave(parent, entry);
        self.remove(slot, parent);
        self.dir_numbers.remove(&id.0);
        self.dirs[number as usize].alive = false;
        self.free_dirs.push(number);
        Ok(Outcome::Done)
    }

    fn rename_dir(&mut self, id: DirId, parent: DirId) -> Applied {
        let number = self.movable_dir(id)?;
        let to = self.dir(parent)?;
        let mut above = to;
        while above != 0 {
            if above == number {
                return Err(StateError::IntoItself(id));
            }
            above = self.dirs[above as usize].parent;
        }
        let Directory {
            slot,
            parent: from,
            entry: old,
            ..
        } = self.dirs[number as usize];
        let Ok(entry) = self.enter(to, old.bytes) else {
            return Ok(Outcome::NoSpace);
        };
        let dir = &mut self.dirs[number as usize];
        (dir.parent, dir.entry) = (to, entry);
        if from != to {
            // Its `..`.
            self.dirty(slot, 0);
        }
        self.leave(from, old);
        self.mark_names([from, to], slot);
        Ok(Outcome::Done)
    }

    /// A new file or symbolic link with its data.
    fn create(&mut self, id: FileId, dir: DirId, bytes: u64, kind: Kind) -> Applied {
        self.new_file(id)?;
        let dir = self.dir(dir)?;
        let entry_bytes = self.entry_bytes();
        let Ok((slot, entry)) = self.make_entry(dir, kind, entry_bytes) else {
            return Ok(Outcome::NoSpace);
        };
        self.names.insert(id.0, Name { slot, dir, entry });
        self.inodes[slot as usize].parent = dir;
        if kind == Kind::Symlink && bytes < FAST_SYMLINK {
            self.inodes[slot as usize].size = bytes;
            return Ok(Outcome::Done);
        }
        Ok(self.write_at(slot, 0, bytes))
    }

    /// Whether the pointers of an inode reach so far.
    fn fits(&self, end: u64) -> bool {
        end.div_ceil(u64::from(self.geometry.block_bytes)) <= self.geometry.max_blocks()
    }

    fn write_at(&mut self, slot: u32, offset: u64, bytes: u64) -> Outcome {
        match offset.checked_add(bytes) {
            Some(end) if self.fits(end) => outcome(self.write(slot, offset, bytes)),
            _ => Outcome::TooLarge,
        }
    }

    fn overwrite(&mut self, slot: u32, range: Option<(u64, u64)>) -> Applied {
        let size = self.inodes[slot as usize].size;
        let (offset, bytes) = range.unwrap_or((0, size));
        match offset.checked_add(bytes) {
            Some(end) if end <= size => Ok(self.write_at(slot, offset, bytes)),
            Some(_) => Err(StateError::BeyondEnd(size)),
            None => Err(StateError::RangeOverflow),
        }
    }

    fn truncate_file(&mut self, slot: u32, bytes: u64) -> Outcome {
        if self.fits(bytes) {
            outcome(self.set_length(slot, bytes))
        } else {
            Outcome::TooLarge
        }
    }

    fn delete(&mut self, id: FileId) -> Applied {
        let name = self.name(id)?;
        self.leave(name.dir, name.entry);
        self.drop_name(id, name);
        Ok(Outcome::Done)
    }

    /// Removes a name whose entry has been seen to. The inode goes with its last name.
    fn drop_name(&mut self, id: FileId, name: Name) {
        self.names.remove(&id.0);
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

    /// The new name is entered first, or the entry that is replaced is rewritten; the old one goes last.
    fn rename(&mut self, id: FileId, dir: DirId, replaced: Option<FileId>) -> Applied {
        let name = self.name(id)?;
        let to = self.dir(dir)?;
        let entry = match replaced {
            Some(other) if other == id => return Ok(Outcome::Done),
            Some(other) => {
                let gone = self.names.get(&other.0).copied();
                let gone = gone.ok_or(StateError::NothingToReplace(other))?;
                if gone.dir != to {
                    return Err(StateError::ReplacedElsewhere(other));
                }
                let slot = self.dirs[to as usize].slot;
                self.dirty(slot, self.block_of(gone.entry.chunk as usize));
                self.drop_name(other, gone);
                gone.entry
            }
            None => match self.enter(to, name.entry.bytes) {
                Ok(entry) => entry,
                Err(NoSpace) => return Ok(Outcome::NoSpace),
            },
        };
        let renamed = Name {
            slot: name.slot,
            dir: to,
            entry,
        };
        self.names.insert(id.0, renamed);
        let first = self.linked.get(&name.slot).map_or(id.0, |ids| ids[0]);
        self.inodes[name.slot as usize].parent = self.names[&first].dir;
        self.leave(name.dir, name.entry);
        self.mark_names([name.dir, to], name.slot);
        Ok(Outcome::Done)
    }

    fn link(&mut self, id: FileId, existing: FileId, dir: DirId) -> Applied {
        self.new_file(id)?;
        let slot = self.slot(existing)?;
        let dir = self.dir(dir)?;
        let bytes = self.entry_bytes();
        let Ok(entry) = self.enter(dir, bytes) else {
            return Ok(Outcome::NoSpace);
        };
        self.names.insert(id.0, Name { slot, dir, entry });
        let ids = self.linked.entry(slot).or_insert_with(|| vec![existing.0]);
        ids.push(id.0);
        self.mark_names([dir], slot);
        Ok(Outcome::Done)
    }

    /// A directory operation that makes and removes no inode.
    fn mark_names<const N: usize>(&mut self, dirs: [u32; N], slot: u32) {
        for dir in dirs {
            self.mark(self.dirs[dir as usize].slot);
        }
        self.mark(slot);
    }

    fn dispatch(&mut self, op: &Op) -> Applied {
        match *op {
            Op::Create { file, dir, bytes } => self.create(file, dir, bytes, Kind::File),
            Op::Symlink { file, dir, bytes } => self.create(file, dir, bytes, Kind::Symlink),
            Op::Append { file, bytes } => {
                let slot = self.slot(file)?;
                let end = self.inodes[slot as usize].size;
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
                let slot = self.slot(file)?;
                if offset.checked_add(bytes).is_none() {
                    return Err(StateError::RangeOverflow);
                }
                Ok(self.write_at(slot, offset, bytes))
            }
            Op::Overwrite { file, range } => {
                let slot = self.slot(file)?;
                self.overwrite(slot, range)
            }
            Op::Rewrite { file, bytes } => {
                let slot = self.slot(file)?;
                self.truncate_file(slot, 0);
                Ok(self.write_at(slot, 0, bytes))
            }
            Op::Truncate { file, bytes } => {
                let slot = self.slot(file)?;
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
            Op::Fsync { file } => {
                let slot = self.slot(file)?;
                self.fsync(slot);
                Ok(Outcome::Done)
            }
            Op::Sync | Op::Day | Op::Remount => {
                self.checkpoint();
                Ok(Outcome::Done)
            }
            Op::Punch { file, .. } => self.slot(file).map(|_| Outcome::Ignored),
            Op::Read { file, .. } => self.slot(file).map(|_| Outcome::Done),
            Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => Ok(Outcome::Done),
        }
    }

    /// Applies an operation without letting the cleaner of `netbsd` look whether it has to work.
    ///
    /// # Errors
    /// As [`FileSystem::apply`].
    pub fn step(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let possible = self.shortfall.without_absent_target(op);
        if self.is_absent(&possible) {
            return Ok(Outcome::Absent);
        }
        let root_named = self.root_named;
        let applied = self.dispatch(&possible);
        self.next_entry = None;
        match applied {
            Ok(outcome) => {
                self.now += 1;
                self.note_shortfall(op, outcome);
                Ok(outcome)
            }
            Err(error) => {
                // A line that was refused has not used the root.
                self.root_named = root_named;
                self.shortfall.excuse(error)
            }
        }
    }

    /// Flushes a file between two operations.
    ///
    /// # Errors
    /// No such file.
    pub fn flush_file(&mut self, file: FileId) -> Result<(), StateError> {
        let slot = self.slot(file)?;
        self.fsync(slot);
        Ok(())
    }
}

impl FileSystem for Lfs {
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        let outcome = self.step(op)?;
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

    fn file_size(&self, file: FileId) -> Option<u64> {
        let name = self.names.get(&file.0)?;
        Some(self.inodes[name.slot as usize].size)
    }

    fn inode(&self, file: FileId) -> Option<u64> {
        let name = self.names.get(&file.0)?;
        Some(u64::from(self.inodes[name.slot as usize].ino))
    }

    fn directory_inode(&self, dir: DirId) -> Option<u64> {
        let number = *self.dir_numbers.get(&dir.0)?;
        let slot = self.dirs[number as usize].slot;
        Some(u64::from(self.inodes[slot as usize].ino))
    }

    fn check(&self) -> Result<(), Inconsistency> {
        super::check::check(self)
    }
}
