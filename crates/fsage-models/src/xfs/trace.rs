//! The microscope of the XFS model: every request for blocks, in order, and what served it.
//!
//! ```text
//! #inode  kind  search  agno  target  minlen  maxlen  alignment  total  agbno  len
//! 131     D     near    0     24      3       3       1          4      24     3
//! -       L     size    0     -       1       4       1          0      40     4
//! ```
//!
//! `kind` is `D` for data that is written later, `M` for other blocks of inodes and for inodes, `F` for a block of the
//! tree of free inodes, `L` for the free list of an AG. `search` is `exact`, `near` or `size`, and `target` the block
//! that the first two start from. The numbers are those of the kernel's trace event `xfs_alloc_vextent_finish`, for
//! free lists those of `xfs_alloc_size_done`; `maxlen` is what was left of it by the reserves of the AG.

use super::Xfs;
use super::space::{Ag, Purpose, Request, Space};
use crate::allocator_trace::TracedAllocator;
use crate::microscope::FreeGroup;
use std::fmt;

/// Where a search in an AG begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// At this block, or nowhere.
    Exact(u32),
    /// As near to this block as may be.
    Near(u32),
    /// At the shortest run that is long enough.
    BySize,
}

/// A request for blocks that was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    ino: u64,
    kind: char,
    search: Search,
    ag: u32,
    least: u32,
    most: u32,
    align: u32,
    total: u32,
    start: u32,
    blocks: u32,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ino {
            0 => f.write_str("-")?,
            ino => write!(f, "{ino}")?,
        }
        write!(f, "\t{}\t", self.kind)?;
        match self.search {
            Search::Exact(target) => write!(f, "exact\t{}\t{target}", self.ag)?,
            Search::Near(target) => write!(f, "near\t{}\t{target}", self.ag)?,
            Search::BySize => write!(f, "size\t{}\t-", self.ag)?,
        }
        write!(
            f,
            "\t{}\t{}\t{}\t{}\t{}\t{}",
            self.least, self.most, self.align, self.total, self.start, self.blocks
        )
    }
}

impl Space {
    /// Notes how a request was served, where that is recorded.
    #[inline]
    pub(super) fn record(
        &mut self,
        ag: u32,
        search: Search,
        request: &Request,
        (start, blocks): (u32, u32),
    ) {
        if let Some(served) = &mut self.served {
            served.push(Served {
                ino: request.ino,
                kind: match request.purpose {
                    Purpose::Data => 'D',
                    Purpose::Metadata => 'M',
                    Purpose::FreeInodes => 'F',
                    Purpose::List => 'L',
                },
                search,
                ag,
                least: request.least,
                most: request.most,
                align: request.align,
                total: request.total,
                start,
                blocks,
            });
        }
    }
}

impl TracedAllocator for Xfs {
    type Served = Served;

    const COLUMNS: &str =
        "inode\tkind\tsearch\tagno\ttarget\tminlen\tmaxlen\talignment\ttotal\tagbno\tlen";

    fn record_requests(&mut self) {
        self.space.served = Some(Vec::new());
    }

    fn take_requests(&mut self) -> Vec<Served> {
        self.space
            .served
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    fn inode_of(served: &Served) -> u64 {
        served.ino
    }

    fn free_groups(&self) -> Vec<FreeGroup> {
        let runs_of = |ag: &Ag| {
            let mut of = FreeGroup::default();
            for run in ag.by_start.iter() {
                of.free += u64::from(run.blocks);
                of.runs += 1;
                of.longest = of.longest.max(run.blocks.into());
            }
            of
        };
        self.space.ags.iter().map(runs_of).collect()
    }
}
