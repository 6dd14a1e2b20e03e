//! Big-endian fields of structures on disk, and their checksums.

pub(super) use crate::image::put;

pub(super) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, value.to_be_bytes());
}

pub(super) fn put32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, value.to_be_bytes());
}

pub(super) fn put64(bytes: &mut [u8], at: usize, value: u64) {
    put(bytes, at, value.to_be_bytes());
}

/// The checksum of a structure that has a place for it.
pub(super) fn sum_of(bytes: &[u8], at: usize) -> u32 {
    let before = crc32c::crc32c(&bytes[..at]);
    let sum = crc32c::crc32c_append(before, &[0; 4]);
    crc32c::crc32c_append(sum, &bytes[at + 4..])
}

/// Puts the checksum into a structure that is complete but for it. It is the only field that is little-endian.
pub(super) fn seal(bytes: &mut [u8], at: usize) {
    let sum = sum_of(bytes, at);
    put(bytes, at, sum.to_le_bytes());
}

/// Whether the checksum that a structure holds is the right one.
pub(super) fn is_sound(bytes: &[u8], at: usize) -> bool {
    let read = bytes[at..]
        .first_chunk()
        .map(|sum| u32::from_le_bytes(*sum));
    read.is_some_and(|read| crate::image::is_sum(read, sum_of(bytes, at)))
}

/// A field of a structure that is long enough.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..].first_chunk().copied().unwrap_or([0; N])
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(field(bytes, at))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(field(bytes, at))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(field(bytes, at))
}
