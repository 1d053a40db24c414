//! Programs that describe the machine: `whoami`, `id`, `uname`, `hostname`, `nproc`, `tty`.

use crate::state::{Done, Shell};

/// Runs the programs that describe user and machine, such as `whoami`, `hostname` and `id`.
pub(super) async fn uname(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let flag = arguments.first().map(String::as_str);
    let text = match (who, flag) {
        ("whoami", _) => "user".to_owned(),
        ("hostname", _) => "sandbox".to_owned(),
        ("nproc", _) => "1".to_owned(),
        ("id", Some("-u" | "-g")) => "1000".to_owned(),
        ("id", Some("-un" | "-gn")) => "user".to_owned(),
        ("id", _) => "uid=1000(user) gid=1000(user) groups=1000(user)".to_owned(),
        ("uname", None | Some("-s")) => "Linux".to_owned(),
        ("uname", Some("-m" | "-p" | "-i")) => "wasm32".to_owned(),
        ("uname", Some("-r")) => "6.1.0".to_owned(),
        ("uname", Some("-n")) => "sandbox".to_owned(),
        ("uname", _) => "Linux sandbox 6.1.0 #1 SMP wasm32 GNU/Linux".to_owned(),
        ("tty", _) => {
            shell.out(who, b"not a tty\n").await?;
            return Ok(1);
        }
        _ => String::new(),
    };
    shell.out(who, format!("{text}\n").as_bytes()).await?;
    Ok(0)
}
