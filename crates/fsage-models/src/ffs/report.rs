//! What a microscope may look at: superblock totals, cylinder groups, block lists, by id.

use super::inode::Inode;
use super::params::Params;
use super::{Ffs, Geometry, Optim, Totals};

/// A cylinder group as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReport {
    /// First fragment.
    pub base: u64,
    /// First and last metadata fragment, absolute.
    pub metadata: (u64, u64),
    /// Fragments in the group.
    pub ndblk: u64,
    /// Free blocks, fragments and inodes, directories.
    pub totals: Totals,
    /// Maximal free runs of 1, 2, ..., frag-1 fragments inside partly used blocks.
    pub frsum: Vec<u32>,
    /// Maximal runs of 1, 2, ... free blocks; the last class is "or more".
    pub clsum: Vec<u32>,
    /// Relative fragment address of the last block that a search took.
    pub rotor: u32,
    /// Relative fragment address of the map byte that a search hit last.
    pub frotor: u32,
    /// Inode index where the search for a free inode starts.
    pub irotor: u32,
}

/// A file or directory with the addresses of its blocks, as a dump prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockReport {
    /// Id in the workload.
    pub id: u64,
    /// Inode number.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Address of every block in logical order, 0 for a hole.
    pub data: Vec<u64>,
    /// Indirect blocks: single, double, level 1 in order; existing ones only.
    pub indirect: Vec<u64>,
}

impl Ffs {
    /// The parameters it was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Its sizes.
    pub fn sizes(&self) -> &Geometry {
        &self.geometry
    }

    /// Free space, inodes and directories of the whole file system.
    pub fn totals(&self) -> Totals {
        self.groups.totals
    }

    /// What fragments that move ask for now, and how often that has changed.
    pub fn optimization(&self) -> (Optim, u64) {
        (self.optim, self.optim_changes)
    }

    /// Number of files: inodes that are neither directories nor free.
    pub fn file_count(&self) -> usize {
        self.names.len()
    }

    /// A cylinder group.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn group(&self, c: usize) -> GroupReport {
        let g = &self.geometry;
        let groups = &self.groups;
        let metadata = g.metadata(c);
        GroupReport {
            base: g.base(c),
            metadata: (g.base(c) + metadata.start, g.base(c) + metadata.end - 1),
            ndblk: g.fragments_in(c),
            totals: Totals {
                nbfree: u64::from(groups.nbfree[c]),
                nffree: u64::from(groups.nffree[c]),
                nifree: u64::from(groups.nifree[c]),
                ndir: u64::from(groups.ndir[c]),
            },
            frsum: groups.frsum[c][1..g.frag as usize].to_vec(),
            clsum: groups.cluster_sums(c).to_vec(),
            rotor: groups.rotor[c],
            frotor: groups.frotor[c],
            irotor: groups.irotor[c],
        }
    }

    /// Directories by ascending id, the root first.
    pub fn directories(&self) -> Vec<BlockReport> {
        let mut all: Vec<_> = self
            .dirs
            .iter()
            .enumerate()
            .filter(|(_, dir)| dir.alive)
            .map(|(slot, dir)| (slot != 0, dir.id, &dir.inode))
            .collect();
        all.sort_unstable_by_key(|&(not_root, id, _)| (not_root, id));
        all.into_iter()
            .map(|(_, id, inode)| self.block_report(id, inode))
            .collect()
    }

    /// Visits the files by ascending id of their first name, one report at a time.
    pub fn visit_blocks(&self, mut visit: impl FnMut(&BlockReport)) {
        let mut all: Vec<(u64, u32)> = self.names.iter().map(|(s, file)| (file.id, s)).collect();
        all.sort_unstable();
        let mut report = BlockReport {
            id: 0,
            ino: 0,
            size: 0,
            data: Vec::new(),
            indirect: Vec::new(),
        };
        for (id, slot) in all {
            self.fill_report(&mut report, id, &self.names.file(slot).inode);
            visit(&report);
        }
    }

    fn block_report(&self, id: u64, inode: &Inode) -> BlockReport {
        let mut report = BlockReport {
            id,
            ino: inode.ino,
            size: inode.size,
            data: Vec::new(),
            indirect: Vec::new(),
        };
        self.fill_report(&mut report, id, inode);
        report
    }

    fn fill_report(&self, report: &mut BlockReport, id: u64, inode: &Inode) {
        let g = &self.geometry;
        (report.id, report.ino, report.size) = (id, inode.ino, inode.size);
        report.data.clear();
        report.data.resize(inode.size.div_ceil(g.bsize) as usize, 0);
        for run in inode.blocks.iter(&self.pool) {
            for i in 0..run.blocks {
                report.data[(run.lbn + i) as usize] = run.address + u64::from(i) * g.frag;
            }
        }
        report.indirect.clear();
        if let Some(indirect) = self.indirect_of(inode) {
            report.indirect.extend(indirect.addresses());
        }
    }
}
