//! Simple commands: assignments, redirections, functions, builtins, programs.

use crate::bounds::MAX_LEVELS;
use crate::programs;
use crate::state::{BROKEN_PIPE, Done, Function, Shell, Stop, Variable};
use crate::syntax::{Assignment, Redirection, Word};
use futures_util::future::{BoxFuture, Either, select};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

impl Shell {
    pub(super) fn run_simple<'a>(
        &'a mut self,
        assignments: &'a [Assignment],
        words: &'a [Word],
        redirections: &'a [Redirection],
    ) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            self.substituted = None;
            let mut arguments = self.expand_words(words).await?;
            if self.options.trace {
                self.trace(&arguments).await?;
            }
            if arguments.is_empty() {
                return self.run_bare(assignments, redirections).await;
            }
            let bytes = arguments.iter().map(|argument| argument.len() + 32).sum();
            let Some(_held) = self.shared.used.hold(bytes) else {
                self.error("", &format!("{}: Argument list too long", arguments[0])).await;
                return Ok(126);
            };
            let name = arguments.remove(0);
            if name == "exec" && arguments.is_empty() {
                return match self.redirect(redirections).await {
                    Ok(()) => Ok(0),
                    Err(Stop::Failed(code)) => Err(Stop::Exit(code)),
                    Err(stop) => Err(stop),
                };
            }
            let ends = std::mem::take(&mut self.ends_with_next);
            let depth = self.saved.len();
            if !ends && !redirections.is_empty() {
                self.saved.push(self.streams.clone());
            }
            let mut hidden: Vec<(String, Option<Variable>)> = Vec::new();
            let done = match self.prepare(assignments, redirections, &mut hidden).await {
                Ok(()) => self.call(&name, &arguments).await,
                Err(stop) => Err(stop),
            };
            self.unwind_streams(depth);
            for (name, variable) in hidden.into_iter().rev() {
                self.put_back(name, variable);
            }
            match done {
                Err(Stop::Failed(code)) => Ok(code),
                // What is built in ends with its shell.
                Err(Stop::Broken) if !programs::names::is_builtin(&name) && !self.functions.contains_key(&name) => {
                    Ok(BROKEN_PIPE)
                }
                done => done,
            }
        })
    }

    /// Variables and redirections for one command.
    async fn prepare(
        &mut self,
        assignments: &[Assignment],
        redirections: &[Redirection],
        hidden: &mut Vec<(String, Option<Variable>)>,
    ) -> Result<(), Stop> {
        self.redirect(redirections).await?;
        for assignment in assignments {
            hidden.push((assignment.name.clone(), self.variables.get(&assignment.name).cloned()));
            self.assign(assignment).await?;
            if let Some(variable) = Arc::make_mut(&mut self.variables).get_mut(&assignment.name) {
                variable.exported = true;
            }
        }
        Ok(())
    }

    /// Assignments and redirections without a command.
    async fn run_bare(&mut self, assignments: &[Assignment], redirections: &[Redirection]) -> Done {
        for assignment in assignments {
            self.assign(assignment).await?;
        }
        let status = self.substituted.unwrap_or(0);
        if redirections.is_empty() {
            return Ok(status);
        }
        let before = self.streams.clone();
        let done = self.redirect(redirections).await;
        self.streams = before;
        match done {
            Ok(()) => Ok(status),
            Err(Stop::Failed(code)) => Ok(code),
            Err(stop) => Err(stop),
        }
    }

    fn put_back(&mut self, name: String, variable: Option<Variable>) {
        let variables = Arc::make_mut(&mut self.variables);
        match variable {
            Some(variable) => variables.insert(name, variable),
            None => variables.remove(&name),
        };
    }

    /// Runs a function, a builtin or a program.
    pub(crate) async fn call(&mut self, name: &str, arguments: &[String]) -> Done {
        match self.functions.get(name).cloned() {
            Some(function) => {
                self.becomes_next = false;
                self.call_function(name, function, arguments).await
            }
            None => self.run_program(name, arguments).await,
        }
    }

    /// Runs a builtin or a program. A program ends when a signal with a handler is sent to the group that it is in.
    async fn run_program(&mut self, name: &str, arguments: &[String]) -> Done {
        let replaces = std::mem::take(&mut self.becomes_next);
        if replaces {
            let words = std::iter::once(name).chain(arguments.iter().map(String::as_str));
            self.process.set_command(&words.collect::<Vec<_>>().join(" "));
        }
        let process = Arc::clone(&self.process);
        if programs::runs_another(name) {
            // That hears of signals itself.
            self.becomes_next = replaces;
        } else if process.signals.catches_any() && !programs::names::is_builtin(name) {
            let (depth, level) = (self.saved.len(), self.level);
            let interrupted = pin!(process.signals.interrupted());
            let signal = match select(interrupted, programs::run(self, name, arguments)).await {
                Either::Left((signal, _)) => signal,
                Either::Right((done, _)) => return done,
            };
            self.unwind_streams(depth);
            self.level = level;
            return Ok(128 + signal);
        }
        programs::run(self, name, arguments).await
    }

    async fn call_function(&mut self, name: &str, function: Function, arguments: &[String]) -> Done {
        if self.level >= MAX_LEVELS {
            let what = format!("{name}: maximum function nesting level exceeded ({MAX_LEVELS})");
            self.error("", &what).await;
            return Err(Stop::Exit(1));
        }
        let positional = std::mem::replace(&mut self.positional, Arc::new(arguments.to_vec()));
        let loops = std::mem::take(&mut self.loops);
        self.level += 1;
        self.calls += 1;
        self.hidden.push(BTreeMap::new());
        let done = self.run_command(&function.body).await;
        for (name, variable) in self.hidden.pop().unwrap_or_default() {
            self.put_back(name, variable);
        }
        self.calls -= 1;
        self.level -= 1;
        self.loops = loops;
        self.positional = positional;
        match done {
            Err(Stop::Return(code)) => Ok(code),
            done => done,
        }
    }

    /// Writes the trace of a command under `set -x`.
    async fn trace(&self, arguments: &[String]) -> Result<(), Stop> {
        if arguments.is_empty() {
            return Ok(());
        }
        let mut text = "+".to_owned();
        for argument in arguments {
            text.push(' ');
            let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
            match !argument.is_empty() && argument.chars().all(plain) {
                true => text.push_str(argument),
                false => text.push_str(&format!("'{}'", argument.replace('\'', "'\\''"))),
            }
        }
        text.push('\n');
        self.write(&self.streams.stderr, "", text.as_bytes()).await
    }
}
