//! The folder that a reproduction leaves.
//!
//! ```text
//! FOLDER/index.html          everything on one page, which needs nothing from elsewhere
//! FOLDER/comparison.csv      one row a number or statement: published, ours, verdict
//! FOLDER/reproduction.json   what was run, and the comparison
//! FOLDER/<figure>.csv, .svg  the data and the chart of a figure
//! FOLDER/<bars>.csv          the data of a chart of bars
//! FOLDER/<table>.csv         a table
//! FOLDER/*.parquet           the aging workload, or several
//! ```
//!
//! It is made under another name, and gets its own when it is complete. The same command gives the same bytes.

use super::comparison::Line;
use super::figure::{Exhibit, csv_cell};
use super::paper::Paper;
use super::{Reproduction, page};
use anyhow::{Context, bail};
use fsage_durable::TemporaryFolder;
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
    fsage: &'static str,
    paper: &'a str,
    run: &'a super::paper::Run,
    comparison: &'a [Line],
}

impl<'a> Report<'a> {
    /// What was run, and what came out.
    pub fn new(paper: &'a Paper, made: &'a Reproduction) -> Report<'a> {
        Report {
            fsage: env!("CARGO_PKG_VERSION"),
            paper: &paper.name,
            run: &paper.run,
            comparison: &made.lines,
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

    /// Where the workload goes.
    pub fn workload(&self) -> PathBuf {
        self.at.path().join("workload.parquet")
    }

    /// Writes everything, and gives the folder its name.
    ///
    /// # Errors
    /// The system refuses.
    pub fn finish(self, paper: &Paper, made: &Reproduction) -> anyhow::Result<()> {
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
        self.write("comparison.csv", &comparison_csv(&made.lines))?;
        let page = fsage_report::render(&page::report(paper, made));
        self.write("index.html", &page.context("the page cannot be made")?)?;
        let report = serde_json::to_string_pretty(&Report::new(paper, made))?;
        self.write(MARK, &(report + "\n"))?;
        if self.to.symlink_metadata().is_ok() {
            self.at.replace()?;
        } else {
            self.at.publish()?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(fsage_durable::write(
            &self.at.path().join(name),
            text,
            false,
        )?)
    }
}

fn comparison_csv(lines: &[Line]) -> String {
    let mut out = String::from("id,place,statement,kind,published,upper,ours,detail,verdict\n");
    for line in lines {
        let expected = &line.expected;
        let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
        let kind = format!("{:?}", expected.kind).to_lowercase();
        let cells = [
            expected.id.clone(),
            expected.place.clone().unwrap_or_default(),
            expected.statement.clone(),
            kind,
            number(expected.value),
            number(expected.upper),
            number(line.ours),
            line.detail.clone().unwrap_or_default(),
            line.verdict.as_str().to_owned(),
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
        folder.finish(&paper, &made).unwrap();
        let mut names: Vec<String> = fs::read_dir(&to)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["comparison.csv", "index.html", MARK]);
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
    }
}
