//! What may go wrong with an image.

use super::Kind;
use crate::machine::MachineError;
use fsage_core::size;
use fsage_durable::FileError;
use fsage_linux::loop_device::LoopError;
use fsage_linux::mount::MountError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an image is not made, mounted or let go of.
#[derive(Debug, Error)]
pub enum ImageError {
    /// A loop device cannot be had, or does not become free.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// It is not mounted.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The machine cannot be set up for a regime.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The program that makes this type is not here.
    #[error("there is no {program} in PATH or /usr/sbin; install it (apt-get install {package})")]
    NoMkfs {
        /// The program.
        program: String,
        /// The package it comes from.
        package: &'static str,
    },
    /// The image would be too small.
    #[error(
        "an image of {} is too small for {kind}: at least {} are needed; name a size=, or make a workload {} times \
         as large (fsage generate: --scale, of a preset --capacity)",
        size::human(*size_bytes),
        size::human(*min_bytes),
        min_bytes.div_ceil((*size_bytes).max(1))
    )]
    TooSmall {
        /// The type of file system.
        kind: Kind,
        /// The size asked for.
        size_bytes: u64,
        /// The smallest one.
        min_bytes: u64,
    },
    /// Something is there already.
    #[error("{} is there already; choose another path, remove it, or resume the run it belongs to", path.display())]
    Exists {
        /// The path of the image.
        path: PathBuf,
    },
    /// A device, or anything else that is no file.
    #[error("{} is no regular file; an image has to be one, and fsage never writes to a device", path.display())]
    NotAFile {
        /// The path of the image.
        path: PathBuf,
    },
    /// No file system that can be mounted here.
    #[error("{} holds none of ext2, ext3, ext4, xfs, btrfs, f2fs and nilfs2", path.display())]
    NoFileSystem {
        /// The path of the image.
        path: PathBuf,
    },
    /// A word for `mkfs` that may name something besides the image.
    #[error("mkfs: {reason}")]
    MkfsWord {
        /// The word, and what may be there.
        reason: String,
    },
    /// `mkfs` failed.
    #[error("{line}: {said}")]
    Mkfs {
        /// The command.
        line: String,
        /// What it said, or how it ended.
        said: String,
    },
    /// Writing to it has failed once, and nothing can be done about what is lost.
    #[error(
        "{}: the {kind} in it was damaged when it could not be written, and is lost ({how}); --force starts the run \
         anew, once an image that image= names is removed",
        path.display()
    )]
    Lost {
        /// The path of the image.
        path: PathBuf,
        /// The type of file system.
        kind: Kind,
        /// What says so.
        how: String,
    },
    /// The folder that it is made in cannot be made.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// A system call failed.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// Why it was not.
        source: io::Error,
    },
}

impl ImageError {
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> ImageError {
        move |source| ImageError::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }

    /// The kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            ImageError::Loop(error) => error.kind(),
            ImageError::Mount(error) => error.kind(),
            ImageError::Machine(error) => error.kind(),
            ImageError::NoMkfs { .. } => io::ErrorKind::NotFound,
            ImageError::Exists { .. } => io::ErrorKind::AlreadyExists,
            ImageError::TooSmall { .. }
            | ImageError::NotAFile { .. }
            | ImageError::MkfsWord { .. }
            | ImageError::Mkfs { .. }
            | ImageError::Folder(FileError::Exists { .. } | FileError::Unsuitable { .. }) => {
                io::ErrorKind::InvalidInput
            }
            ImageError::Lost { .. } => io::ErrorKind::Other,
            ImageError::NoFileSystem { .. } => io::ErrorKind::InvalidData,
            ImageError::Folder(FileError::Io { source, .. }) | ImageError::Io { source, .. } => {
                source.kind()
            }
        }
    }
}

impl From<ImageError> for io::Error {
    fn from(error: ImageError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}
