//! What a copy has made and not removed.

use fsage_core::{DirId, Event, FileId, Op, Origin, TQuality};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Files and directories that are there, by the numbers of the copy.
#[derive(Debug, Default)]
pub(super) struct Left {
    files: BTreeSet<FileId>,
    /// Each with the one that it lies in.
    dirs: BTreeMap<DirId, DirId>,
}

impl Left {
    /// Takes the next operation.
    pub fn observe(&mut self, op: &Op) {
        match *op {
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => {
                self.files.insert(file);
            }
            Op::Delete { file } => {
                self.files.remove(&file);
            }
            Op::Rename {
                file,
                replaced: Some(replaced),
                ..
            } if replaced != file => {
                self.files.remove(&replaced);
            }
            Op::Mkdir { dir, parent } => {
                self.dirs.insert(dir, parent.unwrap_or(DirId::ROOT));
            }
            Op::RenameDir { dir, parent } => {
                self.dirs.insert(dir, parent);
            }
            Op::Rmdir { dir } => {
                self.dirs.remove(&dir);
            }
            _ => {}
        }
    }

    /// Files in the order of their numbers, then directories, the deepest first, and the one that all lie in.
    pub fn removal(self, own: DirId) -> Vec<Event> {
        let depth = |dir: &DirId| {
            let above = std::iter::successors(Some(*dir), |dir| self.dirs.get(dir).copied());
            // Directories in a ring would be a workload that does not fit any state.
            above.take(self.dirs.len() + 1).count()
        };
        let mut dirs: Vec<(Reverse<usize>, DirId)> = self
            .dirs
            .keys()
            .map(|dir| (Reverse(depth(dir)), *dir))
            .collect();
        dirs.sort_unstable();
        let files = self.files.iter().map(|&file| Op::Delete { file });
        let dirs = dirs.into_iter().map(|(_, dir)| dir);
        let dirs = dirs.chain([own]).map(|dir| Op::Rmdir { dir });
        let event = |op| Event::new(op).from_source(Origin::Generated, TQuality::Inferred);
        files.chain(dirs).map(event).collect()
    }
}
