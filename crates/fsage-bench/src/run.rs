//! A benchmark run over its cases and repetitions, each on a fresh state of the file system.

use crate::benchmark::{Benchmark, Case, LeftOut, Site, Unsuited};
use crate::laps::error_of_files;
use crate::measurement::{Better, Measurement};
use crate::ratio::{Ratio, Repeated};
use crate::subject::{BenchError, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

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
        repeat(self.benchmark, case, repetition, self.site, stand)
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
            results.take(self.cases[number / self.repetitions as usize], result)?;
        }
        results.drop_left_out();
        Ok(results)
    }
}

/// A file system on which a benchmark runs in turn with others.
pub struct Entrant<'a> {
    /// The cases that suit it.
    pub cases: &'a [Case],
    /// Its target, which others are states of: where one of them fails, all are out.
    pub target: usize,
    /// What it has.
    pub site: &'a Site,
    /// What makes it ready.
    pub stand: &'a mut dyn Stand,
}

/// How often a case is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetitions {
    /// At least so often.
    pub least: u32,
    /// At most so often.
    pub most: u32,
    /// No more than `least` after so long, over all cases; `None` for however long it takes.
    pub time: Option<Duration>,
}

impl Repetitions {
    /// So often, however long that takes.
    pub fn exactly(count: u32) -> Repetitions {
        Repetitions {
            least: count,
            most: count,
            time: None,
        }
    }
}

/// Runs a benchmark on several file systems, in turn: each repetition of a case on all of them before the next, and
/// each time another one begins. What disturbs the machine for a while then meets all of them.
///
/// From the least number of repetitions on, a case ends when every speed is known to a twentieth
/// ([`Ratio::is_narrow`]), or its share of the time is up: each case may use its part of what the ones before it left.
///
/// An entrant that fails has the error of the benchmark instead of results, and those of the same target run no more.
///
/// # Errors
/// [`BenchError::Interrupted`] when `go_on` said no, or somebody stopped a run.
pub fn run_in_turn(
    benchmark: &dyn Benchmark,
    entrants: &mut [Entrant<'_>],
    repetitions: Repetitions,
    go_on: &dyn Fn(Progress) -> bool,
) -> Result<Vec<Result<Results, BenchError>>, BenchError> {
    let began = Instant::now();
    let cases = cases_of(entrants);
    let total = turns(entrants, repetitions);
    let mut results = vec![Results::default(); entrants.len()];
    let mut failed: BTreeMap<usize, BenchError> = BTreeMap::new();
    let mut out: BTreeSet<usize> = BTreeSet::new();
    let turns = entrants.len();
    for (at, &case) in cases.iter().enumerate() {
        let cases_left = u32::try_from(cases.len() - at).unwrap_or(u32::MAX);
        let until = repetitions.time.map(|time| {
            let elapsed = began.elapsed();
            elapsed + time.saturating_sub(elapsed) / cases_left
        });
        let mut of_case = vec![Vec::new(); turns];
        for repetition in 0..repetitions.most {
            if repetition >= repetitions.least
                && (until.is_some_and(|until| began.elapsed() >= until)
                    || entrants.iter().zip(&of_case).all(|(entrant, measured)| {
                        out.contains(&entrant.target) || is_known(measured)
                    }))
            {
                break;
            }
            for turn in 0..turns {
                let done = (at * repetitions.most as usize + repetition as usize) * turns + turn;
                if !go_on(Progress { done, total }) {
                    return Err(BenchError::Interrupted);
                }
                let who = (turn + repetition as usize) % turns;
                let entrant = &mut entrants[who];
                let is_out = results[who].left_out.iter().any(|left| left.case == case);
                if is_out || out.contains(&entrant.target) || !entrant.cases.contains(&case) {
                    continue;
                }
                let result = repeat(benchmark, case, repetition, entrant.site, entrant.stand);
                if let Ok(measured) = &result {
                    of_case[who].extend(measured.iter().cloned());
                }
                match results[who].take(case, result) {
                    Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                    Err(error) => {
                        out.insert(entrant.target);
                        failed.insert(who, error);
                    }
                    Ok(()) => {}
                }
            }
        }
    }
    let results = results.into_iter().enumerate().map(|(who, mut of_one)| {
        of_one.drop_left_out();
        of_one.look_at_files();
        failed.remove(&who).map_or(Ok(of_one), Err)
    });
    Ok(results.collect())
}

/// Turns of [`run_in_turn`], if every case is repeated as often as it may be.
pub fn turns(entrants: &[Entrant<'_>], repetitions: Repetitions) -> usize {
    cases_of(entrants).len() * repetitions.most as usize * entrants.len()
}

/// The cases of all entrants, each once.
fn cases_of(entrants: &[Entrant<'_>]) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for case in entrants.iter().flat_map(|entrant| entrant.cases) {
        if !cases.contains(case) {
            cases.push(*case);
        }
    }
    cases
}

/// Whether the speed of each phase of a case is known well.
fn is_known(measured: &[Measurement]) -> bool {
    let phases: BTreeSet<&str> = measured.iter().map(|m| m.phase.as_str()).collect();
    phases.into_iter().all(|phase| {
        let of_phase = measured.iter().filter(|m| m.phase == phase);
        let speeds: Vec<f64> = of_phase.filter_map(Measurement::speed).collect();
        let ones = vec![1.0; speeds.len()];
        let ratio = Ratio::of(&[Repeated::apart(speeds, ones, Better::Higher)]);
        ratio.is_none_or(|ratio| ratio.is_narrow())
    })
}

/// Runs a case once.
fn repeat(
    benchmark: &dyn Benchmark,
    case: Case,
    repetition: u32,
    site: &Site,
    stand: &mut (impl Stand + ?Sized),
) -> Result<Vec<Measurement>, BenchError> {
    let mut subject = stand.fresh(repetition, case)?;
    let measured = benchmark.run(case, repetition, site, &mut *subject);
    // What was made goes, however it ended; the first error is the one to tell.
    let cleaned = subject.clean_up();
    let measured = measured?;
    cleaned?;
    Ok(measured)
}

impl Results {
    /// Takes what came of a run of a case.
    fn take(
        &mut self,
        case: Case,
        result: Result<Vec<Measurement>, BenchError>,
    ) -> Result<(), BenchError> {
        match result {
            Ok(measurements) => self.measurements.extend(measurements),
            Err(error) => {
                let Some(why) = left_out(&error) else {
                    return Err(error);
                };
                if self.left_out.last().is_none_or(|last| last.case != case) {
                    self.left_out.push(LeftOut { case, why });
                }
            }
        }
        Ok(())
    }

    /// Finds what the files of each phase of each case say of others; how long each took is not kept.
    fn look_at_files(&mut self) {
        let mut phases: BTreeMap<(Option<u64>, &str), Vec<&Measurement>> = BTreeMap::new();
        for of in &self.measurements {
            let phase = phases.entry((of.file_bytes, of.phase.as_str()));
            phase.or_default().push(of);
        }
        let errors = phases
            .into_iter()
            .map(|((file_bytes, phase), repetitions)| {
                let error = error_of_files(&repetitions);
                ((file_bytes, phase.to_owned()), error)
            });
        let errors: BTreeMap<_, _> = errors.collect();
        for of in &mut self.measurements {
            let phase = (of.file_bytes, of.phase.clone());
            of.files_error = errors.get(&phase).copied().flatten();
            of.laps = Vec::new();
        }
    }

    /// Measurements of a case that ran out of space go: those that there are come of the first repetitions alone.
    fn drop_left_out(&mut self) {
        let Results {
            measurements,
            left_out,
        } = self;
        measurements.retain(|measurement| {
            let mut left_out = left_out.iter();
            !left_out.any(|left| left.case.file_bytes == measurement.file_bytes)
        });
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
    use crate::subject::FileKey;
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
            ..Site::default()
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
    fn file_systems_take_turns_until_it_is_enough() {
        let made = [AtomicU32::new(0), AtomicU32::new(0)];
        let mut stands = made.each_ref().map(|made| TestStand {
            full_bytes: 0,
            made,
        });
        stands[1].full_bytes = 4 * MB;
        let site = Site {
            free_bytes: 100 * MB,
            hot_files: Vec::new(),
            ..Site::default()
        };
        let cases = [2 * MB, 4 * MB].map(Case::of_size);
        let mut entrants: Vec<Entrant> = stands
            .iter_mut()
            .enumerate()
            .map(|(target, stand)| Entrant {
                cases: &cases,
                target,
                site: &site,
                stand,
            })
            .collect();
        let repetitions = Repetitions {
            least: 2,
            most: 9,
            time: None,
        };
        // The clock of these file systems is their own, so that all repetitions are alike: five of them are enough.
        let results = run_in_turn(&SEQUENTIAL, &mut entrants, repetitions, &|_| true);
        let results = results.expect("not interrupted").into_iter();
        let results: Result<Vec<Results>, BenchError> = results.collect();
        let results = results.expect("room for three of four");
        let repeated = |results: &Results, bytes: u64| -> Vec<u32> {
            let measurements = results.measurements.iter();
            let creates =
                measurements.filter(|m| m.file_bytes == Some(bytes) && &*m.phase == "create");
            creates.map(|m| m.repetition).collect()
        };
        for (results, bytes) in [
            (&results[0], 2 * MB),
            (&results[0], 4 * MB),
            (&results[1], 2 * MB),
        ] {
            assert_eq!(repeated(results, bytes), [0, 1, 2, 3, 4]);
        }
        // It ran out of space in its first turn, and had no other.
        assert_eq!(repeated(&results[1], 4 * MB), [0; 0]);
        assert_eq!(results[1].left_out.len(), 1);
        let made = made.each_ref().map(|made| made.load(Ordering::Relaxed));
        assert_eq!(made, [10, 6]);

        let no_time = Repetitions {
            time: Some(Duration::ZERO),
            ..repetitions
        };
        let results = run_in_turn(&SEQUENTIAL, &mut entrants[..1], no_time, &|_| true);
        let results = results.expect("not interrupted").remove(0);
        assert_eq!(repeated(&results.expect("room"), 2 * MB), [0, 1]);
    }

    /// Fails in its second repetition where it is to.
    struct Failing<'a> {
        fails: bool,
        made: &'a AtomicU32,
    }

    impl Stand for Failing<'_> {
        fn fresh(&mut self, repetition: u32, _: Case) -> Result<Box<dyn Subject + '_>, BenchError> {
            self.made.fetch_add(1, Ordering::Relaxed);
            if self.fails && repetition == 1 {
                return Err(BenchError::NoFile(FileKey(7)));
            }
            Ok(Box::new(TestSubject::new(100 * MB, &[])))
        }
    }

    #[test]
    fn where_one_fails_its_target_is_out_and_the_others_run_to_the_end() {
        let made = [const { AtomicU32::new(0) }; 3];
        let mut stands = [0, 1, 2].map(|who| Failing {
            fails: who == 0,
            made: &made[who],
        });
        let site = Site {
            free_bytes: 100 * MB,
            ..Site::default()
        };
        let cases = [2 * MB, 4 * MB].map(Case::of_size);
        let entrants = stands.iter_mut().zip([0, 0, 1]);
        let entrants = entrants.map(|(stand, target)| Entrant {
            cases: &cases,
            target,
            site: &site,
            stand,
        });
        let mut entrants: Vec<Entrant> = entrants.collect();
        let times = Repetitions::exactly(3);
        let results = run_in_turn(&SEQUENTIAL, &mut entrants, times, &|_| true);
        let results = results.expect("not interrupted");
        assert!(matches!(results[0], Err(BenchError::NoFile(FileKey(7)))));
        let whole = results[2].as_ref().expect("did not fail");
        // Two cases, three repetitions, two phases.
        assert_eq!(whole.measurements.len(), 12);
        let made = made.each_ref().map(|made| made.load(Ordering::Relaxed));
        // In the second repetition the other two are before the first.
        assert_eq!(made, [2, 2, 6]);
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
