//! Partial segments: gathering dirty blocks, giving them addresses, closing, going on in the next segment.
//!
//! Source: `lfs_segment.c` of 4.4BSD-Lite2 (`lfs_gather`, `lfs_updatemeta`, `lfs_writeinode`, `lfs_writeseg`,
//! `lfs_initseg`, `lfs_newseg`), and of NetBSD for the variant `netbsd`.

use super::geometry::{FINFO, INODE_BYTES, Level, SECTOR, SUMMARY_ITEM};
use super::inode::{Block, Inode, Kind};
use super::params::Variant;
use super::segments::{Finfo, InodeBlock, Log, Partial, sectors};
use super::{End, IFILE, Lfs};
use crate::changes::touch_file;

/// The partial segment that is being put together while the segment lock is held.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Open {
    /// The lock is held.
    locked: bool,
    /// The cleaner writes.
    pub cleaning: bool,
    /// The process waits for what is written.
    pub wait: bool,
    /// Sector of its summary.
    start: u32,
    /// Bytes left in the segment.
    room: u32,
    /// Bytes left in the summary.
    summary_room: u32,
    flags: u8,
    pub log: Log,
    /// Inode slot of each FINFO.
    pub slots: Vec<u32>,
    /// An FINFO is being filled.
    in_finfo: bool,
    /// Blocks before this one have addresses.
    placed: usize,
    /// Inodes that the open inode block still takes.
    inode_room: u32,
    /// The ifile's inode is in it.
    has_ifile_inode: bool,
    /// Bytes of its blocks, inode blocks apart.
    block_bytes: u32,
    /// Sum over their sectors of when their owner wrote them.
    data_times: u64,
    /// When the youngest of them was written by its owner.
    youngest: u64,
}

impl Open {
    /// Nothing is in it, and there is no room for anything.
    fn clear(&mut self) {
        self.log.clear();
        self.slots.clear();
        (self.room, self.summary_room) = (0, 0);
        (self.flags, self.in_finfo, self.has_ifile_inode) = (0, false, false);
        (self.placed, self.inode_room) = (0, 0);
        (self.block_bytes, self.data_times, self.youngest) = (0, 0, 0);
    }

    fn is_bare(&self) -> bool {
        self.log.finfos.is_empty() && self.log.inode_blocks.is_empty()
    }
}

/// Dirty blocks that are gathered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Data,
    /// Data that the cleaner moves.
    Moved,
    Single,
    Double,
    Triple,
}

/// Classes of indirect blocks; each may make blocks of the next dirty.
const POINTERS: [Class; 3] = [Class::Single, Class::Double, Class::Triple];

impl Lfs {
    /// Takes the segment lock: opens a partial segment.
    pub(super) fn lock(&mut self, cleaning: bool) {
        debug_assert!(!self.open.locked);
        self.open.locked = true;
        (self.open.cleaning, self.open.wait) = (cleaning, cleaning);
        self.open_partial();
    }

    /// Gives back the lock, and the sector of a summary that describes nothing.
    pub(super) fn unlock(&mut self) {
        debug_assert!(self.open.locked && self.open.is_bare());
        self.open.locked = false;
        if self.open.summary_room > 0 {
            self.offset -= 1;
        }
    }

    /// Goes on in the segment if more than a block of it is left, else in the next one.
    fn open_partial(&mut self) {
        self.open.clear();
        let g = &self.geometry;
        let used = self.offset - g.segment_start(self.current);
        if g.segment_sectors - used <= g.block_sectors() {
            if self.next.is_none() {
                self.next = self.usage.clean_behind(self.current);
            }
            let Some(next) = self.next else {
                self.ended.get_or_insert(End::NoCleanSegment);
                return;
            };
            self.enter_segment(next);
        }
        let end = self.geometry.segment_start(self.current) + self.geometry.segment_sectors;
        self.open.start = self.offset;
        self.offset += 1;
        self.open.room = (end - self.offset) * SECTOR;
        self.open.summary_room = self.geometry.summary_room;
    }

    /// The next segment is chosen a whole segment before it is used.
    fn enter_segment(&mut self, segment: u32) {
        self.usage.begin(segment, true);
        self.active += 1;
        let before = std::mem::replace(&mut self.current, segment);
        self.usage
            .changed_room
            .mark(before as usize..before as usize + 1);
        // The room of the lists goes along; what stays behind takes no more than it needs.
        let mut log = std::mem::take(&mut self.logs[before as usize]);
        self.logs[before as usize] = log.clone();
        log.clear();
        self.logs[segment as usize] = log;
        // It may be cleaned from now on.
        self.usage.change(before);
        self.next = self.usage.clean_behind(segment);
        self.offset =
            self.geometry.segment_start(segment) + self.geometry.reserved_sectors(segment);
        self.switches += 1;
        self.usage_changed(segment);
        self.dirty(IFILE, 0);
    }

    /// The usage of a segment changes.
    pub(super) fn usage_changed(&mut self, segment: u32) {
        self.dirty(IFILE, self.geometry.usage_block(segment));
    }

    /// Live bytes of a segment go. What lies in the open partial segment counts there only when that is closed.
    pub(super) fn lose(&mut self, segment: u32, bytes: u32) {
        let live = &mut self.usage.change(segment).live;
        *live = live.wrapping_sub(bytes);
        self.usage_changed(segment);
    }

    fn begin_finfo(&mut self, slot: u32) {
        let whole = self.geometry.block_bytes;
        if self.open.room < whole || self.open.summary_room < FINFO + SUMMARY_ITEM {
            self.close();
        }
        if self.ended.is_some() {
            return;
        }
        let ino = self.inodes[slot as usize].ino;
        let open = &mut self.open;
        open.summary_room -= FINFO;
        open.in_finfo = true;
        open.slots.push(slot);
        open.log.finfos.push(Finfo {
            ino,
            version: self.map[ino as usize].version,
            address: 0,
            last_bytes: 0,
            lbns_end: open.log.lbns.len() as u32,
        });
    }

    fn end_finfo(&mut self) {
        let open = &mut self.open;
        if !std::mem::take(&mut open.in_finfo) {
            return;
        }
        let count = open.log.finfos.len();
        let start = match count {
            0 | 1 => 0,
            _ => open.log.finfos[count - 2].lbns_end,
        };
        if open.log.lbns.len() as u32 == start {
            open.log.finfos.pop();
            open.slots.pop();
            open.summary_room += FINFO;
        }
    }

    /// Writes the dirty blocks of a file: data, then each level of indirect blocks.
    pub(super) fn write_file(&mut self, slot: u32, data: Class) {
        self.begin_finfo(slot);
        if self.inodes[slot as usize].is(Inode::MARKED) {
            self.open.flags |= Partial::DIROP | Partial::CONT;
        }
        let fragment = data == Class::Moved && self.moves_fragment(slot);
        self.gather(slot, data);
        self.place(slot);
        if !fragment {
            self.gather_pointers(slot);
        }
        self.end_finfo();
    }

    /// Whether the cleaner moves a fragment of a file that is longer by now: its indirect blocks wait, since only the
    /// last block of an FINFO may be a fragment.
    fn moves_fragment(&self, slot: u32) -> bool {
        let inode = &self.inodes[slot as usize];
        let g = &self.geometry;
        let moved = inode.pending().map_or(&[][..], |p| &p.moved);
        moved
            .iter()
            .any(|&lbn| u32::from(inode.block(g, lbn).sectors) < g.block_sectors())
    }

    /// As [`Lfs::write_file`], for `fsync` of `netbsd`: single indirect blocks are gathered before the data of the last
    /// partial segment have their addresses.
    pub(super) fn write_pages(&mut self, slot: u32) {
        self.begin_finfo(slot);
        self.gather(slot, Class::Data);
        self.gather_pointers(slot);
        self.end_finfo();
    }

    /// The dirty indirect blocks of a file in an FINFO of their own.
    pub(super) fn write_pointers(&mut self, slot: u32) {
        self.begin_finfo(slot);
        self.gather_pointers(slot);
        self.end_finfo();
    }

    /// What `lite2`'s cleaner moves of a file: data, and indirect blocks with what is new in them.
    pub(super) fn write_file_moved(&mut self, slot: u32, pointers: &[i32]) {
        self.begin_finfo(slot);
        self.gather(slot, Class::Moved);
        // Those that lie elsewhere stay dirty.
        let pending = self.inodes[slot as usize].pending_mut();
        pending.pointers.retain(|lbn| !pointers.contains(lbn));
        self.gather_list(slot, Class::Single, pointers);
        self.place(slot);
        self.end_finfo();
    }

    fn gather_pointers(&mut self, slot: u32) {
        for class in POINTERS {
            self.gather(slot, class);
            self.place(slot);
        }
    }

    /// Takes the list of dirty blocks of a class.
    fn take_list(&mut self, slot: u32, class: Class) -> Vec<i32> {
        let in_order = class == Class::Moved || class == Class::Data && self.is_in_pages(slot);
        let (inode, g) = (&mut self.inodes[slot as usize], &self.geometry);
        if inode.pending().is_none() {
            return Vec::new();
        }
        let pending = inode.pending_mut();
        let mut list = match class {
            Class::Data => std::mem::take(&mut pending.data),
            Class::Moved => std::mem::take(&mut pending.moved),
            Class::Single | Class::Double | Class::Triple => {
                if pending.pointers.is_empty() {
                    return Vec::new();
                }
                let all = std::mem::take(&mut pending.pointers);
                let (list, rest) = all
                    .into_iter()
                    .partition(|&lbn| class_of(g.level(lbn)) == class);
                pending.pointers = rest;
                list
            }
        };
        if in_order {
            list.sort_unstable();
        }
        list
    }

    /// Gathers the dirty blocks of a class, and those that become dirty meanwhile.
    fn gather(&mut self, slot: u32, class: Class) {
        loop {
            let list = self.take_list(slot, class);
            if list.is_empty() {
                return;
            }
            self.gather_list(slot, class, &list);
            if self.ended.is_some() {
                return;
            }
        }
    }

    fn gather_list(&mut self, slot: u32, class: Class, list: &[i32]) {
        // Data in the cache of pages need room for a whole block, even if they are a fragment.
        let whole = class == Class::Data && self.is_in_pages(slot);
        for (i, &lbn) in list.iter().enumerate() {
            let bytes = self.bytes_to_write(slot, lbn, class);
            let need = if whole {
                self.geometry.block_bytes
            } else {
                bytes
            };
            if self.open.room < need || self.open.summary_room < SUMMARY_ITEM {
                self.place(slot);
                self.close();
                self.begin_finfo(slot);
            }
            if self.ended.is_some() {
                self.put_back(slot, class, &list[i..]);
                return;
            }
            self.take_block(slot, lbn, class, bytes);
        }
    }

    /// NetBSD keeps the data of files apart from other buffers, in order.
    fn is_in_pages(&self, slot: u32) -> bool {
        let kind = self.inodes[slot as usize].kind;
        self.geometry.variant == Variant::NetBsd && matches!(kind, Kind::File | Kind::Symlink)
    }

    /// The log is full: what was to be written stays dirty, and what was to be moved stays where it is.
    fn put_back(&mut self, slot: u32, class: Class, rest: &[i32]) {
        let inode = &mut self.inodes[slot as usize];
        let list = match class {
            Class::Data => &mut inode.pending_mut().data,
            Class::Moved => {
                for &lbn in rest {
                    inode
                        .block_mut(&self.geometry, lbn)
                        .set(Block::MOVED, false);
                }
                return;
            }
            Class::Single | Class::Double | Class::Triple => &mut inode.pending_mut().pointers,
        };
        list.splice(0..0, rest.iter().copied());
    }

    fn bytes_to_write(&self, slot: u32, lbn: i32, class: Class) -> u32 {
        let inode = &self.inodes[slot as usize];
        if class == Class::Moved {
            return u32::from(inode.block(&self.geometry, lbn).sectors) * SECTOR;
        }
        inode.block_bytes(&self.geometry, lbn)
    }

    fn take_block(&mut self, slot: u32, lbn: i32, class: Class, bytes: u32) {
        let block = self.inodes[slot as usize].block_mut(&self.geometry, lbn);
        block.set(Block::GATHERED, true);
        let (mut written, mut youngest) = (self.now, self.now);
        if class == Class::Moved {
            block.set(Block::MOVED, false);
            let segment = self.geometry.segment_of(block.address);
            let usage = &self.usage[segment];
            (written, youngest) = (usage.mean_data_time(), usage.youngest);
        } else {
            block.set(Block::DIRTY, false);
            self.dirty_sectors -= u64::from(sectors(bytes));
            if class == Class::Data && slot != IFILE {
                self.dirty_data -= 1;
            } else if class != Class::Data {
                self.dirty_pointers -= 1;
            }
        }
        let open = &mut self.open;
        open.log.lbns.push(lbn);
        open.room -= bytes;
        open.summary_room -= SUMMARY_ITEM;
        open.block_bytes += bytes;
        open.data_times += u64::from(sectors(bytes)) * written;
        open.youngest = open.youngest.max(youngest);
    }

    /// Gives addresses to what was gathered since the last time, in the order of names without sign.
    fn place(&mut self, slot: u32) {
        let open = &mut self.open;
        let (from, to) = (open.placed, open.log.lbns.len());
        if from == to {
            return;
        }
        open.placed = to;
        // The one place where blocks of a file get other addresses, whoever writes them.
        touch_file(self, slot);
        let open = &mut self.open;
        let mut lbns = std::mem::take(&mut open.log.lbns);
        lbns[from..].sort_unstable_by_key(|&lbn| lbn as u32);
        let first = self.offset;
        let mut bytes = 0;
        for &lbn in &lbns[from..] {
            bytes = self.place_block(slot, lbn);
        }
        let open = &mut self.open;
        open.log.lbns = lbns;
        let finfo = open
            .log
            .finfos
            .last_mut()
            .expect("an FINFO is being filled");
        if finfo.address == 0 {
            finfo.address = first;
        }
        finfo.last_bytes = bytes;
        finfo.lbns_end = to as u32;
        self.inode_changed(slot);
    }

    /// Gives a block the next address; gives its bytes.
    fn place_block(&mut self, slot: u32, lbn: i32) -> u32 {
        let g = &self.geometry;
        let inode = &mut self.inodes[slot as usize];
        let whole = inode.block_bytes(g, lbn);
        let block = inode.block_mut(g, lbn);
        let old = *block;
        // What the cleaner moves keeps its length on disk: its longer successor waits in the cache.
        let bytes = if self.open.cleaning && old.is(Block::DIRTY) {
            u32::from(old.sectors) * SECTOR
        } else {
            whole
        };
        block.address = self.offset;
        block.sectors = sectors(bytes) as u16;
        if self.open.cleaning && lbn >= 0 && slot != IFILE {
            self.record_moved(slot, lbn, old.address);
        }
        self.offset += sectors(bytes);
        if let Some(parent) = self.geometry.parent(lbn) {
            self.dirty(slot, parent);
        }
        if old.address != 0 {
            let segment = self.geometry.segment_of(old.address);
            self.lose(segment, u32::from(old.sectors) * SECTOR);
        }
        bytes
    }

    /// Writes an inode if there is something to write of it.
    pub(super) fn write_inode(&mut self, slot: u32) {
        let inode = &self.inodes[slot as usize];
        let marked = inode.is(Inode::MARKED);
        if !inode.must_be_written() && !marked {
            return;
        }
        if slot == IFILE && self.params.variant == Variant::NetBsd {
            self.settle_ifile();
            if self.open.has_ifile_inode {
                self.inodes[slot as usize].set(Inode::MODIFIED | Inode::ACCESSED, false);
                return;
            }
        }
        if !self.inode_block_at_hand() {
            return;
        }
        if marked {
            self.open.flags |= Partial::DIROP | Partial::CONT;
        }
        let inode = &mut self.inodes[slot as usize];
        let ino = inode.ino;
        if inode.is(Inode::CLEANING) {
            inode.set(Inode::CLEANING, false);
        } else {
            inode.set(Inode::MODIFIED | Inode::ACCESSED, false);
        }
        let lost = inode.pending().is_some_and(|p| !p.lost.is_empty());
        if lost {
            for (segment, bytes) in std::mem::take(&mut inode.pending_mut().lost) {
                self.lose(segment, bytes);
            }
        }
        let open = &mut self.open;
        open.log.inos.push(ino);
        open.inode_room -= 1;
        let block = open.log.inode_blocks.last_mut().expect("an inode block");
        block.inos_end += 1;
        let address = block.address;
        open.has_ifile_inode |= slot == IFILE;
        let old = std::mem::replace(&mut self.map[ino as usize].address, address);
        if slot != IFILE {
            self.dirty(IFILE, self.geometry.map_block(ino));
        }
        if old != 0 {
            self.lose(self.geometry.segment_of(old), INODE_BYTES);
        }
    }

    /// An inode block with room, at the current offset if it is a new one. `false` if the log is full.
    fn inode_block_at_hand(&mut self) -> bool {
        if self.open.inode_room > 0 {
            return true;
        }
        let bytes = self.geometry.block_bytes;
        if self.open.room < bytes || self.open.summary_room < SUMMARY_ITEM {
            self.close();
        }
        if self.ended.is_some() {
            return false;
        }
        let address = self.offset;
        self.offset += sectors(bytes);
        let open = &mut self.open;
        open.room -= bytes;
        open.summary_room -= SUMMARY_ITEM;
        open.inode_room = self.geometry.inodes_per_block;
        open.log.inode_blocks.push(InodeBlock {
            address,
            inos_end: open.log.inos.len() as u32,
        });
        true
    }

    /// Before the ifile's inode is written, all the ifile's blocks are gathered, and its old place is accounted for.
    fn settle_ifile(&mut self) {
        while self.ended.is_none() {
            let bytes = self.geometry.block_bytes;
            let no_room = self.open.room < bytes || self.open.summary_room < SUMMARY_ITEM;
            if !self.open.has_ifile_inode && self.open.inode_room == 0 && no_room {
                self.close();
                continue;
            }
            if !self.inodes[IFILE as usize].has_dirty() {
                let ino = self.inodes[IFILE as usize].ino as usize;
                let old = std::mem::take(&mut self.map[ino].address);
                if old != 0 {
                    self.lose(self.geometry.segment_of(old), INODE_BYTES);
                }
            }
            if !self.inodes[IFILE as usize].has_dirty() {
                return;
            }
            self.write_file(IFILE, Class::Data);
        }
    }

    /// The directory operation does not go on behind this partial segment.
    pub(super) fn end_directory_operation(&mut self) {
        if self.ended.is_none() {
            self.open.flags = self.open.flags & !Partial::CONT | Partial::DIROP;
            self.close();
        }
    }

    /// Whether blocks of the file are gathered.
    pub(super) fn has_gathered(&self, slot: u32) -> bool {
        self.open.slots.contains(&slot)
    }

    /// Writes the partial segment, if it describes anything or ends a directory operation, and opens the next one.
    pub(super) fn close(&mut self) {
        let open = &mut self.open;
        let ends = open.flags & (Partial::DIROP | Partial::CONT) == Partial::DIROP;
        if open.is_bare() && !ends {
            return;
        }
        if open.cleaning {
            open.flags |= Partial::CLEAN;
        }
        self.serial += 1;
        let bytes = open.block_bytes + open.log.inos.len() as u32 * INODE_BYTES;
        let usage = self.usage.change(self.current);
        usage.live = usage.live.wrapping_add(bytes);
        usage.last_write = self.now;
        usage.summaries += 1;
        usage.inode_blocks += open.log.inode_blocks.len() as u32;
        usage.data_times += open.data_times;
        usage.youngest = usage.youngest.max(open.youngest);
        if self.params.inode_leak {
            let blocks = open.log.inode_blocks.len() as u32;
            usage.leaked += SECTOR + blocks * self.geometry.block_bytes;
        }
        usage.data_sectors += sectors(open.block_bytes);
        let partial = Partial {
            serial: self.serial,
            address: open.start,
            sectors: self.offset - open.start,
            flags: open.flags,
        };
        let log = &mut self.logs[self.current as usize];
        log.append(&open.log);
        log.partials.push(partial);
        self.bfree -=
            i64::from(1 + open.log.inode_blocks.len() as u32 * self.geometry.block_sectors());
        self.usage_changed(self.current);
        self.forget_gathered();
        self.record_partial(&partial);
        self.emit_partial(&partial, self.open.wait);
        self.report_partial(&partial);
        self.open_partial();
    }

    /// What is written is clean.
    fn forget_gathered(&mut self) {
        let Lfs {
            open,
            inodes,
            geometry,
            ..
        } = self;
        let mut start = 0;
        for (finfo, &slot) in open.log.finfos.iter().zip(&open.slots) {
            let inode = &mut inodes[slot as usize];
            for &lbn in &open.log.lbns[start..finfo.lbns_end as usize] {
                inode.block_mut(geometry, lbn).set(Block::GATHERED, false);
            }
            start = finfo.lbns_end as usize;
        }
    }
}

fn class_of(level: Level) -> Class {
    match level {
        Level::Data => Class::Data,
        Level::Single(_) => Class::Single,
        Level::Double(_) => Class::Double,
        Level::Triple => Class::Triple,
    }
}
