//! The file itself: who may open it, how connections are set up, and which versions of its tables there have been.

use super::error::StoreError;
use super::room;
use rusqlite::{Connection, OpenFlags};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

/// Application id of the file: "prbx".
const APPLICATION_ID: i64 = 0x7072_6278;

/// Migrations, in order: SQL that makes each version of the tables from the one before, the first from nothing. Entries
/// are only ever appended.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE checkpoints (
        key INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        session BLOB,
        name TEXT NOT NULL,
        kind INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        image_hash TEXT NOT NULL,
        owner TEXT,
        meta BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        blob_sha256 BLOB NOT NULL,
        row_sha256 BLOB NOT NULL
    );
    CREATE INDEX checkpoints_by_age ON checkpoints (created_at, id);
    CREATE INDEX checkpoints_by_session ON checkpoints (session) WHERE session IS NOT NULL;
    CREATE INDEX checkpoints_by_expiry ON checkpoints (expires_at) WHERE expires_at IS NOT NULL;
    CREATE INDEX checkpoints_by_kind ON checkpoints (kind, created_at, id, bytes);
    CREATE TABLE chunks (
        checkpoint INTEGER NOT NULL REFERENCES checkpoints (key) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (checkpoint, number)
    );
    CREATE TABLE sessions (
        id BLOB PRIMARY KEY,
        meta BLOB NOT NULL,
        expires_at INTEGER NOT NULL,
        checkpoint BLOB,
        row_sha256 BLOB NOT NULL
    );
    CREATE INDEX sessions_by_expiry ON sessions (expires_at);
",
    include_str!("jobs/tables.sql"),
    include_str!("holdings.sql"),
    include_str!("tags.sql"),
    include_str!("volumes.sql"),
    include_str!("webhooks.sql"),
];

/// Time that a connection waits for another's lock.
const PATIENCE: Duration = Duration::from_secs(5);
/// Size to which the write-ahead log is truncated once it is in the main file, in bytes.
const LOG_BYTES: i64 = 64 << 20;
/// Memory of one connection's page cache, KiB.
const CACHE_KIB: i64 = 8 << 10;

/// Keeps other processes away from the file for as long as it lives, and no longer than this process.
#[derive(Debug)]
pub(super) struct Claim {
    _file: File,
}

impl Claim {
    /// Takes the file at `path`. What is kept may hold a client's secrets: others on the machine may not read it.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Open { path: path.to_owned(), reason: error.to_string() };
        make_private(path)?;
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = open_private(Path::new(&name)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _file: lock }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// Makes the file at `path` if it is not there, with the directories above it: others on the machine may not read it.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::Open { path: path.to_owned(), reason: error.to_string() };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    }
    open_private(path).map(drop).map_err(failed)
}

fn open_private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The one connection that writes, with the tables as this version has them.
pub(super) fn open_to_write(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let opening = |error: rusqlite::Error| StoreError::opening(path, &error);
    migrate(&mut connection, path)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opening)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(opening)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES).map_err(opening)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(opening)?;
    // The service may write nowhere but in its own directories.
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(opening)?;
    if let Err(error) = room::recount(&connection) {
        tracing::warn!(%error, "what each owner holds in the store is as it was counted last");
    }
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let opening = |error: rusqlite::Error| StoreError::opening(path, &error);
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(opening)?;
    connection.busy_timeout(PATIENCE).map_err(opening)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(opening)?;
    // Statements in the file's own schema are not ours to trust.
    connection.pragma_update(None, "trusted_schema", false).map_err(opening)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let opening = |error: rusqlite::Error| StoreError::opening(path, &error);
    let number = |connection: &Connection, pragma: &str| {
        connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(opening)
    };
    let (application, found) = (number(connection, "application_id")?, number(connection, "user_version")?);
    let known = MIGRATIONS.len() as i64;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(opening)?;
    let fresh = application == 0 && found == 0 && tables == 0;
    if !fresh && application != APPLICATION_ID {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    let done = usize::try_from(found).map_err(|_| StoreError::NotAStore { path: path.to_owned() })?;
    if fresh {
        // Must be said before the first table is made: what is deleted can then be given back to the disk.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(opening)?;
    }
    if done < MIGRATIONS.len() {
        let transaction = connection.transaction().map_err(opening)?;
        for migration in &MIGRATIONS[done..] {
            transaction.execute_batch(migration).map_err(opening)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(opening)?;
        transaction.pragma_update(None, "user_version", known).map_err(opening)?;
        transaction.commit().map_err(opening)?;
    }
    Ok(())
}
