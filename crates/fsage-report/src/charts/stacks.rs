//! Bars of parts that sum up to a whole.

use super::{Axis, Format, column_name};
use crate::data::DataTable;
use crate::drawn::Figure;
use crate::model::Chart;
use serde_json::{Value, json};

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

/// Names of the columns but that of the value.
const BAR: &str = "bar";
const PART: &str = "part";

/// Height of a bar with the gap below it, in pixels.
const BAR_HEIGHT: usize = 30;

/// Colors from good to bad, in the style of the page.
const COLORS: usize = 9;

impl Stacks {
    /// The chart.
    pub fn into_chart(self) -> Chart {
        let value = column_name(&self.value.label, &[BAR, PART]);
        Chart {
            spec: self.spec(&value),
            data: self.data(&value),
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            figure: Some(Box::new(Figure::Stacks(self))),
        }
    }

    fn data(&self, value: &str) -> DataTable {
        let mut table = DataTable::new(&[BAR, PART, value]);
        for stack in &self.stacks {
            for (part, length) in &stack.parts {
                table.rows.push(vec![
                    stack.name.as_str().into(),
                    part.as_str().into(),
                    (*length).into(),
                ]);
            }
        }
        table
    }

    /// Names of the parts, from good to bad.
    pub(crate) fn parts(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for (part, _) in self.stacks.iter().flat_map(|stack| &stack.parts) {
            if !out.contains(&part.as_str()) {
                out.push(part);
            }
        }
        out
    }

    /// Whatever its parts are counted in, a bar shows their shares.
    pub(crate) fn share_label(&self) -> String {
        match self.value.format {
            Format::Percent => self.value.label.clone(),
            _ => format!("share of {}", self.value.label),
        }
    }

    /// The color of part `i` of `n`, from good to bad.
    pub(crate) fn color(i: usize, n: usize) -> String {
        format!("--part-{}", spread(i, n))
    }

    fn spec(&self, value: &str) -> Value {
        let parts = self.parts();
        let colors = (0..parts.len()).map(|i| Stacks::color(i, parts.len()));
        let colors: Vec<String> = colors.collect();
        let bars: Vec<&str> = self
            .stacks
            .iter()
            .map(|stack| stack.name.as_str())
            .collect();
        let title = self.share_label();
        json!({
            "data": { "name": "rows" },
            "height": self.stacks.len() * BAR_HEIGHT,
            "transform": [{
                "calculate": format!("indexof({}, datum['{PART}'])", json!(parts)),
                "as": "order",
            }],
            "mark": { "type": "bar", "stroke": "--surface", "strokeWidth": 1, "tooltip": { "content": "data" } },
            "encoding": {
                "y": {
                    "field": BAR, "type": "nominal", "sort": bars, "title": null,
                    "scale": { "paddingInner": 0.3 },
                },
                "x": {
                    "field": value, "type": "quantitative", "stack": "normalize",
                    "axis": { "title": title, "format": "~%" },
                },
                "color": {
                    "field": PART, "type": "nominal", "title": null,
                    "scale": { "domain": parts, "range": colors },
                },
                "order": { "field": "order", "type": "quantitative" },
            },
            "usermeta": {
                "kind": "stacks", "value": value, "parts": parts, "colors": colors,
                "format": self.value.format,
            },
        })
    }
}

/// The color of part `i` of `n`: evenly over all colors, the first and the last one included.
fn spread(i: usize, n: usize) -> usize {
    if n < 2 {
        0
    } else {
        (i * (COLORS - 1) + (n - 1) / 2) / (n - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_use_the_whole_range_of_colors() {
        let places = |n| (0..n).map(|i| spread(i, n)).collect::<Vec<usize>>();
        assert_eq!(places(1), [0]);
        assert_eq!(places(2), [0, 8]);
        assert_eq!(places(3), [0, 4, 8]);
        assert_eq!(places(9), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(places(17).last(), Some(&8));
    }
}
