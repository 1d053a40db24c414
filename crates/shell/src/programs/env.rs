//! Programs `env` and `printenv`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell};

/// Runs `env` or `printenv`.
pub(super) async fn env(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    if who == "printenv" && !arguments.is_empty() {
        let mut status = 0;
        for name in arguments {
            match shell.environment().into_iter().find(|(known, _)| known == name) {
                Some((_, value)) => shell.out(who, format!("{value}\n").as_bytes()).await?,
                None => status = 1,
            }
        }
        return Ok(status);
    }
    let given = match read(arguments, "iu:0", &[("ignore-environment", 'i'), ("unset", 'u')], Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 125).await),
    };
    let mut inner = shell.subshell().await?;
    inner.becomes_next = std::mem::take(&mut shell.becomes_next);
    {
        let variables = std::sync::Arc::make_mut(&mut inner.variables);
        variables.retain(|_, variable| variable.exported && !given.has('i'));
        for name in given.values('u') {
            variables.remove(name);
        }
    }
    let mut words = given.operands.as_slice();
    while let Some((name, value)) = words.first().and_then(|word| word.split_once('=')) {
        inner.assign_text(name, value).await?;
        if let Some(variable) = std::sync::Arc::make_mut(&mut inner.variables).get_mut(name) {
            variable.exported = true;
        }
        words = &words[1..];
    }
    match words.split_first() {
        Some((name, arguments)) => super::run(&mut inner, name, arguments).await,
        None => {
            let lines = inner.environment().into_iter().map(|(name, value)| format!("{name}={value}\n"));
            let text: String = lines.collect();
            shell.out(who, text.as_bytes()).await?;
            Ok(0)
        }
    }
}
