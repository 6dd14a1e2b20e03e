//! A folder for one image that is thrown away.

use super::io_failed;
use crate::subject::BenchError;
use fsage_core::size;
use fsage_linux::loop_device;
use rustix::fs::{CWD, Mode, SeekFrom, ioctl_ficlone, mkdirat, seek, statvfs};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Room below an image for what benchmarks write to it: the largest makes 100 MB.
const WRITTEN_BYTES: u64 = 256 << 20;
/// Bytes that are copied at once.
const PIECE_BYTES: u64 = 1 << 20;
/// How long others may still have the image attached.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Makes something by the first of the names `.fsage-bench-0`, `.fsage-bench-1`, ... that is free.
pub(super) fn first_free(mut make: impl FnMut(&str) -> Result<(), Errno>) -> Result<String, Errno> {
    let mut number: u32 = 0;
    loop {
        let name = format!(".fsage-bench-{number}");
        match make(&name) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => number += 1,
            Err(errno) => return Err(errno),
        }
    }
}

/// A folder with at most one image in it, which both go when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// A new folder in `parent`.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(parent: &Path) -> Result<Scratch, BenchError> {
        // The folder of a bare file name.
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        let made = first_free(|name| mkdirat(CWD, parent.join(name), Mode::from_raw_mode(0o700)));
        let name = made.map_err(|errno| io_failed(parent, "mkdir")(errno.into()))?;
        Ok(Scratch {
            folder: parent.join(name),
        })
    }

    /// Where the image is, or shall be.
    pub fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// Copies an image here that nobody writes to: shares its blocks where the file system can do that, and copies what
    /// is no hole elsewhere.
    ///
    /// # Errors
    /// The image is in use or cannot be read; no room below it.
    pub fn copy(&self, image: &Path) -> Result<(), BenchError> {
        loop_device::wait_unattached(image, TIMEOUT)
            .map_err(|error| io_failed(image, "copy")(error.into()))?;
        let from = File::open(image).map_err(io_failed(image, "open"))?;
        let meta = from.metadata().map_err(io_failed(image, "stat"))?;
        let path = self.image();
        let to = File::create_new(&path).map_err(io_failed(&path, "create"))?;
        let shared = ioctl_ficlone(&to, &from).is_ok();
        let copied_bytes = if shared { 0 } else { meta.blocks() * 512 };
        self.check_room(copied_bytes, meta.len())?;
        if shared {
            return Ok(());
        }
        copy_data(&from, &to, meta.len()).map_err(io_failed(&path, "copy"))
    }

    /// Whether there is room for so many bytes, and for what benchmarks write, but never for more than the whole image.
    fn check_room(&self, copied_bytes: u64, image_bytes: u64) -> Result<(), BenchError> {
        let stat = statvfs(&self.folder)
            .map_err(|errno| io_failed(&self.folder, "statvfs")(errno.into()))?;
        let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
        let needed_bytes = copied_bytes.saturating_add(WRITTEN_BYTES).min(image_bytes);
        if needed_bytes <= free_bytes {
            return Ok(());
        }
        let reason = format!(
            "the benchmark works on a copy of the image: {} are needed and {} are free; make room there",
            size::human(needed_bytes),
            size::human(free_bytes)
        );
        let why = io::Error::new(io::ErrorKind::StorageFull, reason);
        Err(io_failed(&self.folder, "copy")(why))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // An image that was not made is not there.
        let _ = fs::remove_file(self.image());
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Copies everything but holes. The other file gets the same length.
fn copy_data(from: &File, to: &File, length: u64) -> io::Result<()> {
    to.set_len(length)?;
    let mut buffer = vec![0; PIECE_BYTES as usize];
    let mut at = 0;
    while at < length {
        let data = match seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole from here on.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let hole = seek(from, SeekFrom::Hole(data))?.min(length);
        at = data;
        while at < hole {
            let piece = &mut buffer[..PIECE_BYTES.min(hole - at) as usize];
            from.read_exact_at(piece, at)?;
            to.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        // An image that changes meanwhile must not lead round in circles.
        at = hole.max(data + 1);
    }
    Ok(())
}
