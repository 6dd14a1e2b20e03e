//! `fsage generate playback`: a workload from the aging workload format of Smith and Seltzer.

use super::output::{Generated, Output, Row, row, write};
use crate::error::Context;
use crate::interrupt::Interruptible;
use crate::watch::Watch;
use fsage_core::{EventSink, WorkloadHeader};
use fsage_data::stream;
use fsage_import::playback::{self, Groups, ImportSummary};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// A `playback` text, as Smith and Seltzer published their aging workload.
#[derive(Clone, Debug, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Playback {
    /// The text, which may be compressed; `-` is standard input.
    pub file: PathBuf,
    /// Cylinder groups of the file system that the text is of.
    #[command(flatten)]
    #[serde(default)]
    pub groups: GroupOptions,
}

/// Cylinder groups of the file system that a `playback` text is of.
#[derive(Clone, Copy, Debug, Default, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupOptions {
    /// Inodes per cylinder group, for playback text [default: those of the workload that is written so, else
    /// 9728, the paper's].
    #[arg(long, value_name = "N")]
    pub inodes_per_group: Option<u32>,
    /// Cylinder groups, for playback text [default: those of the workload that is written so, else 27, the
    /// paper's].
    #[arg(long, value_name = "N")]
    pub groups: Option<u32>,
}

impl GroupOptions {
    /// What was said, else what a workload says of its source, else the paper's.
    pub fn of(self, header: &WorkloadHeader) -> Groups {
        let known = |n: Option<u64>| n.and_then(|n| u32::try_from(n).ok());
        let inodes = self.inodes_per_group.or(known(header.inodes_per_group));
        let count = self.groups.or(known(header.group_count));
        Groups {
            count: count.unwrap_or(Groups::PAPER.count),
            inodes_per_group: inodes.unwrap_or(Groups::PAPER.inodes_per_group),
        }
    }
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output is there, or cannot be written; an interrupt.
pub fn run(args: &Playback, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
    let file = &args.file;
    output.check([file])?;
    let groups = args.groups.of(&WorkloadHeader::default());
    let generator = json!({
        "name": "playback",
        "version": env!("CARGO_PKG_VERSION"),
        "groups": groups.count,
        "inodes_per_group": groups.inodes_per_group,
    });
    let base = file.file_name().unwrap_or_default().to_string_lossy();
    let header = WorkloadHeader {
        generator: Some(generator.to_string()),
        source: Some(format!("playback text {base}")),
        ..playback::header(groups)
    };
    let name = file.to_string_lossy();
    let (mut input, _) = stream::open(file).with_context(|| format!("{name}: cannot open"))?;
    let read = |sink: &mut dyn EventSink| {
        let sink = &mut Interruptible(sink);
        Ok(playback::import(input.as_mut(), &name, groups, sink)?)
    };
    let (summary, tally) = write(output, &header, ui, None, read)?;
    Ok(Generated::new(rows(&summary), tally))
}

fn rows(s: &ImportSummary) -> Vec<Row> {
    vec![
        row("lines", "lines", s.lines),
        row("days (SCORE)", "days", s.days),
        row("creates (C)", "creates", s.creates),
        row(
            "of a live inode: rewritten",
            "creates_of_live",
            s.creates_of_live,
        ),
        row("modifications (M)", "modifies", s.modifies),
        row(
            "of an unknown inode: created",
            "modifies_of_unknown",
            s.modifies_of_unknown,
        ),
        row("replacements (R)", "replaces", s.replaces),
        row("deletes (D)", "deletes", s.deletes),
        row(
            "deletes of an unknown inode: skipped",
            "deletes_of_unknown",
            s.deletes_of_unknown,
        ),
        row("messages: ignored", "messages", s.messages),
        row("times that go down", "times_going_down", s.times_going_down),
        row("files at the end", "live_files", s.live_files),
        row("bytes at the end", "live_bytes", s.live_bytes),
    ]
}
