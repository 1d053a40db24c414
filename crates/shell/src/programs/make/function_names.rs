//! Names of make's functions.

/// Names of functions, each with the number of its arguments; the last has all commas that are left.
pub(super) const FUNCTIONS: &[(&str, usize)] = &[
    ("abspath", 1),
    ("addprefix", 2),
    ("addsuffix", 2),
    ("and", usize::MAX),
    ("basename", 1),
    ("call", usize::MAX),
    ("dir", 1),
    ("error", 1),
    ("eval", 1),
    ("filter", 2),
    ("filter-out", 2),
    ("findstring", 2),
    ("firstword", 1),
    ("flavor", 1),
    ("foreach", 3),
    ("if", 3),
    ("info", 1),
    ("join", 2),
    ("lastword", 1),
    ("notdir", 1),
    ("or", usize::MAX),
    ("origin", 1),
    ("patsubst", 3),
    ("realpath", 1),
    ("shell", 1),
    ("sort", 1),
    ("strip", 1),
    ("subst", 3),
    ("suffix", 1),
    ("value", 1),
    ("warning", 1),
    ("wildcard", 1),
    ("word", 2),
    ("wordlist", 3),
    ("words", 1),
];

/// Returns the name of the function that a reference calls.
pub(super) fn name_in(inner: &str) -> Option<&'static str> {
    let word = &inner[..inner.find([' ', '\t'])?];
    FUNCTIONS.iter().find(|(name, _)| *name == word).map(|(name, _)| *name)
}
