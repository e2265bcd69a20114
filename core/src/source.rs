//! # Source
//! Where frames come from, and in which order several files are read.

use crate::capture::Reader;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

/// Why frames stopped coming before the end.
#[derive(Debug)]
pub enum Stop {
    /// Nothing could be read: which file, and why.
    Unreadable(String),
    /// The filter does not fit a link type that the capture has: link type, libpcap's message.
    Filter(u32, String),
}

/// Where frames come from.
pub enum Source {
    /// A file, opened when its turn comes.
    Path(PathBuf),
    /// A stream that can be read once, and what to call it.
    Stream(Box<dyn Read + Send>, String),
}

impl Source {
    /// What to call it in messages; bytes of a path that are no UTF-8 are replaced.
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
            // What Python reads must be interrupted where it is waited for: here.
            Self::Stream(stream, _) => Reader::open(stream, &name),
        };
        opened.map_err(|error| Stop::Unreadable(error.to_string()))
    }

    /// Opens rows that [`crate::pieces`] wrote.
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

/// Files by the time of their first frame, so that a rotated capture may be named in any order. What can be read once
/// only, a stream or a named pipe, cannot be looked into first: then all stay put.
pub(crate) fn in_order(sources: Vec<Source>) -> Result<VecDeque<Source>, Stop> {
    let once = |source: &Source| match source {
        Source::Path(path) => fs::metadata(path).is_ok_and(|found| !found.is_file()),
        Source::Stream(..) => true,
    };
    if sources.len() < 2 || sources.iter().any(once) {
        return Ok(sources.into());
    }
    let mut timed = Vec::with_capacity(sources.len());
    for source in sources {
        let Source::Path(path) = source else { continue };
        timed.push((place(path.clone())?, path));
    }
    timed.sort_by_key(|(place, _)| *place);
    Ok(timed
        .into_iter()
        .map(|(_, path)| Source::Path(path))
        .collect())
}

/// Where a file stands among others: the time of its first frame. Captures without frames or times keep their place at
/// the end.
pub(crate) fn place(path: PathBuf) -> Result<i64, Stop> {
    let mut reader = Source::Path(path).open()?;
    let first = reader.next_frame().ok().flatten();
    Ok(first.and_then(|frame| frame.time_ns).unwrap_or(i64::MAX))
}
