//! The page, the dashboard and the alerts against what is served.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::harness::Server;
use crate::process::eventually_async;
use crate::readme::{document, table};
use crate::sessions::Session;

/// Metric -> (type, labels).
type Described = BTreeMap<String, (String, BTreeSet<String>)>;

fn documented() -> Described {
    let rows = table(&document("docs/reference/telemetry.md"), "## Metrics", "name");
    let labels = |cell: &str| cell.split(", ").filter(|label| !label.is_empty()).map(str::to_owned).collect();
    rows.into_iter().map(|(name, row)| (name, (row[0].clone(), labels(&row[1])))).collect()
}

/// The labels of a sample: `a{b="c",d="e"} 1`.
fn labels(sample: &str) -> BTreeSet<String> {
    let Some((_, rest)) = sample.split_once('{') else { return BTreeSet::new() };
    let inside = rest.rsplit_once('}').map_or("", |(inside, _)| inside);
    // A value has no `="` in it: clients can't make them up.
    let names = inside.split("=\"").map(|part| part.rsplit(['"', ',']).next().unwrap_or(""));
    let mut names: Vec<&str> = names.collect();
    names.pop();
    names.into_iter().filter(|name| *name != "le").map(str::to_owned).collect()
}

fn served(text: &str) -> Described {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let labels_of = |name: &str, kind: &str| {
        let name = if kind == "histogram" { format!("{name}_bucket") } else { name.to_owned() };
        let begins = |line: &&str| line.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['{', ' ']));
        text.lines().find(begins).map(labels).unwrap_or_default()
    };
    types.map(|(name, kind)| (name.to_owned(), (kind.to_owned(), labels_of(name, kind)))).collect()
}

#[tokio::test]
async fn every_metric_is_documented_and_every_documented_one_is_served() {
    let server = Server::shared();
    // What is counted by the operator's own words appears when it is first counted.
    server.execute(json!({"code": "import os", "policy": "strict"})).await;
    let (_, text) = server.get("/metrics").await;
    assert_eq!(served(&text), documented());
}

#[tokio::test]
async fn figures_are_those_of_the_service() {
    let server = Server::start(&["--workers", "2"]);
    let session = Session::open_on(&server, json!({})).await;
    session.call("x = 1").await;
    // The service is ready as soon as the first worker is.
    let both = async || (server.metric("proofbox_workers").await == 2.0).then_some(());
    eventually_async("both workers are ready", both).await;
    let (_, text) = server.get("/metrics").await;
    let value = |name: &str| -> f64 {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        found.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    let (_, runtime) = server.get("/v1/runtime").await;
    let runtime: Value = serde_json::from_str(&runtime).expect("JSON");
    let image = runtime["image_hash"].as_str().expect("a hash");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(value(&format!("proofbox_build_info{{image_hash=\"{image}\",version=\"{version}\"}}")), 1.0);
    assert_eq!(value("proofbox_workers"), 2.0);
    assert_eq!(value("proofbox_sessions{place=\"memory\"}"), 1.0);
    assert_eq!(value("proofbox_sessions{place=\"disk\"}"), 0.0);
    assert_eq!(value("proofbox_http_request_seconds_count{route=\"/v1/sessions/{id}/execute\"}"), 1.0);
    assert_eq!(value("proofbox_refused_total{reason=\"busy\"}"), 0.0);
    assert_eq!(value("proofbox_queue_length_by_class{class=\"batch\"}"), 0.0);
    assert_eq!(value("proofbox_log_lines_lost"), 0.0);
    let shared = value("proofbox_workers_resident_bytes{kind=\"shared\"}");
    let private = value("proofbox_workers_resident_bytes{kind=\"private\"}");
    assert!(shared > 1e6 && private > 1e6 && private < 4e9, "{shared} {private}");
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_open_fds") > 5.0 && value("process_open_fds") < value("process_max_fds"));
    let before = value("proofbox_workers_cpu_seconds_total");
    server.execute(json!({"code": "sum(range(5_000_000))"})).await;
    let after = server.metric("proofbox_workers_cpu_seconds_total").await;
    assert!(after > before, "{before} {after}");
}

/// The names that look like metrics, without what a histogram adds.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let known = documented();
    let is_metric = |word: &&str| {
        let named = word.starts_with("proofbox_") || word.starts_with("process_");
        // Groups of rules and the like are named as people please.
        named && !["proofbox_overview", "proofbox_alerts"].contains(word)
    };
    let base = |word: &str| {
        let histogram = |base: &&str| known.get(*base).is_some_and(|(kind, _)| kind == "histogram");
        let bases = ["_bucket", "_sum", "_count"].iter().filter_map(|end| word.strip_suffix(end));
        bases.clone().find(histogram).unwrap_or(word).to_owned()
    };
    words.filter(is_metric).map(base).collect()
}

#[test]
fn the_dashboard_and_the_alerts_use_metrics_that_exist() {
    let known: BTreeSet<String> = documented().into_keys().collect();
    let dashboard = document("docs/deploy/grafana-dashboard.json");
    let alerts = document("docs/deploy/prometheus-alerts.yml");
    let parsed: Value = serde_json::from_str(&dashboard).expect("the dashboard is JSON");
    let mut expressions = Vec::new();
    collect(&parsed, "expr", &mut expressions);
    assert!(expressions.len() > 20, "{expressions:?}");
    for expression in &expressions {
        let used = metrics_in(expression);
        assert!(!used.is_empty() && used.is_subset(&known), "{expression}");
    }
    let used = metrics_in(&alerts);
    assert!(used.len() > 5 && used.is_subset(&known), "{:?}", used.difference(&known));
}

#[test]
fn every_panel_asks_the_source_that_was_chosen() {
    let dashboard: Value =
        serde_json::from_str(&document("docs/deploy/grafana-dashboard.json")).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("a list");
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().expect("a number")), "{panel}");
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
            assert!(panel["targets"].as_array().is_some_and(|targets| !targets.is_empty()), "{panel}");
        }
    }
    assert_eq!(dashboard["templating"]["list"][0]["type"], "datasource");
}

fn collect(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == key => found.push(text.clone()),
                    other => collect(other, key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        _ => {}
    }
}
