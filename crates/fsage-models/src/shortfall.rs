//! What lack of space kept from being made: a workload goes on as if it had all the space it asked for, so that
//! later operations may name what is not there. They are skipped and counted; the run goes on.

use crate::operations::Model;
use fsage_core::{DirId, FileId, Op, Outcome, StateError};
use rustc_hash::FxHashSet;

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
    /// well, and what it removes no longer is: that is for [`Shortfall::note_undone`].
    #[inline]
    pub fn is_absent(&self, op: &Op, fs: &impl Model) -> bool {
        if self.is_empty() {
            return false;
        }
        let is_new_file = |id: FileId| fs.find_file(id).is_none();
        let is_new_dir = |id: DirId| fs.dir_ids().new_id(id).is_ok();
        let file = |id: FileId| self.files.contains(&id.0);
        let dir = |id: DirId| self.dirs.contains(&id.0);
        match *op {
            Op::Mkdir { dir: new, parent } => parent.is_some_and(dir) && is_new_dir(new),
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

    /// Forgets what is there or gone now that an operation is done.
    #[inline]
    pub fn note_done(&mut self, op: &Op) {
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
    }

    /// Remembers what an operation did not do, and forgets what it would have removed. `made` says whether the file
    /// that it was to make is there.
    pub fn note_undone(&mut self, op: &Op, made: bool) {
        match *op {
            Op::Mkdir { dir, .. } => {
                self.dirs.insert(dir.0);
            }
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                if made {
                    self.files.remove(&file.0);
                    self.short.insert(file.0);
                } else {
                    self.files.insert(file.0);
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
    pub fn excuse(
        &self,
        op: &Op,
        error: StateError,
        fs: &impl Model,
    ) -> Result<Outcome, StateError> {
        let excused = match error {
            StateError::BeyondEnd(_) => match *op {
                // A further name of a short file has another id.
                Op::Overwrite { file, .. } => {
                    let short = &self.short;
                    let linked = fs.find_file(file).is_some_and(|slot| fs.links(slot) > 1);
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
