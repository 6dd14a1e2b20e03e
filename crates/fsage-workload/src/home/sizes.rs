//! Sizes of files: distributions, and the space that a fast file system takes for them.

use fsage_core::Rng;

/// Bytes a fragment.
const FRAG: u64 = 1024;
/// Fragments a block.
const BLOCK_FRAGS: u64 = 8;
const BLOCK: u64 = FRAG * BLOCK_FRAGS;
/// Blocks that an inode points to itself; only a file of no more of them ends in fragments.
const DIRECT_BLOCKS: u64 = 12;
/// Pointers in an indirect block of 8 KB.
const INDIRECT_POINTERS: u64 = BLOCK / 4;

/// A file over this size is a large one: few of them hold most of the space.
pub(super) const LARGE_BYTES: u64 = 96 << 10;
const LARGEST_BYTES: u64 = 8 << 20;

/// Space of a file in fragments of 1 KB, indirect blocks included, on a 4.4BSD fast file system with 8 KB
/// blocks.
pub(super) fn space_kb(bytes: u64) -> u64 {
    let blocks = bytes.div_ceil(BLOCK);
    if blocks <= DIRECT_BLOCKS {
        return bytes.div_ceil(FRAG);
    }
    let indirect = match (blocks - DIRECT_BLOCKS).div_ceil(INDIRECT_POINTERS) {
        1 => 1,
        // One of its own for the first, then the double indirect block and those that it points to.
        n => n + 1,
    };
    (blocks + indirect) * BLOCK_FRAGS
}

/// A size between 1 byte and the largest.
fn clamped(bytes: f64) -> u64 {
    (bytes as u64).clamp(1, LARGEST_BYTES)
}

/// A long-lived file: sources, texts, mail. Median 2.8 KB, mean 9.6 KB; the tail is [`large`].
pub(super) fn body(rng: &mut Rng) -> u64 {
    clamped(rng.log_normal(2_800.0, 1.57)).min(LARGE_BYTES)
}

/// A large file: results, archives, programs. Pareto with exponent 1.1 between 96 KB and 8 MB, mean 0.4 MB.
pub(super) fn large(rng: &mut Rng) -> u64 {
    const EXPONENT: f64 = 1.1;
    let low = LARGE_BYTES as f64;
    let ratio = libm::pow(low / LARGEST_BYTES as f64, EXPONENT);
    let u = rng.unit();
    clamped(low / libm::pow(1.0 - u * (1.0 - ratio), 1.0 / EXPONENT))
}

/// A file that was changed: about as large as before.
pub(super) fn changed(rng: &mut Rng, bytes: u64) -> u64 {
    clamped(rng.log_normal(bytes.max(1) as f64, 0.15))
}

/// What a log or a mailbox grows by.
pub(super) fn appended(rng: &mut Rng) -> u64 {
    clamped(rng.log_normal(1_800.0, 1.0))
}

/// A log-normal size with a factor, for short-lived files.
pub(super) fn short_lived(rng: &mut Rng, median: f64, sigma: f64, factor: f64) -> u64 {
    clamped(rng.log_normal(median, sigma) * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand from the block map: 12 direct blocks, 2,048 behind the indirect one.
    #[test]
    fn space_is_whole_blocks_beyond_the_direct_ones() {
        let kb = |n: u64| space_kb(n << 10);
        assert_eq!([space_kb(0), space_kb(1), space_kb(1025)], [0, 1, 2]);
        assert_eq!([kb(8), kb(9), kb(96)], [8, 9, 96]);
        assert_eq!(space_kb((96 << 10) + 1), 13 * 8 + 8);
        assert_eq!(kb(96 + 2048 * 8), (12 + 2048 + 1) * 8);
        assert_eq!(kb(96 + 2048 * 8 + 1), (12 + 2049 + 3) * 8);
    }

    #[test]
    fn sizes_have_the_means_they_claim() {
        let rng = Rng::new(4);
        let mean = |draw: fn(&mut Rng) -> u64, name: &str| {
            let mut r = rng.stream(name, 0);
            (0..100_000).map(|_| draw(&mut r)).sum::<u64>() / 100_000
        };
        assert!(
            (8_000..10_500).contains(&mean(body, "body")),
            "{}",
            mean(body, "body")
        );
        let large = mean(large, "large");
        assert!((360_000..440_000).contains(&large), "{large}");
    }
}
