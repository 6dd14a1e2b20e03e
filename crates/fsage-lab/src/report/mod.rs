//! The report: from the folder of a run, or of an experiment, to what stands on its page.
//!
//! A page compares [`Subject`]s: a target with everything that is known of its lives, one in a run, several in an
//! experiment. Every section is a file here, which makes charts and tables of subjects and knows nothing of files.

mod after;
mod again;
mod all_metrics;
mod bench;
mod by_size;
pub(crate) mod by_value;
mod decay;
mod devices;
mod experiment;
mod flash;
mod free_space;
mod fullness;
mod log;
mod map;
mod matched;
pub(crate) mod names;
mod nights;
mod origin;
mod outcomes;
mod over_days;
mod pieces;
mod room;
mod sides;
mod source;
mod split_files;
mod subject;
mod terms;
mod times;
pub(crate) mod verdict;
pub(crate) mod words;

pub use sides::{Side, print as print_sides};
pub(crate) use subject::Over;
pub use subject::{Group, Life, Subject};

use by_value::ByValue;
pub(crate) use source::name_of;
use words::list;

use crate::collect::is_image;
use crate::error::{Context, bail};
use crate::experiment::Matched;
use crate::experiment::manifest::Manifest as Experiment;
use crate::fullness::Fullness;
use crate::run_folder::WorkloadFacts;
use crate::table;
use crate::watch::Watch;
use fsage_durable::{PartialFile, make_folders};
use fsage_report::charts::Published;
use fsage_report::map::{Disk, PAGE_BYTES, fit};
use fsage_report::{Chart, Command, Exhibit, Fact, Finding, Folded, Report, Section, Target, Tone};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Name of the page in the folder that it is of.
pub const PAGE: &str = "report.html";

/// Near the beginning of every page that fsage makes.
const MARK: &str = "<meta name=\"generator\" content=\"fsage";

/// What others measured under the same workload, shown beside ours.
pub trait Beside {
    /// A section that compares; `None` where they measured nothing of the kind.
    fn section(&self, group: &Group) -> Option<Section>;

    /// Their layout scores, for the chart by day.
    fn layout_by_day(&self, group: &Group) -> Vec<Published>;
}

/// Which page is written.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The run, or the experiment.
    pub of: &'a Path,
    /// Where the page goes. One that fsage made is replaced, another file is not.
    pub to: &'a Path,
    /// What others published of the same targets.
    pub beside: Option<&'a dyn Beside>,
}

impl<'a> Request<'a> {
    /// A page with nothing beside it.
    pub fn new(of: &'a Path, to: &'a Path) -> Request<'a> {
        let beside = None;
        Request { of, to, beside }
    }

    /// The page with this beside what was found.
    #[must_use]
    pub fn beside(self, beside: &'a dyn Beside) -> Request<'a> {
        Request {
            beside: Some(beside),
            ..self
        }
    }
}

/// What a page says that was written.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The sentences of its verdict.
    pub verdict: Vec<Finding>,
    /// Of each of several workloads what comes first of them: the answer, behind what is to be known before it; of a
    /// single one all.
    pub headlines: Vec<Finding>,
    /// Of these those that say what a number does that an experiment varies.
    pub by_value: Vec<Finding>,
    /// Targets that are there in several sizes.
    pub fullness: Vec<Fullness>,
    /// What differs between runs, where it is of several.
    pub sides: Vec<Side>,
    /// What two experiments have in common, where it is of two.
    pub matched: Option<Matched>,
}

/// Writes the page of a run or of an experiment.
///
/// # Errors
/// It is no run and no experiment; another file is in the place of the page; it cannot be written.
pub fn report(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Written> {
    let Request { of, to, beside } = *request;
    may_be_replaced(to)?;
    let mut material = material(of)?;
    room::find(&mut material.groups);
    let by_value = in_terminal(&material.groups, material.by_value.findings.clone());
    let fullness = material.groups.iter().flat_map(fullness::levels).collect();
    Ok(Written {
        by_value,
        fullness,
        ..write_page(material, &of.display().to_string(), to, beside, ui)?
    })
}

/// Writes one page of several runs, each beside the first, of two experiments, or of snapshots; says what of the runs
/// differs. A page that fsage made is replaced, another file is not.
///
/// # Errors
/// Neither all are runs nor all are snapshots, and they are no two experiments; one cannot be read; as for
/// [`report()`].
pub fn write_several(
    of: &[PathBuf],
    to: &Path,
    beside: Option<&dyn Beside>,
    ui: &dyn Watch,
) -> crate::Result<Written> {
    if of.is_empty() {
        bail!("no run and no snapshot is named: there is nothing to report on");
    }
    may_be_replaced(to)?;
    let names: Vec<String> = of.iter().map(|path| path.display().to_string()).collect();
    if let [first, other] = of
        && [first, other]
            .iter()
            .all(|path| Experiment::is_experiment(path))
    {
        let matched = Matched::read([first, other])?;
        let material = matched::material(&matched);
        let written = write_page(material, &list(&names), to, beside, ui)?;
        return Ok(Written {
            matched: Some(matched),
            ..written
        });
    }
    let (material, sides) = if of.iter().all(|path| sides::is_run(path)) {
        sides::read(of)?
    } else if of.iter().all(|path| is_of_nights(path)) {
        (nights::read(of, ui)?, Vec::new())
    } else {
        let odd = |path: &&PathBuf| !sides::is_run(path) && !is_of_nights(path);
        match of.iter().find(odd) {
            Some(odd) if Experiment::is_experiment(odd) => bail!(
                "{}: an experiment has a page of its own, and one beside a single other experiment. Two targets stand \
                 on one page, over the same lives, where one `fsage compare --seeds N --on FIRST --on OTHER` has \
                 both; `fsage check AFTER --baseline BEFORE --match position` compares two experiments life by life; \
                 and runs of two, BEFORE/cells/CELL and AFTER/cells/CELL, stand side by side",
                odd.display()
            ),
            Some(odd) => bail!(
                "{}: neither a run, which `fsage age ... -o RUN` makes, nor a snapshot, which `fsage snapshot` makes",
                odd.display()
            ),
            None => bail!(
                "{}: runs and snapshots do not stand on one page; name either runs or snapshots",
                list(&names)
            ),
        }
    };
    let written = write_page(material, &list(&names), to, beside, ui)?;
    Ok(Written { sides, ..written })
}

/// Whether a path is a snapshot, or a folder with some, and no run.
pub fn is_of_snapshots(path: &Path) -> bool {
    !Experiment::is_experiment(path) && !sides::is_run(path) && nights::is_there(path)
}

/// Whether a path is a snapshot, a folder with some, or an image of which one can be taken: what has the page of
/// snapshots.
pub fn is_of_nights(path: &Path) -> bool {
    is_of_snapshots(path) || is_image(path)
}

/// Whether a path is a run, an experiment, or snapshots.
pub(crate) fn is_of_something(path: &Path) -> bool {
    Experiment::is_experiment(path) || sides::is_run(path) || nights::is_there(path)
}

fn write_page(
    material: Material,
    of: &str,
    to: &Path,
    beside: Option<&dyn Beside>,
    ui: &dyn Watch,
) -> crate::Result<Written> {
    for line in &material.missing {
        ui.warn(line);
    }
    let is_single = material.groups.len() == 1;
    let (report, headlines) = page(material, beside);
    let page = fsage_report::render(&report)
        .with_context(|| format!("{of}: its report cannot be made"))?;
    let mut file = PartialFile::create(to, true)?;
    file.write_all(page.as_bytes())
        .with_context(|| format!("{}: cannot write the report", to.display()))?;
    file.finish()?;
    let sentences = report.verdict.into_iter().chain(report.folded.findings);
    let verdict: Vec<Finding> = sentences.collect();
    Ok(Written {
        headlines: if is_single {
            verdict.clone()
        } else {
            headlines
        },
        verdict,
        ..Written::default()
    })
}

/// Writes the sentences of a verdict, as wide as the terminal and 100 columns at most.
///
/// # Errors
/// `out` fails.
pub fn print_findings(out: &mut impl std::io::Write, findings: &[Finding]) -> std::io::Result<()> {
    for finding in findings {
        writeln!(out, "{}", table::wrapped(&finding.text, "- ", "  "))?;
    }
    Ok(())
}

/// The charts of the page of a run or an experiment, from top to bottom.
///
/// # Errors
/// It is no run and no experiment.
pub fn charts(of: &Path, beside: Option<&dyn Beside>) -> crate::Result<Vec<Chart>> {
    let sections = page(material(of)?, beside).0.sections.into_iter();
    let exhibits = sections.flat_map(|section| section.exhibits);
    let charts = exhibits.filter_map(|exhibit| match exhibit {
        Exhibit::Chart(chart) => Some(chart),
        Exhibit::Table(_) => None,
    });
    Ok(charts.collect())
}

/// Writes these charts into a folder, each as `ID.svg`: a picture in the colors of the light page. One that fsage made
/// is replaced, another file is not. Those with nothing to show are left out.
///
/// # Errors
/// Another file is in the place of one, before any is written; they cannot be written.
pub fn write_pictures(charts: &[Chart], folder: &Path) -> crate::Result<Vec<PathBuf>> {
    let drawn = charts.iter().filter_map(|chart| {
        let to = folder.join(format!("{}.svg", chart.id));
        Some((to, chart.svg()?))
    });
    let drawn: Vec<(PathBuf, String)> = drawn.collect();
    for (to, _) in &drawn {
        is_ours(to, fsage_report::PICTURE_MARK, "picture", "folder")?;
    }
    make_folders(folder)?;
    let written = drawn.into_iter().map(|(to, picture)| {
        let mut file = PartialFile::create(&to, true)?;
        file.write_all(picture.as_bytes())
            .with_context(|| format!("{}: cannot write the picture", to.display()))?;
        file.finish()?;
        Ok(to)
    });
    written.collect()
}

fn material(of: &Path) -> crate::Result<Material> {
    if Experiment::is_experiment(of) {
        experiment::read(of)
    } else {
        run(of)
    }
}

/// What a page is made of.
#[derive(Default)]
struct Material {
    title: String,
    subtitle: String,
    targets: Vec<Target>,
    groups: Vec<Group>,
    missing: Vec<String>,
    facts: Vec<Fact>,
    commands: Vec<Command>,
    /// What numbers do that an experiment varies: before all others.
    by_value: ByValue,
    /// What differs between runs, before what is said of all of them.
    leading: Vec<Finding>,
    /// Sections of its own, behind all others.
    own_sections: Vec<Section>,
    /// The verdict, where nothing was run that has one, and nothing lacks that a run would have.
    findings: Option<Vec<Finding>>,
    /// The disks on the map, where nothing was run.
    disks: Vec<Disk>,
}

/// A run compares its targets under one workload.
fn run(of: &Path) -> crate::Result<Material> {
    let run = source::run(of)?;
    let mut material = Material {
        title: title(&run.subjects),
        subtitle: run.name.clone(),
        targets: run.subjects.iter().map(Subject::target).collect(),
        missing: run.missing,
        ..Material::default()
    };
    let mut group = Group {
        subjects: run.subjects,
        ..Group::default()
    };
    if let Some(manifest) = &run.manifest {
        material.subtitle = again::subtitle(&run.name, manifest, &group.subjects);
        material.facts = again::facts(manifest, &group.subjects);
        material.commands = again::commands(of, &run.name, manifest, &group);
        group.workload = Some(manifest.workload.clone());
    }
    material.groups.push(group);
    Ok(material)
}

/// The targets by name; of many how many there are.
fn title(subjects: &[Subject]) -> String {
    let names: Vec<&str> = subjects.iter().map(|s| s.name.as_str()).collect();
    match names.len() {
        0..=4 => list(&names),
        n => format!("{n} targets compared"),
    }
}

/// What numbers do that an experiment varies, and before it what is to be known first of all workloads, whose own
/// sentences are folded away behind it.
fn of_all(groups: &[Group], by_value: Vec<Finding>) -> Vec<Finding> {
    if by_value.is_empty() || groups.len() < 2 {
        return by_value;
    }
    let premises = verdict::premises(groups).into_iter();
    premises.chain(by_value).collect()
}

/// The same as a terminal has it, which has nothing else of what is said of a single workload: with what it holds for.
fn in_terminal(groups: &[Group], by_value: Vec<Finding>) -> Vec<Finding> {
    if by_value.is_empty() || groups.len() > 1 {
        return of_all(groups, by_value);
    }
    let holds_for = groups.iter().flat_map(verdict::premise::findings);
    verdict::ran_out(groups)
        .chain(by_value)
        .chain(holds_for)
        .collect()
}

/// The page, and what comes first of the verdict on each workload.
fn page(material: Material, beside: Option<&dyn Beside>) -> (Report, Vec<Finding>) {
    let mut sections = material.by_value.sections;
    let mut verdict = material.leading;
    let by_drive = devices::finding(&material.groups);
    verdict.extend(by_drive.clone());
    verdict.extend(of_all(&material.groups, material.by_value.findings));
    let mut missing = material.missing;
    let (mut by_group, mut headlines) = (Vec::new(), Vec::from_iter(by_drive));
    for group in &material.groups {
        if material.findings.is_none() {
            let findings = verdict::findings(group);
            headlines.extend_from_slice(verdict::headlines(group, &findings));
            by_group.extend(findings);
        }
        // What somebody asked for by an option of its own comes first.
        let of_group = [
            fullness::section(group),
            after::section(group),
            over_days::section(group),
            decay::section(group, beside),
            by_size::section(group),
            free_space::section(group),
            split_files::section(group),
            log::section(group),
            pieces::section(group),
            bench::section(group),
            flash::section(group),
            beside.and_then(|beside| beside.section(group)),
            all_metrics::section(group),
            outcomes::section(group),
            origin::section(group),
        ];
        sections.extend(of_group.into_iter().flatten());
        if material.findings.is_none() {
            missing.extend(lacking(group));
        }
    }
    let maps = if material.findings.is_none() {
        map::maps(&material.groups, &mut missing)
    } else {
        fit(material.disks, PAGE_BYTES)
    };
    sections.extend(material.own_sections);
    // What holds for all workloads, and its charts, come before what is said of each.
    let (answer, of_each) = if material.groups.len() > 1 && !verdict.is_empty() {
        (Vec::new(), by_group)
    } else {
        (by_group, Vec::new())
    };
    verdict.extend(answer);
    verdict.extend(material.findings.into_iter().flatten());
    let mut folded = if material.groups.len() == 1 {
        fold(&mut verdict)
    } else {
        Folded {
            title: "Each workload by itself".to_owned(),
            findings: of_each,
        }
    };
    for finding in verdict.iter_mut().chain(&mut folded.findings) {
        // A link leads to what stands on the page only.
        let leads = |id: &String| sections.iter().any(|section| section.id == *id);
        finding.section = finding.section.take().filter(leads);
    }
    let report = Report {
        title: material.title,
        subtitle: material.subtitle,
        verdict,
        folded,
        missing,
        doubts: Vec::new(),
        targets: material.targets,
        facts: material.facts,
        commands: material.commands,
        sections,
        maps,
        terms: terms::terms(),
    };
    (report, headlines)
}

/// Folds what stands behind the first sentences of a long verdict, which keep the first picture from who looks for it.
fn fold(verdict: &mut Vec<Finding>) -> Folded {
    /// So many sentences stay open, from the answer on: what is to be known before it stays, too.
    const OPEN: usize = 5;
    /// Fewer are not worth a line to press.
    const WORTH: usize = 3;
    let answer = verdict.iter().position(|f| f.tone != Tone::Bad);
    let open = answer.unwrap_or(0) + OPEN;
    if verdict.len() < open + WORTH {
        return Folded::default();
    }
    Folded {
        title: "What this holds for, warnings, and each benchmark".to_owned(),
        findings: verdict.split_off(open),
    }
}

/// What a complete run of this version could have, and this one has not.
fn lacking(group: &Group) -> Vec<String> {
    let mut lacking = Vec::new();
    let said = |text: &str| match &group.title {
        Some(workload) => format!("{workload}: {text}"),
        None => text.to_owned(),
    };
    let lives = || group.subjects.iter().flat_map(|subject| &subject.lives);
    if lives().any(|life| life.last().is_some()) && lives().all(|life| life.bench.is_empty()) {
        lacking.push(said(
            "No benchmark was run. `fsage bench RUN` measures every target, aged and unaged.",
        ));
    }
    let not_counted = |workload: &WorkloadFacts| workload.origins.is_empty();
    let workload = group.workload.as_ref();
    if lives().any(|life| life.last().is_some()) && workload.is_some_and(not_counted) {
        lacking.push(said(
            "Which share of the operations is exact and which is guessed was not counted: the run is not complete, or \
             was made by an older version. `fsage inspect WORKLOAD` says.",
        ));
    }
    lacking
}

/// That nothing of others is lost.
fn may_be_replaced(to: &Path) -> crate::Result<()> {
    is_ours(to, MARK, "report", "file with -o")
}

/// That what is in a place, if anything is, has a mark near its beginning.
fn is_ours(to: &Path, mark: &str, what: &str, another: &str) -> crate::Result<()> {
    let file = match fsage_input::file(to) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("{}: cannot be replaced", to.display()))?,
    };
    let mut head = Vec::new();
    let read = file.take(4096).read_to_end(&mut head);
    read.with_context(|| format!("{}: cannot be replaced", to.display()))?;
    if !String::from_utf8_lossy(&head).contains(mark) {
        bail!(
            "{}: exists and is no {what} of fsage, so it is not replaced; name another {another}",
            to.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::subject::Life;
    use super::*;
    use crate::days::DayRow;
    use fsage_metrics::{files, layout_score};
    use std::iter;

    fn subject(name: &str, score: f64) -> Subject {
        let day = DayRow {
            operations: 10,
            ..DayRow::default()
        };
        let day = day
            .with(&layout_score::SCORE, score)
            .with(&layout_score::SCORED, 100)
            .with(&files::UTILIZATION, 0.5);
        Subject {
            name: name.to_owned(),
            lives: vec![Life {
                days: vec![day],
                ..Life::default()
            }],
            ..Subject::default()
        }
    }

    /// Ids would clash, and the page would be refused, without what tells the workloads apart.
    /// Warnings before the answer do not count, and two sentences are not worth a line to press.
    #[test]
    fn long_verdicts_fold_behind_five_sentences_from_the_answer_on() {
        let verdict = |warnings: usize, others: usize| -> Vec<Finding> {
            let warnings = iter::repeat_n(Tone::Bad, warnings);
            let tones = warnings.chain(iter::repeat_n(Tone::Neutral, others));
            let finding = |(at, tone): (usize, Tone)| Finding {
                text: at.to_string(),
                tone,
                section: None,
            };
            tones.enumerate().map(finding).collect()
        };
        let folded = |warnings, others| {
            let mut verdict = verdict(warnings, others);
            let folded = fold(&mut verdict).findings;
            let first = folded.first().map(|finding| finding.text.clone());
            (verdict.len(), folded.len(), first)
        };
        assert_eq!(folded(0, 7), (7, 0, None));
        assert_eq!(folded(0, 8), (5, 3, Some("5".to_owned())));
        assert_eq!(folded(2, 9), (7, 4, Some("7".to_owned())));
    }

    #[test]
    fn every_workload_of_an_experiment_has_sections_of_its_own() {
        let group = |at: usize| Group {
            suffix: format!("-w{at}"),
            title: Some(format!("workload {at}")),
            subjects: vec![subject("a", 0.9), subject("b", 0.7)],
            workload: None,
        };
        let (report, _) = page(
            Material {
                title: "both".to_owned(),
                groups: vec![group(1), group(2)],
                ..Material::default()
            },
            None,
        );
        let first = |prefix: &str| {
            let mut findings = report.verdict.iter();
            findings.find(|finding| finding.text.starts_with(prefix))
        };
        for at in 1..=2 {
            let finding = first(&format!("workload {at}: After 1 day a keeps 90 %"));
            let section = finding.and_then(|finding| finding.section.clone());
            assert_eq!(section, Some(format!("decay-w{at}")));
        }
        fsage_report::render(&report).expect("a page");
    }

    #[test]
    fn of_many_targets_the_title_has_the_number() {
        let named = |n: usize| {
            (0..n)
                .map(|i| subject(&format!("t{i}"), 0.5))
                .collect::<Vec<_>>()
        };
        assert_eq!(title(&named(2)), "t0 and t1");
        assert_eq!(title(&named(10)), "10 targets compared");
    }

    #[test]
    fn a_link_of_the_verdict_leads_to_what_is_there() {
        let (report, _) = page(
            Material {
                groups: vec![Group {
                    subjects: vec![subject("a", 0.9)],
                    ..Group::default()
                }],
                ..Material::default()
            },
            None,
        );
        let sections: Vec<&str> = report.sections.iter().map(|s| s.id.as_str()).collect();
        for finding in &report.verdict {
            let section = finding.section.as_deref();
            assert!(
                section.is_none_or(|section| sections.contains(&section)),
                "{section:?}"
            );
        }
    }
}
