//! # Source
//! The files and streams that frames are read from, and the order in which several files are read.

use crate::capture::Reader;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

/// Why reading ended before the end of the capture.
#[derive(Debug)]
pub enum Stop {
    /// A source cannot be read; the message names the file and the reason.
    Unreadable(String),
    /// The filter cannot be compiled for a link type of the capture; holds the link type and libpcap's message.
    Filter(u32, String),
}

/// A file or stream that frames are read from.
pub enum Source {
    /// A file, opened when the sources before it have been read.
    Path(PathBuf),
    /// A stream that can be read once, and its name for messages.
    Stream(Box<dyn Read + Send>, String),
}

impl Source {
    /// Returns the name for messages; bytes of a path that are not UTF-8 are replaced.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.to_string_lossy().into_owned(),
            Self::Stream(_, name) => name.clone(),
        }
    }

    pub(crate) fn open(self) -> Result<Reader, Stop> {
        let name = self.name();
        let opened = match self {
            Self::Path(path) => Reader::open_file(file(path, &name)?, &name),
            // A stream is not read ahead by another thread: Python must be able to interrupt the read in this one.
            Self::Stream(stream, _) => Reader::open(stream, &name),
        };
        opened.map_err(|error| Stop::Unreadable(error.to_string()))
    }

    /// Opens a source in the row format that [`crate::pieces`] writes.
    pub(crate) fn open_rows(self) -> Result<Reader, Stop> {
        let name = self.name();
        let stream = match self {
            Self::Path(path) => Box::new(file(path, &name)?),
            Self::Stream(stream, _) => stream,
        };
        Reader::open_rows(stream, &name).map_err(|error| Stop::Unreadable(error.to_string()))
    }
}

fn file(path: PathBuf, name: &str) -> Result<File, Stop> {
    File::open(path).map_err(|error| Stop::Unreadable(format!("{name}: cannot be opened: {error}")))
}

/// Sorts files by the time of their first frame, so that a rotated capture may be given in any order. If one of the
/// sources is a stream or a named pipe, which can be read only once, the given order is kept.
pub(crate) fn in_order(sources: Vec<Source>) -> Result<VecDeque<Source>, Stop> {
    let reads_once = |source: &Source| match source {
        Source::Path(path) => fs::metadata(path).is_ok_and(|found| !found.is_file()),
        Source::Stream(..) => true,
    };
    if sources.len() < 2 || sources.iter().any(reads_once) {
        return Ok(sources.into());
    }
    let mut timed = Vec::with_capacity(sources.len());
    for source in sources {
        let Source::Path(path) = source else { continue };
        timed.push((first_frame_ns(path.clone())?, path));
    }
    timed.sort_by_key(|(first_ns, _)| *first_ns);
    Ok(timed
        .into_iter()
        .map(|(_, path)| Source::Path(path))
        .collect())
}

/// Returns the time of a file's first frame in ns since the epoch, by which files are sorted. A capture without frames
/// or times gets `i64::MAX`: such captures come last, in the given order.
pub(crate) fn first_frame_ns(path: PathBuf) -> Result<i64, Stop> {
    let mut reader = Source::Path(path).open()?;
    let first = reader.next_frame().ok().flatten();
    Ok(first.and_then(|frame| frame.time_ns).unwrap_or(i64::MAX))
}
