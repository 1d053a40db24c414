//! Programs `sudo` and `su`: a command as another user. As in E2B's template, `user` needs no password for `sudo`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell, Stop};
use proofbox_vfs::{Credentials, User};
use std::sync::Arc;

/// Runs `sudo`.
pub(super) async fn sudo(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [
        ("user", 'u'),
        ("group", 'g'),
        ("preserve-env", 'E'),
        ("set-home", 'H'),
        ("non-interactive", 'n'),
        ("login", 'i'),
        ("shell", 's'),
        ("stdin", 'S'),
        ("list", 'l'),
        ("validate", 'v'),
        ("reset-timestamp", 'k'),
        ("prompt", 'p'),
        ("background", 'b'),
    ];
    let given = match read(arguments, "u:g:EHnisSlvkKp:b", &long, Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "sudo", &why, 1).await),
    };
    let name = given.value('u').unwrap_or(User::Root.name());
    let Some(user) = named(name) else {
        return Err(shell.fails("sudo", &format!("unknown user {name}")).await);
    };
    let mut words = given.operands.clone();
    let mut inner = as_user(shell, user).await?;
    inner.set_environment("SUDO_USER".to_owned(), shell.tree.credentials().user.name().to_owned());
    while words.first().is_some_and(|word| word.split_once('=').is_some_and(|(name, _)| is_name(name))) {
        if let Some((name, value)) = words.remove(0).split_once('=') {
            inner.set_environment(name.to_owned(), value.to_owned());
        }
    }
    let login = given.has('i');
    if login {
        inner.cwd = user.home().to_owned();
        inner.set_environment("PWD".to_owned(), user.home().to_owned());
    }
    if login || given.has('s') {
        words = match words.is_empty() {
            true => vec!["bash".to_owned()],
            false => ["bash", "-c", "\"$@\"", "bash"].map(str::to_owned).into_iter().chain(words).collect(),
        };
    }
    if words.is_empty() {
        return match given.has('l') || given.has('v') || given.has('k') || given.has('K') {
            true => Ok(0),
            false => Err(usage(shell, "sudo", "a command is missing", 1).await),
        };
    }
    let name = words.remove(0);
    if super::names::is_builtin(&name) && !super::names::is_executable_name(&name) {
        return Err(shell.fails("sudo", &format!("{name}: command not found")).await);
    }
    run(inner, &name, &words).await
}

/// Runs `su`, which only root needs no password for.
pub(super) async fn su(shell: &mut Shell, arguments: &[String]) -> Done {
    let long = [("command", 'c'), ("login", 'l'), ("shell", 's'), ("preserve-environment", 'p')];
    let words: Vec<String> =
        arguments.iter().map(|word| if word == "-" { "-l".to_owned() } else { word.clone() }).collect();
    let given = match read(&words, "c:ls:pm", &long, Order::Any) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, "su", &why, 1).await),
    };
    let name = given.operands.first().map_or(User::Root.name(), String::as_str);
    let Some(user) = named(name) else {
        return Err(shell
            .fails(
                "su",
                &format!("user {name} does not exist or the user entry does not contain all the required fields"),
            )
            .await);
    };
    let own = shell.tree.credentials().user;
    if own != User::Root && own != user {
        return Err(shell.fails("su", "Authentication failure").await);
    }
    let mut inner = as_user(shell, user).await?;
    if given.has('l') {
        inner.cwd = user.home().to_owned();
        inner.set_environment("PWD".to_owned(), user.home().to_owned());
    }
    let words = match given.value('c') {
        Some(command) => vec!["-c".to_owned(), command.to_owned()],
        None => Vec::new(),
    };
    run(inner, "bash", &words).await
}

async fn run(mut inner: Shell, name: &str, words: &[String]) -> Done {
    match super::run(&mut inner, name, words).await {
        Err(Stop::Spent) => Err(Stop::Spent),
        done => Ok(inner.code_of(done)),
    }
}

fn named(name: &str) -> Option<User> {
    User::ALL.into_iter().find(|user| user.name() == name || name == format!("#{}", user.id()))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// A shell of another user within this one.
async fn as_user(shell: &Shell, user: User) -> Result<Shell, Stop> {
    let mut inner = shell.subshell().await?;
    let mask = shell.tree.credentials().mask;
    inner.tree = shell.tree.with_credentials(Credentials::of(user).with_mask(mask));
    inner.functions = Arc::default();
    for (name, value) in [("HOME", user.home()), ("USER", user.name()), ("LOGNAME", user.name())] {
        inner.set_environment(name.to_owned(), value.to_owned());
    }
    Ok(inner)
}
