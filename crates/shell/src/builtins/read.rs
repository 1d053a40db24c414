//! Builtins that read input: `read`, `mapfile`.

use crate::programs::options::{Order, read};
use crate::state::{Done, Shell};
use crate::streams::Line;

/// Runs `read`, which reads a line.
pub(crate) async fn read_line(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "rsea:d:n:N:p:t:u:i:", &[], Order::First) {
        Ok(given) => given,
        Err(why) => {
            shell.error("read", &why).await;
            return Ok(2);
        }
    };
    let backslash = if given.has('r') { Backslash::Literal } else { Backslash::Escapes };
    let end = given.value('d').map_or(b'\n', |text| text.bytes().next().unwrap_or(0));
    let most = given.value('n').or(given.value('N')).and_then(|count| count.parse().ok()).unwrap_or(usize::MAX);
    let seconds = given.value('t').and_then(|seconds| seconds.parse::<f64>().ok());
    let mut reader = shell.streams.stdin.clone();
    let mut text = String::new();
    let mut ended = false;
    let reading = async {
        loop {
            let mut line = Vec::new();
            let read = match most {
                usize::MAX => reader.read_line(&mut line, end, crate::bounds::MAX_TEXT).await,
                most => match reader.read_into(&mut line, most, Some(end)).await {
                    0 => Line::End,
                    _ => Line::Whole,
                },
            };
            ended |= matches!(read, Line::Rest | Line::End);
            if line.last() == Some(&end) {
                line.pop();
            }
            text.push_str(&String::from_utf8_lossy(&line));
            // A backslash at the end of a line joins it with the next.
            let joins =
                backslash == Backslash::Escapes && !ended && (text.len() - text.trim_end_matches('\\').len()) % 2 == 1;
            if !joins || text.len() > crate::bounds::MAX_TEXT {
                break;
            }
            text.pop();
        }
    };
    match seconds {
        None => reading.await,
        Some(seconds) => {
            let longest = std::time::Duration::from_secs_f64(seconds.clamp(0.0, 1e6));
            if tokio::time::timeout(longest, reading).await.is_err() {
                return Ok(142);
            }
        }
    }
    shell.step(1).await?;
    let separators = shell.text_of("IFS").map_or_else(|| " \t\n".to_owned(), |text| text.to_string());
    let names: Vec<&str> = given.operands.iter().map(String::as_str).collect();
    if let Some(name) = given.value('a') {
        let words = split_words(&text, &separators, usize::MAX, backslash);
        shell.assign_list(name, words).await?;
        return Ok(i32::from(ended));
    }
    let values = match names.as_slice() {
        [] => vec![strip(&text, backslash)],
        names => split_words(&text, &separators, names.len(), backslash),
    };
    let names = if names.is_empty() { vec!["REPLY"] } else { names };
    for (at, name) in names.iter().enumerate() {
        if !crate::expand::is_name(name) {
            return Err(shell.fails("read", &format!("`{name}': not a valid identifier")).await);
        }
        shell.assign_text(name, values.get(at).map_or("", String::as_str)).await?;
    }
    Ok(i32::from(ended))
}

/// Meaning of backslashes in what is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// Characters as any other, as with `-r`.
    Literal,
    /// Escapes of the next character.
    Escapes,
}

fn strip(text: &str, backslash: Backslash) -> String {
    if backslash == Backslash::Literal {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.extend(if c == '\\' { characters.next() } else { Some(c) });
    }
    plain
}

/// At most so many words; the last has all the rest.
fn split_words(text: &str, separators: &str, most: usize, backslash: Backslash) -> Vec<String> {
    let blank = |c: char| " \t\n".contains(c) && separators.contains(c);
    let mut rest = text.trim_start_matches(blank).trim_end_matches(blank);
    let mut words = Vec::new();
    while !rest.is_empty() {
        if words.len() + 1 == most {
            words.push(strip(rest, backslash));
            break;
        }
        let mut escaped = false;
        let end = rest.find(|c: char| {
            let ends = separators.contains(c) && !escaped;
            escaped = c == '\\' && backslash == Backslash::Escapes && !escaped;
            ends
        });
        let Some(end) = end else {
            words.push(strip(rest, backslash));
            break;
        };
        words.push(strip(&rest[..end], backslash));
        let after = rest[end..].trim_start_matches(blank);
        let separator = after.chars().next().filter(|c| separators.contains(*c) && !blank(*c));
        rest = match separator {
            Some(c) if !blank(rest[end..].chars().next().unwrap_or(' ')) || after.starts_with(c) => {
                after[c.len_utf8()..].trim_start_matches(blank)
            }
            _ => after,
        };
    }
    words
}

/// Runs `mapfile` or `readarray`.
pub(crate) async fn mapfile(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "td:n:s:", &[], Order::First) {
        Ok(given) => given,
        Err(why) => {
            shell.error("mapfile", &why).await;
            return Ok(2);
        }
    };
    let mut reader = shell.streams.stdin.clone();
    let Some(mut held) = shell.shared.used.hold(0) else { return Ok(1) };
    let mut lines = Vec::new();
    loop {
        shell.step(1).await?;
        let mut line = Vec::new();
        if reader.read_line(&mut line, b'\n', crate::bounds::MAX_TEXT).await == Line::End {
            break;
        }
        if !held.grow(line.len() + 64) {
            return Err(shell.fails("mapfile", "cannot allocate memory").await);
        }
        if given.has('t') && line.last() == Some(&b'\n') {
            line.pop();
        }
        lines.push(String::from_utf8_lossy(&line).into_owned());
    }
    let name = given.operands.first().map_or("MAPFILE", String::as_str);
    shell.assign_list(name, lines).await?;
    Ok(0)
}
