//! What was run, and the commands that run it again.

use super::subject::{Group, Subject};
use super::words::{counted, shell, thousands};
use crate::benching::results::{self, Row};
use crate::generate;
use crate::run_folder::{Manifest, State, WorkloadFacts};
use fsage_bench::benchmarks;
use fsage_report::{Command, Fact};
use fsage_target::{TargetSpec, kinds};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Label of the fact that says what a target is.
pub const KIND: &str = "kind";
/// Label of the fact that says what the policy of a target does.
pub const POLICY: &str = "policy";

/// A label and what stands beside it.
pub fn fact(label: &str, value: impl Into<String>) -> Fact {
    Fact {
        label: label.to_owned(),
        value: value.into(),
    }
}

/// The workload of a run, and who made the run.
pub fn facts(manifest: &Manifest, subjects: &[Subject]) -> Vec<Fact> {
    let mut facts = workload_facts(&manifest.workload);
    let all = subjects.iter().flat_map(|subject| &subject.lives);
    let days = all.clone().map(|life| life.days.len() as u64).max();
    let operations = all.map(|life| life.total(|day| day.operations)).max();
    if let Some((days, operations)) = days.zip(operations).filter(|(days, _)| *days > 0) {
        facts.push(fact("days", thousands(days)));
        facts.push(fact("operations", thousands(operations)));
    }
    if manifest.lenient {
        facts.push(fact(
            "lenient",
            "operations that did not fit the state were skipped",
        ));
    }
    let state = match manifest.state {
        State::Complete => "complete",
        State::Incomplete => "incomplete",
    };
    facts.push(fact("state of the run", state));
    if let Some(begun_by) = &manifest.begun_by {
        facts.push(fact("begun by", begun_by.to_string()));
    }
    facts.push(fact("run by", manifest.build.to_string()));
    facts
}

/// What is known of a workload.
pub fn workload_facts(workload: &WorkloadFacts) -> Vec<Fact> {
    let mut facts = vec![fact("workload", workload.file.as_str())];
    if let Some(source) = &workload.source {
        facts.push(fact("where it comes from", source.as_str()));
    }
    if let Some(generator) = &workload.generator {
        facts.push(fact("generator", generator_name(generator)));
    }
    if let Some(seed) = workload.seed {
        facts.push(fact("seed", seed.to_string()));
    }
    let hash = workload.blake3.as_deref();
    facts.push(fact(
        "BLAKE3 of the workload",
        hash.unwrap_or("not known: it came through a pipe"),
    ));
    facts
}

/// A generator in a few words: its name and that of its profile.
fn generator_name(text: &str) -> String {
    let Ok(parameters) = serde_json::from_str::<serde_json::Value>(text) else {
        return text.to_owned();
    };
    let word = |key: &str| parameters.get(key).and_then(|value| value.as_str());
    let words: Vec<&str> = [word("name"), word("profile")]
        .into_iter()
        .flatten()
        .collect();
    if words.is_empty() {
        text.to_owned()
    } else {
        words.join(" ")
    }
}

/// What is known of a target: its kind, its policy, and of a real one the machine.
pub fn target_facts(spec: &str, known: &serde_json::Map<String, serde_json::Value>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Ok(spec) = TargetSpec::parse(spec) {
        let kind = kinds().find(|(kind, _)| *kind == spec.kind);
        facts.extend(kind.map(|(_, what)| fact(KIND, what)));
        let policy = spec.policy();
        facts.extend(
            policy.map(|policy| fact(POLICY, format!("{}: {}", policy.name, policy.summary))),
        );
    }
    facts.extend(known.iter().map(|(label, value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        fact(label, value)
    }));
    facts
}

/// The commands that make the workload, age the targets and measure them again, in the folder that holds the run.
pub fn commands(run: &Path, name: &str, manifest: &Manifest, group: &Group) -> Vec<Command> {
    let mut commands = Vec::new();
    let again = format!("{name}-again");
    let workload = place(&manifest.workload, name);
    if let Some(words) = generated(&manifest.workload) {
        commands.push(command(
            "Make the workload again, byte for byte, where it is gone:",
            words.into_iter().chain(["-o".to_owned(), workload.clone()]),
        ));
    }
    let mut age = vec!["age".to_owned(), workload];
    for target in &manifest.targets {
        age.extend(["--on".to_owned(), target.spec.clone()]);
    }
    if manifest.lenient {
        age.push("--lenient".to_owned());
    }
    if manifest.state == State::Incomplete {
        let mut resume = age.clone();
        resume.extend(["-o".to_owned(), name.to_owned(), "--resume".to_owned()]);
        commands.push(command("Resume this run:", resume));
    }
    let lives = || group.subjects.iter().flat_map(|subject| &subject.lives);
    let no_control = lives().all(|life| life.control_score().is_none() && life.control.is_none());
    if no_control && manifest.state == State::Complete && lives().any(|life| life.last().is_some())
    {
        age.push("--no-control".to_owned());
    }
    age.extend(["-o".to_owned(), again.clone()]);
    let where_ = "in the folder that holds this run";
    commands.push(command(
        &format!("Age the same targets again, {where_}:"),
        age,
    ));
    commands.extend(benchmarks_again(run, &again, manifest, group));
    commands.push(command(
        "All metrics of every target as tables:",
        ["measure".to_owned(), again.clone()],
    ));
    commands.push(command("Its report:", ["report".to_owned(), again]));
    commands
}

/// A command for each suite, since each may have been run in another way.
fn benchmarks_again(run: &Path, again: &str, manifest: &Manifest, group: &Group) -> Vec<Command> {
    let lives = || group.subjects.iter().flat_map(|subject| &subject.lives);
    let rows: Vec<&Row> = lives().flat_map(|life| &life.bench).collect();
    let suites: BTreeSet<&str> = rows
        .iter()
        .map(|row| row.measurement.benchmark.as_str())
        .collect();
    let commands = suites.into_iter().map(|suite| {
        let rows = || {
            rows.iter()
                .filter(move |row| row.measurement.benchmark == suite)
        };
        let mut folders = manifest
            .targets
            .iter()
            .map(|target| run.join(&target.folder));
        let asked_by = folders.clone().find_map(|of| results::asked_by(&of, suite));
        let mut words = vec!["bench".to_owned(), again.to_owned()];
        let mut option = |name: &str, value: Option<String>| {
            words.extend(
                value
                    .into_iter()
                    .flat_map(|value| [format!("--{name}"), value]),
            );
        };
        for (name, value) in
            asked_by.unwrap_or_else(|| vec![("suite".to_owned(), suite.to_owned())])
        {
            option(&name, Some(value));
        }
        option("device", rows().find_map(|row| row.device.clone()));
        option("host", rows().find_map(|row| row.host.clone()));
        option("size", sizes(suite, rows()));
        let courses = lives().flat_map(|life| &life.courses);
        let of_suite = courses.filter(|course| course.of().0 == suite);
        let days = of_suite.map(|course| course.days.len()).max();
        option("over-days", days.map(|days| days.to_string()));
        let repetitions = rows().map(|row| row.measurement.repetition).max();
        option(
            "repetitions",
            repetitions.map(|last| (u64::from(last) + 1).to_string()),
        );
        option(
            "seed",
            folders.find_map(|folder| results::seed(&folder, suite)),
        );
        command(&format!("Run the benchmark {suite} again:"), words)
    });
    commands.collect()
}

/// The sizes of files of a suite, where they are not its own.
fn sizes<'a>(suite: &str, rows: impl Iterator<Item = &'a &'a Row>) -> Option<String> {
    let measured: BTreeSet<u64> = rows.filter_map(|row| row.measurement.file_bytes).collect();
    let own = benchmarks::by_name(suite)?.default_cases();
    let own: BTreeSet<u64> = own.iter().filter_map(|case| case.file_bytes).collect();
    (!measured.is_empty() && measured != own).then(|| {
        let sizes: Vec<String> = measured.iter().map(u64::to_string).collect();
        sizes.join(",")
    })
}

/// Where the workload is, from the folder that holds the run.
fn place(workload: &WorkloadFacts, run: &str) -> String {
    let Some(path) = &workload.path else {
        return workload.file.clone();
    };
    let mut place = PathBuf::from(run);
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir if place.file_name().is_some() => {
                place.pop();
            }
            other => place.push(other),
        }
    }
    place.to_string_lossy().into_owned()
}

fn generated(workload: &WorkloadFacts) -> Option<Vec<String>> {
    let generator = serde_json::from_str(workload.generator.as_deref()?).ok()?;
    generate::again(&generator, workload.seed?)
}

fn command(what: &str, words: impl IntoIterator<Item = String>) -> Command {
    let words: Vec<String> = words.into_iter().map(|word| shell(&word)).collect();
    Command {
        what: what.to_owned(),
        line: format!("fsage {}", words.join(" ")),
    }
}

/// What was compared and for how long, in a line below the title.
pub fn subtitle(name: &str, manifest: &Manifest, subjects: &[Subject]) -> String {
    let days = subjects.iter().map(Subject::days).max().unwrap_or(0);
    let targets = counted(subjects.len() as u64, "target");
    let days = if days > 0 {
        format!(", {}", counted(days, "day"))
    } else {
        String::new()
    };
    format!(
        "Folder {name}: workload {}, {targets}{days}; {}",
        manifest.workload.file, manifest.build
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(path: Option<&str>) -> WorkloadFacts {
        WorkloadFacts {
            file: "w.parquet".into(),
            path: path.map(str::to_owned),
            blake3: None,
            generator: None,
            seed: None,
            source: None,
            origins: Vec::new(),
        }
    }

    #[test]
    fn the_workload_is_named_from_the_folder_that_holds_the_run() {
        for (path, expected) in [
            (Some("../w.parquet"), "w.parquet"),
            (Some("../a/w.parquet"), "a/w.parquet"),
            (Some("../../w.parquet"), "../w.parquet"),
            (Some("w.parquet"), "run/w.parquet"),
            (Some("/w.parquet"), "/w.parquet"),
            (None, "w.parquet"),
        ] {
            assert_eq!(place(&workload(path), "run"), expected, "{path:?}");
        }
    }

    #[test]
    fn a_generator_is_named_by_its_name_and_profile() {
        let text = r#"{"name":"profile","profile":"home-1996","days":300}"#;
        assert_eq!(generator_name(text), "profile home-1996");
        assert_eq!(generator_name("mine 1.0"), "mine 1.0");
        assert_eq!(generator_name("[1]"), "[1]");
    }

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        let words = ["age", "a b.ops", "dir:\"x,y\"", "it's", "a\nb"];
        let command = command("", words.map(str::to_owned));
        let expected = r#"fsage age 'a b.ops' 'dir:"x,y"' 'it'\''s' $'a\nb'"#;
        assert_eq!(command.line, expected);
    }
}
