//! The allocator: block preference, search over cylinder groups, one piece, growing a fragment, inodes.
//!
//! Source: `ffs_alloc.c` 8.18 of 4.4BSD-Lite2. Section numbers are those of `docs/spec/ffs.md`.

use super::Ffs;
use super::geometry::DIRECT;
use super::inode::Inode;
use super::params::Optim;
use super::policy::{IndirectSite, TailSite};
use super::requests::{How, Served, Wanted};

/// No space: the reserve is reached, or no group had what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSpace;

/// A request for one piece of a file: a whole block or some fragments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Logical block the piece is for.
    pub lbn: u32,
    /// Address of the block before it in the file, if the policy may look at it; 0 is "none".
    pub previous: u64,
    /// Preferred address; 0 is "none".
    pub preference: u64,
    /// Fragments.
    pub frags: usize,
    /// What it is for.
    pub wanted: Wanted,
}

impl Request {
    /// It with what served it.
    fn served(&self, inode: u64, address: u64, how: How) -> Served {
        Served {
            inode,
            wanted: self.wanted,
            block: self.lbn,
            frags: self.frags,
            preferred: self.preference,
            address,
            how,
        }
    }
}

impl Ffs {
    /// Cylinder group of an inode.
    #[inline]
    pub(super) fn group_of_inode(&self, ino: u64) -> usize {
        (ino / self.geometry.ipg) as usize
    }

    /// Cylinder group of an address.
    #[inline]
    pub(super) fn group_of(&self, address: u64) -> usize {
        (address / self.geometry.fpg) as usize
    }

    /// Block index within its group of an address.
    #[inline]
    pub(super) fn block_of(&self, address: u64) -> usize {
        (address % self.geometry.fpg / self.geometry.frag) as usize
    }

    /// Where block `lbn` should go (7). `index` is its place in the pointer array that holds it.
    #[inline]
    pub(super) fn block_preference(&self, inode: &Inode, lbn: u32, index: u64) -> u64 {
        let previous = if index == 0 {
            0
        } else {
            self.address(inode, lbn - 1)
        };
        let g = &self.geometry;
        if previous == 0 || index.is_multiple_of(g.maxbpg) {
            return self.section_preference(inode, lbn, previous);
        }
        let next = previous + g.frag;
        if g.rotational_gap == 0 || index < g.maxcontig {
            return next;
        }
        let first = self.address(inode, lbn - g.maxcontig as u32);
        if first + g.maxcontig * g.frag == next {
            next + g.rotational_gap
        } else {
            next
        }
    }

    /// Where a file, or a new section of it, starts.
    fn section_preference(&self, inode: &Inode, lbn: u32, previous: u64) -> u64 {
        let g = &self.geometry;
        let own_group = self.group_of_inode(inode.ino);
        // The second block of the group, not the first.
        let second_block = |c: usize| g.base(c) + g.frag;
        if lbn < DIRECT {
            return second_block(own_group);
        }
        if u64::from(lbn) < u64::from(DIRECT) + g.nindir {
            let site = IndirectSite {
                own_group_second_block: second_block(own_group),
                single_indirect: self.indirect.get(&inode.ino).map_or(0, |i| i.single),
                last_direct: self.address(inode, DIRECT - 1),
                frag: g.frag,
            };
            if let Some(preference) = self.params.policy.indirect_preference(&site) {
                return preference;
            }
        }
        let group = if previous == 0 {
            let away = usize::from(self.params.strict_switch);
            own_group + away + (u64::from(lbn) / g.maxbpg) as usize
        } else {
            self.group_of(previous) + 1
        };
        let start = group % g.ncg;
        let average = (self.groups.totals.nbfree / g.ncg as u64) as u32;
        let nbfree = &self.groups.nbfree;
        first_at_least(&nbfree[start..], average)
            .map(|i| start + i)
            .or_else(|| first_at_least(&nbfree[..=start], average))
            .map_or(0, second_block)
    }

    /// Tries a group, then others by quadratic rehash, then all in order (8). Groups after the first are tried
    /// without a preference.
    #[inline]
    pub(super) fn search_groups<T>(
        &mut self,
        first: usize,
        preference: u64,
        mut attempt: impl FnMut(&mut Ffs, usize, u64) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = attempt(self, first, preference) {
            return Some(found);
        }
        let ncg = self.geometry.ncg;
        let mut c = first;
        let mut step = 1;
        while step < ncg {
            c += step;
            if c >= ncg {
                c -= ncg;
            }
            if let Some(found) = attempt(self, c, 0) {
                return Some(found);
            }
            step *= 2;
        }
        c = (first + 2) % ncg;
        for _ in 2..ncg {
            if let Some(found) = attempt(self, c, 0) {
                return Some(found);
            }
            c = (c + 1) % ncg;
        }
        None
    }

    /// Whether the reserve leaves nothing to this user. It is asked before an allocation, whatever its size.
    fn is_full(&self) -> bool {
        let g = &self.geometry;
        let free = self.groups.totals.nbfree * g.frag + self.groups.totals.nffree;
        !self.params.superuser && free <= g.dsize * g.minfree / 100
    }

    fn clip(&self, preference: u64) -> u64 {
        if preference >= self.geometry.size {
            0
        } else {
            preference
        }
    }

    /// Allocates one piece (9) and gives its address.
    #[inline]
    pub(super) fn allocate(&mut self, ino: u64, mut request: Request) -> Result<u64, NoSpace> {
        let whole = request.frags == self.groups.frag;
        if whole && self.groups.totals.nbfree == 0 || self.is_full() {
            self.note(|_| request.served(ino, 0, How::NoSpace));
            return Err(NoSpace);
        }
        request.preference = self.clip(request.preference);
        let first = if request.preference == 0 {
            self.group_of_inode(ino)
        } else {
            self.group_of(request.preference)
        };
        let found = self.search_groups(first, request.preference, |fs, c, preference| {
            fs.allocate_in_group(
                c,
                Request {
                    preference,
                    ..request
                },
            )
        });
        self.note(|fs| {
            let how = found
                .map(|address| fs.how_found(first, request.preference, (address, request.frags)));
            request.served(ino, found.unwrap_or(0), how.unwrap_or(How::NoSpace))
        });
        let address = found.ok_or(NoSpace)?;
        self.emit_group(self.group_of(address));
        Ok(address)
    }

    /// One piece in one group.
    #[inline]
    fn allocate_in_group(&mut self, c: usize, request: Request) -> Option<u64> {
        let frag = self.groups.frag;
        if request.frags == frag {
            if self.groups.nbfree[c] == 0 {
                return None;
            }
            let block = self.choose_block(c, request.preference);
            self.groups.take_blocks(c, block, 1);
            return Some(self.geometry.base(c) + (block * frag) as u64);
        }
        self.fragments_in_group(c, request)
    }

    /// Fragments in one group: best fit by size, then first fit by position; a free block is broken only if no
    /// run of fragments fits, or if the policy wants it.
    fn fragments_in_group(&mut self, c: usize, request: Request) -> Option<u64> {
        let Request {
            preference, frags, ..
        } = request;
        let frag = self.groups.frag;
        let at = |fs: &Ffs, block: usize| fs.geometry.base(c) + (block * frag) as u64;
        if preference != 0 && self.group_of(preference) == c {
            let site = TailSite {
                lbn: request.lbn,
                previous: request.previous,
                preference,
                frag: frag as u64,
            };
            let block = self.block_of(preference);
            if self.params.policy.breaks_preferred_block(&site) && self.groups.is_free(c, block) {
                self.groups.break_block(c, block, frags);
                return Some(at(self, block));
            }
        }
        let fitting = (frags..frag).find(|&size| self.groups.frsum[c][size] > 0);
        let Some(size) = fitting else {
            if self.groups.nbfree[c] == 0 {
                return None;
            }
            let block = self.choose_block(c, preference);
            self.groups.break_block(c, block, frags);
            return Some(at(self, block));
        };
        // Only the place within a group counts, even if the preference lies in another one.
        let relative = if preference == 0 {
            u64::from(self.groups.frotor[c])
        } else {
            preference % self.geometry.fpg
        };
        let start = relative as usize / 8 * 8 / frag;
        let (block, offset) = self
            .groups
            .find_frags(c, start, size)
            .unwrap_or_else(|| panic!("group {c}: no run of {size} fragments, but frsum has one"));
        self.groups.frotor[c] = (block * frag / 8 * 8) as u32;
        self.groups.take_frags(c, block * frag + offset, frags);
        Some(at(self, block) + offset as u64)
    }

    /// Chooses a free block in a group that has one; it is not taken yet.
    #[inline]
    fn choose_block(&mut self, c: usize, preference: u64) -> usize {
        let frag = self.groups.frag;
        let start = if preference == 0 || self.group_of(preference) != c {
            self.groups.rotor[c] as usize / frag
        } else {
            let block = self.block_of(preference);
            if self.groups.is_free(c, block) {
                return block;
            }
            if self.geometry.is_rotational()
                && let Some(near) = self.groups.find_in_cylinder(c, block)
            {
                return near;
            }
            block
        };
        // A start of 0 means the fragment rotor, whether it comes from the preference or the block rotor.
        let relative = if start == 0 {
            self.groups.frotor[c] as usize
        } else {
            start * frag
        };
        let block = self
            .groups
            .find_block(c, relative / 8 * 8 / frag)
            .unwrap_or_else(|| panic!("group {c}: no free block, but nbfree has one"));
        self.groups.frotor[c] = (block * frag / 8 * 8) as u32;
        self.groups.rotor[c] = (block * frag) as u32;
        block
    }

    /// Grows the piece of `old` fragments at `address` (10): in place, or into a new piece. The old fragments
    /// are free afterwards. Gives the new address.
    pub(super) fn grow(
        &mut self,
        ino: u64,
        (address, old): (u64, usize),
        request: Request,
    ) -> Result<u64, NoSpace> {
        if self.is_full() {
            self.note(|_| request.served(ino, 0, How::NoSpace));
            return Err(NoSpace);
        }
        let frag = self.groups.frag;
        let c = self.group_of(address);
        let relative = (address % self.geometry.fpg) as usize;
        let (block, offset) = (relative / frag, relative % frag);
        let new = request.frags;
        if offset + new <= frag {
            let mask = self.groups.free_mask(c, block);
            let wanted = (((1_u16 << (new - old)) - 1) << (offset + old)) as u8;
            if mask & wanted == wanted {
                self.groups.take_frags(c, relative + old, new - old);
                self.emit_group(c);
                self.note(|_| request.served(ino, address, How::InPlace));
                return Ok(address);
            }
        }
        let preference = self.clip(request.preference);
        let frags = self.size_of_moved_fragment(new);
        let found = self.search_groups(c, preference, |fs, c, preference| {
            fs.allocate_in_group(
                c,
                Request {
                    preference,
                    frags,
                    ..request
                },
            )
        });
        self.note(|fs| {
            let how = found.map(|to| fs.how_found(c, preference, (to, frags)));
            request.served(ino, found.unwrap_or(0), how.unwrap_or(How::NoSpace))
        });
        let to = found.ok_or(NoSpace)?;
        self.emit_group(self.group_of(to));
        self.release_piece(address, old);
        if frags > new {
            self.release_piece(to + new as u64, frags - new);
        }
        Ok(to)
    }

    /// What a fragment that moves asks for. The optimization changes itself here, from the next request on.
    fn size_of_moved_fragment(&mut self, new: usize) -> usize {
        let g = &self.geometry;
        let nffree = self.groups.totals.nffree;
        let (frags, change) = match self.optim {
            Optim::Space => (
                new,
                (g.minfree >= 5 && nffree <= g.dsize * g.minfree / 200).then_some(Optim::Time),
            ),
            Optim::Time => {
                // With a reserve below 2 percent the original's threshold is negative: it switches at once.
                let threshold = g.dsize * g.minfree.saturating_sub(2) / 100;
                (
                    self.groups.frag,
                    (g.minfree < 2 || nffree >= threshold).then_some(Optim::Space),
                )
            }
        };
        if let Some(change) = change {
            self.optim = change;
            self.optim_changes += 1;
        }
        frags
    }

    /// Gives `n` fragments of one block back; all of them are a whole block.
    pub(super) fn release_piece(&mut self, address: u64, n: usize) {
        let c = self.group_of(address);
        if n == self.groups.frag {
            self.groups.free_blocks(c, self.block_of(address), 1);
        } else {
            let relative = address % self.geometry.fpg;
            self.groups.free_frags(c, relative as usize, n);
        }
        self.emit_group(c);
    }

    /// Gives `n` consecutive whole blocks back, which may lie in several groups.
    pub(super) fn release_blocks(&mut self, address: u64, n: u32) {
        let (mut address, mut left) = (address, n as usize);
        while left > 0 {
            let (c, block) = (self.group_of(address), self.block_of(address));
            let here = left.min(self.groups.blocks_per_group() - block);
            self.groups.free_blocks(c, block, here);
            self.emit_group(c);
            address += (here * self.groups.frag) as u64;
            left -= here;
        }
    }

    /// Preferred inode of a new directory (6): the first group with the fewest directories among those with
    /// at least the average number of free inodes.
    pub(super) fn directory_preference(&self) -> u64 {
        let average = self.groups.totals.nifree / self.geometry.ncg as u64;
        let mut best = 0;
        let mut fewest = self.geometry.ipg;
        for (c, (&ndir, &nifree)) in self.groups.ndir.iter().zip(&self.groups.nifree).enumerate() {
            if u64::from(ndir) < fewest && u64::from(nifree) >= average {
                (best, fewest) = (c, u64::from(ndir));
                if fewest == 0 {
                    break;
                }
            }
        }
        self.geometry.ipg * best as u64
    }

    /// Allocates an inode (6); `None` if there is none.
    pub(super) fn allocate_inode(&mut self, preference: u64, directory: bool) -> Option<u64> {
        if self.groups.totals.nifree == 0 {
            return None;
        }
        let ipg = self.geometry.ipg;
        let preference = if preference >= ipg * self.geometry.ncg as u64 {
            0
        } else {
            preference
        };
        let first = self.group_of_inode(preference);
        let ino = self.search_groups(first, preference, |fs, c, preference| {
            let groups = &mut fs.groups;
            if groups.nifree[c] == 0 {
                return None;
            }
            let wanted = (preference % ipg) as usize;
            let index = if preference != 0 && !groups.inode_used(c, wanted) {
                wanted
            } else {
                let index = groups
                    .find_inode(c)
                    .unwrap_or_else(|| panic!("group {c}: no free inode, but nifree has one"));
                groups.irotor[c] = index as u32;
                index
            };
            groups.take_inode(c, index, directory);
            Some(c as u64 * ipg + index as u64)
        })?;
        self.emit_group(self.group_of_inode(ino));
        Some(ino)
    }

    /// Gives an inode back (6).
    pub(super) fn free_inode(&mut self, ino: u64, directory: bool) {
        let index = (ino % self.geometry.ipg) as usize;
        let c = self.group_of_inode(ino);
        self.groups.free_inode(c, index, directory);
        self.emit_group(c);
    }
}

/// Index of the first count of at least `least`. A 16 TiB file system has a million groups: whole chunks are
/// passed over with vector instructions.
fn first_at_least(counts: &[u32], least: u32) -> Option<usize> {
    const CHUNK: usize = 32;
    let has_none = |chunk: &&[u32]| chunk.iter().fold(0, |most, &n| most.max(n)) < least;
    let passed = CHUNK * counts.chunks_exact(CHUNK).take_while(has_none).count();
    let found = counts[passed..].iter().position(|&n| n >= least)?;
    Some(passed + found)
}

#[cfg(test)]
mod tests {
    use super::first_at_least;

    #[test]
    fn the_first_group_with_enough_is_found_in_and_behind_whole_chunks() {
        for at in [0, 31, 32, 63, 64, 70] {
            let mut counts = [3_u32; 71];
            counts[at] = 5;
            assert_eq!(first_at_least(&counts, 5), Some(at));
            assert_eq!(first_at_least(&counts, 3), Some(0));
            assert_eq!(first_at_least(&counts, 6), None);
        }
        assert_eq!(first_at_least(&[], 0), None);
    }
}
