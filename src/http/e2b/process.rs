//! `process.Process`: the service that runs commands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connect::{self, Messages};
use super::entries::PathBase;
use super::error::{E2bError, Kind};
use super::users::user_of;
use super::{E2b, control};
use crate::service::{
    CommandAsked, CommandEnd, CommandEvent, CommandEvents, SessionCommand, SessionError, SessionInfo, overflow_note,
    script_of_words,
};
use proofbox_memory::Next;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Command, Signal, Stdin, TerminalSize};

/// Program that clients start: every command is a script for it.
const SHELL: &str = "/bin/bash";

#[derive(Deserialize)]
struct StartRequest {
    process: ProcessConfig,
    #[serde(default)]
    pty: Option<Pty>,
    #[serde(default)]
    tag: Option<String>,
    #[serde(default)]
    stdin: Option<bool>,
}

/// A terminal, with its size.
#[derive(Deserialize)]
struct Pty {
    #[serde(default)]
    size: PtySize,
}

#[derive(Deserialize)]
struct PtySize {
    cols: u16,
    rows: u16,
}

impl Default for PtySize {
    fn default() -> Self {
        Self { cols: 80, rows: 24 }
    }
}

impl From<PtySize> for TerminalSize {
    fn from(PtySize { cols, rows }: PtySize) -> Self {
        Self { columns: cols, rows }
    }
}

#[derive(Deserialize)]
struct ProcessConfig {
    #[serde(default)]
    cmd: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    envs: BTreeMap<String, String>,
    #[serde(default)]
    cwd: Option<String>,
}

/// Selector of a command: by its number, or by the name that a client gave it.
#[derive(Default, Deserialize)]
struct Selector {
    #[serde(default)]
    pid: Option<u32>,
    #[serde(default)]
    tag: Option<String>,
}

#[derive(Deserialize)]
struct Selected {
    #[serde(default)]
    process: Selector,
    #[serde(default)]
    signal: Option<Value>,
    #[serde(default)]
    input: Option<Input>,
    #[serde(default)]
    pty: Option<Pty>,
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    pty: Option<String>,
}

/// A message of `StreamInput`.
#[derive(Deserialize)]
struct StreamedInput {
    #[serde(default)]
    start: Option<StreamStart>,
    #[serde(default)]
    data: Option<StreamData>,
}

#[derive(Deserialize)]
struct StreamStart {
    #[serde(default)]
    process: Selector,
}

#[derive(Deserialize)]
struct StreamData {
    #[serde(default)]
    input: Option<Input>,
}

/// Serves a call of the `Process` service.
pub(super) async fn call(State(e2b): State<E2b>, Path(method): Path<String>, request: Request) -> Response {
    let is_stream = connect::is_stream(request.headers());
    match answered(&e2b, &method, request).await {
        Ok(response) => response,
        Err(error) if is_stream => connect::failed(&error),
        Err(error) => error.into_connect(),
    }
}

async fn answered(e2b: &E2b, method: &str, request: Request) -> Result<Response, E2bError> {
    let info = e2b.own_sandbox(request.headers(), request.uri())?;
    let id = info.id;
    match method {
        "Start" => return start(e2b, &info, request).await,
        "Connect" => return join(e2b, id, request).await,
        "StreamInput" => return stream_input(e2b, id, request).await,
        _ => {}
    }
    let deadline = connect::deadline(request.headers())?;
    let answer = async {
        match method {
            "List" => list(e2b, id),
            "SendInput" => send_input(e2b, id, request).await,
            "CloseStdin" => close_input(e2b, id, request).await,
            "SendSignal" => send_signal(e2b, id, request).await,
            "Update" => update(e2b, id, request).await,
            _ => Err(E2bError::new(Kind::Unimplemented, "process.Process has no such method")),
        }
    };
    connect::answer(deadline, answer).await
}

fn no_terminal() -> E2bError {
    E2bError::new(Kind::Bad, "the process has no terminal")
}

impl E2b {
    /// Finds the running command that a selector means.
    fn command(&self, id: SessionId, selector: &Selector) -> Result<Arc<SessionCommand>, E2bError> {
        let unknown = || E2bError::new(Kind::NotFound, "there is no such process");
        let of_sandbox = |error| E2bError::of_sandbox(&id.simple(), error);
        match (selector.pid, &selector.tag) {
            (Some(pid), _) => match self.shared.service.sessions.command(id, pid) {
                Err(SessionError::Refused(_)) => Err(unknown()),
                Ok(command) if !command.is_running() => Err(unknown()),
                other => other.map_err(of_sandbox),
            },
            (None, Some(tag)) => {
                let commands = self.shared.service.sessions.commands(id).map_err(of_sandbox)?;
                let is_meant = |command: &Arc<SessionCommand>| command.is_running() && command.tag() == Some(tag);
                commands.into_iter().find(is_meant).ok_or_else(unknown)
            }
            (None, None) => Err(E2bError::new(Kind::Bad, "which process? Give pid or tag")),
        }
    }
}

/// Answers `Start` by starting a command and streaming its events. The command goes on when the client disconnects,
/// until its time is over.
async fn start(e2b: &E2b, info: &SessionInfo, request: Request) -> Result<Response, E2bError> {
    let id = info.id;
    let user = user_of(request.headers())?;
    let keep_alive = connect::keep_alive(request.headers());
    let deadline = connect::deadline(request.headers())?.filter(|deadline| !deadline.is_zero());
    let StartRequest { process, pty, tag, stdin } = Messages::of(request)?.only().await?;
    control::check_env(&process.envs)?;
    let terminal = pty.map(|pty| TerminalSize::from(pty.size));
    // Clients that know no `stdin` may send input.
    let stdin = if terminal.is_some() || stdin.unwrap_or(true) { Stdin::Open } else { Stdin::default() };
    let command = Command { stdin, terminal, ..command_of(process, &PathBase::of(info, user)) };
    let asked = CommandAsked { command, user, tag, ..CommandAsked::default() };
    let begun = e2b.shared.service.sessions.start_command(id, asked).await;
    let (command, events) = begun.map_err(|error| E2bError::of_sandbox(&id.simple(), error))?;
    if let Some(deadline) = deadline {
        kill_in(Arc::clone(&command), deadline);
    }
    Ok(connect::stream(told(&command, events, keep_alive, deadline, Some(0))))
}

/// Translates a process to a command: `/bin/bash -l -c SCRIPT ARGS…` is a script; any other program becomes a script
/// that runs it.
fn command_of(process: ProcessConfig, base: &PathBase) -> Command {
    let ProcessConfig { cmd, args, envs, cwd } = process;
    let is_shell = matches!(cmd.as_str(), "/bin/bash" | "bash" | "/bin/sh" | "sh");
    let script_at = args.iter().position(|arg| {
        arg.strip_prefix('-').is_some_and(|options| !options.starts_with('-') && options.ends_with('c'))
    });
    let (script, args) = match script_at {
        Some(at) if is_shell && at + 1 < args.len() => {
            // What follows the script is `$0`, `$1` and so on.
            (args[at + 1].clone(), args[at + 2..].to_vec())
        }
        _ => (script_of_words(std::iter::once(&cmd).chain(&args).map(String::as_str)), Vec::new()),
    };
    let cwd = cwd.filter(|cwd| !cwd.is_empty()).map(|cwd| base.resolve(&cwd));
    let env = envs.into_iter().collect();
    Command { script, args, cwd, env, ..Command::default() }
}

/// Ends a command when its time is over, if it still runs then.
fn kill_in(command: Arc<SessionCommand>, deadline: Duration) {
    let mut events = command.listen();
    tokio::spawn(async move {
        let ended = async { while events.recv().await.is_some() {} };
        if tokio::time::timeout(deadline, ended).await.is_err() {
            command.kill(Signal::Kill);
        }
    });
}

/// Answers `Connect` by streaming a command's events from now on.
async fn join(e2b: &E2b, id: SessionId, request: Request) -> Result<Response, E2bError> {
    let keep_alive = connect::keep_alive(request.headers());
    let deadline = connect::deadline(request.headers())?.filter(|deadline| !deadline.is_zero());
    let Selected { process, .. } = Messages::of(request)?.only().await?;
    let command = e2b.command(id, &process)?;
    let events = command.listen();
    Ok(connect::stream(told(&command, events, keep_alive, deadline, None)))
}

/// Streams the events of a command, in the form that clients read. `told`: the output before, in bytes, where that is
/// known, so that the end can say what was left out.
fn told(
    command: &SessionCommand,
    events: CommandEvents,
    keep_alive: Duration,
    deadline: Option<Duration>,
    told: Option<u64>,
) -> impl Stream<Item = std::io::Result<Bytes>> + Send + use<> {
    let over = deadline.map(|deadline| Instant::now() + deadline);
    // A terminal has one screen for both.
    let (stdout, stderr) = match command.command().terminal {
        Some(_) => ("pty", "pty"),
        None => ("stdout", "stderr"),
    };
    let first = connect::part(&json!({"event": {"start": {"pid": command.number()}}}));
    let rest = stream::unfold(Some((events, told)), move |state| async move {
        let (mut events, told) = state?;
        let more = |bytes: u64| told.map(|told| told + bytes);
        let is_over = async {
            match over {
                Some(over) => tokio::time::sleep_until(over).await,
                None => std::future::pending().await,
            }
        };
        let event = |event: Value| connect::part(&json!({"event": event}));
        tokio::select! {
            biased;
            () = is_over => Some((Ok(connect::end(Some(&connect::over()))), None)),
            next = events.recv() => match next {
                Some(Next::Piece(CommandEvent::Stdout(bytes))) => {
                    let told = more(bytes.len() as u64);
                    Some((Ok(event(json!({"data": {stdout: BASE64.encode(bytes)}}))), Some((events, told))))
                }
                Some(Next::Piece(CommandEvent::Stderr(bytes))) => {
                    let told = more(bytes.len() as u64);
                    Some((Ok(event(json!({"data": {stderr: BASE64.encode(bytes)}}))), Some((events, told))))
                }
                // Clients know no event for it.
                Some(Next::Overflow(bytes)) => {
                    let (note, told) = (BASE64.encode(overflow_note(bytes)), more(bytes));
                    Some((Ok(event(json!({"data": {stderr: note}}))), Some((events, told))))
                }
                // As the connection to a sandbox that is gone: clients ask for its health then. An event they would take
                // for the command's own end.
                Some(Next::Piece(CommandEvent::Ended(CommandEnd::SessionEnded))) | None => {
                    Some((Err(std::io::Error::other("the sandbox has ended")), None))
                }
                Some(Next::Piece(CommandEvent::Ended(end))) => {
                    let mut last = Vec::new();
                    if let (CommandEnd::Exited(outcome), Some(told)) = (&end, told)
                        && let Some(note) = cut_note((outcome.stdout_bytes + outcome.stderr_bytes).saturating_sub(told))
                    {
                        last.push(event(json!({"data": {stderr: BASE64.encode(note)}})));
                    }
                    last.extend([event(json!({"end": end_json(&end)})), connect::end(None)]);
                    Some((Ok(last.concat().into()), None))
                }
            },
            () = tokio::time::sleep(keep_alive) => Some((Ok(event(json!({"keepalive": {}}))), Some((events, told)))),
        }
    });
    stream::once(async { Ok(first) }).chain(rest)
}

/// Line for output that went beyond the limit of a call; none where all was sent.
pub(super) fn cut_note(bytes: u64) -> Option<String> {
    (bytes > 0).then(|| format!("\n[{bytes} bytes of output are left out: they are more than a call may write]\n"))
}

fn end_json(end: &CommandEnd) -> Value {
    match end {
        CommandEnd::Exited(outcome) => {
            let status = format!("exit status {}", outcome.exit_code);
            let mut end = json!({"exitCode": outcome.exit_code, "exited": true, "status": status});
            if outcome.exit_code != 0 {
                end["error"] = json!(status);
            }
            end
        }
        CommandEnd::Killed(_) | CommandEnd::SessionEnded => {
            json!({"exitCode": -1, "exited": false, "status": "signal: killed", "error": "signal: killed"})
        }
        CommandEnd::Failed(why) => json!({"exitCode": -1, "exited": false, "status": "failed", "error": why}),
    }
}

/// Answers `List` with the commands that run.
fn list(e2b: &E2b, id: SessionId) -> Result<Value, E2bError> {
    let commands = e2b.shared.service.sessions.commands(id);
    let commands = commands.map_err(|error| E2bError::of_sandbox(&id.simple(), error))?;
    let process = |running: &Arc<SessionCommand>| {
        let Command { script, args, cwd, env, terminal, .. } = running.command();
        let mut all = match terminal {
            Some(_) => vec!["-i", "-l"],
            None => vec!["-l", "-c", script.as_str()],
        };
        all.extend(args.iter().map(String::as_str));
        let envs: BTreeMap<_, _> = env.iter().cloned().collect();
        let mut config = json!({"cmd": SHELL, "args": all, "envs": envs});
        if let Some(cwd) = cwd {
            config["cwd"] = json!(cwd);
        }
        let mut process = json!({"config": config, "pid": running.number()});
        if let Some(tag) = running.tag() {
            process["tag"] = json!(tag);
        }
        process
    };
    let running = commands.iter().filter(|command| command.is_running());
    Ok(json!({"processes": running.map(process).collect::<Vec<_>>()}))
}

impl Input {
    fn bytes(self) -> Result<Bytes, E2bError> {
        let bytes = BASE64.decode(self.pty.or(self.stdin).unwrap_or_default());
        bytes.map(Bytes::from).map_err(|_| E2bError::new(Kind::Bad, "input is no base64"))
    }
}

/// Answers `SendInput` by writing to a command's standard input.
async fn send_input(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let Selected { process, input, .. } = connect::message(request).await?;
    let command = e2b.command(id, &process)?;
    let bytes = input.ok_or_else(|| E2bError::new(Kind::Bad, "input is missing"))?.bytes()?;
    input_to(e2b, id, &command, Some(bytes)).await
}

/// Answers `Update` by telling a terminal its size.
async fn update(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let Selected { process, pty, .. } = connect::message(request).await?;
    let command = e2b.command(id, &process)?;
    let Some(Pty { size }) = pty else { return Ok(json!({})) };
    if command.command().terminal.is_none() {
        return Err(no_terminal());
    }
    let sequence = TerminalSize::from(size).sequence();
    input_to(e2b, id, &command, Some(sequence.into())).await
}

/// Answers `CloseStdin` by closing a command's standard input.
async fn close_input(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let Selected { process, .. } = connect::message(request).await?;
    let command = e2b.command(id, &process)?;
    input_to(e2b, id, &command, None).await
}

async fn input_to(e2b: &E2b, id: SessionId, command: &SessionCommand, input: Option<Bytes>) -> Result<Value, E2bError> {
    let sent = e2b.shared.service.sessions.command_input(id, command, input).await;
    sent.map(|()| json!({})).map_err(|error| E2bError::of_sandbox(&id.simple(), error))
}

/// Answers `StreamInput` by writing input as it comes.
async fn stream_input(e2b: &E2b, id: SessionId, request: Request) -> Result<Response, E2bError> {
    let mut messages = Messages::of(request)?;
    let mut command = None;
    while let Some(StreamedInput { start, data }) = messages.next().await? {
        if let Some(StreamStart { process }) = start {
            command = Some(e2b.command(id, &process)?);
        }
        if let Some(input) = data.and_then(|data| data.input) {
            let command =
                command.as_ref().ok_or_else(|| E2bError::new(Kind::Bad, "which process? Send start first"))?;
            input_to(e2b, id, command, Some(input.bytes()?)).await?;
        }
    }
    Ok(connect::stream(stream::iter([connect::part(&json!({})), connect::end(None)].map(Ok))))
}

/// Answers `SendSignal`: either of the two supported signals ends the command.
async fn send_signal(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let Selected { process, signal, .. } = connect::message(request).await?;
    let command = e2b.command(id, &process)?;
    match signal {
        Some(Value::String(name)) if matches!(name.as_str(), "SIGNAL_SIGKILL" | "SIGNAL_SIGTERM") => {}
        // The same by number.
        Some(Value::Number(number)) if matches!(number.as_u64(), Some(9 | 15)) => {}
        _ => return Err(E2bError::new(Kind::Bad, "signal is SIGNAL_SIGKILL or SIGNAL_SIGTERM")),
    }
    command.kill(Signal::Kill);
    Ok(json!({}))
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;
    use crate::service::CommandDefaults;
    use proofbox_memory::Budget;
    use proofbox_types::session::CommandOutcome;
    use proofbox_types::status::FailureClass;

    fn command(cmd: &str, args: &[&str]) -> (String, Vec<String>) {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let process = ProcessConfig { cmd: cmd.to_owned(), args, envs: BTreeMap::new(), cwd: None };
        let command = command_of(process, &PathBase::with(&CommandDefaults::default(), None));
        (command.script, command.args)
    }

    #[test]
    fn what_clients_start_is_a_script() {
        assert_eq!(command("/bin/bash", &["-l", "-c", "echo hi"]), ("echo hi".to_owned(), vec![]));
        assert_eq!(
            command("bash", &["-lc", "echo $1", "sh", "a"]),
            ("echo $1".to_owned(), ["sh", "a"].map(str::to_owned).to_vec())
        );
        assert_eq!(command("/bin/bash", &["script.sh"]).0, "'/bin/bash' 'script.sh'");
        assert_eq!(command("/bin/bash", &["-c"]).0, "'/bin/bash' '-c'");
    }

    fn running() -> SessionCommand {
        let budget = Budget::new(0).account(None);
        SessionCommand::new(7, CommandAsked::default(), budget.clone(), &budget)
    }

    #[tokio::test]
    async fn a_command_is_told_from_its_start_to_its_end() {
        let running = running();
        let events = running.listen();
        running.tell(CommandEvent::Stdout(Bytes::from_static(b"hi\n")));
        let outcome = CommandOutcome {
            exit_code: 3,
            class: FailureClass::NonzeroExit,
            fuel: 0,
            stdout_bytes: 3,
            stderr_bytes: 0,
        };
        running.tell(CommandEvent::Ended(CommandEnd::Exited(outcome)));
        let told = told(&running, events, Duration::from_secs(9), None, Some(0));
        let told: Vec<Bytes> = told.try_collect().await.expect("its end");
        let expected = [
            connect::part(&json!({"event": {"start": {"pid": 7}}})),
            connect::part(&json!({"event": {"data": {"stdout": "aGkK"}}})),
            connect::part(&json!({"event": {"end": {"exitCode": 3, "exited": true, "status": "exit status 3",
                "error": "exit status 3"}}})),
            connect::end(None),
        ];
        assert_eq!(told.concat(), expected.concat());
    }

    #[tokio::test]
    async fn output_beyond_the_limit_of_a_call_is_told_to_be_missing() {
        let running = running();
        let events = running.listen();
        running.tell(CommandEvent::Stdout(Bytes::from_static(b"hi\n")));
        let class = FailureClass::None;
        let outcome = CommandOutcome { exit_code: 0, class, fuel: 0, stdout_bytes: 10, stderr_bytes: 0 };
        running.tell(CommandEvent::Ended(CommandEnd::Exited(outcome)));
        let told = told(&running, events, Duration::from_secs(9), None, Some(0));
        let told: Vec<Bytes> = told.try_collect().await.expect("its end");
        let note = BASE64.encode(cut_note(7).expect("some are missing"));
        let told = String::from_utf8_lossy(&told.concat()).into_owned();
        assert!(told.contains(&note) && cut_note(0).is_none(), "{told}");
    }

    #[tokio::test]
    async fn the_connection_of_a_command_whose_sandbox_ends_is_dropped() {
        let running = running();
        let events = running.listen();
        running.tell(CommandEvent::Ended(CommandEnd::SessionEnded));
        let mut told = std::pin::pin!(told(&running, events, Duration::from_secs(9), None, Some(0)));
        assert!(told.next().await.is_some_and(|start| start.is_ok()));
        assert!(told.next().await.is_some_and(|end| end.is_err()));
        assert!(told.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_command_is_told_to_be_alive_until_its_time_is_over() {
        let running = running();
        let events = running.listen();
        let told = told(&running, events, Duration::from_secs(2), Some(Duration::from_secs(5)), Some(0));
        let told: Vec<Bytes> = told.try_collect().await.expect("its end");
        let keep_alive = connect::part(&json!({"event": {"keepalive": {}}}));
        assert_eq!(told[1..], [keep_alive.clone(), keep_alive, connect::end(Some(&connect::over()))]);
    }
}
