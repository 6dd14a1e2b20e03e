//! Two targets over all benchmarks together, for those who want one answer for reads and writes.
//!
//! **Rule.** Of every phase of every suite that both were measured in, the ratio of the medians of their aged speeds;
//! all phases weigh the same, and the geometric mean is the answer. A phase that was measured with files of several
//! sizes counts as it is at the mean size of the workload's files: the two sizes around that weigh by how near they
//! are, in powers of two; without a mean all weigh the same. The interval is that of a ratio over several cases (see
//! [`Ratio::weighed`]), or over lives of the mean of theirs. Where one target reads and the other one writes faster,
//! that is the answer.

use super::consequences::{
    Answer, LITTLE, before_age, digits_of, drive, hidden_by_flash, interval, whose,
};
use super::sizes::{Pair, weights};
use super::{options, premise, skipped_too_many};
use crate::benching::results::Row;
use crate::benching::{Line, lines, words};
use crate::life;
use crate::report::names::is_simulated;
use crate::report::subject::{Group, Over, Subject};
use crate::report::times::{Times, in_same_lives};
use crate::report::words::{list, percent, size};
use fsage_bench::{Ratio, Says, benchmarks};
use fsage_metrics::{directory_order, files, layout_score};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The phase that writes over what is there.
const OVERWRITE: &str = "overwrite";

/// Suite, phase and size of files.
pub(super) type Case = (String, String, Option<u64>);
/// What was measured of a target.
pub(super) struct Measured {
    /// Life by life.
    pub lives: Vec<(life::Life, BTreeMap<Case, Line>)>,
    /// How large the files of its workload are in the mean, in bytes, where that is known.
    pub mean_size: Option<f64>,
}

/// Reads and writes in one sentence; none where not both were measured, or of a single target.
pub fn sentence(group: &Group) -> Option<Answer> {
    let subjects = &group.subjects;
    let simulated = subjects.iter().filter(|s| is_simulated(&s.spec)).count();
    if subjects.iter().any(skipped_too_many) || ![0, subjects.len()].contains(&simulated) {
        return None;
    }
    let (known, overwrites_none) = what_counts(group);
    let (_, first) = known.first()?;
    let mut speeds = Vec::new();
    for (_, lives) in &known {
        speeds.push(times(lives, first, true, |_| true)?.0.mean);
    }
    let mut places: Vec<usize> = (0..known.len()).collect();
    places.sort_by(|&a, &b| speeds[b].total_cmp(&speeds[a]));
    let [best, second, ..] = places[..] else {
        return None;
    };
    // Options are set beside none, which is the first target.
    let is_of_options = options::are_options(group);
    let next = if is_of_options && best != 0 {
        0
    } else {
        second
    };
    let is_single = simulated > 0 && subjects.iter().all(|s| s.lives.len() == 1);
    let aged = |counts: fn(&str) -> bool| {
        let (times, phases) = times(&known[best].1, &known[next].1, true, counts)?;
        Some((sure_of(is_single, times), phases))
    };
    let ((reads, _), (writes, _)) = (aged(is_read)?, aged(is_write)?);
    let (all, phases) = aged(|_| true)?;
    let names: Vec<&str> = subjects.iter().map(|s| s.name.as_str()).collect();
    let (life, _) = whose(group);
    let as_fast = places[1..]
        .iter()
        .filter(|&&place| is_of_options && place != next);
    let as_fast = as_fast.filter_map(|&place| {
        let of_best = times(&known[best].1, &known[place].1, true, |_| true)?.0;
        (of_best.says != Says::Faster).then_some(names[place])
    });
    let next_name = names[next];
    let answer = Beside {
        best: names[best],
        next: next_name,
        none: is_of_options.then_some(names[0]),
        as_fast: as_fast.collect(),
        all,
        reads,
        writes,
    };
    let best_name = names[best];
    let others = places[1..].iter().filter(|&&place| place != next);
    let others = others.map(|&place| {
        let share = percent(speeds[place] / speeds[best]);
        format!("{} {share}", names[place])
    });
    let others = of_the_others(best_name, &others.collect::<Vec<_>>());
    let over = what_is_compared([&known[best], &known[next]], overwrites_none);
    let rivals = (0..known.len()).filter(|&place| place != best);
    let rivals = rivals.filter(|&place| !is_of_options || best == 0 || place == next);
    let fresh = fresh(&known, best, rivals, all.says == Says::Faster, is_single);
    let is_parted = answer.is_parted();
    let pair = Pair {
        best: (known[best].0, &known[best].1),
        next: (known[next].0, &known[next].1),
        is_open: all.says == Says::Inconclusive || is_parted,
        is_single,
    };
    let is_seen = is_parted || all.says == Says::Faster && all.mean >= LITTLE;
    let text = format!(
        "for {life}{}, over {over}: {answer}.{others}{}",
        drive(group),
        hidden_by_flash(group, is_seen).unwrap_or_default()
    );
    let details = format!(
        "{}{} Speeds over all benchmarks are geometric means of the ratios of {phases} phases, each once.{}",
        pair.by_size(),
        pair.why_slower(),
        pair.at_the_mean(),
    );
    Some(Answer {
        text,
        order: fresh.map(|fresh| fresh.trim_start().to_owned()),
        details: Some(details.trim_start().to_owned()),
        is_open: all.says == Says::Inconclusive && !is_parted,
    })
}

/// Over which benchmarks two targets are compared.
fn what_is_compared(two: [&(&Subject, Measured); 2], overwrites_none: bool) -> String {
    let lacking = lacking(two);
    if !lacking.is_empty() {
        format!(
            "the benchmarks that both have (not all of {}: a larger size= gives room for it)",
            list(&lacking)
        )
    } else if overwrites_none {
        "all benchmarks but overwriting, which this workload never does".to_owned()
    } else {
        "all benchmarks".to_owned()
    }
}

/// The suites of which one of two targets has something that the other one lacks, aged or fresh.
fn lacking(two: [&(&Subject, Measured); 2]) -> Vec<String> {
    let [one, other] = two.map(|(_, of)| cases_of(of));
    let apart = one.symmetric_difference(&other).map(|case| case.0.as_str());
    let rows = two.into_iter().flat_map(|(subject, _)| &subject.lives);
    let rows = rows.flat_map(|life| &life.bench);
    let run = rows.map(|row| row.measurement.benchmark.as_str());
    let has = |suite: &str| one.iter().chain(&other).any(|case| case.0 == suite);
    let nowhere = run.filter(|suite| benchmarks::by_name(suite).is_some() && !has(suite));
    let all: BTreeSet<&str> = apart.chain(nowhere).collect();
    all.into_iter().map(str::to_owned).collect()
}

/// What targets have that are neither the fastest nor set beside it.
fn of_the_others(best: &str, others: &[String]) -> String {
    if others.is_empty() {
        return String::new();
    }
    format!(" Of {best}'s speed the others have: {}.", list(others))
}

/// What was measured of each target, without what the workload never does, and whether anything is left out for that.
fn what_counts(group: &Group) -> (Vec<(&Subject, Measured)>, bool) {
    let subjects = group.subjects.iter();
    let mut known: Vec<(&Subject, Measured)> = subjects.map(|s| (s, measured(s))).collect();
    let overwrites_none = premise::never_overwrites(group);
    if overwrites_none {
        let lives = known.iter_mut().flat_map(|(_, of)| &mut of.lives);
        lives.for_each(|(_, cases)| cases.retain(|(_, phase, _), _| phase != OVERWRITE));
    }
    (known, overwrites_none)
}

/// Of a single life on models where the ratio lies says how the spindle stood, and nothing of other lives: its interval
/// would look like certainty.
fn sure_of(is_single: bool, times: Times) -> Times {
    if is_single && times.says != Says::Inconclusive {
        let ends = (times.mean, times.mean);
        return Times { ends, ..times };
    }
    times
}

/// The fastest aged target beside another one.
struct Beside<'a> {
    best: &'a str,
    next: &'a str,
    /// The target without options, where the others are its options.
    none: Option<&'a str>,
    /// Options that cannot be told apart from the best.
    as_fast: Vec<&'a str>,
    all: Times,
    reads: Times,
    writes: Times,
}

impl Beside<'_> {
    /// Whether one reads and the other one writes faster, by enough for a word; not of options, which are many.
    fn is_parted(&self) -> bool {
        let is_much = |of: &Times| of.mean.max(of.mean.recip()) >= LITTLE;
        let says = (self.reads.says, self.writes.says);
        let differ = matches!(
            says,
            (Says::Faster, Says::Slower) | (Says::Slower, Says::Faster)
        );
        self.none.is_none() && differ && is_much(&self.reads) && is_much(&self.writes)
    }
}

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |of: &Times| words(of.mean, of.ends, of.says);
        let part = |of: &Times| match (of.says, interval(of.ends)) {
            // In words it has its interval already.
            (Says::Inconclusive, _) | (_, None) => said(of),
            (_, Some(ends)) => format!("{} ({ends})", said(of)),
        };
        let Beside {
            best, next, all, ..
        } = self;
        let as_fast = match &self.as_fast[..] {
            [] => None,
            as_fast => Some(list(as_fast)),
        };
        if self.is_parted() {
            let (reader, writer) = if self.reads.says == Says::Faster {
                (best, next)
            } else {
                (next, best)
            };
            return write!(
                f,
                "{reader} to read, {writer} to write. Aged, beside {next}, {best} reads {} and writes {}; over both, \
                 which count alike, it is {}",
                part(&self.reads),
                part(&self.writes),
                part(all)
            );
        }
        let mut also = None;
        match (all.says, self.none) {
            (Says::Faster | Says::Slower, _) => {
                let it = if as_fast.is_none() { "it" } else { best };
                let apart = as_fast.map_or_else(String::new, |others| {
                    format!(", within 1 % of others or not told apart from them: {others}")
                });
                let ends = interval(all.ends);
                let ends = ends.map_or_else(String::new, |ends| format!(" ({ends} times as fast)"));
                write!(
                    f,
                    "{best}{apart}. Aged, beside {next}, {it} is {}{ends}",
                    said(all)
                )?;
            }
            (Says::Same, Some(none)) => {
                also = as_fast;
                let is = part(all);
                write!(
                    f,
                    "no option is faster than {none}. Aged, beside {next}, {best} is {is}"
                )?;
            }
            (Says::Same, None) => write!(
                f,
                "{best} or {next}. Aged, beside {next}, {best} is {}",
                part(all)
            )?,
            (Says::Inconclusive, _) => {
                write!(f, "open. Aged, beside {next}, {best} is {}", said(all))?;
            }
        }
        write!(
            f,
            ": reads {}, writes {}",
            part(&self.reads),
            part(&self.writes)
        )?;
        match also {
            Some(others) => write!(f, ". Within 1 % of it, or not told apart from it: {others}"),
            None => Ok(()),
        }
    }
}

fn is_read(phase: &str) -> bool {
    phase.contains("read")
}

fn is_write(phase: &str) -> bool {
    let words = ["create", "write", "append", "deliver"];
    words.iter().any(|word| phase.contains(word))
}

/// What was measured of a target in each life: by suites of ours, and by commands of the user's where there is nothing
/// else, since nobody knows how these weigh beside them.
pub(super) fn measured(subject: &Subject) -> Measured {
    let is_own = |row: &Row| benchmarks::by_name(&row.measurement.benchmark).is_some();
    let mut rows = subject.lives.iter().flat_map(|life| &life.bench);
    let has_own = rows.any(is_own);
    let lives = subject.lives.iter().map(|life| {
        let by_suite = life
            .bench
            .chunk_by(|a, b| a.measurement.benchmark == b.measurement.benchmark);
        let by_suite = by_suite.filter(|rows| is_own(&rows[0]) || !has_own);
        let lines = by_suite.flat_map(|rows| {
            let suite = &rows[0].measurement.benchmark;
            // Of what has no room aged, only the fresh copy is measured: that sets nothing beside anything.
            let lines = lines(rows).into_iter().filter(Line::is_compared);
            lines.map(move |line| {
                let case = (suite.clone(), line.phase.clone(), line.file_bytes);
                (case, line)
            })
        });
        (life.life.clone(), lines.collect())
    });
    Measured {
        lives: lives.collect(),
        mean_size: mean_size(subject),
    }
}

/// How large the files of the workload are, in bytes.
fn mean_size(subject: &Subject) -> Option<f64> {
    let end = |metric| Some(subject.at_end(|day| day.value(metric))?.mean);
    let (bytes, files) = (end(&files::FILE_BYTES)?, end(&files::FILES)?);
    (files > 0.0 && bytes > 0.0).then(|| bytes / files)
}

/// What was measured of a target, in any life.
pub(super) fn cases_of(of: &Measured) -> BTreeSet<&Case> {
    of.lives
        .iter()
        .flat_map(|(_, of_life)| of_life.keys())
        .collect()
}

/// One target beside another over the phases that count, aged or fresh, and of how many that is.
fn times(
    of: &Measured,
    than: &Measured,
    is_aged: bool,
    counts: impl Fn(&str) -> bool,
) -> Option<(Times, usize)> {
    of_cases(of, than, is_aged, |(_, phase, _)| counts(phase))
}

/// The same over the cases that count.
pub(super) fn of_cases(
    of: &Measured,
    than: &Measured,
    is_aged: bool,
    counts: impl Fn(&Case) -> bool,
) -> Option<(Times, usize)> {
    let ratios = ratios(of, than, is_aged, counts);
    let phases = ratios.iter().map(|(_, (phases, _))| *phases).max()?;
    let ratios: Vec<_> = ratios
        .into_iter()
        .map(|(life, (_, of))| (life, of))
        .collect();
    Some((Times::of(&ratios)?, phases))
}

/// The same of each life.
fn ratios(
    of: &Measured,
    than: &Measured,
    is_aged: bool,
    counts: impl Fn(&Case) -> bool,
) -> Vec<(life::Life, (usize, Ratio))> {
    let ratios = in_same_lives(&of.lives, &than.lives).filter_map(|(life, one, other)| {
        let cases = one.iter().filter(|(case, _)| counts(case));
        let cases = cases.filter_map(|((suite, phase, size), line)| {
            let other = other.get(&(suite.clone(), phase.clone(), *size))?;
            Some(((suite, phase), *size, line.beside(other, is_aged)?))
        });
        let cases: Vec<_> = cases.collect();
        let mut phases = 0;
        let mut weighed = Vec::new();
        // By suite, phase and size, as they are kept.
        for of_phase in cases.chunk_by(|a, b| a.0 == b.0) {
            phases += 1;
            let sizes: Vec<Option<u64>> = of_phase.iter().map(|(_, size, _)| *size).collect();
            let weights = weights(&sizes, of.mean_size);
            let repeated = of_phase.iter().map(|(_, _, repeated)| repeated);
            weighed.extend(repeated.zip(weights).filter(|(_, weight)| *weight > 0.0));
        }
        Some((life.clone(), (phases, Ratio::weighed(&weighed)?)))
    });
    ratios.collect()
}

/// How fast the best aged target is fresh, beside the one that is the fastest of its rivals then: whether age turned
/// the order round.
fn fresh(
    known: &[(&Subject, Measured)],
    best: usize,
    rivals: impl Iterator<Item = usize>,
    is_faster: bool,
    is_single: bool,
) -> Option<String> {
    let beside = rivals.filter_map(|place| {
        let (of_best, _) = times(&known[best].1, &known[place].1, false, |_| true)?;
        Some((place, sure_of(is_single, of_best)))
    });
    let (place, of_best) = beside.min_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean))?;
    let (best, (rival, of_rival)) = (&known[best], &known[place]);
    let said = before_age(&best.0.name, &rival.name, of_best, is_faster);
    let changed = change(&best.1, of_rival).map_or_else(String::new, |ends| {
        format!(" From fresh to aged the ratio over all benchmarks changes by a factor of {ends}.")
    });
    let is_turned = is_faster && of_best.says == Says::Slower;
    let lead = if is_turned {
        "It does so"
    } else {
        "Age turns the order round"
    };
    let turned = turned_in(&best.1, (&rival.name, of_rival), lead).unwrap_or_default();
    let why = if is_turned {
        apart_when_fresh(best.0, rival)
    } else {
        None
    };
    Some(format!(
        " {said}{turned}{}{changed}",
        why.unwrap_or_default()
    ))
}

/// What age makes of the order of two targets in a phase.
enum Order {
    /// It turns it round; how the first one was beside the other fresh.
    Turned(String),
    /// It leaves it; how the first one was beside the other fresh.
    Kept(String),
    /// Nobody knows.
    Open,
}

/// In which kinds of phases, and in which phases of them, age turns the order of two targets round, and where that is
/// open, behind `lead`: what holds for all of them may hide what does not for a part.
fn turned_in(best: &Measured, (rival, of_rival): (&str, &Measured), lead: &str) -> Option<String> {
    let order = |counts: &dyn Fn(&str) -> bool| {
        let beside = |is_aged| Some(times(best, of_rival, is_aged, counts)?.0);
        let (aged, fresh) = (beside(true)?, beside(false)?);
        Some(match (aged.says, fresh.says) {
            (Says::Faster, Says::Slower) | (Says::Slower, Says::Faster) => {
                Order::Turned(format!("fresh, beside {rival}, {}", with_ends(fresh)))
            }
            (Says::Inconclusive, _) | (_, Says::Inconclusive) => Order::Open,
            _ => Order::Kept(format!("fresh, {}", with_ends(fresh))),
        })
    };
    let phases: BTreeSet<&str> = cases_of(best).into_iter().map(|of| of.1.as_str()).collect();
    // Those of which it is turned, and those of which it is open.
    let by_phase = |is_of: &dyn Fn(&str) -> bool| {
        let (mut turned, mut open) = (Vec::new(), Vec::new());
        for phase in phases.iter().filter(|phase| is_of(phase)) {
            match order(&|of| of == *phase) {
                Some(Order::Turned(fresh)) => turned.push(format!("{phase} ({fresh})")),
                Some(Order::Open) => open.push((*phase).to_owned()),
                Some(Order::Kept(_)) | None => {}
            }
        }
        (turned, open)
    };
    let (mut turned, mut open, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, is_of) in [("reads", is_read as fn(&str) -> bool), ("writes", is_write)] {
        let of_kind = order(&is_of);
        if let Some(Order::Turned(fresh)) = of_kind {
            // None of its phases is named beside it.
            turned.push(format!("{kind} ({fresh})"));
            continue;
        }
        let (parts, open_parts) = by_phase(&is_of);
        match of_kind {
            Some(Order::Open) => open.push(kind.to_owned()),
            Some(Order::Kept(fresh)) => {
                let whole = if parts.is_empty() && open_parts.is_empty() {
                    ""
                } else {
                    " as a whole"
                };
                kept.push(format!("{kind}{whole} ({fresh})"));
                open.extend(open_parts);
            }
            Some(Order::Turned(_)) | None => {}
        }
        turned.extend(parts);
    }
    turned.extend(by_phase(&|of| !is_read(of) && !is_write(of)).0);
    let is_open = match &open[..] {
        [] => String::new(),
        open => format!("; of {} it is open", list(open)),
    };
    let said = match (&turned[..], &kept[..]) {
        ([], []) => return None,
        ([], [reads, writes]) => format!("neither in {reads} nor in {writes}"),
        ([], kept) => format!("not in {}", list(kept)),
        (turned, []) => format!("in {}", list(turned)),
        (turned, kept) => format!("in {}, not in {}", list(turned), list(kept)),
    };
    Some(format!(" {lead} {said}{is_open}."))
}

/// How fast one is beside another, with the interval of that, if it has one.
fn with_ends(times: Times) -> String {
    let said = words(times.mean, times.ends, times.says);
    match interval(times.ends).filter(|_| times.says != Says::Inconclusive) {
        Some(ends) => format!("{said}, {ends}"),
        None => said,
    }
}

/// Why the one that is the slower one fresh is so, where its layout is not the worse one: how far its files lie apart.
fn apart_when_fresh(slower: &Subject, faster: &Subject) -> Option<String> {
    /// Nearer than so much farther apart is no reason.
    const FARTHER: f64 = 1.25;
    let fresh = |subject: &Subject, metric| {
        let over = subject.over(|life| life.last()?.of_control(metric));
        over.map(|over| over.mean)
    };
    let score = |subject| fresh(subject, &layout_score::SCORE);
    let apart = |subject| fresh(subject, &directory_order::NEXT_FILE_BYTES);
    let is_whole = score(slower)? >= score(faster)? - super::ALIKE;
    let (far, near) = (apart(slower)?, apart(faster)?);
    (is_whole && far > near * FARTHER).then(|| {
        format!(
            " Its fresh files are as whole, but lie farther apart: {} from one to the next of a directory in the \
             median, {} on {}.",
            size(far.round() as u64),
            size(near.round() as u64),
            faster.name
        )
    })
}

/// What age makes of the ratio of two targets: aged over fresh, life by life, with its interval. None of fewer lives
/// than have one.
fn change(of: &Measured, than: &Measured) -> Option<String> {
    let of_lives = |is_aged| ratios(of, than, is_aged, |_| true);
    let (aged, fresh) = (of_lives(true), of_lives(false));
    let changes = in_same_lives(&aged, &fresh).map(|(life, (_, aged), (_, fresh))| {
        let change = aged.median / fresh.median;
        (life.clone(), change)
    });
    let over = Over::of(life::independent(changes))?;
    over.mean_interval?;
    let (digits, ends) = (digits_of(over.ends())?, interval(over.ends())?);
    let mean = format!("{:.digits$}", over.mean);
    // Nothing, or nothing that is known.
    let is_any = mean.parse() != Ok(1.0) && over.ends().0 > 0.0;
    is_any.then(|| format!("{mean} ({ends})"))
}

#[cfg(test)]
mod tests;
