//! C-FFS with embedded inodes and locators, written from the rules as plainly as possible: one flag a block, a list of
//! addresses a file, the size of a group in every member, everything found by looking.

use fsage_models::cffs::DirSteal;
use std::collections::BTreeMap;

const DIRECT: usize = 15;
const POINTERS: usize = 1024;

/// A file: where its inode lies, its blocks, its group.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub dir: u64,
    pub sector: usize,
    pub place: usize,
    /// Place of the name in the sector.
    name: usize,
    pub blocks: Vec<u32>,
    pub pointers: Vec<u32>,
    /// Start and size.
    pub group: Option<(u32, u32)>,
}

/// A directory: its number, blocks, group, and by sector the ids of what is named and what is embedded there.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    pub number: u32,
    pub blocks: Vec<u32>,
    pub group: Option<(u32, u32)>,
    names: Vec<[Option<u64>; 4]>,
    inodes: Vec<[Option<u64>; 3]>,
}

/// Ids of what is no file: `.` and `..`, and the directories of the workload, which all lie in the root.
const DOT: u64 = u64::MAX;
const DIRECTORY: u64 = 1 << 40;

/// The whole file system.
#[derive(Clone, Debug)]
pub struct Reference {
    pub used: Vec<bool>,
    cg_blocks: u32,
    group: bool,
    steal: DirSteal,
    window: u32,
    /// Blocks at the start of a file that may lie in its group.
    pub grouped: usize,
    pub dirs: BTreeMap<u64, Dir>,
    pub files: BTreeMap<u64, File>,
}

/// No space.
#[derive(Debug)]
pub struct Full;

impl Reference {
    pub fn new(
        blocks: u32,
        cg_blocks: u32,
        group: bool,
        steal: DirSteal,
        window: u32,
    ) -> Reference {
        let mut used = vec![false; blocks as usize];
        (used[0], used[1], used[2]) = (true, true, true);
        for bitmap in (cg_blocks..blocks).step_by(cg_blocks as usize) {
            used[bitmap as usize] = true;
        }
        // The block of the directory map.
        used[3] = true;
        let mut fs = Reference {
            used,
            cg_blocks,
            group,
            steal,
            window,
            grouped: 1,
            dirs: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        fs.add_directory(0).expect("an empty disk");
        fs
    }

    fn first_free(&self, from: u32, to: u32) -> Option<u32> {
        let to = to.min(self.used.len() as u32);
        (from..to).find(|&b| !self.used[b as usize])
    }

    fn next_free(&self, from: u32) -> Option<u32> {
        let end = self.used.len() as u32;
        let from = if from < end { from } else { 0 };
        let home = from / self.cg_blocks;
        let groups = end.div_ceil(self.cg_blocks);
        let in_group = |cg: u32| self.first_free(cg * self.cg_blocks, (cg + 1) * self.cg_blocks);
        self.first_free(from, (home + 1) * self.cg_blocks)
            .or_else(|| (home + 1..groups).chain(0..=home).find_map(in_group))
    }

    fn add_directory(&mut self, id: u64) -> Result<(), Full> {
        let end = self.used.len() as u32;
        let groups = end.div_ceil(self.cg_blocks);
        let bounds = |cg: u32| (cg * self.cg_blocks, end.min((cg + 1) * self.cg_blocks));
        let free = |cg: u32| {
            let (from, to) = bounds(cg);
            (from..to).filter(|&b| !self.used[b as usize]).count() as u32
        };
        let all: u32 = (0..groups).map(free).sum();
        let roomy = (0..groups).filter(|&cg| free(cg) > 0 && free(cg) * groups >= all);
        let directories = |cg: u32| {
            let firsts = self.dirs.values().map(|d| d.blocks[0] / self.cg_blocks);
            firsts.filter(|&at| at == cg).count()
        };
        let cg = roomy.min_by_key(|&cg| directories(cg)).ok_or(Full)?;
        let (from, to) = bounds(cg);
        let runs = (from..to).filter(|b| b % self.window == 0 && b + self.window <= to);
        let mut runs = runs.filter(|&b| (b..b + self.window).all(|b| !self.used[b as usize]));
        let run = if self.group { runs.next() } else { None };
        let block = run.or_else(|| self.next_free(from)).ok_or(Full)?;
        self.used[block as usize] = true;
        let mut numbers = 1..;
        let number = numbers
            .find(|n| self.dirs.values().all(|d| d.number != *n))
            .expect("a free number");
        let mut names = vec![[None; 4]; 8];
        (names[0][0], names[0][1]) = (Some(DOT), Some(DOT));
        let dir = Dir {
            number,
            blocks: vec![block],
            group: None,
            names,
            inodes: vec![[None; 3]; 8],
        };
        self.dirs.insert(id, dir);
        Ok(())
    }

    pub fn mkdir(&mut self, id: u64) -> Result<(), Full> {
        let (sector, name, place) = self.room(0)?;
        self.add_directory(id)?;
        self.put(0, DIRECTORY + id, (sector, name, place));
        Ok(())
    }

    pub fn rmdir(&mut self, id: u64) {
        let gone = self.dirs.remove(&id).expect("it is there");
        for block in gone.blocks {
            self.used[block as usize] = false;
        }
        let root = self.dirs.get_mut(&0).expect("the root");
        for name in root.names.iter_mut().flatten() {
            if *name == Some(DIRECTORY + id) {
                *name = None;
            }
        }
        for inode in root.inodes.iter_mut().flatten() {
            if *inode == Some(DIRECTORY + id) {
                *inode = None;
            }
        }
    }

    fn put(&mut self, dir: u64, id: u64, (sector, name, place): (usize, usize, usize)) {
        let dir = self.dirs.get_mut(&dir).expect("it is there");
        dir.names[sector][name] = Some(id);
        dir.inodes[sector][place] = Some(id);
    }

    /// Sector, place for a name, place for an inode.
    fn room(&mut self, id: u64) -> Result<(usize, usize, usize), Full> {
        let look = |dir: &Dir| {
            (0..dir.names.len()).find_map(|sector| {
                let name = dir.names[sector].iter().position(Option::is_none)?;
                let place = dir.inodes[sector].iter().position(Option::is_none)?;
                Some((sector, name, place))
            })
        };
        if let Some(found) = look(&self.dirs[&id]) {
            return Ok(found);
        }
        let block = self.directory_block(id)?;
        self.used[block as usize] = true;
        let dir = self.dirs.get_mut(&id).expect("it is there");
        dir.blocks.push(block);
        dir.names.extend([[None; 4]; 8]);
        dir.inodes.extend([[None; 3]; 8]);
        Ok(look(&self.dirs[&id]).expect("an empty block"))
    }

    fn directory_block(&mut self, id: u64) -> Result<u32, Full> {
        let last = *self.dirs[&id].blocks.last().expect("a first block");
        if !self.group || self.steal == DirSteal::Off {
            let lbn = self.dirs[&id].blocks.len();
            return self.next_free(self.behind(last, lbn)).ok_or(Full);
        }
        let (start, _) = self.first_group(id);
        if let Some(block) = self.first_free(start, start + self.window) {
            self.grow(id, start, block - start + 1);
            return Ok(block);
        }
        let mut there = self.in_order(id);
        there.retain(|file| {
            let file = &self.files[file];
            file.group.is_some_and(|(at, _)| at == start) && !file.blocks.is_empty()
        });
        let victim = match self.steal {
            DirSteal::Last => there.last().copied(),
            _ => there.first().copied(),
        };
        if let Some(victim) = victim
            && let file = &self.files[&victim]
            && let Some(lbn) = (1..file.blocks.len())
                .rev()
                .find(|&n| self.is_grouped(file, n))
            && let old = file.blocks[lbn]
            && let Some(block) = self.next_free((old / self.window + 1) * self.window)
        {
            self.used[block as usize] = true;
            let file = self.files.get_mut(&victim).expect("it is there");
            file.blocks[lbn] = block;
            return Ok(old);
        } else if let Some(victim) = victim
            && let Some((block, group)) = self.first_block(id, true)
        {
            self.used[block as usize] = true;
            let file = self.files.get_mut(&victim).expect("it is there");
            let old = std::mem::replace(&mut file.blocks[0], block);
            self.join(victim, group, block);
            return Ok(old);
        }
        self.next_free(start + self.window).ok_or(Full)
    }

    fn behind(&self, last: u32, lbn: usize) -> u32 {
        if lbn == 1 && self.group {
            (last / self.window + 1) * self.window
        } else {
            last
        }
    }

    /// Files of a directory in the order of their names.
    fn in_order(&self, id: u64) -> Vec<u64> {
        let names = self.dirs[&id].names.iter().flatten().flatten();
        names.copied().filter(|name| *name < DIRECTORY).collect()
    }

    fn first_group(&mut self, id: u64) -> (u32, u32) {
        let dir = self.dirs.get_mut(&id).expect("it is there");
        *dir.group.get_or_insert((dir.blocks[0], 1))
    }

    /// A group has at least so many blocks: every member is told.
    fn grow(&mut self, id: u64, start: u32, blocks: u32) {
        let files = self.in_order(id);
        let dir = self.dirs.get_mut(&id).expect("it is there");
        let of_files = files.iter().map(|file| &self.files[file].group);
        let of_all = of_files.chain([&dir.group]).flatten();
        let sizes = of_all
            .filter(|&&(at, _)| at == start)
            .map(|&(_, size)| size);
        let blocks = sizes.max().unwrap_or(0).max(blocks);
        let emit = |group: &mut Option<(u32, u32)>| {
            if let Some((at, size)) = group
                && *at == start
            {
                *size = blocks;
            }
        };
        emit(&mut dir.group);
        for file in files {
            emit(&mut self.files.get_mut(&file).expect("it is there").group);
        }
    }

    fn join(&mut self, file: u64, group: u32, block: u32) {
        let member = self.files.get_mut(&file).expect("it is there");
        member.group = (group != 0).then_some((group, 0));
        let dir = member.dir;
        if group != 0 {
            self.grow(dir, group, block - group + 1);
        }
    }

    /// Block and group for a first block.
    fn first_block(&mut self, id: u64, elsewhere: bool) -> Option<(u32, u32)> {
        let near = self.dirs[&id].blocks[0] / self.cg_blocks * self.cg_blocks;
        if !self.group {
            return self.next_free(near).map(|block| (block, 0));
        }
        let (first, _) = self.first_group(id);
        if !elsewhere && let Some(block) = self.first_free(first, first + self.window) {
            return Some((block, first));
        }
        let mut met = vec![first];
        for file in self.in_order(id) {
            let Some((start, _)) = self.files[&file].group else {
                continue;
            };
            if met.contains(&start) {
                continue;
            }
            if met.len() == 16 {
                break;
            }
            met.push(start);
            if let Some(block) = self.first_free(start, start + self.window) {
                return Some((block, start));
            }
        }
        let last = met[met.len() - 1];
        self.next_free(last + self.window)
            .map(|block| (block, block))
    }

    /// Whether a block of a file counts as one of its group.
    pub fn is_grouped(&self, file: &File, lbn: usize) -> bool {
        let inside = |(at, size)| (at..at + size).contains(&file.blocks[lbn]);
        lbn < self.grouped && file.group.is_some_and(inside)
    }

    pub fn create(&mut self, file: u64, dir: u64, blocks: usize) -> Result<(), Full> {
        let (sector, name, place) = self.room(dir)?;
        self.put(dir, file, (sector, name, place));
        let new = File {
            dir,
            sector,
            place,
            name,
            ..File::default()
        };
        self.files.insert(file, new);
        self.append(file, blocks)
    }

    pub fn append(&mut self, file: u64, blocks: usize) -> Result<(), Full> {
        for _ in 0..blocks {
            self.add_block(file)?;
        }
        Ok(())
    }

    fn add_block(&mut self, id: u64) -> Result<(), Full> {
        let file = &self.files[&id];
        let (lbn, dir) = (file.blocks.len(), file.dir);
        let Some(&last) = file.blocks.last() else {
            let (block, group) = self.first_block(dir, false).ok_or(Full)?;
            self.used[block as usize] = true;
            let file = self.files.get_mut(&id).expect("it is there");
            file.blocks.push(block);
            self.join(id, group, block);
            return Ok(());
        };
        if lbn < self.grouped && self.is_grouped(file, lbn - 1) {
            let (at, _) = file.group.expect("the group of a grouped block");
            let behind = self.first_free(last, at + self.window);
            if let Some(block) = behind.or_else(|| self.first_free(at, at + self.window)) {
                self.used[block as usize] = true;
                self.files
                    .get_mut(&id)
                    .expect("it is there")
                    .blocks
                    .push(block);
                self.grow(dir, at, block - at + 1);
                return Ok(());
            }
        }
        let mut start = if self.is_grouped(file, lbn - 1) {
            (last / self.window + 1) * self.window
        } else {
            self.behind(last, lbn)
        };
        let mut pointers = None;
        if lbn == DIRECT {
            let block = self.next_free(last).ok_or(Full)?;
            self.used[block as usize] = true;
            (start, pointers) = (block, Some(block));
        }
        assert!(lbn < DIRECT + POINTERS, "one block of pointers is enough");
        let Some(block) = self.next_free(start) else {
            if let Some(pointers) = pointers {
                self.used[pointers as usize] = false;
            }
            return Err(Full);
        };
        self.used[block as usize] = true;
        let file = self.files.get_mut(&id).expect("it is there");
        file.pointers.extend(pointers);
        file.blocks.push(block);
        Ok(())
    }

    /// Frees all data.
    pub fn empty(&mut self, id: u64) {
        let file = self.files.get_mut(&id).expect("it is there");
        file.group = None;
        let blocks = std::mem::take(&mut file.blocks);
        let pointers = std::mem::take(&mut file.pointers);
        for block in blocks.into_iter().chain(pointers) {
            self.used[block as usize] = false;
        }
    }

    fn take_out(&mut self, id: u64) -> File {
        let file = self.files[&id].clone();
        let dir = self.dirs.get_mut(&file.dir).expect("it is there");
        dir.names[file.sector][file.name] = None;
        dir.inodes[file.sector][file.place] = None;
        file
    }

    pub fn delete(&mut self, id: u64) {
        self.empty(id);
        self.take_out(id);
        self.files.remove(&id);
    }

    pub fn rename(&mut self, id: u64, to: u64) -> Result<(), Full> {
        if self.files[&id].dir == to {
            return Ok(());
        }
        let (sector, name, place) = self.room(to)?;
        self.take_out(id);
        self.put(to, id, (sector, name, place));
        let file = self.files.get_mut(&id).expect("it is there");
        (file.dir, file.sector, file.name, file.place) = (to, sector, name, place);
        if let Some((start, size)) = file.group {
            self.grow(to, start, size);
        }
        Ok(())
    }

    /// The locator of a file.
    pub fn number(&self, id: u64) -> u64 {
        let file = &self.files[&id];
        let number = u64::from(self.dirs[&file.dir].number);
        number << 16 | (file.sector as u64) << 3 | (file.place as u64 + 1)
    }
}
