//! Foreign snapshots of file systems, one file a format (docs/spec/snapshots.md, section 5).
//!
//! | format | what it is | one input holds |
//! |---|---|---|
//! | [`Format::Find`] | NUL-terminated records of `find -printf` | one snapshot |
//! | [`Format::Csv`] | a table with a header that names the columns | one snapshot or a series |
//! | [`Format::FsHasher`] | `.hash.anon` of the FSL archives, versions 4 to 7 | one snapshot |
//! | [`Format::Gufi`], [`Format::GufiOld`] | trace of the Grand Unified File Index | one snapshot or a part of one |
//!
//! [`Importer`] reads inputs one after another and gives their rows to a [`SnapshotSink`], which sorts them and
//! takes care of hard links and duplicates. What had to be repaired is counted in a [`Summary`].

mod csv;
mod error;
mod find;
mod fs_hasher;
mod gufi;
mod gufi_fields;
mod night;
mod number;
mod paths;
mod recognize;
mod record;
mod summary;

pub use error::{At, SnapshotError};
pub use recognize::Format;
pub use summary::{Repair, Summary};

use fsage_core::SnapshotSink;
use night::Nights;
use std::io::BufRead;

/// What a format leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When the snapshot was taken, ns since 1970 UTC. Only for inputs that do not say it themselves.
    pub taken_at_ns: Option<i64>,
    /// Separates the fields of a GUFI trace.
    pub gufi_delimiter: u8,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            taken_at_ns: None,
            gufi_delimiter: gufi::DELIMITER,
        }
    }
}

/// A time in seconds since 1970 UTC, a fraction allowed, as nanoseconds.
pub fn parse_seconds(text: &str) -> Option<i64> {
    number::seconds(text.as_bytes(), number::Fraction::OfTheNumber).ok()?
}

/// One input, decompressed.
pub struct Input<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// When its file was written, ns since 1970 UTC: the time of a snapshot that does not say its own.
    pub modified_ns: Option<i64>,
    /// Its bytes.
    pub bytes: &'a mut dyn BufRead,
}

/// Reads inputs of one format and gives the snapshots in them to a sink.
pub struct Importer<'a> {
    format: Format,
    taken_at_ns: Option<i64>,
    traces: gufi::Traces,
    nights: Nights<'a>,
}

impl<'a> Importer<'a> {
    /// An importer of one format into `sink`.
    pub fn new(format: Format, options: Options, sink: &'a mut dyn SnapshotSink) -> Importer<'a> {
        Importer {
            format,
            taken_at_ns: options.taken_at_ns,
            traces: gufi::Traces::new(options.gufi_delimiter),
            nights: Nights::new(sink),
        }
    }

    /// Reads one input to its end. Inputs are given in order of time ([`Format::time_ns`]); the inputs of a
    /// GUFI trace are parts of one snapshot, those of other formats follow each other.
    ///
    /// # Errors
    /// The input cannot be read or is not in the format: the message names the place, what was expected and
    /// what was found. The sink failed.
    pub fn read(&mut self, input: &mut Input<'_>) -> Result<(), SnapshotError> {
        let nights = &mut self.nights;
        let taken_at_ns = self.taken_at_ns.or(input.modified_ns);
        match self.format {
            Format::Find => find::read(input, taken_at_ns, nights),
            Format::Csv => csv::read(input, taken_at_ns, nights),
            Format::FsHasher => fs_hasher::read(input, nights),
            Format::Gufi => self.traces.read(input, taken_at_ns, nights),
            Format::GufiOld => self.traces.read_old(input, taken_at_ns, nights),
        }
    }

    /// Ends the last snapshot.
    ///
    /// # Errors
    /// The sink failed.
    pub fn finish(mut self) -> Result<Summary, SnapshotError> {
        self.nights.end()?;
        Ok(self.nights.summary)
    }
}
