//! Living on: days more of the life of a run, made of its own days, and the ids under which a treated file system knows
//! what is in it.

use crate::error::{self, Context};
use crate::interrupt;
use crate::watch::Watch;
use fsage_core::{DirId, Event, EventSink, FileId, IdMut, Op, SinkError};
use fsage_workload::repeat::{Repeat, RepeatError};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

/// Keeps what comes once the workload itself has passed.
struct Tail<'a> {
    is_new: &'a Cell<bool>,
    events: Vec<Event>,
}

impl EventSink for Tail<'_> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        if self.is_new.get() {
            self.events.push(event);
        }
        Ok(())
    }
}

/// The events of so many days more.
///
/// # Errors
/// The workload cannot be read, or has no times; an interrupt.
pub fn events(workload: &Path, days: u64, seed: u64, ui: &dyn Watch) -> crate::Result<Vec<Event>> {
    let why = "--after-again: nothing to live on with";
    let failed = |error: RepeatError| crate::Error::from(error).context(why);
    let mut source = fsage_data::open_workload(workload)?;
    let is_new = Cell::new(false);
    let mut tail = Tail {
        is_new: &is_new,
        events: Vec::new(),
    };
    let header = source.header().clone();
    let mut repeat = Repeat::new(&header, seed, &mut tail);
    let mut is_day_open = false;
    let mut count = 0_u64;
    while let Some(event) = source.next_event().map_err(error::boxed)? {
        is_day_open = event.op != Op::Day;
        repeat.event(event).map_err(error::boxed).context(why)?;
        count += 1;
        if count.is_multiple_of(8192) {
            interrupt::go_on()?;
        }
    }
    is_new.set(true);
    let bar = ui.bar_count(Some(days), "days more");
    repeat
        .finish(days, &mut |done| bar.set_position(done))
        .map_err(failed)?;
    drop(bar);
    let mut events = tail.events;
    // The end of a day that the replay has ended already.
    if is_day_open && events.first().is_some_and(|event| event.op == Op::Day) {
        events.remove(0);
    }
    Ok(events)
}

/// By which ids a treated file system knows what the workload calls otherwise.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    /// The highest id of the workload, of files and directories.
    pub highest: u64,
    /// Files of the workload that have another id.
    pub files: BTreeMap<FileId, FileId>,
    /// Directories; none where they are as they were, and so are files that are not listed.
    pub directories: Option<BTreeMap<DirId, DirId>>,
    /// Ids above the highest that are in use.
    pub own: u64,
}

impl Ids {
    /// Nobody has it.
    const NOBODY: u64 = u64::MAX >> 1;

    /// As it stands on the treated file system. What was lost gets an id that nothing has.
    pub fn file(&self, file: FileId) -> FileId {
        if file.0 > self.highest {
            return FileId(file.0 + self.own);
        }
        match (self.files.get(&file), &self.directories) {
            (Some(&now), _) => now,
            (None, None) => file,
            (None, Some(_)) => FileId(Ids::NOBODY),
        }
    }

    fn dir(&self, dir: DirId) -> DirId {
        match &self.directories {
            _ if dir.0 > self.highest => DirId(dir.0 + self.own),
            None => dir,
            Some(directories) => *directories.get(&dir).unwrap_or(&DirId(Ids::NOBODY)),
        }
    }

    /// An event of the workload, with these ids.
    pub fn event(&self, event: &Event) -> Event {
        let mut event = event.clone();
        let Ok(()) = event.op.visit_ids(|id| {
            match id {
                IdMut::File(file) => *file = self.file(*file),
                IdMut::Dir(dir) => *dir = self.dir(*dir),
            }
            Ok::<(), Infallible>(())
        });
        event
    }
}
