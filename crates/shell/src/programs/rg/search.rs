//! Search of one file after the other, and what is shown of it.

use super::flags::Given;
use super::walk::{Found, os_error};
use crate::bounds::MAX_TEXT;
use crate::programs::input::Lines;
use crate::regular::Regular;
use crate::state::{Shell, Stop};
use crate::streams::Reader;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a file's beginning that tell whether it is binary.
const BINARY_START: usize = 64 << 10;
/// Lines of context before a match.
const MAX_BEFORE: usize = 100_000;

/// What is shown of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Its path, without any search.
    Path,
    Lines,
    Count,
    CountMatches,
    PathWithMatch,
    PathWithoutMatch,
}

/// Treatment of files with zero bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BinaryFiles {
    /// Those that are no operands are left out.
    Skip,
    /// A match is told, and no line is shown.
    Tell,
    AreText,
}

/// Role of a line that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Match,
    Context,
}

impl Role {
    fn sign(self) -> char {
        if self == Self::Match { ':' } else { '-' }
    }
}

/// Line of a file.
struct Line<'l> {
    number: u64,
    /// Offset in the file.
    offset: u64,
    text: &'l [u8],
}

pub(super) struct Search {
    regular: Option<Regular>,
    mode: Mode,
    binary_files: BinaryFiles,
    is_inverted: bool,
    is_only_matching: bool,
    replacement: Option<String>,
    before: usize,
    after: usize,
    is_passthru: bool,
    most: u64,
    max_columns: Option<usize>,
    /// Whether a line that is too long is shown as far as its length allows.
    previews: bool,
    numbers: bool,
    columns: bool,
    is_vimgrep: bool,
    offsets: bool,
    heading: bool,
    is_null: bool,
    trims: bool,
    includes_zero: bool,
    says_nothing: bool,
    separator: Option<String>,
    /// True when lines are shown with the path of their file.
    pub(super) names: bool,
    pub(super) is_quiet: bool,
    pub(super) found: bool,
    pub(super) failed: bool,
    /// True when lines of a file have been shown.
    has_shown: bool,
}

/// Progress in one file.
#[derive(Default)]
struct Progress {
    number: u64,
    offset: u64,
    lines: u64,
    matches: u64,
    after: usize,
    before: VecDeque<(u64, u64, Vec<u8>)>,
    before_bytes: usize,
    last_shown: u64,
    /// Offset of the first zero byte.
    zero: Option<u64>,
}

impl Search {
    /// Makes the search that flags ask for. Err: what is wrong with them.
    pub(super) fn new(shell: &Shell, given: &Given, regular: Option<Regular>) -> Result<Self, String> {
        let is_inverted = given.has("invert-match");
        let is_only_matching = given.has("only-matching");
        let modes = ["count", "count-matches", "files-with-matches", "files-without-match"];
        let mode = match given.last_of(&modes) {
            _ if regular.is_none() => Mode::Path,
            Some(("count", _)) if is_only_matching && !is_inverted => Mode::CountMatches,
            Some(("count", _)) => Mode::Count,
            Some(("count-matches", _)) if is_inverted => Mode::Count,
            Some(("count-matches", _)) => Mode::CountMatches,
            Some(("files-with-matches", _)) => Mode::PathWithMatch,
            Some(("files-without-match", _)) => Mode::PathWithoutMatch,
            _ => Mode::Lines,
        };
        let binary_files = match given.last_of(&["text", "binary"]) {
            Some(("text", _)) => BinaryFiles::AreText,
            Some(_) => BinaryFiles::Tell,
            None if given.count("unrestricted") > 2 => BinaryFiles::Tell,
            None => BinaryFiles::Skip,
        };
        let around = given.number("context")?;
        let is_passthru = given.has("passthru") || given.has("passthrough");
        let is_terminal = shell.streams.stdout.is_terminal();
        let is_vimgrep = given.has("vimgrep");
        let columns = given.has("column") || is_vimgrep;
        let separator = given.last_of(&["context-separator", "no-context-separator"]);
        Ok(Self {
            regular,
            mode,
            binary_files,
            is_inverted,
            is_only_matching,
            replacement: given.last_of(&["replace"]).map(|(_, text)| text.to_owned()),
            before: given.number("before-context")?.or(around).unwrap_or(0).min(MAX_BEFORE),
            after: given.number("after-context")?.or(around).unwrap_or(0),
            is_passthru,
            most: given.number("max-count")?.map_or(u64::MAX, |count| count as u64),
            max_columns: given.number("max-columns")?.filter(|columns| *columns > 0),
            previews: given.has("max-columns-preview") && !given.has("no-max-columns-preview"),
            numbers: given
                .last_of(&["line-number", "no-line-number", "pretty"])
                .map_or(is_terminal || columns, |(last, _)| last != "no-line-number"),
            columns,
            is_vimgrep,
            offsets: given.has("byte-offset"),
            heading: !is_vimgrep
                && given
                    .last_of(&["heading", "no-heading", "pretty"])
                    .map_or(is_terminal, |(last, _)| last != "no-heading"),
            is_null: given.has("null"),
            trims: given.has("trim"),
            includes_zero: given.has("include-zero"),
            says_nothing: given.has("no-messages"),
            separator: match separator {
                None => Some("--".to_owned()),
                Some(("context-separator", text)) => Some(text.to_owned()),
                Some(_) => None,
            },
            names: false,
            is_quiet: given.has("quiet"),
            found: false,
            failed: false,
            has_shown: false,
        })
    }

    /// Searches a file, and shows what is asked for.
    pub(super) async fn visit(&mut self, shell: &Shell, file: &Found) -> Result<(), Stop> {
        let Some(regular) = self.regular.take() else {
            self.found = true;
            return if self.is_quiet { Ok(()) } else { self.show_path(shell, file).await };
        };
        let done = self.search(shell, &regular, file).await;
        self.regular = Some(regular);
        done
    }

    async fn search(&mut self, shell: &Shell, regular: &Regular, file: &Found) -> Result<(), Stop> {
        let (reader, zero) = match self.open(shell, file).await {
            Ok(opened) => opened,
            Err(why) => {
                self.fail(shell, &format!("{}: {}", file.name, os_error(why))).await;
                return Ok(());
            }
        };
        if zero.is_some() && self.skips_binary(file) {
            self.found |= self.mode == Mode::PathWithoutMatch;
            return Ok(());
        }
        let mut progress = Progress { zero, ..Progress::default() };
        self.search_lines(shell, regular, file, reader, &mut progress).await?;
        match self.mode {
            Mode::Count | Mode::CountMatches => {
                let is_count = self.mode == Mode::Count;
                let count = if is_count { progress.lines } else { progress.matches };
                if !self.is_quiet && (count > 0 || self.includes_zero) {
                    let prefix = if self.names { self.with_sign(&file.name, ':') } else { String::new() };
                    shell.out("rg", format!("{prefix}{count}\n").as_bytes()).await?;
                }
            }
            Mode::PathWithMatch if progress.lines > 0 && !self.is_quiet => self.show_path(shell, file).await?,
            Mode::PathWithoutMatch if progress.lines == 0 => {
                self.found = true;
                if !self.is_quiet {
                    self.show_path(shell, file).await?;
                }
            }
            Mode::Path | Mode::Lines | Mode::PathWithMatch | Mode::PathWithoutMatch => {}
        }
        Ok(())
    }

    /// Returns whether a file is left out when it turns out to be binary.
    fn skips_binary(&self, file: &Found) -> bool {
        self.binary_files == BinaryFiles::Skip && !file.is_operand
    }

    /// Opens a file; the offset of the first zero byte at its beginning, when that matters.
    async fn open(&self, shell: &Shell, file: &Found) -> Result<(Reader, Option<u64>), &'static str> {
        if file.path == "-" {
            return Ok((shell.streams.stdin.clone(), None));
        }
        let reader = shell.reader_of(&file.path)?;
        if self.binary_files == BinaryFiles::AreText || !reader.is_file() {
            return Ok((reader, None));
        }
        let mut start = Vec::new();
        let mut first = shell.reader_of(&file.path)?;
        while start.len() < BINARY_START && first.read_into(&mut start, BINARY_START, None).await > 0 {}
        let zero = start.iter().position(|byte| *byte == 0);
        Ok((reader, zero.map(|at| at as u64)))
    }

    async fn search_lines(
        &mut self,
        shell: &Shell,
        regular: &Regular,
        file: &Found,
        reader: Reader,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let mut lines = Lines::new(shell, reader)?;
        let shows = self.mode == Mode::Lines && !self.is_quiet;
        loop {
            let is_over = progress.lines >= self.most;
            if (is_over && (progress.after == 0 || !shows)) || !lines.next(shell, "rg").await? {
                return Ok(());
            }
            progress.number += 1;
            let text = lines.line.as_slice();
            let line = Line { number: progress.number, offset: progress.offset, text };
            progress.offset += text.len() as u64 + 1;
            if progress.zero.is_none()
                && self.binary_files != BinaryFiles::AreText
                && let Some(at) = text.iter().position(|byte| *byte == 0)
            {
                progress.zero = Some(line.offset + at as u64);
                if self.skips_binary(file) {
                    return self.warn_of_binary(shell, file, progress).await;
                }
            }
            if !regular.takes(text.len()) {
                let what = format!("{}: line {} is too long for this expression", file.name, line.number);
                self.fail(shell, &what).await;
                return Ok(());
            }
            shell.step(regular.steps(text.len())).await?;
            if regular.is_match(text) == self.is_inverted {
                if shows {
                    self.pass(shell, regular, file, &line, progress).await?;
                }
                continue;
            }
            if is_over {
                progress.after -= 1;
                self.show(shell, regular, file, &line, Role::Match).await?;
                continue;
            }
            progress.lines += 1;
            if self.mode != Mode::PathWithoutMatch {
                self.found = true;
            }
            match self.mode {
                Mode::CountMatches => {
                    let mut matches = Matches::default();
                    while matches.next(shell, regular, text).await?.is_some() {
                        progress.matches += 1;
                    }
                }
                Mode::Count => {}
                Mode::Path | Mode::PathWithMatch | Mode::PathWithoutMatch => return Ok(()),
                Mode::Lines if self.is_quiet => return Ok(()),
                Mode::Lines => {
                    if progress.zero.is_some() {
                        return self.tell_binary(shell, file, progress).await;
                    }
                    self.begin_match(shell, regular, file, &line, progress).await?;
                    self.show(shell, regular, file, &line, Role::Match).await?;
                    progress.last_shown = line.number;
                    progress.after = self.after;
                }
            }
        }
    }

    /// Shows or keeps a line without a match, as context asks for.
    async fn pass(
        &mut self,
        shell: &Shell,
        regular: &Regular,
        file: &Found,
        line: &Line<'_>,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        if progress.after > 0 || self.is_passthru {
            progress.after = progress.after.saturating_sub(1);
            if progress.last_shown == 0 {
                self.begin_file(shell, file).await?;
            }
            progress.last_shown = line.number;
            return self.show(shell, regular, file, line, Role::Context).await;
        }
        if self.before == 0 {
            return Ok(());
        }
        progress.before_bytes += line.text.len();
        progress.before.push_back((line.number, line.offset, line.text.to_vec()));
        if progress.before.len() > self.before
            && let Some((.., text)) = progress.before.pop_front()
        {
            progress.before_bytes -= text.len();
        }
        match progress.before_bytes > MAX_TEXT {
            true => Err(shell.fails("rg", "memory exhausted").await),
            false => Ok(()),
        }
    }

    /// Shows what comes before a line with a match.
    async fn begin_match(
        &mut self,
        shell: &Shell,
        regular: &Regular,
        file: &Found,
        line: &Line<'_>,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let first = progress.before.front().map_or(line.number, |(number, ..)| *number);
        if progress.last_shown == 0 {
            self.begin_file(shell, file).await?;
        } else if first > progress.last_shown + 1 && (self.before > 0 || self.after > 0) {
            self.show_separator(shell).await?;
        }
        progress.before_bytes = 0;
        for (number, offset, text) in progress.before.drain(..) {
            let line = Line { number, offset, text: &text };
            self.show(shell, regular, file, &line, Role::Context).await?;
        }
        Ok(())
    }

    /// Shows what comes before the first line of a file.
    async fn begin_file(&mut self, shell: &Shell, file: &Found) -> Result<(), Stop> {
        let is_next = std::mem::replace(&mut self.has_shown, true);
        if self.heading && self.names {
            if is_next {
                shell.out("rg", b"\n").await?;
            }
            return self.show_path(shell, file).await;
        }
        match is_next && (self.before > 0 || self.after > 0) {
            true => self.show_separator(shell).await,
            false => Ok(()),
        }
    }

    async fn show_separator(&self, shell: &Shell) -> Result<(), Stop> {
        match &self.separator {
            Some(text) => shell.out("rg", format!("{text}\n").as_bytes()).await,
            None => Ok(()),
        }
    }

    async fn show_path(&self, shell: &Shell, file: &Found) -> Result<(), Stop> {
        shell.out("rg", self.with_sign(&file.name, '\n').as_bytes()).await
    }

    /// A path with what follows it: `sign`, or with `-0` a zero byte.
    fn with_sign(&self, path: &str, sign: char) -> String {
        let sign = if self.is_null { '\0' } else { sign };
        format!("{path}{sign}")
    }

    /// Shows a line, or its matches.
    async fn show(
        &self,
        shell: &Shell,
        regular: &Regular,
        file: &Found,
        line: &Line<'_>,
        role: Role,
    ) -> Result<(), Stop> {
        let is_match = role == Role::Match && !self.is_inverted;
        if is_match && (self.is_only_matching || self.is_vimgrep) {
            let mut matches = Matches::default();
            while let Some(found) = matches.next(shell, regular, line.text).await? {
                let mut out = self.prefix(file, line, role, Some(&found));
                let begin = out.len();
                match (&self.replacement, self.is_only_matching) {
                    (Some(replacement), true) => {
                        self.replace(shell, regular, line.text, &found, replacement, &mut out).await?;
                    }
                    (None, true) => out.extend_from_slice(&line.text[found]),
                    (_, false) => self.replace_all(shell, regular, line.text, &mut out).await?,
                }
                self.finish(shell, out, begin, role).await?;
            }
            return Ok(());
        }
        let mut first = None;
        if is_match && self.columns {
            first = Matches::default().next(shell, regular, line.text).await?;
        }
        let mut out = self.prefix(file, line, role, first.as_ref());
        let begin = out.len();
        match is_match {
            true => self.replace_all(shell, regular, line.text, &mut out).await?,
            false => out.extend_from_slice(line.text),
        }
        self.finish(shell, out, begin, role).await
    }

    /// Writes a line, of which `begin` bytes are the prefix, as far as its length allows.
    async fn finish(&self, shell: &Shell, mut out: Vec<u8>, begin: usize, role: Role) -> Result<(), Stop> {
        if self.trims {
            let blanks = out[begin..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            out.drain(begin..begin + blanks);
        }
        // The end of a line counts, that of a match is none.
        let length = out.len() - begin + usize::from(!self.is_only_matching || role == Role::Context);
        if let Some(most) = self.max_columns.filter(|most| length > *most) {
            if self.previews {
                let shown = String::from_utf8_lossy(&out[begin..]).chars().take(most).collect::<String>();
                out.truncate(begin);
                out.extend_from_slice(shown.as_bytes());
                out.extend_from_slice(b" [... omitted end of long line]");
            } else {
                out.truncate(begin);
                out.extend_from_slice(match role {
                    Role::Match => b"[Omitted long matching line]",
                    Role::Context => b"[Omitted long context line]",
                });
            }
        }
        out.push(b'\n');
        shell.out("rg", &out).await
    }

    fn prefix(&self, file: &Found, line: &Line<'_>, role: Role, found: Option<&Range<usize>>) -> Vec<u8> {
        let sign = role.sign();
        let mut prefix = String::new();
        if self.names && !self.heading {
            prefix.push_str(&self.with_sign(&file.name, sign));
        }
        if self.numbers {
            prefix.push_str(&format!("{}{sign}", line.number));
        }
        if self.columns && role == Role::Match {
            prefix.push_str(&format!("{}{sign}", found.map_or(0, |found| found.start) + 1));
        }
        if self.offsets {
            let within = found.filter(|_| self.is_only_matching).map_or(0, |found| found.start as u64);
            prefix.push_str(&format!("{}{sign}", line.offset + within));
        }
        prefix.into_bytes()
    }

    /// Appends a line, with its matches replaced when that is asked for.
    async fn replace_all(&self, shell: &Shell, regular: &Regular, text: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let Some(replacement) = &self.replacement else {
            out.extend_from_slice(text);
            return Ok(());
        };
        let mut matches = Matches::default();
        let mut end = 0;
        while let Some(found) = matches.next(shell, regular, text).await? {
            out.extend_from_slice(&text[end..found.start]);
            end = found.end;
            self.replace(shell, regular, text, &found, replacement, out).await?;
        }
        out.extend_from_slice(&text[end..]);
        Ok(())
    }

    /// Appends what replaces a match.
    async fn replace(
        &self,
        shell: &Shell,
        regular: &Regular,
        text: &[u8],
        found: &Range<usize>,
        replacement: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        // No group is longer than the match.
        let groups = replacement.matches('$').count();
        let longest = groups.saturating_mul(found.len()).saturating_add(replacement.len());
        if longest.saturating_add(out.len()) > MAX_TEXT {
            return Err(shell.fails("rg", "memory exhausted").await);
        }
        shell.step(1 + longest as u64 / 4096).await?;
        if let Some(captures) = regular.captures_at(text, found.start) {
            captures.expand(replacement.as_bytes(), out);
        }
        Ok(())
    }

    async fn tell_binary(&self, shell: &Shell, file: &Found, progress: &Progress) -> Result<(), Stop> {
        let offset = progress.zero.unwrap_or(0);
        let prefix = if self.names { format!("{}: ", file.name) } else { String::new() };
        let text = format!("{prefix}binary file matches (found \"\\0\" byte around offset {offset})\n");
        shell.out("rg", text.as_bytes()).await
    }

    /// Says that the rest of a binary file is not searched.
    async fn warn_of_binary(&self, shell: &Shell, file: &Found, progress: &Progress) -> Result<(), Stop> {
        if progress.lines == 0 || self.mode != Mode::Lines || self.is_quiet {
            return Ok(());
        }
        let offset = progress.zero.unwrap_or(0);
        let prefix = if self.names { format!("{}: ", file.name) } else { String::new() };
        let what = "WARNING: stopped searching binary file after match";
        let text = format!("{prefix}{what} (found \"\\0\" byte around offset {offset})\n");
        shell.out("rg", text.as_bytes()).await
    }

    async fn fail(&mut self, shell: &Shell, what: &str) {
        self.failed = true;
        if !self.says_nothing {
            shell.error("rg", what).await;
        }
    }
}

/// Matches in a line, one after the other.
#[derive(Default)]
struct Matches {
    from: usize,
    last_end: Option<usize>,
}

impl Matches {
    async fn next(&mut self, shell: &Shell, regular: &Regular, text: &[u8]) -> Result<Option<Range<usize>>, Stop> {
        loop {
            if self.from > text.len() {
                return Ok(None);
            }
            shell.step(regular.steps(text.len() - self.from)).await?;
            let Some(found) = regular.find_at(text, self.from) else { return Ok(None) };
            self.from = found.end.max(found.start + usize::from(found.is_empty()));
            // None that is empty follows at the end of one.
            if found.is_empty() && self.last_end == Some(found.end) {
                continue;
            }
            self.last_end = Some(found.end);
            return Ok(Some(found));
        }
    }
}
