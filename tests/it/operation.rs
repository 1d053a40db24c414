//! What those who run the service look at: health, readiness, metrics, the published contract.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, http};

async fn document(path: &str) -> Value {
    let (status, text) = Server::shared().get(path).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test]
async fn health_and_readiness_are_told() {
    assert_eq!(document("/healthz").await, json!({"status": "ok"}));
    assert_eq!(document("/readyz").await, json!({"status": "ready"}));
}

#[tokio::test]
async fn however_many_ask_for_readiness_one_snippet_a_second_runs() {
    let server = Server::start(&["--workers", "1"]);
    let runs = async || server.metric("proofbox_self_tests_total").await;
    let (before, begun) = (runs().await, std::time::Instant::now());
    let client = http();
    let ask = || client.get(format!("{}/readyz", server.url)).send();
    let answers = futures_util::future::join_all((0..64).map(|_| ask())).await;
    assert!(answers.into_iter().all(|answer| answer.is_ok_and(|answer| answer.status() == 200)));
    for _ in 0..100 {
        assert_eq!(ask().await.expect("an answer").status(), 200);
    }
    let (run, seconds) = (runs().await - before, begun.elapsed().as_secs_f64());
    assert!((1.0..=2.0 + seconds).contains(&run), "{run} runs in {seconds} s");
    // An answer does not grow old.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let before = runs().await;
    assert_eq!(ask().await.expect("an answer").status(), 200);
    assert_eq!(runs().await - before, 1.0);
}

#[tokio::test]
async fn clients_that_go_away_start_no_more_readiness_snippets() {
    let server = Server::start(&["--workers", "1"]);
    let begun = std::time::Instant::now();
    for round in 0..100_u64 {
        let ask = http().get(format!("{}/readyz", server.url));
        let _ = ask.timeout(std::time::Duration::from_micros(300 + 37 * round)).send().await;
    }
    let (run, seconds) = (server.metric("proofbox_self_tests_total").await, begun.elapsed().as_secs_f64());
    assert!(run <= 2.0 + seconds, "{run} runs in {seconds} s");
}

#[tokio::test]
async fn the_runtime_is_described() {
    let runtime = document("/v1/runtime").await;
    let answer = Server::shared().execute(json!({"code": "import sys\nprint(sys.version.split()[0])"})).await;
    for field in ["image_hash", "python", "packages_hash"] {
        assert_eq!(runtime[field], answer["runtime"][field], "{field}");
    }
    assert_eq!(answer["stdout"], format!("{}\n", runtime["python"].as_str().expect("a version")));
    assert!(
        runtime["image_hash"].as_str().is_some_and(|hash| hash.starts_with("sha256:") && hash.len() == 71),
        "{runtime}"
    );
    let modules = runtime["modules"].as_array().expect("a list");
    for module in ["json", "sqlite3", "decimal", "asyncio", "lzma", "zlib"] {
        assert!(modules.contains(&json!(module)), "{module}");
    }
    assert!(!modules.contains(&json!("readline")));
}

#[tokio::test]
async fn every_module_that_is_listed_can_be_imported() {
    let runtime = document("/v1/runtime").await;
    // Two of them do something when they are imported.
    let code = format!(
        "import importlib, io, sys\nfor name in {}:\n    if name in ('this', 'antigravity'): continue\n    importlib.import_module(name)\nprint('all')",
        runtime["modules"]
    );
    assert_shows(&Server::shared().execute(json!({"code": code})).await, json!({"status": "ok", "stdout": "all\n"}));
}

#[tokio::test]
async fn the_policies_are_listed() {
    let policies = document("/v1/policies").await;
    let names: Vec<&Value> = policies.as_array().expect("a list").iter().map(|policy| &policy["name"]).collect();
    assert_eq!(names, ["agent", "default", "eval", "permissive", "strict"]);
    for limits in ["default", "least", "most"] {
        let names: Vec<&String> = policies[0][limits].as_object().expect("limits").keys().collect();
        assert_eq!(names.len(), 6, "{limits}: {names:?}");
    }
}

/// Fields of docs/reference/execute.md that this version has: those of a request, of its parts, and of an answer.
const REQUEST: &[&str] = &[
    "code",
    "completion",
    "stdin",
    "args",
    "env",
    "files",
    "fetch_files",
    "tests",
    "grading",
    "visibility",
    "policy",
    "limits",
    "deterministic",
    "repeat",
    "lint",
    "receipt",
    "result",
    "labels",
];
const LIMITS: &[&str] = &["fuel", "wall_seconds", "memory_bytes", "output_bytes", "files_bytes", "files_count"];
const ANSWER: &[&str] = &[
    "id",
    "status",
    "exit_code",
    "stderr_class",
    "tests_passed",
    "tests_total",
    "execution_seconds",
    "queue_seconds",
    "fuel_used",
    "peak_memory_bytes",
    "stdout",
    "stderr",
    "stdout_bytes",
    "stderr_bytes",
    "stdout_truncated",
    "stderr_truncated",
    "result",
    "error",
    "compiled",
    "cases",
    "policy",
    "boundary",
    "integrity",
    "lint",
    "flaky",
    "files",
    "limits",
    "runtime",
    "labels",
    "receipt",
];
const PARTS: &[(&str, &[&str])] = &[
    ("/error", &["class", "type", "message", "line", "traceback"]),
    ("/error/traceback/0", &["file", "line", "function", "source"]),
    ("/cases/0", &["name", "status", "execution_seconds", "fuel_used", "stderr_class", "message"]),
    ("/policy", &["decision", "blocked_by", "findings", "scan_seconds"]),
    ("/boundary", &["attempts"]),
    ("/boundary/attempts/0", &["kind", "operation", "target", "allowed", "count"]),
    ("/integrity", &["level", "planned", "reported", "signals", "basis"]),
    ("/integrity/basis", &["values_compared", "handles_asked", "notes"]),
    ("/limits", LIMITS),
    ("/runtime", &["image_hash", "python", "packages_hash"]),
];

/// What `names` lacks of `wanted`.
fn missing<'a>(wanted: &[&'a str], names: &Value) -> Vec<&'a str> {
    wanted.iter().filter(|name| names.get(name).is_none()).copied().collect()
}

#[tokio::test]
async fn an_answer_has_every_field_of_the_contract() {
    let tests = json!({"kind": "asserts", "asserts": ["assert f() == 1"]});
    let code = "try: open('/etc/passwd')\nexcept OSError: pass\ndef f(): return 1 / 0\n";
    let answer = Server::shared().execute(json!({"code": code, "tests": tests, "grading": "in_process"})).await;
    assert_eq!(missing(ANSWER, &answer), [""; 0]);
    for (path, fields) in PARTS {
        let part = answer.pointer(path).unwrap_or_else(|| panic!("{path} is not in {answer}"));
        assert_eq!(missing(fields, part), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn a_request_with_every_field_is_taken() {
    let request = json!({
        "code": "print(1)", "stdin": "", "args": ["x"], "env": {"K": "v"},
        "files": {"data/in.csv": "a,b\n1,2\n", "x.bin": {"base64": "AAE="}}, "fetch_files": ["out/*.png"],
        "tests": {"kind": "script", "source": "pass"}, "grading": "in_process", "visibility": "full", "policy": "default",
        "limits": {"fuel": 2_000_000_000, "wall_seconds": 10, "memory_bytes": 268_435_456, "output_bytes": 1_048_576,
                   "files_bytes": 67_108_864, "files_count": 4096},
        "deterministic": {"seed": 0, "start_time": "2026-01-01T00:00:00Z"}, "repeat": 1, "lint": false,
        "result": "last_expression", "labels": {"model": "m", "task": "HumanEval/3"},
    });
    assert_shows(&Server::shared().execute(request).await, json!({"status": "passed", "stdout": "1\n"}));
}

#[tokio::test]
async fn the_contract_is_published_as_openapi() {
    let contract = document("/openapi.json").await;
    assert!(contract["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")), "{}", contract["openapi"]);
    assert_eq!(
        missing(&["/v1/execute", "/v1/suites", "/v1/receipts/key", "/v1/runtime", "/v1/policies"], &contract["paths"]),
        [""; 0]
    );
    let operation = &contract["paths"]["/v1/execute"]["post"];
    let schema = |part: &Value| {
        let reference = part["content"]["application/json"]["schema"]["$ref"].as_str().expect("a reference").to_owned();
        contract.pointer(reference.trim_start_matches('#')).expect("what it refers to").clone()
    };
    assert_eq!(missing(REQUEST, &schema(&operation["requestBody"])["properties"]), [""; 0]);
    assert_eq!(missing(ANSWER, &schema(&operation["responses"]["200"])["properties"]), [""; 0]);
    assert_eq!(missing(&["400", "413", "415", "422", "429", "503"], &operation["responses"]), [""; 0]);
    let limits = contract["components"]["schemas"].as_object().expect("schemas").values();
    assert!(limits.filter(|schema| missing(LIMITS, &schema["properties"]).is_empty()).count() >= 2);
    let text = contract.to_string();
    for kind in ["asserts", "check_function", "script", "stdin_stdout"] {
        assert!(text.contains(&format!("\"{kind}\"")), "{kind}");
    }
    // Every reference leads somewhere.
    for part in text.split("\"$ref\":\"#").skip(1) {
        let target = part.split('"').next().expect("a closing quote");
        assert!(contract.pointer(target).is_some(), "{target}");
    }
}

/// Samples by name with labels; panics where the text is not as Prometheus has it.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let name_is_right = |name: &str| {
        (name.starts_with("proofbox_") || name.starts_with("process_"))
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let mut types = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (kind, name, rest) =
                (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
            assert!(["HELP", "TYPE"].contains(&kind) && name_is_right(name) && !rest.is_empty(), "{line}");
            if kind == "TYPE" {
                types.insert(name.to_owned(), rest.to_owned());
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let family = name.split('{').next().expect("a name");
        let plain = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| family.strip_suffix(suffix));
        let histogram = plain.filter(|plain| types.get(*plain).is_some_and(|kind| kind == "histogram"));
        assert!(types.contains_key(histogram.unwrap_or(family)), "{line}: no TYPE");
        assert!(samples.insert(name.to_owned(), value.parse().expect("a number")).is_none(), "{line}: twice");
    }
    samples
}

async fn metrics(server: &Server) -> BTreeMap<String, f64> {
    samples(&server.get("/metrics").await.1)
}

#[tokio::test]
async fn metrics_count_what_happens() {
    let server = Server::start(&["--workers", "1"]);
    let cases = json!([{"expected_stdout": ""}, {"expected_stdout": ""}, {"expected_stdout": ""}]);
    for request in [
        json!({"code": "print('x' * 99)"}),
        json!({"code": "1 / 0"}),
        json!({"code": "while True: pass", "limits": {"fuel": 100_000_000}}),
        json!({"code": "pass", "tests": {"kind": "stdin_stdout", "cases": cases}}),
    ] {
        server.execute(request).await;
    }
    server.post("/v1/execute", &json!({})).await;
    server.get("/v1/made-up-path-17").await;
    let seen = metrics(&server).await;
    let expected = [
        ("proofbox_runs_total{stderr_class=\"none\"}", 4.0),
        ("proofbox_runs_total{stderr_class=\"exception\"}", 1.0),
        ("proofbox_runs_total{stderr_class=\"fuel_exhausted\"}", 1.0),
        ("proofbox_http_requests_total{route=\"/v1/execute\",status=\"200\"}", 4.0),
        ("proofbox_http_requests_total{route=\"/v1/execute\",status=\"400\"}", 1.0),
        ("proofbox_http_requests_total{route=\"unknown\",status=\"404\"}", 1.0),
        ("proofbox_queue_seconds_count", 6.0),
        ("proofbox_start_seconds_count", 6.0),
        ("proofbox_run_seconds_count", 6.0),
        ("proofbox_instances_live", 0.0),
        ("proofbox_queue_length", 0.0),
        ("proofbox_refused_total{reason=\"busy\"}", 0.0),
        ("proofbox_worker_restarts_total", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(seen.get(name), Some(&value), "{name}");
    }
    assert!(seen["proofbox_fuel_total"] > 1e8 && seen["proofbox_output_bytes_total"] >= 100.0, "{seen:?}");
}

#[tokio::test]
async fn histograms_are_cumulative_up_to_their_count() {
    Server::shared().execute(json!({"code": "print(1)"})).await;
    let text = Server::shared().get("/metrics").await.1;
    let seen = samples(&text);
    for name in ["proofbox_queue_seconds", "proofbox_start_seconds", "proofbox_run_seconds"] {
        let prefix = format!("{name}_bucket{{le=\"");
        let buckets: Vec<f64> = text
            .lines()
            .filter(|line| line.starts_with(&prefix))
            .map(|line| line.rsplit(' ').next().expect("a value").parse().expect("a number"))
            .collect();
        assert!(buckets.len() > 5 && buckets.is_sorted(), "{name}: {buckets:?}");
        assert_eq!(buckets.last(), seen.get(&format!("{name}_count")), "{name}");
        assert_eq!(seen.get(&format!("{prefix}+Inf\"}}")), buckets.last(), "{name}");
    }
}

#[tokio::test]
async fn nothing_that_a_client_sends_becomes_a_label() {
    let server = Server::shared();
    const ODD: &str = "evil-word-4711";
    server.get(&format!("/{ODD}")).await;
    server
        .post("/v1/execute", &json!({"code": format!("raise type('{ODD}', (Exception,), {{}})"), "labels": {ODD: ODD}}))
        .await;
    server.post("/v1/execute", &json!({"code": "1", "policy": ODD})).await;
    http().request(reqwest::Method::from_bytes(b"EVIL").expect("a word"), &server.url).send().await.expect("an answer");
    let text = server.get("/metrics").await.1;
    assert!(!text.contains(ODD) && !text.contains("EVIL"), "{text}");
    let routes = samples(&text).keys().filter(|name| name.starts_with("proofbox_http_requests_total")).count();
    // Routes times status codes: all tests of this process send here.
    assert!(routes < 200, "{text}");
}

#[tokio::test]
async fn past_a_full_queue_the_answer_is_429_with_a_time_to_come_back() {
    let server = Server::start(&["--workers", "1", "--slots", "2", "--queue", "1"]);
    let slow = || server.execute(json!({"code": "import time\ntime.sleep(1.5)\nprint('done')"}));
    let refused = async {
        let full = async || (server.metric("proofbox_queue_length").await == 1.0).then_some(());
        crate::process::eventually_async("two run and one waits", full).await;
        let request = http().post(format!("{}/v1/execute", server.url)).body(json!({"code": "print(1)"}).to_string());
        let response = request.send().await.expect("an answer");
        let after: u64 = response.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
        assert!(after >= 1);
        let status = response.status().as_u16();
        let answer: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        assert_eq!((status, &answer["error"]["code"]), (429, &json!("busy")));
        // The service is busy, not broken.
        assert_eq!(server.get("/healthz").await.0, 200);
    };
    let (third, first, second, ()) = tokio::join!(slow(), slow(), slow(), refused);
    for answer in [&first, &second, &third] {
        assert_shows(answer, json!({"status": "ok", "stdout": "done\n"}));
        assert!(answer["execution_seconds"].as_f64() < Some(1.9), "{answer}");
    }
    let waited = |answer: &Value| answer["queue_seconds"].as_f64().expect("a number");
    assert!(waited(&first).max(waited(&second)).max(waited(&third)) > 0.8, "{first} {second} {third}");
    assert_eq!(server.metric("proofbox_refused_total{reason=\"busy\"}").await, 1.0);
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"status": "ok"}));
}

#[tokio::test]
async fn a_short_run_does_not_wait_for_long_ones() {
    let server = Server::start(&["--workers", "1", "--slots", "16"]);
    let long = (0..8).map(|_| server.execute(json!({"code": "while True: pass", "limits": {"wall_seconds": 0.3}})));
    let short = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let began = std::time::Instant::now();
        let answer = server.execute(json!({"code": "print(1)"})).await;
        (answer, began.elapsed())
    };
    let (long, (answer, took)) = tokio::join!(futures_util::future::join_all(long), short);
    assert_shows(&answer, json!({"status": "ok", "stdout": "1\n"}));
    // Eight loops of 0.3 s each take 2.4 s in one worker.
    assert!(took.as_secs_f64() < 1.0, "{took:?}");
    assert!(long.iter().all(|answer| answer["stderr_class"] == "timeout"));
}
