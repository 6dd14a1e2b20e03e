//! Charts as static pictures, in SVG: what a page has where the program was built without Vega.
//!
//! They show what the specification of the same chart describes, with its colors, symbols and axes. What a reader
//! could point at or choose is missing; the data of a chart can be shown and downloaded all the same.

mod bars;
mod file;
mod lines;
mod ruler;
mod stacks;

pub use file::PICTURE_MARK;

use crate::charts::{Bars, Lines, Stacks};
use crate::text;
use ruler::Ruler;
use serde::Serialize;
use std::fmt::Write as _;

/// A chart by its kind.
#[derive(Clone, Debug)]
pub(crate) enum Figure {
    Lines(Lines),
    Bars(Bars),
    Stacks(Stacks),
}

/// A chart that is drawn: `legend` and `plot` for templates, two pieces of HTML that are safe as they are.
#[derive(Debug, Serialize)]
pub(crate) struct Drawing {
    /// What the colors mean.
    legend: String,
    /// The chart.
    plot: String,
    #[serde(skip)]
    entries: Vec<Entry>,
    #[serde(skip)]
    picture: Picture,
}

impl Drawing {
    fn new(entries: Vec<Entry>, picture: Picture) -> Drawing {
        Drawing {
            legend: entries.iter().map(Entry::html).collect(),
            plot: picture.html(),
            entries,
            picture,
        }
    }
}

impl Figure {
    /// The picture; none where there is nothing to show.
    pub fn draw(&self) -> Option<Drawing> {
        match self {
            Figure::Lines(lines) => lines.draw(),
            Figure::Bars(bars) => bars.draw(),
            Figure::Stacks(stacks) => stacks.draw(),
        }
    }
}

/// Width of a picture in its own units; a page shows it as wide as there is room.
const WIDTH: f64 = 760.0;
/// What stands above and below a plot: the label of a vertical axis; the numbers and label of a horizontal one.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
/// Free space at the right end, for half of the last number.
const RIGHT: f64 = 24.0;
/// Width of a letter, about; names of more letters than these are cut.
const LETTER: f64 = 6.6;
const MAX_LETTERS: usize = 34;
/// From the middle of a symbol to its edge.
const SYMBOL: f64 = 3.4;

/// A picture while it is drawn.
#[derive(Debug)]
struct Picture {
    body: String,
    height: f64,
}

impl Picture {
    fn new(height: f64) -> Picture {
        let body = String::new();
        Picture { body, height }
    }

    /// Writes the parts of a text one after the other.
    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        self.body
            .write_fmt(part)
            .expect("a string takes everything");
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = text::escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.add(format_args!(
            "<path class=\"{class}\" d=\"M{x1:.1},{y1:.1}L{x2:.1},{y2:.1}\"/>"
        ));
    }

    /// A horizontal axis below a plot that ends at `bottom`, with its ticks through the plot where it has a grid.
    fn x_axis(&mut self, ruler: &Ruler, bottom: f64, grid: bool) {
        for (value, label) in &ruler.ticks {
            let x = ruler.at(*value);
            let (class, from) = if grid {
                ("grid", TOP)
            } else {
                ("axis", bottom + 4.0)
            };
            self.line(class, (x, from), (x, bottom));
            self.text((x, bottom + 18.0), "middle", label);
        }
        self.line("axis", (ruler.from, bottom), (ruler.to, bottom));
        let middle = f64::midpoint(ruler.from, ruler.to);
        self.text((middle, bottom + 37.0), "middle", &ruler.label);
    }

    /// A vertical axis: its label above it, a line of the grid a tick.
    fn y_axis(&mut self, ruler: &Ruler, left: f64) {
        for (value, label) in &ruler.ticks {
            let y = ruler.at(*value);
            self.line("grid", (left, y), (WIDTH - RIGHT, y));
            self.text((left - 8.0, y + 4.0), "end", label);
        }
        self.text((0.0, 12.0), "start", &ruler.label);
    }

    fn html(&self) -> String {
        let Picture { body, height } = self;
        format!(
            "<svg class=\"drawn\" viewBox=\"0 0 {WIDTH} {height:.0}\" aria-hidden=\"true\">{body}</svg>"
        )
    }
}

/// A sign of a legend, `width` wide and 12 high, and what it stands for.
#[derive(Debug)]
struct Entry {
    width: u32,
    sign: String,
    name: String,
}

impl Entry {
    fn new(width: u32, sign: impl Into<String>, name: &str) -> Entry {
        Entry {
            width,
            sign: sign.into(),
            name: name.to_owned(),
        }
    }

    fn html(&self) -> String {
        let Entry { width, sign, name } = self;
        format!(
            "<span><svg width=\"{width}\" height=\"12\" viewBox=\"0 0 {width} 12\" aria-hidden=\"true\">\
             {sign}</svg>{}</span>",
            text::escaped(name)
        )
    }
}

/// The sign of an area of this color.
fn square(color: &str, opacity: f64) -> String {
    format!(
        "<rect x=\"1\" y=\"1\" width=\"10\" height=\"10\" rx=\"2\" \
         style=\"fill: var({color}); fill-opacity: {opacity}; stroke: var({color})\"/>"
    )
}

/// A name that is cut where it is long.
fn short(name: &str) -> String {
    if name.chars().count() <= MAX_LETTERS {
        return name.to_owned();
    }
    let cut: String = name.chars().take(MAX_LETTERS - 1).collect();
    cut + "\u{2026}"
}

/// Room for the longest of some names at the left of a plot.
fn room<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    let longest = names.map(|name| short(name).chars().count()).max();
    LETTER * longest.unwrap_or(0) as f64 + 14.0
}
