//! Parts that the flavours share which run whole programs: reading requests, submissions, limits in their units, and keys
//! in URLs.
//!
//! - `cells`: cells in sessions;
//! - `detail_error`: errors of the flavours whose services say `{"detail": message}`;
//! - `failure`: failures, which each flavour says in its own words;
//! - `keep_alive`: answers that are long in coming;
//! - `socket`: WebSockets.

mod cells;
mod detail_error;
mod failure;
mod keep_alive;
mod socket;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::AppState;
use super::body::{BodyError, WholeBody};
use super::extract::Object;
use crate::service::{Execution, RequestDigest, UnansweredError};
use proofbox_types::caller::Caller;
use proofbox_types::grant::{AskedLimits, Ceiling, Limits};
use proofbox_types::program::Program;
use proofbox_types::status::{FailureClass, Status};
use proofbox_types::submission::{Grading, Submission, Tests};

pub(super) use cells::{CellError, is_out_of_time, until};
pub(super) use detail_error::DetailError;
pub(super) use failure::Failure;
pub(super) use keep_alive::{answer, answer_with};
pub(super) use socket::{GOING_AWAY, Gone, Socket};

/// Name of the policy whose limits hold: these flavours have no word for another.
pub(super) const POLICY: &str = "default";

/// Fuel that counts as a second of a program's time: about what a busy interpreter uses in one. Fuel is the same however
/// busy the machine is, and so is what it limits.
const FUEL_PER_SECOND: f64 = 15e9;

/// Longest time that a request waits for its result: far longer than any queue that is of use.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Ratio of the wall limit to the time limit: the wall limit only ends programs that fuel does not end.
const WALL_RATIO: f64 = 2.0;

/// Time that a program may take: computing, counted in fuel, and sleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeLimit(Duration);

impl TimeLimit {
    /// Makes the limit of a number of seconds from a request: the nearest that a wall clock can have.
    pub(super) fn seconds(seconds: f64) -> Self {
        Self(Duration::try_from_secs_f64(seconds.max(0.001)).unwrap_or(Duration::MAX))
    }

    /// Returns the time that is left after a part of it.
    pub(super) fn less(self, used: Duration) -> Self {
        Self(self.0.saturating_sub(used).max(Duration::from_millis(1)))
    }

    /// Returns the smaller of two limits.
    pub(super) fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Returns whether a run has used it up.
    pub(super) fn is_exceeded_by(self, execution: &Execution) -> bool {
        matches!(execution.verdict.class, FailureClass::Timeout | FailureClass::FuelExhausted)
            || time_used(execution) > self.0
    }
}

/// Returns the time that a run took as [`TimeLimit`] counts it.
pub(super) fn time_used(execution: &Execution) -> Duration {
    let slept = execution.cost.execution.saturating_sub(execution.cost.cpu);
    slept.saturating_add(Duration::from_secs_f64(execution.cost.fuel as f64 / FUEL_PER_SECOND))
}

/// End of a program, as an operating system tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The program ended with this exit code. A policy that refused it counts as a failure of it.
    Exited(i32),
    /// A signal of this number ended the program, or it exited as shells tell that.
    Signalled(i32),
    /// The program's time was over.
    OutOfTime,
    /// The program asked for more memory than it may have.
    OutOfMemory,
    /// The program wrote far more than is kept.
    TooMuchOutput,
}

impl Ending {
    /// Returns the end of a run.
    pub(super) fn of(execution: &Execution, time: TimeLimit) -> Self {
        if time.is_exceeded_by(execution) {
            return Self::OutOfTime;
        }
        match (execution.verdict.status, execution.verdict.class) {
            // What was cut can't be judged.
            _ if execution.stdout.is_truncated() => Self::TooMuchOutput,
            (Status::Ok | Status::Passed, _) => Self::Exited(0),
            (_, FailureClass::MemoryLimit) => Self::OutOfMemory,
            (_, FailureClass::OutputLimit) => Self::TooMuchOutput,
            _ => match execution.verdict.exit_code.max(1) {
                code if signal_name(code - SIGNALLED).is_some() => Self::Signalled(code - SIGNALLED),
                code => Self::Exited(code),
            },
        }
    }
}

/// Exit code of a program that a signal ended, less the signal's number.
const SIGNALLED: i32 = 128;

/// Returns the name of a signal that ends programs by themselves.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// Returns the standard error of a run, with the reason why a limit ended the program, or a policy refused it: that is
/// in no line of its own.
pub(super) fn stderr_with_reason(execution: &Execution) -> String {
    let mut stderr = execution.stderr.text();
    if let Some(error) = execution.verdict.error.as_ref().filter(|error| error.type_name.is_empty()) {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(&error.message);
        stderr.push('\n');
    }
    stderr
}

/// Limits that a request of these flavours gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProgramLimits {
    /// Time for all that the program does.
    pub time: TimeLimit,
    /// Time for computing alone, where it has a limit of its own.
    pub cpu: Option<TimeLimit>,
    /// Memory for the program's own objects, in bytes; none for the policy's default.
    pub memory_bytes: Option<u64>,
}

impl ProgramLimits {
    /// Translates to the service's limits: the nearest that the policy grants, as other services have other ranges.
    pub(super) fn within(self, ceiling: &Ceiling) -> AskedLimits {
        let Limits { fuel: most_fuel, wall: most_wall, memory_bytes: most_memory, .. } = ceiling.most;
        let Limits { fuel: least_fuel, wall: least_wall, memory_bytes: least_memory, .. } = ceiling.least;
        let seconds = self.time.0.as_secs_f64();
        // Beyond the range of u64 it is the largest number.
        let fuel = (self.cpu.map_or(seconds, |cpu| cpu.0.as_secs_f64().min(seconds)) * FUEL_PER_SECOND) as u64;
        let wall = (seconds * WALL_RATIO).clamp(least_wall.as_secs_f64(), most_wall.as_secs_f64());
        AskedLimits {
            fuel: Some(fuel.clamp(least_fuel, most_fuel)),
            wall_seconds: Some(wall),
            // The smallest memory has the interpreter in it.
            memory_bytes: self.memory_bytes.map(|own| own.saturating_add(least_memory).min(most_memory)),
            ..AskedLimits::default()
        }
    }
}

impl AppState {
    /// Translates limits of a request to those of the service.
    pub(super) fn limits_of(&self, caller: &Caller, limits: ProgramLimits) -> AskedLimits {
        // A policy that the caller may not use is refused when the submission is.
        let policies = self.service.policies.current();
        policies.pack(caller, POLICY).map_or_else(|_| AskedLimits::default(), |pack| limits.within(&pack.ceiling))
    }
}

/// A request that was read.
pub(super) struct ReadBody<T> {
    pub body: T,
    pub digest: RequestDigest,
    /// Arrival of the request.
    pub arrived: Instant,
}

/// Reads a JSON object; unknown fields are ignored, as the services do whose protocols these are.
///
/// # Errors
/// Returns an error when the body can't be taken, or is no `T`.
pub(super) async fn read<T: DeserializeOwned + Send + 'static>(request: Request) -> Result<ReadBody<T>, Failure> {
    read_as(request, Ok).await
}

/// Reads a JSON object as [`read`] does, and makes of it what `convert` does. Both are done apart from the threads that
/// serve everybody, where the body is large.
///
/// # Errors
/// Returns the errors of [`read`], and of `convert`.
pub(super) async fn read_as<T, R, E>(
    request: Request,
    convert: impl FnOnce(T) -> Result<R, E> + Send + 'static,
) -> Result<ReadBody<R>, E>
where
    T: DeserializeOwned,
    R: Send + 'static,
    E: From<Failure> + From<BodyError> + Send + 'static,
{
    let arrived = Instant::now();
    let path = request.uri().path().to_owned();
    let body = WholeBody::read(request).await?;
    body.parse(move |bytes| {
        let Object(body) = serde_json::from_slice(bytes).map_err(|error| Failure::Invalid(error.to_string()))?;
        Ok(ReadBody { body: convert(body)?, digest: digest(&path, bytes), arrived })
    })
    .await
}

/// Run of a program for a request.
pub(super) struct Run {
    pub program: Program,
    pub tests: Option<(Tests, Grading)>,
    pub limits: ProgramLimits,
    pub request: RequestDigest,
    /// Arrival of the request.
    pub arrived: Instant,
}

impl Run {
    /// Runs it, after as long in the queue as it takes.
    ///
    /// # Errors
    /// Returns an error when it is refused, or there is no result in time.
    pub(super) async fn execute(self, shared: &AppState, caller: &Caller) -> Result<Execution, UnansweredError> {
        let submission = submission(self.program, shared.limits_of(caller, self.limits), self.tests);
        shared.service.unattended.submit_until(caller, submission, self.request, self.arrived + MAX_WAIT).await
    }
}

/// Makes the submission of a program.
fn submission(program: Program, limits: AskedLimits, graded: Option<(Tests, Grading)>) -> Submission {
    let (tests, grading) = graded.unzip();
    Submission {
        program,
        code_field: "code",
        completion: None,
        tests,
        grading,
        hidden: None,
        repeat: 1,
        complexity: None,
        policy: POLICY.to_owned(),
        image: None,
        limits,
        labels: BTreeMap::new(),
        lint: false,
        receipt: None,
        canaries: Vec::new(),
    }
}

/// Identifies the sender of a request, and adds it to the extensions. A key may be the password of the URL, as many of
/// these clients are given nothing but a URL.
///
/// # Errors
/// Returns an error when the request is not served.
pub(super) fn identify(shared: &AppState, request: &mut Request) -> Result<(), Failure> {
    if shared.draining.has_begun() {
        return Err(Failure::draining());
    }
    move_key_of_url(request.headers_mut());
    let caller = shared.caller(request.headers())?;
    request.extensions_mut().insert(caller);
    Ok(())
}

/// Lets requests in: those of callers who may, while the service is up. `E` says in a flavour's words why another is
/// refused.
pub(super) async fn admit<E: From<Failure> + IntoResponse>(
    State(shared): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    match identify(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(failure) => E::from(failure).into_response(),
    }
}

/// Moves a key that is the password of the URL to where keys are.
pub(super) fn move_key_of_url(headers: &mut HeaderMap) {
    let password = |value: &HeaderValue| {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let pair = BASE64.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
        let (_, password) = std::str::from_utf8(&pair).ok()?.split_once(':')?;
        HeaderValue::from_str(&format!("Bearer {password}")).ok()
    };
    if let Some(bearer) = headers.get(header::AUTHORIZATION).and_then(password) {
        headers.insert(header::AUTHORIZATION, bearer);
    }
}

/// Returns the digest of a request's path and body.
fn digest(path: &str, body: &[u8]) -> RequestDigest {
    let hash = Sha256::new().chain_update((path.len() as u64).to_le_bytes()).chain_update(path).chain_update(body);
    RequestDigest(hash.finalize().into())
}

/// Returns the digest of a part of a request.
pub(super) fn part(RequestDigest(whole): RequestDigest, index: usize) -> RequestDigest {
    RequestDigest(Sha256::new().chain_update(whole).chain_update((index as u64).to_le_bytes()).finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_of_the_url_is_a_key() {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Basic OnBiX2tleQ=="));
        move_key_of_url(&mut headers);
        assert_eq!(headers[header::AUTHORIZATION], "Bearer pb_key");
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer other"));
        move_key_of_url(&mut headers);
        assert_eq!(headers[header::AUTHORIZATION], "Bearer other");
    }

    #[test]
    fn limits_are_the_nearest_that_the_policy_grants() {
        let limits = |fuel, seconds, memory_bytes| Limits {
            fuel,
            wall: Duration::from_secs(seconds),
            memory_bytes,
            output_bytes: 1,
            files_bytes: 1,
            files_count: 1,
        };
        let ceiling =
            Ceiling { default: limits(10, 10, 10), least: limits(1, 1, 100), most: limits(300_000_000_000, 30, 1000) };
        let asked = |seconds, memory_bytes| {
            let asked = ProgramLimits { time: TimeLimit::seconds(seconds), cpu: None, memory_bytes }.within(&ceiling);
            (asked.fuel, asked.wall_seconds, asked.memory_bytes)
        };
        assert_eq!(asked(10.0, None), (Some(150_000_000_000), Some(20.0), None));
        assert_eq!(asked(f64::INFINITY, Some(500)), (Some(300_000_000_000), Some(30.0), Some(600)));
        assert_eq!(asked(-1.0, Some(5000)), (Some(15_000_000), Some(1.0), Some(1000)));
    }

    #[test]
    fn requests_are_told_apart_by_path_body_and_part() {
        assert_eq!(digest("/a", b"b"), digest("/a", b"b"));
        assert_ne!(digest("/a", b"b"), digest("/ab", b""));
        assert_ne!(part(digest("/a", b"b"), 0), part(digest("/a", b"b"), 1));
    }
}
