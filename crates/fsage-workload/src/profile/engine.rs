//! The files and directories as they are, the controller that holds utilization, and the days.

use super::activity::{Clock, DAY_S};
use super::change::Change;
use super::directories::{Directories, ROOT};
use super::packages::Package;
use super::population::{File, Kind, Population, highest};
use super::{Deviation, MAX_DEPTH, Profile, ProfileSummary, ages, depths};
use crate::distribution::{Buckets, Distribution};
use crate::space::SpaceRule;
use fsage_core::rng::AliasTable;
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, Rng, SinkError, TQuality};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A day ends within this share of the capacity of the curve.
const TOLERANCE: f64 = 0.0025;
/// Short-lived files may hold this share of the capacity.
const SHORT_LIVED_SPACE: f64 = 0.01;
/// A file over this share of the capacity is made when half a one is lacking, and deleted when half a one is too
/// many: else those of which there should be a fraction of one would come and go, and sweep others out.
const LARGE: f64 = 0.002;
const LARGE_HYSTERESIS: f64 = 0.5;
/// Files that grow at a time.
const MAX_GROWING: usize = 64;

/// A file that is written in pieces.
struct Growing {
    file: File,
    written: u64,
}

/// A file that ends later today: its time, id, place of its directory, fragments.
type ShortLived = Reverse<(i64, u64, u32, u64)>;

pub(super) struct Engine<'a> {
    pub profile: &'a Profile,
    sink: &'a mut dyn EventSink,
    pub space: SpaceRule,
    pub sizes: Buckets,
    size_shares: Vec<f64>,
    /// What a size must lack, or be over by, beyond the others to be made or deleted.
    reluctance: Vec<f64>,
    pub depth_shares: Vec<f64>,
    draw_depth: AliasTable,
    /// Age buckets, youngest first; one without ages.
    ages: Vec<(f64, f64)>,
    age: u8,
    pub files: Population,
    pub dirs: Directories,
    /// Where files come and go by the directory.
    pub packages: Vec<Package>,
    /// Operations that were done before their time, as a package is at once.
    ahead: u64,
    short_lived: BinaryHeap<ShortLived>,
    short_lived_fragments: u64,
    growing: Vec<Growing>,
    capacity: u64,
    /// Fragments in use.
    pub used: u64,
    /// Fragments that growing files are still to take.
    pending: u64,
    /// Fragments that should be in use now, and at the end.
    pub target: f64,
    final_target: f64,
    mean_file: u64,
    /// Files for each fragment in use, over some time.
    density: f64,
    next_file: u64,
    t_ns: i64,
    pub rng: Rng,
    /// Numbers wanted of each bucket, kept to save the time of making the lists.
    wanted: [Vec<f64>; 3],
    pub summary: ProfileSummary,
}

impl<'a> Engine<'a> {
    pub fn new(
        profile: &'a Profile,
        seed: u64,
        sink: &'a mut dyn EventSink,
    ) -> Result<Engine<'a>, SinkError> {
        let space = profile.space();
        let sizes = profile.size.buckets(profile.largest() as f64)?;
        let root = Distribution::Table(vec![(0.0, 1.0)]);
        let depth_shares = depths(profile.depth.as_ref().unwrap_or(&root))?;
        let ages = match &profile.age {
            Some(age) => ages(age, profile.days)?,
            None => vec![(1.0, 1.0)],
        };
        let weights: Vec<u64> = depth_shares
            .iter()
            .map(|s| (s * f64::from(1 << 30)) as u64)
            .collect();
        let mean_file = sizes.mean_of(|v| space.fragments(v.ceil() as u64) as f64);
        let deepest = profile.directories.as_ref().map_or(0, Vec::len);
        let capacity = profile.capacity_bytes / profile.fragment_bytes;
        let reluctant = |i: usize| {
            let large = space.fragments(sizes.from(i)) as f64 > LARGE * capacity as f64;
            if large { LARGE_HYSTERESIS } else { 0.0 }
        };
        Ok(Engine {
            reluctance: (0..sizes.len()).map(reluctant).collect(),
            density: 1.0 / mean_file.max(1e-6),
            size_shares: (0..sizes.len()).map(|i| sizes.share(i)).collect(),
            draw_depth: AliasTable::new(&weights),
            age: (ages.len() - 1) as u8,
            files: Population::new(ages.len(), sizes.len(), depth_shares.len()),
            dirs: Directories::new(
                deepest.max(depth_shares.len()).max(MAX_DEPTH) + 1,
                profile.dirent_bytes,
                space,
            ),
            packages: Vec::new(),
            ahead: 0,
            short_lived: BinaryHeap::new(),
            short_lived_fragments: 0,
            growing: Vec::new(),
            capacity,
            used: 1,
            pending: 0,
            target: 0.0,
            final_target: profile.utilization_at(1.0) * capacity as f64,
            mean_file: mean_file.ceil().max(1.0) as u64,
            next_file: 0,
            t_ns: 0,
            rng: Rng::new(seed).stream("profile", 0),
            wanted: [Vec::new(), Vec::new(), Vec::new()],
            summary: ProfileSummary::default(),
            profile,
            sink,
            space,
            sizes,
            depth_shares,
            ages,
        })
    }

    pub fn run(mut self) -> Result<ProfileSummary, SinkError> {
        let profile = self.profile;
        if profile.packages {
            self.make_sections()?;
        } else {
            self.make_chain()?;
        }
        self.target = profile.utilization_at(0.0) * self.capacity as f64;
        self.fill()?;
        self.summary.fill_operations = self.summary.operations;
        let files = (self.final_target / self.mean_file as f64).max(self.files.len() as f64);
        let mean = profile.operations_of_a_day(&self.ages, files as u64);
        self.summary.operations_per_day = mean;
        let changes = Change::table(profile.mix);
        let planned =
            profile
                .activity
                .operations(profile.days, mean, &Rng::new(self.rng.next_u64()));
        for (day, &operations) in planned.iter().enumerate() {
            self.day(day as u64, operations, &changes)?;
        }
        self.summary.days = profile.days;
        Ok(self.finish())
    }

    /// Directories that are given in number: each depth lies in one directory of the depth above.
    fn make_chain(&mut self) -> Result<(), SinkError> {
        let Some(numbers) = &self.profile.directories else {
            return Ok(());
        };
        for (i, &number) in numbers.iter().enumerate() {
            let parent = self.dirs.chain_end();
            let depth = i as u64 + 1;
            // Where there are fewer than the depth says the chain has a directory of its own, `d<depth>`.
            let mut next = None;
            for name in (1..=number).chain((number < depth).then_some(depth)) {
                let for_files = name <= number || number == 0;
                let place = self.mkdir(parent, &format!("d{name}"), for_files)?;
                if for_files && self.profile.staged {
                    let staging = self.mkdir(place, "tmp", false)?;
                    self.dirs.stage(place, staging);
                }
                if name == depth {
                    next = Some(place);
                }
            }
            self.dirs.lengthen_chain(next.unwrap_or(parent));
        }
        Ok(())
    }

    /// Draws files by their weights until the target is met.
    fn fill(&mut self) -> Result<(), SinkError> {
        /// Draws that may be too large in a row.
        const TRIES: u64 = 20;
        if self.profile.packages {
            return self.settle_packages();
        }
        let slack = self.slack();
        let mut rng = self.rng.stream("fill", 0);
        let mut tries = 0;
        while (self.used as f64) < self.target - slack && tries < TRIES {
            let size = self.sizes.draw(&mut rng);
            let bytes = self.sizes.draw_within(size, &mut rng);
            if (self.used + self.space.fragments(bytes)) as f64 > self.target + slack {
                tries += 1;
                continue;
            }
            tries = 0;
            let depth = self.draw_depth.draw(&mut rng);
            let dir = self.directory(depth)?;
            self.create(bytes, dir, false)?;
        }
        self.settle()
    }

    pub fn slack(&self) -> f64 {
        (self.capacity as f64 * TOLERANCE).floor()
    }

    fn day(&mut self, day: u64, operations: u64, changes: &AliasTable) -> Result<(), SinkError> {
        let profile = self.profile;
        let days = profile.days as f64;
        let from = profile.utilization_at(day as f64 / days) * self.capacity as f64;
        let to = profile.utilization_at((day + 1) as f64 / days) * self.capacity as f64;
        // A day of growth, or of shrinking, has at least the operations that this takes.
        // What whole packages leave of a day's end off the curve is less than one, and makes none.
        let start = if profile.packages {
            from
        } else {
            self.used as f64
        };
        let least = ((to - start).abs() / self.mean_file as f64 * 1.2) as u64;
        let operations = operations.max(least);
        let midnight = (day * DAY_S) as i64 * 1_000_000_000;
        let mut clock: Clock<'_> = profile.activity.clock(operations);
        for n in 0..operations {
            let part = (n + 1) as f64 / operations as f64;
            self.target = from + (to - from) * part;
            self.set_age((day as f64 + part) / days);
            let t_ns = midnight + clock.tick(&mut self.rng);
            self.end_short_lived(t_ns)?;
            self.t_ns = self.t_ns.max(t_ns);
            self.step(changes)?;
        }
        self.target = to;
        self.set_age((day + 1) as f64 / days);
        let end = midnight + (DAY_S as i64 * 1_000_000_000 - 1);
        self.end_short_lived(end)?;
        while !self.growing.is_empty() {
            self.grow()?;
        }
        let before = self.summary.operations;
        self.settle()?;
        let settling = self.summary.operations - before;
        self.summary.settling_operations += settling;
        if self.profile.packages {
            self.ahead += settling;
        }
        let off = (self.used as f64 - to).abs() / self.capacity as f64;
        self.summary.utilization_deviation = self.summary.utilization_deviation.max(off);
        self.t_ns = end;
        self.sink.event(Event::day(&(day + 1).to_string()).at(end))
    }

    /// A file born now is counted in the first bucket that reaches its age at the end.
    fn set_age(&mut self, progress: f64) {
        let i = self.ages.iter().position(|a| progress >= 1.0 - a.0);
        self.age = i.unwrap_or(self.ages.len() - 1) as u8;
    }

    fn step(&mut self, changes: &AliasTable) -> Result<(), SinkError> {
        if self.ahead > 0 {
            self.ahead -= 1;
            return Ok(());
        }
        if !self.growing.is_empty() && self.rng.chance(0.5) {
            return self.grow();
        }
        match Change::ALL[changes.draw(&mut self.rng)] {
            Change::Turnover => self.turn_over(),
            change => self.change(change),
        }
    }

    /// The controller.
    fn turn_over(&mut self) -> Result<(), SinkError> {
        if self.rng.chance(self.profile.short_lived) {
            return self.create_short_lived();
        }
        let used = self.committed() as f64;
        let at_once = if self.profile.packages {
            self.profile.files_per_directory as f64
        } else {
            1.0
        };
        let create = if used < self.target {
            true
        } else if used > self.target + self.mean_file as f64 * at_once {
            false
        } else {
            self.rng.chance(0.5)
        };
        let create = create || self.files.len() == 0;
        if self.profile.packages {
            let before = self.summary.operations;
            if create {
                self.install()?;
            } else {
                self.uninstall()?;
            }
            self.ahead = (self.summary.operations - before).saturating_sub(1);
            Ok(())
        } else if create {
            self.create_lacking()
        } else {
            self.delete_overfull()
        }
    }

    /// What is in use, and what growing files will take; short-lived files do not count.
    fn committed(&self) -> u64 {
        self.used + self.pending - self.short_lived_fragments
    }

    /// Fragments that are still free under the highest utilization.
    pub fn room(&self) -> u64 {
        let most = (self.capacity as f64 * super::MAX_UTILIZATION) as u64;
        most.saturating_sub(self.used + self.pending)
    }

    /// Files that there should be, were there as many as the curve asks for at the end. A large file that comes or
    /// goes changes this little, so that it sweeps no age out.
    fn wanted_files(&mut self) -> f64 {
        let now = self.files.len() as f64;
        if self.target > 0.0 {
            let step = 1.0 / now.max(100.0);
            self.density += (now / self.target - self.density) * step;
        }
        (self.density * self.final_target).max(now)
    }

    /// A create of the size and depth farthest below their shares; makes room for it first.
    fn create_lacking(&mut self) -> Result<(), SinkError> {
        let Some(bytes) = self.lacking_size(self.target) else {
            self.summary.left_out += 1;
            return Ok(());
        };
        let fragments = self.space.fragments(bytes);
        let most = self.target + self.mean_file as f64;
        while (self.committed() + fragments) as f64 > most && self.files.len() > 0 {
            if fragments <= self.mean_file && self.committed() as f64 <= most {
                break;
            }
            self.delete_overfull()?;
        }
        let depth = self.lacking_depth();
        let dir = self.directory(depth)?;
        self.create(bytes, dir, true)
    }

    /// Bytes of a file of the size farthest below its share, of those that may take no more than `most` fragments.
    pub fn lacking_size(&mut self, most: f64) -> Option<u64> {
        let files = (self.files.len() + 1) as f64;
        let by_size = self.files.by_size();
        let size = highest(
            by_size.len(),
            |i| self.size_shares[i] * files - by_size[i] as f64 - self.reluctance[i],
            |i| self.space.fragments(self.sizes.from(i)) as f64 <= most,
        )?;
        Some(self.sizes.draw_within(size, &mut self.rng))
    }

    pub fn lacking_depth(&self) -> usize {
        let files = (self.files.len() + 1) as f64;
        let by_depth = self.files.by_depth();
        let lacking = |i: usize| self.depth_shares[i] * files - by_depth[i] as f64;
        highest(by_depth.len(), lacking, |_| true).unwrap_or(0)
    }

    fn overfull(&mut self) -> Option<u32> {
        let files = self.files.len() as f64;
        let in_the_end = self.wanted_files();
        let [ages, sizes, depths] = &mut self.wanted;
        ages.clear();
        ages.extend(self.ages.iter().map(|a| a.1 * in_the_end));
        sizes.clear();
        let with_reluctance = self.size_shares.iter().zip(&self.reluctance);
        sizes.extend(with_reluctance.map(|(share, more)| share * files + more));
        depths.clear();
        depths.extend(self.depth_shares.iter().map(|s| s * files));
        self.files.most_overfull(ages, sizes, depths, &mut self.rng)
    }

    fn delete_overfull(&mut self) -> Result<(), SinkError> {
        match self.overfull() {
            Some(slot) => self.delete(slot),
            None => Ok(()),
        }
    }

    /// Brings what is in use to within the tolerance of the target. Every step deletes, cuts, or fills the gap,
    /// and none goes over the far side of the tolerance, but to be filled again.
    fn settle(&mut self) -> Result<(), SinkError> {
        if self.profile.packages {
            return self.settle_packages();
        }
        let slack = self.slack();
        loop {
            let off = self.used as f64 - self.target;
            if off > slack {
                let Some(slot) = self.overfull() else {
                    return Ok(());
                };
                let bytes = self.files.file(slot).bytes;
                let fragments = self.space.fragments(bytes);
                if fragments as f64 <= off + slack {
                    self.delete(slot)?;
                } else {
                    let keep = fragments - (off as u64).min(fragments);
                    let keep = u128::from(bytes) * u128::from(keep) / u128::from(fragments);
                    self.summary.cut_files += 1;
                    self.cut(slot, keep as u64)?;
                }
            } else if -off > slack {
                self.fill_gap((slack - off) as u64, (-off) as u64)?;
            } else {
                return Ok(());
            }
        }
    }

    fn fill_gap(&mut self, most: u64, gap: u64) -> Result<(), SinkError> {
        let bytes = self.gap_bytes(most, gap);
        let depth = self.lacking_depth();
        let dir = self.directory(depth)?;
        self.create(bytes, dir, false)
    }

    /// Bytes of a file that takes at most `most` fragments; of the gap's own size where none drawn does.
    pub fn gap_bytes(&mut self, most: u64, gap: u64) -> u64 {
        let files = (self.files.len() + 1) as f64;
        let by_size = self.files.by_size();
        let fits = |i: usize| {
            let least = self.space.fragments(self.sizes.from(i).max(1));
            self.sizes.upto(i) > 0.0 && least <= most && self.size_shares[i] > 0.0
        };
        let size = highest(
            by_size.len(),
            |i| self.size_shares[i] * files - by_size[i] as f64,
            fits,
        );
        let drawn = size.map(|i| self.sizes.draw_within(i, &mut self.rng));
        match drawn {
            Some(bytes) if self.space.fragments(bytes) <= most => bytes,
            _ => {
                self.summary.cut_files += 1;
                // Pointers of a large file take room too.
                let data = gap - gap / 64;
                self.space.bytes(data.max(1))
            }
        }
    }

    /// A directory of that depth for one more file; a new one where those there are full.
    fn directory(&mut self, depth: usize) -> Result<u32, SinkError> {
        if depth == 0 {
            return Ok(ROOT);
        }
        let found = if self.profile.directories.is_some() {
            self.dirs.random(depth, &mut self.rng)
        } else if self.files.by_depth()[depth] < self.width(depth) {
            let most = 2 * self.profile.files_per_directory;
            self.dirs.busy(depth, most, &mut self.rng)
        } else {
            None
        };
        if let Some(dir) = found {
            return Ok(dir);
        }
        let parent = self.directory_above(depth)?;
        self.mkdir_next(parent)
    }

    /// Files for which the directories of a depth are meant.
    fn width(&self, depth: usize) -> u64 {
        self.dirs.count(depth) as u64 * self.profile.files_per_directory
    }

    /// A directory of the depth above, made with those over it where there is none.
    fn directory_above(&mut self, depth: usize) -> Result<u32, SinkError> {
        let mut above = depth - 1;
        while self.dirs.count(above) == 0 {
            above -= 1;
        }
        let mut place = self
            .dirs
            .random(above, &mut self.rng)
            .expect("a depth with directories");
        while above + 1 < depth {
            place = self.mkdir_next(place)?;
            above += 1;
        }
        Ok(place)
    }

    fn mkdir_next(&mut self, parent: u32) -> Result<u32, SinkError> {
        let name = format!("d{}", self.dirs.next_number());
        self.mkdir(parent, &name, true)
    }

    pub fn mkdir(&mut self, parent: u32, name: &str, for_files: bool) -> Result<u32, SinkError> {
        let above = self.dirs.dir(parent).id;
        let (place, fragments) = self.dirs.make(parent, for_files);
        self.used += fragments;
        let op = Op::Mkdir {
            dir: self.dirs.dir(place).id,
            parent: Some(above),
        };
        self.emit(op, Some(name.as_bytes()))?;
        Ok(place)
    }

    pub fn rmdir(&mut self, place: u32) -> Result<(), SinkError> {
        let (dir, fragments) = self.dirs.remove(place);
        self.used -= fragments;
        self.emit(Op::Rmdir { dir: dir.id }, None)
    }

    pub fn leave_directory(&mut self, place: u32) -> Result<(), SinkError> {
        self.dirs.remove_entry(place);
        if self.profile.directories.is_some() || self.profile.packages {
            return Ok(());
        }
        let mut place = place;
        // Empty directories go when those left have room for one and a half times the files.
        while place != ROOT && self.dirs.is_empty(place) {
            let depth = self.dirs.dir(place).depth;
            let files = self.files.by_depth().get(depth).copied().unwrap_or(0);
            if files * 3 > (self.width(depth) - self.profile.files_per_directory) * 2 {
                break;
            }
            let parent = self.dirs.parent(place);
            self.rmdir(place)?;
            place = parent;
        }
        Ok(())
    }

    pub fn new_id(&mut self) -> FileId {
        self.next_file += 1;
        FileId(self.next_file - 1)
    }

    pub fn dir_id(&self, place: u32) -> DirId {
        self.dirs.dir(place).id
    }

    pub fn kind(&self, bytes: u64, dir: u32) -> Kind {
        Kind {
            age: self.age,
            size: self.sizes.of(bytes) as u8,
            depth: self.dirs.dir(dir).depth as u8,
        }
    }

    /// Makes a file, perhaps its first piece only.
    fn create(&mut self, bytes: u64, dir: u32, may_grow: bool) -> Result<(), SinkError> {
        let chunk = self.profile.chunk_bytes;
        let grows = may_grow
            && bytes > chunk
            && self.growing.len() < MAX_GROWING
            && self.rng.chance(self.profile.interleaved);
        if !grows {
            self.create_whole(bytes, dir)?;
            return Ok(());
        }
        let file = self.begin(bytes, dir);
        self.take(self.space.fragments(chunk));
        self.summary.interleaved_files += 1;
        self.pending += self.space.fragments(bytes) - self.space.fragments(chunk);
        self.growing.push(Growing {
            file,
            written: chunk,
        });
        self.emit_create(&file, chunk)
    }

    /// Makes a file, and gives its slot.
    pub fn create_whole(&mut self, bytes: u64, dir: u32) -> Result<u32, SinkError> {
        let file = self.begin(bytes, dir);
        self.take(self.space.fragments(bytes));
        let slot = self.files.insert(file);
        self.emit_create(&file, bytes)?;
        self.deliver(&file)?;
        Ok(slot)
    }

    /// A new file with its name in a directory.
    fn begin(&mut self, bytes: u64, dir: u32) -> File {
        let id = self.new_id();
        self.enter_directory(dir);
        File::new(id, id.0, bytes, dir, self.kind(bytes, dir))
    }

    fn emit_create(&mut self, file: &File, bytes: u64) -> Result<(), SinkError> {
        let dir = self.dirs.dir(file.dir).staging.unwrap_or(file.dir);
        let op = Op::Create {
            file: file.id,
            dir: self.dir_id(dir),
            bytes,
        };
        self.emit_file(op, file.name)
    }

    /// Flushes a file that is written in another directory, and moves it to its own.
    fn deliver(&mut self, file: &File) -> Result<(), SinkError> {
        if self.dirs.dir(file.dir).staging.is_none() {
            return Ok(());
        }
        self.emit(Op::Fsync { file: file.id }, None)?;
        let op = Op::Rename {
            file: file.id,
            dir: self.dir_id(file.dir),
            replaced: None,
        };
        self.emit_file(op, file.name)
    }

    /// The next piece of a growing file.
    fn grow(&mut self) -> Result<(), SinkError> {
        let i = self.rng.below(self.growing.len() as u64) as usize;
        let Growing { file, written } = &mut self.growing[i];
        let bytes = self.profile.chunk_bytes.min(file.bytes - *written);
        let id = file.id;
        let before = self.space.fragments(*written);
        *written += bytes;
        let more = self.space.fragments(*written) - before;
        let done = *written == file.bytes;
        self.pending -= more;
        self.take(more);
        let done = done.then(|| self.growing.swap_remove(i).file);
        if let Some(file) = done {
            self.files.insert(file);
        }
        self.emit(Op::Append { file: id, bytes }, None)?;
        done.map_or(Ok(()), |file| self.deliver(&file))
    }

    fn create_short_lived(&mut self) -> Result<(), SinkError> {
        let size = self.sizes.draw(&mut self.rng);
        let bytes = self.sizes.draw_within(size, &mut self.rng);
        let fragments = self.space.fragments(bytes);
        let most = (self.capacity as f64 * SHORT_LIVED_SPACE) as u64;
        let fits = self.short_lived_fragments + fragments <= most && fragments <= self.room();
        if !fits {
            self.summary.left_out += 1;
            return Ok(());
        }
        let depth = self.draw_depth.draw(&mut self.rng);
        let dir = match self.dirs.random(depth, &mut self.rng) {
            Some(dir) => dir,
            None => self.directory(depth)?,
        };
        let id = self.new_id();
        let life_s = self.rng.exponential() * self.profile.short_lived_minutes * 60.0;
        let end = self.t_ns.saturating_add((life_s * 1e9) as i64);
        self.enter_directory(dir);
        self.take(fragments);
        self.short_lived_fragments += fragments;
        self.short_lived.push(Reverse((end, id.0, dir, fragments)));
        self.summary.short_lived_files += 1;
        let file = File::new(id, id.0, bytes, dir, self.kind(bytes, dir));
        self.emit_create(&file, bytes)?;
        self.deliver(&file)
    }

    /// Ends the short-lived files whose time has come; at the end of the day all of them.
    fn end_short_lived(&mut self, t_ns: i64) -> Result<(), SinkError> {
        let day_ns = DAY_S as i64 * 1_000_000_000;
        let evening = (t_ns + 1) % day_ns == 0;
        while let Some(&Reverse((end, id, dir, fragments))) = self.short_lived.peek() {
            if end > t_ns && !evening {
                break;
            }
            self.short_lived.pop();
            self.t_ns = self.t_ns.max(end.min(t_ns));
            self.short_lived_fragments -= fragments;
            self.used -= fragments;
            self.emit(Op::Delete { file: FileId(id) }, None)?;
            self.leave_directory(dir)?;
        }
        Ok(())
    }

    pub fn delete(&mut self, slot: u32) -> Result<(), SinkError> {
        let file = self.files.remove(slot);
        self.used -= self.space.fragments(file.bytes);
        self.emit(Op::Delete { file: file.id }, None)?;
        self.leave_directory(file.dir)
    }

    /// A name more in a directory.
    pub fn enter_directory(&mut self, dir: u32) {
        let fragments = self.dirs.add_entry(dir);
        self.take(fragments);
    }

    /// A file has another length now.
    pub fn resize(&mut self, slot: u32, bytes: u64) {
        let before = self.space.fragments(self.files.file(slot).bytes);
        self.used -= before;
        self.take(self.space.fragments(bytes));
        let size = self.sizes.of(bytes) as u8;
        self.files.resize(slot, bytes, size);
    }

    /// A new file takes the place of one that goes.
    pub fn replace(&mut self, slot: u32, file: File) {
        let old = self.files.remove(slot);
        self.used -= self.space.fragments(old.bytes);
        self.files.insert(file);
    }

    pub fn take(&mut self, fragments: u64) {
        self.used += fragments;
        let share = self.used as f64 / self.capacity as f64;
        self.summary.peak_utilization = self.summary.peak_utilization.max(share);
    }

    /// An operation that gives a file the name of that number.
    pub fn emit_file(&mut self, op: Op, name: u64) -> Result<(), SinkError> {
        let mut text = *b"f00000000000000000000";
        let mut at = text.len();
        let mut rest = name;
        loop {
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        at -= 1;
        text[at] = b'f';
        self.emit(op, Some(&text[at..]))
    }

    pub fn emit(&mut self, op: Op, name: Option<&[u8]>) -> Result<(), SinkError> {
        self.summary.operations += 1;
        let written = self
            .summary
            .bytes_written
            .saturating_add(op.bytes_written());
        self.summary.bytes_written = written;
        let mut event = Event::new(op)
            .at(self.t_ns)
            .from_source(Origin::Generated, TQuality::Random);
        event.name = name.map(Into::into);
        self.sink.event(event)
    }

    fn finish(self) -> ProfileSummary {
        let mut summary = self.summary;
        summary.files = self.files.len() as u64;
        summary.directories = self.dirs.total();
        summary.utilization = self.used as f64 / self.capacity as f64;
        let (sizes, ages) = (&self.sizes, &self.ages);
        let farthest = |shares: &[f64], count: &[u64], upto: &dyn Fn(usize) -> f64| {
            let deviation = |i: usize| Deviation {
                upto: upto(i),
                wanted: shares[i],
                got: count[i] as f64 / (self.files.len().max(1)) as f64,
            };
            let i = highest(shares.len(), |i| deviation(i).distance(), |_| true);
            i.map(deviation).unwrap_or_default()
        };
        let age_shares: Vec<f64> = ages.iter().map(|a| a.1).collect();
        summary.age = self
            .profile
            .age
            .as_ref()
            .map(|_| farthest(&age_shares, self.files.by_age(), &|i| ages[i].0));
        summary.size = farthest(&self.size_shares, self.files.by_size(), &|i| sizes.upto(i));
        summary.depth = farthest(&self.depth_shares, self.files.by_depth(), &|i| i as f64);
        summary
    }
}
