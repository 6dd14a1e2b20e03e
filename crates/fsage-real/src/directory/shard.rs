//! Operations on files: decided by the tables, done by system calls, and entered into the tables.
//!
//! A shard owns the files of some directories. With one thread there is one shard; with more, each thread works on one
//! of them at a time, and what they share does not change meanwhile.

use super::body::Body;
use super::calls::{self, Effect, OpenFile, Task, outcome_of, outcome_of_making, retry};
use super::content::Content;
use super::descriptors::Descriptors;
use super::deviation::Deviation;
use super::dirs::Dirs;
use super::error::{Failure, OrCall};
use super::files::{File, Files, Links};
use super::look::Asker;
use super::namespace::{FileSlot, OneShard};
use super::naming::{self, NameBuffer};
use super::{Options, symlink_target};
use fsage_core::operations::{self, Action, Decision, Shortfall, planned_after};
use fsage_core::{Event, FileId, Op, OpCounts, Outcome};
use rustix::fs::{AtFlags, Mode, OFlags, fstatvfs, fsync, openat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether operations are done, or are known to have been done.
#[derive(Clone, Copy, Debug)]
pub(super) enum How<'a> {
    /// By system calls.
    Live,
    /// They were done before, and ended plainly unless something was recorded: the tables follow.
    Known(Option<&'a Deviation>),
}

/// What all shards share.
#[derive(Clone, Copy)]
pub(super) struct Common<'a> {
    pub dirs: &'a Dirs,
    pub links: &'a Mutex<Links>,
    pub root: BorrowedFd<'a>,
    pub options: Options,
    pub block_bytes: u64,
}

impl Common<'_> {
    /// Shared inodes. Operations on them are done alone, so that nobody ever waits here.
    pub fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the blocks that so many bytes need.
    #[inline]
    pub fn rounded(&self, bytes: u64) -> i128 {
        i128::from(bytes.div_ceil(self.block_bytes)) * i128::from(self.block_bytes)
    }
}

/// The files of some directories, and the means to work on them.
#[derive(Debug)]
pub(super) struct Shard {
    /// Its place among the shards.
    pub number: usize,
    pub files: Files,
    pub descriptors: Descriptors,
    pub shortfall: Shortfall,
    /// Bytes that came alive here, less those that went, each file rounded up to blocks. A file may come and go in
    /// different shards.
    pub live_bytes: i128,
    /// The same of the lengths that files should have.
    pub planned_bytes: i128,
    /// Deviations in the order of events.
    pub deviations: Vec<Deviation>,
    /// Slots of files that have changed since the layout was read last.
    pub changed: Vec<u32>,
    /// Inode numbers that were freed since.
    pub gone: Vec<u64>,
    /// Where they lie is asked by this.
    pub asker: Asker,
    pub counts: OpCounts,
    scratch: Vec<u8>,
    /// Bytes that may be written before the file system is asked again how much is free.
    room_bytes: u64,
}

/// Names that an entry may get where its own is taken.
pub(super) const MOST_OTHER_NAMES: u8 = 8;

/// Flags of every open.
const OPEN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

impl Shard {
    pub fn new(number: usize, open_files: usize) -> Shard {
        Shard {
            number,
            files: Files::default(),
            descriptors: Descriptors::new(open_files),
            shortfall: Shortfall::default(),
            live_bytes: 0,
            planned_bytes: 0,
            deviations: Vec::new(),
            changed: Vec::new(),
            gone: Vec::new(),
            asker: Asker::new(),
            counts: OpCounts::default(),
            scratch: Vec::new(),
            room_bytes: 0,
        }
    }

    /// Applies an operation on a file of this shard, while others may work on others.
    pub fn apply(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        index: u64,
        how: How<'_>,
    ) -> Result<Outcome, Failure> {
        let decision = operations::decide(&self.seen(common), &event.op)?;
        self.carry_out(common, event, index, how, decision)
    }

    /// Does what was decided of an operation on a file of this shard.
    pub fn carry_out(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        index: u64,
        how: How<'_>,
        decision: Decision<FileSlot>,
    ) -> Result<Outcome, Failure> {
        let outcome = match decision {
            Decision::Do(action) => self.perform(common, event, index, how, action)?,
            Decision::Absent => Outcome::Absent,
            Decision::Ignored => return Ok(Outcome::Ignored),
        };
        let names = match outcome {
            Outcome::Done => 0,
            _ => operations::names_there(&self.seen(common), &event.op),
        };
        self.shortfall.note(&event.op, outcome, names);
        Ok(outcome)
    }

    fn seen<'a>(&'a self, common: &'a Common<'a>) -> OneShard<'a> {
        OneShard {
            shard: self,
            common,
        }
    }

    /// Length of a file; `None` if this shard has no such file.
    pub fn size(&self, common: &Common<'_>, file: FileId) -> Option<u64> {
        let slot = self.files.find(file)?;
        Some(self.inode(common, slot).0)
    }

    fn perform(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        index: u64,
        how: How<'_>,
        action: Action<FileSlot>,
    ) -> Result<Outcome, Failure> {
        let (slot, task) = match action {
            Action::Create { id, dir, bytes } => {
                return self.create(common, event, index, how, (id, dir, bytes));
            }
            Action::Symlink { id, dir, bytes } => {
                return self.symlink(common, event, index, how, (id, dir, bytes));
            }
            Action::Delete {
                file: (_, slot), ..
            } => return self.delete(common, slot, index, how),
            Action::Read {
                file: (_, slot),
                range,
            } => return self.read(common, slot, range, how),
            Action::Fsync { file: (_, slot) } => return self.fsync(common, slot, how),
            Action::Write {
                file: (_, slot),
                offset,
                bytes,
            } => (slot, Task::Write { offset, bytes }),
            Action::Rewrite {
                file: (_, slot),
                bytes,
            } => (slot, Task::Rewrite { bytes }),
            Action::Truncate {
                file: (_, slot),
                bytes,
            } => (slot, Task::Truncate { bytes }),
            Action::Fallocate {
                file: (_, slot),
                offset,
                bytes,
            } => (slot, Task::Fallocate { offset, bytes }),
            Action::Punch {
                file: (_, slot),
                offset,
                bytes,
            } => (slot, Task::Punch { offset, bytes }),
            Action::Rename { .. }
            | Action::Link { .. }
            | Action::Mkdir { .. }
            | Action::Rmdir { .. }
            | Action::RenameDir { .. }
            | Action::Sync
            | Action::Remount
            | Action::Day
            | Action::Nothing => unreachable!("{action:?} is not on one file"),
        };
        self.change(common, (slot, task), &event.op, index, how)
    }

    /// How many bytes of an operation may be stored. What is to stay free counts as used, by others or by this replay.
    #[inline]
    fn room_for(&mut self, common: &Common<'_>, task: Task) -> Result<u64, Failure> {
        let reserve_bytes = common.options.reserve_bytes.unwrap_or(0);
        let bytes = match task {
            Task::Write { bytes, .. } | Task::Rewrite { bytes } | Task::Fallocate { bytes, .. } => {
                bytes
            }
            Task::Truncate { .. } | Task::Punch { .. } => 0,
        };
        if reserve_bytes == 0 || bytes == 0 {
            return Ok(u64::MAX);
        }
        let needed = u64::try_from(common.rounded(bytes)).unwrap_or(u64::MAX);
        if needed > self.room_bytes {
            let stat = fstatvfs(common.root).or_call("fstatvfs")?;
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            // Other shards take their part of it at the same time.
            let shards = common.options.shards() as u64;
            self.room_bytes = free.saturating_sub(reserve_bytes) / shards;
        }
        let room_bytes = needed.min(self.room_bytes);
        self.room_bytes -= room_bytes;
        Ok(room_bytes)
    }

    /// A name that is to be made must be one that an entry can have.
    fn check_name(common: &Common<'_>, event: &Event) -> Result<(), Failure> {
        naming::check(event.name.as_deref())?;
        common.dirs.ids.used_by(&event.op);
        Ok(())
    }

    fn create(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        index: u64,
        how: How<'_>,
        (file, dir, bytes): (FileId, u32, u64),
    ) -> Result<Outcome, Failure> {
        Shard::check_name(common, event)?;
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, bytes),
            How::Live => self.create_live(common, event, dir, file, bytes)?,
        };
        self.note(index, how, &effect);
        if effect.outcome != Outcome::Done && effect.size.is_none() {
            return Ok(effect.outcome);
        }
        let mut body = Body::default();
        settle(&mut body, Task::Write { offset: 0, bytes }, &effect);
        body.planned = planned_after(&event.op, effect.outcome, 0, body.size());
        self.live_bytes += common.rounded(body.size());
        self.planned_bytes += common.rounded(body.planned);
        let name = name_after(event, &effect, b'f', file.0);
        self.enter(common, File::new(file, dir, name, body, false));
        Ok(effect.outcome)
    }

    fn create_live(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        dir: u32,
        file: FileId,
        bytes: u64,
    ) -> Result<Effect, Failure> {
        let parent = self.descriptors.get(common.dirs, dir, common.root);
        let parent = parent.or_call("openat of the directory")?;
        let mut buffer = NameBuffer::new();
        let name = buffer.name(event.name.as_deref(), b'f', file.0);
        let flags = OPEN | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::from_raw_mode(0o644);
        let (made, other_names) = with_other_name(name, b'f', file.0, |name| {
            retry(|| openat(parent, name, flags, mode))
        });
        let fd = match made {
            Ok(fd) => fd,
            Err(errno) => {
                let outcome = outcome_of_making(errno, common.root);
                let outcome = outcome.ok_or(Failure::Io("openat", errno))?;
                return Ok(Effect::nothing(outcome));
            }
        };
        let task = Task::Write { offset: 0, bytes };
        let room_bytes = self.room_for(common, task)?;
        let open = open_file(common, &fd, (file.0, 0), room_bytes);
        let effect = open.perform(task)?;
        Ok(Effect {
            other_names,
            ..effect
        })
    }

    /// A link whose target is text. None is empty: Linux has no such links.
    fn symlink(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        index: u64,
        how: How<'_>,
        (file, dir, bytes): (FileId, u32, u64),
    ) -> Result<Outcome, Failure> {
        Shard::check_name(common, event)?;
        let bytes = bytes.max(1);
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => self.symlink_live(common, event, dir, file, bytes)?,
        };
        self.note(index, how, &effect);
        if effect.outcome == Outcome::Done {
            let name = name_after(event, &effect, b'f', file.0);
            let body = Body::written(bytes);
            self.enter(common, File::new(file, dir, name, body, true));
        }
        Ok(effect.outcome)
    }

    fn symlink_live(
        &mut self,
        common: &Common<'_>,
        event: &Event,
        dir: u32,
        file: FileId,
        bytes: u64,
    ) -> Result<Effect, Failure> {
        // Longer ones fit no file system of Linux.
        if bytes >= 4096 {
            return Ok(Effect::nothing(Outcome::TooLarge));
        }
        let parent = self.descriptors.get(common.dirs, dir, common.root);
        let parent = parent.or_call("openat of the directory")?;
        let target = symlink_target(Content::of(file), bytes);
        let mut buffer = NameBuffer::new();
        let name = buffer.name(event.name.as_deref(), b'f', file.0);
        let (made, other_names) = with_other_name(name, b'f', file.0, |name| {
            symlinkat(&target[..], parent, name)
        });
        let outcome = match made {
            Ok(()) => Outcome::Done,
            Err(Errno::NAMETOOLONG) => Outcome::TooLarge,
            Err(errno) => {
                outcome_of_making(errno, common.root).ok_or(Failure::Io("symlinkat", errno))?
            }
        };
        Ok(Effect {
            other_names,
            ..Effect::nothing(outcome)
        })
    }

    /// Changes the data or the length of a file. A symbolic link has none that could be changed.
    fn change(
        &mut self,
        common: &Common<'_>,
        (slot, task): (u32, Task),
        op: &Op,
        index: u64,
        how: How<'_>,
    ) -> Result<Outcome, Failure> {
        let bytes = match task {
            Task::Write { bytes, .. } | Task::Rewrite { bytes } => bytes,
            Task::Truncate { .. } | Task::Fallocate { .. } | Task::Punch { .. } => 0,
        };
        let (size, content, _) = self.inode(common, slot);
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, bytes),
            How::Live => {
                let fd = self.open(common, slot, OFlags::RDWR)?;
                let room_bytes = self.room_for(common, task)?;
                open_file(common, &fd, (content, size), room_bytes).perform(task)?
            }
        };
        self.note(index, how, &effect);
        self.settle(common, slot, (op, task), &effect);
        Ok(effect.outcome)
    }

    fn delete(
        &mut self,
        common: &Common<'_>,
        slot: u32,
        index: u64,
        how: How<'_>,
    ) -> Result<Outcome, Failure> {
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let file = self.files.get(slot);
                let parent = self.descriptors.get(common.dirs, file.dir, common.root);
                let parent = parent.or_call("openat of the directory")?;
                let mut buffer = NameBuffer::new();
                let unlinked = unlinkat(parent, file.name(&mut buffer), AtFlags::empty());
                match unlinked {
                    Ok(()) => Effect::plain(0),
                    Err(errno) => {
                        Effect::nothing(outcome_of(errno).ok_or(Failure::Io("unlinkat", errno))?)
                    }
                }
            }
        };
        self.note(index, how, &effect);
        if effect.outcome == Outcome::Done {
            self.drop_name(common, slot);
        } else {
            self.keep_name(common, slot);
        }
        Ok(effect.outcome)
    }

    /// A name that should be gone stays. Its inode is not in the plan, unless it has other names.
    pub fn keep_name(&mut self, common: &Common<'_>, slot: u32) {
        let file = self.files.get_mut(slot);
        if file.link().is_none() && !file.symlink {
            self.planned_bytes -= common.rounded(std::mem::take(&mut file.body.planned));
        }
    }

    /// Takes a name out of the tables; the inode goes with its last name.
    pub fn drop_name(&mut self, common: &Common<'_>, slot: u32) {
        if self.shortfall.has_short() {
            let links = self.links(common, slot);
            let id = FileId(self.files.get(slot).id);
            self.shortfall.before_unlink(id, links);
        }
        let file = self.files.remove(slot);
        common.dirs.leave(file.dir);
        let (body, symlink, cached) = match file.link() {
            None => (file.body, file.symlink, file.cached),
            Some(link) => match common.links().unlink(link, FileId(file.id)) {
                Some(inode) => (inode.body, inode.symlink, inode.cached),
                None => return,
            },
        };
        self.gone.extend(cached.map(|cached| cached.ino));
        if !symlink {
            self.live_bytes -= common.rounded(body.size());
            self.planned_bytes -= common.rounded(body.planned);
        }
    }

    fn read(
        &mut self,
        common: &Common<'_>,
        slot: u32,
        range: Option<(u64, u64)>,
        how: How<'_>,
    ) -> Result<Outcome, Failure> {
        let (size, _, symlink) = self.inode(common, slot);
        if symlink {
            return Ok(Outcome::Ignored);
        }
        if let How::Live = how {
            let fd = self.open(common, slot, OFlags::RDONLY)?;
            calls::read(&fd, range.unwrap_or((0, size)), &mut self.scratch)?;
        }
        Ok(Outcome::Done)
    }

    fn fsync(&mut self, common: &Common<'_>, slot: u32, how: How<'_>) -> Result<Outcome, Failure> {
        if self.inode(common, slot).2 {
            return Ok(Outcome::Ignored);
        }
        if let How::Live = how {
            let fd = self.open(common, slot, OFlags::RDWR)?;
            retry(|| fsync(&fd)).or_call("fsync")?;
        }
        Ok(Outcome::Done)
    }

    /// Length, content and whether it is a symbolic link.
    pub fn inode(&self, common: &Common<'_>, slot: u32) -> (u64, u64, bool) {
        let file = self.files.get(slot);
        match file.link() {
            None => (file.body.size(), file.id, file.symlink),
            Some(link) => {
                let links = common.links();
                let inode = links.get(link);
                (inode.body.size(), inode.content, inode.symlink)
            }
        }
    }

    /// Number of names of a file.
    pub fn links(&self, common: &Common<'_>, slot: u32) -> u32 {
        let link = self.files.get(slot).link();
        link.map_or(1, |link| common.links().get(link).names.len() as u32)
    }

    /// Opens a file that the tables know.
    pub fn open(
        &mut self,
        common: &Common<'_>,
        slot: u32,
        flags: OFlags,
    ) -> Result<OwnedFd, Failure> {
        let file = self.files.get(slot);
        let parent = self.descriptors.get(common.dirs, file.dir, common.root);
        let parent = parent.or_call("openat of the directory")?;
        let mut buffer = NameBuffer::new();
        let name = file.name(&mut buffer);
        retry(|| openat(parent, name, flags | OPEN, Mode::empty())).or_call("openat")
    }

    /// Puts a new name into the tables.
    fn enter(&mut self, common: &Common<'_>, file: File) {
        common.dirs.enter(file.dir);
        let slot = self.files.insert(file);
        self.mark(slot);
    }

    /// The layout of a file has changed.
    pub fn mark(&mut self, slot: u32) {
        let file = self.files.get_mut(slot);
        if !file.changed {
            file.changed = true;
            self.changed.push(slot);
        }
    }

    /// Enters what became of an operation on the data of a file, and what should have.
    fn settle(&mut self, common: &Common<'_>, slot: u32, (op, task): (&Op, Task), effect: &Effect) {
        let mut links;
        let body = match self.files.get(slot).link() {
            None => {
                self.mark(slot);
                &mut self.files.get_mut(slot).body
            }
            Some(link) => {
                links = common.links();
                let inode = links.get_mut(link);
                inode.changed = true;
                &mut inode.body
            }
        };
        let (size, planned) = (body.size(), body.planned);
        settle(body, task, effect);
        body.planned = planned_after(op, effect.outcome, planned, body.size());
        self.live_bytes += common.rounded(body.size()) - common.rounded(size);
        self.planned_bytes += common.rounded(body.planned) - common.rounded(planned);
    }

    /// A file is found to be this short, or missing, as if the disk had been full when it was made or written.
    pub fn shorten(&mut self, common: &Common<'_>, slot: u32, size: Option<u64>) {
        let name = self.files.get(slot);
        let file = FileId(name.id);
        let Some(size) = size else {
            let planned = if name.symlink { 0 } else { name.body.planned };
            self.drop_name(common, slot);
            self.shortfall.lose(file, planned);
            return;
        };
        let nothing = Op::Append { file, bytes: 0 };
        let task = Task::Write {
            offset: size,
            bytes: 0,
        };
        let effect = Effect {
            size: Some(size),
            ..Effect::nothing(Outcome::NoSpace)
        };
        self.settle(common, slot, (&nothing, task), &effect);
        self.shortfall.shorten(file);
    }

    /// Records what a workload alone does not say.
    pub fn note(&mut self, index: u64, how: How<'_>, effect: &Effect) {
        if !effect.is_plain() && matches!(how, How::Live) {
            self.deviations.push(effect.deviation(index));
        }
    }
}

/// Enters what became of an operation into what is known of the inode.
fn settle(body: &mut Body, task: Task, effect: &Effect) {
    let done = effect.outcome == Outcome::Done;
    match task {
        Task::Write { offset, .. } => body.write(offset, effect.written),
        // The file was emptied, unless it has its old length still, and that not of what was written anew.
        Task::Rewrite { .. } if done || effect.written > 0 || effect.size != Some(body.size()) => {
            body.set_size(0);
            body.write(0, effect.written);
        }
        Task::Truncate { bytes } if done => body.set_size(bytes),
        Task::Fallocate { offset, bytes } if done && bytes > 0 => {
            body.set_size(body.size().max(offset + bytes));
        }
        Task::Punch { offset, bytes } if done => body.punch(offset..offset + bytes),
        _ => {}
    }
    if let Some(size) = effect.size {
        body.set_size(size);
    }
}

/// The name that an event gave an entry, as the tables keep it.
pub(super) fn name_after(event: &Event, effect: &Effect, letter: u8, id: u64) -> Option<Box<[u8]>> {
    if effect.other_names == 0 {
        return event.name.clone();
    }
    let mut buffer = NameBuffer::new();
    let mut name: Box<[u8]> = buffer.name(event.name.as_deref(), letter, id).into();
    for _ in 0..effect.other_names {
        name = naming::other(&name, letter, id);
    }
    Some(name)
}

/// Makes an entry, under its other name if there is one of its own name already, and so on: a name of that kind may be
/// held by a file that took the place of an earlier one with this id. Says how many other names that took.
pub(super) fn with_other_name<T>(
    name: &[u8],
    letter: u8,
    id: u64,
    mut make: impl FnMut(&[u8]) -> Result<T, Errno>,
) -> (Result<T, Errno>, u8) {
    let mut made = make(name);
    let mut other: Box<[u8]> = name.into();
    for tried in 1..=MOST_OTHER_NAMES {
        if !matches!(made, Err(Errno::EXIST)) {
            break;
        }
        other = naming::other(&other, letter, id);
        made = make(&other);
        if made.is_ok() {
            return (made, tried);
        }
    }
    (made, 0)
}

fn open_file<'a>(
    common: &Common<'_>,
    fd: &'a OwnedFd,
    (content, size): (u64, u64),
    room_bytes: u64,
) -> OpenFile<'a> {
    OpenFile {
        fd: fd.as_fd(),
        content: Content(content),
        size,
        room_bytes,
        data: common.options.data,
        sync: common.options.sync,
    }
}
