//! A file system as it is found in an image: the state of a driver that has just mounted it.
//!
//! An image may be hostile. No number in it is believed: places are compared with the size of the file system, a block
//! of a tree is read once only, and in the end the file system check of the model goes over all of it. What the model
//! has no place for is refused, and so is damage.

use super::directories;
use super::directory::short_directory;
use super::fields::{is_sound, put, u16_at, u32_at, u64_at};
use super::headers::{
    INODES_MAGIC, INODES_SUM, LIST_BLOCKS, LIST_MAGIC, LIST_SUM, MAGIC, SECTOR, SPACE_MAGIC,
    SPACE_SUM, SUPERBLOCK_SUM, TOTALS, VERSION, superblock, tree_blocks,
};
use super::names::FoundDir;
use super::{BYTES, LINK_MAGIC, LINK_SUM, inode, trees};
use crate::image::{DIRECTORY, REGULAR, ReadAt, ReadError, SYMLINK, lies_on, no_such};
use crate::xfs::btree::{Loaded, Tree};
use crate::xfs::chunks::{Chunk, Inodes};
use crate::xfs::geometry::{BLOCK, Geometry, PER_BLOCK};
use crate::xfs::inode::{Extent, Extents, Kind, Mapped};
use crate::xfs::owners::Owned;
use crate::xfs::params::{Features, Params, Regime};
use crate::xfs::space::{Ag, ByLength, ByStart, Reserve};
use crate::xfs::{MOST_FILE_BLOCKS, Xfs};
use fsage_core::FileSystem as _;
use rustc_hash::FxHashSet;
use std::io;
use trees::Stored;

/// Flags that decide nothing about places: of changes that are refused, of times, and that it is not to be dumped or
/// defragmented.
const HARMLESS: u16 = inode::PREALLOCATED | 0x8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x2000;

const TOOL: &str = "xfs_repair -n";

pub(super) type Result<T> = std::result::Result<T, ReadError>;

pub(super) fn foreign<T>(what: impl Into<String>) -> Result<T> {
    let (of, what) = ("xfs", what.into());
    Err(ReadError::Foreign { of, what })
}

/// What does not fit together.
pub(super) fn damage(what: impl Into<String>) -> ReadError {
    let (what, tool) = (what.into(), TOOL);
    ReadError::Damaged { what, tool }
}

pub(super) fn damaged<T>(what: impl Into<String>) -> Result<T> {
    Err(damage(what))
}

/// An inode that is being read.
pub(super) struct Raw<'a> {
    pub ino: u64,
    pub bytes: &'a [u8],
    pub size: u64,
    pub extents: Extents,
}

/// Extents, with the tree that holds them if there is one.
type Mapping = (Vec<Extent>, Option<Box<Tree<Mapped>>>);

/// An image that is being read.
pub(super) struct Reader<'a> {
    from: &'a dyn ReadAt,
    pub g: Geometry,
    superblock: [u8; SECTOR],
    /// Names that inodes say they have, by slot.
    pub links: Vec<u32>,
    /// Blocks of trees that were read.
    seen: FxHashSet<u64>,
}

/// That the superblock of an image is one that [`Xfs::read_image`] takes.
///
/// # Errors
/// It is not.
pub fn can_be_read(from: &dyn ReadAt) -> std::result::Result<(), ReadError> {
    found_in(from).map(drop)
}

/// Sizes and features of an image, with its superblock.
fn found_in(from: &dyn ReadAt) -> Result<(Params, Geometry, [u8; SECTOR])> {
    let mut b = [0; SECTOR];
    match from.read_at(0, &mut b) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(no_such("xfs", from));
        }
        read => read?,
    }
    if b[..4] != MAGIC {
        return Err(no_such("xfs", from));
    }
    if u16_at(&b, 100) & 0xf != 5 {
        return foreign(format!("version {}", u16_at(&b, 100) & 0xf));
    }
    let sector = u16_at(&b, 102);
    if usize::from(sector) != SECTOR {
        return foreign(format!("sectors of {sector} bytes"));
    }
    if !is_sound(&b, SUPERBLOCK_SUM) {
        return damaged("the superblock has a wrong checksum");
    }
    if b[16..32].iter().any(|byte| *byte != 0) {
        return foreign("a realtime section".to_owned());
    }
    let features = features_of(u32_at(&b, 212), u32_at(&b, 216))?;
    let (blocks, ags) = (u64_at(&b, 8), u32_at(&b, 88));
    let params = |ag_count| Params {
        size_bytes: blocks.saturating_mul(BLOCK),
        ag_count,
        log_bytes: Some(u64::from(u32_at(&b, 96)) * BLOCK),
        features,
        regime: Regime::usual(features),
        ..Params::default()
    };
    let found = comparable(&b, features);
    let mut expected = None;
    for params in [None, Some(ags.into())].map(params) {
        let Ok(g) = Geometry::mkfs(&params) else {
            continue;
        };
        let made = superblock(&g);
        if made == found {
            lies_on(from, blocks * BLOCK, TOOL)?;
            return Ok((params, g, b));
        }
        expected = Some(made);
    }
    foreign(what_differs(&found, expected.as_ref()))
}

/// The features of an image by its masks; whether AGs count the blocks of their trees of inodes, and how long a time
/// is, decides nothing about places.
fn features_of(to_write: u32, to_read: u32) -> Result<Features> {
    const COUNTED_TREES: u32 = 8;
    const LONG_TIMES: u32 = 8;
    const TO_WRITE: [&str; 4] = ["finobt", "rmapbt", "reflink", "inobtcount"];
    const TO_READ: [&str; 8] = [
        "ftype",
        "sparse inodes",
        "meta_uuid",
        "bigtime",
        "needsrepair",
        "nrext64",
        "exchange",
        "parent",
    ];
    let deciding =
        |(to_write, to_read): (u32, u32)| (to_write & !COUNTED_TREES, to_read & !LONG_TIMES);
    let masks = deciding((to_write, to_read));
    let mut all = Features::ALL.into_iter();
    if let Some(features) = all.find(|features| deciding(features.masks()) == masks) {
        return Ok(features);
    }
    let bits = |mask: u32, names: &[&str]| -> Vec<String> {
        let bits = (0..32).filter(|bit| mask >> bit & 1 == 1);
        bits.map(|bit| {
            let name = names.get(bit).map(|name| (*name).to_owned());
            name.unwrap_or_else(|| format!("feature {bit}"))
        })
        .collect()
    };
    let names = [bits(to_write, &TO_WRITE), bits(to_read, &TO_READ)].concat();
    foreign(format!(
        "the features {} together, other than those of default, plain and rmapbt",
        names.join(", ")
    ))
}

/// A superblock without what decides nothing: label, counters, identity, the end of the log, whether there are
/// attributes, quotas that nobody counts, and features of the same places.
fn comparable(b: &[u8; SECTOR], features: Features) -> [u8; SECTOR] {
    let mut found = *b;
    for [from, to] in [[32, 48], [108, 120], [128, 152], [224, 228], [240, 248]] {
        found[from..to].fill(0);
    }
    let version = u16_at(b, 100);
    put(
        &mut found,
        100,
        (version | VERSION & !version & 0x10).to_be_bytes(),
    );
    // Inodes of quotas: none, as `mkfs.xfs` and as the first mount say it.
    for quota in [160, 168, 232] {
        if u64_at(b, quota) == 0 {
            put(&mut found, quota, u64::MAX.to_be_bytes());
        }
    }
    let (to_write, to_read) = features.masks();
    put(&mut found, 212, to_write.to_be_bytes());
    put(&mut found, 216, to_read.to_be_bytes());
    found
}

/// What a superblock has that none has which the model makes.
fn what_differs(found: &[u8; SECTOR], made: Option<&[u8; SECTOR]>) -> String {
    let differs =
        |from: usize, to: usize| made.is_some_and(|made| made[from..to] != found[from..to]);
    let is_given = |from: usize, to: usize| found[from..to].iter().any(|byte| *byte != 0);
    if u32_at(found, 4) != BLOCK as u32 {
        return format!("blocks of {} bytes", u32_at(found, 4));
    }
    if u16_at(found, 104) != inode::BYTES as u16 {
        return format!("inodes of {} bytes", u16_at(found, 104));
    }
    let named = [
        (is_given(184, 192), "stripes"),
        (
            u16_at(found, 100) & 0x4000 != 0,
            "names that are found in any case (version=ci)",
        ),
        (differs(160, 178) || differs(232, 240), "quotas"),
        (found[192] != 0, "blocks of directories of several blocks"),
        (
            differs(193, 200),
            "a log with a stripe or a sector of its own",
        ),
        (
            differs(127, 128),
            "another limit of the space for inodes (imaxpct)",
        ),
        (
            differs(180, 184) || differs(228, 232),
            "another alignment of inodes",
        ),
        (differs(220, 224), "a log that holds attributes"),
        (
            differs(48, 56) || differs(96, 100),
            "a log elsewhere, or of another size",
        ),
        (differs(84, 92), "allocation groups of another size"),
    ];
    let named: Vec<&str> = named
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, name)| *name)
        .collect();
    if named.is_empty() {
        "a geometry that `mkfs.xfs` does not make by default".to_owned()
    } else {
        named.join(", ")
    }
}

impl Xfs {
    /// Reads an image that was unmounted. Sizes and features are those of the image; regime and clock are as `asked`,
    /// and the usual ones where nothing is. Files and directories have ids of their own, from 2^60 on.
    ///
    /// # Errors
    /// It cannot be read, is none of XFS, was not unmounted, is damaged, or has what the model does not have.
    pub fn read_image(
        asked: Option<&Params>,
        from: &dyn ReadAt,
    ) -> std::result::Result<Xfs, ReadError> {
        let (params, g, superblock) = found_in(from)?;
        let mut reader = Reader {
            from,
            g,
            superblock,
            links: Vec::new(),
            seen: FxHashSet::default(),
        };
        reader.log_is_clean()?;
        let params = match asked {
            None => params,
            Some(asked) => Params {
                size_bytes: params.size_bytes,
                ag_count: params.ag_count,
                log_bytes: params.log_bytes,
                features: params.features,
                from: None,
                ..*asked
            },
        };
        let fresh = Xfs::new(params);
        let mut fs = fresh.or_else(|error| foreign(error.to_string()))?;
        fs.inodes.clear();
        fs.dirs.clear();
        for ag in 0..g.ag_count {
            let (space, inodes) = reader.ag(ag)?;
            (fs.space.ags[ag as usize], fs.chunks[ag as usize]) = (space, inodes);
        }
        if fs.totals() != TOTALS.map(|at| u64_at(&superblock, at)) {
            return damaged("its counts of inodes and free blocks in the superblock");
        }
        let mut dirs = Vec::new();
        for ag in 0..g.ag_count {
            let chunks: Vec<Chunk> = fs.chunks[ag as usize].chunks.iter().copied().collect();
            for chunk in chunks {
                reader.chunk(ag, &chunk, &mut fs, &mut dirs)?;
            }
        }
        let slots = fs.slots();
        reader.names_fit(&fs, &slots, &dirs)?;
        fs.lead_names(&slots, dirs)?;
        fs.mount();
        match fs.check() {
            Ok(()) => Ok(fs),
            Err(inconsistency) => damaged(inconsistency.to_string()),
        }
    }
}

impl Reader<'_> {
    fn read(&self, ag: u32, block: u32, to: &mut [u8]) -> Result<()> {
        let at = self.g.absolute(self.g.fsb(ag, block)) * BLOCK;
        Ok(self.from.read_at(at, to)?)
    }

    /// A block by AG and block in AG bits, if there is such a block.
    pub fn block(&self, block: u64) -> Result<[u8; BYTES]> {
        self.lies_inside(block, 1)?;
        let mut b = [0; BYTES];
        self.read(self.g.ag_of(block), self.g.block_of(block), &mut b)?;
        Ok(b)
    }

    fn lies_inside(&self, start: u64, blocks: u32) -> Result<()> {
        let g = &self.g;
        let ag = start >> g.ag_log;
        let is_inside = ag < g.ag_count.into()
            && u64::from(g.block_of(start)) + u64::from(blocks) <= g.ag_length(ag as u32).into();
        if is_inside {
            Ok(())
        } else {
            damaged(format!("block {start} and {blocks} more lie outside"))
        }
    }

    /// Whether a structure has its checksum and its identity.
    pub fn is_own(&self, b: &[u8], sum: usize, uuid: usize) -> bool {
        is_sound(b, sum) && b[uuid..uuid + 16] == self.superblock[32..48]
    }

    /// A superblock, for a comparison of copies of it.
    fn fixed(&self, superblock: &[u8]) -> Option<[u8; SECTOR]> {
        let superblock = superblock.first_chunk()?;
        let mut fixed = comparable(superblock, self.g.features);
        for [from, to] in [[32, 48], [208, 220]] {
            fixed[from..to].copy_from_slice(&superblock[from..to]);
        }
        // `mkfs.xfs` writes them before it has made the first inodes.
        for (at, own) in [56, 64, 72].into_iter().zip(self.g.root_ino()..) {
            if u64_at(superblock, at) == u64::MAX {
                put(&mut fixed, at, own.to_be_bytes());
            }
        }
        fixed[126] = 0;
        Some(fixed)
    }

    /// Whether a block is one of such a tree of an AG.
    fn is_of_tree(&self, b: &[u8; BYTES], magic: [u8; 4], (ag, block): (u32, u32)) -> bool {
        b[..4] == magic
            && self.is_own(b, trees::SHORT_SUM, 32)
            && u64_at(b, 16) == self.g.sector(self.g.fsb(ag, block))
            && u32_at(b, 48) == ag
    }

    /// Headers and trees of an AG.
    fn ag(&mut self, ag: u32) -> Result<(Ag, Inodes)> {
        let mut b = [0; 4 * SECTOR];
        self.read(ag, 0, &mut b)?;
        let [copy, space, inodes, list] = [0, 1, 2, 3].map(|at| &b[at * SECTOR..(at + 1) * SECTOR]);
        let wrong = |what: &str| damaged(format!("AG {ag}: {what}"));
        if !is_sound(copy, SUPERBLOCK_SUM) || self.fixed(copy) != self.fixed(&self.superblock) {
            return wrong("its copy of the superblock");
        }
        let length = self.g.ag_length(ag);
        let is_header = |b: &[u8], magic: [u8; 4]| {
            let fields = [4, 8, 12].map(|at| u32_at(b, at));
            b[..4] == magic && fields == [1, ag, length]
        };
        if !is_header(space, SPACE_MAGIC) || !self.is_own(space, SPACE_SUM, 64) {
            return wrong("its header of free space");
        }
        if !is_header(inodes, INODES_MAGIC) || !self.is_own(inodes, INODES_SUM, 296) {
            return wrong("its header of inodes");
        }
        if list[..4] != LIST_MAGIC || u32_at(list, 4) != ag || !self.is_own(list, LIST_SUM, 8) {
            return wrong("its free list");
        }
        if inodes[40..296].iter().any(|byte| *byte != 0xff) {
            return wrong("inodes without a name are open");
        }
        let features = self.g.features;
        let by_start: Tree<ByStart> =
            self.tree(ag, ByStart::MAGIC, (u32_at(space, 16), u32_at(space, 28)))?;
        let by_length: Tree<ByLength> =
            self.tree(ag, ByLength::MAGIC, (u32_at(space, 20), u32_at(space, 32)))?;
        let mut owners = None;
        if features.has_owners() {
            let root = (u32_at(space, 24), u32_at(space, 36));
            owners = Some(self.tree(ag, Owned::MAGIC, root)?);
        }
        if let Some(references) = self.g.references() {
            let is_empty =
                (u32_at(space, 84), u32_at(space, 88), u32_at(space, 92)) == (1, references, 1);
            let b = self.block(self.g.fsb(ag, references))?;
            let is_root = u16_at(&b, 4) == 0 && b[8..16] == [0xff; 8];
            if is_empty && !(is_root && self.is_of_tree(&b, trees::REFERENCES, (ag, references))) {
                return wrong("its tree of references");
            }
            if !is_empty || u16_at(&b, 6) != 0 {
                return foreign("shared extents");
            }
        }
        let (first, count) = (u32_at(space, 40) as usize, u32_at(space, 48) as usize);
        let places = (SECTOR - LIST_BLOCKS) / 4;
        if first >= places || count > places {
            return wrong("its free list is longer than it can be");
        }
        if count > 0 && u32_at(space, 44) as usize != (first + count - 1) % places {
            return wrong("the end of its free list");
        }
        let blocks = (first..first + count).map(|at| u32_at(list, LIST_BLOCKS + at % places * 4));
        let blocks: Vec<u32> = blocks.collect();
        if blocks.iter().any(|block| *block >= length) {
            return wrong("its free list leads outside");
        }
        let free = by_start
            .iter()
            .map(|run| u64::from(run.blocks))
            .sum::<u64>();
        let found_space = Ag {
            by_start,
            by_length,
            owners,
            list: blocks.into(),
            free: free as u32,
            for_trees: Reserve::default(),
            for_owners: Reserve::default(),
            is_read: false,
        };
        let counts = [
            free as u32,
            found_space.longest(),
            tree_blocks(&found_space),
        ];
        let of_owners =
            { found_space.owners.as_ref() }.is_none_or(|tree| tree.blocks() == u32_at(space, 80));
        if counts != [52, 56, 60].map(|at| u32_at(space, at)) || !of_owners {
            return wrong("its counts of free blocks");
        }
        let chunks: Tree<Chunk> =
            self.tree(ag, Chunk::MAGIC, (u32_at(inodes, 20), u32_at(inodes, 24)))?;
        let mut with_free = None;
        if !features.is_plain() {
            let root = (u32_at(inodes, 328), u32_at(inodes, 332));
            with_free = Some(self.tree(ag, trees::FREE_INODES, root)?);
        }
        let newest = Some(u32_at(inodes, 32)).filter(|newest| *newest != u32::MAX);
        if newest.is_some_and(|newest| newest / PER_BLOCK >= length) {
            return wrong("its newest chunk of inodes lies outside");
        }
        let found = Inodes::found(chunks, with_free, newest);
        if (found.count, found.free) != (u32_at(inodes, 16), u32_at(inodes, 28)) {
            return wrong("its count of inodes");
        }
        Ok((found_space, found))
    }

    /// The tree of an AG, from the block of its root, with so many levels.
    fn tree<R: Stored>(
        &mut self,
        ag: u32,
        magic: [u8; 4],
        (root, levels): (u32, u32),
    ) -> Result<Tree<R>> {
        let is_sparse = !self.g.features.is_plain();
        let length = self.g.ag_length(ag);
        let wrong = |block: u32, what: &str| damage(format!("block {block} of AG {ag}: {what}"));
        let mut load = |block: u32, level: usize| -> Result<Loaded<R>> {
            let fsb = self.g.fsb(ag, block);
            if block >= length || !self.seen.insert(fsb) {
                return Err(wrong(block, "a tree leads there that should not"));
            }
            let b = self.block(fsb)?;
            if !self.is_of_tree(&b, magic, (ag, block)) {
                return Err(wrong(block, "it is no block of a tree"));
            }
            let (loaded, entries) = (
                trees::load::<R>(&b, block, level, (is_sparse, length)),
                u16_at(&b, 6),
            );
            match loaded {
                Some(loaded) => Ok(loaded),
                None => Err(wrong(block, &format!("{entries} entries that cannot be"))),
            }
        };
        let levels = levels as usize;
        let read = match levels.checked_sub(1) {
            Some(top) if levels <= 9 => Tree::read(load(root, top)?, levels, None, &mut load)?,
            _ => None,
        };
        read.ok_or_else(|| wrong(root, "the tree below it is uneven"))
    }

    /// The inodes in use of a chunk.
    fn chunk(
        &mut self,
        ag: u32,
        chunk: &Chunk,
        fs: &mut Xfs,
        dirs: &mut Vec<(u32, FoundDir)>,
    ) -> Result<()> {
        let g = self.g;
        let used = !chunk.free;
        if used & chunk.missing() != 0 {
            return damaged(format!("AG {ag}: inodes that are missing are in use"));
        }
        for (start, blocks) in chunk.runs() {
            let mut bytes = vec![0; blocks as usize * BYTES];
            self.read(ag, start, &mut bytes)?;
            let numbers = start * PER_BLOCK..(start + blocks) * PER_BLOCK;
            for (number, b) in numbers.zip(bytes.chunks_exact(inode::BYTES)) {
                if used >> (number - chunk.first) & 1 == 1 {
                    self.inode(g.ino(ag, number), b, fs, dirs)?;
                }
            }
        }
        Ok(())
    }

    fn inode(
        &mut self,
        ino: u64,
        b: &[u8],
        fs: &mut Xfs,
        dirs: &mut Vec<(u32, FoundDir)>,
    ) -> Result<()> {
        let wrong = |what: &str| damaged(format!("inode {ino}: {what}"));
        let strange = |what: &str| foreign(format!("inode {ino}, with {what}"));
        if b[..2] != inode::MAGIC
            || b[4] != inode::VERSION
            || !self.is_own(b, inode::SUM, 160)
            || u64_at(b, 152) != ino
            || u32_at(b, 96) != u32::MAX
            || b[6..8] != [0; 2]
            || b[24..32] != [0; 8]
        {
            return wrong("it is none");
        }
        let (mode, size) = (u16_at(b, 2), u64_at(b, 56));
        let root = self.g.root_ino();
        if ino == root + 1 || ino == root + 2 {
            let is_empty = size == 0 && u64_at(b, 64) == 0;
            return if is_empty {
                Ok(())
            } else {
                strange("a realtime section")
            };
        }
        let kind = match mode & 0o17_0000 {
            DIRECTORY => Kind::Directory,
            REGULAR => Kind::File,
            SYMLINK => Kind::Symlink,
            _ => return strange("a type of its own"),
        };
        if size > MOST_FILE_BLOCKS * BLOCK {
            return strange(&format!("{size} bytes"));
        }
        if u16_at(b, 90) & !HARMLESS != 0 || u64_at(b, 120) & !inode::LONG_TIMES != 0 {
            return strange("flags that decide where its data goes");
        }
        if u32_at(b, 72) != 0 || u32_at(b, 128) != 0 {
            return strange("a size of extents of its own");
        }
        if b[83] != inode::EXTENTS || u16_at(b, 80) != 0 {
            return strange("attributes");
        }
        let room = match b[82] {
            0 => directories::ROOT_ROOM,
            eighths => usize::from(eighths) * 8,
        };
        let usual = if ino == root {
            directories::ROOT_ROOM
        } else {
            directories::ROOM
        };
        if room != usual && kind != Kind::Symlink {
            return strange(&format!("{room} bytes for its extents"));
        }
        let Some(data) = b[inode::CORE..].get(..room) else {
            return wrong("its attributes begin outside");
        };
        let (extents, tree) = self.extents(ino, b, data)?;
        if b[5] == inode::LOCAL && kind == Kind::File {
            return wrong("its data lies nowhere");
        }
        if let (Kind::Symlink, Some(extent)) = (kind, extents.first()) {
            let b = self.block(extent.start())?;
            let is_link = b[..8] == [&LINK_MAGIC[..], &[0; 4]].concat()
                && self.is_own(&b, LINK_SUM, 16)
                && [u64_at(&b, 32), u64_at(&b, 40)] == [ino, self.g.sector(extent.start())]
                && u64::from(u32_at(&b, 8)) == size;
            if !is_link {
                return wrong("the block that says where it leads");
            }
        }
        let slot = fs.keep_inode(ino, kind);
        self.links.push(u32_at(b, 16));
        let found = &mut fs.inodes[slot as usize];
        (found.size, found.disk_size) = (size, size);
        found.extents = Extents::of(extents);
        found.tree = tree;
        found.flags.is_preallocated = u16_at(b, 90) & inode::PREALLOCATED != 0;
        if kind == Kind::Directory {
            let raw = Raw {
                ino,
                bytes: data,
                size,
                extents: found.extents.clone(),
            };
            let is_local = b[5] == inode::LOCAL;
            let dir = if is_local {
                short_directory(&raw)?
            } else {
                self.directory(&raw)?
            };
            fs.inodes[slot as usize].size = dir.entries.size_bytes();
            dirs.push((slot, dir));
        }
        Ok(())
    }

    /// The extents of an inode, and their tree if there is one.
    fn extents(&mut self, ino: u64, b: &[u8], data: &[u8]) -> Result<Mapping> {
        let wrong = |what: &str| damaged(format!("inode {ino}: {what}"));
        let count = u32_at(b, 76) as usize;
        let (mut extents, mut tree) = (Vec::new(), None);
        match b[5] {
            inode::LOCAL if count == 0 => {}
            inode::EXTENTS if count <= data.len() / trees::EXTENT => {
                let Some(found) = trees::extents(&data[..count * trees::EXTENT]) else {
                    return wrong("an extent that cannot be");
                };
                extents = found;
            }
            inode::TREE => {
                let (found, of_tree) = self.extent_tree(ino, data)?;
                (extents, tree) = (found, Some(Box::new(of_tree)));
            }
            _ => return wrong("its data lies nowhere"),
        }
        let mut end = 0;
        for extent in &extents {
            if extent.blocks == 0
                || extent.logical < end
                || extent.logical.checked_add(extent.blocks).is_none()
            {
                return wrong("its extents overlap");
            }
            end = extent.end();
            self.lies_inside(extent.start(), extent.blocks)?;
        }
        let of_tree = tree.as_ref().map_or(0, |tree| tree.blocks());
        let blocks: u64 = extents.iter().map(|extent| u64::from(extent.blocks)).sum();
        if extents.len() != count || blocks + u64::from(of_tree) != u64_at(b, 64) {
            return wrong("its counts of extents and blocks");
        }
        Ok((extents, tree))
    }

    /// The tree of extents of an inode, and the extents in its leaves.
    fn extent_tree(&mut self, ino: u64, data: &[u8]) -> Result<(Vec<Extent>, Tree<Mapped>)> {
        let wrong = |what: &str| damage(format!("inode {ino}: {what}"));
        let levels = usize::from(u16_at(data, 0)) + 1;
        let most = (data.len() - trees::ROOT_HEADER) / 16;
        let entries = usize::from(u16_at(data, 2));
        if entries == 0 || entries > most || !(2..=9).contains(&levels) {
            return Err(wrong("the root of its tree"));
        }
        let places = trees::places(&data[trees::ROOT_HEADER..], entries);
        let Some(places) = places else {
            return Err(wrong("the root of its tree"));
        };
        let root = Loaded {
            block: 0,
            left: None,
            right: None,
            records: Vec::new(),
            places,
        };
        let mut extents = Vec::new();
        let mut load = |block: u64, level: usize| -> Result<Loaded<Mapped>> {
            let b = self.block(block)?;
            let is_tree = b[..4] == trees::EXTENTS
                && self.is_own(&b, trees::LONG_SUM, 40)
                && [u64_at(&b, 24), u64_at(&b, 56)] == [self.g.sector(block), ino];
            if !is_tree || !self.seen.insert(block) {
                return Err(wrong("a block of its tree"));
            }
            match trees::load_extents(&b, block, level) {
                Some((loaded, found)) => {
                    extents.extend(found);
                    Ok(loaded)
                }
                None => Err(wrong("a block of its tree")),
            }
        };
        match Tree::read(root, levels, Some(most), &mut load)? {
            Some(tree) if tree.finding().is_none() => Ok((extents, tree)),
            _ => Err(wrong("its tree is uneven")),
        }
    }

    /// That the log holds nothing to be replayed: the last thing in it says that the file system was unmounted.
    ///
    /// The log is written round and round, and each of its sectors begins with the number of the round. Source:
    /// `xfs_log_recover.c`.
    fn log_is_clean(&self) -> Result<()> {
        /// Most sectors from one header to the next: 256 KB and headers for them.
        const MOST: u64 = 520;
        const UNMOUNT: u8 = 0x20;
        let g = &self.g;
        let start = g.absolute(g.fsb(g.log_ag, g.log_start)) * BLOCK;
        let sectors = u64::from(g.log_blocks) * (BLOCK / SECTOR as u64);
        let sector = |at: u64| -> Result<[u8; SECTOR]> {
            let mut b = [0; SECTOR];
            self.from
                .read_at(start + at % sectors * SECTOR as u64, &mut b)?;
            Ok(b)
        };
        let is_header = |b: &[u8]| u32_at(b, 0) == super::headers::LOG_RECORD;
        let round = |b: &[u8]| u32_at(b, if is_header(b) { 4 } else { 0 });
        let first = round(&sector(0)?);
        // What is written next lies where the round ends.
        let (mut same, mut head) = (0, sectors);
        while head - same > 1 {
            let middle = same + (head - same) / 2;
            if round(&sector(middle)?) == first {
                same = middle;
            } else {
                head = middle;
            }
        }
        for back in 1..=MOST.min(sectors) {
            let at = head + sectors - back;
            let b = sector(at)?;
            if is_header(&b) {
                let is_last = back == 2 && u32_at(&b, 40) == 1 && u32_at(&b, 12) == SECTOR as u32;
                if is_last && sector(at + 1)?[9] & UNMOUNT != 0 {
                    return Ok(());
                }
                break;
            }
        }
        Err(ReadError::Unclean {
            what: "log",
            tool: "xfs_repair",
        })
    }
}
