//! `fsage generate strace`: a workload from strace logs.

use super::output::{Generated, Output, Row, row};
use super::trace::{self, Kind, TraceOptions};
use crate::watch::Watch;
use fsage_import::strace::{self, StraceSummary};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The system calls of programs, from logs of `strace -f -ttt -y`.
///
/// Record with: strace -f --seccomp-bpf -ttt -y -s 0 -o LOG -e trace=%file,%desc,clone,clone3,fork,vfork COMMAND
#[derive(Clone, Debug, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Strace {
    /// Logs, in the order of time; may be compressed with gzip or zstd; `-` is standard input.
    #[arg(required = true)]
    pub logs: Vec<PathBuf>,
    /// Only files below this directory; may be given several times [default: all but /proc, /sys, /dev].
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
pub fn run(args: &Strace, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
    let kind = Kind {
        name: "strace",
        logs: &args.logs,
        roots: &args.roots,
        guess: false,
    };
    trace::run(
        &kind,
        &args.trace,
        output,
        ui,
        |names, _| Ok(strace::header(names)),
        |logs, options, sink, go_on| {
            let summary = strace::import(logs, options, sink, go_on)?;
            if !summary.has_lseek {
                ui.warn(
                    "the logs have no lseek: writes are taken as going on where the last one ended",
                );
            }
            let rows = rows(&summary);
            Ok((summary.trace, rows))
        },
    )
}

fn rows(s: &StraceSummary) -> Vec<Row> {
    vec![
        row(
            "guessed: files perhaps older than the trace",
            "guessed_creates",
            s.uncertain_creates,
        ),
        row(
            "guessed: files made that were read before",
            "guessed_creates_of_read",
            s.creates_of_read,
        ),
        row(
            "guessed: writes taken as appends",
            "guessed_offsets",
            s.guessed_offsets,
        ),
        row(
            "left out: unknown current directory",
            "unknown_directories",
            s.unknown_directories,
        ),
        row(
            "calls that never returned",
            "unreturned_calls",
            s.unreturned_calls,
        ),
    ]
}
