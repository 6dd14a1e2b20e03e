//! What a number that an experiment varies does: metrics over its values, a curve a target.

mod said;

use super::beside;
use super::manifest::{Cell, Manifest, State};
use super::results::{Row, values};
use super::verdict::{Verdict, phases};
use crate::benching::PhaseRatio;
use crate::fullness::{self, Phase};
use crate::life::{self, Life};
use crate::report::Over;
use crate::report::names;
use fsage_core::size;
use fsage_report::{Axis, Format, Scale};
use fsage_target::TargetSpec;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Metrics that are shown of all that is varied together, at most.
const METRICS: usize = 6;
/// Values beside an axis, at most.
const TICKS: usize = 10;
/// Curves of a chart, at most.
const CURVES: usize = 12;

/// A number that is varied, and metrics over its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Its name.
    pub parameter: String,
    /// Whether it is a number of bytes.
    pub is_bytes: bool,
    /// What else is varied, where the curves are means over that too.
    pub pooled: Vec<String>,
    /// Curves that are left out.
    pub left_out: usize,
    /// The most important one first.
    pub metrics: Vec<OfMetric>,
}

/// A metric over the values.
#[derive(Clone, Debug, PartialEq)]
pub struct OfMetric {
    /// Which.
    pub metric: Metric,
    /// In the order of the experiment.
    pub curves: Vec<Curve>,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The layout score at the end.
    LayoutScore,
    /// Pieces per file at the end.
    PiecesPerFile,
    /// How fast the aged file system is in a phase of a suite, beside its control.
    Ratio(Phase),
}

/// A target over the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What tells it from the others.
    pub name: String,
    /// The specification of the target at its first value.
    pub target: String,
    /// Ascending.
    pub points: Vec<At>,
}

/// A target at a value.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// The value.
    pub x: f64,
    /// As the experiment file has it.
    pub text: String,
    /// The metric over the lives.
    pub over: Over,
    /// The same of each life.
    pub lives: Vec<(Life, f64)>,
    /// Share of the operations that were not done.
    pub undone: f64,
}

impl Metric {
    /// In words.
    pub fn name(&self) -> String {
        match self {
            Metric::LayoutScore => "layout score".to_owned(),
            Metric::PiecesPerFile => "pieces per file".to_owned(),
            Metric::Ratio((suite, phase)) => format!("{suite} {phase}, aged / control"),
        }
    }

    /// Without what it is divided by.
    pub fn short_name(&self) -> String {
        match self {
            Metric::LayoutScore => "layout score".to_owned(),
            Metric::PiecesPerFile => "pieces per file".to_owned(),
            Metric::Ratio((suite, phase)) => format!("{suite} {phase}"),
        }
    }

    fn of(&self, verdict: &Verdict) -> Option<f64> {
        match self {
            Metric::LayoutScore => verdict.layout_end,
            Metric::PiecesPerFile => verdict.pieces_per_file,
            Metric::Ratio((suite, phase)) => {
                let mut ratios = verdict.throughput.iter();
                let ratio = ratios.find(|ratio| ratio.of() == (suite, phase));
                ratio.map(|ratio| ratio.aged_by_control)
            }
        }
    }
}

impl Sweep {
    /// The values, ascending, each once.
    fn values(&self) -> Vec<f64> {
        let curves = self.metrics.iter().flat_map(|metric| &metric.curves);
        let mut values: Vec<f64> = curves
            .flat_map(|curve| &curve.points)
            .map(|at| at.x)
            .collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// The axis of the values: by powers, with the values beside it, where they are closer to even ratios than to even
    /// distances.
    pub fn axis(&self) -> Axis {
        let values = self.values();
        let axis = Axis {
            label: self.parameter.clone(),
            format: if self.is_bytes {
                Format::Bytes
            } else {
                Format::Number
            },
            ..Axis::default()
        };
        if values.len() < 3 || values[0] <= 0.0 {
            return axis;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        if unevenness(&logs) >= unevenness(&values) {
            return axis;
        }
        let step = values.len().div_ceil(TICKS);
        Axis {
            scale: Scale::Log,
            ticks: values.into_iter().step_by(step).collect(),
            ..axis
        }
    }

    /// Lives of a point: the fewest, and the most.
    pub fn lives(&self) -> (usize, usize) {
        let curves = self.metrics.iter().flat_map(|metric| &metric.curves);
        let counts = curves
            .flat_map(|curve| &curve.points)
            .map(|at| at.over.count);
        (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
    }
}

/// How far ascending values lie from even distances between the first and the last, as a share of the whole: the sum of
/// squares.
fn unevenness(values: &[f64]) -> f64 {
    let (first, last) = (values[0], values[values.len() - 1]);
    let steps = (values.len() - 1) as f64;
    let off = (0_u32..).zip(values).map(|(place, value)| {
        let share = (value - first) / (last - first);
        (share - f64::from(place) / steps).powi(2)
    });
    off.sum()
}

/// Numbers that the experiment varies, and what they do; `rows` are those of all its cells.
pub fn sweeps(manifest: &Manifest, rows: &[Row]) -> Vec<Sweep> {
    let numbers = numbers(&manifest.cells);
    let verdicts = verdicts(rows);
    let most = (METRICS / numbers.len().max(1)).max(1);
    let sweeps = numbers.iter().filter_map(|name| {
        let sweep = sweep(name, &manifest.cells, &verdicts, most);
        (!sweep.metrics.is_empty()).then_some(sweep)
    });
    sweeps.collect()
}

/// Whether an experiment varies a number.
pub fn are_there(manifest: &Manifest) -> bool {
    !numbers(&manifest.cells).is_empty()
}

/// What each complete cell says, by its id.
type Verdicts<'a> = HashMap<&'a str, &'a Verdict>;

fn verdicts(rows: &[Row]) -> Verdicts<'_> {
    let all = rows.iter().flat_map(Row::verdicts);
    all.map(|(cell, verdict)| (cell.as_str(), verdict))
        .collect()
}

/// Names of what is varied over two numbers or more. Seeds are lives, and no numbers.
fn numbers(cells: &[Cell]) -> Vec<String> {
    let names: BTreeSet<&String> = cells
        .iter()
        .flat_map(|cell| cell.parameters.keys())
        .collect();
    let is_number = |name: &&&String| {
        let of = cells
            .iter()
            .filter_map(|cell| Some((cell, cell.parameters.get(**name)?)));
        let known: Vec<(&Cell, &Value)> = of.collect();
        let texts = known.iter().filter(|(_, value)| value.is_string()).count();
        let numbers = known.iter().map(|(_, value)| number(value));
        let Some(mut numbers) = numbers.collect::<Option<Vec<f64>>>() else {
            return false;
        };
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let is_seed =
            |(cell, value): &(&Cell, &Value)| cell.seed.is_some() && value.as_u64() == cell.seed;
        (texts == 0 || texts == known.len()) && numbers.len() > 1 && !known.iter().all(is_seed)
    };
    let names = names.iter().filter(is_number);
    names.map(|name| (*name).clone()).collect()
}

/// A number, or a size with its unit.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.ends_with(|c: char| c.is_ascii_alphabetic()) => {
            size::parse(text).ok().map(|bytes| bytes as f64)
        }
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What a curve is of.
#[derive(Clone, PartialEq)]
struct Key {
    workload: String,
    /// The target, with a gap for the number alone.
    target: String,
    /// What else is varied that the target does not show, with its values.
    others: BTreeMap<String, String>,
}

impl Key {
    fn of(cell: &Cell, name: &str) -> Key {
        let (workload, pattern) = match &cell.pattern {
            Some(pattern) => (pattern.workload.clone(), pattern.target.as_str()),
            None => (cell.workload.clone(), cell.target.as_str()),
        };
        let mut target = pattern.to_owned();
        let mut others = BTreeMap::new();
        for (other, value) in cell.parameters.iter().filter(|(other, _)| *other != name) {
            let gap = format!("{{{other}}}");
            if target.contains(&gap) {
                target = target.replace(&gap, &text(value));
            } else {
                others.insert(other.clone(), text(value));
            }
        }
        Key {
            workload,
            target,
            others,
        }
    }

    /// The target without the number.
    fn spec(&self) -> String {
        let Ok(mut spec) = TargetSpec::parse(&self.target) else {
            return self.target.clone();
        };
        let has_gap = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('{'));
        spec.options.retain(|(_, value)| !has_gap(value));
        spec.to_string()
    }
}

/// A cell and its value.
type Placed<'a> = (&'a Cell, f64);

fn sweep(name: &str, cells: &[Cell], verdicts: &Verdicts<'_>, most: usize) -> Sweep {
    let is_complete = |cell: &&Cell| cell.state == State::Complete;
    let placed = cells.iter().filter(is_complete).filter_map(|cell| {
        let x = number(cell.parameters.get(name)?)?;
        Some((cell, x))
    });
    let placed: Vec<Placed> = placed.collect();
    let group = |is_pooled: bool| {
        let mut curves: Vec<(Key, Vec<Placed>)> = Vec::new();
        for (cell, x) in &placed {
            let mut key = Key::of(cell, name);
            if is_pooled {
                key.others.clear();
            }
            match curves.iter_mut().find(|(known, _)| *known == key) {
                Some((_, cells)) => cells.push((cell, *x)),
                None => curves.push((key, vec![(cell, *x)])),
            }
        }
        curves
    };
    let mut curves = group(false);
    let mut pooled = Vec::new();
    if curves.len() > CURVES {
        let others = curves.iter().flat_map(|(key, _)| key.others.keys());
        pooled = others
            .cloned()
            .collect::<BTreeSet<String>>()
            .into_iter()
            .collect();
        curves = group(true);
    }
    let left_out = curves.len().saturating_sub(CURVES);
    curves.truncate(CURVES);
    let keys: Vec<&Key> = curves.iter().map(|(key, _)| key).collect();
    let names = curve_names(&keys);
    let metrics = metrics(&placed, verdicts).into_iter().filter_map(|metric| {
        let of_metric = curves.iter().zip(&names).filter_map(|((_, cells), own)| {
            let points = points(name, cells, &metric, verdicts);
            let first = cells.first()?;
            (points.len() > 1).then(|| Curve {
                name: own.clone(),
                target: first.0.target.clone(),
                points,
            })
        });
        let curves: Vec<Curve> = of_metric.collect();
        (!curves.is_empty()).then_some(OfMetric { metric, curves })
    });
    Sweep {
        parameter: name.to_owned(),
        is_bytes: placed
            .iter()
            .all(|(cell, _)| cell.parameters[name].is_string()),
        pooled,
        left_out,
        metrics: metrics.take(most).collect(),
    }
}

fn verdict<'a>(cell: &Cell, verdicts: &Verdicts<'a>) -> Option<&'a Verdict> {
    verdicts.get(cell.id.as_str()).copied()
}

/// What there is to show, the most important first: the layout score, then the phase that counts most, then those that
/// read, then the others. Where blocks are of unlike sizes a break weighs less in some scores than in others: then
/// pieces per file come first, and the layout score last.
fn metrics(placed: &[Placed<'_>], verdicts: &Verdicts<'_>) -> Vec<Metric> {
    let known = placed
        .iter()
        .filter_map(|(cell, _)| verdict(cell, verdicts));
    let ratios = known.flat_map(|verdict| &verdict.throughput);
    let mut phases = phases(ratios.map(PhaseRatio::of));
    let first = fullness::phase(&phases);
    let is_first = |(suite, phase): &(&str, &str)| {
        first
            .as_ref()
            .is_some_and(|of| of.0 == *suite && of.1 == *phase)
    };
    phases.sort_by_key(|of| (!is_first(of), !of.1.contains("read")));
    let ratios = phases
        .into_iter()
        .map(|(suite, phase)| Metric::Ratio((suite.to_owned(), phase.to_owned())));
    let known = placed
        .iter()
        .filter_map(|(cell, _)| verdict(cell, verdicts));
    if beside::blocks_are_unlike(known) {
        let pieces = std::iter::once(Metric::PiecesPerFile);
        return pieces.chain(ratios).chain([Metric::LayoutScore]).collect();
    }
    std::iter::once(Metric::LayoutScore).chain(ratios).collect()
}

/// The points of a curve, ascending.
fn points(name: &str, cells: &[Placed<'_>], metric: &Metric, verdicts: &Verdicts<'_>) -> Vec<At> {
    let mut sorted = cells.to_vec();
    sorted.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let points = sorted
        .chunk_by(|(_, a), (_, b)| a.total_cmp(b).is_eq())
        .filter_map(|at| {
            let (first, x) = at.first()?;
            let known = at.iter().filter_map(|(cell, _)| verdict(cell, verdicts));
            let known: Vec<&Verdict> = known.collect();
            let sum = |of: fn(&Verdict) -> u64| {
                known.iter().copied().map(of).fold(0, u64::saturating_add)
            };
            let skipped = sum(|verdict| verdict.skipped) as f64;
            let lives: Vec<(Life, f64)> = values(&known, |verdict| metric.of(verdict)).collect();
            Some(At {
                x: *x,
                text: text(&first.parameters[name]),
                over: Over::of(life::independent(lives.iter().cloned()))?,
                lives,
                undone: skipped / sum(|verdict| verdict.operations).max(1) as f64,
            })
        });
    points.collect()
}

/// A name for each curve, no two alike: the target, and what else differs.
fn curve_names(keys: &[&Key]) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    let mut patterns: Vec<&str> = Vec::new();
    for key in keys {
        if !patterns.contains(&key.target.as_str()) {
            patterns.push(&key.target);
            specs.push(key.spec());
        }
    }
    let mut short = names::short(&specs.iter().map(String::as_str).collect::<Vec<_>>());
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() < short.len() {
        short = patterns
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect();
    }
    let differ = |other: &dyn Fn(&Key) -> Option<String>| {
        keys.iter().any(|key| other(key) != other(keys[0]))
    };
    let with_workload = differ(&|key| Some(key.workload.clone()));
    let names = keys.iter().map(|key| {
        let place = patterns.iter().position(|pattern| *pattern == key.target);
        let mut words =
            vec![place.map_or_else(|| key.target.clone(), |place| short[place].clone())];
        words.extend(with_workload.then(|| key.workload.clone()));
        let others = key.others.iter();
        let others = others.filter(|(name, _)| differ(&|key| key.others.get(*name).cloned()));
        words.extend(others.map(|(name, value)| format!("{name}={value}")));
        words.join(", ")
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::super::manifest::Pattern;
    use super::*;
    use crate::benching::PhaseRatio;
    use fsage_bench::{Better, Says};

    /// A cell of a target with gaps, with its score as all that is known of it.
    fn cell(target: &str, seed: u64, values: &[(&str, Value)], score: f64) -> (Cell, Verdict) {
        let parameters: BTreeMap<String, Value> = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let filled = parameters
            .iter()
            .fold(target.to_owned(), |filled, (name, value)| {
                filled.replace(&format!("{{{name}}}"), &text(value))
            });
        let own: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{name}{}", text(value)))
            .collect();
        let cell = Cell {
            id: format!("{filled}-{seed}-{own:?}"),
            workload: format!("home-{}", own.join("-")),
            seed: Some(seed),
            repetition: 1,
            target: filled.clone(),
            parameters,
            beside: BTreeMap::new(),
            pattern: Some(Pattern {
                workload: "home".to_owned(),
                target: target.to_owned(),
            }),
            run: String::new(),
            state: State::Complete,
            error: None,
            again: None,
            left_out: Vec::new(),
        };
        // What is varied in the target is lived by the same lives.
        let drawn = values.iter();
        let drawn = drawn.filter(|(name, _)| !target.contains(&format!("{{{name}}}")));
        let verdict = Verdict {
            life: Life::named(&format!("{seed} {:?}", drawn.collect::<Vec<_>>())),
            target: filled,
            days: 1,
            operations: 1,
            skipped: 0,
            layout_end: Some(score),
            ..Verdict::default()
        };
        (cell, verdict)
    }

    fn swept(of: &[(Cell, Verdict)]) -> Vec<Sweep> {
        let cells: Vec<Cell> = of.iter().map(|(cell, _)| cell.clone()).collect();
        let verdicts = of.iter().map(|(cell, verdict)| (cell.id.as_str(), verdict));
        let verdicts = verdicts.collect();
        let numbers = numbers(&cells).into_iter();
        numbers
            .map(|name| sweep(&name, &cells, &verdicts, METRICS))
            .collect()
    }

    #[test]
    fn targets_have_a_curve_each_over_the_values_of_a_workload() {
        let mut cells = Vec::new();
        for (u, low) in [(95, 0.7), (60, 0.9), (80, 0.8)] {
            for (target, more) in [("ffs", 0.0), ("lfs", 0.01)] {
                for seed in 1..=3_u32 {
                    let score = low + more + f64::from(seed) * 0.01;
                    cells.push(cell(
                        target,
                        seed.into(),
                        &[("utilization", u.into())],
                        score,
                    ));
                }
            }
        }
        let sweeps = swept(&cells);
        assert_eq!(sweeps.len(), 1);
        assert_eq!(
            sweeps[0].sentences(),
            [
                "Each value of utilization is lived by other lives: what differs between values is what utilization \
                 does, with more files at a higher one and as many operations, and how these lives were drawn, \
                 together. One life at each: `fsage compare --fill 60,80,95`, or \
                 targets of several sizes.",
                // Of 4 degrees of freedom: 2.776445 * sqrt(2 * 0.0001 / 3) is 0.0227.
                "ffs: layout score from 0.920 at utilization 60 to 0.720 at 95 (of other lives -0.200, 95 % interval \
                 -0.223 to -0.177): it ages more, from each value to the next (60 to 80 \
                 -0.100 (-0.123 to -0.077) and 80 to 95 -0.100 (-0.123 to -0.077)).",
                "lfs: layout score from 0.930 at utilization 60 to 0.730 at 95 (of other lives -0.200, 95 % interval \
                 -0.223 to -0.177): it ages more, from each value to the next (60 to 80 \
                 -0.100 (-0.123 to -0.077) and 80 to 95 -0.100 (-0.123 to -0.077))."
            ]
        );
        assert_eq!(sweeps[0].lives(), (3, 3));
        let at = &sweeps[0].metrics[0].curves[0].points[0];
        // Of 0.91, 0.92 and 0.93: Student's t of 2 degrees of freedom is 4.303, the deviation is 0.01.
        let (low, high) = at.over.mean_interval.expect("an interval");
        let half = 4.302_653 * 0.01 / 3_f64.sqrt();
        assert!((low - (0.92 - half)).abs() < 1e-5 && (high - (0.92 + half)).abs() < 1e-5);
    }

    /// By hand: differences -0.10, -0.11 and -0.12 have mean -0.11, and half is 4.302653 * 0.01 / sqrt(3) = 0.0248.
    #[test]
    fn what_is_varied_in_the_target_alone_keeps_the_lives() {
        let of = |values: fn(u32) -> f64, blocks: u64| {
            (1..=3).map(move |seed| {
                let score = values(seed);
                cell(
                    "ext4:stream_req={blocks}",
                    seed.into(),
                    &[("blocks", blocks.into())],
                    score,
                )
            })
        };
        let low = of(|seed| 0.8 + f64::from(seed) * 0.05, 16);
        let high = of(|seed| 0.8 + f64::from(seed) * 0.04 - 0.09, 64);
        let mut cells: Vec<_> = low.chain(high).collect();
        let layout = "ext4: layout score from 0.900 at blocks 16 to 0.790 at 64 (life by life -0.110, 95 % interval \
                      -0.135 to -0.085): it ages more.";
        assert_eq!(swept(&cells)[0].sentences(), [layout]);
        // Reads lose a tenth in all lives, overwrites a hundredth: the one that moves most is named.
        for (at, (_, verdict)) in cells.iter_mut().enumerate() {
            let is_high = if at < 3 { 0.0 } else { 1.0 };
            verdict.throughput = [
                ("read", 0.9 - is_high * 0.1),
                ("overwrite", 1.0 - is_high * 0.01),
            ]
            .map(|(phase, ratio)| PhaseRatio {
                suite: "hot-files".to_owned(),
                phase: phase.to_owned(),
                unit: "MB/s".to_owned(),
                better: Better::Higher,
                aged: ratio,
                control: 1.0,
                aged_by_control: ratio,
                interval: [ratio, ratio],
                says: Says::Slower,
            })
            .into();
        }
        let said = swept(&cells)[0].sentences().remove(0);
        let speed = " Of the speeds hot-files read, aged / control moves most, from 0.900 to 0.800 (life by life -0.1";
        assert!(said.starts_with(&format!("{layout}{speed}")), "{said}");
    }

    #[test]
    fn it_says_where_there_was_no_room_and_where_nothing_moves() {
        let mut cells = [50, 60, 90].map(|u: u64| cell("ffs", 1, &[("u", u.into())], 0.9));
        cells[2].1.operations = 50;
        cells[2].1.skipped = 1;
        assert_eq!(
            swept(&cells)[0].sentences()[1..],
            ["ffs: layout score 0.90 both at u 50 and at 90; operations were skipped at 90 (2 %)."]
        );
    }

    #[test]
    fn a_key_of_a_target_is_taken_out_of_its_name() {
        let mut cells = Vec::new();
        for policy in ["orig", "realloc"] {
            for (length, score) in [(7, 0.8), (14, 0.95), (28, 0.9)] {
                let values = [("policy", policy.into()), ("length", length.into())];
                cells.push(cell(
                    "ffs:policy={policy},maxcontig={length}",
                    1,
                    &values,
                    score,
                ));
            }
        }
        cells.push(cell("lfs", 1, &[], 0.9));
        let sweeps = swept(&cells);
        let names: Vec<&str> = sweeps
            .iter()
            .map(|sweep| sweep.parameter.as_str())
            .collect();
        assert_eq!(names, ["length"], "a word is no number");
        assert_eq!(
            sweeps[0].sentences()[1],
            "realloc: layout score from 0.80 at length 7 to 0.90 at 28; it is highest at 14, 0.95."
        );
    }

    #[test]
    fn sizes_are_numbers_and_seeds_are_lives() {
        let sizes =
            ["64M", "1G"].map(|size| cell("ffs:size={size}", 1, &[("size", size.into())], 0.9));
        let sweeps = swept(&sizes);
        assert!(sweeps[0].is_bytes);
        let points = &sweeps[0].metrics[0].curves[0].points;
        assert_eq!(
            points.iter().map(|at| at.x).collect::<Vec<_>>(),
            [67_108_864.0, 1_073_741_824.0]
        );
        assert_eq!(points[1].text, "1G");
        let seeds = [1, 2].map(|seed: u64| cell("ffs", seed, &[("s", seed.into())], 0.9));
        assert_eq!(swept(&seeds), []);
    }

    #[test]
    fn values_at_even_ratios_get_a_logarithmic_axis() {
        let axis = |values: &[f64]| {
            let cells = values
                .iter()
                .map(|&x| cell("ffs:n={n}", 1, &[("n", x.into())], 0.9));
            swept(&cells.collect::<Vec<_>>())[0].axis()
        };
        let even = axis(&[4.0, 16.0, 64.0, 256.0]);
        assert_eq!(
            (even.scale, even.ticks),
            (Scale::Log, vec![4.0, 16.0, 64.0, 256.0])
        );
        assert_eq!(axis(&[1.0, 2.0, 5.0, 10.0]).scale, Scale::Log);
        assert_eq!(axis(&[60.0, 75.0, 90.0]).scale, Scale::Linear);
        assert_eq!(
            axis(&[0.0, 1.0, 10.0, 100.0]).scale,
            Scale::Linear,
            "no logarithm of 0"
        );
        assert_eq!(
            axis(&[16.0, 64.0]).scale,
            Scale::Linear,
            "two values are no progression"
        );
    }

    #[test]
    fn what_has_one_value_for_each_curve_is_no_curve() {
        // Drawn together: where one value is another, so is the other.
        let drawn = [(50, 7), (60, 9)]
            .map(|(u, n)| cell("ffs", 1, &[("u", u.into()), ("n", n.into())], 0.9));
        assert!(swept(&drawn).iter().all(|sweep| sweep.metrics.is_empty()));
    }

    #[test]
    fn of_many_combinations_curves_are_means() {
        let mut cells = Vec::new();
        for u in [50, 60] {
            for n in 0..13 {
                let values = [("u", u.into()), ("n", n.into())];
                cells.push(cell("ffs", 1, &values, 0.9 - f64::from(n) / 100.0));
            }
        }
        let sweeps = swept(&cells);
        let over_u = sweeps
            .iter()
            .find(|sweep| sweep.parameter == "u")
            .expect("u");
        assert_eq!(
            (over_u.pooled.clone(), over_u.left_out),
            (vec!["n".to_owned()], 0)
        );
        assert_eq!(over_u.metrics[0].curves[0].points[0].over.count, 13);
    }
}
