//! Walks of real file systems.

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod images;
mod trees;
