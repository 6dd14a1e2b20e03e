//! Times, generations and names: what the inodes of a real file system hold, and models, which only place
//! blocks, do not.
//!
//! They are kept beside the model, operation by operation, as 4.4BSD and Linux keep them: writing sets the
//! modification and the change time of the file, making, removing or moving a name those of its directory, and
//! a name that comes, goes or moves sets the change time of the inode. A model with stamps gives full
//! snapshots.
//!
//! What an operation means, and whether it is done, the model has decided by the rules of [`fsage_core::operations`]:
//! stamps follow what became of it.
//!
//! Memory: about 250 bytes a file.

use fsage_core::snapshot::{FurtherName, Inode, source_flags};
use fsage_core::{DirId, Event, FileId, FileSystem, FileView, Layout, Op, Outcome, Verb};
use rustc_hash::{FxHashMap, FxHashSet};

/// What an inode holds. Times are nanoseconds since 1970 UTC.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Tells inodes of the same number apart.
    pub generation: u32,
    /// When it was made.
    pub btime_ns: i64,
    /// When its content was changed last.
    pub mtime_ns: i64,
    /// When it was changed last.
    pub ctime_ns: i64,
    /// Permission bits, where the workload has them.
    pub mode: Option<u32>,
}

/// A name: where it is, and of which inode.
#[derive(Clone, Debug)]
struct Name {
    ino: u64,
    dir: Place,
    bytes: Box<[u8]>,
}

/// A directory; `None` is the root, for a workload may make a directory 0 of its own.
type Place = Option<DirId>;

/// The stamps of a model's inodes.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    epoch_ns: i64,
    now_ns: i64,
    /// Inode of the root, where the model has one.
    root: Option<u64>,
    inodes: FxHashMap<u64, Stamp>,
    /// The last generation of every inode number that was ever used.
    generations: FxHashMap<u64, u32>,
    files: FxHashMap<FileId, Name>,
    /// Inodes that have or had several names.
    linked: FxHashSet<u64>,
    dirs: FxHashMap<DirId, Name>,
    /// The workload has made a directory 0 of its own.
    zero_is_made: bool,
}

impl Stamps {
    /// Nothing but the root. `epoch_ns` is the time of the workload's 0, nanoseconds since 1970 UTC; the root
    /// is as old as that.
    pub fn new(fs: &dyn FileSystem, epoch_ns: i64) -> Stamps {
        let mut stamps = Stamps {
            epoch_ns,
            now_ns: epoch_ns,
            ..Stamps::default()
        };
        stamps.root = fs.directory_inode(DirId::ROOT);
        if let Some(ino) = stamps.root {
            stamps.begin(ino, None);
        }
        stamps
    }

    /// Time of the last operation, nanoseconds since 1970 UTC.
    pub fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// Nanoseconds since 1970 UTC of a time of the workload.
    pub fn time_of(&self, t_ns: i64) -> i64 {
        self.epoch_ns.saturating_add(t_ns)
    }

    /// Nanoseconds since 1970 UTC of the workload's 0.
    pub fn epoch_ns(&self) -> i64 {
        self.epoch_ns
    }

    /// What an inode holds that is in use.
    pub fn of(&self, ino: u64) -> Option<&Stamp> {
        self.inodes.get(&ino)
    }

    /// Generation of an inode that is in use.
    pub fn generation(&self, ino: u64) -> Option<u32> {
        self.of(ino).map(|stamp| stamp.generation)
    }

    /// Takes over an operation and what became of it.
    pub fn applied<F: FileSystem + ?Sized>(&mut self, event: &Event, outcome: Outcome, fs: &F) {
        // Where space ran out a file may be there, or written in part; everything else was left as it was.
        let writes = matches!(
            event.op.verb(),
            Verb::Create | Verb::Append | Verb::Write | Verb::Rewrite | Verb::Fallocate
        );
        match outcome {
            Outcome::Done => {}
            Outcome::NoSpace | Outcome::TooLarge if writes => {}
            _ => return,
        }
        if let Some(t) = event.t_ns {
            self.now_ns = self.time_of(t);
        }
        match event.op {
            Op::Mkdir { dir, parent } => {
                let parent = self.place(parent.unwrap_or(DirId::ROOT));
                if let Some(ino) = fs.directory_inode(dir) {
                    self.zero_is_made |= dir == DirId::ROOT;
                    self.begin(ino, event.mode);
                    self.touch_dir(parent);
                    let name = Name {
                        ino,
                        dir: parent,
                        bytes: name_of(event, 'd', dir.0),
                    };
                    self.dirs.insert(dir, name);
                }
            }
            Op::Rmdir { dir } => {
                if let Some(gone) = self.dirs.remove(&dir) {
                    self.inodes.remove(&gone.ino);
                    self.touch_dir(gone.dir);
                }
            }
            Op::RenameDir { dir, parent } => {
                let parent = self.place(parent);
                if let Some(moved) = self.dirs.get_mut(&dir) {
                    let from = std::mem::replace(&mut moved.dir, parent);
                    moved.bytes = name_of(event, 'd', dir.0);
                    if let Some(ino) = fs.directory_inode(dir) {
                        let old = std::mem::replace(&mut moved.ino, ino);
                        self.renumber(old, ino);
                        self.touch(ino, false);
                    }
                    self.touch_dir(from);
                    self.touch_dir(parent);
                }
            }
            Op::Create { file, dir, .. } | Op::Symlink { file, dir, .. } => {
                if let Some(ino) = fs.inode(file) {
                    self.begin(ino, event.mode);
                    self.enter(event, file, ino, dir);
                }
            }
            Op::Link {
                file,
                existing,
                dir,
            } => {
                if let Some(ino) = fs.inode(file) {
                    self.linked.insert(ino);
                    self.follow(existing, ino, true);
                    self.touch(ino, false);
                    self.enter(event, file, ino, dir);
                }
            }
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Punch { file, .. } => {
                if let Some(ino) = fs.inode(file) {
                    self.touch(ino, true);
                }
            }
            Op::Delete { file } => self.leave(file),
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                self.renamed(event, file, dir, replaced, fs);
            }
            Op::Read { .. }
            | Op::Fsync { .. }
            | Op::Sync
            | Op::Remount
            | Op::Day
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => {}
        }
    }

    fn renamed<F: FileSystem + ?Sized>(
        &mut self,
        event: &Event,
        file: FileId,
        dir: DirId,
        replaced: Option<FileId>,
        fs: &F,
    ) {
        if let Some(replaced) = replaced {
            self.leave(replaced);
        }
        let dir = self.place(dir);
        if let Some(moved) = self.files.get_mut(&file) {
            let from = std::mem::replace(&mut moved.dir, dir);
            moved.bytes = name_of(event, 'f', file.0);
            let old = moved.ino;
            if let Some(ino) = fs.inode(file) {
                self.follow(file, ino, self.linked.contains(&old));
                self.touch(ino, false);
            }
            self.touch_dir(from);
            self.touch_dir(dir);
        }
    }

    fn begin(&mut self, ino: u64, mode: Option<u32>) {
        let generation = self.generations.entry(ino).or_insert(0);
        *generation = generation.wrapping_add(1);
        let stamp = Stamp {
            generation: *generation,
            btime_ns: self.now_ns,
            mtime_ns: self.now_ns,
            ctime_ns: self.now_ns,
            mode,
        };
        self.inodes.insert(ino, stamp);
    }

    /// The inode of a file may have moved, and got another number; with `linked` that of all its names.
    fn follow(&mut self, file: FileId, ino: u64, linked: bool) {
        let Some(name) = self.files.get_mut(&file) else {
            return;
        };
        let old = std::mem::replace(&mut name.ino, ino);
        if old == ino {
            return;
        }
        if linked {
            self.linked.insert(ino);
            for name in self.files.values_mut().filter(|name| name.ino == old) {
                name.ino = ino;
            }
        }
        self.renumber(old, ino);
    }

    /// An inode has another number from now on, under which it is a new one; its times go along.
    fn renumber(&mut self, old: u64, ino: u64) {
        if old == ino {
            return;
        }
        if let Some(stamp) = self.inodes.remove(&old) {
            self.begin(ino, stamp.mode);
            let generation = self.generations[&ino];
            self.inodes.insert(
                ino,
                Stamp {
                    generation,
                    ..stamp
                },
            );
        }
    }

    fn touch(&mut self, ino: u64, content: bool) {
        if let Some(stamp) = self.inodes.get_mut(&ino) {
            stamp.ctime_ns = self.now_ns;
            if content {
                stamp.mtime_ns = self.now_ns;
            }
        }
    }

    fn touch_dir(&mut self, dir: Place) {
        if let Some(ino) = self.directory_inode(dir) {
            self.touch(ino, true);
        }
    }

    fn directory_inode(&self, dir: Place) -> Option<u64> {
        match dir {
            Some(dir) => self.dirs.get(&dir).map(|name| name.ino),
            None => self.root,
        }
    }

    fn place(&self, dir: DirId) -> Place {
        (dir != DirId::ROOT || self.zero_is_made).then_some(dir)
    }

    fn enter(&mut self, event: &Event, file: FileId, ino: u64, dir: DirId) {
        let dir = self.place(dir);
        let bytes = name_of(event, 'f', file.0);
        self.files.insert(file, Name { ino, dir, bytes });
        self.touch_dir(dir);
    }

    fn leave(&mut self, file: FileId) {
        if let Some(gone) = self.files.remove(&file) {
            // Of an inode with further names only its change time; the next owner starts anew.
            self.touch(gone.ino, false);
            self.touch_dir(gone.dir);
        }
    }

    /// Every inode of the model, ascending by number, and the further names of those that have several.
    pub fn snapshot(&self, layout: &dyn Layout) -> (Vec<Inode>, Vec<FurtherName>) {
        let mut paths = self.paths();
        let mut inodes = Vec::new();
        let mut further = Vec::new();
        layout.visit_files(&mut |view| {
            let mut names = paths.remove(&view.ino).unwrap_or_default();
            names.sort_unstable();
            let inode = self.inode(view, names.first());
            for (path, parent_ino) in names.iter().skip(1) {
                let name = path.rsplit('/').next().unwrap_or(path);
                further.push(FurtherName {
                    ino: view.ino,
                    generation: inode.generation,
                    parent_ino: parent_ino.unwrap_or(0),
                    name: name.into(),
                });
            }
            inodes.push(inode);
        });
        inodes.sort_unstable_by_key(|inode| (inode.ino, inode.generation));
        further.sort_unstable();
        (inodes, further)
    }

    fn inode(&self, view: &FileView<'_>, name: Option<&(String, Option<u64>)>) -> Inode {
        let stamp = self.inodes.get(&view.ino);
        let generation = stamp.map(|s| s.generation).or(view.generation);
        Inode {
            alloc_bytes: view.alloc_bytes,
            links: Some(view.links),
            parent_ino: name.and_then(|name| name.1).or(view.parent_ino),
            path: name.map(|name| name.0.as_str().into()),
            extents: view.extents.map(Box::from),
            btime_ns: stamp.map(|s| s.btime_ns),
            mtime_ns: stamp.map(|s| s.mtime_ns),
            ctime_ns: stamp.map(|s| s.ctime_ns),
            source_flags: generation.map_or(0, |_| source_flags::GEN_VALID),
            ..Inode::new(view.ino, generation, view.kind, view.size_bytes)
        }
    }

    /// Every path with the inode of its directory, by inode.
    fn paths(&self) -> FxHashMap<u64, Vec<(String, Option<u64>)>> {
        let mut known: FxHashMap<DirId, String> = FxHashMap::default();
        let mut paths: FxHashMap<u64, Vec<(String, Option<u64>)>> = FxHashMap::default();
        if let Some(root) = self.root {
            paths.insert(root, vec![(".".to_owned(), None)]);
        }
        #[allow(clippy::iter_over_hash_type)] // Sorted by whoever reads them.
        for name in self.dirs.values().chain(self.files.values()) {
            let path = joined(&self.path(name.dir, &mut known), &name.bytes);
            let entry = (path, self.directory_inode(name.dir));
            paths.entry(name.ino).or_default().push(entry);
        }
        paths
    }

    /// Path of a directory; that of the root is empty.
    fn path(&self, dir: Place, known: &mut FxHashMap<DirId, String>) -> String {
        let mut missing = Vec::new();
        let mut at = dir;
        let mut path = String::new();
        while let Some((dir, name)) = at.and_then(|dir| Some((dir, self.dirs.get(&dir)?))) {
            if let Some(found) = known.get(&dir) {
                path.clone_from(found);
                break;
            }
            missing.push((dir, name));
            at = name.dir;
        }
        for (dir, name) in missing.into_iter().rev() {
            path = joined(&path, &name.bytes);
            known.insert(dir, path.clone());
        }
        path
    }
}

fn joined(path: &str, name: &[u8]) -> String {
    let name = fsage_core::names::escape(name);
    if path.is_empty() {
        name.into_owned()
    } else {
        format!("{path}/{name}")
    }
}

/// The name of an entry; without one `d` or `f` and the id.
fn name_of(event: &Event, letter: char, id: u64) -> Box<[u8]> {
    match &event.name {
        Some(name) => name.clone(),
        None => format!("{letter}{id}").into_bytes().into(),
    }
}
