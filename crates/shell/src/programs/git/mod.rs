//! Program `git`, for repositories in the sandbox: objects, references and the index have git's own formats.
//!
//! - `objects`, `index`, `config`, `repository`: what is on disk;
//! - `worktree`: files beside it;
//! - `output`: what is shown;
//! - the others: subcommands.

mod branches;
mod commits;
mod config;
mod diff;
mod index;
mod object;
mod objects;
mod output;
mod paths;
mod remotes;
mod repository;
mod settings;
mod status;
mod worktree;

use super::options::{Given, Order, read};
use crate::bounds::Held;
use crate::state::{Done, Shell, Stop, absolute, reason};
use proofbox_vfs::{FilesError, lock};

/// Exit code of a command that could not begin.
const FATAL: i32 = 128;

/// Reason why a subcommand ends early.
#[derive(Debug)]
enum Failure {
    /// Message behind `fatal: `.
    Fatal(String),
    /// Message behind `error: `.
    Error(String),
    /// Exit code of a command that has said all.
    Quiet(i32),
    Stop(Stop),
}

type Outcome<T> = Result<T, Failure>;

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

fn fatal<T>(message: impl Into<String>) -> Outcome<T> {
    Err(Failure::Fatal(message.into()))
}

/// Takes more memory.
fn grow(held: &mut Held, bytes: usize) -> Outcome<()> {
    if held.grow(bytes) { Ok(()) } else { fatal("out of memory") }
}

fn file_failure(path: &str, error: &FilesError) -> Failure {
    Failure::Fatal(format!("'{path}': {}", reason(error)))
}

/// Call of `git`: where it works, and what it was told beforehand.
struct Git<'s> {
    shell: &'s Shell,
    /// Working directory.
    cwd: String,
    git_dir: Option<String>,
    work_tree: Option<String>,
    /// Values of `-c`.
    settings: Vec<(String, String)>,
}

/// Runs `git`.
pub(super) async fn git(shell: &mut Shell, arguments: &[String]) -> Done {
    let done = match parse(shell, arguments) {
        Ok((git, name, arguments)) => git.run(name, arguments).await,
        Err(failure) => Err(failure),
    };
    match done {
        Ok(code) => Ok(code),
        Err(Failure::Fatal(message)) => {
            shell.error("fatal", &message).await;
            Ok(FATAL)
        }
        Err(Failure::Error(message)) => {
            shell.error("error", &message).await;
            Ok(1)
        }
        Err(Failure::Quiet(code)) => Ok(code),
        Err(Failure::Stop(stop)) => Err(stop),
    }
}

/// Reads the options before the subcommand.
fn parse<'a>(shell: &'a Shell, arguments: &'a [String]) -> Outcome<(Git<'a>, &'a str, &'a [String])> {
    let mut git = Git {
        shell,
        cwd: shell.cwd.clone(),
        git_dir: shell.text_of("GIT_DIR").map(|text| shell.path(&text)),
        work_tree: shell.text_of("GIT_WORK_TREE").map(|text| shell.path(&text)),
        settings: Vec::new(),
    };
    let mut rest = arguments;
    while let [word, more @ ..] = rest {
        rest = more;
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || match value.clone() {
            Some(value) => Ok(value),
            None => {
                let [value, more @ ..] = rest else { return fatal(format!("option '{word}' needs a value")) };
                rest = more;
                Ok(value.clone())
            }
        };
        match name {
            "-C" => {
                let path = value()?;
                git.cwd = absolute(&git.cwd, &path);
                if let Err(error) = lock(&shell.tree).list(&git.cwd, 0) {
                    return fatal(format!("cannot change to '{path}': {}", reason(&error)));
                }
            }
            "-c" => {
                let text = value()?;
                let (key, value) = text.split_once('=').unwrap_or((&text, "true"));
                git.settings.push((key.to_owned(), value.to_owned()));
            }
            "--git-dir" => git.git_dir = Some(absolute(&git.cwd, &value()?)),
            "--work-tree" => git.work_tree = Some(absolute(&git.cwd, &value()?)),
            "--no-pager" | "-P" | "--literal-pathspecs" | "--no-optional-locks" => {}
            "--version" | "-v" => return Ok((git, "version", rest)),
            "--help" | "-h" => return Ok((git, "help", rest)),
            name if name.starts_with('-') => return fatal(format!("unknown option: {name}")),
            name => return Ok((git, name, rest)),
        }
    }
    Ok((git, "help", &[]))
}

impl Git<'_> {
    async fn run(&self, name: &str, arguments: &[String]) -> Outcome<i32> {
        match name {
            "version" => self.print("git version 2.43.0 (for repositories in this sandbox)\n").await,
            "help" => {
                self.print(
                    "usage: git [-C <path>] [-c <name>=<value>] <command> [<args>]\n\nadd, branch, checkout, clone, commit, \
                     config, credential, diff, fetch,\ninit, log, ls-files, merge, mv, pull, push, remote, reset, restore,\n\
                     rev-parse, rm, show, status, switch, symbolic-ref, tag\n",
                )
                .await
            }
            "init" => self.init(arguments).await,
            "clone" => self.clone_repository(arguments).await,
            "config" => self.config(arguments).await,
            "credential" => self.credential(arguments).await,
            "add" => self.repository()?.add(arguments).await,
            "rm" => self.repository()?.remove(arguments).await,
            "mv" => self.repository()?.rename(arguments).await,
            "commit" => self.repository()?.commit(arguments).await,
            "status" => self.repository()?.status(arguments).await,
            "branch" => self.repository()?.branch(arguments).await,
            "checkout" => self.repository()?.checkout(arguments).await,
            "switch" => self.repository()?.switch(arguments).await,
            "tag" => self.repository()?.tag(arguments).await,
            "log" => self.repository()?.log(arguments).await,
            "show" => self.repository()?.show(arguments).await,
            "diff" => self.repository()?.diff(arguments).await,
            "reset" => self.repository()?.reset(arguments).await,
            "restore" => self.repository()?.restore(arguments).await,
            "ls-files" => self.repository()?.list_files(arguments).await,
            "rev-parse" => self.repository()?.parse_revisions(arguments).await,
            "symbolic-ref" => self.repository()?.symbolic_reference(arguments).await,
            "remote" => self.repository()?.remote(arguments).await,
            "fetch" => self.repository()?.fetch(arguments).await,
            "push" => self.repository()?.push(arguments).await,
            "pull" => self.repository()?.pull(arguments).await,
            "merge" => self.repository()?.merge(arguments).await,
            name => {
                self.shell.error("git", &format!("'{name}' is not a git command here. See 'git --help'.")).await;
                Ok(1)
            }
        }
    }

    async fn print(&self, text: &str) -> Outcome<i32> {
        self.shell.out("git", text.as_bytes()).await?;
        Ok(0)
    }

    /// Reads the options of a subcommand. Letters of those that are long only are not among `letters`, or no letters that
    /// are typed.
    async fn options(&self, name: &str, arguments: &[String], letters: &str, long: &[(&str, char)]) -> Outcome<Given> {
        match read(arguments, letters, long, Order::Any) {
            Ok(given) => Ok(given),
            Err(why) => {
                self.shell.error("error", &format!("{why} (git {name})")).await;
                Err(Failure::Quiet(129))
            }
        }
    }
}
