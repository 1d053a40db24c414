//! The items of a job.

use super::super::error::StoreError;
use super::super::seal::Seal;
use super::decompressed;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row, params};
use uuid::Uuid;

/// Bytes beyond which a page is not filled further. What was compressed may be a thousand times as long, and many read
/// at once.
pub(super) const PAGE_BYTES: usize = 1 << 20;

/// Item of a job, as it is put into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobItem {
    /// Name of the item in its job.
    pub name: String,
    /// Request of the item, encoded by the caller.
    pub request: Vec<u8>,
}

/// Item without a result, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenItem {
    /// Index of the item in its job.
    pub number: u32,
    /// Item as it was written; none where it is damaged.
    pub item: Option<JobItem>,
}

pub(super) fn insert(
    connection: &Connection,
    job: i64,
    id: Uuid,
    number: u32,
    name: &str,
    request: &[u8],
) -> Result<(), StoreError> {
    let insert = "INSERT INTO job_items (job, number, name, request, row_sha256) VALUES (?, ?, ?, ?, ?)";
    let sealed = item_seal(id, number, name, request);
    connection.prepare_cached(insert)?.execute(params![job, number, name, request, sealed])?;
    Ok(())
}

pub(super) fn open(
    connection: &Connection,
    id: Uuid,
    after: Option<u32>,
    limit: usize,
) -> Result<Vec<OpenItem>, StoreError> {
    let Some(key) = key_of(connection, id)? else { return Ok(Vec::new()) };
    let select = connection.prepare_cached(
        "SELECT number, name, request, row_sha256 FROM job_items AS items WHERE job = ?1 AND number > ?2
         AND NOT EXISTS (SELECT 1 FROM job_results AS results WHERE results.job = ?1 AND results.item = items.number)
         ORDER BY number LIMIT ?3",
    )?;
    page(select, params![key, after.map_or(-1, i64::from), limit as i64], id)
}

pub(super) fn of_numbers(connection: &Connection, id: Uuid, numbers: &[u32]) -> Result<Vec<OpenItem>, StoreError> {
    let Some(key) = key_of(connection, id)? else { return Ok(Vec::new()) };
    let mut found = Vec::with_capacity(numbers.len());
    for number in numbers {
        let select = "SELECT number, name, request, row_sha256 FROM job_items WHERE job = ? AND number = ?";
        found.extend(page(connection.prepare_cached(select)?, params![key, number], id)?);
    }
    Ok(found)
}

/// Items until they are many bytes.
fn page(mut select: CachedStatement<'_>, asked: impl Params, id: Uuid) -> Result<Vec<OpenItem>, StoreError> {
    let mut rows = select.query(asked)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let item = read_item(row, id);
        bytes += item.as_ref().map_or(0, |item| item.request.len());
        found.push(OpenItem { number: row.get(0)?, item });
    }
    Ok(found)
}

fn read_item(row: &Row<'_>, id: Uuid) -> Option<JobItem> {
    let number: u32 = row.get(0).ok()?;
    let name: String = row.get(1).ok()?;
    let request = row.get_ref(2).ok()?.as_blob().ok()?;
    let sealed: [u8; 32] = row.get(3).ok()?;
    if sealed != item_seal(id, number, &name, request) {
        tracing::error!(job = %id, number, "an item of a job is damaged in the store");
        return None;
    }
    Some(JobItem { name, request: decompressed(request)? })
}

pub(super) fn key_of(connection: &Connection, id: Uuid) -> Result<Option<i64>, StoreError> {
    let mut select = connection.prepare_cached("SELECT key FROM jobs WHERE id = ?")?;
    Ok(select.query_row([id.as_bytes()], |row| row.get(0)).optional()?)
}

fn item_seal(job: Uuid, number: u32, name: &str, request: &[u8]) -> [u8; 32] {
    Seal::of("job item").id(job).number(number.into()).field(name.as_bytes()).field(request).finish()
}
