//! Line charts as SVG: panels side by side, with axes, round ticks and a legend.

use crate::chart::Series;
use std::fmt::Write as _;

/// One chart.
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis is, with its unit.
    pub x_label: String,
    /// The same of the vertical one.
    pub y_label: String,
    /// Curves; both axes begin at 0.
    pub series: Vec<Series>,
}

/// Size of the plot of one panel, and what stands around it, in pixels.
const PLOT: (f64, f64) = (400.0, 260.0);
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 56.0;

/// Colors of the series, told apart with any color vision (Okabe and Ito).
const COLORS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Draws panels side by side under one title.
pub fn draw(title: &str, panels: &[Panel]) -> String {
    let panel_width = LEFT + PLOT.0 + RIGHT;
    let width = panel_width * panels.len() as f64;
    let height = TOP + PLOT.1 + BOTTOM;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut out, (LEFT, 26.0), "start", 16, title);
    for (i, panel) in panels.iter().enumerate() {
        let _ = writeln!(
            out,
            "<g transform=\"translate({},0)\">",
            panel_width * i as f64
        );
        draw_panel(&mut out, panel);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn draw_panel(out: &mut String, panel: &Panel) {
    let most = |of: fn(&(f64, f64)) -> f64| {
        let points = panel.series.iter().flat_map(|s| s.points.iter());
        points.map(of).fold(0.0, f64::max)
    };
    let (x_ticks, y_ticks) = (ticks(most(|p| p.0)), ticks(most(|p| p.1)));
    let (x_most, y_most) = (x_ticks[x_ticks.len() - 1], y_ticks[y_ticks.len() - 1]);
    let x_of = |x: f64| LEFT + PLOT.0 * x / x_most;
    let y_of = |y: f64| TOP + PLOT.1 * (1.0 - y / y_most);
    let (right, bottom) = (LEFT + PLOT.0, TOP + PLOT.1);

    text(out, (LEFT, TOP - 26.0), "start", 13, &panel.title);
    for y in y_ticks {
        let at = y_of(y);
        line(out, (LEFT, at), (right, at), "#ddd");
        text(out, (LEFT - 8.0, at + 4.0), "end", 12, &y.to_string());
    }
    for x in x_ticks {
        let at = x_of(x);
        line(out, (at, bottom), (at, bottom + 5.0), "#333");
        text(out, (at, bottom + 19.0), "middle", 12, &x.to_string());
    }
    line(out, (LEFT, bottom), (right, bottom), "#333");
    line(out, (LEFT, TOP), (LEFT, bottom), "#333");
    text(
        out,
        (LEFT + PLOT.0 / 2.0, bottom + 42.0),
        "middle",
        12,
        &panel.x_label,
    );
    let middle = TOP + PLOT.1 / 2.0;
    let _ = writeln!(out, "<g transform=\"rotate(-90 18 {middle})\">");
    text(out, (18.0, middle), "middle", 12, &panel.y_label);
    out.push_str("</g>\n");
    for (i, series) in panel.series.iter().enumerate() {
        let color = COLORS[i % COLORS.len()];
        let points: Vec<String> = series
            .points
            .iter()
            .map(|&(x, y)| format!("{:.1},{:.1}", x_of(x), y_of(y)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\" points=\"{}\"/>",
            points.join(" ")
        );
        let at = LEFT + 80.0 * i as f64;
        line(out, (at, TOP - 12.0), (at + 18.0, TOP - 12.0), color);
        text(out, (at + 24.0, TOP - 8.0), "start", 12, &series.name);
    }
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

    #[test]
    fn points_stand_where_their_values_are_and_text_is_escaped() {
        let panel = Panel {
            title: "a < b".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            series: vec![Series {
                name: "s".into(),
                points: vec![(0.0, 0.0), (10.0, 5.0)],
            }],
        };
        let drawn = draw("R&D", &[panel]);
        // From the lower left corner of the plot to the upper right one.
        assert!(
            drawn.contains("points=\"64.0,336.0 464.0,76.0\""),
            "{drawn}"
        );
        assert!(drawn.contains("R&amp;D") && drawn.contains("a &lt; b"));
        assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));
    }
}
