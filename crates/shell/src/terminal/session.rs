//! The shell of a terminal: it reads a command, runs it, and asks for the next one.

use super::Terminal;
use crate::state::{Shell, Stop};
use crate::streams::Line;
use crate::syntax::Parser;
use proofbox_vfs::{HOME, User};

/// Longest command that can be typed, in bytes: it is looked at after each line.
const MAX_COMMAND: usize = 64 << 10;
/// Bytes of such a command that make a step.
const BYTES_A_STEP: u64 = 64;
/// Maximum length of a prompt, in bytes: it may have a variable many times.
const MAX_PROMPT: usize = 4096;
/// The variables with prompts, and what stands for them.
const FIRST_PROMPT: (&str, &str) = ("PS1", r"\u@\h:\w\$ ");
const NEXT_PROMPT: (&str, &str) = ("PS2", "> ");
/// Status of a command that was interrupted.
const INTERRUPTED: i32 = 130;

/// Result of reading a command.
enum Read {
    Command(String),
    Interrupted,
    End,
}

/// Runs what is typed until the shell exits or the client hangs up; the exit code.
pub(crate) async fn interact(shell: &mut Shell, terminal: &Terminal) -> i32 {
    loop {
        let done = match read_command(shell, terminal).await {
            Ok(Read::Command(text)) => run_command(shell, terminal, &text).await,
            Ok(Read::Interrupted) => Ok(INTERRUPTED),
            Ok(Read::End) => {
                let status = shell.status;
                shell.say("exit\n").await;
                return shell.ended(Ok(status)).await;
            }
            Err(stop) => Err(stop),
        };
        match done {
            Ok(status) | Err(Stop::Failed(status)) => shell.status = status,
            Err(Stop::Break(_) | Stop::Continue(_) | Stop::Broken) => {}
            end @ Err(Stop::Exit(_) | Stop::Return(_) | Stop::Spent) => return shell.ended(end).await,
        }
    }
}

/// Runs a command, which the client may interrupt.
async fn run_command(shell: &mut Shell, terminal: &Terminal, text: &str) -> Result<i32, Stop> {
    let before = shell.clone();
    let done = tokio::select! {
        biased;
        () = terminal.interrupted() => None,
        done = shell.run_text(text, "terminal") => Some(done),
    };
    if done.is_none() {
        shell.streams = before.streams;
        // Within a function, variables are partly its own.
        if shell.hidden.len() != before.hidden.len() {
            shell.variables = before.variables;
        }
    }
    // It may have been left anywhere.
    shell.level = before.level;
    shell.loops = before.loops;
    shell.calls = before.calls;
    shell.unchecked = before.unchecked;
    shell.hidden = before.hidden;
    shell.substituted_files = before.substituted_files;
    shell.tree_held = before.tree_held;
    done.unwrap_or(Ok(INTERRUPTED))
}

/// Reads lines until they make a command.
async fn read_command(shell: &mut Shell, terminal: &Terminal) -> Result<Read, Stop> {
    let size = terminal.size();
    for (name, value) in [("COLUMNS", size.columns), ("LINES", size.rows)] {
        // One that is read-only stays.
        let _ = shell.set_text(name, &value.to_string());
    }
    let mut text = Vec::new();
    let mut variable = FIRST_PROMPT;
    loop {
        let prompt = prompt(shell, variable);
        shell.say(&prompt).await;
        let read = tokio::select! {
            biased;
            () = terminal.interrupted() => return Ok(Read::Interrupted),
            read = shell.streams.stdin.read_line(&mut text, b'\n', MAX_COMMAND) => read,
        };
        shell.step(1 + text.len() as u64 / BYTES_A_STEP).await?;
        if read == Line::End && text.is_empty() {
            return Ok(Read::End);
        }
        if text.len() > MAX_COMMAND {
            shell.error("", &format!("a command has at most {MAX_COMMAND} bytes here")).await;
            return Ok(Read::Command(String::new()));
        }
        let so_far = String::from_utf8_lossy(&text);
        if read != Line::Whole || Parser::is_whole(&so_far) {
            return Ok(Read::Command(so_far.into_owned()));
        }
        variable = NEXT_PROMPT;
    }
}

fn prompt(shell: &Shell, (name, default): (&str, &str)) -> String {
    let text = shell.text_of(name);
    let mut characters = text.as_deref().unwrap_or(default).chars().take(MAX_PROMPT);
    let mut prompt = String::new();
    // A part that does not fit ends it.
    while prompt.len() < MAX_PROMPT
        && let Some(character) = characters.next()
    {
        if character != '\\' {
            prompt.push(character);
            continue;
        }
        match characters.next() {
            Some('u') => push_start(&mut prompt, shell.text_of("USER").as_deref().unwrap_or("user")),
            Some('h' | 'H') => prompt.push_str("sandbox"),
            Some('w') => match shell.cwd.strip_prefix(HOME) {
                Some(below) if below.is_empty() || below.starts_with('/') => {
                    prompt.push('~');
                    push_start(&mut prompt, below);
                }
                _ => push_start(&mut prompt, &shell.cwd),
            },
            Some('W') => push_start(&mut prompt, shell.cwd.rsplit('/').next().unwrap_or("")),
            Some('s') => prompt.push_str("bash"),
            Some('n') => prompt.push('\n'),
            Some('e') => prompt.push('\x1b'),
            Some('$') => prompt.push(if shell.tree.credentials().user == User::Root { '#' } else { '$' }),
            // What is not printed stands between them.
            Some('[' | ']') | None => {}
            Some('\\') => prompt.push('\\'),
            Some(other) => {
                prompt.push('\\');
                prompt.push(other);
            }
        }
    }
    prompt
}

/// Adds as much of a text as a prompt may have.
fn push_start(prompt: &mut String, text: &str) {
    let room = MAX_PROMPT.saturating_sub(prompt.len());
    prompt.push_str(&text[..text.floor_char_boundary(room)]);
}
