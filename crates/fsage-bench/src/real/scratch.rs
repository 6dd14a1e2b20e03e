//! A folder for one image that is thrown away.

use super::{StopAsked, go_on, io_failed};
use crate::subject::BenchError;
use fsage_core::size;
use fsage_durable::{TemporaryFolder, parent_of};
use fsage_linux::loop_device;
use rustix::fs::{SeekFrom, ioctl_ficlone, seek, statvfs};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Room below an image for what benchmarks write to it: the largest makes 100 MB.
pub const WRITTEN_BYTES: u64 = 256 << 20;
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

/// A folder with at most one image in it, which both go when it is dropped. Those that a killed benchmark left in the
/// same place go when one is made.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TemporaryFolder,
}

impl Scratch {
    /// A new folder in `parent`.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(parent: &Path) -> Result<Scratch, BenchError> {
        let folder = TemporaryFolder::private(&parent.join("fsage-bench"))?;
        Ok(Scratch { folder })
    }

    /// Where the image is, or shall be.
    pub fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// A folder for whoever mounts the image once more.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn mount_point(&self) -> Result<PathBuf, BenchError> {
        let path = self.folder.path().join("mnt");
        match std::fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(io_failed(&path, "mkdir")(error))
            }
            _ => Ok(path),
        }
    }

    /// The [`copy_image`] of an image here.
    ///
    /// # Errors
    /// As [`copy_image`].
    pub fn copy(&self, image: &Path, stop: Option<&StopAsked>) -> Result<(), BenchError> {
        copy_image(image, &self.image(), stop)
    }
}

/// Copies an image that nobody writes to: shares its blocks where the file system can do that, and copies what is no
/// hole elsewhere.
///
/// # Errors
/// The image is in use or cannot be read; something has the name of the copy; no room there; `stop` said so.
pub fn copy_image(image: &Path, path: &Path, stop: Option<&StopAsked>) -> Result<(), BenchError> {
    loop_device::wait_unattached(image, TIMEOUT)
        .map_err(|error| io_failed(image, "copy")(error.into()))?;
    let from = File::open(image).map_err(io_failed(image, "open"))?;
    let meta = from.metadata().map_err(io_failed(image, "stat"))?;
    let to = File::create_new(path).map_err(io_failed(path, "create"))?;
    let shared = ioctl_ficlone(&to, &from).is_ok();
    let copied_bytes = if shared { 0 } else { meta.blocks() * 512 };
    check_room(parent_of(path), copied_bytes, meta.len())?;
    if shared {
        return Ok(());
    }
    to.set_len(meta.len())
        .map_err(io_failed(path, "truncate"))?;
    let mut at = 0;
    while at < meta.len() {
        go_on(stop)?;
        at = copy_piece(&from, &to, at..meta.len()).map_err(io_failed(path, "copy"))?;
    }
    Ok(())
}

/// Whether there is room for so many bytes, and for what benchmarks write, but never for more than the whole image.
fn check_room(folder: &Path, copied_bytes: u64, image_bytes: u64) -> Result<(), BenchError> {
    let stat = statvfs(folder).map_err(|errno| io_failed(folder, "statvfs")(errno.into()))?;
    let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    let needed_bytes = copied_bytes.saturating_add(WRITTEN_BYTES).min(image_bytes);
    if needed_bytes <= free_bytes {
        return Ok(());
    }
    let reason = format!(
        "the work is done on a copy of the image: {} are needed and {} are free; make room there",
        size::human(needed_bytes),
        size::human(free_bytes)
    );
    let why = io::Error::new(io::ErrorKind::StorageFull, reason);
    Err(io_failed(folder, "copy")(why))
}

/// Copies the first data in a range, a piece at most, and says where to go on.
fn copy_piece(from: &File, to: &File, range: Range<u64>) -> io::Result<u64> {
    let data = match seek(from, SeekFrom::Data(range.start)) {
        Ok(data) => data,
        // Nothing but a hole from here on.
        Err(Errno::NXIO) => return Ok(range.end),
        Err(errno) => return Err(errno.into()),
    };
    let hole = seek(from, SeekFrom::Hole(data))?.min(range.end);
    let mut piece = vec![0; PIECE_BYTES.min(hole.saturating_sub(data)) as usize];
    from.read_exact_at(&mut piece, data)?;
    to.write_all_at(&piece, data)?;
    Ok(data + piece.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_copy_has_the_data_and_the_holes() {
        const MB: u64 = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let image = File::create_new(&path).unwrap();
        image.set_len(64 * MB).unwrap();
        for at in [0, 5 * MB - 3, 40 * MB] {
            let data: Vec<u8> = (0..MB + MB / 3).map(|i| (i % 251) as u8).collect();
            image.write_all_at(&data, at).unwrap();
        }
        let scratch = Scratch::new(folder.path()).unwrap();
        scratch.copy(&path, None).unwrap();
        assert!(fs::read(scratch.image()).unwrap() == fs::read(&path).unwrap());
        // About 4 MiB of data, with the ends of blocks: far from 64 MiB.
        let copied = fs::metadata(scratch.image()).unwrap();
        assert!(copied.len() == 64 * MB && copied.blocks() * 512 < 6 * MB);
        let inner = scratch.folder.path().to_owned();
        assert!(inner.is_dir());
        drop(scratch);
        assert!(!inner.exists());
    }

    #[test]
    fn an_image_that_does_not_fit_is_refused_before_it_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let error = check_room(folder.path(), 1 << 60, 1 << 61).unwrap_err();
        let BenchError::Io { source, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert!(source.to_string().contains("1.0 EiB"), "{source}");
        // Never more than the whole image.
        check_room(folder.path(), 1 << 60, 4096).unwrap();
    }

    #[test]
    fn the_copy_of_a_killed_benchmark_goes() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".fsage-bench.0123456789abcdef.partial");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("image"), b"half").unwrap();
        let other = Scratch::new(folder.path()).unwrap();
        let scratch = Scratch::new(folder.path()).unwrap();
        assert!(!left.exists());
        assert!(other.folder.path().is_dir() && scratch.folder.path().is_dir());
    }
}
