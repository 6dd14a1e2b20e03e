//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod control;
mod directory;
mod full_disk;
mod kept_measures;
mod key_tables;
mod loop_image;
mod repair;
mod stamps;
mod synthetic;
mod trace_holes;
mod tree;
