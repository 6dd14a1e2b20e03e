//! Tests that open a journal again in the process that wrote it. A program that starts others meanwhile would keep its
//! lock for a moment, from `fork` to `exec`: so nothing that starts one runs here.

mod cut_journal;
mod power_cut;
#[path = "../suite/tree/mod.rs"]
#[allow(dead_code)] // What makes file systems is for the others.
mod tree;
