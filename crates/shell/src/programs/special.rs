//! Builtins that steer the shell.

use super::options::{Order, read};
use crate::state::{Done, Shell, Stop};
use crate::streams::Line;
use std::sync::Arc;

/// The code that an argument gives, or that of the last command.
async fn code(shell: &mut Shell, who: &str, arguments: &[String]) -> Result<i32, Stop> {
    match arguments.first() {
        None => Ok(shell.status),
        Some(text) => match text.parse::<i64>() {
            Ok(code) => Ok((code & 255) as i32),
            Err(_) => {
                shell.complain(who, &format!("{text}: numeric argument required")).await;
                Ok(2)
            }
        },
    }
}

pub(super) async fn exit(shell: &mut Shell, arguments: &[String]) -> Done {
    Err(Stop::Exit(code(shell, "exit", arguments).await?))
}

pub(super) async fn return_(shell: &mut Shell, arguments: &[String]) -> Done {
    let code = code(shell, "return", arguments).await?;
    if shell.calls == 0 {
        shell.complain("return", "can only `return' from a function or sourced script").await;
        return Ok(2);
    }
    Err(Stop::Return(code))
}

/// Runs `break` or `continue`.
pub(super) async fn leave(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    if shell.loops == 0 {
        shell.complain(name, "only meaningful in a `for', `while', or `until' loop").await;
        return Ok(0);
    }
    let count = match arguments.first().map(|text| text.parse::<usize>()) {
        None => 1,
        Some(Ok(count)) if count > 0 => count.min(shell.loops),
        Some(_) => {
            shell.complain(name, &format!("{}: loop count out of range", arguments[0])).await;
            return Ok(1);
        }
    };
    Err(if name == "break" { Stop::Break(count) } else { Stop::Continue(count) })
}

pub(super) async fn eval(shell: &mut Shell, arguments: &[String]) -> Done {
    let text = arguments.join(" ");
    shell.deeper().await?;
    let done = shell.run_text(&text, "eval").await;
    shell.level -= 1;
    done
}

/// `.` and `source`.
pub(super) async fn source(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    let Some((path, arguments)) = arguments.split_first() else {
        shell.complain(name, "filename argument required").await;
        shell.say(&format!("{name}: usage: {name} filename [arguments]\n")).await;
        return Ok(2);
    };
    let text = match script(shell, path).await? {
        Ok(text) => text,
        Err(why) => {
            shell.complain("", &format!("{path}: {why}")).await;
            return Ok(1);
        }
    };
    shell.deeper().await?;
    let positional = Arc::clone(&shell.positional);
    if !arguments.is_empty() {
        shell.positional = Arc::new(arguments.to_vec());
    }
    shell.calls += 1;
    let done = shell.run_text(&text, path).await;
    shell.calls -= 1;
    shell.positional = positional;
    shell.level -= 1;
    match done {
        Err(Stop::Return(code)) => Ok(code),
        done => done,
    }
}

/// A script's text from a file.
async fn script(shell: &mut Shell, path: &str) -> Result<Result<String, &'static str>, Stop> {
    let mut reader = match shell.reader_of(path) {
        Ok(reader) => reader,
        Err(why) => return Ok(Err(why)),
    };
    let mut bytes = Vec::new();
    while reader.read_into(&mut bytes, 64 << 10, None).await > 0 {
        shell.step(1).await?;
        if bytes.len() > crate::syntax::MAX_SCRIPT {
            return Ok(Err("File too large"));
        }
    }
    Ok(String::from_utf8(bytes).map_err(|_| "cannot execute binary file"))
}

/// `bash` and `sh`: a shell within this one.
pub(super) async fn bash(shell: &mut Shell, name: &str, arguments: &[String]) -> Done {
    let mut inner = shell.subshell().await?;
    inner.options = crate::state::Options::default();
    inner.unchecked = 0;
    inner.functions = Arc::default();
    Arc::make_mut(&mut inner.variables).retain(|_, variable| variable.exported);
    let mut rest = arguments;
    let mut command = false;
    while let Some((first, more)) = rest.split_first() {
        let Some(flags) = first.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
        rest = more;
        match flags {
            "-" => break,
            "-version" => {
                let text = "GNU bash, version 5.2.0(1)-release (a small shell of the same grammar)\n";
                shell.out(name, text.as_bytes()).await?;
                return Ok(0);
            }
            "-login" | "-norc" | "-noprofile" | "-posix" => continue,
            _ => {}
        }
        for flag in flags.chars() {
            match flag {
                'c' => command = true,
                'l' | 'i' | 's' => {}
                'e' => inner.options.exit_on_error = true,
                'u' => inner.options.unset_is_error = true,
                'x' => inner.options.trace = true,
                'o' => {
                    if rest.first().is_some_and(|option| option == "pipefail") {
                        inner.options.pipe_fail = true;
                    }
                    rest = rest.get(1..).unwrap_or_default();
                }
                flag => {
                    shell.complain("bash", &format!("-{flag}: invalid option")).await;
                    return Ok(2);
                }
            }
        }
    }
    let (text, from) = match (command, rest.split_first()) {
        (true, None) => {
            shell.complain("bash", "-c: option requires an argument").await;
            return Ok(2);
        }
        (true, Some((text, arguments))) => {
            inner.name = arguments.first().cloned().unwrap_or_else(|| name.to_owned());
            inner.positional = Arc::new(arguments.get(1..).unwrap_or_default().to_vec());
            (text.clone(), "-c".to_owned())
        }
        (false, Some((path, arguments))) => {
            inner.name.clone_from(path);
            inner.positional = Arc::new(arguments.to_vec());
            match script(shell, path).await? {
                Ok(text) => (text, path.clone()),
                Err(why) => {
                    shell.complain("bash", &format!("{path}: {why}")).await;
                    return Ok(if why == "No such file or directory" { 127 } else { 126 });
                }
            }
        }
        (false, None) => match script(shell, "/dev/stdin").await? {
            Ok(text) => (text, name.to_owned()),
            Err(why) => return Err(shell.fails("bash", why).await),
        },
    };
    let done = inner.run_text(&text, &from).await;
    match done {
        Err(Stop::Spent) => Err(Stop::Spent),
        done => Ok(inner.ended(done).await),
    }
}

/// A path to a script, run by a shell of its own, as its first line or nothing says.
pub(super) async fn script_file(shell: &mut Shell, path: &str, arguments: &[String]) -> Done {
    use proofbox_vfs::{FileKind, lock};
    let found = lock(&shell.shared.tree).stat_followed(&shell.path(path));
    match found {
        Err(error) => {
            shell.complain("", &format!("{path}: {}", crate::state::reason(&error))).await;
            return Ok(127);
        }
        Ok(entry) if entry.kind == FileKind::Directory => {
            shell.complain("", &format!("{path}: Is a directory")).await;
            return Ok(126);
        }
        Ok(_) => {}
    }
    let mut start = Vec::new();
    if let Ok(mut reader) = shell.reader_of(path) {
        reader.read_into(&mut start, 200, Some(b'\n')).await;
    }
    let mut all = vec![path.to_owned()];
    all.extend_from_slice(arguments);
    match start.starts_with(b"#!") && start.windows(6).any(|part| part == b"python") {
        true => super::python::python(shell, "python3", &all).await,
        false => bash(shell, "bash", &all).await,
    }
}

pub(super) async fn wait(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() || arguments == ["-n"] {
        for id in shell.job_ids() {
            shell.wait_for(id).await;
        }
        return Ok(0);
    }
    let mut status = 0;
    for argument in arguments {
        let id = job_id(shell, argument);
        status = match id {
            Some(id) => shell.wait_for(id).await,
            None => None,
        }
        .unwrap_or(127);
        if status == 127 {
            shell.complain("wait", &format!("pid {argument} is not a child of this shell")).await;
        }
    }
    Ok(status)
}

/// Returns the id of the job that `%1`, `%%` or a number names.
fn job_id(shell: &Shell, text: &str) -> Option<u32> {
    match text.strip_prefix('%') {
        Some("%" | "+" | "") => shell.job_ids().last().copied(),
        Some(number) => shell.job_ids().get(number.parse::<usize>().ok()?.checked_sub(1)?).copied(),
        None => text.parse().ok(),
    }
}

pub(super) async fn jobs(shell: &mut Shell) -> Done {
    for (at, id) in shell.job_ids().into_iter().enumerate() {
        if shell.running_jobs().contains(&id) {
            shell.out("jobs", format!("[{}]   Running                 {id} &\n", at + 1).as_bytes()).await?;
        }
    }
    Ok(0)
}

pub(super) async fn kill(shell: &mut Shell, arguments: &[String]) -> Done {
    let mut status = 0;
    let mut any = false;
    for argument in arguments.iter().skip_while(|argument| argument.starts_with('-')) {
        any = true;
        let ended = job_id(shell, argument).is_some_and(|id| shell.end_job(id));
        if !ended {
            shell.complain("kill", &format!("({argument}) - No such process")).await;
            status = 1;
        }
    }
    if !any {
        shell.complain("kill", "usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...").await;
        return Ok(2);
    }
    Ok(status)
}

/// Runs `read`, which reads a line.
pub(super) async fn read_line(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "rsea:d:n:N:p:t:u:i:", &[], Order::First) {
        Ok(given) => given,
        Err(why) => {
            shell.complain("read", &why).await;
            return Ok(2);
        }
    };
    let raw = given.has('r');
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
            let joins = !raw && !ended && (text.len() - text.trim_end_matches('\\').len()) % 2 == 1;
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
        let words = words_of(&text, &separators, usize::MAX, raw);
        shell.assign_list(name, words, false).await?;
        return Ok(i32::from(ended));
    }
    let values = match names.as_slice() {
        [] => vec![strip(&text, raw)],
        names => words_of(&text, &separators, names.len(), raw),
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

fn strip(text: &str, raw: bool) -> String {
    if raw {
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
fn words_of(text: &str, separators: &str, most: usize, raw: bool) -> Vec<String> {
    let blank = |c: char| " \t\n".contains(c) && separators.contains(c);
    let mut rest = text.trim_start_matches(blank).trim_end_matches(blank);
    let mut words = Vec::new();
    while !rest.is_empty() {
        if words.len() + 1 == most {
            words.push(strip(rest, raw));
            break;
        }
        let mut escaped = false;
        let end = rest.find(|c: char| {
            let ends = separators.contains(c) && !escaped;
            escaped = c == '\\' && !raw && !escaped;
            ends
        });
        let Some(end) = end else {
            words.push(strip(rest, raw));
            break;
        };
        words.push(strip(&rest[..end], raw));
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
pub(super) async fn map_file(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "td:n:s:", &[], Order::First) {
        Ok(given) => given,
        Err(why) => {
            shell.complain("mapfile", &why).await;
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
    shell.assign_list(name, lines, false).await?;
    Ok(0)
}

/// `trap`: nothing sends signals here; a command for the end is kept and run.
pub(super) async fn trap(shell: &mut Shell, arguments: &[String]) -> Done {
    let rest: Vec<&String> = arguments.iter().filter(|argument| *argument != "--").collect();
    let at_exit = rest.iter().skip(1).any(|name| ["EXIT", "0"].contains(&name.as_str()));
    if let (Some(action), true) = (rest.first(), at_exit) {
        shell.at_exit = match action.as_str() {
            "-" | "" => None,
            action => Some(Arc::from(action)),
        };
    }
    Ok(0)
}

impl Shell {
    /// Goes one level deeper within this shell; the caller comes back up.
    pub(super) async fn deeper(&mut self) -> Result<(), Stop> {
        if self.level >= crate::bounds::MAX_LEVELS {
            self.complain("", "scripts are nested too deeply").await;
            return Err(Stop::Exit(1));
        }
        self.level += 1;
        Ok(())
    }
}
