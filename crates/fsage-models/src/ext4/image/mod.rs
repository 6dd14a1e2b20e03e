//! The file system as it lies on a disk that the kernel mounts.
//!
//! Written is what `mkfs.ext4` of e2fsprogs 1.47.0 and the driver would have written, had the same blocks been
//! allocated by them: superblock and copies, descriptors, bitmaps, inode tables, extent trees, directories, an empty
//! journal, all with checksums. Contents of files are not: who writes them finds their places in the layout.
//!
//! | where | what |
//! |---|---|
//! | `fields` | numbers in bytes, checksums |
//! | `superblock`, `groups` | superblock, descriptors and bitmaps |
//! | `inode` | inodes and extent trees |
//! | `directory` | entries and their index |
//! | `own` | the journal, and blocks kept for descriptors |
//! | `read` | the way back; `read/verify` that what an image says twice is the same |
//! | `snapshot` | the same from a snapshot, which knows less |
//!
//! Spec: `docs/spec/ext4.md`, section 29.

mod directory;
mod fields;
mod groups;
mod inode;
mod own;
mod read;
mod snapshot;
mod superblock;

pub use read::can_be_read;
pub use snapshot::{can_be_begun_with, has_size};

use super::directory::{LOST_FOUND_INO, ROOT_INO};
use super::geometry::INODE_BYTES;
use super::{Entry, Ext4, Inode, NO_FILE};
use crate::ext4::entries::Block;
use crate::image::{Attributes, Kind, Mountable, Named, Options, WriteAt};
use fields::crc;
use fsage_core::FileId;
use fsage_core::operations::{Model as _, ROOT};
use inode::{AREA, EXTENTS, Fields, INDEXED, RawInode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;

/// Slot of the inode of `lost+found`.
const LOST_FOUND: u32 = 1;

/// A symbolic link that data was written to, or for whose target there was no space, is no link to a kernel: it is a
/// file.
fn kind_of(inode: &Inode, fs: &Ext4) -> Kind {
    match inode.kind {
        super::Kind::File => Kind::Regular,
        super::Kind::Directory => Kind::Directory,
        super::Kind::Symlink => {
            let mut extents = Vec::new();
            inode.tree.visit(&mut |entry| extents.push(*entry));
            let is_block = |extents: &[Entry]| {
                let [extent] = extents else { return false };
                let is_first = extent.logical == 0 && extent.blocks() == 1;
                is_first && !extent.is_unwritten() && inode.tree.depth() == 0
            };
            match inode.size {
                1..crate::FAST_SYMLINK if inode.tree.is_empty() => Kind::ShortLink,
                crate::FAST_SYMLINK..
                    if inode.size < fs.geometry.block_bytes && is_block(&extents) =>
                {
                    Kind::LongLink
                }
                _ => Kind::Regular,
            }
        }
    }
}

/// Writes a model.
struct Writer<'a> {
    fs: &'a Ext4,
    options: &'a Options<'a>,
    /// From here checksums go on, if metadata has them.
    seed: Option<u32>,
}

impl Mountable for Ext4 {
    fn image_bytes(&self) -> u64 {
        u64::from(self.geometry.blocks) * self.geometry.block_bytes
    }

    fn uuid(&self) -> [u8; 16] {
        self.params.hash_seed
    }

    fn write_image(&mut self, options: &Options<'_>, to: &mut dyn WriteAt) -> io::Result<()> {
        self.remount();
        let writer = Writer {
            fs: self,
            options,
            seed: self.format.has_sums.then(|| crc(!0, &options.uuid)),
        };
        writer.clear(to)?;
        let descriptors = writer.bitmaps(to)?;
        let own = writer.own_files(to)?;
        writer.inodes(own, to)?;
        writer.superblocks(&descriptors, to)
    }

    fn visit_names(&self, visit: &mut dyn FnMut(&Named<'_>)) {
        for dir in self.dirs.iter().filter(|dir| dir.alive) {
            let leaves = dir.entries.blocks.iter().filter_map(|block| match block {
                Block::Leaf(items) => Some(items),
                Block::Index(_) => None,
            });
            for item in leaves.flatten().filter(|item| item.inode != LOST_FOUND) {
                let Some(name) = item.name else { continue };
                let inode = &self.inodes[item.inode as usize];
                self.keys.names.with_bytes(name, |name| {
                    visit(&Named {
                        parent_ino: self.ino_of(dir.inode),
                        name,
                        ino: inode.ino.into(),
                        kind: kind_of(inode, self).file_kind(),
                        file: self.first_name(inode),
                    });
                });
            }
        }
    }
}

impl Ext4 {
    fn first_name(&self, inode: &Inode) -> Option<FileId> {
        (inode.file != NO_FILE).then(|| FileId(self.names.file(inode.file).id))
    }

    /// Slots of inodes with their numbers, ascending.
    fn inodes_by_number(&self) -> Vec<(u32, u32)> {
        let dirs = self.dirs.iter().filter(|dir| dir.alive);
        let files = self.names.iter().map(|(_, file)| file.inode);
        let slots = dirs.map(|dir| dir.inode).chain(files).chain([LOST_FOUND]);
        let numbered = slots.map(|slot| (self.inodes[slot as usize].ino, slot));
        let mut all: Vec<(u32, u32)> = numbered.collect();
        all.sort_unstable();
        all
    }
}

/// What is asked of directories while inodes are written.
#[derive(Clone, Copy, Default)]
struct Seen {
    slot: u32,
    subdirectories: u32,
}

impl Writer<'_> {
    /// Writes blocks in a row.
    fn block(&self, to: &mut dyn WriteAt, block: u32, bytes: &[u8]) -> io::Result<()> {
        to.write_at(u64::from(block) * self.fs.geometry.block_bytes, bytes)
    }

    fn zero(&self, to: &mut dyn WriteAt, block: u32, blocks: u32) -> io::Result<()> {
        let size = self.fs.geometry.block_bytes;
        to.zero(u64::from(block) * size, u64::from(blocks) * size)
    }

    /// All that is metadata begins as zeros.
    fn clear(&self, to: &mut dyn WriteAt) -> io::Result<()> {
        let g = &self.fs.geometry;
        self.zero(to, 0, g.first_block)?;
        for (group, tables) in (0..g.groups).zip(&g.tables) {
            self.zero(to, g.start_of(group), g.copy_blocks(group))?;
            self.zero(to, tables.inode_table, g.table_blocks())?;
        }
        for &(block, blocks) in &g.journal {
            self.zero(to, block, blocks)?;
        }
        Ok(())
    }

    fn attributes(&self, slot: u32) -> Attributes {
        let inode = &self.fs.inodes[slot as usize];
        if slot == LOST_FOUND {
            return Attributes {
                permissions: 0o700,
                ..self.options.made()
            };
        }
        let kind = kind_of(inode, self.fs).file_kind();
        self.options.facts.attributes(inode.ino.into(), kind)
    }

    fn inodes(&self, own: BTreeMap<u32, RawInode>, to: &mut dyn WriteAt) -> io::Result<()> {
        let (fs, g) = (self.fs, &self.fs.geometry);
        let mut dirs: FxHashMap<u32, Seen> = FxHashMap::default();
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            dirs.entry(dir.inode).or_default().slot = slot as u32;
            if slot as u32 != ROOT {
                let parent = fs.dirs[dir.parent as usize].inode;
                dirs.entry(parent).or_default().subdirectories += 1;
            }
        }
        let mut own = own.into_iter().peekable();
        let mut all = fs.inodes_by_number().into_iter().peekable();
        let per_group = g.inodes_per_group;
        let block_bytes = g.block_bytes as usize;
        for (group, tables) in (0..g.groups).zip(&g.tables) {
            let first = group * per_group + 1;
            let inodes = fs.groups.inodes_up_to_last(group);
            let bytes = inodes as usize * INODE_BYTES as usize;
            let mut table = vec![0; bytes.next_multiple_of(block_bytes)];
            let mut put = |ino: u32, inode: RawInode| {
                let at = (ino - first) as usize * INODE_BYTES as usize;
                table[at..at + inode.len()].copy_from_slice(&inode);
            };
            while let Some((ino, inode)) = own.next_if(|(ino, _)| *ino < first + per_group) {
                put(ino, inode);
            }
            while let Some((ino, slot)) = all.next_if(|(ino, _)| *ino < first + per_group) {
                let seen = dirs.get(&slot).copied().unwrap_or_default();
                put(ino, self.one(slot, seen, to)?);
            }
            self.without_zeros(tables.inode_table, &table, to)?;
        }
        Ok(())
    }

    /// Writes blocks in a row, and leaves out those that are zero.
    fn without_zeros(&self, first: u32, bytes: &[u8], to: &mut dyn WriteAt) -> io::Result<()> {
        let size = self.fs.geometry.block_bytes as usize;
        let is_zero = |block: &[u8]| block.iter().all(|&byte| byte == 0);
        let blocks: Vec<&[u8]> = bytes.chunks_exact(size).collect();
        let mut at = 0;
        for run in blocks.chunk_by(|a, b| is_zero(a) == is_zero(b)) {
            if !is_zero(run[0]) {
                let bytes = &bytes[at * size..(at + run.len()) * size];
                self.block(to, first + at as u32, bytes)?;
            }
            at += run.len();
        }
        Ok(())
    }

    /// An inode, after what belongs to it was written.
    fn one(&self, slot: u32, seen: Seen, to: &mut dyn WriteAt) -> io::Result<RawInode> {
        let fs = self.fs;
        let inode = &fs.inodes[slot as usize];
        let kind = kind_of(inode, fs);
        let attributes = self.attributes(slot);
        let mut blocks = 0;
        inode
            .tree
            .visit(&mut |entry| blocks += u64::from(entry.blocks()));
        inode.tree.visit_blocks(&mut |_| blocks += 1);
        let mut fields = Fields {
            kind: kind.mode(),
            attributes,
            links: 1,
            size_bytes: inode.size,
            blocks,
            flags: EXTENTS,
            area: [0; AREA],
        };
        if kind == Kind::ShortLink {
            fields.flags = 0;
            let target = self.options.target(fs.first_name(inode), inode.size);
            fields.area[..target.len()].copy_from_slice(&target);
        } else {
            fields.area = inode::root(&inode.tree);
            let seed = self.inode_seed(inode.ino, attributes.generation);
            self.tree_blocks(&inode.tree, seed, to)?;
        }
        if inode.file != NO_FILE {
            fields.links = fs.names.links(inode.file);
        }
        if kind == Kind::Directory {
            fields.links = 2 + seen.subdirectories;
            if slot == LOST_FOUND {
                self.lost_and_found((LOST_FOUND_INO, ROOT_INO), to)?;
            } else {
                let dir = &fs.dirs[seen.slot as usize];
                if matches!(dir.entries.blocks[..], [Block::Index(_), ..]) {
                    fields.flags |= INDEXED;
                }
                if seen.slot == ROOT {
                    // Its directory `lost+found` is none of a workload's.
                    fields.links += 1;
                }
                self.directory(dir, to)?;
            }
        }
        if kind == Kind::LongLink
            && let Some(entry) = inode.tree.find(0)
        {
            let mut block = self.options.target(fs.first_name(inode), inode.size);
            block.resize(fs.geometry.block_bytes as usize, 0);
            self.block(to, entry.block, &block)?;
        }
        Ok(self.inode(inode.ino, &fields))
    }

    fn superblocks(&self, descriptors: &[u8], to: &mut dyn WriteAt) -> io::Result<()> {
        let g = &self.fs.geometry;
        let superblock = superblock::of(self.fs, self.options);
        let copies = (0..g.groups).rev();
        for group in copies.filter(|&group| g.copy_blocks(group) > 0) {
            self.block(to, g.start_of(group) + 1, descriptors)?;
            let start = u64::from(g.start_of(group)) * g.block_bytes;
            let at = if group == 0 { superblock::AT } else { start };
            to.write_at(
                at,
                &superblock::in_group(&superblock, group, self.seed.is_some()),
            )?;
        }
        Ok(())
    }
}
