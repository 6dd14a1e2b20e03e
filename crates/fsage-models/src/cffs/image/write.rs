//! The blocks of a model, as an image has them.

use super::super::Cffs;
use super::super::directory::{Dir, LOST, ROOT};
use super::super::entries::{Name, Node};
use super::super::geometry::{
    BLOCK, INODES_PER_BLOCK, MAP_ENTRIES, SECTOR, SECTORS, SUPERBLOCK, TREE,
};
use super::super::inode::{Home, Inode, Kind, NO_DIR};
use super::super::own_file::OwnFile;
use super::ReadBlocks;
use super::format::{
    Block, DiskEntry, DiskInode, EXTERNAL_NUMBER, INODE, Id, MAP_ENTRY, MAP_NUMBER, NAMES, PLACES,
    Run, Slot, Superblock, Way, encode_names, put,
};
use crate::pointers::{Array, Indirect};
use std::collections::BTreeMap;
use std::io;

/// Blocks by their addresses; all others are zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// How many there are with those that are zeros.
    pub count: u32,
    /// Those that may not be.
    pub blocks: BTreeMap<u32, Box<Block>>,
}

impl ReadBlocks for Blocks {
    fn blocks(&self) -> u64 {
        self.count.into()
    }

    fn read(&self, block: u32, to: &mut Block) -> io::Result<()> {
        match self.blocks.get(&block) {
            Some(bytes) => to.copy_from_slice(&bytes[..]),
            None => to.fill(0),
        }
        Ok(())
    }
}

impl Blocks {
    fn at(&mut self, block: u32) -> &mut Block {
        let zeros = || Box::new([0; BLOCK as usize]);
        self.blocks.entry(block).or_insert_with(zeros)
    }
}

/// All metadata of a file system.
pub(super) fn blocks(fs: &Cffs) -> Blocks {
    let count = fs.geometry.blocks;
    let mut out = Blocks {
        count,
        blocks: BTreeMap::new(),
    };
    let writer = Writer::new(fs);
    writer.superblock(&mut out);
    writer.bitmaps(&mut out);
    writer.directory_map(&mut out);
    writer.inodes(&mut out);
    for (slot, dir) in (0..).zip(&fs.dirs).filter(|(_, dir)| dir.alive) {
        writer.names(slot, dir, &mut out);
    }
    out
}

struct Writer<'a> {
    fs: &'a Cffs,
    /// Which name stands where.
    ids: BTreeMap<(u32, u32), u64>,
    /// Directories that each one has.
    subdirs: Vec<u32>,
}

/// Whether a directory is the one for lost blocks.
fn is_lost_dir(fs: &Cffs, slot: u32) -> bool {
    slot == LOST && fs.params.embed && !fs.params.inodes_move()
}

impl<'a> Writer<'a> {
    fn new(fs: &'a Cffs) -> Writer<'a> {
        let mut ids = BTreeMap::new();
        for (_, file) in fs.names.iter() {
            ids.insert((file.dir, file.entry.chunk()), file.id);
        }
        for (id, alias) in fs.names.aliases() {
            ids.insert((alias.dir, alias.chunk), id);
        }
        let mut subdirs = vec![0; fs.dirs.len()];
        for (slot, dir) in (0..).zip(&fs.dirs) {
            if slot != ROOT && dir.alive && !is_lost_dir(fs, slot) {
                subdirs[dir.parent as usize] += 1;
            }
        }
        Writer { fs, ids, subdirs }
    }

    /// The superblock, and its copy.
    fn superblock(&self, out: &mut Blocks) {
        let fs = self.fs;
        let mut inodes = [Slot::Free; 4];
        if fs.params.embed {
            inodes[0] = Slot::Used(self.dir_inode(ROOT));
        }
        if is_lost_dir(fs, LOST) {
            inodes[1] = Slot::Used(self.dir_inode(LOST));
        }
        if fs.params.inodes_move() {
            let own = [
                (MAP_NUMBER, &fs.directory_map),
                (EXTERNAL_NUMBER, &fs.external_file),
            ];
            for (slot, (number, file)) in inodes[2..].iter_mut().zip(own) {
                *slot = Slot::Used(own_inode(number, file, out));
            }
        }
        let superblock = Superblock {
            params: fs.params.clone(),
            geometry: fs.geometry,
            allocated: fs.geometry.blocks - fs.map.free_blocks as u32,
            inodes,
            root: self.number(fs.dirs[ROOT as usize].inode.home),
        };
        for block in [0, SUPERBLOCK] {
            *out.at(block) = superblock.encode();
        }
    }

    fn bitmaps(&self, out: &mut Blocks) {
        let g = &self.fs.geometry;
        for cg in 0..g.groups {
            let to = out.at(g.bitmap(cg));
            for (i, block) in (g.cg_start(cg)..g.cg_end(cg)).enumerate() {
                to[i / 8] |= u8::from(!self.fs.map.is_free(block)) << (i % 8);
            }
        }
    }

    fn number(&self, home: Home) -> u32 {
        self.fs.number_of(home) as u32
    }

    /// Number of each directory, number of its inode, and the sector that has it.
    fn directory_map(&self, out: &mut Blocks) {
        let fs = self.fs;
        for &block in fs
            .directory_map
            .blocks
            .iter()
            .chain(&fs.external_file.blocks)
        {
            out.at(block);
        }
        if !fs.params.inodes_move() {
            return;
        }
        for dir in fs.dirs.iter().filter(|dir| dir.alive) {
            let block = fs.directory_map.blocks[(dir.number / MAP_ENTRIES) as usize];
            let at = (dir.number % MAP_ENTRIES) as usize * MAP_ENTRY;
            let to = out.at(block);
            put(to, at, &self.number(dir.inode.home).to_le_bytes());
            put(
                to,
                at + 4,
                &sector_address(fs, dir.inode.home).to_le_bytes(),
            );
        }
    }

    /// Every inode but those of the superblock, and all blocks of pointers.
    fn inodes(&self, out: &mut Blocks) {
        let fs = self.fs;
        if !fs.params.embed {
            for cg in 0..fs.geometry.groups {
                let first = fs.geometry.bitmap(cg) + 1;
                let end = fs.geometry.cg_start(cg) + fs.geometry.overhead(cg);
                (first..end).for_each(|block| {
                    out.at(block);
                });
            }
        }
        for (slot, dir) in (0..).zip(&fs.dirs).filter(|(_, dir)| dir.alive) {
            self.put_inode(&dir.inode, &self.dir_inode(slot), out);
        }
        for (slot, file) in fs.names.iter() {
            let links = fs.names.links(slot);
            self.put_inode(&file.inode, &self.file_inode(&file.inode, links, 0), out);
        }
        for opened in fs.opened.0.values() {
            if let Some(inode) = &opened.unlinked {
                let opens = opened.times.min(u16::MAX.into()) as u16;
                self.put_inode(inode, &self.file_inode(inode, 0, opens), out);
            }
        }
    }

    fn put_inode(&self, inode: &Inode, on_disk: &DiskInode, out: &mut Blocks) {
        let fs = self.fs;
        self.pointers(inode, out);
        let at = match inode.home {
            Home::Superblock(_) => return,
            Home::Sector { at, .. } => {
                let (sector, k) = (at / 4 % SECTORS, at % 4);
                sector as usize * SECTOR as usize + k as usize * INODE
            }
            Home::Table(n) => (n % INODES_PER_BLOCK) as usize * INODE,
        };
        put(out.at(fs.block_of_home(inode.home)), at, &on_disk.encode());
    }

    /// The blocks of pointers of a file.
    fn pointers(&self, inode: &Inode, out: &mut Blocks) {
        let fs = self.fs;
        let Some(indirect) = fs.indirect.get(&inode.vnode) else {
            return;
        };
        for (array, block) in indirect.all() {
            out.at(block);
            if let Some((upper, i)) = above(array) {
                let upper = indirect.get(upper).expect("the way to a block of pointers");
                put(out.at(upper), 4 * i as usize, &block.to_le_bytes());
            }
        }
        for run in inode.blocks.iter(&fs.pool) {
            for lbn in run.lbn.max(TREE.direct)..run.end() {
                let leaf = *TREE
                    .path(lbn)
                    .arrays()
                    .last()
                    .expect("behind the direct blocks");
                let block = indirect.get(leaf).expect("the pointers of a block");
                let i = u64::from(lbn) - TREE.first_of(leaf);
                let address = run.address as u32 + (lbn - run.lbn);
                put(out.at(block), 4 * i as usize, &address.to_le_bytes());
            }
        }
    }

    fn disk_inode(&self, inode: &Inode, links: u32) -> DiskInode {
        let fs = self.fs;
        let mut out = DiskInode {
            links: links.min(u16::MAX.into()) as u16,
            ..DiskInode::new(self.number(inode.home), inode.kind, inode.size)
        };
        for lbn in 0..TREE.direct {
            out.direct[lbn as usize] = fs.address(inode, lbn);
        }
        for (array, block) in fs
            .indirect
            .get(&inode.vnode)
            .into_iter()
            .flat_map(Indirect::all)
        {
            out.set_array(array, block);
        }
        if inode.dir != NO_DIR {
            let dir = &fs.dirs[inode.dir as usize];
            out.dir = if fs.params.inodes_move() {
                dir.number
            } else {
                self.number(dir.inode.home)
            };
        }
        out
    }

    fn file_inode(&self, inode: &Inode, links: u32, opens: u16) -> DiskInode {
        DiskInode {
            opens,
            group_start: inode.group_start,
            group_size: self.fs.group_size(inode.group_owner(), inode.group_start),
            ..self.disk_inode(inode, links)
        }
    }

    fn dir_inode(&self, slot: u32) -> DiskInode {
        let inode = &self.fs.dirs[slot as usize].inode;
        DiskInode {
            group_start: inode.group_start,
            group_size: self.fs.group_size(slot, inode.group_start),
            ..self.disk_inode(inode, dir_links(self.fs, self.subdirs[slot as usize]))
        }
    }

    fn names(&self, slot: u32, dir: &Dir, out: &mut Blocks) {
        let fs = self.fs;
        let per_sector = dir.entries.per_sector as usize;
        let mut runs = vec![Run::default(); dir.entries.sectors() as usize * per_sector / PLACES];
        for (at, name) in dir.entries.names() {
            let entry = self.entry(slot, dir, at, name);
            runs[at as usize / PLACES][at as usize % PLACES] = Some(entry);
        }
        let runs_of_sector = per_sector / PLACES;
        for (i, run) in runs.iter().enumerate() {
            let (sector, of_sector) = (i / runs_of_sector, i % runs_of_sector);
            let block = fs.address(&dir.inode, sector as u32 / SECTORS);
            let in_block = sector % SECTORS as usize;
            let at = in_block * SECTOR as usize + of_sector * NAMES;
            encode_names(run, &mut out.at(block)[at..at + NAMES]);
        }
    }

    fn entry(&self, slot: u32, dir: &Dir, at: u32, name: Name) -> DiskEntry {
        let fs = self.fs;
        let (home, id) = match name {
            Name::Dot => return self.dot(dir, at),
            Name::Of(Node::Dir(slot)) => {
                let dir = &fs.dirs[slot as usize];
                (dir.inode.home, Id::Dir(dir.id))
            }
            Name::Of(Node::File(file)) => {
                let id = self.ids[&(slot, at)];
                (fs.names.file(file).inode.home, Id::File(id))
            }
            Name::Of(Node::Unlinked(_)) => unreachable!("no name leads to a file without one"),
        };
        let sector = dir.entries.sector_of(at);
        let way = match (home, name) {
            _ if !fs.params.inodes_move() => Way::Number(match name {
                Name::Of(Node::File(file)) => fs.names.file(file).inode.kind,
                _ => Kind::Directory,
            }),
            (Home::Sector { at, .. }, _) if at / 4 == sector => Way::Embedded,
            (Home::Sector { .. }, _) => Way::Internal,
            _ => Way::External,
        };
        DiskEntry {
            way,
            pointer: self.number(home),
            id,
        }
    }

    /// `.` and `..`: directory numbers, or without embedded inodes numbers of inodes.
    fn dot(&self, dir: &Dir, at: u32) -> DiskEntry {
        let fs = self.fs;
        let (of, id) = match at {
            0 => (dir, Id::Dot),
            _ => (&fs.dirs[dir.parent as usize], Id::DotDot),
        };
        let (way, pointer) = if fs.params.inodes_move() {
            (Way::Directory, of.number)
        } else {
            (Way::Number(Kind::Directory), self.number(of.inode.home))
        };
        DiskEntry { way, pointer, id }
    }
}

/// The inode of a file of the file system itself.
fn own_inode(number: u32, file: &OwnFile, out: &mut Blocks) -> DiskInode {
    let mut inode = DiskInode::new(number, Kind::File, file.blocks.len() as u64 * BLOCK);
    let (direct, rest) = file
        .blocks
        .split_at(file.blocks.len().min(inode.direct.len()));
    inode.direct[..direct.len()].copy_from_slice(direct);
    if let Some(pointers) = file.pointers {
        inode.indirect[0] = pointers;
        let to = out.at(pointers);
        for (i, block) in rest.iter().enumerate() {
            put(to, 4 * i, &block.to_le_bytes());
        }
    }
    inode
}

/// Link count of a directory: where inodes are embedded its name alone, else with `.` and the `..` of those in it.
pub(super) fn dir_links(fs: &Cffs, subdirs: u32) -> u32 {
    if fs.params.inodes_move() {
        1
    } else {
        2 + subdirs
    }
}

/// The sector that has an inode, from the start of the file system.
pub(super) fn sector_address(fs: &Cffs, home: Home) -> u32 {
    let in_block = match home {
        Home::Sector { at, .. } => at / 4 % SECTORS,
        _ => 0,
    };
    // 16 TB have more sectors than 32 bits name: the address is a hint, and wraps.
    fs.block_of_home(home)
        .wrapping_mul(SECTORS)
        .wrapping_add(in_block)
}

/// The block of pointers that leads to another one, and where in it; nothing if the inode does.
fn above(array: Array) -> Option<(Array, u32)> {
    let n = TREE.per_block;
    match array {
        Array::Leaf(0) | Array::Upper(0 | 1) => None,
        Array::Leaf(k) if k <= n => Some((Array::Upper(0), k - 1)),
        Array::Leaf(k) => Some((Array::Upper(2 + (k - 1 - n) / n), (k - 1 - n) % n)),
        Array::Upper(j) => Some((Array::Upper(1), j - 2)),
    }
}
