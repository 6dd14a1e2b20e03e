//! What can be wrong with an entry of a tree.

use fsage_core::names;
use rustix::fs::FileType;
use std::fmt;
use std::io;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A device, a pipe or a socket.
    Other,
}

impl Kind {
    pub(super) fn of(file_type: FileType) -> Kind {
        match file_type {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Other,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Directory => "a directory",
            Kind::File => "a file",
            Kind::Symlink => "a symbolic link",
            Kind::Other => "a device, pipe or socket",
        })
    }
}

/// What is wrong with an entry of a tree.
#[derive(Debug)]
pub enum Fault {
    /// It should be there and is not.
    Missing,
    /// It is there and the replay did not make it.
    Foreign(Kind),
    /// It is of another kind.
    Kind {
        /// What it is.
        found: Kind,
        /// What it should be.
        right: Kind,
    },
    /// It has another length.
    Size {
        /// Bytes that it has.
        found: u64,
        /// Bytes that it should have.
        right: u64,
    },
    /// It holds other data.
    Data {
        /// Offset of the first byte that differs.
        at: u64,
    },
    /// It is a symbolic link with another target.
    Target,
    /// It should be another name of a file, and is a file of its own.
    OtherInode,
    /// Its inode has more or fewer names.
    Names {
        /// How many it has.
        found: u64,
        /// How many it should have.
        right: u64,
    },
    /// Another file system is mounted there.
    Mounted,
    /// It cannot be read.
    Unreadable(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing => f.write_str("is missing"),
            Fault::Foreign(kind) => write!(f, "is {kind} that the replay did not make"),
            Fault::Kind { found, right } => write!(f, "is {found}, expected {right}"),
            Fault::Size { found, right } => write!(f, "has {found} bytes, expected {right}"),
            Fault::Data { at } => write!(f, "holds other data than was written, from byte {at} on"),
            Fault::Target => f.write_str("leads to another target than it was made with"),
            Fault::OtherInode => {
                f.write_str("is a file of its own, expected another name of the same file")
            }
            Fault::Names { found, right } => write!(f, "has {found} names, expected {right}"),
            Fault::Mounted => f.write_str("has another file system mounted on it"),
            Fault::Unreadable(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

/// An entry of a tree that is not as it should be. Displayed, it is one sentence with the path.
#[derive(Debug)]
pub struct Problem {
    /// Path relative to the root of the tree; empty for the root itself.
    pub path: Vec<u8>,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Shown(&self.path), self.fault)
    }
}

/// A path of a tree, for people.
pub(super) struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b"" => f.write_str("the root of the tree"),
            path => write!(f, "`{}`", names::escape(path)),
        }
    }
}
