//! Does past days again.

use super::course::{Course, Instead};
use super::past::{Kin, Past, PastDay, PastOp};
use super::{NewIds, RepeatError, RepeatSummary};
use crate::date::{DAY_NS, date_of_day, weekday};
use crate::world::{Entry, World};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, Rng, TQuality};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Files that are looked at for the one that is most like the past one.
const CANDIDATES: usize = 64;
/// Deletions at most that make room for one operation.
const EXTRA_DELETES: usize = 4;
/// Directories that are tried for them when those above have no file; empty ones that are looked for.
const TRIES: usize = 64;
/// Days whose mean is the level.
const LEVEL_DAYS: usize = 30;

/// A course is met within this part of what it has.
const SETTLED_PART: u128 = 2000;
/// Operations that are looked at, at the end of a day, to meet the course.
const SETTLING_TRIES: usize = 4096;
/// Files under this size are small.
pub(super) const SMALL_BYTES: u64 = 64 << 10;

/// What a file of a past day is today.
#[derive(Clone, Copy, Debug)]
struct Today {
    id: FileId,
    /// Of a file that dies today: its directory and size. The world does not know it.
    dying: Option<(usize, u64)>,
}

/// What is to be held: under it nothing is deleted, over it more is.
#[derive(Clone, Copy, Debug)]
struct Band {
    level: u128,
    low: u128,
    high: u128,
}

impl Band {
    fn around(level: u128, percent: u128) -> Band {
        let off = level / 100 * percent + level % 100 * percent / 100;
        Band {
            level,
            low: level - off,
            high: level.saturating_add(off),
        }
    }

    /// What a course leads to at the end of a day: until then it holds nothing back.
    fn free(level: u128) -> Band {
        Band {
            level,
            low: 0,
            high: u128::MAX,
        }
    }

    /// Whether this step down ends below, and farther away than it started.
    fn is_left(&self, from: u128, to: u128) -> bool {
        to < self.low && from.abs_diff(self.level) < to.abs_diff(self.level)
    }
}

/// The repetition.
pub(super) struct Again<'a, S> {
    past: &'a Past,
    by_weekday: [Vec<usize>; 7],
    all_days: Vec<usize>,
    world: World,
    ids: NewIds,
    pub sink: S,
    seed: Rng,
    rng: Rng,
    first_date: i64,
    /// Space in use, number of names, number of directories.
    bytes: Band,
    files: Band,
    directories: Band,
    /// Directories that the repetition made, by the place of the one above, oldest first.
    made: FxHashMap<usize, BTreeSet<usize>>,
    /// Today's files and directories by the past ones.
    files_today: FxHashMap<u32, Today>,
    dirs_today: FxHashMap<usize, usize>,
    t_ns: i64,
    /// Where the repetition does not hold what is in use, but follows a course.
    course: Option<Course>,
    /// Files that the course leaves out today, by their birth.
    left_out: FxHashSet<u32>,
    summary: RepeatSummary,
}

impl<'a, S: EventSink> Again<'a, S> {
    pub fn new(
        seed: u64,
        past: &'a Past,
        world: World,
        ids: NewIds,
        sink: S,
    ) -> Result<Again<'a, S>, RepeatError> {
        let by_weekday = past.by_weekday();
        let mut all_days = by_weekday.concat();
        all_days.sort_unstable();
        let last = past.days.last().ok_or(RepeatError::NoDays)?;
        if past.ops.is_empty() || all_days.is_empty() {
            return Err(RepeatError::NoDays);
        }
        let month = &past.days[past.days.len().saturating_sub(LEVEL_DAYS)..];
        let mean =
            |of: fn(&PastDay) -> u128| month.iter().map(of).sum::<u128>() / month.len() as u128;
        let bytes = mean(|day| day.level.used_bytes);
        let files = mean(|day| u128::from(day.level.names));
        let directories = mean(|day| u128::from(day.level.dirs));
        let summary = RepeatSummary {
            past_days: all_days.len() as u64,
            left_out_renames: past.left_out_renames,
            left_out_links: past.left_out_links,
            unfit: past.unfit,
            level_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            level_files: files as u64,
            live_files: (world.live_names(), 0),
            ..RepeatSummary::default()
        };
        Ok(Again {
            past,
            by_weekday,
            all_days,
            world,
            ids,
            sink,
            seed: Rng::new(seed),
            rng: Rng::new(seed),
            first_date: last.date,
            bytes: Band::around(bytes, 1),
            files: Band::around(files, 10),
            directories: Band::around(directories, 10),
            made: FxHashMap::default(),
            files_today: FxHashMap::default(),
            dirs_today: FxHashMap::default(),
            t_ns: last.end_ns,
            course: None,
            left_out: FxHashSet::default(),
            summary,
        })
    }

    /// Lets it follow a course instead of holding what is in use.
    pub fn follow(&mut self, course: Course) {
        self.course = Some(course);
    }

    /// Adds a day.
    pub fn day(&mut self, number: u64) -> Result<(), RepeatError> {
        self.rng = self.seed.stream("repeat day", number);
        let too_late = || RepeatError::TooLarge("times");
        let date = i64::try_from(number).ok();
        let date = date.and_then(|n| self.first_date.checked_add(n)?.checked_add(1));
        let date = date.ok_or_else(too_late)?;
        let drawn = match self.on_course(number) {
            Some(drawn) => drawn,
            None => self.draw(date),
        };
        let past = self.past;
        let day = &past.days[drawn];
        let moved = (date - day.date).checked_mul(DAY_NS);
        let moved = moved.ok_or_else(too_late)?;
        self.files_today.clear();
        self.dirs_today.clear();
        self.leave_out(&past.ops[day.ops.clone()]);
        for op in &past.ops[day.ops.clone()] {
            self.t_ns = op.t_ns.checked_add(moved).ok_or_else(too_late)?;
            self.again(op)?;
        }
        let end_ns = day.end_ns.checked_add(moved).ok_or_else(too_late)?;
        if self.course.is_some() {
            self.t_ns = end_ns;
            self.settle(day)?;
        }
        let event = Event::day(&date_of_day(date)).at(end_ns);
        self.write(event)?;
        let used = u64::try_from(self.world.used_bytes).unwrap_or(u64::MAX);
        let (low, high) = self.summary.level_range_bytes.unwrap_or((used, used));
        self.summary.level_range_bytes = Some((low.min(used), high.max(used)));
        self.summary.days += 1;
        Ok(())
    }

    /// A past day of that weekday; where there is none, any.
    fn draw(&mut self, date: i64) -> usize {
        let mut days = &self.by_weekday[weekday(date)];
        if days.is_empty() {
            days = &self.all_days;
            self.summary.other_weekdays += 1;
        }
        days[self.rng.below(days.len() as u64) as usize]
    }

    /// The past day that the course has for this one, whose end is where it leads.
    fn on_course(&mut self, number: u64) -> Option<usize> {
        let course = self.course.as_ref()?;
        let step = course.steps.get(usize::try_from(number).ok()?)?;
        self.bytes = Band::free(step.used_bytes);
        self.files = Band::free(step.names);
        self.directories = Band::around(step.dirs, 10);
        Some(step.day)
    }

    /// Chooses the files of a day that the course leaves out.
    fn leave_out(&mut self, ops: &[PastOp]) {
        self.left_out.clear();
        match self.course.as_ref().map(|course| course.instead) {
            None | Some(Instead::Nothing | Instead::NoGrowth) => {}
            Some(Instead::HalfChurn) => {
                let births = ops.iter().filter(|op| op.kin.is_of_file());
                let mut births: Vec<u32> = births.map(|op| op.birth).collect();
                births.sort_unstable();
                births.dedup();
                births.retain(|_| self.rng.chance(0.5));
                self.left_out.extend(births);
            }
            Some(Instead::NoSmallFiles) => {
                let mut written: FxHashMap<u32, u64> = FxHashMap::default();
                for op in ops {
                    if matches!(op.kin, Kin::Create | Kin::Symlink) {
                        written.insert(op.birth, op.bytes);
                    } else if let Kin::Append | Kin::Write = op.kin
                        && let Some(bytes) = written.get_mut(&op.birth)
                    {
                        *bytes = bytes.saturating_add(op.bytes);
                    }
                }
                let small = written.into_iter();
                let small = small.filter(|&(_, bytes)| bytes < SMALL_BYTES);
                self.left_out.extend(small.map(|(birth, _)| birth));
            }
        }
    }

    /// Leads what is in use to where the course has it at the end of the day: what the past makes is made once more,
    /// or what it deletes is.
    fn settle(&mut self, day: &PastDay) -> Result<(), RepeatError> {
        let near = self.bytes.level / SETTLED_PART;
        let past = self.past;
        for _ in 0..SETTLING_TRIES {
            let (used, level) = (self.world.used_bytes, self.bytes.level);
            if used.abs_diff(level) <= near {
                break;
            }
            let is_low = used < level;
            let Some(course) = &self.course else {
                break;
            };
            let Some(op) = course.drawn(is_low, day, &mut self.rng) else {
                break;
            };
            let op = PastOp {
                dies: false,
                ..past.ops[op]
            };
            // What leads farther away than it began is the end: only what is small would come nearer.
            let gap = used.abs_diff(level);
            if is_low {
                let makes_small = op.kin == Kin::Create && op.bytes < SMALL_BYTES;
                if makes_small && course.instead == Instead::NoSmallFiles {
                    continue;
                }
                if self.world.blocks(op.bytes) > 2 * gap {
                    break;
                }
                match op.kin {
                    Kin::Create => self.create(&op)?,
                    _ => self.change(&op)?,
                }
                continue;
            }
            // One file as large as what is too much, where there are too few files.
            let are_few = u128::from(self.world.live_names()) < self.files.level;
            let found = if are_few { None } else { self.like(&op, false) };
            let wanted = if are_few {
                u64::try_from(gap).unwrap_or(u64::MAX)
            } else {
                op.size as u64
            };
            let Some(found) = found.or_else(|| self.victim(op.dir as usize, wanted, None)) else {
                continue;
            };
            if self.world.blocks(found.size_bytes) > 2 * gap {
                break;
            }
            self.summary.deletes += 1;
            self.summary.extra_deletes += 1;
            let file = FileId(found.id);
            self.act(Op::Delete { file }, None)?;
        }
        Ok(())
    }

    /// What was repeated.
    pub fn finish(mut self) -> RepeatSummary {
        self.summary.live_files.1 = self.world.live_names();
        self.summary
    }

    fn again(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        if op.kin.is_of_file() && self.left_out.contains(&op.birth) {
            return Ok(());
        }
        match op.kin {
            Kin::Sync => self.put(Op::Sync, None),
            Kin::Remount => self.put(Op::Remount, None),
            Kin::Mkdir => self.mkdir(op),
            Kin::Rmdir => self.rmdir(op),
            Kin::Create | Kin::Symlink => self.create(op),
            Kin::Delete | Kin::DeleteSymlink => self.delete(op),
            Kin::Rename => self.rename(op),
            _ => self.change(op),
        }
    }

    fn write(&mut self, event: Event) -> Result<(), RepeatError> {
        let event = event.from_source(Origin::Generated, TQuality::Random);
        self.sink.event(event).map_err(RepeatError::Sink)
    }

    fn put(&mut self, op: Op, new: Option<u64>) -> Result<(), RepeatError> {
        self.summary.operations += 1;
        let mut event = Event::new(op).at(self.t_ns);
        event.name = new.and_then(|id| self.ids.name(id));
        if let Op::Create { dir, .. } = op {
            let dir = self.world.dir(dir);
            event.hint_group = dir.and_then(|dir| self.past.hints.get(&dir).copied());
        }
        self.write(event)
    }

    /// Writes an operation that changes the world.
    fn act(&mut self, op: Op, new: Option<u64>) -> Result<(), RepeatError> {
        self.world.apply(&op);
        self.put(op, new)
    }

    /// Whether operations can name the directory: it is alive, and not a root whose number another one took.
    fn is_there(&self, dir: usize) -> bool {
        let found = &self.world.dirs[dir];
        found.alive && self.world.dir(found.id) == Some(dir)
    }

    /// What a past directory is today.
    fn directory(&mut self, past: usize) -> Option<usize> {
        if let Some(dir) = self.dirs_today.get(&past)
            && self.is_there(*dir)
        {
            return Some(*dir);
        }
        // Upwards to one that is there, then down again by what stands for those that are gone.
        let mut gone = Vec::new();
        let mut at = past;
        let mut found = loop {
            if self.is_there(at) {
                break at;
            }
            if let Some(dir) = self.dirs_today.get(&at)
                && self.is_there(*dir)
            {
                break *dir;
            }
            if at == 0 {
                break self.world.dir(DirId::ROOT)?;
            }
            gone.push(at);
            at = self.world.dirs[at].parent;
        };
        for past in gone.into_iter().rev() {
            let made = self.made.get(&found).and_then(BTreeSet::first);
            found = made.copied().unwrap_or(found);
            self.dirs_today.insert(past, found);
        }
        Some(found)
    }

    fn mkdir(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        let Some(above) = self.directory(op.dir as usize) else {
            return Ok(());
        };
        if u128::from(self.world.live_dirs()) > self.directories.high
            && !op.dies
            && let Some(old) = self.made.get(&above).and_then(BTreeSet::first)
        {
            self.summary.reused_directories += 1;
            self.dirs_today.insert(op.birth as usize, *old);
            return Ok(());
        }
        let id = self.ids.next()?;
        let at = self.world.dirs.len();
        self.act(
            Op::Mkdir {
                dir: DirId(id),
                parent: Some(self.world.dirs[above].id),
            },
            Some(id),
        )?;
        self.dirs_today.insert(op.birth as usize, at);
        self.made.entry(above).or_default().insert(at);
        self.summary.directories_made += 1;
        Ok(())
    }

    fn rmdir(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        let past = op.dir as usize;
        let is_empty = |at: usize| self.world.dirs[at].entries == 0;
        let today = self.dirs_today.get(&past).copied();
        let today = today.filter(|at| self.is_there(*at) && is_empty(*at));
        let today = today.filter(|at| {
            let above = self.world.dirs[*at].parent;
            self.made.get(&above).is_some_and(|made| made.contains(at))
        });
        let empty = match today {
            Some(at) => Some(at),
            None => self
                .directory(self.world.dirs[past].parent)
                .and_then(|above| self.made.get(&above))
                .and_then(|made| {
                    let mut oldest = made.iter().take(TRIES).copied();
                    oldest.find(|at| self.world.dirs[*at].entries == 0)
                }),
        };
        let Some(at) = empty else {
            self.summary.skipped_rmdirs += 1;
            return Ok(());
        };
        let above = self.world.dirs[at].parent;
        if let Some(made) = self.made.get_mut(&above) {
            made.remove(&at);
        }
        self.summary.directories_removed += 1;
        let dir = self.world.dirs[at].id;
        self.act(Op::Rmdir { dir }, None)
    }

    fn create(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        let Some(at) = self.directory(op.dir as usize) else {
            return Ok(());
        };
        if !op.dies {
            self.make_room(at, op.bytes, None)?;
        }
        let new = self.ids.next()?;
        let (file, dir, bytes) = (FileId(new), self.world.dirs[at].id, op.bytes);
        let create = if op.kin == Kin::Symlink {
            Op::Symlink { file, dir, bytes }
        } else {
            Op::Create { file, dir, bytes }
        };
        self.summary.creates += 1;
        let mut today = Today {
            id: file,
            dying: None,
        };
        if op.dies {
            self.summary.short_lived += 1;
            self.world.dirs[at].entries += 1;
            today.dying = Some((at, bytes));
            self.put(create, Some(new))?;
        } else {
            self.act(create, Some(new))?;
        }
        self.files_today.insert(op.birth, today);
        Ok(())
    }

    fn delete(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        let today = self.files_today.get(&op.birth).copied();
        if let Some(Today {
            id: file,
            dying: Some((dir, _)),
        }) = today
        {
            self.files_today.remove(&op.birth);
            self.world.dirs[dir].entries -= 1;
            self.summary.deletes += 1;
            return self.put(Op::Delete { file }, None);
        }
        let is_symlink = op.kin == Kin::DeleteSymlink;
        let Some(found) = self.like(op, is_symlink) else {
            self.summary.without_file += 1;
            return Ok(());
        };
        let used = self.world.used_bytes;
        let after = used - self.world.blocks(found.size_bytes).min(used);
        let is_low = !is_symlink && self.bytes.is_left(used, after);
        let are_few = u128::from(self.world.live_names()) < self.files.low;
        if is_low || are_few && self.is_small(found) {
            self.summary.skipped_deletes += 1;
            return Ok(());
        }
        self.summary.deletes += 1;
        let file = FileId(found.id);
        self.act(Op::Delete { file }, None)
    }

    /// Moves a file to another directory.
    fn rename(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        let Some(to) = self.directory(op.offset as usize) else {
            return Ok(());
        };
        let dir = self.world.dirs[to].id;
        let today = self.files_today.get(&op.birth).copied();
        if let Some(Today {
            id: file,
            dying: Some((from, size)),
        }) = today
        {
            self.world.dirs[from].entries -= 1;
            self.world.dirs[to].entries += 1;
            let dying = Some((to, size));
            self.files_today.insert(op.birth, Today { id: file, dying });
            self.summary.file_operations += 1;
            let replaced = None;
            return self.put(
                Op::Rename {
                    file,
                    dir,
                    replaced,
                },
                None,
            );
        }
        let today = today
            .map(|today| today.id)
            .filter(|id| self.world.name(*id).is_some());
        let found = today.or_else(|| self.like(op, false).map(|entry| FileId(entry.id)));
        let Some(file) = found else {
            self.summary.without_file += 1;
            return Ok(());
        };
        self.summary.file_operations += 1;
        let replaced = None;
        self.act(
            Op::Rename {
                file,
                dir,
                replaced,
            },
            None,
        )
    }

    /// The file of the same directory that is most like the past one. Where the directory is gone and what
    /// stands for it has none: of the others that could stand for it, or of the one above.
    fn like(&mut self, op: &PastOp, is_symlink: bool) -> Option<Entry> {
        let past = op.dir as usize;
        let dir = self.directory(past)?;
        let of = |dir: usize| {
            let dir = &self.world.dirs[dir];
            let list = if is_symlink {
                &dir.symlinks
            } else {
                &dir.files
            };
            list.nearest(op.rank, op.size as u64, CANDIDATES, None)
        };
        let found = of(dir);
        if found.is_some() || dir == past {
            return found;
        }
        let above = self.world.dirs[dir].parent;
        let others = self.made.get(&above).into_iter().flatten();
        others.copied().take(TRIES).chain([above]).find_map(of)
    }

    /// Changes, reads or flushes a file.
    fn change(&mut self, op: &PastOp) -> Result<(), RepeatError> {
        let today = self.files_today.get(&op.birth).copied();
        if let Some(Today {
            id,
            dying: Some((dir, size)),
        }) = today
        {
            let (change, after) = changed(op, id, size);
            let dying = Some((dir, after));
            self.files_today.insert(op.birth, Today { id, dying });
            self.summary.file_operations += 1;
            return self.put(change, None);
        }
        let today = today.and_then(|today| {
            let name = self.world.name(today.id)?;
            Some((today.id, name.dir, self.world.size(name)))
        });
        let found = match today {
            Some(found) => Some(found),
            None => self.like(op, false).and_then(|entry| {
                let id = FileId(entry.id);
                let name = self.world.name(id)?;
                Some((id, name.dir, entry.size_bytes))
            }),
        };
        let Some((file, dir, size)) = found else {
            self.summary.without_file += 1;
            return Ok(());
        };
        let (change, after) = changed(op, file, size);
        let used = self.world.used_bytes;
        let less = self
            .world
            .blocks(size)
            .saturating_sub(self.world.blocks(after));
        if self.bytes.is_left(used, used.saturating_sub(less)) && less > 0 {
            self.summary.skipped_shrinks += 1;
            return Ok(());
        }
        if after > size {
            self.make_room(dir, after - size, Some(file.0))?;
        }
        self.summary.file_operations += 1;
        self.act(change, None)
    }

    /// Whether the file is not larger than the mean.
    fn is_small(&self, file: Entry) -> bool {
        let files = u128::from(self.world.live_names());
        u128::from(file.size_bytes) * files <= self.world.used_bytes
    }

    /// Makes room for what comes: while too much would be in use, deletes as much; while there are too many
    /// files, deletes a small one.
    fn make_room(
        &mut self,
        dir: usize,
        bytes: u64,
        except: Option<u64>,
    ) -> Result<(), RepeatError> {
        let mut left = bytes;
        for _ in 0..EXTRA_DELETES {
            let after = self.world.used_bytes + self.world.blocks(left);
            let over = after.saturating_sub(self.bytes.high);
            let over = u64::try_from(over).unwrap_or(u64::MAX).min(left);
            let are_many = u128::from(self.world.live_names()) > self.files.high;
            if over == 0 && (!are_many || self.world.used_bytes < self.bytes.low) {
                break;
            }
            let Some(found) = self.victim(dir, over, except) else {
                break;
            };
            if over == 0 && !self.is_small(found) {
                break;
            }
            self.summary.deletes += 1;
            self.summary.extra_deletes += 1;
            let file = FileId(found.id);
            self.act(Op::Delete { file }, None)?;
            left = left.saturating_sub(found.size_bytes);
            if left == 0 || over == 0 {
                break;
            }
        }
        Ok(())
    }

    /// A file of the directory, of about that size and any age; else of those above it, else of any.
    fn victim(&mut self, dir: usize, bytes: u64, except: Option<u64>) -> Option<Entry> {
        let rank = self.rng.below(1 << 16) as u16;
        let mut at = dir;
        for _ in 0..TRIES {
            let files = &self.world.dirs[at].files;
            let found = files.nearest(rank, bytes, CANDIDATES, except);
            if found.is_some() {
                return found;
            }
            if at == 0 {
                break;
            }
            at = self.world.dirs[at].parent;
        }
        let dirs = self.world.dirs.len() as u64;
        (0..TRIES).find_map(|_| {
            let at = self.rng.below(dirs) as usize;
            let files = &self.world.dirs[at].files;
            files.nearest(rank, bytes, CANDIDATES, except)
        })
    }
}

/// What a past change does to a file of this size, and its size after it.
fn changed(op: &PastOp, file: FileId, size: u64) -> (Op, u64) {
    let (past_size, bytes) = (op.size as u64, op.bytes);
    // A hole stays a hole of that length; what lay inside the file stays inside.
    let hole = op.offset.saturating_sub(past_size);
    let offset = op.offset.min(size.saturating_add(hole));
    let inside = (op.offset.min(size), bytes.min(size - op.offset.min(size)));
    let after_write = if bytes == 0 {
        size
    } else {
        size.max(offset.saturating_add(bytes))
    };
    match op.kin {
        Kin::Append => (Op::Append { file, bytes }, size.saturating_add(bytes)),
        Kin::Write => (
            Op::Write {
                file,
                offset,
                bytes,
            },
            after_write,
        ),
        Kin::Fallocate => (
            Op::Fallocate {
                file,
                offset,
                bytes,
            },
            after_write,
        ),
        Kin::Rewrite => (Op::Rewrite { file, bytes }, bytes),
        Kin::Truncate => {
            let bytes = if bytes > past_size {
                bytes
            } else {
                bytes.min(size)
            };
            (Op::Truncate { file, bytes }, bytes)
        }
        Kin::Punch => {
            let (offset, bytes) = inside;
            (
                Op::Punch {
                    file,
                    offset,
                    bytes,
                },
                size,
            )
        }
        Kin::Overwrite => (
            Op::Overwrite {
                file,
                range: Some(inside),
            },
            size,
        ),
        Kin::OverwriteAll => (Op::Overwrite { file, range: None }, size),
        Kin::Read => (
            Op::Read {
                file,
                range: Some(inside),
            },
            size,
        ),
        Kin::ReadAll => (Op::Read { file, range: None }, size),
        _ => (Op::Fsync { file }, size),
    }
}
