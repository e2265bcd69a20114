//! # Python
//! The extension module `bdpcap._core`. No other module of the core depends on Python.

#![allow(missing_docs, reason = "documented in _core.pyi, where Python looks")]

use crate::annotate;
use crate::budget::Budget;
use crate::columns::{self, Column, Columns};
use crate::decode::{Undecoded, link_type_name};
use crate::excerpt::{self, Rename};
use crate::paths::Paths;
use crate::pipeline::{self, Pipeline, Stop};
use crate::source::Source;
use crate::track::{InferredScales, NULL, Shards, WantedEvents};
use faults::{CaptureError, FilterError, places};
use filters::{Instructions, compiled, load};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use std::collections::HashMap;
use std::io::{self, Read};
use std::net::IpAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod faults;
mod filters;
mod pieces;
mod spans;
mod tables;

/// An exception raised in Python while a source was read that is not an `Exception`, such as `KeyboardInterrupt`. It is
/// no fault of the capture and is raised again when reading returns.
#[derive(Clone, Default)]
struct Interrupt(Arc<Mutex<Option<PyErr>>>);

impl Interrupt {
    /// Converts an exception to an I/O error, and stores it if it is not an `Exception`.
    fn as_io(&self, error: PyErr) -> io::Error {
        let message = error.to_string();
        if !Python::attach(|py| error.is_instance_of::<PyException>(py)) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
        io::Error::other(message)
    }

    /// Returns the result of reading, or raises the stored exception.
    fn or<T>(&self, read: Result<T, Stop>) -> PyResult<T> {
        let stored = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        stored.map_or_else(|| Ok(read?), Err)
    }
}

/// A Python binary file object as a byte stream.
struct Stream {
    file: Py<PyAny>,
    interrupt: Interrupt,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let bytes = self.file.bind(py).call_method1("read", (buffer.len(),))?;
            let bytes = bytes.extract::<&[u8]>().map_err(PyErr::from)?;
            let count = bytes.len().min(buffer.len());
            buffer[..count].copy_from_slice(&bytes[..count]);
            Ok(count)
        })
        .map_err(|error| self.interrupt.as_io(error))
    }
}

fn source(input: &Bound<'_, PyAny>, interrupt: &Interrupt) -> PyResult<Source> {
    if let Ok(path) = input.extract::<PathBuf>() {
        return Ok(Source::Path(path));
    }
    if !input.hasattr("read")? {
        return Err(PyTypeError::new_err(
            "a capture is a path or a binary file object",
        ));
    }
    let name = input
        .getattr("name")
        .and_then(|name| name.extract::<PathBuf>())
        .map_or("<stream>".into(), |name| name.to_string_lossy().into());
    let stream = Stream {
        file: input.clone().unbind(),
        interrupt: interrupt.clone(),
    };
    Ok(Source::Stream(Box::new(stream), name))
}

fn all_sources(inputs: &[Bound<'_, PyAny>], interrupt: &Interrupt) -> PyResult<Vec<Source>> {
    inputs
        .iter()
        .map(|input| source(input, interrupt))
        .collect()
}

fn arrays<'py>(py: Python<'py>, columns: Columns) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::I64(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::U64(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::U32(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::U8(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::Text(places, names) => {
                let names: Vec<_> = names.iter().map(|name| PyString::new(py, name)).collect();
                let texts = places.iter().map(|&place| &names[place as usize]);
                dict.set_item(name, PyList::new(py, texts)?)?;
            }
        }
    }
    Ok(dict)
}

/// The fields of a [`pipeline::WholeCapture`], in their order.
type WholeCapture = (
    Option<i64>,
    Vec<(i64, i64)>,
    Vec<(u32, u64)>,
    Vec<(u64, i64)>,
);

/// Returns a function that checks whether a column is among `names`; without `names` all columns are.
fn wanted(names: Option<&[String]>) -> impl Fn(&str) -> bool {
    move |name| names.is_none_or(|names| names.iter().any(|one| one == name))
}

/// Returns addresses as text.
fn names(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

/// Returns the range of up to `count` existing streams from `first` on.
fn streams(table: &Shards, first: usize, count: Option<usize>) -> Range<usize> {
    let end = count.map_or(table.len(), |count| {
        first.saturating_add(count).min(table.len())
    });
    first.min(end)..end
}

/// Returns the budget with these entries; entries that are not named keep their defaults.
fn limited(named: HashMap<String, usize>) -> PyResult<Budget> {
    let mut budget = Budget::DEFAULT;
    for (name, most) in named {
        let mut known = budget.named().into_iter();
        match known.find(|(known, _)| *known == name) {
            Some((_, limit)) => *limit = most,
            None => return Err(PyValueError::new_err(format!("no such limit: {name}"))),
        }
    }
    Ok(budget)
}

#[pyclass(module = "bdpcap._core")]
struct Analysis(Mutex<Pipeline>, Interrupt);

impl Analysis {
    fn pipeline(&self) -> MutexGuard<'_, Pipeline> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Analysis {
    #[new]
    #[pyo3(signature = (
        sources, filters=None, *, events=false, rounds=true, streams=None, scales=None, budget=None, jobs=1
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python they have names")]
    fn new(
        sources: Vec<Bound<'_, PyAny>>,
        filters: Option<HashMap<u32, Bound<'_, PyAny>>>,
        events: bool,
        rounds: bool,
        streams: Option<Vec<u32>>,
        scales: Option<InferredScales>,
        budget: Option<HashMap<String, usize>>,
        jobs: usize,
    ) -> PyResult<Self> {
        let interrupt = Interrupt::default();
        let sources = all_sources(&sources, &interrupt)?;
        let wanted = match (events, streams) {
            (false, _) => WantedEvents::None,
            (true, None) if rounds => WantedEvents::All,
            (true, None) => WantedEvents::Events,
            (true, Some(streams)) => WantedEvents::Streams(streams.into_iter().collect()),
        };
        let filters = filters.map(compiled).transpose()?;
        let scales = scales.unwrap_or_default();
        let budget = limited(budget.unwrap_or_default())?;
        let pipeline = Pipeline::new(sources, filters, &wanted, &scales, budget, jobs);
        let pipeline = interrupt.or(pipeline)?;
        Ok(Self(Mutex::new(pipeline), interrupt))
    }

    #[staticmethod]
    fn of_pieces(
        pieces: Vec<Bound<'_, PyAny>>,
        whole: WholeCapture,
        scales: InferredScales,
    ) -> PyResult<Self> {
        let interrupt = Interrupt::default();
        let sources = all_sources(&pieces, &interrupt)?;
        let (first_ns, recordings, link_types, before) = whole;
        let whole = pipeline::WholeCapture {
            first_ns,
            recordings: pieces::recordings_of(recordings),
            link_types,
            before: before.into(),
        };
        let pipeline = interrupt.or(Pipeline::of_pieces(sources, whole, &scales))?;
        Ok(Self(Mutex::new(pipeline), interrupt))
    }

    fn advance(&self, py: Python<'_>, frames: usize) -> PyResult<bool> {
        self.1.or(py.detach(|| self.pipeline().advance(frames)))
    }

    #[getter]
    fn bytes_read(&self) -> u64 {
        self.pipeline().bytes_read()
    }

    #[getter]
    fn frames(&self) -> u64 {
        self.pipeline().counts().frames
    }

    #[getter]
    fn streams(&self) -> usize {
        self.pipeline().streams()
    }

    #[getter]
    fn first_ns(&self) -> Option<i64> {
        self.pipeline().first_ns()
    }

    #[pyo3(signature = (names=None))]
    fn take_events<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| {
            let mut pipeline = self.pipeline();
            let rows = &mut pipeline.rows().events;
            let columns = columns::events(rows, wanted(names.as_deref()));
            // Clearing keeps the memory for the next call.
            rows.clear();
            columns
        });
        arrays(py, columns)
    }

    #[pyo3(signature = (first=0, most=None, names=None))]
    fn rounds<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        most: Option<usize>,
        names: Option<Vec<String>>,
    ) -> PyResult<(Bound<'py, PyDict>, usize)> {
        let most = most.unwrap_or(usize::MAX);
        let (columns, next) = py.detach(|| {
            let mut pipeline = self.pipeline();
            columns::rounds(pipeline.table(), first, most, wanted(names.as_deref()))
        });
        Ok((arrays(py, columns)?, next))
    }

    fn take_turns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = std::mem::take(&mut self.pipeline().rows().turns);
        arrays(py, py.detach(|| columns::turns(&rows)))
    }

    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let paths = py.detach(|| {
            let mut pipeline = self.pipeline();
            let recordings = pipeline.recordings();
            let (table, datagrams) = pipeline.table_and_datagrams();
            Paths::of(table, datagrams.flows(), &recordings)
        });
        let dict = PyDict::new(py);
        dict.set_item("of_streams", paths.of_streams.into_pyarray(py))?;
        dict.set_item("of_datagrams", paths.of_datagrams.into_pyarray(py))?;
        dict.set_item("rtt_ns", paths.rtt_ns.into_pyarray(py))?;
        dict.set_item("row", paths.shared.row.into_pyarray(py))?;
        dict.set_item("start_ns", paths.shared.start_ns.into_pyarray(py))?;
        dict.set_item("end_ns", paths.shared.end_ns.into_pyarray(py))?;
        let delivered = paths.shared.delivered_bytes;
        dict.set_item("delivered_bytes", delivered.into_pyarray(py))?;
        dict.set_item("last_ns", paths.end_ns.into_pyarray(py))?;
        dict.set_item("rounds", paths.rounds)?;
        Ok(dict)
    }

    #[pyo3(signature = (first=0, count=None, names=None))]
    fn directions<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        count: Option<usize>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| {
            let mut pipeline = self.pipeline();
            let recordings = pipeline.recordings();
            let data_alone = pipeline.counts().holds_data_alone();
            let table = pipeline.table();
            columns::directions(
                table,
                &recordings,
                streams(table, first, count),
                data_alone,
                wanted(names.as_deref()),
            )
        });
        arrays(py, columns)
    }

    #[pyo3(signature = (first=0, count=None))]
    fn connections<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        count: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| {
            let mut pipeline = self.pipeline();
            let table = pipeline.table();
            columns::connections(table, streams(table, first, count))
        });
        arrays(py, columns)
    }

    fn datagrams<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pipeline = self.pipeline();
        let begun_ns = pipeline.first_ns().unwrap_or_default();
        arrays(
            py,
            columns::datagrams(pipeline.datagrams().flows(), begun_ns),
        )
    }

    fn refusals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, columns::refusals(self.pipeline().refusals().rows()))
    }

    fn capturing_hosts(&self) -> Vec<String> {
        names(&self.pipeline().cooked_hosts().own())
    }

    fn unpadded_hosts(&self) -> Vec<String> {
        names(&self.pipeline().counts().unpadded_hosts.own())
    }

    fn first_frames<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.pipeline()
            .table()
            .first_frames()
            .to_vec()
            .into_pyarray(py)
    }

    fn damages(&self) -> Vec<(String, u64, u64, String)> {
        places(self.pipeline().damages())
    }

    fn recordings(&self) -> Vec<(i64, i64)> {
        let all = self.pipeline().recordings();
        all.iter().map(|one| (one.begin_ns, one.tick_ns)).collect()
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut pipeline = self.pipeline();
        let table = pipeline.table();
        let (streams, quoted, left_out) = (table.len(), table.quoted(), table.left_out());
        let (counts, times) = (pipeline.counts(), pipeline.times());
        let dict = PyDict::new(py);
        dict.set_item("frames", counts.frames)?;
        dict.set_item("filtered_out", counts.filtered_out)?;
        dict.set_item("segments", counts.segments)?;
        dict.set_item("wifi_segments", counts.wifi_segments)?;
        dict.set_item("wifi_retries", counts.wifi_retries)?;
        dict.set_item("datagrams", counts.datagrams)?;
        dict.set_item("streams", streams)?;
        dict.set_item("quoted", quoted)?;
        let packets_left_out = left_out.segments + pipeline.datagrams().left_out();
        dict.set_item("packets_left_out", packets_left_out)?;
        dict.set_item("turns_left_out", left_out.turns)?;
        dict.set_item("too_deep", counts.undecoded[Undecoded::Depth.index()])?;
        dict.set_item("cut_by_snaplen", counts.cut)?;
        dict.set_item("without_time", counts.without_time)?;
        dict.set_item("time_backwards", times.backwards)?;
        dict.set_item("tick_ns", pipeline.tick_ns())?;
        dict.set_item("first_ns", times.first_ns())?;
        dict.set_item("last_ns", times.last_ns())?;
        let undecoded = PyDict::new(py);
        for reason in Undecoded::ALL {
            let count = counts.undecoded[reason.index()];
            if count > 0 {
                undecoded.set_item(reason.reason(), count)?;
            }
        }
        dict.set_item("undecoded", undecoded)?;
        let link_types = PyDict::new(py);
        let mut sorted = pipeline.link_types().to_vec();
        sorted.sort_unstable();
        for (link_type, count) in sorted {
            let name = link_type_name(link_type)
                .map_or_else(|| format!("link type {link_type}"), ToOwned::to_owned);
            link_types.set_item(name, count)?;
        }
        dict.set_item("link_types", link_types)?;
        let paths = PyDict::new(py);
        for (path, &count) in &counts.paths {
            paths.set_item(path.to_string(), count)?;
        }
        dict.set_item("paths", paths)?;
        Ok(dict)
    }

    fn captures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (name, info) in self.pipeline().captures() {
            let dict = PyDict::new(py);
            dict.set_item("file", name)?;
            dict.set_item("format", &info.format)?;
            dict.set_item("compression", info.compression)?;
            dict.set_item("sections", info.sections)?;
            let mut comments = info.comments.clone();
            if info.texts_left_out > 0 {
                let count = info.texts_left_out;
                comments.push(format!("{count} more comments and names are left out"));
            }
            dict.set_item("comments", comments)?;
            dict.set_item("hardware", &info.hardware)?;
            dict.set_item("os", &info.os)?;
            dict.set_item("application", &info.application)?;
            dict.set_item("frames", info.frames)?;
            dict.set_item("first_ns", info.times.first_ns())?;
            dict.set_item("last_ns", info.times.last_ns())?;
            dict.set_item("longest_gap_ns", info.times.longest_gap_ns)?;
            dict.set_item("furthest_back_ns", info.times.furthest_back_ns)?;
            dict.set_item("drops", info.drops())?;
            dict.set_item("unit_ns", info.unit_ns())?;
            dict.set_item("least_step_ns", info.times.ticks.steps().2)?;
            let interfaces = PyList::empty(py);
            for interface in &info.interfaces {
                let entry = PyDict::new(py);
                entry.set_item("link_type", interface.link_type)?;
                entry.set_item("snaplen", interface.snaplen)?;
                entry.set_item("time_unit", &interface.time_unit)?;
                entry.set_item("name", &interface.name)?;
                entry.set_item("description", &interface.description)?;
                entry.set_item("filter", &interface.filter)?;
                entry.set_item("drops", interface.drops())?;
                interfaces.append(entry)?;
            }
            dict.set_item("interfaces", interfaces)?;
            list.append(dict)?;
        }
        Ok(list)
    }
}

#[pyclass(module = "bdpcap._core")]
struct Excerpt(Mutex<excerpt::Excerpt>, Interrupt);

#[pymethods]
impl Excerpt {
    #[new]
    #[pyo3(signature = (sources, wanted, *, headers_only=false, rename=None, about=None, resolution=9))]
    fn new(
        sources: Vec<Bound<'_, PyAny>>,
        wanted: Vec<(u64, i64)>,
        headers_only: bool,
        rename: Option<Py<PyAny>>,
        about: Option<String>,
        resolution: u8,
    ) -> PyResult<Self> {
        let interrupt = Interrupt::default();
        let sources = all_sources(&sources, &interrupt)?;
        let rename = rename.map(|call| -> Rename {
            let interrupt = interrupt.clone();
            Box::new(move |address| {
                Python::attach(|py| call.bind(py).call1((address,))?.extract())
                    .map_err(|error| interrupt.as_io(error))
            })
        });
        let wanted = wanted.into();
        let excerpt =
            excerpt::Excerpt::new(sources, wanted, headers_only, rename, about, resolution);
        Ok(Self(Mutex::new(interrupt.or(excerpt)?), interrupt))
    }

    fn take<'py>(&self, py: Python<'py>, frames: usize) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let mut out = Vec::new();
        let more = self.1.or(py.detach(|| {
            let mut excerpt = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            excerpt.advance(frames, &mut out)
        }))?;
        Ok((PyBytes::new(py, &out), more))
    }
}

#[pyclass(module = "bdpcap._core")]
struct Annotated(Mutex<annotate::Annotated>, Interrupt);

#[pymethods]
impl Annotated {
    #[new]
    fn new(
        sources: Vec<Bound<'_, PyAny>>,
        about: String,
        comments: Vec<(u64, String)>,
    ) -> PyResult<Self> {
        let interrupt = Interrupt::default();
        let sources = all_sources(&sources, &interrupt)?;
        let annotated = annotate::Annotated::new(sources, about, comments.into());
        Ok(Self(Mutex::new(interrupt.or(annotated)?), interrupt))
    }

    fn take<'py>(&self, py: Python<'py>, least: usize) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let mut out = Vec::new();
        let more = self.1.or(py.detach(|| {
            let mut annotated = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            annotated.advance(least, &mut out)
        }))?;
        Ok((PyBytes::new(py, &out), more))
    }

    #[getter]
    fn written(&self) -> u64 {
        let annotated = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        annotated.written()
    }
}

#[pyfunction]
fn filter_matches(program: Instructions, data: &[u8], wire_len: u32) -> PyResult<bool> {
    Ok(load(&program)?.matches(data, wire_len))
}

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // PyO3 raises a panic in Python as an exception with the same message, so the backtrace on stderr is suppressed.
    if std::env::var_os("BDPCAP_DEBUG").is_none() {
        std::panic::set_hook(Box::new(|_| ()));
    }
    module.add_class::<Analysis>()?;
    module.add_class::<Excerpt>()?;
    module.add_class::<Annotated>()?;
    module.add_class::<tables::Parquet>()?;
    module.add_class::<pieces::Pieces>()?;
    module.add_function(wrap_pyfunction!(pieces::recordings, module)?)?;
    module.add_function(wrap_pyfunction!(tables::csv_lines, module)?)?;
    module.add_function(wrap_pyfunction!(tables::with_row_groups, module)?)?;
    module.add_function(wrap_pyfunction!(filter_matches, module)?)?;
    module.add_function(wrap_pyfunction!(spans::somewhere, module)?)?;
    module.add_function(wrap_pyfunction!(spans::floats, module)?)?;
    module.add_function(wrap_pyfunction!(spans::percentiles, module)?)?;
    module.add_function(wrap_pyfunction!(spans::median_around, module)?)?;
    module.add_function(wrap_pyfunction!(spans::medians, module)?)?;
    module.add_function(wrap_pyfunction!(spans::sums, module)?)?;
    module.add("CaptureError", module.py().get_type::<CaptureError>())?;
    module.add("FilterError", module.py().get_type::<FilterError>())?;
    for (name, names) in columns::NAMES {
        module.add(name, names)?;
    }
    module.add("LINK_TYPES", crate::decode::LINK_TYPES)?;
    module.add("NULL", NULL)?;
    let budget = PyDict::new(module.py());
    for (name, limit) in Budget::default().named() {
        budget.set_item(name, *limit)?;
    }
    module.add("BUDGET", budget)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // A debug build is about thirty times slower; the Python side warns of it.
    module.add("OPTIMISED", !cfg!(debug_assertions))?;
    Ok(())
}
