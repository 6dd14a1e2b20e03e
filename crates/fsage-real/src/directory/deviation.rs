//! What a workload alone does not say about a replay: how operations ended that did not end plainly.

use fsage_core::Outcome;

/// An operation that did not simply do what its event says. All the others can be told from the events, so that the
/// state of a replay is the workload, how far it has come, and these.
///
/// Operations that do not fit the state, or that need what lack of space kept from being made, follow from these and
/// are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Number of the event in the workload, from 0; `day` and probes count.
    pub event_index: u64,
    /// How it ended; [`Outcome::Done`] where only the name is another.
    pub outcome: Outcome,
    /// Length of the file after it; `None` where there is no such file, as it was not made, or none is concerned.
    pub size_bytes: Option<u64>,
    /// How many bytes from the start of the operation's range were written.
    pub written_bytes: u64,
    /// How many other names were tried until the entry could be made: `NAME~f<ID>` or `NAME~d<ID>` as an entry `NAME`
    /// existed, and so on with that name; 0 where it has its own.
    pub other_names: u8,
}
