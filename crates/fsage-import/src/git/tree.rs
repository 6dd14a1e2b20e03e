//! The paths alive, and the rules that turn the changes of a step into events.
//!
//! What is asked here is what a path stands for after a step: git knows paths, and no operations that could be refused.
//! Ids are given as paths come and go, so that each operation fits the rules of [`fsage_core::operations`] by
//! construction.

use super::error::{GitError, corrupt, shown};
use super::records::{Change, Kind};
use super::steps::{NS_PER_S, Step};
use super::{GitOptions, GitSummary, View};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, TQuality};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

#[derive(Clone, Copy, Debug)]
struct LiveFile {
    id: FileId,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct LiveDir {
    id: DirId,
    /// Files and directories in it.
    entries: u64,
}

/// Where events go, and the time they get.
struct Output<'a> {
    sink: &'a mut dyn EventSink,
    t_ns: i64,
}

impl Output<'_> {
    fn event(&mut self, event: Event) -> Result<(), GitError> {
        let event = event
            .at(self.t_ns)
            .from_source(Origin::Trace, TQuality::Exact);
        self.sink.event(event).map_err(GitError::Sink)
    }
}

/// The state between two steps.
pub(super) struct Tree<'a> {
    view: View,
    remove_empty_dirs: bool,
    files: FxHashMap<Box<[u8]>, LiveFile>,
    /// Ordered, so that what lies below a directory is a range.
    dirs: BTreeMap<Box<[u8]>, LiveDir>,
    next_file: u64,
    next_dir: u64,
    /// Day and time of the last step.
    last: Option<(u64, i64)>,
    summary: GitSummary,
    out: Output<'a>,
}

impl<'a> Tree<'a> {
    pub fn new(options: &GitOptions, sink: &'a mut dyn EventSink) -> Tree<'a> {
        Tree {
            view: options.view,
            remove_empty_dirs: options.remove_empty_dirs,
            files: FxHashMap::default(),
            dirs: BTreeMap::new(),
            next_file: 0,
            next_dir: 1,
            last: None,
            summary: GitSummary::default(),
            out: Output { sink, t_ns: 0 },
        }
    }

    /// Applies a step; each change comes with the size of its blob, 0 where it writes nothing.
    pub fn step(&mut self, step: &Step, changes: &mut [(Change, u64)]) -> Result<(), GitError> {
        self.begin(step)?;
        // git sorts so already; a configured order of files must not change the workload.
        changes.sort_unstable_by(|a, b| a.0.path.cmp(&b.0.path));
        let mut left = BTreeSet::new();
        for (change, _) in changes.iter() {
            self.count_skipped(change);
            if change.before == Kind::File && change.after != Kind::File {
                self.delete(&change.path)?;
                if self.remove_empty_dirs {
                    left.insert(parent(&change.path));
                }
            }
        }
        for dir in left.into_iter().rev() {
            self.remove_if_empty(dir)?;
        }
        for (change, bytes) in changes.iter().filter(|(c, _)| c.writes()) {
            match (change.before == Kind::File, self.view) {
                (false, _) => self.create(&change.path, *bytes)?,
                (true, View::Commit) => self.rewrite(&change.path, *bytes)?,
                (true, View::Day) => {
                    self.delete(&change.path)?;
                    self.summary.replacements += 1;
                    self.create(&change.path, *bytes)?;
                }
            }
        }
        let s = &mut self.summary;
        s.live_files = self.files.len() as u64;
        s.most_live_files = s.most_live_files.max(s.live_files);
        s.most_live_bytes = s.most_live_bytes.max(s.live_bytes);
        Ok(())
    }

    /// Ends the last day.
    pub fn finish(mut self) -> Result<GitSummary, GitError> {
        self.end_day()?;
        Ok(self.summary)
    }

    /// Commits done so far.
    pub fn commits(&self) -> u64 {
        self.summary.commits
    }

    fn begin(&mut self, step: &Step) -> Result<(), GitError> {
        if let Some((day, seconds)) = self.last {
            if day != step.day {
                self.end_day()?;
            }
            self.summary.times_going_down += u64::from(step.seconds < seconds);
        } else {
            self.summary.first_commit_s = step.seconds;
        }
        self.last = Some((step.day, step.seconds));
        self.out.t_ns = step.seconds * NS_PER_S;
        self.summary.commits += step.commits;
        self.summary.steps += 1;
        self.summary.last_step_s = step.seconds;
        Ok(())
    }

    fn end_day(&mut self) -> Result<(), GitError> {
        let Some((day, _)) = self.last else {
            return Ok(());
        };
        self.summary.days_with_commits += 1;
        self.summary.days = day + 1;
        let event = Event::day(&day.to_string()).at(self.out.t_ns);
        self.out.sink.event(event).map_err(GitError::Sink)
    }

    fn count_skipped(&mut self, change: &Change) {
        let sides = [change.before, change.after];
        let s = &mut self.summary;
        s.symlink_changes += u64::from(sides.contains(&Kind::Symlink));
        s.submodule_changes += u64::from(sides.contains(&Kind::Submodule));
        s.mode_only_changes += u64::from(sides == [Kind::File; 2] && change.same_blob);
    }

    fn create(&mut self, path: &[u8], bytes: u64) -> Result<(), GitError> {
        if self.files.contains_key(path) {
            return Err(corrupt(
                "diff-tree",
                format!("{} is added twice", shown(path)),
            ));
        }
        self.clear_the_way(path)?;
        let dir = self.directory(parent(path))?;
        let id = FileId(self.next_file);
        self.next_file += 1;
        self.files.insert(path.into(), LiveFile { id, bytes });
        self.count_entry(parent(path), true);
        self.summary.creates += 1;
        self.summary.bytes_written += bytes;
        self.summary.live_bytes += bytes;
        let op = Op::Create {
            file: id,
            dir,
            bytes,
        };
        self.out.event(Event::new(op).named(last_component(path)))
    }

    fn rewrite(&mut self, path: &[u8], bytes: u64) -> Result<(), GitError> {
        let file = self.files.get_mut(path).ok_or_else(|| not_there(path))?;
        self.summary.rewrites += 1;
        self.summary.bytes_written += bytes;
        self.summary.live_bytes = self.summary.live_bytes - file.bytes + bytes;
        file.bytes = bytes;
        let op = Op::Rewrite {
            file: file.id,
            bytes,
        };
        self.out.event(Event::new(op))
    }

    fn delete(&mut self, path: &[u8]) -> Result<(), GitError> {
        let file = self.files.remove(path).ok_or_else(|| not_there(path))?;
        self.count_entry(parent(path), false);
        self.summary.deletes += 1;
        self.summary.live_bytes -= file.bytes;
        self.out.event(Event::new(Op::Delete { file: file.id }))
    }

    /// The directory, made with its parents if it is not there.
    fn directory(&mut self, path: &[u8]) -> Result<DirId, GitError> {
        if path.is_empty() {
            return Ok(DirId::ROOT);
        }
        if let Some(dir) = self.dirs.get(path) {
            return Ok(dir.id);
        }
        if self.files.contains_key(path) {
            let what = format!("{} is a file and a directory", shown(path));
            return Err(corrupt("diff-tree", what));
        }
        let above = self.directory(parent(path))?;
        let id = DirId(self.next_dir);
        self.next_dir += 1;
        self.dirs.insert(path.into(), LiveDir { id, entries: 0 });
        self.count_entry(parent(path), true);
        self.summary.mkdirs += 1;
        let op = Op::Mkdir {
            dir: id,
            parent: Some(above),
        };
        self.out.event(Event::new(op).named(last_component(path)))?;
        Ok(id)
    }

    /// Removes a directory, and those below it, whose name a file takes. Only empty ones can be left there.
    fn clear_the_way(&mut self, path: &[u8]) -> Result<(), GitError> {
        if !self.dirs.contains_key(path) {
            return Ok(());
        }
        let below = [path, b"/"].concat();
        let mut doomed: Vec<Box<[u8]>> = vec![path.into()];
        doomed.extend(
            self.dirs
                .range::<[u8], _>((Bound::Included(below.as_slice()), Bound::Unbounded))
                .map(|(p, _)| p)
                .take_while(|p| p.starts_with(&below))
                .cloned(),
        );
        for dir in doomed.iter().rev() {
            self.remove_directory(dir)?;
        }
        Ok(())
    }

    /// Removes a directory that deletions left empty, and then its parents if that empties them.
    fn remove_if_empty(&mut self, mut path: &[u8]) -> Result<(), GitError> {
        while self.dirs.get(path).is_some_and(|d| d.entries == 0) {
            self.remove_directory(path)?;
            path = parent(path);
        }
        Ok(())
    }

    fn remove_directory(&mut self, path: &[u8]) -> Result<(), GitError> {
        let dir = self.dirs.remove(path).filter(|d| d.entries == 0);
        let dir = dir.ok_or_else(|| {
            let what = format!("{} is a directory and a file", shown(path));
            corrupt("diff-tree", what)
        })?;
        self.count_entry(parent(path), false);
        self.summary.rmdirs += 1;
        self.out.event(Event::new(Op::Rmdir { dir: dir.id }))
    }

    /// Counts an entry that came to a directory or left it; the root's are not counted.
    fn count_entry(&mut self, dir: &[u8], came: bool) {
        if let Some(d) = self.dirs.get_mut(dir) {
            d.entries = if came { d.entries + 1 } else { d.entries - 1 };
        }
    }
}

fn not_there(path: &[u8]) -> GitError {
    let what = format!("{} changes and was never added", shown(path));
    corrupt("diff-tree", what)
}

/// Path of the directory that an entry lies in; empty for the root.
fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|&b| b == b'/');
    &path[..slash.unwrap_or(0)]
}

fn last_component(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|&b| b == b'/');
    &path[slash.map_or(0, |s| s + 1)..]
}
