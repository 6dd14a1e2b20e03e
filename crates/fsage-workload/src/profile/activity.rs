//! When things happen: active and quiet days, and the hours of a day.

use fsage_core::Rng;
use serde::{Deserialize, Serialize};

/// Seconds of a day.
pub(super) const DAY_S: u64 = 86_400;

/// Relative activity of days and hours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Activity {
    /// By day of the week; the first is day 1.
    pub week: [f64; 7],
    /// Standard deviation of the logarithm of a factor that each day has of its own.
    pub spread: f64,
    /// Share of days that are quiet.
    pub quiet_days: f64,
    /// Activity of a quiet day, as a share of what it would have been.
    pub quiet_activity: f64,
    /// By hour of the day.
    pub hours: [f64; 24],
}

impl Default for Activity {
    /// Every day and hour alike.
    fn default() -> Activity {
        Activity {
            week: [1.0; 7],
            spread: 0.0,
            quiet_days: 0.0,
            quiet_activity: 0.1,
            hours: [1.0; 24],
        }
    }
}

impl Activity {
    /// Checks what may come from outside.
    ///
    /// # Errors
    /// Says which key is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        let weights = |key: &str, all: &[f64]| {
            let fit = all.iter().all(|w| (0.0..=1e6).contains(w)) && all.iter().sum::<f64>() > 1e-6;
            if fit {
                return Ok(());
            }
            Err(format!(
                "activity.{key}: expected numbers from 0 to 1000000, not all 0"
            ))
        };
        weights("week", &self.week)?;
        weights("hours", &self.hours)?;
        for (key, value, most) in [
            ("spread", self.spread, 3.0),
            ("quiet_days", self.quiet_days, 1.0),
            ("quiet_activity", self.quiet_activity, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(format!("activity.{key} = {value}: expected 0 to {most}"));
            }
        }
        Ok(())
    }

    /// Operations of each of `days` days that do `mean` on average.
    pub(super) fn operations(&self, days: u64, mean: u64, rng: &Rng) -> Vec<u64> {
        let factors: Vec<f64> = (0..days)
            .map(|day| {
                let mut rng = rng.stream("activity of a day", day);
                let quiet = if rng.chance(self.quiet_days) {
                    self.quiet_activity
                } else {
                    1.0
                };
                self.week[(day % 7) as usize] * quiet * rng.log_normal(1.0, self.spread)
            })
            .collect();
        let total: f64 = factors.iter().sum();
        let scale = if total > 0.0 {
            mean as f64 * days as f64 / total
        } else {
            0.0
        };
        factors.iter().map(|f| (f * scale).round() as u64).collect()
    }

    /// Moments of one day.
    pub(super) fn clock(&self, moments: u64) -> Clock<'_> {
        Clock {
            hours: &self.hours,
            total: self.hours.iter().sum(),
            moments: moments.max(1),
            next: 0,
            hour: 0,
            before: 0.0,
        }
    }
}

/// Gives the moments of a day, ascending, as dense as its hours are active.
pub(super) struct Clock<'a> {
    hours: &'a [f64; 24],
    total: f64,
    moments: u64,
    next: u64,
    hour: usize,
    /// Weight of the hours before.
    before: f64,
}

impl Clock<'_> {
    /// The next moment, in nanoseconds since midnight.
    pub fn tick(&mut self, rng: &mut Rng) -> i64 {
        const HOUR_NS: f64 = 3_600e9;
        let at = (self.next as f64 + rng.unit()) / self.moments as f64 * self.total;
        self.next = (self.next + 1).min(self.moments - 1);
        while self.hour < 23 && self.before + self.hours[self.hour] <= at {
            self.before += self.hours[self.hour];
            self.hour += 1;
        }
        let weight = self.hours[self.hour];
        let within = if weight > 0.0 {
            ((at - self.before) / weight).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let ns = (self.hour as f64 + within) * HOUR_NS;
        (ns as i64).min(DAY_S as i64 * 1_000_000_000 - 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_mean_and_their_week() {
        let mut activity = Activity::default();
        activity.week[6] = 0.0;
        activity.spread = 0.3;
        activity.quiet_days = 0.1;
        let days = activity.operations(700, 1000, &Rng::new(1));
        let total: u64 = days.iter().sum();
        assert!(total.abs_diff(700_000) < 700, "{total}");
        assert!(days.iter().skip(6).step_by(7).all(|&n| n == 0));
        assert!(days.iter().filter(|&&n| n > 0 && n < 300).count() > 20);
    }

    #[test]
    fn moments_go_up_and_fall_into_active_hours() {
        let mut activity = Activity {
            hours: [0.0; 24],
            ..Activity::default()
        };
        activity.hours[9] = 1.0;
        activity.hours[17] = 3.0;
        let mut clock = activity.clock(1000);
        let mut rng = Rng::new(2);
        let times: Vec<i64> = (0..1000).map(|_| clock.tick(&mut rng)).collect();
        assert!(times.windows(2).all(|w| w[0] <= w[1]));
        let hour = |t: i64| t / 3_600_000_000_000;
        let morning = times.iter().filter(|&&t| hour(t) == 9).count();
        let evening = times.iter().filter(|&&t| hour(t) == 17).count();
        assert_eq!((morning, evening), (250, 750));
    }
}
