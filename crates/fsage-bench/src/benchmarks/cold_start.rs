//! An application is installed, and started with empty caches.
//!
//! **Make-up**, an estimate: a program of 4 MB, 48 libraries of 16 KB to 4.8 MB in one directory, 34 MB in all, and 300
//! resources in 15 directories of 20, of the sizes of [`SIZES`], 4 MB in all: 42 MB. They are written one after the
//! other, each at once, as an installer does, and synced.
//!
//! **The start.** Program and libraries are mapped. The loader reads the first 4 KB of each, first of the program. Then
//! pages are touched that are not there, and the kernel reads 128 KB around each: every 128 KB of a file is touched
//! with a chance of 60 %, in an order drawn at random, file by file. After each file four resources are read as a
//! whole, so that two thirds of them are. What is drawn depends on the repetition alone, and is the same on every file
//! system.
//!
//! **Phases.** `install`; `start` with empty caches, until the last byte is read. **Source.** None for the numbers;
//! Ji and others (`HotStorage` 2016 and later) found that applications start slower on aged phones. **Limits.** Nothing
//! is computed, and nothing is written while the application starts.

use super::applications::SIZES;
use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, FileKey, Part, Subject};
use fsage_core::Rng;

/// Bytes of the program.
const PROGRAM_BYTES: u64 = 4 << 20;
/// Sizes of libraries in KB; there are three of each.
const LIBRARIES_KB: [u64; 16] = [
    220, 16, 1400, 60, 420, 24, 4800, 120, 32, 900, 84, 300, 40, 2200, 160, 600,
];
const LIBRARIES_OF_A_SIZE: usize = 3;
/// Directories of resources, with a file of each of [`SIZES`].
const DIRECTORIES: usize = 15;
/// Resources that are read after each mapped file.
const RESOURCES_OF_A_FILE: usize = 4;
/// What the loader reads of a file.
const HEADER_BYTES: u64 = 4 << 10;
/// What the kernel reads around a page that is touched.
const AROUND_BYTES: u64 = 128 << 10;
/// So many of a hundred such parts are touched.
const TOUCHED_PERCENT: u64 = 60;
/// Bytes of a call that writes, or reads a resource.
const CALL_BYTES: u64 = 128 << 10;

/// The benchmark.
#[derive(Clone, Copy, Debug)]
pub struct ColdStart;

/// The benchmark as `fsage bench` runs it.
pub const COLD_START: ColdStart = ColdStart;

/// The files of an application, with their sizes.
#[derive(Default)]
struct Application {
    mapped: Vec<(FileKey, u64)>,
    resources: Vec<(FileKey, u64)>,
}

impl ColdStart {
    /// Bytes of all files.
    pub fn bytes(self) -> u64 {
        let libraries = LIBRARIES_KB.iter().sum::<u64>() * 1024 * LIBRARIES_OF_A_SIZE as u64;
        PROGRAM_BYTES + libraries + SIZES.iter().sum::<u64>() * DIRECTORIES as u64
    }
}

impl Benchmark for ColdStart {
    fn name(&self) -> &'static str {
        "cold-start"
    }

    fn summary(&self) -> &'static str {
        "installs an application of 42 MB, and starts it with empty caches"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    fn draws(&self) -> bool {
        true
    }

    fn suits(&self, _case: Case, site: &Site) -> Result<(), Unsuited> {
        Unsuited::unless_it_fits(self.bytes(), site)
    }

    fn run(
        &self,
        _case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let mut phases = Phases::new(self.name(), None, repetition, subject);
        let mut application = Application::default();
        phases.subject.drop_caches()?;
        phases.run("install", Until::Synced, |subject| {
            application.install(subject)
        })?;
        let all = application.mapped.iter().chain(&application.resources);
        let all: Vec<FileKey> = all.map(|&(file, _)| file).collect();
        phases.look_at(&all)?;
        phases.subject.drop_caches()?;
        let rng = Rng::new(u64::from(repetition)).stream("cold-start", 0);
        phases.run("start", Until::LastCall, |subject| {
            application.start(rng, subject)
        })?;
        Ok(phases.finish())
    }
}

impl Application {
    fn install(&mut self, subject: &mut dyn Subject) -> Result<Done, BenchError> {
        let mut done = Done::default();
        let dir = subject.mkdir()?;
        let libraries = LIBRARIES_KB.repeat(LIBRARIES_OF_A_SIZE).into_iter();
        let libraries = libraries.map(|kilobytes| kilobytes * 1024);
        for bytes in std::iter::once(PROGRAM_BYTES).chain(libraries) {
            let file = subject.create(dir, bytes, CALL_BYTES)?;
            self.mapped.push((file, bytes));
            done.add(bytes);
        }
        for _ in 0..DIRECTORIES {
            let dir = subject.mkdir()?;
            for bytes in SIZES {
                let file = subject.create(dir, bytes, CALL_BYTES)?;
                self.resources.push((file, bytes));
                done.add(bytes);
            }
        }
        Ok(done)
    }

    fn start(&self, mut rng: Rng, subject: &mut dyn Subject) -> Result<Done, BenchError> {
        let mut done = Done::default();
        for &(file, bytes) in &self.mapped {
            let header = part(0, HEADER_BYTES, bytes);
            subject.read(file, header)?;
            done.add(header.bytes);
        }
        let mut resources = self.resources.iter();
        for &(file, bytes) in &self.mapped {
            let mut touched: Vec<u64> = (0..bytes.div_ceil(AROUND_BYTES))
                .filter(|_| rng.below(100) < TOUCHED_PERCENT)
                .collect();
            for last in (1..touched.len()).rev() {
                touched.swap(last, rng.below(last as u64 + 1) as usize);
            }
            for around in touched {
                let around = part(around * AROUND_BYTES, AROUND_BYTES, bytes);
                subject.read(file, around)?;
                done.bytes += around.bytes;
            }
            for &(file, bytes) in resources.by_ref().take(RESOURCES_OF_A_FILE) {
                subject.read(file, part(0, bytes, bytes))?;
                done.add(bytes);
            }
        }
        Ok(done)
    }
}

/// A part of a file as far as it goes.
fn part(offset: u64, bytes: u64, file_bytes: u64) -> Part {
    Part {
        offset,
        bytes: bytes.min(file_bytes - offset),
        call_bytes: CALL_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_subject::TestSubject;

    /// By hand: 4 MB; three times 11,376 KB; 15 times 292,352 bytes.
    #[test]
    fn an_application_has_42_megabytes() {
        let by_hand = 4_194_304 + 3 * 11_376 * 1024 + 15 * 292_352;
        assert_eq!(COLD_START.bytes(), by_hand);
    }

    #[test]
    fn a_start_reads_headers_then_parts_and_resources_and_repeats_itself() {
        let run = |repetition: u32| {
            let mut subject = TestSubject::new(100 << 20, &[]);
            let measured = COLD_START
                .run(Case::default(), repetition, &Site::default(), &mut subject)
                .expect("room for it");
            (measured, subject.log)
        };
        let (measured, log) = run(0);
        assert_eq!(measured.len(), 2);
        assert_eq!(
            (measured[0].files, measured[0].bytes),
            (349, COLD_START.bytes())
        );
        let at = log
            .iter()
            .rposition(|line| line == "drop")
            .expect("emptied");
        let start = &log[at + 1..];
        assert!(start[..49].iter().all(|read| read.ends_with(" 0+4096")));
        // By hand: the program has 32 parts of 128 KB, the libraries three times 98; 60 % of 326 are 196.
        let parts = start.len() - 49 - 49 * RESOURCES_OF_A_FILE;
        assert!((160..232).contains(&parts), "{parts}");
        assert_eq!(run(0).1, log);
        assert_ne!(run(1).1, log);
        let small = Site {
            free_bytes: 40 << 20,
            ..Site::default()
        };
        assert!(COLD_START.suits(Case::default(), &small).is_err());
    }
}
