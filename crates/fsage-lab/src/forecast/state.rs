//! Futures on what a snapshot tells: `--on ext4:from=SNAPSHOT`.
//!
//! A model that begins with a snapshot has the files of that night where they lay, under ids of its own. The past is
//! not lived on it, and its files are known by other ids. So both are found by their paths, and the operations of a
//! future name what the model knows.

use super::past::UntilMark;
use crate::compare::Workload;
use crate::error::{self, Context, bail};
use crate::generate::Source;
use fsage_core::names::escape;
use fsage_core::{
    DirId, Event, EventSource, FileId, FileKind, IdMut, Op, SinkError, WorkloadHeader,
};
use fsage_target::{Target, TargetSpec};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

/// Ids of what a model found in a snapshot: this and the inode number. [`Same::find`] asks the model whether it is so.
const FOUND: u64 = 1 << 60;

/// Ids of the past, and those of the same files and directories on the model.
#[derive(Debug, Default)]
pub(super) struct Same {
    files: BTreeMap<u64, u64>,
    dirs: BTreeMap<u64, u64>,
    /// Files of the past that the model does not have.
    pub missing: u64,
}

/// What the values of today are of, where the past is one of snapshots and the target does not begin with one of them.
pub(super) fn now_is(spec: &TargetSpec, past: Workload<'_>) -> Option<String> {
    if !matches!(past, Workload::Made(Source::Snapshots(_))) {
        return None;
    }
    let from = spec.entry()?.from_snapshot?;
    (!spec.has(from.key)).then(|| {
        format!(
            "Now: the layout that these days leave on {kind}, not that of the file system observed. --on \
             {kind}:{}=SNAPSHOT, the last night's, begins with that.",
            from.key,
            kind = spec.kind
        )
    })
}

/// The snapshot that a target begins with, if it begins with one.
pub(super) fn snapshot_of(spec: &TargetSpec) -> Option<&Path> {
    let from = spec.entry()?.from_snapshot?;
    let path = Path::new(spec.value(from.key)?);
    let is_snapshot = path.is_file()
        && fsage_data::is_parquet(path).unwrap_or(false)
        && fsage_data::snapshot::is_snapshot(path).unwrap_or(false);
    is_snapshot.then_some(path)
}

/// What the past knows by name: where it lies, and what it is called there.
#[derive(Default)]
struct Names {
    files: BTreeMap<u64, (u64, Box<[u8]>)>,
    dirs: BTreeMap<u64, (u64, Box<[u8]>)>,
}

impl Names {
    fn take(&mut self, event: &Event) {
        let name = |letter: char, id: u64| {
            let given = event.name.clone();
            given.unwrap_or_else(|| format!("{letter}{id}").into_bytes().into())
        };
        match event.op {
            Op::Mkdir { dir, parent } => {
                let above = parent.unwrap_or(DirId::ROOT).0;
                self.dirs.insert(dir.0, (above, name('d', dir.0)));
            }
            Op::RenameDir { dir, parent } => {
                self.dirs.insert(dir.0, (parent.0, name('d', dir.0)));
            }
            Op::Rmdir { dir } => {
                self.dirs.remove(&dir.0);
            }
            Op::Create { file, dir, .. }
            | Op::Symlink { file, dir, .. }
            | Op::Link { file, dir, .. } => {
                self.files.insert(file.0, (dir.0, name('f', file.0)));
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                if let Some(replaced) = replaced {
                    self.files.remove(&replaced.0);
                }
                self.files.insert(file.0, (dir.0, name('f', file.0)));
            }
            Op::Delete { file } => {
                self.files.remove(&file.0);
            }
            _ => {}
        }
    }

    /// The path from the root, as snapshots spell it; `None` where a directory is missing.
    fn path(&self, (dir, name): &(u64, Box<[u8]>)) -> Option<String> {
        let mut parts = vec![escape(name).into_owned()];
        let mut at = *dir;
        while let Some((above, name)) = self.dirs.get(&at) {
            parts.push(escape(name).into_owned());
            at = *above;
            if parts.len() > 4096 {
                return None;
            }
        }
        if at != DirId::ROOT.0 {
            return None;
        }
        parts.reverse();
        Some(parts.join("/"))
    }
}

impl Same {
    /// Finds what the past and the snapshot share.
    pub fn find(
        workload: &Path,
        marks: u64,
        snapshot: &Path,
        target: &Target,
    ) -> crate::Result<Same> {
        let mut source = fsage_data::open_workload(workload)?;
        let mut until = UntilMark::new(&mut *source, marks);
        let mut names = Names::default();
        while let Some(event) = until.next_event().map_err(error::boxed)? {
            names.take(&event);
        }
        let (_, found) = fsage_data::snapshot::read_snapshot(snapshot)
            .with_context(|| snapshot.display().to_string())?;
        let inodes = found.inodes.iter();
        let of_path = |is_dir: bool| -> BTreeMap<&str, u64> {
            let kind = |kind: FileKind| (kind == FileKind::Directory) == is_dir;
            let named = inodes.clone().filter(|inode| kind(inode.kind));
            named
                .filter_map(|inode| Some((inode.path.as_deref()?, inode.ino)))
                .collect()
        };
        let mut same = Same::default();
        let (files, dirs) = (of_path(false), of_path(true));
        for (id, place) in &names.dirs {
            if let Some(ino) = names
                .path(place)
                .and_then(|path| dirs.get(path.as_str()).copied())
            {
                same.dirs.insert(*id, FOUND | ino);
            }
        }
        for (id, place) in &names.files {
            match names
                .path(place)
                .and_then(|path| files.get(path.as_str()).copied())
            {
                Some(ino) => {
                    same.files.insert(*id, FOUND | ino);
                }
                None => same.missing += 1,
            }
        }
        let Target::Model(model) = target else {
            bail!("a real file system begins with no snapshot");
        };
        let knows = |id: &u64| model.inode(FileId(*id)) == Some(*id & !FOUND);
        same.files.retain(|_, id| {
            let known = knows(id);
            same.missing += u64::from(!known);
            known
        });
        if same.files.is_empty() {
            bail!(
                "{}: no file of the past is in it; expected the last snapshot of the same file system, with the same \
                 names as the ones before it",
                snapshot.display()
            );
        }
        Ok(same)
    }

    /// The operation under the model's ids.
    fn op(&self, op: &mut Op) {
        let Ok(()) = op.visit_ids(|id| {
            let (id, known) = match id {
                IdMut::File(file) => (&mut file.0, &self.files),
                IdMut::Dir(dir) => (&mut dir.0, &self.dirs),
            };
            *id = known.get(id).copied().unwrap_or(*id);
            Ok::<(), Infallible>(())
        });
    }
}

/// A future under the model's ids.
pub(super) struct Renamed<'a, S> {
    pub future: S,
    pub same: Option<&'a Same>,
}

impl<S: EventSource> EventSource for Renamed<'_, S> {
    fn header(&self) -> &WorkloadHeader {
        self.future.header()
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        let mut event = self.future.next_event()?;
        if let (Some(same), Some(event)) = (self.same, &mut event) {
            same.op(&mut event.op);
        }
        Ok(event)
    }
}
