//! What became of the operations.

use super::subject::{Group, Subject};
use crate::days::REASONS;
use fsage_report::{DataTable, Exhibit, Section, Sheet};

/// The section; none where no operation is on record.
pub fn section(group: &Group) -> Option<Section> {
    let mut columns = vec!["target", "days", "operations", "done"];
    columns.extend(REASONS.map(|(column, ..)| column));
    columns.push("bytes written");
    let mut data = DataTable::new(&columns);
    for subject in &group.subjects {
        data.rows.extend(row(subject));
    }
    let lives = if group.subjects.iter().any(|s| s.lives.len() > 1) {
        " Sums over all seeds and repetitions."
    } else {
        ""
    };
    (!data.rows.is_empty()).then(|| Section {
        id: format!("outcomes{}", group.suffix),
        title: group.titled("Operations"),
        lead: "Whether every target did all of the workload. Targets that skipped operations hold other files than \
               the others, and cannot be compared with them without care."
            .to_owned(),
        exhibits: vec![Exhibit::Table(Sheet {
            id: format!("outcomes-table{}", group.suffix),
            title: "Operations by outcome".to_owned(),
            description: format!(
                "Not done: for lack of space or inodes, because a file would be too large, on what could not be made \
                 before (absent), because they do not fit the state (with --lenient), or because the file system does \
                 not know them.{lives}"
            ),
            data,
        })],
    })
}

fn row(subject: &Subject) -> Option<Vec<fsage_report::Cell>> {
    let operations = subject.total(|day| day.operations);
    let skipped = subject.total(|day| day.skipped.saturating_add(day.ignored));
    let number = |n: u64| (n as f64).into();
    let mut row = vec![
        subject.name.as_str().into(),
        number(subject.days()),
        number(operations),
        number(operations.saturating_sub(skipped)),
    ];
    row.extend(REASONS.map(|(.., count)| number(subject.total(count))));
    row.push(number(subject.total(|day| day.bytes_written)));
    (operations > 0).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::days::DayRow;
    use crate::report::subject::Life;
    use fsage_report::Cell;

    #[test]
    fn what_was_done_and_what_was_not_add_up() {
        let day = DayRow {
            operations: 100,
            skipped: 6,
            no_space: 4,
            absent: 2,
            ignored: 3,
            ..DayRow::default()
        };
        let life = Life {
            days: vec![day.clone(), day],
            ..Life::default()
        };
        let subject = Subject {
            lives: vec![life],
            ..Subject::default()
        };
        let row = row(&subject).expect("a row");
        // Two days of 100 operations, of which 4 + 2 were skipped and 3 are not known.
        let expected = [2.0, 200.0, 182.0, 8.0, 0.0, 0.0, 4.0, 0.0, 6.0, 0.0];
        assert_eq!(row[1..], expected.map(Cell::from));
        assert!(super::row(&Subject::default()).is_none());
    }
}
