//! Names of directory entries: `f1` and `d1` for the ids 1 of a file and a directory, or as given.

/// What tells the names of a file system apart: a number for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name(u64);

/// A name of ours has at most so many bytes: a letter, and a number of 64 bits.
const MOST: usize = 21;
/// A name has at most so many bytes.
pub(crate) const NAME_MAX: usize = 255;

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
}

impl NameTable {
    /// A name of its own.
    pub fn give(&mut self, bytes: &[u8]) -> Name {
        self.given.push(bytes.into());
        Name(GIVEN | (self.given.len() as u64 - 1))
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
