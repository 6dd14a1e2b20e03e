//! `fsage run`: an experiment file, from its workloads to its report.

use crate::check::{self, Outcome};
use crate::exit::No;
use crate::experiment::manifest::{Cell, Manifest, State};
use crate::experiment::{self, Options, Plan, Shard};
use crate::report;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, anyhow};
use comfy_table::CellAlignment;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs an experiment: workloads on targets, over seeds, as a TOML file says.
///
/// Every workload with every seed on every target is a cell, an ordinary run below EXP/cells. Cells that are done are
/// not run again, so the same command goes on after an interruption, after an error, or with a file that was changed.
/// Paths in the file are meant from its folder.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage run --show policies > policies.toml\n  fsage run policies.toml --dry-run\n  \
                  fsage run policies.toml -o results\n  fsage run policies.toml -o results --shard 1/4"
)]
pub struct Args {
    /// The experiment file.
    #[arg(required_unless_present_any = ["list", "show"])]
    file: Option<PathBuf>,
    /// Folder for the results; one that is there goes on [default: the name of the file, without its ending].
    #[arg(short, long, value_name = "EXP")]
    output: Option<PathBuf>,
    /// List the cells and how far they are, and run none.
    #[arg(long)]
    dry_run: bool,
    /// Only a share of the cells, as in 1/4 to 4/4: for several machines.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Cells of simulated targets that run at the same time [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print the results, or the cells, as JSON.
    #[arg(long)]
    json: bool,
    /// List the experiments that come with fsage.
    #[arg(long, conflicts_with_all = ["file", "output", "dry_run", "shard"])]
    list: bool,
    /// Print the file of one of them: a start for one's own.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "output", "dry_run", "shard", "json"])]
    show: Option<String>,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../presets/experiments/", $name, ".toml")))),*]
    };
}

/// Name and TOML of the experiments that come with fsage.
const EXAMPLES: [(&str, &str); 2] = embedded!("policies", "ext4-xfs");

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    folder: String,
    report: Option<String>,
    results: &'a [experiment::Row],
    check: Option<&'a Outcome>,
    cells: &'a [Cell],
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.list {
        return list(args.json);
    }
    if let Some(name) = &args.show {
        ui::stdout().write_all(example(name)?.as_bytes())?;
        return Ok(());
    }
    let file = args
        .file
        .as_deref()
        .context("the experiment file is needed")?;
    let text = fs::read_to_string(file).with_context(|| {
        format!(
            "{}: cannot read it; `fsage run --show policies` prints an experiment file",
            file.display()
        )
    })?;
    let stem = file.file_stem().unwrap_or_default();
    let shown = args.output.clone().unwrap_or_else(|| PathBuf::from(stem));
    let folder = std::path::absolute(&shown)?;
    enter_folder_of(file)?;
    let plan = Plan::parse(&file.display().to_string(), &stem.to_string_lossy(), &text)?;
    let options = Options {
        threads: args.threads.map(usize::from),
        shard: args.shard,
    };
    let mut out = ui::stdout();
    if args.dry_run {
        let standing = experiment::standing(&plan, &folder, &options)?;
        if args.json {
            summary::print_json(&mut out, &standing.cells)?;
        } else {
            print_cells(&mut out, &standing)?;
        }
        return Ok(out.flush()?);
    }
    let go_on = || format!("{}: the same command goes on", shown.display());
    let ran = experiment::run(&plan, &folder, &options, ui).with_context(go_on)?;
    let rows = experiment::rows(&folder, &ran.manifest)?;
    if !args.json {
        experiment::print_results(&mut out, &rows)?;
        out.flush()?;
    }
    let mut page = None;
    let mut checked = None;
    if ran.is_over() {
        if plan.writes_report {
            report::write(&folder, &folder.join(report::PAGE), ui)?;
            page = Some(shown.join(report::PAGE).display().to_string());
        }
        if let Some(of) = &plan.check {
            checked = Some(check::check(&folder, &of.rules, of.baseline.as_deref())?);
        }
    }
    if args.json {
        let json = Json {
            name: &plan.name,
            folder: shown.display().to_string(),
            report: page.clone(),
            results: &rows,
            check: checked.as_ref(),
            cells: &ran.manifest.cells,
        };
        summary::print_json(&mut out, &json)?;
    } else if let Some(checked) = &checked {
        writeln!(out)?;
        checked.print(&mut out)?;
    }
    out.flush()?;
    if ran.skipped > 0 {
        ui.note(&format!("Cells that were done before: {}.", ran.skipped));
    }
    match page {
        Some(page) => ui.note(&format!("\nThe report is {page}.")),
        None => ui.note(&format!("\nThe experiment is {}.", shown.display())),
    }
    let own = ran
        .manifest
        .cells
        .iter()
        .filter(|cell| options.has(&cell.id));
    fail_if_any_failed(&own.collect::<Vec<_>>(), ran.failed)?;
    match checked {
        Some(checked) if !checked.passed => Err(No(checked.sentence()).into()),
        _ => Ok(()),
    }
}

/// Paths in an experiment file, in its calls and in its targets are meant from its folder, so that is where all of it
/// works.
fn enter_folder_of(file: &Path) -> anyhow::Result<()> {
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new("."));
    std::env::set_current_dir(folder).with_context(|| folder.display().to_string())
}

/// An error if cells failed; it names them.
fn fail_if_any_failed(cells: &[&Cell], status: Option<u8>) -> anyhow::Result<()> {
    let failed = cells.iter().filter(|cell| cell.state == State::Failed);
    let errors = failed.map(|cell| {
        let error = cell.error.as_deref().unwrap_or_default();
        format!("\n  {}: {error}", cell.id)
    });
    let errors: Vec<String> = errors.collect();
    if errors.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{} of {} cells failed; the same command tries them again:{}",
        errors.len(),
        cells.len(),
        errors.concat()
    );
    if status == Some(3) {
        return Err(io::Error::other(text).into());
    }
    Err(No(text).into())
}

fn print_cells(out: &mut impl Write, standing: &Manifest) -> io::Result<()> {
    let mut table = summary::table(&["cell", "target", "seed", "repetition", "state"]);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for cell in &standing.cells {
        table.add_row(vec![
            cell.id.clone(),
            cell.target.clone(),
            cell.seed
                .map_or_else(|| "-".to_owned(), |seed| seed.to_string()),
            cell.repetition.to_string(),
            cell.state.as_str().to_owned(),
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "\n{} cells", standing.cells.len())
}

fn example(name: &str) -> anyhow::Result<&'static str> {
    let found = EXAMPLES.iter().find(|(example, _)| *example == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let names = EXAMPLES.map(|(name, _)| name).join(", ");
        anyhow!("no experiment is called {name}; expected one of {names}")
    })
}

fn list(json: bool) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Example {
        name: &'static str,
        summary: String,
    }
    let mut examples = Vec::new();
    for (name, text) in EXAMPLES {
        let plan = Plan::parse(name, name, text)?;
        let summary = plan.summary;
        examples.push(Example { name, summary });
    }
    let mut out = ui::stdout();
    if json {
        summary::print_json(&mut out, &examples)?;
    } else {
        for example in examples {
            writeln!(out, "{:16} {}", example.name, example.summary)?;
        }
    }
    Ok(out.flush()?)
}
