//! `GET /connect`: a program whose input and output go over a WebSocket while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Utf8Bytes, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use proofbox_memory::Next;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::error::PistonError;
use super::execute::{ExecuteRequest, most, program_of};
use super::{LANGUAGE, python};
use crate::http::AppState;
use crate::http::body::BodyReader;
use crate::http::output::{Running, TextPieces};
use crate::http::programs::{Failure, GOING_AWAY, Gone, ProgramLimits, Socket, until};
use crate::service::{
    CommandAsked, CommandEnd, CommandEvent, CommandEvents, OwnedSession, SessionAsked, overflow_note, script_of_words,
};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::program::{File, Program};
use proofbox_types::session::{Command, Signal, Stdin};
use proofbox_types::status::FailureClass;

/// Time in which a client must say what is to be run.
const MAX_SILENCE: Duration = Duration::from_secs(1);
/// Longest time that a program waits before it starts.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Lifetime of a session that is not used: it ends by itself when it could not be ended.
const IDLE: Duration = Duration::from_secs(60);
/// Pieces of input that may wait, and their bytes.
const MAX_INPUTS: usize = 64;
const MAX_INPUT_BYTES: usize = 1 << 20;
/// File of a program that has no name of its own.
const MAIN: &str = "main.py";

/// Code and reason of the end of a connection.
type Close = (u16, &'static str);

const DONE: Close = (4999, "Job Completed");
const TWICE: Close = (4000, "Already Initialized");
const SILENT: Close = (4001, "Initialization Timeout");
const NOTIFIED: Close = (4002, "Notified Error");
const TOO_EARLY: Close = (4003, "Not yet initialized");
const ONLY_STDIN: Close = (4004, "Can only write to stdin");
const NO_SIGNAL: Close = (4005, "Invalid signal");

/// Message of a client.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Said {
    Init(Box<ExecuteRequest>),
    Data {
        #[serde(default)]
        stream: String,
        #[serde(default)]
        data: String,
    },
    Signal {
        #[serde(default)]
        signal: String,
    },
    #[serde(other)]
    Other,
}

/// End of a conversation that has no result.
enum Ended {
    Gone,
    Close(Close),
    /// An error that the client is told of.
    Error(PistonError),
}

impl From<Gone> for Ended {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl<E: Into<PistonError>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Begins a conversation.
pub(super) async fn connect(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    upgrade: WebSocketUpgrade,
    parts: Parts,
) -> Response {
    let reader = match BodyReader::of(&parts.extensions) {
        Ok(reader) => reader,
        Err(error) => return PistonError::from(error).into_response(),
    };
    Socket::open(upgrade, &parts, move |mut socket| async move {
        let mut conversation = Conversation { shared: &shared, caller: &caller, reader, socket: &mut socket };
        let ran = tokio::select! {
            ran = conversation.run() => ran,
            () = shared.draining.ending() => Err(Ended::Close(GOING_AWAY)),
        };
        let close = match ran {
            Ok(()) => DONE,
            Err(Ended::Gone) => return,
            Err(Ended::Close(close)) => close,
            Err(Ended::Error(error)) => {
                let _ = socket.send(&json!({"type": "error", "message": error.message()})).await;
                NOTIFIED
            }
        };
        socket.close(close.0, close.1).await;
    })
}

struct Conversation<'a> {
    shared: &'a AppState,
    caller: &'a Caller,
    reader: BodyReader,
    socket: &'a mut Socket,
}

impl Conversation<'_> {
    async fn run(&mut self) -> Result<(), Ended> {
        let draining = self.shared.draining.clone();
        let asked = tokio::select! {
            asked = timeout(MAX_SILENCE, self.init()) => asked.unwrap_or(Err(Ended::Close(SILENT)))?,
            () = draining.begun() => return Err(Ended::Close(GOING_AWAY)),
        };
        let (program, limits) = program_of(python(self.shared), most(self.shared, self.caller).as_ref(), asked)?;
        let mut waiting = Vec::new();
        let session = self.open(&program, limits, &mut waiting).await?;
        let ran = self.talk(session.id(), program, waiting).await;
        session.end().await;
        ran
    }

    /// Reads a message. It has been taken from the socket: dropping this loses it.
    fn read(&self, text: Utf8Bytes) -> impl Future<Output = Result<Said, Ended>> + Send + use<> {
        let reader = self.reader.for_message();
        let read = |text: &[u8]| serde_json::from_slice(text).map_err(|error| PistonError::bad(error.to_string()));
        async move { Ok(reader.parse(Bytes::from(text), read).await?) }
    }

    async fn init(&mut self) -> Result<ExecuteRequest, Ended> {
        loop {
            let text = self.socket.next().await?;
            match self.read(text).await? {
                Said::Init(asked) => return Ok(*asked),
                Said::Data { .. } | Said::Signal { .. } => return Err(Ended::Close(TOO_EARLY)),
                Said::Other => {}
            }
        }
    }

    /// Opens a session for a program, as soon as there is room. Input that comes meanwhile is kept.
    async fn open(
        &mut self,
        program: &Program,
        limits: ProgramLimits,
        waiting: &mut Vec<Bytes>,
    ) -> Result<OwnedSession, Ended> {
        let asked = SessionAsked {
            caller: self.caller.clone(),
            limits: self.shared.limits_of(self.caller, limits),
            files: files_with_source(program),
            ttl: Some(MAX_WAIT + IDLE),
            idle: Some(IDLE),
            ..SessionAsked::default()
        };
        let sessions = Arc::clone(&self.shared.service.sessions);
        let open = until(Instant::now() + MAX_WAIT, || sessions.open_owned(asked.clone()));
        let mut open = std::pin::pin!(open);
        loop {
            tokio::select! {
                opened = &mut open => return Ok(opened?),
                text = self.socket.next() => match self.read(text?).await? {
                    Said::Data { stream, data } if stream == "stdin" && has_room(waiting, &data) => {
                        waiting.push(data.into());
                    }
                    said => check(said)?,
                },
            }
        }
    }

    /// Runs a program, and carries its input and output.
    async fn talk(&mut self, session: SessionId, program: Program, waiting: Vec<Bytes>) -> Result<(), Ended> {
        let version = python(self.shared).to_owned();
        self.socket.send(&json!({"type": "runtime", "language": LANGUAGE, "version": version})).await?;
        self.socket.send(&json!({"type": "stage", "stage": "run"})).await?;
        let main = source_name(&program);
        let words = ["python3", &*main].into_iter().chain(program.args.iter().map(String::as_str));
        let command = Command { script: script_of_words(words), stdin: Stdin::Open, ..Command::default() };
        let asked = CommandAsked { command, ..CommandAsked::default() };
        let sessions = &self.shared.service.sessions;
        let (command, events) =
            until(Instant::now() + MAX_WAIT, || sessions.start_command(session, asked.clone())).await?;
        let running = Running(Arc::clone(&command));
        let (sender, mut inputs) = mpsc::channel(MAX_INPUTS);
        let inputs_held = Arc::new(AtomicUsize::new(0));
        let sender = Inputs { sender, held: Arc::clone(&inputs_held) };
        for data in waiting {
            let _ = sender.send(data);
        }
        // Input waits until the program reads it, and output must not.
        let feed = {
            let (sessions, command) = (Arc::clone(sessions), Arc::clone(&command));
            async move {
                while let Some(input) = inputs.recv().await {
                    let length = input.len();
                    // What a program that has ended is told is nobody's.
                    let _ = sessions.command_input(session, &command, Some(input)).await;
                    inputs_held.fetch_sub(length, Ordering::Relaxed);
                }
            }
        };
        let _feed = AbortOnDropHandle::new(tokio::spawn(feed));
        let end = self.carry(&running, events, sender).await?;
        self.exit(end).await
    }

    async fn carry(
        &mut self,
        running: &Running,
        mut events: CommandEvents,
        inputs: Inputs,
    ) -> Result<CommandEnd, Ended> {
        let (mut stdout, mut stderr) = (TextPieces::default(), TextPieces::default());
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(Next::Piece(CommandEvent::Stdout(bytes))) => self.data("stdout", stdout.push(&bytes)).await?,
                    Some(Next::Piece(CommandEvent::Stderr(bytes))) => self.data("stderr", stderr.push(&bytes)).await?,
                    Some(Next::Overflow(bytes)) => self.data("stderr", overflow_note(bytes)).await?,
                    Some(Next::Piece(CommandEvent::Ended(end))) => {
                        self.data("stdout", stdout.end()).await?;
                        self.data("stderr", stderr.end()).await?;
                        return Ok(end);
                    }
                    None => return Ok(CommandEnd::SessionEnded),
                },
                text = self.socket.next() => match self.read(text?).await? {
                    Said::Data { stream, data } if stream == "stdin" => inputs.send(data.into())?,
                    Said::Signal { signal } => match signal_named(&signal) {
                        Some(Some(signal)) => running.0.kill(signal),
                        // Piston passes none on.
                        Some(None) => {}
                        None => return Err(Ended::Close(NO_SIGNAL)),
                    },
                    said => check(said)?,
                },
            }
        }
    }

    async fn data(&mut self, stream: &str, text: String) -> Result<(), Gone> {
        if text.is_empty() {
            return Ok(());
        }
        self.socket.send(&json!({"type": "data", "stream": stream, "data": text})).await
    }

    async fn exit(&mut self, end: CommandEnd) -> Result<(), Ended> {
        let (code, signal) = match end {
            CommandEnd::Exited(outcome) => match outcome.class {
                FailureClass::Timeout
                | FailureClass::FuelExhausted
                | FailureClass::MemoryLimit
                | FailureClass::OutputLimit => (None, Some(Signal::Kill)),
                _ => (Some(outcome.exit_code), None),
            },
            CommandEnd::Killed(signal) => (None, Some(signal)),
            CommandEnd::SessionEnded | CommandEnd::Failed(_) => {
                return Err(Failure::Late("the service failed; send this again".to_owned()).into());
            }
        };
        let signal = signal.map(Signal::as_str);
        self.socket.send(&json!({"type": "exit", "stage": "run", "code": code, "signal": signal})).await?;
        Ok(())
    }
}

/// Input that waits until the program reads it, and how many bytes it has.
struct Inputs {
    sender: mpsc::Sender<Bytes>,
    held: Arc<AtomicUsize>,
}

impl Inputs {
    fn send(&self, data: Bytes) -> Result<(), PistonError> {
        let full = || PistonError::bad("the program does not read its input");
        let length = data.len();
        if self.held.load(Ordering::Relaxed) + length > MAX_INPUT_BYTES {
            return Err(full());
        }
        self.held.fetch_add(length, Ordering::Relaxed);
        self.sender.try_send(data).map_err(|_| full())
    }
}

/// Returns whether a further piece of input may wait.
fn has_room(waiting: &[Bytes], data: &str) -> bool {
    let held: usize = waiting.iter().map(Bytes::len).sum();
    waiting.len() < MAX_INPUTS && held + data.len() <= MAX_INPUT_BYTES
}

/// Checks a message that is no input for the program's standard input.
fn check(said: Said) -> Result<(), Ended> {
    match said {
        Said::Init(_) => Err(Ended::Close(TWICE)),
        Said::Data { stream, .. } if stream == "stdin" => Err(PistonError::bad("there is too much input").into()),
        Said::Data { .. } => Err(Ended::Close(ONLY_STDIN)),
        Said::Signal { signal } => signal_named(&signal).map(|_| ()).ok_or(Ended::Close(NO_SIGNAL)),
        Said::Other => Ok(()),
    }
}

/// Returns the signal of a name, if a program can be sent it; none where there is no such signal.
fn signal_named(name: &str) -> Option<Option<Signal>> {
    const OTHERS: [&str; 33] = [
        "SIGABRT",
        "SIGALRM",
        "SIGBUS",
        "SIGCHLD",
        "SIGCLD",
        "SIGCONT",
        "SIGEMT",
        "SIGFPE",
        "SIGHUP",
        "SIGILL",
        "SIGINFO",
        "SIGIO",
        "SIGIOT",
        "SIGLOST",
        "SIGPIPE",
        "SIGPOLL",
        "SIGPROF",
        "SIGPWR",
        "SIGQUIT",
        "SIGSEGV",
        "SIGSTKFLT",
        "SIGSYS",
        "SIGTRAP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGUNUSED",
        "SIGURG",
        "SIGUSR1",
        "SIGUSR2",
        "SIGVTALRM",
        "SIGXCPU",
        "SIGXFSZ",
    ];
    match name {
        "SIGINT" => Some(Some(Signal::Interrupt)),
        "SIGTERM" => Some(Some(Signal::Terminate)),
        "SIGKILL" => Some(Some(Signal::Kill)),
        "SIGWINCH" => Some(None),
        _ => OTHERS.contains(&name).then_some(None),
    }
}

/// Returns the name of a program's source, which none of its files has.
fn source_name(program: &Program) -> String {
    let is_taken = |name: &str| program.files.iter().any(|file| file.path.trim_start_matches("./") == name);
    let others = (1..).map(|number| format!("main_{number}.py"));
    std::iter::once(MAIN.to_owned()).chain(others).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Returns the files of a session in which a program runs: its own, and its source.
fn files_with_source(program: &Program) -> Vec<File> {
    let mut files = program.files.clone();
    files.push(File { path: source_name(program), content: program.code.clone().into_bytes() });
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_that_waits_is_bounded() {
        let waiting = vec![Bytes::from(vec![b'x'; MAX_INPUT_BYTES - 1])];
        assert!(has_room(&waiting, "y") && !has_room(&waiting, "yy"));
        let (sender, _receiver) = mpsc::channel(MAX_INPUTS);
        let inputs = Inputs { sender, held: Arc::default() };
        assert!(inputs.send(waiting[0].clone()).is_ok() && inputs.send(Bytes::from("yy")).is_err());
    }

    #[test]
    fn a_source_takes_the_name_of_no_file() {
        let file = |path: &str| File { path: path.to_owned(), content: Vec::new() };
        let program = Program { files: vec![file("main.py"), file("./main_1.py")], ..Program::default() };
        assert_eq!(source_name(&program), "main_2.py");
    }

    #[test]
    fn signals_are_told_apart_from_what_is_none() {
        assert_eq!(signal_named("SIGINT"), Some(Some(Signal::Interrupt)));
        assert_eq!(signal_named("SIGUSR1"), Some(None));
        assert_eq!(signal_named("9"), None);
    }
}
