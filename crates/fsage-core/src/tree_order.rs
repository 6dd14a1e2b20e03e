//! The files of a layout in the order in which a walk of its tree meets them.
//!
//! Directories depth first from the root; the entries of a directory by name, as bytes, or by inode number where names
//! are not known. So does `tar` read a tree whose directories are sorted. An inode stands at its first name. A
//! directory whose parent is not in the layout is a root too.

use crate::layout::{FileKind, FileView, Layout};
use crate::names::unescape;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// The tree of a layout. Memory: 16 bytes a file beside its `T`, some 60 a directory, and the bytes of the names.
#[derive(Debug)]
pub struct TreeOrder<T> {
    directories: Vec<Directory>,
    /// Directories without a parent.
    roots: Vec<u32>,
    /// The others, by (parent, key).
    children: Vec<u32>,
    /// Everything else, by (parent, key).
    files: Vec<File<T>>,
    outside: Vec<T>,
    directories_outside: Vec<u64>,
    names: Names,
}

#[derive(Debug)]
struct Directory {
    ino: u64,
    parent_ino: Option<u64>,
    key: u64,
    /// Its place in `children`.
    children: Range<usize>,
    /// Its place in `files`.
    files: Range<usize>,
    reached: bool,
}

#[derive(Debug)]
struct File<T> {
    /// Inode of the directory while the layout is read; then the directory's place.
    parent: u64,
    key: u64,
    what: T,
}

/// What a walk meets.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a, T> {
    /// A directory, before everything in it.
    Directory {
        /// Its inode.
        ino: u64,
        /// Inode of its parent; `None` for a root.
        parent_ino: Option<u64>,
        /// Its name as bytes, where known.
        name: Option<&'a [u8]>,
    },
    /// Anything else.
    File {
        /// What was kept of it.
        what: &'a T,
        /// Inode of its directory.
        parent_ino: u64,
        /// Its name as bytes, where known.
        name: Option<&'a [u8]>,
    },
}

impl<T> TreeOrder<T> {
    /// Reads a layout once. `keep` says what is kept of an inode that is no directory; `None` leaves it out.
    pub fn of(
        layout: &(impl Layout + ?Sized),
        mut keep: impl FnMut(&FileView<'_>) -> Option<T>,
    ) -> TreeOrder<T> {
        let mut tree = TreeOrder {
            directories: Vec::new(),
            roots: Vec::new(),
            children: Vec::new(),
            files: Vec::new(),
            outside: Vec::new(),
            directories_outside: Vec::new(),
            names: Names::default(),
        };
        layout.visit_files(&mut |file| {
            if file.kind == FileKind::Directory {
                tree.directories.push(Directory {
                    ino: file.ino,
                    parent_ino: file.parent_ino.filter(|&parent| parent != file.ino),
                    key: tree.names.key(file),
                    children: 0..0,
                    files: 0..0,
                    reached: false,
                });
            } else if let Some(what) = keep(file) {
                match file.parent_ino {
                    Some(parent) => tree.files.push(File {
                        parent,
                        key: tree.names.key(file),
                        what,
                    }),
                    None => tree.outside.push(what),
                }
            }
        });
        let places = tree.link_directories();
        tree.link_files(&places);
        tree
    }

    /// What lies in no directory that a walk meets.
    pub fn outside(&self) -> &[T] {
        &self.outside
    }

    /// Directories that a walk does not meet: those that lie in each other.
    pub fn directories_outside(&self) -> &[u64] {
        &self.directories_outside
    }

    /// The files of every directory that has some, in directory order.
    pub fn by_directory(&self) -> impl Iterator<Item = impl Iterator<Item = &T>> {
        let chunks = self.files.chunk_by(|a, b| a.parent == b.parent);
        chunks.map(|chunk| chunk.iter().map(|file| &file.what))
    }

    /// Walks the tree.
    pub fn walk<'a>(&'a self, mut visit: impl FnMut(Step<'a, T>)) {
        let mut open: Vec<Open> = Vec::new();
        let mut roots = self.roots.iter();
        loop {
            let next = match open.last_mut() {
                None => match roots.next() {
                    Some(&root) => Next::Directory(root),
                    None => return,
                },
                Some(open) => self.next_entry(open),
            };
            match next {
                Next::Directory(place) => {
                    let directory = &self.directories[place as usize];
                    visit(Step::Directory {
                        ino: directory.ino,
                        parent_ino: directory.parent_ino.filter(|_| !open.is_empty()),
                        name: self.names.name(directory.key),
                    });
                    open.push(Open {
                        ino: directory.ino,
                        children: directory.children.clone(),
                        files: directory.files.clone(),
                    });
                }
                Next::File(place, parent_ino) => {
                    let file = &self.files[place];
                    visit(Step::File {
                        what: &file.what,
                        parent_ino,
                        name: self.names.name(file.key),
                    });
                }
                Next::End => {
                    open.pop();
                }
            }
        }
    }

    /// The next entry of a directory: files and directories are one list in directory order.
    fn next_entry(&self, open: &mut Open) -> Next {
        let file = open.files.clone().next();
        let child = open.children.clone().next();
        let file_is_next = match (file, child) {
            (Some(file), Some(child)) => {
                let child = &self.directories[self.children[child] as usize];
                self.names.order(self.files[file].key, child.key).is_lt()
            }
            (file, _) => file.is_some(),
        };
        if file_is_next {
            return open
                .files
                .next()
                .map_or(Next::End, |place| Next::File(place, open.ino));
        }
        open.children
            .next()
            .map_or(Next::End, |place| Next::Directory(self.children[place]))
    }

    /// Finds the roots, what lies below them, and the place of every directory by its inode.
    fn link_directories(&mut self) -> FxHashMap<u64, u32> {
        let all = 0..self.directories.len() as u32;
        let mut places: FxHashMap<u64, u32> = all
            .clone()
            .map(|i| (self.directories[i as usize].ino, i))
            .collect();
        let parent_of = |i: u32| {
            let parent = self.directories[i as usize].parent_ino?;
            places.get(&parent).copied()
        };
        let (mut children, mut roots): (Vec<_>, Vec<_>) = all
            .map(|i| (parent_of(i), i))
            .partition(|(parent, _)| parent.is_some());
        // The root itself comes before directories that only lost their parent.
        roots.sort_by_key(|&(_, i)| self.directories[i as usize].parent_ino.is_some());
        self.roots = roots.into_iter().map(|(_, i)| i).collect();
        let key = |i: u32| self.directories[i as usize].key;
        children.sort_unstable_by(|&(p, a), &(q, b)| {
            p.cmp(&q).then_with(|| self.names.order(key(a), key(b)))
        });
        let mut at = 0;
        for siblings in children.chunk_by(|a, b| a.0 == b.0) {
            if let (Some(parent), _) = siblings[0] {
                self.directories[parent as usize].children = at..at + siblings.len();
            }
            at += siblings.len();
        }
        self.children = children.into_iter().map(|(_, i)| i).collect();
        let mut open = self.roots.clone();
        while let Some(i) = open.pop() {
            let directory = &mut self.directories[i as usize];
            directory.reached = true;
            open.extend_from_slice(&self.children[directory.children.clone()]);
        }
        let lost = self.directories.iter().filter(|d| !d.reached);
        self.directories_outside = lost.map(|d| d.ino).collect();
        places.retain(|_, i| self.directories[*i as usize].reached);
        places
    }

    /// Puts every file into its directory.
    fn link_files(&mut self, places: &FxHashMap<u64, u32>) {
        let mut last = None;
        let lost = self.files.extract_if(.., |file| {
            // Neighbors often lie in one directory.
            let place = match last {
                Some((ino, place)) if ino == file.parent => Some(place),
                _ => places.get(&file.parent).map(|&place| u64::from(place)),
            };
            last = place.map(|place| (file.parent, place));
            file.parent = place.unwrap_or(0);
            place.is_none()
        });
        self.outside.extend(lost.map(|file| file.what));
        self.files.sort_unstable_by(|a, b| {
            let parents = a.parent.cmp(&b.parent);
            parents.then_with(|| self.names.order(a.key, b.key))
        });
        let mut at = 0;
        for siblings in self.files.chunk_by(|a, b| a.parent == b.parent) {
            self.directories[siblings[0].parent as usize].files = at..at + siblings.len();
            at += siblings.len();
        }
    }
}

/// A directory that a walk is in: what is left of it.
struct Open {
    ino: u64,
    children: Range<usize>,
    files: Range<usize>,
}

enum Next {
    Directory(u32),
    File(usize, u64),
    End,
}

/// The names of a layout, one behind the other, each after its length.
///
/// A key is where a name starts, with the highest bit set; without a name it is the inode number.
#[derive(Debug, Default)]
struct Names(Vec<u8>);

impl Names {
    const NAMED: u64 = 1 << 63;

    fn key(&mut self, file: &FileView<'_>) -> u64 {
        let Some(name) = file.name() else {
            return file.ino & !Self::NAMED;
        };
        // What is no escape stands for itself.
        let bytes = if name.contains('\\') {
            unescape(name).map_or(Cow::Borrowed(name.as_bytes()), |bytes| {
                Cow::Owned(bytes.into())
            })
        } else {
            Cow::Borrowed(name.as_bytes())
        };
        let start = self.0.len() as u64;
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(&bytes[..length as usize]);
        start | Self::NAMED
    }

    fn name(&self, key: u64) -> Option<&[u8]> {
        let start = key.checked_sub(Self::NAMED)? as usize;
        let (length, rest) = self.0.get(start..)?.split_first_chunk()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }

    /// Directory order. Entries without a name come first.
    #[inline]
    fn order(&self, a: u64, b: u64) -> Ordering {
        if a & b & Self::NAMED != 0 {
            return self.name(a).cmp(&self.name(b)).then(a.cmp(&b));
        }
        a.cmp(&b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_in_memory::LayoutInMemory;
    use crate::snapshot::{Inode, SnapshotInfo};

    fn layout(inodes: &[(u64, char, u64, &str)]) -> LayoutInMemory {
        let inodes = inodes.iter().map(|&(ino, kind, parent, path)| {
            let kind = FileKind::from_letter(&kind.to_string()).unwrap();
            Inode {
                parent_ino: (parent > 0).then_some(parent),
                path: (!path.is_empty()).then(|| path.into()),
                ..Inode::new(ino, None, kind, 0)
            }
        });
        LayoutInMemory {
            geometry: SnapshotInfo::default().geometry(),
            space: None,
            inodes: inodes.collect(),
            names: Vec::new(),
            free: None,
        }
    }

    /// Inodes in walk order; directories as negative numbers.
    fn walked(tree: &TreeOrder<u64>) -> Vec<i64> {
        let mut met = Vec::new();
        tree.walk(|step| match step {
            Step::Directory { ino, .. } => met.push(-(ino as i64)),
            Step::File { what, .. } => met.push(*what as i64),
        });
        met
    }

    fn tree(inodes: &[(u64, char, u64, &str)]) -> TreeOrder<u64> {
        TreeOrder::of(&layout(inodes), |file| Some(file.ino))
    }

    /// The order of `LC_ALL=C find . | LC_ALL=C sort`, but for `b-`, which sorts before `b/` only there.
    #[test]
    fn entries_go_by_name_and_directories_depth_first() {
        let tree = tree(&[
            (2, 'd', 2, "."),
            (3, 'f', 2, "c"),
            (4, 'd', 2, "b"),
            (5, 'f', 4, "b/z"),
            (6, 'd', 4, "b/a"),
            (7, 'f', 6, "b/a/y"),
            (8, 'f', 2, "\\x01first"),
            (9, 'l', 2, "b-"),
            (10, 'f', 2, "B"),
        ]);
        assert_eq!(walked(&tree), [-2, 8, 10, -4, -6, 7, 5, 9, 3]);
        let directories: Vec<Vec<u64>> = tree
            .by_directory()
            .map(|files| files.copied().collect())
            .collect();
        assert_eq!(directories, [vec![8, 10, 9, 3], vec![5], vec![7]]);
        assert!(tree.outside().is_empty());
        let mut names = Vec::new();
        tree.walk(|step| {
            if let Step::File { name, .. } = step {
                names.push(name.unwrap().to_vec());
            }
        });
        assert_eq!(names[0], b"\x01first");
    }

    #[test]
    fn without_names_inode_numbers_order_a_directory() {
        let tree = tree(&[
            (2, 'd', 0, ""),
            (9, 'd', 2, ""),
            (7, 'f', 2, ""),
            (11, 'f', 2, ""),
            (3, 'f', 9, ""),
        ]);
        assert_eq!(walked(&tree), [-2, 7, -9, 3, 11]);
    }

    /// A snapshot may say anything: 5 and 6 lie in each other, 8 in a directory that is not there.
    #[test]
    fn what_no_walk_meets_is_listed() {
        let tree = tree(&[
            (2, 'd', 2, ""),
            (5, 'd', 6, ""),
            (6, 'd', 5, ""),
            (7, 'f', 6, ""),
            (8, 'f', 99, ""),
            (9, 'f', 0, ""),
            (10, 'd', 98, ""),
            (11, 'f', 10, ""),
        ]);
        assert_eq!(walked(&tree), [-2, -10, 11]);
        assert_eq!(tree.outside(), [9, 7, 8]);
        assert_eq!(tree.directories_outside(), [5, 6]);
    }
}
