//! Which id names which file: a slab of files, a table from first names, and further names by hard links.

use fsage_core::FileId;
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A file: its inode, and where its first name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct File<I> {
    /// The id of its first name.
    pub id: u64,
    pub inode: I,
    /// Slot of the directory of its first name.
    pub dir: u32,
    pub entry: Entry,
}

/// Where in its directory a name stands, with two flags of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry(u32);

impl Entry {
    const LINKED: u32 = 1 << 31;
    const SYMLINK: u32 = 1 << 30;
    const CHUNK: u32 = Self::SYMLINK - 1;

    /// An entry in chunk number `chunk`.
    pub fn new(chunk: u32, symlink: bool) -> Entry {
        debug_assert!(chunk <= Self::CHUNK);
        Entry(chunk | if symlink { Self::SYMLINK } else { 0 })
    }

    /// Chunk of the directory.
    pub fn chunk(self) -> u32 {
        self.0 & Self::CHUNK
    }

    /// The same with another chunk.
    #[must_use]
    pub fn with_chunk(self, chunk: u32) -> Entry {
        Entry(self.0 & !Self::CHUNK | chunk)
    }

    /// Whether the file is a symbolic link.
    pub fn is_symlink(self) -> bool {
        self.0 & Self::SYMLINK != 0
    }

    /// Whether the file has more names.
    pub fn is_linked(self) -> bool {
        self.0 & Self::LINKED != 0
    }

    /// Says whether the file has more names.
    pub fn set_linked(&mut self, linked: bool) {
        self.0 = self.0 & !Self::LINKED | if linked { Self::LINKED } else { 0 };
    }
}

/// A further name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    /// Slot of the file.
    pub file: u32,
    /// Slot of the directory.
    pub dir: u32,
    /// Chunk of the directory.
    pub chunk: u32,
}

/// All files by name.
///
/// A file is found by the id of its first name through a table of slots, 4 bytes a file; the few further names
/// that links make stand apart.
#[derive(Clone, Debug)]
pub(crate) struct Names<I> {
    files: Vec<File<I>>,
    free: Vec<u32>,
    table: HashTable<u32>,
    aliases: FxHashMap<u64, Alias>,
    /// Further names of a file, oldest first.
    further: FxHashMap<u32, Vec<u64>>,
}

/// Directory of a slot that holds no file; no directory has it.
const NO_FILE: u32 = u32::MAX;

/// Where an id begins to be searched for (low bits), and by what it is recognized (the 7 highest).
///
/// Ids are given in ascending order, and what was made together is used together: neighbors stand side by side in the
/// table, so that they share cache lines. Each run of 2^24 ids begins elsewhere, for ids whose high bits mean
/// something.
#[inline]
fn hash(id: u64) -> u64 {
    const TAG: u64 = 0x7f << 57;
    let start = FxBuildHasher.hash_one(id >> 24).wrapping_add(id);
    start & !TAG | FxBuildHasher.hash_one(id) & TAG
}

impl<I> Default for Names<I> {
    fn default() -> Names<I> {
        Names {
            files: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            aliases: FxHashMap::default(),
            further: FxHashMap::default(),
        }
    }
}

impl<I: Copy> Names<I> {
    /// Slot of the file that has this name.
    #[inline]
    pub fn find(&self, id: FileId) -> Option<u32> {
        let first = self
            .table
            .find(hash(id.0), |&slot| self.files[slot as usize].id == id.0);
        match first {
            Some(&slot) => Some(slot),
            None if self.aliases.is_empty() => None,
            None => self.aliases.get(&id.0).map(|alias| alias.file),
        }
    }

    /// Puts a new file in and gives its slot.
    pub fn insert(&mut self, file: File<I>) -> u32 {
        let slot = if let Some(slot) = self.free.pop() {
            self.files[slot as usize] = file;
            slot
        } else {
            self.files.push(file);
            self.files.len() as u32 - 1
        };
        self.index(file.id, slot);
        slot
    }

    fn index(&mut self, id: u64, slot: u32) {
        let files = &self.files;
        let rehash = |&slot: &u32| hash(files[slot as usize].id);
        self.table.insert_unique(hash(id), slot, rehash);
    }

    fn unindex(&mut self, id: u64) {
        let files = &self.files;
        let found = self
            .table
            .find_entry(hash(id), |&slot| files[slot as usize].id == id);
        found.expect("an indexed file").remove();
    }

    /// The file of a slot.
    #[inline]
    pub fn file(&self, slot: u32) -> &File<I> {
        &self.files[slot as usize]
    }

    /// The file of a slot, if there is one in it.
    pub fn get(&self, slot: u32) -> Option<&File<I>> {
        let file = self.files.get(slot as usize)?;
        (file.dir != NO_FILE).then_some(file)
    }

    /// The file of a slot, to change.
    #[inline]
    pub fn file_mut(&mut self, slot: u32) -> &mut File<I> {
        &mut self.files[slot as usize]
    }

    /// Directory and chunk where this name of the file in `slot` stands.
    pub fn place(&self, id: FileId, slot: u32) -> (u32, u32) {
        let file = self.file(slot);
        if file.id == id.0 {
            (file.dir, file.entry.chunk())
        } else {
            let alias = self.aliases[&id.0];
            (alias.dir, alias.chunk)
        }
    }

    /// Moves this name of the file in `slot`.
    pub fn set_place(&mut self, id: FileId, slot: u32, dir: u32, chunk: u32) {
        let file = self.file_mut(slot);
        if file.id == id.0 {
            file.dir = dir;
            file.entry = file.entry.with_chunk(chunk);
        } else if let Some(alias) = self.aliases.get_mut(&id.0) {
            (alias.dir, alias.chunk) = (dir, chunk);
        }
    }

    /// Gives the file in `slot` a further name.
    pub fn link(&mut self, id: FileId, slot: u32, dir: u32, chunk: u32) {
        let alias = Alias {
            file: slot,
            dir,
            chunk,
        };
        self.aliases.insert(id.0, alias);
        self.further.entry(slot).or_default().push(id.0);
        self.file_mut(slot).entry.set_linked(true);
    }

    /// Number of names of the file in `slot`.
    pub fn links(&self, slot: u32) -> u32 {
        1 + self
            .further
            .get(&slot)
            .map_or(0, |names| names.len() as u32)
    }

    /// Takes a name away. The file goes with its last name and is given back; until then the oldest further
    /// name becomes the first one.
    pub fn unlink(&mut self, id: FileId, slot: u32) -> Option<File<I>> {
        let file = *self.file(slot);
        if !file.entry.is_linked() {
            self.unindex(id.0);
            self.file_mut(slot).dir = NO_FILE;
            self.free.push(slot);
            return Some(file);
        }
        let names = self
            .further
            .get_mut(&slot)
            .expect("a linked file has further names");
        let gone = if file.id == id.0 {
            names.remove(0)
        } else {
            names.retain(|&name| name != id.0);
            id.0
        };
        let linked = !names.is_empty();
        if !linked {
            self.further.remove(&slot);
        }
        let alias = self.aliases.remove(&gone).expect("a further name");
        if file.id == id.0 {
            self.unindex(id.0);
            let heir = self.file_mut(slot);
            heir.id = gone;
            heir.dir = alias.dir;
            heir.entry = heir.entry.with_chunk(alias.chunk);
            self.index(gone, slot);
        }
        self.file_mut(slot).entry.set_linked(linked);
        None
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Every file, in the order of slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &File<I>)> {
        let slots = self.files.iter().enumerate();
        slots
            .filter(|(_, file)| file.dir != NO_FILE)
            .map(|(slot, file)| (slot as u32, file))
    }

    /// Every file, in the order of slots, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut File<I>> {
        let files = self.files.iter_mut();
        files.filter(|file| file.dir != NO_FILE)
    }

    /// Every further name: id, slot of the file, directory, chunk; ascending by id.
    pub fn aliases(&self) -> Vec<(u64, Alias)> {
        let mut all: Vec<(u64, Alias)> = self.aliases.iter().map(|(&id, &a)| (id, a)).collect();
        all.sort_unstable_by_key(|&(id, _)| id);
        all
    }
}
