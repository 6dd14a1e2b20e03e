//! The page of a reproduction, as a report.

use super::by_figure;
use super::comparison::{Line, Tally, Verdict};
use super::figure::{BarChart, Exhibit, Figure, Sheet};
use super::paper::Paper;
use super::together;
use super::{Reproduction, facts};
use fsage_lab::build::Build;
use fsage_report::charts::{Bar, Bars, Point, Published, Series};
use fsage_report::svg;
use fsage_report::{
    self as page, Axis, Cell, Command, DataTable, Fact, Finding, Format, Lines, Report, Scale,
    Section, Target, Tone,
};

/// How many causes stand above the figures.
const CAUSES_FIRST: usize = 3;
/// Rows that are met which the verdict names.
const AGREES_FIRST: usize = 4;

/// What stands on the page.
pub fn report(paper: &Paper, made: &Reproduction) -> Report {
    let run = &paper.run;
    let sections = [
        Section {
            id: "figures".to_owned(),
            title: "Figures and tables".to_owned(),
            lead: "Diamonds are published values; in the SVG files of the folder they are rings.".to_owned(),
            exhibits: made.exhibits.iter().map(|exhibit| shown(paper, exhibit)).collect(),
        },
        Section {
            id: "comparison".to_owned(),
            title: "Beside the paper".to_owned(),
            lead: "Every figure, table and claim of the paper, with ours beside it, and how the published value is \
                   known. Met is a figure that agrees within the band of its kind, and a statement that holds for our \
                   curves. Inputs and what is true by construction are no results, and do not count."
                .to_owned(),
            exhibits: by_figure::sheet(&made.lines)
                .map(|sheet| page::Exhibit::Table(table(&sheet)))
                .into_iter()
                .chain([comparison(&made.lines)])
                .collect(),
        },
        Section {
            id: "causes".to_owned(),
            title: "Why rows differ".to_owned(),
            lead: "What is known of each, with the run or the table that shows it. Where a run meets a row, what it \
                   changes is the cause; where it does not, the text says how far it moves the row. They were found \
                   with the options that are printed."
                .to_owned(),
            exhibits: causes(paper, &made.lines).into_iter().collect(),
        },
    ];
    let sections = sections
        .into_iter()
        .filter(|section| !section.exhibits.is_empty());
    Report {
        title: run.title.clone(),
        subtitle: format!(
            "{}. {}. Reproduced by {}",
            run.authors,
            run.published,
            Build::this()
        ),
        verdict: verdict(paper, &made.lines),
        targets: run
            .targets
            .iter()
            .map(|(name, spec)| Target {
                name: name.clone(),
                spec: spec.clone(),
                facts: Vec::new(),
            })
            .collect(),
        facts: [
            ("question", run.question.clone()),
            ("what is run", facts(paper)),
            (
                "to cite",
                format!(
                    "the paper, and {} with the command below; `CITATION.cff` has the entry",
                    Build::this()
                ),
            ),
            (
                "data",
                "CSV files beside this page, one a figure or table; comparison.csv has every row"
                    .to_owned(),
            ),
        ]
        .map(|(label, value)| Fact {
            label: label.to_owned(),
            value,
        })
        .to_vec(),
        commands: vec![Command {
            what: "Run it again:".to_owned(),
            line: again(paper),
        }],
        sections: sections.collect(),
        ..Report::default()
    }
}

/// The tally, of a quick look behind what that means; otherwise what differs, a finding a cause, of which the first are
/// shown.
fn verdict(paper: &Paper, lines: &[Line]) -> Vec<Finding> {
    let finding = |text, tone, section: &str| Finding {
        text,
        tone,
        section: Some(section.to_owned()),
    };
    let tally = Tally::of(lines);
    if let Some(quick) = super::quick_look(paper) {
        // What it means comes before what it counts.
        let quick = finding(quick, Tone::Bad, "comparison");
        let counted = finding(tally.of_quick_look(), Tone::Neutral, "comparison");
        return vec![quick, counted];
    }
    let mut findings = vec![finding(tally.to_string(), Tone::Neutral, "comparison")];
    findings.extend(agrees(lines).map(|text| finding(text, Tone::Good, "comparison")));
    let before = findings.len();
    let causes = together::of_lines(paper, lines);
    for cause in &causes {
        let of_cause = |id: &String| lines.iter().find(|line| line.expected.id == *id);
        let is_open = |id: &&String| of_cause(id).is_some_and(|l| l.verdict == Verdict::Open);
        let (open, differ): (Vec<&String>, Vec<&String>) = cause.rows.iter().partition(is_open);
        let (verdict, tone, of) = if differ.is_empty() {
            ("Open", Tone::Neutral, open)
        } else {
            ("Differs", Tone::Bad, differ)
        };
        let statement = of.first().and_then(|id| of_cause(id));
        let statement = statement.map_or("", |line| &line.expected.statement);
        let ids: Vec<&str> = of.iter().map(|id| id.as_str()).collect();
        let others = match ids.len() {
            0 | 1 => String::new(),
            2 => ", and another row for the same reason".to_owned(),
            n => format!(", and {} other rows for the same reason", n - 1),
        };
        let text = format!(
            "{verdict}: {statement}{others} ({}). {}",
            ids.join(", "),
            cause.in_short()
        );
        findings.push(finding(text, tone, "causes"));
    }
    let has_cause = |line: &Line| causes.iter().any(|c| c.rows.contains(&line.expected.id));
    let others = lines
        .iter()
        .filter(|line| line.verdict == Verdict::Differs && !has_cause(line));
    findings.extend(others.map(|line| {
        // A statement has no figure.
        let published = line.expected.value;
        let published = published.map(|_| format!("published {}, ", line.published_text()));
        let text = format!(
            "Differs: {} ({}): {}ours {}.",
            line.expected.statement,
            line.expected.id,
            published.unwrap_or_default(),
            line.ours_text()
        );
        finding(text, Tone::Bad, "comparison")
    }));
    let more = findings.len().saturating_sub(before + CAUSES_FIRST);
    if more > 1 {
        findings.truncate(before + CAUSES_FIRST);
        let text = format!("{more} more causes stand below the figures.");
        findings.push(finding(text, Tone::Neutral, "causes"));
    }
    findings
}

/// The first rows that are met, those before others that say something of curves or of an order.
fn agrees(lines: &[Line]) -> Option<String> {
    let met = || lines.iter().filter(|line| line.verdict == Verdict::Met);
    let (said, figures): (Vec<&Line>, Vec<&Line>) =
        met().partition(|line| line.expected.value.is_none());
    let all: Vec<&str> = said
        .iter()
        .chain(&figures)
        .take(AGREES_FIRST)
        .map(|line| line.expected.statement.as_str())
        .collect();
    let more = match met().count() - all.len() {
        0 => String::new(),
        1 => "; and one more row".to_owned(),
        more => format!("; and {more} more rows"),
    };
    // Two targets may have one statement.
    let mut first: Vec<&str> = Vec::new();
    for statement in all {
        if !first.contains(&statement) {
            first.push(statement);
        }
    }
    (!first.is_empty()).then(|| format!("Agrees: {}{more}.", first.join("; ")))
}

fn comparison(lines: &[Line]) -> page::Exhibit {
    let mut data = DataTable::new(&[
        "id",
        "verdict",
        "statement",
        "published",
        "ours",
        "met within",
        "known",
        "place",
        "arithmetic, reading, reason",
    ]);
    // Results first: an input or a construction is no news.
    let (results, others): (Vec<&Line>, Vec<&Line>) =
        lines.iter().partition(|line| line.verdict.is_result());
    for line in results.into_iter().chain(others) {
        let row = &line.expected;
        let notes = [&row.source, &row.from, &row.measured, &row.not_measurable];
        let notes: Vec<&str> = notes.into_iter().flatten().map(String::as_str).collect();
        let further = [
            row.band_text().unwrap_or_default(),
            row.known.as_str().to_owned(),
            row.place.clone(),
            notes.join("; "),
        ];
        let mut cells = line.cells();
        // Where a narrow page still shows it.
        cells[1..].rotate_right(1);
        let cells = cells.into_iter().chain(further);
        data.rows.push(cells.map(Cell::from).collect());
    }
    page::Exhibit::Table(page::Sheet {
        id: "comparison-table".to_owned(),
        title: "Published and ours".to_owned(),
        description: Tally::of(lines).to_string(),
        data,
    })
}

/// What is known of why rows differ; nothing where none does.
fn causes(paper: &Paper, lines: &[Line]) -> Option<page::Exhibit> {
    let mut data = DataTable::new(&["rows", "why", "shown by"]);
    for cause in together::of_lines(paper, lines) {
        let cells = [
            cause.rows.join(", "),
            cause.cause.clone(),
            cause.experiment(),
        ];
        data.rows.push(cells.map(Cell::from).to_vec());
    }
    (!data.rows.is_empty()).then(|| {
        page::Exhibit::Table(page::Sheet {
            id: "causes-table".to_owned(),
            title: "Causes".to_owned(),
            description: String::new(),
            data,
        })
    })
}

fn shown(paper: &Paper, exhibit: &Exhibit) -> page::Exhibit {
    match exhibit {
        Exhibit::Figure(figure) => page::Exhibit::Chart(lines(paper, figure).into_chart()),
        Exhibit::Bars(chart) => page::Exhibit::Chart(bars(paper, chart).into_chart()),
        Exhibit::Sheet(sheet) => page::Exhibit::Table(table(sheet)),
    }
}

/// A page over several reproductions: a sentence that leads to the section `of` a sheet, and the sections. `how` is
/// what they are, behind a blank, and `arguments` what stands behind `fsage reproduce`.
pub fn over_several(
    (title, how): (&str, &str),
    arguments: &str,
    (sentence, of): (String, &Sheet),
    sections: Vec<Section>,
) -> Report {
    Report {
        title: title.to_owned(),
        subtitle: format!("Reproduced by {}{how}", Build::this()),
        commands: vec![Command {
            what: "Run it again:".to_owned(),
            line: format!("fsage reproduce {arguments}"),
        }],
        verdict: vec![Finding {
            text: sentence,
            tone: Tone::Neutral,
            section: Some(section_id(of)),
        }],
        sections,
        ..Report::default()
    }
}

/// A section of such a page: a table.
pub fn section(sheet: &Sheet, title: &str, lead: &str) -> Section {
    Section {
        id: section_id(sheet),
        title: title.to_owned(),
        lead: lead.to_owned(),
        exhibits: vec![page::Exhibit::Table(table(sheet))],
    }
}

fn section_id(sheet: &Sheet) -> String {
    format!("{}-section", sheet.slug)
}

/// A table of the page.
pub fn table(sheet: &Sheet) -> page::Sheet {
    let header: Vec<&str> = sheet.header.iter().map(String::as_str).collect();
    let mut data = DataTable::new(&header);
    let rows = sheet.rows.iter();
    data.rows
        .extend(rows.map(|row| row.iter().map(|cell| Cell::from(cell.as_str())).collect()));
    page::Sheet {
        id: sheet.slug.to_owned(),
        title: sheet.title.clone(),
        description: sheet.text.clone(),
        data,
    }
}

fn bars(paper: &Paper, chart: &BarChart) -> Bars {
    // Colors are those of the file systems; what is none comes behind them.
    let mut targets: Vec<String> = paper.run.targets.keys().cloned().collect();
    let bars = chart.bars.iter().map(|bar| {
        let known = targets.iter().position(|name| *name == bar.curve);
        let target = known.unwrap_or_else(|| {
            targets.push(bar.curve.clone());
            targets.len() - 1
        });
        Bar {
            group: bar.group.clone(),
            target,
            state: String::new(),
            value: bar.value,
            interval: bar.deviation.map(|d| (bar.value - d, bar.value + d)),
        }
    });
    let bars = bars.collect();
    Bars {
        id: chart.slug.to_owned(),
        title: chart.title.clone(),
        description: chart.text.clone(),
        value: Axis {
            label: chart.value_label.to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        targets,
        bars,
    }
}

fn lines(paper: &Paper, figure: &Figure) -> Lines {
    let (format, scale) = match figure.axis {
        svg::Axis::Linear => (Format::Number, Scale::Linear),
        svg::Axis::Bytes => (Format::Bytes, Scale::Log),
    };
    let mut places = Vec::new();
    let series = figure.curves.iter().map(|curve| {
        let place = place(paper, &curve.name);
        let dashed = places.contains(&place);
        places.push(place);
        let points = curve.points.iter().map(|point| Point {
            x: point.x,
            y: Some(point.y),
            interval: point.deviation.map(|d| (point.y - d, point.y + d)),
        });
        Series {
            name: curve.name.clone(),
            target: place,
            dashed,
            points: points.collect(),
        }
    });
    let series = series.collect();
    let published = figure.published.iter().map(|point| Published {
        series: point.curve.clone(),
        x: point.x,
        y: point.y,
    });
    Lines {
        id: figure.slug.to_owned(),
        title: figure.title.clone(),
        description: figure.text.clone(),
        x: Axis {
            label: figure.x_label.to_owned(),
            format,
            scale,
            ..Axis::default()
        },
        y: Axis {
            label: figure.y_label.to_owned(),
            ..Axis::default()
        },
        series,
        published: published.collect(),
    }
}

/// The file system that a curve is of: the one with the longest name that the curve begins with; a place of its own for
/// what is none.
fn place(paper: &Paper, curve: &str) -> usize {
    let targets = paper.run.targets.keys().enumerate();
    let named = targets.filter(|(_, name)| curve.starts_with(name.as_str()));
    let longest = named.max_by_key(|(_, name)| name.len());
    longest.map_or(paper.run.targets.len(), |(place, _)| place)
}

/// The command that leads to the same bytes.
fn again(paper: &Paper) -> String {
    let run = &paper.run;
    let mut line = format!(
        "fsage reproduce {} --seed {} --repetitions {} --device {} --host {}",
        paper.name, run.seed, run.repetitions, run.device, run.host
    );
    if let Ok(printed) = paper.printed() {
        line += &run.experiments.options_from(&printed.run.experiments);
    }
    if let Some(reading) = &paper.reading {
        line.push_str(" --reading ");
        line.push_str(reading);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Measured;
    use crate::figure::{self, Curve};

    fn made(paper: &Paper) -> Reproduction {
        let mut measured = Measured::default();
        measured.figure("H96.2", Some(1.34));
        measured.shape("S96.4", Some((false, "a < b & c".into())));
        Reproduction {
            lines: measured.compare(paper),
            exhibits: vec![
                Exhibit::Sheet(Sheet {
                    slug: "t",
                    title: "T".into(),
                    text: String::new(),
                    header: vec!["a".into()],
                    rows: vec![vec!["1 > 0".into()]],
                }),
                Exhibit::Figure(Figure {
                    slug: "f",
                    title: "F".into(),
                    text: String::new(),
                    axis: svg::Axis::Bytes,
                    x_label: "size",
                    y_label: "MB/s",
                    curves: ["orig", "orig-nrpos-1", "orig, empty", "raw disk"]
                        .map(|name| Curve::exact(name, [(1.0, 2.0)]))
                        .to_vec(),
                    published: vec![figure::Published {
                        curve: "orig".into(),
                        x: 1.0,
                        y: 1.6,
                    }],
                }),
            ],
            terminal: vec![],
        }
    }

    #[test]
    fn everything_is_on_the_page_and_is_text() {
        let paper = Paper::named("smith96").unwrap();
        let page = fsage_report::render(&report(&paper, &made(&paper))).unwrap();
        // What keeps options and commas of a command together is no text.
        let page = ["<span class=\"option\">", "</span>", "<wbr>"]
            .iter()
            .fold(page, |page, tag| page.replace(tag, ""));
        for text in [
            "S96.10.orig.end",
            "1.34",
            "a &lt; b &amp; c",
            "1 &gt; 0",
            "1 of 2 claims of the paper are met, 1 differ. Not counted:",
            "Agrees: ",
            "Differs: all curves dip at 104 KB",
            "(S96.4): ours a &lt; b &amp; c.",
            "fsage reproduce smith96 --seed 1 --repetitions 10 --device st32430n ",
            " --host pentium-120:flush_clustering=file<",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    /// Names of papers/smith96/run.toml in order: orig, orig-nrpos-1, realloc.
    #[test]
    fn a_curve_has_the_color_of_its_file_system() {
        let paper = Paper::named("smith96").unwrap();
        let Exhibit::Figure(figure) = &made(&paper).exhibits[1] else {
            panic!("a figure");
        };
        let lines = lines(&paper, figure);
        let places: Vec<_> = lines.series.iter().map(|s| (s.target, s.dashed)).collect();
        assert_eq!(places, [(0, false), (1, false), (0, true), (3, false)]);
        assert_eq!(lines.published[0].series, "orig");
    }
}
