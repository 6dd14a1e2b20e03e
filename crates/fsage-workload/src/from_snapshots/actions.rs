//! What is done in an interval, before it is put in order and written.

use super::modify::Modification;
use super::nodes::NodeId;
use super::tree::Place;
use fsage_core::short_lived::ProfileVerb;
use fsage_core::{DirId, FileId, Origin, TQuality};

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Makes a directory.
    MakeDir(NodeId),
    /// Moves a directory.
    MoveDir(NodeId, Place),
    /// Makes a file and writes so much of it.
    Create(NodeId, u64),
    /// Writes on at its end.
    Grow(NodeId, u64),
    /// Changes its content to that of the later snapshot.
    Modify(NodeId, Modification),
    /// Truncates it before others take its blocks.
    Empty(NodeId),
    /// Removes a file with all its names.
    Delete(NodeId),
    /// Removes one of several names.
    Unlink(NodeId, FileId),
    /// Gives a file a further name.
    Link(NodeId, Place),
    /// Moves a name of a file.
    Move(NodeId, FileId, Place),
    /// An operation of a short-lived file.
    ShortLived {
        verb: ProfileVerb,
        file: FileId,
        dir: DirId,
        bytes: u64,
        profile: u32,
    },
}

/// One thing to do, and when.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub t: i64,
    /// At equal times: deletions, then directories, moves, creates, modifications, and by inode.
    pub order: (u8, u64, u32),
    pub what: What,
    pub origin: Origin,
    pub quality: TQuality,
}

impl Action {
    pub fn new(t: i64, ino: u64, what: What, origin: Origin, quality: TQuality) -> Action {
        let class = match what {
            What::Delete(_) | What::Unlink(..) => 0,
            What::MakeDir(_) => 1,
            What::MoveDir(..) | What::Move(..) => 2,
            What::Create(..) => 3,
            What::Grow(..)
            | What::Modify(..)
            | What::Empty(_)
            | What::Link(..)
            | What::ShortLived { .. } => 4,
        };
        Action {
            t,
            order: (class, ino, 1),
            what,
            origin,
            quality,
        }
    }

    /// The deletion of a replaced inode stands right before the create that replaces it.
    #[must_use]
    pub fn just_before_create_of(mut self, ino: u64) -> Action {
        self.order = (3, ino, 0);
        self
    }

    pub fn key(&self) -> (i64, (u8, u64, u32)) {
        (self.t, self.order)
    }
}
