//! Where entries are, by the tables: paths relative to the root of the tree.

use super::dirs::ROOT;
use super::naming::NameBuffer;
use super::replay::Directory;
use fsage_core::{DirId, FileId};
use std::os::fd::BorrowedFd;

impl Directory {
    /// The root of the tree.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.volume().root()
    }

    /// Path of a file that is alive.
    pub fn path_of_file(&self, file: FileId) -> Option<Vec<u8>> {
        let (shard, slot) = self.locate(file)?;
        let file = self.shards[shard].files.get(slot);
        let mut buffer = NameBuffer::new();
        let name = file.name(&mut buffer);
        Some(match self.dirs.path(file.dir) {
            dir if dir.is_empty() => name.to_vec(),
            dir => [dir.as_slice(), b"/", name].concat(),
        })
    }

    /// Path of a directory that is alive; that of the root is empty.
    pub fn path_of_dir(&self, dir: DirId) -> Option<Vec<u8>> {
        Some(self.dirs.path(self.dirs.find(dir).ok()?))
    }

    /// Directory that holds this one, and its name there; `None` of the root and of what lies in it.
    pub(crate) fn parent_of_dir(&self, dir: DirId) -> Option<(DirId, Vec<u8>)> {
        let slot = self.dirs.find(dir).ok()?;
        let parent = self.dirs.get(slot).parent;
        if slot == ROOT || parent == ROOT {
            return None;
        }
        let mut buffer = NameBuffer::new();
        let name = self.dirs.name(slot, &mut buffer).to_vec();
        Some((DirId(self.dirs.get(parent).id), name))
    }
}
