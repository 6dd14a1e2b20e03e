//! What operations do to the buffers of a host: headers of AGs, roots of their trees, inodes, directories, data.
//!
//! Data has no place until it is written back; a host holds it as long. Nothing waits but what `fsync` and `sync` wait
//! for. Of the log those writes are emitted that `fsync` waits for: docs/host.md, section "Commits".

use super::Xfs;
use super::btree::Tree;
use super::geometry::{BLOCK, block_of_inode};
use super::inode::Inode;
use super::leaf::Key;
use super::params::Regime;
use crate::clock::PIECES;
use crate::log;
use crate::searched::Searched;
use fsage_core::io::Emitted;
use fsage_core::io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::{DirId, FileId};

/// Where data lies that was not written back: nowhere.
const NOWHERE: u64 = u64::MAX;
/// While a host follows, data is written back once so many bytes wait for it, as a small machine's limit on dirty pages
/// would have it.
const MOST_DELAYED_BYTES: u64 = 4 << 20;

impl Xfs {
    fn buffer(&self, id: BufferId, fsb: Option<u64>) -> Buffer {
        Buffer {
            id,
            start_bytes: fsb.map_or(NOWHERE, |fsb| self.geometry.absolute(fsb) * BLOCK),
            bytes: BLOCK as u32,
        }
    }

    fn device_buffer(&self, fsb: u64) -> Buffer {
        let start_bytes = self.geometry.absolute(fsb) * BLOCK;
        self.buffer(BufferId::Device { start_bytes }, Some(fsb))
    }

    fn data_buffer(&self, inode: &Inode, lbn: u32) -> Buffer {
        let extent = inode.extents.find(lbn).filter(|extent| extent.is_real());
        let fsb = extent.map(|extent| extent.start() + u64::from(lbn - extent.logical));
        self.buffer(
            BufferId::Data {
                ino: inode.ino,
                lbn,
            },
            fsb,
        )
    }

    fn inode_buffer(&self, ino: u64) -> Buffer {
        self.device_buffer(block_of_inode(ino))
    }

    fn changed(&mut self, buffer: Buffer) {
        if self.emitted.is_hosted() {
            self.log.changed.insert(buffer.start_bytes);
        }
        self.emitted.emit_once(Io::Modify(buffer, Flush::Delayed));
    }

    /// An inode changes.
    #[inline]
    pub(super) fn changed_inode(&mut self, slot: u32) {
        if self.emitted.is_on() {
            let ino = self.inodes[slot as usize].ino;
            if self.emitted.is_hosted() {
                self.log.inodes.insert(ino);
            }
            let buffer = self.inode_buffer(ino);
            self.emitted.emit_once(Io::Modify(buffer, Flush::Delayed));
        }
    }

    /// The trees of inodes of an AG change.
    pub(super) fn changed_inode_trees(&mut self, ag: u32) {
        if self.emitted.is_on() {
            let inodes = &self.chunks[ag as usize];
            let free = inodes.with_free.as_ref().map(Tree::root_block);
            let roots = [Some(0), Some(inodes.chunks.root_block()), free];
            for block in roots.into_iter().flatten() {
                self.changed(self.device_buffer(self.geometry.fsb(ag, block)));
            }
        }
    }

    /// The trees of free space of an AG change.
    fn changed_free_space(&mut self, ag: u32) {
        let of = &self.space.ags[ag as usize];
        let owners = of.owners.as_ref().map(Tree::root_block);
        let roots = [
            Some(0),
            Some(of.by_start.root_block()),
            Some(of.by_length.root_block()),
            owners,
        ];
        for block in roots.into_iter().flatten() {
            self.changed(self.device_buffer(self.geometry.fsb(ag, block)));
        }
    }

    /// The data of an inode from a block on is gone.
    pub(super) fn discarded(&mut self, slot: u32, from: u32) {
        if self.emitted.is_on() {
            let ino = self.inodes[slot as usize].ino;
            self.emitted.emit(Io::Discard { ino, from });
        }
    }

    /// A range of a file was written to; before that it ended at `old_size`.
    pub(super) fn wrote(&mut self, slot: u32, from: u64, to: u64, old_size: u64) {
        if !self.emitted.is_on() {
            return;
        }
        for lbn in from / BLOCK..to.div_ceil(BLOCK) {
            let (start, end) = (lbn * BLOCK, (lbn + 1) * BLOCK);
            let inode = &self.inodes[slot as usize];
            let buffer = self.data_buffer(inode, lbn as u32);
            let is_placed = buffer.start_bytes != NOWHERE;
            let is_whole = from <= start && to >= end.min(inode.size);
            let is_new = start >= old_size;
            let bytes = (to.min(end) - from.max(start)) as u32;
            let flush = if is_placed {
                Flush::Delayed
            } else {
                Flush::Held
            };
            if is_placed && !is_whole && !is_new {
                for tree in self.tree_buffers(inode).into_iter().flatten() {
                    self.emitted.emit(Io::Need(tree));
                }
                self.emitted.emit(Io::Need(buffer));
            }
            self.emitted.emit(Io::Copy { bytes });
            self.emitted.emit(if is_whole || is_new || !is_placed {
                Io::Fill(buffer, flush)
            } else {
                Io::Modify(buffer, flush)
            });
        }
    }

    /// Data has got its place, and may be written from now on, as far as it is in the file.
    pub(super) fn placed(&mut self, slot: u32, logical: u32, start: u64, blocks: u32) {
        if !self.emitted.is_on() {
            return;
        }
        self.changed_free_space(self.geometry.ag_of(start));
        let in_file = super::data::blocks_until(self.inodes[slot as usize].size);
        for lbn in logical..(logical + blocks).min(in_file.max(logical)) {
            let buffer = self.data_buffer(&self.inodes[slot as usize], lbn);
            self.emitted.emit(Io::Assign(buffer));
            self.emitted.emit(Io::Modify(buffer, Flush::Delayed));
        }
    }

    /// An entry of a directory changes.
    pub(super) fn changed_entry(&mut self, dir: u32, key: Key, address: u32) {
        if self.emitted.is_on() {
            let dir = &self.dirs[dir as usize];
            let inode = &self.inodes[dir.inode as usize];
            let blocks = dir.entries.blocks_of(key, address);
            let buffers: Vec<Buffer> = blocks
                .into_iter()
                .map(|lbn| self.data_buffer(inode, lbn))
                .collect();
            for buffer in buffers
                .into_iter()
                .filter(|buffer| buffer.start_bytes != NOWHERE)
            {
                self.changed(buffer);
            }
        }
    }

    /// While a host follows, no more data waits than its memory has room for; by default, no more than may.
    pub(super) fn write_back_if_much(&mut self) {
        if self.emitted.is_hosted() && self.dirty_blocks * BLOCK > MOST_DELAYED_BYTES {
            self.write_back_all();
        }
        if self.params.regime == Regime::Default {
            while self.dirty_blocks * BLOCK > self.params.dirty_bytes && !self.dirty.is_empty() {
                self.write_back_first(self.dirty.len().div_ceil(PIECES));
            }
        }
    }

    /// The write of the log that `fsync` waits for: what has changed of inodes and of blocks since the last one, when
    /// data is on the media.
    pub(super) fn emit_commit(&mut self) {
        /// A sector of the log, and the header of a record.
        const SECTOR: u64 = 512;
        /// What begins and ends a checkpoint: three headers of operations of 12 bytes, and that of the transaction.
        const ENDS: u64 = 3 * 12 + 16;
        /// An inode with an extent: format (56) and core (176), and as many bytes of the fork, each behind a header.
        const INODE: u64 = 3 * 12 + 56 + 176 + 16;
        /// A block: its format (28), and two chunks of 128 bytes that have changed, each behind a header.
        const BLOCK_CHANGED: u64 = 2 * 12 + 28 + 2 * 128;
        let (blocks, inodes) = (self.log.changed.len() as u64, self.log.inodes.len() as u64);
        self.log.forget();
        if !self.emitted.is_hosted() || blocks + inodes == 0 {
            return;
        }
        let bytes = SECTOR + ENDS + inodes * INODE + blocks * BLOCK_CHANGED;
        let g = &self.geometry;
        let start = g.absolute(g.fsb(g.log_ag, g.log_start)) * BLOCK / SECTOR;
        let pieces = [(start, u64::from(g.log_blocks) * BLOCK / SECTOR)];
        self.emitted.emit(Io::Flush);
        let sectors = bytes.div_ceil(SECTOR);
        for io in log::writes(&pieces, 0, &mut self.log.head, sectors, SECTOR) {
            self.emitted.emit(io);
        }
    }

    /// The first leaf of the tree of extents of an inode, where there is one.
    fn tree_buffers(&self, inode: &Inode) -> [Option<Buffer>; 3] {
        let leaf = inode.tree.as_ref().and_then(|tree| tree.level(0).next());
        let buffer = leaf.map(|(block, _)| {
            let id = BufferId::Pointers {
                ino: inode.ino,
                index: 0,
            };
            self.buffer(id, Some(block))
        });
        [buffer, None, None]
    }

    /// The inode of a directory, and blocks of it.
    fn look_through(&self, slot: u32, blocks: &[u32], io: &mut Vec<Io>) {
        let inode = &self.inodes[self.dirs[slot as usize].inode as usize];
        io.push(Io::Need(self.inode_buffer(inode.ino)));
        let buffers = blocks.iter().map(|lbn| self.data_buffer(inode, *lbn));
        io.extend(
            buffers
                .filter(|buffer| buffer.start_bytes != NOWHERE)
                .map(Io::Need),
        );
    }
}

impl Searched for Xfs {
    fn search(&self, dir: DirId, io: &mut Vec<Io>) {
        if let Some(slot) = self.dir_ids.get(dir) {
            let first = self.dirs[slot as usize].entries.numbers().first().copied();
            self.look_through(slot, &first.map(|first| [first]).unwrap_or_default(), io);
        }
    }
}

impl Hosted for Xfs {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn block_bytes(&self) -> u32 {
        BLOCK as u32
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        let Some(slot) = self.names.find(file) else {
            return;
        };
        let (dir, address) = self.names.place(file, slot);
        let key = self.key(self.name_table.name_of(file.0));
        let blocks = self.dirs[dir as usize].entries.blocks_of(key, address);
        self.look_through(dir, &blocks, io);
        let inode = &self.inodes[self.inode_of(slot) as usize];
        io.push(Io::Need(self.inode_buffer(inode.ino)));
    }

    fn accessed(&self, file: FileId, io: &mut Vec<Io>) {
        if let Some(slot) = self.names.find(file) {
            let ino = self.inodes[self.inode_of(slot) as usize].ino;
            io.push(Io::Modify(self.inode_buffer(ino), Flush::Delayed));
        }
    }

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.names.find(file) else {
            return BlockMap::default();
        };
        let inode = &self.inodes[self.inode_of(slot) as usize];
        let Some(extent) = inode.extents.find(lbn) else {
            return BlockMap::default();
        };
        let in_file = super::data::blocks_until(inode.size);
        let following = if extent.is_real() {
            extent.end().min(in_file.max(lbn + 1)) - lbn - 1
        } else {
            0
        };
        BlockMap {
            buffer: Some(self.data_buffer(inode, lbn)),
            following,
            pointers: self.tree_buffers(inode),
            group: None,
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        io.push(Io::Fill(self.device_buffer(0), Flush::Async));
    }

    /// It reads ahead over the end of a file as anywhere else.
    fn reads_tail_alone(&self) -> bool {
        false
    }
}
