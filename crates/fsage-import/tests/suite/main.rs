//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod git;
mod playback;
mod snapshots;
mod traces;
