//! Recovery after a crash: the last checkpoint, and with roll-forward what was written behind it.
//!
//! The superblock leads to the ifile, this to inodes and usage of segments, and these to everything else. Roll-forward
//! (docs/spec/lfs.md, section 10) then follows the log from the checkpoint as long as summaries are valid and their
//! numbers rise. A partial segment that starts a directory operation counts only if one that ends it follows; from
//! the first that has none on everything is dropped. Of what counts, the inodes replace those that the map leads to,
//! and data of files replace those at the same place. What belongs to the ifile is left out: it says nothing that is
//! not counted anew. Inodes without a name are freed, as deletions leave them, and a checkpoint ends the recovery.

use super::directory::{Directory, Entry};
use super::disk::{Child, Contents, DirectoryEntry, Disk, Summary, Superblock};
use super::geometry::{DIRECT, NewfsError, SECTOR};
use super::ifile::{FreeInodes, IFILE_INO, MapEntry, NO_SLOT, ROOT_INO};
use super::inode::{Block, Inode, Kind};
use super::params::Variant;
use super::recorder::Recorder;
use super::segments::{Partial, sectors};
use super::usage::UsageTable;
use super::{Geometry, IFILE, Lfs, Params, check};
use crate::findings::Findings;
use fsage_core::DirId;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why there is no file system on a disk, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unrecoverable {
    /// Parameters that no file system can be made with.
    #[error(transparent)]
    Newfs(#[from] NewfsError),
    /// No superblock was written.
    #[error("no superblock is on the disk: expected what newfs writes; make the file system first")]
    NoSuperblock,
    /// It was made with other sizes, or as the other variant.
    #[error(
        "the file system on the disk has {0} segments: expected {1}, and equal sizes of everything else; use the \
         parameters that it was made with"
    )]
    OtherSizes(u32, u32),
    /// A name leads to an inode that is not there.
    #[error(
        "inode {0} is not on the disk: expected the one that a name leads to; directory operations were not marked in \
         the log: use roll_forward where the file system is made"
    )]
    NoInode(u32),
    /// Something lies where something else should.
    #[error(
        "sector {address}: expected {expected}, found something else; its segment was written anew before a checkpoint \
         freed it: use roll_forward where the file system is made"
    )]
    Lost {
        /// Sector.
        address: u32,
        /// What should lie there.
        expected: &'static str,
    },
}

/// What a recovery did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Partial segments behind the checkpoint that count.
    pub adopted_partials: usize,
    /// Valid ones that do not: all without roll-forward, else those from a directory operation on that has no end.
    pub dropped_partials: usize,
    /// Inodes freed that no name leads to.
    pub freed_inodes: usize,
}

/// A partial segment of the log, with its segment and address.
type Found = (u32, u32, Summary);

impl Lfs {
    /// The file system that a crash left on a disk: as of the last checkpoint, and with
    /// [`roll_forward`](Params::roll_forward) with everything that was written whole behind it. It goes on recording.
    ///
    /// ```
    /// use fsage_core::{DirId, FileId, FileSystem, Op};
    /// use fsage_models::lfs::{Disk, Lfs, Params, Variant};
    ///
    /// let params = Params { roll_forward: true, ..Params::of_variant(Variant::Lite2) };
    /// let mut fs = Lfs::recorded(params.clone()).unwrap();
    /// let file = FileId(1);
    /// fs.apply(&Op::Create { file, dir: DirId::ROOT, bytes: 10_000 }).unwrap();
    /// fs.apply(&Op::Fsync { file }).unwrap();
    ///
    /// // A crash behind all writes, none of which was a checkpoint since the file was made.
    /// let mut disk = Disk::default();
    /// for write in &fs.take_writes() {
    ///     disk.write(write);
    /// }
    /// let (fs, recovery) = Lfs::recover(params, disk).unwrap();
    /// assert_eq!(fs.file_size(file), Some(10_000));
    /// assert!(recovery.adopted_partials > 0);
    /// ```
    ///
    /// # Errors
    /// Parameters that `newfs` refuses; no superblock; blocks that are overwritten.
    pub fn recover(params: Params, disk: Disk) -> Result<(Lfs, Recovery), Unrecoverable> {
        let geometry = Geometry::newfs(&params)?;
        let start = disk.checkpoint().ok_or(Unrecoverable::NoSuperblock)?;
        if start.geometry != geometry {
            return Err(Unrecoverable::OtherSizes(
                start.geometry.nseg,
                geometry.nseg,
            ));
        }
        let mut fs = Lfs::blank(params, geometry);
        fs.read_checkpoint(&disk, start)?;
        let mut log = fs.log_behind(&disk, start);
        let found = log.len();
        if fs.params.roll_forward {
            drop_unfinished(&mut log);
        } else {
            log.clear();
        }
        let mut recovery = Recovery {
            adopted_partials: log.len(),
            dropped_partials: found - log.len(),
            freed_inodes: 0,
        };
        let data = fs.roll(&disk, log)?;
        fs.read_inodes(&disk)?;
        for (ino, (version, blocks)) in data {
            fs.adopt_data(ino, version, &blocks);
        }
        let mut recorder = Recorder::on(disk);
        let named = fs.read_names(&mut recorder)?;
        fs.recorder = Some(Box::new(recorder));
        fs.count();
        recovery.freed_inodes = fs.free_nameless(named);
        if fs.params.roll_forward {
            fs.checkpoint_at_once();
        }
        Ok((fs, recovery))
    }

    /// The ifile at the checkpoint, and the logs of the segments that held data then.
    fn read_checkpoint(&mut self, disk: &Disk, start: &Superblock) -> Result<(), Unrecoverable> {
        self.current = start.current;
        self.offset = start.offset;
        self.next = start.next;
        self.active_superblock = start.active;
        (self.serial, self.now) = (start.serial, start.time);
        self.inodes.push(Inode::new(IFILE_INO, Kind::Ifile, 0));
        self.read_inode(disk, IFILE, start.ifile)?;
        let mut usage = Vec::new();
        for lbn in 0..self.inodes[IFILE as usize].size / u64::from(self.geometry.block_bytes) {
            let address = self.inodes[IFILE as usize]
                .block(&self.geometry, lbn as i32)
                .address;
            match disk.at(address).map(AsRef::as_ref) {
                Some(Contents::CleanerInfo) => {}
                Some(Contents::Usage(segments)) => usage.extend_from_slice(segments),
                Some(Contents::Map(entries)) => {
                    self.map
                        .extend(entries.iter().map(|&(version, address)| MapEntry {
                            version,
                            address,
                            slot: NO_SLOT,
                        }));
                }
                _ => return Err(lost(address, "a block of the ifile")),
            }
        }
        if usage.len() != self.geometry.nseg as usize || self.map.len() <= ROOT_INO as usize {
            return Err(lost(start.ifile, "the ifile of a disk of this size"));
        }
        self.usage = UsageTable::of(usage);
        self.map[IFILE_INO as usize] = MapEntry {
            version: 1,
            address: start.ifile,
            slot: IFILE,
        };
        for segment in 0..self.geometry.nseg {
            // What held nothing at the checkpoint is free with it.
            if self.usage[segment].is_empty() && segment != self.current {
                self.usage.free(segment);
            }
            self.read_log(disk, segment)?;
        }
        Ok(())
    }

    /// The partial segments of a segment that the usage table counts.
    fn read_log(&mut self, disk: &Disk, segment: u32) -> Result<(), Unrecoverable> {
        let g = &self.geometry;
        let mut address = g.segment_start(segment) + g.reserved_sectors(segment);
        let usage = &self.usage[segment];
        let summaries = if usage.dirty { usage.summaries } else { 0 };
        let log = &mut self.logs[segment as usize];
        for _ in 0..summaries {
            let summary = disk.partial_at(address);
            let summary = summary.ok_or(lost(address, "a partial segment"))?;
            log.append(&summary.log);
            log.partials.push(partial_of(summary, address));
            address += summary.sectors;
        }
        Ok(())
    }

    /// Valid partial segments behind the checkpoint.
    fn log_behind(&mut self, disk: &Disk, start: &Superblock) -> Vec<Found> {
        let g = &self.geometry;
        let (mut segment, mut offset, mut next) = (start.current, start.offset, start.next);
        let mut log: Vec<Found> = Vec::new();
        loop {
            if g.segment_sectors - (offset - g.segment_start(segment)) <= g.block_sectors() {
                let Some(behind) = next else { break };
                segment = behind;
                offset = g.segment_start(segment) + g.reserved_sectors(segment);
            }
            let summary = disk.partial_at(offset);
            // Numbers rise, by more than 1 where a recovery has skipped those of what it dropped.
            let Some(summary) = summary.filter(|summary| summary.serial > self.serial) else {
                break;
            };
            self.serial = summary.serial;
            log.push((segment, offset, summary.clone()));
            (offset, next) = (offset + summary.sectors, summary.next);
        }
        log
    }

    /// The log goes on with partial segments that count. Gives data that no inode behind them has told of, by inode:
    /// its version, and blocks with address and bytes.
    fn roll(&mut self, disk: &Disk, log: Vec<Found>) -> Result<DataByInode, Unrecoverable> {
        let mut data = DataByInode::new();
        for (segment, address, summary) in log {
            if segment != self.current {
                self.usage.begin(segment, true);
                self.logs[segment as usize].clear();
                self.active += 1;
                self.switches += 1;
                self.current = segment;
            }
            self.offset = address + summary.sectors;
            self.next = summary.next;
            self.now = self.now.max(summary.time);
            let g = self.geometry.clone();
            let log = &mut self.logs[segment as usize];
            log.append(&summary.log);
            log.partials.push(partial_of(&summary, address));
            let seg = self.usage.change(segment);
            seg.last_write = summary.time;
            seg.youngest = summary.time;
            seg.summaries += 1;
            seg.inode_blocks += summary.log.inode_blocks.len() as u32;
            for (finfo, lbn, at, bytes) in summary.log.blocks(&g) {
                seg.data_sectors += sectors(bytes);
                seg.data_times += u64::from(sectors(bytes)) * summary.time;
                if lbn >= 0 && finfo.ino != IFILE_INO {
                    let of_inode = data.entry(finfo.ino).or_default();
                    if of_inode.0 != finfo.version {
                        *of_inode = (finfo.version, Vec::new());
                    }
                    of_inode.1.push((lbn, at, bytes));
                }
            }
            for (block, inos) in summary.log.inodes() {
                for &ino in inos.iter().filter(|&&ino| ino != IFILE_INO) {
                    data.remove(&ino);
                    let inode = disk.inode(block.address, ino);
                    let inode = inode.ok_or(lost(block.address, "an inode"))?;
                    self.lead_to(ino, inode.version, block.address);
                }
            }
        }
        Ok(data)
    }

    /// The map leads to an inode; it grows where there is no entry for it.
    fn lead_to(&mut self, ino: u32, version: u32, address: u32) {
        let g = &self.geometry;
        let (lbn, sectors) = (g.map_block(ino), g.block_sectors());
        while self.map.len() <= ino as usize {
            let lbn = self.geometry.map_block(self.map.len() as u32);
            self.charge_new_block(IFILE, lbn, sectors)
                .expect("nothing is counted yet, so that there is space");
            self.extend_map(u32::MAX);
            self.dirty(IFILE, lbn);
        }
        let entry = &mut self.map[ino as usize];
        (entry.version, entry.address) = (version, address);
        self.dirty(IFILE, lbn);
    }

    /// Every inode that the map leads to, and the numbers that are free.
    fn read_inodes(&mut self, disk: &Disk) -> Result<(), Unrecoverable> {
        let mut free = FreeInodes::new(self.params.variant);
        for ino in (IFILE_INO + 1..self.map.len() as u32).rev() {
            if self.map[ino as usize].address == 0 {
                free.free(ino);
            }
        }
        self.free_inodes = free;
        for ino in IFILE_INO + 1..self.map.len() as u32 {
            let address = self.map[ino as usize].address;
            if address != 0 {
                let kind = disk.inode(address, ino).map(|inode| inode.kind);
                let slot = self.new_inode(ino, kind.ok_or(lost(address, "an inode"))?);
                self.read_inode(disk, slot, address)?;
            }
        }
        Ok(())
    }

    /// An inode with the addresses of its blocks. `ino` and kind are there.
    fn read_inode(&mut self, disk: &Disk, slot: u32, address: u32) -> Result<(), Unrecoverable> {
        let g = &self.geometry;
        let inode = &mut self.inodes[slot as usize];
        let on_disk = disk.inode(address, inode.ino);
        let on_disk = on_disk.ok_or(lost(address, "an inode"))?;
        inode.size = on_disk.size;
        let blocks = i64::from(DIRECT).min(blocks_of(inode, g)) as i32;
        for (lbn, &at) in (0..blocks).zip(&on_disk.direct) {
            put_block(inode, g, lbn, at);
        }
        let roots = [g.single_name(0), g.double_name(0), g.triple_name()];
        let mut pointers: Vec<(i32, u32)> = roots.into_iter().zip(on_disk.indirect).collect();
        while let Some((name, at)) = pointers.pop() {
            if at == 0 || g.child(name, 0, blocks_of(inode, g)).is_none() {
                continue;
            }
            let Some(Contents::Pointers(children)) = disk.at(at).map(AsRef::as_ref) else {
                return Err(lost(at, "an indirect block"));
            };
            put_block(inode, g, name, at);
            for (i, &at) in children.iter().enumerate() {
                match g.child(name, i, blocks_of(inode, g)) {
                    Some(lbn) if lbn >= 0 => put_block(inode, g, lbn, at),
                    Some(lbn) => pointers.push((lbn, at)),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Data of a file that were written behind its inode: they replace what is at their place. A file does not become
    /// longer by them, and holes stay.
    fn adopt_data(&mut self, ino: u32, version: u32, blocks: &[(i32, u32, u32)]) {
        let entry = self.map.get(ino as usize).copied().unwrap_or_default();
        if entry.address == 0 || entry.version != version {
            return;
        }
        for &(lbn, at, bytes) in blocks {
            let inode = &mut self.inodes[entry.slot as usize];
            let there = inode.block(&self.geometry, lbn).is(Block::THERE);
            let whole = bytes >= inode.block_bytes(&self.geometry, lbn);
            if i64::from(lbn) < blocks_of(inode, &self.geometry) && there && whole {
                put_block(inode, &self.geometry, lbn, at);
                match self.geometry.parent(lbn) {
                    Some(parent) => self.dirty(entry.slot, parent),
                    None => self.inode_changed(entry.slot),
                }
            }
        }
    }

    /// Directories from the root down, and the names in them; data of files. Gives the inodes that have names, by slot.
    fn read_names(&mut self, recorder: &mut Recorder) -> Result<Vec<bool>, Unrecoverable> {
        let root = self.map[ROOT_INO as usize];
        if root.address == 0 {
            return Err(Unrecoverable::NoInode(ROOT_INO));
        }
        let mut named = vec![false; self.inodes.len()];
        let mut files: BTreeMap<u32, Vec<(u64, u32, Entry)>> = BTreeMap::new();
        self.add_directory(root.slot, 0, Entry::default());
        let mut number = 0;
        while let Some(dir) = self.dirs.get(number as usize) {
            let (slot, parent, place) = (dir.slot, dir.parent, dir.entry);
            let (used, names) = self.names_in(&recorder.disk, slot)?;
            let dir = Directory::rebuilt((slot, parent), place, names.len() as u32, &used);
            self.dirs[number as usize] = dir;
            for (lbn, DirectoryEntry { child, ino, entry }) in names {
                recorder.names.insert((slot, lbn, child), (ino, entry));
                let inode = self
                    .map
                    .get(ino as usize)
                    .filter(|inode| inode.address != 0);
                let slot = inode.ok_or(Unrecoverable::NoInode(ino))?.slot;
                named[slot as usize] = true;
                match child {
                    Child::File(id) => files.entry(slot).or_default().push((id, number, entry)),
                    Child::Directory(id) => {
                        let number = self.add_directory(slot, number, entry);
                        self.dir_ids.insert(DirId(id), number);
                        recorder.dir_ids.insert(slot, id);
                    }
                }
            }
            number += 1;
        }
        for (slot, mut names) in files {
            names.sort_unstable_by_key(|&(id, ..)| id);
            self.adopt_names(slot, &names);
        }
        for (slot, inode) in (0..).zip(&self.inodes) {
            recorder.sizes.insert(inode.ino, inode.size);
            inode.visit(&self.geometry, |lbn, block| {
                if let Some(data) = recorder.disk.data(block.address).filter(|_| lbn >= 0) {
                    recorder.stamps.insert((slot, lbn), data);
                }
            });
        }
        Ok(named)
    }

    /// Bytes used of each chunk of a directory, and its names with their blocks.
    fn names_in(&self, disk: &Disk, slot: u32) -> Result<NamesOf, Unrecoverable> {
        let inode = &self.inodes[slot as usize];
        let mut used = vec![0_u16; Directory::chunks_of(inode.size)];
        let mut names = Vec::new();
        for lbn in 0..blocks_of(inode, &self.geometry) as i32 {
            let at = inode.block(&self.geometry, lbn).address;
            let Some(Contents::Directory(entries)) = disk.at(at).map(AsRef::as_ref) else {
                return Err(lost(at, "a block of a directory"));
            };
            for &name in entries {
                let chunk = used.get_mut(name.entry.chunk as usize);
                *chunk.ok_or(lost(at, "entries within their directory"))? += name.entry.bytes;
                names.push((lbn, name));
            }
        }
        Ok((used, names))
    }

    /// Free space and live bytes, as the file system check counts them.
    fn count(&mut self) {
        let (live, bfree) = check::recount(self, &mut Findings::default());
        self.bfree = bfree;
        for (segment, live) in (0..).zip(live) {
            let usage = self.usage.change(segment);
            usage.live = live as u32;
            if self.params.inode_leak && usage.dirty {
                let blocks = usage.inode_blocks * self.geometry.block_bytes;
                usage.leaked = usage.summaries * SECTOR + blocks;
            }
        }
    }

    /// Frees inodes that no name leads to; gives their number.
    fn free_nameless(&mut self, mut named: Vec<bool>) -> usize {
        let lite2 = self.params.variant == Variant::Lite2;
        // The ifile, the root and lost+found have none.
        for ino in IFILE_INO..=ROOT_INO + u32::from(lite2) {
            named[self.map[ino as usize].slot as usize] = true;
        }
        let nameless: Vec<u32> = (0..named.len() as u32)
            .filter(|&slot| !named[slot as usize])
            .collect();
        for &slot in &nameless {
            self.free_inode(slot);
        }
        nameless.len()
    }
}

/// Data by inode: version of the inode number, and blocks with address and bytes.
type DataByInode = BTreeMap<u32, (u32, Vec<(i32, u32, u32)>)>;

/// Bytes used of each chunk of a directory; its names, with the block that each stands in.
type NamesOf = (Vec<u16>, Vec<(i32, DirectoryEntry)>);

/// Everything from the first partial segment on whose directory operation has no end.
fn drop_unfinished(log: &mut Vec<Found>) {
    let mut begun = None;
    for (i, (.., summary)) in log.iter().enumerate() {
        let operation = summary.flags & Partial::DIROP != 0;
        if operation && summary.flags & Partial::CONT == 0 {
            begun = None;
        } else if operation {
            begun = begun.or(Some(i));
        }
    }
    if let Some(first) = begun {
        log.truncate(first);
    }
}

fn partial_of(summary: &Summary, address: u32) -> Partial {
    Partial {
        serial: summary.serial,
        address,
        sectors: summary.sectors,
        flags: summary.flags,
    }
}

fn blocks_of(inode: &Inode, g: &Geometry) -> i64 {
    inode.size.div_ceil(u64::from(g.block_bytes)) as i64
}

/// A block of a file lies there, as long as the size of the file says.
fn put_block(inode: &mut Inode, g: &Geometry, lbn: i32, address: u32) {
    if address == 0 {
        return;
    }
    let bytes = inode.block_bytes(g, lbn);
    let block = inode.block_mut(g, lbn);
    block.address = address;
    block.sectors = sectors(bytes) as u16;
    block.set(Block::THERE, true);
}

fn lost(address: u32, expected: &'static str) -> Unrecoverable {
    Unrecoverable::Lost { address, expected }
}
