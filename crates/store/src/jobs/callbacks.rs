//! Callbacks at the end of a job, and the state of their delivery.

use super::super::error::StoreError;
use super::super::seal::Seal;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

/// State of a callback's delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallbackPhase {
    /// The job has not ended, or nobody has taken it yet.
    Waiting,
    /// The receiver has accepted it.
    Delivered,
    /// The last attempt failed, too.
    GivenUp,
}

impl CallbackPhase {
    fn number(self) -> i64 {
        match self {
            CallbackPhase::Waiting => 0,
            CallbackPhase::Delivered => 1,
            CallbackPhase::GivenUp => 2,
        }
    }

    fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(CallbackPhase::Waiting),
            1 => Some(CallbackPhase::Delivered),
            2 => Some(CallbackPhase::GivenUp),
            _ => None,
        }
    }
}

/// Callback at the end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// URL that is called.
    pub url: String,
    /// State of the delivery.
    pub phase: CallbackPhase,
    /// Times it was tried.
    pub attempts: u32,
    /// Time of the next attempt; none until the job ends, and after the last attempt.
    pub next_at: Option<i64>,
    /// Error of the last attempt.
    pub error: Option<String>,
}

/// A callback whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueCallback {
    /// Job that the callback belongs to.
    pub job: Uuid,
    /// State of the callback.
    pub callback: Callback,
}

pub(super) fn insert(connection: &Connection, key: i64, job: Uuid, url: &str) -> Result<(), StoreError> {
    let phase = CallbackPhase::Waiting;
    write(connection, key, job, &Callback { url: url.to_owned(), phase, attempts: 0, next_at: None, error: None })
}

/// The job has ended: its callback, if it has one, is due.
pub(super) fn wake(connection: &Connection, key: i64, job: Uuid, now: i64) -> Result<(), StoreError> {
    match find(connection, key, job)? {
        Some(callback) => write(connection, key, job, &Callback { next_at: Some(now), ..callback }),
        None => Ok(()),
    }
}

pub(super) fn put(connection: &Connection, job: Uuid, callback: &Callback) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached("SELECT key FROM jobs WHERE id = ?")?;
    match select.query_row([job.as_bytes()], |row| row.get(0)).optional()? {
        Some(key) => write(connection, key, job, callback),
        // Gone meanwhile.
        None => Ok(()),
    }
}

fn write(connection: &Connection, key: i64, job: Uuid, callback: &Callback) -> Result<(), StoreError> {
    let mut upsert = connection.prepare_cached(
        "INSERT INTO job_callbacks (job, url, phase, attempts, next_at, error, row_sha256) VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (job) DO UPDATE SET url = excluded.url, phase = excluded.phase, attempts = excluded.attempts,
             next_at = excluded.next_at, error = excluded.error, row_sha256 = excluded.row_sha256",
    )?;
    upsert.execute(params![
        key,
        callback.url,
        callback.phase.number(),
        callback.attempts,
        callback.next_at,
        callback.error,
        seal(job, callback),
    ])?;
    Ok(())
}

/// Returns the callback of a job; none where there is none, or where its row is damaged and the URL can't be trusted.
pub(super) fn find(connection: &Connection, key: i64, job: Uuid) -> Result<Option<Callback>, StoreError> {
    let select = "SELECT url, phase, attempts, next_at, error, row_sha256 FROM job_callbacks WHERE job = ?";
    let found = connection.prepare_cached(select)?.query_row([key], |row| Ok(read(row, job))).optional()?;
    Ok(found.flatten())
}

pub(super) fn due(connection: &Connection, now: i64, limit: usize) -> Result<Vec<DueCallback>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT url, job_callbacks.phase, attempts, next_at, error, job_callbacks.row_sha256, id
         FROM job_callbacks JOIN jobs ON jobs.key = job WHERE next_at <= ? ORDER BY next_at LIMIT ?",
    )?;
    let mut rows = select.query(params![now, limit as i64])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let job = Uuid::from_bytes(row.get(6)?);
        found.extend(read(row, job).map(|callback| DueCallback { job, callback }));
    }
    Ok(found)
}

fn read(row: &Row<'_>, job: Uuid) -> Option<Callback> {
    let parse = || -> rusqlite::Result<(Option<Callback>, [u8; 32])> {
        let (url, attempts, next_at, error) = (row.get(0)?, row.get(2)?, row.get(3)?, row.get(4)?);
        let callback =
            CallbackPhase::from_number(row.get(1)?).map(|phase| Callback { url, phase, attempts, next_at, error });
        Ok((callback, row.get(5)?))
    };
    let read = parse().ok().and_then(|(callback, sealed)| Some((callback?, sealed)));
    let sound = read.filter(|(callback, sealed)| *sealed == seal(job, callback));
    if sound.is_none() {
        tracing::error!(%job, "the callback of a job is damaged in the store");
    }
    sound.map(|(callback, _)| callback)
}

fn seal(job: Uuid, callback: &Callback) -> [u8; 32] {
    Seal::of("job callback")
        .id(job)
        .field(callback.url.as_bytes())
        .number(callback.phase.number())
        .number(callback.attempts.into())
        .optional(callback.next_at.map(i64::to_le_bytes).as_ref().map(|bytes| &bytes[..]))
        .optional(callback.error.as_deref().map(str::as_bytes))
        .finish()
}
