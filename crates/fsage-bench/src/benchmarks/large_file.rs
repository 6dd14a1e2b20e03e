//! One large file: in five passes, or written, read and written over in order.
//!
//! [`LARGE_FILE`] writes and reads in order, writes and reads at random, reads in order again. [`LARGE_FILE_1997`] is
//! the one of Ganger and Kaashoek 1997, section 4: 32 MB with calls of 4 KB, and an `fsync` where it is written.
//!
//! **Parameters of the five passes.** 100 MB in units of 8 KB. A unit at random is drawn anew each time, so that some
//! come twice and some never; what is drawn depends on the repetition alone. Caches are emptied between passes, and
//! the clock of a pass that writes stops when all is on disk.
//!
//! **Source.** Rosenblum and Ousterhout 1992, as Seltzer et al. 1995, section 2, run it. The latter prints 100 KB for
//! the passes at random, the former wrote and read all 100 MB: [`LargeFile::random_bytes`] chooses.
//!
//! **Limits.** Each unit at random is an open, a call and a close.

use super::sequential::{FileCount, Forced, SEQUENTIAL, Sequential, Step};
use crate::benchmark::{Benchmark, Case, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, FileKey, Part, Subject};
use fsage_core::Rng;
use std::borrow::Cow;

/// A benchmark of one large file.
#[derive(Clone, Copy, Debug)]
pub struct LargeFile {
    /// Size of the file in bytes, where the case does not say.
    pub file_bytes: u64,
    /// Bytes of a call.
    pub unit_bytes: u64,
    /// Bytes that are written, and then read, at random; `None` is the size of the file.
    pub random_bytes: Option<u64>,
    /// The clock of a pass that writes stops when all is on disk.
    pub sync_at_end: bool,
}

/// The benchmark as it was first run.
pub const LARGE_FILE: LargeFile = LargeFile {
    file_bytes: 100 << 20,
    unit_bytes: 8 << 10,
    random_bytes: None,
    sync_at_end: true,
};

/// The benchmark of 1997.
pub const LARGE_FILE_1997: Sequential = Sequential {
    name: "large-file-1997",
    summary: "one file of 32 MB, written, read and written over in calls of 4 KB (Ganger and Kaashoek 1997)",
    sizes: Cow::Borrowed(&[32 << 20]),
    files: FileCount::Exactly(1),
    call_bytes: 4 << 10,
    steps: &[Step::Create, Step::Read, Step::Overwrite],
    forced: Forced::EachFile,
    ..SEQUENTIAL
};

impl Benchmark for LargeFile {
    fn name(&self) -> &'static str {
        "large-file"
    }

    fn summary(&self) -> &'static str {
        "one file of 100 MB in five passes, in order and at random (Rosenblum and Ousterhout 1992; Seltzer et al. 1995)"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::of_size(self.file_bytes)]
    }

    fn draws(&self) -> bool {
        true
    }

    fn suits(&self, case: Case, site: &Site) -> Result<(), Unsuited> {
        let file_bytes = case.file_bytes.ok_or(Unsuited::NoSize)?;
        Unsuited::unless_it_fits(file_bytes, site)
    }

    fn run(
        &self,
        case: Case,
        repetition: u32,
        _site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let file_bytes = case.file_bytes.unwrap_or(self.file_bytes);
        let whole = Part {
            offset: 0,
            bytes: file_bytes,
            call_bytes: self.unit_bytes,
        };
        let all = Done {
            files: 1,
            bytes: file_bytes,
        };
        let written = Until::written(self.sync_at_end);
        let rng = Rng::new(u64::from(repetition));
        let mut phases = Phases::new(self.name(), Some(file_bytes), repetition, subject);
        let mut file = FileKey(0);
        phases.subject.drop_caches()?;
        phases.run("create", written, |subject| {
            let dir = subject.mkdir()?;
            file = subject.create(dir, file_bytes, self.unit_bytes)?;
            Ok(all)
        })?;
        phases.look_at(&[file])?;
        phases.subject.drop_caches()?;
        phases.run("read", Until::LastCall, |subject| {
            subject.read(file, whole)?;
            Ok(all)
        })?;
        phases.subject.drop_caches()?;
        phases.run("random-write", written, |subject| {
            self.at_random(file_bytes, rng.stream("random-write", 0), |part| {
                subject.overwrite(file, part)
            })
        })?;
        phases.look_at(&[file])?;
        phases.subject.drop_caches()?;
        phases.run("random-read", Until::LastCall, |subject| {
            self.at_random(file_bytes, rng.stream("random-read", 0), |part| {
                subject.read(file, part)
            })
        })?;
        phases.subject.drop_caches()?;
        phases.run("reread", Until::LastCall, |subject| {
            subject.read(file, whole)?;
            Ok(all)
        })?;
        Ok(phases.finish())
    }
}

impl LargeFile {
    /// Goes over units drawn at random, until they make up [`LargeFile::random_bytes`].
    fn at_random(
        &self,
        file_bytes: u64,
        mut rng: Rng,
        mut go: impl FnMut(Part) -> Result<(), BenchError>,
    ) -> Result<Done, BenchError> {
        let unit_bytes = self.unit_bytes.max(1);
        let units = file_bytes.div_ceil(unit_bytes);
        let mut done = Done { files: 1, bytes: 0 };
        if units == 0 {
            return Ok(done);
        }
        while done.bytes < self.random_bytes.unwrap_or(file_bytes) {
            let offset = rng.below(units) * unit_bytes;
            let part = Part {
                offset,
                bytes: unit_bytes.min(file_bytes - offset),
                call_bytes: unit_bytes,
            };
            go(part)?;
            done.bytes += part.bytes;
        }
        Ok(done)
    }
}
