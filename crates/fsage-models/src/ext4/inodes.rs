//! Inodes: which group a new one comes from, and what memory holds of them.
//!
//! Spec: `docs/spec/ext4.md`, sections 7 and 8.

use super::cache::Cache;
use super::hash::Key;
use super::tree::Tree;
use super::{Ext4, Inode, Kind, NO_FILE};

/// Of a flex group's inodes and blocks, the shares that Orlov reckons with.
const DIRECTORIES_SHARE: i64 = 16;
const LEAST_SHARE: i64 = 4;

impl Ext4 {
    /// Cyclically from `start`, so many.
    fn cyclic(start: u32, count: u32) -> impl Iterator<Item = u32> {
        (0..count).map(move |i| (start + i) % count)
    }

    /// The first group of a flex group with a free inode.
    fn first_in_flex(&self, flex: u32) -> Option<u32> {
        let g = &self.geometry;
        let first = flex * g.flex;
        (first..(first + g.flex).min(g.groups)).find(|&group| self.free_inodes(group) > 0)
    }

    fn free_inodes(&self, group: u32) -> u32 {
        self.groups.all[group as usize].free_inodes
    }

    /// Group of a new directory, with what the root's are placed by: the hash of the name.
    fn directory_group(&self, parent: u32, key: Option<Key>) -> Option<u32> {
        let g = &self.geometry;
        let units = g.flex_groups();
        let n = i64::from(units);
        let flex = i64::from(g.flex);
        let inodes = self.counters.free_inodes.read() / n;
        let blocks = self.counters.free_blocks.read() / n;
        let sums = |unit: u32| &self.groups.flex[unit as usize];
        let found = if let Some(key) = key {
            let mut best = (None, g.inodes_per_group);
            for unit in Ext4::cyclic(key.hash % units, units) {
                let sums = sums(unit);
                if sums.free_inodes > 0
                    && sums.directories < best.1
                    && i64::from(sums.free_inodes) >= inodes
                    && i64::from(sums.free_blocks) >= blocks
                {
                    best = (Some(unit), sums.directories);
                }
            }
            best.0
        } else {
            let per_group = i64::from(g.inodes_per_group);
            let directories = self.counters.directories.read();
            let most = directories / n + per_group * flex / DIRECTORIES_SHARE;
            let least_inodes = (inodes - per_group * flex / LEAST_SHARE).max(1);
            let per_group = i64::from(g.blocks_per_group);
            let least_blocks = (blocks - per_group * flex / LEAST_SHARE).max(0);
            let start = self.dirs[parent as usize]
                .last_group
                .unwrap_or_else(|| self.group_of_inode(parent))
                / g.flex;
            Ext4::cyclic(start, units).find(|&unit| {
                let sums = sums(unit);
                i64::from(sums.directories) < most
                    && i64::from(sums.free_inodes) >= least_inodes
                    && i64::from(sums.free_blocks) >= least_blocks
            })
        };
        if let Some(group) = found.and_then(|unit| self.first_in_flex(unit)) {
            return Some(group);
        }
        let average = self.counters.free_inodes.read() / i64::from(g.groups);
        let with = |least: i64| {
            Ext4::cyclic(self.group_of_inode(parent), g.groups).find(|&group| {
                let free = self.free_inodes(group);
                free > 0 && i64::from(free) >= least
            })
        };
        with(average).or_else(|| with(0))
    }

    /// Group of a directory's inode.
    fn group_of_inode(&self, dir: u32) -> u32 {
        let slot = self.dirs[dir as usize].inode;
        (self.inodes[slot as usize].ino - 1) / self.geometry.inodes_per_group
    }

    /// Group of a new file or symbolic link.
    fn file_group(&self, parent: u32) -> Option<u32> {
        let g = &self.geometry;
        let home = self.group_of_inode(parent);
        if g.flex > 1 {
            return self
                .first_in_flex(home / g.flex)
                .or_else(|| {
                    let last = self.dirs[parent as usize].last_group?;
                    self.first_in_flex(last / g.flex)
                })
                .or_else(|| self.directory_group(parent, None));
        }
        let has_both = |group: u32| {
            let one = &self.groups.all[group as usize];
            one.free_inodes > 0 && one.free_blocks > 0
        };
        if has_both(home) {
            return Some(home);
        }
        let slot = self.dirs[parent as usize].inode;
        let ino = self.inodes[slot as usize].ino;
        let mut group = (home + ino % g.groups) % g.groups;
        let mut step = 1;
        while step < g.groups {
            group = (group + step) % g.groups;
            if has_both(group) {
                return Some(group);
            }
            step *= 2;
        }
        Ext4::cyclic(home + 1, g.groups).find(|&group| self.free_inodes(group) > 0)
    }

    /// Where the search for an inode ends that finds none. Source: `find_group_other` and `__ext4_new_inode`.
    fn group_after_all(&self, parent: u32, is_directory: bool) -> u32 {
        let g = &self.geometry;
        let home = self.group_of_inode(parent);
        if is_directory {
            return 0;
        }
        if g.flex <= 1 {
            return home;
        }
        let last = self.dirs[parent as usize].last_group.unwrap_or(home);
        let behind = last / g.flex * g.flex + g.flex;
        if behind > g.groups { 0 } else { behind }
    }

    /// A new inode; its slot.
    pub(super) fn new_inode(&mut self, parent: u32, kind: Kind, key: Key) -> Option<u32> {
        let is_directory = kind == Kind::Directory;
        let group = if is_directory {
            let in_root = parent == fsage_core::operations::ROOT;
            self.directory_group(parent, in_root.then_some(key))
        } else {
            self.file_group(parent)
        };
        // The parent keeps where the search ended, whether or not it found something.
        let ended = group.unwrap_or_else(|| self.group_after_all(parent, is_directory));
        self.dirs[parent as usize].last_group = Some(ended);
        let group = group?;
        let groups = self.geometry.groups;
        let mut all = Ext4::cyclic(group, groups);
        let (group, bit) = all.find_map(|group| {
            let bit = self.groups.take_inode(group, is_directory)?;
            Some((group, bit))
        })?;
        // A transaction begins only now that an inode is found.
        self.is_running = true;
        self.counters.free_inodes.add(-1);
        if is_directory {
            self.counters.directories.add(1);
        }
        let ino = group * self.geometry.inodes_per_group + bit + 1;
        let slot = self.keep_inode(ino, kind);
        self.changed_inode_map(group);
        self.changed_inode(slot);
        Some(slot)
    }

    /// Puts an inode into a slot.
    pub(super) fn keep_inode(&mut self, ino: u32, kind: Kind) -> u32 {
        let inode = Inode {
            ino,
            kind,
            file: NO_FILE,
            size: 0,
            tree: Tree::default(),
            cache: None,
            is_cached: false,
            is_of_today: false,
            changed_in: self.transaction,
        };
        if let Some(slot) = self.free_inodes.pop() {
            self.inodes[slot as usize] = inode;
            slot
        } else {
            self.inodes.push(inode);
            self.inodes.len() as u32 - 1
        }
    }

    /// Frees the blocks of an inode, and the inode.
    pub(super) fn release(&mut self, slot: u32) {
        if let Some(cache) = self.cache_if(slot) {
            let delayed = cache.delayed.blocks();
            if delayed > 0 {
                self.counters.delayed.add(-i64::from(delayed));
            }
            self.drop_own(slot);
            self.forget(slot);
        }
        self.discarded(slot, 0);
        self.cut_tree(slot, 0);
        self.changed_inode(slot);
        let inode = &self.inodes[slot as usize];
        let per_group = self.geometry.inodes_per_group;
        let is_directory = inode.kind == Kind::Directory;
        let (group, bit) = ((inode.ino - 1) / per_group, (inode.ino - 1) % per_group);
        self.groups.free_inode(group, bit, is_directory);
        self.counters.free_inodes.add(1);
        if is_directory {
            self.counters.directories.add(-1);
        }
        self.changed_inode_map(group);
        self.inodes[slot as usize].is_of_today = false;
        self.free_inodes.push(slot);
    }

    /// What memory holds of an inode, if that is anything special.
    #[inline]
    pub(super) fn cache_of(&self, slot: u32) -> Option<&Cache> {
        let at = self.inodes[slot as usize].cache?;
        Some(&self.cached[at.get() as usize - 1].1)
    }

    #[inline]
    pub(super) fn cache_if(&mut self, slot: u32) -> Option<&mut Cache> {
        let at = self.inodes[slot as usize].cache?;
        Some(&mut self.cached[at.get() as usize - 1].1)
    }

    /// What memory holds of an inode, to change.
    #[inline]
    pub(super) fn cache_mut(&mut self, slot: u32) -> &mut Cache {
        let at = match self.inodes[slot as usize].cache {
            Some(at) => at,
            None => self.make_cache(slot),
        };
        &mut self.cached[at.get() as usize - 1].1
    }

    fn make_cache(&mut self, slot: u32) -> std::num::NonZeroU32 {
        let place = if let Some(place) = self.free_caches.pop() {
            place
        } else {
            self.cached.push((slot, Cache::default()));
            self.cached.len() as u32 - 1
        };
        let inode = &mut self.inodes[slot as usize];
        let (owner, cache) = &mut self.cached[place as usize];
        *owner = slot;
        cache.page_bits = super::cache::PAGE_BITS - self.geometry.block_bits;
        if inode.is_cached {
            cache.whole_bytes = inode.size;
            let end = inode.size.div_ceil(self.geometry.block_bytes) as u32;
            cache.holes.add(end, u32::MAX);
        }
        let at = std::num::NonZeroU32::MIN.saturating_add(place);
        inode.cache = Some(at);
        at
    }

    /// Memory holds nothing of an inode any more.
    pub(super) fn forget(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        inode.is_cached = false;
        if let Some(at) = inode.cache.take() {
            let place = at.get() - 1;
            self.cached[place as usize].1.clear();
            self.cached[place as usize].0 = NOBODY;
            self.free_caches.push(place);
        }
    }

    /// Where nothing special is left of what memory holds, that is all that is kept.
    pub(super) fn forget_if_plain(&mut self, slot: u32) {
        let inode = &self.inodes[slot as usize];
        let Some(cache) = self.cache_of(slot) else {
            return;
        };
        let Some(is_cached) = cache.is_plain(inode.size) else {
            return;
        };
        let blocks = inode.size.div_ceil(self.geometry.block_bytes);
        let mut next = 0;
        let mut whole = true;
        inode.tree.visit(&mut |entry| {
            whole &= entry.logical == next;
            next = entry.end();
        });
        if whole && u64::from(next) >= blocks {
            self.forget(slot);
            self.inodes[slot as usize].is_cached = is_cached;
        }
    }

    /// Every inode of which memory holds something special.
    pub(super) fn caches(&self) -> impl Iterator<Item = (u32, &Cache)> {
        let all = self.cached.iter().filter(|(slot, _)| *slot != NOBODY);
        all.map(|(slot, cache)| (*slot, cache))
    }
}

/// Owner of what memory holds of nobody.
const NOBODY: u32 = u32::MAX;
