//! Nothing moves: the plain model, with the counters of the others.

use super::remapped::Remap;

/// Every block lies where its file system puts it.
#[derive(Clone, Copy, Debug)]
pub struct Unmoved;

impl Remap for Unmoved {
    fn place(&self, at: u64, bytes: u64) -> (u64, u64) {
        (at, bytes)
    }
}
