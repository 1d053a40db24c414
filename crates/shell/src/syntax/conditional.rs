//! Conditional commands, `[[ … ]]`.

use super::reader::{Parser, SyntaxError};
use super::tree::{Kind, Piece, Test, Word};

const UNARY: &str = "abcdefghknoprstuvwxzGLNOSR";

impl Parser {
    pub(super) fn conditional(&mut self) -> Result<Kind, SyntaxError> {
        self.keyword("[[")?;
        let test = self.any_of()?;
        self.skip_newlines()?;
        match self.takes_keyword("]]") {
            true => Ok(Kind::Test(test)),
            false => Err(self.unexpected()),
        }
    }

    fn any_of(&mut self) -> Result<Test, SyntaxError> {
        let mut test = self.all_of()?;
        let mut joined = 0;
        loop {
            self.skip_newlines()?;
            if !self.take("||") {
                self.depth -= joined;
                return Ok(test);
            }
            joined += self.one_more()?;
            test = Test::Or(Box::new(test), Box::new(self.all_of()?));
        }
    }

    fn all_of(&mut self) -> Result<Test, SyntaxError> {
        let mut test = self.one()?;
        let mut joined = 0;
        loop {
            self.skip_newlines()?;
            if !self.take("&&") {
                self.depth -= joined;
                return Ok(test);
            }
            joined += self.one_more()?;
            test = Test::And(Box::new(test), Box::new(self.one()?));
        }
    }

    /// Counts a joined test, which makes the tree one deeper.
    fn one_more(&mut self) -> Result<usize, SyntaxError> {
        self.deeper(|_| Ok(()))?;
        self.depth += 1;
        Ok(1)
    }

    fn one(&mut self) -> Result<Test, SyntaxError> {
        self.count()?;
        self.skip_newlines()?;
        if self.takes_keyword("!") {
            return Ok(Test::Not(Box::new(self.deeper(Self::one)?)));
        }
        if self.take("(") {
            let test = self.deeper(Self::any_of)?;
            self.skip_newlines()?;
            return match self.take(")") {
                true => Ok(test),
                false => Err(self.unexpected()),
            };
        }
        if self.reserved() == Some("]]") {
            return Err(self.unexpected());
        }
        if let Some(operator) = self.unary() {
            self.at += operator.len();
            self.skip_blanks();
            return Ok(Test::Unary(operator, self.operand()?));
        }
        let left = self.operand()?;
        self.skip_blanks();
        let Some(operator) = self.binary() else { return Ok(Test::Word(left)) };
        self.at += operator.len();
        self.skip_blanks();
        let right = match operator.as_str() {
            "=~" => self.regular_expression()?,
            _ => self.operand()?,
        };
        Ok(Test::Binary(left, operator, right))
    }

    fn operand(&mut self) -> Result<Word, SyntaxError> {
        match self.peek() {
            Some('<' | '>') if self.at_process() => self.word(),
            None | Some('\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') => Err(self.unexpected()),
            Some(_) => self.word(),
        }
    }

    fn unary(&self) -> Option<String> {
        let mut characters = self.rest().chars();
        let (dash, letter, after) = (characters.next()?, characters.next()?, characters.next()?);
        let is = dash == '-' && UNARY.contains(letter) && matches!(after, ' ' | '\t');
        is.then(|| format!("-{letter}"))
    }

    fn binary(&self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n'])?;
        let word = &rest[..end];
        let known = ["==", "=", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
        known.contains(&word).then(|| word.to_owned())
    }

    /// The right side of `=~`: ends at a blank outside brackets and parentheses.
    fn regular_expression(&mut self) -> Result<Word, SyntaxError> {
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                None | Some('\n') => break,
                Some(' ' | '\t') if open == 0 => break,
                Some('(') => {
                    open += 1;
                    self.at += 1;
                    pieces.push(Piece::Plain("(".to_owned()));
                }
                Some(')') => {
                    if open == 0 {
                        break;
                    }
                    open -= 1;
                    self.at += 1;
                    pieces.push(Piece::Plain(")".to_owned()));
                }
                Some('|' | '&' | ';' | '<' | '>' | ' ' | '\t') => {
                    let c = self.next().unwrap_or(' ');
                    pieces.push(Piece::Plain(c.to_string()));
                }
                Some(_) => {
                    self.count()?;
                    pieces.extend(self.word()?.0);
                }
            }
        }
        match pieces.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(Word(pieces)),
        }
    }
}
