//! A function each for what the laboratory does.

use crate::operations::{Lines, Many, Raised};
use crate::work::{raised, run};
use fsage_core::WorkloadHeader;
use fsage_data::OpsReader;
use fsage_data::columnar::BatchWorkload;
use fsage_data::schema::header_from_metadata;
use fsage_lab::after::{self, Treatment};
use fsage_lab::aging::{self, Start};
use fsage_lab::benching::{self, Exec, Existing, Wanted, What};
use fsage_lab::check::{Matching, Outcome, Rules};
use fsage_lab::compare::{Workload, said};
use fsage_lab::days::DayRow;
use fsage_lab::error::{Context as _, types_in_words};
use fsage_lab::forecast::{
    Limit, Request as ForecastRequest, forecast as forecasting, past_source,
};
use fsage_lab::generate::{
    Generated, Output, Source, described as described_sources, from_events, generate as made_of,
};
use fsage_lab::run_folder::Manifest;
use fsage_lab::verify;
use fsage_lab::{
    AgeRequest, CompareRequest, TargetSpec, Watch, described, measure as measuring, report as page,
};
use fsage_papers::Papers;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::input::AnyRecordBatch;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// A result as JSON.
pub fn to_json(value: &impl Serialize) -> fsage_lab::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Options as their struct; `of` says in messages what they are options of.
pub fn options<T: DeserializeOwned>(of: &str, json: &str) -> fsage_lab::Result<T> {
    serde_json::from_str(json).map_err(|error| {
        let name = serde_json::from_str(json)
            .ok()
            .and_then(|given| culprit::<T>(&given));
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        fsage_lab::Error::new(format!("{of}: {name}{}", in_words(&error)))
    })
}

/// The option that is wrong: the one without which there is no error, or another one. All may stand in one table.
fn culprit<T: DeserializeOwned>(given: &Value) -> Option<String> {
    let error = |value: &Value| T::deserialize(value).err().map(|error| error.to_string());
    let found = error(given)?;
    // One that is unknown is named by the error itself.
    if found.starts_with("unknown field") {
        return None;
    }
    let only = given.as_object().filter(|object| object.len() == 1);
    let table = only.and_then(|object| object.iter().find(|(_, value)| value.is_object()));
    let pointer = table.map_or_else(String::new, |(name, _)| format!("/{name}"));
    let options = given.pointer(&pointer)?.as_object()?;
    let is_wrong = |name: &&String| {
        let mut without = given.clone();
        if let Some(object) = without.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            object.remove(*name);
        }
        error(&without).is_none_or(|other| other != found)
    };
    options.keys().find(is_wrong).cloned()
}

/// What is wrong with a value, without where in the JSON it stands, which means nothing to whoever wrote Python, and
/// without Rust's names of numbers.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    types_in_words(text, "True or False")
}

fn specs(on: &[String]) -> fsage_lab::Result<Vec<TargetSpec>> {
    on.iter().map(|text| Ok(TargetSpec::parse(text)?)).collect()
}

/// How a run begins.
fn start(threads: Option<usize>, force: bool, resume: bool) -> Start {
    Start {
        threads,
        force,
        resume,
    }
}

fn written(output: PathBuf, force: bool) -> Output {
    let json = false;
    Output {
        path: output,
        force,
        json,
    }
}

/// Every source of workloads with its options, as JSON.
#[pyfunction]
pub fn sources() -> String {
    json!(described_sources()).to_string()
}

/// All that a workload can be replayed on, as JSON.
#[pyfunction]
pub fn targets() -> String {
    json!(described::targets()).to_string()
}

/// All metrics, as JSON.
#[pyfunction]
pub fn metrics() -> String {
    json!(described::metrics()).to_string()
}

/// Makes a workload; gives what it consists of.
#[pyfunction]
#[pyo3(signature = (source, output, force, listener=None))]
pub fn generate(
    py: Python<'_>,
    source: String,
    output: PathBuf,
    force: bool,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    run(py, listener, move |ui| {
        let source: Source = options("generate", &source)?;
        let made = made_of(&source, &written(output.clone(), force), ui)?;
        to_json(&made.to_json(&output))
    })
}

/// Makes a workload of a table; gives what it consists of.
#[pyfunction]
#[pyo3(signature = (table, output, force, header, listener=None))]
pub fn workload_of_table(
    py: Python<'_>,
    table: PyRecordBatchReader,
    output: PathBuf,
    force: bool,
    header: Option<Vec<(String, String)>>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let batches = table.into_reader()?;
    run(py, listener, move |ui| {
        let mut source = BatchWorkload::new(batches, WorkloadHeader::default(), "table")?;
        made(&mut source, header, output, force, ui)
    })
}

/// Makes a workload of tables or batches, which an iterator gives behind a first one; gives what it consists of.
#[pyfunction]
#[pyo3(signature = (first, items, output, force, header, listener=None))]
pub fn workload_of_batches(
    py: Python<'_>,
    first: AnyRecordBatch,
    items: Bound<'_, PyIterator>,
    output: PathBuf,
    force: bool,
    header: Option<Vec<(String, String)>>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let raised = Raised::default();
    let batches = Many::new(first, items.unbind(), Arc::clone(&raised))?;
    let done = run(py, listener, move |ui| {
        let mut source = BatchWorkload::new(batches, WorkloadHeader::default(), "batches")?;
        made(&mut source, header, output, force, ui)
    });
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    match raised {
        Some(raised) if done.is_err() => Err(raised),
        _ => done,
    }
}

/// Makes a workload of operations, one item each; gives what it consists of.
#[pyfunction]
#[pyo3(signature = (operations, output, force, header, listener=None))]
pub fn workload_of_operations(
    py: Python<'_>,
    operations: Bound<'_, PyIterator>,
    output: PathBuf,
    force: bool,
    header: Option<Vec<(String, String)>>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let mut lines = Lines::new(operations.unbind());
    let said = &mut lines;
    let done = run(py, listener, move |ui| {
        let mut reader = OpsReader::new(said, "operations")?;
        made(&mut reader, header, output, force, ui)
    });
    // What the generator raised says more than that it failed.
    match lines.raised {
        Some(raised) if done.is_err() => Err(raised),
        _ => done,
    }
}

fn made(
    source: &mut dyn fsage_core::EventSource,
    header: Option<Vec<(String, String)>>,
    output: PathBuf,
    force: bool,
    ui: &dyn Watch,
) -> fsage_lab::Result<String> {
    let path = output.clone();
    let header = header.map(|pairs| header_from_metadata(&pairs)).transpose();
    let header = header.map_err(|(key, value)| {
        fsage_lab::Error::new(format!("header: {key} is {value:?}, not a number"))
    })?;
    let made: Generated = from_events(source, header, &written(output, force), ui)?;
    to_json(&made.to_json(&path))
}

/// Ages targets, and leaves a run.
#[pyfunction]
#[pyo3(signature = (workload, on, output, options_json, threads, force, resume, listener=None))]
#[allow(clippy::too_many_arguments)]
pub fn age(
    py: Python<'_>,
    workload: PathBuf,
    on: Vec<String>,
    output: PathBuf,
    options_json: String,
    threads: Option<usize>,
    force: bool,
    resume: bool,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    run(py, listener, move |ui| {
        let targets = aging::sized(&workload, &specs(&on)?, ui)?;
        let request = AgeRequest {
            options: options("age", &options_json)?,
            start: start(threads, force, resume),
            ..AgeRequest::new(&workload, &targets, &output)
        };
        aging::age(&request, ui).map(drop)
    })
}

/// What is known of a run, as JSON.
#[pyfunction]
pub fn run_facts(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let facts = Manifest::read(&path).and_then(|manifest| to_json(&manifest));
    facts.map_err(|error| raised(py, &error))
}

/// Measures a snapshot, a directory or an image, as JSON.
#[pyfunction]
#[pyo3(signature = (path, snap_id, listener=None))]
pub fn measure(
    py: Python<'_>,
    path: PathBuf,
    snap_id: Option<u32>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    run(py, listener, move |ui| {
        let row = if !path.is_dir() && fsage_data::is_parquet(&path)? {
            DayRow::of_layout(&fsage_metrics::measure(&measuring::snapshot(
                &path, snap_id,
            )?))
        } else {
            DayRow::of_layout(&fsage_metrics::measure(&measuring::path(&path, ui)?))
        };
        to_json(&row)
    })
}

/// Benchmarks targets of a run, or with `output` new ones; gives medians and ratios as JSON.
#[pyfunction]
#[pyo3(signature = (run_path, on, output, options_json, seed, workload, threads, force, command, listener=None))]
#[allow(clippy::too_many_arguments)]
pub fn bench(
    py: Python<'_>,
    run_path: Option<PathBuf>,
    on: Vec<String>,
    output: Option<PathBuf>,
    options_json: String,
    seed: u64,
    workload: Option<PathBuf>,
    threads: Option<usize>,
    force: bool,
    command: Option<(String, Vec<String>, Option<String>)>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    run(py, listener, move |ui| {
        let bench: benching::Options = options("bench", &options_json)?;
        // A command needs no suite beside it.
        let checked = benching::Options {
            suites: match &command {
                Some(_) if bench.suites.is_empty() => benching::Options::default().suites,
                _ => bench.suites.clone(),
            },
            ..bench.clone()
        };
        checked.check().context("bench")?;
        let targets = specs(&on)?;
        let what = match (&run_path, &output) {
            (Some(run), _) => What::Run(run),
            (None, Some(output)) => What::Empty(output),
            (None, None) => {
                return Err(fsage_lab::Error::new(
                    "a run, or targets and an output, are needed",
                ));
            }
        };
        let all = what.targets(&targets)?;
        let exec = match command {
            None => Exec::default(),
            Some((line, values, name)) => {
                let values = values.iter().map(|value| value.parse());
                let values = values.collect::<Result<Vec<Wanted>, String>>();
                Exec {
                    line: Some(line),
                    values: values.map_err(|why| fsage_lab::Error::new(format!("exec: {why}")))?,
                    name,
                }
            }
        };
        let mut plan = exec.plan(&bench, &all)?;
        plan.seed = seed;
        plan.workload = workload;
        plan.threads = threads.unwrap_or(plan.threads);
        if force {
            plan.existing = Existing::Replaced;
        }
        let request = benching::Request {
            what,
            targets: &targets,
            plan: &plan,
        };
        let (reports, measured) = fsage_lab::bench(&request, ui)?;
        if measured.folders.is_empty() {
            let why = measured.left_out.join("; ");
            return Err(fsage_lab::Error::new(format!(
                "nothing was measured: {why}"
            )));
        }
        let suites = reports.into_iter().map(|report| {
            let suite = report.suite().to_owned();
            let mut target = serde_json::to_value(report.into_json())?;
            target["suite"] = suite.into();
            Ok(target)
        });
        to_json(&suites.collect::<fsage_lab::Result<Vec<Value>>>()?)
    })
}

/// Ages, benchmarks and reports in one.
#[pyfunction]
#[pyo3(signature = (
    workload, on, output, age_json, bench_json, fill, treatments, again, seed, threads, force, resume, listener=None
))]
#[allow(clippy::too_many_arguments)]
pub fn compare(
    py: Python<'_>,
    workload: PathBuf,
    on: Vec<String>,
    output: PathBuf,
    age_json: String,
    bench_json: Option<String>,
    fill: Vec<u8>,
    treatments: Vec<String>,
    again: bool,
    seed: u64,
    threads: Option<usize>,
    force: bool,
    resume: bool,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    run(py, listener, move |ui| {
        let targets = specs(&on)?;
        let bench: Option<benching::Options> =
            bench_json.map(|json| options("bench", &json)).transpose()?;
        if let Some(share) = fill.iter().find(|share| !(1..=99).contains(*share)) {
            return Err(fsage_lab::Error::new(format!(
                "fill: {share}: expected 1 to 99, in percent"
            )));
        }
        let treatments = treatments.iter().map(|text| text.parse());
        let treated = after::Options {
            after: treatments
                .collect::<Result<Vec<Treatment>, String>>()
                .map_err(|why| fsage_lab::Error::new(format!("after: {why}")))?,
            after_again: again,
        };
        let request = CompareRequest {
            fill: &fill,
            after: Some(&treated),
            age: options("age", &age_json)?,
            bench: bench.as_ref(),
            seed,
            start: start(threads, force, resume),
            beside: Some(&Papers),
            ..CompareRequest::new(Workload::File(&workload), &targets, &output)
        };
        fsage_lab::compare(&request, ui).map(drop)
    })
}

/// What a run says of its targets, as JSON.
#[pyfunction]
pub fn run_says(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    run(py, None, move |_| to_json(&said(&path)?))
}

/// Judges a run; gives the outcome as JSON.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    of: PathBuf,
    rules: Option<String>,
    baseline: Option<PathBuf>,
    matching: Option<String>,
) -> PyResult<String> {
    run(py, None, move |_| {
        let mut rules = Rules::given(rules.as_deref(), &of, baseline.is_some())?;
        if let Some(matching) = matching {
            let matching: Matching = options("match", &json!(matching).to_string())?;
            rules.matching = matching;
        }
        let outcome: Outcome = fsage_lab::check(&of, &rules, baseline.as_deref())?;
        to_json(&outcome)
    })
}

/// Forecasts when a target breaks; gives what is found as JSON.
#[pyfunction]
#[pyo3(signature = (
    past, on, limits, years, lives, seed, why, tries, hold_out, threads, output, force, listener=None
))]
#[allow(clippy::too_many_arguments)]
pub fn forecast(
    py: Python<'_>,
    past: Vec<PathBuf>,
    on: String,
    limits: Vec<String>,
    years: f64,
    lives: Option<usize>,
    seed: u64,
    why: Option<bool>,
    tries: Vec<String>,
    hold_out: Option<f64>,
    threads: Option<usize>,
    output: Option<PathBuf>,
    force: bool,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    run(py, listener, move |ui| {
        let target = TargetSpec::parse(&on)?;
        let limits = limits.iter().map(|text| text.parse());
        let limits = limits.collect::<fsage_lab::Result<Vec<Limit>>>()?;
        let source = past_source(&past)?;
        let workload = match &source {
            Some(source) => Workload::Made(source),
            None => Workload::File(&past[0]),
        };
        let tries = specs(&tries)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let request = ForecastRequest {
            years: Some(years),
            lives,
            seed,
            why,
            tries: &tries,
            hold_out,
            threads: threads.unwrap_or(cores),
            output: output.as_deref(),
            force,
            ..ForecastRequest::new(workload, &target, &limits)
        };
        to_json(&forecasting(&request, ui)?)
    })
}

/// How well snapshots stand for truths, which are lives of one kind; gives a verdict for each target as JSON.
#[pyfunction]
#[pyo3(signature = (workloads, on, profiles, profiles_a_day, seed, seeds, listener=None))]
#[allow(clippy::too_many_arguments)]
pub fn verify_method(
    py: Python<'_>,
    workloads: Vec<PathBuf>,
    on: Vec<String>,
    profiles: Vec<PathBuf>,
    profiles_a_day: Option<u64>,
    seed: u64,
    seeds: u64,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    run(py, listener, move |ui| {
        let targets = specs(&on)?;
        let truths = workloads.iter().map(|file| Workload::File(file));
        let truths: Vec<Workload<'_>> = truths.collect();
        let verdicts = targets.iter().map(|target| {
            let request = verify::Request {
                profiles: &profiles,
                profiles_a_day,
                seed,
                seeds,
                ..verify::Request::new(&truths, target)
            };
            verify::verify_method(&request, ui)
        });
        let mut verdicts = verdicts.collect::<fsage_lab::Result<Vec<_>>>()?;
        verify::set_against(&mut verdicts);
        to_json(&verdicts)
    })
}

/// Writes one page of several runs, or of snapshots; gives what of the runs differs, as JSON.
#[pyfunction]
#[pyo3(signature = (of, to, listener=None))]
pub fn report_several(
    py: Python<'_>,
    of: Vec<PathBuf>,
    to: PathBuf,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    run(py, listener, move |ui| {
        to_json(&page::write_several(&of, &to, Some(&Papers), ui)?.sides)
    })
}

/// Writes the page of a run or an experiment.
#[pyfunction]
#[pyo3(signature = (of, to, listener=None))]
pub fn report(
    py: Python<'_>,
    of: PathBuf,
    to: PathBuf,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    run(py, listener, move |ui| {
        page::report(&page::Request::new(&of, &to).beside(&Papers), ui).map(drop)
    })
}

/// The charts of that page: `[(id, title, Vega-Lite, SVG)]`, as JSON.
#[pyfunction]
pub fn charts(py: Python<'_>, of: PathBuf) -> PyResult<String> {
    run(py, None, move |_| {
        let charts = page::charts(&of, Some(&Papers)).context("no charts")?;
        let charts = charts
            .iter()
            .map(|chart| (&chart.id, &chart.title, chart.vega_lite(), chart.svg()));
        to_json(&charts.collect::<Vec<_>>())
    })
}
