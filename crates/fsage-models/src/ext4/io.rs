//! What operations do to the buffers of a host: inode tables, bitmaps, descriptors, blocks of trees, directories, data.
//!
//! Data has no place until it is written back; a host holds it as long. Nothing waits but what `fsync` and `sync` wait
//! for. Of the journal those commits are emitted that `fsync` waits for: docs/host.md, section "Commits".

use super::{Ext4, Inode};
use crate::clock::PIECES;
use crate::log;
use crate::searched::Searched;
use fsage_core::io::Emitted;
use fsage_core::io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::{DirId, FileId};

/// Where data lies that was not written back: nowhere.
const NOWHERE: u64 = u64::MAX;
const INODE_BYTES: u32 = 256;
/// While a host follows, data is written back once so many bytes wait for it, as a small machine's limit on dirty pages
/// would have it.
const MOST_DELAYED_BYTES: u64 = 4 << 20;

impl Ext4 {
    fn buffer(&self, id: BufferId, block: Option<u32>) -> Buffer {
        let bytes = self.geometry.block_bytes;
        Buffer {
            id,
            start_bytes: block.map_or(NOWHERE, |block| u64::from(block) * bytes),
            bytes: bytes as u32,
        }
    }

    fn device_buffer(&self, block: u32) -> Buffer {
        let start_bytes = u64::from(block) * self.geometry.block_bytes;
        self.buffer(BufferId::Device { start_bytes }, Some(block))
    }

    fn data_buffer(&self, inode: &Inode, lbn: u32, block: Option<u32>) -> Buffer {
        let ino = inode.ino.into();
        self.buffer(BufferId::Data { ino, lbn }, block)
    }

    fn block_of(inode: &Inode, lbn: u32) -> Option<u32> {
        let entry = inode.tree.find(lbn)?;
        Some(entry.block + (lbn - entry.logical))
    }

    fn inode_buffer(&self, ino: u32) -> Buffer {
        let g = &self.geometry;
        let (group, at) = (
            (ino - 1) / g.inodes_per_group,
            (ino - 1) % g.inodes_per_group,
        );
        let per_block = g.block_bytes as u32 / INODE_BYTES;
        self.device_buffer(g.tables[group as usize].inode_table + at / per_block)
    }

    /// Whether anybody asks which blocks change: a host, or the limit of a transaction.
    #[inline]
    pub(super) fn notes_blocks(&self) -> bool {
        self.emitted.is_on() || self.clock.is_some()
    }

    fn changed(&mut self, buffer: Buffer) {
        if let Some(clock) = &mut self.clock {
            clock.logs(buffer.start_bytes, self.transaction);
        }
        if self.emitted.is_hosted() {
            self.log.changed.insert(buffer.start_bytes);
        }
        self.emitted.emit_once(Io::Modify(buffer, Flush::Delayed));
    }

    /// An inode changes.
    #[inline]
    pub(super) fn changed_inode(&mut self, slot: u32) {
        if self.notes_blocks() {
            self.changed(self.inode_buffer(self.inodes[slot as usize].ino));
        }
    }

    /// The inode bitmap and the descriptor of a group change.
    pub(super) fn changed_inode_map(&mut self, group: u32) {
        if self.notes_blocks() {
            let bitmap = self.geometry.tables[group as usize].inode_bitmap;
            self.changed(self.device_buffer(bitmap));
            self.changed_descriptor(group);
        }
    }

    /// The block bitmaps and the descriptors of groups change.
    #[inline]
    pub(super) fn changed_blocks(&mut self, block: u32, blocks: u32) {
        if self.notes_blocks() {
            let groups = self.geometry.group_of(block)..=self.geometry.group_of(block + blocks - 1);
            for group in groups {
                let bitmap = self.geometry.tables[group as usize].block_bitmap;
                self.changed(self.device_buffer(bitmap));
                self.changed_descriptor(group);
            }
        }
    }

    fn changed_descriptor(&mut self, group: u32) {
        let g = &self.geometry;
        let per_block = g.block_bytes as u32 / g.descriptor_bytes;
        let block = g.first_block + 1 + group / per_block;
        self.changed(self.device_buffer(block));
    }

    /// The entry that leads to a block changes: in a block of the tree, else in the inode.
    pub(super) fn changed_tree(&mut self, slot: u32, lbn: u32) {
        if self.notes_blocks() {
            self.changed_inode(slot);
            let inode = &self.inodes[slot as usize];
            for buffer in self.tree_buffers(inode, lbn).into_iter().flatten() {
                self.changed(buffer);
            }
        }
    }

    /// A block of the tree is gone.
    pub(super) fn forgot_tree_block(&mut self, block: u32) {
        let buffer = self.device_buffer(block);
        if let Some(clock) = &mut self.clock {
            clock.forgets(buffer.start_bytes);
        }
        self.log.changed.remove(&buffer.start_bytes);
        self.emitted.emit(Io::Forget(buffer.id));
    }

    /// The blocks of the tree that lead to a block, the outermost first. They are not the file's: `fsync` leaves them
    /// to the journal.
    fn tree_buffers(&self, inode: &Inode, lbn: u32) -> [Option<Buffer>; 3] {
        let mut buffers = [None; 3];
        for (buffer, block) in buffers.iter_mut().zip(inode.tree.way(lbn)) {
            *buffer = Some(self.device_buffer(block));
        }
        buffers
    }

    /// The data of an inode from a block on is gone.
    pub(super) fn discarded(&mut self, slot: u32, from: u32) {
        let ino = self.inodes[slot as usize].ino.into();
        self.emitted.emit(Io::Discard { ino, from });
    }

    /// A range of a file was written to; before that it ended at `old_size`.
    pub(super) fn wrote(&mut self, slot: u32, from: u64, to: u64, old_size: u64) {
        if !self.emitted.is_on() {
            return;
        }
        let bsize = self.geometry.block_bytes;
        for lbn in from / bsize..to.div_ceil(bsize) {
            let (start, end) = (lbn * bsize, (lbn + 1) * bsize);
            let inode = &self.inodes[slot as usize];
            let block = Ext4::block_of(inode, lbn as u32);
            let buffer = self.data_buffer(inode, lbn as u32, block);
            let is_whole = from <= start && to >= end.min(inode.size);
            let is_new = start >= old_size;
            let bytes = (to.min(end) - from.max(start)) as u32;
            let flush = match block {
                Some(_) => Flush::Delayed,
                None => Flush::Held,
            };
            if block.is_some() && !is_whole && !is_new {
                for tree in self.tree_buffers(inode, lbn as u32).into_iter().flatten() {
                    self.emitted.emit(Io::Need(tree));
                }
                self.emitted.emit(Io::Need(buffer));
            }
            self.emitted.emit(Io::Copy { bytes });
            self.emitted.emit(if is_whole || is_new || block.is_none() {
                Io::Fill(buffer, flush)
            } else {
                Io::Modify(buffer, flush)
            });
        }
    }

    /// Data has got its place, and may be written from now on.
    pub(super) fn placed(&mut self, slot: u32, at: u32, block: u32, blocks: u32) {
        if self.emitted.is_on() {
            for i in 0..blocks {
                let inode = &self.inodes[slot as usize];
                let buffer = self.data_buffer(inode, at + i, Some(block + i));
                self.emitted.emit(Io::Assign(buffer));
                self.emitted.emit(Io::Modify(buffer, Flush::Delayed));
            }
        }
    }

    /// A block of a directory changes.
    pub(super) fn changed_directory(&mut self, dir: u32, lbn: u32) {
        if self.notes_blocks() {
            let inode = &self.inodes[self.dirs[dir as usize].inode as usize];
            let block = Ext4::block_of(inode, lbn);
            let buffer = self.data_buffer(inode, lbn, block);
            if block.is_some() {
                self.changed(buffer);
            }
        }
    }

    /// No more data waits than memory has room for: that of the host that follows, or that of a default machine, which
    /// begins with what has waited longest.
    pub(super) fn write_back_if_much(&mut self) {
        let waits = |fs: &Ext4, limit: u64| {
            fs.counters.delayed.exact() as u64 > limit / fs.geometry.block_bytes
        };
        if self.emitted.is_hosted() && waits(self, MOST_DELAYED_BYTES) {
            self.write_back_all();
        }
        if self.clock.is_some() {
            while waits(self, self.params.dirty_bytes) && !self.dirty.is_empty() {
                self.write_back_first(self.dirty.len().div_ceil(PIECES));
            }
        }
    }

    /// The commit of the running transaction, as `fsync` waits for it: descriptors and the blocks that have changed;
    /// when these are on the media the block that makes them count.
    pub(super) fn emit_commit(&mut self) {
        /// Tags of 16 bytes behind a header of 12, and a checksum behind them.
        const TAGS: u32 = (4096 - 16) / 16;
        let changed = self.log.changed.len() as u32;
        self.log.changed.clear();
        let journal = u64::from(self.geometry.journal_blocks);
        if !self.emitted.is_hosted() || changed == 0 || journal == 0 {
            return;
        }
        let bsize = self.geometry.block_bytes;
        let pieces = self.geometry.journal.iter();
        let pieces = pieces.map(|&(block, blocks)| (u64::from(block), u64::from(blocks)));
        let pieces: Vec<(u64, u64)> = pieces.collect();
        for (is_commit, blocks) in [(false, changed.div_ceil(TAGS) + changed), (true, 1)] {
            if is_commit {
                self.emitted.emit(Io::Flush);
            }
            // The first block is that of the journal's superblock.
            for io in log::writes(&pieces, 1, &mut self.log.head, blocks.into(), bsize) {
                self.emitted.emit(io);
            }
        }
    }

    /// The way from the root to a directory, and those of its blocks that have an entry.
    fn look_through(&self, slot: u32, blocks: impl Iterator<Item = u32>, io: &mut Vec<Io>) {
        let dir = &self.dirs[slot as usize];
        let of = |inode: &Inode, lbn: u32| {
            Some(self.data_buffer(inode, lbn, Some(Ext4::block_of(inode, lbn)?)))
        };
        if slot != fsage_core::operations::ROOT {
            // Only the block that has the entry: the kernel's cache of names knows which.
            let above = &self.dirs[dir.parent as usize];
            let inode = &self.inodes[above.inode as usize];
            io.push(Io::Need(self.inode_buffer(inode.ino)));
            let key = self.keys.key(dir.name);
            let found = above.entries.find(key, dir.inode);
            io.extend(found.and_then(|(lbn, _)| of(inode, lbn)).map(Io::Need));
        }
        let inode = &self.inodes[dir.inode as usize];
        io.push(Io::Need(self.inode_buffer(inode.ino)));
        io.extend(blocks.filter_map(|lbn| of(inode, lbn)).map(Io::Need));
    }
}

impl Searched for Ext4 {
    fn search(&self, dir: DirId, io: &mut Vec<Io>) {
        if let Some(slot) = self.dir_ids.get(dir) {
            // With an index, what leads to one leaf; without, the only block.
            self.look_through(slot, std::iter::once(0), io);
        }
    }
}

impl Hosted for Ext4 {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn block_bytes(&self) -> u32 {
        self.geometry.block_bytes as u32
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        let Some(slot) = self.names.find(file) else {
            return;
        };
        let dir = self.names.place(file, slot).0;
        let inode = self.inode_of(slot);
        let key = self.keys.key(self.keys.names.name_of(file.0));
        let found = self.dirs[dir as usize].entries.find(key, inode);
        let leaf = found.map(|(block, _)| block).filter(|&block| block != 0);
        self.look_through(dir, std::iter::once(0).chain(leaf), io);
        io.push(Io::Need(self.inode_buffer(self.inodes[inode as usize].ino)));
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
        let slot = self.inode_of(slot);
        let inode = &self.inodes[slot as usize];
        let Some(entry) = inode.tree.find(lbn) else {
            let is_delayed = self
                .cache_of(slot)
                .is_some_and(|cache| cache.delayed.has(lbn));
            return BlockMap {
                buffer: is_delayed.then(|| self.data_buffer(inode, lbn, None)),
                ..BlockMap::default()
            };
        };
        let block = entry.block + (lbn - entry.logical);
        let in_file = inode.size.div_ceil(self.geometry.block_bytes) as u32;
        BlockMap {
            buffer: Some(self.data_buffer(inode, lbn, Some(block))),
            following: (entry.end().min(in_file.max(lbn + 1))) - lbn - 1,
            pointers: self.tree_buffers(inode, lbn),
            group: None,
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        io.push(Io::Fill(
            self.device_buffer(self.geometry.first_block),
            Flush::Async,
        ));
    }

    /// It reads ahead over the end of a file as anywhere else.
    fn reads_tail_alone(&self) -> bool {
        false
    }
}
