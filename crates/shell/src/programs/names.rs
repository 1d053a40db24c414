//! Names of the builtins and programs.

use proofbox_vfs::PROGRAMS;

/// Builtins of the shell, separated by blanks.
const BUILTINS: &str = " : . [ alias bg break builtin cd command continue declare echo eval exec exit export false \
    getopts hash jobs kill let local mapfile printf pwd read readarray readonly return set shift shopt source test \
    trap true type typeset ulimit umask unalias unset wait ";

/// Returns whether a name is a builtin.
pub(crate) fn is_builtin(name: &str) -> bool {
    !name.is_empty() && !name.contains(' ') && BUILTINS.contains(&format!(" {name} "))
}

/// Returns whether a name is a builtin or a program.
pub(crate) fn is_known(name: &str) -> bool {
    is_builtin(name) || is_executable_name(name)
}

/// The name below one of the directories that programs are in.
pub(super) fn name_of(path: &str) -> Option<&str> {
    ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|directory| path.strip_prefix(directory))
}

/// Returns whether a name is that of a program in `/usr/bin`.
pub(super) fn is_executable_name(name: &str) -> bool {
    PROGRAMS.binary_search(&name).is_ok()
}
