//! Layout score by size of file, in blocks: the files of a file system, or some of them.

use super::figure::Curve;
use fsage_core::{FileKind, FileView, Layout};
use fsage_metrics::LayoutScore;
use std::collections::BTreeMap;

/// Sizes of more blocks than these share classes that double.
const SINGLE: u64 = 16;

/// What counts as a block of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Every one, the last one too, be it a fragment.
    All,
    /// Whole ones: a tail of fragments is none.
    Whole,
}

/// Score and number of files by their number of blocks: 2 to 16 one by one, then classes that double, each under its
/// largest number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByBlocks(pub BTreeMap<u64, (LayoutScore, u64)>);

impl ByBlocks {
    /// Of the regular files whose inode number `is_of_them` takes.
    pub fn of(layout: &impl Layout, counted: Blocks, is_of_them: impl Fn(u64) -> bool) -> ByBlocks {
        let geometry = layout.geometry();
        let block = u64::from(geometry.block_bytes.max(1));
        let mut by = ByBlocks::default();
        layout.visit_files(&mut |file| {
            let file = &match counted {
                Blocks::Whole if ends_in_fragments(file, block) => FileView {
                    size_bytes: file.size_bytes / block * block,
                    ..*file
                },
                _ => FileView { ..*file },
            };
            let score = LayoutScore::of_file(file, &geometry);
            if file.kind != FileKind::Regular || score.scored == 0 || !is_of_them(file.ino) {
                return;
            }
            let blocks = file.size_bytes.div_ceil(block);
            let class = if blocks <= SINGLE {
                blocks
            } else {
                blocks.next_power_of_two()
            };
            let (sum, files) = by.0.entry(class).or_default();
            *sum += score;
            *files += 1;
        });
        by
    }

    /// The score of a class; `None` of one without files.
    pub fn at(&self, blocks: u64) -> Option<f64> {
        self.class(blocks).share()
    }

    /// Score of a class, which may have no files.
    pub fn class(&self, blocks: u64) -> LayoutScore {
        self.0
            .get(&blocks)
            .map(|(score, _)| *score)
            .unwrap_or_default()
    }

    /// The score of several classes together.
    pub fn over(&self, blocks: impl std::ops::RangeBounds<u64>) -> Option<f64> {
        let mut sum = LayoutScore::default();
        for (score, _) in self.0.range(blocks).map(|(_, class)| *class) {
            sum += score;
        }
        sum.share()
    }

    /// A curve over the size in bytes of files that fill their blocks.
    pub fn curve(&self, name: impl Into<String>, block_bytes: u64) -> Curve {
        let points = self.0.iter().filter_map(|(blocks, (score, _))| {
            Some(((blocks * block_bytes) as f64, score.share()?))
        });
        Curve::exact(name, points)
    }
}

/// Whether the end of a file takes less than a block.
fn ends_in_fragments(file: &FileView<'_>, block: u64) -> bool {
    let mut data = file.extents.unwrap_or_default().iter();
    let last = data.rfind(|extent| extent.is_placed_data());
    last.is_some_and(|last| !last.length_bytes.is_multiple_of(block))
}

/// Two-block files: how many of them are contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwoBlockFiles {
    /// All.
    pub all: LayoutScore,
    /// Those whose second block is a whole one.
    pub full: LayoutScore,
}

impl TwoBlockFiles {
    /// Of a file system. A file that ends less than a fragment before the end of its second block fills it.
    pub fn of(layout: &impl Layout) -> TwoBlockFiles {
        let geometry = layout.geometry();
        let block = u64::from(geometry.block_bytes.max(1));
        let full_from = 2 * block - u64::from(geometry.frag_bytes);
        let mut two = TwoBlockFiles::default();
        layout.visit_files(&mut |file| {
            let is_two = file.size_bytes > block && file.size_bytes <= 2 * block;
            if file.kind != FileKind::Regular || !is_two {
                return;
            }
            let score = LayoutScore::of_file(file, &geometry);
            two.all += score;
            if file.size_bytes > full_from {
                two.full += score;
            }
        });
        two
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, FileId, FileSystem, Op};
    use fsage_models::ffs::{Ffs, Params};

    /// On an empty `tiny`: a file of 9000 bytes, whose fragment does not follow its block, and files of 16 KB and 24 KB
    /// in one piece (worked example 19.1 of the specification, and the rule of realloc).
    fn files() -> Ffs {
        let params = Params {
            policy: fsage_models::ffs::policy::by_name("realloc").unwrap(),
            ..Params::preset("tiny").unwrap()
        };
        let mut fs = Ffs::new(params).unwrap();
        for (file, bytes) in [(1, 1000), (2, 9000), (3, 16_384), (4, 24_576), (5, 16_000)] {
            let op = Op::Create {
                file: FileId(file),
                dir: DirId::ROOT,
                bytes,
            };
            fs.apply(&op).unwrap();
        }
        fs
    }

    #[test]
    fn files_count_by_their_blocks() {
        let fs = files();
        let all = ByBlocks::of(&fs, Blocks::All, |_| true);
        let counts: Vec<(u64, u64)> = all.0.iter().map(|(b, (_, n))| (*b, *n)).collect();
        assert_eq!(counts, [(2, 3), (3, 1)], "one block has no score");
        assert_eq!(all.at(3), Some(1.0));
        assert_eq!(all.over(3..=5), Some(1.0));
        assert_eq!(all.at(7), None);
        let ino = fs.inode(FileId(4)).unwrap();
        let one = ByBlocks::of(&fs, Blocks::All, |n| n == ino);
        assert_eq!(one.0.len(), 1);
        assert_eq!(
            one.curve("c", 8192).points[0].x.to_bits(),
            24_576_f64.to_bits()
        );
    }

    /// 16,384 bytes fill two blocks, and so do 16,000: only less than a fragment is missing.
    #[test]
    fn a_second_block_is_full_where_no_fragment_of_it_is_left() {
        let two = TwoBlockFiles::of(&files());
        assert_eq!((two.all.scored, two.full.scored), (3, 2));
        assert_eq!(two.full.optimal, 2);
        assert_eq!(
            two.all.optimal, 2,
            "the fragment of 9000 bytes lies elsewhere"
        );
    }
}
