//! Rules of make, and the search for the one that makes a file.

use super::functions::{Pattern, with_stem};
use super::variables::Assignment;
use super::{Make, Result};
use crate::bounds::Pace;
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
/// and the directory is part of the stem.
fn stem_of(pattern: &str, name: &str) -> Option<String> {
    if pattern.contains('/') {
        return Pattern::new(pattern).stem(name).filter(|stem| !stem.is_empty()).map(str::to_owned);
    }
    let (directory, last) = name.split_at(super::functions::directory_of(name).len());
    let stem = Pattern::new(pattern).stem(last).filter(|stem| !stem.is_empty())?;
    Some(format!("{directory}{stem}"))
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
        let mut pace = Pace::new();
        let mut used = vec![false; self.patterns.len()];
        for depth in 0..=MAX_CHAIN {
            let found = self.search(name, depth, &mut used, &mut 0);
            self.shell.count_paced(&mut pace).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Searches with so many rules in between at most.
    fn search(&self, name: &str, depth: usize, used: &mut [bool], tried: &mut usize) -> Option<Implied> {
        let mut candidates: Vec<(usize, String)> = Vec::new();
        for (at, rule) in self.patterns.iter().enumerate().filter(|(at, _)| !used[*at]) {
            candidates.extend(rule.targets.iter().find_map(|target| stem_of(target, name)).map(|stem| (at, stem)));
        }
        candidates.sort_by_key(|(_, stem)| stem.len());
        for (at, stem) in candidates {
            // A search that gets too long finds nothing.
            *tried += 1;
            if *tried > MAX_TRIED {
                return None;
            }
            let rule = &self.patterns[at];
            let prerequisites: Vec<String> =
                rule.prerequisites.iter().map(|pattern| prerequisite(pattern, &stem)).collect();
            used[at] = true;
            let holds = prerequisites.iter().all(|name| {
                self.exists(name)
                    || self.targets.contains_key(name)
                    || (depth > 0 && self.search(name, depth - 1, used, tried).is_some())
            });
            used[at] = false;
            if holds {
                let order_only = rule.order_only.iter().map(|pattern| prerequisite(pattern, &stem)).collect();
                let recipe = Arc::clone(&rule.recipe);
                return Some(Implied { prerequisites, order_only, recipe, stem });
            }
        }
        None
    }
}
