//! # Pieces
//! Python access to [`crate::pieces`].

use super::faults::places;
use super::filters::compiled;
use crate::capture::Ticks;
use crate::pieces;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

#[pyclass(module = "bdpcap._core")]
pub(super) struct Pieces(Mutex<pieces::Pieces>);

#[pymethods]
impl Pieces {
    #[new]
    fn new(
        path: PathBuf,
        filters: Option<HashMap<u32, Bound<'_, PyAny>>>,
        buckets: usize,
    ) -> PyResult<Self> {
        let filters = filters.map(compiled).transpose()?;
        Ok(Self(Mutex::new(pieces::Pieces::new(
            path, filters, buckets,
        )?)))
    }

    fn advance(&self, py: Python<'_>, frames: usize) -> PyResult<bool> {
        Ok(py.detach(|| {
            let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pieces.advance(frames)
        })?)
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let packed = py.detach(|| {
            let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pieces.take()
        })?;
        Ok(packed.iter().map(|rows| PyBytes::new(py, rows)).collect())
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, times) = (&pieces.intake.counts, pieces.intake.times());
        let dict = PyDict::new(py);
        dict.set_item("place", pieces.first_frame_ns)?;
        dict.set_item("frames", counts.frames)?;
        dict.set_item("first_ns", times.first_ns())?;
        dict.set_item("last_ns", times.last_ns())?;
        dict.set_item("opened_ns", times.opened_ns())?;
        dict.set_item("closed_ns", times.closed_ns())?;
        dict.set_item("steps", times.ticks.steps())?;
        dict.set_item("unit_ns", pieces.intake.unit_ns())?;
        dict.set_item("link_types", counts.link_types.clone())?;
        dict.set_item("damages", places(&pieces.intake.damages))?;
        Ok(dict)
    }
}

#[pyfunction]
pub(super) fn tick_ns(steps: Vec<(u64, u64, Option<i64>)>) -> i64 {
    Ticks::joined(&steps).tick_ns()
}
