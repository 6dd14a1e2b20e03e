//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod control;
mod directory;
mod full_disk;
mod guide_policy;
mod kept_measures;
mod kept_vectors;
mod key_tables;
mod operations;
mod real_spec;
mod stamps;
mod synthetic;
mod trace_holes;
mod transformed;
mod tree;
