//! Allocation policies of the FFS model: one file each, listed in [`ALL`].
//!
//! A policy answers a few questions that the allocator asks; the allocator checks what it answers, so that a
//! policy cannot hand out a used block. The defaults of [`Policy`] are 4.4BSD as shipped (`realloc`).

mod noswitch;
mod noswitch_seq;
mod orig;
mod realloc;
mod smartfrag;

pub use noswitch::NoSwitch;
pub use noswitch_seq::NoSwitchSeq;
pub use orig::Orig;
pub use realloc::Realloc;
pub use smartfrag::SmartFrag;

use std::fmt::Debug;

/// Every policy, in the order of documentation and tests.
pub const ALL: [&dyn Policy; 5] = [&Orig, &Realloc, &NoSwitch, &NoSwitchSeq, &SmartFrag];

/// The policy of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Policy> {
    ALL.into_iter().find(|p| p.name() == name)
}

/// Where the allocator stands when a file enters its single indirect block, or a new section below it.
///
/// Addresses are fragments from the start of the partition; 0 is "none".
#[derive(Clone, Copy, Debug)]
pub struct IndirectSite {
    /// The second block of the cylinder group that holds the inode.
    pub own_group_second_block: u64,
    /// Address of the single indirect block.
    pub single_indirect: u64,
    /// Address of the last direct block, logical block 11.
    pub last_direct: u64,
    /// Fragments in a block.
    pub frag: u64,
}

/// Where the allocator stands when it needs the last, partial block of a file.
#[derive(Clone, Copy, Debug)]
pub struct TailSite {
    /// Logical block number of the partial block.
    pub lbn: u32,
    /// Address of the block before it in the file; 0 is "none".
    pub previous: u64,
    /// Preferred address of the partial block; 0 is "none".
    pub preference: u64,
    /// Fragments in a block.
    pub frag: u64,
}

/// What an allocation policy may decide.
///
/// - It sees addresses and gives a preference or a yes; it never takes a block itself.
/// - It has no state: the same question has the same answer.
/// - The defaults are 4.4BSD as shipped.
pub trait Policy: Debug + Send + Sync {
    /// Its name in `policy=NAME`.
    fn name(&self) -> &'static str;

    /// One sentence for `--help` and the report.
    fn summary(&self) -> &'static str;

    /// Whether blocks written one after another are moved together when they are found not contiguous.
    fn reallocates_clusters(&self) -> bool {
        true
    }

    /// Preferred address of the single indirect block and of the first data block (of each section) below it.
    /// `None` is 4.4BSD's rule: the first cylinder group, from the inode's own on, that has at least the
    /// average number of free blocks.
    fn indirect_preference(&self, _site: &IndirectSite) -> Option<u64> {
        None
    }

    /// Whether a partial block should break the free whole block at its preferred address, instead of
    /// taking the best fitting free fragments of the cylinder group.
    fn breaks_preferred_block(&self, _site: &TailSite) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_found_by_its_own_name_and_says_what_it_does() {
        for policy in ALL {
            assert_eq!(by_name(policy.name()).unwrap().name(), policy.name());
            assert!(policy.summary().len() > 20, "{}", policy.name());
        }
        assert!(by_name("no such policy").is_none());
    }
}
