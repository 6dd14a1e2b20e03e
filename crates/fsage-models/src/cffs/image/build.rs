//! A model of what was found in an image. Everything that is kept twice follows from names and inodes; where the image
//! has it otherwise, that is told.

use super::super::Cffs;
use super::super::directory::{Dir, FIRST_EXTERNAL, FIRST_NUMBER, ROOT, home_in};
use super::super::entries::{Entries, Name, Node};
use super::super::geometry::{BLOCK, MAP_ENTRIES, TREE};
use super::super::grouping::Spot;
use super::super::inode::{Home, Inode, Kind as InodeKind, NO_DIR, Numbers};
use super::claims::Mapped;
use super::format::{Block, DiskInode};
use super::scan::{FoundDir, FoundFile, Named, Scan};
use super::write::dir_links;
use super::{Finding, ImageError, Kind, ReadBlocks};
use crate::names::{Entry, File};
use fsage_core::DirId;
use fsage_core::io::Flush;
use std::collections::BTreeSet;

/// Makes the model, and tells what of the image does not agree with it.
pub(super) fn build(scan: Scan<'_>) -> Result<(Cffs, Vec<Finding>), ImageError> {
    let superblock = &scan.superblock;
    let fs = Cffs::without_root(superblock.params.clone(), superblock.geometry);
    let mut builder = Builder {
        fs,
        findings: Vec::new(),
        ids: scan.dirs.iter().map(|dir| dir.id).collect(),
        nameless: Vec::new(),
        scan: &scan,
    };
    builder.own_files();
    builder.directories();
    builder.files();
    builder.numbers()?;
    builder.missing_blocks()?;
    builder.new_names()?;
    builder.new_file_names();
    for slot in builder.fs.dirs.iter().enumerate().map(|(i, _)| i as u32) {
        if !scan.is_lost_dir(slot) {
            let block = builder.fs.address(&builder.fs.dirs[slot as usize].inode, 0);
            builder.fs.map.directories[scan.superblock.geometry.cg_of(block) as usize] += 1;
        }
    }
    builder.unnamed();
    builder.compare(scan.image)?;
    let Builder { fs, findings, .. } = builder;
    let mut all = scan.findings;
    all.extend(findings);
    Ok((fs, all))
}

struct Builder<'a, 's> {
    fs: Cffs,
    findings: Vec<Finding>,
    scan: &'a Scan<'s>,
    /// Ids of directories and files that are in use.
    ids: BTreeSet<u64>,
    /// Slots of files that are to get a name, and what they are.
    nameless: Vec<(u32, String)>,
}

impl Builder<'_, '_> {
    fn find(&mut self, kind: Kind, what: String) {
        self.findings.push(Finding { kind, what });
    }

    /// An id that nothing has.
    fn fresh_id(&mut self) -> u64 {
        let mut id = self
            .ids
            .iter()
            .rev()
            .find(|&&id| id < u64::MAX)
            .map_or(1, |&id| id + 1);
        while !self.ids.insert(id) {
            id = id.wrapping_add(1);
        }
        id
    }

    fn own_files(&mut self) {
        for file in [&self.scan.directory_map, &self.scan.external_file] {
            for block in file.all() {
                self.fs.map.take(block, 1);
            }
        }
        self.fs.directory_map = self.scan.directory_map.clone();
        self.fs.external_file = self.scan.external_file.clone();
    }

    /// Puts the blocks of a file where its pointers lead; gives those that need pointers that are not there.
    fn map(&mut self, inode: &mut Inode, mapped: &Mapped) -> Vec<(u32, u32)> {
        let end = Cffs::blocks_of(inode.size);
        for &(array, block) in &mapped.arrays {
            if TREE.first_of(array) < end.into() {
                self.fs.map.take(block, 1);
                let indirect = self.fs.indirect.entry(inode.vnode).or_default();
                indirect.insert(array, block);
            }
        }
        let mut left = Vec::new();
        for &(lbn, block) in &mapped.blocks {
            self.fs.map.take(block, 1);
            let indirect = self.fs.indirect.get(&inode.vnode);
            let there = |&array: &_| indirect.is_some_and(|i| i.get(array).is_some());
            if TREE.path(lbn).arrays().iter().all(there) {
                inode.blocks.set(&mut self.fs.pool, lbn, 1, block.into(), 1);
            } else {
                left.push((lbn, block));
            }
        }
        left
    }

    fn directories(&mut self) {
        let mut ids: BTreeSet<u64> = BTreeSet::new();
        for (slot, found) in (0..).zip(&self.scan.dirs) {
            let id = match found.named {
                Named::At(_) if ids.insert(found.id) => found.id,
                Named::At(_) => {
                    let id = self.fresh_id();
                    let path = self.scan.path(slot);
                    self.find(
                        Kind::Fixed,
                        format!("{path}: another has its name; it is d{id} now"),
                    );
                    id
                }
                Named::Anew => self.fresh_id(),
            };
            self.directory(slot, id, found);
        }
        for slot in 0..self.fs.dirs.len() as u32 {
            self.occupy(self.fs.dirs[slot as usize].inode.home, Node::Dir(slot));
        }
    }

    fn directory(&mut self, slot: u32, id: u64, found: &FoundDir) {
        let home = match found.named {
            _ if self.scan.is_lost_dir(slot) => Home::Superblock(2),
            // A new name comes with a new place.
            Named::Anew if self.scan.embed() => Home::Superblock(0),
            _ => self
                .scan
                .home_of(found.inode.number)
                .unwrap_or(Home::Superblock(0)),
        };
        let vnode = self.fs.vnodes.take();
        let mut inode = Inode::new(home, vnode, found.parent, InodeKind::Directory);
        inode.size = found.blocks.len() as u64 * BLOCK;
        let blocks = (0..).zip(&found.blocks).filter(|&(_, &block)| block != 0);
        let mapped = Mapped {
            blocks: blocks.map(|(lbn, &block)| (lbn, block)).collect(),
            arrays: found.arrays.clone(),
            ..Mapped::default()
        };
        // Those left over are put in with the missing ones.
        let _ = self.map(&mut inode, &mapped);
        let first = found.blocks.first().copied().unwrap_or(0);
        if found.inode.group_start == first && self.fs.params.group {
            inode.group_start = first;
        }
        let mut entries = Entries::new(self.scan.embed());
        (0..found.blocks.len()).for_each(|_| entries.add_block());
        let lost = self.scan.is_lost_dir(slot);
        if !lost && (self.scan.moves() || !self.scan.embed()) {
            entries.put(0, Name::Dot);
            entries.put(1, Name::Dot);
        }
        let at = match found.named {
            Named::At(at) => at,
            Named::Anew => 0,
        };
        self.fs.dirs.push(Dir {
            id,
            number: found.number,
            inode,
            parent: found.parent,
            at,
            entries,
            alive: true,
            settled: true,
            groups: 0,
            searches: 0,
            last_block: first,
        });
        if slot != ROOT && !lost {
            self.fs.dir_ids.insert(DirId(id), slot);
            if matches!(found.named, Named::At(_)) {
                let parent = &mut self.fs.dirs[found.parent as usize].entries;
                parent.put(at, Name::Of(Node::Dir(slot)));
            }
        }
        let start = inode.group_start;
        if start != 0 {
            let size = found.inode.group_size.clamp(1, self.fs.window());
            self.fs.enter_group(slot, start, size);
        }
    }

    /// The place of an inode is in use.
    fn occupy(&mut self, home: Home, node: Node) {
        match home {
            Home::Sector { dir, at } => {
                self.fs.dirs[dir as usize].entries.put_inode(at, node);
            }
            Home::Table(n) if !self.scan.embed() => self.fs.inodes.occupy(n),
            Home::Superblock(_) | Home::Table(_) => {}
        }
    }

    fn files(&mut self) {
        let mut used = BTreeSet::new();
        for (i, found) in self.scan.files.iter().enumerate() {
            self.ids.extend(found.names.iter().map(|&(id, ..)| id));
            let Some(home) = self.scan.home_of(found.inode.number) else {
                let what = self.scan.file_name(i);
                self.find(
                    Kind::Lost,
                    format!("{what}: its inode lies in no directory"),
                );
                continue;
            };
            if found.names.is_empty() {
                // It gets its place when those of all others are known.
                let name = (
                    self.fresh_id(),
                    self.scan.directory_for(&found.inode, home),
                    0,
                );
                let file = self.file(i, found, home, &[name]);
                self.nameless.push((file, self.scan.file_name(i)));
                continue;
            }
            let mut names = found.names.clone();
            for name in &mut names {
                if !used.insert(name.0) {
                    let id = self.fresh_id();
                    used.insert(id);
                    let what = self.scan.file_name(i);
                    self.find(
                        Kind::Fixed,
                        format!("{what}: another file has this name; it is f{id} now"),
                    );
                    name.0 = id;
                }
            }
            // The oldest name is taken to be the one with the lowest number.
            names.sort_unstable();
            let file = self.file(i, found, home, &names);
            self.names_of(i, file, &names);
        }
    }

    /// A file, without its names in directories; gives its slot.
    fn file(&mut self, i: usize, found: &FoundFile, home: Home, names: &[(u64, u32, u32)]) -> u32 {
        let (id, dir, at) = names[0];
        let its = self.directory_of(found, home, names);
        let vnode = self.fs.vnodes.take();
        let mut inode = Inode::new(home, vnode, its, found.inode.kind);
        inode.size = found.inode.size.min(TREE.most_blocks() * BLOCK);
        // Nothing is left over: blocks were found through their pointers.
        let _ = self.map(&mut inode, &found.mapped);
        self.group(i, &mut inode, &found.inode);
        let slot = self.fs.names.insert(File {
            id,
            inode,
            dir,
            entry: Entry::new(at, found.inode.kind == InodeKind::Symlink),
        });
        self.occupy(home, Node::File(slot));
        slot
    }

    fn names_of(&mut self, i: usize, slot: u32, names: &[(u64, u32, u32)]) {
        for (n, &(id, dir, at)) in names.iter().enumerate() {
            if n > 0 {
                self.fs.names.link(fsage_core::FileId(id), slot, dir, at);
            }
            self.fs.dirs[dir as usize]
                .entries
                .put(at, Name::Of(Node::File(slot)));
        }
        let links = names.len().min(u16::MAX.into());
        let said = self.scan.files[i].inode.links;
        if usize::from(said) != links {
            let what = self.scan.file_name(i);
            self.find(
                Kind::Fixed,
                format!("{what}: link count {said}, names {links}"),
            );
        }
    }

    /// Slot of the directory that contains a file.
    fn directory_of(&self, found: &FoundFile, home: Home, names: &[(u64, u32, u32)]) -> u32 {
        match home {
            Home::Sector { dir, .. } if self.scan.moves() => dir,
            _ if self.scan.moves() || found.inode.dir == 0 => NO_DIR,
            _ => {
                let (_, dir, _) = names[0];
                let single = names.iter().all(|&(_, other, _)| other == dir);
                let same = self.scan.dirs[dir as usize].inode.number == found.inode.dir;
                if single && same { dir } else { NO_DIR }
            }
        }
    }

    /// A file is in the group that its inode tells of, if its first block is.
    fn group(&mut self, i: usize, inode: &mut Inode, on_disk: &DiskInode) {
        let (start, size) = (on_disk.group_start, on_disk.group_size);
        if start == 0 {
            return;
        }
        let first = self.fs.address(inode, 0);
        let window = start..start.saturating_add(self.fs.window());
        if self.fs.params.group && inode.dir != NO_DIR && window.contains(&first) {
            inode.group_start = start;
            let size = size.clamp(first - start + 1, self.fs.window());
            self.fs.enter_group(inode.dir, start, size);
        } else {
            let what = self.scan.file_name(i);
            self.find(
                Kind::Fixed,
                format!("{what}: it is not in its group {start}"),
            );
        }
    }

    /// Directory numbers and numbers of external inodes that are in use; the map has room for all.
    fn numbers(&mut self) -> Result<(), ImageError> {
        let fs = &mut self.fs;
        if self.scan.moves() {
            let used = fs
                .dirs
                .iter()
                .map(|dir| dir.number)
                .filter(|&number| number != 0);
            fs.dir_numbers = Numbers::with_used(FIRST_NUMBER, &used.collect());
            for dir in fs.dirs.iter_mut().filter(|dir| dir.number == 0) {
                dir.number = fs.dir_numbers.take();
            }
            let most = fs.dirs.iter().map(|dir| dir.number).max().unwrap_or(0);
            while fs.directory_map.blocks.len() as u32 <= most / MAP_ENTRIES {
                let path = "the directory map".to_owned();
                let full = fs.extend_own(|fs| &mut fs.directory_map, Flush::Delayed);
                full.map_err(|_| ImageError::Full { path })?;
            }
        }
        if self.scan.embed() {
            let homes = fs.names.iter().map(|(_, file)| file.inode.home);
            let tables = homes.filter_map(|home| match home {
                Home::Table(n) => Some(n),
                _ => None,
            });
            fs.externals = Numbers::with_used(FIRST_EXTERNAL, &tables.collect());
        }
        Ok(())
    }

    /// Blocks of directories that nothing leads to any more, or that are empty now.
    fn missing_blocks(&mut self) -> Result<(), ImageError> {
        for slot in 0..self.fs.dirs.len() as u32 {
            for lbn in 0..self.scan.dirs[slot as usize].blocks.len() as u32 {
                let mut inode = self.fs.dirs[slot as usize].inode;
                if self.fs.address(&inode, lbn) != 0 {
                    continue;
                }
                let found = self.scan.dirs[slot as usize].blocks[lbn as usize];
                let made = self.fs.map_block(&mut inode, lbn, |fs, _, before| {
                    let block = if found == 0 {
                        fs.map.next_free(before)?
                    } else {
                        // It was set aside with the others.
                        fs.map.release(found, 1);
                        found
                    };
                    Some(Spot::alone(block))
                });
                let path = self.scan.path(slot);
                made.map_err(|_| ImageError::Full { path })?;
                self.fs.dirs[slot as usize].inode = inode;
                if lbn == 0 {
                    self.fs.dirs[slot as usize].last_block = self.fs.address(&inode, 0);
                }
            }
        }
        Ok(())
    }

    /// Directories without a name get one, where they were, or in the root if there is no room.
    fn new_names(&mut self) -> Result<(), ImageError> {
        let embed = self.scan.embed();
        for (slot, found) in (0..).zip(&self.scan.dirs) {
            if found.named != Named::Anew {
                continue;
            }
            let path = self.scan.path(slot);
            let mut parent = found.parent;
            let mut place = self.fs.enter(parent, embed);
            if place.is_err() {
                parent = ROOT;
                place = self.fs.enter(ROOT, embed);
            }
            let Ok(place) = place else {
                return Err(ImageError::Full { path });
            };
            self.fs.put(parent, place, Node::Dir(slot));
            let id = self.fs.dirs[slot as usize].id;
            let dir = &mut self.fs.dirs[slot as usize];
            (dir.parent, dir.at, dir.inode.dir) = (parent, place.at, parent);
            if embed {
                dir.inode.home = home_in(parent, place);
            }
            self.find(Kind::Found, format!("{path} has the name d{id} now"));
        }
        Ok(())
    }

    /// Files without a name get one, in their directory or else in the root.
    fn new_file_names(&mut self) {
        for (file, what) in std::mem::take(&mut self.nameless) {
            let &File { id, inode, dir, .. } = self.fs.names.file(file);
            let id = fsage_core::FileId(id);
            let bytes = inode.size;
            let mut parent = dir;
            let mut place = self.fs.enter(dir, false);
            let stays = self.scan.moves() && matches!(inode.home, Home::Sector { .. });
            if place.is_err() && !stays {
                parent = ROOT;
                place = self.fs.enter(ROOT, false);
            }
            let Ok(place) = place else {
                if let Some(gone) = self.fs.names.unlink(id, file) {
                    self.fs.drop_file(gone.inode);
                }
                let what = format!("{what}, {bytes} bytes: no block is free for a name");
                self.find(Kind::Lost, what);
                continue;
            };
            if parent != dir && inode.dir != NO_DIR {
                // Finding the place may have moved its first block.
                let mut inode = self.fs.names.file(file).inode;
                self.fs.leave_directory(&mut inode);
                self.fs.names.file_mut(file).inode = inode;
            }
            self.fs.put(parent, place, Node::File(file));
            self.fs.names.set_place(id, file, parent, place.at);
            let path = self.scan.path(parent);
            let path = path.trim_end_matches('/');
            let what = format!(
                "{what}, {bytes} bytes: the name was lost; it is {path}/f{} now",
                id.0
            );
            self.find(Kind::Found, what);
        }
    }

    /// Inodes that no name leads to.
    fn unnamed(&mut self) {
        let scan = self.scan;
        for (slot, inode) in scan.unnamed() {
            let place = slot.map_or_else(|| "a table".to_owned(), |slot| scan.path(slot));
            let open = if inode.opens > 0 { "; it was open" } else { "" };
            let what = format!(
                "inode {} in {place}, {} bytes: no name leads to it{open}",
                inode.number, inode.size
            );
            self.find(Kind::Freed, what);
        }
    }

    /// What the image has otherwise than the model.
    fn compare(&mut self, image: &dyn ReadBlocks) -> Result<(), ImageError> {
        self.directory_links();
        let own = self.fs.image()?;
        let g = self.fs.geometry;
        let mut bytes: Box<Block> = Box::new([0; BLOCK as usize]);
        let mut others = 0_u64;
        for (&block, right) in &own.blocks {
            let there = u64::from(block) < image.blocks() && image.read(block, &mut bytes).is_ok();
            if there && bytes == *right {
                continue;
            }
            let cg = g.cg_of(block);
            let what = if block == g.bitmap(cg) {
                let bits = |bytes: &Block| bytes.iter().map(|byte| byte.count_ones()).sum::<u32>();
                let (said, right) = (if there { bits(&bytes) } else { 0 }, bits(right));
                format!(
                    "the bitmap of cylinder group {cg}: {said} blocks in use, and it is {right}"
                )
            } else if self.fs.directory_map.blocks.contains(&block) {
                format!("block {block}: the directory map")
            } else if block == super::super::geometry::SUPERBLOCK {
                "block 1: the superblock".to_owned()
            } else {
                others += 1;
                continue;
            };
            self.find(Kind::Fixed, what);
        }
        if others > 0 {
            let what = format!("{others} blocks of directories, inodes and pointers are otherwise");
            self.find(Kind::Fixed, what);
        }
        Ok(())
    }

    fn directory_links(&mut self) {
        let fs = &self.fs;
        let mut subdirs = vec![0; fs.dirs.len()];
        for (slot, dir) in (0..).zip(&fs.dirs).skip(1) {
            if !self.scan.is_lost_dir(slot) {
                subdirs[dir.parent as usize] += 1;
            }
        }
        let mut wrong = Vec::new();
        for (slot, found) in (0..).zip(&self.scan.dirs) {
            let links = dir_links(fs, subdirs[slot as usize]).min(u16::MAX.into());
            let said = found.inode.links;
            if u32::from(said) != links && found.inode.number != 0 {
                let path = self.scan.path(slot);
                wrong.push(format!("{path}: link count {said}, counted {links}"));
            }
        }
        for what in wrong {
            self.find(Kind::Fixed, what);
        }
    }
}
