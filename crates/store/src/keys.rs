//! Keys, in a file of their own: `proofbox keys` changes it while the service runs, which looks whether it has changed.
//!
//! Of a key only its SHA-256 is kept. It is 160 random bits: there is nothing to be guessed, so no slow hash is needed.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

use super::error::StoreError;
use super::file::make_private;

/// Application id of the file: "prbk".
const APPLICATION_ID: i64 = 0x7072_626b;
/// Version of the tables that this program writes.
const VERSION: i64 = 2;
const TABLES: &str = "
    CREATE TABLE keys (
        id BLOB PRIMARY KEY,
        name TEXT NOT NULL,
        sha256 BLOB NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        revoked_at INTEGER,
        policies TEXT,
        requests_per_minute INTEGER,
        concurrency INTEGER,
        sessions INTEGER,
        fuel_per_day INTEGER
    );
    CREATE UNIQUE INDEX keys_by_name ON keys (name) WHERE revoked_at IS NULL;
    CREATE TABLE fuel (
        key BLOB NOT NULL,
        day INTEGER NOT NULL,
        used INTEGER NOT NULL,
        PRIMARY KEY (key, day)
    );
";
/// Column that the second version adds.
const DISK_BYTES: &str = "ALTER TABLE keys ADD COLUMN disk_bytes INTEGER;";
/// Time that a connection waits for another's lock.
const PATIENCE: Duration = Duration::from_secs(5);
/// Days whose use of fuel is kept.
const DAYS: i64 = 7;
const COLUMNS: &str = "id, name, sha256, hint, created_at, revoked_at, policies, requests_per_minute, concurrency, \
                       sessions, fuel_per_day, disk_bytes";

/// Key as it is stored. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// Tells it from all others.
    pub id: Uuid,
    /// Name for people; one key that is not revoked has it.
    pub name: String,
    /// SHA-256 of its secret.
    pub sha256: [u8; 32],
    /// The end of its secret, by which people know it again.
    pub hint: String,
    /// Creation time of the key.
    pub created_at: i64,
    /// Revocation time; none while the key is valid.
    pub revoked_at: Option<i64>,
    /// Policies that it may name; none: all.
    pub policies: Option<Vec<String>>,
    /// Requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// Submissions that run at once.
    pub concurrency: Option<u32>,
    /// Maximum number of sessions at once.
    pub sessions: Option<u32>,
    /// Fuel from midnight to midnight (UTC).
    pub fuel_per_day: Option<u64>,
    /// Bytes on disk: checkpoints, sessions and jobs.
    pub disk_bytes: Option<u64>,
}

/// The file of keys.
#[derive(Debug)]
pub struct KeyFile(Connection);

impl KeyFile {
    /// Opens the file, made with the directories above it if it is not there. Others may have it open, too.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be made, is of a newer version, or is something else.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let opening = |error: rusqlite::Error| StoreError::opening(path, &error);
        make_private(path)?;
        let mut connection = Connection::open(path).map_err(opening)?;
        connection.busy_timeout(PATIENCE).map_err(opening)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(opening)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(opening)?;
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(opening)?;
        let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let (application, found) =
            (number("application_id").map_err(opening)?, number("user_version").map_err(opening)?);
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(opening)?;
        let fresh = application == 0 && tables == 0;
        if fresh {
            transaction.execute_batch(TABLES).map_err(opening)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(opening)?;
        } else if application != APPLICATION_ID {
            return Err(StoreError::NotAStore { path: path.to_owned() });
        } else if found > VERSION {
            return Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        if fresh || found < VERSION {
            transaction.execute_batch(DISK_BYTES).map_err(opening)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(opening)?;
        }
        transaction.commit().map_err(opening)?;
        Ok(Self(connection))
    }

    /// Keeps a new key.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::NameTaken`], or a file that cannot be written.
    pub fn create(&self, row: &KeyRow) -> Result<(), StoreError> {
        let policies = row.policies.as_ref().map(|policies| policies.join("\n"));
        let inserted = self.0.execute(
            &format!("INSERT INTO keys ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
            params![
                row.id.as_bytes(),
                row.name,
                row.sha256,
                row.hint,
                row.created_at,
                row.revoked_at,
                policies,
                row.requests_per_minute,
                row.concurrency,
                row.sessions,
                row.fuel_per_day.map(|fuel| i64::try_from(fuel).unwrap_or(i64::MAX)),
                row.disk_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            ],
        );
        match inserted {
            Ok(_) => Ok(()),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                Err(StoreError::NameTaken { name: row.name.clone() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the keys, revoked ones too, the oldest first.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub fn list(&self) -> Result<Vec<KeyRow>, StoreError> {
        let mut select = self.0.prepare_cached(&format!("SELECT {COLUMNS} FROM keys ORDER BY created_at, id"))?;
        let rows = select.query_map([], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Revokes the key of this name or id; which it was, if there was one.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub fn revoke(&self, name_or_id: &str, now: i64) -> Result<Option<KeyRow>, StoreError> {
        let id = Uuid::try_parse(name_or_id).ok();
        let update = format!(
            "UPDATE keys SET revoked_at = ?1 WHERE revoked_at IS NULL AND (name = ?2 OR id = ?3) RETURNING {COLUMNS}"
        );
        let id = id.as_ref().map(|id| id.as_bytes());
        Ok(self.0.prepare_cached(&update)?.query_row(params![now, name_or_id, id], read).optional()?)
    }

    /// A number that is another one when some other connection has changed the file.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub fn version(&self) -> Result<i64, StoreError> {
        Ok(self.0.pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    /// Adds fuel that keys have used on a day, and forgets days long past.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub fn add_fuel(&mut self, day: i64, used: &[(Uuid, u64)]) -> Result<(), StoreError> {
        let transaction = self.0.transaction()?;
        {
            let mut add = transaction.prepare_cached(
                "INSERT INTO fuel (key, day, used) VALUES (?, ?, ?)
                 ON CONFLICT (key, day) DO UPDATE SET used = used + excluded.used",
            )?;
            for (key, fuel) in used {
                add.execute(params![key.as_bytes(), day, i64::try_from(*fuel).unwrap_or(i64::MAX)])?;
            }
            transaction.prepare_cached("DELETE FROM fuel WHERE day < ?")?.execute([day - DAYS])?;
        }
        Ok(transaction.commit()?)
    }

    /// Fuel that keys have used on a day.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub fn fuel_by_key(&self, day: i64) -> Result<Vec<(Uuid, u64)>, StoreError> {
        let mut select = self.0.prepare_cached("SELECT key, used FROM fuel WHERE day = ?")?;
        let rows = select.query_map([day], |row| {
            Ok((Uuid::from_bytes(row.get(0)?), u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default()))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<KeyRow> {
    let policies: Option<String> = row.get(6)?;
    Ok(KeyRow {
        id: Uuid::from_bytes(row.get(0)?),
        name: row.get(1)?,
        sha256: row.get(2)?,
        hint: row.get(3)?,
        created_at: row.get(4)?,
        revoked_at: row.get(5)?,
        policies: policies.map(|policies| policies.lines().map(str::to_owned).collect()),
        requests_per_minute: row.get(7)?,
        concurrency: row.get(8)?,
        sessions: row.get(9)?,
        fuel_per_day: row.get::<_, Option<i64>>(10)?.map(|fuel| u64::try_from(fuel).unwrap_or_default()),
        disk_bytes: row.get::<_, Option<i64>>(11)?.map(|bytes| u64::try_from(bytes).unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u128, name: &str) -> KeyRow {
        KeyRow {
            id: Uuid::from_u128(number),
            name: name.to_owned(),
            sha256: [u8::try_from(number).expect("a small number"); 32],
            hint: "abcd".to_owned(),
            created_at: 1,
            revoked_at: None,
            policies: Some(vec!["eval".to_owned(), "strict".to_owned()]),
            requests_per_minute: Some(60),
            concurrency: None,
            sessions: Some(3),
            fuel_per_day: Some(u64::MAX >> 1),
            disk_bytes: Some(7),
        }
    }

    #[test]
    fn keys_are_made_listed_and_revoked_while_another_has_the_file_open() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("deep/keys.sqlite3");
        let service = KeyFile::open(&path).expect("made");
        let before = service.version().expect("a number");
        let command = KeyFile::open(&path).expect("opened again");
        command.create(&row(1, "ci")).expect("kept");
        assert_eq!(command.create(&row(2, "ci")), Err(StoreError::NameTaken { name: "ci".to_owned() }));
        assert_ne!(service.version().expect("a number"), before);
        assert_eq!(service.list().expect("read"), [row(1, "ci")]);
        let revoked = command.revoke("ci", 9).expect("written").expect("there is one");
        assert_eq!(revoked, KeyRow { revoked_at: Some(9), ..row(1, "ci") });
        assert_eq!(command.revoke("ci", 10), Ok(None));
        command.create(&row(2, "ci")).expect("the name is free again");
        assert!(command.revoke(&Uuid::from_u128(2).to_string(), 11).expect("written").is_some());
        assert_eq!(service.list().expect("read").len(), 2);
    }

    #[test]
    fn a_file_of_the_first_version_is_brought_to_this_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("keys.sqlite3");
        let old = Connection::open(&path).expect("made");
        old.execute_batch(TABLES).expect("written");
        old.pragma_update(None, "application_id", APPLICATION_ID).expect("written");
        old.pragma_update(None, "user_version", 1).expect("written");
        let insert =
            "INSERT INTO keys (id, name, sha256, hint, created_at, sessions) VALUES (?, 'ci', ?, 'abcd', 1, 3)";
        old.execute(insert, params![Uuid::from_u128(1).as_bytes(), [1_u8; 32]]).expect("written");
        drop(old);
        for _ in 0..2 {
            let file = KeyFile::open(&path).expect("opened");
            let listed = file.list().expect("read");
            assert_eq!(listed.iter().map(|row| (row.sessions, row.disk_bytes)).collect::<Vec<_>>(), [(Some(3), None)]);
        }
    }

    #[test]
    fn others_on_the_machine_may_not_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("keys.sqlite3");
        let _file = KeyFile::open(&path).expect("made");
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn fuel_is_added_up_by_key_and_day() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut file = KeyFile::open(&directory.path().join("keys.sqlite3")).expect("made");
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
        file.add_fuel(100, &[(a, 5), (b, 7)]).expect("written");
        file.add_fuel(100, &[(a, 5)]).expect("written");
        file.add_fuel(101, &[(a, 1)]).expect("written");
        assert_eq!(file.fuel_by_key(100).expect("read"), [(a, 10), (b, 7)]);
        file.add_fuel(101 + DAYS, &[]).expect("written");
        assert_eq!(file.fuel_by_key(100).expect("read"), []);
        assert_eq!(file.fuel_by_key(101).expect("read"), [(a, 1)]);
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("keys.sqlite3");
        std::fs::write(&path, "something else entirely, and long enough to be looked at").expect("written");
        assert_eq!(KeyFile::open(&path).err(), Some(StoreError::NotAStore { path: path.clone() }));
    }
}
