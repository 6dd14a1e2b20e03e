//! What a metric is: one [`Metric`] each, and the list of them, [`METRICS`].
//!
//! A metric says here what the rest of the laboratory has to know of it. The columns of `days.parquet`, JSON,
//! `fsage measure`, rules of `fsage check`, reports and documentation go by the list.

use crate::sign::Sign;
use crate::{METRICS, Measures};
use fsage_core::{FileView, Geometry};
use std::ptr;

/// A number that a layout is measured by.
#[derive(Debug)]
pub struct Metric {
    /// Its name: of the column, of the key in JSON, and in rules.
    pub id: &'static str,
    /// What it is in a few words, in tables of people.
    pub title: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// What it is, in one sentence.
    pub doc: &'static str,
    /// Whether more of it is better.
    pub better: Better,
    /// With which others it is shown.
    pub section: Section,
    /// That of the unaged control stands beside it, as the column `control_ID`.
    pub has_control: bool,
    /// The column of it as a multiple of that of the control, if there is one.
    pub ratio: Option<&'static str>,
    /// Where this one is 0 it says nothing, whatever its value.
    pub unless_zero: Option<&'static Metric>,
    /// How often columns had been added before its own: later columns stand behind earlier ones, and those of the
    /// control behind all. Readers go by name. Those of 0 are in every run.
    pub generation: u8,
    /// How it is found.
    pub value: Value,
}

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// So many of something: `files`.
    Number(&'static str),
    /// Bytes.
    Bytes,
    /// A share from 0 to 1, which people read as percent.
    Share,
    /// A score from 0 to 1.
    Score,
    /// A mean or a multiple: `pieces per file`, with so many digits behind the point.
    Mean(&'static str, u8),
    /// 1 for yes, 0 for no.
    Flag,
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It says what there is, not how good that is.
    Neither,
}

/// Metrics that are shown together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What there is.
    Files,
    /// How the blocks of files lie together.
    Layout,
    /// How files lie to each other.
    DirectoryOrder,
    /// What is free, and in what pieces.
    FreeSpace,
    /// Segments and cleaner of a log.
    Log,
}

/// How a metric is found; `None` where it is not known.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A whole number.
    Count(fn(&Measures) -> Option<u64>),
    /// Any number.
    Real(fn(&Measures) -> Option<f64>),
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of one that counts.
    Count(u64),
    /// Of any other.
    Real(f64),
}

/// What a metric adds up over all inodes.
pub(crate) trait Summed {
    /// Counts an inode of any kind, or takes back what it counted.
    fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign);
}

impl Metric {
    /// The generation of metrics that are new.
    const NEWEST: u8 = 2;

    /// A metric that counts.
    pub const fn count(
        id: &'static str,
        title: &'static str,
        unit: Unit,
        section: Section,
        doc: &'static str,
        value: fn(&Measures) -> Option<u64>,
    ) -> Metric {
        Metric::new(id, title, unit, section, doc, Value::Count(value))
    }

    /// A metric that is a share, a score or a mean.
    pub const fn real(
        id: &'static str,
        title: &'static str,
        unit: Unit,
        section: Section,
        doc: &'static str,
        value: fn(&Measures) -> Option<f64>,
    ) -> Metric {
        Metric::new(id, title, unit, section, doc, Value::Real(value))
    }

    const fn new(
        id: &'static str,
        title: &'static str,
        unit: Unit,
        section: Section,
        doc: &'static str,
        value: Value,
    ) -> Metric {
        Metric {
            id,
            title,
            unit,
            doc,
            better: Better::Neither,
            section,
            has_control: false,
            ratio: None,
            unless_zero: None,
            generation: Metric::NEWEST,
            value,
        }
    }

    /// Its value for a layout; `None` where it is not known.
    pub fn of(&self, measures: &Measures) -> Option<Number> {
        match self.value {
            Value::Count(count) => count(measures).map(Number::Count),
            Value::Real(real) => real(measures).map(Number::Real),
        }
    }

    /// Its place in the list.
    fn place(&self) -> usize {
        let mut all = METRICS.iter();
        all.position(|metric| ptr::eq(*metric, self))
            .expect("the file of every metric lists it")
    }
}

impl Unit {
    /// Its name: `bytes`, `share`, `files`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Number(name) | Unit::Mean(name, _) => name,
            Unit::Bytes => "bytes",
            Unit::Share => "share",
            Unit::Score => "score",
            Unit::Flag => "1 or 0",
        }
    }
}

impl Better {
    /// In a word; nothing where neither is better.
    pub fn name(self) -> &'static str {
        match self {
            Better::Higher => "more",
            Better::Lower => "less",
            Better::Neither => "",
        }
    }
}

impl Section {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Section; 5] = [
        Section::Files,
        Section::Layout,
        Section::DirectoryOrder,
        Section::FreeSpace,
        Section::Log,
    ];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Section::Files => "Files",
            Section::Layout => "Layout",
            Section::DirectoryOrder => "Directory order",
            Section::FreeSpace => "Free space",
            Section::Log => "Log",
        }
    }

    /// Its metrics, in the order of the list.
    pub fn metrics(self) -> impl Iterator<Item = &'static Metric> {
        let all = METRICS.iter().copied();
        all.filter(move |metric| metric.section == self)
    }
}

impl Number {
    /// The number, be it a count or not.
    pub fn real(self) -> f64 {
        match self {
            Number::Count(count) => count as f64,
            Number::Real(real) => real,
        }
    }
}

impl From<u64> for Number {
    fn from(count: u64) -> Number {
        Number::Count(count)
    }
}

impl From<f64> for Number {
    fn from(real: f64) -> Number {
        Number::Real(real)
    }
}

/// A value for every metric of the list, where it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers(Vec<Option<Number>>);

impl Numbers {
    /// Those of a layout.
    pub fn of(measures: &Measures) -> Numbers {
        Numbers(METRICS.iter().map(|metric| metric.of(measures)).collect())
    }

    /// The value of a metric; `None` where it is not known.
    ///
    /// # Panics
    /// The metric is not in the list.
    pub fn get(&self, metric: &Metric) -> Option<Number> {
        self.at(metric.place())
    }

    /// The value of the metric at this place of the list; `None` where it is not known.
    pub fn at(&self, place: usize) -> Option<Number> {
        self.0.get(place).copied().flatten()
    }

    /// Sets the value of a metric, of the kind that it is.
    ///
    /// # Panics
    /// The metric is not in the list.
    pub fn set(&mut self, metric: &Metric, value: impl Into<Number>) {
        self.set_at(metric.place(), value.into());
    }

    /// Sets the value of the metric at this place of the list.
    ///
    /// # Panics
    /// The list has no such place.
    pub fn set_at(&mut self, place: usize, value: Number) {
        self.0.resize(METRICS.len(), None);
        self.0[place] = Some(value);
    }

    /// What is known of the metrics that are compared with a control, and nothing of the others.
    #[must_use]
    pub fn compared(mut self) -> Numbers {
        for (number, metric) in self.0.iter_mut().zip(METRICS) {
            *number = number.filter(|_| metric.has_control);
        }
        self
    }
}

/// The metrics of all files as one list.
pub(crate) const fn listed<const N: usize>(files: &[&[&'static Metric]]) -> [&'static Metric; N] {
    let mut all = [files[0][0]; N];
    let (mut file, mut at) = (0, 0);
    while file < files.len() {
        let mut of_file = 0;
        while of_file < files[file].len() {
            all[at] = files[file][of_file];
            (of_file, at) = (of_file + 1, at + 1);
        }
        file += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{layout_score, pieces};
    use std::collections::HashSet;

    #[test]
    fn every_metric_has_a_name_of_its_own_and_says_what_it_is() {
        let mut names = HashSet::new();
        for metric in METRICS {
            let id = metric.id;
            let own = |name: &str| {
                let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                name.chars().all(letters) && !name.is_empty()
            };
            assert!(own(id) && names.insert(id.to_owned()), "{id}");
            assert!(
                metric
                    .ratio
                    .is_none_or(|ratio| own(ratio) && names.insert(ratio.into()))
            );
            assert!(metric.ratio.is_none() || metric.has_control, "{id}");
            assert!(
                !metric.has_control || names.insert(format!("control_{id}")),
                "{id}"
            );
            assert!(
                metric.doc.ends_with('.') && metric.doc.starts_with(char::is_uppercase),
                "{id}: {}",
                metric.doc
            );
            assert!(
                !metric.doc.contains('|') && !metric.doc.contains(". "),
                "{id}"
            );
            assert!(
                !metric.title.is_empty() && !metric.unit.name().is_empty(),
                "{id}"
            );
            assert!(metric.generation <= Metric::NEWEST, "{id}");
        }
        let shown: usize = Section::ALL.iter().map(|s| s.metrics().count()).sum();
        assert_eq!(shown, METRICS.len());
    }

    #[test]
    fn numbers_stand_where_their_metric_does() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.get(&pieces::PIECES), None);
        numbers.set(&pieces::PIECES, 3);
        numbers.set(&layout_score::OPTIMAL, 2);
        assert_eq!(numbers.get(&pieces::PIECES), Some(Number::Count(3)));
        assert_eq!(numbers.get(&layout_score::SCORE), None);
        let compared = numbers.compared();
        assert_eq!(compared.get(&pieces::PIECES), Some(Number::Count(3)));
        assert_eq!(compared.get(&layout_score::OPTIMAL), None);
    }
}
