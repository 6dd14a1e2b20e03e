//! What lack of space kept from being made: later operations that name it are skipped and counted; the run goes on.

use super::Lfs;
use fsage_core::{DirId, FileId, Op, Outcome, StateError};
use rustc_hash::FxHashSet;

/// Where the workload and the file system have come apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortfall {
    /// Ids that were never made.
    files: FxHashSet<u64>,
    dirs: FxHashSet<u64>,
    /// Some file is shorter than the workload thinks, or some name stands elsewhere.
    differs: bool,
}

impl Shortfall {
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

    fn has_file(&self, id: FileId) -> bool {
        self.files.contains(&id.0)
    }

    fn has_dir(&self, id: DirId) -> bool {
        self.dirs.contains(&id.0)
    }

    /// An operation that does not fit the state only because something earlier did not fit the disk is absent, not an
    /// error of the workload.
    pub fn excuse(&self, error: StateError) -> Result<Outcome, StateError> {
        let may_follow = matches!(
            error,
            StateError::BeyondEnd(_)
                | StateError::NotEmpty(_)
                | StateError::DirectoryExists(_)
                | StateError::ReplacedElsewhere(_)
                | StateError::IntoItself(_)
        );
        if may_follow && self.differs {
            Ok(Outcome::Absent)
        } else {
            Err(error)
        }
    }
}

impl Lfs {
    /// Whether the operation names something that was never made. What it would have made is then absent as well, and
    /// what it removes no longer is.
    pub(super) fn is_absent(&mut self, op: &Op) -> bool {
        let short = &self.shortfall;
        if short.files.is_empty() && short.dirs.is_empty() {
            return false;
        }
        let absent = match *op {
            Op::Mkdir { dir, parent } => {
                parent.is_some_and(|d| short.has_dir(d)) && self.new_dir(dir).is_ok()
            }
            Op::Rmdir { dir } => short.has_dir(dir),
            Op::RenameDir { dir, parent } => short.has_dir(dir) || short.has_dir(parent),
            Op::Create { file, dir, .. } | Op::Symlink { file, dir, .. } => {
                short.has_dir(dir) && self.new_file(file).is_ok()
            }
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Punch { file, .. }
            | Op::Delete { file }
            | Op::Read { file, .. }
            | Op::Fsync { file } => short.has_file(file),
            Op::Rename { file, dir, .. } => short.has_file(file) || short.has_dir(dir),
            Op::Link {
                file,
                existing,
                dir,
            } => (short.has_file(existing) || short.has_dir(dir)) && self.new_file(file).is_ok(),
            _ => false,
        };
        if absent {
            self.note_shortfall(op, Outcome::Absent);
        }
        absent
    }

    /// Remembers what an operation did not make, and forgets what is there or gone now.
    pub(super) fn note_shortfall(&mut self, op: &Op, outcome: Outcome) {
        let short = &mut self.shortfall;
        let done = outcome == Outcome::Done;
        match *op {
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                if done || self.names.contains_key(&file.0) {
                    short.files.remove(&file.0);
                } else {
                    short.files.insert(file.0);
                }
            }
            Op::Mkdir { dir, .. } if done => {
                short.dirs.remove(&dir.0);
            }
            Op::Mkdir { dir, .. } => {
                short.dirs.insert(dir.0);
            }
            Op::Delete { file } => {
                short.files.remove(&file.0);
            }
            Op::Rmdir { dir } => {
                short.dirs.remove(&dir.0);
            }
            Op::Rename {
                replaced: Some(gone),
                ..
            } if done => {
                short.files.remove(&gone.0);
            }
            _ => {}
        }
        let harmless = matches!(op, Op::Read { .. } | Op::Fsync { .. } | Op::Delete { .. });
        short.differs |= !done && outcome != Outcome::Ignored && !harmless;
    }
}
