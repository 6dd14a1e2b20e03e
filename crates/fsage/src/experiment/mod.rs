//! Experiments: one file that says what is aged on what, and the folder of its results.

pub mod manifest;
