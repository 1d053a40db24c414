//! Rules of make, and the search for the one that makes a file.

use super::functions::{Pattern, with_stem};
use super::variables::Assignment;
use super::{BYTES_A_STEP, Failure, Make, NAMES_A_STEP, Result};
use crate::bounds::Held;
use proofbox_vfs::MAX_PATH;
use std::sync::Arc;

/// Rules of patterns that follow each other to make one file, but for the last.
const MAX_CHAIN: usize = 4;
/// Rules that one search looks at, those of files in between included.
const MAX_TRIED: usize = 100;

#[derive(Debug, Clone)]
pub(super) struct RecipeLine {
    pub(super) number: usize,
    pub(super) text: Arc<str>,
}

#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) file: Arc<str>,
    /// Line of the rule.
    pub(super) line: usize,
    pub(super) lines: Vec<RecipeLine>,
}

/// Target of explicit rules.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) prerequisites: Vec<String>,
    pub(super) order_only: Vec<String>,
    pub(super) recipe: Option<Arc<Recipe>>,
    pub(super) stem: Option<String>,
    pub(super) variables: Vec<Assignment>,
}

/// Rule for all files of a pattern.
#[derive(Debug)]
pub(super) struct PatternRule {
    pub(super) targets: Vec<String>,
    pub(super) prerequisites: Vec<String>,
    pub(super) order_only: Vec<String>,
    pub(super) recipe: Arc<Recipe>,
}

/// Rule that was found for a file.
#[derive(Debug, Clone)]
pub(super) struct Implied {
    pub(super) prerequisites: Vec<String>,
    pub(super) order_only: Vec<String>,
    pub(super) recipe: Arc<Recipe>,
    pub(super) stem: String,
}

/// Returns what the `%` of a pattern stands for. Without a slash in the pattern, it is about the last name of a path,
/// and the directory is part of the stem: it comes first of the two texts.
fn stem_of<'n>(pattern: &str, name: &'n str) -> Option<(&'n str, &'n str)> {
    let directory = if pattern.contains('/') { "" } else { super::functions::directory_of(name) };
    let stem = Pattern::new(pattern).stem(&name[directory.len()..]).filter(|stem| !stem.is_empty())?;
    Some((directory, stem))
}

/// Returns a prerequisite of a pattern rule: the directory of the stem comes before all of it.
fn prerequisite(pattern: &str, stem: &str) -> String {
    match stem.rfind('/') {
        Some(slash) if pattern.contains('%') => {
            format!("{}{}", &stem[..=slash], with_stem(pattern, &stem[slash + 1..]))
        }
        _ => with_stem(pattern, stem),
    }
}

impl Make<'_> {
    /// Finds the pattern rule that makes a file: the one with the shortest stem whose prerequisites are there, or can
    /// be made.
    pub(super) async fn implied(&mut self, name: &str) -> Result<Option<Implied>> {
        self.shell.step(1 + self.patterns.len() as u64).await?;
        let mut used = vec![false; self.patterns.len()];
        for depth in 0..=MAX_CHAIN {
            let found = self.search(name, depth, &mut used, &mut 0).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Searches with so many rules in between at most.
    async fn search(&self, name: &str, depth: usize, used: &mut [bool], tried: &mut usize) -> Result<Option<Implied>> {
        if name.len() > MAX_PATH {
            return Ok(None);
        }
        let names: usize = self.patterns.iter().map(|rule| rule.targets.len()).sum();
        self.shell.step(1 + (names / NAMES_A_STEP) as u64).await?;
        let mut candidates: Vec<(usize, (&str, &str))> = Vec::new();
        for (at, rule) in self.patterns.iter().enumerate().filter(|(at, _)| !used[*at]) {
            candidates.extend(rule.targets.iter().find_map(|target| stem_of(target, name)).map(|stem| (at, stem)));
        }
        candidates.sort_by_key(|(_, (directory, stem))| directory.len() + stem.len());
        for (at, (directory, stem)) in candidates {
            // A search that gets too long finds nothing.
            *tried += 1;
            if *tried > MAX_TRIED {
                return Ok(None);
            }
            let stem = format!("{directory}{stem}");
            used[at] = true;
            let holds = self.has_prerequisites(at, &stem, depth, used, tried).await?;
            used[at] = false;
            if holds {
                let rule = &self.patterns[at];
                let mut held = self.shell.shared.used.hold(0).ok_or(Failure::Memory)?;
                let prerequisites = self.names_of(&rule.prerequisites, &stem, &mut held).await?;
                let order_only = self.names_of(&rule.order_only, &stem, &mut held).await?;
                let recipe = Arc::clone(&rule.recipe);
                return Ok(Some(Implied { prerequisites, order_only, recipe, stem }));
            }
        }
        Ok(None)
    }

    /// Returns whether all that a rule needs for a stem is there, or can be made.
    async fn has_prerequisites(
        &self,
        at: usize,
        stem: &str,
        depth: usize,
        used: &mut [bool],
        tried: &mut usize,
    ) -> Result<bool> {
        for pattern in &self.patterns[at].prerequisites {
            // One at a time: they may be many, and the stem long.
            let name = prerequisite(pattern, stem);
            self.shell.step(1 + (name.len() / BYTES_A_STEP) as u64).await?;
            let is_there = self.exists(&name) || self.targets.contains_key(&name);
            if is_there {
                continue;
            }
            if depth == 0 || Box::pin(self.search(&name, depth - 1, used, tried)).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes the names that patterns stand for with a stem.
    async fn names_of(&self, patterns: &[String], stem: &str, held: &mut Held) -> Result<Vec<String>> {
        let mut names = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let name = prerequisite(pattern, stem);
            self.shell.step(1 + (name.len() / BYTES_A_STEP) as u64).await?;
            if !held.grow(name.len()) {
                return Err(Failure::Memory);
            }
            names.push(name);
        }
        Ok(names)
    }
}
