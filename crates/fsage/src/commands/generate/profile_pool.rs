//! Pools of short-lived profiles in files.

use anyhow::bail;
use fsage_core::short_lived::{Profile, ProfileVerb};
use fsage_data::PartialFile;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// Whether a pool can be written there.
pub fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    if path.extension().is_none_or(|e| e != "csv") {
        bail!("{}: the name of a pool ends in .csv", path.display());
    }
    if path.exists() && !force {
        bail!("{} exists: --force replaces it", path.display());
    }
    Ok(())
}

/// Writes the exchange form: a row a file, `source,dir,start_s,life_s,bytes,name`, in order of start. `dir`
/// counts the directories of a source in the order of their first row.
pub fn write(path: &Path, profiles: &[Profile], force: bool) -> anyhow::Result<()> {
    let mut file = PartialFile::create(path, force)?;
    writeln!(file, "source,dir,start_s,life_s,bytes,name")?;
    let mut dirs: HashMap<(&str, &str), usize> = HashMap::new();
    let mut of_source: HashMap<&str, usize> = HashMap::new();
    for row in rows(profiles) {
        let key = (row.profile.source.as_str(), row.profile.dir.as_str());
        let dir = *dirs.entry(key).or_insert_with(|| {
            let next = of_source.entry(key.0).or_default();
            *next += 1;
            *next - 1
        });
        writeln!(
            file,
            "{},{dir},{},{},{},{}",
            quoted(&row.profile.source),
            seconds(row.start_ns),
            seconds(row.life_ns),
            row.bytes,
            quoted(row.name),
        )?;
    }
    Ok(file.finish()?)
}

struct FileRow<'a> {
    profile: &'a Profile,
    start_ns: i64,
    life_ns: i64,
    bytes: u64,
    name: &'a str,
}

/// The files of all profiles in order of source and start.
fn rows(profiles: &[Profile]) -> Vec<FileRow<'_>> {
    let mut rows = Vec::new();
    for profile in profiles {
        let first = rows.len();
        for op in &profile.ops {
            let t_ns = profile.start_ns.saturating_add(op.t_rel_ns);
            // Ids count from 0 in the order of the creates.
            let at = first + op.local_id as usize;
            match op.verb {
                ProfileVerb::Create => rows.push(FileRow {
                    profile,
                    start_ns: t_ns,
                    life_ns: 0,
                    bytes: op.bytes,
                    name: profile
                        .names
                        .get(op.local_id as usize)
                        .map_or("", |n| n.as_ref()),
                }),
                ProfileVerb::Append => rows[at].bytes += op.bytes,
                ProfileVerb::Delete => rows[at].life_ns = t_ns.saturating_sub(rows[at].start_ns),
            }
        }
    }
    rows.sort_by_key(|r| (&r.profile.source, r.start_ns));
    rows
}

/// Seconds with six digits, as traces have them.
fn seconds(ns: i64) -> String {
    let us = ns / 1000;
    format!("{}.{:06}", us / 1_000_000, us.unsigned_abs() % 1_000_000)
}

/// A field as RFC 4180 wants it.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
