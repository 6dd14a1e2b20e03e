//! A directory that is there already, as a place for a tree.

use super::Volume;
use super::error::TargetError;
use super::mounts;
use fsage_durable::FolderLock;
use rustix::fs::{
    Access, AtFlags, Dir, Mode, OFlags, StatVfsMountFlags, accessat, fstat, fstatvfs, open, statat,
};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Directories that systems consist of. They are refused even where one of them happens to be empty.
const SYSTEM: [&str; 24] = [
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/tmp",
];
/// File systems smaller than this hold no workload.
const LEAST_BYTES: u64 = 1 << 20;

/// An empty directory of a mounted file system.
#[derive(Debug)]
pub struct PlainDirectory {
    root: OwnedFd,
    path: PathBuf,
    /// It is no root of a file system.
    is_shared: bool,
    /// One process at a time works in it.
    _alone: FolderLock,
}

impl PlainDirectory {
    /// Opens a directory that a workload may be replayed in for the first time.
    ///
    /// # Errors
    /// It is no directory, or not empty (the `lost+found` of a fresh file system aside), it belongs to the system, it
    /// cannot be written, there is no room, or another process works in it.
    pub fn open(path: impl AsRef<Path>) -> Result<PlainDirectory, TargetError> {
        let directory = PlainDirectory::open_again(path)?;
        directory.check_room()?;
        match directory.first_entry() {
            Ok(None) => Ok(directory),
            Ok(Some(name)) => {
                let reason = format!("the directory is not empty: it has an entry `{name}`");
                let advice = "name a new directory, or resume the run that made it";
                Err(directory.refused(reason, advice))
            }
            Err(errno) => Err(failed(&directory.path, "getdents", errno.into())),
        }
    }

    /// Opens a directory that has the tree of an earlier run in it.
    ///
    /// # Errors
    /// As for [`open`](Self::open), only that it need not be empty, and that its file system may be full.
    pub fn open_again(path: impl AsRef<Path>) -> Result<PlainDirectory, TargetError> {
        let given = path.as_ref();
        let refused = |reason: String, advice| TargetError::Refused {
            path: given.to_owned(),
            reason,
            advice,
        };
        let path = std::fs::canonicalize(given).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied => {
                refused(error.to_string(), "make the directory first")
            }
            _ => failed(given, "stat", error),
        })?;
        if SYSTEM.iter().any(|system| Path::new(system) == path) {
            let reason = "it is a directory of the running system".to_owned();
            return Err(refused(reason, "name an empty directory in it"));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = open(&path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR => refused("it is no directory".to_owned(), "name a directory"),
            Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::NOENT => {
                refused(errno.to_string(), "name a directory that you may use")
            }
            errno => failed(given, "open", errno.into()),
        })?;
        let is_root = is_root_of_file_system(root.as_fd())
            .map_err(|errno| failed(given, "stat", errno.into()))?;
        let directory = PlainDirectory {
            _alone: FolderLock::of_open(root.as_fd(), &path)?,
            root,
            path,
            is_shared: !is_root,
        };
        directory.check_usable()?;
        Ok(directory)
    }

    fn refused(&self, reason: impl std::fmt::Display, advice: &'static str) -> TargetError {
        TargetError::Refused {
            path: self.path.clone(),
            reason: reason.to_string(),
            advice,
        }
    }

    fn check_usable(&self) -> Result<(), TargetError> {
        let stat =
            fstatvfs(&self.root).map_err(|errno| failed(&self.path, "fstatvfs", errno.into()))?;
        if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
            let advice = "mount it writable, or name another directory";
            return Err(self.refused("its file system is read-only", advice));
        }
        let access = Access::WRITE_OK | Access::EXEC_OK;
        if let Err(errno) = accessat(&self.root, ".", access, AtFlags::EACCESS) {
            if !matches!(errno, Errno::ACCESS | Errno::PERM | Errno::ROFS) {
                return Err(failed(&self.path, "access", errno.into()));
            }
            let reason = format!("it cannot be written: {errno}");
            return Err(self.refused(reason, "name a directory of your own"));
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), TargetError> {
        let stat =
            fstatvfs(&self.root).map_err(|errno| failed(&self.path, "fstatvfs", errno.into()))?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        if free < LEAST_BYTES {
            let reason = format!("its file system has {free} bytes available, under 1 MiB");
            return Err(self.refused(reason, "make room, or name a larger one"));
        }
        Ok(())
    }

    /// An entry that a fresh file system does not have.
    fn first_entry(&self) -> Result<Option<String>, Errno> {
        for entry in Dir::read_from(&self.root)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !(name == b"." || name == b".." || !self.is_shared && name == b"lost+found") {
                return Ok(Some(fsage_core::names::escape(name).into_owned()));
            }
        }
        Ok(None)
    }
}

/// A call on the directory failed for another reason than what was asked for.
fn failed(path: &Path, call: &'static str, source: io::Error) -> TargetError {
    TargetError::Io {
        call,
        path: path.display().to_string(),
        source,
    }
}

fn is_root_of_file_system(directory: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(fstat(directory)?.st_dev != statat(directory, "..", AtFlags::empty())?.st_dev)
}

impl Volume for PlainDirectory {
    fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    fn remount(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.root)?)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        let kind = mounts::type_of(self.root.as_fd()).ok().flatten();
        let mut facts = vec![("path", self.path.display().to_string())];
        facts.extend(kernel.map(|kernel| ("kernel", kernel.trim().to_owned())));
        facts.extend(kind.map(|kind| ("fs_type", kind)));
        facts
    }
}
