//! Takes profiles of short-lived files from a workload.
//!
//! **What it does.** A file is short-lived if it is made and deleted within one window: a day of 24 hours from
//! midnight local time, or the whole trace. For each window and each directory in which such files were made
//! (not where they died) there is one profile. A file that is replaced by a rename is deleted; one with several
//! names is deleted with the last. Its bytes are its size when it was deleted.
//!
//! **Where it comes from.** Smith and Seltzer, "File System Aging", 1997: they took 449 such profiles from NFS
//! traces of seven days.
//!
//! **What counts.** Regular files made by the workload itself: neither files of the initial population, nor
//! symbolic links. Nothing but the events is needed (ids, sizes, times, names), so any workload will do. Events
//! of unknown time have the time of the event before them. Where clocks go back, a file dies at its birth at the
//! earliest.

use fsage_core::names::escape;
use fsage_core::short_lived::{Profile, ProfileOp, ProfileVerb};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, SinkError};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Within what a file must be made and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A day from midnight to midnight, so many seconds east of UTC.
    Day {
        /// Local time minus UTC, seconds.
        utc_offset_s: i32,
    },
    /// All of it: for traces that are shorter than a day.
    Trace,
}

/// How profiles are taken.
#[derive(Clone, Debug)]
pub struct ExtractorOptions {
    /// Where the workload comes from: the kind of use, or the name of the trace.
    pub source: String,
    /// Within what a file must be made and deleted.
    pub window: Window,
    /// Keeps the growth of files as operations of its own, instead of making files with their last size.
    pub keep_appends: bool,
}

#[derive(Debug)]
struct Dir {
    /// Directories of one id, one after the other, are different ones.
    number: u64,
    parent: Option<DirId>,
    name: Box<str>,
    /// Its path, until a directory moves.
    path: Option<Rc<str>>,
}

/// Growth of a file.
#[derive(Clone, Copy, Debug)]
struct Growth {
    t_ns: i64,
    seq: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Live {
    born_ns: i64,
    born_seq: u64,
    dir: u64,
    dir_path: Rc<str>,
    name: Box<str>,
    size: u64,
    /// Names that it has now.
    names: u64,
    /// What it grew by; kept only when wanted. The sum is the size.
    growth: Vec<Growth>,
}

#[derive(Debug)]
struct Dead {
    file: Live,
    died_ns: i64,
    died_seq: u64,
}

/// A sink that takes profiles from the events that it is given.
#[derive(Debug)]
pub struct Extractor {
    options: ExtractorOptions,
    start_ns: Option<i64>,
    now_ns: i64,
    seq: u64,
    dirs: HashMap<DirId, Dir>,
    next_dir: u64,
    files: HashMap<FileId, u64>,
    inodes: HashMap<u64, Live>,
    next_inode: u64,
    /// Short-lived files by window and directory.
    dead: BTreeMap<(i64, u64), Vec<Dead>>,
}

impl Extractor {
    /// An extractor that has seen nothing.
    pub fn new(options: ExtractorOptions) -> Extractor {
        let root = Dir {
            number: 0,
            parent: None,
            name: Box::default(),
            path: None,
        };
        Extractor {
            options,
            start_ns: None,
            now_ns: 0,
            seq: 0,
            dirs: HashMap::from([(DirId::ROOT, root)]),
            next_dir: 1,
            files: HashMap::new(),
            inodes: HashMap::new(),
            next_inode: 0,
            dead: BTreeMap::new(),
        }
    }

    /// Says when the trace began, nanoseconds since the epoch of the events; else it is the time of the first
    /// event.
    pub fn start_at(&mut self, t_ns: i64) {
        self.start_ns = Some(t_ns);
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.seq += 1;
        if let Some(t_ns) = event.t_ns {
            self.now_ns = t_ns;
            self.start_ns.get_or_insert(t_ns);
        }
        match event.op {
            Op::Mkdir { dir, parent } => self.mkdir(dir, parent, event),
            Op::Rmdir { dir } => {
                self.dirs.remove(&dir);
            }
            Op::RenameDir { dir, parent } => self.rename_dir(dir, parent, event),
            Op::Create { file, dir, bytes } => {
                self.files.remove(&file);
                if event.origin != Some(Origin::Initial) {
                    self.create(file, dir, bytes, event);
                }
            }
            Op::Append { file, bytes } => self.resize(file, |size| size.saturating_add(bytes)),
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            } => self.resize(file, |size| size.max(offset.saturating_add(bytes))),
            Op::Rewrite { file, bytes } => {
                self.resize(file, |_| 0);
                self.resize(file, |_| bytes);
            }
            Op::Truncate { file, bytes } => self.resize(file, |_| bytes),
            Op::Delete { file }
            | Op::Rename {
                replaced: Some(file),
                ..
            } => self.delete(file),
            Op::Link { file, existing, .. } => {
                if let Some(&inode) = self.files.get(&existing) {
                    self.files.insert(file, inode);
                    if let Some(live) = self.inodes.get_mut(&inode) {
                        live.names += 1;
                    }
                }
            }
            Op::Symlink { file, .. } => {
                self.files.remove(&file);
            }
            _ => {}
        }
    }

    /// The profiles, in the order of their first operation.
    pub fn finish(self) -> Vec<Profile> {
        let start_ns = self.start_ns.unwrap_or(0);
        let first_window = window(self.options.window, start_ns);
        let mut profiles: Vec<(i64, u64, Profile)> = self
            .dead
            .into_iter()
            .map(|((window, _), files)| {
                let day = window.saturating_sub(first_window).max(0);
                let day = u32::try_from(day).unwrap_or(u32::MAX);
                profile(files, &self.options, day, start_ns)
            })
            .collect();
        profiles.sort_by_key(|(t_ns, seq, _)| (*t_ns, *seq));
        profiles.into_iter().map(|(_, _, p)| p).collect()
    }

    fn mkdir(&mut self, dir: DirId, parent: Option<DirId>, event: &Event) {
        let name = event.name.as_deref().map_or_else(
            || format!("d{dir}").into(),
            |name| Box::from(escape(name).as_ref()),
        );
        let made = Dir {
            number: self.next_dir,
            parent: Some(parent.unwrap_or(DirId::ROOT)).filter(|&p| p != dir),
            name,
            path: None,
        };
        self.next_dir += 1;
        self.dirs.insert(dir, made);
    }

    fn rename_dir(&mut self, dir: DirId, parent: DirId, event: &Event) {
        if let Some(d) = self.dirs.get_mut(&dir) {
            d.parent = Some(parent);
            if let Some(name) = &event.name {
                d.name = escape(name).as_ref().into();
            }
        }
        let ids: Vec<DirId> = self.dirs.keys().copied().collect();
        for id in ids {
            if let Some(d) = self.dirs.get_mut(&id) {
                d.path = None;
            }
        }
    }

    /// The path of a directory, of at most so many parts: events that make a loop make no endless path.
    fn path(&mut self, dir: DirId) -> (u64, Rc<str>) {
        const DEEPEST: usize = 4096;
        if let Some(d) = self.dirs.get(&dir)
            && let Some(path) = &d.path
        {
            return (d.number, Rc::clone(path));
        }
        let mut parts = Vec::new();
        let mut at = Some(dir);
        while let Some(id) = at
            && let Some(d) = self.dirs.get(&id)
            && parts.len() < DEEPEST
        {
            if !d.name.is_empty() {
                parts.push(d.name.as_ref());
            }
            at = d.parent;
        }
        parts.reverse();
        let path: Rc<str> = format!("/{}", parts.join("/")).into();
        match self.dirs.get_mut(&dir) {
            Some(d) => {
                d.path = Some(Rc::clone(&path));
                (d.number, path)
            }
            // A directory that was never made: the root's, rather than none.
            None => (0, path),
        }
    }

    fn create(&mut self, file: FileId, dir: DirId, bytes: u64, event: &Event) {
        let (dir, dir_path) = self.path(dir);
        let name = event
            .name
            .as_deref()
            .map_or_else(|| format!("f{file}").into(), escape);
        let mut live = Live {
            born_ns: self.now_ns,
            born_seq: self.seq,
            dir,
            dir_path,
            name: name.as_ref().into(),
            size: 0,
            names: 1,
            growth: Vec::new(),
        };
        grow(
            &mut live,
            bytes,
            self.now_ns,
            self.seq,
            self.options.keep_appends,
        );
        self.files.insert(file, self.next_inode);
        self.inodes.insert(self.next_inode, live);
        self.next_inode += 1;
    }

    fn resize(&mut self, file: FileId, new: impl Fn(u64) -> u64) {
        if let Some(inode) = self.files.get(&file)
            && let Some(live) = self.inodes.get_mut(inode)
        {
            let size = new(live.size);
            grow(live, size, self.now_ns, self.seq, self.options.keep_appends);
        }
    }

    fn delete(&mut self, file: FileId) {
        let Some(inode) = self.files.remove(&file) else {
            return;
        };
        let Some(live) = self.inodes.get_mut(&inode) else {
            return;
        };
        live.names -= 1;
        if live.names > 0 {
            return;
        }
        let Some(file) = self.inodes.remove(&inode) else {
            return;
        };
        let died_ns = self.now_ns.max(file.born_ns);
        let born_in = window(self.options.window, file.born_ns);
        if born_in == window(self.options.window, died_ns) {
            let died_seq = self.seq;
            self.dead
                .entry((born_in, file.dir))
                .or_default()
                .push(Dead {
                    file,
                    died_ns,
                    died_seq,
                });
        }
    }
}

impl EventSink for Extractor {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        Extractor::event(self, &event);
        Ok(())
    }
}

/// Number of the window that a time lies in.
fn window(kind: Window, t_ns: i64) -> i64 {
    const NS_PER_S: i64 = 1_000_000_000;
    match kind {
        Window::Trace => 0,
        Window::Day { utc_offset_s } => t_ns
            .saturating_add(i64::from(utc_offset_s) * NS_PER_S)
            .div_euclid(86_400 * NS_PER_S),
    }
}

/// Sets the size. Growth is noted; what is cut off is taken from the growth noted last.
fn grow(live: &mut Live, size: u64, t_ns: i64, seq: u64, keep: bool) {
    if keep && size > live.size {
        let bytes = size - live.size;
        live.growth.push(Growth { t_ns, seq, bytes });
    }
    if keep && size < live.size {
        let mut cut = live.size - size;
        while cut > 0
            && let Some(last) = live.growth.last_mut()
        {
            if last.bytes > cut {
                last.bytes -= cut;
                break;
            }
            cut -= last.bytes;
            live.growth.pop();
        }
    }
    live.size = size;
}

/// The profile of a directory's files, with the time and number of its first event.
fn profile(
    mut files: Vec<Dead>,
    options: &ExtractorOptions,
    day: u32,
    start_ns: i64,
) -> (i64, u64, Profile) {
    files.sort_by_key(|d| (d.file.born_ns, d.file.born_seq));
    let first_ns = files[0].file.born_ns;
    let first_seq = files[0].file.born_seq;
    let mut timed = Vec::new();
    for (local_id, dead) in files.iter().enumerate() {
        let (local_id, file) = (local_id as u64, &dead.file);
        let within = |t_ns: i64| t_ns.clamp(file.born_ns, dead.died_ns);
        let mut add = |t_ns: i64, seq: u64, verb, bytes| {
            let t_rel_ns = within(t_ns).saturating_sub(first_ns);
            let op = ProfileOp {
                t_rel_ns,
                verb,
                local_id,
                bytes,
            };
            timed.push((t_rel_ns, seq, op));
        };
        if options.keep_appends {
            let made_with = file.growth.first().filter(|g| g.seq == file.born_seq);
            let bytes = made_with.map_or(0, |g| g.bytes);
            add(file.born_ns, file.born_seq, ProfileVerb::Create, bytes);
            for g in &file.growth[usize::from(made_with.is_some())..] {
                add(g.t_ns, g.seq, ProfileVerb::Append, g.bytes);
            }
        } else {
            add(file.born_ns, file.born_seq, ProfileVerb::Create, file.size);
        }
        add(dead.died_ns, dead.died_seq, ProfileVerb::Delete, 0);
    }
    timed.sort_by_key(|&(t_rel_ns, seq, _)| (t_rel_ns, seq));
    let profile = Profile {
        source: options.source.clone(),
        dir: files[0].file.dir_path.as_ref().to_owned(),
        day,
        start_ns: first_ns.saturating_sub(start_ns),
        ops: timed.into_iter().map(|(_, _, op)| op).collect(),
        names: files.into_iter().map(|d| d.file.name).collect(),
    };
    (first_ns, first_seq, profile)
}
