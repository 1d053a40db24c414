//! Files that a program starts with.

use crate::clock::now;
use crate::packages;
use proofbox_types::grant::Limits;
use proofbox_types::program::{Program, TESTS_DIRECTORY};
use proofbox_vfs::{Base, Credentials, FilesError, FilesQuota, SharedTree, User, lock};

/// The snippet's file in the working directory.
pub(crate) const SNIPPET_NAME: &str = "solution.py";
/// Mode of a directory in which anybody adds entries and only owners remove them, as `/tmp`.
const SHARED_DIRECTORY_MODE: u16 = 0o1777;

/// Checks that the files of a program can be put into its sandbox, and that those it asks for can be looked for.
///
/// # Errors
/// Returns the first file that can't, with the field that it is in.
pub fn check_files(program: &Program, limits: &Limits) -> Result<(), (&'static str, FilesError)> {
    let tree = tree(packages::empty(), program, limits).map_err(|error| ("files", error))?;
    let found = lock(&tree).glob(&program.fetch_files, limits.files_bytes);
    found.map(drop).map_err(|error| ("fetch_files", error))
}

pub(crate) fn tree(base: &Base, program: &Program, limits: &Limits) -> Result<SharedTree, FilesError> {
    let now = program.deterministic.map_or_else(now, |wanted| wanted.start_time_nanoseconds);
    let mut tree = base.tree(quota(limits), now);
    for file in &program.files {
        tree.write_file(&file.path, &file.content, now)?;
    }
    tree.write_file(SNIPPET_NAME, program.code.as_bytes(), now)?;
    let tree = SharedTree::new(tree);
    write_test_files(&tree, program, now)?;
    Ok(tree)
}

/// Writes the files of the tests as root's, in directories where anybody adds files and only owners remove them: tests
/// that unpack an archive of the candidate's do not replace themselves by its members.
fn write_test_files(tree: &SharedTree, program: &Program, now: u64) -> Result<(), FilesError> {
    let root = tree.with_credentials(Credentials::of(User::Root));
    for file in &program.test_files {
        let path = format!("/{TESTS_DIRECTORY}/{}", file.path);
        lock(&root).write_file(&path, &file.content, now)?;
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
}
