//! Reports with a text everywhere, and pages taken apart.

use fsage_report::charts::{Bar, Point, Published, Series, Stack};
use fsage_report::{
    Axis, Bars, Chart, Command, DataTable, Exhibit, Fact, Finding, Folded, Format, Lines, Report,
    Section, Sheet, Stacks, Target, Term, Tone,
};
use serde_json::Value;

/// Names as they may stand in a workload or on a command line.
pub const HOSTILE: [&str; 7] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "it's \"quoted\" & <b>bold</b>",
    "a\nb\r\nc\td",
    "\u{0}\u{1b}[31mred\u{7f}\u{202e}txt.exe\u{2028}\u{2029}",
    "invalid \u{fffd}\u{fffd} UTF-8",
    "{{ 7 * 7 }}{% for x in y %}${1}`",
];

pub fn exhibits(text: &str) -> Vec<Exhibit> {
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
pub fn full(text: &str) -> Report {
    let fact = Fact {
        label: text.into(),
        value: text.into(),
    };
    Report {
        title: text.into(),
        subtitle: text.into(),
        folded: Folded {
            title: text.into(),
            findings: vec![Finding {
                text: text.to_owned(),
                ..Finding::default()
            }],
        },
        verdict: vec![Finding {
            text: text.into(),
            tone: Tone::Good,
            section: Some("decay".into()),
        }],
        missing: vec![text.into()],
        doubts: vec![text.into()],
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

pub fn report_of(chart: Chart) -> Report {
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
pub fn parts(page: &str) -> (Value, String) {
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
pub fn decoded(column: &Value) -> Vec<Value> {
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
