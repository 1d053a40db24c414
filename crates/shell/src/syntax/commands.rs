//! Lists, pipelines, simple commands, redirections and here-documents.

use super::reader::{Parser, Pending, SyntaxError};
use super::tree::{
    Assigned, Assignment, Chain, Command, Item, Kind, List, ListOp, Piece, Pipeline, Redirection, Target, Word,
};
use std::sync::{Arc, OnceLock};

/// Words that end a list where a command could begin.
const CLOSING: [&str; 8] = ["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Position of an assignment in a simple command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Assigns {
    BeforeCommand,
    InArgument,
}

/// Treatment of tabs at the start of a here-document's lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tabs {
    Keep,
    Strip,
}

impl Parser {
    /// Parses the list before the end of a line.
    pub(super) fn list_of_line(&mut self) -> Result<List, SyntaxError> {
        let mut list = List::new();
        loop {
            let (item, separated) = self.item()?;
            list.push(item);
            self.skip_blanks();
            if !separated || matches!(self.peek(), None | Some('\n' | ')')) {
                return Ok(list);
            }
        }
    }

    /// Commands up to a word or sign that closes them; at least one.
    pub(super) fn list(&mut self) -> Result<List, SyntaxError> {
        let mut list = List::new();
        loop {
            self.skip_newlines()?;
            if self.at_closing() {
                break;
            }
            let (item, separated) = self.item()?;
            list.push(item);
            self.skip_blanks();
            if !separated && self.peek() != Some('\n') {
                break;
            }
        }
        match list.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(list),
        }
    }

    pub(super) fn at_closing(&self) -> bool {
        match self.peek() {
            None | Some(')') => true,
            Some(';') => self.looking_at(";;") || self.looking_at(";&"),
            Some(_) => self.reserved().is_some_and(|word| CLOSING.contains(&word)),
        }
    }

    /// The word that stands here, if it could be a reserved one.
    pub(super) fn reserved(&self) -> Option<&str> {
        let rest = self.rest();
        let end = rest.find(|c: char| " \t\r\n;&|()<>".contains(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let could = !word.is_empty() && word.len() <= 8 && !word.contains(['\'', '"', '$', '\\', '`']);
        could.then_some(word)
    }

    /// Takes a reserved word.
    pub(super) fn keyword(&mut self, word: &str) -> Result<(), SyntaxError> {
        self.skip_newlines()?;
        match self.reserved() == Some(word) {
            true => {
                self.at += word.len();
                Ok(())
            }
            false => Err(self.unexpected()),
        }
    }

    /// Takes a reserved word if it is there.
    pub(super) fn takes_keyword(&mut self, word: &str) -> bool {
        let found = self.reserved() == Some(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Parses an item, and returns whether a separator came after it.
    fn item(&mut self) -> Result<(Item, bool), SyntaxError> {
        self.count()?;
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let joint = match () {
                () if self.take("&&") => ListOp::And,
                () if self.take("||") => ListOp::Or,
                () => break,
            };
            self.skip_newlines()?;
            rest.push((joint, self.pipeline()?));
        }
        let background = self.peek() == Some('&') && !self.looking_at("&>");
        let ends = background || (self.peek() == Some(';') && !self.looking_at(";;") && !self.looking_at(";&"));
        if ends {
            self.at += 1;
        }
        Ok((Item { chain: Arc::new(Chain { first, rest }), background }, ends))
    }

    fn pipeline(&mut self) -> Result<Pipeline, SyntaxError> {
        let (mut negated, mut timed) = (false, false);
        self.skip_blanks();
        if self.takes_keyword("time") {
            timed = true;
            self.skip_blanks();
            self.takes_keyword("-p");
            self.skip_blanks();
        }
        while self.takes_keyword("!") {
            negated = !negated;
            self.skip_blanks();
        }
        let mut commands = vec![self.command()?];
        loop {
            self.skip_blanks();
            let both = self.looking_at("|&");
            if self.peek() != Some('|') || self.looking_at("||") {
                return Ok(Pipeline { negated, timed, commands });
            }
            self.at += 1 + usize::from(both);
            if both && let Some(writer) = commands.last_mut() {
                let to = Target::Same(Word(vec![Piece::Plain("1".to_owned())]));
                writer.redirections.push(Redirection { descriptor: Some(2), reads: false, to });
            }
            self.skip_newlines()?;
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> Result<Command, SyntaxError> {
        self.count()?;
        self.skip_blanks();
        let line = self.line;
        if let Some(kind) = self.compound()? {
            let mut redirections = Vec::new();
            if !matches!(kind, Kind::Function { .. }) {
                self.skip_blanks();
                while let Some(redirection) = self.redirection()? {
                    redirections.push(redirection);
                    self.skip_blanks();
                }
            }
            return Ok(Command { line, kind, redirections });
        }
        let (mut assignments, mut words, mut redirections) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
                continue;
            }
            if (words.is_empty() || self.declares(&words))
                && let Some(assignment) =
                    self.assignment(if words.is_empty() { Assigns::BeforeCommand } else { Assigns::InArgument })?
            {
                match words.is_empty() {
                    true => assignments.push(assignment),
                    false => words.push(declared(assignment)),
                }
                continue;
            }
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some('(') => match self.function_body(&words, &assignments, &redirections)? {
                    Some(kind) => return Ok(Command { line, kind, redirections }),
                    None => return Err(self.unexpected()),
                },
                Some(_) => words.push(self.word()?),
            }
        }
        if words.is_empty() && assignments.is_empty() && redirections.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Command { line, kind: Kind::Simple { assignments, words }, redirections })
    }

    /// Returns whether the command takes assignments as arguments.
    fn declares(&self, words: &[Word]) -> bool {
        let name = words.first().and_then(Word::plain);
        name.is_some_and(|name| ["export", "local", "declare", "typeset", "readonly"].contains(&name))
    }

    /// `name()`, when the name has been read.
    fn function_body(
        &mut self,
        words: &[Word],
        assignments: &[Assignment],
        redirections: &[Redirection],
    ) -> Result<Option<Kind>, SyntaxError> {
        let ([word], [], []) = (words, assignments, redirections) else { return Ok(None) };
        let Some(name) = word.plain().map(str::to_owned) else { return Ok(None) };
        self.at += 1;
        self.skip_blanks();
        if !self.take(")") {
            return Err(self.unexpected());
        }
        self.function(name).map(Some)
    }

    pub(super) fn function(&mut self, name: String) -> Result<Kind, SyntaxError> {
        self.skip_newlines()?;
        let body = self.deeper(Self::command)?;
        if matches!(body.kind, Kind::Simple { .. } | Kind::Function { .. }) {
            return Err(self.unexpected());
        }
        Ok(Kind::Function { name, body: Arc::new(body) })
    }

    /// `name=…`, where one stands here.
    fn assignment(&mut self, position: Assigns) -> Result<Option<Assignment>, SyntaxError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..length];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let (name, after) = (name.to_owned(), &rest[length..]);
        let start = (self.at, self.line, self.nodes);
        let mut index = None;
        if after.starts_with('[') && position == Assigns::BeforeCommand {
            // Up to the bracket that closes it; in other words it is a pattern.
            let closes = after.find(']').is_some_and(|close| {
                let value = &after[close + 1..];
                (value.starts_with('=') || value.starts_with("+=")) && !after[..close].contains([' ', '\n', ';'])
            });
            if !closes {
                return Ok(None);
            }
            self.at += length + 1;
            index = Some(self.word_until(&[']'])?);
            self.at += 1;
        } else {
            self.at += length;
        }
        let append = self.take("+=");
        if !append && !self.take("=") {
            (self.at, self.line, self.nodes) = start;
            return Ok(None);
        }
        self.count()?;
        let value = match self.peek() {
            Some('(') if index.is_none() => {
                self.at += 1;
                let mut values = Vec::new();
                loop {
                    self.skip_newlines()?;
                    match self.peek() {
                        Some(')') => break,
                        None => return Err(self.unclosed(self.line, ')')),
                        Some(_) if self.operator().is_some() && !self.at_process() => return Err(self.unexpected()),
                        Some(_) => values.push(self.word()?),
                    }
                }
                self.at += 1;
                Assigned::List(values)
            }
            _ => Assigned::Text(self.word_or_nothing()?),
        };
        Ok(Some(Assignment { name, index, append, value }))
    }

    /// A redirection, where one stands here.
    pub(super) fn redirection(&mut self) -> Result<Option<Redirection>, SyntaxError> {
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let followed = rest[digits..].starts_with(['<', '>']);
        // That is part of a word.
        let process = rest[digits..].starts_with("<(") || rest[digits..].starts_with(">(");
        if process || (!followed && (digits > 0 || !rest.starts_with("&>"))) {
            return Ok(None);
        }
        let descriptor = match digits {
            0 => None,
            1..=3 => rest[..digits].parse().ok(),
            _ => return Err(self.refuse("a descriptor is out of range".to_owned())),
        };
        self.count()?;
        self.at += digits;
        let operator = self.operator().unwrap_or("<");
        self.at += operator.len();
        let to = match operator {
            "<<" | "<<-" => {
                Target::Here(self.here_document(if operator == "<<-" { Tabs::Strip } else { Tabs::Keep })?)
            }
            operator => {
                self.skip_blanks();
                let ends = matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>'));
                if ends && !self.at_process() {
                    return Err(self.unexpected());
                }
                let word = self.word()?;
                match operator {
                    "<" => Target::Read(word),
                    ">>" => Target::Append(word),
                    "<>" => Target::ReadWrite(word),
                    "&>" => Target::Both(word),
                    "&>>" => Target::BothAppend(word),
                    "<<<" => Target::HereString(word),
                    "<&" => Target::Same(word),
                    ">&" if descriptor.is_some() || word.plain().is_none_or(is_descriptor) => Target::Same(word),
                    ">&" => Target::Both(word),
                    _ => Target::Write(word),
                }
            }
        };
        Ok(Some(Redirection { descriptor, reads: operator.starts_with('<'), to }))
    }

    fn here_document(&mut self, tabs: Tabs) -> Result<Arc<OnceLock<Word>>, SyntaxError> {
        self.skip_blanks();
        let start = self.at;
        let word = self.word()?;
        let quoted = self.slice(start, self.at).contains(['\'', '"', '\\']);
        let mut end = String::new();
        flatten(&word.0, &mut end);
        if end.is_empty() && !quoted {
            return Err(self.unexpected());
        }
        let body = Arc::new(OnceLock::new());
        self.pending.push(Pending { end, quoted, strip_tabs: tabs == Tabs::Strip, body: Arc::clone(&body) });
        Ok(body)
    }

    /// Reads the bodies that were announced on the line that just ended. One that the text's end cuts off ends there.
    pub(super) fn read_pending(&mut self) -> Result<(), SyntaxError> {
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            let first = self.line;
            let mut is_closed = false;
            while !self.rest().is_empty() {
                let rest = self.rest();
                let length = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
                let mut line = &rest[..length];
                if pending.strip_tabs {
                    line = line.trim_start_matches('\t');
                }
                let last = line.strip_suffix('\n').unwrap_or(line) == pending.end;
                if !last {
                    body.push_str(line);
                }
                self.line += usize::from(rest[..length].ends_with('\n'));
                self.at += length;
                if last {
                    is_closed = true;
                    break;
                }
            }
            self.open_document |= !is_closed;
            let word = match pending.quoted {
                true => Word(vec![Piece::Quoted(body)]),
                false => {
                    let mut inner = Self::within(&body, first, self.depth)?;
                    inner.nodes = self.nodes;
                    let pieces = inner.here_text()?;
                    self.nodes = inner.nodes;
                    Word(vec![Piece::Double(pieces)])
                }
            };
            // Nobody else sets it.
            let _ = pending.body.set(word);
        }
        Ok(())
    }
}

fn is_descriptor(text: &str) -> bool {
    text == "-" || text.strip_suffix('-').unwrap_or(text).chars().all(|c| c.is_ascii_digit())
}

/// The text of a here-document's end as it stands, without quotes.
fn flatten(pieces: &[Piece], text: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
            Piece::Double(inner) => flatten(inner, text),
            Piece::Shared(piece) => flatten(std::slice::from_ref(piece), text),
            Piece::Parameter(_) | Piece::Command(_) | Piece::Process(_) | Piece::Arithmetic(_) => {}
        }
    }
}

/// An assignment as an argument of `export` and the like: one word that is not split.
fn declared(assignment: Assignment) -> Word {
    let sign = if assignment.append { "+=" } else { "=" };
    let mut pieces = vec![Piece::Quoted(format!("{}{sign}", assignment.name))];
    match assignment.value {
        Assigned::Text(word) => pieces.extend(word.0.into_iter().map(|piece| match piece {
            Piece::Plain(text) => Piece::Plain(text),
            Piece::Quoted(text) => Piece::Quoted(text),
            other => Piece::Double(match other {
                Piece::Double(inner) => inner,
                single => vec![single],
            }),
        })),
        Assigned::List(words) => {
            // Read again by the builtin: each value in quotes of its own.
            pieces.push(Piece::Quoted("(".to_owned()));
            for word in words {
                pieces.push(Piece::Quoted("\u{1}".to_owned()));
                pieces.push(Piece::Double(word.0));
            }
        }
    }
    Word(pieces)
}
