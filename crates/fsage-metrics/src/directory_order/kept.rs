//! Directory order that is kept as files change.
//!
//! Every directory has its files in order and the way through all that lies below it; a file that comes or goes changes
//! its two neighbors, and the ways up to the root. What came and went is sorted by directory first, so that each of
//! them is fetched into the processor's cache once. The order is that of names, or of inode numbers where there are
//! none. What has no place in one tree is left to the measurement of the whole layout, and so is a layout of which some
//! entries have names and others do not.

use super::median::Median;
use super::sequence::{Entry, Sequence, Way};
use super::{DirectoryOrder, Ends, step};
use crate::LayoutScore;
use crate::sign::Sign;
use fsage_core::names::unescape;
use fsage_core::{FileKind, FileView, Geometry};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Directory order of a layout with names, or without.
#[derive(Clone, Debug)]
pub(crate) enum KeptOrder {
    ByInode(Tree<u64>),
    ByName(Tree<Name>),
}

impl KeptOrder {
    /// Nothing counted so far.
    pub fn new(has_names: bool) -> KeptOrder {
        if has_names {
            KeptOrder::ByName(Tree::default())
        } else {
            KeptOrder::ByInode(Tree::default())
        }
    }

    /// Counts an inode, or takes back what it counted.
    pub fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
        match self {
            KeptOrder::ByInode(tree) => tree.count(file, geometry, sign),
            KeptOrder::ByName(tree) => tree.count(file, geometry, sign),
        }
    }

    /// As [`DirectoryOrder::of`], where `within` is the score of all files; `None` if not everything lies in one tree.
    pub fn measure(&mut self, within: LayoutScore, geometry: &Geometry) -> Option<DirectoryOrder> {
        match self {
            KeptOrder::ByInode(tree) => tree.measure(within, geometry),
            KeptOrder::ByName(tree) => tree.measure(within, geometry),
        }
    }
}

/// Most files that wait to be put into their directories: 10 MB of them where there are no names.
const MOST_WAITING: usize = 1 << 18;

/// By what the entries of a directory are ordered.
pub(crate) trait Key: Ord + Clone {
    /// That of an entry; `None` if it is ordered by something else.
    fn of(file: &FileView<'_>) -> Option<Self>;
}

impl Key for u64 {
    fn of(file: &FileView<'_>) -> Option<u64> {
        file.path.is_none().then_some(file.ino)
    }
}

/// A name as bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(Box<[u8]>);

impl Key for Name {
    fn of(file: &FileView<'_>) -> Option<Name> {
        let name = file.name()?;
        // What is no escape stands for itself.
        let bytes = name.contains('\\').then(|| unescape(name)).flatten();
        Some(Name(bytes.unwrap_or_else(|| name.as_bytes().into())))
    }
}

/// The tree, as far as it matters for the order of files with data.
#[derive(Clone, Debug)]
pub(crate) struct Tree<K> {
    directories: Vec<Directory<K>>,
    unused: Vec<u32>,
    by_ino: FxHashMap<u64, u32>,
    /// Files that came and went, and are not yet in their directories, in this order.
    waiting: Vec<Waiting<K>>,
    /// Neighbors often lie in one directory.
    last: Option<(u64, u32)>,
    /// Files that lie in no directory, and entries that are ordered by something else.
    elsewhere: u64,
    roots: Vec<u32>,
    /// Directories that were named, or lost their inode.
    doubtful: Vec<u32>,
    adjacent: LayoutScore,
    in_main_group: LayoutScore,
    distances: Median,
}

#[derive(Clone, Debug)]
struct Waiting<K> {
    parent_ino: u64,
    file: Entry<K>,
    sign: Sign,
}

#[derive(Clone, Debug)]
struct Directory<K> {
    ino: u64,
    /// There is such a directory: else something only names it.
    is_there: bool,
    parent: Option<u32>,
    /// Directories in order.
    children: BTreeMap<K, u32>,
    files: Sequence<K>,
    /// Files by the group they begin in, and how many begin in the one with most of them.
    groups: FxHashMap<u64, u64>,
    in_main_group: u64,
    /// The way through all below it; to be gone anew if it is changed, as all above it then are.
    way: Way,
    is_changed: bool,
}

impl<K> Default for Tree<K> {
    fn default() -> Tree<K> {
        Tree {
            directories: Vec::new(),
            unused: Vec::new(),
            by_ino: FxHashMap::default(),
            waiting: Vec::new(),
            last: None,
            elsewhere: 0,
            roots: Vec::new(),
            doubtful: Vec::new(),
            adjacent: LayoutScore::default(),
            in_main_group: LayoutScore::default(),
            distances: Median::default(),
        }
    }
}

impl<K> Default for Directory<K> {
    fn default() -> Directory<K> {
        Directory {
            ino: 0,
            is_there: false,
            parent: None,
            children: BTreeMap::new(),
            files: Sequence::default(),
            groups: FxHashMap::default(),
            in_main_group: 0,
            way: Way::default(),
            is_changed: false,
        }
    }
}

impl<K: Key> Tree<K> {
    /// Counts an inode, or takes back what it counted.
    pub fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
        match file.kind {
            FileKind::Directory => self.count_directory(file, sign),
            FileKind::Regular => {
                if let Some(ends) = Ends::of(file, geometry) {
                    self.count_file(file, ends, geometry, sign);
                }
            }
            _ => {}
        }
    }

    fn count_directory(&mut self, file: &FileView<'_>, sign: Sign) {
        let at = self.directory(file.ino);
        let parent = file.parent_ino.filter(|&parent| parent != file.ino);
        let key = parent.and_then(|_| K::of(file));
        if parent.is_some() && key.is_none() {
            sign.apply(&mut self.elsewhere, 1);
        }
        let parent = parent.map(|parent| self.directory(parent));
        let directory = &mut self.directories[at as usize];
        directory.is_there = sign == Sign::Add;
        directory.parent = parent.filter(|_| sign == Sign::Add);
        match (parent, sign) {
            (Some(parent), _) => {
                let children = &mut self.directories[parent as usize].children;
                match (key, sign) {
                    (Some(key), Sign::Add) => drop(children.insert(key, at)),
                    (Some(key), Sign::TakeBack) => drop(children.remove(&key)),
                    (None, _) => {}
                }
            }
            (None, Sign::Add) => self.roots.push(at),
            (None, Sign::TakeBack) => self.roots.retain(|&root| root != at),
        }
        self.change(at);
        if let Some(parent) = parent {
            self.change(parent);
        }
        self.doubtful.push(at);
    }

    fn count_file(&mut self, file: &FileView<'_>, ends: Ends, geometry: &Geometry, sign: Sign) {
        let Some((parent_ino, key)) = file.parent_ino.zip(K::of(file)) else {
            return sign.apply(&mut self.elsewhere, 1);
        };
        self.waiting.push(Waiting {
            parent_ino,
            file: Entry { key, ends },
            sign,
        });
        if self.waiting.len() == MOST_WAITING {
            self.place_waiting(geometry);
        }
    }

    /// Puts files into their directories and takes them out, directory by directory.
    fn place_waiting(&mut self, geometry: &Geometry) {
        let mut waiting = std::mem::take(&mut self.waiting);
        // One name may have gone and come again: the sort is stable.
        waiting.sort_by(|a, b| {
            let parents = a.parent_ino.cmp(&b.parent_ino);
            parents.then_with(|| a.file.key.cmp(&b.file.key))
        });
        for Waiting {
            parent_ino,
            file,
            sign,
        } in waiting.drain(..)
        {
            self.place(parent_ino, file, geometry, sign);
        }
        self.waiting = waiting;
    }

    fn place(&mut self, parent_ino: u64, file: Entry<K>, geometry: &Geometry, sign: Sign) {
        let at = self.directory(parent_ino);
        let directory = &mut self.directories[at as usize];
        let ends = file.ends;
        let (before, after) = match sign {
            Sign::Add => directory.files.insert(file),
            Sign::TakeBack => directory.files.remove(&file.key).unwrap_or_default(),
        };
        if let Some(group) = geometry.group_of_address(ends.start) {
            let files = directory.groups.entry(group).or_default();
            sign.apply(files, 1);
            if *files == 0 {
                directory.groups.remove(&group);
            }
            sign.apply(&mut self.in_main_group.scored, 1);
        }
        let back = match sign {
            Sign::Add => Sign::TakeBack,
            Sign::TakeBack => Sign::Add,
        };
        self.count_pair(before, after, back);
        self.count_pair(before, Some(ends), sign);
        self.count_pair(Some(ends), after, sign);
        self.change(at);
    }

    /// Counts that one file of a directory follows another.
    fn count_pair(&mut self, before: Option<Ends>, after: Option<Ends>, sign: Sign) {
        let (Some(before), Some(after)) = (before, after) else {
            return;
        };
        self.adjacent.count(step(before.end == after.start), sign);
        let distance = after.start.abs_diff(before.end);
        match sign {
            Sign::Add => self.distances.add(distance),
            Sign::TakeBack => self.distances.take_back(distance),
        }
    }

    /// The place of a directory, which is made if there is none.
    fn directory(&mut self, ino: u64) -> u32 {
        if let Some((_, at)) = self.last.filter(|&(last, _)| last == ino) {
            return at;
        }
        let at = match self.by_ino.get(&ino) {
            Some(&at) => at,
            None => self.new_directory(ino),
        };
        self.last = Some((ino, at));
        at
    }

    fn new_directory(&mut self, ino: u64) -> u32 {
        let at = self.unused.pop().unwrap_or_else(|| {
            self.directories.push(Directory::default());
            self.directories.len() as u32 - 1
        });
        self.directories[at as usize].ino = ino;
        self.by_ino.insert(ino, at);
        self.doubtful.push(at);
        at
    }

    /// The ways of a directory and of all above it are to be gone anew.
    fn change(&mut self, at: u32) {
        let mut next = Some(at);
        while let Some(at) = next {
            let directory = &mut self.directories[at as usize];
            next = directory.parent.filter(|_| !directory.is_changed);
            directory.is_changed = true;
        }
    }

    /// As [`DirectoryOrder::of`], where `within` is the score of all files; `None` if not everything lies in one tree.
    pub fn measure(&mut self, within: LayoutScore, geometry: &Geometry) -> Option<DirectoryOrder> {
        self.place_waiting(geometry);
        self.forget_what_is_gone();
        if self.elsewhere > 0 || !self.doubtful.is_empty() || self.roots.len() > 1 {
            return None;
        }
        let way = match self.roots.first() {
            Some(&root) => self.way(root),
            None => Way::default(),
        };
        let mut dynamic = within;
        dynamic.optimal += way.adjacent;
        dynamic.scored += way.files.saturating_sub(1);
        let directories = &self.directories;
        let median = self.distances.get(|| {
            let pairs = directories.iter().flat_map(|d| d.files.pairs());
            pairs.map(|(before, after)| after.start.abs_diff(before.end))
        });
        Some(DirectoryOrder {
            adjacent: self.adjacent,
            dynamic,
            in_main_group: (geometry.group_bytes > 0).then_some(self.in_main_group),
            next_file_bytes: median,
        })
    }

    /// Directories that are gone stay doubtful while something lies in them, and those whose parent is gone.
    fn forget_what_is_gone(&mut self) {
        let mut doubtful = std::mem::take(&mut self.doubtful);
        doubtful.sort_unstable();
        doubtful.dedup();
        doubtful.retain(|&at| {
            let directory = &self.directories[at as usize];
            let is_empty = directory.files.is_empty() && directory.children.is_empty();
            if directory.is_there || !is_empty {
                return !directory.is_there;
            }
            self.in_main_group.optimal -= directory.in_main_group;
            self.by_ino.remove(&directory.ino);
            self.directories[at as usize] = Directory::default();
            self.unused.push(at);
            self.last = None;
            false
        });
        self.doubtful = doubtful;
    }

    /// The way through all below a directory: of what has not changed it is known.
    fn way(&mut self, root: u32) -> Way {
        let mut changed = vec![root];
        let mut i = 0;
        while i < changed.len() {
            let directory = &self.directories[changed[i] as usize];
            if directory.is_changed {
                let children = directory.children.values().copied();
                changed.extend(children.filter(|&at| self.directories[at as usize].is_changed));
            }
            i += 1;
        }
        for &at in changed.iter().rev() {
            if !self.directories[at as usize].is_changed {
                continue;
            }
            let mut files = std::mem::take(&mut self.directories[at as usize].files);
            let directory = &self.directories[at as usize];
            let children = directory.children.iter();
            let way =
                files.way(children.map(|(key, &at)| (key, self.directories[at as usize].way)));
            let directory = &mut self.directories[at as usize];
            directory.files = files;
            directory.way = way;
            directory.is_changed = false;
            let most = directory.groups.values().copied().max().unwrap_or(0);
            self.in_main_group.optimal += most;
            self.in_main_group.optimal -= std::mem::replace(&mut directory.in_main_group, most);
        }
        self.directories[root as usize].way
    }
}
