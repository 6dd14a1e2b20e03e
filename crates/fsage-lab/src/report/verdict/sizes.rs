//! What two targets say of each other by size of files: a user has files of some size, and all sizes together weigh the
//! same in the answer over all benchmarks.

use super::consequences::{LITTLE, interval, is_on_disks};
use super::together::{Case, Lives, cases_of, measured, of_cases};
use crate::aging::in_units;
use crate::benching::{State, words};
use crate::report::subject::{Group, Subject};
use crate::report::times::Times;
use crate::report::words::{list, size, thousands};
use fsage_bench::{Measurement, Says};
use fsage_metrics::files;
use std::collections::BTreeSet;

/// The fastest target and the one that it is set beside.
pub(super) struct Pair<'a> {
    pub best: (&'a Subject, &'a Lives),
    pub next: (&'a Subject, &'a Lives),
    /// What all benchmarks say of the first.
    pub says: Says,
}

/// What a size of files says that all benchmarks do not.
pub(super) struct Near {
    /// The size.
    pub size: u64,
    /// Behind the answer over all benchmarks: `; but at 16K ...`.
    pub text: String,
    /// Where phases are slower, what the device was asked for in them; empty where nobody knows.
    pub why: String,
}

impl Pair<'_> {
    /// One beside the other over the cases that count, aged.
    fn times(&self, counts: impl Fn(&Case) -> bool) -> Option<Times> {
        Some(of_cases(self.best.1, self.next.1, true, counts)?.0)
    }

    /// What the size says that is the nearest to the workload's files, where that is not what all benchmarks say: the
    /// other target is the faster one at it, in a phase at least, or it is decided where all together are not.
    pub fn near_the_workload(&self) -> Option<Near> {
        let mean = mean_size(self.best.0)?;
        let distance = |size: u64| (size as f64 / mean).ln().abs();
        let sizes = sizes_in(self.best.1, |_| true).into_iter();
        let nearest = sizes.min_by(|&a, &b| distance(a).total_cmp(&distance(b)))?;
        let is_of = |case: &Case| case.2 == Some(nearest);
        let of_size = self.times(is_of)?;
        let phases = self.phases_at(nearest);
        // What differs little is no reason to decide otherwise.
        let is_much = |of: &&Times| of.mean.max(of.mean.recip()) >= LITTLE;
        let mut says = phases
            .iter()
            .map(|(_, of)| of)
            .filter(is_much)
            .map(|of| of.says);
        let differs = match self.says {
            Says::Faster => says.any(|of| of == Says::Slower),
            Says::Slower => says.any(|of| of == Says::Faster),
            Says::Same | Says::Inconclusive => {
                says.any(|of| matches!(of, Says::Slower | Says::Faster))
            }
        };
        if !differs {
            return None;
        }
        let of_phases = phases
            .iter()
            .map(|(phase, of)| format!("{phase} {}", said(of)));
        let of_phases: Vec<String> = of_phases.collect();
        let text = format!(
            "; but at {}, of the sizes measured the nearest to this workload's files ({} in the mean), it is {} ({})",
            in_units(nearest),
            size(mean.round() as u64),
            said(&of_size),
            list(&of_phases)
        );
        let slower = phases.iter().filter(|(_, of)| of.says == Says::Slower);
        let why = slower.filter_map(|(phase, _)| self.requests(phase, nearest));
        Some(Near {
            size: nearest,
            text,
            why: why.collect(),
        })
    }

    /// What the devices were asked for in a phase at a size, on simulated disks: how many requests, and how long one
    /// took.
    fn requests(&self, phase: &str, size: u64) -> Option<String> {
        /// So many times as many, or as long, are more.
        const MORE: f64 = 1.1;
        if !is_on_disks([self.best.0, self.next.0]) {
            return None;
        }
        let asked = |subject: &Subject| {
            let rows = subject.lives.iter().flat_map(|life| &life.bench);
            let rows = rows
                .filter(|row| row.state == State::Aged)
                .map(|row| &row.measurement);
            let is_of = |of: &&Measurement| of.phase == phase && of.file_bytes == Some(size);
            let (mut times, mut requests, mut ns) = (0, 0, 0);
            for of in rows.filter(is_of) {
                let asked = of.requests?;
                times += 1;
                requests += asked.reads + asked.writes;
                ns += of.elapsed_ns;
            }
            (requests > 0).then(|| {
                let ms = ns as f64 / requests as f64 / 1e6;
                (requests as f64 / f64::from(times), ms)
            })
        };
        let ((of_best, ms_of_best), (of_next, ms_of_next)) =
            (asked(self.best.0)?, asked(self.next.0)?);
        let (more, longer) = (of_best > of_next * MORE, ms_of_best > ms_of_next * MORE);
        let why = match (more, longer) {
            (true, true) => "there are more of them, and they lie farther apart",
            (true, false) => "there are more of them",
            (false, true) => "they lie farther apart",
            (false, false) => return None,
        };
        let [best, next] = [of_best, of_next].map(|of| thousands(of.round() as u64));
        Some(format!(
            " Why {phase} at {} is slower on {}: the disk has {best} requests of {ms_of_best:.1} ms each, against \
             {next} of {ms_of_next:.1} ms on {}: {why}.",
            in_units(size),
            self.best.0.name,
            self.next.0.name,
        ))
    }

    /// Sizes of files at which the faster target is the slower one, for those who have such files, and where all sizes
    /// together leave it open what each says; without one that is said already.
    pub fn by_size(&self, known: Option<u64>) -> String {
        let sizes = sizes_in(self.best.1, |_| true).into_iter();
        let sizes: Vec<u64> = sizes.filter(|&size| Some(size) != known).collect();
        let is_open = self.says == Says::Inconclusive;
        let mut is_any_decided = false;
        let texts = sizes.iter().filter_map(|&size| {
            let of_size = self.times(|case| case.2 == Some(size))?;
            if !is_open && of_size.says != Says::Slower {
                return None;
            }
            let phases = self.phases_where_they_differ(size);
            let is_decided = of_size.says != Says::Inconclusive;
            is_any_decided |= is_decided || phases.is_some();
            let ends = interval(of_size.ends).filter(|_| is_decided);
            let details: Vec<String> = ends.into_iter().chain(phases).collect();
            let details = match &details[..] {
                [] => String::new(),
                details => format!(" ({})", details.join("; ")),
            };
            Some(format!("at {} {}{details}", in_units(size), said(&of_size)))
        });
        let texts: Vec<String> = texts.collect();
        let lead = if !is_open && !texts.is_empty() {
            "Not at every size of files: beside"
        } else if is_any_decided && (texts.len() > 1 || known.is_some()) {
            "By size of files, beside"
        } else {
            // A single size is all of it.
            return String::new();
        };
        format!(" {lead} {} it is {}.", self.next.0.name, list(&texts))
    }

    /// What each phase says at a size of files.
    fn phases_at(&self, size: u64) -> Vec<(&str, Times)> {
        let cases = cases_of(self.best.1);
        let cases = cases.into_iter().filter(|case| case.2 == Some(size));
        let phases: BTreeSet<&str> = cases.map(|case| case.1.as_str()).collect();
        let phases = phases.into_iter().filter_map(|phase| {
            let times = self.times(|case| case.2 == Some(size) && case.1 == phase)?;
            Some((phase, times))
        });
        phases.collect()
    }

    /// The same where they differ: `create 60 % slower, read as fast`.
    fn phases_where_they_differ(&self, size: u64) -> Option<String> {
        let phases = self.phases_at(size);
        let texts: Vec<String> = phases.iter().map(|(_, times)| said(times)).collect();
        let differ = texts.iter().any(|text| *text != texts[0]);
        differ.then(|| {
            let named = phases.iter().zip(&texts);
            let named = named.map(|((phase, _), text)| format!("{phase} {text}"));
            named.collect::<Vec<_>>().join(", ")
        })
    }
}

/// A ratio in words; `open` where it is not decided.
fn said(times: &Times) -> String {
    match times.says {
        Says::Inconclusive => "open".to_owned(),
        Says::Same => "as fast".to_owned(),
        says => words(times.mean, times.ends, says),
    }
}

/// The sizes of files in cases that count.
fn sizes_in(lives: &Lives, counts: impl Fn(&Case) -> bool) -> BTreeSet<u64> {
    let cases = cases_of(lives).into_iter();
    cases
        .filter(|case| counts(case))
        .filter_map(|case| case.2)
        .collect()
}

/// How large the files of the workload are, in bytes.
fn mean_size(subject: &Subject) -> Option<f64> {
    let end = |metric| Some(subject.at_end(|day| day.value(metric))?.mean);
    let (bytes, files) = (end(&files::FILE_BYTES)?, end(&files::FILES)?);
    (files > 0.0 && bytes > 0.0).then(|| bytes / files)
}

/// Of a phase that leaves two targets open the sizes of files that do not: `at 16K a is 2.1 times as fast`. None where
/// there are none, or all say the same.
pub(super) fn sizes_of(group: &Group, [one, other]: [&str; 2], of: (&str, &str)) -> Option<String> {
    let lives = |name: &str| {
        let subject = group.subjects.iter().find(|subject| subject.name == name)?;
        Some(measured(subject))
    };
    let (of_one, of_other) = (lives(one)?, lives(other)?);
    let is_phase = |case: &Case| (case.0.as_str(), case.1.as_str()) == of;
    let said = sizes_in(&of_one, is_phase).into_iter().filter_map(|size| {
        let is_of = |case: &Case| is_phase(case) && case.2 == Some(size);
        let times = of_cases(&of_one, &of_other, true, is_of)?.0;
        let is_decided = times.says != Says::Inconclusive;
        is_decided.then(|| {
            let said = words(times.mean, times.ends, times.says);
            format!("at {} {one} is {said}", in_units(size))
        })
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| list(&said))
}
