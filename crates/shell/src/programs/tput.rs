//! Programs that ask about the terminal: `tput`, `stty`.

use crate::state::{Done, Shell};
use crate::terminal::TerminalSize;

/// Size where there is no terminal.
const NO_TERMINAL: TerminalSize = TerminalSize { columns: 80, rows: 24 };

/// Runs `tput` or `stty`.
pub(super) async fn tput_or_stty(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let terminal = shell.shared.terminal.as_ref().map(|terminal| terminal.size());
    let size = terminal.unwrap_or(NO_TERMINAL);
    let text = match (who, arguments.first().map(String::as_str)) {
        ("stty", _) if terminal.is_none() => {
            return Err(shell.fails(who, "'standard input': Inappropriate ioctl for device").await);
        }
        ("stty", Some("size")) => format!("{} {}\n", size.rows, size.columns),
        // Lines are edited in one way only.
        ("stty", _) => String::new(),
        (_, Some("cols")) => format!("{}\n", size.columns),
        (_, Some("lines")) => format!("{}\n", size.rows),
        (_, Some("colors")) => "8\n".to_owned(),
        (_, Some("clear")) => "\x1b[H\x1b[2J".to_owned(),
        (_, Some("bold")) => "\x1b[1m".to_owned(),
        (_, Some("sgr0")) => "\x1b[m".to_owned(),
        (_, Some("setaf")) => {
            format!("\x1b[3{}m", arguments.get(1).and_then(|n| n.parse::<u8>().ok()).unwrap_or(0) % 8)
        }
        (_, Some("setab")) => {
            format!("\x1b[4{}m", arguments.get(1).and_then(|n| n.parse::<u8>().ok()).unwrap_or(0) % 8)
        }
        (_, Some(_)) => String::new(),
        (_, None) => return Err(shell.fails(who, "usage: tput CAPABILITY [PARAMETER...]").await),
    };
    shell.out(who, text.as_bytes()).await?;
    Ok(0)
}
