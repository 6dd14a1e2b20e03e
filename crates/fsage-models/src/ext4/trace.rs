//! The microscope of the ext4 model: every request for blocks, in order, and what served it.
//!
//! ```text
//! #inode  kind  logical  asked  goal   block  got  searched  criterion
//! 13      D     0        6      32768  32897  6    6         GOAL_LEN_FAST
//! ```
//!
//! `kind` is `D` for data and `M` for a block of a directory, a symbolic link or a tree; `searched` is what was
//! searched for, after normalization, and `criterion` the one that found it, by the kernel's name: `-` and
//! `preallocated` where nothing was searched for, `0x5` where all were tried and the longest run that was seen is
//! taken, as the kernel prints it. A request that found no free block has block 0 and got 0; what the counters refuse
//! before the allocator sees it has no line. These are fields of the kernel's trace events `ext4_mballoc_alloc` and
//! `ext4_mballoc_prealloc`.

use super::Ext4;
use crate::allocator_trace::TracedAllocator;
use crate::microscope::FreeGroup;
use std::fmt;

/// What a group has to offer to be taken, from the strictest to none; the kernel tries them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// An aligned piece of a power of two.
    Power2,
    /// Free runs that are long enough on average, the first that suffices.
    Fast,
    /// The same for shorter lengths.
    BestAvailable,
    /// The best of all runs.
    Slow,
    /// Any free block.
    Any,
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Criterion::Power2 => "POWER2_ALIGNED",
            Criterion::Fast => "GOAL_LEN_FAST",
            Criterion::BestAvailable => "BEST_AVAIL_LEN",
            Criterion::Slow => "GOAL_LEN_SLOW",
            Criterion::Any => "ANY_FREE",
        })
    }
}

/// A search that a request needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Blocks that were searched for.
    pub blocks: u32,
    /// The criterion that ended the search; `None` if all were tried, and the longest run that was seen is taken.
    pub criterion: Option<Criterion>,
}

/// A request for blocks that came to the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Number of the inode.
    pub inode: u32,
    /// Data of a regular file.
    pub is_data: bool,
    /// First block in the file; 0 of a block of a tree.
    pub logical: u32,
    /// Blocks that were asked for.
    pub asked: u32,
    /// The goal, as a block of the file system; it may lie behind its end.
    pub goal: u32,
    /// First block that was given.
    pub block: u32,
    /// Blocks that were given; 0 where none was free.
    pub got: u32,
    /// What was searched for; `None` for blocks that were set aside before.
    pub searched: Option<Searched>,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_data { 'D' } else { 'M' };
        write!(
            f,
            "{}\t{kind}\t{}\t{}\t{}\t{}\t{}\t",
            self.inode, self.logical, self.asked, self.goal, self.block, self.got
        )?;
        let Some(Searched { blocks, criterion }) = self.searched else {
            return f.write_str("-\tpreallocated");
        };
        match criterion {
            Some(criterion) => write!(f, "{blocks}\t{criterion}"),
            // The kernel has no name for it.
            None => write!(f, "{blocks}\t0x5"),
        }
    }
}

impl TracedAllocator for Ext4 {
    type Served = Served;

    const COLUMNS: &str = "inode\tkind\tlogical\tasked\tgoal\tblock\tgot\tsearched\tcriterion";

    fn record_requests(&mut self) {
        self.served = Some(Vec::new());
    }

    fn take_requests(&mut self) -> Vec<Served> {
        self.served.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn inode_of(served: &Served) -> u64 {
        served.inode.into()
    }

    fn free_groups(&self) -> Vec<FreeGroup> {
        let groups = 0..self.geometry.groups;
        groups.map(|group| self.free_group(group)).collect()
    }
}

impl Ext4 {
    /// What the allocator may take of a group.
    fn free_group(&self, group: u32) -> FreeGroup {
        let info = &self.groups.all[group as usize].info;
        let (mut at, mut longest) = (0, 0);
        while let Some((start, end)) = self.groups.next_run(group, at) {
            longest = longest.max(end - start);
            at = end;
        }
        let aligned = match self.groups.largest(group) {
            Some(order) if !self.is_kept_for_directories(group) => 1 << order,
            _ => 0,
        };
        FreeGroup {
            free: info.free.into(),
            runs: info.runs.into(),
            longest: longest.into(),
            aligned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Params;
    use super::*;

    /// By hand, on 1 GB with blocks of 4 KB: one flex group of 8 groups keeps its tables in the first one, which takes
    /// no pieces of data. Group 2 has no copy of the superblock: 32,768 blocks are free in a run, and the largest piece
    /// of the kernel's buddies is 8192 blocks.
    #[test]
    fn what_may_be_taken_of_a_group_is_what_its_buddies_say() {
        let groups = Ext4::new(Params::default()).expect("1 GB").free_groups();
        assert_eq!(groups.len(), 8);
        assert_eq!(groups[0].aligned, 0);
        assert!(groups[0].longest > 8192, "{:?}", groups[0]);
        let whole = FreeGroup {
            free: 32_768,
            runs: 1,
            longest: 32_768,
            aligned: 8192,
        };
        assert_eq!(groups[2], whole);
    }
}
