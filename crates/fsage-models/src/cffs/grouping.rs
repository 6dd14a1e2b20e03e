//! Explicit grouping (docs/spec/cffs.md, section 6): first blocks of the files of a directory lie together, and where
//! they do not fit the first group they make further ones.
//!
//! A group is a window of blocks. Every member knows its start and its size; members in one directory agree on the
//! size, which is kept here once for all of them. A file that leaves its directory takes start and size along.

use super::inode::{Home, Inode, Kind, NO_DIR};
use super::params::{DirSteal, Randomize, Start};
use super::{Cffs, entries::Name, entries::Node, hints::is_hinted};
use crate::changes::touch_file;
use fsage_core::io::Flush;

/// Most groups of a directory that are looked at beside the first one.
const MOST_GROUPS: usize = 15;

/// A group as one directory knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Blocks from its start to the end of its last member.
    pub blocks: u32,
    /// Members: files of the directory, and the directory itself in its first group.
    pub members: u32,
}

/// A place for a first block, and the group that it belongs to; 0: to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub block: u32,
    pub group: u32,
}

impl Spot {
    /// A block in no group.
    pub fn alone(block: u32) -> Spot {
        Spot { block, group: 0 }
    }
}

impl Cffs {
    /// Most blocks of a group.
    pub(super) fn window(&self) -> u32 {
        self.params.group_blocks as u32
    }

    /// Blocks of a group of an owner.
    pub(super) fn group_size(&self, owner: u32, start: u32) -> u32 {
        self.groups
            .get(&(owner, start))
            .map_or(0, |group| group.blocks)
    }

    /// First free block of a group's window.
    pub(super) fn free_in(&self, start: u32) -> Option<u32> {
        self.map
            .first(start, start.saturating_add(self.window()), false)
    }

    /// Start of the first group of a directory, which begins at its first block.
    pub(super) fn first_group(&mut self, dir: u32) -> u32 {
        let inode = self.dirs[dir as usize].inode;
        if inode.group_start != 0 {
            return inode.group_start;
        }
        let start = self.address(&inode, 0);
        self.dirs[dir as usize].inode.group_start = start;
        self.enter_group(dir, start, 1);
        self.emit_home(inode.home, Flush::Delayed);
        start
    }

    /// One more member; a group that is not there yet is made.
    pub(super) fn enter_group(&mut self, owner: u32, start: u32, blocks: u32) {
        let group = self.groups.entry((owner, start)).or_default();
        group.members += 1;
        if group.members == 1 {
            if is_hinted(owner) {
                self.hints.group_made(owner, start);
            } else {
                self.dirs[owner as usize].groups += 1;
            }
        }
        self.extend_group(owner, start, blocks);
    }

    /// The group of an owner has at least so many blocks from now on: all members know.
    pub(super) fn extend_group(&mut self, owner: u32, start: u32, blocks: u32) {
        let group = self.groups.entry((owner, start)).or_default();
        if blocks <= group.blocks {
            return;
        }
        group.blocks = blocks;
        if !self.emitted.is_on() {
            return;
        }
        let homes: Vec<Home> = if is_hinted(owner) {
            self.hints.members(owner).map(|(_, home)| home).collect()
        } else {
            let first = self.dirs[owner as usize].inode;
            let files = self.members(owner, start).map(|file| file.home);
            let own = (first.group_start == start).then_some(first.home);
            files.chain(own).collect()
        };
        for home in homes {
            self.emit_home(home, Flush::Delayed);
        }
    }

    /// Files of a directory that are in one of its groups, in the order of their names.
    fn members(&self, dir: u32, start: u32) -> impl Iterator<Item = &Inode> {
        let files = self.files_of(dir);
        files.filter_map(move |slot| {
            let inode = &self.names.file(slot).inode;
            let is_member = inode.group_owner() == dir && inode.group_start == start;
            is_member.then_some(inode)
        })
    }

    /// Slots of the files that have a name in a directory, in the order of the names.
    fn files_of(&self, dir: u32) -> impl Iterator<Item = u32> {
        let names = self.dirs[dir as usize].entries.names();
        names.filter_map(|(_, name)| match name {
            Name::Of(Node::File(slot)) => Some(slot),
            _ => None,
        })
    }

    /// A block of a file has been placed in a group of its directory.
    pub(super) fn join_group(&mut self, inode: &mut Inode, spot: Spot) {
        if spot.group == 0 {
            return;
        }
        let blocks = spot.block - spot.group + 1;
        if inode.group_start == 0 {
            inode.group_start = spot.group;
            self.enter_group(inode.group_owner(), spot.group, blocks);
        } else {
            self.extend_group(inode.group_owner(), spot.group, blocks);
        }
    }

    /// Whether a block of a file is one that may lie in its group, and does.
    pub(super) fn is_grouped(&self, inode: &Inode, lbn: u32) -> bool {
        let start = inode.group_start;
        if inode.kind == Kind::Directory
            || start == 0
            || u64::from(lbn) >= self.params.grouped_blocks
        {
            return false;
        }
        let end = start + self.group_size(inode.group_owner(), start);
        (start..end).contains(&self.address(inode, lbn))
    }

    /// A free block in a file's own group for one of its blocks, if those before it lie there: behind the last of
    /// them, or else the first free one.
    pub(super) fn place_further(&self, inode: &Inode, lbn: u32) -> Option<Spot> {
        let may = u64::from(lbn) < self.params.grouped_blocks;
        if !may || !self.is_grouped(inode, lbn - 1) {
            return None;
        }
        let group = inode.group_start;
        let end = group.saturating_add(self.window());
        let behind = self.map.first(self.address(inode, lbn - 1), end, false);
        let block = behind.or_else(|| self.free_in(group))?;
        Some(Spot { block, group })
    }

    /// A file is no longer a member of its group.
    pub(super) fn leave_group(&mut self, inode: &mut Inode) {
        let start = std::mem::take(&mut inode.group_start);
        if start != 0 {
            self.quit_group(inode.group_owner(), start);
        }
    }

    /// One member less; the last one takes the group along.
    pub(super) fn quit_group(&mut self, owner: u32, start: u32) {
        let group = self.groups.get_mut(&(owner, start));
        let group = group.expect("the group of a member");
        group.members -= 1;
        if group.members == 0 {
            self.groups.remove(&(owner, start));
            if is_hinted(owner) {
                self.hints.group_gone(owner, start);
            } else {
                self.dirs[owner as usize].groups -= 1;
            }
        }
    }

    /// A file belongs to another directory from now on, or to no single one, and loses its group then. One that its
    /// program named with others stays in theirs as long as it has a directory.
    pub(super) fn change_directory(&mut self, inode: &mut Inode, to: u32) {
        if inode.hint != 0 {
            if to == NO_DIR {
                self.leave_group(inode);
                self.hints.forget(inode);
            }
            inode.dir = to;
            return;
        }
        let (from, start) = (inode.dir, inode.group_start);
        inode.dir = to;
        if start == 0 || from == to {
            return;
        }
        let blocks = self.group_size(from, start);
        self.quit_group(from, start);
        if to == NO_DIR {
            inode.group_start = 0;
        } else {
            self.enter_group(to, start, blocks);
        }
    }

    /// Where the first block of a file goes. `elsewhere` leaves the first group of the directory out.
    pub(super) fn place_first(&mut self, inode: &Inode, elsewhere: bool) -> Option<Spot> {
        let dir = inode.dir;
        if !self.params.group || inode.kind == Kind::Directory || dir == NO_DIR {
            let start = self.search_start(inode, None);
            return self.map.next_free(start).map(Spot::alone);
        }
        if inode.hint != 0 {
            return self.place_hinted(inode);
        }
        let first = self.first_group(dir);
        if !elsewhere && let Some(block) = self.free_in(first) {
            return Some(Spot {
                block,
                group: first,
            });
        }
        let last = match self.other_groups(dir, first) {
            Ok(spot) => return Some(spot),
            Err(last) => last,
        };
        let start = self.search_start(inode, Some(last));
        let block = self.map.next_free(start)?;
        let group = block;
        Some(Spot { block, group })
    }

    /// A free block in the groups of a directory beside the first one, in the order in which its names lead to them; or
    /// else the last group that was met.
    fn other_groups(&mut self, dir: u32, first: u32) -> Result<Spot, u32> {
        let others = (self.dirs[dir as usize].groups as usize).saturating_sub(1);
        let most = others.min(MOST_GROUPS);
        let mut met = [0; MOST_GROUPS];
        let mut count = 0;
        let mut last = first;
        let mut found = None;
        let mut read = Vec::new();
        if most > 0 {
            for slot in self.files_of(dir) {
                let inode = &self.names.file(slot).inode;
                if self.emitted.is_on() && read.last() != Some(&inode.home) {
                    read.push(inode.home);
                }
                let start = inode.group_start;
                let own = inode.group_owner() == dir && start != 0 && start != first;
                if !own || met[..count].contains(&start) {
                    continue;
                }
                if let Some(block) = self.free_in(start) {
                    found = Some(Spot {
                        block,
                        group: start,
                    });
                    break;
                }
                met[count] = start;
                (count, last) = (count + 1, start);
                if count == most {
                    break;
                }
            }
        }
        self.emit_scanned(&read);
        found.ok_or(last)
    }

    /// Where the search for a block begins that follows no other one. `last_group` is the group behind which a new one
    /// goes.
    pub(super) fn search_start(&mut self, inode: &Inode, last_group: Option<u32>) -> u32 {
        let near = if inode.dir == NO_DIR {
            self.block_of_home(inode.home)
        } else {
            self.address(&self.dirs[inode.dir as usize].inode, 0)
        };
        let cg = self.geometry.cg_of(near);
        let behind = self.params.group_behind && last_group.is_some();
        if self.randomizes() && !behind && inode.dir != NO_DIR {
            let dir = &mut self.dirs[inode.dir as usize];
            dir.searches += 1;
            let behind_another = 100 - self.params.random_percent;
            let before_this = |n: u32| u64::from(n) * behind_another / 100;
            if before_this(dir.searches) > before_this(dir.searches - 1) {
                return dir.last_block;
            }
            let start = self.geometry.cg_start(cg);
            let blocks = self.geometry.cg_end(cg) - start;
            return start + self.random.below(blocks.into()) as u32;
        }
        match (self.params.start, last_group) {
            (Start::Random, _) => self.random_start(),
            (Start::CylinderGroup, Some(last)) => last.saturating_add(self.window()),
            (Start::CylinderGroup, None) => self.geometry.cg_start(cg),
        }
    }

    /// Half of the first blocks are put at random now.
    pub(super) fn randomizes(&self) -> bool {
        match self.params.randomize_first {
            Randomize::Never => false,
            Randomize::Always => true,
            Randomize::Benchmarks => self.emitted.is_hosted(),
        }
    }

    /// A random block; with grouping the next one where a group may begin.
    pub(super) fn random_start(&mut self) -> u32 {
        let block = self.random.below(self.geometry.blocks.into()) as u32;
        if self.params.group {
            let step = u64::from(self.window());
            // Behind the end a search begins at the first block.
            u64::from(block).next_multiple_of(step).min(u32::MAX.into()) as u32
        } else {
            block
        }
    }

    /// Moves a block of a file out of the first group of a directory, which is full, and gives its place (section 7).
    /// It is the first or the last such file in the order of names, and the last of its blocks that lie there; with the
    /// first block the file leaves the group.
    pub(super) fn steal(&mut self, dir: u32, first: u32) -> Option<u32> {
        let is_there = |&slot: &u32| {
            let inode = &self.names.file(slot).inode;
            let is_member = inode.group_owner() == dir && inode.group_start == first;
            is_member && self.address(inode, 0) != 0
        };
        let victim = match self.params.dir_steal {
            DirSteal::Last => self.files_of(dir).filter(is_there).last(),
            _ => self.files_of(dir).find(is_there),
        }?;
        let mut inode = self.names.file(victim).inode;
        let mut further = (1..self.params.grouped_blocks as u32).rev();
        let lbn = further
            .find(|&lbn| self.is_grouped(&inode, lbn))
            .unwrap_or(0);
        let old = self.address(&inode, lbn);
        let spot = if lbn == 0 {
            self.place_first(&inode, true)?
        } else {
            let start = self.behind_groups(old);
            self.map.next_free(start).map(Spot::alone)?
        };
        touch_file(self, victim);
        self.emit_needed(&inode, lbn);
        self.take(spot.block);
        if lbn == 0 {
            self.leave_group(&mut inode);
        }
        let (pool, block) = (&mut self.pool, spot.block.into());
        inode.blocks.set(pool, lbn, 1, block, 1);
        self.join_group(&mut inode, spot);
        self.names.file_mut(victim).inode = inode;
        self.emit_moved(&inode, lbn);
        self.release_blocks(old, 1);
        Some(old)
    }
}
