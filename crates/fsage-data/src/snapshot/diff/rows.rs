//! Compares inodes that are in memory: the snapshots of a series, one after another.

use super::identity::{Facts, Rules, pair_up};
use super::report::DiffReport;
use super::tally::{FoundChange, Side, Tally};
use crate::error::DataError;
use crate::snapshot::series::{Changed, InodeKey, SnapshotSeries};
use crate::snapshot::view::SnapshotView;
use fsage_core::FileKind;
use fsage_core::identity::Identity;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo};
use std::collections::BTreeMap;

fn side(inode: &Inode) -> Side<'_> {
    Side {
        facts: Facts::from(inode),
        path: inode.path.as_deref(),
        extents: inode.extents.as_deref(),
    }
}

/// Counts what a whole snapshot changed.
pub(super) fn compare(
    old: &BTreeMap<InodeKey, Inode>,
    new: &BTreeMap<InodeKey, Inode>,
    tally: &mut Tally<'_>,
) -> Result<(), DataError> {
    let (mut before, mut after) = (old.iter().peekable(), new.iter().peekable());
    let mut group = Group::default();
    loop {
        let ino = [before.peek(), after.peek()];
        let Some(ino) = ino.into_iter().flatten().map(|(key, _)| key.0).min() else {
            return Ok(());
        };
        while let Some((_, inode)) = before.next_if(|(key, _)| key.0 == ino) {
            group.before.push(inode);
        }
        while let Some((_, inode)) = after.next_if(|(key, _)| key.0 == ino) {
            group.after.push(inode);
        }
        group.count(tally)?;
    }
}

/// The inodes of one number.
#[derive(Default)]
struct Group<'a> {
    before: Vec<&'a Inode>,
    after: Vec<&'a Inode>,
}

impl<'a> Group<'a> {
    fn of(changes: &'a [Changed]) -> Group<'a> {
        Group {
            before: changes.iter().filter_map(|c| c.before.as_ref()).collect(),
            after: changes.iter().filter_map(|c| c.after.as_ref()).collect(),
        }
    }

    fn count(&mut self, tally: &mut Tally<'_>) -> Result<(), DataError> {
        let (before, after) = (
            std::mem::take(&mut self.before),
            std::mem::take(&mut self.after),
        );
        pair_up(
            before,
            after,
            |inode| inode.generation,
            |old, new| {
                let (old, new) = (old.map(side), new.map(side));
                match (old, new) {
                    (Some(old), Some(new)) => {
                        let verdict = tally.rules.judge(&old.facts, &new.facts);
                        tally.pair(verdict, old, new)
                    }
                    (old, new) => tally.alone(old, new),
                }
            },
        )
    }
}

/// Compares every snapshot of a series with the one before it.
pub struct SeriesDiff {
    series: SnapshotSeries,
    identity: Identity,
    last: Option<SnapshotInfo>,
    /// Its further names.
    names: Vec<FurtherName>,
    /// Inodes and regular files of the last snapshot.
    inodes: (u64, u64),
}

impl SeriesDiff {
    /// Reads the first snapshot.
    ///
    /// # Errors
    /// As for [`SnapshotSeries::next_night`].
    pub fn new(mut series: SnapshotSeries, identity: Identity) -> Result<SeriesDiff, DataError> {
        let first = series.first_night()?;
        let (last, names) = first.map(|night| (night.info, night.names)).unzip();
        let inodes = series.inodes();
        let regular = inodes
            .values()
            .filter(|inode| inode.kind == FileKind::Regular);
        Ok(SeriesDiff {
            identity,
            last,
            names: names.flatten().unwrap_or_default(),
            inodes: (inodes.len() as u64, regular.count() as u64),
            series,
        })
    }

    /// The series itself.
    pub fn series(&self) -> &SnapshotSeries {
        &self.series
    }

    /// The later snapshot of the pair that was compared last, as a layout; at the start the first one, `None` where
    /// there is none.
    ///
    /// # Errors
    /// Its free map cannot be read.
    pub fn snapshot(&self) -> Result<Option<SnapshotView<'_>>, DataError> {
        let Some(info) = &self.last else {
            return Ok(None);
        };
        let free = self.series.free_map()?;
        let inodes = self.series.inodes();
        Ok(Some(SnapshotView::new(info, inodes, &self.names, free)))
    }

    /// Compares the next pair, and gives every change to `list`; `None` at the end. Changes are compared as they are
    /// read, so that it makes no difference for memory how many there are.
    ///
    /// # Errors
    /// As for [`SnapshotSeries::next_night`]; or what `list` fails with.
    pub fn next_diff(
        &mut self,
        list: &mut dyn FnMut(&FoundChange<'_>) -> Result<(), DataError>,
    ) -> Result<Option<DiffReport>, DataError> {
        let Some(begun) = self.series.begin_night()? else {
            return Ok(None);
        };
        let rules = Rules::new(self.identity, self.last.as_ref(), begun.info.as_ref());
        let mut tally = Tally::new(rules, begun.info.as_ref(), list);
        let (mut all, mut regular) = self.inodes;
        // Those of one number.
        let mut same: Vec<Changed> = Vec::new();
        let latest_ns = self.series.read_night(&begun, &mut |change| {
            if same.last().is_some_and(|last| last.key.0 != change.key.0) {
                Group::of(&same).count(&mut tally)?;
                same.clear();
            }
            if let Some(inode) = &change.before {
                all -= 1;
                regular -= u64::from(inode.kind == FileKind::Regular);
            }
            same.push(change);
            Ok(())
        })?;
        Group::of(&same).count(&mut tally)?;
        tally.unchanged(all, regular);
        let mut report = tally.finish();
        let night = self.series.end_night(begun, latest_ns)?;
        self.inodes = (report.all.after, report.regular.after);
        report.after_snap_id = night.info.snap_id;
        report.after_taken_at_ns = Some(night.info.taken_at_ns);
        self.names = night.names.unwrap_or_default();
        if let Some(last) = self.last.replace(night.info) {
            report.before_snap_id = last.snap_id;
            report.before_taken_at_ns = Some(last.taken_at_ns);
        }
        Ok(Some(report))
    }
}
