//! A workload as `playback` text.

use super::Args;
use crate::commands::inspect::for_each_event;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::Context;
use fsage_core::EventSource;
use fsage_data::open_workload;
use fsage_durable::PartialFile;
use fsage_import::playback::{ExportSummary, Exporter, Groups};
use fsage_lab::generate::{Row, row};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

/// Writes a workload so, and reports on what has no form.
pub fn export(from: &Path, to: &Path, args: &Args, ui: Ui) -> anyhow::Result<()> {
    let mut source = open_workload(from)?;
    let groups = args.groups.of(source.header());
    let name = from.display().to_string();
    let mut text = Vec::new();
    if to.as_os_str() == "-" {
        let (mut out, summary) = write(source.as_mut(), &name, groups, ui::data_stdout(), ui)?;
        out.flush()?;
        report(&mut text, to, &summary, args.json)?;
        ui.note(String::from_utf8_lossy(&text).trim_end());
    } else {
        let file = PartialFile::create(to, args.force)?;
        let (file, summary) = write(source.as_mut(), &name, groups, file, ui)?;
        file.finish()?;
        report(&mut text, to, &summary, args.json)?;
        let mut out = ui::stdout();
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(())
}

fn write<W: Write>(
    source: &mut dyn EventSource,
    name: &str,
    groups: Groups,
    output: W,
    ui: Ui,
) -> anyhow::Result<(W, ExportSummary)> {
    let header = source.header().clone();
    let mut exporter = Exporter::new(output, &header, groups)?;
    for_each_event(source, ui, "converting", |event| {
        exporter.write(event).with_context(|| name.to_owned())
    })?;
    Ok(exporter.finish()?)
}

fn report(out: &mut Vec<u8>, to: &Path, s: &ExportSummary, as_json: bool) -> anyhow::Result<()> {
    let rows: [Row; 7] = [
        row("creates (C)", "creates", s.creates),
        row("deletes (D)", "deletes", s.deletes),
        row("modifications (M)", "modifies", s.modifies),
        row("replacements (R)", "replaces", s.replaces),
        row("days (SCORE)", "days", s.days),
        row(
            "files with the number of their source inode",
            "numbers_kept",
            s.numbers_kept,
        ),
        row(
            "deletes of one of several names, left out",
            "names_dropped",
            s.names_dropped,
        ),
    ];
    let dropped = s.dropped();
    if as_json {
        let facts: Map<String, Value> = rows
            .into_iter()
            .map(|(_, _, key, value)| (key.to_owned(), value))
            .collect();
        let dropped: Map<String, Value> = dropped
            .iter()
            .map(|(verb, count)| (verb.to_string(), (*count).into()))
            .collect();
        let all = json!({
            "playback": to.to_string_lossy(),
            "summary": facts,
            "left_out": dropped,
        });
        summary::print_json(out, &all)?;
    } else {
        let mut table = summary::table(&["", ""]);
        for (what, count, _, _) in rows {
            table.add_row([what, count]);
        }
        for (verb, count) in dropped {
            table.add_row([format!("{verb}, left out"), count.to_string()]);
        }
        writeln!(out, "{table}")?;
    }
    Ok(())
}
