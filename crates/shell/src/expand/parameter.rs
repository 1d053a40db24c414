//! `${…}`: whose value, and what is made of it.

use super::fields::{Fields, Wanted};
use super::pattern::{Lies, Pattern};
use super::put;
use crate::bounds::{MAX_TEXT, Pace};
use crate::state::{Shell, Stop, Value};
use crate::syntax::{Anchor, Form, Index, Name, Parameter, Piece, Quoting, Word};
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Value of a name that was looked up.
enum Found {
    /// Name that has no value.
    Unset,
    One(Arc<str>),
    /// `$@`, `$*` and the like: each value, and whether they are joined in quotes.
    Many {
        values: Vec<Arc<str>>,
        joined: bool,
    },
}

impl Shell {
    /// Returns whether pieces in double quotes are just a `$@` that is empty.
    pub(super) fn only_empty_all(&self, pieces: &[Piece]) -> bool {
        let [Piece::Parameter(parameter)] = pieces else { return false };
        match (&parameter.name, &parameter.index, &parameter.form) {
            (Name::Special('@'), None, Form::Value | Form::Slice { .. }) => self.positional.is_empty(),
            (Name::Variable(name), Some(Index::All), Form::Value | Form::Indexes) => self.elements(name).is_empty(),
            _ => false,
        }
    }

    fn elements(&self, name: &str) -> Vec<(u64, Arc<str>)> {
        match self.variables.get(name).and_then(|variable| variable.value.as_ref()) {
            Some(Value::Text(text)) => vec![(0, Arc::clone(text))],
            Some(Value::List(list)) => list.iter().map(|(index, text)| (*index, Arc::clone(text))).collect(),
            None => Vec::new(),
        }
    }

    async fn find(&mut self, parameter: &Parameter) -> Result<Found, Stop> {
        let one = |text: String| Found::One(Arc::from(text));
        Ok(match &parameter.name {
            Name::Variable(name) => match &parameter.index {
                None => match name.as_str() {
                    "RANDOM" if !self.variables.contains_key(name) => one(self.next_random().to_string()),
                    "LINENO" => one(self.line.to_string()),
                    "SECONDS" => one(((self.now() - self.shared.started) / 1_000_000_000).to_string()),
                    "EPOCHSECONDS" => one((self.now() / 1_000_000_000).to_string()),
                    "UID" | "EUID" => one("1000".to_owned()),
                    "BASH_VERSION" => one("5.2.0(1)-release".to_owned()),
                    "BASHPID" => one(self.process.number.to_string()),
                    "HOSTNAME" if !self.variables.contains_key(name) => one("sandbox".to_owned()),
                    "OSTYPE" => one("linux-gnu".to_owned()),
                    _ => self.text_of(name).map_or(Found::Unset, Found::One),
                },
                Some(all @ (Index::All | Index::Joined)) => {
                    let values = self.elements(name).into_iter().map(|(_, text)| text).collect();
                    Found::Many { values, joined: matches!(all, Index::Joined) }
                }
                Some(Index::One(index)) => {
                    let index = self.index_of(name, index).await?;
                    let found = self.elements(name).into_iter().find(|(at, _)| Some(*at) == index);
                    found.map_or(Found::Unset, |(_, text)| Found::One(text))
                }
            },
            Name::Positional(0) => one(self.name.clone()),
            Name::Positional(number) => match self.positional.get(number - 1) {
                Some(text) => one(text.clone()),
                None => Found::Unset,
            },
            Name::Special(sign) => match sign {
                '@' | '*' => Found::Many {
                    values: self.positional.iter().map(|text| Arc::from(text.as_str())).collect(),
                    joined: *sign == '*',
                },
                '#' => one(self.positional.len().to_string()),
                '?' => one(self.status.to_string()),
                '$' => one(self.pid.to_string()),
                '!' => self.last_job.map_or(Found::Unset, |id| one(id.to_string())),
                _ => one(self.flags()),
            },
        })
    }

    fn flags(&self) -> String {
        let flags = [
            ('e', self.options.exit_on_error),
            ('f', self.options.no_glob),
            ('h', true),
            ('u', self.options.unset_is_error),
            ('x', self.options.trace),
            ('B', true),
            ('c', true),
        ];
        flags.into_iter().filter(|(_, set)| *set).map(|(letter, _)| letter).collect()
    }

    pub(crate) fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % 32768
    }

    /// The index that a word stands for; counted from the end if it is negative. None: before the first.
    pub(crate) async fn index_of(&mut self, name: &str, word: &Word) -> Result<Option<u64>, Stop> {
        let index = self.arithmetic(&word.0).await?;
        if index >= 0 {
            return Ok(Some(index as u64));
        }
        let after_last = self.elements(name).last().map_or(0, |(last, _)| last + 1);
        Ok(after_last.checked_sub(index.unsigned_abs()))
    }

    fn label(parameter: &Parameter) -> String {
        match &parameter.name {
            Name::Variable(name) => match parameter.index {
                Some(_) => format!("{name}[…]"),
                None => name.clone(),
            },
            Name::Positional(number) => number.to_string(),
            Name::Special(sign) => sign.to_string(),
        }
    }

    pub(super) fn expand_parameter<'a>(
        &'a mut self,
        parameter: &'a Parameter,
        quoting: Quoting,
        fields: &'a mut Fields,
    ) -> BoxFuture<'a, Result<(), Stop>> {
        Box::pin(async move {
            let mut found = match &parameter.form {
                Form::Indexes => match &parameter.name {
                    Name::Variable(name) => Found::Many {
                        values: self.elements(name).iter().map(|(at, _)| Arc::from(at.to_string())).collect(),
                        joined: matches!(parameter.index, Some(Index::Joined)),
                    },
                    Name::Positional(_) | Name::Special(_) => Found::Unset,
                },
                Form::Indirect => match self.find(parameter).await? {
                    Found::One(name) if super::is_name(&name) => self.text_of(&name).map_or(Found::Unset, Found::One),
                    Found::One(_) | Found::Unset | Found::Many { .. } => Found::Unset,
                },
                _ => self.find(parameter).await?,
            };
            if let Form::Otherwise { colon, sign, word } = &parameter.form {
                let missing = match &found {
                    Found::Unset => true,
                    Found::One(text) => *colon && text.is_empty(),
                    Found::Many { values, .. } => {
                        values.is_empty() || (*colon && values.len() == 1 && values[0].is_empty())
                    }
                };
                match (sign, missing) {
                    ('+', true) | ('-' | '=' | '?', false) => {}
                    ('=', true) => {
                        let text = self.expand_text(word).await?;
                        let Name::Variable(name) = &parameter.name else {
                            let label = Self::label(parameter);
                            self.error("", &format!("${label}: cannot assign in this way")).await;
                            return Err(Stop::Exit(1));
                        };
                        self.assign_text(name, &text).await?;
                        put(fields, &text, quoting);
                        return Ok(());
                    }
                    ('?', true) => {
                        let mut message = self.expand_text(word).await?;
                        if message.is_empty() {
                            let why = if *colon { "parameter null or not set" } else { "parameter not set" };
                            message = why.to_owned();
                        }
                        self.error("", &format!("{}: {message}", Self::label(parameter))).await;
                        return Err(Stop::Exit(if self.in_subshell { 1 } else { 127 }));
                    }
                    (_, _) => return self.expand_pieces(&word.0, quoting, fields).await,
                }
                if *sign == '+' {
                    return Ok(());
                }
            } else if matches!(found, Found::Unset) && self.options.unset_is_error {
                self.error("", &format!("{}: unbound variable", Self::label(parameter))).await;
                return Err(Stop::Exit(if self.in_subshell { 1 } else { 127 }));
            }
            match &parameter.form {
                Form::Length => {
                    let length = match &found {
                        Found::Unset => 0,
                        Found::One(text) => text.chars().count(),
                        Found::Many { values, .. } => values.len(),
                    };
                    put(fields, &length.to_string(), quoting);
                    return Ok(());
                }
                Form::Slice { offset, length } => {
                    found = self.slice(parameter, found, offset, length.as_deref()).await?;
                }
                Form::Trim { .. } | Form::Replace { .. } | Form::Case { .. } | Form::Quoted => {
                    found = self.changed(&parameter.form, found).await?;
                }
                Form::Value | Form::Indirect | Form::Indexes | Form::Otherwise { .. } => {}
            }
            self.put_found(found, quoting, fields);
            Ok(())
        })
    }

    fn put_found(&self, found: Found, quoting: Quoting, fields: &mut Fields) {
        let (values, joined) = match found {
            Found::Unset => return,
            Found::One(text) => return put(fields, &text, quoting),
            Found::Many { values, joined } => (values, joined),
        };
        let one_text = fields.wanted != Wanted::Fields || (quoting == Quoting::Quoted && joined);
        if one_text {
            let separator = match (joined, self.text_of("IFS")) {
                (true, Some(separators)) => separators.chars().next().map(String::from).unwrap_or_default(),
                (true, None) | (false, _) => " ".to_owned(),
            };
            return put(fields, &values.join(&separator), quoting);
        }
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                fields.finish();
            }
            put(fields, value, quoting);
        }
    }

    async fn slice(
        &mut self,
        parameter: &Parameter,
        found: Found,
        offset: &[Piece],
        length: Option<&[Piece]>,
    ) -> Result<Found, Stop> {
        let offset = self.arithmetic(offset).await?;
        let length = match length {
            Some(length) => Some(self.arithmetic(length).await?),
            None => None,
        };
        let range = |count: usize| {
            let count = count as i64;
            let start = if offset < 0 { (count + offset).max(-1) } else { offset.min(count) };
            if start < 0 {
                return 0..0;
            }
            let end = match length {
                None => count,
                Some(length) if length < 0 => count.saturating_add(length),
                Some(length) => start.saturating_add(length).min(count),
            };
            start as usize..end.max(start) as usize
        };
        Ok(match found {
            Found::Unset => Found::Unset,
            Found::One(text) => {
                let wanted = range(text.chars().count());
                let part: String = text.chars().skip(wanted.start).take(wanted.len()).collect();
                Found::One(Arc::from(part))
            }
            Found::Many { mut values, joined } => {
                // `$0` counts among the positional ones here.
                if matches!(parameter.name, Name::Special(_)) {
                    values.insert(0, Arc::from(self.name.as_str()));
                }
                let mut wanted = range(values.len());
                if matches!(parameter.name, Name::Special(_)) && length.is_some_and(|length| length < 0) {
                    wanted = 0..0;
                }
                Found::Many { values: values[wanted].to_vec(), joined }
            }
        })
    }

    /// The value, or each of them, trimmed, replaced, or in other letters.
    async fn changed(&mut self, form: &Form, found: Found) -> Result<Found, Stop> {
        let (pattern, with, lies) = match form {
            Form::Trim { front: true, longest, pattern } => (Some(pattern), None, Lies::Start { longest: *longest }),
            Form::Trim { front: false, longest, pattern } => (Some(pattern), None, Lies::End { longest: *longest }),
            Form::Replace { anchor, pattern, with } => {
                let lies = match anchor {
                    Anchor::First | Anchor::All => Lies::Anywhere,
                    Anchor::Start => Lies::Start { longest: true },
                    Anchor::End => Lies::End { longest: true },
                };
                (Some(pattern), Some(with), lies)
            }
            _ => (None, None, Lies::Whole),
        };
        let pattern = match pattern {
            Some(pattern) => {
                let text = self.expand_pattern(pattern).await?;
                match Pattern::new(&text, lies) {
                    Ok(_) if text.is_empty() => None,
                    Ok(pattern) => Some(pattern),
                    Err(_) => return Err(self.too_large("pattern").await),
                }
            }
            None => None,
        };
        let with = match with {
            Some(with) => self.expand_text(with).await?,
            None => String::new(),
        };
        let values = match &found {
            Found::Unset => return Ok(found),
            Found::One(text) => std::slice::from_ref(text),
            Found::Many { values, .. } => values.as_slice(),
        };
        let mut changed = Vec::with_capacity(values.len());
        let mut bytes = 0;
        for value in values {
            self.step(1 + value.len() as u64 / 256).await?;
            if pattern.as_ref().is_some_and(|pattern| !pattern.takes(value.len())) {
                return Err(self.too_large("pattern").await);
            }
            let text = change(self, form, value, pattern.as_ref(), &with, lies).await?;
            bytes += text.as_ref().map_or(0, String::len);
            match text {
                Some(text) if bytes <= MAX_TEXT => changed.push(Arc::from(text)),
                Some(_) | None => return Err(self.too_large("expansion").await),
            }
        }
        Ok(match found {
            Found::Many { joined, .. } => Found::Many { values: changed, joined },
            Found::Unset | Found::One(_) => changed.pop().map_or(Found::Unset, Found::One),
        })
    }
}

/// A value changed; none if it becomes too long.
async fn change(
    shell: &Shell,
    form: &Form,
    value: &str,
    pattern: Option<&Pattern>,
    with: &str,
    lies: Lies,
) -> Result<Option<String>, Stop> {
    Ok(match form {
        Form::Case { upper, all } => {
            let turned = |c: char| match upper {
                true => c.to_uppercase().collect::<String>(),
                false => c.to_lowercase().collect(),
            };
            let mut first = true;
            Some(value.chars().fold(String::new(), |mut text, c| {
                match *all || std::mem::take(&mut first) {
                    true => text.push_str(&turned(c)),
                    false => text.push(c),
                }
                text
            }))
        }
        Form::Quoted => Some(format!("'{}'", value.replace('\'', "'\\''"))),
        Form::Trim { front, .. } => {
            let found = pattern.and_then(|pattern| pattern.find(value, 0, lies));
            Some(match found {
                Some(found) if *front => value[found.end..].to_owned(),
                Some(found) => value[..found.start].to_owned(),
                None => value.to_owned(),
            })
        }
        Form::Replace { anchor, .. } => {
            let Some(pattern) = pattern else { return Ok(Some(value.to_owned())) };
            let mut text = String::new();
            let mut at = 0;
            let mut pace = Pace::new();
            while let Some(found) = pattern.find(value, at, lies) {
                shell.count_paced(&mut pace).await?;
                let Some(before) = value.get(at..found.start) else { return Ok(None) };
                text.push_str(before);
                text.push_str(with);
                if text.len() > MAX_TEXT {
                    return Ok(None);
                }
                at = found.end;
                if found.is_empty() {
                    let Some(c) = value[at..].chars().next() else { break };
                    text.push(c);
                    at += c.len_utf8();
                }
                if *anchor != Anchor::All {
                    break;
                }
            }
            let Some(rest) = value.get(at..) else { return Ok(None) };
            text.push_str(rest);
            Some(text)
        }
        _ => Some(value.to_owned()),
    })
}
