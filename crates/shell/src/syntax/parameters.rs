//! Expansions of the form `${…}`.

use super::reader::{Parser, SyntaxError};
use super::tree::{Anchor, Form, Index, Name, Parameter, Piece, Word};
use std::sync::Arc;

impl Parser {
    /// Parses the parameter after `${`, and the brace that closes it.
    pub(super) fn braced_parameter(&mut self, line: usize) -> Result<Piece, SyntaxError> {
        let start = self.at - 2;
        let parameter = self.parameter(line, start)?;
        match self.peek() {
            Some('}') => {
                self.at += 1;
                Ok(Piece::Parameter(Arc::new(parameter)))
            }
            None => Err(self.unclosed(line, '}')),
            Some(_) => Err(self.bad_substitution(start)),
        }
    }

    fn bad_substitution(&self, start: usize) -> SyntaxError {
        let from_start = self.slice(start, self.at).chars().chain(self.rest().chars());
        let text: String = from_start.take_while(|c| !matches!(c, '\n' | '}')).take(80).collect();
        self.refuse(format!("{text}}}: bad substitution"))
    }

    fn parameter(&mut self, line: usize, start: usize) -> Result<Parameter, SyntaxError> {
        if self.peek() == Some('#') && !matches!(self.peek_second(), Some('}' | ':' | '%' | '#' | '=' | '+') | None) {
            self.at += 1;
            let name = self.parameter_name(start)?;
            let index = self.index()?;
            return Ok(Parameter { name, index, form: Form::Length });
        }
        let indirect = self.peek() == Some('!') && self.peek_second().is_some_and(|c| c == '_' || c.is_alphanumeric());
        if indirect {
            self.at += 1;
            let name = self.parameter_name(start)?;
            let index = self.index()?;
            let form = match index {
                Some(Index::All | Index::Joined) => Form::Indexes,
                Some(Index::One(_)) | None => Form::Indirect,
            };
            return Ok(Parameter { name, index, form });
        }
        let name = self.parameter_name(start)?;
        let index = self.index()?;
        let form = self.form(line, start)?;
        Ok(Parameter { name, index, form })
    }

    fn parameter_name(&mut self, start: usize) -> Result<Name, SyntaxError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let text = &rest[..length];
        let name = match text.chars().next() {
            Some(c) if c.is_ascii_digit() => match text.parse() {
                Ok(number) => Name::Positional(number),
                Err(_) => return Err(self.bad_substitution(start)),
            },
            Some(_) => Name::Variable(text.to_owned()),
            None => match rest.chars().next() {
                Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                    self.at += 1;
                    return Ok(Name::Special(c));
                }
                Some(_) | None => return Err(self.bad_substitution(start)),
            },
        };
        self.at += length;
        Ok(name)
    }

    fn index(&mut self) -> Result<Option<Index>, SyntaxError> {
        if self.peek() != Some('[') {
            return Ok(None);
        }
        self.at += 1;
        let index = match () {
            () if self.looking_at("@]") => Index::All,
            () if self.looking_at("*]") => Index::Joined,
            () => Index::One(self.deeper(|parser| parser.word_until(&[']']))?),
        };
        self.at += match index {
            Index::All | Index::Joined => 2,
            Index::One(_) => 1,
        };
        Ok(Some(index))
    }

    fn form(&mut self, line: usize, start: usize) -> Result<Form, SyntaxError> {
        let Some(c) = self.peek() else { return Err(self.unclosed(line, '}')) };
        let second = self.peek_second();
        match (c, second) {
            ('}', _) => Ok(Form::Value),
            (':', Some(sign @ ('-' | '=' | '?' | '+'))) => {
                self.at += 2;
                Ok(Form::Otherwise { colon: true, sign, word: self.inner_word()? })
            }
            ('-' | '=' | '?' | '+', _) => {
                self.at += 1;
                Ok(Form::Otherwise { colon: false, sign: c, word: self.inner_word()? })
            }
            ('#' | '%', _) => {
                let longest = second == Some(c);
                self.at += 1 + usize::from(longest);
                Ok(Form::Trim { front: c == '#', longest, pattern: self.word_until(&['}'])? })
            }
            ('/', _) => {
                self.at += 1;
                let anchor = match self.peek() {
                    Some('/') => Anchor::All,
                    Some('#') => Anchor::Start,
                    Some('%') => Anchor::End,
                    Some(_) | None => Anchor::First,
                };
                self.at += usize::from(anchor != Anchor::First);
                let pattern = self.word_until(&['/', '}'])?;
                let with = match self.take("/") {
                    true => self.word_until(&['}'])?,
                    false => Word::default(),
                };
                Ok(Form::Replace { anchor, pattern, with })
            }
            (':', _) => {
                self.at += 1;
                let offset = self.arithmetic_until(&[':', '}'], line)?;
                let length = match self.take(":") {
                    true => Some(self.arithmetic_until(&['}'], line)?),
                    false => None,
                };
                Ok(Form::Slice { offset, length })
            }
            ('^' | ',', _) => {
                let all = second == Some(c);
                self.at += 1 + usize::from(all);
                Ok(Form::Case { upper: c == '^', all })
            }
            ('@', Some('Q')) => {
                self.at += 2;
                Ok(Form::Quoted)
            }
            _ => Err(self.bad_substitution(start)),
        }
    }

    /// The word after `:-` and the like.
    fn inner_word(&mut self) -> Result<Word, SyntaxError> {
        match self.within_quotes {
            true => self.quoted_word(),
            false => self.word_until(&['}']),
        }
    }
}
