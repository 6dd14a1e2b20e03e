//! Which share of the operations is exact, and which is guessed.

use super::subject::Group;
use super::words::{list, percent};
use crate::run_folder::Origins;
use fsage_report::charts::Stack;
use fsage_report::{Axis, Cell, DataTable, Exhibit, Format, Section, Sheet, Stacks};

/// How well a time is known, from good to bad: the word of the formats, and what it means.
const QUALITIES: [(Option<&str>, &str); 7] = [
    (Some("exact"), "exact"),
    (Some("ctime"), "exact to the last change (ctime)"),
    (Some("bounded"), "bounded by evidence"),
    (Some("inferred"), "inferred"),
    (Some("shifted"), "shifted copy"),
    (Some("random"), "random"),
    (None, "not given"),
];

/// Qualities whose times are known; the others are guessed, or nothing is said of them.
const KNOWN: [&str; 2] = ["exact", "ctime"];

/// The section; none where the run does not say.
pub fn section(group: &Group) -> Option<Section> {
    let origins = group.workload.as_ref().map(|workload| &workload.origins)?;
    let all = operations(origins, |_| true);
    if all == 0 {
        return None;
    }
    let share = |of: u64| of as f64 / all as f64;
    let known = operations(origins, |o| {
        o.t_quality
            .as_deref()
            .is_some_and(|quality| KNOWN.contains(&quality))
    });
    let unsaid = operations(origins, |o| o.t_quality.is_none());
    let guessed = all - known - unsaid;
    let parts = [
        (known, "happened at a time that is known"),
        (guessed, "have a guessed time"),
        (unsaid, "do not say how well their time is known"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", percent(share(*count))))
        .collect();
    let chart = Stacks {
        id: format!("origin-chart{}", group.suffix),
        title: "Operations by origin, and how well their time is known".to_owned(),
        description:
            "Shares of the operations of each origin; the table below has how many these are."
                .to_owned(),
        value: Axis {
            label: "operations".to_owned(),
            format: Format::Percent,
            from_zero: true,
            ..Axis::default()
        },
        stacks: stacks(origins, all),
    };
    let mut data = DataTable::new(&["origin", "time", "operations", "share"]);
    for row in origins {
        data.rows.push(vec![
            word(row.origin.as_deref()).into(),
            word(row.t_quality.as_deref()).into(),
            Cell::from(row.operations as f64),
            share(row.operations).into(),
        ]);
    }
    Some(Section {
        id: format!("origin{}", group.suffix),
        title: group.titled("Exact and guessed operations"),
        lead: format!("Of all operations of the workload {}.", list(&parts)),
        exhibits: vec![
            Exhibit::Chart(chart.into_chart()),
            Exhibit::Table(Sheet {
                id: format!("origin-table{}", group.suffix),
                title: "Operations by origin".to_owned(),
                description: String::new(),
                data,
            }),
        ],
    })
}

fn operations(origins: &[Origins], of: impl Fn(&Origins) -> bool) -> u64 {
    let counts = origins
        .iter()
        .filter(|row| of(row))
        .map(|row| row.operations);
    counts.fold(0, u64::saturating_add)
}

/// A bar for each origin, with the same parts in the same order.
fn stacks(origins: &[Origins], all: u64) -> Vec<Stack> {
    let mut names: Vec<Option<&str>> = Vec::new();
    for row in origins {
        if !names.contains(&row.origin.as_deref()) {
            names.push(row.origin.as_deref());
        }
    }
    let occurs = |quality: Option<&str>| {
        origins
            .iter()
            .any(|row| row.t_quality.as_deref() == quality)
    };
    let stacks = names.into_iter().map(|name| Stack {
        name: word(name).to_owned(),
        parts: QUALITIES
            .iter()
            .filter(|(quality, _)| occurs(*quality))
            .map(|&(quality, text)| {
                let count = operations(origins, |row| {
                    row.origin.as_deref() == name && row.t_quality.as_deref() == quality
                });
                (text.to_owned(), count as f64 / all as f64)
            })
            .collect(),
    });
    stacks.collect()
}

fn word(word: Option<&str>) -> &str {
    word.unwrap_or("not given")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::WorkloadFacts;

    fn counted(rows: &[(Option<&str>, Option<&str>, u64)]) -> Group {
        let row = |&(origin, quality, operations): &(Option<&str>, Option<&str>, u64)| Origins {
            origin: origin.map(str::to_owned),
            t_quality: quality.map(str::to_owned),
            operations,
        };
        let workload: WorkloadFacts = serde_json::from_str(
            r#"{"file": "w", "blake3": null, "generator": null, "seed": null, "source": null}"#,
        )
        .expect("the manifest of an older run");
        Group {
            workload: Some(WorkloadFacts {
                origins: rows.iter().map(row).collect(),
                ..workload
            }),
            ..Group::default()
        }
    }

    #[test]
    fn shares_of_what_is_known_and_guessed_add_up() {
        let group = counted(&[
            (None, None, 25),
            (Some("trace"), Some("exact"), 40),
            (Some("snapshot_modify"), Some("ctime"), 10),
            (Some("generated"), Some("random"), 25),
        ]);
        let section = section(&group).expect("a section");
        assert_eq!(
            section.lead,
            "Of all operations of the workload 50 % happened at a time that is known, 25 % have a guessed time and \
             25 % do not say how well their time is known."
        );
    }

    #[test]
    fn an_older_run_has_no_shares() {
        assert!(section(&counted(&[])).is_none());
        assert!(section(&Group::default()).is_none());
    }
}
