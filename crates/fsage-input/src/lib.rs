//! Files that are read: what they may be, how large, and how waiting for them ends.
//!
//! A path that somebody names may be a pipe that nobody writes to, a device that never ends, or a file of any size.
//! So everything is opened here: a [`file()`] is a regular one; a [`stream()`] may be a pipe, and is waited for with an
//! eye on whether the program shall stop ([`stop_when`]); a [`text`] has a limit. It uses no other crate of fsage.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod mounts;
mod stream;

pub use mounts::mounted_on;
pub use stream::{Stream, stdin, stream};

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;

/// The largest text that people write: experiments, rules, profiles, drives, hosts.
pub const TEXT_BYTES: u64 = 16 << 20;
/// The largest manifest of a run or an experiment, which programs write: 100,000 cells take 50 MB.
pub const MANIFEST_BYTES: u64 = 256 << 20;

static STOP: OnceLock<fn() -> bool> = OnceLock::new();

/// Says when waiting for input ends early. For the start of a program; a second call changes nothing.
pub fn stop_when(is_time: fn() -> bool) {
    let _ = STOP.set(is_time);
}

/// Opens a regular file, or fails at once.
///
/// # Errors
/// It cannot be opened, or is a directory, a pipe or a device.
pub fn file(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(if kind.is_dir() {
        io::Error::new(ErrorKind::IsADirectory, "is a directory, not a file")
    } else {
        let what = if kind.is_fifo() { "pipe" } else { "device" };
        let text = format!("is a {what}; a regular file was expected");
        io::Error::new(ErrorKind::InvalidInput, text)
    })
}

/// Opens without waiting: for a pipe nobody writes to, and for a device that is not ready.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)
}

/// Reads a text, of a regular file or a pipe.
///
/// # Errors
/// It cannot be read, is longer than `limit_bytes`, or is not UTF-8.
pub fn text(path: &Path, limit_bytes: u64) -> io::Result<String> {
    let invalid = |_| io::Error::new(ErrorKind::InvalidData, "is no text: not all of it is UTF-8");
    String::from_utf8(bytes(path, limit_bytes)?).map_err(invalid)
}

/// Reads all of a regular file or a pipe.
///
/// # Errors
/// It cannot be read, or is longer than `limit_bytes`.
pub fn bytes(path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let stream = stream(path)?;
    if stream.is_device() {
        let text = "is a device; a file was expected";
        return Err(io::Error::new(ErrorKind::InvalidInput, text));
    }
    let mut bytes = Vec::new();
    stream.take(limit_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes {
        let text = format!(
            "is longer than {} MB, the most that is read; is it the right file?",
            limit_bytes >> 20
        );
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs;

    #[test]
    fn a_regular_file_is_opened_and_all_else_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "text").unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
        assert!(file(&at("a")).is_ok());
        for (path, what) in [
            (at("pipe"), "is a pipe"),
            (folder.path().to_owned(), "is a directory"),
            ("/dev/zero".into(), "is a device"),
        ] {
            let error = file(&path).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        assert_eq!(file(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_text_ends_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(text(&path, 1 << 20).unwrap().len(), 1 << 20);
        fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
        let error = text(&path, 1 << 20).unwrap_err().to_string();
        assert!(error.contains("longer than 1 MB"), "{error}");
        let error = text(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert!(error.to_string().contains("is a device"), "{error}");
        fs::write(&path, b"\xff").unwrap();
        let error = text(&path, 1 << 20).unwrap_err().to_string();
        assert!(error.contains("not all of it is UTF-8"), "{error}");
    }
}
