//! Split files: those whose first block lies in another cylinder group than their inode.

use crate::aged::Aged;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::paper::Paper;
use fsage_core::Layout;
use fsage_lab::table::percent;
use fsage_metrics::SplitFiles;

/// The aged file systems, the baseline and `NoSwitch`.
pub struct Split<'a> {
    /// The baseline.
    pub realloc: &'a Aged,
    /// `NoSwitch`.
    pub noswitch: &'a Aged,
}

impl Split<'_> {
    /// The table.
    pub fn exhibit(&self, paper: &Paper) -> Exhibit {
        let header = ["", "realloc", "paper", "noswitch", "paper"];
        let columns = [self.realloc, self.noswitch].map(|aged| {
            let split = aged.measures.sums.split_files;
            [
                split.split.to_string(),
                percent(of(split.split, aged.measures.sums.files.regular)),
                percent(of(split.distance_1, split.split)),
                percent(of(split.distance_below_10, split.split)),
            ]
        });
        let published = ["realloc", "noswitch"].map(|policy| {
            let value = |row: &str| paper.value(&format!("{row}.{policy}"));
            [
                paper.value(&format!("H97.5.{policy}.files")).to_string(),
                percent(Some(value("H97.5") / 100.0)),
                percent(Some(value("H97.6") / 100.0)),
                percent(Some(value("H97.7") / 100.0)),
            ]
        });
        let names = [
            "split files",
            "of all files",
            "one group away",
            "less than ten groups away",
        ];
        let rows = names.iter().enumerate().map(|(i, name)| {
            vec![
                (*name).to_owned(),
                columns[0][i].clone(),
                published[0][i].clone(),
                columns[1][i].clone(),
                published[1][i].clone(),
            ]
        });
        Exhibit::Sheet(Sheet {
            slug: "split-files",
            title: "Split files at the end".to_owned(),
            text: "A file is split when its first block lies in another cylinder group than its inode. How many are, \
                   and how far, depends on how unevenly the directories of the workload fill their groups."
                .to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
    }

    /// What the paper says of them.
    pub fn measure(&self, measured: &mut Measured) {
        for (name, aged) in [("realloc", self.realloc), ("noswitch", self.noswitch)] {
            let split = aged.measures.sums.split_files;
            let files = aged.measures.sums.files.regular;
            let count = (files > 0).then_some(split.split as f64);
            measured.figure(&format!("H97.5.{name}.files"), count);
            let share = of(split.split, files);
            measured.figure(&format!("H97.5.{name}"), share.map(|share| share * 100.0));
            for (id, part) in [
                ("H97.6", split.distance_1),
                ("H97.7", split.distance_below_10),
                ("H97.7.ten", up_to_ten_away(aged)),
            ] {
                let share = of(part, split.split).map(|share| share * 100.0);
                measured.figure(&format!("{id}.{name}"), share);
            }
        }
        let [realloc, noswitch] =
            [self.realloc, self.noswitch].map(|a| a.measures.sums.split_files.split);
        let times = of(noswitch, realloc);
        measured.shape(
            "H97.5",
            times.map(|times| (times > 2.0, format!("{times:.2} times"))),
        );
    }
}

/// Split files at most ten groups away, as the caption of the table reads its last row.
fn up_to_ten_away(aged: &Aged) -> u64 {
    let geometry = &aged.measures.geometry;
    let mut count = 0;
    aged.state.fs.visit_files(&mut |file| {
        let mut split = SplitFiles::default();
        split.add(file, geometry);
        let first = file.extents.and_then(<[_]>::first);
        let groups = geometry
            .group_of_inode(file.ino)
            .zip(first.and_then(|first| geometry.group_of_address(first.physical_bytes)));
        let is_near = groups.is_some_and(|(inode, block)| inode.abs_diff(block) <= 10);
        count += u64::from(split.split > 0 && is_near);
    });
    count
}

/// A part of a whole; `None` of nothing.
pub fn of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
