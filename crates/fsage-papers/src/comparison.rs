//! The comparison: every number and statement of a paper, what was measured, and a verdict.

use super::figure::Sheet;
use super::paper::{Expected, Kind, Paper};
use serde::Serialize;
use std::collections::BTreeMap;

/// What came out for one number or statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Ours {
    /// A figure, in the unit of the published one.
    Figure(f64),
    /// Whether a statement holds for our curves, and what they say.
    Shape(bool, String),
}

/// How ours stands to what was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the band; the statement holds.
    Met,
    /// Outside of the band; the statement does not hold.
    Differs,
    /// Not measured with these sizes or days.
    NotMeasured,
}

impl Verdict {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Differs => "differs",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// One line of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What was published.
    #[serde(flatten)]
    pub expected: Expected,
    /// Our figure.
    pub ours: Option<f64>,
    /// What our curves say about a statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How they stand to each other.
    pub verdict: Verdict,
}

impl Line {
    /// Its cells: id, statement, published, ours, verdict.
    pub fn cells(&self) -> Vec<String> {
        vec![
            self.expected.id.clone(),
            self.expected.statement.clone(),
            self.published_text(),
            self.ours_text(),
            self.verdict.as_str().to_owned(),
        ]
    }

    /// The published figure as text; `shape` for a statement.
    pub fn published_text(&self) -> String {
        match (self.expected.value, self.expected.upper) {
            (Some(value), Some(upper)) => {
                format!("{} to {}", self.digits(value), self.figure_text(upper))
            }
            (Some(value), None) => self.figure_text(value),
            (None, _) => "shape".to_owned(),
        }
    }

    /// Ours as text.
    pub fn ours_text(&self) -> String {
        match (self.ours, &self.detail) {
            (Some(ours), _) => self.figure_text(ours),
            (None, Some(detail)) => detail.clone(),
            (None, None) => "-".to_owned(),
        }
    }

    fn figure_text(&self, value: f64) -> String {
        let unit = self.expected.unit.as_deref().unwrap_or_default();
        format!("{} {unit}", self.digits(value))
            .trim_end()
            .to_owned()
    }

    fn digits(&self, value: f64) -> String {
        let digits = match self.expected.kind {
            Kind::Ratio => 2,
            Kind::Layout => 3,
            _ if value.abs() >= 100.0 => 0,
            _ if value.abs() >= 10.0 => 1,
            _ => 2,
        };
        format!("{value:.digits$}")
    }
}

/// What was measured so far, by the name of the published figure.
#[derive(Debug, Default)]
pub struct Measured(BTreeMap<String, Ours>);

impl Measured {
    /// Notes a figure; nothing where it could not be measured.
    pub fn figure(&mut self, id: &str, ours: Option<f64>) {
        if let Some(ours) = ours.filter(|ours| ours.is_finite()) {
            self.0.insert(id.to_owned(), Ours::Figure(ours));
        }
    }

    /// Notes whether a statement holds; nothing where that could not be told.
    pub fn shape(&mut self, id: &str, ours: Option<(bool, String)>) {
        if let Some((holds, detail)) = ours {
            self.0.insert(id.to_owned(), Ours::Shape(holds, detail));
        }
    }

    /// Everything that the paper reports, in its order, with ours beside it.
    pub fn compare(mut self, paper: &Paper) -> Vec<Line> {
        let lines = paper.expected.iter().map(|expected| {
            let ours = self.0.remove(&expected.id);
            line(expected.clone(), ours)
        });
        let lines = lines.collect();
        debug_assert!(self.0.is_empty(), "not in expected.toml: {:?}", self.0);
        lines
    }
}

fn line(expected: Expected, ours: Option<Ours>) -> Line {
    let verdict = |met| if met { Verdict::Met } else { Verdict::Differs };
    let (ours, detail, verdict) = match ours {
        Some(Ours::Figure(ours)) => (Some(ours), None, verdict(expected.is_met_by(ours))),
        Some(Ours::Shape(holds, detail)) => (None, Some(detail), verdict(holds)),
        None => (None, None, Verdict::NotMeasured),
    };
    Line {
        expected,
        ours,
        detail,
        verdict,
    }
}

/// A table of what else comes out where something that the paper leaves open is read in another way.
pub fn other_reading(slug: &'static str, title: &str, text: &str, lines: &[Line]) -> Sheet {
    let measured = lines
        .iter()
        .filter(|line| line.verdict != Verdict::NotMeasured);
    Sheet {
        slug,
        title: title.to_owned(),
        text: text.to_owned(),
        header: ["id", "statement", "published", "ours", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: measured.map(Line::cells).collect(),
    }
}

/// The lines that `--check` refuses: required, and not met.
pub fn failed(lines: &[Line]) -> Vec<&Line> {
    lines
        .iter()
        .filter(|line| line.expected.required && line.verdict != Verdict::Met)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> Paper {
        Paper::named("smith96").unwrap()
    }

    #[test]
    fn what_lies_in_the_band_is_met_and_what_is_missing_is_not_measured() {
        let mut measured = Measured::default();
        // Published: 1.58 within 0.10, 0.924 within 0.03.
        measured.figure("S96.1", Some(1.60));
        measured.figure("S96.10.orig.day-1", Some(0.88));
        measured.figure("S96.2", None);
        measured.figure("S96.3", Some(f64::NAN));
        measured.shape("S96.4", Some((false, "no dip".into())));
        let lines = measured.compare(&paper());
        let verdict = |id: &str| lines.iter().find(|l| l.expected.id == id).unwrap().verdict;
        assert_eq!(verdict("S96.1"), Verdict::Met);
        assert_eq!(verdict("S96.10.orig.day-1"), Verdict::Differs);
        assert_eq!(verdict("S96.2"), Verdict::NotMeasured);
        assert_eq!(verdict("S96.3"), Verdict::NotMeasured);
        assert_eq!(verdict("S96.4"), Verdict::Differs);
        assert_eq!(lines.len(), paper().expected.len());
        let failed: Vec<&str> = failed(&lines)
            .iter()
            .map(|l| l.expected.id.as_str())
            .collect();
        // The three required rows of papers/smith96/expected.toml.
        assert_eq!(failed, ["S96.4", "S96.8", "S96.8.perfect"]);
    }

    #[test]
    fn figures_are_shown_with_their_unit() {
        let mut measured = Measured::default();
        measured.figure("H96.2.orig", Some(1.234));
        measured.figure("H96.0.files", Some(929.4));
        measured.shape("S96.4", Some((true, "-31 %".into())));
        let lines = measured.compare(&paper());
        let text = |id: &str| {
            let line = lines.iter().find(|l| l.expected.id == id).unwrap();
            (line.published_text(), line.ours_text())
        };
        assert_eq!(text("H96.2.orig"), ("1.65 MB/s".into(), "1.23 MB/s".into()));
        assert_eq!(text("H96.0.files"), ("929".into(), "929".into()));
        assert_eq!(text("S96.4"), ("shape".into(), "-31 %".into()));
        assert_eq!(text("S96.5").1, "-");
    }
}
