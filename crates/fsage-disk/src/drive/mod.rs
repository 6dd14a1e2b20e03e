//! The description of a disk: what its TOML file says, checked.

mod check;
mod key;
mod options;

pub use options::{OPTIONS, OptionError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// A disk. The fields are the keys of the TOML file. Times are in milliseconds, addresses and lengths in sectors of
/// 512 bytes, cylinders and zones count from the outer edge.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// What it is called.
    pub name: String,
    /// Where it was used or measured.
    pub used_in: String,
    /// The preset of the machine that it is benchmarked under where none is named.
    #[serde(default)]
    pub host: Option<String>,
    /// Revolutions a minute.
    pub rpm: u32,
    /// Cylinders, spare ones included.
    pub cylinders: u32,
    /// Heads, which is tracks a cylinder.
    pub heads: u32,
    /// Sectors that have an address; all of the zones if absent.
    #[serde(default)]
    pub sectors: Option<u64>,
    /// The part of the disk that a file system gets; all of it if absent.
    #[serde(default)]
    pub partition: Option<Partition>,
    /// Time to another head on the same cylinder.
    pub head_switch_ms: f64,
    /// Added to every movement before a write. Negative where a measured seek curve is one of writes.
    pub write_settle_ms: f64,
    /// Time of arm moves by distance.
    pub seek: Seek,
    /// Time of a command, by what it is.
    pub overhead_ms: Overheads,
    /// The way to the host.
    pub bus: Bus,
    /// The buffer of the drive.
    pub buffer: Buffer,
    /// Heads run backwards on every odd cylinder of a zone.
    #[serde(default)]
    pub serpentine: bool,
    /// Where spares lie, and what slips.
    #[serde(default)]
    pub sparing: Sparing,
    /// Zones, from the outer edge inward.
    pub zones: Vec<Zone>,
    /// Where each value comes from, by group of keys.
    #[serde(default)]
    pub source: BTreeMap<String, String>,
}

/// A part of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// First sector.
    pub first_sector: u64,
    /// Sectors.
    pub sectors: u64,
}

/// Time of an arm move over a distance `d` in cylinders.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Seek {
    /// Lee and Katz: `one + a*sqrt(d-1) + b*(d-1)`, with `a` and `b` such that average and maximum come out.
    ThreePoints {
        /// To the next cylinder.
        one_ms: f64,
        /// Mean over random pairs of cylinders.
        average_ms: f64,
        /// From the first cylinder to the last.
        max_ms: f64,
    },
    /// Ruemmler and Wilkes: `p + q*sqrt(d)` below the cut, `r + s*d` from there on.
    TwoPieces {
        /// Times of the first distances, 1 and up, where they were measured one by one.
        #[serde(default)]
        first_ms: Vec<f64>,
        /// Where the second piece begins, in cylinders.
        cut: u32,
        /// Constant of the first piece.
        p_ms: f64,
        /// Times the root of the distance.
        q_ms: f64,
        /// Constant of the second piece.
        r_ms: f64,
        /// Times the distance.
        s_ms: f64,
        /// The curve was measured, and falls here and there by the noise of the measurement.
        #[serde(default)]
        may_fall: bool,
    },
    /// Linear between points, constant behind the last.
    Table {
        /// Distance in cylinders, time in milliseconds.
        points: Vec<(u32, f64)>,
        /// The curve was measured, and falls here and there by the noise of the measurement.
        #[serde(default)]
        may_fall: bool,
    },
}

/// Time of a command before anything moves.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Overheads {
    /// A read of which the start is in the buffer.
    pub read_hit: f64,
    /// Any other read.
    pub read_miss: f64,
    /// A write.
    pub write: f64,
}

/// The way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Time of a sector to the host.
    pub read_ms_per_sector: f64,
    /// Time of a sector from the host.
    pub write_ms_per_sector: f64,
    /// Share of a write that must have come before its first sector may be written, so that a bus slower than the
    /// media does not run out of data. If absent, what the two rates demand, and a twentieth more.
    #[serde(default)]
    pub write_gate: Option<f64>,
}

/// The buffer of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Segments; one of them belongs to the stream that is read ahead.
    pub segments: u32,
    /// Sectors of a segment.
    pub segment_sectors: u32,
    /// Share of a read that must be in the buffer before the bus starts.
    #[serde(default)]
    pub read_watermark: f64,
    /// Share of a write that must be in the buffer before the media start, unless it goes on where the last one
    /// ended.
    #[serde(default)]
    pub write_watermark: f64,
    /// Reads start with whichever wanted sector comes first.
    #[serde(default)]
    pub zero_latency_read: bool,
    /// Writes do.
    #[serde(default)]
    pub zero_latency_write: bool,
    /// Sectors of the buffer that are a write cache: a write is complete when it is there. 0: there is none.
    #[serde(default)]
    pub write_cache_sectors: u32,
}

impl Buffer {
    /// Sectors of the whole buffer.
    pub fn sectors(&self) -> u32 {
        self.segments.saturating_mul(self.segment_sectors)
    }

    /// Segments for reading, at least one: those that the write cache leaves.
    pub(crate) fn read_segments(&self) -> u32 {
        let taken = self.write_cache_sectors.div_ceil(self.segment_sectors);
        self.segments.saturating_sub(taken).max(1)
    }
}

/// Where spares lie, and what slips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Sparing {
    /// Nowhere.
    #[default]
    None,
    /// Whole tracks at the end of a zone; slips are tracks of the zone.
    Tracks,
    /// The last sectors of every track; nothing slips.
    TrackEnds,
    /// Sectors at the end of the zone or the disk; slips are sectors of the zone.
    Sectors,
    /// Sectors at the end of every range of so many cylinders; slips are sectors of the zone.
    CylinderRanges {
        /// Cylinders of a range.
        cylinders: u32,
    },
}

/// Cylinders with as many sectors on every track.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// First and last cylinder.
    pub cylinders: (u32, u32),
    /// Sectors of a track.
    pub sectors_per_track: u32,
    /// How far a track is turned against the one before, in sectors. If absent: what a head switch and the settling of
    /// a write need, and 0.1 ms.
    #[serde(default)]
    pub track_skew: Option<u32>,
    /// The same from the last track of a cylinder to the first of the next.
    #[serde(default)]
    pub cylinder_skew: Option<u32>,
    /// Sectors that have an address; all but the spares if absent.
    #[serde(default)]
    pub sectors: Option<u64>,
    /// How far all its tracks are turned, in sectors.
    #[serde(default)]
    pub offset_sectors: u32,
    /// Sectors at its start without an address.
    #[serde(default)]
    pub front_empty_sectors: u32,
    /// Spare tracks of the zone, or spare sectors of a track, of a range of cylinders, of the zone.
    #[serde(default)]
    pub spares: u32,
    /// What was bad at the factory: tracks or sectors of the zone, ascending.
    #[serde(default)]
    pub slips: Vec<u64>,
}

/// What is wrong with the description of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DriveError {
    /// It is not TOML, or a key is unknown or missing or of the wrong kind.
    #[error("{file}:{line}: {message}")]
    Form {
        /// The file, or the name of the preset.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong: with the key of a value of the wrong kind, and for an unknown key the known ones.
        message: String,
    },
    /// A value is out of range, or does not fit the others.
    #[error("{file}: {key}: {message}")]
    Value {
        /// The file, or the name of the preset.
        file: String,
        /// The key, with the table that it stands in.
        key: String,
        /// What was expected.
        message: String,
    },
}

/// Reads TOML, and names the line of what is wrong with its form, or the key of what `check` finds.
pub(crate) fn parse_checked<T: DeserializeOwned>(
    file: &str,
    text: &str,
    check: impl FnOnce(&T) -> Result<(), (String, String)>,
) -> Result<T, DriveError> {
    let drive = toml::from_str(text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        let key = key::of_value(text, &span).map_or(String::new(), |key| format!("{key}: "));
        let before = text.bytes().take(span.start);
        DriveError::Form {
            file: file.to_owned(),
            line: 1 + before.filter(|&b| b == b'\n').count(),
            message: format!("{key}{}", e.message().replace('\n', "; ")),
        }
    })?;
    check(&drive).map_err(|(key, message)| DriveError::Value {
        file: file.to_owned(),
        key,
        message,
    })?;
    Ok(drive)
}

impl Drive {
    /// The preset of that name: see [`crate::presets`].
    pub fn preset(name: &str) -> Option<Drive> {
        let text = crate::presets::toml_of(name)?;
        Some(Drive::parse(name, text).expect("a preset that a test reads"))
    }

    /// Reads TOML; `file` is its name in messages.
    ///
    /// # Errors
    /// What is not TOML, an unknown key or one that is missing, a value out of range, a drive that cannot be: with the
    /// line or the key.
    pub fn parse(file: &str, text: &str) -> Result<Drive, DriveError> {
        parse_checked(file, text, Drive::check)
    }

    /// Capacity in sectors.
    pub fn usable_sectors(&self) -> u64 {
        let zones = self.zones.iter().map(|zone| self.zone_sectors(zone)).sum();
        self.sectors.unwrap_or(zones)
    }

    /// Time of one revolution, in milliseconds.
    pub fn revolution_ms(&self) -> f64 {
        60_000.0 / f64::from(self.rpm)
    }

    /// Track skew and cylinder skew of a zone, in sectors.
    pub fn skews(&self, zone: &Zone) -> (u32, u32) {
        let per_track = f64::from(zone.sectors_per_track);
        let sectors = |ms: f64| {
            let settled = (ms + self.write_settle_ms).max(0.0) + 0.1;
            (settled / self.revolution_ms() * per_track).ceil() as u32 % zone.sectors_per_track
        };
        let switch = self.head_switch_ms;
        (
            zone.track_skew.unwrap_or_else(|| sectors(switch)),
            zone.cylinder_skew
                .unwrap_or_else(|| sectors(switch.max(self.seek.first_ms()))),
        )
    }

    /// Sectors of a zone that have an address.
    pub(crate) fn zone_sectors(&self, zone: &Zone) -> u64 {
        zone.sectors.unwrap_or_else(|| self.most_sectors(zone))
    }

    /// Sectors of a track that have an address.
    pub(crate) fn usable_per_track(&self, zone: &Zone) -> u32 {
        match self.sparing {
            Sparing::TrackEnds => zone.sectors_per_track.saturating_sub(zone.spares),
            _ => zone.sectors_per_track,
        }
    }

    /// Sectors that a zone has room for, behind its empty front and without its spares.
    fn most_sectors(&self, zone: &Zone) -> u64 {
        let cylinders = u64::from(zone.cylinders.1 - zone.cylinders.0) + 1;
        let tracks = cylinders * u64::from(self.heads);
        let per_track = u64::from(zone.sectors_per_track);
        let spares = u64::from(zone.spares);
        let room = match self.sparing {
            Sparing::None => tracks * per_track,
            Sparing::Tracks => tracks.saturating_sub(spares) * per_track,
            Sparing::TrackEnds => tracks * per_track.saturating_sub(spares),
            Sparing::Sectors => (tracks * per_track)
                .saturating_sub(spares)
                .saturating_sub(zone.slips.len() as u64),
            Sparing::CylinderRanges { cylinders: range } => {
                let ranges = cylinders.div_ceil(u64::from(range.max(1)));
                (tracks * per_track)
                    .saturating_sub(ranges * spares)
                    .saturating_sub(zone.slips.len() as u64)
            }
        };
        room.saturating_sub(u64::from(zone.front_empty_sectors))
    }
}

impl Seek {
    /// Time to the next cylinder.
    fn first_ms(&self) -> f64 {
        match self {
            Seek::ThreePoints { one_ms, .. } => *one_ms,
            Seek::TwoPieces {
                first_ms,
                p_ms,
                q_ms,
                ..
            } => first_ms.first().copied().unwrap_or(p_ms + q_ms),
            Seek::Table { points, .. } => points.first().map_or(0.0, |point| point.1),
        }
    }
}
