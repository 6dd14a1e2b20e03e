//! Layout of the files that the benchmark creates on the aged file systems, by size.

use crate::comparison::Measured;
use crate::figure::{Exhibit, Figure};
use crate::sizes::{Sizes, What, mean};
use crate::words;
use fsage_report::chart::size_text;
use fsage_report::svg::Axis;

const KB: u64 = 1 << 10;
const BLOCK: u64 = 8 * KB;

/// The chart.
pub fn exhibit(orig: &Sizes, realloc: &Sizes) -> Exhibit {
    Exhibit::Figure(Figure {
        slug: "created-layout",
        title: "Layout of created files, by size (figure 5)".to_owned(),
        text: "Layout score of the files that the sequential benchmark creates on the aged file systems. The paper \
               states that realloc is perfect up to 56 KB, the largest cluster that it moves."
            .to_owned(),
        axis: Axis::Bytes,
        x_label: "size of a file, bytes",
        y_label: "layout score",
        curves: vec![
            orig.curve("orig", What::Layout),
            realloc.curve("realloc", What::Layout),
        ],
        published: Vec::new(),
    })
}

/// What the paper says of them.
pub fn measure(orig: &Sizes, realloc: &Sizes, measured: &mut Measured) {
    let layout = realloc.all(What::Layout);
    measured.shape("S96.F5.better", is_better(orig, realloc));
    measured.shape("S96.8.large", large_files_are_laid_out_well(orig, realloc));
    let small: Vec<&(u64, f64)> = layout.iter().filter(|(b, _)| *b <= 56 * KB).collect();
    let worst = small.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    measured.shape(
        "S96.8.perfect",
        worst.map(|(bytes, score)| {
            (
                *score >= 1.0,
                format!("at least {score:.4}, at {}", size_text(*bytes)),
            )
        }),
    );
    let middle = layout
        .iter()
        .filter(|(b, _)| (64 * KB..=96 * KB).contains(b));
    let worst = middle
        .map(|&(bytes, score)| (bytes, contiguous_at_least(bytes, score)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    measured.shape(
        "S96.8.most",
        worst.map(|(bytes, share)| {
            let text = format!("at least {:.0} % of {}", share * 100.0, size_text(bytes));
            (words::is_most(share), text)
        }),
    );
}

/// Better than the original allocator's, and not perfect.
fn large_files_are_laid_out_well(orig: &Sizes, realloc: &Sizes) -> Option<(bool, String)> {
    let of_large = |sizes: &Sizes| {
        let large = sizes.all(What::Layout).into_iter();
        mean(large.filter(|p| p.0 >= 4 << 20).map(|p| p.1))
    };
    let (orig, realloc) = (of_large(orig)?, of_large(realloc)?);
    let text = format!("{realloc:.3}, orig {orig:.3}");
    Some((realloc > orig && realloc < 1.0, text))
}

/// Better at every size.
fn is_better(orig: &Sizes, realloc: &Sizes) -> Option<(bool, String)> {
    let layout = realloc.all(What::Layout).into_iter();
    let differences = layout.filter_map(|(bytes, score)| {
        let more = score - orig.at(What::Layout, bytes)?;
        Some((bytes, more))
    });
    let (at, least) = differences.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((
        least > 0.0,
        format!("least {least:+.3}, at {}", size_text(at)),
    ))
}

/// The least share of files without a break that a layout score allows: that in which every break is in another file.
fn contiguous_at_least(bytes: u64, score: f64) -> f64 {
    let pairs = bytes.div_ceil(BLOCK).saturating_sub(1) as f64;
    (1.0 - (1.0 - score) * pairs).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Verdict;
    use crate::paper::Paper;
    use crate::sizes::tests::sizes;

    /// 12 blocks have 11 pairs: a score of 0.967 is 0.363 breaks a file.
    #[test]
    fn a_score_leaves_so_many_files_whole() {
        assert!((contiguous_at_least(96 * KB, 0.967) - 0.637).abs() < 1e-9);
        assert!(contiguous_at_least(96 * KB, 0.5).abs() < 1e-9);
        assert!((contiguous_at_least(8 * KB, 0.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_break_in_a_small_file_is_no_longer_perfect() {
        let paper = Paper::named("smith96").unwrap();
        let both = [
            (1.0, 0.99, [Verdict::Met, Verdict::Met]),
            (0.9999, 1.0, [Verdict::Differs, Verdict::Differs]),
        ];
        for (score, of_orig, verdicts) in both {
            let realloc = sizes(&[
                (16, 1.0, 1.0, score),
                (56, 1.0, 1.0, 1.0),
                (96, 1.0, 1.0, 0.975),
            ]);
            let mut measured = Measured::default();
            let orig = sizes(&[
                (16, 1.0, 1.0, 0.9),
                (56, 1.0, 1.0, of_orig),
                (96, 1.0, 1.0, 0.9),
            ]);
            measure(&orig, &realloc, &mut measured);
            let lines = measured.compare(&paper);
            let of = |id: &str| lines.iter().find(|l| l.expected.id == id).unwrap().verdict;
            assert_eq!(["S96.8.perfect", "S96.F5.better"].map(of), verdicts);
            assert_eq!(of("S96.8.most"), Verdict::Met);
        }
    }
}
