//! `fsage inspect`: what is in a file.

mod blocks;
mod fragmented;
mod image;
mod parquet;
mod profiles;
mod snapshot;
mod workload;

use crate::ui::{Ui, go_on};
use fsage_core::{Event, EventSource, Layout};
use fsage_data::profiles::{PROFILES, is_profiles_csv};
use fsage_data::snapshot::INODES;
use fsage_data::{is_parquet, table};
use fsage_lab::cffs_image;
use fsage_lab::collect::is_image;
use fsage_lab::history;
use fsage_lab::run_folder::OneTarget;
use fsage_lab::workload::is_there;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Looks into a workload, snapshots, a pool of profiles, any other table of fsage, or an image of a file system.
///
/// Percentiles are within 0.4 %; counts, means, smallest and largest values are exact.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("layout").args(["extents", "blocks", "worst", "groups"]))]
pub struct Args {
    /// A workload (Parquet or .ops text, which may be compressed), a snapshot or a folder of them, profiles (Parquet
    /// or CSV), a table of a run, or an unmounted image of ext2, ext3, ext4, XFS or C-FFS; `-` is text from standard
    /// input.
    file: PathBuf,
    /// Of a snapshot, an image or RUN/TARGET, print the extents of every regular file: inode, directory, bytes, and
    /// logical:physical:length in blocks. RUN does where it has one target.
    #[arg(long, conflicts_with = "json")]
    extents: bool,
    /// Of a snapshot or an image, print what lies in these blocks: files, pointers, free space.
    #[arg(long, value_name = "FIRST-LAST", value_parser = blocks::parse)]
    blocks: Option<RangeInclusive<u64>>,
    /// Of a snapshot, an image or RUN/TARGET, print the files in the most pieces. For paths of a model its workload is
    /// lived again.
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, default_missing_value = "20")]
    worst: Option<usize>,
    /// Of a snapshot, an image or RUN/TARGET, print how full and how fragmented each block or allocation group is.
    #[arg(long)]
    groups: bool,
    /// Of a series of snapshots, the one with this number [default: the last].
    #[arg(long, value_name = "N", requires = "layout")]
    snap_id: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let file = &args.file;
    if let Some(range) = &args.blocks {
        return with_layout(file, args.snap_id, ui, &mut |layout| {
            blocks::print(layout, range, args.json)
        });
    }
    if let Some(number) = args.worst {
        return with_layout(file, args.snap_id, ui, &mut |layout| {
            fragmented::print_worst(layout, number, args.json, |inodes| paths(file, inodes, ui))
        });
    }
    if args.groups {
        return with_layout(file, args.snap_id, ui, &mut |layout| {
            fragmented::print_groups(layout, args.json)
        });
    }
    if file.is_file() && cffs_image::is_image(file)? {
        return image::run(file, args.extents, args.json);
    }
    if is_image(file) {
        return image::collected(file, args.extents, args.json, ui);
    }
    if args.extents {
        let last = OneTarget::layout(file)?;
        return snapshot::extents(last.as_deref().unwrap_or(file), args.snap_id);
    }
    if file.is_dir() {
        return snapshot::folder(file, args.json, ui);
    }
    is_there(file)?;
    if !is_parquet(file)? {
        if file.is_file() && is_profiles_csv(file)? {
            return profiles::run(file, args.json);
        }
        return workload::run(file, args.json, ui);
    }
    let info = table::parquet_info(file)?;
    match info.schema.as_deref() {
        Some(fsage_data::schema::WORKLOAD) => workload::run(file, args.json, ui),
        Some(INODES) => snapshot::table(&info, file, args.json, ui),
        Some(PROFILES) => profiles::run(file, args.json),
        _ => parquet::table(&info, args.json),
    }
}

/// The layout of a snapshot or of an image; of a target of a run, how it was in the end.
fn with_layout(
    file: &Path,
    snap_id: Option<u32>,
    ui: Ui,
    use_it: &mut dyn FnMut(&dyn Layout) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if file.is_file() && cffs_image::is_image(file)? {
        return use_it(&cffs_image::read(file)?.fs);
    }
    if is_image(file) {
        return use_it(&image::layout(file, ui)?);
    }
    let last = OneTarget::layout(file)?;
    use_it(&snapshot::open(last.as_deref().unwrap_or(file), snap_id)?)
}

/// Paths of inodes of a target of a run, where they can be found; nothing of any other file.
fn paths(of: &Path, inodes: &[u64], ui: Ui) -> anyhow::Result<BTreeMap<u64, String>> {
    if OneTarget::layout(of)?.is_none() {
        return Ok(BTreeMap::new());
    }
    match history::paths(of, inodes, &ui) {
        Ok(paths) => Ok(paths),
        Err(error) => {
            go_on()?;
            ui.warn(&format!("paths are not known: {error:#}"));
            Ok(BTreeMap::new())
        }
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
    while let Some(event) = source.next_event().map_err(fsage_lab::error::boxed)? {
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
