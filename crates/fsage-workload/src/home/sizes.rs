//! Sizes of files: distributions, and the space that a fast file system takes for them.

use crate::space::SpaceRule;
use fsage_core::Rng;

/// A file over this size is a large one: few of them hold most of the space.
pub(super) const LARGE_BYTES: u64 = 96 << 10;
const LARGEST_BYTES: u64 = 8 << 20;

/// Space of a file in fragments of 1 KB, indirect blocks included, on a 4.4BSD fast file system with 8 KB
/// blocks.
pub(super) fn space_kb(bytes: u64) -> u64 {
    SpaceRule::FFS.fragments(bytes)
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
