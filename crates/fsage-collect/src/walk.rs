//! A walk of a mounted file system: one row an entry, with block lists and free space.
//!
//! Threads share a queue of directories. A thread opens a directory by its name in its open parent, never by a path, so
//! that no link and no race leads out of the tree, and reads it. Regular files are opened the same way, and asked for
//! `statx`, the generation and the block list (FIEMAP); the others, and those that cannot be opened, are asked by name.
//! Nothing but what the directory lists as a regular file or a directory is opened, and nothing on another mount.
//! Rows go through a bounded channel to the caller's thread, which gives them to the sink.

mod blocks;
mod directory;
mod entries;
mod queue;
mod worker;

use crate::error::CollectError;
use crate::report::{Progress, Report};
use directory::{Descriptors, Directory, lock};
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink};
use fsage_linux::facts::{Facts, facts};
use fsage_linux::fsmap::free_map;
use queue::Queue;
use rustix::fs::{AtFlags, Mode, OFlags, StatxAttributes, StatxFlags, open, openat, statx, syncfs};
use rustix::io::Errno;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use worker::{Findings, Shared, Worker};

/// Batches of rows that may wait for the sink.
const BATCHES: usize = 32;
/// How often progress is told at least.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct WalkOptions {
    /// Threads that read; more help where the file system is not in memory.
    pub threads: NonZero<usize>,
    /// Write out what is dirty first (`syncfs`, once). Without it, what was just written may have no place yet.
    pub sync: bool,
    /// Ask for free space, which on a large file system can take longer than a small tree.
    pub free_map: bool,
    /// Number of the snapshot.
    pub snap_id: u32,
    /// `walk`, or `replay` for what a replay made.
    pub source: String,
    /// When the snapshot counts as taken, ns since 1970 UTC; `None`: now.
    pub taken_at_ns: Option<i64>,
    /// The machine.
    pub host: Option<String>,
    /// What takes the snapshot.
    pub tool_version: Option<String>,
}

impl Default for WalkOptions {
    /// One thread a processor, snapshot 0, taken now, what is dirty written out.
    fn default() -> WalkOptions {
        WalkOptions {
            threads: thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            sync: true,
            free_map: true,
            snap_id: 0,
            source: "walk".to_owned(),
            taken_at_ns: None,
            host: None,
            tool_version: None,
        }
    }
}

/// Walks the directory at `path`, see [`walk`].
///
/// # Errors
/// As for [`walk`]; or `path` is no directory that can be opened.
pub fn walk_path(
    path: &Path,
    options: &WalkOptions,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
) -> Result<Report, CollectError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(path, flags, Mode::empty());
    let root = root.map_err(|e| match e {
        Errno::NOTDIR => CollectError::unsuitable(path, "is no directory: name one to walk"),
        e => CollectError::io(path, "cannot open the directory", e),
    })?;
    walk(root.as_fd(), path, options, sink, progress)
}

/// Takes a snapshot of `directory` and all that is below it, on the same file system and the same mount. Paths
/// are from it, and it is `.` itself; `name` is what messages call it.
///
/// Free space is asked for meanwhile: the sink gets the sizes that only it tells with the report, not before.
///
/// The walk is not atomic: what changed after it started is marked so, what vanished is counted. Entries that could not
/// be read are marked or counted, and named in a warning.
///
/// # Errors
/// The root cannot be read at all; the sink or `progress` fails.
pub fn walk(
    directory: BorrowedFd<'_>,
    name: &Path,
    options: &WalkOptions,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
) -> Result<Report, CollectError> {
    let failed = |action| move |e| CollectError::io(name, action, e);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let own = openat(directory, c".", flags, Mode::empty());
    let root: OwnedFd = own.map_err(|e| CollectError::io(name, "cannot read the directory", e))?;
    if options.sync {
        syncfs(&root).map_err(|e| CollectError::io(name, "cannot write out what is dirty", e))?;
    }
    let started = Instant::now();
    let started_ns = now_ns();
    let facts = facts(&root).map_err(failed("cannot ask for the file system"))?;
    let mut report = Report {
        info: info(options, &facts, started_ns),
        ..Report::default()
    };
    let is_whole = is_mount_root(&root);
    sink.snapshot(report.info.clone())
        .map_err(CollectError::Sink)?;

    let shared = Shared {
        queue: Queue::default(),
        descriptors: Descriptors::default(),
        magic: facts.magic,
        device: facts.device,
        started_ns,
        name: name.display().to_string(),
        files: blocks::Support::default(),
        directories: blocks::Support::default(),
        findings: std::sync::Mutex::default(),
    };
    let total = if is_whole {
        facts.inodes_total.checked_sub(facts.inodes_free)
    } else {
        None
    };
    let total = total.filter(|total| *total > 0);
    shared.queue.add(&mut vec![Directory::root(root)]);
    let (sender, receiver) = sync_channel(BATCHES);
    let (major, minor) = facts.device;
    let map = thread::scope(|scope| {
        let asks_free = || scope.spawn(|| free_map(directory, major, minor));
        let map = options.free_map.then(asks_free);
        for _ in 0..options.threads.get() {
            let worker = Worker::new(&shared, sender.clone());
            scope.spawn(|| worker.run());
        }
        drop(sender);
        let taken = take_rows(&receiver, sink, progress, total, &mut report);
        // After an error the threads stop, also those that wait to hand over rows; otherwise they have ended.
        shared.queue.stop();
        drop(receiver);
        // Where the file system does not say, nothing is known.
        let map = map.and_then(|map| map.join().ok()?.ok());
        taken.map(|()| map)
    })
    .map_err(CollectError::Sink)?;
    if let Some(map) = map {
        if facts.xfs.is_none() {
            report.info.size_bytes = Some(map.end_bytes);
            report.info.data_bytes = Some(facts.total_bytes);
        }
        report.free = Some(map.free);
    }

    report.info.walk_ns = u64::try_from(started.elapsed().as_nanos()).ok();
    let Findings {
        mut warnings,
        unreadable,
        vanished,
    } = std::mem::take(&mut *lock(&shared.findings));
    if !is_whole {
        let what = "directory is not the root of its file system: paths start at it, while sizes and free space are \
                    those of the whole file system";
        warnings.add(what, shared.name.clone());
    }
    if shared.files.is_missing() {
        let what = "file system does not report where files lie (neither FIEMAP nor FIBMAP)";
        warnings.add(what, facts.fs_type);
    }
    report.unreadable = unreadable;
    report.vanished = vanished;
    report.warnings = warnings.lines();
    Ok(report)
}

/// Gives rows to the sink until the threads have ended.
fn take_rows(
    receiver: &Receiver<Vec<Inode>>,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
    total: Option<u64>,
    report: &mut Report,
) -> Result<(), SinkError> {
    loop {
        match receiver.recv_timeout(TELL_EVERY) {
            Ok(rows) => {
                report.rows += rows.len() as u64;
                for row in rows {
                    sink.inode(row)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        progress(report.rows, total)?;
    }
}

fn info(options: &WalkOptions, facts: &Facts, started_ns: i64) -> SnapshotInfo {
    SnapshotInfo {
        snap_id: options.snap_id,
        taken_at_ns: options.taken_at_ns.unwrap_or(started_ns),
        host: options.host.clone(),
        source: options.source.clone(),
        tool_version: options.tool_version.clone(),
        ..sizes(facts)
    }
}

/// What a mounted file system says of its sizes and its free space, as a row of the snapshot table.
pub fn sizes(facts: &Facts) -> SnapshotInfo {
    let xfs_bytes = facts
        .xfs
        .map(|xfs| xfs.blocks.saturating_mul(xfs.block_bytes.into()));
    let groups = facts
        .xfs
        .and_then(|xfs| Some((xfs, xfs.inodes_per_group()?)));
    let known = |n: u64| (n > 0).then_some(n);
    let has_inodes = facts.inodes_total > 0;
    SnapshotInfo {
        fs_type: Some(facts.fs_type.clone()),
        fs_uuid: facts.uuid.clone(),
        block_bytes: (facts.block_bytes > 0).then_some(facts.block_bytes),
        size_bytes: xfs_bytes.or(known(facts.total_bytes)),
        free_bytes: Some(facts.free_bytes),
        reserved_bytes: Some(facts.reserved_bytes),
        inodes_total: known(facts.inodes_total),
        inodes_free: has_inodes.then_some(facts.inodes_free),
        group_count: groups.map(|(xfs, _)| xfs.group_count),
        blocks_per_group: groups.map(|(xfs, _)| xfs.blocks_per_group),
        inodes_per_group: groups.map(|(_, inodes)| inodes),
        first_ino: groups.map(|_| 0),
        inode_chunk_bytes: facts.xfs.map(|xfs| xfs.inode_chunk_bytes()),
        // Only where the whole is known too does `statfs` tell what is left of it for data.
        data_bytes: xfs_bytes.map(|_| facts.total_bytes),
        free_blocks: facts.free_bytes.checked_div(facts.block_bytes.into()),
        ..SnapshotInfo::default()
    }
}

/// Whether a directory is the root of its mount; assumed where the kernel does not say.
fn is_mount_root(directory: &OwnedFd) -> bool {
    let stat = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::INO);
    stat.is_ok_and(|stat| {
        !stat
            .stx_attributes_mask
            .contains(StatxAttributes::MOUNT_ROOT)
            || stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    })
}

fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}
