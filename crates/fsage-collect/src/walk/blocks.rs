//! Where the blocks of one file lie, asked in the ways that the file system knows.

use fsage_core::Extent;
use fsage_linux::fibmap;
use fsage_linux::fiemap::Fiemap;
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// So many refusals without one answer, and nobody asks again.
const REFUSALS: u32 = 16;

/// Whether a file system tells block lists of one kind of file. On an overlay of several, some files may have them and
/// others not.
#[derive(Default)]
pub(super) struct Support {
    answered: AtomicBool,
    refused: AtomicU32,
}

impl Support {
    /// Whether asking makes sense.
    pub fn is_likely(&self) -> bool {
        self.answered.load(Ordering::Relaxed) || self.refused.load(Ordering::Relaxed) < REFUSALS
    }

    /// Whether there were refusals and no answer.
    pub fn is_missing(&self) -> bool {
        !self.answered.load(Ordering::Relaxed) && self.refused.load(Ordering::Relaxed) > 0
    }

    /// Looks at an answer: `Ok(None)` is a refusal.
    fn note(&self, answer: io::Result<Option<Box<[Extent]>>>) -> io::Result<Option<Box<[Extent]>>> {
        match &answer {
            Ok(Some(_)) if !self.answered.load(Ordering::Relaxed) => {
                self.answered.store(true, Ordering::Relaxed);
            }
            Ok(None) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        answer
    }
}

/// Asks for block lists, with buffers that are used again.
#[derive(Default)]
pub(super) struct Blocks {
    fiemap: Fiemap,
    extents: Vec<Extent>,
}

impl Blocks {
    /// The extents of an open directory; `None` where the file system does not report them.
    pub fn of_directory(
        &mut self,
        file: &OwnedFd,
        support: &Support,
    ) -> io::Result<Option<Box<[Extent]>>> {
        let asked = self.fiemap.extents(file, &mut self.extents);
        support.note(self.answer(asked))
    }

    /// The extents of an open regular file, the same.
    pub fn of_file(
        &mut self,
        file: &OwnedFd,
        size_bytes: u64,
        support: &Support,
    ) -> io::Result<Option<Box<[Extent]>>> {
        let mut asked = self.fiemap.extents(file, &mut self.extents);
        if asked.as_ref().is_err_and(is_refusal) {
            asked = fibmap::extents(file, size_bytes, &mut self.extents);
        }
        support.note(self.answer(asked))
    }

    fn answer(&self, asked: io::Result<()>) -> io::Result<Option<Box<[Extent]>>> {
        match asked {
            Ok(()) => Ok(Some(self.extents.as_slice().into())),
            Err(e) if is_refusal(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Whether the file system has no such call, or has it for root only.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [
        Errno::NOTTY,
        Errno::OPNOTSUPP,
        Errno::NOSYS,
        Errno::INVAL,
        Errno::PERM,
    ];
    refusals
        .iter()
        .any(|e| error.raw_os_error() == Some(e.raw_os_error()))
}
