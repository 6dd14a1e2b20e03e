//! What a drive must be. A violation names the key, with the table that it stands in, and what was expected.

use super::{Drive, Seek, Sparing, Zone};
use crate::device::MAX_REQUEST_SECTORS;
use crate::rotating::{AddressMap, seek_table_ns};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Key and message.
type Wrong = (String, String);

/// Any time of a drive, in milliseconds.
const TIMES_MS: RangeInclusive<f64> = 0.0..=1000.0;
/// The same where it may be negative.
const SIGNED_MS: RangeInclusive<f64> = -1000.0..=1000.0;
/// A sector on the bus: 512 TB/s to 512 bytes/s.
const BUS_MS: RangeInclusive<f64> = 1e-9..=1000.0;
/// A share of something.
const SHARES: RangeInclusive<f64> = 0.0..=1.0;

/// Largest disk, in sectors (512 TB): the arithmetic of the address map is exact far beyond it.
const MOST_SECTORS: u64 = 1 << 40;

fn wrong<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, Wrong> {
    Err((key.into(), message.into()))
}

fn within<T: PartialOrd + Display + Copy>(
    key: impl Into<String>,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), Wrong> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = range.into_inner();
    wrong(key, format!("expected {low} to {high}, found {value}"))
}

impl Drive {
    /// Checks values and how they fit together.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for (key, text) in [("name", &self.name), ("used_in", &self.used_in)] {
            if text.lines().count() != 1 {
                return wrong(key, "expected one line");
            }
        }
        within("rpm", self.rpm, 100..=300_000)?;
        within("cylinders", self.cylinders, 1..=10_000_000)?;
        within("heads", self.heads, 1..=1000)?;
        within("head_switch_ms", self.head_switch_ms, TIMES_MS)?;
        within("write_settle_ms", self.write_settle_ms, SIGNED_MS)?;
        self.check_transfer()?;
        self.check_seek()?;
        self.check_zones()?;
        self.check_capacity()
    }

    fn check_transfer(&self) -> Result<(), Wrong> {
        let overhead = self.overhead_ms;
        within("overhead_ms.read_hit", overhead.read_hit, TIMES_MS)?;
        within("overhead_ms.read_miss", overhead.read_miss, TIMES_MS)?;
        within("overhead_ms.write", overhead.write, TIMES_MS)?;
        let bus = self.bus;
        within("bus.read_ms_per_sector", bus.read_ms_per_sector, BUS_MS)?;
        within("bus.write_ms_per_sector", bus.write_ms_per_sector, BUS_MS)?;
        within("bus.write_gate", bus.write_gate.unwrap_or(0.0), SHARES)?;
        let buffer = self.buffer;
        within("buffer.segments", buffer.segments, 1..=1024)?;
        within(
            "buffer.segment_sectors",
            buffer.segment_sectors,
            1..=MAX_REQUEST_SECTORS,
        )?;
        within("buffer.read_watermark", buffer.read_watermark, SHARES)?;
        within("buffer.write_watermark", buffer.write_watermark, SHARES)?;
        let most = buffer.sectors();
        let cache = buffer.write_cache_sectors;
        within("buffer.write_cache_sectors", cache, 0..=most)
    }

    fn check_seek(&self) -> Result<(), Wrong> {
        let may_fall = match &self.seek {
            Seek::ThreePoints {
                one_ms,
                average_ms,
                max_ms,
            } => {
                check_three_points(*one_ms, *average_ms, *max_ms)?;
                false
            }
            Seek::TwoPieces {
                first_ms,
                cut: _,
                p_ms,
                q_ms,
                r_ms,
                s_ms,
                may_fall,
            } => {
                for ms in first_ms {
                    within("seek.two_pieces.first_ms", *ms, TIMES_MS)?;
                }
                within("seek.two_pieces.p_ms", *p_ms, SIGNED_MS)?;
                within("seek.two_pieces.q_ms", *q_ms, SIGNED_MS)?;
                within("seek.two_pieces.r_ms", *r_ms, SIGNED_MS)?;
                within("seek.two_pieces.s_ms", *s_ms, SIGNED_MS)?;
                *may_fall
            }
            Seek::Table { points, may_fall } => {
                let key = "seek.table.points";
                if points.first().is_none_or(|point| point.0 == 0) {
                    return wrong(key, "expected at least one point, distances from 1 up");
                }
                if let Some(pair) = points.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
                    let message = format!("expected a distance above {}", pair[0].0);
                    return wrong(key, format!("{message}, found {}", pair[1].0));
                }
                for point in points {
                    within(key, point.1, TIMES_MS)?;
                }
                *may_fall
            }
        };
        let table = seek_table_ns(&self.seek, self.cylinders);
        if let Some(&longest) = table.iter().max() {
            within("seek", f64::from(longest) / 1e6, TIMES_MS)?;
        }
        let fall = table.windows(2).position(|pair| pair[0] > pair[1]);
        match fall {
            Some(distance) if !may_fall => wrong(
                self.seek.key(),
                format!(
                    "the curve falls from {distance} to {} cylinders; where it was measured with noise, \
                     say `may_fall = true`",
                    distance + 1
                ),
            ),
            _ => Ok(()),
        }
    }

    fn check_zones(&self) -> Result<(), Wrong> {
        within("zones", self.zones.len(), 1..=255)?;
        let mut next_cylinder = 0;
        for (i, zone) in self.zones.iter().enumerate() {
            self.check_zone(zone, next_cylinder)
                .map_err(|(key, message)| (format!("zones[{i}].{key}"), message))?;
            next_cylinder = zone.cylinders.1 + 1;
        }
        Ok(())
    }

    fn check_zone(&self, zone: &Zone, next_cylinder: u32) -> Result<(), Wrong> {
        let (first, last) = zone.cylinders;
        if first < next_cylinder || last < first || last >= self.cylinders {
            let most = self.cylinders - 1;
            let expected = format!("expected first and last, from {next_cylinder} to {most}");
            return wrong("cylinders", format!("{expected}, found {first} and {last}"));
        }
        within("sectors_per_track", zone.sectors_per_track, 1..=100_000)?;
        let most_skew = zone.sectors_per_track - 1;
        within("track_skew", zone.track_skew.unwrap_or(0), 0..=most_skew)?;
        within(
            "cylinder_skew",
            zone.cylinder_skew.unwrap_or(0),
            0..=most_skew,
        )?;
        within("offset_sectors", zone.offset_sectors, 0..=most_skew)?;
        let most_spares = match self.sparing {
            Sparing::None => 0,
            Sparing::TrackEnds => most_skew,
            Sparing::CylinderRanges { cylinders } => {
                within("cylinders", cylinders, 1..=self.cylinders)
                    .map_err(|(_, message)| ("sparing.cylinders".into(), message))?;
                let range = u64::from(cylinders) * u64::from(self.heads);
                let range = range * u64::from(zone.sectors_per_track) - 1;
                u32::try_from(range).unwrap_or(u32::MAX)
            }
            Sparing::Tracks | Sparing::Sectors => u32::MAX,
        };
        within("spares", zone.spares, 0..=most_spares)?;
        let slips = matches!(self.sparing, Sparing::None | Sparing::TrackEnds);
        if slips && !zone.slips.is_empty() {
            return wrong("slips", "nothing slips under this sparing");
        }
        if zone.slips.windows(2).any(|pair| pair[0] >= pair[1]) {
            return wrong("slips", "expected ascending numbers");
        }
        let cylinders = u64::from(last - first) + 1;
        let all = cylinders * u64::from(self.heads) * u64::from(zone.sectors_per_track);
        within("sectors", self.zone_sectors(zone), 1..=all)?;
        within(
            "front_empty_sectors",
            u64::from(zone.front_empty_sectors),
            0..=all,
        )
    }

    fn check_capacity(&self) -> Result<(), Wrong> {
        let all = self.zones.iter().map(|zone| self.zone_sectors(zone)).sum();
        within("sectors", self.usable_sectors(), 1..=all)?;
        if all > MOST_SECTORS {
            let message = format!("expected at most {MOST_SECTORS} sectors in all, found {all}");
            return wrong("zones", message);
        }
        let whole = Drive {
            sectors: None,
            ..self.clone()
        };
        let map = AddressMap::new(&whole);
        let mut end = 0;
        for (i, zone) in self.zones.iter().enumerate() {
            end += self.zone_sectors(zone);
            let last = map.locate(end - 1);
            if last.cylinder > zone.cylinders.1 {
                let message = format!(
                    "{} sectors do not fit: the last would be on cylinder {}, and the zone ends with {}",
                    self.zone_sectors(zone),
                    last.cylinder,
                    zone.cylinders.1
                );
                return wrong(format!("zones[{i}].sectors"), message);
            }
        }
        if let Some(partition) = self.partition {
            let most = self.usable_sectors();
            within(
                "partition.first_sector",
                partition.first_sector,
                0..=most - 1,
            )?;
            let most = most - partition.first_sector;
            within("partition.sectors", partition.sectors, 1..=most)?;
        }
        Ok(())
    }
}

impl Seek {
    /// The key of the table that holds the curve.
    fn key(&self) -> &'static str {
        match self {
            Seek::ThreePoints { .. } => "seek.three_points",
            Seek::TwoPieces { .. } => "seek.two_pieces",
            Seek::Table { .. } => "seek.table.points",
        }
    }
}

/// The form exists for some triples only: others would make the curve fall.
fn check_three_points(one: f64, average: f64, max: f64) -> Result<(), Wrong> {
    within("seek.three_points.one_ms", one, TIMES_MS)?;
    within("seek.three_points.average_ms", average, TIMES_MS)?;
    within("seek.three_points.max_ms", max, TIMES_MS)?;
    if max < one {
        return wrong(
            "seek.three_points.max_ms",
            format!("expected at least one_ms, which is {one}, found {max}"),
        );
    }
    let least = (10.0 * one + 5.0 * max) / 15.0;
    let most = (7.0 * one + 8.0 * max) / 15.0;
    // The limits themselves are allowed, whatever the last bit of a product is.
    let room = 1e-9 * max;
    if (least - room..=most + room).contains(&average) {
        return Ok(());
    }
    wrong(
        "seek.three_points.average_ms",
        format!(
            "a curve through {one} ms to the next cylinder and {max} ms over all of them rises only if its average is \
             {least:.3} to {most:.3} ms, found {average}; correct one of the three or give a table"
        ),
    )
}
