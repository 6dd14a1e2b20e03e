//! Kinds of charts: what each needs. `into_chart` makes the Vega-Lite of it.
//!
//! A specification has no colors of its own: it names CSS variables of the page (`--target-0`), which `assets/charts.js`
//! replaces by what they are in the theme. It has no data of its own either: it names the sets `rows` (all rows),
//! `marked` (a few of each curve, for its symbols) and `pointed` (those at the pointer).

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// Colors of targets; further ones begin again, with other symbols.
const COLORS: usize = 10;

/// Symbols of targets, so that color is not all that tells them apart. The last three are SVG paths: a star, a bar and
/// an hourglass.
const SYMBOLS: [&str; 10] = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.32Z",
    "M-1,-0.35L1,-0.35L1,0.35L-1,0.35Z",
    "M-0.8,-0.8L0.8,-0.8L-0.8,0.8L0.8,0.8Z",
];

fn color_of_target(target: usize) -> String {
    format!("--target-{}", target % COLORS)
}

fn symbol_of_target(target: usize) -> &'static str {
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

/// The part of Vega-Lite that says how an axis looks; `range` is what is shown on it.
fn axis(axis: &Axis, range: Option<(f64, f64)>) -> Value {
    let mut out = json!({ "title": axis.label });
    match axis.format {
        Format::Number => out["format"] = json!(",~g"),
        Format::Percent => out["format"] = json!("~%"),
        Format::Bytes => {
            out["labelExpr"] = json!(BYTES_LABEL);
            if let Some(ticks) = range.map(|(low, high)| bytes_ticks(axis, low, high)) {
                out["values"] = json!(ticks);
            }
        }
    }
    out
}

/// The part of Vega-Lite that says how an axis is divided.
fn scale(axis: &Axis) -> Value {
    match axis.scale {
        Scale::Linear => json!({ "zero": axis.from_zero, "nice": axis.format != Format::Bytes }),
        Scale::Log => json!({ "type": "log", "base": 2, "nice": false }),
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
fn bytes_ticks(axis: &Axis, low: f64, high: f64) -> Vec<f64> {
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

/// The smallest and the largest of the numbers that are finite.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|x| x.is_finite())
        .fold(None, |range, x| match range {
            None => Some((x, x)),
            Some((low, high)) => Some((low.min(x), high.max(x))),
        })
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
