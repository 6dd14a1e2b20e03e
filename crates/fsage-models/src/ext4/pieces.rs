//! Free runs cut into pieces, as the buddy allocator sees them: maximal aligned blocks of `2^order`, all of them free.
//!
//! Spec: `docs/spec/ext4.md`, section 18.

/// Orders of pieces at most: those of blocks of 64 KB.
pub(super) const MAX_ORDERS: usize = 18;

/// Number of pieces by order.
pub(super) type Counts = [u16; MAX_ORDERS];

/// Floor of the binary logarithm; 0 of 0.
#[inline]
pub(super) fn order_of(n: u32) -> u32 {
    n.max(1).ilog2()
}

/// Order of the piece that begins at `start` in a run that ends at `end`; `orders` is the number of orders.
#[inline]
fn first_order(start: u32, end: u32, orders: u32) -> u32 {
    start
        .trailing_zeros()
        .min(order_of(end - start))
        .min(orders - 1)
}

/// Adds the pieces of a run to the counts, or takes them away.
#[inline]
pub(super) fn count(counts: &mut Counts, start: u32, end: u32, orders: u32, add: bool) {
    let mut at = start;
    while at < end {
        let order = first_order(at, end, orders);
        let count = &mut counts[order as usize];
        *count = if add { *count + 1 } else { *count - 1 };
        at += 1 << order;
    }
}

/// Length of the pieces from `at` on, within the run `start..end`, up to the first boundary of pieces at or behind
/// `wanted` blocks.
#[inline]
pub(super) fn length(run: (u32, u32), at: u32, wanted: u32, orders: u32) -> u32 {
    let (start, end) = run;
    let mut order = first_order(at, end, orders);
    // The piece that holds `at` may begin before it.
    while order + 1 < orders {
        let base = at >> (order + 1) << (order + 1);
        if base < start || base + (2 << order) > end {
            break;
        }
        order += 1;
    }
    let mut next = (at >> order << order) + (1 << order);
    while next - at < wanted && next < end {
        next += 1 << first_order(next, end, orders);
    }
    next - at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces by their definition: all aligned blocks that are free and lie in no larger one.
    fn pieces(run: (u32, u32), orders: u32) -> Vec<(u32, u32)> {
        let mut at = run.0;
        let mut pieces = Vec::new();
        while at < run.1 {
            let fits = |order: &u32| {
                let base = at >> order << order;
                base >= run.0 && base + (1 << order) <= run.1
            };
            let order = (0..orders).rev().find(fits).expect("a single block fits");
            pieces.push((at, 1 << order));
            at += 1 << order;
        }
        pieces
    }

    #[test]
    fn lengths_and_counts_are_those_of_the_definition() {
        let orders = 5;
        for start in 0..40 {
            for end in start + 1..90 {
                let all = pieces((start, end), orders);
                let mut counts = Counts::default();
                count(&mut counts, start, end, orders, true);
                for order in 0..orders {
                    let expected = all.iter().filter(|piece| piece.1 == 1 << order).count();
                    assert_eq!(usize::from(counts[order as usize]), expected);
                }
                count(&mut counts, start, end, orders, false);
                assert_eq!(counts, Counts::default());
                for at in start..end {
                    for wanted in [1, 3, 16, 40] {
                        let ends = all.iter().map(|(start, blocks)| start + blocks);
                        let expected = ends
                            .clone()
                            .find(|&boundary| boundary > at && boundary - at >= wanted)
                            .unwrap_or(end);
                        assert_eq!(length((start, end), at, wanted, orders), expected - at);
                    }
                }
            }
        }
    }
}
