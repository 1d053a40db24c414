//! Builtin `printf`.

use crate::bounds::MAX_TEXT;
use crate::escapes::{Kind, unescape};
use crate::state::{Done, Shell};

/// Longest text that one conversion may be padded to, and most digits of a number: what `format!` takes.
pub(crate) const MAX_WIDTH: usize = u16::MAX as usize;

pub(crate) async fn printf(shell: &mut Shell, arguments: &[String]) -> Done {
    let (variable, rest) = match arguments {
        [flag, name, rest @ ..] if flag == "-v" => (Some(name), rest),
        [flag, rest @ ..] if flag == "--" => (None, rest),
        rest => (None, rest),
    };
    let Some((format, values)) = rest.split_first() else {
        shell.say("printf: usage: printf [-v var] format [arguments]\n").await;
        return Ok(2);
    };
    let mut values = Values { rest: values, used: false, bad: Vec::new() };
    let mut text = Vec::new();
    let mut kept = Vec::new();
    let mut failed = false;
    loop {
        values.used = false;
        let goes_on = format_once(format, &mut values, &mut text);
        shell.step(1 + text.len() as u64 / 4096).await?;
        if kept.len() + text.len() > MAX_TEXT {
            return Err(shell.too_large("printf").await);
        }
        match variable {
            Some(_) => kept.append(&mut text),
            None => shell.out("printf", &text).await?,
        }
        text.clear();
        for bad in values.bad.drain(..) {
            shell.error("printf", &bad).await;
            failed = true;
        }
        if !goes_on || values.rest.is_empty() || !values.used {
            break;
        }
    }
    if let Some(name) = variable {
        shell.assign_text(name, &String::from_utf8_lossy(&kept)).await?;
    }
    Ok(i32::from(failed))
}

struct Values<'a> {
    rest: &'a [String],
    used: bool,
    bad: Vec<String>,
}

impl<'a> Values<'a> {
    fn next(&mut self) -> &'a str {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                self.used = true;
                first
            }
            None => "",
        }
    }

    fn integer(&mut self) -> i64 {
        let text = self.next().trim();
        if let Some(c) = text.strip_prefix(['\'', '"']).and_then(|text| text.chars().next()) {
            return i64::from(c as u32);
        }
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(digits) => i64::from_str_radix(digits, 16),
            None if digits.starts_with('0') && digits.len() > 1 => i64::from_str_radix(&digits[1..], 8),
            None => digits.parse(),
        };
        match parsed {
            Ok(value) => sign * value,
            Err(_) if text.is_empty() => 0,
            Err(_) => {
                self.bad.push(format!("{text}: invalid number"));
                let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                sign * digits[..end].parse().unwrap_or(0)
            }
        }
    }

    fn number(&mut self) -> f64 {
        let text = self.next().trim();
        text.parse().unwrap_or_else(|_| {
            if !text.is_empty() {
                self.bad.push(format!("{text}: invalid number"));
            }
            0.0
        })
    }
}

/// Writes the format once. False: `\c` ended it.
fn format_once(format: &str, values: &mut Values<'_>, out: &mut Vec<u8>) -> bool {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        if out.len() > MAX_TEXT {
            // The caller says so.
            return false;
        }
        out.extend(unescape(&rest[..at], Kind::Format).0);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push(b'%');
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| !"-+ #0123456789.*".contains(c)).unwrap_or(rest.len());
        let mut flags = String::new();
        for c in rest[..end].chars() {
            match c {
                '*' => flags.push_str(&values.integer().to_string()),
                c => flags.push(c),
            }
        }
        let shape = Shape::of(&flags);
        let letters = rest[end..].trim_start_matches(['l', 'h', 'q', 'j', 'z']);
        // `%q` is a conversion of its own.
        let letters = if rest[end..].starts_with('q') { &rest[end..] } else { letters };
        let Some(conversion) = letters.chars().next() else {
            values.bad.push(format!("`%{rest}': missing format character"));
            return false;
        };
        rest = &letters[conversion.len_utf8()..];
        match conversion {
            's' => shape.text(values.next().as_bytes(), out),
            'b' => {
                let (bytes, ended) = unescape(values.next(), Kind::Echo);
                shape.text(&bytes, out);
                if ended {
                    return false;
                }
            }
            'c' => shape.text(values.next().chars().next().map(String::from).unwrap_or_default().as_bytes(), out),
            'q' => {
                let value = values.next();
                let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
                let quoted: String = match value.is_empty() {
                    true => "''".to_owned(),
                    false => value.chars().flat_map(|c| (!plain(c)).then_some('\\').into_iter().chain([c])).collect(),
                };
                shape.text(quoted.as_bytes(), out);
            }
            'd' | 'i' => {
                let value = values.integer();
                shape.number(&value.unsigned_abs().to_string(), if value < 0 { Sign::Minus } else { Sign::Plus }, out);
            }
            'u' => shape.number(&(values.integer() as u64).to_string(), Sign::Plus, out),
            'x' => shape.number(&format!("{}{:x}", shape.prefix("0x"), values.integer()), Sign::Plus, out),
            'X' => shape.number(&format!("{}{:X}", shape.prefix("0X"), values.integer()), Sign::Plus, out),
            'o' => shape.number(&format!("{:o}", values.integer()), Sign::Plus, out),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                let value = values.number();
                let digits = shape.precision.unwrap_or(6);
                let text = match conversion {
                    'f' | 'F' => format!("{:.digits$}", value.abs()),
                    'e' | 'E' => exponent(value.abs(), digits),
                    _ => general(value.abs(), digits),
                };
                let text = if conversion.is_uppercase() { text.to_uppercase() } else { text };
                shape.without_precision().number(
                    &text,
                    if value.is_sign_negative() { Sign::Minus } else { Sign::Plus },
                    out,
                );
            }
            other => {
                values.bad.push(format!("`{other}': invalid format character"));
                return false;
            }
        }
    }
    out.extend(unescape(rest, Kind::Format).0);
    true
}

/// Formats a number as `1.5e+00`.
pub(crate) fn exponent(value: f64, digits: usize) -> String {
    // One more digit stands before the point.
    let digits = digits.min(MAX_WIDTH - 1);
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, power)) => {
            let (sign, power) = match power.strip_prefix('-') {
                Some(power) => ('-', power),
                None => ('+', power),
            };
            format!("{mantissa}e{sign}{power:0>2}")
        }
        None => text,
    }
}

/// Formats a number as `%g` does: as it is shortest, without zeros at its end.
pub(crate) fn general(value: f64, digits: usize) -> String {
    // One more digit stands before the point.
    let digits = digits.clamp(1, MAX_WIDTH);
    let rounded = format!("{value:.*e}", digits - 1);
    let Some(power) = rounded.split_once('e').and_then(|(_, power)| power.parse::<i32>().ok()) else {
        return rounded.to_lowercase();
    };
    let text = match power < -4 || power >= digits as i32 {
        true => exponent(value, digits - 1),
        false => format!("{:.*}", ((digits as i32 - 1 - power).max(0) as usize).min(MAX_WIDTH), value),
    };
    match text.split_once('e') {
        Some((mantissa, power)) if mantissa.contains('.') => {
            format!("{}e{power}", mantissa.trim_end_matches('0').trim_end_matches('.'))
        }
        None if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => text,
    }
}

/// Flags, width and precision of one conversion.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    left: bool,
    zeros: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// Sign of a number that is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Minus,
    Plus,
}

impl Shape {
    pub(crate) fn of(flags: &str) -> Self {
        let (before, precision) = match flags.split_once('.') {
            Some((before, precision)) => (before, Some(precision.parse().unwrap_or(0).min(MAX_WIDTH))),
            None => (flags, None),
        };
        let width = before.trim_start_matches(['-', '+', ' ', '#', '0']);
        let signs = &before[..before.len() - width.len()];
        Self {
            left: signs.contains('-'),
            zeros: signs.contains('0'),
            plus: signs.contains('+'),
            blank: signs.contains(' '),
            alternate: signs.contains('#'),
            width: width.parse().unwrap_or(0).min(MAX_WIDTH),
            precision,
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn precision(&self) -> Option<usize> {
        self.precision
    }

    /// The shape of a number whose text has its digits already.
    pub(crate) fn without_precision(self) -> Self {
        Self { precision: None, ..self }
    }

    /// The shape of what is no number.
    pub(crate) fn without_zeros(self) -> Self {
        Self { zeros: false, precision: None, ..self }
    }

    /// Returns the prefix of the digits, if the flag `#` asks for it.
    pub(crate) fn prefix(&self, base: &'static str) -> &'static str {
        if self.alternate { base } else { "" }
    }

    pub(crate) fn text(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let bytes = &bytes[..self.precision.unwrap_or(bytes.len()).min(bytes.len())];
        let padding = vec![b' '; self.width.saturating_sub(bytes.len())];
        match self.left {
            true => out.extend(bytes.iter().chain(&padding)),
            false => out.extend(padding.iter().chain(bytes)),
        }
    }

    pub(crate) fn number(&self, digits: &str, sign: Sign, out: &mut Vec<u8>) {
        let sign = match (sign, self.plus, self.blank) {
            (Sign::Minus, ..) => "-",
            (Sign::Plus, true, _) => "+",
            (Sign::Plus, false, true) => " ",
            (Sign::Plus, false, false) => "",
        };
        let least = self.precision.unwrap_or(0);
        let digits = format!("{digits:0>least$}");
        let width = self.width.saturating_sub(sign.len());
        let text = match (self.left, self.zeros && self.precision.is_none()) {
            (false, true) => format!("{sign}{digits:0>width$}"),
            _ => format!("{sign}{digits}"),
        };
        Self { precision: None, ..*self }.text(text.as_bytes(), out);
    }
}
