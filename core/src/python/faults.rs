//! # Faults
//! Converts read errors to Python exceptions, and lists the places where captures are damaged.

use crate::capture;
use crate::decode::link_type_name;
use crate::source::Stop;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    CaptureError,
    PyException,
    "A capture could not be read at all."
);
pyo3::create_exception!(
    _core,
    FilterError,
    PyValueError,
    "A capture filter cannot be used."
);

impl From<Stop> for PyErr {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Unreadable(message) => CaptureError::new_err(message),
            Stop::Filter(link_type, message) => {
                let name = link_type_name(link_type)
                    .map_or_else(|| format!("link type {link_type}"), ToOwned::to_owned);
                FilterError::new_err(format!(
                    "filter does not fit this capture ({name}): {message}"
                ))
            }
        }
    }
}

/// Returns file, frame, offset in bytes and reason of each damage.
pub(super) fn places(damages: &[capture::CaptureError]) -> Vec<(String, u64, u64, String)> {
    let place =
        |d: &capture::CaptureError| (d.file.clone(), d.frame, d.offset, d.reason.to_string());
    damages.iter().map(place).collect()
}
