//! Paths and extents of some rows of an inode table.

use super::identity::Facts;
use super::tally::Side;
use crate::error::DataError;
use crate::parquet_file::{column, value_at};
use crate::snapshot::inode_reader::{Extents, open_table};
use crate::snapshot::schema::inode_schema;
use arrow_array::{Array, StringArray};
use arrow_schema::Schema;
use fsage_core::Extent;
use parquet::arrow::arrow_reader::RowSelection;
use std::path::{Path, PathBuf};

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 1 << 12;

/// Reads paths and extents, where the table has any.
pub(super) struct Details {
    path: PathBuf,
    columns: Schema,
}

/// Path and extents of one row.
#[derive(Default)]
struct Detail {
    path: Option<Box<str>>,
    extents: Option<Box<[Extent]>>,
}

/// What was read, by row.
pub(super) struct Found {
    rows: Vec<u64>,
    details: Vec<Detail>,
}

impl Details {
    pub fn open(path: &Path) -> Result<Details, DataError> {
        let (file, form) = open_table(path)?;
        let groups = file.builder().metadata().row_groups();
        // Leaves of a list are counted as null where the list is null or empty, which is not the same.
        let all_null = |root: &str| {
            groups.iter().all(|group| {
                let mut leaves = group.columns().iter();
                let leaf =
                    leaves.find(|c| c.column_path().parts().first().is_some_and(|p| p == root));
                let statistics = leaf.and_then(|leaf| leaf.statistics());
                let nulls =
                    statistics.and_then(parquet::file::statistics::Statistics::null_count_opt);
                nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(group.num_rows()))
            })
        };
        let schema = inode_schema(form);
        let used = schema
            .fields()
            .iter()
            .filter(|field| match field.name().as_str() {
                "path" => !all_null("path"),
                "extents" => true,
                _ => false,
            });
        Ok(Details {
            path: path.to_owned(),
            columns: Schema::new(used.cloned().collect::<Vec<_>>()),
        })
    }

    /// Reads these rows, counted from 0.
    pub fn read(&self, mut rows: Vec<u64>) -> Result<Found, DataError> {
        rows.sort_unstable();
        let mut details = Vec::with_capacity(rows.len());
        if !rows.is_empty() {
            self.read_columns(&rows, &mut details)?;
            if details.len() != rows.len() {
                let problem = "it has fewer rows than it says";
                return Err(DataError::damaged(
                    &self.path,
                    details.len() as u64,
                    problem,
                ));
            }
        }
        Ok(Found { rows, details })
    }

    fn read_columns(&self, rows: &[u64], details: &mut Vec<Detail>) -> Result<(), DataError> {
        let (file, _) = open_table(&self.path)?;
        let mut groups = Vec::new();
        // Rows of the file before the group, rows of the groups that are read.
        let (mut base, mut selected) = (0_u64, 0_u64);
        let mut ranges = Vec::with_capacity(rows.len());
        let mut rest = rows;
        for (index, group) in file.builder().metadata().row_groups().iter().enumerate() {
            let count = u64::try_from(group.num_rows()).unwrap_or(0);
            let end = base.saturating_add(count);
            let here = rest.partition_point(|row| *row < end);
            if here > 0 {
                groups.push(index);
                ranges.extend(rest[..here].iter().map(|row| {
                    let row = (row - base + selected) as usize;
                    row..row + 1
                }));
                selected = selected.saturating_add(count);
                rest = &rest[here..];
            }
            base = end;
        }
        let selection =
            RowSelection::from_consecutive_ranges(ranges.into_iter(), selected as usize);
        let mut batches =
            file.selected(&self.columns, Some(groups), Some(selection), BATCH_ROWS)?;
        while let Some(batch) = batches.next_batch()? {
            let paths: Option<StringArray> = column(&batch, "path");
            let extents = Extents::of(&batch, &self.path)?;
            for at in 0..batch.num_rows() {
                let row = rows.get(details.len()).map_or(0, |row| row + 1);
                let path = paths.as_ref().and_then(|paths| value_at!(paths, at));
                details.push(Detail {
                    path: path.map(Box::from),
                    extents: extents
                        .row(at)
                        .map_err(|problem| DataError::bad_row(&self.path, row, problem))?,
                });
            }
        }
        Ok(())
    }
}

impl Found {
    /// The inode of a row with what was read of it.
    pub fn side(&self, facts: &Facts, row: u64) -> Side<'_> {
        let detail = self
            .rows
            .binary_search(&row)
            .ok()
            .and_then(|at| self.details.get(at));
        Side {
            facts: *facts,
            path: detail.and_then(|detail| detail.path.as_deref()),
            extents: detail.and_then(|detail| detail.extents.as_deref()),
        }
    }
}
