//! Data in one piece: how much of all file data lies in files that are not broken.
//!
//! **Definition.** Bytes of file data on disk in files of one piece, as a share of all file data on disk; what a piece
//! is says [`pieces`](crate::pieces). There a large file counts as much as a small one, here as much as its data: 1,024
//! whole files of 1 KiB beside a broken one of 99 MiB are 1 %.
//!
//! **Units.** A share; unknown where no file has data on disk.
//!
//! **Limits.** Those of pieces. A file of one block is always in one piece.

use crate::metric::{Better, Metric, Section, Summed, Unit};
use crate::placed::{end_of, placed_data};
use crate::sign::Sign;
use fsage_core::{FileKind, FileView, Geometry};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[&SHARE];

/// Share of file data in files of one piece.
pub static SHARE: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    ..Metric::real(
        "one_piece_share",
        "file data in one piece",
        Unit::Share,
        Section::Layout,
        "Of all file data on the disk, the share that belongs to files in one piece.",
        |m| {
            let all = m.sums.pieces.data_bytes;
            (all > 0).then(|| m.sums.one_piece.bytes as f64 / all as f64)
        },
    )
};

/// Data of the files in one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnePiece {
    /// Bytes of their data on disk.
    pub bytes: u64,
}

impl Summed for OnePiece {
    fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
        if file.kind != FileKind::Regular {
            return;
        }
        let (mut bytes, mut end) = (0_u64, None);
        for extent in placed_data(file, geometry) {
            if end.is_some_and(|end| end != extent.physical_bytes) {
                return;
            }
            bytes = bytes.saturating_add(extent.length_bytes);
            end = Some(end_of(&extent));
        }
        sign.apply(&mut self.bytes, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::{extent, file, geometry};
    use crate::{Measures, Number};

    const K: u64 = 1024;

    /// 16 KiB in two extents that follow each other, 24 KiB in two pieces: 16 of 40.
    #[test]
    fn data_of_broken_files_do_not_count() {
        let mut m = Measures::new(geometry());
        assert_eq!(SHARE.of(&m), None);
        let whole = [extent(0, 64 * K, 8 * K), extent(8 * K, 72 * K, 8 * K)];
        let broken = [extent(0, 128 * K, 16 * K), extent(16 * K, 96 * K, 8 * K)];
        m.count(&file(16 * K, &whole), Sign::Add);
        assert_eq!(SHARE.of(&m), Some(Number::Real(1.0)));
        m.count(&file(24 * K, &broken), Sign::Add);
        assert_eq!(SHARE.of(&m), Some(Number::Real(0.4)));
        m.count(&file(16 * K, &whole), Sign::TakeBack);
        assert_eq!(SHARE.of(&m), Some(Number::Real(0.0)));
    }
}
