//! The page of two experiments side by side.

use super::words::{list, shell};
use super::{Material, again};
use crate::build::Build;
use crate::experiment::Matched;
use crate::experiment::manifest::Manifest;
use fsage_report::{Cell, Command, DataTable, Exhibit, Finding, Section, Sheet, Tone};

/// The id of its section.
const ID: &str = "sides";

/// What stands on it.
pub fn material(matched: &Matched) -> Material {
    let [first, other] = &matched.folders;
    let facts = matched.folders.iter().filter_map(|folder| {
        let manifest = Manifest::read(folder.as_ref()).ok()?;
        Some(again::fact(
            &format!("{folder} was run by"),
            manifest.build.to_string(),
        ))
    });
    let says = matched.says().into_iter();
    Material {
        title: list(&matched.names()),
        subtitle: format!("Two experiments side by side; {}", Build::this()),
        facts: facts.collect(),
        commands: vec![Command {
            what: "This page again:".to_owned(),
            line: format!(
                "fsage report {} {} -o page.html",
                shell(first),
                shell(other)
            ),
        }],
        findings: Some(says.map(said).collect()),
        own_sections: section(matched).into_iter().collect(),
        ..Material::default()
    }
}

fn said(text: String) -> Finding {
    Finding {
        text,
        tone: Tone::Neutral,
        section: Some(ID.to_owned()),
    }
}

/// The table of all values; none where they have nothing in common.
fn section(matched: &Matched) -> Option<Section> {
    let [first, other] = &matched.names();
    let mut data = DataTable::new(&[
        "workload", "target", "metric", first, other, "unit", "ratio", "lowest", "highest", "lives",
    ]);
    for value in &matched.values {
        let compared = &value.compared;
        let (low, high) = compared.interval.unzip();
        data.rows.push(vec![
            value.workload.as_str().into(),
            value.target.as_str().into(),
            value.metric.as_str().into(),
            compared.first.into(),
            compared.other.into(),
            value.unit.clone().map_or(Cell::Null, Cell::from),
            compared.ratio.into(),
            low.into(),
            high.into(),
            (compared.lives as f64).into(),
        ]);
    }
    (!data.rows.is_empty()).then(|| Section {
        id: ID.to_owned(),
        title: "Side by side".to_owned(),
        lead: format!("What {other} has beside {first}, of the same workload on the same target."),
        exhibits: vec![Exhibit::Table(Sheet {
            id: "sides-table".to_owned(),
            title: "Metrics at the end, and benchmarks of the aged file systems".to_owned(),
            description: "Ratios are the second over the first: the mean over lives that both lived, with its 95 % \
                          interval (Student's t). What was benchmarked at different times, or on different machines, \
                          differs by that too."
                .to_owned(),
            data,
        })],
    })
}
