//! Flags of `rg`.

/// Whether a flag takes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Required,
}

/// Long name of a flag, its letter or a blank, and its value.
type Flag = (&'static str, char, Value);

const FLAGS: &[Flag] = &[
    ("after-context", 'A', Value::Required),
    ("before-context", 'B', Value::Required),
    ("context", 'C', Value::Required),
    ("regexp", 'e', Value::Required),
    ("file", 'f', Value::Required),
    ("max-count", 'm', Value::Required),
    ("max-depth", 'd', Value::Required),
    ("maxdepth", ' ', Value::Required),
    ("max-columns", 'M', Value::Required),
    ("max-columns-preview", ' ', Value::None),
    ("no-max-columns-preview", ' ', Value::None),
    ("replace", 'r', Value::Required),
    ("glob", 'g', Value::Required),
    ("iglob", ' ', Value::Required),
    ("type", 't', Value::Required),
    ("type-not", 'T', Value::Required),
    ("type-add", ' ', Value::Required),
    ("ignore-file", ' ', Value::Required),
    ("sort", ' ', Value::Required),
    ("sortr", ' ', Value::Required),
    ("context-separator", ' ', Value::Required),
    ("color", ' ', Value::Required),
    ("colors", ' ', Value::Required),
    ("engine", ' ', Value::Required),
    ("encoding", 'E', Value::Required),
    ("threads", 'j', Value::Required),
    ("ignore-case", 'i', Value::None),
    ("case-sensitive", 's', Value::None),
    ("smart-case", 'S', Value::None),
    ("word-regexp", 'w', Value::None),
    ("line-regexp", 'x', Value::None),
    ("invert-match", 'v', Value::None),
    ("count", 'c', Value::None),
    ("count-matches", ' ', Value::None),
    ("include-zero", ' ', Value::None),
    ("files-with-matches", 'l', Value::None),
    ("files-without-match", ' ', Value::None),
    ("files", ' ', Value::None),
    ("line-number", 'n', Value::None),
    ("no-line-number", 'N', Value::None),
    ("with-filename", 'H', Value::None),
    ("no-filename", 'I', Value::None),
    ("only-matching", 'o', Value::None),
    ("fixed-strings", 'F', Value::None),
    ("pcre2", 'P', Value::None),
    ("multiline", 'U', Value::None),
    ("json", ' ', Value::None),
    ("hidden", '.', Value::None),
    ("no-hidden", ' ', Value::None),
    ("no-ignore", ' ', Value::None),
    ("ignore", ' ', Value::None),
    ("no-ignore-vcs", ' ', Value::None),
    ("no-ignore-dot", ' ', Value::None),
    ("no-ignore-parent", ' ', Value::None),
    ("no-require-git", ' ', Value::None),
    ("unrestricted", 'u', Value::None),
    ("follow", 'L', Value::None),
    ("text", 'a', Value::None),
    ("binary", ' ', Value::None),
    ("heading", ' ', Value::None),
    ("no-heading", ' ', Value::None),
    ("pretty", 'p', Value::None),
    ("column", ' ', Value::None),
    ("vimgrep", ' ', Value::None),
    ("byte-offset", 'b', Value::None),
    ("null", '0', Value::None),
    ("passthru", ' ', Value::None),
    ("passthrough", ' ', Value::None),
    ("trim", ' ', Value::None),
    ("quiet", 'q', Value::None),
    ("no-messages", ' ', Value::None),
    ("no-context-separator", ' ', Value::None),
    ("type-list", ' ', Value::None),
    ("version", 'V', Value::None),
    ("help", 'h', Value::None),
    // What makes no difference here.
    ("no-config", ' ', Value::None),
    ("no-ignore-global", ' ', Value::None),
    ("no-ignore-messages", ' ', Value::None),
    ("line-buffered", ' ', Value::None),
    ("block-buffered", ' ', Value::None),
    ("mmap", ' ', Value::None),
    ("no-mmap", ' ', Value::None),
    ("one-file-system", ' ', Value::None),
    ("no-unicode", ' ', Value::None),
    ("sort-files", ' ', Value::None),
];

/// Flags and operands, in their order.
#[derive(Debug, Default)]
pub(super) struct Given {
    given: Vec<(&'static str, String)>,
    pub(super) operands: Vec<String>,
}

impl Given {
    /// Reads the arguments. Err: what is wrong with them.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut given = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                given.operands.extend(rest.cloned());
                break;
            }
            if let Some(name) = argument.strip_prefix("--") {
                let (name, value) =
                    name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value.to_owned())));
                let flag = FLAGS.iter().find(|(known, ..)| *known == name);
                let Some((name, _, takes)) = flag else { return Err(format!("unrecognized flag --{name}")) };
                let value = match (takes, value) {
                    (Value::None, None) => String::new(),
                    (Value::None, Some(value)) => {
                        let why = format!("unexpected argument for option '--{name}': {value:?}");
                        return Err(format!("invalid CLI arguments: {why}"));
                    }
                    (Value::Required, Some(value)) => value,
                    (Value::Required, None) => rest.next().cloned().ok_or_else(|| missing(&format!("--{name}")))?,
                };
                given.given.push((name, value));
                continue;
            }
            let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                given.operands.push(argument.clone());
                continue;
            };
            let mut letters = letters.chars();
            while let Some(letter) = letters.next() {
                let flag = FLAGS.iter().find(|(_, known, _)| *known == letter && letter != ' ');
                let Some((name, _, takes)) = flag else { return Err(format!("unrecognized flag -{letter}")) };
                if *takes == Value::None {
                    given.given.push((name, String::new()));
                    continue;
                }
                let attached = letters.as_str();
                let value = match attached.is_empty() {
                    false => attached.strip_prefix('=').unwrap_or(attached).to_owned(),
                    true => rest.next().cloned().ok_or_else(|| missing(&format!("-{letter}")))?,
                };
                given.given.push((name, value));
                break;
            }
        }
        Ok(given)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// Returns whether patterns are read from standard input.
    pub(super) fn has_stdin_patterns(&self) -> bool {
        self.all_of(&["file"]).any(|(_, path)| path == "-")
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.given.iter().filter(|(given, _)| *given == name).count()
    }

    /// Returns the last of the given flags among these, with its value.
    pub(super) fn last_of(&self, names: &[&str]) -> Option<(&'static str, &str)> {
        let found = self.given.iter().rev().find(|(given, _)| names.contains(given));
        found.map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns these flags with their values, in order.
    pub(super) fn all_of<'g>(&'g self, names: &'g [&str]) -> impl Iterator<Item = (&'static str, &'g str)> {
        let among = self.given.iter().filter(move |(given, _)| names.contains(given));
        among.map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns the number that a flag has, the last one given. Err: it is none.
    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, String> {
        let Some((_, text)) = self.last_of(&[name]) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(why) => {
                let letter = FLAGS.iter().find(|(known, ..)| *known == name).map_or(' ', |(_, letter, _)| *letter);
                let flag = if letter == ' ' { format!("--{name}") } else { format!("-{letter}") };
                Err(format!("error parsing flag {flag}: value is not a valid number: {why}"))
            }
        }
    }
}

fn missing(flag: &str) -> String {
    format!("missing value for flag {flag}: missing argument for option '{flag}'")
}
