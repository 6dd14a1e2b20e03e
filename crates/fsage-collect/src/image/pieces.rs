//! Reads in the order of the disk.

use super::ReadAt;
use crate::error::CollectError;
use std::io;

/// Reads at most this much at once.
pub const READ_BYTES: u64 = 1 << 20;
/// Pieces that lie no farther apart than this are read together.
const GAP_BYTES: u64 = 64 << 10;

/// Some blocks, at most [`READ_BYTES`] of them, all inside the file system.
#[derive(Clone, Copy, Debug)]
pub struct Piece<T> {
    pub block: u64,
    pub blocks: u64,
    /// Whose they are.
    pub tag: T,
}

/// Called with a piece and its bytes.
pub type VisitPiece<'v, T> =
    &'v mut dyn FnMut(&Piece<T>, io::Result<&[u8]>) -> Result<(), CollectError>;

/// Reads pieces in the order in which they lie, several at once where they are close. One that cannot be read does not
/// keep the others from being read.
pub fn read_pieces<T: Copy + Ord>(
    source: &dyn ReadAt,
    block_bytes: u64,
    pieces: &mut [Piece<T>],
    visit: VisitPiece<'_, T>,
) -> Result<(), CollectError> {
    pieces.sort_unstable_by_key(|piece| (piece.block, piece.blocks, piece.tag));
    let mut buffer = Vec::new();
    let mut rest = &*pieces;
    while let [first, ..] = rest {
        let mut end = first.block + first.blocks;
        let mut count = 1;
        for piece in &rest[1..] {
            let new_end = end.max(piece.block + piece.blocks);
            if (new_end - first.block) * block_bytes > READ_BYTES
                || piece.block > end + GAP_BYTES / block_bytes
            {
                break;
            }
            end = new_end;
            count += 1;
        }
        buffer.resize(((end - first.block) * block_bytes) as usize, 0);
        let together = source
            .read_at(&mut buffer, first.block.saturating_mul(block_bytes))
            .is_ok();
        for piece in &rest[..count] {
            let start = ((piece.block - first.block) * block_bytes) as usize;
            let bytes = &mut buffer[start..start + (piece.blocks * block_bytes) as usize];
            let read = if together {
                Ok(())
            } else {
                source.read_at(bytes, piece.block.saturating_mul(block_bytes))
            };
            visit(piece, read.map(|()| &*bytes))?;
        }
        rest = &rest[count..];
    }
    Ok(())
}
