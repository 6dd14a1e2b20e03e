//! Little-endian fields of structures on disk.

/// The u16 at a byte; 0 where the structure ends before.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    field(bytes, at).map_or(0, u16::from_le_bytes)
}

/// The u32 at a byte; 0 where the structure ends before.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    field(bytes, at).map_or(0, u32::from_le_bytes)
}

/// A number whose low and high 32 bits lie apart.
pub fn u64_of(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
