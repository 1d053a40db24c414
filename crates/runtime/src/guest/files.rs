//! Files that a program starts with.

use crate::clock::now;
use crate::packages;
use proofbox_types::grant::Limits;
use proofbox_types::program::{Program, TESTS_DIRECTORY};
use proofbox_vfs::{Base, Credentials, FilesError, FilesQuota, SharedTree, Tree, User, lock};

/// The snippet's file in the working directory.
pub(crate) const SNIPPET_NAME: &str = "solution.py";
/// Mode of a directory in which anybody adds entries and only owners remove them, as `/tmp`.
const SHARED_DIRECTORY_MODE: u16 = 0o1777;

/// Checks that the files of a program can be put into its sandbox, and that those it asks for can be looked for.
///
/// # Errors
/// Returns the first file that can't, with the field that it is in.
pub fn check_files(program: &Program, limits: &Limits) -> Result<(), (&'static str, FilesError)> {
    // Of zeros: nothing of the content is copied, and nobody reads it.
    let reserve = |tree: &mut Tree, path: &str, content: &[u8], now| tree.reserve_file(path, content.len() as u64, now);
    let tree = tree_of(packages::empty(), program, limits, reserve).map_err(|error| ("files", error))?;
    lock(&tree).check_glob(&program.fetch_files, limits.files_bytes).map_err(|error| ("fetch_files", error))
}

pub(crate) fn tree(base: &Base, program: &Program, limits: &Limits) -> Result<SharedTree, FilesError> {
    tree_of(base, program, limits, Tree::write_file)
}

/// Makes the tree of a program, whose files `put` writes.
fn tree_of(
    base: &Base,
    program: &Program,
    limits: &Limits,
    put: impl Fn(&mut Tree, &str, &[u8], u64) -> Result<(), FilesError>,
) -> Result<SharedTree, FilesError> {
    let now = program.deterministic.map_or_else(now, |wanted| wanted.start_time_nanoseconds);
    let mut tree = base.tree(quota(limits), now);
    for file in &program.files {
        put(&mut tree, &file.path, &file.content, now)?;
    }
    if !brings_snippet_file(program) {
        put(&mut tree, SNIPPET_NAME, program.code.as_bytes(), now)?;
    }
    let tree = SharedTree::new(tree);
    put_test_files(&tree, program, now, put)?;
    Ok(tree)
}

/// Returns whether a file of a program without tests has the snippet's name: the snippet may import it.
pub(crate) fn brings_snippet_file(program: &Program) -> bool {
    let is_snippets = |path: &str| path.strip_prefix("./").unwrap_or(path) == SNIPPET_NAME;
    program.tests.is_none() && program.files.iter().any(|file| is_snippets(&file.path))
}

/// Writes the files of the tests as root's, in directories where anybody adds files and only owners remove them: tests
/// that unpack an archive of the candidate's do not replace themselves by its members.
fn put_test_files(
    tree: &SharedTree,
    program: &Program,
    now: u64,
    put: impl Fn(&mut Tree, &str, &[u8], u64) -> Result<(), FilesError>,
) -> Result<(), FilesError> {
    let root = tree.with_credentials(Credentials::of(User::Root));
    for file in &program.test_files {
        let path = format!("/{TESTS_DIRECTORY}/{}", file.path);
        put(&mut lock(&root), &path, &file.content, now)?;
        for (end, _) in path.match_indices('/').skip(1) {
            lock(&root).set_mode(&path[..end], SHARED_DIRECTORY_MODE, now)?;
        }
    }
    Ok(())
}

pub(crate) fn quota(limits: &Limits) -> FilesQuota {
    FilesQuota { bytes: limits.files_bytes, count: limits.files_count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::trusted_limits;
    use proofbox_types::program::File;

    #[test]
    fn tests_can_be_joined_but_not_replaced() {
        let file = |path: &str| File { path: path.to_owned(), content: b"31337".to_vec() };
        let test_files = vec![file("want.txt"), file("golden/page.html")];
        let program = Program { test_files, ..Program::default() };
        let tree = tree(packages::empty(), &program, &trusted_limits()).expect("they fit");
        let user = tree.with_credentials(Credentials::of(User::User));
        for path in ["/tests/want.txt", "/tests/golden/page.html"] {
            assert_eq!(lock(&user).read_file(path).expect("readable"), &b"31337"[..]);
            assert!(lock(&user).write_file(path, b"0", 0).is_err(), "{path}");
            assert!(lock(&user).remove(path, 0).is_err(), "{path}");
            lock(&user).write_file("/tests/golden/own.txt", b"0", 0).expect("anybody adds files");
            assert!(lock(&user).rename("/tests/golden/own.txt", path, 0).is_err(), "{path}");
        }
        assert!(lock(&user).rename("/tests/golden", "/tests/other", 0).is_err());
        lock(&user).remove("/tests/golden/own.txt", 0).expect("it is the user's own");
    }

    #[test]
    fn files_are_refused_before_the_run_as_in_it() {
        let limits = Limits { files_bytes: 100, files_count: 4, ..trusted_limits() };
        let file = |path: &str, bytes: usize| File { path: path.to_owned(), content: vec![b'x'; bytes] };
        let programs = [
            vec![file("a", 60), file("b", 20)],
            vec![file("a", 60), file("a", 80)],
            vec![file("a", 60), file("b", 60)],
            vec![file("a/b/c/d/e", 0)],
            vec![file("../../../a", 0)],
            vec![file("a", 0), file("a/b", 0)],
            vec![file("/tmp", 0)],
        ];
        for files in programs {
            let code = "print(1)".to_owned();
            let program = Program { code, test_files: vec![file("t", 1)], files, ..Program::default() };
            let made = tree(packages::empty(), &program, &limits).map(drop);
            assert_eq!(check_files(&program, &limits), made.map_err(|error| ("files", error)), "{:?}", program.files);
        }
    }

    #[test]
    fn patterns_are_refused_before_the_run_as_in_it() {
        let content = vec![b'x'; 60];
        let files =
            vec![File { path: "a".to_owned(), content: content.clone() }, File { path: "b".to_owned(), content }];
        let limits = Limits { files_bytes: 120, ..trusted_limits() };
        let check = |pattern: &str| {
            let fetch_files = vec![pattern.to_owned()];
            check_files(&Program { files: files.clone(), fetch_files, ..Program::default() }, &limits)
        };
        assert_eq!((check("a"), check("**")), (Ok(()), Ok(())));
        assert!(matches!(check("a["), Err(("fetch_files", _))));
    }
}
