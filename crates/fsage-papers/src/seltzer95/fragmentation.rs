//! What the free space of aged file systems costs, without their files (section 5).

use super::Bench;
use super::groups::{self, Halves};
use super::rates::{Rates, Unit};
use super::study::{self, Aged};
use crate::aged::State;
use crate::comparison::Measured;
use crate::figure::{Curve, Exhibit, Figure, Sheet};
use crate::lab::Lab;
use crate::sizes::mean;
use crate::words;
use fsage_bench::benchmarks::Sequential;
use fsage_bench::benchmarks::free_space::FREE_SPACE;
use fsage_disk::SECTOR_BYTES;
use fsage_lab::table::percent;
use fsage_metrics::LayoutScore;
use fsage_models::ffs::{Ffs, Geometry, NewfsError, Params};
use fsage_report::chart::size_text;
use fsage_report::svg::Axis;
use std::borrow::Cow;

const KB: u64 = 1 << 10;
/// The three sizes of the study.
const SMALL: u64 = 8 * KB;
const MIDDLE: u64 = 64 * KB;
const LARGE: u64 = 1024 * KB;
/// Files of 256 KB have so many blocks.
const BLOCKS_OF_256K: u64 = 32;
/// What most aged file systems reach, and what they seldom fall below.
const TYPICAL: (f64, f64) = (0.85, 0.95);
/// The same in the caption of figure 8.
const IN_CAPTION: (f64, f64) = (0.85, 0.90);
/// A change of utilization that is large: between the lines of a chart from 0 to 100 %.
const LARGE_CHANGE: f64 = 0.05;

const PHASES: [&str; 2] = ["create", "read"];

/// Throughput on aged free maps over that of the same file system when empty.
pub struct Fragmentation {
    systems: Vec<System>,
    dates: Vec<String>,
    sizes: Vec<u64>,
    tests: Vec<Test>,
}

/// A file system of the study.
struct System {
    aged: Aged,
    /// Its age in months on each date.
    months: Vec<f64>,
    /// Cylinder groups that are measured, and how many it has.
    groups: (usize, usize),
}

/// A phase on a file system on a date.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Test {
    system: usize,
    date: usize,
    phase: &'static str,
    bytes: u64,
    /// Throughput as a share of that of the empty file system.
    share: f64,
}

impl Fragmentation {
    /// Ages the file systems, and measures their free maps.
    ///
    /// # Errors
    /// A workload does not fit its file system; a benchmark fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<Fragmentation> {
        let plan = &bench.plan.fragmentation;
        let run = &bench.paper.run;
        let lab = Lab::with(run, &plan.device, &plan.host, bench.threads, bench.ui)?;
        let sizes: Vec<u64> = plan.sequential.sizes.iter().map(|size| size.0).collect();
        let benchmark = Sequential {
            sizes: Cow::Owned(sizes.clone()),
            files: Bench::file_count(&plan.sequential),
            files_per_directory: plan.sequential.files_per_directory,
            ..FREE_SPACE
        };
        let measure = |name: String, fs: Ffs| -> anyhow::Result<Rates> {
            let hot = Vec::new();
            let state = State { name, fs, hot };
            Ok(Rates::of(&lab.run(&benchmark, &state, run.repetitions)?))
        };
        let partition_bytes = lab.disk().partition().sectors * SECTOR_BYTES;
        let mut systems = Vec::new();
        let mut tests = Vec::new();
        for (system, (aged, known)) in study::age(bench)?
            .into_iter()
            .zip(&plan.file_systems)
            .enumerate()
        {
            let (params, groups) = that_fit(&aged.params, partition_bytes)?;
            let empty = measure(format!("{}, empty", aged.name), Ffs::new(params.clone())?)?;
            for (date, (at, name)) in aged.dates.iter().zip(&plan.dates).enumerate() {
                let mut fs = Ffs::new(params.clone())?;
                fs.occupy_all_but(&at.free);
                let rates = measure(format!("{}, {}", aged.name, name.name), fs)?;
                for phase in PHASES {
                    let of = |rates: &Rates, bytes| rates.mean(Unit::Megabytes, phase, bytes);
                    tests.extend(sizes.iter().filter_map(|&bytes| {
                        Some(Test {
                            system,
                            date,
                            phase,
                            bytes,
                            share: of(&rates, bytes)? / of(&empty, bytes)?,
                        })
                    }));
                }
            }
            systems.push(System {
                aged,
                months: plan.dates.iter().map(|date| known.months(date)).collect(),
                groups,
            });
        }
        Ok(Fragmentation {
            systems,
            dates: plan.dates.iter().map(|date| date.name.clone()).collect(),
            sizes,
            tests,
        })
    }

    fn is_of(&self, test: &Test, system: &str) -> bool {
        self.systems[test.system].aged.name == system
    }

    fn is_in(&self, test: &Test, date: &str) -> bool {
        self.dates[test.date] == date
    }

    fn shares(&self, is_meant: impl Fn(&Test) -> bool) -> Vec<f64> {
        let meant = self.tests.iter().filter(|test| is_meant(test));
        meant.map(|test| test.share).collect()
    }

    /// What the paper says of it.
    pub fn measure(&self, measured: &mut Measured) {
        let all = self.shares(|_| true);
        let news = |test: &Test| self.is_of(test, "cnews");
        let news_in_january = |test: &Test| news(test) && self.is_in(test, "January");
        let means = self.means();
        let of_all: Vec<f64> = means.iter().flatten().copied().collect();
        measured.shape("F95.1", typical(&of_all, TYPICAL));
        measured.shape("F95.1.caption", typical(&of_all, IN_CAPTION));
        measured.figure("F95.2", least(&all));
        measured.shape("F95.2.where", self.worst_is_news());
        let january = self.shares(news_in_january);
        measured.figure("F95.2.january", part(&january, |share| share < 0.80));
        measured.shape("F95.2.two", self.only_two_are_low());
        let software = self.shares(|test| self.is_of(test, "glan5"));
        measured.figure("F95.3", part(&software, |share| share >= 0.95));
        measured.shape("F95.3.best", self.best_is_software());
        let large = self.shares(|test| test.bytes == LARGE);
        measured.figure("F95.4", part(&large, |share| share < TYPICAL.0));
        measured.shape(
            "F95.4.less",
            least(&large).map(|share| {
                let lost = 1.0 - share;
                (lost < 0.15, format!("up to {:.1} % less", 100.0 * lost))
            }),
        );
        measured.figure("F95.4.large", part(&large, |share| share >= TYPICAL.1));
        let small = self.shares(|test| test.bytes == SMALL && !news_in_january(test));
        measured.figure("F95.5", part(&small, |share| share < TYPICAL.0));
        measured.figure("F95.5.least", least(&small));
        let middle = self.shares(|test| test.bytes == MIDDLE);
        measured.figure("F95.6", part(&middle, |share| share < TYPICAL.0));
        let rest: Vec<f64> = middle
            .into_iter()
            .filter(|share| *share >= TYPICAL.0)
            .collect();
        measured.figure("F95.6.rest", part(&rest, |share| share > 0.90));
        measured.shape("F95.6.most", self.middle_is_slowest());
        measured.shape("F95.7", self.follows_utilization());
        let two = self.layout(|at| at.two_blocks.all);
        measured.figure("F95.8.two", two.share());
        let of_256k = self.layout(|at| at.by_blocks.class(BLOCKS_OF_256K));
        measured.figure("F95.8.256K", of_256k.share());
        let halves = self.halves();
        measured.shape("F95.8.end", groups::lies_at_the_end(&halves));
        measured.shape("F95.8.beginning", groups::is_whole_at_the_end(&halves));
        let least_of = |shares: Vec<f64>| least(&shares);
        let by_mean: Vec<f64> = means.into_iter().filter_map(least_of).collect();
        measured.shape("F95.9", most_lose_little(&by_mean));
        let by_test = (0..self.systems.len())
            .filter_map(|number| least(&self.shares(|test| test.system == number)));
        measured.shape(
            "F95.9.tests",
            most_lose_little(&by_test.collect::<Vec<_>>()),
        );
        let worst = least(&self.shares(news));
        measured.figure("F95.9.news", worst.map(|share| 1.0 - share));
        measured.shape("F95.10", self.is_independent_of_age());
    }

    /// A score over all file systems on their last dates.
    fn layout(&self, score: impl Fn(&study::AtDate) -> LayoutScore) -> LayoutScore {
        let mut sum = LayoutScore::default();
        for at in self.systems.iter().filter_map(|s| s.aged.dates.last()) {
            sum += score(at);
        }
        sum
    }

    /// Free space of each file system on its last date, by half of the group.
    fn halves(&self) -> Vec<(&str, Halves)> {
        let halves = self.systems.iter().filter_map(|system| {
            let aged = &system.aged;
            let geometry = Geometry::newfs(&aged.params).ok()?;
            let group_bytes = geometry.fpg * geometry.fsize;
            let last = aged.dates.last()?;
            Some((aged.name.as_str(), Halves::of(&last.free, group_bytes)))
        });
        halves.collect()
    }

    fn worst_is_news(&self) -> Option<(bool, String)> {
        let worst = self
            .tests
            .iter()
            .min_by(|a, b| a.share.total_cmp(&b.share))?;
        let holds = self.is_of(worst, "cnews")
            && self.is_in(worst, "January")
            && (worst.phase, worst.bytes) == ("create", MIDDLE);
        let text = format!(
            "{}, {}, {} {}",
            self.systems[worst.system].aged.name,
            self.dates[worst.date],
            worst.phase,
            size_text(worst.bytes)
        );
        Some((holds, text))
    }

    fn middle_is_slowest(&self) -> Option<(bool, String)> {
        let of = |bytes| mean(self.shares(|test| test.bytes == bytes));
        let (small, middle, large) = (of(SMALL)?, of(MIDDLE)?, of(LARGE)?);
        let text = format!(
            "means {:.1}, {:.1}, {:.1} % at 8 KB, 64 KB, 1 MB",
            100.0 * small,
            100.0 * middle,
            100.0 * large
        );
        Some((middle < small && middle < large, text))
    }

    /// Which file systems have tests below 80 %: those two that the paper names, and no other.
    fn only_two_are_low(&self) -> Option<(bool, String)> {
        let is_low = |number: usize| {
            !self
                .shares(|test| test.system == number && test.share < 0.80)
                .is_empty()
        };
        let low = (0..self.systems.len()).filter(|&number| is_low(number));
        let mut low: Vec<&str> = low
            .map(|number| self.systems[number].aged.name.as_str())
            .collect();
        low.sort_unstable();
        let text = if low.is_empty() {
            "none".to_owned()
        } else {
            low.join(", ")
        };
        (!self.tests.is_empty()).then(|| (low == ["cnews", "staff"], text))
    }

    /// How much of the variance of means of file systems on dates their age explains.
    fn is_independent_of_age(&self) -> Option<(bool, String)> {
        let mut points = Vec::new();
        for (number, system) in self.systems.iter().enumerate() {
            for (date, months) in system.months.iter().enumerate() {
                points.extend(self.overall(number, date).map(|share| (*months, share)));
            }
        }
        let explained = explained(&points)?;
        Some((
            explained < 0.25,
            format!("{:.0} % of the variance", 100.0 * explained),
        ))
    }

    /// Of the large changes of utilization from one date to the next, those that throughput answers with the opposite.
    fn follows_utilization(&self) -> Option<(bool, String)> {
        let (mut follow, mut all) = (0, 0);
        for (number, system) in self.systems.iter().enumerate() {
            let used: Vec<f64> = system.aged.dates.iter().map(|at| at.utilization).collect();
            for date in 1..used.len() {
                let at = |date| self.overall(number, date);
                let more = used[date] - used[date - 1];
                if more.abs() < LARGE_CHANGE {
                    continue;
                }
                all += 1;
                follow += u32::from(more * (at(date)? - at(date - 1)?) < 0.0);
            }
        }
        (all > 0).then(|| {
            let text = format!("{follow} of {all} changes by 5 points or more");
            (
                words::is_nearly_all(f64::from(follow) / f64::from(all)),
                text,
            )
        })
    }

    /// Means of the tests of every file system, date by date.
    fn means(&self) -> Vec<Vec<f64>> {
        let dates =
            |number| (0..self.dates.len()).filter_map(move |date| self.overall(number, date));
        (0..self.systems.len())
            .map(|number| dates(number).collect())
            .collect()
    }

    /// The mean over all tests of each file system.
    fn best_is_software(&self) -> Option<(bool, String)> {
        let means = (0..self.systems.len()).filter_map(|number| {
            let share = mean(self.shares(|test| test.system == number))?;
            Some((self.systems[number].aged.name.as_str(), share))
        });
        let (best, share) = means.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let text = format!("{best}, {:.1} % in the mean", 100.0 * share);
        Some((best == "glan5", text))
    }

    /// Mean of all tests of a file system on a date.
    fn overall(&self, system: usize, date: usize) -> Option<f64> {
        mean(self.shares(|test| (test.system, test.date) == (system, date)))
    }

    /// Both charts and both tables.
    pub fn exhibits(&self) -> Vec<Exhibit> {
        let by_age = self.figure(
            "fragmentation",
            "Throughput on aged free maps, by age (figure 8)",
            "age, months",
            |system, date| system.months[date],
        );
        let by_utilization = self.figure(
            "fragmentation-by-utilization",
            "The same by utilization (section 5)",
            "used, %",
            |system, date| 100.0 * system.aged.dates[date].utilization,
        );
        vec![
            Exhibit::Figure(by_age),
            Exhibit::Figure(by_utilization),
            self.table(),
            self.file_systems(),
        ]
    }

    fn figure(
        &self,
        slug: &'static str,
        title: &str,
        x_label: &'static str,
        x: impl Fn(&System, usize) -> f64,
    ) -> Figure {
        let curves = self.systems.iter().enumerate().map(|(number, system)| {
            let dates = 0..system.aged.dates.len();
            let mut points: Vec<(f64, f64)> = dates
                .filter_map(|date| Some((x(system, date), 100.0 * self.overall(number, date)?)))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Curve::exact(system.aged.name.clone(), points)
        });
        Figure {
            slug,
            title: title.to_owned(),
            text: "Mean of creating and reading files of the sizes of the study where only the free space is that of \
                   the aged file system, in percent of the same file system when empty. The paper: 85 to 95 % most \
                   often, 71 % at worst."
                .to_owned(),
            axis: Axis::Linear,
            x_label,
            y_label: "% of the empty file system",
            curves: curves.collect(),
            published: Vec::new(),
        }
    }

    fn table(&self) -> Exhibit {
        let columns: Vec<(&str, u64)> = self
            .sizes
            .iter()
            .flat_map(|&bytes| PHASES.map(|phase| (phase, bytes)))
            .collect();
        let header = [
            "file system",
            "date",
            "age, months",
            "used",
            "free in fragments",
        ]
        .into_iter()
        .map(str::to_owned)
        .chain(
            columns
                .iter()
                .map(|&(phase, bytes)| format!("{phase} {}", size_text(bytes))),
        );
        let mut rows = Vec::new();
        for (number, system) in self.systems.iter().enumerate() {
            for (date, at) in system.aged.dates.iter().enumerate() {
                let shares = columns.iter().map(|&(phase, bytes)| {
                    let found = self.shares(|test| {
                        (test.system, test.date, test.phase, test.bytes)
                            == (number, date, phase, bytes)
                    });
                    percent(found.first().copied())
                });
                let first = [
                    system.aged.name.clone(),
                    self.dates[date].clone(),
                    format!("{:.0}", system.months[date]),
                    percent(Some(at.utilization)),
                    percent(Some(at.in_fragments)),
                ];
                rows.push(first.into_iter().chain(shares).collect());
            }
        }
        Exhibit::Sheet(Sheet {
            slug: "fragmentation-tests",
            title: "Aged free maps, test by test (section 5)".to_owned(),
            text: "Percent of the throughput of the same file system when empty. A dash: there was no room.".to_owned(),
            header: header.collect(),
            rows,
        })
    }

    fn file_systems(&self) -> Exhibit {
        let header = [
            "file system",
            "groups",
            "groups measured",
            "two-block files contiguous",
            "blocks of 256 KB files contiguous",
            "operations skipped",
        ];
        let rows = self.systems.iter().filter_map(|system| {
            let last = system.aged.dates.last()?;
            let (measured, groups) = system.groups;
            Some(vec![
                system.aged.name.clone(),
                groups.to_string(),
                measured.to_string(),
                percent(last.two_blocks.all.share()),
                percent(last.by_blocks.class(BLOCKS_OF_256K).share()),
                last.skipped.to_string(),
            ])
        });
        Exhibit::Sheet(Sheet {
            slug: "aged-file-systems",
            title: "The aged file systems (section 5)".to_owned(),
            text: "On the last date. Each is aged by a synthetic workload of its name; of one that is larger than the \
                   disk, the groups that fit are measured."
                .to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
    }
}

/// The same file system as it is measured: as many whole groups as a partition holds, and its reserve given out, as to
/// the superuser. Also how many groups these are, and how many it has.
fn that_fit(params: &Params, partition_bytes: u64) -> Result<(Params, (usize, usize)), NewfsError> {
    let whole = Geometry::newfs(params)?;
    let group_sectors = whole.fpg * whole.fsize / SECTOR_BYTES;
    let most = partition_bytes / SECTOR_BYTES / group_sectors * group_sectors;
    let fitting = Params {
        sectors: params.sectors.min(most.max(group_sectors)),
        minfree_percent: 0,
        ..params.clone()
    };
    let groups = Geometry::newfs(&fitting)?.ncg;
    Ok((fitting, (groups, whole.ncg)))
}

fn least(shares: &[f64]) -> Option<f64> {
    shares.iter().copied().min_by(f64::total_cmp)
}

/// How many shares are so; `None` where there are none at all.
fn count(shares: &[f64], is_so: impl Fn(f64) -> bool) -> Option<f64> {
    let so = shares.iter().filter(|share| is_so(**share)).count();
    (!shares.is_empty()).then_some(so as f64)
}

/// The same as a part of all of them.
fn part(shares: &[f64], is_so: impl Fn(f64) -> bool) -> Option<f64> {
    Some(count(shares, is_so)? / shares.len() as f64)
}

/// The square of the correlation of pairs: the share of the variance of one that the other explains.
fn explained(points: &[(f64, f64)]) -> Option<f64> {
    let x = mean(points.iter().map(|p| p.0))?;
    let y = mean(points.iter().map(|p| p.1))?;
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
    let (both, ones, others) = (sum(&|x, y| x * y), sum(&|x, _| x * x), sum(&|_, y| y * y));
    (ones * others > 0.0).then(|| both * both / (ones * others))
}

/// Whether most file systems lose at most 15 %, by the least share of each.
fn most_lose_little(least: &[f64]) -> Option<(bool, String)> {
    let kept = count(least, |share| share >= TYPICAL.0)?;
    let all = least.len();
    let text = format!("{kept} of {all} file systems");
    Some((words::is_most(kept / all as f64), text))
}

/// Whether most file systems on their dates lie in a range.
fn typical(shares: &[f64], (from, to): (f64, f64)) -> Option<(bool, String)> {
    let within = count(shares, |share| (from..=to).contains(&share))?;
    let above = count(shares, |share| share > to)?;
    let all = shares.len();
    Some((
        words::is_most(within / all as f64),
        format!("{within} of {all} file systems and dates, {above} above"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eighty-nine groups of 2596 blocks of 8 KB: 20.28 MiB each; 2,109,375 sectors are 1029.97 MiB, or 50 of them.
    #[test]
    fn of_a_file_system_that_is_too_large_whole_groups_are_measured() {
        let glan5 = Params::preset("glan5").unwrap();
        let (fitting, groups) = that_fit(&glan5, 2_109_375 * 512).unwrap();
        assert_eq!(groups, (50, 89));
        assert_eq!(fitting.sectors, 50 * 2596 * 16);
        let (whole, large) = (
            Geometry::newfs(&glan5).unwrap(),
            Geometry::newfs(&fitting).unwrap(),
        );
        assert_eq!((large.ipg, large.dblkno), (whole.ipg, whole.dblkno));
        let white = Params::preset("white").unwrap();
        let (fitting, groups) = that_fit(&white, 2_109_375 * 512).unwrap();
        assert_eq!((fitting.sectors, groups), (white.sectors, (40, 40)));
    }

    #[test]
    fn tests_are_counted_by_their_share() {
        let shares = [0.71, 0.86, 0.90, 0.96];
        assert_eq!(least(&shares), Some(0.71));
        assert_eq!(count(&shares, |share| share < 0.85), Some(1.0));
        assert_eq!(part(&shares, |share| share >= 0.95), Some(0.25));
        assert_eq!(count(&[], |_| true), None);
        assert_eq!(
            typical(&shares, TYPICAL).map(|(holds, _)| holds),
            Some(false)
        );
        assert_eq!(
            typical(&shares[1..], TYPICAL).map(|(holds, _)| holds),
            Some(true)
        );
    }

    /// By hand: a line is explained wholly, a cross not at all.
    #[test]
    fn age_explains_a_line_and_not_a_cross() {
        assert_eq!(explained(&[(0.0, 3.0), (1.0, 2.0), (2.0, 1.0)]), Some(1.0));
        assert_eq!(
            explained(&[(0.0, 1.0), (2.0, 1.0), (1.0, 0.0), (1.0, 2.0)]),
            Some(0.0)
        );
        assert_eq!(explained(&[(1.0, 0.0), (1.0, 2.0)]), None);
    }
}
