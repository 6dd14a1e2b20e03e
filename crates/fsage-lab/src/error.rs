//! What went wrong, with its causes, and whose matter it is.

use fsage_core::SinkError;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Why something could not be done: a message that names the file and what was expected, and what caused it.
///
/// Any error becomes one by `?`. `{}` shows the outermost message, `{:#}` all of them on one line. As it takes in every
/// [`std::error::Error`], it is none itself; `?` turns it into a boxed one.
pub struct Error(anyhow::Error);

/// The result of work of the laboratory.
pub type Result<T> = std::result::Result<T, Error>;

/// Whose matter an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request that makes no sense, or bad input: a file that is missing or no such file, a key that nothing knows.
    Input,
    /// The system refused something: no space, no permission, a device that fails; or work was told to stop.
    System,
    /// Whoever read what was written went away, as `head` does.
    ClosedPipe,
}

impl Kind {
    /// Whose matter an error with these causes is: the first one that the system named says so.
    pub fn of<'a>(mut chain: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>) -> Kind {
        let io = chain.find_map(|cause| cause.downcast_ref::<io::Error>());
        match io.map(io::Error::kind) {
            Some(ErrorKind::BrokenPipe) => Kind::ClosedPipe,
            None
            | Some(
                ErrorKind::NotFound
                | ErrorKind::AlreadyExists
                | ErrorKind::InvalidData
                | ErrorKind::InvalidInput
                | ErrorKind::IsADirectory
                | ErrorKind::NotADirectory
                | ErrorKind::UnexpectedEof,
            ) => Kind::Input,
            Some(_) => Kind::System,
        }
    }

    /// What a program of this project exits with: 2 for bad input, 3 where the system refused, 0 where nobody reads on.
    pub fn exit_status(self) -> u8 {
        match self {
            Kind::ClosedPipe => 0,
            Kind::Input => 2,
            Kind::System => 3,
        }
    }
}

impl Error {
    /// An error of a message alone.
    pub fn new(message: impl Display) -> Error {
        Error(anyhow::Error::msg(message.to_string()))
    }

    /// Whose matter it is.
    pub fn kind(&self) -> Kind {
        Kind::of(self.chain())
    }

    /// What went wrong and its causes, the outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        self.0.chain()
    }

    /// The same where it is one of a line of a file, as `line N: ...`: with the name of the file.
    #[must_use]
    pub fn at_line_of(self, file: &Path) -> Error {
        let text = self.to_string();
        match text.strip_prefix("line ") {
            Some(at) if self.kind() == Kind::Input => {
                Error::new(format!("{}:{at}", file.display()))
            }
            _ => self,
        }
    }

    /// The same with a message around it.
    #[must_use]
    pub fn context(self, message: impl Display + Send + Sync + 'static) -> Error {
        Error(self.0.context(message))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Error {
        Error(error.into())
    }
}

impl From<Error> for Box<dyn std::error::Error + Send + Sync> {
    fn from(error: Error) -> Self {
        error.0.into()
    }
}

impl From<Error> for Box<dyn std::error::Error> {
    fn from(error: Error) -> Self {
        error.0.into()
    }
}

/// For programs that use `anyhow`; nothing else here does.
impl From<Error> for anyhow::Error {
    fn from(error: Error) -> anyhow::Error {
        error.0
    }
}

/// An error of a source or sink of events. What the system refused is still seen as that.
pub fn boxed(error: SinkError) -> Error {
    match error.downcast::<io::Error>() {
        Ok(error) => (*error).into(),
        Err(error) => Error(anyhow::Error::from_boxed(error)),
    }
}

/// Says what was tried where something failed.
pub trait Context<T> {
    /// With this message.
    ///
    /// # Errors
    /// What it was before, with the message around it.
    fn context(self, message: impl Display + Send + Sync + 'static) -> Result<T>;

    /// With a message that is made only where it is needed.
    ///
    /// # Errors
    /// What it was before, with the message around it.
    fn with_context<M: Display + Send + Sync + 'static>(
        self,
        message: impl FnOnce() -> M,
    ) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, message: impl Display + Send + Sync + 'static) -> Result<T> {
        self.map_err(|error| error.into().context(message))
    }

    fn with_context<M: Display + Send + Sync + 'static>(
        self,
        message: impl FnOnce() -> M,
    ) -> Result<T> {
        self.map_err(|error| error.into().context(message()))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, message: impl Display + Send + Sync + 'static) -> Result<T> {
        self.ok_or_else(|| Error::new(message))
    }

    fn with_context<M: Display + Send + Sync + 'static>(
        self,
        message: impl FnOnce() -> M,
    ) -> Result<T> {
        self.ok_or_else(|| Error::new(message()))
    }
}

/// An [`Error`] of a message.
macro_rules! error {
    ($($message:tt)*) => { $crate::error::Error::new(format_args!($($message)*)) };
}

/// Returns an [`Error`] of a message.
macro_rules! bail {
    ($($message:tt)*) => { return Err($crate::error::error!($($message)*)) };
}

/// Returns an [`Error`] of a message unless something holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => { if !$holds { $crate::error::bail!($($message)*) } };
}

pub(crate) use {bail, ensure, error};

/// What is wrong with a value, without Rust's names of types; `yes_or_no` is how the writer says a boolean.
pub fn types_in_words(text: &str, yes_or_no: &str) -> String {
    let words = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number from 0 on"),
        ("usize", "a whole number from 0 on"),
        ("f64", "a number"),
        ("a boolean", yes_or_no),
        ("a string", "a text"),
        ("a sequence", "a list"),
        ("a map", "a table"),
        ("struct Options", "a table of options"),
    ];
    let found = words.into_iter().find_map(|(name, words)| {
        let front = text.strip_suffix(name)?;
        let front = front.strip_suffix("expected ")?;
        Some(format!("{front}expected {words}"))
    });
    found.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: ErrorKind) -> Error {
        let failed: std::result::Result<(), _> = Err(io::Error::from(kind));
        failed.context("run.json: cannot be read").unwrap_err()
    }

    #[test]
    fn an_error_says_whose_matter_it_is_however_deep_its_cause() {
        assert_eq!(refused(ErrorKind::NotFound).kind(), Kind::Input);
        assert_eq!(refused(ErrorKind::StorageFull).kind(), Kind::System);
        let wrapped = refused(ErrorKind::BrokenPipe).context("the table");
        assert_eq!(wrapped.kind(), Kind::ClosedPipe);
        assert_eq!(Error::new("no such key").kind(), Kind::Input);
    }

    #[test]
    fn an_error_shows_its_causes_and_becomes_a_boxed_one() {
        let error = refused(ErrorKind::StorageFull).context("a run");
        assert_eq!(error.to_string(), "a run");
        assert_eq!(
            format!("{error:#}"),
            "a run: run.json: cannot be read: no storage space"
        );
        let boxed: Box<dyn std::error::Error + Send + Sync> = error.into();
        assert_eq!(boxed.to_string(), "a run");
    }
}
