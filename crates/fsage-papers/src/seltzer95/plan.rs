//! What is run for the paper, as `run.toml` says it.

use crate::paper::{Bytes, Sequential, is_default};
use fsage_bench::benchmarks::tpcb::point::Starts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A log beside an FFS, and what age does to an FFS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logging {
    /// What the disk moves, in MB/s (10^6 bytes): shares of the bandwidth are of this.
    pub bandwidth_mb_per_s: f64,
    /// Many small files.
    pub small_files: SmallFiles,
    /// One large file in five passes.
    pub large_file: OneFile,
    /// The system that the log is validated against.
    pub sprite: Sprite,
    /// Files of one size each.
    pub by_size: Sequential,
    /// The database.
    pub database: Database,
    /// File systems of which only the free map is aged.
    pub fragmentation: Fragmentation,
}

/// Many small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallFiles {
    /// How many.
    pub files: u64,
    /// Size of each.
    pub size: Bytes,
}

/// One large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneFile {
    /// Its size.
    pub size: Bytes,
    /// Bytes of a call.
    pub unit: Bytes,
}

/// Sprite's log and the FFS of `SunOS`, on a machine and a disk of their own, and what their speeds are scaled by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sprite {
    /// The disk of both.
    pub device: String,
    /// The host of the log.
    pub lfs_host: String,
    /// The host of the FFS.
    pub ffs_host: String,
    /// What the disk moves, in MB/s (10^6 bytes).
    pub bandwidth_mb_per_s: f64,
    /// Scale of what the processor limits.
    pub processor: f64,
    /// Scale of what the bandwidth limits.
    pub bandwidth: f64,
    /// Scale of what accesses limit.
    pub accesses: f64,
}

/// The database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// How full the disk is, in percent, ascending.
    pub utilization_percent: Vec<u64>,
    /// Transactions that count.
    pub transactions: u64,
    /// Which segments are cleaned: a policy of the LFS.
    pub cleaner: String,
    /// When the clock starts on the log that is cleaned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub starts: Starts,
    /// Keys of the log with other values, as behind `lfs:`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub log: String,
}

/// File systems of which only the free map is aged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fragmentation {
    /// Preset of the disk.
    pub device: String,
    /// Preset of the host.
    pub host: String,
    /// The file systems: each is a target, and the preset of a workload of the same name.
    pub file_systems: Vec<FileSystem>,
    /// When the free maps are taken, from the first to the last.
    pub dates: Vec<Date>,
    /// What is created and read then.
    pub sequential: Sequential,
    /// Days of every workload, if not those of its preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
}

/// A file system of the study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    /// Its name.
    pub name: String,
    /// How old it is on the day to which dates are counted, in days.
    pub age_days: u64,
    /// Dates on which it was looked at on another day than the others: days until the day for which ages are given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_days: BTreeMap<String, u64>,
}

/// A date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Date {
    /// Its name.
    pub name: String,
    /// Days until the day for which ages are given.
    pub days_before: u64,
}

impl Logging {
    /// A quick look: so many days of every workload, and the database on the emptiest disk only.
    pub fn set_days(&mut self, days: u64) {
        self.fragmentation.days = Some(days);
        self.database.utilization_percent.truncate(1);
    }
}

impl Fragmentation {
    /// The workloads, in a sentence that names `seed`.
    pub fn workload_text(&self, seed: u64) -> String {
        let names: Vec<&str> = self.file_systems.iter().map(|fs| &*fs.name).collect();
        let days = match self.days {
            Some(days) => format!(", {days} days of each"),
            None => String::new(),
        };
        format!(
            "Free maps: disk {}, host {}; workloads {} with seed {seed}{days}, synthetic, and not what happened on the \
             authors' file systems.",
            self.device,
            self.host,
            names.join(", ")
        )
    }
}

impl FileSystem {
    /// The day of a workload of so many days that stands for a date, at least the first. Workloads may be shorter than
    /// the life of a file system: a date is the same share of both.
    pub fn day(&self, days: u64, date: &Date) -> u64 {
        let lived = self.lived(date);
        (days * lived / self.age_days.max(1)).max(1)
    }

    /// Its age at a date, in months of 365.25 / 12 days.
    pub fn months(&self, date: &Date) -> f64 {
        self.lived(date) as f64 * 12.0 / 365.25
    }

    /// How old it is on a date, in days.
    fn lived(&self, date: &Date) -> u64 {
        let before = self.other_days.get(&date.name).unwrap_or(&date.days_before);
        self.age_days.saturating_sub(*before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_same_share_of_a_shorter_workload() {
        let fs = FileSystem {
            name: "cnews".into(),
            age_days: 944,
            other_days: BTreeMap::from([("October".to_owned(), 300)]),
        };
        let date = |days_before| Date {
            name: String::new(),
            days_before,
        };
        // 944 - 304 = 640 days; an eighth of 944 is 118, of 640 it is 80.
        assert_eq!(fs.day(944, &date(304)), 640);
        assert_eq!(fs.day(118, &date(304)), 80);
        assert_eq!(fs.day(1, &date(304)), 1);
        assert_eq!(fs.day(118, &date(2000)), 1);
        assert!((fs.months(&date(304)) - 21.03).abs() < 0.01);
        let october = Date {
            name: "October".to_owned(),
            days_before: 304,
        };
        assert_eq!(fs.day(944, &october), 644, "its own day");
    }
}
