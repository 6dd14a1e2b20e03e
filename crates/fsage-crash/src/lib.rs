//! Power cuts, kills and failing system calls, brought upon a program from outside: for tests only.
//!
//! A program runs under `ptrace`, and every system call of it that changes something below one folder is seen:
//!
//! - [`record`] writes down what the program made, wrote, moved and synced ([`Recording`]);
//! - [`Recording::cut`] says what may be on the disk when the power fails after so many of these steps: what was synced
//!   is there, anything else may be lost, torn or reordered ([`Cut`]);
//! - [`Tree::lay_out`] makes the folder look so;
//! - [`with_fault`] runs a program one call of which fails.
//!
//! Nothing in the program knows of it. Registers are named as on x86-64; elsewhere [`works_here`] says no. It
//! uses random numbers of `fsage-core`, and nothing else of fsage.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod changes;
mod cut;
mod fault;
mod recording;
mod registers;
mod tracee;
mod tracer;
mod tree;

pub use cut::Cut;
pub use fault::{Fault, Kind, Place, calls, with_fault};
pub use recording::{Recording, record};
pub use tracer::{Ended, Program, works_here};
pub use tree::Tree;
