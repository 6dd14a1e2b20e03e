//! A rule over a target, and the target of the baseline beside it.

use super::outcome::{Failure, Open, Verdict};
use super::results::{Case, TargetResults};
use super::rules::{Bound, BoundKind, Noise, Of, Rule, Subject, When};
use super::{counted, number};
use crate::benching::flash::FLASH;
use crate::days::DayRow;
use crate::room;
use fsage_bench::benchmarks;
use fsage_metrics::{Better, METRICS, files};

/// A target, and the one of the baseline that it is set beside. None where there is no baseline, or no such target.
pub struct Pair<'a> {
    /// The target that is checked.
    pub new: &'a TargetResults,
    /// That of the baseline.
    pub old: Option<&'a TargetResults>,
}

/// Why a limit of a benchmark is open.
const AMONG: &str = "the limit lies in the interval; more repetitions, or seeds, may decide it";

/// What a rule says of a target; none where there is nothing to say.
pub fn judge(rule: &Rule, pair: &Pair<'_>) -> Option<Verdict> {
    if pair.old.is_none() && rule.bounds.iter().all(|bound| bound.kind.is_relative()) {
        // That the baseline lacks the target has failed already.
        return None;
    }
    let mut verdict = Verdict::new(&rule.name, pair.new);
    match &rule.subject {
        Subject::Metric { column, when } => metric(&mut verdict, rule, column, *when, pair),
        Subject::Bench { case, of } => bench(&mut verdict, rule, case, *of, pair),
    }
    let found_nothing = verdict.checked == 0 && verdict.failures.is_empty();
    if found_nothing {
        if rule.optional {
            return None;
        }
        verdict
            .fail("nothing was checked: neither the run nor the baseline has a value".to_owned());
    }
    Some(verdict)
}

/// A value on a day, and that of the baseline.
pub struct Point<'a> {
    day: &'a DayRow,
    /// The value.
    pub value: f64,
    /// The baseline's.
    pub baseline: Option<f64>,
}

impl Point<'_> {
    /// Its day, as people know it.
    pub fn at(&self) -> String {
        at(self.day)
    }

    /// Its day, from 1, and what it is labeled with.
    pub fn day(&self) -> (u64, String) {
        (self.day.day + 1, self.day.label.clone())
    }
}

fn metric(verdict: &mut Verdict, rule: &Rule, column: &str, when: When, pair: &Pair<'_>) {
    let points = match points(rule, column, when, pair) {
        Ok(points) if points.is_empty() => return,
        Ok(points) => points,
        Err(why) => return verdict.fail(why),
    };
    verdict.checked = points.len();
    verdict.found = said(column, &points);
    let beyond = rule.bounds.iter().flat_map(|bound| {
        let of =
            |point: &Point<'_>| bound.excess(point.value, point.baseline.unwrap_or(point.value));
        points.iter().map(of)
    });
    verdict.excess = beyond.reduce(f64::max);
    for bound in &rule.bounds {
        let headroom = headroom(column, bound, &points).filter(|_| !pair.new.is_snapshots());
        verdict.found.extend(headroom.iter().map(String::as_str));
        let failure = crossing(rule, bound, &points);
        verdict.failures.extend(failure.map(|failure| Failure {
            message: failure.message + headroom.as_deref().unwrap_or_default(),
            ..failure
        }));
    }
}

/// How many days before a file system is full a limit of its utilization is crossed, at the mean growth of the later
/// half of the days that are looked at, so that filling a new disk does not count; none of other limits, and where it
/// does not grow.
fn headroom(column: &str, bound: &Bound, points: &[Point<'_>]) -> Option<String> {
    let is_of_space = [files::UTILIZATION.id, files::LASTING_UTILIZATION.id].contains(&column);
    let later = &points[points.len() / 2..];
    let (first, last) = (later.first()?, later.last()?);
    let growth = (last.value - first.value) / (last.day.day - first.day.day) as f64;
    let is_limit = is_of_space && bound.kind == BoundKind::Max && growth > 0.0;
    is_limit.then(|| {
        let days = ((1.0 - bound.limit) / growth) as u64;
        format!(
            "; {bound} fires {} before it is full, at the growth of the later half of these days",
            counted(days, "day")
        )
    })
}

/// What a metric is on the days that are asked for, none where it is not known and the rule is content with that; else
/// why it is not known.
pub fn points<'a>(
    rule: &Rule,
    column: &str,
    when: When,
    pair: &Pair<'a>,
) -> Result<Vec<Point<'a>>, String> {
    let days = &pair.new.days;
    let Some(last) = days.last() else {
        return Err("no day was measured".to_owned());
    };
    let (days, mean): (Vec<&DayRow>, bool) = match when {
        When::Last => (vec![last], false),
        When::Every => (days.iter().collect(), false),
        When::Day(number) => match days.iter().find(|row| row.day + 1 == number) {
            Some(day) => (vec![day], false),
            None => {
                return Err(format!(
                    "there is no day {number}: the last is {}",
                    last.day + 1
                ));
            }
        },
        When::MeanOfLast(count) => match days.len().checked_sub(count as usize) {
            Some(first) => (days[first..].iter().collect(), true),
            None => {
                return Err(format!(
                    "there is no more than {}",
                    counted(days.len() as u64, "day")
                ));
            }
        },
    };
    let compares = rule.bounds.iter().any(|bound| bound.kind.is_relative());
    let mut points = Vec::new();
    for day in days {
        let old = pair
            .old
            .and_then(|old| old.days.iter().find(|row| row.day == day.day));
        if let (Some(target), None, true) = (pair.old, old, compares) {
            let last = target.days.last().map_or(0, |row| row.day + 1);
            return Err(format!(
                "the baseline has no day {}: its last is {last}",
                day.day + 1
            ));
        }
        let baseline = old.and_then(|old| old.number(column));
        let Some(value) = day.number(column) else {
            if let Some(baseline) = baseline {
                let at = at(day);
                return Err(format!(
                    "not known on {at}, where the baseline has {}",
                    number(baseline)
                ));
            }
            continue;
        };
        if compares && pair.old.is_some() && baseline.is_none() && !rule.optional {
            let (value, at) = (number(value), at(day));
            return Err(format!("{value} on {at}, not known of the baseline"));
        }
        points.push(Point {
            day,
            value,
            baseline,
        });
    }
    if points.is_empty() && !rule.optional {
        return Err(format!("`{column}` is not known of this target"));
    }
    if mean && !points.is_empty() {
        points = vec![mean_of(&points)];
    }
    Ok(points)
}

fn mean_of<'a>(points: &[Point<'a>]) -> Point<'a> {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let baseline: Option<Vec<f64>> = points.iter().map(|point| point.baseline).collect();
    Point {
        day: points[points.len() - 1].day,
        value: mean(points.iter().map(|point| point.value).collect()),
        baseline: baseline.map(mean),
    }
}

/// Whether a count of the extents that find room differs from that of the baseline as another draw of the same life
/// does.
fn is_chance_in_room(rule: &Rule, bound: &Bound, point: &Point<'_>) -> bool {
    let is_room = matches!(&rule.subject, Subject::Metric { column, .. } if room::is_count(column));
    let baseline = point
        .baseline
        .filter(|_| is_room && bound.kind.is_relative());
    baseline.is_some_and(|baseline| room::is_by_chance(point.value, baseline))
}

/// Where a limit is crossed first, and where it is exceeded most.
fn crossing(rule: &Rule, bound: &Bound, points: &[Point<'_>]) -> Option<Failure> {
    let beyond: Vec<(f64, &Point<'_>)> = points
        .iter()
        .filter(|point| rule.is_change(bound, point.value, point.baseline))
        .filter(|point| !is_chance_in_room(rule, bound, point))
        .filter_map(|point| Some((excess(bound, point.value, point.baseline)?, point)))
        .collect();
    let (_, first) = *beyond.first()?;
    let (_, worst) = *beyond.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let shown = |point: &Point<'_>| match point.baseline.filter(|_| bound.kind.is_relative()) {
        Some(baseline) => format!("{}, baseline {}", number(point.value), number(baseline)),
        None => number(point.value),
    };
    let mut parts = vec![
        format!("{}: {}", at(first.day), shown(first)),
        bound.to_string(),
    ];
    if points.len() > 1 {
        let (crossed, all) = (beyond.len(), points.len());
        parts.push(format!("crossed on {crossed} of {all} days"));
    }
    if worst.day.day != first.day.day {
        parts.push(format!("most on {}: {}", at(worst.day), shown(worst)));
    }
    Some(Failure {
        message: parts.join("; "),
        found: String::new(),
        day: Some(first.day.day + 1),
        label: Some(first.day.label.clone()),
        bench: None,
        value: Some(first.value),
        bound: Some(*bound),
        baseline: first.baseline,
        worst_day: Some(worst.day.day + 1),
        worst_value: Some(worst.value),
        days_beyond: Some(beyond.len()),
    })
}

/// How far a value lies beyond a limit by more than what rounding explains; none where it holds or nothing is there to
/// compare with.
pub fn excess(bound: &Bound, value: f64, baseline: Option<f64>) -> Option<f64> {
    const ROUNDING: f64 = 1e-12;
    let baseline = match (bound.kind.is_relative(), baseline) {
        (true, None) => return None,
        (_, baseline) => baseline.unwrap_or(value),
    };
    let excess = bound.excess(value, baseline);
    let scale = value.abs().max(baseline.abs()).max(bound.limit.abs());
    (excess > scale * ROUNDING).then_some(excess)
}

fn bench(verdict: &mut Verdict, rule: &Rule, pattern: &str, of: Of, pair: &Pair<'_>) {
    let asked = |case: &&Case| case.of == of && case.fits(pattern);
    let compares = rule.bounds.iter().any(|bound| bound.kind.is_relative());
    let mut within_noise = 0;
    for case in pair.new.cases.iter().filter(asked) {
        let old = pair.old.and_then(|old| old.same_case(case));
        if compares && pair.old.is_some() && old.is_none() {
            if !rule.optional {
                let (name, options) = (case.to_string(), measured_by(case.suite()));
                let next = format!("`fsage bench {options}` on the baseline measures it");
                verdict.fail(format!("the baseline has no measurement of {name}; {next}"));
            }
            continue;
        }
        verdict.checked += 1;
        for bound in rule
            .bounds
            .iter()
            .map(|bound| bound.of_values(case.is_more_better))
        {
            let bound = &bound;
            let scatters = rule.noise != Noise::Ignored;
            if scatters && !bound.kind.is_relative() && is_among(bound, case) {
                unproven(verdict, rule, bound, case);
                continue;
            }
            if excess(bound, case.median, old.map(|old| old.median)).is_none() {
                continue;
            }
            match old.filter(|_| scatters && bound.kind.is_relative()) {
                Some(old) if overlap(case.ends, old.ends) => {
                    within_noise += 1;
                }
                _ => verdict.failures.push(slower(bound, case, old)),
            }
        }
    }
    if verdict.checked == 0 && verdict.failures.is_empty() && !rule.optional {
        return verdict.fail(not_measured(pattern, of));
    }
    verdict.found = counted(verdict.checked as u64, "median");
    if within_noise > 0 {
        let noise = format!(", {within_noise} of them differ by no more than they scatter");
        verdict.found.push_str(&noise);
    }
}

/// Whether a limit lies where the median may lie, so that repetitions do not say whether it is kept.
fn is_among(bound: &Bound, case: &Case) -> bool {
    let is_beyond = |value| excess(bound, value, None).is_some();
    is_beyond(case.ends.0) != is_beyond(case.ends.1)
}

/// A limit of which repetitions do not say whether it is kept: it is open, or fails where it is to be proven.
fn unproven(verdict: &mut Verdict, rule: &Rule, bound: &Bound, case: &Case) {
    let failure = slower(bound, case, None);
    if rule.noise == Noise::Fails {
        verdict.failures.push(Failure {
            message: format!("{}; not proven: {AMONG}", failure.message),
            ..failure
        });
        return;
    }
    verdict.open.push(Open {
        message: format!("{}; {AMONG}", failure.message),
        bench: failure.bench,
        value: case.median,
        bound: *bound,
        baseline: None,
        more_seeds: None,
    });
}

/// That benchmarks are missing, and what makes them.
pub fn not_measured(pattern: &str, of: Of) -> String {
    let suite = pattern.split('/').next().unwrap_or(pattern);
    format!(
        "no measurement of {pattern}, {}; `fsage bench RUN {}` makes them",
        of.as_str(),
        measured_by(suite)
    )
}

/// Options of `bench` with which a suite is run.
fn measured_by(suite: &str) -> String {
    match suite {
        FLASH => "--device DEVICE".to_owned(),
        _ if benchmarks::by_name(suite).is_none() && !suite.contains(['*', '?']) => {
            format!("--exec COMMAND --exec-name {suite}")
        }
        _ => format!("--suite {suite}"),
    }
}

fn overlap(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

fn slower(bound: &Bound, case: &Case, old: Option<&Case>) -> Failure {
    let shown = |case: &Case| {
        let (low, high) = case.ends;
        format!(
            "{} ({}..{}) {}",
            number(case.median),
            number(low),
            number(high),
            case.unit
        )
    };
    let baseline = old.filter(|_| bound.kind.is_relative());
    let baseline = baseline.map_or_else(String::new, |old| format!(", baseline {}", shown(old)));
    Failure {
        message: format!("{case}: {}{baseline}; {bound}", shown(case)),
        bench: Some(case.to_string()),
        value: Some(case.median),
        bound: Some(*bound),
        baseline: old.map(|old| old.median),
        ..Failure::default()
    }
}

/// A day as people know it: counted from 1, with its label where that says more.
fn at(day: &DayRow) -> String {
    let number = day.day + 1;
    if day.label.is_empty() || day.label == number.to_string() || day.label == day.day.to_string() {
        format!("day {number}")
    } else {
        format!("day {number} ({})", day.label)
    }
}

/// Whether a value is better or worse than that of the baseline, or may be so by chance, in brackets; nothing where
/// both look the same.
fn compared(column: &str, value: f64, baseline: f64) -> &'static str {
    if number(value) == number(baseline) {
        return "";
    }
    let is_chance = room::is_count(column) && room::is_by_chance(value, baseline);
    let metric = METRICS.iter().find(|metric| metric.id == column);
    match metric.map(|metric| metric.better) {
        _ if is_chance => " (within chance)",
        Some(Better::Higher) if value > baseline => " (better)",
        Some(Better::Higher) if value < baseline => " (worse)",
        Some(Better::Lower) if value < baseline => " (better)",
        Some(Better::Lower) if value > baseline => " (worse)",
        _ => "",
    }
}

/// The values that hold, in short, and how the last of them stands beside the baseline's.
fn said(column: &str, points: &[Point<'_>]) -> String {
    let beside = points.last().and_then(|last| {
        let baseline = last.baseline?;
        let how = compared(column, last.value, baseline);
        Some(format!(
            "{}, baseline {}{how}",
            number(last.value),
            number(baseline)
        ))
    });
    let [point] = points else {
        let values = points.iter().map(|point| point.value);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
            (x.min(low), x.max(high))
        });
        let beside = beside.map_or_else(String::new, |beside| format!("; on the last {beside}"));
        return format!(
            "{} to {} on {} days{beside}",
            number(low),
            number(high),
            points.len()
        );
    };
    beside.unwrap_or_else(|| number(point.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benching::spread;
    use crate::check::rules::Rules;
    use fsage_bench::Summary;
    use fsage_metrics::{directory_order, files, free_space, layout_score};

    fn target(scores: &[f64]) -> TargetResults {
        let days = scores.iter().enumerate().map(|(i, &score)| {
            let day = DayRow {
                day: i as u64,
                label: format!("1996-05-{:02}", i + 1),
                ..DayRow::default()
            };
            let day = day.with(&files::FILES, 1).with(&layout_score::SCORED, 1);
            day.with(&layout_score::SCORE, score)
        });
        TargetResults {
            cell: None,
            life: None,
            spec: "ffs".to_owned(),
            short: "ffs".to_owned(),
            unfinished: None,
            workload: None,
            kernel: None,
            is_disturbed: false,
            newest_ns: None,
            days: days.collect(),
            cases: Vec::new(),
        }
    }

    fn measured(values: &[f64]) -> TargetResults {
        let summary = Summary::of(values).expect("values");
        let case = Case {
            of: Of::Aged,
            name: "sequential/read/64K".to_owned(),
            median: summary.median,
            ends: spread(&summary),
            unit: "MB/s".to_owned(),
            is_more_better: true,
        };
        TargetResults {
            cases: vec![case],
            ..target(&[1.0])
        }
    }

    /// The verdict of a rule's TOML; panics where it says nothing.
    fn verdict(rule: &str, new: &TargetResults, old: Option<&TargetResults>) -> Verdict {
        let rules = Rules::parse("rules.toml", &format!("[[rule]]\n{rule}")).expect("a rule");
        judge(&rules.list[0], &Pair { new, old }).expect("a verdict")
    }

    fn messages(rule: &str, new: &TargetResults, old: Option<&TargetResults>) -> Vec<String> {
        let verdict = verdict(rule, new, old);
        verdict.failures.into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn a_layout_of_no_block_is_no_good_layout() {
        let mut empty = target(&[1.0]);
        empty.days[0].metrics.set(&layout_score::SCORED, 0);
        let rule = "metric = 'layout_score'\nmin = 0.5";
        assert_eq!(messages(rule, &empty, None).len(), 1);
        assert!(messages(rule, &target(&[1.0]), None).is_empty());
    }

    /// From 50 % by 2 points a day; 5 % more take two days and a half.
    #[test]
    fn a_limit_of_utilization_says_how_long_before_the_end_it_fires() {
        let mut grown = target(&[1.0; 23]);
        for (day, row) in grown.days.iter_mut().enumerate() {
            let used = 0.5 + 0.02 * day as f64;
            row.metrics.set(&files::UTILIZATION, used);
            row.metrics.set(&files::LASTING_UTILIZATION, used / 2.0);
        }
        let rule =
            |metric: &str, max: f64| format!("metric = '{metric}'\nday = 'every'\nmax = {max}");
        let found = verdict(&rule("utilization", 0.95), &grown, None).found;
        assert_eq!(
            found,
            "0.5000 to 0.9400 on 23 days; max = 0.9500 fires 2 days before it is full, at the growth of the later \
             half of these days"
        );
        let failed = messages(&rule("utilization", 0.9), &grown, None);
        assert!(
            failed[0].ends_with(
                " fires 5 days before it is full, at the growth of the later half of these days"
            ),
            "{failed:?}"
        );
        // Filling it on the first day counts for nothing.
        grown.days[0].metrics.set(&files::UTILIZATION, 0.0);
        let found = verdict(&rule("utilization", 0.95), &grown, None).found;
        assert!(found.contains("fires 2 days before"), "{found}");
        // Half of it is given back: growth is a point a day.
        let found = verdict(&rule("lasting_utilization", 0.95), &grown, None).found;
        assert!(found.contains("fires 5 days before"), "{found}");
    }

    #[test]
    fn the_first_day_and_the_worst_are_named() {
        let new = target(&[0.9, 0.85, 0.7, 0.8]);
        let old = target(&[0.9, 0.89, 0.88, 0.87]);
        let rule = "metric = 'layout_score'\nday = 'every'\n";
        let found = messages(&format!("{rule}min = 0.82"), &new, None);
        let text = "day 3 (1996-05-03): 0.7000; min = 0.8200; crossed on 2 of 4 days";
        assert_eq!(found, [text]);
        // Drops, by hand: 0, 0.04, 0.18, 0.07.
        let found = verdict(&format!("{rule}max_drop = 0.03"), &new, Some(&old));
        let [failure] = &found.failures[..] else {
            panic!("one limit: {found:?}");
        };
        assert_eq!(
            failure.message,
            "day 2 (1996-05-02): 0.8500, baseline 0.8900; max_drop = 0.0300; crossed on 3 of 4 days; most on day 3 \
             (1996-05-03): 0.7000, baseline 0.8800"
        );
        assert_eq!(
            (failure.day, failure.worst_day, failure.days_beyond),
            (Some(2), Some(3), Some(3))
        );
        assert_eq!((failure.value, failure.baseline), (Some(0.85), Some(0.89)));
        // 10 % of 0.89 is 0.089, of 0.88 0.088, of 0.87 0.087: day 3 alone.
        let found = verdict(&format!("{rule}max_drop_percent = 10"), &new, Some(&old));
        assert_eq!(found.failures[0].days_beyond, Some(1));
        assert!(messages(&format!("{rule}max_rise = 0"), &new, Some(&old)).is_empty());
        // The drops of 0.04 and 0.07 are smaller than what counts as a change.
        let found = verdict(
            &format!("{rule}max_drop = 0.03\nmin_change = 0.1"),
            &new,
            Some(&old),
        );
        assert_eq!(found.failures[0].days_beyond, Some(1));
    }

    /// Latency of a command: 100 to 112 is 12 % worse, 112 to 100 is none; a rate the other way round.
    #[test]
    fn what_is_worse_of_a_command_depends_on_its_value() {
        let of_command = |value: f64, is_more_better| {
            let mut target = measured(&[value; 6]);
            let case = &mut target.cases[0];
            (case.name, case.is_more_better) = ("fio/lat".to_owned(), is_more_better);
            target
        };
        let holds = |old: f64, new: f64, is_more_better| {
            let (old, new) = (
                of_command(old, is_more_better),
                of_command(new, is_more_better),
            );
            let rule = "exec = 'fio'\nmax_worse_percent = 10\nstrict = true";
            messages(rule, &new, Some(&old)).is_empty()
        };
        assert!(!holds(100.0, 112.0, false) && holds(112.0, 100.0, false));
        assert!(holds(100.0, 112.0, true) && !holds(112.0, 100.0, true));
    }

    /// By hand: twice the root of 23 is 9.6, of 76 17.4 and of 22 9.4.
    #[test]
    fn room_that_another_draw_changes_as_much_is_no_loss() {
        let with = |room: u64| {
            let mut target = target(&[1.0]);
            target.days[0].metrics.set(&free_space::PLACEABLE_1M, room);
            target
        };
        let rule = "metric = 'placeable_1m'\nmax_drop_percent = 5";
        let fails = |new, old| !messages(rule, &with(new), Some(&with(old))).is_empty();
        assert!(!fails(14, 23) && !fails(60, 76));
        assert!(fails(13, 23) && fails(58, 76) && fails(0, 22));
        let least = "metric = 'placeable_1m'\nmin = 1";
        assert_eq!(messages(least, &with(0), None).len(), 1);
    }

    #[test]
    fn what_is_worse_depends_on_the_metric() {
        let (good, bad) = (target(&[0.9]), target(&[0.8]));
        let rule = "metric = 'layout_score'\nmax_worse = 0.05";
        assert!(messages(rule, &good, Some(&bad)).is_empty());
        let found = messages(rule, &bad, Some(&good));
        assert!(found[0].ends_with("max_drop = 0.0500"), "{found:?}");
        // Less is better of next_file_bytes: 100 to 111 is more than 10 % worse, 111 to 100 none.
        let with = |bytes: u64| {
            let mut target = target(&[1.0]);
            let metrics = &mut target.days[0].metrics;
            metrics.set(&directory_order::NEXT_FILE_BYTES, bytes);
            target
        };
        let (near, far) = (with(100), with(111));
        let rule = "metric = 'next_file_bytes'\nmax_worse_percent = 10";
        assert!(messages(rule, &near, Some(&far)).is_empty());
        let found = messages(rule, &far, Some(&near));
        assert!(found[0].ends_with("max_rise_percent = 10"), "{found:?}");
        assert_eq!(
            messages(
                "bench = '*'\nmax_worse_percent = 5",
                &measured(&[9.0]),
                Some(&measured(&[10.0]))
            )
            .len(),
            1
        );
        for (metric, said) in [
            (
                "files",
                "neither more nor less of this is better; give max_drop or max_rise",
            ),
            ("layout_scor", "did you mean `layout_score`?"),
        ] {
            let rule = format!("[[rule]]\nmetric = '{metric}'\nmax_worse = 1");
            let error = Rules::parse("rules.toml", &rule)
                .expect_err("no direction")
                .to_string();
            assert!(
                error.starts_with("rules.toml:") && error.contains(said),
                "{error}"
            );
        }
    }

    /// By hand: the mean of 0.7 and 0.8 is 0.75; the drop of 0.9 to 0.88 is 0.02 in decimal, a little more in binary.
    #[test]
    fn one_day_or_a_mean_may_be_asked_and_rounding_crosses_nothing() {
        let new = target(&[0.88, 0.85, 0.7, 0.8]);
        let old = target(&[0.9]);
        assert!(
            messages(
                "metric = 'layout_score'\nday = 1\nmax_drop = 0.02",
                &new,
                Some(&old)
            )
            .is_empty()
        );
        let mean = "metric = 'layout_score'\nday = 'mean of last 2'\n";
        assert!(messages(&format!("{mean}min = 0.75\nmax = 0.75"), &new, None).is_empty());
        assert_eq!(
            messages(&format!("{mean}min = 0.7501"), &new, None).len(),
            1
        );
        assert!(messages("metric = 'layout_score'\nmin = 0.8", &new, None).is_empty());
    }

    #[test]
    fn what_looks_at_nothing_fails() {
        let (new, old) = (target(&[0.9, 0.8]), target(&[0.9]));
        let empty = target(&[]);
        let table = [
            (
                "metric = 'layout_score'\nmin = 0.5",
                &empty,
                None,
                "no day was measured",
            ),
            (
                "metric = 'layout_score'\nday = 3\nmin = 0.5",
                &new,
                None,
                "no day 3: the last is 2",
            ),
            (
                "metric = 'layout_score'\nday = 'mean of last 3'\nmin = 0.5",
                &new,
                None,
                "no more than 2 days",
            ),
            (
                "metric = 'adjacency'\nmin = 0.5",
                &new,
                None,
                "`adjacency` is not known",
            ),
            (
                "metric = 'layout_score'\nmax_drop = 1",
                &new,
                Some(&old),
                "the baseline has no day 2: its last is 1",
            ),
            (
                "bench = 'sequential'\nmin = 1",
                &new,
                None,
                "fsage bench RUN --suite sequential",
            ),
        ];
        for (rule, new, old, words) in table {
            let found = messages(rule, new, old);
            assert!(
                found.len() == 1 && found[0].contains(words),
                "{rule}: {found:?}"
            );
        }
        let rules =
            Rules::parse("r", "[[rule]]\nbench = '*'\nmin = 1\noptional = true").expect("a rule");
        let pair = Pair {
            new: &new,
            old: None,
        };
        assert!(
            judge(&rules.list[0], &pair).is_none(),
            "optional, and nothing is there"
        );
        let rules = Rules::parse("r", "[[rule]]\nmetric = 'files'\nmax_drop = 1").expect("a rule");
        assert!(
            judge(&rules.list[0], &pair).is_none(),
            "nothing to compare with has failed already"
        );
        let mut known = target(&[0.9, 0.8]);
        known.days[1].metrics.set(&directory_order::ADJACENCY, 0.5);
        let lost = messages("metric = 'adjacency'\nmax_drop = 1", &new, Some(&known));
        assert!(lost[0].contains("not known on day 2"), "{lost:?}");
    }

    /// Ten values have the interval from the second to the ninth (binomial, 1 - 22/1024 = 0.979): 10..17 and 16..23
    /// overlap, 10..17 and 18..25 do not.
    #[test]
    fn a_benchmark_is_slower_only_where_the_intervals_are_apart() {
        let run = |first: i32| {
            let mut values: Vec<f64> = (first..first + 8).map(f64::from).collect();
            values.extend([0.0, 100.0]);
            measured(&values)
        };
        let (new, near, far) = (run(10), run(16), run(18));
        let rule = "bench = 'sequential/read'\nmax_drop_percent = 5\n";
        let close = verdict(rule, &new, Some(&near));
        assert!(
            close.failures.is_empty() && close.found.contains("1 of them"),
            "{close:?}"
        );
        let strict = messages(&format!("{rule}strict = true"), &new, Some(&near));
        // Medians: (13 + 14) / 2 and (19 + 20) / 2.
        let text = "sequential/read/64K, aged: 13.50 (10..17) MB/s, baseline 19.50 (16..23) MB/s; max_drop_percent = 5";
        assert_eq!(strict, [text]);
        assert_eq!(messages(rule, &new, Some(&far)).len(), 1);
        assert!(
            messages(rule, &far, Some(&new)).is_empty(),
            "faster is no drop"
        );
    }

    /// The interval of these ten is 10 to 17, the median 13.5.
    #[test]
    fn a_limit_inside_the_interval_of_a_benchmark_is_open() {
        let mut values: Vec<f64> = (10..18).map(f64::from).collect();
        values.extend([0.0, 100.0]);
        let run = measured(&values);
        let ended = |limits: &str| {
            let verdict = verdict(&format!("bench = '*/*/64K'\n{limits}"), &run, None);
            (verdict.failures.len(), verdict.open.len())
        };
        assert_eq!(ended("min = 10"), (0, 0));
        assert_eq!(ended("min = 11"), (0, 1), "the median keeps it");
        assert_eq!(ended("min = 14"), (0, 1), "the median does not");
        assert_eq!(ended("min = 18"), (1, 0));
        assert_eq!(ended("max = 12"), (0, 1));
        assert_eq!(ended("max = 9"), (1, 0));
        assert_eq!(ended("min = 14\nstrict = true"), (1, 0));
        assert_eq!(ended("min = 11\nstrict = true"), (0, 0));
        assert_eq!(ended("min = 11\nprove = true"), (1, 0));
        assert_eq!(ended("min = 10\nprove = true"), (0, 0));
        let open = verdict("bench = '*'\nmin = 14", &run, None).open;
        assert_eq!(
            open[0].message,
            "sequential/read/64K, aged: 13.50 (10..17) MB/s; min = 14; the limit lies in the interval; more \
             repetitions, or seeds, may decide it"
        );
    }
}
