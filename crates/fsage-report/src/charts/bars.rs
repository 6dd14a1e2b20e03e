//! Groups of bars beside each other.

use super::{Axis, chosen, color_of_target, column_name, opacity, quantitative};
use crate::data::DataTable;
use crate::drawn::Figure;
use crate::model::Chart;
use serde_json::{Value, json};

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

/// Names of the columns but that of the value.
const GROUP: &str = "group";
const TARGET: &str = "target";
const STATE: &str = "state";
const LOW: &str = "low";
const HIGH: &str = "high";

/// Height of a bar, and of the gap between two groups, in pixels.
const LANE: usize = 14;
const GAP: usize = 16;

/// How dark the bars of the first, second and further states of a chart are.
const SHADES: [f64; 3] = [1.0, 0.42, 0.22];

impl Bars {
    /// The chart.
    pub fn into_chart(self) -> Chart {
        let value = column_name(&self.value.label, &[GROUP, TARGET, STATE, LOW, HIGH]);
        Chart {
            spec: self.spec(&value),
            data: self.data(&value),
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            figure: Some(Box::new(Figure::Bars(self))),
        }
    }

    pub(crate) fn target(&self, bar: &Bar) -> &str {
        self.targets.get(bar.target).map_or("", String::as_str)
    }

    /// How dark the bars of the first, second and further states are.
    pub(crate) fn shade(state: usize) -> f64 {
        SHADES[state.min(SHADES.len() - 1)]
    }

    fn has_intervals(&self) -> bool {
        self.bars.iter().any(|bar| bar.interval.is_some())
    }

    fn data(&self, value: &str) -> DataTable {
        let mut columns = vec![GROUP, TARGET, STATE, value];
        if self.has_intervals() {
            columns.extend([LOW, HIGH]);
        }
        let mut table = DataTable::new(&columns);
        for bar in &self.bars {
            let mut row = vec![
                bar.group.as_str().into(),
                self.target(bar).into(),
                bar.state.as_str().into(),
                bar.value.into(),
            ];
            if self.has_intervals() {
                row.push(bar.interval.map(|(low, _)| low).into());
                row.push(bar.interval.map(|(_, high)| high).into());
            }
            table.rows.push(row);
        }
        table
    }

    /// Values of a column in the order of their first bar.
    pub(crate) fn distinct<'a>(&'a self, of: impl Fn(&'a Bar) -> &'a str) -> Vec<&'a str> {
        let mut out = Vec::new();
        for bar in &self.bars {
            if !out.contains(&of(bar)) {
                out.push(of(bar));
            }
        }
        out
    }

    fn spec(&self, value: &str) -> Value {
        let groups = self.distinct(|bar| &bar.group);
        let states = self.distinct(|bar| &bar.state);
        let targets = self.distinct(|bar| self.target(bar));
        let colors = targets.iter().map(|name| {
            let place = self.targets.iter().position(|target| target == name);
            color_of_target(place.unwrap_or_default())
        });
        let colors: Vec<String> = colors.collect();
        let lanes: Vec<String> = targets
            .iter()
            .flat_map(|target| states.iter().map(move |state| lane(target, state)))
            .collect();
        let shades = states.iter().enumerate().map(|(i, _)| Bars::shade(i));
        let shades: Vec<f64> = shades.collect();

        let y = json!({
            "field": GROUP, "type": "nominal", "sort": groups, "title": null,
            "scale": { "paddingInner": GAP as f64 / (lanes.len() * LANE + GAP) as f64, "paddingOuter": 0.1 },
        });
        let offset = json!({
            "field": "lane", "type": "nominal", "scale": { "domain": lanes, "paddingInner": 0.12 },
        });
        let values = self.bars.iter().flat_map(|bar| {
            let (low, high) = bar.interval.unzip();
            [Some(bar.value), low, high].into_iter().flatten()
        });
        // A bar begins at 0, or its length says nothing.
        let axis = Axis {
            from_zero: true,
            ..self.value.clone()
        };
        let x = quantitative(value, &axis, values);
        let by_target = json!({
            "field": TARGET, "type": "nominal", "title": null,
            "scale": { "domain": targets, "range": colors },
        });
        let mut layers = vec![json!({
            "mark": { "type": "bar", "cornerRadiusEnd": 2, "strokeWidth": 1, "tooltip": { "content": "data" } },
            "encoding": {
                "y": y, "yOffset": offset, "x": x,
                "color": by_target, "stroke": by_target,
                "fillOpacity": {
                    "field": STATE, "type": "ordinal", "title": null,
                    "scale": { "domain": states, "range": shades },
                },
                "opacity": opacity(TARGET, 1.0),
            },
        })];
        if self.has_intervals() {
            let mut low = x.clone();
            low["field"] = json!(LOW);
            layers.push(json!({
                "mark": { "type": "rule", "color": "--ink", "strokeWidth": 1.5, "tooltip": { "content": "data" } },
                "encoding": {
                    "y": y, "yOffset": offset,
                    "x": low, "x2": { "field": HIGH },
                    "opacity": opacity(TARGET, 1.0),
                },
            }));
        }
        json!({
            "params": chosen(),
            "data": { "name": "rows" },
            "height": groups.len() * (lanes.len() * LANE + GAP),
            "transform": [{ "calculate": "datum['target'] + '\\u0001' + datum['state']", "as": "lane" }],
            "layer": layers,
            "usermeta": {
                "kind": "bars", "value": value, "format": self.value.format, "targets": targets, "states": states,
                "colors": colors, "shades": shades,
            },
        })
    }
}

/// Where a bar stands within its group.
fn lane(target: &str, state: &str) -> String {
    format!("{target}\u{1}{state}")
}
