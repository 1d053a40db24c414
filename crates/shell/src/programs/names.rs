//! Names of the builtins and programs.

/// Builtins of the shell, separated by blanks.
const BUILTINS: &str = " : . [ alias bg break builtin cd command continue declare echo eval exec exit export false \
    getopts hash jobs kill let local mapfile printf pwd read readarray readonly return set shift shopt source test \
    trap true type typeset ulimit umask unalias unset wait ";
/// Programs of the sandbox, separated by blanks.
const PROGRAMS: &str = " awk base64 basename bash cat chmod chown cksum clear cmp column comm cp cut date df diff \
    dirname du egrep env expr fgrep file find fold free gawk grep gunzip gzip head hostname iconv id install join jq \
    less ln ls mawk md5sum mkdir mktemp more mv nawk nice nl nohup nproc od paste patch pgrep pip pip3 pkill \
    printenv ps py.test pytest python python3 readlink realpath rev rm rmdir sed seq setsid sh sha1sum sha224sum \
    sha256sum sha384sum sha512sum shuf sleep sort split stat stdbuf strings sync tac tail tar tee timeout top touch \
    tr tree truncate tty uname uniq unzip wc which whoami xargs xxd yes zcat zip ";

fn lists(names: &str, name: &str) -> bool {
    !name.is_empty() && !name.contains(' ') && names.contains(&format!(" {name} "))
}

/// Returns whether a name is a builtin.
pub(crate) fn is_builtin(name: &str) -> bool {
    lists(BUILTINS, name)
}

/// Returns whether a name is a builtin or a program.
pub(crate) fn is_known(name: &str) -> bool {
    is_builtin(name) || lists(PROGRAMS, name)
}

/// The name below one of the directories that programs are in.
pub(super) fn name_of(path: &str) -> Option<&str> {
    ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|directory| path.strip_prefix(directory))
}

/// Returns whether a path is that of a program. Programs have no files.
pub(crate) fn is_program(path: &str) -> bool {
    name_of(path).is_some_and(|name| lists(PROGRAMS, name))
}
