//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod common;
mod drives;
mod fidelity;
mod flash;
mod flash_model;
mod measured;
mod papers;
mod properties;
mod write_cache;
