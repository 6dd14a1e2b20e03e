//! `fsage`: a laboratory for file system aging.

mod aging;
mod benching;
mod cffs_image;
mod chart;
mod check;
mod collect;
mod commands;
mod days;
mod directory_table;
mod exit;
mod experiment;
mod layout_table;
mod map_file;
mod report;
mod reproduce;
mod run_folder;
mod summary;
mod svg;
mod tree_table;
mod ui;
mod verify;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    fsage_data::hide_decoder_panics();
    ui::catch_interrupts();
    let cli = commands::Cli::parse();
    exit::code(commands::run(&cli))
}
