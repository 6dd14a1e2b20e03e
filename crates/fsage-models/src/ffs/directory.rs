//! Directories (15): making and removing them, and the entries that let them grow.
//!
//! Entries of equal size are a model; the writes and truncations that they cause are the original's.

use super::Ffs;
use super::alloc::NoSpace;
use super::inode::{Dir, Inode};
use super::io::Kind;
use crate::names::{Entry, File};
use fsage_core::Outcome;
use fsage_core::io::Flush;

/// Directories are written and truncated in chunks of a sector.
pub(super) const CHUNK: u64 = 512;
/// `.` and `..` in the first chunk.
pub(super) const DOTS: u16 = 24;
/// Inode of the root; those before it are reserved.
pub(super) const ROOT_INO: u64 = 2;

impl Ffs {
    /// Makes the root directory, inode 2, as `newfs` does: it keeps one fragment of the group's first block.
    pub(super) fn make_root(&mut self) {
        for ino in 0..=ROOT_INO {
            self.groups.take_inode(0, ino as usize, ino == ROOT_INO);
        }
        let block = self
            .groups
            .find_block(0, 0)
            .expect("newfs leaves room for the root");
        let mut inode = Inode::new(ROOT_INO);
        let address = (block * self.groups.frag) as u64;
        if self.groups.frag == 1 {
            self.groups.take_blocks(0, block, 1);
        } else {
            self.groups.break_block(0, block, 1);
        }
        inode
            .blocks
            .set(&mut self.pool, 0, 1, address, self.geometry.frag);
        inode.size = CHUNK;
        self.dirs.push(Dir {
            id: 0,
            inode,
            parent: 0,
            chunk: 0,
            entries: 0,
            alive: true,
            chunks: vec![DOTS],
            first_room: 0,
        });
    }

    /// Inode, own first fragment, entry in the parent. Without space nothing is left behind.
    pub(super) fn new_directory(&mut self, id: u64, parent: u32) -> Result<u32, Outcome> {
        let preference = self.directory_preference();
        let Some(ino) = self.allocate_inode(preference, true) else {
            return Err(Outcome::NoInode);
        };
        let mut inode = Inode::new(ino);
        self.emit_inode(ino, Flush::Sync);
        // Its count of links: the new directory's `..`.
        self.emit_inode(self.dirs[parent as usize].inode.ino, Flush::Sync);
        let entered = self
            .write(&mut inode, 0, u64::from(DOTS), Kind::Directory)
            .and_then(|()| {
                inode.size = CHUNK;
                self.enter(parent)
            });
        let Ok(chunk) = entered else {
            self.release(&mut inode, Kind::Directory);
            return Err(Outcome::NoSpace);
        };
        let dir = Dir {
            id,
            inode,
            parent,
            chunk,
            entries: 0,
            alive: true,
            chunks: vec![DOTS],
            first_room: 0,
        };
        let slot = if let Some(slot) = self.free_dirs.pop() {
            self.dirs[slot as usize] = dir;
            slot
        } else {
            self.dirs.push(dir);
            self.dirs.len() as u32 - 1
        };
        self.changes.new_directory(slot);
        Ok(slot)
    }

    /// Entry in the parent, contents, inode; whether it is empty is for the caller to ask.
    pub(super) fn drop_directory(&mut self, slot: u32) {
        let dir = &self.dirs[slot as usize];
        let (parent, chunk, mut inode) = (dir.parent, dir.chunk, dir.inode);
        self.leave(parent, chunk);
        self.release(&mut inode, Kind::Directory);
        let dir = &mut self.dirs[slot as usize];
        dir.alive = false;
        dir.inode = inode;
        // Files may live on in it. Where it hung is forgotten: that place may go, and come again below it.
        dir.parent = 0;
        if dir.entries == 0 {
            self.free_dirs.push(slot);
        }
    }

    /// Frees the data and the inode.
    pub(super) fn release(&mut self, inode: &mut Inode, kind: Kind) {
        self.truncate(inode, 0, kind)
            .expect("truncation to nothing needs no space");
        self.free_inode(inode.ino, kind == Kind::Directory);
        self.emit_gone(inode.ino);
        self.emit_inode(inode.ino, Flush::Delayed);
    }

    /// Enters a name into a directory; gives the chunk it lies in.
    pub(super) fn enter(&mut self, slot: u32) -> Result<u32, NoSpace> {
        let size = self.params.dirent_bytes as u16;
        let dir = &mut self.dirs[slot as usize];
        if size == 0 {
            dir.entries += 1;
            self.emit_chunk(slot, 0);
            return Ok(0);
        }
        let room = |used: &u16| u64::from(*used + size) <= CHUNK;
        let from = dir.first_room as usize;
        let found = dir.chunks[from..].iter().position(room).map(|i| from + i);
        let mut inode = dir.inode;
        let chunk = if let Some(chunk) = found {
            dir.chunks[chunk] += size;
            self.emit_chunk(slot, chunk as u32);
            let dir = &mut self.dirs[slot as usize];
            // Empty chunks behind the entry go.
            let last_used = dir.chunks.iter().rposition(|&used| used > 0).unwrap_or(0);
            if last_used + 1 < dir.chunks.len() {
                dir.chunks.truncate(last_used + 1);
                let length = (last_used as u64 + 1) * CHUNK;
                // Cutting a directory, which has no holes, needs no space.
                let cut = self.truncate(&mut inode, length, Kind::Directory);
                debug_assert!(cut.is_ok());
            }
            chunk
        } else {
            let end = inode.size;
            let written = self.write(&mut inode, end, CHUNK, Kind::Directory);
            self.dirs[slot as usize].inode = inode;
            written?;
            let dir = &mut self.dirs[slot as usize];
            dir.chunks.push(size);
            dir.chunks.len() - 1
        };
        let dir = &mut self.dirs[slot as usize];
        dir.inode = inode;
        dir.first_room = chunk as u32;
        dir.entries += 1;
        Ok(chunk as u32)
    }

    /// Takes a name out of a directory, which does not shrink now.
    pub(super) fn leave(&mut self, slot: u32, chunk: u32) {
        let dir = &mut self.dirs[slot as usize];
        dir.entries -= 1;
        if !dir.alive {
            if dir.entries == 0 {
                self.free_dirs.push(slot);
            }
            return;
        }
        let size = self.params.dirent_bytes as u16;
        if size > 0 {
            dir.chunks[chunk as usize] -= size;
            dir.first_room = dir.first_room.min(chunk);
        }
        let ino = dir.inode.ino;
        self.emit_chunk(slot, chunk);
        self.emit_inode(ino, Flush::Delayed);
    }

    /// Inode and entry of a new file or symbolic link, without data yet.
    pub(super) fn make_file(&mut self, id: u64, dir: u32, symlink: bool) -> Result<u32, Outcome> {
        let parent = self.dirs[dir as usize].inode.ino;
        let Some(ino) = self.allocate_inode(parent, false) else {
            return Err(Outcome::NoInode);
        };
        let mut inode = Inode::new(ino);
        self.emit_inode(ino, Flush::Sync);
        let Ok(chunk) = self.enter(dir) else {
            self.release(&mut inode, Kind::File);
            return Err(Outcome::NoSpace);
        };
        self.emit_inode(parent, Flush::Delayed);
        let slot = self.names.insert(File {
            id,
            inode,
            dir,
            entry: Entry::new(chunk, symlink),
        });
        self.changes.new_file(slot);
        Ok(slot)
    }
}
