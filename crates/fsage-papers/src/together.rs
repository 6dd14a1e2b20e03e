//! All papers on one page: the tally of each, and the rows that differ and say most, with their cause.

use super::comparison::{Line, Tally, Verdict};
use super::figure::Sheet;
use super::paper::Paper;
use super::{Reproduction, page};
use anyhow::Context;
use fsage_report::Report;
use serde::{Deserialize, Serialize};

/// So many rows that differ stand on the page.
const SHOWN: usize = 10;

/// Why rows of a paper differ, and where anybody can see it. `papers/causes.toml` has them in the order in which they
/// interest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The paper.
    pub paper: String,
    /// The rows.
    pub rows: Vec<String>,
    /// Why, and what was seen.
    pub cause: String,
    /// Options of `fsage reproduce PAPER` that change what it is: another reading, drive, host or seed.
    #[serde(default, rename = "try")]
    pub options: Option<String>,
    /// Those of the rows that a run with these options meets.
    #[serde(default)]
    pub meets: Vec<String>,
    /// The figure or table of the reproduction that shows it, by its slug.
    #[serde(default)]
    pub shown: Option<String>,
}

impl Cause {
    /// Its first sentence; where that says that it is not known, the next one too.
    pub fn in_short(&self) -> &str {
        let unknown = "Not known. ";
        let from = if self.cause.starts_with(unknown) {
            unknown.len()
        } else {
            0
        };
        let end = self.cause[from..].find(". ");
        &self.cause[..end.map_or(self.cause.len(), |at| from + at + 1)]
    }

    /// What to do to see it, and how many of the rows that meets.
    pub fn experiment(&self) -> String {
        let options = self.options.as_ref();
        let run = options.map(|options| {
            let meets = match (self.meets.len(), self.rows.len()) {
                (0, _) => "none is met then".to_owned(),
                (met, all) if met == all => "met then".to_owned(),
                _ => format!("met then: {}", self.meets.join(", ")),
            };
            format!("fsage reproduce {} {options} ({meets})", self.paper)
        });
        let shown = self.shown.as_ref().map(|slug| format!("{slug}.csv"));
        let both: Vec<String> = run.into_iter().chain(shown).collect();
        if both.is_empty() {
            "-".to_owned()
        } else {
            both.join(", ")
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CausesFile {
    cause: Vec<Cause>,
}

fn causes() -> anyhow::Result<Vec<Cause>> {
    let text = include_str!("../../../papers/causes.toml");
    let file: CausesFile = toml::from_str(text).context("papers/causes.toml")?;
    Ok(file.cause)
}

/// The causes of one paper.
///
/// # Panics
/// The list of causes cannot be read: a mistake in the program, which a test finds.
pub fn of_paper(name: &str) -> Vec<Cause> {
    let mut causes = causes().expect("causes that a test reads");
    causes.retain(|cause| cause.paper == name);
    causes
}

/// Causes of a paper, of the rows of these lines that differ or are open; none of a quick look, which would take what
/// it leaves out for a cause.
pub fn of_lines(paper: &Paper, lines: &[Line]) -> Vec<Cause> {
    if super::quick_look(paper).is_some() {
        return Vec::new();
    }
    let differs = |id: &String| {
        let line = lines.iter().find(|line| line.expected.id == *id);
        line.is_some_and(|line| matches!(line.verdict, Verdict::Differs | Verdict::Open))
    };
    let mut causes = of_paper(&paper.name);
    for cause in &mut causes {
        cause.rows.retain(differs);
        cause.meets.retain(differs);
    }
    causes.retain(|cause| !cause.rows.is_empty());
    causes
}

/// A paper and what came out.
pub struct Done {
    /// The paper.
    pub paper: Paper,
    /// What came out.
    pub made: Reproduction,
}

/// What all papers give together.
#[derive(Debug, Serialize)]
pub struct Together {
    /// Every paper with its tally.
    pub tallies: Vec<(String, Tally)>,
    /// The rows that differ and say most.
    pub differing: Vec<Differing>,
}

/// A row that differs.
#[derive(Debug, Serialize)]
pub struct Differing {
    /// The row, with ours.
    pub line: Line,
    /// Why.
    pub cause: Cause,
}

impl Together {
    /// Of all papers.
    ///
    /// # Errors
    /// The list of causes cannot be read: a mistake in the program, which a test finds.
    pub fn of(all: &[Done]) -> anyhow::Result<Together> {
        let tallies = all
            .iter()
            .map(|done| (done.paper.name.clone(), Tally::of(&done.made.lines)));
        let differing = causes()?.into_iter().filter_map(|cause| {
            let done = all.iter().find(|done| done.paper.name == cause.paper)?;
            let lines = &done.made.lines;
            let mut of_cause = cause.rows.iter().filter_map(|row| {
                let line = lines.iter().find(|line| line.expected.id == *row)?;
                (line.verdict == Verdict::Differs).then(|| line.clone())
            });
            let line = of_cause.next()?;
            Some(Differing { line, cause })
        });
        Ok(Together {
            tallies: tallies.collect(),
            differing: differing.take(SHOWN).collect(),
        })
    }

    /// Of all papers.
    fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        for (_, tally) in &self.tallies {
            sum += *tally;
        }
        sum
    }

    /// A row a paper, and one of all.
    pub fn tally(&self) -> Sheet {
        let sum = self.sum();
        let rows = self
            .tallies
            .iter()
            .map(|(name, tally)| (name.as_str(), *tally));
        let rows = rows.chain([("all", sum)]).map(|(name, tally)| {
            let counts = [
                tally.met,
                tally.differs,
                tally.open,
                tally.calibrated,
                tally.by_construction,
                tally.not_measurable,
                tally.not_measured,
            ];
            let others = format!("{} of {}", tally.of_others_met, tally.of_others);
            let counts = counts.iter().map(usize::to_string);
            [name.to_owned()]
                .into_iter()
                .chain(counts)
                .chain([others])
                .collect()
        });
        Sheet {
            slug: "tally",
            title: "Claims by paper".to_owned(),
            text: "Met and differing claims are counted against each other. Readings of one claim count once; inputs, \
                   what is true by construction, what the text leaves open and what cannot be measured are no \
                   results."
                .to_owned(),
            header: [
                "paper", "met", "differ", "open", "calibrated", "by construction", "not measurable", "not measured",
                "not the paper's, met",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        }
    }

    /// A row each of what differs.
    pub fn differs(&self) -> Sheet {
        let rows = self.differing.iter().map(|Differing { line, cause }| {
            vec![
                cause.paper.clone(),
                line.expected.id.clone(),
                line.expected.statement.clone(),
                line.published_text(),
                line.ours_text(),
                cause.cause.clone(),
                cause.experiment(),
            ]
        });
        Sheet {
            slug: "differs",
            title: "What differs, and why".to_owned(),
            text:
                "Of all rows that differ, those that say most about a paper, a model or a workload."
                    .to_owned(),
            header: [
                "paper",
                "id",
                "statement",
                "published",
                "ours",
                "cause",
                "experiment",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        }
    }

    /// The page, with the options of the run, each behind a blank.
    pub fn report(&self, options: &str) -> Report {
        let (tally, differs, sum) = (self.tally(), self.differs(), self.sum());
        let sentence = format!(
            "{} claims of {} papers are met, {} differ.",
            sum.met,
            self.tallies.len(),
            sum.differs
        );
        page::over_several(
            ("The papers, reproduced", ""),
            &format!("all{options}"),
            (sentence, &tally),
            vec![
                page::section(
                    &tally,
                    &tally.title,
                    "The folder of each paper has its own page, with every row.",
                ),
                page::section(
                    &differs,
                    &differs.title,
                    "In the order of papers/causes.toml.",
                ),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Measured;
    use crate::paper::Known;

    #[test]
    fn causes_are_of_rows_that_can_differ() {
        let causes = causes().unwrap();
        assert!(causes.len() >= SHOWN);
        for cause in causes {
            let paper = Paper::named(&cause.paper).unwrap();
            assert!(!cause.rows.is_empty(), "{}", cause.cause);
            for id in &cause.rows {
                let row = paper.expected.iter().find(|row| row.id == *id);
                assert!(row.is_some_and(|row| row.not_measurable.is_none()), "{id}");
            }
            for id in &cause.meets {
                assert!(cause.rows.contains(id), "meets: {id} is none of the rows");
                assert!(cause.options.is_some(), "meets: {id}, and nothing to try");
            }
        }
    }

    /// What is not met in the run as printed has a cause, and with it an experiment.
    #[test]
    fn every_row_that_differs_has_a_cause_that_anybody_can_see() {
        let causes = causes().unwrap();
        let mut missing = Vec::new();
        for name in [
            "smith96",
            "smith97",
            "seltzer95",
            "ganger97",
            "cheng",
            "jun24",
        ] {
            let paper = Paper::named(name).unwrap();
            let met = paper.required().unwrap();
            let of_paper = || causes.iter().filter(|cause| cause.paper == name);
            for row in &paper.expected {
                let measured = row.not_measurable.is_none() && row.is_own();
                let judged = matches!(row.known, Known::Printed | Known::Derived);
                if measured && judged && !met.contains(&row.id) {
                    let known = of_paper().any(|cause| cause.rows.contains(&row.id));
                    missing.extend((!known).then(|| format!("{name} {}", row.id)));
                }
            }
            for cause in of_paper() {
                assert_ne!(cause.experiment(), "-", "{}: {:?}", name, cause.rows);
            }
        }
        assert_eq!(missing, Vec::<String>::new(), "rows without a cause");
    }

    /// What is to be run exists: readings, drives, hosts.
    #[test]
    fn experiments_can_be_run() {
        for cause in causes().unwrap() {
            let options = cause.options.clone().unwrap_or_default();
            let words: Vec<&str> = options.split_whitespace().collect();
            assert!(words.len().is_multiple_of(2), "{options}");
            for pair in words.chunks(2) {
                let (option, value) = (pair[0], pair[1]);
                let runs = match option {
                    "--reading" => Paper::named(&cause.paper).unwrap().read_as(value).map(drop),
                    "--device" => fsage_lab::device::disk(value)
                        .map(drop)
                        .map_err(anyhow::Error::from),
                    "--host" => fsage_lab::benching::host_params(value)
                        .map(drop)
                        .map_err(anyhow::Error::from),
                    "--seed" | "--days" | "--scale" | "--utilization" | "--operations" => {
                        value.parse::<u64>().map(drop).map_err(anyhow::Error::from)
                    }
                    _ => panic!("{option}: no option that changes a cause"),
                };
                assert!(runs.is_ok(), "{options}: {runs:?}");
            }
        }
    }

    /// The first cause stands on the page where its row differs, and does not where it is met.
    #[test]
    fn a_row_that_is_met_needs_no_cause() {
        let first = causes().unwrap().swap_remove(0);
        // The only reading of its claim.
        let row = "G97.1.rate.embed";
        assert!(first.rows.iter().any(|of| of == row));
        let of = |ours: f64| {
            let paper = Paper::named(&first.paper).unwrap();
            let mut measured = Measured::default();
            measured.figure(row, Some(ours));
            let made = Reproduction {
                lines: measured.compare(&paper),
                exhibits: Vec::new(),
                terminal: Vec::new(),
            };
            Together::of(&[Done { paper, made }]).unwrap()
        };
        let value = Paper::named(&first.paper).unwrap().value(row);
        let (met, off) = (of(value), of(10.0 * value));
        assert_eq!((met.tallies[0].1.met, met.differing.len()), (1, 0));
        assert_eq!((off.tallies[0].1.differs, off.differing.len()), (1, 1));
        assert_eq!(off.tally().rows.len(), 2);
        let report = off.report(" --days 3");
        assert_eq!(report.commands[0].line, "fsage reproduce all --days 3");
        assert_eq!(off.differs().rows[0][1], row);
        assert!(fsage_report::render(&report).is_ok());
    }
}
