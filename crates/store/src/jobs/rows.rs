//! The row of a job.

use super::super::disk::Disk;
use super::super::error::StoreError;
use super::super::seal::Seal;
use super::callbacks::{self, Callback};
use super::phase::JobPhase;
use super::retention::{self, JobBounds};
use super::{JobItem, compressed, compressor, decompressed, failed, items};
use proofbox_types::histogram::OUTCOME_COUNT;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Approximate size of a row beside its payload, in bytes.
pub(super) const ROW_BYTES: u64 = 128;

/// A job as it is put into the store.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Id of the job, a UUID version 7: jobs are sorted by it.
    pub id: Uuid,
    /// Key that owns the job; none for nobody.
    pub owner: Option<Uuid>,
    /// Time of acceptance, in milliseconds since 1970.
    pub created_at: i64,
    /// Short description of the job, encoded by the caller.
    pub about: Vec<u8>,
    /// Head that all items share, encoded by the caller, of any length.
    pub head: Vec<u8>,
    /// Items of the job, in order.
    pub items: Vec<JobItem>,
    /// Idempotency key that the client gave the job.
    pub idempotency_key: Option<String>,
    /// SHA-256 of the request: tells whether the same idempotency key means the same.
    pub request_sha256: [u8; 32],
    /// URL that is called at the job's end.
    pub callback_url: Option<String>,
}

/// A job as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Id of the job.
    pub id: Uuid,
    /// Key that owns the job; none for nobody.
    pub owner: Option<Uuid>,
    /// State of the job.
    pub phase: JobPhase,
    /// Time of acceptance, in milliseconds since 1970.
    pub created_at: i64,
    /// Time at which the first item was started, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// Time at which the job finished or was cancelled, in milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// Reason for its cancellation.
    pub reason: Option<String>,
    /// Short description of the job, encoded by the caller.
    pub about: Vec<u8>,
    /// Number of items in the job.
    pub items: u32,
    /// Items by how they ended, in the order of [`proofbox_types::histogram::OUTCOMES`].
    pub tally: [u32; OUTCOME_COUNT],
    /// Size in the store, in bytes.
    pub bytes: u64,
    /// SHA-256 of the request.
    pub request_sha256: [u8; 32],
    /// The name that its client gave it.
    pub idempotency_key: Option<String>,
    /// Callback at the job's end.
    pub callback: Option<Callback>,
}

impl JobRow {
    /// Items with a result.
    #[must_use]
    pub fn done(&self) -> u32 {
        self.tally.iter().sum()
    }
}

/// Effect of accepting a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// The job is stored.
    New,
    /// An equal request with the same idempotency key was stored before, as this job.
    Same(Uuid),
    /// The idempotency key is that of another request.
    OtherRequest,
    /// The owner has too many jobs that have not ended.
    TooMany,
    /// Too little room is left, even after removing what may go.
    NoRoom,
    /// The owner would exceed its quota.
    OverQuota {
        /// Bytes that it would hold.
        asked: u64,
        /// Bytes that it may hold.
        allowed: u64,
    },
}

/// Effect of cancelling a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The job is cancelled now.
    Now,
    /// The job had ended before.
    HadEnded,
    /// No job has this id.
    NotFound,
}

/// Filter of a listing of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFilter {
    /// Owner of the jobs, who may be nobody.
    pub owner: Option<Uuid>,
    /// Jobs in this state; none: in any.
    pub phase: Option<JobPhase>,
    /// Older than this one.
    pub after: Option<Uuid>,
}

/// A job that has items to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnfinishedJob {
    /// Id of the job.
    pub id: Uuid,
    /// Key that owns the job; none for nobody.
    pub owner: Option<Uuid>,
}

/// A job, compressed and ready to be written.
pub(super) struct Packed {
    job: NewJob,
    head: Vec<u8>,
    requests: Vec<Vec<u8>>,
    bytes: u64,
}

pub(super) fn pack(job: NewJob) -> Result<Packed, StoreError> {
    let head = compressed(&job.head)?;
    let mut compressor = compressor()?;
    let requests = job.items.iter().map(|item| compressor.compress(&item.request).map_err(failed));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let items: u64 = job
        .items
        .iter()
        .zip(&requests)
        .map(|(item, request)| (item.name.len() + request.len()) as u64 + ROW_BYTES)
        .sum();
    let bytes = ROW_BYTES + (job.about.len() + head.len()) as u64 + items;
    Ok(Packed { job, head, requests, bytes })
}

pub(super) fn accept(
    connection: &Connection,
    disk: &Disk,
    packed: &Packed,
    bounds: JobBounds,
) -> Result<Accepted, StoreError> {
    let job = &packed.job;
    let owner = job.owner.as_ref().map(|owner| owner.as_bytes());
    if let Some(name) = &job.idempotency_key {
        let same = "SELECT id, request_sha256 FROM jobs
                    WHERE ifnull(owner, x'') = ifnull(?1, x'') AND idempotency_key = ?2";
        let read = |row: &Row<'_>| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, [u8; 32]>(1)?));
        let found = connection.prepare_cached(same)?.query_row(params![owner, name], read).optional()?;
        if let Some((id, sha256)) = found {
            let same = sha256 == job.request_sha256;
            return Ok(if same { Accepted::Same(Uuid::from_bytes(id)) } else { Accepted::OtherRequest });
        }
    }
    if retention::unfinished_of(connection, job.owner)? >= bounds.unfinished {
        return Ok(Accepted::TooMany);
    }
    disk.check(connection, packed.bytes)?;
    match retention::make_room(connection, job.owner, packed.bytes, bounds) {
        Ok(()) => {}
        Err(StoreError::NoRoom) => return Ok(Accepted::NoRoom),
        Err(StoreError::OverQuota { asked, allowed }) => return Ok(Accepted::OverQuota { asked, allowed }),
        Err(error) => return Err(error),
    }
    let row = JobRow {
        id: job.id,
        owner: job.owner,
        phase: JobPhase::Queued,
        created_at: job.created_at,
        started_at: None,
        ended_at: None,
        reason: None,
        about: job.about.clone(),
        items: u32::try_from(job.items.len()).map_err(|_| StoreError::Full)?,
        tally: [0; OUTCOME_COUNT],
        bytes: packed.bytes,
        request_sha256: job.request_sha256,
        idempotency_key: job.idempotency_key.clone(),
        callback: None,
    };
    let mut insert = connection.prepare_cached(
        "INSERT INTO jobs (id, owner, phase, created_at, about, head_sha256, items, tally, bytes, idempotency_key,
         request_sha256, row_sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let head_sha256: [u8; 32] = Sha256::digest(&packed.head).into();
    let key = insert.insert(params![
        row.id.as_bytes(),
        owner,
        row.phase.number(),
        row.created_at,
        row.about,
        head_sha256,
        row.items,
        tally_bytes(&row.tally),
        row.bytes as i64,
        row.idempotency_key,
        row.request_sha256,
        seal(&row, &head_sha256),
    ])?;
    let insert = "INSERT INTO job_heads (job, head) VALUES (?, ?)";
    connection.prepare_cached(insert)?.execute(params![key, packed.head])?;
    for ((number, item), request) in (0..row.items).zip(&job.items).zip(&packed.requests) {
        items::insert(connection, key, row.id, number, &item.name, request)?;
    }
    if let Some(url) = &job.callback_url {
        callbacks::insert(connection, key, row.id, url)?;
    }
    Ok(Accepted::New)
}

const COLUMNS: &str = "id, owner, phase, created_at, started_at, ended_at, reason, about, items, tally, bytes, \
                       request_sha256, idempotency_key, row_sha256, key, head_sha256";

/// A row with what only the store needs.
pub(super) struct Stored {
    pub(super) row: JobRow,
    pub(super) key: i64,
    /// SHA-256 of the head that its items share, compressed as in the file.
    head_sha256: [u8; 32],
}

pub(super) fn find(connection: &Connection, id: Uuid) -> Result<Option<JobRow>, StoreError> {
    let Some(stored) = find_stored(connection, id)? else { return Ok(None) };
    whole(connection, stored).map(Some)
}

/// Completes the row of a job with its callback.
fn whole(connection: &Connection, stored: Stored) -> Result<JobRow, StoreError> {
    let Stored { mut row, key, .. } = stored;
    row.callback = callbacks::find(connection, key, row.id)?;
    Ok(row)
}

pub(super) fn head(connection: &Connection, id: Uuid) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(stored) = find_stored(connection, id)? else { return Ok(None) };
    let mut select = connection.prepare_cached("SELECT head FROM job_heads WHERE job = ?")?;
    let head = select.query_row([stored.key], |row| row.get::<_, Vec<u8>>(0)).optional()?;
    let sound = head.filter(|head| Sha256::digest(head)[..] == stored.head_sha256);
    sound.and_then(|head| decompressed(&head)).map(Some).ok_or_else(|| StoreError::damaged("job", id))
}

pub(super) fn find_stored(connection: &Connection, id: Uuid) -> Result<Option<Stored>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE id = ?"))?;
    let found = select.query_row([id.as_bytes()], |row| Ok(read(row))).optional()?;
    found.map(|read| read.ok_or_else(|| StoreError::damaged("job", id))).transpose()
}

pub(super) fn list(connection: &Connection, filter: &JobFilter, limit: usize) -> Result<Vec<JobRow>, StoreError> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM jobs WHERE owner IS ?1 AND (?2 IS NULL OR phase = ?2) AND (?3 IS NULL OR id < ?3)
         ORDER BY id DESC LIMIT ?4"
    ))?;
    let mut rows = select.query(params![
        filter.owner.as_ref().map(|owner| owner.as_bytes()),
        filter.phase.map(JobPhase::number),
        filter.after.as_ref().map(|after| after.as_bytes()),
        limit.min(super::super::MAX_LISTED) as i64,
    ])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row).map(|stored| whole(connection, stored)) {
            Some(Ok(job)) => found.push(job),
            Some(Err(_)) | None => tracing::warn!("a damaged job in the store is left out of a listing"),
        }
    }
    Ok(found)
}

pub(super) fn unfinished(connection: &Connection) -> Result<Vec<UnfinishedJob>, StoreError> {
    let select = "SELECT id, owner FROM jobs WHERE phase IN (0, 1) ORDER BY id";
    let mut select = connection.prepare_cached(select)?;
    let read = |row: &Row<'_>| {
        let owner = row.get::<_, Option<[u8; 16]>>(1)?.map(Uuid::from_bytes);
        Ok(UnfinishedJob { id: Uuid::from_bytes(row.get(0)?), owner })
    };
    let rows = select.query_map([], read)?;
    Ok(rows
        .filter_map(|row| row.inspect_err(|_| tracing::warn!("a damaged job in the store is not taken up")).ok())
        .collect())
}

pub(super) fn start(connection: &Connection, id: Uuid, now: i64) -> Result<(), StoreError> {
    let mut stored = find_stored(connection, id)?.ok_or_else(|| StoreError::damaged("job", id))?;
    if stored.row.phase == JobPhase::Queued {
        stored.row.phase = JobPhase::Running;
        stored.row.started_at = Some(now);
        update(connection, &stored)?;
    }
    Ok(())
}

pub(super) fn cancel(connection: &Connection, id: Uuid, reason: &str, now: i64) -> Result<Cancelled, StoreError> {
    let Some(mut stored) = find_stored(connection, id)? else { return Ok(Cancelled::NotFound) };
    match stored.row.phase {
        JobPhase::Queued | JobPhase::Running => {
            stored.row.phase = JobPhase::Cancelled;
            stored.row.ended_at = Some(now);
            stored.row.reason = Some(reason.to_owned());
            update(connection, &stored)?;
            callbacks::wake(connection, stored.key, id, now)?;
            Ok(Cancelled::Now)
        }
        JobPhase::Finished | JobPhase::Cancelled => Ok(Cancelled::HadEnded),
    }
}

pub(super) fn delete(connection: &Connection, id: Uuid) -> Result<bool, StoreError> {
    let mut delete = connection.prepare_cached("DELETE FROM jobs WHERE id = ?")?;
    Ok(delete.execute([id.as_bytes()])? > 0)
}

/// Writes what of a job changes.
pub(super) fn update(connection: &Connection, stored: &Stored) -> Result<(), StoreError> {
    let row = &stored.row;
    let mut update = connection.prepare_cached(
        "UPDATE jobs SET phase = ?, started_at = ?, ended_at = ?, reason = ?, tally = ?, bytes = ?, row_sha256 = ?
         WHERE key = ?",
    )?;
    update.execute(params![
        row.phase.number(),
        row.started_at,
        row.ended_at,
        row.reason,
        tally_bytes(&row.tally),
        row.bytes as i64,
        seal(row, &stored.head_sha256),
        stored.key,
    ])?;
    Ok(())
}

/// A row, if it is as it was written.
fn read(row: &Row<'_>) -> Option<Stored> {
    let parse = || -> rusqlite::Result<Option<(Stored, [u8; 32])>> {
        let Some(phase) = JobPhase::from_number(row.get(2)?) else { return Ok(None) };
        let Ok(bytes) = u64::try_from(row.get::<_, i64>(10)?) else { return Ok(None) };
        let Some(tally) = tally_of(row.get_ref(9)?.as_blob()?) else { return Ok(None) };
        let job = JobRow {
            id: Uuid::from_bytes(row.get(0)?),
            owner: row.get::<_, Option<[u8; 16]>>(1)?.map(Uuid::from_bytes),
            phase,
            created_at: row.get(3)?,
            started_at: row.get(4)?,
            ended_at: row.get(5)?,
            reason: row.get(6)?,
            about: row.get(7)?,
            items: row.get(8)?,
            tally,
            bytes,
            request_sha256: row.get(11)?,
            idempotency_key: row.get(12)?,
            callback: None,
        };
        Ok(Some((Stored { row: job, key: row.get(14)?, head_sha256: row.get(15)? }, row.get(13)?)))
    };
    let (stored, sealed) = parse().ok().flatten()?;
    (sealed == seal(&stored.row, &stored.head_sha256)).then_some(stored)
}

fn tally_bytes(tally: &[u32; OUTCOME_COUNT]) -> Vec<u8> {
    tally.iter().flat_map(|count| count.to_le_bytes()).collect()
}

fn tally_of(bytes: &[u8]) -> Option<[u32; OUTCOME_COUNT]> {
    let mut counts = bytes.chunks_exact(4).map(|count| u32::from_le_bytes([count[0], count[1], count[2], count[3]]));
    (bytes.len() == 4 * OUTCOME_COUNT).then(|| std::array::from_fn(|_| counts.next().unwrap_or_default()))
}

fn seal(row: &JobRow, head_sha256: &[u8]) -> [u8; 32] {
    let time = |time: Option<i64>| time.map(i64::to_le_bytes);
    Seal::of("job")
        .id(row.id)
        .optional(row.owner.as_ref().map(|owner| &owner.as_bytes()[..]))
        .number(row.phase.number())
        .number(row.created_at)
        .optional(time(row.started_at).as_ref().map(|bytes| &bytes[..]))
        .optional(time(row.ended_at).as_ref().map(|bytes| &bytes[..]))
        .optional(row.reason.as_deref().map(str::as_bytes))
        .field(&row.about)
        .field(head_sha256)
        .number(row.items.into())
        .field(&tally_bytes(&row.tally))
        .number(row.bytes as i64)
        .optional(row.idempotency_key.as_deref().map(str::as_bytes))
        .field(&row.request_sha256)
        .finish()
}
