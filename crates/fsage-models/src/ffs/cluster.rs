//! Clustered writing and the reallocation of clusters (13).
//!
//! Source: `cluster_write` of `vfs_cluster.c` and `ffs_reallocblks` of `ffs_alloc.c`, 4.4BSD-Lite2.

use super::Ffs;
use super::geometry::DIRECT;
use super::inode::{ClusterWindow, Inode};
use super::requests::{How, Served, Wanted};

impl Ffs {
    /// Largest window: 64 KB less one block.
    fn max_cluster(&self) -> u32 {
        (65536 / self.geometry.bsize - 1) as u32
    }

    /// A block was filled: extends the window, closes it, or moves it together.
    pub(super) fn cluster_write(&mut self, inode: &mut Inode, lbn: u32) {
        let frag = self.geometry.frag;
        let address = self.address(inode, lbn);
        let at_eof = (u64::from(lbn) + 1) * self.geometry.bsize == inode.size;
        let mut w = self.window;
        if lbn == 0 {
            w = ClusterWindow::default();
        }
        let ends = self.params.direct_clusters && lbn == DIRECT;
        if w.len == 0 || ends || lbn != w.last + 1 || address != w.last_address + frag {
            let sequential = w.len != 0 && !ends && lbn == w.last + 1;
            if sequential
                && at_eof
                && w.len > w.last - w.start + 1
                && let Some(moved) = self.reallocate(inode, w.start, lbn)
            {
                // The window goes on where it started.
                self.window.last = lbn;
                self.window.last_address = moved;
                return;
            }
            if w.len != 0 && w.start <= w.last {
                self.emit_push(inode, w.start, w.last);
            }
            w.len = if at_eof {
                self.max_cluster()
            } else {
                self.contiguous_after(inode, lbn).min(self.max_cluster())
            };
            w.start = lbn;
            if w.len == 0 {
                self.emit_push(inode, lbn, lbn);
                w.start = lbn + 1;
            }
        } else if lbn == w.start + w.len {
            self.emit_push(inode, w.start, lbn);
            w.len = 0;
            w.start = lbn + 1;
        }
        w.last = lbn;
        w.last_address = address;
        self.window = w;
    }

    /// Blocks after `lbn` in the same pointer array that go on contiguously.
    pub(super) fn contiguous_after(&self, inode: &Inode, lbn: u32) -> u32 {
        let run = inode.blocks.contiguous_after(&self.pool, lbn);
        let (_, index) = self.place(lbn);
        let array = if lbn < DIRECT {
            u64::from(DIRECT)
        } else {
            self.geometry.nindir
        };
        run.min((array - 1 - index) as u32)
    }

    /// Moves the blocks `first..=last` to one free run (13.2). Gives the new address of `last`.
    fn reallocate(&mut self, inode: &mut Inode, first: u32, last: u32) -> Option<u64> {
        let g = &self.geometry;
        if !self.params.policy.reallocates_clusters() || g.contigsumsize == 0 {
            return None;
        }
        let (from, to) = (self.address(inode, first), self.address(inode, last));
        // A window that is kept between operations may have lost blocks to a truncation.
        if (first..=last).any(|lbn| self.address(inode, lbn) == 0) {
            return None;
        }
        if self.group_of(from) != self.group_of(to) {
            // The file has moved to another group on purpose.
            return None;
        }
        let blocks = last - first + 1;
        let n = blocks as usize;
        let frag = g.frag;
        let preference = self.block_preference(inode, first, self.place(first).1);
        let group = self.group_of(preference);
        let found = self.search_groups(group, preference, |fs, c, preference| {
            // A preference right behind the last group names a group that is not there: that trial fails.
            if c >= fs.geometry.ncg || !fs.groups.has_cluster(c, n) {
                return None;
            }
            let start = if preference != 0 && fs.group_of(preference) == c {
                fs.block_of(preference)
            } else {
                0
            };
            let block = fs.groups.find_cluster(c, start, n)?;
            fs.groups.take_blocks(c, block, n);
            Some(fs.geometry.base(c) + block as u64 * frag)
        });
        self.note(|fs| Served {
            inode: inode.ino,
            wanted: Wanted::Cluster,
            block: first,
            frags: n * fs.groups.frag,
            preferred: preference,
            address: found.unwrap_or(0),
            how: found.map_or(How::NoRun, |_| How::Moved),
        });
        let new = found?;
        // The old blocks are freed last: they are no candidates for the new run.
        let mut old: [(u64, u32); 16] = [(0, 0); 16];
        let mut runs = 0;
        for lbn in first..=last {
            let address = self.address(inode, lbn);
            match old[..runs].last_mut() {
                Some((start, n)) if *start + u64::from(*n) * frag == address => *n += 1,
                _ => {
                    old[runs] = (address, 1);
                    runs += 1;
                }
            }
        }
        inode.blocks.set(&mut self.pool, first, blocks, new, frag);
        self.emit_group(self.group_of(new));
        self.emit_moved(inode, first, last);
        for &(address, n) in &old[..runs] {
            self.release_blocks(address, n);
        }
        Some(new + u64::from(blocks - 1) * frag)
    }
}
