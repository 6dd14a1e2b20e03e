//! Pools as CSV: one row a file.

use super::check;
use crate::error::DataError;
use crate::stream;
use fsage_core::short_lived::{Profile, ProfileOp, ProfileVerb};
use fsage_durable::PartialFile;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

const HEADER: [&str; 6] = ["source", "dir", "start_s", "life_s", "bytes", "name"];

/// A file: what one row says.
struct Row {
    source: String,
    dir: String,
    start_ns: i64,
    end_ns: i64,
    bytes: u64,
    name: Box<str>,
}

/// Whether a file, which may be compressed, begins with the header of the CSV form.
///
/// # Errors
/// The file cannot be read.
pub fn is_profiles_csv(path: &Path) -> Result<bool, DataError> {
    let failed = |e| DataError::io(path, "cannot read", e);
    let (input, _) = stream::open(path).map_err(failed)?;
    let mut start = Vec::new();
    let header = HEADER.join(",");
    input
        .take(header.len() as u64)
        .read_to_end(&mut start)
        .map_err(failed)?;
    Ok(start == header.as_bytes())
}

/// Reads the CSV form, which may be compressed. The rows of one directory become one profile, of day 0; profiles
/// come in the order of their first rows.
///
/// # Errors
/// The file cannot be read, its header is another one, or a row cannot be right.
pub fn read_profiles_csv(path: impl AsRef<Path>) -> Result<Vec<Profile>, DataError> {
    let path = path.as_ref();
    let (input, _) = stream::open(path).map_err(|e| DataError::io(path, "cannot open", e))?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(input);
    let mut record = csv::StringRecord::new();
    let mut next = |record: &mut csv::StringRecord, row: u64| {
        reader.read_record(record).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(e) => DataError::io(path, "cannot read", e),
            csv::ErrorKind::UnequalLengths { len, .. } => DataError::bad_row(
                path,
                row,
                format!("{len} fields, expected {}", HEADER.len()),
            ),
            csv::ErrorKind::Utf8 { .. } => DataError::bad_row(path, row, "the text is not UTF-8"),
            other => DataError::bad_row(path, row, format!("{other:?}")),
        })
    };
    if !next(&mut record, 0)? || !record.iter().eq(HEADER) {
        let found: Vec<String> = record
            .iter()
            .take(8)
            .map(|f| f.chars().take(40).collect())
            .collect();
        return Err(DataError::unsuitable(
            path,
            format!(
                "the first line is {:?}, expected {:?}",
                found.join(","),
                HEADER.join(",")
            ),
        ));
    }
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut pools: Vec<Vec<Row>> = Vec::new();
    let mut row = 0;
    while next(&mut record, row + 1)? {
        row += 1;
        let parsed = parse(&record).map_err(|problem| DataError::bad_row(path, row, problem))?;
        let key = (parsed.source.clone(), parsed.dir.clone());
        let place = *places.entry(key).or_insert(pools.len());
        if place == pools.len() {
            pools.push(Vec::new());
        }
        pools[place].push(parsed);
    }
    let profiles = pools.into_iter().map(profile_of).collect::<Vec<_>>();
    for profile in &profiles {
        check(profile).map_err(|(_, what)| {
            DataError::unsuitable(
                path,
                format!("directory {} of {}: {what}", profile.dir, profile.source),
            )
        })?;
    }
    Ok(profiles)
}

fn parse(record: &csv::StringRecord) -> Result<Row, String> {
    let field = |at: usize| record.get(at).unwrap_or_default();
    let seconds = |at: usize| {
        let text = field(at);
        nanoseconds(text).ok_or_else(|| {
            format!(
                "`{}` is {text:?}, expected seconds, as in 1.361653",
                HEADER[at]
            )
        })
    };
    let start_ns = seconds(2)?;
    let end_ns = start_ns.checked_add(seconds(3)?);
    let bytes = field(4);
    Ok(Row {
        source: field(0).to_owned(),
        dir: field(1).to_owned(),
        start_ns,
        end_ns: end_ns.ok_or_else(|| "the file lives beyond the year 2262".to_owned())?,
        bytes: bytes
            .parse()
            .map_err(|_| format!("`bytes` is {bytes:?}, expected a whole number"))?,
        name: field(5).into(),
    })
}

/// Nanoseconds of unsigned seconds with at most 9 digits after the point.
fn nanoseconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let scale = 10_i64.pow(9 - fraction.len() as u32);
    let fraction: i64 = fraction.parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction * scale)
}

fn profile_of(mut rows: Vec<Row>) -> Profile {
    rows.sort_by_key(|row| row.start_ns);
    let start_ns = rows.first().map_or(0, |row| row.start_ns);
    let mut profile = Profile {
        start_ns,
        ..Profile::default()
    };
    for (local_id, row) in rows.into_iter().enumerate() {
        let op = |t_ns: i64, verb: ProfileVerb, bytes: u64| ProfileOp {
            t_rel_ns: t_ns - start_ns,
            verb,
            local_id: local_id as u64,
            bytes,
        };
        profile
            .ops
            .push(op(row.start_ns, ProfileVerb::Create, row.bytes));
        profile.ops.push(op(row.end_ns, ProfileVerb::Delete, 0));
        profile.names.push(row.name);
        (profile.source, profile.dir) = (row.source, row.dir);
    }
    profile
        .ops
        .sort_by_key(|op| (op.t_rel_ns, op.local_id, op.verb));
    if profile.names.iter().all(|name| name.is_empty()) {
        profile.names.clear();
    }
    profile
}

/// Writes the CSV form, sorted by source, then start. Directories that are not numbers are numbered in order of
/// their first use within the source.
///
/// # Errors
/// `path` exists and `force` is not set; a profile is not in order; writing fails.
pub fn write_profiles_csv(
    path: impl AsRef<Path>,
    profiles: &[Profile],
    force: bool,
) -> Result<(), DataError> {
    let path = path.as_ref();
    let mut rows = Vec::new();
    for (index, profile) in profiles.iter().enumerate() {
        check(profile).map_err(|(at, what)| DataError::Refused {
            path: path.to_owned(),
            what: format!(
                "profile {index} ({}): operation {}: {what}",
                profile.dir,
                at + 1
            ),
        })?;
        rows.extend(rows_of(profile));
    }
    rows.sort_by(|a, b| (&a.source, a.start_ns).cmp(&(&b.source, b.start_ns)));
    number_directories(&mut rows);
    let mut file = PartialFile::create(path, force)?;
    let failed = |e: std::io::Error| DataError::io(path, "cannot write", e);
    let mut writer = csv::Writer::from_writer(&mut file);
    let mut write = |fields: [&str; 6]| {
        writer
            .write_record(fields)
            .map_err(|e| match e.into_kind() {
                csv::ErrorKind::Io(e) => failed(e),
                other => failed(std::io::Error::other(format!("{other:?}"))),
            })
    };
    write(HEADER)?;
    for row in &rows {
        write([
            &row.source,
            &row.dir,
            &seconds(row.start_ns),
            &seconds(row.end_ns - row.start_ns),
            &row.bytes.to_string(),
            &row.name,
        ])?;
    }
    writer.flush().map_err(failed)?;
    drop(writer);
    file.flush().map_err(failed)?;
    Ok(file.finish()?)
}

fn rows_of(profile: &Profile) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    for op in &profile.ops {
        let t_ns = profile.start_ns.saturating_add(op.t_rel_ns);
        if op.verb == ProfileVerb::Create {
            let name = profile.names.get(op.local_id as usize);
            places.insert(op.local_id, rows.len());
            rows.push(Row {
                source: profile.source.clone(),
                dir: profile.dir.clone(),
                start_ns: t_ns,
                end_ns: t_ns,
                bytes: 0,
                name: name.cloned().unwrap_or_default(),
            });
        }
        if let Some(row) = places
            .get(&op.local_id)
            .and_then(|place| rows.get_mut(*place))
        {
            row.end_ns = t_ns;
            row.bytes = row.bytes.saturating_add(op.bytes);
        }
    }
    rows
}

fn number_directories(rows: &mut [Row]) {
    for rows in rows.chunk_by_mut(|a, b| a.source == b.source) {
        let number = |dir: &str| !dir.is_empty() && dir.bytes().all(|b| b.is_ascii_digit());
        if rows.iter().all(|row| number(&row.dir)) {
            continue;
        }
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows {
            let next = numbers.len();
            let number = *numbers.entry(std::mem::take(&mut row.dir)).or_insert(next);
            row.dir = number.to_string();
        }
    }
}

/// Seconds with 6 digits after the point, or 9 where they are needed.
fn seconds(ns: i64) -> String {
    let (whole, rest) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    if rest % 1000 == 0 {
        format!("{whole}.{:06}", rest / 1000)
    } else {
        format!("{whole}.{rest:09}")
    }
}
