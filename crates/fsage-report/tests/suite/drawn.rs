//! Pages of a program that was built without Vega.

use crate::kit::{HOSTILE, decoded, full, parts, report_of};
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Format, Lines, render, render_static};
use serde_json::Value;

/// Without a program that draws, all that a reader sees of a chart is in the page: its shapes, the labels of its
/// axes, its names.
#[test]
fn a_page_without_vega_has_its_charts_as_pictures_and_says_so() {
    let page = render_static(&full("plain")).expect("a page");
    let (data, markup) = parts(&page);
    assert_eq!(markup.matches("<svg class=\"drawn\"").count(), 3);
    let sentence = "The charts of this page are static pictures: this fsage was built without Vega";
    assert_eq!(markup.matches(sentence).count(), 1);
    assert!(!markup.contains("Licenses of what draws"));
    assert!(!page.contains("vegaEmbed(") && page.len() < 200_000);
    // The data is there all the same, to be shown and downloaded.
    assert_eq!(
        decoded(&data["charts"]["bars"]["columns"][0]),
        [Value::from("plain")]
    );
    for part in [
        "class=\"curve\"",
        "class=\"band\"",
        "class=\"ring\"",
        "class=\"part\"",
        "<rect",
        ">share of plain</text>",
        "band: interval",
    ] {
        assert!(markup.contains(part), "{part}");
    }
    if let Some(vega) = render(&full("plain"))
        .ok()
        .filter(|page| page.contains("vegaEmbed("))
    {
        // Until Vega draws, and where no script may run, the pictures stand there.
        let (_, markup) = parts(&vega);
        assert!(markup.contains("<svg class=\"drawn\"") && !markup.contains(sentence));
    }
}

/// Half way from day 0 to day 10, and from 0 % to 100 %.
#[test]
fn a_static_curve_goes_where_its_points_are_and_is_broken_where_none_is_known() {
    let point = |x, y| Point {
        x,
        y,
        interval: None,
    };
    let lines = Lines {
        id: "lines".into(),
        y: Axis {
            format: Format::Percent,
            ..Axis::default()
        },
        series: vec![Series {
            name: "a".into(),
            points: vec![
                point(0.0, Some(0.0)),
                point(5.0, Some(0.5)),
                point(6.0, None),
                point(10.0, Some(1.0)),
            ],
            ..Series::default()
        }],
        ..Lines::default()
    };
    let page = render_static(&report_of(lines.into_chart())).expect("a page");
    let path = page.split_once("class=\"curve\" d=\"").expect("a legend").1;
    let path = path.split_once("class=\"curve\" d=\"").expect("a curve").1;
    let path = path.split('"').next().expect("its end");
    let places: Vec<Vec<f64>> = path
        .split(['M', 'L'])
        .skip(1)
        .map(|place| {
            place
                .split(',')
                .map(|n| n.parse().expect("a number"))
                .collect()
        })
        .collect();
    assert_eq!(path.matches('M').count(), 2, "{path}");
    assert_eq!(places.len(), 3);
    let middle = |axis: usize| f64::midpoint(places[0][axis], places[2][axis]);
    let is_between = (0..2).all(|axis| (places[1][axis] - middle(axis)).abs() < 0.11);
    assert!(is_between, "{path}");
    assert!(places[2][1] < places[0][1], "more is higher: {path}");
}

#[test]
fn static_charts_of_nothing_say_so_and_hostile_names_do_no_harm() {
    let empty = Lines {
        id: "lines".into(),
        ..Lines::default()
    };
    let page = render_static(&report_of(empty.into_chart())).expect("a page");
    assert!(page.contains("<p class=\"empty\">No data.</p>"));
    let own_scripts = page.matches("<script").count();
    for text in HOSTILE {
        let page = render_static(&full(text)).expect("a page");
        assert_eq!(page.matches("<script").count(), own_scripts, "{text:?}");
        let (_, markup) = parts(&page);
        for element in ["<img", "<b>", "NaN"] {
            assert!(!markup.contains(element), "{element} of {text:?}");
        }
    }
}
