//! An accountant who knows nothing of the generators: plays every event, checks that it fits what is there, and
//! counts space block by block.

use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, SinkError};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A file as the events made it.
#[derive(Clone, Debug)]
pub struct File {
    pub dir: DirId,
    pub name: Option<Box<[u8]>>,
    pub bytes: u64,
    pub born_ns: i64,
}

/// A directory.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    pub parent: Option<DirId>,
    pub name: Option<Box<[u8]>>,
    pub names: HashSet<Box<[u8]>>,
    pub entries: u64,
}

pub struct Account {
    block: u64,
    fragment: u64,
    pub files: BTreeMap<FileId, File>,
    pub dirs: HashMap<DirId, Dir>,
    pub operations: u64,
    pub verbs: BTreeMap<&'static str, u64>,
    pub bytes_written: u64,
    /// Fragments of files, and one for every directory.
    pub used: u64,
    /// `used` at every `day`.
    pub days: Vec<u64>,
    pub hash: u64,
    t_ns: i64,
}

/// Fragments of a file, counted block by block as they are mapped (to the double indirect block).
pub fn fragments(bytes: u64, block: u64, fragment: u64) -> u64 {
    let pointers = block / 4;
    let mut total = 0;
    let mut n = 0;
    while n * block < bytes {
        let here = (bytes - n * block).min(block);
        if bytes <= 12 * block {
            total += here.div_ceil(fragment);
        } else {
            total += block / fragment;
        }
        if n >= 12 && (n - 12) % pointers == 0 {
            total += block / fragment;
        }
        if n == 12 + pointers {
            total += block / fragment;
        }
        n += 1;
    }
    total
}

impl Account {
    pub fn new(block: u64, fragment: u64) -> Account {
        Account {
            block,
            fragment,
            files: BTreeMap::new(),
            dirs: HashMap::from([(DirId::ROOT, Dir::default())]),
            operations: 0,
            verbs: BTreeMap::new(),
            bytes_written: 0,
            used: 1,
            days: Vec::new(),
            hash: 0xcbf2_9ce4_8422_2325,
            t_ns: 0,
        }
    }

    fn space(&self, bytes: u64) -> u64 {
        fragments(bytes, self.block, self.fragment)
    }

    fn resize(&mut self, id: FileId, bytes: u64) {
        let old = self.files[&id].bytes;
        self.used = self.used + self.space(bytes) - self.space(old);
        self.files.get_mut(&id).expect("alive").bytes = bytes;
    }

    fn enter(&mut self, dir: DirId, name: Option<&[u8]>) {
        let d = self.dirs.get_mut(&dir).expect("a directory that is there");
        d.entries += 1;
        let name = name.expect("every name is recorded");
        fsage_core::names::check_name(name).expect("a name");
        assert!(
            d.names.insert(name.into()),
            "{:?} twice in {dir}",
            String::from_utf8_lossy(name)
        );
    }

    fn leave(&mut self, dir: DirId, name: Option<&[u8]>) {
        let d = self.dirs.get_mut(&dir).expect("a directory that is there");
        d.entries -= 1;
        assert!(d.names.remove(name.expect("a name")));
    }

    /// Depth of a file's directory; the root is 0.
    pub fn depth(&self, dir: DirId) -> usize {
        let parent = self.dirs[&dir].parent;
        parent.map_or(0, |above| 1 + self.depth(above))
    }

    /// `verb t numbers name`, as FNV-1a.
    fn add_to_hash(&mut self, event: &Event) {
        let numbers = match event.op {
            Op::Mkdir { dir, parent } => [dir.0, parent.map_or(0, |p| p.0), 0],
            Op::Rmdir { dir } => [dir.0, 0, 0],
            Op::Create { file, dir, bytes } => [file.0, dir.0, bytes],
            Op::Append { file, bytes }
            | Op::Rewrite { file, bytes }
            | Op::Truncate { file, bytes } => [file.0, bytes, 0],
            Op::Overwrite { file, range } | Op::Read { file, range } => {
                let (offset, length) = range.unwrap_or((0, 0));
                [file.0, offset, length]
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => [file.0, dir.0, replaced.map_or(u64::MAX, |r| r.0)],
            Op::Delete { file } | Op::Fsync { file } => [file.0, 0, 0],
            Op::Day => [0, 0, 0],
            other => panic!("no generator makes {other:?}"),
        };
        let verb = event.op.verb().as_str().bytes();
        let t_ns = event.t_ns.unwrap_or(0).to_le_bytes();
        let numbers = numbers.into_iter().flat_map(u64::to_le_bytes);
        let name = event.name.iter().flatten().copied();
        for byte in verb.chain(t_ns).chain(numbers).chain(name) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl EventSink for Account {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        const DAY_NS: i64 = 86_400_000_000_000;
        self.add_to_hash(&event);
        let t_ns = event.t_ns.expect("a time");
        assert!(t_ns >= self.t_ns, "time goes back at {event:?}");
        assert_eq!(t_ns / DAY_NS, self.days.len() as i64, "{event:?}");
        self.t_ns = t_ns;
        let name = event.name.as_deref();
        if event.op == Op::Day {
            let label = (self.days.len() + 1).to_string();
            assert_eq!(name, Some(label.as_bytes()));
            self.days.push(self.used);
            return Ok(());
        }
        assert_eq!(event.origin, Some(Origin::Generated));
        self.operations += 1;
        *self.verbs.entry(event.op.verb().as_str()).or_default() += 1;
        self.bytes_written += event.op.bytes_written();
        match event.op {
            Op::Mkdir { dir, parent } => {
                let above = parent.expect("a parent");
                self.enter(above, name);
                let made = Dir {
                    parent,
                    name: event.name.clone(),
                    ..Dir::default()
                };
                assert!(self.dirs.insert(dir, made).is_none(), "{dir} again");
                self.used += 1;
            }
            Op::Rmdir { dir } => {
                let gone = self.dirs.remove(&dir).expect("a directory that is there");
                assert_eq!(gone.entries, 0);
                self.leave(gone.parent.expect("not the root"), gone.name.as_deref());
                self.used -= 1;
            }
            Op::Create { file, dir, bytes } => {
                self.enter(dir, name);
                let made = File {
                    dir,
                    name: event.name.clone(),
                    bytes,
                    born_ns: t_ns,
                };
                self.used += self.space(bytes);
                assert!(self.files.insert(file, made).is_none(), "{file} again");
            }
            Op::Append { file, bytes } => self.resize(file, self.files[&file].bytes + bytes),
            Op::Rewrite { file, bytes } => self.resize(file, bytes),
            Op::Truncate { file, bytes } => {
                assert!(bytes <= self.files[&file].bytes);
                self.resize(file, bytes);
            }
            Op::Overwrite { file, range } => {
                let (offset, length) = range.expect("a range");
                assert!(length > 0 && offset + length <= self.files[&file].bytes);
            }
            Op::Read { file, .. } | Op::Fsync { file } => {
                assert!(self.files.contains_key(&file));
            }
            Op::Delete { file } => {
                let gone = self.files.remove(&file).expect("a file that is there");
                self.used -= self.space(gone.bytes);
                self.leave(gone.dir, gone.name.as_deref());
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                if let Some(replaced) = replaced {
                    let gone = self.files.remove(&replaced).expect("a file that is there");
                    assert_eq!((gone.dir, gone.name.as_deref()), (dir, name));
                    self.used -= self.space(gone.bytes);
                    self.leave(gone.dir, gone.name.as_deref());
                }
                let old = self.files[&file].clone();
                self.leave(old.dir, old.name.as_deref());
                self.enter(dir, name);
                let moved = self.files.get_mut(&file).expect("alive");
                (moved.dir, moved.name) = (dir, event.name.clone());
            }
            other => panic!("no generator makes {other:?}"),
        }
        Ok(())
    }
}
