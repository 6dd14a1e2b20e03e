//! Profiles of short-lived files: files that are made and deleted between two snapshots, which no snapshot
//! shows. They are taken from traces and drawn into workloads.

/// What happens at one time of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileVerb {
    /// The file is made and written.
    Create,
    /// The file grows.
    Append,
    /// The file goes.
    Delete,
}

impl ProfileVerb {
    /// The word of the column `op`.
    pub fn as_str(self) -> &'static str {
        match self {
            ProfileVerb::Create => "create",
            ProfileVerb::Append => "append",
            ProfileVerb::Delete => "delete",
        }
    }

    /// The verb of that word.
    pub fn parse(word: &str) -> Option<ProfileVerb> {
        [
            ProfileVerb::Create,
            ProfileVerb::Append,
            ProfileVerb::Delete,
        ]
        .into_iter()
        .find(|verb| verb.as_str() == word)
    }
}

/// One operation of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileOp {
    /// Nanoseconds since the first operation of the profile.
    pub t_rel_ns: i64,
    /// What is done.
    pub verb: ProfileVerb,
    /// Which file of the profile.
    pub local_id: u64,
    /// Size of a new file, or bytes appended; 0 for a deletion.
    pub bytes: u64,
}

/// The short-lived files of one directory in one window of time, mostly a day (Smith and Seltzer 1997).
///
/// Operations are in order of time; every file is made once and deleted once, later in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Where it was traced: the kind of use, or the name of the trace.
    pub source: String,
    /// The directory in which the files were made.
    pub dir: String,
    /// Number of the window within the trace, from 0.
    pub day: u32,
    /// Start of the profile, nanoseconds since the start of the trace's first line.
    pub start_ns: i64,
    /// The operations.
    pub ops: Vec<ProfileOp>,
    /// Last component of each file's first path, by local id, for people only; may be empty.
    pub names: Vec<Box<str>>,
}

impl Profile {
    /// Files.
    pub fn files(&self) -> u64 {
        let creates = self.ops.iter().filter(|op| op.verb == ProfileVerb::Create);
        creates.count() as u64
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.ops
            .iter()
            .fold(0, |sum, op| sum.saturating_add(op.bytes))
    }

    /// From the first operation to the last.
    pub fn length_ns(&self) -> i64 {
        self.ops.last().map_or(0, |op| op.t_rel_ns)
    }
}
