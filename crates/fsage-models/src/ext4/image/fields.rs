//! Little-endian fields of structures on disk, and their checksums.
//!
//! Spec: `docs/spec/ext4.md`, section 29.

pub(super) use crate::image::{is_sum, put};

/// A CRC-32C that goes on from another one, as ext4 reckons it: without the inversions of the usual form.
pub(super) fn crc(from: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!from, bytes)
}

/// The checksum of a descriptor where that alone has one: CRC-16 with the polynomial 0x8005, bits of low value first.
pub(super) fn crc16(from: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(from, |sum, &byte| {
        (0..8).fold(sum ^ u16::from(byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xa001 } else { 0 }
        })
    })
}

pub(super) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, value.to_le_bytes());
}

pub(super) fn put32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, value.to_le_bytes());
}

/// The low half of a number in one place, the high half in another.
pub(super) fn put_halves(bytes: &mut [u8], low: usize, high: usize, value: u32) {
    put16(bytes, low, value as u16);
    put16(bytes, high, (value >> 16) as u16);
}

/// A field of a structure that is long enough.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4, without the inversion at the end.
    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(!crc(!0, &[0; 32]), 0x8a91_36aa);
        assert_eq!(!crc(!0, &[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(!crc(!0, &ascending), 0x46dd_794e);
        assert_eq!(crc(crc(7, b"ab"), b"cd"), crc(7, b"abcd"));
        // CRC-16/ARC and CRC-16/MODBUS of the catalogue of Greg Cook.
        assert_eq!(crc16(0, b"123456789"), 0xbb3d);
        assert_eq!(crc16(!0, b"123456789"), 0x4b37);
    }
}
