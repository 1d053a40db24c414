//! The store on real files.

#![expect(clippy::print_stdout, reason = "what a test measures is shown with `--nocapture`")]

use super::{
    Bounds, CheckpointFilter, CheckpointKind, CheckpointRow, DiskReserve, Displaced, Pruned, Quota, SessionRow, Store,
    StoreError, StoreUsage, TagRow,
};
use bytes::Bytes;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

const ROOM: Bounds = Bounds { total_bytes: u64::MAX, named_age: Duration::MAX };
const PLENTY: Quota = Quota { total_bytes: u64::MAX, owner_bytes: None };
const NO_RESERVE: DiskReserve = DiskReserve::Bytes(0);

fn row(number: u128, kind: CheckpointKind) -> CheckpointRow {
    CheckpointRow {
        id: Uuid::from_u128(number),
        session: Some(Uuid::from_u128(7)),
        name: format!("checkpoint {number}"),
        kind,
        created_at: number as i64,
        expires_at: None,
        image_hash: "abc".to_owned(),
        owner: Some("someone".to_owned()),
        meta: b"meta".to_vec(),
    }
}

/// Bytes that no compression and no pattern makes small.
fn noise(seed: u64, length: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory for tests"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("proofbox/store.sqlite3")
    }

    async fn open(&self) -> Store {
        Store::open(&self.path(), NO_RESERVE).await.expect("a store")
    }

    /// Copies the files as they are now, as another process finds them after this one was killed.
    fn killed(&self) -> Self {
        let copy = Self::new();
        fs::create_dir_all(copy.path().parent().expect("below")).expect("a directory");
        for ending in ["", "-wal"] {
            let name = |path: PathBuf| PathBuf::from(format!("{}{ending}", path.display()));
            fs::copy(name(self.path()), name(copy.path())).expect("the file is there");
        }
        copy
    }
}

async fn ids(store: &Store, filter: CheckpointFilter) -> Vec<u128> {
    let found = store.list_checkpoints(filter, 100, None).await.expect("a listing");
    found.into_iter().map(|stored| stored.row.id.as_u128()).collect()
}

#[tokio::test]
async fn what_is_put_in_comes_out_after_a_restart() {
    let directory = Directory::new();
    let large = noise(1, (5 << 20) + 17);
    let store = directory.open().await;
    store.put_checkpoint(row(1, CheckpointKind::Named), large.clone(), PLENTY).await.expect("room");
    store.put_checkpoint(row(2, CheckpointKind::Paused), Bytes::new(), PLENTY).await.expect("room");
    drop(store);
    assert!(!PathBuf::from(format!("{}-wal", directory.path().display())).exists(), "closed tidily");
    let store = directory.open().await;
    let (stored, blob) = store.get_checkpoint(Uuid::from_u128(1)).await.expect("sound").expect("there");
    assert_eq!((stored.row, stored.bytes), (row(1, CheckpointKind::Named), large.len() as u64));
    assert!(blob == large);
    let (_, empty) = store.get_checkpoint(Uuid::from_u128(2)).await.expect("sound").expect("there");
    assert!(empty.is_empty());
    assert_eq!(store.get_checkpoint(Uuid::from_u128(3)).await, Ok(None));
    let usage = StoreUsage { named: 1, paused: 1, bytes: large.len() as u64, ..StoreUsage::default() };
    assert_eq!(store.usage().await, Ok(usage));
}

#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let directory = Directory::new();
    let store = directory.open().await;
    for number in 1..=20 {
        store
            .put_checkpoint(row(number, CheckpointKind::Evicted), noise(number as u64, 9000), PLENTY)
            .await
            .expect("room");
    }
    store.delete_checkpoint(Uuid::from_u128(1)).await.expect("there");
    let after = directory.killed();
    let reopened = after.open().await;
    assert_eq!(ids(&reopened, CheckpointFilter::default()).await, (2..=20).rev().collect::<Vec<_>>());
    let (_, blob) = reopened.get_checkpoint(Uuid::from_u128(20)).await.expect("sound").expect("there");
    assert!(blob == noise(20, 9000));
}

#[tokio::test]
async fn an_id_is_taken_once_and_a_failed_write_leaves_its_neighbours() {
    let directory = Directory::new();
    let store = Arc::new(directory.open().await);
    store.put_checkpoint(row(1, CheckpointKind::Named), noise(1, 100), PLENTY).await.expect("room");
    let put = |number, length| store.put_checkpoint(row(number, CheckpointKind::Named), noise(9, length), PLENTY);
    // Waiting together, they are one transaction.
    let outcomes = tokio::join!(put(2, 10), put(1, 3 << 20), put(3, 10), put(1, 10));
    let done = Ok(Displaced::default());
    let taken = Err(StoreError::Exists { id: Uuid::from_u128(1) });
    assert_eq!(outcomes, (done.clone(), taken.clone(), done, taken));
    assert_eq!(store.usage().await.map(|usage| (usage.named, usage.bytes)), Ok((3, 120)));
    let (_, blob) = store.get_checkpoint(Uuid::from_u128(1)).await.expect("sound").expect("there");
    assert!(blob == noise(1, 100));
}

#[tokio::test]
async fn listings_go_on_where_they_ended_and_keep_to_their_filter() {
    let directory = Directory::new();
    let store = directory.open().await;
    for number in 1..=7 {
        let kind = if number % 2 == 0 { CheckpointKind::Paused } else { CheckpointKind::Named };
        let owner = (number > 3).then(|| "someone".to_owned());
        let same_moment = CheckpointRow { created_at: number as i64 / 3, owner, ..row(number, kind) };
        store.put_checkpoint(same_moment, Bytes::from_static(b"x"), PLENTY).await.expect("room");
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let part = store.list_checkpoints(CheckpointFilter::default(), 2, after).await.expect("a listing");
        let Some(last) = part.last() else { break };
        after = Some(last.cursor());
        seen.extend(part.iter().map(|stored| stored.row.id.as_u128()));
        // What is removed meanwhile does not disturb it.
        store.delete_checkpoint(last.row.id).await.expect("there");
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
    for number in 1..=7 {
        let kind = if number % 2 == 0 { CheckpointKind::Paused } else { CheckpointKind::Named };
        let owner = (number > 3).then(|| "someone".to_owned());
        // Those listed last were removed; the others are taken, which is all the same here.
        store
            .put_checkpoint(CheckpointRow { owner, ..row(number, kind) }, Bytes::new(), PLENTY)
            .await
            .unwrap_or_default();
    }
    let filter = CheckpointFilter { kind: Some(CheckpointKind::Paused), ..CheckpointFilter::default() };
    assert_eq!(ids(&store, filter.clone()).await, [6, 4, 2]);
    let filter = CheckpointFilter { owner: Some("someone".to_owned()), ..filter };
    assert_eq!(ids(&store, filter).await, [6, 4]);
    let filter = CheckpointFilter { name: Some("checkpoint 5".to_owned()), ..CheckpointFilter::default() };
    assert_eq!(ids(&store, filter).await, [5]);
    let filter = CheckpointFilter { session: Some(Uuid::nil()), ..CheckpointFilter::default() };
    assert_eq!(ids(&store, filter).await, [0; 0]);
}

#[tokio::test]
async fn a_stored_session_and_its_state_come_and_go_together() {
    let directory = Directory::new();
    let store = directory.open().await;
    let session = |number, checkpoint: Option<u128>| SessionRow {
        id: Uuid::from_u128(number),
        meta: format!("session {number}").into_bytes(),
        expires_at: 100,
        checkpoint: checkpoint.map(Uuid::from_u128),
    };
    let evicted = |number| row(number, CheckpointKind::Evicted);
    store.put_session_with(session(1, Some(11)), evicted(11), noise(1, 50), PLENTY).await.expect("room");
    store.put_session_with(session(1, Some(12)), evicted(12), noise(2, 50), PLENTY).await.expect("room");
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [12], "the older state has no use");
    store.put_checkpoint(row(13, CheckpointKind::Named), noise(3, 50), PLENTY).await.expect("room");
    store.put_session(session(2, Some(13))).await.expect("room");
    let failed = store.put_session_with(session(3, Some(12)), evicted(12), Bytes::new(), PLENTY).await;
    assert_eq!(failed, Err(StoreError::Exists { id: Uuid::from_u128(12) }));
    let left = store.list_sessions(9, None).await.expect("readable");
    assert!(left.iter().all(|row| row.id != Uuid::from_u128(3)), "{left:?}");
    let after = directory.killed();
    let reopened = after.open().await;
    assert_eq!(reopened.list_sessions(9, None).await, Ok(vec![session(1, Some(12)), session(2, Some(13))]));
    assert_eq!(store.list_sessions(9, Some(Uuid::from_u128(1))).await, Ok(vec![session(2, Some(13))]));
    assert_eq!(store.delete_session(Uuid::from_u128(1)).await, Ok(true));
    assert_eq!(store.delete_session(Uuid::from_u128(2)).await, Ok(true));
    assert_eq!(store.delete_session(Uuid::from_u128(2)).await, Ok(false));
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [13], "what a client named stays");
}

#[tokio::test]
async fn pruning_takes_what_expired_then_the_oldest_that_clients_know_of() {
    let directory = Directory::new();
    let store = directory.open().await;
    let kinds = [
        (1, CheckpointKind::Evicted),
        (2, CheckpointKind::Paused),
        (3, CheckpointKind::Named),
        (4, CheckpointKind::Named),
        (5, CheckpointKind::Named),
        (6, CheckpointKind::Paused),
    ];
    for (number, kind) in kinds {
        store.put_checkpoint(row(number, kind), noise(1, 100), PLENTY).await.expect("room");
    }
    let short = CheckpointRow { expires_at: Some(50), ..row(7, CheckpointKind::Evicted) };
    store.put_checkpoint(short, noise(1, 100), PLENTY).await.expect("room");
    let state =
        SessionRow { id: Uuid::from_u128(9), meta: vec![], expires_at: 60, checkpoint: Some(Uuid::from_u128(8)) };
    store.put_session_with(state, row(8, CheckpointKind::Evicted), noise(1, 100), PLENTY).await.expect("room");

    assert_eq!(store.prune(49, ROOM).await, Ok(Pruned::default()));
    let pruned = store.prune(50, ROOM).await;
    assert_eq!(pruned, Ok(Pruned { expired: 1, bytes: 100, ..Pruned::default() }));
    let pruned = store.prune(60, ROOM).await;
    assert_eq!(pruned, Ok(Pruned { expired: 1, sessions: 1, bytes: 100, ..Pruned::default() }));
    let aged = store.prune(60, Bounds { named_age: Duration::from_millis(57), ..ROOM }).await;
    assert_eq!(aged, Ok(Pruned { expired: 1, bytes: 100, ..Pruned::default() }));
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [6, 5, 4, 2, 1]);
    let full = store.prune(60, Bounds { total_bytes: 450, ..ROOM }).await;
    assert_eq!(full, Ok(Pruned { for_room: 1, bytes: 100, ..Pruned::default() }));
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [6, 5, 2, 1]);
    store.prune(60, Bounds { total_bytes: 200, ..ROOM }).await.expect("room is made");
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [6, 1]);
    store.prune(60, Bounds { total_bytes: 0, ..ROOM }).await.expect("room is made");
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [1], "a session out of memory is not given up");
}

/// Row of a checkpoint of an owner.
fn row_of(owner: &str, number: u128, kind: CheckpointKind) -> CheckpointRow {
    let session = Some(Uuid::from_u128(number + 1000));
    CheckpointRow { owner: Some(owner.to_owned()), session, ..row(number, kind) }
}

/// Puts one of an owner where so many bytes may be kept.
async fn put_of(
    store: &Store,
    owner: &str,
    number: u128,
    kind: CheckpointKind,
    total: u64,
) -> Result<Displaced, StoreError> {
    let quota = Quota { total_bytes: total, ..PLENTY };
    store.put_checkpoint(row_of(owner, number, kind), noise(1, 100), quota).await
}

#[tokio::test]
async fn who_fills_the_store_loses_its_own_and_never_a_neighbours() {
    let directory = Directory::new();
    let store = directory.open().await;
    put_of(&store, "neighbour", 1, CheckpointKind::Named, 500).await.expect("room");
    put_of(&store, "neighbour", 2, CheckpointKind::Evicted, 500).await.expect("room");
    for number in 10..60 {
        put_of(&store, "hog", number, CheckpointKind::Named, 500).await.expect("its own make room");
    }
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [59, 58, 57, 2, 1]);
    assert_eq!(store.usage().await.map(|usage| usage.bytes), Ok(500));
    // Others find room, up to what the hog holds.
    assert_eq!(put_of(&store, "neighbour", 3, CheckpointKind::Named, 600).await, Ok(Displaced::default()));
    put_of(&store, "hog", 60, CheckpointKind::Named, 700).await.expect("room");
    let displaced = put_of(&store, "other", 4, CheckpointKind::Paused, 700).await.expect("room");
    assert_eq!(displaced, Displaced { checkpoints: 1, sessions: Vec::new() });
    // Nobody would hold more than who asks for this.
    let large = store.put_checkpoint(
        row_of("other", 5, CheckpointKind::Named),
        noise(1, 400),
        Quota { total_bytes: 700, ..PLENTY },
    );
    assert_eq!(large.await, Err(StoreError::NoRoom));
    assert_eq!(
        ids(&store, CheckpointFilter::default()).await,
        [60, 59, 58, 4, 3, 2, 1],
        "what is refused removes nothing"
    );
}

#[tokio::test]
async fn sessions_on_disk_count_and_go_only_for_others() {
    let directory = Directory::new();
    let store = directory.open().await;
    let session = |number: u128| SessionRow {
        id: Uuid::from_u128(number + 1000),
        meta: Vec::new(),
        expires_at: i64::MAX,
        checkpoint: Some(Uuid::from_u128(number)),
    };
    let quota = Quota { total_bytes: 400, ..PLENTY };
    for number in 1..=4 {
        let state = row_of("hog", number, CheckpointKind::Evicted);
        store.put_session_with(session(number), state, noise(1, 100), quota).await.expect("room");
    }
    assert_eq!(put_of(&store, "hog", 5, CheckpointKind::Named, 400).await, Err(StoreError::NoRoom));
    let more =
        store.put_session_with(session(6), row_of("hog", 6, CheckpointKind::Evicted), noise(1, 100), quota).await;
    assert_eq!(more, Err(StoreError::NoRoom));
    assert_eq!(store.list_sessions(9, None).await.map(|rows| rows.len()), Ok(4), "what is refused leaves no row");
    let displaced = put_of(&store, "neighbour", 7, CheckpointKind::Named, 400).await.expect("room");
    let first = (Uuid::from_u128(1001), Uuid::from_u128(1));
    assert_eq!(displaced, Displaced { checkpoints: 0, sessions: vec![first] });
    assert_eq!(store.list_sessions(9, None).await.map(|rows| rows.len()), Ok(3));
}

#[tokio::test]
async fn an_owner_holds_no_more_than_it_may_jobs_included() {
    let directory = Directory::new();
    let store = directory.open().await;
    let key = Uuid::from_u128(77);
    let owner = key.to_string();
    let quota = Quota { owner_bytes: Some(250), ..PLENTY };
    let put = |number| store.put_checkpoint(row_of(&owner, number, CheckpointKind::Named), noise(1, 100), quota);
    put(1).await.expect("room");
    put(2).await.expect("room");
    assert_eq!(put(3).await, Err(StoreError::OverQuota { asked: 300, allowed: 250 }));
    let bounds = super::JobBounds { age: Duration::MAX, bytes: u64::MAX, owner_bytes: Some(250), unfinished: 9 };
    let job = |owner| super::NewJob {
        id: Uuid::now_v7(),
        owner,
        created_at: 1,
        about: Vec::new(),
        head: Vec::new(),
        items: Vec::new(),
        idempotency_key: None,
        request_sha256: [0; 32],
        callback_url: None,
    };
    assert!(matches!(
        store.accept_job(job(Some(key)), bounds).await,
        Ok(super::Accepted::OverQuota { asked: 320.., allowed: 250 })
    ));
    assert_eq!(store.accept_job(job(None), bounds).await, Ok(super::Accepted::New));
    store.delete_checkpoint(Uuid::from_u128(1)).await.expect("there");
    assert_eq!(store.accept_job(job(Some(key)), bounds).await, Ok(super::Accepted::New));
    assert!(matches!(put(3).await, Err(StoreError::OverQuota { .. })), "the job counts");
}

#[tokio::test]
async fn what_each_holds_is_counted_anew_when_the_store_is_opened() {
    let directory = Directory::new();
    let store = directory.open().await;
    for number in 1..=3 {
        put_of(&store, "someone", number, CheckpointKind::Named, 400).await.expect("room");
    }
    drop(store);
    let connection = rusqlite::Connection::open(directory.path()).expect("a database");
    connection.execute("UPDATE holdings SET bytes = 7", []).expect("written");
    drop(connection);
    let store = directory.open().await;
    put_of(&store, "someone", 4, CheckpointKind::Named, 300).await.expect("room is made");
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [4, 3, 2]);
}

#[tokio::test]
async fn the_disks_reserve_is_not_written_into() {
    let directory = Directory::new();
    let store = Store::open(&directory.path(), DiskReserve::Bytes(u64::MAX >> 1)).await.expect("a store");
    let refused = store.put_checkpoint(row(1, CheckpointKind::Named), noise(1, 10), PLENTY).await;
    assert_eq!(refused, Err(StoreError::Full));
    assert_eq!(store.usage().await, Ok(StoreUsage::default()));
}

#[tokio::test]
async fn what_is_pruned_gives_its_room_on_the_disk_back() {
    let directory = Directory::new();
    let store = directory.open().await;
    for number in 1..=8 {
        store.put_checkpoint(row(number, CheckpointKind::Named), noise(1, 1 << 20), PLENTY).await.expect("room");
    }
    store.prune(0, Bounds { total_bytes: 1 << 20, ..ROOM }).await.expect("room is made");
    drop(store);
    let length = fs::metadata(directory.path()).expect("there").len();
    assert!(length < 2 << 20, "{length}");
}

/// Flips one bit wherever `marker` lies in the file.
fn spoil(path: &Path, marker: &[u8]) {
    let mut bytes = fs::read(path).expect("the file");
    let found: Vec<usize> =
        bytes.windows(marker.len()).enumerate().filter(|(_, part)| *part == marker).map(|(at, _)| at).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at] ^= 1;
    }
    fs::write(path, bytes).expect("writable");
}

#[tokio::test]
async fn a_flipped_bit_is_an_error_and_not_data() {
    let blob = noise(5, 3 << 20);
    let damaged = Err(StoreError::Damaged { what: format!("checkpoint {}", Uuid::from_u128(1)) });
    for marker in [&blob[..16], &blob[(2 << 20) + 999..][..16], b"one image", b"what is known"] {
        let directory = Directory::new();
        let store = directory.open().await;
        let marked = CheckpointRow {
            image_hash: "one image".to_owned(),
            meta: b"what is known".to_vec(),
            ..row(1, CheckpointKind::Named)
        };
        store.put_checkpoint(marked, blob.clone(), PLENTY).await.expect("room");
        store.put_checkpoint(row(2, CheckpointKind::Named), noise(6, 5000), PLENTY).await.expect("room");
        drop(store);
        spoil(&directory.path(), marker);
        let store = directory.open().await;
        assert_eq!(store.get_checkpoint(Uuid::from_u128(1)).await.map(|_| ()), damaged);
        assert!(store.get_checkpoint(Uuid::from_u128(2)).await.is_ok_and(|found| found.is_some()));
        assert!(ids(&store, CheckpointFilter::default()).await.contains(&2));
        assert_eq!(store.delete_checkpoint(Uuid::from_u128(1)).await, Ok(true));
    }
    let directory = Directory::new();
    let store = directory.open().await;
    let id = Uuid::from_u128(1);
    store
        .put_session(SessionRow { id, meta: b"what is known".to_vec(), expires_at: 1, checkpoint: None })
        .await
        .expect("room");
    drop(store);
    spoil(&directory.path(), b"what is known");
    let store = directory.open().await;
    assert_eq!(store.list_sessions(9, None).await, Ok(vec![]));
}

#[tokio::test]
async fn a_file_damaged_anywhere_is_an_error_or_what_was_written() {
    let directory = Directory::new();
    let store = directory.open().await;
    for number in 1..=40 {
        store
            .put_checkpoint(row(number, CheckpointKind::Named), noise(number as u64, 9000), PLENTY)
            .await
            .expect("room");
    }
    drop(store);
    let good = fs::read(directory.path()).expect("the file");
    let mut places = noise(77, 4 * 150).to_vec();
    let mut damaged = 0;
    while let Some((place, rest)) = places.split_last_chunk::<4>().map(|(rest, place)| (*place, rest.len())) {
        places.truncate(rest);
        let copy = Directory::new();
        fs::create_dir_all(copy.path().parent().expect("below")).expect("a directory");
        let mut bytes = good.clone();
        let at = u32::from_le_bytes(place) as usize % bytes.len();
        bytes[at] ^= 1 << (place[0] % 8);
        fs::write(copy.path(), bytes).expect("writable");
        let Ok(store) = Store::open(&copy.path(), NO_RESERVE).await else {
            damaged += 1;
            continue;
        };
        let mut sound = true;
        for number in 1..=40 {
            match store.get_checkpoint(Uuid::from_u128(number)).await {
                Ok(Some((stored, blob))) => {
                    assert!(stored.row == row(number, CheckpointKind::Named) && blob == noise(number as u64, 9000));
                }
                Ok(None) | Err(_) => sound = false,
            }
        }
        damaged += u32::from(!sound);
    }
    assert!(damaged > 75, "{damaged} of 150 were noticed");
}

#[tokio::test]
async fn files_that_are_in_use_newer_or_something_else_are_refused_by_name() {
    let directory = Directory::new();
    let path = directory.path();
    let store = directory.open().await;
    let refused = Store::open(&path, NO_RESERVE).await.map(|_| ());
    assert_eq!(refused, Err(StoreError::Locked { path: path.clone() }));
    drop(store);
    let set = |pragma: &str, value: i64| {
        let connection = rusqlite::Connection::open(&path).expect("a database");
        connection.pragma_update(None, pragma, value).expect("writable");
    };
    set("user_version", 99);
    let newer = Store::open(&path, NO_RESERVE).await.map(|_| ()).map_err(|error| error.to_string());
    let words = format!("the store {} has version 99, and this proofbox knows versions up to 6", path.display());
    assert_eq!(newer, Err(words));
    set("user_version", 1);
    set("application_id", 5);
    assert_eq!(Store::open(&path, NO_RESERVE).await.map(|_| ()), Err(StoreError::NotAStore { path: path.clone() }));
    fs::write(&path, [b'x'; 4096]).expect("writable");
    assert_eq!(Store::open(&path, NO_RESERVE).await.map(|_| ()), Err(StoreError::NotAStore { path: path.clone() }));
    let below_a_file = path.join("store.sqlite3");
    assert!(matches!(Store::open(&below_a_file, NO_RESERVE).await, Err(StoreError::Open { .. })));
}

#[tokio::test]
async fn others_on_the_machine_cannot_read_it() {
    let directory = Directory::new();
    let store = directory.open().await;
    store.put_checkpoint(row(1, CheckpointKind::Named), noise(1, 10), PLENTY).await.expect("room");
    for ending in ["", "-wal", "-shm", ".lock"] {
        let file = format!("{}{ending}", directory.path().display());
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file} {mode:o}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_get_what_they_put() {
    let directory = Directory::new();
    let store = Arc::new(directory.open().await);
    let one = |task: u64, store: Arc<Store>| async move {
        for step in 0..25 {
            let number = u128::from(task * 1000 + step + 1);
            let blob = noise(task * 31 + step, 1000 + 700 * step as usize);
            store.put_checkpoint(row(number, CheckpointKind::Evicted), blob.clone(), PLENTY).await.expect("room");
            let found = store.get_checkpoint(Uuid::from_u128(number)).await.expect("sound").expect("just written");
            assert!(found.1 == blob);
            if step % 3 == 0 {
                assert_eq!(store.delete_checkpoint(Uuid::from_u128(number)).await, Ok(true));
            }
            if step % 10 == 0 {
                store.prune(0, ROOM).await.expect("room");
                store.usage().await.expect("readable");
            }
        }
    };
    let tasks: Vec<_> = (0..32).map(|task| tokio::spawn(one(task, Arc::clone(&store)))).collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    assert_eq!(store.usage().await.map(|usage| usage.evicted), Ok(32 * 16));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_thousand_small_ones_are_kept() {
    const COUNT: u64 = 20_000;
    const LENGTH: usize = 11 << 10;
    let directory = Directory::new();
    let store = Arc::new(directory.open().await);
    let started = Instant::now();
    let put = |of: u64, store: Arc<Store>| async move {
        for number in (of..COUNT).step_by(64) {
            let row = row(u128::from(number) + 1, CheckpointKind::Evicted);
            store.put_checkpoint(row, noise(number, LENGTH), PLENTY).await.expect("room");
        }
    };
    let tasks: Vec<_> = (0..64).map(|of| tokio::spawn(put(of, Arc::clone(&store)))).collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let written = started.elapsed();
    let started = Instant::now();
    for number in (0..COUNT).step_by(20) {
        let id = Uuid::from_u128(u128::from(number) + 1);
        let (_, blob) = store.get_checkpoint(id).await.expect("sound").expect("there");
        assert!(blob == noise(number, LENGTH));
    }
    let read = started.elapsed();
    let started = Instant::now();
    let usage = store.usage().await.expect("readable");
    let counted = started.elapsed();
    assert_eq!((usage.evicted, usage.bytes), (COUNT, COUNT * LENGTH as u64));
    drop(store);
    let length = fs::metadata(directory.path()).expect("there").len();
    println!("written {written:?}, 1000 read {read:?}, counted {counted:?}, {length} bytes");
    assert!(length < COUNT * LENGTH as u64 * 5 / 4, "{length}");
}

fn tag(name: &str, tag: &str, checkpoint: u128) -> TagRow {
    let (owner, name, tag) = ("someone".to_owned(), name.to_owned(), tag.to_owned());
    TagRow { owner, name, tag, checkpoint: Uuid::from_u128(checkpoint), created_at: 5 }
}

async fn tags(store: &Store, name: Option<&str>) -> Vec<(String, u128)> {
    let found = store.list_tags("someone".to_owned(), name.map(str::to_owned)).await.expect("a listing");
    found.into_iter().map(|row| (format!("{}:{}", row.name, row.tag), row.checkpoint.as_u128())).collect()
}

#[tokio::test]
async fn a_tag_moves_and_takes_a_checkpoint_with_it_that_has_no_other() {
    let directory = Directory::new();
    let store = directory.open().await;
    let put = async |number: u128, rows: Vec<TagRow>| {
        store.put_tagged_checkpoint(row(number, CheckpointKind::Named), Bytes::new(), PLENTY, rows, 4).await
    };
    store.put_checkpoint(row(9, CheckpointKind::Named), Bytes::new(), PLENTY).await.expect("room");
    put(1, vec![tag("a", "default", 1), tag("a", "v1", 1)]).await.expect("room");
    put(2, vec![tag("a", "default", 2)]).await.expect("room");
    put(3, vec![tag("a", "default", 3), tag("b", "x", 3)]).await.expect("room");
    let named = |pairs: &[(&str, u128)]| pairs.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect::<Vec<_>>();
    assert_eq!(tags(&store, None).await, named(&[("a:default", 3), ("a:v1", 1), ("b:x", 3)]));
    assert_eq!(tags(&store, Some("b")).await, named(&[("b:x", 3)]));
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [9, 3, 1], "nobody finds the second any more");
    // All or nothing, and only one's own.
    let most = put(4, vec![tag("c", "x", 4), tag("c", "y", 4)]).await;
    assert_eq!(most.expect_err("too many"), StoreError::TooManyTags { allowed: 4 });
    let foreign = TagRow { owner: "another".to_owned(), ..tag("a", "v2", 1) };
    let id = Uuid::from_u128(1);
    assert_eq!(store.put_tags(vec![foreign], 4).await, Err(StoreError::NoCheckpoint { id }));
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [9, 3, 1]);
    store.put_tags(vec![tag("a", "v1", 3)], 4).await.expect("it is there");
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [9, 3]);
    drop(store);
    let store = directory.open().await;
    let gone = async |tags: &[&str]| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        store.delete_tags("someone".to_owned(), "a".to_owned(), tags).await.expect("written")
    };
    assert_eq!((gone(&["v1", "none"]).await, gone(&["default"]).await), (1, 1));
    assert_eq!(tags(&store, None).await, named(&[("b:x", 3)]));
    assert!(store.delete_checkpoint(Uuid::from_u128(3)).await.expect("written"));
    assert_eq!(tags(&store, None).await, [], "tags go with their checkpoint");
}

#[tokio::test]
async fn a_tagged_checkpoint_does_not_age() {
    let directory = Directory::new();
    let store = directory.open().await;
    for number in [1, 2] {
        store.put_checkpoint(row(number, CheckpointKind::Named), Bytes::new(), PLENTY).await.expect("room");
    }
    store.put_tags(vec![tag("a", "v1", 2)], 9).await.expect("it is there");
    let bounds = Bounds { named_age: Duration::from_millis(10), ..ROOM };
    assert_eq!(store.prune(1000, bounds).await.expect("written").expired, 1);
    assert_eq!(ids(&store, CheckpointFilter::default()).await, [2]);
}
