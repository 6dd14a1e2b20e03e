//! Directories of the workload: making and removing them and what is in them.
//!
//! Spec: `docs/spec/ext4.md`, section 9.

use super::data::NoSpace;
use super::entries::{Entries, NoBlock};
use super::hash::Name;
use super::tree::{Entry, Meta, Tree};
use super::{Ext4, Inode, Kind};
use crate::names::{Entry as Place, File};
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId, Outcome};

const ROOT_INO: u32 = 2;
const LOST_FOUND_INO: u32 = 11;

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
        let name = self.name_table.give(b"lost+found");
        let key = self.name_table.key(name);
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

    /// The name of a file that is being made, or that gets a further one.
    pub(super) fn name_of_new(&mut self, id: FileId) -> Name {
        match self.next_name.take() {
            Some(name) => {
                self.called.insert(id.0, name);
                name
            }
            None => Name::file(id.0),
        }
    }

    /// The name that an id stands for.
    pub(super) fn name_of(&self, id: FileId) -> Name {
        if self.called.is_empty() {
            return Name::file(id.0);
        }
        let called = self.called.get(&id.0);
        called.copied().unwrap_or_else(|| Name::file(id.0))
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
        let key = self.name_table.key(name);
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
        if self.told.is_on()
            && let Some((block, _)) = self.dirs[dir as usize].entries.find(key, inode)
        {
            self.changed_directory(dir, block);
            self.changed_inode(slot);
        }
        result.map_err(|NoBlock| NoSpace)
    }

    /// Takes a name out of a directory, which does not shrink.
    pub(super) fn leave(&mut self, dir: u32, name: Name, inode: u32) {
        let key = self.name_table.key(name);
        if let Some(block) = self.dirs[dir as usize].entries.remove(key, inode) {
            self.changed_directory(dir, block);
            self.changed_inode(self.dirs[dir as usize].inode);
        }
    }

    /// Inode and name of a new file; without space nothing is left behind. Gives the slot of the inode.
    pub(super) fn make_file(&mut self, id: FileId, dir: u32, kind: Kind) -> Result<u32, Outcome> {
        let name = self.name_of_new(id);
        let key = self.name_table.key(name);
        let made = self.new_inode(dir, kind, key).ok_or(Outcome::NoInode);
        let entered = made.and_then(|inode| {
            if self.enter(dir, name, inode).is_ok() {
                return Ok(inode);
            }
            self.release(inode);
            Err(Outcome::NoSpace)
        });
        let Ok(inode) = entered else {
            self.called.remove(&id.0);
            return entered;
        };
        let slot = self.names.insert(File {
            id: id.0,
            inode,
            dir,
            entry: Place::new(0, kind == Kind::Symlink),
        });
        self.inodes[inode as usize].file = slot;
        self.changes.new_file(slot);
        Ok(inode)
    }

    /// A symbolic link. A target that does not lie in the inode has a block of its own, in which it ends with a zero
    /// byte.
    pub(super) fn make_symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        let inode = match self.make_file(id, dir, Kind::Symlink) {
            Ok(inode) => inode,
            Err(outcome) => return outcome,
        };
        if bytes >= self.geometry.block_bytes {
            return Outcome::TooLarge;
        }
        if bytes >= crate::FAST_SYMLINK {
            let mut tries = 0;
            while self.append_block(inode, 0).is_err() {
                if !self.try_again(&mut tries) {
                    return Outcome::NoSpace;
                }
            }
        }
        self.inodes[inode as usize].size = bytes;
        Outcome::Done
    }

    /// Removes a name; the file goes with its last one.
    pub(super) fn remove_name(&mut self, id: FileId, file: u32) {
        let name = self.name_of(id);
        let dir = self.names.place(id, file).0;
        let inode = self.inode_of(file);
        self.leave(dir, name, inode);
        self.called.remove(&id.0);
        if self.names.unlink(id, file).is_some() {
            self.release(inode);
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
        let name = self.name_of(id);
        let from = self.names.place(id, file).0;
        let inode = self.inode_of(file);
        if let Some((other, gone)) = replaced {
            // What replaces a file goes to disk first.
            if self
                .cache_of(inode)
                .is_some_and(|cache| !cache.delayed.is_empty())
            {
                self.write_back(inode);
            }
            let new = self.name_of(other);
            let old = self.inode_of(gone);
            let key = self.name_table.key(new);
            self.dirs[to as usize].entries.lead(key, old, inode);
            self.leave(from, name, inode);
            self.called.remove(&other.0);
            self.called.insert(id.0, new);
            self.names.set_place(id, file, to, 0);
            if self.names.unlink(other, gone).is_some() {
                self.release(old);
            }
            return Outcome::Done;
        }
        if from == to {
            return Outcome::Done;
        }
        if self.enter(to, name, inode).is_err() {
            return Outcome::NoSpace;
        }
        self.leave(from, name, inode);
        self.names.set_place(id, file, to, 0);
        Outcome::Done
    }

    /// Inode, first block, name in the parent. Without space nothing is left behind.
    pub(super) fn new_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        let name = self.next_name.take().unwrap_or(Name::directory(id.0));
        let key = self.name_table.key(name);
        let made = self.new_inode(parent, Kind::Directory, key);
        let inode = made.ok_or(Outcome::NoInode)?;
        let mut tries = 0;
        let made = loop {
            match self.append_block(inode, 0) {
                Err(NoSpace) if self.try_again(&mut tries) => {}
                result => break result,
            }
        };
        let entered = made.and_then(|()| self.enter(parent, name, inode));
        if entered.is_err() {
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
        self.release(inode);
        self.free_dirs.push(slot);
    }
}
