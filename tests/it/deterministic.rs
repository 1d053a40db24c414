//! Deterministic runs repeat to the byte; all others share nothing random.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};

const RANDOM: &str = "\
import os, random, secrets, tempfile, time, uuid, datetime
print(random.random(), random.Random().random(), random.SystemRandom().random())
print(uuid.uuid4(), uuid.uuid1(), secrets.token_hex(), os.urandom(8), tempfile.mkdtemp())
print(time.time_ns(), time.monotonic_ns(), time.perf_counter_ns(), datetime.datetime.now())
print(list({str(i) for i in range(50)}), hash('a'))
for _ in range(100_000): pass
print(time.time_ns(), random.sample(range(1000), 5))";

async fn seeded(code: &str, seed: u64) -> Value {
    Server::shared().execute(json!({"code": code, "deterministic": {"seed": seed}})).await
}

#[tokio::test]
async fn the_same_seed_gives_the_same_answer_at_the_same_cost() {
    let (first, second, other) = (seeded(RANDOM, 7).await, seeded(RANDOM, 7).await, seeded(RANDOM, 8).await);
    assert_shows(&first, json!({"status": "ok", "stderr": ""}));
    assert_eq!((&first["stdout"], &first["fuel_used"]), (&second["stdout"], &second["fuel_used"]));
    let line = |answer: &Value, line: usize| {
        answer["stdout"].as_str().expect("text").lines().nth(line).expect("a line").to_owned()
    };
    assert_ne!(line(&first, 0), line(&other, 0));
    assert_ne!(line(&first, 1), line(&other, 1));
}

#[tokio::test]
async fn the_same_seed_repeats_under_load() {
    let one = || async {
        let answer = seeded(RANDOM, 3).await;
        (answer["stdout"].clone(), answer["fuel_used"].clone())
    };
    let alone = one().await;
    for beside in futures_util::future::join_all((0..40).map(|_| one())).await {
        assert_eq!(beside, alone);
    }
}

#[tokio::test]
async fn sleep_costs_no_time_and_moves_the_clock() {
    let code = "import asyncio, time\nstart = time.time()\ntime.sleep(100_000)\nasyncio.run(asyncio.sleep(3600))\nprint(round(time.time() - start))";
    let began = std::time::Instant::now();
    let answer =
        Server::shared().execute(json!({"code": code, "deterministic": {}, "limits": {"wall_seconds": 5}})).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "103600\n"}));
    assert!(began.elapsed().as_secs() < 20 && answer["execution_seconds"].as_f64() < Some(1.0), "{answer}");
}

#[tokio::test]
async fn the_clock_starts_when_it_is_told() {
    let code = "import datetime, os\nopen('f', 'w').close()\nfor t in datetime.datetime.now().timestamp(), os.stat('f').st_mtime: print(datetime.datetime.fromtimestamp(int(t)))";
    for (start, shown) in
        [("2001-02-03T04:05:06Z", "2001-02-03 04:05:06"), ("2030-01-01T02:00:00+02:00", "2030-01-01 00:00:00")]
    {
        let answer = Server::shared().execute(json!({"code": code, "deterministic": {"start_time": start}})).await;
        assert_shows(&answer, json!({"stdout": format!("{shown}\n{shown}\n")}));
    }
    let silent = Server::shared().execute(json!({"code": code, "deterministic": {}})).await;
    assert_shows(&silent, json!({"stdout": "2026-01-01 00:00:00\n2026-01-01 00:00:00\n"}));
}

#[tokio::test]
async fn endless_sleep_in_a_deterministic_run_ends() {
    let answer = Server::shared()
        .execute(json!({"code": "import time\nwhile True: time.sleep(1e6)", "deterministic": {}, "limits": {"fuel": 300_000_000}}))
        .await;
    assert_shows(&answer, json!({"stderr_class": "fuel_exhausted"}));
}

#[tokio::test]
async fn two_fresh_runs_have_nothing_random_in_common() {
    let code = "\
import os, random, secrets, tempfile, uuid
for value in (random.random(), random.Random().random(), uuid.uuid4(), uuid.uuid1().node, secrets.token_hex(), os.urandom(8),
              tempfile.mkdtemp(), tempfile.mktemp(), random.SystemRandom().random(), random.getrandbits(64)): print(value)";
    let mut seen = std::collections::HashSet::new();
    for answer in futures_util::future::join_all((0..50).map(|_| run(code))).await {
        let text = answer["stdout"].as_str().expect("text");
        assert_eq!(text.lines().count(), 10, "{answer}");
        for line in text.lines() {
            assert!(seen.insert(line.to_owned()), "{line} came twice");
        }
    }
}

#[tokio::test]
async fn the_clock_of_an_ordinary_run_is_the_right_one() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64();
    let answer = run("import time\nprint(time.time())").await;
    let seen: f64 = answer["stdout"].as_str().and_then(|text| text.trim().parse().ok()).expect("a number");
    assert!((now - 1.0..now + 60.0).contains(&seen), "{seen} at {now}");
}
