//! A database of `SQLite` that grew row by row while something else was written, read from end to end.
//!
//! **Rows.** 10,000 of 16 KB, inserted one after the other with falling keys, each into the file and into an index of
//! its own (`id INT PRIMARY KEY`), without a journal. An insert writes four new pages at the end of the file, and in
//! place the first page, the last leaf of the table and the first leaf of the index: 28 KB; every eighth row there is a
//! new leaf. In the end the file has 161 MB. After each insert an `fsync`, then 100 KB more of another file and an
//! `fsync`.
//!
//! **Reading** is `select *`: all pages in order, in calls of a page, through the caches of the system.
//!
//! **Phases.** `insert`; `scan` with empty caches. The size of a case is that of what is written beside each row: 1
//! byte, so that the database lies nearly as if it were alone, and 100 KB.
//!
//! **Source.** Jun and others, FAST 2024: `sqlite_append.c` of their artifact. What a page holds follows from the file
//! format of `SQLite`. **Limits.** Pages of the trees that are not leaves, and the few pages that a split of a leaf of
//! the index touches, are left out.

use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, Part, Subject};
use std::ops::Range;

/// Bytes of a page of the database.
pub const PAGE_BYTES: u64 = 4096;
/// Pages of a row that its leaf has no room for.
const OVERFLOW_PAGES: u64 = 4;
/// Rows of a leaf of the table: 489 of their 16,394 bytes are in it.
const LEAF_ROWS: u64 = 8;
/// Entries that a full leaf of the index keeps when it is split.
const INDEX_ROWS: u64 = 204;

/// The benchmark.
#[derive(Clone, Copy, Debug)]
pub struct SqliteScan {
    /// Rows that are inserted.
    pub rows: u64,
    /// Bytes that are written to another file after each.
    pub beside_bytes: u64,
}

/// The benchmark as it was run.
pub const SQLITE_SCAN: SqliteScan = SqliteScan {
    rows: 10_000,
    beside_bytes: 100 << 10,
};

/// The pages that inserts write, one insert after the other: those written in place, and how many come at the end.
#[derive(Clone, Debug)]
pub struct Inserts {
    row: u64,
    rows: u64,
    /// Pages of the file.
    pages: u64,
    leaf: u64,
    index_leaf: u64,
}

/// What an insert writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// Pages that are there, ascending.
    pub in_place: Vec<u64>,
    /// Pages at the end.
    pub new: Range<u64>,
}

impl Inserts {
    /// So many inserts into an empty database: a first page, a leaf of the table, a leaf of the index.
    pub fn new(rows: u64) -> Inserts {
        Inserts {
            row: 0,
            rows,
            pages: 3,
            leaf: 1,
            index_leaf: 2,
        }
    }

    /// Pages of the file before the first insert.
    pub const FIRST_PAGES: u64 = 3;
}

impl Iterator for Inserts {
    type Item = Insert;

    fn next(&mut self) -> Option<Insert> {
        if self.row == self.rows {
            return None;
        }
        let first_new = self.pages;
        let mut in_place = vec![0, self.leaf, self.index_leaf];
        self.pages += OVERFLOW_PAGES;
        self.row += 1;
        if self.row.is_multiple_of(INDEX_ROWS) {
            // The lower half moves to a new page.
            self.index_leaf = self.pages;
            self.pages += 1;
        }
        if self.row.is_multiple_of(LEAF_ROWS) {
            self.leaf = self.pages;
            self.pages += 1;
        }
        in_place.sort_unstable();
        Some(Insert {
            in_place,
            new: first_new..self.pages,
        })
    }
}

impl SqliteScan {
    /// Pages of the database in the end.
    pub fn pages(&self) -> u64 {
        let last = Inserts::new(self.rows).last();
        last.map_or(Inserts::FIRST_PAGES, |insert| insert.new.end)
    }
}

impl Benchmark for SqliteScan {
    fn name(&self) -> &'static str {
        "sqlite-scan"
    }

    fn summary(&self) -> &'static str {
        "reads a database of 162 MB that grew row by row beside another file (Jun and others, FAST 2024)"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::of_size(1), Case::of_size(self.beside_bytes)]
    }

    fn suits(&self, case: Case, site: &Site) -> Result<(), Unsuited> {
        let beside_bytes = case.file_bytes.ok_or(Unsuited::NoSize)?;
        let all =
            (self.pages() * PAGE_BYTES).saturating_add(self.rows.saturating_mul(beside_bytes));
        Unsuited::unless_it_fits(all, site)
    }

    fn run(
        &self,
        case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let beside_bytes = case.file_bytes.unwrap_or(self.beside_bytes);
        let mut phases = Phases::new(self.name(), case.file_bytes, repetition, subject);
        let bytes = self.pages() * PAGE_BYTES;
        let done = Done { files: 1, bytes };
        let dir = phases.subject.mkdir()?;
        let first_bytes = Inserts::FIRST_PAGES * PAGE_BYTES;
        let database = phases.subject.create(dir, first_bytes, first_bytes)?;
        let beside = phases.subject.create(dir, 0, PAGE_BYTES)?;
        phases.run("insert", Until::Synced, |subject| {
            for insert in Inserts::new(self.rows) {
                for &page in &insert.in_place {
                    let part = Part {
                        offset: page * PAGE_BYTES,
                        bytes: PAGE_BYTES,
                        call_bytes: PAGE_BYTES,
                    };
                    subject.overwrite(database, part)?;
                }
                for _ in insert.new {
                    subject.append(database, PAGE_BYTES)?;
                }
                subject.fsync(database)?;
                if beside_bytes > 0 {
                    subject.append(beside, beside_bytes)?;
                    subject.fsync(beside)?;
                }
            }
            Ok(done)
        })?;
        phases.look_at(&[database])?;
        phases.subject.drop_caches()?;
        phases.run("scan", Until::LastCall, |subject| {
            let part = Part {
                offset: 0,
                bytes,
                call_bytes: PAGE_BYTES,
            };
            subject.read(database, part)?;
            Ok(done)
        })?;
        Ok(phases.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10,000 x 4 pages, 1,250 leaves, 49 leaves of the index and the first three pages; 162 MB of 2^20 are
    /// 41,472 pages. The artifact reckons with 28 KB an insert.
    #[test]
    fn a_database_has_the_size_of_the_papers() {
        assert_eq!(SQLITE_SCAN.pages(), 40_000 + 1_250 + 49 + 3);
        let mut inserts = Inserts::new(9);
        let first = inserts.next().expect("an insert");
        assert_eq!((first.in_place, first.new), (vec![0, 1, 2], 3..7));
        let eighth = inserts.nth(6).expect("eight inserts");
        assert_eq!(eighth.new, 31..36);
        let ninth = inserts.next().expect("nine inserts");
        assert_eq!((ninth.in_place, ninth.new), (vec![0, 2, 35], 36..40));
        assert_eq!(inserts.next(), None);
        let written = 3 + OVERFLOW_PAGES;
        assert_eq!(written * PAGE_BYTES, 28 << 10);
    }
}
