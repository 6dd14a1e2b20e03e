//! The phases of a run of a benchmark, with the clock around each.

use crate::measurement::Measurement;
use crate::subject::{BenchError, FileKey, Subject};
use fsage_metrics::LayoutScore;

/// When the clock of a phase stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When the last call returns.
    LastCall,
    /// When everything is on disk.
    Synced,
}

impl Until {
    /// For a phase that writes.
    pub fn written(sync_at_end: bool) -> Until {
        if sync_at_end {
            Until::Synced
        } else {
            Until::LastCall
        }
    }
}

/// What a phase went over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// Files.
    pub files: u64,
    /// Bytes; 0 where files are counted only.
    pub bytes: u64,
}

impl Done {
    /// One more file, of which so many bytes were moved.
    pub fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// A run of a benchmark, to which its phases add measurements.
pub(crate) struct Phases<'a> {
    benchmark: &'a str,
    file_bytes: Option<u64>,
    repetition: u32,
    /// What the benchmark runs on.
    pub subject: &'a mut dyn Subject,
    layout: Option<LayoutScore>,
    measurements: Vec<Measurement>,
}

impl<'a> Phases<'a> {
    /// A run with no phase yet.
    pub fn new(
        benchmark: &'a str,
        file_bytes: Option<u64>,
        repetition: u32,
        subject: &'a mut dyn Subject,
    ) -> Phases<'a> {
        Phases {
            benchmark,
            file_bytes,
            repetition,
            subject,
            layout: None,
            measurements: Vec::new(),
        }
    }

    /// Runs one phase and measures it.
    ///
    /// # Errors
    /// Those of the phase.
    pub fn run(
        &mut self,
        phase: &str,
        until: Until,
        work: impl FnOnce(&mut dyn Subject) -> Result<Done, BenchError>,
    ) -> Result<(), BenchError> {
        let (start_ns, start_cpu_ns) = (self.subject.clock_ns(), self.subject.cpu_ns());
        let earlier = self.subject.requests();
        self.subject.laps();
        let done = work(self.subject)?;
        let laps = self.subject.laps();
        if until == Until::Synced {
            self.subject.sync()?;
        }
        let elapsed_ns = self.subject.clock_ns().saturating_sub(start_ns);
        let cpu_ns = self.subject.cpu_ns().zip(start_cpu_ns);
        let requests = self.subject.requests().zip(earlier);
        self.count(phase, done);
        if let Some(measured) = self.measurements.last_mut() {
            measured.elapsed_ns = elapsed_ns;
            measured.laps = laps;
            measured.cpu_ns = cpu_ns.map(|(end, start)| end.saturating_sub(start));
            measured.requests = requests.map(|(all, earlier)| all.since(earlier));
        }
        Ok(())
    }

    /// Notes what was counted in the phases so far, and took no time of its own.
    pub fn count(&mut self, phase: &str, done: Done) {
        self.measurements.push(Measurement {
            benchmark: self.benchmark.to_owned(),
            phase: phase.to_owned(),
            file_bytes: self.file_bytes,
            repetition: self.repetition,
            files: done.files,
            bytes: done.bytes,
            optimal: self.layout.map(|score| score.optimal),
            countable: self.layout.map(|score| score.scored),
            ..Measurement::default()
        });
    }

    /// Looks how the files of the benchmark lie now: this is the layout of the phases that follow, and of the one that
    /// has just written them.
    ///
    /// # Errors
    /// Those of the subject.
    pub fn look_at(&mut self, files: &[FileKey]) -> Result<(), BenchError> {
        self.layout = self.subject.layout(files)?;
        if let Some(last) = self.measurements.last_mut() {
            last.optimal = self.layout.map(|score| score.optimal);
            last.countable = self.layout.map(|score| score.scored);
        }
        Ok(())
    }

    /// A measurement a phase.
    pub fn finish(self) -> Vec<Measurement> {
        self.measurements
    }
}
