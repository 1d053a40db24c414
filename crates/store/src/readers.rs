//! The connections that read.

use super::error::StoreError;
use super::file::open_to_read;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Reads at once. More would only wait for the same disk.
const READERS: usize = 4;

/// A small pool of connections that read, opened when they are first needed.
#[derive(Debug)]
pub(super) struct Readers {
    pool: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    path: PathBuf,
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        let pool = Pool { path, places: Semaphore::new(READERS), idle: Mutex::default() };
        Self { pool: Arc::new(pool) }
    }

    /// Has `job` done on a blocking thread. All it reads is of one moment.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let pool = Arc::clone(&self.pool);
        let _place = self.pool.places.acquire().await.map_err(|_| StoreError::Closed)?;
        let run = move || {
            let idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match idle {
                Some(connection) => connection,
                None => open_to_read(&pool.path)?,
            };
            let moment = connection.unchecked_transaction()?;
            let result = job(&connection);
            // Nothing was changed; ending it lets the writer move on.
            moment.finish()?;
            pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            result
        };
        tokio::task::spawn_blocking(run).await.map_err(|_| StoreError::Closed)?
    }
}
