//! `fsage inspect`: what is in a file.

mod parquet;
mod workload;

use crate::exit;
use crate::ui::{Ui, go_on};
use fsage_core::{Event, EventSource};
use fsage_data::{is_parquet, snapshot, table};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Looks into a workload, a snapshot or any other table of fsage.
///
/// Percentiles are within 0.4 %; counts, means, smallest and largest values are exact.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A workload (Parquet or .ops text, which may be compressed), a snapshot, or a table of a run; `-` is text
    /// from standard input.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if !is_parquet(&args.file)? {
        return workload::run(&args.file, args.json, ui);
    }
    let info = table::parquet_info(&args.file)?;
    match info.schema.as_deref() {
        Some(fsage_data::schema::WORKLOAD) => workload::run(&args.file, args.json, ui),
        Some(snapshot::INODES) => parquet::inodes(&info, args.json, ui),
        _ => parquet::table(&info, args.json),
    }
}

/// Gives every event of a workload to `f`, with a progress bar if it takes longer than a second.
pub fn for_each_event(
    source: &mut dyn EventSource,
    ui: Ui,
    what: &str,
    mut f: impl FnMut(&Event) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut progress = Progress::new(ui, what);
    while let Some(event) = source.next_event().map_err(exit::boxed)? {
        go_on()?;
        f(&event)?;
        progress.step(|| source.progress());
    }
    progress.done();
    Ok(())
}

/// A progress bar over bytes that appears after a second.
pub struct Progress<'a> {
    ui: Ui,
    what: &'a str,
    start: Instant,
    steps: u32,
    bar: Option<indicatif::ProgressBar>,
}

impl<'a> Progress<'a> {
    pub fn new(ui: Ui, what: &'a str) -> Progress<'a> {
        Progress {
            ui,
            what,
            start: Instant::now(),
            steps: 0,
            bar: None,
        }
    }

    /// Looks at the clock only now and then, for this is called for every row.
    pub fn step(&mut self, bytes: impl FnOnce() -> Option<(u64, u64)>) {
        self.steps = self.steps.wrapping_add(1);
        if !self.steps.is_multiple_of(1 << 14) || self.start.elapsed() < Duration::from_secs(1) {
            return;
        }
        let (at, total) = bytes().unzip();
        let bar = self
            .bar
            .get_or_insert_with(|| self.ui.bar_bytes(total, self.what));
        bar.set_position(at.unwrap_or_default());
    }

    pub fn done(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
