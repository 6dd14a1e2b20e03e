//! What is written into files: bytes that depend on the file and the place in it alone.
//!
//! Every chunk of 64 KiB of a file is a slice of one megabyte of noise, at a place that hashes of the file and of the
//! chunk choose. So writing costs no copy, the same range written again is the same, and a block of another file, or
//! of another place in the same file, passes for the right one once in 100,000 times. Noise does not compress, and no
//! block of it is zero.

use fsage_core::{FileId, Rng};
use std::sync::LazyLock;

/// Length of a chunk, and of one write call.
pub const CHUNK: u64 = 64 << 10;

/// Slices start at multiples of this.
const GRAIN: u64 = 8;
const NOISE: u64 = 1 << 20;

static NOISE_BYTES: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut rng = Rng::new(0x66_73_61_67_65).stream("content", 0);
    let words = (0..NOISE / 8).flat_map(|_| rng.next_u64().to_le_bytes());
    words.collect()
});

/// The content of a file, by the id it was made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content(pub u64);

impl Content {
    /// Content of a file that is made.
    pub fn of(file: FileId) -> Content {
        Content(file.0)
    }

    /// The bytes from `offset` to the end of the chunk it lies in, at most `length` of them.
    #[inline]
    pub fn bytes(self, offset: u64, length: u64) -> &'static [u8] {
        let (chunk, within) = (offset / CHUNK, offset % CHUNK);
        let mut hash =
            self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ chunk.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        hash ^= hash >> 32;
        let places = (NOISE - CHUNK) / GRAIN + 1;
        let start = (hash % places) * GRAIN + within;
        let length = length.min(CHUNK - within);
        &NOISE_BYTES[start as usize..(start + length) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: Content, mut offset: u64, end: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while offset < end {
            let piece = content.bytes(offset, end - offset);
            bytes.extend_from_slice(piece);
            offset += piece.len() as u64;
        }
        bytes
    }

    #[test]
    fn content_depends_on_the_file_and_the_place_alone() {
        let whole = read(Content(7), 0, 300_000);
        for (from, to) in [(0, 1), (4095, 4097), (65_535, 65_537), (100_000, 300_000)] {
            assert_eq!(
                read(Content(7), from, to),
                whole[from as usize..to as usize]
            );
        }
    }

    /// Two blocks are alike by chance only: one pair in 100,000.
    #[test]
    fn blocks_differ_and_none_is_zero() {
        let mut blocks = std::collections::BTreeSet::new();
        let mut alike = 0;
        for file in 0..200 {
            let file = read(Content(file), 0, 200_000);
            for block in file.chunks_exact(4096) {
                assert!(block.iter().any(|&byte| byte != 0));
                alike += u64::from(!blocks.insert(block.to_vec()));
            }
        }
        let pairs = blocks.len() * (blocks.len() - 1) / 2;
        assert!(alike <= 2 * pairs as u64 / 100_000, "{alike} of {pairs}");
    }
}
