//! Targets that are short of room for their workloads, named before anything is run.

use super::plan::{Plan, Recipe};
use crate::aging::{self, in_units};
use fsage_core::size::human;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// A target that is short of room for a workload.
struct Short {
    /// Bytes of the workload's files at their most.
    bytes: u64,
    /// Bytes of the target's data space.
    has: u64,
    /// The size in which it has room.
    size: u64,
}

/// Names a few of the targets that are short of room, and the size that all of them have room in.
fn said_short(short: &BTreeMap<String, Short>) -> Option<String> {
    const NAMED: usize = 3;
    let size = short.values().map(|short| short.size).max()?;
    let named = short.iter().take(NAMED).map(|(name, short)| {
        format!(
            "{name} has {} for files that take up to {}",
            human(short.has),
            human(short.bytes)
        )
    });
    let named: Vec<String> = named.collect();
    let more = match short.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(format!(
        "short of room before anything is run: {}{more}. Blocks and directories take more than the bytes of files, and \
         operations without room are skipped, so that such a target does not live what others live. Give all targets \
         size={} or more, which has room for the benchmarks, too.",
        named.join("; "),
        in_units(size)
    ))
}

impl Plan {
    /// Which of its targets are short of room for their workloads, as far as that is known before these are made. What
    /// cannot be made is an error where it is used.
    #[must_use]
    pub fn short_of_room(&self) -> Option<String> {
        let mut most = HashMap::new();
        let mut short: BTreeMap<String, Short> = BTreeMap::new();
        for cell in &self.cells {
            let Recipe::Make(source) = &self.workloads[cell.workload].recipe else {
                continue;
            };
            let bytes = match most.entry(cell.workload) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(source.most_bytes().ok().flatten()),
            };
            let Some(bytes) = bytes else { continue };
            let name = cell.spec.to_string();
            if short.get(&name).is_some_and(|known| known.bytes >= bytes) {
                continue;
            }
            if let Ok(Some((has, size))) =
                aging::short_of_room(bytes, &cell.spec, self.ways[cell.way].bench.is_some())
            {
                short.insert(name, Short { bytes, has, size });
            }
        }
        said_short(&short)
    }
}
