//! Directories: their blocks (docs/spec/cffs.md, section 7), names and the inodes beside them (section 2), the
//! directory map (section 3).

use super::entries::{Entries, Name, Node, Place};
use super::geometry::{BLOCK, INODES_PER_BLOCK, MAP_ENTRIES, SECTORS};
use super::grouping::Spot;
use super::inode::{Home, Inode, Kind};
use super::params::{DirSteal, Start};
use super::{Cffs, NoSpace};
use crate::block_list::BlockList;
use crate::names::{Entry, File};
use fsage_core::Outcome;
use fsage_core::io::Flush;

/// Slot of the root.
pub(super) const ROOT: u32 = 0;
/// Slot of the directory for blocks of removed directories that still hold inodes; only where inodes never move.
pub(super) const LOST: u32 = 1;
/// Directory numbers of a locator.
pub(super) const MOST_DIRECTORIES: u32 = 1 << 16;
/// Sectors of a directory, and of the external inode file, that a locator can name.
pub(super) const MOST_SECTORS: u32 = 1 << 13;
/// The first inodes of the external inode file are not used, so that no number is 0 or the root's.
pub(super) const FIRST_EXTERNAL: u32 = 4;
/// The first directory number: 0 is the external inode file.
pub(super) const FIRST_NUMBER: u32 = 1;

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dir {
    pub id: u64,
    /// Its place in the directory map; 0 where there is none.
    pub number: u32,
    pub inode: Inode,
    /// Slot of the parent; the root is its own.
    pub parent: u32,
    /// Where in the parent its name stands.
    pub at: u32,
    pub entries: Entries,
    pub alive: bool,
    /// Its inode has been written since the directory was made or has grown ([`Cffs::settle`]).
    pub settled: bool,
    /// Groups, its own first one included.
    pub groups: u32,
    /// Searches for a first block; every second one begins at random ([`Params::randomize_first`]).
    ///
    /// [`Params::randomize_first`]: super::Params::randomize_first
    pub searches: u32,
    /// The direct block of its files that was allocated last; its own first one before that.
    pub last_block: u32,
}

impl Cffs {
    /// What is there at first: the root, and where it is needed the directory for lost blocks, the directory map, the
    /// external inode file.
    pub(super) fn make_first(&mut self) -> Result<(), NoSpace> {
        let home = if self.params.embed {
            Home::Superblock(1)
        } else {
            let number = self.inodes.take(0).expect("an empty area");
            Home::Table(number)
        };
        self.add_directory(0, home, ROOT, 0)?;
        if self.params.embed && !self.params.inodes_move() {
            let inode = Inode::new(
                Home::Superblock(2),
                self.vnodes.take(),
                ROOT,
                Kind::Directory,
            );
            self.dirs.push(Dir {
                id: u64::MAX,
                inode,
                entries: Entries::new(true),
                ..self.dirs[ROOT as usize].clone()
            });
            let lost = &mut self.dirs[LOST as usize];
            (lost.groups, lost.searches) = (0, 0);
        }
        Ok(())
    }

    /// Sees to it that the directory map has room for the next number.
    fn number_directory(&mut self) -> Result<(), NoSpace> {
        let block = (self.dir_numbers.peek() / MAP_ENTRIES) as usize;
        if self.dir_numbers.peek() >= MOST_DIRECTORIES {
            return Err(NoSpace);
        }
        if block >= self.directory_map.blocks.len() {
            self.extend_own(|fs| &mut fs.directory_map, Flush::Delayed)?;
        }
        Ok(())
    }

    /// The cylinder group of a new directory and its first block.
    fn first_block(&mut self) -> Option<u32> {
        if self.params.start == Start::Random {
            let start = self.random_start();
            return self.map.next_free(start);
        }
        let cg = self.map.group_for_directory()?;
        let run = if self.params.group {
            self.map.aligned_run(cg, self.window())
        } else {
            None
        };
        run.or_else(|| self.map.next_free(self.geometry.cg_start(cg)))
    }

    /// A directory with its first block, and a number if there are any; its inode has a place already.
    fn add_directory(&mut self, id: u64, home: Home, parent: u32, at: u32) -> Result<u32, NoSpace> {
        let moves = self.params.inodes_move();
        if moves {
            self.number_directory()?;
        }
        self.number_inode()?;
        let block = self.first_block().ok_or(NoSpace)?;
        self.take(block);
        let mut inode = Inode::new(home, self.vnodes.take(), parent, Kind::Directory);
        inode.blocks.set(&mut self.pool, 0, 1, block.into(), 1);
        inode.size = BLOCK;
        let mut entries = Entries::new(self.params.embed);
        entries.add_block();
        if moves || !self.params.embed {
            // `.` and `..`; the release does not store them.
            entries.put(0, Name::Dot);
            entries.put(1, Name::Dot);
        }
        self.map.directories[self.geometry.cg_of(block) as usize] += 1;
        let dir = Dir {
            id,
            number: if moves { self.dir_numbers.take() } else { 0 },
            inode,
            parent,
            at,
            entries,
            alive: true,
            settled: false,
            groups: 0,
            searches: 0,
            last_block: block,
        };
        Ok(if let Some(slot) = self.free_dirs.pop() {
            self.dirs[slot as usize] = dir;
            slot
        } else {
            self.dirs.push(dir);
            self.dirs.len() as u32 - 1
        })
    }

    /// Inode, first block, name in the parent. Without space nothing is left behind.
    pub(super) fn new_directory(&mut self, id: u64, parent: u32) -> Result<u32, Outcome> {
        let embed = self.params.embed;
        let home = if embed {
            None
        } else {
            // The inode lies in the cylinder group that the first block will choose.
            let cg = self.map.group_for_directory().unwrap_or(0);
            Some(Home::Table(self.inodes.take(cg).ok_or(Outcome::NoInode)?))
        };
        let made = self.enter(parent, embed).and_then(|place| {
            let home = home.unwrap_or_else(|| home_in(parent, place));
            let slot = self.add_directory(id, home, parent, place.at)?;
            Ok((slot, place))
        });
        let Ok((slot, place)) = made else {
            if let Some(home) = home {
                self.free_home(home);
            }
            return Err(Outcome::NoSpace);
        };
        self.changes.new_directory(slot);
        self.put(parent, place, Node::Dir(slot));
        self.emit_new_directory(slot);
        self.placed(&self.dirs[slot as usize].inode.clone());
        Ok(slot)
    }

    /// Removes an empty directory.
    pub(super) fn drop_directory(&mut self, slot: u32) {
        let dir = &self.dirs[slot as usize];
        let (parent, at, mut inode, number) = (dir.parent, dir.at, dir.inode, dir.number);
        let cg = self.geometry.cg_of(self.address(&inode, 0));
        self.emit_removed(inode.home, parent, at);
        if inode.group_start != 0 {
            self.quit_group(slot, inode.group_start);
        }
        self.map.directories[cg as usize] -= 1;
        self.emit_parent_changed(parent, Flush::Delayed);
        self.save_inodes(slot, &mut inode);
        self.leave(parent, at);
        self.release(&mut inode);
        if self.params.inodes_move() {
            self.emit_map(slot);
            self.dir_numbers.release(number);
        }
        let dir = &mut self.dirs[slot as usize];
        dir.alive = false;
        dir.inode = inode;
        self.free_dirs.push(slot);
    }

    /// Blocks of a directory that goes, with inodes of files elsewhere, become blocks of the directory for lost ones.
    fn save_inodes(&mut self, slot: u32, inode: &mut Inode) {
        if self.params.inodes_move() || !self.params.embed {
            return;
        }
        let mut left = BlockList::default();
        for lbn in 0..Self::blocks_of(inode.size) {
            let sectors = lbn * SECTORS..(lbn + 1) * SECTORS;
            let block = self.address(inode, lbn).into();
            let entries = &self.dirs[slot as usize].entries;
            let held: Vec<_> = entries.inodes_in(sectors.start, sectors.end).collect();
            if held.is_empty() {
                left.set(&mut self.pool, lbn, 1, block, 1);
                continue;
            }
            let lost = &mut self.dirs[LOST as usize];
            let first = lost.entries.sectors();
            lost.entries.add_block();
            lost.inode
                .blocks
                .set(&mut self.pool, first / SECTORS, 1, block, 1);
            lost.inode.size += BLOCK;
            for (at, node) in held {
                let at = at - 4 * sectors.start + 4 * first;
                self.dirs[LOST as usize].entries.put_inode(at, node);
                self.set_home(node, Home::Sector { dir: LOST, at });
            }
            self.emit_home(Home::Superblock(2), Flush::Delayed);
        }
        inode.blocks.cut(&mut self.pool, 0, 1, |_| {});
        inode.blocks = left;
    }

    /// An inode lies elsewhere now.
    pub(super) fn set_home(&mut self, node: Node, home: Home) {
        match node {
            Node::File(slot) => self.names.file_mut(slot).inode.home = home,
            Node::Dir(slot) => self.dirs[slot as usize].inode.home = home,
            Node::Unlinked(vnode) => {
                if let Some(inode) = self.opened.unlinked(vnode) {
                    inode.home = home;
                }
            }
        }
    }

    /// A place for a name, and with `inode` for an inode beside it; the directory may get a block for it.
    pub(super) fn enter(&mut self, slot: u32, inode: bool) -> Result<Place, NoSpace> {
        if let Some(place) = self.dirs[slot as usize].entries.find(inode) {
            return Ok(place);
        }
        self.grow(slot)?;
        let found = self.dirs[slot as usize].entries.find(inode);
        Ok(found.expect("an empty block has room"))
    }

    /// One more block at the end of a directory.
    fn grow(&mut self, slot: u32) -> Result<(), NoSpace> {
        let sectors = self.dirs[slot as usize].entries.sectors();
        if self.params.inodes_move() && sectors >= MOST_SECTORS {
            return Err(NoSpace);
        }
        let lbn = sectors / SECTORS;
        let steal = self.params.group && self.params.dir_steal != DirSteal::Off;
        let first = if steal { self.first_group(slot) } else { 0 };
        let mut inode = self.dirs[slot as usize].inode;
        self.map_block(&mut inode, lbn, |fs, inode, before| {
            if steal {
                fs.place_in_first_group(slot, first)
            } else {
                fs.place_block(inode, lbn, before)
            }
        })?;
        inode.size += BLOCK;
        let dir = &mut self.dirs[slot as usize];
        dir.inode = inode;
        dir.entries.add_block();
        dir.settled = false;
        self.emit_new_directory_block(slot, lbn);
        Ok(())
    }

    /// A place for a further block of a directory: in its first group, in the place of a file there, or behind it.
    fn place_in_first_group(&mut self, slot: u32, first: u32) -> Option<Spot> {
        let end = first.saturating_add(self.window());
        if let Some(block) = self.map.first(first, end, false) {
            self.extend_group(slot, first, block - first + 1);
            return Some(Spot::alone(block));
        }
        let stolen = self.steal(slot, first);
        stolen.or_else(|| self.map.next_free(end)).map(Spot::alone)
    }

    /// Puts a name, and with a place for it the inode, into a directory.
    pub(super) fn put(&mut self, dir: u32, place: Place, node: Node) {
        let entries = &mut self.dirs[dir as usize].entries;
        entries.put(place.at, Name::Of(node));
        if let Some(at) = place.inode_at {
            entries.put_inode(at, node);
        }
    }

    /// Takes a name out of a directory, which does not shrink.
    pub(super) fn leave(&mut self, dir: u32, at: u32) {
        self.dirs[dir as usize].entries.remove(at);
    }

    /// The place of an inode is free.
    pub(super) fn free_home(&mut self, home: Home) {
        match home {
            Home::Superblock(_) => {}
            Home::Sector { dir, at } => self.dirs[dir as usize].entries.remove_inode(at),
            Home::Table(n) if self.params.embed => self.externals.release(n),
            Home::Table(n) => self.inodes.release(n),
        }
    }

    /// A place in the external inode file.
    pub(super) fn take_external(&mut self) -> Result<Home, NoSpace> {
        let n = self.externals.peek();
        if n / 4 >= MOST_SECTORS {
            return Err(NoSpace);
        }
        if (n / INODES_PER_BLOCK) as usize >= self.external_file.blocks.len() {
            self.extend_own(|fs| &mut fs.external_file, self.at_once())?;
        }
        Ok(Home::Table(self.externals.take()))
    }

    /// Inode and name of a new file or symbolic link, without data yet.
    pub(super) fn make_file(&mut self, id: u64, dir: u32, kind: Kind) -> Result<u32, Outcome> {
        let embed = self.params.embed;
        let table = if embed {
            None
        } else {
            let cg = self
                .geometry
                .cg_of(self.address(&self.dirs[dir as usize].inode, 0));
            Some(Home::Table(self.inodes.take(cg).ok_or(Outcome::NoInode)?))
        };
        let place = self.number_inode().and_then(|()| self.enter(dir, embed));
        let Ok(place) = place else {
            if let Some(home) = table {
                self.free_home(home);
            }
            return Err(Outcome::NoSpace);
        };
        let home = table.unwrap_or_else(|| home_in(dir, place));
        let mut inode = Inode::new(home, self.vnodes.take(), dir, kind);
        inode.hint = self.hints.current;
        let slot = self.names.insert(File {
            id,
            inode,
            dir,
            entry: Entry::new(place.at, kind == Kind::Symlink),
        });
        self.changes.new_file(slot);
        self.put(dir, place, Node::File(slot));
        self.emit_made(home, dir, place.at);
        self.placed(&inode);
        Ok(slot)
    }
}

/// The home that a place for name and inode has.
pub(super) fn home_in(dir: u32, place: Place) -> Home {
    let at = place.inode_at.expect("a place for an inode was asked for");
    Home::Sector { dir, at }
}
