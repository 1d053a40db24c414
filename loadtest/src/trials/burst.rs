//! Nothing, and then very many requests at once.

use std::time::{Duration, Instant};

use clap::Args;
use hyper::StatusCode;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{Arc, Scenario, Table, TrialArguments, TrialFigure, TrialReport};
use crate::connection::{Connection, ConnectionError, Reply};
use crate::plot::Plot;
use crate::report::RuntimeOfService;
use crate::tally::{Phase, Sent, Tally, Window};

/// Requirements unless the caller names others.
pub(crate) const DEMANDS: [&str; 5] =
    ["wrong<=0", "errors<=0", "other_statuses<=0", "without_retry_after<=0", "seconds<=60"];
/// Of silence, before.
const IDLE: Duration = Duration::from_secs(2);
/// Who is told to wait comes again so often at most.
const MAX_TRIES: u32 = 100;

/// Send very many requests at once to an idle service
///
/// Who is refused comes again after the time that the service names, until all are answered.
#[derive(Args)]
pub(crate) struct BurstArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// Requests, each on a connection of its own, which is open before
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u16).range(1..=16_384))]
    requests: u16,
}

/// Outcome of a request.
struct Outcome {
    /// Each try: when it was sent, when the answer came, and which.
    tries: Vec<(Instant, Instant, Result<Reply, ConnectionError>)>,
    number: u64,
}

/// # Errors
/// When nothing could be measured.
pub(crate) async fn run(arguments: &BurstArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let BurstArguments { trial, requests } = arguments;
    let work = trial.work()?;
    let barrier = Arc::new(Barrier::new(usize::from(*requests) + 1));
    let mut clients = JoinSet::new();
    for number in 0..u64::from(*requests) {
        let connection = Connection::new(trial.url, trial.timeout).with_key(trial.key.clone());
        clients.spawn(client(connection, Arc::clone(&work), number, Arc::clone(&barrier)));
    }
    barrier.wait().await;
    tokio::time::sleep(IDLE).await;
    let begin = Instant::now();
    barrier.wait().await;

    let window = Window { begin, end: begin + trial.timeout * MAX_TRIES };
    let (mut first, mut last) = (Tally::new(window)?, Tally::new(window)?);
    let (mut first_answered, mut all_answered) = (begin, begin);
    let (mut tries, mut right_at_once) = (0, 0);
    while let Some(outcome) = clients.join_next().await {
        let Outcome { tries: all, number } = outcome?;
        tries += all.len();
        right_at_once += usize::from(all.len() == 1);
        let count = all.len();
        for (index, (sent, arrived, result)) in all.into_iter().enumerate() {
            let sent = Sent { request: work.request(number), phase: Phase::Counted, due: begin, sent, arrived };
            all_answered = all_answered.max(arrived);
            if index == 0 {
                first_answered = first_answered.max(arrived);
            }
            let tally = if index == 0 && count > 1 { &mut first } else { &mut last };
            tally.record(&sent, result);
        }
    }

    let mut report = TrialReport::new(&format!("Burst: {requests} requests at once"), trial.url, runtime);
    report.fact("work", "as in the other trials, graded in isolation");
    report.fact("each has an answer, perhaps 429, after", format!("{:.2} s", (first_answered - begin).as_secs_f64()));
    report.fact("each has its result after", format!("{:.2} s", (all_answered - begin).as_secs_f64()));
    report.fact("taken at the first try", right_at_once);
    report.fact("refused, and sent again as Retry-After says", first.refused + last.refused);
    report.fact("requests in all", tries);
    let longest = first.longest_retry_after.max(last.longest_retry_after);
    report.fact("Retry-After", format!("up to {longest} s"));
    let mut latencies = Table::of_latencies();
    latencies.latency("from the burst to the result", last.accepted.percentiles());
    latencies.latency("reported queue", last.queue.percentiles());
    latencies.latency("reported execution", last.execution.percentiles());
    report.latency(last.accepted.percentiles());
    let seconds = (all_answered - begin).as_secs_f64();
    let count = seconds.ceil() as u64;
    report.plots.push(
        Plot::new("Answers", "a second")
            .with("right", last.timeline.points(count, |second| Some(second.right() as f64)))
            .with("refused", first.timeline.points(count, |second| Some(second.refused as f64))),
    );
    last.absorb(first);
    let mut counts = Table::of_counts();
    counts.counts("all", &last, seconds);
    report.tables = vec![latencies, counts];
    report.faults(&last);
    let other = last.statuses.iter().filter(|(status, _)| !matches!(status, 200 | 429)).map(|(_, count)| *count);
    report.figure(TrialFigure::OtherStatuses, other.sum::<u64>() as f64);
    report.figure(TrialFigure::WithoutRetryAfter, last.without_retry_after as f64);
    report.figure(TrialFigure::RequestsPerSecond, last.right_within() as f64 / seconds);
    report.figure(TrialFigure::Seconds, seconds);
    report.judge(&trial.require, &DEMANDS)
}

async fn client(mut connection: Connection, work: Arc<Scenario>, number: u64, barrier: Arc<Barrier>) -> Outcome {
    // Opens the connection; if that fails, so does the request.
    let _ = connection.get("/healthz").await;
    barrier.wait().await;
    barrier.wait().await;
    let mut tries = Vec::new();
    loop {
        let sent = Instant::now();
        let result = connection.post("/v1/execute", work.request(number).body.clone()).await;
        let again = match &result {
            Ok(reply) if reply.status == StatusCode::TOO_MANY_REQUESTS => reply.retry_after,
            _ => None,
        };
        tries.push((sent, Instant::now(), result));
        match again {
            Some(seconds) if (tries.len() as u32) < MAX_TRIES => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            _ => return Outcome { tries, number },
        }
    }
}
