//! A benchmark run over its cases and repetitions, each on a fresh state of the file system.

use crate::benchmark::{Benchmark, Case, LeftOut, Site, Unsuited};
use crate::measurement::Measurement;
use crate::subject::{BenchError, Subject};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What makes the file system for each run of a benchmark: aged, unaged or empty, as it stands before any benchmark.
pub trait Stand {
    /// The file system for one repetition of a case.
    ///
    /// # Errors
    /// It cannot be made.
    fn fresh(&mut self, repetition: u32, case: Case) -> Result<Box<dyn Subject + '_>, BenchError>;
}

/// How far a benchmark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are done.
    pub done: usize,
    /// All runs: cases times repetitions.
    pub total: usize,
}

/// What a benchmark gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// By case, repetition, phase.
    pub measurements: Vec<Measurement>,
    /// Cases for which the space ran out, although it should have been enough.
    pub left_out: Vec<LeftOut>,
}

/// Runs cases of a benchmark, each so many times. Every stand is worked by a thread of its own; where there is one
/// alone, no thread is made. The results do not depend on the number of stands, as long as all make the same.
///
/// `go_on` is asked before each run, from any thread.
///
/// # Errors
/// Those of the benchmark, of the first run in order that failed; [`BenchError::Interrupted`] when `go_on` said no.
///
/// # Panics
/// If there is no stand.
pub fn run<S: Stand + Send>(
    benchmark: &dyn Benchmark,
    cases: &[Case],
    site: &Site,
    stands: &mut [S],
    repetitions: u32,
    go_on: &(dyn Fn(Progress) -> bool + Sync),
) -> Result<Results, BenchError> {
    assert!(!stands.is_empty(), "a benchmark runs on a stand");
    let board = Board {
        benchmark,
        cases,
        site,
        repetitions,
        go_on,
        next: AtomicUsize::new(0),
        done: Mutex::new(Vec::new()),
    };
    match stands {
        [stand] => board.work(stand),
        stands => std::thread::scope(|scope| {
            for stand in stands {
                scope.spawn(|| board.work(stand));
            }
        }),
    }
    board.results()
}

/// One run of a case, and what came of it.
type Outcome = (usize, Result<Vec<Measurement>, BenchError>);

/// The runs of a benchmark, which threads take one by one.
struct Board<'a> {
    benchmark: &'a dyn Benchmark,
    cases: &'a [Case],
    site: &'a Site,
    repetitions: u32,
    go_on: &'a (dyn Fn(Progress) -> bool + Sync),
    /// The first run that nobody has taken.
    next: AtomicUsize,
    done: Mutex<Vec<Outcome>>,
}

impl Board<'_> {
    fn total(&self) -> usize {
        self.cases.len() * self.repetitions as usize
    }

    /// Takes runs until none is left or one has failed.
    fn work(&self, stand: &mut impl Stand) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.total() {
                return;
            }
            let result = if self.may_go_on() {
                self.run_one(number, stand)
            } else {
                Err(BenchError::Interrupted)
            };
            if result
                .as_ref()
                .is_err_and(|error| left_out(error).is_none())
            {
                // Runs before this one are in work or done; later ones are not begun.
                self.next.store(self.total(), Ordering::Relaxed);
            }
            self.lock().push((number, result));
        }
    }

    fn run_one(
        &self,
        number: usize,
        stand: &mut impl Stand,
    ) -> Result<Vec<Measurement>, BenchError> {
        let case = self.cases[number / self.repetitions as usize];
        let repetition = (number % self.repetitions as usize) as u32;
        let mut subject = stand.fresh(repetition, case)?;
        let measured = self
            .benchmark
            .run(case, repetition, self.site, &mut *subject);
        // What was made goes, however it ended; the first error is the one to tell.
        let cleaned = subject.clean_up();
        let measured = measured?;
        cleaned?;
        Ok(measured)
    }

    fn may_go_on(&self) -> bool {
        let done = self.lock().len();
        let total = self.total();
        (self.go_on)(Progress { done, total })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Outcome>> {
        self.done
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Everything in order.
    fn results(self) -> Result<Results, BenchError> {
        let mut done = self
            .done
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_unstable_by_key(|&(number, _)| number);
        let mut results = Results::default();
        for (number, result) in done {
            match result {
                Ok(measurements) => results.measurements.extend(measurements),
                Err(error) => {
                    let Some(why) = left_out(&error) else {
                        return Err(error);
                    };
                    let case = self.cases[number / self.repetitions as usize];
                    if results.left_out.last().is_none_or(|last| last.case != case) {
                        results.left_out.push(LeftOut { case, why });
                    }
                }
            }
        }
        let complete = |file_bytes| {
            !results
                .left_out
                .iter()
                .any(|l| l.case.file_bytes == file_bytes)
        };
        results
            .measurements
            .retain(|measurement| complete(measurement.file_bytes));
        Ok(results)
    }
}

/// Why a case is left out that failed in this way; `None` if the benchmark as a whole failed.
fn left_out(error: &BenchError) -> Option<Unsuited> {
    match error {
        BenchError::NoSpace => Some(Unsuited::RanOutOfSpace),
        BenchError::NoInode => Some(Unsuited::RanOutOfInodes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::sequential::SEQUENTIAL;
    use crate::test_subject::TestSubject;
    use std::sync::atomic::AtomicU32;

    const MB: u64 = 1 << 20;

    /// Gives room for all sizes but one, whose files do not fit although the site says so.
    struct TestStand<'a> {
        full_bytes: u64,
        made: &'a AtomicU32,
    }

    impl Stand for TestStand<'_> {
        fn fresh(&mut self, _: u32, case: Case) -> Result<Box<dyn Subject + '_>, BenchError> {
            self.made.fetch_add(1, Ordering::Relaxed);
            let full = case.file_bytes == Some(self.full_bytes);
            let free_bytes = if full { MB } else { 100 * MB };
            Ok(Box::new(TestSubject::new(free_bytes, &[])))
        }
    }

    fn run_on(
        stands: usize,
        full_bytes: u64,
        go_on: &(dyn Fn(Progress) -> bool + Sync),
    ) -> (Result<Results, BenchError>, u32) {
        let made = AtomicU32::new(0);
        let stand = || TestStand {
            full_bytes,
            made: &made,
        };
        let mut stands: Vec<TestStand> = (0..stands).map(|_| stand()).collect();
        let site = Site {
            free_bytes: 100 * MB,
            hot_files: Vec::new(),
        };
        let cases = [2 * MB, 4 * MB, 8 * MB].map(Case::of_size);
        let results = run(&SEQUENTIAL, &cases, &site, &mut stands, 3, go_on);
        (results, made.into_inner())
    }

    #[test]
    fn results_come_by_case_repetition_and_phase_on_any_number_of_threads() {
        let (alone, made) = run_on(1, 0, &|_| true);
        let alone = alone.expect("room for all");
        assert_eq!(made, 9);
        let order: Vec<(Option<u64>, u32, &str)> = alone
            .measurements
            .iter()
            .map(|m| (m.file_bytes, m.repetition, &*m.phase))
            .collect();
        let expected: Vec<_> = [2 * MB, 4 * MB, 8 * MB]
            .into_iter()
            .flat_map(|size| (0..3).map(move |repetition| (Some(size), repetition)))
            .flat_map(|(size, r)| ["create", "read"].map(|phase| (size, r, phase)))
            .collect();
        assert_eq!(order, expected);
        for stands in [2, 4] {
            let (together, _) = run_on(stands, 0, &|_| true);
            assert_eq!(together.expect("room for all"), alone);
        }
    }

    #[test]
    fn a_case_that_runs_out_of_space_is_left_out_and_the_others_run() {
        let (results, _) = run_on(2, 4 * MB, &|_| true);
        let results = results.expect("room for two cases");
        let left_out = LeftOut {
            case: Case::of_size(4 * MB),
            why: Unsuited::RanOutOfSpace,
        };
        assert_eq!(results.left_out, [left_out]);
        assert_eq!(results.measurements.len(), 2 * 3 * 2);
        assert!(
            results
                .measurements
                .iter()
                .all(|m| m.file_bytes != Some(4 * MB))
        );
    }

    #[test]
    fn a_run_stops_when_the_caller_says_so() {
        let (results, made) = run_on(1, 0, &|progress| {
            assert_eq!(progress.total, 9);
            progress.done < 4
        });
        assert!(matches!(results, Err(BenchError::Interrupted)));
        assert_eq!(made, 4);
    }
}
