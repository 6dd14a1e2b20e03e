//! The directories of a replay: which id is which, where it hangs, and how many entries it has.

use super::cache::Cached;
use super::naming::NameBuffer;
use fsage_core::names::escape;
use fsage_core::operations::{DirIds, ROOT, Shortfall};
use fsage_core::{DirId, StateError};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// A directory.
#[derive(Debug, Default)]
pub(super) struct Dir {
    pub id: u64,
    pub parent: u32,
    pub alive: bool,
    pub name: Option<Box<[u8]>>,
    /// Names in it. Threads work on different directories, so that nothing is ordered by this.
    entries: AtomicU32,
    /// Its entries have changed since the layout was read last.
    changed: AtomicBool,
    pub cached: Option<Box<Cached>>,
}

/// All directories. What lies here changes only while one thread is at work, the atomics aside.
#[derive(Debug)]
pub(super) struct Dirs {
    slots: Vec<Dir>,
    free: Vec<u32>,
    /// Which id names which slot.
    pub ids: DirIds,
    /// What is known of directories, and of names that are not where they should be.
    pub shortfall: Shortfall,
    /// A directory was moved or got another name since the layout was read last.
    pub any_moved: bool,
}

impl Dirs {
    /// Nothing but the root.
    pub fn new() -> Dirs {
        let root = Dir {
            alive: true,
            changed: AtomicBool::new(true),
            ..Dir::default()
        };
        Dirs {
            slots: vec![root],
            free: Vec::new(),
            ids: DirIds::default(),
            shortfall: Shortfall::default(),
            any_moved: false,
        }
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &Dir {
        &self.slots[slot as usize]
    }

    pub fn get_mut(&mut self, slot: u32) -> &mut Dir {
        &mut self.slots[slot as usize]
    }

    /// Slot of a directory that is alive.
    #[inline]
    pub fn find(&self, id: DirId) -> Result<u32, StateError> {
        self.ids.find(id)
    }

    pub fn insert(&mut self, id: DirId, parent: u32, name: Option<Box<[u8]>>) {
        let dir = Dir {
            id: id.0,
            parent,
            alive: true,
            name,
            changed: AtomicBool::new(true),
            ..Dir::default()
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = dir;
            slot
        } else {
            self.slots.push(dir);
            self.slots.len() as u32 - 1
        };
        self.ids.insert(id, slot);
        self.enter(parent);
    }

    /// Removes an empty directory; what is known of its place on disk is given back.
    pub fn remove(&mut self, slot: u32) -> Option<Box<Cached>> {
        let gone = std::mem::take(&mut self.slots[slot as usize]);
        self.ids.remove(DirId(gone.id));
        self.free.push(slot);
        self.leave(gone.parent);
        gone.cached
    }

    /// Moves a directory and gives it this name.
    pub fn move_to(&mut self, slot: u32, parent: u32, name: Option<Box<[u8]>>) {
        let dir = self.get_mut(slot);
        dir.name = name;
        let from = std::mem::replace(&mut dir.parent, parent);
        // The entry `..` changes as well.
        dir.changed.store(true, Relaxed);
        self.any_moved = true;
        self.leave(from);
        self.enter(parent);
    }

    pub fn is_empty(&self, slot: u32) -> bool {
        self.get(slot).entries.load(Relaxed) == 0
    }

    #[inline]
    pub fn enter(&self, slot: u32) {
        let dir = self.get(slot);
        dir.entries.fetch_add(1, Relaxed);
        dir.changed.store(true, Relaxed);
    }

    #[inline]
    pub fn leave(&self, slot: u32) {
        let dir = self.get(slot);
        dir.entries.fetch_sub(1, Relaxed);
        dir.changed.store(true, Relaxed);
    }

    /// Directories that have changed since they were asked for last.
    pub fn take_changed(&mut self) -> Vec<u32> {
        let slots = self.slots.iter_mut().enumerate();
        slots
            .filter_map(|(slot, dir)| {
                let changed = std::mem::take(dir.changed.get_mut());
                (changed && dir.alive).then_some(slot as u32)
            })
            .collect()
    }

    pub fn forget_cache(&mut self) {
        for dir in &mut self.slots {
            dir.cached = None;
            *dir.changed.get_mut() = true;
        }
    }

    /// Name of a directory that is not the root.
    pub fn name<'a>(&'a self, slot: u32, buffer: &'a mut NameBuffer) -> &'a [u8] {
        let dir = self.get(slot);
        buffer.name(dir.name.as_deref(), b'd', dir.id)
    }

    /// Path of a directory from the root of the tree, as bytes; that of the root is empty.
    pub fn path(&self, mut slot: u32) -> Vec<u8> {
        let mut names = Vec::new();
        let mut buffer = NameBuffer::new();
        while slot != ROOT {
            names.push(self.name(slot, &mut buffer).to_vec());
            slot = self.get(slot).parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Escaped paths by slot, empty for the root and for slots without a directory.
    pub fn escaped_paths(&self) -> Vec<String> {
        let mut paths = vec![String::new(); self.slots.len()];
        let mut missing = Vec::new();
        let mut buffer = NameBuffer::new();
        for (slot, _) in self.alive() {
            let mut at = slot;
            while at != ROOT && paths[at as usize].is_empty() {
                missing.push(at);
                at = self.get(at).parent;
            }
            while let Some(below) = missing.pop() {
                let name = self.name(below, &mut buffer);
                let parent = &paths[self.get(below).parent as usize];
                paths[below as usize] = join(parent, name);
            }
        }
        paths
    }

    /// Every directory, in the order of slots.
    pub fn alive(&self) -> impl Iterator<Item = (u32, &Dir)> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, dir)| dir.alive)
            .map(|(slot, dir)| (slot as u32, dir))
    }
}

/// Path of an entry, escaped, in a directory whose path is.
pub(super) fn join(path: &str, name: &[u8]) -> String {
    let name = escape(name);
    if path.is_empty() {
        name.into_owned()
    } else {
        [path, "/", &name].concat()
    }
}
