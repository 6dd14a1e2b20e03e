//! What an import read, and what it had to repair.

/// What an import read, and what it had to repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Snapshots begun.
    pub snapshots: u64,
    /// Rows given to the sink; names, not inodes.
    pub rows: u64,
    /// Columns that are not known and were ignored, in the order of their input.
    pub unknown_columns: Vec<String>,
    repairs: [u64; Repair::ALL.len()],
}

impl Summary {
    /// How often that was repaired.
    pub fn repaired(&self, repair: Repair) -> u64 {
        self.repairs[repair as usize]
    }

    pub(super) fn count(&mut self, repair: Repair) {
        self.count_many(repair, 1);
    }

    pub(super) fn count_many(&mut self, repair: Repair, times: u64) {
        let count = &mut self.repairs[repair as usize];
        *count = count.saturating_add(times);
    }
}

/// A fault of an input that does not end its import, or a fact that a reader of the result should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Repair {
    TimeFromCtime,
    ChangedDuringWalk,
    TimeOutOfRange,
    TakenAtDiffers,
    NoParent,
    ModeContradicts,
    PathNotEscaped,
    PathOutsideRoot,
    OtherDevice,
    ExternalDatabase,
    TrailingBytes,
}

impl Repair {
    /// Every repair, in the order of reports.
    pub const ALL: [Repair; 11] = [
        Repair::TimeFromCtime,
        Repair::ChangedDuringWalk,
        Repair::TimeOutOfRange,
        Repair::TakenAtDiffers,
        Repair::NoParent,
        Repair::ModeContradicts,
        Repair::PathNotEscaped,
        Repair::PathOutsideRoot,
        Repair::OtherDevice,
        Repair::ExternalDatabase,
        Repair::TrailingBytes,
    ];

    /// The key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Repair::TimeFromCtime => "time_from_ctime",
            Repair::ChangedDuringWalk => "changed_during_walk",
            Repair::TimeOutOfRange => "time_out_of_range",
            Repair::TakenAtDiffers => "taken_at_differs",
            Repair::NoParent => "no_parent",
            Repair::ModeContradicts => "mode_contradicts",
            Repair::PathNotEscaped => "path_not_escaped",
            Repair::PathOutsideRoot => "path_outside_root",
            Repair::OtherDevice => "other_device",
            Repair::ExternalDatabase => "external_database",
            Repair::TrailingBytes => "trailing_bytes",
        }
    }

    /// What was found, and what was done.
    pub fn text(self) -> &'static str {
        match self {
            Repair::TimeFromCtime => "snapshots of unknown time: dated by their newest ctime",
            Repair::ChangedDuringWalk => "rows changed after their snapshot began: flagged",
            Repair::TimeOutOfRange => "times outside 1677 to 2262: unknown",
            Repair::TakenAtDiffers => "rows with another taken_at than the first of their night",
            Repair::NoParent => "rows whose directory is not in the input: no parent",
            Repair::ModeContradicts => "rows whose mode contradicts their type: type kept",
            Repair::PathNotEscaped => "paths with bytes that text forms escape: taken as they are",
            Repair::PathOutsideRoot => "paths outside the root of the scan: kept whole",
            Repair::OtherDevice => "rows on another device than the first: left out",
            Repair::ExternalDatabase => "lines of external databases: left out",
            Repair::TrailingBytes => "bytes after the last record: ignored",
        }
    }
}
