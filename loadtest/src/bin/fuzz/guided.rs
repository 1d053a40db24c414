//! Coverage-guided fuzzing: libFuzzer, as a library, over the same targets. The crates of the workspace count which of
//! their edges an input runs over where they are compiled so (`loadtest/count-edges`).

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
// Brings libFuzzer itself.
use libfuzzer_sys as _;

use super::targets::{Attempt, Set, Target};
use super::{MEMORY, PATIENCE};

/// Longest input, in bytes.
const MAX_LENGTH: usize = 64 << 10;

thread_local! {
    /// Target of the thread that libFuzzer runs on.
    static ATTEMPT: RefCell<Option<Attempt>> = const { RefCell::new(None) };
}

unsafe extern "C" {
    /// libFuzzer's own `main`, with the function that it gives inputs to ("Using libFuzzer as a library").
    fn LLVMFuzzerRunDriver(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        run: extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;
}

/// Called where libFuzzer's own `main` would be used; it is not.
#[unsafe(no_mangle)]
#[expect(improper_ctypes_definitions, reason = "libfuzzer-sys declares it so")]
extern "C" fn rust_fuzzer_test_input(_input: &[u8]) -> i32 {
    0
}

extern "C" fn run(data: *const u8, length: usize) -> c_int {
    // SAFETY: libFuzzer gives `length` bytes that stay as they are during the call; without any, `data` may be null.
    let input = if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, length) } };
    ATTEMPT.with_borrow_mut(|attempt| {
        if let Some(attempt) = attempt {
            attempt(input);
        }
    });
    0
}

/// Tries a target for so long. What is found new is kept beside the honest inputs, in `keep/TARGET`, and taken up again.
/// At the first fault libFuzzer ends the process; the input is then in `keep/TARGET-crash-…`, `-timeout-…` or `-oom-…`.
///
/// # Errors
/// Returns an error when the target can't be set up, or was not compiled to count edges.
pub(crate) fn fuzz(target: &Target, time: Duration, seed: u64, keep: &Path) -> anyhow::Result<()> {
    let Set { seeds, words, attempt } = (target.set_up)()?;
    let corpus = keep.join(target.name);
    std::fs::create_dir_all(&corpus).with_context(|| format!("making {}", corpus.display()))?;
    for (number, seed) in seeds.iter().enumerate() {
        std::fs::write(corpus.join(format!("honest-{number}")), seed)?;
    }
    let dictionary = keep.join(format!("{}.dict", target.name));
    std::fs::write(&dictionary, entries(&words))?;
    let longest = seeds.iter().map(|seed| 2 * seed.len()).max().unwrap_or(0).max(MAX_LENGTH);
    let mut arguments = vec![
        "fuzz".to_owned(),
        format!("-max_total_time={}", time.as_secs()),
        format!("-seed={seed}"),
        format!("-max_len={longest}"),
        format!("-timeout={}", PATIENCE.as_secs()),
        format!("-rss_limit_mb={}", MEMORY >> 20),
        format!("-artifact_prefix={}-", corpus.display()),
        "-print_final_stats=1".to_owned(),
        "-detect_leaks=0".to_owned(),
    ];
    if !words.is_empty() {
        arguments.push(format!("-dict={}", dictionary.display()));
    }
    if target.name.starts_with("checkpoint") {
        // These signals are how interpreters meet their bounds.
        arguments.extend(["segv", "bus", "ill", "fpe"].map(|signal| format!("-handle_{signal}=0")));
    }
    arguments.push(corpus.display().to_string());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        std::process::abort();
    }));
    ATTEMPT.set(Some(attempt));
    let arguments: Vec<CString> = arguments.into_iter().map(CString::new).collect::<Result<_, _>>()?;
    let mut pointers: Vec<*mut c_char> = arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    let mut count = c_int::try_from(pointers.len())?;
    pointers.push(std::ptr::null_mut());
    let mut first = pointers.as_mut_ptr();
    // SAFETY: `argc` and `argv` are as of a `main`: so many strings that end with a zero byte, then null. They are not
    // written to, and live until the end of the call. `run` does not unwind: a panic aborts.
    let code = unsafe { LLVMFuzzerRunDriver(&raw mut count, &raw mut first, run) };
    ensure!(code == 0, "{}: libFuzzer ended with {code}", target.name);
    Ok(())
}

/// Words in the form of a dictionary of libFuzzer.
fn entries(words: &[Vec<u8>]) -> String {
    words.iter().filter(|word| !word.is_empty()).fold(String::new(), |mut text, word| {
        text.push('"');
        for byte in word {
            let _ = write!(text, "\\x{byte:02x}");
        }
        text.push_str("\"\n");
        text
    })
}
