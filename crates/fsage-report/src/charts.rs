//! Kinds of charts: what each needs. `into_chart` makes the Vega-Lite of it, and keeps what a static picture needs.
//!
//! A specification has no colors of its own: it names CSS variables of the page (`--target-0`), which
//! `assets/charts.js` replaces by what they are in the theme. It has no data of its own either: it names the sets
//! `rows` (all rows), `marked` (a few of each curve, for its symbols), `published`, and `pointed` (those at the
//! pointer).

mod bars;
mod lines;
mod stacks;

pub use bars::{Bar, Bars};
pub use lines::{Lines, Point, Published, Series};
pub use stacks::{Stack, Stacks};

use serde::Serialize;
use serde_json::{Value, json};

/// How numbers of an axis are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// As they are.
    #[default]
    Number,
    /// A share, as percent.
    Percent,
    /// Bytes, with K, M, G.
    Bytes,
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By powers.
    Log,
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it is, with its unit.
    pub label: String,
    /// How its numbers are written.
    pub format: Format,
    /// How it is divided.
    pub scale: Scale,
    /// Whether 0 stands on it.
    pub from_zero: bool,
    /// Which values stand beside it; where there are none, the chart chooses.
    pub ticks: Vec<f64>,
}

/// Colors of targets; further ones begin again, with other symbols.
const COLORS: usize = 10;

/// Symbols of targets as SVG paths from -1 to 1, so that color is not all that tells them apart.
const SYMBOLS: [&str; 10] = [
    "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "M-0.9,-0.9H0.9V0.9H-0.9Z",
    "M0,-1L1,0.8H-1Z",
    "M0,-1.15L1.15,0L0,1.15L-1.15,0Z",
    "M-0.35,-1H0.35V-0.35H1V0.35H0.35V1H-0.35V0.35H-1V-0.35H-0.35Z",
    "M0,1L1,-0.8H-1Z",
    "M1,0L-0.8,1V-1Z",
    "M-0.9,-0.9H0.9L-0.9,0.9H0.9Z",
    "M-1,-0.4H1V0.4H-1Z",
    "M-0.4,-1H0.4V1H-0.4Z",
];

pub(crate) fn color_of_target(target: usize) -> String {
    format!("--target-{}", target % COLORS)
}

pub(crate) fn symbol_of_target(target: usize) -> &'static str {
    SYMBOLS[target % SYMBOLS.len()]
}

/// The name of a column, as the specification and the downloaded file have it: without what has a meaning in the name
/// of a field, and unlike `others`.
fn column_name(label: &str, others: &[&str]) -> String {
    let mut name: String = label
        .chars()
        .map(|c| {
            if ".[]\\'\"".contains(c) || c.is_control() {
                ' '
            } else {
                c
            }
        })
        .collect();
    if name.trim().is_empty() {
        name = "value".into();
    }
    while others.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// A quantitative channel: the column, its axis, and what is shown on it. The values tell what that is, so that charts
/// do not look for it in data that they may not have.
fn quantitative(field: &str, axis: &Axis, values: impl Iterator<Item = f64>) -> Value {
    let values: Vec<f64> = values.collect();
    // What is counted has no halves.
    let is_counted =
        axis.format == Format::Number && values.iter().all(|value| value.fract() == 0.0);
    let (low, high) = shown(axis, values.into_iter());
    let mut guide = json!({ "title": axis.label });
    if is_counted {
        guide["tickMinStep"] = json!(1);
    }
    match axis.format {
        Format::Number => guide["format"] = json!(",.6~r"),
        Format::Percent => guide["format"] = json!("~%"),
        Format::Bytes => {
            guide["labelExpr"] = json!(BYTES_LABEL);
            guide["values"] = json!(bytes_ticks(axis, low, high));
        }
    }
    if !axis.ticks.is_empty() {
        guide["values"] = json!(axis.ticks);
    }
    let scale = match axis.scale {
        Scale::Linear => json!({
            "domain": [low, high], "zero": axis.from_zero, "nice": axis.format != Format::Bytes,
        }),
        Scale::Log => json!({ "type": "log", "base": 2, "domain": [low, high], "nice": false }),
    };
    json!({ "field": field, "type": "quantitative", "axis": guide, "scale": scale })
}

/// From where to where an axis goes, never from a number to itself.
pub(crate) fn shown(axis: &Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let is_log = axis.scale == Scale::Log;
    let fits = |x: &f64| x.is_finite() && (!is_log || *x > 0.0);
    let range = values.filter(fits).fold(None, |range, x| match range {
        None => Some((x, x)),
        Some((low, high)) => Some((f64::min(low, x), f64::max(high, x))),
    });
    let (mut low, mut high) = range.unwrap_or(if is_log { (1.0, 2.0) } else { (0.0, 1.0) });
    if axis.from_zero && !is_log {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    if low < high {
        return (low, high);
    }
    match (is_log, axis.format) {
        (true, _) => (low / 2.0, high * 2.0),
        // A share of nothing or of all has nothing beyond.
        (false, Format::Percent) => {
            let down = if low <= 0.0 { low } else { low - 0.05 };
            let up = if high >= 1.0 { high } else { high + 0.05 };
            (down, up)
        }
        (false, _) if axis.from_zero => (low, high + 1.0),
        (false, _) => (low - 1.0, high + 1.0),
    }
}

/// How a number of bytes stands on an axis: `64K`.
const BYTES_LABEL: &str = "datum.value >= 1099511627776 ? format(datum.value / 1099511627776, '.3~f') + 'T' : \
     datum.value >= 1073741824 ? format(datum.value / 1073741824, '.3~f') + 'G' : \
     datum.value >= 1048576 ? format(datum.value / 1048576, '.3~f') + 'M' : \
     datum.value >= 1024 ? format(datum.value / 1024, '.3~f') + 'K' : format(datum.value, '.3~f')";

/// Most ticks of an axis of bytes.
const MAX_TICKS: f64 = 8.0;

/// Powers of two: each a tick on a logarithmic axis, or the distance of ticks on an even one.
pub(crate) fn bytes_ticks(axis: &Axis, low: f64, high: f64) -> Vec<f64> {
    match axis.scale {
        Scale::Log => {
            let (first, last) = (low.max(1.0).log2().ceil(), high.max(1.0).log2().floor());
            let step = ((last - first) / MAX_TICKS).ceil().max(1.0);
            // Multiples of the step, so that 1K, 1M and 1G are likely among them.
            let first = (first / step).ceil();
            let ticks = (0..=64).map(|i| (first + f64::from(i)) * step);
            ticks
                .take_while(|&power| power <= last)
                .map(f64::exp2)
                .collect()
        }
        Scale::Linear => {
            let low = if axis.from_zero { 0.0 } else { low };
            let step = ((high - low) / MAX_TICKS).max(1.0).log2().ceil().exp2();
            let first = (low / step).ceil();
            let ticks = (0..=16).map(|i| (first + f64::from(i)) * step);
            ticks.take_while(|&tick| tick <= high).collect()
        }
    }
}

/// Opacity of what belongs to a target or curve: paler while others are chosen in the legend.
fn opacity(field: &str, value: f64) -> Value {
    let test = format!("!length(chosen) || indexof(chosen, datum['{field}']) >= 0");
    json!({ "condition": { "test": test, "value": value }, "value": value * 0.12 })
}

/// What is chosen in the legend; the page sets it.
fn chosen() -> Value {
    json!([{ "name": "chosen", "value": [] }])
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: f64 = 1024.0;

    fn bytes(scale: Scale, from_zero: bool) -> Axis {
        Axis {
            format: Format::Bytes,
            scale,
            from_zero,
            ..Axis::default()
        }
    }

    #[test]
    fn ticks_of_bytes_are_powers_of_two_or_their_multiples() {
        // 16K to 32M are 2^14 to 2^25: 12 powers, of which every second one fits.
        let log = bytes_ticks(&bytes(Scale::Log, false), 16.0 * K, 32.0 * K * K);
        assert_eq!(
            log,
            [16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0].map(|k| k * K)
        );
        // 1000 M in 8 steps are 125 M and more: 128 M.
        let even = bytes_ticks(&bytes(Scale::Linear, true), 500.0 * K * K, 1000.0 * K * K);
        let wanted: Vec<f64> = (0..8).map(|i| f64::from(i) * 128.0 * K * K).collect();
        assert_eq!(even, wanted);
    }

    #[test]
    fn an_axis_is_never_a_single_number() {
        let percent = Axis {
            format: Format::Percent,
            ..Axis::default()
        };
        assert_eq!(shown(&percent, [0.5].into_iter()), (0.45, 0.55));
        assert_eq!(shown(&percent, [0.0, 0.0].into_iter()), (0.0, 0.05));
        assert_eq!(shown(&percent, [1.0].into_iter()), (0.95, 1.0));
        assert_eq!(
            shown(&Axis::default(), [3.0, f64::NAN].into_iter()),
            (2.0, 4.0)
        );
        assert_eq!(
            shown(&bytes(Scale::Log, false), [0.0, 8.0].into_iter()),
            (4.0, 16.0)
        );
        assert_eq!(
            shown(&bytes(Scale::Linear, true), [8.0, 9.0].into_iter()),
            (0.0, 9.0)
        );
    }

    #[test]
    fn names_of_columns_mean_nothing_to_vega() {
        assert_eq!(column_name("pieces (n)", &["series"]), "pieces (n)");
        assert_eq!(column_name("a.b['c']", &[]), "a b  c  ");
        assert_eq!(column_name("low", &["low"]), "low_");
        assert_eq!(column_name(" ", &[]), "value");
    }
}
