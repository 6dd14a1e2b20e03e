//! Bitmaps in words of 64 bits, a set bit for what is in use.

/// First clear bit in `from..to`.
#[inline]
pub(super) fn next_clear(words: &[u64], from: u32, to: u32) -> Option<u32> {
    next(words, from, to, u64::MAX)
}

/// First set bit in `from..to`; `to` if there is none.
#[inline]
pub(super) fn next_set(words: &[u64], from: u32, to: u32) -> u32 {
    next(words, from, to, 0).unwrap_or(to)
}

/// First bit that differs from those of `all`.
#[inline]
fn next(words: &[u64], from: u32, to: u32, all: u64) -> Option<u32> {
    if from >= to {
        return None;
    }
    let mut at = from as usize / 64;
    let last = (to as usize - 1) / 64;
    let mut word = (words[at] ^ all) & (u64::MAX << (from % 64));
    while word == 0 {
        if at == last {
            return None;
        }
        at += 1;
        word = words[at] ^ all;
    }
    let found = at as u32 * 64 + word.trailing_zeros();
    (found < to).then_some(found)
}

/// End of the last set bit in `from..to`; `from` if there is none: where the clear bits before `to` begin.
#[inline]
pub(super) fn clear_before(words: &[u64], from: u32, to: u32) -> u32 {
    if from >= to {
        return to;
    }
    let first = from as usize / 64;
    let mut at = (to as usize - 1) / 64;
    let mut word = words[at] & (u64::MAX >> (63 - (to - 1) % 64));
    while word == 0 {
        if at == first {
            return from;
        }
        at -= 1;
        word = words[at];
    }
    (at as u32 * 64 + 64 - word.leading_zeros()).max(from)
}

/// Sets or clears `from..to`.
#[inline]
pub(super) fn fill(words: &mut [u64], from: u32, to: u32, set: bool) {
    let mut at = from;
    while at < to {
        let end = (at / 64 * 64 + 64).min(to);
        let mask = (u64::MAX >> (64 - (end - at))) << (at % 64);
        let word = &mut words[at as usize / 64];
        *word = if set { *word | mask } else { *word & !mask };
        at = end;
    }
}

/// So many bits from one on, in words of their own.
pub(super) fn cut(words: &[u64], from: u32, bits: u32) -> impl Iterator<Item = u64> {
    let (first, shift) = (from as usize / 64, from % 64);
    (first..first + bits.div_ceil(64) as usize).map(move |at| {
        let above = words.get(at + 1).copied().unwrap_or(0);
        words[at] >> shift | above.checked_shl(64 - shift).unwrap_or(0)
    })
}

/// Puts so many bits of words to others, from a bit on; those are clear.
pub(super) fn put(words: &mut [u64], from: u32, other: &[u64], bits: u32) {
    let mut at = 0;
    while at < bits {
        let start = next_set(other, at, bits);
        at = next_clear(other, start, bits).unwrap_or(bits);
        fill(words, from + start, from + at, true);
    }
}

#[inline]
pub(super) fn is_set(words: &[u64], at: u32) -> bool {
    words[at as usize / 64] >> (at % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;

    #[test]
    fn searches_are_those_of_single_bits() {
        let mut random = Rng::new(7);
        for _ in 0..300 {
            let mut words = vec![0; 4];
            for _ in 0..random.below(8) {
                let from = random.below(256) as u32;
                let to = from + random.below(u64::from(257 - from)) as u32;
                fill(&mut words, from, to, random.below(2) == 0);
            }
            let from = random.below(256) as u32;
            let to = from + random.below(u64::from(257 - from)) as u32;
            let mut all = from..to;
            assert_eq!(
                next_clear(&words, from, to),
                all.clone().find(|&at| !is_set(&words, at))
            );
            assert_eq!(
                next_set(&words, from, to),
                all.clone().find(|&at| is_set(&words, at)).unwrap_or(to)
            );
            let before = all
                .rfind(|&at| is_set(&words, at))
                .map_or(from, |at| at + 1);
            assert_eq!(clear_before(&words, from, to), before.max(from.min(to)));
            let cut: Vec<u64> = cut(&words, from, to - from).collect();
            let mut again = vec![0; 4];
            put(&mut again, from, &cut, to - from);
            assert!((from..to).all(|at| is_set(&words, at) == is_set(&again, at)));
            assert_eq!(next_set(&again, 0, from), from);
            assert_eq!(next_set(&again, to, 256), 256);
        }
    }
}
