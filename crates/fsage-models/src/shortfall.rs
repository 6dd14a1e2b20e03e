//! What lack of space kept from being made: a workload goes on as if it had all the space it asked for, so that
//! later operations may name what is not there. They are skipped and counted; the run goes on.

use crate::names::Names;
use fsage_core::{DirId, FileId, Op, Outcome, StateError};
use rustc_hash::FxHashSet;

/// Which ids an operation may give to what it makes.
pub(crate) trait NewIds {
    /// No file has this id.
    fn is_new_file(&self, id: FileId) -> bool;

    /// No directory has this id.
    fn is_new_dir(&self, id: DirId) -> bool;
}

/// Where the workload and the file system have come apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shortfall {
    /// Ids that were never made.
    files: FxHashSet<u64>,
    dirs: FxHashSet<u64>,
    /// Files shorter than the workload thinks, by id.
    short: FxHashSet<u64>,
    /// A name stayed in a directory that the workload thinks it has left.
    stranded: bool,
}

impl Shortfall {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.dirs.is_empty()
    }

    /// A `rename` over a name that was never made is a plain rename.
    pub fn without_absent_target(&self, op: &Op) -> Op {
        match *op {
            Op::Rename {
                file,
                dir,
                replaced: Some(other),
            } if self.files.contains(&other.0) => Op::Rename {
                file,
                dir,
                replaced: None,
            },
            _ => *op,
        }
    }

    /// Whether the operation names something that was never made. What it would have made is then absent as
    /// well, and what it removes no longer is: that is for [`Shortfall::note`].
    #[inline]
    pub fn is_absent(&self, op: &Op, ids: &impl NewIds) -> bool {
        if self.is_empty() {
            return false;
        }
        let file = |id: FileId| self.files.contains(&id.0);
        let dir = |id: DirId| self.dirs.contains(&id.0);
        match *op {
            Op::Mkdir { dir: new, parent } => parent.is_some_and(dir) && ids.is_new_dir(new),
            Op::Rmdir { dir: d } => dir(d),
            Op::RenameDir { dir: d, parent } => dir(d) || dir(parent),
            Op::Create {
                file: new, dir: d, ..
            }
            | Op::Symlink {
                file: new, dir: d, ..
            } => dir(d) && ids.is_new_file(new),
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
            } => (file(existing) || dir(d)) && ids.is_new_file(new),
            _ => false,
        }
    }

    /// Remembers what an operation did not make, and forgets what is there or gone now.
    #[inline]
    pub fn note<I: Copy>(&mut self, op: &Op, outcome: Outcome, names: &Names<I>) {
        if outcome == Outcome::Done {
            match *op {
                // Whatever it was, its size is what the workload says.
                Op::Create { file, .. } | Op::Rewrite { file, .. } | Op::Delete { file }
                    if !self.short.is_empty() || !self.files.is_empty() =>
                {
                    self.short.remove(&file.0);
                    self.files.remove(&file.0);
                }
                Op::Symlink { file, .. } | Op::Link { file, .. } => {
                    self.files.remove(&file.0);
                }
                Op::Mkdir { dir, .. } => {
                    self.dirs.remove(&dir.0);
                }
                Op::Rename {
                    replaced: Some(gone),
                    ..
                } => {
                    self.files.remove(&gone.0);
                }
                _ => {}
            }
            return;
        }
        match *op {
            Op::Mkdir { dir, .. } => {
                self.dirs.insert(dir.0);
            }
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                if names.find(file).is_none() {
                    self.files.insert(file.0);
                } else {
                    self.files.remove(&file.0);
                    self.short.insert(file.0);
                }
            }
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. } => {
                self.short.insert(file.0);
            }
            Op::Delete { file } => {
                self.files.remove(&file.0);
            }
            Op::Rmdir { dir } => {
                self.dirs.remove(&dir.0);
            }
            Op::Rename { .. } | Op::RenameDir { .. } => self.stranded = true,
            _ => {}
        }
    }

    /// An operation that does not fit the state only because something earlier did not fit the disk is absent,
    /// not an error of the workload.
    pub fn excuse<I: Copy>(
        &self,
        op: &Op,
        error: StateError,
        names: &Names<I>,
    ) -> Result<Outcome, StateError> {
        let excused = match error {
            StateError::BeyondEnd(_) => match *op {
                // A further name of a short file has another id.
                Op::Overwrite { file, .. } => {
                    let short = &self.short;
                    let linked = names.find(file).is_some_and(|slot| names.links(slot) > 1);
                    short.contains(&file.0) || linked && !short.is_empty()
                }
                _ => false,
            },
            StateError::NotEmpty(_)
            | StateError::DirectoryExists(_)
            | StateError::ReplacedElsewhere(_)
            | StateError::IntoItself(_) => self.stranded,
            _ => false,
        };
        if excused {
            Ok(Outcome::Absent)
        } else {
            Err(error)
        }
    }
}
