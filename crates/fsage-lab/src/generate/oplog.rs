//! `fsage generate oplog`: a workload from our own operation log.

use super::output::{Generated, Output};
use super::trace::{self, Kind, TraceOptions};
use crate::watch::Watch;
use fsage_import::op_log;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Our own operation log, a CSV file: for whatever can be traced and has no importer.
///
/// Columns: `t_ns` and `op`; `path`, or `dir_ino` and `name`; and what the operation needs. See docs/traces.md.
#[derive(Clone, Debug, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Oplog {
    /// The log; may be compressed with gzip or zstd; `-` is standard input.
    pub log: PathBuf,
    /// Only files below this directory; may be given several times [default: all].
    #[arg(long = "root", value_name = "DIR")]
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// What every trace can be asked for.
    #[command(flatten)]
    #[serde(default)]
    pub trace: TraceOptions,
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output cannot be written.
pub fn run(args: &Oplog, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
    let kind = Kind {
        name: "oplog",
        logs: std::slice::from_ref(&args.log),
        roots: &args.roots,
        guess: false,
    };
    let read_once = args.trace.reads_once_from(&args.log);
    trace::run(
        &kind,
        &args.trace,
        output,
        ui,
        |names, logs| match logs {
            // Standard input that is read once has its epoch where nobody can look twice.
            [log] if !read_once => Ok(op_log::header(log)?),
            _ => Ok(op_log::header_without_epoch(&names[0])),
        },
        |logs, options, sink, go_on| {
            let summary = op_log::import(logs, options, sink, go_on)?;
            if !summary.unknown_columns.is_empty() {
                let columns = summary.unknown_columns.join(", ");
                ui.warn(&format!("columns that mean nothing here: {columns}"));
            }
            Ok((summary.trace, Vec::new()))
        },
    )
}
