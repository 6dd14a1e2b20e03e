//! Numbers of inodes that never change, and the table that leads from them to locators (section 3.1 of the paper).
//!
//! The authors hold that such a table costs little: it is read where an inode is not in memory and nobody knows its
//! directory, which a name never asks for. It is soft state, rebuilt after a crash from the inodes, which know their
//! number: so no write to it waits for another, and none is waited for.

use super::geometry::{BLOCK, TREE};
use super::inode::Inode;
use super::{Cffs, NoSpace};
use fsage_core::io::Flush;

/// Locators in a block of the table.
const LOCATORS: u32 = (BLOCK / 4) as u32;

impl Cffs {
    /// Sees to it that the table has room for the next number.
    pub(super) fn number_inode(&mut self) -> Result<(), NoSpace> {
        if !self.params.has_inode_table() {
            return Ok(());
        }
        let block = (self.vnodes.peek() + 1) / LOCATORS;
        if (block as usize) < self.inode_table.blocks.len() {
            return Ok(());
        }
        if block >= TREE.direct + TREE.per_block {
            return Err(NoSpace);
        }
        self.extend_own(|fs| &mut fs.inode_table, Flush::Delayed)
    }

    /// An inode is new, lies elsewhere, or is gone: the table says so, and what keeps homes of files knows it.
    pub(super) fn placed(&mut self, inode: &Inode) {
        self.hints.placed(inode);
        if self.params.has_inode_table() && self.emitted.is_on() {
            let block = self.inode_table.blocks[((inode.vnode + 1) / LOCATORS) as usize];
            self.emit_inode_table(block);
        }
    }
}
