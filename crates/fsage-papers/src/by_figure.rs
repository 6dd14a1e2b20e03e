//! How near each figure and table of a paper comes: who looks at one of them asks for that one.

use super::comparison::{Line, Verdict};
use super::figure::Sheet;
use std::collections::BTreeMap;

/// What came out for the rows of one figure or table.
#[derive(Debug, Default)]
struct Of {
    met: usize,
    differs: usize,
    open: usize,
    /// Of every printed value with one of ours beside it, how far ours is off, as a share of it; whether it differs for
    /// that; and its row.
    off: Vec<(f64, bool, String)>,
}

/// A table of the figures and tables of the paper, in its order: how many rows of each are met, differ and are open,
/// how many print a value, and how far ours are off in the median and at most. None where no row of any came of a run.
pub fn sheet(lines: &[Line]) -> Option<Sheet> {
    let mut all: BTreeMap<(String, u32), Of> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.verdict.is_result()) {
        for name in line.expected.place.split(", ").filter_map(name) {
            let of = all.entry(name).or_default();
            match line.verdict {
                Verdict::Met => of.met += 1,
                Verdict::Differs => of.differs += 1,
                _ => of.open += 1,
            }
            let differs = line.verdict == Verdict::Differs;
            let off = off(line).map(|off| (off, differs, line.expected.id.clone()));
            of.off.extend(off);
        }
    }
    let rows = all.into_iter().map(|((kind, number), mut of)| {
        of.off.sort_by(|a, b| a.0.total_cmp(&b.0));
        // What is met may lie far off where a paper gives a wide range.
        let differing = of.off.iter().rfind(|(_, differs, _)| *differs);
        let most = differing.or(of.off.last()).map_or_else(
            || "-".to_owned(),
            |(off, _, id)| format!("{} ({id})", percent(*off)),
        );
        vec![
            format!("{kind} {number}"),
            of.met.to_string(),
            of.differs.to_string(),
            of.open.to_string(),
            of.off.len().to_string(),
            median(&of.off).map_or_else(|| "-".to_owned(), percent),
            most,
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    (!rows.is_empty()).then(|| Sheet {
        slug: "by-figure",
        title: "By figure and table of the paper".to_owned(),
        text: "Rows that are met, differ or are open. Printed values have ours beside them; off by is how far ours lie \
               from them in the median, as a share of what is printed, and farthest the row that lies farthest: of \
               those that differ, where some do."
            .to_owned(),
        header: [
            "paper",
            "met",
            "differ",
            "open",
            "values",
            "off by",
            "farthest",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    })
}

/// `figure 4` and its like, of the parts of a place.
fn name(part: &str) -> Option<(String, u32)> {
    let (kind, number) = part.split_once(' ')?;
    let is_shown = ["figure", "table"].contains(&kind);
    is_shown.then(|| Some((kind.to_owned(), number.parse().ok()?)))?
}

/// How far ours lies from the published value, or from the nearer end of a range, as a share of it.
fn off(line: &Line) -> Option<f64> {
    let (ours, value) = (line.ours?, line.expected.value?);
    let upper = line.expected.upper.unwrap_or(value);
    let nearest = ours.clamp(value.min(upper), value.max(upper));
    (nearest != 0.0).then(|| ((ours - nearest) / nearest).abs())
}

fn median(sorted: &[(f64, bool, String)]) -> Option<f64> {
    let middle = sorted.get(sorted.len() / 2)?.0;
    let below = sorted[(sorted.len() - 1) / 2].0;
    Some(f64::midpoint(below, middle))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Measured;
    use crate::paper::Paper;

    /// By hand, of figure 2 of the paper of 1996: 0.766 and 0.899 are printed as layout scores at its end; 0.843 is
    /// 10 % above the first, and 0.899 is the second.
    #[test]
    fn values_of_a_figure_are_set_beside_what_it_prints() {
        let mut measured = Measured::default();
        measured.figure("S96.10.orig.end", Some(0.766 * 1.1));
        measured.figure("S96.10.realloc.end", Some(0.899));
        let paper = Paper::named("smith96").unwrap();
        let lines = measured.compare(&paper);
        let place = |id: &str| {
            let line = lines.iter().find(|line| line.expected.id == id).unwrap();
            line.expected.place.clone()
        };
        assert!(place("S96.10.orig.end").contains("figure 2"));
        let sheet = sheet(&lines).unwrap();
        let of_two = sheet.rows.iter().find(|row| row[0] == "figure 2").unwrap();
        let expected = [
            "figure 2",
            "1",
            "1",
            "0",
            "2",
            "5 %",
            "10 % (S96.10.orig.end)",
        ];
        assert_eq!(of_two[..], expected);
    }

    #[test]
    fn nothing_that_ran_is_no_table() {
        let paper = Paper::named("smith96").unwrap();
        assert!(sheet(&Measured::default().compare(&paper)).is_none());
    }

    #[test]
    fn only_figures_and_tables_have_names() {
        assert_eq!(name("figure 12"), Some(("figure".to_owned(), 12)));
        assert_eq!(name("section 4.2"), None);
        assert_eq!(name("abstract"), None);
    }
}
