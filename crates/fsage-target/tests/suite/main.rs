//! Tests of the whole crate, in one program: what it is linked with is linked once.

#[path = "../../../fsage-models/tests/suite/steps/any_op.rs"]
mod any_op;
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
