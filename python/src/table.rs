//! Tables as Arrow streams.

use crate::work::raised;
use arrow_array::RecordBatchReader;
use fsage_data::DataError;
use fsage_data::columnar::{self, Part, Tables};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use std::path::PathBuf;

/// Rows of one or more Parquet files of fsage, which are read when they are asked for, and only the columns that are
/// wanted.
#[pyclass(frozen, module = "fsage._native")]
pub struct Table {
    parts: Vec<Part>,
    columns: Option<Vec<String>>,
}

impl Table {
    fn open(&self, py: Python<'_>) -> PyResult<Tables> {
        Tables::open(self.parts.clone(), self.columns.as_deref())
            .map_err(|error| of_data(py, error))
    }
}

fn of_data(py: Python<'_>, error: DataError) -> PyErr {
    raised(py, &error.into())
}

#[pymethods]
impl Table {
    /// Files with the columns that all rows of each have in common: `[(path, [(name, text)])]`.
    #[new]
    #[pyo3(signature = (parts, columns=None))]
    fn new(
        py: Python<'_>,
        parts: Vec<(PathBuf, Vec<(String, String)>)>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Table> {
        let parts = parts
            .into_iter()
            .map(|(path, common)| Part { path, common });
        let table = Table {
            parts: parts.collect(),
            columns,
        };
        table.open(py)?;
        Ok(table)
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let schema = self.open(py)?.schema();
        Ok(schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect())
    }

    /// How many rows there are.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> PyResult<u64> {
        let rows = self.parts.iter().map(|part| columnar::rows(&part.path));
        rows.sum::<Result<u64, DataError>>()
            .map_err(|error| of_data(py, error))
    }

    /// The same rows with these columns only.
    fn select(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Table> {
        let table = Table {
            parts: self.parts.clone(),
            columns: Some(columns),
        };
        table.open(py)?;
        Ok(table)
    }

    /// The rows as a stream of Arrow, for any library that knows the `PyCapsule` interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reader = PyRecordBatchReader::new(Box::new(self.open(py)?));
        Bound::new(py, reader)?.call_method1("__arrow_c_stream__", (requested_schema,))
    }
}
