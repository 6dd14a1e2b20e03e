//! The system calls of operations on data, and what became of them.

use super::content::{CHUNK, Content};
use super::deviation::Deviation;
use super::error::{Failure, OrCall};
use super::{Data, Sync};
use fsage_core::Outcome;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fstat, fstatvfs, fsync, ftruncate, seek};
use rustix::io::{Errno, pread, pwrite, pwritev};
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};

/// What is to be done to the data of a file. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Write { offset: u64, bytes: u64 },
    Rewrite { bytes: u64 },
    Truncate { bytes: u64 },
    Fallocate { offset: u64, bytes: u64 },
    Punch { offset: u64, bytes: u64 },
}

/// What became of an operation on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub outcome: Outcome,
    /// Bytes written from the start of the range.
    pub written: u64,
    /// Length of the file where it is not what a plain end leaves; `None` also where the file was not made.
    pub size: Option<u64>,
    /// As in [`Deviation`].
    pub other_names: u8,
}

impl Effect {
    /// Done as asked.
    pub fn plain(written: u64) -> Effect {
        Effect {
            outcome: Outcome::Done,
            written,
            size: None,
            other_names: 0,
        }
    }

    /// Nothing was done.
    pub fn nothing(outcome: Outcome) -> Effect {
        Effect {
            outcome,
            ..Effect::plain(0)
        }
    }

    /// What was recorded of an operation that would write so much.
    pub fn recorded(deviation: Option<&Deviation>, bytes: u64) -> Effect {
        deviation.map_or(Effect::plain(bytes), |deviation| Effect {
            outcome: deviation.outcome,
            written: deviation.written_bytes,
            size: deviation.size_bytes,
            other_names: deviation.other_names,
        })
    }

    pub fn is_plain(&self) -> bool {
        self.outcome == Outcome::Done && self.other_names == 0
    }

    pub fn deviation(&self, event_index: u64) -> Deviation {
        Deviation {
            event_index,
            outcome: self.outcome,
            size_bytes: self.size,
            written_bytes: self.written,
            other_names: self.other_names,
        }
    }
}

/// The outcome of a call that failed for a reason that is no failure of the run.
pub(super) fn outcome_of(errno: Errno) -> Option<Outcome> {
    match errno {
        Errno::NOSPC | Errno::DQUOT => Some(Outcome::NoSpace),
        Errno::FBIG => Some(Outcome::TooLarge),
        _ => None,
    }
}

/// The outcome of a call that should have made an entry. A limit of the file system other than space and inodes, such
/// as the number of links or the length of a target, counts as [`Outcome::TooLarge`].
pub(super) fn outcome_of_making(errno: Errno, root: BorrowedFd<'_>) -> Option<Outcome> {
    match errno {
        Errno::NOSPC | Errno::DQUOT => {
            let inodes_are_out = errno == Errno::NOSPC
                && fstatvfs(root).is_ok_and(|s| s.f_files > 0 && s.f_favail == 0 && s.f_bavail > 0);
            Some(if inodes_are_out {
                Outcome::NoInode
            } else {
                Outcome::NoSpace
            })
        }
        Errno::MLINK | Errno::FBIG => Some(Outcome::TooLarge),
        _ => None,
    }
}

/// An open file that is worked on.
#[derive(Clone, Copy)]
pub(super) struct OpenFile<'a> {
    pub fd: BorrowedFd<'a>,
    pub content: Content,
    /// Its length as the tables know it.
    pub size: u64,
    /// Bytes that may be stored; the file system counts as full behind them.
    pub room_bytes: u64,
    pub data: Data,
    pub sync: Sync,
}

impl OpenFile<'_> {
    /// Does it.
    #[inline]
    pub fn perform(&self, task: Task) -> Result<Effect, Failure> {
        let (written, result) = match task {
            Task::Write { offset, bytes } => self.write(offset, bytes),
            Task::Rewrite { bytes } => match self.truncate(0) {
                Ok(()) => OpenFile { size: 0, ..*self }.write(0, bytes),
                Err(stopped) => (0, Err(stopped)),
            },
            Task::Truncate { bytes } => (0, self.truncate(bytes)),
            Task::Fallocate { offset, bytes } => {
                (0, self.allocate(FallocateFlags::empty(), offset, bytes))
            }
            Task::Punch { offset, bytes } => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                (0, self.allocate(flags, offset, bytes))
            }
        };
        // Cuts and holes write nothing.
        let writes = !matches!(task, Task::Truncate { .. } | Task::Punch { .. });
        let is_synced = self.sync == Sync::Each && writes;
        let outcome = match result {
            Ok(()) => {
                if is_synced {
                    fsync(self.fd).or_call("fsync")?;
                }
                return Ok(Effect::plain(written));
            }
            Err(stopped) => stopped.outcome()?,
        };
        let is_emptied = matches!(task, Task::Rewrite { .. });
        if is_synced && (outcome == Outcome::NoSpace || is_emptied) {
            // As much as there was room for. That a file system finds no room for it now is no news.
            match fsync(self.fd) {
                Err(Errno::NOSPC) => {}
                synced => synced.or_call("fsync")?,
            }
        }
        let size = fstat(self.fd).or_call("fstat")?.st_size as u64;
        Ok(Effect {
            outcome,
            written,
            size: Some(size),
            other_names: 0,
        })
    }

    /// Writes a range by the means that were chosen; gives how much of it was written.
    fn write(&self, offset: u64, bytes: u64) -> (u64, Result<(), Stopped>) {
        match self.data {
            _ if bytes == 0 => (0, check_end("pwrite", offset, bytes)),
            Data::Write => {
                let mut written = 0;
                let result = self.write_pieces(offset, bytes, &mut written);
                (written, result)
            }
            Data::Fallocate => {
                let result = self.allocate(FallocateFlags::empty(), offset, bytes);
                let result = result.map_err(|stopped| match stopped.errno {
                    // Not an operation that may be left out: nothing at all would be stored.
                    Errno::OPNOTSUPP => Stopped {
                        unsupported: true,
                        ..stopped
                    },
                    _ => stopped,
                });
                (if result.is_ok() { bytes } else { 0 }, result)
            }
            Data::Hole => {
                let end = offset.saturating_add(bytes);
                let result = if end > self.size {
                    self.truncate(end)
                } else {
                    Ok(())
                };
                (if result.is_ok() { bytes } else { 0 }, result)
            }
        }
    }

    /// Writes in calls of a chunk's length from where the range starts.
    #[inline]
    fn write_pieces(&self, offset: u64, bytes: u64, written: &mut u64) -> Result<(), Stopped> {
        check_end("pwrite", offset, bytes)?;
        let fits = bytes.min(self.room_bytes);
        let mut piece_end = 0;
        while *written < fits {
            if *written >= piece_end {
                piece_end = (piece_end + CHUNK).min(fits);
            }
            let at = offset + *written;
            let rest = piece_end - *written;
            let first = self.content.bytes(at, rest);
            let result = if first.len() as u64 == rest {
                pwrite(self.fd, first, at)
            } else {
                let second = self
                    .content
                    .bytes(at + first.len() as u64, rest - first.len() as u64);
                pwritev(self.fd, &[IoSlice::new(first), IoSlice::new(second)], at)
            };
            match result {
                Ok(0) => return Err(Stopped::new("pwrite", Errno::IO)),
                Ok(count) => *written += count as u64,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Stopped::new("pwrite", errno)),
            }
        }
        if fits < bytes {
            return Err(Stopped::new("pwrite", Errno::NOSPC));
        }
        Ok(())
    }

    fn truncate(&self, size: u64) -> Result<(), Stopped> {
        check_end("ftruncate", size, 0)?;
        retry(|| ftruncate(self.fd, size)).map_err(|errno| Stopped::new("ftruncate", errno))
    }

    fn allocate(&self, flags: FallocateFlags, offset: u64, bytes: u64) -> Result<(), Stopped> {
        check_end("fallocate", offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        if bytes > self.room_bytes {
            return Err(Stopped::new("fallocate", Errno::NOSPC));
        }
        retry(|| fallocate(self.fd, flags, offset, bytes))
            .map_err(|errno| Stopped::new("fallocate", errno))
    }
}

/// A call that did not go through.
struct Stopped {
    call: &'static str,
    errno: Errno,
    /// The file system cannot store data by the means that were chosen.
    unsupported: bool,
}

impl Stopped {
    fn new(call: &'static str, errno: Errno) -> Stopped {
        Stopped {
            call,
            errno,
            unsupported: false,
        }
    }

    fn outcome(self) -> Result<Outcome, Failure> {
        match self.errno {
            _ if self.unsupported => Err(Failure::NoFallocate),
            Errno::OPNOTSUPP if self.call == "fallocate" => Ok(Outcome::Ignored),
            errno => outcome_of(errno).ok_or(Failure::Io(self.call, errno)),
        }
    }
}

/// Offsets are signed in the kernel.
fn check_end(call: &'static str, offset: u64, bytes: u64) -> Result<(), Stopped> {
    match offset.checked_add(bytes) {
        Some(end) if i64::try_from(end).is_ok() => Ok(()),
        _ => Err(Stopped::new(call, Errno::FBIG)),
    }
}

/// Makes a call until no signal interrupts it.
pub(super) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// The next data of a file at or behind an offset, and where it ends; none where only a hole is left. A file system
/// that knows no holes has data everywhere.
fn data_from(fd: impl AsFd, at: u64) -> Option<(u64, u64)> {
    match seek(&fd, SeekFrom::Data(at)) {
        Ok(data) => {
            let hole = seek(&fd, SeekFrom::Hole(data));
            Some((data, hole.unwrap_or(u64::MAX).max(data + 1)))
        }
        Err(Errno::NXIO) => None,
        Err(_) => Some((at, u64::MAX)),
    }
}

/// Reads a range, as far as the file goes, and drops what was read. Holes are left out: terabytes of zeros would fill
/// the page cache, and a kernel that reclaims memory writes back before its time.
pub(super) fn read(
    fd: impl AsFd,
    (offset, bytes): (u64, u64),
    scratch: &mut Vec<u8>,
) -> Result<(), Failure> {
    scratch.resize(CHUNK as usize, 0);
    let end = offset.saturating_add(bytes).min(i64::MAX as u64);
    let (mut at, mut data_end) = (offset, offset);
    while at < end {
        if at >= data_end {
            let Some((data, ends)) = data_from(&fd, at) else {
                break;
            };
            (at, data_end) = (data, ends);
            continue;
        }
        let length = (end.min(data_end) - at).min(CHUNK) as usize;
        match retry(|| pread(&fd, &mut scratch[..length], at)).or_call("pread")? {
            0 => break,
            count => at += count as u64,
        }
    }
    Ok(())
}
