//! Folders that appear only when they are complete, and go at once.

use crate::error::FileError;
use crate::file::{not_made, rename_new};
use crate::lock::{FolderLock, LockError};
use crate::names;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often, and how long each time, a short lock is waited for.
const TURNS: u32 = 100;
const TURN: Duration = Duration::from_millis(5);

/// The folder that something lies in; that of a bare name is the current one.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder safe: those that came, changed or went are on disk so when this returns.
///
/// # Errors
/// The folder cannot be opened or synced. A file system that cannot sync a folder is none.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match openat(CWD, path, flags, Mode::empty()) {
        // Files can be made in a folder that may not be listed.
        Err(Errno::ACCESS) => return Ok(()),
        folder => folder?,
    };
    match rustix::io::retry_on_intr(|| rustix::fs::fsync(&folder)) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::ROFS) => Ok(()),
        synced => Ok(synced?),
    }
}

/// Makes the name of something safe.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    sync_folder(parent_of(path))
}

/// Makes a folder and those above it, as far as they are not there. They are on disk when this returns.
///
/// # Errors
/// One cannot be made.
pub fn make_folders(path: &Path) -> Result<(), FileError> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    let failed = FileError::io(path, "cannot make the folder");
    match fs::create_dir(path) {
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made.map_err(&failed)?,
    }
    sync_parent(path).map_err(failed)
}

/// Removes a folder with all that is in it. It loses its name first: whatever happens meanwhile, nobody finds half of
/// it under that.
///
/// # Errors
/// The system refuses. What is left then has a temporary name.
pub fn remove_folder(path: &Path) -> Result<(), FileError> {
    let failed = FileError::io(path, "cannot remove the folder");
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // A link to one goes, and not what it leads to.
        Ok(found) if found.is_symlink() => return fs::remove_file(path).map_err(failed),
        _ => {}
    }
    let mut aside = TemporaryFolder::create(path)?;
    // In the place of the empty one.
    fs::rename(path, &aside.path).map_err(&failed)?;
    sync_parent(path).map_err(&failed)?;
    aside.lock = None;
    remove_all(&aside.path).map_err(failed)
}

/// Removes a folder without a name of its own; another process may be about to do so, too.
fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Gives each of two files or folders the name of the other, in one step. Says whether the file system can do that.
///
/// # Errors
/// One of them is not there; the system refuses.
pub fn exchange(a: &Path, b: &Path) -> Result<bool, FileError> {
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(FileError::io(a, "cannot put another in its place")(
            errno.into(),
        )),
    }
}

/// A folder under a temporary name beside the one that it will be, locked. It goes with all that is in it when it is
/// dropped, unless it was published.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    to: PathBuf,
    /// `None` once it is published.
    lock: Option<FolderLock>,
}

impl TemporaryFolder {
    /// Makes one for `to`, and removes what dead processes left of the same.
    ///
    /// # Errors
    /// `to` is no name, or the folder above it cannot be written to.
    pub fn create(to: &Path) -> Result<TemporaryFolder, FileError> {
        names::sweep(to);
        TemporaryFolder::make(to, 0o777)
    }

    /// The same for this user's eyes only, where it will never be published.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn private(beside: &Path) -> Result<TemporaryFolder, FileError> {
        names::sweep(beside);
        TemporaryFolder::make(beside, 0o700)
    }

    /// The same, where only one process at a time may be making `to`.
    ///
    /// # Errors
    /// Also where another process is making it.
    pub fn create_alone(to: &Path) -> Result<Result<TemporaryFolder, LockError>, FileError> {
        // Whoever makes such a folder looks for others first, one after the other.
        let turn = turn_in(parent_of(to));
        if let Some(alive) = names::sweep_now(to).first() {
            return Ok(Err(LockError::held(to, alive)));
        }
        let made = TemporaryFolder::make(to, 0o777)?;
        drop(turn);
        Ok(Ok(made))
    }

    fn make(to: &Path, mode: u32) -> Result<TemporaryFolder, FileError> {
        if to.file_name().is_none() {
            return Err(FileError::unsuitable(to, "is not the name of a folder"));
        }
        let (path, folder) = names::make_locked(to, |name| make_folder(name, mode))
            .map_err(|error| not_made(to, "cannot make a folder there", error))?;
        Ok(TemporaryFolder {
            path,
            to: to.to_owned(),
            lock: Some(FolderLock::of(folder)),
        })
    }

    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, where nothing may be there. It is on disk when this returns, and stays locked.
    ///
    /// # Errors
    /// Something of that name is there; the system refuses.
    pub fn publish(mut self) -> Result<FolderLock, FileError> {
        sync_folder(&self.path).map_err(FileError::io(&self.to, "cannot sync it"))?;
        rename_new(&self.path, &self.to).map_err(|errno| match errno {
            Errno::EXIST | Errno::NOTEMPTY | Errno::PERM if self.to.symlink_metadata().is_ok() => {
                FileError::Exists {
                    path: self.to.clone(),
                }
            }
            errno => FileError::io(&self.to, "cannot give the folder its name")(errno.into()),
        })?;
        self.published()
    }

    /// Gives it its name in place of the folder that is there, which is removed.
    ///
    /// # Errors
    /// The system refuses.
    pub fn replace(mut self) -> Result<FolderLock, FileError> {
        sync_folder(&self.path).map_err(FileError::io(&self.to, "cannot sync it"))?;
        if !exchange(&self.path, &self.to)? {
            remove_folder(&self.to)?;
            return self.publish();
        }
        let lock = self.published()?;
        remove_all(&self.path)
            .map_err(FileError::io(&self.path, "cannot remove what was replaced"))?;
        Ok(lock)
    }

    fn published(&mut self) -> Result<FolderLock, FileError> {
        let lock = self.lock.take();
        sync_parent(&self.to).map_err(FileError::io(&self.to, "cannot sync the folder of it"))?;
        lock.ok_or_else(|| FileError::unsuitable(&self.to, "was published before"))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // Nobody is left to be told; what stays is removed by the next one.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A lock that is held for moments only; without it, where somebody works in the folder for long.
fn turn_in(folder: &Path) -> Option<FolderLock> {
    (0..TURNS).find_map(|turn| {
        if turn > 0 {
            std::thread::sleep(TURN);
        }
        FolderLock::alone(folder).ok()
    })
}

fn make_folder(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    mkdirat(CWD, path, Mode::from_raw_mode(mode))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(CWD, path, flags, Mode::empty()) {
        // Before it was locked another process took it for what a dead one left: another name will do.
        Err(Errno::NOENT) => Err(io::ErrorKind::AlreadyExists.into()),
        opened => Ok(opened?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_with_all_that_is_in_it_or_not_at_all() {
        let above = tempfile::tempdir().unwrap();
        let to = above.path().join("run");
        let folder = TemporaryFolder::create(&to).unwrap();
        fs::write(folder.path().join("x"), b"x").unwrap();
        drop(folder);
        assert!(names(above.path()).is_empty());
        let folder = TemporaryFolder::create(&to).unwrap();
        fs::write(folder.path().join("x"), b"x").unwrap();
        let lock = folder.publish().unwrap();
        assert_eq!(names(above.path()), ["run"]);
        assert!(FolderLock::alone(&to).is_err());
        drop(lock);
        FolderLock::alone(&to).unwrap();
    }

    #[test]
    fn a_folder_that_is_there_is_replaced_only_when_that_is_said() {
        let above = tempfile::tempdir().unwrap();
        let to = above.path().join("run");
        make_folders(&to.join("old")).unwrap();
        let folder = TemporaryFolder::create(&to).unwrap();
        assert!(matches!(folder.publish(), Err(FileError::Exists { .. })));
        assert_eq!(names(above.path()), ["run"]);
        let folder = TemporaryFolder::create(&to).unwrap();
        fs::create_dir(folder.path().join("new")).unwrap();
        folder.replace().unwrap();
        assert_eq!(names(above.path()), ["run"]);
        assert_eq!(names(&to), ["new"]);
        remove_folder(&to).unwrap();
        remove_folder(&to).unwrap();
        assert!(names(above.path()).is_empty());
    }

    #[test]
    fn only_one_makes_a_folder_where_that_is_asked_for() {
        let above = tempfile::tempdir().unwrap();
        let to = above.path().join("r");
        let first = TemporaryFolder::create_alone(&to).unwrap().unwrap();
        let second = TemporaryFolder::create_alone(&to).unwrap().unwrap_err();
        assert!(second.to_string().contains("is at work here"), "{second}");
        drop(first);
        TemporaryFolder::create_alone(&to).unwrap().unwrap();
    }

    #[test]
    fn what_the_dead_left_goes() {
        let above = tempfile::tempdir().unwrap();
        let to = above.path().join("r");
        let dead = above.path().join(".r.0123456789abcdef.partial");
        make_folders(&dead.join("x/y")).unwrap();
        drop(TemporaryFolder::create(&to).unwrap());
        assert!(names(above.path()).is_empty());
    }
}
