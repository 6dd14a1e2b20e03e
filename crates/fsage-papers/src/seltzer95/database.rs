//! TPC-B by utilization of the disk: an FFS, the log before it has to be cleaned, the log with its cleaner (section 4).

use super::Bench;
use super::share::share_out;
use crate::comparison::Measured;
use crate::figure::{Curve, Exhibit, Figure, Published, Sheet};
use crate::paper::Paper;
use crate::words;
use anyhow::Context;
use fsage_bench::benchmarks::tpcb::point::{Cleaning, Point, Setup, Starts, System, measure};
use fsage_lab::table::percent;
use fsage_models::lfs::{self, cleaner};
use fsage_report::svg::Axis;
use std::collections::BTreeMap;

/// How full the disk is where the paper gives the loss, in percent: the database alone.
const ALONE: u64 = 48;
/// The same of 1993.
const IN_1993: u64 = 80;

/// A system of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum On {
    Ffs,
    Uncleaned,
    Cleaned,
    /// With the longer segment writes of 1993.
    In1993,
}

impl On {
    fn name(self) -> &'static str {
        match self {
            On::Ffs => "ffs",
            On::Uncleaned => "lfs, not cleaned",
            On::Cleaned => "lfs",
            On::In1993 => "lfs, writes of 1993",
        }
    }
}

/// By which clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Constants,
    Disk,
}

/// The figure.
pub struct TpcB {
    /// Its points, by system and utilization in percent.
    points: BTreeMap<(On, u64), Point>,
    starts: Starts,
}

impl TpcB {
    /// Measures them. The log that is not cleaned yet is measured on the emptiest disk only, as in the paper.
    ///
    /// # Errors
    /// The disk is too small; no cleaner has that name; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<TpcB> {
        let plan = &bench.plan.database;
        let policy = cleaner::by_name(&plan.cleaner).with_context(|| {
            let known = cleaner::ALL.map(cleaner::Policy::name);
            format!(
                "no cleaner is called `{}`; known: {}",
                plan.cleaner,
                known.join(", ")
            )
        })?;
        let mut points = Vec::new();
        for (i, &percent) in plan.utilization_percent.iter().enumerate() {
            points.push((On::Cleaned, percent));
            points.push((On::Ffs, percent));
            if i == 0 {
                points.push((On::Uncleaned, percent));
            }
            if percent == IN_1993 {
                points.push((On::In1993, percent));
            }
        }
        let measured = share_out(bench, "tpc-b", &points, |&(on, percent)| {
            let setup = match on {
                On::Ffs => Setup::of_1995(System::InPlace, percent),
                On::Uncleaned => Setup::of_1995(System::LogUncleaned, percent),
                On::Cleaned => Setup::of_1995(System::Log(policy), percent),
                On::In1993 => Setup::of_1993(System::Log(policy), percent),
            };
            let setup = Setup {
                transactions: plan.transactions,
                starts: plan.starts,
                log: other_keys(&plan.log, setup.log)?,
                disk: bench.lab.disk().clone(),
                host: bench.lab.host().clone(),
                ..setup
            };
            let point = measure(&setup);
            point.with_context(|| format!("tpc-b on {} at {percent} %", on.name()))
        })?;
        Ok(TpcB {
            points: points.into_iter().zip(measured).collect(),
            starts: plan.starts,
        })
    }

    fn tps(&self, on: On, percent: u64, clock: Clock) -> Option<f64> {
        let point = self
            .points
            .get(&(on, percent))
            .filter(|p| p.end.is_none())?;
        Some(match clock {
            Clock::Constants => point.tps_by_constants,
            Clock::Disk => point.tps_by_disk,
        })
    }

    fn all(&self, on: On, clock: Clock) -> Vec<(u64, f64)> {
        let points = self.points.keys().filter(|(its, _)| *its == on);
        points
            .filter_map(|&(_, percent)| Some((percent, self.tps(on, percent, clock)?)))
            .collect()
    }

    /// What the paper says of it, by both clocks: rows that end with `.disk` are of the simulated disk.
    pub fn measure(&self, measured: &mut Measured) {
        for (clock, end) in [(Clock::Constants, ""), (Clock::Disk, ".disk")] {
            measured.shape(&format!("T95.6{end}"), self.log_against_ffs(clock));
            measured.shape(&format!("T95.7{end}"), self.log_by_utilization(clock));
            let mut note =
                |row: &str, ours: Option<f64>| measured.figure(&format!("{row}{end}"), ours);
            let at = |on, percent| self.tps(on, percent, clock);
            let over = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
            let loss = |percent| {
                over(at(On::Cleaned, percent), at(On::Uncleaned, ALONE)).map(|kept| 1.0 - kept)
            };
            note("T95.1", at(On::Uncleaned, ALONE));
            let gain = over(at(On::Uncleaned, ALONE), at(On::Ffs, ALONE)).map(|ratio| ratio - 1.0);
            note("T95.2", gain);
            note("T95.2.ffs", at(On::Ffs, ALONE));
            note("T95.4", loss(ALONE));
            note("T95.4.tps", at(On::Cleaned, ALONE));
            note(
                "T95.4.ffs",
                over(at(On::Cleaned, ALONE), at(On::Ffs, ALONE)),
            );
            note("T95.5", loss(IN_1993));
            let most = self.all(On::Cleaned, clock).into_iter();
            let most = most.filter_map(|(percent, _)| loss(percent));
            let of = |loss: f64, more: f64| (loss > more, format!("{:.1} % less", 100.0 * loss));
            let half = loss(ALONE).map(|loss| of(loss, 0.33));
            measured.shape(&format!("T95.4.half{end}"), half);
            let most = most.reduce(f64::max).map(|loss| of(loss, 0.34));
            measured.shape(&format!("T95.4.most{end}"), most);
        }
        measured.shape("T95.3", self.ffs_is_flat());
        measured.shape("T95.8", self.reading_dominates());
        let cleaning = self.points.get(&(On::In1993, IN_1993));
        let cleaning = cleaning.and_then(|point| point.cleaning);
        let of = |value: fn(&Cleaning) -> f64| cleaning.as_ref().map(value);
        measured.figure("T93.1", of(|c| 1000.0 / c.segments_per_1000));
        measured.figure("T93.2", of(|c| c.utilization));
        measured.figure("T93.3", of(|c| c.share_of_writes));
        measured.figure("T93.4", of(|c| c.share_of_transfers));
    }

    fn ffs_is_flat(&self) -> Option<(bool, String)> {
        let all = self.all(On::Ffs, Clock::Disk);
        let rates = all.iter().map(|p| p.1);
        let (least, most) = (
            rates.clone().min_by(f64::total_cmp)?,
            rates.max_by(f64::total_cmp)?,
        );
        let text = format!("{least:.1} to {most:.1} transactions a second on the disk");
        (all.len() > 1).then_some((words::nearly_the_same(most / least), text))
    }

    /// The cleaner's reads as a share of its time, by the constants of the paper.
    fn reading_dominates(&self) -> Option<(bool, String)> {
        let of_log = self.points.iter().filter(|((on, _), _)| *on == On::Cleaned);
        let shares: Vec<(u64, f64)> = of_log
            .filter_map(|(&(_, percent), point)| Some((percent, point.cleaning?.share_of_reading)))
            .collect();
        let text: Vec<String> = shares
            .iter()
            .map(|(percent, share)| format!("{:.0} % at {percent} %", 100.0 * share))
            .collect();
        let holds = shares.iter().all(|(_, share)| *share > 0.5);
        (!shares.is_empty()).then(|| (holds, text.join(", ")))
    }

    /// The log with its cleaner over the FFS at every utilization: comparable.
    fn log_against_ffs(&self, clock: Clock) -> Option<(bool, String)> {
        let ratios = self.all(On::Cleaned, clock).into_iter();
        let ratios = ratios.filter_map(|(percent, rate)| {
            Some((percent, rate / self.tps(On::Ffs, percent, clock)?))
        });
        comparable_everywhere(&ratios.collect::<Vec<_>>(), "of the FFS")
    }

    /// The same over the log with its cleaner on the emptiest disk.
    fn log_by_utilization(&self, clock: Clock) -> Option<(bool, String)> {
        let all = self.all(On::Cleaned, clock);
        let &(_, first) = all.first()?;
        let ratios = all[1..]
            .iter()
            .map(|(percent, rate)| (*percent, rate / first));
        comparable_everywhere(&ratios.collect::<Vec<_>>(), "of the emptiest disk")
    }

    /// A chart a clock, and the table of what the cleaner did.
    pub fn exhibits(&self, paper: &Paper) -> Vec<Exhibit> {
        vec![
            Exhibit::Figure(self.figure(
                paper,
                Clock::Constants,
                "tpc-b-by-constants",
                "TPC-B by utilization, with the constants of the paper (figure 7)",
                "What the model reads and writes, charged with the paper's seek, rotation and rates.",
            )),
            Exhibit::Figure(self.figure(
                paper,
                Clock::Disk,
                "tpc-b-on-disk",
                "TPC-B by utilization, on the simulated disk and host (figure 7)",
                "Here seeks are as long as the arm has to move, and writes continue while transactions read.",
            )),
            self.table(),
        ]
    }

    fn figure(
        &self,
        paper: &Paper,
        clock: Clock,
        slug: &'static str,
        title: &str,
        text: &str,
    ) -> Figure {
        let curves = [On::Cleaned, On::Uncleaned, On::Ffs].map(|on| {
            let points = self.all(on, clock).into_iter();
            Curve::exact(on.name(), points.map(|(x, y)| (x as f64, y)))
        });
        let ring = |on: On, percent: u64, y: f64| Published {
            curve: on.name().to_owned(),
            x: percent as f64,
            y,
        };
        let free = paper.value("T95.1");
        Figure {
            slug,
            title: title.to_owned(),
            text: format!(
                "{text} The log that is not cleaned yet is measured with the database alone on the disk. Published \
                 losses are those of the log before it is cleaned."
            ),
            axis: Axis::Linear,
            x_label: "full, %",
            y_label: "transactions a second",
            curves: curves.to_vec(),
            published: vec![
                ring(On::Uncleaned, ALONE, free),
                ring(On::Ffs, ALONE, paper.value("T95.2.ffs")),
                ring(On::Cleaned, ALONE, free * (1.0 - paper.value("T95.4"))),
                ring(On::Cleaned, IN_1993, free * (1.0 - paper.value("T95.5"))),
            ],
        }
    }

    fn table(&self) -> Exhibit {
        let header = [
            "system",
            "full",
            "tps, constants",
            "tps, disk",
            "cleaned segments live",
            "segments per 1000 transactions",
            "cleaner's share of writes",
            "seek, rotation, transfer, ms",
            "end",
        ];
        let rows = self.points.iter().map(|(&(on, full), point)| {
            let of = |value: fn(&Cleaning) -> f64| point.cleaning.as_ref().map(value);
            vec![
                on.name().to_owned(),
                format!("{full} %"),
                format!("{:.1}", point.tps_by_constants),
                format!("{:.1}", point.tps_by_disk),
                of(|c| c.utilization).map_or("-".to_owned(), |u| format!("{u:.2}")),
                of(|c| c.segments_per_1000).map_or("-".to_owned(), |n| format!("{n:.1}")),
                percent(of(|c| c.share_of_writes)),
                format!(
                    "{:.1}, {:.1}, {:.1}",
                    point.time.seek_ms, point.time.rotation_ms, point.time.transfer_ms
                ),
                point.end.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        let starts = match self.starts {
            Starts::Steady => {
                "Four times as many transactions as the database has pages are done before these count."
            }
            Starts::FirstCleaning => {
                "On the log that is cleaned, transactions count from its first cleaning on."
            }
        };
        Exhibit::Sheet(Sheet {
            slug: "tpc-b",
            title: "TPC-B and the cleaner (section 4)".to_owned(),
            text: format!(
                "{starts} The last times are those of a transaction on the simulated disk, the cleaner's included. \
                 Segment writes of 1993 are 800 KB long."
            ),
            header: header.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
    }
}

/// A log with other values of the keys in a text of the form `key=value,key`.
fn other_keys(text: &str, log: lfs::Params) -> anyhow::Result<lfs::Params> {
    let keys = text.split(',').filter(|key| !key.is_empty());
    let options = keys.map(|key| match key.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (key, None),
    });
    log.with_options(options)
        .with_context(|| format!("keys of the log, `{text}`"))
}

/// Ratios by utilization in percent; nothing where there are none.
fn comparable_everywhere(ratios: &[(u64, f64)], of: &str) -> Option<(bool, String)> {
    let parts: Vec<String> = ratios
        .iter()
        .map(|(percent, ratio)| format!("{ratio:.2} at {percent} %"))
        .collect();
    let holds = ratios.iter().all(|(_, ratio)| words::comparable(*ratio));
    (!ratios.is_empty()).then(|| (holds, format!("{of}: {}", parts.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_utilization_that_is_far_off_is_enough() {
        let near = comparable_everywhere(&[(60, 0.99), (70, 0.9)], "of it");
        assert_eq!(
            near,
            Some((true, "of it: 0.99 at 60 %, 0.90 at 70 %".to_owned()))
        );
        assert!(
            !comparable_everywhere(&[(60, 0.99), (90, 0.47)], "of it")
                .unwrap()
                .0
        );
        assert_eq!(comparable_everywhere(&[], "of it"), None);
    }
}
