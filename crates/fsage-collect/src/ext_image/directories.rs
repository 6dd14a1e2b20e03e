//! One pass over all directories, which gives the names of all inodes.

use super::device::{Device, Piece, READ_BYTES};
use super::directory::{visit_entries, visit_inline_entries};
use super::inode::RawInode;
use super::mapping::{Fault, Mapper};
use super::names::Names;
use crate::error::CollectError;
use crate::report::Warnings;
use fsage_core::FileKind;
use fsage_core::names::check_name;
use std::collections::BTreeSet;

/// What directories say, and which of them could not be read.
pub struct Directories<'a> {
    device: &'a Device<'a>,
    mapper: Mapper<'a>,
    /// Inodes of all directories, ascending.
    pub inodes: Vec<u32>,
    /// Those that were not read, or not completely.
    pub damaged: BTreeSet<u32>,
    pub names: Names,
    /// Their blocks. With those of all directories at hand, they are read in the order of the disk: entries do not
    /// cross the end of a block, and so no block needs the one before.
    blocks: Vec<Piece<Owner>>,
    warnings: &'a mut Warnings,
}

/// Which directory a block belongs to, and whether names in it may have any byte.
type Owner = (u32, bool);

impl<'a> Directories<'a> {
    pub fn new(device: &'a Device<'a>, warnings: &'a mut Warnings) -> Directories<'a> {
        Directories {
            device,
            mapper: Mapper::new(device),
            inodes: Vec::new(),
            damaged: BTreeSet::new(),
            names: Names::default(),
            blocks: Vec::new(),
            warnings,
        }
    }

    /// Takes the next inode; only directories are looked at.
    pub fn add(&mut self, inode: &RawInode) {
        if inode.kind() != Some(FileKind::Directory) {
            return;
        }
        self.inodes.push(inode.ino);
        let owner = (inode.ino, inode.is_encrypted());
        if inode.is_inline() {
            let typed = self.device.superblock.has_file_types();
            let mut bad = None;
            let read = visit_inline_entries(inode, typed, &mut |child, name| {
                bad = bad
                    .take()
                    .or(push_name(&mut self.names, owner, child, name).err());
            });
            self.found(inode.ino, read.err().or(bad));
            return;
        }
        match self.mapper.extents(inode) {
            Ok(extents) => self.add_blocks(owner, inode.size_bytes(), &extents),
            Err(fault) => self.found(inode.ino, Some(fault)),
        }
    }

    fn add_blocks(&mut self, tag: Owner, size_bytes: u64, extents: &[fsage_core::Extent]) {
        let block_bytes = self.device.block_bytes();
        for extent in extents.iter().filter(|extent| !extent.is_pointers()) {
            // What lies behind the end of the directory belongs to it, and says nothing.
            let inside = size_bytes.saturating_sub(extent.logical_bytes);
            let blocks = extent.length_bytes.min(inside).div_ceil(block_bytes);
            if blocks > 0 {
                self.blocks.push(Piece {
                    block: extent.physical_bytes / block_bytes,
                    blocks,
                    tag,
                });
            }
        }
    }

    /// Reads all of them.
    pub fn read(&mut self) -> Result<(), CollectError> {
        let device = self.device;
        let typed = device.superblock.has_file_types();
        let mut pieces = self.disjoint_pieces();
        device.read_pieces(&mut pieces, &mut |piece, bytes| {
            let (ino, _) = piece.tag;
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(e) => {
                    self.found(ino, Some(Fault(format!("block {}: {e}", piece.block))));
                    return Ok(());
                }
            };
            for (block, number) in bytes
                .chunks(device.block_bytes() as usize)
                .zip(piece.block..)
            {
                let mut bad = None;
                let read = visit_entries(block, typed, &mut |child, name| {
                    bad = bad
                        .take()
                        .or(push_name(&mut self.names, piece.tag, child, name).err());
                });
                let fault = read.err().or(bad);
                let placed = fault.map(|Fault(what)| Fault(format!("block {number}: {what}")));
                self.found(ino, placed);
            }
            Ok(())
        })
    }

    /// The blocks of all directories, each once, in pieces that can be read at once. A block that several directories
    /// claim is left to the first.
    fn disjoint_pieces(&mut self) -> Vec<Piece<Owner>> {
        let mut runs = std::mem::take(&mut self.blocks);
        runs.sort_unstable_by_key(|run| (run.block, run.tag, run.blocks));
        let at_once = READ_BYTES / self.device.block_bytes();
        let mut pieces = Vec::with_capacity(runs.len());
        let mut claimed = 0;
        for run in runs {
            let end = run.block + run.blocks;
            let mut block = run.block.max(claimed);
            if run.block < claimed {
                let what = format!("block {} belongs to another directory too", run.block);
                self.found(run.tag.0, Some(Fault(what)));
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
    fn found(&mut self, ino: u32, fault: Option<Fault>) {
        if let Some(Fault(what)) = fault
            && self.damaged.insert(ino)
        {
            let kind = "directories are damaged, and names in them may be missing";
            self.warnings.add(kind, format!("inode {ino} ({what})"));
        }
    }
}

fn push_name(names: &mut Names, owner: Owner, child: u32, name: &[u8]) -> Result<(), Fault> {
    let (parent, encrypted) = owner;
    if let (false, Err(e)) = (encrypted, check_name(name)) {
        return Err(Fault(e.to_string()));
    }
    names.push(parent, child, name);
    Ok(())
}
