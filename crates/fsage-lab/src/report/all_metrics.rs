//! Every metric of the list over time: also those that no chart shows.

use super::subject::{Group, Life, Over, Subject};
use fsage_metrics::{Better, METRICS, Metric};
use fsage_report::{Cell, DataTable, Exhibit, Section, Sheet};

/// When a metric is looked at: columns, and which share of the days has passed by then.
const MOMENTS: [(&str, f64); 5] = [
    ("day 1", 0.0),
    ("a quarter", 0.25),
    ("half", 0.5),
    ("three quarters", 0.75),
    ("last day", 1.0),
];

/// The section; none where nothing was measured.
pub fn section(group: &Group) -> Option<Section> {
    let mut columns = vec!["metric", "target"];
    columns.extend(MOMENTS.map(|(title, _)| title));
    columns.extend(["control", "better"]);
    let mut data = DataTable::new(&columns);
    for metric in METRICS {
        data.rows
            .extend(group.subjects.iter().filter_map(|s| row(metric, s)));
    }
    let lives = || group.subjects.iter().flat_map(|subject| &subject.lives);
    let (title, when, days) = if lives().all(|life| life.only_end) {
        data = without_empty_columns(&data);
        ("All metrics at the end", "", "")
    } else {
        (
            "All metrics over time",
            "At the end of the first day, after a quarter of the days, and so on. ",
            ", from the first day to the last",
        )
    };
    let rest = if lives().any(Life::has_table_of_days) {
        "; every day is in days.parquet"
    } else {
        ""
    };
    (!data.rows.is_empty()).then(|| Section {
        id: format!("all-metrics{}", group.suffix),
        title: group.titled("All metrics"),
        lead: format!(
            "Every number of a layout that is known{days}. What each one means is said below{rest}."
        ),
        exhibits: vec![Exhibit::Table(Sheet {
            id: format!("all-metrics-table{}", group.suffix),
            title: title.to_owned(),
            description: format!(
                "{when}Scores and shares go from 0 to 1. The control holds the same files as the last day, freshly \
                 written; where nothing is better, a metric says what there is, not how good that is."
            ),
            data,
        })],
    })
}

/// What has a value somewhere: without the days before the end, of which nothing is known.
fn without_empty_columns(data: &DataTable) -> DataTable {
    let has_values = |at: &usize| data.rows.iter().any(|row| row[*at] != Cell::Null);
    let kept: Vec<usize> = (0..data.columns.len()).filter(has_values).collect();
    DataTable {
        columns: kept.iter().map(|&at| data.columns[at].clone()).collect(),
        rows: data
            .rows
            .iter()
            .map(|row| kept.iter().map(|&at| row[at].clone()).collect())
            .collect(),
    }
}

/// A metric of a target; none where it is not known.
fn row(metric: &'static Metric, subject: &Subject) -> Option<Vec<Cell>> {
    let values = MOMENTS.map(|(_, passed)| at(metric, subject, passed));
    if values.iter().all(Option::is_none) {
        return None;
    }
    let mean = |over: Option<Over>| Cell::from(over.map(|over| over.mean));
    let control = subject.over(|life| life.last()?.of_control(metric));
    let what = format!("{} ({})", metric.title, metric.unit.name());
    let mut cells = vec![what.into(), subject.name.as_str().into()];
    cells.extend(values.map(mean));
    cells.push(mean(control));
    cells.push(match metric.better {
        Better::Neither => Cell::Null,
        better => better.name().into(),
    });
    Some(cells)
}

/// A metric when this share of the days has passed. Of a life of which only the end is known there is no earlier day.
fn at(metric: &Metric, subject: &Subject, passed: f64) -> Option<Over> {
    subject.over(|life| {
        let last = life.days.len().checked_sub(1)?;
        if life.only_end && passed < 1.0 {
            return None;
        }
        let day = (last as f64 * passed).round() as usize;
        life.days[day].value(metric)
    })
}

#[cfg(test)]
mod tests {
    use super::super::subject::Life;
    use super::*;
    use crate::days::DayRow;
    use fsage_metrics::{layout_score, pieces};

    #[test]
    fn what_is_known_of_a_metric_stands_in_its_row() {
        let day = |n: u64| DayRow::default().with(&pieces::PIECES, n);
        let mut days: Vec<DayRow> = (0..9).map(day).collect();
        days[8].control.set(&pieces::PIECES, 4);
        let mut subject = Subject {
            name: "a".to_owned(),
            lives: vec![Life {
                days,
                ..Life::default()
            }],
            ..Subject::default()
        };
        let found = row(&pieces::PIECES, &subject).expect("a row");
        let numbers = [0.0, 2.0, 4.0, 6.0, 8.0, 4.0].map(Cell::from);
        assert_eq!(found[2..8], numbers);
        assert_eq!(
            (&found[0], &found[8]),
            (&"pieces of all files (pieces)".into(), &"less".into())
        );
        assert!(row(&layout_score::SCORE, &subject).is_none());
        subject.lives[0].only_end = true;
        let found = row(&pieces::PIECES, &subject).expect("a row");
        assert_eq!(
            found[2..7],
            [None, None, None, None, Some(8.0)].map(Cell::from)
        );
    }

    #[test]
    fn where_nothing_was_measured_there_is_no_section() {
        assert!(section(&Group::default()).is_none());
    }
}
