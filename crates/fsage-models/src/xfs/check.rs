//! The file system check: everything recomputed from the inodes, and compared with what the model keeps.

use super::btree::Tree;
use super::clock::Clock;
use super::inode::{Extent, Inode};
use super::owners::{self, Kind as Held, Owned as Record};
use super::{Xfs, data};
use crate::findings::{Findings, Owned};
use fsage_core::Inconsistency;
use fsage_core::operations::ROOT;
use rustc_hash::{FxHashMap, FxHashSet};

/// Looks for everything that does not fit together.
pub(super) fn check(fs: &Xfs) -> Result<(), Inconsistency> {
    let mut check = Check {
        fs,
        used: Owned::new(fs.geometry.blocks, "block"),
        records: vec![Vec::new(); fs.geometry.ag_count as usize],
        found: Findings::default(),
    };
    check.metadata();
    check.inodes();
    check.free_space();
    check.owners();
    check.counter();
    check.found.names(&fs.names);
    check.directories();
    check.memory();
    check.found.result()
}

struct Check<'a> {
    fs: &'a Xfs,
    /// Blocks in use.
    used: Owned,
    /// The same with their owners, by AG.
    records: Vec<Vec<Record>>,
    found: Findings,
}

impl Check<'_> {
    fn claim(&mut self, ag: u32, record: Record, owner: &dyn Fn() -> String) {
        let g = &self.fs.geometry;
        let first = g.absolute(g.fsb(ag, record.start));
        self.used
            .claim((first, record.blocks.into()), owner, &mut self.found);
        self.records[ag as usize].push(record);
    }

    fn claim_metadata(&mut self, ag: u32, (start, blocks): (u32, u32), owner: i64) {
        let record = Record {
            start,
            blocks,
            owner,
            offset: 0,
            kind: Held::Written,
        };
        self.claim(ag, record, &|| format!("metadata {owner} of AG {ag}"));
    }

    fn metadata(&mut self) {
        let fs = self.fs;
        let g = &fs.geometry;
        for ag in 0..g.ag_count {
            let (of, inodes) = (&fs.space.ags[ag as usize], &fs.chunks[ag as usize]);
            self.claim_metadata(ag, (0, 1), owners::HEADERS);
            if ag == g.log_ag {
                self.claim_metadata(ag, (g.log_start, g.log_blocks), owners::LOG);
            }
            if let Some(references) = g.references() {
                self.claim_metadata(ag, (references, 1), owners::REFERENCES);
            }
            let owner_blocks = of.owners.iter().flat_map(Tree::all_blocks);
            let free_space = of
                .by_start
                .all_blocks()
                .chain(of.by_length.all_blocks())
                .chain(owner_blocks);
            for block in free_space.chain(of.list.iter().copied()) {
                self.claim_metadata(ag, (block, 1), owners::AG);
            }
            let free = inodes.with_free.iter().flat_map(Tree::all_blocks);
            for block in inodes.chunks.all_blocks().chain(free) {
                self.claim_metadata(ag, (block, 1), owners::INODE_TREES);
            }
            for run in inodes.chunks.iter().flat_map(super::chunks::Chunk::runs) {
                self.claim_metadata(ag, run, owners::INODES);
            }
            let mut trees = vec![
                of.by_start.finding(),
                of.by_length.finding(),
                inodes.chunks.finding(),
            ];
            trees.push(inodes.with_free.as_ref().and_then(Tree::finding));
            trees.push(of.owners.as_ref().and_then(Tree::finding));
            for finding in trees.into_iter().flatten() {
                self.found.find(|| format!("AG {ag}: {finding}"));
            }
        }
    }

    /// Slots that hold an inode: those of files and of directories, and of what waits for its worker.
    fn slots(&self) -> Vec<u32> {
        let dirs = self.fs.dirs.iter().filter(|dir| dir.alive);
        let files = self.fs.names.iter().map(|(_, file)| file.inode);
        let waiting = self.fs.clock.iter().flat_map(Clock::waiting);
        let named = dirs.map(|dir| dir.inode).chain(files);
        named.chain(waiting).collect()
    }

    fn inodes(&mut self) {
        let fs = self.fs;
        let g = &fs.geometry;
        // Two files for a realtime section are nobody's.
        let mut used: FxHashSet<u64> = [g.root_ino() + 1, g.root_ino() + 2].into_iter().collect();
        for slot in self.slots() {
            let inode = &fs.inodes[slot as usize];
            let is_new = used.insert(inode.ino);
            self.found
                .expect(is_new, || format!("inode {} has two owners", inode.ino));
            self.extents(inode);
        }
        for ag in 0..g.ag_count {
            let inodes = &fs.chunks[ag as usize];
            let (mut count, mut free) = (0, 0);
            let mut with_free = Vec::new();
            for chunk in inodes.chunks.iter() {
                count += chunk.count();
                free += chunk.free_count();
                if chunk.free_count() > 0 {
                    with_free.push(*chunk);
                }
                for at in (0..super::geometry::CHUNK).filter(|at| chunk.free >> at & 1 == 0) {
                    let ino = g.ino(ag, chunk.first + at);
                    let is_used = used.remove(&ino);
                    self.found
                        .expect(is_used, || format!("inode {ino} is in use, and nobody's"));
                }
            }
            self.found
                .compare(&format!("inodes of AG {ag}"), &inodes.count, &count);
            self.found
                .compare(&format!("free inodes of AG {ag}"), &inodes.free, &free);
            if let Some(tree) = &inodes.with_free {
                let kept: Vec<_> = tree.iter().copied().collect();
                self.found.compare(
                    &format!("chunks with free inodes of AG {ag}"),
                    &kept,
                    &with_free,
                );
            }
        }
        let mut left: Vec<u64> = used.into_iter().collect();
        left.sort_unstable();
        self.found.expect(left.is_empty(), || {
            format!("inodes {left:?} are free in their chunks")
        });
    }

    fn extents(&mut self, inode: &Inode) {
        let g = &self.fs.geometry;
        let ino = inode.ino;
        let apart = inode
            .extents
            .windows(2)
            .all(|pair| pair[0].end() <= pair[1].logical);
        self.found.expect(apart, || {
            format!("inode {ino}: extents overlap in the file")
        });
        let real: Vec<&Extent> = inode
            .extents
            .iter()
            .filter(|extent| extent.is_real())
            .collect();
        for extent in &real {
            let kind = match extent.state() {
                super::State::Unwritten => Held::Unwritten,
                _ => Held::Written,
            };
            let record = Record {
                start: g.block_of(extent.start()),
                blocks: extent.blocks,
                owner: ino as i64,
                offset: extent.logical,
                kind,
            };
            self.claim(g.ag_of(extent.start()), record, &|| format!("inode {ino}"));
        }
        let Some(tree) = &inode.tree else {
            return;
        };
        for block in tree.all_blocks() {
            let record = Record {
                start: g.block_of(block),
                blocks: 1,
                owner: ino as i64,
                offset: 0,
                kind: Held::Tree,
            };
            self.claim(g.ag_of(block), record, &|| {
                format!("the tree of inode {ino}")
            });
        }
        let kept: Vec<u32> = tree.iter().map(|mapped| mapped.0).collect();
        let counted: Vec<u32> = real.iter().map(|extent| extent.logical).collect();
        self.found
            .compare(&format!("the tree of inode {ino}"), &kept, &counted);
    }

    /// What nobody uses is free, by start and by length.
    fn free_space(&mut self) {
        let fs = self.fs;
        let g = &fs.geometry;
        for ag in 0..g.ag_count {
            let of = &fs.space.ags[ag as usize];
            let base = g.absolute(g.fsb(ag, 0));
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for block in
                (0..g.ag_length(ag)).filter(|block| !self.used.is_used(base + u64::from(*block)))
            {
                match runs.last_mut() {
                    Some((start, blocks)) if *start + *blocks == block => *blocks += 1,
                    _ => runs.push((block, 1)),
                }
            }
            let kept: Vec<(u32, u32)> = of
                .by_start
                .iter()
                .map(|run| (run.start, run.blocks))
                .collect();
            self.found
                .compare(&format!("free blocks of AG {ag} by start"), &kept, &runs);
            let free: u32 = runs.iter().map(|run| run.1).sum();
            self.found
                .compare(&format!("free blocks of AG {ag}"), &of.free, &free);
            runs.sort_unstable_by_key(|&(start, blocks)| (blocks, start));
            let kept: Vec<(u32, u32)> = of
                .by_length
                .iter()
                .map(|run| (run.start, run.blocks))
                .collect();
            self.found
                .compare(&format!("free blocks of AG {ag} by length"), &kept, &runs);
        }
    }

    /// The trees of owners say what the inodes and the metadata say.
    fn owners(&mut self) {
        for (ag, records) in self.records.iter_mut().enumerate() {
            let Some(tree) = &self.fs.space.ags[ag].owners else {
                continue;
            };
            records.sort_unstable_by_key(|record| record.start);
            let mut merged: Vec<Record> = Vec::new();
            for record in records.iter() {
                match merged.last_mut() {
                    Some(last) if last.is_continued_by(record) => last.blocks += record.blocks,
                    _ => merged.push(*record),
                }
            }
            let kept: Vec<Record> = tree.iter().copied().collect();
            let first = kept
                .iter()
                .zip(&merged)
                .find(|(kept, counted)| kept != counted);
            let right = first.is_none() && kept.len() == merged.len();
            self.found.expect(right, || {
                format!(
                    "owners of AG {ag}: {first:?} differ, {} are kept of {}",
                    kept.len(),
                    merged.len()
                )
            });
        }
    }

    /// The counter of free blocks follows from the AGs, from what is kept, and from what is delayed.
    fn counter(&mut self) {
        let fs = self.fs;
        let mut expected = 0_i64;
        let mut tree_blocks = 0;
        for (ag, of) in fs.space.ags.iter().enumerate() {
            let trees = of.tree_blocks();
            tree_blocks += trees;
            let owners = of
                .owners
                .as_ref()
                .map_or(0, |tree| i64::from(tree.blocks()));
            expected += i64::from(of.free) + of.list.len() as i64 + trees as i64;
            expected -= i64::from(of.for_trees.left);
            if of.owners.is_some() {
                expected += owners - 1 - i64::from(of.for_owners.asked);
            }
            let kept = fs.geometry.kept_for_owners(ag as u32);
            self.found.compare(
                &format!("kept for owners in AG {ag}"),
                &of.for_owners.asked,
                &kept,
            );
        }
        for inode in self
            .slots()
            .into_iter()
            .map(|slot| &fs.inodes[slot as usize])
        {
            let delayed = inode.extents.iter().filter(|extent| !extent.is_real());
            expected -= delayed
                .map(|extent| i64::from(extent.blocks + extent.reserved()))
                .sum::<i64>();
        }
        let kept = fs.space.counter.exact() + fs.space.counter.pool();
        self.found
            .compare("counter of free blocks", &kept, &expected);
        self.found
            .compare("blocks of trees", &fs.space.tree_blocks, &tree_blocks);
    }

    /// Every name stands where its file says, and every directory has the blocks that its entries need.
    fn directories(&mut self) {
        let fs = self.fs;
        let mut expected: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
        let mut enter = |dir: u32, name, address| {
            let hash = fs.key(name).hash;
            expected.entry(dir).or_default().push((hash, address));
        };
        for (_, file) in fs.names.iter() {
            enter(file.dir, fs.name_table.name_of(file.id), file.entry.chunk());
        }
        for (id, alias) in fs.names.aliases() {
            enter(alias.dir, fs.name_table.name_of(id), alias.chunk);
        }
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            self.found.dir_id(&fs.dir_ids, slot as u32, dir.id);
            if slot as u32 != ROOT {
                enter(dir.parent, dir.name, dir.address);
            }
        }
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            let id = dir.id;
            let inode = &fs.inodes[dir.inode as usize];
            let mut names = expected.remove(&(slot as u32)).unwrap_or_default();
            let mut kept = dir.entries.addresses();
            names.sort_unstable();
            kept.sort_unstable();
            self.found
                .compare(&format!("names in directory {id}"), &kept, &names);
            self.found.compare(
                &format!("number of names in directory {id}"),
                &dir.entries.count,
                &(names.len() as u64),
            );
            self.found.compare(
                &format!("size of directory {id}"),
                &inode.size,
                &dir.entries.size_bytes(),
            );
            let blocks: Vec<u32> = inode
                .extents
                .iter()
                .flat_map(|extent| extent.logical..extent.end())
                .collect();
            self.found.compare(
                &format!("blocks of directory {id}"),
                &blocks,
                &dir.entries.numbers(),
            );
            if let Some(finding) = dir.entries.finding() {
                self.found.find(|| format!("directory {id}: {finding}"));
            }
        }
    }

    /// What memory holds of files fits them.
    fn memory(&mut self) {
        let fs = self.fs;
        for slot in self.slots() {
            let inode = &fs.inodes[slot as usize];
            let ino = inode.ino;
            let end = data::blocks_until(inode.size);
            let pages = fs
                .pages(slot)
                .map(|pages| pages.within(0..u32::MAX))
                .unwrap_or_default();
            let fits = pages.last().is_none_or(|last| last.end <= end);
            self.found.expect(fits, || {
                format!("inode {ino}: blocks behind its end are dirty")
            });
            let has_place = pages
                .iter()
                .cloned()
                .flatten()
                .all(|block| inode.extents.find(block).is_some());
            self.found
                .expect(has_place, || format!("inode {ino}: a hole is dirty"));
            self.found
                .expect(pages.is_empty() || inode.flags.is_listed, || {
                    format!("inode {ino}: it is dirty, and on no list")
                });
        }
        let dirty: u64 = { self.slots().into_iter() }
            .filter_map(|slot| fs.pages(slot))
            .flat_map(|pages| pages.within(0..u32::MAX))
            .map(|range| u64::from(range.end - range.start))
            .sum();
        self.found.compare("dirty blocks", &fs.dirty_blocks, &dirty);
        for (&ino, &slot) in &fs.tagged {
            let kept = fs.inodes[slot as usize].ino;
            self.found
                .compare("inode of a file to be trimmed", &kept, &ino);
        }
    }
}
