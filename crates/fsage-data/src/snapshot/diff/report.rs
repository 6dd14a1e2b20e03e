//! The numbers of a comparison.

use fsage_core::identity::{Modification, Rule};
use serde::Serialize;
use std::ops::AddAssign;

/// What happened between two snapshots, or, summed up, in a series of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffReport {
    /// Number of the earlier snapshot.
    pub before_snap_id: u32,
    /// Number of the later snapshot.
    pub after_snap_id: u32,
    /// When the earlier one was taken, ns since 1970 UTC.
    pub before_taken_at_ns: Option<i64>,
    /// When the later one was taken.
    pub after_taken_at_ns: Option<i64>,
    /// Regular files.
    pub regular: Counts,
    /// Inodes of every type.
    pub all: Counts,
    /// How the changed inodes that have a number in common were judged.
    pub judged: Judged,
    /// What looks wrong.
    pub warnings: Warnings,
}

/// Changes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Inodes of the earlier snapshot.
    pub before: u64,
    /// Inodes of the later snapshot.
    pub after: u64,
    /// Made, replacements included.
    pub create: u64,
    /// Gone, replacements included.
    pub delete: u64,
    /// Of these the ones whose inode number has another file: delete and create.
    pub replace: u64,
    /// Changed.
    pub modify: u64,
    /// What was changed; sums up to `modify`.
    pub modified: Modified,
    /// With another name or directory; besides, they are modified or unchanged.
    pub rename: u64,
    /// As they were.
    pub unchanged: u64,
    /// Of `modify` those that may be replacements: only the inode number says that it is the same file.
    pub maybe_replaced: u64,
    /// Of these, inodes under another name or in another directory: renamed, or another file.
    pub maybe_renamed: u64,
}

/// Modifications by what they did (workload format, section 6.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Modified {
    /// Neither data nor size.
    pub attributes: u64,
    /// Same size, same blocks.
    pub overwrite: u64,
    /// More blocks after the old ones.
    pub append: u64,
    /// The first of the old blocks.
    pub truncate: u64,
    /// Other blocks.
    pub rewrite: u64,
    /// Cannot be told without block lists, or no regular file.
    pub unknown: u64,
}

/// Pairs of inodes of one number that are not unchanged, by the rule that told whether they are one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// By generation.
    pub generation: u64,
    /// By birth time.
    pub birth: u64,
    /// By the number, which the file system never uses again.
    pub lasting_ino: u64,
    /// By the number alone: guessed.
    pub ino: u64,
}

/// What looks wrong in two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Warnings {
    /// Inodes whose change time stayed though another column differs: a clock or a tool was wrong.
    pub same_ctime_other_column: u64,
    /// Inodes with the same identity and another type: counted as replaced.
    pub type_differs: u64,
    /// New or changed inodes whose change time lies after the snapshot.
    pub ctime_in_future: u64,
    /// Changed inodes whose change time went back.
    pub ctime_back: u64,
    /// Regular files of both snapshots whose change time differs and the time of their data does not.
    pub only_ctime_changed: u64,
    /// Comparisons in which these are more than half of the regular files of both: a backup or a relabeling run
    /// touched them.
    pub mostly_only_ctime: u64,
}

impl Warnings {
    /// One line for each that there is, for people.
    pub fn lines(&self) -> Vec<String> {
        let kinds = [
            (
                self.same_ctime_other_column,
                "inodes kept their change time though another column differs: a clock or the tool was wrong",
            ),
            (
                self.type_differs,
                "inodes have the same identity and another type; they are counted as replaced",
            ),
            (
                self.ctime_in_future,
                "new or changed inodes have a change time after the snapshot: a clock was wrong, or they changed \
                 during the walk",
            ),
            (
                self.ctime_back,
                "changed inodes have an earlier change time than before: a clock was set back",
            ),
            (
                self.mostly_only_ctime,
                "comparisons in which more than half of the regular files changed with equal modification time: a \
                 backup or a relabeling run touched them",
            ),
        ];
        let found = kinds.into_iter().filter(|(count, _)| *count > 0);
        found
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}

impl Judged {
    pub(super) fn add(&mut self, rule: Rule) {
        *match rule {
            Rule::Generation => &mut self.generation,
            Rule::Birth => &mut self.birth,
            Rule::LastingIno => &mut self.lasting_ino,
            Rule::Ino => &mut self.ino,
        } += 1;
    }
}

impl Modified {
    pub(super) fn add(&mut self, what: Modification) {
        *match what {
            Modification::Attributes => &mut self.attributes,
            Modification::Overwrite => &mut self.overwrite,
            Modification::Append => &mut self.append,
            Modification::Truncate => &mut self.truncate,
            Modification::Rewrite => &mut self.rewrite,
            Modification::Unknown => &mut self.unknown,
        } += 1;
    }
}

/// Sums up comparisons that follow each other: from the first snapshot to the last.
impl AddAssign<&DiffReport> for DiffReport {
    fn add_assign(&mut self, next: &DiffReport) {
        self.after_snap_id = next.after_snap_id;
        self.after_taken_at_ns = next.after_taken_at_ns;
        self.regular += &next.regular;
        self.all += &next.all;
        self.judged.generation += next.judged.generation;
        self.judged.birth += next.judged.birth;
        self.judged.lasting_ino += next.judged.lasting_ino;
        self.judged.ino += next.judged.ino;
        self.warnings.same_ctime_other_column += next.warnings.same_ctime_other_column;
        self.warnings.type_differs += next.warnings.type_differs;
        self.warnings.ctime_in_future += next.warnings.ctime_in_future;
        self.warnings.ctime_back += next.warnings.ctime_back;
        self.warnings.only_ctime_changed += next.warnings.only_ctime_changed;
        self.warnings.mostly_only_ctime += next.warnings.mostly_only_ctime;
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, next: &Counts) {
        self.after = next.after;
        self.create += next.create;
        self.delete += next.delete;
        self.replace += next.replace;
        self.modify += next.modify;
        self.modified.attributes += next.modified.attributes;
        self.modified.overwrite += next.modified.overwrite;
        self.modified.append += next.modified.append;
        self.modified.truncate += next.modified.truncate;
        self.modified.rewrite += next.modified.rewrite;
        self.modified.unknown += next.modified.unknown;
        self.rename += next.rename;
        self.unchanged += next.unchanged;
        self.maybe_replaced += next.maybe_replaced;
        self.maybe_renamed += next.maybe_renamed;
    }
}
