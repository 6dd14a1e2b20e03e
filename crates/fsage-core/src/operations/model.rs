//! What a simulated file system does by the rules: it supplies the primitives.

use super::decide::{Action, Decision, decide};
use super::namespace::{DirIds, Namespace, names_there};
use super::shortfall::Shortfall;
use crate::{DirId, FileId, Op, Outcome, StateError};

/// The primitives of a simulated file system, for [`apply`]. Everything was looked up, and may be done.
pub trait Model: Namespace<File = u32> {
    /// Which id names which directory, to change.
    fn dir_ids_mut(&mut self) -> &mut DirIds;

    /// What lack of space kept from being made, to change.
    fn shortfall_mut(&mut self) -> &mut Shortfall;

    /// An operation is going to be done.
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

    /// Deallocates a range of a file, whose length stays. The range lies within the file: what is behind its end was
    /// cut off when it was decided what the operation means. Most models do not know that.
    #[inline]
    fn punch(&mut self, _file: u32, _offset: u64, _bytes: u64) -> Outcome {
        Outcome::Ignored
    }

    /// Allocates a range of a file, which may become longer. Where that is nothing of its own, it is written.
    #[inline]
    fn fallocate(&mut self, file: u32, offset: u64, bytes: u64) -> Outcome {
        self.write_at(file, offset, bytes)
    }

    /// Empties a file, then writes to it: two calls, as the system calls are, so that a file that may not be that long
    /// is left empty.
    #[inline]
    fn rewrite(&mut self, file: u32, bytes: u64) -> Outcome {
        match self.set_length(file, 0) {
            Outcome::Done => self.write_at(file, 0, bytes),
            other => other,
        }
    }

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

    /// Makes a directory; gives its slot.
    ///
    /// # Errors
    /// Why there is none.
    fn make_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome>;

    /// Removes a directory.
    fn remove_directory(&mut self, dir: u32);

    /// Moves a directory into another one, which does not lie below it.
    fn move_directory(&mut self, dir: u32, to: u32) -> Outcome;

    /// A file is read. That moves no block.
    fn read(&mut self, _file: u32) {}

    /// A file goes to disk.
    fn fsync(&mut self, _file: u32) {}

    /// Everything goes to disk, where that moves anything.
    fn sync(&mut self) {}

    /// The file system is mounted anew.
    fn remount(&mut self) {
        self.sync();
    }
}

/// Applies one operation to a model.
///
/// # Errors
/// It does not fit the state; nothing was changed.
#[inline]
pub fn apply<M: Model>(fs: &mut M, op: &Op) -> Result<Outcome, StateError> {
    let outcome = match decide(fs, op)? {
        Decision::Do(action) => {
            fs.dir_ids().used_by(op);
            fs.before(op);
            perform(fs, action)
        }
        Decision::Absent => Outcome::Absent,
        Decision::Ignored => return Ok(Outcome::Ignored),
    };
    let names = match outcome {
        Outcome::Done => 0,
        _ => names_there(fs, op),
    };
    fs.shortfall_mut().note(op, outcome, names);
    Ok(outcome)
}

#[inline]
fn perform<M: Model>(fs: &mut M, action: Action<u32>) -> Outcome {
    match action {
        Action::Create { id, dir, bytes } => fs.create(id, dir, bytes),
        Action::Symlink { id, dir, bytes } => fs.symlink(id, dir, bytes),
        Action::Write {
            file,
            offset,
            bytes,
        } => {
            fs.touch_file(file);
            fs.write_at(file, offset, bytes)
        }
        Action::Fallocate {
            file,
            offset,
            bytes,
        } => {
            fs.touch_file(file);
            fs.fallocate(file, offset, bytes)
        }
        Action::Rewrite { file, bytes } => {
            fs.touch_file(file);
            fs.rewrite(file, bytes)
        }
        Action::Truncate { file, bytes } => {
            fs.touch_file(file);
            fs.set_length(file, bytes)
        }
        Action::Delete { id, file } => {
            fs.touch_file(file);
            before_unlink(fs, id, file);
            fs.delete(id, file);
            Outcome::Done
        }
        Action::Rename {
            id,
            file,
            to,
            replaced,
        } => {
            fs.touch_file(file);
            if let Some((other, gone)) = replaced {
                fs.touch_file(gone);
                before_unlink(fs, other, gone);
            }
            fs.rename(id, file, to, replaced)
        }
        Action::Link {
            id,
            existing,
            file,
            dir,
        } => {
            fs.touch_file(file);
            fs.link(id, existing, file, dir)
        }
        Action::Mkdir { id, parent } => match fs.make_directory(id, parent) {
            Ok(dir) => {
                fs.dir_ids_mut().insert(id, dir);
                Outcome::Done
            }
            Err(outcome) => outcome,
        },
        Action::Rmdir { id, dir } => {
            fs.touch_directory(dir);
            fs.remove_directory(dir);
            fs.dir_ids_mut().remove(id);
            Outcome::Done
        }
        Action::RenameDir { dir, to, .. } => {
            fs.touch_directory(dir);
            fs.move_directory(dir, to)
        }
        Action::Fsync { file } => {
            fs.fsync(file);
            Outcome::Done
        }
        Action::Sync | Action::Day => {
            fs.sync();
            Outcome::Done
        }
        Action::Remount => {
            fs.remount();
            Outcome::Done
        }
        Action::Punch {
            file,
            offset,
            bytes,
        } => {
            fs.touch_file(file);
            fs.punch(file, offset, bytes)
        }
        Action::Read { file, .. } => {
            fs.read(file);
            Outcome::Done
        }
        Action::Nothing => Outcome::Done,
    }
}

#[inline]
fn before_unlink<M: Model>(fs: &mut M, id: FileId, file: u32) {
    if fs.shortfalls().any(Shortfall::has_short) {
        let links = fs.links(file);
        fs.shortfall_mut().before_unlink(id, links);
    }
}
