//! What was collected, beside the rows that went to the sink.

use fsage_core::snapshot::SnapshotInfo;
use fsage_core::{Run, SinkError};
use std::collections::{BTreeMap, BTreeSet};

/// What was collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The snapshot, now with what is known only in the end: how long it took.
    pub info: SnapshotInfo,
    /// Maximal runs of free space, ascending; `None` where the file system does not report them.
    pub free: Option<Vec<Run>>,
    /// Rows that went to the sink: one a name.
    pub rows: u64,
    /// Inodes and directories that could not be read, or not completely.
    pub unreadable: u64,
    /// Names that were gone, or another file's, when they were looked at.
    pub vanished: u64,
    /// What somebody should know, one sentence each, in an order that does not depend on chance.
    pub warnings: Vec<String>,
}

/// Called now and then with the rows so far, and of how many, where that is known. An error stops the work and becomes
/// [`CollectError::Sink`](crate::CollectError::Sink).
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>) -> Result<(), SinkError>;

/// Examples of a kind of warning that are named.
const EXAMPLES: usize = 5;

/// Counts what is to be warned of, by kind; names the first few of each kind in order of their text.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    kinds: BTreeMap<&'static str, (u64, BTreeSet<String>)>,
}

impl Warnings {
    /// `kind` reads as in `directories could not be read`; `example` is one of them.
    pub fn add(&mut self, kind: &'static str, example: String) {
        let (count, examples) = self.kinds.entry(kind).or_default();
        *count += 1;
        examples.insert(example);
        if examples.len() > EXAMPLES {
            examples.pop_last();
        }
    }

    /// One line a kind.
    pub fn lines(&self) -> Vec<String> {
        let line = |(kind, (count, examples)): (&&str, &(u64, BTreeSet<String>))| {
            let named: Vec<&str> = examples.iter().map(String::as_str).collect();
            let more = if *count > named.len() as u64 {
                ", ..."
            } else {
                ""
            };
            format!("{count} {kind}: {}{more}", named.join(", "))
        };
        self.kinds.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_counted_and_the_first_few_named() {
        let mut warnings = Warnings::default();
        assert!(warnings.lines().is_empty());
        for name in ["g", "f", "e", "d", "c", "b", "a"] {
            warnings.add("files could not be read", name.to_owned());
        }
        warnings.add("directories are mount points", "x".to_owned());
        assert_eq!(
            warnings.lines(),
            [
                "1 directories are mount points: x",
                "7 files could not be read: a, b, c, d, e, ..."
            ]
        );
    }
}
