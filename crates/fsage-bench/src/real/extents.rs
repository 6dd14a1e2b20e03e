//! Where the data of files lie, by `FIEMAP`.

use fsage_core::Extent;
use fsage_linux::fiemap::Fiemap;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;

/// Asks for extents, with buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Extents {
    fiemap: Fiemap,
    found: Vec<Extent>,
}

impl Extents {
    /// Extents of a file; `None` where its file system does not say.
    ///
    /// # Errors
    /// Metadata cannot be read.
    pub fn of(&mut self, file: impl AsFd) -> io::Result<Option<&[Extent]>> {
        match self.fiemap.extents(file, &mut self.found) {
            Ok(()) => Ok(Some(&self.found)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::OPNOTSUPP | Errno::NOTTY) => Ok(None),
                _ => Err(error),
            },
        }
    }
}

/// Bytes of a file of that size that were allocated and never written, or have no block yet.
pub(super) fn unwritten_bytes(extents: &[Extent], size_bytes: u64) -> u64 {
    let never = extents
        .iter()
        .filter(|extent| extent.flags & (Extent::UNWRITTEN | Extent::DELALLOC) != 0);
    never
        .map(|extent| {
            let end = extent.logical_bytes.saturating_add(extent.length_bytes);
            end.min(size_bytes).saturating_sub(extent.logical_bytes)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is preallocated behind the end of a file (XFS does so) is never read.
    #[test]
    fn space_behind_the_end_does_not_count_as_unwritten() {
        let extent = |logical_bytes, length_bytes, flags| Extent {
            logical_bytes,
            physical_bytes: 1 << 20,
            length_bytes,
            flags,
        };
        let written = extent(0, 8192, 0);
        assert_eq!(unwritten_bytes(&[written], 8192), 0);
        let behind = [written, extent(8192, 65_536, Extent::UNWRITTEN)];
        assert_eq!(unwritten_bytes(&behind, 8192), 0);
        assert_eq!(unwritten_bytes(&behind, 10_000), 1808);
        let delayed = [written, extent(8192, 4096, Extent::DELALLOC)];
        assert_eq!(unwritten_bytes(&delayed, 12_288), 4096);
    }
}
