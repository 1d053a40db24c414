//! Programs `tac` and `rev`.

use super::input::{AllLines, or_input};
use crate::state::{Done, Shell};

/// Runs `tac` or `rev`.
pub(super) async fn tac_or_rev(shell: &mut Shell, who: &str, arguments: &[String]) -> Done {
    let all = AllLines::read(shell, who, &or_input(arguments.to_vec()), b'\n').await?;
    let lines: Vec<Vec<u8>> = match who {
        "tac" => all.lines.into_iter().rev().collect(),
        _ => {
            let turned = |line: Vec<u8>| String::from_utf8_lossy(&line).chars().rev().collect::<String>().into_bytes();
            all.lines.into_iter().map(turned).collect()
        }
    };
    for mut line in lines {
        line.push(b'\n');
        shell.out(who, &line).await?;
    }
    Ok(all.status)
}
