//! What a journal or log takes with the next commit that somebody waits for, while a host follows.

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

/// The places of the next `units` of a log that lies in pieces (first unit and length of each), whose first units are
/// not written to: runs of contiguous units. Behind its end it begins anew.
pub(crate) fn runs_in(
    pieces: &[(u64, u64)],
    first: u64,
    head: &mut u64,
    units: u64,
) -> Vec<(u64, u64)> {
    let length = pieces.iter().map(|(_, units)| units).sum::<u64>();
    let Some(round) = length.checked_sub(first).filter(|&round| round > 0) else {
        return Vec::new();
    };
    let mut runs: Vec<(u64, u64)> = Vec::new();
    // A commit is never as long as the log.
    for _ in 0..units.min(round) {
        let mut at = first + *head % round;
        let piece = pieces.iter().find(|(_, units)| {
            let is_here = at < *units;
            at -= if is_here { 0 } else { *units };
            is_here
        });
        let place = piece.map_or(0, |(start, _)| start + at);
        *head = (*head + 1) % round;
        match runs.last_mut() {
            Some((start, units)) if *start + *units == place => *units += 1,
            _ => runs.push((place, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a log of two pieces, of which the first unit is its superblock.
    #[test]
    fn a_log_goes_on_in_its_next_piece_and_begins_anew_behind_the_last() {
        let pieces = [(100, 4), (500, 3)];
        let mut head = 0;
        assert_eq!(runs_in(&pieces, 1, &mut head, 2), [(101, 2)]);
        assert_eq!(runs_in(&pieces, 1, &mut head, 2), [(103, 1), (500, 1)]);
        assert_eq!(runs_in(&pieces, 1, &mut head, 3), [(501, 2), (101, 1)]);
        assert_eq!(runs_in(&pieces, 1, &mut head, 0), []);
        assert_eq!(runs_in(&[], 0, &mut head, 3), []);
    }
}
