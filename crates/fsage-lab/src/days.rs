//! The metrics of a day: from the replay, to and from `days.parquet`.

use crate::error::{Context, bail};
use fsage_core::{Layout, LogUsage};
use fsage_data::SnapshotMeta;
use fsage_data::table::{self, Column, ColumnKind, RunClass, SizeClass, Table, TableWriter, Value};
use fsage_metrics::{FreeSpace, LayoutScore, Measures};
use fsage_target::Day;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the table in the file's metadata.
const SCHEMA: &str = "days";

/// A field of [`DayRow`] as a value of the table.
trait Cell: Sized {
    const KIND: ColumnKind;
    fn to_value(&self) -> Value;
    /// `None` if the value is of another kind.
    fn from_value(value: &Value) -> Option<Self>;
    /// What stands for a column that an older run does not have; `None` where every run has it.
    fn absent() -> Option<Self> {
        None
    }
}

impl Cell for u64 {
    const KIND: ColumnKind = ColumnKind::U64;

    fn to_value(&self) -> Value {
        Value::U64(*self)
    }

    fn from_value(value: &Value) -> Option<u64> {
        match value {
            Value::U64(n) => Some(*n),
            _ => None,
        }
    }
}

impl Cell for f64 {
    const KIND: ColumnKind = ColumnKind::F64;

    fn to_value(&self) -> Value {
        Value::F64(*self)
    }

    fn from_value(value: &Value) -> Option<f64> {
        match value {
            Value::F64(x) => Some(*x),
            _ => None,
        }
    }
}

/// What may be unknown is null in the table.
impl<T: Cell + Copy> Cell for Option<T>
where
    Value: From<Option<T>>,
{
    const KIND: ColumnKind = T::KIND;

    fn to_value(&self) -> Value {
        (*self).into()
    }

    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            other => T::from_value(other).map(Some),
        }
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl Cell for String {
    const KIND: ColumnKind = ColumnKind::Text;

    fn to_value(&self) -> Value {
        self.as_str().into()
    }

    fn from_value(value: &Value) -> Option<String> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Cell for Vec<SizeClass> {
    const KIND: ColumnKind = ColumnKind::SizeClasses;

    fn to_value(&self) -> Value {
        Value::SizeClasses(self.clone())
    }

    fn from_value(value: &Value) -> Option<Vec<SizeClass>> {
        match value {
            Value::SizeClasses(classes) => Some(classes.clone()),
            _ => None,
        }
    }
}

impl Cell for Vec<RunClass> {
    const KIND: ColumnKind = ColumnKind::RunClasses;

    fn to_value(&self) -> Value {
        Value::RunClasses(self.clone())
    }

    fn from_value(value: &Value) -> Option<Vec<RunClass>> {
        match value {
            Value::RunClasses(classes) => Some(classes.clone()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<RunClass>> {
        Some(Vec::new())
    }
}

/// Makes the struct and the table's columns of one list of fields.
macro_rules! day_row {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// One row of `days.parquet`: a target at the end of a day. A layout that is no day has 0 operations.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct DayRow {
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl DayRow {
            fn columns() -> Vec<Column> {
                vec![$(Column::new(stringify!($name), <$kind as Cell>::KIND),)*]
            }

            fn values(&self) -> Vec<Value> {
                vec![$(self.$name.to_value(),)*]
            }

            /// Names of the columns that hold a number.
            pub fn numbers() -> Vec<&'static str> {
                let columns = [$((stringify!($name), <$kind as Cell>::KIND),)*];
                let numbers = columns
                    .into_iter()
                    .filter(|(_, kind)| matches!(kind, ColumnKind::U64 | ColumnKind::F64));
                numbers.map(|(name, _)| name).collect()
            }

            /// The value of a column; `None` where it is not known or no number. Where no block is scored, a layout
            /// score says nothing.
            pub fn number(&self, column: &str) -> Option<f64> {
                if column == "layout_score" && self.layout_scored == 0 {
                    return None;
                }
                let value = match column {
                    $(stringify!($name) => self.$name.to_value(),)*
                    _ => Value::Null,
                };
                match value {
                    Value::U64(number) => Some(number as f64),
                    Value::F64(number) => Some(number),
                    _ => None,
                }
            }

            fn read(table: &Table, row: &[Value]) -> crate::Result<DayRow> {
                Ok(DayRow {
                    $($name: {
                        let name = stringify!($name);
                        match table.column(name) {
                            Some(at) => Cell::from_value(&row[at])
                                .with_context(|| format!("column `{name}` holds {:?}", row[at]))?,
                            None => Cell::absent().with_context(|| format!("no column `{name}`"))?,
                        }
                    },)*
                })
            }
        }
    };
}

day_row! {
    /// 0, 1, 2, ...
    day: u64,
    /// The day's label in the workload.
    label: String,
    /// Time of its last event, seconds since the workload's epoch.
    t_s: Option<f64>,
    /// Operations, those skipped included.
    operations: u64,
    /// Operations that were not done, not counting those that the file system does not know.
    skipped: u64,
    /// Bytes written by those that were done.
    bytes_written: u64,
    /// Skipped for lack of space.
    no_space: u64,
    /// Skipped for lack of inodes.
    no_inode: u64,
    /// Skipped because the file would be too large.
    too_large: u64,
    /// Skipped because an earlier lack of space kept the file or directory from being made.
    absent: u64,
    /// Skipped because the file system does not know them.
    ignored: u64,
    /// Skipped, in lenient mode, because they did not fit the state.
    invalid: u64,
    /// Regular files.
    files: u64,
    /// Directories.
    directories: u64,
    /// Lengths of the regular files, added up.
    file_bytes: u64,
    /// Share of the data space in use, the reserve counted as free.
    utilization: Option<f64>,
    /// Aggregate layout score.
    layout_score: f64,
    /// Blocks that directly follow their predecessor.
    layout_optimal: u64,
    /// Blocks with a predecessor.
    layout_scored: u64,
    /// Files in more than one piece.
    fragmented_files: u64,
    /// Pieces of all files: runs that are contiguous on disk.
    pieces: u64,
    /// Files whose first block lies in another group than their inode.
    split_files: u64,
    /// Of these, those in a neighboring group.
    split_distance_1: u64,
    /// Of these, those less than ten groups away.
    split_distance_below_10: u64,
    /// Free whole blocks.
    free_blocks: Option<u64>,
    /// Free fragments outside free blocks.
    free_frags: Option<u64>,
    /// Free fragments as a share of free space.
    free_frag_share: Option<f64>,
    /// Free bytes.
    free_bytes: Option<u64>,
    /// Maximal runs of free space.
    free_runs: Option<u64>,
    /// The longest of them.
    largest_free_run_bytes: Option<u64>,
    /// Free bytes in runs of at least 64 KiB.
    free_bytes_in_64k_runs: Option<u64>,
    /// Free bytes in runs of at least 1 MiB.
    free_bytes_in_1m_runs: Option<u64>,
    /// Layout score by file size.
    layout_by_size: Vec<SizeClass>,
    /// Bytes that the data of the live files need.
    live_bytes: Option<u64>,
    /// Bytes of live files that the plan of the workload wanted.
    planned_bytes: Option<u64>,
    /// Files of at least two data blocks.
    scored_files: Option<u64>,
    /// Pieces per file with data on disk.
    pieces_per_file: Option<f64>,
    /// Files whose data lie inside metadata.
    inline_files: Option<u64>,
    /// File data on disk that were allocated and never written.
    unwritten_bytes: Option<u64>,
    /// These as a share of file data on disk.
    unwritten_share: Option<f64>,
    /// Bytes allocated behind the end of files.
    beyond_end_bytes: Option<u64>,
    /// Of consecutive files of a directory, the share that begins right behind the one before.
    adjacency: Option<f64>,
    /// Share of contiguous steps over all blocks in the order of a walk: an approximation.
    dynamic_layout_score: Option<f64>,
    /// Share of files that begin in the group most files of their directory begin in.
    directory_locality: Option<f64>,
    /// Median distance to the next file of the directory.
    next_file_bytes: Option<u64>,
    /// Free space by length of run.
    free_by_length: Vec<RunClass>,
    /// Extents of 64 KiB that could still be placed.
    placeable_64k: Option<u64>,
    /// Extents of 1 MiB that could still be placed.
    placeable_1m: Option<u64>,
    /// Extents of 64 MiB that could still be placed.
    placeable_64m: Option<u64>,
    /// Chunks of inodes that could still be placed, or free inodes.
    inode_room: Option<u64>,
    /// Segments of a log.
    segments: Option<u64>,
    /// Of these, those without data.
    clean_segments: Option<u64>,
    /// Live bytes as a share of all segments.
    live_share: Option<f64>,
    /// Segments with data by their live bytes, a tenth of a segment a class.
    segments_by_live_bytes: Vec<RunClass>,
    /// Bytes that the log wrote, without its cleaner.
    log_new_bytes: Option<u64>,
    /// Bytes that its cleaner wrote.
    cleaner_written_bytes: Option<u64>,
    /// Bytes that its cleaner read.
    cleaner_read_bytes: Option<u64>,
    /// Segments that were cleaned.
    cleaned_segments: Option<u64>,
    /// Mean live share of the segments that were cleaned.
    cleaned_live_share: Option<f64>,
    /// Bytes transferred for a byte that is new.
    write_cost: Option<f64>,
    /// 1 if the log has come to its end and writes nothing more, else 0.
    log_ended: Option<u64>,
    /// `layout_score` of the unaged control.
    control_layout_score: Option<f64>,
    /// The layout score as a multiple of that of the control.
    layout_ratio: Option<f64>,
    /// `fragmented_files` of the control.
    control_fragmented_files: Option<u64>,
    /// `pieces` of the control.
    control_pieces: Option<u64>,
    /// `pieces_per_file` of the control.
    control_pieces_per_file: Option<f64>,
    /// `split_files` of the control.
    control_split_files: Option<u64>,
    /// `adjacency` of the control.
    control_adjacency: Option<f64>,
    /// `dynamic_layout_score` of the control.
    control_dynamic_layout_score: Option<f64>,
    /// `directory_locality` of the control.
    control_directory_locality: Option<f64>,
    /// `next_file_bytes` of the control.
    control_next_file_bytes: Option<u64>,
    /// `free_bytes` of the control.
    control_free_bytes: Option<u64>,
    /// `free_runs` of the control.
    control_free_runs: Option<u64>,
    /// `largest_free_run_bytes` of the control.
    control_largest_free_run_bytes: Option<u64>,
    /// `placeable_64k` of the control.
    control_placeable_64k: Option<u64>,
    /// `placeable_1m` of the control.
    control_placeable_1m: Option<u64>,
    /// `placeable_64m` of the control.
    control_placeable_64m: Option<u64>,
}

impl DayRow {
    /// Layout score; `None` where no block is scored, of which the column says 1.
    pub fn score(&self) -> Option<f64> {
        (self.layout_scored > 0).then_some(self.layout_score)
    }

    /// A layout as it stands.
    pub fn of_layout(m: &Measures) -> DayRow {
        let free = m.free.as_ref();
        let extents = (m.files == 0 || m.pieces.files_with_extents > 0).then_some(());
        DayRow {
            files: m.files,
            directories: m.directories,
            file_bytes: m.file_bytes,
            utilization: m.utilization(),
            layout_score: m.layout.value(),
            layout_optimal: m.layout.optimal,
            layout_scored: m.layout.scored,
            fragmented_files: m.pieces.fragmented_files,
            pieces: m.pieces.pieces,
            split_files: m.split.split,
            split_distance_1: m.split.distance_1,
            split_distance_below_10: m.split.distance_below_10,
            free_blocks: free.map(|f| f.blocks),
            free_frags: free.map(|f| f.frags),
            free_frag_share: free.map(|f| f.fragment_share(&m.geometry)),
            free_bytes: free.map(|f| f.bytes),
            free_runs: free.map(|f| f.runs),
            largest_free_run_bytes: free.map(|f| f.largest_run_bytes),
            free_bytes_in_64k_runs: free.map(|f| f.bytes_in_64k_runs),
            free_bytes_in_1m_runs: free.map(|f| f.bytes_in_1m_runs),
            layout_by_size: m
                .layout_by_size
                .classes
                .iter()
                .map(|class| SizeClass {
                    max_bytes: class.max_bytes,
                    files: class.files,
                    optimal: class.score.optimal,
                    scored: class.score.scored,
                })
                .collect(),
            live_bytes: Some(m.pieces.live_bytes),
            scored_files: Some(m.scored_files),
            pieces_per_file: m.pieces.per_file(),
            inline_files: extents.map(|()| m.pieces.inline_files),
            unwritten_bytes: extents.map(|()| m.pieces.unwritten_bytes),
            unwritten_share: m.pieces.unwritten_share(),
            beyond_end_bytes: extents.map(|()| m.pieces.beyond_end_bytes),
            adjacency: m.order.adjacent.share(),
            dynamic_layout_score: m.order.dynamic.share(),
            directory_locality: m.order.in_main_group.and_then(LayoutScore::share),
            next_file_bytes: m.order.next_file_bytes,
            free_by_length: free.map(run_classes).unwrap_or_default(),
            placeable_64k: free.map(|f| f.placeable_64k),
            placeable_1m: free.map(|f| f.placeable_1m),
            placeable_64m: free.map(|f| f.placeable_64m),
            inode_room: free.and_then(|f| f.inode_room),
            ..m.log.as_ref().map(DayRow::of_log).unwrap_or_default()
        }
    }

    /// The columns of a log.
    fn of_log(log: &LogUsage) -> DayRow {
        let tenth = log.segment_bytes / log.by_live_share.len() as u64;
        let classes = log.by_live_share.iter().enumerate();
        DayRow {
            segments: Some(log.segments),
            clean_segments: Some(log.clean_segments),
            live_share: Some(log.live_share()),
            segments_by_live_bytes: classes
                .map(|(i, class)| RunClass {
                    min_bytes: i as u64 * tenth,
                    runs: class.segments,
                    bytes: class.live_bytes,
                })
                .collect(),
            log_new_bytes: Some(log.new_bytes),
            cleaner_written_bytes: Some(log.cleaner_written_bytes),
            cleaner_read_bytes: Some(log.cleaner_read_segments * log.segment_bytes),
            cleaned_segments: Some(log.cleaned_segments),
            cleaned_live_share: log.cleaned_live_share(),
            write_cost: log.write_cost(),
            log_ended: Some(log.end.is_some().into()),
            ..DayRow::default()
        }
    }

    /// Sets the same files on an unaged file system beside these.
    pub fn set_control(&mut self, control: &Measures) {
        let control = DayRow::of_layout(control);
        self.layout_ratio = ratio(self.layout_score, control.layout_score);
        self.control_layout_score = Some(control.layout_score);
        self.control_fragmented_files = Some(control.fragmented_files);
        self.control_pieces = Some(control.pieces);
        self.control_pieces_per_file = control.pieces_per_file;
        self.control_split_files = Some(control.split_files);
        self.control_adjacency = control.adjacency;
        self.control_dynamic_layout_score = control.dynamic_layout_score;
        self.control_directory_locality = control.directory_locality;
        self.control_next_file_bytes = control.next_file_bytes;
        self.control_free_bytes = control.free_bytes;
        self.control_free_runs = control.free_runs;
        self.control_largest_free_run_bytes = control.largest_free_run_bytes;
        self.control_placeable_64k = control.placeable_64k;
        self.control_placeable_1m = control.placeable_1m;
        self.control_placeable_64m = control.placeable_64m;
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

/// A day that was kept as JSON.
pub(crate) fn from_json(line: &[u8]) -> crate::Result<DayRow> {
    serde_json::from_slice(line).context("the journal of the run holds a day that cannot be read")
}

/// Writes `days.parquet`.
pub(crate) fn write(path: &Path, rows: &[DayRow]) -> crate::Result<()> {
    let mut table = TableWriter::create(path, SCHEMA, DayRow::columns(), &[], true)?;
    for row in rows {
        table.push_row(&row.values())?;
    }
    Ok(table.finish()?)
}

/// Writes the layout of a model at the end as the snapshot `NAME.parquet`, with its free space beside it. Its time
/// is that of the last event, nanoseconds since 1970 UTC.
pub(crate) fn write_final(
    path: &Path,
    layout: &dyn Layout,
    day: u32,
    taken_at_ns: i64,
) -> crate::Result<()> {
    let meta = SnapshotMeta {
        snap_id: day,
        taken_at_ns,
        source: "model".to_owned(),
        tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        ..SnapshotMeta::default()
    };
    Ok(fsage_data::write_snapshot(path, layout, &meta, true)?)
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

    fn row() -> DayRow {
        DayRow {
            day: 3,
            label: "1996-05-01 \"x\"".to_owned(),
            t_s: Some(86_399.999_999_999_99),
            layout_score: 0.1 + 0.2,
            dynamic_layout_score: Some(1.0 / 3.0),
            unwritten_share: Some(5e-324),
            layout_ratio: Some(f64::MAX),
            live_bytes: Some(u64::MAX),
            control_pieces: Some(7),
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
    }

    /// A line a day is kept while a run goes on: what is read back is what was written, to the last bit.
    #[test]
    fn a_row_comes_back_from_json_as_it_was() {
        let mut rng = fsage_core::Rng::new(1);
        for _ in 0..1000 {
            let mut row = row();
            let random = f64::from_bits(rng.next_u64());
            row.adjacency = random.is_finite().then_some(random);
            let line = serde_json::to_string(&row).expect("JSON");
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<DayRow>(&line).expect("a row"), row);
        }
        let old: DayRow =
            serde_json::from_str(r#"{"day": 3, "layout_score": 0.5}"#).expect("a row");
        assert_eq!((old.day, old.layout_score, old.adjacency), (3, 0.5, None));
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
                assert_eq!((rows[0].layout_score, rows[0].day), (row.layout_score, 3));
                assert_eq!((rows[0].live_bytes, rows[0].control_pieces), (None, None));
                assert!(rows[0].free_by_length.is_empty());
            } else {
                let error = format!("{:#}", rows.expect_err("too few columns"));
                assert!(error.contains("no column `skipped`"), "{error}");
            }
        }
    }

    #[test]
    fn the_control_stands_beside_the_aged_layout() {
        let mut aged = DayRow {
            layout_score: 0.75,
            ..DayRow::default()
        };
        let empty = fsage_target::TargetSpec::parse("null").expect("a target");
        let empty = fsage_target::Target::make(&empty).expect("a target");
        aged.set_control(&fsage_metrics::measure(empty.layout()));
        assert_eq!(aged.control_layout_score, Some(1.0));
        assert_eq!(
            (aged.layout_ratio, aged.control_pieces),
            (Some(0.75), Some(0))
        );
        assert_eq!(aged.control_free_bytes, None);
        assert_eq!(ratio(1.0, 0.0), None);
    }
}
