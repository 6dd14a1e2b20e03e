//! Charts in the terminal: curves over days, and bars. Every series has a mark of its own, so that a chart can
//! be read without color and from a log file.

use std::fmt::Write as _;

/// Marks of the series, in order.
const MARKS: [char; 6] = ['o', '+', 'x', '*', '#', '@'];

/// One curve.
pub struct Series {
    /// What it is, for the legend.
    pub name: String,
    /// Points (x, y), ascending by x.
    pub points: Vec<(f64, f64)>,
}

/// Draws curves into a grid `width` characters wide, with rows at round values. Where curves meet, the later one
/// is seen.
pub fn curves(series: &[Series], width: usize, x_label: &str) -> String {
    let (x_min, x_max) = range(series.iter().flat_map(|s| s.points.iter().map(|p| p.0)));
    let ends = (format!("{x_min:.0}"), format!("{x_max:.0}"));
    curves_between(series, width, &ends, x_label)
}

/// The same by size of files in bytes, every doubling as wide as the next. Sizes below one byte count as one.
pub fn curves_by_size(series: &[Series], width: usize) -> String {
    let sizes = series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    let (least, most) = range(sizes);
    let doublings: Vec<Series> = series
        .iter()
        .map(|one| Series {
            name: one.name.clone(),
            points: one
                .points
                .iter()
                .map(|&(bytes, y)| (bytes.max(1.0).log2(), y))
                .collect(),
        })
        .collect();
    let ends = (size_text(least as u64), size_text(most as u64));
    curves_between(&doublings, width, &ends, "size of files")
}

/// A size of files for people: `104 KB`, in the largest unit of 1024 that it is a multiple of.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    let unit = UNITS
        .into_iter()
        .find(|&(unit, _)| bytes > 0 && bytes.is_multiple_of(unit));
    unit.map_or_else(
        || format!("{bytes} B"),
        |(unit, name)| format!("{} {name}", bytes / unit),
    )
}

/// Curves with these words below the two ends of the horizontal axis.
fn curves_between(
    series: &[Series],
    width: usize,
    (left, right): &(String, String),
    x_label: &str,
) -> String {
    let all = || series.iter().flat_map(|s| s.points.iter().copied());
    let (x_min, x_max) = range(all().map(|(x, _)| x));
    let rows = Rows::over(range(all().map(|(_, y)| y)));
    let mut grid = vec![vec![' '; width]; rows.count()];
    for (i, one) in series.iter().enumerate() {
        for (column, y) in columns(&one.points, x_min, x_max, width) {
            grid[rows.of(y)][column] = MARKS[i % MARKS.len()];
        }
    }
    let mut out = String::new();
    let labels: Vec<String> = (0..rows.count())
        .map(|row| rows.label(row).unwrap_or_default())
        .collect();
    let margin = labels.iter().map(String::len).max().unwrap_or(0).max(5);
    for (label, row) in labels.iter().zip(&grid) {
        let line: String = row.iter().collect();
        let _ = writeln!(out, " {label:>margin$} |{}", line.trim_end());
    }
    let indent = " ".repeat(margin + 2);
    let _ = writeln!(out, "{indent}+{}", "-".repeat(width));
    let middle = width.saturating_sub(right.len() + left.len().max(2));
    let _ = writeln!(out, "{indent} {left:<2}{x_label:^middle$}{right}");
    for (i, one) in series.iter().enumerate() {
        let _ = writeln!(out, "{indent} {} {}", MARKS[i % MARKS.len()], one.name);
    }
    out
}

/// The rows of a chart: multiples of a round step, so that the axis has round numbers.
struct Rows {
    /// Thousandths between two rows.
    step: i64,
    /// Multiples of the step: the lowest and the highest row.
    lowest: i64,
    highest: i64,
}

impl Rows {
    /// Few enough rows for a terminal.
    const MOST: i64 = 20;

    fn over((lo, hi): (f64, f64)) -> Rows {
        let rows = |step: i64| Rows {
            step,
            lowest: (lo * 1000.0 / step as f64 + 1e-6).floor() as i64,
            highest: (hi * 1000.0 / step as f64 - 1e-6).ceil() as i64,
        };
        let powers = (0..15).map(|power| 10_i64.pow(power));
        let mut steps = powers.flat_map(|p| [2 * p, 5 * p, 10 * p]);
        let mut rows = steps
            .find_map(|step| Some(rows(step)).filter(|r| r.highest - r.lowest <= Self::MOST))
            .unwrap_or_else(|| rows(i64::MAX / 4));
        // A flat curve has something to be flat in.
        rows.lowest = rows.lowest.min(rows.highest - 5);
        rows
    }

    fn count(&self) -> usize {
        (self.highest - self.lowest).max(0) as usize + 1
    }

    fn of(&self, y: f64) -> usize {
        let from_top = self.highest as f64 - y * 1000.0 / self.step as f64;
        (from_top.round().max(0.0) as usize).min(self.count() - 1)
    }

    /// Every fifth row has its value beside it.
    fn label(&self, row: usize) -> Option<String> {
        let multiple = self.highest - row as i64;
        let value = (multiple * self.step) as f64 / 1000.0;
        (multiple % 5 == 0).then(|| format!("{value:.2}"))
    }
}

/// The last value of every column of the grid that has one.
fn columns(
    points: &[(f64, f64)],
    x_min: f64,
    x_max: f64,
    width: usize,
) -> impl Iterator<Item = (usize, f64)> {
    let mut values = vec![None; width];
    for &(x, y) in points {
        let share = (x - x_min) / (x_max - x_min).max(f64::EPSILON);
        values[(share * (width - 1) as f64).round() as usize] = Some(y);
    }
    values
        .into_iter()
        .enumerate()
        .filter_map(|(i, v)| v.map(|v| (i, v)))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (lo, hi) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
        (lo.min(v), hi.max(v))
    });
    if lo <= hi { (lo, hi) } else { (0.0, 1.0) }
}

/// A bar from 0 to 1, `width` characters at full length.
pub fn bar(value: f64, width: usize) -> String {
    let eighths = (value.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8) {
        bar.push_str(part);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_stand_where_their_values_are() {
        let falling = Series {
            name: "falling".into(),
            points: (0..=10)
                .map(|i| (f64::from(i), 1.0 - f64::from(i) / 20.0))
                .collect(),
        };
        let flat = Series {
            name: "flat".into(),
            points: vec![(0.0, 0.9), (10.0, 0.9)],
        };
        let chart = curves(&[falling, flat], 21, "days");
        let rows: Vec<&str> = chart.lines().collect();
        // Ten rows of 0.05, since 25 of 0.02 are too many.
        assert_eq!(rows[0], "  1.00 |o");
        assert_eq!(rows[2], "       |+   o               +");
        assert_eq!(rows[5], "  0.75 |          o");
        assert_eq!(rows[10], "  0.50 |                    o");
        assert!(rows[12].trim_start().starts_with('0') && rows[12].ends_with("10"));
        assert!(rows[13].ends_with("o falling"));
    }

    #[test]
    fn large_values_have_their_axis_in_one_column_and_ends_their_own_words() {
        let one = Series {
            name: "one".into(),
            points: vec![(16.0, 90.0), (512.0, 100.0), (16_384.0, 400.0)],
        };
        let chart = curves_by_size(&[one], 31);
        let rows: Vec<&str> = chart.lines().collect();
        let axis = |row: &str| row.find(['|', '+']);
        let below = rows
            .iter()
            .position(|row| row.contains('+'))
            .expect("an axis");
        assert!(
            rows[..=below].iter().all(|row| axis(row) == Some(8)),
            "{chart}"
        );
        assert!(rows[0].starts_with(" 400.00 |"));
        // 512 bytes are five doublings of 16, and half of the ten to 16 KB.
        assert_eq!(rows[below - 1].find('o'), Some(9), "{chart}");
        assert!(
            rows[..below]
                .iter()
                .any(|row| row.find('o') == Some(9 + 15)),
            "{chart}"
        );
        let words = rows[below + 1].trim();
        assert!(
            words.starts_with("16 B") && words.ends_with("16 KB"),
            "{words}"
        );
    }

    #[test]
    fn sizes_have_the_unit_of_which_they_are_a_multiple() {
        for (bytes, text) in [
            (0, "0 B"),
            (1500, "1500 B"),
            (16_384, "16 KB"),
            (104 << 10, "104 KB"),
            (4 << 20, "4 MB"),
            (1 << 30, "1 GB"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }

    #[test]
    fn nothing_to_draw_is_no_panic() {
        assert!(curves(&[], 20, "days").contains("days"));
        assert!(curves_by_size(&[], 20).contains("size"));
        let one = Series {
            name: "one".into(),
            points: vec![(3.0, 1.0)],
        };
        assert!(curves(&[one], 20, "days").contains('o'));
    }

    #[test]
    fn bars_are_as_long_as_their_value() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.28, 4), "█▏");
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(7.0, 2), "██");
    }
}
