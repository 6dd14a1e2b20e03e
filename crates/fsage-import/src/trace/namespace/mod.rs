//! What the trace makes believe: directories, names and inodes.
//!
//! An entry gets its id, and its place in the workload, when something happens to it inside the roots
//! ([`Namespace::id_of`]): files that are only read are known and not written out.
//!
//! What is asked here is what a path of the trace stands for, of which a part is never shown: other rules than those of
//! [`fsage_core::operations`], by which a workload is replayed. What is written out keeps to these (`trace/output.rs`).

mod data;
mod dirs;
mod names;
mod renames;

use super::initial::InitialFile;
use super::output::{Growing, Made, Output, Writer};
use super::path::is_below;
use super::{Fault, Initial, TraceOptions, TraceSummary};
use fsage_core::{DirId, EventSink, FileId};
use rustc_hash::FxHashMap;

pub(crate) type DirKey = u64;
pub(crate) type InodeKey = u64;
type NameKey = u64;

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    Dir(DirKey),
    File(InodeKey),
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Dir(DirKey),
    Name(NameKey),
}

struct Dir {
    parent: DirKey,
    name: Box<[u8]>,
    entries: FxHashMap<Box<[u8]>, Entry>,
    id: Option<DirId>,
    /// Made by the trace, or first seen where the trace had shown none.
    born: bool,
    inside: bool,
    /// Whether the trace says where it lies.
    placed: bool,
}

/// A directory entry of a file.
#[allow(clippy::struct_field_names)]
struct Name {
    inode: InodeKey,
    dir: DirKey,
    name: Box<[u8]>,
    id: Option<FileId>,
    /// Whether the trace says where it lies.
    placed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Born {
    /// Made by the trace.
    Made,
    /// First seen where the trace had shown none.
    Appeared,
    /// It was there.
    Before,
}

struct Inode {
    size: u64,
    size_known: bool,
    names: Vec<NameKey>,
    born: Born,
    symlink: bool,
    growing: Option<Growing>,
    /// Once its data were cut, what is learned of its size says nothing of the size before the trace.
    cut: bool,
    src: Option<(u64, u32)>,
}

/// Which directories count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    only: Vec<Vec<u8>>,
    pub(crate) without: &'static [&'static [u8]],
}

impl Roots {
    fn is_everything(&self) -> bool {
        self.only.is_empty()
    }

    fn has(&self, path: &[u8]) -> bool {
        let only = self.only.is_empty() || self.only.iter().any(|top| is_below(path, top));
        only && !self.without.iter().any(|top| is_below(path, top))
    }
}

/// The file system as the trace shows it.
pub(crate) struct Namespace<'s> {
    dirs: FxHashMap<DirKey, Dir>,
    names: FxHashMap<NameKey, Name>,
    inodes: FxHashMap<InodeKey, Inode>,
    next_key: u64,
    roots: Roots,
    only_new: bool,
    out: Output<'s>,
    initial: Initial,
    /// Time of the line before.
    line_t_ns: Option<i64>,
    pub summary: TraceSummary,
}

/// The directory `/`.
pub(crate) const ROOT: DirKey = 0;

impl<'s> Namespace<'s> {
    pub fn new(
        options: &TraceOptions,
        sink: Option<&'s mut dyn EventSink>,
        initial: Option<Initial>,
    ) -> Namespace<'s> {
        let only = options.roots.iter().map(|root| {
            let mut path = Vec::new();
            super::normalize(b"/", root, &mut path);
            path
        });
        let mut namespace = Namespace {
            dirs: FxHashMap::default(),
            names: FxHashMap::default(),
            inodes: FxHashMap::default(),
            next_key: 1,
            roots: Roots {
                only: only.collect(),
                without: &[],
            },
            only_new: options.only_new,
            out: Output::new(sink, options.merge_ns, options.utc_offset_s),
            initial: initial.unwrap_or_default(),
            line_t_ns: None,
            summary: TraceSummary::default(),
        };
        let root = Dir {
            parent: ROOT,
            name: Box::default(),
            entries: FxHashMap::default(),
            id: Some(DirId::ROOT),
            born: false,
            inside: namespace.roots.has(b"/"),
            placed: true,
        };
        namespace.dirs.insert(ROOT, root);
        namespace
    }

    /// Directories that never count.
    pub fn leave_out(&mut self, without: &'static [&'static [u8]]) {
        self.roots.without = without;
    }

    /// Writes out what was there before; before the first line.
    pub fn start(&mut self) -> Result<(), Fault> {
        if self.out.is_open() && !self.only_new {
            self.out.start_with(&self.initial)?;
        }
        Ok(())
    }

    /// What the first pass found.
    pub fn take_initial(&mut self, t_ns: Option<i64>) -> Initial {
        let mut initial = std::mem::take(&mut self.initial);
        initial.start_at(t_ns);
        initial
    }

    /// The log has ended.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.out.finish()?;
        let s = &mut self.summary;
        s.initial_dirs = self.initial.dirs().count() as u64;
        for file in self.initial.files() {
            s.initial_files += 1;
            s.initial_bytes = s.initial_bytes.saturating_add(file.size);
            s.initial_sizes_unknown += u64::from(!file.size_known);
        }
        let mut alive: Vec<InodeKey> = self.names.values().map(|n| n.inode).collect();
        alive.sort_unstable();
        alive.dedup();
        for key in alive {
            if self.inodes[&key].born == Born::Made && self.is_inside(key) {
                let s = &mut self.summary;
                s.survivors += 1;
                s.survivor_bytes = s.survivor_bytes.saturating_add(self.inodes[&key].size);
            }
        }
        Ok(())
    }

    /// A line has this time.
    pub fn tick(&mut self, t_ns: i64) {
        let s = &mut self.summary;
        s.first_t_ns.get_or_insert(t_ns);
        s.times_going_down += u64::from(self.line_t_ns.replace(t_ns) > Some(t_ns));
        s.last_t_ns = s.last_t_ns.max(Some(t_ns));
    }

    /// What lies under a name, as far as known.
    pub fn child(&self, dir: DirKey, name: &[u8]) -> Option<Child> {
        let entry = self.dirs.get(&dir)?.entries.get(name)?;
        Some(match *entry {
            Entry::Dir(d) => Child::Dir(d),
            Entry::Name(n) => Child::File(self.names.get(&n)?.inode),
        })
    }

    /// The directory of a normalized path; directories on the way that were not known existed before. `None`: a
    /// file is in the way.
    pub fn dir_at(&mut self, path: &[u8]) -> Option<DirKey> {
        let mut dir = ROOT;
        for name in path.split(|&b| b == b'/').filter(|n| !n.is_empty()) {
            dir = self.sub_dir(dir, name)?;
        }
        Some(dir)
    }

    /// A directory that exists in another one.
    pub fn sub_dir(&mut self, parent: DirKey, name: &[u8]) -> Option<DirKey> {
        match self.dirs.get(&parent)?.entries.get(name).copied() {
            Some(Entry::Dir(d)) => return Some(d),
            Some(Entry::Name(n)) if !self.is_idle(n) => return None,
            // It was taken for a file that nothing happened to.
            Some(Entry::Name(n)) => self.forget_name(n),
            None => {}
        }
        Some(self.insert_dir(parent, name, false, true))
    }

    /// The directory of a normalized path, if it is known.
    pub fn known(&self, path: &[u8]) -> Option<Child> {
        let mut child = Child::Dir(ROOT);
        for name in path.split(|&b| b == b'/').filter(|n| !n.is_empty()) {
            let Child::Dir(dir) = child else { return None };
            child = self.child(dir, name)?;
        }
        Some(child)
    }

    /// The file under a name, which is there now: if it is new to us it was there before, or it has `appeared`
    /// where there was none. `None`: it is a directory.
    pub fn see_file(&mut self, dir: DirKey, name: &[u8], appeared: bool) -> Option<InodeKey> {
        match self.child(dir, name) {
            Some(Child::File(inode)) => Some(inode),
            Some(Child::Dir(_)) => None,
            None => {
                let born = if appeared {
                    Born::Appeared
                } else {
                    Born::Before
                };
                let inode = self.insert_inode(born);
                self.insert_name(inode, dir, name, true);
                Some(inode)
            }
        }
    }

    /// Whether an inode is still there.
    pub fn is_alive(&self, inode: InodeKey) -> bool {
        self.inodes.contains_key(&inode)
    }

    /// Whether the trace made a file.
    pub fn is_made(&self, inode: InodeKey) -> bool {
        self.inodes
            .get(&inode)
            .is_some_and(|i| i.born == Born::Made)
    }

    /// Whether nothing happened to a file: it was only looked at or read.
    pub fn is_only_read(&self, inode: InodeKey) -> bool {
        let names = self.inodes.get(&inode).map(|i| &i.names);
        names.is_some_and(|names| names.iter().all(|&n| self.is_idle(n)))
    }

    /// Whether a directory is still there.
    pub fn has_dir(&self, dir: DirKey) -> bool {
        self.dirs.contains_key(&dir)
    }

    /// Size, bytes.
    pub fn size(&self, inode: InodeKey) -> u64 {
        self.inodes.get(&inode).map_or(0, |i| i.size)
    }

    /// Inode number and generation on the source.
    pub fn set_source(&mut self, inode: InodeKey, ino: u64, generation: u32) {
        if let Some(i) = self.inodes.get_mut(&inode) {
            i.src = Some((ino, generation));
        }
    }

    fn key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key - 1
    }

    fn insert_inode(&mut self, born: Born) -> InodeKey {
        let key = self.key();
        let inode = Inode {
            size: 0,
            size_known: born == Born::Made,
            names: Vec::new(),
            born,
            symlink: false,
            growing: None,
            cut: false,
            src: None,
        };
        self.inodes.insert(key, inode);
        key
    }

    /// Puts a name into a directory where nothing of that name is.
    fn insert_name(&mut self, inode: InodeKey, dir: DirKey, name: &[u8], placed: bool) -> NameKey {
        let key = self.key();
        let entry = Name {
            inode,
            dir,
            name: name.into(),
            id: None,
            placed,
        };
        self.names.insert(key, entry);
        if placed && let Some(d) = self.dirs.get_mut(&dir) {
            d.entries.insert(name.into(), Entry::Name(key));
        }
        if let Some(i) = self.inodes.get_mut(&inode) {
            i.names.push(key);
        }
        key
    }

    /// A name that nothing happened to: it has no id, and its file was there before.
    fn is_idle(&self, name: NameKey) -> bool {
        self.names.get(&name).is_some_and(|n| {
            n.id.is_none()
                && self
                    .inodes
                    .get(&n.inode)
                    .is_some_and(|i| i.born != Born::Made)
        })
    }

    /// Takes a name out of the tables; the inode goes with its last name. Says whether it did.
    fn take_name(&mut self, key: NameKey) -> bool {
        let Some(name) = self.names.remove(&key) else {
            return false;
        };
        if name.placed
            && let Some(d) = self.dirs.get_mut(&name.dir)
        {
            d.entries.remove(&name.name);
        }
        let Some(inode) = self.inodes.get_mut(&name.inode) else {
            return false;
        };
        inode.names.retain(|&n| n != key);
        let last = inode.names.is_empty();
        if last {
            self.inodes.remove(&name.inode);
        }
        last
    }

    fn forget_name(&mut self, key: NameKey) {
        self.take_name(key);
    }

    /// Whether a file counts: one of its names lies inside the roots.
    fn is_inside(&self, inode: InodeKey) -> bool {
        self.inodes.get(&inode).is_some_and(|i| {
            i.names
                .iter()
                .any(|n| self.names.get(n).is_some_and(|n| self.dir_inside(n.dir)))
        })
    }

    fn dir_inside(&self, dir: DirKey) -> bool {
        self.dirs.get(&dir).is_some_and(|d| d.inside)
    }

    /// A name of the inode in the workload; if it has none and lies inside, one of its names gets its place
    /// there. `None`: the file does not count.
    fn id_of(&mut self, inode: InodeKey, t_ns: i64) -> Result<Option<FileId>, Fault> {
        let Some(node) = self.inodes.get(&inode) else {
            return Ok(None);
        };
        let mut inside = None;
        for &key in &node.names {
            let Some(name) = self.names.get(&key) else {
                continue;
            };
            if name.id.is_some() {
                return Ok(name.id);
            }
            if inside.is_none() && self.dir_inside(name.dir) {
                inside = Some(key);
            }
        }
        match inside {
            Some(key) => self.show(key, 0, t_ns),
            None => Ok(None),
        }
    }

    /// Gives a name its place in the workload, if it has none yet and may have one.
    fn show(&mut self, key: NameKey, writer: Writer, t_ns: i64) -> Result<Option<FileId>, Fault> {
        let Some(name) = self.names.get(&key) else {
            return Ok(None);
        };
        if name.id.is_some() {
            return Ok(name.id);
        }
        let (inode, dir, text) = (name.inode, name.dir, name.name.clone());
        if !self.dir_inside(dir) {
            return Ok(None);
        }
        let node = &self.inodes[&inode];
        let other = node
            .names
            .iter()
            .find_map(|n| self.names.get(n).and_then(|n| n.id));
        let was_before = node.born == Born::Before;
        if was_before && self.only_new {
            self.summary.left_out_before += 1;
            return Ok(None);
        }
        let Some(dir_id) = self.show_dir(dir, t_ns)? else {
            return Ok(None);
        };
        let id = self.out.new_file();
        let at_start = was_before && self.initial.has_dir(dir_id);
        if let Some(name) = self.names.get_mut(&key) {
            name.id = Some(id);
        }
        if let Some(existing) = other {
            self.out.link(id, existing, dir_id, &text, t_ns)?;
        } else if at_start {
            self.show_before(id, inode, dir_id, &text);
        } else {
            let node = &self.inodes[&inode];
            let made = Made {
                dir: dir_id,
                name: &text,
                bytes: node.size,
                symlink: node.symlink,
                writer,
                src: node.src,
                t_ns,
            };
            if node.born != Born::Made {
                self.summary.appeared += 1;
            }
            let growing = self.out.create(id, &made)?;
            if let Some(node) = self.inodes.get_mut(&inode) {
                if node.born == Born::Before {
                    node.born = Born::Appeared;
                }
                node.growing = (!node.symlink).then_some(growing);
            }
        }
        Ok(Some(id))
    }

    /// The file was there before: the first pass notes it, the second knows it.
    fn show_before(&mut self, id: FileId, inode: InodeKey, dir: DirId, name: &[u8]) {
        let Some(node) = self.inodes.get_mut(&inode) else {
            return;
        };
        if let Some(known) = self.initial.file(id) {
            node.size = node.size.max(known.size);
        } else if !self.out.is_open() {
            self.initial.add_file(InitialFile {
                id,
                dir,
                name: name.into(),
                size: node.size,
                size_known: node.size_known,
                src: node.src,
            });
        }
    }
}
