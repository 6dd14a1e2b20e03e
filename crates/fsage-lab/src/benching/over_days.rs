//! Suites on models as they stood on earlier days of their life: how speed changes as a file system grows old.
//!
//! A model is aged again up to each of these days, and measured there beside a fresh copy of the files that it holds
//! then. Results of a day lie in `TARGET/over-days/NUMBER/bench`, where days are numbered from 0 as in `days.parquet`;
//! those of the last day are the ordinary ones.

use super::ratios::{PhaseRatio, of_lines};
use super::report::{LEFT_OUT, digits, lines};
use super::results::{self, Row, bench_folder};
use super::{Existing, Plan, aged_lanes, chosen};
use crate::days;
use crate::error::Context;
use crate::report::words::list;
use crate::run_folder::{Manifest, TargetFacts};
use crate::table;
use crate::watch::{Progress, Unit, Watch};
use fsage_target::TargetSpec;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// In the folder of a target: a folder for each day but the last.
const FOLDER: &str = "over-days";

/// How fast a phase of a suite ran on days of a life, each beside a fresh copy of the files of that day.
#[derive(Clone, Debug)]
pub struct Course {
    /// Days by the calendar, from 1 on and ascending, with what was measured there.
    pub days: Vec<(u64, PhaseRatio)>,
}

impl Course {
    /// The suite and the phase.
    pub fn of(&self) -> (&str, &str) {
        self.days.first().map_or(("", ""), |(_, ratio)| ratio.of())
    }
}

/// Days of so many, evenly spread, the last one left out, which is measured anyway: by their numbers from 0.
fn spread(days: u64, parts: u64) -> Vec<u64> {
    let mut spread: Vec<u64> = (1..parts)
        .map(|part| (part * days).div_ceil(parts).saturating_sub(1))
        .filter(|day| day + 1 < days)
        .collect();
    spread.dedup();
    spread
}

fn of_target(target: &TargetFacts, plan: &Plan) -> Vec<u64> {
    let parts = plan.over_days.map_or(0, u64::from);
    spread(target.days, parts)
}

/// The folder of a day, below that of its target.
pub(super) fn folder(target: &Path, day: u64) -> PathBuf {
    target.join(FOLDER).join(day.to_string())
}

/// Whether the results of all days that are asked for are there.
pub(super) fn are_there(run: &Path, specs: &[TargetSpec], plan: &Plan) -> bool {
    if plan.over_days.is_none() {
        return true;
    }
    let Ok(manifest) = Manifest::read(run) else {
        return false;
    };
    let asked = manifest.targets.iter().filter(|target| {
        let is_model = |spec: &&TargetSpec| spec.to_string() == target.spec;
        let spec = specs.iter().find(is_model);
        spec.is_some_and(|spec| matches!(spec.real(), Ok(None)))
    });
    asked
        .flat_map(|target| {
            of_target(target, plan)
                .into_iter()
                .map(move |day| (target, day))
        })
        .all(|(target, day)| measured(&folder(&run.join(&target.folder), day), plan))
}

/// Whether all suites were measured in a folder.
fn measured(folder: &Path, plan: &Plan) -> bool {
    let mut suites = plan.suites.iter();
    suites.all(|suite| results::are_there(folder, suite.name()))
}

/// Runs every suite on the models of a run as they stood on earlier days; says which targets have none, and what was
/// left out on earlier days alone.
pub(super) fn measure(
    run: &Path,
    only: &[TargetSpec],
    plan: &Plan,
    on_last_day: &[String],
    ui: &dyn Watch,
) -> crate::Result<Vec<String>> {
    let manifest = Manifest::read(run)?;
    let (mut left_out, mut days, mut models) = (Vec::new(), Vec::new(), Vec::new());
    let mut earlier = Earlier::default();
    for target in chosen(run, &manifest, only)? {
        let spec = TargetSpec::parse(&target.spec)?;
        if spec.real()?.is_some() {
            let why = format!(
                "{spec}: --over-days: left out: only a model can be taken back to an earlier day"
            );
            ui.warn(&why);
            left_out.push(why);
            continue;
        }
        if plan.existing == Existing::Replaced {
            forget(&run.join(&target.folder), plan)?;
        }
        days.extend(of_target(target, plan));
        models.push((spec, run.join(&target.folder)));
    }
    days.sort_unstable();
    days.dedup();
    let specs: Vec<TargetSpec> = models.iter().map(|(spec, _)| spec.clone()).collect();
    for (at, &day) in days.iter().enumerate() {
        let are_kept = plan.existing == Existing::Kept;
        let mut folders = models.iter().map(|(_, target)| folder(target, day));
        if are_kept && folders.all(|folder| measured(&folder, plan)) {
            continue;
        }
        ui.note(&format!("Day {} ({} of {})", day + 1, at + 1, days.len()));
        let lanes = aged_lanes(run, &specs, plan, Some(day), ui)?;
        let measured = super::measure(&lanes, plan, &Unwarning(ui), &mut |_| Ok(()))?;
        earlier.add(day + 1, measured.left_out);
    }
    for why in earlier.not_among(on_last_day) {
        ui.warn(&why);
        left_out.push(why);
    }
    Ok(left_out)
}

/// What was left out on earlier days: most of it for one reason on all of them.
#[derive(Default)]
struct Earlier {
    /// A case, why it was left out the first time, and on which days it was.
    cases: Vec<(String, String, Vec<u64>)>,
}

impl Earlier {
    fn add(&mut self, day: u64, lines: Vec<String>) {
        for line in lines {
            let (case, why) = line.split_once(LEFT_OUT).unwrap_or((&line, ""));
            if let Some((.., days)) = self.cases.iter_mut().find(|known| known.0 == case) {
                days.push(day);
            } else {
                let known = (case.to_owned(), why.to_owned(), vec![day]);
                self.cases.push(known);
            }
        }
    }

    /// A line for each case that none of these lines is about.
    fn not_among(self, lines: &[String]) -> impl Iterator<Item = String> {
        let is_said = |case: &str| {
            let cases = lines.iter().filter_map(|line| line.split_once(LEFT_OUT));
            cases.into_iter().any(|(said, _)| said == case)
        };
        let cases = self.cases.into_iter().filter(move |of| !is_said(&of.0));
        cases.map(|(case, why, days)| {
            let noun = if days.len() == 1 { "day" } else { "days" };
            let days: Vec<String> = days.iter().map(u64::to_string).collect();
            format!("{case}, {noun} {}{LEFT_OUT}{why}", list(&days))
        })
    }
}

/// Sees all but warnings: those of an earlier day stand in what was measured.
struct Unwarning<'a>(&'a dyn Watch);

impl Watch for Unwarning<'_> {
    fn begin(&self, what: &str, total: Option<u64>, unit: Unit) -> Box<dyn Progress> {
        self.0.begin(what, total, unit)
    }

    fn warn(&self, _: &str) {}

    fn note(&self, text: &str) {
        self.0.note(text);
    }
}

/// Removes what these suites left of earlier days.
fn forget(target: &Path, plan: &Plan) -> crate::Result<()> {
    for day in numbers(target)? {
        for suite in &plan.suites {
            for extension in ["parquet", "svg"] {
                let path = results::path(&folder(target, day), suite.name(), extension);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        return Err(error).with_context(|| path.display().to_string());
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// Numbers of the days with a folder, ascending.
fn numbers(target: &Path) -> crate::Result<Vec<u64>> {
    let folder = target.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry
            .with_context(|| folder.display().to_string())?
            .file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// How fast each phase of all suites ran over the days of a target; none where earlier days were not measured.
///
/// # Errors
/// Results are there, and cannot be read.
pub fn read(target: &Path) -> crate::Result<Vec<Course>> {
    let numbers = numbers(target)?;
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let days = days::read(&target.join("days.parquet"))?;
    let calendar = days::calendar(&days);
    let mut courses: Vec<Course> = Vec::new();
    let mut folders: Vec<(u64, PathBuf)> = numbers
        .into_iter()
        .map(|day| (day, folder(target, day)))
        .collect();
    folders.extend(days.last().map(|last| (last.day, target.to_owned())));
    for (number, folder) in folders {
        let at = days.iter().position(|day| day.day == number);
        let Some(&day) = at.and_then(|at| calendar.get(at)) else {
            continue;
        };
        for suite in results::measured_suites(&folder)? {
            let rows: Vec<Row> = results::read(&folder, &suite)?;
            for ratio in of_lines(&suite, &lines(&rows)) {
                match courses.iter_mut().find(|known| known.of() == ratio.of()) {
                    Some(course) => course.days.push((day, ratio)),
                    None => courses.push(Course {
                        days: vec![(day, ratio)],
                    }),
                }
            }
        }
    }
    courses.retain(|course| course.days.len() > 1);
    courses.sort_by(|a, b| a.of().0.cmp(b.of().0));
    Ok(courses)
}

/// Writes, phase by phase, how fast the target in a folder ran over its days.
///
/// # Errors
/// Results cannot be read; `out` fails.
pub fn print(out: &mut impl Write, bench: &Path) -> crate::Result<()> {
    let Some(target) = bench
        .parent()
        .filter(|target| bench_folder(target) == bench)
    else {
        return Ok(());
    };
    for course in read(target)? {
        course.print(out, target)?;
    }
    Ok(())
}

impl Course {
    fn print(&self, out: &mut impl Write, target: &Path) -> io::Result<()> {
        let Some((_, first)) = self.days.first() else {
            return Ok(());
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        writeln!(
            out,
            "\n{} {} over the days of {name}, in {}, beside a fresh copy of the files of that day\n",
            first.suite, first.phase, first.unit
        )?;
        let mut table = table::table(&["day", "aged", "control", "aged / control"]);
        for (day, ratio) in &self.days {
            table.add_row([
                day.to_string(),
                digits(ratio.aged),
                digits(ratio.control),
                digits(ratio.aged_by_control),
            ]);
        }
        writeln!(out, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_every_day_is_said_once() {
        let line = |case: &str, why: &str| format!("{case}: left out: {why}");
        let mut earlier = Earlier::default();
        for (day, free) in [(3, "4 MiB"), (5, "3 MiB")] {
            let room = line("xfs: sequential, aged", &format!("{free} are free"));
            earlier.add(day, vec![line("ext4: bbs, aged", free), room]);
        }
        let on_last_day = [line("ext4: bbs, aged", "2 MiB")];
        let said: Vec<String> = earlier.not_among(&on_last_day).collect();
        assert_eq!(
            said,
            ["xfs: sequential, aged, days 3 and 5: left out: 4 MiB are free"]
        );
    }

    /// By hand: quarters of nine days end with days 3, 5, 7 and 9, counted from 1.
    #[test]
    fn days_are_spread_evenly_and_the_last_one_is_not_among_them() {
        assert_eq!(spread(9, 4), [2, 4, 6]);
        assert_eq!(spread(3, 10), [0, 1]);
        assert!(spread(9, 1).is_empty() && spread(0, 4).is_empty());
    }
}
