//! The builtins and programs, by name.

mod base64;
mod basename;
mod bash;
mod cat;
mod cp_mv;
mod cut;
pub(super) mod date;
mod destination;
mod du;
mod env;
mod execute;
mod find;
mod grep;
mod head_tail;
pub(super) mod input;
mod ln;
mod ls;
mod metadata;
mod mkdir;
mod mktemp;
pub(super) mod names;
mod nl;
pub(super) mod options;
mod paste;
mod pip;
mod python;
mod realpath;
mod rm;
mod rmdir;
mod sed;
mod seq;
mod sleep;
mod sort;
mod stat;
mod tac_rev;
mod tar;
mod tee;
mod timeout;
mod touch;
mod tr;
mod uname;
mod uniq;
mod wc;
mod which;
mod xargs;
mod yes;

use super::builtins;
use super::state::{Done, Shell};
use futures_util::future::BoxFuture;
use names::{is_known, name_of};

/// Runs a builtin or a program.
pub(super) fn run<'a>(shell: &'a mut Shell, name: &'a str, arguments: &'a [String]) -> BoxFuture<'a, Done> {
    // A path to a program means the program.
    match name_of(name).filter(|name| is_known(name)).unwrap_or(name) {
        ":" | "true" | "sync" | "chmod" | "chown" | "umask" | "ulimit" | "alias" | "unalias" | "hash" | "bg" => {
            Box::pin(async { Ok(0) })
        }
        "false" => Box::pin(async { Ok(1) }),
        name @ ("break" | "continue") => Box::pin(builtins::control::break_or_continue(shell, name, arguments)),
        "return" => Box::pin(builtins::control::return_(shell, arguments)),
        "exit" => Box::pin(builtins::control::exit(shell, arguments)),
        "eval" => Box::pin(builtins::control::eval(shell, arguments)),
        name @ ("." | "source") => Box::pin(builtins::control::source(shell, name, arguments)),
        "trap" => Box::pin(builtins::control::trap(shell, arguments)),
        "wait" => Box::pin(builtins::jobs::wait(shell, arguments)),
        "jobs" => Box::pin(builtins::jobs::jobs(shell)),
        "kill" => Box::pin(builtins::jobs::kill(shell, arguments)),
        "read" => Box::pin(builtins::read::read_line(shell, arguments)),
        "mapfile" | "readarray" => Box::pin(builtins::read::mapfile(shell, arguments)),
        "exec" | "builtin" | "command" => command(shell, name, arguments),
        name @ ("bash" | "sh") => Box::pin(bash::bash(shell, name, arguments)),
        name @ ("export" | "readonly" | "local" | "declare" | "typeset") => {
            Box::pin(builtins::variables::declare(shell, name, arguments))
        }
        "unset" => Box::pin(builtins::variables::unset(shell, arguments)),
        "set" => Box::pin(builtins::variables::options(shell, arguments)),
        "shopt" => Box::pin(builtins::variables::shopt(shell, arguments)),
        "shift" => Box::pin(builtins::variables::shift(shell, arguments)),
        "let" => Box::pin(builtins::variables::let_(shell, arguments)),
        "getopts" => Box::pin(builtins::variables::getopts(shell, arguments)),
        name @ ("test" | "[") => Box::pin(builtins::test::test(shell, name, arguments)),
        "echo" => Box::pin(builtins::echo::echo(shell, arguments)),
        "printf" => Box::pin(builtins::printf::printf(shell, arguments)),
        "pwd" => Box::pin(builtins::cd::pwd(shell)),
        "cd" => Box::pin(builtins::cd::cd(shell, arguments)),
        "mkdir" => Box::pin(mkdir::mkdir(shell, arguments)),
        "rmdir" => Box::pin(rmdir::rmdir(shell, arguments)),
        "rm" => Box::pin(rm::rm(shell, arguments)),
        "cp" => Box::pin(cp_mv::cp_or_mv(shell, "cp", arguments)),
        "mv" => Box::pin(cp_mv::cp_or_mv(shell, "mv", arguments)),
        "touch" => Box::pin(touch::touch(shell, arguments)),
        "ln" => Box::pin(ln::ln(shell, arguments)),
        "ls" => Box::pin(ls::ls(shell, arguments)),
        "stat" => Box::pin(stat::stat(shell, arguments)),
        "du" => Box::pin(du::du(shell, arguments)),
        "find" => Box::pin(find::find(shell, arguments)),
        "xargs" => Box::pin(xargs::xargs(shell, arguments)),
        "cat" => Box::pin(cat::cat(shell, arguments)),
        "head" => Box::pin(head_tail::head_or_tail(shell, "head", arguments)),
        "tail" => Box::pin(head_tail::head_or_tail(shell, "tail", arguments)),
        "wc" => Box::pin(wc::wc(shell, arguments)),
        "tee" => Box::pin(tee::tee(shell, arguments)),
        name @ ("tac" | "rev") => Box::pin(tac_rev::tac_or_rev(shell, name, arguments)),
        "nl" => Box::pin(nl::nl(shell, arguments)),
        name @ ("grep" | "egrep" | "fgrep") => Box::pin(grep::grep(shell, name, arguments)),
        "sed" => Box::pin(sed::sed(shell, arguments)),
        "sort" => Box::pin(sort::sort(shell, arguments)),
        "uniq" => Box::pin(uniq::uniq(shell, arguments)),
        "cut" => Box::pin(cut::cut(shell, arguments)),
        "tr" => Box::pin(tr::tr(shell, arguments)),
        "paste" => Box::pin(paste::paste(shell, arguments)),
        "tar" => Box::pin(tar::tar(shell, arguments)),
        "base64" => Box::pin(base64::base64(shell, arguments)),
        "date" => Box::pin(date::date(shell, arguments)),
        "sleep" => Box::pin(sleep::sleep(shell, arguments)),
        "seq" => Box::pin(seq::seq(shell, arguments)),
        name @ ("env" | "printenv") => Box::pin(env::env(shell, name, arguments)),
        name @ ("which" | "type") => Box::pin(which::which(shell, name, arguments)),
        name @ ("basename" | "dirname") => Box::pin(basename::basename(shell, name, arguments)),
        name @ ("realpath" | "readlink") => Box::pin(realpath::realpath(shell, name, arguments)),
        name @ ("whoami" | "id" | "uname" | "hostname" | "nproc" | "tty") => {
            Box::pin(uname::uname(shell, name, arguments))
        }
        "yes" => Box::pin(yes::yes(shell, arguments)),
        "mktemp" => Box::pin(mktemp::mktemp(shell, arguments)),
        name @ ("timeout" | "nohup" | "nice") => Box::pin(timeout::timeout(shell, name, arguments)),
        "pip" | "pip3" => Box::pin(pip::pip(shell, arguments)),
        "pytest" | "py.test" => Box::pin(python::pytest(shell, arguments)),
        "python3" | "python" => Box::pin(python::python(shell, name, arguments)),
        "clear" => Box::pin(async {
            shell.out("clear", b"\x1b[H\x1b[2J\x1b[3J").await?;
            Ok(0)
        }),
        name if name.contains('/') => Box::pin(bash::script_file(shell, name, arguments)),
        name => Box::pin(async move {
            shell.error("", &format!("{name}: command not found")).await;
            Ok(127)
        }),
    }
}

/// `command`, `builtin`, `exec`: what they name, without functions.
fn command<'a>(shell: &'a mut Shell, who: &'a str, arguments: &'a [String]) -> BoxFuture<'a, Done> {
    Box::pin(async move {
        shell.deeper().await?;
        let done = named(shell, who, arguments).await;
        shell.level -= 1;
        done
    })
}

fn named<'a>(shell: &'a mut Shell, who: &'a str, arguments: &'a [String]) -> BoxFuture<'a, Done> {
    Box::pin(async move {
        match arguments {
            [] => Ok(0),
            [flag, names @ ..] if who == "command" && (flag == "-v" || flag == "-V") => {
                let who = if flag == "-v" { "command" } else { "type" };
                which::which(shell, who, names).await
            }
            [flag, name, rest @ ..] if flag == "-p" || flag == "--" => run(shell, name, rest).await,
            [name, rest @ ..] if who == "exec" => {
                use super::state::Stop;
                match run(shell, name, rest).await {
                    Ok(code) | Err(Stop::Failed(code)) => Err(Stop::Exit(code)),
                    done => done,
                }
            }
            [name, rest @ ..] => run(shell, name, rest).await,
        }
    })
}
