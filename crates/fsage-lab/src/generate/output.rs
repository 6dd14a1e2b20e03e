//! What every source of workloads does with its output: writes it, counts it, reports on it.

use super::tally::{self, Tally};
use crate::error::{Context, bail};
use crate::watch::Watch;
use fsage_core::{EventSink, WorkloadHeader};
use fsage_data::create_workload;
use fsage_durable::TemporaryFolder;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Where a workload goes.
#[derive(Clone, Debug, clap::Args)]
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
}

impl Output {
    /// A file that is replaced if it is there.
    pub fn replacing(path: impl Into<PathBuf>) -> Output {
        Output {
            path: path.into(),
            force: true,
            json: false,
        }
    }

    /// Whether it may be written, see [`may_write`]; for before long work.
    ///
    /// # Errors
    /// As [`may_write`].
    pub fn check<'a>(&self, inputs: impl IntoIterator<Item = &'a PathBuf>) -> crate::Result<()> {
        may_write(&self.path, self.force, inputs)
    }
}

/// Refuses an output that is one of the inputs, or one of the files in a folder that is read; and, without `force`,
/// any that exists.
///
/// # Errors
/// It may not.
pub fn may_write<'a>(
    output: &Path,
    force: bool,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> crate::Result<()> {
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
    ui: &dyn Watch,
    total: Option<u64>,
    make: impl FnOnce(&mut dyn EventSink) -> crate::Result<S>,
) -> crate::Result<(S, Tally)> {
    let mut file = create_workload(&output.path, header, output.force)?;
    let bar = total.map(|n| ui.bar_count(Some(n), "writing"));
    let mut counted = tally::Counted::new(&mut file, bar.as_deref());
    let summary = make(&mut counted)?;
    let tally = counted.tally;
    drop(bar);
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

/// A workload that was made.
#[derive(Clone, Debug)]
pub struct Generated {
    /// What is to be known of it.
    pub rows: Vec<Row>,
    /// Published figures beside what was generated.
    pub published: Vec<Beside>,
    /// What it consists of.
    pub tally: Tally,
}

impl Generated {
    /// One without published figures.
    pub fn new(rows: Vec<Row>, tally: Tally) -> Generated {
        Generated {
            rows,
            published: Vec::new(),
            tally,
        }
    }
}

impl Generated {
    /// What is known of the workload in a file, as JSON.
    pub fn to_json(&self, path: &Path) -> Value {
        let facts: Map<String, Value> = self
            .rows
            .iter()
            .map(|(_, _, key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        let mut all = json!({
            "workload": path.to_string_lossy(),
            "summary": facts,
            "counts": self.tally.to_json(),
        });
        for (_, key, published, generated) in &self.published {
            all["published"][key] = json!({ "published": published, "generated": generated });
        }
        all
    }
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
    pub fn beside(output: &Path, name: &str) -> crate::Result<Temporary> {
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
