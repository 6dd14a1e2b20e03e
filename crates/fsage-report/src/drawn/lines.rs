//! Curves.

use super::{BOTTOM, Drawing, Entry, LETTER, Picture, RIGHT, Ruler, SYMBOL, TOP, WIDTH, square};
use crate::charts::{Lines, Point, Scale, Series, color_of_target, symbol_of_target};

/// Height of the plot.
const PLOT: f64 = 280.0;
/// Symbols of a curve, and the length up to which each of its points has one.
const SYMBOLS: usize = 7;
const FEW_POINTS: usize = 16;
/// The symbol of a published value.
const DIAMOND: &str = "M0,-1L1,0L0,1L-1,0Z";

impl Lines {
    pub(super) fn draw(&self) -> Option<Drawing> {
        let curves: Vec<Curve> = (0..)
            .zip(&self.series)
            .map(|(place, series)| Curve::new(self, place, series))
            .filter(|curve| curve.known().next().is_some())
            .collect();
        if curves.is_empty() {
            return None;
        }
        let y = self.y_ruler(&curves);
        let left = y.ticks.iter().map(|(_, name)| name.chars().count()).max();
        let left = LETTER * left.unwrap_or(0) as f64 + 14.0;
        let x = self.x_ruler(&curves, left);
        let mut picture = Picture::new(TOP + PLOT + BOTTOM);
        picture.y_axis(&y, left);
        picture.x_axis(&x, TOP + PLOT, false);
        for curve in &curves {
            curve.draw_interval(&mut picture, &x, &y);
        }
        for curve in &curves {
            curve.draw_line(&mut picture, &x, &y);
            curve.draw_symbols(&mut picture, &x, &y);
        }
        self.draw_published(&mut picture, &x, &y);
        Some(Drawing::new(self.drawn_legend(&curves), picture))
    }

    fn x_ruler(&self, curves: &[Curve<'_>], left: f64) -> Ruler {
        let xs = curves.iter().flat_map(|curve| curve.known().map(|p| p.x));
        let xs = xs.chain(self.published.iter().map(|value| value.x));
        Ruler::new(&self.x, xs, false, (left, WIDTH - RIGHT))
    }

    fn y_ruler(&self, curves: &[Curve<'_>]) -> Ruler {
        let of_point = |point: &Point| {
            let (low, high) = point.interval.unzip();
            [point.y, low, high].into_iter().flatten()
        };
        let ys = curves
            .iter()
            .flat_map(|curve| curve.known().flat_map(of_point));
        let ys = ys.chain(self.published.iter().map(|value| value.y));
        Ruler::new(&self.y, ys, true, (TOP + PLOT, TOP))
    }

    fn draw_published(&self, picture: &mut Picture, x: &Ruler, y: &Ruler) {
        for value in &self.published {
            let series = self.series.iter().find(|s| s.name == value.series);
            let color = series.map_or("--ink".to_owned(), |s| color_of_target(s.target));
            let (x, y) = (x.at(value.x), y.at(value.y));
            picture.add(format_args!(
                "<path class=\"ring\" d=\"{DIAMOND}\" transform=\"translate({x:.1},{y:.1}) scale(5.7)\" \
                 style=\"stroke: var({color})\"/>"
            ));
        }
    }

    fn drawn_legend(&self, curves: &[Curve<'_>]) -> Vec<Entry> {
        let mut legend = Vec::new();
        for Curve { series, .. } in curves {
            let color = color_of_target(series.target);
            let sign = format!(
                "<path class=\"curve{}\" d=\"M0,6H24\" style=\"stroke: var({color})\"/>{}",
                dash(series),
                symbol(series.target, 12.0, 6.0)
            );
            legend.push(Entry::new(24, sign, &series.name));
        }
        if curves.iter().any(Curve::has_interval) {
            let band = square("--line-strong", 0.25);
            legend.push(Entry::new(12, band, "band: interval"));
        }
        if !self.published.is_empty() {
            let sign = format!(
                "<path class=\"ring\" d=\"{DIAMOND}\" transform=\"translate(12,6) scale(5)\" \
                 style=\"stroke: var(--ink)\"/>"
            );
            legend.push(Entry::new(24, sign, "published"));
        }
        legend
    }
}

fn dash(series: &Series) -> &'static str {
    if series.dashed { " dashed" } else { "" }
}

fn symbol(target: usize, x: f64, y: f64) -> String {
    let (path, color) = (symbol_of_target(target), color_of_target(target));
    format!(
        "<path d=\"{path}\" transform=\"translate({x:.1},{y:.1}) scale({SYMBOL})\" style=\"fill: var({color})\"/>"
    )
}

/// A curve with its points as far as the axes have a place for them: on a logarithmic axis there is no 0.
struct Curve<'a> {
    series: &'a Series,
    /// Which of the chart's curves it is: symbols of two do not stand below each other.
    place: usize,
    points: Vec<Point>,
}

impl<'a> Curve<'a> {
    fn new(lines: &Lines, place: usize, series: &'a Series) -> Curve<'a> {
        let fits = |value: f64, scale| value.is_finite() && (scale != Scale::Log || value > 0.0);
        let points = series.points.iter().filter(|p| fits(p.x, lines.x.scale));
        let points = points.map(|point| Point {
            y: point.y.filter(|y| fits(*y, lines.y.scale)),
            ..*point
        });
        Curve {
            series,
            place,
            points: points.collect(),
        }
    }

    fn known(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.y.is_some())
    }

    fn has_interval(&self) -> bool {
        self.points.iter().any(|point| point.interval.is_some())
    }

    fn draw_line(&self, picture: &mut Picture, x: &Ruler, y: &Ruler) {
        let color = color_of_target(self.series.target);
        let mut path = String::new();
        for stretch in self.points.split(|point| point.y.is_none()) {
            let places = stretch.iter().filter_map(|p| Some((x.at(p.x), y.at(p.y?))));
            path += &path_of(&thinned(&places.collect::<Vec<_>>()));
        }
        let dash = dash(self.series);
        picture.add(format_args!(
            "<path class=\"curve{dash}\" d=\"{path}\" style=\"stroke: var({color})\"/>"
        ));
    }

    fn draw_symbols(&self, picture: &mut Picture, x: &Ruler, y: &Ruler) {
        let known: Vec<(f64, f64)> = self.known().filter_map(|p| Some((p.x, p.y?))).collect();
        let shift = ((self.place % 5) as f64 + 0.5) / 5.0;
        let marked = |i: usize| ((i as f64 + shift) * known.len() as f64 / SYMBOLS as f64) as usize;
        let places: Vec<usize> = if known.len() <= FEW_POINTS {
            (0..known.len()).collect()
        } else {
            (0..SYMBOLS).map(marked).collect()
        };
        for (at_x, at_y) in places.into_iter().map(|place| known[place]) {
            let sign = symbol(self.series.target, x.at(at_x), y.at(at_y));
            picture.add(format_args!("{sign}"));
        }
    }

    /// The band between the lower and the upper ends, broken where they are not known.
    fn draw_interval(&self, picture: &mut Picture, x: &Ruler, y: &Ruler) {
        let color = color_of_target(self.series.target);
        for stretch in self.points.split(|point| point.interval.is_none()) {
            let side = |of: fn((f64, f64)) -> f64| {
                let places = stretch
                    .iter()
                    .filter_map(|p| Some((x.at(p.x), y.at(of(p.interval?)))));
                thinned(&places.collect::<Vec<_>>())
            };
            let mut around = side(|(low, _)| low);
            around.extend(side(|(_, high)| high).into_iter().rev());
            if !around.is_empty() {
                let path = path_of(&around);
                picture.add(format_args!(
                    "<path class=\"band\" d=\"{path}Z\" style=\"fill: var({color})\"/>"
                ));
            }
        }
    }
}

fn path_of(places: &[(f64, f64)]) -> String {
    let parts = places.iter().enumerate().map(|(i, (x, y))| {
        let command = if i == 0 { 'M' } else { 'L' };
        format!("{command}{x:.1},{y:.1}")
    });
    parts.collect()
}

/// At most four places a unit of width: the first, the lowest, the highest and the last one. More cannot be seen.
fn thinned(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    for column in places.chunk_by(|a, b| a.0.floor().total_cmp(&b.0.floor()).is_eq()) {
        let by_y = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        let last = column.len() - 1;
        let low = (0..=last).min_by(by_y).unwrap_or(0);
        let high = (0..=last).max_by(by_y).unwrap_or(0);
        let mut of_column = [0, low, high, last];
        of_column.sort_unstable();
        for (i, place) in of_column.into_iter().enumerate() {
            if i == 0 || of_column[i - 1] != place {
                kept.push(column[place]);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_peaks_and_no_more_than_can_be_seen() {
        let wave = |i: u32| {
            (
                f64::from(i) / 1000.0,
                f64::from(i % 7) + f64::from(u32::from(i == 4321)) * 90.0,
            )
        };
        let places: Vec<(f64, f64)> = (0..10_000).map(wave).collect();
        let kept = thinned(&places);
        assert!(kept.len() <= 40, "{}", kept.len());
        assert!(
            kept.contains(&places[4321])
                && kept.contains(&places[0])
                && kept.contains(&places[9999])
        );
        assert_eq!(thinned(&places[..2]), [places[0], places[1]]);
        assert!(thinned(&[]).is_empty());
    }
}
