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
mod fsck;
mod generate;
mod inspect;
mod man;
mod measure;
mod report;
mod reproduce;
mod run;
mod snapshot;
mod targets;
mod verify;
mod verify_method;
mod verify_model;

use crate::ui::Ui;
use clap::{Parser, Subcommand};

/// A laboratory for file system aging: what will a file system look like after years of real use?
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
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
    Check(check::Args),
    Verify(verify::Args),
    Inspect(inspect::Args),
    Convert(convert::Args),
    Export(export::Args),
    Fsck(fsck::Args),
    Diff(diff::Args),
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
        Command::Check(args) => check::run(args, ui),
        Command::Verify(args) => verify::run(args, ui),
        Command::Inspect(args) => inspect::run(args, ui),
        Command::Convert(args) => convert::run(args, ui),
        Command::Export(args) => export::run(args, ui),
        Command::Fsck(args) => fsck::run(args, ui),
        Command::Diff(args) => diff::run(args, ui),
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
