//! One snapshot after another on its way to the sink: its time, the parents of its rows, its flags.

use super::error::SnapshotError;
use super::summary::{Repair, Summary};
use fsage_core::SnapshotSink;
use fsage_core::layout::FileKind;
use fsage_core::names::escape;
use fsage_core::snapshot::{Inode, SnapshotInfo, source_flags};
use rustc_hash::FxHashMap;

/// The root of a snapshot.
const ROOT: &str = ".";

/// Gives snapshots and their rows to a sink. Rows go on at once where all is known of them; they wait for the
/// end of their snapshot where its time or their directory has not been seen yet.
pub(super) struct Nights<'a> {
    sink: &'a mut dyn SnapshotSink,
    pub summary: Summary,
    next_snap_id: u32,
    night: Option<Night>,
    dirs: Directories,
}

/// The snapshot that is being read.
struct Night {
    info: SnapshotInfo,
    time_known: bool,
    newest_ctime_ns: Option<i64>,
    waiting: Vec<Inode>,
}

impl<'a> Nights<'a> {
    pub fn new(sink: &'a mut dyn SnapshotSink) -> Nights<'a> {
        Nights {
            sink,
            summary: Summary::default(),
            next_snap_id: 0,
            night: None,
            dirs: Directories::default(),
        }
    }

    /// Number of the next snapshot, where inputs do not number their own.
    pub fn next_snap_id(&self) -> u32 {
        self.next_snap_id
    }

    /// Whether a snapshot has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.night.is_some()
    }

    /// Ends the snapshot before and begins the next. Without a time it is dated by its newest ctime.
    pub fn begin(
        &mut self,
        snap_id: u32,
        taken_at_ns: Option<i64>,
        info: SnapshotInfo,
    ) -> Result<(), SnapshotError> {
        self.end()?;
        self.dirs.clear();
        self.summary.snapshots += 1;
        self.next_snap_id = snap_id.saturating_add(1);
        let mut night = Night {
            info: SnapshotInfo {
                snap_id,
                tool_version: Some(concat!("fsage ", env!("CARGO_PKG_VERSION")).to_owned()),
                ..info
            },
            time_known: false,
            newest_ctime_ns: None,
            waiting: Vec::new(),
        };
        if let Some(at) = taken_at_ns {
            self.announce(&mut night, at)?;
        }
        self.night = Some(night);
        Ok(())
    }

    fn announce(&mut self, night: &mut Night, taken_at_ns: i64) -> Result<(), SnapshotError> {
        night.time_known = true;
        night.info.taken_at_ns = taken_at_ns;
        self.sink
            .snapshot(night.info.clone())
            .map_err(SnapshotError::Sink)
    }

    /// Takes a row of the snapshot. `path` is in bytes and not escaped. The parent is looked up by the path,
    /// unless the row has it.
    pub fn row(&mut self, mut inode: Inode, path: Option<&[u8]>) -> Result<(), SnapshotError> {
        let Some(night) = &mut self.night else {
            return Ok(());
        };
        self.summary.rows += 1;
        let mut waits = !night.time_known;
        if let Some(path) = path {
            let path = escape(path);
            if inode.parent_ino.is_none() {
                if inode.kind == FileKind::Directory {
                    self.dirs.add(&path, inode.ino);
                }
                if path != ROOT {
                    inode.parent_ino = self.dirs.parent(&path);
                    waits |= inode.parent_ino.is_none();
                }
            }
            inode.path = Some(path.into());
        }
        night.newest_ctime_ns = night.newest_ctime_ns.max(inode.ctime_ns);
        if waits {
            night.waiting.push(inode);
            return Ok(());
        }
        let taken_at_ns = night.info.taken_at_ns;
        self.pass_on(taken_at_ns, inode)
    }

    fn pass_on(&mut self, taken_at_ns: i64, mut inode: Inode) -> Result<(), SnapshotError> {
        if inode.ctime_ns.is_some_and(|t| t > taken_at_ns) {
            inode.source_flags |= source_flags::CHANGED_DURING_WALK;
            self.summary.count(Repair::ChangedDuringWalk);
        }
        self.sink.inode(inode).map_err(SnapshotError::Sink)
    }

    /// Ends the snapshot: the rows that waited go on.
    pub fn end(&mut self) -> Result<(), SnapshotError> {
        let Some(mut night) = self.night.take() else {
            return Ok(());
        };
        if !night.time_known {
            self.summary.count(Repair::TimeFromCtime);
            let newest = night.newest_ctime_ns.unwrap_or(0);
            self.announce(&mut night, newest)?;
        }
        for mut inode in night.waiting {
            if let Some(path) = inode.path.as_deref()
                && inode.parent_ino.is_none()
                && path != ROOT
            {
                inode.parent_ino = self.dirs.parent(path);
                if inode.parent_ino.is_none() {
                    self.summary.count(Repair::NoParent);
                }
            }
            self.pass_on(night.info.taken_at_ns, inode)?;
        }
        Ok(())
    }
}

/// The directories of a snapshot by path. Escaped paths do: escaping touches no slash, and no two paths become
/// one.
#[derive(Default)]
struct Directories {
    by_path: FxHashMap<Box<str>, u64>,
    /// The directory looked up last: its files mostly come together.
    last: (String, Option<u64>),
}

impl Directories {
    fn clear(&mut self) {
        self.by_path.clear();
        self.last = (String::new(), None);
    }

    fn add(&mut self, path: &str, ino: u64) {
        self.by_path.entry(path.into()).or_insert(ino);
        if self.last.0 == path {
            self.last = (String::new(), None);
        }
    }

    fn parent(&mut self, path: &str) -> Option<u64> {
        let parent = path.rsplit_once('/').map_or(ROOT, |(parent, _)| parent);
        if self.last.0 != parent {
            self.last.1 = self.by_path.get(parent).copied();
            self.last.0.clear();
            self.last.0.push_str(parent);
        }
        self.last.1
    }
}
