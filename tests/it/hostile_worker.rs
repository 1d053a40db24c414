//! The front process reads what workers say as hostile: programs that say anything but what a worker would.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use proofbox::metrics::Metrics;
use proofbox_runtime::image::Image;
use proofbox_types::hardening::Hardening;
use proofbox_types::ids::KeyId;
use proofbox_types::outcome::{End, Outcome, Usage};
use proofbox_types::session::CellLimits;
use proofbox_worker::rpc::{SessionRequest, SessionResponse};
use proofbox_worker::{
    CallError, InterpreterPermit, Payer, PayerAccounts, SessionRef, WorkerError, WorkerPool, WorkerSettings,
};

use crate::harness::{Server, proofbox};
use crate::process;

/// What they have in common: the socket, and a frame as a worker sends it. The first number of a request is 0.
const PRELUDE: &str = "#!/usr/bin/env python3
import os, random, socket, struct, sys, time
s = socket.socket(fileno=0)
s.setblocking(True)
def frame(content): s.sendall(struct.pack('>I', len(content)) + content)
def exactly(count):
    got = b''
    while len(got) < count:
        piece = s.recv(count - len(got))
        if not piece: sys.exit(0)
        got += piece
    return got
def heard(): return exactly(struct.unpack('>I', exactly(4))[0])
READY, UNFIT, DONE, EVENT, ANSWERED, PONG, WANTED, ENDED, CANCELLED, PART = range(10)
heard()
";
/// Says that it is ready, having given up nothing.
const READY: &str = "frame(bytes([READY, 0]))\n";
/// Waits until it is asked something, and answers pings meanwhile.
const ASKED: &str = "while heard()[0] == 4: frame(bytes([PONG, 0]))\n";
/// Answers that it has no contexts.
const ANSWER: &str = "frame(bytes([ANSWERED, 0, 0, 3, 0]))\n";

/// Session that is asked about.
const SESSION: SessionRef = SessionRef { number: 1, owner: None };

/// Admission whose queue never moves.
struct Endless;

impl PayerAccounts for Endless {
    fn admit(&self, _payer: Payer) -> BoxFuture<'static, Option<InterpreterPermit>> {
        Box::pin(std::future::pending())
    }

    fn charge(&self, _owner: Option<KeyId>, _fuel: u64) {}
}

struct Hostile {
    pool: WorkerPool,
    metrics: Arc<Metrics>,
    _directory: tempfile::TempDir,
}

fn image() -> Image {
    // Starting a server makes the image where there is none.
    let _ = Server::shared();
    let output = proofbox(&["runtime", "info", "--json"]).output().expect("the binary was built");
    serde_json::from_slice(&output.stdout).expect("there is an image")
}

/// A pool of one worker that runs this.
fn hostile(script: &str) -> Hostile {
    let directory = tempfile::tempdir().expect("a directory");
    let binary = directory.path().join("worker");
    std::fs::write(&binary, [PRELUDE, script].concat()).expect("room for it");
    std::fs::set_permissions(&binary, PermissionsExt::from_mode(0o700)).expect("it is ours");
    let metrics = Arc::new(Metrics::new());
    let settings = WorkerSettings {
        binary,
        images: vec![image()],
        wheels: None,
        count: 1,
        slots: 2,
        session_slots: 1,
        memory_bytes: 1 << 28,
        hardening: Hardening::Off,
    };
    Hostile {
        pool: WorkerPool::start(settings, Arc::<Metrics>::clone(&metrics), Arc::new(Endless)),
        metrics,
        _directory: directory,
    }
}

impl Hostile {
    async fn ask(&self) -> Result<SessionResponse, CallError> {
        self.pool.wait_ready().await.expect("it says that it is ready");
        let location = self.pool.pick_worker().await.expect("it is ready");
        self.pool.request(location, SESSION, SessionRequest::Contexts, None, None).await
    }

    async fn replaced(&self) {
        process::eventually("it is replaced", || (self.metrics.worker_restarts.get() > 0).then_some(())).await;
    }
}

#[tokio::test]
async fn a_worker_that_answers_right_is_believed() {
    let worker = hostile(&[READY, ASKED, ANSWER, ASKED].concat());
    assert!(matches!(worker.ask().await, Ok(SessionResponse::Contexts(contexts)) if contexts.is_empty()));
    assert_eq!(worker.metrics.worker_restarts.get(), 0);
}

#[tokio::test]
async fn a_frame_that_makes_no_sense_ends_the_worker() {
    let frames = [
        "frame(b'')",
        "frame(bytes([99]))",
        "frame(bytes([READY, 0]))",
        "frame(bytes([ANSWERED, 0, 0]))",
        // A list that says it is longer than anything.
        "frame(bytes([ANSWERED, 0, 0, 3]) + b'\\xff' * 9 + b'\\x01')",
        "frame(bytes([ANSWERED, 0, 1, 250]))",
        "frame(random.Random(1).randbytes(1 << 20))",
        // Longer than a frame may be.
        "s.sendall(b'\\xff\\xff\\xff\\xff')",
        "s.sendall(struct.pack('>I', (1 << 30) + 1))",
        "s.sendall(b'\\x00\\x00'); s.close(); sys.exit(0)",
        "os.abort()",
    ];
    for frame in frames {
        let worker = hostile(&[READY, ASKED, frame, "\ntime.sleep(60)"].concat());
        let begun = Instant::now();
        let answer = worker.ask().await;
        assert!(matches!(answer, Err(CallError::Worker(WorkerError::Lost))), "{frame}: {answer:?}");
        worker.replaced().await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{frame}: {:?}", begun.elapsed());
        // Another takes its place.
        worker.pool.wait_ready().await.expect("the next one says so, too");
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_ends_the_worker() {
    let honest = Usage { execution: Duration::from_secs(1), ..Usage::default() };
    for (usage, is_possible) in [
        (honest, true),
        (Usage { execution: Duration::MAX, ..honest }, false),
        (Usage { waiting: Duration::MAX, ..honest }, false),
        (Usage { fuel: u64::MAX, ..honest }, false),
    ] {
        let outcome = Outcome::of_end(End::Exited(0), usage);
        let bytes: Vec<String> = postcard::to_stdvec(&outcome).expect("plain data").iter().map(u8::to_string).collect();
        // Of a run that nobody waits for; then the answer.
        let told = format!("frame(bytes([DONE, 99, 0, {}]))\n", bytes.join(","));
        let worker = hostile(&[READY, ASKED, &told, ANSWER, ASKED].concat());
        assert_eq!(worker.ask().await.is_ok(), is_possible, "{usage:?}");
    }
    for (fuel, is_possible) in [(5, true), (u64::MAX, false)] {
        let bytes: Vec<String> = postcard::to_stdvec(&fuel).expect("a number").iter().map(u8::to_string).collect();
        let told = format!("frame(bytes([CANCELLED, 99, {}]))\n", bytes.join(","));
        let worker = hostile(&[READY, ASKED, &told, ANSWER, ASKED].concat());
        assert_eq!(worker.ask().await.is_ok(), is_possible, "cancelled after {fuel}");
    }
}

#[tokio::test]
async fn pieces_are_an_answer_or_end_the_worker() {
    let part = "def part(id, content, left): frame(bytes([PART, id, len(content), *content, left]))\n";
    for (told, is_answer) in [
        ("part(0, [ANSWERED, 0], 3)\nframe(bytes([PONG, 0]))\npart(0, [0, 3, 0], 0)\n", true),
        // It is there, whatever comes after it.
        ("part(0, [ANSWERED, 0, 0, 3, 0], 0)\nframe(b'no frame of ours')\nsys.exit(1)\n", true),
        ("part(0, [ANSWERED, 0], 3)\npart(1, [0, 3, 0], 0)\n", false),
        ("part(0, [PART, 0, 1, PONG, 0], 0)\n", false),
        ("part(0, [ANSWERED, 0], 0)\n", false),
    ] {
        let worker = hostile(&[READY, ASKED, part, told, ASKED].concat());
        assert_eq!(worker.ask().await.is_ok(), is_answer, "{told}");
    }
}

#[tokio::test]
async fn answers_that_nobody_waits_for_are_dropped() {
    let noise = "
for number in range(1, 2000):
    wide = bytes([number & 127 | 128, number >> 7])
    frame(bytes([EVENT]) + wide + bytes([4]))
    frame(bytes([ANSWERED]) + wide + bytes([0, 3, 0]))
    frame(bytes([DONE]) + wide + bytes([1, 2]) + b'no')
    frame(bytes([PONG, 5]))
";
    let worker = hostile(&[READY, ASKED, noise, ANSWER, ASKED].concat());
    assert!(matches!(worker.ask().await, Ok(SessionResponse::Contexts(_))));
    assert_eq!(worker.metrics.worker_restarts.get(), 0);
}

#[tokio::test]
async fn an_answer_of_another_kind_is_none() {
    let worker = hostile(&[READY, ASKED, "frame(bytes([DONE, 0, 1, 2]) + b'no')\nheard()"].concat());
    assert!(matches!(worker.ask().await, Err(CallError::Worker(WorkerError::Lost))));
}

#[tokio::test]
async fn a_frame_that_is_only_announced_takes_no_memory() {
    let worker = hostile(&[READY, ASKED, "s.sendall(struct.pack('>I', 1 << 30) + b'x')\ntime.sleep(60)"].concat());
    let before = process::resident_bytes(std::process::id());
    assert!(tokio::time::timeout(Duration::from_secs(2), worker.ask()).await.is_err());
    let grown = process::resident_bytes(std::process::id()).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown}");
}

#[tokio::test]
async fn a_worker_that_never_stops_talking_is_not_listened_to_for_long() {
    let talk = "
for _ in range(2000):
    os.write(2, b'x' * 99_999 + b'\\n')
";
    let worker = hostile(&[READY, ASKED, talk, ANSWER, ASKED].concat());
    let before = process::resident_bytes(std::process::id());
    // It does not wait for somebody to read it all, either.
    assert!(matches!(worker.ask().await, Ok(SessionResponse::Contexts(_))));
    let grown = process::resident_bytes(std::process::id()).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown}");
}

#[tokio::test]
async fn a_worker_that_cannot_start_says_why() {
    let worker = hostile("why = b'no room'\nframe(bytes([UNFIT, len(why)]) + why)");
    let error = worker.pool.wait_ready().await.expect_err("it can't");
    assert_eq!(error.to_string(), "no worker process can be started: no room");
}

#[tokio::test]
async fn interpreters_of_a_session_that_runs_nothing_have_no_place() {
    let wanted = "
frame(bytes([WANTED, 0, 0, 1]))
while (answer := heard())[0] == 4: frame(bytes([PONG, 0]))
assert answer == bytes([6, 0, 0]), answer
";
    let worker = hostile(&[READY, ASKED, wanted, ANSWER, ASKED].concat());
    assert!(matches!(worker.ask().await, Ok(SessionResponse::Contexts(_))));
}

#[tokio::test]
async fn a_worker_that_reads_no_answer_about_permits_is_ended() {
    // It is heard again and again, so that it does not end for its silence.
    let wanted = "
for number in range(100_000): frame(bytes([WANTED, number % 128, 0, 1]))
while True: frame(bytes([PONG, 0])); time.sleep(0.1)
";
    let worker = hostile(&[READY, ASKED, wanted].concat());
    let answer = tokio::time::timeout(Duration::from_secs(30), worker.ask()).await;
    assert!(answer.expect("it is ended").is_err());
}

#[tokio::test]
async fn a_worker_that_starts_more_interpreters_than_it_may_is_ended() {
    for (count, distinct, is_possible) in [(4, 9, true), (5, 9, false), (2, 1, false)] {
        let wanted =
            format!("for number in range({count}): frame(bytes([WANTED, number % {distinct}, 0, 1]))\ntime.sleep(60)");
        let worker = hostile(&[READY, ASKED, &wanted].concat());
        worker.pool.wait_ready().await.expect("it says that it is ready");
        let location = worker.pool.pick_worker().await.expect("it is ready");
        let limits = CellLimits { fuel: 1, wall: Duration::from_secs(1), output_bytes: 0 };
        let request = SessionRequest::Run { number: 1, command: Box::default(), limits };
        let answer = worker.pool.request(location, SESSION, request, None, None);
        let answer = tokio::time::timeout(Duration::from_secs(2), answer).await;
        assert_eq!(answer.is_err(), is_possible, "{count}: {answer:?}");
    }
}
