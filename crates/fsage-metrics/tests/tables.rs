//! The tables of metrics in the documentation say what the list of metrics says.
//!
//! A table stands between `<!-- metrics of SECTION -->` and `<!-- end of metrics -->`, on the page of words between
//! `<!-- words of metrics: COLUMN, ... -->` and the same end, and is made by
//! `FSAGE_WRITE_TABLES=1 cargo test -p fsage-metrics --test tables`.

use fsage_metrics::{METRICS, Section};
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

/// Metrics as words, by their columns.
fn words(columns: &str) -> String {
    let mut table = String::from("| word | column | means |\n|---|---|---|\n");
    for column in columns.split(", ") {
        let metric = METRICS.iter().find(|metric| metric.id == column);
        let metric = metric.unwrap_or_else(|| panic!("there is no metric `{column}`"));
        let _ = writeln!(
            table,
            "| {} | `{column}` | {} |",
            metric.title.trim(),
            metric.doc
        );
    }
    table
}

/// The page with what stands behind such a beginning made anew, and what each of them names.
fn remade<'a>(
    page: &'a str,
    begin: &str,
    table: impl Fn(&str) -> String,
) -> (String, Vec<&'a str>) {
    let (mut made, mut names) = (String::new(), Vec::new());
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once(begin) {
        let (name, behind) = behind.split_once(" -->\n").expect("a name, and ` -->`");
        let (_, behind) = behind.split_once(END).expect("an end of the table");
        let _ = write!(made, "{before}{begin}{name} -->\n{}{END}", table(name));
        names.push(name);
        rest = behind;
    }
    (made + rest, names)
}

/// The page with its tables of sections made anew, and the sections that they are of.
fn made_anew(page: &str) -> (String, Vec<Section>) {
    let section = |title: &str| {
        let mut all = Section::ALL.into_iter();
        let section = all.find(|section| section.title() == title);
        section.unwrap_or_else(|| panic!("there is no section `{title}`"))
    };
    let (made, titles) = remade(page, "<!-- metrics of ", |title| table(section(title)));
    (made, titles.into_iter().map(section).collect())
}

/// That a page is as it is made, or makes it so where that is asked for.
fn is_up_to_date(name: &str, make: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    let page = fs::read_to_string(&path).expect("a page");
    let made = make(&page);
    if made == page {
        return;
    }
    if std::env::var_os("FSAGE_WRITE_TABLES").is_some() {
        return fs::write(&path, made).expect("the page is written");
    }
    panic!("docs/{name}: a table of metrics is out of date; `{AGAIN}` makes it");
}

#[test]
fn tables_of_metrics_are_those_of_the_list() {
    is_up_to_date("metrics.md", |page| {
        let (made, sections) = made_anew(page);
        assert_eq!(sections, Section::ALL, "a table for each section");
        made
    });
}

/// Each word of the page is in one table, once.
#[test]
fn words_that_are_metrics_have_the_words_of_the_list() {
    is_up_to_date("words.md", |page| {
        let (made, named) = remade(page, "<!-- words of metrics: ", words);
        assert_eq!(named.len(), 1, "a table of metrics");
        let rows = made.lines().filter_map(|line| line.strip_prefix("| "));
        let firsts = rows
            .filter_map(|row| row.split(" | ").next())
            .filter(|word| *word != "word");
        let words: Vec<&str> = firsts.flat_map(|words| words.split(", ")).collect();
        for (at, word) in words.iter().enumerate() {
            assert!(
                !words[..at].contains(word),
                "`{word}` stands on the page twice"
            );
        }
        made
    });
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
