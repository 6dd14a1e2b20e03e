//! What operations do to the buffers of a host (sections 5 and 8): sectors of directories with their inodes, blocks of
//! inodes, bitmaps, blocks of pointers, data.
//!
//! With soft updates nothing waits. Bitmaps, the superblock and data never do.

use super::Cffs;
use super::directory::ROOT;
use super::geometry::{BLOCK, MAP_ENTRIES, SECTORS, SUPERBLOCK, TREE};
use super::inode::{Home, Inode};
use crate::pointers::Array;
use crate::searched::Searched;
use fsage_core::io::Emitted;
use fsage_core::io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::{DirId, FileId};

fn buffer(id: BufferId, block: u32) -> Buffer {
    Buffer {
        id,
        start_bytes: u64::from(block) * BLOCK,
        bytes: BLOCK as u32,
    }
}

fn device_buffer(block: u32) -> Buffer {
    let start_bytes = u64::from(block) * BLOCK;
    buffer(BufferId::Device { start_bytes }, block)
}

fn pointers_buffer(inode: &Inode, array: Array, block: u32) -> Buffer {
    let (ino, index) = (inode.vnode.into(), array.index());
    buffer(BufferId::Pointers { ino, index }, block)
}

impl Cffs {
    /// When a write goes out that only the order of writes to the disk makes wait.
    pub(super) fn at_once(&self) -> Flush {
        if self.params.softupdates {
            Flush::Delayed
        } else {
            Flush::Sync
        }
    }

    /// When the block of a new name goes out whose inode lies elsewhere, and is on disk by then.
    fn new_name(&self) -> Flush {
        if self.params.name_waits {
            self.at_once()
        } else {
            Flush::Delayed
        }
    }

    fn data_buffer(&self, inode: &Inode, lbn: u32) -> Option<Buffer> {
        let block = self.address(inode, lbn);
        let ino = inode.vnode.into();
        (block != 0).then(|| buffer(BufferId::Data { ino, lbn }, block))
    }

    /// The block that holds an inode.
    fn home_buffer(&self, home: Home) -> Option<Buffer> {
        match home {
            Home::Sector { dir, at } => {
                self.data_buffer(&self.dirs[dir as usize].inode, at / 4 / SECTORS)
            }
            Home::Superblock(_) | Home::Table(_) => Some(device_buffer(self.block_of_home(home))),
        }
    }

    /// An inode changes. The superblock is in memory as a whole.
    #[inline]
    pub(super) fn emit_home(&mut self, home: Home, flush: Flush) {
        if self.emitted.is_on()
            && let Some(buffer) = self.home_buffer(home)
        {
            let change = match home {
                Home::Superblock(_) => Io::Fill(buffer, flush),
                _ => Io::Modify(buffer, flush),
            };
            self.emit_change(change, flush);
        }
    }

    /// A block changes. Changes that are delayed are emitted once; a write that waits is one of its own.
    fn emit_change(&mut self, change: Io, flush: Flush) {
        if flush == Flush::Delayed {
            self.emitted.emit_once(change);
        } else {
            self.emitted.emit(change);
        }
    }

    /// The bitmap that has a block changes. Bitmaps are in memory while the file system is mounted.
    #[inline]
    pub(super) fn emit_bitmap(&mut self, block: u32) {
        if self.emitted.is_on() {
            let bitmap = self.geometry.bitmap(self.geometry.cg_of(block));
            let change = Io::Fill(device_buffer(bitmap), Flush::Delayed);
            self.emitted.emit_once(change);
        }
    }

    /// A block of a directory that has a name changes.
    fn emit_name(&mut self, dir: u32, at: u32, flush: Flush) {
        if self.emitted.is_on() {
            let dir = &self.dirs[dir as usize];
            let lbn = dir.entries.sector_of(at) / SECTORS;
            if let Some(buffer) = self.data_buffer(&dir.inode, lbn) {
                self.emit_change(Io::Modify(buffer, flush), flush);
            }
        }
    }

    /// A name and an inode lie in the same sector.
    fn is_beside(&self, home: Home, dir: u32, at: u32) -> bool {
        let sector = self.dirs[dir as usize].entries.sector_of(at);
        matches!(home, Home::Sector { dir: its, at } if its == dir && at / 4 == sector)
    }

    /// A file was made: beside its name nothing waits.
    pub(super) fn emit_made(&mut self, home: Home, dir: u32, at: u32) {
        if self.is_beside(home, dir, at) {
            self.emit_name(dir, at, Flush::Delayed);
        } else {
            self.emit_home(home, self.at_once());
            self.emit_name(dir, at, self.new_name());
        }
    }

    /// A name goes, and with it an inode or one of its links.
    pub(super) fn emit_removed(&mut self, home: Home, dir: u32, at: u32) {
        self.emit_name(dir, at, self.at_once());
        if !self.is_beside(home, dir, at) {
            self.emit_home(home, self.at_once());
        }
    }

    /// A file has a further name; the inode was written already if it was externalized for that.
    pub(super) fn emit_linked(&mut self, home: Home, dir: u32, at: u32, written: bool) {
        if !written && !self.is_beside(home, dir, at) {
            self.emit_home(home, self.at_once());
        }
        self.emit_name(dir, at, Flush::Delayed);
    }

    /// The names of an inode that is externalized lead there now, before the inode goes from its old place.
    pub(super) fn emit_links(&mut self, slot: u32) {
        if self.emitted.is_on() {
            let flush = self.at_once();
            let file = self.names.file(slot);
            let first = (file.dir, file.entry.chunk());
            let aliases = self.names.aliases().into_iter();
            let others = aliases.filter(|&(_, a)| a.file == slot);
            let places: Vec<_> = others.map(|(_, a)| (a.dir, a.chunk)).collect();
            let home = file.inode.home;
            for (dir, at) in std::iter::once(first).chain(places) {
                if !self.is_beside(home, dir, at) {
                    self.emit_name(dir, at, flush);
                }
            }
        }
    }

    /// A name was changed where it stands.
    pub(super) fn emit_renamed_in_place(&mut self, dir: u32, at: u32) {
        let flush = if self.params.embed {
            Flush::Delayed
        } else {
            self.at_once()
        };
        self.emit_name(dir, at, flush);
    }

    /// A name has moved, with its inode or without: then the inode has one link more in between.
    pub(super) fn emit_moved_name(
        &mut self,
        new: (u32, u32),
        old: (u32, u32),
        inode: Option<Home>,
    ) {
        if let Some(home) = inode {
            self.emit_home(home, self.at_once());
        }
        self.emit_name(new.0, new.1, self.at_once());
        self.emit_name(old.0, old.1, self.at_once());
        if let Some(home) = inode {
            self.emit_home(home, Flush::Delayed);
        }
    }

    /// The way from the root to a directory is written, as far as directories on it were made or have grown since:
    /// before a write that waits takes a name or an inode away from where it was on disk.
    pub(super) fn settle(&mut self, dir: u32) {
        if self.params.softupdates || !self.emitted.is_on() {
            return;
        }
        let mut slot = dir;
        loop {
            let dir = &mut self.dirs[slot as usize];
            let (home, parent) = (dir.inode.home, dir.parent);
            if !std::mem::replace(&mut dir.settled, true) {
                self.emit_home(home, Flush::Sync);
            }
            if slot == ROOT {
                return;
            }
            slot = parent;
        }
    }

    /// Everything has been written.
    pub(super) fn settle_all(&mut self) {
        for dir in &mut self.dirs {
            dir.settled = true;
        }
    }

    /// A directory has one subdirectory more, or less: where directories count the names of each other.
    pub(super) fn emit_parent_changed(&mut self, dir: u32, flush: Flush) {
        if !self.params.inodes_move() {
            let home = self.dirs[dir as usize].inode.home;
            self.emit_home(home, flush);
        }
    }

    /// The names `.` and `..` of a directory change.
    pub(super) fn emit_dots(&mut self, dir: u32) {
        self.emit_name(dir, 0, Flush::Delayed);
    }

    /// The directory map knows where the inode of a directory lies, or that there is none.
    pub(super) fn emit_map(&mut self, dir: u32) {
        if self.emitted.is_on() {
            let number = self.dirs[dir as usize].number;
            let block = self.directory_map.blocks[(number / MAP_ENTRIES) as usize];
            self.emitted
                .emit_once(Io::Modify(device_buffer(block), Flush::Delayed));
        }
    }

    /// A block of the table of inode numbers changes: soft state, which nothing waits for.
    pub(super) fn emit_inode_table(&mut self, block: u32) {
        self.emitted
            .emit_once(Io::Modify(device_buffer(block), Flush::Delayed));
    }

    /// A directory was made: its block is written before anything leads to it.
    pub(super) fn emit_new_directory(&mut self, slot: u32) {
        if !self.emitted.is_on() {
            return;
        }
        let dir = &self.dirs[slot as usize];
        let (home, parent, at, first) = (dir.inode.home, dir.parent, dir.at, dir.inode);
        if !self.params.embed {
            self.emit_home(home, self.at_once());
        }
        if let Some(buffer) = self.data_buffer(&first, 0) {
            self.emitted.emit(Io::Fill(buffer, self.at_once()));
        }
        let flush = if self.params.embed {
            Flush::Delayed
        } else {
            self.new_name()
        };
        self.emit_name(parent, at, flush);
        self.emit_parent_changed(parent, Flush::Delayed);
        if self.params.inodes_move() {
            self.emit_map(slot);
        }
    }

    /// A directory has got a block.
    pub(super) fn emit_new_directory_block(&mut self, slot: u32, lbn: u32) {
        if self.emitted.is_on() {
            let inode = self.dirs[slot as usize].inode;
            if let Some(buffer) = self.data_buffer(&inode, lbn) {
                self.emitted.emit(Io::Fill(buffer, Flush::Delayed));
            }
            self.emit_home(inode.home, Flush::Delayed);
        }
    }

    /// The directory map or the external inode file has a new block. Their inodes lie in the superblock.
    pub(super) fn emit_own_block(&mut self, block: u32, pointers: Option<u32>, flush: Flush) {
        self.emitted.emit(Io::Fill(device_buffer(block), flush));
        if let Some(pointers) = pointers {
            self.emitted.emit(Io::Fill(device_buffer(pointers), flush));
        }
        self.emit_home(Home::Superblock(1), flush);
    }

    /// The inodes that a search for groups looks at are not beside their names.
    pub(super) fn emit_scanned(&mut self, homes: &[Home]) {
        if self.emitted.is_on() && !self.params.embed {
            for &home in homes {
                if let Some(buffer) = self.home_buffer(home) {
                    self.emitted.emit_once(Io::Need(buffer));
                }
            }
        }
    }

    /// A block of data is needed, to be copied.
    pub(super) fn emit_needed(&mut self, inode: &Inode, lbn: u32) {
        if self.emitted.is_on()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.emitted.emit(Io::Need(buffer));
        }
    }

    /// A block of data lies elsewhere now: it is written there before its inode says so.
    pub(super) fn emit_moved(&mut self, inode: &Inode, lbn: u32) {
        if self.emitted.is_on()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.emitted.emit(Io::Fill(buffer, self.at_once()));
            self.emit_home(inode.home, self.at_once());
        }
    }

    /// A block of pointers is new: it is written before anything leads to it.
    pub(super) fn emit_new_array(&mut self, inode: &Inode, array: Array, block: u32) {
        if self.emitted.is_on() {
            let buffer = pointers_buffer(inode, array, block);
            self.emitted.emit(Io::Fill(buffer, self.at_once()));
        }
    }

    /// A block of pointers is free.
    pub(super) fn emit_array_gone(&mut self, inode: &Inode, array: Array) {
        let (ino, index) = (inode.vnode.into(), array.index());
        self.emitted
            .emit(Io::Forget(BufferId::Pointers { ino, index }));
    }

    /// The pointer to a block changes, if it stands in a block of pointers. The inode is emitted with the operation.
    pub(super) fn emit_pointer(&mut self, inode: &Inode, lbn: u32) {
        if self.emitted.is_on()
            && let Some(array) = self.pointers_to(inode, lbn).into_iter().flatten().last()
        {
            self.emitted.emit_once(Io::Modify(array, Flush::Delayed));
        }
    }

    /// The blocks of pointers that lead to a block, the outermost first.
    fn pointers_to(&self, inode: &Inode, lbn: u32) -> [Option<Buffer>; 3] {
        let mut buffers = [None; 3];
        let Some(indirect) = self.indirect.get(&inode.vnode) else {
            return buffers;
        };
        for (buffer, &array) in buffers.iter_mut().zip(TREE.path(lbn).arrays()) {
            let block = indirect.get(array);
            *buffer = block.map(|block| pointers_buffer(inode, array, block));
        }
        buffers
    }

    /// One block of a file got `bytes` of data from `in_block` on.
    #[inline]
    pub(super) fn emit_written(
        &mut self,
        inode: &Inode,
        lbn: u32,
        (in_block, bytes): (u64, u64),
        fresh: bool,
    ) {
        let Some(buffer) = self
            .emitted
            .is_on()
            .then(|| self.data_buffer(inode, lbn))
            .flatten()
        else {
            return;
        };
        let end = u64::from(lbn) * BLOCK + in_block + bytes;
        let whole = in_block == 0 && (bytes == BLOCK || end == inode.size);
        if !fresh {
            for pointers in self.pointers_to(inode, lbn).into_iter().flatten() {
                self.emitted.emit(Io::Need(pointers));
            }
        }
        self.emitted.emit(Io::Copy {
            bytes: bytes as u32,
        });
        self.emitted.emit(if whole || fresh {
            Io::Fill(buffer, Flush::Delayed)
        } else {
            Io::Modify(buffer, Flush::Delayed)
        });
    }

    /// The last block of a file is cut: the rest of it becomes zeros.
    pub(super) fn emit_tail(&mut self, inode: &Inode, lbn: u32) {
        if self.emitted.is_on()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.emitted.emit(Io::Modify(buffer, Flush::Delayed));
        }
    }

    /// The data of a file from block `from` on are gone.
    pub(super) fn emit_discarded(&mut self, inode: &Inode, from: u32) {
        let ino = inode.vnode.into();
        self.emitted.emit(Io::Discard { ino, from });
    }

    /// Start and length in bytes of what is read with a block: its group, or the blocks of the file that follow it.
    fn read_with(&self, inode: &Inode, lbn: u32) -> (u64, u64) {
        let block = self.address(inode, lbn);
        let mut range = (block, 1);
        if inode.group_start != 0 && (lbn == 0 || self.is_grouped(inode, lbn)) {
            range = (
                inode.group_start,
                self.group_size(inode.group_owner(), inode.group_start),
            );
        }
        if range.1 < 2 {
            let most = self.window() - 1;
            let behind = inode.blocks.contiguous_after(&self.pool, lbn);
            let blocks = 1 + behind.min(most).min(TREE.left_in_array(lbn));
            range = (block, blocks);
        }
        (u64::from(range.0) * BLOCK, u64::from(range.1) * BLOCK)
    }

    /// A block of a directory is needed; with its first group, if it is in that.
    fn need_directory_block(&self, slot: u32, lbn: u32, io: &mut Vec<Io>) {
        let inode = &self.dirs[slot as usize].inode;
        let Some(buffer) = self.data_buffer(inode, lbn) else {
            return;
        };
        let (start, blocks) = (inode.group_start, self.group_size(slot, inode.group_start));
        let block = self.address(inode, lbn);
        let inside = start != 0 && (start..start + blocks).contains(&block);
        if self.params.dir_group_read && inside && blocks > 1 {
            let group = (u64::from(start) * BLOCK, u64::from(blocks) * BLOCK);
            io.push(Io::NeedGroup(buffer, group));
        } else {
            io.push(Io::Need(buffer));
        }
    }

    /// An inode is needed. The superblock is in memory.
    fn need_home(&self, home: Home, io: &mut Vec<Io>) {
        match home {
            Home::Superblock(_) => {}
            Home::Sector { dir, at } => self.need_directory_block(dir, at / 4 / SECTORS, io),
            Home::Table(_) => io.extend(self.home_buffer(home).map(Io::Need)),
        }
    }

    /// The way from the root to a directory, and its blocks up to `last`.
    fn look_through(&self, slot: u32, last: u32, io: &mut Vec<Io>) {
        let dir = &self.dirs[slot as usize];
        if slot != ROOT {
            // Only the block that has the entry: the kernel's cache of names knows which.
            let above = &self.dirs[dir.parent as usize];
            self.need_home(above.inode.home, io);
            let lbn = above.entries.sector_of(dir.at) / SECTORS;
            self.need_directory_block(dir.parent, lbn, io);
        }
        self.need_home(dir.inode.home, io);
        for lbn in 0..=last {
            self.need_directory_block(slot, lbn, io);
        }
    }
}

impl Searched for Cffs {
    fn search(&self, dir: DirId, io: &mut Vec<Io>) {
        if let Some(slot) = self.dir_ids.get(dir) {
            let sectors = self.dirs[slot as usize].entries.sectors();
            self.look_through(slot, sectors / SECTORS - 1, io);
        }
    }
}

impl Hosted for Cffs {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    /// What was done before is on disk.
    fn emit(&mut self, on: bool) {
        self.emitted.turn(on);
        self.settle_all();
    }

    fn name_together(&mut self, number: Option<u64>) {
        if self.params.hints {
            self.hints.set(number);
        }
    }

    fn block_bytes(&self) -> u32 {
        BLOCK as u32
    }

    /// The file's number in memory, since its inode may move.
    fn buffers_of(&self, file: FileId) -> Option<u64> {
        let slot = self.names.find(file)?;
        Some(self.names.file(slot).inode.vnode.into())
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        let Some(slot) = self.names.find(file) else {
            return;
        };
        let (dir, at) = self.names.place(file, slot);
        let last = self.dirs[dir as usize].entries.sector_of(at) / SECTORS;
        self.look_through(dir, last, io);
        self.need_home(self.names.file(slot).inode.home, io);
    }

    /// Times of access are not kept.
    fn accessed(&self, _file: FileId, _io: &mut Vec<Io>) {}

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.names.find(file) else {
            return BlockMap::default();
        };
        let inode = &self.names.file(slot).inode;
        let Some(buffer) = self.data_buffer(inode, lbn) else {
            return BlockMap::default();
        };
        let behind = inode.blocks.contiguous_after(&self.pool, lbn);
        BlockMap {
            buffer: Some(buffer),
            following: behind.min(TREE.left_in_array(lbn)),
            pointers: self.pointers_to(inode, lbn),
            group: Some(self.read_with(inode, lbn)),
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        io.push(Io::Fill(device_buffer(SUPERBLOCK), Flush::Async));
    }
}
