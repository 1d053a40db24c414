//! The builtins and programs, by name.

mod awk;
mod base64;
mod basename;
mod bash;
mod bc;
mod cat;
mod checksum;
mod cmp;
mod column;
mod comm;
mod cp_mv;
mod cut;
pub(super) mod date;
mod destination;
mod diff;
mod du;
mod env;
mod execute;
mod expr;
mod file;
mod find;
mod fold;
mod git;
mod grep;
mod gzip;
mod head_tail;
mod iconv;
mod ignore;
pub(super) mod input;
mod install;
mod interpreter;
mod join;
mod jq;
mod less;
mod ln;
mod ls;
mod make;
mod metadata;
mod mkdir;
mod mkfifo;
mod mktemp;
mod modes;
pub(super) mod names;
mod nl;
mod od;
pub(super) mod options;
mod paste;
mod patch;
mod pip;
mod ps;
mod python;
mod realpath;
mod rg;
mod rm;
mod rmdir;
mod sed;
mod seq;
mod shuf;
mod sleep;
mod sort;
mod split;
mod stat;
mod strings;
mod sudo;
mod system;
mod tac_rev;
mod tar;
mod tee;
mod timeout;
mod touch;
mod tput;
mod tr;
mod tree;
mod truncate;
mod uname;
mod uniq;
mod wc;
mod which;
mod xargs;
mod xxd;
mod yes;
mod zip;

use super::builtins;
use super::state::{Done, Shell};
use futures_util::future::BoxFuture;
use names::{is_known, name_of};

/// Runs a builtin or a program.
pub(super) fn run<'a>(shell: &'a mut Shell, name: &'a str, arguments: &'a [String]) -> BoxFuture<'a, Done> {
    // A path to a program means the program.
    match name_of(name).filter(|name| is_known(name)).unwrap_or(name) {
        ":" | "true" | "sync" | "alias" | "unalias" | "hash" | "bg" => boxed(|| async { Ok(0) }),
        "false" => boxed(|| async { Ok(1) }),
        name @ ("break" | "continue") => boxed(|| builtins::control::break_or_continue(shell, name, arguments)),
        "return" => boxed(|| builtins::control::return_(shell, arguments)),
        "exit" => boxed(|| builtins::control::exit(shell, arguments)),
        "eval" => boxed(|| builtins::control::eval(shell, arguments)),
        name @ ("." | "source") => boxed(|| builtins::control::source(shell, name, arguments)),
        "trap" => boxed(|| builtins::trap::trap(shell, arguments)),
        "ulimit" => boxed(|| builtins::ulimit::ulimit(shell, arguments)),
        "wait" => boxed(|| builtins::jobs::wait(shell, arguments)),
        "jobs" => boxed(|| builtins::jobs::jobs(shell)),
        "kill" => boxed(|| builtins::jobs::kill(shell, arguments)),
        "read" => boxed(|| builtins::read::read_line(shell, arguments)),
        "mapfile" | "readarray" => boxed(|| builtins::read::mapfile(shell, arguments)),
        "exec" | "builtin" | "command" => command(shell, name, arguments),
        name @ ("bash" | "sh") => boxed(|| bash::bash(shell, name, arguments)),
        name @ ("export" | "readonly" | "local" | "declare" | "typeset") => {
            boxed(|| builtins::variables::declare(shell, name, arguments))
        }
        "unset" => boxed(|| builtins::variables::unset(shell, arguments)),
        "set" => boxed(|| builtins::variables::options(shell, arguments)),
        "shopt" => boxed(|| builtins::variables::shopt(shell, arguments)),
        "shift" => boxed(|| builtins::variables::shift(shell, arguments)),
        "let" => boxed(|| builtins::variables::let_(shell, arguments)),
        "getopts" => boxed(|| builtins::variables::getopts(shell, arguments)),
        name @ ("test" | "[") => boxed(|| builtins::test::test(shell, name, arguments)),
        "echo" => boxed(|| builtins::echo::echo(shell, arguments)),
        "printf" => boxed(|| builtins::printf::printf(shell, arguments)),
        "pwd" => boxed(|| builtins::cd::pwd(shell, arguments)),
        "cd" => boxed(|| builtins::cd::cd(shell, arguments)),
        "chmod" => boxed(|| modes::chmod(shell, arguments)),
        "chown" => boxed(|| modes::chown(shell, arguments)),
        "umask" => boxed(|| modes::umask(shell, arguments)),
        "sudo" => boxed(|| sudo::sudo(shell, arguments)),
        "su" => boxed(|| sudo::su(shell, arguments)),
        "mkdir" => boxed(|| mkdir::mkdir(shell, arguments)),
        "mkfifo" => boxed(|| mkfifo::mkfifo(shell, arguments)),
        "rmdir" => boxed(|| rmdir::rmdir(shell, arguments)),
        "rm" => boxed(|| rm::rm(shell, arguments)),
        "cp" => boxed(|| cp_mv::cp_or_mv(shell, "cp", arguments)),
        "mv" => boxed(|| cp_mv::cp_or_mv(shell, "mv", arguments)),
        "touch" => boxed(|| touch::touch(shell, arguments)),
        "ln" => boxed(|| ln::ln(shell, arguments)),
        "ls" => boxed(|| ls::ls(shell, arguments)),
        "stat" => boxed(|| stat::stat(shell, arguments)),
        "du" => boxed(|| du::du(shell, arguments)),
        "find" => boxed(|| find::find(shell, arguments)),
        "xargs" => boxed(|| xargs::xargs(shell, arguments)),
        "cat" => boxed(|| cat::cat(shell, arguments)),
        "head" => boxed(|| head_tail::head_or_tail(shell, "head", arguments)),
        "tail" => boxed(|| head_tail::head_or_tail(shell, "tail", arguments)),
        "wc" => boxed(|| wc::wc(shell, arguments)),
        "tee" => boxed(|| tee::tee(shell, arguments)),
        name @ ("tac" | "rev") => boxed(|| tac_rev::tac_or_rev(shell, name, arguments)),
        "nl" => boxed(|| nl::nl(shell, arguments)),
        "git" => boxed(|| git::git(shell, arguments)),
        name @ ("grep" | "egrep" | "fgrep") => boxed(|| grep::grep(shell, name, arguments)),
        "bc" => boxed(|| bc::bc(shell, arguments)),
        "make" => boxed(|| make::make(shell, arguments)),
        "rg" => boxed(|| rg::rg(shell, arguments)),
        "sed" => boxed(|| sed::sed(shell, arguments)),
        "sort" => boxed(|| sort::sort(shell, arguments)),
        "uniq" => boxed(|| uniq::uniq(shell, arguments)),
        "cut" => boxed(|| cut::cut(shell, arguments)),
        "tr" => boxed(|| tr::tr(shell, arguments)),
        "paste" => boxed(|| paste::paste(shell, arguments)),
        "tar" => boxed(|| tar::tar(shell, arguments)),
        "base64" => boxed(|| base64::base64(shell, arguments)),
        "awk" | "gawk" | "mawk" | "nawk" => boxed(|| awk::awk(shell, arguments)),
        "cksum" => boxed(|| checksum::cksum(shell, arguments)),
        name @ ("md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum") => {
            boxed(|| checksum::digest(shell, name, arguments))
        }
        "cmp" => boxed(|| cmp::cmp(shell, arguments)),
        "column" => boxed(|| column::column(shell, arguments)),
        "comm" => boxed(|| comm::comm(shell, arguments)),
        "df" => boxed(|| system::df(shell, arguments)),
        "diff" => boxed(|| diff::diff(shell, arguments)),
        "expr" => boxed(|| expr::expr(shell, arguments)),
        "file" => boxed(|| file::file(shell, arguments)),
        "fold" => boxed(|| fold::fold(shell, arguments)),
        "free" => boxed(|| system::free(shell, arguments)),
        "gzip" => boxed(|| gzip::gzip(shell, "gzip", arguments)),
        "gunzip" => boxed(|| gzip::gzip(shell, "gunzip", arguments)),
        "zcat" => boxed(|| gzip::gzip(shell, "zcat", arguments)),
        "iconv" => boxed(|| iconv::iconv(shell, arguments)),
        "install" => boxed(|| install::install(shell, arguments)),
        "jq" => boxed(|| jq::jq(shell, arguments)),
        "join" => boxed(|| join::join(shell, arguments)),
        "less" | "more" => boxed(|| less::less(shell, arguments)),
        "od" => boxed(|| od::od(shell, arguments)),
        "patch" => boxed(|| patch::patch(shell, arguments)),
        name @ ("pgrep" | "pkill") => boxed(|| ps::pgrep(shell, name, arguments)),
        "ps" => boxed(|| ps::ps(shell, arguments)),
        "shuf" => boxed(|| shuf::shuf(shell, arguments)),
        "split" => boxed(|| split::split(shell, arguments)),
        "strings" => boxed(|| strings::strings(shell, arguments)),
        "top" => boxed(|| system::top(shell, arguments)),
        "tree" => boxed(|| tree::tree(shell, arguments)),
        "truncate" => boxed(|| truncate::truncate(shell, arguments)),
        "zip" => boxed(|| zip::zip(shell, arguments)),
        "unzip" => boxed(|| zip::unzip(shell, arguments)),
        "xxd" => boxed(|| xxd::xxd(shell, arguments)),
        "date" => boxed(|| date::date(shell, arguments)),
        "sleep" => boxed(|| sleep::sleep(shell, arguments)),
        "seq" => boxed(|| seq::seq(shell, arguments)),
        name @ ("env" | "printenv") => boxed(|| env::env(shell, name, arguments)),
        name @ ("which" | "type") => boxed(|| which::which(shell, name, arguments)),
        name @ ("basename" | "dirname") => boxed(|| basename::basename(shell, name, arguments)),
        name @ ("realpath" | "readlink") => boxed(|| realpath::realpath(shell, name, arguments)),
        name @ ("whoami" | "id" | "groups" | "uname" | "hostname" | "nproc" | "tty") => {
            boxed(|| uname::uname(shell, name, arguments))
        }
        name @ ("tput" | "stty") => boxed(|| tput::tput_or_stty(shell, name, arguments)),
        "yes" => boxed(|| yes::yes(shell, arguments)),
        "mktemp" => boxed(|| mktemp::mktemp(shell, arguments)),
        name @ ("timeout" | "nohup" | "nice" | "setsid" | "stdbuf") => {
            boxed(|| timeout::timeout(shell, name, arguments))
        }
        "pip" | "pip3" => boxed(|| pip::pip(shell, arguments)),
        "pytest" | "py.test" => boxed(|| python::pytest(shell, arguments)),
        "python3" | "python" => boxed(|| python::python(shell, name, arguments)),
        "clear" => boxed(|| async {
            shell.out("clear", b"\x1b[H\x1b[2J\x1b[3J").await?;
            Ok(0)
        }),
        name if name.contains('/') => boxed(|| bash::script_file(shell, name, arguments)),
        name => boxed(|| bash::from_path(shell, name, arguments)),
    }
}

/// Returns whether a name is that of a shell, of a script, or of a program that becomes another.
pub(super) fn runs_another(name: &str) -> bool {
    match name_of(name).unwrap_or(name) {
        "bash" | "sh" | "command" | "env" | "exec" | "nice" | "nohup" | "setsid" | "stdbuf" => true,
        name => name.contains('/'),
    }
}

/// Boxes a future in a frame of its own, so that [`run`] needs no room for the futures of all programs.
#[inline(never)]
fn boxed<'a, F: Future<Output = Done> + Send + 'a>(make: impl FnOnce() -> F) -> BoxFuture<'a, Done> {
    Box::pin(make())
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
                shell.becomes_next = shell.owns_process;
                match run(shell, name, rest).await {
                    Ok(code) | Err(Stop::Failed(code)) => Err(Stop::Exit(code)),
                    done => done,
                }
            }
            [name, rest @ ..] => run(shell, name, rest).await,
        }
    })
}
