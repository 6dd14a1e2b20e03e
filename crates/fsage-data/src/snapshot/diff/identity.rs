//! Whether two inodes of one number are the same file, and what was done to it.

use crate::error::DataError;
use fsage_core::snapshot::{Inode, SnapshotInfo, source_flags};
use fsage_core::{Extent, FileKind};

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

/// The columns of an inode that have a fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Facts {
    pub ino: u64,
    pub generation: Option<u32>,
    pub kind: FileKind,
    pub size_bytes: u64,
    pub alloc_bytes: Option<u64>,
    pub ctime_ns: Option<i64>,
    pub mtime_ns: Option<i64>,
    pub btime_ns: Option<i64>,
    pub links: Option<u32>,
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub parent_ino: Option<u64>,
    pub source_flags: u32,
}

impl From<&Inode> for Facts {
    fn from(inode: &Inode) -> Facts {
        Facts {
            ino: inode.ino,
            generation: inode.generation,
            kind: inode.kind,
            size_bytes: inode.size_bytes,
            alloc_bytes: inode.alloc_bytes,
            ctime_ns: inode.ctime_ns,
            mtime_ns: inode.mtime_ns,
            btime_ns: inode.btime_ns,
            links: inode.links,
            mode: inode.mode,
            uid: inode.uid,
            gid: inode.gid,
            parent_ino: inode.parent_ino,
            source_flags: inode.source_flags,
        }
    }
}

impl Facts {
    fn has_generation(&self) -> bool {
        self.generation.is_some() && self.source_flags & source_flags::GEN_VALID != 0
    }
}

/// What the fixed columns of two inodes of one number say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The same file, as it was.
    Unchanged,
    /// The same file, with the same change time, but another column differs.
    Odd(Rule),
    /// The same file, changed; by number alone perhaps another file.
    Changed(Rule),
    /// The same file, of which no change time says whether it changed; its fixed columns are equal.
    Timeless(Rule),
    /// Another file in its place.
    Replaced(Rule),
    /// Another file, for it has another type, though the rule says the same.
    Contradiction(Rule),
}

/// Which rules may be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    generation: bool,
    birth: bool,
    lasting_ino: bool,
}

impl Rules {
    pub fn new(
        identity: Identity,
        before: Option<&SnapshotInfo>,
        after: Option<&SnapshotInfo>,
    ) -> Rules {
        let btrfs = |info: Option<&SnapshotInfo>| {
            info.is_some_and(|info| info.fs_type.as_deref() == Some("btrfs"))
        };
        Rules {
            generation: matches!(identity, Identity::Auto | Identity::Generation),
            birth: matches!(identity, Identity::Auto | Identity::Birth),
            lasting_ino: btrfs(before) && btrfs(after),
        }
    }

    /// One rule for this pair.
    fn rule(self, a: &Facts, b: &Facts) -> Rule {
        if self.generation && a.has_generation() && b.has_generation() {
            Rule::Generation
        } else if self.birth && a.btime_ns.is_some() && b.btime_ns.is_some() {
            Rule::Birth
        } else if self.lasting_ino {
            Rule::LastingIno
        } else {
            Rule::Ino
        }
    }

    /// Judges two inodes of one number.
    pub fn judge(self, a: &Facts, b: &Facts) -> Verdict {
        let rule = self.rule(a, b);
        let same = match rule {
            Rule::Generation => a.generation == b.generation,
            Rule::Birth => a.btime_ns == b.btime_ns,
            Rule::LastingIno | Rule::Ino => true,
        };
        if !same {
            return Verdict::Replaced(rule);
        }
        if a.kind != b.kind {
            return match rule {
                Rule::Ino => Verdict::Replaced(rule),
                _ => Verdict::Contradiction(rule),
            };
        }
        let same_columns = a
            == &Facts {
                // Of one file under a rule that does not look at it.
                generation: a.generation,
                ..*b
            };
        if a.ctime_ns.is_none() || b.ctime_ns.is_none() {
            return if same_columns {
                Verdict::Timeless(rule)
            } else {
                Verdict::Changed(rule)
            };
        }
        if a.ctime_ns != b.ctime_ns {
            return Verdict::Changed(rule);
        }
        if same_columns {
            Verdict::Unchanged
        } else if rule == Rule::Ino
            && (a.size_bytes, a.alloc_bytes) != (b.size_bytes, b.alloc_bytes)
        {
            Verdict::Changed(rule)
        } else {
            Verdict::Odd(rule)
        }
    }
}

/// What was done to a file whose change time differs.
pub(super) fn modification(
    a: &Facts,
    b: &Facts,
    a_extents: Option<&[Extent]>,
    b_extents: Option<&[Extent]>,
) -> Modification {
    let same_mtime = a.mtime_ns.is_some() && a.mtime_ns == b.mtime_ns;
    let same_size = a.size_bytes == b.size_bytes;
    let (Some(before), Some(after)) = (a_extents, b_extents) else {
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

/// Whether a file has another name or directory. A path that differs only because a directory above was renamed
/// is none, as far as `parent_ino` tells.
pub(super) fn moved(a: &Facts, b: &Facts, a_path: Option<&str>, b_path: Option<&str>) -> bool {
    let name = |path: &str| {
        path.rsplit_once('/')
            .map_or(0, |(parent, _)| parent.len() + 1)
    };
    match (a.parent_ino.zip(b.parent_ino), a_path.zip(b_path)) {
        (Some((old, new)), _) if old != new => true,
        (Some(_), Some((old, new))) => old[name(old)..] != new[name(new)..],
        (None, Some((old, new))) => old != new,
        (_, None) => false,
    }
}

/// Pairs the inodes of one number, sorted by generation on both sides: first those of equal generation, then the
/// others in order. What is left has one side only.
pub(super) fn pair_up<T>(
    before: Vec<T>,
    after: Vec<T>,
    generation: impl Fn(&T) -> Option<u32>,
    mut pair: impl FnMut(Option<T>, Option<T>) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let (mut olds, mut news) = (Vec::new(), Vec::new());
    let mut after = after.into_iter().peekable();
    for old in before {
        while let Some(new) = after.next_if(|new| generation(new) < generation(&old)) {
            news.push(new);
        }
        match after.next_if(|new| generation(new) == generation(&old)) {
            Some(new) => pair(Some(old), Some(new))?,
            None => olds.push(old),
        }
    }
    news.extend(after);
    let (mut olds, mut news) = (olds.into_iter(), news.into_iter());
    loop {
        match (olds.next(), news.next()) {
            (None, None) => return Ok(()),
            (old, new) => pair(old, new)?,
        }
    }
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

    fn regular(size_bytes: u64, mtime_ns: Option<i64>) -> Facts {
        let mut inode = Inode::new(5, None, FileKind::Regular, size_bytes);
        inode.mtime_ns = mtime_ns;
        Facts::from(&inode)
    }

    /// The table of the workload format, section 6.4, row by row.
    #[test]
    fn a_modification_is_told_from_times_sizes_and_blocks() {
        let one = extents(&[(0, 4096, 1024)]);
        let grown = extents(&[(0, 4096, 2048), (2048, 99_328, 1024)]);
        let other = extents(&[(0, 8192, 1024)]);
        let judge = |a: (u64, Option<i64>, &[Extent]), b: (u64, Option<i64>, &[Extent])| {
            modification(&regular(a.0, a.1), &regular(b.0, b.1), Some(a.2), Some(b.2))
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
            modification(&regular(9, Some(1)), &regular(9, Some(1)), None, None),
            Modification::Attributes
        );
        assert_eq!(
            modification(&regular(9, Some(1)), &regular(8, Some(1)), None, None),
            Modification::Unknown
        );
    }

    #[test]
    fn a_renamed_directory_does_not_rename_what_is_in_it() {
        let mut a = regular(1, None);
        assert!(moved(&a, &a, Some("d/x"), Some("e/x")));
        assert!(!moved(&a, &a, Some("d/x"), None));
        a.parent_ino = Some(7);
        assert!(!moved(&a, &a, Some("d/x"), Some("e/x")));
        assert!(moved(&a, &a, Some("d/x"), Some("d/y")));
        let b = Facts {
            parent_ino: Some(8),
            ..a
        };
        assert!(moved(&a, &b, None, None));
    }
}
