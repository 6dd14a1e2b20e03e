//! Names of directory entries: `f1` and `d1` for the ids 1 of a file and a directory, or as given; and which id has
//! which.

use fsage_core::names::{self, NAME_MAX};
use rustc_hash::FxHashMap;

/// What tells the names of a file system apart: a number for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u64);

/// A name of ours has at most so many bytes: a letter, and a number of 64 bits.
const MOST: usize = 21;

const KIND: u32 = 62;
const DIRECTORY: u64 = 1 << KIND;
const GIVEN: u64 = 2 << KIND;

impl Name {
    /// `f` and the id.
    pub fn file(id: u64) -> Name {
        Name(id & !(3 << KIND))
    }

    /// `d` and the id.
    pub fn directory(id: u64) -> Name {
        Name(id & !(3 << KIND) | DIRECTORY)
    }

    /// Whether it was given, and is not a letter and an id.
    pub fn is_given(self) -> bool {
        self.0 & GIVEN != 0
    }

    /// Of a name that is not given: `f` or `d`, and the id.
    fn letter_and_id(self) -> (char, u64) {
        let letter = if self.0 & DIRECTORY == 0 { 'f' } else { 'd' };
        (letter, self.0 & !(3 << KIND))
    }
}

/// All names: those that are a letter and an id, and those that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    given: Vec<Box<[u8]>>,
    /// Places of those that are no names any more.
    unused: Vec<u32>,
    /// Names of files that are not `f` and their id.
    called: FxHashMap<u64, Name>,
    /// What the next operation calls what it makes or moves.
    next: Option<Box<[u8]>>,
}

impl NameTable {
    /// A name of its own.
    pub fn give(&mut self, bytes: Box<[u8]>) -> Name {
        let at = if let Some(at) = self.unused.pop() {
            self.given[at as usize] = bytes;
            u64::from(at)
        } else {
            self.given.push(bytes);
            self.given.len() as u64 - 1
        };
        Name(GIVEN | at)
    }

    /// Nothing is called so any more.
    pub fn take_back(&mut self, name: Name) {
        if name.0 & GIVEN != 0 {
            let at = name.0 & !(3 << KIND);
            self.given[at as usize] = Box::default();
            self.unused.push(at as u32);
        }
    }

    /// The next operation calls so what it makes or moves; what is no name is not taken.
    pub fn name_next(&mut self, name: &[u8]) {
        let is_name = names::check_name(name).is_ok() && name.len() <= NAME_MAX;
        self.next = is_name.then(|| name.into());
    }

    /// An operation is over, whether it used the name that was given for it or not.
    pub fn end_operation(&mut self) {
        self.next = None;
    }

    /// The name of a new entry: the one that was given for it, or else one by its id. Where that is taken, it is the
    /// other one that a replay takes.
    pub fn new_name(&mut self, by_id: Name, is_taken: impl Fn(&NameTable, &[u8]) -> bool) -> Name {
        let is_plain = self.given.len() == self.unused.len();
        let given = self.next.take();
        if given.is_none() && is_plain {
            return by_id;
        }
        let is_given = given.is_some();
        let bytes = given.unwrap_or_else(|| self.with_bytes(by_id, |bytes| bytes.into()));
        if is_taken(self, &bytes) {
            let (letter, id) = by_id.letter_and_id();
            let mut other = names::other_name(&bytes, letter, id);
            // Somebody may have called another file just so.
            while is_taken(self, &other) && other.len() < NAME_MAX {
                other = names::other_name(&other, letter, id);
            }
            return self.give(other);
        }
        if is_given { self.give(bytes) } else { by_id }
    }

    /// The name of an entry that moves, in the same way; nothing if it stays where it is and is called so already.
    pub fn name_of_moved(
        &mut self,
        old: Name,
        is_same_directory: bool,
        by_id: Name,
        is_taken: impl Fn(&NameTable, &[u8]) -> bool,
    ) -> Option<Name> {
        let is_called = |bytes: &[u8]| self.with_bytes(old, |old| old == bytes);
        let stays = is_same_directory
            && match &self.next {
                Some(given) => is_called(given),
                None => old == by_id || self.with_bytes(by_id, is_called),
            };
        if stays {
            self.next = None;
            return None;
        }
        let new = self.new_name(by_id, is_taken);
        let is_old = self.with_bytes(new, |new| self.with_bytes(old, |old| old == new));
        if is_same_directory && is_old {
            // It has its other name already.
            self.take_back(new);
            return None;
        }
        Some(new)
    }

    /// The name that the id of a file stands for.
    #[inline]
    pub fn name_of(&self, id: u64) -> Name {
        if self.called.is_empty() {
            return Name::file(id);
        }
        let called = self.called.get(&id);
        called.copied().unwrap_or_else(|| Name::file(id))
    }

    /// The id of a file stands for this name from now on. The one before is taken back.
    pub fn call(&mut self, id: u64, name: Name) {
        let before = if name == Name::file(id) {
            self.called.remove(&id)
        } else {
            self.called.insert(id, name)
        };
        if let Some(before) = before.filter(|before| *before != name) {
            self.take_back(before);
        }
    }

    /// What an id stood for goes over to another one.
    pub fn hand_over(&mut self, from: u64, to: u64) {
        let name = self.name_of(from);
        self.called.remove(&from);
        self.call(to, name);
    }

    /// The same, for who finds names that are `f` and an id by that id: such a name is from now on one that was given,
    /// and comes back.
    pub fn hand_over_as_given(&mut self, from: u64, to: u64) -> Option<Name> {
        let name = self.name_of(from);
        if name.is_given() {
            self.hand_over(from, to);
            return None;
        }
        let bytes = self.with_bytes(name, |bytes| bytes.into());
        let given = self.give(bytes);
        self.call(to, given);
        Some(given)
    }

    /// There is no file with an id any more.
    pub fn forget(&mut self, id: u64) {
        if let Some(name) = self.called.remove(&id) {
            self.take_back(name);
        }
    }

    /// The bytes of a name.
    #[inline]
    pub fn with_bytes<T>(&self, name: Name, take: impl FnOnce(&[u8]) -> T) -> T {
        let id = name.0 & !(3 << KIND);
        if name.0 & GIVEN != 0 {
            return take(&self.given[id as usize]);
        }
        let mut bytes = [0; MOST];
        let mut at = MOST;
        let mut rest = id;
        loop {
            at -= 1;
            bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        at -= 1;
        bytes[at] = if name.0 & DIRECTORY == 0 { b'f' } else { b'd' };
        take(&bytes[at..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_a_letter_and_a_number_or_as_given() {
        let mut table = NameTable::default();
        let given = table.give(b"README".as_slice().into());
        for (name, text) in [
            (Name::file(0), "f0"),
            (Name::directory(9), "d9"),
            (Name::file(12_345_678_901), "f12345678901"),
            (given, "README"),
        ] {
            table.with_bytes(name, |bytes| assert_eq!(bytes, text.as_bytes()));
        }
    }

    #[test]
    fn what_is_taken_gets_its_other_name_and_names_come_back() {
        let mut table = NameTable::default();
        let free = |_: &NameTable, _: &[u8]| false;
        let bytes = |table: &NameTable, name| table.with_bytes(name, <[u8]>::to_vec);
        assert_eq!(table.new_name(Name::file(7), free), Name::file(7));
        table.name_next(b"x");
        let first = table.new_name(Name::file(7), free);
        table.call(7, first);
        table.name_next(b"x");
        let is_seventh =
            |table: &NameTable, name: &[u8]| table.with_bytes(table.name_of(7), |its| its == name);
        let second = table.new_name(Name::file(8), is_seventh);
        assert_eq!(bytes(&table, second), b"x~f8");
        table.name_next(b"x");
        assert_eq!(table.name_of_moved(first, true, Name::file(7), free), None);
        let moved = table.name_of_moved(first, false, Name::file(7), free);
        assert_eq!(moved, Some(Name::file(7)));
        table.call(7, Name::file(7));
        assert_eq!(bytes(&table, first), b"", "nothing is called so any more");
        table.name_next(b"a/b");
        assert_eq!(table.new_name(Name::directory(1), free), Name::directory(1));
    }
}
