//! Where a sector lies: from its address to cylinder, head and angle.
//!
//! Addresses run along a track, then through the heads, then to the next cylinder, from the outer edge inward. Skews
//! turn every track against the one before, so that the next sector has not passed when the head is there. Tracks and
//! sectors that were bad at the factory are slipped: they have no address, and everything behind them moves on.

use crate::drive::{Drive, Sparing, Zone};

/// Where a sector lies, and how many follow it without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub cylinder: u32,
    pub head: u32,
    /// Position on the track, in sectors from angle 0.
    pub position: u32,
    pub per_track: u32,
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
    per_track: u32,
    /// Sectors of a track that have an address.
    usable: u32,
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
        let mut bands = Vec::new();
        let mut first_lba = 0;
        for zone in &drive.zones {
            let band = Band::new(drive, zone, first_lba);
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
        self.bands[0].per_track
    }

    /// Where a sector lies. The address is below [`AddressMap::sectors`].
    #[inline]
    pub fn locate(&self, lba: u64) -> Place {
        let mut band = usize::from(self.index[(lba >> self.shift) as usize]);
        while lba >= self.bands[band].end_lba {
            band += 1;
        }
        self.bands[band].locate(lba, self.heads, self.serpentine)
    }
}

impl Band {
    fn new(drive: &Drive, zone: &Zone, first_lba: u64) -> Band {
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
            per_track,
            usable: drive.usable_per_track(zone),
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
    fn locate(&self, lba: u64, heads: u32, serpentine: bool) -> Place {
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
        let (mut track, on_track) = divide(sector, self.usable);
        if self.slips_tracks {
            track += self.slips.partition_point(|&slip| slip <= track) as u64;
        }
        let (cylinder, order) = divide(track, heads);
        // The position, with the skew that has added up.
        let skewed = u64::from(on_track + self.offset)
            + cylinder * u64::from(self.cylinder_turn)
            + u64::from(order) * u64::from(self.track_skew);
        let cylinder = cylinder as u32;
        let backwards = serpentine && cylinder % 2 == 1;
        Place {
            cylinder: self.first_cylinder + cylinder,
            head: if backwards { heads - 1 - order } else { order },
            position: divide(skewed, self.per_track).1,
            per_track: self.per_track,
            run: run.min(u64::from(self.usable - on_track)) as u32,
        }
    }
}

/// Quotient and remainder; nearly always in 32 bits, where a division takes half the time.
#[inline]
fn divide(value: u64, by: u32) -> (u64, u32) {
    if let Ok(short) = u32::try_from(value) {
        (u64::from(short / by), short % by)
    } else {
        let by = u64::from(by);
        (value / by, (value % by) as u32)
    }
}
