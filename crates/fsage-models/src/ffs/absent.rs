//! What lack of space kept from being made: a workload goes on as if it had all the space it asked for, so that
//! later operations may name what is not there. They are skipped and counted; the run goes on.

use super::Ffs;
use fsage_core::{DirId, FileId, Op, Outcome, StateError};
use rustc_hash::FxHashSet;

/// Where the workload and the file system have come apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortfall {
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
}

impl Ffs {
    /// A `rename` over a name that was never made is a plain rename.
    pub(super) fn without_absent_target(&self, op: &Op) -> Op {
        match *op {
            Op::Rename {
                file,
                dir,
                replaced: Some(other),
            } if self.shortfall.files.contains(&other.0) => Op::Rename {
                file,
                dir,
                replaced: None,
            },
            _ => *op,
        }
    }

    /// Whether the operation names something that was never made. What it would have made is then absent as
    /// well, and what it removes no longer is.
    pub(super) fn is_absent(&mut self, op: &Op) -> bool {
        if self.shortfall.is_empty() {
            return false;
        }
        let file = |id: FileId| self.shortfall.files.contains(&id.0);
        let dir = |id: DirId| self.shortfall.dirs.contains(&id.0);
        let absent = match *op {
            Op::Mkdir { dir: new, parent } => parent.is_some_and(dir) && self.new_dir(new).is_ok(),
            Op::Rmdir { dir: d } => dir(d),
            Op::RenameDir { dir: d, parent } => dir(d) || dir(parent),
            Op::Create {
                file: new, dir: d, ..
            }
            | Op::Symlink {
                file: new, dir: d, ..
            } => dir(d) && self.new_file(new).is_ok(),
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
            } => (file(existing) || dir(d)) && self.new_file(new).is_ok(),
            _ => false,
        };
        if absent {
            self.note_shortfall(op, Outcome::Absent);
        }
        absent
    }

    /// Remembers what an operation did not make, and forgets what is there or gone now.
    pub(super) fn note_shortfall(&mut self, op: &Op, outcome: Outcome) {
        let shortfall = &mut self.shortfall;
        if outcome == Outcome::Done {
            match *op {
                // Whatever it was, its size is what the workload says.
                Op::Create { file, .. } | Op::Rewrite { file, .. } | Op::Delete { file }
                    if !shortfall.short.is_empty() || !shortfall.files.is_empty() =>
                {
                    shortfall.short.remove(&file.0);
                    shortfall.files.remove(&file.0);
                }
                Op::Symlink { file, .. } | Op::Link { file, .. } => {
                    shortfall.files.remove(&file.0);
                }
                Op::Mkdir { dir, .. } => {
                    shortfall.dirs.remove(&dir.0);
                }
                Op::Rename {
                    replaced: Some(gone),
                    ..
                } => {
                    shortfall.files.remove(&gone.0);
                }
                _ => {}
            }
            return;
        }
        match *op {
            Op::Mkdir { dir, .. } => {
                shortfall.dirs.insert(dir.0);
            }
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                if self.names.find(file).is_none() {
                    shortfall.files.insert(file.0);
                } else {
                    shortfall.files.remove(&file.0);
                    shortfall.short.insert(file.0);
                }
            }
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. } => {
                shortfall.short.insert(file.0);
            }
            Op::Delete { file } => {
                shortfall.files.remove(&file.0);
            }
            Op::Rmdir { dir } => {
                shortfall.dirs.remove(&dir.0);
            }
            Op::Rename { .. } | Op::RenameDir { .. } => shortfall.stranded = true,
            _ => {}
        }
    }

    /// An operation that does not fit the state only because something earlier did not fit the disk is absent,
    /// not an error of the workload.
    pub(super) fn excuse(&self, op: &Op, error: StateError) -> Result<Outcome, StateError> {
        let excused = match error {
            StateError::BeyondEnd(_) => match *op {
                // A further name of a short file has another id.
                Op::Overwrite { file, .. } => {
                    let short = &self.shortfall.short;
                    let linked = self
                        .names
                        .find(file)
                        .is_some_and(|slot| self.names.links(slot) > 1);
                    short.contains(&file.0) || linked && !short.is_empty()
                }
                _ => false,
            },
            StateError::NotEmpty(_)
            | StateError::DirectoryExists(_)
            | StateError::ReplacedElsewhere(_)
            | StateError::IntoItself(_) => self.shortfall.stranded,
            _ => false,
        };
        if excused {
            Ok(Outcome::Absent)
        } else {
            Err(error)
        }
    }
}
