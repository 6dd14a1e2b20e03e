//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod kit;
mod ops_text;
mod profiles;
mod properties;
mod snapshot_diff;
mod snapshot_output;
mod snapshot_series;
mod snapshots;
mod workloads;
