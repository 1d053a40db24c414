//! Functions of values alone.

use super::characters::{characters, find, length};
use super::code::Function;
use super::machine::Machine;
use super::value::{RuntimeError, Value, format_values};
use crate::state::Shell;

impl Machine {
    /// Carries out a function.
    pub(super) fn apply(
        &mut self,
        shell: &Shell,
        function: Function,
        values: &[Value],
        format: &[u8],
    ) -> Result<Value, RuntimeError> {
        let number = |at: usize| values.get(at).map_or(0.0, Value::number);
        let bytes = |at: usize| values.get(at).map(|value| value.bytes(format)).unwrap_or_default();
        let made = |machine: &Self, bytes: Vec<u8>| machine.text(shell, bytes).map(Value::Text);
        let folded = |start: u64, fold: fn(u64, u64) -> u64| {
            let rest = values.iter().map(|value| value.number() as u64);
            Value::Number(rest.fold(start, fold) as f64)
        };
        Ok(match function {
            Function::And => folded(u64::MAX, |one, other| one & other),
            Function::Or => folded(0, |one, other| one | other),
            Function::Xor => folded(0, |one, other| one ^ other),
            Function::Compl => Value::Number((!(number(0) as u64) & ((1 << 53) - 1)) as f64),
            Function::Lshift => Value::Number((number(0) as u64).checked_shl(number(1) as u32).unwrap_or(0) as f64),
            Function::Rshift => Value::Number((number(0) as u64).checked_shr(number(1) as u32).unwrap_or(0) as f64),
            Function::Atan2 => Value::Number(number(0).atan2(number(1))),
            Function::Cos => Value::Number(number(0).cos()),
            Function::Sin => Value::Number(number(0).sin()),
            Function::Exp => Value::Number(number(0).exp()),
            Function::Log => Value::Number(number(0).ln()),
            Function::Sqrt => Value::Number(number(0).sqrt()),
            Function::Int => Value::Number(number(0).trunc()),
            Function::Length => Value::Number(length(&bytes(0)) as f64),
            Function::Index => {
                let (text, wanted) = (bytes(0), bytes(1));
                let found = match (std::str::from_utf8(&text), std::str::from_utf8(&wanted)) {
                    (Ok(text), Ok(wanted)) => text.find(wanted),
                    _ => {
                        let table = wanted.len().saturating_mul(size_of::<usize>());
                        let _held = shell.shared.used.hold(table).ok_or_else(RuntimeError::memory)?;
                        find(&text, &wanted)
                    }
                };
                Value::Number(found.map_or(0, |at| length(&text[..at]) + 1) as f64)
            }
            Function::Substr => {
                let text = bytes(0);
                let start = number(1).round_ties_even();
                let end = values.get(2).map_or(f64::INFINITY, |count| start + count.number().round_ties_even());
                let count = length(&text);
                let from = (start.max(1.0) - 1.0).min(count as f64) as usize;
                let to = (end.max(1.0) - 1.0).min(count as f64) as usize;
                let part = match characters(&text) {
                    None => text.get(from..to).unwrap_or_default().to_vec(),
                    Some(text) => {
                        text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>().into_bytes()
                    }
                };
                made(self, part)?
            }
            Function::Tolower | Function::Toupper => {
                let text = bytes(0);
                let turned = match (characters(&text), function == Function::Tolower) {
                    (Some(text), true) => text.to_lowercase().into_bytes(),
                    (Some(text), false) => text.to_uppercase().into_bytes(),
                    (None, true) => text.to_ascii_lowercase(),
                    (None, false) => text.to_ascii_uppercase(),
                };
                made(self, turned)?
            }
            Function::Sprintf => {
                let mut out = Vec::new();
                format_values(&bytes(0), &values[1..], format, &mut out)?;
                made(self, out)?
            }
            Function::Rand => {
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                Value::Number((self.random >> 11) as f64 / (1_u64 << 53) as f64)
            }
            Function::Srand => {
                let seed = match values.first() {
                    Some(seed) => seed.number() as i64 as u64,
                    None => shell.now() / 1_000_000_000,
                };
                let before = std::mem::replace(&mut self.seed, seed);
                self.random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
                Value::Number(before as f64)
            }
            Function::Systime => Value::Number((shell.now() / 1_000_000_000) as f64),
            Function::Strftime => {
                let pattern = match values.first() {
                    Some(value) => String::from_utf8_lossy(&value.bytes(format)).into_owned(),
                    None => "%a %b %e %H:%M:%S UTC %Y".to_owned(),
                };
                let seconds = values.get(1).map_or(shell.now() / 1_000_000_000, |value| value.number().max(0.0) as u64);
                let time = crate::programs::date::zoned(seconds.saturating_mul(1_000_000_000));
                let text = jiff::fmt::strtime::format(&pattern, &time);
                made(self, text.unwrap_or_default().into_bytes())?
            }
            Function::Mktime => {
                let text = String::from_utf8_lossy(&bytes(0)).into_owned();
                let parts: Vec<i64> = text.split_whitespace().filter_map(|part| part.parse().ok()).collect();
                Value::Number(match parts.as_slice() {
                    [year, month, day, hour, minute, second, ..] => {
                        seconds_since_1970([*year, *month, *day, *hour, *minute, *second]).unwrap_or(-1) as f64
                    }
                    _ => -1.0,
                })
            }
            Function::Strtonum => {
                let text = String::from_utf8_lossy(&bytes(0)).trim().to_owned();
                let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                    Some(digits) => i64::from_str_radix(digits, 16).ok().map(|value| value as f64),
                    None if text.starts_with('0') && text.len() > 1 && !text.contains('.') => {
                        i64::from_str_radix(&text, 8).ok().map(|value| value as f64)
                    }
                    None => None,
                };
                Value::Number(parsed.unwrap_or_else(|| number(0)))
            }
        })
    }
}

/// The time of a date in UTC; days and hours beyond their ranges count on.
fn seconds_since_1970([year, month, day, hour, minute, second]: [i64; 6]) -> Option<i64> {
    if [year, month, day, hour, minute, second].iter().any(|part| part.abs() > 1 << 40) {
        return None;
    }
    let year = i16::try_from(year + (month - 1).div_euclid(12)).ok()?;
    let month = ((month - 1).rem_euclid(12) + 1) as i8;
    let date = jiff::civil::Date::new(year, month, 1).ok()?;
    let midnight = date.to_datetime(jiff::civil::Time::midnight()).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(midnight.timestamp().as_second() + (day - 1) * 86_400 + hour * 3600 + minute * 60 + second)
}
