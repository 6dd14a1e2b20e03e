//! The report: from the folder of a run, or of an experiment, to what stands on its page.
//!
//! A page compares [`Subject`]s: a target with everything that is known of its lives, one in a run, several in an
//! experiment. Every section is a file here, which makes charts and tables of subjects and knows nothing of files.

mod bench;
mod by_size;
mod decay;
mod free_space;
pub mod names;
mod outcomes;
mod pieces;
mod source;
mod split_files;
mod subject;
mod verdict;
mod words;

use subject::{Group, Subject};

use crate::ui::Ui;
use anyhow::{Context, bail};
use fsage_data::PartialFile;
use fsage_report::Report;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

/// Name of the page in the folder that it is of.
pub const PAGE: &str = "report.html";

/// Near the beginning of every page that fsage makes.
const MARK: &str = "<meta name=\"generator\" content=\"fsage";

/// Writes the page of a run or of an experiment. A page that fsage made is replaced, another file is not.
pub fn write(of: &Path, to: &Path, ui: Ui) -> anyhow::Result<()> {
    may_be_replaced(to)?;
    let report = collect(of)?;
    for line in &report.missing {
        ui.warn(line);
    }
    let page = fsage_report::render(&report)
        .with_context(|| format!("{}: its report cannot be made", of.display()))?;
    let mut file = PartialFile::create(to, true)?;
    file.write_all(page.as_bytes())?;
    Ok(file.finish()?)
}

/// What stands on the page of a folder.
pub fn collect(of: &Path) -> anyhow::Result<Report> {
    let run = source::run(of)?;
    Ok(page_of_run(run))
}

fn page_of_run(run: source::Run) -> Report {
    let mut missing = run.missing;
    let groups = [Group {
        suffix: String::new(),
        title: None,
        subjects: run.subjects,
    }];
    let mut sections = Vec::new();
    let mut verdict = Vec::new();
    for group in &groups {
        verdict.extend(verdict::findings(group));
        sections.extend(decay::section(group));
        sections.extend(by_size::section(group));
        sections.extend(free_space::section(group));
        sections.extend(split_files::section(group));
        sections.extend(pieces::section(group));
        sections.extend(bench::section(group));
        sections.extend(outcomes::section(group));
    }
    missing.dedup();
    Report {
        title: run.name,
        targets: groups[0].subjects.iter().map(Subject::target).collect(),
        verdict,
        missing,
        sections,
        ..Report::default()
    }
}

/// That nothing of others is lost.
fn may_be_replaced(to: &Path) -> anyhow::Result<()> {
    let file = match File::open(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("{}: cannot be replaced", to.display()))?,
    };
    let mut head = Vec::new();
    let read = file.take(4096).read_to_end(&mut head);
    read.with_context(|| format!("{}: cannot be replaced", to.display()))?;
    if !String::from_utf8_lossy(&head).contains(MARK) {
        bail!(
            "{}: exists and is no report of fsage, so it is not replaced; name another file with -o",
            to.display()
        );
    }
    Ok(())
}
