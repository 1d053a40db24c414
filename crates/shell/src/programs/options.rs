//! Options of programs, as `getopt` reads them.

/// Options and operands of a program.
#[derive(Debug, Default, Clone)]
pub(crate) struct Given {
    /// Options in their order, each with its value if it takes one.
    pub(crate) options: Vec<(char, String)>,
    /// Operands of the program, in order.
    pub(crate) operands: Vec<String>,
}

impl Given {
    pub(crate) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(given, _)| *given == letter)
    }

    /// Returns the last of the given options among these letters.
    pub(crate) fn last_of(&self, letters: &str) -> Option<char> {
        self.options.iter().rev().map(|(given, _)| *given).find(|given| letters.contains(*given))
    }

    /// The value of an option, the last one given.
    pub(crate) fn value(&self, letter: char) -> Option<&str> {
        self.options.iter().rev().find(|(given, _)| *given == letter).map(|(_, value)| value.as_str())
    }

    /// Returns the values of an option, in order.
    pub(crate) fn values(&self, letter: char) -> Vec<&str> {
        self.options.iter().filter(|(given, _)| *given == letter).map(|(_, value)| value.as_str()).collect()
    }
}

/// Position in which options may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Options among the operands too.
    Any,
    /// Before the first operand only.
    First,
}

/// Reads options. `letters`: those known, each with a colon after it if it takes a value. `long`: names of two dashes
/// and the letters they stand for. Err: what is wrong, as `getopt` says it.
pub(crate) fn read(arguments: &[String], letters: &str, long: &[(&str, char)], order: Order) -> Result<Given, String> {
    let mut given = Given::default();
    let takes_value = |letter: char| {
        let at = letters.find(letter)?;
        Some(letters[at + letter.len_utf8()..].starts_with(':'))
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            given.operands.extend(rest.cloned());
            break;
        }
        if let Some(name) = argument.strip_prefix("--") {
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            let Some((_, letter)) = long.iter().find(|(known, _)| *known == name) else {
                return Err(format!("unrecognized option '--{name}'"));
            };
            let value = match (takes_value(*letter), value) {
                (Some(true), Some(value)) => value,
                (Some(true), None) => match rest.next() {
                    Some(value) => value.clone(),
                    None => return Err(format!("option '--{name}' requires an argument")),
                },
                (_, value) => value.unwrap_or_default(),
            };
            given.options.push((*letter, value));
            continue;
        }
        let Some(flags) = argument.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
            given.operands.push(argument.clone());
            if order == Order::First {
                given.operands.extend(rest.cloned());
                break;
            }
            continue;
        };
        let mut flags = flags.chars();
        while let Some(letter) = flags.next() {
            match takes_value(letter).filter(|_| letter != ':') {
                None => return Err(format!("invalid option -- '{letter}'")),
                Some(false) => given.options.push((letter, String::new())),
                Some(true) => {
                    let attached = flags.as_str().to_owned();
                    let value = match (attached.is_empty(), rest.as_slice().first()) {
                        (false, _) => attached,
                        (true, Some(value)) => {
                            rest.next();
                            value.clone()
                        }
                        (true, None) => return Err(format!("option requires an argument -- '{letter}'")),
                    };
                    given.options.push((letter, value));
                    break;
                }
            }
        }
    }
    Ok(given)
}
