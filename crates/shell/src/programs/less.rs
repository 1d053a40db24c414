//! Programs `less` and `more`: there is no terminal, so they show all.

use crate::state::{Done, Shell};

/// Runs `less` or `more`.
pub(super) async fn less(shell: &mut Shell, arguments: &[String]) -> Done {
    let is_option = |word: &&String| word.starts_with('+') || (word.starts_with('-') && word.len() > 1);
    let operands = arguments.iter().filter(|word| !is_option(word)).cloned();
    let words: Vec<String> = std::iter::once("--".to_owned()).chain(operands).collect();
    super::cat::cat(shell, &words).await
}
