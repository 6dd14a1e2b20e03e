//! What an experiment takes, before it takes it: a few of its cells are run, and stand for the others.

use super::cells::{self, Outcome, Place, run_folder};
use super::plan::{CellPlan, Plan};
use super::{Options, begin, manifest, workloads};
use crate::error::{Context, bail};
use crate::interrupt;
use crate::report::words::{counted, lasting};
use crate::watch::Watch;
use fsage_bench::Summary;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long cells are tried where nobody says so.
const BUDGET: Duration = Duration::from_secs(30);
/// So many cells of a kind are tried at least where nobody gives a budget: the interval of a mean needs more than one.
const FEWEST: usize = 3;
/// And no more than this.
const MOST: usize = 12;

/// What the cells of an experiment take that are not done.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// Cells in all.
    pub cells: usize,
    /// Those that were tried, and are done now.
    pub tried: usize,
    /// Those of them that failed: their names, and why.
    pub failed: BTreeMap<String, String>,
    /// What trying took.
    pub seconds_tried: f64,
    /// Cells that are left.
    pub left: usize,
    /// Processor time that these take.
    pub seconds: Amount,
    /// Cells of models that run at the same time.
    pub threads: usize,
    /// How long it takes with so many.
    pub wall_seconds: Amount,
    /// Space on disk that they take.
    pub bytes: Amount,
    /// What is free where the experiment lies; none where nobody says.
    pub free_bytes: Option<u64>,
}

/// An amount that is not known exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amount {
    /// By the mean of what was tried.
    pub expected: f64,
    /// By the low end of the 95 % interval of that mean (Student's t).
    pub low: f64,
    /// By its high end.
    pub high: f64,
}

impl Amount {
    /// So many times what was seen; nothing where nothing was.
    fn of(seen: &[f64], times: usize) -> Amount {
        let Some(summary) = Summary::of(seen).filter(|_| times > 0) else {
            return Amount::default();
        };
        let (low, high) = summary
            .mean_interval()
            .map_or((summary.mean, summary.mean), |i| (i.low, i.high));
        let all = |each: f64| each.max(0.0) * times as f64;
        Amount {
            expected: all(summary.mean),
            low: all(low),
            high: all(high),
        }
    }

    fn plus(self, other: Amount) -> Amount {
        Amount {
            expected: self.expected + other.expected,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }

    fn shared_by(self, workers: usize) -> Amount {
        let share = |all: f64| all / workers.max(1) as f64;
        Amount {
            expected: share(self.expected),
            low: share(self.low),
            high: share(self.high),
        }
    }
}

/// What cells of one kind, and their workloads, took.
#[derive(Default)]
struct Seen {
    seconds: Vec<f64>,
    bytes: Vec<f64>,
}

/// Runs a few cells, drawn by their names, one after another, until the budget of `options` is over, and judges by them
/// what the others take. They are done then, as if the experiment had been interrupted behind them. A cell that has
/// begun ends, and of each kind one is tried at least; of three there is an interval.
///
/// # Errors
/// As for [`run`](super::run).
pub fn estimate(
    plan: &Plan,
    folder: &Path,
    options: &Options,
    ui: &dyn Watch,
) -> crate::Result<Estimate> {
    let _at_work = begin(plan, folder, None)?;
    let standing = manifest(plan, folder, &[])?;
    let missing: HashSet<&str> = standing
        .cells
        .iter()
        .filter(|cell| cell.state == manifest::State::Missing)
        .map(|cell| cell.id.as_str())
        .collect();
    let mut cells: Vec<&CellPlan> = plan.cells.iter().collect();
    cells.retain(|cell| missing.contains(cell.id.as_str()));
    // At random, and the same ones each time.
    cells.sort_by_cached_key(|cell| fsage_data::hash_bytes(cell.id.as_bytes()));
    let (real, models): (Vec<&CellPlan>, Vec<&CellPlan>) =
        cells.into_iter().partition(|cell| cell.is_real);

    if let Some(bound) = of_real_benchmarks(plan, &real) {
        ui.note(&bound);
    }
    let began = Instant::now();
    let mut trial = Trial {
        plan,
        folder,
        until: began + options.budget.unwrap_or(BUDGET),
        fewest: if options.budget.is_some() { 1 } else { FEWEST },
        makes: Seen::default(),
        made: HashSet::new(),
        failed: BTreeMap::new(),
        ui,
    };
    let of_models = trial.run(&models)?;
    let of_real = trial.run(&real)?;
    let seconds_tried = began.elapsed().as_secs_f64();
    let Trial {
        makes,
        made,
        failed,
        ..
    } = trial;

    let rest_of = |all: &[&CellPlan], seen: &Seen| all.len() - seen.seconds.len();
    let (models_left, real_left) = (rest_of(&models, &of_models), rest_of(&real, &of_real));
    let left = models[models.len() - models_left..].iter();
    let left = left.chain(&real[real.len() - real_left..]);
    let workloads: HashSet<usize> = left.map(|cell| cell.workload).collect();
    let workloads_left = workloads.difference(&made).count();

    let making = Amount::of(&makes.seconds, workloads_left);
    let modeling = Amount::of(&of_models.seconds, models_left);
    let measuring = Amount::of(&of_real.seconds, real_left);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options
        .threads
        .unwrap_or(cores)
        .clamp(1, models_left.max(1));
    let disk = rustix::fs::statvfs(folder).ok();
    finished(plan, folder)?;
    Ok(Estimate {
        cells: plan.cells.len(),
        tried: of_models.seconds.len() + of_real.seconds.len(),
        failed,
        seconds_tried,
        left: models_left + real_left,
        seconds: making.plus(modeling).plus(measuring),
        threads,
        wall_seconds: making.plus(modeling.shared_by(threads)).plus(measuring),
        bytes: Amount::of(&makes.bytes, workloads_left)
            .plus(Amount::of(&of_models.bytes, models_left))
            .plus(Amount::of(&of_real.bytes, real_left)),
        free_bytes: disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
    })
}

/// How long benchmarks on real file systems go on repeating at most, which is known before anything is run; none where
/// none does so by the clock.
fn of_real_benchmarks(plan: &Plan, real: &[&CellPlan]) -> Option<String> {
    let minutes = |cell: &&CellPlan| {
        let bench = plan.ways[cell.way].bench.as_ref()?;
        let suites = bench.suites().ok()?.len() as u64;
        let by_clock = bench.repetitions.is_none();
        by_clock.then(|| u64::from(bench.minutes) * suites)
    };
    let each: Vec<u64> = real.iter().filter_map(minutes).collect();
    let most = *each.iter().max().filter(|most| **most > 0)?;
    let lasts = |minutes: u64| lasting(Duration::from_secs(60 * minutes));
    Some(format!(
        "Benchmarks on real file systems repeat until their intervals are narrow, for up to {} in each of {}: {} at \
         most in all, aging not counted. A cell that has begun ends, so this estimate may take {} for one: minutes \
         or repetitions in [bench] say less.",
        lasts(most),
        counted(each.len() as u64, "cell"),
        lasts(each.iter().sum()),
        lasts(most)
    ))
}

/// The manifest says what is done; tables and report follow when everything is.
fn finished(plan: &Plan, folder: &Path) -> crate::Result<()> {
    manifest(plan, folder, &[])?.write(folder)
}

/// Cells that are tried.
struct Trial<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    until: Instant,
    /// So many cells of a kind are tried however long they take.
    fewest: usize,
    /// What making workloads took.
    makes: Seen,
    /// Workloads that are there.
    made: HashSet<usize>,
    failed: BTreeMap<String, String>,
    ui: &'a dyn Watch,
}

impl Trial<'_> {
    /// Runs the first of these cells.
    fn run(&mut self, cells: &[&CellPlan]) -> crate::Result<Seen> {
        let mut seen = Seen::default();
        let say = |line: &str| self.ui.note(line);
        let place = Place {
            plan: self.plan,
            folder: self.folder,
            say: &say,
        };
        let bar = self
            .ui
            .bar_count(Some(cells.len().min(MOST) as u64), "trying");
        for (at, cell) in cells.iter().take(MOST).enumerate() {
            if at >= self.fewest && Instant::now() >= self.until {
                break;
            }
            let workload = &self.plan.workloads[cell.workload];
            let began = Instant::now();
            let ready = workloads::ready(workload, self.folder, self.ui);
            if self.made.insert(cell.workload) {
                self.makes.seconds.push(began.elapsed().as_secs_f64());
                let path = ready.as_ref().ok().map(|ready| ready.path.as_path());
                let own = path.filter(|path| path.starts_with(self.folder));
                self.makes.bytes.push(own.map_or(0.0, bytes));
            }
            let began = Instant::now();
            match place.run(cell, &Some(ready), Some(1), self.ui)? {
                Outcome::Interrupted => bail!("stopped; the same command goes on"),
                Outcome::Failed(_) => {
                    let standing = cells::standing(self.plan, cell, None, self.folder)?;
                    let why = standing.error.unwrap_or_default();
                    self.failed.insert(cell.id.clone(), why);
                }
                Outcome::Skipped | Outcome::Done => {}
            }
            interrupt::go_on().context("stopped; the same command goes on")?;
            seen.seconds.push(began.elapsed().as_secs_f64());
            seen.bytes.push(bytes(&run_folder(self.folder, &cell.id)));
            bar.set_position(at as u64 + 1);
        }
        Ok(seen)
    }
}

/// Space on disk of a file, or of all files below a folder; what cannot be looked at takes none.
fn bytes(path: &Path) -> f64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = path.symlink_metadata() else {
        return 0.0;
    };
    let own = 512.0 * metadata.blocks() as f64;
    if !metadata.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| bytes(&entry.path())).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three values with mean 2 and deviation 1; Student's t of 2 degrees of freedom is 4.303, so that the interval of
    /// the mean is 2 ± 2.484, and time is never below nothing.
    #[test]
    fn amounts_are_means_with_their_intervals() {
        let amount = Amount::of(&[1.0, 2.0, 3.0], 10);
        assert!((amount.expected - 20.0).abs() < 1e-9 && amount.low == 0.0);
        assert!((amount.high - 44.84).abs() < 0.01, "{amount:?}");
        let shared = amount.plus(Amount::of(&[1.0], 4)).shared_by(2);
        assert!((shared.expected - 12.0).abs() < 1e-9 && (shared.low - 2.0).abs() < 1e-9);
        assert_eq!(Amount::of(&[1.0, 2.0], 0), Amount::default());
        assert_eq!(Amount::of(&[], 3), Amount::default());
    }

    /// By hand: three seeds on one real target, of which each of two suites may go on for 5 minutes.
    #[test]
    fn benchmarks_by_the_clock_have_a_bound_before_anything_is_run() {
        let said = |bench: &str| {
            let text = format!(
                "seeds = [1, 2, 3]\ntargets = [\"loop:ext4,size=1G\", \"ext4\"]\n[[workload]]\npreset = \
                 \"mail-spool\"\n{bench}"
            );
            let plan = Plan::parse("e.toml", "e", &text).expect("an experiment");
            let real: Vec<&CellPlan> = plan.cells.iter().filter(|cell| cell.is_real).collect();
            of_real_benchmarks(&plan, &real)
        };
        let two = "[bench]\nsuites = [\"sequential\", \"hot-files\"]\n";
        let bound = said(two).expect("a bound");
        assert!(
            bound.contains("for up to 10 min in each of 3 cells: 30 min at most in all"),
            "{bound}"
        );
        assert_eq!(said(&format!("{two}repetitions = 3\n")), None);
        assert_eq!(said(""), None);
    }

    #[test]
    fn space_is_that_of_all_files_below() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("a")).expect("a folder");
        let before = bytes(dir.path());
        fsage_durable::write(&dir.path().join("a/b"), vec![1_u8; 100_000], false).expect("a file");
        let more = bytes(dir.path()) - before;
        assert!((100_000.0..140_000.0).contains(&more), "{more}");
        assert!(bytes(&dir.path().join("none")) < 1.0);
    }
}
