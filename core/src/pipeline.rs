//! # Pipeline
//! Reads captures through the filter and the decoder into tables of connections, some thousand frames at a time.

use crate::budget::Budget;
use crate::capture::{CaptureError, CaptureInfo, Frame, Recording, Times};
use crate::decode::{Packet, Path, Tcp, was_sent};
use crate::intake::Intake;
use crate::source::Source;
use crate::track::{
    At, Commands, ConnectionHasher, CookedHosts, Datagrams, InferredScales, Provenance, Refusals,
    Register, Rows, Shards, Table, TableReport, WantedEvents, shard,
};
use crate::workers::Workers;
use std::collections::VecDeque;

pub use crate::intake::{Counts, Filters, WholeCapture};
pub use crate::source::Stop;

/// A run over one capture, or several as one.
pub struct Pipeline {
    intake: Intake,
    others: Others,
    table: Shards,
    schedule: Schedule,
    /// The threads that own the tables while the capture is read; `None` with a single table.
    workers: Option<Workers>,
    /// Whether all sources have been read to their ends.
    ended: bool,
}

/// Counts that the reading thread keeps itself.
#[derive(Default)]
struct Others {
    datagrams: Datagrams,
    refusals: Refusals,
    cooked_hosts: CookedHosts,
}

/// Decides when tables get their commands, such as to discard the state of ended connections. It depends on the capture
/// only, not on the speed of threads.
#[derive(Debug, Default)]
struct Schedule {
    /// Number of batches begun.
    begun: usize,
    /// Commands that follow from a batch, with the number of that batch: one for each table.
    due: VecDeque<(usize, Vec<Commands>)>,
    /// Number of batches that all tables have processed and reported.
    reported: usize,
}

impl Schedule {
    /// Commands that follow from a batch take effect this number of batches later, since tables may lag that far
    /// behind.
    const DELAY: usize = 8;

    /// Begins the next batch; returns the commands that each of the `tables` tables executes first.
    fn begin(&mut self, tables: usize) -> Vec<Commands> {
        self.begun += 1;
        let is_due = |(reported, _): &(usize, _)| reported + Self::DELAY <= self.begun;
        let due = self.due.front().is_some_and(is_due);
        due.then(|| self.due.pop_front()).flatten().map_or_else(
            || vec![Commands::default(); tables],
            |(_, commands)| commands,
        )
    }

    /// Passes the tables' reports on the next batch to the register, and keeps the commands that follow from them.
    fn report(&mut self, register: &mut Register, table_reports: Vec<TableReport>) {
        self.reported += 1;
        self.due
            .push_back((self.reported, register.take(table_reports)));
    }

    /// Returns whether the tables lag as far behind as they may.
    fn is_behind(&self) -> bool {
        self.begun - self.reported >= Self::DELAY
    }
}

/// Returns a function that adds a UDP datagram to its flow, counts an ICMP error message, and passes a TCP segment to
/// `follow`.
fn dispatch(
    others: &mut Others,
    mut follow: impl FnMut(Provenance, &Tcp<'_>, &Path, At),
) -> impl FnMut(&Packet<'_>, &Path, At, &Frame<'_>) {
    move |packet, path, at, frame| {
        let (provenance, tcp) = match packet {
            Packet::Tcp(tcp) => {
                // The packet type is that of the outermost packet.
                if let Some(sent) = was_sent(frame.link_type, frame.data)
                    && path.is_plain()
                {
                    let [source, _] = tcp.ends();
                    others.cooked_hosts.take(source.address, tcp.ttl(), sent);
                }
                (Provenance::Captured, tcp)
            }
            Packet::Quoted(quoted) => {
                others.refusals.take(quoted, at);
                (Provenance::Quoted, &quoted.tcp)
            }
            Packet::Datagram(datagram) => return others.datagrams.take(datagram, at.time_ns),
        };
        follow(provenance, tcp, path, at);
    }
}

impl Pipeline {
    /// Number of frames in a batch.
    const BATCH: usize = 4096;

    /// Opens the first source. Several files are read in the order of their first frames' times, pipes and streams in
    /// the given order. `jobs` threads follow the connections; the results do not depend on their number. If events of
    /// single streams are wanted, one thread follows all connections, since streams are numbered by it.
    ///
    /// # Errors
    /// If one of the sources cannot be read at all.
    pub fn new(
        sources: Vec<Source>,
        filters: Option<Filters>,
        wanted: &WantedEvents,
        scales: &InferredScales,
        budget: Budget,
        jobs: usize,
    ) -> Result<Self, Stop> {
        let tables = if matches!(wanted, WantedEvents::Streams(_)) {
            1
        } else {
            jobs
        };
        let table = Shards::new(tables, wanted, scales, budget);
        let mut intake = Intake::new(sources, filters, None)?;
        intake.set_budget(budget);
        let mut pipeline = Self::from_parts(intake, table);
        pipeline.others.datagrams = Datagrams::new(budget.connections);
        Ok(pipeline)
    }

    /// Opens pieces of files, as [`crate::pieces`] makes them, to be followed in one thread and without events. The
    /// number of each stream's first frame is kept.
    ///
    /// # Errors
    /// If the first piece cannot be read.
    pub fn of_pieces(
        pieces: Vec<Source>,
        whole: WholeCapture,
        scales: &InferredScales,
    ) -> Result<Self, Stop> {
        let mut table = Shards::new(1, &WantedEvents::None, scales, Budget::DEFAULT);
        table.keep_first_frames();
        let intake = Intake::new(pieces, None, Some(whole))?;
        Ok(Self::from_parts(intake, table))
    }

    fn from_parts(intake: Intake, table: Shards) -> Self {
        Self {
            intake,
            others: Others::default(),
            table,
            schedule: Schedule::default(),
            workers: None,
            ended: false,
        }
    }

    /// Returns the number of bytes read from the sources so far; a compressed source counts its compressed bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.intake.bytes_read()
    }

    /// Returns the counts of the frames read so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.intake.counts
    }

    /// Returns the times of the frames read so far, of those that have one.
    #[must_use]
    pub fn times(&self) -> Times {
        self.intake.times()
    }

    /// Returns the time of the earliest frame in ns since the epoch; for pieces, of the whole capture.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        self.intake.first_ns()
    }

    /// Returns the resolution of the timestamps (see [`Intake::tick_ns`]); for pieces, of the whole
    /// capture.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        self.intake.tick_ns()
    }

    /// Returns the recordings; for pieces, those of the whole capture.
    #[must_use]
    pub fn recordings(&self) -> Vec<Recording> {
        self.intake.recordings()
    }

    /// Returns the number of frames of each link type; for pieces, in the whole capture.
    #[must_use]
    pub fn link_types(&self) -> &[(u32, u64)] {
        self.intake.link_types()
    }

    /// Returns the UDP flows.
    #[must_use]
    pub fn datagrams(&self) -> &Datagrams {
        &self.others.datagrams
    }

    /// Returns the packets that ICMP error messages quote.
    #[must_use]
    pub fn refusals(&self) -> &Refusals {
        &self.others.refusals
    }

    /// Returns the addresses of the capturing host, as far as cooked frames show them.
    #[must_use]
    pub fn cooked_hosts(&self) -> &CookedHosts {
        &self.others.cooked_hosts
    }

    /// Returns the number of connections.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.table.len()
    }

    /// Returns the turns and events made so far, for the caller to take.
    pub fn rows(&mut self) -> &mut Rows {
        self.table.rows()
    }

    /// Returns the connections as of the last frame read. The threads are stopped; the next [`Pipeline::advance`]
    /// starts them again.
    pub fn table(&mut self) -> &Shards {
        self.settle();
        &self.table
    }

    /// Returns the connections as of the last frame read, and the UDP flows.
    pub fn table_and_datagrams(&mut self) -> (&Shards, &Datagrams) {
        self.settle();
        (&self.table, &self.others.datagrams)
    }

    /// Takes the tables back from the threads, and makes them process the segments that they have only kept so far.
    fn settle(&mut self) {
        self.take_back();
        if !self.ended {
            self.table.replay_all();
        }
    }

    fn take_back(&mut self) {
        if let Some(workers) = self.workers.take() {
            *self.table.parts().0 = workers.end();
        }
    }

    /// Returns the name and description of each capture that was read to its end or to its damage.
    #[must_use]
    pub fn captures(&self) -> &[(String, CaptureInfo)] {
        &self.intake.captures
    }

    /// Returns the places where captures are damaged.
    #[must_use]
    pub fn damages(&self) -> &[CaptureError] {
        &self.intake.damages
    }

    /// Reads at least `frames` frames, in whole batches; returns whether more may follow. At the end all rows are
    /// complete.
    ///
    /// # Errors
    /// If a source cannot be read at all, or the filter does not fit. Damage in the middle of a capture is no error
    /// but is added to [`Pipeline::damages`].
    pub fn advance(&mut self, frames: usize) -> Result<bool, Stop> {
        let batches = frames.div_ceil(Self::BATCH);
        let (tables, register, hashes) = self.table.parts();
        let more = if let [table] = &mut tables[..] {
            Self::advance_single(
                &mut self.intake,
                &mut self.others,
                &mut self.schedule,
                table,
                (register, hashes),
                batches,
            )
        } else {
            let begin = || Workers::new(std::mem::take(tables), Schedule::DELAY);
            Self::advance_threaded(
                &mut self.intake,
                &mut self.others,
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

    /// Reads `batches` batches and fills the only table in the same thread; returns whether more frames may follow.
    fn advance_single(
        intake: &mut Intake,
        others: &mut Others,
        schedule: &mut Schedule,
        table: &mut Table,
        (register, hashes): (&mut Register, &ConnectionHasher),
        batches: usize,
    ) -> Result<bool, Stop> {
        for _ in 0..batches {
            for commands in schedule.begin(1) {
                table.execute(&commands);
            }
            let follow = |provenance, tcp: &Tcp<'_>, path: &_, at| {
                let hash = hashes.hash(tcp.ends()) as u32;
                if table.ignores(hash, tcp) {
                    return;
                }
                let segment = tcp.usual().unwrap_or_else(|| tcp.segment());
                table.take(provenance, hash, &segment, path, at);
            };
            let more = intake.read(Self::BATCH, dispatch(others, follow))?;
            schedule.report(register, vec![table.take_report()]);
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads `batches` batches while threads fill the tables; returns whether more frames may follow.
    fn advance_threaded(
        intake: &mut Intake,
        others: &mut Others,
        schedule: &mut Schedule,
        workers: &mut Workers,
        (register, hashes): (&mut Register, &ConnectionHasher),
        batches: usize,
    ) -> Result<bool, Stop> {
        let mut more = Ok(true);
        for _ in 0..batches {
            if schedule.is_behind() {
                schedule.report(register, workers.receive());
            }
            let count = workers.count();
            let mut parts = workers.begin(schedule.begin(count));
            let follow = |provenance, tcp: &Tcp<'_>, path: &_, at| {
                let hash = hashes.hash(tcp.ends());
                parts[shard(hash, count)].push(provenance, hash as u32, tcp, path, at);
            };
            more = intake.read(Self::BATCH, dispatch(others, follow));
            workers.give(parts);
            if !matches!(more, Ok(true)) {
                break;
            }
        }
        while schedule.begun > schedule.reported {
            schedule.report(register, workers.receive());
        }
        more
    }
}
