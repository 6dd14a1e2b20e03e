//! Paths that the trace showed to be missing, in bounded memory.

use rustc_hash::{FxHashSet, FxHasher};
use std::hash::Hasher;

/// After so many new ones the oldest are forgotten: their files count as uncertain then.
const MOST: usize = 1 << 20;

/// Hashes of paths, in two generations.
#[derive(Debug, Default)]
pub(super) struct Absent {
    young: FxHashSet<u64>,
    old: FxHashSet<u64>,
}

impl Absent {
    pub fn insert(&mut self, path: &[u8]) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash(path));
    }

    pub fn contains(&self, path: &[u8]) -> bool {
        let hash = hash(path);
        self.young.contains(&hash) || self.old.contains(&hash)
    }

    pub fn remove(&mut self, path: &[u8]) {
        let hash = hash(path);
        self.young.remove(&hash);
        self.old.remove(&hash);
    }
}

fn hash(path: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(path);
    hasher.finish()
}
