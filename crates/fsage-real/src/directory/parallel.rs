//! Several threads: each works on the files of some directories, shard by shard.
//!
//! Runs of operations on files that have one name each are shared out; everything else is done alone, in its place.
//! Every file sees its operations in order, so that the tree at the end is the same however many threads there are.
//! There are more shards than threads: whoever is done with one takes the next.

use super::namespace::file_of;
use super::replay::{Directory, count};
use super::shard::{Common, How, Shard};
use crate::RealError;
use fsage_core::{Event, FileId, Op, OpCounts};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Fewer operations than this are not worth a thread.
const FEW: usize = 32;

/// Does pieces of work, that with the greatest load first, on so many threads, of which the caller's is one. Gives what
/// came of them, in no order.
pub(super) fn on_threads<W: Send, T: Send>(
    threads: usize,
    mut work: Vec<W>,
    load: impl Fn(&W) -> usize,
    each: impl Fn(W) -> T + Sync,
) -> Vec<T> {
    work.sort_by_key(&load);
    let few = work.iter().map(load).sum::<usize>() < FEW;
    let threads = if few { 1 } else { threads.min(work.len()) };
    let rest = Mutex::new(work);
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let take = || std::iter::from_fn(next).map(&each).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

/// Operations that may be done at the same time, for each shard in order.
#[derive(Default)]
struct Run {
    /// Indices into the events.
    of_shard: Vec<Vec<usize>>,
    /// Where files are that the run itself makes.
    made: FxHashMap<u64, usize>,
}

impl Directory {
    /// As [`apply`](Self::apply).
    pub(super) fn apply_in_parallel(
        &mut self,
        events: &[Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), RealError> {
        let mut rest = events;
        while let Some(first) = rest.first() {
            let mut run = Run {
                of_shard: vec![Vec::new(); self.shards.len()],
                ..Run::default()
            };
            let taken = rest.iter().enumerate();
            let alone = taken.map(|(at, event)| self.share_out(&mut run, at, event));
            let length = alone.take_while(|shared| *shared).count();
            if length == 0 {
                self.apply_alone(first, How::Live, counts, lenient)?;
                rest = &rest[1..];
                continue;
            }
            let (events, behind) = rest.split_at(length);
            if length < FEW {
                for event in events {
                    self.apply_alone(event, How::Live, counts, lenient)?;
                }
            } else {
                self.apply_run(&run, events, counts, lenient)?;
            }
            rest = behind;
        }
        Ok(())
    }

    /// Puts an event into the run; `false` if it must be done alone.
    fn share_out(&self, run: &mut Run, at: usize, event: &Event) -> bool {
        if event.op.verb().is_probe() {
            return true;
        }
        let Some(file) = file_of(&event.op) else {
            return false;
        };
        let made = run.made.get(&file.0).copied();
        let found = made.is_none().then(|| self.locate(file)).flatten();
        let now = made
            .or(found.map(|(number, _)| number))
            .or_else(|| self.shard_without(file));
        let shard = match event.op {
            Op::Create { dir, .. } | Op::Symlink { dir, .. } => {
                let shard = self.dirs.find(dir).map_or(0, |dir| self.shard_of(dir));
                if now.is_some_and(|now| now != shard) {
                    return false;
                }
                run.made.insert(file.0, shard);
                shard
            }
            _ if found.is_some_and(|place| self.is_linked(place)) => return false,
            _ => now.unwrap_or(0),
        };
        run.of_shard[shard].push(at);
        true
    }

    /// The shard that knows that a file is missing.
    fn shard_without(&self, file: FileId) -> Option<usize> {
        let mut shards = self.shards.iter();
        shards.position(|shard| shard.shortfall.knows(file))
    }

    fn apply_run(
        &mut self,
        run: &Run,
        events: &[Event],
        counts: &mut OpCounts,
        lenient: bool,
    ) -> Result<(), RealError> {
        let common = Common {
            dirs: &self.dirs,
            links: &self.links,
            root: self.volume.root(),
            options: self.options,
            block_bytes: self.block_bytes,
        };
        let start = self.events_done;
        let shards = self.shards.iter_mut().zip(&run.of_shard);
        let busy = shards.filter(|(_, mine)| !mine.is_empty()).collect();
        let apply = |(shard, mine): (&mut Shard, &Vec<usize>)| {
            for &at in mine {
                let (event, index) = (&events[at], start + at as u64);
                let result = shard.apply(&common, event, index, How::Live);
                let mut counts = std::mem::take(&mut shard.counts);
                let size = |file| shard.size(&common, file);
                let counted = count(result, event, &mut counts, lenient, size);
                shard.counts = counts;
                if let Err(failure) = counted {
                    return Some((at, failure));
                }
            }
            None
        };
        let failures = on_threads(self.options.threads, busy, |(_, mine)| mine.len(), apply);
        let failed = failures.into_iter().flatten().min_by_key(|&(at, _)| at);
        self.events_done = start + failed.map_or(events.len(), |(at, _)| at) as u64;
        for shard in &mut self.shards {
            counts.add(&std::mem::take(&mut shard.counts));
            self.deviations.append(&mut shard.deviations);
        }
        // What other threads did behind a failure is not done: whoever resumes does it again.
        let done = self.events_done;
        self.deviations
            .retain(|deviation| deviation.event_index < done);
        self.deviations.sort_unstable_by_key(|d| d.event_index);
        match failed {
            Some((at, failure)) => Err(self.error(&events[at], failure)),
            None => Ok(()),
        }
    }
}
