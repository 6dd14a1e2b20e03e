//! A file system as a snapshot tells of it: the state of a driver that has just mounted it.
//!
//! A snapshot holds sizes, inodes, extents, names and perhaps free space. What it does not hold lies as `mkfs.xfs` and
//! the driver could have put it:
//!
//! | what | where it lies |
//! |---|---|
//! | headers, the log | where `mkfs.xfs` puts them |
//! | chunks of inodes | where inodes in use are; halves that may be missing are there where nobody else is |
//! | blocks of extent trees, of directories | where the snapshot says; else as the next line |
//! | trees of AGs, free lists | in blocks that are in use and nobody's; where these are too few, in free ones |
//! | what stands in trees and directories | spread evenly |
//! | names that were not collected | `i` and the inode number |
//!
//! A snapshot may be hostile: nothing in it is believed, and in the end the file system check goes over all of it.

mod groups;

use super::directories;
use super::headers::{LIST_BLOCKS, SECTOR};
use super::names::{FoundDir, FoundName};
use super::read::{Result, foreign};
use crate::image::ReadError;
use crate::xfs::btree::Tree;
use crate::xfs::chunks::Chunk;
use crate::xfs::data::blocks_until;
use crate::xfs::entries::Entries;
use crate::xfs::fork;
use crate::xfs::geometry::{BLOCK, CHUNK, CHUNK_BLOCKS, Geometry, PER_BLOCK};
use crate::xfs::inode::{self, Extents, Kind, Mapped, State};
use crate::xfs::leaf::{Key, hash_of};
use crate::xfs::owners::{Kind as Held, Owned};
use crate::xfs::params::{Features, Params};
use crate::xfs::{MOST_FILE_BLOCKS, Xfs};
use fsage_core::FileSystem as _;
use fsage_core::names::{NAME_MAX, check_name, escape, unescape};
use fsage_core::snapshot::{Inode, source_flags};
use fsage_core::{Extent, FileKind, LayoutInMemory};
use groups::{least_of_ag, make_ag, sparse_chunks, whole_chunks};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Names by directory, each with the inode that it leads to.
type NamesOf = FxHashMap<u64, Vec<(u64, Vec<u8>)>>;

/// Blocks of a half chunk of inodes, and the multiple at which it begins.
const HALF: u32 = CHUNK_BLOCKS / 2;
/// Most blocks of a directory.
const MOST_DIRECTORY_BLOCKS: u64 = 1 << 20;
/// Most blocks of a free list.
const MOST_LISTED: usize = (SECTOR - LIST_BLOCKS) / 4;
/// The owner of what `mkfs.xfs` puts where it lies.
const OF_MKFS: u64 = u64::MAX;

fn contradiction<T>(what: impl Into<String>) -> Result<T> {
    Err(ReadError::Contradiction(what.into()))
}

/// That the sizes of a snapshot are those of a file system that [`Xfs::from_snapshot`] can put together. Inodes are not
/// looked at.
///
/// # Errors
/// They are not.
pub fn can_be_begun_with(
    how: &Params,
    found: &LayoutInMemory,
) -> std::result::Result<(), ReadError> {
    sizes_of(how, found).map(drop)
}

/// Parameters with which `mkfs.xfs` makes the sizes of a snapshot, and what it makes of them.
fn params_of(how: &Params, found: &LayoutInMemory) -> Option<(Params, Geometry)> {
    let sizes = &found.geometry;
    let blocks = sizes.size_bytes / BLOCK;
    let ags = u64::from(sizes.group_count);
    // What is left for data is known with and without the headers.
    let headers = ags * u64::from(how.features.roots() + 1);
    let fixed = sizes
        .data_bytes
        .map(|bytes| blocks.saturating_sub(bytes / BLOCK));
    let mut logs = vec![how.log_bytes];
    if how.log_bytes.is_none() {
        let mut known: Vec<u64> = fixed.into_iter().collect();
        known.extend(fixed.and_then(|fixed| fixed.checked_sub(headers)));
        known.sort_by_key(|blocks| !blocks.is_multiple_of(256));
        logs.extend(known.into_iter().map(|blocks| Some(blocks * BLOCK)));
    }
    let mut candidates = logs.into_iter().flat_map(|log_bytes| {
        [None, Some(ags)].map(|ag_count| Params {
            size_bytes: sizes.size_bytes,
            ag_count,
            log_bytes,
            ..how.clone()
        })
    });
    candidates.find_map(|params| {
        let g = Geometry::mkfs(&params).ok()?;
        let log = u64::from(g.log_blocks);
        let log_is_same = fixed.is_none_or(|fixed| fixed == log || fixed == log + headers);
        let is_same = g.blocks == blocks
            && g.ag_count == sizes.group_count
            && u64::from(g.ag_blocks) * BLOCK == sizes.group_bytes
            && log_is_same;
        is_same.then_some((params, g))
    })
}

/// Sizes of a snapshot, if the model has such.
fn sizes_of(how: &Params, found: &LayoutInMemory) -> Result<(Params, Geometry)> {
    let sizes = &found.geometry;
    if sizes.fs_type != "xfs" {
        return foreign(format!("a snapshot of {}", sizes.fs_type));
    }
    if u64::from(sizes.block_bytes) != BLOCK {
        return foreign(format!("blocks of {} bytes", sizes.block_bytes));
    }
    if sizes.group_count == 0 {
        return foreign("a snapshot that does not say how its allocation groups lie");
    }
    let chunk_blocks = if how.features.is_plain() {
        CHUNK_BLOCKS
    } else {
        HALF
    };
    let chunk_bytes = u64::from(chunk_blocks) * BLOCK;
    let known = u64::from(sizes.inode_chunk_bytes);
    if known > 0 && known != chunk_bytes {
        return foreign(format!(
            "chunks of inodes of {known} bytes, which a file system with features={} has not",
            how.features.as_str()
        ));
    }
    match params_of(how, found) {
        Some(sizes) => Ok(sizes),
        None => foreign(
            "a geometry, stripes, a realtime section, or a log that `mkfs.xfs` does not make by default (`features` \
             and `log` say how it was made)",
        ),
    }
}

/// Runs of blocks of an AG, by their first block.
#[derive(Clone, Debug, Default)]
struct Runs {
    by_start: BTreeMap<u32, u32>,
    blocks: u32,
}

impl Runs {
    fn add(&mut self, start: u32, blocks: u32) {
        if blocks == 0 {
            return;
        }
        self.blocks += blocks;
        let (mut first, mut end) = (start, start + blocks);
        if let Some((&before, &length)) = self.by_start.range(..start).next_back()
            && before + length == start
        {
            first = before;
        }
        if let Some(length) = self.by_start.remove(&end) {
            end += length;
        }
        self.by_start.insert(first, end - first);
    }

    fn has(&self, start: u32, blocks: u32) -> bool {
        let run = self.by_start.range(..=start).next_back();
        run.is_some_and(|(&first, &length)| start + blocks <= first + length)
    }

    /// Takes blocks out that are there.
    fn remove(&mut self, start: u32, blocks: u32) {
        let Some((&first, &length)) = self.by_start.range(..=start).next_back() else {
            return;
        };
        self.blocks -= blocks;
        let (end, last) = (start + blocks, first + length);
        if start > first {
            self.by_start.insert(first, start - first);
        } else {
            self.by_start.remove(&first);
        }
        if end < last {
            self.by_start.insert(end, last - end);
        }
    }

    /// Takes the first block at or behind one, or else the first.
    fn take(&mut self, goal: u32) -> Option<u32> {
        let within = self.has(goal, 1).then_some(goal);
        let behind = || self.by_start.range(goal..).next().map(|(start, _)| *start);
        let first = || self.by_start.keys().next().copied();
        let start = within.or_else(behind).or_else(first)?;
        self.remove(start, 1);
        Some(start)
    }

    /// Takes the first block of the longest run, so that no more runs come to be.
    fn take_of_longest(&mut self) -> Option<u32> {
        let mut longest = (0, 0);
        for (&start, &blocks) in &self.by_start {
            if blocks > longest.1 {
                longest = (start, blocks);
            }
        }
        let (start, blocks) = longest;
        (blocks > 0).then(|| self.remove(start, 1))?;
        Some(start)
    }
}

/// An inode while its file system is put together.
struct Part {
    ino: u64,
    slot: u32,
    extents: Vec<inode::Extent>,
    /// Blocks of its tree, leaves first.
    pointers: Vec<u64>,
    /// Of a directory: whether it is known where it lies.
    lies_there: bool,
}

/// An AG while it is put together.
#[derive(Default)]
struct Group {
    /// What is in use, and whose it is.
    taken: Vec<(u32, u32, u64)>,
    free: Runs,
    /// Blocks that are in use, and of which the snapshot does not say for what.
    nobodys: Runs,
    chunks: Vec<Chunk>,
}

/// A file system while it is put together.
struct Builder<'a> {
    found: &'a LayoutInMemory,
    fs: Xfs,
    g: Geometry,
    groups: Vec<Group>,
    parts: Vec<Part>,
    /// Places of inodes among the parts.
    places: FxHashMap<u64, usize>,
}

impl Xfs {
    /// Which features a file system has, as far as its snapshot tells.
    pub fn features_of(found: &LayoutInMemory) -> Features {
        let whole_chunk = u64::from(CHUNK_BLOCKS) * BLOCK;
        if u64::from(found.geometry.inode_chunk_bytes) == whole_chunk {
            return Features::Plain;
        }
        let of_mkfs = |features: &Features| {
            let how = Params {
                features: *features,
                ..Params::default()
            };
            params_of(&how, found).is_some_and(|(params, _)| params.log_bytes.is_none())
        };
        let mut candidates = [Features::Default, Features::Rmapbt].into_iter();
        candidates.find(of_mkfs).unwrap_or(Features::Default)
    }

    /// Puts together what a snapshot tells of. Sizes are those of the snapshot; features, what the driver does, and
    /// what the snapshot does not know, is as `how` says. Files and directories have ids of their own, from 2^60 on.
    ///
    /// # Errors
    /// It is none of an XFS, lacks what is needed, or contradicts itself or what `mkfs.xfs` does; or has what the model
    /// does not have.
    pub fn from_snapshot(
        how: &Params,
        found: &LayoutInMemory,
    ) -> std::result::Result<Xfs, ReadError> {
        let mut builder = Builder::new(how, found)?;
        builder.find_parts()?;
        builder.compare_free()?;
        builder.make_chunks()?;
        let dirs = builder.fill_directories()?;
        builder.make_trees()?;
        let mut fs = builder.with_groups()?;
        let led = fs.lead_names(&fs.slots(), dirs);
        led.map_err(|error| match error {
            ReadError::Damaged { what, .. } => ReadError::Contradiction(what),
            error => error,
        })?;
        fs.mount();
        match fs.check() {
            Ok(()) => Ok(fs),
            Err(inconsistency) => contradiction(inconsistency.to_string()),
        }
    }
}

impl<'a> Builder<'a> {
    fn new(how: &Params, found: &'a LayoutInMemory) -> Result<Builder<'a>> {
        let (params, g) = sizes_of(how, found)?;
        let fresh = Xfs::new(params);
        let mut fs = fresh.or_else(|error| foreign(error.to_string()))?;
        fs.inodes.clear();
        fs.dirs.clear();
        let mut groups: Vec<Group> = Vec::new();
        for ag in 0..g.ag_count {
            let mut taken = vec![(0, 1, OF_MKFS)];
            taken.extend(g.references().map(|block| (block, 1, OF_MKFS)));
            if ag == g.log_ag {
                taken.push((g.log_start, g.log_blocks, OF_MKFS));
            }
            groups.push(Group {
                taken,
                ..Group::default()
            });
        }
        Ok(Builder {
            found,
            fs,
            g,
            groups,
            parts: Vec::new(),
            places: FxHashMap::default(),
        })
    }

    /// Gives every inode its slot, and converts its extents.
    fn find_parts(&mut self) -> Result<()> {
        let found = self.found;
        let root = self.g.root_ino();
        for inode in &found.inodes {
            let ino = inode.ino;
            if inode.source_flags & source_flags::SHARED != 0 {
                return foreign(format!("inode {ino}, with shared extents"));
            }
            let (ag, number) = self.g.ag_of_inode(ino);
            let is_there = ag < self.g.ag_count && number / PER_BLOCK < self.g.ag_length(ag);
            if !is_there || ino == root + 1 || ino == root + 2 {
                return contradiction(format!("inode {ino}, which no file of it can have"));
            }
            if self.places.insert(ino, self.parts.len()).is_some() {
                return contradiction(format!("inode {ino} is there twice"));
            }
            let kind = match inode.kind {
                FileKind::Directory => Kind::Directory,
                FileKind::Symlink => Kind::Symlink,
                _ => Kind::File,
            };
            if inode.size_bytes > MOST_FILE_BLOCKS * BLOCK {
                return contradiction(format!("inode {ino} has {} bytes", inode.size_bytes));
            }
            let mut part = self.converted(inode)?;
            part.slot = self.fs.keep_inode(ino, kind);
            let own = &mut self.fs.inodes[part.slot as usize];
            (own.size, own.disk_size) = (inode.size_bytes, inode.size_bytes);
            self.parts.push(part);
        }
        let root_kind = self.places.get(&root).map(|&at| {
            let slot = self.parts[at].slot;
            self.fs.inodes[slot as usize].kind
        });
        match root_kind {
            Some(Kind::Directory) => Ok(()),
            Some(_) => foreign(format!("inode {root} that is no directory")),
            None => foreign(format!(
                "a snapshot of a part of a file system: inode {root}, its root, is not in it"
            )),
        }
    }

    /// The extents of an inode in blocks, which it has from now on.
    fn converted(&mut self, inode: &Inode) -> Result<Part> {
        let g = self.g;
        let ino = inode.ino;
        let mut part = Part {
            ino,
            slot: 0,
            extents: Vec::new(),
            pointers: Vec::new(),
            lies_there: inode.extents.is_some(),
        };
        let Some(extents) = &inode.extents else {
            let is_empty = inode.size_bytes == 0 || inode.alloc_bytes == Some(0);
            if inode.kind == FileKind::Regular && !is_empty {
                return foreign(format!("inode {ino}, whose extents were not collected"));
            }
            return Ok(part);
        };
        let mut end = 0;
        for extent in extents {
            let (first, blocks) = (extent.physical_bytes / BLOCK, extent.length_bytes / BLOCK);
            let (ag, start) = (
                first / u64::from(g.ag_blocks),
                first % u64::from(g.ag_blocks),
            );
            let is_whole = (extent.physical_bytes | extent.length_bytes).is_multiple_of(BLOCK);
            let fits = is_whole
                && blocks > 0
                && ag < g.ag_count.into()
                && blocks <= u64::from(g.ag_length(ag as u32)).saturating_sub(start);
            if !fits {
                return contradiction(format!("inode {ino} has an extent that lies outside"));
            }
            let (ag, start, blocks) = (ag as u32, start as u32, blocks as u32);
            self.groups[ag as usize].taken.push((start, blocks, ino));
            let fsb = g.fsb(ag, start);
            if extent.is_pointers() {
                part.pointers.extend(fsb..fsb + u64::from(blocks));
                continue;
            }
            if extent.flags & !Extent::UNWRITTEN != 0 {
                let flags = extent.flags;
                return foreign(format!("inode {ino}, with an extent of flags {flags:#x}"));
            }
            let logical = extent.logical_bytes / BLOCK;
            let behind = logical + u64::from(blocks);
            let is_behind = logical >= end && extent.logical_bytes.is_multiple_of(BLOCK);
            if !is_behind || behind > MOST_FILE_BLOCKS {
                return contradiction(format!("inode {ino} has extents that overlap in the file"));
            }
            end = behind;
            let is_unwritten = extent.flags & Extent::UNWRITTEN != 0;
            if is_unwritten && inode.kind == FileKind::Directory {
                return contradiction(format!("directory {ino} has blocks that were not written"));
            }
            let mut done = 0;
            while done < blocks {
                let length = (blocks - done).min(inode::MOST_BLOCKS);
                let (logical, start) = (logical as u32 + done, fsb + u64::from(done));
                let own = inode::Extent::real(logical, start, length, !is_unwritten);
                part.extents.push(own);
                done += length;
            }
        }
        Ok(part)
    }

    /// Compares with each other what is in use and what is free, and finds what is neither.
    fn compare_free(&mut self) -> Result<()> {
        let g = self.g;
        let mut free: Vec<Vec<(u32, u32)>> = vec![Vec::new(); g.ag_count as usize];
        let blocks = |bytes: u64| (bytes / BLOCK).min(g.blocks);
        for run in self.found.free.iter().flatten() {
            let mut start = blocks(run.start_bytes.saturating_add(BLOCK - 1));
            let end = blocks(run.start_bytes.saturating_add(run.length_bytes));
            while start < end {
                let ag = start / u64::from(g.ag_blocks);
                let base = ag * u64::from(g.ag_blocks);
                let to = end.min(base + u64::from(g.ag_blocks));
                free[ag as usize].push(((start - base) as u32, (to - start) as u32));
                start = to;
            }
        }
        for (ag, (group, mut free)) in (0..).zip(self.groups.iter_mut().zip(free)) {
            group.taken.sort_unstable();
            free.sort_unstable();
            let first = g.absolute(g.fsb(ag, 0));
            let mut end = 0;
            let mut owner = OF_MKFS;
            let of_mkfs = "headers and the log; `features` and `log` say how they lie";
            let whose = |ino: u64| match ino {
                OF_MKFS => format!("where `mkfs.xfs` puts {of_mkfs}"),
                ino => format!("in inode {ino}"),
            };
            for &(start, blocks, ino) in &group.taken {
                if start < end {
                    let block = first + u64::from(start);
                    return contradiction(match owner.min(ino) {
                        _ if owner != OF_MKFS && ino != OF_MKFS => {
                            format!("block {block} of inode {ino} belongs to two places")
                        }
                        of => format!("block {block} of inode {of} lies {}", whose(OF_MKFS)),
                    });
                }
                (end, owner) = (start + blocks, ino);
            }
            let mut free = free.into_iter().peekable();
            let mut at = 0;
            let length = g.ag_length(ag);
            for &(start, blocks, ino) in group.taken.iter().chain([&(length, 0, OF_MKFS)]) {
                while let Some(&(from, of_run)) = free.peek().filter(|run| run.0 < start + blocks) {
                    if from < at || from + of_run > start {
                        let block = first + u64::from(from.max(start));
                        let owner = whose(ino);
                        return contradiction(if from < at {
                            format!("block {} is free twice", first + u64::from(from))
                        } else {
                            format!("block {block} is free, and lies {owner}")
                        });
                    }
                    group.nobodys.add(at, from - at);
                    group.free.add(from, of_run);
                    at = from + of_run;
                    free.next();
                }
                group.nobodys.add(at, start - at);
                at = start + blocks;
            }
        }
        Ok(())
    }

    /// Makes the chunks in which inodes are in use.
    fn make_chunks(&mut self) -> Result<()> {
        let g = self.g;
        let root = g.root_ino();
        let mut used: Vec<Vec<u32>> = vec![Vec::new(); g.ag_count as usize];
        let all = self.parts.iter().map(|part| part.ino);
        for ino in all.chain([root + 1, root + 2]) {
            let (ag, number) = g.ag_of_inode(ino);
            used[ag as usize].push(number);
        }
        let is_known = self.found.free.is_some();
        for (ag, mut used) in (0..).zip(used) {
            used.sort_unstable();
            let group = &mut self.groups[ag as usize];
            let starts = if g.features.is_plain() {
                whole_chunks(&g, ag, &used, &group.nobodys)
            } else {
                sparse_chunks(&g, &used, group)
            };
            let starts = starts.or_else(|number| {
                let ino = g.ino(ag, number);
                contradiction(format!(
                    "inode {ino} lies in blocks that are free, or a file's"
                ))
            })?;
            let mut used = used.into_iter().peekable();
            for (first, holes) in starts {
                let mut chunk = Chunk {
                    first,
                    holes,
                    free: !0,
                };
                while let Some(number) = used.next_if(|number| *number < first + CHUNK) {
                    chunk.free &= !(1 << (number - first));
                }
                for (start, blocks) in chunk.runs() {
                    group.nobodys.remove(start, blocks);
                }
                group.chunks.push(chunk);
            }
            if !is_known {
                // What is nobody's is free, but for the first blocks of trees.
                let mut rest = std::mem::take(&mut group.nobodys);
                for block in 1..=g.features.roots() {
                    if rest.has(block, 1) {
                        rest.remove(block, 1);
                        group.nobodys.add(block, 1);
                    }
                }
                group.free = rest;
            }
        }
        Ok(())
    }

    /// Takes a block for an inode, near another one: of those that are nobody's, if the trees of the AG do not need all
    /// of them, else a free one.
    fn take_near(&mut self, goal: u64) -> Result<u64> {
        let g = self.g;
        let first = g.ag_of(goal).min(g.ag_count - 1);
        let goal = g.block_of(goal);
        for ag in (first..g.ag_count).chain(0..first) {
            let group = &mut self.groups[ag as usize];
            let spare = group.nobodys.blocks as usize > least_of_ag(&g, group) + 4;
            let nobodys = spare.then(|| group.nobodys.take(goal)).flatten();
            if let Some(block) = nobodys.or_else(|| group.free.take_of_longest()) {
                return Ok(g.fsb(ag, block));
            }
        }
        contradiction("no block is free for what the snapshot leaves out")
    }

    /// A block is not needed where the snapshot says that it is used.
    fn leave(&mut self, block: u64) {
        let (ag, start) = (self.g.ag_of(block), self.g.block_of(block));
        self.groups[ag as usize].nobodys.add(start, 1);
    }

    /// Every name with its directory and the inode that it leads to.
    fn names(&self) -> Result<NamesOf> {
        let found = self.found;
        let root = self.g.root_ino();
        let mut names = Vec::with_capacity(found.inodes.len());
        for inode in found.inodes.iter().filter(|inode| inode.ino != root) {
            let name = match inode.path.as_deref().map(|path| unescape(last_of(path))) {
                Some(Some(name)) => name.into_vec(),
                Some(None) => {
                    return contradiction(format!("inode {} has a path that is none", inode.ino));
                }
                None => format!("i{}", inode.ino).into_bytes(),
            };
            names.push((inode.parent_ino.unwrap_or(root), name, inode.ino));
        }
        for further in &found.names {
            let Some(name) = unescape(&further.name) else {
                return contradiction(format!("inode {} has a name that is none", further.ino));
            };
            names.push((further.parent_ino, name.into_vec(), further.ino));
        }
        names.sort_unstable();
        let twice =
            { names.windows(2) }.find(|pair| (pair[0].0, &pair[0].1) == (pair[1].0, &pair[1].1));
        if let Some(twice) = twice {
            let (parent, name) = (twice[0].0, escape(&twice[0].1));
            return contradiction(format!("directory {parent} has the name `{name}` twice"));
        }
        names.sort_by_key(|(_, _, ino)| *ino);
        let kind = |ino: u64| {
            let part = &self.parts[*self.places.get(&ino)?];
            Some(self.fs.inodes[part.slot as usize].kind)
        };
        let mut by_directory: FxHashMap<u64, Vec<(u64, Vec<u8>)>> = FxHashMap::default();
        for (parent, name, ino) in names {
            if check_name(&name).is_err() || name.len() > NAME_MAX {
                return contradiction(format!("inode {ino} has a name that none has"));
            }
            let (Some(above), Some(_)) = (kind(parent), kind(ino)) else {
                return contradiction(format!(
                    "a name leads from inode {parent} to {ino}, and one is not there"
                ));
            };
            if above != Kind::Directory {
                return contradiction(format!(
                    "inode {ino} lies in inode {parent}, which is no directory"
                ));
            }
            by_directory.entry(parent).or_default().push((ino, name));
        }
        Ok(by_directory)
    }

    /// Gives directories what stands in them. Where the snapshot does not say where they lie, and where names are
    /// longer than they were, as hidden ones may be, they take blocks.
    fn fill_directories(&mut self) -> Result<Vec<(u32, FoundDir)>> {
        let root = self.g.root_ino();
        let mut names = self.names()?;
        let mut dirs = Vec::new();
        let found = self.found;
        for (at, inode) in found.inodes.iter().enumerate() {
            if inode.kind != FileKind::Directory {
                continue;
            }
            let part = &self.parts[at];
            let (ino, slot) = (part.ino, part.slot);
            let own = names.remove(&ino).unwrap_or_default();
            let keys = own.iter().map(|(_, name)| Key {
                hash: hash_of(name),
                length: name.len() as u8,
            });
            let keys: Vec<Key> = keys.collect();
            let room = if ino == root {
                directories::ROOT_ROOM
            } else {
                directories::ROOM
            };
            let blocks: u64 = { part.extents.iter() }
                .map(|extent| u64::from(extent.blocks))
                .sum();
            if blocks.max(inode.size_bytes / BLOCK) > MOST_DIRECTORY_BLOCKS {
                return contradiction(format!("directory {ino} has {blocks} blocks"));
            }
            let filled = if part.lies_there {
                let numbers = part.extents.iter();
                let numbers = numbers.flat_map(|extent| extent.logical..extent.end());
                let numbers: Vec<u32> = numbers.collect();
                Entries::filled(&keys, &numbers, room)
            } else {
                Entries::of_size(&keys, inode.size_bytes, room)
            };
            let (entries, addresses) = filled.unwrap_or_else(|| Entries::grown(&keys, room));
            self.place_directory(at, &entries.numbers())?;
            self.fs.inodes[slot as usize].size = entries.size_bytes();
            let names = own.into_iter().zip(addresses);
            let names = names.map(|((ino, bytes), address)| FoundName {
                address,
                bytes,
                ino,
                kind: 0,
            });
            let names = names.collect();
            let parent = if ino == root {
                root
            } else {
                inode.parent_ino.unwrap_or(root)
            };
            let dir = FoundDir {
                entries,
                parent,
                names,
            };
            dirs.push((slot, dir));
        }
        Ok(dirs)
    }

    /// Gives a directory the blocks with these numbers, those that it has and others near them.
    fn place_directory(&mut self, at: usize, numbers: &[u32]) -> Result<()> {
        let old = std::mem::take(&mut self.parts[at].extents);
        let mut has: BTreeMap<u32, u64> = BTreeMap::new();
        for extent in &old {
            let blocks = (extent.logical..extent.end()).zip(extent.start()..);
            has.extend(blocks);
        }
        if has.keys().copied().eq(numbers.iter().copied()) {
            self.parts[at].extents = old;
            return Ok(());
        }
        let mut goal = self.parts[at].ino / u64::from(PER_BLOCK);
        let mut new: Vec<inode::Extent> = Vec::new();
        for &number in numbers {
            let block = match has.remove(&number) {
                Some(block) => block,
                None => self.take_near(goal)?,
            };
            goal = block + 1;
            let extent = inode::Extent::real(number, block, 1, true);
            match new.last_mut() {
                Some(last) if last.is_continued_by(&extent) => *last = last.longer(1),
                _ => new.push(extent),
            }
        }
        for block in has.into_values() {
            self.leave(block);
        }
        self.parts[at].extents = new;
        Ok(())
    }

    /// Gives every inode its extents, and their tree.
    fn make_trees(&mut self) -> Result<()> {
        // A kernel does not say where directories lie.
        let root = self.places[&self.g.root_ino()];
        let is_of_image = self.parts[root].lies_there;
        for at in 0..self.parts.len() {
            let slot = self.parts[at].slot as usize;
            let inode = &self.fs.inodes[slot];
            let ino = inode.ino;
            let is_link = inode.kind == Kind::Symlink
                && (directories::SHORT_LINK + 1..=directories::MOST_LINK).contains(&inode.size);
            if is_link && self.parts[at].extents.is_empty() {
                let block = self.take_near(ino / u64::from(PER_BLOCK))?;
                self.parts[at].extents = vec![inode::Extent::real(0, block, 1, true)];
            }
            let extents = std::mem::take(&mut self.parts[at].extents);
            let mut blocks = std::mem::take(&mut self.parts[at].pointers);
            let (most, most_in_root) = fork::room(ino, self.g.root_ino());
            let mut used = 0;
            if extents.len() > most {
                let records: Vec<Mapped> = { extents.iter() }
                    .map(|extent| Mapped(extent.logical))
                    .collect();
                let least = Tree::<Mapped>::least_blocks(records.len(), Some(most_in_root));
                let goal = extents[0].start();
                while blocks.len() < least {
                    blocks.push(self.take_near(goal)?);
                }
                let spread = Tree::spread(&records, &blocks, Some(most_in_root));
                let Some((tree, taken)) = spread else {
                    return contradiction(format!("inode {ino} has no room for its extents"));
                };
                used = taken;
                self.fs.inodes[slot].tree = Some(Box::new(tree));
            }
            for block in blocks.split_off(used) {
                self.leave(block);
            }
            let inode = &mut self.fs.inodes[slot];
            inode.extents = Extents::of(extents);
            // What was unmounted keeps behind its end only what was set aside there.
            let ends_behind = inode.extents.end() > blocks_until(inode.size);
            inode.flags.is_preallocated = inode.kind == Kind::File && ends_behind && is_of_image;
        }
        Ok(())
    }

    /// The file system with its AGs.
    fn with_groups(mut self) -> Result<Xfs> {
        let g = self.g;
        let mut owned = if g.features.has_owners() {
            self.owned_by_inodes()
        } else {
            Vec::new()
        };
        for ag in 0..g.ag_count {
            let group = &mut self.groups[ag as usize];
            let by_inodes = owned.get_mut(ag as usize).map(std::mem::take);
            let made = make_ag(&g, ag, group, &by_inodes.unwrap_or_default());
            let Some((space, inodes)) = made else {
                return contradiction(format!(
                    "no block is free for the trees of allocation group {ag}"
                ));
            };
            (self.fs.space.ags[ag as usize], self.fs.chunks[ag as usize]) = (space, inodes);
        }
        Ok(self.fs)
    }

    /// What inodes own, by AG.
    fn owned_by_inodes(&self) -> Vec<Vec<Owned>> {
        let g = self.g;
        let mut owned = vec![Vec::new(); g.ag_count as usize];
        for part in &self.parts {
            let inode = &self.fs.inodes[part.slot as usize];
            let owner = inode.ino as i64;
            for extent in inode.extents.iter() {
                owned[g.ag_of(extent.start()) as usize].push(Owned {
                    start: g.block_of(extent.start()),
                    blocks: extent.blocks,
                    owner,
                    offset: extent.logical,
                    kind: match extent.state() {
                        State::Unwritten => Held::Unwritten,
                        _ => Held::Written,
                    },
                });
            }
            for block in inode.tree.iter().flat_map(|tree| tree.all_blocks()) {
                owned[g.ag_of(block) as usize].push(Owned {
                    start: g.block_of(block),
                    blocks: 1,
                    owner,
                    offset: 0,
                    kind: Held::Tree,
                });
            }
        }
        owned
    }
}

/// The last component of a path.
fn last_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
