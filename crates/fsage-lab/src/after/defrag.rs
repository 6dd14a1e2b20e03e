//! Defragmenting a model, by what a tool without the kernel's help can do: read, write, rename.
//!
//! **ideal**: everything in order. All files are read in the order of the tree, and written to a fresh file system, one
//! after another: dump, make anew, restore.
//!
//! **file**: each file in several pieces is copied, where the model's own allocator puts it, and synced. Is the copy in
//! fewer pieces, it takes the place of the file; else it is removed. On ext4 and XFS all of a copy is set aside by one
//! `fallocate` before it is written, as `e4defrag` and `xfs_fsr` do it; elsewhere it is written as any file is.
//!
//! **free-space**: files from the end of the disk are written anew, the last one first. Does a copy end lower down,
//! and is it in no more pieces, it takes the place of the file. Files that end below the place where all would end if
//! there were no hole are left alone.
//!
//! A copy has an inode of its own, as that of `cp` and `mv` has; `e4defrag` and `xfs_fsr` swap the blocks of two files,
//! and keep the inode. Files with holes and files with several names are left alone, as a copy would change them.

use super::Cost;
use super::later::Ids;
use crate::aging::again::{Asked, WorkloadFiles};
use crate::benching::Machine;
use crate::error::{Context, bail};
use crate::interrupt;
use fsage_core::io::Hosted;
use fsage_core::{DirId, Event, FileId, FileKind, FileView, Op, Outcome};
use fsage_disk::{Device, FlashDevice};
use fsage_host::Host;
use fsage_target::{HotFiles, Target, TargetSpec, control_workload, in_directory_order};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A call that reads moves so many bytes.
const CALL_BYTES: u64 = 64 << 10;

/// How a model is defragmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Everything in order.
    Ideal,
    /// File by file.
    File,
    /// Holes are filled with files from the end.
    FreeSpace,
}

impl Way {
    /// The word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Way::Ideal => "ideal",
            Way::File => "file",
            Way::FreeSpace => "free-space",
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        let all = [Way::Ideal, Way::File, Way::FreeSpace];
        let named = all.into_iter().find(|way| way.as_str() == text);
        named.ok_or_else(|| {
            format!("`defrag:{text}`: expected defrag:ideal, defrag:file or defrag:free-space")
        })
    }
}

/// Where a file is, and its name if it has one.
type Entry = (DirId, Option<Box<[u8]>>);

/// What a workload has made and not removed, by its ids.
#[derive(Default)]
pub struct Known {
    files: BTreeMap<FileId, Entry>,
    directories: Vec<DirId>,
    /// The highest id so far.
    pub highest: u64,
    hot: HotFiles,
}

impl Known {
    /// Takes the next event.
    pub fn observe(&mut self, event: &Event) {
        self.hot.observe(event);
        let name = || event.name.clone();
        match event.op {
            Op::Create { file, dir, .. }
            | Op::Symlink { file, dir, .. }
            | Op::Link { file, dir, .. } => {
                self.highest = self.highest.max(file.0);
                self.files.insert(file, (dir, name()));
            }
            Op::Mkdir { dir, .. } => {
                self.highest = self.highest.max(dir.0);
                self.directories.push(dir);
            }
            Op::Delete { file } => {
                self.files.remove(&file);
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                if let Some(replaced) = replaced.filter(|replaced| *replaced != file) {
                    self.files.remove(&replaced);
                }
                if let Some(known) = self.files.get_mut(&file) {
                    known.0 = dir;
                    known.1 = name().or(known.1.take());
                }
            }
            _ => {}
        }
    }

    /// The files that benchmarks go over, as they stand.
    pub fn files_of(&self, asked: Asked) -> WorkloadFiles {
        WorkloadFiles::of(&self.hot, asked)
    }
}

/// A file system at work, with a host and a disk below it where there is one.
struct Work<'a> {
    fs: &'a mut dyn Hosted,
    host: Option<Host<Box<dyn Device + Send>>>,
    /// Whether space for a whole copy is set aside before it is written.
    sets_aside: bool,
}

impl<'a> Work<'a> {
    fn on(
        target: &'a mut Target,
        machine: Option<&Machine>,
        lived: Option<FlashDevice>,
    ) -> crate::Result<Work<'a>> {
        let Some(fs) = target.as_hosted() else {
            bail!("nothing can be moved on it");
        };
        let host = machine.and_then(|machine| machine.host_below(fs, lived));
        if host.is_some() {
            fs.emit_to_follower();
        }
        Ok(Work {
            fs,
            host,
            sets_aside: false,
        })
    }

    /// A system call.
    fn call(&mut self, op: &Op) -> crate::Result<Outcome> {
        let outcome = self.fs.apply(op)?;
        if let Some(host) = &mut self.host {
            host.call();
            let synced = match op {
                Op::Fsync { file } => self.fs.buffers_of(*file),
                _ => None,
            };
            match synced {
                Some(ino) => host.fsync(ino, self.fs.emitted()),
                None => host.execute(self.fs.emitted()),
            }
            self.fs.emitted().clear();
        }
        Ok(outcome)
    }

    /// Reads a file from end to end.
    fn read(&mut self, file: FileId) {
        let (Some(host), Some(ino), Some(size)) = (
            &mut self.host,
            self.fs.buffers_of(file),
            self.fs.file_size(file),
        ) else {
            return;
        };
        let fs = &*self.fs;
        host.call();
        let mut io = Vec::new();
        fs.look_up(file, &mut io);
        host.execute(&io);
        for at in 0..size.div_ceil(CALL_BYTES) {
            let offset = at * CALL_BYTES;
            host.call();
            host.read(
                &|lbn| fs.block_map(file, lbn),
                ino,
                size,
                offset,
                CALL_BYTES.min(size - offset),
            );
        }
        io.clear();
        fs.accessed(file, &mut io);
        host.execute(&io);
    }

    /// What has been done, once all of it is on the disk, and the flash device then.
    fn end(
        mut self,
        mut cost: Cost,
        machine: Option<&Machine>,
    ) -> crate::Result<(Cost, Option<FlashDevice>)> {
        self.call(&Op::Sync)?;
        self.fs.emit(false);
        if let Some(host) = &mut self.host {
            host.sync();
            host.wait_idle();
            let counters = host.counters();
            cost.read_bytes += counters.read_bytes;
            cost.written_bytes += counters.written_bytes;
            cost.seconds = Some(cost.seconds.unwrap_or(0.0) + host.now_ns() as f64 / 1e9);
            cost.device = machine.map(|machine| machine.device_name().to_owned());
        }
        let device = self.host.map(Host::into_device);
        let mut device = device.and_then(|device| device.flash().cloned());
        if let Some(device) = &mut device {
            device.rest();
        }
        Ok((cost, device))
    }

    /// Where the blocks of a file lie.
    fn place(&self, file: FileId) -> Place {
        let size = self.fs.file_size(file).unwrap_or(0);
        let block_bytes = u64::from(self.fs.block_bytes());
        let blocks = u32::try_from(size.div_ceil(block_bytes)).unwrap_or(u32::MAX);
        let mut place = Place::default();
        let mut end = None;
        let mut lbn = 0;
        while lbn < blocks {
            let map = self.fs.block_map(file, lbn);
            let following = map.following.min(blocks - lbn - 1);
            if let Some(buffer) = map.buffer {
                place.pieces += u64::from(end != Some(buffer.start_bytes));
                let now = buffer.start_bytes
                    + u64::from(following) * block_bytes
                    + u64::from(buffer.bytes);
                end = Some(now);
                place.end_bytes = place.end_bytes.max(now);
                lbn += following + 1;
            } else {
                place.has_hole = true;
                lbn += 1;
            }
        }
        place
    }
}

/// Where a file lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    pieces: u64,
    /// The end of the block that lies highest.
    end_bytes: u64,
    has_hole: bool,
}

impl Place {
    /// Whether a copy that lies here is better than the file, which lies there.
    fn is_better(self, than: Place, way: Way) -> bool {
        match way {
            Way::FreeSpace => self.end_bytes < than.end_bytes && self.pieces <= than.pieces,
            _ => self.pieces < than.pieces,
        }
    }
}

/// A model that was defragmented.
pub struct Defragmented {
    /// As it is now.
    pub target: Target,
    /// The ids of what is on it.
    pub ids: Ids,
    /// What it took.
    pub cost: Cost,
    /// The flash device that it lies on, if the disk is one.
    pub device: Option<FlashDevice>,
}

/// Defragments a model; `lived` is the flash device that it has lived on.
///
/// # Errors
/// It is no model that moves files; an operation does not fit, which is an error of the model; an interrupt.
pub fn defragment(
    spec: &TargetSpec,
    mut target: Target,
    known: &Known,
    way: Way,
    machine: Option<&Machine>,
    lived: Option<FlashDevice>,
) -> crate::Result<Defragmented> {
    if way == Way::Ideal {
        return restore(spec, target, known, machine, lived);
    }
    let mut ids = Ids {
        highest: known.highest,
        ..Ids::default()
    };
    let mut cost = Cost {
        moved_files: Some(0),
        tried_files: Some(0),
        left_files: Some(0),
        ..Cost::default()
    };
    let mut work = Work::on(&mut target, machine, lived)?;
    work.sets_aside = way == Way::File && ["ext4", "xfs"].contains(&spec.system());
    let candidates = candidates(&work, known, way);
    let names = names_of_inodes(&work);
    for (file, place) in candidates {
        interrupt::go_on()?;
        let several = work
            .fs
            .inode(file)
            .and_then(|ino| names.get(&ino))
            .is_none_or(|&n| n != 1);
        if several || place.has_hole {
            count(&mut cost.left_files);
            continue;
        }
        match copy(&mut work, known, (file, place), way, &mut ids, &mut cost)? {
            Some(true) => count(&mut cost.moved_files),
            Some(false) => {}
            None => count(&mut cost.left_files),
        }
    }
    let is_timed = work.host.is_some();
    if is_timed {
        // The device has counted.
        (cost.read_bytes, cost.written_bytes) = (0, 0);
    }
    let (cost, device) = work.end(cost, machine)?;
    Ok(Defragmented {
        target,
        ids,
        cost,
        device,
    })
}

fn count(counter: &mut Option<u64>) {
    *counter = counter.map(|n| n + 1);
}

/// Names of each inode.
fn names_of_inodes(work: &Work<'_>) -> BTreeMap<u64, u32> {
    let mut names = BTreeMap::new();
    work.fs.visit_files(&mut |view: &FileView<'_>| {
        if view.kind == FileKind::Regular {
            names.insert(view.ino, view.links);
        }
    });
    names
}

/// The files in question, in the order in which they are looked at.
fn candidates(work: &Work<'_>, known: &Known, way: Way) -> Vec<(FileId, Place)> {
    let alive = known.files.keys().copied();
    // Models are layouts; the order needs no more than that.
    let mut files: Vec<(FileId, Place)> = in_directory_order(work.fs, alive)
        .into_iter()
        .map(|file| (file, work.place(file)))
        .filter(|(_, place)| place.pieces > 0)
        .collect();
    if way != Way::FreeSpace {
        files.retain(|(_, place)| place.pieces > 1);
        return files;
    }
    let mut free_bytes = 0;
    work.fs
        .visit_free(&mut |run| free_bytes += run.length_bytes);
    let packed_bytes = work.fs.geometry().size_bytes.saturating_sub(free_bytes);
    files.retain(|(_, place)| place.end_bytes > packed_bytes);
    files.sort_by_key(|(file, place)| (std::cmp::Reverse(place.end_bytes), *file));
    files
}

/// Writes a file anew, and says whether the copy stays; nothing if there was no room for it.
fn copy(
    work: &mut Work<'_>,
    known: &Known,
    (file, place): (FileId, Place),
    way: Way,
    ids: &mut Ids,
    cost: &mut Cost,
) -> crate::Result<Option<bool>> {
    let Some((dir, name)) = known.files.get(&file) else {
        return Ok(None);
    };
    let (dir, bytes) = (*dir, work.fs.file_size(file).unwrap_or(0));
    ids.own += 1;
    let donor = FileId(ids.highest + ids.own);
    work.read(file);
    let made = work.write_copy(donor, dir, bytes)?;
    let synced = work.call_if_there(donor, &Op::Fsync { file: donor })?;
    cost.read_bytes += bytes;
    cost.written_bytes += bytes;
    count(&mut cost.tried_files);
    let is_whole = made == Outcome::Done && matches!(synced, Outcome::Done | Outcome::Ignored);
    let is_better = is_whole && work.place(donor).is_better(place, way);
    if is_better {
        let own = format!("f{}", file.0);
        work.fs.name_next(name.as_deref().unwrap_or(own.as_bytes()));
        let renamed = work.call(&Op::Rename {
            file: donor,
            dir,
            replaced: Some(file),
        })?;
        if renamed == Outcome::Done {
            ids.files.insert(file, donor);
            return Ok(Some(true));
        }
    }
    work.call_if_there(donor, &Op::Delete { file: donor })?;
    Ok(is_whole.then_some(false))
}

impl Work<'_> {
    /// Makes a file of that length.
    fn write_copy(&mut self, file: FileId, dir: DirId, bytes: u64) -> crate::Result<Outcome> {
        if !self.sets_aside {
            return self.call(&Op::Create { file, dir, bytes });
        }
        let made = self.call(&Op::Create {
            file,
            dir,
            bytes: 0,
        })?;
        if made != Outcome::Done {
            return Ok(made);
        }
        let offset = 0;
        match self.call(&Op::Fallocate {
            file,
            offset,
            bytes,
        })? {
            Outcome::Done => self.call(&Op::Overwrite { file, range: None }),
            other => Ok(other),
        }
    }

    /// The call, unless lack of space kept the file from being made.
    fn call_if_there(&mut self, file: FileId, op: &Op) -> crate::Result<Outcome> {
        match self.fs.inode(file) {
            Some(_) => self.call(op),
            None => Ok(Outcome::Absent),
        }
    }
}

/// Reads everything, and writes it to a fresh file system in the order of the tree.
fn restore(
    spec: &TargetSpec,
    mut target: Target,
    known: &Known,
    machine: Option<&Machine>,
    lived: Option<FlashDevice>,
) -> crate::Result<Defragmented> {
    let copy = control_workload(target.layout());
    let fresh = match &target {
        Target::Model(fs) => fs.emptied().map(Target::Model),
        Target::Real(_) => None,
    };
    let mut fresh = fresh.map_or_else(|| Target::make(spec), Ok)?;
    let mut ids = Ids {
        highest: known.highest,
        ..Ids::default()
    };
    let mut directories = BTreeMap::new();
    let mut work = Work::on(&mut target, machine, lived)?;
    let alive: BTreeMap<u64, FileId> = known
        .files
        .keys()
        .filter_map(|&file| Some((work.fs.inode(file)?, file)))
        .collect();
    for &file in known.files.keys() {
        if let Some(&there) = work.fs.inode(file).and_then(|ino| copy.files.get(&ino)) {
            // Of several names the workload may mean any; the copy has the inode once.
            ids.files.insert(file, there);
        }
    }
    for dir in known.directories.iter().copied().chain([DirId::ROOT]) {
        let ino = work.fs.directory_inode(dir);
        if let Some(&there) = ino.and_then(|ino| copy.directories.get(&ino)) {
            directories.insert(dir, there);
        }
    }
    let mut cost = Cost::default();
    for ino in copied_in_order(&copy.files) {
        interrupt::go_on()?;
        if let Some(&file) = alive.get(&ino) {
            cost.read_bytes += work.fs.file_size(file).unwrap_or(0);
            work.read(file);
        }
    }
    let is_timed = work.host.is_some();
    cost.moved_files = Some(copy.files.len() as u64);
    cost.tried_files = cost.moved_files;
    cost.left_files = Some(copy.left_out.len() as u64);
    cost.written_bytes = cost.read_bytes;
    if is_timed {
        (cost.read_bytes, cost.written_bytes) = (0, 0);
    }
    let (cost, _) = work.end(cost, machine)?;
    // The device is fresh, too: making a file system trims all of it.
    let mut work = Work::on(&mut fresh, machine, None)?;
    for event in &copy.events {
        interrupt::go_on()?;
        if let Some(name) = &event.name {
            work.fs.name_next(name);
        }
        work.call(&event.op)
            .with_context(|| format!("{spec}: its files do not fit a fresh one"))?;
    }
    let (cost, device) = work.end(cost, machine)?;
    ids.directories = Some(directories);
    Ok(Defragmented {
        target: fresh,
        ids,
        cost,
        device,
    })
}

/// The inodes that were copied, in the order of the copy.
fn copied_in_order(files: &BTreeMap<u64, FileId>) -> Vec<u64> {
    let mut order: Vec<(FileId, u64)> = files.iter().map(|(&ino, &file)| (file, ino)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, ino)| ino).collect()
}
