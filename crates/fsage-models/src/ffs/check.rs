//! The file system check: everything recomputed from the inodes, and compared with what the model keeps.

use super::Ffs;
use super::inode::{Indirect, Inode};
use rustc_hash::FxHashMap;

/// Findings listed before the rest are only counted by their absence.
const MOST: usize = 100;

/// Everything that does not fit together, one sentence each; empty if all is well.
pub(super) fn findings(fs: &Ffs) -> Vec<String> {
    let mut check = Check {
        fs,
        used: vec![0; (fs.geometry.size as usize).div_ceil(64)],
        findings: Vec::new(),
    };
    check.metadata();
    check.inodes();
    check.groups();
    check.inode_maps();
    check.links();
    check.directories();
    check.findings
}

struct Check<'a> {
    fs: &'a Ffs,
    /// One bit a fragment: in use by metadata, a file or a directory.
    used: Vec<u64>,
    findings: Vec<String>,
}

impl Check<'_> {
    fn find(&mut self, finding: impl FnOnce() -> String) {
        if self.findings.len() < MOST {
            self.findings.push(finding());
        }
    }

    fn compare<T>(&mut self, what: &str, c: usize, kept: &T, counted: &T)
    where
        T: PartialEq + std::fmt::Debug + ?Sized,
    {
        if kept != counted {
            self.find(|| format!("group {c}: {what} is {kept:?}, a recount gives {counted:?}"));
        }
    }

    fn claim(&mut self, start: u64, n: u64, owner: &dyn Fn() -> String) {
        if start.saturating_add(n) > self.fs.geometry.size {
            self.find(|| {
                format!(
                    "{}: fragments {start}+{n} lie outside the file system",
                    owner()
                )
            });
            return;
        }
        for at in start..start + n {
            let bit = 1 << (at % 64);
            let word = &mut self.used[(at / 64) as usize];
            if *word & bit != 0 {
                self.find(|| format!("{}: fragment {at} has two owners", owner()));
                return;
            }
            *word |= bit;
        }
    }

    fn metadata(&mut self) {
        for c in 0..self.fs.geometry.ncg {
            let range = self.fs.geometry.metadata(c);
            let base = self.fs.geometry.base(c);
            self.claim(base + range.start, range.end - range.start, &|| {
                format!("metadata of group {c}")
            });
        }
    }

    fn inodes(&mut self) {
        let fs = self.fs;
        for (slot, dir) in fs.dirs.iter().enumerate().filter(|(_, dir)| dir.alive) {
            self.inode(&dir.inode, &|| format!("directory {}", dir.id));
            // Not the root, whose number another directory may have taken.
            if slot > 0 && fs.dir_slots.get(&dir.id) != Some(&(slot as u32)) {
                self.find(|| format!("directory {}: its id does not lead to it", dir.id));
            }
        }
        let mut files = 0;
        for (slot, file) in fs.names.iter() {
            files += 1;
            self.inode(&file.inode, &|| format!("file {}", file.id));
            if fs.names.find(fsage_core::FileId(file.id)) != Some(slot) {
                self.find(|| format!("file {}: its id does not lead to it", file.id));
            }
        }
        if files != fs.names.len() {
            self.find(|| format!("{} files are indexed, {files} exist", fs.names.len()));
        }
        let mut owners: Vec<u64> = fs.indirect.keys().copied().collect();
        for inode in self.live_inodes() {
            owners.retain(|&ino| ino != inode.ino);
        }
        for ino in owners {
            self.find(|| format!("inode {ino} is free, but has indirect blocks"));
        }
    }

    /// Inodes of files long enough for indirect blocks, and of all directories.
    fn live_inodes(&self) -> Vec<Inode> {
        let fs = self.fs;
        let dirs = fs.dirs.iter().filter(|d| d.alive).map(|d| d.inode);
        let files = fs.names.iter().map(|(_, f)| f.inode);
        files
            .chain(dirs)
            .filter(|inode| fs.indirect_of(inode).is_some())
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

    fn is_used(&self, address: u64) -> bool {
        self.used[(address / 64) as usize] >> (address % 64) & 1 == 1
    }

    fn groups(&mut self) {
        let fs = self.fs;
        let (g, groups) = (&fs.geometry, &fs.groups);
        let (mut blocks, mut frags) = (0, 0);
        for c in 0..g.ncg {
            let (base, ndblk) = (g.base(c), g.fragments_in(c));
            let mut counted = Counted::new(g.contigsumsize as usize);
            let mut positions = vec![0_u16; (g.cpg * g.nrpos) as usize];
            for block in 0..g.blocks_per_group() {
                let mut mask = 0;
                for i in 0..g.frag {
                    let relative = block * g.frag + i;
                    if relative < ndblk && !self.is_used(base + relative) {
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
                    positions[slot as usize] += 1;
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
                groups.position_counts(c),
                positions.as_slice(),
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
        let mut used: FxHashMap<u64, bool> = [(0, false), (1, false)].into_iter().collect();
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

    /// Further names of files: as many as their files count.
    fn links(&mut self) {
        let fs = self.fs;
        let mut further: FxHashMap<u32, u32> = FxHashMap::default();
        for (_, alias) in fs.names.aliases() {
            *further.entry(alias.file).or_default() += 1;
        }
        for (slot, file) in fs.names.iter() {
            let counted = 1 + further.remove(&slot).unwrap_or(0);
            let kept = fs.names.links(slot);
            if kept != counted || file.entry.is_linked() != (counted > 1) {
                self.find(|| format!("file {}: {kept} links, {counted} names", file.id));
            }
        }
        if !further.is_empty() {
            self.find(|| format!("names of {} files that are not there", further.len()));
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
            chunks[0] = 24;
            for chunk in mine {
                match chunks.get_mut(chunk as usize) {
                    Some(used) => *used += fs.params.dirent_bytes as u16,
                    None => self.find(|| format!("directory {}: no chunk {chunk}", dir.id)),
                }
            }
            if chunks != dir.chunks || dir.inode.size != 512 * chunks.len() as u64 {
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
mod tests {
    use super::*;
    use crate::ffs::Params;
    use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};

    /// Two directories, whole blocks, fragments, holes, indirect blocks (single, double, two of level 1), a
    /// hard link, and some of it deleted again.
    fn aged() -> Ffs {
        let params = Params {
            bsize: 4096,
            fsize: 512,
            dirent_bytes: 100,
            ..Params::preset("small").unwrap()
        };
        let mut fs = Ffs::new(params).unwrap();
        let mut done = |op: Op| assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{op:?}");
        for dir in 1..3 {
            let (dir, parent) = (DirId(dir), None);
            done(Op::Mkdir { dir, parent });
        }
        for file in 1..60 {
            let (file, dir, bytes) = (FileId(file), DirId(file % 2 + 1), file * 531);
            done(Op::Create { file, dir, bytes });
        }
        let (file, existing, dir) = (FileId(60), FileId(7), DirId(2));
        done(Op::Link {
            file,
            existing,
            dir,
        });
        for file in (3..60).step_by(3) {
            done(Op::Delete { file: FileId(file) });
        }
        let (file, dir, bytes) = (FileId(LARGE), DirId(1), (12 + 1024 + 1500) * 4096);
        done(Op::Create { file, dir, bytes });
        assert_eq!(findings(&fs), Vec::<String>::new());
        fs
    }

    const LARGE: u64 = 100;

    fn inode_of(fs: &mut Ffs, file: u64) -> &mut Inode {
        let slot = fs.names.find(FileId(file)).unwrap();
        &mut fs.names.file_mut(slot).inode
    }

    fn block(fs: &mut Ffs, file: u64, lbn: u32) -> u64 {
        let inode = *inode_of(fs, file);
        fs.address(&inode, lbn)
    }

    fn set_block(fs: &mut Ffs, file: u64, lbn: u32, address: u64, frag: u64) {
        let mut inode = *inode_of(fs, file);
        inode.blocks.set(&mut fs.pool, lbn, 1, address, frag);
        *inode_of(fs, file) = inode;
    }

    fn indirect(fs: &mut Ffs) -> &mut Indirect {
        let ino = inode_of(fs, LARGE).ino;
        fs.indirect.get_mut(&ino).unwrap()
    }

    /// A group with free fragments and free blocks, and its index in arrays over groups.
    fn busy_group(fs: &Ffs) -> usize {
        let busy = |&c: &usize| fs.groups.partial[c].len() > 1 && fs.groups.nbfree[c] > 1;
        (0..fs.geometry.ncg).find(busy).unwrap()
    }

    /// Corrupts a sound file system and expects a finding with these words.
    fn finds(words: &str, corrupt: impl FnOnce(&mut Ffs)) {
        let mut fs = aged();
        corrupt(&mut fs);
        let found = findings(&fs);
        assert!(
            found.iter().any(|f| f.contains(words)),
            "`{words}` is not in {found:?}"
        );
        assert!(fs.check().is_err());
    }

    #[test]
    fn a_block_that_is_used_and_free_at_once_is_found() {
        finds("has free mask 11111111, its owners leave", |fs| {
            let address = block(fs, 58, 0);
            let (c, block) = (fs.group_of(address), fs.block_of(address));
            let words = fs.geometry.blocks_per_group() as usize / 64 + 1;
            fs.groups.corruptible().blocks[c * words + block / 64] |= 1 << (block % 64);
        });
    }

    #[test]
    fn a_fragment_that_is_neither_used_nor_free_is_found() {
        finds("its owners leave", |fs| {
            let c = busy_group(fs);
            fs.groups.partial[c].remove(0);
        });
    }

    #[test]
    fn a_block_of_two_files_is_found() {
        finds("file 58: fragment", |fs| {
            let others = block(fs, 50, 1);
            set_block(fs, 58, 1, others, 8);
        });
        finds("has two owners", |fs| {
            let data = block(fs, 58, 0);
            indirect(fs).double = data;
        });
        finds("file 58: fragment 0 has two owners", |fs| {
            set_block(fs, 58, 0, 0, 8);
        });
    }

    #[test]
    fn a_block_at_an_address_that_no_block_has_is_found() {
        finds("file 58: fragments", |fs| {
            let end = fs.geometry.size;
            set_block(fs, 58, 0, end, 8);
        });
        finds("crosses a block", |fs| {
            let address = block(fs, 58, 0);
            set_block(fs, 58, 0, address + 1, 8);
        });
        finds("indirect block at", |fs| indirect(fs).single += 3);
    }

    #[test]
    fn a_file_that_does_not_fit_its_blocks_is_found() {
        finds("file 58: blocks behind its end of 1", |fs| {
            inode_of(fs, 58).size = 1;
        });
        finds("its owners leave", |fs| inode_of(fs, 58).size -= 512);
        finds("file 58: runs not maximal", |fs| {
            let address = block(fs, 58, 0);
            // As for blocks of another size: the two are not joined.
            set_block(fs, 58, 1, address + 8, 16);
        });
    }

    #[test]
    fn an_indirect_block_that_is_missing_or_nobodys_is_found() {
        finds("has no indirect block 1", |fs| indirect(fs).single = 0);
        finds("has no indirect block 2", |fs| indirect(fs).double = 0);
        finds("has no indirect block 3", |fs| indirect(fs).level1[1] = 0);
        finds("has no indirect block 1", |fs| {
            let ino = inode_of(fs, LARGE).ino;
            fs.indirect.remove(&ino);
        });
        finds("is free, but has indirect blocks", |fs| {
            let stray = indirect(fs).clone();
            fs.indirect.insert(5000, stray);
        });
    }

    #[test]
    fn a_wrong_summary_of_free_space_is_found() {
        finds("nbfree is", |fs| fs.groups.nbfree[1] -= 1);
        finds("nffree is", |fs| fs.groups.nffree[1] += 1);
        for size in 1..8 {
            finds("frsum is", |fs| fs.groups.frsum[2][size] += 1);
        }
        for class in 0..7 {
            finds("the cluster summary is", |fs| {
                fs.groups.corruptible().clsum[7 + class] += 1;
            });
        }
        finds(
            "the table of free blocks by cylinder and position is",
            |fs| {
                fs.groups.corruptible().positions[0] += 1;
            },
        );
        finds("total nbfree, nffree are", |fs| {
            fs.groups.totals.nbfree += 1;
        });
        finds("total nbfree, nffree are", |fs| {
            fs.groups.totals.nffree -= 1;
        });
    }

    #[test]
    fn disorder_in_the_searches_of_a_group_is_found() {
        finds("partly used blocks out of order", |fs| {
            let c = busy_group(fs);
            fs.groups.partial[c].swap(0, 1);
        });
        finds("a rotor points outside", |fs| {
            fs.groups.rotor[1] = fs.geometry.fpg as u32;
        });
        finds("a rotor points outside", |fs| {
            fs.groups.frotor[0] = u32::MAX;
        });
        finds("a rotor points outside", |fs| {
            fs.groups.irotor[3] = fs.geometry.ipg as u32;
        });
    }

    #[test]
    fn a_wrong_inode_map_or_count_is_found() {
        finds("used in the map or by an owner, not both", |fs| {
            fs.groups.corruptible().inodes[0] ^= 1 << 2;
        });
        finds("used in the map or by an owner, not both", |fs| {
            fs.groups.corruptible().inodes[1] |= 1 << 63;
        });
        finds("has two owners", |fs| {
            let other = inode_of(fs, 50).ino;
            inode_of(fs, 58).ino = other;
        });
        finds("nifree is", |fs| fs.groups.nifree[0] += 1);
        finds("ndir is", |fs| fs.groups.ndir[0] += 1);
        finds("total nifree, ndir are", |fs| fs.groups.totals.nifree -= 1);
        finds("total nifree, ndir are", |fs| fs.groups.totals.ndir += 1);
    }

    #[test]
    fn a_name_that_leads_astray_is_found() {
        finds("file 999: its id does not lead to it", |fs| {
            let slot = fs.names.find(FileId(58)).unwrap();
            fs.names.file_mut(slot).id = 999;
        });
        finds("files are indexed", |fs| inode_of(fs, 58).ino = 0);
        finds("directory 2: its id does not lead to it", |fs| {
            fs.dir_slots.insert(2, 1);
        });
        finds("file 7: 2 links, 2 names", |fs| {
            let slot = fs.names.find(FileId(7)).unwrap();
            fs.names.file_mut(slot).entry.set_linked(false);
        });
        finds("names of 1 files that are not there", |fs| {
            fs.names.link(FileId(61), 0, 0, 0);
            fs.names.file_mut(0).inode.ino = 0;
        });
    }

    #[test]
    fn wrong_entries_of_a_directory_are_found() {
        finds("directory 1: ", |fs| fs.dirs[1].entries += 1);
        finds("directory 2: chunks do not fit its entries", |fs| {
            fs.dirs[2].chunks[1] -= 100;
        });
        finds("directory 2: chunks do not fit its entries", |fs| {
            fs.dirs[2].chunks.push(0);
        });
        finds("directory 1: no chunk 99", |fs| {
            let slot = fs.names.find(FileId(LARGE)).unwrap();
            fs.names.set_place(FileId(LARGE), slot, 1, 99);
        });
        // The further name of a hard link counts where it stands.
        finds("names point to it", |fs| {
            let slot = fs.names.find(FileId(60)).unwrap();
            fs.names.set_place(FileId(60), slot, 1, 0);
        });
    }
}
