//! Variables of make, and the expansion of references to them.

use super::function_names::name_in;
use super::{BYTES_A_STEP, Failure, Make, Result};
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// References within each other.
const MAX_NESTING: usize = 50;
/// Longest result of one expansion, in bytes.
pub(super) const MAX_EXPANSION: usize = 512 << 10;

/// Origin of a variable, those first that give way to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Default,
    Environment,
    File,
    CommandLine,
    Override,
    Automatic,
}

impl Origin {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::File => "file",
            Self::CommandLine => "command line",
            Self::Override => "override",
            Self::Automatic => "automatic",
        }
    }
}

/// Time at which a value is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavor {
    /// Once, when it is set.
    Simple,
    /// Whenever it is used.
    Recursive,
}

#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) value: Arc<str>,
    pub(super) flavor: Flavor,
    pub(super) origin: Origin,
    pub(super) is_exported: bool,
    /// File and line where it was set.
    pub(super) position: Option<(Arc<str>, usize)>,
}

/// Operator of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Recursive,
    Simple,
    IfUnset,
    Append,
    /// Output of a command.
    Shell,
}

/// Assignment as it is written.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) operator: Operator,
    pub(super) value: String,
    pub(super) origin: Origin,
    pub(super) is_exported: bool,
}

/// Values of the automatic variables for a recipe.
#[derive(Debug, Clone, Default)]
pub(super) struct Automatic {
    pub(super) target: String,
    pub(super) first: String,
    pub(super) all: String,
    pub(super) all_repeated: String,
    pub(super) newer: String,
    pub(super) order_only: String,
    pub(super) stem: String,
}

impl Automatic {
    fn get(&self, name: &str) -> Option<String> {
        let mut letters = name.chars();
        let value = match letters.next()? {
            '@' => &self.target,
            '<' => &self.first,
            '^' => &self.all,
            '+' => &self.all_repeated,
            '?' => &self.newer,
            '|' => &self.order_only,
            '*' => &self.stem,
            _ => return None,
        };
        let directory = |word: &str| match word.rsplit_once('/') {
            None => ".".to_owned(),
            Some(("", _)) => "/".to_owned(),
            Some((above, _)) => above.to_owned(),
        };
        let last = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        match letters.as_str() {
            "" => Some(value.clone()),
            "D" => Some(value.split_whitespace().map(directory).collect::<Vec<_>>().join(" ")),
            "F" => Some(value.split_whitespace().map(last).collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }
}

/// Returns the offset of the sign that closes a reference, from behind the one that opens it.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            }
        }
    }
    None
}

/// Returns the offset of one of these characters outside of references.
pub(super) fn find_outside(text: &str, wanted: &[char]) -> Option<usize> {
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        if wanted.contains(&c) {
            return Some(at);
        }
        if c != '$' {
            continue;
        }
        let (begin, open) = characters.next()?;
        let close = match open {
            '(' => ')',
            '{' => '}',
            _ => continue,
        };
        let end = begin + 1 + closing(&text[begin + 1..], open, close)?;
        while characters.as_str().len() > text.len() - end - 1 {
            characters.next();
        }
    }
    None
}

impl Make<'_> {
    /// Sets a variable, unless it has a value from where it counts more.
    pub(super) fn set(&mut self, name: &str, value: &str, flavor: Flavor, origin: Origin) -> Result<()> {
        let known = self.variables.get(name);
        if known.is_some_and(|known| known.origin > origin) {
            return Ok(());
        }
        let is_exported = known.is_some_and(|known| known.is_exported);
        self.grow(name.len() + value.len() + 200)?;
        let position = self.position.clone();
        let variable = Variable { value: Arc::from(value), flavor, origin, is_exported, position };
        self.variables.insert(name.to_owned(), variable);
        Ok(())
    }

    /// Carries out an assignment.
    pub(super) async fn assign(&mut self, assignment: &Assignment) -> Result<()> {
        let Assignment { name, operator, value, origin, is_exported } = assignment;
        let name = self.expand(name).await?;
        let name = name.trim();
        if name.is_empty() {
            return self.fatal("empty variable name");
        }
        match operator {
            Operator::Recursive => self.set(name, value, Flavor::Recursive, *origin)?,
            Operator::Simple => {
                let value = self.expand(value).await?;
                self.set(name, &value, Flavor::Simple, *origin)?;
            }
            Operator::IfUnset => {
                if !self.variables.contains_key(name) {
                    self.set(name, value, Flavor::Recursive, *origin)?;
                }
            }
            Operator::Append => match self.variables.get(name).cloned() {
                None => self.set(name, value, Flavor::Recursive, *origin)?,
                Some(known) => {
                    let more = match known.flavor {
                        Flavor::Simple => self.expand(value).await?,
                        Flavor::Recursive => value.clone(),
                    };
                    let joined = if known.value.is_empty() { more } else { format!("{} {more}", known.value) };
                    if joined.len() > MAX_EXPANSION {
                        return Err(Failure::Memory);
                    }
                    self.set(name, &joined, known.flavor, *origin)?;
                }
            },
            Operator::Shell => {
                let command = self.expand(value).await?;
                let output = self.output_of(&command).await?;
                self.set(name, &output, Flavor::Recursive, *origin)?;
            }
        }
        if *is_exported && let Some(variable) = self.variables.get_mut(name) {
            variable.is_exported = true;
        }
        Ok(())
    }

    /// Expands the references of a text.
    pub(super) fn expand<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            self.shell.step(1 + (text.len() / BYTES_A_STEP) as u64).await?;
            if !text.contains('$') {
                return Ok(text.to_owned());
            }
            self.nesting += 1;
            if self.nesting > MAX_NESTING {
                return self.fatal("references are nested too deeply");
            }
            let expanded = self.expand_references(text).await?;
            self.nesting -= 1;
            Ok(expanded)
        })
    }

    async fn expand_references(&mut self, text: &str) -> Result<String> {
        let mut held = self.shell.shared.used.hold(0).ok_or(Failure::Memory)?;
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let Some(first) = rest.chars().next() else {
                out.push('$');
                break;
            };
            rest = &rest[first.len_utf8()..];
            let before = out.len();
            match first {
                '$' => out.push('$'),
                '(' | '{' => {
                    let close = if first == '(' { ')' } else { '}' };
                    let Some(end) = closing(rest, first, close) else {
                        return match name_in(rest) {
                            Some(name) => {
                                self.fatal(&format!("unterminated call to function '{name}': missing '{close}'"))
                            }
                            None => self.fatal("unterminated variable reference"),
                        };
                    };
                    let inner = &rest[..end];
                    rest = &rest[end + 1..];
                    out.push_str(&self.reference(inner, first, close).await?);
                }
                name => out.push_str(&self.value(name.encode_utf8(&mut [0; 4])).await?),
            }
            let more = out.len() - before;
            self.shell.step(1 + (more / BYTES_A_STEP) as u64).await?;
            if out.len() > MAX_EXPANSION || !held.grow(2 * more) {
                return Err(Failure::Memory);
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Expands what is within the parentheses of a reference.
    async fn reference(&mut self, inner: &str, open: char, close: char) -> Result<String> {
        if let Some(name) = name_in(inner) {
            let arguments = inner[name.len()..].trim_start();
            return self.function(name, arguments, open, close).await;
        }
        let name = self.expand(inner).await?;
        let replaced = name.split_once(':').and_then(|(name, rest)| Some((name, rest.split_once('=')?)));
        let Some((name, (from, to))) = replaced else { return self.value(&name).await };
        let value = self.value(name).await?;
        let (from, to) = match from.contains('%') {
            true => (from.to_owned(), to.to_owned()),
            false => (format!("%{from}"), format!("%{to}")),
        };
        self.replace_words(&from, &to, &value).await
    }

    /// Returns the value of a variable, expanded.
    pub(super) async fn value(&mut self, name: &str) -> Result<String> {
        if let Some(value) = self.automatic.as_ref().and_then(|automatic| automatic.get(name)) {
            return Ok(value);
        }
        let Some(variable) = self.variables.get(name).cloned() else { return Ok(String::new()) };
        if variable.flavor == Flavor::Simple {
            return Ok(variable.value.to_string());
        }
        if self.expanding.iter().any(|known| known == name) {
            self.position = variable.position;
            return self.fatal(&format!("Recursive variable '{name}' references itself (eventually)"));
        }
        self.expanding.push(name.to_owned());
        let value = self.expand(&variable.value).await?;
        self.expanding.pop();
        Ok(value)
    }
}
