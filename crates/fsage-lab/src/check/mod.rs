//! Checks of runs and snapshots against rules and against others, for continuous integration.
//!
//! A check that looks at nothing fails: a run that is not complete, a target or benchmark that the baseline has and
//! the run has not, a metric that nobody measured. So do operations that were skipped: a target that did less work is
//! no fair comparison. The rules say what of this is allowed.

mod cause;
mod judge;
mod outcome;
mod over_seeds;
mod results;
mod rules;
mod words;

pub use cause::Cause;
pub use outcome::Outcome;
pub use rules::{Matching, PRESETS, Rules, is_age};

use crate::error::bail;
use judge::{Pair, judge};
use outcome::Verdict;
use results::TargetResults;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The run of RUN/TARGET; anything else itself.
#[must_use]
pub fn run_of(path: &Path) -> &Path {
    let above = path.parent().filter(|_| results::is_target(path));
    above.unwrap_or(path)
}

/// Checks a run, one of its targets, an experiment or snapshots, beside a baseline of the same kind where there is one.
///
/// # Errors
/// The folder or the baseline cannot be read; a rule needs a baseline where there is none; a rule or a pair of targets
/// names a target that is not there. That a rule does not hold is no error but an outcome.
pub fn check(run: &Path, rules: &Rules, baseline: Option<&Path>) -> crate::Result<Outcome> {
    if baseline.is_none() {
        let compares =
            |rule: &&rules::Rule| rule.bounds.iter().any(|bound| bound.kind.is_relative());
        if let Some(rule) = rules.list.iter().find(compares) {
            bail!(
                "{}:{}: `{}` compares with a baseline; name one with --baseline OLD, or give the rule min or max",
                rules.file,
                rule.line,
                rule.name
            );
        }
    }
    let new = results::read(run)?;
    if rules.max_age_days.is_some() && !new.iter().all(TargetResults::is_snapshots) {
        bail!(
            "{}: a run has no age; --max-age and `max_age_days` are for snapshots",
            run.display()
        );
    }
    let old = baseline.map(results::read).transpose()?;
    // Who names two targets means these.
    let are_targets = results::is_target(run) && baseline.is_some_and(results::is_target);
    let matching = if are_targets {
        Matching::Position
    } else {
        rules.matching
    };
    let pairs = pairs(rules, matching, &new, old.as_deref())?;
    check_patterns(rules, &new, old.as_deref().unwrap_or_default())?;

    let (mut verdicts, mut causes) = (Vec::new(), Vec::new());
    for pair in &pairs {
        let before = verdicts.len();
        verdicts.extend(always(rules, pair, old.is_some()));
        let cells = over_seeds::cells(pair, &pairs);
        let asked = rules.list.iter();
        let asked = asked.filter(|rule| !rule.is_over(cells) && rule.is_about(pair.new));
        verdicts.extend(asked.filter_map(|rule| judge(rule, pair)));
        causes.extend(cause::of(pair, &verdicts[before..]));
        let lives = over_seeds::lives(pair, &pairs);
        for verdict in &mut verdicts[before..] {
            verdict.lives.clone_from(&lives);
        }
    }
    verdicts.extend(over_seeds::verdicts(&rules.list, &pairs));
    if let (Some(old), false) = (&old, rules.allow.missing_targets) {
        for lost in old.iter().filter(|old| !is_paired(old, &pairs)) {
            let mut verdict = Verdict::new("target", lost);
            verdict.fail(format!(
                "the baseline has this target, the run has not: {}; where it has another name, `--match position` sets \
                 the targets beside each other in their order, and [targets] in the rules by name",
                names(&new)
            ));
            verdicts.push(verdict);
        }
    }
    let disturbed = |of: &[TargetResults], folder: &Path| {
        let those = of.iter().filter(|target| target.is_disturbed);
        let named = those.map(|target| format!("{} of {}", target.spec, folder.display()));
        named.collect::<Vec<String>>()
    };
    let mut all_disturbed = disturbed(&new, run);
    if let (Some(old), Some(folder)) = (&old, baseline) {
        all_disturbed.extend(disturbed(old, folder));
    }
    Ok(Outcome {
        disturbed: all_disturbed,
        causes,
        run: run.display().to_string(),
        baseline: baseline.map(|path| path.display().to_string()),
        rules: rules.file.clone(),
        passed: !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.failures.is_empty()),
        verdicts,
    })
}

/// What must hold whatever the rules are about.
fn always(rules: &Rules, pair: &Pair<'_>, compares: bool) -> Vec<Verdict> {
    let (allow, new) = (&rules.allow, pair.new);
    let mut complete = Verdict::new("complete", new);
    complete.checked = 1;
    let unit = if new.is_snapshots() {
        "snapshot"
    } else {
        "day"
    };
    complete.found = counted(new.days.len() as u64, unit);
    if let Some(why) = &new.unfinished {
        complete.fail(why.clone());
    }
    let mut verdicts = vec![complete];
    verdicts.extend(rules.max_age_days.and_then(|most| newest(new, most)));
    let of_operations = [
        (
            "skipped",
            new.days.iter().map(|day| day.skipped).sum(),
            allow.skipped,
        ),
        (
            "no_space",
            new.days.iter().map(|day| day.no_space).sum::<u64>(),
            allow.no_space,
        ),
    ];
    // Snapshots tell of no operations.
    let of_operations = of_operations.into_iter().filter(|_| !new.is_snapshots());
    for (name, count, most) in of_operations {
        let mut verdict = Verdict::new(name, new);
        verdict.checked = new.days.len();
        verdict.found = counted(count, "operation");
        verdict.excess = Some(count as f64);
        if count > most {
            verdict.fail(format!(
                "{} skipped; [allow] {name} = {most}",
                counted(count, "operation")
            ));
        }
        verdicts.push(verdict);
    }
    let Some(old) = pair.old else {
        if compares {
            let mut verdict = Verdict::new("baseline", new);
            verdict.fail(
                "the baseline has no such target; `--match position` or [targets] in the rules name one".into(),
            );
            verdicts.push(verdict);
        }
        return verdicts;
    };
    let have_workloads = !(new.is_snapshots() && old.is_snapshots());
    if !allow.other_workload && have_workloads {
        let mut verdict = Verdict::new("workload", new);
        verdict.checked = 1;
        verdict.found = String::from("the same as the baseline's");
        if new.workload.is_none() || old.workload.is_none() {
            verdict.fail("not known: it came through a pipe; age a file".to_owned());
        } else if new.workload != old.workload {
            verdict
                .fail("not that of the baseline: their days are of different histories".to_owned());
        }
        verdicts.push(verdict);
    }
    verdicts.extend(of_kernels(new, old, rules.other_kernel));
    if !allow.missing_benchmarks && !old.cases.is_empty() {
        let mut verdict = Verdict::new("benchmarks", new);
        verdict.checked = old.cases.len();
        verdict.found = format!("all {} of the baseline", old.cases.len());
        let missing: Vec<_> = old
            .cases
            .iter()
            .filter(|case| new.same_case(case).is_none())
            .collect();
        if let Some(first) = missing.first() {
            verdict.fail(format!(
                "{} of {} in the baseline are not in the run, the first is {first}; `fsage bench RUN --suite {}` \
                 measures it",
                missing.len(),
                old.cases.len(),
                first.suite()
            ));
        }
        verdicts.push(verdict);
    }
    verdicts
}

/// Whether the newest snapshot is at most so many days old: one that was not taken is seen so.
fn newest(new: &TargetResults, most: f64) -> Option<Verdict> {
    const DAY_S: f64 = 86_400.0;
    let taken_s = new.newest_ns? as f64 / 1e9;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = since_1970.map_or(0.0, |since| since.as_secs_f64());
    let age = ((now_s - taken_s) / DAY_S).max(0.0);
    let mut verdict = Verdict::new("newest", new);
    verdict.checked = 1;
    let taken = if age < 0.1 {
        format!("taken {:.0} minutes ago", age * DAY_S / 60.0)
    } else {
        format!("taken {age:.1} days ago")
    };
    verdict.found.clone_from(&taken);
    if age > most {
        verdict.fail(format!("{taken}; --max-age {most}"));
    }
    Some(verdict)
}

/// Under which kernels a real target and that of the baseline ran.
fn of_kernels(new: &TargetResults, old: &TargetResults, must_differ: bool) -> Option<Verdict> {
    let kernel = new.kernel.as_ref()?;
    let mut verdict = Verdict::new("kernel", new);
    verdict.checked = 1;
    verdict.found = match &old.kernel {
        Some(other) if other == kernel => format!("{kernel}, as the baseline's"),
        Some(other) => format!("{kernel}, baseline {other}"),
        None => format!("{kernel}, the baseline's is not known"),
    };
    if must_differ && old.kernel.as_ref() == Some(kernel) {
        verdict.fail(format!(
            "both ran under {kernel}, and `other_kernel = true` asks for two"
        ));
    }
    Some(verdict)
}

/// Every target of the run with its own of the baseline.
fn pairs<'a>(
    rules: &Rules,
    matching: Matching,
    new: &'a [TargetResults],
    old: Option<&'a [TargetResults]>,
) -> crate::Result<Vec<Pair<'a>>> {
    let Some(old) = old else {
        return Ok(new.iter().map(|new| Pair { new, old: None }).collect());
    };
    for (pattern, spec) in &rules.pairs {
        for (what, name, targets) in [("the run", pattern, new), ("the baseline", spec, old)] {
            if !targets.iter().any(|target| target.is_called(name)) {
                bail!(
                    "{}: [targets]: {what} has no target `{name}`{}; it has {}",
                    rules.file,
                    rules::did_you_mean(name, targets.iter().map(|target| target.spec.as_str())),
                    names(targets)
                );
            }
        }
    }
    let paired = new.iter().enumerate().map(|(at, target)| {
        let mut same_cell = old.iter().filter(|old| old.cell == target.cell);
        let named = rules
            .pairs
            .iter()
            .find(|(pattern, _)| target.is_called(pattern));
        let old = match (named, matching) {
            (Some((_, name)), _) => same_cell.find(|old| old.is_called(name)),
            (None, Matching::Name) => same_cell.find(|old| old.spec == target.spec),
            (None, Matching::Position) => {
                let before = new[..at].iter().filter(|other| other.cell == target.cell);
                same_cell.nth(before.count())
            }
        };
        Pair { new: target, old }
    });
    Ok(paired.collect())
}

fn is_paired(old: &TargetResults, pairs: &[Pair<'_>]) -> bool {
    pairs
        .iter()
        .any(|pair| pair.old.is_some_and(|paired| std::ptr::eq(paired, old)))
}

/// Every pattern fits a target of the run, or one that the baseline has and the run has lost.
fn check_patterns(
    rules: &Rules,
    new: &[TargetResults],
    old: &[TargetResults],
) -> crate::Result<()> {
    for rule in &rules.list {
        let Some(pattern) = &rule.target else {
            continue;
        };
        if !new
            .iter()
            .chain(old)
            .any(|target| target.is_called(pattern))
        {
            bail!(
                "{}:{}: no target is called `{pattern}`{}; there are {}",
                rules.file,
                rule.line,
                rules::did_you_mean(pattern, new.iter().map(|target| target.spec.as_str())),
                names(new)
            );
        }
    }
    Ok(())
}

/// The specifications of targets, each once.
fn names(targets: &[TargetResults]) -> String {
    let mut specs: Vec<&str> = Vec::new();
    for target in targets {
        if !specs.contains(&target.spec.as_str()) {
            specs.push(&target.spec);
        }
    }
    specs.join(", ")
}

/// How many of something, in words.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A number for people: whole ones as they are, others with four digits that mean something.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        size if size >= 1.0 => format!("{value:.3}"),
        size if size >= 1e-3 => format!("{value:.4}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_that_mean_something() {
        let texts = [3.0, 0.97, 1234.5, 2.785_680_235_735_606_7e-4, -1e-7].map(number);
        assert_eq!(texts, ["3", "0.9700", "1234", "2.786e-4", "-1.000e-7"]);
    }
}
