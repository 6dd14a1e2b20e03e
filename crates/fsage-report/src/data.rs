//! The data behind charts and tables, as columns.

use serde::Serialize;

/// A table of data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DataTable {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, a cell a column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name, as in the header of a table and in the downloaded file.
    pub name: String,
}

/// A value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Not known.
    #[default]
    Null,
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl DataTable {
    /// A table without rows.
    pub fn new(columns: &[&str]) -> DataTable {
        let columns = columns.iter().map(|&name| Column { name: name.into() });
        DataTable {
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }
}

/// A number with so many significant digits; integers stay exact.
pub(crate) fn rounded(x: f64, digits: i32) -> f64 {
    if x.fract() == 0.0 || !x.is_finite() {
        return x;
    }
    let whole_digits = x.abs().log10().floor() as i32 + 1;
    let decimals = (digits - whole_digits).max(0) as usize;
    // By way of its text: the nearest number that is written so.
    format!("{x:.decimals$}").parse().unwrap_or(x)
}

impl From<f64> for Cell {
    /// What is no finite number is not known.
    fn from(x: f64) -> Cell {
        if x.is_finite() {
            Cell::Number(x)
        } else {
            Cell::Null
        }
    }
}

impl From<Option<f64>> for Cell {
    fn from(x: Option<f64>) -> Cell {
        x.map_or(Cell::Null, Cell::from)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}
