//! Pieces of files, and how the files of a directory follow each other.

use super::decay::by_day;
use super::subject::{Group, Over};
use crate::days::DayRow;
use fsage_metrics::{Metric, directory_order, pieces};
use fsage_report::{Axis, Cell, DataTable, Exhibit, Format, Section, Sheet};

/// The section; none where no file of any target has a place on disk.
pub fn section(group: &Group) -> Option<Section> {
    let mut exhibits = Vec::new();
    exhibits.extend(by_day(
        group,
        "pieces-by-day",
        "Pieces per file by day",
        "Runs that are contiguous on disk, a file with data: 1 is a file in one piece.",
        Axis {
            label: "pieces per file".to_owned(),
            ..Axis::default()
        },
        |day| day.value(&pieces::PER_FILE),
    ));
    exhibits.extend(by_day(
        group,
        "dynamic-by-day",
        "Layout in directory order by day",
        "Share of steps from block to block that are contiguous when all files are read directory by directory, as a \
         backup does: within files and from one to the next.",
        Axis {
            label: "dynamic layout score".to_owned(),
            format: Format::Percent,
            ..Axis::default()
        },
        |day| day.value(&directory_order::DYNAMIC),
    ));
    if exhibits.is_empty() {
        return None;
    }
    exhibits.push(table(group));
    Some(Section {
        id: format!("pieces{}", group.suffix),
        title: group.titled("Pieces and directory order"),
        lead: "How often a disk has to seek: inside of files, and from one file of a directory to the next.".to_owned(),
        exhibits,
    })
}

/// Columns of the table: title, and metric.
const COLUMNS: [(&str, &Metric); 5] = [
    ("files in several pieces", &pieces::FRAGMENTED_FILES),
    ("pieces per file", &pieces::PER_FILE),
    ("dynamic layout score", &directory_order::DYNAMIC),
    (
        "files right behind the one before",
        &directory_order::ADJACENCY,
    ),
    (
        "median distance to the next file (bytes)",
        &directory_order::NEXT_FILE_BYTES,
    ),
];

/// A value of a layout, or of the control that its last day has beside it.
type Of = fn(&DayRow, &Metric) -> Option<f64>;

fn table(group: &Group) -> Exhibit {
    let mut columns = vec!["target", "state"];
    columns.extend(COLUMNS.map(|(title, ..)| title));
    let mut data = DataTable::new(&columns);
    for subject in &group.subjects {
        let states: [(&str, Of); 2] = [("aged", DayRow::value), ("control", DayRow::of_control)];
        for (state, of) in states {
            let values = COLUMNS.map(|(_, metric)| {
                let over: Option<Over> = subject.at_end(|day| of(day, metric));
                Cell::from(over.map(|over| over.mean))
            });
            if values.iter().any(|value| *value != Cell::Null) {
                let mut row = vec![subject.name.as_str().into(), state.into()];
                row.extend(values);
                data.rows.push(row);
            }
        }
    }
    Exhibit::Table(Sheet {
        id: format!("pieces-table{}", group.suffix),
        title: "Pieces and directory order at the end".to_owned(),
        description:
            "Scores and shares from 0 to 1; the control holds the same files, freshly written."
                .to_owned(),
        data,
    })
}
