//! The papers: what is run for each (`run.toml`), and what it reports (`expected.toml`). Both lie in `papers/`, and are
//! part of the program.

use super::cheng::PopularArticles;
use super::ganger97::plan::Grouping;
use super::jun24::plan::Pieces;
use super::remade::Rules;
use super::seltzer95::plan::Logging;
use crate::words;
use anyhow::{Context, bail};
use fsage_core::size;
use fsage_workload::home::Home;
use fsage_workload::preset::{self, Preset};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// What lies in `papers/` of a paper.
pub struct Files {
    /// Its name.
    pub name: &'static str,
    run: &'static str,
    expected: &'static str,
    contents: &'static str,
    met: &'static str,
    readings: &'static str,
}

macro_rules! files {
    ($name:literal) => {
        Files {
            name: $name,
            run: include_str!(concat!("../../../papers/", $name, "/run.toml")),
            expected: include_str!(concat!("../../../papers/", $name, "/expected.toml")),
            contents: include_str!(concat!("../../../papers/", $name, "/contents.toml")),
            met: include_str!(concat!("../../../papers/", $name, "/met.toml")),
            readings: include_str!(concat!("../../../papers/", $name, "/readings.toml")),
        }
    };
}

/// The papers.
pub const PAPERS: [Files; 6] = [
    files!("smith96"),
    files!("smith97"),
    files!("seltzer95"),
    files!("ganger97"),
    files!("cheng"),
    files!("jun24"),
];

/// A paper: its experiments and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// The name by which the command line knows it.
    pub name: String,
    /// What is run.
    pub run: Run,
    /// What it reports.
    pub expected: Vec<Expected>,
    /// What it has: every figure, table and section is named by a row.
    pub contents: Contents,
    /// What may be read in another way, by name.
    pub readings: BTreeMap<String, Reading>,
    /// The reading that is run, if it is not the one of `run.toml`.
    pub reading: Option<String>,
    looks: Vec<Look>,
}

/// Another reading of what a paper leaves open.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// What is different, and why it may be.
    pub text: String,
    /// Keys of `run.toml` with other values; `false` takes a key away.
    pub run: toml::Table,
}

/// Whether a key of a plan has no value of its own, and need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Lays `over` on `table`, table by table.
fn lay_over(table: &mut toml::Table, over: &toml::Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(over)) => lay_over(below, over),
            (Some(toml::Value::Table(_)), toml::Value::Boolean(false)) => {
                table.remove(key);
            }
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// What a paper has, from its own text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Figures: how many, from 1 on, or those that are known where the text is not at hand.
    pub figures: Figures,
    /// Tables, from 1 on.
    pub tables: u32,
    /// Sections that tell a mechanism, a method or a result.
    pub sections: Vec<String>,
}

/// The figures of a paper.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Figures {
    /// So many, from 1 on.
    All(u32),
    /// These.
    Known(Vec<u32>),
}

impl Contents {
    /// Every place that a row must name.
    pub fn places(&self) -> Vec<String> {
        let numbered = |what: &str, numbers: Vec<u32>| {
            let places = numbers.into_iter().map(|n| format!("{what} {n}"));
            places.collect::<Vec<_>>()
        };
        let figures = match &self.figures {
            Figures::All(count) => (1..=*count).collect(),
            Figures::Known(numbers) => numbers.clone(),
        };
        let sections = self
            .sections
            .iter()
            .map(|section| format!("section {section}"));
        [
            numbered("figure", figures),
            numbered("table", (1..=self.tables).collect()),
            sections.collect(),
        ]
        .concat()
    }
}

/// Rows that are met by a run with certain options.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    /// The options of `fsage reproduce` that the run has beside the name of the paper; empty as printed.
    options: String,
    /// The rows.
    met: Vec<String>,
}

/// What is run for a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Title of the paper.
    pub title: String,
    /// Who wrote it.
    pub authors: String,
    /// Where and when.
    pub published: String,
    /// What it asks.
    pub question: String,
    /// Preset of the disk.
    pub device: String,
    /// Preset of the host.
    pub host: String,
    /// Runs of every measurement.
    pub repetitions: u32,
    /// Seed of workloads and of the angles of the spindle.
    pub seed: u64,
    /// Name and specification of every file system.
    pub targets: BTreeMap<String, String>,
    /// What is done with them.
    pub experiments: Experiments,
}

/// What a paper does with its file systems: one kind for each way of working.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiments {
    /// Allocators of FFS, aged with one workload: Smith and Seltzer.
    Allocators(Allocators),
    /// A log beside an FFS, and what age does to an FFS: Seltzer and others.
    Logging(Box<Logging>),
    /// Embedded inodes and explicit grouping, each alone and together: Ganger and Kaashoek.
    Grouping(Grouping),
    /// A bulletin board on a disk that is rearranged, and on one that is not: Cheng et al.
    Rearrangement(Rearrangement),
    /// A file in pieces on flash: Jun and others.
    Pieces(Pieces),
}

/// A bulletin board on a disk that is rearranged, and on one that is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rearrangement {
    /// The disk of the figures has so many times fewer cylinders.
    pub scale: u32,
    /// Operations that are timed.
    pub operations: u64,
    /// How full the file systems are before, in percent.
    pub utilization: Vec<u64>,
    /// Where the time goes is shown at these of them, ascending; readings and devices at the last.
    pub tables_at: Vec<u64>,
    /// Keys of the file system that rearranges, with other values.
    pub sensitivity: BTreeMap<String, Vec<String>>,
    /// Devices on which both file systems are compared, by what they are.
    pub devices: BTreeMap<String, String>,
    /// Articles that are read again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub popular: Option<PopularArticles>,
}

/// Allocators of FFS, aged with one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocators {
    /// The aging workload.
    pub workload: Workload,
    /// The sequential benchmark.
    pub sequential: Sequential,
    /// The sequential benchmark at many small sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small_sizes: Option<SmallSizes>,
    /// The benchmark of files that were modified last.
    pub hot_files: HotFiles,
    /// A host with less bandwidth, on which the sequential benchmark is run too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slower_host: Option<String>,
}

impl Rearrangement {
    /// Looks at other utilizations only, in percent.
    pub fn set_utilization(&mut self, mut percents: Vec<u64>) {
        percents.sort_unstable();
        percents.dedup();
        self.tables_at.retain(|percent| percents.contains(percent));
        if self.tables_at.is_empty() {
            self.tables_at.extend(percents.last());
        }
        self.utilization = percents;
    }
}

/// The aging workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Preset of the home generator.
    pub preset: String,
    /// Days, if not those of the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
    /// Keys of the preset's `[home]` that have another value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, serde_json::Value>,
    /// What ages the file systems is made of snapshots of what the preset does to another one; without, the preset ages
    /// them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
}

/// How a workload is made of snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// By the rules of this paper.
    pub rules: Rules,
    /// The file system of which snapshots are taken.
    pub truth: String,
    /// The workload has what snapshots show alone; else files that live for less than a day, too, drawn from a week of
    /// the truth.
    #[serde(default)]
    pub snapshots_alone: bool,
}

/// The sequential benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequential {
    /// Bytes of all files of one size.
    pub total: Bytes,
    /// Files of a directory.
    pub files_per_directory: u64,
    /// Sizes of files, ascending.
    pub sizes: Vec<Bytes>,
}

/// The sequential benchmark at many small sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallSizes {
    /// The smallest size.
    pub first: Bytes,
    /// The largest size.
    pub last: Bytes,
    /// From one size to the next.
    pub step: Bytes,
    /// Runs of every size.
    pub repetitions: u32,
}

impl SmallSizes {
    /// All sizes in bytes, ascending.
    pub fn sizes(&self) -> Vec<u64> {
        (self.first.0..=self.last.0)
            .step_by(self.step.0.max(1) as usize)
            .collect()
    }
}

/// The benchmark of files that were modified last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotFiles {
    /// They were modified in so many days at the end of the workload.
    pub days: u32,
}

/// Bytes, written as `64K`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Bytes, String> {
        let bytes = size::parse(&text)
            .map_err(|e| format!("{text}: {e}; expected a size, as in 16K or 1M"))?;
        if bytes == 0 {
            return Err(format!("{text}: expected at least 1 byte"));
        }
        Ok(Bytes(bytes))
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> String {
        short(bytes.0)
    }
}

/// A size as `run.toml` writes it: `16K`, `4M`.
pub fn short(bytes: u64) -> String {
    match bytes {
        b if b > 0 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b > 0 && b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

/// What kind of figure a paper gives, and how far ours may be from it. The bands come from the papers: what Seltzer et
/// al. call agreement between a model and a measurement, how far apart Smith and Seltzer's real and simulated layouts
/// are, the last printed digit, the scatter of a count. Words are in `words`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One figure over another, a share, or a loss or gain in percent, which is the value then: within 10 %.
    Ratio,
    /// One figure over another, where a gain or a loss is printed: within 10 % of what is gained or lost.
    Change,
    /// A layout score or another share of blocks or files: within 0.03, half of the smaller of the differences with
    /// which Smith and Seltzer are content.
    Layout,
    /// A factor or a range in round figures: within half a step of the last digit, as `words::step` has it.
    Round,
    /// A share of so many tests: within its standard deviation, and at least within one test.
    Count,
    /// Anything with a unit, of a machine, and counts of another model: within 15 % of the value.
    Absolute,
    /// A figure of a simulation with the constants of ours: within so many percent as the row says, by how much of what
    /// was measured is in ours (docs/spec/flash.md, section 12.2).
    Simulated,
    /// A figure that is met exactly or not at all.
    Exact,
    /// "An order of magnitude".
    OrderOfMagnitude,
    /// "Comparable", "the same", of two figures by their ratio.
    Comparable,
    /// "Nearly" or "slightly less than" the value.
    Nearly,
    /// A statement about curves or a mechanism, without a value.
    Shape,
}

impl Kind {
    /// The word of `expected.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Ratio => "ratio",
            Kind::Change => "change",
            Kind::Layout => "layout",
            Kind::Round => "round",
            Kind::Count => "count",
            Kind::Absolute => "absolute",
            Kind::Simulated => "simulated",
            Kind::Exact => "exact",
            Kind::OrderOfMagnitude => "order-of-magnitude",
            Kind::Comparable => "comparable",
            Kind::Nearly => "nearly",
            Kind::Shape => "shape",
        }
    }
}

/// How a published value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// The paper prints it.
    Printed,
    /// It follows from what the paper prints, by the arithmetic of the row.
    Derived,
    /// It was read off a figure.
    Figure,
    /// It is an input: the workload is made so that it comes out, or what the paper leaves open was read from it.
    Calibrated,
    /// The program is built so, or computes it from the paper's own constants.
    Construction,
    /// It was counted by another model of the rules, or by hand; no paper has it.
    Counted,
}

impl Known {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Known::Printed => "printed",
            Known::Derived => "derived",
            Known::Figure => "read off a figure",
            Known::Calibrated => "calibrated",
            Known::Construction => "by construction",
            Known::Counted => "counted",
        }
    }
}

/// One number or statement of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its name here.
    pub id: String,
    /// Where the paper has it: sections, figures and tables, with commas between them.
    pub place: String,
    /// What it says.
    pub statement: String,
    /// How it is read or measured here, where the statement leaves that open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// How the value or the statement is known.
    pub known: Known,
    /// The arithmetic of a derived value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What kind of figure.
    pub kind: Kind,
    /// The published figure; none of a shape or of a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The other end, where a range is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Of so many tests it is a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// Percent by which a figure of a simulation may be off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// What is claimed, where the paper allows several readings: each is a row, and they count once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Where it comes from, if not from the paper; such a row does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why it cannot be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measurable: Option<String>,
}

impl Expected {
    /// Whether a figure of ours agrees.
    pub fn is_met_by(&self, ours: f64) -> bool {
        match (self.kind, self.value, self.upper) {
            (Kind::OrderOfMagnitude, ..) => words::order_of_magnitude(ours),
            (Kind::Comparable, ..) => words::comparable(ours),
            (Kind::Nearly, Some(value), _) => words::nearly(ours / value),
            (_, Some(value), upper) => {
                let upper = upper.unwrap_or(value);
                // Decimal figures are no binary ones: 1.68 is within 0.10 of 1.58.
                value - ours <= self.allowed(value) + 1e-9
                    && ours - upper <= self.allowed(upper) + 1e-9
            }
            (_, None, _) => false,
        }
    }

    /// How far ours may be from one end of the published range.
    fn allowed(&self, end: f64) -> f64 {
        match self.kind {
            Kind::Ratio => end.abs() * 0.10,
            Kind::Change => (end - 1.0).abs() * 0.10,
            Kind::Layout => 0.03,
            Kind::Round => words::step(self.value.unwrap_or(end), self.upper) / 2.0,
            Kind::Count => {
                let of = f64::from(self.of.unwrap_or(1));
                (end * (1.0 - end) / of).sqrt().max(1.0 / of)
            }
            Kind::Absolute => end.abs() * words::AGREEMENT,
            Kind::Simulated => end.abs() * self.percent.unwrap_or(0.0) / 100.0,
            _ => 0.0,
        }
    }

    /// How far a figure may be from the published one, as text; none of a statement or a word.
    pub fn band_text(&self) -> Option<String> {
        let value = self.value?;
        match self.kind {
            Kind::Ratio => Some("± 10 %".to_owned()),
            Kind::Change => Some("± 10 % of the change".to_owned()),
            Kind::Absolute => Some(format!("± {:.0} %", 100.0 * words::AGREEMENT)),
            Kind::Simulated => Some(format!("± {} %", self.percent.unwrap_or(0.0))),
            Kind::Nearly => Some(format!("{:.0} % less", 100.0 * words::AGREEMENT)),
            Kind::Exact => Some("exactly".to_owned()),
            Kind::Round => Some(format!("± {}", self.allowed(value))),
            _ => Some(format!("± {:.2}", self.allowed(value))),
        }
    }

    /// Whether it is a row of the paper itself.
    pub fn is_own(&self) -> bool {
        self.source.is_none()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetFile {
    look: Vec<Look>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFile {
    expected: Vec<Expected>,
}

impl Paper {
    /// The paper of that name.
    ///
    /// # Errors
    /// There is none; the known ones are named.
    pub fn named(name: &str) -> anyhow::Result<Paper> {
        let Some(files) = PAPERS.iter().find(|files| files.name == name) else {
            let known = PAPERS.map(|files| files.name).join(", ");
            bail!("no paper is called `{name}`; known: {known} (`fsage reproduce --list`)");
        };
        Paper::parse(files)
    }

    fn parse(files: &Files) -> anyhow::Result<Paper> {
        fn read<T: DeserializeOwned>(name: &str, file: &str, text: &str) -> anyhow::Result<T> {
            toml::from_str(text).with_context(|| format!("papers/{name}/{file}.toml"))
        }
        let name = files.name;
        let expected: ExpectedFile = read(name, "expected", files.expected)?;
        let met: MetFile = read(name, "met", files.met)?;
        Ok(Paper {
            name: name.to_owned(),
            run: read(name, "run", files.run)?,
            expected: expected.expected,
            contents: read(name, "contents", files.contents)?,
            readings: read(name, "readings", files.readings)?,
            reading: None,
            looks: met.look,
        })
    }

    /// The same in another reading, by its name in `readings.toml`, or a file of the same form as its `run`.
    ///
    /// # Errors
    /// There is no such reading; it does not fit `run.toml`.
    pub fn read_as(mut self, reading: &str) -> anyhow::Result<Paper> {
        let over = match self.readings.get(reading) {
            Some(known) => known.run.clone(),
            None if Path::new(reading).extension().is_some_and(|e| e == "toml") => {
                let text = fsage_input::text(Path::new(reading), fsage_input::TEXT_BYTES);
                toml::from_str(&text.with_context(|| reading.to_owned())?)
                    .with_context(|| reading.to_owned())?
            }
            None => {
                let known: Vec<&str> = self.readings.keys().map(String::as_str).collect();
                bail!(
                    "no reading of {} is called `{reading}`; known: {}, or a file that ends in .toml",
                    self.name,
                    known.join(", ")
                );
            }
        };
        let files = PAPERS.iter().find(|files| files.name == self.name);
        let files = files.context("a paper of the list")?;
        let mut table: toml::Table = toml::from_str(files.run)?;
        lay_over(&mut table, &over);
        self.run = table
            .try_into()
            .with_context(|| format!("reading {reading} of {}", self.name))?;
        self.reading = Some(reading.to_owned());
        Ok(self)
    }

    /// The same as `run.toml` and its reading have it.
    ///
    /// # Errors
    /// The file of the reading is gone.
    pub fn printed(&self) -> anyhow::Result<Paper> {
        let printed = Paper::named(&self.name)?;
        match &self.reading {
            Some(reading) => printed.read_as(reading),
            None => Ok(printed),
        }
    }

    /// The options of `fsage reproduce` that lead from what is printed to this run, each behind a blank.
    pub fn options(&self) -> String {
        let mut options = String::new();
        if let Some(reading) = &self.reading {
            let _ = write!(options, " --reading {reading}");
        }
        let Ok(printed) = self.printed() else {
            return options;
        };
        let (ours, printed) = (&self.run, &printed.run);
        if ours.seed != printed.seed {
            let _ = write!(options, " --seed {}", ours.seed);
        }
        if ours.repetitions != printed.repetitions {
            let _ = write!(options, " --repetitions {}", ours.repetitions);
        }
        if ours.device != printed.device {
            let _ = write!(options, " --device {}", ours.device);
        }
        if ours.host != printed.host {
            let _ = write!(options, " --host {}", ours.host);
        }
        options + &ours.experiments.options_from(&printed.experiments)
    }

    /// The rows that a run with these options must meet.
    ///
    /// # Errors
    /// None are known with these options; those with which they are known are named.
    pub fn required(&self) -> anyhow::Result<&[String]> {
        let options = self.options();
        let look = self
            .looks
            .iter()
            .find(|look| look.options == options.trim_start());
        let look = look.with_context(|| {
            let known = self.looks.iter().map(|look| match &*look.options {
                "" => "none".to_owned(),
                options => format!("`{options}`"),
            });
            let known: Vec<String> = known.collect();
            format!(
                "--check: which rows are met is known of {} with these options: {}",
                self.name,
                known.join(", ")
            )
        })?;
        Ok(&look.met)
    }

    /// The published figure of that name.
    ///
    /// # Panics
    /// There is none: a mistake in the program, which a test finds.
    pub fn value(&self, id: &str) -> f64 {
        let found = self.expected.iter().find(|expected| expected.id == id);
        found
            .and_then(|expected| expected.value)
            .unwrap_or_else(|| panic!("{}: no value is called {id}", self.name))
    }
}

impl Experiments {
    /// Days of the workload, with as many operations a day.
    ///
    /// # Errors
    /// The experiments have no days.
    pub fn set_days(&mut self, days: u64) -> anyhow::Result<()> {
        match self {
            Experiments::Allocators(plan) => plan.workload.days = Some(days),
            Experiments::Logging(plan) => plan.set_days(days),
            Experiments::Grouping(plan) => plan.aged.generations = Some(days),
            Experiments::Rearrangement(_) => {
                bail!("--days: this paper has no days; --operations and --scale give a quick look")
            }
            Experiments::Pieces(_) => {
                bail!(
                    "--days: this paper has no days; --repetitions and --operations give a quick look"
                )
            }
        }
        Ok(())
    }

    /// Sizes of files, which are sorted.
    ///
    /// # Errors
    /// There is none; the experiments have no sizes.
    pub fn set_sizes(&mut self, mut sizes: Vec<Bytes>) -> anyhow::Result<()> {
        sizes.sort_unstable();
        sizes.dedup();
        let (Some(least), Some(most)) = (sizes.first().copied(), sizes.last().copied()) else {
            bail!("--sizes: expected at least one size");
        };
        match self {
            Experiments::Allocators(plan) => {
                if let Some(small) = &mut plan.small_sizes {
                    small.first = small.first.max(least);
                    small.last = small.last.min(most);
                }
                plan.sequential.sizes = sizes;
            }
            Experiments::Logging(plan) => plan.by_size.sizes = sizes,
            Experiments::Grouping(_) => {
                bail!("--sizes: this paper has no curves by size of files; leave it out");
            }
            Experiments::Rearrangement(_) => bail!("--sizes: all files of this paper have 4 KB"),
            Experiments::Pieces(_) => {
                bail!("--sizes: this paper reads one file of 8 MB; leave it out")
            }
        }
        Ok(())
    }

    /// Operations of a benchmark, or rows of a database.
    ///
    /// # Errors
    /// The experiments have neither.
    pub fn set_operations(&mut self, operations: u64) -> anyhow::Result<()> {
        if let Experiments::Pieces(plan) = self {
            plan.rows = operations;
            return Ok(());
        }
        let plan = self.rearrangement("--operations")?;
        if let Some(popular) = &mut plan.popular {
            popular.scale(operations, plan.operations);
        }
        plan.operations = operations;
        Ok(())
    }

    /// The experiments of a disk that is rearranged.
    ///
    /// # Errors
    /// The paper has none; `option` of the command line asked for them.
    pub fn rearrangement(&mut self, option: &str) -> anyhow::Result<&mut Rearrangement> {
        match self {
            Experiments::Rearrangement(plan) => Ok(plan),
            _ => {
                bail!("{option}: not with this paper; --days and --sizes give a quick look")
            }
        }
    }

    /// The options of the command line that lead from `printed` to these experiments.
    pub fn options_from(&self, printed: &Experiments) -> String {
        let mut options = String::new();
        match (self, printed) {
            (Experiments::Allocators(ours), Experiments::Allocators(printed)) => {
                if let Some(days) = ours.workload.days {
                    let _ = write!(options, " --days {days}");
                }
                push_sizes(
                    &mut options,
                    &ours.sequential.sizes,
                    &printed.sequential.sizes,
                );
            }
            (Experiments::Logging(ours), Experiments::Logging(printed)) => {
                if let Some(days) = ours.fragmentation.days {
                    let _ = write!(options, " --days {days}");
                }
                push_sizes(&mut options, &ours.by_size.sizes, &printed.by_size.sizes);
            }
            (Experiments::Grouping(ours), Experiments::Grouping(_)) => {
                if let Some(generations) = ours.aged.generations {
                    let _ = write!(options, " --days {generations}");
                }
            }
            (Experiments::Rearrangement(ours), Experiments::Rearrangement(printed)) => {
                if ours.scale != printed.scale {
                    let _ = write!(options, " --scale {}", ours.scale);
                }
                if ours.utilization != printed.utilization {
                    let percents = ours.utilization.iter().map(u64::to_string);
                    let percents: Vec<String> = percents.collect();
                    let _ = write!(options, " --utilization {}", percents.join(","));
                }
                if ours.operations != printed.operations {
                    let _ = write!(options, " --operations {}", ours.operations);
                }
            }
            (Experiments::Pieces(ours), Experiments::Pieces(printed))
                if ours.rows != printed.rows =>
            {
                let _ = write!(options, " --operations {}", ours.rows);
            }
            _ => {}
        }
        options
    }

    /// The workload, in a sentence that names `seed`.
    pub fn workload_text(&self, seed: u64) -> String {
        match self {
            Experiments::Allocators(plan) => {
                let days = match plan.workload.days {
                    Some(days) => format!(", {days} days of it"),
                    None => String::new(),
                };
                let method = match &plan.workload.method {
                    Some(method) => {
                        format!(", made again from nightly snapshots of `{}`", method.truth)
                    }
                    None => String::new(),
                };
                let keys: Vec<String> = plan
                    .workload
                    .keys
                    .iter()
                    .map(|(k, v)| format!("{k} = {v}"))
                    .collect();
                let keys = match keys.as_slice() {
                    [] => String::new(),
                    keys => format!(", but {}", keys.join(", ")),
                };
                format!(
                    "Workload {}{keys} with seed {seed}{days}{method}: synthetic, and not the authors' own, which is \
                     not public.",
                    plan.workload.preset
                )
            }
            Experiments::Logging(plan) => plan.fragmentation.workload_text(seed),
            Experiments::Grouping(plan) => plan.workload_text(seed),
            Experiments::Rearrangement(plan) => format!(
                "Benchmarks bbs and bbs-writes with {} operations, on a disk with {} times fewer cylinders.",
                plan.operations, plan.scale
            ),
            Experiments::Pieces(plan) => format!(
                "The programs of the artifact, with {} rows in the database; layouts at random are the one that the \
                 artifact drew, and those drawn from seed {seed} on.",
                plan.rows
            ),
        }
    }
}

/// Adds the sizes of files where they are not the printed ones.
fn push_sizes(options: &mut String, sizes: &[Bytes], printed: &[Bytes]) {
    if sizes != printed {
        let sizes: Vec<String> = sizes.iter().map(|size| short(size.0)).collect();
        let _ = write!(options, " --sizes {}", sizes.join(","));
    }
}

impl Workload {
    /// The home directories of the workload.
    ///
    /// # Errors
    /// The preset is unknown, or made by another generator.
    pub fn home(&self) -> anyhow::Result<(Home, Preset)> {
        let name = &self.preset;
        let text = preset::toml_of(name).with_context(|| format!("no workload preset `{name}`"))?;
        let preset = Preset::parse_with(name, text, &toml::Table::try_from(&self.keys)?)?;
        let preset::Generator::Home(home) = &preset.generator else {
            bail!("preset `{name}` is no preset of home directories");
        };
        let home = match self.days {
            Some(days) => (**home).clone().with_days(days),
            None => (**home).clone(),
        };
        Ok((home, preset))
    }
}

#[cfg(test)]
mod tests;
