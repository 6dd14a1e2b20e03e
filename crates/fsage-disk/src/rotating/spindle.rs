//! Rotation, exact and without drift: 60 seconds hold a whole number of revolutions.

/// Parts of a revolution: with as many parts as a minute has nanoseconds, the disk turns `rpm` parts a nanosecond.
pub const REVOLUTION: u64 = 60_000_000_000;

/// The spindle.
#[derive(Clone, Copy, Debug)]
pub struct Spindle {
    rpm: u64,
    /// Angle at time 0.
    start: u64,
}

impl Spindle {
    pub fn new(rpm: u32) -> Spindle {
        Spindle {
            rpm: u64::from(rpm),
            start: 0,
        }
    }

    /// The angle at time 0, in parts of a revolution.
    pub fn set_start(&mut self, angle: u64) {
        self.start = angle % REVOLUTION;
    }

    /// Time that `sectors` of a track with `per_track` take: one division, so that no rounding adds up.
    #[inline]
    pub fn sectors_ns(self, sectors: u32, per_track: u32) -> u64 {
        u64::from(sectors) * REVOLUTION / (self.rpm * u64::from(per_track))
    }

    /// Whole sectors that pass in a time that is shorter than a few revolutions.
    #[inline]
    pub fn whole_sectors(self, time_ns: u64, per_track: u32) -> u32 {
        (time_ns * self.rpm * u64::from(per_track) / REVOLUTION) as u32
    }

    /// The angle of a position on a track.
    #[inline]
    fn angle(position: u32, per_track: u32) -> u64 {
        u64::from(position) * REVOLUTION / u64::from(per_track)
    }

    #[inline]
    fn phase(self, at_ns: u64) -> u64 {
        ((at_ns % REVOLUTION) * self.rpm + self.start) % REVOLUTION
    }

    /// Time until the start of a sector comes round. A sector that has passed by less than a millionth of a
    /// revolution is just there: times are whole nanoseconds.
    #[inline]
    pub fn wait_ns(self, at_ns: u64, position: u32, per_track: u32) -> u64 {
        let ahead = Spindle::angle(position, per_track) + REVOLUTION - self.phase(at_ns);
        let ahead = if ahead >= REVOLUTION {
            ahead - REVOLUTION
        } else {
            ahead
        };
        if ahead > REVOLUTION - REVOLUTION / 1_000_000 {
            0
        } else {
            ahead.div_ceil(self.rpm)
        }
    }

    /// Where the head is between the sectors of a track: the sector whose start comes next, and the time until then.
    #[inline]
    pub fn next_sector(self, at_ns: u64, per_track: u32) -> (u32, u64) {
        let passed = self.phase(at_ns) as u128 * u128::from(per_track);
        let next = (passed.div_ceil(u128::from(REVOLUTION)) % u128::from(per_track)) as u32;
        (next, self.wait_ns(at_ns, next, per_track))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revolution_is_a_revolution_years_later() {
        let spindle = Spindle::new(5411);
        // 10 years are a whole number of minutes.
        let years = 10 * 365 * 86_400 * 1_000_000_000;
        for at in [0, 1, 11_088_523, 59_999_999_999] {
            assert_eq!(
                spindle.wait_ns(at, 77, 128),
                spindle.wait_ns(years + at, 77, 128)
            );
        }
    }

    #[test]
    fn waits_are_those_of_the_worked_example() {
        // Phase 0.088707 at 12.072152 ms, sector position 76 of 128: 5.600182 ms (5411 revolutions a minute).
        let spindle = Spindle::new(5411);
        let wait = spindle.wait_ns(12_072_152, 76, 128);
        assert!(wait.abs_diff(5_600_182) <= 2, "{wait}");
        assert_eq!(spindle.sectors_ns(128, 128), 11_088_523);
        // At the end of 55 sectors the next one is just there.
        let at = 12_072_152 + wait;
        assert!(spindle.wait_ns(at + spindle.sectors_ns(20, 128), 96, 128) <= 1);
    }

    #[test]
    fn a_sector_that_has_just_passed_is_there() {
        let spindle = Spindle::new(6000);
        assert_eq!(spindle.wait_ns(5, 0, 100), 0);
        assert_eq!(spindle.wait_ns(20, 0, 100), 10_000_000 - 20);
        assert_eq!(spindle.next_sector(150_000, 100), (2, 50_000));
        assert_eq!(spindle.next_sector(9_950_000, 100), (0, 50_000));
    }
}
