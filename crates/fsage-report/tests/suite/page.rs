//! What must hold for every page: it is whole, it is harmless, and its data is what the report says.

use crate::kit::{HOSTILE, decoded, full, parts};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fsage_report::{
    Cell, DataTable, Exhibit, RenderError, Report, Section, Sheet, Term, render, render_static,
};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

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
    for page in [render(&full("plain")), render_static(&full("plain"))] {
        let page = page.expect("a page");
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
