//! A small file system that knows nothing of the code under test: it does what a workload says, and refuses
//! what cannot be done.

use fsage_core::{DirId, Event, FileId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// A file system that does what a workload says.
#[derive(Debug)]
pub struct Replay {
    dirs: BTreeMap<DirId, (DirId, String)>,
    files: BTreeMap<FileId, (DirId, String, usize)>,
    sizes: Vec<u64>,
    entries: BTreeSet<(DirId, String)>,
    pub days: u32,
}

impl Replay {
    pub fn new() -> Replay {
        Replay {
            dirs: BTreeMap::from([(DirId::ROOT, (DirId::ROOT, String::new()))]),
            files: BTreeMap::new(),
            sizes: Vec::new(),
            entries: BTreeSet::new(),
            days: 0,
        }
    }

    fn name(event: &Event, default: String) -> String {
        let name = event.name.as_deref();
        name.map_or(default, |name| String::from_utf8(name.to_vec()).unwrap())
    }

    fn enter(&mut self, dir: DirId, name: &str) -> Result<(), String> {
        if !self.dirs.contains_key(&dir) {
            return Err(format!("no directory {dir}"));
        }
        if !self.entries.insert((dir, name.to_owned())) {
            return Err(format!("{name} twice in directory {dir}"));
        }
        Ok(())
    }

    fn leave(&mut self, file: FileId) -> Result<usize, String> {
        let (dir, name, node) = self.files.remove(&file).ok_or(format!("no file {file}"))?;
        self.entries.remove(&(dir, name));
        Ok(node)
    }

    fn size(&mut self, file: FileId) -> Result<&mut u64, String> {
        let node = self.files.get(&file).ok_or(format!("no file {file}"))?.2;
        Ok(&mut self.sizes[node])
    }

    pub fn apply(&mut self, event: &Event) -> Result<(), String> {
        match event.op {
            Op::Mkdir { dir, parent } => {
                let name = Self::name(event, format!("d{dir}"));
                let parent = parent.unwrap_or(DirId::ROOT);
                self.enter(parent, &name)?;
                if self.dirs.insert(dir, (parent, name)).is_some() {
                    return Err(format!("directory {dir} exists"));
                }
            }
            Op::Rmdir { dir } => {
                let first = self.entries.range((dir, String::new())..).next();
                if first.is_some_and(|(d, _)| *d == dir) {
                    return Err(format!("directory {dir} is not empty"));
                }
                let (parent, name) = self.dirs.remove(&dir).ok_or("no directory")?;
                self.entries.remove(&(parent, name));
            }
            Op::RenameDir { dir, parent } => {
                let mut above = parent;
                while above != DirId::ROOT {
                    if above == dir {
                        return Err(format!("directory {dir} into itself"));
                    }
                    above = self.dirs.get(&above).ok_or("no directory above")?.0;
                }
                let (old, was) = self.dirs.get(&dir).cloned().ok_or("no directory")?;
                let name = Self::name(event, format!("d{dir}"));
                self.entries.remove(&(old, was));
                self.enter(parent, &name)?;
                self.dirs.insert(dir, (parent, name));
            }
            Op::Create { file, dir, bytes } | Op::Symlink { file, dir, bytes } => {
                let name = Self::name(event, format!("f{file}"));
                self.enter(dir, &name)?;
                self.sizes.push(bytes);
                let node = self.sizes.len() - 1;
                if self.files.insert(file, (dir, name, node)).is_some() {
                    return Err(format!("file {file} exists"));
                }
            }
            Op::Link {
                file,
                existing,
                dir,
            } => {
                let node = self.files.get(&existing).ok_or("no file to link")?.2;
                let name = Self::name(event, format!("f{file}"));
                self.enter(dir, &name)?;
                if self.files.insert(file, (dir, name, node)).is_some() {
                    return Err(format!("file {file} exists"));
                }
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                if let Some(replaced) = replaced {
                    self.leave(replaced)?;
                }
                let node = self.leave(file)?;
                let name = Self::name(event, format!("f{file}"));
                self.enter(dir, &name)?;
                self.files.insert(file, (dir, name, node));
            }
            Op::Delete { file } => {
                self.leave(file)?;
            }
            Op::Append { file, bytes } => *self.size(file)? += bytes,
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => *self.size(file)? = bytes,
            Op::Write {
                file,
                offset,
                bytes,
            } => {
                let size = self.size(file)?;
                *size = (*size).max(offset + bytes);
            }
            Op::Overwrite { file, range } => {
                let size = *self.size(file)?;
                if range.is_some_and(|(offset, bytes)| offset + bytes > size) {
                    return Err(format!("{range:?} of {size} bytes is overwritten"));
                }
            }
            Op::Read { file, .. } | Op::Fsync { file } => {
                self.size(file)?;
            }
            Op::Day => self.days += 1,
            ref other => return Err(format!("{other:?} was not expected")),
        }
        Ok(())
    }

    fn path(&self, dir: DirId, name: &str) -> String {
        let mut path = name.to_owned();
        let mut at = dir;
        while at != DirId::ROOT {
            let (parent, name) = &self.dirs[&at];
            path = format!("{name}/{path}");
            at = *parent;
        }
        path
    }

    pub fn files_and_sizes(&self) -> BTreeSet<(String, u64)> {
        let files = self.files.values();
        files
            .map(|(dir, name, node)| (self.path(*dir, name), self.sizes[*node]))
            .collect()
    }

    pub fn directory_paths(&self) -> BTreeSet<String> {
        let dirs = self.dirs.iter();
        dirs.map(|(id, (parent, name))| {
            if *id == DirId::ROOT {
                String::new()
            } else {
                self.path(*parent, name)
            }
        })
        .collect()
    }
}
