//! The data of the page, as JSON that is safe inside of a `script` element, and small.
//!
//! A column is written in the shortest of four forms: its values, or their differences, each either one by one or as
//! runs (value, count, value, count). `assets/data.js` reads them.

use crate::data::{Cell, DataTable, rounded};
use crate::model::{Exhibit, Report};
use serde_json::{Value, json};

/// Significant digits of a number that is no integer.
const DIGITS: i32 = 6;
/// Most decimals that differences are written with.
const MAX_DECIMALS: i32 = 9;
/// Integers up to here are exact.
const MAX_EXACT: f64 = 9e15;

/// All that the scripts of the page need, but the block maps.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    let mut charts = serde_json::Map::new();
    let mut tables = serde_json::Map::new();
    for exhibit in report.sections.iter().flat_map(|section| &section.exhibits) {
        match exhibit {
            Exhibit::Chart(chart) => charts.insert(
                chart.id.clone(),
                json!({
                    "title": chart.title,
                    "description": chart.description,
                    "spec": chart.spec,
                    "columns": columns(&chart.data),
                }),
            ),
            Exhibit::Table(sheet) => tables.insert(
                sheet.id.clone(),
                json!({ "title": sheet.title, "columns": columns(&sheet.data) }),
            ),
        };
    }
    let targets: Vec<&str> = report.targets.iter().map(|t| t.name.as_str()).collect();
    let all =
        json!({ "title": report.title, "targets": targets, "charts": charts, "tables": tables });
    Ok(script_safe(&serde_json::to_string(&all)?))
}

/// JSON that neither ends its `script` element nor its line, whatever is in it. These characters stand in strings only.
pub fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

fn columns(table: &DataTable) -> Vec<Value> {
    let names = table.columns.iter().enumerate();
    names
        .map(|(i, column)| {
            let cells = table
                .rows
                .iter()
                .map(|row| row.get(i).unwrap_or(&Cell::Null));
            shortest(&column.name, &cells.map(value).collect::<Vec<Value>>())
        })
        .collect()
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Number(x) => number(rounded(*x, DIGITS)),
        Cell::Text(text) => text.as_str().into(),
        Cell::Null => Value::Null,
    }
}

/// An integer without `.0`; what is no finite number is not known.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < MAX_EXACT {
        Value::from(x as i64)
    } else {
        Value::from(x)
    }
}

fn shortest(name: &str, values: &[Value]) -> Value {
    let mut forms = vec![
        json!({ "name": name, "values": values }),
        json!({ "name": name, "runs": runs(values) }),
    ];
    if let Some((decimals, steps)) = differences(values) {
        forms.push(json!({ "name": name, "decimals": decimals, "steps": steps }));
        forms.push(json!({ "name": name, "decimals": decimals, "step_runs": runs(&steps) }));
    }
    let lengths = forms.into_iter().map(|form| (form.to_string().len(), form));
    let shortest = lengths.min_by_key(|(length, _)| *length);
    shortest.expect("there are two forms at least").1
}

fn runs(values: &[Value]) -> Vec<Value> {
    let runs = values.chunk_by(|a, b| a == b);
    runs.flat_map(|run| [run[0].clone(), run.len().into()])
        .collect()
}

/// Differences from one known value to the next, in units of the last of the decimals that all values have.
fn differences(values: &[Value]) -> Option<(i32, Vec<Value>)> {
    let known = || values.iter().filter(|v| !v.is_null());
    let decimals = (0..=MAX_DECIMALS).find(|&decimals| {
        known().all(|v| v.as_f64().is_some_and(|x| units(x, decimals).is_some()))
    })?;
    let mut before = 0;
    let steps = values.iter().map(|v| {
        let Some(units) = v.as_f64().and_then(|x| units(x, decimals)) else {
            return Value::Null;
        };
        let step = units - before;
        before = units;
        step.into()
    });
    Some((decimals, steps.collect()))
}

/// `x` as an integer of this many decimals, where it is one.
fn units(x: f64, decimals: i32) -> Option<i64> {
    let scale = 10f64.powi(decimals);
    let units = (x * scale).round();
    (units.abs() < MAX_EXACT && (units / scale).total_cmp(&x).is_eq()).then_some(units as i64)
}
