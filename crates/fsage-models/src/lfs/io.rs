//! What operations do to the buffers of a host: everything that changes is held back until it gets its place in the
//! log, and goes out past the cache with its partial segment.
//!
//! Nothing waits but `fsync`, the cleaner's transfers, and what must be read first: pointers, blocks that change in
//! part, blocks of the ifile, directories, inode blocks.

use super::geometry::{DIRECT, SECTOR};
use super::inode::{Block, Inode, Kind};
use super::segments::{Log, Partial};
use super::{IFILE, Lfs};
use crate::searched::Searched;
use fsage_core::io::Emitted;
use fsage_core::io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::operations::Namespace;
use fsage_core::{DirId, FileId};

/// Most bytes of a transfer (`MAXPHYS`).
pub(super) const TRANSFER_BYTES: u32 = 65536;

/// Where a buffer lies that never had a place.
const NOWHERE: u64 = u64::MAX;

fn start_bytes(address: u32) -> u64 {
    u64::from(address) * u64::from(SECTOR)
}

/// Lengths in sectors of the transfers of a partial segment: whole blocks, the summary with the first of them. `ends`
/// are the sectors, from its start, at which the summary and each block end.
pub(super) fn transfers(ends: impl Iterator<Item = u32>) -> impl Iterator<Item = (u32, u32)> {
    let most = TRANSFER_BYTES / SECTOR;
    let mut ends = ends.peekable();
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = ends.next()?;
        let mut end = first;
        while let Some(next) = ends.next_if(|&next| next - start <= most) {
            end = next;
        }
        Some((std::mem::replace(&mut start, end), end))
    })
}

impl Lfs {
    fn buffer(&self, inode: &Inode, lbn: i32) -> Buffer {
        let ino = u64::from(inode.ino);
        let block = inode.block(&self.geometry, lbn);
        Buffer {
            id: u32::try_from(lbn).map_or(
                BufferId::Pointers {
                    ino,
                    index: lbn.unsigned_abs(),
                },
                |lbn| BufferId::Data { ino, lbn },
            ),
            start_bytes: match block.address {
                0 => NOWHERE,
                address => start_bytes(address),
            },
            bytes: inode.block_bytes(&self.geometry, lbn),
        }
    }

    fn inode_block(&self, address: u32) -> Buffer {
        let start_bytes = start_bytes(address);
        Buffer {
            id: BufferId::Device { start_bytes },
            start_bytes,
            bytes: self.geometry.block_bytes,
        }
    }

    /// The indirect blocks that lead to a block, the outermost first.
    fn pointers_to(&self, inode: &Inode, lbn: i32) -> [Option<Buffer>; 3] {
        let mut buffers = [None; 3];
        let (mut child, mut n) = (lbn, 0);
        while let Some(parent) = self.geometry.parent(child) {
            let there = inode.block(&self.geometry, parent).is(Block::THERE);
            buffers[n] = there.then(|| self.buffer(inode, parent));
            (child, n) = (parent, n + 1);
        }
        buffers[..n].reverse();
        buffers
    }

    /// A block that is no data of a file changes, in part unless it is new.
    pub(super) fn emit_changed(&mut self, slot: u32, lbn: i32, fresh: bool) {
        let inode = &self.inodes[slot as usize];
        let data = matches!(inode.kind, Kind::File | Kind::Symlink) && lbn >= 0;
        if !data {
            self.emit_block(slot, lbn, fresh);
        }
    }

    /// A block changes: as a whole, or in part.
    pub(super) fn emit_block(&mut self, slot: u32, lbn: i32, whole: bool) {
        if self.emitted.is_on() {
            let buffer = self.buffer(&self.inodes[slot as usize], lbn);
            self.emitted.emit(if whole {
                Io::Fill(buffer, Flush::Held)
            } else {
                Io::Modify(buffer, Flush::Held)
            });
        }
    }

    /// A write call put `bytes` into a block of a file, from `in_block` on.
    pub(super) fn emit_written(
        &mut self,
        slot: u32,
        lbn: i32,
        (in_block, end): (u64, u64),
        fresh: bool,
    ) {
        if !self.emitted.is_on() {
            return;
        }
        let inode = &self.inodes[slot as usize];
        let bsize = u64::from(self.geometry.block_bytes);
        let whole = in_block == 0 && (end == bsize || lbn as u64 * bsize + end == inode.size);
        if !fresh {
            for pointers in self.pointers_to(inode, lbn).into_iter().flatten() {
                self.emitted.emit(Io::Need(pointers));
            }
        }
        self.emitted.emit(Io::Copy {
            bytes: (end - in_block) as u32,
        });
        self.emit_block(slot, lbn, fresh || whole);
    }

    /// Blocks of a file from `keep` on are about to be freed: the pointers to them are read first.
    pub(super) fn emit_freed(&mut self, slot: u32, keep: u64, gone: &[(i32, Block)]) {
        if !self.emitted.is_on() {
            return;
        }
        let inode = &self.inodes[slot as usize];
        let ino = u64::from(inode.ino);
        for &(lbn, _) in gone.iter().filter(|(lbn, _)| *lbn < 0) {
            let buffer = self.buffer(inode, lbn);
            self.emitted.emit(Io::Need(buffer));
            self.emitted.emit(Io::Forget(buffer.id));
        }
        let from = keep as u32;
        self.emitted.emit(Io::Discard { ino, from });
    }

    /// A partial segment goes to the device, and what is in it has found its place.
    pub(super) fn emit_partial(&mut self, partial: &Partial, wait: bool) {
        if !self.emitted.is_on() {
            return;
        }
        let log = std::mem::take(&mut self.open.log);
        for (start, end) in transfers(ends_of(partial, &log, &self.geometry).into_iter()) {
            self.emitted.emit(Io::Raw {
                write: true,
                start_bytes: start_bytes(partial.address + start),
                bytes: start_bytes(end - start),
                wait,
            });
        }
        let slots = std::mem::take(&mut self.open.slots);
        for ((_, lbns), &slot) in log.files().zip(&slots) {
            for &lbn in lbns {
                let inode = &self.inodes[slot as usize];
                let buffer = self.buffer(inode, lbn);
                // What was changed again since it was gathered, or waits while its predecessor moves, is held on.
                if !inode.block(&self.geometry, lbn).is_dirty() {
                    self.emitted.emit(Io::Assign(buffer));
                }
            }
        }
        for block in &log.inode_blocks {
            let buffer = self.inode_block(block.address);
            self.emitted.emit(Io::Fill(buffer, Flush::Held));
            self.emitted.emit(Io::Assign(buffer));
        }
        (self.open.log, self.open.slots) = (log, slots);
    }

    /// The superblocks are written, or the cleaner reads a segment: a transfer past the cache.
    pub(super) fn emit_raw(&mut self, write: bool, start_bytes: u64, bytes: u64, wait: bool) {
        self.emitted.emit(Io::Raw {
            write,
            start_bytes,
            bytes,
            wait,
        });
    }

    /// Where an inode lies, and the block of the ifile that says so.
    fn need_inode(&self, slot: u32, io: &mut Vec<Io>) {
        let ino = self.inodes[slot as usize].ino;
        let ifile = &self.inodes[IFILE as usize];
        let map = self.geometry.map_block(ino);
        let way = self.pointers_to(ifile, map).into_iter().flatten();
        io.extend(way.chain([self.buffer(ifile, map)]).map(Io::Need));
        let address = self.map[ino as usize].address;
        if address != 0 {
            io.push(Io::Need(self.inode_block(address)));
        }
    }

    /// Blocks of a directory that hold its chunks up to `last`.
    fn need_chunks(&self, dir: u32, first: usize, last: usize, io: &mut Vec<Io>) {
        let inode = &self.inodes[self.dirs[dir as usize].slot as usize];
        for lbn in self.block_of(first)..=self.block_of(last) {
            let way = self.pointers_to(inode, lbn).into_iter().flatten();
            io.extend(way.chain([self.buffer(inode, lbn)]).map(Io::Need));
        }
    }

    /// The way from the directory above to a directory, and its chunks up to `last`.
    fn look_through(&self, dir: u32, last: usize, io: &mut Vec<Io>) {
        let this = &self.dirs[dir as usize];
        if dir != 0 {
            // Only the block that has the entry: the kernel's cache of names knows which.
            let at = this.entry.chunk as usize;
            self.need_inode(self.dirs[this.parent as usize].slot, io);
            self.need_chunks(this.parent, at, at, io);
        }
        self.need_inode(this.slot, io);
        self.need_chunks(dir, 0, last, io);
    }
}

/// The sectors, from its start, at which the summary of a partial segment and each of its blocks end.
fn ends_of(partial: &Partial, log: &Log, g: &super::Geometry) -> Vec<u32> {
    let blocks = log
        .blocks(g)
        .map(|(.., address, bytes)| address + bytes / SECTOR);
    let inode_blocks = log.inode_blocks.iter();
    let inode_blocks = inode_blocks.map(|block| block.address + g.block_sectors());
    let mut ends: Vec<u32> = [partial.address + 1]
        .into_iter()
        .chain(blocks)
        .chain(inode_blocks)
        .map(|end| end - partial.address)
        .collect();
    ends.sort_unstable();
    ends
}

impl Searched for Lfs {
    fn search(&self, dir: DirId, io: &mut Vec<Io>) {
        if let Some(dir) = self.dir_ids.get(dir) {
            let last = self.dirs[dir as usize].last_chunk();
            self.look_through(dir, last, io);
        }
    }
}

impl Hosted for Lfs {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn block_bytes(&self) -> u32 {
        self.geometry.block_bytes
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        if let Some(name) = self.names.get(&file.0) {
            self.look_through(name.dir, name.entry.chunk as usize, io);
            self.need_inode(name.slot, io);
        }
    }

    /// Times of access are not kept.
    fn accessed(&self, _file: FileId, _io: &mut Vec<Io>) {}

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.find_file(file) else {
            return BlockMap::default();
        };
        let (g, inode) = (&self.geometry, &self.inodes[slot as usize]);
        let lbn = lbn as i32;
        if !inode.block(g, lbn).is(Block::THERE) {
            return BlockMap::default();
        }
        // The last block that the same array of pointers leads to.
        let last = match g.parent(lbn) {
            None => DIRECT as i32 - 1,
            Some(single) => g.pointers as i32 - single - 1,
        };
        let follows = |&next: &i32| {
            let (before, block) = (inode.block(g, next - 1), inode.block(g, next));
            block.address != 0 && block.address == before.address + u32::from(before.sectors)
        };
        BlockMap {
            buffer: Some(self.buffer(inode, lbn)),
            following: (lbn + 1..=last).take_while(follows).count() as u32,
            pointers: self.pointers_to(inode, lbn),
            group: None,
        }
    }

    /// The log has its own.
    fn superblock(&self, _io: &mut Vec<Io>) {}

    fn reads_tail_alone(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_segment_goes_out_in_whole_blocks() {
        // docs/spec/lfs.md, section 14: a full partial segment of 117 blocks of 4 KB has a first transfer of
        // 512 + 15 * 4096 = 61,952 bytes, that is 121 sectors, and further ones of 65,536 bytes, that is 128;
        // 117 = 15 + 6 * 16 + 6.
        let ends = (0..=117).map(|block| 1 + 8 * block);
        let lengths: Vec<u32> = transfers(ends).map(|(start, end)| end - start).collect();
        assert_eq!(lengths, [121, 128, 128, 128, 128, 128, 128, 48]);
        assert_eq!(lengths.iter().sum::<u32>(), 1 + 117 * 8);
    }
}
