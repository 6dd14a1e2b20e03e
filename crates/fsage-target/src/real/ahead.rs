//! What the next events of a workload would make and move: the names that a replay which was ahead of its journal may
//! have left.

use crate::directory::{Directory, Move};
use fsage_core::{DirId, Event, FileId, Op};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Levels of directories that are looked at.
const DEEPEST: usize = 1 << 16;

/// Directories that the tables do not know, or not where they are: parent and name.
type Places = FxHashMap<DirId, (DirId, Vec<u8>)>;

/// Follows events beyond the state of a directory, by names alone.
///
/// A name counts twice where directories move: as a path of its own moment, and as the path it has once the moves are
/// undone.
pub(super) struct Ahead<'a> {
    directory: &'a Directory,
    /// Directories that were made or moved, where they are.
    now: Places,
    /// Directories that were made, where they were made.
    undone: Places,
    /// Files that were made or moved.
    files: FxHashMap<FileId, Vec<u8>>,
    paths: BTreeSet<Vec<u8>>,
    moves: Vec<Move>,
}

impl<'a> Ahead<'a> {
    /// Starts from what the directory's tables say. `gone` are directories that were there not long ago.
    pub fn new(directory: &'a Directory, gone: &Places) -> Ahead<'a> {
        let gone = gone.iter();
        let gone = gone.filter(|&(&dir, _)| directory.path_of_dir(dir).is_none());
        let gone: Places = gone.map(|(&dir, place)| (dir, place.clone())).collect();
        Ahead {
            directory,
            now: gone.clone(),
            undone: gone,
            files: FxHashMap::default(),
            paths: BTreeSet::new(),
            moves: Vec::new(),
        }
    }

    /// A name that may be in a directory.
    pub fn name(&mut self, dir: DirId, name: &[u8]) {
        for places in [&self.now, &self.undone] {
            if let Some(dir) = self.path_of_dir(places, dir) {
                self.paths.insert(joined(&dir, name));
            }
        }
    }

    /// Follows an event as if it had succeeded.
    pub fn event(&mut self, event: &Event) {
        match event.op {
            Op::Mkdir { dir, parent } => {
                let name = name_of(event, 'd', dir.0);
                let parent = parent.unwrap_or(DirId::ROOT);
                self.makes(parent, &name, 'd', dir.0);
                self.undone.insert(dir, (parent, name.clone()));
                self.now.insert(dir, (parent, name));
            }
            Op::Create { file, dir, .. }
            | Op::Symlink { file, dir, .. }
            | Op::Link { file, dir, .. } => {
                let name = name_of(event, 'f', file.0);
                if let Some(path) = self.makes(dir, &name, 'f', file.0) {
                    self.files.insert(file, path);
                }
            }
            Op::Rename { file, dir, .. } => {
                let name = name_of(event, 'f', file.0);
                let before = self.path_of_file(file);
                if let (Some(belongs_at), Some(found_at)) =
                    (before, self.makes(dir, &name, 'f', file.0))
                {
                    self.files.insert(file, found_at.clone());
                    self.moves.push(Move {
                        found_at,
                        belongs_at,
                    });
                }
            }
            Op::RenameDir { dir, parent } => {
                let name = name_of(event, 'd', dir.0);
                let before = self.path_of_dir(&self.now, dir);
                if let (Some(belongs_at), Some(found_at)) =
                    (before, self.makes(parent, &name, 'd', dir.0))
                {
                    self.now.insert(dir, (parent, name));
                    self.moves.push(Move {
                        found_at,
                        belongs_at,
                    });
                }
            }
            _ => {}
        }
    }

    /// Every path that was made, and the moves, the last one first.
    pub fn finish(mut self) -> (BTreeSet<Vec<u8>>, Vec<Move>) {
        self.moves.reverse();
        (self.paths, self.moves)
    }

    /// A name is made, or its other form where the first was taken; gives the path.
    fn makes(&mut self, dir: DirId, name: &[u8], letter: char, id: u64) -> Option<Vec<u8>> {
        let other = [name, format!("~{letter}{id}").as_bytes()].concat();
        self.name(dir, &other);
        self.name(dir, name);
        let dir = self.path_of_dir(&self.now, dir)?;
        Some(joined(&dir, name))
    }

    fn path_of_file(&self, file: FileId) -> Option<Vec<u8>> {
        let known = self.files.get(&file).cloned();
        known.or_else(|| self.directory.path_of_file(file))
    }

    fn path_of_dir(&self, places: &Places, dir: DirId) -> Option<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut at = dir;
        // A workload that moves a directory into itself leads round in circles.
        while names.len() < DEEPEST {
            let above = places.get(&at).cloned();
            let Some((parent, name)) = above.or_else(|| self.directory.parent_of_dir(at)) else {
                let top = self.directory.path_of_dir(at)?;
                let names = names.iter().rev();
                return Some(names.fold(top, |path, name| joined(&path, name)));
            };
            names.push(name);
            at = parent;
        }
        None
    }
}

fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match dir {
        b"" => name.to_vec(),
        dir => [dir, b"/", name].concat(),
    }
}

fn name_of(event: &Event, letter: char, id: u64) -> Vec<u8> {
    match &event.name {
        Some(name) => name.to_vec(),
        None => format!("{letter}{id}").into_bytes(),
    }
}
