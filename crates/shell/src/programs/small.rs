//! Small programs: `sleep`, `seq`, `env`, `which`, `basename`, `whoami` and others.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, Stop, reason};
use proofbox_vfs::{FileUse, lock};
use std::time::Duration;

pub(super) async fn sleep(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() {
        return Err(usage(shell, "sleep", "missing operand", 1).await);
    }
    let mut total = 0.0;
    for text in arguments {
        let (digits, unit) = match text.char_indices().last() {
            Some((at, 's')) => (&text[..at], 1.0),
            Some((at, 'm')) => (&text[..at], 60.0),
            Some((at, 'h')) => (&text[..at], 3600.0),
            Some((at, 'd')) => (&text[..at], 86_400.0),
            _ => (text.as_str(), 1.0),
        };
        match digits.parse::<f64>() {
            Ok(count) if count >= 0.0 => total += count * unit,
            _ if text == "infinity" => total = f64::INFINITY,
            _ => return Err(usage(shell, "sleep", &format!("invalid time interval '{text}'"), 1).await),
        }
    }
    tokio::time::sleep(Duration::from_secs_f64(total.min(1e8))).await;
    Ok(0)
}

pub(super) async fn sequence(shell: &mut Shell, arguments: &[String]) -> Done {
    let (mut between, mut wide, mut format) = ("\n".to_owned(), false, None);
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    // A negative number is no option.
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-w" | "--equal-width" => wide = true,
            "-s" => between = rest.next().cloned().unwrap_or_default(),
            "-f" => format = rest.next().cloned(),
            text if text.starts_with("-s") => between = text[2..].to_owned(),
            text => operands.push(text.to_owned()),
        }
    }
    let mut numbers = Vec::new();
    for operand in &operands {
        match operand.parse::<f64>() {
            Ok(number) if number.is_finite() => numbers.push(number),
            _ => return Err(usage(shell, "seq", &format!("invalid floating point argument: '{operand}'"), 1).await),
        }
    }
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1.0, 1.0, *last),
        [first, last] => (*first, 1.0, *last),
        [first, step, last] => (*first, *step, *last),
        [] => return Err(usage(shell, "seq", "missing operand", 1).await),
        _ => return Err(usage(shell, "seq", &format!("extra operand '{}'", operands[3]), 1).await),
    };
    if step == 0.0 {
        return Err(usage(shell, "seq", "invalid Zero increment value: '0'", 1).await);
    }
    let digits = operands.iter().map(|text| text.split_once('.').map_or(0, |(_, digits)| digits.len())).max();
    let digits = digits.unwrap_or(0).min(20);
    let width = match wide {
        true => format!("{first:.digits$}").len().max(format!("{last:.digits$}").len()),
        false => 0,
    };
    let mut text = String::new();
    let mut index = 0_u64;
    loop {
        let value = first + step * index as f64;
        if (step > 0.0 && value > last + 1e-10) || (step < 0.0 && value < last - 1e-10) {
            break;
        }
        if index > 0 {
            text.push_str(&between);
        }
        match &format {
            Some(format) => text.push_str(
                &format.replacen("%g", &value.to_string(), 1).replacen("%02g", &format!("{value:02}"), 1).replacen(
                    "%03g",
                    &format!("{value:03}"),
                    1,
                ),
            ),
            None => text.push_str(&format!("{value:0width$.digits$}")),
        }
        index += 1;
        shell.step(1).await?;
        if text.len() > 16 << 10 {
            shell.out("seq", text.as_bytes()).await?;
            text.clear();
        }
    }
    if index > 0 {
        text.push('\n');
    }
    shell.out("seq", text.as_bytes()).await?;
    Ok(0)
}

/// Runs `env` or `printenv`.
pub(super) async fn environment(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    if who == "printenv" && !arguments.is_empty() {
        let mut status = 0;
        for name in arguments {
            match shell.environment().into_iter().find(|(known, _)| known == name) {
                Some((_, value)) => shell.out(who, format!("{value}\n").as_bytes()).await?,
                None => status = 1,
            }
        }
        return Ok(status);
    }
    let given = match read(arguments, "iu:0", &[("ignore-environment", 'i'), ("unset", 'u')], Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 125).await),
    };
    let mut inner = shell.subshell().await?;
    {
        let variables = std::sync::Arc::make_mut(&mut inner.variables);
        variables.retain(|_, variable| variable.exported && !given.has('i'));
        for name in given.values('u') {
            variables.remove(name);
        }
    }
    let mut words = given.operands.as_slice();
    while let Some((name, value)) = words.first().and_then(|word| word.split_once('=')) {
        inner.assign_text(name, value).await?;
        if let Some(variable) = std::sync::Arc::make_mut(&mut inner.variables).get_mut(name) {
            variable.exported = true;
        }
        words = &words[1..];
    }
    match words.split_first() {
        Some((name, arguments)) => super::run(&mut inner, name, arguments).await,
        None => {
            let lines = inner.environment().into_iter().map(|(name, value)| format!("{name}={value}\n"));
            let text: String = lines.collect();
            shell.out(who, text.as_bytes()).await?;
            Ok(0)
        }
    }
}

/// Runs `which`, `type`, `command -v` or `hash`.
pub(super) async fn which(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let mut status = 0;
    let kind = arguments.iter().any(|flag| flag == "-t");
    for name in arguments.iter().filter(|argument| !argument.starts_with('-')) {
        let path = format!("/usr/bin/{name}");
        let function = shell.functions.contains_key(name);
        let builtin = super::names::is_builtin(name);
        let keyword =
            ["if", "for", "while", "until", "case", "function", "time", "[[", "{", "!"].contains(&name.as_str());
        let known = super::names::is_known(name);
        let text = match who {
            "which" => known.then_some(path),
            "type" if kind => match () {
                () if function => Some("function".to_owned()),
                () if keyword => Some("keyword".to_owned()),
                () if builtin => Some("builtin".to_owned()),
                () => known.then(|| "file".to_owned()),
            },
            "type" => match () {
                () if function => Some(format!("{name} is a function")),
                () if keyword => Some(format!("{name} is a shell keyword")),
                () if builtin => Some(format!("{name} is a shell builtin")),
                () => known.then(|| format!("{name} is {path}")),
            },
            _ if function || builtin || keyword => Some(name.clone()),
            _ => known.then_some(path),
        };
        match text {
            Some(text) => shell.out(who, format!("{text}\n").as_bytes()).await?,
            None => {
                if who == "type" && !kind {
                    shell.complain("type", &format!("{name}: not found")).await;
                }
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Runs `basename` or `dirname`.
pub(super) async fn part_of_path(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let letters = if who == "basename" { "as:" } else { "z" };
    let given = match read(arguments, letters, &[("multiple", 'a'), ("suffix", 's')], Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    let mut operands = given.operands.clone();
    let mut suffix = given.value('s').unwrap_or_default().to_owned();
    if operands.is_empty() {
        return Err(usage(shell, who, "missing operand", 1).await);
    }
    if who == "basename" && !given.has('a') && !given.has('s') {
        match operands.len() {
            1 => {}
            2 => suffix = operands.remove(1),
            _ => return Err(usage(shell, who, &format!("extra operand '{}'", operands[2]), 1).await),
        }
    }
    for path in &operands {
        let trimmed = path.trim_end_matches('/');
        let shown = match (who, trimmed.rsplit_once('/')) {
            (_, _) if trimmed.is_empty() && !path.is_empty() => "/",
            ("basename", split) => {
                let name = split.map_or(trimmed, |(_, name)| name);
                name.strip_suffix(suffix.as_str()).filter(|name| !name.is_empty()).unwrap_or(name)
            }
            (_, Some((above, _))) => match above.trim_end_matches('/') {
                "" => "/",
                above => above,
            },
            (_, None) => ".",
        };
        shell.out(who, format!("{shown}\n").as_bytes()).await?;
    }
    Ok(0)
}

/// Runs `realpath` or `readlink`.
pub(super) async fn real_path(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let given = match read(arguments, "fefmnsqz", &[("canonicalize", 'f')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    let mut status = 0;
    for name in &given.operands {
        let path = shell.path(name);
        let found = match who == "readlink" && !given.has('f') && !given.has('e') && !given.has('m') {
            true => shell.look(name, false).ok().and_then(|entry| entry.link_target),
            false => {
                let tree = lock(&shell.shared.tree);
                // The last name may be missing.
                tree.real_path(&path)
                    .or_else(|error| {
                        let parent = crate::state::absolute(&path, "..");
                        match tree.real_path(&parent) {
                            Ok(parent) if !given.has('e') => {
                                Ok(crate::state::absolute(&parent, path.rsplit('/').next().unwrap_or_default()))
                            }
                            _ => Err(error),
                        }
                    })
                    .ok()
            }
        };
        match found {
            Some(path) => shell.out(who, format!("{path}\n").as_bytes()).await?,
            None => {
                if who == "realpath" {
                    shell.complain(who, &format!("{name}: No such file or directory")).await;
                }
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Runs the programs that describe user and machine, such as `whoami`, `hostname` and `id`.
pub(super) async fn about(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let flag = arguments.first().map(String::as_str);
    let text = match (who, flag) {
        ("whoami", _) => "user".to_owned(),
        ("hostname", _) => "sandbox".to_owned(),
        ("nproc", _) => "1".to_owned(),
        ("id", Some("-u" | "-g")) => "1000".to_owned(),
        ("id", Some("-un" | "-gn")) => "user".to_owned(),
        ("id", _) => "uid=1000(user) gid=1000(user) groups=1000(user)".to_owned(),
        ("uname", None | Some("-s")) => "Linux".to_owned(),
        ("uname", Some("-m" | "-p" | "-i")) => "wasm32".to_owned(),
        ("uname", Some("-r")) => "6.1.0".to_owned(),
        ("uname", Some("-n")) => "sandbox".to_owned(),
        ("uname", _) => "Linux sandbox 6.1.0 #1 SMP wasm32 GNU/Linux".to_owned(),
        ("tty", _) => {
            shell.out(who, b"not a tty\n").await?;
            return Ok(1);
        }
        _ => String::new(),
    };
    shell.out(who, format!("{text}\n").as_bytes()).await?;
    Ok(0)
}

pub(super) async fn yes(shell: &mut Shell, arguments: &[String]) -> Done {
    let word = if arguments.is_empty() { "y".to_owned() } else { arguments.join(" ") };
    let block = format!("{word}\n").repeat((8192 / (word.len() + 1)).max(1));
    loop {
        shell.out("yes", block.as_bytes()).await?;
    }
}

/// Runs `mktemp`, which makes a temporary file or directory.
pub(super) async fn temporary(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match read(arguments, "dp:tuq", &[("directory", 'd'), ("tmpdir", 'p')], Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "mktemp", &why, 1).await),
    };
    let template = given.operands.first().map_or("tmp.XXXXXXXXXX", String::as_str);
    let marks = template.len() - template.trim_end_matches('X').len();
    if marks < 3 {
        return Err(shell.fails("mktemp", &format!("too few X's in template '{template}'")).await);
    }
    let directory = match (given.value('p'), given.operands.is_empty() || given.has('t')) {
        (Some(directory), _) => format!("{directory}/"),
        (None, true) => "/tmp/".to_owned(),
        (None, false) => String::new(),
    };
    for _ in 0..100 {
        shell.step(1).await?;
        let mut name = format!("{directory}{}", &template[..template.len() - marks]);
        for _ in 0..marks {
            let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
            name.push(char::from(letters[shell.next_random() as usize % letters.len()]));
        }
        if shell.look(&name, false).is_ok() {
            continue;
        }
        let path = shell.path(&name);
        let made = match given.has('d') {
            true => lock(&shell.shared.tree).make_directory(&path, shell.now()).map_err(|error| reason(&error)),
            false => shell.writer_of(&name, FileUse::Extend, false).map(drop),
        };
        if let Err(why) = made {
            return Err(shell
                .fails("mktemp", &format!("failed to create file via template '{template}': {why}"))
                .await);
        }
        shell.out("mktemp", format!("{name}\n").as_bytes()).await?;
        return Ok(0);
    }
    Err(Stop::Failed(1))
}

/// `timeout`, `nohup`, `nice`, `time`: another command, run as it is, or for so long.
pub(super) async fn wrapped(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let rest: Vec<String> = match who {
        "nice" if arguments.first().is_some_and(|flag| flag == "-n") => arguments.get(2..).unwrap_or_default().to_vec(),
        _ => arguments.iter().skip_while(|argument| argument.starts_with('-')).cloned().collect(),
    };
    let (limit, words) = match (who, rest.split_first()) {
        ("timeout", Some((limit, words))) => {
            let (digits, unit) = match limit.char_indices().last() {
                Some((at, 's')) => (&limit[..at], 1.0),
                Some((at, 'm')) => (&limit[..at], 60.0),
                Some((at, 'h')) => (&limit[..at], 3600.0),
                _ => (limit.as_str(), 1.0),
            };
            match digits.parse::<f64>() {
                Ok(count) if count >= 0.0 => (Some(count * unit), words),
                _ => return Err(usage(shell, who, &format!("invalid time interval '{limit}'"), 125).await),
            }
        }
        (_, _) => (None, rest.as_slice()),
    };
    let Some((name, arguments)) = words.split_first() else {
        return Err(usage(shell, who, "missing operand", 125).await);
    };
    shell.deeper().await?;
    let work = super::run(shell, name, arguments);
    let done = match limit {
        Some(seconds) if seconds > 0.0 => {
            match tokio::time::timeout(Duration::from_secs_f64(seconds.min(1e8)), work).await {
                Ok(done) => done,
                Err(_) => Ok(124),
            }
        }
        Some(_) | None => work.await,
    };
    shell.level -= 1;
    done
}

/// `pip`, and `python3 -m pip`.
pub(super) async fn packages(shell: &mut Shell, arguments: &[String]) -> Done {
    let text = shell.packages().await;
    match arguments.first().map(String::as_str) {
        Some("--version" | "-V") => {
            shell.out("pip", b"pip (there is no network here)\n").await?;
            Ok(0)
        }
        Some("list" | "freeze") => {
            shell.out("pip", format!("{text}\n").as_bytes()).await?;
            Ok(0)
        }
        _ => {
            shell.write(&shell.streams.stderr, "pip", format!("ERROR: {text}\n").as_bytes()).await?;
            Ok(1)
        }
    }
}
