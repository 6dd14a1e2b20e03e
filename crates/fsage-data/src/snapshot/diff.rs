//! What happened between two snapshots (snapshot format, section 4).
//!
//! Two whole snapshots are compared as two sorted streams of columns, in constant memory ([`diff_snapshots`]).
//! The snapshots of a series are compared as they are read, one after another ([`SeriesDiff`]).

mod columns;
mod details;
mod identity;
mod report;
mod rows;
mod tally;

pub use fsage_core::identity::{Identity, Modification, Rule};
pub use report::{Counts, DiffReport, Judged, Modified, Warnings};
pub use rows::SeriesDiff;
pub use tally::{ChangeKind, FoundChange, Side};

use super::form::Form;
use super::inode_reader::{form_of, snapshot_range};
use super::series::{InodeKey, SnapshotSeries};
use super::{beside, read_snapshot_table};
use crate::error::DataError;
use fsage_core::snapshot::{Inode, SnapshotInfo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One snapshot of an inode table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRef {
    /// The inode table.
    pub path: PathBuf,
    /// Number of the snapshot; `None` is the last.
    pub snap_id: Option<u32>,
}

/// A snapshot that was found, with its row of the snapshot table.
struct Found {
    path: PathBuf,
    snap_id: u32,
    form: Form,
    info: Option<SnapshotInfo>,
}

/// Compares two snapshots, the earlier one first, and gives every change to `list`, in order of inode numbers.
///
/// Two tables in full form are compared in constant memory. If one is in delta form, both snapshots are put
/// together in memory.
///
/// # Errors
/// A file cannot be read, has no such snapshot, is not sorted, or a row cannot be right; or what `list` fails
/// with.
pub fn diff_snapshots(
    before: &SnapshotRef,
    after: &SnapshotRef,
    identity: Identity,
    list: &mut dyn FnMut(&FoundChange<'_>) -> Result<(), DataError>,
) -> Result<DiffReport, DataError> {
    let (before, after) = (find(before)?, find(after)?);
    let rules = identity::Rules::new(identity, before.info.as_ref(), after.info.as_ref());
    let mut tally = tally::Tally::new(rules, after.info.as_ref(), list);
    if before.form == Form::Full && after.form == Form::Full {
        columns::compare(
            (&before.path, before.snap_id),
            (&after.path, after.snap_id),
            &mut tally,
        )?;
    } else {
        let (old, new) = (inodes_of(&before)?, inodes_of(&after)?);
        rows::compare(&old, &new, &mut tally)?;
    }
    let mut report = tally.finish();
    report.before_snap_id = before.snap_id;
    report.after_snap_id = after.snap_id;
    report.before_taken_at_ns = before.info.map(|info| info.taken_at_ns);
    report.after_taken_at_ns = after.info.map(|info| info.taken_at_ns);
    Ok(report)
}

fn find(snapshot: &SnapshotRef) -> Result<Found, DataError> {
    let path = &snapshot.path;
    let (_, range) = snapshot_range(path)?;
    let infos = match beside(path, ".snapshots.parquet") {
        Some(table) => read_snapshot_table(table)?,
        None => Vec::new(),
    };
    let last = range.map(|(_, last)| last);
    let last = last.max(infos.last().map(|info| info.snap_id));
    let snap_id = snapshot.snap_id.or(last);
    let snap_id =
        snap_id.ok_or_else(|| DataError::unsuitable(path, "there is no snapshot in it"))?;
    let info = infos.into_iter().find(|info| info.snap_id == snap_id);
    if info.is_none() && range.is_none_or(|(first, last)| !(first..=last).contains(&snap_id)) {
        return Err(no_such(path, snap_id));
    }
    Ok(Found {
        path: path.clone(),
        snap_id,
        form: form_of(path)?,
        info,
    })
}

fn no_such(path: &Path, snap_id: u32) -> DataError {
    DataError::unsuitable(path, format!("there is no snapshot {snap_id} in it"))
}

/// The inodes of one snapshot, in memory.
fn inodes_of(found: &Found) -> Result<BTreeMap<InodeKey, Inode>, DataError> {
    let mut series = SnapshotSeries::open(&[&found.path])?.with_own_numbers();
    while let Some(night) = series.next_night()? {
        if night.info.snap_id == found.snap_id {
            return Ok(series.into_inodes());
        }
    }
    Err(no_such(&found.path, found.snap_id))
}
