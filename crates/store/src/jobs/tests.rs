//! Jobs on real files.

use super::super::DiskReserve;
use super::super::stats::Recorded;
use super::*;
use proofbox_types::histogram::Figures;
use std::time::Duration;

const BOUNDS: JobBounds = JobBounds { age: Duration::from_secs(60), bytes: 1 << 30, owner_bytes: None, unfinished: 3 };

struct Fresh {
    store: Store,
    _directory: tempfile::TempDir,
}

async fn fresh() -> Fresh {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(&directory.path().join("store.sqlite3"), DiskReserve::Bytes(0)).await.expect("a store");
    Fresh { store, _directory: directory }
}

fn job(number: u128, items: usize) -> NewJob {
    let item = |number: usize| JobItem { name: number.to_string(), request: format!("item {number}").into_bytes() };
    NewJob {
        id: Uuid::from_u128(number),
        owner: None,
        created_at: 1,
        about: b"about".to_vec(),
        head: b"head".to_vec(),
        items: (0..items).map(item).collect(),
        idempotency_key: None,
        request_sha256: [0; 32],
        callback_url: None,
    }
}

async fn put(store: &Store, job: u128, item: u32, line: &str) -> ResultEffect {
    put_within(store, BOUNDS, job, item, line).await
}

async fn put_within(store: &Store, bounds: JobBounds, job: u128, item: u32, line: &str) -> ResultEffect {
    let recorded = Recorded { owner: None, minute: 7, labels: "{}".to_owned(), figures: one_run() };
    let line = line.as_bytes().to_vec();
    let result = NewResult { job: Uuid::from_u128(job), item, line, outcome: 0, recorded: vec![recorded] };
    store.put_result(result, bounds, 100).await.expect("written")
}

fn one_run() -> Figures {
    let mut figures = Figures::default();
    figures.outcomes[0] = 1;
    figures
}

#[tokio::test]
async fn a_result_is_written_once_and_the_last_one_finishes_the_job() {
    let Fresh { store, .. } = &fresh().await;
    assert_eq!(store.accept_job(job(1, 2), BOUNDS).await, Ok(Accepted::New));
    assert_eq!(put(store, 1, 0, "too early").await, ResultEffect::NotWanted);
    store.start_job(Uuid::from_u128(1), 50).await.expect("written");
    assert!(matches!(put(store, 1, 1, "first").await, ResultEffect::Written(row) if row.phase == JobPhase::Running));
    assert_eq!(put(store, 1, 1, "second").await, ResultEffect::Duplicate);
    let open = store.open_items(Uuid::from_u128(1), None, 10).await.expect("read");
    assert_eq!(open.iter().map(|item| item.number).collect::<Vec<_>>(), [0]);
    assert!(matches!(put(store, 1, 0, "last").await, ResultEffect::Written(row) if row.phase == JobPhase::Finished));
    let row = store.find_job(Uuid::from_u128(1)).await.expect("read").expect("it is there");
    assert_eq!((row.started_at, row.ended_at, row.done(), row.tally[0]), (Some(50), Some(100), 2, 2));
    let lines = store.job_results(Uuid::from_u128(1), 0, 10).await.expect("read");
    let lines: Vec<_> = lines.into_iter().map(|one| (one.sequence, one.item, one.line.expect("sound"))).collect();
    assert_eq!(lines, [(1, 1, b"first".to_vec()), (2, 0, b"last".to_vec())]);
    // As many as were written, whatever was tried.
    let runs = store.fold_stats(None, 0..=9, 0, |sum, _, _, figures| *sum += figures.runs()).await;
    assert_eq!(runs, Ok(2));
}

#[tokio::test]
async fn a_page_is_bounded_by_what_it_takes_in_memory() {
    let Fresh { store, .. } = &fresh().await;
    let large = || JobItem { name: "n".to_owned(), request: vec![b'x'; 600 << 10] };
    let items = (0..4).map(|_| large()).collect();
    store.accept_job(NewJob { items, ..job(1, 0) }, BOUNDS).await.expect("written");
    store.start_job(Uuid::from_u128(1), 50).await.expect("written");
    assert_eq!(store.open_items(Uuid::from_u128(1), None, 10).await.expect("read").len(), 2);
    let line = "x".repeat(600 << 10);
    for item in 0..3 {
        put(store, 1, item, &line).await;
    }
    assert_eq!(store.job_results(Uuid::from_u128(1), 0, 10).await.expect("read").len(), 2);
    assert_eq!(store.job_results(Uuid::from_u128(1), 2, 10).await.expect("read").len(), 1);
}

#[tokio::test]
async fn nothing_is_written_to_a_job_that_was_cancelled() {
    let Fresh { store, .. } = &fresh().await;
    store.accept_job(NewJob { callback_url: Some("u".to_owned()), ..job(1, 2) }, BOUNDS).await.expect("written");
    store.start_job(Uuid::from_u128(1), 50).await.expect("written");
    put(store, 1, 0, "done").await;
    let cancel = async || store.cancel_job(Uuid::from_u128(1), "enough".to_owned(), 60).await;
    assert_eq!((cancel().await, cancel().await), (Ok(Cancelled::Now), Ok(Cancelled::HadEnded)));
    assert_eq!(put(store, 1, 1, "too late").await, ResultEffect::NotWanted);
    let row = store.find_job(Uuid::from_u128(1)).await.expect("read").expect("it is there");
    assert_eq!((row.phase, row.reason.as_deref(), row.done()), (JobPhase::Cancelled, Some("enough"), 1));
    assert_eq!(store.unfinished_jobs().await, Ok(Vec::new()));
    let due = store.due_callbacks(60, 10).await.expect("read");
    assert_eq!(due.iter().map(|due| due.callback.url.as_str()).collect::<Vec<_>>(), ["u"]);
    assert_eq!(store.due_callbacks(59, 10).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_name_that_comes_again_is_the_same_job_or_an_error() {
    let Fresh { store, .. } = &fresh().await;
    let named = |number, owner, request| NewJob {
        owner,
        idempotency_key: Some("k".to_owned()),
        request_sha256: [request; 32],
        ..job(number, 1)
    };
    let somebody = Some(Uuid::from_u128(9));
    assert_eq!(store.accept_job(named(1, None, 1), BOUNDS).await, Ok(Accepted::New));
    assert_eq!(store.accept_job(named(2, None, 1), BOUNDS).await, Ok(Accepted::Same(Uuid::from_u128(1))));
    assert_eq!(store.accept_job(named(3, None, 2), BOUNDS).await, Ok(Accepted::OtherRequest));
    assert_eq!(store.accept_job(named(4, somebody, 2), BOUNDS).await, Ok(Accepted::New));
}

#[tokio::test]
async fn what_has_not_ended_is_bounded_and_never_removed() {
    let Fresh { store, .. } = &fresh().await;
    for number in 1..=3 {
        assert_eq!(store.accept_job(job(number, 1), BOUNDS).await, Ok(Accepted::New));
    }
    assert_eq!(store.accept_job(job(4, 1), BOUNDS).await, Ok(Accepted::TooMany));
    let little = JobBounds { bytes: 1, unfinished: 10, ..BOUNDS };
    assert_eq!(store.accept_job(job(4, 1), little).await, Ok(Accepted::NoRoom));
    store.start_job(Uuid::from_u128(1), 50).await.expect("written");
    put(store, 1, 0, "done").await;
    assert_eq!(store.prune_jobs(100, BOUNDS).await, Ok(PrunedJobs::default()));
    let pruned = store.prune_jobs(100, little).await;
    assert_eq!(pruned, Ok(PrunedJobs { expired: 0, for_room: 1 }));
    assert_eq!(store.prune_jobs(i64::MAX, little).await, Ok(PrunedJobs::default()));
    let usage = store.job_usage().await.expect("read");
    assert_eq!((usage.unfinished, usage.ended), (2, 0));
}

/// Accepts a job of an owner and runs it to its end.
async fn run_of(store: &Store, owner: u128, number: u128, bounds: JobBounds) -> Accepted {
    let one = NewJob { owner: Some(Uuid::from_u128(owner)), ..job(number, 1) };
    let accepted = store.accept_job(one, bounds).await.expect("written");
    if accepted == Accepted::New {
        store.start_job(Uuid::from_u128(number), 50).await.expect("written");
        assert!(matches!(put_within(store, bounds, number, 0, "done").await, ResultEffect::Written(_)));
    }
    accepted
}

#[tokio::test]
async fn who_fills_the_jobs_loses_its_own_and_never_a_neighbours() {
    let Fresh { store, .. } = &fresh().await;
    assert_eq!(run_of(store, 1, 1, BOUNDS).await, Accepted::New);
    let one = store.job_usage().await.expect("read").bytes;
    let bounds = JobBounds { bytes: one * 4, ..BOUNDS };
    for number in 2..30 {
        assert_eq!(run_of(store, 2, number, bounds).await, Accepted::New, "its own make room");
        assert!(store.job_usage().await.expect("read").bytes <= bounds.bytes, "at once, not a minute later");
    }
    assert!(store.find_job(Uuid::from_u128(1)).await.expect("read").is_some());
    // Of what has not ended nothing goes.
    let unfinished = NewJob { owner: Some(Uuid::from_u128(3)), ..job(40, 1) };
    assert_eq!(store.accept_job(unfinished, bounds).await, Ok(Accepted::New));
    assert!(store.find_job(Uuid::from_u128(1)).await.expect("read").is_some());
    let large = JobItem {
        name: "large".to_owned(),
        request: (0..5000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect(),
    };
    let large = NewJob { owner: Some(Uuid::from_u128(3)), items: vec![large], ..job(41, 0) };
    assert_eq!(store.accept_job(large, bounds).await, Ok(Accepted::NoRoom));
    assert!(store.find_job(Uuid::from_u128(1)).await.expect("read").is_some());
}

#[tokio::test]
async fn a_job_whose_results_find_no_room_ends_and_keeps_what_it_has() {
    let Fresh { store, .. } = &fresh().await;
    assert_eq!(run_of(store, 1, 1, BOUNDS).await, Accepted::New);
    let hog = NewJob { owner: Some(Uuid::from_u128(2)), callback_url: Some("u".to_owned()), ..job(2, 9) };
    assert_eq!(store.accept_job(hog, BOUNDS).await, Ok(Accepted::New));
    store.start_job(Uuid::from_u128(2), 50).await.expect("written");
    let bytes = store.job_usage().await.expect("read").bytes;
    let bounds = JobBounds { bytes: bytes + 300, ..BOUNDS };
    assert!(matches!(put_within(store, bounds, 2, 0, "first").await, ResultEffect::Written(_)));
    assert!(matches!(put_within(store, bounds, 2, 1, "second").await, ResultEffect::Written(_)));
    assert_eq!(put_within(store, bounds, 2, 2, "third").await, ResultEffect::NoRoom);
    assert_eq!(put_within(store, bounds, 2, 3, "fourth").await, ResultEffect::NotWanted);
    let row = store.find_job(Uuid::from_u128(2)).await.expect("read").expect("it is there");
    assert_eq!((row.phase, row.done()), (JobPhase::Cancelled, 2));
    assert!(row.reason.is_some_and(|reason| reason.contains("room")));
    assert_eq!(store.due_callbacks(100, 10).await.expect("read").len(), 1);
    assert!(store.find_job(Uuid::from_u128(1)).await.expect("read").is_some());
}

#[tokio::test]
async fn an_ended_job_goes_with_all_that_belongs_to_it() {
    let Fresh { store, .. } = &fresh().await;
    store.accept_job(NewJob { callback_url: Some("u".to_owned()), ..job(1, 1) }, BOUNDS).await.expect("written");
    store.start_job(Uuid::from_u128(1), 50).await.expect("written");
    put(store, 1, 0, "done").await;
    let pruned = store.prune_jobs(100 + 60_000, BOUNDS).await;
    assert_eq!(pruned, Ok(PrunedJobs { expired: 1, for_room: 0 }));
    let left = |connection: &rusqlite::Connection| {
        let tables = ["jobs", "job_heads", "job_items", "job_results", "job_callbacks"];
        let count = |table| connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0));
        Ok(tables.map(|table| count(table).unwrap_or(-1_i64)))
    };
    assert_eq!(store.readers.read(left).await, Ok([0; 5]));
}

#[tokio::test]
async fn damage_is_found_wherever_it_is() {
    let Fresh { store, .. } = &fresh().await;
    for number in 1..=3 {
        store.accept_job(job(number, 2), BOUNDS).await.expect("written");
        store.start_job(Uuid::from_u128(number), 50).await.expect("written");
        put(store, number, 0, "done").await;
    }
    let spoil = |connection: &rusqlite::Connection| {
        connection.execute("UPDATE job_results SET item = 1 WHERE job = 1", [])?;
        connection.execute("UPDATE job_items SET name = 'x' WHERE job = 1 AND number = 1", [])?;
        connection.execute("UPDATE jobs SET tally = zeroblob(32) WHERE key = 2", [])?;
        Ok(connection.execute("UPDATE job_heads SET head = x'00' WHERE job = 3", [])?)
    };
    store.writer.write(spoil).await.expect("written");
    let line = store.job_results(Uuid::from_u128(1), 0, 9).await.expect("read").remove(0).line;
    assert_eq!(line, None);
    assert_eq!(store.job_items(Uuid::from_u128(1), vec![1]).await.expect("read").remove(0).item, None);
    let damaged = |number| Err(StoreError::damaged("job", Uuid::from_u128(number)));
    assert_eq!(store.find_job(Uuid::from_u128(2)).await.map(drop), damaged(2));
    assert_eq!(store.job_head(Uuid::from_u128(3)).await.map(drop), damaged(3));
    let filter = JobFilter { owner: None, phase: None, after: None };
    let listed = store.list_jobs(filter, 10).await.expect("read");
    assert_eq!(listed.iter().map(|job| job.id.as_u128()).collect::<Vec<_>>(), [3, 1]);
}
