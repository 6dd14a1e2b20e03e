//! What two targets say of each other by size of files: a user has files of some size, which decides what sizes weigh
//! in the answer over all benchmarks.

use super::consequences::{LITTLE, interval, is_on_disks};
use super::together::{Case, Measured, cases_of, measured, of_cases};
use crate::aging::in_units;
use crate::benching::{State, words};
use crate::report::subject::{Group, Subject};
use crate::report::times::Times;
use crate::report::words::{list, percent, size, thousands};
use fsage_bench::{Measurement, Says};
use std::collections::BTreeSet;

/// The fastest target and the one that it is set beside.
pub(super) struct Pair<'a> {
    pub best: (&'a Subject, &'a Measured),
    pub next: (&'a Subject, &'a Measured),
    /// Whether all benchmarks leave open which is faster, or it is another one to read than to write.
    pub is_open: bool,
    /// Whether both lived a single life on models, of which the interval says nothing of others.
    pub is_single: bool,
}

/// What sizes of files weigh for files of that mean, in bytes: the two around it by how near they are, in powers of
/// two, the outermost alone where it lies beyond; the same without a mean, or without sizes.
pub(super) fn weights(sizes: &[Option<u64>], mean: Option<f64>) -> Vec<f64> {
    let known: Option<Vec<u64>> = sizes.iter().copied().collect();
    let (Some(known), Some(mean)) = (known.filter(|known| known.len() > 1), mean) else {
        return vec![1.0 / sizes.len() as f64; sizes.len()];
    };
    let (Some(&least), Some(&most)) = (known.iter().min(), known.iter().max()) else {
        return Vec::new();
    };
    let mean = mean.clamp(least as f64, most as f64);
    let below = known.iter().filter(|&&size| size as f64 <= mean).max();
    let above = known.iter().filter(|&&size| size as f64 >= mean).min();
    let (below, above) = (
        below.copied().unwrap_or(least),
        above.copied().unwrap_or(most),
    );
    let share = if below == above {
        0.0
    } else {
        (mean / below as f64).ln() / (above as f64 / below as f64).ln()
    };
    let weight = |&size: &u64| {
        if size == below {
            1.0 - share
        } else if size == above {
            share
        } else {
            0.0
        }
    };
    known.iter().map(weight).collect()
}

impl Pair<'_> {
    /// One beside the other over the cases that count, aged.
    fn times(&self, counts: impl Fn(&Case) -> bool) -> Option<Times> {
        Some(of_cases(self.best.1, self.next.1, true, counts)?.0)
    }

    /// What sizes of files weigh, where there are several.
    pub fn at_the_mean(&self) -> String {
        let sizes: Vec<u64> = sizes_in(self.best.1, |_| true).into_iter().collect();
        let Some(mean) = self.best.1.mean_size.filter(|_| sizes.len() > 1) else {
            return String::new();
        };
        let all: Vec<Option<u64>> = sizes.iter().copied().map(Some).collect();
        let weighed = sizes.into_iter().zip(weights(&all, Some(mean)));
        let weighed = weighed.filter(|(_, weight)| *weight > 0.0);
        let weighed =
            weighed.map(|(size, weight)| format!("{} {}", in_units(size), percent(weight)));
        format!(
            " Sizes weigh by how near they are to the {} that files of this workload have in the mean: {}.",
            size(mean.round() as u64),
            list(&weighed.collect::<Vec<_>>())
        )
    }

    /// Where the first is slower in phases at the size that is the nearest to the workload's files: what the disk was
    /// asked for.
    pub fn why_slower(&self) -> String {
        let Some(mean) = self.best.1.mean_size else {
            return String::new();
        };
        let distance = |size: u64| (size as f64 / mean).ln().abs();
        let sizes = sizes_in(self.best.1, |_| true).into_iter();
        let nearest = sizes.min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        let phases = nearest.map(|size| (size, self.phases_at(size)));
        let phases = phases.into_iter().flat_map(|(size, phases)| {
            let slower = phases.into_iter().filter(|(_, of)| {
                // What differs little needs no reason.
                of.says == Says::Slower && of.mean * LITTLE <= 1.0
            });
            slower.map(move |(phase, _)| (size, phase))
        });
        let why = phases.filter_map(|(size, phase)| self.requests(phase, size));
        why.collect()
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
    /// together leave it open what each says.
    pub fn by_size(&self) -> String {
        let sizes = sizes_in(self.best.1, |_| true);
        let mut is_any_decided = false;
        let texts = sizes.iter().filter_map(|&size| {
            let of_size = self.times(|case| case.2 == Some(size))?;
            if !self.is_open && of_size.says != Says::Slower {
                return None;
            }
            let phases = self.phases_where_they_differ(size);
            let is_decided = of_size.says != Says::Inconclusive;
            is_any_decided |= is_decided || phases.is_some();
            let ends = interval(of_size.ends).filter(|_| is_decided && !self.is_single);
            let details: Vec<String> = ends.into_iter().chain(phases).collect();
            let details = match &details[..] {
                [] => String::new(),
                details => format!(" ({})", details.join("; ")),
            };
            Some(format!("at {} {}{details}", in_units(size), said(&of_size)))
        });
        let texts: Vec<String> = texts.collect();
        let lead = if !self.is_open && !texts.is_empty() {
            "Aged, not at every size of files: beside"
        } else if is_any_decided && texts.len() > 1 {
            "Aged, by size of files, beside"
        } else {
            // A single size is all of it.
            return String::new();
        };
        format!(
            " {lead} {}, {} is {}.",
            self.next.0.name,
            self.best.0.name,
            list(&texts)
        )
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
fn sizes_in(of: &Measured, counts: impl Fn(&Case) -> bool) -> BTreeSet<u64> {
    let cases = cases_of(of).into_iter();
    cases
        .filter(|case| counts(case))
        .filter_map(|case| case.2)
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 32 lies halfway between 16 and 64 in powers of two.
    #[test]
    fn the_two_sizes_around_the_mean_weigh_by_how_near_they_are() {
        let of = |sizes: &[u64], mean: f64| {
            let sizes: Vec<Option<u64>> = sizes.iter().copied().map(Some).collect();
            weights(&sizes, Some(mean))
        };
        assert_eq!(of(&[16, 64], 32.0), [0.5, 0.5]);
        assert_eq!(of(&[16, 64], 16.0), [1.0, 0.0]);
        assert_eq!(of(&[16, 64, 1024], 64.0), [0.0, 1.0, 0.0]);
        assert_eq!(of(&[4, 16, 64, 1024], 32.0), [0.0, 0.5, 0.5, 0.0]);
        assert_eq!(of(&[16, 64], 2.0), [1.0, 0.0]);
        assert_eq!(of(&[16, 64], 9000.0), [0.0, 1.0]);
        assert_eq!(of(&[16], 32.0), [1.0]);
        assert_eq!(weights(&[Some(16), Some(64)], None), [0.5, 0.5]);
        assert_eq!(weights(&[None], Some(32.0)), [1.0]);
    }
}
