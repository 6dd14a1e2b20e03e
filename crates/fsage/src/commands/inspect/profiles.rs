//! Pools of profiles of short-lived files.

use crate::summary::{print_json, table};
use crate::ui;
use fsage_core::short_lived::{Profile, ProfileVerb};
use fsage_core::size::human;
use fsage_data::Histogram;
use fsage_data::profiles::read_profiles;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

const PERCENTS: [u8; 5] = [10, 50, 90, 99, 100];

/// The profiles of one source.
#[derive(Default)]
struct Source {
    profiles: u64,
    directories: std::collections::BTreeSet<String>,
    files: u64,
    bytes: u64,
    lives_ns: Histogram,
    sizes: Histogram,
}

impl Source {
    fn add(&mut self, profile: &Profile) {
        self.profiles += 1;
        self.directories.insert(profile.dir.clone());
        self.files += profile.files();
        self.bytes = self.bytes.saturating_add(profile.bytes());
        let mut made: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
        for op in &profile.ops {
            let (start, bytes) = made.entry(op.local_id).or_insert((op.t_rel_ns, 0));
            *bytes = bytes.saturating_add(op.bytes);
            if op.verb == ProfileVerb::Delete {
                self.lives_ns.add(op.t_rel_ns.abs_diff(*start));
                self.sizes.add(*bytes);
            }
        }
    }
}

/// Prints the numbers of a pool.
pub fn run(path: &Path, as_json: bool) -> anyhow::Result<()> {
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    for profile in &read_profiles(path)? {
        sources
            .entry(profile.source.clone())
            .or_default()
            .add(profile);
    }
    let mut out = ui::stdout();
    if as_json {
        let numbers = |values: &Histogram| -> serde_json::Map<_, _> {
            let percents = PERCENTS.into_iter();
            percents
                .map(|p| (format!("p{p}"), values.percentile(p).into()))
                .collect()
        };
        let sources: serde_json::Map<_, _> = sources
            .iter()
            .map(|(name, source)| {
                let value = json!({
                    "profiles": source.profiles,
                    "directories": source.directories.len(),
                    "files": source.files,
                    "bytes": source.bytes,
                    "life_ns": numbers(&source.lives_ns),
                    "size_bytes": numbers(&source.sizes),
                });
                (name.clone(), value)
            })
            .collect();
        let all = json!({
            "file": path.display().to_string(),
            "kind": "profiles",
            "sources": sources,
        });
        print_json(&mut out, &all)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{}: profiles of short-lived files", path.display())?;
    let mut numbers = table(&[
        "source",
        "profiles",
        "directories",
        "files",
        "bytes",
        "median size",
        "median life",
        "p90",
    ]);
    for (name, source) in &sources {
        let seconds = |p| {
            let life = source.lives_ns.percentile(p);
            life.map_or_else(String::new, |ns| format!("{:.6} s", ns as f64 / 1e9))
        };
        numbers.add_row([
            name.clone(),
            source.profiles.to_string(),
            source.directories.len().to_string(),
            source.files.to_string(),
            human(source.bytes),
            source
                .sizes
                .percentile(50)
                .map_or_else(String::new, |n| n.to_string()),
            seconds(50),
            seconds(90),
        ]);
    }
    writeln!(out, "{numbers}")?;
    Ok(out.flush()?)
}
