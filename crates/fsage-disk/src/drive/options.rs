//! What can be chosen of a drive without another description of it: `st340016a:write-cache=on,partition=25%`.

use super::{Drive, Partition, Seek};
use crate::rotating::seek_table_ns;
use fsage_core::size;
use thiserror::Error;

/// An option, with what it takes and what it does.
pub const OPTIONS: [(&str, &str, &str); 3] = [
    (
        "write-cache",
        "on, off or a size",
        "a write is complete when it is in the buffer; `on` is half of the buffer",
    ),
    (
        "partition",
        "percent",
        "file systems get so much of the disk, from its outer edge on",
    ),
    (
        "scale",
        "a number",
        "the disk has so many times fewer cylinders, and the arm takes as long over the same share of them",
    ),
];

/// What is wrong with an option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{option}`: {message}")]
pub struct OptionError {
    /// The option, with its value.
    pub option: String,
    /// What was expected.
    pub message: String,
}

impl Drive {
    /// The same drive with options, such as `write-cache=on,scale=4`, in any order: it is scaled before anything else.
    ///
    /// # Errors
    /// An option that is unknown, or a value that cannot be.
    pub fn with_options(self, options: &str) -> Result<Drive, OptionError> {
        let mut options: Vec<&str> = options.split(',').collect();
        options.sort_by_key(|option| !option.starts_with("scale="));
        options.into_iter().try_fold(self, |drive, option| {
            drive.with_option(option).map_err(|message| OptionError {
                option: option.to_owned(),
                message,
            })
        })
    }

    fn with_option(mut self, option: &str) -> Result<Drive, String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key {
            "write-cache" => self.buffer.write_cache_sectors = self.write_cache(value)?,
            "partition" => {
                let sectors = self.usable_sectors();
                let percent: Option<u64> = value.strip_suffix('%').and_then(|n| n.parse().ok());
                let percent = percent.filter(|n| (1..=100).contains(n));
                let percent = percent.ok_or("expected 1% to 100%")?;
                self.partition = Some(Partition {
                    first_sector: 0,
                    sectors: (sectors * percent / 100).max(1),
                });
            }
            "scale" => {
                let most = self.zones.iter().map(|z| z.cylinders.1 - z.cylinders.0 + 1);
                let most = most.min().unwrap_or(1);
                let divisor = value.parse().ok().filter(|n| (1..=most).contains(n));
                let divisor = divisor.ok_or_else(|| format!("expected 1 to {most}"))?;
                self.scale(divisor);
            }
            _ => return self.with_field(key, value),
        }
        Ok(self)
    }

    /// The same drive with another value of a key of its TOML file: `rpm=7200`, `overhead_ms.write=0.5`.
    fn with_field(self, key: &str, value: &str) -> Result<Drive, String> {
        let mut all = toml::Table::try_from(&self).map_err(|e| e.to_string())?;
        let line = toml::from_str::<toml::Table>(&format!("{key} = {value}"));
        let value = line.map_err(|_| {
            if all.contains_key(key) {
                return format!("expected a value, as in the TOML file of a drive; found {value}");
            }
            let options = OPTIONS.iter().map(|(key, ..)| *key);
            let keys = all.keys().map(String::as_str);
            let known: Vec<&str> = options.chain(keys).collect();
            format!("no such option of a drive; known: {}", known.join(", "))
        })?;
        lay_over(&mut all, value);
        let drive: Drive = all
            .try_into()
            .map_err(|e: toml::de::Error| e.message().replace('\n', "; "))?;
        drive
            .check()
            .map_err(|(key, why)| format!("{key}: {why}"))?;
        Ok(drive)
    }

    /// Sectors of a write cache.
    fn write_cache(&self, value: &str) -> Result<u32, String> {
        let most = self.buffer.sectors();
        match value {
            "on" => Ok(most / 2),
            "off" => Ok(0),
            _ => {
                let bytes = size::parse(value).ok();
                let sectors = bytes.and_then(|bytes| u32::try_from(bytes / 512).ok());
                sectors
                    .filter(|&n| n <= most)
                    .ok_or_else(|| format!("expected on, off or a size up to {}K", most / 2))
            }
        }
    }

    /// Makes the disk smaller: the same tracks, `divisor` times fewer cylinders in every zone, and an arm that takes
    /// as long over the same share of them. What depends on the numbers of single sectors is dropped.
    fn scale(&mut self, divisor: u32) {
        let seek_ns = seek_table_ns(&self.seek, self.cylinders);
        for zone in &mut self.zones {
            let (first, last) = zone.cylinders;
            zone.cylinders = (first / divisor, (last + 1) / divisor - 1);
            zone.sectors = None;
            zone.slips = Vec::new();
            zone.spares = 0;
            zone.front_empty_sectors = 0;
        }
        self.sparing = super::Sparing::None;
        self.cylinders /= divisor;
        self.sectors = None;
        self.partition = None;
        let distances = 1..self.cylinders.max(2);
        let points = distances.map(|d| {
            // The move to the next cylinder stays one.
            let as_far = if d == 1 { 1 } else { d * divisor };
            let ns = seek_ns.get(as_far as usize).or(seek_ns.last());
            (d, f64::from(ns.copied().unwrap_or_default()) / 1e6)
        });
        self.seek = Seek::Table {
            points: points.collect(),
            may_fall: true,
        };
    }
}

/// Lays values over those of the same keys, table by table.
fn lay_over(below: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(over)) => lay_over(below, over),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, RotatingDisk};

    fn with(options: &str) -> Result<Drive, String> {
        let drive = Drive::preset("st340016a").expect("a preset");
        drive.with_options(options).map_err(|e| e.to_string())
    }

    #[test]
    fn options_have_no_order() {
        let first = with("scale=4,partition=25%").unwrap();
        assert_eq!(
            first.partition,
            with("partition=25%,scale=4").unwrap().partition
        );
        assert!(first.partition.is_some());
    }

    #[test]
    fn options_change_what_they_name() {
        // 16 segments of 256 sectors are 2 MB.
        let cache = |options| with(options).unwrap().buffer.write_cache_sectors;
        assert_eq!(cache("write-cache=on"), 2048);
        assert_eq!(cache("write-cache=512K"), 1024);
        assert_eq!(cache("write-cache=on,write-cache=off"), 0);
        let whole = with("partition=100%").unwrap();
        let quarter = with("partition=25%").unwrap().partition.unwrap();
        assert_eq!(quarter.first_sector, 0);
        assert_eq!(quarter.sectors, whole.usable_sectors() / 4);
    }

    #[test]
    fn every_key_of_a_drive_can_have_another_value() {
        let drive = with("rpm=5400,overhead_ms.write=0.25").unwrap();
        assert_eq!(drive.rpm, 5400);
        assert!((drive.overhead_ms.write - 0.25).abs() < 1e-12);
        assert_eq!(drive.zones, with("scale=1").unwrap().zones);
        let message = |options: &str| with(options).unwrap_err();
        assert!(message("rpn=5400").contains("unknown field `rpn`"));
        assert!(message("rpm=fast").contains("expected a value"));
        assert!(message("rpm=-1").contains("rpm=-1"));
        assert!(message("overhead_ms.copy=1").contains("unknown field `copy`"));
    }

    /// What serde writes of a drive is what it reads.
    #[test]
    fn a_drive_is_the_same_in_toml() {
        for (name, _) in crate::presets::PRESETS {
            let drive = Drive::preset(name).expect("a preset");
            let same = drive.clone().with_options(&format!("rpm={}", drive.rpm));
            assert_eq!(same, Ok(drive), "{name}");
        }
    }

    #[test]
    fn a_smaller_disk_has_the_same_tracks_and_the_same_arm() {
        let (whole, small) = (with("scale=1").unwrap(), with("scale=4").unwrap());
        assert_eq!(small.cylinders, 68_560 / 4);
        assert_eq!(small.zones[15].cylinders, (64_275 / 4, 68_560 / 4 - 1));
        let share = small.usable_sectors() as f64 / whole.usable_sectors() as f64;
        assert!((share - 0.25).abs() < 0.001, "{share}");
        let disks = [whole, small].map(|drive| RotatingDisk::new(&drive));
        // 1.2 ms to the next cylinder, 22 ms over all of them: the drive's own.
        assert_eq!(disks[0].seek_ns(1), disks[1].seek_ns(1));
        let (far, near) = (disks[0].seek_ns(4000), disks[1].seek_ns(1000));
        assert_eq!(far, near);
        assert!(disks[1].seek_ns(100_000).abs_diff(22_000_000) < 2_000);
        let sectors = disks[1].sectors();
        assert_eq!(disks[1].cylinder_of(sectors - 1), 17_139);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let message = |options: &str| with(options).unwrap_err();
        assert!(message("cache=on").contains("known: write-cache, partition, scale"));
        assert!(message("write-cache=4M").contains("up to 2048K"));
        assert!(message("write-cache").contains("`write-cache`: expected on, off"));
        assert!(message("partition=0%").contains("1% to 100%"));
        assert!(message("scale=0").contains("expected 1 to 4285"));
        assert!(message("").contains("no such option"));
    }
}
