//! Execution of compound commands.

use crate::expand::pattern::{Lies, Pattern};
use crate::state::{Done, Function, Shell, Stop, Streams};
use crate::syntax::{Arm, Kind, List, Piece, Then, Word};
use std::sync::Arc;

/// Result of the condition that ends a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndsOn {
    /// Success, as with `until`.
    Success,
    /// Failure, as with `while`.
    Failure,
}

impl Shell {
    pub(super) async fn run_compound(&mut self, kind: &Kind) -> Done {
        match kind {
            Kind::Simple { assignments, words } => self.run_simple(assignments, words, &[]).await,
            Kind::Subshell(list) => {
                let Some(_process) = self.shared.used.process() else {
                    return Err(self.no_process().await);
                };
                let ends = std::mem::take(&mut self.ends_with_next);
                let mut shell = self.subshell().await?;
                if ends {
                    self.streams = Streams::closed();
                }
                let done = shell.run_list(list).await;
                if !shell.traps.is_empty() {
                    self.catch_signals();
                }
                match done {
                    Err(Stop::Spent) => Err(Stop::Spent),
                    done => Ok(shell.code_of(done)),
                }
            }
            Kind::Group(list) => self.run_list(list).await,
            Kind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.run_condition(condition).await? == 0 {
                        return self.run_list(body).await;
                    }
                }
                match otherwise {
                    Some(body) => self.run_list(body).await,
                    None => Ok(0),
                }
            }
            Kind::While { until, condition, body } => {
                self.loops += 1;
                let done = self.repeat(if *until { EndsOn::Success } else { EndsOn::Failure }, condition, body).await;
                self.loops -= 1;
                done
            }
            Kind::For { name, words, body } => {
                let values = match words {
                    Some(words) => self.expand_words(words).await?,
                    None => self.positional.to_vec(),
                };
                let bytes = values.iter().map(|value| value.len() + 32).sum();
                let Some(_held) = self.shared.used.hold(bytes) else { return Err(self.too_large("for").await) };
                self.loops += 1;
                let done = self.iterate(name, &values, body).await;
                self.loops -= 1;
                done
            }
            Kind::CountingFor { start, condition, step, body } => {
                self.arithmetic(start).await?;
                self.loops += 1;
                let done = self.count(condition, step, body).await;
                self.loops -= 1;
                done
            }
            Kind::Case { word, arms } => self.choose(word, arms).await,
            Kind::Function { name, body } => {
                let function = Function { body: Arc::clone(body), _held: self.tree_held.clone() };
                Arc::make_mut(&mut self.functions).insert(name.clone(), function);
                Ok(0)
            }
            Kind::Arithmetic(expression) => Ok(i32::from(self.arithmetic(expression).await? == 0)),
            Kind::Test(test) => match self.run_test(test).await {
                Ok(holds) => Ok(i32::from(!holds)),
                Err(Stop::Failed(code)) => Ok(code),
                Err(stop) => Err(stop),
            },
        }
    }

    /// Returns the result of one iteration of a loop: its exit code, or `Err` with the code of the loop that ends.
    fn turned(done: Done) -> Result<Result<i32, i32>, Stop> {
        match done {
            Ok(code) => Ok(Ok(code)),
            Err(Stop::Break(1)) => Ok(Err(0)),
            Err(Stop::Break(more)) => Err(Stop::Break(more - 1)),
            Err(Stop::Continue(1)) => Ok(Ok(0)),
            Err(Stop::Continue(more)) => Err(Stop::Continue(more - 1)),
            Err(stop) => Err(stop),
        }
    }

    async fn repeat(&mut self, ends_on: EndsOn, condition: &List, body: &List) -> Done {
        let mut status = 0;
        loop {
            match Self::turned(self.run_condition(condition).await)? {
                Ok(code) if (code == 0) == (ends_on == EndsOn::Success) => return Ok(status),
                Ok(_) => {}
                Err(code) => return Ok(code),
            }
            status = match Self::turned(self.run_list(body).await)? {
                Ok(code) => code,
                Err(code) => return Ok(code),
            };
        }
    }

    async fn iterate(&mut self, name: &str, values: &[String], body: &List) -> Done {
        let mut status = 0;
        for value in values {
            self.assign_text(name, value).await?;
            status = match Self::turned(self.run_list(body).await)? {
                Ok(code) => code,
                Err(code) => return Ok(code),
            };
        }
        Ok(status)
    }

    async fn count(&mut self, condition: &[Piece], step: &[Piece], body: &List) -> Done {
        let mut status = 0;
        let always = condition.iter().all(|piece| matches!(piece, Piece::Quoted(text) if text.trim().is_empty()));
        while always || self.arithmetic(condition).await? != 0 {
            status = match Self::turned(self.run_list(body).await)? {
                Ok(code) => code,
                Err(code) => return Ok(code),
            };
            self.arithmetic(step).await?;
        }
        Ok(status)
    }

    async fn choose(&mut self, word: &Word, arms: &[Arm]) -> Done {
        let text = self.expand_text(word).await?;
        let mut status = 0;
        let mut falls = false;
        for arm in arms {
            if !falls && !self.matches_any(&text, &arm.patterns).await? {
                continue;
            }
            status = self.run_list(&arm.body).await?;
            match arm.then {
                Then::Leave => return Ok(status),
                Then::Fall => falls = true,
                Then::Match => falls = false,
            }
        }
        Ok(status)
    }

    async fn matches_any(&mut self, text: &str, patterns: &[Word]) -> Result<bool, Stop> {
        for pattern in patterns {
            let pattern = self.expand_pattern(pattern).await?;
            if self.matches(text, &pattern).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a text matches a pattern.
    pub(super) async fn matches(&mut self, text: &str, pattern: &str) -> Result<bool, Stop> {
        self.step(1 + text.len() as u64 / 256).await?;
        match Pattern::new(pattern, Lies::Whole) {
            Ok(pattern) if pattern.takes(text.len()) => Ok(pattern.is(text)),
            Ok(_) | Err(_) => Err(self.too_large("pattern").await),
        }
    }
}
