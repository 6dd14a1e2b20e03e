//! Where entries are, by the tables: paths relative to the root of the tree.

use super::content::Content;
use super::naming::NameBuffer;
use super::repair::ShortFile;
use super::replay::Directory;
use super::shard::Common;
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId};
use rustc_hash::FxHashMap;
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

    /// Takes over that files are shorter than the tables say, or missing, as there was no room for them.
    pub(crate) fn shorten(&mut self, files: &[ShortFile]) {
        if files.is_empty() {
            return;
        }
        let sizes: FxHashMap<&[u8], Option<u64>> = files
            .iter()
            .map(|file| (&file.path[..], file.size_bytes))
            .collect();
        let mut found = Vec::new();
        for (number, shard) in self.shards.iter().enumerate() {
            for (slot, file) in shard.files.iter() {
                let path = self.path_of_file(FileId(file.id));
                let size = path.and_then(|path| sizes.get(&path[..]).copied());
                found.extend(size.map(|size| (number, slot, size)));
            }
        }
        let common = Common {
            dirs: &self.dirs,
            links: &self.links,
            root: self.volume.root(),
            options: self.options,
            block_bytes: self.block_bytes,
        };
        for (number, slot, size) in found {
            self.shards[number].shorten(&common, slot, size);
        }
    }

    /// Path of a directory that is alive; that of the root is empty.
    pub fn path_of_dir(&self, dir: DirId) -> Option<Vec<u8>> {
        Some(self.dirs.path(self.dirs.find(dir).ok()?))
    }

    /// What a file that is alive holds.
    pub(crate) fn content_of(&self, file: FileId) -> Option<Content> {
        let (shard, slot) = self.locate(file)?;
        Some(Content(self.shards[shard].inode(&self.common(), slot).1))
    }

    /// Every directory but the root, with its path.
    pub(crate) fn directories(&self) -> impl Iterator<Item = (DirId, Vec<u8>)> {
        let dirs = self.dirs.alive().filter(|(slot, _)| *slot != ROOT);
        dirs.map(|(slot, dir)| (DirId(dir.id), self.dirs.path(slot)))
    }

    /// Directory that holds a file, and its name there.
    pub(crate) fn place_of_file(&self, file: FileId) -> Option<(DirId, Vec<u8>)> {
        let (shard, slot) = self.locate(file)?;
        let file = self.shards[shard].files.get(slot);
        let mut buffer = NameBuffer::new();
        let name = file.name(&mut buffer).to_vec();
        Some((DirId(self.dirs.get(file.dir).id), name))
    }

    /// Directory that holds this one, and its name there; `None` of the root.
    pub(crate) fn place_of_dir(&self, dir: DirId) -> Option<(DirId, Vec<u8>)> {
        let slot = self.dirs.find(dir).ok().filter(|&slot| slot != ROOT)?;
        let mut buffer = NameBuffer::new();
        let name = self.dirs.name(slot, &mut buffer).to_vec();
        Some((DirId(self.dirs.get(self.dirs.get(slot).parent).id), name))
    }
}
