//! Program `awk`: a compiler to instructions, and a machine for them.

mod characters;
mod code;
mod compiler;
mod functions;
mod lexer;
mod machine;
mod records;
mod regex;
mod replacement;
mod value;

use super::input::{Content, usage};
use super::options::{Order, read};
use crate::bounds::Pace;
use crate::state::{Done, Shell};
use machine::Machine;
use value::RuntimeError;

/// Longest program, in bytes.
const MAX_PROGRAM: usize = 256 << 10;
/// Exit code of whatever went wrong.
const FAILURE: i32 = 2;

pub(super) async fn awk(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("field-separator", 'F'), ("assign", 'v'), ("file", 'f'), ("version", 'V'), ("re-interval", 'r')];
    let given = match read(arguments, "F:v:f:W:", &long, Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "awk", &why, FAILURE).await),
    };
    if given.has('V') {
        shell.out("awk", b"awk version 20240728 (POSIX, with common functions of GNU)\n").await?;
        return Ok(0);
    }
    let mut operands = given.operands.as_slice();
    let mut source = String::new();
    for path in given.values('f') {
        let opened = match path {
            "-" => Ok(shell.streams.stdin.clone()),
            path => shell.reader_of(path),
        };
        let reader = match opened {
            Ok(reader) => reader,
            Err(why) => {
                shell.error("awk", &format!("cannot open {path} ({why})")).await;
                return Ok(FAILURE);
            }
        };
        let content = Content::read(shell, "awk", reader).await?;
        source.push_str(&String::from_utf8_lossy(&content.bytes));
        source.push('\n');
    }
    if !given.has('f') {
        let Some((first, rest)) = operands.split_first() else {
            shell.say("usage: awk [-F fs] [-v var=value] ['prog' | -f progfile] [file ...]\n").await;
            return Ok(FAILURE);
        };
        source.clone_from(first);
        operands = rest;
    }
    if source.len() > MAX_PROGRAM {
        shell.error("awk", "the program is too long").await;
        return Ok(FAILURE);
    }
    // Code and texts of a program are some times as long as it is.
    let Some(_held) = shell.shared.used.hold(source.len() * 64) else {
        return Err(shell.fails("awk", "memory exhausted").await);
    };
    shell.step(1 + source.len() as u64 / 32).await?;
    let program = match compiler::compile(&source) {
        Ok(program) => program,
        Err(why) => {
            shell.error("awk", &why).await;
            return Ok(FAILURE);
        }
    };
    let expressions = program.regexes.len() as u64;
    shell.step(50 * expressions).await?;
    let mut pace = Pace::new();
    let prepared = prepare(shell, program, operands, &given);
    shell.count_paced(&mut pace).await?;
    match prepared {
        Ok(mut machine) => machine.run(shell).await,
        Err(RuntimeError(why)) => {
            shell.error("awk", &why).await;
            Ok(FAILURE)
        }
    }
}

fn prepare(
    shell: &Shell,
    program: code::Program,
    operands: &[String],
    given: &super::options::Given,
) -> Result<Machine, RuntimeError> {
    let mut machine = Machine::new(shell, program, operands)?;
    if let Some(separator) = given.value('F') {
        let separator = if separator == "t" { "\t" } else { separator };
        machine.assign(shell, "FS", separator)?;
    }
    for assignment in given.values('v') {
        let named = assignment.split_once('=').filter(|(name, _)| crate::expand::is_name(name));
        let Some((name, value)) = named else {
            return Err(RuntimeError(format!("`{assignment}' argument to `-v' not in `var=value' form")));
        };
        if !machine.assign(shell, name, value)? {
            return Err(RuntimeError(format!("cannot use array `{name}' as a variable")));
        }
    }
    Ok(machine)
}
