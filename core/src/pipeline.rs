//! # Pipeline
//! Captures through the filter and the decoder into the table of connections, a stretch of frames at a time.

use crate::budget::Budget;
use crate::capture::{CaptureError, CaptureInfo, Frame, Times};
use crate::decode::{Packet, Path, Segment};
use crate::intake::Intake;
use crate::source::Source;
use crate::track::{
    At, Datagrams, Hashes, News, Orders, Register, Rows, Scales, Seen, Shards, Table, Wanted, shard,
};
use crate::workers::Workers;
use std::collections::VecDeque;

pub use crate::intake::{Counts, Filters, Whole};
pub use crate::source::Stop;

/// A run over one capture, or several as one.
pub struct Pipeline {
    intake: Intake,
    datagrams: Datagrams,
    table: Shards,
    schedule: Schedule,
    /// They have the tables while the capture is read, if there are several.
    workers: Option<Workers>,
    /// All was read.
    ended: bool,
}

/// When connections that ended are let go. It follows from the capture alone, not from how fast threads are.
#[derive(Debug, Default)]
struct Schedule {
    /// Batches begun.
    begun: usize,
    /// By batch, what the tables should do because of it.
    due: VecDeque<(usize, Vec<Orders>)>,
    /// Batches told of.
    told: usize,
}

impl Schedule {
    /// What a batch tells takes effect so many batches later, as tables may be that far behind.
    const DELAY: usize = 8;

    /// The next batch begins: what each of so many tables should do first.
    fn begin(&mut self, tables: usize) -> Vec<Orders> {
        self.begun += 1;
        let is_due = |(told, _): &(usize, _)| told + Self::DELAY <= self.begun;
        let due = self.due.front().is_some_and(is_due);
        due.then(|| self.due.pop_front())
            .flatten()
            .map_or_else(|| vec![Orders::default(); tables], |(_, orders)| orders)
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

/// Datagrams to their flows, segments to whoever follows these.
fn shared_out(
    datagrams: &mut Datagrams,
    mut follow: impl FnMut(Seen, &Segment, &Path, At),
) -> impl FnMut(&Packet<'_>, &Path, At, &Frame<'_>) {
    move |packet, path, at, _| match packet {
        Packet::Tcp(tcp) => follow(Seen::Captured, &tcp.segment(), path, at),
        Packet::Quoted(_, tcp) => follow(Seen::Quoted, &tcp.segment(), path, at),
        Packet::Datagram(datagram) => datagrams.take(datagram, at.time_ns),
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
        budget: Budget,
        jobs: usize,
    ) -> Result<Self, Stop> {
        let tables = if matches!(wanted, Wanted::Streams(_)) {
            1
        } else {
            jobs
        };
        let table = Shards::new(tables, wanted, scales, budget);
        let mut intake = Intake::new(sources, filters, None)?;
        intake.limit(budget);
        Ok(Self::over(intake, table))
    }

    /// The same over pieces of files, as [`crate::pieces`] makes them, in one thread and without events; keeps the first
    /// frames of streams.
    ///
    /// # Errors
    /// The first piece cannot be read.
    pub fn of_pieces(pieces: Vec<Source>, whole: Whole, scales: &Scales) -> Result<Self, Stop> {
        let mut table = Shards::new(1, &Wanted::None, scales, Budget::DEFAULT);
        table.keep_first_frames();
        Ok(Self::over(Intake::new(pieces, None, Some(whole))?, table))
    }

    fn over(intake: Intake, table: Shards) -> Self {
        Self {
            intake,
            datagrams: Datagrams::default(),
            table,
            schedule: Schedule::default(),
            workers: None,
            ended: false,
        }
    }

    /// Bytes taken from the sources, compressed as they are.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.intake.bytes_read()
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.intake.counts
    }

    /// When the frames that have a time were captured.
    #[must_use]
    pub fn times(&self) -> Times {
        self.intake.times()
    }

    /// Earliest frame, of the whole capture if this is a part.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        self.intake.first_ns()
    }

    /// See [`crate::capture::Ticks::tick_ns`]; likewise.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        self.intake.tick_ns()
    }

    /// Frames by link type, likewise.
    #[must_use]
    pub fn link_types(&self) -> &[(u32, u64)] {
        self.intake.link_types()
    }

    /// UDP flows.
    #[must_use]
    pub fn datagrams(&self) -> &Datagrams {
        &self.datagrams
    }

    /// How many connections there are.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.table.len()
    }

    /// Rows made so far and not yet taken.
    pub fn rows(&mut self) -> &mut Rows {
        self.table.rows()
    }

    /// Connections as of the last frame read. Threads start anew after that.
    pub fn table(&mut self) -> &Shards {
        self.settle();
        &self.table
    }

    /// Likewise, and UDP flows.
    pub fn table_and_datagrams(&mut self) -> (&Shards, &Datagrams) {
        self.settle();
        (&self.table, &self.datagrams)
    }

    /// Takes the tables back from the threads; what they put off is done.
    fn settle(&mut self) {
        self.take_back();
        if !self.ended {
            self.table.follow_all_up();
        }
    }

    fn take_back(&mut self) {
        if let Some(workers) = self.workers.take() {
            *self.table.parts().0 = workers.end();
        }
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
        let (tables, register, hashes) = self.table.parts();
        let more = if let [table] = &mut tables[..] {
            Self::alone(
                &mut self.intake,
                &mut self.datagrams,
                &mut self.schedule,
                table,
                (register, hashes),
                batches,
            )
        } else {
            let begin = || Workers::new(std::mem::take(tables), Schedule::DELAY);
            Self::together(
                &mut self.intake,
                &mut self.datagrams,
                &mut self.schedule,
                self.workers.get_or_insert_with(begin),
                (register, hashes),
                batches,
            )
        }?;
        if !more {
            self.take_back();
            self.table.finish();
            self.ended = true;
        }
        Ok(more)
    }

    fn alone(
        intake: &mut Intake,
        datagrams: &mut Datagrams,
        schedule: &mut Schedule,
        table: &mut Table,
        (register, hashes): (&mut Register, &Hashes),
        batches: usize,
    ) -> Result<bool, Stop> {
        for _ in 0..batches {
            for orders in schedule.begin(1) {
                table.follow(&orders);
            }
            let follow = |seen, segment: &Segment, path: &_, at| {
                let hash = hashes.hash(segment.source, segment.destination);
                table.take(seen, hash as u32, segment, path, at);
            };
            let more = intake.read(Self::BATCH, shared_out(datagrams, follow))?;
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
        datagrams: &mut Datagrams,
        schedule: &mut Schedule,
        workers: &mut Workers,
        (register, hashes): (&mut Register, &Hashes),
        batches: usize,
    ) -> Result<bool, Stop> {
        let mut more = Ok(true);
        for _ in 0..batches {
            if schedule.is_behind() {
                schedule.told(register, workers.hear());
            }
            let count = workers.count();
            let mut parts = workers.begin(schedule.begin(count));
            let follow = |seen, segment: &Segment, path: &_, at| {
                let hash = hashes.hash(segment.source, segment.destination);
                parts[shard(hash, count)].push(seen, hash as u32, segment, path, at);
            };
            more = intake.read(Self::BATCH, shared_out(datagrams, follow));
            workers.give(parts);
            if !matches!(more, Ok(true)) {
                break;
            }
        }
        while schedule.begun > schedule.told {
            schedule.told(register, workers.hear());
        }
        more
    }
}
