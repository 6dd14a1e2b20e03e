//! Images of a C-FFS as files: sparse, of the size of the partition, with nothing but metadata in them.

use crate::error::Context;
use clap::ValueEnum;
use fsage_durable::{PartialFile, refuse_existing};
use fsage_models::cffs::Cffs;
use fsage_models::cffs::image::{self, Block, ReadBlocks, Recovery};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Bytes of a block.
const BLOCK: u64 = size_of::<Block>() as u64;

/// File systems of which there are images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileSystem {
    /// C-FFS.
    Cffs,
}

/// An image that is open.
struct Image {
    file: File,
    bytes: u64,
}

impl ReadBlocks for Image {
    fn blocks(&self) -> u64 {
        self.bytes / BLOCK
    }

    fn read(&self, block: u32, to: &mut Block) -> io::Result<()> {
        self.file.read_exact_at(to, u64::from(block) * BLOCK)
    }
}

/// Whether a file is an image, be it damaged.
///
/// # Errors
/// It cannot be read.
pub fn is_image(path: &Path) -> crate::Result<bool> {
    let failed = || format!("{}: cannot be read", path.display());
    let mut first = Vec::new();
    let file = fsage_input::file(path).with_context(failed)?;
    file.take(2 * BLOCK)
        .read_to_end(&mut first)
        .with_context(failed)?;
    Ok(image::is_image(&first))
}

/// Reads an image, and checks it.
///
/// # Errors
/// It cannot be read, or so little of it is left that nothing can be recovered.
pub fn read(path: &Path) -> crate::Result<Recovery> {
    let failed = || format!("{}: cannot be read", path.display());
    let file = fsage_input::file(path).with_context(failed)?;
    let bytes = file.metadata().with_context(failed)?.len();
    let recovery = image::recover(&Image { file, bytes });
    recovery.with_context(|| path.display().to_string())
}

/// Writes an image; one of that name is replaced only with `force`, and only when all of the new one is there.
///
/// # Errors
/// A file is there without `force`; it cannot be written.
pub fn write(path: &Path, fs: &Cffs, force: bool) -> crate::Result<()> {
    refuse_existing(path, force)?;
    let failed = || format!("{}: cannot be written", path.display());
    let blocks = fs.image().with_context(failed)?;
    let mut new = PartialFile::create(path, force)?;
    let file = new.as_file().with_context(failed)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())
            .with_context(failed)?;
    }
    file.set_len(u64::from(blocks.count) * BLOCK)
        .with_context(failed)?;
    for (&block, bytes) in &blocks.blocks {
        let at = u64::from(block) * BLOCK;
        file.write_all_at(&bytes[..], at).with_context(failed)?;
    }
    Ok(new.finish()?)
}
