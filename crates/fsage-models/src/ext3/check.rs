//! The file system check: everything recomputed from the inodes, and compared with what the model keeps.

use super::Ext3;
use super::entries::{Entries, name_bytes, units_of};
use super::geometry::LOST_FOUND_INO;
use super::inode::{Inode, Kind};
use super::window::Window;
use crate::findings::{Findings, Owned};
use crate::pointers::Indirect;
use fsage_core::Inconsistency;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Debug;

/// Looks for everything that does not fit together.
pub(super) fn check(fs: &Ext3) -> Result<(), Inconsistency> {
    let mut check = Check {
        fs,
        owned: Owned::new(fs.geometry.blocks.into(), "block"),
        found: Findings::default(),
    };
    check.metadata();
    check.files();
    check.block_maps();
    check.inode_maps();
    check.found.names(&fs.names);
    check.symbolic_links();
    check.directories();
    check.windows();
    check.found.result()
}

struct Check<'a> {
    fs: &'a Ext3,
    /// Blocks in use by metadata, a file or a directory.
    owned: Owned,
    found: Findings,
}

impl<'a> Check<'a> {
    fn find(&mut self, finding: impl FnOnce() -> String) {
        self.found.find(finding);
    }

    fn compare<T: PartialEq + Debug>(&mut self, what: &str, kept: &T, counted: &T) {
        self.found.compare(what, kept, counted);
    }

    fn claim(&mut self, first: u32, blocks: u32, owner: &dyn Fn() -> String) {
        let range = (first.into(), blocks.into());
        self.owned.claim(range, owner, &mut self.found);
    }

    fn metadata(&mut self) {
        let fs = self.fs;
        for group in 0..fs.geometry.groups {
            let first = fs.geometry.first_block(group);
            let blocks = fs.geometry.overhead(group);
            self.claim(first, blocks, &|| format!("metadata of group {group}"));
        }
        let lost_found = fs.lost_found.end - fs.lost_found.start;
        self.claim(fs.lost_found.start, lost_found, &|| "lost+found".to_owned());
        if let Some(block) = fs.resize_block {
            self.claim(block, 1, &|| "the resize inode".to_owned());
        }
        for block in fs.journal.all_blocks() {
            self.claim(block, 1, &|| "the journal".to_owned());
        }
    }

    fn live_dirs(&self) -> impl Iterator<Item = (usize, &'a super::Dir)> + use<'a> {
        self.fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive)
    }

    fn files(&mut self) {
        let fs = self.fs;
        for (slot, dir) in self.live_dirs() {
            self.inode(&dir.inode, &|| format!("directory {}", dir.id));
            self.found.dir_id(&fs.dir_ids, slot as u32, dir.id);
        }
        for (_, file) in fs.names.iter() {
            self.inode(&file.inode, &|| format!("file {}", file.id));
        }
        let inodes = fs.names.iter().map(|(_, file)| file.inode);
        let live: FxHashSet<u32> = inodes
            .chain(self.live_dirs().map(|(_, dir)| dir.inode))
            .filter(|inode| fs.indirect_of(inode).is_some())
            .map(|inode| inode.ino)
            .collect();
        let mut lost: Vec<u32> = fs.indirect.keys().copied().collect();
        lost.retain(|ino| !live.contains(ino));
        lost.sort_unstable();
        for ino in lost {
            self.find(|| format!("inode {ino} has indirect blocks, and no blocks that need them"));
        }
    }

    fn inode(&mut self, inode: &Inode, owner: &dyn Fn() -> String) {
        let fs = self.fs;
        let blocks = fs.blocks_of(inode.size);
        let none = Indirect::default();
        let indirect = fs.indirect_of(inode).unwrap_or(&none);
        let mut before: Option<(u32, u64)> = None;
        for run in inode.blocks.iter(&fs.pool) {
            if run.end() > blocks {
                self.find(|| format!("{}: blocks behind its end of {blocks}", owner()));
            }
            let joined = before == Some((run.lbn, run.address));
            if joined || before.is_some_and(|(lbn, _)| lbn > run.lbn) {
                self.find(|| format!("{}: runs not maximal or not ascending", owner()));
            }
            before = Some((run.end(), run.address + u64::from(run.blocks)));
            self.claim(run.address as u32, run.blocks, owner);
            let mut lbn = run.lbn;
            while lbn < run.end() {
                let path = fs.tree().path(lbn);
                let arrays = path.arrays();
                if arrays.iter().any(|&array| indirect.get(array).is_none()) {
                    self.find(|| format!("{}: block {lbn} lacks an indirect block", owner()));
                }
                // The next array of pointers.
                lbn = match arrays.last() {
                    None => super::geometry::DIRECT,
                    Some(&leaf) => fs.tree().first_of(leaf) as u32 + fs.geometry.pointers,
                };
            }
        }
        for (array, address) in indirect.all() {
            self.claim(address, 1, owner);
            if fs.tree().first_of(array) >= u64::from(blocks) {
                self.find(|| format!("{}: an indirect block behind its end", owner()));
            }
        }
        let sorted = |list: &[(u32, u32)]| list.is_sorted_by(|a, b| a.0 < b.0);
        if !sorted(&indirect.leaves) || !sorted(&indirect.uppers) {
            self.find(|| format!("{}: indirect blocks out of order", owner()));
        }
    }

    fn block_maps(&mut self) {
        let fs = self.fs;
        let mut total = 0;
        for group in 0..fs.geometry.groups {
            let first = fs.geometry.first_block(group);
            let mut free = 0;
            for at in 0..fs.geometry.blocks_per_group {
                let used =
                    at >= fs.geometry.blocks_in(group) || self.owned.is_used((first + at).into());
                free += u32::from(!used);
                if fs.groups.first_free(group, at, at + 1).is_none() != used {
                    let block = first + at;
                    self.find(|| {
                        format!("block {block}: used in the bitmap or by an owner, not both")
                    });
                }
            }
            let kept = &fs.groups.free_blocks[group as usize];
            self.compare(&format!("free blocks of group {group}"), kept, &free);
            total += u64::from(free);
        }
        self.compare("free blocks", &fs.groups.totals.free_blocks, &total);
    }

    fn inode_maps(&mut self) {
        let fs = self.fs;
        let mut used: FxHashMap<u32, bool> = (1..=LOST_FOUND_INO)
            .map(|ino| (ino, ino == LOST_FOUND_INO))
            .collect();
        // The root is one of them, and counted as a directory below.
        used.remove(&super::geometry::ROOT_INO);
        let files = fs.names.iter().map(|(_, file)| (file.inode.ino, false));
        let dirs = self.live_dirs().map(|(_, dir)| (dir.inode.ino, true));
        for (ino, directory) in files.chain(dirs) {
            if used.insert(ino, directory).is_some() {
                self.find(|| format!("inode {ino} has two owners"));
            }
        }
        let mut total = (0, 0);
        for group in 0..fs.geometry.groups {
            let (mut free, mut directories) = (0, 0);
            for index in 0..fs.geometry.inodes_per_group {
                let ino = group * fs.geometry.inodes_per_group + index + 1;
                let owner = used.get(&ino);
                directories += u32::from(owner == Some(&true));
                free += u32::from(owner.is_none());
                if fs.groups.inode_used(group, index) != owner.is_some() {
                    self.find(|| {
                        format!("inode {ino}: used in the bitmap or by an owner, not both")
                    });
                }
            }
            let (g, groups) = (group as usize, &fs.groups);
            self.compare(
                &format!("free inodes and directories of group {group}"),
                &(groups.free_inodes[g], groups.directories[g]),
                &(free, directories),
            );
            let first = (0..fs.geometry.inodes_per_group).find(|&i| !groups.inode_used(group, i));
            self.compare(
                &format!("first free inode of group {group}"),
                &groups.free_inode(group),
                &first,
            );
            total = (total.0 + u64::from(free), total.1 + u64::from(directories));
        }
        let kept = (fs.groups.totals.free_inodes, fs.groups.totals.directories);
        self.compare("free inodes and directories", &kept, &total);
    }

    fn symbolic_links(&mut self) {
        for (_, file) in self.fs.names.iter() {
            if file.entry.is_symlink() != (file.inode.kind == Kind::Symlink) {
                self.find(|| format!("file {}: a symbolic link, or not", file.id));
            }
        }
    }

    fn directories(&mut self) {
        let fs = self.fs;
        let mut entries: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let aliases = fs.names.aliases();
        let files = fs.names.iter().map(|(_, f)| (f.dir, f.entry.chunk()));
        let further = aliases.iter().map(|(_, a)| (a.dir, a.chunk));
        let dirs = self.live_dirs().skip(1).map(|(_, d)| (d.parent, d.at));
        for (dir, at) in files.chain(further).chain(dirs) {
            entries.entry(dir).or_default().push(at);
        }
        for (slot, dir) in self.live_dirs() {
            let mut mine = entries.remove(&(slot as u32)).unwrap_or_default();
            let id = dir.id;
            let names = mine.len() as u32;
            self.compare(
                &format!("entries of directory {id}"),
                &dir.entries.count,
                &names,
            );
            // `.` and `..`; in the root also `lost+found`.
            mine.extend([0, 3]);
            if slot == 0 {
                mine.push(6);
            }
            mine.sort_unstable();
            let there: Vec<u32> = dir.entries.all().iter().map(|&(at, _)| at).collect();
            self.compare(
                &format!("places of the entries of directory {id}"),
                &there,
                &mine,
            );
            self.gaps(&dir.entries, id);
            let blocks = fs.blocks_of(dir.inode.size);
            self.compare(
                &format!("blocks of directory {id}"),
                &dir.entries.blocks(),
                &blocks,
            );
        }
        if !entries.is_empty() {
            self.find(|| format!("names in {} directories that are not there", entries.len()));
        }
    }

    /// What is in use in a directory is in use by its entries.
    fn gaps(&mut self, entries: &Entries, id: u64) {
        let counted: u32 = entries.all().iter().map(|&(_, units)| units).sum();
        let kept = entries.units();
        self.compare(&format!("units in use of directory {id}"), &kept, &counted);
        let longest = units_of(name_bytes(u64::MAX));
        for units in 3..=longest {
            let (mut quick, slow) = (entries.clone(), entries.first_gap(units));
            self.compare(
                &format!("first gap of directory {id}"),
                &quick.find(units),
                &slow,
            );
        }
    }

    /// Windows are those of open files, in order, and none has a block of another.
    fn windows(&mut self) {
        let fs = self.fs;
        let mut own: Vec<Window> = fs.open.iter().map(|file| file.window).collect();
        own.push(fs.window);
        own.retain(|window| !window.is_empty());
        own.sort_unstable();
        self.compare("reservation windows", &fs.windows.all(), &own.as_slice());
        for pair in own.windows(2) {
            if pair[0].end >= pair[1].start {
                self.find(|| format!("windows {:?} and {:?} overlap", pair[0], pair[1]));
            }
        }
        for file in &fs.open {
            let open: usize = fs.open.iter().filter(|other| other.ino == file.ino).count();
            self.compare(&format!("times that inode {} is open", file.ino), &open, &1);
            let live = fs.names.iter().any(|(_, f)| f.inode.ino == file.ino);
            if !live {
                self.find(|| format!("inode {} is open, and free", file.ino));
            }
        }
    }
}

#[cfg(test)]
mod tests;
