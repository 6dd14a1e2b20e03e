//! The comparison: every number and statement of a paper, what was measured, and a verdict.

use super::figure::Sheet;
use super::paper::{Expected, Kind, Known, Paper};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::AddAssign;

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
    /// The figure agrees; the statement holds.
    Met,
    /// It does not.
    Differs,
    /// One reading of the paper's text is met, and another one is not.
    Open,
    /// An input of the workload, or what a reading was taken from: it says nothing that it comes out.
    Calibrated,
    /// The program is built so, or computes it from the paper's constants.
    ByConstruction,
    /// It cannot be measured; the row says why.
    NotMeasurable,
    /// Not measured with these sizes or days.
    NotMeasured,
}

/// What stands for the published figure of a statement.
pub const SHAPE: &str = "shape";

impl Verdict {
    /// All of them, those of runs before the others, and what differs first.
    pub const RESULTS_FIRST: [Verdict; 7] = [
        Verdict::Differs,
        Verdict::Open,
        Verdict::Met,
        Verdict::Calibrated,
        Verdict::ByConstruction,
        Verdict::NotMeasurable,
        Verdict::NotMeasured,
    ];

    /// Whether it came of a run, whatever it is.
    pub fn is_result(self) -> bool {
        matches!(self, Verdict::Met | Verdict::Differs | Verdict::Open)
    }

    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Differs => "differs",
            Verdict::Open => "open",
            Verdict::Calibrated => "calibrated",
            Verdict::ByConstruction => "by construction",
            Verdict::NotMeasurable => "not measurable",
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

    /// Whether there is anything of ours.
    pub fn is_measured(&self) -> bool {
        self.ours.is_some() || self.detail.is_some()
    }

    /// What is published as text: a figure, a word, or `shape` for a statement.
    pub fn published_text(&self) -> String {
        match self.expected.kind {
            Kind::OrderOfMagnitude => return "order of magnitude".to_owned(),
            Kind::Comparable => return "comparable".to_owned(),
            _ => {}
        }
        match (self.expected.value, self.expected.upper) {
            (Some(value), Some(upper)) => {
                format!("{} to {}", self.digits(value), self.figure_text(upper))
            }
            (Some(value), None) => self.figure_text(value),
            (None, _) => SHAPE.to_owned(),
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

    pub(crate) fn figure_text(&self, value: f64) -> String {
        let unit = self.expected.unit.as_deref().unwrap_or_default();
        format!("{} {unit}", self.digits(value))
            .trim_end()
            .to_owned()
    }

    pub(crate) fn digits(&self, value: f64) -> String {
        let digits = match self.expected.kind {
            Kind::Ratio | Kind::Change | Kind::Comparable => 2,
            Kind::Layout | Kind::Count => 3,
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
        let mut lines: Vec<Line> = lines.collect();
        debug_assert!(self.0.is_empty(), "not in expected.toml: {:?}", self.0);
        let disputed: BTreeSet<String> = lines
            .iter()
            .filter(|line| line.verdict == Verdict::Met)
            .filter_map(|line| line.expected.claim.clone())
            .filter(|claim| {
                let of_claim = |line: &&Line| line.expected.claim.as_ref() == Some(claim);
                lines
                    .iter()
                    .filter(of_claim)
                    .any(|line| line.verdict == Verdict::Differs)
            })
            .collect();
        for line in &mut lines {
            let is_disputed = line
                .expected
                .claim
                .as_ref()
                .is_some_and(|claim| disputed.contains(claim));
            if is_disputed && matches!(line.verdict, Verdict::Met | Verdict::Differs) {
                line.verdict = Verdict::Open;
            }
        }
        lines
    }
}

fn line(expected: Expected, ours: Option<Ours>) -> Line {
    let (ours, detail, holds) = match ours {
        Some(Ours::Figure(ours)) => (Some(ours), None, Some(expected.is_met_by(ours))),
        Some(Ours::Shape(holds, detail)) => (None, Some(detail), Some(holds)),
        None => (None, None, None),
    };
    let verdict = match (&expected.not_measurable, expected.known, holds) {
        (Some(_), ..) => Verdict::NotMeasurable,
        (None, Known::Construction, _) => Verdict::ByConstruction,
        (None, Known::Calibrated, _) => Verdict::Calibrated,
        (None, _, Some(true)) => Verdict::Met,
        (None, _, Some(false)) => Verdict::Differs,
        (None, _, None) => Verdict::NotMeasured,
    };
    Line {
        expected,
        ours,
        detail,
        verdict,
    }
}

/// How many claims of the paper came out how. Readings of one claim count once, and rows that are not the paper's not
/// at all: they are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Met.
    pub met: usize,
    /// Not met.
    pub differs: usize,
    /// Met in one reading of the text and not in another.
    pub open: usize,
    /// Inputs.
    pub calibrated: usize,
    /// True by construction.
    pub by_construction: usize,
    /// Not measurable.
    pub not_measurable: usize,
    /// Not measured with the options of the run.
    pub not_measured: usize,
    /// Rows that are not the paper's.
    pub of_others: usize,
    /// Those of them that are met.
    pub of_others_met: usize,
}

impl Tally {
    /// Of the lines of a paper.
    pub fn of(lines: &[Line]) -> Tally {
        let mut tally = Tally::default();
        let mut counted = BTreeSet::new();
        for line in lines {
            if !line.expected.is_own() {
                tally.of_others += 1;
                tally.of_others_met += usize::from(line.verdict == Verdict::Met);
                continue;
            }
            if line
                .expected
                .claim
                .as_ref()
                .is_some_and(|claim| !counted.insert(claim))
            {
                continue;
            }
            *match line.verdict {
                Verdict::Met => &mut tally.met,
                Verdict::Differs => &mut tally.differs,
                Verdict::Open => &mut tally.open,
                Verdict::Calibrated => &mut tally.calibrated,
                Verdict::ByConstruction => &mut tally.by_construction,
                Verdict::NotMeasurable => &mut tally.not_measurable,
                Verdict::NotMeasured => &mut tally.not_measured,
            } += 1;
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.met += other.met;
        self.differs += other.differs;
        self.open += other.open;
        self.calibrated += other.calibrated;
        self.by_construction += other.by_construction;
        self.not_measurable += other.not_measurable;
        self.not_measured += other.not_measured;
        self.of_others += other.of_others;
        self.of_others_met += other.of_others_met;
    }
}

impl Tally {
    /// What a quick look counts, which judges nothing.
    #[must_use]
    pub fn of_quick_look(&self) -> String {
        format!(
            "Of what it ran, {} claims came out as published and {} did not: that is no verdict on the paper, whose \
             end it does not reach. The same command without these options gives one.",
            self.met, self.differs
        )
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judged = self.met + self.differs;
        write!(
            f,
            "{} of {judged} claims of the paper are met, {} differ.",
            self.met, self.differs
        )?;
        let others = [
            (self.open, "open"),
            (self.calibrated, "calibrated"),
            (self.by_construction, "by construction"),
            (self.not_measurable, "not measurable"),
            (self.not_measured, "not measured"),
        ];
        let others = others.iter().filter(|(count, _)| *count > 0);
        let others: Vec<String> = others
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !others.is_empty() {
            write!(f, " Not counted: {}.", others.join(", "))?;
        }
        if self.of_others > 0 {
            write!(
                f,
                " Rows that are not the paper's: {} of {} met.",
                self.of_others_met, self.of_others
            )?;
        }
        Ok(())
    }
}

/// A table of what else comes out where something that the paper leaves open is read in another way.
pub fn other_reading(slug: &'static str, title: &str, text: &str, lines: &[Line]) -> Sheet {
    let measured = lines.iter().filter(|line| line.is_measured());
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
///
/// # Errors
/// It is not known which rows a run with these options meets.
pub fn failed<'a>(paper: &Paper, lines: &'a [Line]) -> anyhow::Result<Vec<&'a Line>> {
    let required = paper.required()?;
    let is_lost =
        |line: &&Line| required.contains(&line.expected.id) && line.verdict != Verdict::Met;
    Ok(lines.iter().filter(is_lost).collect())
}

/// The lines that are met, and not required yet.
///
/// # Errors
/// It is not known which rows a run with these options meets.
pub fn gained<'a>(paper: &Paper, lines: &'a [Line]) -> anyhow::Result<Vec<&'a Line>> {
    let required = paper.required()?;
    let is_new =
        |line: &&Line| line.verdict == Verdict::Met && !required.contains(&line.expected.id);
    Ok(lines.iter().filter(is_new).collect())
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
        // Published: 32 and 44 % more, each within a tenth of it, 0.924 within 0.03; from 44 % a reading was taken.
        measured.figure("H96.2", Some(1.35));
        measured.figure("S96.2", Some(1.50));
        measured.figure("S96.10.orig.day-1", Some(0.88));
        measured.figure("S96.1", None);
        measured.figure("S96.3", Some(f64::NAN));
        measured.shape("S96.4", Some((false, "no dip".into())));
        let lines = measured.compare(&paper());
        let verdict = |id: &str| lines.iter().find(|l| l.expected.id == id).unwrap().verdict;
        assert_eq!(verdict("H96.2"), Verdict::Met);
        assert_eq!(verdict("S96.2"), Verdict::Calibrated);
        assert_eq!(verdict("S96.10.orig.day-1"), Verdict::Differs);
        assert_eq!(verdict("S96.1"), Verdict::NotMeasured);
        assert_eq!(verdict("S96.3"), Verdict::NotMeasured);
        assert_eq!(verdict("S96.4"), Verdict::Differs);
        assert_eq!(lines.len(), paper().expected.len());
    }

    /// Section 5.1 prints 25 % in writing and section 7 at most 16 %: 1.25 and 1.25 agree with one, 1.25 and 1.16 with
    /// both, 2.0 with none. Of the rest one row is met, 20 times the calibrated number of files stays calibrated, and
    /// what nobody can measure so.
    #[test]
    fn readings_of_one_claim_count_once_and_inputs_do_not() {
        let tally = |large: f64, most: f64| {
            let mut measured = Measured::default();
            measured.figure("S96.3", Some(large));
            measured.figure("S96.3.conclusion", Some(most));
            measured.figure("H96.2", Some(1.32));
            measured.figure("S96.0.files", Some(20.0 * 8774.0));
            let lines = measured.compare(&paper());
            let verdict = |id: &str| lines.iter().find(|l| l.expected.id == id).unwrap().verdict;
            let tally = Tally::of(&lines);
            let verdicts = ["S96.3", "S96.3.conclusion"].map(verdict);
            assert_eq!(verdict("S96.0.files"), Verdict::Calibrated);
            assert_eq!(verdict("S96.F1.real"), Verdict::NotMeasurable);
            assert_eq!(verdict("S96.M.replay"), Verdict::ByConstruction);
            (verdicts, tally.met, tally.differs, tally.open)
        };
        assert_eq!(tally(1.25, 1.25), ([Verdict::Open; 2], 1, 0, 1));
        assert_eq!(tally(1.25, 1.16), ([Verdict::Met; 2], 2, 0, 0));
        assert_eq!(tally(2.0, 2.0), ([Verdict::Differs; 2], 1, 1, 0));
        assert_eq!(
            tally(1.25, f64::NAN).0,
            [Verdict::Met, Verdict::NotMeasured]
        );
    }

    #[test]
    fn a_row_that_must_be_met_and_is_not_fails() {
        let lines = Measured::default().compare(&paper());
        let failed: Vec<&str> = failed(&paper(), &lines)
            .unwrap()
            .iter()
            .map(|l| &*l.expected.id)
            .collect();
        assert_eq!(failed, paper().required().unwrap());
        assert!(failed.contains(&"S96.4"), "{failed:?}");
    }

    #[test]
    fn rows_of_others_are_told_apart() {
        let paper = Paper::named("ganger97").unwrap();
        let mut measured = Measured::default();
        measured.figure("C97.create.both.sync", Some(80.0));
        measured.figure("C97.delete.both.sync", Some(999.0));
        measured.figure("G97.1.rate", Some(7.1));
        let tally = Tally::of(&measured.compare(&paper));
        assert_eq!((tally.met, tally.differs, tally.of_others_met), (1, 0, 1));
        assert!(
            tally
                .to_string()
                .starts_with("1 of 1 claims of the paper are met, 0 differ.")
        );
        assert!(
            tally
                .to_string()
                .ends_with("Rows that are not the paper's: 1 of 37 met.")
        );
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
