//! The directories that are there, by depth.

use crate::space::SpaceRule;
use fsage_core::{DirId, Rng};

/// Place of the root in the list of directories.
pub(super) const ROOT: u32 = 0;

/// A directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dir {
    pub id: DirId,
    pub depth: usize,
    parent: u32,
    /// Files and directories in it.
    entries: u64,
    /// Fragments that it takes: they stay when entries go.
    fragments: u64,
    /// Place among those of its depth that files go to.
    in_depth: u32,
    /// Place of the directory in it that its files are written in first.
    pub staging: Option<u32>,
}

/// All directories, and where the next one goes.
pub(super) struct Directories {
    dirs: Vec<Dir>,
    free: Vec<u32>,
    by_depth: Vec<Vec<u32>>,
    /// The directory of each depth that those of the next depth lie in, where they lie in one.
    chain: Vec<u32>,
    next_id: u64,
    removed: u64,
    dirent_bytes: u64,
    space: SpaceRule,
}

impl Directories {
    pub fn new(depths: usize, dirent_bytes: u64, space: SpaceRule) -> Directories {
        let mut by_depth = vec![Vec::new(); depths.max(1)];
        by_depth[0].push(ROOT);
        let root = Dir {
            id: DirId::ROOT,
            depth: 0,
            parent: ROOT,
            entries: 0,
            fragments: 1,
            in_depth: 0,
            staging: None,
        };
        Directories {
            dirs: vec![root],
            free: Vec::new(),
            by_depth,
            chain: vec![ROOT],
            next_id: 1,
            removed: 0,
            dirent_bytes,
            space,
        }
    }

    pub fn dir(&self, place: u32) -> &Dir {
        &self.dirs[place as usize]
    }

    /// Directories at that depth that files go to.
    pub fn count(&self, depth: usize) -> usize {
        self.by_depth[depth].len()
    }

    /// Directories, the root not counted.
    pub fn total(&self) -> u64 {
        self.next_id - 1 - self.removed
    }

    /// One of these, each equally likely.
    pub fn random(&self, depth: usize, rng: &mut Rng) -> Option<u32> {
        let here = &self.by_depth[depth];
        here.get(rng.below(here.len() as u64) as usize).copied()
    }

    /// The fuller of two of these, as long as it has fewer than `most` entries: work goes on where work is, and what
    /// is left alone runs empty.
    pub fn busy(&self, depth: usize, most: u64, rng: &mut Rng) -> Option<u32> {
        let (one, other) = (self.random(depth, rng)?, self.random(depth, rng)?);
        let entries = |place: u32| self.dir(place).entries;
        let (fuller, emptier) = if entries(one) < entries(other) {
            (other, one)
        } else {
            (one, other)
        };
        let full = entries(fuller) >= most;
        Some(if full { emptier } else { fuller })
    }

    /// Where a directory of the depth below this one is made, in a chain.
    pub fn chain_end(&self) -> u32 {
        self.chain[self.chain.len() - 1]
    }

    /// Where a directory of that depth, from 1 on, is made, in a chain.
    pub fn above(&self, depth: usize) -> u32 {
        self.chain[depth - 1]
    }

    /// The chain goes on in this directory.
    pub fn lengthen_chain(&mut self, place: u32) {
        self.chain.push(place);
    }

    /// Makes a directory, which files go to or other directories only; gives its place and the fragments more that
    /// are in use.
    pub fn make(&mut self, parent: u32, for_files: bool) -> (u32, u64) {
        let depth = self.dir(parent).depth + 1;
        let dir = Dir {
            id: DirId(self.next_id),
            depth,
            parent,
            entries: 0,
            fragments: 1,
            in_depth: self.by_depth[depth].len() as u32,
            staging: None,
        };
        self.next_id += 1;
        let place = self.free.pop().unwrap_or(self.dirs.len() as u32);
        if place as usize == self.dirs.len() {
            self.dirs.push(dir);
        } else {
            self.dirs[place as usize] = dir;
        }
        if for_files {
            self.by_depth[depth].push(place);
        }
        (place, 1 + self.add_entry(parent))
    }

    /// Files of one directory are written in the other one first.
    pub fn stage(&mut self, place: u32, staging: u32) {
        self.dirs[place as usize].staging = Some(staging);
    }

    /// Removes an empty directory that files went to; gives it and the fragments that come free.
    pub fn remove(&mut self, place: u32) -> (Dir, u64) {
        let dir = *self.dir(place);
        let here = &mut self.by_depth[dir.depth];
        here.swap_remove(dir.in_depth as usize);
        if let Some(&moved) = here.get(dir.in_depth as usize) {
            self.dirs[moved as usize].in_depth = dir.in_depth;
        }
        self.free.push(place);
        self.removed += 1;
        self.remove_entry(dir.parent);
        (dir, dir.fragments)
    }

    /// A name more; gives the fragments more that are in use.
    pub fn add_entry(&mut self, place: u32) -> u64 {
        let dir = &mut self.dirs[place as usize];
        dir.entries += 1;
        let bytes = dir.entries * self.dirent_bytes;
        let needed = self.space.fragments(bytes).max(dir.fragments);
        let more = needed - dir.fragments;
        dir.fragments = needed;
        more
    }

    /// A name less.
    pub fn remove_entry(&mut self, place: u32) {
        self.dirs[place as usize].entries -= 1;
    }

    pub fn is_empty(&self, place: u32) -> bool {
        self.dir(place).entries == 0
    }

    pub fn parent(&self, place: u32) -> u32 {
        self.dir(place).parent
    }

    /// Number of the next directory made.
    pub fn next_number(&self) -> u64 {
        self.next_id
    }
}
