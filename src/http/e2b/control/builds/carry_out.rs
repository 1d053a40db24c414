//! Carrying a build out: in a session of its owner, by commands of its shell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proofbox_runtime::images;
use tokio::time::{Instant, sleep, timeout_at};

use super::super::super::E2b;
use super::super::super::entries::PathBase;
use super::super::check_env;
use super::super::limits::limits;
use super::super::templates::{self, Template};
use super::plan::{Base, Plan, Source, Step};
use super::table::{Build, Failure, Level};
use super::uploads::Archive;
use crate::service::{
    CommandAsked, CommandDefaults, CommandEnd, CommandEvent, CommandEvents, SessionAsked, SessionError, Setup,
    TaggedCheckpoint,
};
use proofbox_memory::Next;
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::program::File;
use proofbox_types::session::{Command, FileAsk, Signal};
use proofbox_types::user::User;

/// Time that a build may take.
const MAX_TIME: Duration = Duration::from_secs(3600);
/// Time within which what a template starts has to be ready.
const MAX_READY: Duration = Duration::from_secs(300);
/// Pause between two runs of the script that says so.
const READY_PAUSE: Duration = Duration::from_secs(1);
/// Names that clients know of the first and of the last step.
const BASE_STEP: &str = "base";
const FINAL_STEP: &str = "finalize";
/// Archive of files in the sandbox.
const ARCHIVE: &str = "/tmp/.template-files";
/// Name of this service's own scripts, `$0`.
const NAME: &str = "bash";
/// Longest line of output that is kept, in bytes.
const MAX_LINE: usize = 4 << 10;

/// Makes the directory `$1` and those above it; they belong to `$2`.
const MAKE_DIRECTORY: &str = r#"
make_directory() {
    made=
    above=$1
    while [ ! -e "$above" ]; do
        made=$above
        above=$(dirname "$above")
    done
    mkdir -p "$1"
    [ -z "$made" ] || chown -R "$2" "$made"
}
"#;

/// Copies from the archive `$1` what is at `$2` to `$3`, for the owner `$4` and with the mode `$5`. `$6` is not empty
/// where a pattern named what is copied. As in a Dockerfile, of a directory its content is copied, and a file becomes
/// one of that name unless the name is a directory's.
const COPY: &str = r#"
set -e
target=$3 owner=$4 mode=$5
work=$(mktemp -d)
trap 'rm -rf "$work" "$1"' EXIT
tar -xf "$1" -C "$work"
from=$work/$2
if [ -n "$6" ]; then
    only=$(ls -A "$from")
    if [ -f "$from/$only" ]; then from=$from/$only; fi
fi
if [ ! -e "$from" ] && [ ! -L "$from" ]; then
    echo "no such file in the archive: $2" >&2
    exit 1
fi
chown -R "$owner" "$from"
[ -z "$mode" ] || chmod -R "$mode" "$from"
if [ -d "$from" ] && [ ! -L "$from" ]; then
    make_directory "$target" "$owner"
    for entry in "$from"/* "$from"/.[!.]* "$from"/..?*; do
        if [ -e "$entry" ] || [ -L "$entry" ]; then cp -a "$entry" "$target"/; fi
    done
    exit
fi
case $target in
    */ | . | .. | */. | */..) is_directory=yes ;;
    *) [ ! -d "$target" ] || is_directory=yes ;;
esac
if [ -n "$is_directory" ]; then
    make_directory "$target" "$owner"
    target=${target%/}/$(basename "$from")
else
    make_directory "$(dirname "$target")" "$owner"
fi
rm -f "$target"
mv "$from" "$target"
"#;

/// Carries a build out, and tells it how that ended.
pub(super) async fn carry_out(e2b: E2b, caller: Caller, build: Arc<Build>, plan: Plan) {
    let work = tokio::spawn({
        let (e2b, build) = (e2b.clone(), Arc::clone(&build));
        async move {
            let deadline = Instant::now() + MAX_TIME;
            let mut builder = Builder::open(&e2b, caller, &build, &plan).await?;
            let result = timeout_at(deadline, builder.finish(plan)).await;
            let _ = e2b.shared.service.sessions.end(builder.session).await;
            let message = format!("the build takes longer than {} minutes", MAX_TIME.as_secs() / 60);
            result.unwrap_or_else(|_| Err(failure(FINAL_STEP, message)))
        }
    });
    let result = work.await.unwrap_or_else(|error| {
        tracing::error!(build = %build.id, %error, "a build of a template failed");
        Err(failure(FINAL_STEP, "the service failed; the build may be started again"))
    });
    build.end(result);
}

fn failure(step: &str, message: impl Into<String>) -> Failure {
    Failure { step: step.to_owned(), message: message.into() }
}

/// A build that is carried out.
struct Builder<'a> {
    e2b: &'a E2b,
    build: &'a Build,
    session: SessionId,
    /// Setup of the steps that follow, and at the end of sandboxes.
    setup: Setup,
}

impl<'a> Builder<'a> {
    async fn open(e2b: &'a E2b, caller: Caller, build: &'a Build, plan: &Plan) -> Result<Self, Failure> {
        let failed = |error: SessionError| failure(BASE_STEP, error.to_string());
        let line = match &plan.base {
            Base::Image(name, _) | Base::Template(name) => format!("[{BASE_STEP}] FROM {name}"),
        };
        build.tell(Level::Info, Some(BASE_STEP), &line);
        let template = match &plan.base {
            Base::Image(name, false) => image(e2b, build, name)?,
            Base::Image(name, true) => {
                let message = format!("image '{name}' is in a registry that wants a login: no images are fetched here");
                return Err(failure(BASE_STEP, message));
            }
            Base::Template(name) => {
                let found = templates::find(e2b, &caller, name).await;
                let found = found.map_err(|error| failure(BASE_STEP, error.message()))?;
                found.ok_or_else(|| failure(BASE_STEP, format!("there is no template '{name}'")))?
            }
        };
        let service = &e2b.shared.service;
        let (mut image, mut from_checkpoint, mut setup) = (None, None, Setup::default());
        match template {
            Template::Default => {}
            Template::Image(hash) => image = Some(hash),
            Template::Snapshot(id) => {
                setup = service.sessions.checkpoint_setup(&caller, id).await.map_err(failed)?;
                from_checkpoint = Some(id);
            }
        }
        let limits = limits(e2b, &caller).map_err(|error| failure(BASE_STEP, error.message()))?;
        let asked = SessionAsked {
            caller,
            image,
            from_checkpoint,
            limits,
            ttl: Some(MAX_TIME + MAX_READY),
            without_start: true,
            template: build.name.clone(),
            ..SessionAsked::default()
        };
        let session = service.sessions.open(asked).await.map_err(failed)?.id;
        build.in_session(session);
        Ok(Self { e2b, build, session, setup })
    }

    async fn finish(&mut self, plan: Plan) -> Result<(), Failure> {
        let total = plan.steps.len();
        for (index, step) in plan.steps.into_iter().enumerate() {
            let name = (index + 1).to_string();
            self.build.tell(Level::Info, Some(&name), &format!("[builder {name}/{total}] {}", step.line()));
            self.step(step, &name).await.map_err(|message| failure(&name, message))?;
        }
        let start = plan.start.or_else(|| self.setup.start.clone());
        if start.is_some() || plan.ready.is_some() {
            self.make_ready(start.as_deref(), plan.ready.as_deref())
                .await
                .map_err(|message| failure(FINAL_STEP, message))?;
        }
        self.setup.start = start;
        let asked = TaggedCheckpoint {
            id: self.build.id,
            name: self.build.name.clone(),
            tags: self.build.tags.clone(),
            setup: self.setup.clone(),
        };
        let stored = self.e2b.shared.service.sessions.tag(self.session, asked).await;
        let stored = stored.map_err(|error| failure(FINAL_STEP, error.to_string()))?;
        let message = format!("[{FINAL_STEP}] stored: {} bytes", stored.bytes);
        self.build.tell(Level::Info, Some(FINAL_STEP), &message);
        Ok(())
    }

    /// Carries out a step; errors are messages.
    async fn step(&mut self, step: Step, name: &str) -> Result<(), String> {
        match step {
            Step::Run { script, user } => {
                let failed = |why: String| format!("failed to run command '{script}': {why}");
                let user = user.as_deref().map(user_named).transpose().map_err(failed)?;
                let command = Command { script: script.clone(), ..self.command() };
                self.run(command, user.unwrap_or(self.setup.commands.user), name).await.map_err(failed)
            }
            Step::Copy { source, target, owner, mode, archive } => {
                let failed = |why: String| format!("failed to copy '{source}' to '{target}': {why}");
                let archive = archive.ok_or("its files are not here, or no longer: upload them again".to_owned());
                let archive = archive.map_err(failed)?;
                let owner = owner.unwrap_or_else(|| self.setup.commands.user.name().to_owned());
                let args = self.copy_args(&source, &target, owner, mode);
                self.copy(&archive, args, name).await.map_err(failed)
            }
            Step::Env(variables) => {
                let mut all: BTreeMap<String, String> = std::mem::take(&mut self.setup.env).into_iter().collect();
                all.extend(variables);
                // With those of the template that it began with.
                check_env(&all).map_err(|error| format!("failed to set variables: {}", error.message()))?;
                self.setup.env = all.into_iter().collect();
                Ok(())
            }
            Step::Workdir(path) => {
                let failed = |why: String| format!("failed to set the working directory '{path}': {why}");
                let directory = self.base().resolve(&path);
                let owner = self.setup.commands.user.name().to_owned();
                let script = format!("set -e\n{MAKE_DIRECTORY}make_directory \"$1\" \"$2\"\ncd \"$1\"\n");
                let command =
                    Command { script, args: vec![NAME.to_owned(), directory.clone(), owner], ..Command::default() };
                self.run(command, User::Root, name).await.map_err(failed)?;
                self.setup.commands.cwd = Some(directory);
                Ok(())
            }
            Step::User(user) => {
                let failed = |why: String| format!("failed to set the user '{user}': {why}");
                self.setup.commands.user = user_named(&user).map_err(failed)?;
                Ok(())
            }
        }
    }

    /// Returns the directory that relative paths are resolved from.
    fn base(&self) -> PathBase {
        PathBase::with(&self.setup.commands, None)
    }

    /// Returns an empty script, in the environment and the working directory of the steps.
    fn command(&self) -> Command {
        Command { env: self.setup.env.clone(), cwd: self.setup.commands.cwd.clone(), ..Command::default() }
    }

    fn copy_args(&self, source: &str, target: &str, owner: String, mode: Option<String>) -> Vec<String> {
        let Source { path, is_pattern } = Source::of(source);
        let ends = |end: &str| target == end || target.ends_with(&format!("/{end}"));
        let mut resolved = self.base().resolve(target);
        if (target.ends_with('/') || ends(".") || ends("..")) && !resolved.ends_with('/') {
            resolved.push('/');
        }
        let pattern = if is_pattern { "pattern" } else { "" };
        vec![NAME.to_owned(), ARCHIVE.to_owned(), path, resolved, owner, mode.unwrap_or_default(), pattern.to_owned()]
    }

    async fn copy(&self, archive: &Archive, args: Vec<String>, step: &str) -> Result<(), String> {
        let file = File { path: ARCHIVE.to_owned(), content: archive.bytes.to_vec() };
        let written = self.e2b.shared.service.sessions.files(self.session, FileAsk::Write(file)).await;
        written.map_err(|error| error.to_string())?;
        let command = Command { script: format!("{MAKE_DIRECTORY}{COPY}"), args, ..Command::default() };
        self.run(command, User::Root, step).await
    }

    /// Runs a command to its end; its output goes to the log.
    async fn run(&self, command: Command, user: User, step: &str) -> Result<(), String> {
        let (_, mut events) = self.start(command, user).await?;
        let mut output = Output { build: self.build, step, out: Vec::new(), err: Vec::new(), last: String::new() };
        let end = output.follow(&mut events).await;
        judged(&end, &output.last)
    }

    async fn start(
        &self,
        command: Command,
        user: User,
    ) -> Result<(Arc<crate::service::SessionCommand>, CommandEvents), String> {
        let asked = CommandAsked { command, user: Some(user), ..CommandAsked::default() };
        let started = self.e2b.shared.service.sessions.start_command(self.session, asked).await;
        started.map_err(|error| format!("command failed: {error}"))
    }

    /// Starts the script that sandboxes begin with, and waits until it is ready.
    async fn make_ready(&self, start: Option<&str>, ready: Option<&str>) -> Result<(), String> {
        let CommandDefaults { user, .. } = self.setup.commands;
        let mut started = None;
        if let Some(script) = start {
            self.build.tell(Level::Info, Some(FINAL_STEP), &format!("[{FINAL_STEP}] START {script}"));
            let command = Command { script: script.to_owned(), ..self.command() };
            started = Some(self.start(command, user).await?);
        }
        let mut output =
            Output { build: self.build, step: FINAL_STEP, out: Vec::new(), err: Vec::new(), last: String::new() };
        let running = started.as_ref().map(|(command, _)| Arc::clone(command));
        let result = {
            let is_ready = self.wait_until_ready(ready);
            match &mut started {
                None => is_ready.await,
                Some((_, events)) => {
                    let mut is_ready = std::pin::pin!(is_ready);
                    tokio::select! {
                        biased;
                        end = output.follow(events) => match judged(&end, &output.last) {
                            Ok(()) => is_ready.await,
                            Err(why) => Err(format!("the start command failed: {why}")),
                        },
                        ready = &mut is_ready => ready,
                    }
                }
            }
        };
        if let Some(running) = running {
            running.kill(Signal::Kill);
        }
        result
    }

    async fn wait_until_ready(&self, ready: Option<&str>) -> Result<(), String> {
        let Some(script) = ready else { return Ok(()) };
        self.build.tell(Level::Info, Some(FINAL_STEP), &format!("[{FINAL_STEP}] READY {script}"));
        let deadline = Instant::now() + MAX_READY;
        loop {
            let command = Command { script: script.to_owned(), ..self.command() };
            let run = self.run(command, self.setup.commands.user, FINAL_STEP);
            match timeout_at(deadline, run).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(_)) if Instant::now() + READY_PAUSE < deadline => sleep(READY_PAUSE).await,
                Ok(Err(why)) => return Err(format!("it was not ready in {} s: {why}", MAX_READY.as_secs())),
                Err(_) => return Err(format!("it was not ready in {} s", MAX_READY.as_secs())),
            }
        }
    }
}

/// Finds the user of a name, with the words of E2B's own servers where there is none.
fn user_named(name: &str) -> Result<User, String> {
    let invalid = || format!("command failed: unauthenticated: invalid username: '{name}' (users are root and user)");
    User::parse(name).ok_or_else(invalid)
}

/// Tells why a command failed, with its last line of output.
fn judged(end: &CommandEnd, last: &str) -> Result<(), String> {
    match end {
        CommandEnd::Exited(outcome) if outcome.exit_code == 0 => Ok(()),
        CommandEnd::Exited(outcome) if last.is_empty() => Err(format!("exit status {}", outcome.exit_code)),
        CommandEnd::Exited(outcome) => Err(format!("exit status {}: {last}", outcome.exit_code)),
        CommandEnd::Killed(_) | CommandEnd::SessionEnded => Err("it was ended".to_owned()),
        CommandEnd::Failed(why) => Err(why.clone()),
    }
}

/// Stream that a command writes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Error,
}

/// Output of a command, on its way to the log line by line.
struct Output<'a> {
    build: &'a Build,
    step: &'a str,
    out: Vec<u8>,
    err: Vec<u8>,
    /// Last line of standard error that is not empty.
    last: String,
}

impl Output<'_> {
    async fn follow(&mut self, events: &mut CommandEvents) -> CommandEnd {
        loop {
            match events.recv().await {
                Some(Next::Piece(CommandEvent::Stdout(bytes))) => self.add(Stream::Output, &bytes),
                Some(Next::Piece(CommandEvent::Stderr(bytes))) => self.add(Stream::Error, &bytes),
                Some(Next::Overflow(_)) => {}
                Some(Next::Piece(CommandEvent::Ended(end))) => {
                    self.add(Stream::Output, b"\n");
                    self.add(Stream::Error, b"\n");
                    return end;
                }
                None => return CommandEnd::SessionEnded,
            }
        }
    }

    /// Returns the line of a stream that has not ended.
    fn line(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Output => &mut self.out,
            Stream::Error => &mut self.err,
        }
    }

    fn add(&mut self, stream: Stream, bytes: &[u8]) {
        for (index, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                self.end_line(stream);
            }
            let line = self.line(stream);
            let room = MAX_LINE.saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    fn end_line(&mut self, stream: Stream) {
        let line = std::mem::take(self.line(stream));
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        self.build.tell(Level::Info, Some(self.step), line);
        if stream == Stream::Error {
            self.last = line.to_owned();
        }
    }
}

/// Finds what stands here for an image of a registry: all of them mean this service's own system.
fn image(e2b: &E2b, build: &Build, name: &str) -> Result<Template, Failure> {
    let images = &e2b.shared.service.images;
    if let Some(own) = images.find(name) {
        return Ok(Template::Image(own.image_hash.clone()));
    }
    let Some(meaning) = meaning_of(name) else {
        let message = format!(
            "image '{name}' cannot be had: a template begins with ubuntu, debian, python:3, e2bdev/base or \
             e2bdev/code-interpreter, which all mean this service's own system, or with one of its images"
        );
        return Err(failure(BASE_STEP, message));
    };
    if let Some(warning) = meaning.warning {
        build.tell(Level::Warn, Some(BASE_STEP), &warning);
    }
    let data = images.find(images::DATA).filter(|_| meaning.has_data);
    Ok(data.map_or(Template::Default, |image| Template::Image(image.image_hash.clone())))
}

/// What an image of a registry means here.
#[derive(Debug, PartialEq, Eq)]
struct Meaning {
    /// True for the image with the libraries for data, where it is there.
    has_data: bool,
    /// What is other than the client may expect.
    warning: Option<String>,
}

fn meaning_of(image: &str) -> Option<Meaning> {
    let image = image.strip_prefix("docker.io/").unwrap_or(image);
    let image = image.strip_prefix("library/").unwrap_or(image);
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    let (repository, tag) = image.split_once(':').unwrap_or((image, ""));
    let system = || Some(format!("{image} stands for this service's own system: its shell and CPython 3.13"));
    let (has_data, warning) = match repository {
        "e2bdev/base" => (false, None),
        "e2bdev/code-interpreter" => (true, None),
        "ubuntu" | "debian" => (false, system()),
        "python" => {
            let version = tag.split('-').next().unwrap_or_default();
            let is_ours = matches!(version, "" | "latest" | "3" | "slim" | "3.13") || version.starts_with("3.13.");
            if !is_ours && !version.starts_with("3.") {
                return None;
            }
            (false, if is_ours { None } else { system() })
        }
        _ => return None,
    };
    Some(Meaning { has_data, warning })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_means_this_services_own_system_or_nothing() {
        let data = |image: &str| meaning_of(image).map(|meaning| (meaning.has_data, meaning.warning.is_some()));
        assert_eq!(data("e2bdev/base:latest"), Some((false, false)));
        assert_eq!(data("e2bdev/code-interpreter"), Some((true, false)));
        assert_eq!(data("docker.io/library/python:3.13-slim"), Some((false, false)));
        assert_eq!(data("python:3"), Some((false, false)));
        assert_eq!(data("python:3.12"), Some((false, true)));
        assert_eq!(data("ubuntu:22.04@sha256:00"), Some((false, true)));
        for none in ["python:2.7", "node:24", "e2b.dev/none", "", "ubuntu/nginx"] {
            assert_eq!(meaning_of(none), None, "{none}");
        }
    }
}
