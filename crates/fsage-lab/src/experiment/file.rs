//! The experiment file: what may stand in it, and where something wrong stands.

use super::template::{Filling, TableTemplate};
use super::vary::Sample;
use crate::after;
use crate::aging;
use crate::benching;
use crate::error::{error, types_in_words};
use crate::generate::Source;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use toml::{Spanned, Table};

/// The file as it stands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Name of the experiment; that of the file if it has none.
    pub name: Option<Spanned<String>>,
    /// What it asks, in a line.
    #[serde(default)]
    pub summary: String,
    /// Seeds of the workloads that are drawn at random.
    pub seeds: Option<Spanned<toml::Value>>,
    /// How often a cell of a real file system is run; models give the same every time.
    pub repetitions: Option<Spanned<u32>>,
    /// What is aged, with gaps for the values of the matrix.
    pub targets: Spanned<Vec<Spanned<String>>>,
    /// Values of the gaps: lists, or ranges.
    #[serde(default)]
    pub matrix: BTreeMap<Spanned<String>, toml::Value>,
    /// Gaps whose values are drawn together.
    pub sample: Option<Spanned<Sample>>,
    /// The workloads, with gaps.
    #[serde(default)]
    pub workload: Vec<Spanned<Table>>,
    /// How they are aged, with gaps.
    pub age: Option<Spanned<Table>>,
    /// What is benchmarked, with gaps; without it nothing is.
    pub bench: Option<Spanned<Table>>,
    /// What is done to what was aged, with gaps; without it nothing is.
    pub after: Option<Spanned<Table>>,
    /// What must hold; without it nothing is checked.
    pub check: Option<Check>,
    /// The report.
    #[serde(default)]
    pub report: Report,
}

/// The tables that may have gaps, as they are without: for what only the parser of the file can say of them.
#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct WithoutGaps {
    #[serde(default)]
    workload: Vec<Workload>,
    age: Option<aging::Options>,
    bench: Option<benching::Options>,
    after: Option<after::Options>,
}

/// A workload: a file, a preset or a source of `fsage generate`, as `{ git = { repo = ".", clones = 20 } }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name [default: that of the file, the preset or the source].
    pub name: Option<String>,
    /// A workload that is there.
    pub file: Option<String>,
    /// A preset of `fsage generate profile`, or a TOML file of one's own.
    #[serde(alias = "profile")]
    pub preset: Option<String>,
    /// Of a preset, so many days.
    pub days: Option<u64>,
    /// Of a preset, another size of the file system.
    pub capacity: Option<String>,
    /// Of a preset, another utilization, in percent.
    pub utilization: Option<u8>,
    /// Of a preset, files so many times larger.
    pub file_scale: Option<u64>,
    /// Of a preset, other values for keys of its TOML file, as in `set = { "size.mean1" = "{mean}" }`.
    #[serde(default)]
    pub set: Table,
    /// Its source.
    pub generate: Option<Source>,
    /// A seed of its own instead of the seeds of the experiment.
    pub seed: Option<u64>,
}

/// What must hold; the options of `fsage check`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// A file of rules, the name of rules that come with fsage, or rules themselves, in several lines.
    pub rules: Spanned<String>,
    /// A run or an experiment to compare with.
    pub baseline: Option<String>,
}

/// The report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// Write it.
    pub write: bool,
}

impl Default for Report {
    fn default() -> Report {
        Report { write: true }
    }
}

/// A file that is read, to say where in it something is wrong.
pub struct Text<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
}

impl Text<'_> {
    /// Reads the file.
    ///
    /// # Errors
    /// No TOML, or no experiment; the message names the line.
    pub fn parse(&self) -> crate::Result<File> {
        toml::from_str(self.text).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &toml::de::Error) -> crate::Error {
        let what = error.message().replace('\n', "; ");
        let what = types_in_words(&what, "true or false");
        self.wrong(
            &error.span().unwrap_or(0..0),
            format!("{what}; `fsage run --show policies` prints an example"),
        )
    }

    /// What a table stands for with its gaps filled.
    ///
    /// # Errors
    /// A field is not known, or takes something else.
    pub fn filled<T: DeserializeOwned>(
        &self,
        table: &TableTemplate,
        at: &Range<usize>,
        filling: &Filling<'_>,
    ) -> crate::Result<T> {
        table.filled(filling).map_err(|why| {
            // The parser says on which line of the table it is.
            let exact = table
                .gaps()
                .is_empty()
                .then(|| toml::from_str::<WithoutGaps>(self.text).err());
            match exact.flatten() {
                Some(error) => self.refused(&error),
                None => self.wrong(at, why),
            }
        })
    }

    /// An error at a place in the file.
    pub fn wrong(&self, at: &Range<usize>, what: impl Display) -> crate::Error {
        error!("{}:{}: {what}", self.name, 1 + self.lines_before(at))
    }

    /// How many lines come before the one of a place.
    pub fn lines_before(&self, at: &Range<usize>) -> usize {
        let before = self.text.bytes().take(at.start);
        before.filter(|&byte| byte == b'\n').count()
    }

    /// How many lines come before the text in quotes at a place. A line that ends behind the quotes is not part of it.
    pub fn lines_before_text(&self, at: &Range<usize>) -> usize {
        let quoted = self.text.get(at.clone()).unwrap_or_default();
        let text = quoted
            .trim_start_matches(['"', '\''])
            .trim_start_matches('\r');
        self.lines_before(at) + usize::from(text.starts_with('\n'))
    }
}
