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

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, FileId};

    const H: i64 = 3_600_000_000_000;

    fn event(op: Op, ino: u64, t_ns: i64) -> Event {
        let mut event = Event::new(op).at(t_ns);
        event.src_ino = Some(ino);
        event.src_gen = Some(1);
        event
    }

    fn create(file: u64, t_ns: i64) -> Event {
        let op = Op::Create {
            file: FileId(file),
            dir: DirId::ROOT,
            bytes: 1,
        };
        event(op, file, t_ns)
    }

    fn append(file: u64, t_ns: i64) -> Event {
        let op = Op::Append {
            file: FileId(file),
            bytes: 1,
        };
        event(op, file, t_ns)
    }

    fn delete(file: u64, t_ns: i64) -> Event {
        event(Op::Delete { file: FileId(file) }, file, t_ns)
    }

    #[test]
    fn operations_match_by_day_kind_and_inode() {
        let truth = Operations::of(&[
            create(1, H),
            append(1, 2 * H),
            append(1, 3 * H),
            // Born and dead on one day.
            create(2, H),
            delete(2, 2 * H),
            Event::day("0"),
            delete(1, 30 * H),
        ]);
        let mut drawn = create(9, H);
        drawn.src_ino = None;
        let made = Operations::of(&[
            create(1, 3 * H),
            append(1, 3 * H),
            drawn,
            Event::day("0"),
            delete(1, 33 * H),
        ]);
        let matches = truth.match_with(&made);
        assert_eq!((matches.truth, matches.made, matches.matched), (6, 4, 3));
        // One of the two appends, and both operations of the file that nobody saw.
        assert_eq!(matches.hidden, 3);
        assert_eq!((matches.deletes, matches.delete_error_hours), (1, 3.0));
        assert_eq!((matches.precision(), matches.recall()), (0.75, 0.5));
        // On another day it is another operation.
        let late = Operations::of(&[Event::day("0"), create(1, H)]);
        assert_eq!(truth.match_with(&late).matched, 0);
    }
}
