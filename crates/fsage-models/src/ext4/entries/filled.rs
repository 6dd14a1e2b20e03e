//! A directory of which it is known what is in it, and perhaps how many blocks it has, but not what stands where.

use super::super::hash::Key;
use super::{Block, DOT, Entries, Format, Item, Place, pack};

/// Behind the last hash of a name.
const HASH_END: u32 = 0xffff_fffe;

/// Names of one hash, which stay together.
struct Together {
    hash: u32,
    bytes: u32,
    items: Vec<Item>,
}

/// Where leaves begin when each is filled up to a limit.
fn starts(all: &[Together], limit: u32) -> Vec<u32> {
    let (mut starts, mut filled) = (vec![0], 0);
    for together in all {
        if filled + together.bytes > limit && filled > 0 {
            starts.push(together.hash);
            filled = 0;
        }
        filled += together.bytes;
    }
    starts
}

/// Puts more starts of leaves where hashes lie furthest apart; `None` if there is no room.
fn with_empty(all: &[Together], mut starts: Vec<u32>, leaves: usize) -> Option<Vec<u32>> {
    let missing = (leaves - starts.len()) as u32;
    let hashes = all.iter().map(|together| together.hash);
    let mut gap = (0, 0);
    let mut before = 0;
    for hash in hashes.chain([HASH_END]) {
        if hash - before > gap.1 - gap.0 {
            gap = (before, hash);
        }
        before = hash;
    }
    let step = ((gap.1 - gap.0) / (missing + 1)) & !1;
    if step == 0 {
        return None;
    }
    starts.extend((1..=missing).map(|at| gap.0 + at * step));
    starts.sort_unstable();
    Some(starts)
}

impl Entries {
    /// A directory of so many blocks, or of the fewest more that names fit into. Names, each with the slot of its
    /// inode, come in the order in which they stand in one block; in several they stand by hash, in as much of each
    /// block as of the others. `None` where they do not fit into any number of blocks.
    pub fn filled(format: Format, names: &[(Key, u32)], blocks: usize) -> Option<Entries> {
        let items = names.iter().map(|&(key, slot)| Item::of(key, slot, 0));
        let mut items: Vec<Item> = items.collect();
        let bytes: u32 = items.iter().map(|item| u32::from(item.needs())).sum();
        let leaf_bytes = format.leaf_bytes();
        let count = names.len() as u64;
        let dots = [Item::nameless(DOT, 1), Item::nameless(DOT, 2)];
        if blocks <= 1 && bytes + 2 * u32::from(DOT) <= leaf_bytes.into() {
            let leaf = pack(dots.into_iter().chain(items), leaf_bytes);
            let blocks = vec![Block::Leaf(leaf)];
            return Some(Entries { blocks, count });
        }
        items.sort_by_key(|item| item.hash);
        let all: Vec<Together> = items
            .chunk_by(|a, b| a.hash == b.hash)
            .map(|items| Together {
                hash: items[0].hash,
                bytes: items.iter().map(|item| u32::from(item.needs())).sum(),
                items: items.to_vec(),
            })
            .collect();
        let largest = all.iter().map(|together| together.bytes).max().unwrap_or(0);
        if largest > leaf_bytes.into() {
            return None;
        }
        let needed = starts(&all, leaf_bytes.into()).len();
        let (root_limit, node_limit) = format.limits();
        // The index takes a block, and more of them below it when its places do not fit into that.
        let nodes_of = |leaves: usize| match leaves {
            _ if leaves <= root_limit => 0,
            _ => leaves.div_ceil(node_limit),
        };
        let mut leaves = blocks.saturating_sub(1).max(1);
        while leaves > 1 && 1 + leaves + nodes_of(leaves) > blocks {
            leaves -= 1;
        }
        let leaves = leaves.max(needed);
        // A number of blocks to which no number of leaves leads takes one block of the index more.
        let nodes = nodes_of(leaves).max((blocks.saturating_sub(1 + leaves)).min(leaves));
        if nodes > root_limit {
            return None;
        }
        let (mut low, mut high) = (largest.max(1), u32::from(leaf_bytes));
        while low < high {
            let limit = low.midpoint(high);
            if starts(&all, limit).len() <= leaves {
                high = limit;
            } else {
                low = limit + 1;
            }
        }
        let starts = with_empty(&all, starts(&all, low), leaves)?;
        let mut all = all.into_iter().peekable();
        let leaf = |at: usize| {
            let end = starts.get(at + 1).copied().unwrap_or(u32::MAX);
            let mut items = Vec::new();
            while let Some(together) = all.next_if(|together| together.hash < end) {
                items.extend(together.items);
            }
            if items.is_empty() {
                items.push(Item::nameless(leaf_bytes, 0));
                return Block::Leaf(items);
            }
            Block::Leaf(pack(items.into_iter(), leaf_bytes))
        };
        let filled: Vec<Block> = (0..leaves).map(leaf).collect();
        let places: Vec<Place> = (1..)
            .zip(&starts)
            .map(|(block, &hash)| Place { hash, block })
            .collect();
        let mut blocks = vec![Block::Index(Vec::new())];
        blocks.extend(filled);
        if nodes == 0 {
            blocks[0] = Block::Index(places);
            return Some(Entries { blocks, count });
        }
        let mut above = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let places = &places[leaves * node / nodes..leaves * (node + 1) / nodes];
            above.push(Place {
                hash: places[0].hash,
                block: blocks.len() as u32,
            });
            blocks.push(Block::Index(places.to_vec()));
        }
        blocks[0] = Block::Index(above);
        Some(Entries { blocks, count })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::hash::Keys;
    use super::*;

    const FORMAT: Format = Format {
        block_bytes: 1024,
        has_sums: true,
    };

    #[test]
    fn every_name_is_found_in_as_many_blocks_as_there_are() {
        let mut keys = Keys::default();
        for count in [0, 1, 5, 80, 90, 1000, 20_000] {
            let names: Vec<(Key, u32)> = (0..count)
                .map(|at| {
                    let name = keys.names.give(format!("{count} {at}").into_bytes().into());
                    (keys.key(name), at + 20)
                })
                .collect();
            for blocks in [0, 1, 2, 3, 20, 124, 125, 126, 127, 128, 253, 254, 400, 2000] {
                let entries = Entries::filled(FORMAT, &names, blocks).expect("they fit");
                let has = entries.blocks.len();
                let fewest = Entries::filled(FORMAT, &names, 0)
                    .expect("they fit")
                    .blocks
                    .len();
                assert_eq!(has, blocks.max(fewest), "{count} names");
                assert_eq!(entries.count, count.into());
                for &(key, slot) in &names {
                    assert!(entries.find(key, slot).is_some(), "{slot} of {blocks}");
                }
                for block in &entries.blocks {
                    match block {
                        Block::Leaf(items) => {
                            let sum: u32 = items.iter().map(|item| u32::from(item.bytes)).sum();
                            assert_eq!(sum, FORMAT.leaf_bytes().into());
                            assert!(
                                items
                                    .iter()
                                    .all(|item| item.bytes >= item.needs() || !item.used())
                            );
                        }
                        Block::Index(places) => {
                            assert!(places.windows(2).all(|pair| pair[0].hash < pair[1].hash));
                        }
                    }
                }
            }
        }
    }
}
