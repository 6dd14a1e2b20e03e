//! Images: the metadata of a C-FFS as they lie on its disk (docs/spec/cffs.md, section 2), the way back from them,
//! and the recovery check (docs/spec/cffs.md, section 9).
//!
//! Data are not written: an image is a sparse file of the size of the partition. Block 0, which is never allocated, has
//! a copy of the superblock.
//!
//! | where | what |
//! |---|---|
//! | `format` | bytes of superblock, inodes, names |
//! | `write` | the blocks of a model |
//! | `scan` | directories and inodes as far as they can be found |
//! | `tables` | the directory map, and inodes that lie in no directory |
//! | `twice` | what an interrupted operation has left twice |
//! | `lost` | directories and files that no name leads to |
//! | `claims` | which block is whose |
//! | `build` | a model of what was found, and everything that is kept twice and disagrees |

mod build;
mod claims;
mod format;
mod lost;
mod scan;
mod tables;
mod twice;
mod write;

pub use format::Block;
pub use write::Blocks;

use super::Cffs;
use super::directory::LOST;
use super::geometry::{BLOCK, SUPERBLOCK, TREE};
use format::Superblock;
use scan::Scan;
use std::fmt;
use std::io;
use thiserror::Error;

/// An image that can be read.
pub trait ReadBlocks {
    /// Blocks that it has, a part of one at the end left out.
    fn blocks(&self) -> u64;

    /// Reads a block that it has.
    ///
    /// # Errors
    /// What the device says.
    fn read(&self, block: u32, to: &mut Block) -> io::Result<()>;
}

/// What the recovery check has to say about something that it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It was there, and cannot be had any more.
    Lost,
    /// It was lost, and has been found.
    Found,
    /// Nothing leads to it: it goes.
    Freed,
    /// It disagreed with the rest, and was made to agree.
    Fixed,
}

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lost => "lost",
            Kind::Found => "found",
            Kind::Freed => "freed",
            Kind::Fixed => "fixed",
        }
    }
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What became of it.
    pub kind: Kind,
    /// What it is, in one line.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.what)
    }
}

/// What a file system check makes of an image.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The file system with all that could be found. It is consistent.
    pub fs: Cffs,
    /// What was not as it should be, in the order in which it was met.
    pub findings: Vec<Finding>,
    /// What lies in it.
    pub holds: Holds,
}

/// What lies in a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Directories, the root included.
    pub directories: u64,
    /// Files and symbolic links.
    pub files: u64,
    /// Names, without `.` and `..`.
    pub names: u64,
    /// Inodes in sectors of directories, those of directories included.
    pub embedded: u64,
    /// Inodes in the external inode file, or in blocks of their own.
    pub external: u64,
    /// Groups of small files.
    pub groups: u64,
}

/// An image that cannot be read at all.
#[derive(Debug, Error)]
pub enum ImageError {
    /// No superblock.
    #[error(
        "no C-FFS: neither block 1 nor its copy in block 0 is a superblock of an image by fsage"
    )]
    NoSuperblock,
    /// A file that is too short to be worth the memory that the file system takes.
    #[error("{blocks} blocks of {of} that its superblock names: too few are left")]
    Cut {
        /// What is there.
        blocks: u64,
        /// What should be there.
        of: u32,
    },
    /// Nothing is free for what repair needs.
    #[error(
        "no block is free to give a name to {path}, which was found again: nothing can be repaired"
    )]
    Full {
        /// The directory.
        path: String,
    },
    /// The directory for lost blocks has pointers to 15 blocks.
    #[error(
        "{blocks} lost blocks of removed directories: with inode_id=physical the format has room for 15"
    )]
    LostBlocks {
        /// How many there are.
        blocks: u64,
    },
    /// A second number for every inode, which has no place in the format.
    #[error(
        "inode_id=table: an inode of the format has room for one number, and that is its locator"
    )]
    Numbers,
    /// An address that has no place in the format.
    #[error(
        "{blocks} blocks: with inode_id=physical the number of an inode has 32 bits, and at most 2^27 blocks fit"
    )]
    TooLarge {
        /// What the file system has.
        blocks: u32,
    },
}

/// The smallest part of an image that is looked at, one in so many: memory is bounded by what is there of the file.
const LEAST_PART: u64 = 64;

/// Whether the first two blocks of a file are those of an image, be it damaged.
pub fn is_image(first: &[u8]) -> bool {
    let superblock = first.get(BLOCK as usize..).unwrap_or_default();
    Superblock::has_name(first) || Superblock::has_name(superblock)
}

impl Cffs {
    /// The blocks of an image: all metadata, by their addresses. Blocks that are missing are zeros.
    ///
    /// # Errors
    /// Addresses that have no place in the format.
    pub fn image(&self) -> Result<Blocks, ImageError> {
        let blocks = self.geometry.blocks;
        if self.params.has_inode_table() {
            return Err(ImageError::Numbers);
        }
        if self.params.embed && !self.params.inodes_move() {
            if blocks > 1 << 27 {
                return Err(ImageError::TooLarge { blocks });
            }
            let lost = self.dirs[LOST as usize].inode.size / BLOCK;
            if lost > u64::from(TREE.direct) {
                return Err(ImageError::LostBlocks { blocks: lost });
            }
        }
        Ok(write::blocks(self))
    }

    /// What lies in it.
    pub fn holds(&self) -> Holds {
        let hidden = u64::from(self.params.embed && !self.params.inodes_move());
        let directories = self.dirs.iter().filter(|dir| dir.alive).count() as u64 - hidden;
        let files = self.names.len() as u64;
        let further = self.names.aliases().len() as u64;
        let tables = self.names.iter().map(|(_, file)| file.inode.home);
        let tables = tables.filter(|home| matches!(home, super::inode::Home::Table(_)));
        let mut external = tables.count() as u64;
        if !self.params.embed {
            external += directories;
        }
        let unnamed = self
            .opened
            .0
            .values()
            .filter(|open| open.unlinked.is_some());
        Holds {
            directories,
            files,
            names: files + further + directories - 1,
            embedded: directories + files - external,
            external: external + unnamed.count() as u64,
            groups: self.groups.len() as u64,
        }
    }
}

/// Reads an image, however damaged, and finds what can be found: the recovery check. An image in which nothing is wrong
/// gives no finding.
///
/// # Errors
/// No superblock, or hardly anything behind it.
pub fn recover(image: &dyn ReadBlocks) -> Result<Recovery, ImageError> {
    let mut findings = Vec::new();
    let superblock = superblock(image, &mut findings)?;
    let of = superblock.geometry.blocks;
    let blocks = image.blocks();
    if blocks < u64::from(of) / LEAST_PART {
        return Err(ImageError::Cut { blocks, of });
    }
    if blocks < of.into() {
        findings.push(Finding {
            kind: Kind::Lost,
            what: format!("the image ends: {blocks} blocks of {of} are there"),
        });
    }
    let mut scan = Scan::new(image, superblock, findings);
    scan.run();
    let (fs, findings) = build::build(scan)?;
    let holds = fs.holds();
    Ok(Recovery {
        fs,
        findings,
        holds,
    })
}

/// The superblock, or else its copy.
fn superblock(
    image: &dyn ReadBlocks,
    findings: &mut Vec<Finding>,
) -> Result<Superblock, ImageError> {
    let mut bytes = [0; BLOCK as usize];
    let mut read = |block: u32| {
        let there = u64::from(block) < image.blocks() && image.read(block, &mut bytes).is_ok();
        there.then(|| Superblock::decode(&bytes)).flatten()
    };
    let (own, copy) = (read(SUPERBLOCK), read(0));
    let mut fixed = |what: &str| {
        findings.push(Finding {
            kind: Kind::Fixed,
            what: what.to_owned(),
        });
    };
    match (own, copy) {
        (Some(own), Some(_)) => Ok(own),
        (Some(own), None) => {
            fixed("block 0: the copy of the superblock was damaged");
            Ok(own)
        }
        (None, Some(copy)) => {
            fixed("block 1: the superblock was damaged; its copy in block 0 takes its place");
            Ok(copy)
        }
        (None, None) => Err(ImageError::NoSuperblock),
    }
}
