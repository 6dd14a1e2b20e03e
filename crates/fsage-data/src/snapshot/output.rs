//! Stores a series of snapshots whose rows come in any order.

use super::form::Form;
use super::names::NamesWriter;
use super::night::{Night, Repairs};
use super::scratch::{Scratch, Spool};
use super::sort::Sorter;
use super::{InodeWriter, stem, with_ending, write_snapshot_table};
use crate::error::DataError;
use crate::partial::refuse_existing;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotRow, SnapshotSink};
use fsage_core::{SinkError, names};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory for the rows of a night that are being sorted, and again for those of the night before. What is
/// more waits on disk.
const MEMORY_BYTES: usize = 128 << 20;

/// Writes snapshots as `STEM.parquet` (inodes, in full or delta form), `STEM.snapshots.parquet` and, if an inode
/// has several names, `STEM.names.parquet`. The inode table gets its name last, so that where it is, the others
/// are.
///
/// Rows of a night come in any order; what does not fit into memory is sorted in a folder beside the output,
/// which is removed in the end. What had to be repaired is counted, see [`Repairs`].
pub struct SnapshotOutput {
    stem: PathBuf,
    form: Form,
    force: bool,
    memory_bytes: usize,
    scratch: Arc<Scratch>,
    inodes: InodeWriter,
    names: Option<NamesWriter>,
    infos: Vec<SnapshotInfo>,
    sorter: Sorter,
    /// The night before, which a delta is taken to.
    before: Spool,
    counts: SnapshotCounts,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Snapshots.
    pub snapshots: u64,
    /// Rows of the inode table, tombstones included.
    pub rows: u64,
    /// Tombstones.
    pub tombstones: u64,
    /// Names beyond the first of an inode.
    pub further_names: u64,
    /// What had to be repaired.
    pub repairs: Repairs,
}

impl SnapshotOutput {
    /// Starts a series; `path` is `STEM`, with or without `.parquet`.
    ///
    /// # Errors
    /// One of the files exists and `force` is not set, or the folder cannot be written.
    pub fn create(
        path: impl AsRef<Path>,
        form: Form,
        force: bool,
    ) -> Result<SnapshotOutput, DataError> {
        SnapshotOutput::with_memory(path, form, force, MEMORY_BYTES)
    }

    /// The same with another bound, in bytes, for the rows that are sorted in memory.
    ///
    /// # Errors
    /// As for [`SnapshotOutput::create`].
    pub fn with_memory(
        path: impl AsRef<Path>,
        form: Form,
        force: bool,
        memory_bytes: usize,
    ) -> Result<SnapshotOutput, DataError> {
        let stem = stem(path.as_ref());
        for ending in [".snapshots.parquet", ".names.parquet", ".free.parquet"] {
            refuse_existing(&with_ending(&stem, ending), force)?;
        }
        let table = with_ending(&stem, ".parquet");
        let scratch = Scratch::beside(&table);
        Ok(SnapshotOutput {
            form,
            force,
            memory_bytes,
            inodes: InodeWriter::create(&table, form, force)?,
            names: None,
            infos: Vec::new(),
            sorter: Sorter::new(&scratch, memory_bytes),
            before: Spool::new(&scratch, memory_bytes),
            counts: SnapshotCounts::default(),
            stem,
            scratch,
        })
    }

    /// Completes the files and gives them their names.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> Result<SnapshotCounts, DataError> {
        self.end_night()?;
        let table = with_ending(&self.stem, ".snapshots.parquet");
        write_snapshot_table(table, &self.infos, self.force)?;
        match self.names {
            Some(names) => names.finish()?,
            None => remove_old(&with_ending(&self.stem, ".names.parquet"))?,
        }
        remove_old(&with_ending(&self.stem, ".free.parquet"))?;
        self.inodes.finish()?;
        Ok(self.counts)
    }

    fn refused(&self, what: String) -> DataError {
        DataError::Refused {
            path: with_ending(&self.stem, ".parquet"),
            what,
        }
    }

    fn start(&mut self, info: SnapshotInfo) -> Result<(), DataError> {
        self.end_night()?;
        if let Some(last) = self.infos.last() {
            let (last, next) = (last.snap_id, info.snap_id);
            if next == last {
                return Err(self.refused(format!(
                    "snapshot {next} a second time: the rows of a snapshot have to be together"
                )));
            }
            if next < last {
                return Err(self.refused(format!(
                    "snapshot {next} after snapshot {last}: numbers go up with time; sort the snapshots"
                )));
            }
        }
        let earlier = self
            .infos
            .last()
            .is_some_and(|last| info.taken_at_ns <= last.taken_at_ns);
        self.counts.repairs.times_not_after += u64::from(earlier);
        self.counts.snapshots += 1;
        self.infos.push(info);
        Ok(())
    }

    fn end_night(&mut self) -> Result<(), DataError> {
        let Some(info) = self.infos.last() else {
            return Ok(());
        };
        let snap_id = info.snap_id;
        let mut night = Night::new(self.sorter.take()?);
        match self.form {
            Form::Full => {
                while let Some(inode) = night.next()? {
                    self.inodes.write(snap_id, &inode)?;
                    self.counts.rows += 1;
                }
            }
            Form::Delta => self.write_delta(snap_id, &mut night)?,
        }
        let names = night.finish(&mut self.counts.repairs);
        if !names.is_empty() {
            if self.names.is_none() {
                let path = with_ending(&self.stem, ".names.parquet");
                self.names = Some(NamesWriter::create(path, self.force)?);
            }
            self.counts.further_names += names.len() as u64;
            if let Some(writer) = &mut self.names {
                writer.write(snap_id, names)?;
            }
        }
        Ok(())
    }

    fn write_delta(&mut self, snap_id: u32, night: &mut Night) -> Result<(), DataError> {
        let after = Spool::new(&self.scratch, self.memory_bytes);
        let mut before = std::mem::replace(&mut self.before, after).read()?;
        let mut old = before.next()?;
        let mut new = night.next()?;
        loop {
            let key = |inode: &Inode| (inode.ino, inode.generation);
            let gone = match (&old, &new) {
                (None, None) => return Ok(()),
                (Some(old), Some(new)) => key(old) < key(new),
                (old, _) => old.is_some(),
            };
            if let (true, Some(inode)) = (gone, &old) {
                let (ino, generation) = key(inode);
                let row = SnapshotRow::Gone { ino, generation };
                self.inodes.write_row(snap_id, &row)?;
                self.counts.rows += 1;
                self.counts.tombstones += 1;
                old = before.next()?;
            } else if let Some(inode) = new.take() {
                let same_key = old.as_ref().is_some_and(|old| key(old) == key(&inode));
                if !same_key || old.as_ref() != Some(&inode) {
                    self.inodes.write(snap_id, &inode)?;
                    self.counts.rows += 1;
                }
                if same_key {
                    old = before.next()?;
                }
                self.before.push(inode)?;
                new = night.next()?;
            }
        }
    }
}

impl SnapshotSink for SnapshotOutput {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        Ok(self.start(info)?)
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        if self.infos.is_empty() {
            Err(self.refused("an inode that belongs to no snapshot".to_owned()))?;
        }
        if let Some(path) = &inode.path
            && names::unescape(path).is_none()
        {
            let what = format!("path {path:?}: a backslash starts no `\\xhh`");
            Err(self.refused(what))?;
        }
        Ok(self.sorter.push(inode)?)
    }
}

/// A table of a series that was written over, which would say something of another one.
fn remove_old(path: &Path) -> Result<(), DataError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(DataError::io(path, "cannot remove the old file", e))
        }
        _ => Ok(()),
    }
}
