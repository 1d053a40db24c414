//! Destinations of programs that make, copy and move.

use crate::state::{Shell, Stop, reason};
use proofbox_vfs::{FileKind, lock};

/// Returns the path in a directory for the last name of a path.
pub(super) fn join_last_name(directory: &str, name: &str) -> String {
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    match directory.ends_with('/') {
        true => format!("{directory}{last}"),
        false => format!("{directory}/{last}"),
    }
}

/// Makes a directory, and those above it. The inner error: why it can't be made.
pub(super) async fn make_directories(shell: &Shell, path: &str) -> Result<Result<(), &'static str>, Stop> {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain(std::iter::once(path.len()));
    for end in ends {
        shell.step(1).await?;
        let above = &path[..end];
        let found = lock(&shell.tree).stat_followed(above).map(|entry| entry.kind);
        match found {
            Ok(FileKind::Directory) => {}
            Ok(_) => return Ok(Err("Not a directory")),
            Err(_) => {
                let made = lock(&shell.tree).make_directory(above, shell.now());
                if let Err(error) = made {
                    return Ok(Err(reason(&error)));
                }
            }
        }
    }
    Ok(Ok(()))
}
