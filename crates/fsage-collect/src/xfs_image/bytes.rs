//! Big-endian fields of structures on disk, and their checksums.

/// The u16 at a byte; 0 where the structure ends before.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    field(bytes, at).map_or(0, u16::from_be_bytes)
}

/// The u32 at a byte; 0 where the structure ends before.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    field(bytes, at).map_or(0, u32::from_be_bytes)
}

/// The u64 at a byte; 0 where the structure ends before.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    field(bytes, at).map_or(0, u64::from_be_bytes)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Whether the checksum of a structure, a CRC-32C at a byte of it that is little-endian and counts as zeroes, is right.
/// A fuzzer guesses none, and so has a feature that lets every one be.
pub fn is_sound(bytes: &[u8], at: usize) -> bool {
    let (Some(before), Some(behind)) = (bytes.get(..at), bytes.get(at + 4..)) else {
        return false;
    };
    let sum = crc32c::crc32c_append(crc32c::crc32c(before), &[0; 4]);
    let sum = crc32c::crc32c_append(sum, behind);
    field(bytes, at) == Some(sum.to_le_bytes()) || cfg!(feature = "any-checksum")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_stands_little_endian_where_it_counts_as_zeroes() {
        let mut bytes = [0; 32];
        // RFC 3720, appendix B.4: of 32 zeroes.
        bytes[12..16].copy_from_slice(&0x8a91_36aa_u32.to_le_bytes());
        assert!(is_sound(&bytes, 12));
        bytes[31] ^= 1;
        assert!(!is_sound(&bytes, 12) || cfg!(feature = "any-checksum"));
        assert!(!is_sound(&bytes, 30));
    }

    #[test]
    fn fields_beyond_the_end_are_zero() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(u16_at(&bytes, 6), 0x0708);
        assert_eq!((u32_at(&bytes, 4), u32_at(&bytes, 5)), (0x0506_0708, 0));
        assert_eq!(
            (u64_at(&bytes, 0), u64_at(&bytes, 1)),
            (0x0102_0304_0506_0708, 0)
        );
    }
}
