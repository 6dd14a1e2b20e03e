//! `fsage generate`: makes a workload from snapshots, a git history, traces, playback text or published statistics.

use crate::summary;
use crate::ui::{self, Ui};
use fsage_lab::generate::{self, Generated, Question, Request, Tally};
use fsage_workload::preset::{ALIASES, PRESETS, Preset};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

pub use generate::Args;

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    match args.request()? {
        Request::Answer(Question::List { json }) => list(json),
        Request::Answer(Question::Show(name)) => Ok(ui::print(generate::text_of(&name)?)?),
        Request::Make(source, output) => {
            let made = generate::generate(&source, &output, &ui)?;
            report(&output.path, output.json, &made, ui)
        }
    }
}

/// The presets with one line each.
fn list(as_json: bool) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    let presets = PRESETS
        .iter()
        .filter_map(|(name, _)| Some((*name, Preset::named(name)?)));
    if as_json {
        let all: Vec<Value> = presets
            .map(|(name, preset)| {
                let table = preset.generator.table();
                json!({ "name": name, "generator": table, "summary": preset.summary })
            })
            .collect();
        return Ok(summary::print_json(&mut out, &all)?);
    }
    for (name, preset) in presets {
        writeln!(out, "{name:<18}{}", preset.summary)?;
    }
    for (alias, name) in ALIASES {
        writeln!(out, "{alias:<18}another name of {name}")?;
    }
    Ok(out.flush()?)
}

/// The summary on stdout; on stderr when the workload itself went to stdout.
pub fn report(path: &Path, json: bool, made: &Generated, ui: Ui) -> anyhow::Result<()> {
    let mut text = Vec::new();
    if json {
        summary::print_json(&mut text, &made.to_json(path))?;
    } else {
        let mut table = summary::table(&["", ""]);
        for (name, value, _, _) in made.rows.iter().filter(|row| !row.1.is_empty()) {
            table.add_row([name, value]);
        }
        writeln!(text, "{table}\n")?;
        if !made.published.is_empty() {
            let mut table = summary::table(&["", "published", "generated", ""]);
            for (name, _, published, generated) in &made.published {
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
        print_tally(&made.tally, &mut text)?;
    }
    if path.as_os_str() == "-" {
        ui.note(String::from_utf8_lossy(&text).trim_end());
    } else {
        let mut out = ui::stdout();
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(())
}

/// As a table with shares.
fn print_tally(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    let share = |part: u64, all: u64| {
        if all == 0 {
            return String::new();
        }
        format!("{:.1} %", part as f64 * 100.0 / all as f64)
    };
    let mut table = summary::table(&["", "operations", "", "bytes written", ""]);
    for (kind, name, count) in tally.rows() {
        table.add_row([
            format!("{kind} {name}").trim_end().to_owned(),
            count.ops.to_string(),
            share(count.ops, tally.total().ops),
            count.bytes.to_string(),
            share(count.bytes, tally.total().bytes),
        ]);
    }
    writeln!(out, "{table}")
}
