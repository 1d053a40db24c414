//! Ten thousand runs leave nothing behind.

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::harness::{Client, Server};
use crate::process::{descriptors, eventually_async, resident_bytes};

const RUNS: usize = 10_000;
const WARM_UP: usize = 1_000;

/// By so much the service may have grown between the end of the warm-up and the end of all runs: what the allocator
/// keeps for itself. A page leaked by each run would be 35 MiB.
const GROWTH: u64 = 12 << 20;

/// A mix of ways to end, each with the class that it must have.
fn program(index: usize) -> (Value, &'static str) {
    let add = "def add(a, b):\n    return a + b\n";
    match index % 50 {
        0 => (
            json!({"code": "x = []\nwhile True: x.append(bytes(1 << 20))", "limits": {"memory_bytes": 200 << 20}}),
            "memory_limit",
        ),
        1 => (json!({"code": "while True: pass", "limits": {"wall_seconds": 0.005}}), "timeout"),
        2..6 => (json!({"code": "while True: pass", "limits": {"fuel": 10_000_000}}), "fuel_exhausted"),
        6..8 => (json!({"code": "while True: print('x' * 1000)", "limits": {"output_bytes": 1000}}), "output_limit"),
        8..10 => (json!({"code": "import os\nos.abort()"}), "exception"),
        10..15 => (json!({"code": "1 / 0"}), "exception"),
        15..20 => {
            let write = "for i in range(20): open(f'{i}', 'w').write('x' * 10_000)";
            (json!({"code": write, "files": {"in": "x".repeat(5000)}, "fetch_files": ["*"]}), "none")
        }
        20..30 => {
            let asserts = ["assert add(1, 2) == 3", "assert add(0, 0) == 0"];
            (json!({"code": add, "tests": {"kind": "asserts", "asserts": asserts}, "grading": "in_process"}), "none")
        }
        30..35 => (json!({"code": "x = bytes(4 << 20)\nx[::4096]", "result": "last_expression"}), "none"),
        _ => (json!({"code": "print(1 + 1)", "stdin": "x", "args": ["y"], "env": {"K": "v"}}), "none"),
    }
}

async fn run(client: &Client, runs: std::ops::Range<usize>) {
    stream::iter(runs)
        .for_each_concurrent(32, async |index| {
            let (request, class) = program(index);
            let answer = client.execute(request).await;
            assert_eq!(answer["stderr_class"], class, "{}", answer["error"]);
        })
        .await;
}

#[tokio::test]
async fn ten_thousand_runs_leak_neither_memory_nor_descriptors_nor_places() {
    let server = Server::start(&["--workers", "2", "--slots", "8"]);
    let client = server.client();
    let processes = std::iter::once(server.pid()).chain(server.workers()).collect::<Vec<_>>();
    let open = || processes.iter().map(|process| descriptors(*process)).collect::<Vec<_>>();
    let none_live = async || (server.metric("proofbox_instances_live").await == 0.0).then_some(());

    run(&client, 0..WARM_UP).await;
    eventually_async("no interpreter is alive", none_live).await;
    let (memory, files) = (server.resident_bytes(), open());

    run(&client, WARM_UP..RUNS).await;
    eventually_async("no interpreter is alive", none_live).await;
    let (memory_after, files_after) = (server.resident_bytes(), open());

    eprintln!("{} KiB, then {} KiB; descriptors {files:?}, then {files_after:?}", memory >> 10, memory_after >> 10);
    assert!(memory_after < memory + GROWTH, "{} KiB, then {} KiB", memory >> 10, memory_after >> 10);
    // Of the front process's some are the client's connections.
    assert_eq!(files_after[1..], files[1..]);
    assert!(files_after[0] <= files[0].max(80), "{files:?}, then {files_after:?}");
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 0.0);
    assert_eq!(server.metric("proofbox_queue_length").await, 0.0);
}

#[tokio::test]
async fn what_is_given_back_is_the_images_again() {
    let server = Server::start(&["--workers", "1", "--slots", "2"]);
    let seeded = |code: &str| json!({"code": code, "deterministic": {"seed": 7}});
    // What numpy has not written to is what the guest before it left, if that left anything.
    let look =
        "import numpy\nprint(sum(numpy.empty(1 << 20, dtype='u1').tobytes().count(b'A' * 64) for _ in range(8)))";
    let fresh = server.execute(seeded(look)).await;
    assert_eq!(fresh["stdout"], "0\n", "{fresh}");
    let spread = "import builtins, json, re\nkept = [bytearray(b'A' * 5000) for _ in range(1500)]\nbuiltins.kept = kept\n\
                  for name in range(3000): setattr(re, f'a{name}', 'A' * 100)\nprint(len(kept))";
    for _ in 0..3 {
        assert_eq!(server.execute(seeded(spread)).await["stdout"], "1500\n");
        let again = server.execute(seeded(look)).await;
        assert_eq!((&again["stdout"], &again["fuel_used"]), (&fresh["stdout"], &fresh["fuel_used"]), "{again}");
    }
}

/// Else each program's pages would be copied at the reset after every later one.
#[tokio::test]
async fn a_slot_keeps_only_what_every_run_writes_to() {
    const KEPT: u64 = 1 << 20;
    let server = Server::start(&["--workers", "1", "--slots", "2"]);
    let worker = server.workers()[0];
    for _ in 0..40 {
        server.execute(json!({"code": "print(1)"})).await;
    }
    let before = resident_bytes(worker);
    // Three of the four MiB that may stay in a slot, a page here and a page there.
    let touch = "import gc\npages = [bytearray(6000) for _ in range(500)]\nfor page in pages: page[0] = 1\n\
                 for _ in range(200_000): pass\nprint(1)";
    for _ in 0..5 {
        assert_eq!(server.execute(json!({"code": touch})).await["stdout"], "1\n");
    }
    let after = resident_bytes(worker);
    assert!(after < before + KEPT, "{} KiB, then {} KiB", before >> 10, after >> 10);
}
