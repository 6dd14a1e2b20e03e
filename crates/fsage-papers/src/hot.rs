//! The files that were modified in the last month: how they lie, and how fast they are read and overwritten in place.

use super::aged::{Aged, State};
use super::by_blocks::{Blocks, ByBlocks};
use super::comparison::Measured;
use super::experiments::Bench;
use super::figure::Sheet;
use fsage_bench::{Measurement, Summary};
use fsage_core::{FileSystem, Layout};
use fsage_metrics::{LayoutScore, SplitFiles};
use std::collections::BTreeSet;

/// Hot files of one file system.
#[derive(Clone, Debug, Default)]
pub struct Hot {
    /// Its name.
    pub name: String,
    /// How many they are.
    pub files: u64,
    /// Their lengths, added up.
    pub bytes: u64,
    /// Their layout score.
    pub layout: LayoutScore,
    /// The same by size.
    pub by_blocks: ByBlocks,
    /// How many of them begin in another group than their inode.
    pub split: SplitFiles,
    /// Reading them, in MB/s.
    pub read: Option<Summary>,
    /// Writing over them, in MB/s.
    pub overwrite: Option<Summary>,
    /// The same where a whole block that is overwritten is not read first.
    pub overwrite_unread: Option<Summary>,
}

impl Hot {
    /// Measures the hot files of a file system, and of its twin whose host does not read a block that is wholly
    /// overwritten.
    ///
    /// # Errors
    /// A benchmark fails; an interrupt.
    pub fn measure(bench: &Bench<'_>, state: &State, twin: &State) -> anyhow::Result<Hot> {
        let mut hot = Hot::look_at(state);
        let measured = bench.hot_files(state)?;
        hot.read = rates(&measured, "read");
        hot.overwrite = rates(&measured, "overwrite");
        hot.overwrite_unread = rates(&bench.hot_files(twin)?, "overwrite");
        Ok(hot)
    }

    /// What the layout alone tells.
    fn look_at(state: &State) -> Hot {
        let fs = &state.fs;
        let inodes: BTreeSet<u64> = state.hot.iter().filter_map(|&f| fs.inode(f)).collect();
        let geometry = fs.geometry();
        let mut hot = Hot {
            name: state.name.clone(),
            by_blocks: ByBlocks::of(fs, Blocks::Whole, |ino| inodes.contains(&ino)),
            ..Hot::default()
        };
        fs.visit_files(&mut |file| {
            if inodes.contains(&file.ino) {
                hot.files += 1;
                hot.bytes += file.size_bytes;
                hot.layout += LayoutScore::of_file(file, &geometry);
                hot.split.add(file, &geometry);
            }
        });
        hot
    }

    /// What share of the files they are and of the space in use they take, in percent: rows `<id>.share` and
    /// `<id>.space`.
    pub fn measure_shares(&self, id: &str, aged: &Aged, measured: &mut Measured) {
        let of = |part: u64, whole: f64| {
            (self.files > 0 && whole > 0.0).then(|| 100.0 * part as f64 / whole)
        };
        let files = aged.measures.sums.files.regular as f64;
        measured.figure(&format!("{id}.share"), of(self.files, files));
        let used = aged.used_bytes().and_then(|used| of(self.bytes, used));
        measured.figure(&format!("{id}.space"), used);
    }

    /// Lengths in MB of 2^20 bytes.
    pub fn megabytes(&self) -> f64 {
        self.bytes as f64 / f64::from(1 << 20)
    }
}

fn rates(measurements: &[Measurement], phase: &str) -> Option<Summary> {
    let of_phase = measurements.iter().filter(|m| m.phase == phase);
    let rates = of_phase.filter_map(|m| Some(m.throughput()? / 1e6));
    Summary::of(&rates.collect::<Vec<f64>>())
}

/// One figure as a multiple of another.
pub fn over(one: Option<Summary>, other: Option<Summary>) -> Option<f64> {
    Some(one?.mean / other?.mean)
}

/// A table of hot files: a column a file system, and what was published of it.
pub struct Columns<'a> {
    /// The file systems.
    pub hot: &'a [&'a Hot],
    /// Published of each: layout score, reading, writing.
    pub published: &'a [[f64; 3]],
}

/// The table.
pub fn sheet(title: &str, columns: &Columns<'_>) -> Sheet {
    let rate = |summary: Option<Summary>| match summary {
        Some(s) => format!("{:.3} ± {:.3}", s.mean, s.standard_deviation.unwrap_or(0.0)),
        None => "-".to_owned(),
    };
    let mut header = vec![String::new()];
    for hot in columns.hot {
        header.extend([hot.name.clone(), "paper".to_owned()]);
    }
    let row = |name: &str, ours: &dyn Fn(&Hot) -> String, published: Option<usize>| {
        let mut row = vec![name.to_owned()];
        for (hot, paper) in columns.hot.iter().zip(columns.published) {
            let paper = published.map_or_else(|| "-".to_owned(), |at| paper[at].to_string());
            row.extend([ours(hot), paper]);
        }
        row
    };
    Sheet {
        slug: "hot-files",
        title: title.to_owned(),
        text: "Files modified in the last month, sorted by directory: all are read, then all are overwritten in \
               place. Throughput in MB/s of 10^6 bytes, with the standard deviation over the runs. 4.4BSD reads a \
               block before it overwrites it, if an inode and no indirect block points to it, even where all of it \
               is written; the last row is without that."
            .to_owned(),
        header,
        rows: vec![
            row("files", &|h| h.files.to_string(), None),
            row("MB (2^20)", &|h| format!("{:.1}", h.megabytes()), None),
            row("layout score", &|h| format!("{:.3}", h.layout.value()), Some(0)),
            row("split files", &|h| h.split.split.to_string(), None),
            row("read", &|h| rate(h.read), Some(1)),
            row("overwrite", &|h| rate(h.overwrite), Some(2)),
            row("overwrite, whole blocks unread", &|h| rate(h.overwrite_unread), None),
        ],
    }
}
