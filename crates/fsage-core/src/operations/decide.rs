//! What is done of an operation: which ids it may name, what is refused and in which order, what is skipped.

use super::namespace::{Namespace, ROOT};
use super::shortfall::{Shortfall, is_absent, is_excused, target_is_absent};
use crate::{DirId, FileId, Op, StateError};

/// What is to become of an operation that fits the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<F> {
    /// It is to be done.
    Do(Action<F>),
    /// It is skipped: it needs something that an earlier lack of space kept from being made or moved.
    Absent,
    /// It is skipped: its file takes no data. Nothing is missing after it that could have been there.
    Ignored,
}

/// An operation that may be done: everything was looked up. `F` is a file, a directory its slot, and what is new has
/// its id. Sizes and offsets are bytes. Of what is written or allocated, offset and length together fit 64 bits; of an
/// [`Op::Append`] they may not, which is only too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<F> {
    /// Makes a file with its data.
    Create {
        /// Its name.
        id: FileId,
        /// Where it is made.
        dir: u32,
        /// Its size.
        bytes: u64,
    },
    /// Makes a symbolic link.
    Symlink {
        /// Its name.
        id: FileId,
        /// Where it is made.
        dir: u32,
        /// Length of its target.
        bytes: u64,
    },
    /// Writes to a file, which may become longer: an append, a write, an overwrite.
    Write {
        /// The file.
        file: F,
        /// Where the write starts.
        offset: u64,
        /// How much is written.
        bytes: u64,
    },
    /// Empties a file, then writes to it.
    Rewrite {
        /// The file.
        file: F,
        /// Its new size.
        bytes: u64,
    },
    /// Sets the length of a file.
    Truncate {
        /// The file.
        file: F,
        /// Its new size.
        bytes: u64,
    },
    /// Allocates a range without writing it.
    Fallocate {
        /// The file.
        file: F,
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        bytes: u64,
    },
    /// Deallocates a range, which lies within the file.
    Punch {
        /// The file.
        file: F,
        /// Start of the range.
        offset: u64,
        /// Length of the range; 0 where it began behind the end.
        bytes: u64,
    },
    /// Reads a range; `None` is the whole file.
    Read {
        /// The file.
        file: F,
        /// Offset and length.
        range: Option<(u64, u64)>,
    },
    /// Flushes a file.
    Fsync {
        /// The file.
        file: F,
    },
    /// Removes a name; the file goes with its last one.
    Delete {
        /// The name.
        id: FileId,
        /// Its file.
        file: F,
    },
    /// Moves a name, over another one if one is replaced.
    Rename {
        /// The name.
        id: FileId,
        /// Its file.
        file: F,
        /// Where it goes.
        to: u32,
        /// The name that goes with it, which stands there, and its file.
        replaced: Option<(FileId, F)>,
    },
    /// Gives a file a further name.
    Link {
        /// The new name.
        id: FileId,
        /// A name of the file.
        existing: FileId,
        /// The file.
        file: F,
        /// Where the new name is made.
        dir: u32,
    },
    /// Makes a directory.
    Mkdir {
        /// Its id.
        id: DirId,
        /// Where it is made.
        parent: u32,
    },
    /// Removes a directory in which nothing is.
    Rmdir {
        /// Its id.
        id: DirId,
        /// Its slot.
        dir: u32,
    },
    /// Moves a directory into another one, which does not lie below it.
    RenameDir {
        /// Its id.
        id: DirId,
        /// Its slot.
        dir: u32,
        /// Where it goes.
        to: u32,
    },
    /// Flushes everything.
    Sync,
    /// Unmounts and mounts again.
    Remount,
    /// Ends a day.
    Day,
    /// Nothing: a name is moved over itself, or a model is only asked to print.
    Nothing,
}

/// Decides what becomes of an operation. Nothing is changed.
///
/// # Errors
/// The operation does not fit the state, and no lack of space accounts for that.
#[inline]
pub fn decide<N: Namespace>(namespace: &N, op: &Op) -> Result<Decision<N::File>, StateError> {
    let mut op = *op;
    if namespace.shortfalls().any(Shortfall::has_absent) {
        if is_absent(namespace, &op) {
            return Ok(Decision::Absent);
        }
        if let Op::Rename { replaced, .. } = &mut op
            && target_is_absent(namespace, *replaced)
        {
            // Over a name that was never made: a plain one.
            *replaced = None;
        }
    }
    match check(namespace, &op) {
        Ok(action)
            if action
                .data_of()
                .is_some_and(|file| namespace.takes_no_data(file)) =>
        {
            Ok(Decision::Ignored)
        }
        Ok(action) => Ok(Decision::Do(action)),
        Err(StateError::BeyondEnd(_)) if takes_no_data(namespace, &op) => Ok(Decision::Ignored),
        Err(error) if is_excused(namespace, &op, error) => Ok(Decision::Absent),
        Err(error) => Err(error),
    }
}

/// Whether the file of an operation takes no data.
#[cold]
fn takes_no_data<N: Namespace>(ns: &N, op: &Op) -> bool {
    let file = op.written_file().and_then(|file| ns.find_file(file));
    file.is_some_and(|file| ns.takes_no_data(file))
}

impl<F: Copy> Action<F> {
    /// The file whose data it changes; not one that it makes.
    #[inline]
    fn data_of(&self) -> Option<F> {
        match *self {
            Action::Write { file, .. }
            | Action::Rewrite { file, .. }
            | Action::Truncate { file, .. }
            | Action::Fallocate { file, .. }
            | Action::Punch { file, .. } => Some(file),
            _ => None,
        }
    }
}

/// What is to be done, if an operation fits what is there.
#[inline]
fn check<N: Namespace>(ns: &N, op: &Op) -> Result<Action<N::File>, StateError> {
    Ok(match *op {
        Op::Create { file, dir, bytes } => Action::Create {
            id: file,
            dir: place_of_new(ns, file, dir)?,
            bytes,
        },
        Op::Symlink { file, dir, bytes } => Action::Symlink {
            id: file,
            dir: place_of_new(ns, file, dir)?,
            bytes,
        },
        Op::Append { file, bytes } => {
            let file = find(ns, file)?;
            Action::Write {
                file,
                offset: ns.size_bytes(file),
                bytes,
            }
        }
        Op::Write {
            file,
            offset,
            bytes,
        } => Action::Write {
            file: find_for_range(ns, file, offset, bytes)?,
            offset,
            bytes,
        },
        Op::Overwrite { file, range } => overwrite(ns, file, range)?,
        Op::Rewrite { file, bytes } => Action::Rewrite {
            file: find(ns, file)?,
            bytes,
        },
        Op::Truncate { file, bytes } => Action::Truncate {
            file: find(ns, file)?,
            bytes,
        },
        Op::Fallocate {
            file,
            offset,
            bytes,
        } => Action::Fallocate {
            file: find_for_range(ns, file, offset, bytes)?,
            offset,
            bytes,
        },
        Op::Punch {
            file,
            offset,
            bytes,
        } => punch(ns, file, offset, bytes)?,
        Op::Read { file, range } => Action::Read {
            file: find(ns, file)?,
            range,
        },
        Op::Fsync { file } => Action::Fsync {
            file: find(ns, file)?,
        },
        Op::Delete { file } => Action::Delete {
            id: file,
            file: find(ns, file)?,
        },
        Op::Rename {
            file,
            dir,
            replaced,
        } => rename(ns, file, dir, replaced)?,
        Op::Link {
            file,
            existing,
            dir,
        } => {
            check_new_file(ns, file)?;
            Action::Link {
                id: file,
                existing,
                file: find(ns, existing)?,
                dir: ns.dir_ids().find(dir)?,
            }
        }
        Op::Mkdir { dir, parent } => {
            ns.dir_ids().check_new(dir)?;
            let parent = parent.map_or(Ok(ROOT), |parent| ns.dir_ids().find(parent))?;
            Action::Mkdir { id: dir, parent }
        }
        Op::Rmdir { dir } => rmdir(ns, dir)?,
        Op::RenameDir { dir, parent } => rename_dir(ns, dir, parent)?,
        Op::Sync => Action::Sync,
        Op::Remount => Action::Remount,
        Op::Day => Action::Day,
        Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => Action::Nothing,
    })
}

#[inline]
fn find<N: Namespace>(ns: &N, id: FileId) -> Result<N::File, StateError> {
    ns.find_file(id).ok_or(StateError::NoFile(id))
}

#[inline]
fn find_for_range<N: Namespace>(
    ns: &N,
    id: FileId,
    offset: u64,
    bytes: u64,
) -> Result<N::File, StateError> {
    let file = find(ns, id)?;
    match offset.checked_add(bytes) {
        Some(_) => Ok(file),
        None => Err(StateError::RangeOverflow),
    }
}

#[inline]
fn check_new_file<N: Namespace>(ns: &N, id: FileId) -> Result<(), StateError> {
    match ns.find_file(id) {
        Some(_) => Err(StateError::FileExists(id)),
        None => Ok(()),
    }
}

/// The directory of a file that is to be made.
#[inline]
fn place_of_new<N: Namespace>(ns: &N, id: FileId, dir: DirId) -> Result<u32, StateError> {
    check_new_file(ns, id)?;
    ns.dir_ids().find(dir)
}

#[inline]
fn overwrite<N: Namespace>(
    ns: &N,
    id: FileId,
    range: Option<(u64, u64)>,
) -> Result<Action<N::File>, StateError> {
    let file = find(ns, id)?;
    let size = ns.size_bytes(file);
    let (offset, bytes) = range.unwrap_or((0, size));
    match offset.checked_add(bytes) {
        Some(end) if end <= size => Ok(Action::Write {
            file,
            offset,
            bytes,
        }),
        Some(_) => Err(StateError::BeyondEnd(size)),
        None => Err(StateError::RangeOverflow),
    }
}

/// Nothing lies behind the end of a file: there is no range that is too much, and none reaches beyond it.
fn punch<N: Namespace>(
    ns: &N,
    id: FileId,
    offset: u64,
    bytes: u64,
) -> Result<Action<N::File>, StateError> {
    let file = find(ns, id)?;
    let size = ns.size_bytes(file);
    let offset = offset.min(size);
    Ok(Action::Punch {
        file,
        offset,
        bytes: bytes.min(size - offset),
    })
}

fn rmdir<N: Namespace>(ns: &N, id: DirId) -> Result<Action<N::File>, StateError> {
    let dir = ns.dir_ids().find_movable(id)?;
    if ns.is_removable(dir) {
        Ok(Action::Rmdir { id, dir })
    } else {
        Err(StateError::NotEmpty(id))
    }
}

fn rename<N: Namespace>(
    ns: &N,
    id: FileId,
    dir: DirId,
    replaced: Option<FileId>,
) -> Result<Action<N::File>, StateError> {
    let file = find(ns, id)?;
    let to = ns.dir_ids().find(dir)?;
    let replaced = match replaced {
        Some(other) if other == id => return Ok(Action::Nothing),
        Some(other) => {
            let gone = ns.find_file(other);
            let gone = gone.ok_or(StateError::NothingToReplace(other))?;
            if ns.place_of(other, gone) != to {
                return Err(StateError::ReplacedElsewhere(other));
            }
            Some((other, gone))
        }
        None => None,
    };
    Ok(Action::Rename {
        id,
        file,
        to,
        replaced,
    })
}

fn rename_dir<N: Namespace>(
    ns: &N,
    id: DirId,
    parent: DirId,
) -> Result<Action<N::File>, StateError> {
    let dir = ns.dir_ids().find_movable(id)?;
    let to = ns.dir_ids().find(parent)?;
    let mut above = to;
    while above != ROOT {
        if above == dir {
            return Err(StateError::IntoItself(id));
        }
        above = ns.parent_of(above);
    }
    Ok(Action::RenameDir { id, dir, to })
}
