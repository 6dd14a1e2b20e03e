//! Pools as two Parquet tables.

use super::check;
use crate::error::DataError;
use crate::parquet_file::{TableFile, TableOutput, column, properties, required, value_at};
use crate::snapshot::{stem, with_ending};
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use fsage_core::short_lived::{Profile, ProfileOp, ProfileVerb};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the schema of profiles.
pub const PROFILES: &str = "profiles";
/// Name of the schema of their operations.
pub const PROFILE_OPS: &str = "profile_ops";

/// Rows that are handed to the encoder at once, or decoded at once.
const BATCH_ROWS: usize = 1 << 13;

fn profiles_schema() -> Schema {
    Schema::new(vec![
        Field::new("profile_id", DataType::UInt32, false),
        Field::new("source", DataType::Utf8, false),
        Field::new("dir", DataType::Utf8, false),
        Field::new("day", DataType::UInt32, false),
        Field::new("n_files", DataType::UInt32, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("start_ns", DataType::Int64, true),
    ])
}

fn ops_schema() -> Schema {
    Schema::new(vec![
        Field::new("profile_id", DataType::UInt32, false),
        Field::new("t_rel_ns", DataType::Int64, false),
        Field::new("op", DataType::Utf8, false),
        Field::new("local_id", DataType::UInt32, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("name", DataType::Utf8, true),
    ])
}

/// The two tables of a pool; `path` is `STEM`, `STEM.parquet`, or the table of profiles itself.
pub fn profile_tables(path: &Path) -> (PathBuf, PathBuf) {
    let stem = stem(path);
    let stem = match stem.extension() {
        Some(extension) if extension == PROFILES => stem.with_extension(""),
        _ => stem,
    };
    (
        with_ending(&stem, ".profiles.parquet"),
        with_ending(&stem, ".profile_ops.parquet"),
    )
}

/// Writes a pool as `STEM.profiles.parquet` and `STEM.profile_ops.parquet`; `path` is `STEM`, or the table of
/// profiles itself. That table gets its name last.
///
/// # Errors
/// A file exists and `force` is not set; a profile's times do not ascend, or a file of it is not made once and
/// deleted once, later; writing fails.
pub fn write_profiles(
    path: impl AsRef<Path>,
    profiles: &[Profile],
    force: bool,
) -> Result<(), DataError> {
    let (table, ops_table) = profile_tables(path.as_ref());
    let refused = |index: usize, what: String| DataError::Refused {
        path: table.clone(),
        what: format!("profile {index} ({}): {what}", profiles[index].dir),
    };
    let mut counts = Vec::with_capacity(profiles.len());
    for (index, profile) in profiles.iter().enumerate() {
        check(profile)
            .map_err(|(at, what)| refused(index, format!("operation {}: {what}", at + 1)))?;
        let files = u32::try_from(profile.files());
        let files = files.map_err(|_| refused(index, "more than 2^32 files".to_owned()))?;
        counts.push(files);
    }
    let ids = 0..profiles.len() as u32;
    let strings = |f: fn(&Profile) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(profiles.iter().map(f)))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(ids)),
        strings(|p| &p.source),
        strings(|p| &p.dir),
        Arc::new(UInt32Array::from_iter_values(
            profiles.iter().map(|p| p.day),
        )),
        Arc::new(UInt32Array::from(counts)),
        Arc::new(UInt64Array::from_iter_values(
            profiles.iter().map(Profile::bytes),
        )),
        Arc::new(Int64Array::from_iter_values(
            profiles.iter().map(|p| p.start_ns),
        )),
    ];
    let mut output = start(&table, PROFILES, profiles_schema(), force)?;
    write_batch(&mut output, &profiles_schema(), columns)?;
    let mut ops_output = start(&ops_table, PROFILE_OPS, ops_schema(), force)?;
    let rows = profiles
        .iter()
        .enumerate()
        .flat_map(|(id, profile)| profile.ops.iter().map(move |op| (id as u32, profile, op)));
    let rows: Vec<_> = rows.collect();
    for rows in rows.chunks(BATCH_ROWS) {
        let names = rows.iter().map(|(_, profile, op)| {
            let name = profile.names.get(op.local_id as usize);
            name.filter(|_| op.verb == ProfileVerb::Create)
                .map(|name| &**name)
        });
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.0))),
            Arc::new(Int64Array::from_iter_values(
                rows.iter().map(|r| r.2.t_rel_ns),
            )),
            Arc::new(StringArray::from_iter_values(
                rows.iter().map(|r| r.2.verb.as_str()),
            )),
            Arc::new(UInt32Array::from_iter_values(
                rows.iter().map(|r| r.2.local_id as u32),
            )),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.2.bytes),
            )),
            Arc::new(names.collect::<StringArray>()),
        ];
        write_batch(&mut ops_output, &ops_schema(), columns)?;
    }
    ops_output.finish()?;
    output.finish()
}

fn start(path: &Path, name: &str, schema: Schema, force: bool) -> Result<TableOutput, DataError> {
    TableOutput::create(path, force, Arc::new(schema), properties(name, []).build())
}

fn write_batch(
    output: &mut TableOutput,
    schema: &Schema,
    columns: Vec<ArrayRef>,
) -> Result<(), DataError> {
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), columns)
        .expect("columns in the order and with the types of the schema");
    if batch.num_rows() == 0 {
        return Ok(());
    }
    output.write(&batch)
}

/// A profile as its table says, before its operations are read.
struct Stated {
    id: u32,
    files: u32,
    bytes: u64,
    row: u64,
    profile: Profile,
}

/// Reads both tables.
pub(super) fn read(path: &Path) -> Result<Vec<Profile>, DataError> {
    let (table, ops_table) = profile_tables(path);
    let mut stated = read_table(&table)?;
    let last_rows = read_ops(&ops_table, &mut stated)?;
    let mut profiles = Vec::with_capacity(stated.len());
    for (stated, last_row) in stated.into_iter().zip(last_rows) {
        let mut profile = stated.profile;
        let found = (profile.files(), profile.bytes());
        if found != (u64::from(stated.files), stated.bytes) {
            let problem = format!(
                "profile {} has {} files and {} bytes, but its operations make {} and write {}",
                stated.id, stated.files, stated.bytes, found.0, found.1
            );
            return Err(DataError::bad_row(&table, stated.row, problem));
        }
        check(&profile).map_err(|(at, what)| {
            let row = last_row + at as u64 + 1 - profile.ops.len() as u64;
            DataError::bad_row(&ops_table, row, what)
        })?;
        name_files(&mut profile);
        profiles.push(profile);
    }
    Ok(profiles)
}

/// Names were read in the order of operations that make a file; they belong in that of local ids.
fn name_files(profile: &mut Profile) {
    if profile.names.iter().all(|name| name.is_empty()) {
        profile.names.clear();
        return;
    }
    let mut names = vec![Box::default(); profile.names.len()];
    let creates = profile
        .ops
        .iter()
        .filter(|op| op.verb == ProfileVerb::Create);
    for (op, name) in creates.zip(std::mem::take(&mut profile.names)) {
        if let Some(slot) = names.get_mut(op.local_id as usize) {
            *slot = name;
        }
    }
    profile.names = names;
}

fn read_table(path: &Path) -> Result<Vec<Stated>, DataError> {
    let file = TableFile::open_as(path, PROFILES)?;
    let schema = profiles_schema();
    file.check_columns(&schema, &["start_ns"])?;
    let mut batches = file.batches(&schema, None, BATCH_ROWS)?;
    let mut profiles: Vec<Stated> = Vec::new();
    while let Some(batch) = batches.next_batch()? {
        let ids: UInt32Array = required(&batch, "profile_id", path)?;
        let sources: StringArray = required(&batch, "source", path)?;
        let dirs: StringArray = required(&batch, "dir", path)?;
        let days: UInt32Array = required(&batch, "day", path)?;
        let files: UInt32Array = required(&batch, "n_files", path)?;
        let bytes: UInt64Array = required(&batch, "bytes", path)?;
        let starts: Option<Int64Array> = column(&batch, "start_ns");
        for at in 0..batch.num_rows() {
            let row = profiles.len() as u64 + 1;
            let null = |name: &str| DataError::bad_row(path, row, format!("`{name}` is null"));
            let id = value_at!(ids, at).ok_or_else(|| null("profile_id"))?;
            if profiles.last().is_some_and(|last| id <= last.id) {
                let problem = "`profile_id` is not after the one before: sort the rows";
                return Err(DataError::bad_row(path, row, problem));
            }
            profiles.push(Stated {
                id,
                files: value_at!(files, at).ok_or_else(|| null("n_files"))?,
                bytes: value_at!(bytes, at).ok_or_else(|| null("bytes"))?,
                row,
                profile: Profile {
                    source: value_at!(sources, at)
                        .ok_or_else(|| null("source"))?
                        .to_owned(),
                    dir: value_at!(dirs, at).ok_or_else(|| null("dir"))?.to_owned(),
                    day: value_at!(days, at).ok_or_else(|| null("day"))?,
                    start_ns: starts
                        .as_ref()
                        .and_then(|starts| value_at!(starts, at))
                        .unwrap_or(0),
                    ..Profile::default()
                },
            });
        }
    }
    Ok(profiles)
}

/// Gives every profile its operations, and names in their order; the last row of each is returned.
fn read_ops(path: &Path, profiles: &mut [Stated]) -> Result<Vec<u64>, DataError> {
    let file = TableFile::open_as(path, PROFILE_OPS)?;
    let schema = ops_schema();
    file.check_columns(&schema, &["name"])?;
    let mut batches = file.batches(&schema, None, BATCH_ROWS)?;
    let mut last_rows = vec![0; profiles.len()];
    let (mut row, mut last) = (0, 0);
    while let Some(batch) = batches.next_batch()? {
        let ids: UInt32Array = required(&batch, "profile_id", path)?;
        let times: Int64Array = required(&batch, "t_rel_ns", path)?;
        let verbs: StringArray = required(&batch, "op", path)?;
        let local_ids: UInt32Array = required(&batch, "local_id", path)?;
        let bytes: UInt64Array = required(&batch, "bytes", path)?;
        let names: Option<StringArray> = column(&batch, "name");
        for at in 0..batch.num_rows() {
            row += 1;
            let bad = |problem: String| DataError::bad_row(path, row, problem);
            let null = |name: &str| bad(format!("`{name}` is null"));
            let id = value_at!(ids, at).ok_or_else(|| null("profile_id"))?;
            if id < last {
                return Err(bad("`profile_id` goes down: sort the rows".to_owned()));
            }
            last = id;
            let index = profiles.binary_search_by_key(&id, |stated| stated.id);
            let index =
                index.map_err(|_| bad(format!("profile {id} is not in the table of profiles")))?;
            let verb = value_at!(verbs, at).ok_or_else(|| null("op"))?;
            let verb = ProfileVerb::parse(verb).ok_or_else(|| {
                bad(format!(
                    "unknown `op` {verb:?}, not create, append or delete"
                ))
            })?;
            let profile = &mut profiles[index].profile;
            profile.ops.push(ProfileOp {
                t_rel_ns: value_at!(times, at).ok_or_else(|| null("t_rel_ns"))?,
                verb,
                local_id: u64::from(value_at!(local_ids, at).ok_or_else(|| null("local_id"))?),
                bytes: value_at!(bytes, at).ok_or_else(|| null("bytes"))?,
            });
            if verb == ProfileVerb::Create {
                let name = names.as_ref().and_then(|names| value_at!(names, at));
                profile.names.push(name.unwrap_or_default().into());
            }
            last_rows[index] = row;
        }
    }
    Ok(last_rows)
}
