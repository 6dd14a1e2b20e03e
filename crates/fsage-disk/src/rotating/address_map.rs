//! Where a sector lies: from its address to cylinder, head and angle.
//!
//! Addresses run along a track, then through the heads, then to the next cylinder, from the outer edge inward. Skews
//! turn every track against the one before, so that the next sector has not passed when the head is there. Tracks and
//! sectors that were bad at the factory are slipped: they have no address, and everything behind them moves on.

use super::divisor::Divisor;
use super::spindle::{Spindle, Track};
use crate::drive::{Drive, Sparing, Zone};

/// Where a sector lies, and how many follow it without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub cylinder: u32,
    pub head: u32,
    /// Position on the track, in sectors from angle 0.
    pub position: u32,
    pub track: Track,
    /// Sectors from this one on that pass below the head one after the other.
    pub run: u32,
}

/// One zone, ready for arithmetic.
#[derive(Clone, Debug)]
struct Band {
    /// First address, and the one behind the last.
    first_lba: u64,
    end_lba: u64,
    first_cylinder: u32,
    track: Track,
    by_track: Divisor,
    /// Sectors of a track that have an address.
    usable: u32,
    by_usable: Divisor,
    track_skew: u32,
    /// How far the first track of a cylinder is turned against the first of the cylinder before.
    cylinder_turn: u32,
    /// Added to every position.
    offset: u32,
    /// Sectors at the start without an address.
    front: u64,
    /// Sectors with an address in every range of cylinders that has spares at its end, and these spares.
    range: Option<(u64, u64)>,
    /// For every slip the first sector, as counted without slips, that it moves on.
    slips: Vec<u64>,
    /// Slips are tracks, not sectors.
    slips_tracks: bool,
}

/// The address map of a drive.
#[derive(Clone, Debug)]
pub struct AddressMap {
    bands: Vec<Band>,
    heads: u32,
    by_heads: Divisor,
    /// Heads run backwards on every other cylinder of a zone.
    serpentine: bool,
    sectors: u64,
    /// For the first address of every stretch of `1 << shift` sectors, its band: nobody searches.
    index: Vec<u8>,
    shift: u32,
}

/// Stretches of the index, at most.
const INDEX_STRETCHES: u64 = 1024;

impl AddressMap {
    /// The map of a drive that was checked.
    pub fn new(drive: &Drive) -> AddressMap {
        let spindle = Spindle::new(drive.rpm);
        let mut bands = Vec::new();
        let mut first_lba = 0;
        for zone in &drive.zones {
            let band = Band::new(drive, zone, spindle, first_lba);
            first_lba = band.end_lba;
            bands.push(band);
        }
        let sectors = drive.usable_sectors();
        let shift = (0..63)
            .find(|shift| sectors >> shift < INDEX_STRETCHES)
            .unwrap_or(63);
        let index = (0..=sectors >> shift)
            .map(|stretch| bands.partition_point(|b| b.end_lba <= stretch << shift) as u8)
            .collect();
        AddressMap {
            bands,
            heads: drive.heads,
            by_heads: Divisor::new(drive.heads),
            serpentine: drive.serpentine,
            sectors,
            index,
            shift,
        }
    }

    /// Sectors that have an address.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Sectors on a track of the outermost zone.
    pub fn outer_track(&self) -> u32 {
        self.bands[0].track.sectors
    }

    /// Where a sector lies. The address is below [`AddressMap::sectors`].
    #[inline]
    pub fn locate(&self, lba: u64) -> Place {
        let mut band = usize::from(self.index[(lba >> self.shift) as usize]);
        while lba >= self.bands[band].end_lba {
            band += 1;
        }
        self.bands[band].locate(lba, self)
    }
}

impl Band {
    fn new(drive: &Drive, zone: &Zone, spindle: Spindle, first_lba: u64) -> Band {
        let (track_skew, cylinder_skew) = drive.skews(zone);
        let per_track = zone.sectors_per_track;
        let heads = u64::from(drive.heads);
        let turn = (heads - 1) * u64::from(track_skew) + u64::from(cylinder_skew);
        let range = match drive.sparing {
            Sparing::CylinderRanges { cylinders } => {
                let range = u64::from(cylinders) * heads * u64::from(per_track);
                Some((range - u64::from(zone.spares), u64::from(zone.spares)))
            }
            _ => None,
        };
        let slips = zone.slips.iter().enumerate();
        Band {
            first_lba,
            end_lba: first_lba + drive.zone_sectors(zone),
            first_cylinder: zone.cylinders.0,
            track: spindle.track(per_track),
            by_track: Divisor::new(per_track),
            usable: drive.usable_per_track(zone),
            by_usable: Divisor::new(drive.usable_per_track(zone)),
            track_skew,
            cylinder_turn: (turn % u64::from(per_track)) as u32,
            offset: zone.offset_sectors % per_track,
            front: u64::from(zone.front_empty_sectors),
            range,
            slips: slips
                .map(|(i, &slip)| slip.saturating_sub(i as u64))
                .collect(),
            slips_tracks: drive.sparing == Sparing::Tracks,
        }
    }

    #[inline]
    fn locate(&self, lba: u64, map: &AddressMap) -> Place {
        let mut sector = lba - self.first_lba + self.front;
        let mut run = u64::MAX;
        if let Some((addressed, spares)) = self.range {
            run = addressed - sector % addressed;
            sector += spares * (sector / addressed);
        }
        if !self.slips.is_empty() && !self.slips_tracks {
            let passed = self.slips.partition_point(|&slip| slip <= sector);
            if let Some(next) = self.slips.get(passed) {
                run = run.min(next - sector);
            }
            sector += passed as u64;
        }
        let (mut track, on_track) = self.by_usable.divide(sector);
        if self.slips_tracks {
            track += self.slips.partition_point(|&slip| slip <= track) as u64;
        }
        let (cylinder, order) = map.by_heads.divide(track);
        // The position, with the skew that has added up.
        let skewed = u64::from(on_track + self.offset)
            + cylinder * u64::from(self.cylinder_turn)
            + u64::from(order) * u64::from(self.track_skew);
        let cylinder = cylinder as u32;
        let backwards = map.serpentine && cylinder % 2 == 1;
        Place {
            cylinder: self.first_cylinder + cylinder,
            head: if backwards {
                map.heads - 1 - order
            } else {
                order
            },
            position: self.by_track.divide(skewed).1,
            track: self.track,
            run: run.min(u64::from(self.usable - on_track)) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_worked_example_lies_where_it_should() {
        // LBA 1313824: third zone, cylinder 1093, head 6, sector 55 of 128, position 76.
        let drive = Drive::preset("st32430n").expect("a preset");
        let place = AddressMap::new(&drive).locate(1_313_824);
        assert_eq!((place.cylinder, place.head), (1093, 6));
        assert_eq!((place.position, place.track.sectors), (76, 128));
        assert_eq!(place.run, 128 - 55);
    }

    /// A disk of 6 cylinders, 3 heads, 10 sectors a track, with some of them spare or bad.
    fn small(sparing: &str, zone: &str) -> AddressMap {
        let text = crate::presets::toml_of("wren4").expect("a preset");
        let (head, tail) = text.split_once("zones = [").expect("zones");
        let (_, tail) = tail.split_once("\n]\n").expect("their end");
        let head = head
            .replace("cylinders = 1546", "cylinders = 6")
            .replace("heads = 9", "heads = 3");
        let zone = format!(
            "{{ cylinders = [0, 5], sectors_per_track = 10, track_skew = 3, cylinder_skew = 4, {zone} }}"
        );
        let text = format!("{head}{sparing}\nzones = [{zone}]\n{tail}");
        AddressMap::new(&Drive::parse("small", &text).unwrap_or_else(|e| panic!("{e}")))
    }

    #[test]
    fn no_two_sectors_share_a_place_and_runs_are_without_interruption() {
        for (sparing, zone, sectors) in [
            ("sparing = \"none\"", "offset_sectors = 7", 180),
            ("serpentine = true", "", 180),
            (
                "sparing = \"tracks\"",
                "spares = 3, slips = [2, 9], front_empty_sectors = 20",
                130,
            ),
            ("sparing = \"track_ends\"", "spares = 1", 162),
            (
                "sparing = \"sectors\"",
                "spares = 5, slips = [0, 9, 10, 77]",
                171,
            ),
            (
                "sparing = { cylinder_ranges = { cylinders = 2 } }",
                "spares = 7, slips = [30, 31]",
                157,
            ),
        ] {
            let map = small(sparing, zone);
            assert_eq!(map.sectors(), sectors, "{sparing}");
            let mut seen = BTreeSet::new();
            for lba in 0..sectors {
                let place = map.locate(lba);
                assert!(place.cylinder < 6 && place.head < 3 && place.position < 10);
                assert!(seen.insert((place.cylinder, place.head, place.position)));
                for i in 1..u64::from(place.run).min(sectors - lba) {
                    let next = map.locate(lba + i);
                    assert_eq!((next.cylinder, next.head), (place.cylinder, place.head));
                    assert_eq!(
                        u64::from(next.position),
                        (u64::from(place.position) + i) % 10
                    );
                }
            }
        }
    }

    #[test]
    fn slips_move_everything_behind_them() {
        // Tracks 2 and 9 are bad: the sector that would begin track 2 begins track 3.
        let map = small("sparing = \"tracks\"", "spares = 3, slips = [2, 9]");
        let place = map.locate(20);
        assert_eq!((place.cylinder, place.head), (1, 0));
        // Sectors 9 and 10 are bad: sector 9 is the second of the next track, which is turned by 3.
        let map = small("sparing = \"sectors\"", "spares = 5, slips = [9, 10]");
        let place = map.locate(9);
        assert_eq!((place.cylinder, place.head, place.position), (0, 1, 4));
        assert_eq!(map.locate(5).run, 4);
    }
}
