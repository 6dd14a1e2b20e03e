//! Ages a file system under two allocation policies, and says how well its files lie together.

use fsage_lab::days::DayRow;
use fsage_lab::generate::{Output, Profile, Source};
use fsage_lab::{AgeRequest, ReportRequest, Result, TargetSpec, Unwatched, age, generate, report};
use std::io::Write as _;
use std::path::Path;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    age_both(folder.path())
}

/// A month of home directories, on a 4.4BSD file system without and with reallocation.
pub(crate) fn age_both(folder: &Path) -> Result<()> {
    let workload = folder.join("home.parquet");
    let source = Source::Profile(Profile {
        profile: "home-1996".to_owned(),
        days: Some(30),
        ..Profile::default()
    });
    generate(&source, &Output::replacing(&workload), &Unwatched)?;
    let targets = ["ffs", "ffs:policy=realloc"].map(TargetSpec::parse);
    let targets: Vec<TargetSpec> = targets.into_iter().collect::<std::result::Result<_, _>>()?;
    let run = folder.join("run");
    for aged in age(&AgeRequest::new(&workload, &targets, &run), &Unwatched)? {
        let last = aged.rows.last().and_then(DayRow::score).unwrap_or_default();
        writeln!(std::io::stdout(), "{}: layout score {last:.3}", aged.spec)?;
    }
    let page = run.join("report.html");
    let request = ReportRequest::new(&run, &page);
    report(&request, &Unwatched)?;
    Ok(())
}
