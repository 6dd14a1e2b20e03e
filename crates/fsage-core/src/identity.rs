//! Whether two inodes of one number are the same file, and what was done to it (snapshot format, section 4;
//! workload format, section 6.4).

use crate::layout::{Extent, FileKind};
use crate::snapshot::{Inode, source_flags};

/// What tells files apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// The best that both inodes have: generation, birth time, number.
    #[default]
    Auto,
    /// Generation where both have it, else the number alone.
    Generation,
    /// Birth time where both have it, else the number alone.
    Birth,
    /// The number alone.
    Ino,
}

/// The rule that one pair of inodes was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Number and generation.
    Generation,
    /// Number and birth time.
    Birth,
    /// The number, where the file system never uses one again (btrfs).
    LastingIno,
    /// The number alone: a change may be a modification or a replacement.
    Ino,
}

/// What was done to a file that is still the same (workload format, section 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modification {
    /// Neither data nor size: permissions, links, names.
    Attributes,
    /// Same size, same blocks.
    Overwrite,
    /// The old blocks, and more after them.
    Append,
    /// The first of the old blocks.
    Truncate,
    /// Other blocks.
    Rewrite,
    /// No block lists: cannot be told. Also what is not a regular file.
    Unknown,
}

impl Modification {
    /// One word.
    pub fn as_str(self) -> &'static str {
        match self {
            Modification::Attributes => "attributes",
            Modification::Overwrite => "overwrite",
            Modification::Append => "append",
            Modification::Truncate => "truncate",
            Modification::Rewrite => "rewrite",
            Modification::Unknown => "unknown",
        }
    }
}

/// What tells one file from another that had its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incarnation {
    /// The generation, where it identifies an incarnation of the inode.
    pub generation: Option<u32>,
    /// Birth time, nanoseconds since 1970 UTC.
    pub btime_ns: Option<i64>,
}

impl Incarnation {
    /// That of a row.
    pub fn of(inode: &Inode) -> Incarnation {
        let valid = inode.source_flags & source_flags::GEN_VALID != 0;
        Incarnation {
            generation: inode.generation.filter(|_| valid),
            btime_ns: inode.btime_ns,
        }
    }
}

impl Identity {
    /// The rule for two inodes of one number. `lasting_ino`: the file system gives no number out again.
    pub fn rule(self, lasting_ino: bool, a: Incarnation, b: Incarnation) -> Rule {
        let generation = matches!(self, Identity::Auto | Identity::Generation);
        let birth = matches!(self, Identity::Auto | Identity::Birth);
        if generation && a.generation.is_some() && b.generation.is_some() {
            Rule::Generation
        } else if birth && a.btime_ns.is_some() && b.btime_ns.is_some() {
            Rule::Birth
        } else if lasting_ino {
            Rule::LastingIno
        } else {
            Rule::Ino
        }
    }
}

impl Rule {
    /// Whether two inodes of one number are the same file, by this rule.
    pub fn is_same(self, a: Incarnation, b: Incarnation) -> bool {
        match self {
            Rule::Generation => a.generation == b.generation,
            Rule::Birth => a.btime_ns == b.btime_ns,
            Rule::LastingIno | Rule::Ino => true,
        }
    }
}

/// Whether this type of file system gives no inode number out again.
pub fn has_lasting_inodes(fs_type: Option<&str>) -> bool {
    fs_type == Some("btrfs")
}

/// What a snapshot knows of the content of a file.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// What it is.
    pub kind: FileKind,
    /// Its length.
    pub size_bytes: u64,
    /// Data modification time, nanoseconds since 1970 UTC.
    pub mtime_ns: Option<i64>,
    /// Where it lies; `None` where that was not collected.
    pub extents: Option<&'a [Extent]>,
}

impl Content<'_> {
    /// That of a row.
    pub fn of(inode: &Inode) -> Content<'_> {
        Content {
            kind: inode.kind,
            size_bytes: inode.size_bytes,
            mtime_ns: inode.mtime_ns,
            extents: inode.extents.as_deref(),
        }
    }
}

/// What was done to a file whose change time differs.
///
/// It recovers what changed on disk, not which call was made: a file that was truncated and written into the same
/// blocks again reads as overwritten, which leaves the same layout.
pub fn modification(a: Content<'_>, b: Content<'_>) -> Modification {
    let same_mtime = a.mtime_ns.is_some() && a.mtime_ns == b.mtime_ns;
    let same_size = a.size_bytes == b.size_bytes;
    let (Some(before), Some(after)) = (a.extents, b.extents) else {
        // Without block lists an unchanged time of the data says that they stayed.
        return if same_mtime && same_size {
            Modification::Attributes
        } else {
            Modification::Unknown
        };
    };
    let (before, after) = (data(before), data(after));
    let same_blocks =
        before.len() == after.len() && begins_with(after, before) && begins_with(before, after);
    if same_mtime && same_size && same_blocks {
        Modification::Attributes
    } else if b.kind != FileKind::Regular {
        Modification::Unknown
    } else if same_size && same_blocks {
        Modification::Overwrite
    } else if b.size_bytes > a.size_bytes && begins_with(after, before) {
        Modification::Append
    } else if b.size_bytes < a.size_bytes && begins_with(before, after) {
        Modification::Truncate
    } else {
        Modification::Rewrite
    }
}

/// The extents that hold data; blocks of pointers come after them.
fn data(extents: &[Extent]) -> &[Extent] {
    let pointers = extents.iter().position(Extent::is_pointers);
    &extents[..pointers.unwrap_or(extents.len())]
}

/// Whether the block list `longer` begins with all of `shorter`. The last extent of `shorter` may have grown.
fn begins_with(longer: &[Extent], shorter: &[Extent]) -> bool {
    let Some((last, all)) = shorter.split_last() else {
        return true;
    };
    let place = |e: &Extent| (e.logical_bytes, e.physical_bytes);
    let same =
        |(a, b): (&Extent, &Extent)| place(a) == place(b) && a.length_bytes == b.length_bytes;
    longer.len() >= shorter.len()
        && all.iter().zip(longer).all(same)
        && longer
            .get(all.len())
            .is_some_and(|e| place(e) == place(last) && e.length_bytes >= last.length_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(list: &[(u64, u64, u64)]) -> Vec<Extent> {
        let extent = |&(logical_bytes, physical_bytes, length_bytes)| Extent {
            logical_bytes,
            physical_bytes,
            length_bytes,
            flags: 0,
        };
        list.iter().map(extent).collect()
    }

    fn regular(size_bytes: u64, mtime_ns: Option<i64>, extents: Option<&[Extent]>) -> Content<'_> {
        Content {
            kind: FileKind::Regular,
            size_bytes,
            mtime_ns,
            extents,
        }
    }

    /// The table of the workload format, section 6.4, row by row.
    #[test]
    fn a_modification_is_told_from_times_sizes_and_blocks() {
        let one = extents(&[(0, 4096, 1024)]);
        let grown = extents(&[(0, 4096, 2048), (2048, 99_328, 1024)]);
        let other = extents(&[(0, 8192, 1024)]);
        let judge = |a: (u64, Option<i64>, &[Extent]), b: (u64, Option<i64>, &[Extent])| {
            modification(regular(a.0, a.1, Some(a.2)), regular(b.0, b.1, Some(b.2)))
        };
        assert_eq!(
            judge((9, Some(1), &one), (9, Some(1), &one)),
            Modification::Attributes
        );
        assert_eq!(
            judge((9, Some(1), &one), (9, Some(2), &one)),
            Modification::Overwrite
        );
        assert_eq!(
            judge((9, None, &one), (9, None, &one)),
            Modification::Overwrite
        );
        assert_eq!(
            judge((9, None, &one), (10, None, &one)),
            Modification::Append
        );
        assert_eq!(
            judge((9, None, &one), (3000, None, &grown)),
            Modification::Append
        );
        assert_eq!(
            judge((0, None, &[]), (3000, None, &grown)),
            Modification::Append
        );
        assert_eq!(
            judge((3000, None, &grown), (9, None, &one)),
            Modification::Truncate
        );
        assert_eq!(
            judge((3000, None, &grown), (0, None, &[])),
            Modification::Truncate
        );
        assert_eq!(
            judge((9, None, &one), (9, None, &other)),
            Modification::Rewrite
        );
        assert_eq!(
            judge((9, None, &one), (3000, None, &other)),
            Modification::Rewrite
        );
        assert_eq!(
            modification(regular(9, Some(1), None), regular(9, Some(1), None)),
            Modification::Attributes
        );
        assert_eq!(
            modification(regular(9, Some(1), None), regular(8, Some(1), None)),
            Modification::Unknown
        );
    }
}
