//! Where a benchmark runs on a real file system.

use super::scratch::Scratch;
use crate::subject::BenchError;
use fsage_target::directory::{PlainDirectory, Volume};
use fsage_target::loop_image::{LoopImage, LoopOptions};
use std::path::{Path, PathBuf};

/// Where a benchmark runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealPlace {
    /// A directory that is there.
    Directory(PathBuf),
    /// A copy of an image, in a folder beside it.
    CopyOf {
        /// The image, which nobody has mounted.
        image: PathBuf,
        /// As it was made.
        options: LoopOptions,
    },
    /// A new image.
    Empty {
        /// In which folder it is made, and removed again.
        folder: PathBuf,
        /// How it is made.
        options: LoopOptions,
    },
}

impl RealPlace {
    /// What errors name.
    pub(super) fn path(&self) -> &Path {
        match self {
            RealPlace::Directory(path) => path,
            RealPlace::CopyOf { image, .. } => image,
            RealPlace::Empty { folder, .. } => folder,
        }
    }

    /// Opens or mounts it. What was made for it goes with the folder.
    pub(super) fn open(&self) -> Result<(Box<dyn Volume>, Option<Scratch>), BenchError> {
        match self {
            RealPlace::Directory(path) => {
                let directory = PlainDirectory::open_again(path)?;
                Ok((Box::new(directory), None))
            }
            RealPlace::CopyOf { image, options } => {
                let scratch = Scratch::new(image.parent().unwrap_or(Path::new("")))?;
                scratch.copy(image)?;
                let mounted = LoopImage::open(options, &scratch.image(), false)?;
                Ok((Box::new(mounted), Some(scratch)))
            }
            RealPlace::Empty { folder, options } => {
                let scratch = Scratch::new(folder)?;
                let mounted = LoopImage::create(options, &scratch.image())?;
                Ok((Box::new(mounted), Some(scratch)))
            }
        }
    }
}
