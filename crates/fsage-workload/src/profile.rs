//! The profile generator: files of given sizes, ages and depths, on a file system that is as full as it is told
//! to be, day after day.
//!
//! A [`Profile`] says which files there are at the end (shares by size, by age, by depth), how full the file
//! system is on every day, and what else is done. The generator:
//!
//! 1. **fills** to where the utilization curve begins, drawing sizes and depths by their weights;
//! 2. **turns over** for the given days: creates while less is in use than the curve says, deletes while more than
//!    one mean file too much is, and tosses a coin in between. A create is of the size and the depth that are
//!    farthest below their share. A delete takes a file of the age, then the size, then the depth that there are
//!    most too many of. What makes a large file possible is deleted before it;
//! 3. **changes** files in between: appends, overwrites, rewrites, truncates, renames, saves by rename, reads; and
//!    makes files that are gone by the evening, and files that grow in pieces while others do;
//! 4. **settles** at the end of every day: what short-lived and growing files are left ends, and a few more creates
//!    and deletes bring what is in use to within a quarter percent of capacity of the curve.
//!
//! With `packages` a whole directory is made or deleted in place of a file.
//!
//! Space is counted by [`SpaceRule`], one fragment a directory at least. It never runs out: what does not fit is
//! left out and counted.
//!
//! The rules of turnover, and the age buckets by birth, are those of Geriatrix (USENIX ATC 2018), with a controller
//! in place of its coin.

mod activity;
mod change;
mod directories;
mod engine;
mod packages;
mod population;

pub use activity::Activity;

use crate::distribution::Distribution;
use crate::space::SpaceRule;
use crate::text_size;
use engine::Engine;
use fsage_core::{EventSink, SinkError, WorkloadHeader};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Deepest directory.
const MAX_DEPTH: usize = 64;
/// Curves stay at or below this share of the capacity.
pub const MAX_UTILIZATION: f64 = 0.98;
/// Most days of a profile.
pub const MAX_DAYS: u64 = 100_000;

/// What a workload is like. Sizes in TOML are bytes or text as in `"64K"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Days.
    pub days: u64,
    /// Operations of an average day; without it, as many as the ages need (see [`turnover_ticks`]).
    #[serde(default)]
    pub operations_per_day: Option<u64>,
    /// Data space of the file system: what its inode tables and maps leave.
    #[serde(with = "text_size")]
    pub capacity_bytes: u64,
    /// Block size that space is counted with.
    #[serde(with = "text_size", default = "default_block")]
    pub block_bytes: u64,
    /// Fragment size that space is counted with.
    #[serde(with = "text_size", default = "default_fragment")]
    pub fragment_bytes: u64,
    /// Bytes of a directory entry; 0: a directory takes one fragment, however many names are in it.
    #[serde(default)]
    pub dirent_bytes: u64,
    /// Share of the capacity in use, over the share of the period: straight lines between these points.
    pub utilization: Vec<(f64, f64)>,
    /// Sizes of the files alive, in bytes.
    pub size: Distribution,
    /// No file is made larger; without it an eighth of the capacity.
    #[serde(default, deserialize_with = "text_size::deserialize_some")]
    pub largest_bytes: Option<u64>,
    /// Ages of the files alive at the end. Of a table or points only value / last value is used, which is the
    /// whole period; other kinds are in days. Without it deletes take any file alike.
    #[serde(default)]
    pub age: Option<Distribution>,
    /// Depth of the directories that files are in; 0 is the root. Without it all are in the root.
    #[serde(default)]
    pub depth: Option<Distribution>,
    /// Number of directories of each depth, from 1 on, all made at the start; those of a depth lie in one
    /// directory of the depth above. Without it directories come and go with the number of files.
    #[serde(default)]
    pub directories: Option<Vec<u64>>,
    /// Files in a directory, where directories come and go; the mean of packages.
    #[serde(default = "default_width")]
    pub files_per_directory: u64,
    /// Files come and go by the directory, as software is installed and removed, and not one at a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packages: bool,
    /// Files are written in `tmp` of their directory, flushed, and renamed into it, as a Maildir takes mail. Each such
    /// delivery is one operation of [`operations_per_day`](Profile::operations_per_day). With `directories` alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staged: bool,
    /// Share of the files made that are gone by the end of the day.
    #[serde(default)]
    pub short_lived: f64,
    /// Mean life of these.
    #[serde(default = "default_life")]
    pub short_lived_minutes: f64,
    /// Share of the files over one chunk that are written in pieces while others are.
    #[serde(default)]
    pub interleaved: f64,
    /// Size of these pieces.
    #[serde(with = "text_size", default = "default_chunk")]
    pub chunk_bytes: u64,
    /// What is changed is the youngest of so many files drawn at random.
    #[serde(default = "default_hot")]
    pub hot: u64,
    /// Mean length of what is appended.
    #[serde(with = "text_size", default = "default_append")]
    pub append_bytes: u64,
    /// Operations by kind.
    #[serde(default)]
    pub mix: Mix,
    /// When things happen.
    #[serde(default)]
    pub activity: Activity,
}

/// Weights of kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    /// Creates and deletes.
    pub turnover: u64,
    /// Writes at the end.
    pub append: u64,
    /// Writes in place.
    pub overwrite: u64,
    /// Truncations to 0 followed by a write of about the old size.
    pub rewrite: u64,
    /// Cuts.
    pub truncate: u64,
    /// Moves to another directory of the same depth.
    pub rename: u64,
    /// A new file takes the place of an old one, as editors save.
    pub save: u64,
    /// Reads of whole files.
    pub read: u64,
    /// Flushes of one file.
    pub fsync: u64,
}

impl Default for Mix {
    /// Creates and deletes alone.
    fn default() -> Mix {
        Mix {
            turnover: 1,
            append: 0,
            overwrite: 0,
            rewrite: 0,
            truncate: 0,
            rename: 0,
            save: 0,
            read: 0,
            fsync: 0,
        }
    }
}

impl Mix {
    fn weights(self) -> [u64; 9] {
        [
            self.turnover,
            self.append,
            self.overwrite,
            self.rewrite,
            self.truncate,
            self.rename,
            self.save,
            self.read,
            self.fsync,
        ]
    }
}

fn default_block() -> u64 {
    SpaceRule::FFS.block_bytes
}

fn default_fragment() -> u64 {
    SpaceRule::FFS.fragment_bytes
}

fn default_width() -> u64 {
    16
}

fn default_life() -> f64 {
    30.0
}

fn default_chunk() -> u64 {
    64 << 10
}

fn default_hot() -> u64 {
    4
}

fn default_append() -> u64 {
    4096
}

/// What is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("profile: {0}")]
pub struct ProfileError(String);

/// The share of files in a bucket that is farthest from its target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// Largest value of the bucket: bytes, depth, or share of the period.
    pub upto: f64,
    /// The share that was asked for.
    pub wanted: f64,
    /// The share of the files alive at the end.
    pub got: f64,
}

impl Deviation {
    /// Distance of the two.
    pub fn distance(&self) -> f64 {
        (self.wanted - self.got).abs()
    }
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileSummary {
    /// Operations, `day` not counted.
    pub operations: u64,
    /// Of these, those before the first day's own.
    pub fill_operations: u64,
    /// Of these, those that bring the space in use to its curve when the operations of a day are done.
    pub settling_operations: u64,
    /// Bytes of creates, rewrites and appends.
    pub bytes_written: u64,
    /// Days.
    pub days: u64,
    /// Operations of an average day as planned.
    pub operations_per_day: u64,
    /// Files alive at the end.
    pub files: u64,
    /// Directories alive at the end, the root not counted.
    pub directories: u64,
    /// Share of the capacity in use at the end.
    pub utilization: f64,
    /// Largest distance from the curve at the end of a day, as a share of the capacity.
    pub utilization_deviation: f64,
    /// Share of the capacity in use at its highest.
    pub peak_utilization: f64,
    /// Short-lived files.
    pub short_lived_files: u64,
    /// Files written in pieces while others were.
    pub interleaved_files: u64,
    /// Files made smaller than drawn, or cut, to meet the curve.
    pub cut_files: u64,
    /// Short-lived files and changes left out because there was no room, or nothing to change.
    pub left_out: u64,
    /// The age bucket farthest from its share.
    pub age: Option<Deviation>,
    /// The size bucket farthest from its share.
    pub size: Deviation,
    /// The depth farthest from its share.
    pub depth: Deviation,
}

impl Profile {
    /// How space is counted.
    pub fn space(&self) -> SpaceRule {
        SpaceRule {
            block_bytes: self.block_bytes,
            fragment_bytes: self.fragment_bytes,
        }
    }

    /// The largest file that is made.
    pub fn largest(&self) -> u64 {
        self.largest_bytes.unwrap_or(self.capacity_bytes / 8)
    }

    /// Share of the capacity in use when this share of the period has passed.
    pub fn utilization_at(&self, progress: f64) -> f64 {
        let after = self.utilization.iter().position(|p| p.0 >= progress);
        match after {
            None => self.utilization.last().map_or(0.0, |p| p.1),
            Some(0) => self.utilization[0].1,
            Some(i) => {
                let ((x0, y0), (x1, y1)) = (self.utilization[i - 1], self.utilization[i]);
                y0 + (y1 - y0) * (progress - x0) / (x1 - x0)
            }
        }
    }

    /// The same curve over another number of days. Where it has operations a day it has as many; otherwise its files
    /// turn over as often in all, as their ages are shares of the life, and fewer days are busier.
    #[must_use]
    pub fn with_days(mut self, days: u64) -> Profile {
        self.days = days;
        self
    }

    /// The same on another size, with operations in proportion. No file is larger than an eighth of a smaller one.
    #[must_use]
    pub fn with_capacity(mut self, bytes: u64) -> Profile {
        let scale = bytes as f64 / self.capacity_bytes.max(1) as f64;
        let scaled = |n: u64| ((n as f64 * scale).round() as u64).max(1);
        self.operations_per_day = self.operations_per_day.map(scaled);
        self.largest_bytes = self
            .largest_bytes
            .map(|largest| largest.min((bytes / 8).max(1)));
        self.capacity_bytes = bytes;
        self
    }

    /// The same shape of the curve, scaled so that it ends at this share; no point goes over 98 %.
    #[must_use]
    pub fn with_utilization(mut self, end: f64) -> Profile {
        let before = self.utilization.last().map_or(0.0, |p| p.1);
        for point in &mut self.utilization {
            point.1 = if before > 0.0 {
                (point.1 * end / before).min(MAX_UTILIZATION)
            } else {
                end
            };
        }
        self
    }

    /// Checks what may come from outside.
    ///
    /// # Errors
    /// Says which key is wrong, and what was expected.
    pub fn check(&self) -> Result<(), ProfileError> {
        self.checked().map_err(ProfileError)
    }

    fn checked(&self) -> Result<(), String> {
        const PIB: u64 = 1 << 50;
        within("days", self.days, 1, MAX_DAYS)?;
        within("block_bytes", self.block_bytes, 512, 1 << 20)?;
        within("fragment_bytes", self.fragment_bytes, 512, self.block_bytes)?;
        if !self.block_bytes.is_power_of_two() || !self.fragment_bytes.is_power_of_two() {
            return Err("block_bytes and fragment_bytes: expected powers of two".into());
        }
        // A quarter percent must be more than the grain of what is counted.
        let least = 1000 * self.fragment_bytes;
        within("capacity_bytes", self.capacity_bytes, least, PIB)?;
        within("dirent_bytes", self.dirent_bytes, 0, 1024)?;
        within(
            "files_per_directory",
            self.files_per_directory,
            1,
            1_000_000_000,
        )?;
        within("hot", self.hot, 1, 64)?;
        within("chunk_bytes", self.chunk_bytes, 512, 1 << 40)?;
        within("append_bytes", self.append_bytes, 1, 1 << 40)?;
        within("largest_bytes", self.largest(), 1, self.capacity_bytes)?;
        if let Some(operations) = self.operations_per_day {
            within("operations_per_day", operations, 1, 1_000_000_000)?;
        }
        for (key, share) in [
            ("short_lived", self.short_lived),
            ("interleaved", self.interleaved),
        ] {
            if !(0.0..=0.99).contains(&share) {
                return Err(format!("{key} = {share}: expected a share from 0 to 0.99"));
            }
        }
        if !(0.01..=1440.0).contains(&self.short_lived_minutes) {
            return Err(format!(
                "short_lived_minutes = {}: expected 0.01 to 1440",
                self.short_lived_minutes
            ));
        }
        self.check_mix()?;
        self.check_curve()?;
        self.check_distributions()?;
        self.activity.check()
    }

    fn check_mix(&self) -> Result<(), String> {
        let weights = self.mix.weights();
        if weights.iter().any(|&w| w > 1_000_000) || self.mix.turnover == 0 {
            return Err("mix: expected weights up to 1000000, and a turnover over 0".into());
        }
        Ok(())
    }

    fn check_curve(&self) -> Result<(), String> {
        let points = &self.utilization;
        if points.is_empty() || points.len() > 10_000 {
            return Err("utilization: expected points [share of the period, share in use]".into());
        }
        let mut before = -1.0;
        for &(x, y) in points {
            let rises = x > before && (0.0..=1.0).contains(&x);
            if !rises || !(0.0..=MAX_UTILIZATION).contains(&y) {
                return Err(format!(
                    "utilization: [{x}, {y}]: expected a share of the period, from 0 to 1 and over that of the \
                     point before, and a share in use from 0 to {MAX_UTILIZATION}"
                ));
            }
            before = x;
        }
        Ok(())
    }

    fn check_distributions(&self) -> Result<(), String> {
        self.size.check().map_err(|e| format!("size: {e}"))?;
        let sizes = self
            .size
            .buckets(self.largest() as f64)
            .map_err(|e| format!("size: {e} (largest_bytes, or an eighth of the capacity)"))?;
        if sizes.mean_of(|v| v) < 1e-6 {
            return Err("size: the mean is 0".into());
        }
        if let Some(age) = &self.age {
            age.check().map_err(|e| format!("age: {e}"))?;
            ages(age, self.days).map_err(|e| format!("age: {e}"))?;
        }
        let depths = match &self.depth {
            Some(depth) => {
                depth.check().map_err(|e| format!("depth: {e}"))?;
                depths(depth).map_err(|e| format!("depth: {e}"))?
            }
            None => vec![1.0],
        };
        if self.packages {
            packages::check(self, &depths)?;
        }
        self.check_staged()?;
        if let Some(directories) = &self.directories {
            within("directories", directories.len() as u64, 0, MAX_DEPTH as u64)?;
            for &n in directories {
                within("directories", n, 0, 1_000_000)?;
            }
        }
        Ok(())
    }

    /// Directories that hold files while they are written are made once, one level below those that come to hold them.
    fn check_staged(&self) -> Result<(), String> {
        let levels = self.directories.as_ref().map_or(0, Vec::len);
        if self.staged && !(1..MAX_DEPTH).contains(&levels) {
            return Err(format!(
                "staged: expected `directories` beside it, with 1 to {} numbers",
                MAX_DEPTH - 1
            ));
        }
        Ok(())
    }

    /// What can be said of the workload before it is made. The program adds itself as the generator.
    pub fn header(&self, seed: u64) -> WorkloadHeader {
        WorkloadHeader {
            epoch_unix_s: Some(0),
            capacity_bytes: Some(self.capacity_bytes),
            block_bytes: Some(self.block_bytes),
            seed: Some(seed),
            ..WorkloadHeader::default()
        }
    }

    /// Operations of an average day: as given, or as many as give every age bucket the files it is to keep.
    fn operations_of_a_day(&self, ages: &[(f64, f64)], files: u64) -> u64 {
        /// Deletes make room for large files, and growth takes creates: some more than the rule says.
        const MORE: f64 = 1.1;
        if let Some(operations) = self.operations_per_day {
            return operations;
        }
        let files = files.max(1);
        let ticks = if self.age.is_some() {
            turnover_ticks(&self.with_falls(ages), files) as f64
        } else {
            // Without ages every file is replaced about once in ten days.
            files as f64 * self.days as f64 / 5.0
        };
        let per_day = ticks * MORE / self.days as f64 / self.turnover() / (1.0 - self.short_lived);
        (per_day.ceil() as u64).clamp(1, 1_000_000_000)
    }

    /// Share of the operations that create or delete.
    fn turnover(&self) -> f64 {
        self.mix.turnover as f64 / self.mix.weights().iter().sum::<u64>() as f64
    }

    /// Age buckets, with so much more in those in whose time the curve falls that the deletes leave room for creates.
    fn with_falls(&self, ages: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let end = self.utilization_at(1.0).max(0.01);
        let mut from = 0.0;
        let mut all = ages.to_vec();
        for (upto, share) in &mut all {
            let fall = self.utilization_at(1.0 - *upto) - self.utilization_at(1.0 - from);
            *share += fall.max(0.0) / end / 2.0;
            from = *upto;
        }
        all
    }

    /// About how many operations [`Profile::generate`] will make.
    ///
    /// # Errors
    /// The profile does not hold together.
    pub fn expected_operations(&self) -> Result<u64, ProfileError> {
        self.check()?;
        let ages = self.age.as_ref().map(|age| ages(age, self.days));
        let ages = ages.unwrap_or_else(|| Ok(vec![(1.0, 1.0)]));
        let sizes = self.size.buckets(self.largest() as f64);
        let (ages, sizes) = ages.and_then(|a| Ok((a, sizes?))).map_err(ProfileError)?;
        let space = self.space();
        let mean = sizes.mean_of(|v| space.bytes(space.fragments(v.ceil() as u64)) as f64);
        let files = self.capacity_bytes as f64 * self.utilization_at(1.0) / mean.max(1.0);
        let per_day = self.operations_of_a_day(&ages, files as u64);
        let turnover = per_day as f64 * self.turnover();
        let short_lived = turnover * self.short_lived;
        // Half of what is turned over is made, and all that is short-lived, whose deletion is one more.
        let (made, deleted) = (f64::midpoint(turnover, short_lived), short_lived);
        // A delivery is a flush and a rename more.
        let of_delivery = if self.staged { 2.0 } else { 0.0 };
        let a_day = per_day as f64 + deleted + of_delivery * made;
        Ok((files * (1.0 + of_delivery) + a_day * self.days as f64) as u64)
    }

    /// Makes the workload: what fills the file system at the first moment, then the days, each ended by `day N`,
    /// N from 1. Times never go down. Memory holds the files alive. The same profile and seed give the same events
    /// on every machine.
    ///
    /// # Errors
    /// The profile does not hold together (see [`Profile::check`]), or what the sink fails with.
    pub fn generate(
        &self,
        seed: u64,
        sink: &mut dyn EventSink,
    ) -> Result<ProfileSummary, SinkError> {
        self.check()?;
        Engine::new(self, seed, sink)?.run()
    }
}

/// Age buckets as shares of the period, youngest first: how old at most, and the share of files.
fn ages(age: &Distribution, days: u64) -> Result<Vec<(f64, f64)>, String> {
    let last = match age {
        Distribution::Table(rows) | Distribution::Points(rows) => rows.last().map_or(1.0, |r| r.0),
        _ => days as f64,
    };
    if last <= 0.0 {
        return Err("the last age must be over 0".into());
    }
    let buckets = age.buckets(last)?;
    let upto = |i| (buckets.upto(i) / last).min(1.0);
    let mut all: Vec<(f64, f64)> = (0..buckets.len())
        .map(|i| (upto(i), buckets.share(i)))
        .collect();
    if let Some(oldest) = all.last_mut() {
        oldest.0 = 1.0;
    }
    Ok(all)
}

/// Share of the files by depth.
fn depths(depth: &Distribution) -> Result<Vec<f64>, String> {
    let mut shares: Vec<f64> = match depth {
        // A table has whole depths.
        Distribution::Table(rows) => {
            let mut shares = vec![0.0; MAX_DEPTH + 1];
            for &(depth, weight) in rows {
                if depth.fract() != 0.0 || depth > MAX_DEPTH as f64 {
                    return Err(format!("{depth}: expected whole numbers up to {MAX_DEPTH}"));
                }
                shares[depth as usize] += weight;
            }
            shares
        }
        other => (0..=MAX_DEPTH)
            .map(|d| other.at_most((d + 1) as f64) - other.at_most(d as f64))
            .collect(),
    };
    let total: f64 = shares.iter().sum();
    if total <= 1e-6 {
        return Err(format!("expected depths up to {MAX_DEPTH}"));
    }
    for share in &mut shares {
        *share /= total;
    }
    let used = shares.iter().rposition(|&s| s > 1e-6).unwrap_or(0);
    shares.truncate(used + 1);
    Ok(shares)
}

/// Ticks, each a create or a delete, that a stable number of `files` needs to get the ages asked for, those that
/// made the files included: `ages` are how old at most, as a share of the period, and the share of files, youngest
/// first. After Geriatrix: each bucket must see twice as many ticks as it keeps files, and the last one the fill
/// too.
pub fn turnover_ticks(ages: &[(f64, f64)], files: u64) -> u64 {
    let k = files as f64;
    let mut ticks = 0.0_f64;
    let mut from = 0.0;
    let mut last_width = 1.0;
    for (i, &(upto, share)) in ages.iter().enumerate() {
        let width = upto - from;
        let needed = if i + 1 < ages.len() {
            2.0 * k * share / width
        } else {
            last_width = width;
            (2.0 * k * (share - 1.0) + k) / width
        };
        ticks = ticks.max(needed);
        from = upto;
    }
    if last_width * ticks <= k {
        ticks = k / last_width;
    }
    ticks as u64
}

fn within(key: &str, value: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{key} = {value}: expected {least} to {most}"))
}
