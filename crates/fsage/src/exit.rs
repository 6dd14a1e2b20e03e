//! Exit status: 0 done, 1 the answer is "no", 2 wrong usage or bad input, 3 the machine failed us.

use fsage_core::SinkError;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// An error of a source or sink of events. What the system refused is still seen as that, and gets its status.
pub fn boxed(error: SinkError) -> anyhow::Error {
    match error.downcast::<io::Error>() {
        Ok(error) => (*error).into(),
        Err(error) => anyhow::Error::from_boxed(error),
    }
}

/// What a command found that was asked a question. Commands that are only told what to do say yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, or all is well.
    Yes,
    /// Something is wrong: the work was done, and its result says what.
    No,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Answer {
        if yes { Answer::Yes } else { Answer::No }
    }
}

/// The status of an answer; an error is printed to stderr, with its causes.
pub fn code(result: anyhow::Result<Answer>) -> ExitCode {
    let error = match result {
        Ok(Answer::Yes) => return ExitCode::SUCCESS,
        Ok(Answer::No) => return ExitCode::from(1),
        Err(error) => error,
    };
    let status = status_of(&error);
    if status != 0 {
        eprintln!("fsage: {error:#}");
    }
    ExitCode::from(status)
}

fn status_of(error: &anyhow::Error) -> u8 {
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
