//! Every request for space of a file and what served it: why a file lies as it does.
//!
//! ```text
//! #inode  kind  block  frags  preferred  address  how
//! 257     D     2      8      1040       1128     next-free
//! ```
//!
//! `kind` is `D` for a block or fragments of data, `P` for a block of pointers, and `C` for blocks that move together.
//! Preferred address and address count fragments; 0 is none, and then the search begins where the last one of the group
//! ended.

use super::Ffs;
use crate::allocator_trace::TracedAllocator;
use std::fmt;

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A block, or fragments, of a file or a directory.
    Data,
    /// A block of pointers.
    Pointers,
    /// A run of blocks for a cluster that is not contiguous.
    Cluster,
}

/// Where in its search the allocator found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// At the preferred address.
    Preferred,
    /// That block is in use: a free one in its cylinder, the next by rotation.
    SameCylinder,
    /// The next free block behind it in its group.
    NextFree,
    /// Without a preference in this group: the next free block behind the last one that was found so.
    Rotor,
    /// A run of free fragments that was there already.
    FreeFragments,
    /// The first fragments of a free block.
    BrokenBlock,
    /// The fragments grew where they lie.
    InPlace,
    /// The group had nothing that fits: another one.
    OtherGroup,
    /// All blocks of a cluster moved to one free run.
    Moved,
    /// No group has a free run that is long enough: they stay.
    NoRun,
    /// Nothing is free, but for the reserve.
    NoSpace,
}

impl How {
    /// By the name that is printed.
    pub fn name(self) -> &'static str {
        match self {
            How::Preferred => "preferred",
            How::SameCylinder => "same-cylinder",
            How::NextFree => "next-free",
            How::Rotor => "rotor",
            How::FreeFragments => "free-fragments",
            How::BrokenBlock => "broken-block",
            How::InPlace => "in-place",
            How::OtherGroup => "other-group",
            How::Moved => "moved",
            How::NoRun => "no-run",
            How::NoSpace => "no-space",
        }
    }
}

/// A request that came to the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Number of the inode.
    pub inode: u64,
    /// What it was for.
    pub wanted: Wanted,
    /// The block of the file, the first one of a cluster; of pointers, the block of data that needs them.
    pub block: u32,
    /// Fragments that were asked for.
    pub frags: usize,
    /// The preferred address, in fragments; 0 for none.
    pub preferred: u64,
    /// The address that was given; 0 for none.
    pub address: u64,
    /// How it was found.
    pub how: How,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.wanted {
            Wanted::Data => 'D',
            Wanted::Pointers => 'P',
            Wanted::Cluster => 'C',
        };
        write!(
            f,
            "{}\t{kind}\t{}\t{}\t{}\t{}\t{}",
            self.inode,
            self.block,
            self.frags,
            self.preferred,
            self.address,
            self.how.name()
        )
    }
}

impl TracedAllocator for Ffs {
    type Served = Served;

    const COLUMNS: &str = "inode\tkind\tblock\tfrags\tpreferred\taddress\thow";

    fn record_requests(&mut self) {
        self.served = Some(Vec::new());
    }

    fn take_requests(&mut self) -> Vec<Served> {
        self.served.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn inode_of(served: &Served) -> u64 {
        served.inode
    }
}

impl Ffs {
    /// Keeps a request where they are recorded.
    #[inline]
    pub(super) fn note(&mut self, served: impl FnOnce(&Ffs) -> Served) {
        if self.served.is_some() {
            let served = served(self);
            self.served.iter_mut().for_each(|all| all.push(served));
        }
    }

    /// How a piece was found that is taken now, by a search that began in group `first`.
    pub(super) fn how_found(
        &self,
        first: usize,
        preferred: u64,
        (address, frags): (u64, usize),
    ) -> How {
        let c = self.group_of(address);
        if c != first {
            return How::OtherGroup;
        }
        let block = self.block_of(address);
        if frags < self.groups.frag {
            let offset = (address % self.geometry.frag) as usize;
            let own = (((1_u16 << frags) - 1) << offset) as u8;
            let was_whole = self.groups.free_mask(c, block) | own == self.groups.full_mask();
            return if was_whole {
                How::BrokenBlock
            } else {
                How::FreeFragments
            };
        }
        if preferred == 0 || self.group_of(preferred) != c {
            return How::Rotor;
        }
        let wanted = self.block_of(preferred);
        let cylinder = |block: usize| self.geometry.cylinder_of(block as u64 * self.geometry.frag);
        if wanted == block {
            How::Preferred
        } else if self.geometry.is_rotational() && cylinder(wanted) == cylinder(block) {
            How::SameCylinder
        } else {
            How::NextFree
        }
    }
}
