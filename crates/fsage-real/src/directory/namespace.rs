//! The tables as the rules of operations see them: all of them, or those of one shard while other threads work beside
//! it.

use super::replay::Directory;
use super::shard::{Common, Shard};
use fsage_core::operations::{DirIds, Namespace, Shortfall};
use fsage_core::{FileId, Op};

/// Shard and slot of a name.
pub(super) type FileSlot = (usize, u32);

/// A shard, as its own thread sees it: it finds its own files, and what is known of those.
#[derive(Clone, Copy)]
pub(super) struct OneShard<'a> {
    pub shard: &'a Shard,
    pub common: &'a Common<'a>,
}

impl Namespace for OneShard<'_> {
    type File = FileSlot;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<FileSlot> {
        Some((self.shard.number, self.shard.files.find(id)?))
    }

    fn size_bytes(&self, (_, slot): FileSlot) -> u64 {
        self.shard.inode(self.common, slot).0
    }

    /// Linux has no call that changes the target of a symbolic link.
    fn takes_no_data(&self, (_, slot): FileSlot) -> bool {
        self.shard.inode(self.common, slot).2
    }

    fn links(&self, (_, slot): FileSlot) -> u32 {
        self.shard.links(self.common, slot)
    }

    fn place_of(&self, _id: FileId, (_, slot): FileSlot) -> u32 {
        self.shard.files.get(slot).dir
    }

    #[inline]
    fn dir_ids(&self) -> &DirIds {
        &self.common.dirs.ids
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.common.dirs.get(dir).parent
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.common.dirs.is_empty(dir)
    }

    #[inline]
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        [&self.shard.shortfall, &self.common.dirs.shortfall].into_iter()
    }
}

impl Namespace for Directory {
    type File = FileSlot;

    #[inline]
    fn find_file(&self, id: FileId) -> Option<FileSlot> {
        self.locate(id)
    }

    fn size_bytes(&self, (shard, slot): FileSlot) -> u64 {
        self.shards[shard].inode(&self.common(), slot).0
    }

    fn takes_no_data(&self, (shard, slot): FileSlot) -> bool {
        self.shards[shard].inode(&self.common(), slot).2
    }

    fn links(&self, (shard, slot): FileSlot) -> u32 {
        self.shards[shard].links(&self.common(), slot)
    }

    fn place_of(&self, _id: FileId, (shard, slot): FileSlot) -> u32 {
        self.shards[shard].files.get(slot).dir
    }

    #[inline]
    fn dir_ids(&self) -> &DirIds {
        &self.dirs.ids
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs.get(dir).parent
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs.is_empty(dir)
    }

    #[inline]
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        let of_files = self.shards.iter().map(|shard| &shard.shortfall);
        std::iter::once(&self.dirs.shortfall).chain(of_files)
    }
}

/// The file that an operation of a shard works on.
pub(super) fn file_of(op: &Op) -> Option<FileId> {
    match *op {
        Op::Create { file, .. }
        | Op::Symlink { file, .. }
        | Op::Append { file, .. }
        | Op::Write { file, .. }
        | Op::Overwrite { file, .. }
        | Op::Rewrite { file, .. }
        | Op::Truncate { file, .. }
        | Op::Fallocate { file, .. }
        | Op::Punch { file, .. }
        | Op::Delete { file }
        | Op::Read { file, .. }
        | Op::Fsync { file } => Some(file),
        _ => None,
    }
}
