//! Division by a number that is known beforehand: a multiplication.

/// A divisor below 2^20, for numbers below 2^43.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    by: u32,
    /// 2^64 divided by it, a little too small.
    inverse: u64,
}

impl Divisor {
    pub fn new(by: u32) -> Divisor {
        Divisor {
            by,
            inverse: u64::MAX / u64::from(by),
        }
    }

    /// The quotient, rounded down. It is exact: the inverse is too small by less than `by / 2^64`, which is made good
    /// by the one that is added, as long as number and divisor multiply to less than 2^64.
    #[inline]
    pub fn quotient(self, number: u64) -> u64 {
        ((u128::from(number + 1) * u128::from(self.inverse)) >> 64) as u64
    }

    /// Quotient and remainder.
    #[inline]
    pub fn divide(self, number: u64) -> (u64, u32) {
        let quotient = self.quotient(number);
        (quotient, (number - quotient * u64::from(self.by)) as u32)
    }

    /// The quotient, rounded up.
    #[inline]
    pub fn rounded_up(self, number: u64) -> u64 {
        self.quotient(number + u64::from(self.by) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_exact() {
        let largest = (1 << 43) - 1;
        for by in [1, 2, 3, 138, 5400, 65_536, 99_999, (1 << 20) - 1] {
            let divisor = Divisor::new(by);
            let by = u64::from(by);
            for number in [0, 1, by - 1, by, by + 1, 7 * by - 1, 7 * by, largest] {
                let expected = (number / by, (number % by) as u32);
                assert_eq!(divisor.divide(number), expected, "{number} / {by}");
                assert_eq!(divisor.rounded_up(number), number.div_ceil(by));
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_a_division(by in 1_u32..1 << 20, number in 0_u64..1 << 43) {
            let expected = (number / u64::from(by), (number % u64::from(by)) as u32);
            prop_assert_eq!(Divisor::new(by).divide(number), expected);
        }
    }
}
