//! Reads inode tables.

use super::form::Form;
use super::schema::{INODES, inode_schema};
use crate::error::DataError;
use crate::parquet_file::{Batches, TableFile, column, required, value_at};
use arrow_array::{
    Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use fsage_core::snapshot::{Inode, SnapshotRow};
use fsage_core::{Extent, FileKind};
use parquet::file::statistics::Statistics;
use std::path::{Path, PathBuf};

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 1 << 13;

/// Reads an inode table, row by row, sorted by (snapshot, inode, generation).
pub struct InodeReader {
    path: PathBuf,
    form: Form,
    batches: Batches,
    columns: Option<Columns>,
    at: usize,
    /// Number of the last row given, from 1.
    row: u64,
    last: Option<(u32, u64, Option<u32>)>,
}

impl InodeReader {
    /// Opens a table.
    ///
    /// # Errors
    /// The file cannot be read, is no inode table, or lacks a column.
    pub fn open(path: impl AsRef<Path>) -> Result<InodeReader, DataError> {
        let (file, form) = open_table(path.as_ref())?;
        let schema = inode_schema(form);
        InodeReader::with_columns(path.as_ref(), file, form, &schema, None)
    }

    /// Opens a table for what a layout needs, from the row groups that may hold the snapshot.
    pub(super) fn open_layout(path: &Path, snap_id: Option<u32>) -> Result<InodeReader, DataError> {
        let (file, form) = open_table(path)?;
        let unused = ["ctime_ns", "mtime_ns", "btime_ns", "mode", "uid", "gid"];
        let schema = inode_schema(form);
        let used = schema
            .fields()
            .iter()
            .filter(|f| !unused.contains(&f.name().as_str()));
        let schema = Schema::new(used.cloned().collect::<Vec<_>>());
        let groups = snap_id
            .filter(|_| form == Form::Full)
            .map(|id| groups_with(&file, id));
        InodeReader::with_columns(path, file, form, &schema, groups)
    }

    fn with_columns(
        path: &Path,
        file: TableFile,
        form: Form,
        schema: &Schema,
        groups: Option<Vec<usize>>,
    ) -> Result<InodeReader, DataError> {
        let first = groups
            .as_ref()
            .and_then(|groups| groups.first().copied())
            .unwrap_or(0);
        let row_groups = file.builder().metadata().row_groups().iter().take(first);
        let skipped = row_groups
            .map(|g| u64::try_from(g.num_rows()).unwrap_or(0))
            .sum();
        Ok(InodeReader {
            path: path.to_owned(),
            form,
            batches: file.batches(schema, groups, BATCH_ROWS)?,
            columns: None,
            at: 0,
            row: skipped,
            last: None,
        })
    }

    /// Whether the table holds whole snapshots or changes.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The table.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Rows given so far, and those that were skipped.
    pub fn rows_read(&self) -> u64 {
        self.row
    }

    /// The next row with its snapshot; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged, or a row cannot be right.
    pub fn next_row(&mut self) -> Result<Option<(u32, SnapshotRow)>, DataError> {
        let columns = match &self.columns {
            Some(columns) if self.at < columns.ino.len() => columns,
            _ => {
                let Some(batch) = self.batches.next_batch()? else {
                    return Ok(None);
                };
                self.at = 0;
                self.columns.insert(Columns::of(&batch, &self.path)?)
            }
        };
        self.row += 1;
        let bad = |problem: String| DataError::bad_row(&self.path, self.row, problem);
        let (snap_id, row) = columns.row(self.at).map_err(bad)?;
        let (ino, generation) = row.key();
        let key = (snap_id, ino, generation);
        if self.last.is_some_and(|last| key <= last) {
            return Err(bad(format!(
                "inode {ino} of snapshot {snap_id} is not after the row before: sort the rows by \
                 (snap_id, ino, gen)"
            )));
        }
        self.last = Some(key);
        self.at += 1;
        Ok(Some((snap_id, row)))
    }
}

pub(super) fn open_table(path: &Path) -> Result<(TableFile, Form), DataError> {
    let file = TableFile::open_as(path, INODES)?;
    let form = match file.value("fsage.form") {
        None | Some("full") => Form::Full,
        Some("delta") => Form::Delta,
        Some(other) => {
            let problem = format!("`fsage.form` is {other:?}, neither full nor delta");
            return Err(DataError::unsuitable(path, problem));
        }
    };
    file.check_columns(&inode_schema(form), &[])?;
    Ok((file, form))
}

/// The form of a table.
pub(super) fn form_of(path: &Path) -> Result<Form, DataError> {
    Ok(open_table(path)?.1)
}

/// Rows of a table, and its first and last snapshot; `None` if it has no rows.
pub(super) fn snapshot_range(path: &Path) -> Result<(u64, Option<(u32, u32)>), DataError> {
    let (file, _) = open_table(path)?;
    let rows = file.rows();
    let groups = file.builder().metadata().num_row_groups();
    let ranges: Vec<_> = (0..groups)
        .map(|group| snapshots_of_group(&file, group))
        .collect();
    let unknown: Vec<usize> = (0..groups)
        .filter(|group| ranges[*group].is_none())
        .collect();
    let mut ids: Vec<u32> = ranges
        .into_iter()
        .flatten()
        .flat_map(|(first, last)| [first, last])
        .collect();
    if !unknown.is_empty() {
        let only = Field::new("snap_id", DataType::UInt32, false);
        let only = Schema::new(vec![only]);
        let mut batches = file.batches(&only, Some(unknown), BATCH_ROWS)?;
        while let Some(batch) = batches.next_batch()? {
            let column: UInt32Array = required(&batch, "snap_id", path)?;
            ids.extend(column.iter().flatten().min());
            ids.extend(column.iter().flatten().max());
        }
    }
    let range = ids.iter().min().copied().zip(ids.iter().max().copied());
    Ok((rows, range))
}

/// The row groups that may hold rows of a snapshot.
pub(super) fn groups_with(file: &TableFile, snap_id: u32) -> Vec<usize> {
    (0..file.builder().metadata().num_row_groups())
        .filter(|group| {
            snapshots_of_group(file, *group)
                .is_none_or(|(first, last)| (first..=last).contains(&snap_id))
        })
        .collect()
}

/// First and last snapshot of a row group, where its statistics say so.
fn snapshots_of_group(file: &TableFile, group: usize) -> Option<(u32, u32)> {
    let columns = file.builder().metadata().row_groups().get(group)?.columns();
    let column = columns
        .iter()
        .find(|c| c.column_path().string() == "snap_id")?;
    let statistics = column.statistics()?;
    match statistics {
        Statistics::Int32(range) if !statistics.is_min_max_deprecated() => {
            // Unsigned numbers of 32 bits lie in the signed physical type.
            Some((*range.min_opt()? as u32, *range.max_opt()? as u32))
        }
        _ => None,
    }
}

/// The columns of a batch. Those that were not asked for are `None`.
struct Columns {
    snap_id: UInt32Array,
    op: Option<StringArray>,
    ino: UInt64Array,
    generation: UInt32Array,
    kind: StringArray,
    size_bytes: UInt64Array,
    alloc_bytes: UInt64Array,
    ctime_ns: Option<Int64Array>,
    mtime_ns: Option<Int64Array>,
    btime_ns: Option<Int64Array>,
    links: UInt32Array,
    mode: Option<UInt32Array>,
    uid: Option<UInt32Array>,
    gid: Option<UInt32Array>,
    parent_ino: UInt64Array,
    path: StringArray,
    extents: Extents,
    source_flags: UInt32Array,
}

impl Columns {
    fn of(batch: &RecordBatch, path: &Path) -> Result<Columns, DataError> {
        Ok(Columns {
            snap_id: required(batch, "snap_id", path)?,
            op: column(batch, "op"),
            ino: required(batch, "ino", path)?,
            generation: required(batch, "gen", path)?,
            kind: required(batch, "type", path)?,
            size_bytes: required(batch, "size_bytes", path)?,
            alloc_bytes: required(batch, "alloc_bytes", path)?,
            ctime_ns: column(batch, "ctime_ns"),
            mtime_ns: column(batch, "mtime_ns"),
            btime_ns: column(batch, "btime_ns"),
            links: required(batch, "nlink", path)?,
            mode: column(batch, "mode"),
            uid: column(batch, "uid"),
            gid: column(batch, "gid"),
            parent_ino: required(batch, "parent_ino", path)?,
            path: required(batch, "path", path)?,
            extents: Extents::of(batch, path)?,
            source_flags: required(batch, "source_flags", path)?,
        })
    }

    fn row(&self, at: usize) -> Result<(u32, SnapshotRow), String> {
        let null = |column: &str| format!("`{column}` is null");
        let snap_id = value_at!(self.snap_id, at).ok_or_else(|| null("snap_id"))?;
        let ino = value_at!(self.ino, at).ok_or_else(|| null("ino"))?;
        let generation = value_at!(self.generation, at);
        if let Some(op) = &self.op {
            match value_at!(op, at) {
                Some("P") => {}
                Some("D") => return Ok((snap_id, SnapshotRow::Gone { ino, generation })),
                other => return Err(format!("`op` is {other:?}, neither P nor D")),
            }
        }
        let letter = value_at!(self.kind, at).ok_or_else(|| null("type"))?;
        let kind = FileKind::from_letter(letter)
            .ok_or_else(|| format!("unknown `type` {letter:?}, not one of f d l p s b c"))?;
        let optional_u32 = |c: &Option<UInt32Array>| c.as_ref().and_then(|c| value_at!(c, at));
        let optional_i64 = |c: &Option<Int64Array>| c.as_ref().and_then(|c| value_at!(c, at));
        let inode = Inode {
            ino,
            generation,
            kind,
            size_bytes: value_at!(self.size_bytes, at).ok_or_else(|| null("size_bytes"))?,
            alloc_bytes: value_at!(self.alloc_bytes, at),
            ctime_ns: optional_i64(&self.ctime_ns),
            mtime_ns: optional_i64(&self.mtime_ns),
            btime_ns: optional_i64(&self.btime_ns),
            links: value_at!(self.links, at),
            mode: optional_u32(&self.mode),
            uid: optional_u32(&self.uid),
            gid: optional_u32(&self.gid),
            parent_ino: value_at!(self.parent_ino, at),
            path: value_at!(self.path, at).map(Box::from),
            extents: self.extents.row(at)?,
            source_flags: value_at!(self.source_flags, at).unwrap_or(0),
        };
        Ok((snap_id, SnapshotRow::Present(inode)))
    }
}

/// The column `extents`.
pub(super) struct Extents {
    lists: ListArray,
    items: StructArray,
    logical: UInt64Array,
    physical: UInt64Array,
    length: UInt64Array,
    flags: UInt32Array,
}

impl Extents {
    pub fn of(batch: &RecordBatch, path: &Path) -> Result<Extents, DataError> {
        let lists: ListArray = required(batch, "extents", path)?;
        let missing = || DataError::unsuitable(path, "column `extents` is no list of extents");
        let items = lists.values().as_any().downcast_ref::<StructArray>();
        let items = items.ok_or_else(missing)?.clone();
        let number = |name: &str| {
            let column = items.column_by_name(name)?;
            column.as_any().downcast_ref::<UInt64Array>().cloned()
        };
        let flags = items
            .column_by_name("flags")
            .and_then(|c| c.as_any().downcast_ref());
        Ok(Extents {
            logical: number("logical_bytes").ok_or_else(missing)?,
            physical: number("physical_bytes").ok_or_else(missing)?,
            length: number("length_bytes").ok_or_else(missing)?,
            flags: Clone::clone(flags.ok_or_else(missing)?),
            items,
            lists,
        })
    }

    pub fn row(&self, at: usize) -> Result<Option<Box<[Extent]>>, String> {
        if self.lists.is_null(at) {
            return Ok(None);
        }
        let offsets = self.lists.value_offsets();
        let range = offsets[at] as usize..offsets[at + 1] as usize;
        let extents = range.map(|i| {
            if self.items.is_null(i) {
                return None;
            }
            Some(Extent {
                logical_bytes: value_at!(self.logical, i)?,
                physical_bytes: value_at!(self.physical, i)?,
                length_bytes: value_at!(self.length, i)?,
                flags: value_at!(self.flags, i)?,
            })
        });
        let extents: Option<Box<[Extent]>> = extents.collect();
        let extents = extents.ok_or_else(|| "an item of `extents` is null".to_owned())?;
        check_extents(&extents)?;
        Ok(Some(extents))
    }
}

/// What metrics rely on: extents end within 64 bits, ascend in the file, and do not overlap there.
fn check_extents(extents: &[Extent]) -> Result<(), String> {
    let mut reached = 0;
    for extent in extents {
        let end = extent.physical_bytes.checked_add(extent.length_bytes);
        if extent.is_pointers() && end.is_some() {
            continue;
        }
        let logical_end = extent.logical_bytes.checked_add(extent.length_bytes);
        let (Some(_), Some(logical_end)) = (end, logical_end) else {
            return Err("an item of `extents` ends beyond 64 bits".to_owned());
        };
        if extent.logical_bytes < reached {
            return Err("`extents` overlap or do not ascend by `logical_bytes`".to_owned());
        }
        reached = logical_end;
    }
    Ok(())
}
