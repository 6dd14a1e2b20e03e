//! Where a value lies on an axis, and which values stand beside it.

use crate::charts::{Axis, Format, Scale, bytes_ticks, shown};
use crate::text;

/// Most steps between the numbers of an even axis.
const MAX_STEPS: f64 = 8.0;

/// An axis with its place in a picture.
pub struct Ruler {
    /// What it is, with its unit.
    pub label: String,
    /// Where it begins and ends in the picture; a vertical one begins at the bottom.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// What stands beside it, and where.
    pub ticks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    is_log: bool,
}

impl Ruler {
    /// An axis for these values from one place to another. A nice one begins and ends at a tick.
    pub fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        nice: bool,
        (from, to): (f64, f64),
    ) -> Ruler {
        let (mut low, mut high) = shown(axis, values);
        let is_log = axis.scale == Scale::Log;
        let ticks = if !axis.ticks.is_empty() {
            axis.ticks.clone()
        } else if is_log || axis.format == Format::Bytes {
            bytes_ticks(axis, low, high)
        } else {
            let step = step(low, high);
            if nice {
                low = (low / step).floor() * step;
                high = (high / step).ceil() * step;
            }
            even_ticks(low, high, step)
        };
        let named = ticks
            .into_iter()
            .filter(|tick| (low..=high).contains(tick))
            .map(|tick| (tick, name(tick, axis.format)));
        Ruler {
            label: axis.label.clone(),
            from,
            to,
            ticks: named.collect(),
            low,
            high,
            is_log,
        }
    }

    /// Where a value lies; one beside the axis lies at its end.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value / self.low).log2() / (self.high / self.low).log2()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }
}

/// 1, 2 or 5 times a power of ten: the first that divides an axis into few enough parts.
fn step(low: f64, high: f64) -> f64 {
    let least = (high - low) / MAX_STEPS;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|digit| digit * power);
    let found = steps.into_iter().find(|step| *step >= least);
    found.unwrap_or(10.0 * power)
}

fn even_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    let ticks = (0..=MAX_STEPS as u32 + 2).map(|i| (first + f64::from(i)) * step);
    let round = |tick: f64| (tick / step * 1e6).round() / 1e6 * step;
    ticks
        .map(round)
        .take_while(|tick| *tick <= high + step * 1e-9)
        .map(|tick| tick.clamp(low, high))
        .collect()
}

/// A value as it stands beside its axis.
fn name(value: f64, format: Format) -> String {
    match format {
        Format::Number => text::number(value),
        Format::Percent => format!("{}%", text::number(value * 100.0)),
        Format::Bytes => {
            let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
            let unit = units
                .into_iter()
                .find(|(power, _)| value >= 2_f64.powi(*power));
            let (power, unit) = unit.unwrap_or((0, ""));
            format!("{}{unit}", text::number(value / 2_f64.powi(power)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(axis: &Axis, values: &[f64]) -> Ruler {
        Ruler::new(axis, values.iter().copied(), true, (0.0, 100.0))
    }

    fn names(ruler: &Ruler) -> Vec<&str> {
        ruler.ticks.iter().map(|(_, name)| name.as_str()).collect()
    }

    /// 0.63 to 0.98 in 8 steps are 0.044 and more: 0.05, from 0.6 to 1.
    #[test]
    fn an_even_axis_has_round_numbers_at_both_ends() {
        let axis = Axis {
            format: Format::Percent,
            ..Axis::default()
        };
        let ruler = ruler(&axis, &[0.63, 0.98]);
        let wanted = [
            "60%", "65%", "70%", "75%", "80%", "85%", "90%", "95%", "100%",
        ];
        assert_eq!(names(&ruler), wanted);
        let close = |value: f64, place: f64| (ruler.at(value) - place).abs() < 1e-9;
        assert!(close(0.6, 0.0) && close(0.8, 50.0) && close(1.0, 100.0));
    }

    /// Four doublings: 64K is half way.
    #[test]
    fn every_doubling_is_as_wide_as_the_next() {
        let axis = Axis {
            format: Format::Bytes,
            scale: Scale::Log,
            ..Axis::default()
        };
        let ruler = ruler(&axis, &[16384.0, 262_144.0]);
        assert_eq!(names(&ruler), ["16K", "32K", "64K", "128K", "256K"]);
        assert!((ruler.at(65536.0) - 50.0).abs() < 1e-9);
    }

    /// Below 1 as well: 0.01 to 1 are two decades, and 0.1 lies half way.
    #[test]
    fn an_axis_has_the_ticks_that_it_is_given() {
        let axis = Axis {
            scale: Scale::Log,
            ticks: vec![0.01, 0.1, 1.0],
            ..Axis::default()
        };
        let ruler = ruler(&axis, &[0.01, 1.0]);
        assert_eq!(names(&ruler), ["0.01", "0.1", "1"]);
        assert!((ruler.at(0.1) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_of_nothing_of_zero_and_of_large_counts_has_a_few_numbers() {
        for values in [
            &[][..],
            &[0.0],
            &[1e12, 1e12 + 1.0],
            &[-3.0, 7.0],
            &[1e-9, 3e-9],
        ] {
            let ruler = ruler(&Axis::default(), values);
            assert!((2..=11).contains(&ruler.ticks.len()), "{values:?}");
            assert!(
                ruler.ticks.iter().all(|(tick, _)| tick.is_finite()),
                "{values:?}"
            );
        }
    }
}
