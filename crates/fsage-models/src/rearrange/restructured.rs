//! Restructuring of files by their seek time (McDonald & Bunt 1989): the blocks of a few files that are used often and
//! lie scattered are brought together, so that reading them moves the arm less.
//!
//! **Source.** M. S. McDonald and R. B. Bunt, *Improving file system performance by dynamically restructuring disk
//! space*, Phoenix Conference on Computers and Communications, 1989, as its abstract and Cheng et al., section 2.3,
//! say of it: the blocks of selected files are moved so that the seek time of these files falls, files are chosen by
//! the principle of least effort, and by a *seek time expansion factor*, STEF. Its definition is ours:
//!
//! ```text
//!    STEF = (reach + moves between the blocks as they lie) / (reach + moves if they were contiguous)
//! ```
//!
//! where `reach` is the way to the file, a third of the disk, and a move over `d` cylinders takes a time that goes with
//! `1 + sqrt(d)`, none with `d = 0`; what a cylinder is, is a key, since a model knows no disk. A file whose STEF
//! reaches the key `stef` is a candidate. **Least effort**: candidates are taken by the seek time that a period of uses
//! would have saved for each block that is moved, until the reserved cylinders are full. **Where to**: contiguously,
//! one file after the other, into the reserved cylinders in the middle, by the table of
//! [`block_rearrangement`](super::block_rearrangement). A file is judged by where the file system put it, not by where
//! its copy is, so that it stays as long as it is worth it.

use super::Counters;
use super::block_rearrangement::BlockRearrangement;
use super::map::{Around, Map};
use super::remapped::Remap;
use crate::findings::Findings;
use fsage_core::FileId;
use fsage_core::io::Io;
use std::collections::BTreeMap;
use std::ops::Range;

/// A file of this period.
#[derive(Clone, Debug, Default)]
struct Used {
    times: u32,
    /// Blocks of the file in its order, as runs: the first, how many.
    runs: Vec<(u64, u64)>,
}

/// A file that is worth its effort.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    file: FileId,
    /// Seek time that a block which is moved saves, in units of the shortest move.
    saved_per_block: f64,
}

/// Files that are restructured.
#[derive(Clone, Debug)]
pub(super) struct Restructured {
    copies: BlockRearrangement,
    around: Around,
    block_bytes: u64,
    slots: usize,
    disk_bytes: u64,
    cylinder_bytes: u64,
    /// STEF from which on a file is a candidate.
    least_stef: f64,
    used: BTreeMap<FileId, Used>,
}

impl Restructured {
    /// Reserved cylinders without copies.
    pub fn new(
        copies: BlockRearrangement,
        reserved: Range<u64>,
        block_bytes: u64,
        disk: (u64, u64),
        least_stef: f64,
    ) -> Self {
        let (disk_bytes, cylinder_bytes) = disk;
        Restructured {
            copies,
            slots: ((reserved.end - reserved.start) / block_bytes) as usize,
            around: Around { middle: reserved },
            block_bytes,
            disk_bytes,
            cylinder_bytes,
            least_stef,
            used: BTreeMap::new(),
        }
    }

    /// Time of a move from one byte of the disk to another, in units of the shortest move.
    fn seek(&self, from: u64, to: u64) -> f64 {
        let cylinder = |at: u64| at / self.cylinder_bytes;
        match cylinder(from).abs_diff(cylinder(to)) {
            0 => 0.0,
            cylinders => f64::midpoint(1.0, (cylinders as f64).sqrt()),
        }
    }

    /// Seek time of a file as the file system put it, and of the same blocks in one run.
    fn seek_times(&self, runs: &[(u64, u64)]) -> (f64, f64) {
        let reach = self.seek(0, self.disk_bytes / 3);
        let home = |block: u64| self.around.piece(block * self.block_bytes, 1).0;
        let inside =
            |&(first, blocks): &(u64, u64)| self.seek(home(first), home(first + blocks - 1));
        let between = runs.windows(2).map(|pair| {
            let (first, blocks) = pair[0];
            self.seek(home(first + blocks - 1), home(pair[1].0))
        });
        let lies: f64 = runs.iter().map(inside).chain(between).sum();
        let blocks: u64 = runs.iter().map(|&(_, blocks)| blocks).sum();
        let ideal = self.seek(0, blocks.saturating_sub(1) * self.block_bytes);
        (reach + lies, reach + ideal)
    }

    /// Candidates, those first that save most for each block.
    fn candidates(&self) -> Vec<Candidate> {
        let worth = |(&file, used): (&FileId, &Used)| {
            let blocks: u64 = used.runs.iter().map(|&(_, blocks)| blocks).sum();
            let (lies, ideal) = self.seek_times(&used.runs);
            let is_candidate = blocks > 0 && lies > ideal && lies >= self.least_stef * ideal;
            is_candidate.then(|| Candidate {
                file,
                saved_per_block: f64::from(used.times) * (lies - ideal) / blocks as f64,
            })
        };
        let mut all: Vec<Candidate> = self.used.iter().filter_map(worth).collect();
        all.sort_by(|a, b| {
            let by_worth = b.saved_per_block.total_cmp(&a.saved_per_block);
            by_worth.then(a.file.0.cmp(&b.file.0))
        });
        all
    }

    /// What every place is to hold: files one after the other, as many as fit.
    fn plan(&self) -> Vec<Option<u64>> {
        let mut plan = Vec::new();
        for candidate in self.candidates() {
            let runs = &self.used[&candidate.file].runs;
            let blocks: u64 = runs.iter().map(|&(_, blocks)| blocks).sum();
            if plan.len() as u64 + blocks <= self.slots as u64 {
                let all = runs
                    .iter()
                    .flat_map(|&(first, blocks)| first..first + blocks);
                plan.extend(all.map(Some));
            }
        }
        plan.resize(self.slots, None);
        plan
    }
}

impl Remap for Restructured {
    fn place(&self, at: u64, bytes: u64) -> (u64, u64) {
        self.copies.place(at, bytes)
    }

    fn referenced(&mut self, at: u64, bytes: u64, wrote: bool) {
        if wrote {
            self.copies.changed(at, bytes);
        }
    }

    fn used(&mut self, file: FileId) {
        let used = self.used.entry(file).or_default();
        used.times = used.times.saturating_add(1);
    }

    fn of_interest(&self) -> Vec<FileId> {
        self.used.keys().copied().collect()
    }

    fn lies_at(&mut self, file: FileId, ranges: &[Range<u64>]) {
        let Some(used) = self.used.get_mut(&file) else {
            return;
        };
        used.runs.clear();
        for range in ranges {
            let first = range.start / self.block_bytes;
            let blocks = range.end.div_ceil(self.block_bytes) - first;
            match used.runs.last_mut() {
                Some((last, n)) if *last + *n == first => *n += blocks,
                _ => used.runs.push((first, blocks)),
            }
        }
    }

    fn rearrange(&mut self, io: &mut Vec<Io>, counters: &mut Counters) {
        let mut plan = self.plan();
        // Ends of files may share a block: one copy is enough.
        let mut seen = rustc_hash::FxHashSet::default();
        for place in &mut plan {
            if place.is_some_and(|block| !seen.insert(block)) {
                *place = None;
            }
        }
        self.used.clear();
        self.copies.move_to(&plan, io, counters);
    }

    fn check(&self, found: &mut Findings) {
        self.copies.check(found);
    }
}

#[cfg(test)]
mod tests {
    use super::super::remapped::rearranged;
    use super::super::settings::Placement;
    use super::*;

    /// Blocks of 10 bytes, cylinders of 100; the reserved area has 8 places, at 10,000 of 20,000 bytes.
    fn disk(least_stef: f64) -> Restructured {
        let reserved = 10_000..10_080;
        let copies = BlockRearrangement::new(reserved.clone(), 10, Placement::Serial);
        Restructured::new(copies, reserved, 10, (20_000, 100), least_stef)
    }

    fn use_of(disk: &mut Restructured, file: u64, times: u32, ranges: &[Range<u64>]) {
        for _ in 0..times {
            disk.used(FileId(file));
        }
        disk.lies_at(FileId(file), ranges);
    }

    fn end(disk: &mut Restructured) -> (Vec<Io>, Counters) {
        rearranged(disk)
    }

    /// By hand: to reach a file the arm moves over 66 cylinders, (1 + sqrt 66) / 2. Two blocks in cylinders 0 and 16
    /// add (1 + 4) / 2, in one run nothing.
    #[test]
    fn a_scattered_file_has_a_seek_time_expansion_factor_above_1() {
        let disk = disk(1.1);
        let reach = f64::midpoint(1.0, 66_f64.sqrt());
        assert_eq!(disk.seek_times(&[(0, 1), (160, 1)]), (reach + 2.5, reach));
        assert_eq!(disk.seek_times(&[(5, 2)]), (reach, reach));
        // 20 blocks in one run cross two borders of cylinders, and the ideal does as well.
        let (lies, ideal) = disk.seek_times(&[(0, 25)]);
        assert!((lies - ideal).abs() < 1e-9, "{lies} {ideal}");
    }

    /// Of four files 1 is contiguous, 2 and 3 are alike but for their uses, 4 is as scattered and used as 3 and has
    /// twice its blocks in each place. The reserved area has room for 2, 3 and not for 4.
    #[test]
    fn files_that_save_most_for_each_block_come_together_in_the_middle() {
        let mut disk = disk(1.1);
        use_of(&mut disk, 1, 99, &[0..20, 20..40]);
        use_of(&mut disk, 2, 2, &[300..310, 2000..2010]);
        use_of(&mut disk, 3, 5, &[320..330, 2020..2030]);
        use_of(&mut disk, 4, 5, &[400..430, 2100..2130]);
        let order: Vec<u64> = disk.candidates().iter().map(|c| c.file.0).collect();
        assert_eq!(order, [3, 2, 4]);
        let (_, counters) = end(&mut disk);
        assert_eq!((counters.placed, counters.copied_bytes), (4, 40));
        assert_eq!(disk.place(320, 10), (10_000, 10));
        assert_eq!(disk.place(2020, 10), (10_010, 10));
        assert_eq!(disk.place(300, 10), (10_020, 10));
        assert_eq!(disk.place(400, 10), (400, 10));
        // Where it is used on it stays, though its copy is contiguous; the other one goes home.
        use_of(&mut disk, 3, 1, &[320..330, 2020..2030]);
        let (io, counters) = end(&mut disk);
        assert_eq!(counters.placed, 0);
        assert_eq!(
            io.len(),
            2,
            "two blocks change places, and nothing is written"
        );
        assert_eq!(
            (disk.place(320, 10), disk.place(300, 10)),
            ((10_000, 10), (300, 10))
        );
    }

    #[test]
    fn a_file_below_the_least_factor_stays() {
        let mut disk = disk(3.0);
        use_of(&mut disk, 2, 9, &[300..310, 2000..2010]);
        assert_eq!(end(&mut disk).1.placed, 0);
    }
}
