//! A workload from the snapshots of a file system: the method of Smith and Seltzer 1996 and 1997, and more.
//!
//! Nightly snapshots show which files came, changed and went, and with their inode change times mostly when.
//! The workload first makes every file of the first snapshot, then does for each interval what leads to the
//! next one:
//!
//! 1. **Skeleton**: the difference of two neighboring snapshots, by generation number where there is one, else
//!    by birth time, else by inode number alone (then a replaced file looks modified, and the summary says how
//!    many may be).
//! 2. **Times**: creates and modifications at the inode's change time, deletions by one of three rules
//!    ([`DeleteTimes`]).
//! 3. **Short-lived files**, which no snapshot shows, from profiles of a trace ([`ShortLived`]).
//! 4. **Order**: by time; at equal times deletions, then directories, moves, creates, modifications, each by
//!    inode.
//!
//! Files go into the directories of the source where it has paths, else into one directory for each group of
//! inodes ([`Placement`]).
//!
//! The generator checks itself: after every interval the files of the workload and their bytes are those of
//! the snapshot. Memory holds one snapshot and what changes in one interval.
//!
//! What is not known is guessed, and every event says so (`origin`, `t_quality`): a file that was written
//! several times between two snapshots is written once; a file that was large and is small was never large;
//! when a file was deleted is mostly bounded by what took its place.

mod actions;
mod delete_times;
mod emit;
mod evidence;
mod modify;
mod nodes;
mod options;
mod plan;
mod short_lived;
mod summary;
mod tree;

pub use options::{DeleteTimes, FromSnapshotsError, Growth, Modifications, Options, Placement};
pub use short_lived::{BYTES_PER_PROFILE, Draws, ShortLived};
pub use summary::FromSnapshotsSummary;

use crate::date::date_of;
use actions::{Action, What};
use emit::{Alive, Emitter, Writing, sparse_bytes};
use evidence::Interval;
use fsage_core::identity::has_lasting_inodes;
use fsage_core::snapshot::{Inode, SnapshotChanges, SnapshotInfo, SnapshotRow};
use fsage_core::{
    Event, EventSink, FileKind, Origin, Rng, SnapshotSource, TQuality, WorkloadHeader,
};
use nodes::{NodeId, Nodes, is_directory};
use short_lived::History;
use tree::{Tree, is_replayed_as_directory};

/// Makes a workload from snapshots.
#[derive(Debug)]
pub struct FromSnapshots<'a> {
    options: Options,
    short_lived: Option<ShortLived<'a>>,
    rng: Rng,
    first: Option<SnapshotChanges>,
    /// Sizes of the file system, as the newest snapshot that tells them.
    info: SnapshotInfo,
    nodes: Nodes,
    tree: Tree,
    emitter: Emitter,
    history: History,
    summary: FromSnapshotsSummary,
    want: Alive,
}

impl<'a> FromSnapshots<'a> {
    /// Reads the first snapshot.
    ///
    /// # Errors
    /// It cannot be read, or there is none.
    pub fn begin(
        source: &mut dyn SnapshotSource,
        options: Options,
        short_lived: Option<ShortLived<'a>>,
    ) -> Result<FromSnapshots<'a>, FromSnapshotsError> {
        let first = source.next_changes().map_err(FromSnapshotsError::Source)?;
        let first = first.ok_or(FromSnapshotsError::Empty)?;
        let has_paths = first.rows.iter().any(|row| match row {
            SnapshotRow::Present(inode) => inode.path.is_some(),
            SnapshotRow::Gone { .. } => false,
        });
        let placement = options.placement.unwrap_or(if has_paths {
            Placement::Tree
        } else {
            Placement::Groups
        });
        let info = first.info.clone();
        let identity = options.identity;
        let lasting_ino = has_lasting_inodes(info.fs_type.as_deref());
        Ok(FromSnapshots {
            rng: Rng::new(options.seed),
            tree: Tree::new(placement, &info),
            options,
            short_lived,
            first: Some(first),
            info,
            nodes: Nodes::new(identity, lasting_ino),
            emitter: Emitter::new(),
            history: History::default(),
            summary: FromSnapshotsSummary::default(),
            want: Alive::default(),
        })
    }

    /// What can be said of the workload before it is made. The program adds itself as the generator.
    pub fn header(&self) -> WorkloadHeader {
        let info = &self.info;
        WorkloadHeader {
            epoch_unix_s: Some(0),
            // A target of this size is as large as what was observed; one with as much room for data would be smaller.
            capacity_bytes: info.size_bytes.or(info.data_bytes),
            block_bytes: info.block_bytes.map(u64::from),
            group_count: info.group_count.map(u64::from),
            inodes_per_group: info.inodes_per_group.map(u64::from),
            first_ino: info.first_ino.map(u64::from),
            seed: Some(self.options.seed),
            source: Some(match (&info.fs_type, &info.host) {
                (Some(fs), Some(host)) => format!("snapshots of {fs} on {host}"),
                (Some(fs), None) => format!("snapshots of {fs}"),
                _ => "snapshots".to_owned(),
            }),
            ..WorkloadHeader::default()
        }
    }

    /// Where files are put.
    pub fn placement(&self) -> Placement {
        self.tree.placement()
    }

    /// Makes the workload. Every snapshot ends a day, labeled with its date in UTC. Times are nanoseconds since
    /// 1970 UTC.
    ///
    /// # Errors
    /// See [`FromSnapshotsError`].
    pub fn generate(
        mut self,
        source: &mut dyn SnapshotSource,
        sink: &mut dyn EventSink,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FromSnapshotsSummary, FromSnapshotsError> {
        let Some(first) = self.first.take() else {
            return Err(FromSnapshotsError::Empty);
        };
        let mut end = first.info.taken_at_ns;
        self.populate(first, sink)?;
        while let Some(changes) = source.next_changes().map_err(FromSnapshotsError::Source)? {
            let t = changes.info.taken_at_ns;
            self.summary.clocks_back += u64::from(t <= end);
            let interval = Interval {
                start: end,
                end: t.max(end.saturating_add(1)),
            };
            end = interval.end;
            self.advance(changes, interval, sink)?;
            progress(self.summary.snapshots);
        }
        self.summary.placement = Some(self.tree.placement());
        self.summary.orphans = self.tree.orphans;
        self.summary.moved_aside = self.emitter.seen.moved_aside;
        self.summary.contradictions += self.emitter.seen.unmovable;
        self.summary.sparse_writes = self.emitter.seen.sparse;
        self.summary.live_files = self.emitter.alive.files;
        self.summary.live_bytes = fitting(self.emitter.alive.bytes);
        Ok(self.summary)
    }

    /// Makes all files of the first snapshot.
    fn populate(
        &mut self,
        first: SnapshotChanges,
        sink: &mut dyn EventSink,
    ) -> Result<(), FromSnapshotsError> {
        let end = first.info.taken_at_ns;
        let names = first.names.unwrap_or_default();
        let found = self.nodes.apply(first.rows);
        self.summary.contradictions += found.contradictions;
        self.place_new(&found.created, &names);
        // Only what comes later came.
        self.summary.mkdirs = 0;
        let mut actions = Vec::with_capacity(found.created.len());
        for &id in &found.created {
            self.count_kind(id, true);
            let node = self.nodes.get(id);
            if node.dir == Some(fsage_core::DirId::ROOT) {
                continue;
            }
            let (t, quality) = match node.inode.ctime_ns {
                Some(t) if t <= end => (t, TQuality::Ctime),
                Some(_) => {
                    self.summary.clamped_times += 1;
                    (end, TQuality::Random)
                }
                None => (end, TQuality::Random),
            };
            let what = if is_replayed_as_directory(self.tree.placement(), &node.inode) {
                What::MakeDir(id)
            } else {
                What::Create(id, first_bytes(node))
            };
            let ino = node.inode.ino;
            actions.push(Action::new(t, ino, what, Origin::Initial, quality));
            self.stretch_sparse(id, t, Origin::Initial, quality, &mut actions);
        }
        actions.sort_unstable_by_key(Action::key);
        let start = actions.first().map_or(end, |action| action.t).min(end);
        self.summary.initial_files = self.want.files;
        self.summary.initial_bytes = fitting(self.want.bytes);
        self.write(actions, sink, Some(start))?;
        self.end_interval(first.info.snap_id, end, sink)
    }

    /// Writes what leads to the next snapshot.
    fn advance(
        &mut self,
        changes: SnapshotChanges,
        interval: Interval,
        sink: &mut dyn EventSink,
    ) -> Result<(), FromSnapshotsError> {
        let snap_id = changes.info.snap_id;
        self.take_info(changes.info);
        let (actions, gone) = self.plan(changes.rows, changes.names.as_deref(), interval);
        self.write(actions, sink, None)?;
        let mut writing = Writing {
            emitter: &mut self.emitter,
            nodes: &mut self.nodes,
            tree: &mut self.tree,
            sink,
        };
        writing.sweep(interval.end)?;
        self.nodes.forget(gone);
        self.end_interval(snap_id, interval.end, sink)
    }

    fn take_info(&mut self, info: SnapshotInfo) {
        if info.size_bytes.is_some() || info.data_bytes.is_some() {
            self.info = info;
        } else {
            self.info.snap_id = info.snap_id;
        }
    }

    fn write(
        &mut self,
        actions: Vec<Action>,
        sink: &mut dyn EventSink,
        groups_at: Option<i64>,
    ) -> Result<(), FromSnapshotsError> {
        let mut writing = Writing {
            emitter: &mut self.emitter,
            nodes: &mut self.nodes,
            tree: &mut self.tree,
            sink,
        };
        if let Some(t) = groups_at
            && writing.tree.placement() == Placement::Groups
        {
            let last = writing
                .nodes
                .alive()
                .filter_map(|(_, node)| writing.tree.group(node.inode.ino))
                .max();
            let known = self.info.group_count.map_or(1, u64::from);
            let count = last.map_or(1, |last| last.saturating_add(1)).max(known);
            writing.make_groups(count.min(MAX_GROUPS), t)?;
        }
        writing.write(actions)
    }

    fn end_interval(
        &mut self,
        snap_id: u32,
        end: i64,
        sink: &mut dyn EventSink,
    ) -> Result<(), FromSnapshotsError> {
        let alive = self.emitter.alive;
        if alive != self.want {
            return Err(FromSnapshotsError::Mismatch {
                snap_id,
                files: alive.files,
                bytes: alive.bytes,
                want_files: self.want.files,
                want_bytes: self.want.bytes,
            });
        }
        self.summary.snapshots += 1;
        let day = Event::day(&date_of(end)).at(end);
        sink.event(day).map_err(FromSnapshotsError::Sink)
    }

    /// Counts a file that came or went, in the snapshot's terms.
    fn count_kind(&mut self, id: NodeId, came: bool) {
        let inode = &self.nodes.get(id).inode;
        if is_replayed_as_directory(self.tree.placement(), inode) {
            return;
        }
        let bytes = replayed_bytes(inode);
        if came {
            self.want.files += 1;
            self.want.bytes += u128::from(bytes);
            let stands_in = !matches!(
                inode.kind,
                FileKind::Regular | FileKind::Symlink | FileKind::Directory
            );
            self.summary.stand_ins += u64::from(stands_in);
        } else {
            self.want.files -= 1;
            self.want.bytes -= u128::from(bytes);
        }
    }
}

/// A sum of bytes, or the most that can be said.
fn fitting(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// More groups than any file system has; numbers of groups come from outside.
const MAX_GROUPS: u64 = 1 << 20;

/// Length that a file has in the workload: FIFOs, sockets and devices are empty files.
fn replayed_bytes(inode: &Inode) -> u64 {
    match inode.kind {
        FileKind::Regular | FileKind::Symlink | FileKind::Directory => inode.size_bytes,
        FileKind::Fifo | FileKind::Socket | FileKind::BlockDevice | FileKind::CharDevice => 0,
    }
}

/// What of a file its create writes: all of it, or of a sparse file what it holds.
fn first_bytes(node: &nodes::Node) -> u64 {
    sparse_bytes(node).unwrap_or_else(|| replayed_bytes(&node.inode))
}
