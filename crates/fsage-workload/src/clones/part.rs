//! The part of a workload that the last copy makes: some directories of the root with all that is made in them.

use super::{Clones, ClonesError};
use crate::world::{Kind, World};
use fsage_core::{DirId, Event, EventSource, FileId, Op, Rng};
use rustc_hash::FxHashSet;

/// What is made, and the state that tells to what a file belongs.
pub(super) struct Part {
    /// Of the files right in the root, and of each directory ever made in it, in order.
    chosen: Vec<bool>,
    world: World,
    /// Directories that were moved out, by their place: they lie in the root.
    kept: FxHashSet<usize>,
    /// What an event leads to besides its first operation.
    second: Option<Event>,
    border_moves: u64,
}

impl Part {
    /// Chooses by reading the workload to its end; groups without reading.
    pub fn choose(
        clones: &Clones,
        groups: Option<u64>,
        source: &mut dyn EventSource,
    ) -> Result<Part, ClonesError> {
        let weights = match groups {
            Some(groups) => vec![1; groups as usize],
            None => bytes_at_the_end(source)?,
        };
        let mut order: Vec<usize> = (0..weights.len()).collect();
        let mut rng = Rng::new(clones.seed).stream("clone part", 0);
        rng.shuffle(&mut order);
        let goal = weights.iter().sum::<u128>() as f64 * clones.last_share;
        let mut chosen = vec![false; weights.len()];
        let mut taken = 0.0;
        for unit in order {
            let more = taken + weights[unit] as f64;
            // A group there must be.
            if (more - goal).abs() < (taken - goal).abs() || (groups.is_some() && taken == 0.0) {
                taken = more;
                chosen[unit] = true;
            }
        }
        Ok(Part {
            chosen,
            world: World::new(1),
            kept: FxHashSet::default(),
            second: None,
            border_moves: 0,
        })
    }

    /// How many were chosen.
    pub fn units(&self) -> usize {
        self.chosen.iter().filter(|chosen| **chosen).count()
    }

    /// How many before this one were chosen.
    pub fn position(&self, unit: u64) -> u64 {
        let before = self.chosen.iter().take(unit as usize);
        before.filter(|chosen| **chosen).count() as u64
    }

    pub fn border_moves(&self) -> u64 {
        self.border_moves
    }

    /// What the last event leads to besides its first operation.
    pub fn take_second(&mut self) -> Option<Event> {
        self.second.take()
    }

    fn is_chosen(&self, dir: usize) -> bool {
        let unit = self.world.dirs[dir].unit;
        self.chosen.get(unit).copied().unwrap_or(false)
    }

    /// Whether the file lies in what is chosen.
    fn has(&self, file: FileId) -> bool {
        let name = self.world.name(file);
        name.is_some_and(|name| self.is_chosen(name.dir))
    }

    fn has_dir(&self, dir: DirId) -> bool {
        self.world.dir(dir).is_some_and(|at| self.is_chosen(at))
    }

    /// The event, or what is to be done in its place. What does not fit the state is left out.
    pub fn keep(&mut self, event: Event) -> Option<Event> {
        let (before, op) = (self.side(&event.op), event.op);
        let had = self.file_of(&op);
        if !self.world.apply(&op) {
            return None;
        }
        match op {
            Op::Mkdir { dir, .. } => self.has_dir(dir).then_some(event),
            Op::RenameDir { dir, parent } => self.keep_renamedir(event, dir, parent),
            // A name that is moved over itself stays where it is.
            Op::Rename {
                file,
                dir,
                replaced: Some(replaced),
            } if replaced == file => (before && self.has_dir(dir)).then_some(event),
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                let after = self.has_dir(dir);
                self.border_moves += u64::from(before != after);
                match (before, after) {
                    (true, true) => Some(event),
                    (true, false) => Some(in_place_of(event, Op::Delete { file })),
                    (false, true) => {
                        let made = in_place_of(event, made(file, dir, had)?);
                        match replaced {
                            None => Some(made),
                            Some(replaced) => {
                                let mut first = made.clone();
                                first.op = Op::Delete { file: replaced };
                                first.name = None;
                                self.second = Some(made);
                                Some(first)
                            }
                        }
                    }
                    (false, false) => None,
                }
            }
            Op::Link {
                file,
                existing,
                dir,
            } if self.has_dir(dir) => {
                if self.has(existing) {
                    return Some(event);
                }
                self.border_moves += 1;
                Some(in_place_of(event, made(file, dir, had)?))
            }
            Op::Overwrite {
                file,
                range: Some((offset, bytes)),
            } if before && matches!(had, Some((Kind::Shared(_), _))) => {
                // Another name may have made it longer on the other side of the border.
                let op = Op::Write {
                    file,
                    offset,
                    bytes,
                };
                Some(in_place_of(event, op))
            }
            _ => before.then_some(event),
        }
    }

    /// Whether what the operation works on is chosen, before it is done.
    fn side(&self, op: &Op) -> bool {
        match *op {
            Op::Rmdir { dir }
            | Op::RenameDir { dir, .. }
            | Op::Create { dir, .. }
            | Op::Symlink { dir, .. } => self.has_dir(dir),
            Op::Mkdir { .. } | Op::Link { .. } => false,
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Punch { file, .. }
            | Op::Delete { file }
            | Op::Rename { file, .. }
            | Op::Read { file, .. }
            | Op::Fsync { file } => self.has(file),
            Op::Sync
            | Op::Remount
            | Op::Day
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => true,
        }
    }

    /// Kind and size of the file that the operation moves, links or overwrites.
    fn file_of(&self, op: &Op) -> Option<(Kind, u64)> {
        let (Op::Rename { file, .. }
        | Op::Link { existing: file, .. }
        | Op::Overwrite { file, .. }) = *op
        else {
            return None;
        };
        let name = self.world.name(file)?;
        Some((name.kind, self.world.size(name)))
    }

    fn keep_renamedir(&mut self, event: Event, dir: DirId, parent: DirId) -> Option<Event> {
        let (at, above) = (self.world.dir(dir)?, self.world.dir(parent)?);
        let is_there = above == 0 || self.is_chosen(above);
        if !self.is_chosen(at) {
            self.border_moves += u64::from(above != 0 && is_there);
            return None;
        }
        if is_there {
            self.kept.remove(&at);
            return Some(event);
        }
        if !self.kept.insert(at) {
            return None;
        }
        self.border_moves += 1;
        let parent = DirId::ROOT;
        let event = in_place_of(event, Op::RenameDir { dir, parent });
        Some(event.named(format!(".kept-{dir}").as_bytes()))
    }
}

/// The event with another operation; a deletion has no name.
fn in_place_of(mut event: Event, op: Op) -> Event {
    if matches!(op, Op::Delete { .. }) {
        event.name = None;
    }
    event.op = op;
    event
}

/// Makes a file as it is.
fn made(file: FileId, dir: DirId, had: Option<(Kind, u64)>) -> Option<Op> {
    let (kind, bytes) = had?;
    Some(match kind {
        Kind::Symlink => Op::Symlink { file, dir, bytes },
        Kind::Regular | Kind::Shared(_) => Op::Create { file, dir, bytes },
    })
}

/// Bytes of the files right in the root, and in what was made in each directory of it.
fn bytes_at_the_end(source: &mut dyn EventSource) -> Result<Vec<u128>, ClonesError> {
    let mut world = World::new(1);
    while let Some(event) = source.next_event().map_err(ClonesError::Source)? {
        world.apply(&event.op);
    }
    let mut bytes = vec![0; world.units() + 1];
    for dir in &world.dirs {
        bytes[dir.unit] += dir.files.bytes() + dir.symlinks.bytes();
    }
    if bytes.iter().all(|bytes| *bytes == 0) {
        bytes.fill(1);
    }
    Ok(bytes)
}
