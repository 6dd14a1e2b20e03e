//! What was seen and made.

use super::options::Placement;

/// Counts over all intervals. What the workload itself holds, by origin and quality of time, its own tally
/// says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FromSnapshotsSummary {
    /// Snapshots.
    pub snapshots: u64,
    /// Where files were put.
    pub placement: Option<Placement>,
    /// Files of the first snapshot: inodes that are not directories (with [`Placement::Groups`] also these).
    pub initial_files: u64,
    /// Their lengths added up.
    pub initial_bytes: u64,
    /// Files that came.
    pub creates: u64,
    /// Files that went.
    pub deletes: u64,
    /// Of both, pairs of one inode number: replacements.
    pub replaced: u64,
    /// Files whose content changed.
    pub modifies: u64,
    /// Of these, by what their blocks say: written in place, appended to, cut, written anew.
    pub overwrites: u64,
    /// See `overwrites`.
    pub appends: u64,
    /// See `overwrites`.
    pub truncates: u64,
    /// See `overwrites`.
    pub rewrites: u64,
    /// Modifications that may be replacements: nothing told whether the inode is the same.
    pub guessed_same: u64,
    /// Changes of owner, mode, links or the like only.
    pub attribute_changes: u64,
    /// Names moved.
    pub renames: u64,
    /// Directories that came.
    pub mkdirs: u64,
    /// Directories that went.
    pub rmdirs: u64,
    /// Deletions by the best evidence there was: the inode or the name was used again, ...
    pub deletes_by_reuse: u64,
    /// ... the directory's last removal is known, ...
    pub deletes_by_last_removal: u64,
    /// ... blocks were used again, or the directory's last change bounds it, ...
    pub deletes_bounded: u64,
    /// ... nothing.
    pub deletes_without_evidence: u64,
    /// Deletions for which some block was used again.
    pub block_evidence: u64,
    /// Whether blocks were known and were used as evidence.
    pub blocks_used: bool,
    /// Files truncated early, because others had their blocks before they changed.
    pub emptied_early: u64,
    /// Large files written in pieces.
    pub stretched: u64,
    /// Short-lived files that the inode generations count (XFS: one up for each reuse).
    pub hidden_by_generation: u64,
    /// Profiles of short-lived files drawn.
    pub profiles: u64,
    /// Their files.
    pub short_lived_files: u64,
    /// Bytes they wrote.
    pub short_lived_bytes: u64,
    /// Times outside their interval, moved to its nearest end.
    pub clamped_times: u64,
    /// Snapshots not later than the one before.
    pub clocks_back: u64,
    /// FIFOs, sockets and devices, made as empty files.
    pub stand_ins: u64,
    /// Inodes without a usable path, put into the root.
    pub orphans: u64,
    /// Writes of sparse files: what they hold, then stretched.
    pub sparse_writes: u64,
    /// Names moved aside for a while because another needed them.
    pub moved_aside: u64,
    /// What cannot be: one incarnation of two types, two of one number, moves in a circle.
    pub contradictions: u64,
    /// Intervals in which more than half of the files changed with equal content: a backup or a relabeling run.
    pub touched_by_all: u64,
    /// Files at the end.
    pub live_files: u64,
    /// Their bytes.
    pub live_bytes: u64,
}
