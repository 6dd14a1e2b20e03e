//! The command line: one file a verb.

mod age;
mod bench;
mod check;
mod compare;
mod completions;
mod convert;
mod demo;
mod device;
mod diff;
mod doctor;
mod export;
mod fleet;
mod forecast;
mod fsck;
mod generate;
mod history;
mod inspect;
mod man;
mod measure;
mod mount;
mod report;
mod reproduce;
mod results;
mod run;
mod snapshot;
mod targets;
mod umount;
mod verify;
mod verify_method;
mod verify_model;

use crate::ui::Ui;
use clap::{Parser, Subcommand};
use fsage_lab::table::wrapped;
use std::fmt::Write as _;

/// The help of fsage: the verbs by what one wants of them.
const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}";

/// Verbs by what one wants of them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Make a workload", &["snapshot", "generate", "convert"]),
    ("Age", &["age", "run", "export"]),
    (
        "Look",
        &[
            "measure", "results", "inspect", "history", "diff", "fleet", "report", "mount",
            "umount",
        ],
    ),
    ("Compare", &["compare", "bench", "forecast", "check"]),
    (
        "Reproduce",
        &["demo", "reproduce", "verify-method", "verify-model"],
    ),
    (
        "Tools",
        &[
            "targets",
            "device",
            "verify",
            "fsck",
            "doctor",
            "completions",
            "man",
        ],
    ),
];

/// A laboratory for file system aging: what will a file system look like after years of real use?
#[derive(Debug, Parser)]
#[command(version = env!("FSAGE_VERSION"), max_term_width = 100, help_template = TEMPLATE, before_help = verbs())]
pub struct Cli {
    /// No progress, no warnings.
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Snapshot(snapshot::Args),
    Generate(generate::Args),
    Age(age::Args),
    Measure(measure::Args),
    Bench(bench::Args),
    Compare(compare::Args),
    Run(run::Args),
    Report(report::Args),
    Results(results::Args),
    Check(check::Args),
    Verify(verify::Args),
    Inspect(inspect::Args),
    History(history::Args),
    Convert(convert::Args),
    Export(export::Args),
    Mount(mount::Args),
    Umount(umount::Args),
    Fsck(fsck::Args),
    Diff(diff::Args),
    Fleet(fleet::Args),
    Forecast(forecast::Args),
    VerifyMethod(verify_method::Args),
    VerifyModel(verify_model::Args),
    Targets(targets::Args),
    Device(device::Args),
    Reproduce(reproduce::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// What stands before the colon of a description.
fn shortened(about: &str) -> &str {
    about.split_once(": ").map_or(about, |(first, _)| first)
}

/// The verbs in their groups, each with what its help says first.
fn verbs() -> String {
    let all = Command::augment_subcommands(clap::Command::new("fsage"));
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{group}:");
        for name in names {
            let about = all.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let (first, others) = (format!("  {name:13}  "), " ".repeat(17));
            let _ = writeln!(text, "{}", wrapped(shortened(&about), &first, &others));
        }
        text.push('\n');
    }
    let _ = write!(text, "`fsage VERB --help` shows all of a verb.");
    text
}

/// Runs what the command line says.
pub fn run(cli: &Cli) -> anyhow::Result<()> {
    let ui = Ui { quiet: cli.quiet };
    match &cli.command {
        Command::Snapshot(args) => snapshot::run(args, ui),
        Command::Generate(args) => generate::run(args, ui),
        Command::Age(args) => age::run(args, ui),
        Command::Measure(args) => measure::run(args, ui),
        Command::Bench(args) => bench::run(args, ui),
        Command::Compare(args) => compare::run(args, ui),
        Command::Run(args) => run::run(args, ui),
        Command::Report(args) => report::run(args, ui),
        Command::Results(args) => results::run(args),
        Command::Check(args) => check::run(args, ui),
        Command::Verify(args) => verify::run(args, ui),
        Command::Inspect(args) => inspect::run(args, ui),
        Command::History(args) => history::run(args, ui),
        Command::Convert(args) => convert::run(args, ui),
        Command::Export(args) => export::run(args, ui),
        Command::Mount(args) => mount::run(args, ui),
        Command::Umount(args) => umount::run(args, ui),
        Command::Fsck(args) => fsck::run(args, ui),
        Command::Diff(args) => diff::run(args, ui),
        Command::Fleet(args) => fleet::run(args, ui),
        Command::Forecast(args) => forecast::run(args, ui),
        Command::VerifyMethod(args) => verify_method::run(args, ui),
        Command::VerifyModel(args) => verify_model::run(args, ui),
        Command::Targets(args) => targets::run(args),
        Command::Device(args) => device::run(args, ui),
        Command::Reproduce(args) => reproduce::run(args, ui),
        Command::Demo(args) => demo::run(args, ui),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_verb_is_in_one_group_and_help_shows_it_in_80_columns() {
        let cli = Cli::command();
        let mut verbs: Vec<&str> = cli
            .get_subcommands()
            .map(clap::Command::get_name)
            .filter(|name| *name != "help")
            .collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        verbs.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, verbs);
        assert_eq!(shortened("Makes, marks: and more"), "Makes, marks");
        let help = Cli::command().term_width(80).render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            help.contains("\nLook:\n  measure  ") && help.contains("Options:\n"),
            "{help}"
        );
    }
}
