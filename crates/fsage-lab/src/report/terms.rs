//! The words of the page, each in a sentence: what it is, its unit, and what is good. Those of metrics come from their
//! list.

use crate::benching::flash::VALUES;
use fsage_metrics::{Better, METRICS, Metric};
use fsage_report::Term;

/// Names and meanings of what is no metric; docs/metrics.md says more.
const TERMS: [(&str, &str); 9] = [
    (
        "contiguous blocks",
        "Blocks that lie directly behind the block of their file before them: what the layout score counts.",
    ),
    (
        "unaged control",
        "The files that are alive at the end, copied to a fresh file system of the same kind: what the layout would be \
         without age. The gap is the cost of aging.",
    ),
    (
        "operations done and not done",
        "What became of the operations of the workload: what a file system had no room for is skipped and counted, and \
         the run goes on.",
    ),
    (
        "aged, control, empty",
        "What a file system went through before it was benchmarked: the workload; a copy of the files that the \
         workload leaves; nothing.",
    ),
    (
        "aged / control",
        "Throughput of the aged file system as a multiple of that of its unaged control, repetition by repetition; \
         below 1 the aged one is slower.",
    ),
    (
        "MB/s, files/s",
        "Megabytes of 1,000,000 bytes, or files where no bytes are moved, in a second; more are better.",
    ),
    (
        "spread",
        "The interval in which the median lies with at least 95 % confidence; of fewer than six repetitions, and of \
         layouts over seeds, the smallest and the largest value. Of benchmarks over three seeds or more, Student's \
         95 % interval of the mean.",
    ),
    (
        "origin",
        "Where an operation of the workload comes from: a trace, the comparison of snapshots, a generator.",
    ),
    (
        "exact and guessed times",
        "How well the time of an operation is known, from exact over bounded by evidence to random; what is guessed is \
         said, so that nobody takes it for history.",
    ),
];

/// All terms.
pub fn terms() -> Vec<Term> {
    let metrics = METRICS.iter().map(|metric| term(metric));
    let flash = VALUES.iter().map(|value| (value.title, value.doc));
    let others = TERMS.into_iter().chain(flash).map(|(name, meaning)| Term {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
    });
    metrics.chain(others).collect()
}

/// What a metric is, its column, its unit, and what is good.
fn term(metric: &Metric) -> Term {
    let better = match metric.better {
        Better::Neither => String::new(),
        better => format!(", {} is better", better.name()),
    };
    let (doc, id, unit) = (metric.doc, metric.id, metric.unit.name());
    Term {
        name: metric.title.to_owned(),
        meaning: format!("{doc} Column {id}: {unit}{better}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A name of one common word would be explained below every chart that uses it.
    #[test]
    fn every_metric_is_explained_once_under_a_name_that_tells_it_from_others() {
        let terms = terms();
        let names: HashSet<&str> = terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(names.len(), terms.len());
        for common in ["files", "directories", "free", "pieces", "segments", "runs"] {
            assert!(!names.contains(common), "{common}");
        }
        let score = terms.iter().find(|term| term.name == "layout score");
        let meaning = &score.expect("the layout score").meaning;
        assert!(
            meaning.ends_with("Column layout_score: score, more is better."),
            "{meaning}"
        );
    }
}
