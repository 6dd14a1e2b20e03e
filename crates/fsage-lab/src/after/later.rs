//! Living on: days more of the life of a run, made of its own days, and the ids under which a treated file system knows
//! what is in it.

use crate::error::{self, Context};
use crate::interrupt;
use crate::watch::Watch;
use fsage_core::{DirId, Event, EventSource, FileId, IdMut};
use fsage_workload::repeat::{Instead, Learned};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

/// The events of so many days more, on which space in use stays as it is: what they do to a layout is beside what the
/// days before did, on a file system as full.
///
/// # Errors
/// The workload cannot be read, has no times, or has one day alone; an interrupt.
pub fn events(workload: &Path, days: u64, seed: u64, ui: &dyn Watch) -> crate::Result<Vec<Event>> {
    let why = "--after-again: nothing to live on with";
    let mut source = fsage_data::open_workload(workload)?;
    let mut learned = Learned::new(source.header());
    let mut count = 0_u64;
    while let Some(event) = source.next_event().map_err(error::boxed)? {
        learned.take(&event).context(why)?;
        count += 1;
        if count.is_multiple_of(8192) {
            interrupt::go_on()?;
        }
    }
    // The replay has ended a day that is open.
    let _ = learned.end().context(why)?;
    let wanted = usize::try_from(days).unwrap_or(usize::MAX);
    let mut future = learned
        .future(seed, wanted, Instead::NoGrowth)
        .context(why)?;
    let bar = ui.bar_count(Some(days), "days more");
    let mut events = Vec::new();
    for day in 0..days {
        interrupt::go_on()?;
        future.go_on(1);
        while let Some(event) = future.next_event().map_err(error::boxed).context(why)? {
            events.push(event);
        }
        bar.set_position(day + 1);
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
