//! Directories: entries in chunks of 512 bytes, files and directories that come and go.
//!
//! Source: `ufs_lookup.c`, `ufs_vnops.c`, `lfs_vnops.c`. Nothing here is written at once.

use super::ifile::ROOT_INO;
use super::inode::{Inode, Kind};
use super::memory::heap;
use super::params::Variant;
use super::{Lfs, NoSpace};

/// Directories grow and shrink by a sector.
const CHUNK: u64 = 512;
/// `.` and `..` in the first chunk.
const DOTS: u16 = 24;

/// A directory.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    /// Slot of its inode.
    pub slot: u32,
    /// The directory that holds it; the root is its own.
    pub parent: u32,
    /// Where its entry stands.
    pub entry: Entry,
    /// Names in it.
    pub entries: u32,
    pub alive: bool,
    /// Bytes used of each chunk.
    chunks: Vec<u16>,
    /// No chunk before this one has room for the smallest entry.
    first_room: u32,
}

impl Directory {
    /// Bytes of its list of chunks.
    pub fn heap_bytes(&self) -> u64 {
        heap::<u16>(self.chunks.capacity())
    }

    /// A directory as it is found on disk: bytes used of each chunk by names.
    pub fn rebuilt(
        (slot, parent): (u32, u32),
        entry: Entry,
        entries: u32,
        used: &[u16],
    ) -> Directory {
        let mut chunks = used.to_vec();
        if let Some(first) = chunks.first_mut() {
            *first += DOTS;
        }
        Directory {
            slot,
            parent,
            entry,
            entries,
            alive: true,
            chunks,
            first_room: 0,
        }
    }

    /// Chunks of a directory of so many bytes.
    pub fn chunks_of(size: u64) -> usize {
        (size / CHUNK) as usize
    }

    /// Number of its last chunk.
    pub fn last_chunk(&self) -> usize {
        self.chunks.len() - 1
    }
}

/// Where a name stands in its directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub chunk: u32,
    pub bytes: u16,
}

/// Bytes of the entry of a name.
pub fn entry_bytes(name: &str) -> u16 {
    8 + (name.len() as u16 + 1).next_multiple_of(4)
}

/// Bytes of the smallest entry.
const SMALLEST: u16 = 12;

impl Lfs {
    /// Inode and first chunk of a directory.
    pub(super) fn make_directory_inode(&mut self, ino: u32) -> u32 {
        let slot = self.new_inode(ino, Kind::Directory);
        // Space for it was asked for, or is there in an empty file system.
        let written = self.write_block(slot, 0, CHUNK);
        debug_assert!(written.is_ok() || ino > ROOT_INO);
        self.inode_changed(slot);
        slot
    }

    /// Remembers a directory; gives its number.
    pub(super) fn add_directory(&mut self, slot: u32, parent: u32, entry: Entry) -> u32 {
        let dir = Directory {
            slot,
            parent,
            entry,
            entries: 0,
            alive: true,
            chunks: vec![DOTS],
            first_room: 0,
        };
        let number = if let Some(number) = self.free_dirs.pop() {
            self.dirs[number as usize] = dir;
            number
        } else {
            self.dirs.push(dir);
            self.dirs.len() as u32 - 1
        };
        self.changes.new_directory(number);
        number
    }

    /// Marks an inode as part of a directory operation.
    pub(super) fn mark(&mut self, slot: u32) {
        self.inode_changed(slot);
        let lite2 = self.params.variant == Variant::Lite2;
        self.ifile_due |= lite2;
        let inode = &mut self.inodes[slot as usize];
        if (!lite2 || self.params.roll_forward) && !inode.is(Inode::MARKED) {
            inode.set(Inode::MARKED, true);
            self.marked.push(slot);
        }
    }

    /// Makes an inode of a file or directory and enters it; gives its slot and where its name stands.
    pub(super) fn make_entry(
        &mut self,
        dir: u32,
        kind: Kind,
        bytes: u16,
    ) -> Result<(u32, Entry), NoSpace> {
        let ino = self.take_ino()?;
        let Ok(entry) = self.enter(dir, bytes) else {
            self.free_inodes.free(ino);
            return Err(NoSpace);
        };
        let slot = self.new_inode(ino, kind);
        if kind == Kind::Directory && self.write_block(slot, 0, CHUNK).is_err() {
            self.leave(dir, entry);
            self.free_inode(slot);
            return Err(NoSpace);
        }
        self.mark(self.dirs[dir as usize].slot);
        self.mark(slot);
        Ok((slot, entry))
    }

    /// A file or directory without names goes: at once with `lite2`, with the next checkpoint in `netbsd`, and with
    /// roll-forward in `lite2` with the next segment write.
    pub(super) fn remove(&mut self, slot: u32, dir: u32) {
        self.mark(slot);
        self.mark(self.dirs[dir as usize].slot);
        self.inodes[slot as usize].set(Inode::REMOVED, true);
        if self.params.variant == Variant::Lite2 && !self.params.roll_forward {
            self.free_inode(slot);
        }
    }

    /// Enters a name of so many bytes into a directory.
    pub(super) fn enter(&mut self, number: u32, bytes: u16) -> Result<Entry, NoSpace> {
        let dir = &mut self.dirs[number as usize];
        let slot = dir.slot;
        let from = dir.first_room as usize;
        let room = |used: &u16| u64::from(*used + bytes) <= CHUNK;
        let chunk = if let Some(i) = dir.chunks[from..].iter().position(room) {
            let chunk = from + i;
            dir.chunks[chunk] += bytes;
            // Empty chunks behind the last entry go.
            let used = dir.chunks.iter().rposition(|&used| used > 0).unwrap_or(0) + 1;
            if used < dir.chunks.len() {
                dir.chunks.truncate(used);
                self.truncate(slot, used as u64 * CHUNK);
            }
            chunk
        } else {
            let chunk = dir.chunks.len();
            let end = (chunk as u64 + 1) * CHUNK;
            self.write_block(slot, self.block_of(chunk), end)?;
            self.dirs[number as usize].chunks.push(bytes);
            chunk
        };
        self.dirty(slot, self.block_of(chunk));
        self.inode_changed(slot);
        let dir = &mut self.dirs[number as usize];
        dir.entries += 1;
        let full = |used: &u16| u64::from(*used + SMALLEST) > CHUNK;
        let from = dir.first_room as usize;
        dir.first_room += dir.chunks[from..]
            .iter()
            .take_while(|&used| full(used))
            .count() as u32;
        Ok(Entry {
            chunk: chunk as u32,
            bytes,
        })
    }

    /// Takes a name out of a directory, which does not shrink now.
    pub(super) fn leave(&mut self, number: u32, entry: Entry) {
        let dir = &mut self.dirs[number as usize];
        dir.entries -= 1;
        dir.chunks[entry.chunk as usize] -= entry.bytes;
        dir.first_room = dir.first_room.min(entry.chunk);
        let slot = dir.slot;
        self.dirty(slot, self.block_of(entry.chunk as usize));
        self.inode_changed(slot);
    }

    /// The block of a directory that holds a chunk.
    pub(super) fn block_of(&self, chunk: usize) -> i32 {
        (chunk as u64 * CHUNK / u64::from(self.geometry.block_bytes)) as i32
    }
}
