//! Program `expr`.

use crate::bounds::MAX_TEXT;
use crate::regular::{Case, Regular, Syntax, posix};
use crate::state::{Done, Shell};

/// Parentheses and operators of words within each other.
const MAX_NESTING: usize = 40;
/// Work of all matches and searches of one expression, in bytes that are looked through: about a second.
const MAX_WORK: u64 = 16 << 20;
/// Exit code of a malformed expression.
const MALFORMED: i32 = 2;

/// Operators of two sides by rank, weakest first.
const BINARY: [&[&str]; 6] =
    [&["|"], &["&"], &["<", "<=", "=", "==", "!=", ">=", ">"], &["+", "-"], &["*", "/", "%"], &[":"]];

pub(super) async fn expr(shell: &mut Shell, arguments: &[String]) -> Done {
    let rest = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
    if rest.is_empty() {
        shell.error("expr", "missing operand\nTry 'expr --help' for more information.").await;
        return Ok(MALFORMED);
    }
    let mut reader = Reader { words: rest, at: 0, depth: 0, bytes: 0 };
    let value = reader.binary(0).and_then(|value| match reader.peek() {
        None => Ok(value),
        Some(word) => Err(Wrong::Syntax(format!("syntax error: unexpected argument '{word}'"))),
    });
    // Patterns are matched against texts as often as there are words.
    shell.step(1 + reader.bytes / 64).await?;
    match value {
        Ok(value) => {
            shell.out("expr", format!("{value}\n").as_bytes()).await?;
            Ok(i32::from(is_null(&value)))
        }
        Err(Wrong::Syntax(what) | Wrong::Operand(what)) => {
            shell.error("expr", &what).await;
            Ok(MALFORMED)
        }
    }
}

/// Mistakes in an expression.
enum Wrong {
    Syntax(String),
    Operand(String),
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    depth: usize,
    /// Bytes of texts that were looked through.
    bytes: u64,
}

fn is_null(value: &str) -> bool {
    value.is_empty() || value.parse() == Ok(0)
}

fn number(value: &str) -> Result<i128, Wrong> {
    value.parse::<i64>().map(i128::from).map_err(|_| Wrong::Operand("non-integer argument".to_owned()))
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> Result<&'a str, Wrong> {
        let Some(word) = self.peek() else {
            let last = self.words.last().map_or("", String::as_str);
            return Err(Wrong::Syntax(format!("syntax error: missing argument after '{last}'")));
        };
        self.at += 1;
        Ok(word)
    }

    fn binary(&mut self, rank: usize) -> Result<String, Wrong> {
        let Some(operators) = BINARY.get(rank) else { return self.operand() };
        let mut left = self.binary(rank + 1)?;
        while let Some(operator) = self.peek().filter(|word| operators.contains(word)) {
            self.at += 1;
            let right = self.binary(rank + 1)?;
            left = self.apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<String, Wrong> {
        if self.depth >= MAX_NESTING {
            return Err(Wrong::Syntax("the expression is nested too deeply".to_owned()));
        }
        self.depth += 1;
        let value = self.nested();
        self.depth -= 1;
        value
    }

    fn nested(&mut self) -> Result<String, Wrong> {
        match self.next()? {
            "(" => {
                let value = self.binary(0)?;
                if self.peek().is_none() {
                    let last = self.words.last().map_or("", String::as_str);
                    return Err(Wrong::Syntax(format!("syntax error: expecting ')' after '{last}'")));
                }
                match self.next()? {
                    ")" => Ok(value),
                    other => Err(Wrong::Syntax(format!("syntax error: expecting ')' instead of '{other}'"))),
                }
            }
            ")" => Err(Wrong::Syntax("syntax error: unexpected ')'".to_owned())),
            "+" => self.next().map(str::to_owned),
            "match" => {
                let (text, pattern) = (self.operand()?, self.operand()?);
                self.find(&text, &pattern)
            }
            "length" => Ok(self.operand()?.chars().count().to_string()),
            "index" => {
                let (text, set) = (self.operand()?, self.operand()?);
                self.bytes += (text.len() as u64).saturating_mul(set.len() as u64) / 16;
                if self.bytes > MAX_WORK {
                    return Err(Wrong::Operand("the text is too long".to_owned()));
                }
                Ok(text.chars().position(|c| set.contains(c)).map_or(0, |at| at + 1).to_string())
            }
            "substr" => {
                let (text, from, length) = (self.operand()?, self.operand()?, self.operand()?);
                let (Ok(from @ 1..), Ok(length @ 1..)) = (from.parse::<usize>(), length.parse::<usize>()) else {
                    return Ok(String::new());
                };
                Ok(text.chars().skip(from - 1).take(length).collect())
            }
            word => Ok(word.to_owned()),
        }
    }

    fn apply(&mut self, operator: &str, left: String, right: String) -> Result<String, Wrong> {
        let compared = |order: std::cmp::Ordering| match operator {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            "=" | "==" => order.is_eq(),
            "!=" => order.is_ne(),
            ">=" => order.is_ge(),
            _ => order.is_gt(),
        };
        let value = match operator {
            "|" => return Ok(if is_null(&left) { if is_null(&right) { "0".to_owned() } else { right } } else { left }),
            "&" => return Ok(if is_null(&left) || is_null(&right) { "0".to_owned() } else { left }),
            ":" => return self.find(&left, &right),
            "+" => number(&left)? + number(&right)?,
            "-" => number(&left)? - number(&right)?,
            "*" => number(&left)? * number(&right)?,
            "/" | "%" => {
                let (left, right) = (number(&left)?, number(&right)?);
                if right == 0 {
                    return Err(Wrong::Operand("division by zero".to_owned()));
                }
                if operator == "/" { left / right } else { left % right }
            }
            _ => {
                let order = match (number(&left), number(&right)) {
                    (Ok(left), Ok(right)) => left.cmp(&right),
                    _ => left.cmp(&right),
                };
                i128::from(compared(order))
            }
        };
        match i64::try_from(value) {
            Ok(value) => Ok(value.to_string()),
            Err(_) => Err(Wrong::Operand(format!("{left}: Numerical result out of range"))),
        }
    }

    /// Matches a pattern at the start of a text; its first group, or the length of the match.
    fn find(&mut self, text: &str, pattern: &str) -> Result<String, Wrong> {
        let expression = posix(pattern, Syntax::Basic);
        self.bytes += 4096 + pattern.len() as u64;
        let regular = Regular::new(&format!("^(?:{expression})"), Case::Sensitive).map_err(Wrong::Operand)?;
        self.bytes += 64 * regular.steps(text.len());
        if !regular.takes(text.len()) || text.len() > MAX_TEXT || self.bytes > MAX_WORK {
            return Err(Wrong::Operand("the text is too long for this expression".to_owned()));
        }
        let groups = pattern.contains("\\(");
        let found = regular.captures_at(text.as_bytes(), 0);
        Ok(match found {
            None if groups => String::new(),
            None => "0".to_owned(),
            Some(found) if groups => {
                let group = found.get(1).map(|group| group.as_bytes()).unwrap_or_default();
                String::from_utf8_lossy(group).into_owned()
            }
            Some(found) => String::from_utf8_lossy(&found[0]).chars().count().to_string(),
        })
    }
}
