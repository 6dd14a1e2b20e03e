//! `follow`: `realloc`, and a file goes on where it stands, at its first indirect block and at its tail.
//!
//! **What it does.** The first indirect block follows the last direct block, as under
//! [`noswitch-seq`](super::NoSwitchSeq), and a partial last block breaks the free block behind its predecessor, as
//! under [`smartfrag`](super::SmartFrag).
//!
//! **Where it comes from.** The two modifications of Smith and Seltzer, "File System Aging", 1997, which the paper
//! measures one at a time.
//!
//! **What to expect.** The gain of `smartfrag` for small files; shorter seeks at block 13; more free fragments.
//!
//! **Limits.** Those of both.

use super::{IndirectSite, NoSwitchSeq, Policy, SmartFrag, TailSite};

/// `realloc` with the sequential form of `NoSwitch` and with `SmartFrag`.
#[derive(Clone, Copy, Debug)]
pub struct Follow;

impl Policy for Follow {
    fn name(&self) -> &'static str {
        "follow"
    }

    fn summary(&self) -> &'static str {
        "realloc, and neither the first indirect block nor the tail leaves its predecessor"
    }

    fn indirect_preference(&self, site: &IndirectSite) -> Option<u64> {
        NoSwitchSeq.indirect_preference(site)
    }

    fn breaks_preferred_block(&self, site: &TailSite) -> bool {
        SmartFrag.breaks_preferred_block(site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_indirect_block_follows_the_last_direct_block() {
        // spec: a 16-block file on `tiny` has block 11 at 1200 and wants 1208.
        let site = IndirectSite {
            own_group_second_block: 1032,
            single_indirect: 0,
            last_direct: 1200,
            frag: 8,
        };
        assert_eq!(Follow.indirect_preference(&site), Some(1208));
    }

    #[test]
    fn a_tail_breaks_a_block_only_behind_its_predecessor() {
        // lbn, address of the block before, preferred address: with blocks of 8 fragments, 1048 follows 1040.
        let table = [
            (1, 1040, 1048, true),
            (1, 1040, 1056, false),
            (0, 0, 1032, false),
        ];
        for (lbn, previous, preference, expected) in table {
            let site = TailSite {
                lbn,
                previous,
                preference,
                frag: 8,
            };
            assert_eq!(Follow.breaks_preferred_block(&site), expected, "{site:?}");
        }
    }
}
