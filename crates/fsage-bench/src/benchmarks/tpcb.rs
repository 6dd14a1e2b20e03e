//! TPC-B as Seltzer et al. 1995 ran it: random records of a large file are read and written back.
//!
//! **Parameters.** An account file of 237 MB in blocks of 4 KB, and a cache of 4 MB in the memory of the database,
//! which forgets the block used longest ago. A transaction needs a random record: if its block is not in the cache,
//! the oldest block is written back, since every one was changed, and the block is read. The file is overwritten four
//! times its size before the clock starts, so that a log has a cleaner at work. A transaction counts as a file.
//!
//! **Source.** Section 4 of the paper; the log of the database is on another disk. Its branches, tellers and inner
//! pages stay in the cache of the database.
//!
//! **Limits.** The history file, 50 bytes a transaction, is not written. Each read and write is an open, a call and a
//! close. Nothing is synced but by the system.

use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, FileKey, Part, Subject};
use fsage_core::Rng;
use std::collections::VecDeque;

/// Bytes of a page of the database.
const PAGE: u64 = 4096;

/// A benchmark of random reads and writes of a database.
#[derive(Clone, Copy, Debug)]
pub struct TpcB {
    /// Size of the account file in bytes, where the case does not say.
    pub account_bytes: u64,
    /// Pages in the cache of the database.
    pub cache_pages: usize,
    /// Times that as many transactions are done as the file has pages, before they count and once the cache is full.
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
        let dir = phases.subject.mkdir()?;
        let file = phases.subject.create(dir, account_bytes, 4 << 20)?;
        phases.subject.drop_caches()?;
        let mut database = Database {
            file,
            pages: account_bytes / PAGE,
            cache: VecDeque::new(),
            cache_pages: self.cache_pages,
            rng: Rng::new(u64::from(repetition)).stream("tpc-b", 0),
        };
        while database.cache.len() < self.cache_pages.min(database.pages as usize) {
            database.transaction(phases.subject)?;
        }
        for _ in 0..self.warm_rounds * database.pages {
            database.transaction(phases.subject)?;
        }
        phases.look_at(&[file])?;
        phases.run("transactions", Until::LastCall, |subject| {
            for _ in 0..self.transactions {
                database.transaction(subject)?;
            }
            Ok(Done {
                files: self.transactions,
                bytes: self.transactions * PAGE,
            })
        })?;
        Ok(phases.finish())
    }
}

/// The account file, and the pages of it that the database has in memory, the one used last at the end.
struct Database {
    file: FileKey,
    pages: u64,
    cache: VecDeque<u64>,
    cache_pages: usize,
    rng: Rng,
}

impl Database {
    fn transaction(&mut self, subject: &mut dyn Subject) -> Result<(), BenchError> {
        let page = self.rng.below(self.pages);
        if let Some(i) = self.cache.iter().position(|&cached| cached == page) {
            self.cache.remove(i);
        } else {
            if self.cache.len() >= self.cache_pages
                && let Some(oldest) = self.cache.pop_front()
            {
                subject.overwrite(self.file, part_of(oldest))?;
            }
            subject.read(self.file, part_of(page))?;
        }
        self.cache.push_back(page);
        Ok(())
    }
}

fn part_of(page: u64) -> Part {
    Part {
        offset: page * PAGE,
        bytes: PAGE,
        call_bytes: PAGE,
    }
}
