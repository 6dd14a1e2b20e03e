//! The metrics of a day: from the replay, to and from `days.parquet`.

mod columns;
mod sentence;

pub(crate) use columns::is_column;
pub use columns::{DayRow, metric_of};

use crate::error::{Context, bail};
use fsage_core::Layout;
use fsage_core::LogUsage;
use fsage_data::SnapshotMeta;
use fsage_data::table::{self, Column, ColumnKind, RunClass, SizeClass, TableWriter};
use fsage_metrics::{FreeSpace, LayoutBySize, METRICS, Measures, Metric, Number, Numbers};
use fsage_metrics::{directory_order, files, free_space, layout_score, split_files};
use fsage_target::{Day, TargetSpec};
use std::path::Path;

/// Name of the table in the file's metadata.
const SCHEMA: &str = "days";

impl DayRow {
    /// Layout score; `None` where no block is scored, of which the column says 1.
    pub fn score(&self) -> Option<f64> {
        self.value(&layout_score::SCORE)
    }

    /// Blocks that the layout score counts, to a byte of the files.
    pub fn scored_per_byte(&self) -> Option<f64> {
        let bytes = self
            .value(&files::FILE_BYTES)
            .filter(|&bytes| bytes > 0.0)?;
        Some(self.value(&layout_score::SCORED)? / bytes)
    }

    /// Share of the free space that lies in runs of 1 MiB or more; `None` where nothing is free, or it is not known.
    pub fn free_in_1m_runs(&self) -> Option<f64> {
        let free = self
            .value(&free_space::BYTES)
            .filter(|&bytes| bytes > 0.0)?;
        // What a file system keeps for itself lies in runs, and is not free to files.
        let in_runs = self.value(&free_space::BYTES_IN_64K_RUNS).unwrap_or(0.0);
        Some(self.value(&free_space::BYTES_IN_1M_RUNS)? / free.max(in_runs))
    }

    /// A layout as it stands.
    pub fn of_layout(m: &Measures) -> DayRow {
        DayRow {
            metrics: Numbers::of(m),
            layout_by_size: size_classes(&m.sums.layout_score.by_size),
            free_by_length: m.free.as_ref().map(run_classes).unwrap_or_default(),
            segments_by_live_bytes: m.log.as_ref().map(live_classes).unwrap_or_default(),
            ..DayRow::default()
        }
    }

    /// Takes over what is known of the layout by another measurement. Says what was other than it.
    pub(crate) fn correct(&mut self, by: &DayRow) -> Vec<String> {
        let mut differences = Vec::new();
        for metric in METRICS {
            let (was, is) = (self.metrics.get(metric), by.metrics.get(metric));
            let Some(is) = is.filter(|&is| was != Some(is)) else {
                continue;
            };
            if let Some(was) = was {
                let [is, was] =
                    [is, was].map(|value| crate::table::number(metric.unit, value.real()));
                let title = metric.title;
                differences.push(if is == was {
                    format!("{title} {is}, differing in further digits")
                } else {
                    format!("{title} {is} instead of {was}")
                });
            }
            self.metrics.set(metric, is);
        }
        if self.layout_by_size != by.layout_by_size {
            differences.push("layout score by size of file".to_owned());
            self.layout_by_size.clone_from(&by.layout_by_size);
        }
        if !by.free_by_length.is_empty() && self.free_by_length != by.free_by_length {
            differences.push("free space by length of run".to_owned());
            self.free_by_length.clone_from(&by.free_by_length);
        }
        differences
    }

    /// Sets the same files on an unaged file system beside these.
    pub fn set_control(&mut self, control: &Measures) {
        self.control = Numbers::of(control).compared();
    }

    /// The value of a metric; `None` where it is not known or says nothing.
    ///
    /// # Panics
    /// The metric is not in the list of metrics.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        let says_nothing = |zero| self.count(zero).unwrap_or(0) == 0;
        if metric.unless_zero.is_some_and(says_nothing) {
            return None;
        }
        self.metrics.get(metric).map(Number::real)
    }

    /// The value of a metric that counts; `None` where it is not known.
    ///
    /// # Panics
    /// The metric is not in the list of metrics.
    pub fn count(&self, metric: &Metric) -> Option<u64> {
        match self.metrics.get(metric)? {
            Number::Count(count) => Some(count),
            Number::Real(_) => None,
        }
    }

    /// The value of a metric of the unaged control; `None` where there is none, or it is not compared.
    ///
    /// # Panics
    /// The metric is not in the list of metrics.
    pub fn of_control(&self, metric: &Metric) -> Option<f64> {
        self.control.get(metric).map(Number::real)
    }

    /// A metric as a multiple of that of the control.
    ///
    /// # Panics
    /// The metric is not in the list of metrics.
    pub fn ratio(&self, metric: &Metric) -> Option<f64> {
        ratio(self.metrics.get(metric)?.real(), self.of_control(metric)?)
    }

    /// Whether its file system has groups.
    pub fn has_groups(&self) -> bool {
        let split = self.count(&split_files::SPLIT);
        split.is_some_and(|n| n > 0) || self.value(&directory_order::LOCALITY).is_some()
    }

    /// The row with this value of a metric, which is of the kind that the metric is.
    ///
    /// # Panics
    /// The metric is not in the list of metrics.
    #[must_use]
    pub fn with(mut self, metric: &Metric, value: impl Into<Number>) -> DayRow {
        self.metrics.set(metric, value);
        self
    }

    /// The row with this value of a metric of the control.
    ///
    /// # Panics
    /// The metric is not in the list of metrics.
    #[must_use]
    pub fn with_control(mut self, metric: &Metric, value: impl Into<Number>) -> DayRow {
        self.control.set(metric, value);
        self
    }

    fn of_day(day: &Day) -> DayRow {
        let counts = &day.counts;
        DayRow {
            planned_bytes: day.planned_bytes,
            day: u64::from(day.number),
            label: day.label.clone(),
            t_s: day.t_ns.map(|t| t as f64 / 1e9),
            operations: counts.operations(),
            skipped: counts.skipped(),
            bytes_written: counts.bytes_written,
            no_space: counts.no_space,
            no_inode: counts.no_inode,
            too_large: counts.too_large,
            absent: counts.absent,
            ignored: counts.ignored,
            invalid: counts.invalid,
            ..DayRow::of_layout(&day.measures)
        }
    }
}

/// A count of a day.
pub type Count = fn(&DayRow) -> u64;

/// Why operations were not done: as a column, in a sentence, and where it is counted.
pub const REASONS: [(&str, &str, Count); 6] = [
    ("no space", "for lack of space", |day| day.no_space),
    ("no inode", "for lack of inodes", |day| day.no_inode),
    ("too large", "because the file would be too large", |day| {
        day.too_large
    }),
    ("absent", "on what could not be made before", |day| {
        day.absent
    }),
    ("does not fit", "since they do not fit the state", |day| {
        day.invalid
    }),
    (
        "not known",
        "since this file system does not know them",
        |day| day.ignored,
    ),
];

/// Aged as a multiple of the control; `None` where the control is 0.
pub fn ratio(aged: f64, control: f64) -> Option<f64> {
    (control > 0.0).then(|| aged / control)
}

fn size_classes(by_size: &LayoutBySize) -> Vec<SizeClass> {
    let classes = by_size.classes.iter().map(|class| SizeClass {
        max_bytes: class.max_bytes,
        files: class.files,
        optimal: class.score.optimal,
        scored: class.score.scored,
    });
    classes.collect()
}

/// Segments by live share, by their live bytes.
fn live_classes(log: &LogUsage) -> Vec<RunClass> {
    let tenth = log.segment_bytes / log.by_live_share.len() as u64;
    let classes = log.by_live_share.iter().enumerate();
    let classes = classes.map(|(i, class)| RunClass {
        min_bytes: i as u64 * tenth,
        runs: class.segments,
        bytes: class.live_bytes,
    });
    classes.collect()
}

fn run_classes(free: &FreeSpace) -> Vec<RunClass> {
    let classes = free.classes.iter().enumerate();
    let classes = classes.map(|(i, class)| RunClass {
        min_bytes: FreeSpace::class_min_bytes(i),
        runs: class.runs,
        bytes: class.bytes,
    });
    classes.collect()
}

/// The rows of all days of a replay.
pub fn rows(days: &[Day]) -> Vec<DayRow> {
    days.iter().map(DayRow::of_day).collect()
}

/// A day as a line of JSON, which is read back without loss.
pub fn to_json(day: &Day) -> Vec<u8> {
    serde_json::to_vec(&DayRow::of_day(day)).expect("a row has no keys that JSON cannot have")
}

/// What is said of a day of a journal that was not written by this version.
pub(crate) const UNREADABLE: &str = "the journal of the run holds a day that cannot be read";

/// A day that was kept as JSON.
pub(crate) fn from_json(line: &[u8]) -> crate::Result<DayRow> {
    serde_json::from_slice(line).context(UNREADABLE)
}

/// Writes `days.parquet`, of a target.
pub(crate) fn write(path: &Path, target: &str, rows: &[DayRow]) -> crate::Result<()> {
    let columns = [
        vec![Column::new("target", ColumnKind::Text)],
        DayRow::columns(),
    ]
    .concat();
    let mut table = TableWriter::create(path, SCHEMA, columns, &[], true)?;
    for row in rows {
        table.push_row(&[vec![target.into()], row.values()].concat())?;
    }
    Ok(table.finish()?)
}

/// Writes the layout of a target's model at the end as the snapshot `NAME.parquet`, with its free space beside it. Its
/// time is that of the last event, nanoseconds since 1970 UTC.
pub(crate) fn write_final(
    path: &Path,
    layout: &dyn Layout,
    target: &TargetSpec,
    day: u32,
    taken_at_ns: i64,
) -> crate::Result<()> {
    let meta = SnapshotMeta {
        target: Some(target.to_string()),
        snap_id: day,
        taken_at_ns,
        source: "model".to_owned(),
        tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        ..SnapshotMeta::default()
    };
    Ok(fsage_data::write_snapshot(path, layout, &meta, true)?)
}

/// The day of each row by the calendar, from 1 on. A history has rows of days on which something happened; where their
/// times do not span more days than there are rows, as in workloads that know no times, days are counted.
pub fn calendar(rows: &[DayRow]) -> Vec<u64> {
    const DAY_S: f64 = 86_400.0;
    let counted = || (1..=rows.len() as u64).collect();
    let dates: Option<Vec<f64>> = rows
        .iter()
        .map(|row| row.t_s.map(|t_s| (t_s / DAY_S).floor()))
        .collect();
    let Some(dates) = dates.filter(|dates| !dates.is_empty()) else {
        return counted();
    };
    // A clock may go back.
    let latest = dates.iter().scan(f64::NEG_INFINITY, |latest, &date| {
        *latest = latest.max(date);
        Some((*latest - dates[0]).max(0.0) as u64 + 1)
    });
    let calendar: Vec<u64> = latest.collect();
    // The mark at the end of a day may stand in the next one.
    if calendar.last() > Some(&(rows.len() as u64 + 1)) {
        calendar
    } else {
        counted()
    }
}

/// Share of the data space that was taken at the end of the fullest day; `None` where it is not known of any.
pub fn fullest<'a>(rows: impl IntoIterator<Item = &'a DayRow>) -> Option<f64> {
    let shares = rows
        .into_iter()
        .filter_map(|row| row.value(&files::UTILIZATION));
    shares.max_by(f64::total_cmp)
}

/// Reads `days.parquet`.
///
/// # Errors
/// No such file, or no table of days.
pub fn read(path: &Path) -> crate::Result<Vec<DayRow>> {
    let table = table::read_table(path)?;
    let unfit = || {
        format!(
            "{}: not the days of a run; make the run again",
            path.display()
        )
    };
    if table.schema != SCHEMA {
        bail!("{} (its schema is `{}`)", unfit(), table.schema);
    }
    let rows = table.rows.iter().map(|row| DayRow::read(&table, row));
    rows.collect::<crate::Result<_>>().with_context(unfit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_metrics::{files, log, pieces};

    fn row() -> DayRow {
        DayRow {
            day: 3,
            label: "1996-05-01 \"x\"".to_owned(),
            t_s: Some(86_399.999_999_999_99),
            layout_by_size: vec![SizeClass {
                max_bytes: u64::MAX,
                files: 1,
                optimal: 2,
                scored: 3,
            }],
            free_by_length: vec![RunClass {
                min_bytes: 4096,
                runs: 2,
                bytes: 12_288,
            }],
            ..DayRow::default()
        }
        .with(&layout_score::SCORE, 0.1 + 0.2)
        .with(&directory_order::DYNAMIC, 1.0 / 3.0)
        .with(&pieces::UNWRITTEN_SHARE, 5e-324)
        .with(&log::WRITE_COST, f64::MAX)
        .with(&files::LIVE_BYTES, u64::MAX)
        .with_control(&pieces::PIECES, 7)
        .with_control(&layout_score::SCORE, 0.7)
    }

    #[test]
    fn days_go_by_the_calendar_where_nothing_happened_on_some() {
        let on = |days: &[f64]| -> Vec<DayRow> {
            let row = |day: &f64| DayRow {
                t_s: Some(day * 86_400.0 + 7.0),
                ..DayRow::default()
            };
            days.iter().map(row).collect()
        };
        assert_eq!(calendar(&on(&[100.0, 103.0, 102.0, 110.0])), [1, 4, 4, 11]);
        // Three rows of one day, and rows without times: they are counted.
        assert_eq!(calendar(&on(&[5.0, 5.0, 5.0])), [1, 2, 3]);
        assert_eq!(calendar(&[DayRow::default(), DayRow::default()]), [1, 2]);
        assert!(calendar(&[]).is_empty());
    }

    /// A line a day is kept while a run goes on: what is read back is what was written, to the last bit.
    #[test]
    fn a_row_comes_back_from_json_as_it_was() {
        let mut rng = fsage_core::Rng::new(1);
        for _ in 0..1000 {
            let mut row = row();
            let random = f64::from_bits(rng.next_u64());
            if random.is_finite() {
                row = row.with(&directory_order::ADJACENCY, random);
            }
            let line = serde_json::to_string(&row).expect("JSON");
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<DayRow>(&line).expect("a row"), row);
        }
        let old: DayRow =
            serde_json::from_str(r#"{"day": 3, "layout_score": 0.5}"#).expect("a row");
        assert_eq!(old.day, 3);
        assert_eq!(
            old.number("layout_score"),
            None,
            "how many blocks it is of is not known"
        );
        let old = old.with(&layout_score::SCORED, 2);
        assert_eq!(old.number("layout_score"), Some(0.5));
        assert_eq!(old.value(&directory_order::ADJACENCY), None);
    }

    /// The columns that runs had before those of directory order, of placeable extents and of the control.
    #[test]
    fn days_of_older_runs_are_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("days.parquet");
        let row = row();
        let first_new = DayRow::columns()
            .iter()
            .position(|c| c.name == "live_bytes");
        let old = first_new.expect("a column");
        for columns in [old, 4] {
            let _ = std::fs::remove_file(&path);
            let header = DayRow::columns()[..columns].to_vec();
            let mut table =
                TableWriter::create(&path, SCHEMA, header, &[], false).expect("a table");
            table.push_row(&row.values()[..columns]).expect("a row");
            table.finish().expect("a file");
            let rows = read(&path);
            if columns == old {
                let rows = rows.expect("rows");
                assert_eq!(rows[0].day, 3);
                let score = |row: &DayRow| row.metrics.get(&layout_score::SCORE);
                assert_eq!(score(&rows[0]), score(&row));
                assert_eq!(rows[0].count(&files::LIVE_BYTES), None);
                assert_eq!(rows[0].of_control(&pieces::PIECES), None);
                assert!(rows[0].free_by_length.is_empty());
            } else {
                let error = format!("{:#}", rows.expect_err("too few columns"));
                assert!(error.contains("no column `skipped`"), "{error}");
            }
        }
    }

    #[test]
    fn the_control_stands_beside_the_aged_layout() {
        let mut aged = DayRow::default().with(&layout_score::SCORE, 0.75);
        let empty = fsage_target::TargetSpec::parse("null").expect("a target");
        let empty = fsage_target::Target::make(&empty).expect("a target");
        aged.set_control(&fsage_metrics::measure(empty.layout()));
        assert_eq!(aged.number("control_layout_score"), Some(1.0));
        assert_eq!(aged.number("layout_ratio"), Some(0.75));
        assert_eq!(aged.of_control(&pieces::PIECES), Some(0.0));
        assert_eq!(aged.number("control_free_bytes"), None);
        assert_eq!(
            aged.of_control(&layout_score::OPTIMAL),
            None,
            "not compared"
        );
        assert_eq!(ratio(1.0, 0.0), None);
    }
}
