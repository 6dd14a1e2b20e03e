//! A layout in a sentence.

use super::DayRow;
use crate::table::percent;
use fsage_metrics::{files, free_space, layout_score, pieces};

impl DayRow {
    /// What matters of a layout, in a sentence: how many files are in pieces, beside the unaged control where there is
    /// one, how full it is, and whether large extents still have room. None where no file can be in pieces.
    pub fn in_a_sentence(&self) -> Option<String> {
        let count = |metric| Some(self.value(metric)? as u64);
        let files = count(&layout_score::SCORED_FILES).filter(|files| *files > 0)?;
        let broken = count(&pieces::FRAGMENTED_FILES)?;
        let share = percent(Some(broken as f64 / files as f64));
        let all = count(&files::FILES).filter(|all| *all > files);
        let of_all = all.map(|all| {
            format!(
                "; {} of all files",
                percent(Some(broken as f64 / all as f64))
            )
        });
        let of_all = of_all.unwrap_or_default();
        let fresh = self.of_control(&pieces::FRAGMENTED_FILES);
        let fresh = fresh.map(|fresh| format!(", of a fresh copy {fresh:.0}"));
        let full = self.value(&files::UTILIZATION);
        let full = full.map(|full| format!("; {} full", percent(Some(full))));
        let room = count(&free_space::PLACEABLE_1M).map(|room| match room {
            0 => ", no room for an extent of 1 MiB".to_owned(),
            room => format!(", room for {room} extents of 1 MiB"),
        });
        let parts = [fresh, full, room].into_iter().flatten();
        Some(format!(
            "{broken} of {files} files of two blocks or more are in pieces ({share}{of_all}){}.",
            parts.collect::<String>()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 30 of 120 are a quarter.
    #[test]
    fn what_matters_stands_first() {
        let day = DayRow::default()
            .with(&layout_score::SCORED_FILES, 120)
            .with(&files::FILES, 300)
            .with(&pieces::FRAGMENTED_FILES, 30)
            .with_control(&pieces::FRAGMENTED_FILES, 4)
            .with(&files::UTILIZATION, 0.8)
            .with(&free_space::PLACEABLE_1M, 0);
        assert_eq!(
            day.in_a_sentence().as_deref(),
            Some(
                "30 of 120 files of two blocks or more are in pieces (25.0 %; 10.0 % of all files), of a fresh copy 4; \
                 80.0 % full, no room for an extent of 1 MiB."
            )
        );
        let little = DayRow::default()
            .with(&layout_score::SCORED_FILES, 2)
            .with(&pieces::FRAGMENTED_FILES, 0);
        assert_eq!(
            little.in_a_sentence().as_deref(),
            Some("0 of 2 files of two blocks or more are in pieces (0.0 %).")
        );
        assert_eq!(DayRow::default().in_a_sentence(), None);
    }
}
