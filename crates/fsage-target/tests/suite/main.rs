//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod control;
mod cut_journal;
mod directory;
mod full_disk;
mod journal;
mod kept_measures;
mod key_tables;
mod loop_image;
mod power_cut;
mod repair;
mod stamps;
mod synthetic;
mod trace_holes;
mod tree;
