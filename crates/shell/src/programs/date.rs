//! `date`, and dates as other programs take and show them. There is one zone: UTC.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell};
use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, Zoned, tz::TimeZone};

/// A time, ns since 1970, as a calendar has it.
pub(super) fn zoned(time: u64) -> Zoned {
    let timestamp = Timestamp::from_nanosecond(i128::from(time)).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.to_zoned(TimeZone::UTC)
}

/// Parses a date as people write it, in nanoseconds since 1970; `now` is the present time.
pub(super) fn parse(text: &str, now: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(seconds) = text.strip_prefix('@') {
        return Some((seconds.parse::<f64>().ok()?.max(0.0) * 1e9) as u64);
    }
    let day = 86_400_000_000_000_u64;
    match text {
        "" | "now" | "today" => return Some(now),
        "yesterday" => return now.checked_sub(day),
        "tomorrow" => return now.checked_add(day),
        _ => {}
    }
    let plain = text.strip_suffix('Z').or_else(|| text.strip_suffix(" UTC")).unwrap_or(text);
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return u64::try_from(timestamp.as_nanosecond()).ok();
    }
    let civil = plain
        .parse::<DateTime>()
        .ok()
        .or_else(|| Some(plain.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight())));
    if let Some(civil) = civil {
        return u64::try_from(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()).ok();
    }
    // `2 days ago`, `+1 hour`
    let words: Vec<&str> = text.split_whitespace().collect();
    let (count, unit, ago) = match words.as_slice() {
        [count, unit] => (count.parse::<i64>().ok()?, *unit, false),
        [count, unit, "ago"] => (count.parse::<i64>().ok()?, *unit, true),
        _ => return None,
    };
    let seconds = match unit.trim_end_matches('s') {
        "second" | "sec" => 1,
        "minute" | "min" => 60,
        "hour" => 3600,
        "day" => 86_400,
        "week" => 604_800,
        _ => return None,
    };
    let moved = count.checked_mul(seconds)?.checked_mul(1_000_000_000)?;
    now.checked_add_signed(if ago { moved.checked_neg()? } else { moved })
}

pub(super) async fn date(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("date", 'd'), ("utc", 'u'), ("iso-8601", 'I'), ("rfc-email", 'R'), ("reference", 'r')];
    let given = match read(arguments, "d:uIRr:", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "date", &why, 1).await),
    };
    let now = shell.now();
    let time = match (given.value('d'), given.value('r')) {
        (Some(text), _) => match parse(text, now) {
            Some(time) => time,
            None => return Err(shell.fails("date", &format!("invalid date '{text}'")).await),
        },
        (None, Some(path)) => match shell.stat(path) {
            Ok(entry) => entry.modified,
            Err(error) => {
                return Err(shell.fails("date", &format!("{path}: {}", crate::state::reason(&error))).await);
            }
        },
        (None, None) => now,
    };
    let format = match given.operands.first().map(|operand| operand.strip_prefix('+')) {
        Some(Some(format)) => format.to_owned(),
        Some(None) => return Err(shell.fails("date", &format!("invalid date '{}'", given.operands[0])).await),
        None if given.has('I') => match given.value('I').unwrap_or_default() {
            "seconds" => "%Y-%m-%dT%H:%M:%S+00:00",
            "minutes" => "%Y-%m-%dT%H:%M+00:00",
            _ => "%Y-%m-%d",
        }
        .to_owned(),
        None if given.has('R') => "%a, %d %b %Y %H:%M:%S +0000".to_owned(),
        None => "%a %b %e %H:%M:%S UTC %Y".to_owned(),
    };
    let nanoseconds = format!("{:09}", time % 1_000_000_000);
    let format = format.replace("%3N", &nanoseconds[..3]).replace("%6N", &nanoseconds[..6]).replace("%N", &nanoseconds);
    match jiff::fmt::strtime::format(&format, &zoned(time)) {
        Ok(text) => shell.out("date", format!("{text}\n").as_bytes()).await?,
        Err(_) => return Err(shell.fails("date", "invalid format").await),
    }
    Ok(0)
}
