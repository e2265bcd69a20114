//! # Pieces
//! Python access to [`crate::pieces`].

use super::faults::places;
use super::filters::compiled;
use crate::capture::{Recording, Times};
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
        dict.set_item("longest_gap_ns", times.longest_gap_ns)?;
        dict.set_item("steps", times.ticks.steps())?;
        dict.set_item("unit_ns", pieces.intake.unit_ns())?;
        dict.set_item("link_types", counts.link_types.clone())?;
        dict.set_item("damages", places(&pieces.intake.damages))?;
        Ok(dict)
    }
}

/// The times of a file: those of the frames that open and close it, the earliest and the latest; the longest gap; steps, as
/// of [`crate::capture::Ticks::joined`]; the unit.
type File = ([i64; 4], i64, (u64, u64, Option<i64>), i64);

#[pyfunction]
pub(super) fn recordings(files: Vec<File>) -> Vec<(i64, i64)> {
    let files: Vec<_> = files
        .into_iter()
        .map(|(ends, gap_ns, steps, unit_ns)| (Times::of_file(ends, gap_ns, steps), unit_ns))
        .collect();
    let found = crate::capture::recordings(&files);
    found
        .iter()
        .map(|one| (one.begin_ns, one.tick_ns))
        .collect()
}

/// Returns recordings of which Python has begin and tick.
pub(super) fn recordings_of(known: Vec<(i64, i64)>) -> Vec<Recording> {
    let made = |(begin_ns, tick_ns)| Recording { begin_ns, tick_ns };
    known.into_iter().map(made).collect()
}
