//! `fsage`: a laboratory for file system aging.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod directory_table;
mod exit;
mod layout_table;
mod summary;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    fsage_data::hide_decoder_panics();
    ui::catch_interrupts();
    match exit::parsed::<commands::Cli>() {
        Ok(cli) => exit::code(commands::run(&cli)),
        Err(status) => status,
    }
}
