//! A rule over the lives of an experiment: cells that differ in seed and repetition alone are one sample, in which each
//! life counts once.

use super::judge::{Pair, excess, not_measured, points};
use super::outcome::{Failure, Lives, Open, Verdict};
use super::results::TargetResults;
use super::rules::{Bound, Noise, Rule, Subject, When};
use super::{counted, number};
use crate::life::{self, Life};
use fsage_bench::{Interval, Summary};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// What the rules over seeds say of every target and workload.
pub fn verdicts(rules: &[Rule], pairs: &[Pair<'_>]) -> Vec<Verdict> {
    let mut groups: Vec<Vec<&Pair<'_>>> = Vec::new();
    let mut places = BTreeMap::new();
    for pair in pairs {
        let place = *places
            .entry((&pair.new.life, &pair.new.spec))
            .or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(pair);
    }
    let mut verdicts = Vec::new();
    for group in &groups {
        let cells = cells(group[0], pairs);
        let asked = rules.iter();
        let asked = asked.filter(|rule| rule.is_over(cells) && rule.is_about(group[0].new));
        verdicts.extend(asked.filter_map(|rule| verdict(rule, group)));
    }
    verdicts
}

/// How many cells of an experiment differ from this one in seed and repetition alone, itself included.
pub fn cells(pair: &Pair<'_>, pairs: &[Pair<'_>]) -> usize {
    alike(pair, pairs).len().max(1)
}

/// These cells by name, where there are several.
pub fn lives(pair: &Pair<'_>, pairs: &[Pair<'_>]) -> Option<Lives> {
    let group = alike(pair, pairs);
    let lives: HashSet<Life> = group.iter().map(|pair| life_of(pair.new)).collect();
    (group.len() > 1).then(|| Lives {
        name: group_name(&group),
        cells: group.len(),
        word: if lives.len() == group.len() {
            "lives"
        } else {
            "runs"
        },
    })
}

fn alike<'a, 'b>(pair: &Pair<'_>, pairs: &'b [Pair<'a>]) -> Vec<&'b Pair<'a>> {
    let of = pair.new;
    let is_alike = |new: &TargetResults| new.life == of.life && new.spec == of.spec;
    let pairs = pairs
        .iter()
        .filter(|pair| of.life.is_some() && is_alike(pair.new));
    pairs.collect()
}

/// What a rule looks at in one life, and the same of the baseline's.
struct OfLife {
    /// The benchmark, or the day of a rule that looks at every one; empty of a metric on its own.
    name: String,
    /// That day, from 1, and its label.
    day: Option<(u64, String)>,
    unit: String,
    is_more_better: bool,
    value: f64,
    baseline: Option<f64>,
}

/// The values of one metric, on one of its days, or of one benchmark, in all lives.
struct Sample {
    name: String,
    day: Option<(u64, String)>,
    unit: String,
    is_more_better: bool,
    /// With its life, and with the value of the baseline where that is known.
    values: Vec<(Life, f64, Option<f64>)>,
}

fn verdict(rule: &Rule, group: &[&Pair<'_>]) -> Option<Verdict> {
    let compares = rule.bounds.iter().all(|bound| bound.kind.is_relative());
    if compares && group.iter().all(|pair| pair.old.is_none()) {
        // That the baseline lacks the target has failed already.
        return None;
    }
    let first = group[0].new;
    let mut verdict = Verdict {
        cell: Some(group_name(group)),
        ..Verdict::new(&rule.name, first)
    };
    if group.len() < 2 {
        verdict.fail(
            "over = \"seeds\" takes the mean of several lives, and there is one; `fsage run` and `compare --seeds N` \
             make more"
                .to_owned(),
        );
        return Some(verdict);
    }
    let mut samples: Vec<Sample> = Vec::new();
    for pair in group {
        match values(rule, pair) {
            Ok(values) => values
                .into_iter()
                .for_each(|value| add(&mut samples, pair, value)),
            Err(why) => {
                let cell = pair.new.cell.as_deref().unwrap_or_default();
                verdict.fail(format!("{cell}: {why}"));
                return Some(verdict);
            }
        }
    }
    // Means of other lives are not those of the other days.
    samples.retain(|sample| sample.day.is_none() || sample.values.len() == group.len());
    if samples.is_empty() {
        if rule.optional {
            return None;
        }
        verdict.fail("nothing was checked: no life has a value".to_owned());
        return Some(verdict);
    }
    verdict.checked = samples.iter().map(|sample| sample.values.len()).sum();
    let said: Vec<String> = samples
        .iter()
        .map(|sample| judge(&mut verdict, rule, sample))
        .collect();
    verdict.found = match &said[..] {
        [one] => one.clone(),
        _ if samples[0].day.is_some() => over_days(&mut verdict, &samples),
        all => counted(all.len() as u64, "mean"),
    };
    Some(verdict)
}

/// Makes one failure of those of all days, that of the first with the worst beside it, and where a limit is crossed on
/// none the day nearest to that of what they leave open; says what the means are.
fn over_days(verdict: &mut Verdict, samples: &[Sample]) -> String {
    let days = samples.len();
    let beyond = |bound: &Bound, value: f64, baseline: Option<f64>| {
        bound.excess(value, baseline.unwrap_or(value))
    };
    let of_failure = |failure: &Failure| match (failure.bound, failure.value) {
        (Some(bound), Some(value)) => beyond(&bound, value, failure.baseline),
        _ => f64::NEG_INFINITY,
    };
    for same in by_bound(std::mem::take(&mut verdict.failures), |failure| {
        failure.bound
    }) {
        let worst = same
            .iter()
            .max_by(|a, b| of_failure(a).total_cmp(&of_failure(b)));
        let (Some(first), Some(worst)) = (same.first(), worst) else {
            continue;
        };
        let mut message = format!(
            "{}; crossed on {} of {days} days",
            first.message,
            same.len()
        );
        if worst.day != first.day {
            let _ = write!(message, "; most on {}", worst.found);
        }
        verdict.failures.push(Failure {
            message,
            worst_day: worst.day,
            worst_value: worst.value,
            days_beyond: Some(same.len()),
            ..first.clone()
        });
    }
    for same in by_bound(std::mem::take(&mut verdict.open), |open| open.bound) {
        let count = same.len();
        let of_open = |open: &Open| beyond(&open.bound, open.value, open.baseline);
        let worst = same
            .into_iter()
            .max_by(|a, b| of_open(a).total_cmp(&of_open(b)));
        verdict.open.extend(worst.map(|worst| Open {
            message: format!("{}; open on {count} of {days} days", worst.message),
            ..worst
        }));
    }
    let means = samples
        .iter()
        .filter_map(|sample| sample.summary(|value, _| Some(value)))
        .map(|summary| summary.mean);
    let (low, high) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
        (mean.min(low), mean.max(high))
    });
    format!("mean {} to {} on {days} days", number(low), number(high))
}

/// What belongs to the same limit, in the order in which limits appear.
fn by_bound<T, B: PartialEq>(all: Vec<T>, bound: impl Fn(&T) -> B) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for one in all {
        match groups
            .iter_mut()
            .find(|group| bound(&group[0]) == bound(&one))
        {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Which life a target lived.
fn life_of(target: &TargetResults) -> Life {
    let cell = target.cell.as_deref().unwrap_or_default();
    Life::of_hash(target.workload.as_deref(), cell)
}

fn group_name(group: &[&Pair<'_>]) -> String {
    let lives: HashSet<Life> = group.iter().map(|pair| life_of(pair.new)).collect();
    let mut text = match lives.len() {
        1 => "1 life".to_owned(),
        lives => format!("{lives} lives"),
    };
    if lives.len() < group.len() {
        let _ = write!(text, ", {} runs", group.len());
    }
    match &group[0].new.life {
        Some(workload) => format!("{workload}, {text}"),
        None => text,
    }
}

fn values(rule: &Rule, pair: &Pair<'_>) -> Result<Vec<OfLife>, String> {
    let (pattern, of) = match &rule.subject {
        Subject::Metric { column, when } => {
            let points = points(rule, column, *when, pair)?;
            return Ok(points
                .iter()
                .map(|point| OfLife {
                    name: match when {
                        When::Every => point.at(),
                        _ => String::new(),
                    },
                    day: (*when == When::Every).then(|| point.day()),
                    unit: String::new(),
                    is_more_better: true,
                    value: point.value,
                    baseline: point.baseline,
                })
                .collect());
        }
        Subject::Bench { case, of } => (case, *of),
    };
    let cases = pair.new.cases.iter();
    let values: Vec<OfLife> = cases
        .filter(|case| case.of == of && case.fits(pattern))
        .map(|case| OfLife {
            name: case.to_string(),
            day: None,
            unit: format!(" {}", case.unit),
            is_more_better: case.is_more_better,
            value: case.median,
            baseline: pair
                .old
                .and_then(|old| old.same_case(case))
                .map(|old| old.median),
        })
        .collect();
    if values.is_empty() && !rule.optional {
        return Err(not_measured(pattern, of));
    }
    Ok(values)
}

fn add(samples: &mut Vec<Sample>, pair: &Pair<'_>, of_life: OfLife) {
    let at = samples
        .iter()
        .position(|sample| sample.name == of_life.name);
    let at = at.unwrap_or_else(|| {
        samples.push(Sample {
            name: of_life.name,
            day: of_life.day,
            unit: of_life.unit,
            is_more_better: of_life.is_more_better,
            values: Vec::new(),
        });
        samples.len() - 1
    });
    let value = (life_of(pair.new), of_life.value, of_life.baseline);
    samples[at].values.push(value);
}

impl Sample {
    /// The benchmark; none of a metric.
    fn bench(&self) -> Option<String> {
        (self.day.is_none() && !self.name.is_empty()).then(|| self.name.clone())
    }

    /// What all have of it, each life once; none where one of them lacks it.
    fn summary(&self, of: impl Fn(f64, Option<f64>) -> Option<f64>) -> Option<Summary> {
        let values = self.values.iter();
        let values =
            values.map(|(life, value, baseline)| Some((life.clone(), of(*value, *baseline)?)));
        Summary::of(&life::independent(values.collect::<Option<Vec<_>>>()?))
    }
}

/// More lives than anybody lives to decide a rule.
const MOST_LIVES: usize = 1000;

/// A limit beside what lives say of a mean: that of their values, or of its difference from the baseline's.
struct Judged<'a> {
    bound: Bound,
    mean: f64,
    baseline: Option<f64>,
    /// What scatters: the values, or the differences from the baseline, life by life.
    scatter: &'a Summary,
}

impl Judged<'_> {
    /// Whether both ends of the interval of the mean are beyond the limit, or neither; none where the limit lies
    /// between them. The interval is that of so many lives that scatter as these do.
    fn is_beyond(&self, lives: usize) -> Option<bool> {
        let of_lives = Summary {
            count: lives,
            ..*self.scatter
        };
        let half = of_lives
            .mean_interval()
            .map_or(0.0, |interval| f64::midpoint(interval.high, -interval.low));
        let is_beyond = |value: f64| excess(&self.bound, value, self.baseline).is_some();
        let (low, high) = (is_beyond(self.mean - half), is_beyond(self.mean + half));
        (low == high).then_some(low)
    }

    /// How many more lives would decide it, if they scatter as these do.
    fn more_lives(&self) -> Option<usize> {
        let lives = self.scatter.count;
        let enough = (lives + 1..=MOST_LIVES).find(|&lives| self.is_beyond(lives).is_some());
        enough.map(|enough| enough - lives)
    }
}

/// Adds the limits that a sample crosses to the verdict, and those that it leaves open, and says what its means are.
///
/// A limit is crossed where the whole interval of the mean is beyond it, and kept where none of it is; beside a
/// baseline that of the differences, life by life. A limit inside the interval is open. To a strict rule the mean is
/// all.
fn judge(verdict: &mut Verdict, rule: &Rule, sample: &Sample) -> String {
    let name = if sample.name.is_empty() {
        String::new()
    } else {
        format!("{}: ", sample.name)
    };
    let Some(new) = sample.summary(|value, _| Some(value)) else {
        return String::new();
    };
    let old = sample.summary(|_, baseline| baseline);
    let change = sample.summary(|value, baseline| Some(value - baseline?));
    // What is never negative in a life is not in the mean of lives either.
    let is_negative = sample.values.iter().any(|(_, value, _)| *value < 0.0);
    let lies = new.mean_interval().map(|interval| Interval {
        low: if is_negative {
            interval.low
        } else {
            interval.low.max(0.0)
        },
        ..interval
    });
    let mut text = format!(
        "{name}mean {}{}",
        with_interval(new.mean, lies),
        sample.unit
    );
    if let (Some(old), Some(change)) = (&old, &change) {
        let change = with_interval(change.mean, change.mean_interval());
        let _ = write!(text, ", baseline {}, change {change}", number(old.mean));
    }
    let baseline = old.as_ref().map(|old| old.mean);
    for bound in &rule.bounds {
        let bound: Bound = bound.of_values(sample.is_more_better);
        let scatter = match &change {
            _ if !bound.kind.is_relative() => &new,
            Some(change) => change,
            None => {
                if !rule.optional {
                    verdict.fail(format!("{name}not known of the baseline in all lives"));
                }
                continue;
            }
        };
        if !rule.is_change(&bound, new.mean, baseline) {
            continue;
        }
        let judged = Judged {
            bound,
            mean: new.mean,
            baseline,
            scatter,
        };
        // One life has no interval.
        let lives = if rule.noise == Noise::Ignored {
            1
        } else {
            scatter.count
        };
        let why = match judged.is_beyond(lives) {
            Some(false) => continue,
            Some(true) => bound.to_string(),
            None => {
                let more_seeds = judged.more_lives();
                let message = format!("{text}; {bound}; {}", open(more_seeds));
                if rule.noise == Noise::Spares {
                    verdict.open.push(Open {
                        message,
                        bench: sample.bench(),
                        value: new.mean,
                        bound,
                        baseline,
                        more_seeds,
                    });
                    continue;
                }
                format!("{bound}; not proven: {}", open(more_seeds))
            }
        };
        verdict.failures.push(Failure {
            message: format!("{text}; {why}"),
            found: text.clone(),
            day: sample.day.as_ref().map(|(day, _)| *day),
            label: sample.day.as_ref().map(|(_, label)| label.clone()),
            bench: sample.bench(),
            value: Some(new.mean),
            bound: Some(bound),
            baseline,
            ..Failure::default()
        });
    }
    text
}

/// What would decide a limit that is open.
fn open(more_seeds: Option<usize>) -> String {
    match more_seeds {
        Some(1) => "1 more seed would decide it".to_owned(),
        Some(more) => format!("about {more} more seeds would decide it"),
        None => format!("{MOST_LIVES} seeds would not decide it"),
    }
}

fn with_interval(mean: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(interval) => format!(
            "{} ({} to {})",
            number(mean),
            number(interval.low),
            number(interval.high)
        ),
        None => number(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::rules::Rules;
    use crate::days::DayRow;
    use fsage_metrics::layout_score;

    fn day(day: u64, score: f64) -> DayRow {
        let row = DayRow {
            day,
            ..DayRow::default()
        };
        let row = row.with(&layout_score::SCORED, 1);
        row.with(&layout_score::SCORE, score)
    }

    fn lives(scores: &[f64]) -> Vec<TargetResults> {
        let life = |(at, &score): (usize, &f64)| TargetResults {
            cell: Some(format!("mail, seed {}", at + 1)),
            life: Some("mail".to_owned()),
            spec: "ext4".to_owned(),
            short: "ext4".to_owned(),
            unfinished: None,
            workload: None,
            kernel: None,
            is_disturbed: false,
            newest_ns: None,
            days: vec![day(0, score)],
            cases: Vec::new(),
        };
        scores.iter().enumerate().map(life).collect()
    }

    fn said(limit: &str, new: &[f64], old: &[f64]) -> Verdict {
        let text = format!("[[rule]]\nmetric = 'layout_score'\nover = 'seeds'\n{limit}");
        let rules = Rules::parse("rules.toml", &text).expect("rules");
        judged(&rules, &lives(new), &lives(old))
    }

    fn judged(rules: &Rules, new: &[TargetResults], old: &[TargetResults]) -> Verdict {
        let pairs: Vec<Pair<'_>> = (new.iter().enumerate())
            .map(|(at, new)| Pair {
                new,
                old: old.get(at),
            })
            .collect();
        let mut verdicts = verdicts(&rules.list, &pairs);
        assert_eq!(verdicts.len(), 1);
        verdicts.remove(0)
    }

    /// By hand: two lives with means 0.8 and 0.9, the first of which was run three times, have the mean 0.85.
    #[test]
    fn a_life_counts_once() {
        let mut targets = lives(&[0.7, 0.8, 0.9, 0.9]);
        for (at, target) in targets.iter_mut().enumerate() {
            target.workload = Some(if at < 3 { "a" } else { "b" }.to_owned());
        }
        let pairs: Vec<Pair<'_>> = targets.iter().map(|new| Pair { new, old: None }).collect();
        let text = "[[rule]]\nmetric = 'layout_score'\nover = 'seeds'\nmin = 0.1\nstrict = true";
        let rules = Rules::parse("rules.toml", text).expect("rules");
        let verdict = verdicts(&rules.list, &pairs).remove(0);
        assert_eq!(verdict.cell.as_deref(), Some("mail, 2 lives, 4 runs"));
        assert!(verdict.found.starts_with("mean 0.85"), "{verdict:?}");
    }

    /// By hand. Differences -0.01, -0.02, -0.01: mean -0.01333, deviation 0.00577, half of Student's interval 4.303 *
    /// 0.00577 / sqrt(3) = 0.01434, from -0.0277 to 0.0010: 0.01 less is inside. It lies 0.00333 from the mean, and
    /// half of the interval of 14 lives is 2.160 * 0.00577 / sqrt(14) = 0.00333, just above, of 15 it is 0.00320.
    #[test]
    fn a_limit_inside_the_interval_is_open() {
        let (old, new) = ([0.91, 0.90, 0.93], [0.90, 0.88, 0.92]);
        let open = said("max_drop = 0.01", &new, &old);
        assert!(open.failures.is_empty(), "{open:?}");
        assert_eq!(open.cell.as_deref(), Some("mail, 3 lives"));
        assert_eq!(open.open[0].more_seeds, Some(12));
        let message = &open.open[0].message;
        assert!(
            message.ends_with(
                "change -0.0133 (-0.0277 to 0.0010); max_drop = 0.0100; about 12 more seeds would decide it"
            ),
            "{message}"
        );
        let unproven = said("max_drop = 0.01\nprove = true", &new, &old);
        assert!(unproven.open.is_empty(), "{unproven:?}");
        let message = &unproven.failures[0].message;
        assert!(message.contains("not proven: about 12 more"), "{message}");
        let strict = said("max_drop = 0.01\nstrict = true", &new, &old);
        assert_eq!((strict.failures.len(), strict.open.len()), (1, 0));
    }

    /// By hand. Differences -0.01, -0.02, -0.01, -0.02: mean -0.015, half of the interval 3.182 * 0.00577 / 2 =
    /// 0.00919.
    #[test]
    fn a_limit_outside_of_the_interval_is_crossed_or_kept() {
        let (old, new) = ([0.91, 0.90, 0.93, 0.92], [0.90, 0.88, 0.92, 0.90]);
        let lost = said("max_drop = 0.005", &new, &old);
        let message = &lost.failures[0].message;
        assert!(
            message.starts_with("mean 0.9000 (")
                && message.ends_with(
                    "baseline 0.9150, change -0.0150 (-0.0242 to -0.0058); max_drop = 0.0050"
                ),
            "{message}"
        );
        let kept = said("max_drop = 0.03\nprove = true", &new, &old);
        assert!(kept.failures.is_empty() && kept.open.is_empty(), "{kept:?}");
    }

    /// By hand: 0.95, 0.86, 0.92 have a mean of 0.91, a deviation of 0.0458 and an interval of 0.1138 on each side.
    #[test]
    fn a_limit_alone_is_one_of_the_mean() {
        let ended = |limit: &str| {
            let found = said(limit, &[0.95, 0.86, 0.92], &[]);
            (found.failures.len(), found.open.len())
        };
        assert_eq!(ended("min = 0.79"), (0, 0));
        assert_eq!(ended("min = 0.9"), (0, 1));
        assert_eq!(ended("min = 1.03"), (1, 0));
        assert_eq!(ended("min = 0.9\nprove = true"), (1, 0));
        let near = said("min = 0.9099", &[0.95, 0.86, 0.92], &[]);
        assert_eq!(near.open[0].more_seeds, None);
    }

    #[test]
    fn only_lives_can_prove_and_means_as_they_are_do_not() {
        for (rule, why) in [
            ("min = 0\nprove = true", "belongs to rules with `over"),
            (
                "over = 'seeds'\nmin = 0\nstrict = true\nprove = true",
                "expected one of them",
            ),
        ] {
            let text = format!("[[rule]]\nmetric = 'layout_score'\n{rule}");
            let error = Rules::parse("rules.toml", &text).expect_err("it makes no sense");
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    /// By hand. Of the differences -0.02, 0.01, 0.02, -0.01 on day 2 one life crosses the limit and the mean does not:
    /// 0, with 3.1824 * 0.018257 / 2 = 0.02905 on each side. On day 3 all lives lose 0.03 to 0.033.
    #[test]
    fn every_day_is_judged_by_the_lives_and_not_life_by_life() {
        let days = |second: [f64; 4], third: [f64; 4]| {
            let mut targets = lives(&[0.9; 4]);
            for (at, target) in targets.iter_mut().enumerate() {
                target.days.extend([day(1, second[at]), day(2, third[at])]);
            }
            targets
        };
        let rules = Rules::named("regression").expect("rules of its own");
        let old = days([0.8; 4], [0.7; 4]);
        let by_chance = days([0.78, 0.81, 0.82, 0.79], [0.7; 4]);
        let open = judged(&rules, &by_chance, &old);
        assert!(open.failures.is_empty(), "{open:?}");
        let message = &open.open[0].message;
        assert!(
            message.starts_with("day 2: mean 0.8000 (0.7709 to 0.8291), baseline 0.8000")
                && message.ends_with("; open on 1 of 3 days"),
            "{message}"
        );
        let lost = days([0.78, 0.81, 0.82, 0.79], [0.67, 0.669, 0.668, 0.667]);
        let failed = judged(&rules, &lost, &old);
        let failure = &failed.failures[0];
        assert_eq!((failure.day, failure.days_beyond), (Some(3), Some(1)));
        assert_eq!(failure.bench, None);
        assert!(
            failure
                .message
                .ends_with("max_drop = 0.0100; crossed on 1 of 3 days"),
            "{failure:?}"
        );
        let found = judged(&rules, &old, &old);
        assert_eq!(found.found, "mean 0.7000 to 0.9000 on 3 days");
    }

    #[test]
    fn one_life_is_no_sample() {
        let one = said("min = 0.5", &[0.95], &[]);
        assert!(one.failures[0].message.contains("there is one"), "{one:?}");
    }
}
