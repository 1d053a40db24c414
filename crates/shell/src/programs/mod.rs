//! The builtins and programs, by name.

mod base64;
mod columns;
mod dates;
mod echo;
mod files;
mod find;
mod grep;
mod input;
mod listing;
pub(super) mod names;
mod options;
mod order;
mod python;
mod sed;
mod small;
mod special;
mod tar;
mod test;
mod text;
mod variables;

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
        name @ ("break" | "continue") => Box::pin(special::leave(shell, name, arguments)),
        "return" => Box::pin(special::return_(shell, arguments)),
        "exit" => Box::pin(special::exit(shell, arguments)),
        "eval" => Box::pin(special::eval(shell, arguments)),
        name @ ("." | "source") => Box::pin(special::source(shell, name, arguments)),
        "trap" => Box::pin(special::trap(shell, arguments)),
        "wait" => Box::pin(special::wait(shell, arguments)),
        "jobs" => Box::pin(special::jobs(shell)),
        "kill" => Box::pin(special::kill(shell, arguments)),
        "read" => Box::pin(special::read_line(shell, arguments)),
        "mapfile" | "readarray" => Box::pin(special::map_file(shell, arguments)),
        "exec" | "builtin" | "command" => command(shell, name, arguments),
        name @ ("bash" | "sh") => Box::pin(special::bash(shell, name, arguments)),
        name @ ("export" | "readonly" | "local" | "declare" | "typeset") => {
            Box::pin(variables::declare(shell, name, arguments))
        }
        "unset" => Box::pin(variables::unset(shell, arguments)),
        "set" => Box::pin(variables::options(shell, arguments)),
        "shopt" => Box::pin(variables::shopt(shell, arguments)),
        "shift" => Box::pin(variables::shift(shell, arguments)),
        "let" => Box::pin(variables::let_(shell, arguments)),
        "getopts" => Box::pin(variables::get_options(shell, arguments)),
        name @ ("test" | "[") => Box::pin(test::test(shell, name, arguments)),
        "echo" => Box::pin(echo::echo(shell, arguments)),
        "printf" => Box::pin(echo::printf(shell, arguments)),
        "pwd" => Box::pin(files::pwd(shell)),
        "cd" => Box::pin(files::cd(shell, arguments)),
        "mkdir" => Box::pin(files::make_directory(shell, arguments)),
        "rmdir" => Box::pin(files::remove_directory(shell, arguments)),
        "rm" => Box::pin(files::remove(shell, arguments)),
        "cp" => Box::pin(files::copy_or_move(shell, "cp", arguments)),
        "mv" => Box::pin(files::copy_or_move(shell, "mv", arguments)),
        "touch" => Box::pin(files::touch(shell, arguments)),
        "ln" => Box::pin(files::link(shell, arguments)),
        "ls" => Box::pin(listing::list(shell, arguments)),
        "stat" => Box::pin(listing::stat(shell, arguments)),
        "du" => Box::pin(listing::disk_use(shell, arguments)),
        "find" => Box::pin(find::find(shell, arguments)),
        "xargs" => Box::pin(find::arguments(shell, arguments)),
        "cat" => Box::pin(text::cat(shell, arguments)),
        "head" => Box::pin(text::ends(shell, "head", arguments)),
        "tail" => Box::pin(text::ends(shell, "tail", arguments)),
        "wc" => Box::pin(text::count(shell, arguments)),
        "tee" => Box::pin(text::tee(shell, arguments)),
        name @ ("tac" | "rev") => Box::pin(text::reversed(shell, name, arguments)),
        "nl" => Box::pin(text::number_lines(shell, arguments)),
        name @ ("grep" | "egrep" | "fgrep") => Box::pin(grep::grep(shell, name, arguments)),
        "sed" => Box::pin(sed::sed(shell, arguments)),
        "sort" => Box::pin(order::sort(shell, arguments)),
        "uniq" => Box::pin(order::unique(shell, arguments)),
        "cut" => Box::pin(columns::cut(shell, arguments)),
        "tr" => Box::pin(columns::translate(shell, arguments)),
        "paste" => Box::pin(columns::paste(shell, arguments)),
        "tar" => Box::pin(tar::tar(shell, arguments)),
        "base64" => Box::pin(base64::base64(shell, arguments)),
        "date" => Box::pin(dates::date(shell, arguments)),
        "sleep" => Box::pin(small::sleep(shell, arguments)),
        "seq" => Box::pin(small::sequence(shell, arguments)),
        name @ ("env" | "printenv") => Box::pin(small::environment(shell, name, arguments)),
        name @ ("which" | "type") => Box::pin(small::which(shell, name, arguments)),
        name @ ("basename" | "dirname") => Box::pin(small::part_of_path(shell, name, arguments)),
        name @ ("realpath" | "readlink") => Box::pin(small::real_path(shell, name, arguments)),
        name @ ("whoami" | "id" | "uname" | "hostname" | "nproc" | "tty") => {
            Box::pin(small::about(shell, name, arguments))
        }
        "yes" => Box::pin(small::yes(shell, arguments)),
        "mktemp" => Box::pin(small::temporary(shell, arguments)),
        name @ ("timeout" | "nohup" | "nice") => Box::pin(small::wrapped(shell, name, arguments)),
        "pip" | "pip3" => Box::pin(small::packages(shell, arguments)),
        "pytest" | "py.test" => Box::pin(python::pytest(shell, arguments)),
        "python3" | "python" => Box::pin(python::python(shell, name, arguments)),
        "clear" => Box::pin(async {
            shell.out("clear", b"\x1b[H\x1b[2J\x1b[3J").await?;
            Ok(0)
        }),
        name if name.contains('/') => Box::pin(special::script_file(shell, name, arguments)),
        name => Box::pin(async move {
            shell.complain("", &format!("{name}: command not found")).await;
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
                small::which(shell, who, names).await
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
