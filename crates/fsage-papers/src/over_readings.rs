//! A paper in every reading of what it leaves open: which rows each of them meets, a column a reading.

use super::comparison::{Line, Verdict};
use super::figure::Sheet;
use super::page;
use super::paper::Paper;
use fsage_lab::build::Build;
use fsage_report::Report;
use serde::Serialize;

/// The word of `--reading` for all of them.
pub const ALL: &str = "all";
/// The name of the run as printed, among the readings.
pub const PRINTED: &str = "as-printed";

/// What the readings of a paper give together.
#[derive(Debug, Serialize)]
pub struct OverReadings {
    #[serde(flatten)]
    build: Build,
    paper: String,
    #[serde(skip)]
    title: String,
    readings: Vec<OfReading>,
    rows: Vec<Row>,
}

/// A reading, the one as printed first.
#[derive(Debug, Serialize)]
struct OfReading {
    name: String,
    text: String,
    /// Rows that are met.
    met: usize,
    /// Rows that are met, and are not as printed.
    gained: Vec<String>,
    /// Rows that are met as printed, and not so.
    lost: Vec<String>,
}

/// A row in every reading, in the order of the readings.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    statement: String,
    published: String,
    of: Vec<Cell>,
}

#[derive(Debug, Serialize)]
struct Cell {
    ours: Option<f64>,
    #[serde(skip)]
    text: String,
    verdict: Verdict,
}

impl Row {
    /// None of a row that no reading judges.
    fn of(lines: &[&Line]) -> Option<Row> {
        let first = lines.first()?;
        let cells = lines.iter().map(|line| Cell {
            ours: line.ours,
            text: line.ours.map_or_else(String::new, |ours| line.digits(ours)),
            verdict: line.verdict,
        });
        let row = Row {
            id: first.expected.id.clone(),
            statement: first.expected.statement.clone(),
            published: first.published_text(),
            of: cells.collect(),
        };
        let is_judged = |cell: &Cell| {
            matches!(
                cell.verdict,
                Verdict::Met | Verdict::Differs | Verdict::Open
            )
        };
        row.of.iter().any(is_judged).then_some(row)
    }

    fn is_met(&self, reading: usize) -> bool {
        self.of[reading].verdict == Verdict::Met
    }

    /// It is measured, and not met.
    fn is_missed(&self, reading: usize) -> bool {
        matches!(self.of[reading].verdict, Verdict::Differs | Verdict::Open)
    }

    /// Whether one reading meets it and another one does not.
    fn hangs(&self) -> bool {
        let readings = || 0..self.of.len();
        readings().any(|at| self.is_met(at)) && readings().any(|at| self.is_missed(at))
    }
}

impl OverReadings {
    /// Of a paper, with the comparison as printed and then that of each reading by its name.
    pub fn of(paper: &Paper, by_reading: &[(String, Vec<Line>)]) -> OverReadings {
        let rows = paper.expected.iter().filter_map(|expected| {
            let lines = by_reading
                .iter()
                .filter_map(|(_, lines)| lines.iter().find(|line| line.expected.id == expected.id));
            Row::of(&lines.collect::<Vec<&Line>>())
        });
        let rows: Vec<Row> = rows.collect();
        let ids = |is: &dyn Fn(&Row) -> bool| -> Vec<String> {
            let rows = rows.iter().filter(|row| is(row));
            rows.map(|row| row.id.clone()).collect()
        };
        let readings = by_reading.iter().enumerate().map(|(at, (name, _))| {
            let text = paper.readings.get(name).map(|reading| reading.text.clone());
            OfReading {
                name: name.clone(),
                text: text.unwrap_or_else(|| "run.toml as it is".to_owned()),
                met: ids(&|row| row.is_met(at)).len(),
                gained: ids(&|row| row.is_met(at) && !row.is_met(0)),
                lost: ids(&|row| row.is_missed(at) && row.is_met(0)),
            }
        });
        OverReadings {
            build: Build::this(),
            paper: paper.name.clone(),
            title: paper.run.title.clone(),
            readings: readings.collect(),
            rows,
        }
    }

    /// A row a reading: what it is, and how many rows are met, gained and lost.
    pub fn sheet(&self) -> Sheet {
        let rows = self.readings.iter().map(|reading| {
            vec![
                reading.name.clone(),
                reading.text.clone(),
                reading.met.to_string(),
                reading.gained.len().to_string(),
                reading.lost.len().to_string(),
            ]
        });
        Sheet {
            slug: "readings",
            title: "Readings".to_owned(),
            text: "Rows that are met, readings of one claim each for itself; gained and lost beside the run as printed."
                .to_owned(),
            header: ["reading", "what it takes", "met", "gained", "lost"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }

    /// A row for each that is judged, a column a reading; those that hang on the reading first.
    pub fn rows(&self) -> Sheet {
        let (hanging, others): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(|r| r.hangs());
        let rows = hanging.into_iter().chain(others).map(|row| {
            let mut cells = vec![row.id.clone(), row.statement.clone(), row.published.clone()];
            cells.extend(row.of.iter().map(|cell| {
                let verdict = cell.verdict.as_str();
                format!("{} {verdict}", cell.text).trim_start().to_owned()
            }));
            cells
        });
        let mut header = ["id", "statement", "published"].map(str::to_owned).to_vec();
        header.extend(self.readings.iter().map(|reading| reading.name.clone()));
        Sheet {
            slug: "rows-by-reading",
            title: "Rows by reading".to_owned(),
            text: "Rows that one reading meets and another one does not come first.".to_owned(),
            header,
            rows: rows.collect(),
        }
    }

    /// The same without what each reading takes, for the terminal.
    pub fn tally(&self) -> Sheet {
        let mut sheet = self.sheet();
        sheet.header.remove(1);
        for row in &mut sheet.rows {
            row.remove(1);
        }
        sheet
    }

    /// Which rows other readings meet, for the terminal.
    pub fn gains(&self) -> Sheet {
        let rows = self.rows.iter().filter(|row| row.hangs()).map(|row| {
            let meets = |at: &usize| row.is_met(*at);
            let names = (0..row.of.len()).filter(meets);
            let names: Vec<&str> = names.map(|at| &*self.readings[at].name).collect();
            vec![row.id.clone(), row.published.clone(), names.join(", ")]
        });
        Sheet {
            slug: "gains",
            title: "What hangs on the reading".to_owned(),
            text: String::new(),
            header: ["id", "published", "met with"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }

    /// How many rows are met as printed, in another reading, and in none.
    pub fn sentence(&self) -> String {
        let printed = self.rows.iter().filter(|row| row.is_met(0)).count();
        let any = |row: &&Row| (0..row.of.len()).any(|at| row.is_met(at));
        let met = self.rows.iter().filter(any).count();
        format!(
            "Of {} rows {printed} are met as printed, {} more in another reading, {} in none.",
            self.rows.len(),
            met - printed,
            self.rows.len() - met
        )
    }

    /// The page, with the options of the run, each behind a blank.
    pub fn report(&self, options: &str) -> Report {
        let (readings, rows) = (self.sheet(), self.rows());
        page::over_several(
            (
                &self.title,
                &format!(" in {} readings", self.readings.len()),
            ),
            &format!("{}{options}", self.paper),
            (self.sentence(), &rows),
            vec![
                page::section(
                    &readings,
                    "Readings of what the paper leaves open",
                    "Each has a folder of its name, with its own page.",
                ),
                page::section(&rows, "Rows, a column a reading", ""),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Measured;
    use crate::paper::Known;

    /// A printed figure that is met as printed, and far off in the other reading; another one the other way round; a
    /// third one off in both.
    #[test]
    fn what_a_reading_gains_and_loses_is_counted() {
        let paper = Paper::named("smith96").unwrap();
        let printed = paper.expected.iter().filter(|row| {
            let is_judged = row.not_measurable.is_none() && row.claim.is_none();
            row.value.is_some() && row.known == Known::Printed && is_judged
        });
        let printed: Vec<(&str, f64)> = printed
            .filter_map(|row| Some((row.id.as_str(), row.value?)))
            .collect();
        let [lost, gained, never, ..] = printed[..] else {
            panic!("too few rows");
        };
        let lines = |factors: [f64; 3]| {
            let mut measured = Measured::default();
            for ((id, value), factor) in [lost, gained, never].into_iter().zip(factors) {
                measured.figure(id, Some(factor * value));
            }
            measured.compare(&paper)
        };
        let over = OverReadings::of(
            &paper,
            &[
                (PRINTED.to_owned(), lines([1.0, 100.0, 100.0])),
                ("bug-of-1997".to_owned(), lines([100.0, 1.0, 100.0])),
            ],
        );
        assert_eq!(
            over.sentence(),
            "Of 3 rows 1 are met as printed, 1 more in another reading, 1 in none."
        );
        assert_eq!(over.sheet().rows[0][2..], ["1", "0", "0"]);
        assert_eq!(over.sheet().rows[1][2..], ["1", "1", "1"]);
        assert!(over.sheet().rows[1][1].len() > 20, "its text");
        let rows = over.rows();
        assert_eq!(rows.header[3..], [PRINTED, "bug-of-1997"]);
        assert_eq!(rows.rows[2][0], never.0);
        assert!(rows.rows[0][3].ends_with(" met") && rows.rows[0][4].ends_with(" differs"));
        let gains = over.gains();
        let with: Vec<&str> = gains.rows.iter().map(|row| &*row[2]).collect();
        assert_eq!(with, [PRINTED, "bug-of-1997"]);
        let report = over.report(" --reading all");
        assert_eq!(
            report.commands[0].line,
            "fsage reproduce smith96 --reading all"
        );
        let page = fsage_report::render(&report).unwrap();
        assert!(page.contains("1 more in another reading"));
    }

    /// No reading takes the word for all of them, or that of the run as printed.
    #[test]
    fn readings_have_names_of_their_own() {
        for files in crate::paper::PAPERS {
            let paper = Paper::named(files.name).unwrap();
            for name in [ALL, PRINTED] {
                assert!(!paper.readings.contains_key(name), "{}", files.name);
            }
        }
    }
}
