//! What a crash can tell: every write of the model with its contents, kept only if asked for.
//!
//! A model knows where blocks lie, not what is in them. The recorder adds that: for data the number of the write that
//! they are from, for directories their names. Everything else that is written, it takes from the model as the partial
//! segment is closed.

use super::directory::Entry;
use super::disk::{
    Child, Contents, DirectoryEntry, Disk, DiskInode, Summary, Superblock, Write, Written,
};
use super::geometry::{DIRECT, SECTOR};
use super::ifile::IFILE_INO;
use super::inode::{Inode, Kind};
use super::segments::{Partial, sectors};
use super::{Lfs, NewfsError, Params};
use fsage_core::FileId;
use fsage_core::operations::Namespace as _;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The disk and the contents of the cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    pub disk: Disk,
    writes: Vec<Write>,
    /// Writes of data blocks so far.
    pub last_stamp: u64,
    /// By inode slot and block: the write that its data in the cache are from.
    pub stamps: BTreeMap<(u32, i32), u64>,
    /// Names by the slot of their directory and its block, with the inode and the place.
    pub names: BTreeMap<(u32, i32, Child), (u32, Entry)>,
    /// Ids of directories by inode slot.
    pub dir_ids: BTreeMap<u32, u64>,
    /// Sizes of inodes as they were written last, by inode number.
    pub sizes: BTreeMap<u32, u64>,
    /// Contents of blocks that the cleaner moves, as it read them.
    moved: BTreeMap<(u32, i32), Arc<Contents>>,
}

impl Lfs {
    /// Makes an empty file system that keeps what it writes, to be recovered from after a crash
    /// ([`Lfs::recover`]).
    ///
    /// # Errors
    /// Parameters that `newfs` refuses.
    pub fn recorded(params: Params) -> Result<Lfs, NewfsError> {
        Lfs::made(params, Some(Box::default()))
    }

    /// Writes since the last time, in the order in which they reach the disk; none if they are not recorded.
    pub fn take_writes(&mut self) -> Vec<Write> {
        let recorder = self.recorder.as_mut();
        recorder.map_or_else(Vec::new, |r| std::mem::take(&mut r.writes))
    }

    /// What is on disk now, if that is recorded.
    pub fn disk(&self) -> Option<&Disk> {
        self.recorder.as_ref().map(|recorder| &recorder.disk)
    }

    /// What is in a file: its blocks by number, each with the number of the write that its data are from. Writes are
    /// numbered from 1 over the whole file system. Nothing if contents are not recorded, or there is no such file.
    pub fn data_of(&self, file: FileId) -> Vec<(u32, u64)> {
        let (Some(slot), Some(recorder)) = (self.find_file(file), &self.recorder) else {
            return Vec::new();
        };
        let blocks = recorder.stamps.range((slot, 0)..=(slot, i32::MAX));
        blocks
            .map(|(&(_, lbn), &data)| (lbn as u32, data))
            .collect()
    }

    /// A block of a file has new data.
    pub(super) fn record_data(&mut self, slot: u32, lbn: i32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.last_stamp += 1;
            recorder.stamps.insert((slot, lbn), recorder.last_stamp);
        }
    }

    /// A block of a file is no longer.
    pub(super) fn record_freed(&mut self, slot: u32, lbn: i32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stamps.remove(&(slot, lbn));
        }
    }

    /// The cleaner moves a block as it is on disk, whatever waits in the cache.
    pub(super) fn record_moved(&mut self, slot: u32, lbn: i32, from: u32) {
        if let Some(recorder) = &mut self.recorder
            && let Some(contents) = recorder.disk.at(from)
        {
            recorder.moved.insert((slot, lbn), Arc::clone(contents));
        }
    }

    /// A name is entered into a directory.
    pub(super) fn record_name(&mut self, dir: u32, entry: Entry, child: Child, slot: u32) {
        let lbn = self.block_of(entry.chunk as usize);
        let (dir, ino) = (self.dirs[dir as usize].slot, self.inodes[slot as usize].ino);
        if let Some(recorder) = &mut self.recorder {
            recorder.names.insert((dir, lbn, child), (ino, entry));
            if let Child::Directory(id) = child {
                recorder.dir_ids.insert(slot, id);
            }
        }
    }

    /// The name of a file goes from a directory.
    pub(super) fn record_unnamed(&mut self, dir: u32, entry: Entry, id: u64) {
        let lbn = self.block_of(entry.chunk as usize);
        let dir = self.dirs[dir as usize].slot;
        if let Some(recorder) = &mut self.recorder {
            recorder.names.remove(&(dir, lbn, Child::File(id)));
        }
    }

    /// The name of a directory goes from the one above it. Gives the name.
    pub(super) fn record_unnamed_directory(
        &mut self,
        parent: u32,
        entry: Entry,
        slot: u32,
    ) -> Option<Child> {
        let lbn = self.block_of(entry.chunk as usize);
        let parent = self.dirs[parent as usize].slot;
        let recorder = self.recorder.as_mut()?;
        let child = Child::Directory(*recorder.dir_ids.get(&slot)?);
        recorder.names.remove(&(parent, lbn, child));
        Some(child)
    }

    /// A partial segment is written.
    pub(super) fn record_partial(&mut self, partial: &Partial) {
        let Some(mut recorder) = self.recorder.take() else {
            return;
        };
        let g = &self.geometry;
        let log = &self.open.log;
        let mut blocks = Vec::new();
        for (finfo, lbn, address, bytes) in log.blocks(g) {
            let slot = self.map[finfo.ino as usize].slot;
            let moved = recorder.moved.remove(&(slot, lbn));
            let contents = moved.unwrap_or_else(|| Arc::new(self.contents(&recorder, slot, lbn)));
            blocks.push((address, sectors(bytes), contents));
        }
        for (block, inos) in log.inodes() {
            let inodes = inos.iter().map(|&ino| self.disk_inode(&mut recorder, ino));
            let inodes = Arc::new(Contents::Inodes(inodes.collect()));
            blocks.push((block.address, g.block_sectors(), inodes));
        }
        let summary = Summary::new(
            (partial.serial, self.now),
            partial.sectors,
            partial.flags,
            self.next,
            log.clone(),
        );
        recorder.record(Write(Written::partial(partial.address, summary, blocks)));
        self.recorder = Some(recorder);
    }

    /// A superblock is written.
    pub(super) fn record_superblock(&mut self, copy: u32) {
        let superblock = Superblock {
            geometry: self.geometry.clone(),
            serial: self.serial,
            time: self.now,
            ifile: self.map[IFILE_INO as usize].address,
            current: self.current,
            offset: self.offset,
            next: self.next,
            active: self.active_superblock,
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.record(Write(Written::Superblock(copy, superblock)));
        }
    }

    /// What is in a block in the cache.
    fn contents(&self, recorder: &Recorder, slot: u32, lbn: i32) -> Contents {
        let inode = &self.inodes[slot as usize];
        if lbn < 0 {
            return Contents::Pointers(self.pointers_of(inode, lbn));
        }
        match inode.kind {
            Kind::File | Kind::Symlink => {
                let data = recorder.stamps.get(&(slot, lbn));
                Contents::Data(data.copied().unwrap_or_default())
            }
            Kind::Directory => {
                let names = (slot, lbn, Child::File(0))..=(slot, lbn, Child::Directory(u64::MAX));
                let names = recorder.names.range(names);
                let entry = |(&(_, _, child), &(ino, entry))| DirectoryEntry { child, ino, entry };
                Contents::Directory(names.map(entry).collect())
            }
            Kind::Ifile => self.ifile_contents(lbn as u32),
        }
    }

    fn ifile_contents(&self, lbn: u32) -> Contents {
        let g = &self.geometry;
        let part = |number: u32, per_block: u32, entries: usize| {
            let from = (number * per_block) as usize;
            from..(from + per_block as usize).min(entries)
        };
        match lbn.checked_sub(1) {
            None => Contents::CleanerInfo,
            Some(block) if block < g.usage_blocks => {
                let segments = part(block, g.usages_per_block, g.nseg as usize);
                let usages = self.usage.iter().skip(segments.start);
                Contents::Usage(usages.take(segments.len()).copied().collect())
            }
            Some(block) => {
                let per_block = g.map_entries_per_block;
                let inodes = part(block - g.usage_blocks, per_block, self.map.len());
                let entries = self.map[inodes].iter().map(|e| (e.version, e.address));
                Contents::Map(entries.collect())
            }
        }
    }

    /// Addresses that an indirect block holds. What was never written has none.
    fn pointers_of(&self, inode: &Inode, lbn: i32) -> Vec<u32> {
        let g = &self.geometry;
        let blocks = inode.size.div_ceil(u64::from(g.block_bytes)) as i64;
        let children = (0..g.pointers as usize).map_while(|i| g.child(lbn, i, blocks));
        let mut addresses: Vec<u32> = children.map(|c| inode.block(g, c).address).collect();
        let used = addresses.iter().rposition(|&address| address != 0);
        addresses.truncate(used.map_or(0, |last| last + 1));
        addresses
    }

    /// An inode as it goes to disk. It must not promise more than is there: where its last block is longer in the
    /// cache, the size is the one that was written before.
    fn disk_inode(&self, recorder: &mut Recorder, ino: u32) -> DiskInode {
        let g = &self.geometry;
        let entry = self.map[ino as usize];
        let inode = &self.inodes[entry.slot as usize];
        let address = |lbn: i32| inode.block(g, lbn).address;
        let direct = 0..DIRECT as i32;
        let longer = direct.clone().any(|lbn| {
            let block = inode.block(g, lbn);
            let on_disk = u32::from(block.sectors) * SECTOR;
            block.address != 0 && inode.block_bytes(g, lbn) > on_disk
        });
        let written = recorder.sizes.get(&ino).filter(|_| longer);
        let size = written.copied().unwrap_or(inode.size);
        recorder.sizes.insert(ino, size);
        DiskInode {
            ino,
            version: entry.version,
            kind: inode.kind,
            size,
            direct: direct.map(address).collect(),
            indirect: [g.single_name(0), g.double_name(0), g.triple_name()].map(address),
        }
    }
}

impl Recorder {
    fn record(&mut self, write: Write) {
        self.disk.write(&write);
        self.writes.push(write);
    }

    /// Goes on from a disk that was left by a crash.
    pub fn on(disk: Disk) -> Recorder {
        Recorder {
            last_stamp: disk.last_data(),
            disk,
            ..Recorder::default()
        }
    }
}
