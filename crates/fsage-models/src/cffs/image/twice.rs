//! What an interrupted operation has left twice, or in no directory.

use super::super::directory::LOST;
use super::super::geometry::{INODES_PER_BLOCK, SECTORS};
use super::Kind;
use super::format::DiskInode;
use super::scan::Scan;
use std::collections::BTreeMap;

impl Scan<'_> {
    /// Where inodes never move: a block with inodes that names lead to, but no directory has, becomes a lost one.
    pub fn adopt(&mut self) {
        if !self.embed() || self.moves() {
            return;
        }
        let dirs = self.dirs.iter().skip(2).map(|dir| dir.inode.number);
        let files = self.files.iter().map(|file| file.inode.number);
        let mut blocks: Vec<u32> = dirs.chain(files).map(|n| n / INODES_PER_BLOCK).collect();
        blocks.sort_unstable();
        blocks.dedup();
        for block in blocks {
            if !self.block_of.contains_key(&block) && self.claims.take(block).is_ok() {
                let lbn = self.dirs[LOST as usize].blocks.len() as u32;
                self.find(
                    Kind::Found,
                    format!(
                        "block {block}: inodes with names, in no directory; it is a lost block now"
                    ),
                );
                self.read_block(LOST, lbn, block);
                let places = (lbn * SECTORS * self.per_sector()) as usize;
                self.dirs[LOST as usize].names[places..].fill(None);
            }
        }
    }

    /// A rename that was interrupted has left two names, and maybe two inodes of the same blocks: the longer one stays.
    pub fn same_names(&mut self) {
        let mut names: BTreeMap<u64, Vec<(usize, u32, u32)>> = BTreeMap::new();
        for (i, file) in self.files.iter().enumerate() {
            for &(id, dir, at) in &file.names {
                names.entry(id).or_default().push((i, dir, at));
            }
        }
        names.retain(|_, places| places.len() > 1);
        for (id, places) in names {
            let size = |i: usize| self.files[i].inode.size;
            let longest = places.iter().map(|&(i, ..)| size(i)).max();
            let kept = places.iter().position(|&(i, ..)| Some(size(i)) == longest);
            let kept = kept.unwrap_or(0);
            let keeper = places[kept].0;
            let others = places.iter().enumerate().filter(|&(n, _)| n != kept);
            for (_, &(i, dir, at)) in others {
                if i == keeper || self.is_same_file(i, keeper) {
                    self.drop_name(
                        dir,
                        at,
                        Kind::Fixed,
                        "the name of a rename that was interrupted",
                    );
                    self.files[i].names.retain(|&name| name != (id, dir, at));
                }
            }
        }
        self.drop_twice();
        self.same_inodes();
    }

    /// An inode that was being moved to the external inode file is there, and where it was: names lead to either.
    fn same_inodes(&mut self) {
        let mut moved: BTreeMap<u32, usize> = BTreeMap::new();
        for (i, file) in self.files.iter().enumerate() {
            if file.inode.number >> 16 == 0 && self.moves() && file.inode.direct[0] != 0 {
                moved.insert(file.inode.direct[0], i);
            }
        }
        for i in 0..self.files.len() {
            let first = self.files[i].inode.direct[0];
            let Some(&external) = moved.get(&first).filter(|&&other| other != i) else {
                continue;
            };
            let what = format!(
                "{}: its inode was being moved out of the directory",
                self.file_name(i)
            );
            self.find(Kind::Fixed, what);
            let names = std::mem::take(&mut self.files[i].names);
            self.files[external].names.extend(names);
        }
        self.drop_twice();
    }

    /// Files whose names others have now go.
    fn drop_twice(&mut self) {
        let gone = self.files.iter().filter(|file| file.names.is_empty());
        self.twice.extend(gone.map(|file| file.inode.number));
        self.files.retain(|file| !file.names.is_empty());
    }

    /// Whether two inodes have a block in common, or one of them has none.
    fn is_same_file(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.files[a].inode, &self.files[b].inode);
        let blocks = |inode: &DiskInode| {
            let all = inode.direct.into_iter().chain(inode.indirect);
            all.filter(|&block| block != 0).collect::<Vec<_>>()
        };
        let (of_a, of_b) = (blocks(a), blocks(b));
        of_a.is_empty() || of_b.is_empty() || of_a.iter().any(|block| of_b.contains(block))
    }
}
