//! Years more of a workload, from days of its past.
//!
//! [`Repeat`] passes a workload on and learns it, day by day. Then it goes on: for each further day it draws a
//! past day of the same weekday, and does again what was done on that day, at the same times of day, with new
//! files and what has become of the old ones:
//!
//! - A create makes a new file in the same directory. If the directory is gone, the oldest directory that
//!   stands for it is taken (one that the repetition made in the same place), else the nearest directory above.
//! - What a past day did with a file of its own it does with the new file; a file that was born and died on one
//!   day does so again.
//! - A deletion takes a file of the same directory: of the 64 whose rank by age is nearest the one of nearest
//!   size. So does a modification. Offsets are cut to what the file has.
//! - A new directory is made anew, and what the day did in it follows. A removed directory takes an empty one
//!   with it that the repetition made in the same place; none, none goes. When there are 10 % more directories
//!   than in the last 30 days, the oldest one that the repetition made in that place stands for a new one.
//! - A move to another directory moves such a file there. Renames within a directory and links are left out and
//!   counted; a rename over another file repeats as the deletion of that one.
//!
//! Sizes must not drift: the space in use (in blocks) is held at its mean over the last 30 days. When it is
//! over by 1 %, whatever makes a file or lets it grow is accompanied by deletions in the same directory, of
//! as much as comes but of four files at most; deletions that would bring it under by 1 %
//! and farther away than it is are skipped, and so is what would make a file that much shorter. The number of
//! files is held within 10 % in the same way, by deletions of files under the mean size. Files that die on
//! the day they were born count for neither.
//!
//! A future follows a course instead: its days are repeated as they were, and at the end of each the space in use is
//! led to where the course has it, by operations like those of the day until one would lead farther away. Small ones
//! that fit what is left would come nearer, and let small files die out. Where there are fewer files than the course
//! has, one goes that is as large as what is too much.
//!
//! A past day is a date of the calendar in UTC (but a day that ends at 02:00 by its `day` takes the operations
//! since 02:00 of the day before). A date without a `day` between others is a day on which nothing was done,
//! and is drawn as well, unless there are more than a year of them. Operations of the initial population are
//! never repeated. A weekday that the past does not have takes any day.
//!
//! Memory: 40 bytes an operation, about 100 a live file.

mod again;
mod course;
mod future;
mod past;

pub use course::Instead;
pub use future::{Future, Learned, SeenDay};

use again::Again;
use fsage_core::{Event, EventSink, Op, SinkError, WorkloadHeader};
use rustc_hash::FxHashSet;
use thiserror::Error;

/// Why a workload cannot be repeated.
#[derive(Debug, Error)]
pub enum RepeatError {
    /// Days of the past have no end.
    #[error(
        "the workload has no `day` with operations of its own before it: there is no day to repeat"
    )]
    NoDays,
    /// One day tells of no growth.
    #[error(
        "expected two days or more, as of snapshots of two nights, and found one: a future is drawn from what happens \
         after the first day; from 14 days on it may be trusted"
    )]
    OneDay,
    /// Times of the day are not known.
    #[error(
        "{}the operation has no time and none before it has: days are repeated by weekday and time of day, so \
         give the workload times (`@`)",
        .line.map_or(String::new(), |line| format!("line {line}: "))
    )]
    NoTimes {
        /// Line or row of the operation, if it was read from a file.
        line: Option<u64>,
    },
    /// Times, ids or counts leave 64 bits (of files of the past 32).
    #[error("{0} of the repetition do not fit: repeat fewer years")]
    TooLarge(&'static str),
    /// Writing the workload failed.
    #[error("cannot write the workload")]
    Sink(#[source] SinkError),
}

/// What was repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepeatSummary {
    /// Days of the past to draw from, those without operations included.
    pub past_days: u64,
    /// Days that were added.
    pub days: u64,
    /// Of these, days whose weekday the past does not have.
    pub other_weekdays: u64,
    /// Operations that were added, without `day`.
    pub operations: u64,
    /// Files and symbolic links that were made.
    pub creates: u64,
    /// Of these, those that were deleted on the same day.
    pub short_lived: u64,
    /// Files and symbolic links that were deleted.
    pub deletes: u64,
    /// Of these, deletions that keep the space in use from growing.
    pub extra_deletes: u64,
    /// Deletions that were left out because the space in use was low.
    pub skipped_deletes: u64,
    /// Changes that make a file shorter and were left out for the same reason.
    pub skipped_shrinks: u64,
    /// Files that were changed, read or flushed.
    pub file_operations: u64,
    /// Operations left out because the directory had no file for them.
    pub without_file: u64,
    /// Directories that were made.
    pub directories_made: u64,
    /// New directories for which old ones stand, because there were too many.
    pub reused_directories: u64,
    /// Directories that were removed.
    pub directories_removed: u64,
    /// Removals of directories left out because none was empty.
    pub skipped_rmdirs: u64,
    /// Renames and moves of directories in the workload; they are not repeated.
    pub left_out_renames: u64,
    /// Hard links, and deletions of one of several names, in the workload; they are not repeated.
    pub left_out_links: u64,
    /// Operations of the workload that do not fit what was before them: passed on, not learned.
    pub unfit: u64,
    /// Space in use that was aimed at: the mean of the last 30 days, in bytes.
    pub level_bytes: u64,
    /// Number of files that was aimed at, by names.
    pub level_files: u64,
    /// The lowest and the highest space in use at the end of an added day.
    pub level_range_bytes: Option<(u64, u64)>,
    /// Names of files before the repetition, and after it.
    pub live_files: (u64, u64),
}

/// Days in so many years of 365.25 days, rounded; `None` unless it is a number of days that can be.
pub fn days_of_years(years: f64) -> Option<u64> {
    let days = libm::round(years * 365.25);
    (0.0..1e9).contains(&days).then_some(days as u64)
}

/// Passes a workload on, and then repeats days of it.
pub struct Repeat<'a> {
    sink: &'a mut dyn EventSink,
    seed: u64,
    learned: Learned,
}

impl<'a> Repeat<'a> {
    /// Before the first event. The header tells the epoch (1970 where it does not) and the block size (1 byte
    /// where it does not). All random choices follow from the seed.
    pub fn new(header: &WorkloadHeader, seed: u64, sink: &'a mut dyn EventSink) -> Repeat<'a> {
        Repeat {
            sink,
            seed,
            learned: Learned::new(header),
        }
    }

    /// Adds days after the last one of the workload. Operations after its last `day` get a `day` of their own
    /// first. `progress` is told each day.
    ///
    /// # Errors
    /// See [`RepeatError`].
    pub fn finish(
        mut self,
        days: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<RepeatSummary, RepeatError> {
        if let Some(day) = self.learned.end()? {
            self.sink.event(day).map_err(RepeatError::Sink)?;
        }
        let Learned { past, world, ids } = self.learned;
        let mut again = Again::new(self.seed, &past, world, ids, self.sink)?;
        for day in 0..days {
            again.day(day)?;
            progress(day + 1);
        }
        Ok(again.finish())
    }

    fn take(&mut self, event: Event) -> Result<(), RepeatError> {
        self.learned.take(&event)?;
        self.sink.event(event).map_err(RepeatError::Sink)
    }
}

impl EventSink for Repeat<'_> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.take(event).map_err(|e| match e {
            RepeatError::Sink(e) => e,
            e => e.into(),
        })
    }
}

/// Numbers for what is new: files and directories share them, so that their names differ.
#[derive(Clone, Debug, Default)]
struct NewIds {
    next: u64,
    /// Names like those of the repetition that the workload has already.
    taken: FxHashSet<u64>,
    /// Whether the workload names its files.
    named: bool,
}

const PREFIX: &str = ".repeat-";

impl NewIds {
    fn see(&mut self, event: &Event) {
        let id = match event.op {
            Op::Mkdir { dir, .. } => dir.0,
            Op::Create { file, .. } | Op::Symlink { file, .. } | Op::Link { file, .. } => file.0,
            _ => 0,
        };
        self.next = self.next.max(id.saturating_add(1));
        if let Some(name) = event.name.as_deref().filter(|_| event.op != Op::Day) {
            self.named = true;
            if let Some(number) = name.strip_prefix(PREFIX.as_bytes())
                && let Ok(number) = str::from_utf8(number)
                && let Ok(number) = number.parse()
            {
                self.taken.insert(number);
            }
        }
    }

    fn next(&mut self) -> Result<u64, RepeatError> {
        loop {
            let id = self.next;
            // The last number may be in use.
            self.next = id.checked_add(1).ok_or(RepeatError::TooLarge("ids"))?;
            if !self.taken.contains(&id) {
                return Ok(id);
            }
        }
    }

    fn name(&self, id: u64) -> Option<Box<[u8]>> {
        self.named
            .then(|| format!("{PREFIX}{id}").into_bytes().into())
    }
}
