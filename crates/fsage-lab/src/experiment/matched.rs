//! Two experiments beside each other: what both have of the same workload on the same target, as ratios over lives.

use super::beside::METRICS;
use super::manifest::Manifest;
use super::results::{Mean, Row, rows, values};
use super::tables::ratios;
use super::verdict::{Verdict, phases};
use crate::benching::{PhaseRatio, digits};
use crate::error::bail;
use crate::life::{self, Life};
use crate::report::name_of;
use crate::report::words::{counted, list};
use crate::table;
use fsage_metrics::Better;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Two experiments.
#[derive(Clone, Debug, Serialize)]
pub struct Matched {
    /// Their folders.
    pub folders: [String; 2],
    /// What both have, in the order of the first.
    pub values: Vec<Both>,
    /// What the first alone has, and what the other alone: workloads on targets, and benchmarks of those that both
    /// have.
    pub only: [Vec<String>; 2],
}

/// A value that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Both {
    /// The workload, with what is varied beside it and the target.
    pub workload: String,
    /// Specification of the target; of both, where each experiment has one, and they differ.
    pub target: String,
    /// A metric at the end, or a suite with a phase, of the aged file system.
    pub metric: String,
    /// What speeds are counted in; none of a metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether more of it is better; none where neither is.
    #[serde(skip)]
    pub is_more_better: Option<bool>,
    /// How they compare.
    #[serde(flatten)]
    pub compared: Compared,
}

/// A value of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Its mean in the first experiment: over the lives that both lived, or over all where they lived none in common.
    pub first: f64,
    /// The same in the other one.
    pub other: f64,
    /// The other as a multiple of the first: the mean over the lives that both lived, or of the means where they lived
    /// none in common; none where the first has 0.
    pub ratio: Option<f64>,
    /// Where that lies with a confidence of 0.95 (Student's t), of two or more lives that both lived.
    pub interval: Option<(f64, f64)>,
    /// Lives that both lived.
    pub lives: usize,
}

impl Matched {
    /// Reads two experiments.
    ///
    /// # Errors
    /// It is one, named twice; one of them, or a result of it, cannot be read.
    pub fn read(folders: [&Path; 2]) -> crate::Result<Matched> {
        if folders[0].canonicalize().ok() == folders[1].canonicalize().ok() {
            bail!(
                "{}: named twice; expected different experiments",
                folders[0].display()
            );
        }
        let read = |folder: &Path| rows(folder, &Manifest::read(folder)?);
        let (first, other) = (read(folders[0])?, read(folders[1])?);
        // Where each has one target, these two.
        let is_one = |rows: &[Row]| rows.iter().all(|row| row.target() == rows[0].target());
        let are_one = is_one(&first) && is_one(&other);
        let is_same = |one: &Row, other: &Row| {
            one.workload() == other.workload() && (are_one || one.target() == other.target())
        };
        let alone = |of: &[Row], than: &[Row]| -> Vec<String> {
            let is_there = |row: &Row| than.iter().any(|other| is_same(row, other));
            let alone = of.iter().filter(|row| !is_there(row));
            alone.map(name).collect()
        };
        let mut values = Vec::new();
        let mut only = [alone(&first, &other), alone(&other, &first)];
        for row in &first {
            if let Some(beside) = other.iter().find(|of| is_same(row, of)) {
                values.extend(both([row, beside], &mut only));
            }
        }
        Ok(Matched {
            folders: folders.map(|folder| folder.display().to_string()),
            values,
            only,
        })
    }

    /// What tables call them: their last folders, or whole paths where these are alike.
    pub fn names(&self) -> [String; 2] {
        let last = self.folders.each_ref();
        let last = last.map(|folder| name_of(Path::new(folder)));
        if last[0] == last[1] {
            self.folders.clone()
        } else {
            last
        }
    }

    /// What only one has, whether the lives are the same, and how many ratios tell a difference, in sentences.
    pub fn says(&self) -> Vec<String> {
        let mut says: Vec<String> = self.changed().into_iter().collect();
        for (name, only) in self.names().iter().zip(&self.only) {
            if !only.is_empty() {
                let only: Vec<&str> = only.iter().map(String::as_str).collect();
                says.push(format!("Only {name} has {}.", list(&only)));
            }
        }
        if self.values.is_empty() {
            says.push(
                "They have no results of the same workload on the same target. Targets with other options: `fsage \
                 check AFTER --baseline BEFORE --match position`."
                    .to_owned(),
            );
        }
        let values = self.values.iter().map(|value| &value.compared);
        let of_others = values.clone().filter(|value| value.lives == 0);
        if let others @ 1.. = of_others.count() {
            says.push(format!(
                "{} without an interval: of means over lives that are not the same. Give both the same workloads and \
                 seeds.",
                counted(others as u64, "ratio")
            ));
        }
        let known: Vec<(f64, f64)> = values.filter_map(|value| value.interval).collect();
        if !known.is_empty() {
            let decided = known.iter().filter(|(low, high)| *low > 1.0 || *high < 1.0);
            says.push(format!(
                "{} of {} have an interval that does not hold 1. Each is for one of them: of twenty expect one \
                 false difference.",
                decided.count(),
                counted(known.len() as u64, "ratio")
            ));
        }
        says
    }

    /// What is worse and what is better in the second, by intervals over lives: of each the three that changed most.
    fn changed(&self) -> Option<String> {
        const MOST: usize = 3;
        let decided = self.values.iter().filter_map(|value| {
            let (ratio, (low, high)) = value.compared.ratio.zip(value.compared.interval)?;
            let is_more = low > 1.0;
            let is_better = value.is_more_better? == is_more;
            (is_more || high < 1.0).then_some((value, ratio, (low, high), is_better))
        });
        let mut decided: Vec<_> = decided.collect();
        decided.sort_by(|a, b| b.1.ln().abs().total_cmp(&a.1.ln().abs()));
        let several = |of: fn(&Both) -> &str| {
            let mut all = self.values.iter().map(of);
            let first = all.next();
            all.any(|name| Some(name) != first)
        };
        let (workloads, targets) = (several(|of| &of.workload), several(|of| &of.target));
        let part = |what: &str, wanted: bool| {
            let of = decided
                .iter()
                .filter(|(.., is_better)| *is_better == wanted);
            let texts = of.clone().take(MOST).map(|(value, ratio, (low, high), _)| {
                let place = [(targets, &value.target), (workloads, &value.workload)];
                let place = place.into_iter().filter(|(is_several, _)| *is_several);
                let place: String = place.flat_map(|(_, name)| [" of ", name]).collect();
                format!(
                    "{}{place} {ratio:.3} times ({low:.3} to {high:.3})",
                    value.metric
                )
            });
            let texts: Vec<String> = texts.collect();
            let more = of.count().saturating_sub(MOST);
            let more = (more > 0).then(|| format!(", and {more} more"));
            (!texts.is_empty())
                .then(|| format!("{what} in {}{}", list(&texts), more.unwrap_or_default()))
        };
        let [first, other] = self.names();
        let parts: Vec<String> = [part("worse", false), part("better", true)]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty())
            .then(|| format!("In short, {other} beside {first}: {}.", parts.join("; ")))
    }
}

impl Compared {
    fn mean(&self) -> Option<Mean> {
        let interval = self.interval;
        self.ratio.map(|mean| Mean { mean, interval })
    }
}

fn name(row: &Row) -> String {
    format!("{} on {}", row.workload(), row.target())
}

/// The values that both rows have; benchmarks that one of them has go to `only`.
fn both(rows: [&Row; 2], only: &mut [Vec<String>; 2]) -> Vec<Both> {
    let target = match rows.map(Row::target) {
        [one, other] if one == other => one.to_owned(),
        both => both.join(" / "),
    };
    let of = rows.map(|row| row.verdicts().iter().map(|(_, verdict)| verdict));
    let of = of.map(Iterator::collect::<Vec<&Verdict>>);
    let in_both =
        |metric: String, unit, is_more_better, value: &dyn Fn(&Verdict) -> Option<f64>| {
            let [first, other] = [0, 1].map(|side| values(&of[side], value).collect());
            Some(Both {
                workload: rows[0].workload().to_owned(),
                target: target.clone(),
                metric,
                unit,
                is_more_better,
                compared: compared(first, other)?,
            })
        };
    let metrics = METRICS.iter().enumerate().filter_map(|(place, metric)| {
        let is_more_better = match metric.better {
            Better::Higher => Some(true),
            Better::Lower => Some(false),
            Better::Neither => None,
        };
        in_both(metric.id.to_owned(), None, is_more_better, &|verdict| {
            verdict.ends[place]
        })
    });
    let measured = [0, 1].map(|side| {
        let ratios = of[side].iter().flat_map(|verdict| &verdict.throughput);
        phases(ratios.map(PhaseRatio::of))
    });
    let speeds = measured[0].iter().filter_map(|phase| {
        let in_phase = |verdict: &Verdict| {
            let mut ratios = verdict.throughput.iter();
            ratios.find(|ratio| ratio.of() == *phase).cloned()
        };
        let first = of[0].iter().find_map(|verdict| in_phase(verdict))?;
        let (unit, is_more_better) = (
            first.unit,
            Some(first.better == fsage_bench::Better::Higher),
        );
        in_both(
            format!("{} {}", phase.0, phase.1),
            Some(unit),
            is_more_better,
            &|verdict| Some(in_phase(verdict)?.aged),
        )
    });
    let all = metrics.chain(speeds).collect();
    for (side, alone) in only.iter_mut().enumerate() {
        let here = measured[side].iter();
        let here = here.filter(|phase| !measured[1 - side].contains(phase));
        alone.extend(here.map(|(suite, phase)| format!("{suite} {phase} of {}", name(rows[side]))));
    }
    all
}

/// A value of two sides, life by life.
fn compared(first: Vec<(Life, f64)>, other: Vec<(Life, f64)>) -> Option<Compared> {
    let pairs = life::pairs(other.iter().cloned(), first.iter().cloned());
    let (first, other) = if pairs.is_empty() {
        (Mean::over(first)?.mean, Mean::over(other)?.mean)
    } else {
        let (other, first): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        (Mean::of(&first)?.mean, Mean::of(&other)?.mean)
    };
    let over_lives = Mean::of(&ratios(&pairs));
    let of_others = || (pairs.is_empty() && first > 0.0).then(|| other / first);
    let interval = over_lives.and_then(|mean| mean.interval);
    Some(Compared {
        first,
        other,
        ratio: over_lives.map(|mean| mean.mean).or_else(of_others),
        interval: interval.map(|(low, high)| (low.max(0.0), high)),
        lives: pairs.len(),
    })
}

/// Prints them: a row a value, behind what only one of both has.
///
/// # Errors
/// `out` fails.
pub fn print(out: &mut impl Write, matched: &Matched) -> io::Result<()> {
    for sentence in matched.says() {
        writeln!(out, "{}", table::wrapped(&sentence, "- ", "  "))?;
    }
    if matched.values.is_empty() {
        return Ok(());
    }
    let [first, other] = &matched.names();
    let mut all = table::table(&[
        "workload", "target", "metric", first, other, "unit", "ratio", "lives",
    ]);
    table::align_left(&mut all, &[1, 2, 5]);
    for value in &matched.values {
        let compared = &value.compared;
        all.add_row([
            value.workload.clone(),
            value.target.clone(),
            value.metric.clone(),
            digits(compared.first),
            digits(compared.other),
            value.unit.clone().unwrap_or_default(),
            Mean::shown_ratio(compared.mean().as_ref()),
            compared.lives.to_string(),
        ]);
    }
    writeln!(
        out,
        "\n{all}\n{}",
        table::wrapped(
            "Ratios are the second over the first, life by life; ± is half the 95 % interval of their mean (Student's \
             t).",
            "",
            ""
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(values: &[(u32, f64)]) -> Vec<(Life, f64)> {
        let values = values.iter();
        values
            .map(|&(life, value)| (Life::named(&life), value))
            .collect()
    }

    /// By hand: lives 2 and 3 are of both, with the ratios 1.5 and 2.5, the mean 2 and the deviation 0.7071. Student's
    /// t of one degree of freedom is 12.706: the interval goes from -4.35, where no ratio is, to 8.353.
    #[test]
    fn what_both_lived_is_compared_life_by_life() {
        let first = lives(&[(1, 100.0), (2, 10.0), (3, 20.0)]);
        let of = |first: &[(Life, f64)], other: &[(u32, f64)]| {
            let known = compared(first.to_vec(), lives(other)).expect("values");
            (
                known.first,
                known.other,
                known.ratio,
                known.interval,
                known.lives,
            )
        };
        let (a, b, ratio, interval, both) = of(&first, &[(3, 50.0), (2, 15.0)]);
        assert_eq!((a, b, ratio, both), (15.0, 32.5, Some(2.0), 2));
        let high = interval
            .filter(|(low, _)| *low == 0.0)
            .map(|(_, high)| high);
        assert!(
            high.is_some_and(|high| (high - 8.353).abs() < 1e-3),
            "{interval:?}"
        );
        // Of one life the ratio alone; of others that of the means.
        assert_eq!(of(&first, &[(2, 15.0)]), (10.0, 15.0, Some(1.5), None, 1));
        let others = lives(&[(1, 20.0), (2, 30.0)]);
        assert_eq!(of(&others, &[(7, 50.0)]), (25.0, 50.0, Some(2.0), None, 0));
        let with_none = lives(&[(1, 0.0), (2, 2.0)]);
        assert_eq!(
            of(&with_none, &[(1, 5.0), (2, 1.0)]),
            (1.0, 3.0, None, None, 2)
        );
        assert_eq!(compared(Vec::new(), lives(&[(1, 1.0)])), None);
    }

    /// What is decided comes first, by how much it changed: worse and better, each by its metric.
    #[test]
    fn the_first_sentence_says_what_is_worse_and_what_is_better() {
        let of = |metric: &str, is_more_better, ratio: f64, ends| Both {
            workload: "mail".to_owned(),
            target: "ext4".to_owned(),
            metric: metric.to_owned(),
            unit: None,
            is_more_better,
            compared: Compared {
                first: 1.0,
                other: ratio,
                ratio: Some(ratio),
                interval: Some(ends),
                lives: 5,
            },
        };
        let mut matched = Matched {
            folders: ["before", "after"].map(str::to_owned),
            values: vec![
                of("layout_score", Some(true), 0.9, (0.85, 0.95)),
                of("pieces_per_file", Some(false), 1.3, (1.2, 1.4)),
                of("hot-files read", Some(true), 1.1, (1.05, 1.15)),
                of("sequential read", Some(true), 2.0, (0.9, 3.1)),
                of("files", None, 2.0, (1.9, 2.1)),
            ],
            only: [Vec::new(), Vec::new()],
        };
        let says = matched.says();
        assert_eq!(
            says[0],
            "In short, after beside before: worse in pieces_per_file 1.300 times (1.200 to 1.400) and layout_score \
             0.900 times (0.850 to 0.950); better in hot-files read 1.100 times (1.050 to 1.150)."
        );
        matched.values.truncate(2);
        matched.values[1].target = "xfs".to_owned();
        let named = "worse in pieces_per_file of xfs 1.300 times";
        assert!(matched.says()[0].contains(named), "{:?}", matched.says());
        // Of values that are all open none is named.
        matched.values = vec![of("layout_score", Some(true), 0.9, (0.8, 1.1))];
        assert!(!matched.says()[0].starts_with("In short"));
    }
}
