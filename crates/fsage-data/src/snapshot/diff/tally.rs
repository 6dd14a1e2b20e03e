//! Counts changes and hands them on.

use super::identity::{Facts, Rules, Verdict, moved};
use super::report::{Counts, DiffReport};
use crate::error::DataError;
use fsage_core::identity::{Modification, Rule, modification};
use fsage_core::snapshot::SnapshotInfo;
use fsage_core::{Extent, FileKind};

/// An inode on one side of a change.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// All columns of fixed width.
    pub facts: Facts,
    /// Its path, where it was collected.
    pub path: Option<&'a str>,
    /// Its extents, where they were collected.
    pub extents: Option<&'a [Extent]>,
}

/// What happened to an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Create,
    /// It is gone.
    Delete,
    /// Another file has its number.
    Replace,
    /// It changed.
    Modify(Modification),
    /// It is as it was, but for its name.
    Rename,
}

impl ChangeKind {
    /// One word.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Create => "create",
            ChangeKind::Delete => "delete",
            ChangeKind::Replace => "replace",
            ChangeKind::Modify(_) => "modify",
            ChangeKind::Rename => "rename",
        }
    }
}

/// A change that was found.
#[derive(Clone, Copy, Debug)]
pub struct FoundChange<'a> {
    /// What happened.
    pub kind: ChangeKind,
    /// The inode in the earlier snapshot.
    pub before: Option<Side<'a>>,
    /// The inode in the later snapshot.
    pub after: Option<Side<'a>>,
    /// Whether it has another name or directory.
    pub renamed: bool,
    /// Whether only the inode number says that it is the same file.
    pub guessed: bool,
}

/// Takes pairs of inodes, counts, and gives changes to `list`.
pub(super) struct Tally<'l> {
    pub rules: Rules,
    /// End of the walk of the later snapshot.
    walk_end_ns: Option<i64>,
    report: DiffReport,
    list: &'l mut dyn FnMut(&FoundChange<'_>) -> Result<(), DataError>,
}

impl<'l> Tally<'l> {
    pub fn new(
        rules: Rules,
        after: Option<&SnapshotInfo>,
        list: &'l mut dyn FnMut(&FoundChange<'_>) -> Result<(), DataError>,
    ) -> Tally<'l> {
        let walk_end_ns = after.map(|info| {
            let walk_ns = i64::try_from(info.walk_ns.unwrap_or(0)).unwrap_or(i64::MAX);
            info.taken_at_ns.saturating_add(walk_ns)
        });
        Tally {
            rules,
            walk_end_ns,
            report: DiffReport::default(),
            list,
        }
    }

    pub fn finish(mut self) -> DiffReport {
        let both = self.report.regular.modify + self.report.regular.unchanged;
        let warnings = &mut self.report.warnings;
        warnings.mostly_only_ctime = u64::from(warnings.only_ctime_changed > both / 2);
        self.report
    }

    /// Counts for all inodes and, if it is one, for regular files.
    fn count(&mut self, kind: FileKind, add: impl Fn(&mut Counts)) {
        add(&mut self.report.all);
        if kind == FileKind::Regular {
            add(&mut self.report.regular);
        }
    }

    /// Inodes of which `regular` are regular files that are as they were.
    pub fn unchanged(&mut self, inodes: u64, regular: u64) {
        for (counts, n) in [
            (&mut self.report.all, inodes),
            (&mut self.report.regular, regular),
        ] {
            counts.before += n;
            counts.after += n;
            counts.unchanged += n;
        }
    }

    /// An inode that has no counterpart of its number.
    pub fn alone(
        &mut self,
        before: Option<Side<'_>>,
        after: Option<Side<'_>>,
    ) -> Result<(), DataError> {
        let mut kind = ChangeKind::Delete;
        if let Some(side) = &before {
            self.count(side.facts.kind, |counts| {
                counts.before += 1;
                counts.delete += 1;
            });
        }
        if let Some(side) = &after {
            kind = ChangeKind::Create;
            self.check_time(&side.facts);
            self.count(side.facts.kind, |counts| {
                counts.after += 1;
                counts.create += 1;
            });
        }
        (self.list)(&FoundChange {
            kind,
            before,
            after,
            renamed: false,
            guessed: false,
        })
    }

    /// Two inodes of one number, and what their fixed columns say.
    pub fn pair(&mut self, verdict: Verdict, a: Side<'_>, b: Side<'_>) -> Result<(), DataError> {
        let (before, after) = (a.facts, b.facts);
        let rule = match verdict {
            Verdict::Unchanged => {
                self.unchanged(1, u64::from(after.kind == FileKind::Regular));
                return Ok(());
            }
            Verdict::Timeless(_) if a.extents == b.extents && a.path == b.path => {
                self.unchanged(1, u64::from(after.kind == FileKind::Regular));
                return Ok(());
            }
            Verdict::Replaced(rule) | Verdict::Contradiction(rule) => {
                self.report.judged.add(rule);
                let contradiction = matches!(verdict, Verdict::Contradiction(_));
                self.report.warnings.type_differs += u64::from(contradiction);
                return self.replaced(a, b);
            }
            Verdict::Odd(rule) | Verdict::Changed(rule) | Verdict::Timeless(rule) => rule,
        };
        self.report.judged.add(rule);
        self.check_time(&after);
        let renamed = moved(&before, &after, a.path, b.path);
        let odd = matches!(verdict, Verdict::Odd(_));
        let kind = if odd {
            ChangeKind::Rename
        } else {
            ChangeKind::Modify(modification(
                before.content(a.extents),
                after.content(b.extents),
            ))
        };
        let guessed = rule == Rule::Ino && !odd;
        self.report.warnings.same_ctime_other_column += u64::from(odd);
        let times = before.ctime_ns.zip(after.ctime_ns);
        self.report.warnings.ctime_back += u64::from(times.is_some_and(|(old, new)| new < old));
        let only_ctime = !odd
            && before.ctime_ns != after.ctime_ns
            && before.mtime_ns.is_some()
            && before.mtime_ns == after.mtime_ns
            && after.kind == FileKind::Regular;
        self.report.warnings.only_ctime_changed += u64::from(only_ctime);
        self.count(after.kind, |counts| {
            counts.before += 1;
            counts.after += 1;
            counts.rename += u64::from(renamed && !guessed);
            counts.maybe_renamed += u64::from(renamed && guessed);
            counts.maybe_replaced += u64::from(guessed);
            if let ChangeKind::Modify(what) = kind {
                counts.modify += 1;
                counts.modified.add(what);
            } else {
                counts.unchanged += 1;
            }
        });
        if odd && !renamed {
            return Ok(());
        }
        (self.list)(&FoundChange {
            kind,
            before: Some(a),
            after: Some(b),
            renamed,
            guessed,
        })
    }

    fn replaced(&mut self, a: Side<'_>, b: Side<'_>) -> Result<(), DataError> {
        self.check_time(&b.facts);
        self.count(a.facts.kind, |counts| {
            counts.before += 1;
            counts.delete += 1;
        });
        self.count(b.facts.kind, |counts| {
            counts.after += 1;
            counts.create += 1;
            counts.replace += 1;
        });
        (self.list)(&FoundChange {
            kind: ChangeKind::Replace,
            before: Some(a),
            after: Some(b),
            renamed: false,
            guessed: false,
        })
    }

    fn check_time(&mut self, after: &Facts) {
        let limit = self.walk_end_ns.unwrap_or(i64::MAX);
        let future = after.ctime_ns.is_some_and(|ctime| ctime > limit);
        self.report.warnings.ctime_in_future += u64::from(future);
    }
}
