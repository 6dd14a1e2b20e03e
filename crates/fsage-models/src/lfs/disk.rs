//! What is on disk: summaries and blocks by address, as they were written last, and the superblocks.
//!
//! A model keeps it only if it was made by [`super::Lfs::recorded`]. Writes reach it in the order in which the model
//! issues them, so that a crash leaves the disk as it is after the first so many of them. A partial segment may be cut
//! short; its summary is then no longer valid, as a checksum over its blocks would tell. A superblock is written as a
//! whole or not at all.

use super::directory::Entry;
use super::geometry::Geometry;
use super::inode::Kind;
use super::segments::Log;
use super::usage::Usage;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The contents of a disk, as far as a file system needs them to be found again.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    stored: BTreeMap<u32, Stored>,
    superblocks: [Option<Superblock>; 2],
}

/// A write of the model: a partial segment or a superblock.
#[derive(Clone, Debug)]
pub struct Write(pub(super) Written);

#[derive(Clone, Debug)]
pub(super) enum Written {
    /// The summary and the blocks of a partial segment with their addresses and sectors, ascending.
    Partial {
        serial: u64,
        blocks: Vec<(u32, u32, Arc<Contents>)>,
    },
    Superblock(u32, Superblock),
}

impl Write {
    /// Summary and blocks of a partial segment; 0 for a superblock.
    pub fn blocks(&self) -> usize {
        match &self.0 {
            Written::Partial { blocks, .. } => blocks.len(),
            Written::Superblock(..) => 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Stored {
    sectors: u32,
    /// The partial segment that it was written with.
    serial: u64,
    contents: Arc<Contents>,
}

/// What a block holds.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    Summary(Summary),
    /// Data of a file: the number of the write that they are from.
    Data(u64),
    Directory(Vec<DirectoryEntry>),
    /// Addresses of what an indirect block leads to; 0 is a hole.
    Pointers(Vec<u32>),
    Inodes(Vec<DiskInode>),
    /// The first block of the ifile. All that it says is counted anew by a recovery.
    CleanerInfo,
    Usage(Vec<Usage>),
    /// Versions of inodes, and where they lie.
    Map(Vec<(u32, u32)>),
}

/// The summary of a partial segment.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub serial: u64,
    /// Operations when it was written.
    pub time: u64,
    pub sectors: u32,
    pub flags: u8,
    /// The segment that follows this one in the log.
    pub next: Option<u32>,
    /// What it lists.
    pub log: Log,
    /// Where its blocks lie: what the checksum is over.
    addresses: Vec<u32>,
}

impl Summary {
    pub fn new(
        (serial, time): (u64, u64),
        sectors: u32,
        flags: u8,
        next: Option<u32>,
        log: Log,
    ) -> Summary {
        Summary {
            serial,
            time,
            sectors,
            flags,
            next,
            log,
            addresses: Vec::new(),
        }
    }
}

/// An entry of a directory: the model knows names by ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectoryEntry {
    pub child: Child,
    pub ino: u32,
    pub entry: Entry,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Child {
    File(u64),
    Directory(u64),
}

/// An inode as it is on disk.
#[derive(Clone, Debug)]
pub(super) struct DiskInode {
    pub ino: u32,
    pub version: u32,
    pub kind: Kind,
    pub size: u64,
    /// Addresses of the direct blocks.
    pub direct: Vec<u32>,
    /// Addresses of the first single and double and of the triple indirect block.
    pub indirect: [u32; 3],
}

/// A checkpoint: where the ifile lies, and where the log goes on.
#[derive(Clone, Debug)]
pub(super) struct Superblock {
    pub geometry: Geometry,
    pub serial: u64,
    pub time: u64,
    /// Inode block with the ifile's inode.
    pub ifile: u32,
    pub current: u32,
    pub offset: u32,
    pub next: Option<u32>,
    /// The copy that the next checkpoint writes first.
    pub active: u32,
}

impl Disk {
    /// A write reaches the disk.
    pub fn write(&mut self, write: &Write) {
        match &write.0 {
            Written::Partial { serial, blocks } => self.write_blocks(*serial, blocks),
            Written::Superblock(copy, superblock) => {
                self.superblocks[*copy as usize] = Some(superblock.clone());
            }
        }
    }

    /// Of a partial segment only its first blocks reach the disk, the summary being one of them. Of a superblock
    /// nothing does.
    pub fn write_torn(&mut self, write: &Write, blocks: usize) {
        if let Written::Partial {
            serial,
            blocks: all,
        } = &write.0
        {
            self.write_blocks(*serial, &all[..blocks.min(all.len())]);
        }
    }

    fn write_blocks(&mut self, serial: u64, blocks: &[(u32, u32, Arc<Contents>)]) {
        for (address, sectors, contents) in blocks {
            let end = address + sectors;
            // What lay here is gone, and what reached into here is damaged.
            let before = self.stored.range(..address).next_back();
            let cut = before.filter(|(start, s)| *start + s.sectors > *address);
            let cut = cut.map(|(&start, _)| start);
            let covered = self.stored.range(address..&end).map(|(&start, _)| start);
            for start in covered.chain(cut).collect::<Vec<u32>>() {
                self.stored.remove(&start);
            }
            let stored = Stored {
                sectors: *sectors,
                serial,
                contents: Arc::clone(contents),
            };
            self.stored.insert(*address, stored);
        }
    }

    /// What lies at an address, if a block that was written as a whole does.
    pub(super) fn at(&self, address: u32) -> Option<&Arc<Contents>> {
        self.stored.get(&address).map(|stored| &stored.contents)
    }

    /// The partial segment that starts at an address, if its summary is valid: all its blocks were written with it.
    pub(super) fn partial_at(&self, address: u32) -> Option<&Summary> {
        let stored = self.stored.get(&address)?;
        let Contents::Summary(summary) = &*stored.contents else {
            return None;
        };
        let own = |at: &u32| self.stored.get(at).map(|s| s.serial) == Some(summary.serial);
        summary.addresses.iter().all(own).then_some(summary)
    }

    /// An inode in an inode block; of several the last one counts.
    pub(super) fn inode(&self, address: u32, ino: u32) -> Option<&DiskInode> {
        match &**self.at(address)? {
            Contents::Inodes(inodes) => inodes.iter().rfind(|inode| inode.ino == ino),
            _ => None,
        }
    }

    /// The number of the write that a block of data is from.
    pub(super) fn data(&self, address: u32) -> Option<u64> {
        match **self.at(address)? {
            Contents::Data(stamp) => Some(stamp),
            _ => None,
        }
    }

    /// The highest number of a write on the disk.
    pub(super) fn last_data(&self) -> u64 {
        let stamps = self.stored.values().map(|stored| match *stored.contents {
            Contents::Data(stamp) => stamp,
            _ => 0,
        });
        stamps.max().unwrap_or(0)
    }

    /// The newest checkpoint.
    pub(super) fn checkpoint(&self) -> Option<&Superblock> {
        let copies = self.superblocks.iter().flatten();
        copies.max_by_key(|superblock| superblock.serial)
    }
}

impl Written {
    /// A partial segment: its summary, and its blocks in any order.
    pub fn partial(
        address: u32,
        mut summary: Summary,
        mut blocks: Vec<(u32, u32, Arc<Contents>)>,
    ) -> Written {
        blocks.sort_unstable_by_key(|&(at, ..)| at);
        summary.addresses = blocks.iter().map(|&(at, ..)| at).collect();
        let serial = summary.serial;
        let summary = Arc::new(Contents::Summary(summary));
        blocks.insert(0, (address, 1, summary));
        Written::Partial { serial, blocks }
    }
}
