//! Bitmaps: bit i of the byte i / 8, from the lowest on.

/// Visits the maximal runs of zeros among the first `bits`, as start and length.
pub fn zero_runs(bitmap: &[u8], bits: u64, visit: &mut dyn FnMut(u64, u64)) {
    let mut start = next(bitmap, 0, bits, false);
    while start < bits {
        let end = next(bitmap, start, bits, true);
        visit(start, end - start);
        start = next(bitmap, end, bits, false);
    }
}

/// The ones among the first `bits`.
pub fn ones(bitmap: &[u8], bits: u64) -> impl Iterator<Item = u64> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = next(bitmap, at, bits, true);
        at = found + 1;
        (found < bits).then_some(found)
    })
}

/// Sets the bits of a range, as far as there are such.
pub fn set(bitmap: &mut [u8], range: std::ops::Range<u64>) {
    let end = range.end.min(8 * bitmap.len() as u64);
    for bit in range.start..end {
        bitmap[(bit / 8) as usize] |= 1 << (bit % 8);
    }
}

/// The first bit from `from` on that is as wanted; `bits` if there is none.
fn next(bitmap: &[u8], from: u64, bits: u64, wanted: bool) -> u64 {
    let mut word = from / 64;
    let mut mask = u64::MAX << (from % 64);
    while word * 64 < bits {
        let found = word_at(bitmap, word as usize * 8);
        let found = if wanted { found } else { !found } & mask;
        if found != 0 {
            return bits.min(word * 64 + u64::from(found.trailing_zeros()));
        }
        mask = u64::MAX;
        word += 1;
    }
    bits
}

fn word_at(bitmap: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let bytes = bitmap.get(at..).unwrap_or_default();
    let length = bytes.len().min(8);
    word[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(bitmap: &[u8], bits: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        zero_runs(bitmap, bits, &mut |start, length| {
            runs.push((start, length));
        });
        runs
    }

    #[test]
    fn runs_of_zeros_go_over_words_and_end_with_the_bits() {
        assert_eq!(runs(&[0b1000_0001, 0xff], 16), [(1, 6)]);
        assert_eq!(runs(&[0; 32], 250), [(0, 250)]);
        let mut bitmap = [0; 32];
        set(&mut bitmap, 60..70);
        set(&mut bitmap, 128..129);
        assert_eq!(runs(&bitmap, 256), [(0, 60), (70, 58), (129, 127)]);
        assert_eq!(runs(&[0xff; 3], 24), []);
        assert_eq!(runs(&[], 0), []);
    }

    #[test]
    fn ones_are_those_that_were_set() {
        let mut bitmap = [0; 20];
        set(&mut bitmap, 3..5);
        set(&mut bitmap, 63..66);
        set(&mut bitmap, 159..1000);
        assert_eq!(
            ones(&bitmap, 160).collect::<Vec<_>>(),
            [3, 4, 63, 64, 65, 159]
        );
        assert_eq!(ones(&bitmap, 64).collect::<Vec<_>>(), [3, 4, 63]);
    }
}
