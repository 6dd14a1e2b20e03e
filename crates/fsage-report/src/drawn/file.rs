//! A chart as a file by itself: title, legend and plot, in the colors of the light theme.

use super::{Drawing, LETTER, WIDTH};
use crate::model::Chart;
use crate::standalone::light;
use crate::text::escaped;
use std::fmt::Write as _;

/// Near the beginning of every picture that fsage makes.
pub const PICTURE_MARK: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawn\"";

/// Around the picture.
const MARGIN: f64 = 16.0;
/// Height of the title, and of a row of the legend.
const TITLE: f64 = 28.0;
const ROW: f64 = 20.0;
/// Between a sign of the legend and its name, and behind that.
const TO_NAME: f64 = 6.0;
const TO_NEXT: f64 = 18.0;

impl Chart {
    /// As an SVG file that needs nothing beside it, for papers and pages; none where there is nothing to show.
    pub fn svg(&self) -> Option<String> {
        let drawing = self.figure.as_ref()?.draw()?;
        let (legend, rows) = legend(&drawing);
        let top = TITLE + ROW * f64::from(rows);
        let (width, height) = (
            WIDTH + 2.0 * MARGIN,
            top + drawing.picture.height + 2.0 * MARGIN,
        );
        let style = include_str!("../../assets/drawn.css");
        let text = format!(
            "{PICTURE_MARK} viewBox=\"0 0 {width} {height:.0}\" \
             width=\"{width}\" height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n\
             <desc>{description}</desc>\n<style>\n{style}</style>\n\
             <rect width=\"100%\" height=\"100%\" style=\"fill: var(--surface)\"/>\n\
             <g transform=\"translate({MARGIN},{MARGIN})\">\n\
             <text x=\"0\" y=\"14\" style=\"fill: var(--ink); font-size: 15px; font-weight: 600\">{title}</text>\n\
             <g class=\"legend\">{legend}</g>\n<g transform=\"translate(0,{top})\">{plot}</g>\n</g>\n</svg>\n",
            title = escaped(&self.title),
            description = escaped(&self.description),
            plot = drawing.picture.body,
        );
        Some(painted(&text))
    }
}

/// The legend in rows, and how many these are.
fn legend(drawing: &Drawing) -> (String, u32) {
    let (mut text, mut rows, mut x) = (String::new(), 1, 0.0);
    for entry in &drawing.entries {
        let sign = f64::from(entry.width);
        let width = sign + TO_NAME + LETTER * entry.name.chars().count() as f64;
        if x > 0.0 && x + width > WIDTH {
            (x, rows) = (0.0, rows + 1);
        }
        let y = TITLE + ROW * f64::from(rows - 1);
        write!(
            text,
            "<g transform=\"translate({x:.1},{y:.1})\">{}<text x=\"{:.1}\" y=\"10\">{}</text></g>",
            entry.sign,
            sign + TO_NAME,
            escaped(&entry.name)
        )
        .expect("a string takes everything");
        x += width + TO_NEXT;
    }
    (text, rows)
}

/// The text with colors and fonts for variables of the style.
fn painted(text: &str) -> String {
    let mut parts = text.split("var(");
    let mut painted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let known = part.split_once(')').and_then(|(variable, rest)| {
            let value = match variable {
                "--sans" => "system-ui, sans-serif",
                color => light(color)?,
            };
            Some((value, rest))
        });
        if let Some((value, rest)) = known {
            painted.push_str(value);
            painted.push_str(rest);
        } else {
            painted.push_str("var(");
            painted.push_str(part);
        }
    }
    painted
}

#[cfg(test)]
mod tests {
    use crate::charts::{Axis, Bar, Bars};

    #[test]
    fn a_chart_is_a_file_with_title_legend_and_no_variable_of_the_style() {
        let bar = |group: &str, target, state: &str, value| Bar {
            group: group.to_owned(),
            target,
            state: state.to_owned(),
            value,
            interval: None,
        };
        let chart = Bars {
            id: "speed".to_owned(),
            title: "Speed <of reading>".to_owned(),
            description: "Aged & control".to_owned(),
            value: Axis::default(),
            targets: vec![
                "a rather long name of a target, with much behind it ".repeat(2),
                "ffs".to_owned(),
            ],
            bars: vec![bar("read", 0, "aged", 1.0), bar("read", 1, "control", 2.0)],
        }
        .into_chart();
        let svg = chart.svg().expect("a picture");
        assert!(
            svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
        assert!(
            svg.contains("Speed &lt;of reading&gt;</text>") && svg.contains("Aged &amp; control"),
            "{svg}"
        );
        assert!(
            !svg.contains("var(") && svg.contains("fill: #0072b2"),
            "{svg}"
        );
        // The long name fills a row of the legend; two targets and two states stand in it.
        assert!(
            svg.contains("translate(0.0,48.0)") && svg.contains(">control</text>"),
            "{svg}"
        );
        let empty = Bars::default().into_chart();
        assert_eq!(empty.svg(), None);
    }
}
