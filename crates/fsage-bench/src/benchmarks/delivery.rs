//! Mail that arrives, and is read: files that are each forced to disk, and moved into folders that are there.
//!
//! **Parameters.** 8 MB in files of one size, 32 to 512 of them; a call of at most 4 MB. Each goes to the folder of a
//! hot file that is drawn at random, so that folders with much to do get much of it. It is made in a folder `tmp` of
//! that one, written, forced to disk by `fsync`, and moved; the clock stops with the last call. Then caches are
//! emptied, and all of them are read, folder by folder.
//!
//! **Source.** So delivers a Maildir (D. J. Bernstein, 1995), so Postfix and Dovecot. What is timed is what a mail
//! server waits for: an answer goes out when the file is on disk.
//!
//! **Limits.** One process delivers at a time: a file system that puts the commits of several together gains nothing.
//! The last name is on disk only with the next commit, as it is with a Maildir. The folders `tmp` are made before the
//! clock runs. Without files from before (an empty file system, a directory that is shared with others) there are 20
//! folders of the benchmark's own.

use super::CALL_BYTES;
use crate::benchmark::{Benchmark, Case, GoesOver, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, DirKey, FileKey, Part, Subject};
use fsage_core::Rng;
use std::collections::BTreeMap;

const KB: u64 = 1 << 10;
/// Data of a case.
const TOTAL_BYTES: u64 = 8 << 20;
/// The fewest and the most files.
const FILES: (u64, u64) = (32, 512);
/// Folders where there is none.
const OWN_FOLDERS: u64 = 20;

/// The benchmark of mail.
#[derive(Clone, Copy, Debug)]
pub struct Delivery;

/// The benchmark.
pub const DELIVERY: Delivery = Delivery;

impl Delivery {
    fn files(file_bytes: u64) -> u64 {
        (TOTAL_BYTES / file_bytes.max(1)).clamp(FILES.0, FILES.1)
    }
}

impl Benchmark for Delivery {
    fn name(&self) -> &'static str {
        "delivery"
    }

    fn summary(&self) -> &'static str {
        "delivers mail of 4 KB to 64 KB into folders that are there, each forced to disk, and reads it"
    }

    fn default_cases(&self) -> Vec<Case> {
        [4 * KB, 16 * KB, 64 * KB].map(Case::of_size).to_vec()
    }

    fn asks_for(&self) -> GoesOver {
        GoesOver::HotFiles
    }

    fn draws(&self) -> bool {
        true
    }

    fn suits(&self, case: Case, site: &Site) -> Result<(), Unsuited> {
        let file_bytes = case.file_bytes.filter(|&bytes| bytes > 0);
        let file_bytes = file_bytes.ok_or(Unsuited::NoSize)?;
        let files = Delivery::files(file_bytes);
        // What of a block is not used is not free either.
        Unsuited::unless_it_fits(
            files.saturating_mul(file_bytes.next_multiple_of(4 * KB)),
            site,
        )
    }

    fn run(
        &self,
        case: Case,
        repetition: u32,
        site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let bytes = case.file_bytes.unwrap_or_default();
        let mut phases = Phases::new(self.name(), case.file_bytes, repetition, subject);
        let mut rng = Rng::new(u64::from(repetition));
        let folders = folders(site, Delivery::files(bytes), &mut rng, phases.subject)?;
        phases.subject.drop_caches()?;
        let done = Done {
            files: folders.len() as u64,
            bytes: folders.len() as u64 * bytes,
        };
        let mut delivered: Vec<(DirKey, FileKey)> = Vec::new();
        phases.run("deliver", Until::LastCall, |subject| {
            for &way in &folders {
                let file = subject.deliver(way, bytes, CALL_BYTES)?;
                delivered.push((way.1, file));
            }
            Ok(done)
        })?;
        delivered.sort_unstable();
        let files: Vec<FileKey> = delivered.iter().map(|&(_, file)| file).collect();
        phases.look_at(&files)?;
        phases.subject.drop_caches()?;
        let whole = Part {
            offset: 0,
            bytes,
            call_bytes: CALL_BYTES,
        };
        phases.run("read", Until::LastCall, |subject| {
            for &file in &files {
                subject.read(file, whole)?;
            }
            Ok(done)
        })?;
        Ok(phases.finish())
    }
}

/// For each file where it is made, and where it goes.
fn folders(
    site: &Site,
    files: u64,
    rng: &mut Rng,
    subject: &mut dyn Subject,
) -> Result<Vec<(DirKey, DirKey)>, BenchError> {
    let mut found = Vec::new();
    if !site.hot_files.is_empty() {
        for _ in 0..files {
            let hot = site.hot_files[rng.below(site.hot_files.len() as u64) as usize];
            found.extend(subject.directory_of(hot)?);
        }
    }
    if (found.len() as u64) < files {
        let own: Result<Vec<DirKey>, BenchError> =
            (0..OWN_FOLDERS).map(|_| subject.mkdir()).collect();
        let own = own?;
        found = (0..files)
            .map(|_| own[rng.below(OWN_FOLDERS) as usize])
            .collect();
    }
    let mut temporary: BTreeMap<DirKey, DirKey> = BTreeMap::new();
    let ways = found.into_iter().map(|to| {
        let from = match temporary.get(&to) {
            Some(&from) => from,
            None => *temporary.entry(to).or_insert(subject.mkdir_in(to)?),
        };
        Ok((from, to))
    });
    ways.collect()
}
