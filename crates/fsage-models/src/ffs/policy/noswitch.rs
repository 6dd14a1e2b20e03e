//! `noswitch`: `realloc`, but a file does not leave its cylinder group at the first indirect block.
//!
//! **What it does.** The single indirect block and the first data block below it prefer the second block of
//! the inode's own group, like the first block of any file, instead of a group with much free space.
//!
//! **Where it comes from.** `NoSwitch` of Smith and Seltzer 1997. The paper does not say where in the group
//! the block should go; this is the own-group reading, [`noswitch-seq`](super::NoSwitchSeq) the sequential one.
//!
//! **What to expect.** The layout score hardly rises (the seek between blocks 12 and 13 becomes shorter, it
//! does not vanish); split files double, because full groups push other files' first blocks out.
//!
//! **Limits.** Double indirect blocks keep the sweep of 4.4BSD.

use super::{IndirectSite, Policy};

/// `realloc` with the own-group form of `NoSwitch`.
#[derive(Clone, Copy, Debug)]
pub struct NoSwitch;

impl Policy for NoSwitch {
    fn name(&self) -> &'static str {
        "noswitch"
    }

    fn summary(&self) -> &'static str {
        "realloc, and the first indirect block stays in the inode's group (Smith and Seltzer 1997)"
    }

    fn indirect_preference(&self, site: &IndirectSite) -> Option<u64> {
        Some(site.own_group_second_block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_indirect_block_prefers_the_inodes_own_group() {
        let site = IndirectSite {
            own_group_second_block: 1032,
            single_indirect: 0,
            last_direct: 1200,
            frag: 8,
        };
        // spec: the 16-block file on `tiny` wants 1032 for its indirect block and again for block 12.
        assert_eq!(NoSwitch.indirect_preference(&site), Some(1032));
    }
}
