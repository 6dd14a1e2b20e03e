//! `fsage doctor`: what of fsage works on this machine.

mod places;
mod real;
mod system;

use crate::exit;
use crate::summary;
use crate::ui::{self, go_on};
use anyhow::bail;
use comfy_table::CellAlignment;
use serde::Serialize;
use std::io::Write;

/// Says what works on this machine and what to do about the rest.
///
/// Everything is really tried: images are made in the temporary folder, mounted where nobody else sees them, and
/// removed again. Nothing is left behind. Without root the rest is still reported.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage doctor\n  sudo fsage doctor --need loop --need ext4 --need xfs\n  fsage \
                  doctor --json\n\nExit status: 0, or 1 if something that is needed is not there."
)]
pub struct Args {
    /// Something that has to be there, by its name in the first column; may be repeated.
    #[arg(long, value_name = "NAME")]
    need: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was looked at, and what came of it.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    works: bool,
    /// A version, a number, or why it does not work.
    found: String,
    /// What fsage needs it for.
    allows: &'static str,
    /// What to do if it does not work.
    next: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, allows: &'static str) -> Check {
        Check {
            name: name.into(),
            works: false,
            found: String::new(),
            allows,
            next: None,
        }
    }

    fn yes(self, found: impl Into<String>) -> Check {
        Check {
            works: true,
            found: found.into(),
            ..self
        }
    }

    fn no(self, found: impl Into<String>, next: impl Into<String>) -> Check {
        Check {
            found: found.into(),
            next: Some(next.into()),
            ..self
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut checks = Vec::new();
    let mut add = |more: Vec<Check>| {
        checks.extend(more);
        go_on()
    };
    add(real::rights(folder.path()))?;
    for kind in real::KINDS {
        add(vec![real::file_system(kind, folder.path())])?;
    }
    add(places::checks())?;
    add(system::checks())?;
    folder.close()?;

    for need in &args.need {
        if !checks.iter().any(|check| check.name == *need) {
            let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
            bail!(
                "--need {need}: nothing has this name; known: {}",
                names.join(", ")
            );
        }
    }
    if args.json {
        let mut out = ui::stdout();
        summary::print_json(&mut out, &checks)?;
        out.flush()?;
    } else {
        print(&checks)?;
    }
    let missing = |check: &&Check| !check.works && args.need.contains(&check.name);
    let missing: Vec<&str> = checks
        .iter()
        .filter(missing)
        .map(|check| check.name.as_str())
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(exit::No(format!("needed, and not there: {}", missing.join(", "))).into())
    }
}

fn print(checks: &[Check]) -> anyhow::Result<()> {
    let mut table = summary::table(&["what", "works", "found", "allows"]);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for check in checks {
        let works = if check.works { "yes" } else { "no" };
        table.add_row([&check.name, works, &check.found, check.allows]);
    }
    let mut out = ui::stdout();
    writeln!(
        out,
        "{}",
        table
            .to_string()
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    )?;
    // The same step often helps several: it is told once.
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for check in checks {
        let Some(next) = check.next.as_deref() else {
            continue;
        };
        match steps.iter_mut().find(|(step, _)| *step == next) {
            Some((_, names)) => names.push(&check.name),
            None => steps.push((next, vec![&check.name])),
        }
    }
    if !steps.is_empty() {
        writeln!(out, "\nFor what does not work:")?;
        for (step, names) in steps {
            writeln!(out, "  {}: {step}", names.join(", "))?;
        }
    }
    Ok(out.flush()?)
}
