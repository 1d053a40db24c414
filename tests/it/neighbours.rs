//! A guest whose host calls do the work: it meets its own limits, and its neighbours on the same worker notice nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use proofbox_types::outcome::{End, Limit, LimitHit};
use proofbox_types::program::Program;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::harness::Server;
use crate::leaks::pool;
use crate::sessions::Session;

/// Loops of host calls, in C: between them next to no fuel is used.
const ATTACKS: [(&str, &str); 6] = [
    (
        "pwrite",
        r#"
import os
from itertools import repeat
from collections import deque
fd = os.open("big", os.O_RDWR | os.O_CREAT)
b = bytes(60 << 20)
deque(map(os.pwrite, repeat(fd), repeat(b), repeat(0)), 0)
"#,
    ),
    (
        "readinto",
        r#"
import os
from itertools import repeat
from collections import deque
with open("big", "wb") as file:
    file.truncate(60 << 20)
file = open("big", "rb", buffering=0)
b = bytearray(60 << 20)
deque(map(lambda _: (file.seek(0), file.readinto(b)), repeat(0)), 0)
"#,
    ),
    (
        "two files",
        r#"
import os
a, b = (os.open(name, os.O_RDWR | os.O_CREAT) for name in "ab")
os.ftruncate(a, 20 << 20)
while True:
    os.pwrite(b, os.pread(a, 20 << 20, 0), 0)
    os.ftruncate(b, 0)
    a, b = b, a
"#,
    ),
    (
        "truncate",
        r#"
import os
fd = os.open("big", os.O_RDWR | os.O_CREAT)
while True:
    for at in range(0, 60 << 20, 64 << 10):
        os.pwrite(fd, b"x", at)
    os.ftruncate(fd, 0)
    os.ftruncate(fd, 60 << 20)
"#,
    ),
    (
        "urandom",
        r"
import os
from itertools import repeat
from collections import deque
deque(map(os.urandom, repeat(30 << 20)), 0)
",
    ),
    (
        "long paths",
        r#"
import os
from itertools import repeat
from collections import deque
os.makedirs("d")
name = "d/../" * 700
os.symlink(name[:-1], "l")
deque(map(os.path.exists, repeat("l/" * 40 + "d")), 0)
"#,
    ),
];

#[tokio::test]
async fn work_of_host_calls_is_the_guests_own() {
    let server = Server::start(&["--workers", "1"]);
    let session = Session::open_on(&server, json!({})).await;
    session.call("x = 41").await;
    for (name, code) in ATTACKS {
        let over = AtomicBool::new(false);
        let neighbour = async {
            let mut runs = 0;
            while !over.load(Ordering::Relaxed) {
                let answer = server.execute(json!({"code": "print(sum(range(1000)))"})).await;
                assert_eq!(answer["stderr_class"], "none", "beside {name}: {answer}");
                runs += 1;
            }
            runs
        };
        let attacker = async {
            let answer = server.execute(json!({"code": code, "limits": {"wall_seconds": 3}})).await;
            over.store(true, Ordering::Relaxed);
            answer
        };
        let (runs, answer) = tokio::join!(neighbour, attacker);
        let class = answer["stderr_class"].as_str().expect("a word");
        assert!(["timeout", "fuel_exhausted"].contains(&class), "{name}: {answer}");
        eprintln!("{name}: {class}, {} fuel, {runs} runs beside it", answer["fuel_used"]);
        assert_eq!(session.value("x").await, 41, "after {name}");
    }
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 0.0);
}

/// CPU time of this thread for one turn of `code`, on average: other work of the machine does not count.
async fn mean_turn(code: &str) -> Duration {
    let cpu = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it goes forward");
    let (pool, limits) = pool().await;
    let over = AtomicBool::new(false);
    let began = cpu();
    let others = async {
        let mut turns = 0;
        while !over.load(Ordering::Relaxed) {
            turns += 1;
            tokio::task::yield_now().await;
        }
        turns
    };
    let run = async {
        let program = Program { code: code.to_owned(), ..Program::default() };
        let outcome = proofbox_runtime::run(&pool, program, &limits).await.expect("it runs");
        over.store(true, Ordering::Relaxed);
        outcome
    };
    let (outcome, turns) = tokio::join!(run, others);
    assert!(matches!(outcome.end, End::Limited(LimitHit { limit: Limit::Fuel, .. })), "{:?}: {code}", outcome.end);
    (cpu() - began) / turns
}

/// By fuel alone, turns of these would take two and a half milliseconds and ten.
#[tokio::test]
async fn a_turn_with_many_short_host_calls_takes_a_millisecond() {
    let imports = "import os, time\nfrom collections import deque\nfrom itertools import repeat\n";
    for calls in ["iter(time.time, None)", "map(os.path.exists, repeat('./' * 200))"] {
        let turn = mean_turn(&format!("{imports}deque({calls}, 0)")).await;
        eprintln!("{calls}: {turn:?}");
        assert!(turn < Duration::from_micros(1800), "{turn:?}: {calls}");
    }
}

/// Turns that end by the clock end elsewhere each time, and more so with many at once.
#[tokio::test]
async fn a_limit_of_fuel_holds_to_the_unit_wherever_turns_end() {
    const CODE: &str = "import time\nfor _ in range(20_000): time.time()\nfor _ in range(100_000): pass";
    let server = Server::shared();
    let run = async |fuel: u64| server.execute(json!({"code": CODE, "limits": {"fuel": fuel}})).await;
    let call = async |fuel: u64| {
        let session = Session::open_on(server, json!({})).await;
        session.call_with(json!({"code": CODE, "limits": {"fuel": fuel}})).await
    };
    let used = run(1_000_000_000).await["fuel_used"].as_u64().expect("a number");
    let used_in_session = call(1_000_000_000).await["fuel_used"].as_u64().expect("a number");
    for (fuel, class) in [(0, "none"), (1, "fuel_exhausted")] {
        for answer in join_all((0..8).map(|_| run(used - fuel))).await {
            assert_eq!(
                (&answer["stderr_class"], &answer["fuel_used"]),
                (&json!(class), &json!(used - fuel)),
                "{answer}"
            );
        }
        for answer in join_all((0..8).map(|_| call(used_in_session - fuel))).await {
            let expected = (json!(class), json!(used_in_session - fuel));
            assert_eq!((&answer["stderr_class"], &answer["fuel_used"]), (&expected.0, &expected.1), "{answer}");
        }
    }
}

#[tokio::test]
async fn bytes_that_host_calls_move_cost_fuel() {
    let server = Server::shared();
    let fuel = async |written: usize| {
        let open = "import os\nb = bytes(33 << 20)\nfd = os.open('f', os.O_RDWR | os.O_CREAT)";
        let code = format!("{open}\nos.pwrite(fd, memoryview(b)[:{written}], 0)");
        let answer = server.execute(json!({"code": code})).await;
        assert_eq!(answer["status"], "ok", "{answer}");
        answer["fuel_used"].as_u64().expect("a number")
    };
    let (little, much, again) = (fuel(1).await, fuel(33 << 20).await, fuel(33 << 20).await);
    assert_eq!(much, again);
    let price = (32 << 20) / 8;
    assert!((price..price + 100_000).contains(&much.saturating_sub(little)), "{little} and {much}");
}

#[tokio::test]
async fn fuel_for_bytes_runs_out_as_any_other() {
    let code =
        "import os\nfd = os.open('f', os.O_RDWR | os.O_CREAT)\nb = bytes(16 << 20)\nwhile True: os.pwrite(fd, b, 0)";
    let answer = Server::shared().execute(json!({"code": code, "limits": {"fuel": 100_000_000}})).await;
    assert_eq!((&answer["stderr_class"], &answer["fuel_used"]), (&json!("fuel_exhausted"), &json!(100_000_000)));
}

#[tokio::test]
async fn a_call_in_parts_is_one_call_to_the_guest() {
    let code = r#"
import os
n = (9 << 20) + 5
b = os.urandom(n)
fd = os.open("f", os.O_RDWR | os.O_CREAT)
assert os.pwrite(fd, b, 3) == n
assert os.pread(fd, n, 3) == b and os.pread(fd, 2 * n, 3) == b
assert os.lseek(fd, 3, 0) == 3 and os.write(fd, b) == n and os.lseek(fd, 0, 1) == n + 3
assert os.lseek(fd, 3, 0) == 3 and os.read(fd, n + 100) == b
out = [bytearray(1), bytearray(n - 2), bytearray(1)]
assert os.lseek(fd, 3, 0) == 3 and os.readv(fd, out) == n and b"".join(out) == b if hasattr(os, "readv") else True
end = os.open("g", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
assert os.write(end, b) == n and os.write(end, b) == n and os.stat("g").st_size == 2 * n
assert os.pwrite(fd, bytes(80 << 20), 0) < 80 << 20
"#;
    let answer = Server::shared().execute(json!({"code": code, "limits": {"memory_bytes": 1 << 30}})).await;
    assert_eq!(answer["stderr_class"], "none", "{answer}");
}
