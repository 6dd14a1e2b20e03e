//! What stands on the page of an experiment: cells become the lives of their targets, workload by workload.

use super::again;
use super::by_value::{self, ByValue};
use super::subject::{Group, Subject};
use super::words::{counted, list, shell};
use super::{Material, names, source};
use crate::benching;
use crate::experiment::manifest::{self, Cell, Manifest, State};
use crate::experiment::too_few;
use fsage_report::{self as page, DataTable, Exhibit, Section, Sheet};
use std::path::Path;

/// The largest file of an experiment that its page shows.
const SHOWN_BYTES: u64 = 16 << 10;

/// Reads an experiment.
pub fn read(path: &Path) -> crate::Result<Material> {
    let manifest = Manifest::read(path)?;
    let mut missing = Vec::new();
    let mut specs: Vec<&str> = Vec::new();
    let mut workloads: Vec<String> = Vec::new();
    for cell in &manifest.cells {
        if !specs.contains(&cell.target.as_str()) {
            specs.push(&cell.target);
        }
        if !workloads.contains(&cell.life()) {
            workloads.push(cell.life());
        }
    }
    let names = names::short(&specs);
    let subjects: Vec<Subject> = specs
        .iter()
        .zip(names)
        .enumerate()
        .map(|(place, (spec, name))| Subject {
            name,
            place,
            spec: (*spec).to_owned(),
            facts: again::target_facts(spec, &serde_json::Map::new()),
            lives: Vec::new(),
            room_bytes: None,
        })
        .collect();
    let several = workloads.len() > 1;
    let mut groups: Vec<Group> = workloads
        .iter()
        .enumerate()
        .map(|(at, workload)| Group {
            suffix: if several {
                format!("-w{}", at + 1)
            } else {
                String::new()
            },
            title: several.then(|| workload.clone()),
            subjects: subjects.clone(),
            workload: None,
        })
        .collect();
    for cell in &manifest.cells {
        let group = workloads
            .iter()
            .position(|workload| *workload == cell.life());
        let subject = specs.iter().position(|spec| *spec == cell.target);
        if let Some((group, subject)) = group.zip(subject) {
            live(path, cell, &mut groups[group], subject, &mut missing);
        }
    }
    for group in &mut groups {
        group.subjects.retain(|subject| !subject.lives.is_empty());
    }
    missing.extend(left_out(&manifest.cells));
    missing.extend(unfinished(path, &manifest.cells));
    let colors = |spec: &str| specs.iter().position(|known| *known == spec);
    let by_value = by_value::of_experiment(path, &manifest, colors).unwrap_or_else(|error| {
        missing.push(format!("Charts over what is varied: {error:#}."));
        ByValue::default()
    });
    let seeds = distinct(manifest.cells.iter().map(|cell| cell.seed)).len();
    Ok(Material {
        title: manifest.name.clone(),
        subtitle: format!(
            "{}{}, {}, {}; {}",
            sentence_before(&manifest.summary),
            counted(workloads.len() as u64, "workload"),
            counted(seeds as u64, "seed"),
            counted(specs.len() as u64, "target"),
            manifest.build
        ),
        targets: subjects.iter().map(Subject::target).collect(),
        facts: facts(&manifest, &workloads, &groups),
        commands: commands(path),
        by_value,
        leading: Vec::new(),
        own_sections: vec![cells(&manifest.cells, &specs, &subjects)],
        groups,
        missing,
        findings: None,
        disks: Vec::new(),
    })
}

/// A cell becomes a life of its target.
fn live(path: &Path, cell: &Cell, group: &mut Group, subject: usize, missing: &mut Vec<String>) {
    if cell.state != State::Complete {
        return;
    }
    match source::run(&path.join(&cell.run)) {
        Ok(run) => {
            missing.extend(
                run.missing
                    .iter()
                    .map(|line| format!("Cell {}: {line}", cell.id)),
            );
            if let Some(manifest) = run.manifest {
                group.workload.get_or_insert(manifest.workload);
            }
            let lives = run.subjects.into_iter().flat_map(|subject| subject.lives);
            group.subjects[subject].lives.extend(lives);
        }
        Err(error) => missing.push(format!("Cell {}: {error:#}.", cell.id)),
    }
}

/// What was left out of cells, for lack of room most often: the same of several lives once, with what the first says.
fn left_out(cells: &[Cell]) -> impl Iterator<Item = String> {
    let mut alike: Vec<((&str, &str), &str, Vec<&str>)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.state == State::Complete) {
        for line in &cell.left_out {
            let what = line.split_once(benching::LEFT_OUT);
            let what = what.map_or(line.as_str(), |(what, _)| what);
            // Before it stands the target, of each life with the seed of its clock.
            let what = what.split_once(": ").map_or(what, |(_, what)| what);
            let key = (cell.target.as_str(), what);
            match alike.iter_mut().find(|(known, ..)| *known == key) {
                Some((.., of)) => of.push(&cell.id),
                None => alike.push((key, line, vec![&cell.id])),
            }
        }
    }
    alike.into_iter().map(|(_, line, of)| match &of[..] {
        [only] => format!("Cell {only}: {line}."),
        [first, ..] => format!("{} cells, the first {first}: {line}.", of.len()),
        [] => String::new(),
    })
}

/// Cells that are not done.
fn unfinished(path: &Path, cells: &[Cell]) -> Vec<String> {
    let again = shell(&format!("{}/experiment.toml", path.display()));
    let mut lines = Vec::new();
    for cell in cells.iter().filter(|cell| cell.state == State::Failed) {
        let why = cell.error.as_deref().unwrap_or("nothing says why");
        lines.push(format!("Cell {} failed: {why}.", cell.id));
    }
    let missing = cells.iter().filter(|cell| cell.state == State::Missing);
    let missing: Vec<&str> = missing.map(|cell| cell.id.as_str()).collect();
    if !missing.is_empty() {
        let shown = &missing[..missing.len().min(10)];
        let more = if shown.len() < missing.len() {
            ", ..."
        } else {
            ""
        };
        lines.push(format!(
            "{} not run yet, or interrupted: {}{more}.",
            counted(missing.len() as u64, "cell"),
            list(shown)
        ));
    }
    lines.extend(too_few_lives(cells));
    if !lines.is_empty() {
        lines.push(format!(
            "`fsage run {again} -o {}` runs what is not done.",
            shell(&path.display().to_string())
        ));
    }
    lines
}

/// Targets that have too few lives because cells are not done, workload by workload.
fn too_few_lives(cells: &[Cell]) -> Vec<String> {
    let lives = distinct(cells.iter().map(Cell::life));
    let rows = distinct(cells.iter().map(|cell| (cell.life(), &cell.target)));
    let few = rows.iter().filter_map(|row| {
        let of_row = cells
            .iter()
            .filter(|cell| (cell.life(), &cell.target) == *row);
        let (done, not_done): (Vec<&Cell>, Vec<&Cell>) =
            of_row.partition(|cell| cell.state == State::Complete);
        let seeds = distinct(done.iter().map(|cell| cell.seed));
        let name = match lives.len() {
            1 => row.1.clone(),
            _ => format!("{} on {}", row.0, row.1),
        };
        too_few(&name, seeds.len(), not_done.len())
    });
    few.collect()
}

/// A text as a sentence with a blank behind it; nothing if it is empty.
fn sentence_before(summary: &str) -> String {
    match summary.chars().last() {
        None => String::new(),
        Some('.' | '?' | '!') => format!("{summary} "),
        Some(_) => format!("{summary}. "),
    }
}

fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn facts(manifest: &Manifest, workloads: &[String], groups: &[Group]) -> Vec<page::Fact> {
    let mut facts = vec![again::fact(
        "BLAKE3 of the experiment file",
        manifest.blake3.as_str(),
    )];
    for (name, group) in workloads.iter().zip(groups) {
        let generator = group.workload.as_ref().and_then(|w| w.source.clone());
        facts.push(again::fact(
            &format!("workload {name}"),
            generator.unwrap_or_default(),
        ));
    }
    let count = |state| {
        manifest
            .cells
            .iter()
            .filter(|cell| cell.state == state)
            .count()
    };
    facts.push(again::fact(
        "cells",
        format!(
            "{} complete, {} failed, {} not run",
            count(State::Complete),
            count(State::Failed),
            count(State::Missing)
        ),
    ));
    if !manifest.suites.is_empty() {
        facts.push(again::fact("benchmarks", list(&manifest.suites)));
    }
    facts.push(again::fact("run by", manifest.build.to_string()));
    facts
}

fn commands(path: &Path) -> Vec<page::Command> {
    let name = source::name_of(path);
    let file = shell(&format!("{name}/experiment.toml"));
    let again = shell(&format!("{name}-again"));
    let command = |what: &str, line: String| page::Command {
        what: what.to_owned(),
        line,
    };
    let mut commands = vec![
        command(
            "Run the experiment again, in the folder that holds this one:",
            format!("fsage run {file} -o {again}"),
        ),
        command("Its report:", format!("fsage report {again}")),
    ];
    // A page that is given away alone has the file as well, unless that is a book.
    if let Ok(text) = fsage_input::text(&path.join(manifest::FILE), SHOWN_BYTES) {
        commands.push(command(
            "Without the folder, from this file:",
            text.trim_end().to_owned(),
        ));
    }
    commands
}

/// The table of all cells.
fn cells(cells: &[Cell], specs: &[&str], subjects: &[Subject]) -> Section {
    let mut data = DataTable::new(&[
        "cell",
        "workload",
        "seed",
        "target",
        "repetition",
        "state",
        "why",
    ]);
    for cell in cells {
        let at = specs.iter().position(|spec| *spec == cell.target);
        let target = at.map_or(cell.target.as_str(), |at| subjects[at].name.as_str());
        let state = match cell.state {
            State::Complete => "complete",
            State::Failed => "failed",
            State::Missing => "not run",
        };
        data.rows.push(vec![
            cell.id.as_str().into(),
            cell.life().as_str().into(),
            cell.seed.map(|seed| seed as f64).into(),
            target.into(),
            f64::from(cell.repetition).into(),
            state.into(),
            cell.error
                .clone()
                .map_or(page::Cell::Null, page::Cell::from),
        ]);
    }
    Section {
        id: "cells".to_owned(),
        title: "Cells of the experiment".to_owned(),
        lead: "Each cell is one target with one seed of a workload, once: an ordinary run below cells/.".to_owned(),
        exhibits: vec![Exhibit::Table(Sheet {
            id: "cells-table".to_owned(),
            title: "Cells".to_owned(),
            description: String::new(),
            data,
        })],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn cell(id: &str, left_out: &[&str]) -> Cell {
        Cell {
            id: id.to_owned(),
            workload: "w".to_owned(),
            seed: None,
            repetition: 1,
            target: "ext4".to_owned(),
            parameters: BTreeMap::new(),
            beside: BTreeMap::new(),
            pattern: None,
            run: String::new(),
            state: State::Complete,
            error: None,
            again: None,
            left_out: left_out.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_left_out_of_several_cells_is_said_once() {
        let nothing = "ffs: there is nothing to benchmark";
        let cells = [
            cell(
                "s1",
                &["ext4: sequential: left out: 27 MiB are free", nothing],
            ),
            cell(
                "s2",
                &["ext4:seed=2: sequential: left out: 26 MiB are free"],
            ),
            cell("s3", &[]),
            Cell {
                target: "xfs".to_owned(),
                ..cell("s4", &["xfs: sequential: left out: 1 MiB is free"])
            },
        ];
        let lines: Vec<String> = left_out(&cells).collect();
        assert_eq!(
            lines,
            [
                "2 cells, the first s1: ext4: sequential: left out: 27 MiB are free.",
                "Cell s1: ffs: there is nothing to benchmark.",
                "Cell s4: xfs: sequential: left out: 1 MiB is free."
            ]
        );
    }

    #[test]
    fn a_page_says_which_target_failed_cells_leave_with_too_few_lives() {
        let mut cells: Vec<Cell> = Vec::new();
        for (target, failed) in [("ext4", 0), ("xfs", 2), ("lfs", 1)] {
            for seed in 1..=4 - u64::from(target == "xfs") {
                let state = if seed <= failed { "failed" } else { "complete" };
                let cell = json!({
                    "id": format!("{target}-{seed}"), "workload": "mail", "seed": seed, "repetition": 1,
                    "target": target, "run": "", "state": state,
                });
                cells.push(serde_json::from_value(cell).expect("a cell"));
            }
        }
        let said = unfinished(Path::new("e"), &cells);
        let few: Vec<&String> = said.iter().filter(|line| line.contains("few")).collect();
        assert_eq!(
            few,
            [
                "Too few runs of xfs: 1 life, and 3 or more tell a difference from chance; 2 cells failed or did not \
                 run."
            ]
        );
        assert_eq!(
            said.last().map(String::as_str),
            Some("`fsage run e/experiment.toml -o e` runs what is not done.")
        );
    }
}
