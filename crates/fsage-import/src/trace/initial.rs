//! What was there before the trace began: made at the start of the workload.

use super::Fault;
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, TQuality};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Debug)]
struct InitialDir {
    id: DirId,
    parent: DirId,
    name: Box<[u8]>,
}

#[derive(Clone, Debug)]
pub(crate) struct InitialFile {
    pub id: FileId,
    pub dir: DirId,
    pub name: Box<[u8]>,
    pub size: u64,
    pub size_known: bool,
    pub src: Option<(u64, u32)>,
}

/// The tree before the trace, as the first pass found it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Initial {
    dirs: Vec<InitialDir>,
    by_id: FxHashMap<DirId, usize>,
    files: Vec<InitialFile>,
    file_by_id: FxHashMap<FileId, usize>,
    taken: FxHashSet<(DirId, Box<[u8]>)>,
    /// The last number that a name got that was there already.
    numbers: FxHashMap<(DirId, Box<[u8]>), u64>,
    t_ns: Option<i64>,
}

impl Initial {
    pub fn add_dir(&mut self, id: DirId, parent: DirId, name: &[u8]) {
        let name = self.unique(parent, name);
        self.by_id.insert(id, self.dirs.len());
        self.dirs.push(InitialDir { id, parent, name });
    }

    /// Whether a directory was there.
    pub fn has_dir(&self, id: DirId) -> bool {
        id == DirId::ROOT || self.by_id.contains_key(&id)
    }

    pub fn add_file(&mut self, mut file: InitialFile) {
        file.name = self.unique(file.dir, &file.name);
        self.file_by_id.insert(file.id, self.files.len());
        self.files.push(file);
    }

    /// The trace tells only now where a directory lies. False: it cannot lie there.
    pub fn place_dir(&mut self, id: DirId, parent: DirId, name: &[u8]) -> bool {
        let Some(&index) = self.by_id.get(&id) else {
            return false;
        };
        let mut above = parent;
        while above != DirId::ROOT {
            if above == id {
                return false;
            }
            match self.by_id.get(&above) {
                Some(&i) => above = self.dirs[i].parent,
                // Made by the trace: it was not there at the start.
                None => return false,
            }
        }
        let old = self.dirs[index].clone();
        self.taken.remove(&(old.parent, old.name));
        let name = self.unique(parent, name);
        self.dirs[index] = InitialDir { id, parent, name };
        true
    }

    /// The trace tells only now where a file lies.
    pub fn place_file(&mut self, id: FileId, dir: DirId, name: &[u8]) {
        let Some(&index) = self.file_by_id.get(&id) else {
            return;
        };
        if !self.has_dir(dir) {
            return;
        }
        let old = (self.files[index].dir, self.files[index].name.clone());
        self.taken.remove(&old);
        let name = self.unique(dir, name);
        self.files[index].dir = dir;
        self.files[index].name = name;
    }

    /// The trace shows that the file was at least so large.
    pub fn grow_file(&mut self, id: FileId, size: u64) {
        if let Some(&index) = self.file_by_id.get(&id) {
            let file = &mut self.files[index];
            file.size = file.size.max(size);
            file.size_known = true;
        }
    }

    pub fn start_at(&mut self, t_ns: Option<i64>) {
        self.t_ns = t_ns;
    }

    pub fn file(&self, id: FileId) -> Option<&InitialFile> {
        self.file_by_id.get(&id).map(|&i| &self.files[i])
    }

    pub fn files(&self) -> &[InitialFile] {
        &self.files
    }

    /// Every directory with its parent.
    pub fn dirs(&self) -> impl Iterator<Item = (DirId, DirId)> {
        self.dirs.iter().map(|d| (d.id, d.parent))
    }

    /// Gives the tree to a sink, parents first.
    pub fn emit(&self, sink: &mut dyn EventSink) -> Result<(), Fault> {
        let mut done = vec![false; self.dirs.len()];
        let mut chain = Vec::new();
        for index in 0..self.dirs.len() {
            let mut next = Some(index);
            while let Some(i) = next.filter(|&i| !done[i]) {
                chain.push(i);
                done[i] = true;
                next = self.by_id.get(&self.dirs[i].parent).copied();
            }
            while let Some(i) = chain.pop() {
                let dir = &self.dirs[i];
                let op = Op::Mkdir {
                    dir: dir.id,
                    parent: Some(dir.parent),
                };
                self.send(sink, Event::new(op).named(&dir.name))?;
            }
        }
        for file in &self.files {
            let op = Op::Create {
                file: file.id,
                dir: file.dir,
                bytes: file.size,
            };
            let mut event = Event::new(op).named(&file.name);
            event.src_ino = file.src.map(|s| s.0);
            event.src_gen = file.src.map(|s| s.1);
            self.send(sink, event)?;
        }
        Ok(())
    }

    fn send(&self, sink: &mut dyn EventSink, event: Event) -> Result<(), Fault> {
        // When they were made is not known, only that it was before.
        let mut event = event.from_source(Origin::Initial, TQuality::Bounded);
        event.t_ns = self.t_ns;
        sink.event(event).map_err(Fault::Sink)
    }

    /// Two entries of a directory must differ: a second one of a name gets a number.
    fn unique(&mut self, dir: DirId, name: &[u8]) -> Box<[u8]> {
        let mut key = (dir, Box::<[u8]>::from(name));
        if self.taken.insert(key.clone()) {
            return key.1;
        }
        // Where the last one got its number, so that the same name many times over is no long search.
        let mut number = self.numbers.get(&key).copied().unwrap_or(1);
        let first = key.clone();
        loop {
            number += 1;
            key.1 = [name, format!("~{number}").as_bytes()].concat().into();
            if self.taken.insert(key.clone()) {
                break;
            }
        }
        self.numbers.insert(first, number);
        key.1
    }
}
