//! The two forms of an inode table.

/// Whether a file holds whole snapshots or what changed between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Every inode of every snapshot.
    Full,
    /// The first snapshot, then only rows that changed and tombstones (snapshot format, section 2.5).
    Delta,
}

impl Form {
    /// The word of the key-value metadata `fsage.form`.
    pub fn as_str(self) -> &'static str {
        match self {
            Form::Full => "full",
            Form::Delta => "delta",
        }
    }
}
