//! How long the rest of several pieces of work takes, by what those that are over took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Pieces of work that are much alike, as lives of one preset are, shared by workers.
#[derive(Debug)]
pub struct Pace {
    workers: usize,
    /// Those that nobody has begun.
    waiting: usize,
    running: BTreeMap<usize, Instant>,
    over: u32,
    took: Duration,
}

impl Pace {
    /// So many of them.
    pub fn new(pieces: usize, workers: usize) -> Pace {
        Pace {
            workers,
            waiting: pieces,
            running: BTreeMap::new(),
            over: 0,
            took: Duration::ZERO,
        }
    }

    /// One is begun.
    pub fn begin(&mut self, piece: usize, now: Instant) {
        self.waiting = self.waiting.saturating_sub(1);
        self.running.insert(piece, now);
    }

    /// One is over.
    pub fn end(&mut self, piece: usize, now: Instant) {
        if let Some(began) = self.running.remove(&piece) {
            self.over += 1;
            self.took += now - began;
        }
    }

    /// How long the others take if each takes the mean of those that are over; `None` before the first of them is.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let mean = self.took.checked_div(self.over)?;
        let running = self.running.values();
        let of_running: Duration = running.map(|&began| mean.saturating_sub(now - began)).sum();
        let pieces = self.waiting + self.running.len();
        let workers = self.workers.min(pieces).max(1) as f64;
        let all = mean.as_secs_f64() * self.waiting as f64 + of_running.as_secs_f64();
        Some(Duration::from_secs_f64(all / workers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six lives of a minute each, two at a time: when the first two are over, four of them take two minutes more,
    /// whichever of the two ended first.
    #[test]
    fn lives_side_by_side_take_as_long_as_the_rounds_that_are_left() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let seconds = |pace: &Pace, now: u64| pace.left(at(now)).map(|left| left.as_secs());
        let mut pace = Pace::new(6, 2);
        assert_eq!(seconds(&pace, 0), None);
        pace.begin(0, at(0));
        pace.begin(1, at(0));
        assert_eq!(seconds(&pace, 59), None);
        pace.end(0, at(60));
        pace.begin(2, at(60));
        assert_eq!(seconds(&pace, 60), Some(120));
        pace.end(1, at(60));
        pace.begin(3, at(60));
        assert_eq!(seconds(&pace, 60), Some(120));
        assert_eq!(seconds(&pace, 90), Some(90));
        // The last one alone, by one worker.
        for piece in 2..4 {
            pace.end(piece, at(120));
            pace.begin(piece + 2, at(120));
        }
        pace.end(4, at(180));
        assert_eq!(seconds(&pace, 160), Some(20));
        pace.end(5, at(180));
        assert_eq!(seconds(&pace, 180), Some(0));
    }
}
