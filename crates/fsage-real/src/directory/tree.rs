//! Operations on more than one file: directories, names that move, hard links, and the whole file system.
//!
//! They are applied while nothing else is.

use super::calls::{Effect, outcome_of_making, retry};
use super::error::{Failure, OrCall};
use super::files::{File, SharedInode};
use super::namespace::FileSlot;
use super::naming::{self, NameBuffer};
use super::replay::Directory;
use super::shard::{Common, How, Shard, name_after, with_other_name};
use fsage_core::operations::{self, Action, Decision, Shortfall};
use fsage_core::{DirId, Event, FileId, Op, Outcome};
use rustix::fs::{AtFlags, Mode, RenameFlags, linkat, mkdirat, renameat_with, unlinkat};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Where an entry is, or goes: directory and name.
type Entry = (u32, Vec<u8>);

impl Directory {
    /// Does what was decided of an operation that is not on one file.
    pub(super) fn apply_to_tree(
        &mut self,
        event: &Event,
        how: How<'_>,
        decision: Decision<FileSlot>,
    ) -> Result<Outcome, Failure> {
        let outcome = match decision {
            Decision::Do(action) => self.perform(event, how, action)?,
            Decision::Absent => Outcome::Absent,
            Decision::Ignored => return Ok(Outcome::Ignored),
        };
        self.note_shortfall(&event.op, outcome);
        Ok(outcome)
    }

    fn perform(
        &mut self,
        event: &Event,
        how: How<'_>,
        action: Action<FileSlot>,
    ) -> Result<Outcome, Failure> {
        if let Action::Mkdir { .. }
        | Action::RenameDir { .. }
        | Action::Rename { .. }
        | Action::Link { .. } = action
        {
            naming::check(event.name.as_deref())?;
        }
        self.dirs.ids.used_by(&event.op);
        match action {
            Action::Mkdir { id, parent } => self.mkdir(event, how, id, parent),
            Action::Rmdir { dir, .. } => self.rmdir(how, dir),
            Action::RenameDir { id, dir, to } => self.rename_dir(event, how, id, (dir, to)),
            Action::Rename {
                id,
                file,
                to,
                replaced,
            } => self.rename(event, how, (id, file), to, replaced.map(|(_, place)| place)),
            Action::Link { id, file, dir, .. } => self.link(event, how, id, file, dir),
            Action::Sync => self.sync_all(how),
            Action::Remount => self.remount(how),
            _ => Ok(Outcome::Done),
        }
    }

    /// Remembers what an operation did not do. What is known of a file stands in the shard that has it.
    fn note_shortfall(&mut self, op: &Op, outcome: Outcome) {
        let names = match outcome {
            Outcome::Done => 0,
            _ => operations::names_there(self, op),
        };
        let (Op::Link { file, .. }
        | Op::Rename {
            replaced: Some(file),
            ..
        }) = *op
        else {
            self.dirs.shortfall.note(op, outcome, names);
            return;
        };
        let place = self.locate(file);
        let number = place.map_or(0, |(number, _)| number);
        self.move_shortfall(file, number);
        self.shards[number].shortfall.note(op, outcome, names);
        if let (&Op::Rename { file: moved, .. }, Some((_, slot))) = (op, place)
            && outcome != Outcome::Done
            && moved != file
        {
            // It should be gone, but could not be replaced.
            let common = Common {
                dirs: &self.dirs,
                links: &self.links,
                root: self.volume.root(),
                options: self.options,
                block_bytes: self.block_bytes,
            };
            self.shards[number].keep_name(&common, slot);
        }
    }

    /// Shard and slot of a name.
    pub(super) fn locate(&self, file: FileId) -> Option<FileSlot> {
        let mut shards = self.shards.iter().enumerate();
        shards.find_map(|(number, shard)| Some((number, shard.files.find(file)?)))
    }

    /// Whether a name is, or was, one of several of its inode.
    pub(super) fn is_linked(&self, (shard, slot): FileSlot) -> bool {
        self.shards[shard].files.get(slot).link().is_some()
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
            let missing = |shard: &Shard| shard.shortfall.is_absent(file);
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
        let mut known = Shortfall::default();
        for shard in &mut self.shards {
            shard.shortfall.hand_over(file, &mut known);
        }
        known.hand_over(file, &mut self.shards[to].shortfall);
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
        slot: u32,
    ) -> Result<Outcome, Failure> {
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
        (made, other_names): (Result<(), Errno>, u8),
    ) -> Result<Effect, Failure> {
        let outcome = match made {
            Ok(()) => Outcome::Done,
            Err(errno) => {
                outcome_of_making(errno, self.volume.root()).ok_or(Failure::Io(call, errno))?
            }
        };
        Ok(Effect {
            other_names,
            ..Effect::nothing(outcome)
        })
    }

    fn rmdir(&mut self, how: How<'_>, slot: u32) -> Result<Outcome, Failure> {
        for shard in &mut self.shards {
            shard.descriptors.close(slot);
        }
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let name = self.dirs.name(slot, &mut NameBuffer::new()).to_vec();
                let parent = self.parent(self.dirs.get(slot).parent)?;
                let removed = unlinkat(parent, &name[..], AtFlags::REMOVEDIR);
                self.made("unlinkat", (removed, 0))?
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
        (slot, to): (u32, u32),
    ) -> Result<Outcome, Failure> {
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
        (id, (shard, slot)): (FileId, FileSlot),
        to: u32,
        replaced: Option<FileSlot>,
    ) -> Result<Outcome, Failure> {
        let effect = match how {
            How::Known(deviation) => Effect::recorded(deviation, 0),
            How::Live => {
                let old = self.entry(shard, slot);
                if let Some((its_shard, its_slot)) = replaced {
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
        if let Some((its_shard, its_slot)) = replaced {
            name = Some(self.entry(its_shard, its_slot).1.into());
            let common = Common {
                dirs: &self.dirs,
                links: &self.links,
                root: self.volume.root(),
                options: self.options,
                block_bytes: self.block_bytes,
            };
            self.shards[its_shard].drop_name(&common, its_slot);
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
        self.made("renameat2", (renamed, 0))
    }

    /// Moves a name in the tables.
    fn move_file(&mut self, (shard, slot): FileSlot, to: u32, name: Option<Box<[u8]>>) {
        let new_shard = self.shard_of(to);
        let file = self.shards[shard].files.get_mut(slot);
        let from = std::mem::replace(&mut file.dir, to);
        file.name = name;
        // Its directory and its name are part of the layout.
        match file.link() {
            Some(link) => self.common().links().get_mut(link).changed = true,
            None => self.shards[shard].mark(slot),
        }
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
        id: FileId,
        (shard, slot): FileSlot,
        to: u32,
    ) -> Result<Outcome, Failure> {
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
            let synced = self.volume.sync();
            synced.map_err(|error| {
                Failure::Io("syncfs", Errno::from_io_error(&error).unwrap_or(Errno::IO))
            })?;
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
