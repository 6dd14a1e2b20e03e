//! Inodes in blocks of their own, as in FFS: what there is without embedded inodes.

use super::geometry::Geometry;

/// Numbers that are in use from the start: none is 0, and 1 is not used.
pub(super) const FIRST: u32 = 2;

/// Which inodes are in use.
#[derive(Clone, Debug)]
pub(super) struct InodeArea {
    per_group: u32,
    used: Vec<u64>,
    /// Free inodes of each cylinder group.
    free: Vec<u32>,
    /// No inode of the group before this one is free.
    first: Vec<u32>,
}

impl InodeArea {
    /// All free, but for the first numbers; nothing where inodes are embedded.
    pub fn new(geometry: &Geometry) -> InodeArea {
        let per_group = geometry.inodes_per_group;
        let groups = geometry.groups as usize;
        let inodes = geometry.groups as usize * per_group as usize;
        let mut area = InodeArea {
            per_group,
            used: vec![0; inodes.div_ceil(64)],
            free: vec![per_group; groups],
            first: vec![0; groups],
        };
        if per_group > 0 {
            area.used[0] = (1 << FIRST) - 1;
            area.free[0] -= FIRST;
        }
        area
    }

    /// Whether an inode is in use.
    pub fn is_used(&self, number: u32) -> bool {
        self.used[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// Free inodes.
    pub fn free(&self) -> u64 {
        self.free.iter().map(|&free| u64::from(free)).sum()
    }

    /// The lowest free inode of a cylinder group, or else of those behind it, cyclically.
    pub fn take(&mut self, cg: u32) -> Option<u32> {
        let groups = self.free.len() as u32;
        let mut near = (cg..groups).chain(0..cg);
        let cg = near.find(|&cg| self.free[cg as usize] > 0)?;
        let from = cg * self.per_group;
        let mut number = from + self.first[cg as usize];
        while self.is_used(number) {
            number += 1;
        }
        self.first[cg as usize] = number - from + 1;
        self.occupy(number);
        Some(number)
    }

    /// Takes a free inode.
    pub fn occupy(&mut self, number: u32) {
        self.used[number as usize / 64] |= 1 << (number % 64);
        self.free[(number / self.per_group) as usize] -= 1;
    }

    /// Frees an inode.
    pub fn release(&mut self, number: u32) {
        self.used[number as usize / 64] &= !(1 << (number % 64));
        let (cg, index) = (number / self.per_group, number % self.per_group);
        let cg = cg as usize;
        self.free[cg] += 1;
        self.first[cg] = self.first[cg].min(index);
    }
}
