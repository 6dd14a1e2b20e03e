//! Names that are found in directories, and what they lead to.

use super::read::{Reader, Result, damaged};
use crate::image::{FOUND, FURTHER, Kind as Written};
use crate::name_table::Name;
use crate::names::{Entry as Place, File};
use crate::xfs::Xfs;
use crate::xfs::directory::Dir;
use crate::xfs::entries::Entries;
use crate::xfs::inode::Kind;
use fsage_core::names::check_name;
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId};
use rustc_hash::FxHashMap;

/// A name that was found: where it stands, what it leads to, and what type it says that this has.
pub(super) struct FoundName {
    pub address: u32,
    pub bytes: Vec<u8>,
    pub ino: u64,
    pub kind: u8,
}

/// A directory that was found.
pub(super) struct FoundDir {
    pub entries: Entries,
    pub parent: u64,
    pub names: Vec<FoundName>,
}

impl Xfs {
    /// Slots of inodes by their numbers.
    pub(super) fn slots(&self) -> FxHashMap<u64, u32> {
        let numbers = self.inodes.iter().map(|inode| inode.ino);
        numbers.zip(0..).collect()
    }

    /// Lets every name lead to a file or directory.
    pub(super) fn lead_names(
        &mut self,
        slots: &FxHashMap<u64, u32>,
        found: Vec<(u32, FoundDir)>,
    ) -> Result<()> {
        let mut found: Vec<(u64, u32, FoundDir)> = { found.into_iter() }
            .map(|(slot, dir)| (self.inodes[slot as usize].ino, slot, dir))
            .collect();
        let root = self.geometry.root_ino();
        found.sort_by_key(|(ino, ..)| (*ino != root, *ino));
        if found.first().is_none_or(|(ino, ..)| *ino != root) {
            return damaged("its root is no directory");
        }
        let dir_of: FxHashMap<u32, u32> = (0..)
            .zip(&found)
            .map(|(at, (_, slot, _))| (*slot, at))
            .collect();
        let mut all = Vec::new();
        for (at, (ino, slot, dir)) in (0..).zip(found) {
            self.dirs.push(Dir {
                id: if at == ROOT { 0 } else { FOUND | ino },
                name: Name::directory(0),
                inode: slot,
                parent: ROOT,
                address: 0,
                entries: dir.entries,
                alive: true,
            });
            let parent = slots.get(&dir.parent);
            let Some(&parent) = parent.and_then(|slot| dir_of.get(slot)) else {
                return damaged(format!(
                    "directory {ino} lies in inode {}, which is none",
                    dir.parent
                ));
            };
            all.push((parent, dir.names));
        }
        let mut is_named = vec![false; self.dirs.len()];
        let mut further = FURTHER;
        let parents: Vec<u32> = all.iter().map(|(parent, _)| *parent).collect();
        for (dir, (_, names)) in (0_u32..).zip(all) {
            for FoundName {
                address,
                bytes,
                ino,
                ..
            } in names
            {
                let Some(&slot) = slots.get(&ino) else {
                    return damaged(format!("a name leads to inode {ino}, which is not in use"));
                };
                if check_name(&bytes).is_err() {
                    return damaged(format!("inode {ino} has a name that none has"));
                }
                if self.taken.has(&self.name_table, dir, &bytes) {
                    return damaged(format!("inode {ino} has a name that another one has"));
                }
                let name = self.name_table.give(bytes.into());
                self.taken.add(&self.name_table, dir, name);
                if let Some(&child) = dir_of.get(&slot) {
                    let is_second = std::mem::replace(&mut is_named[child as usize], true);
                    if is_second || child == ROOT || parents[child as usize] != dir {
                        return damaged(format!(
                            "directory {ino} has a name that it should not have"
                        ));
                    }
                    let found = &mut self.dirs[child as usize];
                    (found.name, found.parent, found.address) = (name, dir, address);
                    let id = DirId(found.id);
                    self.dir_ids.insert(id, child);
                    continue;
                }
                let inode = &self.inodes[slot as usize];
                if inode.file == u32::MAX {
                    let id = FOUND | ino;
                    let entry = Place::new(address, inode.kind == Kind::Symlink);
                    let file = self.names.insert(File {
                        id,
                        inode: slot,
                        dir,
                        entry,
                    });
                    self.inodes[slot as usize].file = file;
                    self.name_table.call(id, name);
                } else {
                    let (id, file) = (FileId(further), inode.file);
                    further += 1;
                    self.names.link(id, file, dir, address);
                    self.name_table.call(id.0, name);
                }
            }
        }
        self.lead_up(&is_named)
    }

    /// That every directory has a name, and the way leads up from it to the root.
    fn lead_up(&self, is_named: &[bool]) -> Result<()> {
        let mut reaches = vec![false; self.dirs.len()];
        reaches[ROOT as usize] = true;
        for (dir, is_named) in is_named.iter().enumerate() {
            let (mut at, mut way) = (dir, Vec::new());
            while !reaches[at] && way.len() <= self.dirs.len() {
                way.push(at);
                at = self.dirs[at].parent as usize;
            }
            if !reaches[at] || !is_named && dir != ROOT as usize {
                return damaged("a directory is not below the root");
            }
            for at in way {
                reaches[at] = true;
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// That names say of what type their inodes are, and that inodes have as many names as they say.
    pub fn names_fit(
        &self,
        fs: &Xfs,
        slots: &FxHashMap<u64, u32>,
        dirs: &[(u32, FoundDir)],
    ) -> Result<()> {
        let mut links = vec![0_u32; fs.inodes.len()];
        for (slot, dir) in dirs {
            links[*slot as usize] += 2;
            for name in &dir.names {
                // Of one that leads nowhere [`Xfs::lead_names`] speaks.
                let Some(&at) = slots.get(&name.ino) else {
                    continue;
                };
                let kind = fs.inodes[at as usize].kind;
                let written = match kind {
                    Kind::File => Written::Regular,
                    Kind::Directory => Written::Directory,
                    Kind::Symlink => Written::ShortLink,
                };
                if name.kind != written.entry_type() {
                    return damaged(format!(
                        "a name says that inode {} is what it is not",
                        name.ino
                    ));
                }
                let counts = if kind == Kind::Directory { *slot } else { at };
                links[counts as usize] += 1;
            }
        }
        match (0..links.len()).find(|&slot| links[slot] != self.links[slot]) {
            Some(slot) => damaged(format!("inode {}: its count of names", fs.inodes[slot].ino)),
            None => Ok(()),
        }
    }
}
