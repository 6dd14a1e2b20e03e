//! Tests of the whole crate, in one program.

mod charts;
mod drawn;
mod kit;
mod page;
