//! A paper with several seeds: which rows hang on the seed, and how far ours moves with it.

use super::comparison::{Line, Verdict};
use super::figure::Sheet;
use super::page;
use super::paper::Paper;
use fsage_lab::build::Build;
use fsage_report::Report;
use serde::Serialize;

/// What the seeds of a paper give together.
#[derive(Debug, Serialize)]
pub struct OverSeeds {
    #[serde(flatten)]
    build: Build,
    paper: String,
    #[serde(skip)]
    title: String,
    seeds: Vec<u64>,
    rows: Vec<OfSeeds>,
}

/// A row over all seeds.
#[derive(Debug, Serialize)]
struct OfSeeds {
    id: String,
    statement: String,
    published: String,
    /// From the smallest of ours to the largest; none of a statement.
    ours: Option<(f64, f64)>,
    /// The same as text, in the unit of the row.
    #[serde(skip)]
    ours_text: String,
    /// Seeds with which it is met.
    met: usize,
    /// Seeds with which it is met, differs or is open.
    judged: usize,
}

impl OfSeeds {
    /// Of the same row with every seed; none where nothing is judged.
    fn of(lines: &[&Line]) -> Option<OfSeeds> {
        let first = lines.first()?;
        let count = |verdicts: &[Verdict]| {
            let lines = lines.iter();
            lines
                .filter(|line| verdicts.contains(&line.verdict))
                .count()
        };
        let judged = count(&[Verdict::Met, Verdict::Differs, Verdict::Open]);
        let ours = lines.iter().filter_map(|line| line.ours);
        let ours = ours.fold(None, |ends: Option<(f64, f64)>, ours| {
            Some(ends.map_or((ours, ours), |(least, most)| {
                (least.min(ours), most.max(ours))
            }))
        });
        let ours_text = ours.map_or_else(
            || "-".to_owned(),
            |(least, most)| match (first.digits(least), first.figure_text(most)) {
                (_, text) if first.figure_text(least) == text => text,
                (least, most) => format!("{least} to {most}"),
            },
        );
        (judged > 0).then(|| OfSeeds {
            id: first.expected.id.clone(),
            statement: first.expected.statement.clone(),
            published: first.published_text(),
            ours,
            ours_text,
            met: count(&[Verdict::Met]),
            judged,
        })
    }
}

impl OverSeeds {
    /// Of a paper, with the comparison of each seed.
    pub fn of(paper: &Paper, by_seed: &[(u64, Vec<Line>)]) -> OverSeeds {
        let rows = paper.expected.iter().filter_map(|expected| {
            let lines = by_seed
                .iter()
                .filter_map(|(_, lines)| lines.iter().find(|line| line.expected.id == expected.id));
            OfSeeds::of(&lines.collect::<Vec<&Line>>())
        });
        OverSeeds {
            build: Build::this(),
            paper: paper.name.clone(),
            title: paper.run.title.clone(),
            seeds: by_seed.iter().map(|(seed, _)| *seed).collect(),
            rows: rows.collect(),
        }
    }

    /// A row for each that is judged; those that hang on the seed first.
    pub fn sheet(&self) -> Sheet {
        let hangs = |row: &&OfSeeds| row.met > 0 && row.met < row.judged;
        let (hanging, others): (Vec<&OfSeeds>, Vec<&OfSeeds>) = self.rows.iter().partition(hangs);
        let rows = hanging.into_iter().chain(others).map(|row| {
            vec![
                row.id.clone(),
                row.statement.clone(),
                row.published.clone(),
                row.ours_text.clone(),
                format!("{} of {}", row.met, row.judged),
            ]
        });
        Sheet {
            slug: "seeds",
            title: format!("{} seeds", self.seeds.len()),
            text: "Ours is from the smallest to the largest. Rows that are met with some seeds only come \
                   first."
                .to_owned(),
            header: ["id", "statement", "published", "ours", "met with"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }

    /// How many rows every seed meets, some and none.
    pub fn sentence(&self) -> String {
        let count = |is: fn(&OfSeeds) -> bool| self.rows.iter().filter(|row| is(row)).count();
        format!(
            "Of {} rows {} are met with every seed, {} with some, {} with none.",
            self.rows.len(),
            count(|row| row.met == row.judged),
            count(|row| row.met > 0 && row.met < row.judged),
            count(|row| row.met == 0)
        )
    }

    /// The page, with the options of the run, each behind a blank.
    pub fn report(&self, options: &str) -> Report {
        let (sheet, seeds) = (self.sheet(), self.seeds.len());
        page::over_several(
            (&self.title, &format!(" with {seeds} seeds")),
            &format!("{} --seeds {seeds}{options}", self.paper),
            (self.sentence(), &sheet),
            vec![page::section(
                &sheet,
                "What hangs on the seed",
                "The folder seed-N of each has its own page.",
            )],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Measured;
    use crate::paper::Known;

    /// The first printed figure of a paper, met with seed 1 and far off with seed 2; the second off with both.
    #[test]
    fn a_row_that_hangs_on_the_seed_comes_first() {
        let paper = Paper::named("smith96").unwrap();
        let printed = paper.expected.iter().filter(|row| {
            let is_judged = row.not_measurable.is_none() && row.claim.is_none();
            row.value.is_some() && row.known == Known::Printed && is_judged
        });
        let printed: Vec<(&str, f64)> = printed
            .filter_map(|row| Some((row.id.as_str(), row.value?)))
            .collect();
        let [(never, far), .., (hanging, value)] = printed[..] else {
            panic!("too few rows");
        };
        let lines = |ours: f64| {
            let mut measured = Measured::default();
            measured.figure(hanging, Some(ours));
            measured.figure(never, Some(100.0 * far));
            measured.compare(&paper)
        };
        let by_seed = [(1, lines(value)), (2, lines(100.0 * value))];
        let seeds = OverSeeds::of(&paper, &by_seed);
        let sheet = seeds.sheet();
        assert_eq!(sheet.rows.len(), 2);
        assert_eq!(
            (sheet.rows[0][0].as_str(), sheet.rows[0][4].as_str()),
            (hanging, "1 of 2")
        );
        assert_eq!(
            (sheet.rows[1][0].as_str(), sheet.rows[1][4].as_str()),
            (never, "0 of 2")
        );
        assert!(sheet.rows[0][3].contains(" to ") && !sheet.rows[1][3].contains(" to "));
        assert_eq!(
            seeds.sentence(),
            "Of 2 rows 0 are met with every seed, 1 with some, 1 with none."
        );
        let report = seeds.report(" --days 3");
        assert_eq!(
            report.commands[0].line,
            "fsage reproduce smith96 --seeds 2 --days 3"
        );
        let page = fsage_report::render(&report).unwrap();
        assert!(page.contains("1 with some, 1 with none") && !page.contains("nothing to compare"));
    }
}
