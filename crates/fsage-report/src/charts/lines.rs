//! Curves over a common axis.

use super::{
    Axis, Scale, axis, chosen, color_of_target, column_name, opacity, range, scale,
    symbol_of_target,
};
use crate::data::{Cell, DataTable};
use crate::model::Chart;
use serde_json::{Value, json};

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

/// Names of the columns whose names do not depend on the axes.
const SERIES: &str = "series";
const LOW: &str = "low";
const HIGH: &str = "high";
const SOURCE: &str = "source";
/// Values of the column [`SOURCE`].
const MEASURED: &str = "measured";
const PUBLISHED: &str = "published";

impl Lines {
    /// The chart.
    pub fn into_chart(self) -> Chart {
        let x = column_name(&self.x.label, &[SERIES, LOW, HIGH, SOURCE]);
        let y = column_name(&self.y.label, &[SERIES, LOW, HIGH, SOURCE, &x]);
        Chart {
            spec: self.spec(&x, &y),
            data: self.data(&x, &y),
            id: self.id,
            title: self.title,
            description: self.description,
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn has_intervals(&self) -> bool {
        self.points().any(|point| point.interval.is_some())
    }

    /// A row a point, curve by curve.
    fn data(&self, x: &str, y: &str) -> DataTable {
        let intervals = self.has_intervals();
        let mut columns = vec![SERIES, x, y];
        if intervals {
            columns.extend([LOW, HIGH]);
        }
        if !self.published.is_empty() {
            columns.push(SOURCE);
        }
        let mut table = DataTable::new(&columns);
        let mut push = |series: &str, point: &Point, source: &str| {
            let mut row = vec![series.into(), point.x.into(), point.y.into()];
            if intervals {
                row.push(point.interval.map(|(low, _)| low).into());
                row.push(point.interval.map(|(_, high)| high).into());
            }
            if !self.published.is_empty() {
                row.push(Cell::from(source));
            }
            table.rows.push(row);
        };
        for series in &self.series {
            for point in &series.points {
                push(&series.name, point, MEASURED);
            }
        }
        for value in &self.published {
            let point = Point {
                x: value.x,
                y: Some(value.y),
                interval: None,
            };
            push(&value.series, &point, PUBLISHED);
        }
        table
    }

    fn spec(&self, x: &str, y: &str) -> Value {
        let xs = range(
            self.points()
                .map(|p| p.x)
                .chain(self.published.iter().map(|p| p.x)),
        );
        let ys = range(
            self.points()
                .flat_map(|p| [p.y, p.interval.map(|i| i.0), p.interval.map(|i| i.1)])
                .flatten()
                .chain(self.published.iter().map(|p| p.y)),
        );
        let mut x_axis = axis(&self.x, xs);
        x_axis["grid"] = json!(false);
        let mut x_scale = scale(&self.x);
        if self.x.scale == Scale::Linear {
            x_scale["nice"] = json!(false);
        }
        let x_encoding =
            json!({ "field": x, "type": "quantitative", "axis": x_axis, "scale": x_scale });
        let y_encoding = json!({ "field": y, "type": "quantitative", "axis": axis(&self.y, ys), "scale": scale(&self.y) });

        let mut layers = Vec::new();
        if self.has_intervals() {
            let mut low = y_encoding.clone();
            low["field"] = json!(LOW);
            layers.push(json!({
                "data": { "name": "rows" },
                "mark": { "type": "area" },
                "encoding": {
                    "x": x_encoding, "y": low, "y2": { "field": HIGH },
                    "color": self.color(false), "opacity": opacity(SERIES, 0.18),
                },
            }));
        }
        layers.push(json!({
            "data": { "name": "rows" },
            "mark": { "type": "line" },
            "encoding": {
                "x": x_encoding, "y": y_encoding, "color": self.color(true), "strokeDash": self.dashes(),
                "opacity": opacity(SERIES, 1.0),
            },
        }));
        layers.push(json!({
            "data": { "name": "marked" },
            "mark": { "type": "point", "filled": true },
            "encoding": {
                "x": x_encoding, "y": y_encoding, "color": self.color(true), "shape": self.symbols(),
                "opacity": opacity(SERIES, 1.0),
            },
        }));
        if !self.published.is_empty() {
            layers.push(json!({
                "data": { "name": PUBLISHED },
                "mark": { "type": "point", "filled": false, "size": 110, "strokeWidth": 2.2 },
                "encoding": {
                    "x": x_encoding, "y": y_encoding, "color": self.color(false), "shape": { "value": "diamond" },
                    "opacity": opacity(SERIES, 1.0),
                },
            }));
        }
        layers.push(json!({
            "data": { "name": "pointed" },
            "mark": { "type": "rule", "color": "--line-strong" },
            "encoding": { "x": x_encoding },
        }));
        layers.push(json!({
            "data": { "name": "pointed" },
            "mark": { "type": "point", "filled": true, "size": 70, "stroke": "--surface", "strokeWidth": 1.5 },
            "encoding": { "x": x_encoding, "y": y_encoding, "fill": self.color(false), "opacity": { "value": 1 } },
        }));
        json!({
            "params": chosen(),
            "layer": layers,
            "usermeta": {
                "kind": "lines", "x": x, "y": y,
                "x_format": self.x.format, "y_format": self.y.format,
                "series": self.series.iter().map(|s| {
                    json!({ "name": s.name, "target": s.target, "dashed": s.dashed })
                }).collect::<Vec<Value>>(),
            },
        })
    }

    fn names(&self) -> Vec<&str> {
        self.series.iter().map(|s| s.name.as_str()).collect()
    }

    /// By curve: a channel with a value for each of them.
    fn by_series(&self, range: &[Value], legend: bool) -> Value {
        let legend = if legend {
            json!({ "title": null })
        } else {
            Value::Null
        };
        json!({
            "field": SERIES, "type": "nominal", "legend": legend,
            "scale": { "domain": self.names(), "range": range },
        })
    }

    fn color(&self, legend: bool) -> Value {
        let colors = self.series.iter().map(|s| json!(color_of_target(s.target)));
        self.by_series(&colors.collect::<Vec<Value>>(), legend)
    }

    fn dashes(&self) -> Value {
        let dashes = self.series.iter().map(|s| {
            if s.dashed {
                json!([5, 4])
            } else {
                json!([1, 0])
            }
        });
        self.by_series(&dashes.collect::<Vec<Value>>(), true)
    }

    fn symbols(&self) -> Value {
        let symbols = self
            .series
            .iter()
            .map(|s| json!(symbol_of_target(s.target)));
        self.by_series(&symbols.collect::<Vec<Value>>(), true)
    }
}
