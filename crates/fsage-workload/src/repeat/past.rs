//! What was done on every past day, compactly.

use super::RepeatError;
use crate::date::{DAY_NS, date_of_day, weekday};
use crate::world::{Kind, Name, World};
use fsage_core::operations::ROOT;
use fsage_core::{DirId, Event, FileId, Op, Origin, TQuality};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What a past operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kin {
    Mkdir,
    Rmdir,
    Create,
    Symlink,
    Append,
    Write,
    Overwrite,
    OverwriteAll,
    Rewrite,
    Truncate,
    Fallocate,
    Punch,
    Rename,
    Read,
    ReadAll,
    Fsync,
    Delete,
    DeleteSymlink,
    Sync,
    Remount,
}

impl Kin {
    /// Whether its birth is that of a file or a symbolic link.
    pub fn is_of_file(self) -> bool {
        !matches!(self, Kin::Mkdir | Kin::Rmdir | Kin::Sync | Kin::Remount)
    }
}

/// What was done to which file, from where on and how many bytes.
type Done = (Kin, (Option<FileId>, u64, u64));

/// A past operation: 40 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PastOp {
    pub t_ns: i64,
    pub bytes: u64,
    /// Of a rename the place of the directory that its file goes to.
    pub offset: u64,
    /// Size of its file before.
    pub size: f32,
    /// Birth of its file; of a directory its place.
    pub birth: u32,
    /// Place of the directory.
    pub dir: u32,
    /// Rank of the file by age in its directory.
    pub rank: u16,
    pub kin: Kin,
    /// What it makes dies on the same day.
    pub dies: bool,
}

const _: () = assert!(size_of::<PastOp>() == 40);

/// What is in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub used_bytes: u128,
    pub names: u64,
    pub dirs: u64,
}

impl Level {
    pub fn of(world: &World) -> Level {
        Level {
            used_bytes: world.used_bytes,
            names: world.live_names(),
            dirs: world.live_dirs(),
        }
    }
}

/// A date of the past.
#[derive(Clone, Debug)]
pub(super) struct PastDay {
    /// Days since 1970-01-01.
    pub date: i64,
    /// When its `day` came, or would have come.
    pub end_ns: i64,
    pub ops: Range<usize>,
    /// At its end.
    pub level: Level,
    /// It is not only the initial population.
    pub counts: bool,
}

/// All that was learned.
#[derive(Debug)]
pub(super) struct Past {
    epoch_ns: i128,
    pub ops: Vec<PastOp>,
    pub days: Vec<PastDay>,
    /// Group of the last file that was made in a directory, by its place.
    pub hints: FxHashMap<usize, u32>,
    last_ns: Option<i64>,
    /// Where the operations of the open day start.
    open: usize,
    /// The open day has events; it has some of the initial population.
    has_events: bool,
    has_initial: bool,
    learned_last: bool,
    pub left_out_renames: u64,
    pub left_out_links: u64,
    pub unfit: u64,
}

/// More idle days in a row than that are a clock that jumped.
const MAX_IDLE_DAYS: i64 = 366;

impl Past {
    pub fn new(epoch_unix_s: i64) -> Past {
        Past {
            epoch_ns: i128::from(epoch_unix_s) * 1_000_000_000,
            ops: Vec::new(),
            days: Vec::new(),
            hints: FxHashMap::default(),
            last_ns: None,
            open: 0,
            has_events: false,
            has_initial: false,
            learned_last: false,
            left_out_renames: 0,
            left_out_links: 0,
            unfit: 0,
        }
    }

    /// Days since 1970 of a time of the workload.
    fn date(&self, t_ns: i64) -> i64 {
        (self.epoch_ns + i128::from(t_ns)).div_euclid(i128::from(DAY_NS)) as i64
    }

    /// The time of an event: that of the one before, if it has none.
    pub fn time(&mut self, event: &Event) -> Result<i64, RepeatError> {
        let line = Some(event.line).filter(|line| *line != 0);
        let t_ns = event.t_ns.or(self.last_ns);
        let t_ns = t_ns.ok_or(RepeatError::NoTimes { line })?;
        self.last_ns = Some(t_ns);
        Ok(t_ns)
    }

    /// Takes the last operation back: it did not fit.
    pub fn forget_last(&mut self) {
        self.unfit += 1;
        if std::mem::take(&mut self.learned_last) {
            self.ops.pop();
        }
    }

    /// Learns an operation; the world is that before it.
    pub fn learn(&mut self, event: &Event, t_ns: i64, world: &World) -> Result<(), RepeatError> {
        self.has_events = true;
        self.learned_last = false;
        if let Op::Create { dir, .. } = event.op
            && let (Some(hint), Some(dir)) = (event.hint_group, world.dir(dir))
        {
            self.hints.insert(dir, hint);
        }
        if event.origin == Some(Origin::Initial) {
            self.has_initial = true;
            return Ok(());
        }
        if let Some(past) = self.past_op(event, t_ns, world)? {
            self.ops.push(past);
            self.learned_last = true;
        }
        Ok(())
    }

    fn past_op(
        &mut self,
        event: &Event,
        t_ns: i64,
        world: &World,
    ) -> Result<Option<PastOp>, RepeatError> {
        let of = |file| (Some(file), 0, 0);
        let (kin, (file, offset, bytes)) = match event.op {
            Op::Mkdir { parent, .. } => {
                let Some(above) = parent.map_or(Some(ROOT as usize), |parent| world.dir(parent))
                else {
                    return Ok(None);
                };
                return whole(t_ns, Kin::Mkdir, above, world.dirs.len()).map(Some);
            }
            Op::Rmdir { dir } => {
                let Some(dir) = world.dir(dir) else {
                    return Ok(None);
                };
                return whole(t_ns, Kin::Rmdir, dir, dir).map(Some);
            }
            Op::Create { dir, bytes, .. } | Op::Symlink { dir, bytes, .. } => {
                let Some(dir) = world.dir(dir) else {
                    return Ok(None);
                };
                let kin = match event.op {
                    Op::Symlink { .. } => Kin::Symlink,
                    _ => Kin::Create,
                };
                let past = whole(t_ns, kin, dir, world.births as usize)?;
                return Ok(Some(PastOp { bytes, ..past }));
            }
            Op::Sync => return whole(t_ns, Kin::Sync, 0, 0).map(Some),
            Op::Remount => return whole(t_ns, Kin::Remount, 0, 0).map(Some),
            Op::RenameDir { .. } => {
                self.left_out_renames += 1;
                return Ok(None);
            }
            Op::Link { .. } => {
                self.left_out_links += 1;
                return Ok(None);
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => match self.renamed(file, dir, replaced, world) {
                Some(renamed) => renamed,
                None => return Ok(None),
            },
            Op::Delete { file } => (Kin::Delete, of(file)),
            Op::Append { file, bytes } => (Kin::Append, (Some(file), 0, bytes)),
            Op::Rewrite { file, bytes } => (Kin::Rewrite, (Some(file), 0, bytes)),
            Op::Truncate { file, bytes } => (Kin::Truncate, (Some(file), 0, bytes)),
            Op::Write {
                file,
                offset,
                bytes,
            } => (Kin::Write, (Some(file), offset, bytes)),
            Op::Fallocate {
                file,
                offset,
                bytes,
            } => (Kin::Fallocate, (Some(file), offset, bytes)),
            Op::Punch {
                file,
                offset,
                bytes,
            } => (Kin::Punch, (Some(file), offset, bytes)),
            Op::Overwrite { file, range } => match range {
                Some((offset, bytes)) => (Kin::Overwrite, (Some(file), offset, bytes)),
                None => (Kin::OverwriteAll, of(file)),
            },
            Op::Read { file, range } => match range {
                Some((offset, bytes)) => (Kin::Read, (Some(file), offset, bytes)),
                None => (Kin::ReadAll, of(file)),
            },
            Op::Fsync { file } => (Kin::Fsync, of(file)),
            Op::Day | Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => {
                return Ok(None);
            }
        };
        let Some(name) = file.and_then(|file: FileId| world.name(file)) else {
            return Ok(None);
        };
        if kin == Kin::Delete && world.is_linked(name) {
            self.left_out_links += 1;
            return Ok(None);
        }
        let past = whole(t_ns, kin, name.dir, name.birth as usize)?;
        Ok(Some(PastOp {
            bytes,
            offset,
            ..of_file(past, name, world)
        }))
    }

    /// A rename: a move, or the deletion of what it takes the place of. None within a directory, which says nothing.
    fn renamed(
        &mut self,
        file: FileId,
        dir: DirId,
        replaced: Option<FileId>,
        world: &World,
    ) -> Option<Done> {
        let to = world.dir(dir);
        let from = world.name(file).map(|name| name.dir);
        // A name that is moved over itself stays.
        let replaced = replaced.filter(|replaced| *replaced != file);
        if let (None, Some(to)) = (replaced, to)
            && from != Some(to)
        {
            return Some((Kin::Rename, (Some(file), to as u64, 0)));
        }
        self.left_out_renames += 1;
        Some((Kin::Delete, (Some(replaced?), 0, 0)))
    }

    /// Ends the open day.
    pub fn end_day(&mut self, end_ns: i64, level: Level) {
        let date = self.date(end_ns);
        let counts = self.ops.len() > self.open || !self.has_initial;
        let open = std::mem::replace(&mut self.open, self.ops.len());
        self.has_events = false;
        self.has_initial = false;
        let before = self.days.last().map_or(date, |day| day.date);
        let idle = (date - before - 1).max(0);
        let idle = if idle > MAX_IDLE_DAYS { 0 } else { idle };
        if idle > 0 {
            // Time counts back from this end in whole days; what is older belongs to the first of them.
            let days_ago = |op: &PastOp| {
                let ago = (i128::from(end_ns) - i128::from(op.t_ns)).div_euclid(i128::from(DAY_NS));
                ago.clamp(0, i128::from(idle)) as i64
            };
            self.ops[open..].sort_by_key(|op| -days_ago(op));
            let mut at = open;
            for ago in (1..=idle).rev() {
                let here = self.ops[at..].partition_point(|op| days_ago(op) >= ago);
                self.days.push(PastDay {
                    date: date - ago,
                    end_ns: end_ns.saturating_sub(ago.saturating_mul(DAY_NS)),
                    ops: at..at + here,
                    level,
                    counts,
                });
                self.mark_short_lives(at..at + here);
                at += here;
            }
            self.push_day(date, end_ns, at, level, counts);
        } else if let Some(last) = self.days.last_mut().filter(|day| day.date == date) {
            last.ops.end = self.ops.len();
            last.end_ns = last.end_ns.max(end_ns);
            last.level = level;
            last.counts |= counts;
            let ops = last.ops.clone();
            self.mark_short_lives(ops);
        } else {
            self.push_day(date, end_ns, open, level, counts);
        }
    }

    fn push_day(&mut self, date: i64, end_ns: i64, first: usize, level: Level, counts: bool) {
        let ops = first..self.ops.len();
        self.days.push(PastDay {
            date,
            end_ns,
            ops: ops.clone(),
            level,
            counts,
        });
        self.mark_short_lives(ops);
    }

    /// Marks what is made on a day and dies on it.
    fn mark_short_lives(&mut self, day: Range<usize>) {
        let mut made = FxHashMap::default();
        for at in day {
            let op = self.ops[at];
            match op.kin {
                Kin::Create | Kin::Symlink | Kin::Mkdir => {
                    made.insert((op.kin == Kin::Mkdir, op.birth), at);
                }
                Kin::Delete | Kin::DeleteSymlink | Kin::Rmdir => {
                    if let Some(at) = made.remove(&(op.kin == Kin::Rmdir, op.birth)) {
                        self.ops[at].dies = true;
                    }
                }
                _ => {}
            }
        }
    }

    /// The `day` that ends what came after the last one.
    pub fn close_open_day(&mut self, level: Level) -> Option<Event> {
        let last_ns = self.last_ns.filter(|_| self.has_events)?;
        let before = self.days.last().map_or(last_ns, |day| day.end_ns);
        let end_ns = last_ns.max(before);
        self.end_day(end_ns, level);
        let label = date_of_day(self.date(end_ns));
        let quality = TQuality::Inferred;
        let day = Event::day(&label).at(end_ns);
        Some(day.from_source(Origin::Generated, quality))
    }

    /// Numbers of the days to draw from, by weekday.
    pub fn by_weekday(&self) -> [Vec<usize>; 7] {
        let mut days: [Vec<usize>; 7] = Default::default();
        for (number, day) in self.days.iter().enumerate().filter(|(_, day)| day.counts) {
            days[weekday(day.date)].push(number);
        }
        days
    }
}

/// An operation without a file that was there before.
fn whole(t_ns: i64, kin: Kin, dir: usize, birth: usize) -> Result<PastOp, RepeatError> {
    let number = |n: usize| u32::try_from(n).map_err(|_| RepeatError::TooLarge("files"));
    Ok(PastOp {
        t_ns,
        bytes: 0,
        offset: 0,
        size: 0.0,
        birth: number(birth)?,
        dir: number(dir)?,
        rank: u16::MAX / 2,
        kin,
        dies: false,
    })
}

/// The same with what is known of its file.
fn of_file(past: PastOp, name: Name, world: &World) -> PastOp {
    let dir = &world.dirs[name.dir];
    let (list, kin) = match (name.kind, past.kin) {
        (Kind::Symlink, Kin::Delete) => (&dir.symlinks, Kin::DeleteSymlink),
        (Kind::Symlink, kin) => (&dir.symlinks, kin),
        (_, kin) => (&dir.files, kin),
    };
    PastOp {
        rank: list.rank(name.birth).unwrap_or(past.rank),
        size: world.size(name) as f32,
        kin,
        ..past
    }
}
