//! Statistics: for each minute, owner and set of labels what the runs in it say together.

use super::Store;
use super::error::StoreError;
use super::seal::Seal;
use proofbox_types::histogram::Figures;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::ops::RangeInclusive;
use uuid::Uuid;

/// Rows removed in one transaction: other writes wait meanwhile.
const REMOVED_AT_ONCE: u64 = 20_000;

/// Statistics of some runs of an owner in one minute, with the same labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Key that owns the runs; none for nobody.
    pub owner: Option<Uuid>,
    /// The minute, counted since 1970.
    pub minute: i64,
    /// Labels of the runs, encoded by the caller: always the same text for the same labels.
    pub labels: String,
    /// Sums over the runs.
    pub figures: Figures,
}

/// Bounds on stored statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatBounds {
    /// Oldest minute that is kept, counted since 1970.
    pub oldest: i64,
    /// Rows: minutes times sets of labels.
    pub rows: u64,
}

/// Adds to what is there.
pub(super) fn record(connection: &Connection, recorded: &[Recorded]) -> Result<(), StoreError> {
    for Recorded { owner, minute, labels, figures } in recorded {
        let key = labels_key(connection, *owner, labels)?;
        let select = "SELECT figures, row_sha256 FROM stats WHERE minute = ? AND labels = ?";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?));
        let before = connection.prepare_cached(select)?.query_row(params![minute, key], read).optional()?;
        let before = before.and_then(|(bytes, sealed)| figures_of(*owner, *minute, labels, &bytes, &sealed));
        let mut sum = before.unwrap_or_default();
        sum.add(figures);
        let bytes = postcard::to_stdvec(&sum).map_err(|error| StoreError::Engine { reason: error.to_string() })?;
        let sealed = seal(*owner, *minute, labels, &bytes);
        connection
            .prepare_cached("INSERT OR REPLACE INTO stats (minute, labels, figures, row_sha256) VALUES (?, ?, ?, ?)")?
            .execute(params![minute, key, bytes, sealed])?;
    }
    Ok(())
}

fn labels_key(connection: &Connection, owner: Option<Uuid>, labels: &str) -> Result<i64, StoreError> {
    let owner = owner.as_ref().map(|owner| owner.as_bytes());
    let select = "SELECT key FROM stat_labels WHERE ifnull(owner, x'') = ifnull(?1, x'') AND labels = ?2";
    let found = connection.prepare_cached(select)?.query_row(params![owner, labels], |row| row.get(0)).optional()?;
    match found {
        Some(key) => Ok(key),
        None => {
            let insert = "INSERT INTO stat_labels (owner, labels) VALUES (?, ?)";
            Ok(connection.prepare_cached(insert)?.insert(params![owner, labels])?)
        }
    }
}

/// The figures of a row, if it is as it was written.
fn figures_of(owner: Option<Uuid>, minute: i64, labels: &str, bytes: &[u8], sealed: &[u8]) -> Option<Figures> {
    let sound = (sealed == seal(owner, minute, labels, bytes)).then(|| postcard::from_bytes(bytes).ok()).flatten();
    if sound.is_none() {
        tracing::warn!(minute, "a damaged row of statistics in the store is left out");
    }
    sound
}

fn seal(owner: Option<Uuid>, minute: i64, labels: &str, figures: &[u8]) -> [u8; 32] {
    Seal::of("stats")
        .optional(owner.as_ref().map(|owner| &owner.as_bytes()[..]))
        .number(minute)
        .field(labels.as_bytes())
        .field(figures)
        .finish()
}

fn label_sets(connection: &Connection) -> Result<Vec<(Option<Uuid>, String)>, StoreError> {
    let mut select = connection.prepare_cached("SELECT owner, labels FROM stat_labels ORDER BY key")?;
    let rows = select.query_map([], |row| {
        let owner = row.get::<_, Option<[u8; 16]>>(0)?.map(Uuid::from_bytes);
        Ok((owner, row.get(1)?))
    })?;
    Ok(rows.filter_map(Result::ok).collect())
}

fn fold<T>(
    connection: &Connection,
    owner: Option<Uuid>,
    minutes: &RangeInclusive<i64>,
    mut sum: T,
    mut add: impl FnMut(&mut T, i64, &str, &Figures),
) -> Result<T, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT minute, stat_labels.labels, figures, row_sha256 FROM stats JOIN stat_labels ON key = stats.labels
         WHERE ifnull(owner, x'') = ifnull(?1, x'') AND minute BETWEEN ?2 AND ?3",
    )?;
    let owned = owner.as_ref().map(|owner| owner.as_bytes());
    let mut rows = select.query(params![owned, minutes.start(), minutes.end()])?;
    while let Some(row) = rows.next()? {
        let (minute, labels): (i64, String) = (row.get(0)?, row.get(1)?);
        let (bytes, sealed): (Vec<u8>, Vec<u8>) = (row.get(2)?, row.get(3)?);
        if let Some(figures) = figures_of(owner, minute, &labels, &bytes, &sealed) {
            add(&mut sum, minute, &labels, &figures);
        }
    }
    Ok(sum)
}

fn prune(connection: &Connection, bounds: StatBounds) -> Result<u64, StoreError> {
    let count = "SELECT count(*) FROM stats";
    let rows: i64 = connection.prepare_cached(count)?.query_row([], |row| row.get(0))?;
    let excess = u64::try_from(rows).unwrap_or_default().saturating_sub(bounds.rows).min(REMOVED_AT_ONCE);
    // Whole minutes: what is left of one would be wrong.
    let last = "SELECT minute FROM stats ORDER BY minute LIMIT 1 OFFSET ?";
    let last: Option<i64> = match excess {
        0 => None,
        excess => connection.prepare_cached(last)?.query_row([excess as i64 - 1], |row| row.get(0)).optional()?,
    };
    let before = bounds.oldest.max(last.map_or(i64::MIN, |last| last + 1));
    let removed = connection.prepare_cached("DELETE FROM stats WHERE minute < ?")?.execute([before])?;
    if removed > 0 {
        let unused = "DELETE FROM stat_labels WHERE NOT EXISTS (SELECT 1 FROM stats WHERE labels = key)";
        connection.prepare_cached(unused)?.execute([])?;
    }
    Ok(removed as u64)
}

impl Store {
    /// Adds to the statistics.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn record_stats(&self, recorded: Vec<Recorded>) -> Result<(), StoreError> {
        self.writer.write(move |connection| record(connection, &recorded)).await
    }

    /// Every set of labels there is, with its owner.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn stat_labels(&self) -> Result<Vec<(Option<Uuid>, String)>, StoreError> {
        self.readers.read(label_sets).await
    }

    /// Goes through an owner's statistics of these minutes and `add`s each row, with its minute and labels. Damaged
    /// rows are left out and logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn fold_stats<T: Send + 'static>(
        &self,
        owner: Option<Uuid>,
        minutes: RangeInclusive<i64>,
        sum: T,
        add: impl FnMut(&mut T, i64, &str, &Figures) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(move |connection| fold(connection, owner, &minutes, sum, add)).await
    }

    /// Removes the statistics that are too old or too many; returns the rows that went.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn prune_stats(&self, bounds: StatBounds) -> Result<u64, StoreError> {
        self.writer.write(move |connection| prune(connection, bounds)).await
    }
}
