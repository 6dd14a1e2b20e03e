//! What operations do to the buffers of a host: inode blocks, cylinder groups, blocks of pointers, directories, data.
//!
//! Source: `ufs_vnops.c`, `ufs_lookup.c`, `ufs_readwrite.c`, `ffs_alloc.c`, `ffs_balloc.c`, `ffs_inode.c` and
//! `vfs_cluster.c` of 4.4BSD-Lite2. Which of these writes wait is theirs; that a host may delay them is the host's.

use super::Ffs;
use super::directory::CHUNK;
use super::geometry::DIRECT;
use super::inode::{Indirect, Inode};
use crate::searched::Searched;
use fsage_core::io::Emitted;
use fsage_core::io::{BlockMap, Buffer, BufferId, Flush, Hosted, Io};
use fsage_core::{DirId, FileId, FileSystem};

/// Bytes of a dinode.
const DINODE: u64 = 128;
/// Where the superblock lies.
const SUPERBLOCK_AT: u64 = 8192;
/// `sizeof(struct fs)`: what is written of it, rounded up to fragments.
const SUPERBLOCK: u64 = 1380;

/// What data are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Symlink,
    /// Written at once, with its inode.
    Directory,
}

impl Kind {
    /// A write that does not wait for more data.
    pub fn flush_at_once(self) -> Flush {
        match self {
            Kind::Directory => Flush::Sync,
            Kind::File | Kind::Symlink => Flush::Async,
        }
    }

    /// The inode after data were written.
    pub fn flush_of_inode(self) -> Flush {
        match self {
            Kind::Directory => Flush::Sync,
            Kind::File | Kind::Symlink => Flush::Delayed,
        }
    }
}

/// What became of a block that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    /// It is new.
    Fresh,
    /// It was there, and is longer now.
    Grown,
    /// It was there.
    Present,
}

/// A whole cylinder group block: maps and summary.
fn group_block_bytes(fs: &Ffs) -> u64 {
    let g = &fs.geometry;
    // The fixed part, two tables of the cylinders, the inode map, the fragment map, and where clusters are counted
    // their summary and map.
    let clusters = if g.contigsumsize > 0 {
        4 * g.contigsumsize + g.blocks_per_group().div_ceil(8)
    } else {
        0
    };
    let tables = 4 * g.cpg + 2 * g.cpg * g.nrpos;
    let bytes = 172 + 4 + tables + g.ipg.div_ceil(8) + g.fpg.div_ceil(8) + clusters;
    bytes.next_multiple_of(g.fsize)
}

impl Ffs {
    #[inline]
    pub(super) fn is_emitting(&self) -> bool {
        self.emitted.is_on()
    }

    #[inline]
    pub(super) fn emit_one(&mut self, io: Io) {
        self.emitted.emit(io);
    }

    fn device_buffer(&self, frag: u64, bytes: u64) -> Buffer {
        let start_bytes = frag * self.geometry.fsize;
        Buffer {
            id: BufferId::Device { start_bytes },
            start_bytes,
            bytes: bytes as u32,
        }
    }

    /// The block that holds an inode.
    fn inode_buffer(&self, ino: u64) -> Buffer {
        let g = &self.geometry;
        let c = self.group_of_inode(ino);
        let blocks = ino % g.ipg / (g.bsize / DINODE);
        let in_group = g.cgoffset * (c as u64 & g.stagger_mask) + g.iblkno + blocks * g.frag;
        self.device_buffer(g.base(c) + in_group, g.bsize)
    }

    fn group_buffer(&self, c: usize) -> Buffer {
        let g = &self.geometry;
        let in_group = g.cgoffset * (c as u64 & g.stagger_mask) + g.cblkno;
        self.device_buffer(g.base(c) + in_group, group_block_bytes(self))
    }

    /// A block of a file or directory of that length; its last block may be a fragment.
    fn data_buffer(&self, inode: &Inode, lbn: u32) -> Option<Buffer> {
        let address = self.address(inode, lbn);
        let g = &self.geometry;
        (address != 0).then(|| Buffer {
            id: BufferId::Data {
                ino: inode.ino,
                lbn,
            },
            start_bytes: address * g.fsize,
            bytes: (self.frags_of(inode.size, lbn) as u64 * g.fsize) as u32,
        })
    }

    /// Blocks of pointers: 0 is the single indirect block, 1 the double one, `2 + k` level-1 block `k`.
    pub(super) fn pointer_buffer(&self, ino: u64, index: u32, address: u64) -> Buffer {
        let g = &self.geometry;
        Buffer {
            id: BufferId::Pointers { ino, index },
            start_bytes: address * g.fsize,
            bytes: g.bsize as u32,
        }
    }

    /// The blocks of pointers that lead to a block, the outermost first.
    fn pointers_to(&self, ino: u64, lbn: u32) -> [Option<Buffer>; 3] {
        let (array, _) = self.place(lbn);
        let mut path = [None; 3];
        let Some(indirect) = (array > 0).then(|| self.indirect.get(&ino)).flatten() else {
            return path;
        };
        let buffer = |index: u32, address: u64| {
            (address != 0).then(|| self.pointer_buffer(ino, index, address))
        };
        if array == 1 {
            path[0] = buffer(0, indirect.single);
        } else {
            let k = (array - 2) as usize;
            let level1 = indirect.level1.get(k).copied().unwrap_or(0);
            path[0] = buffer(1, indirect.double);
            path[1] = buffer(2 + k as u32, level1);
        }
        path
    }

    /// An inode changes.
    #[inline]
    pub(super) fn emit_inode(&mut self, ino: u64, flush: Flush) {
        if self.is_emitting() {
            let buffer = self.inode_buffer(ino);
            self.emit_one(Io::Modify(buffer, flush));
        }
    }

    /// The map of a cylinder group changes.
    #[inline]
    pub(super) fn emit_group(&mut self, c: usize) {
        if self.is_emitting() {
            let change = Io::Modify(self.group_buffer(c), Flush::Delayed);
            self.emitted.emit_once(change);
        }
    }

    /// A chunk of a directory changes, and is written.
    pub(super) fn emit_chunk(&mut self, dir: u32, chunk: u32) {
        if self.is_emitting() {
            let inode = self.dirs[dir as usize].inode;
            let lbn = (u64::from(chunk) * CHUNK / self.geometry.bsize) as u32;
            self.emit_block(&inode, lbn, Flush::Sync);
        }
    }

    /// A block of a file changes in part.
    pub(super) fn emit_block(&mut self, inode: &Inode, lbn: u32, flush: Flush) {
        if self.is_emitting()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.emit_one(Io::Modify(buffer, flush));
        }
    }

    /// The way from the root to a directory, and its blocks up to a chunk.
    fn look_through(&self, dir: u32, chunk: u32, io: &mut Vec<Io>) {
        let this = &self.dirs[dir as usize];
        if !this.alive {
            return;
        }
        if dir != 0 {
            // Only the block that has the entry: the kernel's cache of names knows which.
            let above = &self.dirs[this.parent as usize];
            io.push(Io::Need(self.inode_buffer(above.inode.ino)));
            let lbn = (u64::from(this.chunk) * CHUNK / self.geometry.bsize) as u32;
            io.extend(self.data_buffer(&above.inode, lbn).map(Io::Need));
        }
        io.push(Io::Need(self.inode_buffer(this.inode.ino)));
        let last = (u64::from(chunk) * CHUNK / self.geometry.bsize) as u32;
        for lbn in 0..=last {
            io.extend(self.data_buffer(&this.inode, lbn).map(Io::Need));
        }
    }

    /// What a block of data was before its file grew: it is needed to be copied.
    pub(super) fn emit_old_piece(&mut self, inode: &Inode, lbn: u32, old_frags: usize) {
        if self.is_emitting()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            let bytes = (old_frags as u64 * self.geometry.fsize) as u32;
            self.emit_one(Io::Need(Buffer { bytes, ..buffer }));
        }
    }

    /// A block of data that now lies elsewhere or is longer.
    pub(super) fn emit_place(&mut self, inode: &Inode, lbn: u32) {
        if self.is_emitting()
            && let Some(buffer) = self.data_buffer(inode, lbn)
        {
            self.emit_one(Io::Place(buffer));
        }
    }

    /// One block of a write call gets `bytes` of data from `in_block` on; its address is known.
    pub(super) fn emit_written(
        &mut self,
        inode: &Inode,
        lbn: u32,
        (in_block, bytes): (u64, u64),
        (mapped, kind): (Mapped, Kind),
    ) {
        let Some(buffer) = self.data_buffer(inode, lbn) else {
            return;
        };
        let bsize = self.geometry.bsize;
        let end = u64::from(lbn) * bsize + in_block + bytes;
        let whole = in_block == 0 && (bytes == bsize || end == inode.size);
        let was_there = mapped == Mapped::Present;
        // `ffs_balloc` reads a direct block before it knows that all of it will be written over.
        let read = was_there && (!whole || lbn < DIRECT && self.params.overwrite_reads);
        if lbn >= DIRECT && was_there {
            for pointers in self.pointers_to(inode.ino, lbn).into_iter().flatten() {
                self.emit_one(Io::Need(pointers));
            }
        }
        if read {
            self.emit_one(Io::Need(buffer));
        }
        if mapped == Mapped::Grown {
            self.emit_one(Io::Place(buffer));
        }
        if kind == Kind::Directory {
            self.emit_one(Io::Fill(buffer, Flush::Sync));
            return;
        }
        self.emit_one(Io::Copy {
            bytes: bytes as u32,
        });
        let ends_block = in_block + bytes == bsize;
        self.emit_one(if whole || mapped == Mapped::Fresh {
            Io::Fill(buffer, Flush::Delayed)
        } else {
            Io::Modify(buffer, Flush::Delayed)
        });
        if ends_block && kind == Kind::Symlink {
            self.emit_one(Io::Push {
                ino: inode.ino,
                first: lbn,
                last: lbn,
            });
        }
    }

    /// A cluster has moved: all of it is to be written, some time.
    pub(super) fn emit_moved(&mut self, inode: &Inode, first: u32, last: u32) {
        for lbn in first..=last {
            self.emit_place(inode, lbn);
        }
        if self.is_emitting() && last >= DIRECT {
            for lbn in [first.max(DIRECT), last] {
                self.emit_pointer_set(inode.ino, lbn);
            }
        }
    }

    /// A block behind the direct ones is about to be allocated; its blocks of pointers are there.
    pub(super) fn emit_pointers_needed(&mut self, ino: u64, lbn: u32) {
        if self.is_emitting() {
            let path = self.pointers_to(ino, lbn);
            self.emitted
                .list()
                .extend(path.into_iter().flatten().map(Io::Need));
        }
    }

    /// The pointer to a block behind the direct ones changes.
    pub(super) fn emit_pointer_set(&mut self, ino: u64, lbn: u32) {
        if self.is_emitting()
            && let Some(array) = self.pointers_to(ino, lbn).into_iter().flatten().last()
        {
            let change = Io::Modify(array, Flush::Delayed);
            self.emitted.emit_once(change);
        }
    }

    /// The last block of a file that was lengthened, which is written at once.
    pub(super) fn emit_last_block(&mut self, inode: &Inode, lbn: u32, mapped: Mapped, kind: Kind) {
        let Some(buffer) = self.data_buffer(inode, lbn).filter(|_| self.is_emitting()) else {
            return;
        };
        if mapped == Mapped::Fresh {
            self.emit_one(Io::Fill(buffer, kind.flush_at_once()));
        } else {
            self.emit_one(Io::Place(buffer));
            self.emit_one(Io::Modify(buffer, kind.flush_at_once()));
        }
    }

    /// A file is about to be cut. Its last block, if it is one in part, is written at once with what is left of it;
    /// then the inode, before anything is free.
    pub(super) fn emit_cut(
        &mut self,
        inode: &Inode,
        length: u64,
        last: Option<(u32, Mapped)>,
        kind: Kind,
    ) {
        if !self.is_emitting() {
            return;
        }
        if let Some((lbn, mapped)) = last {
            let cut = Inode {
                size: length,
                ..*inode
            };
            self.emit_last_block(&cut, lbn, mapped, kind);
        }
        self.emit_inode(inode.ino, Flush::Sync);
        self.emit_one(Io::Discard {
            ino: inode.ino,
            from: length.div_ceil(self.geometry.bsize) as u32,
        });
    }

    /// A file of `blocks` blocks was cut to `cut` of them: the blocks of pointers that go, and those that lose some.
    pub(super) fn emit_pointers_cut(
        &mut self,
        ino: u64,
        indirect: &Indirect,
        cut: u32,
        blocks: u32,
    ) {
        let nindir = self.geometry.nindir;
        let beyond = |blocks: u32| u64::from(blocks.saturating_sub(DIRECT));
        let (left, before) = (beyond(cut), beyond(blocks));
        if before <= left {
            return;
        }
        // Blocks of a file that the arrays from `first` on serve.
        let under_double = |n: u64| n.saturating_sub(nindir);
        if indirect.double != 0 && before > nindir {
            self.emit_cut_pointers(ino, 1, indirect.double, under_double(left) == 0);
            for (k, &address) in indirect.level1.iter().enumerate().rev() {
                let first = k as u64 * nindir;
                if address != 0
                    && under_double(left) < first + nindir
                    && under_double(before) > first
                {
                    let gone = under_double(left) <= first;
                    self.emit_cut_pointers(ino, 2 + k as u32, address, gone);
                }
            }
        }
        if indirect.single != 0 && left < nindir {
            self.emit_cut_pointers(ino, 0, indirect.single, left == 0);
        }
    }

    /// An inode is free: what a host knows of its file is void.
    pub(super) fn emit_gone(&mut self, ino: u64) {
        self.emit_one(Io::Discard { ino, from: 0 });
    }

    /// The blocks `first..=last` of a file go out as a cluster.
    pub(super) fn emit_push(&mut self, inode: &Inode, first: u32, last: u32) {
        self.emit_one(Io::Push {
            ino: inode.ino,
            first,
            last,
        });
    }

    /// A block of pointers is gone, or those in it from some point on: it is written so before they are free.
    pub(super) fn emit_cut_pointers(&mut self, ino: u64, index: u32, address: u64, gone: bool) {
        if self.is_emitting() {
            let buffer = self.pointer_buffer(ino, index, address);
            self.emit_one(Io::Modify(buffer, Flush::Sync));
            if gone {
                self.emit_one(Io::Forget(buffer.id));
            }
        }
    }
}

impl Searched for Ffs {
    fn search(&self, dir: DirId, io: &mut Vec<Io>) {
        if let Some(slot) = self.dir_ids.get(dir) {
            let last = self.dirs[slot as usize].chunks.len().saturating_sub(1);
            self.look_through(slot, last as u32, io);
        }
    }
}

impl Hosted for Ffs {
    fn emits(&mut self) -> &mut Emitted {
        &mut self.emitted
    }

    fn block_bytes(&self) -> u32 {
        self.geometry.bsize as u32
    }

    fn look_up(&self, file: FileId, io: &mut Vec<Io>) {
        let Some(slot) = self.names.find(file) else {
            return;
        };
        let (dir, chunk) = self.names.place(file, slot);
        self.look_through(dir, chunk, io);
        io.push(Io::Need(self.inode_buffer(self.names.file(slot).inode.ino)));
    }

    fn accessed(&self, file: FileId, io: &mut Vec<Io>) {
        if let Some(ino) = self.inode(file) {
            io.push(Io::Modify(self.inode_buffer(ino), Flush::Delayed));
        }
    }

    fn block_map(&self, file: FileId, lbn: u32) -> BlockMap {
        let Some(slot) = self.names.find(file) else {
            return BlockMap::default();
        };
        let inode = &self.names.file(slot).inode;
        let buffer = self.data_buffer(inode, lbn);
        BlockMap {
            buffer,
            following: buffer.map_or(0, |_| self.contiguous_after(inode, lbn)),
            pointers: self.pointers_to(inode.ino, lbn),
            group: None,
        }
    }

    fn superblock(&self, io: &mut Vec<Io>) {
        let g = &self.geometry;
        let superblock = self.device_buffer(
            SUPERBLOCK_AT / g.fsize,
            SUPERBLOCK.next_multiple_of(g.fsize),
        );
        io.push(Io::Fill(superblock, Flush::Async));
        // The summary area, a block at a time.
        let mut left = g.cssize;
        let mut at = g.dblkno;
        while left > 0 {
            let bytes = left.min(g.bsize);
            io.push(Io::Fill(self.device_buffer(at, bytes), Flush::Async));
            (at, left) = (at + g.frag, left - bytes);
        }
    }
}
