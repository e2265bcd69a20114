//! # Intake
//! Reads captures one after the other, and filters and decodes their frames.

use crate::budget::Budget;
use crate::capture::{CaptureError, CaptureInfo, Frame, Reader, Recording, Times, recordings};
use crate::decode::{self, ETHERNET, Packet, Path, Quoted, Undecoded};
use crate::filter::Program;
use crate::source::{Source, Stop, in_order};
use crate::track::{At, UnpaddedHosts};
use std::collections::{HashMap, VecDeque};
use std::mem;

/// For each link type a filter program, or libpcap's message why there is none.
pub type Filters = HashMap<u32, Result<Program, String>>;

/// Counts of frames and packets.
#[derive(Debug, Default)]
pub struct Counts {
    /// Number of frames read.
    pub frames: u64,
    /// Number of frames that the filter rejected.
    pub filtered_out: u64,
    /// Number of TCP segments.
    pub segments: u64,
    /// Number of TCP segments with payload.
    pub data_segments: u64,
    /// Does a TCP segment acknowledge alone, without payload, SYN, FIN and RST?
    pub has_pure_acks: bool,
    /// Number of TCP segments in frames of IEEE 802.11.
    pub wifi_segments: u64,
    /// Number of `wifi_segments` in frames that their station had sent before.
    pub wifi_retries: u64,
    /// Number of UDP datagrams.
    pub datagrams: u64,
    /// Number of frames that are neither a TCP segment nor a UDP datagram, by reason ([`Undecoded::index`]).
    pub undecoded: [u64; Undecoded::COUNT],
    /// Number of frames of each link type.
    pub link_types: Vec<(u32, u64)>,
    /// Number of TCP segments with each combination of tags and tunnel headers around them.
    pub paths: HashMap<Path, u64>,
    /// Number of frames that are shorter in the capture than they were on the wire.
    pub cut: u64,
    /// Number of frames without a valid time. They get the time of the preceding frame.
    pub without_time: u64,
    /// Evidence of which addresses are the capturing host's, by the padding of Ethernet frames.
    pub unpadded_hosts: UnpaddedHosts,
}

impl Counts {
    /// Fewest segments with payload among which an acknowledgment alone is to be expected: a choice.
    const MANY: u64 = 20;

    /// Returns whether there are many segments with payload and no acknowledgment alone: these were filtered out.
    #[must_use]
    pub fn holds_data_alone(&self) -> bool {
        self.data_segments >= Self::MANY && !self.has_pure_acks
    }

    /// Maximum number of combinations counted; a flood brings more.
    const MAX_PATHS: usize = 1 << 16;

    fn count_path(&mut self, path: &Path) {
        if self.paths.len() < Self::MAX_PATHS || self.paths.contains_key(path) {
            *self.paths.entry(*path).or_default() += 1;
        }
    }

    #[inline]
    fn count_link_type(&mut self, link_type: u32) {
        // Nearly every capture has a single link type.
        match self.link_types.first_mut() {
            Some((one, frames)) if *one == link_type => *frames += 1,
            _ => self.count_other_link_type(link_type),
        }
    }

    #[cold]
    fn count_other_link_type(&mut self, link_type: u32) {
        match self
            .link_types
            .iter_mut()
            .find(|(one, _)| *one == link_type)
        {
            Some((_, frames)) => *frames += 1,
            None => self.link_types.push((link_type, 1)),
        }
    }
}

/// Facts on a whole capture that its pieces, as [`crate::pieces`] makes them, do not contain.
#[derive(Debug, Default)]
pub struct WholeCapture {
    /// Time of the earliest frame in ns since the epoch.
    pub first_ns: Option<i64>,
    /// Its recordings; see [`recordings`].
    pub recordings: Vec<Recording>,
    /// Number of frames of each link type.
    pub link_types: Vec<(u32, u64)>,
    /// For each source, the number of frames that precede it in the whole capture, and the time of the last of them.
    /// The time is in ns since the epoch; frames without a time do not count for it.
    pub before: VecDeque<(u64, i64)>,
}

/// Reader of several captures as one; it yields decoded packets.
pub struct Intake {
    sources: VecDeque<Source>,
    names: VecDeque<String>,
    reader: Option<Reader>,
    read_before: u64,
    frames_before: u64,
    counted_before: u64,
    /// Times of the frames of the current capture.
    times: Times,
    /// Times of the frames of all captures before it.
    times_before: Times,
    /// Frames of the current capture without a valid time.
    without_time_here: u64,
    filters: Option<Filters>,
    budget: Budget,
    /// Counts of the frames read so far.
    pub counts: Counts,
    whole: Option<WholeCapture>,
    /// Name and description of each capture that was read to its end or to its damage.
    pub captures: Vec<(String, CaptureInfo)>,
    /// The places where captures are damaged.
    pub damages: Vec<CaptureError>,
}

impl Intake {
    /// Times are clamped to between the epoch and this, 146 years later (pcap's own clock ends in 2106). Differences
    /// of two times then fit in 64 bits; sums saturate.
    const FURTHEST_NS: i64 = 1 << 62;

    /// Opens the first source. If `whole` is given, the sources are pieces of that capture, in the row format of
    /// [`crate::pieces`].
    ///
    /// # Errors
    /// If one of the sources cannot be read at all.
    pub fn new(
        sources: Vec<Source>,
        filters: Option<Filters>,
        whole: Option<WholeCapture>,
    ) -> Result<Self, Stop> {
        // Pieces are already in the order of their files.
        let sources = match whole {
            Some(_) => sources.into(),
            None => in_order(sources)?,
        };
        let names = sources.iter().map(Source::name).collect();
        let mut intake = Self {
            sources,
            names,
            reader: None,
            read_before: 0,
            frames_before: 0,
            counted_before: 0,
            times: Times::default(),
            times_before: Times::default(),
            without_time_here: 0,
            filters,
            budget: Budget::DEFAULT,
            counts: Counts::default(),
            whole,
            captures: Vec::new(),
            damages: Vec::new(),
        };
        intake.open_next()?;
        Ok(intake)
    }

    /// Sets the bounds on the headers decoded in a frame and on the compression ratio.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
        if let Some(reader) = &mut self.reader {
            reader.limit_ratio(budget.ratio);
        }
    }

    fn open_next(&mut self) -> Result<(), Stop> {
        let open = match self.whole {
            Some(_) => Source::open_rows,
            None => Source::open,
        };
        self.reader = self.sources.pop_front().map(open).transpose()?;
        self.without_time_here = 0;
        self.set_budget(self.budget);
        if let Some(before) = self.whole.as_mut().and_then(|it| it.before.pop_front()) {
            let (frames, time_ns) = before;
            self.frames_before = frames;
            self.times_before.start_after(time_ns);
        }
        Ok(())
    }

    /// Returns the times of the frames read so far, of those that have one.
    #[must_use]
    pub fn times(&self) -> Times {
        self.times_before.then(&self.times)
    }

    /// Returns the number of bytes read from the sources so far; a compressed source counts its compressed bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read_before + self.reader.as_ref().map_or(0, Reader::bytes_read)
    }

    /// Returns the time of the earliest frame of the whole capture, in ns since the epoch.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        let counted = || self.times().first_ns();
        self.whole.as_ref().map_or_else(counted, |it| it.first_ns)
    }

    /// Returns the recordings of the whole capture, as far as it was read.
    #[must_use]
    pub fn recordings(&self) -> Vec<Recording> {
        if let Some(whole) = &self.whole {
            return whole.recordings.clone();
        }
        let read = self
            .captures
            .iter()
            .map(|(_, info)| (info.times, info.unit_ns()));
        let here = self
            .reader
            .iter()
            .map(|reader| (self.times, reader.info().unit_ns()));
        recordings(&read.chain(here).collect::<Vec<_>>())
    }

    /// Returns the resolution of the whole capture's timestamps in ns: that of the recording with the coarsest clock.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        let ticks = self.recordings().iter().map(|one| one.tick_ns).max();
        ticks.unwrap_or_else(|| self.unit_ns())
    }

    /// Returns the coarsest unit of the timestamps read so far, in ns.
    #[must_use]
    pub fn unit_ns(&self) -> i64 {
        let read = self.captures.iter().map(|(_, info)| info);
        let every = read.chain(self.reader.as_ref().map(Reader::info));
        every.map(CaptureInfo::unit_ns).max().unwrap_or(1)
    }

    /// Returns the number of frames of each link type in the whole capture.
    #[must_use]
    pub fn link_types(&self) -> &[(u32, u64)] {
        let counted = &self.counts.link_types;
        self.whole.as_ref().map_or(counted, |it| &it.link_types)
    }

    fn next_capture(&mut self) -> Result<(), Stop> {
        if let Some(reader) = self.reader.take() {
            self.read_before += reader.bytes_read();
            let frames = self.counts.frames - self.counted_before;
            self.counted_before = self.counts.frames;
            self.frames_before += frames;
            let name = self.names.pop_front().unwrap_or_default();
            let info = reader.info().clone();
            self.times_before = self.times();
            let times = mem::take(&mut self.times);
            let info = CaptureInfo {
                frames,
                times,
                ..info
            };
            self.captures.push((name, info));
        }
        self.open_next()
    }

    /// Reads up to `frames` frames and calls `take` with each decoded packet and its frame. A frame without a valid time
    /// gets the time of the frame before, if that is known. Returns whether more frames may follow.
    ///
    /// # Errors
    /// If a source cannot be read at all, or the filter does not fit. Damage in the middle of a capture is no error
    /// but is added to [`Intake::damages`].
    pub fn read(
        &mut self,
        frames: usize,
        mut take: impl FnMut(&Packet<'_>, &Path, At, &Frame<'_>),
    ) -> Result<bool, Stop> {
        let mut path = Path::default();
        for _ in 0..frames {
            let Some(reader) = &mut self.reader else {
                return Ok(false);
            };
            let frame = match reader.buffered_frame() {
                Some(frame) => frame,
                None => match reader.next_frame() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => {
                        self.next_capture()?;
                        continue;
                    }
                    Err(damage) => {
                        self.damages.push(damage);
                        continue;
                    }
                },
            };
            let counts = &mut self.counts;
            counts.frames += 1;
            counts.count_link_type(frame.link_type);
            counts.cut += u64::from((frame.data.len() as u64) < u64::from(frame.wire_len));
            if frame.time_ns.is_none() {
                counts.without_time += 1;
                self.without_time_here += 1;
            }
            // Where most frames have no valid time, the times of the others are wrong too.
            let time_ns = frame
                .time_ns
                .filter(|_| self.without_time_here <= frame.number / 2);
            let known_ns = match time_ns {
                Some(time_ns) => {
                    let time_ns = time_ns.clamp(0, Self::FURTHEST_NS);
                    self.times.add(time_ns);
                    Some(time_ns)
                }
                None => {
                    let here_ns = self.times.closed_ns();
                    here_ns.or_else(|| self.times_before.closed_ns())
                }
            };
            if let Some(filters) = &self.filters {
                match filters.get(&frame.link_type) {
                    Some(Ok(program)) if program.matches(frame.data, frame.wire_len) => {}
                    Some(Ok(_)) => {
                        counts.filtered_out += 1;
                        continue;
                    }
                    Some(Err(message)) => {
                        return Err(Stop::Filter(frame.link_type, message.clone()));
                    }
                    None => {} // the link type is not decoded, which is counted below
                }
            }
            if !path.is_plain() {
                path = Path::default();
            }
            let at = At {
                time_ns: known_ns.unwrap_or_default(),
                frame: self.frames_before + frame.number,
            };
            let headers = self.budget.headers;
            let decoded = decode::decode(
                frame.link_type,
                frame.data,
                frame.wire_len,
                headers,
                &mut path,
            );
            match &decoded {
                Ok(Packet::Tcp(segment)) => {
                    counts.segments += 1;
                    counts.data_segments += u64::from(segment.has_payload());
                    counts.has_pure_acks = counts.has_pure_acks || segment.is_pure_ack();
                    if frame.link_type == ETHERNET {
                        if counts.unpadded_hosts.want(frame.wire_len)
                            && path.is_plain()
                            && !segment.has_payload()
                        {
                            let [source, _] = segment.ends();
                            let (from, ttl) = (source.address, segment.ttl());
                            counts.unpadded_hosts.take(from, ttl, frame.wire_len);
                        }
                    } else if let Some(retry) =
                        decode::is_wifi_retry(frame.link_type, frame.data, frame.wire_len)
                    {
                        counts.wifi_segments += 1;
                        counts.wifi_retries += u64::from(retry);
                    }
                    if !path.is_plain() {
                        counts.count_path(&path);
                    }
                }
                Ok(Packet::Datagram(_)) => counts.datagrams += 1,
                Ok(Packet::Quoted(Quoted {
                    counted: reason, ..
                }))
                | Err(reason) => {
                    counts.undecoded[reason.index()] += 1;
                }
            }
            // Moving the packet would stall the CPU: it would load fields that were just stored in smaller parts.
            if let Ok(packet) = &decoded {
                let time_ns = known_ns;
                take(packet, &path, at, &Frame { time_ns, ..frame });
            }
        }
        Ok(self.reader.is_some())
    }
}
