//! Tables that hold one kind of row, in the folder of a target: read whole, and written whole.

use crate::error::{Context, bail};
use fsage_data::table::{Column, ColumnKind, TableWriter, Value as Cell, read_table};
use std::path::Path;

/// Name and kind of each column.
pub(super) type Columns = [(&'static str, ColumnKind)];

/// The text of a cell.
pub(super) fn text_of(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// All rows; nothing where there is no such file. `needs` is what a row must have, `again` the command that measures
/// anew.
///
/// # Errors
/// The table is damaged.
pub(super) fn read<R>(
    path: &Path,
    columns: &Columns,
    of: impl Fn(&[Cell]) -> Option<R>,
    needs: &str,
    again: &str,
) -> crate::Result<Vec<R>> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let table = read_table(path)?;
    let expected = || columns.iter().map(|(name, _)| *name);
    let found = table.columns.iter().map(|column| column.name.as_str());
    if !found.eq(expected()) {
        let expected: Vec<&str> = expected().collect();
        bail!(
            "{}: expected the columns {}; remove it, then measure again with `{again}`",
            path.display(),
            expected.join(", ")
        );
    }
    let rows = table.rows.iter().map(|row| of(row));
    rows.collect::<Option<_>>().with_context(|| {
        format!(
            "{}: a row without {needs}; remove it, then measure again with `{again}`",
            path.display()
        )
    })
}

/// Writes all rows, instead of what was there.
///
/// # Errors
/// The table cannot be written.
pub(super) fn write(
    path: &Path,
    schema: &str,
    columns: &Columns,
    rows: impl Iterator<Item = Vec<Cell>>,
) -> crate::Result<()> {
    let columns = columns.iter().map(|(name, kind)| Column::new(*name, *kind));
    let mut table = TableWriter::create(path, schema, columns.collect(), &[], true)?;
    for row in rows {
        table.push_row(&row)?;
    }
    Ok(table.finish()?)
}
