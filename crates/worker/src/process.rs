//! Worker process: the loop of its one thread, on which guests run in time slices.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::admission::WorkerAdmission;
use super::answers::Answers;
use super::protocol::{FromWorker, RunId, ToWorker, decode, encode, framing};
use super::rpc::RequestError;
use super::sessions::{EventPermits, Listener, Sessions};
use super::socket;
use super::turns::Turns;
use crate::jail;
use proofbox_runtime::image::Image;
use proofbox_runtime::session::CommandRunner;
use proofbox_runtime::{FuelSpent, InterpreterPool, run_with_commands};
use proofbox_types::hardening::{Hardened, Hardening};

/// Way to end what is under way.
enum Stop {
    /// Drops the run.
    Drop(CancellationToken),
    /// Notifies the task: a persistent interpreter must come to an end itself. The permits are those of events
    /// that the front process takes.
    Tell(CancellationToken, EventPermits),
}

/// Threads for what takes long, beside the one for guests: all there will ever be.
const THREADS_APART: usize = 2;

type Running = Arc<Mutex<HashMap<RunId, Stop>>>;

/// Serves the front process on standard input, which is a Unix socket, until that is closed.
///
/// # Errors
/// Returns an error when the image can't be loaded or the socket breaks.
pub fn main() -> anyhow::Result<()> {
    jail::begin_life();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS_APART)
        // No other can take the place of one that ends.
        .thread_keep_alive(Duration::from_secs(u64::from(u32::MAX)))
        // A turn of a guest takes about a millisecond, so between turns there is always time to look at the socket.
        .event_interval(1)
        .build()?;
    runtime.block_on(serve())
}

/// Does what takes rights, then gives them up: no guest has run yet.
async fn prepared(pool: InterpreterPool, hardening: Hardening) -> anyhow::Result<(Arc<InterpreterPool>, Hardened)> {
    proofbox_runtime::open_all(&pool).await?;
    let sandboxed = jail::begin_worker(hardening)?;
    // Each waits for the others, so that there is one thread for each.
    let barrier = Arc::new(Barrier::new(THREADS_APART));
    let threads = std::iter::repeat_with(|| {
        let barrier = Arc::clone(&barrier);
        tokio::task::spawn_blocking(move || {
            barrier.wait();
        })
    });
    futures_util::future::try_join_all(threads.take(THREADS_APART).collect::<Vec<_>>()).await?;
    Ok((Arc::new(pool), sandboxed.finish()?))
}

/// Checks that all files are still what they were. Compiled code that several images have is looked at once.
fn verify(images: &mut [Image]) -> anyhow::Result<()> {
    let mut compiled = BTreeSet::new();
    for image in images {
        let first = compiled.insert(image.compiled.clone());
        let verified = if first { image.verify() } else { image.verify_packages() };
        verified.with_context(|| format!("the image {}", image.image_hash))?;
    }
    Ok(())
}

/// The output of a future; Err when it panicked: whoever waits for it must hear of that. What it said is on standard
/// error.
async fn catch_panic<T>(future: impl Future<Output = T>) -> Result<T, String> {
    // What the future had is dropped with it; what it shares with others has locks, which tell of a panic.
    let caught = AssertUnwindSafe(future).catch_unwind().await;
    caught.map_err(|_| "a task of the worker panicked".to_owned())
}

async fn serve() -> anyhow::Result<()> {
    let descriptor = std::io::stdin().as_fd().try_clone_to_owned()?;
    let turns = Turns::open(std::io::stdout().as_fd().try_clone_to_owned()?)
        .context("standard output is not the front process's page of turns")?;
    let (reader, writer) =
        socket::split(UnixStream::from(descriptor)).context("standard input is not the front process's socket")?;
    let mut incoming = FramedRead::new(reader, framing());
    let mut outgoing = FramedWrite::new(writer, framing());

    let first = incoming.next().await.context("the front process said nothing")??;
    let ToWorker::Start { mut images, wheels, slots, session_slots, memory_bytes, hardening } = decode(&first)? else {
        anyhow::bail!("the first frame must be Start")
    };
    let loaded = verify(&mut images).and_then(|()| {
        InterpreterPool::new(
            &images.iter().map(Image::pool_files).collect::<Vec<_>>(),
            wheels.as_deref(),
            slots,
            session_slots,
            memory_bytes,
        )
        .map_err(|error| anyhow::anyhow!("loading the image: {error:#}"))
    });
    let prepared = match loaded {
        Ok(pool) => prepared(pool, hardening).await,
        Err(error) => Err(error),
    };
    let (pool, hardened) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            outgoing.send(encode(&FromWorker::Unfit { reason: format!("{error:#}") })).await?;
            return Err(error);
        }
    };

    let (answers, queue) = mpsc::unbounded_channel::<FromWorker>();
    let mut queue = Answers::new(queue);
    let interpreters = Arc::clone(&pool);
    let writer = tokio::spawn(async move {
        while let Some(answer) = queue.recv().await {
            if outgoing.send(encode(&answer)).await.is_err() {
                return;
            }
            if queue.is_empty() && interpreters.has_used() {
                // Nobody waits for a reset, but the front process for the answer, and perhaps for this very core.
                std::thread::yield_now();
            }
            while queue.is_empty() && interpreters.reset_used() {
                tokio::task::yield_now().await;
            }
        }
    });
    answers.send(FromWorker::Ready { hardened })?;
    let running = Running::default();
    // The front process spreads runs evenly; when a worker is missing, those that are left get more than they hold.
    let free = Arc::new(Semaphore::new(slots as usize));
    let admission = WorkerAdmission::new(answers.clone());
    let sessions = Sessions::new(Arc::clone(&pool), admission.clone());
    while let Some(frame) = incoming.next().await {
        match decode(&frame?)? {
            ToWorker::Start { .. } => anyhow::bail!("started twice"),
            ToWorker::Ping => {
                answers.send(FromWorker::Pong { live: u32::try_from(pool.live()).unwrap_or(u32::MAX) })?;
            }
            ToWorker::InterpreterAdmitted { ticket, admitted } => admission.answer(ticket, admitted),
            ToWorker::Cancel { id } => match running.lock().expect("no holder panics").remove(&id) {
                Some(Stop::Drop(cancelled) | Stop::Tell(cancelled, _)) => cancelled.cancel(),
                None => {}
            },
            ToWorker::More { id } => {
                if let Some(Stop::Tell(_, permits)) = running.lock().expect("no holder panics").get(&id) {
                    permits.add_permits(1);
                }
            }
            ToWorker::Request { id, session, request } => {
                let (sessions, answers, done, turns) =
                    (sessions.clone(), answers.clone(), Arc::clone(&running), turns.clone());
                let cancelled = CancellationToken::new();
                let events = {
                    let answers = answers.clone();
                    Arc::new(move |event| drop(answers.send(FromWorker::Event { id, event })))
                };
                let permits = EventPermits::new(Semaphore::new(0));
                let stop = Stop::Tell(cancelled.clone(), Arc::clone(&permits));
                running.lock().expect("no holder panics").insert(id, stop);
                tokio::spawn(async move {
                    // In a box, as each future around it has room for it, some more than once.
                    let answer = Box::pin(sessions.handle(session, request, Listener { events, permits }, cancelled));
                    let answer = turns.during(id, sessions.counted(session, answer));
                    let result = catch_panic(answer).await.unwrap_or_else(|panic| Err(RequestError::Failed(panic)));
                    done.lock().expect("no holder panics").remove(&id);
                    let _ = answers.send(FromWorker::Answered { id, result });
                });
            }
            ToWorker::Run { id, program, limits } => {
                let (pool, answers, done, free, turns) =
                    (Arc::clone(&pool), answers.clone(), Arc::clone(&running), Arc::clone(&free), turns.clone());
                let commands = sessions.commands_of_run(id);
                let cancelled = CancellationToken::new();
                running.lock().expect("no holder panics").insert(id, Stop::Drop(cancelled.clone()));
                tokio::spawn(async move {
                    let arrived = Instant::now();
                    let spent = FuelSpent::default();
                    let runner: Arc<dyn CommandRunner> = commands.commands();
                    let run = async {
                        // Tests of their own interpreter need a second one.
                        let _slot = free.acquire_many(if program.isolated { 2 } else { 1 }).await;
                        let waited = arrived.elapsed();
                        let program = Arc::unwrap_or_clone(program);
                        let run = Box::pin(run_with_commands(&pool, &runner, program, &limits, &spent));
                        let run = turns.during(id, async { run.await.map_err(|error| error.to_string()) });
                        let mut result = catch_panic(run).await.and_then(|result| result.map(Box::new));
                        if let Ok(outcome) = &mut result {
                            outcome.usage.waiting += waited;
                        }
                        result
                    };
                    let ended = cancelled.run_until_cancelled(run).await;
                    let answer = match ended {
                        Some(result) => FromWorker::Done { id, result },
                        None => {
                            runner.end_jobs().await;
                            FromWorker::Cancelled { id, fuel: spent.total() }
                        }
                    };
                    drop(commands);
                    done.lock().expect("no holder panics").remove(&id);
                    // The writer is gone only when the front process is, and then so are we.
                    let _ = answers.send(answer);
                });
            }
        }
    }
    // Nobody is left to answer to: what runs is of no use to anybody.
    writer.abort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        assert_eq!(catch_panic(async { 3 }).await, Ok(3));
        let panics = async {
            tokio::task::yield_now().await;
            panic!("on purpose")
        };
        assert!(catch_panic::<()>(panics).await.is_err());
    }
}
