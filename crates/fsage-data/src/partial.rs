//! Files that appear only when they are complete.

use crate::error::DataError;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is written under a temporary name in the same folder, gets its own name by
/// [`finish`](PartialFile::finish), and is removed when it is dropped before.
#[derive(Debug)]
pub struct PartialFile {
    /// `None` once it is finished.
    file: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
    force: bool,
}

impl PartialFile {
    /// Starts a file.
    ///
    /// # Errors
    /// `path` exists and `force` is not set, or the folder cannot be written.
    pub fn create(path: &Path, force: bool) -> Result<PartialFile, DataError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        refuse_existing(path, force)?;
        let name = path
            .file_name()
            .ok_or_else(|| DataError::unsuitable(path, "is not the name of a file"))?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}-{number}.partial", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)
            .map_err(|e| DataError::io(path, "cannot create", e))?;
        Ok(PartialFile {
            file: Some(BufWriter::with_capacity(1 << 17, file)),
            temporary,
            path: path.to_owned(),
            force,
        })
    }

    /// Writes out what is buffered and gives the file its name.
    ///
    /// # Errors
    /// Writing fails, or a file of that name appeared in the meantime and `force` is not set.
    pub fn finish(self) -> Result<(), DataError> {
        self.complete()?.publish()
    }

    /// Writes out what is buffered. The file gets its name later, when others that belong to it are complete too.
    ///
    /// # Errors
    /// Writing fails.
    pub(crate) fn complete(mut self) -> Result<CompleteFile, DataError> {
        self.flush()
            .map_err(|e| DataError::io(&self.path, "cannot write", e))?;
        Ok(CompleteFile(self))
    }
}

/// A file that has its content and not yet its name; it is removed when it is dropped without.
pub(crate) struct CompleteFile(PartialFile);

impl CompleteFile {
    /// Gives the file its name.
    pub fn publish(self) -> Result<(), DataError> {
        let CompleteFile(mut file) = self;
        refuse_existing(&file.path, file.force)?;
        fs::rename(&file.temporary, &file.path)
            .map_err(|e| DataError::io(&file.path, "cannot rename the finished file", e))?;
        file.file = None;
        Ok(())
    }
}

pub(crate) fn refuse_existing(path: &Path, force: bool) -> Result<(), DataError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(DataError::unsuitable(path, "is a directory, not a file"))
        }
        Ok(_) if !force => Err(DataError::Exists {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nobody is left to be told; the name says what the file is.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_only_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let mut file = PartialFile::create(&path, false).unwrap();
        file.write_all(b"abc").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);

        let mut file = PartialFile::create(&path, false).unwrap();
        file.write_all(b"abc").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        assert!(matches!(
            PartialFile::create(&path, false),
            Err(DataError::Exists { .. })
        ));
        PartialFile::create(&path, true).unwrap().finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(PartialFile::create(dir.path(), true).is_err());
    }
}
