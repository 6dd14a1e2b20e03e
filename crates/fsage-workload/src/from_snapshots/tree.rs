//! Where files lie: in the directories of the source, or in one directory for each group of inodes.

use super::nodes::{NodeId, Nodes, is_directory};
use super::options::Placement;
use fsage_core::DirId;
use fsage_core::names::{check_name, unescape};
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Linux takes paths up to 4096 bytes; escaped, four times that.
const MAX_PATH: usize = 4 * 4096;

/// A place for a name: the directory, and the name where there are names.
pub(super) type Place = (DirId, Option<Box<[u8]>>);

/// The directories.
#[derive(Debug)]
pub(super) struct Tree {
    placement: Placement,
    inodes_per_group: u64,
    first_ino: u64,
    /// Tree: every directory of the newest snapshot by its path.
    by_path: FxHashMap<Box<str>, DirId>,
    next: u64,
    /// Directories that are known by the paths below them only, with their place.
    derived: BTreeMap<DirId, Place>,
    /// Inodes in use without a name that can be.
    pub orphans: u64,
}

impl Tree {
    pub fn new(placement: Placement, info: &SnapshotInfo) -> Tree {
        Tree {
            placement,
            inodes_per_group: info.inodes_per_group.map_or(0, u64::from),
            first_ino: info.first_ino.map_or(0, u64::from),
            by_path: FxHashMap::default(),
            next: 1,
            derived: BTreeMap::new(),
            orphans: 0,
        }
    }

    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// Cylinder or block group of an inode, where groups are known.
    pub fn group(&self, ino: u64) -> Option<u64> {
        ino.checked_sub(self.first_ino)?
            .checked_div(self.inodes_per_group)
    }

    /// A number for a new directory.
    pub fn new_dir(&mut self) -> DirId {
        self.next += 1;
        DirId(self.next - 1)
    }

    /// Groups: numbers up to that of the last group are taken.
    pub fn reserve_groups(&mut self, count: u64) {
        self.next = self.next.max(count);
    }

    /// Place of a directory that no inode row shows.
    pub fn derived(&self, dir: DirId) -> Option<&Place> {
        self.derived.get(&dir)
    }

    /// All directories that no inode row shows.
    pub fn all_derived(&self) -> impl Iterator<Item = DirId> {
        self.derived.keys().copied()
    }

    /// Forgets such a directory, which is empty.
    pub fn forget_derived(&mut self, dir: DirId) {
        if self.derived.remove(&dir).is_some() {
            self.by_path.retain(|_, id| *id != dir);
        }
    }

    /// Takes over the paths of directories: first what is no longer there, then what is.
    pub fn update_directories(
        &mut self,
        nodes: &mut Nodes,
        gone: &[(DirId, Option<Box<str>>)],
        present: &[NodeId],
    ) {
        for (dir, path) in gone {
            if let Some(path) = path
                && self.by_path.get(path) == Some(dir)
            {
                self.by_path.remove(path);
            }
        }
        for &id in present {
            let node = nodes.get_mut(id);
            let path = node.inode.path.clone();
            if path.as_deref() == Some(".") && node.dir.is_none_or(|dir| dir == DirId::ROOT) {
                node.dir = Some(DirId::ROOT);
                self.by_path.insert(".".into(), DirId::ROOT);
                continue;
            }
            // A directory that was known by its content alone gets its inode.
            let known = path.as_ref().and_then(|path| self.by_path.get(path));
            let derived = known
                .copied()
                .filter(|dir| self.derived.remove(dir).is_some());
            let dir = node.dir.or(derived).unwrap_or_else(|| self.new_dir());
            nodes.get_mut(id).dir = Some(dir);
            if let Some(path) = path.filter(|path| is_proper(path)) {
                self.by_path.insert(path, dir);
            }
        }
    }

    /// Place of the first name of an inode.
    pub fn place(&mut self, inode: &Inode) -> Place {
        if self.placement == Placement::Groups {
            return (DirId(self.group(inode.ino).unwrap_or(0)), None);
        }
        match inode.path.as_deref() {
            Some(path) if is_proper(path) => {
                let (parent, name) = split(path);
                (self.directory(parent), Some(bytes_of(name)))
            }
            _ => {
                self.orphans += 1;
                (
                    DirId::ROOT,
                    Some(format!("#{}", inode.ino).into_bytes().into()),
                )
            }
        }
    }

    /// Place of the first name of an inode whose directory is known.
    pub fn place_known(&self, inode: &Inode) -> Option<Place> {
        let path = inode.path.as_deref().filter(|path| is_proper(path))?;
        let (parent, name) = split(path);
        let dir = match parent {
            "." => DirId::ROOT,
            _ => *self.by_path.get(parent)?,
        };
        Some((dir, Some(bytes_of(name))))
    }

    /// Place of a further name; `None` if its directory is not known.
    pub fn place_of_further(nodes: &Nodes, further: &FurtherName) -> Option<Place> {
        let (_, parent) = nodes.by_ino(further.parent_ino)?;
        let name = bytes_of(&further.name);
        Some((parent.dir?, Some(name)))
    }

    /// The directory of a path; those above it that no inode row shows are made up.
    fn directory(&mut self, path: &str) -> DirId {
        let mut missing = Vec::new();
        let mut at = path;
        let mut dir = loop {
            if at == "." {
                break DirId::ROOT;
            }
            if let Some(dir) = self.by_path.get(at) {
                break *dir;
            }
            missing.push(at);
            at = split(at).0;
        };
        for path in missing.into_iter().rev() {
            let place = (dir, Some(bytes_of(split(path).1)));
            dir = self.new_dir();
            self.by_path.insert(path.into(), dir);
            self.derived.insert(dir, place);
        }
        dir
    }
}

/// Parent and last component; the parent of what lies in the root is `.`.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

/// Whether a path can be that of an inode: names that a directory can hold, and no longer than Linux takes.
fn is_proper(path: &str) -> bool {
    path.len() <= MAX_PATH
        && path
            .split('/')
            .all(|name| check_name(&bytes_of(name)).is_ok())
}

/// The bytes of an escaped name; as they stand where a backslash escapes nothing.
fn bytes_of(name: &str) -> Box<[u8]> {
    unescape(name).unwrap_or_else(|| name.as_bytes().into())
}

/// Whether the inode is replayed as a directory.
pub(super) fn is_replayed_as_directory(placement: Placement, inode: &Inode) -> bool {
    placement == Placement::Tree && is_directory(inode)
}
