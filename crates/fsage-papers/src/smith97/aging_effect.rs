//! What aging does to throughput (figure 1), and what it shows of two policies that are alike when empty (figure 2).

use crate::comparison::Measured;
use crate::figure::{Exhibit, Figure, Published};
use crate::paper::Paper;
use crate::sizes::{Sizes, What, change, largest, mean, ratios};
use crate::words;
use fsage_report::chart::size_text;
use fsage_report::svg::Axis;

/// The original allocator and reallocation, empty and aged.
#[derive(Clone, Copy)]
pub struct AgingEffect<'a> {
    /// The original allocator on an empty file system.
    pub orig_empty: &'a Sizes,
    /// The same, aged.
    pub orig_aged: &'a Sizes,
    /// Reallocation on an empty file system.
    pub realloc_empty: &'a Sizes,
    /// The same, aged.
    pub realloc_aged: &'a Sizes,
}

impl AgingEffect<'_> {
    /// Both charts.
    pub fn exhibits(&self, paper: &Paper) -> Vec<Exhibit> {
        let worst = worst(self.orig_aged, self.orig_empty);
        let published = worst.and_then(|(bytes, _)| {
            let empty = self.orig_empty.at(What::Read, bytes)?;
            Some(Published {
                curve: "orig, aged".to_owned(),
                x: bytes as f64,
                y: empty * paper.value("S97.9"),
            })
        });
        vec![
            Exhibit::Figure(Figure {
                slug: "aging-effect",
                title: "Reading on an empty and on an aged file system (figure 1)".to_owned(),
                text: "32 MB in files of one size. The paper states how much slower the aged file system is at its \
                       worst; the published point is that much below our empty one, at our worst size."
                    .to_owned(),
                axis: Axis::Bytes,
                x_label: "size of a file, bytes",
                y_label: "MB/s (10^6)",
                curves: vec![
                    self.orig_empty.curve("orig, empty", What::Read),
                    self.orig_aged.curve("orig, aged", What::Read),
                    self.realloc_empty.curve("realloc, empty", What::Read),
                    self.realloc_aged.curve("realloc, aged", What::Read),
                ],
                published: published.into_iter().collect(),
            }),
            Exhibit::Figure(Figure {
                slug: "policies-empty",
                title: "Two policies on empty and aged file systems, reading (figure 2)".to_owned(),
                text: "On an empty file system the two policies of 1996 are nearly the same; the aged ones tell them \
                       apart."
                    .to_owned(),
                axis: Axis::Bytes,
                x_label: "size of a file, bytes",
                y_label: "MB/s (10^6)",
                curves: vec![
                    self.orig_empty.curve("orig, empty", What::Read),
                    self.realloc_empty.curve("realloc, empty", What::Read),
                    self.orig_aged.curve("orig, aged", What::Read),
                    self.realloc_aged.curve("realloc, aged", What::Read),
                ],
                published: Vec::new(),
            }),
        ]
    }

    /// What the paper says of them.
    pub fn measure(&self, measured: &mut Measured) {
        for (id, aged, empty) in [
            ("S97.9", self.orig_aged, self.orig_empty),
            ("S97.9.realloc", self.realloc_aged, self.realloc_empty),
        ] {
            measured.figure(id, worst(aged, empty).map(|(_, ratio)| ratio));
        }
        measured.shape("S97.10", self.alike_when_empty());
        let empty = ratios(self.realloc_empty, self.orig_empty, What::Read);
        let slightly = mean(empty.into_iter().map(|(_, ratio)| ratio));
        measured.shape(
            "S97.10.slightly",
            slightly.map(|ratio| (words::slightly_more(ratio), change(ratio))),
        );
        measured.shape("S97.F2B.worse", self.worse_when_aged());
        let aged = ratios(self.realloc_aged, self.orig_aged, What::Read);
        measured.figure("S97.F2B.gain", largest(&aged).map(|(_, ratio)| ratio));
    }

    fn worse_when_aged(&self) -> Option<(bool, String)> {
        let all = [
            (self.orig_aged, self.orig_empty),
            (self.realloc_aged, self.realloc_empty),
        ]
        .map(|(aged, empty)| ratios(aged, empty, What::Read))
        .concat();
        let slower = all.iter().filter(|(_, ratio)| *ratio < 1.0).count();
        let text = format!("at {slower} of {} sizes, both policies together", all.len());
        (!all.is_empty()).then_some((slower == all.len(), text))
    }

    fn alike_when_empty(&self) -> Option<(bool, String)> {
        let all = ratios(self.realloc_empty, self.orig_empty, What::Read);
        let far = all
            .iter()
            .max_by(|a, b| (a.1 - 1.0).abs().total_cmp(&(b.1 - 1.0).abs()))?;
        let near = all
            .iter()
            .filter(|(_, ratio)| words::nearly_the_same(*ratio))
            .count();
        Some((
            words::is_nearly_all(near as f64 / all.len() as f64),
            format!("at most {} apart, at {}", change(far.1), size_text(far.0)),
        ))
    }
}

/// The size at which the aged file system is read the slowest, as a share of the empty one.
fn worst(aged: &Sizes, empty: &Sizes) -> Option<(u64, f64)> {
    let ratios = ratios(aged, empty, What::Read).into_iter();
    ratios.min_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::tests::sizes;

    #[test]
    fn the_worst_size_and_the_likeness_come_from_the_curves() {
        let empty = sizes(&[(16, 2.0, 4.0, 1.0), (96, 2.0, 5.0, 1.0)]);
        let aged = sizes(&[(16, 1.0, 1.0, 0.5), (96, 1.0, 2.0, 0.5)]);
        let effect = AgingEffect {
            orig_empty: &empty,
            orig_aged: &aged,
            realloc_empty: &empty,
            realloc_aged: &aged,
        };
        assert_eq!(worst(&aged, &empty), Some((16 << 10, 0.25)));
        assert!(effect.alike_when_empty().unwrap().0);
        assert!(effect.worse_when_aged().unwrap().0);
        let other = AgingEffect {
            realloc_empty: &aged,
            ..effect
        };
        let (alike, text) = other.alike_when_empty().unwrap();
        assert!(!alike && text.contains("-75.0 %"), "{text}");
    }
}
