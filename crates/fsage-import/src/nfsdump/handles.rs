//! What handles stand for.
//!
//! A handle is compared as it stands: it may have any length, and bad packets cut it off.

use crate::trace::{Child, DirKey, InodeKey, Namespace};
use fsage_core::names::hex_byte;
use rustc_hash::FxHashMap;

/// What is known of a file beside what the namespace knows.
#[derive(Clone, Debug)]
pub(super) struct FileFacts {
    handle: Box<[u8]>,
    /// Time of its last operation.
    pub last_ns: i64,
    /// Modification time that the server said last.
    pub modified: (u64, u64),
}

/// Handles of live files and directories.
#[derive(Debug, Default)]
pub(super) struct Handles {
    nodes: FxHashMap<Box<[u8]>, Child>,
    facts: FxHashMap<InodeKey, FileFacts>,
    /// The file that had a name last, in whatever directory; only for guesses.
    by_name: Option<FxHashMap<Box<[u8]>, InodeKey>>,
    has_inode_numbers: bool,
}

impl Handles {
    pub fn new(guess: bool, has_inode_numbers: bool) -> Handles {
        Handles {
            by_name: guess.then(FxHashMap::default),
            has_inode_numbers,
            ..Handles::default()
        }
    }

    /// What a handle stands for, if that is alive.
    pub fn get(&self, ns: &Namespace<'_>, handle: &[u8]) -> Option<Child> {
        self.nodes.get(handle).copied().filter(|node| match *node {
            Child::Dir(dir) => ns.has_dir(dir),
            Child::File(inode) => ns.is_alive(inode),
        })
    }

    pub fn bind_dir(&mut self, handle: &[u8], dir: DirKey) {
        self.nodes.insert(handle.into(), Child::Dir(dir));
    }

    pub fn bind_file(&mut self, ns: &mut Namespace<'_>, handle: &[u8], inode: InodeKey) {
        self.nodes.insert(handle.into(), Child::File(inode));
        if let Some((ino, generation)) = self.source(handle) {
            ns.set_source(inode, ino, generation);
        }
        let facts = FileFacts {
            handle: handle.into(),
            last_ns: i64::MIN,
            modified: (0, 0),
        };
        if let Some(old) = self.facts.insert(inode, facts)
            && *old.handle != *handle
        {
            self.nodes.remove(&old.handle);
        }
    }

    /// Inode number and generation that the handle of this trace has.
    pub fn source(&self, handle: &[u8]) -> Option<(u64, u32)> {
        inode_of(handle).filter(|_| self.has_inode_numbers)
    }

    /// Whether a file's handle is known.
    pub fn has(&self, inode: InodeKey) -> bool {
        self.facts.contains_key(&inode)
    }

    pub fn facts(&mut self, inode: InodeKey) -> Option<&mut FileFacts> {
        self.facts.get_mut(&inode)
    }

    /// Forgets a file that has lost its last name.
    pub fn forget_dead(&mut self, ns: &Namespace<'_>, inode: InodeKey) {
        if !ns.is_alive(inode)
            && let Some(facts) = self.facts.remove(&inode)
            && self.nodes.get(&facts.handle) == Some(&Child::File(inode))
        {
            self.nodes.remove(&facts.handle);
        }
    }

    /// A file has this name.
    pub fn learn_name(&mut self, name: &[u8], inode: InodeKey) {
        if let Some(by_name) = &mut self.by_name {
            by_name.insert(name.into(), inode);
        }
    }

    /// The live file that had a name last.
    pub fn guess(&mut self, ns: &Namespace<'_>, name: &[u8]) -> Option<InodeKey> {
        let inode = self.by_name.as_mut()?.remove(name)?;
        ns.is_alive(inode).then_some(inode)
    }
}

/// Inode number and generation in a handle of 32 bytes, as the servers of the Harvard traces made them: bytes 12
/// to 15 and 16 to 19, little endian.
pub(super) fn inode_of(handle: &[u8]) -> Option<(u64, u32)> {
    if handle.len() != 64 {
        return None;
    }
    let word = |at: usize| {
        let mut word = [0; 4];
        for (i, byte) in word.iter_mut().enumerate() {
            *byte = hex_byte(handle[2 * (at + i)], handle[2 * (at + i) + 1])?;
        }
        Some(u32::from_le_bytes(word))
    };
    Some((u64::from(word(12)?), word(16)?))
}

/// `h` and eight digits of the FNV-1a hash of a handle.
pub(super) fn stand_in(handle: &[u8]) -> Vec<u8> {
    let hash = handle.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("h{:08x}", hash >> 32).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inode_of_a_handle_is_that_of_the_sample() {
        // Reply to create in the Harvard sample: fileid 84fb8; the generations go up with each use.
        let handle = b"cfbc65840a0000000c000000b84f0800138300000c0000000200000001800000";
        assert_eq!(inode_of(handle), Some((0x84fb8, 0x8313)));
        assert_eq!(inode_of(&handle[..62]), None);
    }

    #[test]
    fn a_stand_in_is_a_hash() {
        // FNV-1a, 64 bits, of "a" is af63dc4c8601ec8c (published test vector).
        assert_eq!(stand_in(b"a"), b"haf63dc4c");
    }
}
