//! `fsage generate nfsdump`: a workload from NFS traces.

use super::output::{Generated, Output, Row, row};
use super::trace::{self, Kind, TraceOptions};
use crate::watch::Watch;
use fsage_import::nfsdump::{self, NfsSummary};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// NFS traces in the format of nfsdump, as those of Harvard (2001 to 2003).
#[derive(Clone, Debug, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Nfsdump {
    /// Traces, in the order of time; may be compressed with gzip or zstd; `-` is standard input.
    #[arg(required = true)]
    pub logs: Vec<PathBuf>,
    /// Where a removed name is not known, take the file that had the name last.
    #[arg(long)]
    #[serde(default)]
    pub guess: bool,
    /// What every trace can be asked for.
    #[command(flatten)]
    #[serde(default)]
    pub trace: TraceOptions,
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output cannot be written.
pub fn run(args: &Nfsdump, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
    let kind = Kind {
        name: "nfsdump",
        logs: &args.logs,
        roots: &[],
        guess: args.guess,
    };
    trace::run(
        &kind,
        &args.trace,
        output,
        ui,
        |names, _| Ok(nfsdump::header(names)),
        |logs, options, sink, go_on| {
            let summary = nfsdump::import(logs, options, sink, go_on)?;
            let rows = rows(&summary);
            Ok((summary.trace, rows))
        },
    )
}

fn rows(s: &NfsSummary) -> Vec<Row> {
    vec![
        row("calls with replies", "pairs", s.pairs),
        row(
            "replies without call",
            "replies_without_call",
            s.replies_without_call,
        ),
        row(
            "calls without reply",
            "calls_without_reply",
            s.calls_without_reply,
        ),
        row("retransmissions", "retransmissions", s.retransmissions),
        row("short packets", "short_packets", s.short_packets),
        row(
            "replies with garbage",
            "garbage_attributes",
            s.garbage_attributes,
        ),
        row("sizes put right", "swapped_sizes", s.swapped_sizes),
        row("sizes too old", "stale_sizes", s.stale_sizes),
        row("times clamped", "clamped_times", s.clamped_times),
        row(
            "handles with an inode number",
            "handles_checked",
            s.handles_checked,
        ),
        row("of them right", "handles_agree", s.handles_agree),
        row(
            "guessed: deletes of unknown names",
            "guessed_deletes",
            s.guessed_deletes,
        ),
        row(
            "guessed: places of directories",
            "unnamed_dirs",
            s.unnamed_dirs,
        ),
        row("guessed: places of files", "unnamed_files", s.unnamed_files),
    ]
}
