//! What snapshots tell of the time of a deletion.
//!
//! A file D that the first of two snapshots shows and the second does not was deleted somewhere in between.
//! The second one bounds this time from above, and sometimes tells it:
//!
//! - **Blocks**: a block of D belongs to another file N now. D was gone before N got it, and N got it no later
//!   than its last change (`ctime`).
//! - **Inode**: D's inode number belongs to R now: D was gone before R was made, mostly just before.
//! - **Name**: D's name belongs to N now, which came in at N's last change at the latest; mostly N was renamed
//!   over D, or made where D had just been removed.
//! - **Directory**: removing a name sets the directory's times. Something happened to the directory at exactly
//!   that time. If nothing that came in then can be it, it was the last removal; removals come in bursts, so
//!   it dates all of them.
//!
//! A directory that is gone itself was emptied before, so what bounds it bounds what was in it.

use super::nodes::{NodeId, Nodes};
use super::tree::Place;
use fsage_core::Extent;
use fsage_core::snapshot::Inode;
use rustc_hash::FxHashMap;

/// What is known of the time of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    /// It was not later.
    pub not_after: i64,
    /// It was then, unless `not_after` is earlier.
    pub exact: Option<i64>,
    /// Which kinds of evidence there are: a set of the constants below.
    pub kinds: u8,
}

impl Evidence {
    pub const BLOCKS: u8 = 1;
    pub const INODE: u8 = 2;
    pub const NAME: u8 = 4;
    /// The directory's time is an upper bound.
    pub const DIRECTORY: u8 = 8;
    /// The directory's time is that of the last removal.
    pub const LAST_REMOVAL: u8 = 16;

    fn none(end: i64) -> Evidence {
        Evidence {
            not_after: end,
            exact: None,
            kinds: 0,
        }
    }

    fn bound(&mut self, t: i64, kind: u8) {
        self.not_after = self.not_after.min(t);
        self.kinds |= kind;
    }

    fn exactly(&mut self, t: i64, kind: u8) {
        self.exact = Some(self.exact.map_or(t, |e| e.min(t)));
        self.bound(t, kind);
    }
}

/// A file or directory that came, changed or went in an interval.
pub(super) struct Event<'a> {
    pub node: NodeId,
    /// In the snapshot before, if it was there.
    pub before: Option<&'a Inode>,
    /// In the snapshot after, if it is there.
    pub after: Option<&'a Inode>,
    /// Time of its last change, clamped to the interval.
    pub t: i64,
    /// Of a removal: the incarnation that has its inode number now, and when that was made.
    pub reused: Option<i64>,
}

/// The interval between two snapshots, its start left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub start: i64,
    pub end: i64,
}

impl Interval {
    pub fn contains(self, t: i64) -> bool {
        self.start < t && t <= self.end
    }
}

/// Which evidence counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sources {
    /// Blocks that were used again, and how long after the write they may have been chosen.
    pub blocks: Option<i64>,
    /// The last removal from a directory dates all of them.
    pub bursts: bool,
}

/// What the events of an interval tell of its removals; one for each event, of no meaning for the others. And
/// every changed node of which another one has a block, with the time by which it had it.
pub(super) fn gather(
    events: &[Event<'_>],
    nodes: &Nodes,
    names: &FxHashMap<Place, i64>,
    interval: Interval,
    sources: Sources,
) -> (Vec<Evidence>, Vec<(NodeId, i64)>) {
    let mut found = vec![Evidence::none(interval.end); events.len()];
    for (event, evidence) in events.iter().zip(&mut found) {
        if let Some(t) = event.reused {
            evidence.exactly(t, Evidence::INODE);
        }
        let node = nodes.get(event.node);
        if event.after.is_none() && node.dir.is_none() {
            for name in &node.names {
                let place = (name.dir, name.bytes.clone());
                if let Some(t) = name.bytes.as_ref().and_then(|_| names.get(&place)) {
                    evidence.exactly(*t, Evidence::NAME);
                }
            }
        }
    }
    let mut freed_early = Vec::new();
    if let Some(delay_ns) = sources.blocks {
        freed_early = from_blocks(events, delay_ns, &mut found);
    }
    from_directories(events, nodes, interval, sources.bursts, &mut found);
    (found, freed_early)
}

/// A run of blocks that an event released.
struct Released {
    start: u64,
    end: u64,
    event: usize,
}

fn from_blocks(events: &[Event<'_>], delay_ns: i64, found: &mut [Evidence]) -> Vec<(NodeId, i64)> {
    let mut released = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let runs = subtract(runs_of(event.before), &runs_of(event.after));
        released.extend(runs.into_iter().map(|(start, end)| Released {
            start,
            end,
            event: at,
        }));
    }
    released.sort_unstable_by_key(|run| (run.start, run.event));
    // Where blocks are shared, runs overlap: how far those before reach.
    let mut reach = 0;
    let reaches: Vec<u64> = released
        .iter()
        .map(|run| {
            reach = run.end.max(reach);
            reach
        })
        .collect();
    let mut early: Vec<Option<i64>> = vec![None; events.len()];
    for (taker, event) in events.iter().enumerate() {
        let gained = subtract(runs_of(event.after), &runs_of(event.before));
        for (start, end) in gained {
            let from = reaches.partition_point(|reach| *reach <= start);
            for run in released[from..].iter().take_while(|run| run.start < end) {
                if run.event == taker || run.end <= start {
                    continue;
                }
                let t = event.t.saturating_add(delay_ns);
                if events[run.event].after.is_none() {
                    found[run.event].bound(t, Evidence::BLOCKS);
                } else {
                    let early = &mut early[run.event];
                    *early = Some(early.map_or(t, |e| e.min(t)));
                }
            }
        }
    }
    let early = events.iter().zip(early);
    early
        .filter_map(|(event, t)| Some((event.node, t.filter(|t| *t < event.t)?)))
        .collect()
}

/// Where the blocks of an inode lie, ascending; without those whose place is not known or shared.
fn runs_of(inode: Option<&Inode>) -> Vec<(u64, u64)> {
    /// FIEMAP flags UNKNOWN, DELALLOC, ENCODED, `NOT_ALIGNED`, INLINE, TAIL and SHARED.
    const NO_PLACE: u32 = 0x2 | 0x4 | 0x8 | 0x100 | 0x200 | 0x400 | 0x2000;
    let extents = inode.and_then(|inode| inode.extents.as_deref());
    let extents = extents.unwrap_or_default();
    let mut runs: Vec<(u64, u64)> = extents
        .iter()
        .filter(|e| e.flags & !Extent::POINTERS & NO_PLACE == 0 && e.length_bytes > 0)
        .map(|e| {
            (
                e.physical_bytes,
                e.physical_bytes.saturating_add(e.length_bytes),
            )
        })
        .collect();
    runs.sort_unstable();
    runs
}

/// What of `runs` does not lie in `others`; both ascending.
fn subtract(runs: Vec<(u64, u64)>, others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    if others.is_empty() || runs.is_empty() {
        return runs;
    }
    let mut left = Vec::new();
    let mut first = 0;
    for (mut start, end) in runs {
        while others.get(first).is_some_and(|other| other.1 <= start) {
            first += 1;
        }
        for other in others[first..].iter().take_while(|other| other.0 < end) {
            if start < other.0 {
                left.push((start, other.0));
            }
            start = start.max(other.1);
        }
        if start < end {
            left.push((start, end));
        }
    }
    left
}

/// What is known of a directory in an interval.
#[derive(Clone, Copy, Debug)]
struct Directory {
    /// When an entry was made or removed last, if in the interval.
    changed: Option<i64>,
    /// When something came in, or went elsewhere, last.
    moved: i64,
}

fn from_directories(
    events: &[Event<'_>],
    nodes: &Nodes,
    interval: Interval,
    bursts: bool,
    found: &mut [Evidence],
) {
    // Inode numbers name directories of the snapshot before in `before`, of the one after in `after`.
    let gone: FxHashMap<u64, usize> = events
        .iter()
        .enumerate()
        .filter_map(|(at, event)| Some((event.before.filter(|_| event.after.is_none())?.ino, at)))
        .collect();
    let mut directories: FxHashMap<u64, Directory> = FxHashMap::default();
    for event in events {
        let Some(parent) = event.before.and_then(|inode| inode.parent_ino) else {
            continue;
        };
        if event.after.is_some() || gone.contains_key(&parent) || directories.contains_key(&parent)
        {
            continue;
        }
        let changed = nodes.by_ino(parent).and_then(|(_, node)| {
            let t = node.inode.mtime_ns.or(node.inode.ctime_ns)?;
            interval.contains(t).then_some(t)
        });
        let directory = Directory {
            changed,
            moved: i64::MIN,
        };
        directories.insert(parent, directory);
    }
    for event in events {
        let (before, after) = (place(event.before), place(event.after));
        if event.after.is_none() || before == after {
            continue;
        }
        for (parent, _) in before.into_iter().chain(after) {
            if let Some(directory) = parent.and_then(|p| directories.get_mut(&p)) {
                directory.moved = directory.moved.max(event.t);
            }
        }
    }
    for (event, evidence) in events.iter().zip(found.iter_mut()) {
        let parent = event.before.and_then(|inode| inode.parent_ino);
        let Some(directory) = parent.and_then(|p| directories.get(&p)) else {
            continue;
        };
        if let Some(t) = directory.changed.filter(|_| event.after.is_none()) {
            if directory.moved < t && bursts {
                evidence.exactly(t, Evidence::LAST_REMOVAL);
            } else {
                evidence.bound(t, Evidence::DIRECTORY);
            }
        }
    }
    // Down from directories that are gone, the uppermost first.
    for at in 0..events.len() {
        let mut chain = vec![at];
        while let Some(parent) = events[chain[chain.len() - 1]]
            .before
            .and_then(|inode| inode.parent_ino)
            .and_then(|ino| gone.get(&ino))
            .filter(|parent| !chain.contains(parent) && chain.len() < MAX_DEPTH)
        {
            chain.push(*parent);
        }
        let top = found[chain[chain.len() - 1]];
        if chain.len() > 1 && top.kinds & (Evidence::DIRECTORY | Evidence::LAST_REMOVAL) != 0 {
            let kinds = top.kinds & (Evidence::DIRECTORY | Evidence::LAST_REMOVAL);
            match top.exact.filter(|_| kinds & Evidence::LAST_REMOVAL != 0) {
                Some(t) => found[at].exactly(t, Evidence::LAST_REMOVAL),
                None => found[at].bound(top.not_after, Evidence::DIRECTORY),
            }
        }
    }
}

/// Directory of an inode, and its name there. Not the path: it changes with every directory above.
fn place(inode: Option<&Inode>) -> Option<(Option<u64>, Option<&str>)> {
    let inode = inode?;
    let name = inode
        .path
        .as_deref()
        .and_then(|path| path.rsplit('/').next());
    Some((inode.parent_ino, name))
}

/// Directories below one another that are followed upwards.
const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtracting_runs_leaves_what_is_in_no_other() {
        let runs = vec![(0, 10), (20, 30), (40, 50)];
        assert_eq!(subtract(runs.clone(), &[]), runs);
        assert_eq!(
            subtract(runs, &[(0, 2), (5, 6), (8, 22), (29, 60)]),
            [(2, 5), (6, 8), (22, 29)]
        );
        assert_eq!(subtract(vec![(1, 5)], &[(0, 9)]), []);
    }
}
