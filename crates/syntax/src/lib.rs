//! Source text of Python: how deep it nests. Ruff's parser and everything that walks its trees is recursive, and a
//! stack that overflows ends the process; so what nests too deep is not given to them.

use std::panic::AssertUnwindSafe;

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;
use ruff_python_parser::lexer::lex;
use tokio::sync::{Semaphore, oneshot};

/// Ruff's parser takes some 5 KiB for a level; what walks its trees was seen to need less. Only what is touched takes
/// memory.
pub const LARGE_STACK_BYTES: usize = 64 << 20;
/// Maximum depth of a source that can be parsed on a large stack. CPython itself rejects expressions nested a few
/// hundred deep.
pub const MAX_DEPTH: usize = 2000;
/// Large stacks at a time.
const LARGE_STACKS: usize = 2;

/// Maximum depth of a source that can be parsed on the stack that a thread has anyway.
pub const MAX_DEPTH_INLINE: usize = 100;

/// Does a piece of work on a thread with [`LARGE_STACK_BYTES`]. None when it panics, or when there is no such thread to
/// be had.
pub async fn on_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static THREADS: Semaphore = Semaphore::const_new(LARGE_STACKS);
    let permit = THREADS.acquire().await.expect("the semaphore is never closed");
    let (answer, answered) = oneshot::channel();
    let work = move || {
        let done = std::panic::catch_unwind(AssertUnwindSafe(work));
        // It counts until it ends, also when nobody waits for it any more.
        drop(permit);
        // Nobody may be waiting any more.
        let _ = answer.send(done.ok());
    };
    let thread = std::thread::Builder::new().name("large-stack".to_owned()).stack_size(LARGE_STACK_BYTES);
    thread.spawn(work).ok()?;
    answered.await.ok().flatten()
}

/// Returns whether more than `most` tokens that could open a level follow each other without one that must close it.
/// The count is at least the depth of the tree.
pub fn nests_too_deep(source: &str, most: usize) -> bool {
    tokens_nest_too_deep(source, Mode::Module, most)
}

/// Returns the same as [`nests_too_deep`], for an expression as well.
pub fn tokens_nest_too_deep(source: &str, mode: Mode, most: usize) -> bool {
    /// State of one pair of brackets.
    #[derive(Default)]
    struct Level {
        /// Operators and keywords since the last comma.
        operators: usize,
        /// A comma may stand in the parameters of a lambda, and does not end it.
        lambdas: usize,
    }
    let mut levels = vec![Level::default()];
    let (mut depth, mut indent) = (0, 0_usize);
    let mut lexer = lex(source, mode);
    loop {
        let kind = lexer.next_token();
        let level = levels.last_mut().expect("the outermost level is never closed");
        match kind {
            TokenKind::EndOfFile => return false,
            TokenKind::Newline => {
                levels = vec![Level::default()];
                depth = indent;
            }
            TokenKind::Indent => indent += 1,
            TokenKind::Dedent => indent = indent.saturating_sub(1),
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                levels.push(Level::default());
                depth += 1;
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::FStringEnd | TokenKind::TStringEnd => {
                if levels.len() > 1
                    && let Some(closed) = levels.pop()
                {
                    depth -= closed.operators + closed.lambdas + 1;
                }
                // `f()()()` nests as well.
                if let Some(level) = levels.last_mut() {
                    level.operators += 1;
                    depth += 1;
                }
            }
            TokenKind::Comma => {
                depth -= level.operators;
                level.operators = 0;
            }
            TokenKind::Lambda => {
                level.lambdas += 1;
                depth += 1;
            }
            kind if kind.is_operator() || kind.is_keyword() => {
                level.operators += 1;
                depth += 1;
            }
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
}
