//! A rule over the lives of an experiment: cells that differ in seed and repetition alone are one sample.

use super::judge::{Pair, excess, not_measured, points};
use super::outcome::{Failure, Verdict};
use super::results::TargetResults;
use super::rules::{Bound, Rule, Subject};
use super::{counted, number};
use fsage_bench::{Interval, Summary};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the rules over seeds say of every target and workload.
pub fn verdicts(rules: &[Rule], pairs: &[Pair<'_>]) -> Vec<Verdict> {
    if !rules.iter().any(|rule| rule.over_seeds) {
        return Vec::new();
    }
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
        let asked = rules.iter();
        let asked = asked.filter(|rule| rule.over_seeds && rule.is_about(group[0].new));
        verdicts.extend(asked.filter_map(|rule| verdict(rule, group)));
    }
    verdicts
}

/// What a rule looks at in one life, and the same of the baseline's.
struct OfLife {
    /// The benchmark; empty of a metric.
    name: String,
    unit: String,
    is_more_better: bool,
    value: f64,
    baseline: Option<f64>,
}

/// The values of one metric, or of one benchmark, in all lives.
struct Sample {
    name: String,
    unit: String,
    is_more_better: bool,
    values: Vec<f64>,
    /// Of the same lives, in the same order; empty where there is no baseline.
    baselines: Vec<f64>,
}

fn verdict(rule: &Rule, group: &[&Pair<'_>]) -> Option<Verdict> {
    let compares = rule.bounds.iter().all(|bound| bound.kind.is_relative());
    if compares && group.iter().all(|pair| pair.old.is_none()) {
        // That the baseline lacks the target has failed already.
        return None;
    }
    let first = group[0].new;
    let mut verdict = Verdict {
        cell: Some(group_name(first, group.len())),
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
                .for_each(|value| add(&mut samples, value)),
            Err(why) => {
                let cell = pair.new.cell.as_deref().unwrap_or_default();
                verdict.fail(format!("{cell}: {why}"));
                return Some(verdict);
            }
        }
    }
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
        all => counted(all.len() as u64, "mean"),
    };
    Some(verdict)
}

fn group_name(target: &TargetResults, lives: usize) -> String {
    let lives = if lives == 1 {
        "1 life".to_owned()
    } else {
        format!("{lives} lives")
    };
    match &target.life {
        Some(workload) => format!("{workload}, {lives}"),
        None => lives,
    }
}

fn values(rule: &Rule, pair: &Pair<'_>) -> Result<Vec<OfLife>, String> {
    let (pattern, of) = match &rule.subject {
        Subject::Metric { column, when } => {
            let points = points(rule, column, *when, pair)?;
            return Ok(points
                .iter()
                .map(|point| OfLife {
                    name: String::new(),
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

fn add(samples: &mut Vec<Sample>, of_life: OfLife) {
    let at = samples
        .iter()
        .position(|sample| sample.name == of_life.name);
    let at = at.unwrap_or_else(|| {
        samples.push(Sample {
            name: of_life.name,
            unit: of_life.unit,
            is_more_better: of_life.is_more_better,
            values: Vec::new(),
            baselines: Vec::new(),
        });
        samples.len() - 1
    });
    samples[at].values.push(of_life.value);
    samples[at].baselines.extend(of_life.baseline);
}

/// Adds the limits that a sample crosses to the verdict, and says what its means are.
///
/// A limit beside the baseline is crossed where the mean is beyond it, and, unless the rule is strict, the lives agree
/// that there is a change: the interval of the differences, life by life, is apart from 0.
fn judge(verdict: &mut Verdict, rule: &Rule, sample: &Sample) -> String {
    let name = if sample.name.is_empty() {
        String::new()
    } else {
        format!("{}: ", sample.name)
    };
    let Some(new) = Summary::of(&sample.values) else {
        return String::new();
    };
    // Pairs of all lives, or none.
    let is_paired = sample.baselines.len() == sample.values.len();
    let old = is_paired.then(|| Summary::of(&sample.baselines)).flatten();
    let lives = sample.values.iter().zip(&sample.baselines);
    let differences: Vec<f64> = lives.map(|(new, old)| new - old).collect();
    let change = is_paired.then(|| Summary::of(&differences)).flatten();
    let interval = change.as_ref().and_then(Summary::mean_interval);
    let is_apart = interval.is_none_or(|interval| interval.low > 0.0 || interval.high < 0.0);
    let mut text = format!(
        "{name}mean {}{}",
        with_interval(new.mean, new.mean_interval()),
        sample.unit
    );
    if let (Some(old), Some(change)) = (&old, &change) {
        let change = with_interval(change.mean, interval);
        let _ = write!(text, ", baseline {}, change {change}", number(old.mean));
    }
    let mut is_within_noise = false;
    for bound in &rule.bounds {
        let bound: Bound = bound.of_values(sample.is_more_better);
        if bound.kind.is_relative() && old.is_none() {
            if !rule.optional {
                verdict.fail(format!("{name}not known of the baseline in all lives"));
            }
            continue;
        }
        let baseline = old.as_ref().map(|old| old.mean);
        let is_change = rule.is_change(&bound, new.mean, baseline);
        if !is_change || excess(&bound, new.mean, baseline).is_none() {
            continue;
        }
        if bound.kind.is_relative() && !rule.strict && !is_apart {
            is_within_noise = true;
            continue;
        }
        verdict.failures.push(Failure {
            message: format!("{text}; {bound}"),
            bench: (!sample.name.is_empty()).then(|| sample.name.clone()),
            value: Some(new.mean),
            bound: Some(bound),
            baseline: old.as_ref().map(|old| old.mean),
            ..Failure::default()
        });
    }
    if is_within_noise {
        text.push_str(": the lives do not agree on a change");
    }
    text
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

    fn lives(scores: &[f64]) -> Vec<TargetResults> {
        let life = |(at, &score): (usize, &f64)| TargetResults {
            cell: Some(format!("mail, seed {}", at + 1)),
            life: Some("mail".to_owned()),
            spec: "ext4".to_owned(),
            short: "ext4".to_owned(),
            unfinished: None,
            workload: None,
            kernel: None,
            days: vec![
                DayRow::default()
                    .with(&layout_score::SCORED, 1)
                    .with(&layout_score::SCORE, score),
            ],
            cases: Vec::new(),
        };
        scores.iter().enumerate().map(life).collect()
    }

    fn said(limit: &str, new: &[f64], old: &[f64]) -> Verdict {
        let text = format!("[[rule]]\nmetric = 'layout_score'\nover = 'seeds'\n{limit}");
        let rules = Rules::parse("rules.toml", &text).expect("rules");
        let (new, old) = (lives(new), lives(old));
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

    /// By hand. Differences -0.01, -0.02, -0.01: mean -0.01333, deviation 0.00577, half of Student's interval 4.303 *
    /// 0.00577 / sqrt(3) = 0.01434, so that 0 is inside. With a fourth of -0.02: -0.015, half 3.182 * 0.00577 / 2 =
    /// 0.00919, and 0 is outside.
    #[test]
    fn a_drop_counts_where_the_lives_agree_on_it() {
        let (old, new) = ([0.91, 0.90, 0.93], [0.90, 0.88, 0.92]);
        let held = said("max_drop = 0.01", &new, &old);
        assert!(held.failures.is_empty(), "{held:?}");
        assert_eq!(held.cell.as_deref(), Some("mail, 3 lives"));
        assert!(
            held.found
                .contains("change -0.0133 (-0.0277 to 0.0010): the lives do not agree"),
            "{}",
            held.found
        );
        let strict = said("max_drop = 0.01\nstrict = true", &new, &old);
        assert_eq!(strict.failures.len(), 1);
        let (old, new) = ([0.91, 0.90, 0.93, 0.92], [0.90, 0.88, 0.92, 0.90]);
        let lost = said("max_drop = 0.01", &new, &old);
        let message = &lost.failures[0].message;
        assert!(
            message.starts_with("mean 0.9000 (")
                && message.ends_with(
                    "baseline 0.9150, change -0.0150 (-0.0242 to -0.0058); max_drop = 0.0100"
                ),
            "{message}"
        );
        assert!(said("max_drop = 0.02", &new, &old).failures.is_empty());
    }

    #[test]
    fn a_limit_alone_is_one_of_the_mean() {
        assert!(
            said("min = 0.9", &[0.95, 0.86, 0.92], &[])
                .failures
                .is_empty()
        );
        assert_eq!(
            said("min = 0.92", &[0.95, 0.86, 0.92], &[]).failures.len(),
            1
        );
    }

    #[test]
    fn one_life_is_no_sample_and_every_day_no_value() {
        let one = said("min = 0.5", &[0.95], &[]);
        assert!(one.failures[0].message.contains("there is one"), "{one:?}");
        let text = "[[rule]]\nmetric = 'layout_score'\nover = 'seeds'\nday = 'every'\nmin = 0";
        let error = Rules::parse("rules.toml", text).expect_err("one value a life");
        assert!(error.to_string().contains("one value a life"), "{error}");
    }
}
