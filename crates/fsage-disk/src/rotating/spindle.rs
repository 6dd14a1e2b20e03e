//! Rotation, exact and without drift: 60 seconds hold a whole number of revolutions.

use super::divisor::Divisor;

/// Parts of a revolution: with as many parts as a minute has nanoseconds, the disk turns `rpm` parts a nanosecond.
pub const REVOLUTION: u64 = 60_000_000_000;

/// The spindle.
#[derive(Clone, Copy, Debug)]
pub struct Spindle {
    rpm: u64,
    by_rpm: Divisor,
    /// Angle at time 0.
    start: u64,
}

/// Binary digits behind the point of a sector's angle and time.
const ANGLE_DIGITS: u32 = 10;
const TIME_DIGITS: u32 = 20;

/// How a track is divided: angle and time of a sector, with digits behind the point, so that many sectors together
/// come out right without a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    pub sectors: u32,
    angle: u64,
    time: u64,
}

impl Track {
    /// Time that some of its sectors take, in nanoseconds.
    #[inline]
    pub fn sectors_ns(self, sectors: u32) -> u64 {
        (u64::from(sectors) * self.time) >> TIME_DIGITS
    }

    /// Whole sectors that pass in a time shorter than a revolution.
    pub fn whole_sectors(self, time_ns: u64) -> u32 {
        ((time_ns << TIME_DIGITS) / self.time) as u32
    }

    /// The angle at which a sector starts.
    #[inline]
    fn angle(self, position: u32) -> u64 {
        (u64::from(position) * self.angle) >> ANGLE_DIGITS
    }
}

impl Spindle {
    pub fn new(rpm: u32) -> Spindle {
        Spindle {
            rpm: u64::from(rpm),
            by_rpm: Divisor::new(rpm),
            start: 0,
        }
    }

    /// The angle at time 0, in parts of a revolution.
    pub fn set_start(&mut self, angle: u64) {
        self.start = angle % REVOLUTION;
    }

    /// A track of so many sectors.
    pub fn track(self, sectors: u32) -> Track {
        let parts = u64::from(sectors);
        let time = (u128::from(REVOLUTION) << TIME_DIGITS) / u128::from(self.rpm * parts);
        Track {
            sectors,
            angle: (REVOLUTION << ANGLE_DIGITS) / parts,
            time: time as u64,
        }
    }

    #[inline]
    fn phase(self, at_ns: u64) -> u64 {
        ((at_ns % REVOLUTION) * self.rpm + self.start) % REVOLUTION
    }

    /// Time until the start of a sector comes round. A sector that has passed by less than a millionth of a
    /// revolution is just there: times are whole nanoseconds.
    #[inline]
    pub fn wait_ns(self, at_ns: u64, track: Track, position: u32) -> u64 {
        let ahead = track.angle(position) + REVOLUTION - self.phase(at_ns);
        let ahead = if ahead >= REVOLUTION {
            ahead - REVOLUTION
        } else {
            ahead
        };
        if ahead > REVOLUTION - REVOLUTION / 1_000_000 {
            0
        } else {
            self.by_rpm.rounded_up(ahead)
        }
    }

    /// Where the head is between the sectors of a track: the sector whose start comes next, and the time until then.
    pub fn next_sector(self, at_ns: u64, track: Track) -> (u32, u64) {
        let passed = self.phase(at_ns) * u64::from(track.sectors);
        let next = (passed.div_ceil(REVOLUTION) % u64::from(track.sectors)) as u32;
        (next, self.wait_ns(at_ns, track, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revolution_is_a_revolution_years_later() {
        let spindle = Spindle::new(5411);
        let track = spindle.track(128);
        // 10 years are a whole number of minutes.
        let years = 10 * 365 * 86_400 * 1_000_000_000;
        for at in [0, 1, 11_088_523, 59_999_999_999] {
            let now = spindle.wait_ns(at, track, 77);
            assert_eq!(now, spindle.wait_ns(years + at, track, 77));
        }
    }

    #[test]
    fn waits_are_those_of_the_worked_example() {
        // Phase 0.088707 at 12.072152 ms, sector position 76 of 128: 5.600182 ms (5411 revolutions a minute).
        let spindle = Spindle::new(5411);
        let track = spindle.track(128);
        let wait = spindle.wait_ns(12_072_152, track, 76);
        assert!(wait.abs_diff(5_600_182) <= 2, "{wait}");
        assert!(track.sectors_ns(128).abs_diff(11_088_523) <= 1);
        // At the end of 20 sectors the next one is just there.
        let at = 12_072_152 + wait;
        assert!(spindle.wait_ns(at + track.sectors_ns(20), track, 96) <= 1);
    }

    #[test]
    fn a_sector_that_has_just_passed_is_there() {
        let spindle = Spindle::new(6000);
        let track = spindle.track(100);
        assert_eq!(spindle.wait_ns(5, track, 0), 0);
        assert_eq!(spindle.wait_ns(20, track, 0), 10_000_000 - 20);
        assert_eq!(spindle.next_sector(150_000, track), (2, 50_000));
        assert_eq!(spindle.next_sector(9_950_000, track), (0, 50_000));
    }
}
