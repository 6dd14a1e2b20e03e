//! Writes the actions of an interval as operations, and keeps the names of a directory apart.
//!
//! Directories are made just before their first use and removed after their last entry has gone. A name that
//! is needed while another file still has it is freed first: by the deletion of that file, if it is due in this
//! interval, else by moving it aside.
//!
//! Here it is asked ahead of time what has to be done before an operation is possible, by names in text, which the
//! rules of [`fsage_core::operations`] do not know. What is written fits these by construction; tests replay it.

use super::actions::{Action, What};
use super::modify::Modification;
use super::nodes::{Name, Node, NodeId, Nodes};
use super::options::FromSnapshotsError;
use super::tree::{Place, Tree};
use fsage_core::short_lived::ProfileVerb;
use fsage_core::{DirId, Event, EventSink, FileId, FileKind, Op, Origin, TQuality};
use rustc_hash::{FxHashMap, FxHashSet};

/// Who has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupant {
    File(NodeId, FileId),
    ShortLived,
    Dir(DirId),
}

/// A directory that has been made.
#[derive(Clone, Debug)]
struct Dir {
    parent: DirId,
    name: Option<Box<[u8]>>,
    entries: u64,
}

/// Time, origin and quality of what is being written.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    t: i64,
    origin: Origin,
    quality: TQuality,
}

/// What is in the workload's file system: files are inodes that are not directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alive {
    pub files: u64,
    /// Sizes come from outside: their sum may not fit 64 bits.
    pub bytes: u128,
}

/// Things that were seen while writing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Names that were moved aside, to be free for another.
    pub moved_aside: u64,
    /// Directories that could not be moved where they were found.
    pub unmovable: u64,
    /// Files written shorter than they are, and stretched: sparse.
    pub sparse: u64,
}

/// The file system that the workload makes, name by name.
#[derive(Debug)]
pub(super) struct Emitter {
    dirs: FxHashMap<DirId, Dir>,
    names: FxHashMap<(DirId, Box<[u8]>), Occupant>,
    doomed: FxHashSet<DirId>,
    next_file: u64,
    aside: u64,
    pub alive: Alive,
    pub seen: Seen,
    /// Short-lived files that are there.
    short_lived: FxHashMap<FileId, Place>,
}

/// What belongs to one interval.
struct Due {
    actions: Vec<Option<Action>>,
    /// Deletions and moves by what they free.
    delete: FxHashMap<NodeId, usize>,
    unlink: FxHashMap<FileId, usize>,
    move_dir: FxHashMap<DirId, usize>,
    /// Directories that are to be made, with the place they get.
    make: FxHashMap<DirId, (NodeId, Place)>,
}

/// Everything that writing needs.
pub(super) struct Writing<'a> {
    pub emitter: &'a mut Emitter,
    pub nodes: &'a mut Nodes,
    pub tree: &'a mut Tree,
    pub sink: &'a mut dyn EventSink,
}

impl Emitter {
    pub fn new() -> Emitter {
        let root = Dir {
            parent: DirId::ROOT,
            name: None,
            entries: 0,
        };
        Emitter {
            dirs: FxHashMap::from_iter([(DirId::ROOT, root)]),
            names: FxHashMap::default(),
            doomed: FxHashSet::default(),
            next_file: 1,
            aside: 0,
            alive: Alive::default(),
            seen: Seen::default(),
            short_lived: FxHashMap::default(),
        }
    }

    /// A number for a new name.
    pub fn new_file(&mut self) -> FileId {
        self.next_file += 1;
        FileId(self.next_file - 1)
    }

    /// A directory is to be removed when it is empty.
    pub fn doom(&mut self, dir: DirId) {
        self.doomed.insert(dir);
    }

    /// Whether it is to be removed.
    pub fn is_doomed(&self, dir: DirId) -> bool {
        self.doomed.contains(&dir)
    }

    /// Whether it has been made.
    pub fn has_dir(&self, dir: DirId) -> bool {
        self.dirs.contains_key(&dir)
    }

    /// Where a directory is, as a name.
    pub fn place_of(&self, dir: DirId) -> Option<Name> {
        let dir = self.dirs.get(&dir)?;
        Some(Name {
            dir: dir.parent,
            bytes: dir.name.clone(),
            file: FileId(0),
        })
    }

    /// Directories with the most entries, fullest first.
    pub fn fullest(&self, count: usize) -> Vec<DirId> {
        let mut dirs: Vec<(u64, DirId)> = Vec::with_capacity(self.dirs.len());
        #[allow(clippy::iter_over_hash_type)] // Sorted below.
        for (id, dir) in &self.dirs {
            dirs.push((dir.entries, *id));
        }
        dirs.sort_unstable_by_key(|(entries, dir)| (std::cmp::Reverse(*entries), *dir));
        dirs.truncate(count);
        dirs.into_iter().map(|(_, dir)| dir).collect()
    }
}

type Done = Result<(), FromSnapshotsError>;

impl Writing<'_> {
    /// Makes the directories of the groups: the root is group 0.
    pub fn make_groups(&mut self, count: u64, t: i64) -> Done {
        for group in 1..count {
            let dir = DirId(group);
            self.emitter.dirs.insert(
                dir,
                Dir {
                    parent: DirId::ROOT,
                    name: None,
                    entries: 0,
                },
            );
            let op = Op::Mkdir { dir, parent: None };
            let stamp = Stamp {
                t,
                origin: Origin::Initial,
                quality: TQuality::Inferred,
            };
            self.put(stamp, Event::new(op))?;
        }
        Ok(())
    }

    /// Writes actions, which are in order.
    pub fn write(&mut self, actions: Vec<Action>) -> Done {
        let mut due = Due {
            delete: FxHashMap::default(),
            unlink: FxHashMap::default(),
            move_dir: FxHashMap::default(),
            make: FxHashMap::default(),
            actions: Vec::new(),
        };
        for (at, action) in actions.iter().enumerate() {
            match &action.what {
                What::Delete(node) => {
                    due.delete.insert(*node, at);
                }
                What::Unlink(_, file) => {
                    due.unlink.insert(*file, at);
                }
                What::MoveDir(node, _) => {
                    if let Some(dir) = self.nodes.get(*node).dir {
                        due.move_dir.insert(dir, at);
                    }
                }
                What::MakeDir(node) => {
                    let found = self.nodes.get(*node);
                    if let (Some(dir), Some(name)) = (found.dir, found.names.first()) {
                        let place = (name.dir, name.bytes.clone());
                        due.make.insert(dir, (*node, place));
                    }
                }
                _ => {}
            }
        }
        due.actions = actions.into_iter().map(Some).collect();
        for at in 0..due.actions.len() {
            self.act(&mut due, at)?;
        }
        Ok(())
    }

    /// Removes directories that are due and empty, and those that only their content had shown.
    pub fn sweep(&mut self, t: i64) -> Done {
        let stamp = Stamp {
            t,
            origin: Origin::SnapshotDelete,
            quality: TQuality::Inferred,
        };
        let derived: Vec<DirId> = self.tree.all_derived().collect();
        for dir in derived.into_iter().rev() {
            if self.emitter.dirs.get(&dir).is_some_and(|d| d.entries == 0) {
                self.emitter.doomed.insert(dir);
                self.remove_if_empty(dir, stamp)?;
            }
        }
        let mut doomed: Vec<DirId> = self.emitter.doomed.iter().copied().collect();
        doomed.sort_unstable();
        for dir in doomed {
            self.remove_if_empty(dir, stamp)?;
        }
        // What still has entries was no directory that went.
        self.emitter.doomed.clear();
        Ok(())
    }

    fn act(&mut self, due: &mut Due, at: usize) -> Done {
        let Some(action) = due.actions[at].take() else {
            return Ok(());
        };
        let stamp = Stamp {
            t: action.t,
            origin: action.origin,
            quality: action.quality,
        };
        match action.what {
            What::MakeDir(node) => match self.nodes.get(node).dir {
                Some(dir) => self.ensure_dir(due, dir, stamp),
                None => Ok(()),
            },
            What::MoveDir(node, place) => self.move_dir(due, node, place, stamp),
            What::Create(node, bytes) => self.create(due, node, bytes, stamp),
            What::Grow(node, bytes) => {
                self.nodes.get_mut(node).size_bytes += bytes;
                self.emitter.alive.bytes += u128::from(bytes);
                let file = self.file(node);
                self.put_of(node, stamp, Op::Append { file, bytes })
            }
            What::Modify(node, how) => self.modify(node, how, stamp),
            What::Empty(node) => self.resize(node, 0, stamp),
            What::Delete(node) => self.delete(node, stamp),
            What::Unlink(node, file) => self.unlink(node, file, stamp),
            What::Link(node, place) => self.link(due, node, place, stamp),
            What::Move(node, file, place) => self.move_file(due, node, file, place, stamp),
            What::ShortLived {
                verb,
                file,
                dir,
                bytes,
                profile,
            } => self.short_lived(due, verb, file, dir, bytes, profile, stamp),
        }
    }

    fn file(&self, node: NodeId) -> FileId {
        self.nodes.get(node).names[0].file
    }

    fn put(&mut self, stamp: Stamp, event: Event) -> Done {
        let event = event.at(stamp.t).from_source(stamp.origin, stamp.quality);
        self.sink.event(event).map_err(FromSnapshotsError::Sink)
    }

    /// An operation on a file, with what is known of its inode.
    fn put_of(&mut self, node: NodeId, stamp: Stamp, op: Op) -> Done {
        let event = self.event_of(node, op);
        self.put(stamp, event)
    }

    fn event_of(&self, node: NodeId, op: Op) -> Event {
        let inode = &self.nodes.get(node).inode;
        let mut event = Event::new(op);
        event.src_ino = Some(inode.ino);
        event.src_gen = inode.generation;
        event.hint_group = self.tree.group(inode.ino).map(|group| group as u32);
        if matches!(op, Op::Create { .. } | Op::Mkdir { .. }) {
            event.mode = inode.mode.map(|mode| mode & 0o7777);
            if matches!(op, Op::Create { .. }) && inode.kind == FileKind::Directory {
                event.extra = Some("x-type=DIR".into());
            }
        }
        event
    }

    /// Makes a directory, and those above it that do not exist.
    fn ensure_dir(&mut self, due: &mut Due, dir: DirId, stamp: Stamp) -> Done {
        let mut missing = Vec::new();
        let mut at = dir;
        while !self.emitter.has_dir(at) {
            let place = match due.make.get(&at) {
                Some((node, place)) => Some((Some(*node), place.clone())),
                None => self.tree.derived(at).map(|place| (None, place.clone())),
            };
            let (node, place) = place.unwrap_or((None, (DirId::ROOT, None)));
            let parent = place.0;
            missing.push((at, node, place));
            at = parent;
        }
        for (dir, node, (parent, name)) in missing.into_iter().rev() {
            self.claim(due, parent, name.as_deref(), stamp)?;
            self.emitter.dirs.insert(
                dir,
                Dir {
                    parent,
                    name: name.clone(),
                    entries: 0,
                },
            );
            self.enter(parent, name.as_deref(), Occupant::Dir(dir));
            let op = Op::Mkdir {
                dir,
                parent: Some(parent),
            };
            let mut event = match node {
                Some(node) => self.event_of(node, op),
                None => Event::new(op),
            };
            event.name = name;
            self.put(stamp, event)?;
        }
        Ok(())
    }

    /// Sees to it that nobody has a name in a directory.
    fn claim(&mut self, due: &mut Due, dir: DirId, name: Option<&[u8]>, stamp: Stamp) -> Done {
        let Some(occupant) = self.occupant(dir, name) else {
            return Ok(());
        };
        let pending = match occupant {
            Occupant::File(node, file) => {
                let unlink = due.unlink.get(&file).copied();
                unlink.or_else(|| due.delete.get(&node).copied())
            }
            Occupant::ShortLived | Occupant::Dir(_) => None,
        };
        if let Some(at) = pending
            && let Some(action) = &mut due.actions[at]
        {
            // It must have gone by now: the name is proof.
            action.t = stamp.t;
            action.quality = TQuality::Inferred;
            return self.act(due, at);
        }
        if let Occupant::Dir(old) = occupant
            && self.emitter.doomed.contains(&old)
            && self.remove_if_empty(old, stamp)?
        {
            return Ok(());
        }
        self.move_aside(dir, occupant, stamp)
    }

    fn occupant(&self, dir: DirId, name: Option<&[u8]>) -> Option<Occupant> {
        let key = (dir, Box::from(name?));
        self.emitter.names.get(&key).copied()
    }

    fn move_aside(&mut self, dir: DirId, occupant: Occupant, stamp: Stamp) -> Done {
        self.emitter.seen.moved_aside += 1;
        let name = loop {
            self.emitter.aside += 1;
            let name = format!(".aside-{}", self.emitter.aside).into_bytes();
            if self.occupant(dir, Some(&name)).is_none() {
                break name.into_boxed_slice();
            }
        };
        match occupant {
            Occupant::File(node, file) => self.relocate(node, file, (dir, Some(name)), stamp, None),
            Occupant::Dir(old) => self.relocate_dir(old, (dir, Some(name)), stamp),
            // Their names are chosen so that no other file has them.
            Occupant::ShortLived => Ok(()),
        }
    }

    fn enter(&mut self, dir: DirId, name: Option<&[u8]>, occupant: Occupant) {
        if let Some(name) = name {
            self.emitter.names.insert((dir, name.into()), occupant);
        }
        if let Some(dir) = self.emitter.dirs.get_mut(&dir) {
            dir.entries += 1;
        }
    }

    fn leave(&mut self, dir: DirId, name: Option<&[u8]>) {
        if let Some(name) = name {
            self.emitter.names.remove(&(dir, name.into()));
        }
        if let Some(dir) = self.emitter.dirs.get_mut(&dir) {
            dir.entries -= 1;
        }
    }

    /// Removes a directory that is due, and those above it that become empty by that and are due too. Whether
    /// it was.
    fn remove_if_empty(&mut self, dir: DirId, stamp: Stamp) -> Result<bool, FromSnapshotsError> {
        let mut removed = false;
        let mut at = dir;
        while self.emitter.doomed.contains(&at) {
            let Some(found) = self.emitter.dirs.get(&at).filter(|d| d.entries == 0) else {
                break;
            };
            let (parent, name) = (found.parent, found.name.clone());
            self.leave(parent, name.as_deref());
            self.emitter.dirs.remove(&at);
            self.emitter.doomed.remove(&at);
            self.tree.forget_derived(at);
            self.put(stamp, Event::new(Op::Rmdir { dir: at }))?;
            removed = true;
            at = parent;
        }
        Ok(removed)
    }

    fn create(&mut self, due: &mut Due, node: NodeId, bytes: u64, stamp: Stamp) -> Done {
        let inode = &self.nodes.get(node).inode;
        let (kind, first) = (inode.kind, self.nodes.get(node).names[0].clone());
        self.ensure_dir(due, first.dir, stamp)?;
        self.claim(due, first.dir, first.bytes.as_deref(), stamp)?;
        self.enter(
            first.dir,
            first.bytes.as_deref(),
            Occupant::File(node, first.file),
        );
        self.emitter.alive.files += 1;
        self.emitter.alive.bytes += u128::from(bytes);
        self.nodes.get_mut(node).size_bytes = bytes;
        let (file, dir) = (first.file, first.dir);
        let op = if kind == FileKind::Symlink {
            Op::Symlink { file, dir, bytes }
        } else {
            Op::Create { file, dir, bytes }
        };
        let mut event = self.event_of(node, op);
        event.name = first.bytes;
        self.put(stamp, event)?;
        let rest = self.nodes.get(node).names[1..].to_vec();
        for name in rest {
            self.claim(due, name.dir, name.bytes.as_deref(), stamp)?;
            self.ensure_dir(due, name.dir, stamp)?;
            self.enter(
                name.dir,
                name.bytes.as_deref(),
                Occupant::File(node, name.file),
            );
            let op = Op::Link {
                file: name.file,
                existing: file,
                dir: name.dir,
            };
            let mut event = self.event_of(node, op);
            event.name = name.bytes;
            self.put(stamp, event)?;
        }
        Ok(())
    }

    fn set_size(&mut self, node: NodeId, bytes: u64) {
        let found = self.nodes.get_mut(node);
        let before = std::mem::replace(&mut found.size_bytes, bytes);
        let alive = &mut self.emitter.alive;
        alive.bytes = alive.bytes - u128::from(before) + u128::from(bytes);
    }

    fn resize(&mut self, node: NodeId, bytes: u64, stamp: Stamp) -> Done {
        self.set_size(node, bytes);
        let file = self.file(node);
        self.put_of(node, stamp, Op::Truncate { file, bytes })
    }

    fn modify(&mut self, node: NodeId, how: Modification, stamp: Stamp) -> Done {
        let (file, found) = (self.file(node), self.nodes.get(node));
        let size = found.inode.size_bytes;
        let is_directory = found.inode.kind == FileKind::Directory;
        let sparse = sparse_bytes(found);
        match how {
            Modification::None => Ok(()),
            // As the original replay did: written over, and never shorter.
            _ if is_directory => {
                self.set_size(node, size);
                let bytes = size;
                let op = Op::Write {
                    file,
                    offset: 0,
                    bytes,
                };
                self.put_of(node, stamp, op)?;
                self.put_of(node, stamp, Op::Truncate { file, bytes })
            }
            Modification::Overwrite => {
                self.put_of(node, stamp, Op::Overwrite { file, range: None })
            }
            Modification::Append(bytes) => {
                self.set_size(node, size);
                self.put_of(node, stamp, Op::Append { file, bytes })
            }
            Modification::Truncate(bytes) => self.resize(node, bytes, stamp),
            Modification::Rewrite => {
                let bytes = sparse.unwrap_or(size);
                self.set_size(node, bytes);
                self.put_of(node, stamp, Op::Rewrite { file, bytes })?;
                if sparse.is_some() {
                    self.emitter.seen.sparse += 1;
                    self.resize(node, size, stamp)?;
                }
                Ok(())
            }
        }
    }

    fn delete(&mut self, node: NodeId, stamp: Stamp) -> Done {
        let names = std::mem::take(&mut self.nodes.get_mut(node).names);
        let bytes = self.nodes.get(node).size_bytes;
        self.emitter.alive.files -= 1;
        self.emitter.alive.bytes -= u128::from(bytes);
        for name in names {
            self.leave(name.dir, name.bytes.as_deref());
            self.put_of(node, stamp, Op::Delete { file: name.file })?;
            self.remove_if_empty(name.dir, stamp)?;
        }
        Ok(())
    }

    fn unlink(&mut self, node: NodeId, file: FileId, stamp: Stamp) -> Done {
        let names = &mut self.nodes.get_mut(node).names;
        let Some(at) = names.iter().position(|name| name.file == file) else {
            return Ok(());
        };
        let name = names.remove(at);
        self.leave(name.dir, name.bytes.as_deref());
        self.put_of(node, stamp, Op::Delete { file })?;
        self.remove_if_empty(name.dir, stamp)?;
        Ok(())
    }

    fn link(&mut self, due: &mut Due, node: NodeId, place: Place, stamp: Stamp) -> Done {
        self.ensure_dir(due, place.0, stamp)?;
        self.claim(due, place.0, place.1.as_deref(), stamp)?;
        let existing = self.file(node);
        let file = self.emitter.new_file();
        self.enter(place.0, place.1.as_deref(), Occupant::File(node, file));
        let op = Op::Link {
            file,
            existing,
            dir: place.0,
        };
        let mut event = self.event_of(node, op);
        event.name.clone_from(&place.1);
        self.nodes.get_mut(node).names.push(Name {
            dir: place.0,
            bytes: place.1,
            file,
        });
        self.put(stamp, event)
    }

    fn move_file(
        &mut self,
        due: &mut Due,
        node: NodeId,
        file: FileId,
        place: Place,
        stamp: Stamp,
    ) -> Done {
        self.ensure_dir(due, place.0, stamp)?;
        let mut replaced = None;
        match self.occupant(place.0, place.1.as_deref()) {
            // A file of one name that is to go: the rename removes it.
            Some(Occupant::File(old, name))
                if old != node
                    && self.nodes.get(old).names.len() == 1
                    && due
                        .delete
                        .get(&old)
                        .is_some_and(|at| due.actions[*at].take().is_some()) =>
            {
                let gone = self.nodes.get_mut(old);
                gone.names.clear();
                let bytes = gone.size_bytes;
                self.emitter.alive.files -= 1;
                self.emitter.alive.bytes -= u128::from(bytes);
                self.leave(place.0, place.1.as_deref());
                replaced = Some(name);
            }
            Some(_) => self.claim(due, place.0, place.1.as_deref(), stamp)?,
            None => {}
        }
        self.relocate(node, file, place, stamp, replaced)
    }

    fn relocate(
        &mut self,
        node: NodeId,
        file: FileId,
        place: Place,
        stamp: Stamp,
        replaced: Option<FileId>,
    ) -> Done {
        let names = &mut self.nodes.get_mut(node).names;
        let Some(at) = names.iter().position(|name| name.file == file) else {
            return Ok(());
        };
        let (dir, name) = (place.0, place.1);
        let old_dir = std::mem::replace(&mut names[at].dir, dir);
        let old_name = std::mem::replace(&mut names[at].bytes, name.clone());
        self.leave(old_dir, old_name.as_deref());
        self.enter(dir, name.as_deref(), Occupant::File(node, file));
        let op = Op::Rename {
            file,
            dir,
            replaced,
        };
        let mut event = self.event_of(node, op);
        event.name = name;
        self.put(stamp, event)?;
        self.remove_if_empty(old_dir, stamp)?;
        Ok(())
    }

    fn move_dir(&mut self, due: &mut Due, node: NodeId, place: Place, stamp: Stamp) -> Done {
        let Some(dir) = self.nodes.get(node).dir else {
            return Ok(());
        };
        self.ensure_dir(due, place.0, stamp)?;
        // A directory that is to come out from under this one goes first.
        let mut at = place.0;
        while at != DirId::ROOT {
            if at == dir {
                self.emitter.seen.unmovable += 1;
                return Ok(());
            }
            if let Some(other) = due.move_dir.get(&at).copied()
                && self.is_below(at, dir)
                && due.actions[other].is_some()
            {
                self.act(due, other)?;
                at = place.0;
                continue;
            }
            at = self.emitter.dirs.get(&at).map_or(DirId::ROOT, |d| d.parent);
        }
        self.claim(due, place.0, place.1.as_deref(), stamp)?;
        self.relocate_dir(dir, place, stamp)
    }

    fn is_below(&self, mut dir: DirId, above: DirId) -> bool {
        while dir != DirId::ROOT {
            if dir == above {
                return true;
            }
            dir = self
                .emitter
                .dirs
                .get(&dir)
                .map_or(DirId::ROOT, |d| d.parent);
        }
        false
    }

    fn relocate_dir(&mut self, dir: DirId, place: Place, stamp: Stamp) -> Done {
        let (parent, name) = place;
        let Some(found) = self.emitter.dirs.get_mut(&dir) else {
            return Ok(());
        };
        let old_parent = std::mem::replace(&mut found.parent, parent);
        let old_name = std::mem::replace(&mut found.name, name.clone());
        self.leave(old_parent, old_name.as_deref());
        self.enter(parent, name.as_deref(), Occupant::Dir(dir));
        let mut event = Event::new(Op::RenameDir { dir, parent });
        event.name = name;
        self.put(stamp, event)?;
        self.remove_if_empty(old_parent, stamp)?;
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn short_lived(
        &mut self,
        due: &mut Due,
        verb: ProfileVerb,
        file: FileId,
        dir: DirId,
        bytes: u64,
        profile: u32,
        stamp: Stamp,
    ) -> Done {
        let mut name = None;
        let op = match verb {
            ProfileVerb::Create => {
                self.ensure_dir(due, dir, stamp)?;
                name = self.name_for(dir, file);
                self.enter(dir, name.as_deref(), Occupant::ShortLived);
                self.emitter.short_lived.insert(file, (dir, name.clone()));
                Op::Create { file, dir, bytes }
            }
            ProfileVerb::Append => Op::Append { file, bytes },
            ProfileVerb::Delete => {
                if let Some((dir, name)) = self.emitter.short_lived.remove(&file) {
                    self.leave(dir, name.as_deref());
                }
                Op::Delete { file }
            }
        };
        let mut event = Event::new(op);
        event.name = name;
        event.profile_id = Some(profile);
        self.put(stamp, event)?;
        if verb == ProfileVerb::Delete {
            self.remove_if_empty(dir, stamp)?;
        }
        Ok(())
    }

    /// A name that nobody has or will have, where there are names.
    fn name_for(&self, dir: DirId, file: FileId) -> Option<Box<[u8]>> {
        if self.tree.placement() == super::Placement::Groups {
            return None;
        }
        let mut name = format!(".short-{file}").into_bytes();
        while self.occupant(dir, Some(&name)).is_some() {
            name.push(b'~');
        }
        Some(name.into())
    }
}

/// What a sparse file holds; `None` if it is not sparse, as far as its allocation tells.
pub(super) fn sparse_bytes(node: &Node) -> Option<u64> {
    /// Less than this may be a rounded allocation, or compression.
    const HOLE: u64 = 1 << 16;
    let inode = &node.inode;
    let alloc = inode
        .alloc_bytes
        .filter(|_| inode.kind == FileKind::Regular)?;
    (alloc < inode.size_bytes && inode.size_bytes - alloc >= HOLE).then_some(alloc)
}
