//! # Workers
//! Threads that fill tables while the capture is read.

use crate::track::{Batch, News, Orders, Table};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// A thread that fills a table. It ends when it is given no more.
struct Worker {
    batches: SyncSender<Batch>,
    told: Receiver<(Batch, News)>,
    thread: JoinHandle<Table>,
}

impl Worker {
    /// So many batches may wait for it, and as many for who hears of them.
    fn new(mut table: Table, ahead: usize) -> Self {
        let (batches, given) = sync_channel::<Batch>(ahead);
        let (tell, told) = sync_channel(ahead);
        let thread = thread::spawn(move || {
            for mut batch in given {
                let news = batch.give(&mut table);
                if tell.send((batch, news)).is_err() {
                    break;
                }
            }
            table
        });
        Self {
            batches,
            told,
            thread,
        }
    }
}

/// A thread for each table.
pub struct Workers {
    workers: Vec<Worker>,
    /// Batches that were emptied.
    spare: Vec<Batch>,
}

impl Workers {
    /// Threads that fill these tables, each at most so many batches behind.
    #[must_use]
    pub fn new(tables: Vec<Table>, ahead: usize) -> Self {
        let workers = tables.into_iter().map(|table| Worker::new(table, ahead));
        Self {
            workers: workers.collect(),
            spare: Vec::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.workers.len()
    }

    /// Batches to be filled, one for each, with what its table does first.
    pub fn begin(&mut self, orders: Vec<Orders>) -> Vec<Batch> {
        let begun = orders.into_iter().map(|orders| {
            let mut batch = self.spare.pop().unwrap_or_default();
            batch.begin(orders);
            batch
        });
        begun.collect()
    }

    /// Gives each its batch.
    pub fn give(&self, batches: Vec<Batch>) {
        for (worker, batch) in self.workers.iter().zip(batches) {
            // A thread that panicked takes no more: [`Workers::hear`] tells.
            let _ = worker.batches.send(batch);
        }
    }

    /// Waits until all have taken their next batch; returns what each tells.
    ///
    /// # Panics
    /// A thread did.
    pub fn hear(&mut self) -> Vec<News> {
        let told = self.workers.iter().map(|worker| {
            let told = worker.told.recv();
            told.expect("threads that do not panic go on while they are given batches")
        });
        let (batches, news): (Vec<_>, _) = told.unzip();
        self.spare.extend(batches);
        news
    }

    /// Ends the threads; returns their tables.
    ///
    /// # Panics
    /// A thread did.
    #[must_use]
    pub fn end(self) -> Vec<Table> {
        let ended = self.workers.into_iter().map(|worker| {
            drop((worker.batches, worker.told));
            worker
                .thread
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))
        });
        ended.collect()
    }
}
