//! TPC-B as Seltzer et al. 1995 ran it: random records of a large file are read and written back.
//!
//! **Parameters.** Account file, 237 MB; branch and teller file, 44 KB each; history file, 70 KB. The database has
//! pages of 4 KB, and 4 MB of them in its own memory; it forgets the page used longest ago. A transaction changes a
//! random record of the account, the teller and the branch file, and adds 50 bytes to the history. What it needs is
//! read, and what is forgotten was changed and is written back first. Branches, tellers and the last page of the
//! history are used by every transaction or nearly so, and stay in memory: the file system sees a random write and a
//! random read of the account file, and every 82nd time a page that is added to the history. The account file is
//! overwritten four times its size before the clock starts, so that a log has a cleaner at work. A transaction counts
//! as a file.
//!
//! **Source.** Section 4 of the paper; the log of the database is on another disk.
//!
//! **Limits.** Pages inside the B-tree are pages of the account file like others. Each read and write is an open, a
//! call and a close. Nothing is synced but by the system.

pub mod point;

use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, FileKey, Part, Subject};
use fsage_core::Rng;
use std::collections::VecDeque;

/// Bytes of a page of the database.
const PAGE: u64 = 4096;
/// Bytes of the branch file, and of the teller file.
const SMALL_FILE: u64 = 44 << 10;
/// Bytes of the history file at first.
const HISTORY: u64 = 70 << 10;
/// Bytes of a record of the history.
const RECORD: u64 = 50;
/// Bytes of a call that makes the files.
const CALL: u64 = 4 << 20;

/// A benchmark of random reads and writes of a database.
#[derive(Clone, Copy, Debug)]
pub struct TpcB {
    /// Size of the account file in bytes, where the case does not say.
    pub account_bytes: u64,
    /// Pages in the cache of the database.
    pub cache_pages: usize,
    /// Times that as many transactions are done as the account file has pages, before they count and once the cache is
    /// full.
    pub warm_rounds: u64,
    /// Transactions that count.
    pub transactions: u64,
}

/// The benchmark as the paper describes it.
pub const TPC_B: TpcB = TpcB {
    account_bytes: 237 << 20,
    cache_pages: 1024,
    warm_rounds: 4,
    transactions: 20_000,
};

impl Benchmark for TpcB {
    fn name(&self) -> &'static str {
        "tpc-b"
    }

    fn summary(&self) -> &'static str {
        "random records of a database of 237 MB, read and written back (Seltzer et al. 1995)"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::of_size(self.account_bytes)]
    }

    fn suits(&self, case: Case, site: &Site) -> Result<(), Unsuited> {
        let account_bytes = case.file_bytes.filter(|&bytes| bytes >= PAGE);
        Unsuited::unless_it_fits(account_bytes.ok_or(Unsuited::NoSize)?, site)
    }

    fn run(
        &self,
        case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let account_bytes = case.file_bytes.unwrap_or(self.account_bytes);
        let mut phases = Phases::new(self.name(), Some(account_bytes), repetition, subject);
        phases.subject.drop_caches()?;
        let sized = TpcB {
            account_bytes,
            ..*self
        };
        let mut database = Database::make(&sized, repetition, phases.subject)?;
        database.warm_up(phases.subject)?;
        phases.look_at(&[database.tables[ACCOUNT].file])?;
        phases.run("transactions", Until::LastCall, |subject| {
            for _ in 0..self.transactions {
                database.transaction(subject)?;
            }
            Ok(Done {
                files: self.transactions,
                bytes: 0,
            })
        })?;
        Ok(phases.finish())
    }
}

/// The files, by number.
const ACCOUNT: usize = 0;
const BRANCH: usize = 1;
const TELLER: usize = 2;
const HISTORY_FILE: usize = 3;

/// A file of the database.
#[derive(Clone, Copy, Debug)]
struct Table {
    file: FileKey,
    /// Its length, as the file system knows it.
    bytes: u64,
}

/// A page of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page {
    table: usize,
    number: u64,
}

/// The database: its files, and the pages that it has in memory, the one used last at the end.
struct Database {
    tables: [Table; 4],
    cache: VecDeque<Page>,
    cache_pages: usize,
    /// Transactions after the cache is full that do not count.
    warm_up: u64,
    rng: Rng,
    /// Length of the history, with what is in memory only.
    history_bytes: u64,
    /// Pages read so far.
    reads: u64,
    /// Pages written so far.
    writes: u64,
}

impl Database {
    /// Makes the files, and empties the caches of the system.
    fn make(
        sizes: &TpcB,
        repetition: u32,
        subject: &mut dyn Subject,
    ) -> Result<Database, BenchError> {
        let dir = subject.mkdir()?;
        let mut table = |bytes| {
            let file = subject.create(dir, bytes, CALL)?;
            Ok::<Table, BenchError>(Table { file, bytes })
        };
        let tables = [
            table(sizes.account_bytes)?,
            table(SMALL_FILE)?,
            table(SMALL_FILE)?,
            table(HISTORY)?,
        ];
        subject.drop_caches()?;
        Ok(Database {
            tables,
            cache: VecDeque::new(),
            cache_pages: sizes.cache_pages,
            warm_up: sizes.warm_rounds * (sizes.account_bytes / PAGE),
            rng: Rng::new(u64::from(repetition)).stream("tpc-b", 0),
            history_bytes: HISTORY,
            reads: 0,
            writes: 0,
        })
    }

    /// Transactions before the clock starts.
    fn warm_up(&mut self, subject: &mut dyn Subject) -> Result<(), BenchError> {
        let pages = self.tables[ACCOUNT].bytes / PAGE;
        while self.cache.len() < self.cache_pages.min(pages as usize) {
            self.transaction(subject)?;
        }
        for _ in 0..self.warm_up {
            self.transaction(subject)?;
        }
        Ok(())
    }

    fn transaction(&mut self, subject: &mut dyn Subject) -> Result<(), BenchError> {
        for table in [ACCOUNT, TELLER, BRANCH] {
            let number = self.rng.below(self.tables[table].bytes / PAGE);
            self.touch(subject, Page { table, number })?;
        }
        let first = self.history_bytes / PAGE;
        self.history_bytes += RECORD;
        for number in first..=(self.history_bytes - 1) / PAGE {
            let table = HISTORY_FILE;
            self.touch(subject, Page { table, number })?;
        }
        Ok(())
    }

    /// A page is used, and changed.
    fn touch(&mut self, subject: &mut dyn Subject, page: Page) -> Result<(), BenchError> {
        if let Some(i) = self.cache.iter().rposition(|&cached| cached == page) {
            self.cache.remove(i);
        } else {
            if self.cache.len() >= self.cache_pages
                && let Some(oldest) = self.cache.pop_front()
            {
                self.write(subject, oldest)?;
            }
            self.read(subject, page)?;
        }
        self.cache.push_back(page);
        Ok(())
    }

    /// Reads a page, unless it is a new one.
    fn read(&mut self, subject: &mut dyn Subject, page: Page) -> Result<(), BenchError> {
        let Table { file, bytes } = self.tables[page.table];
        let offset = page.number * PAGE;
        if offset >= bytes {
            return Ok(());
        }
        self.reads += 1;
        subject.read(
            file,
            Part {
                offset,
                bytes: PAGE.min(bytes - offset),
                call_bytes: PAGE,
            },
        )
    }

    /// Writes a page back, or its new part behind the end of the file.
    fn write(&mut self, subject: &mut dyn Subject, page: Page) -> Result<(), BenchError> {
        let Table { file, bytes } = self.tables[page.table];
        let (offset, end) = (page.number * PAGE, (page.number + 1) * PAGE);
        self.writes += 1;
        if end > bytes {
            subject.append(file, end - bytes)?;
            self.tables[page.table].bytes = end;
            return Ok(());
        }
        subject.overwrite(
            file,
            Part {
                offset,
                bytes: PAGE,
                call_bytes: PAGE,
            },
        )
    }
}
