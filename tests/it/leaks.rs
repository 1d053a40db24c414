//! Ten thousand runs leave nothing behind.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use proofbox::config::{Config, RuntimeSettings, SandboxSettings, ServerSettings};
use proofbox_runtime::InterpreterPool;
use proofbox_runtime::image::Image;
use proofbox_runtime::session::{CommandRunner, NoCommands, Session};
use proofbox_types::grant::Limits;
use proofbox_types::program::{Program, PythonTests};
use proofbox_types::session::{Cell, CellLimits, DEFAULT_CONTEXT, Opening};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::harness::{Client, Server};
use crate::process::{descriptors, eventually, eventually_async, resident_bytes};

const RUNS: usize = 10_000;
const WARM_UP: usize = 1_000;

/// By so much the service may have grown between the end of the warm-up and the end of all runs: what the allocator
/// keeps for itself. A page leaked by each run would be 35 MiB.
const GROWTH: u64 = 12 << 20;

/// Calls from Python to C and back, a thousand deep; the memory does not grow.
pub(crate) const DEEP: &str = "class A:
    def __eq__(self, other): return [self] == [other]
try: A() == A()
except RecursionError: pass";

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
    // Three MiB, a page here and a page there.
    let touch = "import gc\npages = [bytearray(6000) for _ in range(500)]\nfor page in pages: page[0] = 1\n\
                 for _ in range(200_000): pass\nprint(1)";
    for _ in 0..5 {
        assert_eq!(server.execute(json!({"code": touch})).await["stdout"], "1\n");
    }
    // They are given back once the answer is on its way.
    eventually("the pages are given back", || (resident_bytes(worker) < before + KEPT).then_some(())).await;
}

/// A pool of interpreters of the default image, as a worker has it, and limits of a run.
pub(crate) async fn pool() -> (InterpreterPool, Limits) {
    proofbox_runtime::map_small_pages_only();
    let cache_dir = std::env::var_os("PROOFBOX_CACHE_DIR").map(Into::into);
    let runtime = RuntimeSettings { cache_dir, ..RuntimeSettings::default() };
    let config = Config::new(runtime, SandboxSettings::default(), ServerSettings::default(), None);
    let image = Image::ready(&config.expect("defaults are good").image).expect("there is an image");
    let pool = InterpreterPool::new(&[image.pool_files()], None, 4, 12, 1 << 30).expect("there is room");
    proofbox_runtime::open_all(&pool).await.expect("it starts");
    let limits = Limits {
        fuel: 3_000_000_000,
        wall: Duration::from_secs(20),
        memory_bytes: 320 << 20,
        output_bytes: 1 << 16,
        files_bytes: 1 << 20,
        files_count: 64,
    };
    (pool, limits)
}

/// Whatever a run does, the next one in its interpreter must not be able to tell that there was one.
#[tokio::test]
async fn an_interpreter_that_waits_for_a_run_has_the_images_memory() {
    let (pool, limits) = pool().await;
    let spread = "import gc, re\nkept = [bytearray(b'A' * 5000) for _ in range(1500)]\nre.kept = kept\n\
                  for name in range(3000): setattr(re, f'a{name}', 'A' * 100)\ngc.collect()";
    let programs = [
        "print(1 + 1)",
        "import sys\nsys.setrecursionlimit(5000)\ndef f(n): return n and f(n - 1)\nf(4000)",
        spread,
        "import numpy\nnumpy.ones(1000).sum()",
        "1 / 0",
        "raise SystemExit(3)",
        "import os\nprint('x')\nos._exit(4)",
        "import os\nos.abort()",
        "x = bytearray(60 << 20)",
        "x = bytearray(250 << 20)",
        "while True: pass",
        "def f(): f()\nimport sys\nsys.setrecursionlimit(10 ** 9)\nf()",
        "while True: print('x' * 1000)",
        "import threading\nthreading.Thread(target=print).start()\nimport asyncio\nasync def f(): 1\nasyncio.run(f())",
    ];
    let asserts = || {
        let asserts = ["f(1)", "f(2) == 3", "[f(n) for n in range(100)]"].map(|text| format!("assert {text}")).to_vec();
        Some(PythonTests::Asserts { setup: "import math".to_owned(), asserts })
    };
    let candidates = ["def f(x): return x + 1", "def f(x): 1 / 0", "import os\ndef f(x): os._exit(0)", spread];
    let graded = candidates.iter().flat_map(|code| {
        [false, true].map(|isolated| Program {
            code: (*code).to_owned(),
            tests: asserts(),
            isolated,
            ..Program::default()
        })
    });
    let plain = |code: &str| Program { code: code.to_owned(), ..Program::default() };
    let run = async |program: Program| {
        let code = program.code.clone();
        proofbox_runtime::run(&pool, program, &limits).await.expect("there is an interpreter");
        let (altered, waiting) = pool.altered_bytes_of_idle();
        assert_eq!(altered, 0, "{code}");
        waiting
    };
    for program in programs.iter().map(|code| plain(code)).chain(graded) {
        // More than once, as pages that runs write to become hot.
        for _ in 0..2 {
            run(program.clone()).await;
        }
    }
    // One run now and then shows which pages are read (`page_reset`), in a memory that the kernel maps page by page.
    let changing =
        |number: usize| format!("import re\nre.x{number} = [bytearray(b'A' * 5000) for _ in range({number})]");
    for number in 0..40 {
        run(plain(&changing(number))).await;
        for isolated in [false, true] {
            let code = format!("{}\n{}", changing(number), candidates[0]);
            run(Program { tests: asserts(), isolated, ..plain(&code) }).await;
        }
    }
    // Where no page fault came between, the kernel was not asked. (Other tests have faults, but not all the time.)
    let mut tried = 0;
    while pool.unasked_resets() == 0 {
        run(plain(programs[0])).await;
        tried += 1;
        assert!(tried < 2000, "the kernel is asked after each run");
    }
    // What ends by itself and does not grow its memory is kept: else nothing was looked at.
    for isolated in [false, true] {
        run(Program { tests: asserts(), isolated, ..plain(candidates[0]) }).await;
    }
    let waiting = run(plain(programs[0])).await;
    for code in ["1 / 0", "raise SystemExit(3)", "import os\nos._exit(4)", "import math\nmath.sqrt(2)"] {
        assert_eq!(run(plain(code)).await, waiting, "{code}");
    }
    // A program, one with its tests, a candidate and its tests.
    assert_eq!(waiting, 4);
}

/// Runs that follow at once find it so, too: its memory is reset only after the answer.
#[tokio::test]
async fn an_interpreter_that_is_asked_for_at_once_has_the_images_memory() {
    let (pool, limits) = pool().await;
    let printed = async |code: &str| {
        let program = Program { code: code.to_owned(), ..Program::default() };
        let outcome = proofbox_runtime::run(&pool, program, &limits).await.expect("there is an interpreter");
        outcome.stdout.text()
    };
    let first = printed("import json\nprint(hasattr(json, 'left'))\njson.left = bytearray(1000)").await;
    let second = printed("import json\nprint(hasattr(json, 'left'))").await;
    assert_eq!((first.as_str(), second.as_str()), ("False\n", "False\n"));
    assert_eq!(pool.altered_bytes_of_idle(), (0, 1), "both had the same one");
}

/// Whatever a session has done, the next one in its interpreter must not be able to tell that there was one.
#[tokio::test]
async fn an_interpreter_that_waits_for_a_session_has_the_images_memory() {
    let (pool, limits) = pool().await;
    let pool = Arc::new(pool);
    let commands: Arc<dyn CommandRunner> = Arc::new(NoCommands);
    let open = || {
        let opening = Opening { limits, env: Vec::new(), files: Vec::new(), image: None };
        Session::open(Arc::clone(&pool), Arc::clone(&commands), opening).expect("there is room")
    };
    let gone = CancellationToken::new();
    let call = async |session: &Session, source: &str| {
        let cell = Cell { source: source.to_owned(), ..Cell::default() };
        let called = session.call(DEFAULT_CONTEXT, &cell, &CellLimits::from(&limits), None, &gone).await;
        called.expect("there is an interpreter")
    };
    let looked_at = || {
        let (altered, waiting) = pool.altered_bytes_of_idle();
        assert_eq!(altered, 0);
        waiting
    };
    let sources = [
        "x = 1",
        "import re\nre.kept = [bytearray(b'A' * 1000) for _ in range(10)]",
        "for name in range(3000): setattr(re, f'a{name}', 'A' * 100)",
        "1 / 0",
        "import numpy\nnumpy.ones(1000).sum()",
    ];
    let open_called = async || {
        let session = open();
        call(&session, "x = 1").await;
        session
    };
    let before = looked_at();
    for round in 0..40 {
        let session = open();
        for source in &sources[..=round % sources.len()] {
            call(&session, source).await;
        }
        let fork = session.fork(Arc::clone(&commands)).await.expect("there is an interpreter");
        call(&fork, "x += 1").await;
        let saved = session.save().await.expect("the kernel tells");
        let loaded = Session::load(Arc::clone(&pool), Arc::clone(&commands), saved, None, limits, Vec::new());
        let loaded = loaded.await.expect("there is an interpreter");
        assert!(call(&loaded, "assert x == 1").await.raised.is_none());
        assert!(call(&fork, "assert x == 2").await.raised.is_none());
        drop((fork, loaded));
        // A fork of it that nobody has called has no pages but its own.
        let fork = session.fork(Arc::clone(&commands)).await.expect("there is an interpreter");
        assert_eq!(fork.footprint().memory_bytes, session.footprint().memory_bytes);
        drop((session, fork));
        // What grows its memory is not kept; the rest is, else nothing was looked at.
        if round % sources.len() < 2 {
            assert_eq!(looked_at(), before + 3, "round {round}");
        }
        looked_at();
    }
    drop((open_called().await, open_called().await, open_called().await));
    assert_eq!(looked_at(), before + 3);
    let fresh = open();
    assert_eq!(call(&fresh, "x").await.raised.expect("there is no such name").name, "NameError");
    assert_eq!(looked_at(), before + 2);
    // One that is cut off is not kept, nor one that has more memory than it began with.
    {
        let mut endless = std::pin::pin!(call(&fresh, "while True: pass"));
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut endless).await.is_err());
    }
    drop(fresh);
    assert_eq!(looked_at(), before + 2);
    let large = open();
    call(&large, "x = bytearray(60 << 20)").await;
    drop(large);
    assert_eq!(looked_at(), before + 1);
    // One that is started anew is.
    let session = open_called().await;
    session.restart(DEFAULT_CONTEXT).await.expect("it is there");
    assert_eq!(looked_at(), before + 1);
    // So is that of a context which is removed, while another session keeps its own.
    let session = open_called().await;
    let other = open_called().await;
    session.remove_context(DEFAULT_CONTEXT).expect("it is there");
    assert_eq!(looked_at(), before + 1);
    // Many that end at once leave some, so that runs find theirs.
    let mut many = vec![session, other];
    for _ in 0..10 {
        many.push(open_called().await);
    }
    drop(many);
    assert_eq!(looked_at(), before + 8);
}

/// The stack of native code that a guest runs on is none of its memory, and stays with an interpreter that is kept.
#[tokio::test]
async fn an_interpreter_whose_stack_has_grown_gives_it_back() {
    let server = Server::start(&["--workers", "1"]);
    let [worker] = server.workers()[..] else { panic!("there is one worker") };
    let run = async |code: &str| {
        let answer = server.execute(json!({"code": code})).await;
        assert_eq!(answer["status"], "ok", "{answer}");
        resident_bytes(worker)
    };
    run("print('flat')").await;
    let before = run("print('flat')").await;
    run(DEEP).await;
    eventually("the stack is given back", || (resident_bytes(worker) < before + (256 << 10)).then_some(())).await;
    // It is kept all the same.
    let (pool, limits) = pool().await;
    let program = Program { code: DEEP.to_owned(), ..Program::default() };
    proofbox_runtime::run(&pool, program, &limits).await.expect("there is an interpreter");
    assert_eq!(pool.altered_bytes_of_idle(), (0, 1));
}
