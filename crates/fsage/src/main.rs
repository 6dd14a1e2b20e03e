//! `fsage`: a laboratory for file system aging.
//!
//! The command line alone: words are taken apart here, and what a call of `fsage-lab` or `fsage-papers` gives is
//! printed, as tables, charts in letters or JSON. It may use every crate; what is worth calling from elsewhere belongs
//! to the laboratory.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod directory_table;
mod exit;
mod layout_table;
mod preset;
mod summary;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    fsage_data::hide_decoder_panics();
    // Empty where it is not known.
    fsage_lab::build::set_commit(env!("FSAGE_COMMIT"));
    ui::catch_interrupts();
    match exit::parsed::<commands::Cli>() {
        Ok(cli) => exit::code(commands::run(&cli)),
        Err(status) => status,
    }
}
