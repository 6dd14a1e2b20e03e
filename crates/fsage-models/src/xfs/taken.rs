//! Which names are in use in a directory.

use super::Xfs;
use super::directory::Dir;
use crate::name_table::{Name, NameTable};
use crate::names::Names;
use fsage_core::operations::DirIds;
use fsage_core::{DirId, FileId};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Names that were given, each with the slot of its directory. A name that is a letter and an id is found by its id.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken(HashTable<(u32, Name)>);

fn hash(dir: u32, bytes: &[u8]) -> u64 {
    FxBuildHasher.hash_one((dir, bytes))
}

impl Taken {
    /// A name stands in a directory from now on.
    pub fn add(&mut self, table: &NameTable, dir: u32, name: Name) {
        if name.is_given() {
            let hash_of = |(dir, name): &(u32, Name)| table.with_bytes(*name, |b| hash(*dir, b));
            let entry = (dir, name);
            self.0.insert_unique(hash_of(&entry), entry, hash_of);
        }
    }

    /// It stands there no longer.
    pub fn remove(&mut self, table: &NameTable, dir: u32, name: Name) {
        if name.is_given() {
            let hash = table.with_bytes(name, |bytes| hash(dir, bytes));
            if let Ok(found) = self.0.find_entry(hash, |entry| *entry == (dir, name)) {
                found.remove();
            }
        }
    }

    /// Whether it stands there.
    pub fn has(&self, table: &NameTable, dir: u32, bytes: &[u8]) -> bool {
        let is_it = |entry: &(u32, Name)| {
            entry.0 == dir && table.with_bytes(entry.1, |other| other == bytes)
        };
        self.0.find(hash(dir, bytes), is_it).is_some()
    }
}

/// A directory, with what tells which names are in use there.
pub(super) struct NamesIn<'a> {
    dir: u32,
    taken: &'a Taken,
    names: &'a Names<u32>,
    dirs: &'a [Dir],
    dir_ids: &'a DirIds,
}

impl NamesIn<'_> {
    /// Whether an entry is called so.
    pub fn have(&self, table: &NameTable, bytes: &[u8]) -> bool {
        if self.taken.has(table, self.dir, bytes) {
            return true;
        }
        let Some((letter, number)) = bytes.split_first() else {
            return false;
        };
        let number = std::str::from_utf8(number).ok();
        let Some(id) = number.and_then(|number| number.parse().ok()) else {
            return false;
        };
        let is_in = |name: Name, dir: u32| {
            dir == self.dir && table.with_bytes(name, |other| other == bytes)
        };
        match letter {
            b'f' => {
                let file = self.names.find(FileId(id));
                file.is_some_and(|file| {
                    let (dir, _) = self.names.place(FileId(id), file);
                    is_in(table.name_of(id), dir)
                })
            }
            b'd' => {
                let slot = self.dir_ids.get(DirId(id));
                let dir = slot.map(|slot| &self.dirs[slot as usize]);
                dir.is_some_and(|dir| is_in(dir.name, dir.parent))
            }
            _ => false,
        }
    }
}

impl Xfs {
    /// The name of a new entry of a directory.
    pub(super) fn new_name(&mut self, by_id: Name, dir: u32) -> Name {
        let names = NamesIn {
            dir,
            taken: &self.taken,
            names: &self.names,
            dirs: &self.dirs,
            dir_ids: &self.dir_ids,
        };
        let table = &mut self.name_table;
        table.new_name(by_id, |table, bytes| names.have(table, bytes))
    }

    /// The name of an entry that moves into a directory; nothing if it stays where it is and is called so already.
    pub(super) fn name_of_moved(
        &mut self,
        old: Name,
        (from, to): (u32, u32),
        by_id: Name,
    ) -> Option<Name> {
        let names = NamesIn {
            dir: to,
            taken: &self.taken,
            names: &self.names,
            dirs: &self.dirs,
            dir_ids: &self.dir_ids,
        };
        let table = &mut self.name_table;
        table.name_of_moved(old, from == to, by_id, |table, bytes| {
            names.have(table, bytes)
        })
    }
}
