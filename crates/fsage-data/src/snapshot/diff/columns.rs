//! Compares two whole snapshots as streams of columns.
//!
//! Both tables are sorted by inode, so one merge does. Most inodes are as they were: where a window of rows is equal
//! in every column of fixed width, it is passed over at once. Only the other rows are looked at one by one, and
//! only of these are paths and extents read, see [`Details`].

use super::details::Details;
use super::identity::{Facts, Verdict, pair_up};
use super::tally::Tally;
use crate::error::DataError;
use crate::parquet_file::{Batches, required, value_at};
use crate::snapshot::inode_reader::{groups_with, open_table};
use crate::snapshot::schema::inode_schema;
use arrow_array::{
    Array, ArrowPrimitiveType, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::Schema;
use fsage_core::FileKind;
use std::path::{Path, PathBuf};

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 1 << 13;
/// Rows that are compared at once: many first, then few where many are not all equal.
const WINDOWS: [usize; 2] = [64, 8];
/// Inodes that are looked at one by one before rows are compared at once again.
const STEPS: usize = 8;
/// Changes whose paths and extents are read at once.
const PENDING: usize = 1 << 14;

/// Columns that only changed rows need.
const DETAILS: [&str; 2] = ["path", "extents"];

/// An inode in a table: its fixed columns and its row, from 0.
type Located = (Facts, u64);

/// A change whose paths and extents are still to be read. Without a verdict it has one side.
struct Pending {
    verdict: Option<Verdict>,
    before: Option<Located>,
    after: Option<Located>,
}

/// Counts what `after` changed; both are an inode table in full form and the number of a snapshot.
pub(super) fn compare(
    before: (&Path, u32),
    after: (&Path, u32),
    tally: &mut Tally<'_>,
) -> Result<(), DataError> {
    let mut merge = Merge {
        a: Rows::open(before.0, before.1)?,
        b: Rows::open(after.0, after.1)?,
        details: (Details::open(before.0)?, Details::open(after.0)?),
        pending: Vec::new(),
    };
    while merge.skip_equal(tally)? {
        for _ in 0..STEPS {
            if !merge.step(tally)? {
                break;
            }
        }
        if merge.pending.len() >= PENDING {
            merge.flush(tally)?;
        }
    }
    merge.flush(tally)
}

struct Merge {
    a: Rows,
    b: Rows,
    details: (Details, Details),
    pending: Vec<Pending>,
}

impl Merge {
    /// Passes over windows of equal rows; `false` at the end of both tables.
    fn skip_equal(&mut self, tally: &mut Tally<'_>) -> Result<bool, DataError> {
        loop {
            let (Some((a, i)), Some((b, j))) = (self.a.current()?, self.b.current()?) else {
                return Ok(self.a.current()?.is_some() || self.b.current()?.is_some());
            };
            let most = (a.end - i).min(b.end - j);
            let mut equal = 0;
            for window in WINDOWS {
                while equal + window <= most && a.equals(i + equal, b, j + equal, window) {
                    equal += window;
                }
            }
            tally.unchanged(equal as u64, a.regular_files(i, equal) as u64);
            self.a.at += equal;
            self.b.at += equal;
            if equal < most || equal == 0 {
                return Ok(true);
            }
        }
    }

    /// Looks at the inodes of one number; `false` at the end of both tables.
    fn step(&mut self, tally: &mut Tally<'_>) -> Result<bool, DataError> {
        let next = [self.a.ino()?, self.b.ino()?];
        let Some(ino) = next.into_iter().flatten().min() else {
            return Ok(false);
        };
        if next == [Some(ino); 2] && self.a.is_only() && self.b.is_only() {
            let (before, after) = (self.a.take_row(), self.b.take_row());
            self.add(before, after, tally);
            return Ok(true);
        }
        let (before, after) = (self.a.take(ino)?, self.b.take(ino)?);
        let generation = |(facts, _): &Located| facts.generation;
        pair_up(before, after, generation, |before, after| {
            self.add(before, after, tally);
            Ok(())
        })?;
        Ok(true)
    }

    /// Counts a pair that is as it was; all else waits.
    fn add(&mut self, before: Option<Located>, after: Option<Located>, tally: &mut Tally<'_>) {
        let verdict = match (&before, &after) {
            (Some((a, _)), Some((b, _))) => Some(tally.rules.judge(a, b)),
            _ => None,
        };
        if let (Some(Verdict::Unchanged), Some((facts, _))) = (verdict, &after) {
            tally.unchanged(1, u64::from(facts.kind == FileKind::Regular));
        } else {
            self.pending.push(Pending {
                verdict,
                before,
                after,
            });
        }
    }

    /// Reads what the pending changes need, and counts them.
    fn flush(&mut self, tally: &mut Tally<'_>) -> Result<(), DataError> {
        let rows = |side: fn(&Pending) -> &Option<Located>| {
            let rows = self
                .pending
                .iter()
                .filter_map(|p| side(p).map(|located| located.1));
            rows.collect::<Vec<u64>>()
        };
        let before = self.details.0.read(rows(|p| &p.before))?;
        let after = self.details.1.read(rows(|p| &p.after))?;
        for pending in self.pending.drain(..) {
            let a = pending
                .before
                .as_ref()
                .map(|(facts, row)| before.side(facts, *row));
            let b = pending
                .after
                .as_ref()
                .map(|(facts, row)| after.side(facts, *row));
            match (pending.verdict, a, b) {
                (Some(verdict), Some(a), Some(b)) => tally.pair(verdict, a, b)?,
                (_, a, b) => tally.alone(a, b)?,
            }
        }
        Ok(())
    }
}

/// The rows of one snapshot.
struct Rows {
    path: PathBuf,
    snap_id: u32,
    batches: Batches,
    block: Option<Block>,
    at: usize,
    /// Rows of the file before the batch.
    base: u64,
    last_key: Option<(u64, Option<u32>)>,
    last_snapshot: u32,
}

impl Rows {
    fn open(path: &Path, snap_id: u32) -> Result<Rows, DataError> {
        let (file, form) = open_table(path)?;
        let groups = groups_with(&file, snap_id);
        // Groups of a snapshot lie together; where statistics say otherwise, the rows will.
        let groups = match (groups.first(), groups.last()) {
            (Some(first), Some(last)) => (*first..=*last).collect(),
            _ => groups,
        };
        let skipped = groups.first().copied().unwrap_or(0);
        let skipped = file.builder().metadata().row_groups().iter().take(skipped);
        let base = skipped
            .map(|g| u64::try_from(g.num_rows()).unwrap_or(0))
            .sum();
        let schema = inode_schema(form);
        let fixed = schema
            .fields()
            .iter()
            .filter(|f| !DETAILS.contains(&f.name().as_str()));
        let schema = Schema::new(fixed.cloned().collect::<Vec<_>>());
        Ok(Rows {
            path: path.to_owned(),
            snap_id,
            batches: file.batches(&schema, Some(groups), BATCH_ROWS)?,
            block: None,
            at: 0,
            base,
            last_key: None,
            last_snapshot: 0,
        })
    }

    /// The block of the next row, and where in it that row is.
    fn current(&mut self) -> Result<Option<(&Block, usize)>, DataError> {
        while self.block.as_ref().is_none_or(|block| self.at >= block.end) {
            if let Some(block) = &self.block {
                self.base += block.rows as u64;
            }
            let Some(batch) = self.batches.next_batch()? else {
                self.block = None;
                return Ok(None);
            };
            let block = self.check(&batch)?;
            self.at = block.start;
            self.block = Some(block);
        }
        Ok(self.block.as_ref().map(|block| (block, self.at)))
    }

    fn ino(&mut self) -> Result<Option<u64>, DataError> {
        Ok(self.current()?.map(|(block, at)| block.ino.value(at)))
    }

    /// Whether the next row is the only one of its number, as far as its block tells.
    fn is_only(&self) -> bool {
        let next = self.at + 1;
        let block = self.block.as_ref().filter(|block| next < block.end);
        block.is_some_and(|block| block.ino.value(next) != block.ino.value(self.at))
    }

    fn take_row(&mut self) -> Option<Located> {
        let block = self.block.as_ref()?;
        let located = (block.facts(self.at), self.base + self.at as u64);
        self.at += 1;
        Some(located)
    }

    /// All next rows of this number.
    fn take(&mut self, ino: u64) -> Result<Vec<Located>, DataError> {
        let mut rows = Vec::new();
        while self.ino()? == Some(ino) {
            rows.extend(self.take_row());
        }
        Ok(rows)
    }

    fn bad(&self, at: usize, problem: impl Into<String>) -> DataError {
        DataError::bad_row(&self.path, self.base + at as u64 + 1, problem)
    }

    /// Finds the rows of the snapshot in a batch, and checks what the comparison relies on.
    fn check(&mut self, batch: &RecordBatch) -> Result<Block, DataError> {
        let path = &self.path;
        let snap_id: UInt32Array = required(batch, "snap_id", path)?;
        let mut block = Block {
            rows: batch.num_rows(),
            start: 0,
            end: 0,
            ino: required(batch, "ino", path)?,
            generation: required(batch, "gen", path)?,
            kind: required(batch, "type", path)?,
            size_bytes: required(batch, "size_bytes", path)?,
            alloc_bytes: required(batch, "alloc_bytes", path)?,
            ctime_ns: required(batch, "ctime_ns", path)?,
            mtime_ns: required(batch, "mtime_ns", path)?,
            btime_ns: required(batch, "btime_ns", path)?,
            links: required(batch, "nlink", path)?,
            mode: required(batch, "mode", path)?,
            uid: required(batch, "uid", path)?,
            gid: required(batch, "gid", path)?,
            parent_ino: required(batch, "parent_ino", path)?,
            source_flags: required(batch, "source_flags", path)?,
        };
        let never_null: [(&str, &dyn Array); 4] = [
            ("snap_id", &snap_id),
            ("ino", &block.ino),
            ("type", &block.kind),
            ("size_bytes", &block.size_bytes),
        ];
        for (name, column) in never_null {
            if column.null_count() > 0 {
                let at = (0..block.rows).find(|at| column.is_null(*at)).unwrap_or(0);
                return Err(self.bad(at, format!("`{name}` is null")));
            }
        }
        let ids = snap_id.values();
        let sorted = ids.windows(2).position(|w| w[0] > w[1]).map(|at| at + 1);
        let sorted = sorted.or((ids.first() < Some(&self.last_snapshot)).then_some(0));
        if let Some(at) = sorted {
            return Err(self.bad(
                at,
                "`snap_id` goes down: sort the rows by (snap_id, ino, gen)",
            ));
        }
        self.last_snapshot = ids.last().copied().unwrap_or(0);
        block.start = ids.partition_point(|id| *id < self.snap_id);
        block.end = ids.partition_point(|id| *id <= self.snap_id);
        self.check_keys(&block)?;
        if let Some(at) = block.bad_kind() {
            let found = block.kind.value(at);
            return Err(self.bad(
                at,
                format!("unknown `type` {found:?}, not one of f d l p s b c"),
            ));
        }
        Ok(block)
    }

    /// Rows ascend by number and generation.
    fn check_keys(&mut self, block: &Block) -> Result<(), DataError> {
        let inos = &block.ino.values()[block.start..block.end];
        let key = |at: usize| (block.ino.value(at), value_at!(block.generation, at));
        let mut wrong = None;
        if block.start < block.end {
            let first = Some(key(block.start));
            wrong = (self.last_key.is_some() && first <= self.last_key).then_some(block.start);
            self.last_key = Some(key(block.end - 1));
        }
        if inos.windows(2).any(|w| w[0] >= w[1]) {
            let pairs = block.start + 1..block.end;
            wrong = wrong.or(pairs.into_iter().find(|at| key(at - 1) >= key(*at)));
        }
        match wrong {
            None => Ok(()),
            Some(at) => Err(self.bad(
                at,
                format!(
                    "inode {} of snapshot {} is not after the row before: sort the rows by (snap_id, ino, gen)",
                    block.ino.value(at),
                    self.snap_id
                ),
            )),
        }
    }
}

/// Decoded rows; those from `start` to `end` belong to the snapshot.
struct Block {
    rows: usize,
    start: usize,
    end: usize,
    ino: UInt64Array,
    generation: UInt32Array,
    kind: StringArray,
    size_bytes: UInt64Array,
    alloc_bytes: UInt64Array,
    ctime_ns: Int64Array,
    mtime_ns: Int64Array,
    btime_ns: Int64Array,
    links: UInt32Array,
    mode: UInt32Array,
    uid: UInt32Array,
    gid: UInt32Array,
    parent_ino: UInt64Array,
    source_flags: UInt32Array,
}

impl Block {
    /// The first row whose type is no known letter.
    fn bad_kind(&self) -> Option<usize> {
        let mut rows = self.start..self.end;
        let known =
            |at: usize| matches!(self.kind.value(at), "f" | "d" | "l" | "p" | "s" | "b" | "c");
        rows.find(|at| !known(*at))
    }

    /// The letters of `n` rows from `at`.
    fn letters(&self, at: usize, n: usize) -> &[u8] {
        let offsets = self.kind.value_offsets();
        &self.kind.value_data()[offsets[at] as usize..offsets[at + n] as usize]
    }

    fn regular_files(&self, at: usize, n: usize) -> usize {
        let letters = self.letters(at, n).iter();
        letters.map(|letter| usize::from(*letter == b'f')).sum()
    }

    /// Whether `n` rows from `i` are equal to those of `other` from `j`, change times known.
    fn equals(&self, i: usize, other: &Block, j: usize, n: usize) -> bool {
        let (a, b) = (self, other);
        a.ctime_ns.null_count() == 0
            && b.ctime_ns.null_count() == 0
            && same(&a.ino, i, &b.ino, j, n)
            && same(&a.ctime_ns, i, &b.ctime_ns, j, n)
            && same(&a.generation, i, &b.generation, j, n)
            && same(&a.size_bytes, i, &b.size_bytes, j, n)
            && same(&a.mtime_ns, i, &b.mtime_ns, j, n)
            && same(&a.btime_ns, i, &b.btime_ns, j, n)
            && same(&a.alloc_bytes, i, &b.alloc_bytes, j, n)
            && same(&a.source_flags, i, &b.source_flags, j, n)
            && same(&a.links, i, &b.links, j, n)
            && same(&a.mode, i, &b.mode, j, n)
            && same(&a.uid, i, &b.uid, j, n)
            && same(&a.gid, i, &b.gid, j, n)
            && same(&a.parent_ino, i, &b.parent_ino, j, n)
            && a.letters(i, n) == b.letters(j, n)
    }

    fn facts(&self, at: usize) -> Facts {
        Facts {
            ino: self.ino.value(at),
            generation: value_at!(self.generation, at),
            // Checked by `Rows::check`.
            kind: FileKind::from_letter(self.kind.value(at)).unwrap_or(FileKind::Regular),
            size_bytes: self.size_bytes.value(at),
            alloc_bytes: value_at!(self.alloc_bytes, at),
            ctime_ns: value_at!(self.ctime_ns, at),
            mtime_ns: value_at!(self.mtime_ns, at),
            btime_ns: value_at!(self.btime_ns, at),
            links: value_at!(self.links, at),
            mode: value_at!(self.mode, at),
            uid: value_at!(self.uid, at),
            gid: value_at!(self.gid, at),
            parent_ino: value_at!(self.parent_ino, at),
            source_flags: value_at!(self.source_flags, at).unwrap_or(0),
        }
    }
}

/// Whether `n` values are equal, nulls included. What lies under a null may differ; then the rows are looked at one
/// by one.
fn same<T: ArrowPrimitiveType>(
    a: &PrimitiveArray<T>,
    i: usize,
    b: &PrimitiveArray<T>,
    j: usize,
    n: usize,
) -> bool {
    let nulls = (a.null_count(), b.null_count());
    a.values()[i..i + n] == b.values()[j..j + n]
        && (nulls == (0, 0)
            || nulls == (a.len(), b.len())
            || (0..n).all(|k| a.is_null(i + k) == b.is_null(j + k)))
}
