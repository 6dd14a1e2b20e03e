//! How far an experiment is, for whoever sees its folder.

use super::cells;
use super::manifest::{Manifest, State};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How many of the last cells say how fast it goes.
const LAST: usize = 50;

/// How far an experiment is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Cells in all.
    pub cells: usize,
    /// Those that are done.
    pub complete: usize,
    /// Those that ended in an error.
    pub failed: usize,
    /// Those that were begun, and are neither: somebody is at them, or was.
    pub begun: usize,
    /// Those that are run again though they are done: they are made of something else.
    pub again: usize,
    /// Why the first of them is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_again: Option<String>,
    /// Seconds that the others take, if it goes on as it did; none before a few are done.
    pub seconds_left: Option<u64>,
}

impl Status {
    /// That of an experiment as it [stands](super::standing) in its folder.
    pub fn of(folder: &Path, standing: &Manifest) -> Status {
        let count = |state| {
            standing
                .cells
                .iter()
                .filter(|cell| cell.state == state)
                .count()
        };
        let mut ended: Vec<SystemTime> = Vec::new();
        let mut begun = 0;
        for cell in &standing.cells {
            let mark = cells::mark_path(folder, &cell.id).metadata();
            match (cell.state, mark.and_then(|mark| mark.modified())) {
                (State::Missing, Ok(_)) if cell.again.is_none() => begun += 1,
                (State::Complete, Ok(at)) => ended.push(at),
                _ => {}
            }
        }
        let (complete, failed) = (count(State::Complete), count(State::Failed));
        let cells = standing.cells.len();
        let again = || standing.cells.iter().filter_map(|cell| cell.again.as_ref());
        Status {
            cells,
            complete,
            failed,
            begun,
            again: again().count(),
            why_again: again().next().cloned(),
            seconds_left: left(&mut ended, cells - complete - failed).map(|left| left.as_secs()),
        }
    }
}

/// How long so many cells take, by when the last ones ended.
fn left(ended: &mut [SystemTime], missing: usize) -> Option<Duration> {
    ended.sort_unstable();
    let last = &ended[ended.len().saturating_sub(LAST)..];
    let (first, end) = (last.first()?, last.last()?);
    let steps = u32::try_from(last.len() - 1)
        .ok()
        .filter(|&steps| steps >= 3)?;
    let each = end.duration_since(*first).ok()? / steps;
    Some(each * u32::try_from(missing).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cells_say_how_long_the_others_take() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(left(&mut [at(0), at(10)], 5), None, "too few");
        assert_eq!(
            left(&mut [at(30), at(0), at(10), at(20)], 5),
            Some(Duration::from_secs(50))
        );
        let mut many: Vec<SystemTime> = (0..60)
            .map(|n| at(if n < 20 { n } else { 20 + 100 * n }))
            .collect();
        assert_eq!(
            left(&mut many[20..].to_vec(), 2),
            Some(Duration::from_secs(200))
        );
        assert_eq!(left(&mut many, 0), Some(Duration::ZERO));
    }
}
