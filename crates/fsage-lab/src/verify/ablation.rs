//! Which guess costs how much: the truth itself, with what snapshots lose taken away, one loss at a time.

use super::Truth;
use fsage_core::{Event, FileId, Op};
use std::collections::{HashMap, HashSet};

/// What snapshots lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The time of deletions: those of the remade workload are taken.
    DeleteTimes,
    /// Files that are made and deleted between two snapshots.
    ShortLived,
    /// All changes of a file between two snapshots but the last: it is written once, as it is then.
    Changes,
}

impl Loss {
    /// Every loss.
    pub const ALL: [Loss; 3] = [Loss::DeleteTimes, Loss::ShortLived, Loss::Changes];

    /// For tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Loss::DeleteTimes => "delete times are guessed",
            Loss::ShortLived => "short-lived files are unseen",
            Loss::Changes => "several changes are seen as one",
        }
    }
}

/// The truth's operations without what these losses take away.
pub fn without(truth: &Truth, remade: &[Event], losses: &[Loss]) -> Vec<Event> {
    let guessed: HashMap<(u64, u32), i64> = remade
        .iter()
        .filter(|event| matches!(event.op, Op::Delete { .. }))
        .filter_map(|event| Some((event.src_ino.zip(event.src_gen)?, event.t_ns?)))
        .collect();
    let mut left = Vec::with_capacity(truth.events.len());
    let mut sizes: HashMap<FileId, u64> = HashMap::new();
    for day in truth.events.split_inclusive(|event| event.op == Op::Day) {
        let Some((end, events)) = day.split_last().filter(|(end, _)| end.op == Op::Day) else {
            continue;
        };
        let mut day = Day::new(events, &mut sizes);
        if losses.contains(&Loss::ShortLived) {
            day.drop_short_lived();
        }
        if losses.contains(&Loss::Changes) {
            day.fold_changes();
        }
        if losses.contains(&Loss::DeleteTimes) {
            day.guess_deletes(&guessed);
        }
        left.append(&mut day.events);
        left.push(end.clone());
    }
    left
}

/// The operations of one day.
struct Day {
    events: Vec<Event>,
    /// Sizes at the start and at the end of the day of the files written in it.
    before: HashMap<FileId, u64>,
    after: HashMap<FileId, u64>,
}

impl Day {
    fn new(events: &[Event], sizes: &mut HashMap<FileId, u64>) -> Day {
        let (mut before, mut after) = (HashMap::new(), HashMap::new());
        for event in events {
            let Some(file) = event.op.written_file() else {
                if let Op::Delete { file } = event.op {
                    sizes.remove(&file);
                }
                continue;
            };
            let size = sizes.get(&file).copied().unwrap_or(0);
            before.entry(file).or_insert(size);
            let now = match event.op {
                Op::Create { bytes, .. }
                | Op::Rewrite { bytes, .. }
                | Op::Truncate { bytes, .. } => bytes,
                Op::Append { bytes, .. } => size.saturating_add(bytes),
                Op::Write { offset, bytes, .. } => size.max(offset.saturating_add(bytes)),
                _ => size,
            };
            sizes.insert(file, now);
            after.insert(file, now);
        }
        Day {
            events: events.to_vec(),
            before,
            after,
        }
    }

    /// Files that are made and deleted on this day.
    fn short_lived(&self) -> HashSet<FileId> {
        let files = |file: fn(&Op) -> Option<FileId>| -> HashSet<FileId> {
            self.events.iter().filter_map(|e| file(&e.op)).collect()
        };
        let made = files(|op| match *op {
            Op::Create { file, .. } | Op::Symlink { file, .. } => Some(file),
            _ => None,
        });
        let gone = files(|op| match *op {
            Op::Delete { file } => Some(file),
            _ => None,
        });
        made.intersection(&gone).copied().collect()
    }

    fn drop_short_lived(&mut self) {
        let gone = self.short_lived();
        self.events.retain(|event| {
            let file = match event.op {
                Op::Delete { file } | Op::Symlink { file, .. } | Op::Rename { file, .. } => {
                    Some(file)
                }
                ref op => op.written_file(),
            };
            file.is_none_or(|file| !gone.contains(&file))
        });
    }

    /// Leaves the last write of every file that a snapshot shows, with the size that the file has at the end.
    fn fold_changes(&mut self) {
        let unseen = self.short_lived();
        let mut writes: HashMap<FileId, Vec<usize>> = HashMap::new();
        for (at, event) in self.events.iter().enumerate() {
            if let Some(file) = event
                .op
                .written_file()
                .filter(|file| !unseen.contains(file))
            {
                writes.entry(file).or_default().push(at);
            }
        }
        let mut dropped = vec![false; self.events.len()];
        let mut files: Vec<(FileId, Vec<usize>)> = writes.into_iter().collect();
        files.sort_unstable();
        for (file, writes) in files {
            let [first, .., last] = writes[..] else {
                continue;
            };
            let bytes = self.after[&file];
            let before = self.before[&file];
            let only_grows = writes
                .iter()
                .all(|at| matches!(self.events[*at].op, Op::Append { .. }));
            let op = match self.events[first].op {
                Op::Create { file, dir, .. } => Op::Create { file, dir, bytes },
                _ if only_grows => Op::Append {
                    file,
                    bytes: bytes - before,
                },
                _ => Op::Rewrite { file, bytes },
            };
            for at in writes {
                dropped[at] = true;
            }
            dropped[last] = false;
            self.events[last] = Event {
                op,
                t_ns: self.events[last].t_ns,
                ..self.events[first].clone()
            };
        }
        let mut at = 0;
        self.events.retain(|_| {
            at += 1;
            !dropped[at - 1]
        });
    }

    fn guess_deletes(&mut self, guessed: &HashMap<(u64, u32), i64>) {
        let mut last = i64::MIN;
        for event in &mut self.events {
            // Clocks that go back do not change the order of the others.
            last = last.max(event.t_ns.unwrap_or(last));
            event.t_ns = Some(last);
        }
        for event in &mut self.events {
            let inode = event.src_ino.zip(event.src_gen);
            if let (Op::Delete { .. }, Some(t)) = (event.op, inode.and_then(|i| guessed.get(&i))) {
                event.t_ns = Some(*t);
            }
        }
        let deletes_first = |event: &Event| !matches!(event.op, Op::Delete { .. });
        self.events
            .sort_by_key(|event| (event.t_ns, deletes_first(event)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::DirId;

    fn at(op: Op, t_ns: i64) -> Event {
        let mut event = Event::new(op).at(t_ns);
        event.src_ino = op.written_file().map(|file| file.0);
        event
    }

    fn create(file: u64, bytes: u64, t_ns: i64) -> Event {
        let op = Op::Create {
            file: FileId(file),
            dir: DirId::ROOT,
            bytes,
        };
        at(op, t_ns)
    }

    fn append(file: u64, bytes: u64, t_ns: i64) -> Event {
        let file = FileId(file);
        at(Op::Append { file, bytes }, t_ns)
    }

    fn ops(events: &[Event]) -> Vec<(Op, i64)> {
        events
            .iter()
            .map(|event| (event.op, event.t_ns.unwrap_or(0)))
            .collect()
    }

    /// A file that is made and grows, one that comes and goes, and one of the day before that grows twice.
    fn day() -> Day {
        let delete = at(Op::Delete { file: FileId(2) }, 4);
        let mut sizes = HashMap::from([(FileId(3), 100)]);
        Day::new(
            &[
                create(1, 10, 1),
                create(2, 5, 2),
                append(3, 7, 3),
                delete,
                append(1, 20, 5),
                append(3, 8, 6),
            ],
            &mut sizes,
        )
    }

    #[test]
    fn what_is_born_and_dies_on_a_day_goes() {
        let mut day = day();
        day.drop_short_lived();
        let left = [
            create(1, 10, 1),
            append(3, 7, 3),
            append(1, 20, 5),
            append(3, 8, 6),
        ];
        assert_eq!(ops(&day.events), ops(&left));
    }

    #[test]
    fn only_the_last_change_of_a_file_stays_with_its_size_at_the_end() {
        let mut day = day();
        day.fold_changes();
        let left = [
            create(2, 5, 2),
            at(Op::Delete { file: FileId(2) }, 4),
            create(1, 30, 5),
            append(3, 15, 6),
        ];
        assert_eq!(ops(&day.events), ops(&left));
    }

    #[test]
    fn deletions_move_to_the_guessed_times() {
        let mut day = day();
        let deletion = &mut day.events[3];
        (deletion.src_ino, deletion.src_gen) = (Some(2), Some(1));
        day.guess_deletes(&HashMap::from([((2, 1), 6)]));
        let verbs: Vec<_> = day.events.iter().map(|e| e.op.verb().as_str()).collect();
        assert_eq!(
            verbs,
            ["create", "create", "append", "append", "delete", "append"]
        );
    }
}
