//! Files without a name, for what nobody else shall see and what shall not outlive the process.

use crate::error::FileError;
use crate::folder::parent_of;
use crate::names;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Makes an empty file without a name in the folder that `path` lies in, to be written and read by this user alone. It
/// goes with its last descriptor, in whatever way the process ends.
///
/// # Errors
/// The folder cannot be written to.
pub fn unnamed_file(path: &Path) -> Result<File, FileError> {
    let folder = parent_of(path);
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = match openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR) {
        // File systems that have no such files, and kernels that know none.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => made_and_unlinked(path),
        made => made.map_err(io::Error::from),
    };
    let made = made.map_err(FileError::io(folder, "cannot make a temporary file there"))?;
    Ok(made.into())
}

/// The same with a temporary name for a moment.
fn made_and_unlinked(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let (temporary, file) = names::make_locked(path, |name| Ok(openat(CWD, name, flags, mode)?))?;
    fs::remove_file(temporary)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_without_a_name_holds_what_is_written_and_is_seen_by_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let named = File::from(made_and_unlinked(&path).unwrap());
        for mut file in [unnamed_file(&path).unwrap(), named] {
            file.write_all(b"abc").unwrap();
            file.rewind().unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "abc");
            let found = file.metadata().unwrap();
            assert_eq!((found.nlink(), found.mode() & 0o777), (0, 0o600));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        let nowhere = folder.path().join("nowhere/x");
        let error = unnamed_file(&nowhere).unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }
}
