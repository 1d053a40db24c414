//! The tools.

pub(super) mod files;
mod grade;
mod run;
mod sessions;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rmcp::model::{ContentBlock, JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::{Call, ToolError};
use super::schema;
use crate::http::error::ApiError;
use crate::http::extract::parse_part;
use proofbox_types::program::File;

/// Result of a tool.
pub(super) struct Answer {
    /// Result by the tool's schema.
    pub structured: Value,
    /// Images and the like beside it.
    pub content: Vec<ContentBlock>,
}

impl Answer {
    /// Makes the answer of a result without images.
    fn new(result: impl Serialize) -> Result<Self, ToolError> {
        Self::with_content(result, Vec::new())
    }

    fn with_content(result: impl Serialize, content: Vec<ContentBlock>) -> Result<Self, ToolError> {
        let structured = serde_json::to_value(result).map_err(|_| ToolError::from(ApiError::internal()))?;
        Ok(Self { structured, content })
    }
}

/// Effect of a tool, as clients show it before they call it. None reaches anything outside the sandbox.
#[derive(Clone, Copy)]
enum Effect {
    /// The tool changes nothing.
    None,
    /// The tool changes a session, or makes one.
    Adds,
    /// The tool removes something.
    Removes,
}

fn tool<A: JsonSchema + 'static, R: JsonSchema + 'static>(
    name: &'static str,
    title: &'static str,
    effect: Effect,
    description: &'static str,
) -> Tool {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(matches!(effect, Effect::None))
        .destructive(matches!(effect, Effect::Removes))
        .open_world(false);
    Tool::new(name, description, schema::arguments::<A>())
        .with_title(title)
        .with_raw_output_schema(schema::result::<R>())
        .with_annotations(annotations)
}

/// Returns the description of every tool.
pub(super) fn all() -> &'static [Tool] {
    static ALL: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        vec![
            tool::<run::PythonArguments, run::PythonResult>(
                "run_python",
                "Run Python",
                Effect::Adds,
                "Runs Python 3.13 code and returns what it printed, the value of its last expression, its error and its \
                 figures. Without `session` the interpreter is fresh and nothing is kept; with `session` variables, \
                 imports and files of earlier calls are there. Cells may be as in a notebook: top-level await, \
                 display(), !shell. There is no network and no input().",
            ),
            tool::<run::CommandArguments, run::CommandResult>(
                "run_command",
                "Run a shell command",
                Effect::Adds,
                "Runs a command in a session's shell: a bash with coreutils, grep, sed, awk, find, jq, tar, git and \
                 python3, over the session's files. Returns its output and exit code. There is no network and no \
                 package installation.",
            ),
            tool::<grade::TestsArguments, grade::TestsResult>(
                "run_tests",
                "Run tests",
                Effect::None,
                "Grades code with tests in a fresh interpreter of their own, which the code can't reach or influence, \
                 and returns how many passed and why others failed. Give `code`, or `session` with the `path` of the \
                 file under test; the session is left as it is. Tests import the code by its module name: `from \
                 solution import f`.",
            ),
            tool::<grade::ScanArguments, grade::ScanResult>(
                "scan_code",
                "Scan code",
                Effect::None,
                "Looks at Python code without running it: syntax, what it reaches for (network, processes, files, \
                 eval), secrets, suspicious addresses, hidden characters, and whether the service would run it.",
            ),
            tool::<sessions::OpenArguments, sessions::SessionResult>(
                "open_session",
                "Open a session",
                Effect::Adds,
                "Opens a session: an interpreter and files that are kept between calls. Returns its id for the other \
                 tools. With `from_checkpoint` it continues from a saved state. Close it when you are done.",
            ),
            tool::<sessions::ForkArguments, sessions::ForkResult>(
                "fork_session",
                "Fork a session",
                Effect::Adds,
                "Copies a session, with variables and files, into new sessions that go on independently: to try several \
                 ways from one state. It takes about a millisecond.",
            ),
            tool::<sessions::CheckpointArguments, sessions::CheckpointResult>(
                "checkpoint_session",
                "Save a session",
                Effect::Adds,
                "Saves the state of a session, with variables and files, and returns the id of the checkpoint, from \
                 which open_session continues later.",
            ),
            tool::<sessions::CloseArguments, sessions::CloseResult>(
                "close_session",
                "Close a session",
                Effect::Removes,
                "Ends a session, and removes its variables and files. Checkpoints stay.",
            ),
            tool::<files::ListArguments, files::ListResult>(
                "list_files",
                "List files",
                Effect::None,
                "Lists the files in a directory of a session.",
            ),
            tool::<files::ReadArguments, files::ReadResult>(
                "read_file",
                "Read a file",
                Effect::None,
                "Reads a file of a session: text, an image as an image, or other bytes in base64.",
            ),
            tool::<files::WriteArguments, files::WriteResult>(
                "write_file",
                "Write a file",
                Effect::Adds,
                "Writes a file in a session, with the directories above it. A file that is there is replaced.",
            ),
        ]
    });
    &ALL
}

/// Returns whether calls of a tool may take long: such a tool can be called as a task.
pub(super) fn may_be_long(name: &str) -> bool {
    matches!(name, "run_python" | "run_command" | "run_tests")
}

/// Calls a tool.
///
/// # Errors
/// Returns an error for the model when the arguments have no meaning, or the tool has no result.
pub(super) async fn call(call: &Call, name: &str, arguments: JsonObject) -> Result<Answer, ToolError> {
    match name {
        "run_python" => Box::pin(run::python(call, read(arguments)?)).await,
        "run_command" => Box::pin(run::command(call, read(arguments)?)).await,
        "run_tests" => Box::pin(grade::tests(call, read(arguments)?)).await,
        "scan_code" => Box::pin(grade::scan(call, read(arguments)?)).await,
        "open_session" => Box::pin(sessions::open(call, read(arguments)?)).await,
        "fork_session" => Box::pin(sessions::fork(call, read(arguments)?)).await,
        "checkpoint_session" => Box::pin(sessions::checkpoint(call, read(arguments)?)).await,
        "close_session" => Box::pin(sessions::close(call, read(arguments)?)).await,
        "list_files" => Box::pin(files::list(call, read(arguments)?)).await,
        "read_file" => Box::pin(files::read(call, read(arguments)?)).await,
        "write_file" => Box::pin(files::write(call, read(arguments)?)).await,
        _ => Err(ToolError::new(format!("there is no tool `{name}`"))),
    }
}

/// Reads arguments; an error names the one that is wrong.
fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    Ok(parse_part("", Value::Object(arguments))?)
}

/// Files that are given as text, by relative path.
fn files_of(files: BTreeMap<String, String>) -> Result<Vec<File>, ToolError> {
    files.into_iter().map(|(path, text)| Ok(File { path: relative(path)?, content: text.into_bytes() })).collect()
}

/// Returns a path below the working directory, without that directory.
fn relative(path: String) -> Result<String, ToolError> {
    let path = path.strip_prefix("/home/user/").map_or(path.clone(), str::to_owned);
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(ToolError::new(format!("`{path}`: give a path relative to /home/user, without `..`")));
    }
    Ok(path)
}
