//! Names of directory entries: `f1` and `d1` for the ids 1 of a file and a directory, or as given; and which id has which.

use rustc_hash::FxHashMap;

/// What tells the names of a file system apart: a number for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(u64);

/// A name of ours has at most so many bytes: a letter, and a number of 64 bits.
const MOST: usize = 21;
/// A name has at most so many bytes.
const NAME_MAX: usize = 255;

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
}

/// All names: those that are a letter and an id, and those that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    given: Vec<Box<[u8]>>,
    /// Names of files that are not `f` and their id.
    called: FxHashMap<u64, Name>,
    /// The name of the next file or directory that is made.
    next: Option<Name>,
}

impl NameTable {
    /// A name of its own.
    pub fn give(&mut self, bytes: &[u8]) -> Name {
        self.given.push(bytes.into());
        Name(GIVEN | (self.given.len() as u64 - 1))
    }

    /// The next file or directory that is made has this name, of 1 to 255 bytes; any other is not taken.
    pub fn name_next(&mut self, name: &[u8]) {
        if (1..=NAME_MAX).contains(&name.len()) {
            self.next = Some(self.give(name));
        }
    }

    /// An operation is over, whether it used the name that was given for it or not.
    pub fn end_operation(&mut self) {
        self.next = None;
    }

    /// The name of a file that is being made, or that gets a further one.
    pub fn name_of_new(&mut self, id: u64) -> Name {
        match self.next.take() {
            Some(name) => {
                self.called.insert(id, name);
                name
            }
            None => Name::file(id),
        }
    }

    /// The name of a directory that is being made.
    pub fn name_of_new_directory(&mut self, id: u64) -> Name {
        self.next.take().unwrap_or(Name::directory(id))
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

    /// The id of a file stands for this name from now on.
    pub fn call(&mut self, id: u64, name: Name) {
        self.called.insert(id, name);
    }

    /// There is no file with an id any more.
    pub fn forget(&mut self, id: u64) {
        self.called.remove(&id);
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
        let given = table.give(b"README");
        for (name, text) in [
            (Name::file(0), "f0"),
            (Name::directory(9), "d9"),
            (Name::file(12_345_678_901), "f12345678901"),
            (given, "README"),
        ] {
            table.with_bytes(name, |bytes| assert_eq!(bytes, text.as_bytes()));
        }
    }
}
