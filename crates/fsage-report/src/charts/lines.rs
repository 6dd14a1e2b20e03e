//! Curves over a common axis.

use super::{
    Axis, Scale, chosen, color_of_target, column_name, opacity, quantitative, symbol_of_target,
};
use crate::data::{Cell, DataTable};
use crate::drawn::Figure;
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
/// Height of the plot in pixels.
const HEIGHT: u32 = 300;

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
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            figure: Some(Box::new(Figure::Lines(self))),
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
        let xs = self.points().map(|point| point.x);
        let ys = self.points().flat_map(|point| {
            let (low, high) = point.interval.unzip();
            [point.y, low, high].into_iter().flatten()
        });
        let published = || self.published.iter();
        let mut x = quantitative(x, &self.x, xs.chain(published().map(|value| value.x)));
        let y = quantitative(y, &self.y, ys.chain(published().map(|value| value.y)));
        x["axis"]["grid"] = json!(false);
        if self.x.scale == Scale::Linear {
            x["scale"]["nice"] = json!(false);
        }
        json!({
            "params": chosen(),
            "height": HEIGHT,
            "layer": self.layers(&x, &y),
            "usermeta": {
                "kind": "lines",
                "x": x["field"], "y": y["field"], "x_format": self.x.format, "y_format": self.y.format,
                "x_scale": self.x.scale, "y_scale": self.y.scale,
                "intervals": self.has_intervals(), "published": !self.published.is_empty(),
                "series": self.series.iter().map(Series::legend).collect::<Vec<Value>>(),
            },
        })
    }

    /// What is drawn, the lowest first: intervals, curves, their symbols, values of a paper, and what is pointed at.
    fn layers(&self, x: &Value, y: &Value) -> Vec<Value> {
        let color = self.by_series(|series| json!(color_of_target(series.target)));
        let solid = opacity(SERIES, 1.0);
        let mut layers = Vec::new();
        if self.has_intervals() {
            let mut low = y.clone();
            low["field"] = json!(LOW);
            layers.push(json!({
                "data": { "name": "rows" },
                "mark": { "type": "area" },
                "encoding": {
                    "x": x, "y": low, "y2": { "field": HIGH }, "color": color, "opacity": opacity(SERIES, 0.16),
                },
            }));
        }
        layers.push(json!({
            "data": { "name": "rows" },
            "mark": { "type": "line" },
            "encoding": {
                "x": x, "y": y, "color": color, "opacity": solid,
                "strokeDash": self.by_series(|series| json!(if series.dashed { [5, 4] } else { [1, 0] })),
            },
        }));
        layers.push(json!({
            "data": { "name": "marked" },
            "mark": { "type": "point", "filled": true },
            "encoding": {
                "x": x, "y": y, "color": color, "opacity": solid,
                "shape": self.by_series(|series| json!(symbol_of_target(series.target))),
            },
        }));
        if !self.published.is_empty() {
            layers.push(json!({
                "data": { "name": PUBLISHED },
                "mark": { "type": "point", "filled": false, "size": 130, "strokeWidth": 2.4 },
                "encoding": { "x": x, "y": y, "color": color, "shape": { "value": "diamond" }, "opacity": solid },
            }));
        }
        layers.push(json!({
            "data": { "name": "pointed" },
            "mark": { "type": "rule", "color": "--line-strong" },
            "encoding": { "x": x },
        }));
        layers.push(json!({
            "data": { "name": "pointed" },
            "mark": { "type": "point", "filled": true, "size": 80, "stroke": "--surface", "strokeWidth": 1.5 },
            "encoding": { "x": x, "y": y, "color": color },
        }));
        layers
    }

    /// A channel with a value for each curve.
    fn by_series(&self, value: impl Fn(&Series) -> Value) -> Value {
        let names: Vec<&str> = self
            .series
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        let range: Vec<Value> = self.series.iter().map(value).collect();
        json!({
            "field": SERIES, "type": "nominal", "title": null,
            "scale": { "domain": names, "range": range },
        })
    }
}

impl Series {
    /// What stands in the legend.
    fn legend(&self) -> Value {
        json!({
            "name": self.name, "target": self.target, "color": color_of_target(self.target),
            "symbol": symbol_of_target(self.target), "dash": self.dashed,
        })
    }
}
