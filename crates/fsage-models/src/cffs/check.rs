//! The file system check: everything recomputed from names and inodes, and compared with what the model keeps.

use super::directory::{Dir, FIRST_EXTERNAL, FIRST_NUMBER, LOST, ROOT};
use super::entries::{Entries, Name, Node};
use super::geometry::{INODES_PER_BLOCK, MAP_ENTRIES, SECTORS, SUPERBLOCK, TREE};
use super::grouping::Group;
use super::inode::{Home, Inode, Kind, NO_DIR};
use super::{Cffs, inode_area};
use crate::findings::{Findings, Owned};
use crate::pointers::{Array, Indirect};
use fsage_core::Inconsistency;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Looks for everything that does not fit together.
pub(super) fn check(fs: &Cffs) -> Result<(), Inconsistency> {
    let mut check = Check {
        fs,
        found: Findings::default(),
        owned: Owned::new(fs.geometry.blocks.into(), "block"),
        homes: BTreeMap::new(),
        numbers: FxHashSet::default(),
        vnodes: FxHashSet::default(),
        groups: FxHashMap::default(),
    };
    check.metadata();
    check.inodes();
    check.names();
    check.directories();
    check.group_table();
    check.tables();
    check.free_map();
    check.found.result()
}

struct Check<'a> {
    fs: &'a Cffs,
    found: Findings,
    owned: Owned,
    /// Where inodes lie, and whose they are.
    homes: BTreeMap<Home, Node>,
    numbers: FxHashSet<u64>,
    vnodes: FxHashSet<u32>,
    /// Groups with the members that were met.
    groups: FxHashMap<(u32, u32), u32>,
}

impl<'a> Check<'a> {
    fn has_lost(&self) -> bool {
        self.fs.params.embed && !self.fs.params.inodes_move()
    }

    /// Directories of the workload.
    fn live_dirs(&self) -> impl Iterator<Item = (u32, &'a Dir)> + use<'a> {
        let lost = self.has_lost();
        let dirs = (0..).zip(&self.fs.dirs);
        dirs.filter(move |&(slot, dir)| dir.alive && !(lost && slot == LOST))
    }

    fn claim(&mut self, block: u32, blocks: u32, owner: &dyn Fn() -> String) {
        let range = (block.into(), blocks.into());
        self.owned.claim(range, owner, &mut self.found);
    }

    fn metadata(&mut self) {
        let fs = self.fs;
        for cg in 0..fs.geometry.groups {
            let (first, blocks) = (fs.geometry.cg_start(cg), fs.geometry.overhead(cg));
            self.claim(first, blocks, &|| format!("metadata of group {cg}"));
        }
        for block in fs.directory_map.all() {
            self.claim(block, 1, &|| "the directory map".to_owned());
        }
        for block in fs.external_file.all() {
            self.claim(block, 1, &|| "the external inode file".to_owned());
        }
        for block in fs.inode_table.all() {
            self.claim(block, 1, &|| "the table of inode numbers".to_owned());
        }
    }

    fn inodes(&mut self) {
        let fs = self.fs;
        for (slot, dir) in self.live_dirs() {
            self.inode(&dir.inode, Node::Dir(slot), &|| {
                format!("directory {}", dir.id)
            });
        }
        for (slot, file) in fs.names.iter() {
            self.inode(&file.inode, Node::File(slot), &|| {
                format!("file {}", file.id)
            });
        }
        for (&vnode, opened) in &fs.opened.0 {
            let node = Node::Unlinked(vnode);
            if let Some(inode) = &opened.unlinked {
                self.inode(inode, node, &|| format!("the unlinked file {vnode}"));
                self.found
                    .expect(inode.dir == NO_DIR && inode.vnode == vnode, || {
                        format!("the unlinked file {vnode} is in a directory")
                    });
            }
            if let Some(home) = opened.reserved {
                let free = self.homes.insert(home, node).is_none();
                self.found
                    .expect(free, || format!("{home:?} is set aside, and in use"));
            }
            let known = opened.unlinked.is_some()
                || fs.names.iter().any(|(_, file)| file.inode.vnode == vnode);
            self.found.expect(known && opened.times > 0, || {
                format!("the open file {vnode} is not there")
            });
        }
        if self.has_lost() {
            let lost = &fs.dirs[LOST as usize];
            for run in lost.inode.blocks.iter(&fs.pool) {
                self.claim(run.address as u32, run.blocks, &|| "lost blocks".to_owned());
            }
            self.vnodes.insert(lost.inode.vnode);
        }
        let mut stale: Vec<u32> = fs.indirect.keys().copied().collect();
        stale.retain(|vnode| !self.vnodes.contains(vnode));
        stale.sort_unstable();
        self.found.expect(stale.is_empty(), || {
            format!("blocks of pointers of {stale:?}, which are not there")
        });
        let in_use = fs.vnodes.in_use(0);
        self.found
            .compare("numbers in memory", &in_use, &(self.vnodes.len() as u64));
    }

    fn inode(&mut self, inode: &Inode, node: Node, owner: &dyn Fn() -> String) {
        let fs = self.fs;
        let single = self.homes.insert(inode.home, node).is_none();
        self.found.expect(single, || {
            format!("{}: {:?} has two inodes", owner(), inode.home)
        });
        let number = fs.inode_number(inode);
        let unique = self.numbers.insert(number);
        self.found.expect(unique && number != 0, || {
            format!("{}: number {number} is 0, or another's", owner())
        });
        let unique = self.vnodes.insert(inode.vnode);
        self.found.expect(unique, || {
            format!("{}: its number in memory is another's", owner())
        });
        self.placed_inode(inode, node, owner);
        self.blocks(inode, owner);
        self.membership(inode, node, owner);
    }

    /// The home of an inode is one that it may have, and says the same.
    fn placed_inode(&mut self, inode: &Inode, node: Node, owner: &dyn Fn() -> String) {
        let fs = self.fs;
        let right = match inode.home {
            Home::Superblock(k) => node == Node::Dir(ROOT) && k == 1 && fs.params.embed,
            Home::Sector { dir, at } => {
                let entries = &fs.dirs[dir as usize].entries;
                let mut there = entries.inodes_in(at / 4, at / 4 + 1);
                let kept = there.any(|(its, held)| its == at && held == node);
                let own = !fs.params.inodes_move() || inode.dir == dir;
                kept && own && fs.dirs[dir as usize].alive && fs.params.embed
            }
            Home::Table(n) if fs.params.embed => {
                let external = n >= FIRST_EXTERNAL
                    && ((n / INODES_PER_BLOCK) as usize) < fs.external_file.blocks.len();
                external && fs.params.inodes_move() && inode.dir == NO_DIR
            }
            Home::Table(n) => n >= inode_area::FIRST && fs.inodes.is_used(n),
        };
        self.found.expect(right, || {
            format!("{}: it cannot lie in {:?}", owner(), inode.home)
        });
    }

    /// Its blocks lie inside its size, and the blocks of pointers that they need are there, and no other.
    fn blocks(&mut self, inode: &Inode, owner: &dyn Fn() -> String) {
        let fs = self.fs;
        let none = Indirect::default();
        let indirect = fs.indirect.get(&inode.vnode).unwrap_or(&none);
        let mut needed: BTreeSet<Array> = BTreeSet::new();
        let mut before: Option<(u32, u64)> = None;
        for run in inode.blocks.iter(&fs.pool) {
            let inside = run.end() <= Cffs::blocks_of(inode.size);
            self.found
                .expect(inside, || format!("{}: blocks behind its end", owner()));
            let ascending = before.is_none_or(|(lbn, _)| lbn <= run.lbn);
            let maximal = before != Some((run.lbn, run.address));
            self.found.expect(ascending && maximal, || {
                format!("{}: runs not maximal or not ascending", owner())
            });
            before = Some((run.end(), run.address + u64::from(run.blocks)));
            self.claim(run.address as u32, run.blocks, owner);
            let mut lbn = run.lbn;
            while lbn < run.end() {
                needed.extend(TREE.path(lbn).arrays());
                lbn += TREE.left_in_array(lbn) + 1;
            }
        }
        // A hole may leave blocks of pointers without a use, never one missing.
        let there: BTreeSet<Array> = indirect.all().map(|(array, _)| array).collect();
        self.found.expect(there.is_superset(&needed), || {
            format!("{}: blocks of pointers are missing", owner())
        });
        for (array, block) in indirect.all() {
            let inside = TREE.first_of(array) < u64::from(Cffs::blocks_of(inode.size));
            self.found
                .expect(inside, || format!("{}: pointers behind its end", owner()));
            self.claim(block, 1, &|| format!("pointers of {}", owner()));
        }
    }

    /// A member of a group has its first block in it.
    fn membership(&mut self, inode: &Inode, node: Node, owner: &dyn Fn() -> String) {
        let fs = self.fs;
        let start = inode.group_start;
        if start == 0 {
            return;
        }
        let owner_of_group = match node {
            Node::Dir(slot) => slot,
            _ => inode.group_owner(),
        };
        let key = (owner_of_group, start);
        *self.groups.entry(key).or_default() += 1;
        let end = start + fs.group_size(owner_of_group, start);
        let first = fs.address(inode, 0);
        let right =
            (start..end).contains(&first) && (inode.kind != Kind::Directory || first == start);
        self.found.expect(right && fs.params.group, || {
            format!(
                "{}: block {first} is not in its group {start}..{end}",
                owner()
            )
        });
    }

    /// Every name leads to something that says so.
    fn names(&mut self) {
        let fs = self.fs;
        self.found.names(&fs.names);
        let mut places: BTreeMap<(u32, u32), Node> = BTreeMap::new();
        let mut home_of: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let aliases = fs.names.aliases();
        let first = fs
            .names
            .iter()
            .map(|(slot, f)| (slot, f.dir, f.entry.chunk()));
        let further = aliases.iter().map(|&(_, a)| (a.file, a.dir, a.chunk));
        for (slot, dir, at) in first.chain(further) {
            let free = places.insert((dir, at), Node::File(slot)).is_none();
            self.found
                .expect(free, || format!("two names at {at} of directory {dir}"));
            home_of.entry(slot).or_default().insert(dir);
        }
        for (slot, dir) in self.live_dirs().skip(1) {
            let place = (dir.parent, dir.at);
            let free =
                places.insert(place, Node::Dir(slot)).is_none() && dir.inode.dir == dir.parent;
            self.found.expect(free, || {
                format!("directory {}: its parent is not so", dir.id)
            });
        }
        for (slot, dir) in self.live_dirs() {
            let names = dir.entries.names();
            let named = names.filter_map(|(at, name)| match name {
                Name::Of(node) => Some((at, node)),
                Name::Dot => None,
            });
            let kept: Vec<_> = named.collect();
            let mine = places.range((slot, 0)..=(slot, u32::MAX));
            let counted: Vec<_> = mine.map(|(&(_, at), &node)| (at, node)).collect();
            let what = format!("names in directory {}", dir.id);
            self.found.compare(&what, &kept, &counted);
            self.found
                .compare(&what, &dir.entries.count, &(counted.len() as u32));
        }
        for (slot, dirs) in home_of {
            let inode = &fs.names.file(slot).inode;
            let right = inode.dir == NO_DIR || dirs == BTreeSet::from([inode.dir]);
            self.found.expect(right, || {
                format!(
                    "file in slot {slot}: names in {dirs:?}, not in {} alone",
                    inode.dir
                )
            });
            let embedded = matches!(inode.home, Home::Sector { .. });
            let stays = !fs.params.inodes_move() || embedded == (inode.dir != NO_DIR);
            self.found.expect(stays, || {
                format!("file in slot {slot}: names and home do not fit")
            });
        }
    }

    fn directories(&mut self) {
        let fs = self.fs;
        let mut counted = vec![0; fs.geometry.groups as usize];
        let mut numbers = BTreeSet::new();
        for (slot, dir) in self.live_dirs() {
            self.found.dir_id(&fs.dir_ids, slot, dir.id);
            let blocks = Cffs::blocks_of(dir.inode.size);
            let what = format!("sectors of directory {}", dir.id);
            self.found
                .compare(&what, &dir.entries.sectors(), &(blocks * SECTORS));
            let all = (0..blocks).all(|lbn| fs.address(&dir.inode, lbn) != 0);
            self.found
                .expect(all, || format!("directory {} has holes", dir.id));
            self.sectors(slot, &dir.entries);
            counted[fs.geometry.cg_of(fs.address(&dir.inode, 0)) as usize] += 1;
            if fs.params.inodes_move() {
                let fresh = numbers.insert(dir.number) && dir.number >= FIRST_NUMBER;
                let block = (dir.number / MAP_ENTRIES) as usize;
                self.found
                    .expect(fresh && block < fs.directory_map.blocks.len(), || {
                        format!("directory {}: number {} is another's", dir.id, dir.number)
                    });
            }
        }
        self.found.compare(
            "directories of the cylinder groups",
            &fs.map.directories,
            &counted,
        );
        let in_use = fs.dir_numbers.in_use(FIRST_NUMBER);
        self.found
            .compare("directory numbers", &in_use, &(numbers.len() as u64));
        if self.has_lost() {
            self.sectors(LOST, &fs.dirs[LOST as usize].entries);
        }
    }

    /// What lies in the sectors of a directory says that it lies there.
    fn sectors(&mut self, slot: u32, entries: &Entries) {
        self.found.expect(entries.is_consistent(), || {
            format!("directory in slot {slot}: its bits do not fit its sectors")
        });
        for (at, node) in entries.inodes_in(0, entries.sectors()) {
            let home = Home::Sector { dir: slot, at };
            let kept = self.homes.get(&home);
            self.found.expect(kept == Some(&node), || {
                format!("{home:?} holds {node:?}, which lies elsewhere")
            });
        }
    }

    fn group_table(&mut self) {
        let fs = self.fs;
        let mut kept: Vec<(&(u32, u32), &Group)> = fs.groups.iter().collect();
        kept.sort_unstable_by_key(|&(key, _)| *key);
        let mut counted: Vec<(&(u32, u32), &u32)> = self.groups.iter().collect();
        counted.sort_unstable();
        let members: Vec<(&(u32, u32), &u32)> = kept
            .iter()
            .map(|&(key, group)| (key, &group.members))
            .collect();
        self.found.compare("members of groups", &members, &counted);
        let mut groups: FxHashMap<u32, u32> = FxHashMap::default();
        for ((dir, start), group) in kept {
            *groups.entry(*dir).or_default() += 1;
            self.found
                .expect((1..=fs.window()).contains(&group.blocks), || {
                    format!("group {start} of owner {dir} has {} blocks", group.blocks)
                });
        }
        for (slot, dir) in self.live_dirs() {
            let counted = groups.get(&slot).copied().unwrap_or(0);
            self.found.compare(
                &format!("groups of directory {}", dir.id),
                &dir.groups,
                &counted,
            );
        }
    }

    /// As many inodes are in use in tables as lie in them.
    fn tables(&mut self) {
        let fs = self.fs;
        let lie = self
            .homes
            .keys()
            .filter(|home| matches!(home, Home::Table(_)))
            .count() as u64;
        if fs.params.embed {
            let in_use = fs.externals.in_use(FIRST_EXTERNAL);
            self.found.compare("external inodes", &in_use, &lie);
        } else {
            let all = u64::from(fs.geometry.inodes_per_group) * u64::from(fs.geometry.groups);
            let free = all - u64::from(inode_area::FIRST) - lie;
            self.found.compare("free inodes", &fs.inodes.free(), &free);
        }
    }

    fn free_map(&mut self) {
        let fs = self.fs;
        let mut free = vec![0; fs.geometry.groups as usize];
        for block in 0..fs.geometry.blocks {
            let used = self.owned.is_used(block.into());
            self.found.expect(used != fs.map.is_free(block), || {
                format!("block {block}: the free map is wrong, it has {used} owner")
            });
            free[fs.geometry.cg_of(block) as usize] += u32::from(!used);
        }
        self.found
            .compare("free blocks of the cylinder groups", &fs.map.free, &free);
        let sum: u64 = free.iter().map(|&n| u64::from(n)).sum();
        self.found.compare("free blocks", &fs.map.free_blocks, &sum);
        let right = !fs.map.is_free(0) && !fs.map.is_free(SUPERBLOCK);
        self.found
            .expect(right, || "block 0 or the superblock is free".to_owned());
    }
}

#[cfg(test)]
mod tests;
