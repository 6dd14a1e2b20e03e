//! A stopped process: its memory, its descriptors, and the files that its calls name.

use nix::unistd::Pid;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A system call with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// `SYS_...`
    pub number: i64,
    /// Arguments, in order.
    pub args: [u64; 6],
}

impl Call {
    /// An argument that is a descriptor.
    pub fn fd(&self, argument: usize) -> i32 {
        self.args[argument] as i32
    }
}

/// Device and inode.
pub type Inode = (u64, u64);

/// A process that has stopped.
#[derive(Clone, Copy, Debug)]
pub struct Tracee(pub Pid);

impl Tracee {
    fn proc(self, what: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{what}", self.0))
    }

    /// As many of these bytes of memory as there are.
    pub fn read(self, address: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let memory = File::open(self.proc("mem"))?;
        let mut buffer = vec![0; bytes];
        let mut have = 0;
        while have < bytes {
            match memory.read_at(&mut buffer[have..], address + have as u64) {
                Ok(0) => break,
                Ok(more) => have += more,
                // The next page is not there.
                Err(_) if have > 0 => break,
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(have);
        Ok(buffer)
    }

    /// A text that ends with a zero.
    pub fn text(self, address: u64) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            // Up to the end of a page: the next one may not be there.
            let at = address + text.len() as u64;
            let piece = self.read(at, (4096 - at % 4096) as usize)?;
            if let Some(end) = piece.iter().position(|&b| b == 0) {
                text.extend_from_slice(&piece[..end]);
                return Ok(text);
            }
            if piece.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            text.extend_from_slice(&piece);
        }
    }

    /// The buffers of a call that writes: from an address, or from a vector of so many pieces.
    pub fn pieces(self, vector: u64, count: usize) -> io::Result<Vec<u8>> {
        let words = self.read(vector, count * 16)?;
        let mut data = Vec::new();
        for piece in words.chunks_exact(16) {
            let word =
                |at: usize| u64::from_le_bytes(piece[at..at + 8].try_into().expect("eight bytes"));
            data.extend(self.read(word(0), word(8) as usize)?);
        }
        Ok(data)
    }

    /// The way to what a descriptor is open on, which goes there even where it has no name any more.
    pub fn descriptor(self, fd: i32) -> PathBuf {
        match fd {
            libc::AT_FDCWD => self.proc("cwd"),
            fd => self.proc(&format!("fd/{fd}")),
        }
    }

    /// What a descriptor is open on.
    pub fn inode(self, fd: i32) -> Option<Inode> {
        inode(&self.descriptor(fd))
    }

    /// Where a descriptor stands, and whether it always writes at the end.
    pub fn position(self, fd: i32) -> Option<(u64, bool)> {
        let text = fs::read_to_string(self.proc(&format!("fdinfo/{fd}"))).ok()?;
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let flags = i32::from_str_radix(field("flags:")?, 8).ok()?;
        Some((field("pos:")?.parse().ok()?, flags & libc::O_APPEND != 0))
    }

    /// The way to the path that a call names.
    pub fn path(self, dirfd: i32, address: u64) -> Option<PathBuf> {
        let text = self.text(address).ok()?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(text));
        if let Ok(own) = path.strip_prefix("/proc/self") {
            return Some(self.proc("").join(own));
        }
        if path.as_os_str().is_empty() {
            return Some(self.descriptor(dirfd));
        }
        // A path that begins with a slash stays as it is.
        Some(self.descriptor(dirfd).join(path))
    }
}

/// What a path leads to.
pub fn inode(path: &Path) -> Option<Inode> {
    fs::metadata(path)
        .ok()
        .map(|about| (about.dev(), about.ino()))
}

/// What a path leads to, be it a link itself.
pub fn link_inode(path: &Path) -> Option<Inode> {
    fs::symlink_metadata(path)
        .ok()
        .map(|about| (about.dev(), about.ino()))
}
