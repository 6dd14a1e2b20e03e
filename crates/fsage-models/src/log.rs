//! What a journal or log takes with the next commit that somebody waits for, while a host follows.

use fsage_core::io::Io;
use std::collections::BTreeSet;

/// What has changed since the last commit, and where the next one goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Blocks of metadata, by their first byte.
    pub changed: BTreeSet<u64>,
    /// Inodes that are logged by themselves.
    pub inodes: BTreeSet<u64>,
    /// Units of the log that are behind its end.
    pub head: u64,
}

impl Log {
    /// Nothing waits for a commit any longer.
    pub fn forget(&mut self) {
        self.changed.clear();
        self.inodes.clear();
    }
}

/// The transfers that write the next `units` of a log, which the process waits for. The log lies in pieces (first unit
/// on the device and length of each), whose first units are not written to; `head` units behind these it goes on, and
/// behind its end it begins anew.
pub(crate) fn writes(
    pieces: &[(u64, u64)],
    first: u64,
    head: &mut u64,
    units: u64,
    unit_bytes: u64,
) -> Vec<Io> {
    let length = pieces.iter().map(|(_, units)| units).sum::<u64>();
    let round = length.saturating_sub(first);
    // A commit is never as long as the log.
    let mut left = units.min(round);
    let mut writes = Vec::new();
    while left > 0 {
        let mut at = first + *head;
        let piece = pieces.iter().find(|(_, units)| {
            let is_here = at < *units;
            at -= if is_here { 0 } else { *units };
            is_here
        });
        let Some((start, length)) = piece else {
            break;
        };
        let here = left.min(length - at);
        writes.push(Io::Raw {
            write: true,
            start_bytes: (start + at) * unit_bytes,
            bytes: here * unit_bytes,
            wait: true,
        });
        left -= here;
        *head = (*head + here) % round;
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a log of two pieces, of which the first unit is its superblock.
    #[test]
    fn a_log_goes_on_in_its_next_piece_and_begins_anew_behind_the_last() {
        let pieces = [(100, 4), (500, 3)];
        let runs_in = |pieces: &[(u64, u64)], first, head: &mut u64, units| -> Vec<(u64, u64)> {
            let writes = writes(pieces, first, head, units, 512).into_iter();
            let runs = writes.map(|io| match io {
                Io::Raw {
                    write: true,
                    start_bytes,
                    bytes,
                    wait: true,
                } => (start_bytes / 512, bytes / 512),
                other => panic!("{other:?}"),
            });
            runs.collect()
        };
        let mut head = 0;
        assert_eq!(runs_in(&pieces, 1, &mut head, 2), [(101, 2)]);
        assert_eq!(runs_in(&pieces, 1, &mut head, 2), [(103, 1), (500, 1)]);
        assert_eq!(runs_in(&pieces, 1, &mut head, 3), [(501, 2), (101, 1)]);
        assert_eq!(runs_in(&pieces, 1, &mut head, 0), []);
        assert_eq!(runs_in(&[], 0, &mut head, 3), []);
    }
}
