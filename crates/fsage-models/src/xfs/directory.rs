//! Directories of the workload: making and removing them and what is in them.
//!
//! Spec: `docs/spec/xfs.md`, sections 5, 15, 16 and 17.

use super::Xfs;
use super::chunks;
use super::data::NoSpace;
use super::entries::{Entries, Grow, NoBlock};
use super::fork::Fork;
use super::inode::Kind;
use super::leaf::{Key, hash_of};
use super::transaction::Transaction;
use crate::name_table::Name;
use crate::names::{Entry as Place, File};
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId, Outcome};

/// Bytes of an inode for entries: of the root, and of any other.
pub(super) const ROOT_ROOM: usize = 336;
pub(super) const ROOM: usize = 192;
/// Targets of symbolic links up to this length lie in the inode; at most so many bytes are allowed.
pub(super) const SHORT_LINK: u64 = 336;
pub(super) const MOST_LINK: u64 = 1023;
/// Blocks that are reserved for an entry, and for one that goes.
const FOR_ENTRY: u32 = 35;
const FOR_REMOVAL: u32 = 28;

/// A directory.
#[derive(Clone, Debug)]
pub(super) struct Dir {
    pub id: u64,
    pub name: Name,
    /// Slot of its inode.
    pub inode: u32,
    /// Slot of its parent.
    pub parent: u32,
    /// Where its name stands in its parent.
    pub address: u32,
    pub entries: Entries,
    pub alive: bool,
}

/// Blocks of a directory, in a transaction.
struct DirBlocks<'a> {
    fork: Fork<'a>,
    /// Blocks that the transaction may still take.
    total: u32,
}

impl Grow for DirBlocks<'_> {
    fn add(&mut self, from: u32) -> Result<u32, NoBlock> {
        let extents = &self.fork.inode.extents;
        let mut number = from;
        let mut at = extents.at(from);
        while let Some(extent) = extents.get(at).filter(|extent| extent.has(number)) {
            number = extent.end();
            at += 1;
        }
        let next = extents.get(at).copied();
        let taken = self.fork.fill_hole(number, 1, next, self.total, true);
        self.total = self.total.saturating_sub(1);
        taken.map(|_| number).ok_or(NoBlock)
    }

    fn remove(&mut self, number: u32) {
        let at = self.fork.inode.extents.at(number);
        self.fork.remove(at, number..number + 1);
        self.fork.settle();
    }
}

impl Xfs {
    /// The root, as `mkfs.xfs` makes it.
    pub(super) fn make_root(&mut self) {
        let inode = self.keep_inode(self.geometry.root_ino(), Kind::Directory);
        let entries = Entries::new();
        self.inodes[inode as usize].size = entries.size_bytes();
        self.dirs.push(Dir {
            id: 0,
            name: Name::directory(0),
            inode,
            parent: ROOT,
            address: 0,
            entries,
            alive: true,
        });
    }

    /// Bytes for entries in the inode of a directory.
    fn room(dir: u32) -> usize {
        if dir == ROOT { ROOT_ROOM } else { ROOM }
    }

    pub(super) fn key(&self, name: Name) -> Key {
        self.name_table.with_bytes(name, |bytes| Key {
            hash: hash_of(bytes),
            length: bytes.len() as u8,
        })
    }

    /// Puts a name into a directory. Gives where it stands.
    fn enter(
        &mut self,
        tx: &mut Transaction,
        dir: u32,
        name: Name,
        total: u32,
    ) -> Result<u32, NoSpace> {
        let key = self.key(name);
        let room = Xfs::room(dir);
        let of = &mut self.dirs[dir as usize];
        let mut blocks = DirBlocks {
            fork: Fork {
                inode: &mut self.inodes[of.inode as usize],
                space: &mut self.space,
                tx,
                was_delayed: false,
                taken: 0,
            },
            total,
        };
        let entered = of.entries.insert(key, room, &mut blocks);
        let inode = of.inode;
        self.inodes[inode as usize].size = of.entries.size_bytes();
        self.log_change(inode);
        if let Ok(address) = entered {
            self.changed_entry(dir, key, address);
            self.taken.add(&self.name_table, dir, name);
        }
        entered.map_err(|NoBlock| NoSpace)
    }

    /// Takes a name out of a directory.
    fn leave(&mut self, tx: &mut Transaction, dir: u32, name: Name, address: u32) {
        let key = self.key(name);
        self.changed_entry(dir, key, address);
        self.taken.remove(&self.name_table, dir, name);
        let room = Xfs::room(dir);
        let of = &mut self.dirs[dir as usize];
        let mut blocks = DirBlocks {
            fork: Fork {
                inode: &mut self.inodes[of.inode as usize],
                space: &mut self.space,
                tx,
                was_delayed: false,
                taken: 0,
            },
            total: 0,
        };
        of.entries.remove(key, address, room, &mut blocks);
        let inode = of.inode;
        self.inodes[inode as usize].size = of.entries.size_bytes();
        self.log_change(inode);
    }

    /// Begins a transaction that makes an inode: without blocks for it memory is trimmed, and then, but for a symbolic
    /// link, written back (`xfs_create`, `xfs_symlink`).
    fn begin(&mut self, blocks: u32, kind: Kind) -> Result<Transaction, NoSpace> {
        let blocks = i64::from(blocks);
        let mut reserved = self.reserve_or_trim(blocks);
        if !reserved && kind != Kind::Symlink {
            self.write_back_all();
            reserved = self.reserve_or_trim(blocks);
        }
        if reserved {
            Ok(Transaction::begin(&mut self.space, blocks))
        } else {
            Err(NoSpace)
        }
    }

    pub(super) fn reserve_or_trim(&mut self, blocks: i64) -> bool {
        self.space.reserve(blocks, false) || {
            self.trim_all(false);
            self.space.reserve(blocks, false)
        }
    }

    /// Begins a transaction that takes a name away, with blocks if there are any.
    fn begin_removal(&mut self) -> Transaction {
        let blocks = i64::from(FOR_REMOVAL);
        let reserved = self.reserve_or_trim(blocks);
        Transaction::begin(&mut self.space, if reserved { blocks } else { 0 })
    }

    /// Inode and name of what is new; without space nothing is left behind. Gives the slot of the inode, and where the
    /// name stands.
    fn make(
        &mut self,
        dir: u32,
        name: Name,
        kind: Kind,
        link_blocks: u32,
    ) -> Result<(u32, u32), Outcome> {
        let levels = self.geometry.inode_levels();
        let trees = if self.geometry.features.is_plain() {
            1
        } else {
            2
        };
        let blocks = super::geometry::CHUNK_BLOCKS + trees * levels + FOR_ENTRY + link_blocks;
        let mut tx = self
            .begin(blocks, kind)
            .map_err(|NoSpace| Outcome::NoSpace)?;
        let parent = self.inodes[self.dirs[dir as usize].inode as usize].ino;
        let ag = if kind == Kind::Directory {
            let ag = self.rotor % self.geometry.ag_count;
            self.rotor = self.rotor.wrapping_add(1);
            ag
        } else {
            self.geometry.ag_of_inode(parent).0
        };
        let taken = chunks::take_inode(&mut self.chunks, &mut self.space, &mut tx, ag, parent);
        let Some(ino) = taken else {
            tx.commit(&mut self.space);
            return Err(Outcome::NoInode);
        };
        self.changed_inode_trees(self.geometry.ag_of_inode(ino).0);
        let slot = self.keep_inode(ino, kind);
        let is_placed = link_blocks == 0 || self.place_link(&mut tx, slot, link_blocks + FOR_ENTRY);
        let entered = if is_placed {
            self.enter(&mut tx, dir, name, blocks)
        } else {
            Err(NoSpace)
        };
        tx.commit(&mut self.space);
        let Ok(address) = entered else {
            self.release(slot);
            return Err(Outcome::NoSpace);
        };
        self.log_change(slot);
        Ok((slot, address))
    }

    /// The name of a file that is made, or of a further one.
    pub(super) fn new_file_name(&mut self, id: FileId, dir: u32) -> Name {
        self.new_name(Name::file(id.0), dir)
    }

    /// A file with its name; without space nothing is left behind. Gives the slot of the inode.
    pub(super) fn make_file(
        &mut self,
        id: FileId,
        dir: u32,
        kind: Kind,
        link_blocks: u32,
    ) -> Result<u32, Outcome> {
        let name = self.new_file_name(id, dir);
        let made = self.make(dir, name, kind, link_blocks);
        let Ok((inode, address)) = made else {
            self.name_table.take_back(name);
            return made.map(|(inode, _)| inode);
        };
        self.name_table.call(id.0, name);
        let slot = self.names.insert(File {
            id: id.0,
            inode,
            dir,
            entry: Place::new(address, kind == Kind::Symlink),
        });
        self.inodes[inode as usize].file = slot;
        self.changes.new_file(slot);
        Ok(inode)
    }

    /// A symbolic link. A target that is too long for the inode has a block.
    pub(super) fn make_symlink(&mut self, id: FileId, dir: u32, bytes: u64) -> Outcome {
        if bytes > MOST_LINK {
            return Outcome::TooLarge;
        }
        let has_block = bytes > SHORT_LINK;
        let slot = match self.make_file(id, dir, Kind::Symlink, has_block.into()) {
            Ok(slot) => slot,
            Err(outcome) => return outcome,
        };
        let inode = &mut self.inodes[slot as usize];
        (inode.size, inode.disk_size) = (bytes, bytes);
        Outcome::Done
    }

    /// A block for the target of a symbolic link; says whether there is one.
    fn place_link(&mut self, tx: &mut Transaction, slot: u32, total: u32) -> bool {
        let mut fork = Fork {
            inode: &mut self.inodes[slot as usize],
            space: &mut self.space,
            tx,
            was_delayed: false,
            taken: 0,
        };
        fork.fill_hole(0, 1, None, total, true).is_some()
    }

    /// Removes a name; the file goes with its last one.
    pub(super) fn remove_name(&mut self, id: FileId, file: u32) {
        let name = self.name_table.name_of(id.0);
        let (dir, address) = self.names.place(id, file);
        let mut tx = self.begin_removal();
        self.leave(&mut tx, dir, name, address);
        tx.commit(&mut self.space);
        self.name_table.forget(id.0);
        let inode = self.inode_of(file);
        self.log_change(inode);
        if self.names.unlink(id, file).is_some() {
            self.let_go(inode);
        }
    }

    /// Begins a transaction that puts a name into a directory: with blocks, or without any if it needs none.
    fn begin_entry(&mut self, dir: u32, name: Name, blocks: u32) -> Result<Transaction, NoSpace> {
        let mut reserved = i64::from(blocks);
        if !self.reserve_or_trim(reserved) {
            let mut entries = self.dirs[dir as usize].entries.clone();
            let fits = entries.insert(self.key(name), Xfs::room(dir), &mut Full);
            fits.map_err(|NoBlock| NoSpace)?;
            reserved = 0;
        }
        Ok(Transaction::begin(&mut self.space, reserved))
    }

    /// Begins a transaction that lets an entry lead elsewhere and takes another one away, with blocks if there are any.
    fn begin_replacement(&mut self) -> Transaction {
        let blocks = i64::from(FOR_ENTRY + FOR_REMOVAL);
        let reserved = self.reserve_or_trim(blocks);
        Transaction::begin(&mut self.space, if reserved { blocks } else { 0 })
    }

    /// Puts a further name into a directory. Gives where it stands.
    pub(super) fn enter_alone(&mut self, dir: u32, name: Name) -> Result<u32, NoSpace> {
        let mut tx = self.begin_entry(dir, name, FOR_ENTRY)?;
        let entered = self.enter(&mut tx, dir, name, FOR_ENTRY);
        tx.commit(&mut self.space);
        entered
    }

    /// Puts a name that moves into a directory under its new name, and takes the old one away. Gives where it stands.
    fn enter_moved(
        &mut self,
        (from, old, address): (u32, Name, u32),
        (to, new): (u32, Name),
    ) -> Result<u32, NoSpace> {
        let blocks = FOR_ENTRY + FOR_REMOVAL;
        let mut tx = self.begin_entry(to, new, blocks)?;
        let entered = self.enter(&mut tx, to, new, blocks);
        if entered.is_ok() {
            self.leave(&mut tx, from, old, address);
        }
        tx.commit(&mut self.space);
        entered
    }

    /// Takes a name out of a directory, in a transaction of its own.
    fn leave_alone(&mut self, dir: u32, name: Name, address: u32) {
        let mut tx = self.begin_removal();
        self.leave(&mut tx, dir, name, address);
        tx.commit(&mut self.space);
    }

    /// Moves a name, over another one if one is replaced: then it has that name, where it stands. Of two names of one
    /// inode, which the kernel would both leave, a replay removes the old one.
    pub(super) fn move_name(
        &mut self,
        id: FileId,
        file: u32,
        to: u32,
        replaced: Option<(FileId, u32)>,
    ) -> Outcome {
        let name = self.name_table.name_of(id.0);
        let (from, address) = self.names.place(id, file);
        if let Some((other, gone)) = replaced {
            let (_, taken_over) = self.names.place(other, gone);
            let old = self.inode_of(gone);
            let mut tx = if gone == file {
                self.begin_removal()
            } else {
                self.begin_replacement()
            };
            self.leave(&mut tx, from, name, address);
            tx.commit(&mut self.space);
            if gone != file {
                self.log_change(self.dirs[to as usize].inode);
                self.log_change(old);
            }
            self.log_change(self.inode_of(file));
            let its_name = self.name_table.hand_over_as_given(other.0, id.0);
            if let Some(given) = its_name {
                // It is not found by the id any more.
                self.taken.add(&self.name_table, to, given);
            }
            self.names.set_place(id, file, to, taken_over);
            if self.names.unlink(other, gone).is_some() {
                self.let_go(old);
            }
            return Outcome::Done;
        }
        let Some(new) = self.name_of_moved(name, (from, to), Name::file(id.0)) else {
            return Outcome::Done;
        };
        let Ok(new_address) = self.enter_moved((from, name, address), (to, new)) else {
            self.name_table.take_back(new);
            return Outcome::NoSpace;
        };
        self.log_change(self.inode_of(file));
        self.name_table.call(id.0, new);
        self.names.set_place(id, file, to, new_address);
        Outcome::Done
    }

    /// Inode, and name in the parent. Without space nothing is left behind.
    pub(super) fn new_directory(&mut self, id: DirId, parent: u32) -> Result<u32, Outcome> {
        let name = self.new_name(Name::directory(id.0), parent);
        let made = self.make(parent, name, Kind::Directory, 0);
        let (inode, address) = made.inspect_err(|_| self.name_table.take_back(name))?;
        let entries = Entries::new();
        self.inodes[inode as usize].size = entries.size_bytes();
        let dir = Dir {
            id: id.0,
            name,
            inode,
            parent,
            address,
            entries,
            alive: true,
        };
        let slot = if let Some(slot) = self.free_dirs.pop() {
            self.dirs[slot as usize] = dir;
            slot
        } else {
            self.dirs.push(dir);
            self.dirs.len() as u32 - 1
        };
        self.changes.new_directory(slot);
        Ok(slot)
    }

    /// Removes an empty directory.
    pub(super) fn drop_directory(&mut self, slot: u32) {
        let dir = &mut self.dirs[slot as usize];
        dir.alive = false;
        let (name, inode, parent, address) = (dir.name, dir.inode, dir.parent, dir.address);
        dir.entries = Entries::new();
        self.leave_alone(parent, name, address);
        self.name_table.take_back(name);
        self.let_go(inode);
        self.free_dirs.push(slot);
    }

    /// Moves a directory into another one.
    pub(super) fn move_dir(&mut self, slot: u32, to: u32) -> Outcome {
        let dir = &self.dirs[slot as usize];
        let (name, from, address) = (dir.name, dir.parent, dir.address);
        let by_id = Name::directory(dir.id);
        let Some(new) = self.name_of_moved(name, (from, to), by_id) else {
            return Outcome::Done;
        };
        let Ok(new_address) = self.enter_moved((from, name, address), (to, new)) else {
            self.name_table.take_back(new);
            return Outcome::NoSpace;
        };
        self.name_table.take_back(name);
        let dir = &mut self.dirs[slot as usize];
        (dir.name, dir.parent, dir.address) = (new, to, new_address);
        let inode = dir.inode;
        self.log_change(inode);
        Outcome::Done
    }
}

/// There are no blocks for a directory.
struct Full;

impl Grow for Full {
    fn add(&mut self, _: u32) -> Result<u32, NoBlock> {
        Err(NoBlock)
    }

    fn remove(&mut self, _: u32) {}
}
