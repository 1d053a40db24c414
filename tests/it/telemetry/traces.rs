//! What a collector hears of requests.

use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use super::collector::{Collector, SERVER, attribute, hex, seconds};
use crate::harness::{Server, http};
use crate::process;
use crate::sessions::Session;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Sends a request as a caller who traces it; its answer, and the header that says which trace shows it.
async fn traced(server: &Server, path: &str, trace: &str, flags: &str, body: &Value) -> (Value, String) {
    let request = http()
        .post(format!("{}{path}", server.url))
        .header("content-type", "application/json")
        .header("traceparent", format!("00-{trace}-{PARENT}-{flags}"))
        .header("tracestate", "vendor=opaque")
        .body(body.to_string());
    let response = request.send().await.expect("the server answers");
    let header = response.headers()["traceresponse"].to_str().expect("ASCII").to_owned();
    let text = response.text().await.expect("the answer is whole");
    (serde_json::from_str(&text).unwrap_or(json!(text)), header)
}

#[tokio::test]
async fn an_execution_is_a_trace_below_the_callers() {
    let collector = Collector::start().await;
    let server = collector.server(&["--workers", "1"]);
    let request = json!({
        "code": "def double(x):\n    print('secret-output')\n    return 2 * x  # secret-code\n",
        "tests": {"kind": "asserts", "asserts": ["assert double(2) == 4", "assert double(3) == 7, 'secret-message'"]},
        "labels": {"model": "m-1", "gen_ai.tool.call.id": "call_17"},
    });
    let (answer, header) = traced(&server, "/v1/execute", TRACE, "01", &request).await;
    assert_eq!(answer["status"], "failed", "{answer}");
    let trace = collector.trace(TRACE).await;

    let root = trace.one("POST /v1/execute");
    assert_eq!(
        (root.kind, hex(&root.parent_span_id), root.trace_state.as_str()),
        (SERVER, PARENT.to_owned(), "vendor=opaque")
    );
    assert_eq!(header, format!("00-{TRACE}-{}-01", hex(&root.span_id)));
    let of = |span: &Span, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| attribute(&span.attributes, name)).collect()
    };
    assert_eq!(
        of(
            root,
            &["http.request.method", "http.route", "http.response.status_code", "proofbox.key.name", "error.type"]
        ),
        ["POST", "/v1/execute", "200", "keyless", ""]
    );

    let tool = trace.one("execute_tool python");
    assert_eq!(trace.above(tool), "POST /v1/execute");
    let gen_ai = ["gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id"];
    assert_eq!(of(tool, &gen_ai), ["execute_tool", "python", "function", "call_17"]);
    let own = ["status", "stderr_class", "tests_passed", "tests_total", "policy", "label.model", "exit_code"];
    let own: Vec<String> = own.iter().map(|name| attribute(&tool.attributes, &format!("proofbox.{name}"))).collect();
    assert_eq!(own, ["failed", "assertion_failure", "1", "2", "default", "m-1", "1"]);
    for (attribute_, field) in
        [("execution.id", "id"), ("fuel_used", "fuel_used"), ("peak_memory_bytes", "peak_memory_bytes")]
    {
        let shown = answer[field].as_str().map_or_else(|| answer[field].to_string(), str::to_owned);
        assert_eq!(attribute(&tool.attributes, &format!("proofbox.{attribute_}")), shown, "{attribute_}");
    }
    // Tests that fail are no error of the tool.
    assert_eq!(attribute(&tool.attributes, "error.type"), "");

    for name in ["scan", "queue", "start", "run"] {
        assert_eq!(trace.above(trace.one(name)), "execute_tool python", "{name}");
    }
    let (queue, start, run) = (trace.one("queue"), trace.one("start"), trace.one("run"));
    assert_eq!(queue.end_time_unix_nano, start.start_time_unix_nano);
    assert_eq!(start.end_time_unix_nano, run.start_time_unix_nano);
    let executed = |answer: &Value| answer["execution_seconds"].as_f64().expect("a number");
    let both = executed(&answer) + executed(&answer["grader"]);
    assert!((seconds(run) - both).abs() < 0.002, "{} {both}", seconds(run));
    assert!(
        root.start_time_unix_nano <= queue.start_time_unix_nano && run.end_time_unix_nano <= root.end_time_unix_nano
    );

    let mut cases = trace.named("case");
    cases.sort_by_key(|case| attribute(&case.attributes, "proofbox.case.index"));
    let shown: Vec<Vec<String>> = cases
        .iter()
        .map(|case| of(case, &["proofbox.case.index", "proofbox.case.status", "proofbox.stderr_class"]))
        .collect();
    assert_eq!(shown, [["0", "passed", "none"], ["1", "failed", "assertion_failure"]]);
    assert!(cases.iter().all(|case| trace.above(case) == "run"));

    collector.received(|received| {
        let runtime = answer["runtime"]["image_hash"].as_str().expect("a hash");
        assert_eq!(attribute(&received.resource, "service.name"), "proofbox");
        assert_eq!(attribute(&received.resource, "proofbox.image_hash"), runtime);
        let raw = String::from_utf8_lossy(&received.raw).into_owned();
        for word in ["secret", "double", "AssertionError"] {
            assert!(!raw.contains(word), "{word}");
        }
    });
}

#[tokio::test]
async fn what_the_policy_blocks_is_an_event_without_the_code() {
    let collector = Collector::start().await;
    let server = collector.server(&["--workers", "1"]);
    let request = json!({"code": "import os\nos.system('secret-code')", "policy": "strict"});
    let (answer, _) = traced(&server, "/v1/execute", TRACE, "01", &request).await;
    assert_eq!(answer["status"], "blocked", "{answer}");
    let trace = collector.trace(TRACE).await;
    let scan = trace.one("scan");
    assert_eq!(attribute(&scan.attributes, "proofbox.decision"), "block");
    let findings = answer["policy"]["findings"].as_array().expect("a list").iter();
    let blocking: Vec<&Value> = findings.filter(|finding| finding["action"] == "block").collect();
    assert!(!blocking.is_empty() && scan.events.len() == blocking.len(), "{:?} {answer}", scan.events);
    for (event, finding) in scan.events.iter().zip(blocking) {
        let of = |name: &str| attribute(&event.attributes, &format!("proofbox.{name}"));
        assert_eq!((event.name.as_str(), of("action")), ("proofbox.policy_block", "block".to_owned()));
        assert_eq!((json!(of("scanner")), json!(of("rule"))), (finding["scanner"].clone(), finding["rule"].clone()));
    }
    let tool = trace.one("execute_tool python");
    assert_eq!(attribute(&tool.attributes, "error.type"), "policy_blocked");
    assert!(trace.named("run").is_empty());
    collector.received(|received| assert!(!String::from_utf8_lossy(&received.raw).contains("secret-code")));
}

#[tokio::test]
async fn cases_are_bounded_and_what_is_left_out_is_said() {
    let collector = Collector::start().await;
    let server = collector.server(&["--workers", "1"]);
    let asserts: Vec<String> = (0..200).map(|n| format!("assert f({n}) == {n}")).collect();
    let request = json!({"code": "def f(x): return x", "tests": {"kind": "asserts", "asserts": asserts}});
    traced(&server, "/v1/execute", TRACE, "01", &request).await;
    let trace = collector.trace(TRACE).await;
    assert_eq!(trace.named("case").len(), 128);
    for name in ["execute_tool python", "POST /v1/execute"] {
        assert_eq!(attribute(&trace.one(name).attributes, "proofbox.cases.left_out"), "72", "{name}");
    }

    // Cases that are runs of their own have what lies below them.
    let other = "5bf92f3577b34da6a3ce929d0e0e4737";
    let cases: Vec<Value> = (0..3).map(|n| json!({"stdin": n.to_string(), "expected_stdout": n.to_string()})).collect();
    let request = json!({"code": "print(input())", "tests": {"kind": "stdin_stdout", "cases": cases}});
    traced(&server, "/v1/execute", other, "01", &request).await;
    let trace = collector.trace(other).await;
    assert_eq!((trace.named("case").len(), trace.named("run").len()), (3, 3));
    assert!(trace.named("run").iter().all(|run| trace.above(run) == "case"));
    assert!(trace.named("case").iter().all(|case| attribute(&case.attributes, "proofbox.case.status") == "passed"));
}

#[tokio::test]
async fn streams_and_suites_belong_to_their_request() {
    let collector = Collector::start().await;
    let server = collector.server(&["--workers", "1"]);
    let session = Session::open_on(&server, json!({})).await;
    let request = http()
        .post(format!("{}{}", server.url, session.path("/execute")))
        .header("accept", "application/x-ndjson")
        .header("traceparent", format!("00-{TRACE}-{PARENT}-01"))
        .body(json!({"code": "print('secret-output')"}).to_string())
        .header("content-type", "application/json");
    request.send().await.expect("the server answers").text().await.expect("the answer is whole");
    let trace = collector.trace(TRACE).await;
    let tool = trace.one("execute_tool python");
    assert_eq!(trace.above(tool), "POST /v1/sessions/{id}/execute");
    assert_eq!(attribute(&tool.attributes, "proofbox.session.id"), session.id);
    assert_eq!(trace.above(trace.one("run")), "execute_tool python");

    let other = "5bf92f3577b34da6a3ce929d0e0e4737";
    let items: Vec<Value> = (0..5).map(|n| json!({"id": format!("item-{n}"), "code": format!("print({n})")})).collect();
    traced(&server, "/v1/suites", other, "01", &json!({"items": items})).await;
    let trace = collector.trace(other).await;
    assert_eq!(trace.named("execute_tool python").len(), 5);
    assert!(trace.named("execute_tool python").iter().all(|tool| trace.above(tool) == "POST /v1/suites"));
}

#[tokio::test]
async fn whether_a_request_is_shown_is_the_callers_choice() {
    let collector = Collector::start().await;
    let server = collector.server(&["--workers", "1"]);
    let (_, header) = traced(&server, "/v1/execute", TRACE, "00", &json!({"code": "1"})).await;
    assert!(header.starts_with(&format!("00-{TRACE}-")) && header.ends_with("-00"), "{header}");
    // What is no context begins a trace of its own.
    let (_, header) = traced(&server, "/v1/execute", "not-a-trace", "01", &json!({"code": "1"})).await;
    let own = header.split('-').nth(1).expect("a trace").to_owned();
    let trace = collector.trace(&own).await;
    assert_eq!(trace.one("POST /v1/execute").parent_span_id, Vec::<u8>::new());
    server.get("/healthz").await;
    server.get("/readyz").await;
    collector.received(|received| {
        assert!(received.spans.iter().all(|span| hex(&span.trace_id) == own), "{:?}", received.spans);
    });
}

#[tokio::test]
async fn standard_variables_hold_and_what_waits_is_sent_at_the_end() {
    let collector = Collector::start().await;
    let server = Server::start_with(&["--workers", "1"], |command| {
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=secret-tenant")
            .env("OTEL_SERVICE_NAME", "grader-7")
            .env("OTEL_BSP_SCHEDULE_DELAY", "3600000");
    });
    traced(&server, "/v1/execute", TRACE, "01", &json!({"code": "1"})).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    collector.received(|received| assert!(received.spans.is_empty()));
    process::signal(server.pid(), libc::SIGTERM);
    assert!(server.ended().await.success());
    collector.trace(TRACE).await.one("execute_tool python");
    collector.received(|received| {
        assert_eq!(attribute(&received.resource, "service.name"), "grader-7");
        assert_eq!(received.headers["x-tenant"], "secret-tenant");
    });
    assert!(!server.log().concat().contains("secret-tenant"));
}

#[tokio::test]
async fn a_collector_that_fails_slows_nothing_and_is_told_of_once() {
    // Nobody listens on port 9.
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.env("PROOFBOX_OTLP_ENDPOINT", "http://127.0.0.1:9").env("OTEL_BSP_SCHEDULE_DELAY", "20");
    });
    for _ in 0..20 {
        let answer = server.execute(json!({"code": "print(1)"})).await;
        assert_eq!(answer["status"], "ok");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let failed = async || (server.metric("proofbox_trace_spans_total{outcome=\"failed\"}").await > 10.0).then_some(());
    process::eventually_async("spans fail", failed).await;
    let told = server.log().iter().filter(|line| line.contains("could not be sent")).count();
    assert_eq!(told, 1, "{:?}", server.log());
}

#[test]
fn an_address_that_can_not_be_used_stops_the_start() {
    for address in ["https://collector:4318", "collector:4318", "http://", "http://user:secret-word@[::1"] {
        let output = crate::harness::proofbox(&["serve"])
            .env("PROOFBOX_OTLP_ENDPOINT", address)
            .output()
            .expect("the binary was built for this test");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("PROOFBOX_OTLP_ENDPOINT"), "{address}: {said}");
        assert!(!said.contains("secret-word"), "{said}");
    }
}
