//! The thread that writes. What waits for it is committed together, each piece by itself undone if it fails.

use super::error::StoreError;
use super::file::{Claim, open_to_write};
use rusqlite::Connection;
use std::path::PathBuf;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};

/// Writes that may wait; further writers wait for a free entry.
const QUEUE: usize = 64;
/// Pages given back to the disk at once.
const TIDIED_PAGES: u32 = 16_384;

/// Queue and thread of the only writing connection.
#[derive(Debug)]
pub(super) struct Writer {
    // Dropped first, which ends the thread.
    queue: Option<mpsc::Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

enum Work {
    /// Goes into a transaction with others.
    Write(Box<dyn Write>),
    /// Needs to be outside any.
    Tidy(oneshot::Sender<Result<(), StoreError>>),
}

/// A write on its way.
trait Write: Send {
    /// Does it, and remembers what came of it.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;
    /// Tells who waits, once everything is committed or not.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Writing<T, F> {
    job: Option<F>,
    result: Result<T, StoreError>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Write for Writing<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if let Some(job) = self.job.take() {
            self.result = job(connection);
        }
        self.result.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        // Who no longer waits does not need to know.
        self.answer.send(committed.and(self.result)).unwrap_or_default();
    }
}

impl Writer {
    /// Takes the file and starts the thread.
    pub(super) async fn open(path: PathBuf) -> Result<Self, StoreError> {
        let (queue, work) = mpsc::channel(QUEUE);
        let (opened, ready) = oneshot::channel();
        let run = move || {
            let opening = Claim::take(&path).and_then(|claim| Ok((claim, open_to_write(&path)?)));
            match opening {
                Ok((claim, connection)) => {
                    if opened.send(Ok(())).is_ok() {
                        write_all(&connection, work);
                    }
                    drop(connection);
                    // Only now may another process have it.
                    drop(claim);
                }
                Err(error) => opened.send(Err(error)).unwrap_or_default(),
            }
        };
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(run)
            .map_err(|error| StoreError::Engine { reason: error.to_string() })?;
        let writer = Self { queue: Some(queue), thread: Some(thread) };
        ready.await.map_err(|_| StoreError::Closed)??;
        Ok(writer)
    }

    /// Has `job` done in a transaction; returns when that is committed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let writing = Writing { job: Some(job), result: Err(StoreError::Closed), answer };
        self.send(Work::Write(Box::new(writing))).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Gives room that is no longer used back to the disk.
    pub(super) async fn tidy(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Work::Tidy(answer)).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn send(&self, work: Work) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(work).await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's thread ended with a panic");
        }
    }
}

fn write_all(connection: &Connection, mut work: mpsc::Receiver<Work>) {
    let mut next = work.blocking_recv();
    while let Some(now) = next {
        next = match now {
            Work::Write(first) => {
                let rest = write_batch(connection, first, &mut work);
                rest.or_else(|| work.blocking_recv())
            }
            Work::Tidy(answer) => {
                answer.send(tidy(connection)).unwrap_or_default();
                work.blocking_recv()
            }
        };
    }
}

/// Writes `first` and what waits behind it in one transaction; returns the first that cannot go with them.
fn write_batch(connection: &Connection, first: Box<dyn Write>, work: &mut mpsc::Receiver<Work>) -> Option<Work> {
    let mut batch = Vec::new();
    let mut left = None;
    let mut outcome = connection.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from);
    let mut next = Some(first);
    while let Some(mut writing) = next.take() {
        if outcome.is_ok() {
            outcome = run_alone(connection, &mut *writing);
        }
        batch.push(writing);
        if batch.len() < QUEUE {
            match work.try_recv() {
                Ok(Work::Write(writing)) => next = Some(writing),
                Ok(other) => left = Some(other),
                Err(_) => {}
            }
        }
    }
    if outcome.is_ok() {
        outcome = connection.execute_batch("COMMIT").map_err(StoreError::from);
    }
    if outcome.is_err() && !connection.is_autocommit() {
        // If this fails too, SQLite has rolled back already; the first error says more.
        connection.execute_batch("ROLLBACK").unwrap_or_default();
    }
    for writing in batch {
        writing.finish(outcome.clone());
    }
    left
}

/// Runs one write so that it leaves nothing if it fails. Fails itself only if the whole transaction is lost.
fn run_alone(connection: &Connection, writing: &mut dyn Write) -> Result<(), StoreError> {
    connection.execute_batch("SAVEPOINT one")?;
    let undo = if writing.run(connection).is_err() { "ROLLBACK TO one; RELEASE one" } else { "RELEASE one" };
    Ok(connection.execute_batch(undo)?)
}

fn tidy(connection: &Connection) -> Result<(), StoreError> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({TIDIED_PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
