//! Exit status: 0 done, 1 the answer is "no", 2 wrong usage or bad input, 3 the machine failed us.

use crate::ui;
use anyhow::Context;
use clap::Parser;
use fsage_lab::error::Kind;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// The answer of a command is "no", and this is why.
#[derive(Debug)]
pub struct No(pub String);

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for No {}

/// There is no answer, because the machine does not do the same each time.
#[derive(Debug)]
pub struct Unsteady(pub String);

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsteady {}

/// Prints an error to stderr, with its causes, and says which status it means.
pub fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let status = status_of(&error);
    if status != 0 {
        ui::say(&format!("fsage: {error:#}"));
    }
    ExitCode::from(status)
}

/// The command line, or the exit status where there is nothing to run: its help was asked for, or it is wrong.
pub fn parsed<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|error| {
        let printed = error.print().and_then(|()| io::stdout().flush());
        match printed {
            // Nobody hears that it is wrong, and wrong it is.
            _ if error.use_stderr() => ExitCode::from(2),
            printed => code(printed.context("cannot write to standard output")),
        }
    })
}

/// The exit status of an error.
pub fn status_of(error: &anyhow::Error) -> u8 {
    if error.is::<No>() {
        return 1;
    }
    if error.is::<Unsteady>() {
        return Kind::System.exit_status();
    }
    // Of a closed pipe 0: its reader went away, as `head` does, and nothing is wrong.
    Kind::of(error.chain()).exit_status()
}
