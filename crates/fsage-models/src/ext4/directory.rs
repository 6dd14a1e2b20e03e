//! Directories of the workload: making and removing them and what is in them.
//!
//! Spec: `docs/spec/ext4.md`, section 9.

use super::data::NoSpace;
use super::entries::{Entries, NoBlock};
use super::hash::Key;
use super::tree::{Entry, Meta, Tree};
use super::{Ext4, Inode, Kind};
use crate::name_table::Name;
use crate::names::{Entry as Place, File};
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId, Outcome};

pub(super) const ROOT_INO: u32 = 2;
pub(super) const LOST_FOUND_INO: u32 = 11;

/// A directory.
#[derive(Clone, Debug)]
pub(super) struct Dir {
    pub id: u64,
    pub name: Name,
    /// Slot of its inode.
    pub inode: u32,
    /// Slot of its parent.
    pub parent: u32,
    /// Group of the inode that was made in it last.
    pub last_group: Option<u32>,
    pub entries: Entries,
    pub alive: bool,
}

/// The first extent of a tree takes no block.
struct NoMetaNeeded;

impl Meta for NoMetaNeeded {
    fn take(&mut self, _goal: super::tree::Goal) -> Option<u32> {
        None
    }

    fn give_back(&mut self, _block: u32) {}
}

impl Ext4 {
    /// What `mkfs.ext4` makes: the root, and `lost+found` in it.
    pub(super) fn make_first_directories(&mut self) {
        let (root_block, (lost_found, blocks)) =
            (self.geometry.root_block, self.geometry.lost_found);
        for _ in 0..LOST_FOUND_INO {
            self.groups.take_inode(0, false);
        }
        self.groups.all[0].directories += 2;
        self.groups.flex[0].directories += 2;
        for (ino, block, blocks) in [
            (ROOT_INO, root_block, 1),
            (LOST_FOUND_INO, lost_found, blocks),
        ] {
            let slot = self.keep_inode(ino, Kind::Directory);
            let mut tree = Tree::default();
            let entry = Entry::new(0, block, blocks, false);
            let inserted = tree.insert(entry, true, 0, &mut NoMetaNeeded);
            debug_assert!(inserted.is_ok());
            self.inodes[slot as usize] = Inode {
                size: u64::from(blocks) * self.geometry.block_bytes,
                tree,
                ..self.inodes[slot as usize].clone()
            };
        }
        let mut entries = Entries::new(self.format, 0, 0);
        let name = self.keys.names.give(b"lost+found".as_slice().into());
        let key = self.keys.key(name);
        let entered = entries.insert(self.format, key, 1, &mut || false);
        debug_assert!(entered.is_ok());
        // It is no directory of a workload.
        entries.count = 0;
        self.dirs.push(Dir {
            id: 0,
            name,
            inode: 0,
            parent: ROOT,
            last_group: None,
            entries,
            alive: true,
        });
    }

    /// The name of a new entry of a directory. Where another inode has it, that one is looked at.
    pub(super) fn new_name(&mut self, dir: u32, by_id: Name) -> Name {
        let (name, taken_by) = self.keys.new_name(&self.dirs[dir as usize].entries, by_id);
        if let Some(other) = taken_by {
            self.look_up(other);
        }
        name
    }

    /// Puts a name into a directory. What finds no space tries again as a write does.
    pub(super) fn enter(&mut self, dir: u32, name: Name, inode: u32) -> Result<(), NoSpace> {
        let mut tries = 0;
        loop {
            match self.try_to_enter(dir, name, inode) {
                Err(NoSpace) if self.try_again(&mut tries) => {}
                result => return result,
            }
        }
    }

    fn try_to_enter(&mut self, dir: u32, name: Name, inode: u32) -> Result<(), NoSpace> {
        let key = self.keys.key(name);
        self.is_running = true;
        let slot = self.dirs[dir as usize].inode;
        let empty = Entries {
            blocks: Vec::new(),
            count: 0,
        };
        let mut entries = std::mem::replace(&mut self.dirs[dir as usize].entries, empty);
        let bytes = self.geometry.block_bytes;
        let result = entries.insert(self.format, key, inode, &mut || {
            let logical = (self.inodes[slot as usize].size / bytes) as u32;
            let appended = self.append_block(slot, logical).is_ok();
            if appended {
                self.inodes[slot as usize].size += bytes;
            }
            appended
        });
        self.dirs[dir as usize].entries = entries;
        if self.notes_blocks()
            && let Some((block, _)) = self.dirs[dir as usize].entries.find(key, inode)
        {
            self.changed_directory(dir, block);
            self.changed_inode(slot);
        }
        result.map_err(|NoBlock| NoSpace)
    }

    /// Takes a name out of a directory, which does not shrink.
    pub(super) fn leave(&mut self, dir: u32, name: Name, inode: u32) {
        self.is_running = true;
        let key = self.keys.key(name);
        if let Some(block) = self.dirs[dir as usize].entries.remove(key, inode) {
            self.changed_directory(dir, block);
            self.changed_inode(self.dirs[dir as usize].inode);
        }
    }

    /// Inode, what is in it from the start, and name of a new file; without space nothing is left behind. Gives the
    /// slot of the inode.
    pub(super) fn make_file(
        &mut self,
        id: FileId,
        dir: u32,
        kind: Kind,
        fill: impl FnOnce(&mut Ext4, u32) -> Result<(), NoSpace>,
    ) -> Result<u32, Outcome> {
        let name = self.new_name(dir, Name::file(id.0));
        let key = self.keys.key(name);
        let made = self.make_inode(dir, kind, key);
        let entered = made.and_then(|inode| {
            if fill(self, inode).is_ok() && self.enter(dir, name, inode).is_ok() {
                return Ok(inode);
            }
            self.release(inode);
            Err(Outcome::NoSpace)
        });
        let Ok(inode) = entered else {
            self.keys.names.take_back(name);
            return entered;
        };
        self.keys.names.call(id.0, name);
        let slot = self.names.insert(File {
            id: id.0,
            inode,
            dir,
            entry: Place::new(0, kind == Kind::Symlink),
        });
        self.inodes[inode as usize].file = slot;
        self.change_today(inode);
        self.changes.new_file(slot);
        Ok(inode)
    }

    /// A symbolic link. A target that does not lie in the inode has a block of its own, in which it ends with a zero
    /// byte.
    pub(super) fn make_symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        if bytes >= self.geometry.block_bytes {
            return Outcome::TooLarge;
        }
        let made = self.make_file(id, dir, Kind::Symlink, |fs, inode| {
            if bytes >= crate::FAST_SYMLINK {
                fs.first_block(inode)?;
            }
            fs.inodes[inode as usize].size = bytes;
            Ok(())
        });
        made.map_or_else(|outcome| outcome, |_| Outcome::Done)
    }

    /// Removes a name; the file goes with its last one.
    pub(super) fn remove_name(&mut self, id: FileId, file: u32) {
        let name = self.keys.names.name_of(id.0);
        let dir = self.names.place(id, file).0;
        let inode = self.inode_of(file);
        self.leave(dir, name, inode);
        self.keys.names.forget(id.0);
        if self.names.unlink(id, file).is_some() {
            self.release(inode);
        } else {
            self.journal(inode);
        }
    }

    /// Moves a name, over another one if one is replaced: then it has that name.
    pub(super) fn move_name(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let name = self.keys.names.name_of(id.0);
        let from = self.names.place(id, file).0;
        let inode = self.inode_of(file);
        self.journal(inode);
        if let Some((other, gone)) = replaced {
            // What replaces a file goes to disk first. Of two names of one inode, which the kernel would both leave, a
            // replay removes the old one.
            if gone != file
                && self
                    .cache_of(inode)
                    .is_some_and(|cache| !cache.delayed.is_empty())
            {
                self.write_back(inode);
            }
            let new = self.keys.names.name_of(other.0);
            let old = self.inode_of(gone);
            let key = self.keys.key(new);
            self.dirs[to as usize].entries.lead(key, old, inode);
            self.leave(from, name, inode);
            self.keys.names.hand_over(other.0, id.0);
            self.names.set_place(id, file, to, 0);
            if self.names.unlink(other, gone).is_some() {
                self.release(old);
            } else {
                self.journal(old);
            }
            return Outcome::Done;
        }
        let Ok(new) = self.move_entry(inode, (from, name), to, Name::file(id.0)) else {
            return Outcome::NoSpace;
        };
        self.keys.names.call(id.0, new);
        self.names.set_place(id, file, to, 0);
        Outcome::Done
    }

    /// Moves an entry to where there is none, under the name that was given or else one by its id; gives that name. The
    /// old one is not taken back.
    pub(super) fn move_entry(
        &mut self,
        inode: u32,
        (from, old): (u32, Name),
        to: u32,
        by_id: Name,
    ) -> Result<Name, NoSpace> {
        let entries = &self.dirs[to as usize].entries;
        let (new, taken_by) = self.keys.name_of_moved(old, (from == to, entries), by_id);
        if let Some(other) = taken_by {
            self.look_up(other);
        }
        let Some(new) = new else {
            return Ok(old);
        };
        if let Err(error) = self.enter(to, new, inode) {
            self.keys.names.take_back(new);
            return Err(error);
        }
        self.leave(from, old, inode);
        Ok(new)
    }

    /// A new inode. Where there is none, the kernel tries again as if it were for want of blocks: what was freed is
    /// committed, and may be taken from then on.
    fn make_inode(&mut self, dir: u32, kind: Kind, key: Key) -> Result<u32, Outcome> {
        let mut tries = 0;
        loop {
            match self.new_inode(dir, kind, key) {
                Some(inode) => return Ok(inode),
                None if self.try_again(&mut tries) => {}
                None => return Err(Outcome::NoInode),
            }
        }
    }

    /// The first block of a directory or of a long symbolic link.
    fn first_block(&mut self, inode: u32) -> Result<(), NoSpace> {
        let mut tries = 0;
        loop {
            match self.append_block(inode, 0) {
                Err(NoSpace) if self.try_again(&mut tries) => {}
                result => return result,
            }
        }
    }

    /// Inode, first block, name in the parent. Without space nothing is left behind.
    pub(super) fn new_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        let name = self.new_name(parent, Name::directory(id.0));
        let key = self.keys.key(name);
        let inode = match self.make_inode(parent, Kind::Directory, key) {
            Ok(inode) => inode,
            Err(outcome) => {
                self.keys.names.take_back(name);
                return Err(outcome);
            }
        };
        let made = self.first_block(inode);
        let entered = made.and_then(|()| self.enter(parent, name, inode));
        if entered.is_err() {
            self.keys.names.take_back(name);
            self.release(inode);
            return Err(Outcome::NoSpace);
        }
        self.inodes[inode as usize].size = self.geometry.block_bytes;
        let dir = Dir {
            id: id.0,
            name,
            inode,
            parent,
            last_group: None,
            entries: Entries::new(self.format, inode, self.dirs[parent as usize].inode),
            alive: true,
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

    /// Removes an empty directory.
    pub(super) fn drop_directory(&mut self, slot: u32) {
        let dir = &mut self.dirs[slot as usize];
        dir.alive = false;
        let (name, inode, parent) = (dir.name, dir.inode, dir.parent);
        dir.entries.blocks = Vec::new();
        self.leave(parent, name, inode);
        self.keys.names.take_back(name);
        self.release(inode);
        self.free_dirs.push(slot);
    }
}
