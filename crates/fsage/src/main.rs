//! `fsage`: a laboratory for file system aging.

#![deny(clippy::print_stdout, clippy::print_stderr)]

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

use std::process::ExitCode;

fn main() -> ExitCode {
    fsage_data::hide_decoder_panics();
    ui::catch_interrupts();
    match exit::parsed::<commands::Cli>() {
        Ok(cli) => exit::code(commands::run(&cli)),
        Err(status) => status,
    }
}
