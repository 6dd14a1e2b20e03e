//! The verdict: sentences that follow from the data.

use super::subject::Group;
use super::words::{counted, list, percents};
use fsage_report::{Finding, Tone};

/// Scores that differ by less are alike.
const ALIKE: f64 = 0.005;

/// What the data of a workload say.
pub fn findings(group: &Group) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(end_scores(group));
    findings
}

fn end_scores(group: &Group) -> Option<Finding> {
    let mut scored: Vec<_> = group
        .subjects
        .iter()
        .filter_map(|s| Some((s, s.over(|life| life.end_score())?)))
        .collect();
    scored.sort_by(|(_, a), (_, b)| b.mean.total_cmp(&a.mean));
    let days = scored.iter().map(|(s, _)| s.days()).max()?;
    let shares: Vec<f64> = scored.iter().map(|(_, over)| over.mean).collect();
    let shares = percents(&shares, ALIKE);
    let parts: Vec<String> = scored
        .iter()
        .zip(&shares)
        .map(|((s, _), share)| format!("{} {share}", s.name))
        .collect();
    Some(Finding {
        text: format!(
            "Blocks contiguous after {}: {}.",
            counted(days, "day"),
            list(&parts)
        ),
        tone: Tone::Neutral,
        section: Some(format!("decay{}", group.suffix)),
    })
}
