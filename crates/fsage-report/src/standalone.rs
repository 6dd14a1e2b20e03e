//! A chart by itself: the page's own description of it, with its data and the colors of the light theme inside.

use crate::data::Cell;
use crate::model::Chart;
use serde_json::{Map, Value, json};

/// Symbols of a curve, and the length up to which each of its points has one: as in `assets/charts.js`.
const SYMBOLS: usize = 7;
const FEW_POINTS: usize = 16;
/// Width of the plot in pixels.
const WIDTH: u32 = 680;

impl Chart {
    /// As Vega-Lite that needs nothing beside it, for notebooks.
    pub fn vega_lite(&self) -> Value {
        let rows = self.records();
        let is_published =
            |row: &&Map<String, Value>| row.get("source") == Some(&json!("published"));
        let published: Vec<&Map<String, Value>> = rows.iter().filter(is_published).collect();
        let datasets = json!({
            "rows": rows,
            "marked": self.marked(&rows),
            "published": published,
            "pointed": [],
        });
        let mut spec = self.spec.clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("title".to_owned(), self.title.as_str().into());
            spec.insert("description".to_owned(), self.description.as_str().into());
            spec.insert("width".to_owned(), WIDTH.into());
            spec.insert("datasets".to_owned(), datasets);
            spec.insert("config".to_owned(), config());
        }
        paint(&mut spec);
        spec
    }

    /// A row of the data as an object.
    fn records(&self) -> Vec<Map<String, Value>> {
        let names = || self.data.columns.iter().map(|column| column.name.clone());
        let record = |row: &Vec<Cell>| {
            let values = row.iter().map(|cell| match cell {
                Cell::Null => Value::Null,
                Cell::Number(number) => (*number).into(),
                Cell::Text(text) => text.as_str().into(),
            });
            names().zip(values).collect()
        };
        self.data.rows.iter().map(record).collect()
    }

    /// A few points of each curve that carry its symbol; none where the chart has no curves.
    fn marked<'a>(&self, rows: &'a [Map<String, Value>]) -> Vec<&'a Map<String, Value>> {
        let name_of = |key: &str| self.spec["usermeta"][key].as_str();
        let Some(y) = name_of("y") else {
            return Vec::new();
        };
        let is_point = |row: &&Map<String, Value>| {
            row.get(y).is_some_and(|y| !y.is_null())
                && row.get("source") != Some(&json!("published"))
        };
        let mut marked = Vec::new();
        for (place, series) in rows
            .chunk_by(|a, b| a.get("series") == b.get("series"))
            .enumerate()
        {
            let points: Vec<&Map<String, Value>> = series.iter().filter(is_point).collect();
            if points.len() <= FEW_POINTS {
                marked.extend(points);
                continue;
            }
            let shift = ((place % 5) as f64 + 0.5) / 5.0;
            let at =
                |i: usize| ((i as f64 + shift) * points.len() as f64 / SYMBOLS as f64) as usize;
            marked.extend((0..SYMBOLS).filter_map(|i| points.get(at(i))));
        }
        marked
    }
}

/// What the page says of all its charts.
fn config() -> Value {
    json!({
        "font": "system-ui, sans-serif",
        "background": "--surface",
        "view": { "stroke": null },
        "legend": { "labelColor": "--ink", "orient": "bottom", "direction": "horizontal",
                    "columns": 4, "labelLimit": 260 },
        "title": { "color": "--ink", "anchor": "start", "fontSize": 15 },
        "axis": {
            "labelColor": "--ink-soft", "titleColor": "--ink-soft", "gridColor": "--line",
            "domainColor": "--line-strong", "tickColor": "--line-strong", "labelFontSize": 12, "titleFontSize": 12,
        },
        "axisY": { "domain": false, "ticks": false },
        "line": { "strokeWidth": 2, "strokeJoin": "round", "strokeCap": "round" },
        "point": { "size": 46 },
        "bar": { "discreteBandSize": 15 },
    })
}

/// Replaces every variable of the style by its color.
fn paint(part: &mut Value) {
    match part {
        Value::String(text) if text.starts_with("--") => {
            if let Some(color) = light(text) {
                *text = color.to_owned();
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(paint),
        Value::Object(parts) => parts
            .iter_mut()
            // Data are what they are.
            .filter(|(key, _)| *key != "datasets")
            .for_each(|(_, part)| paint(part)),
        _ => {}
    }
}

/// The color of a variable in the light theme, as the style of the page has it.
pub(crate) fn light(variable: &str) -> Option<&'static str> {
    let style = include_str!("../assets/page.css");
    let (_, value) = style.split_once(&format!("{variable}: light-dark("))?;
    value.split([',', ')']).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{Axis, Lines, Point, Series};

    #[test]
    fn a_chart_by_itself_has_its_data_and_no_variable_of_the_style() {
        let points = (0..100).map(|x| Point {
            x: f64::from(x),
            y: (x != 7).then(|| 1.0 / f64::from(x + 1)),
            interval: None,
        });
        let chart = Lines {
            id: "layout".to_owned(),
            title: "Layout".to_owned(),
            description: "A curve".to_owned(),
            x: Axis {
                label: "day".to_owned(),
                ..Axis::default()
            },
            y: Axis {
                label: "score".to_owned(),
                ..Axis::default()
            },
            series: vec![Series {
                name: "--ink".to_owned(),
                points: points.collect(),
                ..Series::default()
            }],
            published: Vec::new(),
        }
        .into_chart();
        let spec = chart.vega_lite();
        assert_eq!(spec["datasets"]["rows"].as_array().map(Vec::len), Some(100));
        assert_eq!(spec["datasets"]["rows"][7]["score"], Value::Null);
        assert_eq!(
            spec["datasets"]["rows"][0]["series"], "--ink",
            "data stay as they are"
        );
        assert_eq!(
            spec["datasets"]["marked"].as_array().map(Vec::len),
            Some(SYMBOLS)
        );
        let mut without_data = spec.clone();
        without_data
            .as_object_mut()
            .expect("an object")
            .remove("datasets");
        assert!(
            !without_data["config"].to_string().contains("--"),
            "{without_data}"
        );
        assert_eq!(light("--ink"), Some("#1a1f26"));
        assert_eq!(light("--no-such"), None);
    }
}
