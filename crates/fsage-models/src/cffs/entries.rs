//! The entries of a directory by sector: places for names, and places for inodes.
//!
//! A sector of 512 bytes has 128 bytes for names and three inodes of 128 bytes; without embedded inodes all of it is
//! for names. An entry with a name of up to 24 characters takes 32 bytes, and the names that stand for ids have at
//! most 21: so there are four places for names, or sixteen, and the slack rule of the format (a new entry takes all
//! the slack behind the first one that has enough, a removed one leaves its length to the one before) always finds the
//! lowest free one.

use super::geometry::SECTORS;

/// Places for inodes in a sector.
const INODES: u32 = 3;

/// A file or a directory, by its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File(u32),
    Dir(u32),
    /// A file without a name that is open, by its number in memory.
    Unlinked(u32),
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// `.` or `..`.
    Dot,
    /// A file or directory, wherever its inode lies.
    Of(Node),
}

/// A place for a name, and one for an inode in the same sector if that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the place for the name.
    pub at: u32,
    /// 4 times the number of the sector, and the place in it, 1 to 3.
    pub inode_at: Option<u32>,
}

/// The entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entries {
    /// Places for names in a sector.
    pub per_sector: u32,
    names: Vec<Option<Name>>,
    inodes: Vec<Option<Node>>,
    /// For each sector: which places for names are in use.
    used: Vec<u16>,
    /// For each sector: which places for inodes are in use.
    held: Vec<u8>,
    /// No sector before this one has a place for a name.
    first_name: u32,
    /// No sector before this one has places for both.
    first_both: u32,
    /// Names, without `.` and `..`.
    pub count: u32,
}

impl Entries {
    /// A directory without blocks.
    pub fn new(embed: bool) -> Entries {
        Entries {
            per_sector: if embed { 4 } else { 16 },
            names: Vec::new(),
            inodes: Vec::new(),
            used: Vec::new(),
            held: Vec::new(),
            first_name: 0,
            first_both: 0,
            count: 0,
        }
    }

    /// Sectors of the directory.
    pub fn sectors(&self) -> u32 {
        self.used.len() as u32
    }

    /// Sector of a place for a name.
    pub fn sector_of(&self, at: u32) -> u32 {
        at / self.per_sector
    }

    /// Adds an empty block at the end.
    pub fn add_block(&mut self) {
        let sectors = self.used.len() + SECTORS as usize;
        self.used.resize(sectors, 0);
        self.held.resize(sectors, 0);
        self.names.resize(sectors * self.per_sector as usize, None);
        if self.per_sector == 4 {
            self.inodes.resize(sectors * INODES as usize, None);
        }
    }

    fn name_room(&self, sector: u32) -> bool {
        u32::from(self.used[sector as usize]) != (1 << self.per_sector) - 1
    }

    fn both_room(&self, sector: u32) -> bool {
        self.name_room(sector) && self.held[sector as usize] != 0b111
    }

    /// The first sector with a free place for a name, and with `inode` one for an inode.
    pub fn find(&mut self, inode: bool) -> Option<Place> {
        let from = if inode {
            self.first_both
        } else {
            self.first_name
        };
        let found = self.first_sector(from, inode);
        let first = if inode {
            &mut self.first_both
        } else {
            &mut self.first_name
        };
        *first = found.unwrap_or(self.used.len() as u32);
        found.map(|sector| self.place_in(sector, inode))
    }

    /// The first sector from `from` on that has room.
    pub fn first_sector(&self, from: u32, inode: bool) -> Option<u32> {
        let room = |&sector: &u32| {
            if inode {
                self.both_room(sector)
            } else {
                self.name_room(sector)
            }
        };
        (from..self.sectors()).find(room)
    }

    fn place_in(&self, sector: u32, inode: bool) -> Place {
        let (used, held) = (self.used[sector as usize], self.held[sector as usize]);
        Place {
            at: sector * self.per_sector + used.trailing_ones(),
            inode_at: inode.then(|| 4 * sector + 1 + held.trailing_ones()),
        }
    }

    /// Puts a name into a free place.
    pub fn put(&mut self, at: u32, name: Name) {
        self.names[at as usize] = Some(name);
        let sector = self.sector_of(at) as usize;
        self.used[sector] |= 1 << (at % self.per_sector);
        self.count += u32::from(name != Name::Dot);
    }

    /// Takes a name out.
    pub fn remove(&mut self, at: u32) {
        let name = self.names[at as usize].take();
        let sector = self.sector_of(at);
        self.used[sector as usize] &= !(1 << (at % self.per_sector));
        self.first_name = self.first_name.min(sector);
        self.first_both = self.first_both.min(sector);
        self.count -= u32::from(matches!(name, Some(Name::Of(_))));
    }

    fn inode_index(at: u32) -> usize {
        (at / 4 * INODES + at % 4 - 1) as usize
    }

    /// Puts an inode into a free place.
    pub fn put_inode(&mut self, at: u32, node: Node) {
        self.inodes[Self::inode_index(at)] = Some(node);
        self.held[at as usize / 4] |= 1 << (at % 4 - 1);
    }

    /// Takes an inode out.
    pub fn remove_inode(&mut self, at: u32) {
        self.inodes[Self::inode_index(at)] = None;
        self.held[at as usize / 4] &= !(1 << (at % 4 - 1));
        self.first_both = self.first_both.min(at / 4);
    }

    /// All names in the order of the directory: place and name.
    pub fn names(&self) -> impl Iterator<Item = (u32, Name)> {
        let all = (0..).zip(&self.names);
        all.filter_map(|(at, name)| name.map(|name| (at, name)))
    }

    /// The inodes that lie in sectors `from..to`: place and whose it is.
    pub fn inodes_in(&self, from: u32, to: u32) -> impl Iterator<Item = (u32, Node)> {
        let places = (from..to).flat_map(|sector| (1..=INODES).map(move |k| 4 * sector + k));
        let per_sector = self.per_sector;
        places
            .filter(move |_| per_sector == 4)
            .filter_map(|at| self.inodes[Self::inode_index(at)].map(|node| (at, node)))
    }

    /// The bits of the sectors agree with what lies in them, and no free place lies before where a search begins.
    pub fn is_consistent(&self) -> bool {
        let places = (0..self.sectors()).all(|sector| {
            let names = (0..self.per_sector).filter(|i| {
                let at = (sector * self.per_sector + i) as usize;
                self.names[at].is_some() != (self.used[sector as usize] >> i & 1 == 1)
            });
            let inodes = if self.per_sector == 4 { INODES } else { 0 };
            let inodes = (0..inodes).filter(|i| {
                let at = (sector * INODES + i) as usize;
                self.inodes[at].is_some() != (self.held[sector as usize] >> i & 1 == 1)
            });
            names.count() + inodes.count() == 0
        });
        let skipped = self
            .first_sector(0, false)
            .is_some_and(|s| s < self.first_name)
            || self
                .first_sector(0, true)
                .is_some_and(|s| s < self.first_both);
        places && !skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Name = Name::Of(Node::File(7));

    fn fill(entries: &mut Entries, inode: bool) -> u32 {
        let mut n = 0;
        while let Some(place) = entries.find(inode) {
            entries.put(place.at, FILE);
            if let Some(at) = place.inode_at {
                entries.put_inode(at, Node::File(7));
            }
            n += 1;
        }
        n
    }

    /// docs/spec/cffs.md, section 2: with `.` and `..` block 0 holds 23 inodes, later blocks 24. A sector then has no
    /// place for an inode left, and one for a name, but for the first one.
    #[test]
    fn block_0_holds_23_embedded_inodes_and_later_blocks_24() {
        let mut entries = Entries::new(true);
        entries.add_block();
        entries.put(0, Name::Dot);
        entries.put(1, Name::Dot);
        assert_eq!(fill(&mut entries, true), 23);
        entries.add_block();
        assert_eq!(fill(&mut entries, true), 24);
        assert_eq!((entries.count, entries.sectors()), (47, 16));
        // Links need no inode: 16 sectors of 4 places, 47 names and two dots.
        assert_eq!(fill(&mut entries, false), 64 - 49);
        assert!(entries.is_consistent());
    }

    /// Section 2 and 10: 128 entries of 32 bytes a block, two of them dots.
    #[test]
    fn a_block_without_inodes_has_126_names() {
        let mut entries = Entries::new(false);
        entries.add_block();
        entries.put(0, Name::Dot);
        entries.put(1, Name::Dot);
        assert_eq!(fill(&mut entries, false), 126);
    }

    #[test]
    fn the_first_sector_that_has_room_is_taken_and_in_it_the_lowest_places() {
        let mut entries = Entries::new(true);
        entries.add_block();
        assert_eq!(fill(&mut entries, true), 24);
        entries.remove(4);
        // A name alone leaves no room for an inode.
        assert_eq!(entries.find(true), None);
        let link = Place {
            at: 3,
            inode_at: None,
        };
        assert_eq!(entries.find(false), Some(link));
        entries.remove_inode(4 + 2);
        let both = Place {
            at: 4,
            inode_at: Some(6),
        };
        assert_eq!(entries.find(true), Some(both));
        assert!(entries.is_consistent());
    }
}
