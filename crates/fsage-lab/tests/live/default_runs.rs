//! Default runs of a kernel and of a model: both are drawn from the same distribution, as far as a two-sample
//! Kolmogorov-Smirnov test can tell. `FSAGE_RUNS=20` is how many runs each side has.

use fsage_core::Op;
use fsage_lab::days::DayRow;
use fsage_lab::generate::{Output, Profile, Source};
use fsage_lab::{AgeRequest, TargetSpec, Unwatched, age, generate};
use fsage_metrics::Metric;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

/// A test fails below it. One metric of a hundred does so by chance.
const LEAST_P: f64 = 0.01;

fn runs() -> u64 {
    let given = std::env::var("FSAGE_RUNS").ok();
    given.map_or(20, |text| text.parse().expect("a number of runs"))
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Ages a target: how many operations it did, and its last day.
fn aged(spec: &str, workload: &Path, folder: &Path) -> (u64, DayRow) {
    let targets = [TargetSpec::parse(spec).expect("a target")];
    let output = folder.join("run");
    let mut request = AgeRequest::new(workload, &targets, &output);
    request.options.control = false;
    let aged = age(&request, &Unwatched);
    let mut aged = aged.unwrap_or_else(|error| panic!("{spec}: {error:#}"));
    std::fs::remove_dir_all(&output).expect("the run is there");
    let operations = aged[0].rows.iter().map(|row| row.operations).sum();
    (operations, aged[0].rows.pop().expect("a day"))
}

/// The largest distance of the two distribution functions.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let share = |all: &[f64], most: f64| {
        all.iter().filter(|value| **value <= most).count() as f64 / all.len() as f64
    };
    let all = a.iter().chain(b);
    all.map(|&at| (share(a, at) - share(b, at)).abs())
        .fold(0.0, f64::max)
}

/// Kolmogorov's asymptotic probability of such a distance between samples of one distribution.
fn probability(distance: f64, a: usize, b: usize) -> f64 {
    let n = (a * b) as f64 / (a + b) as f64;
    let lambda = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    if lambda < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

fn spread(values: &[f64]) -> String {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{mean:.5} ({least:.5} to {most:.5})")
}

/// Days of the profile `home-1996`, with a sync at the end of each, or as one long day.
fn draw(days: u64, is_synced: bool, workload: &Path) {
    let source = Source::Profile(Profile {
        profile: "home-1996".to_owned(),
        days: Some(days),
        ..Profile::default()
    });
    generate(&source, &Output::replacing(workload), &Unwatched).expect("a workload");
    if is_synced {
        return;
    }
    let mut source = fsage_data::open_workload(workload).expect("a workload");
    let header = source.header().clone();
    let whole = workload.with_extension("whole.parquet");
    let mut output = fsage_data::create_workload(&whole, &header, false).expect("a workload");
    while let Some(event) = source.next_event().expect("an event") {
        if event.op != Op::Day {
            output.write(&event).expect("written");
        }
    }
    output.finish().expect("finished");
    std::fs::rename(whole, workload).expect("renamed");
}

/// What is compared with what: a real file system without a regime, and its model in the regime `default`.
pub struct Sides {
    pub kernel: &'static str,
    pub model: &'static str,
    pub metrics: &'static [&'static Metric],
}

/// Ages both sides as often as is asked for, and says which metrics are not drawn from one distribution.
pub fn differing(sides: &Sides, days: u64, is_synced: bool) -> Vec<&'static str> {
    let folder = tempfile::tempdir().expect("a folder");
    let workload = folder.path().join("w.parquet");
    draw(days, is_synced, &workload);
    let mut rates = Vec::new();
    let kernel: Vec<(u64, DayRow)> = (0..runs())
        .map(|_| {
            let begun = Instant::now();
            let run = aged(sides.kernel, &workload, folder.path());
            rates.push((run.0 as f64 / begun.elapsed().as_secs_f64()).ceil());
            run
        })
        .collect();
    let operations = kernel[0].0;
    let cpus = std::thread::available_parallelism().expect("processors");
    say(&format!(
        "{operations} operations over {days} days, {}: {} runs each, {} operations a second, {cpus} processors",
        if is_synced { "synced" } else { "not synced" },
        kernel.len(),
        spread(&rates)
    ));
    // Each as fast as one of the kernel's.
    let model: Vec<(u64, DayRow)> = (1..)
        .zip(&rates)
        .map(|(seed, rate)| {
            let keys = format!("regime=default,seed={seed},rate={rate},cpus={cpus}");
            let model = format!("{},{keys}", sides.model);
            aged(&model, &workload, folder.path())
        })
        .collect();
    let mut differing = Vec::new();
    for metric in sides.metrics {
        let values = |rows: &[(u64, DayRow)]| -> Vec<f64> {
            let values = rows.iter().map(|(_, row)| row.value(metric));
            values.map(|value| value.expect(metric.id)).collect()
        };
        let (kernel, model) = (values(&kernel), values(&model));
        let distance = distance(&kernel, &model);
        let p = probability(distance, kernel.len(), model.len());
        say(&format!(
            "{}: kernel {}, model {}, D {distance:.2}, p {p:.3}",
            metric.id,
            spread(&kernel),
            spread(&model)
        ));
        if p < LEAST_P {
            differing.push(metric.id);
        }
    }
    differing
}

#[test]
fn samples_that_differ_are_told_apart() {
    let one: Vec<f64> = (0..20).map(f64::from).collect();
    let other: Vec<f64> = (10..30).map(f64::from).collect();
    assert!((distance(&one, &other) - 0.5).abs() < 1e-12);
    // Tables of the test say 0.0112 for samples of 20.
    assert!(probability(0.5, 20, 20) < 0.02);
    assert!(probability(distance(&one, &one), 20, 20) > 0.999);
}
