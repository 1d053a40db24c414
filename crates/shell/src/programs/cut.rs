//! Program `cut`.

use super::input::{Lines, open, or_input, usage};
use super::options::{Order, read};
use crate::state::{Done, Shell};

/// `1,3-5,7-`: the ranges of a list, each from and to.
fn ranges(text: &str) -> Option<Vec<(usize, usize)>> {
    text.split(',')
        .map(|part| {
            let (from, to) = match part.split_once('-') {
                Some(("", "")) => return None,
                Some((from, to)) => (from, to),
                None => (part, part),
            };
            let from = if from.is_empty() { 1 } else { from.parse().ok()? };
            let to = if to.is_empty() { usize::MAX } else { to.parse().ok()? };
            (from > 0 && from <= to).then_some((from, to))
        })
        .collect()
}

pub(super) async fn cut(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("fields", 'f'),
        ("characters", 'c'),
        ("bytes", 'b'),
        ("delimiter", 'd'),
        ("only-delimited", 's'),
        ("output-delimiter", 'o'),
        ("complement", 'C'),
    ];
    let given = match read(arguments, "f:c:b:d:so:Cn", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "cut", &why, 1).await),
    };
    let by = given.last_of("fcb");
    let Some(by) = by else {
        return Err(usage(shell, "cut", "you must specify a list of bytes, characters, or fields", 1).await);
    };
    let Some(ranges) = ranges(given.value(by).unwrap_or_default()) else {
        let zero = given.value(by).unwrap_or_default().split([',', '-']).any(|number| number == "0");
        let what = match (by, zero) {
            ('f', true) => "fields are numbered from 1",
            ('f', false) => "invalid field range",
            (_, true) => "byte/character positions are numbered from 1",
            (_, false) => "invalid byte or character range",
        };
        return Err(usage(shell, "cut", what, 1).await);
    };
    let delimiter = given.value('d').unwrap_or("\t");
    if delimiter.chars().count() != 1 {
        return Err(usage(shell, "cut", "the delimiter must be a single character", 1).await);
    }
    let between = given.value('o').unwrap_or(if by == 'f' { delimiter } else { "" }).to_owned();
    let wanted = |number: usize| ranges.iter().any(|(from, to)| (*from..=*to).contains(&number)) != given.has('C');
    let mut status = 0;
    for path in or_input(given.operands.clone()) {
        let Some(reader) = open(shell, "cut", &path).await else {
            status = 1;
            continue;
        };
        let mut lines = Lines::new(shell, reader)?;
        while lines.next(shell, "cut").await? {
            let text = String::from_utf8_lossy(&lines.line);
            shell.step(text.len() as u64 * ranges.len() as u64 / 4096).await?;
            let mut out = match by {
                'f' if !text.contains(delimiter) && given.has('s') => continue,
                'f' if !text.contains(delimiter) => text.into_owned(),
                'f' => {
                    let fields = text.split(delimiter).enumerate().filter(|(at, _)| wanted(at + 1));
                    fields.map(|(_, field)| field).collect::<Vec<_>>().join(&between)
                }
                _ => text.chars().enumerate().filter(|(at, _)| wanted(at + 1)).map(|(_, c)| c).collect(),
            };
            out.push('\n');
            shell.out("cut", out.as_bytes()).await?;
        }
    }
    Ok(status)
}
