//! The command line: one file a verb.

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
enum Command {}

/// Runs what the command line says.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    let ui = Ui { quiet: cli.quiet };
    let _ = ui;
    match cli.command {}
}
