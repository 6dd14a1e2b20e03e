//! What a loss on flash is due to. A benchmark is run again and again, each time on a device or host that is spared one
//! cause more, always in the same order; the time that goes with a cause is its share. What is left when all are spared
//! is the rest, so that the shares sum up to the whole time.

use fsage_disk::Spared;
use serde::Serialize;

/// A cause that can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The device moves pages to make room.
    Collection,
    /// Requests wait for dies because of where pages lie.
    Collisions,
    /// Flash pages hold what is not wanted, so that more of them are sensed.
    PageSharing,
    /// The controller takes time for each command.
    Commands,
    /// The host takes time for each request, and splits what does not lie together into several.
    Splitting,
}

impl Cause {
    /// All of them, in the order in which they are taken away.
    pub const ALL: [Cause; 5] = [
        Cause::Collection,
        Cause::Collisions,
        Cause::PageSharing,
        Cause::Commands,
        Cause::Splitting,
    ];

    /// Its word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Collection => "collection",
            Cause::PageSharing => "page sharing",
            Cause::Collisions => "collisions",
            Cause::Commands => "commands",
            Cause::Splitting => "splitting",
        }
    }

    /// What a device is spared without the first so many of them.
    pub(crate) fn spared(first: usize) -> Spared {
        Spared {
            collection: Cause::Collection.is_spared(first),
            shared_pages: Cause::PageSharing.is_spared(first),
            collisions: Cause::Collisions.is_spared(first),
            commands: Cause::Commands.is_spared(first),
        }
    }

    /// Whether the first so many have this one among them.
    pub(crate) fn is_spared(self, first: usize) -> bool {
        Cause::ALL.iter().take(first).any(|&cause| cause == self)
    }
}
