//! Where the data of a file lie: the extents that metrics look at.

use fsage_core::{Extent, FileView, Geometry};

/// Extents of the file's data that have a place on disk, none of it behind the end of the file.
///
/// Pointers, inline data and data without a block yet are left out. The last block, or fragment, is counted whole.
pub fn placed_data<'a>(
    file: &FileView<'a>,
    geometry: &Geometry,
) -> impl Iterator<Item = Extent> + use<'a> {
    let unit = u64::from(geometry.frag_bytes.max(1));
    let end = file.size_bytes.checked_next_multiple_of(unit);
    let end = end.unwrap_or(u64::MAX);
    let data = file.extents.unwrap_or_default().iter();
    data.filter(move |e| e.is_placed_data() && e.logical_bytes < end && e.length_bytes > 0)
        .map(move |e| Extent {
            length_bytes: e.length_bytes.min(end - e.logical_bytes),
            ..*e
        })
}

/// Address behind an extent. A layout may say anything.
pub fn end_of(extent: &Extent) -> u64 {
    extent.physical_bytes.saturating_add(extent.length_bytes)
}
