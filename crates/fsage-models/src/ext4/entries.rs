//! What is in a directory: entries in blocks, and an index over them by hash once they fill more than one.
//!
//! Spec: `docs/spec/ext4.md`, section 9.

mod filled;

use super::hash::Key;
use crate::name_table::Name;

/// Bytes of `.`, and what an entry has besides its name.
const DOT: u16 = 12;
const HEADER: usize = 8;
/// Bytes at the end of a leaf for its checksum, and behind the places of an index.
const TAIL: u32 = 12;
const INDEX_TAIL: usize = 8;

/// An entry of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Its name; nothing for what is not in use, and for `.` and `..`.
    pub name: Option<Name>,
    /// What it leads to.
    pub inode: u32,
    /// From its beginning to that of the next.
    pub bytes: u16,
    /// The hash of its name.
    hash: u32,
    /// Bytes of its name; 0 of what is not in use.
    pub length: u8,
}

/// A place in an index: hashes from this one on are in this block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub hash: u32,
    pub block: u32,
}

/// A block of a directory.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Leaf(Vec<Item>),
    Index(Vec<Place>),
}

/// How directories of a file system are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub block_bytes: u32,
    /// Blocks end with a checksum.
    pub has_sums: bool,
}

/// What is in a directory.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    pub blocks: Vec<Block>,
    /// Names in it.
    pub count: u64,
}

/// There is no block for the directory.
#[derive(Debug)]
pub(super) struct NoBlock;

/// Bytes of an entry with a name of so many.
fn need(length: u8) -> u16 {
    (HEADER + usize::from(length)).next_multiple_of(4) as u16
}

impl Item {
    /// An entry that is not in use; or, with a length, `.` or `..`.
    pub fn nameless(bytes: u16, length: u8) -> Item {
        Item {
            name: None,
            inode: 0,
            bytes,
            hash: 0,
            length,
        }
    }

    /// An entry that leads to an inode, up to the next.
    pub fn of(key: Key, inode: u32, bytes: u16) -> Item {
        Item {
            name: Some(key.name),
            inode,
            bytes,
            hash: key.hash,
            length: key.length,
        }
    }

    fn needs(&self) -> u16 {
        need(self.length)
    }

    fn used(&self) -> bool {
        self.length > 0
    }
}

impl Format {
    /// Bytes of a leaf that entries share.
    pub fn leaf_bytes(self) -> u16 {
        (self.block_bytes - if self.has_sums { TAIL } else { 0 }) as u16
    }

    /// Places in the index of the first block, and in that of others.
    pub fn limits(self) -> (usize, usize) {
        let tail = if self.has_sums { INDEX_TAIL } else { 0 };
        let bytes = self.block_bytes as usize - tail;
        ((bytes - 32) / 8, (bytes - 8) / 8)
    }
}

/// The place in an index where a hash belongs: the last at or below it.
fn place_of(index: &[Place], hash: u32) -> usize {
    index[1..].partition_point(|place| place.hash <= hash)
}

/// Sorts as the kernel does, which matters where hashes are equal.
fn sort_by_hash(map: &mut [Item]) {
    let mut gap = map.len();
    while gap > 2 {
        gap = gap * 10 / 13;
        if gap == 9 || gap == 10 {
            gap = 11;
        }
        for low in (0..map.len().saturating_sub(gap)).rev() {
            if map[low + gap].hash < map[low].hash {
                map.swap(low, low + gap);
            }
        }
    }
    loop {
        let mut more = false;
        for low in (0..map.len().saturating_sub(1)).rev() {
            if map[low + 1].hash < map[low].hash {
                map.swap(low, low + 1);
                more = true;
            }
        }
        if !more {
            return;
        }
    }
}

/// Entries one behind the other, the last of which takes the rest.
fn pack(items: impl Iterator<Item = Item>, bytes: u16) -> Vec<Item> {
    let mut left = bytes;
    let mut packed: Vec<Item> = items
        .map(|item| {
            let bytes = item.needs();
            left -= bytes;
            Item { bytes, ..item }
        })
        .collect();
    if let Some(last) = packed.last_mut() {
        last.bytes += left;
    }
    packed
}

/// Puts an entry into a leaf, if there is room.
fn insert(leaf: &mut Vec<Item>, new: Item, needed: u16) -> bool {
    for at in 0..leaf.len() {
        let item = leaf[at];
        if !item.used() {
            if item.bytes >= needed {
                leaf[at] = Item {
                    bytes: item.bytes,
                    ..new
                };
                return true;
            }
        } else if item.bytes >= needed {
            let own = item.needs();
            if item.bytes - own >= needed {
                leaf[at].bytes = own;
                let bytes = item.bytes - own;
                leaf.insert(at + 1, Item { bytes, ..new });
                return true;
            }
        }
    }
    false
}

impl Entries {
    /// A new directory: `.` and `..`.
    pub fn new(format: Format, inode: u32, parent: u32) -> Entries {
        let dots = |length, inode, bytes| Item {
            name: None,
            inode,
            bytes,
            hash: 0,
            length,
        };
        let rest = format.leaf_bytes() - DOT;
        Entries {
            blocks: vec![Block::Leaf(vec![
                dots(1, inode, DOT),
                dots(2, parent, rest),
            ])],
            count: 0,
        }
    }

    /// The leaf of a hash, and the index places that lead there: block and place.
    fn probe(&self, hash: u32) -> (u32, Vec<(u32, usize)>) {
        let mut path = Vec::with_capacity(2);
        let mut block = 0;
        while let Block::Index(index) = &self.blocks[block as usize] {
            let at = place_of(index, hash);
            path.push((block, at));
            block = index[at].block;
        }
        (block, path)
    }

    fn leaf(&mut self, block: u32) -> &mut Vec<Item> {
        match &mut self.blocks[block as usize] {
            Block::Leaf(items) => items,
            Block::Index(_) => unreachable!("an index leads to leaves"),
        }
    }

    fn index(&mut self, block: u32) -> &mut Vec<Place> {
        match &mut self.blocks[block as usize] {
            Block::Index(places) => places,
            Block::Leaf(_) => unreachable!("a way leads through indexes"),
        }
    }

    /// Puts a name in. `append` gives a further block to the directory.
    pub fn insert(
        &mut self,
        format: Format,
        key: Key,
        inode: u32,
        append: &mut dyn FnMut() -> bool,
    ) -> Result<(), NoBlock> {
        let needed = need(key.length);
        let new = Item {
            name: Some(key.name),
            inode,
            bytes: 0,
            hash: key.hash,
            length: key.length,
        };
        if let [Block::Leaf(leaf)] = &mut self.blocks[..] {
            if insert(leaf, new, needed) {
                self.count += 1;
                return Ok(());
            }
            self.make_index(format, append)?;
            // Its leaf is split, be there room in it now or not.
            self.split(format, 1, (0, 0), new, needed, append)?;
        } else {
            self.insert_by_hash(format, new, needed, append)?;
        }
        self.count += 1;
        Ok(())
    }

    /// The only block is full: its entries go to a second one, and it becomes the index.
    fn make_index(
        &mut self,
        format: Format,
        append: &mut dyn FnMut() -> bool,
    ) -> Result<(), NoBlock> {
        if !append() {
            return Err(NoBlock);
        }
        let mut items = self.leaf(0).split_off(2);
        let used: u16 = items.iter().map(|item| item.bytes).sum();
        if let Some(last) = items.last_mut() {
            last.bytes += format.leaf_bytes() - used;
        }
        self.blocks[0] = Block::Index(vec![Place { hash: 0, block: 1 }]);
        self.blocks.push(Block::Leaf(items));
        Ok(())
    }

    fn insert_by_hash(
        &mut self,
        format: Format,
        new: Item,
        needed: u16,
        append: &mut dyn FnMut() -> bool,
    ) -> Result<(), NoBlock> {
        let (root_limit, node_limit) = format.limits();
        loop {
            let (block, path) = self.probe(new.hash);
            if insert(self.leaf(block), new, needed) {
                return Ok(());
            }
            let (mut above, mut at) = path[path.len() - 1];
            let levels = path.len();
            let limit = if levels == 1 { root_limit } else { node_limit };
            if self.index(above).len() == limit {
                let root = path[0].0;
                let root_is_full = self.index(root).len() == root_limit;
                if root_is_full && levels == 2 {
                    return Err(NoBlock);
                }
                if !append() {
                    return Err(NoBlock);
                }
                let node = self.blocks.len() as u32;
                if levels == 1 {
                    let places = std::mem::take(self.index(root));
                    *self.index(root) = vec![Place {
                        hash: 0,
                        block: node,
                    }];
                    self.blocks.push(Block::Index(places));
                    continue;
                }
                let half = self.index(above).len() / 2;
                let upper = self.index(above).split_off(half);
                let hash = upper[0].hash;
                self.blocks.push(Block::Index(upper));
                self.index(root)
                    .insert(path[0].1 + 1, Place { hash, block: node });
                if at >= half {
                    (above, at) = (node, at - half);
                }
            }
            return self.split(format, block, (above, at), new, needed, append);
        }
    }

    /// Splits a leaf that is full, and puts an entry into one of the halves.
    fn split(
        &mut self,
        format: Format,
        block: u32,
        (above, at): (u32, usize),
        new: Item,
        needed: u16,
        append: &mut dyn FnMut() -> bool,
    ) -> Result<(), NoBlock> {
        if !append() {
            return Err(NoBlock);
        }
        let half = format.block_bytes / 2;
        let leaf = std::mem::take(self.leaf(block));
        let mut map: Vec<Item> = leaf
            .iter()
            .rev()
            .filter(|item| item.used())
            .copied()
            .collect();
        sort_by_hash(&mut map);
        let mut sum = 0;
        let mut stays = map.len();
        while stays > 0 {
            let bytes = u32::from(map[stays - 1].bytes);
            if sum + bytes / 2 > half {
                break;
            }
            sum += bytes;
            stays -= 1;
        }
        if stays == 0 {
            stays = map.len() / 2;
        }
        let border = map[stays].hash;
        let continued = stays > 0 && map[stays - 1].hash == border;
        let moved = &map[stays..];
        let goes =
            |item: &Item| item.hash > border || (item.hash == border && moved.contains(item));
        let bytes = format.leaf_bytes();
        let kept = leaf.iter().filter(|item| item.used() && !goes(item));
        let mut low = pack(kept.copied(), bytes);
        let mut high = pack(moved.iter().copied(), bytes);
        let target = if new.hash >= border {
            &mut high
        } else {
            &mut low
        };
        let inserted = insert(target, new, needed);
        debug_assert!(inserted, "half of a leaf is free");
        *self.leaf(block) = low;
        let place = Place {
            hash: border + u32::from(continued),
            block: self.blocks.len() as u32,
        };
        self.blocks.push(Block::Leaf(high));
        self.index(above).insert(at + 1, place);
        Ok(())
    }

    /// Where a name stands: its block, and its place in it.
    pub fn find(&self, key: Key, inode: u32) -> Option<(u32, usize)> {
        self.find_by(key.hash, |item| {
            item.name == Some(key.name) && item.inode == inode
        })
    }

    /// The inode of the entry with this hash whose name is the one looked for.
    pub fn inode_of(&self, hash: u32, is_it: impl Fn(Name) -> bool) -> Option<u32> {
        let (block, at) = self.find_by(hash, |item| {
            item.hash == hash && item.name.is_some_and(&is_it)
        })?;
        match &self.blocks[block as usize] {
            Block::Leaf(leaf) => Some(leaf[at].inode),
            Block::Index(_) => None,
        }
    }

    fn find_by(&self, hash: u32, is_it: impl Fn(&Item) -> bool) -> Option<(u32, usize)> {
        if let [Block::Leaf(leaf)] = &self.blocks[..] {
            return Some((0, leaf.iter().position(&is_it)?));
        }
        let (mut block, mut path) = self.probe(hash);
        loop {
            if let Block::Leaf(leaf) = &self.blocks[block as usize]
                && let Some(at) = leaf.iter().position(&is_it)
            {
                return Some((block, at));
            }
            // Names of one hash may go on in the next leaf.
            block = self.next_leaf(&mut path, hash)?;
        }
    }

    fn next_leaf(&self, path: &mut [(u32, usize)], hash: u32) -> Option<u32> {
        for level in (0..path.len()).rev() {
            let (block, at) = path[level];
            let Block::Index(index) = &self.blocks[block as usize] else {
                return None;
            };
            let Some(next) = index.get(at + 1) else {
                continue;
            };
            if next.hash != hash + 1 {
                return None;
            }
            path[level].1 += 1;
            let mut block = next.block;
            for below in &mut path[level + 1..] {
                *below = (block, 0);
                let Block::Index(index) = &self.blocks[block as usize] else {
                    return None;
                };
                block = index[0].block;
            }
            return Some(block);
        }
        None
    }

    /// Takes a name away; gives the block it stood in.
    pub fn remove(&mut self, key: Key, inode: u32) -> Option<u32> {
        let (block, at) = self.find(key, inode)?;
        self.count -= 1;
        let leaf = self.leaf(block);
        if at == 0 {
            (leaf[0].name, leaf[0].length) = (None, 0);
        } else {
            leaf[at - 1].bytes += leaf[at].bytes;
            leaf.remove(at);
        }
        Some(block)
    }

    /// Lets a name lead to another inode.
    pub fn lead(&mut self, key: Key, inode: u32, to: u32) {
        if let Some((block, at)) = self.find(key, inode) {
            self.leaf(block)[at].inode = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::Keys;
    use super::*;
    use fsage_core::Rng;
    use std::collections::BTreeMap;

    const FORMAT: Format = Format {
        block_bytes: 1024,
        has_sums: true,
    };

    fn check(entries: &Entries, keys: &Keys, expected: &BTreeMap<u64, u32>) {
        let mut found = BTreeMap::new();
        for block in &entries.blocks {
            if let Block::Leaf(leaf) = block {
                let bytes: u32 = leaf.iter().map(|item| u32::from(item.bytes)).sum();
                assert_eq!(bytes, 1012);
                for item in leaf.iter().filter(|item| item.used()) {
                    assert!(item.bytes >= item.needs());
                    if let Some(name) = item.name {
                        let id = keys.names.with_bytes(name, |bytes| {
                            String::from_utf8_lossy(&bytes[1..]).parse::<u64>()
                        });
                        found.insert(id.expect("a number"), item.inode);
                    }
                }
            }
        }
        assert_eq!(&found, expected);
        assert_eq!(entries.count, expected.len() as u64);
    }

    #[test]
    fn names_that_come_and_go_are_found_in_an_index_of_two_levels() {
        let keys = Keys::default();
        let mut random = Rng::new(5);
        let mut entries = Entries::new(FORMAT, 12, 2);
        let mut expected = BTreeMap::new();
        for id in 0..20_000 {
            let key = keys.key(Name::file(id));
            entries
                .insert(FORMAT, key, id as u32 + 20, &mut || true)
                .expect("room");
            expected.insert(id, id as u32 + 20);
            if random.below(3) == 0 {
                let gone = random.below(id + 1);
                if let Some(inode) = expected.remove(&gone) {
                    entries.remove(keys.key(Name::file(gone)), inode);
                }
            }
        }
        check(&entries, &keys, &expected);
        assert_eq!(entries.probe(0).1.len(), 2);
        for (&id, &inode) in &expected {
            let key = keys.key(Name::file(id));
            assert!(entries.find(key, inode).is_some());
            assert!(entries.find(key, 1).is_none());
        }
    }

    #[test]
    fn a_directory_of_one_block_grows_to_three() {
        let keys = Keys::default();
        let mut entries = Entries::new(FORMAT, 12, 2);
        let mut appended = 0;
        let mut id = 0;
        while entries.blocks.len() == 1 {
            let mut append = || {
                appended += 1;
                true
            };
            let key = keys.key(Name::file(id));
            entries.insert(FORMAT, key, 20, &mut append).expect("room");
            id += 1;
        }
        assert_eq!((appended, entries.blocks.len()), (2, 3));
        // 988 bytes behind `..` have room for 82 names of 12 bytes.
        assert_eq!(id, 83);
    }
}
