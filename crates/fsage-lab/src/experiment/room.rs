//! Targets of an experiment that are short of room for their workloads.

use super::plan::{Plan, Recipe};
use crate::aging::Shortages;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

impl Plan {
    /// Which of its targets are short of room for their workloads, as far as that is known before these are made.
    #[must_use]
    pub fn short_of_room(&self) -> Option<String> {
        let mut most = HashMap::new();
        let mut short = Shortages::default();
        for cell in &self.cells {
            let Recipe::Make(source) = &self.workloads[cell.workload].recipe else {
                continue;
            };
            let bytes = match most.entry(cell.workload) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(source.most_bytes().ok().flatten()),
            };
            if let Some(bytes) = bytes {
                short.look(&cell.spec, bytes, self.ways[cell.way].bench.is_some());
            }
        }
        short.said()
    }
}
