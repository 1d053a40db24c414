//! Files that a program starts with.

use crate::clock::now;
use crate::packages;
use proofbox_types::grant::Limits;
use proofbox_types::program::{Program, TESTS_DIRECTORY};
use proofbox_vfs::{Base, FilesError, FilesQuota, SharedTree, lock};

/// The snippet's file in the working directory.
pub(crate) const SNIPPET_NAME: &str = "solution.py";

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
    for file in &program.test_files {
        tree.write_file(&format!("/{TESTS_DIRECTORY}/{}", file.path), &file.content, now)?;
    }
    Ok(SharedTree::new(tree))
}

pub(crate) fn quota(limits: &Limits) -> FilesQuota {
    FilesQuota { bytes: limits.files_bytes, count: limits.files_count }
}
