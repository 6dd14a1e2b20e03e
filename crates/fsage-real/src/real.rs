//! A real target in a run: a [`Directory`] with its journal, so that the run can go on after any interruption.
//!
//! The journal says how many events are done and which of them did not end plainly. A run that goes on is given the
//! workload from its start: up to that count the tables follow the events without touching the disk. Then the tree is
//! brought to what the tables say, see [`repair`](crate::directory::repair), and the replay is live.

mod room;

use crate::RealError;
use crate::directory::{
    Content, Directory, History, Journal, Recovered, RepairError, Repaired, Reread, Sync, UNSAID,
    UNSYNCED, repair,
};
use fsage_core::{Event, FileId, Layout, Op, OpCounts};
use room::Unwritten;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::time::SystemTime;

/// Events for each of several threads in one piece.
const SHARED: usize = 512;

/// Whether a day that ends has been measured before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayIs {
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
    /// A day has ended in the tree, and the journal does not know yet.
    day_is_unrecorded: bool,
    unwritten: Unwritten,
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
    /// What may be in the tree by the events since it was last synced.
    history: History,
    /// Files that they wrote, by what these hold.
    written: BTreeSet<Content>,
    /// Events after the journal's count that may have been done, and how many these are at most.
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
            day_is_unrecorded: false,
            unwritten: Unwritten::default(),
            repaired: None,
            stop,
        }
    }

    /// A run that goes on, on a directory that has been applied nothing to. It is to be given the workload from its
    /// start. Tree and journal may both lack what was not synced: after the death of the program nothing does, but
    /// nobody can tell that from a power failure, or from a file system that was shut down after an error.
    pub fn resume(
        directory: Directory,
        journal: Journal,
        recovered: Recovered,
        stop: Stop,
    ) -> Real {
        // What the journal had been told and lost, what it had not written, and the piece that was being applied.
        let ahead = UNSYNCED as usize + UNSAID as usize + piece(directory.options().threads);
        let deviations = recovered.deviations.clone().into_iter().peekable();
        Real {
            catching_up: Some(Box::new(CatchingUp {
                recovered,
                deviations,
                synced_ns: 0,
                days: 0,
                history: History::default(),
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

    /// Its layout, which says what changes in it.
    pub fn layout_mut(&mut self) -> &mut dyn Layout {
        &mut self.directory
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
    ///
    /// # Errors
    /// An event that does not fit, unless `lenient`; a system call that failed; the caller asked to stop.
    pub fn apply(
        &mut self,
        events: &[Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), RealError> {
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
    ) -> Result<&'e [Event], RealError> {
        let Some(catching_up) = &mut self.catching_up else {
            return Ok(events);
        };
        let done = self.directory.events_done();
        let known = catching_up.recovered.events_done.saturating_sub(done);
        let known = events.len().min(known as usize);
        for event in &events[..known] {
            let index = self.directory.events_done();
            let deviation = catching_up
                .deviations
                .next_if(|deviation| deviation.event_index == index);
            catching_up.note(event, &self.directory, deviation.is_none());
            self.directory
                .replay_known(event, deviation.as_ref(), counts, lenient)?;
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
    pub fn open_day_is_known(&self) -> bool {
        self.catching_up.as_ref().is_some_and(|catching_up| {
            self.directory.events_done() < catching_up.recovered.events_done
        })
    }

    /// Repairs the tree, if that is still to be done, and applies what had to wait for it.
    ///
    /// # Errors
    /// As [`apply`](Real::apply); a tree that cannot be repaired, a workload that ends before what was done.
    pub fn catch_up_ends(&mut self, counts: &mut OpCounts, lenient: bool) -> Result<(), RealError> {
        let Some(mut catching_up) = self.catching_up.take() else {
            return Ok(());
        };
        if self.directory.events_done() < catching_up.recovered.events_done {
            // The same hash, and yet it ends before what was done: another program's run, or a damaged journal.
            return Err(RealError::Resume {
                known: catching_up.recovered.events_done,
                events: self.directory.events_done(),
            });
        }
        catching_up.look_ahead(&self.directory);
        let reread = Reread::Since {
            ctime_ns: catching_up.synced_ns,
            written: std::mem::take(&mut catching_up.written),
        };
        let stop = &self.stop;
        let repaired = repair(
            self.directory.root(),
            &self.directory.expected(),
            &catching_up.history,
            &reread,
            self.directory.options().data,
            &mut |_| !stop(),
        );
        let repaired = repaired.map_err(|error| match error {
            RepairError::Interrupted => RealError::Interrupted,
            error => RealError::Repair(error),
        })?;
        if repaired != Repaired::default() {
            // The next failure finds what the events explain, and nothing half repaired.
            self.directory.sync()?;
        }
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
    ) -> Result<(), RealError> {
        let piece = piece(self.directory.options().threads);
        for events in events.chunks(piece) {
            if (self.stop)() {
                return Err(RealError::Interrupted);
            }
            self.unwritten.make_sure(&mut self.directory, events)?;
            let applied = self.directory.apply(events, counts, lenient);
            let noted = self.note_progress();
            applied?;
            noted?;
        }
        Ok(())
    }

    fn note_progress(&mut self) -> Result<(), RealError> {
        let deviations = self.directory.take_deviations();
        // A `day` is done when its record is safe.
        let done = self.directory.events_done() - u64::from(self.day_is_unrecorded);
        if let Some(journal) = &mut self.journal {
            journal.progress(done, &deviations)?;
        }
        Ok(())
    }

    /// Ends a day: the tree is synced and its layout read, unless it is a day that had ended before the interruption.
    ///
    /// # Errors
    /// As [`apply`](Real::apply); the tree cannot be synced or looked at.
    pub fn end_day(&mut self, counts: &mut OpCounts, lenient: bool) -> Result<DayIs, RealError> {
        if let Some(catching_up) = &mut self.catching_up {
            if self.directory.events_done() < catching_up.recovered.events_done {
                catching_up.day_is_over(self.directory.options().sync);
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
        self.day_is_unrecorded = true;
        if self.directory.options().sync != Sync::End {
            self.unwritten.is_synced();
        }
        Ok(DayIs::New)
    }

    /// Notes in the journal that a day is over, with the caller's record of it.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn record_day(&mut self, number: u32, record: &[u8]) -> Result<(), RealError> {
        self.note_progress()?;
        if let Some(journal) = &mut self.journal {
            let payload = [&now_ns().to_le_bytes(), record].concat();
            journal.day(u64::from(number), self.directory.events_done(), &payload)?;
        }
        self.day_is_unrecorded = false;
        Ok(())
    }

    /// Leaves the tree so that the run can go on: what is done is noted, and on disk.
    ///
    /// # Errors
    /// The journal cannot be written, or the tree not be synced.
    pub fn leave(&mut self) -> Result<(), RealError> {
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
    /// Follows an event before it is taken over. What had happened when the tree was last synced is there.
    fn note(&mut self, event: &Event, directory: &Directory, plain: bool) {
        let is_synced = directory.options().sync != Sync::End
            && (self.days as usize) < self.recovered.days.len();
        if !is_synced {
            if let Some(file) = event.op.written_file() {
                let content = directory.content_of(file);
                self.written.insert(content.unwrap_or(Content::of(file)));
            }
            self.history.note(event, directory, plain);
        }
    }

    /// Follows the events that may have been done beyond those that are taken over.
    fn look_ahead(&mut self, directory: &Directory) {
        // What names may have come to be names of: nobody knows which of these events were done, or did anything.
        let mut links: FxHashMap<FileId, BTreeSet<Content>> = FxHashMap::default();
        let contents = |links: &FxHashMap<FileId, BTreeSet<Content>>, file: FileId| {
            let mut contents = links.get(&file).cloned().unwrap_or_default();
            contents.insert(Content::of(file));
            contents.extend(directory.content_of(file));
            contents
        };
        for event in &self.after {
            if let Op::Link { file, existing, .. } = event.op {
                let of_existing = contents(&links, existing);
                links.entry(file).or_default().extend(of_existing);
            }
            if let Some(file) = event.op.written_file() {
                self.written.extend(contents(&links, file));
            }
            self.history.note(event, directory, false);
        }
        self.history.settle(directory);
    }

    fn day_is_over(&mut self, sync: Sync) {
        let payload = self.recovered.days.get(self.days as usize);
        let stamp = payload.and_then(|p| p.first_chunk::<8>());
        if let Some(stamp) = stamp.filter(|_| sync != Sync::End) {
            self.synced_ns = i64::from_le_bytes(*stamp);
        }
        self.days += 1;
    }
}
