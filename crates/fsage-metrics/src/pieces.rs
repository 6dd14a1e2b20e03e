//! Pieces: in how many runs on disk the data of files lie, and what space they take.
//!
//! **Definitions.** A piece is a run of a file's data that is contiguous on disk; extents that follow each other
//! there are one piece, whatever made the source tell them apart, and a hole in the file is no seek on the disk. A
//! file in more than one piece is fragmented ("broken"); pieces per file are over files that have data on disk. A
//! file is inline where its data lie inside metadata. Unwritten bytes are preallocated within the length of the file;
//! bytes behind the end are allocated after its last block, or fragment. Live bytes are the lengths of all files
//! rounded up to the smallest unit of allocation, without holes and inline data where these are known.
//!
//! **Units.** Files, pieces, bytes.
//!
//! **Limits.** Where extents were not collected a file counts only to the live bytes. Data shared by several files
//! count in each.
//!
//! **Source.** `filefrag` counts extents alike; the rest follows from FIEMAP's flags.

use crate::Measures;
use crate::metric::{Better, Metric, Section, Summed, Unit};
use crate::placed::{end_of, placed_data};
use crate::sign::Sign;
use fsage_core::snapshot::source_flags;
use fsage_core::{Extent, FileKind, FileView, Geometry};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[
    &FRAGMENTED_FILES,
    &PIECES,
    &PER_FILE,
    &INLINE_FILES,
    &UNWRITTEN_BYTES,
    &UNWRITTEN_SHARE,
    &BEYOND_END_BYTES,
];

/// Files in more than one piece.
pub static FRAGMENTED_FILES: Metric = Metric {
    better: Better::Lower,
    has_control: true,
    generation: 0,
    ..Metric::count(
        "fragmented_files",
        "files in more than one piece",
        Unit::Number("files"),
        Section::Layout,
        "Files whose data lie in more than one piece on the disk.",
        |m| Some(m.sums.pieces.fragmented_files),
    )
};

/// Pieces of all files: runs that are contiguous on disk.
pub static PIECES: Metric = Metric {
    better: Better::Lower,
    has_control: true,
    generation: 0,
    ..Metric::count(
        "pieces",
        "pieces of all files",
        Unit::Number("pieces"),
        Section::Layout,
        "Pieces of all files: runs of the data of a file that are contiguous on the disk, over which a hole is no \
         seek.",
        |m| Some(m.sums.pieces.pieces),
    )
};

/// Pieces per file with data on disk.
pub static PER_FILE: Metric = Metric {
    better: Better::Lower,
    has_control: true,
    generation: 1,
    ..Metric::real(
        "pieces_per_file",
        "pieces per file",
        Unit::Mean("pieces per file", 3),
        Section::Layout,
        "Pieces of a file, on average over files with data on the disk: 1 means that no file is broken.",
        |m| m.sums.pieces.per_file(),
    )
};

/// Files whose data lie inside metadata.
pub static INLINE_FILES: Metric = Metric {
    generation: 1,
    ..Metric::count(
        "inline_files",
        "inline files",
        Unit::Number("files"),
        Section::Files,
        "Files whose data lie inside metadata.",
        |m| m.sums.pieces.known(m.sums.pieces.inline_files, m),
    )
};

/// File data on disk that were allocated and never written.
pub static UNWRITTEN_BYTES: Metric = Metric {
    generation: 1,
    ..Metric::count(
        "unwritten_bytes",
        "allocated, never written",
        Unit::Bytes,
        Section::Files,
        "File data that were allocated and never written: reading them moves nothing from the device, so that no \
         read benchmark of such files means anything.",
        |m| m.sums.pieces.known(m.sums.pieces.unwritten_bytes, m),
    )
};

/// Unwritten bytes as a share of file data on the disk.
pub static UNWRITTEN_SHARE: Metric = Metric {
    generation: 1,
    ..Metric::real(
        "unwritten_share",
        "share never written",
        Unit::Share,
        Section::Files,
        "Unwritten bytes as a share of file data on the disk.",
        |m| m.sums.pieces.unwritten_share(),
    )
};

/// Bytes allocated behind the end of files.
pub static BEYOND_END_BYTES: Metric = Metric {
    better: Better::Lower,
    generation: 1,
    ..Metric::count(
        "beyond_end_bytes",
        "allocated behind the end",
        Unit::Bytes,
        Section::Files,
        "Bytes allocated behind the last block, or fragment, of files.",
        |m| m.sums.pieces.known(m.sums.pieces.beyond_end_bytes, m),
    )
};

/// Pieces of a set of files, and the space their data take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Regular files whose extents are known.
    pub files_with_extents: u64,
    /// Of these, files with data on disk.
    pub files_with_data: u64,
    /// Of these, files in more than one piece.
    pub fragmented_files: u64,
    /// Pieces of all of them.
    pub pieces: u64,
    /// Files whose data lie inside metadata.
    pub inline_files: u64,
    /// Bytes of file data on disk.
    pub data_bytes: u64,
    /// Of these, bytes that were allocated and never written.
    pub unwritten_bytes: u64,
    /// Bytes allocated behind the end of files.
    pub beyond_end_bytes: u64,
    /// Bytes that the files' data need, of files without extents too.
    pub live_bytes: u64,
}

impl Pieces {
    /// Counts a file; one that is not regular is none.
    pub fn add(&mut self, file: &FileView<'_>, geometry: &Geometry) {
        self.count(file, geometry, Sign::Add);
    }

    /// A sum over files whose extents are known; `None` where there are files, and of none they are.
    fn known(&self, sum: u64, m: &Measures) -> Option<u64> {
        (m.sums.files.regular == 0 || self.files_with_extents > 0).then_some(sum)
    }

    /// Pieces per file with data on disk; `None` where there is none.
    pub fn per_file(&self) -> Option<f64> {
        (self.files_with_data > 0).then(|| self.pieces as f64 / self.files_with_data as f64)
    }

    /// Unwritten bytes as a share of file data on disk; `None` where there is none.
    pub fn unwritten_share(&self) -> Option<f64> {
        (self.data_bytes > 0).then(|| self.unwritten_bytes as f64 / self.data_bytes as f64)
    }
}

impl Summed for Pieces {
    fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
        if file.kind != FileKind::Regular {
            return;
        }
        let Some(extents) = file.extents else {
            let unit = u64::from(geometry.frag_bytes.max(1));
            let whole = file.size_bytes.checked_next_multiple_of(unit);
            sign.apply(&mut self.live_bytes, whole.unwrap_or(u64::MAX));
            return;
        };
        let (mut pieces, mut bytes) = (0, 0_u64);
        let mut end = None;
        for extent in placed_data(file, geometry) {
            pieces += u64::from(end != Some(extent.physical_bytes));
            end = Some(end_of(&extent));
            bytes = bytes.saturating_add(extent.length_bytes);
            if extent.flags & Extent::UNWRITTEN != 0 {
                sign.apply(&mut self.unwritten_bytes, extent.length_bytes);
            }
        }
        let placed = extents.iter().filter(|e| e.is_placed_data());
        let allocated = placed.fold(0, |sum: u64, e| sum.saturating_add(e.length_bytes));
        let inline = extents.iter().any(|e| e.flags & Extent::INLINE != 0)
            || file.source_flags & source_flags::INLINE != 0;
        for (sum, n) in [
            (&mut self.files_with_extents, 1),
            (&mut self.files_with_data, u64::from(pieces > 0)),
            (&mut self.fragmented_files, u64::from(pieces > 1)),
            (&mut self.pieces, pieces),
            (&mut self.inline_files, u64::from(inline)),
            (&mut self.data_bytes, bytes),
            (&mut self.beyond_end_bytes, allocated - bytes),
            (&mut self.live_bytes, bytes),
        ] {
            sign.apply(sum, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::{extent, file, geometry};

    const K: u64 = 1024;

    /// Blocks of 8 KiB, fragments of 1 KiB.
    #[test]
    fn pieces_and_space_of_files() {
        let mut count = Pieces::default();
        // Two pieces; a hole of two blocks; the first piece is two extents.
        let holed = [
            extent(0, 1024 * K, 8 * K),
            extent(24 * K, 1032 * K, 8 * K),
            extent(32 * K, 1048 * K, 8 * K),
        ];
        count.add(&file(40 * K, &holed), &geometry());
        // 20,000 bytes: 20 fragments used, 44 KiB allocated behind them, of the first 16 KiB 8 unwritten.
        let unwritten = Extent {
            flags: Extent::UNWRITTEN,
            ..extent(8 * K, 2056 * K, 8 * K)
        };
        let long = [
            extent(0, 2048 * K, 8 * K),
            unwritten,
            extent(16 * K, 2064 * K, 48 * K),
        ];
        count.add(&file(20_000, &long), &geometry());
        let inline = Extent {
            flags: Extent::INLINE,
            ..extent(0, 0, 100)
        };
        count.add(&file(100, &[inline]), &geometry());
        let unknown = FileView {
            extents: None,
            ..file(1500, &[])
        };
        count.add(&unknown, &geometry());
        let expected = Pieces {
            files_with_extents: 3,
            files_with_data: 2,
            fragmented_files: 1,
            pieces: 3,
            inline_files: 1,
            data_bytes: 44 * K,
            unwritten_bytes: 8 * K,
            beyond_end_bytes: 44 * K,
            live_bytes: 46 * K,
        };
        assert_eq!(count, expected);
        assert_eq!(count.per_file(), Some(1.5));
        assert_eq!(count.unwritten_share(), Some(8.0 / 44.0));
        assert_eq!(Pieces::default().per_file(), None);
    }
}
