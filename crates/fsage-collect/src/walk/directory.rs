//! The directories of a walk, and the descriptors they are open by.

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, openat, openat2, statx};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Directories that are kept open, in all: those opened last. Each of them is still to lead to others.
const OPEN: usize = 200;

/// A directory that was found. It knows its parent, not its path: a tree of any depth needs memory for its names only.
pub(super) struct Directory {
    /// `None` for the root of the walk.
    parent: Option<Arc<Directory>>,
    /// Empty for the root of the walk.
    name: CString,
    /// Its inode, once it was visited.
    ino: OnceLock<u64>,
    opened: Mutex<Option<Arc<OwnedFd>>>,
}

impl Directory {
    /// The root of a walk, which stays open.
    pub fn root(fd: OwnedFd) -> Arc<Directory> {
        Arc::new(Directory {
            parent: None,
            name: CString::default(),
            ino: OnceLock::new(),
            opened: Mutex::new(Some(Arc::new(fd))),
        })
    }

    /// A directory of that name.
    pub fn child(self: &Arc<Directory>, name: &CStr) -> Arc<Directory> {
        Arc::new(Directory {
            parent: Some(Arc::clone(self)),
            name: name.to_owned(),
            ino: OnceLock::new(),
            opened: Mutex::new(None),
        })
    }

    /// The directory that holds it; `None` for the root of the walk.
    pub fn parent(&self) -> Option<&Arc<Directory>> {
        self.parent.as_ref()
    }

    /// Its name in its parent; empty for the root of the walk.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Its inode, once it was visited.
    pub fn ino(&self) -> Option<u64> {
        self.ino.get().copied()
    }

    /// The path from the root of the walk; empty for the root.
    pub fn path(&self) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = self;
        while let Some(parent) = at.parent() {
            names.push(at.name.to_bytes());
            at = parent;
        }
        names.reverse();
        names.join(&b'/')
    }
}

impl Drop for Directory {
    /// Lets go of a long chain of parents one by one: dropped inside each other, they would not fit the stack.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut directory) = next.and_then(Arc::into_inner) {
            next = directory.parent.take();
        }
    }
}

/// A lock that is good for use also after a panic of another thread, which ends the walk anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens directories, each by its name in its open parent: no link is followed, so no path leads out of the tree. Few
/// are open at a time; one that was closed is opened again, and is the same inode then.
#[derive(Default)]
pub(super) struct Descriptors {
    recent: Mutex<VecDeque<Weak<Directory>>>,
}

impl Descriptors {
    /// A descriptor of a directory that was visited.
    ///
    /// # Errors
    /// What opening it, or one that leads to it, fails with; `ENOENT` where that is another inode by now.
    pub fn get(&self, directory: &Arc<Directory>) -> Result<Arc<OwnedFd>, Errno> {
        let mut closed = Vec::new();
        let mut at = directory;
        let mut fd = loop {
            if let Some(fd) = &*lock(&at.opened) {
                break Arc::clone(fd);
            }
            closed.push(at);
            at = at.parent().ok_or(Errno::BADF)?;
        };
        while let Some(next) = closed.pop() {
            fd = Arc::new(open_checked(&fd, &next.name, next.ino().unwrap_or(0))?);
            self.keep(next, &fd);
        }
        Ok(fd)
    }

    /// Notes that a directory, which was opened for the first time, is the inode `ino`. The root keeps a descriptor of
    /// its own, which nobody reads.
    pub fn visited(&self, directory: &Arc<Directory>, fd: &Arc<OwnedFd>, ino: u64) {
        if directory.ino.set(ino).is_ok() && directory.parent.is_some() {
            self.keep(directory, fd);
        }
    }

    /// Keeps a directory open, and closes the one that was opened longest ago.
    fn keep(&self, directory: &Arc<Directory>, fd: &Arc<OwnedFd>) {
        *lock(&directory.opened) = Some(Arc::clone(fd));
        let mut recent = lock(&self.recent);
        recent.push_back(Arc::downgrade(directory));
        let oldest = if recent.len() > OPEN {
            recent.pop_front()
        } else {
            None
        };
        drop(recent);
        if let Some(oldest) = oldest.and_then(|weak| weak.upgrade()) {
            *lock(&oldest.opened) = None;
        }
    }
}

fn open_checked(parent: &impl AsFd, name: &CStr, ino: u64) -> Result<OwnedFd, Errno> {
    let fd = open_directory(parent, name)?;
    let stat = statx(&fd, c"", AtFlags::EMPTY_PATH, StatxFlags::INO)?;
    if stat.stx_ino == ino {
        Ok(fd)
    } else {
        Err(Errno::NOENT)
    }
}

/// Opens a directory so that reading it does not change its access time, where that is allowed: to its owner and to
/// root.
pub(super) fn open_directory(parent: &impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open_here(parent, name, flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open_here(parent, name, flags),
        opened => opened,
    }
}

/// Opens a regular file only to ask for what it is and for its blocks, which leaves its access time alone. The entry of
/// the directory says that it is one: opening a FIFO would wait for ever, without `O_NONBLOCK`.
pub(super) fn open_file(parent: &impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open_here(parent, name, flags)
}

/// Opens nothing that is mounted on the name: that fails with `EXDEV`.
fn open_here(parent: &impl AsFd, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    match openat2(parent, name, flags, Mode::empty(), ResolveFlags::NO_XDEV) {
        // Old kernels do not have the call, and some containers forbid it. What was opened tells where it is.
        Err(Errno::NOSYS | Errno::PERM) => openat(parent, name, flags, Mode::empty()),
        opened => opened,
    }
}
