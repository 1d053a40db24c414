//! Programs `test` and `[`.

use crate::execute::Operands;
use crate::execute::{Comparison, file_test};
use crate::state::{Done, Shell, Stop};
use futures_util::future::BoxFuture;

/// Parentheses and `!` within each other.
const MAX_NESTING: usize = 20;

pub(crate) async fn test(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let words = match (who, arguments.split_last()) {
        ("[", Some((last, words))) if last == "]" => words,
        ("[", _) => {
            shell.error("[", "missing `]'").await;
            return Ok(2);
        }
        _ => arguments,
    };
    match holds(shell, who, words).await {
        Ok(holds) => Ok(i32::from(!holds)),
        Err(Stop::Failed(code)) => Ok(code),
        Err(stop) => Err(stop),
    }
}

async fn holds(shell: &mut Shell, who: &str, words: &[String]) -> Result<bool, Stop> {
    match words {
        [] => Ok(false),
        [word] => Ok(!word.is_empty()),
        [not, word] if not == "!" => Ok(word.is_empty()),
        [operator, word] => match file_test(shell, operator, word) {
            Some(holds) => Ok(holds),
            None => {
                shell.error(who, &format!("{operator}: unary operator expected")).await;
                Err(Stop::Failed(2))
            }
        },
        [left, operator, right] if Comparison::of(operator).is_some() => {
            shell.compare(left, operator, right, Operands::Integers).await
        }
        words => {
            let mut reader = Reader { words, at: 0 };
            let holds = any(shell, who, &mut reader, 0).await?;
            match reader.at == words.len() {
                true => Ok(holds),
                false => {
                    let what = match words.len() {
                        3 => format!("{}: binary operator expected", words[1]),
                        _ => "too many arguments".to_owned(),
                    };
                    shell.error(who, &what).await;
                    Err(Stop::Failed(2))
                }
            }
        }
    }
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).map(String::as_str)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek(0) == Some(word);
        self.at += usize::from(found);
        found
    }
}

async fn any(shell: &mut Shell, who: &str, reader: &mut Reader<'_>, depth: usize) -> Result<bool, Stop> {
    let mut holds = all(shell, who, reader, depth).await?;
    while reader.take("-o") {
        holds |= all(shell, who, reader, depth).await?;
    }
    Ok(holds)
}

async fn all(shell: &mut Shell, who: &str, reader: &mut Reader<'_>, depth: usize) -> Result<bool, Stop> {
    let mut holds = one(shell, who, reader, depth).await?;
    while reader.take("-a") {
        holds &= one(shell, who, reader, depth).await?;
    }
    Ok(holds)
}

fn one<'a>(
    shell: &'a mut Shell,
    who: &'a str,
    reader: &'a mut Reader<'_>,
    depth: usize,
) -> BoxFuture<'a, Result<bool, Stop>> {
    Box::pin(async move {
        if depth > MAX_NESTING {
            shell.error(who, "too many arguments").await;
            return Err(Stop::Failed(2));
        }
        if let Some(operator) = reader.peek(1)
            && Comparison::of(operator).is_some()
            && let (Some(left), Some(right)) = (reader.peek(0), reader.peek(2))
        {
            let holds = shell.compare(left, operator, right, Operands::Integers).await?;
            reader.at += 3;
            return Ok(holds);
        }
        if reader.take("!") {
            return Ok(!one(shell, who, reader, depth + 1).await?);
        }
        if reader.take("(") {
            let holds = any(shell, who, reader, depth + 1).await?;
            if !reader.take(")") {
                shell.error(who, "`)' expected").await;
                return Err(Stop::Failed(2));
            }
            return Ok(holds);
        }
        if let (Some(operator), Some(word)) = (reader.peek(0), reader.peek(1))
            && operator.starts_with('-')
            && let Some(holds) = file_test(shell, operator, word)
        {
            reader.at += 2;
            return Ok(holds);
        }
        match reader.peek(0) {
            Some(word) => {
                let holds = !word.is_empty();
                reader.at += 1;
                Ok(holds)
            }
            None => {
                shell.error(who, "argument expected").await;
                Err(Stop::Failed(2))
            }
        }
    })
}
