//! What a crash may leave of a log-structured file system, told by what the model looked like while it ran.
//!
//! The rules are those of the specification (docs/spec/lfs.md, section 20): after recovery the check is clean,
//! everything synced is there, an unfinished directory operation is wholly absent. So names are those that were there
//! behind one of the operations since the last sync, and a block of a file has what was synced or was written into it
//! since.

pub mod world;

use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Outcome};
use fsage_models::lfs::{Disk, Lfs, Params, Recovery, Write};
use proptest::test_runner::TestCaseError;
use std::collections::BTreeMap;
use std::rc::Rc;
use world::{Step, World};

/// Names, and the inodes that they lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// Inode numbers by file and directory.
    files: BTreeMap<u64, u64>,
    dirs: BTreeMap<u64, u64>,
    /// Of every inode: kind, number of names, directories of its names by inode number.
    inodes: BTreeMap<u64, (String, u32, Vec<u64>)>,
}

impl Names {
    /// Inode of a file, and the directories of its names.
    fn of(&self, file: u64) -> Option<(u64, &[u64])> {
        let ino = *self.files.get(&file)?;
        Some((ino, &self.inodes[&ino].2))
    }
}

/// Size of a file, and its blocks with the writes that their data are from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Data {
    bytes: u64,
    blocks: BTreeMap<u32, u64>,
}

/// The file system behind an operation.
#[derive(Clone, Debug)]
struct Moment {
    op: Option<Op>,
    /// It was done; otherwise there was no space for all of it.
    done: bool,
    names: Rc<Names>,
    data: BTreeMap<u64, Rc<Data>>,
    /// What the operation has brought to disk.
    synced: Synced,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Synced {
    Nothing,
    File(u64),
    Everything,
}

fn names(fs: &Lfs, last_id: u64) -> Names {
    let mut names = Names::default();
    for id in 1..=last_id {
        if let Some(ino) = fs.inode(FileId(id)) {
            names.files.insert(id, ino);
        }
        if let Some(ino) = fs.directory_inode(DirId(id)) {
            names.dirs.insert(id, ino);
        }
    }
    fs.visit_files(&mut |file| {
        let parents = file.parent_ino.into_iter().collect();
        let kind = format!("{:?}", file.kind);
        names.inodes.insert(file.ino, (kind, file.links, parents));
    });
    fs.visit_further_names(&mut |further| {
        let inode = names
            .inodes
            .get_mut(&further.ino)
            .expect("an inode with a name");
        inode.2.push(further.parent_ino);
        inode.2.sort_unstable();
    });
    names
}

fn data(fs: &Lfs, names: &Names) -> BTreeMap<u64, Rc<Data>> {
    let of = |&id: &u64| {
        let data = Data {
            bytes: fs.file_size(FileId(id)).expect("a file with a name"),
            blocks: fs.data_of(FileId(id)).into_iter().collect(),
        };
        (id, Rc::new(data))
    };
    names.files.keys().map(of).collect()
}

/// A run with all that it wrote.
pub struct Run {
    params: Params,
    fs: Lfs,
    world: World,
    last_id: u64,
    moments: Vec<Moment>,
    /// What is on disk as of the last crash that was tried.
    disk: Disk,
    /// Live bytes beyond which it counts as full.
    most_percent: u64,
    /// What recoveries did.
    pub seen: Seen,
}

/// How often what a recovery is there for came up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub crashes: u64,
    pub adopted: u64,
    pub dropped: u64,
    pub nameless: u64,
    pub cleaned: u64,
}

type Judged = Result<(), TestCaseError>;

fn fail<T>(why: String) -> Result<T, TestCaseError> {
    Err(TestCaseError::fail(why))
}

impl Run {
    /// A file system whose first files fill so many percent of it, on disk, and which others fill up to `most_percent`.
    pub fn new(params: &Params, percent: u64, most_percent: u64) -> Run {
        let fs = Lfs::recorded(params.clone()).expect("the sizes work");
        let mut run = Run {
            params: params.clone(),
            fs,
            world: World::default(),
            last_id: 0,
            moments: Vec::new(),
            disk: Disk::default(),
            most_percent,
            seen: Seen::default(),
        };
        let bytes = run.fs.sizes().data_sectors * 512 * percent / 100;
        for _ in 0..8 {
            run.apply(&Step::Create(0, bytes / 8));
        }
        run.world.keep();
        run.apply(&Step::Sync);
        for write in run.fs.take_writes() {
            run.disk.write(&write);
        }
        run.moments.clear();
        run.remember(None, true, Synced::Everything);
        run
    }

    fn remember(&mut self, op: Option<Op>, done: bool, synced: Synced) {
        let names = Rc::new(names(&self.fs, self.last_id));
        let mut data = data(&self.fs, &names);
        if let Some(before) = self.moments.last() {
            // What has not changed is kept once.
            for (id, now) in &mut data {
                if let Some(same) = before.data.get(id).filter(|before| *before == now) {
                    *now = Rc::clone(same);
                }
            }
        }
        self.moments.push(Moment {
            op,
            done,
            names,
            data,
            synced,
        });
    }

    fn apply(&mut self, step: &Step) -> bool {
        let data_bytes = self.fs.sizes().data_sectors * 512;
        let full = self.fs.live_bytes() * 100 > data_bytes * self.most_percent;
        let Some(op) = self.world.op(step, full) else {
            return false;
        };
        if let Op::Mkdir { dir: DirId(id), .. }
        | Op::Create {
            file: FileId(id), ..
        }
        | Op::Symlink {
            file: FileId(id), ..
        }
        | Op::Link {
            file: FileId(id), ..
        } = op
        {
            self.last_id = id;
        }
        let done = self.fs.apply(&op) == Ok(Outcome::Done);
        self.world.note(&op, done, &self.fs);
        let synced = match op {
            // Behind its end a log takes nothing any more.
            _ if !done || self.fs.ended().is_some() => Synced::Nothing,
            Op::Fsync { file } => Synced::File(file.0),
            Op::Sync | Op::Day => Synced::Everything,
            _ => Synced::Nothing,
        };
        self.remember(Some(op), done, synced);
        true
    }

    /// Applies a step, and judges crashes at its writes: at those of which `at` says so by their number.
    pub fn step(&mut self, step: &Step, at: &mut dyn FnMut() -> bool) -> Judged {
        if !self.apply(step) {
            return Ok(());
        }
        let now = self.moments.len() - 1;
        let writes = self.fs.take_writes();
        for (i, write) in writes.iter().enumerate() {
            if at() {
                self.crash_within(write, now - 1)?;
            }
            self.disk.write(write);
            if i + 1 < writes.len() && at() {
                self.crash(self.disk.clone(), now - 1)?;
            }
        }
        if (!writes.is_empty() || self.moments[now].synced != Synced::Nothing) && at() {
            self.crash(self.disk.clone(), now)?;
        }
        self.seen.cleaned = self.fs.counters().cleaned_segments;
        Ok(())
    }

    /// Crashes while a partial segment is written: behind its summary, in the middle, before the last block.
    fn crash_within(&mut self, write: &Write, complete: usize) -> Judged {
        let blocks = write.blocks();
        let mut cuts = vec![1, blocks / 2, blocks.saturating_sub(1)];
        cuts.retain(|&cut| 0 < cut && cut < blocks);
        cuts.dedup();
        for cut in cuts {
            let mut disk = self.disk.clone();
            disk.write_torn(write, cut);
            self.crash(disk, complete)?;
        }
        Ok(())
    }

    /// The machine stops with this on disk; operations up to `complete` had come back.
    fn crash(&mut self, disk: Disk, complete: usize) -> Judged {
        let last = self.moments.len() - 1;
        let place = format!("crash in {:?}", self.moments[last].op);
        let (mut fs, recovery) = match Lfs::recover(self.params.clone(), disk) {
            Ok(recovered) => recovered,
            Err(error) => return fail(format!("{place}: {error}")),
        };
        checked(&fs, &place)?;
        let found = names(&fs, self.last_id);
        self.judge_names(&found, complete, &place)?;
        for (id, now) in data(&fs, &found) {
            self.judge_data(id, &now, complete)
                .map_err(|why| TestCaseError::fail(format!("{place}, file {id}: {why}")))?;
        }
        self.note(recovery);
        if self.seen.crashes.is_multiple_of(5) {
            self.goes_on(&mut fs, &found, &place)?;
        }
        Ok(())
    }

    fn note(&mut self, recovery: Recovery) {
        self.seen.crashes += 1;
        self.seen.adopted += recovery.adopted_partials as u64;
        self.seen.dropped += recovery.dropped_partials as u64;
        self.seen.nameless += recovery.freed_inodes as u64;
    }

    /// The last moment up to `complete` that had everything, or this file, on disk.
    fn synced(&self, complete: usize, file: Option<u64>) -> usize {
        let is_synced = |moment: &Moment| match moment.synced {
            Synced::Everything => true,
            Synced::Nothing => false,
            // By whichever of its names.
            Synced::File(by) => file.is_some_and(|file| {
                let ino = moment.names.files.get(&file);
                ino.is_some() && moment.names.files.get(&by) == ino
            }),
        };
        self.moments[..=complete]
            .iter()
            .rposition(is_synced)
            .expect("the first moment is synced")
    }

    /// The names are those of a moment since the last sync, which no file that was flushed later contradicts.
    fn judge_names(&self, found: &Names, complete: usize, place: &str) -> Judged {
        let from = self.synced(complete, None);
        let flushed = (from + 1..=complete).filter_map(|m| match self.moments[m].synced {
            Synced::File(file) => Some((m, file)),
            _ => None,
        });
        let flushed: Vec<(usize, u64)> = flushed.collect();
        let fits = |at: usize| {
            let then = &self.moments[at].names;
            let kept = |&(m, file): &(usize, u64)| {
                at >= m || then.of(file) == self.moments[m].names.of(file)
            };
            **then == *found && flushed.iter().all(kept)
        };
        if (from..self.moments.len()).any(fits) {
            return Ok(());
        }
        fail(format!(
            "{place}: no such names since operation {from}: {found:#?}\nthen: {:#?}\nnow: {:#?}",
            self.moments[from].names,
            self.moments.last().map(|moment| &moment.names),
        ))
    }

    /// Every block has what was synced, or what was written since; a file that has not changed is as it was.
    fn judge_data(&self, id: u64, found: &Data, complete: usize) -> Result<(), String> {
        let from = self.synced(complete, Some(id));
        let mut since: Vec<Option<&Rc<Data>>> = self.moments[from..]
            .iter()
            .map(|moment| moment.data.get(&id))
            .collect();
        since.dedup_by(|a, b| match (a, b) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        });
        let of_file = |moment: &&Moment| {
            let ino = self.moments.last().and_then(|m| m.names.files.get(&id));
            let written = moment.op.and_then(written_file);
            written == Some(id)
                || ino.is_some() && written.and_then(|f| moment.names.files.get(&f)) == ino
        };
        let mut ops = self.moments[from + 1..].iter().filter(of_file);
        // An operation may be cut in two: a file is empty before it has its data, and one that found no space was
        // longer for a while.
        let emptied = ops
            .clone()
            .any(|m| matches!(m.op, Some(Op::Rewrite { .. })));
        let failed = ops.any(|moment| !moment.done);
        let sizes = since.iter().map(|data| data.map_or(0, |data| data.bytes));
        let least = if emptied {
            0
        } else {
            sizes.clone().min().unwrap_or(0)
        };
        let most = sizes.max().unwrap_or(0);
        if found.bytes < least || found.bytes > most && !failed {
            return Err(format!("{} bytes, not {least} to {most}", found.bytes));
        }
        let judged = if failed {
            least / 4096
        } else {
            found.bytes.div_ceil(4096)
        };
        for lbn in 0..judged as u32 {
            let at = |data: Option<&Rc<Data>>| data.and_then(|d| d.blocks.get(&lbn).copied());
            let now = found.blocks.get(&lbn).copied();
            let all = since.iter().copied().map(at);
            let hole = now.is_none() && emptied;
            if !hole && !all.clone().any(|then| then == now) {
                let all: Vec<Option<u64>> = all.collect();
                return Err(format!(
                    "block {lbn} is of write {now:?}, not one of {all:?}"
                ));
            }
        }
        Ok(())
    }

    /// A recovered file system takes operations, and another crash.
    fn goes_on(&self, fs: &mut Lfs, found: &Names, place: &str) -> Judged {
        let new = self.last_id + 1;
        let mut ops = vec![
            Op::Mkdir {
                dir: DirId(new),
                parent: None,
            },
            Op::Create {
                file: FileId(new),
                dir: DirId(new),
                bytes: 30_000,
            },
        ];
        for (i, &id) in found.files.keys().enumerate().take(6) {
            let file = FileId(id);
            ops.push(match i {
                0 | 3 => Op::Delete { file },
                1 | 4 => Op::Write {
                    file,
                    offset: 5000,
                    bytes: 20_000,
                },
                _ => Op::Rename {
                    file,
                    dir: DirId(new),
                    replaced: None,
                },
            });
        }
        ops.push(Op::Fsync { file: FileId(new) });
        for op in ops {
            // There may be no space for it.
            let _ = fs.apply(&op);
            checked(fs, &format!("{place}, then {op:?}"))?;
        }
        if fs.ended().is_some() {
            return Ok(());
        }
        let _ = fs.apply(&Op::Sync);
        checked(fs, &format!("{place}, then sync"))?;
        if fs.ended().is_some() {
            return Ok(());
        }
        let disk = fs.disk().expect("it records").clone();
        let (again, _) = match Lfs::recover(self.params.clone(), disk) {
            Ok(recovered) => recovered,
            Err(error) => return fail(format!("{place}, the second time: {error}")),
        };
        checked(&again, &format!("{place}, the second time"))?;
        let (before, after) = (names(fs, new), names(&again, new));
        if before != after || data(fs, &before) != data(&again, &after) {
            return fail(format!("{place}, the second time: {before:#?}\n{after:#?}"));
        }
        Ok(())
    }
}

/// The file that an operation writes to.
fn written_file(op: Op) -> Option<u64> {
    match op {
        Op::Create { file, .. }
        | Op::Symlink { file, .. }
        | Op::Append { file, .. }
        | Op::Write { file, .. }
        | Op::Truncate { file, .. }
        | Op::Rewrite { file, .. } => Some(file.0),
        _ => None,
    }
}

fn checked(fs: &Lfs, place: &str) -> Judged {
    match fs.check() {
        Ok(()) => Ok(()),
        Err(error) => fail(format!("{place}: {:#?}", error.findings)),
    }
}
