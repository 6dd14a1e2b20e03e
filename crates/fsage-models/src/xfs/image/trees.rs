//! Blocks of trees: of free space, inodes, owners and references in an AG, and of extents of an inode.

use super::fields::{put, put16, put32, put64, seal, u16_at, u32_at, u64_at};
use super::{BYTES, Block, Writer};
use crate::image::WriteAt;
use crate::xfs::btree::{Child, Held, Loaded, Record, Tree};
use crate::xfs::chunks::Chunk;
use crate::xfs::geometry::PER_BLOCK;
use crate::xfs::inode::{Extent, Inode, MOST_BLOCKS, Mapped, State};
use crate::xfs::owners::{Kind, Owned};
use crate::xfs::space::{ByLength, ByStart};
use std::io;

/// Where records or keys begin in a block of a tree of an AG, and of a tree of extents.
pub(super) const SHORT_HEADER: usize = 56;
pub(super) const LONG_HEADER: usize = 72;
pub(super) const SHORT_SUM: usize = 52;
pub(super) const LONG_SUM: usize = 64;
/// Of the tree of references, which is empty, and of that of extents.
pub(super) const REFERENCES: [u8; 4] = *b"R3FC";
pub(super) const EXTENTS: [u8; 4] = *b"BMA3";
/// Bytes of a stored extent.
pub(super) const EXTENT: usize = 16;
/// Levels and entries of a root in an inode.
pub(super) const ROOT_HEADER: usize = 4;

/// Bits of the offset of an owner.
pub(super) const TREE_BLOCK: u64 = 1 << 62;
pub(super) const UNWRITTEN: u64 = 1 << 61;

/// A record as it is stored in a tree of an AG.
pub(super) trait Stored: Record<Block = u32> {
    const MAGIC: [u8; 4];
    const RECORD: usize;
    const KEY: usize;

    fn put(&self, b: &mut [u8], is_sparse: bool);

    /// The key of a block with these records.
    fn put_key(b: &mut [u8], first: &Self, last: &Self);

    /// Reads a record that an AG of so many blocks may have.
    fn get(b: &[u8], is_sparse: bool, length: u32) -> Option<Self>;

    /// Reads a key.
    fn get_key(b: &[u8]) -> Self::Key;
}

fn put_run(b: &mut [u8], start: u32, blocks: u32) {
    put32(b, 0, start);
    put32(b, 4, blocks);
}

/// Start and length of a run of blocks of an AG with so many.
fn run(b: &[u8], length: u32) -> Option<(u32, u32)> {
    let (start, blocks) = (u32_at(b, 0), u32_at(b, 4));
    let end = start.checked_add(blocks)?;
    (blocks > 0 && end <= length).then_some((start, blocks))
}

/// A run of free space: both trees store it in the same way, and as a key too.
trait FreeRun: Record<Block = u32> + From<ByStart> + Into<ByStart> {
    const MAGIC: [u8; 4];
}

impl FreeRun for ByStart {
    const MAGIC: [u8; 4] = *b"AB3B";
}

impl FreeRun for ByLength {
    const MAGIC: [u8; 4] = *b"AB3C";
}

impl<R: FreeRun> Stored for R {
    const MAGIC: [u8; 4] = R::MAGIC;
    const RECORD: usize = 8;
    const KEY: usize = 8;

    fn put(&self, b: &mut [u8], _: bool) {
        let ByStart { start, blocks } = (*self).into();
        put_run(b, start, blocks);
    }

    fn put_key(b: &mut [u8], first: &Self, _: &Self) {
        first.put(b, false);
    }

    fn get(b: &[u8], _: bool, length: u32) -> Option<Self> {
        let (start, blocks) = run(b, length)?;
        Some(ByStart { start, blocks }.into())
    }

    fn get_key(b: &[u8]) -> Self::Key {
        let (start, blocks) = (u32_at(b, 0), u32_at(b, 4));
        R::from(ByStart { start, blocks }).key()
    }
}

/// The tree of all chunks of inodes. That of chunks with free ones has another magic.
impl Stored for Chunk {
    const MAGIC: [u8; 4] = *b"IAB3";
    const RECORD: usize = 16;
    const KEY: usize = 4;

    fn put(&self, b: &mut [u8], is_sparse: bool) {
        put32(b, 0, self.first);
        if is_sparse {
            put16(b, 4, self.holes);
            b[6] = self.count() as u8;
            b[7] = self.free_count() as u8;
        } else {
            put32(b, 4, self.free_count());
        }
        put64(b, 8, self.free);
    }

    fn put_key(b: &mut [u8], first: &Self, _: &Self) {
        put32(b, 0, first.first);
    }

    fn get(b: &[u8], is_sparse: bool, length: u32) -> Option<Chunk> {
        let chunk = Chunk {
            first: u32_at(b, 0),
            holes: if is_sparse { u16_at(b, 4) } else { 0 },
            free: u64_at(b, 8),
        };
        let (count, free) = (chunk.count(), chunk.free_count());
        let is_counted = if is_sparse {
            [count, free] == [b[6], b[7]].map(u32::from)
        } else {
            free == u32_at(b, 4)
        };
        let is_inside = |&(start, blocks): &(u32, u32)| start + blocks <= length;
        let is_placed = chunk.first.is_multiple_of(PER_BLOCK) && chunk.runs().iter().all(is_inside);
        (is_counted && is_placed).then_some(chunk)
    }

    fn get_key(b: &[u8]) -> u32 {
        u32_at(b, 0)
    }
}

pub(super) const FREE_INODES: [u8; 4] = *b"FIB3";

impl Stored for Owned {
    const MAGIC: [u8; 4] = *b"RMB3";
    const RECORD: usize = 24;
    /// The lowest and the highest.
    const KEY: usize = 40;

    fn put(&self, b: &mut [u8], _: bool) {
        put_run(b, self.start, self.blocks);
        put64(b, 8, self.owner as u64);
        let flags = match self.kind {
            Kind::Written => 0,
            Kind::Unwritten => UNWRITTEN,
            Kind::Tree => TREE_BLOCK,
        };
        put64(b, 16, u64::from(self.offset) | flags);
    }

    fn put_key(b: &mut [u8], first: &Self, last: &Self) {
        // Whether blocks were written is no part of a key.
        let flags = |owned: &Owned| {
            if owned.kind == Kind::Tree {
                TREE_BLOCK
            } else {
                0
            }
        };
        put32(b, 0, first.start);
        put64(b, 4, first.owner as u64);
        put64(b, 12, u64::from(first.offset) | flags(first));
        let more = last.blocks - 1;
        let offset = u64::from(last.offset) + if last.has_offset() { more.into() } else { 0 };
        put32(b, 20, last.start + more);
        put64(b, 24, last.owner as u64);
        put64(b, 32, offset | flags(last));
    }

    fn get(b: &[u8], _: bool, length: u32) -> Option<Owned> {
        let (start, blocks) = run(b, length)?;
        let place = u64_at(b, 16);
        let kind = match place & (TREE_BLOCK | UNWRITTEN) {
            0 => Kind::Written,
            UNWRITTEN => Kind::Unwritten,
            TREE_BLOCK => Kind::Tree,
            _ => return None,
        };
        let offset = u32::try_from(place & !(TREE_BLOCK | UNWRITTEN)).ok()?;
        Some(Owned {
            start,
            blocks,
            owner: u64_at(b, 8) as i64,
            offset,
            kind,
        })
    }

    fn get_key(b: &[u8]) -> u32 {
        u32_at(b, 0)
    }
}

/// An extent that has a place: unwritten or not, in the file, on disk, length, in bits of their own.
fn put_extent(b: &mut [u8], extent: &Extent) {
    let (logical, start) = (u64::from(extent.logical), extent.start());
    let unwritten = u64::from(extent.state() == State::Unwritten);
    put64(b, 0, unwritten << 63 | logical << 9 | start >> 43);
    put64(b, 8, start << 21 | u64::from(extent.blocks));
}

/// A list of extents, as it stands in an inode or a leaf.
pub(super) fn put_extents<'a>(b: &mut [u8], extents: impl Iterator<Item = &'a Extent>) {
    for (extent, b) in extents.zip(b.chunks_exact_mut(EXTENT)) {
        put_extent(b, extent);
    }
}

/// Entries of a node of a tree of extents: keys, and behind room for all of them places.
fn put_places(b: &mut [u8], children: &[Child<Mapped>]) {
    let places = b.len() / 16 * 8;
    for (at, child) in children.iter().enumerate() {
        put64(b, at * 8, child.first.0.into());
        put64(b, places + at * 8, child.block);
    }
}

/// The root of the tree of extents of an inode, as it stands there.
pub(super) fn put_root(b: &mut [u8], tree: &Tree<Mapped>) {
    tree.visit(&mut |held| {
        if held.block.is_none() {
            put16(b, 0, held.level as u16);
            put16(b, 2, held.children.len() as u16);
            put_places(&mut b[ROOT_HEADER..], &held.children);
        }
    });
}

/// Reads a list of extents. Whether they overlap, and where they lie, is not looked at.
pub(super) fn extents(b: &[u8]) -> Option<Vec<Extent>> {
    let extent = |b: &[u8]| {
        let (high, low) = (u64_at(b, 0), u64_at(b, 8));
        let logical = u32::try_from(high << 1 >> 10).ok()?;
        let start = (high & 0x1ff) << 43 | low >> 21;
        let blocks = low as u32 & MOST_BLOCKS;
        Some(Extent::real(logical, start, blocks, high >> 63 == 0))
    };
    b.chunks_exact(EXTENT).map(extent).collect()
}

/// Reads so many entries of a node of a tree of extents.
pub(super) fn places(b: &[u8], entries: usize) -> Option<Vec<(u32, u64)>> {
    let places = b.len() / 16 * 8;
    let place = |at: usize| {
        Some((
            u32::try_from(u64_at(b, at * 8)).ok()?,
            u64_at(b, places + at * 8),
        ))
    };
    (0..entries).map(place).collect()
}

/// How many entries a block of a tree has, if it is so many levels above the leaves, and has no more than fit.
fn entries<R: Record>(b: &[u8], level: usize) -> Option<usize> {
    let entries = usize::from(u16_at(b, 6));
    let most = if level == 0 {
        R::LEAF.most
    } else {
        R::NODE.most
    };
    (usize::from(u16_at(b, 4)) == level && entries <= most).then_some(entries)
}

/// Reads a block of the tree of an AG of so many blocks.
pub(super) fn load<R: Stored>(
    b: &[u8],
    block: u32,
    level: usize,
    (is_sparse, length): (bool, u32),
) -> Option<Loaded<R>> {
    let entries = entries::<R>(b, level)?;
    let beside = |at| Some(u32_at(b, at)).filter(|beside| *beside != u32::MAX);
    let body = &b[SHORT_HEADER..];
    let (mut records, mut places) = (Vec::new(), Vec::new());
    if level == 0 {
        let all = body.chunks_exact(R::RECORD).take(entries);
        records = all
            .map(|b| R::get(b, is_sparse, length))
            .collect::<Option<_>>()?;
    } else {
        let place = |at: usize| u32_at(body, R::NODE.most * R::KEY + at * 4);
        places = (0..entries)
            .map(|at| (R::get_key(&body[at * R::KEY..]), place(at)))
            .collect();
    }
    Some(Loaded {
        block,
        left: beside(8),
        right: beside(12),
        records,
        places,
    })
}

/// Reads a block of a tree of extents, and the extents in it.
pub(super) fn load_extents(
    b: &[u8],
    block: u64,
    level: usize,
) -> Option<(Loaded<Mapped>, Vec<Extent>)> {
    let entries = entries::<Mapped>(b, level)?;
    let beside = |at| Some(u64_at(b, at)).filter(|beside| *beside != u64::MAX);
    let body = &b[LONG_HEADER..];
    let (mut found, mut of_node) = (Vec::new(), Vec::new());
    if level == 0 {
        found = extents(&body[..entries * EXTENT])?;
    } else {
        of_node = places(body, entries)?;
    }
    let loaded = Loaded {
        block,
        left: beside(8),
        right: beside(16),
        records: found.iter().map(|extent| Mapped(extent.logical)).collect(),
        places: of_node,
    };
    Some((loaded, found))
}

impl Writer<'_> {
    /// Writes the tree of an AG.
    pub fn tree<R: Stored>(
        &self,
        (ag, magic): (u32, [u8; 4]),
        tree: &Tree<R>,
        to: &mut dyn WriteAt,
    ) -> io::Result<()> {
        let is_sparse = !self.fs.geometry.features.is_plain();
        let mut result = Ok(());
        tree.visit(&mut |held: &Held<'_, R>| {
            let Some(block) = held.block.filter(|_| result.is_ok()) else {
                return;
            };
            let mut b = [0; BYTES];
            let entries = held.records.len() + held.children.len();
            self.short_header(&mut b, magic, (ag, block));
            put16(&mut b, 4, held.level as u16);
            put16(&mut b, 6, entries as u16);
            put32(&mut b, 8, held.left.unwrap_or(u32::MAX));
            put32(&mut b, 12, held.right.unwrap_or(u32::MAX));
            let body = &mut b[SHORT_HEADER..];
            for (record, b) in held.records.iter().zip(body.chunks_exact_mut(R::RECORD)) {
                record.put(b, is_sparse);
            }
            for (at, child) in held.children.iter().enumerate() {
                R::put_key(&mut body[at * R::KEY..], &child.first, &child.last);
                put32(body, R::NODE.most * R::KEY + at * 4, child.block);
            }
            seal(&mut b, SHORT_SUM);
            result = self.block(self.fs.geometry.fsb(ag, block), &b, to);
        });
        result
    }

    /// Header of a block of the tree of an AG, for one leaf without records.
    fn short_header(&self, b: &mut Block, magic: [u8; 4], (ag, block): (u32, u32)) {
        put(b, 0, magic);
        put32(b, 8, u32::MAX);
        put32(b, 12, u32::MAX);
        put64(
            b,
            16,
            self.fs.geometry.sector(self.fs.geometry.fsb(ag, block)),
        );
        put(b, 32, self.options.uuid);
        put32(b, 48, ag);
    }

    /// Writes the tree of references, in which nothing stands.
    pub fn references(&self, ag: u32, to: &mut dyn WriteAt) -> io::Result<()> {
        let g = &self.fs.geometry;
        let Some(root) = g.references() else {
            return Ok(());
        };
        let mut b = [0; BYTES];
        self.short_header(&mut b, REFERENCES, (ag, root));
        seal(&mut b, SHORT_SUM);
        self.block(g.fsb(ag, root), &b, to)
    }

    /// Writes the blocks of the tree of extents of an inode.
    pub fn extent_tree(&self, inode: &Inode, to: &mut dyn WriteAt) -> io::Result<()> {
        let Some(tree) = &inode.tree else {
            return Ok(());
        };
        let mut result = Ok(());
        let mut extents = inode.extents.iter().filter(|extent| extent.is_real());
        tree.visit(&mut |held| {
            let Some(block) = held.block.filter(|_| result.is_ok()) else {
                return;
            };
            let mut b = [0; BYTES];
            put(&mut b, 0, EXTENTS);
            put16(&mut b, 4, held.level as u16);
            let entries = held.records.len() + held.children.len();
            put16(&mut b, 6, entries as u16);
            put64(&mut b, 8, held.left.unwrap_or(u64::MAX));
            put64(&mut b, 16, held.right.unwrap_or(u64::MAX));
            put64(&mut b, 24, self.fs.geometry.sector(block));
            put(&mut b, 40, self.options.uuid);
            put64(&mut b, 56, inode.ino);
            let body = &mut b[LONG_HEADER..];
            put_extents(body, extents.by_ref().take(held.records.len()));
            put_places(body, &held.children);
            seal(&mut b, LONG_SUM);
            result = self.block(block, &b, to);
        });
        result
    }
}
