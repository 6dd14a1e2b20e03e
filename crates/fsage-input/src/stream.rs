//! Input that may be a pipe: waiting for it ends when the program shall stop.

use super::{STOP, open};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// How long nobody asks whether to stop.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// A file, a pipe or a device, read from its beginning to its end.
#[derive(Debug)]
pub struct Stream {
    from: File,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Of so many bytes. Reading it is never waited for.
    File(u64),
    Pipe,
    Device,
}

impl Stream {
    /// Its bytes, where that is known before: of a regular file.
    pub fn len_bytes(&self) -> Option<u64> {
        match self.kind {
            Kind::File(bytes) => Some(bytes),
            Kind::Pipe | Kind::Device => None,
        }
    }

    pub(super) fn is_device(&self) -> bool {
        self.kind == Kind::Device
    }
}

/// Opens a file, a pipe or a device, without waiting for somebody who writes to it.
///
/// # Errors
/// It cannot be opened, or is a directory.
pub fn stream(path: &Path) -> io::Result<Stream> {
    let file = open(path)?;
    let meta = file.metadata()?;
    let kind = meta.file_type();
    let kind = if kind.is_dir() {
        return Err(io::Error::new(
            ErrorKind::IsADirectory,
            "is a directory, not a file",
        ));
    } else if kind.is_file() {
        Kind::File(meta.len())
    } else if std::os::unix::fs::FileTypeExt::is_fifo(&kind) {
        Kind::Pipe
    } else {
        Kind::Device
    };
    Ok(Stream { from: file, kind })
}

/// Standard input.
///
/// # Errors
/// There is none.
pub fn stdin() -> io::Result<Stream> {
    // A descriptor of its own: what the standard library holds in its buffer, nobody would wait for.
    let from = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let kind = Kind::Pipe;
    Ok(Stream { from, kind })
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.kind, Kind::File(_)) {
            return self.from.read(buffer);
        }
        loop {
            // Not `Interrupted`, after which the standard library tries again.
            if STOP.get().is_some_and(|is_time| is_time()) {
                return Err(io::Error::other("interrupted while waiting for input"));
            }
            let mut fds = [PollFd::new(&self.from, PollFlags::IN)];
            match poll(&mut fds, Some(&PATIENCE)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match self.from.read(buffer) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_pipe_is_read_from_its_first_writer_to_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mkfifoat(CWD, &path, Mode::RWXU).unwrap();
        let mut input = stream(&path).unwrap();
        assert_eq!(input.len_bytes(), None);
        let writer = std::thread::spawn(move || {
            let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            for _ in 0..3 {
                file.write_all(&vec![7; 100_000]).unwrap();
            }
        });
        let mut read = Vec::new();
        input.read_to_end(&mut read).unwrap();
        writer.join().unwrap();
        assert!(read == vec![7; 300_000]);
    }

    #[test]
    fn a_file_says_how_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "text").unwrap();
        let mut input = stream(&path).unwrap();
        assert_eq!(input.len_bytes(), Some(4));
        let mut read = String::new();
        input.read_to_string(&mut read).unwrap();
        assert_eq!(read, "text");
    }
}
