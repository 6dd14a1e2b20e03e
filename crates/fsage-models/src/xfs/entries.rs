//! What is in a directory: in the inode, in one block, with one leaf, with several leaves and an index of free space.
//!
//! Spec: `docs/spec/xfs.md`, section 17. Source: `xfs_dir2*.c`, `xfs_da_btree.c`.

mod filled;

use super::areas::{Area, Areas, BYTES, EMPTY, HEADER};
use super::leaf::{Entry, IN_BLOCK, IN_LEAF, Key, Leaf, address, hash_of, need, place};

/// The first block of leaves, and of the index of free space.
pub(super) const LEAVES: u32 = 1 << 23;
pub(super) const INDEX: u32 = 1 << 24;
/// Entries begin behind `.` and `..`.
pub(super) const FIRST: u16 = HEADER + 32;
/// Bytes of a leaf entry.
pub(super) const ENTRY: u16 = 8;
/// The end of a block with entries and their table.
pub(super) const TAIL: u16 = 8;
/// Leaf entries of a block that holds nothing else.
pub(super) const MOST_ENTRIES: usize = ((BYTES - HEADER) / ENTRY) as usize;
/// A leaf with fewer bytes in use may be joined.
const SMALL_LEAF: usize = 1515;
/// Two leaves are joined if they have at most so many entries.
const MOST_JOINED: usize = 384;
/// Data blocks of a block of the index of free space.
pub(super) const PER_INDEX: usize = ((BYTES - HEADER) / 2) as usize;

/// Where blocks of a directory come from, and go to.
pub(super) trait Grow {
    /// A block for the first number from one on that has none; gives the number.
    fn add(&mut self, from: u32) -> Result<u32, NoBlock>;

    /// The block with a number goes.
    fn remove(&mut self, number: u32);
}

/// There is no block for the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoBlock;

/// A leaf with its number.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub number: u32,
    pub leaf: Leaf,
}

/// How it is stored.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// In the inode, by place.
    Short(Vec<Entry>),
    /// One block, which holds the table too.
    Block(Leaf),
    Leaf(Leaf),
    /// Several leaves, or one and an index of free space.
    Node(Vec<Numbered>),
}

/// What is in a directory.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    pub form: Form,
    /// Data blocks; those that are missing have none.
    pub data: Vec<Option<Areas>>,
    /// Names in it.
    pub count: u64,
}

/// Bytes of a directory in the inode.
fn short_bytes(lengths: impl Iterator<Item = u8>) -> usize {
    6 + lengths.map(|length| 8 + usize::from(length)).sum::<usize>()
}

/// `.` and `..` in the table of a block.
fn dots() -> [Entry; 2] {
    let dot = |name: &[u8], start| Entry {
        key: Key {
            hash: hash_of(name),
            length: name.len() as u8,
        },
        address: address(0, start),
    };
    [dot(b".", HEADER), dot(b"..", HEADER + 16)]
}

impl Entries {
    /// An empty directory.
    pub fn new() -> Entries {
        Entries {
            form: Form::Short(Vec::new()),
            data: Vec::new(),
            count: 0,
        }
    }

    /// Length of the directory: `room` bytes are in the inode.
    pub fn size_bytes(&self) -> u64 {
        match &self.form {
            Form::Short(entries) => {
                short_bytes(entries.iter().map(|entry| entry.key.length)) as u64
            }
            _ => self.data.len() as u64 * u64::from(BYTES),
        }
    }

    /// Numbers of its blocks, ascending.
    pub fn numbers(&self) -> Vec<u32> {
        let data = self.data.iter().enumerate();
        let mut numbers: Vec<u32> = data
            .filter_map(|(at, data)| data.is_some().then_some(at as u32))
            .collect();
        match &self.form {
            Form::Short(_) | Form::Block(_) => {}
            Form::Leaf(_) => numbers.push(LEAVES),
            Form::Node(leaves) => {
                numbers.push(LEAVES);
                numbers.extend(
                    leaves
                        .iter()
                        .map(|leaf| leaf.number)
                        .filter(|number| *number != LEAVES),
                );
                let indexes = self.data.len().div_ceil(PER_INDEX) as u32;
                numbers.extend((0..indexes).map(|index| INDEX + index));
            }
        }
        numbers.sort_unstable();
        numbers
    }

    /// The block in which the entry with an address stands, and that of its leaf, where they are blocks.
    pub fn blocks_of(&self, key: Key, address: u32) -> Vec<u32> {
        let data = place(address).0 as u32;
        match &self.form {
            Form::Short(_) => Vec::new(),
            Form::Block(_) => vec![data],
            Form::Leaf(_) => vec![data, LEAVES],
            Form::Node(leaves) => {
                let at = leaves.partition_point(|leaf| leaf.leaf.last_hash() < key.hash);
                let number = leaves.get(at).map_or(LEAVES, |leaf| leaf.number);
                vec![data, LEAVES, number]
            }
        }
    }

    /// Puts a name in; `room` bytes are in the inode. Gives its address.
    pub fn insert(&mut self, key: Key, room: usize, grow: &mut impl Grow) -> Result<u32, NoBlock> {
        let address = match &mut self.form {
            Form::Short(entries) => {
                if let Some(address) = insert_short(entries, key, room) {
                    address
                } else {
                    self.make_block(grow)?;
                    self.insert_in_block(key, grow)?
                }
            }
            Form::Block(_) => self.insert_in_block(key, grow)?,
            Form::Leaf(_) => self.insert_by_leaf(key, grow)?,
            Form::Node(_) => self.insert_by_node(key, grow)?,
        };
        self.count += 1;
        Ok(address)
    }

    /// What stands in the inode goes to a block, at the places that it has kept.
    fn make_block(&mut self, grow: &mut impl Grow) -> Result<(), NoBlock> {
        let Form::Short(entries) = &self.form else {
            return Ok(());
        };
        grow.add(0)?;
        let table = TAIL + ENTRY * (entries.len() as u16 + 2);
        let mut free = Vec::new();
        let mut end = FIRST;
        let last = BYTES - table;
        for (start, bytes) in entries
            .iter()
            .map(|entry| (entry.place().1, need(entry.key.length)))
            .chain([(last, 0)])
        {
            if start > end {
                free.push(Area {
                    start: end,
                    bytes: start - end,
                });
            }
            end = start + bytes;
        }
        let mut all: Vec<Entry> = dots().into_iter().chain(entries.iter().copied()).collect();
        all.sort_by_key(|entry| entry.key.hash);
        self.data = vec![Some(Areas::of(free))];
        self.form = Form::Block(Leaf {
            entries: all,
            stale: 0,
        });
        Ok(())
    }

    fn insert_in_block(&mut self, key: Key, grow: &mut impl Grow) -> Result<u32, NoBlock> {
        let (Form::Block(leaf), [Some(data)]) = (&mut self.form, &mut self.data[..]) else {
            unreachable!("a directory of one block");
        };
        let bytes = need(key.length);
        let table = BYTES - TAIL - ENTRY * leaf.entries.len() as u16;
        let [first, second, _] = data.best();
        let touching = data.before(table);
        let spare = ENTRY * (leaf.stale.saturating_sub(1)) as u16;
        let start = if leaf.stale > 0 {
            if first.bytes >= bytes {
                Some(first.start)
            } else {
                // Stale entries are squeezed out but for the last.
                let room = touching.map_or(0, |area| area.bytes) + spare;
                (room >= bytes).then(|| {
                    leaf.compact_to_last();
                    data.free(table, spare);
                    touching.map_or(table, |area| area.start)
                })
            }
        } else if let Some(touching) = touching {
            if touching.start != first.start {
                (first.bytes >= bytes).then_some(first.start)
            } else if first.bytes >= bytes + ENTRY {
                Some(first.start)
            } else {
                (second.bytes >= bytes).then_some(second.start)
            }
        } else {
            None
        };
        let Some(start) = start else {
            self.make_leaf(grow)?;
            return self.insert_by_leaf(key, grow);
        };
        if leaf.stale == 0 {
            data.take(table - ENTRY, ENTRY);
        }
        data.take(start, bytes);
        let address = address(0, start);
        leaf.insert(leaf.search(key.hash), Entry { key, address }, IN_BLOCK);
        Ok(address)
    }

    /// The table of the only block gets a block of its own.
    fn make_leaf(&mut self, grow: &mut impl Grow) -> Result<(), NoBlock> {
        let (Form::Block(leaf), [Some(data)]) = (&mut self.form, &mut self.data[..]) else {
            return Ok(());
        };
        grow.add(LEAVES)?;
        let table = BYTES - TAIL - ENTRY * leaf.entries.len() as u16;
        data.free(table, BYTES - table);
        self.form = Form::Leaf(std::mem::take(leaf));
        Ok(())
    }

    /// The largest free area of a data block.
    fn room_in(&self, block: usize) -> u16 {
        self.data[block]
            .as_ref()
            .map_or(0, |data| data.best()[0].bytes)
    }

    fn insert_by_leaf(&mut self, key: Key, grow: &mut impl Grow) -> Result<u32, NoBlock> {
        let Form::Leaf(leaf) = &self.form else {
            unreachable!("a directory with one leaf");
        };
        let bytes = need(key.length);
        let mut index = leaf.search(key.hash);
        let mut chosen = None;
        while let Some(entry) = leaf
            .entries
            .get(index)
            .filter(|entry| entry.key.hash == key.hash)
        {
            if !entry.is_stale() && self.room_in(entry.place().0) >= bytes {
                chosen = Some(entry.place().0);
                break;
            }
            index += 1;
        }
        let mut missing = 0;
        if chosen.is_none() {
            for (at, data) in self.data.iter().enumerate() {
                match data {
                    None => {
                        missing += 1;
                        // The second one ends the search.
                        if missing == 2 {
                            break;
                        }
                    }
                    Some(data) if data.best()[0].bytes >= bytes => {
                        chosen = Some(at);
                        break;
                    }
                    Some(_) => {}
                }
            }
        }
        let grows_table = chosen.is_none() && missing == 0;
        let needed = if leaf.stale == 0 {
            usize::from(ENTRY)
        } else {
            0
        } + if grows_table { 2 } else { 0 };
        let used =
            usize::from(HEADER) + 4 + usize::from(ENTRY) * leaf.entries.len() + 2 * self.data.len();
        let fits = used + needed <= usize::from(BYTES);
        if !fits && leaf.stale <= 1 {
            self.make_node(grow)?;
            return self.insert_by_node(key, grow);
        }
        let block = match chosen {
            Some(block) => block,
            None => self.add_data_block(grow)?,
        };
        let address = self.enter_in(block, bytes);
        let Form::Leaf(leaf) = &mut self.form else {
            unreachable!("its form has not changed");
        };
        if !fits {
            index = leaf.compact(index);
        }
        leaf.insert(index, Entry { key, address }, IN_LEAF);
        Ok(address)
    }

    fn add_data_block(&mut self, grow: &mut impl Grow) -> Result<usize, NoBlock> {
        let block = grow.add(0)? as usize;
        if block >= self.data.len() {
            self.data.resize(block + 1, None);
        }
        self.data[block] = Some(Areas::empty());
        Ok(block)
    }

    /// An entry takes the front of the largest free area of a block.
    fn enter_in(&mut self, block: usize, bytes: u16) -> u32 {
        let data = self.data[block].as_mut().expect("a data block");
        let start = data.best()[0].start;
        data.take(start, bytes);
        address(block, start)
    }

    /// What is free gets a block of its own.
    fn make_node(&mut self, grow: &mut impl Grow) -> Result<(), NoBlock> {
        let Form::Leaf(leaf) = &mut self.form else {
            return Ok(());
        };
        grow.add(INDEX)?;
        let leaf = std::mem::take(leaf);
        self.form = Form::Node(vec![Numbered {
            number: LEAVES,
            leaf,
        }]);
        Ok(())
    }

    fn insert_by_node(&mut self, key: Key, grow: &mut impl Grow) -> Result<u32, NoBlock> {
        let Form::Node(leaves) = &self.form else {
            unreachable!("a directory with several leaves");
        };
        let bytes = need(key.length);
        let at = leaves.partition_point(|leaf| leaf.leaf.last_hash() < key.hash);
        let mut at = at.min(leaves.len() - 1);
        let (mut chosen, mut same_index) = (None, None);
        let mut index;
        loop {
            let leaf = &leaves[at].leaf;
            index = leaf.search(key.hash);
            while let Some(entry) = leaf
                .entries
                .get(index)
                .filter(|entry| entry.key.hash == key.hash)
            {
                if !entry.is_stale() {
                    let block = entry.place().0;
                    same_index = Some(block / PER_INDEX);
                    if self.room_in(block) >= bytes {
                        chosen = Some(block);
                        break;
                    }
                }
                index += 1;
            }
            if chosen.is_some() || leaf.last_hash() != key.hash || at + 1 == leaves.len() {
                break;
            }
            at += 1;
        }
        if chosen.is_none() {
            let fits = |&block: &usize| {
                Some(block / PER_INDEX) != same_index && self.room_in(block) >= bytes
            };
            chosen = (0..self.data.len()).rev().find(fits);
        }
        let block = if let Some(block) = chosen {
            block
        } else {
            let indexes = self.data.len().div_ceil(PER_INDEX);
            let block = self.add_data_block(grow)?;
            if self.data.len().div_ceil(PER_INDEX) > indexes {
                grow.add(INDEX)?;
            }
            block
        };
        let address = self.enter_in(block, bytes);
        let Form::Node(leaves) = &mut self.form else {
            unreachable!("its form has not changed");
        };
        let entry = Entry { key, address };
        let leaf = &mut leaves[at].leaf;
        if leaf.entries.len() < MOST_ENTRIES || leaf.stale > 0 {
            if leaf.entries.len() == MOST_ENTRIES && leaf.stale > 1 {
                index = leaf.compact(index);
            }
            leaf.insert(index, entry, IN_LEAF);
            return Ok(address);
        }
        let upper = leaf.entries.split_off(MOST_ENTRIES / 2);
        let mut upper = Leaf {
            entries: upper,
            stale: 0,
        };
        if index <= MOST_ENTRIES / 2 {
            leaf.insert(index, entry, IN_LEAF);
        } else {
            upper.insert(index - MOST_ENTRIES / 2, entry, IN_LEAF);
        }
        let number = grow.add(LEAVES)?;
        leaves.insert(
            at + 1,
            Numbered {
                number,
                leaf: upper,
            },
        );
        if leaves[at].number == LEAVES {
            // The first block is the root, and leads to both.
            leaves[at].number = grow.add(LEAVES)?;
        }
        Ok(address)
    }

    /// Takes a name away; `room` bytes are in the inode.
    pub fn remove(&mut self, key: Key, address: u32, room: usize, grow: &mut impl Grow) {
        self.count -= 1;
        match &mut self.form {
            Form::Short(entries) => entries.retain(|entry| entry.address != address),
            Form::Block(leaf) => {
                let at = leaf.find(key.hash, address).expect("an entry of the table");
                leaf.make_stale(at);
                let (start, bytes) = (place(address).1, need(key.length));
                self.data[0]
                    .as_mut()
                    .expect("the only block")
                    .free(start, bytes);
                self.shrink_block(room, grow);
            }
            Form::Leaf(leaf) => {
                let at = leaf.find(key.hash, address).expect("an entry of the leaf");
                leaf.make_stale(at);
                self.leave_data(key, address, grow);
                self.shrink_leaf(room, grow);
            }
            Form::Node(leaves) => {
                let first = leaves.partition_point(|leaf| leaf.leaf.last_hash() < key.hash);
                let mut found =
                    (first..leaves.len()).map(|at| (at, leaves[at].leaf.find(key.hash, address)));
                let (at, entry) = found
                    .find(|(_, found)| found.is_some())
                    .expect("an entry of a leaf");
                leaves[at].leaf.make_stale(entry.unwrap_or_default());
                self.leave_data(key, address, grow);
                self.join_leaves(at, grow);
                self.shrink_node(room, grow);
            }
        }
    }

    /// The area of an entry is free; a data block without entries goes.
    fn leave_data(&mut self, key: Key, address: u32, grow: &mut impl Grow) {
        let (block, start) = place(address);
        let data = self.data[block].as_mut().expect("a data block");
        data.free(start, need(key.length));
        if data.best()[0].bytes == EMPTY {
            self.drop_data_block(block, grow);
        }
    }

    fn drop_data_block(&mut self, block: usize, grow: &mut impl Grow) {
        self.data[block] = None;
        grow.remove(block as u32);
        let indexes = self.data.len().div_ceil(PER_INDEX);
        while self.data.last().is_some_and(Option::is_none) {
            self.data.pop();
        }
        if matches!(self.form, Form::Node(_)) {
            for index in (self.data.len().div_ceil(PER_INDEX)..indexes).rev() {
                grow.remove(INDEX + index as u32);
            }
        }
    }

    /// What is left of one block goes into the inode if it fits.
    fn shrink_block(&mut self, room: usize, grow: &mut impl Grow) {
        let Form::Block(leaf) = &self.form else {
            return;
        };
        let named = |entry: &&Entry| !entry.is_stale() && entry.place().1 >= FIRST;
        let lengths = leaf
            .entries
            .iter()
            .filter(named)
            .map(|entry| entry.key.length);
        if short_bytes(lengths) > room {
            return;
        }
        let mut entries: Vec<Entry> = leaf.entries.iter().filter(named).copied().collect();
        entries.sort_by_key(|entry| entry.address);
        self.form = Form::Short(entries);
        self.data.clear();
        grow.remove(0);
    }

    /// The leaf goes into the only data block if it fits.
    fn shrink_leaf(&mut self, room: usize, grow: &mut impl Grow) {
        while let [_, .., last] = &self.data[..] {
            if last
                .as_ref()
                .is_none_or(|data| data.best()[0].bytes != EMPTY)
            {
                return;
            }
            self.drop_data_block(self.data.len() - 1, grow);
        }
        let (Form::Leaf(leaf), [Some(data)]) = (&mut self.form, &mut self.data[..]) else {
            return;
        };
        let table = TAIL + ENTRY * leaf.live() as u16;
        if data.before(BYTES).is_none_or(|area| area.bytes < table) {
            return;
        }
        data.take(BYTES - table, table);
        leaf.drop_stale();
        self.form = Form::Block(std::mem::take(leaf));
        grow.remove(LEAVES);
        self.shrink_block(room, grow);
    }

    /// A leaf with few entries is joined with a neighbor.
    fn join_leaves(&mut self, at: usize, grow: &mut impl Grow) {
        let Form::Node(leaves) = &mut self.form else {
            return;
        };
        let live = leaves[at].leaf.live();
        let is_small = usize::from(HEADER) + usize::from(ENTRY) * live < SMALL_LEAF;
        if !is_small || leaves.len() == 1 || live == 0 {
            return;
        }
        let behind = (at + 1 < leaves.len()).then_some(at + 1);
        let before = at.checked_sub(1);
        let number = |side: Option<usize>| side.map_or(0, |side| leaves[side].number);
        let mut sides = [before, behind];
        if number(behind) < number(before) {
            sides.reverse();
        }
        let fits = |side: &usize| leaves[*side].leaf.live() + live <= MOST_JOINED;
        let Some(other) = sides.into_iter().flatten().find(fits) else {
            return;
        };
        let (first, second) = (at.min(other), at.max(other));
        let mut gone = leaves.remove(second);
        let stays = &mut leaves[first];
        gone.leaf.drop_stale();
        stays.leaf.drop_stale();
        stays.leaf.entries.append(&mut gone.leaf.entries);
        let dropped = stays.number.max(gone.number);
        stays.number = stays.number.min(gone.number);
        grow.remove(dropped);
        if let [only] = &mut leaves[..] {
            grow.remove(std::mem::replace(&mut only.number, LEAVES));
        }
    }

    /// The index of free space goes if it fits into the only leaf.
    fn shrink_node(&mut self, room: usize, grow: &mut impl Grow) {
        let Form::Node(leaves) = &mut self.form else {
            return;
        };
        let [only] = &mut leaves[..] else {
            return;
        };
        let used =
            usize::from(HEADER) + usize::from(ENTRY) * only.leaf.live() + 4 + 2 * self.data.len();
        if used > usize::from(BYTES) || self.data.len() > PER_INDEX {
            return;
        }
        only.leaf.drop_stale();
        self.form = Form::Leaf(std::mem::take(&mut only.leaf));
        grow.remove(INDEX);
        self.shrink_leaf(room, grow);
    }

    /// Every name that stands in it: hash and address, in no order.
    pub fn addresses(&self) -> Vec<(u32, u32)> {
        let leaves: Vec<&[Entry]> = match &self.form {
            Form::Short(entries) => vec![entries],
            Form::Block(leaf) | Form::Leaf(leaf) => vec![&leaf.entries],
            Form::Node(leaves) => leaves.iter().map(|leaf| &leaf.leaf.entries[..]).collect(),
        };
        let all = leaves.into_iter().flatten();
        let named = |entry: &&Entry| !entry.is_stale() && entry.address >= address(0, FIRST);
        all.filter(named)
            .map(|entry| (entry.key.hash, entry.address))
            .collect()
    }

    /// What does not fit together, if anything.
    pub fn finding(&self) -> Option<String> {
        let leaves: Vec<&Leaf> = match &self.form {
            Form::Short(_) => Vec::new(),
            Form::Block(leaf) | Form::Leaf(leaf) => vec![leaf],
            Form::Node(leaves) => leaves.iter().map(|leaf| &leaf.leaf).collect(),
        };
        let entries: Vec<&Entry> = leaves.iter().flat_map(|leaf| &leaf.entries).collect();
        if !entries.is_sorted_by_key(|entry| entry.key.hash) {
            return Some("its leaves are not in order".to_owned());
        }
        let stale: usize = leaves.iter().map(|leaf| leaf.stale).sum();
        if entries.iter().filter(|entry| entry.is_stale()).count() != stale {
            return Some(format!(
                "{stale} stale entries are counted, others are there"
            ));
        }
        let mut used = vec![0_u32; self.data.len()];
        for entry in entries.iter().filter(|entry| !entry.is_stale()) {
            let (block, start) = entry.place();
            let bytes = need(entry.key.length);
            let areas = self.data.get(block)?.as_ref();
            let is_free = |areas: &Areas| {
                areas
                    .all()
                    .iter()
                    .any(|area| area.start < start + bytes && start < area.start + area.bytes)
            };
            if areas.is_none_or(is_free) {
                return Some(format!(
                    "an entry at {start} of block {block} stands where nothing is in use"
                ));
            }
            used[block] += u32::from(bytes);
        }
        for (block, areas) in self.data.iter().enumerate() {
            let Some(areas) = areas else {
                continue;
            };
            let table = match &self.form {
                Form::Block(leaf) => TAIL + ENTRY * leaf.entries.len() as u16,
                _ => 0,
            };
            let free: u32 = areas.all().iter().map(|area| u32::from(area.bytes)).sum();
            let sum = free + used[block] + u32::from(HEADER + table);
            if sum != u32::from(BYTES) {
                return Some(format!("block {block} has {sum} bytes"));
            }
        }
        None
    }
}

/// Puts a name into the inode, if it fits there and would fit into one block.
fn insert_short(entries: &mut Vec<Entry>, key: Key, room: usize) -> Option<u32> {
    let lengths = entries.iter().map(|entry| entry.key.length);
    if short_bytes(lengths.chain([key.length])) > room {
        return None;
    }
    let bytes = need(key.length);
    let (mut end, mut hole) = (FIRST, None);
    for (at, entry) in entries.iter().enumerate() {
        let start = entry.place().1;
        if hole.is_none() && end + bytes <= start {
            hole = Some((at, end));
        }
        end = start + need(entry.key.length);
    }
    let used = end + (entries.len() as u16 + 3) * ENTRY + TAIL;
    let (at, start) = match hole {
        _ if used + bytes <= BYTES => (entries.len(), end),
        Some(hole) if used <= BYTES => hole,
        _ => return None,
    };
    let address = address(0, start);
    entries.insert(at, Entry { key, address });
    Some(address)
}
