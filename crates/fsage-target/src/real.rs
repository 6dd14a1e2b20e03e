//! A real target in a run: a [`Directory`] with its journal, so that the run can go on after any interruption.
//!
//! The journal says how many events are done and which of them did not end plainly. A run that goes on is given the
//! workload from its start: up to that count the tables follow the events without touching the disk. Then the tree is
//! brought to what the tables say, see [`repair`](crate::directory::repair), and the replay is live.

mod ahead;

use crate::directory::{
    Allowed, Directory, Journal, Move, Recovered, RepairError, Repaired, Reread, UNSAID, repair,
};
use crate::engine::{OpCounts, ReplayError};
use ahead::Ahead;
use fsage_core::{DirId, Event, FileId, Op};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::time::SystemTime;

/// Events after the journal's count that may explain what is in the tree, at most. A killed process is at most
/// [`UNSAID`] and one [`piece`] ahead of its journal; after a power failure the tree may be ahead up to the end of
/// the day.
const AHEAD: usize = 1 << 20;

/// Events for each of several threads in one piece.
const SHARED: usize = 512;

/// Whether a day that ends has been measured before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DayIs {
    /// It ends now.
    New,
    /// It ended before the interruption.
    Known,
}

/// Asked between a few events whether to stop.
pub type Stop = Box<dyn Fn() -> bool + Send>;

/// A directory being aged in a run.
pub struct Real {
    directory: Directory,
    /// The unaged control has none: it is made anew.
    journal: Option<Journal>,
    catching_up: Option<Box<CatchingUp>>,
    repaired: Option<Repaired>,
    stop: Stop,
}

/// The way back to where an interrupted run was.
struct CatchingUp {
    recovered: Recovered,
    deviations: Peekable<std::vec::IntoIter<crate::directory::Deviation>>,
    /// When the last known day ended, by the clock of the machine.
    synced_ns: i64,
    days: u32,
    /// What the events since the last end of a day removed or moved away, by path and by place; and where it went.
    removed: BTreeSet<Vec<u8>>,
    removed_names: Vec<(DirId, Vec<u8>)>,
    removed_dirs: FxHashMap<DirId, (DirId, Vec<u8>)>,
    moved: Vec<Move>,
    /// Files that they wrote.
    written: BTreeSet<FileId>,
    /// Events after the journal's count, and how many of them may have been done.
    after: Vec<Event>,
    ahead: usize,
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Real")
            .field("directory", &self.directory)
            .field("journal", &self.journal)
            .field("catching_up", &self.catching_up.is_some())
            .finish_non_exhaustive()
    }
}

impl Real {
    /// A run that begins.
    pub fn begin(directory: Directory, journal: Option<Journal>, stop: Stop) -> Real {
        Real {
            directory,
            journal,
            catching_up: None,
            repaired: None,
            stop,
        }
    }

    /// A run that goes on, on a directory that has been applied nothing to. It is to be given the workload from its
    /// start. After a power failure the tree may be further ahead of the journal than after the death of the program.
    pub fn resume(
        directory: Directory,
        journal: Journal,
        recovered: Recovered,
        power_failed: bool,
        stop: Stop,
    ) -> Real {
        let ahead = if power_failed {
            AHEAD
        } else {
            // What the journal had been told and not written, and the piece that was being applied.
            UNSAID as usize + piece(directory.options().threads)
        };
        let deviations = recovered.deviations.clone().into_iter().peekable();
        Real {
            catching_up: Some(Box::new(CatchingUp {
                recovered,
                deviations,
                synced_ns: 0,
                days: 0,
                removed: BTreeSet::new(),
                removed_names: Vec::new(),
                removed_dirs: FxHashMap::default(),
                moved: Vec::new(),
                written: BTreeSet::new(),
                after: Vec::new(),
                ahead,
            })),
            ..Real::begin(directory, Some(journal), stop)
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The directory, out of the run; its journal is done with.
    pub fn into_directory(self) -> Directory {
        self.directory
    }

    /// What had to be done to the tree when the run went on.
    pub fn repaired(&self) -> Option<&Repaired> {
        self.repaired.as_ref()
    }

    /// Applies events that are no `day`.
    pub(crate) fn apply(
        &mut self,
        events: &[Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), ReplayError> {
        let live = self.follow(events, counts, lenient)?;
        self.apply_live(live, counts, lenient)
    }

    /// Takes over what is known to be done, and gives back what is not. What comes soon after it is kept until the tree
    /// has been repaired.
    fn follow<'e>(
        &mut self,
        events: &'e [Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<&'e [Event], ReplayError> {
        let Some(catching_up) = &mut self.catching_up else {
            return Ok(events);
        };
        let done = self.directory.events_done();
        let known = catching_up.recovered.events_done.saturating_sub(done);
        let known = events.len().min(known as usize);
        for event in &events[..known] {
            catching_up.note(event, &self.directory);
            let index = self.directory.events_done();
            let deviation = catching_up
                .deviations
                .next_if(|deviation| deviation.event_index == index);
            self.directory
                .replay_known(event, deviation.as_ref(), counts, lenient)?;
            catching_up.note_moved(event, &self.directory);
        }
        let rest = &events[known..];
        let room = catching_up.ahead - catching_up.after.len().min(catching_up.ahead);
        let (kept, live) = rest.split_at(rest.len().min(room));
        catching_up.after.extend_from_slice(kept);
        if catching_up.after.len() >= catching_up.ahead {
            self.catch_up_ends(counts, lenient)?;
        }
        Ok(live)
    }

    /// The workload has ended, and its last day, which no `day` ends, was over before the interruption.
    pub(crate) fn open_day_is_known(&self) -> bool {
        self.catching_up.as_ref().is_some_and(|catching_up| {
            self.directory.events_done() < catching_up.recovered.events_done
        })
    }

    /// Repairs the tree, if that is still to be done, and applies what had to wait for it.
    pub(crate) fn catch_up_ends(
        &mut self,
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), ReplayError> {
        let Some(catching_up) = self.catching_up.take() else {
            return Ok(());
        };
        if self.directory.events_done() < catching_up.recovered.events_done {
            // The same hash, and yet it ends before what was done: another program's run, or a damaged journal.
            return Err(ReplayError::Resume {
                known: catching_up.recovered.events_done,
                events: self.directory.events_done(),
            });
        }
        let mut ahead = Ahead::new(&self.directory, &catching_up.removed_dirs);
        for (dir, name) in &catching_up.removed_names {
            ahead.name(*dir, name);
        }
        for event in &catching_up.after {
            ahead.event(event);
        }
        let (mut paths, mut moves) = ahead.finish();
        paths.extend(catching_up.removed);
        moves.extend(catching_up.moved);
        let after = catching_up.after.iter().filter_map(|e| e.op.written_file());
        let written = catching_up.written.iter().copied().chain(after);
        let reread = Reread::Since {
            ctime_ns: catching_up.synced_ns,
            written: written
                .filter_map(|file| self.directory.path_of_file(file))
                .collect(),
        };
        let stop = &self.stop;
        let repaired = repair(
            self.directory.root(),
            &self.directory.expected(),
            &Allowed { paths, moves },
            &reread,
            self.directory.options().data,
            &mut |_| !stop(),
        );
        let repaired = repaired.map_err(|error| match error {
            RepairError::Interrupted => ReplayError::Interrupted,
            error => ReplayError::Repair(error),
        })?;
        // The journal need not know: should the run be interrupted again, these files are found to be short again.
        self.directory.shorten(&repaired.short);
        self.repaired = Some(repaired);
        self.directory.forget_cache();
        self.apply_live(&catching_up.after, counts, lenient)
    }

    /// Applies events in pieces, each noted in the journal.
    fn apply_live(
        &mut self,
        events: &[Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), ReplayError> {
        let piece = piece(self.directory.options().threads);
        for events in events.chunks(piece) {
            if (self.stop)() {
                return Err(ReplayError::Interrupted);
            }
            let applied = self.directory.apply(events, counts, lenient);
            let noted = self.note_progress();
            applied?;
            noted?;
        }
        Ok(())
    }

    fn note_progress(&mut self) -> Result<(), ReplayError> {
        let deviations = self.directory.take_deviations();
        if let Some(journal) = &mut self.journal {
            journal.progress(self.directory.events_done(), &deviations)?;
        }
        Ok(())
    }

    /// Ends a day: the tree is synced and its layout read, unless it is a day that had ended before the interruption.
    pub(crate) fn end_day(
        &mut self,
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<DayIs, ReplayError> {
        if let Some(catching_up) = &mut self.catching_up {
            if self.directory.events_done() < catching_up.recovered.events_done {
                catching_up.day_is_over();
                self.directory.replay_known(
                    &Event::new(Op::Day),
                    None,
                    &mut OpCounts::default(),
                    lenient,
                )?;
                return Ok(DayIs::Known);
            }
            self.catch_up_ends(counts, lenient)?;
        }
        self.directory.end_day()?;
        Ok(DayIs::New)
    }

    /// Notes in the journal that a day is over, with the caller's record of it.
    pub(crate) fn record_day(&mut self, number: u32, record: &[u8]) -> Result<(), ReplayError> {
        let deviations = self.directory.take_deviations();
        let done = self.directory.events_done();
        if let Some(journal) = &mut self.journal {
            // The `day` itself counts as done only when its record is safe.
            journal.progress(done - 1, &deviations)?;
            let payload = [&now_ns().to_le_bytes(), record].concat();
            journal.day(u64::from(number), &payload)?;
            journal.progress(done, &[])?;
            journal.flush()?;
        }
        Ok(())
    }

    /// Leaves the tree so that the run can go on: what is done is noted, and on disk.
    pub(crate) fn leave(&mut self) -> Result<(), ReplayError> {
        if self.catching_up.is_none() {
            self.note_progress()?;
            if let Some(journal) = &mut self.journal {
                journal.flush()?;
            }
            self.directory.sync()?;
        }
        Ok(())
    }
}

/// What the caller recorded of each day, from a journal.
pub fn day_records(recovered: &Recovered) -> impl Iterator<Item = &[u8]> {
    recovered
        .days
        .iter()
        .map(|payload| payload.get(8..).unwrap_or_default())
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i64)
}

/// Events between two notes in the journal. Several threads are started anew for each piece, and need enough to share.
fn piece(threads: usize) -> usize {
    match threads {
        0 | 1 => UNSAID as usize,
        threads => SHARED * threads,
    }
}

impl CatchingUp {
    /// What an event removes or moves, seen before it is taken over.
    fn note(&mut self, event: &Event, directory: &Directory) {
        self.written.extend(event.op.written_file());
        match event.op {
            Op::Delete { file } => {
                self.removed.extend(directory.path_of_file(file));
                self.removed_names.extend(directory.place_of_file(file));
            }
            Op::Rmdir { dir } => {
                self.removed.extend(directory.path_of_dir(dir));
                if let Some(place) = directory.place_of_dir(dir) {
                    self.removed_names.push(place.clone());
                    self.removed_dirs.insert(dir, place);
                }
            }
            Op::Rename { file, .. } => {
                self.removed_names.extend(directory.place_of_file(file));
                if let Some(found_at) = directory.path_of_file(file) {
                    self.removed.insert(found_at.clone());
                    self.moved.push(Move {
                        found_at,
                        belongs_at: Vec::new(),
                    });
                }
            }
            Op::RenameDir { dir, .. } => {
                self.removed_names.extend(directory.place_of_dir(dir));
                if let Some(found_at) = directory.path_of_dir(dir) {
                    self.removed.insert(found_at.clone());
                    self.moved.push(Move {
                        found_at,
                        belongs_at: Vec::new(),
                    });
                }
            }
            _ => {}
        }
    }

    /// Where a move led, seen after it was taken over.
    fn note_moved(&mut self, event: &Event, directory: &Directory) {
        let belongs_at = match event.op {
            Op::Rename { file, .. } => directory.path_of_file(file),
            Op::RenameDir { dir, .. } => directory.path_of_dir(dir),
            _ => return,
        };
        if let (Some(moved), Some(belongs_at)) = (self.moved.last_mut(), belongs_at)
            && moved.belongs_at.is_empty()
        {
            moved.belongs_at = belongs_at;
        }
    }

    fn day_is_over(&mut self) {
        self.removed.clear();
        self.removed_names.clear();
        self.removed_dirs.clear();
        self.moved.clear();
        self.written.clear();
        let payload = self.recovered.days.get(self.days as usize);
        let stamp = payload.and_then(|p| p.first_chunk::<8>());
        if let Some(stamp) = stamp {
            self.synced_ns = i64::from_le_bytes(*stamp);
        }
        self.days += 1;
    }
}
