//! What operations do to the buffers of a host: inode tables, bitmaps, group descriptors, blocks of pointers,
//! directories, data.
//!
//! Nothing of it waits. In mode ext2 all of it is written some time later. In mode ext3 metadata are held back until
//! the transaction that changes them commits: its data go out, then its log, then the metadata may go home.

use super::Ext3;
use super::inode::Inode;
use crate::pointers::Array;
use crate::searched::Searched;
use fsage_core::io::Emitted;
use fsage_core::io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::{DirId, FileId};

/// A buffer that the log has: it is dirty, as any other from now on.
pub(super) fn flush_to_home(buffer: Buffer, io: &mut Vec<Io>) {
    io.push(Io::Assign(buffer));
    io.push(Io::Modify(buffer, Flush::Delayed));
}

impl Ext3 {
    /// Whether anybody wants to know what changes.
    #[inline]
    pub(super) fn is_followed(&self) -> bool {
        self.emitted.is_on() || self.journal.is_on()
    }

    #[inline]
    fn emit(&mut self, io: Io) {
        self.emitted.emit(io);
    }

    fn buffer(&self, id: BufferId, block: u32) -> Buffer {
        let bytes = self.geometry.block_bytes;
        Buffer {
            id,
            start_bytes: u64::from(block) * bytes,
            bytes: bytes as u32,
        }
    }

    fn device_buffer(&self, block: u32) -> Buffer {
        let start_bytes = u64::from(block) * self.geometry.block_bytes;
        self.buffer(BufferId::Device { start_bytes }, block)
    }

    fn data_buffer(&self, inode: &Inode, lbn: u32) -> Option<Buffer> {
        let address = self.address(inode, lbn);
        let ino = inode.ino.into();
        (address != 0).then(|| self.buffer(BufferId::Data { ino, lbn }, address))
    }

    fn pointers_buffer(&self, ino: u32, array: Array, address: u32) -> Buffer {
        let index = array.index();
        let ino = ino.into();
        self.buffer(BufferId::Pointers { ino, index }, address)
    }

    fn inode_buffer(&self, ino: u32) -> Buffer {
        self.device_buffer(self.geometry.inode_block(ino))
    }

    /// A block of metadata changes, in part or as a whole.
    fn changed(&mut self, buffer: Buffer, whole: bool) {
        let journaled = self.journal.is_on();
        if journaled {
            let address = (buffer.start_bytes / self.geometry.block_bytes) as u32;
            if self.journal.note(address, self.now_ns) && self.emitted.is_on() {
                self.journal.note_buffer(buffer);
            }
        }
        let flush = if journaled {
            Flush::Held
        } else {
            Flush::Delayed
        };
        let change = if whole {
            Io::Fill(buffer, flush)
        } else {
            Io::Modify(buffer, flush)
        };
        self.emitted.emit_once(change);
    }

    /// An inode changes.
    #[inline]
    pub(super) fn changed_inode(&mut self, ino: u32) {
        if self.is_followed() {
            self.changed(self.inode_buffer(ino), false);
        }
    }

    /// The block bitmap and the descriptor of a group change.
    #[inline]
    pub(super) fn changed_group(&mut self, group: u32) {
        if self.is_followed() && (self.journal.note_group(group) || self.emitted.is_on()) {
            let bitmap = self.geometry.block_bitmap(group);
            self.changed(self.device_buffer(bitmap), false);
            self.changed_descriptor(group);
        }
    }

    /// The inode bitmap and the descriptor of a group change.
    pub(super) fn changed_inode_map(&mut self, group: u32) {
        if self.is_followed() {
            let bitmap = self.geometry.block_bitmap(group) + 1;
            self.changed(self.device_buffer(bitmap), false);
            self.changed_descriptor(group);
        }
    }

    fn changed_descriptor(&mut self, group: u32) {
        let block = self.geometry.descriptor_block(group);
        self.changed(self.device_buffer(block), false);
    }

    /// A block of a directory changes.
    pub(super) fn changed_directory(&mut self, inode: &Inode, lbn: u32, whole: bool) {
        if self.is_followed()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.changed(buffer, whole);
        }
    }

    /// An entry of a directory changes.
    pub(super) fn changed_entry(&mut self, slot: u32, at: u32) {
        if self.is_followed() {
            let dir = &self.dirs[slot as usize];
            let (inode, lbn) = (dir.inode, dir.entries.block_of(at));
            self.changed_directory(&inode, lbn, false);
        }
    }

    /// A pointer to a block changes: in the last of the indirect blocks on its way, else in the inode.
    pub(super) fn changed_pointer(&mut self, inode: &Inode, way: &[Array]) {
        if !self.is_followed() {
            return;
        }
        let Some(&array) = way.last() else {
            return;
        };
        let address = self.indirect.get(&inode.ino).and_then(|i| i.get(array));
        if let Some(address) = address {
            self.changed(self.pointers_buffer(inode.ino, array, address), false);
        }
    }

    /// An indirect block is new, and a pointer to it in the one above.
    pub(super) fn made_indirect(&mut self, ino: u32, array: Array, address: u32) {
        if self.is_followed() {
            self.changed(self.pointers_buffer(ino, array, address), true);
        }
    }

    /// An indirect block is free.
    pub(super) fn forgot_indirect(&mut self, ino: u32, array: Array, address: u32) {
        self.journal.forget(address);
        let index = array.index();
        let ino = ino.into();
        self.emit(Io::Forget(BufferId::Pointers { ino, index }));
    }

    /// Indirect blocks that stay lost pointers: those on the way to the new end.
    pub(super) fn cut_pointers(&mut self, ino: u32, keep: u32) {
        if !self.is_followed() {
            return;
        }
        let way = self.tree().path(keep);
        for &array in way.arrays() {
            let address = self.indirect.get(&ino).and_then(|i| i.get(array));
            if let Some(address) = address {
                self.changed(self.pointers_buffer(ino, array, address), false);
            }
        }
    }

    /// The data of a file from block `from` on are gone.
    pub(super) fn discarded(&mut self, ino: u32, from: u32) {
        let ino = ino.into();
        self.emit(Io::Discard { ino, from });
    }

    /// The last block of a file is cut: the rest of it becomes zeros.
    pub(super) fn zeroed_tail(&mut self, inode: &Inode, lbn: u32) {
        if self.emitted.is_on()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.emit(Io::Modify(buffer, Flush::Delayed));
            self.note_data(inode, lbn);
        }
    }

    /// In ordered mode new data go out before the transaction.
    fn note_data(&mut self, inode: &Inode, lbn: u32) {
        if self.journal.is_on() {
            self.journal.note_data(inode.ino, lbn);
        }
    }

    /// One block of a file got `bytes` of data from `in_block` on.
    pub(super) fn wrote(
        &mut self,
        inode: &Inode,
        lbn: u32,
        (in_block, bytes): (u64, u64),
        fresh: bool,
    ) {
        let Some(buffer) = self
            .data_buffer(inode, lbn)
            .filter(|_| self.emitted.is_on())
        else {
            return;
        };
        let bsize = self.geometry.block_bytes;
        let end = u64::from(lbn) * bsize + in_block + bytes;
        let whole = in_block == 0 && (bytes == bsize || end == inode.size);
        if !fresh {
            for pointers in self.pointers_to(inode, lbn).into_iter().flatten() {
                self.emit(Io::Need(pointers));
            }
        }
        if !fresh && !whole {
            self.emit(Io::Need(buffer));
        }
        self.emit(Io::Copy {
            bytes: bytes as u32,
        });
        self.emit(if whole || fresh {
            Io::Fill(buffer, Flush::Delayed)
        } else {
            Io::Modify(buffer, Flush::Delayed)
        });
        self.note_data(inode, lbn);
    }

    /// The blocks of pointers that lead to a block, the outermost first.
    fn pointers_to(&self, inode: &Inode, lbn: u32) -> [Option<Buffer>; 3] {
        let mut buffers = [None; 3];
        let Some(indirect) = self.indirect.get(&inode.ino) else {
            return buffers;
        };
        for (buffer, &array) in buffers.iter_mut().zip(self.tree().path(lbn).arrays()) {
            let address = indirect.get(array);
            *buffer = address.map(|at| self.pointers_buffer(inode.ino, array, at));
        }
        buffers
    }

    /// The way from the root to a directory, and its blocks up to `last`.
    fn look_through(&self, slot: u32, last: u32, io: &mut Vec<Io>) {
        let dir = &self.dirs[slot as usize];
        if slot != 0 {
            // Only the block that has the entry: the kernel's cache of names knows which.
            let above = &self.dirs[dir.parent as usize];
            io.push(Io::Need(self.inode_buffer(above.inode.ino)));
            let lbn = above.entries.block_of(dir.at);
            io.extend(self.data_buffer(&above.inode, lbn).map(Io::Need));
        }
        io.push(Io::Need(self.inode_buffer(dir.inode.ino)));
        let blocks = 0..=last;
        io.extend(
            blocks
                .filter_map(|lbn| self.data_buffer(&dir.inode, lbn))
                .map(Io::Need),
        );
    }
}

impl Searched for Ext3 {
    fn search(&self, dir: DirId, io: &mut Vec<Io>) {
        if let Some(slot) = self.dir_ids.get(dir) {
            let last = self.dirs[slot as usize].entries.blocks() - 1;
            self.look_through(slot, last, io);
        }
    }
}

impl Hosted for Ext3 {
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
        let (dir, at) = self.names.place(file, slot);
        let last = self.dirs[dir as usize].entries.block_of(at);
        self.look_through(dir, last, io);
        io.push(Io::Need(self.inode_buffer(self.names.file(slot).inode.ino)));
    }

    fn accessed(&self, file: FileId, io: &mut Vec<Io>) {
        if let Some(slot) = self.names.find(file) {
            let ino = self.names.file(slot).inode.ino;
            io.push(Io::Modify(self.inode_buffer(ino), Flush::Delayed));
        }
    }

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.names.find(file) else {
            return BlockMap::default();
        };
        let inode = &self.names.file(slot).inode;
        let buffer = self.data_buffer(inode, lbn);
        // A run goes on behind the end of its array of pointers only by chance, and is read in two parts then.
        let left = self.tree().left_in_array(lbn);
        BlockMap {
            buffer,
            following: buffer.map_or(0, |_| {
                inode.blocks.contiguous_after(&self.pool, lbn).min(left)
            }),
            pointers: self.pointers_to(inode, lbn),
            group: None,
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        let block = self.geometry.first_data_block;
        io.push(Io::Fill(self.device_buffer(block), Flush::Async));
    }
}
