//! A directory that is filled at once: names spread over blocks that are given.

use super::super::areas::{Area, Areas, BYTES, HEADER};
use super::super::leaf::{Entry, Key, Leaf, address, need};
use super::{ENTRY, Entries, FIRST, Form, Grow, INDEX, LEAVES, MOST_ENTRIES, NoBlock, Numbered};
use super::{PER_INDEX, TAIL, dots, insert_short};
use std::collections::BTreeSet;

/// Blocks of a directory that grows as it likes.
#[derive(Default)]
struct Numbers(BTreeSet<u32>);

impl Grow for Numbers {
    fn add(&mut self, from: u32) -> Result<u32, NoBlock> {
        let mut number = from;
        for taken in self.0.range(from..) {
            if *taken != number {
                break;
            }
            number += 1;
        }
        self.0.insert(number);
        Ok(number)
    }

    fn remove(&mut self, number: u32) {
        self.0.remove(&number);
    }
}

impl Entries {
    /// A directory into which these names were put one after the other. Gives also where each stands.
    pub fn grown(keys: &[Key], room: usize) -> (Entries, Vec<u32>) {
        let (mut entries, mut numbers) = (Entries::new(), Numbers::default());
        let mut put = |key: &Key| entries.insert(*key, room, &mut numbers);
        let addresses = keys.iter().filter_map(|key| put(key).ok());
        let addresses = addresses.collect();
        (entries, addresses)
    }

    /// A directory of these names that has this length. Gives also where each name stands. Nothing if they do not fit
    /// there.
    pub fn of_size(keys: &[Key], size_bytes: u64, room: usize) -> Option<(Entries, Vec<u32>)> {
        let data = u32::try_from(size_bytes / u64::from(BYTES)).ok()?;
        if data == 0 || data >= LEAVES {
            return Entries::filled(keys, &[], room);
        }
        // Leaves that grew are three quarters full.
        let leaves = (keys.len() + 2).div_ceil(MOST_ENTRIES * 3 / 4) as u32;
        let leaves = if leaves > 1 { leaves + 1 } else { 1 };
        let indexes = (data as usize).div_ceil(PER_INDEX) as u32;
        [(0, 0), (1, 0), (leaves, indexes)]
            .into_iter()
            .find_map(|(leaves, indexes)| {
                let leaves = LEAVES..LEAVES + leaves;
                let numbers = (0..data).chain(leaves).chain(INDEX..INDEX + indexes);
                Entries::filled(keys, &numbers.collect::<Vec<u32>>(), room)
            })
    }

    /// A directory of these names that has just the blocks with these numbers, ascending. Gives also where each name
    /// stands. Nothing if they do not fit there.
    pub fn filled(keys: &[Key], numbers: &[u32], room: usize) -> Option<(Entries, Vec<u32>)> {
        let count = keys.len() as u64;
        if numbers.is_empty() {
            let mut short = Vec::new();
            let put = |key: &Key| insert_short(&mut short, *key, room);
            let addresses = keys.iter().map(put).collect::<Option<Vec<u32>>>()?;
            let form = Form::Short(short);
            let data = Vec::new();
            return Some((Entries { form, data, count }, addresses));
        }
        let (data, rest) = numbers.split_at(numbers.partition_point(|number| *number < LEAVES));
        let (leaves, indexes) = rest.split_at(rest.partition_point(|number| *number < INDEX));
        if data.first() != Some(&0) || leaves.first().is_some_and(|first| *first != LEAVES) {
            return None;
        }
        let is_block = leaves.is_empty();
        let table = if is_block {
            u16::try_from(keys.len() + 2).ok()?.checked_mul(ENTRY)? + TAIL
        } else {
            0
        };
        let (areas, addresses) = [true, false]
            .into_iter()
            .find_map(|evenly| placed(keys, data, table, evenly))?;
        let named = keys.iter().zip(&addresses);
        let named = named.map(|(&key, &address)| Entry { key, address });
        let mut all: Vec<Entry> = dots().into_iter().chain(named).collect();
        all.sort_by_key(|entry| entry.key.hash);
        let form = match leaves {
            [] => {
                let is_only = data == [0] && indexes.is_empty();
                is_only.then(|| Form::Block(leaf(all)))?
            }
            [_] if indexes.is_empty() => {
                let used = usize::from(HEADER) + 4 + usize::from(ENTRY) * all.len();
                let fits = used + 2 * areas.len() <= usize::from(BYTES);
                fits.then(|| Form::Leaf(leaf(all)))?
            }
            _ => {
                let needed = areas.len().div_ceil(PER_INDEX) as u32;
                if !indexes.iter().copied().eq(INDEX..INDEX + needed) {
                    return None;
                }
                let own = if leaves.len() > 1 {
                    &leaves[1..]
                } else {
                    leaves
                };
                let each = all.len().div_ceil(own.len());
                if each > MOST_ENTRIES || all.len() < own.len() {
                    return None;
                }
                let part = |at: usize| all.len() * at / own.len()..all.len() * (at + 1) / own.len();
                let parts = own.iter().enumerate().map(|(at, &number)| Numbered {
                    number,
                    leaf: leaf(all[part(at)].to_vec()),
                });
                Form::Node(parts.collect())
            }
        };
        let entries = Entries {
            form,
            data: areas,
            count,
        };
        Some((entries, addresses))
    }
}

fn leaf(entries: Vec<Entry>) -> Leaf {
    Leaf { entries, stale: 0 }
}

/// Data blocks, and where the names stand in them.
type Placed = (Vec<Option<Areas>>, Vec<u32>);

/// Puts names into data blocks: as many bytes into each, or as many as fit. The first block ends with a table.
fn placed(keys: &[Key], data: &[u32], table: u16, evenly: bool) -> Option<Placed> {
    let mut areas = vec![None; *data.last()? as usize + 1];
    let mut addresses = Vec::with_capacity(keys.len());
    let bytes_of = |key: &Key| usize::from(need(key.length));
    let mut left: usize = keys.iter().map(bytes_of).sum();
    for (at, &number) in data.iter().enumerate() {
        let behind = data.len() - at - 1;
        let wanted = left.div_ceil(behind + 1);
        let first = if number == 0 { FIRST } else { HEADER };
        let end = BYTES.checked_sub(table).filter(|end| *end >= first)?;
        let mut start = first;
        while let Some(key) = keys.get(addresses.len()) {
            let is_enough = evenly && usize::from(start - first) >= wanted;
            let others_need_it = start > first && keys.len() - addresses.len() <= behind;
            if start + need(key.length) > end || is_enough || others_need_it {
                break;
            }
            addresses.push(address(number as usize, start));
            start += need(key.length);
        }
        if start == first && number > 0 {
            return None;
        }
        left -= usize::from(start - first);
        let free = (start < end).then_some(Area {
            start,
            bytes: end - start,
        });
        areas[number as usize] = Some(Areas::of(free.into_iter().collect()));
    }
    (addresses.len() == keys.len()).then_some((areas, addresses))
}
