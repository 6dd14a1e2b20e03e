//! Percentiles in bounded memory.

/// Linear steps inside a power of two, as a power of two.
const STEP_BITS: u32 = 7;
const STEPS: u64 = 1 << STEP_BITS;

/// A histogram whose classes are at most 1/128 as wide as their values (log-linear), so that a percentile is
/// within 0.4 % of the exact one. Values under 256, smallest, largest and mean are exact. 60 KB, whatever is
/// counted.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    classes: Vec<u64>,
    count: u64,
    sum: u128,
    largest: u64,
}

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let class = class_of(value);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.largest = self.largest.max(value);
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value that at least `percent` of all values do not exceed (nearest rank).
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(percent))
            .div_ceil(100)
            .max(1);
        let mut below = 0;
        for (class, count) in self.classes.iter().enumerate() {
            below += u128::from(*count);
            if below >= rank {
                return Some(if below == u128::from(self.count) && percent == 100 {
                    self.largest
                } else {
                    middle_of(class).min(self.largest)
                });
            }
        }
        None
    }
}

fn class_of(value: u64) -> usize {
    let shift = (64 - STEP_BITS - 1).saturating_sub(value.leading_zeros());
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The middle of a class.
fn middle_of(class: usize) -> u64 {
    let class = class as u64;
    let shift = (class / STEPS).saturating_sub(1);
    let first = (class - shift * STEPS) << shift;
    first + (1_u64 << shift >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow_and_follow_each_other() {
        let mut last = 0;
        for bits in 0..64 {
            for near in [-1_i64, 0, 1] {
                let value = (1_u64 << bits).wrapping_add_signed(near);
                if bits < 2 || value == u64::MAX {
                    continue;
                }
                let class = class_of(value);
                assert!(
                    class == last || class == last + 1 || value < 1 << bits,
                    "{value}"
                );
                let middle = middle_of(class);
                assert_eq!(class_of(middle), class, "{value}");
                assert!(middle.abs_diff(value) <= value / 256, "{value} {middle}");
                last = class;
            }
        }
        assert_eq!(middle_of(class_of(255)), 255);
        assert!(class_of(u64::MAX) < 60_000 / 8);
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), None);
        for value in (1..=200).rev() {
            histogram.add(value);
        }
        assert_eq!(histogram.percentile(0), Some(1));
        assert_eq!(histogram.percentile(50), Some(100));
        assert_eq!(histogram.percentile(99), Some(198));
        assert_eq!(histogram.mean(), Some(100.5));
        histogram.add(123_456_789);
        assert_eq!(histogram.percentile(100), Some(123_456_789));
    }
}
