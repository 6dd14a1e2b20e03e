//! What must hold for the specifications and the data of charts.

use crate::kit::{HOSTILE, decoded, exhibits, parts, report_of};
use fsage_report::charts::{Bar, Point, Series};
use fsage_report::{Axis, Bars, Exhibit, Format, Lines, Scale, render};
use serde_json::Value;

/// All values of a key, at any depth.
fn values_of<'a>(part: &'a Value, key: &str, out: &mut Vec<&'a Value>) {
    match part {
        Value::Object(map) => {
            out.extend(map.get(key));
            map.values().for_each(|value| values_of(value, key, out));
        }
        Value::Array(items) => items.iter().for_each(|item| values_of(item, key, out)),
        _ => {}
    }
}

#[test]
fn specifications_name_columns_that_the_data_has() {
    for text in HOSTILE
        .iter()
        .chain(&["", "low", "series", "value", "a.b[c]"])
    {
        for exhibit in exhibits(text) {
            let Exhibit::Chart(chart) = exhibit else {
                continue;
            };
            let (mut fields, mut computed) = (Vec::new(), Vec::new());
            values_of(&chart.spec, "field", &mut fields);
            values_of(&chart.spec, "as", &mut computed);
            assert!(fields.len() >= 3);
            let names: Vec<&str> = chart
                .data
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect();
            for field in fields {
                let name = field.as_str().expect("a name");
                assert!(
                    names.contains(&name) || computed.contains(&field),
                    "{name:?} of {names:?}"
                );
                assert!(
                    !name.contains(['.', '[', ']', '\\', '\'', '"']),
                    "{name:?} is a path to Vega"
                );
            }
            let mut once = names.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), names.len(), "{names:?}");
        }
    }
}

#[test]
fn numbers_come_to_the_page_with_six_digits_and_gaps_stay_gaps() {
    let points = [
        (1.0, Some(0.123_456_78)),
        (2.0, None),
        (3.0, Some(f64::NAN)),
        (4.0, Some(1e-9)),
        (5.0, Some(1e12 + 1.0)),
    ];
    let lines = Lines {
        id: "lines".into(),
        x: Axis {
            label: "day".into(),
            ..Axis::default()
        },
        y: Axis {
            label: "score".into(),
            ..Axis::default()
        },
        series: vec![Series {
            name: "a".into(),
            points: points
                .map(|(x, y)| Point {
                    x,
                    y,
                    interval: None,
                })
                .to_vec(),
            ..Series::default()
        }],
        ..Lines::default()
    };
    let (data, _) = parts(&render(&report_of(lines.into_chart())).expect("a page"));
    let columns = &data["charts"]["lines"]["columns"];
    let numbers =
        |i: usize| -> Vec<Option<f64>> { decoded(&columns[i]).iter().map(Value::as_f64).collect() };
    assert_eq!(numbers(1), [1.0, 2.0, 3.0, 4.0, 5.0].map(Some));
    // Six significant digits, but an integer as it is.
    assert_eq!(
        numbers(2),
        [
            Some(0.123_457),
            None,
            None,
            Some(1e-9),
            Some(1_000_000_000_001.0)
        ]
    );
}

#[test]
fn a_year_of_a_steady_curve_takes_few_bytes() {
    let series = (0..10).map(|i| Series {
        name: format!("target {i}"),
        target: i,
        points: (1..=365)
            .map(|day| Point {
                x: f64::from(day),
                y: Some(1.0 - f64::from(day) * 1e-4),
                interval: None,
            })
            .collect(),
        ..Series::default()
    });
    let lines = Lines {
        id: "lines".into(),
        series: series.collect(),
        ..Lines::default()
    };
    let (data, _) = parts(&render(&report_of(lines.into_chart())).expect("a page"));
    let columns = data["charts"]["lines"]["columns"]
        .as_array()
        .expect("columns")
        .clone();
    for column in &columns {
        assert_eq!(decoded(column).len(), 3650);
        // Ten names or ten jumps back to the first day: a few hundred bytes, where the values take 15,000.
        assert!(column.to_string().len() < 600, "{column}");
    }
    let last = decoded(&columns[2]).last().and_then(Value::as_f64);
    assert_eq!(last, Some(0.9635));
}

#[test]
fn charts_of_nothing_of_one_point_and_of_no_number_have_axes() {
    let nothing: [&[(f64, f64)]; 5] = [
        &[],
        &[(1.0, 0.5)],
        &[(f64::NAN, f64::NAN)],
        &[(0.0, 0.0)],
        &[(f64::INFINITY, -1.0)],
    ];
    for values in nothing {
        for scale in [Scale::Linear, Scale::Log] {
            let axis = Axis {
                label: "axis".into(),
                format: Format::Bytes,
                scale,
                ..Axis::default()
            };
            let points = values.iter().map(|&(x, y)| Point {
                x,
                y: Some(y),
                interval: Some((y, y)),
            });
            let lines = Lines {
                id: "lines".into(),
                x: axis.clone(),
                y: axis.clone(),
                series: vec![Series {
                    points: points.collect(),
                    ..Series::default()
                }],
                ..Lines::default()
            };
            let bars = Bars {
                id: "bars".into(),
                value: axis,
                bars: values
                    .iter()
                    .map(|&(value, _)| Bar {
                        value,
                        ..Bar::default()
                    })
                    .collect(),
                ..Bars::default()
            };
            for chart in [lines.into_chart(), bars.into_chart()] {
                let mut domains = Vec::new();
                values_of(&chart.spec, "domain", &mut domains);
                for domain in domains {
                    let Some([low, high]) = domain.as_array().map(Vec::as_slice) else {
                        continue;
                    };
                    if let (Some(low), Some(high)) = (low.as_f64(), high.as_f64()) {
                        assert!(
                            low < high && (scale == Scale::Linear || low > 0.0),
                            "{low} to {high}"
                        );
                    } else {
                        assert!(low.is_string(), "{domain}");
                    }
                }
                render(&report_of(chart)).expect("a page");
            }
        }
    }
}
