//! A naive 4.4BSD FFS allocator: the oracle of the property tests.
//!
//! Written from the text of docs/spec/ffs.md alone, section by section, and from nothing else: no code is
//! shared with the real model. One `bool` a fragment, block addresses in plain maps, and a rescan of the
//! bitmap for everything that can be found there. Slow, and meant to be read next to the text.
//!
//! Section numbers refer to `docs/spec/ffs.md`.

#![allow(clippy::too_many_lines)]

pub mod geometry;
pub mod runner;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fsage_core::{DirId, FileId, Op, Outcome, StateError};

pub use geometry::{Geometry, Optim, Params, Policy};
use geometry::{ceil, roundup};

/// Direct pointers of an inode.
const NDADDR: u64 = 12;
/// Inode of the root directory.
const ROOT_INO: u64 = 2;
/// Bytes of a directory chunk, and of those used in a new directory (section 15).
const CHUNK: u64 = 512;
const FIRST_ENTRIES: u64 = 24;

/// ENOSPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoSpace;

/// Section 13.1.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    clen: u64,
    cstart: u64,
    lastw: u64,
    lasta: u64,
}

/// Everything that belongs to an inode.
#[derive(Clone, Debug, Default)]
struct Inode {
    is_dir: bool,
    size: u64,
    /// Address by lbn; what is not in it is a hole.
    blocks: BTreeMap<u64, u64>,
    /// Single indirect block, 0 = none.
    single: u64,
    /// Double indirect block, 0 = none.
    double: u64,
    /// Level-1 blocks under the double indirect block, by their index.
    level1: BTreeMap<u64, u64>,
    window: Window,
}

/// Where the directory entry of a file or directory is: the directory's serial number, and its chunk.
#[derive(Clone, Copy, Debug)]
struct Entry {
    dir: u64,
    chunk: usize,
}

#[derive(Clone, Debug)]
struct Directory {
    ino: u64,
    /// Entry in the parent; the root has none.
    entry: Option<Entry>,
    /// Bytes used in each chunk (only kept with `dirent_bytes` > 0).
    chunks: Vec<u64>,
}

#[derive(Clone, Debug)]
struct File {
    ino: u64,
    entry: Entry,
}

/// Section 5. Free clusters, runs of fragments, cylinder counts: recomputed from the bitmap when needed.
#[derive(Clone, Debug)]
struct Group {
    inode_used: Vec<bool>,
    nbfree: u64,
    nffree: u64,
    nifree: u64,
    ndir: u64,
    rotor: u64,
    frotor: u64,
    irotor: u64,
}

/// A file system.
#[derive(Clone, Debug)]
pub struct Reference {
    params: Params,
    policy: Policy,
    geo: Geometry,
    dsize: u64,
    optim: Optim,
    optchg: u64,
    enospc: u64,
    /// One per fragment of all groups; those at and beyond `size` are never free.
    free: Vec<bool>,
    groups: Vec<Group>,
    /// By inode number.
    inodes: BTreeMap<u64, Inode>,
    files: BTreeMap<u64, File>,
    /// Serial number of the living directory of that id. An id may be used again; a serial number never is.
    dir_ids: BTreeMap<u64, u64>,
    /// By serial number; 0 is the root.
    dirs: BTreeMap<u64, Directory>,
    next_serial: u64,
    /// Ids that lack of space kept from being made.
    absent_files: BTreeSet<u64>,
    absent_dirs: BTreeSet<u64>,
    /// Directory 0 was named as the root.
    root_named: bool,
}

impl Reference {
    /// Section 4.
    pub fn new(params: Params, policy: Policy) -> Reference {
        let geo = Geometry::newfs(&params);
        let mut fs = Reference {
            dsize: 0,
            optim: params.optim,
            optchg: 0,
            enospc: 0,
            free: vec![false; (geo.ncg * geo.fpg) as usize],
            groups: vec![
                Group {
                    inode_used: vec![false; geo.ipg as usize],
                    nbfree: 0,
                    nffree: 0,
                    nifree: geo.ipg,
                    ndir: 0,
                    rotor: 0,
                    frotor: 0,
                    irotor: 0,
                };
                geo.ncg as usize
            ],
            inodes: BTreeMap::new(),
            files: BTreeMap::new(),
            dir_ids: BTreeMap::new(),
            dirs: BTreeMap::new(),
            next_serial: 1,
            absent_files: BTreeSet::new(),
            absent_dirs: BTreeSet::new(),
            root_named: false,
            params,
            policy,
            geo,
        };
        // Free space.
        for c in 0..fs.geo.ncg {
            let (first, end) = fs.geo.metadata(c, fs.params.fsize);
            for a in fs.geo.base(c)..fs.geo.base(c) + fs.geo.ndblk(c) {
                if a < first || a >= end {
                    fs.set_free(a, 1, true);
                }
            }
        }
        fs.dsize = fs.total_nbfree() * fs.geo.frag + fs.total_nffree();

        // Root directory.
        for used in 0..=ROOT_INO {
            fs.groups[0].inode_used[used as usize] = true;
            fs.groups[0].nifree -= 1;
        }
        fs.groups[0].ndir = 1;
        let first_free = (0..fs.geo.fpg)
            .step_by(fs.geo.frag as usize)
            .find(|&a| fs.block_free(a))
            .expect("a free block for the root directory");
        fs.set_free(first_free, 1, false);
        fs.inodes.insert(
            ROOT_INO,
            Inode {
                is_dir: true,
                size: CHUNK,
                blocks: BTreeMap::from([(0, first_free)]),
                ..Inode::default()
            },
        );
        fs.dir_ids.insert(0, 0);
        fs.dirs.insert(
            0,
            Directory {
                ino: ROOT_INO,
                entry: None,
                chunks: vec![FIRST_ENTRIES],
            },
        );
        fs
    }

    /// What newfs made of the parameters.
    pub fn geometry(&self) -> &Geometry {
        &self.geo
    }

    // ---- 5. State ----

    fn total_nbfree(&self) -> u64 {
        self.groups.iter().map(|g| g.nbfree).sum()
    }

    fn total_nffree(&self) -> u64 {
        self.groups.iter().map(|g| g.nffree).sum()
    }

    fn total_nifree(&self) -> u64 {
        self.groups.iter().map(|g| g.nifree).sum()
    }

    fn total_ndir(&self) -> u64 {
        self.groups.iter().map(|g| g.ndir).sum()
    }

    fn cg_of(&self, a: u64) -> u64 {
        a / self.geo.fpg
    }

    fn rel(&self, a: u64) -> u64 {
        a % self.geo.fpg
    }

    fn cg_of_inode(&self, ino: u64) -> u64 {
        ino / self.geo.ipg
    }

    fn rounddown_block(&self, a: u64) -> u64 {
        a - a % self.geo.frag
    }

    fn is_free(&self, a: u64) -> bool {
        self.free[a as usize]
    }

    /// Whether the block that starts at `a` is free.
    fn block_free(&self, a: u64) -> bool {
        (a..a + self.geo.frag).all(|f| self.is_free(f))
    }

    /// Takes or frees fragments of one block, and counts that block anew.
    fn set_free(&mut self, a: u64, n: u64, free: bool) {
        let frag = self.geo.frag;
        let block = self.rounddown_block(a);
        assert!(n >= 1 && a + n <= block + frag, "a piece inside one block");
        let c = self.cg_of(a) as usize;
        let count =
            |fs: &Reference| (block..block + frag).filter(|&f| fs.is_free(f)).count() as u64;

        let before = count(self);
        for f in a..a + n {
            assert_ne!(
                self.free[f as usize], free,
                "fragment {f} freed or taken twice"
            );
            self.free[f as usize] = free;
        }
        let after = count(self);

        let group = &mut self.groups[c];
        if before == frag {
            group.nbfree -= 1;
        } else {
            group.nffree -= before;
        }
        if after == frag {
            group.nbfree += 1;
        } else {
            group.nffree += after;
        }
    }

    /// Maximal free runs inside the block that starts at `block`: (first fragment, length).
    fn runs_in_block(&self, block: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let mut a = block;
        let end = block + self.geo.frag;
        while a < end {
            let mut n = 0;
            while a + n < end && self.is_free(a + n) {
                n += 1;
            }
            if n > 0 {
                runs.push((a, n));
            }
            a += n.max(1);
        }
        runs
    }

    /// frsum of group c; index = length of the run, index 0 is not used.
    fn frsum(&self, c: u64) -> Vec<u64> {
        let frag = self.geo.frag;
        let mut frsum = vec![0; frag as usize];
        for block in self.blocks_of_group(c) {
            for (_, n) in self.runs_in_block(block) {
                if n < frag {
                    frsum[n as usize] += 1;
                }
            }
        }
        frsum
    }

    /// Addresses of all block positions of group c.
    fn blocks_of_group(&self, c: u64) -> impl Iterator<Item = u64> + use<> {
        let base = self.geo.base(c);
        (base..base + self.geo.fpg).step_by(self.geo.frag as usize)
    }

    /// Lengths of the maximal runs of consecutive free blocks of group c.
    fn clusters(&self, c: u64) -> Vec<u64> {
        let blocks = self.geo.ndblk(c) / self.geo.frag;
        let mut clusters = Vec::new();
        let mut run = 0;
        for b in 0..blocks {
            if self.block_free(self.geo.base(c) + b * self.geo.frag) {
                run += 1;
            } else if run > 0 {
                clusters.push(run);
                run = 0;
            }
        }
        if run > 0 {
            clusters.push(run);
        }
        clusters
    }

    fn inode(&self, ino: u64) -> &Inode {
        &self.inodes[&ino]
    }

    fn inode_mut(&mut self, ino: u64) -> &mut Inode {
        self.inodes.get_mut(&ino).expect("a living inode")
    }

    /// Address of a block, 0 for a hole.
    fn address(&self, ino: u64, lbn: u64) -> u64 {
        self.inode(ino).blocks.get(&lbn).copied().unwrap_or(0)
    }

    /// Position of lbn in its pointer array.
    fn index(&self, lbn: u64) -> u64 {
        if lbn < NDADDR {
            lbn
        } else {
            (lbn - NDADDR) % self.geo.nindir // the single indirect block holds nindir of them, too
        }
    }

    /// Number of fragments of block lbn of a file of that size.
    fn fragments(&self, size: u64, lbn: u64) -> u64 {
        if lbn >= NDADDR || size >= (lbn + 1) * self.params.bsize {
            self.geo.frag
        } else {
            ceil(size % self.params.bsize, self.params.fsize)
        }
    }

    // ---- 6. Inodes ----

    /// Preferred inode of a new directory.
    fn dirpref(&self) -> u64 {
        let avg = self.total_nifree() / self.geo.ncg;
        let mut best = 0;
        let mut fewest = self.geo.ipg;
        for (c, group) in self.groups.iter().enumerate() {
            if group.nifree >= avg && group.ndir < fewest {
                best = c as u64;
                fewest = group.ndir;
            }
        }
        self.geo.ipg * best
    }

    fn alloc_inode(&mut self, preferred: u64, is_dir: bool) -> Result<u64, NoSpace> {
        if self.total_nifree() == 0 {
            return Err(NoSpace);
        }
        let preferred = if preferred >= self.geo.ncg * self.geo.ipg {
            0
        } else {
            preferred
        };
        let first = preferred / self.geo.ipg;
        let ino = self
            .hashalloc(first, preferred, &mut |fs, c, p| fs.inode_trial(c, p))
            .ok_or(NoSpace)?;
        let group = &mut self.groups[(ino / self.geo.ipg) as usize];
        assert!(!group.inode_used[(ino % self.geo.ipg) as usize]);
        group.inode_used[(ino % self.geo.ipg) as usize] = true;
        group.nifree -= 1;
        if is_dir {
            group.ndir += 1;
        }
        let inode = Inode {
            is_dir,
            ..Inode::default()
        };
        assert!(self.inodes.insert(ino, inode).is_none());
        Ok(ino)
    }

    fn inode_trial(&mut self, c: u64, p: u64) -> Option<u64> {
        let ipg = self.geo.ipg;
        let group = &mut self.groups[c as usize];
        if group.nifree == 0 {
            return None;
        }
        if p != 0 && !group.inode_used[(p % ipg) as usize] {
            return Some(c * ipg + p % ipg);
        }
        let bytes = ceil(ipg, 8);
        let start = group.irotor / 8;
        for byte in (start..bytes).chain(0..=start) {
            for index in byte * 8..((byte + 1) * 8).min(ipg) {
                if !group.inode_used[index as usize] {
                    group.irotor = index;
                    return Some(c * ipg + index);
                }
            }
        }
        unreachable!("nifree of group {c} is wrong")
    }

    fn free_inode(&mut self, ino: u64) {
        let inode = self.inodes.remove(&ino).expect("a living inode");
        assert!(inode.blocks.is_empty() && inode.single == 0 && inode.double == 0);
        let index = ino % self.geo.ipg;
        let group = &mut self.groups[(ino / self.geo.ipg) as usize];
        assert!(group.inode_used[index as usize]);
        group.inode_used[index as usize] = false;
        if index < group.irotor {
            group.irotor = index;
        }
        group.nifree += 1;
        if inode.is_dir {
            group.ndir -= 1;
        }
    }

    // ---- 7. Block preference ----

    /// The array is the one that holds lbn. `idx` is given because an indirect block asks with idx 0 and no
    /// array.
    fn blkpref(&self, ino: u64, lbn: u64, idx: u64) -> u64 {
        let frag = self.geo.frag;
        let fpg = self.geo.fpg;
        let own = self.cg_of_inode(ino);
        // arr[idx - back]; arrays hold consecutive blocks.
        let arr = |back: u64| {
            assert!(back <= idx);
            self.address(ino, lbn - back)
        };

        // 7.1
        if idx.is_multiple_of(self.params.maxbpg) || arr(1) == 0 {
            if lbn < NDADDR {
                return fpg * own + frag;
            }
            if lbn < NDADDR + self.geo.nindir {
                let single = self.inode(ino).single;
                let eleventh = self.address(ino, 11);
                match self.policy {
                    // 17.2
                    Policy::NoSwitchSeq if single != 0 => return single + frag,
                    Policy::NoSwitchSeq if eleventh != 0 => return eleventh + frag,
                    // 17.1
                    Policy::NoSwitchSeq | Policy::NoSwitch => return fpg * own + frag,
                    Policy::Orig | Policy::Realloc | Policy::SmartFrag => {}
                }
            }
            let startcg = if idx == 0 || arr(1) == 0 {
                // 17.4
                let one = u64::from(self.params.strict_switch);
                own + one + lbn / self.params.maxbpg
            } else {
                self.cg_of(arr(1)) + 1
            };
            let startcg = startcg % self.geo.ncg;
            let avg = self.total_nbfree() / self.geo.ncg;
            return (startcg..self.geo.ncg)
                .chain(0..=startcg)
                .find(|&c| self.groups[c as usize].nbfree >= avg)
                .map_or(0, |c| fpg * c + frag);
        }

        // 7.2
        let next = arr(1) + frag;
        let maxcontig = self.params.maxcontig;
        if idx < maxcontig || arr(maxcontig) + maxcontig * frag != next {
            return next;
        }
        let rps = self.params.rpm / 60;
        let gap = roundup(
            self.params.rotdelay * rps * self.params.sectors_per_track / (self.geo.nspf * 1000),
            frag,
        );
        next + gap
    }

    // ---- 8. Cylinder group search ----

    fn hashalloc(
        &mut self,
        first: u64,
        pref: u64,
        trial: &mut dyn FnMut(&mut Reference, u64, u64) -> Option<u64>,
    ) -> Option<u64> {
        let ncg = self.geo.ncg;
        if let Some(found) = trial(self, first, pref) {
            return Some(found);
        }
        let mut cg = first;
        let mut k = 1;
        while k < ncg {
            cg += k;
            if cg >= ncg {
                cg -= ncg;
            }
            if let Some(found) = trial(self, cg, 0) {
                return Some(found);
            }
            k *= 2;
        }
        cg = (first + 2) % ncg;
        for _ in 2..ncg {
            if let Some(found) = trial(self, cg, 0) {
                return Some(found);
            }
            cg = (cg + 1) % ncg;
        }
        None
    }

    // ---- 9. Allocating one piece ----

    fn reserve_test(&self) -> Result<(), NoSpace> {
        let free = (self.total_nbfree() * self.geo.frag + self.total_nffree()) as i64;
        let reserve = (self.dsize * self.params.minfree / 100) as i64;
        if !self.params.superuser && free - reserve <= 0 {
            return Err(NoSpace);
        }
        Ok(())
    }

    fn alloc(&mut self, ino: u64, lbn: u64, pref: u64, n: u64) -> Result<u64, NoSpace> {
        if n == self.geo.frag && self.total_nbfree() == 0 {
            return Err(NoSpace);
        }
        self.reserve_test()?;
        let pref = if pref >= self.geo.size { 0 } else { pref };
        let first = if pref == 0 {
            self.cg_of_inode(ino)
        } else {
            self.cg_of(pref)
        };
        self.hashalloc(first, pref, &mut |fs, c, p| fs.alloccg(ino, lbn, c, p, n))
            .ok_or(NoSpace)
    }

    fn alloccg(&mut self, ino: u64, lbn: u64, c: u64, pref: u64, n: u64) -> Option<u64> {
        let frag = self.geo.frag;
        assert!(1 <= n && n <= frag);
        if n == frag {
            return self.alloccgblk(c, pref);
        }

        // 17.3
        if self.policy == Policy::SmartFrag
            && (1..NDADDR).contains(&lbn)
            && pref != 0
            && self.cg_of(pref) == c
        {
            let before = self.address(ino, lbn - 1);
            if before != 0 && before + frag == pref && self.block_free(pref) {
                self.set_free(pref, n, false);
                return Some(pref);
            }
        }

        let frsum = self.frsum(c);
        let Some(s) = (n..frag).find(|&s| frsum[s as usize] > 0) else {
            let b = self.alloccgblk(c, pref)?;
            self.set_free(b + n, frag - n, true);
            return Some(b);
        };
        // TRAP: pref may lie in another group; an absolute 0 is "none", a relative 0 is byte 0.
        let start = if pref != 0 {
            self.rel(pref) / 8
        } else {
            self.groups[c as usize].frotor / 8
        };
        let r = self.mapsearch(c, start, s);
        self.set_free(r, n, false);
        Some(r)
    }

    fn alloccgblk(&mut self, c: u64, pref: u64) -> Option<u64> {
        let frag = self.geo.frag;
        if self.groups[c as usize].nbfree == 0 {
            return None;
        }
        let start;
        if pref == 0 || self.cg_of(pref) != c {
            start = self.groups[c as usize].rotor;
        } else {
            let wanted = self.rounddown_block(pref);
            start = self.rel(wanted);
            if self.block_free(wanted) {
                self.set_free(wanted, frag, false);
                return Some(wanted);
            }
            let nrpos = self.params.nrpos;
            if nrpos > 1 && self.geo.cpc > 0 {
                let cylinder = self.geo.cylinder(start);
                let candidates: Vec<u64> = self
                    .blocks_of_group(c)
                    .filter(|&b| self.geo.cylinder(self.rel(b)) == cylinder && self.block_free(b))
                    .collect();
                let angle = self.geo.rpos(&self.params, start);
                for p in (angle..nrpos).chain(0..angle) {
                    let lowest = candidates
                        .iter()
                        .copied()
                        .find(|&b| self.geo.rpos(&self.params, self.rel(b)) == p);
                    if let Some(b) = lowest {
                        self.set_free(b, frag, false);
                        return Some(b);
                    }
                }
            }
        }
        // TRAP: `start` is relative, so 0 means frotor wherever it comes from.
        let byte = if start != 0 {
            start / 8
        } else {
            self.groups[c as usize].frotor / 8
        };
        let b = self.mapsearch(c, byte, frag);
        self.groups[c as usize].rotor = self.rel(b);
        self.set_free(b, frag, false);
        Some(b)
    }

    /// Absolute address of a maximal free run of exactly s fragments, which exists.
    fn mapsearch(&mut self, c: u64, start_byte: u64, s: u64) -> u64 {
        let bytes = ceil(self.geo.fpg, 8);
        for byte in (start_byte..bytes).chain(0..=start_byte) {
            let end = (byte * 8 + 8).min(self.geo.fpg);
            let mut block = byte * 8;
            while block < end {
                for (a, n) in self.runs_in_block(self.geo.base(c) + block) {
                    if n == s {
                        self.groups[c as usize].frotor = byte * 8;
                        return a;
                    }
                }
                block += self.geo.frag;
            }
        }
        unreachable!("the summary of group {c} promised a run of {s}")
    }

    // ---- 10. Growing a fragment ----

    fn realloccg(
        &mut self,
        ino: u64,
        lbn: u64,
        pref: u64,
        old: u64,
        new: u64,
    ) -> Result<(), NoSpace> {
        let frag = self.geo.frag;
        assert!(old < new && new <= frag);
        // 10.1
        self.reserve_test()?;
        // 10.2
        let a = self.address(ino, lbn);
        let c = self.cg_of(a);
        if self.groups[c as usize].nffree >= new - old
            && a % frag + new <= frag
            && (a + old..a + new).all(|f| self.is_free(f))
        {
            self.set_free(a + old, new - old, false);
            return Ok(());
        }
        // 10.3
        let pref = if pref >= self.geo.size { 0 } else { pref };
        let nffree = self.total_nffree() as i64;
        let dsize = self.dsize as i64;
        let minfree = self.params.minfree as i64;
        let request = match self.optim {
            Optim::Space => {
                if minfree >= 5 && nffree <= dsize * minfree / 200 {
                    self.optim = Optim::Time;
                    self.optchg += 1;
                }
                new
            }
            Optim::Time => {
                if nffree >= dsize * (minfree - 2) / 100 {
                    self.optim = Optim::Space;
                    self.optchg += 1;
                }
                frag
            }
        };
        // 10.4
        let moved = self
            .hashalloc(c, pref, &mut |fs, c, p| fs.alloccg(ino, lbn, c, p, request))
            .ok_or(NoSpace)?;
        self.blkfree(a, old);
        if request > new {
            self.blkfree(moved + new, request - new);
        }
        self.inode_mut(ino).blocks.insert(lbn, moved);
        Ok(())
    }

    // ---- 11. Block mapping ----

    fn balloc(&mut self, ino: u64, lbn: u64, nbytes: u64) -> Result<(), NoSpace> {
        let frag = self.geo.frag;
        let bsize = self.params.bsize;
        let fsize = self.params.fsize;

        // 11.1
        let size = self.inode(ino).size;
        let nb = size / bsize;
        if nb < NDADDR && nb < lbn {
            let old = ceil(size % bsize, fsize);
            if 0 < old && old < frag {
                let pref = self.blkpref(ino, nb, nb);
                self.realloccg(ino, nb, pref, old, frag)?;
                self.inode_mut(ino).size = (nb + 1) * bsize;
            }
        }

        // 11.2
        if lbn < NDADDR {
            let size = self.inode(ino).size;
            let covered = size >= (lbn + 1) * bsize;
            if self.address(ino, lbn) != 0 {
                if covered {
                    return Ok(());
                }
                let old = ceil(size % bsize, fsize);
                let new = ceil(nbytes, fsize);
                if new > old {
                    let pref = self.blkpref(ino, lbn, lbn);
                    self.realloccg(ino, lbn, pref, old, new)?;
                }
            } else {
                let n = if covered { frag } else { ceil(nbytes, fsize) };
                let pref = self.blkpref(ino, lbn, lbn);
                let a = self.alloc(ino, lbn, pref, n)?;
                self.inode_mut(ino).blocks.insert(lbn, a);
            }
            return Ok(());
        }

        // 11.3. Undone completely if a step fails.
        if lbn < NDADDR + self.geo.nindir {
            let mut made = 0;
            if self.inode(ino).single == 0 {
                let pref = self.blkpref(ino, lbn, 0);
                made = self.alloc(ino, lbn, pref, frag)?;
                self.inode_mut(ino).single = made;
            }
            if self.alloc_data(ino, lbn).is_err() {
                if made != 0 {
                    self.inode_mut(ino).single = 0;
                    self.blkfree(made, frag);
                }
                return Err(NoSpace);
            }
            return Ok(());
        }

        let k = (lbn - NDADDR - self.geo.nindir) / self.geo.nindir;
        let mut pref = 0;
        let mut made_top = 0;
        let mut made_level1 = 0;
        if self.inode(ino).double == 0 {
            pref = self.blkpref(ino, lbn, 0);
            made_top = self.alloc(ino, lbn, pref, frag)?;
            self.inode_mut(ino).double = made_top;
        }
        let mut result = Ok(());
        if !self.inode(ino).level1.contains_key(&k) {
            if pref == 0 {
                pref = self.blkpref(ino, lbn, 0);
            }
            match self.alloc(ino, lbn, pref, frag) {
                Ok(a) => {
                    made_level1 = a;
                    self.inode_mut(ino).level1.insert(k, a);
                }
                Err(NoSpace) => result = Err(NoSpace),
            }
        }
        if result.is_ok() {
            result = self.alloc_data(ino, lbn);
        }
        if result.is_err() {
            if made_level1 != 0 {
                self.inode_mut(ino).level1.remove(&k);
                self.blkfree(made_level1, frag);
            }
            if made_top != 0 {
                self.inode_mut(ino).double = 0;
                self.blkfree(made_top, frag);
            }
        }
        result
    }

    /// Data block under an indirect block.
    fn alloc_data(&mut self, ino: u64, lbn: u64) -> Result<(), NoSpace> {
        if self.address(ino, lbn) == 0 {
            let pref = self.blkpref(ino, lbn, self.index(lbn));
            let a = self.alloc(ino, lbn, pref, self.geo.frag)?;
            self.inode_mut(ino).blocks.insert(lbn, a);
        }
        Ok(())
    }

    // ---- 12. Write ----

    /// One write call.
    fn write_call(&mut self, ino: u64, offset: u64, n: u64) -> Result<(), NoSpace> {
        let bsize = self.params.bsize;
        let size_before = self.inode(ino).size;
        let mut at = offset;
        while at < offset + n {
            let lbn = at / bsize;
            let o = at % bsize;
            let x = (bsize - o).min(offset + n - at);
            if self.balloc(ino, lbn, o + x).is_err() {
                self.truncate(ino, size_before)
                    .expect("cutting back allocates nothing");
                return Err(NoSpace);
            }
            let inode = self.inode_mut(ino);
            inode.size = inode.size.max(at + x);
            if o + x == bsize && !inode.is_dir {
                self.cluster_write(ino, lbn);
            }
            at += x;
        }
        Ok(())
    }

    /// The data of one operation, in write calls.
    fn write(&mut self, ino: u64, offset: u64, n: u64) -> Result<(), NoSpace> {
        let mut done = 0;
        while done < n {
            let x = self.params.write_chunk.min(n - done);
            self.write_call(ino, offset + done, x)?;
            done += x;
        }
        Ok(())
    }

    // ---- 13.1 The window ----

    fn cluster_write(&mut self, ino: u64, lbn: u64) {
        let bsize = self.params.bsize;
        let frag = self.geo.frag;
        let maxc = (65536 / bsize).saturating_sub(1);
        let at_eof = (lbn + 1) * bsize == self.inode(ino).size;
        let a = self.address(ino, lbn);
        let mut w = self.inode(ino).window;

        if lbn == 0 {
            w = Window::default();
        }
        let ends = self.params.direct_clusters && lbn == NDADDR;
        if w.clen == 0 || ends || lbn != w.lastw + 1 || a != w.lasta + frag {
            if w.clen != 0 && !ends {
                // May be below 0 for a window that starts at the block after the last one written.
                let cur = w.lastw as i64 - w.cstart as i64 + 1;
                if at_eof
                    && lbn == w.lastw + 1
                    && w.clen as i64 > cur
                    && self.reallocblks(ino, w.cstart, lbn)
                {
                    w.lastw = lbn;
                    w.lasta = self.address(ino, lbn);
                    self.inode_mut(ino).window = w;
                    return;
                }
            }
            w.clen = if at_eof {
                maxc
            } else {
                self.contiguous_after(ino, lbn).min(maxc)
            };
            w.cstart = if w.clen == 0 { lbn + 1 } else { lbn };
        } else if lbn == w.cstart + w.clen {
            w.clen = 0;
            w.cstart = lbn + 1;
        }
        w.lastw = lbn;
        w.lasta = a;
        self.inode_mut(ino).window = w;
    }

    /// Number of blocks directly after lbn in the same pointer array that continue it on the disk.
    fn contiguous_after(&self, ino: u64, lbn: u64) -> u64 {
        let entries = if lbn < NDADDR {
            NDADDR
        } else {
            self.geo.nindir
        };
        let room = entries - 1 - self.index(lbn);
        let mut n = 0;
        while n < room
            && self.address(ino, lbn + n + 1) == self.address(ino, lbn) + (n + 1) * self.geo.frag
        {
            n += 1;
        }
        n
    }

    // ---- 13.2 reallocblks ----

    fn reallocblks(&mut self, ino: u64, first: u64, last: u64) -> bool {
        let frag = self.geo.frag;
        let n = last - first + 1;
        if self.policy == Policy::Orig || self.geo.sumsize == 0 {
            return false;
        }
        let old: Vec<u64> = (first..=last).map(|lbn| self.address(ino, lbn)).collect();
        if old.contains(&0) {
            return false; // only possible with a window kept over a truncation
        }
        if self.cg_of(old[0]) != self.cg_of(old[old.len() - 1]) {
            return false;
        }
        let pref = self.blkpref(ino, first, self.index(first));
        let found = self.hashalloc(self.cg_of(pref), pref, &mut |fs, c, p| {
            fs.clusteralloc(c, p, n)
        });
        let Some(run) = found else {
            return false;
        };
        for (i, lbn) in (first..=last).enumerate() {
            self.inode_mut(ino)
                .blocks
                .insert(lbn, run + i as u64 * frag);
        }
        for a in old {
            self.blkfree(a, frag);
        }
        true
    }

    fn clusteralloc(&mut self, c: u64, pref: u64, n: u64) -> Option<u64> {
        let frag = self.geo.frag;
        // TRAP: a preference just beyond the last group names a group that does not exist.
        if c >= self.geo.ncg || n > self.geo.sumsize {
            return None;
        }
        let blocks = self.geo.ndblk(c) / frag;
        let start = if self.cg_of(pref) == c {
            self.rel(self.rounddown_block(pref)) / frag
        } else {
            0
        };
        let base = self.geo.base(c);
        let mut first = start;
        while first + n <= blocks {
            if (first..first + n).all(|b| self.block_free(base + b * frag)) {
                for b in first..first + n {
                    self.set_free(base + b * frag, frag, false);
                }
                return Some(base + first * frag);
            }
            first += 1;
        }
        None
    }

    // ---- 14. Freeing and truncation ----

    fn blkfree(&mut self, a: u64, n: u64) {
        self.set_free(a, n, true);
    }

    fn truncate(&mut self, ino: u64, len: u64) -> Result<(), NoSpace> {
        let bsize = self.params.bsize;
        let frag = self.geo.frag;
        let size = self.inode(ino).size;
        if len == size {
            return Ok(());
        }
        if len > size {
            self.balloc(ino, (len - 1) / bsize, (len - 1) % bsize + 1)?;
            self.inode_mut(ino).size = len;
            return Ok(());
        }

        if !len.is_multiple_of(bsize) {
            self.balloc(ino, len / bsize, len % bsize)?;
        }
        // Blocks that stay: 0..kept, so that keep = kept - 1.
        let kept = ceil(len, bsize);
        let gone: Vec<(u64, u64)> = self
            .inode(ino)
            .blocks
            .range(kept..)
            .map(|(&lbn, &a)| (lbn, a))
            .collect();
        for (lbn, a) in gone {
            self.blkfree(a, self.fragments(size, lbn));
            self.inode_mut(ino).blocks.remove(&lbn);
        }
        let nindir = self.geo.nindir;
        let level1: Vec<(u64, u64)> = self
            .inode(ino)
            .level1
            .iter()
            .map(|(&k, &a)| (k, a))
            .collect();
        for (k, a) in level1 {
            if kept <= NDADDR + nindir + k * nindir {
                self.inode_mut(ino).level1.remove(&k);
                self.blkfree(a, frag);
            }
        }
        let double = self.inode(ino).double;
        if double != 0 && kept <= NDADDR + nindir {
            self.inode_mut(ino).double = 0;
            self.blkfree(double, frag);
        }
        let single = self.inode(ino).single;
        if single != 0 && kept <= NDADDR {
            self.inode_mut(ino).single = 0;
            self.blkfree(single, frag);
        }
        if kept > 0 && kept - 1 < NDADDR {
            let a = self.address(ino, kept - 1);
            let old = self.fragments(size, kept - 1);
            // With len = kept * bsize the block stays whole.
            let new = self.fragments(len, kept - 1);
            if a != 0 && new < old {
                self.blkfree(a + new, old - new);
            }
        }
        self.inode_mut(ino).size = len;
        Ok(())
    }

    // ---- 15. Directories ----

    fn enter(&mut self, dir: u64) -> Result<Entry, NoSpace> {
        let e = self.params.dirent_bytes;
        if e == 0 {
            return Ok(Entry { dir, chunk: 0 });
        }
        let ino = self.dirs[&dir].ino;
        let fit = self.dirs[&dir]
            .chunks
            .iter()
            .position(|&used| used + e <= CHUNK);
        if let Some(chunk) = fit {
            let chunks = &mut self.dirs.get_mut(&dir).expect("a living directory").chunks;
            chunks[chunk] += e;
            while chunks.len() > chunk + 1 && chunks[chunks.len() - 1] == 0 {
                chunks.pop();
            }
            let len = chunks.len() as u64 * CHUNK;
            self.truncate(ino, len)
                .expect("cutting a directory allocates nothing");
            return Ok(Entry { dir, chunk });
        }
        let size = self.inode(ino).size;
        self.write_call(ino, size, CHUNK)?;
        let chunks = &mut self.dirs.get_mut(&dir).expect("a living directory").chunks;
        chunks.push(e);
        Ok(Entry {
            dir,
            chunk: chunks.len() - 1,
        })
    }

    fn remove_entry(&mut self, entry: Entry) {
        // The directory may have been removed under its files.
        if let Some(dir) = self.dirs.get_mut(&entry.dir)
            && self.params.dirent_bytes > 0
        {
            dir.chunks[entry.chunk] -= self.params.dirent_bytes;
        }
    }

    fn mkdir(&mut self, id: u64, parent: u64) -> Outcome {
        let Ok(ino) = self.alloc_inode(self.dirpref(), true) else {
            return Outcome::NoInode;
        };
        if self.write_call(ino, 0, FIRST_ENTRIES).is_err() {
            self.free_inode(ino);
            return Outcome::NoSpace;
        }
        self.inode_mut(ino).size = CHUNK;
        let Ok(entry) = self.enter(parent) else {
            self.truncate(ino, 0).expect("emptying allocates nothing");
            self.free_inode(ino);
            return Outcome::NoSpace;
        };
        let serial = self.next_serial;
        self.next_serial += 1;
        self.dir_ids.insert(id, serial);
        self.dirs.insert(
            serial,
            Directory {
                ino,
                entry: Some(entry),
                chunks: vec![FIRST_ENTRIES],
            },
        );
        Outcome::Done
    }

    fn rmdir(&mut self, id: u64) {
        let serial = self.dir_ids.remove(&id).expect("a living directory");
        let dir = self.dirs.remove(&serial).expect("a living directory");
        self.remove_entry(dir.entry.expect("the root is never removed"));
        self.truncate(dir.ino, 0)
            .expect("emptying allocates nothing");
        self.free_inode(dir.ino);
    }

    // ---- 16. Operations and failures ----

    /// Largest file that the double indirect block can map.
    fn max_size(&self) -> u64 {
        let n = self.geo.nindir;
        (NDADDR + n + n * n) * self.params.bsize
    }

    /// Makes the file and its entry, without data.
    fn create(&mut self, id: u64, dir: u64) -> Outcome {
        let Ok(ino) = self.alloc_inode(self.dirs[&dir].ino, false) else {
            return Outcome::NoInode;
        };
        let Ok(entry) = self.enter(dir) else {
            self.free_inode(ino);
            return Outcome::NoSpace;
        };
        self.files.insert(id, File { ino, entry });
        Outcome::Done
    }

    fn delete(&mut self, id: u64) {
        let file = self.files.remove(&id).expect("a living file");
        self.remove_entry(file.entry);
        self.truncate(file.ino, 0)
            .expect("emptying allocates nothing");
        self.free_inode(file.ino);
    }

    /// Inode of a file; `Ok(None)` if it is absent.
    fn find_file(&self, file: FileId) -> Result<Option<u64>, StateError> {
        match self.files.get(&file.0) {
            Some(f) => Ok(Some(f.ino)),
            None if self.absent_files.contains(&file.0) => Ok(None),
            None => Err(StateError::NoFile(file)),
        }
    }

    /// Serial number of a directory; `Ok(None)` if it is absent.
    fn find_dir(&self, dir: DirId) -> Result<Option<u64>, StateError> {
        match self.dir_ids.get(&dir.0) {
            Some(&serial) => Ok(Some(serial)),
            None if self.absent_dirs.contains(&dir.0) => Ok(None),
            None => Err(StateError::NoDirectory(dir)),
        }
    }

    /// An operation that names an existing directory 0 fixes it as the root, if it is.
    fn note_root(&mut self, dir: DirId) {
        if dir.0 == 0 && self.dir_ids.get(&0) == Some(&0) {
            self.root_named = true;
        }
    }

    fn outcome(result: Result<(), NoSpace>) -> Outcome {
        match result {
            Ok(()) => Outcome::Done,
            Err(NoSpace) => Outcome::NoSpace,
        }
    }

    /// Applies one operation.
    ///
    /// # Errors
    /// The operation does not fit the state; nothing was changed.
    pub fn apply(&mut self, op: &Op) -> Result<Outcome, StateError> {
        // 13.1: the window is 0 at the start of each operation.
        if !self.params.keep_cluster_state
            && let Some(ino) = self.named_inode(op)
        {
            self.inode_mut(ino).window = Window::default();
        }
        let outcome = self.apply_op(op)?;
        if matches!(outcome, Outcome::NoSpace | Outcome::NoInode) {
            self.enospc += 1;
        }
        Ok(outcome)
    }

    /// The file that an operation writes, if it lives.
    fn named_inode(&self, op: &Op) -> Option<u64> {
        match op {
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. } => self.files.get(&file.0).map(|f| f.ino),
            _ => None,
        }
    }

    fn apply_op(&mut self, op: &Op) -> Result<Outcome, StateError> {
        match *op {
            Op::Mkdir { dir, parent } => {
                // An explicit `mkdir 0` before 0 was named takes the id from the root.
                if self.dir_ids.get(&dir.0) == Some(&0) {
                    if self.root_named || parent == Some(DirId(0)) {
                        return Err(StateError::RootInUse);
                    }
                } else if self.dir_ids.contains_key(&dir.0) {
                    return Err(StateError::DirectoryExists(dir));
                }
                let parent_serial = match parent {
                    None => Some(0),
                    Some(parent) => self.find_dir(parent)?,
                };
                let outcome = match parent_serial {
                    None => Outcome::Absent,
                    Some(serial) => {
                        if let Some(parent) = parent {
                            self.note_root(parent);
                        }
                        self.mkdir(dir.0, serial)
                    }
                };
                if outcome == Outcome::Done {
                    self.absent_dirs.remove(&dir.0);
                } else {
                    self.dir_ids.remove(&dir.0);
                    self.absent_dirs.insert(dir.0);
                }
                Ok(outcome)
            }
            Op::Rmdir { dir } => match self.find_dir(dir)? {
                None => {
                    self.absent_dirs.remove(&dir.0);
                    Ok(Outcome::Absent)
                }
                Some(0) => Err(StateError::Root(dir)),
                Some(_) => {
                    self.rmdir(dir.0);
                    Ok(Outcome::Done)
                }
            },
            Op::Create { file, dir, bytes } => {
                if self.files.contains_key(&file.0) {
                    return Err(StateError::FileExists(file));
                }
                let made = match self.find_dir(dir)? {
                    None => Outcome::Absent,
                    Some(serial) => {
                        self.note_root(dir);
                        self.create(file.0, serial)
                    }
                };
                if made != Outcome::Done {
                    self.absent_files.insert(file.0);
                    return Ok(made);
                }
                self.absent_files.remove(&file.0);
                let ino = self.files[&file.0].ino;
                if bytes > self.max_size() {
                    return Ok(Outcome::TooLarge);
                }
                Ok(Reference::outcome(self.write(ino, 0, bytes)))
            }
            Op::Append { file, bytes } => {
                let Some(ino) = self.find_file(file)? else {
                    return Ok(Outcome::Absent);
                };
                let size = self.inode(ino).size;
                if size
                    .checked_add(bytes)
                    .is_none_or(|end| end > self.max_size())
                {
                    return Ok(Outcome::TooLarge);
                }
                Ok(Reference::outcome(self.write(ino, size, bytes)))
            }
            Op::Write {
                file,
                offset,
                bytes,
            } => {
                let Some(ino) = self.find_file(file)? else {
                    return Ok(Outcome::Absent);
                };
                let end = offset.checked_add(bytes).ok_or(StateError::RangeOverflow)?;
                if bytes > 0 && end > self.max_size() {
                    return Ok(Outcome::TooLarge);
                }
                Ok(Reference::outcome(self.write(ino, offset, bytes)))
            }
            Op::Overwrite { file, range } => {
                let Some(ino) = self.find_file(file)? else {
                    return Ok(Outcome::Absent);
                };
                let size = self.inode(ino).size;
                let (offset, bytes) = range.unwrap_or((0, size));
                let end = offset.checked_add(bytes).ok_or(StateError::RangeOverflow)?;
                if end > size {
                    return Err(StateError::BeyondEnd(size));
                }
                Ok(Reference::outcome(self.write(ino, offset, bytes)))
            }
            Op::Rewrite { file, bytes } => {
                let Some(ino) = self.find_file(file)? else {
                    return Ok(Outcome::Absent);
                };
                self.truncate(ino, 0).expect("emptying allocates nothing");
                if bytes > self.max_size() {
                    return Ok(Outcome::TooLarge);
                }
                Ok(Reference::outcome(self.write(ino, 0, bytes)))
            }
            Op::Truncate { file, bytes } => {
                let Some(ino) = self.find_file(file)? else {
                    return Ok(Outcome::Absent);
                };
                if bytes > self.max_size() {
                    return Ok(Outcome::TooLarge);
                }
                Ok(Reference::outcome(self.truncate(ino, bytes)))
            }
            Op::Delete { file } => {
                if self.find_file(file)?.is_none() {
                    self.absent_files.remove(&file.0);
                    return Ok(Outcome::Absent);
                }
                self.delete(file.0);
                Ok(Outcome::Done)
            }
            Op::Remount => {
                for inode in self.inodes.values_mut() {
                    inode.window = Window::default();
                }
                Ok(Outcome::Done)
            }
            Op::Read { .. }
            | Op::Fsync { .. }
            | Op::Sync
            | Op::Day
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => Ok(Outcome::Done),
            // Not part of this reference.
            Op::RenameDir { .. }
            | Op::Fallocate { .. }
            | Op::Punch { .. }
            | Op::Rename { .. }
            | Op::Link { .. }
            | Op::Symlink { .. } => Ok(Outcome::Ignored),
        }
    }

    // ---- Output lines (docs/spec/ffs-vectors.md, section 4) ----

    fn optim_word(&self) -> &'static str {
        match self.optim {
            Optim::Time => "time",
            Optim::Space => "space",
        }
    }

    /// The `fs` line.
    pub fn geom(&self) -> String {
        let g = &self.geo;
        let p = &self.params;
        format!(
            "fs size {} dsize {} ncg {} fpg {} ipg {} bsize {} fsize {} frag {} ncyl {} cpg {} spc {} \
             cgoffset {} cgmask -{} sblkno {} cblkno {} iblkno {} dblkno {} csaddr {} cssize {} nrpos {} \
             cpc {} maxcontig {} contigsumsize {} maxbpg {} minfree {} nindir {} optim {} nbfree {} \
             nffree {} nifree {} ndir {}\n",
            g.size,
            self.dsize,
            g.ncg,
            g.fpg,
            g.ipg,
            p.bsize,
            p.fsize,
            g.frag,
            g.ncyl,
            g.cpg,
            g.spc,
            g.cgoffset,
            g.mask + 1,
            g.sblkno,
            g.cblkno,
            g.iblkno,
            g.dblkno,
            g.dblkno,
            g.cssize,
            p.nrpos,
            g.cpc,
            p.maxcontig,
            g.sumsize,
            p.maxbpg,
            p.minfree,
            g.nindir,
            self.optim_word(),
            self.total_nbfree(),
            self.total_nffree(),
            self.total_nifree(),
            self.total_ndir(),
        )
    }

    /// The `cg` lines.
    pub fn cgs(&self) -> String {
        let mut out = String::new();
        for (i, group) in self.groups.iter().enumerate() {
            let c = i as u64;
            let (first, end) = self.geo.metadata(c, self.params.fsize);
            let sumsize = self.geo.sumsize;
            let mut clsum = vec![0_u64; sumsize as usize];
            if sumsize > 0 {
                for n in self.clusters(c) {
                    clsum[(n.min(sumsize) - 1) as usize] += 1;
                }
            }
            let list = |name: &str, numbers: &[u64]| {
                if numbers.is_empty() {
                    format!(" {name}")
                } else {
                    format!(" {name} {}", comma_separated(numbers.iter()))
                }
            };
            writeln!(
                out,
                "cg {c} base {} meta {first}..{} ndblk {} ndir {} nbfree {} nffree {} nifree {}{}{} \
                 rotor {} frotor {} irotor {}",
                self.geo.base(c),
                end - 1,
                self.geo.ndblk(c),
                group.ndir,
                group.nbfree,
                group.nffree,
                group.nifree,
                list("frsum", &self.frsum(c)[1..]),
                list("clsum", &clsum),
                group.rotor,
                group.frotor,
                group.irotor,
            )
            .expect("a String takes everything");
        }
        out
    }

    fn dump_line(&self, kind: char, id: u64, ino: u64) -> String {
        let inode = self.inode(ino);
        let data: Vec<u64> = (0..ceil(inode.size, self.params.bsize))
            .map(|lbn| self.address(ino, lbn))
            .collect();
        let mut indirect = Vec::new();
        for a in [inode.single, inode.double] {
            if a != 0 {
                indirect.push(a);
            }
        }
        indirect.extend(inode.level1.values());
        let list = |addresses: &[u64]| {
            if addresses.is_empty() {
                "-".to_owned()
            } else {
                comma_separated(addresses.iter())
            }
        };
        format!(
            "{kind} {id} {ino} {} D {} I {}\n",
            inode.size,
            list(&data),
            list(&indirect)
        )
    }

    /// The D and F lines.
    pub fn dump(&self) -> String {
        let mut out = self.dump_line('D', 0, ROOT_INO);
        for (&id, serial) in &self.dir_ids {
            if *serial != 0 {
                out += &self.dump_line('D', id, self.dirs[serial].ino);
            }
        }
        for (&id, file) in &self.files {
            out += &self.dump_line('F', id, file.ino);
        }
        out
    }

    /// The day line.
    pub fn day(&self, label: &str) -> String {
        let frag = self.geo.frag;
        let (mut opt, mut cnt) = (0_u64, 0_u64);
        let (mut split, mut split1, mut split10) = (0_u64, 0_u64, 0_u64);
        for file in self.files.values() {
            let n = ceil(self.inode(file.ino).size, self.params.bsize);
            for j in 1..n {
                let before = self.address(file.ino, j - 1);
                cnt += 1;
                if before != 0 && self.address(file.ino, j) == before + frag {
                    opt += 1;
                }
            }
            let first = self.address(file.ino, 0);
            if first != 0 {
                let distance = self.cg_of(first).abs_diff(self.cg_of_inode(file.ino));
                split += u64::from(distance != 0);
                split1 += u64::from(distance == 1);
                split10 += u64::from(distance != 0 && distance < 10);
            }
        }
        let nbfree = self.total_nbfree();
        let nffree = self.total_nffree();
        let util = (self.dsize - nbfree * frag - nffree) as f64 / self.dsize as f64;
        let layout = if cnt == 0 {
            1.0
        } else {
            opt as f64 / cnt as f64
        };
        format!(
            "day {label} files {} util {util:.6} layout {layout:.6} opt {opt} cnt {cnt} split {split} \
             split1 {split1} split10 {split10} nbfree {nbfree} nffree {nffree} nifree {} enospc {} optim {} \
             optchg {} crc {:08x}\n",
            self.files.len(),
            self.total_nifree(),
            self.enospc,
            self.optim_word(),
            self.optchg,
            crc32(self.dump().as_bytes()),
        )
    }

    /// Everything that does not fit together: the list behind the `check` line.
    pub fn check(&self) -> Vec<String> {
        let frag = self.geo.frag;
        let mut findings = Vec::new();

        // Who uses each fragment.
        let mut users = vec![0_u32; self.free.len()];
        for c in 0..self.geo.ncg {
            let (first, end) = self.geo.metadata(c, self.params.fsize);
            for a in first..end {
                users[a as usize] += 1;
            }
        }
        let mut pieces: Vec<(u64, u64, u64)> = Vec::new(); // inode, address, fragments
        for (&ino, inode) in &self.inodes {
            for (&lbn, &a) in &inode.blocks {
                if lbn >= ceil(inode.size, self.params.bsize) {
                    findings.push(format!("inode {ino}: block {lbn} beyond the end"));
                }
                pieces.push((ino, a, self.fragments(inode.size, lbn)));
            }
            for &a in [inode.single, inode.double]
                .iter()
                .chain(inode.level1.values())
            {
                if a != 0 {
                    pieces.push((ino, a, frag));
                }
            }
            if inode.double == 0 && !inode.level1.is_empty() {
                findings.push(format!("inode {ino}: level-1 blocks under nothing"));
            }
        }
        for (ino, a, n) in pieces {
            if n == 0 || a % frag + n > frag || a + n > self.geo.size {
                findings.push(format!("inode {ino}: piece {a}+{n} does not fit a block"));
                continue;
            }
            for f in a..a + n {
                users[f as usize] += 1;
            }
        }
        for (a, &n) in users.iter().enumerate() {
            if n > 1 {
                findings.push(format!("fragment {a} used {n} times"));
            }
            let exists = (a as u64) < self.geo.size;
            if self.free[a] != (exists && n == 0) {
                findings.push(format!("fragment {a}: bitmap wrong"));
            }
        }

        // Counts.
        for (i, group) in self.groups.iter().enumerate() {
            let c = i as u64;
            let (mut nbfree, mut nffree) = (0, 0);
            for block in self.blocks_of_group(c) {
                let n = (block..block + frag).filter(|&f| self.is_free(f)).count() as u64;
                if n == frag {
                    nbfree += 1;
                } else {
                    nffree += n;
                }
            }
            if (nbfree, nffree) != (group.nbfree, group.nffree) {
                findings.push(format!("group {c}: free counts wrong"));
            }
            let in_group = |ino: u64| self.cg_of_inode(ino) == c;
            let mut nifree = 0;
            for (index, &used) in group.inode_used.iter().enumerate() {
                let ino = c * self.geo.ipg + index as u64;
                if used != (ino < ROOT_INO || self.inodes.contains_key(&ino)) {
                    findings.push(format!("inode {ino}: bitmap wrong"));
                }
                nifree += u64::from(!used);
            }
            let ndir = self
                .inodes
                .iter()
                .filter(|&(&ino, inode)| in_group(ino) && inode.is_dir)
                .count() as u64;
            if (nifree, ndir) != (group.nifree, group.ndir) {
                findings.push(format!("group {c}: inode counts wrong"));
            }
        }
        if self.inodes.len() != self.files.len() + self.dirs.len() {
            findings.push("inodes without a name".to_owned());
        }
        if self.params.dirent_bytes > 0 {
            for (serial, dir) in &self.dirs {
                if self.inode(dir.ino).size != dir.chunks.len() as u64 * CHUNK {
                    findings.push(format!("directory of serial {serial}: size wrong"));
                }
            }
        }
        findings
    }
}

fn comma_separated<'a>(numbers: impl Iterator<Item = &'a u64>) -> String {
    numbers.map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// CRC-32 as in zlib, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}
