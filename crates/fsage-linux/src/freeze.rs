//! `FIFREEZE` and `FITHAW`: a file system writes everything to its place, so that its log is empty.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `_IOWR('X', 119, int)`.
const FIFREEZE: libc::c_ulong = 0xC004_5877;
/// `_IOWR('X', 120, int)`.
const FITHAW: libc::c_ulong = 0xC004_5878;

/// Freezes the file system that `file` is on, and thaws it at once.
///
/// A process of its own does both, so that a killed program leaves no file system frozen: nothing could unmount it
/// then. It runs on the processors of this thread.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `EOPNOTSUPP` where nothing can be frozen, `EBUSY` where it is frozen already; no
/// process can be made.
#[allow(unsafe_code)]
pub fn freeze_and_thaw(file: impl AsFd) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the child makes system calls alone, which a child of a program with several threads may do.
    let child = unsafe { libc::fork() };
    match child {
        ..0 => return Err(io::Error::last_os_error()),
        // SAFETY: calls without memory, or with zeroed integers; `_exit` ends the child without destructors.
        0 => unsafe {
            // Signals of the terminal do not reach it.
            libc::setsid();
            let unused: libc::c_int = 0;
            let mut failed = libc::ioctl(fd, FIFREEZE as _, &raw const unused) < 0;
            if !failed {
                failed = libc::ioctl(fd, FITHAW as _, &raw const unused) < 0;
            }
            libc::_exit(if failed { *libc::__errno_location() } else { 0 });
        },
        1.. => {}
    }
    let mut status: libc::c_int = 0;
    // SAFETY: `status` is a live integer, and the child is one of this process that nobody else waits for.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(()),
        (true, errno) => Err(io::Error::from_raw_os_error(errno)),
        (false, _) => Err(io::Error::other("the process that thaws was killed")),
    }
}
