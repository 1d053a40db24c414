//! One very large suite, and somebody who asks for little meanwhile.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use hyper::StatusCode;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use super::{Arc, Scenario, Table, TrialArguments, TrialFigure, TrialReport};
use crate::answer::{Answer, Expected};
use crate::connection::Connection;
use crate::plot::Plot;
use crate::report::RuntimeOfService;
use crate::tally::{Phase, Sent, Tally, Window};
use crate::timeline::{Moment, Timeline};

/// Requirements unless the caller names others.
pub(crate) const DEMANDS: [&str; 4] = ["wrong<=0", "errors<=0", "refused<=0", "p99<=1s"];
const SUITES: &str = "/v1/suites";
/// Of the requests beside it, before it begins.
const ALONE: Duration = Duration::from_secs(10);
/// Interval at which a job is asked whether it is done.
const POLL: Duration = Duration::from_millis(500);
/// States of a job that has not come to its end.
const UNFINISHED: [&str; 2] = ["queued", "running"];
const MAX_LENGTH: Duration = Duration::from_secs(3600);
const MAX_EXAMPLES: usize = 5;

/// Send one suite of thousands of items, and see that others are served meanwhile
///
/// Each item must have exactly one line, with the outcome that its case has. Beside the suite, one client sends one
/// honest request after another: the latency figures are its.
#[derive(Args)]
pub(crate) struct SuiteArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// Items
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    items: u32,
    /// As a job: ask for its results when it is done
    #[arg(long)]
    asynchronous: bool,
}

/// A line of the answer. That of the report has no id.
#[derive(Deserialize)]
struct Line {
    id: Option<String>,
    #[serde(flatten)]
    rest: Json,
}

/// Outcome of the suite.
struct Results {
    lines: Vec<u8>,
    timeline: Timeline,
    first: Option<Duration>,
    whole: Duration,
}

/// # Errors
/// When nothing could be measured.
pub(crate) async fn run(arguments: &SuiteArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let SuiteArguments { trial, items, asynchronous } = arguments;
    let work = trial.work()?;
    let (body, expected) = suite_of(&work, *items)?;

    let (end, ended) = watch::channel(false);
    let alone = async {
        tokio::time::sleep(ALONE).await;
        end.send_replace(true);
    };
    let (alone, ()) = tokio::join!(one_client(trial, &work, ended), alone);
    let alone = alone?;

    let (end, ended) = watch::channel(false);
    let results = async {
        let connection = Connection::new(trial.url, MAX_LENGTH).with_key(trial.key.clone());
        let results = if *asynchronous { as_job(connection, body).await } else { at_once(connection, body).await };
        end.send_replace(true);
        results
    };
    let (results, beside) = tokio::join!(results, one_client(trial, &work, ended));
    let (results, beside) = (results?, beside?);

    let how = if *asynchronous { "as a job" } else { "in one answer" };
    let mut report = TrialReport::new(&format!("Suite: {items} items {how}"), trial.url, runtime);
    let wrong = check(&results.lines, expected, &mut report.examples);
    let seconds = results.whole.as_secs_f64();
    report.fact("done after", format!("{seconds:.1} s: {:.1} items a second", f64::from(*items) / seconds));
    if let Some(first) = results.first {
        report.fact("first line after", format!("{:.2} s", first.as_secs_f64()));
    }
    report.fact("items without exactly one right result", wrong);
    let mut latencies = Table::of_latencies();
    latencies.latency("one client alone", alone.latency.percentiles());
    latencies.latency("one client beside the suite", beside.latency.percentiles());
    let mut counts = Table::of_counts();
    counts.counts("one client alone", &alone, ALONE.as_secs_f64());
    counts.counts("one client beside the suite", &beside, seconds);
    report.tables = vec![latencies, counts];
    report.latency(beside.latency.percentiles());
    let p99 = |tally: &Tally| tally.latency.percentiles().map(|all| all.p99);
    report.figure(TrialFigure::P99Ratio, p99(&alone).zip(p99(&beside)).map(|(alone, beside)| beside / alone));
    report.figure(TrialFigure::Seconds, seconds);
    report.figure(TrialFigure::RequestsPerSecond, f64::from(*items) / seconds);
    report.figure(TrialFigure::Wrong, (wrong as u64 + beside.wrong) as f64);
    report.figure(TrialFigure::Errors, beside.errors.values().sum::<u64>() as f64);
    report.figure(TrialFigure::Refused, beside.refused as f64);
    report.examples.extend(beside.examples.iter().cloned());
    let count = seconds.ceil() as u64;
    let rate = |timeline: &Timeline| timeline.points(count, |second| Some(second.right() as f64));
    let mut plot = Plot::new("Answers", "a second").with("one client", rate(&beside.timeline));
    if !asynchronous {
        plot = plot.with("items", rate(&results.timeline));
    }
    report.plots.push(plot);
    let p99 = beside.timeline.points(count, |second| second.quantile(0.99));
    report.plots.push(Plot::new("Latency of one client beside the suite", "ms").with("p99", p99));
    report.judge(&trial.require, &DEMANDS)
}

/// The honest work as items, round and round, and what must become of each.
fn suite_of(work: &Scenario, items: u32) -> anyhow::Result<(Bytes, HashMap<String, Expected>)> {
    let mut expected = HashMap::new();
    let items = (0..u64::from(items)).map(|number| {
        let request = work.request(number);
        let mut item: Json = serde_json::from_slice(&request.body).context("a request that was just written")?;
        let id = format!("{}#{number}", request.name);
        item["id"] = json!(id);
        expected.insert(id, request.expected.clone());
        Ok(item)
    });
    let items = items.collect::<anyhow::Result<Vec<_>>>()?;
    let body = serde_json::to_vec(&json!({"items": items})).context("writing a suite")?;
    Ok((body.into(), expected))
}

async fn at_once(mut connection: Connection, body: Bytes) -> anyhow::Result<Results> {
    let begin = Instant::now();
    let mut results = Results { lines: Vec::new(), timeline: Timeline::new(begin), first: None, whole: Duration::ZERO };
    let status = connection
        .post_streamed(SUITES, body, |piece| {
            let now = Instant::now();
            results.lines.extend_from_slice(piece);
            let lines = piece.iter().filter(|byte| **byte == b'\n').count();
            for _ in 0..lines {
                results.timeline.note(now, Moment::Right(now - begin));
                results.first.get_or_insert(now - begin);
            }
        })
        .await?;
    ensure!(status == StatusCode::OK, "the suite was answered {status}: {}", shown(&results.lines));
    results.whole = begin.elapsed();
    Ok(results)
}

async fn as_job(mut connection: Connection, body: Bytes) -> anyhow::Result<Results> {
    let begin = Instant::now();
    let accepted = connection.post(&format!("{SUITES}?async=true"), body).await?;
    ensure!(
        accepted.status == StatusCode::ACCEPTED,
        "the job was answered {}: {}",
        accepted.status,
        shown(&accepted.body)
    );
    let job: Json = serde_json::from_slice(&accepted.body).context("the job")?;
    let id = job["id"].as_str().context("the job has no id")?.to_owned();
    loop {
        tokio::time::sleep(POLL).await;
        let reply = connection.get(&format!("/v1/jobs/{id}")).await?;
        let job: Json = serde_json::from_slice(&reply.body).context("the job")?;
        let state = job["state"].as_str().with_context(|| format!("the job has no state: {}", shown(&reply.body)))?;
        if !UNFINISHED.contains(&state) {
            ensure!(state == "finished", "the job is {state:?}");
            break;
        }
    }
    let whole = begin.elapsed();
    let reply = connection.get(&format!("/v1/jobs/{id}/results")).await?;
    ensure!(reply.status == StatusCode::OK, "the results were answered {}: {}", reply.status, shown(&reply.body));
    Ok(Results { lines: reply.body.to_vec(), timeline: Timeline::new(begin), first: None, whole })
}

/// Items that have not exactly one right result, and lines of no item.
fn check(lines: &[u8], mut expected: HashMap<String, Expected>, examples: &mut Vec<String>) -> usize {
    let mut wrong = 0;
    let mut fault = |why: String| {
        wrong += 1;
        if examples.len() < MAX_EXAMPLES {
            examples.push(why);
        }
    };
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Line = match serde_json::from_slice(line) {
            Ok(line) => line,
            Err(error) => {
                fault(format!("not a line: {error}"));
                continue;
            }
        };
        let Some(id) = line.id else { continue };
        let Some(expected) = expected.remove(&id) else {
            fault(format!("{}: a second line, or one of no item", id.escape_debug()));
            continue;
        };
        let answer = serde_json::from_value::<Answer>(line.rest).map_err(|error| format!("not an answer: {error}"));
        if let Err(why) = answer.and_then(|answer| expected.check(&answer)) {
            fault(format!("{id}: {why}"));
        }
    }
    for id in expected.keys() {
        fault(format!("{id}: no line"));
    }
    wrong
}

/// Sends one request after another until it is told that it has ended.
async fn one_client(
    trial: &TrialArguments,
    work: &Arc<Scenario>,
    ended: watch::Receiver<bool>,
) -> anyhow::Result<Tally> {
    let begin = Instant::now();
    let mut tally = Tally::new(Window { begin, end: begin + MAX_LENGTH })?;
    let mut connection = Connection::new(trial.url, trial.timeout).with_key(trial.key.clone());
    let mut number = 0;
    while !*ended.borrow() {
        let request = work.request(number);
        let sent = Instant::now();
        let result = connection.post("/v1/execute", request.body.clone()).await;
        let sent = Sent { request, phase: Phase::Counted, due: sent, sent, arrived: Instant::now() };
        tally.record(&sent, result);
        number += 1;
    }
    Ok(tally)
}

fn shown(body: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&body[..body.len().min(300)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_must_have_one_right_line() {
        let line = |id: &str, passed: u64| {
            json!({"id": id, "status": if passed == 2 { "passed" } else { "failed" }, "stderr_class": "none",
                "tests_passed": passed, "tests_total": 2, "execution_seconds": 0.1, "queue_seconds": 0.0, "stdout": ""})
            .to_string()
        };
        let expected = || {
            let grades = |passed| Expected::Grades { passed, total: 2 };
            HashMap::from([("a#0".to_owned(), grades(2)), ("b#1".to_owned(), grades(1))])
        };
        let wrong = |lines: &[String]| {
            let mut examples = Vec::new();
            (check(lines.join("\n").as_bytes(), expected(), &mut examples), examples)
        };
        let report = json!({"report": {}}).to_string();
        assert_eq!(wrong(&[line("a#0", 2), line("b#1", 1), report]), (0, vec![]));
        assert_eq!(wrong(&[line("a#0", 2)]).0, 1, "one has no line");
        assert_eq!(wrong(&[line("a#0", 2), line("b#1", 1), line("b#1", 1)]).0, 1, "one has two");
        assert_eq!(wrong(&[line("a#0", 1), line("b#1", 1)]).0, 1, "one is wrong");
        assert_eq!(wrong(&[line("a#0", 2), "{".to_owned(), line("b#1", 1)]).0, 1, "one is no line");
    }
}
