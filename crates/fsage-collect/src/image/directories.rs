//! The blocks of all directories, which give the names of all inodes.

use super::names::{Names, Tree};
use super::pieces::{Piece, READ_BYTES, read_pieces};
use super::{Fault, ReadAt};
use crate::error::CollectError;
use crate::report::Warnings;
use fsage_core::Extent;
use fsage_core::names::check_name;
use std::collections::BTreeSet;

/// Takes an inode and its name.
pub type Push<'p> = &'p mut dyn FnMut(u64, &[u8]) -> Result<(), Fault>;
/// Reads the names in a block of a directory: its inode, the number of the block, and its bytes.
pub type VisitBlock<'v> = &'v mut dyn FnMut(u64, u64, &[u8], Push<'_>) -> Result<(), Fault>;

/// Which directory a block belongs to, and whether names in it may have any byte.
pub type Owner = (u64, bool);

/// What directories say, and which of them could not be read.
#[derive(Debug, Default)]
pub struct DirectoryBlocks {
    /// Inodes of all directories, ascending.
    inodes: Vec<u64>,
    /// Those that were not read, or not completely.
    damaged: BTreeSet<u64>,
    names: Names,
    /// Their blocks. With those of all directories at hand, they are read in the order of the disk: entries do not
    /// cross the end of a block, and so no block needs the one before.
    blocks: Vec<Piece<Owner>>,
}

impl DirectoryBlocks {
    /// Takes the next directory; their inodes ascend.
    pub fn add_directory(&mut self, ino: u64) {
        self.inodes.push(ino);
    }

    /// Takes blocks of a directory, from one on.
    pub fn add_blocks(&mut self, owner: Owner, block: u64, blocks: u64) {
        if blocks > 0 {
            self.blocks.push(Piece {
                block,
                blocks,
                tag: owner,
            });
        }
    }

    /// Takes the blocks of an extent.
    pub fn add_extent(&mut self, owner: Owner, extent: &Extent, block_bytes: u64) {
        let block = extent.physical_bytes / block_bytes;
        self.add_blocks(owner, block, extent.length_bytes / block_bytes);
    }

    /// Takes a name.
    pub fn push(&mut self, owner: Owner, child: u64, name: &[u8]) -> Result<(), Fault> {
        push_name(&mut self.names, owner, child, name)
    }

    /// Reads all blocks.
    pub fn read(
        &mut self,
        source: &dyn ReadAt,
        block_bytes: u64,
        warnings: &mut Warnings,
        visit: VisitBlock<'_>,
    ) -> Result<(), CollectError> {
        let mut pieces = self.disjoint_pieces(block_bytes, warnings);
        read_pieces(source, block_bytes, &mut pieces, &mut |piece, bytes| {
            let (ino, _) = piece.tag;
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(e) => {
                    let fault = Fault(format!("block {}: {e}", piece.block));
                    self.found(ino, Some(fault), warnings);
                    return Ok(());
                }
            };
            for (block, number) in bytes.chunks(block_bytes as usize).zip(piece.block..) {
                let names = &mut self.names;
                let read = visit(ino, number, block, &mut |child, name| {
                    push_name(names, piece.tag, child, name)
                });
                let placed =
                    { read.err() }.map(|Fault(what)| Fault(format!("block {number}: {what}")));
                self.found(ino, placed, warnings);
            }
            Ok(())
        })
    }

    /// The blocks of all directories, each once, in pieces that can be read at once. A block that several directories
    /// claim is left to the first.
    fn disjoint_pieces(&mut self, block_bytes: u64, warnings: &mut Warnings) -> Vec<Piece<Owner>> {
        let mut runs = std::mem::take(&mut self.blocks);
        runs.sort_unstable_by_key(|run| (run.block, run.tag, run.blocks));
        let at_once = READ_BYTES / block_bytes;
        let mut pieces = Vec::with_capacity(runs.len());
        let mut claimed = 0;
        for run in runs {
            let end = run.block + run.blocks;
            let mut block = run.block.max(claimed);
            if run.block < claimed {
                let what = format!("block {} belongs to another directory too", run.block);
                self.found(run.tag.0, Some(Fault(what)), warnings);
            }
            while block < end {
                let blocks = at_once.min(end - block);
                pieces.push(Piece {
                    block,
                    blocks,
                    ..run
                });
                block += blocks;
            }
            claimed = claimed.max(end);
        }
        pieces
    }

    /// Notes damage, if there is some.
    pub fn found(&mut self, ino: u64, fault: Option<Fault>, warnings: &mut Warnings) {
        if let Some(Fault(what)) = fault
            && self.damaged.insert(ino)
        {
            let kind = "directories are damaged, and names in them may be missing";
            warnings.add(kind, format!("inode {ino} ({what})"));
        }
    }

    /// The tree that the names make below a root, and the directories that were not read, or not completely.
    pub fn into_tree(self, root: u64) -> (Tree, BTreeSet<u64>) {
        (self.names.into_tree(root, &self.inodes), self.damaged)
    }
}

fn push_name(names: &mut Names, owner: Owner, child: u64, name: &[u8]) -> Result<(), Fault> {
    let (parent, encrypted) = owner;
    if let (false, Err(e)) = (encrypted, check_name(name)) {
        return Err(Fault(e.to_string()));
    }
    names.push(parent, child, name);
    Ok(())
}
