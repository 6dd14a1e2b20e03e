//! Names of directory entries, and the hash by which they are sorted.
//!
//! Spec: `docs/spec/ext4.md`, section 9.

use super::entries::Entries;
use crate::name_table::{Name, NameTable};
use std::cell::Cell;

/// A name with what a directory needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub name: Name,
    /// Bytes.
    pub length: u8,
    pub hash: u32,
}

/// All names, with the seed of their hash.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    pub names: NameTable,
    seed: [u32; 4],
}

impl Keys {
    pub fn new(seed: [u8; 16]) -> Keys {
        let (words, _) = seed.as_chunks::<4>();
        let mut seed = [0; 4];
        for (word, bytes) in seed.iter_mut().zip(words) {
            *word = u32::from_le_bytes(*bytes);
        }
        Keys {
            names: NameTable::default(),
            seed,
        }
    }

    /// The name of a new entry of a directory, and the inode that has the name which was asked for, if one has it.
    pub fn new_name(&mut self, entries: &Entries, by_id: Name) -> (Name, Option<u32>) {
        let seed = self.seed;
        let taken_by = Cell::new(None);
        let new = self.names.new_name(by_id, |names, name| {
            is_taken(entries, names, seed, name, &taken_by)
        });
        (new, taken_by.get())
    }

    /// The same of an entry that moves to a directory; no name if it stays as it is.
    pub fn name_of_moved(
        &mut self,
        old: Name,
        to: (bool, &Entries),
        by_id: Name,
    ) -> (Option<Name>, Option<u32>) {
        let seed = self.seed;
        let (is_same, entries) = to;
        let taken_by = Cell::new(None);
        let new = self
            .names
            .name_of_moved(old, is_same, by_id, |names, name| {
                is_taken(entries, names, seed, name, &taken_by)
            });
        (new, taken_by.get())
    }

    #[inline]
    pub fn key(&self, name: Name) -> Key {
        self.names.with_bytes(name, |bytes| Key {
            name,
            length: bytes.len() as u8,
            hash: half_md4(bytes, self.seed),
        })
    }
}

fn is_taken(
    entries: &Entries,
    names: &NameTable,
    seed: [u32; 4],
    name: &[u8],
    taken_by: &Cell<Option<u32>>,
) -> bool {
    let is_it = |other| names.with_bytes(other, |its| its == name);
    let inode = entries.inode_of(half_md4(name, seed), is_it);
    taken_by.set(taken_by.get().or(inode));
    inode.is_some()
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
        let mut keys = Keys::new(seed);
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
            let given = keys.names.give(name.as_bytes().into());
            assert_eq!(keys.key(given).hash, expected, "{name}");
        }
    }
}
