//! Sorts the rows of a night: in memory up to a bound, beyond it as runs on disk that are merged.
//!
//! Rows wait as bytes, and what is sorted are their places: a row takes as little as it can, and the bound is exact.

use super::scratch::{RunReader, RunWriter, Scratch, decode, encode, row_at};
use crate::error::DataError;
use fsage_core::names::unescape;
use fsage_core::snapshot::Inode;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Runs that are merged at once; each is an open file and a buffer.
const MAX_RUNS: usize = 256;

/// Takes inodes in any order.
pub(super) struct Sorter {
    scratch: Scratch,
    bound_bytes: usize,
    memory: Rows,
    runs: Vec<RunReader>,
}

impl Sorter {
    /// A sorter that holds `bound_bytes` in memory, and a row more.
    pub fn new(scratch: &Scratch, bound_bytes: usize) -> Sorter {
        Sorter {
            scratch: scratch.clone(),
            bound_bytes,
            memory: Rows::default(),
            runs: Vec::new(),
        }
    }

    pub fn push(&mut self, inode: &Inode) -> Result<(), DataError> {
        self.memory.push(inode);
        if self.memory.used_bytes() > self.bound_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is in memory as one more run.
    fn spill(&mut self) -> Result<(), DataError> {
        if self.runs.len() == MAX_RUNS {
            let runs = std::mem::take(&mut self.runs);
            let mut merged = Sorted::new(Rows::default(), runs)?;
            let mut run = RunWriter::create(&self.scratch)?;
            let mut row = Vec::new();
            while let Some(inode) = merged.next()? {
                row.clear();
                encode(&mut row, &inode);
                run.push(&row)?;
            }
            self.runs.push(run.finish()?);
        }
        self.memory.sort();
        let mut run = RunWriter::create(&self.scratch)?;
        for place in &self.memory.places {
            run.push(row_at(&self.memory.bytes, place.at))?;
        }
        self.runs.push(run.finish()?);
        self.memory.clear();
        Ok(())
    }

    /// All that was given, in [`row_order`]; the sorter is empty again.
    pub fn take(&mut self) -> Result<Sorted, DataError> {
        let mut memory = std::mem::take(&mut self.memory);
        memory.sort();
        Sorted::new(memory, std::mem::take(&mut self.runs))
    }
}

/// Rows in memory.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// Rows that were given on.
    taken: usize,
}

/// Where a row starts, and what it is sorted by first.
#[derive(Clone, Copy)]
struct Place {
    ino: u64,
    generation: Option<u32>,
    at: usize,
}

impl Rows {
    fn push(&mut self, inode: &Inode) {
        self.places.push(Place {
            ino: inode.ino,
            generation: inode.generation,
            at: self.bytes.len(),
        });
        encode(&mut self.bytes, inode);
    }

    fn used_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.places)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn sort(&mut self) {
        let row = |place: &Place| decode(row_at(&self.bytes, place.at));
        self.places.sort_unstable_by(|a, b| {
            (a.ino, a.generation)
                .cmp(&(b.ino, b.generation))
                // Few inodes have several rows.
                .then_with(|| match (row(a), row(b)) {
                    (Some(a), Some(b)) => row_order(&a, &b),
                    _ => Ordering::Equal,
                })
        });
    }

    fn next(&mut self) -> Option<Inode> {
        let place = self.places.get(self.taken)?;
        self.taken += 1;
        decode(row_at(&self.bytes, place.at))
    }
}

/// Sorted inodes.
pub(super) struct Sorted {
    memory: Rows,
    runs: Vec<RunReader>,
    /// The next inode of every source: those of `runs`, and `memory` as the source after the last.
    heads: BinaryHeap<Head>,
}

impl Sorted {
    fn new(memory: Rows, runs: Vec<RunReader>) -> Result<Sorted, DataError> {
        let mut sorted = Sorted {
            memory,
            heads: BinaryHeap::with_capacity(runs.len() + 1),
            runs,
        };
        if !sorted.runs.is_empty() {
            for source in 0..=sorted.runs.len() {
                let first = next_of(&mut sorted.runs, &mut sorted.memory, source)?;
                sorted.heads.extend(first.map(|inode| Head {
                    inode: Box::new(inode),
                    source,
                }));
            }
        }
        Ok(sorted)
    }

    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        if self.runs.is_empty() {
            return Ok(self.memory.next());
        }
        let Some(mut head) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let next = next_of(&mut self.runs, &mut self.memory, head.source)?;
        Ok(Some(match next {
            Some(next) => std::mem::replace(&mut *head.inode, next),
            None => *PeekMut::pop(head).inode,
        }))
    }
}

fn next_of(
    runs: &mut [RunReader],
    memory: &mut Rows,
    source: usize,
) -> Result<Option<Inode>, DataError> {
    match runs.get_mut(source) {
        Some(run) => run.next(),
        None => Ok(memory.next()),
    }
}

/// The next inode of a source; the greatest head is that of the first.
struct Head {
    /// Boxed, for heads are moved about.
    inode: Box<Inode>,
    source: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        row_order(&other.inode, &self.inode).then(other.source.cmp(&self.source))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

/// By number and generation; rows of one inode by path (none last), then by all else, so that the order does
/// not depend on the order they came in.
pub(super) fn row_order(a: &Inode, b: &Inode) -> Ordering {
    (a.ino, a.generation)
        .cmp(&(b.ino, b.generation))
        .then_with(|| path_order(a, b))
        .then_with(|| attributes(a).cmp(&attributes(b)))
        .then_with(|| extents(a).cmp(extents(b)))
}

/// By the bytes of the path; without a path last.
fn path_order(a: &Inode, b: &Inode) -> Ordering {
    match (&a.path, &b.path) {
        (Some(a), Some(b)) if a.contains('\\') || b.contains('\\') => {
            path_bytes(a).cmp(&path_bytes(b))
        }
        (Some(a), Some(b)) => a.cmp(b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

/// The bytes of an escaped path.
fn path_bytes(path: &str) -> Cow<'_, [u8]> {
    match unescape(path) {
        Some(bytes) => Cow::Owned(bytes.into_vec()),
        None => Cow::Borrowed(path.as_bytes()),
    }
}

fn attributes(inode: &Inode) -> impl Ord {
    (
        (inode.kind.letter(), inode.size_bytes, inode.alloc_bytes),
        (inode.ctime_ns, inode.mtime_ns, inode.btime_ns),
        (inode.links, inode.mode, inode.uid, inode.gid),
        (inode.parent_ino, inode.source_flags),
        inode.extents.is_some(),
    )
}

fn extents(inode: &Inode) -> impl Iterator<Item = (u64, u64, u64, u32)> {
    let extents = inode.extents.iter().flatten();
    extents.map(|e| (e.logical_bytes, e.physical_bytes, e.length_bytes, e.flags))
}
