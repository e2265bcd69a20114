//! # Pipeline
//! Captures through the filter and the decoder into the table of connections, a stretch of frames at a time.

use crate::capture::{CaptureError, CaptureInfo, Reader, Ticks, Times};
use crate::decode::{self, Packet, Path, Segment, Undecoded};
use crate::filter::Program;
use crate::source::{Source, in_order};
use crate::track::{
    At, Batch, Datagrams, Ended, News, Register, Scales, Seen, Shards, Table, Wanted, shard,
};
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

/// Why frames stopped coming before the end.
#[derive(Debug)]
pub enum Stop {
    /// Nothing could be read: which file, and why.
    Unreadable(String),
    /// The filter does not fit a link type that the capture has: link type, libpcap's message.
    Filter(u32, String),
}

/// One filter program per link type, or why there is none.
pub type Filters = HashMap<u32, Result<Program, String>>;

/// What was counted on the way.
#[derive(Debug, Default)]
pub struct Counts {
    /// Frames read.
    pub frames: u64,
    /// Frames that the filter left out.
    pub filtered_out: u64,
    /// TCP segments.
    pub segments: u64,
    /// UDP datagrams.
    pub datagrams: u64,
    /// Frames that gave neither, by [`Undecoded::index`].
    pub undecoded: [u64; Undecoded::COUNT],
    /// Frames by link type.
    pub link_types: Vec<(u32, u64)>,
    /// Frames by what they were wrapped in.
    pub paths: HashMap<Path, u64>,
    /// Frames shorter than they were on the wire.
    pub cut: u64,
    /// Frames without a time; they count as if captured with the frame before.
    pub without_time: u64,
    /// Frames with a time before that of the frame before.
    pub backwards: u64,
    /// How finely the clock counts.
    pub ticks: Ticks,
    /// Earliest frame.
    pub first_ns: Option<i64>,
    /// Latest frame.
    pub last_ns: Option<i64>,
}

impl Counts {
    fn of_link_type(&mut self, link_type: u32) {
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

/// Captures, one after the other, to segments.
struct Intake {
    sources: VecDeque<Source>,
    names: VecDeque<String>,
    reader: Option<Reader>,
    read_before: u64,
    frames_before: u64,
    previous_ns: i64,
    times: Times,
    filters: Option<Filters>,
    counts: Counts,
    datagrams: Datagrams,
    captures: Vec<(String, CaptureInfo)>,
    damages: Vec<CaptureError>,
}

impl Intake {
    /// Times are taken to lie between the epoch and this, 146 years later (pcap's own clock ends in 2106), so that
    /// differences of times fit in 64 bits; sums of two saturate.
    const FURTHEST_NS: i64 = 1 << 62;

    fn new(sources: Vec<Source>, filters: Option<Filters>) -> Result<Self, Stop> {
        let sources = in_order(sources)?;
        let names = sources.iter().map(Source::name).collect();
        let mut intake = Self {
            sources,
            names,
            reader: None,
            read_before: 0,
            frames_before: 0,
            previous_ns: i64::MIN,
            times: Times::default(),
            filters,
            counts: Counts::default(),
            datagrams: Datagrams::default(),
            captures: Vec::new(),
            damages: Vec::new(),
        };
        intake.open_next()?;
        Ok(intake)
    }

    fn open_next(&mut self) -> Result<(), Stop> {
        self.reader = self.sources.pop_front().map(Source::open).transpose()?;
        Ok(())
    }

    fn next_capture(&mut self) -> Result<(), Stop> {
        if let Some(reader) = self.reader.take() {
            self.read_before += reader.bytes_read();
            let frames = self.counts.frames - self.frames_before;
            self.frames_before = self.counts.frames;
            let name = self.names.pop_front().unwrap_or_default();
            let info = reader.info().clone();
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

    /// Gives the segments of up to `frames` frames to `take`; says whether there may be more.
    fn read(
        &mut self,
        frames: usize,
        mut take: impl FnMut(Seen, &Segment, &Path, At),
    ) -> Result<bool, Stop> {
        let mut path = Path::default();
        for _ in 0..frames {
            let Some(reader) = &mut self.reader else {
                return Ok(false);
            };
            let frame = match reader.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    self.next_capture()?;
                    continue;
                }
                Err(damage) => {
                    self.damages.push(damage);
                    continue;
                }
            };
            let counts = &mut self.counts;
            counts.frames += 1;
            counts.of_link_type(frame.link_type);
            counts.cut += u64::from((frame.data.len() as u64) < u64::from(frame.wire_len));
            let time_ns = match frame.time_ns {
                Some(time_ns) => {
                    let time_ns = time_ns.clamp(0, Self::FURTHEST_NS);
                    self.times.see(time_ns);
                    counts.backwards += u64::from(time_ns < self.previous_ns);
                    if counts.first_ns.is_some() {
                        counts.ticks.see(self.previous_ns, time_ns);
                    }
                    counts.first_ns = Some(counts.first_ns.map_or(time_ns, |t| t.min(time_ns)));
                    counts.last_ns = Some(counts.last_ns.map_or(time_ns, |t| t.max(time_ns)));
                    self.previous_ns = time_ns;
                    time_ns
                }
                None => {
                    counts.without_time += 1;
                    self.previous_ns.max(0)
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
                    None => {} // not a link type that is decoded: counted as such below
                }
            }
            if !path.is_plain() {
                path = Path::default();
            }
            match decode::decode(frame.link_type, frame.data, frame.wire_len, &mut path) {
                Ok(Packet::Tcp(tcp)) => {
                    counts.segments += 1;
                    if !path.is_plain() {
                        *counts.paths.entry(path).or_default() += 1;
                    }
                    let at = At {
                        time_ns,
                        frame: self.frames_before + frame.number,
                    };
                    take(Seen::Captured, &tcp.segment(), &path, at);
                }
                Ok(Packet::Quoted(reason, tcp)) => {
                    counts.undecoded[reason.index()] += 1;
                    let at = At {
                        time_ns,
                        frame: self.frames_before + frame.number,
                    };
                    take(Seen::Quoted, &tcp.segment(), &path, at);
                }
                Ok(Packet::Datagram(datagram)) => {
                    counts.datagrams += 1;
                    self.datagrams.take(&datagram, time_ns);
                }
                Err(reason) => counts.undecoded[reason.index()] += 1,
            }
        }
        Ok(self.reader.is_some())
    }
}

/// A run over one capture, or several as one.
pub struct Pipeline {
    intake: Intake,
    /// Connections and their rows.
    pub table: Shards,
    schedule: Schedule,
}

/// When connections that ended are let go. It follows from the capture alone, not from how fast threads are.
#[derive(Debug, Default)]
struct Schedule {
    /// Batches begun.
    begun: usize,
    /// By batch, what the tables should let go because of it.
    due: VecDeque<(usize, Vec<Vec<Ended>>)>,
    /// Batches told of.
    told: usize,
}

impl Schedule {
    /// What a batch tells takes effect so many batches later, as tables may be that far behind.
    const DELAY: usize = 2;

    /// The next batch begins: what each of so many tables should let go.
    fn begin(&mut self, tables: usize) -> Vec<Vec<Ended>> {
        self.begun += 1;
        let is_due = |(told, _): &(usize, _)| told + Self::DELAY <= self.begun;
        let due = self.due.front().is_some_and(is_due);
        due.then(|| self.due.pop_front())
            .flatten()
            .map_or_else(|| vec![Vec::new(); tables], |(_, ended)| ended)
    }

    /// All tables told of the next batch.
    fn told(&mut self, register: &mut Register, news: Vec<News>) {
        self.told += 1;
        self.due.push_back((self.told, register.take(news)));
    }

    /// Are the tables as far behind as they may be?
    fn is_behind(&self) -> bool {
        self.begun - self.told >= Self::DELAY
    }
}

/// A thread that fills a table.
struct Worker {
    batches: SyncSender<Batch>,
    told: Receiver<(Batch, News)>,
}

impl Worker {
    fn new<'scope>(scope: &'scope Scope<'scope, '_>, table: &'scope mut Table) -> Self {
        let (batches, given) = sync_channel::<Batch>(Schedule::DELAY);
        let (tell, told) = sync_channel(Schedule::DELAY);
        scope.spawn(move || {
            for mut batch in given {
                let news = batch.give(table);
                if tell.send((batch, news)).is_err() {
                    return;
                }
            }
        });
        Self { batches, told }
    }
}

impl Pipeline {
    /// Frames that are shared out together.
    const BATCH: usize = 4096;

    /// Opens the first source. Several files are read in the order of their first frames' times; pipes and streams
    /// as given. So many threads follow the connections, and what they find does not depend on their number; events
    /// of some streams alone take one thread, that numbers them.
    ///
    /// # Errors
    /// Any of the sources cannot be read at all.
    pub fn new(
        sources: Vec<Source>,
        filters: Option<Filters>,
        wanted: &Wanted,
        scales: &Scales,
        jobs: usize,
    ) -> Result<Self, Stop> {
        let tables = if matches!(wanted, Wanted::Streams(_)) {
            1
        } else {
            jobs
        };
        Ok(Self {
            intake: Intake::new(sources, filters)?,
            table: Shards::new(tables, wanted, scales),
            schedule: Schedule::default(),
        })
    }

    /// Bytes taken from the sources, compressed as they are.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.intake.read_before + self.intake.reader.as_ref().map_or(0, Reader::bytes_read)
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.intake.counts
    }

    /// UDP flows.
    #[must_use]
    pub fn datagrams(&self) -> &Datagrams {
        &self.intake.datagrams
    }

    /// The captures read to the end, or to where they broke, by name.
    #[must_use]
    pub fn captures(&self) -> &[(String, CaptureInfo)] {
        &self.intake.captures
    }

    /// Where captures broke.
    #[must_use]
    pub fn damages(&self) -> &[CaptureError] {
        &self.intake.damages
    }

    /// Reads `frames` frames or a few more; says whether there may be more. At the end all rows are complete.
    ///
    /// # Errors
    /// [`Stop`]; a capture that breaks in the middle is no error but one of [`Pipeline::damages`].
    pub fn advance(&mut self, frames: usize) -> Result<bool, Stop> {
        let batches = frames.div_ceil(Self::BATCH);
        let more = match self.table.parts() {
            ([table], register) => Self::alone(
                &mut self.intake,
                &mut self.schedule,
                table,
                register,
                batches,
            ),
            (tables, register) => Self::together(
                &mut self.intake,
                &mut self.schedule,
                tables,
                register,
                batches,
            ),
        }?;
        if !more {
            self.table.finish();
        }
        Ok(more)
    }

    fn alone(
        intake: &mut Intake,
        schedule: &mut Schedule,
        table: &mut Table,
        register: &mut Register,
        batches: usize,
    ) -> Result<bool, Stop> {
        for _ in 0..batches {
            table.let_go(schedule.begin(1).into_iter().flatten());
            let more = intake.read(Self::BATCH, |seen, segment, path, at| {
                table.take(seen, segment, path, at);
            })?;
            schedule.told(register, vec![table.news()]);
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads while threads fill the tables, one each.
    fn together(
        intake: &mut Intake,
        schedule: &mut Schedule,
        tables: &mut [Table],
        register: &mut Register,
        batches: usize,
    ) -> Result<bool, Stop> {
        let count = tables.len();
        thread::scope(|scope| {
            let workers: Vec<_> = tables
                .iter_mut()
                .map(|table| Worker::new(scope, table))
                .collect();
            let mut spare: Vec<Batch> = Vec::new();
            let mut more = Ok(true);
            for _ in 0..batches {
                if schedule.is_behind() {
                    spare.extend(Self::hear(&workers, schedule, register));
                }
                let ended = schedule.begin(count);
                let mut parts: Vec<_> = (0..count)
                    .map(|_| spare.pop().unwrap_or_default())
                    .collect();
                for (part, ended) in parts.iter_mut().zip(ended) {
                    part.let_go(ended);
                }
                more = intake.read(Self::BATCH, |seen, segment, path, at| {
                    parts[shard(segment, count)].push(seen, segment, path, at);
                });
                for (worker, part) in workers.iter().zip(parts) {
                    // A thread that panicked takes no more; the scope tells.
                    let _ = worker.batches.send(part);
                }
                if !matches!(more, Ok(true)) {
                    break;
                }
            }
            while schedule.begun > schedule.told {
                Self::hear(&workers, schedule, register);
            }
            more
        })
    }

    /// Waits until all tables have taken their next batch; gives the batches back, emptied.
    fn hear(workers: &[Worker], schedule: &mut Schedule, register: &mut Register) -> Vec<Batch> {
        let told = workers.iter().map(|worker| worker.told.recv());
        let (batches, news) = told.map(Result::unwrap_or_default).unzip();
        schedule.told(register, news);
        batches
    }
}
