//! Exit status: 0 done, 1 the answer is "no", 2 wrong usage or bad input, 3 the machine failed us.

use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// The command did its work and the answer is "no": exit status 1.
#[derive(Debug)]
pub struct AnswerIsNo(pub String);

impl fmt::Display for AnswerIsNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AnswerIsNo {}

/// Prints an error to stderr, with its causes, and says which status it means.
pub fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let status = status_of(&error);
    if status != 0 {
        eprintln!("fsage: {error:#}");
    }
    ExitCode::from(status)
}

fn status_of(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<AnswerIsNo>().is_some() {
        return 1;
    }
    let io_kind = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<io::Error>())
        .map(io::Error::kind);
    match io_kind {
        // The reader of our output went away, as `head` does: nothing is wrong.
        Some(ErrorKind::BrokenPipe) => 0,
        None
        | Some(
            ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidData
            | ErrorKind::InvalidInput
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::UnexpectedEof,
        ) => 2,
        Some(_) => 3,
    }
}
