//! `fsage results`: the tables of an experiment.

use crate::ui;
use anyhow::{anyhow, bail};
use clap::ValueEnum;
use fsage_core::keys;
use fsage_data::table::{Value, each_row};
use fsage_lab::experiment::manifest::Manifest;
use fsage_lab::experiment::{self, tables};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Shows the results of an experiment: means over seeds with their intervals, or one of its tables as CSV.
///
/// The tables are Parquet files in its folder, which pandas, polars, R and `DuckDB` read: results (a metric of a
/// cell at its end), days, bench (a measurement), means.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage results EXP\n  fsage results EXP --csv > results.csv\n  \
                  fsage results EXP --csv means --metric layout_score"
)]
pub struct Args {
    /// Folder of the experiment.
    experiment: PathBuf,
    /// Print a table as CSV [default: results].
    #[arg(long, value_name = "TABLE", num_args = 0..=1, default_missing_value = "results")]
    csv: Option<Table>,
    /// Only rows of this metric.
    #[arg(long, value_name = "NAME", requires = "csv")]
    metric: Option<String>,
    /// Make the tables again, from the cells that are complete now.
    #[arg(long)]
    write: bool,
}

/// A table of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    Results,
    Days,
    Bench,
    Means,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Table::Results => "results",
            Table::Days => "days",
            Table::Bench => "bench",
            Table::Means => "means",
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let manifest = Manifest::read(&args.experiment)?;
    if args.write {
        tables::write(&args.experiment, &manifest)?;
    }
    let mut out = ui::stdout();
    let Some(table) = args.csv else {
        experiment::print_results(&mut out, &experiment::rows(&args.experiment, &manifest)?)?;
        return Ok(out.flush()?);
    };
    let path = tables::path(&args.experiment, table.name());
    if !path.exists() {
        bail!(
            "{}: not there yet: it is written when all cells are done, or by --write",
            path.display()
        );
    }
    let mut metric = None;
    let mut shown = Vec::new();
    // Those that are there, until the one that is asked for is found.
    let (mut found, mut others) = (args.metric.is_none(), BTreeSet::new());
    each_row(&path, |columns, row| -> anyhow::Result<()> {
        if shown.is_empty() {
            shown = (0..columns.len())
                .filter(|&at| columns[at].kind.is_plain())
                .collect();
            metric = columns.iter().position(|column| column.name == "metric");
            let header = shown.iter().map(|&at| csv(&columns[at].name));
            writeln!(out, "{}", header.collect::<Vec<String>>().join(","))?;
        }
        let is_other =
            |name: &String| metric.is_some_and(|at: usize| row[at] != Value::Text(name.clone()));
        if args.metric.as_ref().is_some_and(is_other) {
            if let Some(Value::Text(name)) = metric.map(|at| &row[at])
                && !found
            {
                others.insert(name.clone());
            }
            return Ok(());
        }
        found = true;
        let cells = shown.iter().map(|&at| match &row[at] {
            Value::U64(number) => number.to_string(),
            Value::F64(number) => number.to_string(),
            Value::Text(text) => csv(text),
            Value::Null | Value::SizeClasses(_) | Value::RunClasses(_) => String::new(),
        });
        Ok(writeln!(
            out,
            "{}",
            cells.collect::<Vec<String>>().join(",")
        )?)
    })?;
    out.flush()?;
    match &args.metric {
        Some(name) if !found => Err(no_metric(&path, name, &others)),
        _ => Ok(()),
    }
}

fn no_metric(table: &Path, name: &str, others: &BTreeSet<String>) -> anyhow::Error {
    if others.is_empty() {
        return anyhow!("{}: it has no metrics", table.display());
    }
    let meant = keys::meant(name, others.iter().map(String::as_str));
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    anyhow!(
        "{}: no metric is called `{name}`; {meant}expected one of {}",
        table.display(),
        others.join(", ")
    )
}

/// Text as a field of CSV (RFC 4180).
fn csv(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
