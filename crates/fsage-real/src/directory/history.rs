//! The names that entries of a tree had since it was last known to be on disk, or may have got after the journal's
//! count.
//!
//! A power failure takes some of the last changes back and leaves others, and not always in their order. Whatever it
//! leaves, an entry of a directory is one that this directory had at some time since the last sync. So names are kept
//! by the directory they are in, which is known by its number and not by its path: a path goes through directories that
//! may have moved, or not.

use super::compare::{Wanted, join, split};
use super::expected::Expected;
use super::fault::Kind;
use super::naming::{self, NameBuffer};
use super::replay::Directory;
use fsage_core::{DirId, Event, FileId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A directory by its number; `None` is the root.
pub type DirKey = Option<DirId>;

/// A name in a directory.
pub type Place = (DirKey, Vec<u8>);

/// Begins the name that a directory has in the root while others are put back; its number follows.
const ASIDE: &[u8] = b".fsage-repair-";

/// What a name stood for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A directory.
    Directory(DirId),
    /// A regular file or a symbolic link.
    File(FileId),
}

/// What a replay may have left in its tree, and where.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What each name stood for, in the order of events. One that was made anew stands there twice.
    occupants: FxHashMap<DirKey, BTreeMap<Vec<u8>, Vec<Occupant>>>,
    /// Where directories and files were, in the order of events.
    directories: FxHashMap<DirId, Vec<Place>>,
    files: FxHashMap<FileId, Vec<Place>>,
    /// Files of `files`, in the order in which they came there.
    file_order: Vec<FileId>,
    /// Where every directory should be, and back.
    paths: FxHashMap<DirId, Arc<[u8]>>,
    ids: FxHashMap<Arc<[u8]>, DirId>,
    /// Where files of `files` should be.
    file_paths: FxHashMap<FileId, Vec<u8>>,
}

impl History {
    /// An entry had this name, or may have it.
    pub fn had(&mut self, place: Place, occupant: Occupant) {
        let occupants = self.occupants_mut(&place);
        if !occupants.contains(&occupant) {
            occupants.push(occupant);
            self.was_at(place, occupant);
        }
    }

    /// A directory should be at this path.
    pub fn directory_belongs_at(&mut self, dir: DirId, path: &[u8]) {
        let path: Arc<[u8]> = path.into();
        self.paths.insert(dir, Arc::clone(&path));
        self.ids.insert(path, dir);
    }

    /// A file that has a history should be at this path.
    pub fn file_belongs_at(&mut self, file: FileId, path: &[u8]) {
        self.file_paths.insert(file, path.to_vec());
    }

    /// Follows an event that the tables of the replay follow next, or one behind those that they follow. If `plain`, it
    /// is known that it did what it says.
    pub(crate) fn note(&mut self, event: &Event, directory: &Directory, plain: bool) {
        match event.op {
            Op::Mkdir { dir, parent } => {
                let parent = parent.unwrap_or(DirId::ROOT);
                self.is_made(event, parent, Occupant::Directory(dir));
            }
            // It is where it should be, or what takes it away will say where it was; and its data is read.
            Op::Create { .. } | Op::Symlink { .. } if plain => {}
            Op::Create { file, dir, .. }
            | Op::Symlink { file, dir, .. }
            | Op::Link { file, dir, .. } => self.is_made(event, dir, Occupant::File(file)),
            Op::Delete { file } => self.is_there(directory, Occupant::File(file)),
            Op::Rmdir { dir } => self.is_there(directory, Occupant::Directory(dir)),
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                self.is_there(directory, Occupant::File(file));
                self.may_get(event, dir, Occupant::File(file));
                if let Some(replaced) = replaced {
                    self.is_there(directory, Occupant::File(replaced));
                    // It takes over the name of what it replaces.
                    let places = self.files.get(&replaced).cloned().unwrap_or_default();
                    for place in places
                        .into_iter()
                        .filter(|at| keys(dir).any(|key| key == at.0))
                    {
                        self.had(place, Occupant::File(file));
                    }
                }
            }
            Op::RenameDir { dir, parent } => {
                self.is_there(directory, Occupant::Directory(dir));
                self.may_get(event, parent, Occupant::Directory(dir));
            }
            _ => {}
        }
    }

    /// Takes over from the tables where everything should be.
    pub(crate) fn settle(&mut self, directory: &Directory) {
        for (dir, path) in directory.directories() {
            self.directory_belongs_at(dir, &path);
        }
        for &file in &self.file_order {
            if let Some(path) = directory.path_of_file(file) {
                self.file_paths.insert(file, path);
            }
        }
    }

    /// An entry is where the tables have it.
    fn is_there(&mut self, directory: &Directory, occupant: Occupant) {
        let place = match occupant {
            Occupant::Directory(dir) => directory.place_of_dir(dir),
            Occupant::File(file) => directory.place_of_file(file),
        };
        if let Some((dir, name)) = place {
            for key in keys(dir) {
                self.had((key, name.clone()), occupant);
            }
        }
    }

    /// An entry gets the name that an event says, or its other one.
    fn may_get(&mut self, event: &Event, dir: DirId, occupant: Occupant) {
        let (letter, id) = match occupant {
            Occupant::Directory(dir) => (b'd', dir.0),
            Occupant::File(file) => (b'f', file.0),
        };
        let mut buffer = NameBuffer::new();
        let name = buffer.name(event.name.as_deref(), letter, id);
        for key in keys(dir) {
            self.had((key, name.to_vec()), occupant);
            let other = naming::other(name, letter, id).into();
            self.had((key, other), occupant);
        }
    }

    fn is_made(&mut self, event: &Event, dir: DirId, occupant: Occupant) {
        let known = match occupant {
            Occupant::Directory(dir) => self.directories.get(&dir),
            Occupant::File(file) => self.files.get(&file),
        };
        // Another one of the same number: what is found may be either.
        for place in known.cloned().unwrap_or_default() {
            self.occupants_mut(&place).push(occupant);
        }
        self.may_get(event, dir, occupant);
    }

    fn was_at(&mut self, place: Place, occupant: Occupant) {
        match occupant {
            Occupant::Directory(dir) => self.directories.entry(dir).or_default().push(place),
            Occupant::File(file) => {
                let places = self.files.entry(file).or_default();
                if places.is_empty() {
                    self.file_order.push(file);
                }
                places.push(place);
            }
        }
    }

    /// Whether an entry of this kind may have been left at a path.
    pub(super) fn explains(&self, wanted: &Wanted<'_>, path: &[u8], kind: Kind) -> bool {
        let (parent, name) = split(path);
        self.explains_in(wanted, &self.directories_at(parent), name, kind)
    }

    /// The same in a directory that may be any of several.
    pub(super) fn explains_in(
        &self,
        wanted: &Wanted<'_>,
        parents: &[DirKey],
        name: &[u8],
        kind: Kind,
    ) -> bool {
        match kind {
            Kind::Directory => parents.iter().any(|&p| !self.within(p, name).is_empty()),
            Kind::File | Kind::Symlink => parents.iter().any(|&parent| {
                let mut had = self.occupants_of(parent, name).iter();
                had.any(|o| matches!(o, Occupant::File(_)))
                    || self.path_of(parent).is_some_and(|path| {
                        let entry = wanted.entry(&join(path, name));
                        entry.is_some_and(|entry| wanted.kind(entry) == kind)
                    })
            }),
            Kind::Other => false,
        }
    }

    /// The directories that may be at a path.
    pub(super) fn directories_at(&self, path: &[u8]) -> Vec<DirKey> {
        let mut keys = vec![None];
        for name in path.split(|byte| *byte == b'/').filter(|n| !n.is_empty()) {
            let mut next: Vec<DirKey> = Vec::new();
            for key in keys {
                for dir in self.within(key, name) {
                    if !next.contains(&Some(dir)) {
                        next.push(Some(dir));
                    }
                }
            }
            keys = next;
        }
        keys
    }

    /// The directories that may have this name in another.
    pub(super) fn within(&self, parent: DirKey, name: &[u8]) -> Vec<DirId> {
        let had = self.occupants_of(parent, name).iter();
        let had = had.filter_map(|occupant| match occupant {
            Occupant::Directory(dir) => Some(*dir),
            Occupant::File(_) => None,
        });
        let path = self.path_of(parent).map(|path| join(path, name));
        let belongs = path.and_then(|path| self.id_of(&path));
        let aside = number_aside(name).filter(|_| parent.is_none());
        let mut dirs: Vec<DirId> = had.chain(belongs).chain(aside).collect();
        dirs.sort_unstable();
        dirs.dedup();
        dirs
    }

    fn occupants_of(&self, parent: DirKey, name: &[u8]) -> &[Occupant] {
        let names = self.occupants.get(&parent);
        let occupants = names.and_then(|names| names.get(name));
        occupants.map_or(&[], Vec::as_slice)
    }

    fn occupants_mut(&mut self, (parent, name): &Place) -> &mut Vec<Occupant> {
        let names = self.occupants.entry(*parent).or_default();
        names.entry(name.clone()).or_default()
    }

    /// Where a directory should be; `None` of one that should be nowhere.
    pub(super) fn path_of(&self, dir: DirKey) -> Option<&[u8]> {
        match dir {
            None => Some(b""),
            Some(dir) => self.paths.get(&dir).map(|path| &path[..]),
        }
    }

    /// The directory that should be at a path, and is not the root.
    pub(super) fn id_of(&self, path: &[u8]) -> Option<DirId> {
        self.ids.get(path).copied()
    }

    /// Directories that were made, moved or removed, with their names.
    pub(super) fn changed_directories(&self) -> impl Iterator<Item = (DirId, &[Place])> {
        let mut dirs: Vec<_> = self.directories.iter().collect();
        dirs.sort_unstable_by_key(|(dir, _)| **dir);
        dirs.into_iter().map(|(dir, places)| (*dir, &places[..]))
    }

    /// Whether a directory was made, moved or removed.
    pub(super) fn is_changed(&self, dir: DirId) -> bool {
        self.directories.contains_key(&dir)
    }

    /// Files that should be there and had several names one after the other: those names and where each belongs.
    pub(super) fn changed_files(&self) -> Vec<(&[Place], &[u8])> {
        let files = self.file_order.iter();
        let files = files.filter_map(|file| {
            let path = self.file_paths.get(file)?;
            Some((&self.files[file][..], &path[..]))
        });
        files.collect()
    }

    /// Inodes of files whose name, or that of a directory above, stood for something else as well: what is found there
    /// may be another file, which nobody has written to.
    pub(super) fn doubtful(&self, expected: &Expected) -> FxHashSet<u64> {
        let mut inodes = FxHashSet::default();
        let dirs = self.occupants.iter();
        let places = dirs.filter_map(|(parent, names)| Some((self.path_of(*parent)?, names)));
        let places = places.flat_map(|(path, names)| names.iter().map(move |name| (path, name)));
        for (path, (name, occupants)) in places {
            if occupants.len() < 2 {
                continue;
            }
            inodes.extend(expected.inodes_at(&join(path, name)));
        }
        inodes
    }
}

/// The name of a directory that is out of the way.
pub(super) fn aside(dir: DirId) -> Vec<u8> {
    [ASIDE, dir.0.to_string().as_bytes()].concat()
}

fn number_aside(name: &[u8]) -> Option<DirId> {
    let digits = str::from_utf8(name.strip_prefix(ASIDE)?).ok()?;
    digits.parse().ok().map(DirId)
}

/// The directories that a number may mean: that of the root is free for another directory.
fn keys(dir: DirId) -> impl Iterator<Item = DirKey> {
    let root = (dir == DirId::ROOT).then_some(None);
    root.into_iter().chain(std::iter::once(Some(dir)))
}
