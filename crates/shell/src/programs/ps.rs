//! Programs `ps`, `pgrep` and `pkill`, which show the processes of the session and send signals to them.

use super::date::zoned;
use super::input::usage;
use super::options::{Order, read};
use crate::builtins::trap::signal;
use crate::processes::{Process, Receivers};
use crate::regular::{Case, Regular, Syntax, posix};
use crate::state::{Done, Shell};
use std::sync::Arc;

/// Column of `ps`: names that `-o` takes for it, its title, and its width; a negative one is filled up on the right.
struct Column {
    names: &'static [&'static str],
    title: &'static str,
    width: isize,
    value: fn(&Shell, &Process) -> String,
}

const COLUMNS: &[Column] = &[
    Column { names: &["pid", "tid"], title: "PID", width: 7, value: |_, process| process.number.to_string() },
    Column { names: &["ppid"], title: "PPID", width: 7, value: |_, process| process.parent.to_string() },
    Column { names: &["pgid", "pgrp"], title: "PGID", width: 7, value: |_, process| process.group().to_string() },
    Column { names: &["sid", "sess"], title: "SID", width: 7, value: |_, process| process.group().to_string() },
    Column { names: &["user", "euser", "ruser", "uname"], title: "USER", width: -8, value: |_, _| "user".to_owned() },
    Column { names: &["uid", "euid"], title: "UID", width: 5, value: |_, _| "1000".to_owned() },
    Column { names: &["%cpu", "pcpu"], title: "%CPU", width: 4, value: |_, _| "0.0".to_owned() },
    Column { names: &["%mem", "pmem"], title: "%MEM", width: 4, value: |_, _| "0.0".to_owned() },
    Column { names: &["vsz", "vsize"], title: "VSZ", width: 6, value: |_, _| "0".to_owned() },
    Column { names: &["rss", "rsz"], title: "RSS", width: 5, value: |_, _| "0".to_owned() },
    Column { names: &["tty", "tt", "tname"], title: "TTY", width: -8, value: |_, _| "?".to_owned() },
    Column { names: &["stat", "state", "s"], title: "STAT", width: -4, value: state },
    Column { names: &["start", "start_time", "stime", "lstart"], title: "START", width: 5, value: start },
    Column { names: &["etime"], title: "ELAPSED", width: 11, value: elapsed },
    Column {
        names: &["etimes"],
        title: "ELAPSED",
        width: 7,
        value: |shell, process| seconds(shell, process).to_string(),
    },
    Column { names: &["c"], title: "C", width: 2, value: |_, _| "0".to_owned() },
    Column { names: &["ni", "nice"], title: "NI", width: 3, value: |_, _| "0".to_owned() },
    Column { names: &["time", "cputime"], title: "TIME", width: 8, value: |_, _| "00:00:00".to_owned() },
    Column { names: &["comm", "ucmd", "ucomm"], title: "COMMAND", width: -15, value: |_, process| name_of(process) },
    Column { names: &["args", "cmd", "command"], title: "COMMAND", width: -27, value: |_, process| process.command() },
];

fn state(shell: &Shell, process: &Process) -> String {
    if process.number == shell.process.number { "R" } else { "S" }.to_owned()
}

fn start(_: &Shell, process: &Process) -> String {
    jiff::fmt::strtime::format("%H:%M", &zoned(process.started)).unwrap_or_default()
}

/// Returns for how many seconds a process has run.
fn seconds(shell: &Shell, process: &Process) -> u64 {
    shell.now().saturating_sub(process.started) / 1_000_000_000
}

fn elapsed(shell: &Shell, process: &Process) -> String {
    let seconds = seconds(shell, process);
    let short = format!("{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    if seconds < 3600 { short } else { format!("{:02}:{short}", seconds / 3600) }
}

/// Returns the name of the program that a process runs.
fn name_of(process: &Process) -> String {
    let command = process.command();
    let program = command.split_whitespace().next().unwrap_or_default();
    program.rsplit('/').next().unwrap_or_default().chars().take(15).collect()
}

/// Request of `ps`.
#[derive(Default)]
struct PsOptions {
    /// Columns of `-o`, each with its title where another than its own is given.
    columns: Vec<(String, Option<String>)>,
    /// Numbers of processes; none for all.
    numbers: Option<Vec<u32>>,
    parents: Option<Vec<u32>>,
    user_format: bool,
    full_format: bool,
    no_titles: bool,
}

fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(|word| word.parse().map_err(|_| "process ID list syntax error".to_owned())).collect()
}

impl PsOptions {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let mut value = || value.or_else(|| rest.next().map(String::as_str)).unwrap_or_default().to_owned();
                match name {
                    "no-headers" | "no-heading" | "noheader" | "noheaders" => asked.no_titles = true,
                    "pid" => asked.numbers.get_or_insert_default().extend(numbers(&value())?),
                    "ppid" => asked.parents.get_or_insert_default().extend(numbers(&value())?),
                    "format" => asked.add_columns(&value()),
                    "sort" => drop(value()),
                    "forest" | "headers" => {}
                    _ => return Err(format!("error: unknown gnu long option '{argument}'")),
                }
                continue;
            }
            if argument.starts_with(|first: char| first.is_ascii_digit()) {
                asked.numbers.get_or_insert_default().extend(numbers(argument)?);
                continue;
            }
            let letters = argument.trim_start_matches('-');
            for (at, letter) in letters.char_indices() {
                let attached = &letters[at + letter.len_utf8()..];
                let value = |rest: &mut std::iter::Peekable<std::slice::Iter<'_, String>>| match attached {
                    "" => rest.next().cloned().unwrap_or_default(),
                    attached => attached.to_owned(),
                };
                match letter {
                    'o' => asked.add_columns(&value(&mut rest)),
                    'p' | 'q' => asked.numbers.get_or_insert_default().extend(numbers(&value(&mut rest))?),
                    'u' | 'U' if argument.starts_with('-') && rest.peek().is_some() => drop(value(&mut rest)),
                    'u' => asked.user_format = true,
                    'f' | 'F' | 'l' => asked.full_format = true,
                    'h' => asked.no_titles = true,
                    letter if "aAdegHjNTvwxymC".contains(letter) => continue,
                    letter => return Err(format!("error: unsupported option '{letter}'")),
                }
                if matches!(letter, 'o' | 'p' | 'q') {
                    break;
                }
            }
        }
        Ok(asked)
    }

    fn add_columns(&mut self, list: &str) {
        // A title takes the rest of the list.
        let (names, title) = list.split_once('=').map_or((list, None), |(names, title)| (names, Some(title)));
        let mut names = names.split([',', ' ']).filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let (title, more) = match (title, names.peek()) {
                (Some(title), None) => match title.split_once(',') {
                    // `pid=,args=`
                    Some(("", more)) => (Some(""), Some(more)),
                    _ => (Some(title), None),
                },
                _ => (None, None),
            };
            self.columns.push((name.to_ascii_lowercase(), title.map(str::to_owned)));
            if let Some(more) = more {
                return self.add_columns(more);
            }
        }
    }
}

pub(super) async fn ps(shell: &mut Shell, arguments: &[String]) -> Done {
    let mut asked = match PsOptions::parse(arguments) {
        Ok(asked) => asked,
        Err(what) => {
            shell.say(&format!("{what}\n")).await;
            return Ok(1);
        }
    };
    if asked.columns.is_empty() {
        let names = match (asked.user_format, asked.full_format) {
            (true, _) => "user,pid,%cpu,%mem,vsz,rss,tty,stat,start,time,args",
            (false, true) => "user,pid,ppid,c,stime,tty,time,args",
            (false, false) => "pid,tty,time,comm",
        };
        asked.add_columns(names);
    }
    let mut columns = Vec::with_capacity(asked.columns.len());
    for (name, title) in &asked.columns {
        let Some(column) = COLUMNS.iter().find(|column| column.names.contains(&name.as_str())) else {
            shell.say(&format!("error: unknown user-defined format specifier \"{name}\"\n")).await;
            return Ok(1);
        };
        let title = title.as_deref().unwrap_or(match (column.title, asked.user_format, asked.full_format) {
            ("COMMAND", false, true) => "CMD",
            ("COMMAND", false, false) if name == "cmd" || arguments.iter().all(|word| !word.contains('o')) => "CMD",
            ("USER", false, true) => "UID",
            ("START", false, true) => "STIME",
            (title, _, _) => title,
        });
        columns.push((column, title));
    }
    let is_wanted = |process: &Process| match (&asked.numbers, &asked.parents) {
        (None, None) => true,
        (numbers, parents) => {
            let has = |list: &Option<Vec<u32>>, number| list.as_ref().is_some_and(|list| list.contains(&number));
            has(numbers, process.number) || has(parents, process.parent)
        }
    };
    let found: Vec<Arc<Process>> =
        shell.shared.processes.list().into_iter().filter(|process| is_wanted(process)).collect();
    let mut out = String::new();
    if !asked.no_titles && columns.iter().any(|(_, title)| !title.is_empty()) {
        add_row(&mut out, &columns, |column, title| {
            let _ = column;
            title.to_owned()
        });
    }
    for process in &found {
        shell.step(1).await?;
        add_row(&mut out, &columns, |column, _| (column.value)(shell, process));
    }
    shell.out("ps", out.as_bytes()).await?;
    Ok(i32::from(found.is_empty()))
}

fn add_row(out: &mut String, columns: &[(&Column, &str)], cell: impl Fn(&Column, &str) -> String) {
    let last = columns.len().saturating_sub(1);
    for (at, (column, title)) in columns.iter().enumerate() {
        let text = cell(column, title);
        let width = column.width.unsigned_abs();
        match (column.width < 0, at == last) {
            (true, true) => out.push_str(&text),
            (true, false) => out.push_str(&format!("{text:<width$} ")),
            (false, true) => out.push_str(&format!("{text:>width$}")),
            (false, false) => out.push_str(&format!("{text:>width$} ")),
        }
    }
    out.push('\n');
}

/// Runs `pgrep` or `pkill`.
pub(super) async fn pgrep(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let mut arguments = arguments.to_vec();
    let mut sent = 15;
    if who == "pkill"
        && let Some(at) =
            arguments.iter().position(|word| word.strip_prefix('-').is_some_and(|name| signal(name).is_some()))
    {
        sent = signal(&arguments.remove(at)[1..]).map_or(sent, |(_, number)| number);
    }
    let long =
        [("full", 'f'), ("list-name", 'l'), ("list-full", 'a'), ("exact", 'x'), ("newest", 'n'), ("oldest", 'o')];
    let long = [&long[..], &[("count", 'c'), ("parent", 'P'), ("pgroup", 'g'), ("signal", 's'), ("invert-match", 'v')]];
    let given = match read(&arguments, "flaxuncvioes:P:g:d:U:", &long.concat(), Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 2).await),
    };
    if let Some(name) = given.value('s') {
        match signal(name) {
            Some((_, number)) => sent = number,
            None => return Err(usage(shell, who, &format!("Unknown signal \"{name}\"."), 2).await),
        }
    }
    let number_lists = (given.value('P').map(numbers).transpose(), given.value('g').map(numbers).transpose());
    let (Ok(parents), Ok(groups)) = number_lists else {
        return Err(usage(shell, who, "not a number", 2).await);
    };
    if given.operands.is_empty() && parents.is_none() && groups.is_none() {
        return Err(usage(shell, who, "no matching criteria specified", 2).await);
    }
    let pattern = given.operands.first().map_or("", String::as_str);
    let expression = posix(pattern, Syntax::Extended);
    let expression = if given.has('x') { format!("^(?:{expression})$") } else { expression };
    let case = if given.has('i') { Case::Insensitive } else { Case::Sensitive };
    let regular = match Regular::new(&expression, case) {
        Ok(regular) => regular,
        Err(why) => {
            shell.error(who, &why).await;
            return Ok(2);
        }
    };
    let mut found = Vec::new();
    for process in shell.shared.processes.list() {
        shell.step(1).await?;
        let text = if given.has('f') { process.command() } else { name_of(&process) };
        let matches = regular.is_match(text.as_bytes())
            && parents.as_ref().is_none_or(|parents| parents.contains(&process.parent))
            && groups.as_ref().is_none_or(|groups| groups.contains(&process.group()));
        // The shell stands for the program itself, which does not find itself.
        if matches != given.has('v') && process.number != shell.process.number {
            found.push(process);
        }
    }
    if given.has('n') {
        found = found.into_iter().max_by_key(|process| (process.started, process.number)).into_iter().collect();
    } else if given.has('o') {
        found = found.into_iter().min_by_key(|process| (process.started, process.number)).into_iter().collect();
    }
    for process in &found {
        if who == "pkill" {
            shell.shared.processes.send(Receivers::One(process.number), sent);
        } else if !given.has('c') {
            let name = match (given.has('a'), given.has('l')) {
                (true, _) => format!(" {}", process.command().replace('\n', " ")),
                (false, true) => format!(" {}", name_of(process)),
                (false, false) => String::new(),
            };
            let end = given.value('d').unwrap_or("\n");
            shell.out(who, format!("{}{name}{end}", process.number).as_bytes()).await?;
        }
    }
    if given.has('c') {
        shell.out(who, format!("{}\n", found.len()).as_bytes()).await?;
    }
    Ok(i32::from(found.is_empty()))
}
