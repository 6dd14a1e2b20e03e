//! Directories: groups for new inodes (4, 5), making and removing directories, entries (6).
//!
//! Source: `fs/ext3/ialloc.c` and `fs/ext3/namei.c` of Linux 2.6.18.

use super::Ext3;
use super::alloc::NoSpace;
use super::entries::{Entries, name_bytes, units_of};
use super::geometry::{LOST_FOUND_INO, ROOT_INO};
use super::inode::{Dir, Inode, Kind};
use crate::block_list::BlockList;
use crate::names::{Entry, File};
use fsage_core::Outcome;

impl Ext3 {
    fn new_inode(&self, ino: u32, kind: Kind) -> Inode {
        Inode {
            ino,
            last_logical: 0,
            last_physical: 0,
            window_blocks: match kind {
                Kind::File => self.params.window_blocks,
                Kind::Directory | Kind::Symlink => 0,
            },
            kind,
            size: 0,
            blocks: BlockList::default(),
        }
    }

    /// What `mke2fs` puts into group 0: the root, `lost+found`, the block of the resize inode, the journal.
    pub(super) fn make_first_inodes(&mut self) {
        let g = &self.geometry;
        let position = |fs: &Ext3| fs.groups.first_free(0, 0, fs.geometry.blocks_per_group);
        let (lost_found, resize) = (g.lost_found_blocks(), g.reserved_descriptor_blocks > 0);
        let first = g.first_data_block + position(self).expect("mke2fs leaves room for the root");
        let mut root = self.new_inode(ROOT_INO, Kind::Directory);
        root.size = g.block_bytes;
        root.blocks.set(&mut self.pool, 0, 1, u64::from(first), 1);
        let mut entries = Entries::new(g.block_bytes);
        let lost_found_entry = units_of("lost+found".len() as u32);
        let at = entries.find(lost_found_entry).expect("an empty directory");
        entries.put(at, lost_found_entry);
        // It is no directory of a workload.
        entries.count = 0;
        // The root, `lost+found` behind it, then the resize inode's block of pointers.
        self.take_next(1 + lost_found + u32::from(resize), |_| {});
        let mut journal = Vec::new();
        self.take_next(self.geometry.journal_blocks_in_all(), |block| {
            journal.push(block);
        });
        self.journal.lay_out(&self.geometry, &journal);
        self.groups.take_inode(0, LOST_FOUND_INO - 1);
        self.groups.add_directory(0);
        self.groups.add_directory(0);
        self.lost_found = first + 1..first + 1 + lost_found;
        self.resize_block = resize.then_some(first + 1 + lost_found);
        self.dirs.push(Dir {
            id: 0,
            inode: root,
            parent: 0,
            at: 0,
            entries,
            alive: true,
        });
    }

    /// Takes the first free blocks of all.
    fn take_next(&mut self, mut blocks: u32, mut taken: impl FnMut(u32)) {
        for group in 0..self.geometry.groups {
            let mut from = 0;
            while blocks > 0 {
                let end = self.geometry.blocks_in(group);
                let Some(at) = self.groups.first_free(group, from, end) else {
                    break;
                };
                self.groups.take(group, at, 1);
                taken(self.geometry.first_block(group) + at);
                (from, blocks) = (at + 1, blocks - 1);
            }
        }
    }

    /// Cyclically from `start`, all groups.
    fn groups_from(&self, start: u32) -> impl Iterator<Item = usize> + use<> {
        let n = self.geometry.groups;
        (0..n).map(move |i| ((start + i) % n) as usize)
    }

    /// Group of a new directory (4).
    fn directory_group(&mut self, parent: u32) -> Option<u32> {
        let made = self.directories_made as usize;
        self.directories_made += 1;
        if let Some(&group) = self.params.dir_groups.get(made) {
            return (self.groups.free_inodes[group as usize] > 0).then_some(group);
        }
        let found = if self.params.oldalloc {
            self.old_group()
        } else {
            self.orlov_group(parent)
        };
        found.map(|group| group as u32)
    }

    /// Of the groups with enough free inodes the one with the most free blocks.
    fn old_group(&self) -> Option<usize> {
        let groups = &self.groups;
        let average = groups.totals.free_inodes / u64::from(self.geometry.groups);
        let enough =
            |&g: &usize| groups.free_inodes[g] > 0 && u64::from(groups.free_inodes[g]) >= average;
        let best = (0..self.geometry.groups as usize).filter(enough);
        // The lowest number on ties.
        best.rev().max_by_key(|&g| groups.free_blocks[g])
    }

    fn orlov_group(&self, parent: u32) -> Option<usize> {
        let (g, groups) = (&self.geometry, &self.groups);
        let n = u64::from(g.groups);
        let average_inodes = groups.totals.free_inodes / n;
        let average_blocks = groups.totals.free_blocks / n;
        let start;
        let found = if parent == 0 {
            let mut random = self.random.stream("orlov", self.directories_made);
            start = random.below(n) as u32;
            let mut best = (None, g.inodes_per_group);
            for i in self.groups_from(start) {
                let directories = groups.directories[i];
                if groups.free_inodes[i] > 0
                    && u64::from(groups.free_inodes[i]) >= average_inodes
                    && u64::from(groups.free_blocks[i]) >= average_blocks
                    && directories < best.1
                {
                    best = (Some(i), directories);
                }
            }
            best.0
        } else {
            start = g.group_of_inode(self.dirs[parent as usize].inode.ino);
            let most = groups.totals.directories / n + u64::from(g.inodes_per_group / 16);
            let least_inodes = average_inodes.saturating_sub(u64::from(g.inodes_per_group / 4));
            let least_blocks = average_blocks.saturating_sub(u64::from(g.blocks_per_group / 4));
            self.groups_from(start).find(|&i| {
                groups.free_inodes[i] > 0
                    && u64::from(groups.directories[i]) < most
                    && u64::from(groups.free_inodes[i]) >= least_inodes
                    && u64::from(groups.free_blocks[i]) >= least_blocks
            })
        };
        let with_inodes = |least: u64| {
            self.groups_from(start)
                .find(|&i| groups.free_inodes[i] > 0 && u64::from(groups.free_inodes[i]) >= least)
        };
        found
            .or_else(|| with_inodes(average_inodes))
            .or_else(|| with_inodes(0))
    }

    /// Group of a new file or symbolic link (5).
    fn file_group(&self, parent: u32) -> Option<u32> {
        let (groups, n) = (&self.groups, self.geometry.groups);
        let parent_ino = self.dirs[parent as usize].inode.ino;
        let home = self.geometry.group_of_inode(parent_ino);
        let roomy =
            |g: u32| groups.free_inodes[g as usize] > 0 && groups.free_blocks[g as usize] > 0;
        if roomy(home) {
            return Some(home);
        }
        let mut group = (home + parent_ino % n) % n;
        let mut step = 1;
        while step < n {
            group = (group + step) % n;
            if roomy(group) {
                return Some(group);
            }
            step *= 2;
        }
        let found = self
            .groups_from(home + 1)
            .find(|&g| groups.free_inodes[g] > 0);
        found.map(|g| g as u32)
    }

    /// Takes the lowest free inode of a group.
    fn take_inode(&mut self, group: u32, kind: Kind) -> Option<Inode> {
        let index = self.groups.free_inode(group)?;
        self.groups.take_inode(group, index);
        if kind == Kind::Directory {
            self.groups.add_directory(group);
        }
        let ino = group * self.geometry.inodes_per_group + index + 1;
        self.changed_inode_map(group);
        self.changed_inode(ino);
        Some(self.new_inode(ino, kind))
    }

    /// Inode, first block, entry in the parent. Without space nothing is left behind.
    pub(super) fn new_directory(&mut self, id: u64, parent: u32) -> Result<u32, Outcome> {
        let inode = self
            .directory_group(parent)
            .and_then(|group| self.take_inode(group, Kind::Directory));
        let Some(mut inode) = inode else {
            return Err(Outcome::NoInode);
        };
        let made = self
            .add_block(&mut inode)
            .and_then(|()| self.enter(parent, id));
        let Ok(at) = made else {
            self.release(&mut inode);
            return Err(Outcome::NoSpace);
        };
        self.changed_inode(self.dirs[parent as usize].inode.ino);
        let dir = Dir {
            id,
            inode,
            parent,
            at,
            entries: Entries::new(self.geometry.block_bytes),
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

    /// Entry in the parent, contents, inode of an empty directory.
    pub(super) fn drop_directory(&mut self, slot: u32) {
        let dir = &mut self.dirs[slot as usize];
        let (parent, at, mut inode) = (dir.parent, dir.at, dir.inode);
        dir.alive = false;
        self.leave(parent, at);
        self.release(&mut inode);
        self.dirs[slot as usize].inode = inode;
        self.free_dirs.push(slot);
    }

    /// Frees the data and the inode.
    pub(super) fn release(&mut self, inode: &mut Inode) {
        self.close(inode.ino);
        self.truncate(inode, 0);
        let group = self.geometry.group_of_inode(inode.ino);
        let index = (inode.ino - 1) % self.geometry.inodes_per_group;
        self.groups.release_inode(group, index);
        if inode.kind == Kind::Directory {
            self.groups.remove_directory(group);
        }
        self.discarded(inode.ino, 0);
        self.changed_inode_map(group);
    }

    /// One more block at the end of a directory.
    fn add_block(&mut self, inode: &mut Inode) -> Result<(), NoSpace> {
        let lbn = self.blocks_of(inode.size);
        self.map_block(inode, lbn)?;
        inode.size += self.geometry.block_bytes;
        self.changed_directory(inode, lbn, true);
        self.changed_inode(inode.ino);
        Ok(())
    }

    /// Enters the name of an id into a directory; gives where it stands.
    pub(super) fn enter(&mut self, slot: u32, id: u64) -> Result<u32, NoSpace> {
        let units = units_of(name_bytes(id));
        let dir = &mut self.dirs[slot as usize];
        let at = if let Some(at) = dir.entries.find(units) {
            self.changed_entry(slot, at);
            at
        } else {
            let mut inode = dir.inode;
            // A directory has no window: that of a file that is open stays as it is.
            let added = self.add_block(&mut inode);
            let dir = &mut self.dirs[slot as usize];
            dir.inode = inode;
            added?;
            dir.entries.add_block()
        };
        self.dirs[slot as usize].entries.put(at, units);
        Ok(at)
    }

    /// Takes an entry out of a directory, which does not shrink.
    pub(super) fn leave(&mut self, slot: u32, at: u32) {
        self.dirs[slot as usize].entries.remove(at);
        self.changed_entry(slot, at);
        self.changed_inode(self.dirs[slot as usize].inode.ino);
    }

    /// Inode and entry of a new file or symbolic link, without data yet.
    pub(super) fn make_file(&mut self, id: u64, dir: u32, kind: Kind) -> Result<u32, Outcome> {
        let inode = self
            .file_group(dir)
            .and_then(|group| self.take_inode(group, kind));
        let Some(mut inode) = inode else {
            return Err(Outcome::NoInode);
        };
        let Ok(at) = self.enter(dir, id) else {
            self.release(&mut inode);
            return Err(Outcome::NoSpace);
        };
        self.changed_inode(self.dirs[dir as usize].inode.ino);
        let slot = self.names.insert(File {
            id,
            inode,
            dir,
            entry: Entry::new(at, kind == Kind::Symlink),
        });
        self.changes.new_file(slot);
        Ok(slot)
    }
}
