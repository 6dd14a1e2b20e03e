//! The files that were modified in the last month, read and then written over in place.
//!
//! **Parameters.** The files and their order come from the [`Site`]: sorted by directory, as the papers have it.
//! Nothing is truncated or made, so that the layout stays and no allocation is timed. Each file is moved with calls of
//! at most 4 MB; caches are emptied before each phase.
//!
//! **Source.** Smith and Seltzer 1996, section 4.2, and 1997, section 4.3.
//!
//! **What the papers do not say.** That reading comes first, and the size of a call. The clock of writing stops when
//! all is on disk.

use super::CALL_BYTES;
use crate::benchmark::{Benchmark, Case, GoesOver, Site, Unsuited};
use crate::measurement::Measurement;
use crate::phase::{Done, Phases, Until};
use crate::subject::{BenchError, Part, Subject};

/// The benchmark of the files that are in use.
#[derive(Clone, Copy, Debug)]
pub struct HotFiles {
    /// Bytes of a call, at most.
    pub call_bytes: u64,
    /// The clock of writing stops when all is on disk.
    pub sync_at_end: bool,
}

/// The benchmark.
pub const HOT_FILES: HotFiles = HotFiles {
    call_bytes: CALL_BYTES,
    sync_at_end: true,
};

impl Benchmark for HotFiles {
    fn name(&self) -> &'static str {
        "hot-files"
    }

    fn summary(&self) -> &'static str {
        "reads and overwrites in place all files modified in the last month (Smith and Seltzer 1996, 1997)"
    }

    fn default_cases(&self) -> Vec<Case> {
        vec![Case::default()]
    }

    fn goes_over(&self) -> GoesOver {
        GoesOver::HotFiles
    }

    fn suits(&self, _case: Case, site: &Site) -> Result<(), Unsuited> {
        if site.hot_files.is_empty() {
            return Err(Unsuited::NoHotFiles);
        }
        Ok(())
    }

    fn run(
        &self,
        _case: Case,
        repetition: u32,
        site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError> {
        let mut parts = Vec::with_capacity(site.hot_files.len());
        for &file in &site.hot_files {
            let whole = Part {
                offset: 0,
                bytes: subject.file_bytes(file)?,
                call_bytes: self.call_bytes,
            };
            parts.push((file, whole));
        }
        let done = Done {
            files: parts.len() as u64,
            bytes: parts.iter().map(|(_, part)| part.bytes).sum(),
        };
        let mut phases = Phases::new(self.name(), None, repetition, subject);
        phases.look_at(&site.hot_files)?;
        phases.subject.drop_caches()?;
        phases.run("read", Until::LastCall, |subject| {
            for &(file, whole) in &parts {
                subject.read(file, whole)?;
            }
            Ok(done)
        })?;
        phases.subject.drop_caches()?;
        phases.run("overwrite", Until::written(self.sync_at_end), |subject| {
            for &(file, whole) in &parts {
                subject.overwrite(file, whole)?;
            }
            Ok(done)
        })?;
        phases.look_at(&site.hot_files)?;
        Ok(phases.finish())
    }
}
