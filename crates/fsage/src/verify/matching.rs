//! Operation by operation: which of the truth's were found, and which of those made are true.

use fsage_core::{Event, Op, Origin};
use std::collections::HashMap;

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Create,
    Modify,
    Delete,
}

/// An operation on a known inode: day, kind, inode, generation.
type Key = (u32, Kind, u64, u32);

/// Operations by day and inode. A file that is made and deleted on one day is short-lived: no snapshot shows
/// it.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    day: u32,
    /// How often, and the time of the last.
    known: HashMap<Key, (u64, i64)>,
    /// Short-lived operations of profiles, which name no inode.
    short_lived: u64,
    total: u64,
}

/// How two workloads match.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Matches {
    /// Operations that were made.
    pub made: u64,
    /// Operations of the truth.
    pub truth: u64,
    /// Of both, those of one kind on one inode and day.
    pub matched: u64,
    /// Of the truth's, those that no snapshot can show: on files made and deleted within a day, and all but the
    /// last change of a file on a day.
    pub hidden: u64,
    /// Deletions that matched.
    pub deletes: u64,
    /// Their mean distance from the true time.
    pub delete_error_hours: f64,
}

impl Matches {
    /// Share of what was made that is true.
    pub fn precision(&self) -> f64 {
        self.matched as f64 / self.made.max(1) as f64
    }

    /// Share of the truth that was found.
    pub fn recall(&self) -> f64 {
        self.matched as f64 / self.truth.max(1) as f64
    }
}

impl Operations {
    /// The operations of a workload.
    pub fn of(events: &[Event]) -> Operations {
        let mut operations = Operations::default();
        for event in events {
            if event.op == Op::Day {
                operations.end_day();
            } else {
                operations.add(event);
            }
        }
        operations
    }

    /// Counts one operation.
    pub fn add(&mut self, event: &Event) {
        let kind = match event.op {
            Op::Create { .. } | Op::Symlink { .. } => Kind::Create,
            Op::Delete { .. } => Kind::Delete,
            Op::Append { .. }
            | Op::Write { .. }
            | Op::Overwrite { .. }
            | Op::Rewrite { .. }
            | Op::Truncate { .. } => Kind::Modify,
            _ => return,
        };
        self.total += 1;
        match event.src_ino.zip(event.src_gen) {
            Some((ino, generation))
                if event.origin != Some(Origin::ShortLived) || event.profile_id.is_none() =>
            {
                let entry = self.known.entry((self.day, kind, ino, generation));
                let entry = entry.or_insert((0, 0));
                entry.0 += 1;
                entry.1 = event.t_ns.unwrap_or(0);
            }
            _ => self.short_lived += 1,
        }
    }

    /// The next operations belong to the next day.
    pub fn end_day(&mut self) {
        self.day += 1;
    }

    /// How what was made matches the truth.
    pub fn match_with(&self, made: &Operations) -> Matches {
        let mut matches = Matches {
            made: made.total,
            truth: self.total,
            ..Matches::default()
        };
        let mut error_ns = 0.0;
        // Sums only: the order does not matter, but for the last digits of the mean.
        let mut keys: Vec<(&Key, &(u64, i64))> = self.known.iter().collect();
        keys.sort_unstable_by_key(|(key, _)| (key.0, key.2, key.3, key.1 as u8));
        for (key, (count, t_ns)) in keys {
            let (day, kind, ino, generation) = *key;
            let born = self
                .known
                .contains_key(&(day, Kind::Create, ino, generation));
            let died = self
                .known
                .contains_key(&(day, Kind::Delete, ino, generation));
            matches.hidden += if born && died { *count } else { count - 1 };
            let Some((found, found_ns)) = made.known.get(key) else {
                continue;
            };
            matches.matched += count.min(found);
            if kind == Kind::Delete {
                matches.deletes += 1;
                error_ns += t_ns.abs_diff(*found_ns) as f64;
            }
        }
        matches.delete_error_hours = error_ns / matches.deletes.max(1) as f64 / 3.6e12;
        matches
    }
}
