//! The laboratory: a disk and a host, and benchmarks that run over them on file systems of a model.

use super::aged::State;
use super::paper::Run;
use anyhow::{Context, bail};
use fsage_bench::{
    BenchError, Benchmark, Case, FileKey, Measurement, Progress, SimulatedStand, Site,
};
use fsage_core::io::AnyHosted;
use fsage_disk::Disk;
use fsage_host::{HostParams, raw_throughput};
use fsage_lab::Watch;
use fsage_lab::benching::host_params;
use fsage_lab::interrupt;

/// Files and directories of the aging workload have lower numbers than this.
const FIRST_OWN_ID: u64 = 1 << 48;

/// A disk, a host, and how often to measure on them.
pub struct Lab<'a> {
    run: &'a Run,
    disk: Disk,
    host: HostParams,
    threads: usize,
    ui: &'a dyn Watch,
}

/// Throughput of a disk without a file system, in MB/s (10^6 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Raw {
    /// Reading.
    pub read: f64,
    /// Writing.
    pub write: f64,
}

impl<'a> Lab<'a> {
    /// The disk and the host of a paper.
    ///
    /// # Errors
    /// There is no such disk or host.
    pub fn new(run: &'a Run, threads: usize, ui: &'a dyn Watch) -> anyhow::Result<Lab<'a>> {
        Lab::with(run, &run.device, &run.host, threads, ui)
    }

    /// The same with another disk and another host than those of the paper.
    ///
    /// # Errors
    /// There is no such disk or host.
    pub fn with(
        run: &'a Run,
        device: &str,
        host: &str,
        threads: usize,
        ui: &'a dyn Watch,
    ) -> anyhow::Result<Lab<'a>> {
        let disk = fsage_lab::device::disk(device)?;
        let host = host_params(host)?;
        Ok(Lab {
            run,
            disk,
            host,
            threads,
            ui,
        })
    }

    /// The disk.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The host.
    pub fn host(&self) -> &HostParams {
        &self.host
    }

    /// The disk without a file system, over the part that the file system takes.
    pub fn raw(&self, bytes: u64) -> Raw {
        let rate = |write| {
            let (device, start_sector) = (self.disk.device(0), self.disk.partition().first_sector);
            raw_throughput(&self.host, device, start_sector, bytes, write).bytes_per_s() / 1e6
        };
        Raw {
            read: rate(false),
            write: rate(true),
        }
    }

    /// All cases of a benchmark that the file system has room for.
    ///
    /// # Errors
    /// The file system is larger than the disk; an interrupt.
    pub fn run<F: AnyHosted>(
        &self,
        benchmark: &dyn Benchmark,
        state: &State<F>,
        repetitions: u32,
    ) -> anyhow::Result<Vec<Measurement>> {
        let seed = self.run.seed;
        let stand = SimulatedStand::new(&state.fs, FIRST_OWN_ID, &self.host, &self.disk, seed)?;
        let site = Site {
            free_bytes: stand.free_bytes(),
            hot_files: state.hot.iter().map(|file| FileKey(file.0)).collect(),
            ..Site::default()
        };
        let cases: Vec<Case> = benchmark.cases(&site);
        for left_out in benchmark.left_out(&site) {
            self.note_left_out(&state.name, left_out);
        }
        let total = cases.len() as u64 * u64::from(repetitions);
        let bar = self.ui.bar_count(Some(total), &state.name);
        let mut stands = vec![stand; self.threads.max(1)];
        let go_on = |progress: Progress| {
            bar.set_position(progress.done as u64);
            interrupt::go_on().is_ok()
        };
        let results = fsage_bench::run(benchmark, &cases, &site, &mut stands, repetitions, &go_on);
        drop(bar);
        interrupt::go_on()?;
        let results = match results {
            Ok(results) => results,
            Err(BenchError::Interrupted) => bail!("interrupted"),
            Err(error) => {
                return Err(error).context(format!("{} on {}", benchmark.name(), state.name));
            }
        };
        for left_out in results.left_out {
            self.note_left_out(&state.name, left_out);
        }
        Ok(results.measurements)
    }

    fn note_left_out(&self, name: &str, left_out: fsage_bench::LeftOut) {
        let what = left_out
            .case
            .file_bytes
            .map_or_else(String::new, fsage_report::chart::size_text);
        self.ui
            .warn(&format!("{name}: {what} left out: {}", left_out.why));
    }
}
