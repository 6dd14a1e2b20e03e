//! When things happen: days of work and of rest, hours of the day, and the curves over the period.

use super::Home;
use fsage_core::Rng;
use fsage_core::rng::AliasTable;
use std::ops::RangeInclusive;

/// 1994-04-01 00:00:00 UTC, a Friday: the beginning of the period in the paper.
pub(super) const EPOCH_UNIX_S: i64 = 765_158_400;
pub(super) const DAY_S: u64 = 86_400;

/// Relative activity by hour: students' days begin late and end late.
const HOURS: [u64; 24] = [
    8, 5, 3, 2, 1, 1, 2, 4, 10, 24, 40, 44, 30, 36, 44, 46, 44, 38, 24, 20, 24, 26, 22, 14,
];
/// Relative activity, Monday first.
const WEEK: [u64; 7] = [100, 105, 105, 100, 95, 45, 50];
/// Day of the period of Monday of the first week.
const FIRST_MONDAY: u64 = 4;
/// 24 December to 2 January, as days of the period.
const HOLIDAYS: RangeInclusive<u64> = 268..=277;

/// Activity by day, and the hours.
pub(super) struct Calendar {
    /// Relative activity of each day; index 0 is day 1.
    weights: Vec<u64>,
    /// Sum of the weights from a day on.
    left: Vec<u64>,
    hours: AliasTable,
}

impl Calendar {
    pub fn new(home: &Home, rng: &Rng) -> Calendar {
        let mut rng = rng.stream("activity of days", 0);
        let weights: Vec<u64> = (1..=home.days)
            .map(|day| {
                let weekday = (day + 7 - FIRST_MONDAY) % 7;
                let holiday = if HOLIDAYS.contains(&day) { 40 } else { 100 };
                let mean = (WEEK[weekday as usize] * holiday) as f64;
                (rng.log_normal(mean, 0.25) as u64).max(1)
            })
            .collect();
        let mut left = weights.clone();
        for i in (0..left.len().saturating_sub(1)).rev() {
            left[i] += left[i + 1];
        }
        Calendar {
            weights,
            left,
            hours: AliasTable::new(&HOURS),
        }
    }

    /// The part of `amount`, which is what is left of something before `day`, that falls on this day.
    pub fn share(&self, amount: u64, day: u64) -> u64 {
        let i = day as usize - 1;
        (u128::from(amount) * u128::from(self.weights[i]) / u128::from(self.left[i])) as u64
    }

    /// A number of things on `day` that are `mean` on a day of average activity.
    pub fn busy(&self, mean: u64, day: u64) -> u64 {
        let total = u128::from(self.left[0]);
        let days = self.weights.len() as u128;
        let scaled = u128::from(mean * self.weights[day as usize - 1]) * days;
        ((scaled + total / 2) / total) as u64
    }

    /// A second of the day at which somebody works.
    pub fn moment(&self, rng: &mut Rng) -> u64 {
        self.hours.draw(rng) as u64 * 3600 + rng.below(3600)
    }
}

/// Value of a curve of straight lines through `knots` (thousandths of the period, value) at the end of `day`.
pub(super) fn curve(knots: &[(u64, u64)], day: u64, days: u64) -> u64 {
    let at = |x: u64| x * days;
    let x = day * 1000;
    let after = knots.iter().position(|&(k, _)| at(k) >= x);
    match after {
        None => knots.last().map_or(0, |k| k.1),
        Some(0) => knots[0].1,
        Some(i) => {
            let ((x0, y0), (x1, y1)) = (knots[i - 1], knots[i]);
            let (x0, x1) = (at(x0), at(x1));
            let rise = (y1 as i64 - y0 as i64) * (x - x0) as i64;
            (y0 as i64 + rise / (x1 - x0) as i64) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_through_its_knots_and_straight_between_them() {
        let knots = [(0, 90), (500, 700), (1000, 600)];
        let at = |day| curve(&knots, day, 300);
        assert_eq!(
            [at(0), at(75), at(150), at(225), at(300)],
            [90, 395, 700, 650, 600]
        );
    }

    #[test]
    fn shares_of_what_is_left_add_up_to_all_of_it() {
        let home = Home::smith96();
        let calendar = Calendar::new(&home, &Rng::new(5));
        let mut left = 800_000;
        for day in 1..=home.days {
            left -= calendar.share(left, day);
        }
        assert_eq!(left, 0);
        let busy: u64 = (1..=home.days).map(|d| calendar.busy(100, d)).sum();
        assert!(busy.abs_diff(30_000) < 200, "{busy}");
    }
}
