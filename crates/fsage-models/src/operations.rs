//! What the operations of a workload mean, once for all models: which ids may be named, what is refused and in which
//! order, what is skipped because an earlier lack of space kept it from being made.
//!
//! A model supplies the primitives of [`Model`]; [`apply`] does the rest.

use crate::shortfall::Shortfall;
use fsage_core::{DirId, FileId, Op, Outcome, StateError};
use rustc_hash::FxHashMap;

/// Targets of symbolic links below this length lie in the inode.
pub(crate) const FAST_SYMLINK: u64 = 60;

/// Slot of the root among the directories of a model.
pub(crate) const ROOT: u32 = 0;

/// Which id names which directory of a model, by its slot.
#[derive(Clone, Debug)]
pub(crate) struct DirIds {
    slots: FxHashMap<u64, u32>,
    /// An operation has named directory 0 while it is the root.
    root_named: bool,
}

impl Default for DirIds {
    /// The root alone.
    fn default() -> DirIds {
        DirIds {
            slots: FxHashMap::from_iter([(DirId::ROOT.0, ROOT)]),
            root_named: false,
        }
    }
}

impl DirIds {
    /// Slot of the directory that has this id.
    pub fn get(&self, id: DirId) -> Option<u32> {
        self.slots.get(&id.0).copied()
    }

    /// Slot of the directory that has this id, which an operation names.
    fn find(&mut self, id: DirId) -> Result<u32, StateError> {
        let slot = self.get(id).ok_or(StateError::NoDirectory(id))?;
        self.root_named |= slot == ROOT;
        Ok(slot)
    }

    /// A directory that may be removed or moved.
    fn find_movable(&mut self, id: DirId) -> Result<u32, StateError> {
        match self.find(id)? {
            ROOT => Err(StateError::Root(id)),
            slot => Ok(slot),
        }
    }

    /// Whether a new directory may have this id. The number 0 may be given to an ordinary directory before anything has
    /// used it for the root.
    pub fn new_id(&self, id: DirId) -> Result<(), StateError> {
        match self.slots.get(&id.0) {
            Some(&ROOT) if self.root_named => Err(StateError::RootInUse),
            Some(&ROOT) | None => Ok(()),
            Some(_) => Err(StateError::DirectoryExists(id)),
        }
    }

    /// A directory gets an id.
    pub fn insert(&mut self, id: DirId, slot: u32) {
        self.slots.insert(id.0, slot);
    }
}

/// The primitives of a model. Files and directories are named by slots; everything was looked up, and may be done.
pub(crate) trait Model {
    /// Slot of the file that has this name.
    fn find_file(&self, id: FileId) -> Option<u32>;

    /// Bytes of a file.
    fn size_bytes(&self, file: u32) -> u64;

    /// Number of names of a file.
    fn links(&self, file: u32) -> u32;

    /// Slot of the directory in which this name of a file stands.
    fn place_of(&self, id: FileId, file: u32) -> u32;

    /// Slot of the directory that holds a directory.
    fn parent_of(&self, dir: u32) -> u32;

    /// Whether a directory may be removed as it is.
    fn is_removable(&self, dir: u32) -> bool;

    /// Which id names which directory.
    fn dir_ids(&self) -> &DirIds;

    /// The same, to change.
    fn dir_ids_mut(&mut self) -> &mut DirIds;

    /// What lack of space kept from being made.
    fn shortfall(&self) -> &Shortfall;

    /// The same, to change.
    fn shortfall_mut(&mut self) -> &mut Shortfall;

    /// An operation comes that may be applied or refused.
    #[inline]
    fn before(&mut self, _op: &Op) {}

    /// A file is going to change, to be moved or to go: what metrics saw of it is kept, if they watch.
    #[inline]
    fn touch_file(&mut self, _file: u32) {}

    /// The same of a directory.
    fn touch_directory(&mut self, _dir: u32) {}

    /// Makes a file with its data.
    fn create(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome;

    /// Makes a symbolic link whose target has `bytes` bytes.
    fn symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome;

    /// Writes to a file, which may become longer.
    fn write_at(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome;

    /// Sets the length of a file.
    fn set_length(&mut self, file: u32, bytes: u64) -> Outcome;

    /// Removes a name; the file goes with its last one.
    fn delete(&mut self, id: FileId, file: u32);

    /// Moves a name into a directory. A name that is replaced stands there already; it goes, with its file if it is the
    /// last one.
    fn rename(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome;

    /// Gives a file that has the name `existing` a further one.
    fn link(&mut self, id: FileId, existing: FileId, file: u32, dir: u32) -> Outcome;

    /// Makes a directory; gives its slot, or why there is none.
    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome>;

    /// Removes a directory.
    fn remove_directory(&mut self, dir: u32);

    /// Moves a directory into another one, which does not lie below it.
    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome;

    /// A file goes to disk.
    fn fsync(&mut self, _file: u32) {}

    /// Everything goes to disk, where that moves anything.
    fn sync(&mut self) {}

    /// The file system is mounted anew.
    fn remount(&mut self) {
        self.sync();
    }
}

/// Applies one operation.
#[inline]
pub(crate) fn apply<M: Model>(fs: &mut M, op: &Op) -> Result<Outcome, StateError> {
    if fs.shortfall().is_absent(op, &*fs) {
        note(fs, op, Outcome::Absent);
        return Ok(Outcome::Absent);
    }
    let possible = fs.shortfall().without_absent_target(op);
    let root_named = fs.dir_ids().root_named;
    fs.before(&possible);
    match dispatch(fs, &possible) {
        Ok(outcome) => {
            note(fs, op, outcome);
            Ok(outcome)
        }
        Err(error) => {
            // A line that was refused has not used the root.
            fs.dir_ids_mut().root_named = root_named;
            fs.shortfall().excuse(op, error, &*fs)
        }
    }
}

#[inline]
fn note<M: Model>(fs: &mut M, op: &Op, outcome: Outcome) {
    if outcome == Outcome::Done {
        fs.shortfall_mut().note_done(op);
    } else {
        let made = match *op {
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                fs.find_file(file).is_some()
            }
            _ => false,
        };
        fs.shortfall_mut().note_undone(op, made);
    }
}

/// What an operation that may be refused gives.
type Applied = Result<Outcome, StateError>;

#[inline]
fn dispatch<M: Model>(fs: &mut M, op: &Op) -> Applied {
    match *op {
        Op::Create { file, dir, bytes } => {
            let dir = place_of_new(fs, file, dir)?;
            Ok(fs.create(file, dir, bytes))
        }
        Op::Symlink { file, dir, bytes } => {
            let dir = place_of_new(fs, file, dir)?;
            Ok(fs.symlink(file, dir, bytes))
        }
        Op::Append { file, bytes } => {
            let file = find(fs, file)?;
            let end = fs.size_bytes(file);
            fs.touch_file(file);
            Ok(fs.write_at(file, end, bytes))
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
            let file = find(fs, file)?;
            write(fs, file, offset, bytes)
        }
        Op::Overwrite { file, range } => {
            let file = find(fs, file)?;
            let size = fs.size_bytes(file);
            let (offset, bytes) = range.unwrap_or((0, size));
            match offset.checked_add(bytes) {
                Some(end) if end > size => Err(StateError::BeyondEnd(size)),
                _ => write(fs, file, offset, bytes),
            }
        }
        Op::Rewrite { file, bytes } => {
            // Two calls, as the system calls are: a file that may not be that long is left empty.
            let file = find(fs, file)?;
            fs.touch_file(file);
            match fs.set_length(file, 0) {
                Outcome::Done => Ok(fs.write_at(file, 0, bytes)),
                other => Ok(other),
            }
        }
        Op::Truncate { file, bytes } => {
            let file = find(fs, file)?;
            fs.touch_file(file);
            Ok(fs.set_length(file, bytes))
        }
        Op::Delete { file } => {
            let slot = find(fs, file)?;
            fs.touch_file(slot);
            fs.delete(file, slot);
            Ok(Outcome::Done)
        }
        Op::Mkdir { dir, parent } => mkdir(fs, dir, parent),
        Op::Rmdir { dir } => rmdir(fs, dir),
        Op::RenameDir { dir, parent } => rename_dir(fs, dir, parent),
        Op::Rename {
            file,
            dir,
            replaced,
        } => rename(fs, file, dir, replaced),
        Op::Link {
            file,
            existing,
            dir,
        } => {
            new_file(fs, file)?;
            let slot = find(fs, existing)?;
            let dir = fs.dir_ids_mut().find(dir)?;
            fs.touch_file(slot);
            Ok(fs.link(file, existing, slot, dir))
        }
        Op::Fsync { file } => {
            let file = find(fs, file)?;
            fs.fsync(file);
            Ok(Outcome::Done)
        }
        Op::Sync | Op::Day => {
            fs.sync();
            Ok(Outcome::Done)
        }
        Op::Remount => {
            fs.remount();
            Ok(Outcome::Done)
        }
        Op::Punch { file, .. } => find(fs, file).map(|_| Outcome::Ignored),
        // It moves no block.
        Op::Read { file, .. } => find(fs, file).map(|_| Outcome::Done),
        Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => Ok(Outcome::Done),
    }
}

#[inline]
fn find<M: Model>(fs: &M, id: FileId) -> Result<u32, StateError> {
    fs.find_file(id).ok_or(StateError::NoFile(id))
}

fn new_file<M: Model>(fs: &M, id: FileId) -> Result<(), StateError> {
    match fs.find_file(id) {
        Some(_) => Err(StateError::FileExists(id)),
        None => Ok(()),
    }
}

/// The directory of a file that is to be made.
#[inline]
fn place_of_new<M: Model>(fs: &mut M, id: FileId, dir: DirId) -> Result<u32, StateError> {
    new_file(fs, id)?;
    fs.dir_ids_mut().find(dir)
}

#[inline]
fn write<M: Model>(fs: &mut M, file: u32, offset: u64, bytes: u64) -> Applied {
    if offset.checked_add(bytes).is_none() {
        return Err(StateError::RangeOverflow);
    }
    fs.touch_file(file);
    Ok(fs.write_at(file, offset, bytes))
}

fn mkdir<M: Model>(fs: &mut M, id: DirId, parent: Option<DirId>) -> Applied {
    fs.dir_ids().new_id(id)?;
    let parent = match parent {
        Some(parent) => fs.dir_ids_mut().find(parent)?,
        None => ROOT,
    };
    match fs.make_directory(id, parent) {
        Ok(dir) => {
            fs.dir_ids_mut().insert(id, dir);
            Ok(Outcome::Done)
        }
        Err(outcome) => Ok(outcome),
    }
}

fn rmdir<M: Model>(fs: &mut M, id: DirId) -> Applied {
    let dir = fs.dir_ids_mut().find_movable(id)?;
    if !fs.is_removable(dir) {
        return Err(StateError::NotEmpty(id));
    }
    fs.touch_directory(dir);
    fs.remove_directory(dir);
    fs.dir_ids_mut().slots.remove(&id.0);
    Ok(Outcome::Done)
}

fn rename<M: Model>(fs: &mut M, id: FileId, dir: DirId, replaced: Option<FileId>) -> Applied {
    let file = find(fs, id)?;
    let to = fs.dir_ids_mut().find(dir)?;
    let replaced = match replaced {
        Some(other) if other == id => return Ok(Outcome::Done),
        Some(other) => {
            let gone = fs.find_file(other);
            let gone = gone.ok_or(StateError::NothingToReplace(other))?;
            if fs.place_of(other, gone) != to {
                return Err(StateError::ReplacedElsewhere(other));
            }
            Some((other, gone))
        }
        None => None,
    };
    fs.touch_file(file);
    if let Some((_, gone)) = replaced {
        fs.touch_file(gone);
    }
    Ok(fs.rename(id, file, to, replaced))
}

fn rename_dir<M: Model>(fs: &mut M, id: DirId, parent: DirId) -> Applied {
    let dir = fs.dir_ids_mut().find_movable(id)?;
    let to = fs.dir_ids_mut().find(parent)?;
    let mut above = to;
    while above != ROOT {
        if above == dir {
            return Err(StateError::IntoItself(id));
        }
        above = fs.parent_of(above);
    }
    fs.touch_directory(dir);
    Ok(fs.move_directory(dir, to))
}
