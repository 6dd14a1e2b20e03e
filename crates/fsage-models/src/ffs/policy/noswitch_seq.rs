//! `noswitch-seq`: `realloc`, and the first indirect block follows the last direct block.
//!
//! **What it does.** The single indirect block prefers the block after logical block 11, and logical block 12
//! the block after the indirect block, so that the file goes on where it stands.
//!
//! **Where it comes from.** `NoSwitch` of Smith and Seltzer 1997 in its sequential reading; see
//! [`noswitch`](super::NoSwitch) for the other one.
//!
//! **What to expect.** The score is within 0.002 of `noswitch`; block 13 is contiguous with block 12 on disk
//! but for the indirect block between them far more often.
//!
//! **Limits.** Double indirect blocks keep the sweep of 4.4BSD.

use super::{IndirectSite, Policy};

/// `realloc` with the sequential form of `NoSwitch`.
#[derive(Clone, Copy, Debug)]
pub struct NoSwitchSeq;

impl Policy for NoSwitchSeq {
    fn name(&self) -> &'static str {
        "noswitch-seq"
    }

    fn summary(&self) -> &'static str {
        "realloc, and the first indirect block follows the last direct block"
    }

    fn indirect_preference(&self, site: &IndirectSite) -> Option<u64> {
        let after = |address: u64| (address != 0).then_some(address + site.frag);
        after(site.single_indirect)
            .or_else(|| after(site.last_direct))
            .or(Some(site.own_group_second_block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_goes_on_where_it_stands() {
        let site = |single_indirect, last_direct| IndirectSite {
            own_group_second_block: 1032,
            single_indirect,
            last_direct,
            frag: 8,
        };
        // spec: the 16-block file on `tiny` puts its indirect block at 1208, after block 11 at 1200, and
        // block 12 at 1216.
        let table = [(0, 1200, 1208), (1208, 1200, 1216), (0, 0, 1032)];
        for (single, direct, expected) in table {
            let got = NoSwitchSeq.indirect_preference(&site(single, direct));
            assert_eq!(got, Some(expected));
        }
    }
}
