//! The tables of metrics in the documentation say what the list of metrics says.
//!
//! A table stands between `<!-- metrics of SECTION -->` and `<!-- end of metrics -->`, and is made by
//! `FSAGE_WRITE_TABLES=1 cargo test -p fsage-metrics --test tables`.

use fsage_metrics::Section;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const END: &str = "<!-- end of metrics -->";
const AGAIN: &str = "FSAGE_WRITE_TABLES=1 cargo test -p fsage-metrics --test tables";

fn table(section: Section) -> String {
    let mut table =
        String::from("| column | unit | better | control | what |\n|---|---|---|---|---|\n");
    for metric in section.metrics() {
        let control = if metric.has_control { "yes" } else { "" };
        let (id, unit, better) = (metric.id, metric.unit.name(), metric.better.name());
        let _ = writeln!(
            table,
            "| `{id}` | {unit} | {better} | {control} | {} |",
            metric.doc
        );
    }
    table
}

/// The page with its tables made anew, and the sections that they are of.
fn made_anew(page: &str) -> (String, Vec<Section>) {
    let (mut made, mut sections) = (String::new(), Vec::new());
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("<!-- metrics of ") {
        let (title, behind) = behind.split_once(" -->\n").expect("a title, and ` -->`");
        let (_, behind) = behind.split_once(END).expect("an end of the table");
        let section = Section::ALL
            .into_iter()
            .find(|section| section.title() == title);
        let section = section.unwrap_or_else(|| panic!("there is no section `{title}`"));
        let table = table(section);
        let _ = write!(made, "{before}<!-- metrics of {title} -->\n{table}{END}");
        sections.push(section);
        rest = behind;
    }
    (made + rest, sections)
}

#[test]
fn tables_of_metrics_are_those_of_the_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = fs::read_to_string(&path).expect("the page on metrics");
    let (made, sections) = made_anew(&page);
    assert_eq!(sections, Section::ALL, "a table for each section");
    if made == page {
        return;
    }
    if std::env::var_os("FSAGE_WRITE_TABLES").is_some() {
        return fs::write(&path, made).expect("the page is written");
    }
    panic!("docs/metrics.md: a table of metrics is out of date; `{AGAIN}` makes it");
}

#[test]
fn a_table_that_is_out_of_date_is_made_anew_and_the_rest_stays() {
    let page = format!("before\n<!-- metrics of Layout -->\n| old |\n{END}\nbehind\n");
    let (made, sections) = made_anew(&page);
    assert_eq!(sections, [Section::Layout]);
    assert!(made.starts_with("before\n<!-- metrics of Layout -->\n| column |"));
    assert!(made.ends_with("\nbehind\n") && !made.contains("| old |"));
    assert!(
        made.contains("| `layout_score` | score | more | yes | Of all blocks"),
        "{made}"
    );
    assert_eq!(made_anew(&made).0, made);
}
