//! The allocator: blocks inside a group, reservation windows, and the order of groups.
//!
//! Source: `fs/ext3/balloc.c` of Linux 2.6.18 and `fs/ext2/balloc.c` of Linux 6.1; where they differ, the mode says
//! which one holds.

use super::Ext3;
use super::inode::Inode;
use super::params::{MOST_WINDOW, Mode};
use super::window::Window;

/// No space is left, or none that the user may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSpace;

/// Blocks that an allocation gave: the first one and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub first: u32,
    pub blocks: u32,
}

/// Commits that an allocation forces before it gives up.
const RETRIES: u32 = 3;

impl Ext3 {
    /// Allocates up to `blocks` contiguous blocks for an inode, at `goal` if that can be; its window is the open one.
    pub(super) fn allocate(
        &mut self,
        inode: &mut Inode,
        goal: u32,
        blocks: u32,
    ) -> Result<Given, NoSpace> {
        let g = &self.geometry;
        let goal = if goal < g.first_data_block || goal >= g.blocks {
            g.first_data_block
        } else {
            goal
        };
        let mut retries = 0;
        while self.spare_blocks() > 0 {
            if let Some(given) = self.search_groups(inode, goal, blocks) {
                self.changed_group(self.geometry.group_of(given.first));
                return Ok(given);
            }
            if self.params.mode == Mode::Ext2 || retries == RETRIES {
                break;
            }
            // What was freed may be all there is.
            retries += 1;
            self.commit();
        }
        Err(NoSpace)
    }

    /// Blocks that the user may still have.
    fn spare_blocks(&self) -> u64 {
        let reserve = if self.params.superuser {
            0
        } else {
            self.geometry.reserve_blocks
        };
        self.groups.totals.free_blocks.saturating_sub(reserve)
    }

    /// Blocks behind the last one that a file got, in its window: what asking for them one after another gives, as
    /// long as each goal is free.
    pub(super) fn allocate_behind(&mut self, last: u32, most: u32) -> Option<Given> {
        let goal = last + 1;
        if !self.window.contains(goal) || goal >= self.geometry.blocks {
            return None;
        }
        let group = self.geometry.group_of(goal);
        let base = self.geometry.first_block(group);
        let at = goal - base;
        let most = u64::from(most).min(self.spare_blocks()) as u32;
        let end = self.geometry.blocks_per_group;
        let end = end.min(self.window.end + 1 - base).min(at + most);
        let blocks = self.groups.first_barred(group, at, end) - at;
        if blocks == 0 {
            return None;
        }
        self.groups.take(group, at, blocks);
        self.window_hits += blocks;
        self.changed_group(group);
        Some(Given {
            first: goal,
            blocks,
        })
    }

    /// All groups, from that of the goal on (10).
    fn search_groups(&mut self, inode: &mut Inode, goal: u32, mut blocks: u32) -> Option<Given> {
        let ext2 = self.params.mode == Mode::Ext2;
        let mut wanted = u32::from(inode.window_blocks);
        let mut windowed = wanted > 0;
        let home = self.geometry.group_of(goal);
        let position = goal - self.geometry.first_block(home);
        loop {
            let free = self.groups.free_blocks[home as usize];
            if windowed && free < wanted && self.window.is_empty() && (free > 0 || !ext2) {
                windowed = false;
            }
            let mut group = home;
            let mut at = Some(position);
            for visit in 0..=self.geometry.groups {
                let free = self.groups.free_blocks[group as usize];
                let skipped = match visit {
                    0 => free == 0,
                    _ if ext2 => free == 0 || windowed && free <= wanted / 2,
                    _ => free <= wanted / 2,
                };
                if !skipped {
                    let given = self.allocate_in_group(inode, group, at, blocks, windowed);
                    if given.is_some() {
                        return given;
                    }
                    if !ext2 && !windowed {
                        // A quirk of 2.6.18.
                        blocks = 1;
                    }
                }
                at = None;
                group = (group + 1) % self.geometry.groups;
            }
            if !windowed {
                return None;
            }
            windowed = false;
            if ext2 {
                wanted = 0;
            }
        }
    }

    /// One group, in the inode's window or without one (9). `goal` is relative to the group.
    fn allocate_in_group(
        &mut self,
        inode: &mut Inode,
        group: u32,
        mut goal: Option<u32>,
        blocks: u32,
        windowed: bool,
    ) -> Option<Given> {
        if !windowed {
            return self.take(group, goal, blocks, None);
        }
        let mut failed = false;
        loop {
            if failed || !self.in_window(group, goal) {
                let least = blocks.min(u32::from(MOST_WINDOW)) as u16;
                inode.window_blocks = inode.window_blocks.max(least);
                self.new_window(inode, group, goal)?;
                if !self.in_window(group, goal) {
                    goal = None;
                }
            } else if let Some(at) = goal {
                // 2.6.18 compares the window's absolute end with the goal relative to the group.
                let at = match self.params.mode {
                    Mode::Ext3 => at,
                    Mode::Ext2 => self.geometry.first_block(group) + at,
                };
                let left = self.window.end - at + 1;
                if left < blocks {
                    self.window = self.windows.extend(self.window, blocks - left);
                }
            }
            let given = self.take(group, goal, blocks, Some(self.window));
            if let Some(given) = given {
                self.window_hits += given.blocks;
                return Some(given);
            }
            failed = true;
        }
    }

    /// Whether the window has blocks in the group, and the goal among them.
    fn in_window(&self, group: u32, goal: Option<u32>) -> bool {
        let first = self.geometry.first_block(group);
        let last = first + self.geometry.blocks_in(group) - 1;
        self.window.touches(first, last) && goal.is_none_or(|at| self.window.contains(first + at))
    }

    /// Gives the inode another window in a group, from the goal on.
    fn new_window(&mut self, inode: &mut Inode, group: u32, goal: Option<u32>) -> Option<()> {
        let first = self.geometry.first_block(group);
        let last = first + self.geometry.blocks_in(group) - 1;
        let mut from = first + goal.unwrap_or(0);
        let own = self.window;
        if !own.is_empty() {
            if own.start <= last && last < own.end && from >= own.start {
                // It hangs over the end of the group: it is kept, for the next one.
                return None;
            }
            if self.window_hits > own.blocks() / 2 {
                inode.window_blocks = (2 * inode.window_blocks).min(MOST_WINDOW);
            }
        }
        let length = u32::from(inode.window_blocks);
        let mut i = self.windows.last_from(from);
        loop {
            let mut start = from;
            while let Some(before) = self.windows.get(i) {
                start = start.max(before.end + 1);
                if start > last {
                    self.drop_window();
                    return None;
                }
                i += 1;
                let next = self.windows.get(i);
                if next.is_none_or(|next| start + length <= next.start) {
                    break;
                }
            }
            self.windows.remove(self.window);
            self.window = Window {
                start,
                end: start + length - 1,
            };
            self.window_hits = 0;
            i = self.windows.insert(self.window);
            let end = last + 1 - first;
            let found = self.groups.first_allocatable(group, start - first, end);
            let Some(found) = found else {
                self.drop_window();
                return None;
            };
            let found = first + found;
            // 2.6.18 does not count the window's last block.
            let end = self.window.end + u32::from(self.params.mode == Mode::Ext2);
            if found < end {
                return Some(());
            }
            from = found;
        }
    }

    /// Gives the open window up. What is remembered in the inode stays.
    pub(super) fn drop_window(&mut self) {
        self.windows.remove(self.window);
        self.window = Window::default();
        self.window_hits = 0;
    }

    /// Takes up to `blocks` blocks inside one group, in the window if there is one (8).
    fn take(
        &mut self,
        group: u32,
        goal: Option<u32>,
        blocks: u32,
        window: Option<Window>,
    ) -> Option<Given> {
        let base = self.geometry.first_block(group);
        let per_group = self.geometry.blocks_per_group;
        let (goal, start, end) = match window {
            Some(window) => {
                let start = window.start.saturating_sub(base);
                let end = (window.end - base + 1).min(per_group);
                match goal.filter(|at| (start..end).contains(at)) {
                    Some(at) => (goal, at, end),
                    None => (None, start, end),
                }
            }
            None => (goal, goal.unwrap_or(0), per_group),
        };
        let stepped_back = |this: &Ext3| {
            let mut at = this.groups.search(group, start, end)?;
            if window.is_none() {
                let least = start.max(at.saturating_sub(7));
                while at > least && this.groups.is_allocatable(group, at - 1) {
                    at -= 1;
                }
            }
            Some(at)
        };
        let first = match goal {
            Some(at) if self.params.mode == Mode::Ext2 => self.groups.first_free(group, at, end),
            Some(at) if self.groups.is_allocatable(group, at) => Some(at),
            _ => stepped_back(self),
        }?;
        let most = end.min(first + blocks);
        let blocks = self
            .groups
            .first_barred(group, first + 1, most)
            .max(first + 1)
            - first;
        self.groups.take(group, first, blocks);
        Some(Given {
            first: base + first,
            blocks,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ext3::{Ext3, Mode, Params};
    use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
    use proptest::prelude::*;

    /// Free blocks in the windows of files other than `ino`.
    fn kept_free(fs: &Ext3, ino: Option<u64>) -> Vec<u32> {
        let others = fs.open.iter().filter(|file| Some(file.ino.into()) != ino);
        let windows = others.map(|file| file.window);
        let blocks = windows
            .filter(|w| !w.is_empty())
            .flat_map(|w| w.start..=w.end);
        blocks.filter(|&block| is_free(fs, block)).collect()
    }

    fn is_free(fs: &Ext3, block: u32) -> bool {
        let group = fs.geometry.group_of(block);
        let at = block - fs.geometry.first_block(group);
        fs.groups.first_free(group, at, at + 1).is_some()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        /// docs/spec/ext3.md, section 15, point 4: no block in a window of another file is taken by one that has a
        /// window.
        #[test]
        fn nobody_takes_from_the_window_of_another_file(
            ext2 in any::<bool>(),
            steps in prop::collection::vec((1_u64..9, 0_u8..5, 1_u64..100_000), 1..120),
        ) {
            let mut fs = Ext3::new(Params {
                mode: if ext2 { Mode::Ext2 } else { Mode::Ext3 },
                size_bytes: 256 << 20,
                open_files: 4,
                ..Params::default()
            }).expect("mke2fs takes it");
            let (dir, parent) = (DirId(1), None);
            prop_assert_eq!(fs.apply(&Op::Mkdir { dir, parent }), Ok(Outcome::Done));
            for (id, verb, bytes) in steps {
                let file = FileId(id);
                let op = match (fs.inode(file).is_some(), verb) {
                    (false, _) => Op::Create { file, dir, bytes },
                    (true, 0) => Op::Delete { file },
                    (true, 1) => Op::Truncate { file, bytes: bytes / 2 },
                    (true, _) => Op::Append { file, bytes },
                };
                let kept = kept_free(&fs, fs.inode(file));
                prop_assert_eq!(fs.apply(&op), Ok(Outcome::Done), "{:?}", op);
                let taken = kept.iter().find(|&&block| !is_free(&fs, block));
                prop_assert_eq!(taken, None, "{:?}", op);
                prop_assert_eq!(fs.check(), Ok(()), "{:?}", op);
            }
        }
    }
}
