//! Targets that are short of room for their workloads, named before anything is run.

use super::filled::short_of_room;
use super::in_units;
use fsage_core::size::human;
use fsage_target::TargetSpec;
use std::collections::BTreeMap;

/// A target that is short of room for a workload.
struct Short {
    /// Bytes of the workload's files at their most.
    bytes: u64,
    /// Bytes of the target's data space.
    has: u64,
    /// The size in which it has room.
    size: u64,
}

/// The targets that are short of room, by their specifications.
#[derive(Default)]
pub(crate) struct Shortages(BTreeMap<String, Short>);

impl Shortages {
    /// Keeps a target if it is short of room for files of so many bytes, as far as that is known before it is made.
    /// What cannot be made is an error where it is used.
    pub fn look(&mut self, spec: &TargetSpec, bytes: u64, is_benchmarked: bool) {
        let name = spec.to_string();
        if self.0.get(&name).is_some_and(|known| known.bytes >= bytes) {
            return;
        }
        if let Ok(Some((has, size))) = short_of_room(bytes, spec, is_benchmarked) {
            self.0.insert(name, Short { bytes, has, size });
        }
    }

    /// Names a few of them, and the size that all of them have room in; none where none is short.
    pub fn said(&self) -> Option<String> {
        const NAMED: usize = 3;
        let size = self.0.values().map(|short| short.size).max()?;
        let named = self.0.iter().take(NAMED).map(|(name, short)| {
            format!(
                "{name} has {} for files that take up to {}",
                human(short.has),
                human(short.bytes)
            )
        });
        let named: Vec<String> = named.collect();
        let more = match self.0.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Some(format!(
            "short of room before anything is run: {}{more}. Blocks and directories take more than the bytes of files, \
             and operations without room are skipped, so that such a target does not live what others live. Give all \
             targets size={} or more, which has room for the benchmarks, too.",
            named.join("; "),
            in_units(size)
        ))
    }
}
