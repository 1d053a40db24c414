//! The same snippet run in several ways, in turn, so that whatever else the machine does meets all of them.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hyper::StatusCode;

use crate::answer::Answer;
use crate::connection::{Connection, Reply};
use crate::latencies::Latencies;
use crate::native::{ForkServer, Subprocess};
use crate::request::ExecuteRequest;

/// The first rounds fill caches; they are not counted.
const WARMUP_ROUNDS: u64 = 5;

/// Contender: a way to run a snippet.
pub(crate) enum Contender {
    /// Request over a connection that is kept alive.
    Http(Box<HttpClient>),
    Subprocess(Subprocess),
    Fork(Box<ForkServer>),
}

impl Contender {
    /// One run; its answer is checked.
    ///
    /// # Errors
    /// When it fails, or gives a wrong answer: there is nothing to compare then.
    async fn run(&mut self) -> anyhow::Result<Duration> {
        match self {
            Self::Http(client) => client.run().await,
            Self::Subprocess(subprocess) => subprocess.run().await,
            Self::Fork(server) => server.run().await,
        }
    }
}

/// The one client of the service.
pub(crate) struct HttpClient {
    pub connection: Connection,
    pub request: ExecuteRequest,
}

impl HttpClient {
    async fn run(&mut self) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let Reply { status, body, .. } = self.connection.post("/v1/execute", self.request.body.clone()).await?;
        let elapsed = begin.elapsed();
        if status != StatusCode::OK {
            bail!("the service answered {status}");
        }
        let answer: Answer = serde_json::from_slice(&body).context("the service's answer")?;
        match self.request.expected.check(&answer) {
            Ok(()) => Ok(elapsed),
            Err(why) => bail!("the service's answer is wrong: {why}"),
        }
    }
}

/// Times of a contender.
pub(crate) struct Times {
    pub name: String,
    pub latencies: Latencies,
}

/// Number of runs of each contender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// Number of runs that are counted.
    pub rounds: u64,
    /// Of one contender, before it is the next one's turn.
    pub runs_in_a_row: u64,
}

/// Runs all rounds.
///
/// # Errors
/// At the first run that fails.
pub(crate) async fn run(contenders: Vec<(String, Contender)>, rounds: Rounds) -> anyhow::Result<Vec<Times>> {
    let mut field = Vec::new();
    for (name, contender) in contenders {
        field.push((contender, Times { name, latencies: Latencies::new()? }));
    }
    for round in 0..WARMUP_ROUNDS + rounds.rounds {
        for (contender, times) in &mut field {
            for _ in 0..rounds.runs_in_a_row {
                let elapsed = contender.run().await.with_context(|| format!("round {}, {}", round + 1, times.name))?;
                if round >= WARMUP_ROUNDS {
                    times.latencies.record(elapsed);
                }
            }
        }
    }
    Ok(field.into_iter().map(|(_, times)| times).collect())
}
