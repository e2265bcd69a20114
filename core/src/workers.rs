//! # Workers
//! Threads that fill tables of connections while the capture is read.

use crate::track::{Batch, Commands, Table, TableReport};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// A thread that fills a table. It ends when its queue of batches is closed.
struct Worker {
    batches: SyncSender<Batch>,
    reports: Receiver<(Batch, TableReport)>,
    thread: JoinHandle<Table>,
}

impl Worker {
    /// Starts the thread. Up to `ahead` batches may queue before it, and as many reports after it.
    fn new(mut table: Table, ahead: usize) -> Self {
        let (batches, queued) = sync_channel::<Batch>(ahead);
        let (report, reports) = sync_channel(ahead);
        let thread = thread::spawn(move || {
            for mut batch in queued {
                let table_report = batch.process(&mut table);
                if report.send((batch, table_report)).is_err() {
                    break;
                }
            }
            table
        });
        Self {
            batches,
            reports,
            thread,
        }
    }
}

/// One thread for each table.
pub struct Workers {
    workers: Vec<Worker>,
    /// Emptied batches, to be filled again.
    spare: Vec<Batch>,
}

impl Workers {
    /// Starts a thread for each table; up to `ahead` batches may queue on each side of a thread.
    #[must_use]
    pub fn new(tables: Vec<Table>, ahead: usize) -> Self {
        let workers = tables.into_iter().map(|table| Worker::new(table, ahead));
        Self {
            workers: workers.collect(),
            spare: Vec::new(),
        }
    }

    /// Returns the number of threads.
    #[must_use]
    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Returns an empty batch for each thread, with the commands that its table executes first.
    pub fn begin(&mut self, commands: Vec<Commands>) -> Vec<Batch> {
        let begun = commands.into_iter().map(|commands| {
            let mut batch = self.spare.pop().unwrap_or_default();
            batch.begin(commands);
            batch
        });
        begun.collect()
    }

    /// Queues one batch for each thread, in their order.
    pub fn give(&self, batches: Vec<Batch>) {
        for (worker, batch) in self.workers.iter().zip(batches) {
            // Sending fails only if the thread panicked; [`Workers::receive`] then panics.
            let _ = worker.batches.send(batch);
        }
    }

    /// Waits until each thread has processed its next batch; returns their reports, in the order of the threads.
    ///
    /// # Panics
    /// If a thread panicked.
    pub fn receive(&mut self) -> Vec<TableReport> {
        let reports = self.workers.iter().map(|worker| {
            let report = worker.reports.recv();
            report.expect("threads that do not panic go on while they are given batches")
        });
        let (batches, table_reports): (Vec<_>, _) = reports.unzip();
        self.spare.extend(batches);
        table_reports
    }

    /// Ends the threads; returns their tables, in the order of the threads.
    ///
    /// # Panics
    /// If a thread panicked.
    #[must_use]
    pub fn end(self) -> Vec<Table> {
        let ended = self.workers.into_iter().map(|worker| {
            drop((worker.batches, worker.reports));
            worker
                .thread
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))
        });
        ended.collect()
    }
}
