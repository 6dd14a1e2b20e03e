//! Files that appear only when they are complete.

use crate::error::FileError;
use crate::folder::sync_parent;
use crate::{lock, names};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
    /// Starts a file. With `force` it will replace a file of that name.
    ///
    /// # Errors
    /// `path` exists and `force` is not set, or is no file at all; the folder cannot be written.
    pub fn create(path: &Path, force: bool) -> Result<PartialFile, FileError> {
        refuse_existing(path, force)?;
        if path.file_name().is_none() {
            return Err(FileError::unsuitable(path, "is not the name of a file"));
        }
        names::sweep(path);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let (temporary, file) =
            names::make_locked(path, |name| Ok(openat(CWD, name, flags, mode)?))
                .map_err(|error| not_made(path, "cannot create", error))?;
        Ok(PartialFile {
            file: Some(BufWriter::with_capacity(1 << 17, file.into())),
            temporary,
            path: path.to_owned(),
            force,
        })
    }

    /// The file below the buffer, for what is not written from start to end. What was written through the buffer is
    /// in it.
    ///
    /// # Errors
    /// Writing out the buffer fails.
    pub fn as_file(&mut self) -> io::Result<&File> {
        match &mut self.file {
            Some(file) => {
                file.flush()?;
                Ok(file.get_ref())
            }
            None => Err(io::Error::other("the file is finished")),
        }
    }

    /// Writes out what is buffered, and gives the file its name. It is on disk when this returns.
    ///
    /// # Errors
    /// Writing or syncing fails; a file of that name appeared in the meantime and `force` is not set.
    pub fn finish(self) -> Result<(), FileError> {
        self.complete()?.publish()
    }

    /// Writes out what is buffered, and syncs it. The file gets its name later, when others that belong to it are
    /// complete too.
    ///
    /// # Errors
    /// Writing or syncing fails.
    pub fn complete(mut self) -> Result<CompleteFile, FileError> {
        self.flush()
            .map_err(FileError::io(&self.path, "cannot write"))?;
        if let Some(file) = &self.file {
            file.get_ref()
                .sync_all()
                .map_err(FileError::io(&self.path, "cannot sync"))?;
        }
        Ok(CompleteFile(self))
    }
}

/// A file that has its content, on disk, and not yet its name; it is removed when it is dropped without.
#[derive(Debug)]
pub struct CompleteFile(PartialFile);

impl CompleteFile {
    /// Gives the file its name. It is on disk when this returns.
    ///
    /// # Errors
    /// A file of that name appeared and `force` was not set; the system refuses.
    pub fn publish(self) -> Result<(), FileError> {
        let CompleteFile(mut file) = self;
        refuse_existing(&file.path, file.force)?;
        let renamed = if file.force {
            fs::rename(&file.temporary, &file.path)
        } else {
            rename_new(&file.temporary, &file.path).map_err(io::Error::from)
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists if !file.force => FileError::Exists {
                path: file.path.clone(),
            },
            _ => FileError::io(&file.path, "cannot rename the finished file")(error),
        })?;
        if let Some(complete) = file.file.take() {
            lock::release(complete.get_ref());
        }
        sync_parent(&file.path).map_err(FileError::io(&file.path, "cannot sync the folder of it"))
    }
}

/// Writes a whole file at once; with `force` it replaces one of that name.
///
/// # Errors
/// As [`PartialFile::create`] and [`PartialFile::finish`].
pub fn write(path: &Path, bytes: impl AsRef<[u8]>, force: bool) -> Result<(), FileError> {
    let mut file = PartialFile::create(path, force)?;
    file.write_all(bytes.as_ref())
        .map_err(FileError::io(path, "cannot write"))?;
    file.finish()
}

/// Why something was not made: its folder may not be there.
pub(crate) fn not_made(path: &Path, problem: &'static str, error: io::Error) -> FileError {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let is_there = folder.is_none_or(|folder| folder.symlink_metadata().is_ok());
    if error.kind() == io::ErrorKind::NotFound && !is_there {
        FileError::unsuitable(path, "its folder is not there; make that first")
    } else {
        FileError::io(path, problem)(error)
    }
}

/// Refuses a name that cannot be that of a new file: something stands there and `force` is not set, or it is no file.
///
/// # Errors
/// The refusal.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(FileError::unsuitable(path, "is a directory, not a file"))
        }
        Ok(_) if !force => Err(FileError::Exists {
            path: path.to_owned(),
        }),
        // A link is replaced, not what it leads to.
        Ok(found) if !found.is_file() && !found.is_symlink() => Err(FileError::unsuitable(
            path,
            "is a device or a pipe, and is not replaced by a file",
        )),
        _ => Ok(()),
    }
}

/// Renames where nothing of the new name may be there.
///
/// # Errors
/// Something is there (`EXIST`); the system refuses.
pub fn rename_new(from: &Path, to: &Path) -> Result<(), Errno> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems that know no flags, some network ones among them.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_new_in_steps(from, to),
        renamed => renamed,
    }
}

/// A hard link replaces nothing either. Where there are none, and for folders, it is looked at first whether something
/// is there; a folder then still replaces nothing but an empty one.
fn rename_new_in_steps(from: &Path, to: &Path) -> Result<(), Errno> {
    match linkat(CWD, from, CWD, to, AtFlags::empty()) {
        Ok(()) => rustix::fs::unlink(from),
        Err(Errno::EXIST) => Err(Errno::EXIST),
        Err(_) if to.symlink_metadata().is_ok() => Err(Errno::EXIST),
        Err(_) => rustix::fs::rename(from, to),
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
        if let Some(file) = self.file.take() {
            // Nobody is left to be told; what stays is removed by the next one.
            let _ = fs::remove_file(&self.temporary);
            // What is buffered is for nobody.
            drop(file.into_parts());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_published_file_is_not_locked_though_somebody_has_a_copy_of_its_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let mut file = PartialFile::create(&path, false).unwrap();
        // As a program that another thread is just about to start.
        let copy = file.as_file().unwrap().try_clone().unwrap();
        file.finish().unwrap();
        let opened = File::open(&path).unwrap().into();
        assert_eq!(lock::try_lock(&opened).unwrap(), lock::Lock::Taken);
        drop(copy);
    }

    #[test]
    fn a_file_appears_only_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let mut file = PartialFile::create(&path, false).unwrap();
        file.write_all(b"abc").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(entries(dir.path()), 0);

        write(&path, b"abc", false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        assert!(matches!(
            PartialFile::create(&path, false),
            Err(FileError::Exists { .. })
        ));
        PartialFile::create(&path, true).unwrap().finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(entries(dir.path()), 1);
        assert!(PartialFile::create(dir.path(), true).is_err());
    }

    #[test]
    fn a_file_that_appeared_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let file = PartialFile::create(&path, false).unwrap();
        let complete = file.complete().unwrap();
        fs::write(&path, b"theirs").unwrap();
        assert!(matches!(complete.publish(), Err(FileError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(entries(dir.path()), 1);
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("x"), dir.path().join("victim"));
        fs::write(&victim, b"theirs").unwrap();
        symlink(&victim, &path).unwrap();
        write(&path, b"ours", true).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"theirs");
        assert!(path.symlink_metadata().unwrap().is_file());
    }

    #[test]
    fn a_device_is_not_replaced() {
        let error = PartialFile::create(Path::new("/dev/null"), true).unwrap_err();
        assert!(error.to_string().contains("is a device"), "{error}");
    }

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_write_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let dead = dir.path().join(".x.0123456789abcdef.partial");
        fs::write(&dead, b"half").unwrap();
        let of_another = dir.path().join(".y.0123456789abcdef.partial");
        fs::write(&of_another, b"half").unwrap();
        let link = dir.path().join(".x.0123456789abcdee.partial");
        symlink(&of_another, &link).unwrap();
        let alive = PartialFile::create(&path, false).unwrap();
        let second = PartialFile::create(&path, false).unwrap();
        assert!(!dead.exists() && of_another.exists());
        assert!(link.symlink_metadata().is_ok());
        assert!(alive.temporary.exists() && second.temporary.exists());
        assert_ne!(alive.temporary, second.temporary);
    }
}
