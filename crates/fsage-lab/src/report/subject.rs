//! What is compared on a page.

use crate::benching::causes::CauseRow;
use crate::benching::flash::FlashRow;
use crate::benching::over_days::Course;
use crate::benching::results::Row;
use crate::days::{self, DayRow};
use crate::life;
use crate::run_folder::WorkloadFacts;
use fsage_bench::Summary;
use fsage_metrics::layout_score;
use fsage_report::{Fact, Target};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What one workload did to targets.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Behind the ids of its sections, so that those of several workloads differ.
    pub suffix: String,
    /// Name of the workload, where a page has several.
    pub title: Option<String>,
    /// The targets.
    pub subjects: Vec<Subject>,
    /// What is known of the workload.
    pub workload: Option<WorkloadFacts>,
}

impl Group {
    /// The one simulated drive that all was measured on; none where there are several, or real ones.
    pub fn drive(&self) -> Option<&str> {
        let lives = self.subjects.iter().flat_map(|subject| &subject.lives);
        let rows = lives.flat_map(|life| &life.bench);
        let drives: BTreeSet<Option<&str>> = rows.map(|row| row.device.as_deref()).collect();
        let drive = drives.first().copied().flatten();
        drive.filter(|_| drives.len() == 1)
    }
}

/// A target.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Short name, unlike that of any other on the page.
    pub name: String,
    /// Its place among the targets of the page, which gives it its color.
    pub place: usize,
    /// Its specification.
    pub spec: String,
    /// What is known of it, beside its specification.
    pub facts: Vec<Fact>,
    /// What it lived through: once in a run, once a seed and repetition in an experiment.
    pub lives: Vec<Life>,
    /// Which size has room for the workload, where it lacked some.
    pub room_bytes: Option<u64>,
}

/// A target that lived through a workload.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Which life that was.
    pub life: life::Life,
    /// The folder of its results.
    pub folder: PathBuf,
    /// Its days.
    pub days: Vec<DayRow>,
    /// The unaged control.
    pub control: Option<DayRow>,
    /// Measurements of benchmarks.
    pub bench: Vec<Row>,
    /// How fast it was over its days, where that was measured.
    pub courses: Vec<Course>,
    /// Where its pages lay on flash devices.
    pub flash: Vec<FlashRow>,
    /// How long phases took there without some causes of their time.
    pub causes: Vec<CauseRow>,
    /// Only its end is known, as its one day.
    pub only_end: bool,
}

impl Life {
    /// How it ended.
    pub fn last(&self) -> Option<&DayRow> {
        self.days.last()
    }

    /// Which day by the calendar its last one is, counted from 1; 0 without days.
    pub fn last_day(&self) -> u64 {
        days::calendar(&self.days).last().copied().unwrap_or(0)
    }

    /// Whether its days are in a table of its folder, and not in snapshots alone.
    pub fn has_table_of_days(&self) -> bool {
        !self.only_end && !self.folder.as_os_str().is_empty()
    }

    /// Of all days.
    pub fn total(&self, count: impl Fn(&DayRow) -> u64) -> u64 {
        self.days.iter().map(count).fold(0, u64::saturating_add)
    }

    /// The layout score at the end, where a block is scored.
    pub fn end_score(&self) -> Option<f64> {
        self.last().and_then(score)
    }

    /// The layout score of the first day that scores a block.
    pub fn first_score(&self) -> Option<f64> {
        self.days.iter().find_map(score)
    }

    /// The layout score of the control, where a block of it is scored.
    pub fn control_score(&self) -> Option<f64> {
        match &self.control {
            Some(control) => score(control),
            // A control of a run that has lost its snapshot: nothing says how many blocks it has, but it has those
            // of the aged one.
            None => self
                .last()
                .filter(|last| score(last).is_some())?
                .of_control(&layout_score::SCORE),
        }
    }
}

/// The layout score of a layout that has one: 1 without a block that is scored says nothing.
pub fn score(day: &DayRow) -> Option<f64> {
    day.score()
}

/// A value over the lives of a subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Over {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// How many values there are.
    pub count: usize,
    /// Where the mean of all lives lies with a confidence of 0.95, by Student's t; none of fewer than three values.
    pub mean_interval: Option<(f64, f64)>,
}

/// Values from which on an interval of their mean says something: that of two is 25 times as wide as they are apart.
const FEW: usize = 3;

impl Over {
    /// Of values; `None` where there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Over> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        let enough = Some(&values).filter(|values| values.len() >= FEW);
        let interval = enough.and_then(|values| Summary::of(values)?.mean_interval());
        (count > 0).then(|| Over {
            mean: values.iter().sum::<f64>() / count as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            count,
            mean_interval: interval.map(|interval| (interval.low, interval.high)),
        })
    }

    /// The ends of a band, where there are several values.
    pub fn interval(&self) -> Option<(f64, f64)> {
        (self.count > 1).then(|| self.ends())
    }

    /// The same of a share, which lies between 0 and 1 however few lives there are.
    pub fn interval_of_share(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval()?;
        Some((low, high.min(1.0)))
    }

    /// Where the mean lies of a metric, a speed or a ratio, none of which is ever negative: by Student's t where there
    /// are enough values, else from the smallest to the largest.
    pub fn ends(&self) -> (f64, f64) {
        let (low, high) = self.mean_interval.unwrap_or((self.low, self.high));
        (low.max(0.0), high)
    }

    /// From the smallest to the largest; 0 of one.
    pub fn spread(&self) -> f64 {
        self.high - self.low
    }
}

impl Subject {
    /// The simulated device that it was measured on first.
    pub fn device(&self) -> Option<&str> {
        let mut rows = self.lives.iter().flat_map(|life| &life.bench);
        rows.find_map(|row| row.device.as_deref())
    }

    /// On the page.
    pub fn target(&self) -> Target {
        Target {
            name: self.name.clone(),
            spec: self.spec.clone(),
            facts: self.facts.clone(),
        }
    }

    /// A value over its lives, where it is known: each life counts once.
    pub fn over(&self, value: impl Fn(&Life) -> Option<f64>) -> Option<Over> {
        Over::of(life::independent(self.values(value)))
    }

    /// A value with its life, where it is known.
    pub(crate) fn values(
        &self,
        value: impl Fn(&Life) -> Option<f64>,
    ) -> impl Iterator<Item = (life::Life, f64)> {
        let lives = self.lives.iter();
        lives.filter_map(move |life| Some((life.life.clone(), value(life)?)))
    }

    /// A value of the last day.
    pub fn at_end(&self, value: impl Fn(&DayRow) -> Option<f64>) -> Option<Over> {
        self.over(|life| value(life.last()?))
    }

    /// A value of the unaged control.
    pub fn of_control(&self, value: impl Fn(&DayRow) -> Option<f64>) -> Option<Over> {
        self.over(|life| value(life.control.as_ref()?))
    }

    /// Days that all its lives have, by the calendar.
    pub fn days(&self) -> u64 {
        let known = self
            .lives
            .iter()
            .map(|life| (life.last_day(), life.only_end));
        let days = known.map(|(days, only_end)| if only_end { 0 } else { days });
        days.min().unwrap_or(0)
    }

    /// A sum over all days of all lives.
    pub fn total(&self, count: impl Fn(&DayRow) -> u64) -> u64 {
        let totals = self.lives.iter().map(|life| life.total(&count));
        totals.fold(0, u64::saturating_add)
    }
}

impl Group {
    /// The title of a section.
    pub fn titled(&self, title: &str) -> String {
        match &self.title {
            Some(workload) => format!("{title}: {workload}"),
            None => title.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_lives_have_the_interval_of_student_from_0_on_and_two_both_ends() {
        assert_eq!(
            Over::of([2.0, 1.0]).map(|over| over.ends()),
            Some((1.0, 2.0))
        );
        // By hand: t with two degrees of freedom is 4.302653, and 4.302653 / sqrt(3) is 2.4841.
        let close = |values, expected: (f64, f64)| {
            let (low, high) = Over::of(values).expect("values").ends();
            assert!((low - expected.0).abs() < 1e-4 && (high - expected.1).abs() < 1e-4);
        };
        close([11.0, 12.0, 13.0], (9.5159, 14.4841));
        close([1.0, 2.0, 3.0], (0.0, 4.4841));
    }
}
