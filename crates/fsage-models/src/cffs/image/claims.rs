//! Which block is whose, and the way from an inode through its pointers.

use super::super::geometry::{BLOCK, Geometry, TREE};
use super::format::{Block, Bytes, DiskInode};
use crate::pointers::Array;

/// Which blocks have an owner.
pub(super) struct Claims {
    used: Vec<u64>,
    blocks: u32,
}

/// Why a block cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// There is no such block.
    Outside,
    /// It is another's.
    Taken,
}

impl Claims {
    /// Only fixed metadata have owners.
    pub fn new(geometry: &Geometry) -> Claims {
        let mut claims = Claims {
            used: vec![0; (geometry.blocks as usize).div_ceil(64)],
            blocks: geometry.blocks,
        };
        for cg in 0..geometry.groups {
            let first = geometry.cg_start(cg);
            for block in first..first + geometry.overhead(cg) {
                claims.used[block as usize / 64] |= 1 << (block % 64);
            }
        }
        claims
    }

    /// Whether a block has an owner.
    pub fn is_used(&self, block: u32) -> bool {
        self.used[block as usize / 64] >> (block % 64) & 1 == 1
    }

    /// A block gets an owner, if it is there and has none.
    pub fn take(&mut self, block: u32) -> Result<(), Refused> {
        if block >= self.blocks {
            return Err(Refused::Outside);
        }
        if self.is_used(block) {
            return Err(Refused::Taken);
        }
        self.used[block as usize / 64] |= 1 << (block % 64);
        Ok(())
    }
}

/// The blocks of a file, as far as its pointers lead to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapped {
    /// Number in the file and address, ascending.
    pub blocks: Vec<(u32, u32)>,
    /// Blocks of pointers.
    pub arrays: Vec<(Array, u32)>,
    /// Pointers to blocks that are not there.
    pub outside: u32,
    /// Pointers to blocks that are others'.
    pub taken: u32,
    /// Pointers behind the end of the file.
    pub behind: u32,
    /// Blocks of pointers that cannot be read.
    pub unreadable: u32,
}

impl Mapped {
    /// What is wrong with the pointers, in words; nothing if nothing is.
    pub fn wrong(&self) -> Option<String> {
        let counts = [
            (self.outside, "lead outside the file system"),
            (self.taken, "lead to blocks of others"),
            (self.behind, "lie behind its end"),
            (self.unreadable, "lead to pointers that cannot be read"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = some.map(|(n, what)| format!("{n} {what}")).collect();
        (!words.is_empty()).then(|| format!("of its pointers {}", words.join(", ")))
    }
}

/// Follows the pointers of a file; blocks that it may have become its own.
pub(super) struct Walk<'a> {
    pub claims: &'a mut Claims,
    /// Reads a block of pointers; nothing if it cannot be read.
    pub read: &'a mut dyn FnMut(u32) -> Option<Box<Block>>,
    mapped: Mapped,
    /// Blocks of the file.
    end: u64,
}

impl<'a> Walk<'a> {
    /// All that hangs below an inode.
    pub fn of(
        inode: &DiskInode,
        claims: &'a mut Claims,
        read: &'a mut dyn FnMut(u32) -> Option<Box<Block>>,
    ) -> Mapped {
        let mut walk = Walk {
            claims,
            read,
            mapped: Mapped::default(),
            end: inode.size.div_ceil(BLOCK).min(TREE.most_blocks()),
        };
        for (lbn, &block) in (0..).zip(&inode.direct) {
            walk.data(lbn, block);
        }
        let tops = [Array::Leaf(0), Array::Upper(0), Array::Upper(1)];
        for (array, &block) in tops.into_iter().zip(&inode.indirect) {
            walk.array(array, block);
        }
        walk.mapped
    }

    fn take(&mut self, first: u64, block: u32) -> bool {
        if block == 0 {
            return false;
        }
        if first >= self.end {
            self.mapped.behind += 1;
            return false;
        }
        match self.claims.take(block) {
            Ok(()) => return true,
            Err(Refused::Outside) => self.mapped.outside += 1,
            Err(Refused::Taken) => self.mapped.taken += 1,
        }
        false
    }

    fn data(&mut self, lbn: u32, block: u32) {
        if self.take(lbn.into(), block) {
            self.mapped.blocks.push((lbn, block));
        }
    }

    /// A block of pointers, and what hangs below it. It is read once, since it has one owner.
    fn array(&mut self, array: Array, block: u32) {
        if !self.take(TREE.first_of(array), block) {
            return;
        }
        self.mapped.arrays.push((array, block));
        let Some(bytes) = (self.read)(block) else {
            self.mapped.unreadable += 1;
            return;
        };
        let n = TREE.per_block;
        for i in 0..n {
            let pointer = Bytes(&bytes[..]).u32(4 * i as usize);
            match array {
                Array::Leaf(_) => self.data((TREE.first_of(array) + u64::from(i)) as u32, pointer),
                Array::Upper(0) => self.array(Array::Leaf(1 + i), pointer),
                Array::Upper(1) => self.array(Array::Upper(2 + i), pointer),
                Array::Upper(j) => self.array(Array::Leaf(1 + n + (j - 2) * n + i), pointer),
            }
        }
    }
}
