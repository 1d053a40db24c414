//! Program `yes`.

use crate::state::{Done, Shell};

pub(super) async fn yes(shell: &mut Shell, arguments: &[String]) -> Done {
    let word = if arguments.is_empty() { "y".to_owned() } else { arguments.join(" ") };
    let block = format!("{word}\n").repeat((8192 / (word.len() + 1)).max(1));
    loop {
        shell.out("yes", block.as_bytes()).await?;
    }
}
