//! Sorts the rows of a night: in memory up to a bound, beyond it as runs on disk that are merged.

use super::scratch::{RunReader, RunWriter, Scratch, memory_of};
use crate::error::DataError;
use fsage_core::names::unescape;
use fsage_core::snapshot::Inode;
use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Runs that are merged at once; each is an open file and a buffer.
const MAX_RUNS: usize = 256;

/// Takes inodes in any order.
pub(super) struct Sorter {
    scratch: Arc<Scratch>,
    bound_bytes: usize,
    memory: Vec<Inode>,
    memory_bytes: usize,
    runs: Vec<RunReader>,
}

impl Sorter {
    /// A sorter that holds about `bound_bytes` in memory.
    pub fn new(scratch: &Arc<Scratch>, bound_bytes: usize) -> Sorter {
        Sorter {
            scratch: Arc::clone(scratch),
            bound_bytes,
            memory: Vec::new(),
            memory_bytes: 0,
            runs: Vec::new(),
        }
    }

    pub fn push(&mut self, inode: Inode) -> Result<(), DataError> {
        self.memory_bytes += memory_of(&inode);
        self.memory.push(inode);
        if self.memory_bytes > self.bound_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is in memory as one more run.
    fn spill(&mut self) -> Result<(), DataError> {
        if self.runs.len() == MAX_RUNS {
            let runs = std::mem::take(&mut self.runs);
            let mut merged = Sorted::new(Vec::new(), runs)?;
            let mut run = RunWriter::create(&self.scratch)?;
            while let Some(inode) = merged.next()? {
                run.push(&inode)?;
            }
            self.runs.push(run.finish()?);
        }
        self.memory.sort_unstable_by(row_order);
        let mut run = RunWriter::create(&self.scratch)?;
        for inode in self.memory.drain(..) {
            run.push(&inode)?;
        }
        self.runs.push(run.finish()?);
        self.memory_bytes = 0;
        Ok(())
    }

    /// All that was given, in [`row_order`]; the sorter is empty again.
    pub fn take(&mut self) -> Result<Sorted, DataError> {
        let mut memory = std::mem::take(&mut self.memory);
        memory.sort_unstable_by(row_order);
        self.memory_bytes = 0;
        Sorted::new(memory, std::mem::take(&mut self.runs))
    }
}

/// Sorted inodes.
pub(super) struct Sorted {
    memory: std::vec::IntoIter<Inode>,
    runs: Vec<RunReader>,
    /// The next inode of every source: those of `runs`, and `memory` as the source after the last.
    heads: BinaryHeap<Reverse<Head>>,
}

impl Sorted {
    fn new(memory: Vec<Inode>, runs: Vec<RunReader>) -> Result<Sorted, DataError> {
        let mut sorted = Sorted {
            memory: memory.into_iter(),
            heads: BinaryHeap::with_capacity(runs.len() + 1),
            runs,
        };
        if !sorted.runs.is_empty() {
            for source in 0..=sorted.runs.len() {
                sorted.refill(source)?;
            }
        }
        Ok(sorted)
    }

    fn refill(&mut self, source: usize) -> Result<(), DataError> {
        let next = match self.runs.get_mut(source) {
            Some(run) => run.next()?,
            None => self.memory.next(),
        };
        if let Some(inode) = next {
            self.heads.push(Reverse(Head { inode, source }));
        }
        Ok(())
    }

    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        if self.runs.is_empty() {
            return Ok(self.memory.next());
        }
        let Some(Reverse(head)) = self.heads.pop() else {
            return Ok(None);
        };
        self.refill(head.source)?;
        Ok(Some(head.inode))
    }
}

struct Head {
    inode: Inode,
    source: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        row_order(&self.inode, &other.inode).then(self.source.cmp(&other.source))
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
