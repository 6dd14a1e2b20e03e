//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod loop_image;
mod repair;
