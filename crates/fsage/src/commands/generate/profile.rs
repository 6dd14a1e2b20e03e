//! `fsage generate profile`: synthetic workloads.

use super::output::{Output, Row, report, row, write};
use crate::exit;
use crate::ui::Ui;
use clap::ValueEnum;
use fsage_core::WorkloadHeader;
use fsage_workload::home::{Home, HomeSummary};
use serde_json::{Value, json};

/// A synthetic workload after published statistics.
///
/// smith96: ten months of home directories on 502 MB, after Smith and Seltzer 1996.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which.
    #[arg(value_enum)]
    name: ProfileName,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The same curves over so many days, with the same activity a day [default: as published].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    days: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    Smith96,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let (name, mut home) = match args.name {
        ProfileName::Smith96 => ("smith96", Home::smith96()),
    };
    if let Some(days) = args.days {
        home = home.with_days(days);
    }
    let header = WorkloadHeader {
        generator: Some(parameters(name, &home).to_string()),
        ..home.header(args.seed)
    };
    let total = Some(home.operations);
    let (summary, tally) = write(&args.output, &header, ui, total, |sink| {
        home.generate(args.seed, sink).map_err(exit::boxed)
    })?;
    report(&args.output, &home_rows(&home, &summary), &tally, ui)
}

/// Everything that makes this workload again, but the seed.
fn parameters(name: &str, home: &Home) -> Value {
    json!({
        "name": "profile",
        "profile": name,
        "version": env!("CARGO_PKG_VERSION"),
        "days": home.days,
        "data_space_kb": home.data_space_kb,
        "operations": home.operations,
        "bytes_written": home.bytes_written,
        "initial_files": home.initial_files,
        "final_files": home.final_files,
        "utilization_permille": home.utilization,
        "files_permille": home.files,
        "ceiling_permille": home.ceiling_permille,
        "short_lived_permille": home.short_lived_permille,
        "users": home.users,
        "bursts_a_day": home.bursts_a_day,
        "deletes_a_day": home.deletes_a_day,
        "changes_a_day": home.changes_a_day,
        "large_turnover_a_day": home.large_turnover_a_day,
        "days_on_a_project": home.days_on_a_project,
        "hot_days": home.hot_days,
    })
}

fn home_rows(home: &Home, s: &HomeSummary) -> Vec<Row> {
    let percent = |text: &str, key, permille: u64| {
        let value = permille as f64 / 10.0;
        (text.to_owned(), format!("{value:.1} %"), key, value.into())
    };
    let megabytes = |text: &str, key, kb: u64| {
        let value = kb as f64 / 1024.0;
        (text.to_owned(), format!("{value:.1} MB"), key, value.into())
    };
    let hot = format!("files modified in the last {} days", home.hot_days);
    vec![
        row("days", "days", s.days),
        percent(
            "utilization at the start",
            "initial_percent",
            s.initial_permille,
        ),
        row(
            "days over 70 %",
            "days_over_70_percent",
            s.days_over_70_percent,
        ),
        percent("utilization at most", "peak_percent", s.peak_permille),
        percent("utilization at the end", "final_percent", s.final_permille),
        row("files at the end", "live_files", s.final_files),
        row(
            "directories at the end",
            "live_directories",
            s.final_directories,
        ),
        megabytes("space of these files", "live_mb", s.final_kb),
        row(&hot, "hot_files", s.hot_files),
        megabytes("space of these", "hot_mb", s.hot_kb),
        row("writes left out for lack of space", "left_out", s.left_out),
    ]
}
