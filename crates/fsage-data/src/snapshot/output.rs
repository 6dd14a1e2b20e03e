//! Stores a series of snapshots whose rows come in any order.

use super::form::Form;
use super::night::Night;
use super::scratch::{Scratch, Spool};
use super::series_writer::{SeriesWriter, SnapshotCounts};
use super::sort::Sorter;
use crate::error::DataError;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink};
use fsage_core::{Run, SinkError, names};
use std::io;
use std::path::Path;

/// Memory for the rows of a night that are being sorted, and in delta form again for those of the night before. What is
/// more waits on disk.
const MEMORY_BYTES: usize = 128 << 20;
/// Rows from one call of the progress to the next.
const TELL_ROWS: u64 = 4096;

/// Called now and then with the rows that are stored; an error stops the work.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> io::Result<()>;

/// Writes snapshots as `STEM.parquet` (inodes, in full or delta form), `STEM.snapshots.parquet` and, if an inode
/// has several names, `STEM.names.parquet`; and `STEM.free.parquet`, if free space is given. The inode table gets its
/// name last, so that where it is, the others are.
///
/// Rows of a night come in any order; what does not fit into memory is sorted in files without a name in the folder of
/// the output. What had to be repaired is counted, see [`Repairs`](super::Repairs).
pub struct SnapshotOutput {
    writer: SeriesWriter,
    memory_bytes: usize,
    scratch: Scratch,
    sorter: Sorter,
    /// The night before, which a delta is taken to.
    before: Spool,
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

    /// Starts the series of a target of a run, and replaces one that is there: each row of its tables has the target's
    /// name, in a column `target`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn of_target(
        path: impl AsRef<Path>,
        form: Form,
        target: &str,
    ) -> Result<SnapshotOutput, DataError> {
        let writer = SeriesWriter::create(path.as_ref(), form, true, Some(target))?;
        Ok(SnapshotOutput::new(writer, MEMORY_BYTES))
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
        let writer = SeriesWriter::create(path.as_ref(), form, force, None)?;
        Ok(SnapshotOutput::new(writer, memory_bytes))
    }

    fn new(writer: SeriesWriter, memory_bytes: usize) -> SnapshotOutput {
        let scratch = Scratch::beside(&writer.path());
        SnapshotOutput {
            writer,
            memory_bytes,
            sorter: Sorter::new(&scratch, memory_bytes),
            before: Spool::new(&scratch, memory_bytes),
            scratch,
        }
    }

    /// Says what is known of the last snapshot only in the end: its row of the snapshot table anew, and its free space,
    /// ascending runs. One snapshot with free space is enough for `STEM.free.parquet` to be written.
    ///
    /// # Errors
    /// No snapshot of that number was started last; runs overlap; writing fails.
    pub fn complete_snapshot(
        &mut self,
        info: SnapshotInfo,
        free: Option<&[Run]>,
    ) -> Result<(), DataError> {
        self.writer.complete_info(info)?;
        free.map_or(Ok(()), |runs| self.writer.write_free(runs))
    }

    /// Completes the files and gives them their names.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> Result<SnapshotCounts, DataError> {
        self.finish_watched(&mut |_| Ok(()))
    }

    /// The same for whoever wants to know how far it is, or may stop it: most of the work is still to be done.
    ///
    /// # Errors
    /// Writing fails, or what `progress` fails with.
    pub fn finish_watched(mut self, progress: Progress<'_>) -> Result<SnapshotCounts, DataError> {
        self.end_night(progress)?;
        self.writer.finish()
    }

    /// Writes the rows of the night, in delta form those that the night before has not, and what that has more.
    fn end_night(&mut self, progress: Progress<'_>) -> Result<(), DataError> {
        if self.writer.last().is_none() {
            return Ok(());
        }
        let mut night = Night::new(self.sorter.take()?);
        let is_delta = self.writer.form() == Form::Delta;
        let after = Spool::new(&self.scratch, self.memory_bytes);
        // Of full snapshots it holds nothing.
        let mut before = std::mem::replace(&mut self.before, after).read()?;
        let key = |inode: &Inode| (inode.ino, inode.generation);
        let mut old = before.next()?;
        while let Some(inode) = night.next()? {
            while let Some(gone) = old.as_ref().map(key).filter(|old| *old < key(&inode)) {
                self.writer.write_gone(gone.0, gone.1)?;
                old = before.next()?;
            }
            let same_key = old.as_ref().map(key) == Some(key(&inode));
            if old.as_ref() != Some(&inode) {
                self.writer.write(&inode)?;
            }
            if same_key {
                old = before.next()?;
            }
            if is_delta {
                self.before.push(&inode)?;
            }
            self.writer.write_names(night.names())?;
            let rows = self.writer.counts.rows;
            if rows.is_multiple_of(TELL_ROWS) {
                let stopped = |e| DataError::io(&self.writer.path(), "not written", e);
                progress(rows).map_err(stopped)?;
            }
        }
        while let Some(gone) = old {
            self.writer.write_gone(gone.ino, gone.generation)?;
            old = before.next()?;
        }
        let names = night.finish(&mut self.writer.counts.repairs);
        self.writer.write_names(names)
    }
}

impl SnapshotSink for SnapshotOutput {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        self.end_night(&mut |_| Ok(()))?;
        Ok(self.writer.start(info)?)
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        if self.writer.last().is_none() {
            let what = "an inode that belongs to no snapshot".to_owned();
            Err(self.writer.refused(what))?;
        }
        if let Some(path) = &inode.path
            && names::unescape(path).is_none()
        {
            let what = format!("path {path:?}: a backslash starts no `\\xhh`");
            Err(self.writer.refused(what))?;
        }
        Ok(self.sorter.push(&inode)?)
    }
}
