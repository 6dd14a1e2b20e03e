//! What may be wrong with a line of `.ops` text.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// Why reading `.ops` text failed.
#[derive(Debug, Error)]
pub enum OpsError {
    /// A line is not what the grammar says. The reader goes on with the next line when it is asked again.
    #[error(transparent)]
    Syntax(Box<SyntaxError>),
    /// The file could not be opened.
    #[error("{file}: cannot open")]
    Open {
        /// The file.
        file: Arc<str>,
        /// What the system says.
        source: io::Error,
    },
    /// The file could not be read to its end, or is compressed and damaged.
    #[error("{file}: cannot read on after line {line}")]
    Io {
        /// The file.
        file: Arc<str>,
        /// The last line that was read.
        line: u64,
        /// What the system, or the decompressor, says.
        source: io::Error,
    },
}

impl OpsError {
    /// Whether the line starts with a word that is no operation.
    pub fn is_unknown_operation(&self) -> bool {
        matches!(self, OpsError::Syntax(e) if e.fault == Fault::UnknownOperation)
    }
}

/// A line that is not what the grammar says: where, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {fault}: expected {expected}, found {found}")]
pub struct SyntaxError {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u64,
    /// The byte of the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub fault: Fault,
    /// What the grammar allows there.
    pub expected: Cow<'static, str>,
    /// What stands there, quoted and cut to a readable length.
    pub found: String,
}

/// The kinds of syntax errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Fault {
    UnknownOperation,
    TooFewArguments,
    TooManyArguments,
    OverwriteArguments,
    NotAnInteger,
    UnknownSuffix,
    Over64Bits,
    BadTime,
    TooManyDecimals,
    TimeAlone,
    NoClosingQuote,
    BadEscape,
    EmptyName,
    SlashInName,
    DotName,
    NulInName,
    TakesNoName,
    NameNotLast,
    UnknownAttribute,
    BadAttribute,
    RepeatedAttribute,
    ArgumentAfterAttribute,
    BadPragma,
    RepeatedPragma,
    LatePragma,
    NewerVersion,
    NotUtf8,
    Nul,
    ControlCharacter,
    LineTooLong,
}

impl Fault {
    /// A few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::UnknownOperation => "unknown operation",
            Fault::TooFewArguments => "too few arguments",
            Fault::TooManyArguments => "too many arguments",
            Fault::OverwriteArguments => "overwrite takes 1 or 3 arguments",
            Fault::NotAnInteger => "not an unsigned decimal integer",
            Fault::UnknownSuffix => "unknown size suffix (K, M, G, T only)",
            Fault::Over64Bits => "does not fit 64 bits",
            Fault::BadTime => "bad time",
            Fault::TooManyDecimals => "bad time: more than 9 decimals",
            Fault::TimeAlone => "time without an operation",
            Fault::NoClosingQuote => "name has no closing quote",
            Fault::BadEscape => "bad escape in a name",
            Fault::EmptyName => "empty name",
            Fault::SlashInName => "slash in a name",
            Fault::DotName => ". and .. are not names",
            Fault::NulInName => "NUL in a name",
            Fault::TakesNoName => "operation takes no name",
            Fault::NameNotLast => "a name must be the last thing on the line",
            Fault::UnknownAttribute => "unknown attribute",
            Fault::BadAttribute => "bad value of an attribute",
            Fault::RepeatedAttribute => "attribute given twice",
            Fault::ArgumentAfterAttribute => "arguments come before attributes",
            Fault::BadPragma => "bad pragma",
            Fault::RepeatedPragma => "pragma given twice",
            Fault::LatePragma => "pragma after the first operation",
            Fault::NewerVersion => "version of the format is newer than this program",
            Fault::NotUtf8 => "invalid UTF-8",
            Fault::Nul => "NUL byte",
            Fault::ControlCharacter => "control character",
            Fault::LineTooLong => "line too long",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A fault inside one line, before file and line number are known.
#[derive(Debug)]
pub(super) struct LineFault {
    pub fault: Fault,
    /// The bytes of the line that are wrong; empty at its end for what is missing.
    pub span: Range<usize>,
    pub expected: Cow<'static, str>,
}

impl LineFault {
    pub fn new(
        fault: Fault,
        span: Range<usize>,
        expected: impl Into<Cow<'static, str>>,
    ) -> LineFault {
        LineFault {
            fault,
            span,
            expected: expected.into(),
        }
    }

    /// The error of that line.
    pub fn in_line(self, file: &Arc<str>, line: u64, text: &[u8]) -> OpsError {
        let span = self.span.start.min(text.len())..self.span.end.min(text.len());
        OpsError::Syntax(Box::new(SyntaxError {
            file: Arc::clone(file),
            line,
            column: self.span.start + 1,
            fault: self.fault,
            expected: self.expected,
            found: match text.get(span.start) {
                Some(b'#') if span.is_empty() => "a comment".to_owned(),
                _ => quoted(&text[span]),
            },
        }))
    }
}

/// Bytes of a line as a message shows them.
fn quoted(found: &[u8]) -> String {
    const SHOWN: usize = 40;
    if found.is_empty() {
        return "the end of the line".to_owned();
    }
    let text = String::from_utf8_lossy(&found[..found.len().min(4 * SHOWN)]);
    let mut shown: String = text
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().count() > SHOWN {
        shown.push_str("...");
    }
    // Quotes in names are what they are: `"a/b"` rather than `\"a/b\"`.
    format!(
        "`{}`",
        shown
            .replace("\\\"", "\"")
            .replace("\\\\", "\\")
            .replace("\\'", "'")
    )
}
