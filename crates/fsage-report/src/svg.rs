//! Line charts as SVG: panels side by side, with axes, round ticks, a legend, and points from elsewhere.

use crate::chart::Series;
use std::fmt::Write as _;

/// What the horizontal axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Anything, from 0.
    Linear,
    /// Bytes, every doubling as wide as the next; from the smallest value.
    Bytes,
}

/// A point from elsewhere, drawn as a ring.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// The series that it is compared with, which gives the color.
    pub series: Option<usize>,
}

/// One chart.
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis is, with its unit.
    pub x_label: String,
    /// The same of the vertical one.
    pub y_label: String,
    /// What the horizontal axis counts.
    pub axis: Axis,
    /// Curves; the vertical axis begins at 0.
    pub series: Vec<Series>,
    /// Points that were published, to stand beside the curves.
    pub marks: Vec<Mark>,
}

/// Size of the plot of one panel, and what stands around it, in pixels.
const PLOT: (f64, f64) = (400.0, 260.0);
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 56.0;
/// Height of a row of the legend, and width of a letter in it.
const LEGEND_ROW: f64 = 16.0;
const LETTER: f64 = 6.5;
/// The same of the title.
const TITLE_ROW: f64 = 20.0;
const TITLE_LETTER: f64 = 8.7;

/// Colors of the series, told apart with any color vision (Okabe and Ito).
const COLORS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000",
];

/// Draws panels side by side under one title.
pub fn draw(title: &str, panels: &[Panel]) -> String {
    let panel_width = LEFT + PLOT.0 + RIGHT;
    let width = panel_width * panels.len() as f64;
    let rows = panels.iter().map(|panel| legend(panel).rows).max();
    let top = TOP + LEGEND_ROW * (rows.unwrap_or(1) - 1) as f64;
    let title = title_rows(title, width);
    let below_title = TITLE_ROW * title.len().saturating_sub(1) as f64;
    let height = below_title + top + PLOT.1 + BOTTOM;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (i, row) in title.iter().enumerate() {
        let y = 26.0 + TITLE_ROW * i as f64;
        text(&mut out, (LEFT, y), "start", 16, row);
    }
    for (i, panel) in panels.iter().enumerate() {
        let _ = writeln!(
            out,
            "<g transform=\"translate({},{below_title})\">",
            panel_width * i as f64
        );
        draw_panel(&mut out, panel, top);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// A title in rows that fit a picture of this width, broken between words; a word that is longer than a row is broken
/// too.
fn title_rows(title: &str, width: f64) -> Vec<String> {
    let most = ((width - LEFT) / TITLE_LETTER).floor().max(1.0) as usize;
    let mut rows = vec![String::new()];
    let letters: Vec<Vec<char>> = title
        .split(' ')
        .map(|word| word.chars().collect())
        .collect();
    for part in letters.iter().flat_map(|word| word.chunks(most)) {
        let row = rows.last_mut().expect("there is one from the start");
        let taken = row.chars().count();
        if taken == 0 {
            row.extend(part);
        } else if taken + 1 + part.len() <= most {
            row.push(' ');
            row.extend(part);
        } else {
            rows.push(part.iter().collect());
        }
    }
    rows
}

fn draw_panel(out: &mut String, panel: &Panel, top: f64) {
    let of_series = panel.series.iter().flat_map(|s| s.points.iter().copied());
    let points: Vec<(f64, f64)> = of_series
        .chain(panel.marks.iter().map(|m| (m.x, m.y)))
        .collect();
    let x_scale = Scale::of(panel.axis, points.iter().map(|p| p.0));
    let y_ticks = ticks(points.iter().map(|p| p.1).fold(0.0, f64::max));
    let y_most = y_ticks[y_ticks.len() - 1];
    let x_of = |x: f64| LEFT + PLOT.0 * x_scale.share(x);
    let y_of = |y: f64| top + PLOT.1 * (1.0 - y / y_most);
    let (right, bottom) = (LEFT + PLOT.0, top + PLOT.1);

    text(out, (LEFT, TOP - 26.0), "start", 13, &panel.title);
    for y in y_ticks {
        let at = y_of(y);
        line(out, (LEFT, at), (right, at), "#ddd");
        text(out, (LEFT - 8.0, at + 4.0), "end", 12, &y.to_string());
    }
    for (x, name) in &x_scale.ticks {
        let at = x_of(*x);
        line(out, (at, bottom), (at, bottom + 5.0), "#333");
        text(out, (at, bottom + 19.0), "middle", 12, name);
    }
    line(out, (LEFT, bottom), (right, bottom), "#333");
    line(out, (LEFT, top), (LEFT, bottom), "#333");
    text(
        out,
        (LEFT + PLOT.0 / 2.0, bottom + 42.0),
        "middle",
        12,
        &panel.x_label,
    );
    let middle = top + PLOT.1 / 2.0;
    let _ = writeln!(out, "<g transform=\"rotate(-90 18 {middle})\">");
    text(out, (18.0, middle), "middle", 12, &panel.y_label);
    out.push_str("</g>\n");
    for (i, series) in panel.series.iter().enumerate() {
        let points: Vec<String> = series
            .points
            .iter()
            .map(|&(x, y)| format!("{:.1},{:.1}", x_of(x), y_of(y)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" points=\"{}\"/>",
            color(i),
            points.join(" ")
        );
    }
    for mark in &panel.marks {
        ring(
            out,
            (x_of(mark.x), y_of(mark.y)),
            mark.series.map_or("#333", color),
        );
    }
    draw_legend(out, panel);
}

/// What stands where in the legend: left end and row of every entry.
struct Legend {
    entries: Vec<(f64, usize, String)>,
    rows: usize,
}

fn legend(panel: &Panel) -> Legend {
    let mut names: Vec<String> = panel.series.iter().map(|s| s.name.clone()).collect();
    if !panel.marks.is_empty() {
        names.push("published".to_owned());
    }
    let (mut at, mut row) = (LEFT, 0);
    let mut entries = Vec::new();
    for name in names {
        let width = 40.0 + LETTER * name.chars().count() as f64;
        if at > LEFT && at + width > LEFT + PLOT.0 + RIGHT {
            (at, row) = (LEFT, row + 1);
        }
        entries.push((at, row, name));
        at += width;
    }
    Legend {
        entries,
        rows: row + 1,
    }
}

fn draw_legend(out: &mut String, panel: &Panel) {
    for (i, (at, row, name)) in legend(panel).entries.into_iter().enumerate() {
        let y = TOP - 12.0 + LEGEND_ROW * row as f64;
        if i < panel.series.len() {
            line(out, (at, y), (at + 18.0, y), color(i));
        } else {
            ring(out, (at + 9.0, y), "#333");
        }
        text(out, (at + 24.0, y + 4.0), "start", 12, &name);
    }
}

fn color(series: usize) -> &'static str {
    COLORS[series % COLORS.len()]
}

/// The horizontal axis.
struct Scale {
    axis: Axis,
    least: f64,
    most: f64,
    ticks: Vec<(f64, String)>,
}

impl Scale {
    fn of(axis: Axis, values: impl Iterator<Item = f64> + Clone) -> Scale {
        let most = values.clone().fold(0.0, f64::max);
        match axis {
            Axis::Linear => {
                let ticks = ticks(most);
                Scale {
                    axis,
                    least: 0.0,
                    most: ticks[ticks.len() - 1],
                    ticks: ticks.into_iter().map(|x| (x, x.to_string())).collect(),
                }
            }
            Axis::Bytes => {
                let least = values.fold(f64::INFINITY, f64::min).min(most).max(1.0);
                // A single size has an axis too.
                let most = most.max(least * 2.0);
                let power = |log2: i32| 2_f64.powi(log2);
                let powers = (0..63).filter(|&n| power(n) >= least && power(n) <= most);
                let powers: Vec<i32> = powers.collect();
                let step = powers.len().div_ceil(8).max(1);
                let powers = powers.into_iter().step_by(step);
                Scale {
                    axis,
                    least,
                    most,
                    ticks: powers.map(|n| (power(n), bytes_name(n))).collect(),
                }
            }
        }
    }

    /// Where a value lies, from 0 at the left to 1 at the right.
    fn share(&self, x: f64) -> f64 {
        match self.axis {
            Axis::Linear => x / self.most,
            Axis::Bytes => (x.max(1.0) / self.least).log2() / (self.most / self.least).log2(),
        }
    }
}

/// A power of two of bytes, as `64K`.
fn bytes_name(log2: i32) -> String {
    let unit = ["", "K", "M", "G", "T", "P", "E"][(log2 / 10) as usize];
    format!("{}{unit}", 1 << (log2 % 10))
}

/// Round values from 0 to the first that is not below `most`.
fn ticks(most: f64) -> Vec<f64> {
    let most = if most > 0.0 { most } else { 1.0 };
    let power = 10_f64.powf((most / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let step = steps
        .into_iter()
        .find(|step| most / step <= 6.0)
        .unwrap_or(10.0 * power);
    let count = (most / step - 1e-9).ceil() as u32;
    (0..=count)
        .map(|i| (f64::from(i) * step * 1e6).round() / 1e6)
        .collect()
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), color: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{color}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn ring(out: &mut String, at: (f64, f64), color: &str) {
    let _ = writeln!(
        out,
        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"/>",
        at.0, at.1
    );
}

fn text(out: &mut String, at: (f64, f64), anchor: &str, size: u32, text: &str) {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{escaped}</text>",
        at.0, at.1
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(23.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.0).len(), 6);
        for most in [0.003, 7.0, 256.0, 3991.0, 68_559.0] {
            let ticks = ticks(most);
            assert!((3..=8).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks[ticks.len() - 1] >= most);
        }
    }

    fn panel(axis: Axis, points: &[(f64, f64)]) -> Panel {
        Panel {
            title: "a < b".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            axis,
            series: vec![Series {
                name: "s".into(),
                points: points.to_vec(),
            }],
            marks: Vec::new(),
        }
    }

    #[test]
    fn points_stand_where_their_values_are_and_text_is_escaped() {
        let drawn = draw("R&D", &[panel(Axis::Linear, &[(0.0, 0.0), (10.0, 5.0)])]);
        // From the lower left corner of the plot to the upper right one.
        assert!(
            drawn.contains("points=\"64.0,336.0 464.0,76.0\""),
            "{drawn}"
        );
        assert!(drawn.contains("R&amp;D") && drawn.contains("a &lt; b"));
        assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));
    }

    /// One panel is 488 wide, and its title begins at 64: 48 letters of 8.7 pixels fit.
    #[test]
    fn no_row_of_a_title_is_longer_than_fits() {
        let one = [panel(Axis::Linear, &[(0.0, 0.0), (10.0, 5.0)])];
        let title = "Two policies on empty and aged file systems, creating (figure 2)";
        let drawn = draw(title, &one);
        assert!(drawn.contains(">Two policies on empty and aged file systems,</text>"));
        assert!(drawn.contains(
            "y=\"46.0\" text-anchor=\"start\" font-size=\"16\">creating (figure 2)</text>"
        ));
        // 392 pixels for a title of one row, and 20 more here: what stands below moves down.
        assert!(drawn.contains("viewBox=\"0 0 488 412\""), "{drawn}");
        assert!(drawn.contains("translate(0,20)"));
        assert!(draw("Short", &one).contains("viewBox=\"0 0 488 392\""));
        for title in ["x".repeat(200), "short words ".repeat(30), title.to_owned()] {
            let rows = title_rows(&title, 488.0);
            assert!(rows.iter().all(|row| row.len() <= 48), "{rows:?}");
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&rows.concat()), letters(&title), "nothing is lost");
        }
    }

    /// Four doublings from 16K to 256K over 400 pixels: 64K lies half way.
    #[test]
    fn every_doubling_of_bytes_is_as_wide_as_the_next() {
        let points = [(16384.0, 0.0), (65536.0, 5.0), (262_144.0, 5.0)];
        let drawn = draw("", &[panel(Axis::Bytes, &points)]);
        assert!(
            drawn.contains("points=\"64.0,336.0 264.0,76.0 464.0,76.0\""),
            "{drawn}"
        );
        for name in ["16K", "32K", "64K", "128K", "256K"] {
            assert!(drawn.contains(&format!(">{name}<")), "{name}");
        }
        let one = draw(
            "",
            &[
                panel(Axis::Bytes, &[(65536.0, 1.0)]),
                panel(Axis::Bytes, &[]),
            ],
        );
        assert!(!one.contains("NaN") && !one.contains("inf"), "{one}");
    }

    #[test]
    fn long_legends_take_more_rows_and_marks_have_an_entry() {
        let mut panel = panel(Axis::Linear, &[(0.0, 0.0), (10.0, 5.0)]);
        for i in 0..5 {
            panel.series.push(Series {
                name: format!("a file system of a long name, {i}"),
                points: vec![],
            });
        }
        panel.marks.push(Mark {
            x: 10.0,
            y: 5.0,
            series: Some(0),
        });
        // 424 pixels a row hold the first entry (46.5) and a long one (248), then a long one each, and at last the
        // marks (98.5) beside it.
        assert_eq!(legend(&panel).rows, 5);
        let drawn = draw("", &[panel]);
        // Four rows of 16 pixels more than one.
        assert!(drawn.contains("cx=\"464.0\" cy=\"140.0\""), "{drawn}");
        assert!(drawn.contains(">published<"));
    }
}
