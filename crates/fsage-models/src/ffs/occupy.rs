//! The free map of one file system on another that has no files: what is not free there is in use here, by nothing.
//!
//! Seltzer et al., "File System Logging versus Clustering", 1995, section 5, measured aged file systems in this way.

use super::Ffs;
use fsage_core::Run;

/// Fragments in use by nothing: first fragment and length.
pub(super) type Occupied = Vec<(u64, u64)>;

impl Ffs {
    /// Marks as used what is free here and does not lie in one of the free runs (bytes, ascending) of another file
    /// system. What lies behind the end of that file system counts as used; what is used here stays used.
    pub fn occupy_all_but(&mut self, free: &[Run]) {
        let (fsize, frag) = (self.geometry.fsize, self.groups.frag);
        let mut runs = free.iter().peekable();
        let mut is_free_there = |at: u64| {
            let (start, end) = (at * fsize, (at + 1) * fsize);
            while runs.next_if(|run| run_end(run) < end).is_some() {}
            runs.peek().is_some_and(|run| run.start_bytes <= start)
        };
        for c in 0..self.geometry.ncg {
            let base = self.geometry.base(c);
            let blocks = self.geometry.fragments_in(c).div_ceil(self.geometry.frag) as usize;
            for block in 0..blocks {
                let here = self.groups.free_mask(c, block);
                let start = base + (block * frag) as u64;
                let there = (0..frag).fold(0_u8, |mask, i| {
                    mask | u8::from(is_free_there(start + i as u64)) << i
                });
                self.occupy(c, block, here & !there);
            }
        }
    }

    /// Takes the fragments of a mask, all of them free, out of a block.
    fn occupy(&mut self, c: usize, block: usize, mask: u8) {
        let frag = self.groups.frag;
        if mask == 0 {
            return;
        }
        let start = self.geometry.base(c) + (block * frag) as u64;
        if mask == self.groups.full_mask() {
            self.groups.take_blocks(c, block, 1);
        } else if self.groups.is_free(c, block) {
            self.groups.take_blocks(c, block, 1);
            for i in (0..frag).filter(|i| mask >> i & 1 == 0) {
                self.groups.free_frags(c, block * frag + i, 1);
            }
        } else {
            for i in (0..frag).filter(|i| mask >> i & 1 == 1) {
                self.groups.take_frags(c, block * frag + i, 1);
            }
        }
        for i in (0..frag as u64).filter(|i| mask >> i & 1 == 1) {
            match self.occupied.last_mut() {
                Some((first, n)) if *first + *n == start + i => *n += 1,
                _ => self.occupied.push((start + i, 1)),
            }
        }
    }
}

fn run_end(run: &Run) -> u64 {
    run.start_bytes + run.length_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffs::Params;
    use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Rng};

    fn free_runs(fs: &Ffs) -> Vec<Run> {
        let mut runs = Vec::new();
        fs.visit_free(&mut |run| runs.push(run));
        runs
    }

    fn fresh() -> Ffs {
        Ffs::new(Params::preset("tiny").unwrap()).unwrap()
    }

    /// Files of all sizes come and go.
    fn aged(seed: u64) -> Ffs {
        let mut fs = fresh();
        let mut rng = Rng::new(seed);
        let step = |fs: &mut Ffs, op| fs.apply(&op).unwrap();
        for dir in 1..=4 {
            let (dir, parent) = (DirId(dir), None);
            step(&mut fs, Op::Mkdir { dir, parent });
        }
        for id in 1..=600 {
            let (file, dir) = (FileId(id), DirId(1 + id % 4));
            let bytes = 1 + rng.below(30_000);
            step(&mut fs, Op::Create { file, dir, bytes });
            if id > 200 {
                let file = FileId(id - 200);
                step(&mut fs, Op::Delete { file });
            }
        }
        fs
    }

    #[test]
    fn the_free_map_is_that_of_the_other_file_system() {
        for seed in 0..4 {
            let aged = aged(seed);
            let mut copy = fresh();
            copy.occupy_all_but(&free_runs(&aged));
            assert_eq!(copy.check(), Ok(()));
            let (wanted, got) = (free_runs(&aged), free_runs(&copy));
            // The root's block is the one place where both have something of their own: here and there one fragment.
            assert_eq!(got, wanted);
            assert_eq!(copy.file_count(), 0);
            let (here, there) = (copy.totals(), aged.totals());
            assert_eq!((here.nbfree, here.nffree), (there.nbfree, there.nffree));
            assert!(here.nifree > there.nifree);
        }
    }

    #[test]
    fn it_can_be_written_and_checked_and_what_is_occupied_stays() {
        let mut copy = fresh();
        let aged = aged(7);
        copy.occupy_all_but(&free_runs(&aged));
        let before = copy.totals();
        let (dir, parent) = (DirId(1), None);
        copy.apply(&Op::Mkdir { dir, parent }).unwrap();
        let (file, bytes) = (FileId(1), 200_000);
        copy.apply(&Op::Create { file, dir, bytes }).unwrap();
        assert_eq!(copy.check(), Ok(()));
        copy.apply(&Op::Delete { file }).unwrap();
        copy.apply(&Op::Rmdir { dir }).unwrap();
        assert_eq!(copy.check(), Ok(()));
        assert_eq!(copy.totals().nbfree, before.nbfree);
    }

    #[test]
    fn nothing_free_leaves_nothing_free() {
        let mut copy = fresh();
        copy.occupy_all_but(&[]);
        assert_eq!((copy.totals().nbfree, copy.totals().nffree), (0, 0));
        assert_eq!(copy.check(), Ok(()));
    }
}
