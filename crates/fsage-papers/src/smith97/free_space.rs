//! Fragments in free space by day, and how two-block files lie: what `SmartFrag` costs, and where it can gain.

use crate::aged::Aged;
use crate::by_blocks::TwoBlockFiles;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::paper::Paper;
use crate::sizes::change;
use fsage_lab::table::percent;

/// The aged file systems, the baseline and `SmartFrag`.
pub struct FreeSpace<'a> {
    /// The baseline.
    pub realloc: &'a Aged,
    /// `SmartFrag`.
    pub smartfrag: &'a Aged,
}

impl FreeSpace<'_> {
    /// The table.
    pub fn exhibit(&self, paper: &Paper) -> Exhibit {
        let two = [self.realloc, self.smartfrag].map(|aged| TwoBlockFiles::of(&aged.state.fs));
        let published = |id: &str, unit: f64| percent(Some(paper.value(id) * unit));
        let rows = [
            [
                "free space in fragments".to_owned(),
                percent(fragments(self.realloc)),
                published("S97.7.realloc", 0.01),
                percent(fragments(self.smartfrag)),
                published("S97.7.smartfrag", 0.01),
            ],
            [
                "contiguous two-block files".to_owned(),
                percent(two[0].all.share()),
                published("S97.8", 1.0),
                percent(two[1].all.share()),
                "-".to_owned(),
            ],
            [
                "the same, second block full".to_owned(),
                percent(two[0].full.share()),
                published("S97.8.full", 1.0),
                percent(two[1].full.share()),
                "-".to_owned(),
            ],
        ];
        Exhibit::Sheet(Sheet {
            slug: "free-space",
            title: "Free fragments and two-block files at the end".to_owned(),
            text: "SmartFrag breaks free blocks so that the end of a file follows its predecessor: more of what is \
                   free lies in fragments."
                .to_owned(),
            header: ["", "realloc", "paper", "smartfrag", "paper"].map(str::to_owned).to_vec(),
            rows: rows.map(Vec::from).to_vec(),
        })
    }

    /// What the paper says of them.
    pub fn measure(&self, measured: &mut Measured) {
        let [realloc, smartfrag] =
            [self.realloc, self.smartfrag].map(|aged| aged.measures.utilization());
        let free = realloc
            .zip(smartfrag)
            .map(|(realloc, smartfrag)| (1.0 - smartfrag) / (1.0 - realloc));
        measured.shape(
            "S97.7.same",
            free.map(|ratio| ((ratio - 1.0).abs() <= 0.01, change(ratio))),
        );
        let shares = [self.realloc, self.smartfrag].map(fragments);
        measured.figure("S97.7.realloc", shares[0].map(|share| share * 100.0));
        measured.figure("S97.7.smartfrag", shares[1].map(|share| share * 100.0));
        let over = shares[0].zip(shares[1]).map(|(base, ours)| ours / base);
        measured.figure("S97.7", over);
        let two = TwoBlockFiles::of(&self.realloc.state.fs);
        measured.figure("S97.8", two.all.share());
        measured.figure("S97.8.full", two.full.share());
    }
}

/// Fragments as a share of free space.
fn fragments(aged: &Aged) -> Option<f64> {
    let free = aged.measures.free.as_ref()?;
    Some(free.fragment_share(&aged.measures.geometry))
}
