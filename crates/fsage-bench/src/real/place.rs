//! Where a benchmark runs on a real file system.

use super::StopAsked;
use super::free_map::{self, Deviation};
use super::scratch::Scratch;
use crate::subject::BenchError;
use fsage_real::directory::{PlainDirectory, Volume};
use fsage_real::loop_image::{LoopImage, LoopOptions};
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
    /// A new image on which only that space is free that is free on another; see [`free_map`].
    FreeMapOf {
        /// The other image, which nobody has mounted.
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
            RealPlace::CopyOf { image, .. } | RealPlace::FreeMapOf { image, .. } => image,
            RealPlace::Empty { folder, .. } => folder,
        }
    }

    /// Opens or mounts it. What was made for it goes with the folder.
    pub(super) fn open(&self, stop: Option<&StopAsked>) -> Result<Opened, BenchError> {
        match self {
            RealPlace::Directory(path) => {
                let directory = PlainDirectory::open_again(path)?;
                Ok(Opened {
                    volume: Box::new(directory),
                    scratch: None,
                    deviation: None,
                })
            }
            RealPlace::CopyOf { image, options } => {
                let scratch = Scratch::new(folder_of(image))?;
                scratch.copy(image, stop)?;
                let mounted = LoopImage::open(options, &scratch.image(), false)?;
                Ok(Opened::new(mounted, scratch, None))
            }
            RealPlace::FreeMapOf { image, options } => {
                let scratch = Scratch::new(folder_of(image))?;
                let wanted = free_map::free_map_of(image, options)?;
                let deviation = free_map::make_image(options, &scratch.image(), &wanted, stop)?;
                let mounted = LoopImage::open(options, &scratch.image(), false)?;
                Ok(Opened::new(mounted, scratch, Some(deviation)))
            }
            RealPlace::Empty { folder, options } => {
                let scratch = Scratch::new(folder)?;
                let mounted = LoopImage::create(options, &scratch.image())?;
                Ok(Opened::new(mounted, scratch, None))
            }
        }
    }
}

/// A place that is open.
pub(super) struct Opened {
    pub volume: Box<dyn Volume>,
    /// Where its image lies, if it has one.
    pub scratch: Option<Scratch>,
    /// For [`RealPlace::FreeMapOf`].
    pub deviation: Option<Deviation>,
}

impl Opened {
    fn new(mounted: LoopImage, scratch: Scratch, deviation: Option<Deviation>) -> Opened {
        Opened {
            volume: Box::new(mounted),
            scratch: Some(scratch),
            deviation,
        }
    }
}

fn folder_of(image: &Path) -> &Path {
    image.parent().unwrap_or(Path::new(""))
}
