//! Snapshots from one form into the other.

use super::beside;
use super::form::Form;
use super::series::{NightChanges, SnapshotSeries};
use super::series_writer::{SeriesWriter, SnapshotCounts};
use crate::error::DataError;
use std::path::Path;

/// Writes a series of snapshots night by night, in full or delta form, without loss in either.
pub struct SeriesOutput(SeriesWriter);

impl SeriesOutput {
    /// Starts a series; `path` is `STEM`, with or without `.parquet`.
    ///
    /// # Errors
    /// One of the files exists and `force` is not set, or the folder cannot be written.
    pub fn create(
        path: impl AsRef<Path>,
        form: Form,
        force: bool,
    ) -> Result<SeriesOutput, DataError> {
        SeriesWriter::create(path.as_ref(), form, force, None).map(SeriesOutput)
    }

    /// Takes over the free map beside `table`, if there is one; numbers of snapshots have to stay as they are there.
    pub fn take_free_map_of(&mut self, table: &Path) {
        self.0.free_map = beside(table, ".free.parquet");
    }

    /// Writes the night that `series` gave last.
    ///
    /// # Errors
    /// Writing fails, or the number of the snapshot is not after the one before.
    pub fn write(&mut self, night: NightChanges, series: &SnapshotSeries) -> Result<(), DataError> {
        let writer = &mut self.0;
        writer.start(night.info)?;
        match writer.form() {
            Form::Full => {
                for inode in series.inodes().values() {
                    writer.write(inode)?;
                }
            }
            Form::Delta => {
                for changed in night.changed {
                    match changed.after {
                        Some(inode) => writer.write(&inode)?,
                        None => writer.write_gone(changed.key.0, changed.key.1)?,
                    }
                }
            }
        }
        night
            .names
            .map_or(Ok(()), |names| writer.write_names(names))
    }

    /// Completes the files and gives them their names.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> Result<SnapshotCounts, DataError> {
        self.0.finish()
    }
}
