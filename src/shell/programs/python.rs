//! `python3`: an interpreter of its own, made by the host.

use crate::shell::PythonStart;
use crate::shell::state::{Done, Shell};

pub(super) async fn python(shell: &mut Shell, _who: &str, arguments: &[String]) -> Done {
    if let [module, pip, rest @ ..] = arguments
        && module == "-m"
        && pip == "pip"
    {
        return super::small::packages(shell, rest).await;
    }
    let start = PythonStart {
        args: arguments.to_vec(),
        env: shell.environment(),
        cwd: shell.cwd.clone(),
        stdin: shell.streams.stdin.clone(),
        stdout: shell.streams.stdout.clone(),
        stderr: shell.streams.stderr.clone(),
    };
    Ok(shell.run_python(start).await)
}
