//! The file system as it lies on a disk that the kernel mounts.
//!
//! Written is what `mkfs.xfs` of xfsprogs 6.1 and the driver would have written, had the same blocks been allocated by
//! them: superblocks, headers and trees of AGs, inodes, trees of extents, directories, an empty log, all with
//! checksums. Contents of files are not: who writes them finds their places in the layout.
//!
//! | where | what |
//! |---|---|
//! | `fields` | numbers in bytes, checksums |
//! | `headers` | superblocks, headers of AGs, the log |
//! | `trees` | blocks of trees |
//! | `inode` | inodes |
//! | `directory` | blocks of directories |
//! | `read` | the way back |
//! | `snapshot` | the way from a snapshot |
//!
//! Spec: `docs/spec/xfs.md`. Source: `xfs_format.h` and `xfs_da_format.h` of Linux 6.18.

mod directory;
mod fields;
mod headers;
mod inode;
mod names;
mod read;
mod snapshot;
mod trees;

pub use read::can_be_read;
pub use snapshot::can_be_begun_with;

use super::geometry::{BLOCK, CHUNK, PER_BLOCK};
use super::inode::{Inode, State};
use super::{Xfs, directory as directories};
use crate::image::{Kind, Mountable, Options, WriteAt};
use crate::name_table::Name;
use fields::{put, put32, put64, seal};
use fsage_core::FileId;
use fsage_core::operations::{Model as _, ROOT};
use inode::{Fields, RawInode};
use std::io;
use trees::Stored as _;

const BYTES: usize = BLOCK as usize;
type Block = [u8; BYTES];

/// A name: its directory, where it stands there, and what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    dir: u32,
    address: u32,
    /// Slot of the inode.
    inode: u32,
    name: Name,
}

/// An image does not have room for what the model has.
fn unsupported<T>(what: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// A symbolic link that data was written to is no link to a kernel: it is a file.
fn kind_of(inode: &Inode) -> Kind {
    match inode.kind {
        super::inode::Kind::File => Kind::Regular,
        super::inode::Kind::Directory => Kind::Directory,
        super::inode::Kind::Symlink => match (inode.size, &inode.extents[..]) {
            (1..=directories::SHORT_LINK, []) => Kind::ShortLink,
            (LONG_LINK..=directories::MOST_LINK, [only])
                if only.state() == State::Written && (only.logical, only.blocks) == (0, 1) =>
            {
                Kind::LongLink
            }
            _ => Kind::Regular,
        },
    }
}

/// What the block of a symbolic link begins with, and where it has its checksum.
const LINK_MAGIC: [u8; 4] = *b"XSLM";
const LINK_SUM: usize = 12;

const LONG_LINK: u64 = directories::SHORT_LINK + 1;

/// Writes a model.
struct Writer<'a> {
    fs: &'a Xfs,
    options: &'a Options<'a>,
    /// All names, by directory and place.
    named: Vec<Named>,
    /// Directories in each directory.
    subdirectories: Vec<u32>,
}

impl Mountable for Xfs {
    fn image_bytes(&self) -> u64 {
        self.geometry.blocks * BLOCK
    }

    fn uuid(&self) -> [u8; 16] {
        *b"fsage\0\x40\0\x80xfs\0\0\0\0"
    }

    fn write_image(&mut self, options: &Options<'_>, to: &mut dyn WriteAt) -> io::Result<()> {
        self.remount();
        let writer = Writer::new(self, options);
        writer.log(to)?;
        writer.trees(to)?;
        writer.inodes(to)?;
        writer.headers(to)
    }

    fn visit_names(&self, visit: &mut dyn FnMut(&crate::image::Named<'_>)) {
        for named in self.all_named() {
            let inode = &self.inodes[named.inode as usize];
            let parent = self.dirs[named.dir as usize].inode;
            self.name_table.with_bytes(named.name, |name| {
                visit(&crate::image::Named {
                    parent_ino: self.inodes[parent as usize].ino,
                    name,
                    ino: inode.ino,
                    kind: kind_of(inode).file_kind(),
                    file: self.first_name(inode),
                });
            });
        }
    }
}

impl Xfs {
    fn first_name(&self, inode: &Inode) -> Option<FileId> {
        (inode.file != u32::MAX).then(|| FileId(self.names.file(inode.file).id))
    }

    fn all_named(&self) -> Vec<Named> {
        let files = self.names.iter().map(|(_, file)| Named {
            dir: file.dir,
            address: file.entry.chunk(),
            inode: file.inode,
            name: self.name_table.name_of(file.id),
        });
        let further = self.names.aliases().into_iter().map(|(id, alias)| Named {
            dir: alias.dir,
            address: alias.chunk,
            inode: self.inode_of(alias.file),
            name: self.name_table.name_of(id),
        });
        let dirs = self.dirs.iter().skip(1).filter(|dir| dir.alive);
        let dirs = dirs.map(|dir| Named {
            dir: dir.parent,
            address: dir.address,
            inode: dir.inode,
            name: dir.name,
        });
        let mut all: Vec<Named> = files.chain(further).chain(dirs).collect();
        all.sort_unstable();
        all
    }

    /// Inodes in use, ascending: number, slot, and slot of the directory if it is one.
    fn inodes_by_number(&self) -> Vec<(u64, u32, Option<u32>)> {
        let dirs = (0..).zip(&self.dirs).filter(|(_, dir)| dir.alive);
        let dirs = dirs.map(|(at, dir)| (dir.inode, Some(at)));
        let files = self.names.iter().map(|(_, file)| (file.inode, None));
        let numbered = dirs.chain(files);
        let numbered = numbered.map(|(slot, dir)| (self.inodes[slot as usize].ino, slot, dir));
        let mut all: Vec<_> = numbered.collect();
        all.sort_unstable();
        all
    }
}

impl<'a> Writer<'a> {
    fn new(fs: &'a Xfs, options: &'a Options<'a>) -> Writer<'a> {
        let mut subdirectories = vec![0; fs.dirs.len()];
        for dir in fs.dirs.iter().skip(1).filter(|dir| dir.alive) {
            subdirectories[dir.parent as usize] += 1;
        }
        Writer {
            fs,
            options,
            named: fs.all_named(),
            subdirectories,
        }
    }

    /// Writes blocks in a row, from one on by AG and block in AG bits.
    fn block(&self, block: u64, bytes: &[u8], to: &mut dyn WriteAt) -> io::Result<()> {
        to.write_at(self.fs.geometry.absolute(block) * BLOCK, bytes)
    }

    fn kind(&self, inode: u32) -> Kind {
        kind_of(&self.fs.inodes[inode as usize])
    }

    /// Writes the trees of all AGs.
    fn trees(&self, to: &mut dyn WriteAt) -> io::Result<()> {
        for (ag, (of, inodes)) in (0..).zip(self.fs.space.ags.iter().zip(&self.fs.chunks)) {
            self.tree((ag, super::space::ByStart::MAGIC), &of.by_start, to)?;
            self.tree((ag, super::space::ByLength::MAGIC), &of.by_length, to)?;
            self.tree((ag, super::chunks::Chunk::MAGIC), &inodes.chunks, to)?;
            if let Some(tree) = &inodes.with_free {
                self.tree((ag, trees::FREE_INODES), tree, to)?;
            }
            if let Some(tree) = &of.owners {
                self.tree((ag, super::owners::Owned::MAGIC), tree, to)?;
            }
            self.references(ag, to)?;
        }
        Ok(())
    }

    /// Writes all chunks of inodes, after what belongs to each inode.
    fn inodes(&self, to: &mut dyn WriteAt) -> io::Result<()> {
        let g = &self.fs.geometry;
        let own = g.root_ino() + 1..=g.root_ino() + 2;
        let mut all = self.fs.inodes_by_number().into_iter().peekable();
        for (ag, inodes) in (0..).zip(&self.fs.chunks) {
            for chunk in inodes.chunks.iter() {
                for (start, blocks) in chunk.runs() {
                    let mut bytes = Vec::with_capacity((CHUNK / PER_BLOCK) as usize * BYTES);
                    for number in start * PER_BLOCK..(start + blocks) * PER_BLOCK {
                        let ino = g.ino(ag, number);
                        let used = all.next_if(|(next, ..)| *next == ino);
                        bytes.extend_from_slice(&match used {
                            Some((_, slot, dir)) => self.one(slot, dir, to)?,
                            None if own.contains(&ino) => self.realtime_inode(ino),
                            None => self.free_inode(ino),
                        });
                    }
                    self.block(g.fsb(ag, start), &bytes, to)?;
                }
            }
        }
        Ok(())
    }

    /// An inode, after what belongs to it was written.
    fn one(&self, slot: u32, dir: Option<u32>, to: &mut dyn WriteAt) -> io::Result<RawInode> {
        let fs = self.fs;
        let inode = &fs.inodes[slot as usize];
        let kind = kind_of(inode);
        let attributes = self.options.facts.attributes(inode.ino, kind.file_kind());
        let real = || inode.extents.iter().filter(|extent| extent.is_real());
        let blocks: u64 = real().map(|extent| u64::from(extent.blocks)).sum();
        let is_link = matches!(kind, Kind::ShortLink | Kind::LongLink);
        let room = if dir == Some(ROOT) || is_link {
            directories::ROOT_ROOM
        } else {
            directories::ROOM
        };
        let mut fields = Fields {
            mode: kind.mode() | attributes.permissions & 0o7777,
            attributes,
            links: 1,
            size_bytes: inode.size,
            blocks: blocks + inode.tree.as_ref().map_or(0, |tree| tree.blocks().into()),
            extents: real().count() as u32,
            format: inode::EXTENTS,
            flags: if inode.flags.is_preallocated {
                inode::PREALLOCATED
            } else {
                0
            },
            data: vec![0; room],
        };
        if let Some(tree) = &inode.tree {
            fields.format = inode::TREE;
            trees::put_root(&mut fields.data, tree);
            self.extent_tree(inode, to)?;
        } else {
            trees::put_extents(&mut fields.data, real());
        }
        if let Some(at) = dir {
            fields.links = 2 + self.subdirectories[at as usize];
            let named = self.named_in(at);
            let dir = &fs.dirs[at as usize];
            if let super::entries::Form::Short(_) = dir.entries.form {
                let short = self.short_directory(dir, named, room)?;
                fields.format = inode::LOCAL;
                fields.size_bytes = short.len() as u64;
                fields.data[..short.len()].copy_from_slice(&short);
            } else {
                self.directory(dir, named, to)?;
            }
        } else if inode.file != u32::MAX {
            fields.links = fs.names.links(inode.file);
        }
        if is_link {
            let target = self.options.target(fs.first_name(inode), inode.size);
            if kind == Kind::ShortLink {
                fields.format = inode::LOCAL;
                fields.data[..target.len()].copy_from_slice(&target);
            } else {
                self.link_block(inode, &target, to)?;
            }
        }
        Ok(self.inode(inode.ino, &fields))
    }

    /// Names in a directory.
    fn named_in(&self, dir: u32) -> &[Named] {
        let from = self.named.partition_point(|named| named.dir < dir);
        let length = self.named[from..].partition_point(|named| named.dir == dir);
        &self.named[from..from + length]
    }

    /// Writes where a symbolic link leads that does not fit into its inode.
    fn link_block(&self, inode: &Inode, target: &[u8], to: &mut dyn WriteAt) -> io::Result<()> {
        const HEADER: usize = 56;
        let block = inode.extents[0].start();
        let mut b = [0; BYTES];
        put(&mut b, 0, LINK_MAGIC);
        put32(&mut b, 8, target.len() as u32);
        put(&mut b, 16, self.options.uuid);
        put64(&mut b, 32, inode.ino);
        put64(&mut b, 40, self.fs.geometry.sector(block));
        b[HEADER..HEADER + target.len()].copy_from_slice(target);
        seal(&mut b, LINK_SUM);
        self.block(block, &b, to)
    }
}
