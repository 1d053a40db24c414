//! Making of targets: prerequisites first, then the recipes of what is out of date.

use super::rules::{Implied, Recipe};
use super::variables::{Automatic, Flavor, MAX_EXPANSION, Origin, Variable};
use super::{Failure, Make, NAMES_A_STEP, Result};
use crate::PIPE_BYTES;
use crate::programs;
use crate::state::{BROKEN_PIPE, Done, Shell, Stop};
use crate::streams::pipe;
use proofbox_vfs::lock;
use std::collections::HashSet;
use std::sync::Arc;

/// Targets that wait for each other.
const MAX_WAITING: usize = 10_000;
/// Memory of a target that is made, for each of its names, in bytes.
const MEMORY_OF_NAME: usize = 100;
/// Variables that are looked at in a step.
const VARIABLES_A_STEP: usize = 16;

/// State of a target that has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Prerequisites are being made.
    Waiting,
    Done {
        /// Time of its last change; none for what is no file.
        modified: Option<u64>,
        is_remade: bool,
    },
    Failed,
}

/// Target whose prerequisites are being made.
struct Frame {
    name: String,
    prerequisites: Vec<String>,
    order_only: Vec<String>,
    next: usize,
    recipe: Option<Arc<Recipe>>,
    stem: String,
    has_failed: bool,
    /// Variables as they were before those of the target were set.
    saved: Vec<(String, Option<Variable>)>,
}

/// Line of a recipe, after expansion.
struct Command {
    text: String,
    is_silent: bool,
    is_ignored: bool,
    is_always_run: bool,
    line: usize,
}

impl Make<'_> {
    /// Makes a goal. False: that failed.
    pub(super) async fn make_goal(&mut self, goal: &str) -> Result<bool> {
        let begun = self.started;
        let mut frames: Vec<Frame> = Vec::new();
        if !self.states.contains_key(goal) {
            self.enter(goal, &mut frames).await?;
        }
        while let Some(frame) = frames.last_mut() {
            self.shell.step(1).await?;
            let count = frame.prerequisites.len();
            let order_only = || frame.order_only.get(frame.next.checked_sub(count)?);
            let Some(next) = frame.prerequisites.get(frame.next).or_else(order_only).cloned() else {
                if let Some(frame) = frames.pop() {
                    if frame.has_failed && frames.is_empty() {
                        let what = format!("{}: Target '{goal}' not remade because of errors.\n", self.who);
                        self.shell.say(&what).await;
                    }
                    self.finish(frame).await?;
                }
                continue;
            };
            match self.states.get(&next) {
                None => {
                    self.enter(&next, &mut frames).await?;
                    continue;
                }
                Some(State::Waiting) => {
                    let what = format!("{}: Circular {} <- {next} dependency dropped.\n", self.who, frame.name);
                    if frame.next < count {
                        frame.prerequisites.remove(frame.next);
                    } else {
                        frame.order_only.remove(frame.next - count);
                    }
                    self.shell.say(&what).await;
                    continue;
                }
                Some(State::Failed) => frame.has_failed = true,
                Some(State::Done { .. }) => {}
            }
            frame.next += 1;
            if frame.has_failed && !self.options.keeps_going {
                // What waits is not made any more.
                while let Some(frame) = frames.pop() {
                    self.restore(frame.saved);
                    self.states.insert(frame.name, State::Failed);
                }
            }
        }
        let is_made = self.states.get(goal) != Some(&State::Failed);
        if is_made && self.started == begun && !self.options.is_silent && !self.options.is_question {
            let text = match self.has_recipe.contains(goal) && !self.phony.contains(goal) {
                true => format!("{}: '{goal}' is up to date.\n", self.who),
                false => format!("{}: Nothing to be done for '{goal}'.\n", self.who),
            };
            self.shell.out("make", text.as_bytes()).await?;
        }
        Ok(is_made)
    }

    /// Begins with a target: looks for its rule.
    async fn enter(&mut self, name: &str, frames: &mut Vec<Frame>) -> Result<()> {
        if frames.len() >= MAX_WAITING {
            return self.fatal("targets wait for each other too deeply");
        }
        let known = self.targets.get(name);
        let is_known = known.is_some();
        let mut prerequisites = known.map(|target| target.prerequisites.clone()).unwrap_or_default();
        let mut order_only = known.map(|target| target.order_only.clone()).unwrap_or_default();
        let mut recipe = known.and_then(|target| target.recipe.clone());
        let mut stem = known.and_then(|target| target.stem.clone()).unwrap_or_default();
        let variables = known.map(|target| target.variables.clone()).unwrap_or_default();
        if recipe.is_none() && !self.phony.contains(name) {
            if let Some(implied) = self.implied(name).await? {
                let Implied { prerequisites: more, order_only: more_order_only, recipe: found, stem: part } = implied;
                prerequisites.splice(0..0, more);
                order_only.extend(more_order_only);
                recipe = Some(found);
                stem = part;
            } else if !is_known && !self.exists(name) {
                self.states.insert(name.to_owned(), State::Failed);
                let needed = frames.last().map_or(String::new(), |above| format!(", needed by '{}'", above.name));
                let what = format!("No rule to make target '{name}'{needed}");
                if !self.options.keeps_going {
                    self.position = None;
                    return self.fatal(&what);
                }
                self.shell.say(&format!("{}: *** {what}.\n", self.who)).await;
                return Ok(());
            }
        }
        if recipe.is_some() {
            self.has_recipe.insert(name.to_owned());
        }
        let names: usize = prerequisites.iter().chain(&order_only).map(|name| name.len() + MEMORY_OF_NAME).sum();
        self.grow(names + 2 * name.len() + 500)?;
        let steps = 1 + (prerequisites.len() + order_only.len()) / NAMES_A_STEP;
        self.shell.step(steps as u64).await?;
        let mut seen: HashSet<String> = prerequisites.iter().cloned().collect();
        order_only.retain(|name| seen.insert(name.clone()));
        let mut saved = Vec::new();
        for assignment in variables {
            saved.push((assignment.name.clone(), self.variables.get(&assignment.name).cloned()));
            self.assign(&assignment).await?;
        }
        self.states.insert(name.to_owned(), State::Waiting);
        let name = name.to_owned();
        frames.push(Frame { name, prerequisites, order_only, next: 0, recipe, stem, has_failed: false, saved });
        Ok(())
    }

    fn restore(&mut self, saved: Vec<(String, Option<Variable>)>) {
        for (name, variable) in saved.into_iter().rev() {
            self.put_back(&name, variable);
        }
    }

    /// Makes a target whose prerequisites are made.
    async fn finish(&mut self, mut frame: Frame) -> Result<()> {
        let state = match frame.has_failed {
            true => State::Failed,
            false => self.remake(&frame).await?,
        };
        self.restore(std::mem::take(&mut frame.saved));
        self.states.insert(frame.name, state);
        Ok(())
    }

    /// Runs the recipe of a target that is out of date.
    async fn remake(&mut self, frame: &Frame) -> Result<State> {
        let is_phony = self.phony.contains(&frame.name);
        let modified = if is_phony { None } else { self.modified(&frame.name) };
        let mut newer = Vec::new();
        for name in &frame.prerequisites {
            self.shell.step(1).await?;
            let is_newer = match self.states.get(name) {
                Some(State::Done { modified: Some(of_other), is_remade }) => {
                    modified.is_none_or(|of_this| *of_other > of_this) || (*is_remade && self.options.is_dry)
                }
                Some(State::Done { modified: None, .. }) => true,
                Some(State::Waiting | State::Failed) | None => false,
            };
            if is_newer {
                newer.push(name.clone());
            }
        }
        let is_stale = modified.is_none() || !newer.is_empty() || self.options.makes_all;
        let Some(recipe) = frame.recipe.as_ref().filter(|_| is_stale) else {
            // Without a recipe it is as new as what it is made of.
            let modified = modified.filter(|_| newer.is_empty());
            return Ok(State::Done { modified, is_remade: is_stale });
        };
        self.shell.step((frame.prerequisites.len() / NAMES_A_STEP) as u64).await?;
        let mut seen = HashSet::new();
        let all: Vec<&str> = frame.prerequisites.iter().map(String::as_str).filter(|name| seen.insert(*name)).collect();
        let mut seen = HashSet::new();
        newer.retain(|name| seen.insert(name.clone()));
        let stem = match frame.stem.is_empty() {
            true => known_suffix_stem(&frame.name).to_owned(),
            false => frame.stem.clone(),
        };
        self.automatic = Some(Automatic {
            target: frame.name.clone(),
            first: frame.prerequisites.first().cloned().unwrap_or_default(),
            all: all.join(" "),
            all_repeated: frame.prerequisites.join(" "),
            newer: newer.join(" "),
            order_only: frame.order_only.join(" "),
            stem,
        });
        let is_made = self.run_recipe(&frame.name, recipe).await;
        self.automatic = None;
        self.position = None;
        if !is_made? {
            return Ok(State::Failed);
        }
        let after = if is_phony || self.options.is_dry { None } else { self.modified(&frame.name) };
        Ok(State::Done { modified: after, is_remade: true })
    }

    /// Expands all lines of a recipe.
    async fn expand_recipe(&mut self, recipe: &Recipe) -> Result<Vec<Command>> {
        let first = recipe.lines.first().map_or(recipe.line, |line| line.number);
        let mut commands: Vec<Command> = Vec::new();
        let is_one = self.specials.contains_key(".ONESHELL");
        for (at, line) in recipe.lines.iter().enumerate() {
            self.shell.step(1).await?;
            self.position = Some((Arc::clone(&recipe.file), line.number));
            let runs_make = line.text.contains("$(MAKE)") || line.text.contains("${MAKE}");
            let text = self.expand(&line.text).await?;
            self.grow(text.len())?;
            // The flags of a line are those of all that it expands to.
            let head = text.trim_start();
            let flags = head.len() - head.trim_start_matches(['@', '+', '-', ' ', '\t']).len();
            let flags = head[..flags].to_owned();
            for part in split_commands(&text) {
                let part = part.trim_start_matches([' ', '\t', '@', '+', '-', '\n']);
                if part.trim().is_empty() {
                    continue;
                }
                // All lines are one script, with the flags of the first.
                if is_one && let Some(script) = commands.first_mut() {
                    script.text.push('\n');
                    script.text.push_str(part);
                    script.is_always_run |= runs_make;
                    continue;
                }
                commands.push(Command {
                    text: part.to_owned(),
                    is_silent: flags.contains('@'),
                    is_ignored: flags.contains('-'),
                    is_always_run: flags.contains('+') || runs_make,
                    line: first + at,
                });
            }
        }
        Ok(commands)
    }

    /// Runs a recipe. False: a command failed.
    async fn run_recipe(&mut self, target: &str, recipe: &Recipe) -> Result<bool> {
        for command in self.expand_recipe(recipe).await? {
            self.shell.step(1).await?;
            self.started += 1;
            if self.options.is_question && !command.is_always_run {
                return Ok(false);
            }
            let is_silent = command.is_silent || self.options.is_silent || self.is_special(".SILENT", target);
            if !is_silent || self.options.is_dry {
                self.shell.out("make", format!("{}\n", command.text).as_bytes()).await?;
            }
            if self.options.is_dry && !command.is_always_run {
                continue;
            }
            let code = self.run_command(&command.text).await?;
            if code == 0 {
                continue;
            }
            let why = if code == BROKEN_PIPE { "Broken pipe".to_owned() } else { format!("Error {code}") };
            let at = format!("[{}:{}: {target}] {why}", recipe.file, command.line);
            if command.is_ignored || self.options.ignores_errors || self.is_special(".IGNORE", target) {
                self.shell.say(&format!("{}: {at} (ignored)\n", self.who)).await;
                continue;
            }
            self.shell.say(&format!("{}: *** {at}\n", self.who)).await;
            if self.specials.contains_key(".DELETE_ON_ERROR") && self.exists(target) && !self.phony.contains(target) {
                self.shell.say(&format!("{}: *** Deleting file '{target}'\n", self.who)).await;
                let path = self.shell.path(target);
                // It was there, and one that can't be removed stays.
                let _ = lock(&self.shell.tree).remove(&path, self.shell.now());
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns whether a special target is there for all targets, or for this one.
    fn is_special(&self, name: &str, target: &str) -> bool {
        self.specials.get(name).is_some_and(|names| names.is_empty() || names.iter().any(|name| name == target))
    }

    /// Returns the shell that a command runs in, the program that runs it, and its arguments.
    async fn prepare(&mut self, command: &str) -> Result<(Shell, String, Vec<String>)> {
        let shell = self.value("SHELL").await?;
        let flags = self.value(".SHELLFLAGS").await?;
        let mut words: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        words.push(command.to_owned());
        let mut inner = self.shell.subshell().await?;
        // A make within it is as deep in the stack as the references around are.
        inner.level += self.nesting;
        inner.functions = Arc::default();
        let exports_all = self.exports_all || self.specials.contains_key(".EXPORT_ALL_VARIABLES");
        let is_exported = |name: &str, variable: &Variable| {
            let is_chosen = exports_all && variable.origin >= Origin::File && crate::expand::is_name(name);
            variable.is_exported || is_chosen
        };
        let mut exported: Vec<(String, Variable)> = Vec::new();
        for (at, (name, variable)) in self.variables.iter().enumerate() {
            if at % VARIABLES_A_STEP == 0 {
                self.shell.step(1).await?;
            }
            if is_exported(name, variable) {
                exported.push((name.clone(), variable.clone()));
            }
        }
        for (name, variable) in exported {
            self.shell.step(1).await?;
            let value = match variable.flavor {
                Flavor::Simple => variable.value.to_string(),
                Flavor::Recursive => self.value(&name).await?,
            };
            inner.set_environment(name, value);
        }
        inner.set_environment("MAKELEVEL".to_owned(), (self.level + 1).to_string());
        inner.set_environment("MAKEFLAGS".to_owned(), self.flags());
        Ok((inner, shell.trim().to_owned(), words))
    }

    /// Runs a command of a recipe; its exit code.
    async fn run_command(&mut self, command: &str) -> Result<i32> {
        let (mut inner, name, words) = self.prepare(command).await?;
        // The time goes on: files that it writes are newer than those written before.
        tokio::task::yield_now().await;
        let done = programs::run(&mut inner, &name, &words).await;
        tokio::task::yield_now().await;
        code_of(&inner, done)
    }

    /// Returns the output of a command, in one line.
    pub(super) async fn output_of(&mut self, command: &str) -> Result<String> {
        let (mut inner, name, words) = self.prepare(command).await?;
        let Some(process) = self.shell.shared.used.process() else { return Err(Failure::Memory) };
        let (writer, reader) = pipe(PIPE_BYTES);
        inner.streams.stdout = writer;
        let work = async move {
            let done = programs::run(&mut inner, &name, &words).await;
            let code = code_of(&inner, done);
            drop((inner, process));
            code
        };
        let shell = &*self.shell;
        let collect = async {
            // Gone when too much was written, so that the command ends.
            let mut reader = reader;
            let mut held = shell.shared.used.hold(0).ok_or(Failure::Memory)?;
            let mut bytes = Vec::new();
            loop {
                let read = reader.read_into(&mut bytes, PIPE_BYTES, None).await;
                shell.step(1).await?;
                if read == 0 {
                    return Ok(bytes);
                }
                if bytes.len() > MAX_EXPANSION || !held.grow(2 * read) {
                    return Err(Failure::Memory);
                }
            }
        };
        let (code, collected) = futures_util::future::join(work, collect).await;
        let code = code?;
        let mut text = String::from_utf8_lossy(&collected?).into_owned();
        text.truncate(text.trim_end_matches('\n').len());
        self.set(".SHELLSTATUS", &code.to_string(), Flavor::Simple, Origin::Override)?;
        Ok(text.replace('\n', " "))
    }
}

/// Returns the exit code of a command, unless the script has used all it may.
fn code_of(shell: &Shell, done: Done) -> Result<i32> {
    match done {
        Err(Stop::Spent) => Err(Stop::Spent.into()),
        done => Ok(shell.code_of(done)),
    }
}

/// Splits expanded text of a recipe into commands, at newlines that no backslash joins.
fn split_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.split('\n') {
        match commands.last_mut().filter(|_| goes_on) {
            Some(command) => {
                command.push('\n');
                command.push_str(line);
            }
            None => commands.push(line.to_owned()),
        }
        goes_on = super::makefile::joins_next(line);
    }
    commands
}

/// Returns the name without a suffix that `$*` leaves out of an explicit rule's target.
fn known_suffix_stem(name: &str) -> &str {
    [".o", ".c", ".cc", ".cpp", ".h", ".s", ".S", ".a", ".sh", ".y", ".l", ".f", ".p", ".r", ".el", ".tex"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or_default()
}
