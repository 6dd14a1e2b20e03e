//! The file system check: everything recomputed from the inodes, and compared with what the model keeps.

use super::Ffs;
use super::directory::{CHUNK, DOTS, ROOT_INO};
use super::inode::{Indirect, Inode};
use crate::findings::{Findings, Owned};
use fsage_core::Inconsistency;
use rustc_hash::{FxHashMap, FxHashSet};

/// Looks for everything that does not fit together.
pub(super) fn check(fs: &Ffs) -> Result<(), Inconsistency> {
    let mut check = Check {
        fs,
        owned: Owned::new(fs.geometry.size, "fragment"),
        found: Findings::default(),
    };
    check.metadata();
    check.inodes();
    check.groups();
    check.inode_maps();
    check.found.names(&fs.names);
    check.directories();
    check.found.result()
}

struct Check<'a> {
    fs: &'a Ffs,
    /// Fragments in use by metadata, a file or a directory.
    owned: Owned,
    found: Findings,
}

impl Check<'_> {
    fn find(&mut self, finding: impl FnOnce() -> String) {
        self.found.find(finding);
    }

    fn compare<T>(&mut self, what: &str, c: usize, kept: &T, counted: &T)
    where
        T: PartialEq + std::fmt::Debug + ?Sized,
    {
        let what = format!("group {c}: {what}");
        self.found.compare(&what, kept, counted);
    }

    fn claim(&mut self, start: u64, n: u64, owner: &dyn Fn() -> String) {
        self.owned.claim((start, n), owner, &mut self.found);
    }

    fn metadata(&mut self) {
        for c in 0..self.fs.geometry.ncg {
            let range = self.fs.geometry.metadata(c);
            let base = self.fs.geometry.base(c);
            self.claim(base + range.start, range.end - range.start, &|| {
                format!("metadata of group {c}")
            });
        }
        for &(start, n) in &self.fs.occupied {
            self.claim(start, n, &|| "what is in use by nothing".to_owned());
        }
    }

    fn inodes(&mut self) {
        let fs = self.fs;
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            self.inode(&dir.inode, &|| format!("directory {}", dir.id));
            self.found.dir_id(&fs.dir_ids, slot as u32, dir.id);
        }
        for (_, file) in fs.names.iter() {
            self.inode(&file.inode, &|| format!("file {}", file.id));
        }
        let live = self.inodes_with_indirect();
        let mut lost: Vec<u64> = fs.indirect.keys().copied().collect();
        lost.retain(|ino| !live.contains(ino));
        lost.sort_unstable();
        for ino in lost {
            self.find(|| format!("inode {ino} is free, but has indirect blocks"));
        }
    }

    fn inodes_with_indirect(&self) -> FxHashSet<u64> {
        let fs = self.fs;
        let dirs = fs.dirs.iter().filter(|d| d.alive).map(|d| d.inode);
        let files = fs.names.iter().map(|(_, f)| f.inode);
        files
            .chain(dirs)
            .filter(|inode| fs.indirect_of(inode).is_some())
            .map(|inode| inode.ino)
            .collect()
    }

    fn inode(&mut self, inode: &Inode, owner: &dyn Fn() -> String) {
        let fs = self.fs;
        let g = &fs.geometry;
        let blocks = inode.size.div_ceil(g.bsize);
        let mut end_before = None;
        for run in inode.blocks.iter(&fs.pool) {
            if u64::from(run.end()) > blocks {
                self.find(|| format!("{}: blocks behind its end of {blocks}", owner()));
            }
            let joined = (run.lbn, run.address);
            if end_before == Some(joined) || end_before.is_some_and(|(lbn, _)| lbn > run.lbn) {
                self.find(|| format!("{}: runs not maximal or not ascending", owner()));
            }
            end_before = Some((run.end(), run.address + u64::from(run.blocks) * g.frag));
            for i in 0..run.blocks {
                let address = run.address + u64::from(i) * g.frag;
                let n = fs.frags_of(inode.size, run.lbn + i) as u64;
                if address % g.frag + n > g.frag {
                    self.find(|| format!("{}: piece {address}+{n} crosses a block", owner()));
                }
                self.claim(address, n, owner);
            }
        }
        let none = Indirect::default();
        let indirect = fs.indirect_of(inode).unwrap_or(&none);
        for address in indirect.addresses() {
            if address % g.frag != 0 {
                self.find(|| format!("{}: indirect block at {address}", owner()));
            }
            self.claim(address, g.frag, owner);
        }
        for run in inode.blocks.iter(&fs.pool) {
            let (first, last) = (fs.place(run.lbn).0, fs.place(run.end() - 1).0);
            for array in first.max(1)..=last {
                if !indirect.has_array(array) || array > 1 && indirect.double == 0 {
                    let lbn = run.lbn;
                    self.find(|| {
                        format!(
                            "{}: the run at block {lbn} has no indirect block {array}",
                            owner()
                        )
                    });
                }
            }
        }
    }

    fn groups(&mut self) {
        let fs = self.fs;
        let (g, groups) = (&fs.geometry, &fs.groups);
        let (mut blocks, mut frags) = (0, 0);
        for c in 0..g.ncg {
            let (base, ndblk) = (g.base(c), g.fragments_in(c));
            let mut counted = Counted::new(g.contigsumsize as usize);
            let mut positions = groups
                .position_counts(c)
                .map(|kept| vec![0_u16; kept.len()]);
            for block in 0..g.blocks_per_group() {
                let mut mask = 0;
                for i in 0..g.frag {
                    let relative = block * g.frag + i;
                    if relative < ndblk && !self.owned.is_used(base + relative) {
                        mask |= 1 << i;
                    }
                }
                let kept = groups.free_mask(c, block as usize);
                if kept != mask {
                    self.find(|| {
                        format!("group {c}: block {block} has free mask {kept:08b}, its owners leave {mask:08b}")
                    });
                }
                if counted.block(mask, groups.full_mask()) {
                    let relative = block * g.frag;
                    let slot = g.cylinder_of(relative) * g.nrpos + g.position_of(relative);
                    if let Some(positions) = &mut positions {
                        positions[slot as usize] += 1;
                    }
                }
            }
            counted.end_cluster();
            self.compare("nbfree", c, &groups.nbfree[c], &counted.nbfree);
            self.compare("nffree", c, &groups.nffree[c], &counted.nffree);
            self.compare("frsum", c, &groups.frsum[c], &counted.frsum);
            self.compare(
                "the cluster summary",
                c,
                groups.cluster_sums(c),
                counted.clsum.as_slice(),
            );
            self.compare(
                "the table of free blocks by cylinder and position",
                c,
                &groups.position_counts(c),
                &positions.as_deref(),
            );
            let ascending = groups.partial[c].is_sorted_by(|a, b| a.block() < b.block());
            if !ascending {
                self.find(|| format!("group {c}: partly used blocks out of order"));
            }
            let rotors = [groups.rotor[c], groups.frotor[c]];
            if rotors.iter().any(|&r| u64::from(r) >= g.fpg) || u64::from(groups.irotor[c]) >= g.ipg
            {
                self.find(|| format!("group {c}: a rotor points outside"));
            }
            blocks += u64::from(counted.nbfree);
            frags += u64::from(counted.nffree);
        }
        let totals = (groups.totals.nbfree, groups.totals.nffree);
        if totals != (blocks, frags) {
            self.find(|| {
                format!("total nbfree, nffree are {totals:?}, groups add up to {blocks}, {frags}")
            });
        }
    }

    fn inode_maps(&mut self) {
        let fs = self.fs;
        let (g, groups) = (&fs.geometry, &fs.groups);
        let mut used: FxHashMap<u64, bool> = (0..ROOT_INO).map(|ino| (ino, false)).collect();
        let files = fs.names.iter().map(|(_, f)| (f.inode.ino, false));
        let dirs = fs
            .dirs
            .iter()
            .filter(|d| d.alive)
            .map(|d| (d.inode.ino, true));
        for (ino, directory) in files.chain(dirs) {
            if used.insert(ino, directory).is_some() {
                self.find(|| format!("inode {ino} has two owners"));
            }
        }
        let (mut free, mut directories) = (0, 0);
        for c in 0..g.ncg {
            let (mut nifree, mut ndir) = (0, 0);
            for index in 0..g.ipg {
                let ino = c as u64 * g.ipg + index;
                let owner = used.get(&ino);
                ndir += u32::from(owner == Some(&true));
                nifree += u32::from(owner.is_none());
                if groups.inode_used(c, index as usize) != owner.is_some() {
                    self.find(|| format!("inode {ino}: used in the map or by an owner, not both"));
                }
            }
            self.compare("nifree", c, &groups.nifree[c], &nifree);
            self.compare("ndir", c, &groups.ndir[c], &ndir);
            free += u64::from(nifree);
            directories += u64::from(ndir);
        }
        let totals = (groups.totals.nifree, groups.totals.ndir);
        if totals != (free, directories) {
            self.find(|| {
                format!("total nifree, ndir are {totals:?}, groups add up to {free}, {directories}")
            });
        }
    }

    fn directories(&mut self) {
        let fs = self.fs;
        let mut entries: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let files = fs.names.iter().map(|(_, f)| (f.dir, f.entry.chunk()));
        let aliases = fs.names.aliases();
        let further = aliases.iter().map(|(_, a)| (a.dir, a.chunk));
        let live_dirs = fs.dirs.iter().skip(1).filter(|d| d.alive);
        let dirs = live_dirs.map(|d| (d.parent, d.chunk));
        for (dir, chunk) in files.chain(further).chain(dirs) {
            entries.entry(dir).or_default().push(chunk);
        }
        for (slot, dir) in fs.dirs.iter().enumerate() {
            let mine = entries.remove(&(slot as u32)).unwrap_or_default();
            if dir.entries as usize != mine.len() {
                self.find(|| {
                    format!(
                        "directory {}: {} entries counted, {} names point to it",
                        dir.id,
                        dir.entries,
                        mine.len()
                    )
                });
            }
            if !dir.alive || fs.params.dirent_bytes == 0 {
                continue;
            }
            let mut chunks = vec![0_u16; dir.chunks.len()];
            chunks[0] = DOTS;
            for chunk in mine {
                match chunks.get_mut(chunk as usize) {
                    Some(used) => *used += fs.params.dirent_bytes as u16,
                    None => self.find(|| format!("directory {}: no chunk {chunk}", dir.id)),
                }
            }
            if chunks != dir.chunks || dir.inode.size != CHUNK * chunks.len() as u64 {
                self.find(|| format!("directory {}: chunks do not fit its entries", dir.id));
            }
        }
    }
}

/// A recount of one group's summaries.
struct Counted {
    nbfree: u32,
    nffree: u32,
    frsum: [u32; 8],
    clsum: Vec<u32>,
    cluster: usize,
}

impl Counted {
    fn new(contigsumsize: usize) -> Counted {
        Counted {
            nbfree: 0,
            nffree: 0,
            frsum: [0; 8],
            clsum: vec![0; contigsumsize],
            cluster: 0,
        }
    }

    /// Counts the next block; says whether it is free as a whole.
    fn block(&mut self, mask: u8, full: u8) -> bool {
        if mask == full {
            self.nbfree += 1;
            self.cluster += 1;
            return true;
        }
        self.end_cluster();
        self.nffree += mask.count_ones();
        let mut run = 0;
        for bit in 0..=8 {
            if bit < 8 && mask >> bit & 1 == 1 {
                run += 1;
            } else {
                if run > 0 {
                    self.frsum[run] += 1;
                }
                run = 0;
            }
        }
        false
    }

    fn end_cluster(&mut self) {
        if self.cluster > 0 && !self.clsum.is_empty() {
            let class = self.cluster.min(self.clsum.len());
            self.clsum[class - 1] += 1;
        }
        self.cluster = 0;
    }
}

#[cfg(test)]
mod tests;
