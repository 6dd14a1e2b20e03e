//! Real targets of a run: how one begins, goes on and ends.

use super::{RunFacts, control, walked};
use crate::collect;
use crate::days::{self, DayRow};
use crate::error::{Context, bail};
use crate::interrupt;
use crate::tree_table;
use crate::watch::Watch;
use fsage_collect::WalkOptions;
use fsage_collect::ext_image::Superblock;
use fsage_core::Geometry;
use fsage_core::snapshot::SnapshotInfo;
use fsage_data::SnapshotFile;
use fsage_data::snapshot::{Form, SnapshotOutput};
use fsage_linux::facts::facts;
use fsage_linux::fsmap::free_map;
use fsage_metrics::block_map::FrameChanges;
use fsage_metrics::{Measures, Recorder, Recording};
use fsage_real::directory::{Directory, Journal, PlainDirectory, Recovered, Sync, Volume};
use fsage_real::loop_image::{LoopImage, RECLAIMED, Unpublished};
use fsage_real::{Place, Real, RealSpec, day_records};
use fsage_target::{Day, TargetSpec};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Folder of what is needed to go on, in the folder of the target.
pub(super) const CHECKPOINT: &str = "checkpoint";

/// A file in it, as long as nothing that was written to the target is known to be lost.
const SOUND: &str = "sound";

/// What the journal of a run says of it.
#[derive(Serialize, Deserialize)]
struct Identity {
    /// Hash of the workload.
    workload: Option<String>,
    spec: String,
    lenient: bool,
    /// The root directory of the tree: another one may be mounted in its place.
    root: RootId,
    /// Space for data when the tree was empty.
    data_bytes: Option<u64>,
    /// What is kept of every day, and cannot be had of days that are over.
    snapshots: Option<u32>,
    map: bool,
}

impl Identity {
    /// That a run is resumed with the options that it was begun with, as far as these cannot change.
    fn is_resumed_so(&self, run: &RunFacts<'_>) -> crate::Result<()> {
        let begun = |how: &str| bail!("the run was begun {how}; resume it so");
        match (self.snapshots, run.snapshots) {
            _ if self.lenient && !run.lenient => begun("with --lenient"),
            _ if !self.lenient && run.lenient => begun("without --lenient"),
            _ if self.map && !run.map => begun("without --no-map"),
            _ if !self.map && run.map => begun("with --no-map"),
            (None, Some(_)) => begun("without --snapshots"),
            (Some(days), resumed) if resumed != Some(days) => {
                begun(&format!("with --snapshots {days}"))
            }
            _ => Ok(()),
        }
    }
}

/// A directory, as long as it is there.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct RootId {
    ino: u64,
    uuid: Option<String>,
    fs_type: String,
}

/// A real target that begins or goes on.
pub struct Begun {
    /// The target.
    pub real: Real,
    /// The days before an interruption.
    pub earlier: Vec<DayRow>,
    /// The block map up to there.
    pub map: Recorder,
    /// What somebody should know.
    pub warnings: Vec<String>,
    /// An image that was made now, and gets its name when all targets of the run have begun.
    pub image: Option<Unpublished>,
}

/// Starts a target in the folder of its results, or goes on with it.
pub fn begin(spec: &TargetSpec, run: &RunFacts<'_>, folder: &Path) -> crate::Result<Begun> {
    let Some(real) = spec.real()? else {
        bail!("`{spec}` is no real file system");
    };
    let journal = folder.join(CHECKPOINT).join("journal");
    if run.resumed && journal.exists() && !forget_beginning(&real, folder, &journal)? {
        return go_on(spec, &real, run, folder, &journal);
    }
    let mut warnings = Vec::new();
    let mut unpublished = None;
    let volume: Box<dyn Volume> = match &real.place {
        Place::Dir(path) => Box::new(PlainDirectory::open(path)?),
        Place::Loop(options) => {
            let path = options.image_in(folder);
            let (image, its_name) = LoopImage::make(options, &path).map_err(io::Error::from)?;
            unpublished = Some(its_name);
            warnings.extend(image.warning().map(str::to_owned));
            Box::new(image)
        }
    };
    let mut directory = Directory::new(volume, real.options)?;
    let image = unpublished.as_ref().map(Unpublished::path);
    know_sizes(&mut directory, &real, image.as_deref());
    let identity = Identity {
        workload: run.workload.map(str::to_owned),
        spec: spec.to_string(),
        lenient: run.lenient,
        root: root_id(directory.root())?,
        data_bytes: geometry(&directory).data_bytes,
        snapshots: run.snapshots,
        map: run.map,
    };
    fsage_durable::make_folders(&folder.join(CHECKPOINT))?;
    fsage_durable::write(&folder.join(CHECKPOINT).join(SOUND), "", true)?;
    let journal = Journal::create(&journal, &serde_json::to_string(&identity)?)?;
    Ok(Begun {
        real: Real::begin(directory, Some(journal), stop()),
        earlier: Vec::new(),
        map: Recorder::new(),
        warnings,
        image: unpublished,
    })
}

/// A run that was stopped before its image had a name has done nothing, and begins anew: its journal goes.
fn forget_beginning(real: &RealSpec, folder: &Path, journal: &Path) -> crate::Result<bool> {
    let Place::Loop(options) = &real.place else {
        return Ok(false);
    };
    if options.image_in(folder).symlink_metadata().is_ok() {
        return Ok(false);
    }
    let (file, recovered) = Journal::open(journal)?;
    let has_begun = recovered.events_done > 0 || !recovered.days.is_empty();
    if !has_begun {
        drop(file);
        fs::remove_file(journal)
            .with_context(|| format!("{}: cannot begin the run anew", journal.display()))?;
    }
    Ok(!has_begun)
}

fn go_on(
    spec: &TargetSpec,
    real: &RealSpec,
    run: &RunFacts<'_>,
    folder: &Path,
    journal: &Path,
) -> crate::Result<Begun> {
    let (journal_file, recovered) = Journal::open(journal)?;
    let identity: Identity = serde_json::from_str(&recovered.identity)
        .with_context(|| format!("{}: damaged; make the run again", journal.display()))?;
    if identity.workload.as_deref() != run.workload || identity.spec != spec.to_string() {
        bail!(
            "{}: belongs to another run, on `{}`; resume a run with the command it was begun with",
            journal.display(),
            identity.spec
        );
    }
    identity.is_resumed_so(run)?;
    let volume: Box<dyn Volume> = match &real.place {
        Place::Dir(path) => Box::new(PlainDirectory::open_again(path)?),
        Place::Loop(options) => {
            let image = options.image_in(folder);
            let sound = folder.join(CHECKPOINT).join(SOUND);
            let doubtful = LoopImage::is_doubtful(options, &image).map_err(io::Error::from)?;
            if doubtful || !sound.exists() {
                LoopImage::mend(options, &image).map_err(io::Error::from)?;
                fsage_durable::write(&sound, "", true)?;
            }
            Box::new(LoopImage::open(options, &image, false).map_err(io::Error::from)?)
        }
    };
    if root_id(volume.root())? != identity.root {
        bail!(
            "`{spec}`: this is not the directory that the run was begun in: mount its file system again, then resume"
        );
    }
    let mut directory = Directory::new(volume, real.options)?;
    know_sizes(
        &mut directory,
        real,
        image_of(&real.place, folder).as_deref(),
    );
    directory.adjust_geometry(|geometry| geometry.data_bytes = identity.data_bytes);
    let (earlier, frames) = read_days(&recovered)?;
    Ok(Begun {
        real: Real::resume(directory, journal_file, recovered, stop()),
        earlier,
        map: Recorder::resume(frames),
        warnings: Vec::new(),
        image: None,
    })
}

fn stop() -> fsage_real::Stop {
    Box::new(|| interrupt::go_on().is_err())
}

fn root_id(root: BorrowedFd<'_>) -> crate::Result<RootId> {
    let facts = facts(root).context("the target's file system does not say what it is")?;
    Ok(RootId {
        ino: rustix::fs::fstat(root)?.st_ino,
        uuid: facts.uuid,
        fs_type: facts.fs_type,
    })
}

fn geometry(directory: &Directory) -> Geometry {
    fsage_core::Layout::geometry(directory)
}

/// Tells a directory what it cannot see itself: free space run by run, groups, the type of file system in an image.
pub(crate) fn know_sizes(directory: &mut Directory, real: &RealSpec, image: Option<&Path>) {
    directory.read_free_space_by(Box::new(|root| {
        let device = facts(root).ok()?.device;
        Some(free_map(root, device.0, device.1).ok()?.free)
    }));
    let info = sizes(directory.root(), &real.place, image);
    directory.adjust_geometry(|geometry| {
        let known = info.geometry();
        geometry.size_bytes = known.size_bytes.max(geometry.size_bytes);
        geometry.group_count = known.group_count;
        geometry.group_bytes = known.group_bytes;
        geometry.inodes_per_group = known.inodes_per_group;
        geometry.first_ino = known.first_ino;
        geometry.inode_chunk_bytes = known.inode_chunk_bytes;
        geometry.fs_type = known.fs_type;
    });
}

/// The sizes of a file system as far as they can be known: its groups from the superblock of an image or from XFS.
pub(crate) fn sizes(root: BorrowedFd<'_>, place: &Place, image: Option<&Path>) -> SnapshotInfo {
    let mut info = facts(root).map_or_else(
        |_| SnapshotInfo::default(),
        |facts| fsage_collect::sizes(&facts),
    );
    if let Place::Loop(options) = place {
        info.fs_type = Some(options.kind.to_string());
        if options.kind.name().starts_with("ext")
            && let Some(image) = image
            && let Ok(superblock) = Superblock::read(image)
        {
            let known = superblock.geometry();
            let block = u64::from(known.block_bytes).max(1);
            info.size_bytes = Some(known.size_bytes);
            info.group_count = Some(known.group_count);
            info.blocks_per_group = u32::try_from(known.group_bytes / block).ok();
            info.inodes_per_group = Some(known.inodes_per_group);
            info.first_ino = Some(known.first_ino);
        }
    }
    info
}

/// Takes a snapshot of a target's mounted tree, on a day and at a time of the workload.
pub fn store_snapshot(
    root: BorrowedFd<'_>,
    path: &Path,
    target: &TargetSpec,
    (day, taken_at_ns): (u32, i64),
    known: &SnapshotInfo,
) -> crate::Result<()> {
    let mut output = SnapshotOutput::of_target(path, Form::Full, &target.to_string())?;
    let options = WalkOptions {
        snap_id: day,
        source: "replay".to_owned(),
        taken_at_ns: Some(taken_at_ns),
        tool_version: Some(concat!("fsage ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..WalkOptions::default()
    };
    let mut go_on = |_, _| Ok(interrupt::go_on()?);
    let report = fsage_collect::walk(root, path, &options, &mut output, &mut go_on);
    let report = report.map_err(collect::failed)?;
    let info = SnapshotInfo {
        fs_type: known.fs_type.clone(),
        size_bytes: known.size_bytes,
        group_count: known.group_count,
        blocks_per_group: known.blocks_per_group,
        inodes_per_group: known.inodes_per_group,
        first_ino: known.first_ino,
        ..report.info
    };
    output.complete_snapshot(info, report.free.as_deref())?;
    output.finish()?;
    Ok(())
}

/// What a finished real target leaves.
pub struct Ended {
    /// The last day, by a walk of the whole tree.
    pub walked: Measures,
    /// It was on the disk when it was measured by what had changed.
    pub was_synced: bool,
    /// The unaged control, if it was to be made.
    pub control: Option<Measures>,
    /// For the manifest.
    pub facts: Vec<(&'static str, String)>,
    /// What somebody should know.
    pub warnings: Vec<String>,
}

/// The sizes of a target's mounted file system, for its snapshots.
pub fn known_sizes(
    root: BorrowedFd<'_>,
    spec: &TargetSpec,
    folder: &Path,
) -> crate::Result<SnapshotInfo> {
    let Some(place) = spec.real()?.map(|real| real.place) else {
        bail!("`{spec}` is no real file system");
    };
    let image = image_of(&place, folder);
    Ok(sizes(root, &place, image.as_deref()))
}

/// Where the image of a target is, if it is one.
fn image_of(place: &Place, folder: &Path) -> Option<PathBuf> {
    match place {
        Place::Loop(options) => Some(options.image_in(folder)),
        Place::Dir(_) => None,
    }
}

/// Writing to a target has failed: what its file system believes to be there may not be. It is checked when the run is
/// resumed.
pub fn doubt(folder: &Path) {
    // Removing takes no room. Where even that fails, a damaged tree is found when it is read.
    let _ = fs::remove_file(folder.join(CHECKPOINT).join(SOUND));
}

/// Stores the last snapshot and what should be in the tree, measures the control, and lets go of the file system.
pub fn end(
    real: Real,
    spec: &TargetSpec,
    folder: &Path,
    day: u32,
    taken_at_ns: i64,
    with_control: bool,
    ui: &dyn Watch,
) -> crate::Result<Ended> {
    let Some(real_spec) = spec.real()? else {
        bail!("`{spec}` is no real file system");
    };
    let known = known_sizes(real.directory().root(), spec, folder)?;
    let directory = real.into_directory();
    tree_table::write(&folder.join("tree.parquet"), &directory.expected())?;
    let path = folder.join("final.parquet");
    store_snapshot(directory.root(), &path, spec, (day, taken_at_ns), &known)?;
    let layout = SnapshotFile::open(&path)?;
    let walked = walked::measure_walked(&layout, &directory);
    let facts = directory.volume().facts();
    let volume = directory.finish()?;
    // Before the control: some file systems do not mount two with one UUID.
    volume
        .close()
        .with_context(|| format!("cannot sync and close `{spec}`"))?;
    let mut ended = Ended {
        walked,
        was_synced: real_spec.options.sync != Sync::End,
        control: None,
        facts,
        warnings: Vec::new(),
    };
    if ended.facts.iter().any(|(name, _)| *name == RECLAIMED) {
        ended.warnings.push(format!(
            "`{spec}`: the kernel reclaimed memory while it aged, and then may write back before its time, so that \
             another run may have another layout: free memory, and repeat it before you blame a kernel"
        ));
    }
    if with_control {
        match control::measure(&layout, (spec, &real_spec), folder, (day, taken_at_ns), ui) {
            Ok(control) => ended.control = control,
            Err(error) if interrupt::go_on().is_err() => return Err(error),
            Err(error) => ended.warnings.push(format!(
                "`{spec}`: the unaged control could not be made: {error:#}"
            )),
        }
    }
    Ok(ended)
}

/// What the journal keeps of a day: its row as a line of JSON and, where the block map has a frame of it, behind the
/// end of that line what the frame changes.
pub fn day_record(day: &Day, frame: Option<&FrameChanges>) -> Vec<u8> {
    let mut record = days::to_json(day);
    if let Some(frame) = frame {
        record.push(b'\n');
        record.extend(frame.to_bytes());
    }
    record
}

/// The days of a journal, and the frames of the block map.
fn read_days(recovered: &Recovered) -> crate::Result<(Vec<DayRow>, Vec<FrameChanges>)> {
    let (mut rows, mut frames) = (Vec::new(), Vec::new());
    for record in day_records(recovered) {
        let mut parts = record.splitn(2, |&byte| byte == b'\n');
        rows.push(days::from_json(parts.next().unwrap_or_default())?);
        if let Some(frame) = parts.next() {
            let frame = FrameChanges::from_bytes(frame);
            frames.push(frame.context(days::UNREADABLE)?);
        }
    }
    Ok((rows, frames))
}

/// Removes what is needed to go on only, from the folder of a target whose run is complete.
pub fn forget_checkpoint(folder: &Path) -> crate::Result<()> {
    match fs::remove_dir_all(folder.join(CHECKPOINT)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context("cannot remove the journal of the complete run")
        }
        _ => Ok(()),
    }
}

/// The days of a target whose run goes on, or was interrupted, by its journal.
///
/// # Errors
/// There is a checkpoint, and it cannot be read.
pub fn days_so_far(folder: &Path) -> crate::Result<Vec<DayRow>> {
    Ok(so_far(folder)?.0)
}

/// The block map of such a target; `None` where it has none.
pub(crate) fn map_so_far(folder: &Path) -> crate::Result<Option<Recording>> {
    Ok(Recorder::resume(so_far(folder)?.1).into_recording())
}

fn so_far(folder: &Path) -> crate::Result<(Vec<DayRow>, Vec<FrameChanges>)> {
    let path = folder.join(CHECKPOINT).join("journal");
    if !path.exists() {
        return Ok(Default::default());
    }
    let recovered = Recovered::read(&fs::read(&path)?);
    read_days(&recovered.with_context(|| path.display().to_string())?)
}
