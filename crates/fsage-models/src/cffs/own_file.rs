//! Files of the file system itself, whose inodes lie in the superblock: the directory map and the external inode file.
//! They grow a block at a time, never shrink, and their blocks never move.

use super::geometry::{SUPERBLOCK, TREE};
use super::{Cffs, NoSpace};
use fsage_core::io::Flush;

/// Where the blocks of such a file lie. None has more than the single indirect block leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnFile {
    /// Its blocks.
    pub blocks: Vec<u32>,
    /// The block of pointers to those behind the direct ones.
    pub pointers: Option<u32>,
}

impl OwnFile {
    /// All blocks, that of pointers last.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().copied().chain(self.pointers)
    }
}

impl Cffs {
    /// One more block, and where it is needed the block of pointers before it: each is written before anything leads to
    /// it, if `flush` is at once.
    pub(super) fn extend_own(
        &mut self,
        file: fn(&mut Cffs) -> &mut OwnFile,
        flush: Flush,
    ) -> Result<(), NoSpace> {
        let its = file(self);
        let before = its.blocks.last().copied().unwrap_or(SUPERBLOCK);
        let needs_pointers = its.blocks.len() as u32 == TREE.direct;
        let pointers = if needs_pointers {
            let found = self.map.next_free(before).ok_or(NoSpace)?;
            self.take(found);
            Some(found)
        } else {
            its.pointers
        };
        let Some(block) = self.map.next_free(pointers.unwrap_or(before).max(before)) else {
            if let Some(pointers) = pointers.filter(|_| needs_pointers) {
                self.release_blocks(pointers, 1);
            }
            return Err(NoSpace);
        };
        self.take(block);
        let its = file(self);
        its.pointers = pointers;
        its.blocks.push(block);
        self.emit_own_block(block, pointers, flush);
        Ok(())
    }
}
