//! What the operations of a workload mean, once for all that follow them: which ids may be named, what is refused and
//! in which order, and what is skipped because an earlier lack of space kept it from being made.
//!
//! Whoever follows a workload has a [`Namespace`]: which ids name which files and directories, where these lie and how
//! long they are. An operation then goes through three steps:
//!
//! ```text
//! decide(namespace, op) --> refused: a StateError, and nothing changes
//!                      \--> Decision::Absent, Decision::Ignored: skipped, it needs what is not there, or what its
//!                      |    file cannot take
//!                       \-> Decision::Do(Action): ids looked up, everything checked
//!                                |  whoever follows the workload does it
//!                                v
//!                             Outcome --> note(op, outcome, names): what is missing from now on
//! ```
//!
//! A simulated file system supplies the primitives of [`Model`], and [`apply`] goes through the steps. The replay on
//! real file systems goes through them itself, as its shards of directories are worked on by several threads;
//! generators of workloads and importers only ask.
//!
//! | where | what |
//! |---|---|
//! | [`Namespace`], [`DirIds`] | what is there; the number 0 and the root |
//! | [`decide`] | what is refused, and in which order |
//! | [`Shortfall`], [`names_there`] | what lack of space kept from being made, and what that excuses |
//! | [`planned_length`], [`planned_after`] | how long files would be with all the space that was asked for |
//! | [`Model`], [`apply`] | a simulated file system |
//!
//! # Where file systems differ, and why
//!
//! A decision is the same everywhere. What becomes of an operation that may be done is not:
//!
//! - A name, or a directory, that is to go always goes on a model. A real file system may need space for that, as those
//!   that never write in place do: the name stays, and is *kept*.
//! - A model lets the data of a symbolic link be written, as it lays them out like those of a file. Linux has no call
//!   for it, and no empty links: [`Outcome::Ignored`](crate::Outcome::Ignored), and targets of a byte.
//! - Real file systems mostly deallocate ranges; of the models only some do, and the others ignore
//!   [`Op::Punch`](crate::Op::Punch). A directory that is there already cannot be mounted anew, so that
//!   [`Op::Remount`](crate::Op::Remount) is ignored on it.
//! - How long a file may be is a matter of the file system. An [`Op::Rewrite`](crate::Op::Rewrite) to a length that it
//!   cannot map leaves the file empty: of its two calls the first was done.
//! - Names in text are no part of the rules: most models know ids alone. A real file system also refuses a name
//!   that no entry can have, and gives an entry another name where its own is taken.

mod decide;
mod model;
mod namespace;
mod planned;
mod shortfall;

pub use decide::{Action, Decision, decide};
pub use model::{Model, apply};
pub use namespace::{DirIds, Namespace, ROOT, names_there};
pub use planned::{planned_after, planned_length};
pub use shortfall::Shortfall;
