//! What must hold for every page: it is whole, it is harmless, and its data is what the report says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fsage_report::charts::{Bar, Point, Published, Series, Stack};
use fsage_report::{
    Axis, Bars, Cell, Chart, Command, DataTable, Exhibit, Fact, Finding, Format, Lines,
    RenderError, Report, Scale, Section, Sheet, Stacks, Target, Term, Tone, render,
};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

/// Names as they may stand in a workload or on a command line.
const HOSTILE: [&str; 7] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "it's \"quoted\" & <b>bold</b>",
    "a\nb\r\nc\td",
    "\u{0}\u{1b}[31mred\u{7f}\u{202e}txt.exe\u{2028}\u{2029}",
    "invalid \u{fffd}\u{fffd} UTF-8",
    "{{ 7 * 7 }}{% for x in y %}${1}`",
];

fn exhibits(text: &str) -> Vec<Exhibit> {
    let axis = |format| Axis {
        label: text.into(),
        format,
        ..Axis::default()
    };
    let lines = Lines {
        id: "lines".into(),
        title: text.into(),
        description: text.into(),
        x: axis(Format::Number),
        y: axis(Format::Percent),
        series: vec![Series {
            name: text.into(),
            points: vec![Point {
                x: 1.0,
                y: Some(0.5),
                interval: Some((0.4, 0.6)),
            }],
            ..Series::default()
        }],
        published: vec![Published {
            series: text.into(),
            x: 1.0,
            y: 0.5,
        }],
    };
    let bars = Bars {
        id: "bars".into(),
        title: text.into(),
        description: text.into(),
        value: axis(Format::Number),
        targets: vec![text.into()],
        bars: vec![Bar {
            group: text.into(),
            state: text.into(),
            value: 1.0,
            ..Bar::default()
        }],
    };
    let stacks = Stacks {
        id: "stacks".into(),
        title: text.into(),
        description: text.into(),
        value: axis(Format::Bytes),
        stacks: vec![Stack {
            name: text.into(),
            parts: vec![(text.into(), 1.0)],
        }],
    };
    let mut data = DataTable::new(&[text]);
    data.rows.push(vec![text.into()]);
    let sheet = Sheet {
        id: "sheet".into(),
        title: text.into(),
        description: text.into(),
        data,
    };
    vec![
        Exhibit::Chart(lines.into_chart()),
        Exhibit::Chart(bars.into_chart()),
        Exhibit::Chart(stacks.into_chart()),
        Exhibit::Table(sheet),
    ]
}

/// A report that has this text wherever it may have one.
fn full(text: &str) -> Report {
    let fact = Fact {
        label: text.into(),
        value: text.into(),
    };
    Report {
        title: text.into(),
        subtitle: text.into(),
        verdict: vec![Finding {
            text: text.into(),
            tone: Tone::Good,
            section: Some("decay".into()),
        }],
        missing: vec![text.into()],
        targets: vec![Target {
            name: text.into(),
            spec: text.into(),
            facts: vec![fact.clone()],
        }],
        facts: vec![fact],
        commands: vec![Command {
            what: text.into(),
            line: text.into(),
        }],
        sections: vec![Section {
            id: "decay".into(),
            title: text.into(),
            lead: text.into(),
            exhibits: exhibits(text),
        }],
        maps: Vec::new(),
        terms: vec![Term {
            name: text.into(),
            meaning: text.into(),
        }],
    }
}

fn report_of(chart: Chart) -> Report {
    let section = Section {
        id: "section".into(),
        exhibits: vec![Exhibit::Chart(chart)],
        ..Section::default()
    };
    Report {
        sections: vec![section],
        ..Report::default()
    }
}

/// The data that the scripts of a page read, and the markup without any script and style.
fn parts(page: &str) -> (Value, String) {
    let from = "<script type=\"application/json\" id=\"fsage-data\">";
    let (_, rest) = page.split_once(from).expect("the data of the page");
    let (json, _) = rest.split_once("</script>").expect("its end");
    let mut markup = page.to_owned();
    for name in ["script", "style"] {
        while let Some(start) = markup.find(&format!("<{name}")) {
            let end = format!("</{name}>");
            let length = markup[start..].find(&end).expect("its end") + end.len();
            markup.replace_range(start..start + length, "");
        }
    }
    (serde_json::from_str(json).expect("JSON"), markup)
}

/// The values of a column, decoded as the module comment of `payload.rs` says.
fn decoded(column: &Value) -> Vec<Value> {
    let unrun = |runs: &Value| -> Vec<Value> {
        let runs = runs.as_array().expect("runs");
        let pairs = runs.chunks(2);
        pairs
            .flat_map(|pair| vec![pair[0].clone(); pair[1].as_u64().expect("a count") as usize])
            .collect()
    };
    let steps = match (column.get("steps"), column.get("step_runs")) {
        (Some(steps), _) => steps.as_array().expect("steps").clone(),
        (_, Some(runs)) => unrun(runs),
        _ => {
            return column.get("values").map_or_else(
                || unrun(&column["runs"]),
                |v| v.as_array().expect("values").clone(),
            );
        }
    };
    let scale = 10f64.powi(column["decimals"].as_i64().expect("decimals") as i32);
    let mut sum = 0;
    let values = steps.iter().map(|step| {
        let Some(step) = step.as_i64() else {
            return Value::Null;
        };
        sum += step;
        Value::from(sum as f64 / scale)
    });
    values.collect()
}

#[test]
fn text_from_outside_does_no_harm_wherever_it_stands() {
    let empty = render(&Report::default()).expect("a page");
    let own_scripts = empty.matches("<script").count();
    for text in HOSTILE {
        let page = render(&full(text)).expect("a page");
        assert_eq!(page.matches("<script").count(), own_scripts, "{text:?}");
        let (data, markup) = parts(&page);
        for element in ["<img", "<b>", "onerror=alert(2)>"] {
            assert!(!markup.contains(element), "{element} of {text:?}");
        }
        assert!(
            !markup.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
            "{text:?}"
        );
        assert!(!markup.contains(['\u{202e}', '\u{2028}']), "{text:?}");
        // Scripts have the text as it is: nothing is lost in a download.
        assert_eq!(data["targets"][0], text);
        assert_eq!(data["charts"]["lines"]["title"], text);
        assert_eq!(decoded(&data["tables"]["sheet"]["columns"][0]), [text]);
        assert_eq!(decoded(&data["charts"]["bars"]["columns"][0]), [text]);
    }
}

#[test]
fn hostile_text_can_be_read() {
    let (_, markup) = parts(&render(&full(HOSTILE[0])).expect("a page"));
    let escaped = "&lt;&#x2f;script&gt;&lt;script&gt;alert(1)&lt;&#x2f;script&gt;";
    assert!(markup.contains(escaped));
    let (_, markup) = parts(&render(&full(HOSTILE[4])).expect("a page"));
    // Control pictures of Unicode: the block U+2400 has one for each control character, in their order.
    assert!(
        markup.contains("\u{2400}\u{241b}[31mred\u{2421}"),
        "{markup}"
    );
    assert!(markup.contains("&lt;U+202E&gt;"));
}

#[test]
fn a_page_asks_nothing_of_any_network() {
    let page = render(&full("plain")).expect("a page");
    let (_, markup) = parts(&page);
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!markup.contains(word), "{word}");
    }
    assert!(markup.contains("default-src 'none'"));
    assert!(!page.contains("unsafe-eval"));
    let sources = markup.split_once("script-src ").expect("a policy").1;
    let (sources, _) = sources.split_once(';').expect("more of it");
    assert!(!sources.contains("unsafe"), "{sources}");
    let style = page
        .split_once("<style>")
        .and_then(|(_, rest)| rest.split_once("</style>"));
    let (style, _) = style.expect("a style");
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn an_empty_report_is_a_page_below_a_megabyte() {
    let page = render(&Report::default()).expect("a page");
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(page.contains("There is nothing to compare."));
}

#[test]
fn every_id_of_a_page_is_its_only_one_and_every_link_leads_somewhere() {
    let (_, markup) = parts(&render(&full("plain")).expect("a page"));
    let values = |attribute: &str| -> Vec<&str> {
        let parts = markup.split(attribute).skip(1);
        parts.filter_map(|rest| rest.split('"').next()).collect()
    };
    let mut ids = values(" id=\"");
    assert!(ids.len() > 15, "{ids:?}");
    for target in values("href=\"#") {
        assert!(ids.contains(&target), "#{target}");
    }
    for target in values("aria-labelledby=\"") {
        assert!(ids.contains(&target), "{target}");
    }
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn two_parts_of_one_name_are_an_error_that_says_which() {
    let mut report = full("plain");
    report.sections.push(Section {
        id: "bars".into(),
        ..Section::default()
    });
    assert!(matches!(render(&report), Err(RenderError::SameId(id)) if id == "bars"));
    report.sections[1].id = "terms".into();
    assert!(matches!(render(&report), Err(RenderError::SameId(id)) if id == "terms"));
}

#[test]
fn a_finding_that_names_no_section_of_the_page_has_no_link() {
    let mut report = full("plain");
    report.verdict[0].section = Some("elsewhere".into());
    let (_, markup) = parts(&render(&report).expect("a page"));
    assert!(!markup.contains("#elsewhere"));
}

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
                from_zero: false,
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

#[test]
fn exhibits_explain_the_metrics_that_they_name() {
    let mut report = full("The layout score, by day");
    report.terms = vec![
        Term {
            name: "Layout score".into(),
            meaning: "How well.".into(),
        },
        Term {
            name: "layout".into(),
            meaning: "Where.".into(),
        },
        Term {
            name: "out score".into(),
            meaning: "Half a word.".into(),
        },
    ];
    let (_, markup) = parts(&render(&report).expect("a page"));
    assert!(markup.contains("What is “Layout score”?"));
    assert!(!markup.contains("What is “out score”?"));
}

#[test]
fn cells_are_what_they_are() {
    let mut data = DataTable::new(&["name", "count"]);
    data.rows.push(vec!["a".into(), 1_234_567.0.into()]);
    data.rows.push(vec![Cell::Null, f64::NAN.into()]);
    let sheet = Sheet {
        id: "sheet".into(),
        title: "Sheet".into(),
        data,
        ..Sheet::default()
    };
    let section = Section {
        id: "section".into(),
        exhibits: vec![Exhibit::Table(sheet)],
        ..Section::default()
    };
    let report = Report {
        sections: vec![section],
        ..Report::default()
    };
    let (_, markup) = parts(&render(&report).expect("a page"));
    assert!(
        markup.contains("<th scope=\"col\">name</th><th scope=\"col\" class=\"number\">count</th>"),
        "{markup}"
    );
    assert!(markup.contains("<td class=\"short\">a</td><td class=\"number\">1,234,567</td>"));
    assert!(markup.contains("<td>\u{2013}</td><td>\u{2013}</td>"));
}

/// A browser runs a script only if the policy has the hash of exactly what stands in the element.
#[test]
fn every_script_of_a_page_is_named_by_its_hash_and_nothing_else_is() {
    let page = render(&full("plain")).expect("a page");
    let policy = page.split_once("script-src ").expect("a policy").1;
    let policy = policy.split_once(';').expect("more of it").0;
    let named: Vec<String> = policy.split(' ').map(hex_of_source).collect();
    let scripts = page.split("<script>").skip(1).map(|rest| {
        let (script, _) = rest.split_once("</script>").expect("an end");
        assert!(
            !script.contains(['\r', '\0']),
            "a browser reads it otherwise"
        );
        sha256sum(script)
    });
    assert_eq!(named, scripts.collect::<Vec<_>>());
}

/// The hash by the system's own program.
fn sha256sum(text: &str) -> String {
    let mut child = std::process::Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sha256sum runs");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout)[..64].to_owned()
}

/// `'sha256-BASE64'` in hexadecimal digits.
fn hex_of_source(source: &str) -> String {
    let base64 = source.strip_prefix("'sha256-").expect("a hash");
    let base64 = base64.strip_suffix("'").expect("a quote");
    let bytes = STANDARD.decode(base64).expect("base64");
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
