//! Programs that describe the machine: `whoami`, `id`, `uname`, `hostname`, `nproc`, `tty`.

use crate::state::{Done, Shell};
use proofbox_vfs::{HOST_NAME, User};

/// Runs the programs that describe user and machine, such as `whoami`, `hostname` and `id`.
pub(super) async fn uname(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let given = arguments.iter().find(|argument| who == "id" && !argument.starts_with('-'));
    let user = match given.map(|name| (name, User::parse(name))) {
        None => shell.tree.credentials().user,
        Some((_, Some(user))) => user,
        Some((name, None)) => return Err(shell.fails("id", &format!("'{name}': no such user")).await),
    };
    let (name, id) = (user.name(), user.id());
    let flag = arguments.first().map(String::as_str);
    let text = match (who, flag) {
        ("whoami", _) => name.to_owned(),
        ("hostname", _) => HOST_NAME.to_owned(),
        ("nproc", _) => "1".to_owned(),
        ("id", Some("-u" | "-g" | "-G" | "-ur" | "-gr")) => id.to_string(),
        ("id", Some("-un" | "-gn" | "-Gn" | "-nu" | "-ng")) | ("groups", _) => name.to_owned(),
        ("id", _) => format!("uid={id}({name}) gid={id}({name}) groups={id}({name})"),
        ("uname", None | Some("-s")) => "Linux".to_owned(),
        ("uname", Some("-m" | "-p" | "-i")) => "wasm32".to_owned(),
        ("uname", Some("-r")) => "6.1.0".to_owned(),
        ("uname", Some("-n")) => HOST_NAME.to_owned(),
        ("uname", _) => "Linux sandbox 6.1.0 #1 SMP wasm32 GNU/Linux".to_owned(),
        ("tty", _) if shell.shared.terminal.is_some() => "/dev/pts/0".to_owned(),
        ("tty", _) => {
            shell.out(who, b"not a tty\n").await?;
            return Ok(1);
        }
        _ => String::new(),
    };
    shell.out(who, format!("{text}\n").as_bytes()).await?;
    Ok(0)
}
