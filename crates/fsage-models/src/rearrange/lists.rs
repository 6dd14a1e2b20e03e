//! The hot and the cold table: two lists in the order of the last use, linked by the slots of files.

use crate::findings::Findings;

/// No file.
const NONE: u32 = u32::MAX;

/// A table. A file is in one of them or in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Files of the reserved area.
    Hot,
    /// Files outside that are known.
    Cold,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    table: Option<Table>,
    before: u32,
    after: u32,
    count: u32,
    /// It is to change its table.
    waits: bool,
}

const UNLINKED: Link = Link {
    table: None,
    before: NONE,
    after: NONE,
    count: 0,
    waits: false,
};

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: u64,
}

const EMPTY: List = List {
    head: NONE,
    tail: NONE,
    len: 0,
};

/// Both tables. Every step takes constant time.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    links: Vec<Link>,
    lists: [List; 2],
}

impl Default for Lists {
    fn default() -> Lists {
        Lists {
            links: Vec::new(),
            lists: [EMPTY; 2],
        }
    }
}

impl Lists {
    /// The table of a file.
    #[inline]
    pub fn table_of(&self, slot: u32) -> Option<Table> {
        self.links.get(slot as usize)?.table
    }

    /// Whether a file is hot.
    #[inline]
    pub fn is_hot(&self, slot: u32) -> bool {
        self.table_of(slot) == Some(Table::Hot)
    }

    /// Entries of a table.
    pub fn len(&self, table: Table) -> u64 {
        self.lists[table as usize].len
    }

    /// The entry of a table that was used least recently.
    pub fn tail(&self, table: Table) -> Option<u32> {
        let tail = self.lists[table as usize].tail;
        (tail != NONE).then_some(tail)
    }

    /// Puts a file at the head of a table, with a count of 1.
    pub fn add(&mut self, table: Table, slot: u32) {
        self.remove(slot);
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, UNLINKED);
        }
        self.links[slot as usize].count = 1;
        self.push(table, slot);
    }

    /// Counts one more use of a file that is in a table, and moves it to the head. Gives the count.
    pub fn touch(&mut self, slot: u32) -> u32 {
        let Some(table) = self.table_of(slot) else {
            return 0;
        };
        let link = &mut self.links[slot as usize];
        link.count = link.count.saturating_add(1);
        let count = link.count;
        if self.lists[table as usize].head != slot {
            self.unlink(table, slot);
            self.push(table, slot);
        }
        count
    }

    /// A file of a table begins to wait for what comes next. Says whether that is new.
    pub fn begin_wait(&mut self, slot: u32) -> bool {
        !std::mem::replace(&mut self.links[slot as usize].waits, true)
    }

    /// A file does not wait any more. Says whether it did; one that has left its table has not.
    pub fn end_wait(&mut self, slot: u32) -> bool {
        let link = self.links.get_mut(slot as usize);
        link.is_some_and(|link| std::mem::replace(&mut link.waits, false))
    }

    /// Takes a file out of its table, if it is in one.
    pub fn remove(&mut self, slot: u32) {
        if let Some(table) = self.table_of(slot) {
            self.unlink(table, slot);
            self.links[slot as usize] = UNLINKED;
        }
    }

    /// Empties both tables.
    pub fn clear(&mut self) {
        *self = Lists::default();
    }

    /// The files of a table, the last one used first.
    pub fn iter(&self, table: Table) -> impl Iterator<Item = u32> {
        let mut next = self.lists[table as usize].head;
        std::iter::from_fn(move || {
            let slot = next;
            let link = self.links.get(slot as usize)?;
            next = link.after;
            Some(slot)
        })
    }

    fn push(&mut self, table: Table, slot: u32) {
        let list = &mut self.lists[table as usize];
        let after = std::mem::replace(&mut list.head, slot);
        list.len += 1;
        if after == NONE {
            list.tail = slot;
        } else {
            self.links[after as usize].before = slot;
        }
        let link = &mut self.links[slot as usize];
        (link.table, link.before, link.after) = (Some(table), NONE, after);
    }

    fn unlink(&mut self, table: Table, slot: u32) {
        let Link { before, after, .. } = self.links[slot as usize];
        let list = &mut self.lists[table as usize];
        list.len -= 1;
        if before == NONE {
            list.head = after;
        } else {
            self.links[before as usize].after = after;
        }
        let list = &mut self.lists[table as usize];
        if after == NONE {
            list.tail = before;
        } else {
            self.links[after as usize].before = before;
        }
    }

    /// Both lists hold what is said to be in them, once each, linked both ways.
    pub fn check(&self, found: &mut Findings) {
        for table in [Table::Hot, Table::Cold] {
            let list = &self.lists[table as usize];
            let members = self.links.iter().filter(|link| link.table == Some(table));
            let members = members.count() as u64;
            found.compare("entries of a table", &list.len, &members);
            let (mut before, mut walked) = (NONE, 0);
            for slot in self.iter(table).take(self.links.len() + 1) {
                let link = &self.links[slot as usize];
                let right = link.before == before && link.table == Some(table);
                found.expect(right, || {
                    format!("{table:?} table: entry {slot} is not linked well")
                });
                (before, walked) = (slot, walked + 1);
            }
            found.compare("entries of a list", &list.len, &walked);
            found.compare("the tail of a list", &list.tail, &before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_is_at_the_tail() {
        let mut lists = Lists::default();
        for slot in [4, 1, 9] {
            lists.add(Table::Cold, slot);
        }
        assert_eq!(lists.tail(Table::Cold), Some(4));
        assert_eq!(lists.touch(4), 2);
        assert_eq!(lists.tail(Table::Cold), Some(1));
        let order: Vec<u32> = lists.iter(Table::Cold).collect();
        assert_eq!(order, [4, 9, 1]);
        lists.add(Table::Hot, 9);
        assert_eq!((lists.len(Table::Cold), lists.len(Table::Hot)), (2, 1));
        assert!(lists.is_hot(9) && lists.begin_wait(9) && !lists.begin_wait(9));
        lists.add(Table::Cold, 9);
        assert!(!lists.is_hot(9) && !lists.end_wait(9));
        lists.remove(4);
        lists.remove(1);
        lists.remove(9);
        assert_eq!((lists.tail(Table::Cold), lists.touch(1)), (None, 0));
        let mut found = Findings::default();
        lists.check(&mut found);
        assert_eq!(found.result(), Ok(()));
    }
}
