//! Destinations of programs that make, copy and move.

/// Returns the path in a directory for the last name of a path.
pub(super) fn join_last_name(directory: &str, name: &str) -> String {
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    match directory.ends_with('/') {
        true => format!("{directory}{last}"),
        false => format!("{directory}/{last}"),
    }
}
