//! Programs `pip` and `pip3`.

use crate::state::{Done, Shell};

/// `pip`, and `python3 -m pip`.
pub(super) async fn pip(shell: &mut Shell, arguments: &[String]) -> Done {
    let text = shell.packages().await;
    match arguments.first().map(String::as_str) {
        Some("--version" | "-V") => {
            shell.out("pip", b"pip (there is no network here)\n").await?;
            Ok(0)
        }
        Some("list" | "freeze") => {
            shell.out("pip", format!("{text}\n").as_bytes()).await?;
            Ok(0)
        }
        _ => {
            shell.write(&shell.streams.stderr, "pip", format!("ERROR: {text}\n").as_bytes()).await?;
            Ok(1)
        }
    }
}
