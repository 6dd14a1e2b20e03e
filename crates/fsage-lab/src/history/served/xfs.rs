//! What the allocator of XFS made of the requests for a file's data on one day.
//!
//! `xfs_bmap_btalloc` wants all of a request in one run (`minlen` is `maxlen`). Where no AG has a run as long, `minlen`
//! is the longest that one has. Where that cannot be had, as its blocks are busy or an AG keeps too little beside it,
//! `minlen` is 1, and what lies near the target is taken.

use super::{GroupThen, OnDay, Rows};
use fsage_core::Geometry;
use serde::Serialize;

/// What the allocator of XFS made of the requests for a file's data on a day. Of a file that was written anew on that
/// day, those whose blocks it had at the end of the day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct XfsAlloc {
    /// Requests that were served, in the order they were made.
    pub requests: usize,
    /// Those that had to be served in one run, and were: `minlen` is `maxlen`.
    pub whole: usize,
    /// Those for which no AG had a run as long: `minlen` is the longest that was found.
    pub longest_there_is: usize,
    /// Those for which any run would do, the nearer the better: `minlen` is 1, and `maxlen` is not.
    pub any_length: usize,
    /// Those that were searched for by size, and not near their target: in another AG, or without a target.
    pub by_size: usize,
    /// Those that began at their target.
    pub at_target: usize,
    /// The first of them that did not begin at its target; where each did, the first.
    pub first: Asked,
    /// The longest run that any of them got, in blocks.
    pub longest_got: u64,
    /// The AG in which this one was served, as it was when the day began.
    pub ag: Option<GroupThen>,
    /// The AG with the longest free run when the day began.
    pub longest: Option<GroupThen>,
}

/// A request and what served it, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The AG that it was served in.
    pub ag: u64,
    /// The block of this AG near which it should lie; none where it was searched for by size.
    pub target: Option<u64>,
    /// The fewest blocks that it would take.
    pub minlen: u64,
    /// The most that it asked for.
    pub maxlen: u64,
    /// Where it begins: a block of the AG.
    pub agbno: u64,
    /// Blocks that it got.
    pub len: u64,
}

impl Asked {
    fn is_at_target(&self) -> bool {
        self.target == Some(self.agbno)
    }

    /// Its first byte on the disk.
    fn address(&self, geometry: &Geometry) -> u64 {
        self.ag * geometry.group_bytes + self.agbno * u64::from(geometry.block_bytes)
    }
}

impl XfsAlloc {
    /// None of the trace of another allocator, and where nothing was asked for that the file has.
    pub(super) fn of(on_day: &OnDay<'_>) -> Option<XfsAlloc> {
        let all = asked(on_day.trace)?;
        let is_kept = |asked: &&Asked| {
            let address = asked.address(on_day.geometry);
            on_day.pieces.iter().any(|piece| {
                (piece.physical_bytes..piece.physical_bytes + piece.length_bytes).contains(&address)
            })
        };
        let kept: Vec<&Asked> = all.iter().filter(is_kept).collect();
        let away = kept.iter().find(|asked| !asked.is_at_target());
        let first = **away.or(kept.first())?;
        let that = |is: fn(&Asked) -> bool| kept.iter().filter(|asked| is(asked)).count();
        Some(XfsAlloc {
            requests: kept.len(),
            whole: that(|asked| asked.minlen == asked.maxlen),
            longest_there_is: that(|asked| asked.minlen > 1 && asked.minlen < asked.maxlen),
            any_length: that(|asked| asked.minlen == 1 && asked.maxlen > 1),
            by_size: that(|asked| asked.target.is_none()),
            at_target: that(Asked::is_at_target),
            first,
            longest_got: kept.iter().map(|asked| asked.len).max()?,
            ag: GroupThen::of_numbers(vec![first.ag], on_day.free).pop(),
            longest: GroupThen::with_longest(on_day.free),
        })
    }
}

/// From the lines of a trace.
fn asked(trace: &str) -> Option<Vec<Asked>> {
    let rows = Rows::of_data(trace)?;
    let columns = ["agno", "target", "minlen", "maxlen", "agbno", "len"];
    let [ag, target, minlen, maxlen, agbno, len] = columns.map(|name| rows.column(name));
    let (ag, target, minlen, maxlen, agbno, len) = (ag?, target?, minlen?, maxlen?, agbno?, len?);
    let asked = rows.rows.iter().filter_map(|row| {
        let number = |at: usize| row.get(at)?.parse::<u64>().ok();
        Some(Asked {
            ag: number(ag)?,
            target: number(target),
            minlen: number(minlen)?,
            maxlen: number(maxlen)?,
            agbno: number(agbno)?,
            len: number(len)?,
        })
    });
    Some(asked.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Piece;
    use fsage_models::microscope::FreeGroup;

    /// By hand, of two AGs of a hundred blocks. The first request was of what a rewrite left nothing of; the line of
    /// kind M is a block of the tree.
    #[test]
    fn requests_are_counted_by_the_least_that_would_do() {
        let trace = "#inode\tkind\tsearch\tagno\ttarget\tminlen\tmaxlen\talignment\ttotal\tagbno\tlen\n\
                     9\tD\tnear\t0\t10\t8\t8\t1\t0\t10\t8\n\
                     # rewrite 7 100\n\
                     9\tD\tnear\t0\t30\t1\t20\t1\t0\t30\t5\n\
                     9\tM\tnear\t0\t35\t1\t1\t1\t0\t36\t1\n\
                     9\tD\tnear\t0\t35\t1\t15\t1\t0\t40\t3\n\
                     9\tD\tsize\t1\t-\t9\t12\t1\t0\t50\t9\n\
                     9\tD\tnear\t1\t59\t3\t3\t1\t0\t70\t3\n";
        let geometry = Geometry {
            fs_type: "xfs".to_owned(),
            size_bytes: 200 * 4096,
            data_bytes: None,
            reserved_bytes: 0,
            block_bytes: 4096,
            frag_bytes: 4096,
            inodes_total: 64,
            group_count: 2,
            group_bytes: 100 * 4096,
            inodes_per_group: 32,
            first_ino: 1,
            inode_chunk_bytes: 0,
        };
        let piece = |block: u64, blocks: u64| Piece {
            logical_bytes: 0,
            physical_bytes: block * 4096,
            length_bytes: blocks * 4096,
        };
        let free = |longest| FreeGroup {
            free: 20,
            runs: 4,
            longest,
            aligned: 0,
        };
        let on_day = OnDay {
            trace,
            geometry: &geometry,
            free: &[free(5), free(9)],
            pieces: &[piece(30, 5), piece(40, 3), piece(150, 9), piece(170, 3)],
        };
        let found = XfsAlloc::of(&on_day).expect("requests");
        assert_eq!((found.requests, found.at_target, found.by_size), (4, 1, 1));
        assert_eq!(
            (found.whole, found.longest_there_is, found.any_length),
            (1, 1, 2)
        );
        assert_eq!((found.first.target, found.first.agbno), (Some(35), 40));
        assert_eq!(found.longest_got, 9);
        assert_eq!(found.ag.map(|ag| (ag.group, ag.longest)), Some((0, 5)));
        assert_eq!(found.longest.map(|ag| ag.group), Some(1));
        let none = OnDay {
            pieces: &[],
            ..on_day
        };
        assert_eq!(XfsAlloc::of(&none), None);
    }
}
