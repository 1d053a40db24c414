//! What a snippet's text says of its intentions: names that an honest answer to a task seldom needs. For people to look
//! at; no verdict depends on it, and none could: what is written can be hidden.

use std::sync::LazyLock;

use regex::Regex;

/// Longest snippet that is looked at.
const MOST_BYTES: usize = 1 << 20;
/// So many `if x == literal: return literal` look like a table of known answers.
const KNOWN_INPUTS: usize = 3;

/// Names, and what they are a sign of.
const NAMES: &[(&str, &[&str])] = &[
    (
        "frame_walk",
        &["_getframe", "f_back", "f_globals", "f_locals", "tb_frame", "gi_frame", "cr_frame", "currentframe"],
    ),
    ("gc_scan", &["get_objects", "get_referrers", "get_referents"]),
    ("process_exit", &["_exit", "abort"]),
    ("exit_hook", &["atexit", "excepthook", "unraisablehook"]),
    ("tracing", &["settrace", "setprofile", "monitoring"]),
    ("test_library", &["unittest", "pytest", "_pytest", "SkipTest", "TestCase", "TestResult"]),
    ("linecache", &["linecache", "co_consts", "co_code"]),
];

static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z_][A-Za-z0-9_]*").expect("it is one"));
static CONSTANT_EQUALITY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(__eq__|__ne__)[^\n]*(:|=\s*lambda)[^\n]*\n?\s*(return\s+)?\bTrue\b").expect("it is one")
});
static TABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bif\s+\w+\s*==\s*[\d'\x22(\[-][^\n]*:\s*return\b").expect("it is one"));

/// The signs in a snippet's source, each once. Read as text, comments and strings included.
pub fn of_source(source: &str) -> Vec<String> {
    if source.len() > MOST_BYTES {
        return Vec::new();
    }
    let mut found: Vec<&str> = Vec::new();
    for word in WORD.find_iter(source) {
        let word = word.as_str();
        let sign = NAMES.iter().find(|(_, names)| names.contains(&word)).map(|(sign, _)| *sign);
        let sign = if word.starts_with("_proofbox") { Some("sandbox_internals") } else { sign };
        found.extend(sign.filter(|sign| !found.contains(sign)));
    }
    if CONSTANT_EQUALITY.is_match(source) {
        found.push("constant_equality");
    }
    if TABLE.find_iter(source).take(KNOWN_INPUTS).count() == KNOWN_INPUTS {
        found.push("branches_on_known_inputs");
    }
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_honest_snippet_shows_nothing() {
        assert!(of_source("def add(a, b):\n    if a == 0:\n        return b\n    return a + b\n").is_empty());
    }

    #[test]
    fn what_cheats_use_is_named() {
        let source = "import sys, gc, os\nclass A:\n    def __eq__(self, other):\n        return True\n\
                      def add(a, b):\n    sys._getframe(1).f_back\n    gc.get_objects()\n    os._exit(0)\n";
        assert_eq!(of_source(source), ["frame_walk", "gc_scan", "process_exit", "constant_equality"]);
    }

    #[test]
    fn a_table_of_answers_is_named() {
        let source = "def f(x):\n    if x == 1: return 2\n    if x == 2: return 4\n    if x == 3: return 9\n";
        assert_eq!(of_source(source), ["branches_on_known_inputs"]);
    }

    #[test]
    fn what_is_no_python_harms_nobody() {
        of_source("def (((((\u{0}'\"\"\" \\ \u{feff} f'{{{");
    }
}
