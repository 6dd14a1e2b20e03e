//! `fsage`: a laboratory for file system aging.

mod commands;
mod exit;
mod ui;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = commands::Cli::parse();
    exit::code(commands::run(cli))
}
