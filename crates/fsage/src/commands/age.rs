//! `fsage age`: replays a workload on one or more targets and measures them day by day.

use crate::days;
use crate::exit;
use crate::run_folder::{Manifest, NewRun, TargetFacts, WorkloadFacts};
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::snapshot::Inode;
use fsage_core::{EventSource, Op, SnapshotSink};
use fsage_data::OpsReader;
use fsage_data::snapshot::{Form, SnapshotOutput};
use fsage_models::ffs::{params, policy};
use fsage_target::{
    Aging, FfsTrace, KINDS, Progress, ReplayError, SpecError, TakeSnapshot, Target, TargetSpec,
    replay,
};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Replays a workload on targets and measures how their layout decays.
#[derive(Debug, clap::Args)]
// Every flag of the command line is one.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "Example:\n  fsage age w.parquet --on ffs --on ffs:policy=realloc -o run\n\n\
                        `--help` tells what a SPEC may say.", after_long_help = targets_help())]
pub struct Args {
    /// The workload: Parquet, or .ops text (plain, gzip or zstd); `-` is text from stdin.
    workload: PathBuf,
    /// A target, KIND[:KEY=VALUE|FLAG,...]; may be given several times.
    #[arg(long = "on", value_name = "SPEC", required = true)]
    on: Vec<String>,
    /// Folder to make for the results.
    #[arg(short, long, value_name = "RUN", required_unless_present = "trace")]
    output: Option<PathBuf>,
    /// Print what the original 4.4BSD driver prints for every probe and every failure; no run is made.
    #[arg(long, conflicts_with_all = ["output", "json", "check", "lenient", "force", "threads", "snapshots"])]
    trace: bool,
    /// Skip and count operations that do not fit the state, instead of stopping at the first.
    #[arg(long)]
    lenient: bool,
    /// Run the model's own file system check at the end of every day.
    #[arg(long)]
    check: bool,
    /// Also store a snapshot with times, generations and names at the end of every so many days, as
    /// TARGET/snapshots.parquet.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    snapshots: Option<u32>,
    /// Threads that share the targets [default: one a target, at most one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Replace a run of that name.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let specs = args
        .on
        .iter()
        .map(|text| TargetSpec::parse(text))
        .collect::<Result<Vec<_>, SpecError>>()?;
    if args.trace {
        return trace(&args.workload, &specs);
    }
    let Some(output) = &args.output else {
        bail!("-o RUN is needed: the folder to make for the results");
    };
    let options = Options {
        lenient: args.lenient,
        check: args.check,
        threads: args.threads.map(usize::from),
        snapshots: args.snapshots,
        force: args.force,
    };
    let agings = age(&args.workload, &specs, output, &options, ui)?;
    let rows: Vec<summary::Row> = specs
        .iter()
        .zip(&agings)
        .map(|(spec, aging)| summary::Row::new(&spec.to_string(), &days::rows(aging.days())))
        .collect();
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &rows)?;
    } else {
        summary::print_table(&mut out, &rows)?;
    }
    out.flush()?;
    ui.note(&format!(
        "\nThe run is {0}; `fsage measure {0}` shows it.",
        output.display()
    ));
    Ok(())
}

/// How to age.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Skip and count what does not fit the state.
    pub lenient: bool,
    /// Check the target every day.
    pub check: bool,
    /// Threads; `None` is one a target, at most one a core.
    pub threads: Option<usize>,
    /// A snapshot every so many days.
    pub snapshots: Option<u32>,
    /// Replace an existing run.
    pub force: bool,
}

/// Replays `workload` on every target and writes the run.
pub fn age(
    workload: &Path,
    specs: &[TargetSpec],
    output: &Path,
    options: &Options,
    ui: Ui,
) -> anyhow::Result<Vec<Aging>> {
    let folders = folders(specs)?;
    let mut agings = Vec::new();
    for spec in specs {
        let mut aging = Aging::new(Target::make(spec)?, options.lenient);
        if options.check {
            aging.check_every_day();
        }
        agings.push(aging);
    }
    let mut source = fsage_data::open_workload(workload)?;
    let new = NewRun::create(output, options.force)?;
    let paths = folders.iter().map(|folder| new.target(folder));
    let paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
    let mut series = Vec::new();
    if let Some(every_days) = options.snapshots {
        let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
        for (path, aging) in paths.iter().zip(&mut agings) {
            let store = Store::create(&path.join("snapshots.parquet"))?;
            let epoch_ns = epoch_s.saturating_mul(1_000_000_000);
            aging.take_snapshots(every_days, epoch_ns, store.taker());
            series.push(store);
        }
    }
    replay_all(workload, &mut *source, &mut agings, options, ui)?;
    for store in series {
        store.finish()?;
    }

    let epoch_unix_s = source.header().epoch_unix_s;
    let mut targets = Vec::new();
    for (((spec, folder), path), aging) in specs.iter().zip(&folders).zip(&paths).zip(&agings) {
        days::write(&path.join("days.parquet"), aging.days())?;
        days::write_final(path, aging, epoch_unix_s)?;
        let total = aging.total();
        targets.push(TargetFacts {
            spec: spec.to_string(),
            folder: folder.clone(),
            days: aging.days().len() as u64,
            operations: total.operations(),
            skipped: total.skipped(),
        });
        warn_of_skipped(spec, aging, ui);
    }
    let header = source.header();
    let name = workload.file_name().unwrap_or(workload.as_os_str());
    new.finish(&Manifest {
        fsage: env!("CARGO_PKG_VERSION").to_owned(),
        schema_version: 1,
        workload: WorkloadFacts {
            file: name.to_string_lossy().into_owned(),
            blake3: workload
                .is_file()
                .then(|| fsage_data::hash_file(workload))
                .transpose()?,
            generator: header.generator.clone(),
            seed: header.seed,
            source: header.source.clone(),
        },
        lenient: options.lenient,
        targets,
    })?;
    Ok(agings)
}

/// Where the snapshots of an aging target go: a series in delta form.
struct Store(Arc<Mutex<Option<SnapshotOutput>>>);

impl Store {
    fn create(path: &Path) -> anyhow::Result<Store> {
        let output = SnapshotOutput::create(path, Form::Delta, false)?;
        Ok(Store(Arc::new(Mutex::new(Some(output)))))
    }

    fn taker(&self) -> TakeSnapshot {
        let store = Arc::clone(&self.0);
        Box::new(move |info, inodes, names| {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(output) = store.as_mut() else {
                return Ok(());
            };
            output.snapshot(info)?;
            // A further name comes as the inode once more, under the other path.
            for name in names {
                let find = |ino| {
                    let at = inodes.binary_search_by_key(&ino, |inode: &Inode| inode.ino);
                    at.ok().map(|at| &inodes[at])
                };
                if let (Some(inode), Some(dir)) = (find(name.ino), find(name.parent_ino)) {
                    let path = match dir.path.as_deref() {
                        Some(".") | None => name.name.to_string(),
                        Some(dir) => format!("{dir}/{}", name.name),
                    };
                    let mut inode = inode.clone();
                    inode.path = Some(path.into());
                    inode.parent_ino = Some(name.parent_ino);
                    output.inode(inode)?;
                }
            }
            for inode in inodes {
                output.inode(inode)?;
            }
            Ok(())
        })
    }

    fn finish(self) -> anyhow::Result<()> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = store.take() {
            output.finish()?;
        }
        Ok(())
    }
}

/// One folder a target; the same target twice would be the same results twice.
fn folders(specs: &[TargetSpec]) -> anyhow::Result<Vec<String>> {
    let mut folders: Vec<String> = Vec::new();
    for spec in specs {
        let folder = spec.folder();
        if folders.contains(&folder) {
            bail!("target `{spec}` is named twice; every --on needs a target of its own");
        }
        folders.push(folder);
    }
    Ok(folders)
}

fn replay_all(
    workload: &Path,
    source: &mut dyn EventSource,
    agings: &mut [Aging],
    options: &Options,
    ui: Ui,
) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(cores.min(agings.len()));
    let bar = ui.bar_bytes(source.progress().map(|(_, of)| of), "aging");
    let result = replay(source, agings, threads, |progress: Progress| {
        bar.set_position(progress.bytes.map_or(progress.events, |(at, _)| at));
        ui::go_on().is_ok()
    });
    bar.finish_and_clear();
    match result {
        Ok(()) => Ok(()),
        Err(ReplayError::Source(error)) => Err(exit::boxed(error)),
        Err(ReplayError::State { line, verb, error }) => bail!(
            "{}:{line}: {verb}: {error}; nothing was written (--lenient skips such lines)",
            workload.display()
        ),
        Err(ReplayError::Interrupted) => Err(anyhow::Error::new(std::io::Error::from(
            std::io::ErrorKind::Interrupted,
        ))
        .context("stopped; nothing was written")),
        Err(error) => Err(error.into()),
    }
}

fn warn_of_skipped(spec: &TargetSpec, aging: &Aging, ui: Ui) {
    let total = aging.total();
    let reasons = [
        (total.no_space, "for lack of space"),
        (total.no_inode, "for lack of inodes"),
        (total.too_large, "because the file would be too large"),
        (total.absent, "on what could not be made before"),
        (total.invalid, "since they do not fit the state"),
        (total.ignored, "since this file system does not know them"),
    ];
    for (count, reason) in reasons.into_iter().filter(|&(count, _)| count > 0) {
        ui.warn(&format!(
            "{spec}: {count} operations were not done {reason}"
        ));
    }
}

/// Prints the microscope's lines to stdout.
fn trace(workload: &Path, specs: &[TargetSpec]) -> anyhow::Result<()> {
    let [spec] = specs else {
        bail!("--trace looks at one target: give --on once");
    };
    let Target::Ffs(fs) = Target::make(spec)? else {
        bail!("--trace knows ffs targets, not `{spec}`");
    };
    if fsage_data::is_parquet(workload)? {
        bail!(
            "{}: --trace prints the lines of a script, so it needs .ops text; `fsage convert` makes it",
            workload.display()
        );
    }
    let mut reader = OpsReader::open(workload)?;
    let mut trace = FfsTrace::new(*fs);
    let mut out = ui::stdout();
    loop {
        ui::go_on()?;
        match reader.next_event() {
            Ok(Some(event)) => {
                let label = match event.op {
                    Op::Day => event.name.as_deref().unwrap_or_default(),
                    _ => &[],
                };
                trace.step(&event.op, label, reader.line_text().as_bytes(), &mut out)?;
            }
            Ok(None) => break,
            Err(error) if error.is_unknown_operation() => {
                trace.bad_line(reader.line_text().as_bytes(), &mut out)?;
            }
            Err(error) => {
                out.flush()?;
                return Err(error).context("the trace ends here");
            }
        }
    }
    Ok(out.flush()?)
}

/// What `--on` takes, from the lists that the targets themselves keep.
fn targets_help() -> String {
    let mut help = String::from(
        "A target is KIND[:KEY=VALUE|FLAG,...], as in ffs:preset=g1024,policy=realloc,root\n\nKinds:\n",
    );
    let mut list = |title: &str, rows: &[(&str, &str)]| {
        help.push_str(title);
        for (name, meaning) in rows {
            let _ = writeln!(help, "  {name:20} {meaning}");
        }
    };
    list("", &KINDS);
    list("\nKeys of ffs (sizes take K, M, G, T):\n", &params::KEYS);
    let policies = policy::ALL.map(|p| (p.name(), p.summary()));
    list("\nPolicies of ffs:\n", &policies);
    help.push_str("\nExample:\n  fsage age w.parquet --on ffs --on ffs:policy=realloc -o run");
    help
}
