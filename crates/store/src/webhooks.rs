//! Webhooks of owners, and the deliveries that wait for their time.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

use super::checkpoints::MAX_LISTED;
use super::disk::Disk;
use super::error::StoreError;
use super::seal::Seal;

/// Webhook of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    /// Id of the webhook.
    pub id: Uuid,
    /// Owner: a key's id, or a word.
    pub owner: String,
    /// Name given by the client.
    pub name: String,
    /// Address that is told.
    pub url: String,
    /// Secret that deliveries are signed with.
    pub secret: String,
    /// False while nothing is told.
    pub enabled: bool,
    /// Kinds of events that are told, a bit for each, as the caller numbers them.
    pub kinds: u32,
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
}

/// Event that waits to be told to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Id of the delivery.
    pub id: Uuid,
    /// Event as it is sent.
    pub body: Vec<u8>,
    /// Number of times that it was tried.
    pub attempts: u32,
    /// Time of the next attempt, in milliseconds since 1970.
    pub next_at: i64,
}

/// Deliveries whose time has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    /// First delivery to each webhook.
    pub deliveries: Vec<DueDelivery>,
    /// Ids of those that are damaged and can't be made: the others of their webhook wait behind them.
    pub damaged: Vec<Uuid>,
}

/// Delivery whose time has come, with its webhook as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueDelivery {
    /// Webhook that is told.
    pub webhook: WebhookRow,
    /// Delivery to it.
    pub delivery: Delivery,
}

const COLUMNS: &str = "webhooks.id, owner, name, url, secret, enabled, kinds, created_at,
    webhooks.row_sha256";

/// Keeps a webhook, which replaces the one of the same id.
pub(super) fn put(connection: &Connection, disk: &Disk, row: &WebhookRow, most: usize) -> Result<(), StoreError> {
    disk.check(connection, 0)?;
    let others = "SELECT count(*) FROM webhooks WHERE owner = ? AND id <> ?";
    let others: i64 =
        connection.prepare_cached(others)?.query_row(params![row.owner, row.id.as_bytes()], |found| found.get(0))?;
    if usize::try_from(others).unwrap_or(usize::MAX) >= most {
        return Err(StoreError::TooManyWebhooks { allowed: most });
    }
    let mut upsert = connection.prepare_cached(
        "INSERT INTO webhooks (id, owner, name, url, secret, enabled, kinds, created_at, row_sha256)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, url = excluded.url, secret = excluded.secret,
             enabled = excluded.enabled, kinds = excluded.kinds, row_sha256 = excluded.row_sha256",
    )?;
    upsert.execute(params![
        row.id.as_bytes(),
        row.owner,
        row.name,
        row.url,
        row.secret,
        row.enabled,
        row.kinds,
        row.created_at,
        seal(row),
    ])?;
    Ok(())
}

/// Webhooks in the order of their ids, at most [`MAX_LISTED`], after `after`: those of an owner, or all.
pub(super) fn list(
    connection: &Connection,
    owner: Option<&str>,
    after: Option<Uuid>,
) -> Result<Vec<WebhookRow>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS} FROM webhooks WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR id > ?2)
         ORDER BY id LIMIT ?3"
    );
    let mut select = connection.prepare_cached(&select)?;
    let mut rows = select.query(params![owner, after.as_ref().map(|id| id.as_bytes()), MAX_LISTED as i64])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Some(webhook) => found.push(webhook),
            None => tracing::warn!("a damaged webhook in the store is left out of a listing"),
        }
    }
    Ok(found)
}

/// Removes a webhook with what waits for it; says whether there was one.
pub(super) fn delete(connection: &Connection, id: Uuid) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached("DELETE FROM webhooks WHERE id = ?")?.execute([id.as_bytes()])? > 0)
}

/// Queues a delivery to a webhook, if it is there; returns how many older ones had to go so that no more than `most`
/// wait for it.
pub(super) fn queue(
    connection: &Connection,
    disk: &Disk,
    webhook: Uuid,
    delivery: &Delivery,
    most: usize,
) -> Result<usize, StoreError> {
    let select = "SELECT key FROM webhooks WHERE id = ?";
    let key = connection.prepare_cached(select)?.query_row([webhook.as_bytes()], |row| row.get::<_, i64>(0));
    let Some(key) = key.optional()? else { return Ok(0) };
    disk.check(connection, delivery.body.len() as u64)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO webhook_deliveries (webhook, id, body, attempts, next_at, row_sha256) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    let Delivery { id, body, attempts, next_at } = delivery;
    insert.execute(params![key, id.as_bytes(), body, attempts, next_at, seal_delivery(delivery)])?;
    let delete = "DELETE FROM webhook_deliveries WHERE webhook = ?1 AND key <= (
        SELECT key FROM webhook_deliveries WHERE webhook = ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2)";
    Ok(connection.prepare_cached(delete)?.execute(params![key, most as i64])?)
}

/// The first delivery to each webhook whose time has come, the first due first.
pub(super) fn due(connection: &Connection, now: i64, limit: usize) -> Result<Due, StoreError> {
    let select = format!(
        // Beside `min`, SQLite takes the other columns from the row that has it.
        "SELECT {COLUMNS}, webhook_deliveries.id, body, attempts, min(next_at), webhook_deliveries.row_sha256
         FROM webhook_deliveries JOIN webhooks ON webhooks.key = webhook WHERE next_at <= ?
         GROUP BY webhook ORDER BY min(next_at) LIMIT ?"
    );
    let mut select = connection.prepare_cached(&select)?;
    let mut rows = select.query(params![now, limit as i64])?;
    let mut due = Due::default();
    while let Some(row) = rows.next()? {
        match (read(row), read_delivery(row)) {
            (Some(webhook), Some(delivery)) => due.deliveries.push(DueDelivery { webhook, delivery }),
            _ => due.damaged.push(Uuid::from_bytes(row.get(9)?)),
        }
    }
    Ok(due)
}

/// Notes an attempt at a delivery that failed.
pub(super) fn postpone(connection: &Connection, delivery: &Delivery) -> Result<(), StoreError> {
    let update = "UPDATE webhook_deliveries SET attempts = ?, next_at = ?, row_sha256 = ? WHERE id = ?";
    let Delivery { id, attempts, next_at, .. } = delivery;
    connection.prepare_cached(update)?.execute(params![attempts, next_at, seal_delivery(delivery), id.as_bytes()])?;
    Ok(())
}

/// Removes a delivery that was made, or is given up.
pub(super) fn forget(connection: &Connection, id: Uuid) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM webhook_deliveries WHERE id = ?")?.execute([id.as_bytes()])?;
    Ok(())
}

/// A row, if it is as it was written.
fn read(row: &Row<'_>) -> Option<WebhookRow> {
    let parse = || -> rusqlite::Result<(WebhookRow, [u8; 32])> {
        let webhook = WebhookRow {
            id: Uuid::from_bytes(row.get(0)?),
            owner: row.get(1)?,
            name: row.get(2)?,
            url: row.get(3)?,
            secret: row.get(4)?,
            enabled: row.get(5)?,
            kinds: row.get(6)?,
            created_at: row.get(7)?,
        };
        Ok((webhook, row.get(8)?))
    };
    let (webhook, sealed) = parse().ok()?;
    (sealed == seal(&webhook)).then_some(webhook)
}

fn seal(row: &WebhookRow) -> [u8; 32] {
    Seal::of("webhook")
        .id(row.id)
        .field(row.owner.as_bytes())
        .field(row.name.as_bytes())
        .field(row.url.as_bytes())
        .field(row.secret.as_bytes())
        .number(row.enabled.into())
        .number(row.kinds.into())
        .number(row.created_at)
        .finish()
}

fn read_delivery(row: &Row<'_>) -> Option<Delivery> {
    let parse = || -> rusqlite::Result<(Delivery, [u8; 32])> {
        let id = Uuid::from_bytes(row.get(9)?);
        Ok((Delivery { id, body: row.get(10)?, attempts: row.get(11)?, next_at: row.get(12)? }, row.get(13)?))
    };
    let (delivery, sealed) = parse().ok()?;
    (sealed == seal_delivery(&delivery)).then_some(delivery)
}

fn seal_delivery(delivery: &Delivery) -> [u8; 32] {
    Seal::of("webhook delivery")
        .id(delivery.id)
        .field(&delivery.body)
        .number(delivery.attempts.into())
        .number(delivery.next_at)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::super::{DiskReserve, Store};
    use super::*;

    fn webhook(number: u128, owner: &str) -> WebhookRow {
        WebhookRow {
            id: Uuid::from_u128(number),
            owner: owner.to_owned(),
            name: format!("webhook {number}"),
            url: "http://127.0.0.1/".to_owned(),
            secret: "secret".to_owned(),
            enabled: true,
            kinds: 3,
            created_at: 5,
        }
    }

    fn delivery(number: u128, next_at: i64) -> Delivery {
        Delivery { id: Uuid::from_u128(number), body: b"{}".to_vec(), attempts: 0, next_at }
    }

    async fn opened() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().expect("a directory for tests");
        let store = Store::open(&directory.path().join("store"), DiskReserve::Bytes(0)).await.expect("a store");
        (directory, store)
    }

    #[tokio::test]
    async fn webhooks_are_kept_changed_and_bounded_for_an_owner() {
        let (_directory, store) = opened().await;
        store.put_webhook(webhook(1, "me"), 2).await.expect("room");
        store.put_webhook(webhook(2, "me"), 2).await.expect("room");
        assert_eq!(store.put_webhook(webhook(3, "me"), 2).await, Err(StoreError::TooManyWebhooks { allowed: 2 }));
        store.put_webhook(webhook(3, "other"), 2).await.expect("another owner's");
        let changed = WebhookRow { enabled: false, kinds: 1, ..webhook(2, "me") };
        store.put_webhook(changed.clone(), 2).await.expect("the same");
        assert_eq!(store.list_webhooks(Some("me".to_owned()), None).await, Ok(vec![webhook(1, "me"), changed]));
        let rest = store.list_webhooks(None, Some(Uuid::from_u128(2))).await;
        assert_eq!(rest, Ok(vec![webhook(3, "other")]));
        assert_eq!(store.delete_webhook(Uuid::from_u128(1)).await, Ok(true));
        assert_eq!(store.delete_webhook(Uuid::from_u128(1)).await, Ok(false));
    }

    #[tokio::test]
    async fn deliveries_wait_for_their_time_and_are_bounded_for_a_webhook() {
        let (_directory, store) = opened().await;
        store.put_webhook(webhook(1, "me"), 2).await.expect("room");
        store.put_webhook(webhook(2, "me"), 2).await.expect("room");
        let queue = async |webhook, number, next_at| {
            store.queue_delivery(Uuid::from_u128(webhook), delivery(number, next_at), 2).await
        };
        assert_eq!(queue(9, 1, 0).await, Ok(0), "there is no such webhook");
        assert_eq!((queue(1, 1, 30).await, queue(1, 2, 20).await, queue(2, 3, 10).await), (Ok(0), Ok(0), Ok(0)));
        let due = async |now| -> Vec<u128> {
            let found = store.due_deliveries(now, 9).await.expect("a list").deliveries;
            found.into_iter().map(|due| due.delivery.id.as_u128()).collect()
        };
        assert_eq!((due(5).await, due(20).await, due(99).await), (vec![], vec![3, 2], vec![3, 2]));
        store.forget_delivery(Uuid::from_u128(2)).await.expect("there");
        assert_eq!(due(99).await, [3, 1]);
        assert_eq!((queue(1, 4, 40).await, queue(1, 5, 50).await), (Ok(0), Ok(1)), "the oldest makes room");
        assert_eq!(due(99).await, [3, 4]);
        store.postpone_delivery(Delivery { attempts: 1, next_at: 60, ..delivery(3, 10) }).await.expect("there");
        assert_eq!((due(59).await, due(99).await), (vec![4], vec![4, 3]));
        assert_eq!(store.due_deliveries(99, 9).await.expect("a list").deliveries[1].delivery.attempts, 1);
        store.delete_webhook(Uuid::from_u128(1)).await.expect("there");
        assert_eq!(due(99).await, [3], "what waits for a webhook goes with it");
    }
}
