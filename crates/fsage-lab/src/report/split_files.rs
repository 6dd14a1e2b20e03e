//! Files that begin in another group than their inode.

use super::decay::by_day;
use super::names;
use super::subject::{Group, Subject};
use crate::days::DayRow;
use fsage_metrics::{Metric, directory_order, files, split_files};
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
        let end = |metric: &Metric| subject.at_end(|day| day.value(metric)).map(|o| o.mean);
        let control = subject.over(|life| life.last()?.of_control(&split_files::SPLIT));
        data.rows.push(vec![
            subject.name.as_str().into(),
            end(&files::FILES).into(),
            end(&split_files::SPLIT).into(),
            end(&split_files::DISTANCE_1).into(),
            end(&split_files::DISTANCE_BELOW_10).into(),
            control.map(|over| over.mean).into(),
            end(&directory_order::LOCALITY).into(),
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
    /// Whether its file system has groups in which files lie beside their inodes. The segments of a log are none, and
    /// with flex groups inodes lie elsewhere by design.
    fn has_groups(&self) -> bool {
        if names::is_log(&self.spec) || names::has_flex_groups(&self.spec) {
            return false;
        }
        let mut days = self.lives.iter().flat_map(|life| &life.days);
        days.any(DayRow::has_groups)
    }
}

/// Split files as a share of all.
pub fn share(day: &DayRow) -> Option<f64> {
    let files = day.value(&files::FILES).filter(|&files| files > 0.0)?;
    Some(day.value(&split_files::SPLIT)? / files)
}
