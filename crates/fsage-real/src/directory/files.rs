//! The files of a replay: what each id names, and what the inode holds.
//!
//! A file takes about 75 bytes. Names are kept only where the workload gives one, and the inodes of hard links stand in
//! a table of their own.

use super::body::Body;
use super::cache::Cached;
use super::naming::NameBuffer;
use fsage_core::FileId;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Stands for "no shared inode".
const OWN: u32 = u32::MAX;

/// A name, and its inode as long as it is the only name of it.
#[derive(Debug)]
pub(super) struct File {
    pub id: u64,
    pub dir: u32,
    /// Slot of the inode in [`Links`]; [`OWN`] where it is this one.
    link: u32,
    pub name: Option<Box<[u8]>>,
    pub body: Body,
    pub symlink: bool,
    alive: bool,
    /// Its data or its length has changed since the layout was read last.
    pub changed: bool,
    pub cached: Option<Box<Cached>>,
}

impl File {
    /// A new file with an inode of its own.
    pub fn new(id: FileId, dir: u32, name: Option<Box<[u8]>>, body: Body, symlink: bool) -> File {
        File {
            id: id.0,
            dir,
            link: OWN,
            name,
            body,
            symlink,
            alive: true,
            changed: false,
            cached: None,
        }
    }

    /// A name of a shared inode.
    pub fn linked(id: FileId, dir: u32, name: Option<Box<[u8]>>, link: u32) -> File {
        File {
            link,
            ..File::new(id, dir, name, Body::default(), false)
        }
    }

    /// The shared inode that this is a name of.
    #[inline]
    pub fn link(&self) -> Option<u32> {
        (self.link != OWN).then_some(self.link)
    }

    /// The inode is shared from now on.
    pub fn set_link(&mut self, link: u32) {
        self.link = link;
    }

    #[inline]
    pub fn name<'a>(&'a self, buffer: &'a mut NameBuffer) -> &'a [u8] {
        buffer.name(self.name.as_deref(), b'f', self.id)
    }
}

/// Files by id.
#[derive(Debug, Default)]
pub(super) struct Files {
    slots: Vec<File>,
    free: Vec<u32>,
    index: HashTable<u32>,
}

#[inline]
fn hash(id: u64) -> u64 {
    FxBuildHasher.hash_one(id)
}

impl Files {
    #[inline]
    pub fn find(&self, id: FileId) -> Option<u32> {
        let slots = &self.slots;
        self.index
            .find(hash(id.0), |&slot| slots[slot as usize].id == id.0)
            .copied()
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &File {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut File {
        &mut self.slots[slot as usize]
    }

    /// The file of a slot, if it holds one.
    pub fn alive(&self, slot: u32) -> Option<&File> {
        self.slots.get(slot as usize).filter(|file| file.alive)
    }

    #[inline]
    pub fn insert(&mut self, file: File) -> u32 {
        let id = file.id;
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = file;
            slot
        } else {
            self.slots.push(file);
            self.slots.len() as u32 - 1
        };
        let slots = &self.slots;
        let rehash = |&slot: &u32| hash(slots[slot as usize].id);
        self.index.insert_unique(hash(id), slot, rehash);
        slot
    }

    #[inline]
    pub fn remove(&mut self, slot: u32) -> File {
        let empty = File {
            alive: false,
            ..File::new(FileId(0), 0, None, Body::default(), false)
        };
        let gone = std::mem::replace(&mut self.slots[slot as usize], empty);
        if let Ok(entry) = self.index.find_entry(hash(gone.id), |&other| other == slot) {
            entry.remove();
        }
        self.free.push(slot);
        gone
    }

    /// Every name, in the order of slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &File)> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, file)| file.alive)
            .map(|(slot, file)| (slot as u32, file))
    }

    /// Marks every file as changed and forgets where it lies. Gives their slots.
    pub fn forget_cache(&mut self) -> Vec<u32> {
        let mut changed = Vec::new();
        for (slot, file) in self.slots.iter_mut().enumerate().filter(|(_, f)| f.alive) {
            file.cached = None;
            file.changed = file.link == OWN;
            if file.changed {
                changed.push(slot as u32);
            }
        }
        changed
    }
}

/// An inode that has, or had, several names.
#[derive(Debug)]
pub(super) struct SharedInode {
    /// The id it was made under.
    pub content: u64,
    pub body: Body,
    pub symlink: bool,
    pub names: Vec<FileId>,
    pub changed: bool,
    pub cached: Option<Box<Cached>>,
}

/// Inodes that have, or had, several names.
#[derive(Debug, Default)]
pub(super) struct Links {
    slots: Vec<Option<SharedInode>>,
    free: Vec<u32>,
}

impl Links {
    pub fn insert(&mut self, inode: SharedInode) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(inode);
            return slot;
        }
        self.slots.push(Some(inode));
        self.slots.len() as u32 - 1
    }

    pub fn get(&self, slot: u32) -> &SharedInode {
        self.slots[slot as usize].as_ref().expect("a shared inode")
    }

    /// The inode of a slot, if it holds one.
    pub fn find(&self, slot: u32) -> Option<&SharedInode> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, slot: u32) -> &mut SharedInode {
        self.slots[slot as usize].as_mut().expect("a shared inode")
    }

    /// Takes a name away; the inode goes with its last name and is given back.
    pub fn unlink(&mut self, slot: u32, id: FileId) -> Option<SharedInode> {
        let inode = self.get_mut(slot);
        inode.names.retain(|&name| name != id);
        if !inode.names.is_empty() {
            // Its number of names is part of the layout.
            inode.changed = true;
            return None;
        }
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    /// Slots of those that have changed since they were asked for last.
    pub fn take_changed(&mut self) -> Vec<u32> {
        let slots = self.slots.iter_mut().enumerate();
        slots
            .filter_map(|(slot, inode)| {
                let changed = std::mem::take(&mut inode.as_mut()?.changed);
                changed.then_some(slot as u32)
            })
            .collect()
    }

    pub fn forget_cache(&mut self) {
        for inode in self.slots.iter_mut().flatten() {
            inode.cached = None;
            inode.changed = true;
        }
    }
}
