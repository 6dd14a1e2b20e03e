//! Files: how many there are, and how much space they take.
//!
//! **Definitions.** Only regular files have a length that counts. Live bytes are what their data need, see
//! [`pieces`](crate::pieces). Utilization is the used share of the data space; unlike live bytes it counts metadata and
//! space behind the end of files, which the one that lasts leaves out.
//!
//! **Units.** Files, directories, bytes; a share.

use crate::Measures;
use crate::metric::{Metric, Section, Summed, Unit};
use crate::sign::Sign;
use fsage_core::{FileKind, FileView, Geometry};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[
    &FILES,
    &DIRECTORIES,
    &FILE_BYTES,
    &LIVE_BYTES,
    &UTILIZATION,
    &LASTING_UTILIZATION,
];

/// Regular files.
pub static FILES: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "files",
        "regular files",
        Unit::Number("files"),
        Section::Files,
        "Regular files.",
        |m| Some(m.sums.files.regular),
    )
};

/// Directories.
pub static DIRECTORIES: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "directories",
        "number of directories",
        Unit::Number("directories"),
        Section::Files,
        "Directories, the root among them.",
        |m| Some(m.sums.files.directories),
    )
};

/// Lengths of the regular files, added up.
pub static FILE_BYTES: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "file_bytes",
        "bytes in files",
        Unit::Bytes,
        Section::Files,
        "Lengths of the regular files, added up.",
        |m| Some(m.sums.files.bytes),
    )
};

/// Bytes that the data of the live files need.
pub static LIVE_BYTES: Metric = Metric {
    generation: 1,
    ..Metric::count(
        "live_bytes",
        "bytes their data need",
        Unit::Bytes,
        Section::Files,
        "What the data of all files need: lengths rounded up to the smallest unit of allocation (block, or fragment), \
         without holes and inline data where extents are known.",
        |m| Some(m.sums.pieces.live_bytes),
    )
};

/// Share of the data space in use, the reserve counted as free.
pub static UTILIZATION: Metric = Metric {
    generation: 0,
    ..Metric::real(
        "utilization",
        "utilization",
        Unit::Share,
        Section::Files,
        "Used share of the data space, a reserve counted as free; layout decays faster on a fuller disk.",
        Measures::utilization,
    )
};

/// The same without what files keep behind their ends.
pub static LASTING_UTILIZATION: Metric = Metric::real(
    "lasting_utilization",
    "utilization that lasts",
    Unit::Share,
    Section::Files,
    "Utilization without what is allocated behind the end of files: XFS gives that back minutes after the last write.",
    Measures::lasting_utilization,
);

/// How many files there are, and how long they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Regular files.
    pub regular: u64,
    /// Directories.
    pub directories: u64,
    /// Lengths of the regular files, added up.
    pub bytes: u64,
}

impl Summed for Files {
    fn count(&mut self, file: &FileView<'_>, _: &Geometry, sign: Sign) {
        match file.kind {
            FileKind::Regular => {
                sign.apply(&mut self.regular, 1);
                sign.apply(&mut self.bytes, file.size_bytes);
            }
            FileKind::Directory => sign.apply(&mut self.directories, 1),
            _ => {}
        }
    }
}
