//! Compound commands: groups, loops, choices, functions.

use super::reader::{Parser, SyntaxError};
use super::tree::{Arm, Kind, List, Then, Word};

impl Parser {
    /// A compound command, where one begins here.
    pub(super) fn compound(&mut self) -> Result<Option<Kind>, SyntaxError> {
        if self.looking_at("((")
            && let Some(expression) = self.arithmetic_body(2)?
        {
            return Ok(Some(Kind::Arithmetic(expression)));
        }
        if self.peek() == Some('(') {
            return self.deeper(Self::subshell).map(Some);
        }
        let read = match self.reserved() {
            Some("{") => Self::group,
            Some("if") => Self::choice,
            Some("while" | "until") => Self::repetition,
            Some("for") => Self::iteration,
            Some("case") => Self::case,
            Some("function") => Self::named_function,
            Some("[[") => Self::conditional,
            Some(word @ ("select" | "coproc")) => return Err(self.refuse(format!("`{word}' is not supported"))),
            Some("then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}") => return Err(self.unexpected()),
            Some(_) | None => return Ok(None),
        };
        self.deeper(read).map(Some)
    }

    fn subshell(&mut self) -> Result<Kind, SyntaxError> {
        let line = self.line;
        self.at += 1;
        let list = self.list()?;
        self.close(line, ')')?;
        Ok(Kind::Subshell(list))
    }

    pub(super) fn close(&mut self, line: usize, closing: char) -> Result<(), SyntaxError> {
        self.skip_newlines()?;
        match self.peek() {
            Some(c) if c == closing => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.unexpected()),
            None if closing == ')' => Err(self.unexpected()),
            None => Err(self.unclosed(line, closing)),
        }
    }

    fn group(&mut self) -> Result<Kind, SyntaxError> {
        self.keyword("{")?;
        let list = self.list()?;
        self.keyword("}")?;
        Ok(Kind::Group(list))
    }

    fn choice(&mut self) -> Result<Kind, SyntaxError> {
        self.keyword("if")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.list()?;
            self.keyword("then")?;
            branches.push((condition, self.list()?));
            self.skip_newlines()?;
            if !self.takes_keyword("elif") {
                break;
            }
        }
        let otherwise = match self.takes_keyword("else") {
            true => Some(self.list()?),
            false => None,
        };
        self.keyword("fi")?;
        Ok(Kind::If { branches, otherwise })
    }

    fn repetition(&mut self) -> Result<Kind, SyntaxError> {
        let until = self.takes_keyword("until");
        if !until {
            self.keyword("while")?;
        }
        let condition = self.list()?;
        let body = self.do_group()?;
        Ok(Kind::While { until, condition, body })
    }

    fn do_group(&mut self) -> Result<List, SyntaxError> {
        self.keyword("do")?;
        let body = self.list()?;
        self.keyword("done")?;
        Ok(body)
    }

    fn iteration(&mut self) -> Result<Kind, SyntaxError> {
        self.keyword("for")?;
        self.skip_blanks();
        if self.looking_at("((") {
            return self.counting();
        }
        let name = self.name()?;
        self.skip_newlines()?;
        let words = match self.takes_keyword("in") {
            true => Some(self.words_of_line()?),
            false => None,
        };
        self.skip_blanks();
        if self.peek() == Some(';') {
            self.at += 1;
        }
        self.skip_newlines()?;
        let body = match self.reserved() {
            Some("{") => self.braced()?,
            _ => self.do_group()?,
        };
        Ok(Kind::For { name, words, body })
    }

    fn braced(&mut self) -> Result<List, SyntaxError> {
        self.keyword("{")?;
        let list = self.list()?;
        self.keyword("}")?;
        Ok(list)
    }

    fn words_of_line(&mut self) -> Result<Vec<Word>, SyntaxError> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(words),
                Some('&' | '|' | '(' | ')' | '<' | '>') if !self.at_process() => return Err(self.unexpected()),
                Some(_) => words.push(self.word()?),
            }
        }
    }

    /// `for ((start; condition; step))`
    fn counting(&mut self) -> Result<Kind, SyntaxError> {
        let line = self.line;
        self.at += 2;
        let mut parts = Vec::new();
        for _ in 0..2 {
            parts.push(self.arithmetic_until(&[';'], line)?);
            self.at += 1;
        }
        parts.push(self.arithmetic_until(&[')'], line)?);
        if !self.take("))") {
            return Err(self.unexpected());
        }
        self.skip_blanks();
        if self.peek() == Some(';') {
            self.at += 1;
        }
        self.skip_newlines()?;
        let body = match self.reserved() {
            Some("{") => self.braced()?,
            _ => self.do_group()?,
        };
        let mut parts = parts.into_iter();
        let mut part = || parts.next().unwrap_or_default();
        Ok(Kind::CountingFor { start: part(), condition: part(), step: part(), body })
    }

    /// A name where one must stand.
    fn name(&mut self) -> Result<String, SyntaxError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = rest[..length].to_owned();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        self.at += length;
        Ok(name)
    }

    fn case(&mut self) -> Result<Kind, SyntaxError> {
        self.keyword("case")?;
        self.skip_blanks();
        let word = self.word()?;
        self.keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.takes_keyword("esac") {
                return Ok(Kind::Case { word, arms });
            }
            arms.push(self.arm()?);
        }
    }

    fn arm(&mut self) -> Result<Arm, SyntaxError> {
        self.count()?;
        self.take("(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')) {
                return Err(self.unexpected());
            }
            patterns.push(self.word()?);
            self.skip_blanks();
            if !self.take("|") {
                break;
            }
        }
        if !self.take(")") {
            return Err(self.unexpected());
        }
        self.skip_newlines()?;
        let body = match self.at_closing() {
            true => List::new(),
            false => self.list()?,
        };
        self.skip_newlines()?;
        let then = match () {
            () if self.take(";;&") => Then::Match,
            () if self.take(";;") => Then::Leave,
            () if self.take(";&") => Then::Fall,
            () if self.reserved() == Some("esac") => Then::Leave,
            () => return Err(self.unexpected()),
        };
        Ok(Arm { patterns, body, then })
    }

    /// Parses `function name`.
    fn named_function(&mut self) -> Result<Kind, SyntaxError> {
        self.keyword("function")?;
        self.skip_blanks();
        let word = self.word()?;
        let Some(name) = word.plain().map(str::to_owned) else { return Err(self.unexpected()) };
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            if !self.take(")") {
                return Err(self.unexpected());
            }
        }
        self.function(name)
    }
}
