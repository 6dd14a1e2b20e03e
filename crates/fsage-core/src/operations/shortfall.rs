//! What lack of space kept from being made: a workload goes on as if it had all the space it asked for, so that
//! later operations may name what is not there. They are skipped and counted; the run goes on.

use super::namespace::Namespace;
use super::planned::planned_length;
use crate::{DirId, FileId, Op, Outcome, StateError};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where the workload and the file system have come apart.
#[derive(Clone, Debug, Default)]
pub struct Shortfall {
    /// Ids of files that were never made, with the length in bytes that each should have.
    files: FxHashMap<u64, u64>,
    /// Ids of directories that were never made.
    dirs: FxHashSet<u64>,
    /// Ids of files that are not as long as the workload thinks.
    short: FxHashSet<u64>,
    /// Names and files have come apart, so that any file may not be as long as the workload thinks.
    any_is_short: bool,
    /// Ids of files that the workload thinks are gone.
    kept: FxHashSet<u64>,
    /// Something stands in a directory that the workload thinks it has left, or gone from.
    stranded: bool,
}

impl Shortfall {
    /// Whether anything was never made.
    #[inline]
    pub fn has_absent(&self) -> bool {
        !self.files.is_empty() || !self.dirs.is_empty()
    }

    /// Whether this file was never made.
    #[inline]
    pub fn is_absent(&self, file: FileId) -> bool {
        self.files.contains_key(&file.0)
    }

    /// Whether anything is known of this file.
    pub fn knows(&self, file: FileId) -> bool {
        let id = file.0;
        self.files.contains_key(&id) || self.short.contains(&id) || self.kept.contains(&id)
    }

    /// Lengths in bytes that files should have which were never made, in no order.
    pub fn absent_lengths(&self) -> impl Iterator<Item = u64> {
        self.files.values().copied()
    }

    /// Gives what is known of a file to another part of what is known.
    pub fn hand_over(&mut self, file: FileId, to: &mut Shortfall) {
        let id = file.0;
        to.files
            .extend(self.files.remove(&id).map(|bytes| (id, bytes)));
        to.short.extend(self.short.take(&id));
        to.kept.extend(self.kept.take(&id));
    }

    /// Tells another part what is known of all files, and not of one.
    #[inline]
    pub fn spread(&self, to: &mut Shortfall) {
        to.any_is_short |= self.any_is_short;
    }

    /// A name is going to go, alone or as it is replaced; with `links` names of its file until then. To be told before
    /// [`note`](Shortfall::note).
    #[inline]
    pub fn before_unlink(&mut self, name: FileId, links: u32) {
        if links > 1 && self.short.contains(&name.0) {
            self.any_is_short = true;
        }
    }

    /// Whether files are known to be short; then [`before_unlink`](Shortfall::before_unlink) wants to be told.
    #[inline]
    pub fn has_short(&self) -> bool {
        !self.short.is_empty()
    }

    /// Remembers how an operation ended. `names` is, of one that is not done, how many names that has which it was to
    /// make, to replace or to remove: [`names_there`](super::names_there()).
    #[inline]
    pub fn note(&mut self, op: &Op, outcome: Outcome, names: u32) {
        if matches!(*op, Op::Rename { file, replaced, .. } if replaced == Some(file)) {
            // Whether it is there or not, a name that is moved over itself is as it was.
            return;
        }
        if outcome == Outcome::Done {
            self.note_done(op);
        } else {
            self.note_undone(op, outcome, names);
        }
    }

    /// Forgets what is there, gone or as long as it should be, now that an operation is done.
    #[inline]
    fn note_done(&mut self, op: &Op) {
        match *op {
            // Whatever it was, its size is what the workload says.
            Op::Create { file, .. }
            | Op::Symlink { file, .. }
            | Op::Link { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Delete { file }
            | Op::Rename {
                replaced: Some(file),
                ..
            } => self.settle(file),
            Op::Mkdir { dir, .. } if !self.dirs.is_empty() => {
                self.dirs.remove(&dir.0);
            }
            _ => {}
        }
    }

    /// A file is there and as long as it should be, or gone as it should be.
    #[inline]
    fn settle(&mut self, file: FileId) {
        if !self.short.is_empty() || !self.files.is_empty() {
            self.files.remove(&file.0);
            self.short.remove(&file.0);
            self.kept.remove(&file.0);
        }
    }

    /// Remembers what an operation did not do, and forgets what it would have removed.
    #[cold]
    fn note_undone(&mut self, op: &Op, outcome: Outcome, names: u32) {
        let is_there = names > 0;
        match *op {
            Op::Mkdir { dir, .. } => {
                // The number stays that of the root.
                self.stranded |= dir == DirId::ROOT;
                if !is_there {
                    self.dirs.insert(dir.0);
                }
            }
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                // The workload may go on by this name with what has another one here.
                self.any_is_short |= matches!(op, Op::Link { .. });
                if is_there {
                    self.shorten(file);
                } else {
                    self.lose(file, planned_length(op, 0));
                }
            }
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. } => match self.files.get_mut(&file.0) {
                Some(planned) => *planned = planned_length(op, *planned),
                None => self.shorten(file),
            },
            Op::Delete { file } if outcome == Outcome::Absent => {
                self.files.remove(&file.0);
            }
            Op::Delete { file } => self.keep(file, names),
            Op::Rmdir { dir } => {
                let was_absent = self.dirs.remove(&dir.0);
                self.stranded |= !was_absent;
            }
            Op::Rename { replaced, .. } => {
                self.stranded = true;
                match replaced {
                    Some(gone) if is_there => self.keep(gone, names),
                    Some(gone) => _ = self.files.remove(&gone.0),
                    None => {}
                }
            }
            Op::RenameDir { .. } => self.stranded = true,
            _ => {}
        }
    }

    /// A file is not as long as the workload thinks.
    pub fn shorten(&mut self, file: FileId) {
        self.files.remove(&file.0);
        self.short.insert(file.0);
    }

    /// A file is not there, and should be `planned` bytes long.
    pub fn lose(&mut self, file: FileId, planned: u64) {
        self.short.remove(&file.0);
        self.kept.remove(&file.0);
        self.files.insert(file.0, planned);
    }

    /// A name that should be gone is there; what its file holds is not what the workload thinks, nor by its other names
    /// if this one is made again.
    fn keep(&mut self, file: FileId, names: u32) {
        self.any_is_short |= names > 1;
        self.kept.insert(file.0);
        self.short.insert(file.0);
        self.stranded = true;
    }
}

/// Whether a name that is to be replaced was never made.
#[inline]
pub(super) fn target_is_absent<N: Namespace>(ns: &N, replaced: Option<FileId>) -> bool {
    replaced.is_some_and(|file| ns.shortfalls().any(|part| part.is_absent(file)))
}

/// Whether an operation names something that was never made. What it would have made is then absent as well, and what
/// it removes no longer is: that is for [`Shortfall::note`].
pub(super) fn is_absent<N: Namespace>(ns: &N, op: &Op) -> bool {
    let is_new_file = |id: FileId| ns.find_file(id).is_none();
    let file = |id: FileId| ns.shortfalls().any(|part| part.is_absent(id));
    let dir = |id: DirId| ns.shortfalls().any(|part| part.dirs.contains(&id.0));
    match *op {
        Op::Mkdir { dir: new, parent } => {
            parent.is_some_and(dir) && ns.dir_ids().check_new(new).is_ok()
        }
        Op::Rmdir { dir: d } => dir(d),
        Op::RenameDir { dir: d, parent } => dir(d) || dir(parent),
        Op::Create {
            file: new, dir: d, ..
        }
        | Op::Symlink {
            file: new, dir: d, ..
        } => dir(d) && is_new_file(new),
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
            file: f, dir: d, ..
        } => file(f) || dir(d),
        Op::Link {
            file: new,
            existing,
            dir: d,
        } => (file(existing) || dir(d)) && is_new_file(new),
        _ => false,
    }
}

/// Whether an operation does not fit the state only because something earlier did not fit the disk: no error of the
/// workload.
#[cold]
pub(super) fn is_excused<N: Namespace>(ns: &N, op: &Op, error: StateError) -> bool {
    let any = |known: &dyn Fn(&Shortfall) -> bool| ns.shortfalls().any(known);
    match error {
        StateError::BeyondEnd(_) => match *op {
            Op::Overwrite { file, .. } => {
                // A further name of a short file has another id.
                let is_linked = ns.find_file(file).is_some_and(|file| ns.links(file) > 1);
                any(&|part| {
                    part.short.contains(&file.0)
                        || part.any_is_short
                        || is_linked && part.has_short()
                })
            }
            _ => false,
        },
        StateError::FileExists(file) => any(&|part| part.kept.contains(&file.0)),
        StateError::NotEmpty(_)
        | StateError::DirectoryExists(_)
        | StateError::RootInUse
        | StateError::ReplacedElsewhere(_)
        | StateError::IntoItself(_) => any(&|part| part.stranded),
        _ => false,
    }
}
