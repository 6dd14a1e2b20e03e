//! The past of a forecast: a workload up to the day on which the future begins.

use crate::error::{self, Context, bail};
use crate::generate::{FROM_SNAPSHOTS, Snapshots, Source};
use crate::interrupt;
use crate::report::verdict::premise;
use crate::report::words::percent;
use crate::watch::Watch;
use fsage_core::size::human;
use fsage_core::{Event, EventSource, Op, SinkError, WorkloadHeader};
use fsage_workload::repeat::{Learned, SeenDay};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What was observed.
pub(super) struct Past {
    pub learned: Learned,
    pub days: Vec<SeenDay>,
    /// `day`s of the workload that belong to it; all where none are held out.
    pub marks: u64,
    /// Seconds since 1970 of the workload's 0.
    pub epoch_s: i64,
    /// How it was made.
    made: Made,
}

/// How a past was made, where that bears on what it foretells.
#[derive(Debug, PartialEq, Eq)]
enum Made {
    /// From snapshots alone: what came and went between two of them is missing.
    Nights,
    /// By a preset of this name, which assumes this, for a data space of so many bytes.
    Preset(String, String, Option<u64>),
    /// In another way.
    Otherwise,
}

impl Made {
    fn of(header: &WorkloadHeader) -> Made {
        let generator = header.generator.as_deref().unwrap_or_default();
        if let Some((name, assumed)) = premise::of_preset(generator) {
            return Made::Preset(name, assumed, header.capacity_bytes);
        }
        let made: serde_json::Value = serde_json::from_str(generator).unwrap_or_default();
        let adds_files = made["profiles"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if made["name"] == FROM_SNAPSHOTS && !adds_files {
            Made::Nights
        } else {
            Made::Otherwise
        }
    }
}

/// What was observed, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Observed {
    /// Days of the calendar, those without operations included.
    pub days: u64,
    /// The first and the last date.
    pub first: String,
    /// The last one.
    pub last: String,
    /// Whether the past knows when it was: synthetic workloads begin with 1970, and do not.
    pub has_dates: bool,
    /// Operations.
    pub operations: u64,
    /// Space in use when the past ends.
    pub used_bytes: u64,
    /// Mean growth a day since the first day ended.
    pub growth_bytes_per_day: f64,
    /// The same of the first half of the days, and of the second.
    pub growth_by_half: [f64; 2],
    /// By how many standard errors the two differ.
    pub growth_changed: f64,
    /// Mean growth a day over the last quarter of the days.
    pub growth_lately: f64,
}

/// The workload that a past is made into: of snapshots, which are folders, several files or a file of rows; of those of
/// a run where it is the folder of a target. None where the past is a workload already.
///
/// # Errors
/// There is no past; a file that cannot be read.
pub fn past_source(past: &[PathBuf]) -> crate::Result<Option<Source>> {
    let of_snapshots = match past {
        [one] if one.is_file() => {
            fsage_data::is_parquet(one)? && fsage_data::snapshot::is_snapshot(one)?
        }
        [one] => one.is_dir(),
        [] => bail!("past: expected a workload or snapshots, found none"),
        _ => true,
    };
    Ok(of_snapshots.then(|| Source::Snapshots(Box::new(Snapshots::of(past.to_vec())))))
}

/// Days under which a forecast is not to be trusted.
const FEW_DAYS: u64 = 14;
/// What has this share of its space from the days observed, and grew by less than this share of its mean growth in
/// their last quarter, may have been filling up.
const FILLED_UP: f64 = 0.25;
/// The same of the second half: the first one then grew three times as fast.
const FILLED_UP_BY_HALF: f64 = 0.5;
/// Standard errors from which growth has changed.
const CHANGED: f64 = 3.0;

impl Past {
    /// Learns a workload, or what comes before the share of its days that is held out.
    pub fn learn(
        (workload, shown): (&Path, &str),
        hold_out: Option<f64>,
        watch: &dyn Watch,
    ) -> crate::Result<Past> {
        let marks = match hold_out {
            None => u64::MAX,
            Some(share) => {
                let all = marks_of(workload)?;
                let held_out = (all as f64 * share).round() as u64;
                if held_out == 0 || all < held_out + 2 {
                    bail!(
                        "{shown}: of {all} days {held_out} are to be held out; expected at least 1, and 2 before them"
                    );
                }
                all - held_out
            }
        };
        let mut source = fsage_data::open_workload(workload)?;
        let mut learned = Learned::new(source.header());
        let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
        let made = Made::of(source.header());
        let bar = watch.bar_bytes(source.progress().map(|(_, of)| of), "learning");
        let mut until = UntilMark::new(&mut *source, marks);
        let mut read = 0_u64;
        while let Some(event) = until.next_event().map_err(error::boxed)? {
            learned.take(&event)?;
            read += 1;
            if read.is_multiple_of(4096) {
                interrupt::go_on()?;
                bar.set_position(until.progress().map_or(0, |(at, _)| at));
            }
        }
        drop(bar);
        let ended = learned.end().and_then(|_| learned.has_futures());
        ended.with_context(|| match &learned.days()[..] {
            [only] => format!("{shown}: all of it is of one day, {}", only.date),
            _ => shown.to_owned(),
        })?;
        Ok(Past {
            days: learned.days(),
            learned,
            marks,
            epoch_s,
            made,
        })
    }

    /// Whether it knows when it was.
    pub fn has_dates(&self) -> bool {
        let first = self.days.first();
        first.is_some_and(|day| !day.date.starts_with("1970-"))
    }

    /// How many days ago its last day was, where that is more than two; `None` where it has no dates.
    pub fn age_days(&self) -> Option<i64> {
        const DAY_S: u64 = 86_400;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let today = i64::try_from(now.as_secs() / DAY_S).ok()?;
        let age = today - self.learned.last_date();
        (self.has_dates() && age > 2).then_some(age)
    }

    /// What nights do not show, and in which direction a forecast from them errs; none of another past.
    pub fn unseen(&self) -> Option<String> {
        (self.made == Made::Nights).then(|| {
            "nights do not show files that came and went between them: the layout and room for extents go, and writes \
             fail, rather sooner than said here, while free space hardly differs; `fsage generate snapshots NIGHTS \
             --profiles FILE` adds such files of a trace, and its workload is a past as well"
                .to_owned()
        })
    }

    /// What its growth is of, where a preset made it.
    pub fn premise(&self) -> Option<String> {
        let Made::Preset(name, assumed, space) = &self.made else {
            return None;
        };
        let in_use = |day: &SeenDay| match space {
            Some(space) => percent(day.used_bytes as f64 / *space as f64),
            None => human(day.used_bytes),
        };
        let (first, last) = (self.days.first()?, self.days.last()?);
        let of = space.map_or_else(String::new, |space| format!(" of {}", human(space)));
        Some(format!(
            "Growth is that of the preset {name}, not yours. {name}: {assumed}. Its files take {}{of} after the first \
             day and {} after day {}; futures go on at {}. How yours grows, only its own nights say: `fsage forecast \
             NIGHTS`.",
            in_use(first),
            in_use(last),
            self.days.len(),
            super::a_day(self.observed().growth_bytes_per_day)
        ))
    }

    /// It in numbers.
    pub fn observed(&self) -> Observed {
        let date = |day: Option<&SeenDay>| day.map(|day| day.date.clone()).unwrap_or_default();
        let growth: Vec<f64> = self
            .days
            .windows(2)
            .map(|pair| pair[1].used_bytes as f64 - pair[0].used_bytes as f64)
            .collect();
        let (first, second) = growth.split_at(growth.len() / 2);
        Observed {
            days: self.days.len() as u64,
            first: date(self.days.first()),
            last: date(self.days.last()),
            has_dates: self.has_dates(),
            operations: self.days.iter().map(|day| day.operations).sum(),
            used_bytes: self.days.last().map_or(0, |day| day.used_bytes),
            growth_bytes_per_day: mean(&growth),
            growth_by_half: [mean(first), mean(second)],
            growth_changed: difference(first, second),
            growth_lately: mean(&growth[growth.len() - growth.len() / 4..]),
        }
    }
}

impl Observed {
    /// Why no interval is claimed of a forecast from it, if there is a reason.
    pub fn no_interval(&self) -> Option<String> {
        if self.days < FEW_DAYS {
            Some(format!("{} nights, {FEW_DAYS} are needed", self.days))
        } else if self.growth_has_changed() {
            Some("growth changed".to_owned())
        } else {
            None
        }
    }

    fn growth_has_changed(&self) -> bool {
        self.growth_changed.abs() > CHANGED
    }

    /// Whether it took in much of what it holds in the days observed, and most of that early.
    fn has_filled_up(&self) -> bool {
        let mean = self.growth_bytes_per_day;
        let grown = mean * self.days.saturating_sub(1) as f64;
        let slowed = self.growth_lately < FILLED_UP * mean
            || self.growth_by_half[1] < FILLED_UP_BY_HALF * mean;
        self.days >= FEW_DAYS && grown > FILLED_UP * self.used_bytes as f64 && slowed
    }

    /// Growth a day of its later days, where it has filled up before.
    pub fn later_growth(&self) -> Option<f64> {
        let last = self.growth_by_half[1].min(self.growth_lately);
        self.has_filled_up().then_some(last)
    }

    /// How many times longer something takes at the pace it came to than at its mean one, where it has filled up; at a
    /// standstill forever.
    pub fn slowed(&self) -> Option<f64> {
        let times = |last| {
            if last > 0.0 {
                self.growth_bytes_per_day / last
            } else {
                f64::INFINITY
            }
        };
        self.later_growth().map(times)
    }

    /// Why a forecast from it is not to be trusted, and where it is less so.
    pub fn doubts(&self, horizon: u64) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.days < FEW_DAYS {
            doubts.push(format!(
                "{} days were observed: under {FEW_DAYS} there are not two weeks to tell growth from chance, so no \
                 interval is claimed; take snapshots for longer",
                self.days
            ));
        }
        if self.growth_has_changed() && self.days >= FEW_DAYS {
            let [first, second] = self.growth_by_half.map(super::a_day);
            doubts.push(format!(
                "growth has changed: {first} in the first half of the days, {second} in the second; it may \
                 change again, so no interval is claimed"
            ));
        }
        if self.has_filled_up() {
            doubts.push(format!(
                "it grew by {} and only {} in the second half of the days, {} in the last quarter: it may have been \
                 filling up, and have come to its level, as a cache does at its limit; futures go by all of these \
                 days, so that their days are rather too early than too late, and intervals reach to the day that \
                 the last pace gives; give it the nights since then alone",
                super::a_day(self.growth_bytes_per_day),
                super::a_day(self.growth_by_half[1]),
                super::a_day(self.growth_lately),
            ));
        }
        let gone = -self.growth_bytes_per_day * horizon as f64;
        if gone > self.used_bytes as f64 / 2.0 {
            let used = self.used_bytes as f64;
            let left = if gone >= used {
                let lasts = used / -self.growth_bytes_per_day;
                format!(
                    "nothing is left after {} of the {horizon} days",
                    lasts.ceil()
                )
            } else {
                format!(
                    "{:.0} % of it is gone after {horizon} days",
                    100.0 * gone / used
                )
            };
            doubts.push(format!(
                "space in use shrank: {}; at this rate {left}, so limits are those of a file system that empties; \
                 begin with snapshots from when it grew",
                super::a_day(self.growth_bytes_per_day),
            ));
        }
        if horizon > 5 * self.days {
            doubts.push(format!(
                "{horizon} days are looked ahead and {} were observed: what comes once a year is not in them",
                self.days
            ));
        }
        doubts
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The difference of two means in standard errors (Welch), by sums over weeks, whose neighbors hang together less than
/// days do.
fn difference(first: &[f64], second: &[f64]) -> f64 {
    let weeks = |days: &[f64]| days.chunks_exact(7).map(mean).collect::<Vec<f64>>();
    let (first, second) = (weeks(first), weeks(second));
    let spread = |weeks: &[f64]| {
        let n = weeks.len() as f64;
        let center = mean(weeks);
        weeks
            .iter()
            .map(|week| (week - center).powi(2))
            .sum::<f64>()
            / (n - 1.0)
            / n
    };
    if first.len() < 2 || second.len() < 2 {
        return 0.0;
    }
    let error = (spread(&first) + spread(&second)).sqrt();
    let difference = mean(&second) - mean(&first);
    // Growth to the byte, every week: any difference is one.
    if error > 0.0 {
        difference / error
    } else if difference == 0.0 {
        0.0
    } else {
        f64::MAX.copysign(difference)
    }
}

/// Counts the `day`s of a workload.
fn marks_of(workload: &Path) -> crate::Result<u64> {
    let mut source = fsage_data::open_workload(workload)?;
    let mut marks = 0;
    while let Some(event) = source.next_event().map_err(error::boxed)? {
        marks += u64::from(event.op == Op::Day);
        if event.op == Op::Day {
            interrupt::go_on()?;
        }
    }
    Ok(marks)
}

/// A workload up to a `day`.
pub(super) struct UntilMark<'a> {
    source: &'a mut dyn EventSource,
    left: u64,
}

impl UntilMark<'_> {
    pub fn new(source: &mut dyn EventSource, marks: u64) -> UntilMark<'_> {
        UntilMark {
            source,
            left: marks,
        }
    }
}

impl EventSource for UntilMark<'_> {
    fn header(&self) -> &WorkloadHeader {
        self.source.header()
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        if self.left == 0 {
            return Ok(None);
        }
        let event = self.source.next_event()?;
        if event.as_ref().is_some_and(|event| event.op == Op::Day) {
            self.left -= 1;
        }
        Ok(event)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nights with a pool of short-lived files have what came and went; another generator has it anyway.
    #[test]
    fn nights_alone_miss_what_came_and_went() {
        let of = |generator: &str| {
            Made::of(&WorkloadHeader {
                generator: Some(generator.to_owned()),
                ..WorkloadHeader::default()
            })
        };
        assert_eq!(of(r#"{"name": "snapshots", "profiles": []}"#), Made::Nights);
        for other in [
            r#"{"name": "snapshots", "profiles": ["builds.parquet"]}"#,
            r#"{"name": "git"}"#,
            "none",
        ] {
            assert_eq!(of(other), Made::Otherwise, "{other}");
        }
        assert!(matches!(
            of(r#"{"name": "profile", "profile": "maildir"}"#),
            Made::Preset(name, ..) if name == "maildir"
        ));
    }

    /// Weeks of 1, 2, 3 and of 11, 12, 13 a day: means 2 and 12, and a standard error of sqrt(1/3 + 1/3).
    #[test]
    fn a_change_of_growth_is_reported_in_standard_errors() {
        let weeks = |means: [f64; 3]| {
            means
                .iter()
                .flat_map(|&mean| [mean; 7])
                .collect::<Vec<f64>>()
        };
        let (first, second) = (weeks([1.0, 2.0, 3.0]), weeks([11.0, 12.0, 13.0]));
        let found = difference(&first, &second);
        assert!(
            (found - 10.0 / (2.0_f64 / 3.0).sqrt()).abs() < 1e-9,
            "{found}"
        );
        assert!(difference(&first[..13], &second).abs() < 1e-9);
        let observed = |days, growth_changed| Observed {
            days,
            growth_changed,
            ..Observed::default()
        };
        assert_eq!(observed(100, 1.0).doubts(100), Vec::<String>::new());
        assert_eq!(observed(14, 3.0).no_interval(), None);
        let why = |days, changed| observed(days, changed).no_interval().unwrap_or_default();
        assert_eq!(why(9, 5.0), "9 nights, 14 are needed");
        assert_eq!(why(30, -3.1), "growth changed");
        assert!(observed(13, 1.0).doubts(50)[0].contains("under 14"));
        assert!(observed(100, -4.0).doubts(100)[0].starts_with("growth has changed"));
        let filled = Observed {
            used_bytes: 20 << 20,
            growth_bytes_per_day: f64::from(1 << 20),
            growth_by_half: [1.5, 0.5].map(|mib| mib * f64::from(1 << 20)),
            growth_lately: f64::from(1 << 17),
            ..observed(20, 0.0)
        };
        let doubt = &filled.doubts(50)[0];
        assert!(
            doubt.starts_with(
                "it grew by +1.0 MiB a day and only +512 KiB a day in the second half of the days, +128 KiB a day in \
                 the last quarter"
            ),
            "{doubt}"
        );
        // A cliff in the first week, and a third of the mean growth since: by the last quarter alone it would pass.
        let kinked = |second: f64| Observed {
            growth_by_half: [2.0 - second, second].map(|mib| mib * f64::from(1 << 20)),
            growth_lately: 0.3 * f64::from(1 << 20),
            ..filled.clone()
        };
        assert_eq!(kinked(0.3).doubts(50).len(), 1);
        assert_eq!(kinked(0.6).doubts(50), Vec::<String>::new());
        let shrinking = Observed {
            used_bytes: 1 << 30,
            growth_bytes_per_day: -f64::from(16 << 20),
            ..observed(30, 0.0)
        };
        assert_eq!(shrinking.doubts(32), Vec::<String>::new());
        let doubt = &shrinking.doubts(100)[0];
        assert!(
            doubt.starts_with("space in use shrank: -16.0 MiB a day"),
            "{doubt}"
        );
        assert!(doubt.contains("after 64 of the 100 days"), "{doubt}");
        let doubt = &shrinking.doubts(48)[0];
        assert!(
            doubt.contains("75 % of it is gone after 48 days"),
            "{doubt}"
        );
        assert!(observed(20, 0.0).doubts(101)[0].contains("once a year"));
    }
}
