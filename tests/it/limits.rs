//! Each limit ends a run, or is refused, in the way that docs/reference/limits.md promises.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows};

async fn under(limits: Value, code: &str) -> Value {
    Server::shared().execute(json!({"code": code, "limits": limits})).await
}

/// What is asked for beyond a range, and the answer's `error`.
async fn refusal(field: &str, asked: Value) -> (u16, Value) {
    let request = json!({"code": "print(1)", "limits": {field: asked}});
    let (status, answer) = Server::shared().post("/v1/execute", &request).await;
    (status, answer["error"].clone())
}

#[tokio::test]
async fn fuel_stops_a_loop_at_the_same_place_every_time() {
    let code = "n = 0\nwhile True:\n    n += 1\n    if n % 1000 == 0:\n        print(n, flush=True)\n";
    let first = under(json!({"fuel": 300_000_000}), code).await;
    let second = under(json!({"fuel": 300_000_000}), code).await;
    assert_shows(
        &first,
        json!({"status": "error", "stderr_class": "fuel_exhausted", "exit_code": 124, "fuel_used": 300_000_000}),
    );
    assert!(first["stdout_bytes"].as_u64() > Some(100), "{first}");
    assert_eq!(first["stdout"], second["stdout"]);
}

#[tokio::test]
async fn the_same_program_costs_the_same_fuel() {
    let code = "print(sum(i * i for i in range(20_000)), sorted({'b': 1, 'a': 2}))";
    let first = under(json!({}), code).await;
    let second = under(json!({}), code).await;
    assert!(first["fuel_used"].as_u64() > Some(1_000_000), "{first}");
    assert_eq!(first["fuel_used"], second["fuel_used"]);
}

/// The default policy.
async fn policy() -> Value {
    let policies: Value = serde_json::from_str(&Server::shared().get("/v1/policies").await.1).expect("JSON");
    policies[0].clone()
}

/// Programs that don't end by themselves, each in another way.
const ENDLESS: [(&str, &str); 8] = [
    ("sleep", "import time\ntime.sleep(60)"),
    ("busy loop", "while True: pass"),
    ("catches everything", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    ("huge power", "x = 10 ** 10 ** 8"),
    ("catastrophic regex", "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')"),
    ("loop in C", "import collections, itertools\ncollections.deque(itertools.repeat(None), maxlen=0)"),
    ("many sleeps", "import time\nwhile True: time.sleep(0.001)"),
    ("event loop", "import asyncio\nasyncio.run(asyncio.sleep(60))"),
];

#[tokio::test]
async fn wall_time_ends_whatever_does_not_end_by_itself() {
    for (name, code) in ENDLESS {
        let code = format!("print('before', flush=True)\n{code}\n");
        let answer = under(json!({"wall_seconds": 0.2, "fuel": 10_000_000_000_000u64}), &code).await;
        eprintln!("{name}: {}", answer["execution_seconds"]);
        assert_shows(&answer, json!({"stderr_class": "timeout", "exit_code": 124, "stdout": "before\n"}));
        let seconds = answer["execution_seconds"].as_f64().expect("a number");
        assert!((0.2..0.3).contains(&seconds), "{name} took {seconds}");
    }
}

#[tokio::test]
async fn what_ends_in_time_is_not_stopped() {
    let answer = under(json!({"wall_seconds": 0.5}), "import time\ntime.sleep(0.2)\nprint('after')").await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "after\n"}));
    assert!((0.2..0.5).contains(&answer["execution_seconds"].as_f64().expect("a number")), "{answer}");
}

#[tokio::test]
async fn waiting_for_a_core_does_not_count_against_a_program() {
    let one = || under(json!({"wall_seconds": 2.5}), "for i in range(8_000_000): pass");
    let alone = one().await["execution_seconds"].as_f64().expect("a number");
    let answers = futures_util::future::join_all((0..16).map(|_| one())).await;
    for answer in answers {
        assert_shows(&answer, json!({"status": "ok"}));
        let seconds = answer["execution_seconds"].as_f64().expect("a number");
        assert!(seconds < alone * 4.0 + 0.1, "{seconds} s beside others, {alone} s alone");
    }
}

#[tokio::test]
async fn memory_beyond_the_limit_is_an_error_that_python_can_catch() {
    let code = "try:\n    x = bytes(300 << 20)\nexcept MemoryError:\n    print('caught')\nprint(len(bytes(1 << 20)))";
    assert_shows(
        &under(json!({}), code).await,
        json!({"status": "ok", "stdout": "caught\n1048576\n", "stderr_class": "none"}),
    );
}

#[tokio::test]
async fn memory_that_is_used_up_ends_a_program() {
    let limit = 150 << 20;
    let grow = "x = []\nwhile True: x.append(bytes(100_000))";
    let objects = "x = []\nwhile True: x.append([])";
    let double = "x = 'a'\nwhile True: x += x";
    let regardless =
        "x = []\nwhile True:\n    try:\n        while True: x.append(bytes(1000))\n    except MemoryError: pass";
    for code in [grow, objects, double, regardless] {
        let answer = under(
            json!({"memory_bytes": limit, "fuel": 5_000_000_000u64}),
            &format!("print('before', flush=True)\n{code}"),
        )
        .await;
        let class = if code == regardless { "fuel_exhausted" } else { "memory_limit" };
        let exit_code = if code == regardless { 124 } else { 137 };
        assert_shows(&answer, json!({"stderr_class": class, "exit_code": exit_code, "stdout": "before\n"}));
        assert!(answer["peak_memory_bytes"].as_u64() <= Some(limit), "{answer}");
    }
}

#[tokio::test]
async fn memory_within_the_limit_is_given() {
    let runtime: Value = serde_json::from_str(&Server::shared().get("/v1/runtime").await.1).expect("JSON");
    let image = runtime["initial_memory_bytes"].as_u64().expect("a number");
    let limit = 256u64 << 20;
    // The guest's libc gives large pieces in powers of two: of what the image leaves, the largest that fits.
    let size = ((limit - image + 1).next_power_of_two() / 2) - (64 << 10);
    let answer =
        under(json!({"memory_bytes": limit}), &format!("x = bytearray({size})\nx[-1] = 7\nprint(len(x))")).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": format!("{size}\n")}));
    let peak = answer["peak_memory_bytes"].as_u64().expect("a number");
    assert!((size..=limit).contains(&peak), "{answer}");
}

#[tokio::test]
async fn of_long_output_the_first_and_the_last_part_are_kept() {
    let code = "import sys\nfor i in range(500):\n    print(f'{i:09}')\n    print(f'{i:08}', file=sys.stderr)";
    let answer = under(json!({"output_bytes": 40}), code).await;
    assert_shows(
        &answer,
        json!({
            "status": "ok",
            "stdout": "000000000\n000000001\n\n[... 4960 bytes cut ...]\n000000498\n000000499\n",
            "stdout_bytes": 5000, "stdout_truncated": true,
            "stderr": "00000000\n00000001\n00\n[... 4460 bytes cut ...]\n7\n00000498\n00000499\n",
            "stderr_bytes": 4500, "stderr_truncated": true,
        }),
    );
}

#[tokio::test]
async fn a_cut_never_halves_a_character() {
    let answer = under(json!({"output_bytes": 1001}), "print('é€😀' * 1000, end='')").await;
    let text = answer["stdout"].as_str().expect("text");
    assert!(!text.contains('\u{FFFD}') && text.starts_with("é€😀") && text.ends_with("é€😀"), "{text}");
    assert_shows(&answer, json!({"stdout_bytes": 9000, "stdout_truncated": true}));
}

#[tokio::test]
async fn output_within_the_limit_is_whole() {
    let answer = under(json!({"output_bytes": 10}), "print('123456789')").await;
    assert_shows(&answer, json!({"stdout": "123456789\n", "stdout_bytes": 10, "stdout_truncated": false}));
}

#[tokio::test]
async fn a_flood_of_output_is_stopped() {
    for stream in ["stdout", "stderr"] {
        let code = format!("import sys\nwhile True: print('x' * 999, file=sys.{stream})");
        let answer = under(json!({"output_bytes": 1000, "fuel": 20_000_000_000u64}), &code).await;
        assert_shows(
            &answer,
            json!({"stderr_class": "output_limit", "exit_code": 137, (format!("{stream}_truncated")): true}),
        );
        assert!(answer[stream].as_str().expect("text").starts_with("xxx"), "{answer}");
    }
}

#[tokio::test]
async fn files_have_a_limit_in_bytes() {
    let code = "\
import errno, os
written = 0
with open('a', 'wb', buffering=0) as file:
    try:
        while True: written += file.write(b'x' * 1000)
    except OSError as error: print(errno.errorcode[error.errno], written > 90_000)
os.remove('a')
open('b', 'wb').write(b'x' * 50_000)
print(os.path.getsize('b'))";
    let answer = under(json!({"files_bytes": 100_000}), code).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "ENOSPC True\n50000\n"}));
}

#[tokio::test]
async fn files_have_a_limit_in_number() {
    let code = "\
import errno, os
made = []
try:
    while True: open(f'{len(made)}', 'x').close(); made.append(1)
except OSError as error: print(errno.errorcode[error.errno], 10 < len(made) < 20)
os.remove('0')
os.mkdir('d')
try: os.mkdir('e')
except OSError as error: print(errno.errorcode[error.errno])";
    let answer = under(json!({"files_count": 20}), code).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "EDQUOT True\nEDQUOT\n"}));
}

#[tokio::test]
async fn a_file_of_holes_costs_what_it_takes_and_not_more() {
    let code = "\
with open('sparse', 'wb') as file:
    file.seek(1 << 40)
    try: file.write(b'x'); file.flush()
    except OSError as error: print('refused')
    else: print('written')";
    let answer = under(json!({}), code).await;
    assert!(["refused\n", "written\n"].contains(&answer["stdout"].as_str().expect("text")), "{answer}");
}

#[tokio::test]
async fn limits_above_the_ceiling_are_refused_with_the_ceiling() {
    let most = policy().await["most"].clone();
    for (field, allowed) in most.as_object().expect("limits") {
        let asked = json!(allowed.as_f64().expect("a number") as u64 + 1);
        let (status, error) = refusal(field, asked.clone()).await;
        let expected = json!({"code": "limit_above_ceiling", "field": format!("limits.{field}")});
        assert_shows(&error, expected);
        assert_eq!(
            (status, error["asked"].as_f64(), error["allowed"].as_f64()),
            (400, asked.as_f64(), allowed.as_f64())
        );
    }
    assert_eq!(most.as_object().expect("limits").len(), 6);
}

#[tokio::test]
async fn limits_below_the_floor_are_refused_with_the_floor() {
    let least = policy().await["least"].clone();
    let asked = [
        ("fuel", json!(0)),
        ("wall_seconds", json!(0)),
        ("wall_seconds", json!(-1)),
        ("memory_bytes", json!(1)),
        ("files_count", json!(1)),
    ];
    for (field, asked) in asked {
        let (status, error) = refusal(field, asked.clone()).await;
        assert_shows(&error, json!({"code": "limit_below_floor", "field": format!("limits.{field}"), "asked": asked}));
        assert_eq!((status, error["allowed"].as_f64()), (400, least[field].as_f64()));
    }
}

#[tokio::test]
async fn the_answer_tells_the_limits_in_force() {
    let default = policy().await["default"].clone();
    let asked = json!({"fuel": 123_456_789, "wall_seconds": 2.5, "memory_bytes": 200 << 20, "output_bytes": 99, "files_bytes": 4096, "files_count": 9});
    let (silent, with) = (under(json!({}), "").await, under(asked.clone(), "").await);
    assert_eq!((&silent["limits"], &with["limits"]), (&default, &asked));
}

#[tokio::test]
async fn output_that_was_not_flushed_comes_with_every_end() {
    let ends = [
        ("fuel_exhausted", "while True: pass"),
        ("memory_limit", "x = []\nwhile True: x.append(bytes(10 ** 6))"),
        ("exception", "1 / 0"),
        ("nonzero_exit", "raise SystemExit(3)"),
    ];
    for (class, code) in ends {
        let answer = under(json!({"fuel": 2_000_000_000}), &format!("print('before')\n{code}")).await;
        assert_shows(&answer, json!({"stderr_class": class, "stdout": "before\n"}));
    }
}
