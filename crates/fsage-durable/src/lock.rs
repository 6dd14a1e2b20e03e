//! Locks on folders: who works here now.
//!
//! The lock is `flock` on the folder itself: it needs no file, stays with the folder when that is renamed, and goes
//! with the process, however that ends. File systems without such locks (some network ones) give none: two processes
//! are not kept apart there.

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, fstat, openat, stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How often the list of all locks is read.
const READS: usize = 10;

/// A process that has a folder locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub process: u32,
    /// Its command line; empty where it may not be read. Control characters are escaped.
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        if !self.command.is_empty() {
            write!(f, ", `{}`,", self.command)?;
        }
        Ok(())
    }
}

/// A folder could not be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "{}: {} is at work here; wait for it or end it",
        .path.display(),
        .holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string)
    )]
    Held {
        /// The folder.
        path: PathBuf,
        /// Who has it; `None` where the system does not say.
        holder: Option<Holder>,
    },
    /// The system refused.
    #[error("{}: cannot lock it", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl LockError {
    pub(crate) fn held(path: &Path, by: &OwnedFd) -> LockError {
        LockError::Held {
            path: path.to_owned(),
            holder: holder_of(by),
        }
    }
}

/// A locked folder. Dropping it lets go.
#[derive(Debug)]
pub struct FolderLock {
    folder: OwnedFd,
}

impl FolderLock {
    /// Locks a folder for this process alone.
    ///
    /// # Errors
    /// Another process has it, alone or with others; it cannot be opened.
    pub fn alone(path: &Path) -> Result<FolderLock, LockError> {
        FolderLock::take(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Locks a folder together with others that do the same.
    ///
    /// # Errors
    /// Another process has it alone; it cannot be opened.
    pub fn shared(path: &Path) -> Result<FolderLock, LockError> {
        FolderLock::take(path, FlockOperation::NonBlockingLockShared)
    }

    /// Locks a folder that is open, for this process alone; `path` is what errors call it.
    ///
    /// # Errors
    /// Another process has it.
    pub fn of_open(folder: BorrowedFd<'_>, path: &Path) -> Result<FolderLock, LockError> {
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let folder = folder.try_clone_to_owned().map_err(failed)?;
        match try_lock(&folder).map_err(failed)? {
            Lock::Held => Err(LockError::held(path, &folder)),
            _ => Ok(FolderLock { folder }),
        }
    }

    pub(crate) fn of(folder: OwnedFd) -> FolderLock {
        FolderLock { folder }
    }

    fn take(path: &Path, operation: FlockOperation) -> Result<FolderLock, LockError> {
        let failed = |errno: Errno| LockError::Io {
            path: path.to_owned(),
            source: errno.into(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        loop {
            let folder = openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
            if lock_by(&folder, operation).map_err(failed)? == Lock::Held {
                return Err(LockError::held(path, &folder));
            }
            // Another folder may have got the name just before the lock was ours.
            if is_at(&folder, path) {
                return Ok(FolderLock { folder });
            }
        }
    }

    /// Whether this is the lock of the folder that has this name now.
    pub fn is_of(&self, path: &Path) -> bool {
        is_at(&self.folder, path)
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        release(&self.folder);
    }
}

/// Gives up the lock on what is open. Closing would do, if no other thread were just about to start a program with a
/// copy of the descriptor.
pub(crate) fn release(what: impl AsFd) {
    let _ = flock(what, FlockOperation::Unlock);
}

/// What came of trying to lock something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// It is ours.
    Taken,
    /// Somebody else has it.
    Held,
    /// The file system has no locks.
    Unknown,
}

pub(crate) fn try_lock(what: &OwnedFd) -> io::Result<Lock> {
    Ok(lock_by(what, FlockOperation::NonBlockingLockExclusive)?)
}

fn lock_by(what: &OwnedFd, operation: FlockOperation) -> Result<Lock, Errno> {
    match rustix::io::retry_on_intr(|| flock(what, operation)) {
        Ok(()) => Ok(Lock::Taken),
        Err(Errno::WOULDBLOCK) => Ok(Lock::Held),
        // What NFS (of a folder), Lustre without `-o flock` and some FUSE file systems say.
        Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::BADF | Errno::NOLCK) => {
            Ok(Lock::Unknown)
        }
        Err(errno) => Err(errno),
    }
}

/// Whether a name still is that of what was opened.
pub(crate) fn is_at(opened: &OwnedFd, path: &Path) -> bool {
    let (Ok(opened), Ok(there)) = (fstat(opened), stat(path)) else {
        return false;
    };
    (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino)
}

/// Who has a lock on it, as `/proc/locks` tells: the process that locks the same inode, and has it open where that can
/// be seen (the device numbers in there are not those of `stat` on btrfs).
///
/// That file is read in pieces, and locks that come and go meanwhile make it leave others out: so it is read again.
fn holder_of(folder: &OwnedFd) -> Option<Holder> {
    (0..READS).find_map(|_| listed_holder_of(folder))
}

fn listed_holder_of(folder: &OwnedFd) -> Option<Holder> {
    let wanted = fstat(folder.as_fd()).ok()?;
    let inode = format!(":{}", wanted.st_ino);
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut candidates = Vec::new();
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `1: FLOCK ADVISORY WRITE 4711 fe:00:12345 0 EOF`
        if let [_, "FLOCK", _, _, process, device_and_inode, ..] = words[..]
            && device_and_inode.ends_with(&inode)
            && let Ok(process) = process.parse::<u32>()
        {
            candidates.push(process);
        }
    }
    let has_it_open = |process: &u32| {
        let open = fs::read_dir(format!("/proc/{process}/fd"));
        open.is_ok_and(|mut open| {
            open.any(|entry| {
                let meta = entry.and_then(|entry| fs::metadata(entry.path()));
                meta.is_ok_and(|m| (m.dev(), m.ino()) == (wanted.st_dev, wanted.st_ino))
            })
        })
    };
    let seen = candidates.iter().copied().find(has_it_open);
    let process = seen.or(match candidates[..] {
        [only] => Some(only),
        _ => None,
    })?;
    Some(Holder {
        process,
        command: command_of(process),
    })
}

fn command_of(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = line
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    let mut command = String::new();
    for (i, word) in words.enumerate() {
        if i > 0 {
            command.push(' ');
        }
        let name = Path::new(OsStr::from_bytes(word)).file_name();
        let word = if i == 0 {
            name.map_or(word, OsStr::as_bytes)
        } else {
            word
        };
        command.extend(String::from_utf8_lossy(word).escape_debug());
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_folder_says_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::alone(folder.path()).unwrap();
        let Err(LockError::Held { holder, .. }) = FolderLock::alone(folder.path()) else {
            panic!("locked twice");
        };
        assert_eq!(holder.unwrap().process, std::process::id());
        assert!(FolderLock::shared(folder.path()).is_err());
        drop(first);
        let first = FolderLock::shared(folder.path()).unwrap();
        let second = FolderLock::shared(folder.path()).unwrap();
        assert!(FolderLock::alone(folder.path()).is_err());
        drop((first, second));
        FolderLock::alone(folder.path()).unwrap();
    }

    #[test]
    fn a_lock_stays_with_a_folder_that_is_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&a).unwrap();
        let lock = FolderLock::alone(&a).unwrap();
        fs::rename(&a, &b).unwrap();
        assert!(FolderLock::alone(&b).is_err());
        assert!(lock.is_of(&b) && !lock.is_of(&a));
    }

    #[test]
    fn a_command_line_cannot_move_the_cursor() {
        let shown = Holder {
            process: 7,
            command: String::from("a\u{1b}[2J").escape_debug().to_string(),
        };
        assert!(!shown.to_string().contains('\u{1b}'));
    }
}
