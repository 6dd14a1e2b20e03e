//! Busy extents: what was freed, and is not to be used before the log with that is on disk.
//!
//! Spec: `docs/spec/xfs.md`, section 8. Kept in a red-black tree by start, as the kernel does: what a free extent is
//! trimmed to depends on the shape of the tree.

/// Freed blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    start: u32,
    end: u32,
    /// The transaction that freed them.
    by: u64,
    parent: u32,
    /// Left and right.
    child: [u32; 2],
    is_red: bool,
}

/// The leaves of the tree, which are black.
const NIL: u32 = 0;
const LEFT: usize = 0;

/// The busy extents of an AG.
#[derive(Clone, Debug)]
pub(super) struct Busy {
    /// The first one stands for all leaves.
    nodes: Vec<Node>,
    spare: Vec<u32>,
    root: u32,
}

impl Default for Busy {
    fn default() -> Busy {
        Busy {
            nodes: vec![Node::default()],
            spare: Vec::new(),
            root: NIL,
        }
    }
}

impl Busy {
    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    /// Blocks are freed by a transaction.
    pub fn insert(&mut self, start: u32, blocks: u32, by: u64) {
        let (mut parent, mut at) = (NIL, self.root);
        while at != NIL {
            parent = at;
            at = self.node(at).child[usize::from(start > self.node(at).start)];
        }
        let node = Node {
            start,
            end: start + blocks,
            by,
            parent,
            child: [NIL; 2],
            is_red: true,
        };
        let new = if let Some(new) = self.spare.pop() {
            *self.node_mut(new) = node;
            new
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        if parent == NIL {
            self.root = new;
        } else {
            let side = usize::from(start > self.node(parent).start);
            self.node_mut(parent).child[side] = new;
        }
        self.balance_inserted(new);
    }

    fn side_of(&self, at: u32) -> usize {
        usize::from(self.node(self.node(at).parent).child[LEFT] != at)
    }

    /// Turns a node down to one side; its child on the other takes its place.
    fn rotate(&mut self, at: u32, side: usize) {
        let up = self.node(at).child[1 - side];
        let moved = self.node(up).child[side];
        self.node_mut(at).child[1 - side] = moved;
        if moved != NIL {
            self.node_mut(moved).parent = at;
        }
        self.put_in_place(at, up);
        self.node_mut(up).child[side] = at;
        self.node_mut(at).parent = up;
    }

    /// A node takes the place of another one below its parent.
    fn put_in_place(&mut self, old: u32, new: u32) {
        let parent = self.node(old).parent;
        if parent == NIL {
            self.root = new;
        } else {
            let side = self.side_of(old);
            self.node_mut(parent).child[side] = new;
        }
        self.node_mut(new).parent = parent;
    }

    fn balance_inserted(&mut self, mut at: u32) {
        while self.node(self.node(at).parent).is_red {
            let parent = self.node(at).parent;
            let above = self.node(parent).parent;
            let side = self.side_of(parent);
            let uncle = self.node(above).child[1 - side];
            if self.node(uncle).is_red {
                self.node_mut(parent).is_red = false;
                self.node_mut(uncle).is_red = false;
                self.node_mut(above).is_red = true;
                at = above;
                continue;
            }
            let mut top = parent;
            if self.side_of(at) != side {
                self.rotate(parent, side);
                top = at;
                at = parent;
            }
            self.node_mut(top).is_red = false;
            self.node_mut(above).is_red = true;
            self.rotate(above, 1 - side);
        }
        let root = self.root;
        self.node_mut(root).is_red = false;
    }

    fn leftmost(&self, mut at: u32) -> u32 {
        while self.node(at).child[LEFT] != NIL {
            at = self.node(at).child[LEFT];
        }
        at
    }

    fn erase(&mut self, at: u32) {
        let [left, right] = self.node(at).child;
        let (hole, was_red) = if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            let was_red = self.node(at).is_red;
            self.put_in_place(at, child);
            (child, was_red)
        } else {
            let next = self.leftmost(right);
            let was_red = self.node(next).is_red;
            let child = self.node(next).child[1];
            if next == right {
                // The leaf has to know where it hangs.
                self.node_mut(child).parent = next;
            } else {
                self.put_in_place(next, child);
                self.node_mut(next).child[1] = right;
                self.node_mut(right).parent = next;
            }
            self.put_in_place(at, next);
            self.node_mut(next).child[LEFT] = left;
            self.node_mut(left).parent = next;
            self.node_mut(next).is_red = self.node(at).is_red;
            (child, was_red)
        };
        if !was_red {
            self.balance_erased(hole);
        }
        self.nodes[NIL as usize] = Node::default();
        self.spare.push(at);
    }

    /// A way down is one black node short at this one.
    fn balance_erased(&mut self, mut at: u32) {
        while at != self.root && !self.node(at).is_red {
            let parent = self.node(at).parent;
            let side = usize::from(self.node(parent).child[LEFT] != at);
            let mut sibling = self.node(parent).child[1 - side];
            if self.node(sibling).is_red {
                self.node_mut(sibling).is_red = false;
                self.node_mut(parent).is_red = true;
                self.rotate(parent, side);
                sibling = self.node(parent).child[1 - side];
            }
            let near = self.node(sibling).child[side];
            let far = self.node(sibling).child[1 - side];
            if !self.node(near).is_red && !self.node(far).is_red {
                self.node_mut(sibling).is_red = true;
                at = parent;
                continue;
            }
            if !self.node(far).is_red {
                self.node_mut(near).is_red = false;
                self.node_mut(sibling).is_red = true;
                self.rotate(sibling, 1 - side);
                sibling = near;
            }
            let far = self.node(sibling).child[1 - side];
            self.node_mut(sibling).is_red = self.node(parent).is_red;
            self.node_mut(parent).is_red = false;
            self.node_mut(far).is_red = false;
            self.rotate(parent, side);
            at = self.root;
        }
        self.node_mut(at).is_red = false;
    }

    /// The transaction that freed the extent that begins with a block, if there is one.
    pub fn freed_by(&self, start: u32) -> Option<u64> {
        let at = self.find(start)?;
        Some(self.node(at).by)
    }

    fn find(&self, start: u32) -> Option<u32> {
        let mut at = self.root;
        while at != NIL {
            let node = self.node(at);
            if node.start == start {
                return Some(at);
            }
            at = node.child[usize::from(start > node.start)];
        }
        None
    }

    /// The extent that begins with a block is no longer busy.
    pub fn remove(&mut self, start: u32) {
        if let Some(at) = self.find(start) {
            self.erase(at);
        }
    }

    /// The log is on disk: only what the running transaction freed stays busy.
    pub fn clear(&mut self, running: u64) {
        if self.root == NIL {
            return;
        }
        let mut gone = Vec::new();
        let mut stays = false;
        self.visit(self.root, &mut |node| {
            if node.by == running {
                stays = true;
            } else {
                gone.push(node.start);
            }
        });
        if stays {
            for start in gone {
                self.remove(start);
            }
        } else {
            *self = Busy::default();
        }
    }

    /// Visits what is busy, ascending.
    fn visit(&self, at: u32, visit: &mut dyn FnMut(&Node)) {
        if at != NIL {
            let node = self.node(at);
            self.visit(node.child[LEFT], visit);
            visit(node);
            self.visit(node.child[1], visit);
        }
    }

    /// What may be used of the free blocks from `from` to `to`, for a request of `least` to `most` of them: start and
    /// end, the same if nothing.
    ///
    /// Only the nodes on one way down the tree cut it, as in the kernel: a set of busy blocks, bits say, is faster and
    /// was tried, but gives other places on a disk that is nearly full.
    pub fn trim(&self, (mut from, mut to): (u32, u32), least: u32, most: u32) -> (u32, u32) {
        let mut at = self.root;
        while at != NIL && to - from >= least {
            let Node {
                start, end, child, ..
            } = *self.node(at);
            if to <= start {
                at = child[LEFT];
            } else if from >= end {
                at = child[1];
            } else if start <= from {
                if to <= end {
                    return (from, from);
                }
                from = end;
            } else if end >= to || start - from >= most {
                to = start;
            } else if u64::from(to - end) >= 4 * u64::from(most) {
                from = end;
            } else if start - from >= least {
                to = start;
            } else {
                return (from, from);
            }
        }
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;
    use std::collections::BTreeMap;

    /// Black nodes on the way down; the rules of colors hold.
    fn blacks(busy: &Busy, at: u32) -> u32 {
        if at == NIL {
            return 1;
        }
        let node = busy.node(at);
        let [left, right] = node.child;
        for child in node.child.into_iter().filter(|child| *child != NIL) {
            assert!(
                !(node.is_red && busy.node(child).is_red),
                "two red in a row"
            );
            assert_eq!(busy.node(child).parent, at);
        }
        let count = blacks(busy, left);
        assert_eq!(count, blacks(busy, right));
        count + u32::from(!node.is_red)
    }

    #[test]
    fn the_tree_is_balanced_and_holds_what_was_put_in() {
        let mut random = Rng::new(7);
        let mut busy = Busy::default();
        let mut expected = BTreeMap::new();
        for round in 0..4_000_u64 {
            let start = random.below(300) as u32 * 4;
            if expected.remove(&start).is_some() {
                busy.remove(start);
            } else {
                expected.insert(start, round % 2);
                busy.insert(start, 3, round % 2);
            }
            if round % 500 == 499 {
                busy.clear(1);
                expected.retain(|_, by| *by == 1);
            }
            blacks(&busy, busy.root);
            let mut found = Vec::new();
            busy.visit(busy.root, &mut |node| found.push((node.start, node.by)));
            assert!(found.into_iter().eq(expected.iter().map(|(a, b)| (*a, *b))));
        }
    }

    #[test]
    fn a_free_extent_is_cut_where_it_is_busy() {
        let mut busy = Busy::default();
        busy.insert(100, 10, 1);
        assert_eq!(busy.trim((0, 50), 1, 8), (0, 50));
        assert_eq!(busy.trim((90, 105), 1, 8), (90, 100));
        assert_eq!(busy.trim((105, 130), 1, 8), (110, 130));
        assert_eq!(busy.trim((102, 108), 1, 8), (102, 102));
        // In the middle: what is in front if that is enough, else what is behind if that is plenty.
        assert_eq!(busy.trim((90, 120), 1, 8), (90, 100));
        assert_eq!(busy.trim((95, 200), 1, 8), (110, 200));
        assert_eq!(busy.trim((95, 120), 1, 8), (95, 100));
        assert_eq!(busy.trim((99, 120), 2, 8), (99, 99));
    }
}
