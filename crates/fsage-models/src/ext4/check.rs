//! The file system check: everything recomputed from the inodes, and compared with what the model keeps.

use super::entries::Block;
use super::{Ext4, Kind};
use crate::findings::{Findings, Owned};
use fsage_core::Inconsistency;
use fsage_core::operations::ROOT;
use rustc_hash::FxHashMap;

/// Looks for everything that does not fit together.
pub(super) fn check(fs: &Ext4) -> Result<(), Inconsistency> {
    let mut check = Check {
        fs,
        owned: Owned::new(fs.geometry.blocks.into(), "block"),
        found: Findings::default(),
    };
    check.metadata();
    check.inodes();
    check.block_maps();
    check.groups();
    check.counters();
    check.found.names(&fs.names);
    check.directories();
    check.caches();
    check.found.result()
}

struct Check<'a> {
    fs: &'a Ext4,
    /// Blocks in use by metadata, a file or a directory.
    owned: Owned,
    found: Findings,
}

impl Check<'_> {
    fn claim(&mut self, first: u32, blocks: u32, owner: &dyn Fn() -> String) {
        let range = (first.into(), blocks.into());
        self.owned.claim(range, owner, &mut self.found);
    }

    fn metadata(&mut self) {
        let fs = self.fs;
        let g = &fs.geometry;
        self.claim(0, g.first_block, &|| "the boot block".to_owned());
        for (group, tables) in (0..g.groups).zip(&g.tables) {
            let of = || format!("metadata of group {group}");
            self.claim(g.start_of(group), g.copy_blocks(group), &of);
            self.claim(tables.block_bitmap, 1, &of);
            self.claim(tables.inode_bitmap, 1, &of);
            self.claim(tables.inode_table, g.table_blocks(), &of);
        }
        let tree_block = g.journal_tree_block.map(|block| (block, 1));
        for (block, blocks) in g.journal.iter().copied().chain(tree_block) {
            self.claim(block, blocks, &|| "the journal".to_owned());
        }
        if let Some(block) = g.resize_block {
            self.claim(block, 1, &|| "the inode that keeps descriptors".to_owned());
        }
    }

    /// Slots that hold an inode: the root's and that of `lost+found`, those of files and of directories.
    fn slots(&self) -> Vec<u32> {
        let dirs = self.fs.dirs.iter().filter(|dir| dir.alive);
        let files = self.fs.names.iter().map(|(_, file)| file.inode);
        let all = dirs.map(|dir| dir.inode).chain(files);
        let mut all: Vec<u32> = all.chain([1]).collect();
        all.sort_unstable();
        all
    }

    fn inodes(&mut self) {
        let fs = self.fs;
        let slots = self.slots();
        let twice = slots.windows(2).any(|pair| pair[0] == pair[1]);
        self.found
            .expect(!twice, || "an inode has two owners".to_owned());
        let (mut used, mut directories) = (0_u64, 0_u64);
        for slot in slots {
            let inode = &fs.inodes[slot as usize];
            let ino = inode.ino;
            used += 1;
            directories += u64::from(inode.kind == Kind::Directory);
            let per_group = fs.geometry.inodes_per_group;
            let is_used = fs
                .groups
                .is_inode_used((ino - 1) / per_group, (ino - 1) % per_group);
            self.found
                .expect(is_used, || format!("inode {ino} is free in its bitmap"));
            let mut entries = Vec::new();
            inode.tree.visit(&mut |entry| entries.push(*entry));
            let apart = entries
                .windows(2)
                .all(|pair| pair[0].end() <= pair[1].logical);
            self.found.expect(apart, || {
                format!("inode {ino}: extents overlap in the file")
            });
            for entry in entries {
                self.claim(entry.block, entry.blocks(), &|| format!("inode {ino}"));
            }
            let mut blocks = Vec::new();
            inode.tree.visit_blocks(&mut |block| blocks.push(block));
            for block in blocks {
                self.claim(block, 1, &|| format!("the tree of inode {ino}"));
            }
        }
        // 1 to 10 belong to nobody; the root is one of them.
        let groups = fs.groups.all.iter();
        let free: u64 = groups.map(|group| u64::from(group.free_inodes)).sum();
        let all = u64::from(fs.geometry.inodes_per_group) * u64::from(fs.geometry.groups);
        self.found.compare("free inodes", &free, &(all - used - 9));
        let kept = fs
            .groups
            .all
            .iter()
            .map(|group| u64::from(group.directories));
        self.found.compare("directories", &kept.sum(), &directories);
    }

    fn block_maps(&mut self) {
        let fs = self.fs;
        let g = &fs.geometry;
        let mut set_aside = vec![];
        for list in fs.shared.iter().flatten() {
            set_aside.extend(list.iter().map(|shared| (shared.block, shared.blocks)));
        }
        for (_, cache) in fs.caches() {
            for own in &cache.own {
                set_aside.extend(fs.groups.unused_on_disk(own.block, own.blocks));
            }
        }
        set_aside.extend(&fs.freed);
        set_aside.sort_unstable();
        let mut taken = set_aside.into_iter().peekable();
        let mut until = 0;
        for block in g.first_block..g.blocks {
            while let Some(&(start, blocks)) = taken.peek()
                && start <= block
            {
                until = until.max(start + blocks);
                taken.next();
            }
            let is_owned = self.owned.is_used(block.into());
            let (disk, core) = (fs.groups.is_used_on_disk(block), fs.groups.is_taken(block));
            self.found.expect(disk == is_owned, || {
                format!("block {block}: in use on disk {disk}, owned {is_owned}")
            });
            let expected = is_owned || block < until;
            self.found.expect(core == expected, || {
                format!("block {block}: taken for the allocator {core}, expected {expected}")
            });
        }
    }

    fn groups(&mut self) {
        let fs = self.fs;
        let mut flex = vec![super::groups::Sums::default(); fs.groups.flex.len()];
        for group in 0..fs.geometry.groups {
            let one = &fs.groups.all[group as usize];
            let what = format!("free blocks of group {group}");
            self.found
                .compare(&what, &one.info, &fs.groups.measure(group));
            let mut free = 0;
            let all = 0..fs.geometry.blocks_in(group);
            fs.groups
                .visit_free_on_disk(group, all, |from, to| free += to - from);
            let what = format!("blocks of group {group} that are free on disk");
            self.found.compare(&what, &one.free_blocks, &free);
            let mut inodes = 0;
            fs.groups
                .visit_free_inodes(group, |from, to| inodes += to - from);
            let what = format!("free inodes of group {group}");
            self.found.compare(&what, &one.free_inodes, &inodes);
            let sums = &mut flex[(group / fs.geometry.flex) as usize];
            sums.free_blocks += free;
            sums.free_inodes += inodes;
            sums.directories += one.directories;
        }
        self.found
            .compare("sums of flex groups", &fs.groups.flex, &flex);
    }

    fn counters(&mut self) {
        let fs = self.fs;
        let sums = &fs.groups.flex;
        let blocks: i64 = sums.iter().map(|sums| i64::from(sums.free_blocks)).sum();
        let inodes: i64 = sums.iter().map(|sums| i64::from(sums.free_inodes)).sum();
        let directories: i64 = sums.iter().map(|sums| i64::from(sums.directories)).sum();
        let delayed: i64 = fs
            .caches()
            .map(|(_, cache)| i64::from(cache.delayed.blocks()))
            .sum();
        let counters = &fs.counters;
        for (what, kept, counted) in [
            ("counter of free blocks", counters.free_blocks, blocks),
            ("counter of free inodes", counters.free_inodes, inodes),
            ("counter of directories", counters.directories, directories),
            ("counter of delayed blocks", counters.delayed, delayed),
        ] {
            self.found.compare(what, &kept.exact(), &counted);
        }
    }

    /// Every name stands in its directory, and leads to its inode.
    fn directories(&mut self) {
        let fs = self.fs;
        let mut expected: FxHashMap<u32, u64> = FxHashMap::default();
        let mut entered = Vec::new();
        for (slot, file) in fs.names.iter() {
            entered.push((file.dir, fs.keys.names.name_of(file.id), fs.inode_of(slot)));
        }
        for (id, alias) in fs.names.aliases() {
            let name = fs.keys.names.name_of(id);
            entered.push((alias.dir, name, fs.inode_of(alias.file)));
        }
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            self.found.dir_id(&fs.dir_ids, slot as u32, dir.id);
            if slot as u32 != ROOT {
                entered.push((dir.parent, dir.name, dir.inode));
            }
            let blocks = dir.entries.blocks.len() as u64 * fs.geometry.block_bytes;
            let size = fs.inodes[dir.inode as usize].size;
            self.found
                .compare(&format!("size of directory {}", dir.id), &size, &blocks);
            self.leaves(dir.id, &dir.entries.blocks);
        }
        for (dir, name, inode) in entered {
            *expected.entry(dir).or_default() += 1;
            let key = fs.keys.key(name);
            let is_there = fs.dirs[dir as usize].entries.find(key, inode).is_some();
            self.found.expect(is_there, || {
                let name = fs
                    .keys
                    .names
                    .with_bytes(name, |bytes| String::from_utf8_lossy(bytes).into_owned());
                format!("{name} is missing in its directory")
            });
        }
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            let names = expected.get(&(slot as u32)).copied().unwrap_or(0);
            self.found.compare(
                &format!("names in directory {}", dir.id),
                &dir.entries.count,
                &names,
            );
        }
    }

    fn leaves(&mut self, id: u64, blocks: &[Block]) {
        let bytes = u64::from(self.fs.format.leaf_bytes());
        for block in blocks {
            match block {
                Block::Leaf(items) => {
                    let sum: u64 = items.iter().map(|item| u64::from(item.bytes)).sum();
                    self.found
                        .compare(&format!("a block of directory {id}"), &sum, &bytes);
                }
                Block::Index(places) => {
                    let sorted = places[1..].is_sorted_by_key(|place| place.hash);
                    self.found.expect(sorted, || {
                        format!("directory {id}: its index is not sorted")
                    });
                }
            }
        }
    }

    /// Blocks that are set aside go with delayed blocks or with those who write.
    fn caches(&mut self) {
        for (slot, cache) in self.fs.caches() {
            let needed = cache.writers > 0 || !cache.delayed.is_empty();
            let ino = self.fs.inodes[slot as usize].ino;
            self.found.expect(needed || cache.own.is_empty(), || {
                format!("inode {ino}: blocks are set aside for nobody")
            });
        }
    }
}
