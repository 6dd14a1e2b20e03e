//! Exit status: 0 done, 2 wrong usage or bad input, 3 the machine failed us. (1 is for commands whose answer may
//! be "no"; none of them is yet.)

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
