//! Puts directories and files of a tree back to where they belong, as far as they are found where they were before or
//! may have gone since.
//!
//! What is left out here is removed and made again: right as well, but its blocks lie elsewhere then. So this takes no
//! risks. A directory that may be one of several is taken for one only if all that is in it could be there; everything
//! else stays where it is.

use super::compare::{Wanted, join, list, open_directory, split};
use super::fault::Kind;
use super::history::{DirKey, History, Place, aside};
use fsage_core::DirId;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{AtFlags, FileType, Mode, RenameFlags, mkdirat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::BorrowedFd;

/// What became of putting back.
#[derive(Clone, Debug, Default)]
pub struct PutBack {
    pub moved: u64,
    pub made: u64,
    pub removed: u64,
    /// Where files are now that may be others than they were taken for, or directories that hold such files.
    pub guessed: Vec<Vec<u8>>,
}

/// Where the directories are that changed.
pub struct Found<'a> {
    root: BorrowedFd<'a>,
    wanted: &'a Wanted<'a>,
    history: &'a History,
    places: FxHashMap<DirId, Place>,
    dirs: FxHashMap<Place, DirId>,
    /// Those that may be others.
    guessed: BTreeSet<DirId>,
}

impl<'a> Found<'a> {
    /// Looks for the directories that were made, moved or removed, in every place where they may be. Changes nothing.
    pub fn look(root: BorrowedFd<'a>, wanted: &'a Wanted<'a>, history: &'a History) -> Found<'a> {
        let mut found = Found {
            root,
            wanted,
            history,
            places: FxHashMap::default(),
            dirs: FxHashMap::default(),
            guessed: BTreeSet::new(),
        };
        let ways = ways(history);
        let mut pending: VecDeque<(DirKey, Vec<u8>)> = VecDeque::from([(None, Vec::new())]);
        while let Some((parent, path)) = pending.pop_front() {
            let Some(names) = ways.get(&parent) else {
                continue;
            };
            for name in names {
                let at = join(&path, name);
                if kind_at(root, &at) != Some(Kind::Directory) {
                    continue;
                }
                if let Some(dir) = found.identify(parent, name, &at) {
                    if history.is_changed(dir) {
                        let place = (parent, name.clone());
                        found.places.insert(dir, place.clone());
                        found.dirs.insert(place, dir);
                    }
                    pending.push_back((Some(dir), at));
                }
            }
        }
        found
    }

    /// Which directory this is, if that can be said.
    fn identify(&mut self, parent: DirKey, name: &[u8], at: &[u8]) -> Option<DirId> {
        let mut may_be = self.history.within(parent, name);
        let alone = may_be.len() == 1;
        may_be.retain(|dir| !self.places.contains_key(dir));
        if !alone {
            may_be.retain(|&dir| self.fits(dir, at));
        }
        // Rather the one that belongs here, or at least somewhere.
        let dir = may_be.into_iter().min_by_key(|&dir| {
            let belongs_at = self.belongs(dir);
            let here = belongs_at
                .as_ref()
                .is_some_and(|(p, n)| (*p, &n[..]) == (parent, name));
            (!here, belongs_at.is_none())
        })?;
        if !alone {
            self.guessed.insert(dir);
        }
        Some(dir)
    }

    /// Whether all that lies in a directory could, if it were this one.
    fn fits(&self, dir: DirId, at: &[u8]) -> bool {
        let mut pending = vec![(at.to_vec(), vec![Some(dir)])];
        while let Some((path, may_be)) = pending.pop() {
            let Ok(names) = open_directory(self.root, &path).and_then(|open| list(&open)) else {
                return false;
            };
            for name in names {
                let at = join(&path, &name);
                let Some(kind) = kind_at(self.root, &at) else {
                    return false;
                };
                if !self.history.explains_in(self.wanted, &may_be, &name, kind) {
                    return false;
                }
                if kind == Kind::Directory {
                    let below = may_be
                        .iter()
                        .flat_map(|&dir| self.history.within(dir, &name));
                    pending.push((at, below.map(Some).collect()));
                }
            }
        }
        true
    }

    /// Where a directory belongs; `None` if nowhere.
    fn belongs(&self, dir: DirId) -> Option<Place> {
        let (parent, name) = split(self.history.path_of(Some(dir))?);
        let parent = match parent {
            b"" => None,
            parent => Some(self.history.id_of(parent)?),
        };
        Some((parent, name.to_vec()))
    }

    /// Directories that are not where they belong.
    pub fn misplaced(&self) -> Vec<DirId> {
        let mut misplaced: Vec<DirId> = self
            .places
            .iter()
            .filter(|(dir, place)| self.belongs(**dir).is_some_and(|right| right != **place))
            .map(|(dir, _)| *dir)
            .collect();
        misplaced.sort_unstable();
        misplaced
    }

    /// Where a directory is now.
    fn path(&self, mut dir: DirKey) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        while let Some(id) = dir {
            let (parent, name) = if self.history.is_changed(id) {
                self.places.get(&id)?.clone()
            } else {
                self.belongs(id)?
            };
            names.push(name);
            dir = parent;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Moves directories to where they belong, from the root down. What is missing above them is made; what is in their
    /// way is moved out of it, or removed.
    pub fn put_back_directories(&mut self, done: &mut PutBack) {
        let mut targets: BTreeSet<(usize, Vec<u8>)> = BTreeSet::new();
        for dir in self.misplaced() {
            let path = self.history.path_of(Some(dir)).unwrap_or_default();
            let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            let above = slashes.map(|(at, _)| at);
            for (depth, end) in above.chain([path.len()]).enumerate() {
                targets.insert((depth, path[..end].to_vec()));
            }
        }
        let guessed = self.guessed.iter();
        let guessed = guessed.filter_map(|&dir| self.history.path_of(Some(dir)));
        done.guessed.extend(guessed.map(<[u8]>::to_vec));
        for (_, path) in targets {
            let dir = self.history.id_of(&path);
            if let Some(dir) = dir.filter(|&dir| self.history.is_changed(dir)) {
                // What cannot be moved is removed and made again.
                let _ = self.put_back(dir, &path, done);
            }
        }
    }

    fn put_back(&mut self, dir: DirId, path: &[u8], done: &mut PutBack) -> Result<(), Errno> {
        let Some(right) = self.belongs(dir) else {
            return Ok(());
        };
        if self.places.get(&dir) == Some(&right) {
            return Ok(());
        }
        if let Some(&other) = self.dirs.get(&right) {
            let name = aside(other);
            rename(self.root, path, &name)?;
            self.is_now(other, (None, name));
        } else if kind_at(self.root, path).is_some_and(|kind| kind != Kind::Directory) {
            let (parent, name) = split(path);
            unlinkat(open_directory(self.root, parent)?, name, AtFlags::empty())?;
            done.removed += 1;
        }
        if let Some(from) = self.path(Some(dir)) {
            rename(self.root, &from, path)?;
            done.moved += 1;
        } else {
            let (parent, name) = split(path);
            let mode = Mode::from_raw_mode(0o755);
            mkdirat(open_directory(self.root, parent)?, name, mode)?;
            done.made += 1;
        }
        self.is_now(dir, right);
        Ok(())
    }

    fn is_now(&mut self, dir: DirId, place: Place) {
        if let Some(before) = self.places.insert(dir, place.clone()) {
            self.dirs.remove(&before);
        }
        self.dirs.insert(place, dir);
    }

    /// Moves files to where they belong, where nothing is there.
    pub fn put_back_files(&self, done: &mut PutBack) {
        let files = self.history.changed_files();
        // Names that are passed on are free in one of the two orders.
        for (places, right) in files.iter().chain(files.iter().rev()) {
            if places.len() < 2 || kind_at(self.root, right).is_some() {
                continue;
            }
            // A number may have been a file's first, and a symbolic link's then.
            let kind = self
                .wanted
                .entry(right)
                .map(|entry| self.wanted.kind(entry));
            let paths = places.iter().rev().filter_map(|(dir, name)| {
                let path = join(&self.path(*dir)?, name);
                (path != *right).then_some(path)
            });
            for path in paths {
                if kind.is_some()
                    && kind_at(self.root, &path) == kind
                    && rename(self.root, &path, right).is_ok()
                {
                    done.moved += 1;
                    done.guessed.push(right.to_vec());
                    break;
                }
            }
        }
    }
}

/// The names to look at in each directory so as to meet all that changed.
fn ways(history: &History) -> BTreeMap<DirKey, BTreeSet<Vec<u8>>> {
    let mut ways: BTreeMap<DirKey, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut led_to: FxHashSet<DirId> = FxHashSet::default();
    for (dir, places) in history.changed_directories() {
        ways.entry(None).or_default().insert(aside(dir));
        for (parent, name) in places {
            ways.entry(*parent).or_default().insert(name.clone());
            // Directories that did not change are where they belong.
            let mut above = *parent;
            while let Some(dir) = above.filter(|&dir| !history.is_changed(dir)) {
                let Some(path) = history.path_of(Some(dir)).filter(|_| led_to.insert(dir)) else {
                    break;
                };
                let (parent, name) = split(path);
                above = history.id_of(parent);
                ways.entry(above).or_default().insert(name.to_vec());
            }
        }
    }
    ways
}

/// Moves an entry to where nothing is.
fn rename(root: BorrowedFd<'_>, from: &[u8], to: &[u8]) -> Result<(), Errno> {
    let (from, to) = (split(from), split(to));
    let (old, new) = (open_directory(root, from.0)?, open_directory(root, to.0)?);
    renameat_with(old, from.1, new, to.1, RenameFlags::NOREPLACE)
}

fn kind_at(root: BorrowedFd<'_>, path: &[u8]) -> Option<Kind> {
    let (parent, name) = split(path);
    let parent = open_directory(root, parent).ok()?;
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Kind::of(FileType::from_raw_mode(stat.st_mode)))
}
