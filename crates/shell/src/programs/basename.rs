//! Programs `basename` and `dirname`.

use super::input::usage;
use super::options::{Order, read};
use crate::state::{Done, Shell};

/// Runs `basename` or `dirname`.
pub(super) async fn basename(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let letters = if who == "basename" { "as:" } else { "z" };
    let given = match read(arguments, letters, &[("multiple", 'a'), ("suffix", 's')], Order::First) {
        Ok(given) => given,
        Err(why) => return Err(usage(shell, who, &why, 1).await),
    };
    let mut operands = given.operands.clone();
    let mut suffix = given.value('s').unwrap_or_default().to_owned();
    if operands.is_empty() {
        return Err(usage(shell, who, "missing operand", 1).await);
    }
    if who == "basename" && !given.has('a') && !given.has('s') {
        match operands.len() {
            1 => {}
            2 => suffix = operands.remove(1),
            _ => return Err(usage(shell, who, &format!("extra operand '{}'", operands[2]), 1).await),
        }
    }
    for path in &operands {
        let trimmed = path.trim_end_matches('/');
        let shown = match (who, trimmed.rsplit_once('/')) {
            (_, _) if trimmed.is_empty() && !path.is_empty() => "/",
            ("basename", split) => {
                let name = split.map_or(trimmed, |(_, name)| name);
                name.strip_suffix(suffix.as_str()).filter(|name| !name.is_empty()).unwrap_or(name)
            }
            (_, Some((above, _))) => match above.trim_end_matches('/') {
                "" => "/",
                above => above,
            },
            (_, None) => ".",
        };
        shell.out(who, format!("{shown}\n").as_bytes()).await?;
    }
    Ok(0)
}
