//! Sessions that are made, used, saved, forked and ended, at a rate.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use hyper::{Method, StatusCode};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{Table, TrialArguments, TrialFigure, TrialReport};
use crate::connection::Connection;
use crate::latencies::Latencies;
use crate::plot::Plot;
use crate::processes::{Watch, memory_at_both_ends};
use crate::report::RuntimeOfService;
use crate::timeline::{Moment, Timeline};

/// Requirements unless the caller names others.
pub(crate) const DEMANDS: [&str; 4] = ["wrong<=0", "refused<=0", "p99<=2s", "memory_growth<=0.1"];
const MAX_EXAMPLES: usize = 5;
/// A life that is told to come again does so this often at most.
const MAX_TRIES: usize = 50;

/// Make, use, save, fork and end sessions, so many a second
///
/// One life: a session is made, given a value, saved as a checkpoint and forked; the session, its fork and another made
/// from the checkpoint must have that value; then all are ended.
#[derive(Args)]
pub(crate) struct ChurnArguments {
    #[command(flatten)]
    pub trial: TrialArguments,
    /// Lives begun a second
    #[arg(long, value_name = "R", default_value = "10", value_parser = crate::rate)]
    rate: f64,
    /// Seconds in which lives begin
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = crate::seconds_up_to_an_hour)]
    duration: Duration,
}

/// Durations of a session's life.
#[derive(Default)]
struct Life {
    steps: Vec<(&'static str, Duration)>,
    refused: u64,
}

/// # Errors
/// When nothing could be measured.
pub(crate) async fn run(arguments: &ChurnArguments, runtime: RuntimeOfService) -> anyhow::Result<TrialReport> {
    let ChurnArguments { trial, rate, duration } = arguments;
    let watch = Watch::start(trial.url)?;
    let begin = Instant::now();
    let mut timeline = Timeline::new(begin);
    let mut steps: BTreeMap<&'static str, Latencies> = BTreeMap::new();
    let (mut whole, mut wrong, mut refused, mut examples) = (Latencies::new()?, 0u64, 0, Vec::new());
    let mut lives: JoinSet<(Instant, Life, anyhow::Result<()>)> = JoinSet::new();
    let count = (duration.as_secs_f64() * rate).ceil() as u64;
    let mut begun = 0;
    let mut ended = |(due, life, result): (Instant, Life, anyhow::Result<()>)| -> anyhow::Result<()> {
        let now = Instant::now();
        refused += life.refused;
        for (name, time) in life.steps {
            match steps.get_mut(name) {
                Some(latencies) => latencies.record(time),
                None => steps.entry(name).or_insert(Latencies::new()?).record(time),
            }
        }
        match result {
            Ok(()) => {
                whole.record(now - due);
                timeline.note(now, Moment::Right(now - due));
            }
            Err(error) => {
                wrong += 1;
                timeline.note(now, Moment::Bad);
                if examples.len() < MAX_EXAMPLES {
                    examples.push(format!("{error:#}"));
                }
            }
        }
        Ok(())
    };
    while begun < count || !lives.is_empty() {
        let due = begin + Duration::from_secs_f64(begun as f64 / rate);
        tokio::select! {
            () = tokio::time::sleep_until(due.into()), if begun < count => {
                let connection = Connection::new(trial.url, trial.timeout).with_key(trial.key.clone());
                lives.spawn(async move {
                    let mut life = Life::default();
                    let result = life.live(connection, begun).await;
                    (due, life, result)
                });
                begun += 1;
            }
            Some(life) = lives.join_next() => ended(life?)?,
        }
    }
    let end = Instant::now();

    let title = format!("Session churn: {rate} lives a second for {} s", duration.as_secs_f64());
    let mut report = TrialReport::new(&title, trial.url, runtime);
    report.fact("lives", format!("{count}, {wrong} of them not as they should be"));
    report.fact("sessions", "three in each life: made, forked, made from a checkpoint");
    report.fact("refused, and asked again", refused);
    report.fact("all ended after", format!("{:.1} s", (end - begin).as_secs_f64()));
    let mut latencies = Table::of_latencies();
    latencies.latency("a whole life", whole.percentiles());
    for (name, times) in &steps {
        latencies.latency(name, times.percentiles());
    }
    report.tables = vec![latencies];
    report.latency(whole.percentiles());
    report.figure(TrialFigure::Wrong, wrong as f64);
    report.figure(TrialFigure::Refused, refused as f64);
    report.figure(TrialFigure::RequestsPerSecond, (count - wrong) as f64 / (end - begin).as_secs_f64());
    report.examples = examples;
    let samples = watch.samples();
    let memory = memory_at_both_ends(&samples, begin, begin + *duration);
    report.figure(TrialFigure::MemoryGrowth, memory.map(|(first, last)| last / first - 1.0));
    let seconds = (end - begin).as_secs();
    let line = |quantile: f64| timeline.points(seconds, |second| second.quantile(quantile));
    report.plots.push(Plot::new("A whole life", "ms").with("p50", line(0.5)).with("p99", line(0.99)));
    let memory = samples.iter().filter_map(|sample| {
        Some((sample.at.checked_duration_since(begin)?.as_secs_f64(), sample.proportional as f64 / f64::from(1 << 20)))
    });
    report.plots.push(Plot::new("Memory of the service's processes", "MiB").with("PSS", memory.collect()));
    report.judge(&trial.require, &DEMANDS)
}

impl Life {
    async fn live(&mut self, mut connection: Connection, number: u64) -> anyhow::Result<()> {
        let made = self.ask(&mut connection, "make", Method::POST, "/v1/sessions", Some(json!({}))).await?;
        let first = text(&made, "id")?;
        let code = format!("value = [{number}]\nlen(value)");
        self.execute(&mut connection, &first, &code, 1).await?;
        let saved = format!("/v1/sessions/{first}/checkpoints");
        let saved = self.ask(&mut connection, "save", Method::POST, &saved, Some(json!({}))).await?;
        let saved = text(&saved, "id")?;
        let forks = format!("/v1/sessions/{first}/fork");
        let forks = self.ask(&mut connection, "fork", Method::POST, &forks, Some(json!({"count": 1}))).await?;
        let fork = text(&forks["sessions"][0], "id")?;
        self.execute(&mut connection, &first, "value.append(0)\nlen(value)", 2).await?;
        let from = json!({"from_checkpoint": saved});
        let again =
            self.ask(&mut connection, "make from a checkpoint", Method::POST, "/v1/sessions", Some(from)).await?;
        let again = text(&again, "id")?;
        // Neither has seen what the first did later.
        for session in [&fork, &again] {
            self.execute(&mut connection, session, "value[0] * len(value)", number).await?;
        }
        for session in [first, fork, again] {
            let path = format!("/v1/sessions/{session}");
            self.ask(&mut connection, "end", Method::DELETE, &path, None).await?;
        }
        let path = format!("/v1/checkpoints/{saved}");
        self.ask(&mut connection, "forget the checkpoint", Method::DELETE, &path, None).await?;
        Ok(())
    }

    async fn execute(
        &mut self,
        connection: &mut Connection,
        session: &str,
        code: &str,
        result: u64,
    ) -> anyhow::Result<()> {
        let path = format!("/v1/sessions/{session}/execute");
        let answer = self.ask(connection, "use", Method::POST, &path, Some(json!({"code": code}))).await?;
        ensure!(
            answer["status"] == "ok" && answer["result"] == json!(result),
            "{code:?} gave {} instead of {result}: {}",
            answer["result"],
            answer["error"]
        );
        Ok(())
    }

    async fn ask(
        &mut self,
        connection: &mut Connection,
        name: &'static str,
        method: Method,
        path: &str,
        body: Option<Json>,
    ) -> anyhow::Result<Json> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let began = Instant::now();
        for _ in 0..MAX_TRIES {
            let reply = connection.call(method.clone(), path, body.clone().into()).await?;
            if reply.status == StatusCode::TOO_MANY_REQUESTS {
                self.refused += 1;
                tokio::time::sleep(Duration::from_secs(reply.retry_after.unwrap_or(1))).await;
                continue;
            }
            self.steps.push((name, began.elapsed()));
            let shown = String::from_utf8_lossy(&reply.body[..reply.body.len().min(200)]).into_owned();
            ensure!(reply.status.is_success(), "{name}: {} {shown:?}", reply.status);
            return if reply.body.is_empty() {
                Ok(Json::Null)
            } else {
                serde_json::from_slice(&reply.body).with_context(|| format!("{name}: {shown:?}"))
            };
        }
        anyhow::bail!("{name}: refused {MAX_TRIES} times")
    }
}

fn text(answer: &Json, field: &str) -> anyhow::Result<String> {
    Ok(answer[field].as_str().with_context(|| format!("the answer has no {field}"))?.to_owned())
}
