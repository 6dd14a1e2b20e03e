//! Inodes with the addresses of their blocks, and which of these are dirty.

use super::geometry::{DIRECT, Geometry, Level};
use super::memory::heap;

/// A block of a file: where it lies in the log, and its state in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Sector; 0 if it was never written.
    pub address: u32,
    /// Sectors it takes in the log.
    pub sectors: u16,
    state: u16,
}

impl Block {
    /// It exists. Without this flag it is a hole.
    pub const THERE: u16 = 1;
    /// Changed, and to be written.
    pub const DIRTY: u16 = 2;
    /// Part of the partial segment that is being put together.
    pub const GATHERED: u16 = 4;
    /// The cleaner moves it.
    pub const MOVED: u16 = 8;

    #[inline]
    pub fn is(self, flag: u16) -> bool {
        self.state & flag != 0
    }

    #[inline]
    pub fn set(&mut self, flag: u16, on: bool) {
        self.state = self.state & !flag | if on { flag } else { 0 };
    }

    /// Changed since it was written or gathered.
    pub fn is_dirty(self) -> bool {
        self.is(Block::DIRTY)
    }
}

/// The direct blocks. The first one lies here, since most files have no other.
#[derive(Clone, Debug, Default)]
struct Direct {
    first: Block,
    rest: Box<[Block]>,
}

impl Direct {
    #[inline]
    fn get(&self, i: usize) -> Option<Block> {
        match i.checked_sub(1) {
            None => Some(self.first),
            Some(i) => self.rest.get(i).copied(),
        }
    }

    #[inline]
    fn at(&mut self, i: usize) -> &mut Block {
        let Some(i) = i.checked_sub(1) else {
            return &mut self.first;
        };
        if self.rest.len() <= i {
            self.resize_rest(i + 1);
        }
        &mut self.rest[i]
    }

    fn truncate(&mut self, blocks: usize) {
        if blocks == 0 {
            self.first = Block::default();
        }
        if blocks <= self.rest.len() {
            self.resize_rest(blocks.saturating_sub(1));
        }
    }

    fn resize_rest(&mut self, blocks: usize) {
        let mut rest = std::mem::take(&mut self.rest).into_vec();
        rest.reserve_exact(blocks.saturating_sub(rest.len()));
        rest.resize(blocks, Block::default());
        self.rest = rest.into_boxed_slice();
    }

    fn iter(&self) -> impl Iterator<Item = Block> {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }
}

/// An entry of a list, which is made so long.
fn at<T: Default + Clone>(list: &mut Vec<T>, i: usize) -> &mut T {
    if list.len() <= i {
        reserve(list, i + 1);
        list.resize(i + 1, T::default());
    }
    &mut list[i]
}

/// Room for so many entries. Lists grow by an eighth, so that little room is left over.
fn reserve<T>(list: &mut Vec<T>, entries: usize) {
    if list.capacity() < entries {
        list.reserve_exact((entries - list.len()).max(list.len() / 8));
    }
}

/// A single indirect block with the data blocks below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Single {
    pub block: Block,
    pub data: Vec<Block>,
}

/// Blocks behind the direct ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub singles: Vec<Single>,
    pub doubles: Vec<Block>,
    pub triple: Block,
}

/// What an inode has to write.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Dirty data blocks, in the order in which they became dirty.
    pub data: Vec<i32>,
    /// Dirty indirect blocks, likewise.
    pub pointers: Vec<i32>,
    /// Data blocks that the cleaner moves.
    pub moved: Vec<i32>,
    /// Live bytes that segments lose when the inode is next written (`netbsd`).
    pub lost: Vec<(u32, u32)>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.data.is_empty()
            && self.pointers.is_empty()
            && self.moved.is_empty()
            && self.lost.is_empty()
    }
}

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    File,
    Symlink,
    Directory,
    /// The table of segments and inodes.
    Ifile,
}

/// An inode in memory.
#[derive(Clone, Debug)]
pub(super) struct Inode {
    pub ino: u32,
    pub kind: Kind,
    flags: u8,
    /// Number of the vnode: they are written in this order.
    pub vnode: u64,
    pub size: u64,
    /// The directory that its first name stands in.
    pub parent: u32,
    direct: Direct,
    tree: Option<Box<Tree>>,
    pending: Option<Box<Pending>>,
}

impl Inode {
    /// It must be written.
    pub const MODIFIED: u8 = 1;
    /// It was read, and its time of access must be written.
    pub const ACCESSED: u8 = 2;
    /// The cleaner moves it or blocks of it.
    pub const CLEANING: u8 = 4;
    /// Marked: part of a directory operation that is not on disk as a whole.
    pub const MARKED: u8 = 8;
    /// Its last name is gone.
    pub const REMOVED: u8 = 16;
    /// In the list of inodes that may have something to write.
    pub const LISTED: u8 = 32;

    pub fn new(ino: u32, kind: Kind, vnode: u64) -> Inode {
        Inode {
            ino,
            kind,
            flags: 0,
            vnode,
            size: 0,
            parent: 0,
            direct: Direct::default(),
            tree: None,
            pending: None,
        }
    }

    #[inline]
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    #[inline]
    pub fn set(&mut self, flags: u8, on: bool) {
        self.flags = self.flags & !flags | if on { flags } else { 0 };
    }

    /// Modified, accessed or moved.
    pub fn must_be_written(&self) -> bool {
        self.is(Inode::MODIFIED | Inode::ACCESSED | Inode::CLEANING)
    }

    /// Whether any block is dirty.
    pub fn has_dirty(&self) -> bool {
        self.pending
            .as_ref()
            .is_some_and(|p| !p.data.is_empty() || !p.pointers.is_empty())
    }

    pub fn pending(&self) -> Option<&Pending> {
        self.pending.as_deref()
    }

    pub fn pending_mut(&mut self) -> &mut Pending {
        self.pending.get_or_insert_default()
    }

    /// Gives back the room of lists that are empty.
    pub fn forget_empty_lists(&mut self) {
        if self.pending.as_ref().is_some_and(|p| p.is_empty()) {
            self.pending = None;
        }
    }

    /// A block as it is; a hole if there is none.
    #[inline]
    pub fn block(&self, g: &Geometry, lbn: i32) -> Block {
        let Some(tree) = self
            .tree
            .as_ref()
            .filter(|_| !(0..DIRECT as i32).contains(&lbn))
        else {
            let direct = usize::try_from(lbn).ok().and_then(|i| self.direct.get(i));
            return direct.unwrap_or_default();
        };
        match g.level(lbn) {
            Level::Data => {
                let single = tree.singles.get(g.single_index(lbn));
                single.and_then(|s| s.data.get(g.slot(lbn))).copied()
            }
            Level::Single(k) => tree.singles.get(k).map(|s| s.block),
            Level::Double(d) => tree.doubles.get(d).copied(),
            Level::Triple => Some(tree.triple),
        }
        .unwrap_or_default()
    }

    /// A block to change; makes room for it.
    #[inline]
    pub fn block_mut(&mut self, g: &Geometry, lbn: i32) -> &mut Block {
        if (0..DIRECT as i32).contains(&lbn) {
            return self.direct.at(lbn as usize);
        }
        let tree = self.tree.get_or_insert_default();
        match g.level(lbn) {
            Level::Data => at(
                &mut at(&mut tree.singles, g.single_index(lbn)).data,
                g.slot(lbn),
            ),
            Level::Single(k) => &mut at(&mut tree.singles, k).block,
            Level::Double(d) => at(&mut tree.doubles, d),
            Level::Triple => &mut tree.triple,
        }
    }

    /// Makes room at once for data blocks from `from` on and before `end`, which are about to be written.
    pub fn make_room(&mut self, g: &Geometry, from: u64, end: u64) {
        let direct = u64::from(DIRECT);
        if from < direct && end.min(direct) > 1 + self.direct.rest.len() as u64 {
            self.direct.resize_rest(end.min(direct) as usize - 1);
        }
        if end <= direct {
            return;
        }
        let tree = self.tree.get_or_insert_default();
        let last = end as i32 - 1;
        for k in g.single_index(from.max(direct) as i32)..=g.single_index(last) {
            let upto = if k == g.single_index(last) {
                g.slot(last) + 1
            } else {
                g.pointers as usize
            };
            reserve(&mut at(&mut tree.singles, k).data, upto);
        }
    }

    /// Forgets the room of data blocks from `blocks` on, and of indirect blocks that lead to nothing any more.
    pub fn shrink(&mut self, g: &Geometry, blocks: u64) {
        self.direct.truncate(blocks.min(u64::from(DIRECT)) as usize);
        if blocks <= u64::from(DIRECT) {
            self.tree = None;
        } else if let Some(tree) = &mut self.tree {
            let last = blocks as i32 - 1;
            tree.singles.truncate(g.single_index(last) + 1);
            if let Some(single) = tree.singles.get_mut(g.single_index(last)) {
                single.data.truncate(g.slot(last) + 1);
            }
        }
    }

    /// Bytes of a block at the file's present size.
    #[inline]
    pub fn block_bytes(&self, g: &Geometry, lbn: i32) -> u32 {
        let bsize = u64::from(g.block_bytes);
        if (0..DIRECT as i32).contains(&lbn) && self.size < (lbn as u64 + 1) * bsize {
            let rest = self.size.saturating_sub(lbn as u64 * bsize);
            return rest.next_multiple_of(u64::from(g.frag_bytes)) as u32;
        }
        g.block_bytes
    }

    /// Bytes of the lists of its blocks.
    pub fn heap_bytes(&self) -> u64 {
        let tree = self.tree.as_deref().map_or(0, |tree| {
            let data = tree
                .singles
                .iter()
                .map(|s| heap::<Block>(s.data.capacity()));
            heap::<Tree>(1)
                + heap::<Single>(tree.singles.capacity())
                + heap::<Block>(tree.doubles.capacity())
                + data.sum::<u64>()
        });
        let pending = self.pending.as_deref().map_or(0, |pending| {
            let lists = [&pending.data, &pending.pointers, &pending.moved];
            heap::<Pending>(1)
                + lists
                    .map(|list| heap::<i32>(list.capacity()))
                    .iter()
                    .sum::<u64>()
                + heap::<(u32, u32)>(pending.lost.capacity())
        });
        heap::<Block>(self.direct.rest.len()) + tree + pending
    }

    /// Every block that exists, by name: data ascending, then indirect blocks.
    pub fn visit(&self, g: &Geometry, mut visit: impl FnMut(i32, Block)) {
        let mut see = |lbn: i32, block: Block| {
            if block.is(Block::THERE) {
                visit(lbn, block);
            }
        };
        for (i, block) in self.direct.iter().enumerate() {
            see(i as i32, block);
        }
        let Some(tree) = &self.tree else {
            return;
        };
        for (k, single) in tree.singles.iter().enumerate() {
            for (i, &block) in single.data.iter().enumerate() {
                see(-g.single_name(k) + i as i32, block);
            }
        }
        for (k, single) in tree.singles.iter().enumerate() {
            see(g.single_name(k), single.block);
        }
        for (d, &block) in tree.doubles.iter().enumerate() {
            see(g.double_name(d), block);
        }
        see(g.triple_name(), tree.triple);
    }
}
