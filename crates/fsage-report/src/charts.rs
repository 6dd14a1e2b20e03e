//! Kinds of charts: what each needs. `into_chart` makes the Vega-Lite of it.

use crate::model::Chart;

/// How numbers of an axis are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// The target that gives it its color, by its place in [`Report::targets`](crate::Report::targets).
    pub target: usize,
    /// Drawn with dashes: a control, a second metric.
    pub dashed: bool,
    /// Points, ascending by x; where y is not known the curve is broken.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Horizontal.
    pub x: f64,
    /// Vertical: the mean, where there are several.
    pub y: Option<f64>,
    /// The interval around it, where there are several.
    pub interval: Option<(f64, f64)>,
}

/// A published value: a point without a line.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// The curve that it belongs to, by name.
    pub series: String,
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
}

/// Curves over a common axis.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Name of its download and anchor.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Values of a paper.
    pub published: Vec<Published>,
}

/// A bar.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// What is compared: a benchmark, a phase, a size.
    pub group: String,
    /// The target of the color.
    pub target: usize,
    /// Within a target: aged, control, published.
    pub state: String,
    /// Its length: the median.
    pub value: f64,
    /// The spread of the repetitions.
    pub interval: Option<(f64, f64)>,
}

/// Groups of bars beside each other.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// Name of its download and anchor.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub description: String,
    /// The axis of their lengths.
    pub value: Axis,
    /// Names of the targets, by their place.
    pub targets: Vec<String>,
    /// The bars, in the order of their groups.
    pub bars: Vec<Bar>,
}

/// A bar of parts that sum up to a whole.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// What the whole is.
    pub name: String,
    /// Its parts, by name.
    pub parts: Vec<(String, f64)>,
}

/// Bars of parts.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Name of its download and anchor.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub description: String,
    /// The axis of their lengths.
    pub value: Axis,
    /// The bars. Parts of one name have one color, and stand in the order of their first bar: from good to bad.
    pub stacks: Vec<Stack>,
}

impl Lines {
    /// The chart.
    pub fn into_chart(self) -> Chart {
        Chart {
            id: self.id,
            title: self.title,
            description: self.description,
            ..Chart::default()
        }
    }
}

impl Bars {
    /// The chart.
    pub fn into_chart(self) -> Chart {
        Chart {
            id: self.id,
            title: self.title,
            description: self.description,
            ..Chart::default()
        }
    }
}

impl Stacks {
    /// The chart.
    pub fn into_chart(self) -> Chart {
        Chart {
            id: self.id,
            title: self.title,
            description: self.description,
            ..Chart::default()
        }
    }
}
