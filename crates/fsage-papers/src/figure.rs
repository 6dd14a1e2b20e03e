//! Figures and tables: data that become CSV files, charts and parts of a page.

use fsage_report::chart::Series;
use fsage_report::svg::{self, Axis, Mark, Panel};
use std::fmt::Write as _;

/// A chart of curves.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its files.
    pub slug: &'static str,
    /// What it shows, and which figure of the paper that is.
    pub title: String,
    /// What it says.
    pub text: String,
    /// The horizontal axis.
    pub axis: Axis,
    /// What the horizontal axis is, with its unit.
    pub x_label: &'static str,
    /// The same of the vertical one.
    pub y_label: &'static str,
    /// Ours.
    pub curves: Vec<Curve>,
    /// What was published of it.
    pub published: Vec<Published>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is, for the legend.
    pub name: String,
    /// Its points, ascending by x.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Horizontal.
    pub x: f64,
    /// Vertical: the mean, where it was measured several times.
    pub y: f64,
    /// Standard deviation, where it was measured several times.
    pub deviation: Option<f64>,
}

/// A point that was published.
#[derive(Clone, Debug)]
pub struct Published {
    /// The curve that it belongs to.
    pub curve: String,
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
}

impl Curve {
    /// A curve through points that were measured once.
    pub fn exact(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
        Curve {
            name: name.into(),
            points: points
                .into_iter()
                .map(|(x, y)| Point {
                    x,
                    y,
                    deviation: None,
                })
                .collect(),
        }
    }
}

impl Figure {
    /// Curves for a chart.
    pub fn series(&self) -> Vec<Series> {
        let series = self.curves.iter().map(|curve| Series {
            name: curve.name.clone(),
            points: curve.points.iter().map(|p| (p.x, p.y)).collect(),
        });
        series.collect()
    }

    /// One row a point, ours and those published: `curve,whose,x,y,deviation`.
    pub fn csv(&self) -> String {
        let mut out = String::from("curve,whose,x,y,deviation\n");
        for curve in &self.curves {
            for p in &curve.points {
                let deviation = p.deviation.map(|d| format!("{d:.6}")).unwrap_or_default();
                let name = csv_cell(&curve.name);
                let _ = writeln!(out, "{name},ours,{},{:.6},{deviation}", p.x, p.y);
            }
        }
        for p in &self.published {
            let _ = writeln!(out, "{},published,{},{},", csv_cell(&p.curve), p.x, p.y);
        }
        out
    }

    /// The chart.
    pub fn svg(&self) -> String {
        let panel = Panel {
            title: String::new(),
            x_label: self.x_label.to_owned(),
            y_label: self.y_label.to_owned(),
            axis: self.axis,
            series: self.series(),
            marks: self
                .published
                .iter()
                .map(|p| Mark {
                    x: p.x,
                    y: p.y,
                    series: self.curves.iter().position(|curve| curve.name == p.curve),
                })
                .collect(),
        };
        svg::draw(&self.title, &[panel])
    }
}

/// Bars, where the horizontal axis has no numbers.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// Name of its file.
    pub slug: &'static str,
    /// What it shows, and which figure of the paper that is.
    pub title: String,
    /// What it says.
    pub text: String,
    /// What the lengths are, with their unit.
    pub value_label: &'static str,
    /// In the order in which they stand.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What is compared: a phase, a program.
    pub group: String,
    /// The file system.
    pub curve: String,
    /// Its length: the mean, where it was measured several times.
    pub value: f64,
    /// Standard deviation, where it was measured several times.
    pub deviation: Option<f64>,
}

impl BarChart {
    /// One row a bar: `group,curve,value,deviation`.
    pub fn csv(&self) -> String {
        let mut out = String::from("group,curve,value,deviation\n");
        for bar in &self.bars {
            let (group, curve) = (csv_cell(&bar.group), csv_cell(&bar.curve));
            let deviation = bar.deviation.map(|d| format!("{d:.6}"));
            let deviation = deviation.unwrap_or_default();
            let _ = writeln!(out, "{group},{curve},{:.6},{deviation}", bar.value);
        }
        out
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Name of its file.
    pub slug: &'static str,
    /// What it shows, and which table of the paper that is.
    pub title: String,
    /// What it says.
    pub text: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// The table as CSV.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| csv_cell(cell)).collect();
            let _ = writeln!(out, "{}", cells.join(","));
        }
        out
    }
}

/// A figure or a table.
#[derive(Clone, Debug)]
pub enum Exhibit {
    /// A chart of curves.
    Figure(Figure),
    /// A chart of bars.
    Bars(BarChart),
    /// A table.
    Sheet(Sheet),
}

/// A cell of CSV, quoted where it must be.
pub fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        Figure {
            slug: "f",
            title: "Reading".into(),
            text: String::new(),
            axis: Axis::Bytes,
            x_label: "size",
            y_label: "MB/s",
            curves: vec![Curve {
                name: "orig, aged".into(),
                points: vec![Point {
                    x: 65536.0,
                    y: 1.5,
                    deviation: Some(0.01),
                }],
            }],
            published: vec![Published {
                curve: "orig, aged".into(),
                x: 65536.0,
                y: 1.6,
            }],
        }
    }

    #[test]
    fn rows_name_the_curve_and_whose_it_is() {
        assert_eq!(
            figure().csv(),
            "curve,whose,x,y,deviation\n\"orig, aged\",ours,65536,1.500000,0.010000\n\
             \"orig, aged\",published,65536,1.6,\n"
        );
        assert_eq!(csv_cell("a \"b\""), "\"a \"\"b\"\"\"");
    }

    #[test]
    fn a_bar_is_a_row() {
        let chart = BarChart {
            slug: "b",
            title: String::new(),
            text: String::new(),
            value_label: "files/s",
            bars: vec![Bar {
                group: "read".into(),
                curve: "both, soft".into(),
                value: 2.5,
                deviation: None,
            }],
        };
        assert_eq!(
            chart.csv(),
            "group,curve,value,deviation\nread,\"both, soft\",2.500000,\n"
        );
    }

    #[test]
    fn charts_have_curves_and_published_points() {
        let drawn = figure().svg();
        assert!(drawn.contains("<polyline") && drawn.contains("orig, aged"));
        assert!(drawn.contains("published"));
    }
}
