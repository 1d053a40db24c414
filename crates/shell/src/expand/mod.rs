//! From words to arguments: tilde, parameters, commands, arithmetic, splitting, file names, quotes; in bash's order.

mod arithmetic;
mod braces;
mod fields;
mod glob;
mod parameter;
pub(super) mod pattern;

use super::bounds::{MAX_FIELDS, MAX_TEXT};
use super::state::{Shell, Stop};
use super::syntax::{Piece, Quoting, Word};
use fields::{Fields, Separators, Wanted};
use futures_util::future::BoxFuture;

/// Returns whether a text is a valid name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Shell {
    /// The arguments that words become.
    pub(super) async fn expand_words(&mut self, words: &[Word]) -> Result<Vec<String>, Stop> {
        let mut arguments = Vec::new();
        let mut bytes = 0;
        for word in words {
            // Most words are just that.
            let simple = word.plain().filter(|text| !text.contains(['*', '?', '[', '{', '~']));
            if let Some(text) = simple {
                arguments.push(text.to_owned());
                continue;
            }
            let several = match braces::expand(word) {
                Ok(several) => several,
                Err(braces::TooMany) => return Err(self.too_large("brace expansion").await),
            };
            for word in several.as_deref().unwrap_or(std::slice::from_ref(word)) {
                self.expand_into(word, &mut arguments, &mut bytes).await?;
            }
        }
        Ok(arguments)
    }

    async fn expand_into(&mut self, word: &Word, arguments: &mut Vec<String>, bytes: &mut usize) -> Result<(), Stop> {
        let fields = self.expand(word, Wanted::Fields).await?;
        *bytes += fields.bytes;
        for field in fields.into_fields() {
            match field.pattern {
                Some(pattern) if !self.options.no_glob => {
                    let names = self.names_matching(&pattern).await?;
                    match names.is_empty() {
                        true if self.options.null_glob => {}
                        true => arguments.push(field.text),
                        false => {
                            *bytes += names.iter().map(|name| name.len() + 32).sum::<usize>();
                            arguments.extend(names);
                        }
                    }
                }
                Some(_) | None => arguments.push(field.text),
            }
        }
        match arguments.len() > MAX_FIELDS || *bytes > MAX_TEXT {
            true => Err(self.too_large("expansion").await),
            false => Ok(()),
        }
    }

    /// The text that a word becomes, not split.
    pub(super) async fn expand_text(&mut self, word: &Word) -> Result<String, Stop> {
        match word.plain() {
            Some(text) if !text.starts_with('~') => Ok(text.to_owned()),
            Some(_) | None => Ok(self.expand(word, Wanted::Text).await?.into_text()),
        }
    }

    /// The pattern that a word becomes: what was quoted in it is escaped.
    pub(super) async fn expand_pattern(&mut self, word: &Word) -> Result<String, Stop> {
        Ok(self.expand(word, Wanted::Pattern).await?.into_text())
    }

    async fn expand(&mut self, word: &Word, wanted: Wanted) -> Result<Fields, Stop> {
        let separators = self.text_of("IFS");
        self.step(separators.as_ref().map_or(0, |text| text.len() as u64 / 1024)).await?;
        let mut fields = Fields::new(wanted, Separators::new(separators.as_deref().unwrap_or(" \t\n")));
        self.expand_pieces(&word.0, Quoting::Unquoted, &mut fields).await?;
        Ok(fields)
    }

    fn expand_pieces<'a>(
        &'a mut self,
        pieces: &'a [Piece],
        quoting: Quoting,
        fields: &'a mut Fields,
    ) -> BoxFuture<'a, Result<(), Stop>> {
        Box::pin(async move {
            for (at, piece) in pieces.iter().enumerate() {
                match piece {
                    Piece::Plain(text) if quoting == Quoting::Quoted => fields.quoted(text),
                    Piece::Plain(text) if at == 0 && text.starts_with('~') => {
                        let (home, rest) = self.tilde(text);
                        match home {
                            Some(home) => {
                                fields.quoted(&home);
                                fields.plain(rest);
                            }
                            None => fields.plain(text),
                        }
                    }
                    Piece::Plain(text) => fields.plain(text),
                    Piece::Quoted(text) => fields.quoted(text),
                    Piece::Shared(piece) => {
                        self.expand_pieces(std::slice::from_ref(piece), quoting, fields).await?;
                    }
                    Piece::Double(inner) => {
                        // `"$@"` with nothing in it is nothing.
                        if !self.only_empty_all(inner) {
                            fields.quoted("");
                        }
                        self.expand_pieces(inner, Quoting::Quoted, fields).await?;
                    }
                    Piece::Parameter(parameter) => self.expand_parameter(parameter, quoting, fields).await?,
                    Piece::Command(list) => {
                        let text = self.substitute(list).await?;
                        put(fields, &text, quoting);
                    }
                    Piece::Process(list) => {
                        let path = self.substitute_process(list).await?;
                        fields.quoted(&path);
                    }
                    Piece::Arithmetic(expression) => {
                        let value = self.arithmetic(expression).await?;
                        put(fields, &value.to_string(), quoting);
                    }
                }
                if fields.bytes > MAX_TEXT || fields.count() > MAX_FIELDS {
                    return Err(self.too_large("expansion").await);
                }
            }
            Ok(())
        })
    }

    /// `~`, `~/…`, `~+`, `~-`, `~user`: where it leads, and what stands after it.
    fn tilde<'t>(&self, text: &'t str) -> (Option<String>, &'t str) {
        let end = text.find('/').unwrap_or(text.len());
        let home = match &text[1..end] {
            "" => Some(self.text_of("HOME").map_or_else(|| "/home/user".to_owned(), |home| home.to_string())),
            "user" => Some("/home/user".to_owned()),
            "+" => Some(self.cwd.clone()),
            "-" => self.text_of("OLDPWD").map(|before| before.to_string()),
            _ => None,
        };
        (home, &text[end..])
    }

    /// The value of an arithmetic expression.
    pub(super) async fn arithmetic(&mut self, expression: &[Piece]) -> Result<i64, Stop> {
        let mut fields = Fields::new(Wanted::Text, Separators::default());
        self.expand_pieces(expression, Quoting::Quoted, &mut fields).await?;
        let text = fields.into_text();
        self.step(1 + text.len() as u64 / 64).await?;
        let (value, evaluated) = arithmetic::evaluate(self, &text);
        self.step(evaluated as u64 / 64).await?;
        match value {
            Ok(value) => Ok(value),
            Err(error) => {
                let shown: String = text.trim().chars().take(200).collect();
                self.error("", &format!("{shown}: {error}")).await;
                Err(Stop::Exit(1))
            }
        }
    }

    /// The value of an arithmetic expression in a text.
    pub(super) async fn arithmetic_text(&mut self, text: &str) -> Result<i64, Stop> {
        self.arithmetic(&[Piece::Quoted(text.to_owned())]).await
    }

    pub(super) async fn too_large(&self, what: &str) -> Stop {
        self.error("", &format!("{what}: the result is too large")).await;
        Stop::Exit(1)
    }
}

fn put(fields: &mut Fields, text: &str, quoting: Quoting) {
    match quoting {
        Quoting::Quoted => fields.quoted(text),
        Quoting::Unquoted => fields.split(text),
    }
}
