//! `$((…))`: whole numbers of 64 bits, as in C; names are variables.

use super::is_name;
use crate::state::Shell;

/// Parentheses, operators and variables within each other.
const MAX_NESTING: usize = 40;
/// Bytes of the values that one expression reads as expressions, one more for each: variables that name each other
/// twice double the work with every level.
const MAX_EVALUATED: usize = 256 << 10;

/// Operators of two sides by rank, weakest first; each rank's own longest first.
const BINARY: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
const ASSIGNING: [&str; 11] = ["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="];

/// The value of an expression, or what is wrong with it; and the bytes of other expressions that were evaluated for it.
pub(super) fn evaluate(shell: &mut Shell, text: &str) -> (Result<i64, String>, usize) {
    let mut evaluated = 0;
    let value = evaluate_within(shell, text, 0, &mut evaluated);
    (value, evaluated)
}

fn evaluate_within(shell: &mut Shell, text: &str, depth: usize, evaluated: &mut usize) -> Result<i64, String> {
    let mut reader = Reader { shell, text, at: 0, depth, evaluated, live: true };
    reader.skip();
    if reader.rest().is_empty() {
        return Ok(0);
    }
    let value = reader.comma()?;
    match reader.rest() {
        "" => Ok(value),
        rest => Err(format!("syntax error in expression (error token is \"{}\")", shorten(rest))),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

struct Reader<'s, 't> {
    shell: &'s mut Shell,
    text: &'t str,
    at: usize,
    depth: usize,
    evaluated: &'s mut usize,
    /// True when what is read counts: false within the side of `&&`, `||` or `?:` that is not taken.
    live: bool,
}

impl<'t> Reader<'_, 't> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
            self.skip();
        }
        found
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth >= MAX_NESTING {
            return Err("expression recursion level exceeded".to_owned());
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn comma(&mut self) -> Result<i64, String> {
        let mut value = self.assignment()?;
        while self.take(",") {
            value = self.assignment()?;
        }
        Ok(value)
    }

    fn assignment(&mut self) -> Result<i64, String> {
        let start = self.at;
        if let Some(name) = self.name() {
            let operator = ASSIGNING.into_iter().find(|operator| {
                self.rest().starts_with(operator) && !(*operator == "=" && self.rest().starts_with("=="))
            });
            if let Some(operator) = operator {
                self.at += operator.len();
                self.skip();
                let right = self.deeper(Self::assignment)?;
                let value = match operator.strip_suffix('=') {
                    Some("") | None => right,
                    Some(operator) => {
                        let left = self.value_of(name)?;
                        self.apply(operator, left, right)?
                    }
                };
                return self.store(name, value);
            }
        }
        self.at = start;
        self.choice()
    }

    fn store(&mut self, name: &str, value: i64) -> Result<i64, String> {
        if self.live {
            self.shell.set_text(name, &value.to_string())?;
        }
        Ok(value)
    }

    fn choice(&mut self) -> Result<i64, String> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let live = self.live;
        self.live = live && condition != 0;
        let yes = self.deeper(Self::assignment)?;
        if !self.take(":") {
            return Err("`:' expected for conditional expression".to_owned());
        }
        self.live = live && condition == 0;
        let no = self.deeper(Self::assignment)?;
        self.live = live;
        Ok(if condition != 0 { yes } else { no })
    }

    fn binary(&mut self, rank: usize) -> Result<i64, String> {
        let Some(operators) = BINARY.get(rank) else { return self.power() };
        let mut left = self.binary(rank + 1)?;
        loop {
            let rest = self.rest();
            let operator = operators.iter().find(|operator| {
                let after = rest.strip_prefix(**operator);
                // Not a part of a longer operator.
                after.is_some_and(|after| {
                    let longer = match **operator {
                        "|" | "&" => after.starts_with(**operator) || after.starts_with('='),
                        "<" | ">" => after.starts_with(**operator),
                        "==" | "!=" | "<=" | ">=" | "||" | "&&" => false,
                        "*" => after.starts_with('*') || after.starts_with('='),
                        _ => after.starts_with('='),
                    };
                    !longer
                })
            });
            let Some(operator) = operator else { return Ok(left) };
            self.at += operator.len();
            self.skip();
            let live = self.live;
            match *operator {
                "||" => self.live = live && left == 0,
                "&&" => self.live = live && left != 0,
                _ => {}
            }
            let right = self.binary(rank + 1)?;
            self.live = live;
            left = self.apply(operator, left, right)?;
        }
    }

    fn power(&mut self) -> Result<i64, String> {
        let base = self.unary()?;
        if !self.take("**") {
            return Ok(base);
        }
        let exponent = self.deeper(Self::power)?;
        match u64::try_from(exponent) {
            Ok(exponent) => Ok(power(base, exponent)),
            Err(_) if self.live => Err("exponent less than 0".to_owned()),
            Err(_) => Ok(0),
        }
    }

    fn unary(&mut self) -> Result<i64, String> {
        for sign in ["++", "--"] {
            let start = self.at;
            if self.take(sign) {
                if let Some(name) = self.name() {
                    let value = self.value_of(name)?.wrapping_add(if sign == "++" { 1 } else { -1 });
                    return self.store(name, value);
                }
                self.at = start;
            }
        }
        match () {
            () if self.take("!") => Ok(i64::from(self.deeper(Self::unary)? == 0)),
            () if self.take("~") => Ok(!self.deeper(Self::unary)?),
            () if self.take("-") => Ok(self.deeper(Self::unary)?.wrapping_neg()),
            () if self.take("+") => self.deeper(Self::unary),
            () => self.operand(),
        }
    }

    fn operand(&mut self) -> Result<i64, String> {
        if self.take("(") {
            let value = self.deeper(Self::comma)?;
            return match self.take(")") {
                true => Ok(value),
                false => Err("missing `)'".to_owned()),
            };
        }
        if let Some(name) = self.name() {
            let value = self.value_of(name)?;
            for (sign, change) in [("++", 1), ("--", -1)] {
                if self.take(sign) {
                    self.store(name, value.wrapping_add(change))?;
                }
            }
            return Ok(value);
        }
        self.number()
    }

    fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..length];
        if !is_name(name) {
            return None;
        }
        self.at += length;
        self.skip();
        Some(name)
    }

    /// A variable's value, which may be an expression itself.
    fn value_of(&mut self, name: &str) -> Result<i64, String> {
        let text = match name {
            "RANDOM" | "SECONDS" | "LINENO" => None,
            name => self.shell.text_of(name),
        };
        let Some(text) = text else {
            return match self.shell.options.unset_is_error && self.live {
                true => Err("unbound variable".to_owned()),
                false => Ok(0),
            };
        };
        if let Ok(value) = text.trim().parse::<i64>()
            && !text.trim().starts_with('0')
        {
            return Ok(value);
        }
        if self.depth >= MAX_NESTING {
            return Err("expression recursion level exceeded".to_owned());
        }
        *self.evaluated += 1 + text.len();
        if *self.evaluated > MAX_EVALUATED {
            return Err("expression evaluation limit exceeded".to_owned());
        }
        evaluate_within(self.shell, &text, self.depth + 1, self.evaluated)
    }

    fn number(&mut self) -> Result<i64, String> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '#')).unwrap_or(rest.len());
        let text = &rest[..length];
        if text.is_empty() {
            return Err(match rest {
                "" => "syntax error: operand expected (error token is \"\")".to_owned(),
                rest => format!("syntax error: operand expected (error token is \"{}\")", shorten(rest)),
            });
        }
        let (base, digits) = match text.split_once('#') {
            Some((base, digits)) => (base.parse().unwrap_or(0), digits),
            None => match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                Some(digits) => (16, digits),
                None if text.starts_with('0') && text.len() > 1 => (8, &text[1..]),
                None => (10, text),
            },
        };
        if !(2..=36).contains(&base) || digits.is_empty() {
            return Err(format!("invalid arithmetic base (error token is \"{}\")", shorten(text)));
        }
        let mut value = 0_i64;
        for digit in digits.chars() {
            let Some(digit) = digit.to_digit(base) else {
                return Err(format!("value too great for base (error token is \"{}\")", shorten(text)));
            };
            value = value.wrapping_mul(i64::from(base)).wrapping_add(i64::from(digit));
        }
        self.at += length;
        self.skip();
        Ok(value)
    }

    fn apply(&self, operator: &str, left: i64, right: i64) -> Result<i64, String> {
        if matches!(operator, "/" | "%") && right == 0 {
            return match self.live {
                true => Err(format!("division by 0 (error token is \"{}\")", last_operand(self.text, self.at))),
                false => Ok(0),
            };
        }
        Ok(match operator {
            "||" => i64::from(left != 0 || right != 0),
            "&&" => i64::from(left != 0 && right != 0),
            "|" => left | right,
            "^" => left ^ right,
            "&" => left & right,
            "==" => i64::from(left == right),
            "!=" => i64::from(left != right),
            "<=" => i64::from(left <= right),
            ">=" => i64::from(left >= right),
            "<" => i64::from(left < right),
            ">" => i64::from(left > right),
            "<<" => left.wrapping_shl(right as u32),
            ">>" => left.wrapping_shr(right as u32),
            "+" => left.wrapping_add(right),
            "-" => left.wrapping_sub(right),
            "*" => left.wrapping_mul(right),
            "/" => left.wrapping_div(right),
            _ => left.wrapping_rem(right),
        })
    }
}

/// Returns the divisor and what follows, which bash shows for a division by zero.
fn last_operand(text: &str, at: usize) -> String {
    let before = text[..at].trim_end();
    let start = before.rfind(['/', '%']).map_or(0, |operator| operator + 1);
    shorten(text[start..].trim())
}

fn power(base: i64, mut exponent: u64) -> i64 {
    let (mut value, mut square) = (1_i64, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            value = value.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    value
}
