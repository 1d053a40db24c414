//! Functions in the references of make.

use super::function_names::FUNCTIONS;
use super::variables::{Flavor, MAX_EXPANSION, Origin};
use super::{Failure, Make, Result};
use crate::state::absolute;
use proofbox_vfs::lock;
use std::collections::BTreeSet;

/// Arguments of one call.
const MAX_ARGUMENTS: usize = 1000;

/// Splits at commas outside of parentheses, into so many parts at most.
fn split_arguments(text: &str, open: char, close: char, most: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        } else if c == ',' && depth == 0 && parts.len() + 1 < most.min(MAX_ARGUMENTS) {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Pattern with a `%`, which stands for any text.
pub(super) struct Pattern<'p> {
    before: &'p str,
    /// Text behind the `%`, if there is one.
    after: Option<&'p str>,
}

impl<'p> Pattern<'p> {
    pub(super) fn new(text: &'p str) -> Self {
        match text.split_once('%') {
            Some((before, after)) => Self { before, after: Some(after) },
            None => Self { before: text, after: None },
        }
    }

    /// Returns what the `%` stands for in a word; without one it is nothing.
    pub(super) fn stem<'w>(&self, word: &'w str) -> Option<&'w str> {
        match self.after {
            None => (word == self.before).then_some(""),
            Some(after) => word.strip_prefix(self.before)?.strip_suffix(after),
        }
    }
}

/// Puts a stem where the first `%` is.
pub(super) fn with_stem(pattern: &str, stem: &str) -> String {
    pattern.replacen('%', stem, 1)
}

/// Returns what a path's last name begins behind: the directory, with its slash.
pub(super) fn directory_of(word: &str) -> &str {
    word.rfind('/').map_or("", |slash| &word[..=slash])
}

/// Returns the offset of the suffix of a word, that of its dot.
fn suffix_at(word: &str) -> Option<usize> {
    word.rfind('.').filter(|dot| *dot >= directory_of(word).len())
}

/// Words that a filter keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Matches,
    Others,
}

impl Make<'_> {
    /// Makes a new text of each word.
    async fn map_words(&mut self, text: &str, map: impl Fn(&str) -> Option<String>) -> Result<String> {
        let mut out = String::new();
        for word in text.split_whitespace() {
            self.shell.step(1).await?;
            if let Some(word) = map(word) {
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(&word);
            }
            if out.len() > MAX_EXPANSION {
                return Err(Failure::Memory);
            }
        }
        Ok(out)
    }

    /// `patsubst`
    pub(super) async fn replace_words(&mut self, from: &str, to: &str, text: &str) -> Result<String> {
        let pattern = Pattern::new(from);
        self.map_words(text, |word| {
            Some(match pattern.stem(word) {
                Some(stem) if pattern.after.is_some() => with_stem(to, stem),
                Some(_) => to.to_owned(),
                None => word.to_owned(),
            })
        })
        .await
    }

    /// Returns the words that match one of the patterns, or the others.
    async fn filter(&mut self, patterns: &str, text: &str, keep: Keep) -> Result<String> {
        let patterns: Vec<Pattern<'_>> = patterns.split_whitespace().map(Pattern::new).collect();
        let mut kept = Vec::new();
        for word in text.split_whitespace() {
            self.shell.step(1 + patterns.len() as u64 / 64).await?;
            let matches = patterns.iter().any(|pattern| pattern.stem(word).is_some());
            if matches == (keep == Keep::Matches) {
                kept.push(word);
            }
        }
        Ok(kept.join(" "))
    }

    async fn number(&mut self, text: &str, function: &str, which: &str) -> Result<usize> {
        match text.trim().parse() {
            Ok(number) => Ok(number),
            Err(_) => self.fatal(&format!("non-numeric {which} argument to '{function}' function: '{text}'")),
        }
    }

    /// Calls a function. Arguments that may not be needed are expanded by it.
    pub(super) async fn function(&mut self, name: &'static str, text: &str, open: char, close: char) -> Result<String> {
        let most = FUNCTIONS.iter().find(|(known, _)| *known == name).map_or(1, |(_, most)| *most);
        let given = split_arguments(text, open, close, most);
        let least = match name {
            "addprefix" | "addsuffix" | "filter" | "filter-out" | "findstring" | "join" | "word" | "if" => 2,
            "foreach" | "patsubst" | "subst" | "wordlist" => 3,
            _ => 1,
        };
        if given.len() < least {
            return self.fatal(&format!("insufficient number of arguments ({}) to function '{name}'", given.len()));
        }
        match name {
            "if" => {
                let holds = !self.expand(given[0].trim()).await?.is_empty();
                return match (holds, given.get(2)) {
                    (true, _) => self.expand(given[1]).await,
                    (false, Some(otherwise)) => self.expand(otherwise).await,
                    (false, None) => Ok(String::new()),
                };
            }
            "or" | "and" => {
                let mut last = String::new();
                for part in given {
                    last = self.expand(part.trim()).await?;
                    if last.is_empty() == (name == "and") {
                        break;
                    }
                }
                return Ok(last);
            }
            "foreach" => return self.for_each(given[0], given[1], given[2]).await,
            _ => {}
        }
        let mut arguments = Vec::with_capacity(given.len());
        for part in given {
            arguments.push(self.expand(part).await?);
        }
        let first = arguments[0].as_str();
        let second = arguments.get(1).map_or("", String::as_str);
        let third = arguments.get(2).map_or("", String::as_str);
        match name {
            "subst" => {
                if first.is_empty() {
                    return Ok(format!("{third}{second}"));
                }
                let count = third.matches(first).count();
                if third.len() + count.saturating_mul(second.len()) > MAX_EXPANSION {
                    return Err(Failure::Memory);
                }
                Ok(third.replace(first, second))
            }
            "patsubst" => self.replace_words(first, second, third).await,
            "strip" => self.map_words(first, |word| Some(word.to_owned())).await,
            "findstring" => Ok(if second.contains(first) { first.to_owned() } else { String::new() }),
            "filter" => self.filter(first, second, Keep::Matches).await,
            "filter-out" => self.filter(first, second, Keep::Others).await,
            "sort" => {
                let mut words = BTreeSet::new();
                for word in first.split_whitespace() {
                    self.shell.step(1).await?;
                    words.insert(word);
                }
                Ok(words.into_iter().collect::<Vec<_>>().join(" "))
            }
            "words" => Ok(first.split_whitespace().count().to_string()),
            "firstword" => Ok(first.split_whitespace().next().unwrap_or_default().to_owned()),
            "lastword" => Ok(first.split_whitespace().next_back().unwrap_or_default().to_owned()),
            "word" => {
                let number = self.number(first, "word", "first").await?;
                if number == 0 {
                    return self.fatal("first argument to 'word' function must be greater than 0");
                }
                Ok(second.split_whitespace().nth(number - 1).unwrap_or_default().to_owned())
            }
            "wordlist" => {
                let from = self.number(first, "wordlist", "first").await?;
                let to = self.number(second, "wordlist", "second").await?;
                if from == 0 {
                    return self.fatal("invalid first argument to 'wordlist' function: '0'");
                }
                let words = third.split_whitespace().skip(from - 1).take(to.saturating_add(1).saturating_sub(from));
                Ok(words.collect::<Vec<_>>().join(" "))
            }
            "dir" => {
                let directory = |word: &str| match directory_of(word) {
                    "" => "./".to_owned(),
                    directory => directory.to_owned(),
                };
                self.map_words(first, |word| Some(directory(word))).await
            }
            "notdir" => self.map_words(first, |word| Some(word[directory_of(word).len()..].to_owned())).await,
            "suffix" => self.map_words(first, |word| suffix_at(word).map(|at| word[at..].to_owned())).await,
            "basename" => {
                self.map_words(first, |word| Some(word[..suffix_at(word).unwrap_or(word.len())].to_owned())).await
            }
            "addprefix" => self.map_words(second, |word| Some(format!("{first}{word}"))).await,
            "addsuffix" => self.map_words(second, |word| Some(format!("{word}{first}"))).await,
            "join" => {
                let (mut left, mut right) = (first.split_whitespace(), second.split_whitespace());
                let mut joined = Vec::new();
                loop {
                    self.shell.step(1).await?;
                    match (left.next(), right.next()) {
                        (None, None) => return Ok(joined.join(" ")),
                        (left, right) => joined.push(format!("{}{}", left.unwrap_or(""), right.unwrap_or(""))),
                    }
                }
            }
            "wildcard" => self.wildcard(first).await,
            "abspath" => {
                let cwd = self.shell.cwd.clone();
                self.map_words(first, |word| Some(absolute(&cwd, word))).await
            }
            "realpath" => {
                let (cwd, tree) = (self.shell.cwd.clone(), self.shell.tree.clone());
                self.map_words(first, |word| lock(&tree).real_path(&absolute(&cwd, word)).ok()).await
            }
            "shell" => self.output_of(first).await,
            "info" => {
                self.shell.out("make", format!("{first}\n").as_bytes()).await?;
                Ok(String::new())
            }
            "warning" => {
                self.shell.say(&format!("{}{first}\n", self.place())).await;
                Ok(String::new())
            }
            "error" => self.fatal(first),
            "eval" => {
                let text = first.to_owned();
                self.evaluate(&text).await?;
                Ok(String::new())
            }
            "value" => Ok(self.variables.get(first).map(|variable| variable.value.to_string()).unwrap_or_default()),
            "origin" => {
                Ok(self.variables.get(first).map_or("undefined", |variable| variable.origin.as_str()).to_owned())
            }
            "flavor" => Ok(match self.variables.get(first).map(|variable| variable.flavor) {
                None => "undefined",
                Some(Flavor::Simple) => "simple",
                Some(Flavor::Recursive) => "recursive",
            }
            .to_owned()),
            _ => self.call(&arguments).await,
        }
    }

    async fn for_each(&mut self, name: &str, list: &str, body: &str) -> Result<String> {
        let name = self.expand(name).await?.trim().to_owned();
        let list = self.expand(list).await?;
        let before = self.variables.remove(&name);
        let mut out = String::new();
        for (at, word) in list.split_whitespace().enumerate() {
            self.shell.step(1).await?;
            self.set(&name, word, Flavor::Simple, Origin::Automatic)?;
            if at > 0 {
                out.push(' ');
            }
            out.push_str(&self.expand(body).await?);
            if out.len() > MAX_EXPANSION {
                return Err(Failure::Memory);
            }
        }
        self.put_back(&name, before);
        Ok(out)
    }

    /// `call`: a variable with its arguments as `$(1)` and so on.
    async fn call(&mut self, arguments: &[String]) -> Result<String> {
        let name = arguments[0].trim();
        // A function's own name is called like a variable's.
        if let Some((function, _)) = FUNCTIONS.iter().find(|(known, _)| *known == name)
            && !matches!(*function, "call" | "if" | "or" | "and" | "foreach")
        {
            let text = arguments[1..].join(",").replace('$', "$$");
            return Box::pin(self.function(function, &text, '(', ')')).await;
        }
        let Some(variable) = self.variables.get(name).cloned() else { return Ok(String::new()) };
        // Those that a call around has set are not seen in this one.
        let count = arguments.len().max(self.call_arguments);
        let outer = std::mem::replace(&mut self.call_arguments, arguments.len());
        let mut before = Vec::new();
        for number in 0..count {
            let key = number.to_string();
            before.push((key.clone(), self.variables.remove(&key)));
            if let Some(argument) = arguments.get(number) {
                self.set(&key, argument, Flavor::Simple, Origin::Automatic)?;
            }
        }
        // It may call itself, with other arguments.
        let expanding = std::mem::take(&mut self.expanding);
        let value = self.expand(&variable.value).await?;
        self.expanding = expanding;
        self.call_arguments = outer;
        for (key, variable) in before {
            self.put_back(&key, variable);
        }
        Ok(value)
    }
}
