//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod cffs_requests;
mod clusters;
mod free_map;
mod log;
mod real;
mod rearranged;
mod requests;
mod shapes;
mod simulated;
mod tpcb;
