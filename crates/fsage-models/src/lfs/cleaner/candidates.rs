//! The segments that may be cleaned, kept so that the best of them are found without looking at each.
//!
//! They are the leaves of a tree, in the order of their times. A node has the fewest live bytes and the earliest time
//! of any segment below it: no segment there is better than one with both, since a policy ranks none lower for fewer
//! live bytes or a higher age. The search goes down where that promises most, and the first segment it comes to is the
//! best. As a node holds segments of about the same age, what it promises is about true.

use crate::lfs::memory::heap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What a segment is ranked by; of several segments the best they can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    time: u64,
    live: u32,
    /// The lowest number of those with the fewest live bytes.
    emptiest: u32,
    /// The lowest number.
    lowest: u32,
}

impl Node {
    /// Nothing is below it.
    const NOTHING: Node = Node {
        time: u64::MAX,
        live: u32::MAX,
        emptiest: u32::MAX,
        lowest: u32::MAX,
    };

    fn and(self, other: Node) -> Node {
        let (live, emptiest) = (self.live, self.emptiest).min((other.live, other.emptiest));
        Node {
            time: self.time.min(other.time),
            live,
            emptiest,
            lowest: self.lowest.min(other.lowest),
        }
    }
}

/// Leaf of a segment that may not be cleaned.
const NO_LEAF: u32 = 0;

/// The order is made anew when one of so many segments came behind it.
const SHARE_UNORDERED: usize = 32;

/// Segments that may be cleaned.
#[derive(Clone, Debug)]
pub(in crate::lfs) struct Candidates {
    /// The root is number 1, below `i` are `2 * i` and `2 * i + 1`, and the leaves are the last half.
    nodes: Vec<Node>,
    /// Leaf of each segment.
    leaf_of: Vec<u32>,
    /// The leaf of the next segment that comes.
    next: usize,
    /// The leaf from which on they are in the order in which they came.
    unordered: usize,
    /// For a search.
    room: Room,
}

/// Room for what a search has before it, empty.
#[derive(Clone, Debug, Default)]
pub(in crate::lfs) struct Room(Vec<Ranked>);

impl Candidates {
    /// None yet, of so many segments.
    pub fn new(segments: u32) -> Candidates {
        let segments = segments as usize;
        let leaves = (segments + segments / SHARE_UNORDERED + 1).next_power_of_two();
        Candidates {
            nodes: vec![Node::NOTHING; 2 * leaves],
            leaf_of: vec![NO_LEAF; segments],
            next: leaves,
            unordered: leaves,
            room: Room::default(),
        }
    }

    /// Bytes of the tree.
    pub fn heap_bytes(&self) -> u64 {
        heap::<Node>(self.nodes.capacity()) + heap::<u32>(self.leaf_of.capacity())
    }

    /// A segment may be cleaned, or has changed. Its time is that from which the age rule counts.
    pub fn put(&mut self, segment: u32, live: u32, time: u64) {
        if self.leaf_of[segment as usize] == NO_LEAF {
            if self.next - self.unordered > self.leaf_of.len() / SHARE_UNORDERED {
                self.put_in_order();
            }
            self.leaf_of[segment as usize] = self.next as u32;
            self.next += 1;
        }
        let leaf = self.leaf_of[segment as usize] as usize;
        let node = Node {
            time,
            live,
            emptiest: segment,
            lowest: segment,
        };
        self.set(leaf, node);
    }

    /// Live bytes and time of a segment, if it may be cleaned.
    pub fn get(&self, segment: u32) -> Option<(u32, u64)> {
        let leaf = self.leaf_of[segment as usize];
        let node = self.nodes[leaf as usize];
        (leaf != NO_LEAF).then_some((node.live, node.time))
    }

    /// A segment may not be cleaned.
    pub fn remove(&mut self, segment: u32) {
        let leaf = std::mem::replace(&mut self.leaf_of[segment as usize], NO_LEAF);
        if leaf != NO_LEAF {
            self.set(leaf as usize, Node::NOTHING);
        }
    }

    /// Sets a leaf, and what depends on it above.
    fn set(&mut self, leaf: usize, node: Node) {
        let (mut i, mut node) = (leaf, node);
        while i > 0 && self.nodes[i] != node {
            self.nodes[i] = node;
            i /= 2;
            node = self.nodes[2 * i].and(self.nodes[2 * i + 1]);
        }
    }

    /// Puts all in the order of their times, without gaps.
    fn put_in_order(&mut self) {
        let leaves = self.nodes.len() / 2;
        let mut there = self.nodes.split_off(leaves);
        there.retain(|&node| node != Node::NOTHING);
        there.sort_unstable_by_key(|node| (node.time, node.lowest));
        self.next = leaves + there.len();
        self.unordered = self.next;
        for (leaf, node) in (leaves..).zip(&there) {
            self.leaf_of[node.lowest as usize] = leaf as u32;
        }
        self.nodes.append(&mut there);
        self.nodes.resize(2 * leaves, Node::NOTHING);
        for i in (1..leaves).rev() {
            self.nodes[i] = self.nodes[2 * i].and(self.nodes[2 * i + 1]);
        }
    }

    /// Room for a search, to be given back.
    pub fn take_room(&mut self) -> Room {
        std::mem::take(&mut self.room)
    }

    /// The room of a search that is over.
    pub fn give_room(&mut self, room: Room) {
        self.room = room;
    }

    /// Segments, the highest rank first, equal ones by number. `rank` gets live bytes and time, and may not rank lower
    /// for fewer bytes or an earlier time.
    pub fn best_first<R: Fn(u32, u64) -> f64>(&self, room: Room, rank: R) -> BestFirst<'_, R> {
        let mut search = BestFirst {
            nodes: &self.nodes,
            rank,
            open: BinaryHeap::from(room.0),
            ranked: 0,
        };
        search.open(1);
        search
    }
}

/// A search that goes on as long as it is asked.
pub(in crate::lfs) struct BestFirst<'a, R> {
    nodes: &'a [Node],
    rank: R,
    open: BinaryHeap<Ranked>,
    /// Nodes that were ranked.
    pub ranked: u64,
}

impl<R: Fn(u32, u64) -> f64> BestFirst<'_, R> {
    /// The search is over.
    pub fn into_room(self) -> Room {
        let mut room = self.open.into_vec();
        room.clear();
        Room(room)
    }

    fn open(&mut self, index: usize) {
        let node = self.nodes[index];
        if node != Node::NOTHING {
            self.ranked += 1;
            let rank = (self.rank)(node.live, node.time);
            // Where a byte more makes a difference, none but the emptiest can have this rank.
            let more = (self.rank)(node.live.saturating_add(1), node.time);
            let number = if more < rank {
                node.emptiest
            } else {
                node.lowest
            };
            self.open.push(Ranked {
                rank,
                number,
                index,
            });
        }
    }
}

impl<R: Fn(u32, u64) -> f64> Iterator for BestFirst<'_, R> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            let best = self.open.pop()?;
            if best.index >= self.nodes.len() / 2 {
                return Some(best.number);
            }
            self.open(2 * best.index);
            self.open(2 * best.index + 1);
        }
    }
}

/// A node and what it promises.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    rank: f64,
    number: u32,
    index: usize,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let by_rank = self.rank.total_cmp(&other.rank);
        by_rank.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use super::super::{ALL, Candidate, Policy};
    use super::*;
    use fsage_core::Rng;
    use proptest::prelude::*;

    const SEGMENT_BYTES: u32 = 1 << 20;
    const NOW: u64 = 5_000_000;

    fn ranker(policy: &'static dyn Policy, now: u64) -> impl Fn(u32, u64) -> f64 {
        move |live, time| {
            policy.rank(&Candidate {
                segment_bytes: SEGMENT_BYTES,
                live,
                age: now - time,
            })
        }
    }

    /// All segments, ranked one by one and sorted.
    fn sorted(there: &[Option<(u32, u64)>], rank: impl Fn(u32, u64) -> f64) -> Vec<u32> {
        let mut all: Vec<(f64, u32)> = (0..)
            .zip(there)
            .filter_map(|(s, known)| known.map(|(live, time)| (rank(live, time), s)))
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.into_iter().map(|(_, s)| s).collect()
    }

    proptest! {
        #[test]
        fn segments_come_in_the_order_of_ranks_one_by_one(
            steps in prop::collection::vec((0_u32..40, 0_u32..12, 0_u64..30, 0_u8..4), 1..300)
        ) {
            let mut candidates = Candidates::new(40);
            let mut there = [None; 40];
            for (segment, blocks, time, kind) in steps {
                // Few sizes and times, so that ranks are often equal.
                let live = blocks * (SEGMENT_BYTES / 11);
                if kind == 0 {
                    candidates.remove(segment);
                    there[segment as usize] = None;
                } else {
                    candidates.put(segment, live, time);
                    there[segment as usize] = Some((live, time));
                }
                for policy in ALL {
                    let got: Vec<u32> = candidates.best_first(Room::default(), ranker(policy, 30)).collect();
                    prop_assert_eq!(got, sorted(&there, ranker(policy, 30)), "{}", policy.name());
                }
            }
        }
    }

    #[test]
    fn no_policy_ranks_lower_for_fewer_live_bytes_or_a_higher_age() {
        // What the tree builds on; also of segments that look fuller than full, as with the leak of 4.4BSD.
        let lives: Vec<u32> = (0..300).map(|i| i * 4224).collect();
        let ages = [0, 1, 2, 9, 115, 4096, 1_000_000, 1 << 40];
        for policy in ALL {
            let rank = |live, age| {
                policy.rank(&Candidate {
                    segment_bytes: SEGMENT_BYTES,
                    live,
                    age,
                })
            };
            for pair in lives.windows(2) {
                for age in ages {
                    let (fewer, more) = (rank(pair[0], age), rank(pair[1], age));
                    assert!(fewer >= more, "{}: {pair:?} {age}", policy.name());
                }
            }
            for pair in ages.windows(2) {
                for &live in &lives {
                    let (young, old) = (rank(live, pair[0]), rank(live, pair[1]));
                    assert!(old >= young, "{}: {live} {pair:?}", policy.name());
                }
            }
        }
    }

    /// Nodes ranked for a choice among 100,000 segments, on average over 1000; what is chosen is written anew.
    fn ranked_of_100_000(policy: &'static dyn Policy, live: impl Fn(&mut Rng) -> u32) -> u64 {
        let mut rng = Rng::new(4);
        let mut candidates = Candidates::new(100_000);
        for segment in 0..100_000 {
            candidates.put(segment, live(&mut rng), rng.below(NOW));
        }
        candidates.put_in_order();
        let mut ranked = 0;
        for now in NOW..NOW + 1000 {
            let mut search = candidates.best_first(Room::default(), ranker(policy, now));
            let best = search.next().expect("a segment");
            ranked += search.ranked;
            candidates.remove(best);
            candidates.put(best, live(&mut rng), now);
        }
        ranked / 1000
    }

    #[test]
    fn a_choice_among_100_000_segments_ranks_few() {
        // The tree has 17 levels: a search that goes straight down ranks 2 * 17 nodes, one that looks at all 100,000.
        // Any share of live bytes; all full; a hundredth empty, and the others equal; all empty.
        let any = |rng: &mut Rng| rng.below(u64::from(SEGMENT_BYTES)) as u32;
        let full = |_: &mut Rng| SEGMENT_BYTES;
        let same = |rng: &mut Rng| if rng.below(100) == 0 { 0 } else { 900_000 };
        for policy in ALL {
            let ranked = [
                ranked_of_100_000(policy, any),
                ranked_of_100_000(policy, full),
                ranked_of_100_000(policy, same),
                ranked_of_100_000(policy, |_| 0),
            ];
            assert!(
                ranked.iter().all(|&n| n <= 200),
                "{}: {ranked:?}",
                policy.name()
            );
        }
    }
}
