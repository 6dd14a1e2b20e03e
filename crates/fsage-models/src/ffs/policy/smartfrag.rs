//! `smartfrag`: `realloc`, and a fragment at the end of a file follows the block before it.
//!
//! **What it does.** A partial last block breaks the free whole block directly after its predecessor, instead
//! of filling the best fitting hole of the cylinder group.
//!
//! **Where it comes from.** `SmartFrag` of Smith and Seltzer 1997.
//!
//! **What to expect.** Files that end in a fragment score much better, small ones most; the number of free
//! fragments doubles, since whole blocks are broken while fitting holes stay open.
//!
//! **Limits.** Files that consist of one fragment, and those that need an indirect block, follow the normal
//! rule.

use super::{Policy, TailSite};

/// `realloc` with `SmartFrag`.
#[derive(Clone, Copy, Debug)]
pub struct SmartFrag;

impl Policy for SmartFrag {
    fn name(&self) -> &'static str {
        "smartfrag"
    }

    fn summary(&self) -> &'static str {
        "realloc, and a last fragment follows the block before it (Smith and Seltzer 1997)"
    }

    fn breaks_preferred_block(&self, site: &TailSite) -> bool {
        (1..=11).contains(&site.lbn)
            && site.previous != 0
            && site.previous + site.frag == site.preference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tail_that_would_follow_its_predecessor_breaks_a_block() {
        let site = |lbn, previous, preference| TailSite {
            lbn,
            previous,
            preference,
            frag: 8,
        };
        let table = [
            (0, 0, 1032, false),
            (1, 1040, 1048, true),
            (1, 1040, 1056, false),
            (1, 0, 8, false),
            (11, 1040, 1048, true),
            (12, 1040, 1048, false),
        ];
        for (lbn, previous, preference, expected) in table {
            let got = SmartFrag.breaks_preferred_block(&site(lbn, previous, preference));
            assert_eq!(got, expected, "{lbn} {previous} {preference}");
        }
    }
}
