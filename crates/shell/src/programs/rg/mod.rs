//! Program `rg`, as ripgrep is.

mod flags;
mod search;
mod types;
mod walk;

use super::input::{Lines, open};
use crate::regular::{Case, Regular, RegularError};
use crate::state::{Done, Shell, Stop};
use flags::Given;
use search::Search;
use walk::{Walk, all_types};

/// Exit code of whatever went wrong.
const FAILURE: i32 = 2;

const HELP: &str = "\
ripgrep (rg) recursively searches the current directory for lines matching
a regex pattern. By default, ripgrep will respect gitignore rules and
automatically skip hidden files/directories and binary files.

USAGE:
  rg [OPTIONS] PATTERN [PATH ...]

INPUT: -e PATTERN, -f FILE
SEARCH: -F, -i, -s, -S, -v, -w, -x, -m NUM, -a, --binary
FILTER: -g GLOB, --iglob GLOB, -t TYPE, -T TYPE, --type-add SPEC, -., --hidden, -L, --follow, -d NUM, --max-depth NUM,
  --no-ignore, --no-ignore-vcs, --no-ignore-dot, --no-ignore-parent, --no-require-git, --ignore-file FILE, -u
OUTPUT: -A NUM, -B NUM, -C NUM, -n, -N, -H, -I, -o, -r TEXT, -b, --column, --vimgrep, --heading, --no-heading, -0,
  -M NUM, --passthru, --trim, --context-separator TEXT, --sort KEY, --sortr KEY, -q, --no-messages
OUTPUT MODES: -c, --count-matches, --include-zero, -l, --files-without-match
OTHER: --files, --type-list, -V, -h
";

const NOTHING_SEARCHED: &str = "No files were searched, which means ripgrep probably applied a filter you didn't \
    expect.\nRunning with --debug will show why files are being skipped.";
const NEWLINE: &str = "the literal \"\\n\" is not allowed in a regex\n\nConsider enabling multiline mode with the \
    --multiline flag (or -U for short).\nWhen multiline mode is enabled, new line characters can be matched.";

pub(super) async fn rg(shell: &mut Shell, arguments: &[String]) -> Done {
    match run(shell, arguments).await {
        // 1 would say that nothing was found.
        Err(Stop::Failed(_)) => Ok(FAILURE),
        done => done,
    }
}

async fn run(shell: &mut Shell, arguments: &[String]) -> Done {
    let given = match Given::parse(arguments) {
        Ok(given) => given,
        Err(why) => return fail(shell, &why).await,
    };
    if given.has("help") {
        shell.out("rg", HELP.as_bytes()).await?;
        return Ok(0);
    }
    if given.has("version") {
        shell.out("rg", b"ripgrep 15.1.0\n").await?;
        return Ok(0);
    }
    if let Some(why) = unsupported(&given) {
        return fail(shell, why).await;
    }
    if given.has("type-list") {
        return list_types(shell, &given).await;
    }
    let mut walk = match Walk::new(shell, &given) {
        Ok(walk) => walk,
        Err(why) => return fail(shell, &why).await,
    };
    let lists = given.has("files");
    let mut operands = given.operands.clone();
    let regular = match lists {
        true => None,
        false => match patterns(shell, &given, &mut operands).await? {
            Ok(patterns) => match compile(&given, &patterns) {
                Ok(regular) => Some(regular),
                Err(why) => return fail(shell, &why).await,
            },
            Err(why) => return fail(shell, &why).await,
        },
    };
    walk.is_implied = operands.is_empty();
    if walk.is_implied {
        let reads_input = !lists && shell.streams.stdin.has_input() && !given.has_stdin_patterns();
        operands.push(if reads_input { "-" } else { "." }.to_owned());
    }
    let mut search = match Search::new(shell, &given, regular) {
        Ok(search) => search,
        Err(why) => return fail(shell, &why).await,
    };
    search.names = given.last_of(&["with-filename", "no-filename", "vimgrep"]).map_or_else(
        || operands.len() > 1 || (operands[0] != "-" && shell.is_directory(&operands[0])),
        |(last, _)| last != "no-filename",
    );
    let (files, _held) = walk.files(shell, &given, &operands).await?;
    for file in &files {
        shell.step(1).await?;
        search.visit(shell, file).await?;
        if search.found && search.is_quiet {
            return Ok(0);
        }
    }
    if files.is_empty() && walk.is_implied && !lists {
        shell.error("rg", NOTHING_SEARCHED).await;
        return Ok(FAILURE);
    }
    Ok(match (search.found, search.failed || walk.failed) {
        (_, true) => FAILURE,
        (true, false) => 0,
        (false, false) => 1,
    })
}

async fn fail(shell: &Shell, why: &str) -> Done {
    shell.error("rg", why).await;
    Ok(FAILURE)
}

fn unsupported(given: &Given) -> Option<&'static str> {
    if given.has("pcre2") || given.last_of(&["engine"]).is_some_and(|(_, engine)| engine == "pcre2") {
        return Some("PCRE2 is not available in this build of ripgrep");
    }
    if given.has("multiline") {
        return Some("--multiline is not available in this build of ripgrep");
    }
    given.has("json").then_some("--json is not available in this build of ripgrep")
}

async fn list_types(shell: &Shell, given: &Given) -> Done {
    match all_types(given) {
        Ok(types) => {
            for (name, mut patterns) in types {
                patterns.sort_unstable();
                shell.out("rg", format!("{name}: {}\n", patterns.join(", ")).as_bytes()).await?;
            }
            Ok(0)
        }
        Err(why) => fail(shell, &why).await,
    }
}

/// Returns the patterns of the flags, or the first operand. The inner error: why there are none.
async fn patterns(
    shell: &Shell,
    given: &Given,
    operands: &mut Vec<String>,
) -> Result<Result<Vec<String>, String>, Stop> {
    if !given.has("regexp") && !given.has("file") {
        if operands.is_empty() {
            return Ok(Err("ripgrep requires at least one pattern to execute a search".to_owned()));
        }
        return Ok(Ok(vec![operands.remove(0)]));
    }
    let mut patterns: Vec<String> = given.all_of(&["regexp"]).map(|(_, pattern)| pattern.to_owned()).collect();
    for (_, path) in given.all_of(&["file"]) {
        let reader = match path {
            "-" => open(shell, "rg", path).await,
            path => match shell.reader_of(path) {
                Ok(reader) => Some(reader),
                Err(why) => return Ok(Err(format!("{path}: {}", walk::os_error(why)))),
            },
        };
        let Some(reader) = reader else { continue };
        let mut lines = Lines::new(shell, reader)?;
        let mut held = shell.shared.used.hold(0).ok_or(Stop::Failed(FAILURE))?;
        while lines.next(shell, "rg").await? {
            if !held.grow(lines.line.len() + 32) {
                return Err(shell.fails("rg", "memory exhausted").await);
            }
            patterns.push(String::from_utf8_lossy(&lines.line).into_owned());
        }
    }
    Ok(Ok(patterns))
}

/// Syntax of the patterns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// Texts that are looked for as they are (`--fixed-strings`).
    Literal,
    Expression,
}

/// Makes one expression of all patterns. Err: what is wrong with it.
fn compile(given: &Given, patterns: &[String]) -> Result<Regular, String> {
    let syntax = if given.has("fixed-strings") { Syntax::Literal } else { Syntax::Expression };
    let has_newline = |pattern: &String| match syntax {
        Syntax::Literal => pattern.contains('\n'),
        Syntax::Expression => names_newline(pattern),
    };
    if patterns.iter().any(has_newline) {
        return Err(NEWLINE.to_owned());
    }
    let expression = |pattern: &String| match syntax {
        Syntax::Literal => format!("(?:{})", regex::escape(pattern)),
        Syntax::Expression => format!("(?:{pattern})"),
    };
    let mut joined = patterns.iter().map(expression).collect::<Vec<_>>().join("|");
    if patterns.is_empty() {
        // What is in no text.
        joined = "[a&&b]".to_owned();
    }
    match given.last_of(&["word-regexp", "line-regexp"]) {
        Some(("line-regexp", _)) => joined = format!("(?:^(?:{joined})$)"),
        Some(_) => joined = format!("(?:\\b{{start-half}}(?:{joined})\\b{{end-half}})"),
        None => {}
    }
    let case = match given.last_of(&["ignore-case", "case-sensitive", "smart-case"]) {
        Some(("ignore-case", _)) => Case::Insensitive,
        Some(("smart-case", _)) if patterns.iter().all(|pattern| is_small(pattern, syntax)) => Case::Insensitive,
        _ => Case::Sensitive,
    };
    Regular::compile(&joined, case).map_err(|error| match error {
        RegularError::TooBig => "Compiled regex exceeds size limit.".to_owned(),
        RegularError::Syntax(why) => why,
    })
}

/// Returns whether an expression asks for a newline.
fn names_newline(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => return true,
            '\\' if characters.next() == Some('n') => return true,
            // Of a class that is negated it is no part in any case.
            '[' if characters.next_if_eq(&'^').is_some() => while characters.next_if(|c| *c != ']').is_some() {},
            _ => {}
        }
    }
    false
}

/// Returns whether a pattern has letters of its own, none of them a capital.
fn is_small(pattern: &str, syntax: Syntax) -> bool {
    let is_expression = syntax == Syntax::Expression;
    let mut has_literal = false;
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' if is_expression => {
                // The name of a class is no letter of the pattern.
                if matches!(characters.next(), Some('p' | 'P')) && characters.clone().next() == Some('{') {
                    characters.by_ref().find(|c| *c == '}');
                }
            }
            '.' | '^' | '$' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' if is_expression => {}
            c if c.is_uppercase() => return false,
            _ => has_literal = true,
        }
    }
    has_literal
}
