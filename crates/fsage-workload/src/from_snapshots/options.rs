//! What can be chosen when a workload is made from snapshots.

use fsage_core::SinkError;
use fsage_core::identity::Identity;
use thiserror::Error;

/// How the time of a deletion is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeleteTimes {
    /// Smith and Seltzer 1996: at random between the first and the last create or modification of the interval.
    Smith96,
    /// Smith and Seltzer 1997: just before the create that used the inode again, else at random in the interval.
    Smith97,
    /// By evidence: reuse of inodes, names and blocks, times of directories; where there is none, at the time
    /// of another operation of the interval.
    #[default]
    Reuse,
}

impl DeleteTimes {
    /// Every rule, the papers' first.
    pub const ALL: [DeleteTimes; 3] = [
        DeleteTimes::Smith96,
        DeleteTimes::Smith97,
        DeleteTimes::Reuse,
    ];

    /// The word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            DeleteTimes::Smith96 => "smith96",
            DeleteTimes::Smith97 => "smith97",
            DeleteTimes::Reuse => "reuse",
        }
    }
}

/// What a changed file becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Modifications {
    /// What its blocks say: overwrite, append, truncate or rewrite; a rewrite where blocks are not known.
    #[default]
    Observed,
    /// A rewrite, as in the papers.
    Rewrite,
}

/// How a large new file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Growth {
    /// At once, as in the papers.
    #[default]
    Burst,
    /// In pieces: with a birth time before the last change, from then on, between all that was written
    /// meanwhile; else between the files that were made in its directory for a while before.
    Stretched {
        /// Files of at least this size; with a birth time smaller ones too.
        threshold_bytes: u64,
        /// So long before its change time counts as meanwhile.
        window_ns: i64,
    },
}

impl Growth {
    /// Pieces for files of at least 1 MiB, over at most ten minutes.
    pub const STRETCHED: Growth = Growth::Stretched {
        threshold_bytes: 1 << 20,
        window_ns: 600_000_000_000,
    };
}

/// Where files are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// In the directories of the source.
    Tree,
    /// In one directory for each group of inodes, as Smith and Seltzer did without paths.
    Groups,
}

impl Placement {
    /// The word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Placement::Tree => "tree",
            Placement::Groups => "groups",
        }
    }
}

/// Everything that can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of all random choices.
    pub seed: u64,
    /// How the time of a deletion is found.
    pub delete_times: DeleteTimes,
    /// What identifies an inode.
    pub identity: Identity,
    /// What a changed file becomes.
    pub modifications: Modifications,
    /// How a large new file is written.
    pub growth: Growth,
    /// Where files are put; `None`: in their directories if the first snapshot has paths.
    pub placement: Option<Placement>,
    /// Blocks are chosen up to this long after the write: 0 where the write call allocates.
    pub allocation_delay_ns: i64,
    /// Whether a block that was used again tells when it was free; `None`: unless the type of file system
    /// moves blocks without a write (btrfs, LFS, f2fs, ZFS).
    pub block_reuse: Option<bool>,
    /// The last removal from a directory dates all removals from it, not only one.
    pub removals_in_bursts: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            delete_times: DeleteTimes::default(),
            identity: Identity::default(),
            modifications: Modifications::default(),
            growth: Growth::default(),
            placement: None,
            allocation_delay_ns: 0,
            block_reuse: None,
            removals_in_bursts: true,
        }
    }
}

/// Why no workload could be made.
#[derive(Debug, Error)]
pub enum FromSnapshotsError {
    /// There is no snapshot.
    #[error("there is no snapshot: a workload needs at least one, and two to see any change")]
    Empty,
    /// The generator's own check: what it wrote does not lead to the next snapshot.
    #[error(
        "snapshot {snap_id}: after the interval before it the workload has {files} files of {bytes} bytes, the \
         snapshot {want_files} of {want_bytes}; please report this"
    )]
    Mismatch {
        /// The snapshot.
        snap_id: u32,
        /// Files of the workload.
        files: u64,
        /// Their bytes.
        bytes: u128,
        /// Files of the snapshot.
        want_files: u64,
        /// Their bytes.
        want_bytes: u128,
    },
    /// Reading a snapshot failed.
    #[error("cannot read the snapshots")]
    Source(#[source] SinkError),
    /// Writing the workload failed.
    #[error("cannot write the workload")]
    Sink(#[source] SinkError),
}
