//! The trees of an allocation group, leaf by leaf.

use super::bytes::{is_sound, u16_at, u32_at, u64_at};
use super::device::Device;
use crate::error::CollectError;
use std::collections::HashSet;

/// Length of what stands before the records.
const HEADER: usize = 56;
/// More levels than any tree has.
const MOST_LEVELS: u32 = 12;

/// A tree: what its blocks begin with, the length of a record in a leaf, and that of a key in a node.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    magic: u32,
    record: usize,
    key: usize,
}

/// Free space by its place.
pub const FREE: Kind = Kind {
    name: "free space",
    magic: u32::from_be_bytes(*b"AB3B"),
    record: 8,
    key: 8,
};
/// Chunks of inodes.
pub const INODES: Kind = Kind {
    name: "inodes",
    magic: u32::from_be_bytes(*b"IAB3"),
    record: 16,
    key: 4,
};

/// Visits every record, in order.
pub fn visit_records(
    device: &Device<'_>,
    kind: Kind,
    ag: u32,
    (root, levels): (u32, u32),
    visit: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), CollectError> {
    let in_words = |what: String| {
        let what = format!("allocation group {ag}: the tree of {}: {what}", kind.name);
        device.damaged(&what)
    };
    if !(1..=MOST_LEVELS).contains(&levels) {
        return Err(in_words(format!("{levels} levels")));
    }
    let mut seen = HashSet::new();
    // What is still to be looked at, the next last: a block and its level.
    let mut waiting = vec![(root, levels - 1)];
    while let Some((block, level)) = waiting.pop() {
        if block >= device.superblock.ag_length(ag) || !seen.insert(block) {
            return Err(in_words(format!("block {block} is none, or is used twice")));
        }
        let absolute = device.superblock.absolute_in(ag, block);
        let read = device.block(absolute);
        let bytes = read.map_err(device.unread("cannot read the tree of an allocation group"))?;
        let is_it = u32_at(&bytes, 0) == kind.magic
            && is_sound(&bytes, 52)
            && u64_at(&bytes, 16) == device.sector_of(absolute)
            && u32_at(&bytes, 48) == ag
            && u32::from(u16_at(&bytes, 4)) == level
            && bytes[32..48] == device.superblock.meta_uuid;
        if !is_it {
            return Err(in_words(format!("block {block} is not what it should be")));
        }
        let count = usize::from(u16_at(&bytes, 6));
        if level == 0 {
            let records = bytes[HEADER..].chunks_exact(kind.record);
            if count > records.len() {
                return Err(in_words(format!("block {block} has {count} records")));
            }
            for record in records.take(count) {
                visit(record).map_err(in_words)?;
            }
            continue;
        }
        let most = (bytes.len() - HEADER) / (kind.key + 4);
        if count == 0 || count > most {
            return Err(in_words(format!("block {block} has {count} entries")));
        }
        let children = HEADER + most * kind.key;
        let children = (0..count).map(|entry| u32_at(&bytes, children + 4 * entry));
        waiting.extend(children.rev().map(|child| (child, level - 1)));
    }
    Ok(())
}
