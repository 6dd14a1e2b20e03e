//! The replay of a workload on a directory.

use super::cache::Layouts;
use super::content::Content;
use super::descriptors::share_of_open_files;
use super::deviation::Deviation;
use super::dirs::Dirs;
use super::error::{Failure, TargetError};
use super::expected::{Expected, ExpectedFile, What};
use super::files::Links;
use super::namespace::{FileSlot, file_of};
use super::naming::{BadName, NameBuffer};
use super::shard::{Common, How, Shard};
use super::{DEFAULT_RESERVE_BYTES, Options, Sync, Volume, symlink_target};
use crate::RealError;
use fsage_core::names::escape;
use fsage_core::operations::{self, Decision, ROOT};
use fsage_core::{Event, FileId, Geometry, Op, OpCounts, Outcome, Run};
use rustc_hash::FxHashMap;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// Asks the file system that a directory lies on for its runs of free space, ascending; `None` where it does not say.
pub type FreeRuns = Box<dyn Fn(BorrowedFd<'_>) -> Option<Vec<Run>> + Send>;

/// A workload being replayed on a directory of a mounted file system.
///
/// Events are applied in order, each exactly once: by [`apply`](Self::apply) live, or by
/// [`replay_known`](Self::replay_known) in the tables alone. A failure leaves the tables as they were before the event
/// that failed, [`events_done`](Self::events_done) tells which one that is, and nothing can be applied any more.
///
/// As a [`Layout`](fsage_core::Layout) it is what the last [`end_day`](Self::end_day) found.
#[derive(Debug)]
pub struct Directory {
    pub(super) volume: Box<dyn Volume>,
    pub(super) options: Options,
    pub(super) block_bytes: u64,
    pub(super) dirs: Dirs,
    pub(super) links: Mutex<Links>,
    pub(super) shards: Vec<Shard>,
    pub(super) events_done: u64,
    pub(super) deviations: Vec<Deviation>,
    pub(super) layouts: Layouts,
}

impl Directory {
    /// A replay that starts with an empty tree.
    ///
    /// # Errors
    /// The file system does not say how large it is.
    pub fn new(volume: Box<dyn Volume>, options: Options) -> Result<Directory, TargetError> {
        let layouts = Layouts::new(volume.root())?;
        let reserve_bytes = options.reserve_bytes.unwrap_or_else(|| {
            let twentieth = layouts.geometry.size_bytes / 20;
            if volume.is_shared() {
                twentieth.min(DEFAULT_RESERVE_BYTES)
            } else {
                0
            }
        });
        let options = Options {
            reserve_bytes: Some(reserve_bytes),
            ..options
        };
        let shards = options.shards();
        let open_files = share_of_open_files(shards);
        Ok(Directory {
            volume,
            options,
            block_bytes: u64::from(layouts.geometry.block_bytes).max(1),
            dirs: Dirs::new(),
            links: Mutex::default(),
            shards: (0..shards)
                .map(|number| Shard::new(number, open_files))
                .collect(),
            events_done: 0,
            deviations: Vec::new(),
            layouts,
        })
    }

    /// From now on free space is asked for by this at the end of every day.
    pub fn read_free_space_by(&mut self, free_runs: FreeRuns) {
        self.layouts.free_runs = Some(free_runs);
    }

    /// Changes what is said of the sizes of the file system: its groups where the caller knows them, or `data_bytes`
    /// where a run goes on that began on an emptier file system.
    pub fn adjust_geometry(&mut self, change: impl FnOnce(&mut Geometry)) {
        change(&mut self.layouts.geometry);
    }

    /// Where the tree lies.
    pub fn volume(&self) -> &dyn Volume {
        &*self.volume
    }

    /// How it is replayed; what was left to a default is said.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Number of events that are done, ended days and probes among them: the index of the next one.
    pub fn events_done(&self) -> u64 {
        self.events_done
    }

    /// Applies a piece of the workload that has no `day` in it, as a replay does it on every target.
    /// In lenient mode operations that do not fit the state are counted and skipped.
    ///
    /// # Errors
    /// The first event that fails: one that does not fit the state, or has a name that no entry can have; a system
    /// call that fails for another reason than lack of space. What came before it is done.
    pub fn apply(
        &mut self,
        events: &[Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), RealError> {
        if self.shards.len() > 1 {
            return self.apply_in_parallel(events, counts, lenient);
        }
        for event in events {
            self.apply_alone(event, How::Live, counts, lenient)?;
        }
        Ok(())
    }

    /// Takes over an event that is known to have been done, without touching the disk. `deviation` is what was recorded
    /// of it, if anything was. Call [`forget_cache`](Self::forget_cache) after the last one.
    ///
    /// # Errors
    /// The event does not fit the state; `lenient` as for [`apply`](Self::apply).
    pub fn replay_known(
        &mut self,
        event: &Event,
        deviation: Option<&Deviation>,
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), RealError> {
        self.apply_alone(event, How::Known(deviation), counts, lenient)
    }

    /// Deviations since this was called last, in the order of events.
    pub fn take_deviations(&mut self) -> Vec<Deviation> {
        std::mem::take(&mut self.deviations)
    }

    /// Ends a day: syncs as the options say, and brings the layout up to date. Counts as an event.
    ///
    /// # Errors
    /// Syncing failed, or a file that should be there could not be looked at.
    pub fn end_day(&mut self) -> Result<(), TargetError> {
        if self.options.sync != Sync::End {
            self.volume.end_day().map_err(not_synced)?;
        }
        self.read_layout()?;
        self.events_done += 1;
        Ok(())
    }

    /// Forces everything to disk.
    ///
    /// # Errors
    /// What syncing failed with: data may be lost.
    pub fn sync(&mut self) -> Result<(), TargetError> {
        self.volume.sync().map_err(not_synced)
    }

    /// Forgets where files lie, so that the next end of a day asks for all of them.
    pub fn forget_cache(&mut self) {
        self.dirs.forget_cache();
        self.common().links().forget_cache();
        for shard in &mut self.shards {
            shard.changed = shard.files.forget_cache();
            shard.gone.clear();
        }
        self.layouts.order.clear();
        if let Some(watched) = &mut self.layouts.watched {
            watched.touch_all();
        }
    }

    /// Syncs and gives the volume back.
    ///
    /// # Errors
    /// As for [`sync`](Self::sync).
    pub fn finish(mut self) -> Result<Box<dyn Volume>, TargetError> {
        self.sync()?;
        let Directory { volume, shards, .. } = self;
        drop(shards);
        Ok(volume)
    }

    /// Length of a file; `None` if no such file is alive.
    pub fn file_size(&self, file: FileId) -> Option<u64> {
        let common = self.common();
        self.shards.iter().find_map(|s| s.size(&common, file))
    }

    /// Bytes of the regular files that are alive, each rounded up to whole blocks.
    pub fn live_bytes(&self) -> u64 {
        let live: i128 = self.shards.iter().map(|shard| shard.live_bytes).sum();
        u64::try_from(live).unwrap_or(0)
    }

    /// What [`live_bytes`](Self::live_bytes) would be had no operation been skipped for lack of space. What no disk
    /// could hold ([`Outcome::TooLarge`]) counts as far as it was done; a hard link that could not be made keeps
    /// nothing alive.
    /// Costs as much as there are files that were never made.
    pub fn planned_bytes(&self) -> u64 {
        let there: i128 = self.shards.iter().map(|shard| shard.planned_bytes).sum();
        let shards = self.shards.iter();
        let absent = shards.flat_map(|shard| shard.shortfall.absent_lengths());
        let common = self.common();
        let absent: i128 = absent.map(|bytes| common.rounded(bytes)).sum();
        u64::try_from((there + absent).max(0)).unwrap_or(u64::MAX)
    }

    /// Bytes that lack of space keeps from being there: [`planned_bytes`](Self::planned_bytes) less
    /// [`live_bytes`](Self::live_bytes).
    pub fn left_out_bytes(&self) -> i64 {
        let left_out = i128::from(self.planned_bytes()) - i128::from(self.live_bytes());
        i64::try_from(left_out).unwrap_or(if left_out < 0 { i64::MIN } else { i64::MAX })
    }

    /// Everything that should be in the tree now.
    pub fn expected(&self) -> Expected {
        let paths: FxHashMap<u32, Vec<u8>> = {
            let alive = self.dirs.alive();
            alive
                .map(|(slot, _)| (slot, self.dirs.path(slot)))
                .collect()
        };
        let common = self.common();
        let links = common.links();
        // Names of one inode share a key: the slot of the shared inode, or the place of the one name.
        let mut names: Vec<(Vec<u8>, (usize, u32), What)> = Vec::new();
        for (number, shard) in self.shards.iter().enumerate() {
            for (slot, file) in shard.files.iter() {
                let mut buffer = NameBuffer::new();
                let name = file.name(&mut buffer);
                let path = match &paths[&file.dir][..] {
                    b"" => name.to_vec(),
                    above => [above, b"/", name].concat(),
                };
                let (key, body, symlink, content) = match file.link() {
                    None => ((number, slot), &file.body, file.symlink, file.id),
                    Some(link) => {
                        let inode = links.get(link);
                        (
                            (usize::MAX, link),
                            &inode.body,
                            inode.symlink,
                            inode.content,
                        )
                    }
                };
                let content = Content(content);
                let what = if symlink {
                    What::Symlink {
                        target: symlink_target(content, body.size()),
                    }
                } else {
                    What::File {
                        content,
                        size_bytes: body.size(),
                        zeros: body.zeros().to_vec(),
                    }
                };
                names.push((path, key, what));
            }
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut numbers = FxHashMap::default();
        let files = names.into_iter().map(|(path, key, what)| {
            let next = numbers.len() as u64;
            let inode = *numbers.entry(key).or_insert(next);
            ExpectedFile { path, inode, what }
        });
        let files = files.collect();
        let mut directories: Vec<_> = paths.into_values().filter(|p| !p.is_empty()).collect();
        directories.sort_unstable();
        Expected { directories, files }
    }

    pub(super) fn common(&self) -> Common<'_> {
        Common {
            dirs: &self.dirs,
            links: &self.links,
            root: self.volume.root(),
            options: self.options,
            block_bytes: self.block_bytes,
        }
    }

    /// Applies one event while no other is being applied.
    pub(super) fn apply_alone(
        &mut self,
        event: &Event,
        how: How<'_>,
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), RealError> {
        let op = &event.op;
        if !op.verb().is_probe() && *op != Op::Day {
            let decided = operations::decide(self, op).map_err(Failure::State);
            let result = decided.and_then(|decision| match file_of(op) {
                Some(file) => self.apply_to_file(event, file, how, decision),
                None => self.apply_to_tree(event, how, decision),
            });
            let result = count(result, event, counts, lenient, |file| self.file_size(file));
            for shard in &mut self.shards {
                self.deviations.append(&mut shard.deviations);
                // Each shard sees what is known beside all of them. What threads do side by side adds nothing to it.
                shard.shortfall.spread(&mut self.dirs.shortfall);
            }
            result.map_err(|failure| self.error(event, failure))?;
            if matches!(how, How::Live) && may_remove(op) {
                let waited = self.volume.wait_for_removed();
                waited.map_err(|error| {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    self.error(event, Failure::Io("waiting for what was removed", errno))
                })?;
            }
        }
        self.events_done += 1;
        Ok(())
    }

    fn apply_to_file(
        &mut self,
        event: &Event,
        file: FileId,
        how: How<'_>,
        decision: Decision<FileSlot>,
    ) -> Result<Outcome, Failure> {
        let number = self.shard_for(event, file);
        let common = Common {
            dirs: &self.dirs,
            links: &self.links,
            root: self.volume.root(),
            options: self.options,
            block_bytes: self.block_bytes,
        };
        self.shards[number].carry_out(&common, event, self.events_done, how, decision)
    }

    /// What went wrong, in the words of the user.
    pub(super) fn error(&self, event: &Event, failure: Failure) -> RealError {
        let (line, verb) = (event.line, event.op.verb());
        match failure {
            Failure::State(error) => RealError::State { line, verb, error },
            Failure::Name(fault) => RealError::Name {
                line,
                verb,
                name: escape(event.name.as_deref().unwrap_or_default()).into_owned(),
                fault: match fault {
                    BadName::Fault(fault) => fault.to_string(),
                    BadName::Long(bytes) => {
                        format!("a name of {bytes} bytes; Linux takes at most 255")
                    }
                },
            },
            Failure::NoFallocate => RealError::NoFallocate { line, verb },
            Failure::Io(call, errno) => RealError::Io {
                line,
                verb,
                call,
                path: self.path_of(event),
                advice: match errno {
                    Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::EXIST | Errno::NOTEMPTY => {
                        "something else has changed the tree"
                    }
                    _ => "see to the file system",
                },
                source: errno.into(),
            },
        }
    }

    /// Path of what an event is about, from the root of the tree; escaped.
    fn path_of(&self, event: &Event) -> String {
        let mut buffer = NameBuffer::new();
        let given = event.name.as_deref();
        let in_dir = |dir: u32, name: &[u8]| {
            let path = self.dirs.path(dir);
            let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
            escape(&[&path, separator, name].concat()).into_owned()
        };
        let known = |file: FileId| {
            let (shard, slot) = self.locate(file)?;
            let file = self.shards[shard].files.get(slot);
            Some(in_dir(file.dir, file.name(&mut NameBuffer::new())))
        };
        let dir_path = |id| {
            let slot = self.dirs.find(id).ok()?;
            Some(escape(&self.dirs.path(slot)).into_owned())
        };
        let path = match event.op {
            Op::Create { file, dir, .. }
            | Op::Symlink { file, dir, .. }
            | Op::Link { file, dir, .. } => {
                let name = buffer.name(given, b'f', file.0);
                self.dirs.find(dir).ok().map(|dir| in_dir(dir, name))
            }
            Op::Mkdir { dir, parent } => {
                let name = buffer.name(given, b'd', dir.0);
                let parent = parent.map_or(Ok(ROOT), |parent| self.dirs.find(parent));
                parent.ok().map(|parent| in_dir(parent, name))
            }
            Op::Rmdir { dir } | Op::RenameDir { dir, .. } => dir_path(dir),
            Op::Rename { file, .. } => known(file),
            ref op => file_of(op).and_then(known),
        };
        path.unwrap_or_else(|| ".".to_owned())
    }
}

fn not_synced(source: std::io::Error) -> TargetError {
    TargetError::Io {
        call: "syncfs",
        path: ".".to_owned(),
        source,
    }
}

/// Whether an operation may remove an inode.
fn may_remove(op: &Op) -> bool {
    match op {
        Op::Delete { .. } | Op::Rmdir { .. } => true,
        Op::Rename { replaced, .. } => replaced.is_some(),
        _ => false,
    }
}

/// Counts how an operation ended. A failure is given back, unless it is to be skipped.
pub(super) fn count(
    result: Result<Outcome, Failure>,
    event: &Event,
    counts: &mut OpCounts,
    lenient: bool,
    size: impl Fn(FileId) -> Option<u64>,
) -> Result<(), Failure> {
    match result {
        Ok(outcome) => counts.count(&event.op, outcome, size),
        Err(Failure::State(_) | Failure::Name(_)) if lenient => counts.invalid += 1,
        Err(failure) => return Err(failure),
    }
    Ok(())
}
