//! `fsage results`: what an experiment or a run says, and its tables as CSV.

use crate::ui;
use anyhow::{anyhow, bail};
use clap::ValueEnum;
use fsage_core::keys;
use fsage_data::table::{Column, Value, each_row};
use fsage_lab::compare::said;
use fsage_lab::experiment::manifest::Manifest;
use fsage_lab::experiment::{self, print_verdict, tables};
use fsage_lab::run_folder::Manifest as Run;
use fsage_lab::{after, benching, fullness};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Shows the results of an experiment or a run, or one of its tables as CSV.
///
/// Of an experiment: means over seeds with their intervals; its tables are results (a metric of a cell at its end),
/// days, bench (a measurement), means. Of a run: each target in a row; its tables are days, bench, flash and causes.
/// All of them are Parquet files in the folder, which pandas, polars, R and `DuckDB` read as they are; `fsage inspect
/// RUN/TARGET/final.parquet --extents` prints each file as it lies at the end.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage results EXP\n  fsage results EXP --csv > results.csv\n  \
                  fsage results EXP --csv means --metric layout_score\n  fsage results RUN --csv days > days.csv"
)]
pub struct Args {
    /// Folder of the experiment or the run.
    #[arg(value_name = "EXP|RUN")]
    folder: PathBuf,
    /// Print a table as CSV [default: results of an experiment, days of a run].
    #[arg(long, value_name = "TABLE", num_args = 0..=1, default_missing_value = "usual")]
    csv: Option<Table>,
    /// Only rows of this metric.
    #[arg(long, value_name = "NAME", requires = "csv")]
    metric: Option<String>,
    /// Make the tables of an experiment again, from the cells that are complete now.
    #[arg(long)]
    write: bool,
}

/// A table of an experiment or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    /// The one that is asked for most often.
    #[value(hide = true)]
    Usual,
    Results,
    Days,
    Bench,
    Means,
    Flash,
    Causes,
}

impl Table {
    /// Its name in an experiment.
    fn name(self) -> &'static str {
        match self {
            Table::Usual | Table::Results => "results",
            Table::Days => "days",
            Table::Bench => "bench",
            Table::Means => "means",
            Table::Flash => "flash",
            Table::Causes => "causes",
        }
    }

    /// Its files of the targets of a run, if a run has it.
    fn of_run(self, folder: &Path, run: &Run) -> anyhow::Result<Option<Vec<PathBuf>>> {
        let targets = run.targets.iter().map(|target| folder.join(&target.folder));
        Ok(match self {
            Table::Usual | Table::Days => {
                Some(targets.map(|target| target.join("days.parquet")).collect())
            }
            Table::Bench => {
                let mut files = Vec::new();
                for target in targets {
                    let suites = benching::measured_suites(&target)?.into_iter();
                    files.extend(
                        suites.map(|suite| benching::results_path(&target, &suite, "parquet")),
                    );
                }
                Some(files)
            }
            Table::Flash | Table::Causes => {
                let name = format!("{}.parquet", self.name());
                Some(targets.map(|target| target.join(&name)).collect())
            }
            Table::Results | Table::Means => None,
        })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = &args.folder;
    if !Manifest::is_experiment(folder)
        && let Ok(run) = Run::read(folder)
    {
        return of_run(args, &run);
    }
    let manifest = Manifest::read(folder)?;
    if args.write {
        tables::write(folder, &manifest)?;
    }
    let Some(table) = args.csv else {
        let mut out = ui::stdout();
        experiment::print_results(&mut out, &experiment::rows(folder, &manifest)?)?;
        return Ok(out.flush()?);
    };
    if matches!(table, Table::Flash | Table::Causes) {
        bail!(
            "{}: an experiment has no table {}; values of flash are in `--csv means`, and each of its runs has the \
             table of its own, as in `fsage results {}/cells/ID --csv {}`",
            folder.display(),
            table.name(),
            folder.display(),
            table.name()
        );
    }
    let path = tables::path(folder, table.name());
    if !path.exists() {
        bail!(
            "{}: not there yet: it is written when all cells are done, or by --write",
            path.display()
        );
    }
    print_csv(&[path], args.metric.as_deref())
}

/// Shows a run.
fn of_run(args: &Args, run: &Run) -> anyhow::Result<()> {
    let folder = &args.folder;
    if args.write {
        bail!(
            "{}: a run, whose tables are there; --write makes those of an experiment",
            folder.display()
        );
    }
    let Some(table) = args.csv else {
        let mut out = ui::stdout();
        let said = said(folder)?;
        print_verdict(&mut out, &said.verdicts)?;
        fullness::print(&mut out, &said.fullness)?;
        after::print(&mut out, &said.after)?;
        return Ok(out.flush()?);
    };
    let Some(files) = table.of_run(folder, run)? else {
        bail!(
            "{}: a run has the tables days, bench, flash and causes; of its files `fsage inspect \
             RUN/TARGET/final.parquet --extents`",
            folder.display()
        );
    };
    let there: Vec<PathBuf> = files.into_iter().filter(|file| file.exists()).collect();
    if there.is_empty() {
        bail!(
            "{}: nothing was measured; `fsage bench` does, on flash what `--csv flash` prints as well, and with \
             --causes what `--csv causes` prints",
            folder.display()
        );
    }
    print_csv(&there, args.metric.as_deref())
}

/// Prints tables of the same kind as one: columns are those of the first.
fn print_csv(paths: &[PathBuf], metric: Option<&str>) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    let (mut header, mut has_header): (Vec<String>, bool) = (Vec::new(), false);
    // Those that are there, until the one that is asked for is found.
    let (mut found, mut others) = (metric.is_none(), BTreeSet::new());
    for path in paths {
        let (mut shown, mut metric_at) = (Vec::new(), None);
        each_row(path, |columns, row| -> anyhow::Result<()> {
            let at = |name: &str| columns.iter().position(|column| column.name == name);
            if header.is_empty() {
                let plain = columns.iter().filter(|column| column.kind.is_plain());
                header = plain.map(|Column { name, .. }| name.clone()).collect();
            }
            if shown.is_empty() {
                shown = header.iter().map(|name| at(name)).collect();
                metric_at = at("metric");
            }
            if let Some(wanted) = metric {
                let name = match metric_at.map(|at| &row[at]) {
                    Some(Value::Text(name)) => Some(name),
                    _ => None,
                };
                if name.is_none_or(|name| name != wanted) {
                    if !found {
                        others.extend(name.cloned());
                    }
                    return Ok(());
                }
            }
            found = true;
            if !std::mem::replace(&mut has_header, true) {
                let names: Vec<String> = header.iter().map(|name| csv(name)).collect();
                writeln!(out, "{}", names.join(","))?;
            }
            let cells = shown.iter().map(|at| match at.map(|at| &row[at]) {
                Some(Value::U64(number)) => number.to_string(),
                Some(Value::F64(number)) => number.to_string(),
                Some(Value::Text(text)) => csv(text),
                Some(Value::Null | Value::SizeClasses(_) | Value::RunClasses(_)) | None => {
                    String::new()
                }
            });
            Ok(writeln!(
                out,
                "{}",
                cells.collect::<Vec<String>>().join(",")
            )?)
        })?;
    }
    out.flush()?;
    match metric {
        Some(name) if !found => Err(no_metric(&paths[0], name, &others)),
        _ => Ok(()),
    }
}

fn no_metric(table: &Path, name: &str, others: &BTreeSet<String>) -> anyhow::Error {
    if others.is_empty() {
        return anyhow!(
            "{}: it has a column for each metric, and --metric is for tables with a row for each, as those of `fsage \
             results EXP --csv results`; leave it out",
            table.display()
        );
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
