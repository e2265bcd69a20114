//! # Tables
//! Converts columns from Python to cells, and writes them as CSV and Parquet.

use crate::{cells, csv, parquet};
use ::parquet::errors::ParquetError;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::sync::{Mutex, PoisonError};

type Whole<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, bool>);
type Float<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, bool>);
type Text<'py> = (PyReadonlyArray1<'py, i64>, Vec<String>);

pub(super) enum Cells<'py> {
    Whole(Whole<'py>),
    Float(Float<'py>),
    Text(Text<'py>),
}

impl<'py> FromPyObject<'_, 'py> for Cells<'py> {
    type Error = PyErr;

    /// Checks the kind of the column before it converts it. Trying each kind in turn would make numpy format error
    /// messages in Python, and a KeyboardInterrupt raised meanwhile would be lost.
    fn extract(cells: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (values, second): (Bound<'py, PyAny>, Bound<'py, PyAny>) = cells.extract()?;
        Ok(if second.is_instance_of::<PyList>() {
            Self::Text((values.extract()?, second.extract()?))
        } else if values.cast::<PyArray1<i64>>().is_ok() {
            Self::Whole((values.extract()?, second.extract()?))
        } else {
            Self::Float((values.extract()?, second.extract()?))
        })
    }
}

impl Cells<'_> {
    fn of<'a>(columns: &'a [Self]) -> PyResult<Vec<cells::Cells<'a>>> {
        let one = |cells: &'a Self| {
            Ok(match cells {
                Self::Text((places, names)) => cells::Cells::Text(places.as_slice()?, names),
                Self::Whole((values, absent)) => {
                    cells::Cells::Whole(values.as_slice()?, absent.as_slice()?)
                }
                Self::Float((values, absent)) => {
                    cells::Cells::Float(values.as_slice()?, absent.as_slice()?)
                }
            })
        };
        columns.iter().map(one).collect()
    }
}

#[pyfunction]
pub(super) fn csv_lines<'py>(
    py: Python<'py>,
    mut columns: Vec<Cells<'py>>,
    written: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    for cells in &mut columns {
        let Cells::Text((_, texts)) = cells else {
            continue;
        };
        for text in texts.iter_mut().filter(|text| !csv::is_plain(text)) {
            *text = written.call1((text.as_str(),))?.extract()?;
        }
    }
    let columns = Cells::of(&columns)?;
    let lines = py.detach(|| csv::lines(&columns))?;
    Ok(PyBytes::new(py, &lines))
}

/// Converts an error of Parquet: two columns have one name, a column's kind has changed, or a file is broken.
fn value_error(error: ParquetError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pyclass(module = "bdpcap._core")]
pub(super) struct Parquet(Mutex<Option<parquet::File>>);

#[pymethods]
impl Parquet {
    #[new]
    fn new(names: Vec<String>, columns: Vec<Cells<'_>>) -> PyResult<Self> {
        let file = parquet::File::new(&names, &Cells::of(&columns)?).map_err(value_error)?;
        Ok(Self(Mutex::new(Some(file))))
    }

    fn rows<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Cells<'py>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let columns = Cells::of(&columns)?;
        let bytes = py.detach(|| {
            let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            file.as_mut()
                .map_or(Ok(Vec::new()), |file| file.rows(&columns))
        });
        Ok(PyBytes::new(py, &bytes.map_err(value_error)?))
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let bytes = file.map_or(Ok(Vec::new()), parquet::File::finish);
        Ok(PyBytes::new(py, &bytes.map_err(value_error)?))
    }
}

#[pyfunction]
pub(super) fn with_row_groups<'py>(
    py: Python<'py>,
    file: Vec<u8>,
    groups: Vec<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let copied = py.detach(|| parquet::with_groups(file, &groups));
    Ok(PyBytes::new(py, &copied.map_err(value_error)?))
}
