//! What every source of workloads does with its output: writes it, counts it, reports on it.

use super::tally::{self, Tally};
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::{EventSink, WorkloadHeader};
use fsage_data::create_workload;
use fsage_durable::TemporaryFolder;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where a workload goes.
#[derive(Debug, clap::Args)]
pub struct Output {
    /// The workload to write.
    #[arg(short = 'o', long = "output", value_name = "W")]
    pub path: PathBuf,
    /// Replace a file of that name.
    #[arg(long)]
    pub force: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print no summary: the workload is part of greater work.
    #[arg(long, hide = true)]
    pub no_summary: bool,
}

impl Output {
    /// Whether it may be written, see [`may_write`]; for before long work.
    pub fn check<'a>(&self, inputs: impl IntoIterator<Item = &'a PathBuf>) -> anyhow::Result<()> {
        may_write(&self.path, self.force, inputs)
    }
}

/// Refuses an output that is one of the inputs, or one of the files in a folder that is read; and, without `force`,
/// any that exists.
pub fn may_write<'a>(
    output: &Path,
    force: bool,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> anyhow::Result<()> {
    let Ok(found) = output.canonicalize() else {
        return Ok(());
    };
    for input in inputs {
        if let Ok(input) = input.canonicalize()
            && found.starts_with(&input)
        {
            bail!(
                "{}: is what is read; write the output somewhere else",
                output.display()
            );
        }
    }
    if !force {
        bail!("{} exists: --force replaces it", output.display());
    }
    Ok(())
}

/// Writes a workload, counts it, and shows how many of `total` operations are done.
pub fn write<S>(
    output: &Output,
    header: &WorkloadHeader,
    ui: Ui,
    total: Option<u64>,
    make: impl FnOnce(&mut dyn EventSink) -> anyhow::Result<S>,
) -> anyhow::Result<(S, Tally)> {
    let mut file = create_workload(&output.path, header, output.force)?;
    let bar = total.map(|n| ui.bar_count(Some(n), "writing"));
    let mut counted = tally::Counted::new(&mut file, bar.as_ref());
    let summary = make(&mut counted)?;
    let tally = counted.tally;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    file.finish()
        .with_context(|| format!("cannot finish {}", output.path.display()))?;
    Ok((summary, tally))
}

/// Name and value, once for people and once for JSON; an empty value is not shown to people.
pub type Row = (String, String, &'static str, Value);

/// A number as a row.
pub fn row(text: &str, key: &'static str, value: u64) -> Row {
    (text.to_owned(), value.to_string(), key, value.into())
}

/// A published figure beside what was generated: name, key, published, generated.
pub type Beside = (&'static str, &'static str, f64, f64);

/// The summary on stdout; on stderr when the workload itself went to stdout.
pub fn report(output: &Output, rows: &[Row], tally: &Tally, ui: Ui) -> anyhow::Result<()> {
    report_beside(output, rows, &[], tally, ui)
}

/// The same, with published figures beside what was generated.
pub fn report_beside(
    output: &Output,
    rows: &[Row],
    published: &[Beside],
    tally: &Tally,
    ui: Ui,
) -> anyhow::Result<()> {
    if output.no_summary {
        return Ok(());
    }
    let mut text = Vec::new();
    if output.json {
        let facts: serde_json::Map<String, Value> = rows
            .iter()
            .map(|(_, _, key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        let mut all = json!({
            "workload": output.path.to_string_lossy(),
            "summary": facts,
            "counts": tally.json(),
        });
        for (_, key, published, generated) in published {
            all["published"][key] = json!({ "published": published, "generated": generated });
        }
        summary::print_json(&mut text, &all)?;
    } else {
        let mut table = summary::table(&["", ""]);
        for (name, value, _, _) in rows.iter().filter(|row| !row.1.is_empty()) {
            table.add_row([name, value]);
        }
        writeln!(text, "{table}\n")?;
        if !published.is_empty() {
            let mut table = summary::table(&["", "published", "generated", ""]);
            for (name, _, published, generated) in published {
                let percent = (generated / published - 1.0) * 100.0;
                table.add_row([
                    (*name).to_owned(),
                    published.to_string(),
                    format!("{generated:.1}").trim_end_matches(".0").to_owned(),
                    if percent.is_finite() {
                        format!("{percent:+.1} %")
                    } else {
                        String::new()
                    },
                ]);
            }
            writeln!(text, "{table}\n")?;
        }
        tally.print(&mut text)?;
    }
    if output.path.as_os_str() == "-" {
        ui.note(String::from_utf8_lossy(&text).trim_end());
    } else {
        let mut out = ui::stdout();
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(())
}

/// A file that is removed when it has been read, with the folder that it has to itself.
pub struct Temporary {
    _folder: TemporaryFolder,
    path: PathBuf,
}

impl Temporary {
    /// Beside the output, so that it lies where there is room for that; for stdout where the system says.
    ///
    /// # Errors
    /// No folder can be made there.
    pub fn beside(output: &Path, name: &str) -> anyhow::Result<Temporary> {
        let folder = if output.as_os_str() == "-" {
            TemporaryFolder::private(&std::env::temp_dir().join("fsage"))
        } else {
            TemporaryFolder::private(output)
        }?;
        let path = folder.path().join(name);
        Ok(Temporary {
            _folder: folder,
            path,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
