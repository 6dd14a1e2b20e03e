//! Files that begin in another group than their inode.

use super::decay::by_day;
use super::names;
use super::subject::{Group, Subject};
use crate::days::DayRow;
use fsage_report::{Axis, DataTable, Exhibit, Format, Section, Sheet};

/// The section; none where no target has groups.
pub fn section(group: &Group) -> Option<Section> {
    let with_groups = Group {
        subjects: group
            .subjects
            .iter()
            .filter(|subject| subject.has_groups())
            .cloned()
            .collect(),
        ..group.clone()
    };
    let chart = by_day(
        &with_groups,
        "split-files-by-day",
        "Split files by day",
        "Share of the regular files whose first block lies in another cylinder or block group than their inode.",
        Axis {
            label: "split files".to_owned(),
            format: Format::Percent,
            from_zero: true,
            ..Axis::default()
        },
        share,
    )?;
    let mut data = DataTable::new(&[
        "target",
        "files",
        "split files",
        "one group away",
        "less than ten away",
        "split in the control",
        "files in the main group of their directory",
    ]);
    for subject in &with_groups.subjects {
        let end =
            |value: fn(&DayRow) -> f64| subject.at_end(|day| Some(value(day))).map(|o| o.mean);
        let control = subject.over(|life| Some(life.last()?.control_split_files? as f64));
        let locality = subject.at_end(|day| day.directory_locality);
        data.rows.push(vec![
            subject.name.as_str().into(),
            end(|day| day.files as f64).into(),
            end(|day| day.split_files as f64).into(),
            end(|day| day.split_distance_1 as f64).into(),
            end(|day| day.split_distance_below_10 as f64).into(),
            control.map(|over| over.mean).into(),
            locality.map(|over| over.mean).into(),
        ]);
    }
    Some(Section {
        id: format!("split-files{}", group.suffix),
        title: group.titled("Split files"),
        lead: "An allocator keeps a file near its inode, and the files of a directory together, as long as their group \
               has room. Where it has none, the file begins elsewhere, and reading it means a long way."
            .to_owned(),
        exhibits: vec![
            chart,
            Exhibit::Table(Sheet {
                id: format!("split-files-table{}", group.suffix),
                title: "Split files at the end".to_owned(),
                description: String::new(),
                data,
            }),
        ],
    })
}

impl Subject {
    /// Whether its file system has groups; the segments of a log are none.
    fn has_groups(&self) -> bool {
        if names::is_log(&self.spec) {
            return false;
        }
        let mut days = self.lives.iter().flat_map(|life| &life.days);
        days.any(|day| day.split_files > 0 || day.directory_locality.is_some())
    }
}

/// Split files as a share of all.
pub fn share(day: &DayRow) -> Option<f64> {
    (day.files > 0).then(|| day.split_files as f64 / day.files as f64)
}
