//! What the columns of two inodes of one number say of each other.

use crate::error::DataError;
use fsage_core::identity::{Content, Identity, Incarnation, Rule, has_lasting_inodes};
use fsage_core::snapshot::{Inode, SnapshotInfo, source_flags};
use fsage_core::{Extent, FileKind};

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
    fn incarnation(&self) -> Incarnation {
        let valid = self.source_flags & source_flags::GEN_VALID != 0;
        Incarnation {
            generation: self.generation.filter(|_| valid),
            btime_ns: self.btime_ns,
        }
    }

    /// What is known of the content, with where it lies.
    pub fn content<'a>(&self, extents: Option<&'a [Extent]>) -> Content<'a> {
        Content {
            kind: self.kind,
            size_bytes: self.size_bytes,
            mtime_ns: self.mtime_ns,
            extents,
        }
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
    identity: Identity,
    lasting_ino: bool,
}

impl Rules {
    pub fn new(
        identity: Identity,
        before: Option<&SnapshotInfo>,
        after: Option<&SnapshotInfo>,
    ) -> Rules {
        let lasting = |info: Option<&SnapshotInfo>| {
            info.is_some_and(|info| has_lasting_inodes(info.fs_type.as_deref()))
        };
        Rules {
            identity,
            lasting_ino: lasting(before) && lasting(after),
        }
    }

    /// Judges two inodes of one number.
    pub fn judge(self, a: &Facts, b: &Facts) -> Verdict {
        let (old, new) = (a.incarnation(), b.incarnation());
        let rule = self.identity.rule(self.lasting_ino, old, new);
        let same = rule.is_same(old, new);
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

    fn regular(size_bytes: u64, mtime_ns: Option<i64>) -> Facts {
        let mut inode = Inode::new(5, None, FileKind::Regular, size_bytes);
        inode.mtime_ns = mtime_ns;
        Facts::from(&inode)
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
