//! Rearranging a disk by how its files are used: a layer over a model, which ages, measures and runs under a host as
//! the model does.
//!
//! Sources: Cheng et al., adaptive file rearrangement for Ext3 ([`adaptive_files`]); Akyurek & Salem, adaptive block
//! rearrangement ([`block_rearrangement`]); Wong, and Grossman & Silverman, organ pipes ([`organ_pipe`]); McDonald &
//! Bunt, files by their seek time ([`restructured`]).
//! The first, rule by rule: `docs/spec/ext3.md`, section 16.
//!
//! A layer does not say what changes in it, so that every day is measured as a whole: where blocks move, a period that
//! ends changes the places of blocks of any file, and it ends every day if nothing else is asked for; where files move,
//! a file is another inode of another model then, and neither model knows the number that the layer shows.
//!
//! | where | what |
//! |---|---|
//! | [`settings`] | keys and defaults |
//! | [`counters`] | what is counted |
//! | [`adaptive_files`] | files that move to a file system in the middle of the disk, and back |
//! | [`block_rearrangement`] | copies of blocks in reserved cylinders |
//! | [`organ_pipe`] | the whole disk by frequency |
//! | [`restructured`] | scattered files brought together in reserved cylinders |
//! | [`unmoved`] | nothing moves: the plain model, with the same counters |
//! | `remapped` | what the last four have in common: a table between a file system and the disk |
//! | `map` | addresses of a file system as those of the disk |
//! | `lists` | the hot and the cold table |

pub mod adaptive_files;
pub mod block_rearrangement;
pub mod counters;
mod lists;
mod map;
pub mod organ_pipe;
mod remapped;
pub mod restructured;
pub mod settings;
pub mod unmoved;

pub use counters::Counters;
pub use settings::{Migrate, Period, Placement, Settings, Technique, Third};

use crate::registry::{AnyModel, Layer};
use adaptive_files::AdaptiveFiles;
use block_rearrangement::BlockRearrangement;
use fsage_core::io::AnyHosted;
use fsage_core::{FileId, Op, Outcome};
use organ_pipe::OrganPipe;
use remapped::Remapped;
use restructured::Restructured;
use std::fmt::{self, Debug};
use std::ops::Range;
use thiserror::Error;
use unmoved::Unmoved;

/// What the laboratory knows of the layer.
pub static LAYER: Layer = Layer {
    name: "rearrange",
    summary: "a layer that rearranges the disk by how its files are used",
    keys: settings::KEYS,
    examples: &["ext3:size=2G,rearrange=files", "ffs:rearrange=blocks,ra=5%"],
};

/// A file system with a layer that rearranges it.
///
/// - To a workload, a metric and a host it is a file system as any other. A file keeps its number when it moves.
/// - What is moved is moved inside an operation, and told to a host as what it costs.
/// - `check` looks at the layer and at all file systems below it.
pub trait Rearranged: AnyHosted + AnyModel {
    /// What has happened so far.
    fn counters(&self) -> &Counters;

    /// The center of the disk, in bytes: where the reserved area lies, or would lie.
    fn center(&self) -> Range<u64>;

    /// A copy in the same state.
    fn duplicate(&self) -> Box<dyn Rearranged>;
}

impl Clone for Box<dyn Rearranged> {
    fn clone(&self) -> Box<dyn Rearranged> {
        self.duplicate()
    }
}

/// A file system that a layer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// That of the files which are not hot, or of all.
    Outside,
    /// That of the reserved area.
    Reserved,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Outside => "the file system outside of the reserved area",
            Part::Reserved => "the file system of the reserved area",
        })
    }
}

/// Why a layer cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayerError<E> {
    /// A file system below it cannot be made.
    #[error("{part}, {bytes} bytes: {reason}")]
    Part {
        /// Which one.
        part: Part,
        /// Its size.
        bytes: u64,
        /// What is wrong with it.
        reason: E,
    },
    /// The file system has no journal that could be sized.
    #[error("ra_journal: this file system has no journal; leave the key out")]
    NoJournal,
    /// The disk is too small for the settings.
    #[error(
        "{bytes} bytes are too small a disk to be rearranged: its middle has no 64K; choose a larger size or `ra`"
    )]
    TooSmall {
        /// Size of the disk.
        bytes: u64,
    },
}

/// A range of a file that was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    file: FileId,
    offset: u64,
    bytes: u64,
    wrote: bool,
}

/// What an operation that is done has read or written, as far as the file has it; nothing if it only looked at names.
fn access_of(op: &Op, outcome: Outcome, size_of: impl Fn(FileId) -> Option<u64>) -> Option<Access> {
    if !matches!(outcome, Outcome::Done | Outcome::NoSpace) {
        return None;
    }
    let (file, range, wrote) = match *op {
        Op::Create { file, bytes, .. } | Op::Rewrite { file, bytes } => {
            (file, Some((0, bytes)), true)
        }
        Op::Append { file, bytes } => {
            let end = size_of(file)?;
            (file, Some((end.saturating_sub(bytes), bytes)), true)
        }
        Op::Write {
            file,
            offset,
            bytes,
        }
        | Op::Fallocate {
            file,
            offset,
            bytes,
        } => (file, Some((offset, bytes)), true),
        Op::Overwrite { file, range } => (file, range, true),
        Op::Truncate { file, .. } => (file, Some((0, 0)), true),
        Op::Read { file, range } => (file, range, false),
        _ => return None,
    };
    let size = size_of(file)?;
    let (offset, bytes) = range.unwrap_or((0, size));
    let offset = offset.min(size);
    Some(Access {
        file,
        offset,
        bytes: bytes.min(size - offset),
        wrote,
    })
}

/// Parts of a disk begin at multiples of this, in bytes: of any block, and of a sector.
const ALIGNMENT: u64 = 65_536;

/// The middle of a disk: so many millionths of it.
fn middle_of(disk_bytes: u64, ppm: u64) -> Range<u64> {
    let bytes = Settings::part(disk_bytes, ppm) / ALIGNMENT * ALIGNMENT;
    let start = (disk_bytes - bytes) / 2 / ALIGNMENT * ALIGNMENT;
    start..start + bytes
}

/// Makes the layer that settings ask for over a disk of `disk_bytes`; `make` makes an empty file system of so many
/// bytes.
///
/// # Errors
/// A part of the disk is too small for what is to be made on it.
pub fn over<F, E>(
    settings: &Settings,
    disk_bytes: u64,
    make: impl Fn(Part, u64) -> Result<F, E>,
) -> Result<Box<dyn Rearranged>, LayerError<E>>
where
    F: AnyHosted + Clone + Debug + 'static,
{
    let made = |part, bytes| {
        make(part, bytes).map_err(|reason| LayerError::Part {
            part,
            bytes,
            reason,
        })
    };
    let center = middle_of(disk_bytes, settings.reserved_ppm);
    if center.is_empty() || center.start == 0 {
        return Err(LayerError::TooSmall { bytes: disk_bytes });
    }
    Ok(match settings.technique {
        Technique::None => {
            let fs = made(Part::Outside, disk_bytes)?;
            Box::new(Remapped::new(
                fs,
                disk_bytes,
                center,
                settings.period,
                Unmoved,
            ))
        }
        Technique::Blocks => {
            let fs = made(Part::Outside, disk_bytes - (center.end - center.start))?;
            let block_bytes = fs.block_bytes().into();
            let remap = BlockRearrangement::new(center.clone(), block_bytes, settings.placement);
            Box::new(Remapped::new(
                fs,
                disk_bytes,
                center,
                settings.period,
                remap,
            ))
        }
        Technique::Stef => {
            let fs = made(Part::Outside, disk_bytes - (center.end - center.start))?;
            let block_bytes = fs.block_bytes().into();
            let copies = BlockRearrangement::new(center.clone(), block_bytes, Placement::Serial);
            let remap = Restructured::new(
                copies,
                center.clone(),
                block_bytes,
                (disk_bytes, settings.cylinder_bytes),
                settings.least_stef_ppm as f64 / 1e6,
            );
            Box::new(Remapped::new(
                fs,
                disk_bytes,
                center,
                settings.period,
                remap,
            ))
        }
        Technique::OrganPipe => {
            let fs = made(Part::Outside, disk_bytes)?;
            let remap = OrganPipe::new(disk_bytes, settings.cylinder_bytes);
            Box::new(Remapped::new(
                fs,
                disk_bytes,
                center,
                settings.period,
                remap,
            ))
        }
        Technique::Files => Box::new(AdaptiveFiles::new(settings, disk_bytes, center, made)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's disk: 1 GB of 40 GB in its middle.
    #[test]
    fn the_reserved_area_lies_in_the_middle() {
        let middle = middle_of(40 << 30, 25_000);
        assert_eq!(middle.end - middle.start, 1 << 30);
        assert_eq!(middle.start, (39 << 30) / 2);
        let odd = middle_of(1_000_000_007, 25_000);
        assert!(odd.start.is_multiple_of(ALIGNMENT) && odd.end.is_multiple_of(ALIGNMENT));
    }
}
