//! Reader of makefiles.

use super::functions::{Pattern, with_stem};
use super::rules::{PatternRule, Recipe, RecipeLine, Target};
use super::variables::{Assignment, Flavor, Operator, Origin, find_outside};
use super::{BYTES_A_STEP, Failure, Make, NAMES_A_STEP, Result};
use crate::programs::input::Content;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Conditions within each other.
const MAX_CONDITIONS: usize = 100;
/// Makefiles that include each other.
const MAX_INCLUDES: usize = 20;
/// Longest line that is read, in bytes, those that backslashes join to it included.
const MAX_LINE: usize = 1 << 20;
/// Prerequisites of one target.
const MAX_PREREQUISITES: usize = 30_000;
/// Memory of what a makefile is read into, for each of its bytes.
const MEMORY_A_BYTE: usize = 4;

/// Memory of a warning, without the names in it.
const MEMORY_OF_WARNING: usize = 100;

/// Condition around the lines that are read.
struct Condition {
    /// True when these lines count.
    holds: bool,
    /// True when one of the branches so far has held.
    has_held: bool,
    has_else: bool,
}

/// Rule whose recipe is being read.
#[derive(Default)]
struct OpenRule {
    targets: Vec<String>,
    prerequisites: Vec<String>,
    order_only: Vec<String>,
    /// Patterns of the target and the prerequisites of a static pattern rule.
    pattern: Option<(String, Vec<String>)>,
    recipe: Vec<RecipeLine>,
    has_recipe: bool,
    is_double: bool,
    line: usize,
}

/// Progress in one makefile.
struct Reader<'t> {
    lines: LogicalLines<'t>,
    conditions: Vec<Condition>,
    rule: Option<OpenRule>,
}

impl Reader<'_> {
    /// Returns whether lines count here: every condition around them holds.
    fn counts(&self) -> bool {
        self.conditions.iter().all(|condition| condition.holds)
    }
}

/// Treatment of an included makefile that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFile {
    Fails,
    /// Left out (`-include`).
    Ignored,
}

/// Lines of a text, each with its number. A backslash at the end of one joins the next, until it is too long.
struct LogicalLines<'t> {
    /// Text that is left; none at the end.
    rest: Option<&'t str>,
    number: usize,
}

impl Iterator for LogicalLines<'_> {
    type Item = (usize, String);

    fn next(&mut self) -> Option<(usize, String)> {
        let first = self.number;
        let mut whole = String::new();
        let mut is_joined = false;
        while let Some(rest) = self.rest.take() {
            let (line, rest) = rest.split_once('\n').map_or((rest, None), |(line, rest)| (line, Some(rest)));
            self.rest = rest;
            self.number += 1;
            if is_joined {
                whole.push('\n');
            }
            let line = line.strip_suffix('\r').unwrap_or(line);
            whole.push_str(line);
            is_joined = joins_next(line) && whole.len() <= MAX_LINE;
            if !is_joined {
                return Some((first, whole));
            }
        }
        is_joined.then_some((first, whole))
    }
}

/// Returns whether a backslash at the end of a line joins the next.
pub(super) fn joins_next(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// Returns a name without `./` in front.
pub(super) fn without_dot(name: &str) -> &str {
    if name.len() > 2 { name.strip_prefix("./").unwrap_or(name) } else { name }
}

/// Makes one line of those that backslashes join.
fn joined(line: &str) -> String {
    if !line.contains("\\\n") {
        return line.to_owned();
    }
    let parts: Vec<&str> = line.split("\\\n").collect();
    let last = parts.len() - 1;
    let trimmed = parts.iter().enumerate().map(|(at, part)| {
        let part = if at > 0 { part.trim_start() } else { part };
        if at < last { part.trim_end() } else { part }
    });
    trimmed.collect::<Vec<_>>().join(" ")
}

/// Returns a line without its comment.
fn without_comment(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&'#') => out.extend(characters.next()),
            '#' => break,
            c => out.push(c),
        }
    }
    out
}

/// Splits off the first word.
fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_start())
}

/// Parses an assignment, if a line is one.
fn parse_assignment(line: &str, origin: Origin) -> Option<Assignment> {
    let at = find_outside(line, &['=', ':', '#'])?;
    let (name, rest) = line.split_at(at);
    let (operator, name, value) = if let Some(value) = rest.strip_prefix("::=").or_else(|| rest.strip_prefix(":=")) {
        (Operator::Simple, name, value)
    } else {
        let value = rest.strip_prefix('=')?;
        match name.chars().next_back() {
            Some('?') => (Operator::IfUnset, &name[..name.len() - 1], value),
            Some('+') => (Operator::Append, &name[..name.len() - 1], value),
            Some('!') => (Operator::Shell, &name[..name.len() - 1], value),
            _ => (Operator::Recursive, name, value),
        }
    };
    let name = name.trim();
    // Blanks may be within a reference.
    if find_outside(name, &[' ', '\t']).is_some() {
        return None;
    }
    let value = without_comment(value).trim_start().to_owned();
    Some(Assignment { name: name.to_owned(), operator, value, origin, is_exported: false })
}

/// Returns the assignment that a line is, with `export` and `override` before it.
fn assignment_of(line: &str) -> Option<Assignment> {
    let mut rest = line.trim_start();
    let (mut origin, mut is_exported) = (Origin::File, false);
    loop {
        let (word, after) = first_word(rest);
        let is_modifier = matches!(word, "override" | "export" | "private");
        // It may be the name of a variable.
        if !is_modifier || after.starts_with(['=', ':', '+', '?']) {
            break;
        }
        match word {
            "override" => origin = Origin::Override,
            "export" => is_exported = true,
            _ => {}
        }
        rest = after;
    }
    let assignment = parse_assignment(rest, origin)?;
    Some(Assignment { is_exported, ..assignment })
}

/// Returns the two sides of `ifeq`: in parentheses, or in quotes.
fn condition_sides(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('(') {
        let inner = inner.strip_suffix(')')?;
        let comma = find_outside(inner, &[','])?;
        return Some((inner[..comma].trim_end(), inner[comma + 1..].trim_start()));
    }
    let quoted = |text: &str| {
        let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let end = text[1..].find(quote)?;
        Some((1..=end, end + 2))
    };
    let (left, after) = quoted(text)?;
    let rest = text[after..].trim_start();
    let (right, _) = quoted(rest)?;
    Some((&text[left], &rest[right]))
}

/// Returns whether a name is that of a special target, but for `.PHONY`.
fn is_special(name: &str) -> bool {
    let letters = name.strip_prefix('.').filter(|letters| !letters.is_empty());
    letters.is_some_and(|letters| letters.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

impl Make<'_> {
    /// Reads a makefile. False: there is none.
    pub(super) fn read_file<'a>(&'a mut self, path: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let opened = match path {
                "-" => Ok(self.shell.streams.stdin.clone()),
                path => self.shell.reader_of(path),
            };
            let Ok(reader) = opened else { return Ok(false) };
            self.shell.wait_for_other_end(reader.opened(), path).await;
            if self.includes >= MAX_INCLUDES {
                return self.fatal("makefiles include each other too deeply");
            }
            let content = Content::read(self.shell, "make", reader).await?;
            let text = String::from_utf8_lossy(&content.bytes).into_owned();
            self.grow(text.len() * MEMORY_A_BYTE)?;
            self.shell.step((text.len() / BYTES_A_STEP) as u64).await?;
            let known = self.variables.get("MAKEFILE_LIST").map(|list| list.value.to_string()).unwrap_or_default();
            self.set("MAKEFILE_LIST", &format!("{known} {path}"), Flavor::Simple, Origin::File)?;
            let before = self.position.take();
            self.includes += 1;
            self.read_text(&text, path, 1).await?;
            self.includes -= 1;
            self.position = before;
            Ok(true)
        })
    }

    /// Reads the text of `$(eval …)`.
    pub(super) fn evaluate<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.grow(text.len() * MEMORY_A_BYTE)?;
            let before = self.position.clone();
            let (file, line) = before.clone().unwrap_or_else(|| (Arc::from("make"), 1));
            self.read_text(text, &file, line).await?;
            self.position = before;
            Ok(())
        })
    }

    async fn read_text(&mut self, text: &str, file: &str, first: usize) -> Result<()> {
        let file: Arc<str> = Arc::from(file);
        let mut reader =
            Reader { lines: LogicalLines { rest: Some(text), number: first }, conditions: Vec::new(), rule: None };
        while let Some((number, line)) = reader.lines.next() {
            self.shell.step(1 + (line.len() / BYTES_A_STEP) as u64).await?;
            self.position = Some((Arc::clone(&file), number));
            if line.len() > MAX_LINE {
                return Err(Failure::Memory);
            }
            self.read_line(&mut reader, number, &line).await?;
        }
        if !reader.conditions.is_empty() {
            return self.fatal("missing 'endif'");
        }
        self.close_rule(&mut reader).await
    }

    async fn read_line(&mut self, reader: &mut Reader<'_>, number: usize, line: &str) -> Result<()> {
        let counts = reader.counts();
        if let Some(recipe) = line.strip_prefix('\t') {
            match &mut reader.rule {
                _ if !counts => return Ok(()),
                Some(rule) => {
                    rule.has_recipe = true;
                    rule.recipe.push(RecipeLine { number, text: Arc::from(recipe.replace("\\\n\t", "\\\n").as_str()) });
                    return Ok(());
                }
                None => {}
            }
        }
        let is_recipe = line.starts_with('\t');
        let line = joined(line);
        let plain = without_comment(&line);
        let (word, rest) = first_word(&plain);
        if word.is_empty() {
            return Ok(());
        }
        if matches!(word, "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif") {
            return self.read_condition(reader, word, rest.trim_end()).await;
        }
        if !counts {
            return Ok(());
        }
        if word == "define" || (matches!(word, "override" | "export") && first_word(rest).0 == "define") {
            self.close_rule(reader).await?;
            return self.read_definition(reader, &plain).await;
        }
        if let Some(assignment) = assignment_of(&line) {
            self.close_rule(reader).await?;
            return self.assign(&assignment).await;
        }
        match word {
            "include" | "-include" | "sinclude" => {
                self.close_rule(reader).await?;
                let missing = if word == "include" { MissingFile::Fails } else { MissingFile::Ignored };
                self.include(rest, missing).await
            }
            "export" | "unexport" => self.export(word == "export", rest).await,
            "undefine" => {
                let name = self.expand(rest.trim_end()).await?;
                self.variables.remove(name.trim());
                Ok(())
            }
            "vpath" => Ok(()),
            _ => {
                self.close_rule(reader).await?;
                self.read_rule(reader, number, &line, is_recipe).await
            }
        }
    }

    /// `export` and `unexport` of variables by their names, or of all.
    async fn export(&mut self, is_exported: bool, names: &str) -> Result<()> {
        let names = self.expand(names).await?;
        if names.trim().is_empty() {
            self.exports_all = is_exported;
        }
        for name in names.split_whitespace() {
            self.shell.step(1).await?;
            if !self.variables.contains_key(name) {
                self.set(name, "", Flavor::Recursive, Origin::File)?;
            }
            if let Some(variable) = self.variables.get_mut(name) {
                variable.is_exported = is_exported;
            }
        }
        Ok(())
    }

    async fn read_condition(&mut self, reader: &mut Reader<'_>, word: &str, rest: &str) -> Result<()> {
        match word {
            "endif" => match reader.conditions.pop() {
                Some(_) => Ok(()),
                None => self.fatal("extraneous 'endif'"),
            },
            "else" => {
                let Some(condition) = reader.conditions.pop() else { return self.fatal("extraneous 'else'") };
                if condition.has_else {
                    return self.fatal("only one 'else' per conditional");
                }
                let (word, rest) = first_word(rest);
                let around = reader.conditions.iter().all(|condition| condition.holds);
                let tests = around && !condition.has_held;
                let holds = match word {
                    "" => tests,
                    _ if !tests => false,
                    word => self.test_condition(word, rest).await?,
                };
                let has_held = condition.has_held || holds;
                reader.conditions.push(Condition { holds, has_held, has_else: word.is_empty() });
                Ok(())
            }
            word => {
                if reader.conditions.len() >= MAX_CONDITIONS {
                    return self.fatal("conditions are nested too deeply");
                }
                let holds = reader.counts() && self.test_condition(word, rest).await?;
                reader.conditions.push(Condition { holds, has_held: holds, has_else: false });
                Ok(())
            }
        }
    }

    async fn test_condition(&mut self, word: &str, rest: &str) -> Result<bool> {
        if matches!(word, "ifdef" | "ifndef") {
            let name = self.expand(rest).await?;
            let is_set = self.variables.get(name.trim()).is_some_and(|variable| !variable.value.is_empty());
            return Ok(is_set == (word == "ifdef"));
        }
        if !matches!(word, "ifeq" | "ifneq") {
            return self.fatal("extraneous text after 'else' directive");
        }
        let Some((left, right)) = condition_sides(rest) else { return self.fatal("invalid syntax in conditional") };
        let (left, right) = (self.expand(left).await?, self.expand(right).await?);
        Ok((left == right) == (word == "ifeq"))
    }

    /// Reads the lines up to `endef`.
    async fn read_definition(&mut self, reader: &mut Reader<'_>, line: &str) -> Result<()> {
        let (mut origin, mut is_exported) = (Origin::File, false);
        let mut rest = line;
        let head = loop {
            let (word, after) = first_word(rest);
            match word {
                "override" => origin = Origin::Override,
                "export" => is_exported = true,
                _ => break after.trim_end(),
            }
            rest = after;
        };
        let operators = [
            ("::=", Operator::Simple),
            (":=", Operator::Simple),
            ("?=", Operator::IfUnset),
            ("+=", Operator::Append),
            ("!=", Operator::Shell),
            ("=", Operator::Recursive),
        ];
        let found = operators.iter().find_map(|(sign, operator)| Some((head.strip_suffix(sign)?, *operator)));
        let (name, operator) = found.unwrap_or((head, Operator::Recursive));
        let mut value = Vec::new();
        let mut depth = 1;
        loop {
            let Some((_, line)) = reader.lines.next() else {
                return self.fatal("missing 'endef', unterminated 'define'");
            };
            self.shell.step(1 + (line.len() / BYTES_A_STEP) as u64).await?;
            if line.len() > MAX_LINE {
                return Err(Failure::Memory);
            }
            if !line.starts_with('\t') {
                match first_word(&without_comment(&line)) {
                    ("endef", _) => depth -= 1,
                    ("define", _) => depth += 1,
                    _ => {}
                }
            }
            if depth == 0 {
                break;
            }
            value.push(line);
        }
        let (name, value) = (name.trim().to_owned(), value.join("\n"));
        self.assign(&Assignment { name, operator, value, origin, is_exported }).await
    }

    async fn include(&mut self, rest: &str, missing: MissingFile) -> Result<()> {
        let files = self.expand(rest).await?;
        for file in files.split_whitespace() {
            self.shell.step(1).await?;
            let mut found = self.wildcard(file).await?;
            if found.is_empty() {
                found = file.to_owned();
            }
            for path in found.split_whitespace() {
                let mut is_read = self.read_file(path).await?;
                for directory in self.include_directories.clone() {
                    is_read = is_read || self.read_file(&format!("{directory}/{path}")).await?;
                }
                if !is_read && missing == MissingFile::Fails {
                    let what = format!("{}{path}: No such file or directory\n", self.place());
                    self.shell.say(&what).await;
                    self.position = None;
                    return self.fatal(&format!("No rule to make target '{path}'"));
                }
            }
        }
        Ok(())
    }

    /// Reads the line of a rule: targets, prerequisites, and maybe the first line of its recipe.
    async fn read_rule(&mut self, reader: &mut Reader<'_>, number: usize, line: &str, is_recipe: bool) -> Result<()> {
        let colon = find_outside(line, &[':', '#']).filter(|at| line[*at..].starts_with(':'));
        if let Some(colon) = colon
            && let Some(assignment) = assignment_of(line[colon + 1..].trim_start_matches(':'))
            && !assignment.name.is_empty()
        {
            let targets = self.expand(&line[..colon]).await?;
            for target in targets.split_whitespace() {
                self.grow(target.len() + assignment.value.len() + 200)?;
                self.target_mut(target).variables.push(assignment.clone());
            }
            return Ok(());
        }
        let (head, recipe) = match find_outside(line, &[';', '#']) {
            Some(at) if line[at..].starts_with(';') => (&line[..at], Some(line[at + 1..].trim_start())),
            Some(at) => (&line[..at], None),
            None => (line, None),
        };
        let head = self.expand(head).await?;
        if head.trim().is_empty() {
            return Ok(());
        }
        let Some((targets, rest)) = head.split_once(':') else {
            if is_recipe && !self.has_rules {
                return self.fatal("recipe commences before first target");
            }
            if line.starts_with("        ") {
                return self.fatal("missing separator (did you mean TAB instead of 8 spaces?)");
            }
            return self.fatal("missing separator");
        };
        let is_double = rest.starts_with(':');
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let (pattern, rest) = match rest.split_once(':') {
            Some((pattern, rest)) => (Some(pattern.trim().to_owned()), rest),
            None => (None, rest),
        };
        let (normal, order_only) = rest.split_once('|').unwrap_or((rest, ""));
        let mut rule = OpenRule { is_double, line: number, ..OpenRule::default() };
        rule.targets = self.file_names(targets).await?;
        if rule.targets.is_empty() {
            return Ok(());
        }
        rule.order_only = self.file_names(order_only).await?;
        match pattern {
            Some(pattern) => {
                if !pattern.contains('%') {
                    return self.fatal("target pattern contains no '%'");
                }
                rule.pattern = Some((pattern, normal.split_whitespace().map(str::to_owned).collect()));
            }
            None => rule.prerequisites = self.file_names(normal).await?,
        }
        if let Some(recipe) = recipe {
            rule.has_recipe = true;
            rule.recipe.push(RecipeLine { number, text: Arc::from(recipe) });
        }
        self.has_rules = true;
        reader.rule = Some(rule);
        Ok(())
    }

    /// Splits a text into names of files; patterns of names are those that match.
    async fn file_names(&mut self, text: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for word in text.split_whitespace() {
            self.shell.step(1).await?;
            let word = without_dot(word);
            let found = match word.contains(['*', '?', '[']) {
                true => self.wildcard(word).await?,
                false => String::new(),
            };
            match found.is_empty() {
                true => names.push(word.to_owned()),
                false => names.extend(found.split_whitespace().map(str::to_owned)),
            }
        }
        Ok(names)
    }

    /// Puts a rule whose recipe has been read among the others.
    async fn close_rule(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let Some(rule) = reader.rule.take() else { return Ok(()) };
        let wanted = rule.pattern.as_ref().map_or(0, |(_, wanted)| wanted.len());
        let needed = rule.prerequisites.len() + rule.order_only.len() + wanted;
        if needed > MAX_PREREQUISITES {
            return self.fatal(&format!("too many prerequisites of '{}'", rule.targets[0]));
        }
        let file = self.position.as_ref().map(|(file, _)| Arc::clone(file)).unwrap_or_default();
        let wanted = rule.pattern.iter().flat_map(|(_, wanted)| wanted);
        let names = rule.prerequisites.iter().chain(&rule.order_only).chain(wanted);
        let names: usize = names.map(|name| name.len() + 50).sum();
        let targets: usize = rule.targets.iter().map(|name| name.len() + 300).sum();
        self.grow(names.saturating_mul(rule.targets.len()).saturating_add(targets))?;
        let recipe = rule
            .has_recipe
            .then(|| Arc::new(Recipe { file: Arc::clone(&file), line: rule.line, lines: rule.recipe.clone() }));
        if rule.pattern.is_none() && rule.targets[0].contains('%') {
            if let Some(recipe) = recipe {
                let (targets, prerequisites, order_only) = (rule.targets, rule.prerequisites, rule.order_only);
                self.patterns.push(PatternRule { targets, prerequisites, order_only, recipe });
            }
            return Ok(());
        }
        for name in &rule.targets {
            self.shell.step(1 + (needed / NAMES_A_STEP) as u64).await?;
            if name == ".PHONY" {
                self.phony.extend(rule.prerequisites.iter().cloned());
            } else if is_special(name) {
                self.specials.insert(name.clone(), rule.prerequisites.clone());
            } else {
                self.add_target(&rule, name, recipe.as_ref(), &file)?;
            }
        }
        Ok(())
    }

    /// Adds what a rule says to one of its targets.
    fn add_target(&mut self, rule: &OpenRule, name: &str, recipe: Option<&Arc<Recipe>>, file: &Arc<str>) -> Result<()> {
        let mut prerequisites = rule.prerequisites.clone();
        let mut stem = None;
        if let Some((pattern, wanted)) = &rule.pattern {
            let Some(found) = Pattern::new(pattern).stem(name) else {
                let what = format!("{}target '{name}' doesn't match the target pattern\n", self.place());
                self.grow(what.len() + MEMORY_OF_WARNING)?;
                self.warnings.push(what);
                return Ok(());
            };
            prerequisites = wanted.iter().map(|wanted| with_stem(wanted, found)).collect();
            stem = Some(found.to_owned());
        }
        if self.default_goal.is_none() && !name.contains('%') && (!name.starts_with('.') || name.contains('/')) {
            self.default_goal = Some(name.to_owned());
        }
        let known = self.targets.get(name).and_then(|target| target.recipe.clone());
        if let (Some(known), Some(recipe), false) = (&known, recipe, rule.is_double) {
            let first = |recipe: &Recipe| recipe.lines.first().map_or(recipe.line, |line| line.number);
            let (new, old) = (first(recipe), first(known));
            self.grow(2 * (file.len() + name.len() + MEMORY_OF_WARNING))?;
            self.warnings.push(format!("{file}:{new}: warning: overriding recipe for target '{name}'\n"));
            self.warnings.push(format!("{file}:{old}: warning: ignoring old recipe for target '{name}'\n"));
        }
        if let Some(known) = known.as_ref().filter(|_| recipe.is_some() && rule.is_double) {
            self.grow(known.lines.len() * std::mem::size_of::<RecipeLine>())?;
        }
        let known_names =
            self.targets.get(name).map_or(0, |target| target.prerequisites.len() + target.order_only.len());
        if known_names + prerequisites.len() + rule.order_only.len() > MAX_PREREQUISITES {
            return self.fatal(&format!("too many prerequisites of '{name}'"));
        }
        let target = self.target_mut(name);
        target.order_only.extend(rule.order_only.iter().cloned());
        // What the rule with the recipe needs comes first.
        if recipe.is_some() && known.is_none() {
            prerequisites.append(&mut target.prerequisites);
            target.prerequisites = prerequisites;
        } else {
            target.prerequisites.append(&mut prerequisites);
        }
        if let Some(recipe) = recipe {
            target.recipe = Some(match known.filter(|_| rule.is_double) {
                None => Arc::clone(recipe),
                Some(known) => {
                    let lines = known.lines.iter().chain(&recipe.lines).cloned().collect();
                    Arc::new(Recipe { file: Arc::clone(&known.file), line: known.line, lines })
                }
            });
            target.stem = stem;
        }
        Ok(())
    }

    fn target_mut(&mut self, name: &str) -> &mut Target {
        self.targets.entry(name.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_until_they_are_too_long() {
        let text = "\\\n".repeat(3 * MAX_LINE);
        let mut lines = LogicalLines { rest: Some(&text), number: 1 };
        let (_, first) = lines.next().expect("a line");
        assert!((MAX_LINE..=MAX_LINE + 2).contains(&first.len()), "{}", first.len());
        assert!(lines.next().is_some());
    }
}
