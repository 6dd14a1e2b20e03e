//! A strict replay of events: the state errors of the workload format, and what is alive in the end.

use fsage_core::{DirId, Event, FileId, Op, Origin};
use fsage_import::nfsdump::{self, NfsSummary};
use fsage_import::op_log::{self, OpLogSummary};
use fsage_import::strace::{self, StraceSummary};
use fsage_import::trace::{Log, TraceError, TraceOptions};
use std::collections::BTreeMap;

/// What the events leave behind.
#[derive(Debug, Default)]
pub struct State {
    dirs: BTreeMap<DirId, (DirId, String)>,
    files: BTreeMap<FileId, (DirId, String, u64)>,
    sizes: BTreeMap<u64, u64>,
    next_inode: u64,
}

impl State {
    /// Replays events; panics at the first state error.
    pub fn after(events: &[Event]) -> State {
        let mut state = State::default();
        for event in events {
            state
                .apply(event)
                .unwrap_or_else(|why| panic!("{why}: {event:?}"));
        }
        state
    }

    fn has_dir(&self, dir: DirId) -> Result<(), String> {
        let known = dir == DirId::ROOT || self.dirs.contains_key(&dir);
        known.then_some(()).ok_or(format!("no directory {dir}"))
    }

    fn size(&mut self, file: FileId) -> Result<&mut u64, String> {
        let inode = self.files.get(&file).ok_or(format!("no file {file}"))?.2;
        self.sizes
            .get_mut(&inode)
            .ok_or(format!("no inode of file {file}"))
    }

    fn remove(&mut self, file: FileId) -> Result<(), String> {
        let (_, _, inode) = self.files.remove(&file).ok_or(format!("no file {file}"))?;
        if self.files.values().all(|f| f.2 != inode) {
            self.sizes.remove(&inode);
        }
        Ok(())
    }

    fn make(&mut self, file: FileId, dir: DirId, name: String, bytes: u64) -> Result<(), String> {
        self.has_dir(dir)?;
        self.next_inode += 1;
        self.sizes.insert(self.next_inode, bytes);
        let entry = (dir, name, self.next_inode);
        match self.files.insert(file, entry) {
            None => Ok(()),
            Some(_) => Err(format!("file {file} is alive")),
        }
    }

    fn apply(&mut self, event: &Event) -> Result<(), String> {
        let name = event.name.as_deref();
        let name = name.map_or(String::new(), |n| String::from_utf8_lossy(n).into_owned());
        match event.op {
            Op::Mkdir { dir, parent } => {
                let parent = parent.unwrap_or(DirId::ROOT);
                self.has_dir(parent)?;
                if self.dirs.insert(dir, (parent, name)).is_some() {
                    return Err(format!("directory {dir} is alive"));
                }
            }
            Op::Rmdir { dir } => {
                let used = self.files.values().any(|f| f.0 == dir);
                if used || self.dirs.values().any(|d| d.0 == dir) {
                    return Err(format!("directory {dir} is not empty"));
                }
                self.dirs.remove(&dir).ok_or("no such directory")?;
            }
            Op::RenameDir { dir, parent } => {
                self.has_dir(parent)?;
                let mut above = parent;
                while above != DirId::ROOT {
                    if above == dir {
                        return Err(format!("directory {dir} below itself"));
                    }
                    above = self.dirs[&above].0;
                }
                *self.dirs.get_mut(&dir).ok_or("no such directory")? = (parent, name);
            }
            Op::Create { file, dir, bytes } | Op::Symlink { file, dir, bytes } => {
                self.make(file, dir, name, bytes)?;
            }
            Op::Append { file, bytes } => *self.size(file)? += bytes,
            Op::Write {
                file,
                offset,
                bytes,
            }
            | Op::Fallocate {
                file,
                offset,
                bytes,
            } => {
                let size = self.size(file)?;
                *size = (*size).max(offset + bytes);
            }
            Op::Overwrite { file, range } => {
                let (offset, bytes) = range.ok_or("an overwrite of the whole file")?;
                if offset + bytes > *self.size(file)? {
                    return Err("overwrite beyond the end".to_owned());
                }
            }
            Op::Rewrite { file, bytes } | Op::Truncate { file, bytes } => {
                *self.size(file)? = bytes;
            }
            Op::Punch { file, .. } | Op::Fsync { file } => {
                self.size(file)?;
            }
            Op::Delete { file } => self.remove(file)?,
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                self.has_dir(dir)?;
                if let Some(old) = replaced {
                    let there = self.files.get(&old).is_some_and(|f| f.0 == dir);
                    if !there || old == file {
                        return Err(format!("replaced file {old} is not in directory {dir}"));
                    }
                    self.remove(old)?;
                }
                let entry = self.files.get_mut(&file).ok_or("no such file")?;
                (entry.0, entry.1) = (dir, name);
            }
            Op::Link {
                file,
                existing,
                dir,
            } => {
                self.has_dir(dir)?;
                let inode = self.files.get(&existing).ok_or("no such file")?.2;
                if self.files.insert(file, (dir, name, inode)).is_some() {
                    return Err(format!("file {file} is alive"));
                }
            }
            Op::Sync | Op::Day => {}
            other => return Err(format!("no trace has {other:?}")),
        }
        Ok(())
    }

    fn dir_path(&self, dir: DirId) -> String {
        match self.dirs.get(&dir) {
            Some((parent, name)) => format!("{}/{name}", self.dir_path(*parent)),
            None => String::new(),
        }
    }

    /// Path and size of every file, in order.
    pub fn files(&self) -> Vec<(String, u64)> {
        let mut files: Vec<(String, u64)> = self
            .files
            .values()
            .map(|(dir, name, inode)| {
                let path = format!("{}/{name}", self.dir_path(*dir));
                (path, self.sizes[inode])
            })
            .collect();
        files.sort();
        files
    }
}

/// One line an event, without times: what is made, in words of the text form.
pub fn words(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .filter(|e| !matches!(e.op, Op::Mkdir { .. } | Op::Day))
        .map(|e| {
            let before = if e.origin == Some(Origin::Initial) {
                "before: "
            } else {
                ""
            };
            let text = match e.op {
                Op::Create { file, bytes, .. } => format!("create {file} {bytes}"),
                Op::Symlink { file, bytes, .. } => format!("symlink {file} {bytes}"),
                Op::Append { file, bytes } => format!("append {file} {bytes}"),
                Op::Write {
                    file,
                    offset,
                    bytes,
                } => format!("write {file} {offset} {bytes}"),
                Op::Overwrite {
                    file,
                    range: Some((offset, bytes)),
                } => format!("overwrite {file} {offset} {bytes}"),
                Op::Rewrite { file, bytes } => format!("rewrite {file} {bytes}"),
                Op::Truncate { file, bytes } => format!("truncate {file} {bytes}"),
                Op::Fallocate {
                    file,
                    offset,
                    bytes,
                } => format!("fallocate {file} {offset} {bytes}"),
                Op::Punch {
                    file,
                    offset,
                    bytes,
                } => format!("punch {file} {offset} {bytes}"),
                Op::Delete { file } => format!("delete {file}"),
                Op::Rename { file, replaced, .. } => match replaced {
                    Some(old) => format!("rename {file} over {old}"),
                    None => format!("rename {file}"),
                },
                Op::Link { file, existing, .. } => format!("link {file} {existing}"),
                Op::Fsync { file } => format!("fsync {file}"),
                other => format!("{}", other.verb()),
            };
            format!("{before}{text}")
        })
        .collect()
}

macro_rules! importer {
    ($name:ident, $module:ident, $summary:ty) => {
        /// Imports a log from memory and replays it.
        pub fn $name(
            log: &[u8],
            options: &TraceOptions,
        ) -> Result<(Vec<Event>, State, $summary), TraceError> {
            let mut events = Vec::new();
            let mut logs = [Log::from_bytes("test.log", log)];
            let summary = $module::import(&mut logs, options, &mut events, &mut || Ok(()))?;
            let state = State::after(&events);
            Ok((events, state, summary))
        }
    };
}

importer!(import_strace, strace, StraceSummary);
importer!(import_nfsdump, nfsdump, NfsSummary);
importer!(import_op_log, op_log, OpLogSummary);

/// Options that only leave out what existed before.
pub fn only_new() -> TraceOptions {
    TraceOptions {
        only_new: true,
        ..TraceOptions::default()
    }
}
