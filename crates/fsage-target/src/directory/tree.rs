//! Operations on more than one file: directories, names that move, hard links, and the whole file system.
//!
//! They are applied while nothing else is.

use super::calls::{Effect, outcome_of_making, retry};
use super::dirs::ROOT;
use super::error::{Failure, OrCall};
use super::files::{File, SharedInode};
use super::naming::{self, NameBuffer};
use super::replay::Directory;
use super::shard::{Common, How, name_after, with_other_name};
use fsage_core::{DirId, Event, FileId, Op, Outcome, StateError};
use rustix::fs::{AtFlags, Mode, RenameFlags, linkat, mkdirat, renameat_with, syncfs, unlinkat};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Where an entry is, or goes: directory and name.
type Entry = (u32, Vec<u8>);

impl Directory {
    /// Applies an operation that is not on one file.
    pub(super) fn apply_to_tree(
        &mut self,
        event: &Event,
        how: How<'_>,
    ) -> Result<Outcome, Failure> {
        let op = &self.without_absent_target(&event.op);
        if self.is_absent(&event.op) {
            return Ok(Outcome::Absent);
        }
        let result = match *op {
            Op::Mkdir { dir, parent } => self.mkdir(event, how, dir, parent),
            Op::Rmdir { dir } => self.rmdir(how, dir),
            Op::RenameDir { dir, parent } => self.rename_dir(event, how, dir, parent),
            Op::Rename {
                file,
                dir,
                replaced,
            } => self.rename(event, how, (file, dir, replaced)),
            Op::Link {
                file,
                existing,
                dir,
            } => self.link(event, how, (file, existing, dir)),
            Op::Sync => self.sync_all(how),
            Op::Remount => self.remount(how),
            _ => Ok(Outcome::Done),
        };
        match result {
            Ok(outcome) => {
                self.note_shortfall(&event.op, outcome);
                Ok(outcome)
            }
            Err(Failure::State(error)) if self.is_excused(error) => Ok(Outcome::Absent),
            Err(failure) => Err(failure),
        }
    }

    /// A `rename` over a name that was never made is a plain rename.
    fn without_absent_target(&self, op: &Op) -> Op {
        match *op {
            Op::Rename {
                file,
                dir,
                replaced: Some(other),
            } if self.is_absent_file(other) => Op::Rename {
                file,
                dir,
                replaced: None,
            },
            _ => *op,
        }
    }

    fn is_absent_file(&self, file: FileId) -> bool {
        let mut shortfalls = self.shards.iter().map(|shard| &shard.shortfall);
        shortfalls.any(|shortfall| shortfall.absent.contains_key(&file.0))
    }

    /// Whether the operation needs what was never made. What it would have made is absent then as well, and what it
    /// removes no longer is.
    fn is_absent(&mut self, op: &Op) -> bool {
        let file = |id| self.is_absent_file(id);
        let dir = |id: DirId| self.dirs.absent.contains(&id.0);
        let absent = match *op {
            Op::Mkdir { dir: new, parent } => {
                parent.is_some_and(dir) && self.dirs.check_new(new).is_ok()
            }
            Op::Rmdir { dir: gone } => dir(gone),
            Op::RenameDir { dir: moved, parent } => dir(moved) || dir(parent),
            Op::Rename {
                file: moved,
                dir: to,
                ..
            } => file(moved) || dir(to),
            Op::Link {
                file: new,
                existing,
                dir: to,
            } => (file(existing) || dir(to)) && self.locate(new).is_none(),
            _ => false,
        };
        if absent {
            self.note_shortfall(op, Outcome::Absent);
        }
        absent
    }

    /// Remembers what an operation did not make, and forgets what is there or gone now.
    fn note_shortfall(&mut self, op: &Op, outcome: Outcome) {
        let done = outcome == Outcome::Done;
        match *op {
            Op::Mkdir { dir, .. } if done => {
                self.dirs.absent.remove(&dir.0);
            }
            Op::Mkdir { dir, .. } => {
                self.dirs.absent.insert(dir.0);
            }
            Op::Rmdir { dir } if !done => {
                let was_absent = self.dirs.absent.remove(&dir.0);
                self.shards[0].shortfall.kept |= !was_absent;
            }
            Op::Link { file, .. } => {
                self.forget_absent(file);
                if !done {
                    self.shards[0].shortfall.absent.insert(file.0, 0);
                }
            }
            Op::Rename {
                replaced: Some(gone),
                ..
            } if done => self.forget_absent(gone),
            Op::Rename { replaced, .. } if !done => {
                self.dirs.stranded = true;
                if let Some(gone) = replaced {
                    self.forget_absent(gone);
                    self.keep_name(gone);
                }
            }
            Op::RenameDir { .. } if !done => self.dirs.stranded = true,
            _ => {}
        }
    }

    /// A name that another one should have replaced stays, if it is there.
    fn keep_name(&mut self, file: FileId) {
        if let Some((shard, slot)) = self.locate(file) {
            let common = Common {
                dirs: &self.dirs,
                links: &self.links,
                root: self.volume.root(),
                options: self.options,
                block_bytes: self.block_bytes,
            };
            self.shards[shard].keep_name(&common, slot);
        }
    }

    fn forget_absent(&mut self, file: FileId) {
        for shard in &mut self.shards {
            shard.shortfall.absent.remove(&file.0);
        }
    }

    /// What does not fit the state only because something earlier did not fit the disk is no error of the workload.
    fn is_excused(&self, error: StateError) -> bool {
        let kept = self.shards.iter().any(|shard| shard.shortfall.kept);
        match error {
            StateError::NotEmpty(_) | StateError::DirectoryExists(_) => self.dirs.stranded || kept,
            StateError::ReplacedElsewhere(_) | StateError::IntoItself(_) => self.dirs.stranded,
            StateError::FileExists(_) => kept,
            _ => false,
        }
    }

    /// Shard and slot of a name.
    pub(super) fn locate(&self, file: FileId) -> Option<(usize, u32)> {
        let mut shards = self.shards.iter().enumerate();
        shards.find_map(|(number, shard)| Some((number, shard.files.find(file)?)))
    }

    /// Whether a name is, or was, one of several of its inode.
    pub(super) fn is_linked(&self, file: FileId) -> bool {
        let found = self.locate(file);
        found.is_some_and(|(shard, slot)| self.shards[shard].files.get(slot).link().is_some())
    }

    /// The shard of the files of a directory.
    pub(super) fn shard_of(&self, dir: u32) -> usize {
        dir as usize % self.shards.len()
    }

    /// The shard that an operation on a file belongs to.
    pub(super) fn shard_for(&mut self, event: &Event, file: FileId) -> usize {
        if self.shards.len() == 1 {
            return 0;
        }
        let found = self.locate(file).map(|(number, _)| number);
        let makes = match event.op {
            Op::Create { dir, .. } | Op::Symlink { dir, .. } => Some(dir),
            _ => None,
        };
        let Some(dir) = makes else {
            let missing =
                |shard: &super::shard::Shard| shard.shortfall.absent.contains_key(&file.0);
            return found.or(self.shards.iter().position(missing)).unwrap_or(0);
        };
        if let Some(found) = found {
            return found;
        }
        let number = self.dirs.find(dir).map_or(0, |dir| self.shard_of(dir));
        self.move_shortfall(file, number);
        number
    }

    /// What is known to be missing of a file follows it to its shard.
    fn move_shortfall(&mut self, file: FileId, to: usize) {
        for from in (0..self.shards.len()).filter(|&from| from != to) {
            let shortfall = &mut self.shards[from].shortfall;
            let absent = shortfall.absent.remove(&file.0);
            let short = shortfall.short.remove(&file.0);
            let shortfall = &mut self.shards[to].shortfall;
            shortfall.absent.extend(absent.map(|size| (file.0, size)));
            shortfall.short.extend(short.then_some(file.0));
        }
    }

    fn parent(&mut self, dir: u32) -> Result<BorrowedFd<'_>, Failure> {
        let root = self.volume.root();
        let descriptors = &mut self.shards[0].descriptors;
        descriptors
            .get(&self.dirs, dir, root)
            .or_call("openat of the directory")
    }

    fn note(&mut self, how: How<'_>, effect: &Effect) {
        let index = self.events_done;
        self.shards[0].note(index, how, effect);
    }

    fn mkdir(
        &mut self,
        event: &Event,
        how: How<'_>,
        id: DirId,
        parent: Option<DirId>,
    ) -> Result<Outcome, Failure> {
        self.dirs.check_new(id)?;
        let slot = match parent {
            Some(parent) => self.dirs.find(parent)?,
            None => ROOT,
        };
        naming::check(event.name.as_deref())?;
        if parent.is_some() {
            self.dirs.named(slot);
        }
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let mut buffer = NameBuffer::new();
                let name = buffer.name(event.name.as_deref(), b'd', id.0);
                let parent = self.parent(slot)?;
                let made = with_other_name(name, b'd', id.0, |name| {
                    retry(|| mkdirat(parent, name, Mode::from_raw_mode(0o755)))
                });
                self.made("mkdirat", made)?
            }
        };
        self.note(how, &effect);
        if effect.outcome == Outcome::Done {
            let name = name_after(event, &effect, b'd', id.0);
            self.dirs.insert(id, slot, name);
        }
        Ok(effect.outcome)
    }

    /// What became of making an entry.
    fn made(
        &self,
        call: &'static str,
        (made, other_name): (Result<(), Errno>, bool),
    ) -> Result<Effect, Failure> {
        let outcome = match made {
            Ok(()) => Outcome::Done,
            Err(errno) => {
                outcome_of_making(errno, self.volume.root()).ok_or(Failure::Io(call, errno))?
            }
        };
        Ok(Effect {
            other_name,
            ..Effect::nothing(outcome)
        })
    }

    fn rmdir(&mut self, how: How<'_>, id: DirId) -> Result<Outcome, Failure> {
        let slot = self.dirs.find_movable(id)?;
        if !self.dirs.is_empty(slot) {
            return Err(StateError::NotEmpty(id).into());
        }
        for shard in &mut self.shards {
            shard.descriptors.close(slot);
        }
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let name = self.dirs.name(slot, &mut NameBuffer::new()).to_vec();
                let parent = self.parent(self.dirs.get(slot).parent)?;
                let removed = unlinkat(parent, &name[..], AtFlags::REMOVEDIR);
                self.made("unlinkat", (removed, false))?
            }
        };
        self.note(how, &effect);
        if effect.outcome == Outcome::Done {
            let cached = self.dirs.remove(slot);
            let gone = cached.map(|cached| cached.ino);
            self.shards[0].gone.extend(gone);
        }
        Ok(effect.outcome)
    }

    fn rename_dir(
        &mut self,
        event: &Event,
        how: How<'_>,
        id: DirId,
        parent: DirId,
    ) -> Result<Outcome, Failure> {
        let slot = self.dirs.find_movable(id)?;
        let to = self.dirs.find(parent)?;
        if self.dirs.is_below(to, slot) {
            return Err(StateError::IntoItself(id).into());
        }
        naming::check(event.name.as_deref())?;
        self.dirs.named(to);
        let from = self.dirs.get(slot).parent;
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let old = self.dirs.name(slot, &mut NameBuffer::new()).to_vec();
                let mut buffer = NameBuffer::new();
                let new = buffer.name(event.name.as_deref(), b'd', id.0);
                self.rename_entry((from, old), to, new, (b'd', id.0))?
            }
        };
        self.note(how, &effect);
        if effect.outcome == Outcome::Done {
            let name = name_after(event, &effect, b'd', id.0);
            self.dirs.move_to(slot, to, name);
        }
        Ok(effect.outcome)
    }

    /// Moves an entry to where there is none; under its other name if there is.
    fn rename_entry(
        &mut self,
        (from, old): Entry,
        to: u32,
        new: &[u8],
        (letter, id): (u8, u64),
    ) -> Result<Effect, Failure> {
        if (from, &old[..]) == (to, new) {
            return Ok(Effect::plain(0));
        }
        let same_dir = from == to;
        let root = self.volume.root();
        let descriptors = &mut self.shards[0].descriptors;
        let (from, to) = descriptors
            .pair(&self.dirs, (from, to), root)
            .or_call("openat of the directory")?;
        let renamed = with_other_name(new, letter, id, |new| {
            match renameat_with(from, &old[..], to, new, RenameFlags::NOREPLACE) {
                // It has its other name already.
                Err(Errno::EXIST) if same_dir && new == old => Ok(()),
                renamed => renamed,
            }
        });
        self.made("renameat2", renamed)
    }

    /// A name that takes the place of another takes its name as well, whatever the event says: the entry stays.
    fn rename(
        &mut self,
        event: &Event,
        how: How<'_>,
        (id, dir, replaced): (FileId, DirId, Option<FileId>),
    ) -> Result<Outcome, Failure> {
        let (shard, slot) = self.locate(id).ok_or(StateError::NoFile(id))?;
        let to = self.dirs.find(dir)?;
        if replaced == Some(id) {
            self.dirs.named(to);
            return Ok(Outcome::Done);
        }
        let other = match replaced {
            Some(other) => {
                let (shard, slot) = self
                    .locate(other)
                    .ok_or(StateError::NothingToReplace(other))?;
                if self.shards[shard].files.get(slot).dir != to {
                    return Err(StateError::ReplacedElsewhere(other).into());
                }
                Some((shard, slot))
            }
            None => None,
        };
        naming::check(event.name.as_deref())?;
        self.dirs.named(to);
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let old = self.entry(shard, slot);
                if let Some((its_shard, its_slot)) = other {
                    let link = self.shards[shard].files.get(slot).link();
                    let its_link = self.shards[its_shard].files.get(its_slot).link();
                    let one_inode = link.is_some() && link == its_link;
                    self.replace_entry(&old, &self.entry(its_shard, its_slot), one_inode)?
                } else {
                    let mut buffer = NameBuffer::new();
                    let new = buffer.name(event.name.as_deref(), b'f', id.0);
                    self.rename_entry(old, to, new, (b'f', id.0))?
                }
            }
        };
        self.note(how, &effect);
        if effect.outcome != Outcome::Done {
            return Ok(effect.outcome);
        }
        let mut name = name_after(event, &effect, b'f', id.0);
        if let Some((its_shard, its_slot)) = other {
            name = Some(self.entry(its_shard, its_slot).1.into());
            let common = Common {
                dirs: &self.dirs,
                links: &self.links,
                root: self.volume.root(),
                options: self.options,
                block_bytes: self.block_bytes,
            };
            let shard = &mut self.shards[its_shard];
            shard.drop_name(&common, its_slot);
            shard.shortfall.short.remove(&replaced.unwrap_or(id).0);
        }
        self.move_file((shard, slot), to, name);
        Ok(Outcome::Done)
    }

    /// Directory and name of a file.
    fn entry(&self, shard: usize, slot: u32) -> Entry {
        let file = self.shards[shard].files.get(slot);
        (file.dir, file.name(&mut NameBuffer::new()).to_vec())
    }

    /// Moves an entry over another one. Of two names of one inode the kernel would leave both: the old one goes.
    fn replace_entry(
        &mut self,
        (from, old): &Entry,
        (to, new): &Entry,
        one_inode: bool,
    ) -> Result<Effect, Failure> {
        let root = self.volume.root();
        let descriptors = &mut self.shards[0].descriptors;
        let (from, to) = descriptors
            .pair(&self.dirs, (*from, *to), root)
            .or_call("openat of the directory")?;
        let renamed = if one_inode {
            unlinkat(from, &old[..], AtFlags::empty())
        } else {
            renameat_with(from, &old[..], to, &new[..], RenameFlags::empty())
        };
        self.made("renameat2", (renamed, false))
    }

    /// Moves a name in the tables.
    fn move_file(&mut self, (shard, slot): (usize, u32), to: u32, name: Option<Box<[u8]>>) {
        let new_shard = self.shard_of(to);
        let file = self.shards[shard].files.get_mut(slot);
        let from = std::mem::replace(&mut file.dir, to);
        file.name = name;
        self.dirs.leave(from);
        self.dirs.enter(to);
        if shard == new_shard {
            return;
        }
        let mut file = self.shards[shard].files.remove(slot);
        let id = FileId(file.id);
        let changed = std::mem::take(&mut file.changed);
        let ino = file.cached.as_ref().map(|cached| cached.ino);
        let new_slot = self.shards[new_shard].files.insert(file);
        if changed {
            self.shards[new_shard].mark(new_slot);
        }
        if let Some(ino) = ino {
            self.layouts.file_moved(ino, new_shard, new_slot);
        }
        self.move_shortfall(id, new_shard);
    }

    fn link(
        &mut self,
        event: &Event,
        how: How<'_>,
        (id, existing, dir): (FileId, FileId, DirId),
    ) -> Result<Outcome, Failure> {
        if self.locate(id).is_some() {
            return Err(StateError::FileExists(id).into());
        }
        let (shard, slot) = self.locate(existing).ok_or(StateError::NoFile(existing))?;
        let to = self.dirs.find(dir)?;
        naming::check(event.name.as_deref())?;
        self.dirs.named(to);
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let (from, old) = self.entry(shard, slot);
                let mut buffer = NameBuffer::new();
                let name = buffer.name(event.name.as_deref(), b'f', id.0);
                let root = self.volume.root();
                let descriptors = &mut self.shards[0].descriptors;
                let (from, to) = descriptors
                    .pair(&self.dirs, (from, to), root)
                    .or_call("openat of the directory")?;
                let made = with_other_name(name, b'f', id.0, |name| {
                    linkat(from, &old[..], to, name, AtFlags::empty())
                });
                self.made("linkat", made)?
            }
        };
        self.note(how, &effect);
        if effect.outcome == Outcome::Done {
            let link = self.share(shard, slot);
            let name = name_after(event, &effect, b'f', id.0);
            let common = self.common();
            let mut links = common.links();
            let inode = links.get_mut(link);
            inode.names.push(id);
            // Its number of names is part of the layout.
            inode.changed = true;
            drop(links);
            let number = self.shard_of(to);
            let file = File::linked(id, to, name, link);
            self.shards[number].files.insert(file);
            self.dirs.enter(to);
        }
        Ok(effect.outcome)
    }

    /// Puts the inode of a name among those that are shared.
    fn share(&mut self, shard: usize, slot: u32) -> u32 {
        let file = self.shards[shard].files.get_mut(slot);
        if let Some(link) = file.link() {
            return link;
        }
        let inode = SharedInode {
            content: file.id,
            body: std::mem::take(&mut file.body),
            symlink: file.symlink,
            names: vec![FileId(file.id)],
            changed: true,
            cached: file.cached.take(),
        };
        file.changed = false;
        let ino = inode.cached.as_ref().map(|cached| cached.ino);
        let links = self.links.get_mut();
        let links = links.unwrap_or_else(std::sync::PoisonError::into_inner);
        let link = links.insert(inode);
        file.set_link(link);
        if let Some(ino) = ino {
            self.layouts.file_shared(ino, link);
        }
        link
    }

    fn sync_all(&mut self, how: How<'_>) -> Result<Outcome, Failure> {
        if let How::Live = how {
            syncfs(self.volume.root()).or_call("syncfs")?;
        }
        Ok(Outcome::Done)
    }

    /// Where the volume cannot be mounted anew everything is at least forced to disk.
    fn remount(&mut self, how: How<'_>) -> Result<Outcome, Failure> {
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                for shard in &mut self.shards {
                    shard.descriptors.close_all();
                }
                let remounted = self.volume.remount().map_err(|error| {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    Failure::Io("remount", errno)
                })?;
                if remounted {
                    Effect::plain(0)
                } else {
                    self.sync_all(how)?;
                    Effect::nothing(Outcome::Ignored)
                }
            }
        };
        self.note(how, &effect);
        Ok(effect.outcome)
    }
}
