//! What a changed file becomes in the workload.

use super::options::Modifications;
use fsage_core::identity::{self, Content};
use fsage_core::snapshot::Inode;

/// What a changed file becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modification {
    /// Nothing: its content did not change, but owner, mode, links or name.
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

/// What became of a file, as far as its times, size and blocks tell (see [`identity::modification`]). On FFS a file
/// that grew in place but for its last fragments reads as rewritten; as many are, as histories of rewrites show.
pub(super) fn modification(before: &Inode, after: &Inode, how: Modifications) -> Modification {
    let same = before.size_bytes == after.size_bytes && before.extents == after.extents;
    if same && before.ctime_ns == after.ctime_ns {
        return Modification::None;
    }
    let modification = identity::modification(Content::of(before), Content::of(after));
    match modification {
        identity::Modification::Attributes => Modification::None,
        _ if how == Modifications::Rewrite => Modification::Rewrite,
        identity::Modification::Overwrite => Modification::Overwrite,
        identity::Modification::Append => {
            Modification::Append(after.size_bytes - before.size_bytes)
        }
        identity::Modification::Truncate => Modification::Truncate(after.size_bytes),
        identity::Modification::Rewrite | identity::Modification::Unknown => Modification::Rewrite,
    }
}
