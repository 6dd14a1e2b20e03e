//! Tests of the whole crate, in one program: what it is linked with is linked once.

mod common;
mod flash;
mod presets;
mod properties;
mod read_ahead;
mod reuse;
mod time;
mod writes;
