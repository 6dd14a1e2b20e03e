//! The folder that a reproduction leaves.
//!
//! ```text
//! FOLDER/index.html          everything on one page, which needs nothing from elsewhere
//! FOLDER/comparison.csv      one row a number or statement: published, ours, verdict, why it differs
//! FOLDER/reproduction.json   what was run, and the comparison
//! FOLDER/<figure>.csv, .svg  the data and the chart of a figure
//! FOLDER/<bars>.csv          the data of a chart of bars
//! FOLDER/<table>.csv         a table
//! FOLDER/*.parquet           the aging workload, or several
//! ```
//!
//! Of all papers together each has a folder of its own in it, beside:
//!
//! ```text
//! FOLDER/index.html          the tally of every paper, and what differs and why
//! FOLDER/tally.csv, differs.csv, reproduction.json   the same
//! ```
//!
//! Of several seeds of a paper each has the folder `seed-N` in it, beside:
//!
//! ```text
//! FOLDER/index.html          which rows hang on the seed
//! FOLDER/seeds.csv, reproduction.json   the same
//! ```
//!
//! Of several readings each has a folder of its name, beside:
//!
//! ```text
//! FOLDER/index.html          which rows hang on the reading, a column a reading
//! FOLDER/readings.csv, rows-by-reading.csv, reproduction.json   the same
//! ```
//!
//! It is made under another name, and gets its own when it is complete. The same command gives the same bytes.

use super::comparison::Line;
use super::figure::{Exhibit, Sheet, csv_cell};
use super::paper::Paper;
use super::together::Cause;
use super::{Reproduction, page, together};
use anyhow::{Context, bail};
use fsage_durable::TemporaryFolder;
use fsage_lab::build::Build;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The file that tells a reproduction from any other folder.
const MARK: &str = "reproduction.json";

/// A folder that is being made.
pub struct Folder {
    to: PathBuf,
    at: TemporaryFolder,
}

/// What `reproduction.json` and `--json` say.
#[derive(Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    build: Build,
    paper: &'a str,
    run: &'a super::paper::Run,
    comparison: &'a [Line],
    /// Why rows differ or are open; none of a quick look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
}

impl<'a> Report<'a> {
    /// What was run, and what came out.
    pub fn new(paper: &'a Paper, made: &'a Reproduction) -> Report<'a> {
        Report {
            build: Build::this(),
            paper: &paper.name,
            run: &paper.run,
            comparison: &made.lines,
            causes: together::of_lines(paper, &made.lines),
        }
    }
}

impl Folder {
    /// Begins a folder beside where it will stand. What is there already is replaced only with `force`, and only if it
    /// is a reproduction.
    ///
    /// # Errors
    /// Something stands there; the folder above it cannot be written to.
    pub fn begin(to: &Path, force: bool) -> anyhow::Result<Folder> {
        if to.symlink_metadata().is_ok() {
            if !to.join(MARK).is_file() {
                bail!(
                    "{}: exists and is no reproduction, so it is left alone; name another folder with -o",
                    to.display()
                );
            }
            if !force {
                bail!("{}: exists already (--force replaces it)", to.display());
            }
        }
        Ok(Folder {
            to: to.to_owned(),
            at: TemporaryFolder::create_alone(to)??,
        })
    }

    /// A part: all of the folder, or a folder of this name in it where there are several papers, seeds or readings.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn part(&self, name: Option<&str>) -> anyhow::Result<Part> {
        let at = name.map_or_else(
            || self.at.path().to_owned(),
            |name| self.at.path().join(name),
        );
        if name.is_some() {
            std::fs::create_dir(&at).with_context(|| at.display().to_string())?;
        }
        Ok(Part(at))
    }

    /// Writes what several papers, seeds or readings give together: a page, the same as JSON, and tables.
    ///
    /// # Errors
    /// The system refuses.
    pub fn write_over(
        &self,
        page: &fsage_report::Report,
        same: &impl Serialize,
        sheets: &[Sheet],
    ) -> anyhow::Result<()> {
        let part = Part(self.at.path().to_owned());
        part.write_page(page, same)?;
        for sheet in sheets {
            part.write(&format!("{}.csv", sheet.slug), &sheet.csv())?;
        }
        Ok(())
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// The system refuses.
    pub fn publish(self) -> anyhow::Result<()> {
        if self.to.symlink_metadata().is_ok() {
            self.at.replace()?;
        } else {
            self.at.publish()?;
        }
        Ok(())
    }
}

/// The part of a folder that a paper has.
pub struct Part(PathBuf);

impl Part {
    /// Where the workload goes.
    pub fn workload(&self) -> PathBuf {
        self.0.join("workload.parquet")
    }

    /// Writes all of a paper but its workload.
    ///
    /// # Errors
    /// The system refuses.
    pub fn fill(&self, paper: &Paper, made: &Reproduction) -> anyhow::Result<()> {
        for exhibit in &made.exhibits {
            match exhibit {
                Exhibit::Figure(figure) => {
                    self.write(&format!("{}.csv", figure.slug), &figure.csv())?;
                    self.write(&format!("{}.svg", figure.slug), &figure.svg())?;
                }
                Exhibit::Bars(chart) => {
                    self.write(&format!("{}.csv", chart.slug), &chart.csv())?;
                }
                Exhibit::Sheet(sheet) => {
                    self.write(&format!("{}.csv", sheet.slug), &sheet.csv())?;
                }
            }
        }
        let causes = together::of_lines(paper, &made.lines);
        self.write("comparison.csv", &comparison_csv(&made.lines, &causes))?;
        self.write_page(&page::report(paper, made), &Report::new(paper, made))
    }

    /// Writes a page, and the same as JSON, which marks the folder.
    fn write_page(&self, page: &fsage_report::Report, same: &impl Serialize) -> anyhow::Result<()> {
        let page = fsage_report::render(page).context("the page cannot be made")?;
        self.write("index.html", &page)?;
        self.write(MARK, &(serde_json::to_string_pretty(same)? + "\n"))
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(fsage_durable::write(&self.0.join(name), text, false)?)
    }
}

fn comparison_csv(lines: &[Line], causes: &[Cause]) -> String {
    let mut out = String::from(
        "id,place,statement,kind,known,published,upper,ours,detail,verdict,cause,shown_by\n",
    );
    for line in lines {
        let expected = &line.expected;
        let cause = causes
            .iter()
            .find(|cause| cause.rows.contains(&expected.id));
        let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
        let cells = [
            expected.id.clone(),
            expected.place.clone(),
            expected.statement.clone(),
            expected.kind.as_str().to_owned(),
            expected.known.as_str().to_owned(),
            number(expected.value),
            number(expected.upper),
            number(line.ours),
            line.detail.clone().unwrap_or_default(),
            line.verdict.as_str().to_owned(),
            cause.map(|cause| cause.cause.clone()).unwrap_or_default(),
            cause.map(Cause::experiment).unwrap_or_default(),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_reproduction_is_replaced_and_only_when_forced() {
        let above = tempfile::tempdir().unwrap();
        let to = above.path().join("r");
        fs::create_dir(&to).unwrap();
        let refused = |force| Folder::begin(&to, force).err().map(|e| e.to_string());
        assert!(refused(true).unwrap().contains("is no reproduction"));
        fs::write(to.join(MARK), "{}").unwrap();
        assert!(refused(false).unwrap().contains("--force"));
        assert!(refused(true).is_none());
    }

    #[test]
    fn a_folder_gets_its_name_when_all_is_there() {
        let above = tempfile::tempdir().unwrap();
        let to = above.path().join("r");
        fs::create_dir(&to).unwrap();
        fs::write(to.join(MARK), "old").unwrap();
        let paper = Paper::named("smith96").unwrap();
        let made = Reproduction {
            lines: super::super::comparison::Measured::default().compare(&paper),
            exhibits: vec![],
            terminal: vec![],
        };
        let folder = Folder::begin(&to, true).unwrap();
        folder.part(None).unwrap().fill(&paper, &made).unwrap();
        folder.publish().unwrap();
        let mut names: Vec<String> = fs::read_dir(&to)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["comparison.csv", "index.html", MARK]);
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
    }
}
