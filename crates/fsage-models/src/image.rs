//! Images that a kernel mounts: what models with such images have in common.

use crate::options::{ParamError, Setting};
use crate::registry;
use fsage_core::{FileId, FileKind, FileSystem};
use fsage_input::mounted_on;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What an image is written to.
pub trait WriteAt {
    /// Writes bytes at a place.
    ///
    /// # Errors
    /// What the device says.
    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()>;

    /// Sees to it that a range reads as zeros. Nothing was written to it before; a new file need not do anything.
    ///
    /// # Errors
    /// What the device says.
    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;
}

/// What an image is read from.
pub trait ReadAt {
    /// Fills a buffer with the bytes at a place.
    ///
    /// # Errors
    /// What the device says; an end before.
    fn read_at(&self, offset_bytes: u64, to: &mut [u8]) -> io::Result<()>;
}

/// What an inode holds that decides nothing about its place. Times are nanoseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits.
    pub permissions: u16,
    /// Owner.
    pub uid: u32,
    /// Group of owners.
    pub gid: u32,
    /// Tells inodes of the same number apart.
    pub generation: u32,
    /// Last read.
    pub atime_ns: i64,
    /// Last change of content.
    pub mtime_ns: i64,
    /// Last change.
    pub ctime_ns: i64,
    /// When it was made.
    pub btime_ns: i64,
}

/// What the model does not know of its files.
pub trait Facts {
    /// Of an inode.
    fn attributes(&self, ino: u64, kind: FileKind) -> Attributes;

    /// Where a symbolic link leads, in so many bytes. It is known by the first of its names.
    fn target(&self, file: FileId, bytes: u64) -> Vec<u8>;
}

/// What an image says of itself. Times are seconds since 1970 UTC.
pub struct Options<'a> {
    /// Identity of the file system.
    pub uuid: [u8; 16],
    /// When it was made.
    pub made_s: i64,
    /// When it was written last.
    pub written_s: i64,
    /// What the model does not know.
    pub facts: &'a dyn Facts,
}

impl Options<'_> {
    /// Of what is as old as the file system.
    pub(crate) fn made(&self) -> Attributes {
        let made_ns = self.made_s.saturating_mul(1_000_000_000);
        Attributes {
            atime_ns: made_ns,
            mtime_ns: made_ns,
            ctime_ns: made_ns,
            btime_ns: made_ns,
            ..Attributes::default()
        }
    }

    /// Where a symbolic link leads. It has as many bytes as it should, whatever the caller says.
    pub(crate) fn target(&self, file: Option<FileId>, bytes: u64) -> Vec<u8> {
        let mut target = self.facts.target(file.unwrap_or(FileId(0)), bytes);
        target.resize(bytes as usize, b'x');
        target
    }
}

/// A directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Inode of its directory.
    pub parent_ino: u64,
    /// Its name.
    pub name: &'a [u8],
    /// What it leads to.
    pub ino: u64,
    /// What that is in an image.
    pub kind: FileKind,
    /// First name of a file; nothing of a directory.
    pub file: Option<FileId>,
}

/// A model of which there are images that a kernel mounts.
pub trait Mountable: FileSystem {
    /// Length of an image.
    fn image_bytes(&self) -> u64;

    /// The UUID that an image has where nobody asks for another one.
    fn uuid(&self) -> [u8; 16];

    /// Writes the file system, after it was unmounted: what waits for its place goes to disk first. The superblock is
    /// written last.
    ///
    /// # Errors
    /// What the device says, or that the file system has what cannot be written.
    fn write_image(&mut self, options: &Options<'_>, to: &mut dyn WriteAt) -> io::Result<()>;

    /// Visits every directory entry but those that every file system has.
    fn visit_names(&self, visit: &mut dyn FnMut(&Named<'_>));
}

/// What an inode is in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Regular,
    Directory,
    /// Its target lies in the inode.
    ShortLink,
    /// Its target lies in a block.
    LongLink,
}

/// Kind of an inode, among its permissions.
pub(crate) const REGULAR: u16 = 0o10_0000;
pub(crate) const DIRECTORY: u16 = 0o4_0000;
pub(crate) const SYMLINK: u16 = 0o12_0000;

impl Kind {
    pub fn file_kind(self) -> FileKind {
        match self {
            Kind::Regular => FileKind::Regular,
            Kind::Directory => FileKind::Directory,
            Kind::ShortLink | Kind::LongLink => FileKind::Symlink,
        }
    }

    pub fn mode(self) -> u16 {
        match self {
            Kind::Regular => REGULAR,
            Kind::Directory => DIRECTORY,
            Kind::ShortLink | Kind::LongLink => SYMLINK,
        }
    }

    /// The number of a directory entry.
    pub fn entry_type(self) -> u8 {
        match self {
            Kind::Regular => 1,
            Kind::Directory => 2,
            Kind::ShortLink | Kind::LongLink => 7,
        }
    }
}

/// Puts a field into a structure.
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, field: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&field);
}

/// Whether the checksum that was read is the right one. A fuzzer guesses none, and so has a feature that lets every one
/// be.
pub(crate) fn is_sum(read: u32, right: u32) -> bool {
    read == right || cfg!(feature = "any-checksum")
}

/// Ids of what is found in an image begin here.
pub(crate) const FOUND: u64 = 1 << 60;
/// Those of further names here.
pub(crate) const FURTHER: u64 = FOUND | 1 << 40;

/// Why a model does not begin with an image or a snapshot.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The device refused.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("no {of} file system{}", holds.map(|kind| format!(", but {kind}")).unwrap_or_default())]
    NoSuch {
        /// The model.
        of: &'static str,
        /// What is there, where that is known.
        holds: Option<&'static str>,
    },
    /// The model has no place for something.
    #[error("{what}: the model of {of} does not have that")]
    Foreign {
        /// The model.
        of: &'static str,
        /// What it is.
        what: String,
    },
    /// It is in use.
    #[error(
        "the file system is mounted on {0}, and changes while it is read: unmount it first, or begin with a snapshot \
         of {0}"
    )]
    Mounted(String),
    /// It was not unmounted.
    #[error("its {what} is to be replayed: mount and unmount it, or run `{tool}`")]
    Unclean {
        /// What is to be replayed.
        what: &'static str,
        /// What does so.
        tool: &'static str,
    },
    /// Things do not fit together.
    #[error("damaged: {what}; `{tool}` says more")]
    Damaged {
        /// What does not fit.
        what: String,
        /// What checks such file systems.
        tool: &'static str,
    },
    /// What a snapshot says does not fit together.
    #[error("it contradicts itself: {0}")]
    Contradiction(String),
}

impl ReadAt for File {
    fn read_at(&self, offset_bytes: u64, to: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(to, offset_bytes)
    }
}

/// Opens an image of this model that is not mounted. What is neither a file nor a block device is never waited for.
pub(crate) fn open(path: &Path, of: &'static str) -> Result<File, ReadError> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(ReadError::NoSuch { of, holds: None });
    }
    let file = File::open(path)?;
    match mounted_on(&file.metadata()?) {
        Some(point) => Err(ReadError::Mounted(point)),
        None => Ok(file),
    }
}

/// That there is no file system of this model, and which one there is instead, if it is a well-known one.
pub(crate) fn no_such(of: &'static str, from: &dyn ReadAt) -> ReadError {
    const MAGICS: [(&str, u64, &[u8]); 3] = [
        ("an XFS (`xfs:from=`)", 0, b"XFSB"),
        ("an ext2, ext3 or ext4 (`ext4:from=`)", 0x438, &[0x53, 0xEF]),
        ("a btrfs", 0x1_0040, b"_BHRfS_M"),
    ];
    let is_there = |&(kind, at, magic): &(&str, u64, &[u8])| {
        // What begins as one of its own, and ends there, is none.
        if kind.contains(of) {
            return false;
        }
        let mut found = vec![0; magic.len()];
        from.read_at(at, &mut found).is_ok() && found == magic
    };
    let holds = MAGICS.iter().find(|known| is_there(known));
    ReadError::NoSuch {
        of,
        holds: holds.map(|&(kind, ..)| kind),
    }
}

/// That all of a file system lies on what it is read from. What is larger would take memory and time before that is
/// seen.
pub(crate) fn lies_on(from: &dyn ReadAt, bytes: u64, tool: &'static str) -> Result<(), ReadError> {
    match from.read_at(bytes.saturating_sub(1), &mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(ReadError::Damaged {
            what: "it is larger than what it lies on".to_owned(),
            tool,
        }),
        read => Ok(read?),
    }
}

/// Refuses keys that are not for the user to choose.
pub(crate) fn refuse_decided(
    options: &registry::Options<'_>,
    keys: &[&str],
) -> Result<(), ParamError> {
    let chosen = options.iter().find(|(key, _)| keys.contains(key));
    chosen.map_or(Ok(()), |&(key, value)| {
        Err(Setting { key, value }.bad("no such key here: what `from` names decides"))
    })
}

/// The same as an error of the key `from`.
pub(crate) fn unread(path: &Path, why: ReadError) -> registry::MakeError {
    registry::MakeError::sizes(UnreadImage {
        path: path.to_owned(),
        why,
    })
}

/// An image that the model cannot begin with.
#[derive(Debug, Error)]
#[error("from={}: {why}", .path.display())]
struct UnreadImage {
    path: PathBuf,
    why: ReadError,
}
