//! # Spans
//! Python access to [`crate::spans`].

use crate::spans;
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Given<'py, T> = PyReadonlyArray1<'py, T>;

/// Runs `compute` without holding the interpreter lock; returns its values as an array.
fn computed<T: Element + Send>(
    py: Python<'_>,
    compute: impl FnOnce() -> Vec<T> + Send,
) -> Bound<'_, PyArray1<T>> {
    py.detach(compute).into_pyarray(py)
}

#[pyfunction]
pub(super) fn median_around<'py>(
    py: Python<'py>,
    values: Given<'py, f64>,
    starts: Given<'py, i64>,
    before: usize,
    after: usize,
) -> PyResult<Floats<'py>> {
    let (values, starts) = (values.as_slice()?, starts.as_slice()?);
    Ok(computed(py, || {
        spans::medians_around(values, starts, before, after)
    }))
}

#[pyfunction]
pub(super) fn medians<'py>(
    py: Python<'py>,
    values: Given<'py, f64>,
    starts: Given<'py, i64>,
) -> PyResult<Floats<'py>> {
    let (values, starts) = (values.as_slice()?, starts.as_slice()?);
    Ok(computed(py, || spans::medians(values, starts)))
}

#[pyfunction]
pub(super) fn percentiles<'py>(
    py: Python<'py>,
    values: Given<'py, f64>,
    weights: Given<'py, f64>,
    starts: Given<'py, i64>,
    part: f64,
) -> PyResult<Floats<'py>> {
    let (values, weights, starts) = (values.as_slice()?, weights.as_slice()?, starts.as_slice()?);
    Ok(computed(py, || {
        spans::percentiles(values, weights, starts, part)
    }))
}

#[pyfunction]
pub(super) fn somewhere<'py>(
    py: Python<'py>,
    holds: Given<'py, bool>,
    first: Given<'py, i64>,
    past: Given<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (holds, first, past) = (holds.as_slice()?, first.as_slice()?, past.as_slice()?);
    Ok(computed(py, || spans::somewhere(holds, first, past)))
}

#[pyfunction]
pub(super) fn floats<'py>(py: Python<'py>, values: Given<'py, i64>) -> PyResult<Floats<'py>> {
    let values = values.as_slice()?;
    Ok(computed(py, || spans::floats(values)))
}

#[pyfunction]
pub(super) fn sums<'py>(
    py: Python<'py>,
    values: Given<'py, f64>,
    first: Given<'py, i64>,
    past: Given<'py, i64>,
) -> PyResult<Floats<'py>> {
    let (values, first, past) = (values.as_slice()?, first.as_slice()?, past.as_slice()?);
    Ok(computed(py, || spans::sums(values, first, past)))
}
