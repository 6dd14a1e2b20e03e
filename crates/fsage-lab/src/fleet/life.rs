//! The life of one host, as its snapshots tell it.

use super::find::Host;
use crate::days::DayRow;
use crate::error::bail;
use crate::interrupt;
use fsage_core::snapshot::SnapshotInfo;
use fsage_core::{FileKind, Layout};
use fsage_data::snapshot::diff::{ChangeKind, FoundChange, Identity, SeriesDiff};
use fsage_data::snapshot::{SnapshotSeries, is_snapshot};
use fsage_metrics::free_space;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What happened to regular files from one snapshot to the next. What came and went in between no snapshot has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Changes {
    pub created_files: u64,
    pub deleted_files: u64,
    pub modified_files: u64,
    /// Their sizes.
    pub created_bytes: u64,
    /// Their last sizes.
    pub deleted_bytes: u64,
    /// What files that stayed became longer.
    pub grown_bytes: u64,
    /// What they became shorter.
    pub shrunk_bytes: u64,
}

impl Changes {
    fn add(&mut self, change: &FoundChange<'_>) {
        let size = |side: Option<fsage_data::snapshot::diff::Side<'_>>| {
            let regular = side.filter(|side| side.facts.kind == FileKind::Regular);
            regular.map(|side| side.facts.size_bytes)
        };
        let (before, after) = (size(change.before), size(change.after));
        if let ChangeKind::Modify(_) = change.kind {
            if let (Some(before), Some(after)) = (before, after) {
                self.modified_files += 1;
                self.grown_bytes += after.saturating_sub(before);
                self.shrunk_bytes += before.saturating_sub(after);
            }
        } else if change.kind != ChangeKind::Rename {
            self.created_files += u64::from(after.is_some());
            self.deleted_files += u64::from(before.is_some());
            self.created_bytes += after.unwrap_or(0);
            self.deleted_bytes += before.unwrap_or(0);
        }
    }
}

/// A snapshot of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// When it was taken, nanoseconds since 1970 UTC.
    pub taken_at_ns: i64,
    /// Size of the file system.
    pub size_bytes: Option<u64>,
    /// Since the snapshot before; of the first, nothing.
    pub changes: Option<Changes>,
    /// The layout; its day is the number of the snapshot, from 0.
    pub row: DayRow,
}

/// The snapshots of a host, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Snapshot by snapshot.
    pub nights: Vec<Night>,
    /// What a user should know: files that were passed over, and why; what was taken for what is missing.
    pub notes: Vec<String>,
}

/// Reads the snapshots of a host, with one of them in memory at a time.
///
/// # Errors
/// None of its files is a snapshot; one is damaged inside, empty, or of another file system; two cover the same time;
/// an interrupt.
pub fn read(host: &Host) -> crate::Result<Life> {
    life(host, None)
}

/// Looks at a snapshot: its number, from 0, and whether it is the last one.
pub type See<'a> = &'a mut dyn FnMut(u32, &dyn Layout, bool);

/// The same, and gives every snapshot to `see`, and at the end the last one once more, as the last.
///
/// # Errors
/// As [`read`].
pub fn read_seen(host: &Host, see: See<'_>) -> crate::Result<Life> {
    life(host, Some(see))
}

fn life(host: &Host, mut see: Option<See<'_>>) -> crate::Result<Life> {
    let mut life = Life::default();
    let tables = sound(host, &mut life.notes)?;
    let series = SnapshotSeries::open(&tables)?;
    life.notes.extend(series.notes().iter().cloned());
    let mut diff = SeriesDiff::new(series, Identity::Auto)?;
    let mut uuid = None;
    let mut changes = None;
    while let Some(snapshot) = diff.snapshot()? {
        let info = snapshot.info();
        if snapshot.inode_count() == 0 {
            bail!(
                "snapshot {} of {} is empty",
                info.snap_id,
                tables[0].display()
            );
        }
        one_file_system(&mut uuid, info)?;
        let mut row = DayRow::of_layout(&fsage_metrics::measure(&snapshot));
        row.day = u64::from(info.snap_id);
        if let Some(see) = &mut see {
            see(info.snap_id, &snapshot, false);
        }
        // Known of every mounted file system, even where its runs are not.
        if let (None, Some(free)) = (row.count(&free_space::BYTES), info.free_bytes) {
            row = row.with(&free_space::BYTES, free);
        }
        life.nights.push(Night {
            taken_at_ns: info.taken_at_ns,
            size_bytes: info.size_bytes,
            changes: changes.take(),
            row,
        });
        drop(snapshot);
        let mut found = Changes::default();
        let next = diff.next_diff(&mut |change| {
            found.add(change);
            Ok(())
        })?;
        interrupt::go_on()?;
        if next.is_none() {
            if let Some(see) = &mut see
                && let Some(last) = diff.snapshot()?
            {
                see(last.info().snap_id, &last, true);
            }
            break;
        }
        changes = Some(found);
    }
    Ok(life)
}

/// The files that are whole, and hold a snapshot; the others are told.
fn sound(host: &Host, notes: &mut Vec<String>) -> crate::Result<Vec<PathBuf>> {
    let mut tables = Vec::new();
    for table in &host.tables {
        match is_snapshot(table) {
            // Of a run, or of somebody else.
            Ok(false) if fsage_data::is_parquet(table)? => {}
            Ok(false) => notes.push(format!("{}: no Parquet file; passed over", table.display())),
            Ok(true) if fsage_data::columnar::rows(table)? == 0 => {
                notes.push(format!(
                    "{}: an empty snapshot; passed over",
                    table.display()
                ));
            }
            Ok(true) => tables.push(table.clone()),
            Err(error) => notes.push(format!("{:#}; passed over", crate::Error::from(error))),
        }
    }
    if tables.is_empty() {
        let why = if notes.is_empty() {
            String::new()
        } else {
            format!(": {}", notes.join("; "))
        };
        bail!("there is no snapshot of it{why}");
    }
    Ok(tables)
}

/// Differences between two file systems say nothing.
fn one_file_system(uuid: &mut Option<String>, info: &SnapshotInfo) -> crate::Result<()> {
    let Some(found) = &info.fs_uuid else {
        return Ok(());
    };
    let first = uuid.get_or_insert_with(|| found.clone());
    if first != found {
        bail!(
            "its snapshots are of two file systems, {first} and {found}: a pattern with {{host}} can keep them apart"
        );
    }
    Ok(())
}
