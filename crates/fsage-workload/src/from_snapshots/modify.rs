//! What happened to a file that changed, as far as its size, times and blocks tell.

use super::options::Modifications;
use fsage_core::Extent;
use fsage_core::snapshot::Inode;

/// What a changed file becomes in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modification {
    /// Its content did not change: owner, mode, links, name.
    None,
    /// Written in place; an upper bound of what was written.
    Overwrite,
    /// So many bytes at the end.
    Append(u64),
    /// Cut to this size.
    Truncate(u64),
    /// Truncated, and written anew.
    Rewrite,
}

/// The first rule that holds (workload format, section 6.4):
///
/// | observation | operation |
/// |---|---|
/// | same modification time, size and blocks | none |
/// | same size and blocks | overwrite of the whole file |
/// | the blocks begin with all of before, size grew | append of the difference |
/// | the blocks before begin with all of now, size shrank | truncate |
/// | otherwise | rewrite |
///
/// Where there are fragments, the last block of a file that grows may move, so only whole blocks before it
/// count. It recovers what changed on disk, not which call was made: a file that was truncated and written
/// into the same blocks again reads as overwritten, which leaves the same layout.
pub(super) fn modification(
    before: &Inode,
    after: &Inode,
    block_bytes: u64,
    fragments: bool,
    how: Modifications,
) -> Modification {
    let same_size = before.size_bytes == after.size_bytes;
    let same_mtime = before.mtime_ns.is_some() && before.mtime_ns == after.mtime_ns;
    let same_blocks = before.extents == after.extents;
    let same_ctime = before.ctime_ns == after.ctime_ns;
    if same_size && same_blocks && (same_ctime || same_mtime) {
        return Modification::None;
    }
    let extents = before.extents.as_deref().zip(after.extents.as_deref());
    let (Modifications::Observed, Some((old, new))) = (how, extents) else {
        return Modification::Rewrite;
    };
    if same_size && same_blocks {
        return Modification::Overwrite;
    }
    if after.size_bytes > before.size_bytes {
        let whole = match before.size_bytes.checked_rem(block_bytes) {
            Some(tail) if fragments => before.size_bytes - tail,
            _ => u64::MAX,
        };
        if whole > 0 && begins_with(new, old, whole) {
            return Modification::Append(after.size_bytes - before.size_bytes);
        }
    } else if after.size_bytes < before.size_bytes && begins_with(old, new, u64::MAX) {
        return Modification::Truncate(after.size_bytes);
    }
    Modification::Rewrite
}

/// Whether every byte of `short` below `end` lies at the same place in `long`; false if there is none.
fn begins_with(long: &[Extent], short: &[Extent], end: u64) -> bool {
    let data = |extents: &[Extent]| -> Vec<Extent> {
        let data = extents.iter().filter(|e| !e.is_pointers());
        data.copied().collect()
    };
    let (long, short) = (data(long), data(short));
    let mut any = false;
    for extent in &short {
        let mut at = extent.logical_bytes;
        let stop = at.saturating_add(extent.length_bytes).min(end);
        while at < stop {
            let after = long.partition_point(|e| e.logical_bytes <= at);
            let Some(other) = after.checked_sub(1).map(|i| long[i]) else {
                return false;
            };
            let reach = other.logical_bytes.saturating_add(other.length_bytes);
            let offset = at - extent.logical_bytes;
            let other_offset = at - other.logical_bytes;
            let here = extent.physical_bytes.checked_add(offset);
            if at >= reach || here != other.physical_bytes.checked_add(other_offset) {
                return false;
            }
            any = true;
            at = reach.min(stop);
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::FileKind;

    fn file(size: u64, mtime: i64, extents: &[(u64, u64, u64)]) -> Inode {
        let extents = extents.iter().map(|&(logical, physical, length)| Extent {
            logical_bytes: logical,
            physical_bytes: physical,
            length_bytes: length,
            flags: 0,
        });
        Inode {
            ctime_ns: Some(mtime),
            mtime_ns: Some(mtime),
            extents: Some(extents.collect()),
            ..Inode::new(7, Some(1), FileKind::Regular, size)
        }
    }

    fn kind(before: &Inode, after: &Inode) -> Modification {
        modification(before, after, 8192, true, Modifications::Observed)
    }

    #[test]
    fn blocks_tell_what_was_done() {
        let before = file(20_000, 1, &[(0, 65_536, 16_384), (16_384, 32_768, 4096)]);
        let chmod = Inode {
            ctime_ns: Some(9),
            ..before.clone()
        };
        assert_eq!(kind(&before, &chmod), Modification::None);
        let touched = Inode {
            ctime_ns: Some(9),
            mtime_ns: Some(9),
            ..before.clone()
        };
        assert_eq!(kind(&before, &touched), Modification::Overwrite);
        // The tail of 4 KB became a block elsewhere.
        let grown = file(30_000, 9, &[(0, 65_536, 16_384), (16_384, 131_072, 14_336)]);
        assert_eq!(kind(&before, &grown), Modification::Append(10_000));
        let cut = file(10_000, 9, &[(0, 65_536, 10_240)]);
        assert_eq!(kind(&before, &cut), Modification::Truncate(10_000));
        let moved = file(10_000, 9, &[(0, 8192, 10_240)]);
        assert_eq!(kind(&before, &moved), Modification::Rewrite);
        let emptied = file(0, 9, &[]);
        assert_eq!(kind(&before, &emptied), Modification::Rewrite);
    }

    #[test]
    fn without_blocks_a_changed_file_is_rewritten() {
        let before = Inode {
            extents: None,
            ..file(100, 1, &[])
        };
        let after = Inode {
            ctime_ns: Some(9),
            mtime_ns: Some(9),
            ..before.clone()
        };
        assert_eq!(kind(&before, &after), Modification::Rewrite);
        let chmod = Inode {
            mtime_ns: Some(1),
            ..after
        };
        assert_eq!(kind(&before, &chmod), Modification::None);
    }
}
