//! Split files: those whose first block lies in another cylinder group than their inode.

use crate::aged::Aged;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::paper::Paper;
use fsage_lab::table::percent;

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
                percent(Some(value("H97.6"))),
                percent(Some(value("H97.7"))),
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
            measured.figure(&format!("H97.6.{name}"), of(split.distance_1, split.split));
            measured.figure(
                &format!("H97.7.{name}"),
                of(split.distance_below_10, split.split),
            );
        }
        let [realloc, noswitch] =
            [self.realloc, self.noswitch].map(|a| a.measures.sums.split_files.split);
        measured.figure("H97.5", of(noswitch, realloc));
    }
}

/// A part of a whole; `None` of nothing.
pub fn of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
