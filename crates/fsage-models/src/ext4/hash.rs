//! Names of directory entries: `f1` and `d1` for the ids 1 of a file and a directory, or as given; and the hash by
//! which they are sorted.
//!
//! Spec: `docs/spec/ext4.md`, section 9.

/// What tells the names of a file system apart: a number for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name(u64);

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

    /// Of a name that is not given: `f` or `d`, and the id.
    pub fn letter_and_id(self) -> (char, u64) {
        let letter = if self.0 & DIRECTORY == 0 { 'f' } else { 'd' };
        (letter, self.0 & !(3 << KIND))
    }
}

/// A name with what a directory needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub name: Name,
    /// Bytes.
    pub length: u8,
    pub hash: u32,
}

/// All names: those that are a letter and an id, and those that were given.
#[derive(Clone, Debug, Default)]
pub(super) struct NameTable {
    given: Vec<Box<[u8]>>,
    /// Places of those that are no names any more.
    unused: Vec<u32>,
    seed: [u32; 4],
}

impl NameTable {
    pub fn new(seed: [u8; 16]) -> NameTable {
        let (words, _) = seed.as_chunks::<4>();
        let mut seed = [0; 4];
        for (word, bytes) in seed.iter_mut().zip(words) {
            *word = u32::from_le_bytes(*bytes);
        }
        NameTable {
            given: Vec::new(),
            unused: Vec::new(),
            seed,
        }
    }

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

    /// Every name is a letter and an id.
    pub fn is_plain(&self) -> bool {
        self.given.len() == self.unused.len()
    }

    /// The hash of a name.
    pub fn hash(&self, name: &[u8]) -> u32 {
        half_md4(name, self.seed)
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

    #[inline]
    pub fn key(&self, name: Name) -> Key {
        self.with_bytes(name, |bytes| Key {
            name,
            length: bytes.len() as u8,
            hash: self.hash(bytes),
        })
    }
}

/// Half MD4 of a name, from a seed of four words.
pub(super) fn half_md4(name: &[u8], seed: [u32; 4]) -> u32 {
    let mut state = seed;
    if state == [0; 4] {
        state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    }
    let mut rest = name;
    while !rest.is_empty() {
        let taken = rest.len().min(32);
        transform(&mut state, words_of(&rest[..taken], rest.len()));
        rest = &rest[taken..];
    }
    match state[1] & !1 {
        0xffff_fffe => 0xffff_fffc,
        hash => hash,
    }
}

/// Up to 32 characters as eight words; what is missing is filled with the number of characters that were left.
fn words_of(characters: &[u8], left: usize) -> [u32; 8] {
    let pad = (left as u32).wrapping_mul(0x0101_0101);
    let mut words = [pad; 8];
    for (word, four) in words.iter_mut().zip(characters.chunks(4)) {
        for &character in four {
            // Characters are signed.
            let signed = i32::from(character.cast_signed()).cast_unsigned();
            *word = (*word << 8).wrapping_add(signed);
        }
    }
    words
}

fn transform(state: &mut [u32; 4], words: [u32; 8]) {
    type Mix = fn(u32, u32, u32) -> u32;
    let rounds: [(Mix, [usize; 8], u32, [u32; 4]); 3] = [
        (
            |x, y, z| z ^ (x & (y ^ z)),
            [0, 1, 2, 3, 4, 5, 6, 7],
            0,
            [3, 7, 11, 19],
        ),
        (
            |x, y, z| (x & y).wrapping_add((x ^ y) & z),
            [1, 3, 5, 7, 0, 2, 4, 6],
            0x5a82_7999,
            [3, 5, 9, 13],
        ),
        (
            |x, y, z| x ^ y ^ z,
            [3, 7, 2, 6, 1, 5, 0, 4],
            0x6ed9_eba1,
            [3, 9, 11, 15],
        ),
    ];
    let mut s = *state;
    for (mix, order, constant, rotations) in rounds {
        for (step, &word) in order.iter().enumerate() {
            // a, d, c, b in turn.
            let at = (4 - step % 4) % 4;
            let mixed = mix(s[(at + 1) % 4], s[(at + 2) % 4], s[(at + 3) % 4]);
            s[at] = s[at]
                .wrapping_add(mixed)
                .wrapping_add(words[word])
                .wrapping_add(constant)
                .rotate_left(rotations[step % 4]);
        }
    }
    for (word, copy) in state.iter_mut().zip(s) {
        *word = word.wrapping_add(copy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the kernel: the specification, section 9.
    #[test]
    fn hashes_are_those_of_the_kernel() {
        let seed = 0x6673_6167_6500_4000_8000_0000_0000_0001_u128.to_be_bytes();
        let mut table = NameTable::new(seed);
        for (name, expected) in [
            ("d0", 0xa74a_269c),
            ("d1", 0x027a_006c),
            ("d49", 0x1199_26c2),
            ("f0", 0xea3e_e10e),
            ("f12345", 0x4f8a_4966),
            ("lost+found", 0xf5b1_d396),
            ("a_name_of_exactly_32_characters_", 0x6da8_8500),
            ("a_name_that_is_longer_than_32_characters.txt", 0xe3d0_5a54),
        ] {
            let given = table.give(name.as_bytes().into());
            assert_eq!(table.key(given).hash, expected, "{name}");
        }
    }

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
            assert_eq!(usize::from(table.key(name).length), text.len());
        }
    }
}
