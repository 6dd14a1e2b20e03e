//! The block map of a target on disk: `map.bin`.
//!
//! ```text
//! "fsagemap"  version u32  length u32  header  cells
//! header      JSON: how the disk is cut, days from frame to frame, the day of each frame
//! cells       zlib: the frames as `fsage_metrics::block_map::encode` writes them
//! ```
//!
//! Numbers are little-endian. See docs/formats.md.

use crate::error::{Context, bail};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use fsage_durable::PartialFile;
use fsage_metrics::Recording;
use fsage_metrics::block_map::{Grid, decode, encode};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::Path;

/// Name of the file, in the folder of the target.
pub const NAME: &str = "map.bin";

const MAGIC: &[u8; 8] = b"fsagemap";
const VERSION: u32 = 1;
/// What a file may claim to hold: far more than a recorder keeps.
const MAX_BYTES: usize = 1 << 28;

#[derive(Serialize, Deserialize)]
struct Header {
    size_bytes: u64,
    block_bytes: u64,
    cell_bytes: u64,
    band_bytes: u64,
    groups_per_band: u64,
    stride_days: u32,
    days: Vec<u32>,
}

/// Writes a map.
pub fn write(path: &Path, recording: &Recording) -> crate::Result<()> {
    let failed = || format!("{}: cannot write the block map", path.display());
    let grid = &recording.grid;
    let header = serde_json::to_vec(&Header {
        size_bytes: grid.size_bytes,
        block_bytes: grid.block_bytes,
        cell_bytes: grid.cell_bytes,
        band_bytes: grid.band_bytes,
        groups_per_band: grid.groups_per_band,
        stride_days: recording.stride_days,
        days: recording.frames.iter().map(|frame| frame.day).collect(),
    })?;
    let mut file = PartialFile::create(path, true)?;
    file.write_all(MAGIC).with_context(failed)?;
    file.write_all(&VERSION.to_le_bytes())
        .with_context(failed)?;
    file.write_all(&(header.len() as u32).to_le_bytes())
        .with_context(failed)?;
    file.write_all(&header).with_context(failed)?;
    // A quarter of the time that the usual level takes, for a sixth more bytes.
    let mut cells = ZlibEncoder::new(file, Compression::fast());
    cells
        .write_all(&encode(&recording.frames))
        .with_context(failed)?;
    cells.finish().with_context(failed)?.finish()?;
    Ok(())
}

/// Reads a map.
///
/// # Errors
/// The file cannot be read, is of a newer version, or is damaged.
pub fn read(path: &Path) -> crate::Result<Recording> {
    let bytes = fsage_input::bytes(path, MAX_BYTES as u64)
        .with_context(|| format!("{}: cannot read the block map", path.display()))?;
    let damaged = || {
        format!(
            "{}: expected a block map, found a damaged one; age the target again",
            path.display()
        )
    };
    let rest = bytes.strip_prefix(MAGIC).with_context(damaged)?;
    let (version, rest) = rest.split_first_chunk().with_context(damaged)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        bail!(
            "{}: a block map of version {version}, and this fsage reads version {VERSION}; use the fsage that made it",
            path.display()
        );
    }
    let (length, rest) = rest.split_first_chunk().with_context(damaged)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (header, cells) = rest.split_at_checked(length).with_context(damaged)?;
    let header: Header = serde_json::from_slice(header).with_context(damaged)?;
    recording(&header, cells).with_context(damaged)
}

/// `None` if the bytes are not what the header says.
fn recording(header: &Header, cells: &[u8]) -> Option<Recording> {
    let grid = Grid {
        groups_per_band: header.groups_per_band,
        ..Grid::cut(
            header.size_bytes,
            header.block_bytes,
            header.cell_bytes,
            header.band_bytes,
        )
    };
    let length = grid.cells.checked_mul(2)?.checked_mul(header.days.len())?;
    if length > MAX_BYTES || !header.days.is_sorted_by(|a, b| a < b) || header.stride_days == 0 {
        return None;
    }
    let mut bytes = Vec::new();
    let limit = length as u64 + 1;
    let mut cells = ZlibDecoder::new(cells).take(limit);
    cells.read_to_end(&mut bytes).ok()?;
    Some(Recording {
        stride_days: header.stride_days,
        frames: decode(&bytes, grid.cells, &header.days)?,
        grid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_metrics::block_map::{Cell, Frame};
    use std::fs;

    fn recording() -> Recording {
        let grid = Grid::cut(5 * 8192, 4096, 8192, 3 * 8192);
        Recording {
            stride_days: 4,
            frames: [0, 4, 9]
                .map(|day| Frame {
                    day,
                    cells: vec![Cell(day as u16 | Cell::CHANGED); 5],
                })
                .to_vec(),
            grid: Grid {
                groups_per_band: 2,
                ..grid
            },
        }
    }

    #[test]
    fn a_map_comes_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        write(&path, &recording()).expect("a file");
        assert_eq!(read(&path).expect("a map"), recording());
    }

    #[test]
    fn a_damaged_map_is_an_error_that_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        write(&path, &recording()).expect("a file");
        let bytes = fs::read(&path).expect("bytes");
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("a file");
            let error = read(&path).expect_err("cut short").to_string();
            assert!(error.contains("age the target again"), "{length}: {error}");
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, &bytes).expect("a file");
            // A digit of the header may have become another one; nothing worse comes of it.
            let _ = read(&path);
        }
        let mut newer = bytes.clone();
        newer[8] = 9;
        fs::write(&path, &newer).expect("a file");
        let error = read(&path).expect_err("another version").to_string();
        assert!(error.contains("version 9"), "{error}");
    }
}
