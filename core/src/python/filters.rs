//! # Filters
//! Python access to [`crate::filter`].

use super::faults::FilterError;
use crate::filter::Program;
use crate::intake::Filters;
use pyo3::prelude::*;
use std::collections::HashMap;

pub(super) type Instructions = Vec<(u16, u8, u8, u32)>;

pub(super) fn compiled(programs: HashMap<u32, Bound<'_, PyAny>>) -> PyResult<Filters> {
    let mut filters = Filters::new();
    for (link_type, program) in programs {
        let entry = if let Ok(message) = program.extract::<String>() {
            Err(message)
        } else {
            Ok(load(&program.extract::<Instructions>()?)?)
        };
        filters.insert(link_type, entry);
    }
    Ok(filters)
}

pub(super) fn load(instructions: &[(u16, u8, u8, u32)]) -> PyResult<Program> {
    Program::new(instructions).map_err(|error| FilterError::new_err(error.to_string()))
}
