//! The home directories as they are: files, directories, projects, space in use; and the events that change
//! them.

mod short;

use super::calendar::DAY_S;
use super::sizes::{LARGE_BYTES, space_kb};
use super::{Home, HomeSummary};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, Rng, SinkError, TQuality};
use short::Shorts;

const NS_PER_S: i64 = 1_000_000_000;
/// Space of a directory: one fragment, as long as its entries do not count.
const DIRECTORY_KB: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Will be made later today.
    Planned,
    Alive,
    /// Alive, and will be deleted later today.
    Doomed,
    Gone,
}

/// A long-lived file; its place in [`Tree::files`] is its name here, its id comes with its `create`.
#[derive(Clone, Debug)]
pub(super) struct File {
    id: FileId,
    pub dir: usize,
    pub bytes: u64,
    pub state: State,
    modified_day: u64,
}

/// A directory; its place in [`Tree::dirs`] is its name here.
#[derive(Clone, Debug)]
pub(super) struct Dir {
    id: DirId,
    parent: Option<usize>,
    /// It is not made: its files lie in the directory above, whose id it has.
    flat: bool,
    pub state: State,
    /// Files alive, oldest first.
    pub files: Vec<usize>,
    pub subdirs: u64,
    /// Homes and roots of projects stay.
    pub stays: bool,
}

/// The directories of one piece of work, its root first, then by age.
#[derive(Clone, Debug)]
pub(super) struct Project {
    pub dirs: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct User {
    pub home: usize,
    /// All of the user's projects.
    pub projects: Vec<usize>,
    /// The one worked on now.
    pub current: usize,
}

/// One thing that is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Mkdir(usize),
    Rmdir(usize),
    Create(usize),
    Rewrite(usize, u64),
    Append(usize, u64),
    Delete(usize),
    ShortCreate {
        short: usize,
        dir: usize,
        bytes: u64,
    },
    ShortRewrite(usize, u64),
    ShortAppend(usize, u64),
    ShortDelete(usize),
}

/// Everything that is, and where events go.
pub(super) struct Tree<'a> {
    sink: &'a mut dyn EventSink,
    pub files: Vec<File>,
    pub dirs: Vec<Dir>,
    pub projects: Vec<Project>,
    pub users: Vec<User>,
    pub live_files: u64,
    /// Space in use, directories and short-lived files included.
    pub used_kb: u64,
    /// Bytes of short-lived files as they were drawn, before they were steered to the bytes wanted.
    pub drawn_bytes: u64,
    /// Bytes written to long-lived files.
    pub long_bytes: u64,
    shorts: Shorts,
    ceiling_kb: u64,
    flat_permille: u64,
    flat: Rng,
    next_file: u64,
    next_dir: u64,
    day: u64,
    t_ns: i64,
    data_space_kb: u64,
    stats: HomeSummary,
}

impl<'a> Tree<'a> {
    pub fn new(home: &Home, rng: &Rng, sink: &'a mut dyn EventSink) -> Tree<'a> {
        Tree {
            sink,
            files: Vec::new(),
            dirs: Vec::new(),
            projects: Vec::new(),
            users: Vec::new(),
            live_files: 0,
            used_kb: DIRECTORY_KB, // the root
            drawn_bytes: 0,
            long_bytes: 0,
            shorts: Shorts::new(home.data_space_kb * home.short_lived_permille / 1000),
            ceiling_kb: home.data_space_kb * home.ceiling_permille / 1000,
            flat_permille: home.flat_permille,
            flat: rng.stream("flat trees", 0),
            next_file: 0,
            next_dir: 1,
            day: 0,
            t_ns: 0,
            data_space_kb: home.data_space_kb,
            stats: HomeSummary::default(),
        }
    }

    /// What was there before is there: the first day begins.
    pub fn begin(&mut self) {
        self.stats.initial_permille = self.used_kb * 1000 / self.data_space_kb;
        self.day = 1;
    }

    /// A directory that [`Action::Mkdir`] will make.
    pub fn plan_dir(&mut self, parent: Option<usize>, stays: bool) -> usize {
        self.dirs.push(Dir {
            id: DirId::ROOT,
            parent,
            flat: false,
            state: State::Planned,
            files: Vec::new(),
            subdirs: 0,
            stays,
        });
        self.dirs.len() - 1
    }

    /// A file that [`Action::Create`] will make.
    pub fn plan_file(&mut self, dir: usize, bytes: u64) -> usize {
        self.files.push(File {
            id: FileId(0),
            dir,
            bytes,
            state: State::Planned,
            modified_day: 0,
        });
        self.files.len() - 1
    }

    /// Large files alive and not to be deleted today.
    pub fn large_files(&self) -> Vec<usize> {
        let large = |f: &File| f.state == State::Alive && f.bytes > LARGE_BYTES;
        (0..self.files.len())
            .filter(|&i| large(&self.files[i]))
            .collect()
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.stats.operations
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.stats.bytes_written
    }

    /// Does one thing at that second of the day.
    pub fn act(&mut self, second: u64, action: Action) -> Result<(), SinkError> {
        let day = self.day.saturating_sub(1);
        self.t_ns = (day * DAY_S + second) as i64 * NS_PER_S;
        match action {
            Action::Mkdir(dir) => self.mkdir(dir),
            Action::Rmdir(dir) => self.rmdir(dir),
            Action::Create(file) => self.create(file),
            Action::Rewrite(file, bytes) => {
                let id = self.files[file].id;
                self.change(file, bytes, Op::Rewrite { file: id, bytes })
            }
            Action::Append(file, bytes) => {
                let File { id, bytes: old, .. } = self.files[file];
                self.change(file, old + bytes, Op::Append { file: id, bytes })
            }
            Action::Delete(file) => self.delete(file),
            Action::ShortCreate { short, dir, bytes } => self.short_create(short, dir, bytes),
            Action::ShortRewrite(short, bytes) => self.short_rewrite(short, bytes),
            Action::ShortAppend(short, bytes) => self.short_append(short, bytes),
            Action::ShortDelete(short) => self.short_delete(short),
        }
    }

    /// Ends a day.
    pub fn end_day(&mut self, day: u64) -> Result<(), SinkError> {
        self.shorts.end_day();
        let over_70 = self.used_kb * 10 > self.data_space_kb * 7;
        self.stats.days_over_70_percent += u64::from(over_70);
        self.stats.days = day;
        self.day = day + 1;
        self.t_ns = (day * DAY_S - 1) as i64 * NS_PER_S;
        self.sink.event(Event::day(&day.to_string()).at(self.t_ns))
    }

    /// The figures at the end.
    pub fn summary(self, home: &Home) -> HomeSummary {
        let mut s = self.stats;
        s.final_permille = self.used_kb * 1000 / self.data_space_kb;
        s.final_directories = self
            .dirs
            .iter()
            .filter(|d| d.state == State::Alive && !d.flat)
            .count() as u64;
        for file in self.files.iter().filter(|f| f.state == State::Alive) {
            let kb = space_kb(file.bytes);
            s.final_files += 1;
            s.final_kb += kb;
            if file.modified_day + home.hot_days > home.days {
                s.hot_files += 1;
                s.hot_kb += kb;
            }
        }
        s
    }

    fn emit(&mut self, op: Op, short_lived: bool) -> Result<(), SinkError> {
        let (origin, quality) = match (short_lived, self.day) {
            (true, _) => (Origin::ShortLived, TQuality::Random),
            // They were there before: their time says nothing.
            (false, 0) => (Origin::Initial, TQuality::Inferred),
            (false, _) => (Origin::Generated, TQuality::Random),
        };
        let bytes = op.bytes_written();
        self.stats.operations += 1;
        self.stats.bytes_written += bytes;
        self.long_bytes += if short_lived { 0 } else { bytes };
        let event = Event::new(op).at(self.t_ns).from_source(origin, quality);
        self.sink.event(event)
    }

    fn take_space(&mut self, kb: u64) {
        self.used_kb += kb;
        let permille = (self.used_kb * 1000).div_ceil(self.data_space_kb);
        self.stats.peak_permille = self.stats.peak_permille.max(permille);
    }

    fn mkdir(&mut self, dir: usize) -> Result<(), SinkError> {
        self.dirs[dir].state = State::Alive;
        let above = self.dirs[dir].parent;
        let mut parent = DirId::ROOT;
        if let Some(p) = above {
            self.dirs[p].subdirs += 1;
            parent = self.dirs[p].id;
            if self.flat.below(1000) < self.flat_permille {
                (self.dirs[dir].id, self.dirs[dir].flat) = (parent, true);
                return Ok(());
            }
        }
        let id = DirId(self.next_dir);
        self.next_dir += 1;
        self.dirs[dir].id = id;
        self.take_space(DIRECTORY_KB);
        let op = Op::Mkdir {
            dir: id,
            parent: Some(parent),
        };
        self.emit(op, false)
    }

    /// Removes a directory, unless something came into it since that was planned.
    fn rmdir(&mut self, dir: usize) -> Result<(), SinkError> {
        let d = &mut self.dirs[dir];
        if !d.files.is_empty() || d.subdirs != 0 {
            d.state = State::Alive;
            return Ok(());
        }
        d.state = State::Gone;
        let (id, flat) = (d.id, d.flat);
        if let Some(p) = d.parent {
            self.dirs[p].subdirs -= 1;
        }
        if flat {
            return Ok(());
        }
        self.used_kb -= DIRECTORY_KB;
        self.emit(Op::Rmdir { dir: id }, false)
    }

    fn create(&mut self, file: usize) -> Result<(), SinkError> {
        let File { dir, bytes, .. } = self.files[file];
        if !self.make_room(space_kb(bytes))? {
            self.files[file].state = State::Gone;
            return Ok(());
        }
        let id = self.new_id();
        let f = &mut self.files[file];
        (f.id, f.state, f.modified_day) = (id, State::Alive, self.day);
        self.dirs[dir].files.push(file);
        self.live_files += 1;
        self.take_space(space_kb(bytes));
        let op = Op::Create {
            file: id,
            dir: self.dirs[dir].id,
            bytes,
        };
        self.emit(op, false)
    }

    /// Rewrites a file, or appends to it, if it is still there.
    fn change(&mut self, file: usize, bytes: u64, op: Op) -> Result<(), SinkError> {
        let File {
            bytes: old, state, ..
        } = self.files[file];
        let grows_kb = space_kb(bytes).saturating_sub(space_kb(old));
        if !matches!(state, State::Alive | State::Doomed) || !self.make_room(grows_kb)? {
            return Ok(());
        }
        self.files[file].bytes = bytes;
        self.files[file].modified_day = self.day;
        self.used_kb -= space_kb(old);
        self.take_space(space_kb(bytes));
        self.emit(op, false)
    }

    fn delete(&mut self, file: usize) -> Result<(), SinkError> {
        let File { id, dir, bytes, .. } = self.files[file];
        self.files[file].state = State::Gone;
        self.dirs[dir].files.retain(|&f| f != file);
        self.live_files -= 1;
        self.used_kb -= space_kb(bytes);
        self.emit(Op::Delete { file: id }, false)
    }

    /// Ends short-lived files, oldest first, until so much more stays under the ceiling. False if it cannot.
    fn make_room(&mut self, kb: u64) -> Result<bool, SinkError> {
        while self.used_kb + kb > self.ceiling_kb {
            let Some(oldest) = self.shorts.oldest() else {
                self.stats.left_out += 1;
                return Ok(false);
            };
            self.short_delete(oldest)?;
        }
        Ok(true)
    }

    fn new_id(&mut self) -> FileId {
        self.next_file += 1;
        FileId(self.next_file - 1)
    }
}
