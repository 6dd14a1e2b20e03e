//! Block pointers and indirect blocks, of ext2 and ext3.

use super::bytes::u32_at;
use super::mapping::Mapper;
use crate::image::Fault;

/// Pointers to data in the inode; single, double and triple indirect blocks follow.
const DIRECT: usize = 12;

/// Gives all blocks that the pointers of an inode lead to.
pub fn map(mapper: &mut Mapper, pointers: &[u8]) -> Result<(), Fault> {
    for (place, pointer) in pointers_of(&pointers[..4 * DIRECT]).enumerate() {
        subtree(mapper, pointer, 0, place as u64)?;
    }
    let mut logical = DIRECT as u64;
    for (pointer, level) in pointers_of(&pointers[4 * DIRECT..]).zip(1..) {
        subtree(mapper, pointer, level, logical)?;
        logical += span(mapper, level);
    }
    Ok(())
}

/// Blocks below a pointer with so many levels of indirect blocks under it.
fn span(mapper: &Mapper, level: u32) -> u64 {
    (mapper.block_bytes() / 4).pow(level)
}

fn subtree(mapper: &mut Mapper, pointer: u32, level: u32, logical: u64) -> Result<(), Fault> {
    // A hole.
    if pointer == 0 {
        return Ok(());
    }
    let Some(below) = level.checked_sub(1) else {
        return mapper.push(logical, u64::from(pointer), 1, 0);
    };
    let block = mapper.read_pointers(u64::from(pointer))?;
    let span = span(mapper, below);
    for (pointer, place) in pointers_of(&block).zip(0..) {
        subtree(mapper, pointer, below, logical + place * span)?;
    }
    Ok(())
}

fn pointers_of(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|bytes| u32_at(bytes, 0))
}
