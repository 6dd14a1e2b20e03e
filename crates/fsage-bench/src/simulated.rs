//! A simulated file system as a subject: a model places blocks, a host moves buffers, a device takes the time.
//!
//! Each benchmark works on a copy of the model, which stays as it is, with an empty cache and an arm at rest. A system
//! call costs the host its price; so do opening and closing a file. What a call does to buffers is what the model tells
//! of the operation; reads go block by block through the host's read-ahead.

use crate::benchmark::Case;
use crate::causes::Cause;
use crate::measurement::Requests;
use crate::run::Stand;
use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};
use fsage_core::io::{AnyHosted, Hosted, Io};
use fsage_core::size::human;
use fsage_core::{DirId, FileId, FileKind, Layout, Op, Outcome, Rng};
use fsage_disk::{Device, Disk, FlashDevice, FlashDrive, SECTOR_BYTES, Spread};
use fsage_host::{DirectRead, Host, HostParams};
use fsage_metrics::LayoutScore;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// A file system that is simulated down to the disk.
///
/// A [`FileKey`] is the model's own number of a file.
pub struct Simulated<F: ?Sized, D: Device> {
    fs: Box<F>,
    host: Host<D>,
    /// Syncs of the host that the model knows of.
    syncs: u64,
    /// The next number of a file or directory of the benchmark's own.
    next_id: u64,
    /// Everything that it made and that may be there still.
    files: Vec<FileId>,
    directories: Vec<DirId>,
    /// Directories of the file system by the inodes of the regular files in them, once somebody asked.
    directories_of: Option<BTreeMap<u64, DirId>>,
    /// Room for lists.
    io: Vec<Io>,
}

impl<F: Hosted, D: Device> Simulated<F, D> {
    /// A model over a host. `first_own_id` is above the number of every file and directory that the model has ever had.
    pub fn new(fs: F, host: Host<D>, first_own_id: u64) -> Simulated<F, D> {
        Simulated::over(Box::new(fs), host, first_own_id)
    }
}

impl<F: Hosted + ?Sized, D: Device> Simulated<F, D> {
    /// The same for a model of any kind.
    pub fn over(mut fs: Box<F>, mut host: Host<D>, first_own_id: u64) -> Simulated<F, D> {
        fs.emit(true);
        let mut superblock = Vec::new();
        fs.superblock(&mut superblock);
        host.set_superblock(superblock);
        Simulated {
            fs,
            syncs: host.counters().syncs,
            host,
            next_id: first_own_id,
            files: Vec::new(),
            directories: Vec::new(),
            directories_of: None,
            io: Vec::new(),
        }
    }

    /// The model.
    pub fn model(&self) -> &F {
        &self.fs
    }

    /// The host, with its device.
    pub fn host(&self) -> &Host<D> {
        &self.host
    }

    /// The same, to record requests.
    pub fn host_mut(&mut self) -> &mut Host<D> {
        &mut self.host
    }

    /// One system call that the model knows as an operation.
    fn call(&mut self, op: &Op) -> Result<(), BenchError> {
        self.host.call();
        let outcome = self.apply(op)?;
        self.follow_syncs()?;
        done(outcome)
    }

    /// The model applies an operation, and the host does what that asks for.
    fn apply(&mut self, op: &Op) -> Result<Outcome, BenchError> {
        let outcome = self.emit(op)?;
        self.host.execute(self.fs.emitted());
        self.fs.emitted().clear();
        Ok(outcome)
    }

    /// The model applies an operation, and tells what it asks for.
    fn emit(&mut self, op: &Op) -> Result<Outcome, BenchError> {
        self.fs
            .set_time(i64::try_from(self.host.now_ns()).unwrap_or(i64::MAX));
        Ok(self.fs.apply(op)?)
    }

    /// When the system calls sync the host writes what is dirty, and the model what it has held back: its journal or
    /// its log.
    fn follow_syncs(&mut self) -> Result<(), BenchError> {
        while self.syncs != self.host.counters().syncs {
            self.syncs = self.host.counters().syncs;
            self.apply(&Op::Sync)?;
        }
        Ok(())
    }

    fn inode(&self, file: FileKey) -> Result<(FileId, u64), BenchError> {
        let id = FileId(file.0);
        let ino = self.fs.buffers_of(id).ok_or(BenchError::NoFile(file))?;
        Ok((id, ino))
    }

    fn make_directory(&mut self, parent: Option<DirId>) -> Result<DirKey, BenchError> {
        let dir = DirId(self.new_id());
        self.directories.push(dir);
        self.call(&Op::Mkdir { dir, parent })?;
        Ok(DirKey(dir.0))
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// The directories in which regular files lie, by the inodes of these.
    fn find_directories(&self) -> BTreeMap<u64, DirId> {
        let ids = (0..self.next_id).map(DirId);
        let by_ino: BTreeMap<u64, DirId> = ids
            .filter_map(|dir| Some((self.fs.directory_inode(dir)?, dir)))
            .collect();
        let mut found = BTreeMap::new();
        self.fs.visit_files(&mut |file| {
            let parent = file.parent_ino.and_then(|ino| by_ino.get(&ino));
            if let (FileKind::Regular, Some(&dir)) = (file.kind, parent) {
                found.insert(file.ino, dir);
            }
        });
        found
    }

    /// The blocks of a file that follow each other on the device.
    fn score(&self, file: FileId) -> LayoutScore {
        let block_bytes = u64::from(self.fs.block_bytes());
        let size = self.fs.file_size(file).unwrap_or_default();
        let blocks = size.div_ceil(block_bytes) as u32;
        let mut score = LayoutScore::default();
        let mut end_of_last = None;
        let mut lbn = 0;
        while lbn < blocks {
            let map = self.fs.block_map(file, lbn);
            let Some(buffer) = map.buffer else {
                lbn += 1;
                continue;
            };
            let following = map.following.min(blocks - lbn - 1);
            score.optimal += u64::from(following);
            score.scored += u64::from(following);
            if let Some(end) = end_of_last {
                score.optimal += u64::from(end == buffer.start_bytes);
                score.scored += 1;
            }
            end_of_last = Some(buffer.start_bytes + u64::from(following + 1) * block_bytes);
            lbn += following + 1;
        }
        score
    }
}

fn done(outcome: Outcome) -> Result<(), BenchError> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::NoSpace => Err(BenchError::NoSpace),
        Outcome::NoInode => Err(BenchError::NoInode),
        Outcome::Ignored | Outcome::TooLarge | Outcome::Absent => Err(BenchError::Refused(outcome)),
    }
}

/// A call that reads a part of a file past the cache: whole blocks, and the pointers that lead to them.
pub fn direct_read(
    fs: &(impl Hosted + ?Sized),
    file: FileId,
    offset: u64,
    bytes: u64,
) -> DirectRead {
    let block_bytes = u64::from(fs.block_bytes());
    let end = (offset + bytes).div_ceil(block_bytes) as u32;
    let mut lbn = (offset / block_bytes) as u32;
    let mut call = DirectRead::default();
    while lbn < end {
        let map = fs.block_map(file, lbn);
        let Some(buffer) = map.buffer else {
            lbn += 1;
            continue;
        };
        let pointers = map.pointers.into_iter().flatten();
        call.needs.extend(pointers.map(Io::Need));
        let blocks = (map.following + 1).min(end - lbn);
        let bytes = u64::from(blocks - 1) * block_bytes + u64::from(buffer.bytes);
        match call.ranges.last_mut() {
            Some((start, length)) if *start + *length == buffer.start_bytes => *length += bytes,
            _ => call.ranges.push((buffer.start_bytes, bytes)),
        }
        lbn += blocks;
    }
    call.needs.dedup();
    call
}

/// The parts of a range that single calls move.
fn calls(part: Part) -> impl Iterator<Item = (u64, u64)> {
    let end = part.offset + part.bytes;
    let step = part.call_bytes.max(1);
    (0..part.bytes.div_ceil(step)).map(move |i| {
        let offset = part.offset + i * step;
        (offset, step.min(end - offset))
    })
}

impl<F: Hosted + ?Sized, D: Device> Subject for Simulated<F, D> {
    fn free_bytes(&mut self) -> Result<u64, BenchError> {
        Ok(free_bytes(&*self.fs))
    }

    fn mkdir(&mut self) -> Result<DirKey, BenchError> {
        self.make_directory(None)
    }

    fn mkdir_in(&mut self, parent: DirKey) -> Result<DirKey, BenchError> {
        self.make_directory(Some(DirId(parent.0)))
    }

    fn hint(&mut self, dir: DirKey) -> Result<(), BenchError> {
        self.fs.hint(DirId(dir.0));
        Ok(())
    }

    fn name_together(&mut self, number: Option<u64>) -> Result<(), BenchError> {
        self.fs.name_together(number);
        Ok(())
    }

    /// The model tells nothing meanwhile, so that the host has nothing to do. What it has made by then is on the
    /// device.
    fn untimed(&mut self, on: bool) -> Result<(), BenchError> {
        self.fs.emit(!on);
        if !on {
            self.host.wait_idle();
            let start_sector = self.host.start_sector();
            if let Some(flash) = self.host.device_mut().flash_mut() {
                fill(flash, start_sector, &*self.fs);
            }
        }
        Ok(())
    }

    fn start_bytes(&mut self, file: FileKey) -> Result<Option<u64>, BenchError> {
        let (file, _) = self.inode(file)?;
        let first = self.fs.block_map(file, 0).buffer;
        Ok(first.map(|buffer| buffer.start_bytes))
    }

    fn rmdir(&mut self, dir: DirKey) -> Result<(), BenchError> {
        self.call(&Op::Rmdir { dir: DirId(dir.0) })
    }

    fn create(&mut self, dir: DirKey, bytes: u64, call_bytes: u64) -> Result<FileKey, BenchError> {
        let file = FileId(self.new_id());
        self.files.push(file);
        self.host.call();
        let first = bytes.min(call_bytes.max(1));
        self.call(&Op::Create {
            file,
            dir: DirId(dir.0),
            bytes: first,
        })?;
        let rest = Part {
            offset: first,
            bytes: bytes - first,
            call_bytes,
        };
        for (_, bytes) in calls(rest) {
            self.call(&Op::Append { file, bytes })?;
        }
        self.host.call();
        Ok(FileKey(file.0))
    }

    fn directory_of(&mut self, file: FileKey) -> Result<Option<DirKey>, BenchError> {
        let ino = self.fs.inode(FileId(file.0));
        let ino = ino.ok_or(BenchError::NoFile(file))?;
        let known = self.directories_of.take();
        let known = known.unwrap_or_else(|| self.find_directories());
        let found = known.get(&ino).map(|dir| DirKey(dir.0));
        self.directories_of = Some(known);
        Ok(found)
    }

    fn deliver(
        &mut self,
        (from, to): (DirKey, DirKey),
        bytes: u64,
        call_bytes: u64,
    ) -> Result<FileKey, BenchError> {
        let file = self.create(from, bytes, call_bytes)?;
        self.fsync(file)?;
        self.call(&Op::Rename {
            file: FileId(file.0),
            dir: DirId(to.0),
            replaced: None,
        })?;
        Ok(file)
    }

    fn read(&mut self, file: FileKey, part: Part) -> Result<(), BenchError> {
        let (id, ino) = self.inode(file)?;
        let size = self.file_bytes(file)?;
        let Simulated { fs, host, io, .. } = self;
        host.call();
        io.clear();
        fs.look_up(id, io);
        host.execute(io);
        for (offset, bytes) in calls(part) {
            host.call();
            host.read(&|lbn| fs.block_map(id, lbn), ino, size, offset, bytes);
        }
        io.clear();
        fs.accessed(id, io);
        host.execute(io);
        fs.was_read(id, part.offset, part.bytes);
        host.execute(fs.emitted());
        fs.emitted().clear();
        host.call();
        self.follow_syncs()
    }

    fn read_direct(&mut self, parts: &[(FileKey, Part)], depth: usize) -> Result<(), BenchError> {
        let mut reads = Vec::new();
        let mut opened = None;
        for &(file, part) in parts {
            let (id, _) = self.inode(file)?;
            let mut needs = Vec::new();
            if opened.replace(file) != Some(file) {
                self.host.call();
                self.fs.look_up(id, &mut needs);
            }
            for (offset, bytes) in calls(part) {
                let mut read = direct_read(&*self.fs, id, offset, bytes);
                needs.append(&mut read.needs);
                read.needs = std::mem::take(&mut needs);
                reads.push(read);
            }
        }
        self.host.read_direct(reads, depth);
        self.follow_syncs()
    }

    fn overwrite(&mut self, file: FileKey, part: Part) -> Result<(), BenchError> {
        let (file, _) = self.inode(file)?;
        self.host.call();
        for range in calls(part) {
            let range = Some(range);
            self.call(&Op::Overwrite { file, range })?;
        }
        self.host.call();
        Ok(())
    }

    fn append(&mut self, file: FileKey, bytes: u64) -> Result<(), BenchError> {
        let (file, _) = self.inode(file)?;
        self.host.call();
        self.call(&Op::Append { file, bytes })?;
        self.host.call();
        Ok(())
    }

    fn delete(&mut self, file: FileKey) -> Result<(), BenchError> {
        let (file, _) = self.inode(file)?;
        self.call(&Op::Delete { file })
    }

    fn fsync(&mut self, file: FileKey) -> Result<(), BenchError> {
        let (file, ino) = self.inode(file)?;
        self.host.call();
        let outcome = self.emit(&Op::Fsync { file })?;
        self.host.fsync(ino, self.fs.emitted());
        self.fs.emitted().clear();
        self.follow_syncs()?;
        done(outcome)
    }

    fn compute(&mut self, ns: u64) {
        self.host.compute(ns);
    }

    fn file_bytes(&mut self, file: FileKey) -> Result<u64, BenchError> {
        let size = self.fs.file_size(FileId(file.0));
        size.ok_or(BenchError::NoFile(file))
    }

    fn sync(&mut self) -> Result<(), BenchError> {
        self.apply(&Op::Sync)?;
        self.host.sync();
        self.host.wait_idle();
        self.syncs = self.host.counters().syncs;
        Ok(())
    }

    fn drop_caches(&mut self) -> Result<(), BenchError> {
        self.apply(&Op::Remount)?;
        self.host.remount();
        self.syncs = self.host.counters().syncs;
        Ok(())
    }

    fn clock_ns(&mut self) -> u64 {
        self.host.now_ns()
    }

    fn cpu_ns(&mut self) -> Option<u64> {
        Some(self.host.cpu_ns())
    }

    fn requests(&mut self) -> Option<Requests> {
        let counters = self.host.counters();
        Some(Requests {
            reads: counters.sync_reads + counters.async_reads,
            writes: counters.sync_writes + counters.async_writes,
            sync_writes: counters.sync_writes,
            read_bytes: counters.read_bytes,
            written_bytes: counters.written_bytes,
        })
    }

    fn layout(&mut self, files: &[FileKey]) -> Result<Option<LayoutScore>, BenchError> {
        let mut sum = LayoutScore::default();
        for &file in files {
            sum += self.score(self.inode(file)?.0);
        }
        Ok(Some(sum))
    }

    /// Takes no simulated time.
    fn clean_up(&mut self) -> Result<(), BenchError> {
        self.drop_caches()?;
        self.fs.emit(false);
        for file in std::mem::take(&mut self.files) {
            if self.fs.inode(file).is_some() {
                self.fs.apply(&Op::Delete { file })?;
            }
        }
        // Those that were made in others come first.
        for dir in std::mem::take(&mut self.directories).into_iter().rev() {
            if self.fs.directory_inode(dir).is_some() {
                self.fs.apply(&Op::Rmdir { dir })?;
            }
        }
        self.fs.emit(true);
        Ok(())
    }
}

/// A disk below a file system as it stands: on flash all that is in use is there already.
pub fn device_below(disk: &Disk, fs: &(impl Hosted + ?Sized)) -> Box<dyn Device + Send> {
    let Disk::Flash(drive) = disk else {
        return disk.device(0);
    };
    let mut flash = FlashDevice::new(drive);
    fill(&mut flash, disk.partition().first_sector, fs);
    Box::new(flash)
}

/// Puts a file system on a flash device, as an image that is copied to it: all space that is in use, in the order of
/// addresses, where there is nothing yet.
fn fill(flash: &mut FlashDevice, start_sector: u64, fs: &(impl Hosted + ?Sized)) {
    let mut used = |from: u64, to: u64| {
        let sectors = to.saturating_sub(from) / SECTOR_BYTES;
        if sectors > 0 {
            flash.fill(start_sector + from / SECTOR_BYTES, sectors);
        }
    };
    let mut end = 0;
    fs.visit_free(&mut |run| {
        used(end, run.start_bytes);
        end = run.start_bytes + run.length_bytes;
    });
    used(end, fs.geometry().size_bytes);
}

/// Bytes that new files can take, without the reserve.
fn free_bytes(fs: &(impl Hosted + ?Sized)) -> u64 {
    let geometry = fs.geometry();
    let space = fs.space().unwrap_or_default();
    let free = space.free_blocks * u64::from(geometry.block_bytes)
        + space.free_frags * u64::from(geometry.frag_bytes);
    free.saturating_sub(geometry.reserved_bytes)
}

/// Makes simulated subjects: a copy of a model each, on a disk whose spindle stands at a random angle.
#[derive(Clone)]
pub struct SimulatedStand<'a> {
    fs: &'a dyn AnyHosted,
    first_own_id: u64,
    host: &'a HostParams,
    disk: &'a Disk,
    /// A flash device with the file system on it, which every measurement gets a copy of.
    filled: Arc<OnceLock<FlashDevice>>,
    /// So many of [`Cause::ALL`] are taken away.
    spared: usize,
    seed: u64,
}

impl fmt::Debug for SimulatedStand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedStand")
            .field("disk", &self.disk.name())
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl<'a> SimulatedStand<'a> {
    /// A stand over a model on the partition of a disk. `first_own_id` is above the number of every file and directory
    /// that the model has ever had. The angle of the spindle depends on the seed, the repetition and
    /// the case, and on nothing else: an aged file system and its control meet the same ones.
    ///
    /// # Errors
    /// The file system is larger than the partition.
    pub fn new(
        fs: &'a dyn AnyHosted,
        first_own_id: u64,
        host: &'a HostParams,
        disk: &'a Disk,
        seed: u64,
    ) -> Result<SimulatedStand<'a>, DriveTooSmall> {
        DriveTooSmall::check(disk, fs.geometry().size_bytes)?;
        Ok(SimulatedStand {
            fs,
            first_own_id,
            host,
            disk,
            filled: Arc::default(),
            spared: 0,
            seed,
        })
    }

    /// Bytes that the files of a benchmark can take.
    pub fn free_bytes(&self) -> u64 {
        free_bytes(self.fs)
    }

    /// The subject for one repetition of a case.
    pub fn subject(
        &self,
        repetition: u32,
        case: Case,
    ) -> Simulated<dyn AnyHosted, Box<dyn Device + Send>> {
        let angles = Rng::new(self.seed).stream("spindle", case.file_bytes.unwrap_or_default());
        let angle = angles
            .stream("repetition", u64::from(repetition))
            .next_u64()
            >> 32;
        let start_sector = self.disk.partition().first_sector;
        let device: Box<dyn Device + Send> = match self.disk {
            Disk::Flash(drive) => {
                let mut flash = self.filled(drive, start_sector).clone();
                if self.spared > 0 {
                    flash.spare(Cause::spared(self.spared));
                }
                Box::new(flash)
            }
            Disk::Rotating(_) | Disk::Null => self.disk.device(angle as u32),
        };
        let mut params = self.host.clone();
        if Cause::Splitting.is_spared(self.spared) {
            params.cpu.request_ns = 0;
            params.cpu.further_request_ns = 0;
        }
        params.tail_alone &= self.fs.reads_tail_alone();
        let host = Host::new(&params, device, start_sector, self.fs.block_bytes());
        Simulated::over(self.fs.copy(), host, self.first_own_id)
    }
}

/// What reading a file system on flash meets, from the place of its pages alone: docs/spec/flash.md, section 15.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlashFacts {
    /// Of windows of 1 MB of file data, how evenly they lie on the dies: 1 is even, 1 / dies all on one.
    pub die_balance: f64,
    /// Of the same windows, the share of their flash pages that is theirs: 1 where they share them with nothing else.
    pub page_use: f64,
    /// Pages programmed for each page written, in the life of the device so far.
    pub write_amplification: f64,
}

impl FlashFacts {
    /// Of a file system that begins at a sector of a device; nothing without files.
    pub fn of(
        fs: &(impl Layout + ?Sized),
        flash: &FlashDevice,
        start_sector: u64,
    ) -> Option<FlashFacts> {
        let start_bytes = start_sector * SECTOR_BYTES;
        let mut spread = Spread::default();
        fs.visit_files(&mut |file| {
            if file.kind == FileKind::Regular {
                let data = file.extents.unwrap_or_default().iter();
                let data = data.filter(|extent| extent.is_placed_data());
                let pages = data.flat_map(|extent| {
                    let first = (start_bytes + extent.physical_bytes) / PAGE_BYTES;
                    let end = start_bytes + extent.physical_bytes + extent.length_bytes;
                    first..end.div_ceil(PAGE_BYTES)
                });
                flash.add_spread(&mut spread, pages, WINDOW_PAGES);
            }
        });
        Some(FlashFacts {
            die_balance: spread.die_balance()?,
            page_use: spread.page_use()?,
            write_amplification: flash.flash_counters().write_amplification()?,
        })
    }
}

/// Pages of a window: 1 MB.
const WINDOW_PAGES: usize = 256;
/// Bytes of a page of the map.
const PAGE_BYTES: u64 = 4096;

impl SimulatedStand<'_> {
    /// The same on a flash device that the file system has lived on: what lies where is decided.
    #[must_use]
    pub fn lived_on(self, device: &FlashDevice) -> Self {
        let mut device = device.clone();
        fill(&mut device, self.disk.partition().first_sector, self.fs);
        SimulatedStand {
            filled: Arc::new(OnceLock::from(device)),
            ..self
        }
    }

    /// The same without the first so many of [`Cause::ALL`], as far as the disk is flash.
    #[must_use]
    pub fn without(self, causes: usize) -> Self {
        SimulatedStand {
            spared: causes,
            ..self
        }
    }

    /// What reading meets on a flash device; nothing on any other, or without files.
    pub fn flash_facts(&self) -> Option<FlashFacts> {
        let Disk::Flash(drive) = self.disk else {
            return None;
        };
        let start_sector = self.disk.partition().first_sector;
        FlashFacts::of(self.fs, self.filled(drive, start_sector), start_sector)
    }

    /// A flash device with the file system on it.
    fn filled(&self, drive: &FlashDrive, start_sector: u64) -> &FlashDevice {
        self.filled.get_or_init(|| {
            let mut flash = FlashDevice::new(drive);
            fill(&mut flash, start_sector, self.fs);
            flash
        })
    }
}

impl Stand for SimulatedStand<'_> {
    fn fresh(&mut self, repetition: u32, case: Case) -> Result<Box<dyn Subject + '_>, BenchError> {
        Ok(Box::new(self.subject(repetition, case)))
    }
}

/// A file system that does not fit its drive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the file system has {}, and the partition of the drive `{drive}` only {}: choose a larger drive or partition, as \
     in --device st4000nm0033 or --device nvme_a:size=64G, a scale= that is {:.1} times smaller where the drive has \
     one, or make a smaller file system",
    human(*.fs_bytes),
    human(*.partition_bytes),
    (*.fs_bytes as f64 / *.partition_bytes as f64 * 10.0).ceil() / 10.0
)]
pub struct DriveTooSmall {
    /// Name of the drive.
    pub drive: String,
    /// What its partition holds.
    pub partition_bytes: u64,
    /// What the file system needs.
    pub fs_bytes: u64,
}

impl DriveTooSmall {
    /// That a file system of so many bytes fits the partition of a disk.
    ///
    /// # Errors
    /// It does not.
    pub fn check(disk: &Disk, fs_bytes: u64) -> Result<(), DriveTooSmall> {
        let partition_bytes = disk.partition().sectors.saturating_mul(SECTOR_BYTES);
        if fs_bytes <= partition_bytes {
            return Ok(());
        }
        Err(DriveTooSmall {
            drive: disk.name().to_owned(),
            partition_bytes,
            fs_bytes,
        })
    }
}
