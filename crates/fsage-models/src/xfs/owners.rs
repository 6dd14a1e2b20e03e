//! The tree of owners of an AG, which `-m rmapbt=1` makes: who has which blocks.
//!
//! Spec: `docs/spec/xfs.md`, section 25.

use super::btree::{Cursor, Limits, Record, Tree, Wanted};
use super::space::Space;

/// Owners that are no inodes.
pub(super) const HEADERS: i64 = -3;
pub(super) const LOG: i64 = -4;
/// Trees of free space and of owners, and the free list.
pub(super) const AG: i64 = -5;
pub(super) const INODE_TREES: i64 = -6;
pub(super) const INODES: i64 = -7;
pub(super) const REFERENCES: i64 = -8;

/// Blocks with one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub start: u32,
    pub blocks: u32,
    /// An inode, or one of the constants.
    pub owner: i64,
    /// The block of the file; 0 of what is no data.
    pub offset: u32,
    pub kind: Kind,
}

/// What blocks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Data that was written, or metadata.
    Written,
    /// Data that was not written.
    Unwritten,
    /// A block of the extent tree of an inode.
    Tree,
}

impl Record for Owned {
    type Key = u32;
    type Block = u32;
    const LEAF: Limits = Limits {
        most: 168,
        least: 84,
    };
    const NODE: Limits = Limits {
        most: 91,
        least: 45,
    };

    fn key(&self) -> u32 {
        self.start
    }
}

impl Owned {
    pub fn end(&self) -> u32 {
        self.start + self.blocks
    }

    pub fn has_offset(&self) -> bool {
        self.owner >= 0 && self.kind != Kind::Tree
    }

    /// Whether a record goes on where this one ends.
    pub fn is_continued_by(&self, next: &Owned) -> bool {
        self.end() == next.start
            && self.owner == next.owner
            && self.kind == next.kind
            && (!self.has_offset() || self.offset + self.blocks == next.offset)
    }

    /// What is left of it from a block of the AG on.
    fn from(&self, start: u32) -> Owned {
        let skipped = start - self.start;
        Owned {
            start,
            blocks: self.blocks - skipped,
            offset: if self.has_offset() {
                self.offset + skipped
            } else {
                self.offset
            },
            ..*self
        }
    }

    /// What is left of it up to a block of the AG.
    fn until(&self, end: u32) -> Owned {
        Owned {
            blocks: end - self.start,
            ..*self
        }
    }
}

/// A change of owners that is put off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub ag: u32,
    pub owned: Owned,
    pub what: What,
}

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Add,
    Remove,
    /// Unwritten blocks were written.
    Convert,
}

impl Space {
    /// Runs a change of owners.
    pub fn change_owner(&mut self, change: &Change) {
        match change.what {
            What::Add => self.add_owner(change.ag, change.owned),
            What::Remove => self.remove_owner(change.ag, change.owned.start, change.owned.blocks),
            What::Convert => self.convert_owner(change.ag, change.owned),
        }
    }

    /// Blocks of metadata have an owner from now on.
    pub fn add_metadata_owner(
        &mut self,
        ag: u32,
        (start, blocks): (u32, u32),
        owner: i64,
        kind: Kind,
    ) {
        if self.geometry.features.has_owners() {
            self.add_owner(
                ag,
                Owned {
                    start,
                    blocks,
                    owner,
                    offset: 0,
                    kind,
                },
            );
        }
    }

    fn add_owner(&mut self, ag: u32, new: Owned) {
        let Some((tree, mut blocks)) = self.owners(ag) else {
            return;
        };
        let (mut cursor, found) = tree.look_up(new.start, Wanted::AtMost);
        let left = found.then(|| tree.get(&cursor).copied()).flatten();
        let left = left.filter(|left| left.is_continued_by(&new));
        let left_cursor = cursor;
        let right = tree
            .next(&mut cursor)
            .then(|| tree.get(&cursor).copied())
            .flatten();
        let right = right.filter(|right| new.is_continued_by(right));
        match (left, right) {
            (Some(left), None) => {
                let end = new.end();
                tree.update(
                    &left_cursor,
                    Owned {
                        blocks: end - left.start,
                        ..left
                    },
                );
            }
            (Some(left), Some(right)) => {
                tree.delete(cursor, &mut blocks);
                let end = right.end();
                tree.replace(
                    left.start,
                    Owned {
                        blocks: end - left.start,
                        ..left
                    },
                );
            }
            (None, Some(right)) => {
                tree.update(
                    &cursor,
                    Owned {
                        blocks: new.blocks + right.blocks,
                        ..new
                    },
                );
            }
            (None, None) => tree.insert(cursor, new, &mut blocks),
        }
    }

    /// Blocks have no owner any more.
    pub fn remove_owner(&mut self, ag: u32, start: u32, blocks_gone: u32) {
        let Some((tree, mut blocks)) = self.owners(ag) else {
            return;
        };
        let (mut cursor, _) = tree.look_up(start, Wanted::AtMost);
        let Some(&record) = tree.get(&cursor) else {
            debug_assert!(false, "block {start} of AG {ag} has no owner");
            return;
        };
        let end = start + blocks_gone;
        debug_assert!(record.start <= start && end <= record.end());
        match (record.start == start, record.end() == end) {
            (true, true) => tree.delete(cursor, &mut blocks),
            (true, false) => tree.update(&cursor, record.from(end)),
            (false, true) => tree.update(&cursor, record.until(start)),
            (false, false) => {
                tree.update(&cursor, record.until(start));
                tree.next(&mut cursor);
                tree.insert(cursor, record.from(end), &mut blocks);
            }
        }
    }

    /// Unwritten blocks of a file were written.
    fn convert_owner(&mut self, ag: u32, piece: Owned) {
        let Some((tree, mut blocks)) = self.owners(ag) else {
            return;
        };
        let (mut cursor, _) = tree.look_up(piece.start, Wanted::AtMost);
        let Some(&whole) = tree.get(&cursor) else {
            debug_assert!(false, "block {} of AG {ag} has no owner", piece.start);
            return;
        };
        let written = Owned {
            kind: Kind::Written,
            ..piece
        };
        let beside = |step: fn(&Tree<Owned>, &mut Cursor) -> bool| {
            let mut cursor = cursor;
            step(tree, &mut cursor)
                .then(|| tree.get(&cursor).copied())
                .flatten()
        };
        let left = beside(Tree::previous).filter(|left| left.is_continued_by(&written));
        let right = beside(Tree::next).filter(|right| written.is_continued_by(right));
        let grown = |left: Owned, end: u32| Owned {
            blocks: end - left.start,
            ..left
        };
        let (at_start, at_end) = (whole.start == piece.start, whole.end() == piece.end());
        match (at_start, at_end) {
            (true, true) => match (left, right) {
                (Some(left), Some(right)) => {
                    tree.take(right.start, &mut blocks);
                    tree.take(whole.start, &mut blocks);
                    tree.replace(left.start, grown(left, right.end()));
                }
                (Some(left), None) => {
                    tree.take(whole.start, &mut blocks);
                    tree.replace(left.start, grown(left, whole.end()));
                }
                (None, Some(right)) => {
                    tree.take(right.start, &mut blocks);
                    tree.replace(whole.start, grown(written, right.end()));
                }
                (None, None) => tree.update(&cursor, written),
            },
            (true, false) => {
                tree.update(&cursor, whole.from(piece.end()));
                match left {
                    Some(left) => tree.replace(left.start, grown(left, piece.end())),
                    None => tree.insert(cursor, written, &mut blocks),
                }
            }
            (false, true) => {
                tree.update(&cursor, whole.until(piece.start));
                match right {
                    Some(right) => {
                        tree.next(&mut cursor);
                        tree.update(&cursor, grown(written, right.end()));
                    }
                    None => tree.put(written, &mut blocks),
                }
            }
            (false, false) => {
                tree.update(&cursor, whole.from(piece.end()));
                tree.insert(cursor, whole.until(piece.start), &mut blocks);
                tree.put(written, &mut blocks);
            }
        }
    }
}
