//! Snapshots of one file system, from one file or many, as one series in order of time.

use super::form::Form;
use super::inode_reader::{InodeReader, snapshot_range};
use super::names::NamesReader;
use super::{INODES, beside, read_free_map, read_snapshot_table};
use crate::error::DataError;
use crate::parquet_file::TableFile;
use fsage_core::snapshot::{
    FurtherName, Inode, SnapshotChanges, SnapshotInfo, SnapshotRow, SnapshotSource,
};
use fsage_core::{Run, SinkError};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Changed rows that are in memory at once, while a snapshot is compared with the one before.
const AT_ONCE: usize = 1 << 13;

/// Number and generation of an inode.
pub type InodeKey = (u64, Option<u32>);

/// Opens snapshots as one series, see [`SnapshotSeries::open`].
///
/// # Errors
/// As for [`SnapshotSeries::open`].
pub fn open_snapshots(paths: &[PathBuf]) -> Result<Box<dyn SnapshotSource>, DataError> {
    Ok(Box::new(SnapshotSeries::open(paths)?))
}

/// What a snapshot changed at one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Number and generation.
    pub key: InodeKey,
    /// The inode in the snapshot before.
    pub before: Option<Inode>,
    /// The inode in this snapshot.
    pub after: Option<Inode>,
}

/// A snapshot as what it changed. The inodes themselves are those of [`SnapshotSeries::inodes`].
#[derive(Clone, Debug, Default)]
pub struct NightChanges {
    /// Its row of the snapshot table.
    pub info: SnapshotInfo,
    /// Ascending by key: what is new, differs in any column, or is gone.
    pub changed: Vec<Changed>,
    /// All further names; `None` where they were not collected.
    pub names: Option<Vec<FurtherName>>,
}

/// A series of snapshots. One of them is in memory: about 200 bytes an inode, its path, 32 bytes an extent.
///
/// A snapshot that has no row in the snapshot table, because there is none beside the inode table, gets the
/// latest change time of its inodes as its time; [`SnapshotSeries::notes`] tells.
pub struct SnapshotSeries {
    /// Files to come, the next one last.
    files: Vec<SeriesFile>,
    open: Option<OpenFile>,
    inodes: BTreeMap<InodeKey, Inode>,
    /// Whether snapshots are counted from 0 instead of keeping their numbers.
    renumber: bool,
    nights: u32,
    /// Number of the last one in its file.
    own_number: u32,
    last_time_ns: Option<i64>,
    notes: Vec<String>,
    rows_done: u64,
    rows_total: u64,
}

/// A snapshot whose rows are still to be read.
pub(super) struct Begun {
    /// Its number in its file.
    snap_id: u32,
    /// Its row of the snapshot table, where there is one.
    pub info: Option<SnapshotInfo>,
}

/// A file of a series that was looked at.
struct SeriesFile {
    path: PathBuf,
    rows: u64,
    /// First and last snapshot that has rows.
    range: Option<(u32, u32)>,
    /// The snapshot table beside it.
    infos: Option<Vec<SnapshotInfo>>,
}

/// A file of a series that is being read.
struct OpenFile {
    path: PathBuf,
    reader: InodeReader,
    /// The first row of the next snapshot.
    ahead: Option<(u32, SnapshotRow)>,
    /// Number of the last row given, from 1.
    row: u64,
    /// Rows of the snapshot table that are still to come.
    infos: Option<std::vec::IntoIter<SnapshotInfo>>,
    names: Option<NamesReader>,
    /// Whether its first snapshot is still to come, which is whole in either form.
    whole: bool,
}

impl SnapshotSeries {
    /// Opens a series: folders (all inode tables in them) and inode tables, each with one snapshot or many, in
    /// full or delta form.
    ///
    /// Files are ordered by the times in the snapshot tables beside them; if one has no such table, by the
    /// numbers of their snapshots, equal ones as they are given. Inside a file the order is that of the numbers.
    /// Snapshots are numbered 0, 1, 2, ... over the whole.
    ///
    /// # Errors
    /// A file cannot be read or is no inode table; a folder has none; two files cover the same time; a snapshot
    /// table does not ascend.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<SnapshotSeries, DataError> {
        let mut files = Vec::new();
        let mut notes = Vec::new();
        for path in paths {
            for path in inode_tables(path.as_ref())? {
                let file = SeriesFile::look_at(path)?;
                file.remark(&mut notes);
                files.push(file);
            }
        }
        if files.iter().all(|file| file.infos.is_some()) {
            files.sort_by_key(SeriesFile::first_time);
            check_times(&files)?;
        } else {
            files.sort_by_key(|file| file.range);
            if files.len() > 1 {
                notes.push("the files are in the order of their snapshots' numbers".to_owned());
            }
        }
        let rows_total = files.iter().map(|file| file.rows).sum();
        files.reverse();
        Ok(SnapshotSeries {
            files,
            open: None,
            inodes: BTreeMap::new(),
            renumber: true,
            nights: 0,
            own_number: 0,
            last_time_ns: None,
            notes,
            rows_done: 0,
            rows_total,
        })
    }

    /// The same with the snapshots' own numbers, which may come again in another file.
    #[must_use]
    pub fn with_own_numbers(mut self) -> SnapshotSeries {
        self.renumber = false;
        self
    }

    /// What a user should know: what is missing, and what was taken instead.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The inodes of the snapshot that [`SnapshotSeries::next_night`] gave last.
    pub fn inodes(&self) -> &BTreeMap<InodeKey, Inode> {
        &self.inodes
    }

    /// The same, by value.
    pub(super) fn into_inodes(self) -> BTreeMap<InodeKey, Inode> {
        self.inodes
    }

    /// The free space of that snapshot run by run; `None` where its file has no free map beside it.
    ///
    /// # Errors
    /// As for [`read_free_map`].
    pub fn free_map(&self) -> Result<Option<Vec<Run>>, DataError> {
        let open = self.open.as_ref();
        let map = open.and_then(|open| beside(&open.path, ".free.parquet"));
        map.map(|map| read_free_map(map, self.own_number))
            .transpose()
    }

    /// Rows read of how many.
    pub fn rows_read(&self) -> (u64, u64) {
        let open = self.open.as_ref().map_or(0, |open| open.reader.rows_read());
        (self.rows_done + open, self.rows_total)
    }

    /// The next snapshot; `None` at the end.
    ///
    /// # Errors
    /// A file is damaged, or a row cannot be right.
    pub fn next_night(&mut self) -> Result<Option<NightChanges>, DataError> {
        let Some(begun) = self.begin_night()? else {
            return Ok(None);
        };
        let mut changed = Vec::new();
        let latest_ns = self.read_night(&begun, &mut |change| {
            changed.push(change);
            Ok(())
        })?;
        let mut night = self.end_night(begun, latest_ns)?;
        night.changed = changed;
        Ok(Some(night))
    }

    /// The next snapshot, which is the first, without its changes: with so many inodes these take more than the inodes.
    pub(super) fn first_night(&mut self) -> Result<Option<NightChanges>, DataError> {
        let Some(begun) = self.begin_night()? else {
            return Ok(None);
        };
        let (mut latest_ns, mut inodes) = (i64::MIN, Vec::new());
        if let Some(open) = &mut self.open {
            while let Some(row) = open.next_row(begun.snap_id)? {
                let (key, inode) = open.present(row)?;
                latest_ns = latest_ns.max(inode.ctime_ns.unwrap_or(i64::MIN));
                inodes.push((key, inode));
            }
            open.whole = false;
        }
        // All at once: the tree is dense then.
        self.inodes = inodes.into_iter().collect();
        self.end_night(begun, latest_ns).map(Some)
    }

    /// Finds the next snapshot, in whose rows nothing is known of it but what the table beside it says.
    pub(super) fn begin_night(&mut self) -> Result<Option<Begun>, DataError> {
        loop {
            if self.open.is_none() {
                let Some(file) = self.files.pop() else {
                    return Ok(None);
                };
                self.open = Some(OpenFile::new(file)?);
            }
            let Some(open) = &mut self.open else {
                return Ok(None);
            };
            if let Some((snap_id, info)) = open.next_snapshot()? {
                return Ok(Some(Begun { snap_id, info }));
            }
            self.rows_done += open.reader.rows_read();
            self.open = None;
        }
    }

    /// Reads the rows of the snapshot that was begun, applies them to the inodes, and gives what they
    /// changed, ascending by key and a little at a time. Returns the latest change time in them.
    pub(super) fn read_night(
        &mut self,
        begun: &Begun,
        give: &mut dyn FnMut(Changed) -> Result<(), DataError>,
    ) -> Result<i64, DataError> {
        let mut latest_ns = i64::MIN;
        let Some(open) = &mut self.open else {
            return Ok(latest_ns);
        };
        let is_whole = open.whole || open.reader.form() == Form::Full;
        let mut seen = None;
        loop {
            let rows = if is_whole {
                open.rows_of_whole(begun.snap_id, &self.inodes, &mut seen, &mut latest_ns)?
            } else {
                open.rows_of_delta(begun.snap_id, &self.inodes, &mut latest_ns)?
            };
            if rows.is_empty() {
                break;
            }
            for row in rows {
                let key = row.key();
                let after = present(row);
                let before = match &after {
                    Some(inode) => self.inodes.insert(key, inode.clone()),
                    None => self.inodes.remove(&key),
                };
                give(Changed { key, before, after })?;
            }
        }
        open.whole = false;
        Ok(latest_ns)
    }

    /// What else there is of the snapshot that was read; its changes are to be added.
    pub(super) fn end_night(
        &mut self,
        begun: Begun,
        mut latest_ns: i64,
    ) -> Result<NightChanges, DataError> {
        let mut night = NightChanges::default();
        let names = self.open.as_mut().and_then(|open| open.names.as_mut());
        if let Some(names) = names {
            night.names = Some(names.names_of(begun.snap_id)?);
        }
        if latest_ns == i64::MIN {
            // No row says any time.
            latest_ns = self.last_time_ns.unwrap_or(0);
        }
        night.info = begun.info.unwrap_or_else(|| SnapshotInfo {
            snap_id: begun.snap_id,
            taken_at_ns: self
                .last_time_ns
                .map_or(latest_ns, |last| latest_ns.max(last.saturating_add(1))),
            source: "unknown".to_owned(),
            ..SnapshotInfo::default()
        });
        self.last_time_ns = Some(night.info.taken_at_ns);
        self.own_number = begun.snap_id;
        if self.renumber {
            night.info.snap_id = self.nights;
        }
        self.nights += 1;
        Ok(night)
    }
}

fn present(row: SnapshotRow) -> Option<Inode> {
    match row {
        SnapshotRow::Present(inode) => Some(inode),
        SnapshotRow::Gone { .. } => None,
    }
}

impl SnapshotSource for SnapshotSeries {
    fn next_changes(&mut self) -> Result<Option<SnapshotChanges>, SinkError> {
        let Some(night) = self.next_night()? else {
            return Ok(None);
        };
        let rows = night.changed.into_iter().map(|changed| {
            let (ino, generation) = changed.key;
            let gone = SnapshotRow::Gone { ino, generation };
            changed.after.map_or(gone, SnapshotRow::Present)
        });
        Ok(Some(SnapshotChanges {
            info: night.info,
            rows: rows.collect(),
            names: night.names,
        }))
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some(self.rows_read())
    }
}

/// The inode tables that a path stands for.
fn inode_tables(path: &Path) -> Result<Vec<PathBuf>, DataError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |e| DataError::io(path, "cannot list the folder", e);
    let mut tables = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let hidden = file
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'));
        if file.extension().is_some_and(|e| e == "parquet")
            && !hidden
            && TableFile::open(&file)?.schema_name() == Some(INODES)
        {
            tables.push(file);
        }
    }
    tables.sort();
    if tables.is_empty() {
        return Err(DataError::unsuitable(
            path,
            "there is no snapshot in the folder: expected inode tables, *.parquet; `fsage convert LISTING... \
             NIGHTS.parquet` makes one of listings by find and others",
        ));
    }
    Ok(tables)
}

impl SeriesFile {
    fn look_at(path: PathBuf) -> Result<SeriesFile, DataError> {
        let (rows, range) = snapshot_range(&path)?;
        let infos = match beside(&path, ".snapshots.parquet") {
            Some(table) => {
                let infos = read_snapshot_table(&table)?;
                let pairs = infos.iter().zip(infos.iter().skip(1));
                let unsorted = pairs.map(|(a, b)| a.snap_id < b.snap_id).position(|up| !up);
                if let Some(at) = unsorted {
                    let problem = "`snap_id` is not after the one before: sort the rows, drop rows that come twice";
                    return Err(DataError::bad_row(&table, at as u64 + 2, problem));
                }
                Some(infos).filter(|infos| !infos.is_empty())
            }
            None => None,
        };
        Ok(SeriesFile {
            path,
            rows,
            range,
            infos,
        })
    }

    fn remark(&self, notes: &mut Vec<String>) {
        let name = self.path.display();
        let Some(infos) = &self.infos else {
            notes.push(format!(
                "{name}: no snapshot table beside it: the time of a snapshot is the latest change time of its \
                 inodes, and sizes of the file system are unknown"
            ));
            return;
        };
        let back = infos
            .windows(2)
            .filter(|w| w[1].taken_at_ns <= w[0].taken_at_ns)
            .count();
        if back > 0 {
            notes.push(format!(
                "{name}: {back} snapshots were taken no later than the one before them; they stay in the order \
                 of their numbers"
            ));
        }
        let empty = infos.iter().filter(|info| {
            self.range
                .is_none_or(|(first, last)| !(first..=last).contains(&info.snap_id))
        });
        let empty = empty.count();
        if empty > 0 {
            notes.push(format!(
                "{name}: {empty} snapshots of the snapshot table lie before the first row or after the last"
            ));
        }
    }

    fn first_time(&self) -> Option<i64> {
        self.infos
            .iter()
            .flatten()
            .map(|info| info.taken_at_ns)
            .min()
    }

    fn last_time(&self) -> Option<i64> {
        self.infos
            .iter()
            .flatten()
            .map(|info| info.taken_at_ns)
            .max()
    }
}

/// Files follow each other in time.
fn check_times(files: &[SeriesFile]) -> Result<(), DataError> {
    for (a, b) in files.iter().zip(files.iter().skip(1)) {
        if b.first_time() <= a.last_time() {
            return Err(DataError::unsuitable(
                &b.path,
                format!(
                    "its first snapshot is not later than the last one of {}: give each night once (not both forms \
                     of one series), and one file system at a time",
                    a.path.display()
                ),
            ));
        }
    }
    Ok(())
}

impl OpenFile {
    fn new(file: SeriesFile) -> Result<OpenFile, DataError> {
        let mut reader = InodeReader::open(&file.path)?;
        let names = beside(&file.path, ".names.parquet");
        Ok(OpenFile {
            ahead: reader.next_row()?,
            reader,
            row: 0,
            infos: file.infos.map(Vec::into_iter),
            names: names.map(NamesReader::open).transpose()?,
            whole: true,
            path: file.path,
        })
    }

    fn bad(&self, problem: impl Into<String>) -> DataError {
        DataError::bad_row(&self.path, self.row, problem)
    }

    /// Number of the next snapshot, with its row of the snapshot table.
    fn next_snapshot(&mut self) -> Result<Option<(u32, Option<SnapshotInfo>)>, DataError> {
        let ahead = self.ahead.as_ref().map(|(snap_id, _)| *snap_id);
        let Some(infos) = &mut self.infos else {
            return Ok(ahead.map(|snap_id| (snap_id, None)));
        };
        let info = infos.next();
        match (ahead, &info) {
            (Some(snap_id), info) if info.as_ref().is_none_or(|info| snap_id < info.snap_id) => {
                self.row += 1;
                Err(self.bad(format!(
                    "snapshot {snap_id} has rows but is not in the snapshot table beside it; remove the table \
                     if it belongs to another file"
                )))
            }
            _ => Ok(info.map(|info| (info.snap_id, Some(info)))),
        }
    }

    /// The next row of this snapshot.
    fn next_row(&mut self, snap_id: u32) -> Result<Option<SnapshotRow>, DataError> {
        match self.ahead.take() {
            Some((id, row)) if id == snap_id => {
                self.row = self.reader.rows_read();
                self.ahead = self.reader.next_row()?;
                Ok(Some(row))
            }
            other => {
                self.ahead = other;
                Ok(None)
            }
        }
    }

    /// The inode of a row of a first snapshot.
    fn present(&self, row: SnapshotRow) -> Result<(InodeKey, Inode), DataError> {
        let key = row.key();
        match row {
            SnapshotRow::Present(inode) => Ok((key, inode)),
            SnapshotRow::Gone { .. } => {
                let problem = format!("inode {} is gone in the first snapshot", key.0);
                Err(self.bad(problem))
            }
        }
    }

    /// The next rows of a whole snapshot that differ from the inodes before, and tombstones of those that it has not;
    /// none at its end. `seen` is the key up to which inodes were compared.
    fn rows_of_whole(
        &mut self,
        snap_id: u32,
        before: &BTreeMap<InodeKey, Inode>,
        seen: &mut Option<InodeKey>,
        latest_ns: &mut i64,
    ) -> Result<Vec<SnapshotRow>, DataError> {
        let gone = |key: &InodeKey| SnapshotRow::Gone {
            ino: key.0,
            generation: key.1,
        };
        let mut rows = Vec::new();
        let behind = seen.map_or(Bound::Unbounded, Bound::Excluded);
        let mut before = before.range((behind, Bound::Unbounded)).peekable();
        while rows.len() < AT_ONCE {
            let Some(row) = self.next_row(snap_id)? else {
                for (old, _) in before.take(AT_ONCE - rows.len()) {
                    rows.push(gone(old));
                    *seen = Some(*old);
                }
                break;
            };
            let (key, inode) = self.present(row)?;
            while let Some((old, _)) = before.next_if(|(old, _)| **old < key) {
                rows.push(gone(old));
            }
            *latest_ns = (*latest_ns).max(inode.ctime_ns.unwrap_or(i64::MIN));
            *seen = Some(key);
            let old = before.next_if(|(old, _)| **old == key);
            if old.is_none_or(|(_, old)| *old != inode) {
                rows.push(SnapshotRow::Present(inode));
            }
        }
        Ok(rows)
    }

    /// The next rows of a delta, without those that change nothing; none at its end.
    fn rows_of_delta(
        &mut self,
        snap_id: u32,
        before: &BTreeMap<InodeKey, Inode>,
        latest_ns: &mut i64,
    ) -> Result<Vec<SnapshotRow>, DataError> {
        let mut rows = Vec::new();
        while rows.len() < AT_ONCE
            && let Some(row) = self.next_row(snap_id)?
        {
            let old = before.get(&row.key());
            match &row {
                SnapshotRow::Gone { ino, .. } if old.is_none() => {
                    let problem = format!(
                        "inode {ino} is gone in snapshot {snap_id}, but was not there: the delta does not fit"
                    );
                    return Err(self.bad(problem));
                }
                SnapshotRow::Present(inode) => {
                    *latest_ns = (*latest_ns).max(inode.ctime_ns.unwrap_or(i64::MIN));
                    if old == Some(inode) {
                        continue;
                    }
                }
                SnapshotRow::Gone { .. } => {}
            }
            rows.push(row);
        }
        Ok(rows)
    }
}
