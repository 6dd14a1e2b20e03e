//! The tables of an experiment: what its cells say, with a column for all that tells them apart.
//!
//! | file | a row is |
//! |---|---|
//! | `results.parquet` | a metric at the end of a cell, or a ratio of a benchmark |
//! | `days.parquet` | a day of a cell, with every metric in a column |
//! | `bench.parquet` | a measurement of a cell |
//! | `means.parquet` | a metric of a workload on a target over its seeds and repetitions, and beside its base |
//!
//! They are made from cells that are complete, in the order of the manifest, so that whoever ran the cells, on however
//! many machines, gets the same bytes.

use super::cells::run_folder;
use super::manifest::{Cell, Manifest, State};
use crate::after;
use crate::bases;
use crate::benching::{self, flash, results};
use crate::days::{self, DayRow};
use crate::error::Context;
use crate::interrupt;
use crate::life::{self, Life};
use crate::run_folder::Manifest as Run;
use fsage_bench::Summary;
use fsage_data::table::{Column, ColumnKind, TableWriter, Value};
use fsage_metrics::{METRICS, Unit, layout_score, pieces};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The tables by name: each is `NAME.parquet` in the folder of the experiment.
pub const TABLES: [&str; 4] = ["results", "days", "bench", "means"];

/// Where a table of an experiment is.
pub fn path(experiment: &Path, table: &str) -> PathBuf {
    experiment.join(format!("{table}.parquet"))
}

/// Columns of a cell that no parameter may have the name of.
const OWN: [&str; 6] = ["cell", "workload", "target", "seed", "repetition", "day"];

/// A parameter of an experiment as a column.
struct Parameter {
    /// Its name in the experiment.
    name: String,
    column: Column,
}

impl Parameter {
    /// Those of all cells, by name; the kind of a column is one that holds all values.
    fn all(cells: &[Cell]) -> Vec<Parameter> {
        let mut kinds: BTreeMap<&str, ColumnKind> = BTreeMap::new();
        for (name, value) in cells.iter().flat_map(|cell| &cell.parameters) {
            let kind = kind_of(value);
            kinds
                .entry(name)
                .and_modify(|known| *known = wider(*known, kind))
                .or_insert(kind);
        }
        let taken = |name: &str| {
            let metric = ["metric", "value", "unit"].contains(&name)
                || days::is_column(name)
                || results::is_column(name)
                || columns_of_mean().iter().any(|column| column.name == name)
                || name == "measured";
            OWN.contains(&name) || metric
        };
        let parameters = kinds.into_iter().map(|(name, kind)| Parameter {
            name: name.to_owned(),
            column: Column::new(
                if taken(name) {
                    format!("parameter_{name}")
                } else {
                    name.to_owned()
                },
                kind,
            ),
        });
        parameters.collect()
    }

    fn value(&self, cell: &Cell) -> Value {
        let Some(value) = cell.parameters.get(&self.name) else {
            return Value::Null;
        };
        match self.column.kind {
            ColumnKind::U64 => value.as_u64().into(),
            ColumnKind::F64 => value.as_f64().into(),
            _ => match value {
                serde_json::Value::String(text) => text.as_str().into(),
                other => other.to_string().into(),
            },
        }
    }
}

fn kind_of(value: &serde_json::Value) -> ColumnKind {
    match value {
        serde_json::Value::Number(number) if number.is_u64() => ColumnKind::U64,
        serde_json::Value::Number(_) => ColumnKind::F64,
        _ => ColumnKind::Text,
    }
}

fn wider(a: ColumnKind, b: ColumnKind) -> ColumnKind {
    match (a, b) {
        (a, b) if a == b => a,
        (ColumnKind::Text, _) | (_, ColumnKind::Text) => ColumnKind::Text,
        _ => ColumnKind::F64,
    }
}

/// What tells cells apart, as columns in front of those of a table.
struct Keys {
    parameters: Vec<Parameter>,
}

impl Keys {
    /// Of cells that differ in their life alone, and of each in front of and behind these.
    fn columns_of_group(&self) -> Vec<Column> {
        let parameters = self
            .parameters
            .iter()
            .map(|parameter| parameter.column.clone());
        let text = |name| Column::new(name, ColumnKind::Text);
        [text("workload")]
            .into_iter()
            .chain(parameters)
            .chain([text("target")])
            .collect()
    }

    fn of_group(&self, cell: &Cell) -> Vec<Value> {
        let parameters = self
            .parameters
            .iter()
            .map(|parameter| parameter.value(cell));
        let (workload, target) = (cell.workload.as_str().into(), cell.target.as_str().into());
        [workload]
            .into_iter()
            .chain(parameters)
            .chain([target])
            .collect()
    }

    fn columns(&self, others: impl IntoIterator<Item = Column>) -> Vec<Column> {
        let number = |name| Column::new(name, ColumnKind::U64);
        let mut columns = vec![Column::new("cell", ColumnKind::Text)];
        columns.extend(self.columns_of_group());
        columns.extend([number("seed"), number("repetition")]);
        columns.extend(others);
        columns
    }

    fn of_cell(&self, cell: &Cell) -> Vec<Value> {
        let mut values = vec![cell.id.as_str().into()];
        values.extend(self.of_group(cell));
        values.extend([cell.seed.into(), u64::from(cell.repetition).into()]);
        values
    }
}

/// A value that a cell ends with.
#[derive(Clone, Debug, PartialEq)]
struct Ended {
    metric: String,
    value: f64,
    unit: String,
}

/// Writes all tables of an experiment, from its cells that are complete.
///
/// # Errors
/// Results of a cell cannot be read; a table cannot be written; an interrupt.
pub fn write(experiment: &Path, manifest: &Manifest) -> crate::Result<()> {
    let keys = Keys {
        parameters: Parameter::all(&manifest.cells),
    };
    let table = |name: &str, columns: Vec<Column>| {
        let table = TableWriter::create(
            path(experiment, name),
            &format!("experiment_{name}"),
            columns,
            &[],
            true,
        );
        table.with_context(|| format!("{}: cannot write its tables", experiment.display()))
    };
    let column = Column::new;
    let metric = || {
        [
            column("metric", ColumnKind::Text),
            column("value", ColumnKind::F64),
            column("unit", ColumnKind::Text),
        ]
    };
    let mut results_table = table(
        "results",
        keys.columns([column("day", ColumnKind::U64)].into_iter().chain(metric())),
    )?;
    let mut days_table = table("days", keys.columns(DayRow::columns()))?;
    let bench_columns = results::columns()
        .into_iter()
        .filter(|column| column.name != "target" && column.name != "repetition");
    let run = column("measured", ColumnKind::U64);
    let mut bench_table = table(
        "bench",
        keys.columns([run].into_iter().chain(bench_columns)),
    )?;
    let mut means = Means::default();
    for cell in manifest
        .cells
        .iter()
        .filter(|cell| cell.state == State::Complete)
    {
        interrupt::go_on()?;
        let own = keys.of_cell(cell);
        let with = |others: Vec<Value>| [own.clone(), others].concat();
        let run = run_folder(experiment, &cell.id);
        let of_run = Run::read(&run)?;
        let life = Life::of(Some(&of_run.workload), &run);
        for target in &of_run.targets {
            let folder = run.join(&target.folder);
            let rows = days::read(&folder.join("days.parquet"))?;
            for row in &rows {
                days_table.push_row(&with(row.values()))?;
            }
            for suite in &manifest.suites {
                for row in results::read(&folder, suite)? {
                    let (repetition, values) = row.without_target();
                    bench_table.push_row(&with([vec![repetition], values].concat()))?;
                }
            }
            let day = rows.last().map(|row| row.day);
            for ended in ended(&rows, &folder, &manifest.suites)? {
                let last = [
                    day.into(),
                    ended.metric.as_str().into(),
                    ended.value.into(),
                    ended.unit.as_str().into(),
                ];
                results_table.push_row(&with(last.to_vec()))?;
                means.add(cell, &life, &keys, ended);
            }
        }
    }
    results_table.finish()?;
    days_table.finish()?;
    bench_table.finish()?;
    let columns = [keys.columns_of_group(), columns_of_mean()].concat();
    let mut means_table = table("means", columns)?;
    means.write(&mut |row| Ok(means_table.push_row(&row)?))?;
    Ok(means_table.finish()?)
}

/// All that a cell ends with: metrics of its last day, aged, of the control and as ratios; then its benchmarks, and
/// what treatments made of it.
fn ended(rows: &[DayRow], folder: &Path, suites: &[String]) -> crate::Result<Vec<Ended>> {
    let mut all = Vec::new();
    let mut push = |metric: String, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            let unit = unit.to_owned();
            all.push(Ended {
                metric,
                value,
                unit,
            });
        }
    };
    if let Some(last) = rows.last() {
        for metric in METRICS {
            push(metric.id.to_owned(), last.value(metric), metric.unit.name());
            push(
                format!("control_{}", metric.id),
                last.of_control(metric),
                metric.unit.name(),
            );
            if let Some(ratio) = metric.ratio {
                push(ratio.to_owned(), last.ratio(metric), "ratio");
            }
        }
        push(
            "operations".to_owned(),
            Some(rows.iter().map(|row| row.operations as f64).sum()),
            "operations",
        );
        push(
            "skipped".to_owned(),
            Some(rows.iter().map(|row| row.skipped as f64).sum()),
            "operations",
        );
    }
    for ratio in benching::ratios(folder, suites)? {
        let name = |state: &str| format!("{}.{}.{state}", ratio.suite, ratio.phase);
        push(name("aged"), Some(ratio.aged), &ratio.unit);
        push(name("control"), Some(ratio.control), &ratio.unit);
        push(
            name("aged_by_control"),
            Some(ratio.aged_by_control),
            "ratio",
        );
    }
    // Where benchmarks began; other days have no end of their own.
    for row in flash::read(folder)?.iter().filter(|row| row.day.is_none()) {
        for value in &flash::VALUES {
            let name = format!("{}.{}.{}", flash::FLASH, value.id, row.state.as_str());
            push(name, Some((value.of)(&row.facts)), "ratio");
        }
    }
    for stage in after::read(folder)?.iter().flat_map(|found| &found.stages) {
        if stage.is_as_aged() {
            continue;
        }
        let name = |what: &str| format!("after.{}.{what}", stage.id());
        push(
            name("layout_score"),
            stage.layout_score,
            layout_score::SCORE.unit.name(),
        );
        push(
            name("pieces_per_file"),
            stage.pieces_per_file,
            pieces::PER_FILE.unit.name(),
        );
        push(
            name("free_in_1m_runs_bytes"),
            stage.free_in_1m_runs_bytes,
            "bytes",
        );
        if let Some(cost) = &stage.cost {
            push(
                name("cost_read_bytes"),
                Some(cost.read_bytes as f64),
                "bytes",
            );
            push(
                name("cost_written_bytes"),
                Some(cost.written_bytes as f64),
                "bytes",
            );
            push(name("cost_seconds"), cost.seconds, "s");
        }
        for speed in &stage.speeds {
            let of = format!("{}.{}", speed.suite, speed.phase);
            push(name(&of), Some(speed.speed), &speed.unit);
            let ratio = |beside: Option<after::Beside>| beside.map(|beside| beside.ratio);
            push(
                name(&format!("{of}.by_before")),
                ratio(speed.by_before),
                "ratio",
            );
            push(
                name(&format!("{of}.by_untreated")),
                ratio(speed.by_untreated),
                "ratio",
            );
        }
    }
    Ok(all)
}

fn columns_of_mean() -> Vec<Column> {
    let text = |name| Column::new(name, ColumnKind::Text);
    let number = |name| Column::new(name, ColumnKind::F64);
    vec![
        text("metric"),
        text("unit"),
        Column::new("cells", ColumnKind::U64),
        Column::new("lives", ColumnKind::U64),
        number("mean"),
        number("low"),
        number("high"),
        text("base"),
        number("difference"),
        number("difference_low"),
        number("difference_high"),
        number("ratio"),
        number("ratio_low"),
        number("ratio_high"),
    ]
}

/// Values of one metric of a workload on a target.
struct Group {
    /// Values of the keys, of the first cell.
    keys: Vec<Value>,
    target: String,
    metric: String,
    unit: String,
    lives: Vec<(Life, f64)>,
}

/// Values of all cells, grouped over their lives.
#[derive(Default)]
struct Means {
    groups: Vec<Group>,
    places: HashMap<(String, String, String), usize>,
    /// By workload, what is varied beside it and the target, and metric the groups of the targets that have it.
    of_metric: BTreeMap<(String, String), Vec<usize>>,
}

impl Means {
    fn add(&mut self, cell: &Cell, life: &Life, keys: &Keys, ended: Ended) {
        // Cells that differ in anything but their life are of other groups.
        let of = format!("{:?}", (&cell.target, &cell.parameters));
        let key = (cell.workload.clone(), of, ended.metric.clone());
        let groups = &mut self.groups;
        let place = *self.places.entry(key).or_insert_with(|| {
            groups.push(Group {
                keys: keys.of_group(cell),
                target: cell.target.clone(),
                metric: ended.metric.clone(),
                unit: ended.unit,
                lives: Vec::new(),
            });
            groups.len() - 1
        });
        let of_metric = self.of_metric.entry((cell.life(), ended.metric));
        let of_metric = of_metric.or_default();
        if !of_metric.contains(&place) {
            of_metric.push(place);
        }
        self.groups[place].lives.push((life.clone(), ended.value));
    }

    /// The group of each group's base.
    fn bases(&self) -> Vec<Option<usize>> {
        let mut base_of = vec![None; self.groups.len()];
        // Most metrics are known of all targets.
        let mut known: HashMap<Vec<&str>, Vec<Option<usize>>> = HashMap::new();
        for places in self.of_metric.values() {
            let targets = places.iter().map(|&place| &*self.groups[place].target);
            let targets: Vec<&str> = targets.collect();
            let bases = known.entry(targets);
            let bases = bases.or_insert_with_key(|targets| bases::of(targets));
            for (&place, base) in places.iter().zip(bases) {
                base_of[place] = base.map(|base| places[base]);
            }
        }
        base_of
    }

    fn write(&self, push: &mut dyn FnMut(Vec<Value>) -> crate::Result<()>) -> crate::Result<()> {
        for (group, base) in self.groups.iter().zip(self.bases()) {
            let lives = life::by_life(group.lives.iter().cloned());
            let base = base.map(|base| &self.groups[base]);
            let pairs = base.map_or_else(Vec::new, |base| {
                life::pairs(group.lives.iter().cloned(), base.lives.iter().cloned())
            });
            let differences: Vec<f64> = pairs.iter().map(|(of, than)| of - than).collect();
            let mut row = group.keys.clone();
            row.extend([
                group.metric.as_str().into(),
                group.unit.as_str().into(),
                (group.lives.len() as u64).into(),
                (lives.len() as u64).into(),
            ]);
            let values = life::independent(group.lives.iter().cloned());
            row.extend(mean(&values, domain(&group.unit)));
            row.push(base.map(|base| base.target.as_str()).into());
            row.extend(mean(&differences, ANYWHERE));
            row.extend(mean(&ratios(&pairs), POSITIVE));
            push(row)?;
        }
        Ok(())
    }
}

/// What a target has as a multiple of another, of every pair; nothing where the other one has none in some life.
pub(super) fn ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    if pairs.iter().any(|(_, than)| *than <= 0.0) {
        return Vec::new();
    }
    pairs.iter().map(|(of, than)| of / than).collect()
}

/// Where differences lie.
const ANYWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Where ratios lie, and what is counted.
const POSITIVE: (f64, f64) = (0.0, f64::INFINITY);

/// Where values in a unit lie: none is negative, and shares and scores end at 1.
fn domain(unit: &str) -> (f64, f64) {
    let up_to_1 = [Unit::Share, Unit::Score, Unit::Flag];
    if up_to_1.iter().any(|of| of.name() == unit) {
        (0.0, 1.0)
    } else {
        POSITIVE
    }
}

/// The mean of values, and where that of more of them lies with a confidence of 0.95 (Student's t), as far as such
/// values go.
fn mean(values: &[f64], (least, most): (f64, f64)) -> [Value; 3] {
    let Some(summary) = Summary::of(values) else {
        return [Value::Null, Value::Null, Value::Null];
    };
    let interval = summary.mean_interval();
    [
        summary.mean.into(),
        interval.map(|interval| interval.low.max(least)).into(),
        interval.map(|interval| interval.high.min(most)).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(workload: &str, seed: u64, target: &str, u: u64) -> Cell {
        Cell {
            id: format!("{workload}-s{seed}-{target}-{u}"),
            workload: workload.to_owned(),
            seed: Some(seed),
            repetition: 1,
            target: target.to_owned(),
            parameters: BTreeMap::from([("u".to_owned(), u.into())]),
            beside: BTreeMap::new(),
            run: String::new(),
            state: State::Complete,
            error: None,
            again: None,
            left_out: Vec::new(),
            pattern: None,
        }
    }

    fn value(of: f64) -> Ended {
        let (metric, unit) = ("beyond_end_bytes".to_owned(), "bytes".to_owned());
        Ended {
            metric,
            value: of,
            unit,
        }
    }

    fn rows_of(means: &Means) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        let mut push = |row| {
            rows.push(row);
            Ok(())
        };
        means.write(&mut push).expect("rows");
        rows
    }

    /// Seeds differ by 10, targets by 1 and 3 in the same life: paired, the seeds say nothing of the difference.
    #[test]
    fn targets_are_compared_in_the_lives_that_both_lived() {
        let keys = Keys {
            parameters: Vec::new(),
        };
        let mut means = Means::default();
        for (seed, ffs, lfs) in [(1, 10.0, 11.0), (2, 20.0, 23.0), (3, 30.0, 32.0)] {
            for (target, number) in [("ffs", ffs), ("lfs", lfs)] {
                means.add(
                    &cell("w", seed, target, 50),
                    &Life::named(&seed),
                    &keys,
                    value(number),
                );
            }
        }
        means.add(
            &cell("w", 4, "lfs", 50),
            &Life::named(&4),
            &keys,
            value(1000.0),
        );
        let rows = rows_of(&means);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][6], Value::F64(20.0));
        assert_eq!(
            rows[0][9],
            Value::Null,
            "the first target is compared with none"
        );
        assert_eq!(
            rows[1][4..6],
            [Value::U64(4), Value::U64(4)],
            "all lives are in the mean"
        );
        assert_eq!(rows[1][9], Value::Text("ffs".to_owned()));
        assert_eq!(rows[1][10], Value::F64(2.0), "1, 3 and 2");
        let (Value::F64(low), Value::F64(high)) = (&rows[1][11], &rows[1][12]) else {
            panic!("no interval: {:?}", rows[1]);
        };
        // Student's t of 2 degrees of freedom is 4.303; the deviation is 1.
        let half = 4.302_653 / 3_f64.sqrt();
        assert!(
            (low - (2.0 - half)).abs() < 1e-3 && (high - (2.0 + half)).abs() < 1e-3,
            "{low} {high}"
        );
    }

    /// By hand: 2, 1 and 3 times the first have the mean 2 and the deviation 1. Beside a first target that has nothing
    /// in some life there is no ratio.
    #[test]
    fn targets_stand_beside_the_first_as_ratios_too() {
        let keys = Keys {
            parameters: Vec::new(),
        };
        let ratio_of = |lives: [(f64, f64); 3]| {
            let mut means = Means::default();
            for (seed, (ffs, lfs)) in (1..).zip(lives) {
                for (target, number) in [("ffs", ffs), ("lfs", lfs)] {
                    let of = cell("w", seed, target, 50);
                    means.add(&of, &Life::named(&seed), &keys, value(number));
                }
            }
            let rows = rows_of(&means);
            assert_eq!(rows[0][13..16], [Value::Null, Value::Null, Value::Null]);
            rows[1][13..16].to_vec()
        };
        let columns = columns_of_mean();
        let named = columns[11..].iter().map(|column| column.name.as_str());
        assert!(named.eq(["ratio", "ratio_low", "ratio_high"]));
        let known = ratio_of([(10.0, 20.0), (40.0, 40.0), (5.0, 15.0)]);
        // Student's t of 2 degrees of freedom is 4.303: the interval would begin at -0.48, where no ratio is.
        assert_eq!(known[..2], [Value::F64(2.0), Value::F64(0.0)]);
        let half = 4.302_653 / 3_f64.sqrt();
        assert!(
            matches!(known[2], Value::F64(high) if (high - 2.0 - half).abs() < 1e-3),
            "{known:?}"
        );
        let open = ratio_of([(10.0, 20.0), (0.0, 40.0), (5.0, 15.0)]);
        assert_eq!(open, [Value::Null, Value::Null, Value::Null]);
    }

    /// By hand: lives with the means 10, 20 and 30, the first of which was repeated four times, and differs by 1; the
    /// others by 3 and 2.
    #[test]
    fn a_life_counts_once_however_often_it_was_repeated() {
        let keys = Keys {
            parameters: Vec::new(),
        };
        let mut means = Means::default();
        let first = [8.0, 9.0, 11.0, 12.0].map(|number| (1, number));
        for (seed, number) in first.into_iter().chain([(2, 20.0), (3, 30.0)]) {
            let of = cell("w", seed, "ext4", 50);
            means.add(&of, &Life::named(&seed), &keys, value(number));
        }
        for (seed, number) in [(1, 11.0), (2, 23.0), (3, 32.0)] {
            let of = cell("w", seed, "xfs", 50);
            means.add(&of, &Life::named(&seed), &keys, value(number));
        }
        let rows = rows_of(&means);
        assert_eq!(rows[0][4..7], [6_u64.into(), 3_u64.into(), 20.0.into()]);
        assert_eq!(rows[1][10], Value::F64(2.0));
        let (Value::F64(low), Value::F64(high)) = (&rows[0][7], &rows[0][8]) else {
            panic!("no interval: {:?}", rows[0]);
        };
        // Student's t of 2 degrees of freedom is 4.303; the deviation is 10: the interval would begin at -4.8, where no
        // bytes are.
        let half = 4.302_653 * 10.0 / 3_f64.sqrt();
        assert!(
            *low == 0.0 && (high - 20.0 - half).abs() < 1e-2,
            "{low} {high}"
        );
    }

    /// Each target twice, on a slow device and on a fast one: what is compared is of one device.
    #[test]
    fn targets_are_compared_where_all_else_is_the_same() {
        let keys = Keys {
            parameters: Vec::new(),
        };
        let mut means = Means::default();
        for (target, device, number) in [
            ("ffs", "slow", 10.0),
            ("ffs", "fast", 100.0),
            ("lfs", "slow", 11.0),
            ("lfs", "fast", 102.0),
        ] {
            let beside = BTreeMap::from([("device".to_owned(), device.into())]);
            let cell = Cell {
                parameters: beside.clone(),
                beside,
                ..cell("w", 1, target, 50)
            };
            assert_eq!(cell.life(), format!("w (device={device})"));
            means.add(&cell, &Life::named(&1), &keys, value(number));
        }
        let rows = rows_of(&means);
        let differences: Vec<&Value> = rows.iter().map(|row| &row[10]).collect();
        let (one, two) = (Value::F64(1.0), Value::F64(2.0));
        assert_eq!(differences, [&Value::Null, &Value::Null, &one, &two]);
    }

    #[test]
    fn parameters_are_columns_of_a_kind_that_holds_all_values() {
        let with = |name: &str, values: &[serde_json::Value]| {
            let cells = values.iter().map(|value| Cell {
                parameters: BTreeMap::from([(name.to_owned(), value.clone())]),
                ..cell("w", 1, "ffs", 1)
            });
            let mut all = Parameter::all(&cells.collect::<Vec<Cell>>());
            let only = all.remove(0).column;
            (only.name, only.kind)
        };
        assert_eq!(
            with("u", &[50.into(), 60.into()]),
            ("u".to_owned(), ColumnKind::U64)
        );
        assert_eq!(
            with("u", &[50.into(), 0.5.into()]),
            ("u".to_owned(), ColumnKind::F64)
        );
        assert_eq!(
            with("u", &[50.into(), "x".into()]),
            ("u".to_owned(), ColumnKind::Text)
        );
        assert_eq!(with("target", &["x".into()]).0, "parameter_target");
        for name in ["mean", "low", "cells", "base", "ratio", "measured"] {
            assert_eq!(with(name, &[1.into()]).0, format!("parameter_{name}"));
        }
        assert_eq!(
            with("layout_score", &[1.into()]).0,
            "parameter_layout_score"
        );
    }
}
