//! Builtins that set variables and options.

use crate::expand::is_name;
use crate::state::{Done, Shell, Stop, Value, Variable};
use std::sync::Arc;

/// `name=value`, `name+=value` or `name`.
struct Declared<'a> {
    name: &'a str,
    append: bool,
    value: Option<&'a str>,
}

fn declared(argument: &str) -> Declared<'_> {
    match argument.split_once('=') {
        Some((name, value)) => match name.strip_suffix('+') {
            Some(name) => Declared { name, append: true, value: Some(value) },
            None => Declared { name, append: false, value: Some(value) },
        },
        None => Declared { name: argument, append: false, value: None },
    }
}

/// `export`, `readonly`, `local`, `declare`, `typeset`.
pub(crate) async fn declare(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let (mut exported, mut read_only, mut array) = (None, false, false);
    exported = exported.or((who == "export").then_some(true));
    read_only |= who == "readonly";
    let mut names = Vec::new();
    for argument in arguments {
        match argument.strip_prefix('-').filter(|flags| !flags.is_empty() && names.is_empty()) {
            None => names.push(argument),
            Some("-") => {}
            Some(flags) => {
                for flag in flags.chars() {
                    match flag {
                        'n' if who == "export" => exported = Some(false),
                        'x' => exported = Some(true),
                        'r' => read_only = true,
                        'a' => array = true,
                        'p' | 'g' | 'i' | 'f' | 'F' => {}
                        flag => {
                            shell.error(who, &format!("-{flag}: not supported")).await;
                            return Ok(2);
                        }
                    }
                }
            }
        }
    }
    if names.is_empty() {
        return list(shell, who, Wanted { exported: exported == Some(true), read_only }).await;
    }
    if who == "local" && shell.hidden.is_empty() {
        return Err(shell.fails("local", "can only be used in a function").await);
    }
    let mut status = 0;
    for argument in names {
        let Declared { name, append, value } = declared(argument);
        if !is_name(name) {
            shell.error(who, &format!("`{argument}': not a valid identifier")).await;
            status = 1;
            continue;
        }
        let local = matches!(who, "local" | "declare" | "typeset") && !arguments[0].contains('g');
        if local && let Some(hidden) = shell.hidden.last_mut() {
            let before = shell.variables.get(name).cloned();
            if let std::collections::btree_map::Entry::Vacant(entry) = hidden.entry(name.to_owned()) {
                entry.insert(before);
                Arc::make_mut(&mut shell.variables).remove(name);
            }
        }
        match value.map(|value| value.strip_prefix("(\u{1}").or((value == "(").then_some(""))) {
            Some(Some(values)) => {
                let values = match values {
                    "" if value == Some("(") => Vec::new(),
                    values => values.split('\u{1}').map(str::to_owned).collect(),
                };
                match append {
                    true => shell.append_list(name, values).await?,
                    false => shell.assign_list(name, values).await?,
                }
            }
            Some(None) => {
                let mut text = value.unwrap_or_default().to_owned();
                if append && let Some(before) = shell.text_of(name) {
                    text.insert_str(0, &before);
                }
                set(shell, who, name, &text).await?;
            }
            None if array && !shell.variables.contains_key(name) => {
                shell.assign_list(name, Vec::new()).await?;
            }
            None => {}
        }
        let none = Variable { value: None, exported: false, read_only: false, _held: None };
        let variable = Arc::make_mut(&mut shell.variables).entry(name.to_owned()).or_insert(none);
        variable.exported = exported.unwrap_or(variable.exported);
        variable.read_only |= read_only;
    }
    Ok(status)
}

async fn set(shell: &mut Shell, who: &str, name: &str, text: &str) -> Result<(), Stop> {
    match shell.set_text(name, text) {
        Ok(()) => Ok(()),
        Err(why) => Err(shell.fails(who, &why).await),
    }
}

/// Selection of the variables that are listed.
#[derive(Clone, Copy)]
struct Wanted {
    /// True when only exported ones are.
    exported: bool,
    /// True when only those that can't be changed are.
    read_only: bool,
}

async fn list(shell: &mut Shell, who: &str, wanted: Wanted) -> Done {
    let mut text = String::new();
    for (name, variable) in shell.variables.iter() {
        if (wanted.exported && !variable.exported) || (wanted.read_only && !variable.read_only) {
            continue;
        }
        let flags = match (variable.exported, variable.read_only) {
            (true, true) => "rx",
            (true, false) => "x",
            (false, true) => "r",
            (false, false) => "-",
        };
        match &variable.value {
            Some(Value::Text(value)) => {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`");
                text.push_str(&format!("declare -{flags} {name}=\"{value}\"\n"));
            }
            Some(Value::List(_)) | None => text.push_str(&format!("declare -{flags} {name}\n")),
        }
    }
    shell.out(who, text.as_bytes()).await?;
    Ok(0)
}

pub(crate) async fn unset(shell: &mut Shell, arguments: &[String]) -> Done {
    let mut status = 0;
    let functions = arguments.first().is_some_and(|flag| flag == "-f");
    for name in arguments.iter().filter(|argument| !argument.starts_with('-')) {
        if shell.variables.get(name).is_some_and(|variable| variable.read_only) {
            shell.error("unset", &format!("{name}: cannot unset: readonly variable")).await;
            status = 1;
            continue;
        }
        let element = name.strip_suffix(']').and_then(|text| text.split_once('['));
        if let Some((array, index)) = element {
            let index = shell.arithmetic_text(index).await?;
            if let Some(Value::List(list)) = shell.variables.get(array).and_then(|variable| variable.value.clone()) {
                let mut list = list;
                Arc::make_mut(&mut list).remove(&(index as u64));
                if let Err(why) = shell.set_value(array, Value::List(list)) {
                    return Err(shell.fails("unset", &why).await);
                }
            }
            continue;
        }
        let variable = !functions && Arc::make_mut(&mut shell.variables).remove(name).is_some();
        if !variable {
            Arc::make_mut(&mut shell.functions).remove(name);
        }
    }
    Ok(status)
}

pub(crate) async fn options(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() {
        let mut text = String::new();
        for (name, variable) in shell.variables.iter() {
            if let Some(Value::Text(value)) = &variable.value {
                text.push_str(&format!("{name}={value}\n"));
            }
        }
        shell.out("set", text.as_bytes()).await?;
        return Ok(0);
    }
    let mut rest = arguments;
    while let Some((first, more)) = rest.split_first() {
        let (on, flags) = match (first.strip_prefix('-'), first.strip_prefix('+')) {
            (Some(flags), _) => (true, flags),
            (None, Some(flags)) => (false, flags),
            (None, None) => break,
        };
        rest = more;
        if flags == "-" || flags.is_empty() {
            shell.positional = Arc::new(rest.to_vec());
            return Ok(0);
        }
        for flag in flags.chars() {
            let options = &mut shell.options;
            match flag {
                'e' => options.exit_on_error = on,
                'u' => options.unset_is_error = on,
                'x' => options.trace = on,
                'f' => options.no_glob = on,
                'C' => options.no_clobber = on,
                'a' | 'b' | 'h' | 'k' | 'm' | 'v' | 'B' | 'E' | 'H' | 'P' | 'T' => {}
                'o' => {
                    let Some((name, more)) = rest.split_first() else { return Ok(0) };
                    rest = more;
                    match name.as_str() {
                        "errexit" => options.exit_on_error = on,
                        "nounset" => options.unset_is_error = on,
                        "xtrace" => options.trace = on,
                        "pipefail" => options.pipe_fail = on,
                        "noglob" => options.no_glob = on,
                        "noclobber" => options.no_clobber = on,
                        "posix" => options.passes_exit_on_error = on,
                        "errtrace" | "functrace" | "allexport" | "braceexpand" | "monitor" | "verbose" => {}
                        name => {
                            shell.error("set", &format!("{name}: invalid option name")).await;
                            return Ok(2);
                        }
                    }
                }
                flag => {
                    shell.error("set", &format!("-{flag}: invalid option")).await;
                    return Ok(2);
                }
            }
        }
    }
    if !rest.is_empty() {
        shell.positional = Arc::new(rest.to_vec());
    }
    Ok(0)
}

pub(crate) async fn shopt(shell: &mut Shell, arguments: &[String]) -> Done {
    let count = arguments.iter().take_while(|word| word.len() > 1 && word.starts_with('-')).count();
    let (flags, names) = arguments.split_at(count);
    let has = |flag| flags.iter().any(|word| word.contains(flag));
    let set = match (has('s'), has('u')) {
        (true, true) => {
            shell.error("shopt", "cannot set and unset shell options simultaneously").await;
            return Ok(1);
        }
        (true, false) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let mut status = 0;
    for name in names {
        let option = match name.as_str() {
            "nullglob" => &mut shell.options.null_glob,
            "inherit_errexit" => &mut shell.options.passes_exit_on_error,
            // Others can be set, but nothing looks at them.
            _ => &mut false,
        };
        if let Some(on) = set {
            *option = on;
            continue;
        }
        let on = *option;
        status |= i32::from(!on);
        let line = match (has('q'), has('p')) {
            (true, _) => continue,
            (false, true) => format!("shopt -{} {name}\n", if on { 's' } else { 'u' }),
            (false, false) => format!("{name:<15}\t{}\n", if on { "on" } else { "off" }),
        };
        shell.out("shopt", line.as_bytes()).await?;
    }
    Ok(status)
}

pub(crate) async fn shift(shell: &mut Shell, arguments: &[String]) -> Done {
    let count = match arguments.first().map(|text| text.parse::<usize>()) {
        None => 1,
        Some(Ok(count)) => count,
        Some(Err(_)) => {
            return Err(shell.fails("shift", &format!("{}: numeric argument required", arguments[0])).await);
        }
    };
    if count > shell.positional.len() {
        return Ok(1);
    }
    Arc::make_mut(&mut shell.positional).drain(..count);
    Ok(0)
}

pub(crate) async fn let_(shell: &mut Shell, arguments: &[String]) -> Done {
    if arguments.is_empty() {
        return Err(shell.fails("let", "expression expected").await);
    }
    let mut value = 0;
    for argument in arguments {
        value = shell.arithmetic_text(argument).await?;
    }
    Ok(i32::from(value == 0))
}

/// Runs `getopts`, which parses options.
pub(crate) async fn getopts(shell: &mut Shell, arguments: &[String]) -> Done {
    let [letters, name, rest @ ..] = arguments else {
        shell.error("getopts", "usage: getopts optstring name [arg ...]").await;
        return Ok(2);
    };
    let words: Vec<String> = if rest.is_empty() { shell.positional.to_vec() } else { rest.to_vec() };
    let index = shell.text_of("OPTIND").and_then(|text| text.parse::<usize>().ok()).unwrap_or(1).max(1);
    let within = shell.option_offset.max(1);
    let silent = letters.starts_with(':');
    let word = words.get(index - 1).filter(|word| word.len() > 1 && word.starts_with('-') && *word != "--");
    let Some(word) = word else {
        let at_end = words.get(index - 1).is_some_and(|word| word == "--");
        shell.assign_text("OPTIND", &(index + usize::from(at_end)).to_string()).await?;
        shell.assign_text(name, "?").await?;
        shell.option_offset = 0;
        return Ok(1);
    };
    let letter = word.chars().nth(within).unwrap_or('?');
    let attached: String = word.chars().skip(within + 1).collect();
    let known = letters.find(letter).filter(|_| letter != ':');
    let takes = known.is_some_and(|at| letters[at + letter.len_utf8()..].starts_with(':'));
    let (mut next, mut found, mut value) = (index, letter.to_string(), None);
    shell.option_offset = 0;
    match (known, takes) {
        (None, _) => {
            found = "?".to_owned();
            match silent {
                true => value = Some(letter.to_string()),
                false => shell.error("", &format!("illegal option -- {letter}")).await,
            }
        }
        (Some(_), true) if !attached.is_empty() => value = Some(attached.clone()),
        (Some(_), true) => {
            next += 1;
            value = words.get(next - 1).cloned();
            if value.is_none() {
                found = if silent { ":" } else { "?" }.to_owned();
                match silent {
                    true => value = Some(letter.to_string()),
                    false => shell.error("", &format!("option requires an argument -- {letter}")).await,
                }
            }
        }
        (Some(_), false) => {}
    }
    match takes || attached.is_empty() {
        true => next += 1,
        false => shell.option_offset = within + 1,
    }
    shell.assign_text("OPTIND", &next.to_string()).await?;
    shell.assign_text("OPTARG", &value.unwrap_or_default()).await?;
    shell.assign_text(name, &found).await?;
    Ok(0)
}
